//! The line of the end of an exchange of which the response was chunked, was
//! timed, and whose chunks hold one event each.

use super::Pen;
use crate::chunk::LastChunk;
use crate::hints::pace::Timing;
use crate::http::{BodyEnd, Framing};
use crate::report::again::Again;
use crate::report::{Body, ExchangeEnd, ExchangeVerdict};
use crate::units::Timestamp;

values! {
    Stream: r#","stream":"#,
    Exchange: r#","exchange":"#,
    Size: r#","size":"#,
    Frames: r#","frames":["#,
    Time: r#","time":""#,
    Verdict: r#","verdict":""#,
    Chunks: r#","chunks":"#,
    Events: r#","events":"#,
    One: r#","one":"#,
    FirstEvent: r#"{"time_to_first_event":"#,
}

/// See the module.
#[derive(Debug, Default)]
pub(in super::super) struct UsualEnd {
    /// What the line of the end that came last has beside values.
    alike: Option<Alike>,
    line: Option<Again<{ BEFORE.len() }>>,
    /// What is known to be in it.
    last: Option<Timestamp>,
    verdict: Option<ExchangeVerdict>,
    first_event: Option<u64>,
}

/// What stands in a line beside the values.
#[derive(Debug)]
struct Alike {
    request: Option<Bare>,
    response: Bare,
    violations: u64,
    lints: u64,
    timing: Timing,
}

/// What a line says of a body, but its chunks.
#[derive(Debug)]
struct Bare {
    framing: Option<Framing>,
    size: u64,
    end: BodyEnd,
    joined: Option<u64>,
}

impl UsualEnd {
    /// Keeps an end's line, if it is the second one of its like.
    pub(in super::super) fn keep(&mut self, end: &ExchangeEnd, line: &[u8]) {
        if Values::of(end).is_none() {
            return;
        }
        let is_alike = self.alike.as_ref().is_some_and(|alike| alike.is_in(end));
        let line = if is_alike { Again::of(line, BEFORE) } else { None };
        *self = Self { alike: Alike::of(end), line, ..Self::default() };
    }

    /// The line of an end that is like those before; `None` of others, and
    /// where none is kept.
    pub(in super::super) fn line(&mut self, end: &ExchangeEnd, pen: &mut Pen) -> Option<&[u8]> {
        let line = self.line.as_mut()?;
        let values = Values::of(end).filter(|_| self.alike.as_ref().is_some_and(|alike| alike.is_in(end)))?;
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

impl<'e> Values<'e> {
    /// Those of an end; `None` where there is more in its line.
    #[inline(always)]
    fn of(end: &'e ExchangeEnd) -> Option<Self> {
        if end.request_body.as_ref().is_some_and(|body| body.chunks > 0 || body.last_chunk.is_some()) {
            return None;
        }
        let (body, timing) = (end.response_body.as_ref()?, end.timing.as_ref()?);
        let last = body.last_chunk.as_ref()?;
        let values = Self {
            stream: end.head.id.stream?.0,
            size: body.size,
            last,
            time: last.last.at?,
            first_event: u64::try_from(timing.time_to_first_event?).ok()?,
        };
        let is_usual = last.size_line.as_slice() == b"0\r\n"
            && last.trailers.is_empty()
            && end.hints.is_empty()
            && end.tally.chunks() == end.tally.one;
        is_usual.then_some(values)
    }
}

impl Alike {
    /// That of an end that has [`Values`].
    fn of(end: &ExchangeEnd) -> Option<Self> {
        Some(Self {
            request: end.request_body.as_ref().map(Bare::of),
            response: Bare::of(end.response_body.as_ref()?),
            violations: end.violations,
            lints: end.lints,
            timing: end.timing.clone()?,
        })
    }

    /// Whether it stands in the line of an end that has [`Values`], too.
    #[inline(always)]
    fn is_in(&self, end: &ExchangeEnd) -> bool {
        let (Some(response), Some(timing)) = (&end.response_body, &end.timing) else {
            return false;
        };
        let request = match (&self.request, &end.request_body) {
            (Some(bare), Some(body)) => bare.is_of(body) && bare.size == body.size,
            (bare, body) => bare.is_none() && body.is_none(),
        };
        let Timing { time_to_first_event: _, longest_gap, pauses, singles, bursts, buffered, held } =
            &self.timing;
        request
            && self.response.is_of(response)
            && self.violations == end.violations
            && self.lints == end.lints
            && *longest_gap == timing.longest_gap
            && *pauses == timing.pauses
            && *singles == timing.singles
            && *bursts == timing.bursts
            && *buffered == timing.buffered
            && *held == timing.held
    }
}

impl Bare {
    const fn of(body: &Body) -> Self {
        Self { framing: body.framing, size: body.size, end: body.end, joined: body.joined }
    }

    /// Whether that is said of a body too, but its size.
    #[inline(always)]
    fn is_of(&self, body: &Body) -> bool {
        self.framing == body.framing && self.end == body.end && self.joined == body.joined
    }
}
