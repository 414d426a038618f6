//! Conversations that are built: what each octet is, is known.

use std::ops::Range;

use chunkscope::packet::Flags;
use proptest::prelude::*;

use crate::segments::Sent;

/// What a response's body consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    Watch,
    Ndjson,
    /// Event streams, with this line end.
    Sse(&'static str),
    /// Nothing is expected of it.
    Plain,
}

/// A part of a body, before it is cut into chunks.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// An event of that style, with so many octets of filling.
    Event(u8, u16),
    /// White space; a comment block in event streams.
    Space(u8),
    /// A well-formed value that is no event.
    NonEvent(u8),
}

/// Where a body is cut into chunks.
#[derive(Debug, Clone)]
pub enum Cuts {
    /// Behind each part that is an event, with its line end.
    AtEvents,
    Every(u16),
    /// At these places, as parts of 65536 of the body.
    At(Vec<u16>),
    /// Behind each event, and at these places.
    Both(Vec<u16>),
}

/// How a response's body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimited {
    Chunked,
    Length,
    NoBody,
}

/// An exchange to be built.
#[derive(Debug, Clone)]
pub struct Plan {
    pub content: Content,
    pub parts: Vec<Part>,
    pub cuts: Cuts,
    /// How size lines are written, in turn.
    pub styles: Vec<u8>,
    pub trailers: u8,
    pub delimited: Delimited,
    /// The request has a chunked body of so many octets.
    pub posted: Option<u16>,
    pub interim: bool,
    /// An event stream begins with a byte order mark.
    pub mark: bool,
}

/// An item of a body that must lie in one chunk.
#[derive(Debug, Clone)]
pub struct Item {
    pub span: Range<usize>,
    /// Behind the octet that makes it whole.
    pub whole_at: usize,
    /// `None`: a well-formed value that is no event.
    pub event: Option<Label>,
}

/// What is shown of an event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Label {
    pub event_type: Option<String>,
    pub name: Option<String>,
    pub data: Option<String>,
}

/// A chunk as sent; `at` counts in its direction's stream.
#[derive(Debug, Clone)]
pub struct SentChunk {
    pub at: usize,
    pub size_line: String,
    pub payload: Range<usize>,
}

impl SentChunk {
    /// Its first payload octet in the stream.
    pub fn payload_at(&self) -> usize {
        self.at + self.size_line.len()
    }

    /// Behind its last payload octet in the stream.
    pub fn payload_end(&self) -> usize {
        self.payload_at() + self.payload.len()
    }
}

/// A body as sent.
#[derive(Debug, Clone)]
pub struct Body {
    pub octets: Vec<u8>,
    pub items: Vec<Item>,
    pub chunks: Vec<SentChunk>,
    /// Where the last chunk begins and its size line, and its trailer fields.
    pub last: usize,
    pub last_line: String,
    pub trailers: chunkscope::http::Fields,
    pub end: usize,
}

/// An exchange as sent.
#[derive(Debug, Clone)]
pub struct SentExchange {
    pub plan: Plan,
    pub target: String,
    /// Of the response.
    pub head: Range<usize>,
    pub body: Body,
    pub request_body: Option<Body>,
}

/// A connection.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub exchanges: Vec<SentExchange>,
    pub client: Vec<u8>,
    pub server: Vec<u8>,
    /// Who sends, and up to where.
    pub turns: Vec<(Side, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// How the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// The server closes, then the client.
    ServerFin,
    ClientFin,
    ServerRst,
    ClientRst,
    /// The capture ends before.
    Open,
}

pub fn plans(max: usize) -> impl Strategy<Value = Vec<Plan>> {
    prop::collection::vec(plan(), 1..=max)
}

fn plan() -> impl Strategy<Value = Plan> {
    let content = prop_oneof![
        4 => Just(Content::Watch),
        2 => Just(Content::Ndjson),
        1 => Just(Content::Sse("\n")),
        1 => Just(Content::Sse("\r\n")),
        1 => Just(Content::Sse("\r")),
        1 => Just(Content::Plain),
    ];
    let part = prop_oneof![
        12 => (any::<u8>(), prop_oneof![4 => 0..40_u16, 1 => 0..3000_u16]).prop_map(|(s, n)| Part::Event(s, n)),
        2 => any::<u8>().prop_map(Part::Space),
        1 => any::<u8>().prop_map(Part::NonEvent),
    ];
    let places = || prop::collection::vec(any::<u16>(), 0..8);
    let cuts = prop_oneof![
        3 => Just(Cuts::AtEvents),
        1 => prop_oneof![1..8_u16, 8..600_u16].prop_map(Cuts::Every),
        3 => places().prop_map(Cuts::At),
        3 => places().prop_map(Cuts::Both),
    ];
    let delimited = prop_oneof![8 => Just(Delimited::Chunked), 1 => Just(Delimited::Length), 1 => Just(Delimited::NoBody)];
    (
        content,
        prop::collection::vec(part, 0..8),
        cuts,
        prop::collection::vec(0..7_u8, 1..4),
        0..3_u8,
        delimited,
        prop::option::weighted(0.2, 0..200_u16),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(content, parts, cuts, styles, trailers, delimited, posted, interim, mark)| Plan {
            content,
            parts,
            cuts,
            styles,
            trailers,
            delimited,
            posted,
            interim,
            mark,
        })
}

fn part(content: Content, part: Part, number: usize, out: &mut Vec<u8>, items: &mut Vec<Item>) {
    let start = out.len();
    let mut item = |text: &str, behind: &str, event: Option<Label>, line: bool| {
        out.extend_from_slice(text.as_bytes());
        let span = start..out.len();
        out.extend_from_slice(behind.as_bytes());
        let whole_at = if line { out.len() } else { span.end };
        items.push(Item { span, whole_at, event });
    };
    let name = format!("n{number}");
    match (content, part) {
        (Content::Plain, Part::Event(_, n)) => {
            out.extend((0..n).map(|i| u8::try_from(i % 251).unwrap()));
        }
        (Content::Plain, _) => out.extend_from_slice(b"5\r\nhello\r\n0\r\n\r\n"),
        (Content::Watch, Part::Event(style, n)) => {
            let kind = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"][usize::from(style) % 5];
            let fill = "}{\\\"\\u00e9\u{fc},".chars().cycle().take(usize::from(n) * 12 / 8 * 8);
            // Escapes are never cut: a whole number of periods.
            let period = "}{\\\"\\u00e9\u{fc},";
            let fill: String =
                fill.take(usize::from(n) / period.chars().count() * period.chars().count()).collect();
            let object = format!(
                "{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"{name}\"}},\"x\":[1,{{}},\"{fill}\"]}}"
            );
            let (text, event_type) = match style / 5 % 6 {
                0 => (format!("{{\"object\":{object},\"type\":\"{kind}\"}}"), kind),
                1 => (format!("{{\n  \"type\": \"{kind}\",\r\n\t\"object\": {object}\n}}"), kind),
                2 => (format!("{{\"type\":\"ERROR\",\"type\":\"{kind}\",\"object\":{object}}}"), kind),
                3 => (format!("{{\"\\u0074ype\":\"{kind}\",\"object\":{object}}}"), kind),
                _ => (format!("{{\"type\":\"{kind}\",\"object\":{object}}}"), kind),
            };
            let behind = ["\n", "\n", "\n", "", "\r\n"][usize::from(style / 30) % 5];
            let label =
                Label { event_type: Some(event_type.to_owned()), name: Some(name), ..Label::default() };
            item(&text, behind, Some(label), false);
        }
        (Content::Watch, Part::NonEvent(style)) => {
            let text = ["{\"type\":\"LATER\",\"object\":{}}", "[1,[2]]", "{\"items\":[]}", "\"}{\"", "{}"];
            item(text[usize::from(style) % 5], "\n", None, false);
        }
        (Content::Ndjson, Part::Event(style, n)) => {
            let fill = "x".repeat(usize::from(n));
            let text = match style % 6 {
                0 => format!("{number}"),
                1 => format!("[{number},[\"{fill}\"]]"),
                2 => format!("\"{fill}\\n\""),
                3 => format!("{{\"n\":{{\"n\":{{}}}},\"x\":\"{fill}\"}}"),
                _ => format!("{{\"n\":{number},\"x\":\"{fill}\"}}"),
            };
            let label = Label { data: Some(text.chars().take(120).collect()), ..Label::default() };
            item(&text, if style & 64 == 0 { "\n" } else { " \r\n" }, Some(label), true);
        }
        (Content::Sse(end), Part::Event(style, n)) => {
            let fill = "z".repeat(usize::from(n));
            let data = format!("{name}{fill}z");
            let mut text = String::new();
            let mut line = |octets: &str| {
                text.push_str(octets);
                text.push_str(end);
            };
            let (mut event_type, mut shown) = ("message", data.clone());
            if style & 1 != 0 {
                line(": a comment");
            }
            if style & 2 != 0 {
                line("event: tickz");
                event_type = "tickz";
            }
            line(&format!("data: {data}"));
            if style & 4 != 0 {
                line("data:morez");
                shown.push_str("\nmorez");
            }
            if style & 8 != 0 {
                line("retry");
            }
            let (front, behind) = end.split_at(1);
            text.push_str(front);
            let label = Label {
                event_type: Some(event_type.to_owned()),
                data: Some(shown.chars().take(120).collect()),
                ..Label::default()
            };
            item(&text, behind, Some(label), false);
        }
        (Content::Sse(end), Part::Space(style) | Part::NonEvent(style)) => {
            let text = match style % 3 {
                0 => end.to_owned(),
                1 => format!(": keep-alive{end}{end}"),
                _ => format!("event: tick{end}id: 7{end}{end}"),
            };
            out.extend_from_slice(text.as_bytes());
        }
        (Content::Ndjson, Part::Space(style) | Part::NonEvent(style)) => {
            out.extend_from_slice([&b"\n"[..], b"\r\n", b" \t\n", b"\n\n\n"][usize::from(style) % 4]);
        }
        (Content::Watch, Part::Space(style)) => {
            out.extend_from_slice([&b"\n"[..], b" ", b"\r\n", b"\t\n  "][usize::from(style) % 4]);
        }
    }
}

fn size_line(style: u8, size: usize) -> String {
    match style {
        0 | 1 => format!("{size:x}\r\n"),
        2 => format!("{size:X}\r\n"),
        3 => format!("{size:x};a=b\r\n"),
        4 => format!("{size:x} ; a=\"b;\\\"\"\r\n"),
        5 => format!("{size:x} \r\n"),
        _ => format!("000{size:x}\r\n"),
    }
}

/// Puts a body of chunks behind what a stream holds.
fn chunks(out: &mut Vec<u8>, octets: Vec<u8>, items: Vec<Item>, plan: &Plan) -> Body {
    let len = octets.len();
    let mut edges: Vec<usize> = Vec::new();
    let places = |places: &[u16]| -> Vec<usize> {
        places.iter().map(|place| (usize::from(*place) * len) >> 16).collect()
    };
    // The line end behind an event is its chunk's.
    let behind = |item: &Item| {
        item.span.end + octets[item.span.end..].iter().take_while(|o| b"\r\n".contains(o)).count()
    };
    match &plan.cuts {
        Cuts::AtEvents => edges.extend(items.iter().map(behind)),
        Cuts::Every(size) => edges.extend((0..len).step_by(usize::from(*size))),
        Cuts::At(at) => edges = places(at),
        Cuts::Both(at) => {
            edges = places(at);
            edges.extend(items.iter().map(behind));
        }
    }
    edges.push(0);
    edges.push(len);
    edges.sort_unstable();
    edges.dedup();
    let mut chunks = Vec::new();
    for (number, edge) in edges.windows(2).enumerate() {
        let style = plan.styles[number % plan.styles.len()];
        let payload = edge[0]..edge[1];
        let chunk = SentChunk { at: out.len(), size_line: size_line(style, payload.len()), payload };
        out.extend_from_slice(chunk.size_line.as_bytes());
        out.extend_from_slice(&octets[chunk.payload.clone()]);
        out.extend_from_slice(b"\r\n");
        chunks.push(chunk);
    }
    let last = out.len();
    let last_line = if plan.trailers == 2 { "00;end\r\n" } else { "0\r\n" }.to_owned();
    out.extend_from_slice(last_line.as_bytes());
    let trailers: chunkscope::http::Fields = (0..plan.trailers)
        .map(|number| (format!("X-{number}").into(), format!("v {number}").into()))
        .collect();
    for (name, value) in &trailers {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    Body { octets, items, chunks, last, last_line, trailers, end: out.len() }
}

fn content(plan: &Plan, exchange: usize) -> (Vec<u8>, Vec<Item>) {
    let (mut octets, mut items) = (Vec::new(), Vec::new());
    if plan.mark && matches!(plan.content, Content::Sse(_)) {
        octets.extend_from_slice("\u{feff}".as_bytes());
    }
    for (number, one) in plan.parts.iter().enumerate() {
        part(plan.content, *one, exchange * 100 + number, &mut octets, &mut items);
    }
    (octets, items)
}

/// Builds what both sides send; `pipelined`: all requests first.
pub fn build(plans: &[Plan], pipelined: bool) -> Conversation {
    let (mut client, mut server, mut turns) = (Vec::new(), Vec::new(), Vec::new());
    let mut exchanges = Vec::new();
    let mut answers = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let target = match plan.content {
            Content::Watch => format!("/api/v1/pods?watch=1&n={number}"),
            _ => format!("/{number}"),
        };
        let method = if plan.posted.is_some() { "POST" } else { "GET" };
        client.extend_from_slice(format!("{method} {target} HTTP/1.1\r\nHost: a\r\n").as_bytes());
        if plan.posted.is_some() {
            client.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        client.extend_from_slice(b"\r\n");
        let request_body = plan.posted.map(|size| {
            let octets = vec![b'q'; usize::from(size)];
            let plan = Plan { cuts: Cuts::Every(64), ..plan.clone() };
            chunks(&mut client, octets, Vec::new(), &plan)
        });
        turns.push((Side::Client, client.len()));
        let media_type = match plan.content {
            Content::Watch => "application/json",
            Content::Ndjson => "application/x-ndjson",
            Content::Sse(_) => "text/event-stream",
            Content::Plain => "application/octet-stream",
        };
        if plan.interim {
            server.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
        }
        let start = server.len();
        let (octets, items) = content(plan, number);
        let (status, framing) = match plan.delimited {
            Delimited::Chunked => ("200 OK", "Transfer-Encoding: chunked\r\n".to_owned()),
            Delimited::Length => ("200 OK", format!("Content-Length: {}\r\n", octets.len())),
            Delimited::NoBody => ("204 No Content", String::new()),
        };
        server.extend_from_slice(
            format!("HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\n{framing}\r\n").as_bytes(),
        );
        let head = start..server.len();
        let body = match plan.delimited {
            Delimited::Chunked => chunks(&mut server, octets, items, plan),
            Delimited::Length | Delimited::NoBody => {
                let octets = if plan.delimited == Delimited::Length { octets } else { Vec::new() };
                server.extend_from_slice(&octets);
                Body {
                    octets,
                    items: Vec::new(),
                    chunks: Vec::new(),
                    last: server.len(),
                    last_line: String::new(),
                    trailers: Default::default(),
                    end: server.len(),
                }
            }
        };
        answers.push((Side::Server, server.len()));
        if !pipelined {
            turns.append(&mut answers);
        }
        exchanges.push(SentExchange { plan: plan.clone(), target, head, body, request_body });
    }
    turns.append(&mut answers);
    Conversation { exchanges, client, server, turns }
}

const PLAIN: Flags = Flags { syn: false, fin: false, rst: false };
/// The first sequence numbers: the server's wraps within the first response.
const ISNS: [u32; 2] = [1000, u32::MAX - 300];

/// How octets travel.
#[derive(Debug, Clone)]
pub struct Travel {
    /// The sizes of the segments, in turn.
    pub sizes: Vec<u16>,
    /// The client acknowledges each segment.
    pub eager: bool,
    /// Every segment comes twice.
    pub doubled: bool,
    /// Neighbours in a run change places.
    pub swapped: bool,
}

pub fn travels() -> impl Strategy<Value = Travel> {
    let size = prop_oneof![1..8_u16, 8..200_u16, 200..4000_u16];
    (prop::collection::vec(size, 1..5), any::<bool>(), prop::bool::weighted(0.2), prop::bool::weighted(0.2))
        .prop_map(|(sizes, eager, doubled, swapped)| Travel { sizes, eager, doubled, swapped })
}

/// A segment, without its place in time.
pub fn segment(side: Side, flags: Flags, at: [usize; 2], payload: &[u8], ack: bool) -> Sent {
    let ends = ["10.0.0.1:40000".parse().unwrap(), "10.0.0.2:8001".parse().unwrap()];
    let me = usize::from(side == Side::Server);
    // Offset 0 follows the SYN.
    let number = |end: usize| ISNS[end].wrapping_add(u32::try_from(at[end]).unwrap()).wrapping_add(1);
    Sent {
        seconds: 1_700_000_000,
        micros: 0,
        source: ends[me],
        destination: ends[1 - me],
        seq: if flags.syn { ISNS[me] } else { number(me) },
        ack: ack.then(|| number(1 - me)),
        flags,
        payload: payload.to_vec(),
    }
}

/// Sends the conversation, of the server's octets those up to `until`.
pub fn send(talk: &Conversation, travel: &Travel, until: usize, close: Close) -> Vec<Sent> {
    let syn = Flags { syn: true, ..PLAIN };
    let mut sent = vec![
        segment(Side::Client, syn, [0, 0], b"", false),
        segment(Side::Server, syn, [0, 0], b"", true),
        segment(Side::Client, PLAIN, [0, 0], b"", true),
    ];
    let mut at = [0, 0];
    let mut sizes = travel.sizes.iter().cycle();
    for (side, end) in &talk.turns {
        let (me, octets) = match side {
            Side::Client => (0, &talk.client),
            Side::Server => (1, &talk.server),
        };
        let end = if *side == Side::Server { (*end).min(until) } else { *end };
        let mut run = Vec::new();
        while at[me] < end {
            let size = usize::from(*sizes.next().unwrap()).min(end - at[me]);
            run.push(segment(*side, PLAIN, at, &octets[at[me]..at[me] + size], true));
            at[me] += size;
            if travel.eager && *side == Side::Server {
                run.push(segment(Side::Client, PLAIN, at, b"", true));
            }
        }
        if travel.swapped && !travel.eager {
            run.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        }
        for one in run {
            sent.push(one.clone());
            if travel.doubled {
                sent.push(one);
            }
        }
        if *side == Side::Server {
            sent.push(segment(Side::Client, PLAIN, at, b"", true));
            if end == until {
                break;
            }
        }
    }
    let fin = Flags { fin: true, ..PLAIN };
    let rst = Flags { rst: true, ..PLAIN };
    match close {
        Close::ServerFin => {
            sent.push(segment(Side::Server, fin, at, b"", true));
            sent.push(segment(Side::Client, fin, [at[0], at[1] + 1], b"", true));
        }
        Close::ClientFin => sent.push(segment(Side::Client, fin, at, b"", true)),
        Close::ServerRst => sent.push(segment(Side::Server, rst, at, b"", true)),
        Close::ClientRst => sent.push(segment(Side::Client, rst, at, b"", true)),
        Close::Open => {}
    }
    for (number, one) in sent.iter_mut().enumerate() {
        one.micros = u32::try_from(number + 1).unwrap();
    }
    sent
}

/// The frame that delivered each octet of the server's stream first.
pub fn delivered(talk: &Conversation, sent: &[Sent]) -> Vec<Option<u64>> {
    let mut frames = vec![None; talk.server.len()];
    for (number, one) in sent.iter().enumerate().filter(|(_, one)| one.source.port() == 8001) {
        let at = one.seq.wrapping_sub(ISNS[1]).wrapping_sub(1);
        for place in 0..one.payload.len() {
            frames[at as usize + place].get_or_insert(number as u64 + 1);
        }
    }
    frames
}
