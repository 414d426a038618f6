//! What is held of any octets whatever: one function a fuzz target. `fuzz/`
//! runs them on inputs that it makes up, and `tests/corpus.rs` on those that
//! were found so; both include this file, so that they can't drift apart.
//!
//! A target panics where a promise is broken: the machines themselves must
//! never, and each function says what else it holds.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]
// Each user needs what it needs.
#![allow(dead_code)]

use std::collections::HashMap;
use std::fmt::Debug;
use std::io::{self, Read};

use chunkscope::capture::{CaptureReader, Frame, LinkType};
use chunkscope::chunk::{self, ChunkToken, Closing};
use chunkscope::cli::args::ReportFormat;
use chunkscope::cli::run::report;
use chunkscope::cli::{Environment, Settings};
use chunkscope::coding::{self, Coding};
use chunkscope::event::{EventItem, Framer, Kind, Summary};
use chunkscope::http::{BodyEvent, Connection, HttpEvent, Side};
use chunkscope::limits::Limits;
use chunkscope::packet::{Decoded, Decoder, Flags, Segment, supports};
use chunkscope::pipeline::Analysis;
use chunkscope::pipeline::options::{Expectation, Options};
use chunkscope::report::{Conclusion, Finding, Outcome, Report};
use chunkscope::tcp::{Close, Direction, Gap, Opening, Piece, Reassembler, StreamItem};
use chunkscope::units::{Stamp, StreamId};
use chunkscope::websocket;
use clap::ValueEnum as _;
use serde::de::IgnoredAny;
use serde_json::Value;

/// A target: its name, as of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 11] = [
    ("capture", capture),
    ("packet", packet),
    ("tcp", tcp),
    ("http", http),
    ("chunk", chunk),
    ("coding", coding),
    ("json", json),
    ("lines", lines),
    ("binary", binary),
    ("raw", raw),
    ("whole", whole),
];

/// A source that gives a few octets a read, as a slow pipe does.
struct Trickle<'a> {
    octets: &'a [u8],
    /// Octets of the first read.
    first: usize,
    step: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let step = std::mem::take(&mut self.first).max(self.step);
        let len = step.min(buffer.len()).min(self.octets.len());
        buffer[..len].copy_from_slice(&self.octets[..len]);
        self.octets = &self.octets[len..];
        Ok(len)
    }
}

/// The octets in two ways: at once, and in small reads. What layout the records
/// of an old pcap file have is judged by what arrived first, so that no packet
/// is held up: of these, that much comes at once.
fn sources(octets: &[u8]) -> [Trickle<'_>; 2] {
    let first = if octets.starts_with(b"\n\r\r\n") || octets.starts_with(b"HTTP") { 0 } else { 600 };
    [Trickle { octets, first, step: octets.len() }, Trickle { octets, first, step: 1 + octets.len() % 7 }]
}

#[track_caller]
fn same<T: PartialEq + Debug>(what: &str, one: T, other: T) {
    assert!(one == other, "{what} differ\n  {one:?}\n  {other:?}");
}

/// Bounds that small inputs reach.
fn tight() -> Limits {
    let mut limits = Limits::default();
    limits.read_block = 64;
    limits.capture_block = 1 << 20;
    limits.out_of_order_stream = 300;
    limits.out_of_order_total = 500;
    limits.gap_patience_packets = 3;
    limits.head = 300;
    limits.size_line = 40;
    limits.trailer = 60;
    limits.payload = 100;
    limits.join_window = 200;
    limits.pipelined = 3;
    limits.open_streams = 3;
    limits.fragments = 2000;
    limits.pending_chunks = 4;
    limits.pending_payload = 200;
    limits
}

/// Capture files: the frames, problems and errors are the same however the
/// octets come; frame numbers go up; no frame is longer than the file.
pub fn capture(octets: &[u8]) {
    let [one, other] = sources(octets).map(|source| {
        let mut found = Vec::new();
        let mut last = 0;
        let mut reader = match CaptureReader::open(source, &tight(), 1) {
            Ok(reader) => reader,
            Err(error) => return vec![format!("{error} {error:?}")],
        };
        let error = loop {
            match reader.next_frame() {
                Ok(Some(frame)) => {
                    assert!(frame.stamp.frame.get() > last, "frame numbers go up");
                    last = frame.stamp.frame.get();
                    found.push(format!(
                        "{:?} {:?} {:?} {}",
                        frame.stamp, frame.link, frame.data, frame.wire_len
                    ));
                }
                Ok(None) => break None,
                Err(error) => break Some(format!("{error} {error:?}")),
            }
        };
        assert!(reader.packets() >= last, "packets are counted");
        found.push(format!("{:?} {:?} {error:?}", reader.problems(), reader.link_types()));
        found
    });
    // Of a file behind the first, the layout is judged by what has arrived too.
    if !one.iter().any(|line| line.contains("another pcap file begins")) {
        same("frames", one, other);
    }
}

/// Frames, the link type first, each behind its captured length and what was
/// cut of it: a segment's octets are the frame's or those of its fragments,
/// and the same frames give the same segments again.
pub fn packet(octets: &[u8]) {
    let Some((link, rest)) = octets.split_at_checked(2) else { return };
    let link = LinkType(u16::from_be_bytes(link.try_into().unwrap()));
    let read = || {
        let mut decoder = Decoder::new(&tight());
        let (mut rest, mut number, mut came, mut found) = (rest, 0, 0, Vec::new());
        while let Some((head, behind)) = rest.split_at_checked(4) {
            let len = usize::from(u16::from_be_bytes([head[0], head[1]])).min(behind.len());
            let cut = u32::from(u16::from_be_bytes([head[2], head[3]]));
            let (data, behind) = behind.split_at(len);
            rest = behind;
            number += 1;
            came += len;
            let frame = Frame {
                stamp: Stamp::untimed(number),
                link,
                data,
                wire_len: u32::try_from(len).unwrap() + cut,
            };
            decoder.decode_each(&frame, |decoded| {
                if let Decoded::Segment(segment) = &decoded {
                    assert!(segment.payload.len() <= came, "no octets are made up");
                    assert_eq!(segment.stamp.frame.get(), number);
                }
                assert_eq!(matches!(decoded, Decoded::UnsupportedLink(_)), !supports(link));
                found.push(format!("{decoded:?}"));
            });
        }
        found.push(format!("{} {}", decoder.dropped_datagrams(), decoder.incomplete_datagrams()));
        found
    };
    same("segments", read(), read());
}

/// Segments of two connections, eight octets each: what a direction yields
/// follows on without overlap, each octet is one that was sent there, and a
/// connection yields nothing before its opening or behind its end.
pub fn tcp(octets: &[u8]) {
    const BASE: [u32; 2] = [u32::MAX - 200, 5];
    // An octet shows its place, and whether it is the copy that differs.
    let at = |seq: u32, differs: bool| (seq % 113) as u8 | u8::from(differs) << 7;
    #[derive(Default)]
    struct Seen {
        opened: bool,
        closed: bool,
        next: [u64; 2],
        base: [Option<u8>; 2],
        conflicts: u64,
    }
    let mut differing = false;
    let mut streams: HashMap<u64, Seen> = HashMap::new();
    let mut sink = |stream: StreamId, item: StreamItem<'_>| {
        let seen = streams.entry(stream.0).or_default();
        assert!(!seen.closed, "nothing comes behind the end");
        assert_eq!(seen.opened, !matches!(item, StreamItem::Open(_)), "the opening is the first item");
        let side = |direction: Direction| usize::from(direction == Direction::Backward);
        match item {
            StreamItem::Open(_) => seen.opened = true,
            StreamItem::Data(direction, piece) => {
                let side = side(direction);
                assert!(!piece.bytes.is_empty());
                assert_eq!(piece.at, seen.next[side], "octets follow on");
                seen.next[side] += piece.bytes.len() as u64;
                for (place, octet) in piece.bytes.iter().enumerate() {
                    let place = ((piece.at + place as u64) % 113) as u8;
                    let base = (octet % 128 + 113 - place) % 113;
                    // 2^32 is no multiple of 113: a wrap moves the base.
                    let moved = (base + 113 - (u32::MAX % 113) as u8 - 1) % 113;
                    let known = *seen.base[side].get_or_insert(base);
                    let back = (known + 113 - (u32::MAX % 113) as u8 - 1) % 113;
                    assert!(base == known || moved == known || base == back, "each octet is at its place");
                }
            }
            StreamItem::Gap(direction, gap) => {
                assert!(gap.len > 0);
                assert_eq!(gap.at, seen.next[side(direction)], "a gap follows on");
                seen.next[side(direction)] += gap.len;
            }
            StreamItem::Conflict(..) => seen.conflicts += 1,
            StreamItem::Closed(_) => seen.closed = true,
            StreamItem::Fin(..) | StreamItem::Reset { .. } => {}
        }
    };
    let mut reassembler = Reassembler::new(&tight());
    for (number, op) in octets.chunks_exact(8).enumerate() {
        let bits = op[0];
        let side = usize::from(bits & 1);
        let port = 1000 + u16::from(bits >> 1 & 1);
        let ends = [([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 80).into()];
        let seq = BASE[side].wrapping_add(u32::from(u16::from_be_bytes([op[1], op[2]])));
        let ack = BASE[1 - side].wrapping_add(u32::from(u16::from_be_bytes([op[3], op[4]])));
        let differs = bits >> 6 & 1 == 1;
        differing |= differs;
        let syn = bits >> 2 & 1 == 1;
        let from = seq.wrapping_add(u32::from(syn));
        let payload: Vec<u8> = (0..u32::from(op[5])).map(|n| at(from.wrapping_add(n), differs)).collect();
        reassembler.push(
            &Segment {
                stamp: Stamp::untimed(number as u64 + 1),
                source: ends[side],
                destination: ends[1 - side],
                seq,
                ack: (bits >> 5 & 1 == 0).then_some(ack),
                flags: Flags { syn, fin: bits >> 3 & 1 == 1, rst: bits >> 4 & 1 == 1 },
                payload: &payload,
                cut: u32::from(op[6]) * u32::from(bits >> 7),
            },
            &mut sink,
        );
    }
    reassembler.finish(&mut sink);
    for seen in streams.values() {
        assert!(seen.closed, "each connection ends");
        assert!(differing || seen.conflicts == 0, "copies that agree are no conflict");
    }
}

/// What a connection tells, as text, with the cuts of data taken out.
#[derive(Default)]
struct Told {
    lines: Vec<String>,
    /// What the last line's data amounts to: its place, its end and its octets.
    data: Option<(String, u64, Vec<u8>)>,
}

impl Told {
    fn data(&mut self, what: String, at: u64, octets: &[u8]) {
        match &mut self.data {
            Some((last, end, known)) if *last == what && *end == at => {
                known.extend_from_slice(octets);
                *end += octets.len() as u64;
            }
            _ => {
                self.flush();
                self.data = Some((what, at + octets.len() as u64, octets.to_vec()));
            }
        }
    }

    fn line(&mut self, line: String) {
        self.flush();
        self.lines.push(line);
    }

    fn flush(&mut self) {
        if let Some((what, end, octets)) = self.data.take() {
            self.lines.push(format!("{what} to {end}: {octets:?}"));
        }
    }

    fn token(&mut self, what: &str, token: &ChunkToken<'_>) {
        match token {
            ChunkToken::Payload { offset, piece } => {
                self.data(format!("{what} payload {:?}", piece.stamp), *offset, &piece.bytes);
            }
            ChunkToken::Whole(whole) => {
                let (index, offset, size) = (whole.index, whole.offset, whole.size());
                self.token(what, &ChunkToken::Begin { index, offset, size });
                self.data(format!("{what} payload {:?}", whole.stamp), offset, whole.payload);
                self.token(what, &ChunkToken::End(whole.record()));
            }
            other => self.line(format!("{what} {other:?}")),
        }
    }
}

/// Pieces of both directions, gaps and ends, three octets before each: bodies
/// begin and end once, exchanges end once and in order of nothing, nothing
/// comes behind an end, and where pieces are cut doesn't matter.
pub fn http(octets: &[u8]) {
    let [one, other] = [false, true].map(|singly| {
        let opening = Opening {
            initiator: ([10, 0, 0, 1], 1000).into(),
            responder: ([10, 0, 0, 2], 80).into(),
            handshake: octets.first().is_some_and(|first| first & 1 == 1),
            stamp: Stamp::untimed(1),
        };
        let mut told = Told::default();
        let mut bodies: HashMap<(u64, Side), bool> = HashMap::new();
        let mut ended = HashMap::new();
        let mut sink = |event: HttpEvent<'_>| {
            if let HttpEvent::Request { index, .. }
            | HttpEvent::Response { index, .. }
            | HttpEvent::Body { index, .. } = &event
            {
                assert!(!ended.contains_key(index), "nothing comes behind an exchange's end: {event:?}");
            }
            match event {
                HttpEvent::Body { index, side, event } => {
                    let open = bodies.get(&(index, side)).copied();
                    match &event {
                        BodyEvent::Begin { .. } => {
                            assert_eq!(open, None, "a body begins once");
                            bodies.insert((index, side), true);
                        }
                        BodyEvent::End { .. } => {
                            assert_eq!(open, Some(true), "a body ends once");
                            bodies.insert((index, side), false);
                        }
                        _ => assert_eq!(open, Some(true), "data are inside a body"),
                    }
                    let what = format!("{index} {side:?}");
                    match &event {
                        BodyEvent::Data(piece) => {
                            told.data(format!("{what} {:?}", piece.stamp), piece.at, &piece.bytes);
                        }
                        BodyEvent::Chunk(token) => told.token(&what, token),
                        event => told.line(format!("{what} {event:?}")),
                    }
                }
                HttpEvent::ExchangeEnd { index } => {
                    assert_eq!(ended.insert(index, ()), None, "an exchange ends once");
                    let open = bodies.iter().any(|((body, _), open)| *body == index && *open);
                    assert!(!open, "its bodies have ended");
                    told.line(format!("{index} ends"));
                }
                event => told.line(format!("{event:?}")),
            }
        };
        let mut connection = Connection::new(&opening, &tight(), 100);
        let (mut at, mut left) = ([0_u64; 2], [false; 2]);
        let mut rest = octets.get(1..).unwrap_or_default();
        let mut number = 1;
        while let Some((head, behind)) = rest.split_at_checked(3) {
            number += 1;
            let stamp = Stamp::untimed(number);
            let side = usize::from(head[0] & 1);
            let direction = if side == 0 { Direction::Forward } else { Direction::Backward };
            let len = u16::from_be_bytes([head[1], head[2]]);
            rest = behind;
            match head[0] >> 1 & 15 {
                // Nothing comes of a direction behind its end.
                0..=2 if left[side] => {}
                0 => {
                    let len = u64::from(len) + 1;
                    let gap = Gap { at: at[side], len, noticed: stamp };
                    at[side] += len;
                    connection.push(StreamItem::Gap(direction, gap), &mut sink);
                }
                1 => {
                    left[side] = true;
                    connection.push(StreamItem::Fin(direction, stamp), &mut sink);
                }
                2 => {
                    left[side] = true;
                    let lost = len & 1 == 1;
                    connection.push(StreamItem::Reset { by: direction, stamp, lost }, &mut sink);
                }
                _ => {
                    let (data, behind) = rest.split_at(usize::from(len).min(rest.len()));
                    rest = behind;
                    if left[side] {
                        continue;
                    }
                    let step = if singly { 1 } else { data.len().max(1) };
                    for (place, part) in data.chunks(step).enumerate() {
                        let segment_start = place == 0;
                        let bytes = part.into();
                        let piece = Piece { at: at[side], bytes, stamp, released: stamp, segment_start };
                        at[side] += part.len() as u64;
                        connection.push(StreamItem::Data(direction, piece), &mut sink);
                    }
                }
            }
        }
        connection.push(StreamItem::Closed(Close::CaptureEnd), &mut sink);
        assert!(bodies.values().all(|open| !open), "every body ends");
        told.flush();
        told.lines
    });
    same("events", one, other);
}

/// A chunked body: where it is cut doesn't matter, and what chunks that are
/// closed by CRLF hold are the octets that were read.
pub fn chunk(octets: &[u8]) {
    let [one, other] = [octets.len().max(1), 1].map(|step| {
        let mut decoder = chunk::Decoder::new(&tight(), usize::MAX);
        let mut told = Told::default();
        let mut offset = 0;
        let stamp = Stamp::untimed(1);
        let mut over = false;
        'body: for part in octets.chunks(step) {
            let mut piece =
                Piece { at: offset, bytes: part.into(), stamp, released: stamp, segment_start: offset == 0 };
            offset += part.len() as u64;
            while let Some(step) = decoder.read(&mut piece) {
                match step {
                    chunk::Step::Token(token) => {
                        let record = match &token {
                            ChunkToken::End(chunk) => Some(chunk.clone()),
                            ChunkToken::Whole(whole) => Some(whole.record()),
                            _ => None,
                        };
                        if let Some(chunk) = record.filter(|chunk| chunk.closing == Closing::CrLf) {
                            let at = usize::try_from(chunk.at).unwrap() + chunk.size_line.len();
                            let kept = chunk.payload.len();
                            assert_eq!(chunk.payload, octets[at..at + kept]);
                            let end = at + usize::try_from(chunk.size).unwrap();
                            assert_eq!(&octets[end..end + 2], b"\r\n");
                            let run: u64 = chunk.trail.iter().map(|run| run.len).sum();
                            assert_eq!(run, (end + 2) as u64 - chunk.at, "every octet is in the trail");
                        }
                        told.token("", &token);
                    }
                    step => {
                        let ends = !matches!(step, chunk::Step::Lenient(..));
                        told.line(format!("{step:?}"));
                        if ends {
                            over = true;
                            break 'body;
                        }
                    }
                }
            }
        }
        if !over && let Some(token) = decoder.finish() {
            told.token("at the end", &token);
        }
        told.flush();
        told.lines
    });
    same("tokens", one, other);
}

/// A coded body; its first octet says by which codings, the second where it is
/// cut. What it decodes to, and the fault that ends it, are the same however it
/// is cut, nothing is held back at a cut, and no more comes than the limits say.
pub fn coding(octets: &[u8]) {
    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];
    let [first, cut, octets @ ..] = octets else { return };
    let mut codings = vec![ALL[usize::from(first & 3)]];
    if first & 4 != 0 {
        codings.push(ALL[usize::from(first >> 3 & 3)]);
    }
    let mut limits = tight();
    limits.coding_allowance = 40_000;
    limits.coding_ratio = 3;
    let most = limits.coding_allowance + limits.coding_ratio * octets.len() as u64;
    let cut = usize::from(*cut).min(octets.len());
    let read = |step: usize| {
        let mut decoder = coding::Decoder::new(&codings, &limits);
        let (mut decoded, mut fault, mut at_cut) = (Vec::new(), None, 0);
        for (part, edge) in [(&octets[..cut], true), (&octets[cut..], false)] {
            for part in part.chunks(step.max(1)) {
                let before = decoded.len();
                let read = decoder.read(part, &mut |octets| decoded.extend_from_slice(octets));
                if let Some(fault) = &fault {
                    assert_eq!(decoded.len(), before, "nothing comes behind a fault");
                    assert_eq!(read.as_ref(), Err(fault), "a fault stays");
                }
                fault = read.err();
            }
            if edge {
                at_cut = decoded.len();
            }
        }
        assert!(decoded.len() as u64 <= most, "what is decoded is bounded");
        (at_cut, decoded, fault, decoder.unfinished())
    };
    let whole = read(usize::MAX);
    same("decoded octets", &whole, &read(1));
    same("decoded octets", &whole, &read(1 + octets.len() % 7));
}

/// The items of a body that is read in parts of so many octets.
fn items(kind: Kind, octets: &[u8], step: usize) -> (Vec<EventItem>, Option<EventItem>, String) {
    let mut framer = Framer::new(kind);
    let (mut items, mut offset) = (Vec::new(), 0);
    for mut part in octets.chunks(step.max(1)) {
        while let Some(item) = framer.read(&mut part, &mut offset) {
            items.push(item);
        }
        assert!(part.is_empty());
    }
    let state = format!("{:?} {}", framer.open(), framer.is_faulted());
    (items, framer.finish(), state)
}

/// The events of a body, whole and octet by octet.
fn events(kind: Kind, octets: &[u8]) -> (Vec<EventItem>, Option<EventItem>) {
    let whole = items(kind, octets, octets.len());
    same("items", &whole, &items(kind, octets, 1));
    let mut last = 0;
    for item in whole.0.iter().chain(&whole.1) {
        let (EventItem::Event { span, .. }
        | EventItem::Invalid { span, .. }
        | EventItem::Filler { span }
        | EventItem::Rest { span }) = item;
        assert!(last <= span.start && span.start < span.end && span.end <= octets.len() as u64);
        last = span.end;
    }
    (whole.0, whole.1)
}

/// Watches in protobuf and in CBOR, and the messages of a WebSocket: where the
/// octets are cut doesn't matter, and messages hold the octets of their frames.
pub fn binary(octets: &[u8]) {
    events(Kind::WatchProtobuf, octets);
    events(Kind::WatchCbor, octets);
    let [one, other] = [octets.len().max(1), 1].map(|step| {
        let mut decoder = websocket::Decoder::new(usize::MAX);
        let mut told = Told::default();
        let (mut at, mut payload) = (0, 0);
        let stamp = Stamp::untimed(1);
        for part in octets.chunks(step) {
            let mut piece = Piece { at, bytes: part.into(), stamp, released: stamp, segment_start: at == 0 };
            at += part.len() as u64;
            while let Some(step) = decoder.read(&mut piece) {
                match step {
                    websocket::Step::Token(token) => {
                        if let ChunkToken::End(message) = &token {
                            assert_eq!(message.payload.len() as u64, message.received);
                            payload += message.received;
                            let run: u64 = message.trail.iter().map(|run| run.len).sum();
                            assert!(run >= message.received + message.size_line.len() as u64);
                        }
                        told.token("", &token);
                    }
                    step => told.line(format!("{step:?}")),
                }
            }
        }
        if let Some(token) = decoder.finish() {
            told.token("at the end", &token);
        }
        assert!(payload <= octets.len() as u64, "no octets are made up");
        told.flush();
        told.lines
    });
    same("messages", one, other);
}

/// A row of JSON texts: serde_json says the same of it, as one text and of
/// each event, and of what a watch event is.
pub fn json(octets: &[u8]) {
    let is_text = |octets: &[u8]| {
        std::str::from_utf8(octets).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
    };
    let (found, last) = events(Kind::Json, octets);
    let one = match (found.as_slice(), &last) {
        ([EventItem::Event { span, .. }], None) | ([], Some(EventItem::Event { span, .. })) => {
            // Behind the text there may be white space only.
            octets[usize::try_from(span.end).unwrap()..].iter().all(|octet| b" \t\r\n".contains(octet))
        }
        _ => false,
    };
    assert_eq!(one, is_text(octets), "serde_json agrees: {}", octets.escape_ascii());
    for item in found.iter().chain(&last) {
        if let EventItem::Event { span, .. } = item {
            assert!(is_text(part(octets, span)), "an event is a JSON text");
        }
    }
    let (watched, last) = events(Kind::Watch, octets);
    for item in watched.iter().chain(&last) {
        let (span, event) = match item {
            EventItem::Event { span, summary } => (span, Some(summary)),
            EventItem::Invalid { span, well_formed: true, .. } => (span, None),
            _ => continue,
        };
        let text = part(octets, span);
        assert!(is_text(text), "what is well formed is a JSON text");
        // It rejects what the grammar allows: deep nesting, large numbers, lone surrogates.
        let Ok(value) = serde_json::from_slice::<Value>(text) else { continue };
        let kind = value.get("type").and_then(Value::as_str);
        let is_event = matches!(kind, Some("ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR"))
            && value.get("object").is_some_and(Value::is_object);
        assert_eq!(event.is_some(), is_event, "{}", text.escape_ascii());
        if let Some(summary) = event {
            assert_eq!(summary.event_type.as_deref(), kind);
            let name = value["object"]["metadata"]["name"].as_str();
            assert_eq!(summary.name.as_deref(), name.filter(|name| name.len() < 4096));
        }
    }
}

fn part<'o>(octets: &'o [u8], span: &std::ops::Range<u64>) -> &'o [u8] {
    &octets[usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()]
}

/// Lines of JSON and event streams, against readers that are too simple to be
/// wrong.
pub fn lines(octets: &[u8]) {
    let (found, last) = events(Kind::Ndjson, octets);
    let mut expected = Vec::new();
    let mut at = 0;
    for line in octets.split_inclusive(|octet| *octet == b'\n') {
        let text = line.trim_ascii();
        let text_at = at + line.iter().take_while(|octet| octet.is_ascii_whitespace()).count();
        at += line.len();
        // Form feeds are white space to Rust and not to JSON.
        if text.is_empty() && !line.contains(&b'\x0c') {
            continue;
        }
        if line.contains(&b'\x0c')
            || !std::str::from_utf8(text).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
        {
            // What is read behind a fault is another's affair.
            break;
        }
        expected.push(text_at as u64..(text_at + text.len()) as u64);
    }
    let spans = found.iter().chain(&last).map_while(|item| match item {
        EventItem::Event { span, .. } => Some(span.clone()),
        _ => None,
    });
    same("lines", spans.collect(), expected);
    same("blocks", events(Kind::Sse, octets).0, blocks(octets));
}

/// Reads an event stream as the algorithm of WHATWG HTML 9.2.6 is written.
fn blocks(body: &[u8]) -> Vec<EventItem> {
    let mut items = Vec::new();
    let mut at = if body.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let mut block = None;
    let (mut name, mut id, mut data) = (Vec::new(), None, None::<Vec<u8>>);
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    while let Some(length) = body[at..].iter().position(|octet| b"\r\n".contains(octet)) {
        let line = &body[at..at + length];
        let end = at + length + 1;
        let start = *block.get_or_insert(at);
        at = if body[at + length..].starts_with(b"\r\n") { end + 1 } else { end };
        if line.is_empty() {
            let span = start as u64..end as u64;
            let summary = data.take().map(|data: Vec<u8>| Summary {
                event_type: Some(if name.is_empty() { "message".into() } else { text(&name).into() }),
                id: id.take(),
                data: Some(text(&data).chars().take(120).collect()),
                ..Summary::default()
            });
            items.push(match summary {
                Some(summary) => EventItem::Event { span, summary: summary.into() },
                None => EventItem::Filler { span },
            });
            (block, id) = (None, None);
            name.clear();
            continue;
        }
        let colon = line.iter().position(|octet| *octet == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"event" => name = value.to_owned(),
            b"data" => match &mut data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => data = Some(value.to_owned()),
            },
            b"id" if !value.contains(&0) => id = Some(text(value).into()),
            _ => {}
        }
    }
    items
}

/// The settings of a run in which all formats are written.
fn settings(width: &str) -> Settings {
    let environment = Environment { columns: Some(width.into()), ..Environment::default() };
    chunkscope::cli::settings(
        ["chunkscope", "--payload", "full", "--all", "capture"].map(Into::into),
        &environment,
    )
    .unwrap()
}

/// All reports on an input.
struct Written<'w>(Vec<Box<dyn Report + 'w>>);

impl Report for Written<'_> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|report| report.finding(finding))
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|report| report.finish(conclusion))
    }
}

/// Writes all reports on what `analyse` is given to analyse.
pub fn reports(
    expectation: Expectation,
    limits: Limits,
    threads: usize,
    analyse: impl FnOnce(&mut Analysis<'_>) -> bool,
) -> (Vec<(ReportFormat, Vec<u8>)>, Outcome) {
    let mut settings = settings("80");
    settings.expect = expectation;
    let options = Options {
        expectation,
        keep_payload: limits.payload,
        check_utf8: true,
        summaries: true,
        threads,
        limits,
        ..Options::default()
    };
    let formats = ReportFormat::value_variants();
    let mut out: Vec<Vec<u8>> = vec![Vec::new(); formats.len()];
    let outcome = {
        let reports =
            formats.iter().zip(&mut out).map(|(format, out)| report(*format, out, &settings, false));
        let mut written = Written(reports.collect());
        let mut analysis = Analysis::new(&options, &mut written);
        let failed = analyse(&mut analysis);
        analysis.conclude(failed).unwrap().outcome
    };
    (formats.iter().copied().zip(out).collect(), outcome)
}

fn text(reports: &[(ReportFormat, Vec<u8>)], format: ReportFormat) -> &[u8] {
    &reports.iter().find(|(one, _)| *one == format).unwrap().1
}

/// Holds the reports of one pass against each other.
fn agree(reports: &[(ReportFormat, Vec<u8>)]) {
    for (format, out) in reports {
        assert!(std::str::from_utf8(out).is_ok(), "{} is UTF-8", format.name());
        if matches!(format, ReportFormat::Table | ReportFormat::Walkthrough) {
            let strange = out.iter().find(|octet| octet.is_ascii_control() && **octet != b'\n');
            assert_eq!(strange, None, "{} has no control characters", format.name());
        }
    }
    let json: Value = serde_json::from_slice(text(reports, ReportFormat::Json)).expect("json is JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let exchanges: Vec<Value> =
        list(&json["captures"]).iter().flat_map(|capture| list(&capture["exchanges"])).collect();
    let (mut rows, mut chunks, mut events, mut violations) = (0, 0, 0, 0);
    for exchange in &exchanges {
        events += list(&exchange["events"]).len();
        violations += list(&exchange["violations"]).len();
        let request = list(&exchange["request"]["body"]["chunks"]).len();
        let response = list(&exchange["response"]["body"]["chunks"]).len();
        chunks += response;
        rows += request + response;
    }
    let summary = &json["summary"];
    assert_eq!(summary["exchanges"], exchanges.len());
    assert_eq!(summary["chunks"], chunks);
    assert_eq!(summary["events"], events);
    assert_eq!(summary["violations"], violations);
    let mut records: HashMap<String, usize> = HashMap::new();
    let jsonl = text(reports, ReportFormat::Jsonl);
    assert!(jsonl.ends_with(b"\n"));
    for line in jsonl.split(|octet| *octet == b'\n').filter(|line| !line.is_empty()) {
        let line: Value = serde_json::from_slice(line).expect("a line of jsonl is JSON");
        *records.entry(line["record"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    let count = |name: &str| records.get(name).copied().unwrap_or(0);
    assert_eq!(count("exchange"), exchanges.len());
    assert_eq!(count("chunk"), rows);
    assert_eq!(count("event"), events);
    assert_eq!(count("violation"), violations);
    assert_eq!(count("end"), exchanges.len());
    assert_eq!(count("summary"), 1);
    let mut quoted = false;
    let lines = text(reports, ReportFormat::Csv).iter().filter(|octet| {
        quoted ^= **octet == b'"';
        **octet == b'\n' && !quoted
    });
    assert_eq!(lines.count(), chunks + 1, "csv has a row a chunk of a response");
}

/// Holds the reports on the same input, read in two ways, against each other.
fn alike(one: &(Vec<(ReportFormat, Vec<u8>)>, Outcome), other: &(Vec<(ReportFormat, Vec<u8>)>, Outcome)) {
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    for ((format, one), (_, other)) in one.0.iter().zip(&other.0) {
        let (lines, others) = (text(one), text(other));
        for (one, other) in lines.lines().zip(others.lines()) {
            assert!(one == other, "small reads give another {}:\n  {one}\n  {other}", format.name());
        }
        assert!(one.len() == other.len(), "small reads give another {}", format.name());
    }
    assert_eq!(one.1, other.1);
}

/// What is expected, told by the input's length: so inputs stay plain files.
fn expectation(octets: &[u8]) -> Expectation {
    match octets.len() % 8 {
        0 => Expectation::Kind(Kind::Json),
        1 => Expectation::Kind(Kind::Ndjson),
        2 => Expectation::Kind(Kind::Sse),
        3 => Expectation::Kind(Kind::Watch),
        4 => Expectation::Any,
        5 if octets.len() % 16 == 5 => Expectation::Kind(Kind::WatchProtobuf),
        5 => Expectation::Kind(Kind::WatchCbor),
        _ => Expectation::Auto,
    }
}

/// Raw responses: all reports can be written and agree, however the octets come.
pub fn raw(octets: &[u8]) {
    let [one, other] = sources(octets).map(|source| {
        reports(expectation(octets), tight(), 1, |analysis| analysis.raw("raw", source).is_err())
    });
    agree(&one.0);
    alike(&one, &other);
}

/// Captures, through all layers: all reports can be written and agree, however
/// the octets come, and with threads too, in batches of a few packets.
pub fn whole(octets: &[u8]) {
    let [source, trickle] = sources(octets);
    let read = |source, threads, read_block| {
        let mut limits = Limits::default();
        limits.read_block = read_block;
        reports(expectation(octets), limits, threads, |analysis| analysis.capture("capture", source).is_err())
    };
    let one = read(source, 1, 256 << 10);
    let other = match octets.len() / 8 % 4 {
        0 => read(trickle, 3, 1 << 10),
        _ => read(trickle, 1, 256 << 10),
    };
    agree(&one.0);
    alike(&one, &other);
}
