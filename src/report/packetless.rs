//! Raw HTTP came in no packets. The pipeline numbers what it read all the same,
//! so that the layers above need not know; a report for people shows no such
//! number as that of a frame. Times stay: a stream that is followed has those
//! of the clock.

use std::borrow::Cow;
use std::sync::Arc;

use crate::chunk::Run;
use crate::report::{Body, ExchangeEnd, JudgedChunk};

/// The chunk, without frames where there were none.
pub(super) fn chunk(judged: &JudgedChunk) -> Cow<'_, JudgedChunk> {
    if judged.exchange.stream.is_some() {
        return Cow::Borrowed(judged);
    }
    let mut judged = judged.clone();
    without_frames(&mut judged.chunk.trail);
    Cow::Owned(judged)
}

/// The end of an exchange, without frames where there were none.
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

fn without_frames(trail: &mut [Run]) {
    trail.iter_mut().for_each(|run| run.frame = None);
}
