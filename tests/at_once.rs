//! A head or a chunk that is there whole is read at once, and a head that was
//! read before isn't read again, nor what follows from it found anew. None of
//! that shows in what comes out: it is the same where the octets come one by one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "support/segments.rs"]
mod segments;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use chunkscope::event::Kind;
use chunkscope::limits::Limits;
use chunkscope::packet::Flags;
use chunkscope::pipeline::Analysis;
use chunkscope::pipeline::options::{Expectation, Options, Shows};
use chunkscope::report::jsonl::JsonlReport;
use chunkscope::report::payload::Payload;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use segments::{Sent, in_pieces};

const CASES: u32 = 256;

/// What bodies of each kind are put together from: events, parts of them, what
/// stands between them, and what is at fault.
const PARTS: [(Kind, &[&[u8]]); 6] = [
    (
        Kind::Watch,
        &[
            br#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"b"}}}"#,
            br#"{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\u0062"}}}"#,
            br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#,
            br#"{"type":"ADDED","object":{"kind":"Secret","metadata":{"name":"d"},"data":{"e":"ZmdoaWprbG0="}}}"#,
            br#"{"type":"ADDED","object":{"#,
            br#""metadata":{"name":"c"}}}"#,
            b"\n",
            b" ",
            b"1",
            b"{}",
            b"\"",
            b"x",
            b"\xef\xbb\xbf",
        ],
    ),
    (
        Kind::Json,
        &[b"{}", b"[1,2]", b"\"a", b"\"", b"1", b"23", b" ", b"\n", b"true", b"{\"a\":", b"\xff", b",", b"}"],
    ),
    (Kind::Ndjson, &[b"{}", b"1", b"\n", b"\r\n", b" ", b"{\"a\":", b"\"\xc3", b"\xa9\"", b"}", b"x"]),
    (
        Kind::Sse,
        &[
            b"data: a\n\n",
            b"event: b\n",
            b"id: c\r\n",
            b"data",
            b": d\n",
            b"\n",
            b"\r",
            b"\r\n",
            b": e\n",
            b"\xef",
            b"\xbb",
            b"\xbf",
            b"a",
        ],
    ),
    (
        Kind::WatchProtobuf,
        &[
            b"\0\0\0\x0f",
            b"\n\x05ADDED\x12\x06\n\x04k8s\0",
            b"\0\0\0\x0f\n\x05ADDED\x12\x06\n\x04k8s\0",
            b"\0",
            b"\0\0\0\0",
            b"\xff",
            b"a",
        ],
    ),
    (
        Kind::WatchCbor,
        &[
            b"\xa2\x44type\x45ADDED\x46object\xa0",
            b"\xd9\xd9\xf7\xa2\x64type\x65ADDED\x66object\xa0",
            b"\xa2\x44type",
            b"\x45ADDED\x46object",
            b"\xa0",
            b"\x01",
            b"\xff",
        ],
    ),
];

/// What JSON Lines say of what `read` has analysed.
fn lines(options: &Options, read: impl FnOnce(&mut Analysis<'_>)) -> String {
    let mut out = Vec::new();
    let mut report = JsonlReport::new(&mut out, Payload::Full);
    let mut analysis = Analysis::new(options, &mut report);
    read(&mut analysis);
    analysis.conclude(false).unwrap();
    String::from_utf8(out).unwrap()
}

/// The options of reports that want all there is.
fn options(expectation: Expectation, redact: bool) -> Options {
    Options {
        expectation,
        keep_payload: Limits::default().payload,
        check_utf8: true,
        summaries: true,
        explain: true,
        lint: Some(Vec::new()),
        redact,
        shows: if redact { Shows::default() } else { Shows { targets: true, fields: true, payload: 1000 } },
        ..Options::default()
    }
}

/// A chunked response with that field and these chunks, whose size lines end so.
fn response(field: &str, chunks: &[Vec<u8>], line_end: &str) -> Vec<u8> {
    let mut octets = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{field}\r\n").into_bytes();
    for chunk in chunks {
        octets.extend_from_slice(format!("{:x}{line_end}", chunk.len()).as_bytes());
        octets.extend_from_slice(chunk);
        octets.extend_from_slice(b"\r\n");
    }
    octets.extend_from_slice(b"0\r\n\r\n");
    octets
}

/// What is said of raw responses that are read in blocks of so many octets.
fn raw(options: &Options, octets: &[u8], block: usize) -> String {
    let mut limits = options.limits.clone();
    limits.read_block = block;
    lines(&Options { limits, ..options.clone() }, |analysis| analysis.raw("responses", octets).unwrap())
}

#[test]
fn half_a_byte_order_mark_may_be_a_line_that_goes_on_in_the_next_chunk() {
    let octets = response("", &[b"\xef".to_vec(), b"a\ndata: b\n\n".to_vec()], "\r\n");
    let options = options(Expectation::Kind(Kind::Sse), false);
    let whole = raw(&options, &octets, 1 << 20);
    assert_eq!(whole.matches("\"verdict\":\"part\"").count(), 2, "{whole}");
    assert_eq!(raw(&options, &octets, 1), whole);
}

/// Requests.
const REQUESTS: [&str; 12] = [
    "GET /a HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a?token=abcdefgh HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a HTTP/1.1\r\nAuthorization: Bearer abcdefghi\r\n\r\n",
    "POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
    "PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
    "GET /a HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    "GET /a HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    "\r\nGET /a b HTTP/1.1\r\nHost : a\r\n\r\n",
    "GET /a HTTP/1.0\n\n",
];

/// Responses. Those to HEAD end behind their head.
const RESPONSES: [&str; 10] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: application/json;stream=watch\r\nTransfer-Encoding: chunked\r\n\r\n\
     1d\r\n{\"type\":\"ADDED\",\"object\":{}}\n\r\n0\r\nX-Sum: a\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}\n{}\r\n0\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\x01\x02{}",
    "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    "HTTP/1.1 200 OK\r\nSet-Cookie: a=bcdefghij\r\nSet-Cookie: b\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
];

/// A segment of the connection of a client's port.
fn segment(port: u16, sender: usize, next: [u32; 2], flags: Flags, payload: &[u8]) -> Sent {
    let ends: [SocketAddr; 2] = [([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 80).into()];
    Sent {
        seconds: 1,
        micros: 0,
        source: ends[sender],
        destination: ends[1 - sender],
        seq: next[sender],
        ack: (next[1 - sender] > 0).then_some(next[1 - sender]),
        flags,
        payload: payload.to_vec(),
    }
}

/// Connections on which requests are answered, so many behind the next ones;
/// each message is sent in a segment.
fn talk(exchanges: &[(u16, Index, Index)], ahead: usize) -> Vec<Sent> {
    let mut sent = Vec::new();
    let mut connections = BTreeMap::new();
    let mut send = |port: u16, next: &mut [u32; 2], sender: usize, flags: Flags, payload: &str| {
        sent.push(segment(port, sender, *next, flags, payload.as_bytes()));
        next[sender] += payload.len() as u32 + u32::from(flags.syn);
    };
    for (port, request, response) in exchanges {
        let (next, awaited) = connections.entry(*port).or_insert_with(|| {
            let mut next = [100, 0];
            let syn = Flags { syn: true, ..Flags::default() };
            send(*port, &mut next, 0, syn, "");
            next[1] = 200;
            send(*port, &mut next, 1, syn, "");
            (next, VecDeque::new())
        });
        let (request, response) = (*request.get(&REQUESTS), *response.get(&RESPONSES));
        let interim = response.rfind("HTTP/1.1").unwrap();
        let head = interim + response[interim..].find("\r\n\r\n").unwrap() + 4;
        awaited.push_back(if request.starts_with("HEAD") { &response[..head] } else { response });
        send(*port, next, 0, Flags::default(), request);
        if awaited.len() > ahead {
            send(*port, next, 1, Flags::default(), awaited.pop_front().unwrap());
        }
    }
    for (port, (mut next, awaited)) in connections {
        for response in awaited {
            send(port, &mut next, 1, Flags::default(), response);
        }
    }
    sent
}

/// What is said of a capture, exchange by exchange, but for its frames.
fn captured(options: &Options, sent: &[Sent]) -> BTreeMap<String, Vec<Value>> {
    let capture = segments::write(sent);
    let text = lines(options, |analysis| analysis.capture("capture", &capture[..]).unwrap());
    let mut said: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        forget_frames(&mut line);
        said.entry(format!("{} {}", line["stream"], line["exchange"])).or_default().push(line);
    }
    said
}

fn forget_frames(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !matches!(name.as_str(), "frame" | "frames" | "packets"));
            members.values_mut().for_each(forget_frames);
        }
        Value::Array(elements) => elements.iter_mut().for_each(forget_frames),
        Value::String(text) if text.contains("frame") => text.retain(|character| !character.is_ascii_digit()),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn responses_are_the_same_however_their_octets_come(
        kind in 0..PARTS.len(),
        responses in vec((0..4usize, vec(vec(any::<Index>(), 1..4), 0..6), 0..8usize), 1..4),
        check in 0..8u8,
        keep in prop_oneof![Just(0), 1..20usize, Just(1000)],
        block in 1..40usize,
        redact: bool,
    ) {
        let (kind, parts) = PARTS[kind];
        let mut octets = Vec::new();
        for (field, chunks, line_end) in responses {
            let field = ["", "Set-Cookie: a=bcdefghi\r\n", "X-A : b\r\n", "Content-Type: application/json\r\n"][field];
            let chunk = |chosen: &Vec<Index>| chosen.iter().map(|part| *part.get(parts)).collect::<Vec<_>>().concat();
            let line_end = ["\n", " \r\n", ";a=b\r\n"].get(line_end).unwrap_or(&"\r\n");
            octets.extend(response(field, &chunks.iter().map(chunk).collect::<Vec<_>>(), line_end));
        }
        let expectation = if check > 0 { Expectation::Kind(kind) } else { Expectation::Any };
        let mut options = Options { keep_payload: keep, ..options(expectation, redact) };
        options.limits.pending_chunks = 2;
        prop_assert_eq!(raw(&options, &octets, block), raw(&options, &octets, 1 << 20));
    }

    #[test]
    fn conversations_are_the_same_however_their_octets_come(
        exchanges in vec((1000..1003u16, any::<Index>(), any::<Index>()), 1..20),
        ahead in 0..4usize,
        size in 1..20usize,
        threads in 1..3usize,
        redact: bool,
    ) {
        let sent = talk(&exchanges, ahead);
        let options = options(Expectation::Auto, redact);
        let expected = captured(&options, &sent);
        prop_assert_eq!(captured(&Options { threads, ..options }, &in_pieces(&sent, size)), expected);
    }
}
