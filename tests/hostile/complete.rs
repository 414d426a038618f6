//! Captures without holes: exactly what was sent is found, whatever the
//! segments.

use std::fmt::Debug;

use chunkscope::http::{BodyEnd, Framing};
use chunkscope::report::{self, ExchangeVerdict, Expect};
use proptest::prelude::*;

use crate::built::{
    Body, Close, Content, Conversation, Delimited, Part, Plan, SentExchange, Travel, build, delivered, plans,
    send, travels,
};
use crate::expected::{Captured, Expected, expect};
use crate::record::{Found, record};
use crate::segments::{self, Sent};

/// Fails naming the place, where two things differ that should be the same.
#[track_caller]
pub fn same<T: Debug + PartialEq<U>, U: Debug>(what: &str, found: T, expected: U) {
    assert!(found == expected, "{what}: found {found:?}, expected {expected:?}");
}

/// Holds the listed chunks of a body against those that must be.
pub fn chunks(what: &str, found: &[report::JudgedChunk], body: &Body, expected: &Expected, sent: &[u8]) {
    for (judged, expected) in found.iter().zip(&expected.chunks) {
        let what = format!("{what}, chunk {}", expected.number + 1);
        let (chunk, sent_chunk) = (&judged.chunk, &body.chunks[expected.number]);
        same(&what, chunk.index, expected.number as u64 + 1);
        same(&what, chunk.size_line.as_slice(), sent_chunk.size_line.as_bytes());
        same(&what, chunk.size, sent_chunk.payload.len() as u64);
        same(&what, chunk.offset, sent_chunk.payload.start as u64);
        same(&what, chunk.at, sent_chunk.at as u64);
        same(&what, chunk.received, expected.received.len() as u64);
        let payload: Vec<u8> = expected.received.iter().map(|at| sent[*at]).collect();
        assert!(chunk.payload == payload, "{what}: the payload is what was sent");
        same(&what, judged.utf8, Some(std::str::from_utf8(&payload).is_ok()));
        let frames: Vec<u64> = chunk.frames().iter().map(|frame| frame.get()).collect();
        same(&what, &frames, &expected.frames);
        same(&what, Some(&chunk.first.frame.get()), expected.frames.first());
        same(&what, Some(&chunk.last.frame.get()), expected.frames.last());
        assert!(
            judged.verdict.name() == expected.verdict,
            "{what}: found {:?}, expected {}",
            judged.verdict,
            expected.verdict
        );
        let events: Vec<u64> = judged.events.iter().map(|event| event.index).collect();
        same(&what, &events, &expected.events);
    }
    same(&format!("{what}: chunks"), found.len(), expected.chunks.len());
}

/// Holds the events against those that must be.
pub fn events(what: &str, found: &Found, body: &Body, expected: &Expected) {
    same(&format!("{what}: events"), found.events.len(), expected.events.len());
    let holder =
        |octet: usize| body.chunks.iter().position(|c| c.payload.contains(&octet)).unwrap() as u64 + 1;
    for (number, (event, place)) in found.events.iter().zip(&expected.events).enumerate() {
        let (item, what) = (&body.items[*place], format!("{what}, event {}", number + 1));
        let label = item.event.as_ref().unwrap();
        same(&what, event.index, number as u64 + 1);
        same(&what, (event.offset, event.size), (item.span.start as u64, item.span.len() as u64));
        same(&what, event.first_chunk, holder(item.span.start));
        same(&what, event.last_chunk, holder(item.span.end - 1));
        same(&what, &event.summary.event_type.as_deref(), &label.event_type.as_deref());
        same(&what, &event.summary.name.as_deref(), &label.name.as_deref());
        same(&what, &event.summary.data.as_deref(), &label.data.as_deref());
    }
}

/// Holds the totals of an exchange against what is listed of it.
pub fn totals(what: &str, found: &Found) {
    let end = found.end.as_ref().unwrap();
    let response: Vec<_> =
        found.chunks.iter().filter(|judged| judged.side == chunkscope::http::Side::Response).collect();
    let count = |name: &str| response.iter().filter(|judged| judged.verdict.name() == name).count() as u64;
    let tally = [
        (end.tally.one, "one"),
        (end.tally.several, "several"),
        (end.tally.part, "part"),
        (end.tally.mixed, "mixed"),
        (end.tally.invalid, "invalid"),
        (end.tally.unverified, "unverified"),
        (end.tally.unchecked, "unchecked"),
    ];
    for (counted, name) in tally {
        same(&format!("{what}: {name}"), counted, count(name));
    }
    same(what, end.events, found.events.len() as u64);
    same(what, end.violations, found.violations.len() as u64);
    let failed: Vec<_> = response
        .iter()
        .filter(|judged| matches!(judged.verdict.name(), "several" | "part" | "mixed" | "invalid"))
        .map(|judged| judged.chunk.index)
        .collect();
    let told: Vec<_> = found
        .violations
        .iter()
        .filter(|violation| !matches!(violation.code.name(), "bad-framing" | "truncated-body"))
        .filter_map(|violation| violation.chunk)
        .collect();
    same(&format!("{what}: one violation for each failed chunk"), told, failed);
}

/// Holds an exchange against what was sent of it.
fn exchange(number: usize, found: &Found, sent: &SentExchange, talk: &Conversation, capture: &Captured) {
    let what = format!("exchange {number}");
    let head = found.head.as_ref().unwrap();
    let request = head.request.as_ref().unwrap();
    same(&what, request.target.as_deref(), Some(sent.target.as_str()));
    totals(&what, found);
    let end = found.end.as_ref().unwrap();
    if capture.known < sent.head.end {
        // What its lines that came say is told, but nothing of a body.
        same(&what, end.response_body.as_ref().map_or(0, |body| body.size + body.chunks), 0);
        return;
    }
    let plan = &sent.plan;
    let response = head.response.as_ref().unwrap();
    let status = if plan.delimited == Delimited::NoBody { 204 } else { 200 };
    same(&what, response.status, Some(status));
    same(&what, response.stamp.map(|stamp| stamp.frame.get()), capture.frames[sent.head.start]);
    let body = end.response_body.as_ref().unwrap();
    let kind = match plan.content {
        Content::Watch if plan.delimited != Delimited::NoBody => Some("watch"),
        Content::Ndjson => Some("ndjson"),
        Content::Sse(_) => Some("sse"),
        _ => None,
    };
    if let Some(request_body) = &sent.request_body {
        let size = request_body.octets.len() as u64;
        let found = end.request_body.as_ref().unwrap();
        same(&what, (found.size, found.end), (size, BodyEnd::Complete));
    }
    if plan.delimited != Delimited::Chunked {
        let length = sent.body.octets.len();
        let came = (capture.known - sent.head.end).min(length);
        same(&what, body.size, came as u64);
        let framing = match plan.delimited {
            Delimited::NoBody => Framing::None,
            _ => Framing::ContentLength(length as u64),
        };
        same(&what, body.framing, Some(framing));
        same(&what, body.end == BodyEnd::Complete, came == length);
        same(&what, end.verdict, ExchangeVerdict::Unchecked);
        return;
    }
    same(&what, head.expect.map(Expect::name), kind);
    same(&what, body.framing, Some(Framing::Chunked));
    let expected = expect(&sent.body, plan.content, kind.is_some(), capture);
    let listed: Vec<_> = found
        .chunks
        .iter()
        .filter(|judged| judged.side == chunkscope::http::Side::Response)
        .cloned()
        .collect();
    chunks(&what, &listed, &sent.body, &expected, &talk.server);
    events(&what, found, &sent.body, &expected);
    same(&what, body.end, expected.end);
    same(&what, body.chunks, listed.len() as u64);
    same(&what, body.size, expected.chunks.iter().map(|chunk| chunk.received.len() as u64).sum::<u64>());
    same(&what, body.last_chunk.is_some(), expected.last);
    if let Some(last) = body.last_chunk.as_ref().filter(|_| expected.end == BodyEnd::Complete) {
        same(&what, last.size_line.as_slice(), sent.body.last_line.as_bytes());
        same(&what, &last.trailers, &sent.body.trailers);
    }
    let failed =
        expected.chunks.iter().any(|c| matches!(c.verdict, "several" | "part" | "mixed" | "invalid"));
    let unverified = expected.chunks.iter().any(|c| c.verdict == "unverified")
        || (expected.end == BodyEnd::Lost && kind.is_some());
    let checked = expected.chunks.iter().any(|c| c.verdict == "one");
    let verdict = match () {
        () if failed || expected.end == BodyEnd::Truncated => ExchangeVerdict::Fail,
        () if unverified => ExchangeVerdict::Unverified,
        () if checked => ExchangeVerdict::Pass,
        () => ExchangeVerdict::Unchecked,
    };
    same(&what, end.verdict, verdict);
    let truncated = found.violations.iter().find(|violation| violation.code.name() == "truncated-body");
    same(&what, truncated.is_some(), expected.end == BodyEnd::Truncated);
    if let Some(violation) = truncated {
        let within = expected.chunks.last().map(|chunk| &sent.body.chunks[chunk.number]);
        let within = within.filter(|chunk| chunk.payload_end() + 2 > capture.known);
        same(&what, violation.chunk.is_some(), within.is_some());
    }
}

/// Sends the conversation and holds what is found against it.
pub fn check(talk: &Conversation, travel: &Travel, until: usize, close: Close) {
    let problems = check_sent(talk, &send(talk, travel, until, close), until, close);
    assert!(!problems.contains(&"conflicting-overlap"));
}

/// The same for packets that were sent otherwise; the problems.
fn check_sent(talk: &Conversation, sent: &[Sent], until: usize, close: Close) -> Vec<&'static str> {
    let capture = Captured { frames: delivered(talk, sent), known: until, close };
    let record = record(&segments::write(sent));
    for (number, one) in talk.exchanges.iter().enumerate() {
        let Some(found) = record.exchanges.get(&(0, number as u64)) else {
            assert!(one.head.start >= until, "exchange {number} is found");
            continue;
        };
        exchange(number, found, one, talk, &capture);
    }
    assert!(record.exchanges.len() <= talk.exchanges.len(), "no exchange is invented");
    for problem in &record.problems {
        // A head may be cut by the end of the stream.
        let cut = *problem == "incomplete-head" && until < talk.server.len();
        assert!(matches!(*problem, "lenient-framing" | "conflicting-overlap") || cut, "{problem}");
    }
    record.problems
}

/// Without blocks of a stream that have fields but no data: cut, they look like
/// parts of events.
fn decided(mut plans: Vec<Plan>) -> Vec<Plan> {
    for plan in plans.iter_mut().filter(|plan| matches!(plan.content, Content::Sse(_))) {
        for part in &mut plan.parts {
            if let Part::Space(style) | Part::NonEvent(style) = part {
                *part = Part::Space(*style % 3 % 2);
            }
        }
    }
    plans
}

proptest! {
    #![proptest_config(crate::config(1500))]

    #[test]
    fn what_was_sent_is_found(plans in plans(3), pipelined: bool, travel in travels(), fin: bool) {
        let talk = build(&plans, pipelined);
        let close = if fin { Close::ServerFin } else { Close::Open };
        check(&talk, &travel, talk.server.len(), close);
    }

    /// Resets far from the window are none, and of copies that differ the
    /// first counts.
    #[test]
    fn forged_packets_change_nothing(
        plans in plans(2),
        sizes in prop::collection::vec(1..400_u16, 1..4),
        forged in prop::collection::vec((any::<u16>(), 0..4_u8), 1..6),
    ) {
        let talk = build(&plans, false);
        let travel = Travel { sizes, eager: false, doubled: false, swapped: false };
        let mut sent = send(&talk, &travel, talk.server.len(), Close::ServerFin);
        let mut copied = false;
        for (place, kind) in forged {
            // Behind the handshake, and before the first FIN.
            let fin = sent.iter().position(|one| one.flags.fin).unwrap();
            let place = 3 + ((usize::from(place) * (fin - 3)) >> 16);
            let mut one = sent[place].clone();
            match kind {
                0 | 1 => {
                    one.flags.rst = true;
                    one.payload.clear();
                    one.seq = one.seq.wrapping_add(if kind == 0 { 0x5000_0000 } else { 0xe000_0000 });
                }
                _ => {
                    one.payload.iter_mut().for_each(|octet| *octet ^= 0x15);
                    // One octet is what probes of a connection that is idle have.
                    copied |= one.payload.len() > 1;
                }
            }
            sent.insert(place + 1, one);
        }
        let problems = check_sent(&talk, &sent, talk.server.len(), Close::ServerFin);
        same("conflicts", problems.contains(&"conflicting-overlap"), copied);
    }

    #[test]
    fn what_was_sent_before_the_end_is_found(
        plans in plans(2),
        travel in travels(),
        until: u16,
        close in prop::sample::select(vec![
            Close::ServerFin, Close::ServerRst, Close::ClientFin, Close::ClientRst, Close::Open,
        ]),
    ) {
        let talk = build(&decided(plans), false);
        let until = ((usize::from(until) * talk.server.len()) >> 16).max(1);
        check(&talk, &travel, until, close);
    }
}
