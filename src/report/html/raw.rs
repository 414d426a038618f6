//! Raw HTTP has neither packets nor times: what the pipeline puts in their
//! place is taken away before it reaches a page.

use std::borrow::Cow;

use crate::report::{JudgedChunk, Violation, packetless};

/// The chunk as a page may show it.
pub(super) fn chunk(judged: &JudgedChunk) -> Cow<'_, JudgedChunk> {
    let mut judged = packetless::chunk(judged);
    if let Cow::Owned(judged) = &mut judged {
        judged.chunk.first.at = None;
        judged.chunk.last.at = None;
    }
    judged
}

/// The violation as a page may show it.
pub(super) fn violation(violation: &Violation) -> Cow<'_, Violation> {
    match violation.exchange.stream {
        Some(_) => Cow::Borrowed(violation),
        None => Cow::Owned(Violation { frame: None, ..violation.clone() }),
    }
}
