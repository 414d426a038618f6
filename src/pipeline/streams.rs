//! The open streams of a recording, each with its conversation; and the
//! accounts of those that are over.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::conversation::{Conversation, Remains};
use super::found::{Emit, Found};
use super::known::Known;
use super::options::Options;
use super::problems::{Problems, plural};
use crate::http::Protocol;
use crate::report::{LeftOut, OtherStream};
use crate::tcp::{Opening, StreamItem};
use crate::units::StreamId;

/// At most so many streams that aren't HTTP/1 are listed.
const LISTED_STREAMS: usize = 1000;

/// What is open of a stream.
#[derive(Debug)]
struct Slot {
    opening: Opening,
    /// Once it has payload.
    conversation: Option<Box<Conversation>>,
}

/// The slots of the streams that are open.
#[derive(Debug, Default)]
struct Slots {
    slots: Vec<Slot>,
    /// Those that no stream has.
    free: Vec<usize>,
    /// Which is whose; the last one's may not be entered.
    places: HashMap<StreamId, usize, RandomState>,
    last: Option<Last>,
}

/// The stream that was asked for last: items of a stream come in runs, and short
/// streams begin and end in one.
#[derive(Debug, Clone, Copy)]
struct Last {
    stream: StreamId,
    place: usize,
    entered: bool,
}

impl Slots {
    /// Gives a stream a slot.
    fn open(&mut self, stream: StreamId, opening: Opening) {
        self.enter_last();
        let slot = Slot { opening, conversation: None };
        let place = match self.free.pop() {
            Some(place) => {
                if let Some(free) = self.slots.get_mut(place) {
                    *free = slot;
                }
                place
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.last = Some(Last { stream, place, entered: false });
    }

    /// The slot of a stream, if it has one.
    #[inline]
    fn get(&mut self, stream: StreamId) -> Option<&mut Slot> {
        let place = match self.last {
            Some(last) if last.stream == stream => last.place,
            _ => self.find_other(stream)?,
        };
        self.slots.get_mut(place)
    }

    /// Takes the slot from a stream; its conversation, if there is one.
    fn close(&mut self, stream: StreamId) -> Option<Box<Conversation>> {
        let conversation = self.get(stream)?.conversation.take();
        let last = self.last.take()?;
        if last.entered {
            self.places.remove(&stream);
        }
        self.free.push(last.place);
        conversation
    }

    /// The place of a stream that isn't the last; it is the last then.
    #[inline(never)]
    fn find_other(&mut self, stream: StreamId) -> Option<usize> {
        let place = *self.places.get(&stream)?;
        self.enter_last();
        self.last = Some(Last { stream, place, entered: true });
        Some(place)
    }

    #[inline]
    fn enter_last(&mut self) {
        if let Some(last) = self.last.filter(|last| !last.entered) {
            self.places.insert(last.stream, last.place);
        }
    }
}

/// Open streams: all of a recording, or those that fall to one of several
/// shares. What happens on one stream says nothing of another, so shares can
/// be worked on at the same time.
#[derive(Debug, Default)]
pub(super) struct Streams {
    slots: Slots,
    /// The last conversation that was over: the next one is written over it, so
    /// that many short ones take no more memory than one.
    spent: Option<Box<Conversation>>,
    /// What followed from the heads that came last: many streams have the same.
    known: Known,
    selected: u64,
    left_out: LeftOut,
}

impl Streams {
    /// How many streams there were that the filters select.
    pub(super) const fn selected(&self) -> u64 {
        self.selected
    }

    /// What the filters don't select.
    pub(super) const fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Takes the next item of a stream.
    pub(super) fn item(
        &mut self,
        stream: StreamId,
        item: StreamItem<'_>,
        options: &Options,
        emit: &mut dyn Emit,
    ) {
        // Looked at where it is: items are large.
        match &item {
            &StreamItem::Open(opening) => {
                let filters = &options.filters;
                if filters.selects_stream(stream.0)
                    && filters.selects_endpoints(opening.initiator, opening.responder)
                {
                    self.selected += 1;
                    self.slots.open(stream, opening);
                } else {
                    self.left_out.streams += 1;
                }
            }
            StreamItem::Closed(_) => {
                if let Some(mut conversation) = self.slots.close(stream) {
                    conversation.push(item, &mut self.known, options, emit);
                    self.left_out.exchanges += conversation.left_out();
                    if let Some(remains) = conversation.remains() {
                        emit.emit(Found::Over(stream, Box::new(remains)));
                    }
                    self.spent = Some(conversation);
                }
            }
            _ => {
                let Some(Slot { opening, conversation }) = self.slots.get(stream) else { return };
                let conversation = match conversation {
                    Some(conversation) => conversation,
                    // Nothing but its beginning was seen so far.
                    None if matches!(item, StreamItem::Data(..) | StreamItem::Gap(..)) => conversation
                        .insert(match self.spent.take() {
                            Some(mut spent) => {
                                spent.begin_anew(stream, opening);
                                spent
                            }
                            None => Box::new(Conversation::new(stream, opening, options)),
                        }),
                    None => return,
                };
                conversation.push(item, &mut self.known, options, emit);
                if options.follow
                    && let Some(under_way) = conversation.under_way()
                {
                    emit.emit(Found::UnderWay(Box::new(under_way)));
                }
            }
        }
    }
}

/// What is said of streams when the recording is done, entered in the order
/// in which they end.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) problems: Problems,
    others: Vec<OtherStream>,
    counts: [(Protocol, u64); 3],
    first_others: [Option<StreamId>; 3],
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self { problems: Problems::default(), others: Vec::new(), counts: NO_OTHERS, first_others: [None; 3] }
    }

    /// A stream is over.
    pub(super) fn over(&mut self, stream: StreamId, remains: &Remains) {
        if let Some(troubles) = &remains.troubles {
            self.problems.stream(stream, troubles);
        }
        let Some(protocol) = remains.protocol else { return };
        for ((counted, count), first) in self.counts.iter_mut().zip(&mut self.first_others) {
            if *counted == protocol {
                *count += 1;
                *first = Some(first.map_or(stream, |first| first.min(stream)));
            }
        }
        if self.others.len() < LISTED_STREAMS {
            self.others.push(OtherStream { stream, protocol });
        }
    }

    /// Streams that aren't HTTP/1: those that are listed, and how many there are.
    pub(super) fn others(&mut self) -> (Vec<OtherStream>, [(Protocol, u64); 3]) {
        self.others.sort_by_key(|other| other.stream);
        (std::mem::take(&mut self.others), self.counts)
    }

    /// Names protocols that aren't read as problems of the capture.
    pub(super) fn name_others(&mut self) {
        for ((protocol, count), first) in self.counts.iter().zip(self.first_others) {
            let (code, what) = match protocol {
                Protocol::Tls => ("encrypted-stream", "TLS: record on the side of a proxy where it is plain"),
                Protocol::Http2 => {
                    ("http2-stream", "HTTP/2, which has no chunks: ask the server for HTTP/1.1")
                }
                Protocol::Other => continue,
            };
            if let Some(first) = first {
                let speak = if *count == 1 { "speaks" } else { "speak" };
                self.problems.capture(
                    code,
                    None,
                    *count,
                    format!(
                        "{count} {} {speak} {what} (the first is stream {first})",
                        plural(*count, "stream")
                    ),
                );
            }
        }
    }
}

/// No stream that isn't HTTP/1.
pub(super) const NO_OTHERS: [(Protocol, u64); 3] =
    [(Protocol::Tls, 0), (Protocol::Http2, 0), (Protocol::Other, 0)];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Stamp;

    fn opening(frame: u64) -> Opening {
        let initiator = "10.0.0.1:1".parse().unwrap();
        Opening { initiator, responder: initiator, handshake: true, stamp: Stamp::untimed(frame) }
    }

    proptest! {
        /// Whichever streams are open at once, and however they take turns.
        #[test]
        fn slots_are_found_as_in_a_map(turns in prop::collection::vec((0..5_u64, 0..5_u8), 0..100)) {
            let (mut slots, mut map) = (Slots::default(), HashMap::new());
            for (frame, (stream, what)) in (1..).zip(turns) {
                let id = StreamId(stream);
                match what {
                    0 if map.contains_key(&stream) => {
                        map.remove(&stream);
                        prop_assert!(slots.close(id).is_none());
                    }
                    1 if !map.contains_key(&stream) => {
                        map.insert(stream, frame);
                        slots.open(id, opening(frame));
                    }
                    _ => {}
                }
                let found = slots.get(id).map(|slot| slot.opening.stamp.frame.get());
                prop_assert_eq!(found, map.get(&stream).copied());
            }
            prop_assert_eq!(slots.slots.len() - slots.free.len(), map.len());
        }
    }
}
