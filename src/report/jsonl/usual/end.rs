//! The line of the end of an exchange of which the response was chunked, was
//! timed, and whose chunks hold one event each.

use super::Pen;
use crate::chunk::LastChunk;
use crate::hints::pace::Timing;
use crate::http::{BodyEnd, Framing};
use crate::report::again::Again;
use crate::report::{Body, ExchangeEnd, ExchangeVerdict, Tally};
use crate::units::Timestamp;

/// What stands before the values.
const BEFORE: [&str; 10] = [
    r#","stream":"#,
    r#","exchange":"#,
    r#","size":"#,
    r#","frames":["#,
    r#","time":""#,
    r#","verdict":""#,
    r#","chunks":"#,
    r#","events":"#,
    r#","one":"#,
    r#"{"time_to_first_event":"#,
];

/// The values.
enum Of {
    Stream,
    Exchange,
    Size,
    Frames,
    Time,
    Verdict,
    Chunks,
    Events,
    One,
    FirstEvent,
}

/// See the module.
#[derive(Debug, Default)]
pub(in super::super) struct UsualEnd {
    /// What the line of the end that came last has beside values.
    alike: Option<Alike>,
    line: Option<Again<10>>,
    /// What is known to be in it.
    last: Option<Timestamp>,
    verdict: Option<ExchangeVerdict>,
    first_event: Option<u64>,
}

/// What stands in a line beside the values.
#[derive(Debug, PartialEq, Eq)]
struct Alike {
    request: Option<Bare>,
    response: Bare,
    violations: u64,
    lints: u64,
    timing: Timing,
}

/// What a line says of a body, but its chunks.
#[derive(Debug, PartialEq, Eq)]
struct Bare {
    framing: Option<Framing>,
    size: u64,
    end: BodyEnd,
    joined: Option<u64>,
}

impl UsualEnd {
    /// Keeps an end's line, if it is the second one of its like.
    pub(in super::super) fn keep(&mut self, end: &ExchangeEnd, line: &[u8]) {
        let Some((alike, _)) = taken_apart(end) else {
            return;
        };
        let line = if self.alike.as_ref() == Some(&alike) { Again::of(line, BEFORE) } else { None };
        *self = Self { alike: Some(alike), line, ..Self::default() };
    }

    /// The line of an end that is like those before; `None` of others, and
    /// where none is kept.
    pub(in super::super) fn line(&mut self, end: &ExchangeEnd, pen: &mut Pen) -> Option<&[u8]> {
        let line = self.line.as_mut()?;
        let (alike, values) = taken_apart(end)?;
        if self.alike.as_ref() != Some(&alike) {
            return None;
        }
        line.count(Of::Stream as usize, values.stream);
        line.number(Of::Exchange as usize, end.head.id.index);
        line.number(Of::Size as usize, values.size);
        pen.frames(line, Of::Frames as usize, &values.last.trail);
        pen.time(line, Of::Time as usize, &mut self.last, values.time);
        if self.verdict.replace(end.verdict) != Some(end.verdict) {
            line.put(Of::Verdict as usize, end.verdict.name().as_bytes());
        }
        line.number(Of::Chunks as usize, end.tally.one);
        line.number(Of::Events as usize, end.events);
        line.number(Of::One as usize, end.tally.one);
        if self.first_event.replace(values.first_event) != Some(values.first_event) {
            pen.seconds(line, Of::FirstEvent as usize, values.first_event);
        }
        Some(line.text())
    }
}

/// The values of a line that aren't at hand.
struct Values<'e> {
    stream: u64,
    size: u64,
    last: &'e LastChunk,
    time: Timestamp,
    first_event: u64,
}

/// What stands in the line of an end, and its values; `None` where there is
/// more in it. Inlined, what is only compared isn't copied.
#[inline(always)]
fn taken_apart(end: &ExchangeEnd) -> Option<(Alike, Values<'_>)> {
    let request = match &end.request_body {
        Some(body @ Body { chunks: 0, last_chunk: None, .. }) => Some(Bare::of(body)),
        Some(_) => return None,
        None => None,
    };
    let (body, timing) = (end.response_body.as_ref()?, end.timing.as_ref()?);
    let last = body.last_chunk.as_ref()?;
    let values = Values {
        stream: end.head.id.stream?.0,
        size: body.size,
        last,
        time: last.last.at?,
        first_event: u64::try_from(timing.time_to_first_event?).ok()?,
    };
    let is_usual = last.size_line.as_slice() == b"0\r\n"
        && last.trailers.is_empty()
        && end.hints.is_empty()
        && end.tally == Tally { one: end.tally.one, ..Tally::default() };
    let alike = Alike {
        request,
        response: Bare { size: 0, ..Bare::of(body) },
        violations: end.violations,
        lints: end.lints,
        timing: Timing { time_to_first_event: None, ..timing.clone() },
    };
    is_usual.then_some((alike, values))
}

impl Bare {
    const fn of(body: &Body) -> Self {
        Self { framing: body.framing, size: body.size, end: body.end, joined: body.joined }
    }
}
