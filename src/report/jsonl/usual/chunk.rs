//! The line of a chunk of a response, of which no payload is shown or all of a
//! short one that is text.

use std::mem::{self, Discriminant};

use super::Pen;
use crate::chunk::size_digits;
use crate::http::Side;
use crate::report::JudgedChunk;
use crate::report::again::Again;
use crate::report::buffer::padded;
use crate::report::payload::{Excerpt, Payload};
use crate::units::Timestamp;
use crate::verdict::Verdict;

values! {
    Stream: r#","stream":"#,
    Exchange: r#","exchange":"#,
    Index: r#","index":"#,
    SizeHex: r#","size_hex":""#,
    Size: r#","size":"#,
    Offset: r#","offset":"#,
    Received: r#","received":"#,
    Frames: r#","frames":["#,
    FirstTime: r#","first_time":""#,
    Time: r#","time":""#,
    Payload: r#","payload":"#,
    Encoding: r#","encoding":"#,
    Verdict: r#","verdict":""#,
    Events: r#","events":["#,
}

/// See the module.
#[derive(Debug, Default)]
pub(in super::super) struct UsualChunk {
    line: Option<Again<{ BEFORE.len() }>>,
    /// What is known to be in it.
    size_line: [u8; 8],
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    shows_payload: Option<bool>,
    verdict: Option<Discriminant<Verdict>>,
}

impl UsualChunk {
    /// Keeps a chunk's line, if it is the first usual one.
    pub(in super::super) fn keep(&mut self, judged: &JudgedChunk, payload: Payload, line: &[u8]) {
        if self.line.is_none()
            && is_usual(judged)
            && plain_digits(&judged.chunk.size_line).is_some()
            && shown(judged, payload).is_some()
        {
            self.line = Again::of(line, BEFORE);
        }
    }

    /// The line of a usual chunk; `None` of others, and where none is kept.
    #[inline]
    pub(in super::super) fn line(
        &mut self,
        judged: &JudgedChunk,
        payload: Payload,
        pen: &mut Pen,
    ) -> Option<&[u8]> {
        let line = self.line.as_mut().filter(|_| is_usual(judged))?;
        let shown = shown(judged, payload)?;
        let (id, chunk) = (judged.exchange, &judged.chunk);
        let (stream, first, last) = (id.stream?.0, chunk.first.at?, chunk.last.at?);
        let size_line = chunk.size_line.as_slice();
        let known = padded(size_line.get(..8).unwrap_or(size_line));
        if self.size_line != known {
            line.put(Of::SizeHex as usize, plain_digits(size_line)?);
            self.size_line = known;
        }
        line.count(Of::Stream as usize, stream);
        line.number(Of::Exchange as usize, id.index);
        line.count(Of::Index as usize, chunk.index);
        line.number(Of::Size as usize, chunk.size);
        line.number(Of::Offset as usize, chunk.offset);
        line.number(Of::Received as usize, chunk.received);
        pen.frames(line, Of::Frames as usize, &chunk.trail);
        pen.time(line, Of::FirstTime as usize, &mut self.first, first);
        pen.time(line, Of::Time as usize, &mut self.last, last);
        if let Some(text) = shown {
            pen.string(line, Of::Payload as usize, Some(text));
        }
        if self.shows_payload.replace(shown.is_some()) != Some(shown.is_some()) {
            match shown {
                Some(_) => line.put(Of::Encoding as usize, b"\"utf-8\""),
                None => {
                    line.put(Of::Payload as usize, b"null");
                    line.put(Of::Encoding as usize, b"null");
                }
            }
        }
        let verdict = mem::discriminant(&judged.verdict);
        if self.verdict.replace(verdict) != Some(verdict) {
            line.put(Of::Verdict as usize, judged.verdict.name().as_bytes());
        }
        match judged.events.as_slice() {
            [event] => line.count(Of::Events as usize, event.index),
            events => pen.numbers(line, Of::Events as usize, events.iter().map(|event| event.index)),
        }
        Some(line.text())
    }
}

/// The most octets of a payload that a line is kept with.
const MOST: usize = 4 << 10;

/// What is shown of a chunk's payload, where that is all or nothing.
#[inline(always)]
fn shown(judged: &JudgedChunk, payload: Payload) -> Option<Option<&str>> {
    let octets = judged.chunk.payload.len();
    match payload {
        Payload::None => Some(None),
        _ if octets > MOST || octets as u64 != judged.chunk.received => None,
        _ => match payload.excerpt(judged)? {
            Excerpt::Text(text) if text.len() == octets => Some(Some(text)),
            _ => None,
        },
    }
}

/// Whether a chunk's line differs from others in values alone, if its size line
/// is plain and so is its payload.
#[inline(always)]
fn is_usual(judged: &JudgedChunk) -> bool {
    judged.side == Side::Response
        && judged.exchange.stream.is_some()
        && judged.decoded.is_none()
        && judged.chunk.message.is_none()
        && judged.chunk.first.at.is_some()
        && judged.chunk.last.at.is_some()
        && matches!(judged.verdict, Verdict::One | Verdict::Several | Verdict::Part | Verdict::Mixed)
}

/// The digits of a size line that is short and has nothing else.
fn plain_digits(size_line: &[u8]) -> Option<&[u8]> {
    let digits = size_digits(size_line);
    (size_line.len() <= 8 && size_line.get(digits.len()..) == Some(b"\r\n")).then_some(digits)
}
