//! Items that the calling thread has read and any thread may work on.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::exchange::Exchange;
use super::found::{Emit, Found};
use super::options::Options;
use super::streams::Streams;
use super::threads::share;
use crate::report::{ExchangeEnd, ExchangeHead, JudgedChunk};
use crate::tcp::{Direction, Piece, StreamItem};
use crate::units::{Stamp, StreamId};

/// Items in the order in which they were read.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) octets: Vec<u8>,
    /// By share.
    parts: Vec<Vec<Item>>,
    pub(super) items: u32,
}

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

#[derive(Debug)]
enum Kept {
    /// A piece, whose octets lie in the batch.
    Data { direction: Direction, at: u64, octets: Range<usize>, stamp: Stamp, released: Stamp, start: bool },
    /// Any other item.
    Other(StreamItem<'static>),
}

/// What a thread found and was told: it may be written over.
#[derive(Debug, Default)]
pub(super) struct Spent {
    lists: Vec<List>,
    /// Out of the lists, not asked for yet.
    records: Vec<Box<JudgedChunk>>,
    ends: Vec<Box<ExchangeEnd>>,
    /// Of an exchange its end alone is told elsewhere.
    exchange: Option<Box<Exchange>>,
}

impl Spent {
    /// Takes lists in.
    pub(super) fn add(&mut self, lists: Vec<List>) {
        self.records.clear();
        self.ends.clear();
        self.lists.extend(lists);
    }

    /// An empty list, of which there is one where there are more than `most`.
    pub(super) fn empty(&mut self, most: usize) -> Option<List> {
        let place = match self.lists.iter().position(Vec::is_empty) {
            None if self.lists.len() > most => Some(0),
            place => place,
        };
        place.map(|place| {
            let mut list = self.lists.remove(place);
            list.clear();
            list
        })
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
        Self { octets: Vec::new(), parts: (0..shares).map(|_| Vec::new()).collect(), items: 0 }
    }

    pub(super) fn push(&mut self, stream: StreamId, item: StreamItem<'_>) {
        let kept = match item {
            StreamItem::Data(direction, Piece { at, bytes, stamp, released, segment_start: start }) => {
                let from = self.octets.len();
                self.octets.extend_from_slice(&bytes);
                Kept::Data { direction, at, octets: from..self.octets.len(), stamp, released, start }
            }
            StreamItem::Open(opening) => Kept::Other(StreamItem::Open(opening)),
            StreamItem::Gap(direction, gap) => Kept::Other(StreamItem::Gap(direction, gap)),
            StreamItem::Fin(direction, stamp) => Kept::Other(StreamItem::Fin(direction, stamp)),
            StreamItem::Reset { by, stamp, lost } => Kept::Other(StreamItem::Reset { by, stamp, lost }),
            StreamItem::Conflict(direction, stamp) => Kept::Other(StreamItem::Conflict(direction, stamp)),
            StreamItem::Closed(close) => Kept::Other(StreamItem::Closed(close)),
        };
        let share = share(stream, self.parts.len());
        if let Some(part) = self.parts.get_mut(share) {
            part.push(Item { number: self.items, stream, kept });
            self.items += 1;
        }
    }

    /// Whether there is anything for a share.
    pub(super) fn has_part(&self, share: usize) -> bool {
        self.parts.get(share).is_some_and(|part| !part.is_empty())
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
        for Item { number, stream, kept } in self.parts.get(share).into_iter().flatten() {
            let item = match kept {
                Kept::Data { direction, at, octets, stamp, released, start } => {
                    let bytes = Cow::Borrowed(self.octets.get(octets.clone()).unwrap_or_default());
                    let (stamp, released) = (*stamp, *released);
                    StreamItem::Data(
                        *direction,
                        Piece { at: *at, bytes, stamp, released, segment_start: *start },
                    )
                }
                Kept::Other(item) => item.clone(),
            };
            gathering.number = *number;
            streams.item(*stream, item, options, &mut gathering);
        }
    }

    /// Empties it; a buffer that an outsized packet has stretched is let go.
    pub(super) fn clear(&mut self, usual: usize) {
        self.octets.clear();
        self.octets.shrink_to(usual * 2);
        self.parts.iter_mut().for_each(Vec::clear);
        self.items = 0;
    }
}
