//! What conversations yield, owned: it may be told of by another thread than
//! the one that found it.

use std::sync::Arc;

use super::conversation::Remains;
use super::exchange::Exchange;
use crate::report::{
    Event, ExchangeEnd, ExchangeHead, ExchangeId, Finding, JudgedChunk, UnderWay, Violation,
};
use crate::units::StreamId;

/// Something that was found in a conversation.
#[derive(Debug)]
pub(super) enum Found {
    /// See [`Finding::Exchange`]; the exchange goes on with the same head.
    Exchange(Arc<ExchangeHead>),
    /// The same with the head of the exchange whose end is at this place of the
    /// list that both are in.
    ExchangeAt(u32),
    /// See [`Finding::Event`].
    Event(ExchangeId, Arc<Event>),
    /// See [`Finding::Chunk`].
    Chunk(Box<JudgedChunk>),
    /// A chunk that holds one event and nothing else: both are to be told, the
    /// event first.
    One(Box<JudgedChunk>),
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
pub(super) trait Emit {
    /// Takes the next thing that was found.
    fn emit(&mut self, found: Found);

    /// Takes a [`Found::One`], as most chunks are.
    fn one(&mut self, judged: Box<JudgedChunk>) {
        self.emit(Found::One(judged));
    }

    /// The record of such a chunk that was told, and that nobody needs any more:
    /// the next one may be written over it. So many small chunks take no more
    /// memory than one.
    fn spare(&mut self) -> Option<Box<JudgedChunk>>;

    /// Takes a [`Found::Exchange`].
    fn began(&mut self, head: &Arc<ExchangeHead>) {
        self.emit(Found::Exchange(Arc::clone(head)));
    }

    /// Takes a [`Found::ExchangeEnd`].
    fn ended(&mut self, exchange: Box<Exchange>);

    /// Such an exchange that needn't be kept: the next one may be written over it.
    fn spent(&mut self) -> Option<Box<Exchange>>;
}

impl Found {
    /// Gives the findings that it is to `tell`.
    #[inline]
    pub(super) fn findings(&self, mut tell: impl FnMut(&Finding<'_>)) {
        match self {
            Self::One(judged) => one(judged, tell),
            Self::Exchange(head) => tell(&Finding::Exchange(head)),
            Self::Event(id, event) => tell(&Finding::Event(*id, event)),
            Self::Chunk(judged) => tell(&Finding::Chunk(judged)),
            Self::Violation(violation) => tell(&Finding::Violation(violation)),
            Self::ExchangeEnd(end) => tell(&Finding::ExchangeEnd(end)),
            Self::ExchangeAt(_) | Self::UnderWay(_) | Self::Over(..) => {}
        }
    }
}

/// Gives the findings that a [`Found::One`] is to `tell`.
#[inline]
pub(super) fn one(judged: &JudgedChunk, mut tell: impl FnMut(&Finding<'_>)) {
    if let Some(event) = judged.events.first() {
        tell(&Finding::Event(judged.exchange, event));
    }
    tell(&Finding::Chunk(judged));
}
