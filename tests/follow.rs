//! `--follow`: what is printed while the recorder still runs, and when.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "support/segments.rs"]
mod segments;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use chunkscope::packet::Flags;
use segments::Sent;

const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata");

/// Longer than a line can take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program that follows what it is fed.
struct Followed {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    messages: Receiver<String>,
}

/// The lines of a pipe, as they come.
fn lines(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            let _ = sender.send(line.unwrap());
        }
    });
    receiver
}

fn follow(arguments: &[&str]) -> Followed {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("chunkscope"))
        .args(["--follow", "-"])
        .args(arguments)
        .env("COLUMNS", "100")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (input, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    Followed { child, input, lines: lines(stdout.unwrap()), messages: lines(stderr.unwrap()) }
}

/// The next line with these words.
fn await_line(lines: &Receiver<String>, words: &str) -> String {
    let begun = Instant::now();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) if line.contains(words) => return line,
            Ok(_) if begun.elapsed() < PATIENCE => {}
            Ok(line) => panic!("no line with {words:?}, but {line}"),
            Err(error) => panic!("no line with {words:?}: {error}"),
        }
    }
}

impl Followed {
    fn feed(&mut self, octets: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(octets).unwrap();
        input.flush().unwrap();
    }

    fn line(&self, words: &str) -> String {
        await_line(&self.lines, words)
    }

    fn message(&self, words: &str) -> String {
        await_line(&self.messages, words)
    }

    /// Closes the input: all further lines, and the exit status.
    fn end(mut self) -> (Vec<String>, Option<i32>) {
        drop(self.input.take());
        let status = self.child.wait().unwrap();
        (self.lines.iter().collect(), status.code())
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

/// A capture cut behind each of its packets: header, then packets.
fn packets(name: &str) -> (Vec<u8>, Vec<Vec<u8>>) {
    let octets = std::fs::read(format!("{TESTDATA}/{name}")).unwrap();
    let (header, mut rest) = octets.split_at(24);
    let mut packets = Vec::new();
    while !rest.is_empty() {
        let captured = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (packet, behind) = rest.split_at(16 + captured);
        packets.push(packet.to_vec());
        rest = behind;
    }
    (header.to_vec(), packets)
}

#[test]
fn each_chunk_is_printed_as_soon_as_its_verdict_is_known() {
    let mut followed = follow(&[]);
    let (header, packets) = packets("k8s-watch-coredns.pcap");
    followed.feed(&header);
    for packet in &packets[..5] {
        followed.feed(packet);
    }
    // The packet with the first chunk, in two parts, and no octet behind it.
    followed.feed(&packets[5][..100]);
    assert_eq!(followed.lines.recv_timeout(Duration::from_millis(300)), Err(RecvTimeoutError::Timeout));
    followed.feed(&packets[5][100..]);
    assert!(followed.line("▶ stream 0").contains("127.0.0.1:54946 → 127.0.0.1:8001"));
    followed.line("GET /api/v1/watch/namespaces/kube-system/configmaps/coredns");
    let first = followed.line(" 31a ");
    let words: Vec<_> = first.split_whitespace().collect();
    let expected =
        ["✓", "0", "1", "+0.001", "s", "31a", "794", "6", "one", "ADDED", "ConfigMap", "kube-system/coredns"];
    assert_eq!(words, expected, "{first}");
    followed.feed(&packets[6]);
    // With the beginning of the next packet behind it.
    followed.feed(&[&packets[7][..], &packets[8][..7]].concat());
    let second = followed.line(" 31d ");
    assert!(second.contains("+1.986 s   31d     797  8") && second.contains(" one "), "{second}");
    followed.feed(&packets[8][7..]);
    packets[9..].iter().for_each(|packet| followed.feed(packet));
    followed.line("■ stream 0: the client closed the connection (frame 10)");
    let (rest, status) = followed.end();
    assert!(
        rest.contains(&"-: pcap, LINUX_SLL2, 12 packets in 3.996 s, 1 TCP stream".to_owned()),
        "{rest:?}"
    );
    assert_eq!(status, Some(0));
}

#[test]
fn a_stall_in_mid_event_is_told_and_so_is_its_end() {
    let mut followed = follow(&["--stall", "1"]);
    let (header, packets) = packets("nginx-buffered.pcap");
    followed.feed(&header);
    packets[..6].iter().for_each(|packet| followed.feed(packet));
    let stalled = followed.line("stalled in mid-event");
    assert!(stalled.contains("… stream 0: stalled in mid-event: nothing for 1."), "{stalled}");
    assert!(stalled.contains("behind 385 octets of it"), "{stalled}");
    packets[6..8].iter().for_each(|packet| followed.feed(packet));
    assert!(followed.line(" ea5 ").contains("mixed"));
    followed.line("stream 0: goes on after ");
    let (_, status) = followed.end();
    assert_eq!(status, Some(1));
}

#[test]
fn ctrl_c_concludes_what_was_found() {
    for (signal, name, frames, status, words) in [
        ("-INT", "k8s-watch-coredns.pcap", 8, 0, "✓ 2 chunks, 2 events"),
        ("-TERM", "informer.pcap", 10, 1, "✗ fail: 1 violation"),
        ("-INT", "ticks.pcap", 6, 3, "nothing to check"),
    ] {
        let mut followed = follow(&[]);
        let (header, packets) = packets(name);
        followed.feed(&header);
        packets[..frames].iter().for_each(|packet| followed.feed(packet));
        followed.line(&format!("  {frames:<7} "));
        followed.signal(signal);
        followed.line("■ stream 0: the capture ends before the body does");
        followed.line(words);
        assert_eq!(followed.child.wait().unwrap().code(), Some(status), "{name}");
    }
}

#[test]
fn records_of_jsonl_and_csv_are_written_at_once_and_stalls_told_beside() {
    for (format, words) in [("jsonl", "\"size_hex\":\"31a\""), ("csv", ",31a,794,")] {
        let mut followed = follow(&["-f", format, "--stall", "1"]);
        let (header, packets) = packets("k8s-watch-coredns.pcap");
        followed.feed(&header);
        packets[..6].iter().for_each(|packet| followed.feed(packet));
        followed.line(words);
        packets[6..].iter().for_each(|packet| followed.feed(packet));
        let (rest, status) = followed.end();
        assert!(rest.iter().any(|line| line.contains("31d")), "{rest:?}");
        assert_eq!(status, Some(0));
    }
    let mut followed = follow(&["-f", "jsonl", "--stall", "1"]);
    let (header, packets) = packets("nginx-buffered.pcap");
    followed.feed(&header);
    packets[..6].iter().for_each(|packet| followed.feed(packet));
    followed.message("chunkscope: stream 0: stalled in mid-event");
    followed.end();
}

#[test]
fn what_is_followed_is_what_is_found_without() {
    let folder = tempfile::tempdir().unwrap();
    let name = "mixed-keepalive.pcap";
    let octets = std::fs::read(format!("{TESTDATA}/{name}")).unwrap();
    let run = |arguments: &[&str]| {
        let mut followed = follow(arguments);
        followed.feed(&octets);
        followed.end()
    };
    let plain = |arguments: &[&str]| {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("chunkscope"))
            .arg("-")
            .args(arguments)
            .stdin(std::fs::File::open(format!("{TESTDATA}/{name}")).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        (text.lines().map(str::to_owned).collect::<Vec<_>>(), child.wait().unwrap().code())
    };
    for format in ["jsonl", "csv"] {
        assert_eq!(run(&["-f", format]), plain(&["-f", format]), "{format}");
    }
    let path = folder.path().join("report.json");
    let (_, status) = run(&["-o", &format!("json={}", path.display())]);
    let written = std::fs::read_to_string(&path).unwrap();
    let (lines, expected) = plain(&["-f", "json"]);
    assert_eq!((written.lines().map(str::to_owned).collect::<Vec<_>>(), status), (lines, expected));
}

#[test]
fn raw_responses_are_followed_too() {
    let mut followed = follow(&["--raw"]);
    followed
        .feed(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    followed.feed(b"9\r\ndata: a\n\n\r\n");
    assert!(followed.line("message a").contains(" one "));
    let (rest, status) = followed.end();
    assert!(rest.iter().any(|line| line.contains("the capture ends before the body does")), "{rest:?}");
    assert_eq!(status, Some(0));
}

/// A response that acknowledges a request of which the recorder lost the end:
/// it could come before its cause, so it waits, but not for ever.
#[test]
fn a_line_is_not_held_back_for_packets_that_do_not_come() {
    let (client, server) = ("10.0.0.1:40000".parse().unwrap(), "10.0.0.2:8001".parse().unwrap());
    let sent = |from_client: bool, syn: bool, seq, ack, payload: &[u8]| Sent {
        seconds: 1_700_000_000,
        micros: 0,
        source: if from_client { client } else { server },
        destination: if from_client { server } else { client },
        seq,
        ack,
        flags: Flags { syn, ..Flags::default() },
        payload: payload.to_vec(),
    };
    let request = b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n";
    let length = u32::try_from(request.len()).unwrap();
    let response =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
                     9\r\ndata: a\n\n\r\n";
    let capture = segments::write(&[
        sent(true, true, 100, None, b""),
        sent(false, true, 500, Some(101), b""),
        sent(true, false, 101, Some(501), request),
        // It acknowledges 20 octets more than the recorder has of the client.
        sent(false, false, 501, Some(101 + length + 20), response),
    ]);
    let mut followed = follow(&[]);
    followed.feed(&capture);
    assert!(followed.line("message a").contains(" one "));
    let (_, status) = followed.end();
    assert_eq!(status, Some(0));
}

#[test]
fn what_is_not_written_while_reading_is_refused() {
    for format in ["json", "walkthrough"] {
        let done = Command::new(assert_cmd::cargo::cargo_bin!("chunkscope"))
            .args(["--follow", "-f", format, "-"])
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2));
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(said.contains(&format!("-o {format}=FILE writes it beside")), "{said}");
    }
    let done = Command::new(assert_cmd::cargo::cargo_bin!("chunkscope"))
        .args(["--stall", "3", "-"])
        .output()
        .unwrap();
    assert!(String::from_utf8(done.stderr).unwrap().contains("--follow"));
}
