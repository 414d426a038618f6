"""Captures made by code, for the scripts beside this one: the same octets each time."""
import pathlib
import re
import struct
import subprocess
import sys

MSS = 1448
REQUEST = b"GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: a\r\n\r\n"
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


class Capture:
    """Writes a pcap of TCP connections between two hosts (Ethernet, IPv4)."""

    def __init__(self, out):
        self.out = out
        self.packets = 0
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1))

    def packet(self, port, forward, seq, ack, flags, payload=b""):
        ports = (port, 80) if forward else (80, port)
        hosts = (b"\x0a\0\0\1", b"\x0a\0\0\2") if forward else (b"\x0a\0\0\2", b"\x0a\0\0\1")
        tcp = struct.pack(">HHIIBBHHH", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags, 65535, 0, 0)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0) + hosts[0] + hosts[1]
        frame = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + tcp + payload
        self.packets += 1
        seconds, micros = divmod(self.packets, 1_000_000)
        self.out.write(struct.pack("<IIII", 1_700_000_000 + seconds, micros, len(frame), len(frame)) + frame)


class Watch:
    """One connection with a watch, opened and asked."""

    def __init__(self, capture, port):
        self.capture, self.port, self.asked, self.seq, self.rest = capture, port, 1 + len(REQUEST), 1, b""
        capture.packet(port, True, 0, 0, 2)
        capture.packet(port, False, 0, 1, 0x12)
        capture.packet(port, True, 1, 1, 0x18, REQUEST)
        self.send(RESPONSE)

    def send(self, octets, now=False):
        """Sends whole segments; what is left waits, unless `now`."""
        octets = self.rest + octets
        until = len(octets) if now else len(octets) // MSS * MSS
        for at in range(0, until, MSS):
            payload = octets[at : min(at + MSS, until)]
            self.capture.packet(self.port, False, self.seq, self.asked, 0x18, payload)
            self.seq += len(payload)
        self.rest = octets[until:]

    def close(self):
        self.send(END, now=True)
        self.capture.packet(self.port, False, self.seq, self.asked, 0x11)
        self.capture.packet(self.port, True, self.asked, self.seq + 1, 0x11)


def chunk(octets):
    return b"%x\r\n%b\r\n" % (len(octets), octets)


def event(number, size):
    value = b"the quick brown fox " * (size // 20)
    return b'{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"resourceVersion":"%d"},"data":"%b"}}\n' % (number, value)


def events(capture, count, size, streams=1):
    """So many watch events of so many octets, each in a chunk, on some connections at once."""
    watches = [Watch(capture, 10_000 + n) for n in range(streams)]
    for number in range(count):
        watches[number % streams].send(chunk(event(number, size)))
    for watch in watches:
        watch.close()


def connections(capture, count):
    """So many connections with one event each."""
    for number in range(count):
        watch = Watch(capture, 10_000 + number)
        watch.send(chunk(event(number, 40)))
        watch.close()


def instructions(binary, arguments):
    """How many instructions a run of the program takes, on one thread."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", binary, "--threads", "1", *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    # 1: a check failed, as it does where an event has many chunks. 3: nothing was to check.
    if done.returncode not in (0, 1, 3) or not counted:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: status {done.returncode}: {done.stderr[-500:]}")
    return int(counted[1])
