//! One direction of a connection: where it stands, and how octets leave it.

use std::borrow::Cow;

use super::backlog::{Backlog, Mark, Waiting};
use super::recent::Recent;
use super::seq::{self, Position};
use super::{Direction, Gap, Piece, StreamItem, StreamSink};
use crate::limits::Limits;
use crate::packet::Segment;
use crate::units::{Stamp, StreamId};

/// Where items go, and what a connection needs to know beside its own state.
pub(super) struct Outlet<'a, S> {
    pub sink: &'a mut S,
    pub stream: StreamId,
    /// The packet that is being processed.
    pub now: &'a Stamp,
    pub limits: &'a Limits,
    /// What all connections together hold back.
    pub held: &'a mut usize,
}

impl<S: StreamSink> Outlet<'_, S> {
    #[inline]
    pub fn item(&mut self, item: StreamItem<'_>) {
        self.sink.item(self.stream, item);
    }
}

/// One direction of a connection. Small, since there is a pair of it for each
/// connection that is open; what few connections need is boxed.
pub(super) struct Half {
    pub direction: Direction,
    /// The next octet to deliver. Meaningless until `known`.
    pub next: Position,
    /// The octet that has offset 0. Meaningless until `started`.
    origin: Position,
    /// How far the receiver has acknowledged. Meaningless until `known`.
    pub acked: Position,
    /// Where the octets end that the snap length cut off behind the last one
    /// delivered; at or before `next` where there are none.
    pub cut_to: Position,
    pub backlog: Option<Box<Backlog>>,
    recent: Recent,
    /// Whether any packet of this direction was captured.
    pub seen: bool,
    /// Whether `next` is known.
    pub known: bool,
    /// Whether `next` is known from something else than the SYN, so that
    /// earlier octets may turn up while nothing was delivered.
    loose: bool,
    /// Whether octets or a gap were delivered.
    started: bool,
    /// Whether the FIN was delivered.
    pub finished: bool,
    /// Whether the receiver acknowledged one number more than was captured,
    /// with nothing behind it: that is taken for a FIN that was not captured.
    ghost: bool,
    /// Of a direction that isn't captured at all: whether what was acknowledged
    /// last is a single number. That was its FIN, if the other side's follows.
    pub parted: bool,
}

impl Half {
    pub const fn new(direction: Direction) -> Self {
        Self {
            direction,
            next: Position::START,
            origin: Position::START,
            acked: Position::START,
            cut_to: Position::START,
            backlog: None,
            recent: Recent::new(),
            seen: false,
            known: false,
            loose: false,
            started: false,
            finished: false,
            ghost: false,
            parted: false,
        }
    }

    /// How far the direction has come: what an acknowledgement is held
    /// against. A FIN takes up one number (RFC 9293 §3.4).
    #[inline]
    pub fn done(&self) -> Position {
        self.next.plus(u64::from(self.finished || self.ghost))
    }

    /// Whether earlier octets than the next one may still turn up: nothing was
    /// delivered, and the SYN wasn't seen.
    #[inline]
    pub const fn may_begin_earlier(&self) -> bool {
        self.loose && !self.started
    }

    /// The lowest number of the direction.
    fn base(&self) -> Position {
        if self.started { self.origin } else { self.next }
    }

    /// Whether there is more to it than octets that come in order.
    #[inline]
    pub fn is_unsettled(&self) -> bool {
        self.backlog.is_some() || self.acked > self.done() || self.cut_to > self.next
    }

    /// Whether an item is still to come of what was captured or acknowledged.
    pub fn is_pending(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| backlog.head().is_some())
            || (self.seen && self.known && self.tail() > self.done())
    }

    /// Behind the last octet that is known to have been sent without having
    /// been captured.
    pub fn tail(&self) -> Position {
        self.acked.max(self.cut_to)
    }

    /// Behind the last octet known of.
    pub fn farthest(&self) -> Position {
        let end = self.backlog.as_ref().and_then(|backlog| backlog.end().max(backlog.head()));
        self.done().max(self.tail()).max(end.unwrap_or(Position::START))
    }

    pub fn backlog(&mut self) -> &mut Backlog {
        self.backlog.get_or_insert_default()
    }

    /// Places a segment of this direction: where its payload begins. `None`
    /// means that it isn't of this connection.
    pub fn place(&mut self, segment: &Segment<'_>) -> Option<Position> {
        let seq = seq::of_payload(segment);
        if !self.known {
            self.known = true;
            self.loose = !segment.flags.syn;
            self.next = Position::first(seq);
            self.acked = self.next;
            return Some(self.next);
        }
        let at = self.next.near(seq)?;
        if segment.flags.syn {
            if self.may_begin_earlier() && self.may_begin(at) {
                self.next = at;
                self.loose = false;
                return Some(at);
            }
            // The SYN of another connection, whose own one was not captured.
            let same = at == self.base() || (self.loose && at < self.base());
            return same.then_some(at);
        }
        if self.may_begin_earlier() {
            let carries = !segment.payload.is_empty() || segment.cut > 0 || segment.flags.fin;
            // What was first seen can have been captured out of order, or be
            // a keep-alive probe (RFC 9293 §3.8.4), which begins one number
            // before the next octet.
            let probed = at == self.next.plus(1) && self.backlog_head().is_none();
            if carries && (at < self.next || probed) {
                self.next = at;
            }
        }
        Some(at)
    }

    /// Takes an acknowledgement of this direction's octets. Returns its
    /// position, or `None` where it can't be of this connection.
    pub fn acknowledge(&mut self, ack: u32) -> Option<Position> {
        if !self.known {
            self.known = true;
            self.loose = true;
            self.next = Position::first(ack);
            self.acked = self.next;
            return Some(self.next);
        }
        let Some(mut at) = self.next.near(ack) else {
            if !self.seen {
                // Nothing to hold it against: only the other direction is
                // captured, and has gone on for longer than numbers reach.
                self.next = Position::first(ack);
                self.acked = self.next;
            }
            return None;
        };
        if at <= self.acked {
            return Some(at);
        }
        if self.finished {
            at = at.min(self.done());
        } else if let Some(backlog) = &mut self.backlog {
            if let Some(fin) = backlog.fin {
                at = at.min(fin.at.plus(1));
            }
            // The receiver went on beyond the RST: it did not believe it.
            if backlog.reset.is_some_and(|reset| reset.at < at) {
                backlog.reset = None;
            }
        }
        self.acked = self.acked.max(at);
        if self.may_begin_earlier() && at == self.next.plus(1) && self.backlog_head().is_none() {
            // It acknowledges a number that a keep-alive probe left out.
            self.next = at;
        }
        Some(at)
    }

    fn backlog_head(&self) -> Option<Position> {
        self.backlog.as_ref().and_then(|backlog| backlog.head())
    }

    /// Whether the direction can begin at `at` with what is held back.
    fn may_begin(&self, at: Position) -> bool {
        self.backlog_head().is_none_or(|head| at <= head)
    }

    /// Whether octets from `at` on, none behind the next one, differ from what
    /// was delivered.
    pub fn differs(&self, at: Position, copy: &[u8]) -> bool {
        // A keep-alive probe may carry any octet (RFC 9293 §3.8.4).
        let probe = copy.len() == 1 && at.plus(1) == self.next;
        !probe && self.recent.differs(at, copy)
    }

    #[inline]
    fn offset(&mut self) -> u64 {
        if !self.started {
            self.started = true;
            self.origin = self.next;
        }
        self.next.since(self.origin)
    }

    /// Delivers a segment's octets that are next in order, of a direction that
    /// holds nothing back.
    #[inline]
    pub fn pass<S: StreamSink>(&mut self, bytes: &[u8], stamp: &Stamp, out: &mut Outlet<'_, S>) {
        let at = self.offset();
        self.recent.note(self.next, bytes);
        self.next = self.next.plus(bytes.len() as u64);
        self.ghost = false;
        let (bytes, stamp, released) = (Cow::Borrowed(bytes), *stamp, *stamp);
        out.item(StreamItem::Data(self.direction, Piece { at, bytes, stamp, released, segment_start: true }));
    }

    /// Delivers octets that are next in order.
    pub fn deliver<S: StreamSink>(
        &mut self,
        bytes: Cow<'_, [u8]>,
        stamp: Stamp,
        released: Stamp,
        segment_start: bool,
        out: &mut Outlet<'_, S>,
    ) {
        let at = self.offset();
        self.recent.note(self.next, &bytes);
        self.next = self.next.plus(bytes.len() as u64);
        self.ghost = false;
        if let Some(backlog) = &mut self.backlog {
            backlog.reached = Some(released);
        }
        let piece = Piece { at, bytes, stamp, released, segment_start };
        out.item(StreamItem::Data(self.direction, piece));
    }

    /// Delivers the octets that wait first, which are next in order.
    pub fn deliver_first<S: StreamSink>(&mut self, out: &mut Outlet<'_, S>) {
        let Some(backlog) = &mut self.backlog else {
            return;
        };
        let before = backlog.octets();
        let Some(waiting) = backlog.pop() else { return };
        *out.held = out.held.saturating_sub(before.saturating_sub(backlog.octets()));
        let Waiting { bytes, stamp, segment_start, cut_to, .. } = waiting;
        let released = match backlog.reached {
            Some(reached) if reached.frame > stamp.frame => reached,
            _ => stamp,
        };
        self.deliver(Cow::Owned(bytes), stamp, released, segment_start, out);
        self.cut_to = self.cut_to.max(cut_to);
    }

    /// Gives up the octets from the next one to `to`.
    pub fn give_up<S: StreamSink>(&mut self, to: Position, out: &mut Outlet<'_, S>) {
        let len = to.since(self.next);
        if len == 0 {
            return;
        }
        let at = self.offset();
        if let Some(backlog) = &mut self.backlog {
            // A receiver had the octets when it acknowledged them.
            if let Some(mark) = backlog.mark.filter(|mark| mark.acked >= to && self.cut_to < to) {
                let reached = backlog.reached.filter(|reached| reached.frame > mark.stamp.frame);
                backlog.reached = Some(reached.unwrap_or(mark.stamp));
            }
        }
        self.next = to;
        self.ghost = false;
        out.item(StreamItem::Gap(self.direction, Gap { at, len, noticed: *out.now }));
    }

    /// Gives up what lies before the next known thing, at most up to `limit`.
    /// Returns whether there was a hole.
    pub fn give_up_hole<S: StreamSink>(&mut self, limit: Position, out: &mut Outlet<'_, S>) -> bool {
        let head = self.backlog_head();
        let to = head.unwrap_or_else(|| self.tail()).min(limit);
        if to <= self.next {
            return false;
        }
        if head.is_none() && to == self.next.plus(1) && self.cut_to < to {
            // One number with nothing behind it: rather a FIN that was not
            // captured than an octet.
            if self.ghost {
                return false;
            }
            self.ghost = true;
        } else {
            self.give_up(to, out);
        }
        true
    }

    /// Delivers the FIN of a direction that isn't captured, and gives up what
    /// it sent before: its receiver acknowledged both.
    pub fn finish_unseen<S: StreamSink>(&mut self, stamp: Stamp, out: &mut Outlet<'_, S>) {
        while !self.finished && self.next.plus(1) < self.acked {
            self.give_up(self.next.plus(self.acked.since(self.next).saturating_sub(1)), out);
        }
        if !self.finished {
            self.finish(stamp, out);
        }
    }

    /// Delivers the FIN; what lies behind it is dropped.
    pub fn finish<S: StreamSink>(&mut self, stamp: Stamp, out: &mut Outlet<'_, S>) {
        self.finished = true;
        self.ghost = false;
        self.acked = self.acked.min(self.done());
        self.cut_to = self.next;
        if let Some(backlog) = &mut self.backlog {
            let before = backlog.octets();
            backlog.truncate(self.next);
            *out.held = out.held.saturating_sub(before.saturating_sub(backlog.octets()));
            backlog.fin = None;
        }
        out.item(StreamItem::Fin(self.direction, stamp));
    }

    /// Starts or stops the clock of octets that were acknowledged without
    /// having been delivered, and lets go what isn't needed any more.
    pub fn wind(&mut self, packets: u32, now: Stamp) {
        let done = self.done();
        if self.seen && self.known && self.acked > done {
            let acked = self.acked;
            let backlog = self.backlog();
            if backlog.mark.is_none_or(|mark| mark.acked <= done) {
                backlog.mark = Some(Mark { acked, packets, stamp: now });
            }
        } else if let Some(backlog) = &mut self.backlog {
            backlog.mark = None;
            if backlog.is_idle() {
                self.backlog = None;
            }
        }
    }
}
