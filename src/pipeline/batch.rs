//! Items that the calling thread has read and any thread may work on.

use std::borrow::Cow;
use std::ops::Range;

use super::found::{Emit, Found};
use super::options::Options;
use super::streams::Streams;
use super::threads::share;
use crate::report::JudgedChunk;
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

/// Gathers what is found in an item.
struct Gathering<'g> {
    number: u32,
    found: &'g mut List,
    spent: &'g mut List,
}

impl Emit for Gathering<'_> {
    fn emit(&mut self, found: Found) {
        self.found.push((self.number, found));
    }

    fn spare(&mut self) -> Option<Box<JudgedChunk>> {
        while let Some((_, found)) = self.spent.pop() {
            if let Found::One(judged) = found {
                return Some(judged);
            }
        }
        None
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
        spent: &mut List,
    ) {
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
            streams.item(*stream, item, options, &mut Gathering { number: *number, found, spent });
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
