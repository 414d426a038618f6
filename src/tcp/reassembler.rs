//! The machine of the layer: segments of all connections in, their items out.

use std::collections::VecDeque;

use super::backlog::PATIENCE_NANOS;
use super::half::Outlet;
use super::table::{Slot, Stranger, Table};
use super::{Close, Direction, Opening, StreamItem, StreamSink};
use crate::limits::Limits;
use crate::packet::Segment;
use crate::units::{Stamp, StreamId};

/// Puts the octets of every connection in order.
///
/// Segments go in as captured; what they yield goes to the sink at once, each
/// item with its stream's number. The sum of what is held back is bounded by
/// [`Limits::out_of_order_stream`], [`Limits::out_of_order_total`] and
/// [`Limits::open_streams`].
pub struct Reassembler {
    table: Table,
    limits: Limits,
    /// What all connections hold back.
    held: usize,
    /// Connections that wait for something, by the packet that made them wait:
    /// patience ends also where they themselves have fallen silent.
    waiting: VecDeque<(u32, StreamId, Stamp)>,
    /// The last packet.
    now: Stamp,
    evicted: u64,
    first_evicted: Option<Stamp>,
    doubtful: u64,
    first_doubtful: Option<Stamp>,
}

impl Reassembler {
    /// A reassembler that has seen nothing.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            table: Table::new(limits.ended_streams),
            limits: limits.clone(),
            held: 0,
            waiting: VecDeque::new(),
            now: Stamp::untimed(1),
            evicted: 0,
            first_evicted: None,
            doubtful: 0,
            first_doubtful: None,
        }
    }

    /// Takes the next segment of the capture, and passes on what it releases.
    pub fn push(&mut self, segment: &Segment<'_>, sink: &mut impl StreamSink) {
        let (index, direction) = match self.table.find(segment) {
            Ok(found) => found,
            Err(stranger) => match self.open(stranger, segment, sink) {
                Some(opened) => opened,
                None => return,
            },
        };
        let Some(slot) = self.table.slot(index) else {
            return;
        };
        let mut out = Outlet {
            sink,
            stream: slot.stream,
            now: &segment.stamp,
            limits: &self.limits,
            held: &mut self.held,
        };
        let ended = slot.flow.push(segment, direction, &mut out);
        // Not sooner: a processor waits long for what it has only just written by
        // halves, as the stamp was, if it is to copy it whole.
        self.now = segment.stamp;
        if ended {
            self.close(index, Close::Ended, sink);
        } else if slot.flow.starts_to_wait() {
            self.waiting.push_back((index, slot.stream, segment.stamp));
        }
        if !self.waiting.is_empty() {
            self.tick(sink);
        }
    }

    /// Has connections give up what they have waited for too long.
    fn tick(&mut self, sink: &mut impl StreamSink) {
        while let Some(&(index, stream, since)) = self.waiting.front() {
            let over = match (self.now.at, since.at) {
                (Some(now), Some(since)) => now.nanos_since(since) >= PATIENCE_NANOS,
                // Without times, only its own packets tell.
                _ => true,
            };
            if !over {
                return;
            }
            self.waiting.pop_front();
            let Some(slot) = self.table.slot(index) else {
                continue;
            };
            if slot.stream != stream {
                continue;
            }
            let mut out = Outlet { sink, stream, now: &self.now, limits: &self.limits, held: &mut self.held };
            if slot.flow.tick(&mut out) {
                self.close(index, Close::Ended, sink);
            } else if self.now.at.is_some() && slot.flow.starts_to_wait() {
                self.waiting.push_back((index, stream, self.now));
            }
        }
    }

    /// No packet has come for so long that what is still recorded late would
    /// have: what waits for nothing else is given up at once. To be called
    /// where packets are read as they are captured. A hole that its receiver
    /// hasn't acknowledged is waited for all the same.
    pub fn idle(&mut self, sink: &mut impl StreamSink) {
        if self.waiting.is_empty() {
            return;
        }
        let limits = Limits { gap_patience_packets: 0, ..self.limits.clone() };
        for (index, stream, since) in std::mem::take(&mut self.waiting) {
            let Some(slot) = self.table.slot(index).filter(|slot| slot.stream == stream) else {
                continue;
            };
            let mut out = Outlet { sink, stream, now: &self.now, limits: &limits, held: &mut self.held };
            if slot.flow.tick(&mut out) {
                self.close(index, Close::Ended, sink);
            } else if slot.flow.starts_to_wait() {
                self.waiting.push_back((index, stream, since));
            }
        }
    }

    /// The capture has ended: everything that is held back comes, then
    /// [`StreamItem::Closed`] for what is open, stream by stream.
    pub fn finish(&mut self, sink: &mut impl StreamSink) {
        for index in self.table.all() {
            self.close(index, Close::CaptureEnd, sink);
        }
    }

    /// How many streams there were so far.
    #[must_use]
    pub const fn streams(&self) -> u64 {
        self.table.streams()
    }

    /// How many streams were let go because too many were open at once.
    #[must_use]
    pub const fn evicted(&self) -> u64 {
        self.evicted
    }

    /// The packet that made the first of them go.
    #[must_use]
    pub const fn first_evicted(&self) -> Option<Stamp> {
        self.first_evicted
    }

    /// How many streams may be none: they began without a SYN when more had
    /// ended than are remembered ([`Limits::ended_streams`]), and so may be what
    /// came late of one of these. Where streams were [evicted](Self::evicted), one
    /// that began with a SYN may be what came late of one of those.
    #[must_use]
    pub const fn doubtful(&self) -> u64 {
        self.doubtful
    }

    /// The first packet of the first of them.
    #[must_use]
    pub const fn first_doubtful(&self) -> Option<Stamp> {
        self.first_doubtful
    }

    /// What all connections hold back, with its cost in memory.
    #[cfg(test)]
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    /// Opens the connection that a segment of none that is open begins; `None`
    /// where it begins none.
    #[inline(never)]
    fn open(
        &mut self,
        stranger: Stranger,
        segment: &Segment<'_>,
        sink: &mut impl StreamSink,
    ) -> Option<(u32, Direction)> {
        self.now = segment.stamp;
        let newcomer = match stranger {
            Stranger::New(newcomer) => newcomer,
            Stranger::Replaces(index) => {
                self.close(index, Close::Ended, sink);
                self.table.take_place(segment)
            }
            // Its connection is over; only the numbering needed to see it.
            Stranger::Past => return None,
        };
        while self.table.open() >= self.limits.open_streams.max(1) {
            let Some(oldest) = self.table.oldest() else {
                break;
            };
            self.evicted += 1;
            self.first_evicted.get_or_insert(segment.stamp);
            self.close(oldest, Close::Evicted, sink);
        }
        if !segment.flags.syn && self.table.forgot() {
            self.doubtful += 1;
            self.first_doubtful.get_or_insert(segment.stamp);
        }
        let (index, direction) = self.table.open_with(newcomer, segment);
        let (initiator, responder) = match direction {
            Direction::Forward => (segment.source, segment.destination),
            Direction::Backward => (segment.destination, segment.source),
        };
        let opening = Opening { initiator, responder, handshake: segment.flags.syn, stamp: segment.stamp };
        if let Some(slot) = self.table.slot(index) {
            sink.item(slot.stream, StreamItem::Open(opening));
        }
        Some((index, direction))
    }

    #[inline(never)]
    fn close(&mut self, index: u32, close: Close, sink: &mut impl StreamSink) {
        if let Some(Slot { flow, stream, .. }) = self.table.slot(index) {
            let mut out =
                Outlet { sink, stream: *stream, now: &self.now, limits: &self.limits, held: &mut self.held };
            flow.close(close, &mut out);
        }
        self.table.retire(index);
    }
}
