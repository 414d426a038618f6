//! What violations say: clauses that go on after "chunk 4 …".

use std::ops::Range;

use crate::event::Kind;
use crate::http::Side;
use crate::report::{Expect, JudgedChunk};
use crate::verdict::{Fault, Verdict};

use super::exchange::Stopped;

/// What a chunk holds that it shouldn't.
pub(super) fn chunk(judged: &JudgedChunk, expect: Option<Expect>) -> String {
    match &judged.verdict {
        Verdict::Invalid(fault) => invalid(judged, fault, expect),
        _ => format!("holds {}", list(&contents(judged))),
    }
}

fn invalid(judged: &JudgedChunk, fault: &Fault, expect: Option<Expect>) -> String {
    let place = fault.at.checked_sub(judged.chunk.offset).filter(|place| *place < judged.chunk.size);
    let place = match (place, &judged.decoded) {
        (_, Some(_)) => format!("octet {} of the decoded body", fault.at),
        (Some(place), None) => format!("octet {place} of its payload"),
        (None, None) => format!("octet {} of the body", fault.at),
    };
    let what = match expect {
        Some(Expect::Kind(kind)) if kind.is_watch() => "a watch event",
        Some(Expect::Kind(Kind::Json)) => "a JSON text",
        Some(Expect::Kind(Kind::Ndjson)) => "a line of JSON",
        Some(Expect::Kind(Kind::Sse)) => "a server-sent event",
        _ => "an event",
    };
    let beside =
        if judged.events.is_empty() { String::new() } else { format!(" beside {}", list(&contents(judged))) };
    format!("holds something that isn't {what}{beside}: {} (at {place})", fault.message)
}

/// What a chunk holds of events, in order: `the end of event 9`, `events 10 to 17`.
fn contents(judged: &JudgedChunk) -> Vec<String> {
    let Range { start, end } = judged.span();
    let (mut front, mut back) = (None, None);
    let mut whole: Option<(u64, u64)> = None;
    let mut listed_parts = 0;
    for event in &judged.events {
        let index = event.index;
        match (event.offset < start, event.offset.saturating_add(event.size) > end) {
            (false, false) => whole = Some((whole.map_or(index, |(first, _)| first), index)),
            (true, true) => back = Some(format!("the middle of event {index}")),
            (true, false) => front = Some(format!("the end of event {index}")),
            (false, true) => back = Some(format!("the beginning of event {index}")),
        }
        listed_parts = u64::from(front.is_some()) + u64::from(back.is_some());
    }
    if judged.overlap.parts > listed_parts {
        let part = if judged.overlap.from_before && front.is_none() { "a part" } else { "the beginning" };
        back = Some(match judged.unresolved_event {
            Some(index) => format!("{part} of event {index}"),
            None => format!("{part} of an event that never became whole"),
        });
    }
    let whole = whole.map(|(first, last)| match last - first {
        0 => format!("event {first}"),
        1 => format!("events {first} and {last}"),
        _ => format!("events {first} to {last}"),
    });
    let mut contents: Vec<String> = [front, whole, back].into_iter().flatten().collect();
    if let (Verdict::Part, Some(only)) = (&judged.verdict, contents.first_mut()) {
        only.insert_str(0, "only ");
    }
    contents
}

/// `a`, `a and b`, `a, b and c`.
fn list(parts: &[String]) -> String {
    match parts {
        [] => "nothing of an event".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// How a sender cut a chunked body off, as a sentence of its own.
pub(super) fn truncated(side: Side, reset: bool, stopped_in: Option<Stopped>) -> String {
    let who = match side {
        Side::Request => "the client",
        Side::Response => "the server",
    };
    let how = if reset { "reset" } else { "closed" };
    let place = match stopped_in {
        Some(Stopped { chunk, received, size }) if received < size => {
            format!(" in chunk {chunk}, after {received} of its {size} octets")
        }
        Some(Stopped { chunk, .. }) => format!(" before the CRLF that ends chunk {chunk}"),
        None => " between chunks".to_owned(),
    };
    format!("{who} {how} the connection{place}; the last chunk never came")
}
