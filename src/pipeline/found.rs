//! What conversations yield, owned: it may be told of by another thread than
//! the one that found it.

use std::sync::Arc;

use super::conversation::Remains;
use crate::report::{
    Event, ExchangeEnd, ExchangeHead, ExchangeId, Finding, JudgedChunk, UnderWay, Violation,
};
use crate::units::StreamId;

/// Something that was found in a conversation.
#[derive(Debug)]
pub(super) enum Found {
    /// See [`Finding::Exchange`]; the exchange goes on with the same head.
    Exchange(Arc<ExchangeHead>),
    /// See [`Finding::Event`].
    Event(ExchangeId, Arc<Event>),
    /// See [`Finding::Chunk`].
    Chunk(Box<JudgedChunk>),
    /// See [`Finding::Violation`].
    Violation(Box<Violation>),
    /// See [`Finding::ExchangeEnd`].
    ExchangeEnd(Box<ExchangeEnd>),
    /// What is under way, where the report follows.
    UnderWay(Box<UnderWay>),
    /// A conversation is over, and there is something to say of it.
    Over(StreamId, Box<Remains>),
}

/// Takes what is found, in order.
pub(super) type Emit<'e> = dyn FnMut(Found) + 'e;

impl Found {
    /// The finding that it is, if it is one.
    pub(super) fn finding(&self) -> Option<Finding<'_>> {
        Some(match self {
            Self::Exchange(head) => Finding::Exchange(head),
            Self::Event(id, event) => Finding::Event(*id, event),
            Self::Chunk(judged) => Finding::Chunk(judged),
            Self::Violation(violation) => Finding::Violation(violation),
            Self::ExchangeEnd(end) => Finding::ExchangeEnd(end),
            Self::UnderWay(_) | Self::Over(..) => return None,
        })
    }
}
