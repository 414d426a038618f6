//! Conversations for tests: traffic as it is told, then what is heard of it.

use std::net::SocketAddr;

use super::{Direction, Reassembler, StreamItem};
use crate::limits::Limits;
use crate::packet::{Flags, Segment};
use crate::units::{FrameNo, Stamp, StreamId, Timestamp};

/// A packet that owns its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Packet {
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub seq: u32,
    pub ack: Option<u32>,
    pub flags: Flags,
    pub payload: Vec<u8>,
    pub cut: u32,
    /// Capture time in milliseconds.
    pub millis: u64,
}

impl Packet {
    /// The packet as the `frame`-th of a capture.
    pub fn segment(&self, frame: u64) -> Segment<'_> {
        let at = Timestamp::new((self.millis / 1000) as i64, self.millis % 1000, 3);
        Segment {
            stamp: Stamp { frame: FrameNo::new(frame), at: Some(at) },
            source: self.source,
            destination: self.destination,
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            payload: &self.payload,
            cut: self.cut,
        }
    }
}

/// A client and a server that talk. Each packet acknowledges all that the
/// other one has sent.
#[derive(Debug, Clone)]
pub(crate) struct Talk {
    pub packets: Vec<Packet>,
    client: SocketAddr,
    server: SocketAddr,
    /// The next sequence numbers of client and server.
    next: [u32; 2],
    millis: u64,
}

const SYN: Flags = Flags { syn: true, fin: false, rst: false };
const FIN: Flags = Flags { syn: false, fin: true, rst: false };
const RST: Flags = Flags { syn: false, fin: false, rst: true };
const NONE: Flags = Flags { syn: false, fin: false, rst: false };

/// A talk that was going on already: the client is at 1000, the server at 5000.
pub(crate) fn midstream() -> Talk {
    talk_from(1000, 5000)
}

/// The same with other sequence numbers.
pub(crate) fn talk_from(client: u32, server: u32) -> Talk {
    Talk {
        packets: Vec::new(),
        client: "10.0.0.1:40000".parse().unwrap(),
        server: "10.0.0.2:80".parse().unwrap(),
        next: [client, server],
        millis: 0,
    }
}

/// A talk that begins with the handshake, which is frames 1 to 3.
pub(crate) fn talk() -> Talk {
    midstream().handshake()
}

impl Talk {
    pub fn handshake(self) -> Self {
        self.syn().syn_ack().client(b"")
    }

    pub fn client_port(mut self, port: u16) -> Self {
        self.client.set_port(port);
        self
    }

    fn send(mut self, who: usize, flags: Flags, payload: &[u8], ack: bool) -> Self {
        let (source, destination) =
            if who == 0 { (self.client, self.server) } else { (self.server, self.client) };
        self.packets.push(Packet {
            source,
            destination,
            seq: self.next[who],
            ack: ack.then_some(self.next[1 - who]),
            flags,
            payload: payload.to_vec(),
            cut: 0,
            millis: self.millis,
        });
        let numbers = payload.len() as u32 + u32::from(flags.syn) + u32::from(flags.fin);
        self.next[who] = self.next[who].wrapping_add(numbers);
        self
    }

    pub fn syn(self) -> Self {
        self.send(0, SYN, b"", false)
    }

    pub fn syn_ack(self) -> Self {
        self.send(1, SYN, b"", true)
    }

    /// The server opens too, without having seen the client's SYN.
    pub fn server_syn(self) -> Self {
        self.send(1, SYN, b"", false)
    }

    /// The client sends; an empty payload is an acknowledgement.
    pub fn client(self, payload: &[u8]) -> Self {
        self.send(0, NONE, payload, true)
    }

    pub fn server(self, payload: &[u8]) -> Self {
        self.send(1, NONE, payload, true)
    }

    pub fn client_fin(self) -> Self {
        self.send(0, FIN, b"", true)
    }

    pub fn server_fin(self) -> Self {
        self.send(1, FIN, b"", true)
    }

    pub fn client_rst(self) -> Self {
        self.send(0, RST, b"", false)
    }

    pub fn server_rst(self) -> Self {
        self.send(1, RST, b"", true)
    }

    fn last(&mut self) -> &mut Packet {
        self.packets.last_mut().unwrap()
    }

    /// The last packet was not captured.
    pub fn lost(mut self) -> Self {
        self.packets.pop();
        self
    }

    /// The last packet comes twice.
    pub fn again(mut self) -> Self {
        let packet = self.last().clone();
        self.packets.push(packet);
        self
    }

    /// The last packet was captured `places` packets too early.
    pub fn early(mut self, places: usize) -> Self {
        let packet = self.packets.pop().unwrap();
        let at = self.packets.len() - places;
        self.packets.insert(at, packet);
        self
    }

    /// The last packet has another sequence number; what follows doesn't.
    pub fn shifted(mut self, by: i32) -> Self {
        let packet = self.last();
        packet.seq = packet.seq.wrapping_add_signed(by);
        self
    }

    /// The last packet has this acknowledgement number, or none.
    pub fn acking(mut self, ack: Option<u32>) -> Self {
        self.last().ack = ack;
        self
    }

    /// The last packet has other octets, none of them cut off.
    pub fn carrying(mut self, payload: &[u8]) -> Self {
        let packet = self.last();
        packet.payload = payload.to_vec();
        packet.cut = 0;
        self
    }

    /// The snap length cut off the last octets of the last packet.
    pub fn cut(mut self, octets: usize) -> Self {
        let packet = self.last();
        packet.payload.truncate(packet.payload.len() - octets);
        packet.cut += octets as u32;
        self
    }

    /// The sender goes on as if it had not sent the last packet.
    pub fn forgotten(mut self) -> Self {
        let client = self.client;
        let packet = self.last().clone();
        let numbers = packet.payload.len() as u32 + u32::from(packet.flags.syn) + u32::from(packet.flags.fin);
        let who = usize::from(packet.source != client);
        self.next[who] = self.next[who].wrapping_sub(numbers);
        self
    }

    /// Time passes.
    pub fn after(mut self, millis: u64) -> Self {
        self.millis += millis;
        self
    }

    /// Both go on with other sequence numbers.
    pub fn restart(mut self, client: u32, server: u32) -> Self {
        self.next = [client, server];
        self
    }

    /// What is heard of it, with the limits as they are by default.
    pub fn heard(&self) -> Vec<String> {
        self.heard_within(&Limits::default())
    }

    /// What is heard of it when no packets have come for a while behind it.
    pub fn heard_until_idle(&self) -> Vec<String> {
        let mut heard = Vec::new();
        let mut reassembler = Reassembler::new(&Limits::default());
        let mut sink = |stream: StreamId, item: StreamItem<'_>| heard.push(tell(stream, &item));
        for (frame, packet) in (1..).zip(&self.packets) {
            reassembler.push(&packet.segment(frame), &mut sink);
        }
        reassembler.idle(&mut sink);
        heard
    }

    pub fn heard_within(&self, limits: &Limits) -> Vec<String> {
        let mut heard = Vec::new();
        let mut reassembler = Reassembler::new(limits);
        let mut sink = |stream: StreamId, item: StreamItem<'_>| heard.push(tell(stream, &item));
        for (frame, packet) in (1..).zip(&self.packets) {
            reassembler.push(&packet.segment(frame), &mut sink);
        }
        reassembler.finish(&mut sink);
        assert_eq!(reassembler.held(), 0, "everything that was held back came out");
        heard
    }
}

/// An item in a line: `> 5 hello 3`: the client's octets from offset 5 on, by
/// frame 3. `3/7` is by frame 3, but readable only with frame 7; `~3` doesn't
/// begin the segment. A stream other than 0 is named in front.
pub(crate) fn tell(stream: StreamId, item: &StreamItem<'_>) -> String {
    let arrow = |direction: &Direction| match direction {
        Direction::Forward => '>',
        Direction::Backward => '<',
    };
    let line = match item {
        StreamItem::Open(opening) => format!(
            "open {}{} frame {}",
            opening.initiator,
            if opening.handshake { "" } else { " midstream" },
            opening.stamp.frame
        ),
        StreamItem::Data(direction, piece) => {
            let released = if piece.released == piece.stamp {
                String::new()
            } else {
                format!("/{}", piece.released.frame)
            };
            format!(
                "{} {} {} {}{}{released}",
                arrow(direction),
                piece.at,
                String::from_utf8_lossy(&piece.bytes),
                if piece.segment_start { "" } else { "~" },
                piece.stamp.frame,
            )
        }
        StreamItem::Gap(direction, gap) => {
            format!("{} {} gap of {} noticed {}", arrow(direction), gap.at, gap.len, gap.noticed.frame)
        }
        StreamItem::Fin(direction, stamp) => format!("{} fin {}", arrow(direction), stamp.frame),
        StreamItem::Reset { by, stamp, lost } => {
            format!("{} reset {}{}", arrow(by), stamp.frame, if *lost { " lost" } else { "" })
        }
        StreamItem::Conflict(direction, stamp) => {
            format!("{} conflict {}", arrow(direction), stamp.frame)
        }
        StreamItem::Closed(close) => format!("closed {close:?}"),
    };
    if stream.0 == 0 { line } else { format!("{stream}: {line}") }
}
