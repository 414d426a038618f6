//! Raw HTTP has no packets: what the pipeline puts in their place, so that the
//! layers above it need not know, is taken away before it reaches a page.

use std::borrow::Cow;
use std::sync::Arc;

use crate::chunk::Run;
use crate::report::{Body, ExchangeEnd, JudgedChunk, Violation};

/// The chunk as a page may show it.
pub(super) fn chunk(judged: &JudgedChunk) -> Cow<'_, JudgedChunk> {
    if judged.exchange.stream.is_some() {
        return Cow::Borrowed(judged);
    }
    let mut judged = judged.clone();
    without_frames(&mut judged.chunk.trail);
    judged.chunk.first.at = None;
    judged.chunk.last.at = None;
    Cow::Owned(judged)
}

/// The end of an exchange as a page may show it.
pub(super) fn end(end: &ExchangeEnd) -> Cow<'_, ExchangeEnd> {
    if end.head.id.stream.is_some() {
        return Cow::Borrowed(end);
    }
    let mut end = end.clone();
    for body in [&mut end.request_body, &mut end.response_body].into_iter().flatten() {
        let Body { end_stamp, last_chunk, .. } = body;
        *end_stamp = None;
        if let Some(last) = last_chunk {
            without_frames(&mut last.trail);
        }
    }
    let head = Arc::make_mut(&mut end.head);
    head.request.iter_mut().for_each(|request| request.stamp = None);
    head.response.iter_mut().for_each(|response| response.stamp = None);
    Cow::Owned(end)
}

/// The violation as a page may show it.
pub(super) fn violation(violation: &Violation) -> Cow<'_, Violation> {
    match violation.exchange.stream {
        Some(_) => Cow::Borrowed(violation),
        None => Cow::Owned(Violation { frame: None, ..violation.clone() }),
    }
}

fn without_frames(trail: &mut [Run]) {
    trail.iter_mut().for_each(|run| run.frame = None);
}
