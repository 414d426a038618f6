//! Conversations as they go over the wire. Every one is read whole, octet by
//! octet, and cut at every octet, and must be the same.

use smol_str::SmolStr;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::*;
use crate::chunk::{ChunkToken, Closing};
use crate::limits::Limits;
use crate::tcp::{Close, Direction, Gap, Opening, Piece, StreamItem};
use crate::units::{FrameNo, Stamp};

mod endings;
mod exchanges;
mod hostile;
mod joining;
mod protocols;

use Direction::{Backward, Forward};

/// What was captured of a conversation; each part of it is one packet.
#[derive(Debug, Clone)]
struct Talk {
    opening: Option<bool>,
    parts: Vec<Part>,
    limits: Limits,
}

#[derive(Debug, Clone)]
enum Part {
    Sent(Direction, Vec<u8>),
    Lost(Direction, u64),
    Fin(Direction, u64),
    Reset(Direction, bool),
    Closed(Close),
}

/// A connection seen from its SYN on, opened by the client.
fn talk() -> Talk {
    Talk { opening: Some(true), parts: Vec::new(), limits: Limits::default() }
}

/// A connection seen from its middle on.
fn midstream() -> Talk {
    Talk { opening: Some(false), ..talk() }
}

/// Raw responses.
fn raw(octets: impl AsRef<[u8]>) -> Talk {
    Talk { opening: None, ..talk() }.server(octets)
}

impl Talk {
    fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    fn client(self, octets: impl AsRef<[u8]>) -> Self {
        self.with(Part::Sent(Forward, octets.as_ref().to_vec()))
    }

    fn server(self, octets: impl AsRef<[u8]>) -> Self {
        self.with(Part::Sent(Backward, octets.as_ref().to_vec()))
    }

    fn client_lost(self, len: u64) -> Self {
        self.with(Part::Lost(Forward, len))
    }

    fn server_lost(self, len: u64) -> Self {
        self.with(Part::Lost(Backward, len))
    }

    fn client_fin(self) -> Self {
        let frame = self.parts.len() as u64 + 1;
        self.with(Part::Fin(Forward, frame))
    }

    fn server_fin(self) -> Self {
        let frame = self.parts.len() as u64 + 1;
        self.with(Part::Fin(Backward, frame))
    }

    fn closed(self, close: Close) -> Self {
        self.with(Part::Closed(close))
    }

    /// Reads it, each packet cut where `cut` says of a sent octet's number
    /// that one begins a piece.
    fn read(&self, cut: impl Fn(u64) -> bool) -> Vec<String> {
        let mut log = Log::default();
        let mut sink = |event: HttpEvent<'_>| log.event(event);
        let opening = self.opening.map(|handshake| Opening {
            initiator: "10.0.0.1:1000".parse().unwrap(),
            responder: "10.0.0.2:80".parse().unwrap(),
            handshake,
            stamp: Stamp::untimed(1),
        });
        let mut connection = match &opening {
            Some(opening) => Connection::new(opening, &self.limits, 1000),
            None => Connection::raw(&self.limits, 1000),
        };
        let mut at = [0, 0];
        let mut count = 0;
        let mut closed = false;
        for (part, frame) in self.parts.iter().zip(1..) {
            let stamp = Stamp::untimed(frame);
            match part {
                Part::Sent(direction, octets) => {
                    let mut start = 0;
                    for end in 1..=octets.len() {
                        count += 1;
                        if end < octets.len() && !cut(count) {
                            continue;
                        }
                        let piece = Piece {
                            at: at[*direction as usize],
                            bytes: octets[start..end].into(),
                            stamp,
                            released: stamp,
                            segment_start: start == 0,
                        };
                        at[*direction as usize] += (end - start) as u64;
                        start = end;
                        connection.push(StreamItem::Data(*direction, piece), &mut sink);
                    }
                }
                Part::Lost(direction, len) => {
                    let gap = Gap { at: at[*direction as usize], len: *len, noticed: stamp };
                    at[*direction as usize] += len;
                    connection.push(StreamItem::Gap(*direction, gap), &mut sink);
                }
                Part::Fin(direction, frame) => {
                    connection.push(StreamItem::Fin(*direction, Stamp::untimed(*frame)), &mut sink);
                }
                Part::Reset(by, lost) => {
                    connection.push(StreamItem::Reset { by: *by, stamp, lost: *lost }, &mut sink);
                }
                Part::Closed(close) => {
                    closed = true;
                    connection.push(StreamItem::Closed(*close), &mut sink);
                }
            }
        }
        if !closed {
            connection.push(StreamItem::Closed(Close::CaptureEnd), &mut sink);
        }
        if let Some(opening) = opening {
            // Whatever it was, the next one written over it is as a new one.
            connection.lend(&mut recent::Recent::default());
            for handshake in [true, false] {
                let opening = Opening { handshake, responder: opening.initiator, ..opening };
                connection.begin_anew(&opening);
                let new = Connection::new(&opening, &self.limits, 1000);
                assert_eq!(format!("{connection:?}"), format!("{new:?}"));
            }
        }
        log.finish()
    }

    /// Reads it in all ways.
    fn told(&self) -> Vec<String> {
        let whole = self.read(|_| false);
        assert_eq!(self.read(|_| true), whole, "octet by octet");
        let sent = |part: &Part| {
            if let Part::Sent(_, octets) = part { octets.len() as u64 } else { 0 }
        };
        let len: u64 = self.parts.iter().map(sent).sum();
        for place in 1..len.min(2000) {
            assert_eq!(self.read(|count| count == place), whole, "cut at {place}");
        }
        whole
    }

    /// The lines of what is told that contain a text.
    fn lines(&self, text: &str) -> Vec<String> {
        self.told().into_iter().filter(|line| line.contains(text)).collect()
    }

    #[track_caller]
    fn expect(&self, lines: &[&str]) {
        let told = self.told();
        assert_eq!(told, lines, "told:\n{}", told.join("\n"));
    }
}

/// What was told, a line each. It watches over what every consumer relies on.
#[derive(Debug, Default)]
struct Log {
    lines: Vec<String>,
    /// The octets received so far of the bodies that are open.
    open: BTreeMap<(u64, bool), u64>,
    /// The exchanges that have begun: whether they are over.
    exchanges: BTreeMap<u64, bool>,
    foreign: bool,
}

impl Log {
    fn event(&mut self, event: HttpEvent<'_>) {
        assert!(!self.foreign, "{event:?} of a foreign stream");
        let line = match event {
            HttpEvent::Roles { client, .. } => format!("client {client}"),
            HttpEvent::Request { index, head } => {
                self.begun(index);
                let word = |word: Option<SmolStr>| word.unwrap_or_else(|| "?".into());
                format!("{index} request {} {}{}", word(head.method), word(head.target), at(head.stamp))
            }
            HttpEvent::Response { index, head } => {
                self.begun(index);
                let status = head.status.map_or_else(|| "?".to_owned(), |status| status.to_string());
                format!("{index} response {status}{}", at(head.stamp))
            }
            HttpEvent::Body { index, side, event } => {
                self.begun(index);
                let Some(line) = self.body(index, side, event) else {
                    return;
                };
                format!("{index} {} {line}", name(side))
            }
            HttpEvent::ExchangeEnd { index } => {
                assert_eq!(
                    self.exchanges.insert(index, true),
                    Some(false),
                    "{index} ends twice or never began"
                );
                let of_it = (index, false)..=(index, true);
                assert_eq!(self.open.range(of_it).next(), None, "{index} is over, a body isn't");
                format!("{index} over")
            }
            HttpEvent::Lenient(lenience, stamp) => format!("lenient {lenience:?} @{}", stamp.frame),
            HttpEvent::IncompleteHead(side, stamp) => {
                format!("incomplete {} @{}", name(side), stamp.frame)
            }
            HttpEvent::Joined(side, skipped, stamp) => {
                format!("joined {} behind {skipped} @{}", name(side), stamp.frame)
            }
            HttpEvent::NotHttp(protocol) => {
                self.foreign = true;
                format!("not http but {protocol:?}")
            }
        };
        self.lines.push(line);
    }

    fn begun(&mut self, index: u64) {
        assert!(!*self.exchanges.entry(index).or_insert(false), "an event of {index} behind its end");
    }

    fn body(&mut self, index: u64, side: Side, event: BodyEvent<'_>) -> Option<String> {
        let key = (index, side == Side::Response);
        if let BodyEvent::Begin { framing, joined } = event {
            assert_eq!(self.open.insert(key, 0), None, "two bodies of {key:?}");
            let framing = framing.map_or_else(|| "unknown".to_owned(), |framing| format!("{framing:?}"));
            let joined = joined.map(|skipped| format!(" joined behind {skipped}")).unwrap_or_default();
            return Some(format!("begins {framing}{joined}"));
        }
        let received = self.open.get_mut(&key).expect("an event of a body that isn't open");
        let event = match event {
            BodyEvent::Chunk(ChunkToken::Whole(whole)) => {
                *received += whole.size();
                BodyEvent::Chunk(ChunkToken::End(whole.record()))
            }
            event => event,
        };
        match event {
            BodyEvent::Begin { .. } | BodyEvent::Chunk(ChunkToken::Begin { .. } | ChunkToken::Whole(_)) => {
                None
            }
            BodyEvent::Data(piece) | BodyEvent::Chunk(ChunkToken::Payload { piece, .. }) => {
                *received += piece.bytes.len() as u64;
                None
            }
            BodyEvent::Missing(Gap { len, .. }) => Some(format!("lacks {len}")),
            BodyEvent::Chunk(ChunkToken::Missing { len, .. }) => Some(format!("chunk lacks {len}")),
            BodyEvent::Chunk(ChunkToken::End(chunk)) => {
                let payload = chunk.payload.escape_ascii();
                let mut line = format!("chunk {} {}/{} {payload}", chunk.index, chunk.received, chunk.size);
                if chunk.unfinished {
                    line += " unfinished";
                }
                if matches!(chunk.closing, Closing::Lost) {
                    line += " closing lost";
                }
                Some(line + &frames(&chunk.frames()))
            }
            BodyEvent::Chunk(ChunkToken::Last(last)) => {
                let mut line = "last chunk".to_owned();
                for (name, value) in &last.trailers {
                    let _ = write!(line, " {name}={value}");
                }
                Some(line + &frames(&crate::chunk::frames(&last.trail)))
            }
            BodyEvent::End { end, stamp, reset, fault } => {
                let mut line = format!("ends {end:?}");
                if *received > 0 {
                    let _ = write!(line, " {received}");
                }
                if reset {
                    line += " reset";
                }
                line += &at(stamp);
                if let Some(fault) = fault {
                    let _ = write!(line, ": {}", fault.message);
                }
                self.open.remove(&key);
                Some(line)
            }
        }
    }

    fn finish(self) -> Vec<String> {
        assert!(self.open.is_empty() || self.foreign, "open at the end: {:?}", self.open);
        let open: Vec<_> = self.exchanges.iter().filter(|(_, over)| !**over).collect();
        assert!(open.is_empty() || self.foreign, "exchanges not over: {open:?}\n{}", self.lines.join("\n"));
        let indices: Vec<u64> = self.exchanges.into_keys().collect();
        assert_eq!(indices, (0..indices.len() as u64).collect::<Vec<_>>(), "numbers without holes");
        self.lines
    }
}

fn name(side: Side) -> &'static str {
    match side {
        Side::Request => "request",
        Side::Response => "response",
    }
}

fn at(stamp: Option<Stamp>) -> String {
    stamp.map(|stamp| format!(" @{}", stamp.frame)).unwrap_or_default()
}

fn frames(frames: &[FrameNo]) -> String {
    let frames: Vec<String> = frames.iter().map(FrameNo::to_string).collect();
    format!(" @{}", frames.join(","))
}

const GET: &str = "GET /a HTTP/1.1\r\n\r\n";
const WATCH: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const EMPTY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
