//! What a capture of a built conversation must give: the contract's rules,
//! octet by octet, as slow and as plain as can be.

use std::collections::BTreeSet;

use chunkscope::http::BodyEnd;

use crate::built::{Body, Close, Content, Item};

/// What the capture has of the server's octets.
#[derive(Debug, Clone)]
pub struct Captured {
    /// The frame that delivered each octet first; `None` where it was lost.
    pub frames: Vec<Option<u64>>,
    /// Behind the last octet that is known to have been sent.
    pub known: usize,
    pub close: Close,
}

impl Captured {
    fn lacks(&self, from: usize, to: usize) -> bool {
        (from..to.min(self.known)).any(|at| self.frames[at].is_none())
    }

    fn received(&self, from: usize, to: usize) -> Vec<usize> {
        (from..to.min(self.known)).filter(|at| self.frames[*at].is_some()).collect()
    }

    /// The frames of the octets of a range, ascending.
    fn frames(&self, from: usize, to: usize) -> Vec<u64> {
        let frames: BTreeSet<u64> = (from..to.min(self.known)).filter_map(|at| self.frames[at]).collect();
        frames.into_iter().collect()
    }

    /// How a body ends of which octets are still to come.
    fn stop(&self) -> BodyEnd {
        let hole = self.known > 0 && self.frames[self.known - 1].is_none();
        match self.close {
            Close::Open => BodyEnd::Open,
            _ if hole => BodyEnd::Lost,
            Close::ServerFin | Close::ServerRst => BodyEnd::Truncated,
            Close::ClientFin | Close::ClientRst => BodyEnd::Aborted,
        }
    }
}

/// A chunk as it must be listed.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// Its place among those sent.
    pub number: usize,
    pub received: Vec<usize>,
    pub frames: Vec<u64>,
    pub verdict: &'static str,
    /// The numbers of the events, from 1.
    pub events: Vec<u64>,
}

/// What must be found of a chunked body.
#[derive(Debug, Clone)]
pub struct Expected {
    pub chunks: Vec<Chunk>,
    /// The items that are whole events.
    pub events: Vec<usize>,
    pub end: BodyEnd,
    /// Whether the last chunk was seen.
    pub last: bool,
}

/// Reads the framing: how many chunks are listed, and how the body ends.
fn framing(body: &Body, capture: &Captured) -> (usize, BodyEnd, bool) {
    for (number, chunk) in body.chunks.iter().enumerate() {
        if capture.lacks(chunk.at, chunk.payload_at()) {
            return (number, BodyEnd::Lost, false);
        }
        if capture.known < chunk.payload_at() {
            return (number, capture.stop(), false);
        }
        if capture.known < chunk.payload_end() + 2 {
            return (number + 1, capture.stop(), false);
        }
    }
    let all = body.chunks.len();
    let line_end = body.last + body.last_line.len();
    if capture.lacks(body.last, line_end) {
        return (all, BodyEnd::Lost, false);
    }
    let last = capture.known >= line_end;
    if capture.lacks(body.last, body.end) {
        return (all, BodyEnd::Lost, last);
    }
    let complete = capture.known >= body.end;
    (all, if complete { BodyEnd::Complete } else { capture.stop() }, last)
}

/// Whether the chunk's first octet that isn't white space begins an event.
fn begins_event(body: &Body, content: Content, number: usize) -> bool {
    let space: &[u8] = if matches!(content, Content::Sse(_)) { b"" } else { b" \t\r\n" };
    let mut octets = body.chunks[number].payload.clone();
    let first = octets.find(|at| !space.contains(&body.octets[*at]));
    // A number or a string may be the rest of one.
    let shape: &[u8] = if content == Content::Ndjson { b"{[" } else { b"{" };
    let first = first.filter(|at| matches!(content, Content::Sse(_)) || shape.contains(&body.octets[*at]));
    first.is_some_and(|first| body.items.iter().any(|item| item.event.is_some() && item.span.start == first))
}

/// What must be found, if the chunks are checked (`checked`).
pub fn expect(body: &Body, content: Content, checked: bool, capture: &Captured) -> Expected {
    let (listed, end, last) = framing(body, capture);
    // Octet by octet: the chunk that holds it, and whether it was captured.
    let holders: Vec<usize> = body
        .chunks
        .iter()
        .enumerate()
        .flat_map(|(number, c)| c.payload.clone().map(move |_| number))
        .collect();
    let holder = |octet: usize| holders[octet];
    let came: Vec<bool> = holders
        .iter()
        .enumerate()
        .map(|(octet, number)| {
            let chunk = &body.chunks[*number];
            let at = chunk.payload_at() + octet - chunk.payload.start;
            *number < listed && at < capture.known && capture.frames[at].is_some()
        })
        .collect();
    let has = |octet: usize| came[octet];
    // In step: chunk by chunk, whether reading goes from item to item there.
    let lacks: Vec<bool> = body.chunks[..listed]
        .iter()
        .map(|chunk| capture.lacks(chunk.payload_at(), chunk.payload_end()))
        .collect();
    let mut in_step = vec![true; listed];
    for number in 0..listed {
        let before = number == 0 || (in_step[number - 1] && !lacks[number - 1]);
        in_step[number] = before || begins_event(body, content, number);
    }
    // An item is read if reading was in step where it begins, and stays so.
    let is_whole = |item: &Item| {
        let first = holder(item.span.start);
        let from = body.chunks[first].payload.start;
        let ends = item.whole_at.min(body.octets.len());
        let comes = (item.span.start..ends).all(has)
            && (item.whole_at <= body.octets.len() || end == BodyEnd::Complete);
        first < listed && in_step[first] && (from..item.span.start).all(has) && comes
    };
    let wholes: Vec<bool> = body.items.iter().map(is_whole).collect();
    // Of what came only of its comment, nobody can know that it was an event.
    let only_comment = |item: &Item| {
        let came = item.span.clone().take_while(|octet| has(*octet)).count();
        let text = &body.octets[item.span.clone()];
        let line = text.iter().take_while(|octet| !b"\r\n".contains(octet)).count();
        let end = if let Content::Sse(end) = content { end.len() } else { 0 };
        text[0] == b':' && came <= line + end
    };
    let events: Vec<usize> = body
        .items
        .iter()
        .enumerate()
        .filter(|(_, item)| checked && item.event.is_some())
        .filter(|(place, _)| wholes[*place])
        .map(|(place, _)| place)
        .collect();
    let chunks = (0..listed)
        .map(|number| {
            let chunk = &body.chunks[number];
            let touching: Vec<usize> = body
                .items
                .iter()
                .enumerate()
                .filter(|(_, item)| {
                    item.span.start.max(chunk.payload.start) < item.span.end.min(chunk.payload.end)
                })
                .filter(|(place, item)| wholes[*place] || !only_comment(item))
                .map(|(place, _)| place)
                .collect();
            let verdict = if !checked {
                "unchecked"
            } else if lacks[number] {
                "unverified"
            } else if capture.known < chunk.payload_end() {
                "unchecked"
            } else if !in_step[number] {
                "unverified"
            } else {
                let holds_end = |place: &&usize| chunk.payload.contains(&(body.items[**place].span.end - 1));
                let faulty =
                    touching.iter().filter(holds_end).any(|place| body.items[*place].event.is_none());
                let inside = touching
                    .iter()
                    .filter(|place| {
                        let item = &body.items[**place];
                        let inside =
                            chunk.payload.start <= item.span.start && item.span.end <= chunk.payload.end;
                        inside && (wholes[**place] || !matches!(content, Content::Ndjson))
                    })
                    .count();
                match (touching.len(), inside) {
                    _ if faulty => "invalid",
                    (0, _) if matches!(content, Content::Sse(_)) => "unchecked",
                    (0, _) => "invalid",
                    (1, 1) => "one",
                    (1, _) => "part",
                    (n, w) if n == w => "several",
                    _ => "mixed",
                }
            };
            Chunk {
                number,
                received: capture.received(chunk.payload_at(), chunk.payload_end()),
                frames: capture.frames(chunk.at, chunk.payload_end() + 2),
                verdict,
                events: touching
                    .iter()
                    .filter_map(|place| events.iter().position(|event| event == place))
                    .map(|place| place as u64 + 1)
                    .collect(),
            }
        })
        .collect();
    Expected { chunks, events, end, last }
}
