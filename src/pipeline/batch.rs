//! Items that the calling thread has read and any thread may work on.

use std::borrow::Cow;
use std::sync::Arc;

use super::exchange::Exchange;
use super::found::{Emit, Found};
use super::options::Options;
use super::streams::Streams;
use super::threads::share;
use crate::report::{ExchangeEnd, ExchangeHead, JudgedChunk};
use crate::tcp::{Close, Direction, Gap, Opening, Piece, StreamItem};
use crate::units::{Stamp, StreamId};

/// Items in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) octets: Vec<u8>,
    /// By share.
    parts: Vec<Part>,
    pub(super) items: u32,
}

/// The items of a share. They go from one core's cache to another's, so what few
/// of them have lies elsewhere.
#[derive(Debug, Default)]
struct Part {
    items: Vec<Item>,
    /// Of each [`Kept::Open`] what it tells.
    openings: Vec<Opening>,
    /// Of each [`Kept::Data`] that is late what made it readable.
    released: Vec<Stamp>,
}

/// Octets of payload that a record is kept with, to be written over.
const LIGHT: usize = 16 << 10;

/// What a part of a batch yields, with the number of the item that yields it.
pub(super) type List = Vec<(u32, Found)>;

/// An item that was read, without its octets.
#[derive(Debug)]
struct Item {
    /// Its number in its batch.
    number: u32,
    stream: StreamId,
    kept: Kept,
}

#[derive(Debug, Clone, Copy)]
enum Kept {
    Open,
    /// A piece, whose octets lie in the batch from a place on. It is late where
    /// another packet than its own made it readable.
    Data {
        direction: Direction,
        start: bool,
        late: bool,
        len: u32,
        from: usize,
        at: u64,
        stamp: Stamp,
    },
    Gap(Direction, Gap),
    Fin(Direction, Stamp),
    Reset {
        by: Direction,
        stamp: Stamp,
        lost: bool,
    },
    Conflict(Direction, Stamp),
    Closed(Close),
}

/// What a thread found and was told: it may be written over.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "the boxes are handed on as they are")]
pub(super) struct Spent {
    lists: Vec<List>,
    /// Out of the lists, not asked for yet.
    records: Vec<Box<JudgedChunk>>,
    ends: Vec<Box<ExchangeEnd>>,
    /// Of an exchange its end alone is told elsewhere.
    exchange: Option<Box<Exchange>>,
}

impl Spent {
    /// Takes lists in, and has no more than `most` with anything in them. What
    /// can't be written over is let go, and so is what was taken out and nobody
    /// asked for.
    pub(super) fn add(&mut self, lists: Vec<List>, most: usize) {
        self.records.clear();
        self.ends.clear();
        for mut list in lists {
            list.retain(|(_, found)| is_light(found));
            self.lists.push(list);
        }
        let over = self.lists.len().saturating_sub(most);
        self.lists.iter_mut().take(over).for_each(Vec::clear);
    }

    /// An empty list, if there is one.
    pub(super) fn empty(&mut self) -> Option<List> {
        let place = self.lists.iter().position(Vec::is_empty)?;
        Some(self.lists.remove(place))
    }

    fn record(&mut self) -> Option<Box<JudgedChunk>> {
        while self.records.is_empty() && self.take_out() {}
        self.records.pop()
    }

    fn end(&mut self) -> Option<Box<ExchangeEnd>> {
        while self.ends.is_empty() && self.take_out() {}
        self.ends.pop()
    }

    /// Takes something out of the lists; false where there is nothing.
    fn take_out(&mut self) -> bool {
        let Some((_, found)) = self.lists.iter_mut().rev().find_map(Vec::pop) else { return false };
        match found {
            Found::One(judged) => self.records.push(judged),
            Found::ExchangeEnd(end) => self.ends.push(end),
            _ => {}
        }
        true
    }
}

/// Whether something found may be kept to be written over.
const fn is_light(found: &Found) -> bool {
    matches!(found, Found::One(_) | Found::ExchangeEnd(_) | Found::ExchangeAt(_))
}

/// Gathers what is found in items.
struct Gathering<'g> {
    number: u32,
    found: &'g mut List,
    spent: &'g mut Spent,
    /// Where the exchange that began last is in the list.
    began: usize,
}

impl Emit for Gathering<'_> {
    fn emit(&mut self, found: Found) {
        self.found.push((self.number, found));
    }

    fn one(&mut self, judged: Box<JudgedChunk>) {
        if judged.chunk.payload.capacity() <= LIGHT {
            return self.emit(Found::One(judged));
        }
        // What holds much isn't kept: it is told in two.
        if let Some(event) = judged.events.first() {
            self.emit(Found::Event(judged.exchange, Arc::clone(event)));
        }
        self.emit(Found::Chunk(judged));
    }

    fn spare(&mut self) -> Option<Box<JudgedChunk>> {
        self.spent.record()
    }

    fn began(&mut self, head: &Arc<ExchangeHead>) {
        self.began = self.found.len();
        self.emit(Found::Exchange(Arc::clone(head)));
    }

    fn ended(&mut self, mut exchange: Box<Exchange>) {
        let end = exchange.take_end(self.spent.end());
        self.spent.exchange = Some(exchange);
        // A head that is told once is one that can be written over.
        if let Ok(place) = u32::try_from(self.found.len())
            && let Some((_, began)) = self.found.get_mut(self.began)
            && matches!(began, Found::Exchange(head) if Arc::ptr_eq(head, &end.head))
        {
            *began = Found::ExchangeAt(place);
        }
        self.emit(Found::ExchangeEnd(end));
    }

    fn spent(&mut self) -> Option<Box<Exchange>> {
        self.spent.exchange.take()
    }
}

impl Batch {
    pub(super) fn new(shares: usize) -> Self {
        Self { octets: Vec::new(), parts: (0..shares).map(|_| Part::default()).collect(), items: 0 }
    }

    pub(super) fn push(&mut self, stream: StreamId, item: &StreamItem<'_>) {
        let share = share(stream, self.parts.len());
        let Some(part) = self.parts.get_mut(share) else { return };
        let number = self.items;
        self.items += 1;
        let mut push = |kept| part.items.push(Item { number, stream, kept });
        match *item {
            StreamItem::Data(direction, Piece { at, ref bytes, stamp, released, segment_start: start }) => {
                let late = released != stamp;
                // The length of a packet has 32 bits.
                let (from, len) = (self.octets.len(), u32::try_from(bytes.len()).unwrap_or(u32::MAX));
                self.octets.extend_from_slice(bytes);
                push(Kept::Data { direction, start, late, len, from, at, stamp });
                if late {
                    part.released.push(released);
                }
            }
            StreamItem::Open(opening) => {
                push(Kept::Open);
                part.openings.push(opening);
            }
            StreamItem::Gap(direction, gap) => push(Kept::Gap(direction, gap)),
            StreamItem::Fin(direction, stamp) => push(Kept::Fin(direction, stamp)),
            StreamItem::Reset { by, stamp, lost } => push(Kept::Reset { by, stamp, lost }),
            StreamItem::Conflict(direction, stamp) => push(Kept::Conflict(direction, stamp)),
            StreamItem::Closed(close) => push(Kept::Closed(close)),
        }
    }

    /// Whether there is anything for a share.
    pub(super) fn has_part(&self, share: usize) -> bool {
        self.parts.get(share).is_some_and(|part| !part.items.is_empty())
    }

    /// Has a share's streams take their part of the batch. Records of what was
    /// `spent` may be written over.
    pub(super) fn work(
        &self,
        share: usize,
        streams: &mut Streams,
        options: &Options,
        found: &mut List,
        spent: &mut Spent,
    ) {
        let mut gathering = Gathering { number: 0, found, spent, began: 0 };
        let Some(Part { items, openings, released }) = self.parts.get(share) else { return };
        let (mut openings, mut released) = (openings.iter(), released.iter());
        for &Item { number, stream, kept } in items {
            let item = match kept {
                Kept::Data { direction, start, late, len, from, at, stamp } => {
                    let octets = self.octets.get(from..from.saturating_add(len as usize));
                    let bytes = Cow::Borrowed(octets.unwrap_or_default());
                    let released = if late { released.next().copied() } else { None }.unwrap_or(stamp);
                    StreamItem::Data(direction, Piece { at, bytes, stamp, released, segment_start: start })
                }
                Kept::Open => match openings.next() {
                    Some(opening) => StreamItem::Open(*opening),
                    None => continue,
                },
                Kept::Gap(direction, gap) => StreamItem::Gap(direction, gap),
                Kept::Fin(direction, stamp) => StreamItem::Fin(direction, stamp),
                Kept::Reset { by, stamp, lost } => StreamItem::Reset { by, stamp, lost },
                Kept::Conflict(direction, stamp) => StreamItem::Conflict(direction, stamp),
                Kept::Closed(close) => StreamItem::Closed(close),
            };
            gathering.number = number;
            streams.item(stream, item, options, &mut gathering);
        }
    }

    /// Empties it; a buffer that an outsized packet has stretched is let go.
    pub(super) fn clear(&mut self, usual: usize) {
        self.octets.clear();
        self.octets.shrink_to(usual * 2);
        for Part { items, openings, released } in &mut self.parts {
            items.clear();
            openings.clear();
            released.clear();
        }
        self.items = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six of them are a short connection, and they outweigh its octets.
    #[test]
    fn an_item_is_a_cache_line() {
        assert_eq!(size_of::<Item>(), 64);
    }
}
