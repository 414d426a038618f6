//! One connection: how its two directions go on, wait for each other, and end.

use std::borrow::Cow;

use super::backlog::{Fin, Mark, Reset, Waiting};
use super::half::{Half, Outlet};
use super::seq::Position;
use super::{Close, Direction, StreamItem, StreamSink};
use crate::packet::Segment;
use crate::units::Stamp;

/// How far beyond everything known of a RST is believed: the largest window
/// that needs no scaling. One that lies farther off would follow a loss so
/// large that nothing could be said about the end anyway.
const RESET_WINDOW: u64 = 65_535;

/// One connection that is open.
pub(super) struct Flow {
    forward: Half,
    backward: Half,
    /// Packets of the connection, wrapping: the measure of patience.
    packets: u32,
    /// Whether it is known outside that this connection waits.
    waits: bool,
    /// Whether both directions are captured, nothing is held back and nothing
    /// is missing: then most packets can be passed, which changes none of it.
    /// Found out behind each packet that is considered.
    calm: bool,
}

impl Flow {
    pub const fn new() -> Self {
        Self {
            forward: Half::new(Direction::Forward),
            backward: Half::new(Direction::Backward),
            packets: 0,
            waits: false,
            calm: false,
        }
    }

    /// The direction itself, and the other one.
    #[inline]
    const fn pair(&mut self, direction: Direction) -> (&mut Half, &mut Half) {
        match direction {
            Direction::Forward => (&mut self.forward, &mut self.backward),
            Direction::Backward => (&mut self.backward, &mut self.forward),
        }
    }

    /// Takes the next packet of the connection. Returns whether the connection
    /// has ended; then its last items came, and [`StreamItem::Closed`] is due.
    #[inline]
    pub fn push<S: StreamSink>(
        &mut self,
        segment: &Segment<'_>,
        direction: Direction,
        out: &mut Outlet<'_, S>,
    ) -> bool {
        self.packets = self.packets.wrapping_add(1);
        if self.calm && self.pass(segment, direction, out) {
            return self.has_ended();
        }
        let ended = self.consider(segment, direction, out);
        let (one, other) = (&self.forward, &self.backward);
        self.calm = one.seen && other.seen && !one.is_unsettled() && !other.is_unsettled();
        ended
    }

    /// Takes a packet of a calm connection that raises no question, as nearly
    /// all do: what it carries is next, and what it acknowledges was captured.
    /// Returns whether it was such a packet; if not, nothing was done.
    /// [`Self::consider`] would do the same with it.
    #[inline]
    fn pass<S: StreamSink>(
        &mut self,
        segment: &Segment<'_>,
        direction: Direction,
        out: &mut Outlet<'_, S>,
    ) -> bool {
        let (tx, rx) = self.pair(direction);
        let Segment { flags, payload, .. } = segment;
        if flags.syn || flags.rst || segment.cut > 0 {
            return false;
        }
        let carries = flags.fin || !payload.is_empty();
        let placed = if carries {
            tx.next.is(segment.seq) && !tx.finished
        } else {
            tx.next.near(segment.seq).is_some()
        };
        if !placed {
            return false;
        }
        if let Some(ack) = segment.ack {
            match rx.next.near(ack) {
                Some(ack) if ack <= rx.acked => {}
                Some(ack) if ack <= rx.done() && !rx.may_begin_earlier() => rx.acked = ack,
                _ => return false,
            }
        }
        if !payload.is_empty() {
            tx.pass(payload, &segment.stamp, out);
        }
        if flags.fin {
            tx.finish(segment.stamp, out);
        }
        true
    }

    /// As [`Self::push`], with every packet considered.
    #[cfg(test)]
    pub fn push_considered<S: StreamSink>(
        &mut self,
        segment: &Segment<'_>,
        direction: Direction,
        out: &mut Outlet<'_, S>,
    ) -> bool {
        self.packets = self.packets.wrapping_add(1);
        self.consider(segment, direction, out)
    }

    /// Takes any packet. Returns as [`Self::push`] does.
    #[inline(never)]
    fn consider<S: StreamSink>(
        &mut self,
        segment: &Segment<'_>,
        direction: Direction,
        out: &mut Outlet<'_, S>,
    ) -> bool {
        if segment.flags.rst {
            if self.reset(segment, direction, out) {
                return true;
            }
        } else {
            self.take(segment, direction, out);
        }
        if self.forward.is_unsettled() || self.backward.is_unsettled() {
            self.relieve(direction, out);
            self.settle(out);
            self.lose_patience(out);
            if self.end_by_reset(out) {
                return true;
            }
        }
        self.has_ended()
    }

    /// Whether both directions are over.
    const fn has_ended(&self) -> bool {
        self.forward.finished && self.backward.finished
    }

    /// Whether the connection waits for something that patience bounds, and
    /// nobody was told since the last [`Flow::tick`].
    #[inline]
    pub fn starts_to_wait(&mut self) -> bool {
        let waits = |half: &Half| {
            half.backlog.as_ref().is_some_and(|backlog| backlog.mark.is_some() || backlog.reset.is_some())
        };
        let starts = !self.waits && (waits(&self.forward) || waits(&self.backward));
        self.waits |= starts;
        starts
    }

    /// Time has passed. Returns whether the connection has ended.
    pub fn tick<S: StreamSink>(&mut self, out: &mut Outlet<'_, S>) -> bool {
        self.waits = false;
        self.lose_patience(out);
        self.end_by_reset(out) || self.has_ended()
    }

    /// Takes what a segment carries: acknowledgement, octets, FIN.
    fn take<S: StreamSink>(&mut self, segment: &Segment<'_>, direction: Direction, out: &mut Outlet<'_, S>) {
        let (tx, rx) = self.pair(direction);
        // RFC 9293 §3.10.7.4: the sequence number is checked first; what fails
        // is ignored with all that it carries.
        let Some(at) = tx.place(segment) else { return };
        tx.seen = true;
        let before = rx.known.then_some(rx.acked);
        let need = match segment.ack.and_then(|ack| rx.acknowledge(ack)) {
            // Where only one direction is captured, nothing is waited for.
            Some(ack) if rx.seen && ack > rx.done() => ack,
            _ => Position::START,
        };
        if !rx.seen && before.is_some_and(|before| rx.acked > before) {
            // Nobody sends a single octet so often as a FIN.
            rx.parted = before.is_some_and(|before| rx.acked == before.plus(1));
        }
        if tx.finished || (segment.payload.is_empty() && segment.cut == 0 && !segment.flags.fin) {
            return;
        }
        let end = at.plus(segment.payload.len() as u64);
        let wire_end = end.plus(u64::from(segment.cut));
        if let Some(backlog) = &mut tx.backlog
            && backlog.reset.is_some_and(|reset| reset.at < wire_end)
        {
            // Its sender went on beyond the RST: somebody else made that up.
            backlog.reset = None;
        }
        Self::take_octets(tx, rx, segment, at, need, out);
        if segment.cut > 0 && end <= tx.next.max(tx.cut_to) {
            tx.cut_to = tx.cut_to.max(wire_end);
        }
        if segment.flags.fin {
            if rx.parted && !rx.seen {
                rx.finish_unseen(segment.stamp, out);
            }
            Self::take_fin(tx, rx, Fin { at: wire_end, stamp: segment.stamp, need }, out);
        }
    }

    fn take_octets<S: StreamSink>(
        tx: &mut Half,
        rx: &Half,
        segment: &Segment<'_>,
        at: Position,
        need: Position,
        out: &mut Outlet<'_, S>,
    ) {
        let fin = tx.backlog.as_ref().and_then(|backlog| backlog.fin).map_or(Position::END, |fin| fin.at);
        // Nothing comes after a FIN.
        let wanted = usize::try_from(fin.since(at)).unwrap_or(usize::MAX);
        let octets = segment.payload.get(..wanted).unwrap_or(segment.payload);
        let old = usize::try_from(tx.next.since(at)).unwrap_or(usize::MAX);
        let (old, new) = octets.split_at_checked(old).unwrap_or((octets, &[]));
        if !old.is_empty() && tx.differs(at, old) {
            out.item(StreamItem::Conflict(tx.direction, segment.stamp));
        }
        if new.is_empty() {
            return;
        }
        let start = at.plus(old.len() as u64);
        let end = start.plus(new.len() as u64);
        let clear =
            tx.backlog.as_ref().is_none_or(|backlog| backlog.first().is_none_or(|(first, _)| first >= end));
        if start == tx.next && clear && need <= rx.done() {
            tx.deliver(Cow::Borrowed(new), segment.stamp, segment.stamp, old.is_empty(), out);
            return;
        }
        let kept = Waiting {
            bytes: Vec::new(),
            stamp: segment.stamp,
            segment_start: old.is_empty(),
            need,
            cut_to: if segment.cut > 0 { end.plus(u64::from(segment.cut)) } else { Position::START },
        };
        let backlog = tx.backlog();
        let before = backlog.octets();
        let differs = backlog.insert(start, new, &kept);
        *out.held += backlog.octets().saturating_sub(before);
        if differs {
            out.item(StreamItem::Conflict(tx.direction, segment.stamp));
        }
    }

    fn take_fin<S: StreamSink>(tx: &mut Half, rx: &Half, fin: Fin, out: &mut Outlet<'_, S>) {
        let known = tx.backlog.as_mut().and_then(|backlog| backlog.fin.as_mut());
        if let Some(known) = known {
            if known.at == fin.at {
                known.need = known.need.min(fin.need);
            }
            return;
        }
        if fin.at < tx.next {
            return;
        }
        if fin.at == tx.next && fin.need <= rx.done() {
            tx.finish(fin.stamp, out);
            return;
        }
        let backlog = tx.backlog();
        let before = backlog.octets();
        backlog.truncate(fin.at);
        backlog.fin = Some(fin);
        *out.held = out.held.saturating_sub(before.saturating_sub(backlog.octets()));
    }

    /// Releases whatever is next in order and doesn't wait for its cause.
    fn settle<S: StreamSink>(&mut self, out: &mut Outlet<'_, S>) {
        while self.release(Direction::Forward, out) | self.release(Direction::Backward, out) {}
    }

    /// The same for one direction; whether anything was released.
    fn release<S: StreamSink>(&mut self, direction: Direction, out: &mut Outlet<'_, S>) -> bool {
        let (tx, rx) = self.pair(direction);
        let mut any = false;
        while !tx.finished {
            let head = tx.backlog.as_ref().and_then(|backlog| backlog.head());
            if head == Some(tx.next) {
                let Some((fin, need)) = Self::head_needs(tx) else {
                    break;
                };
                if need > rx.done() {
                    break;
                }
                match fin {
                    Some(stamp) => tx.finish(stamp, out),
                    None => tx.deliver_first(out),
                }
            } else if tx.cut_to > tx.next && (tx.acked > tx.next || !rx.seen) {
                // The snap length cut these off, and the receiver has them:
                // no packet brings them any more.
                let acked = if rx.seen { tx.acked } else { Position::END };
                tx.give_up(tx.cut_to.min(acked).min(head.unwrap_or(Position::END)), out);
            } else {
                break;
            }
            any = true;
        }
        any
    }

    /// What the first thing held back needs of the other direction; the FIN's
    /// stamp, if it is a FIN.
    fn head_needs(tx: &Half) -> Option<(Option<Stamp>, Position)> {
        let backlog = tx.backlog.as_ref()?;
        match (backlog.first(), backlog.fin) {
            (Some((_, waiting)), _) => Some((None, waiting.need)),
            (None, Some(fin)) => Some((Some(fin.stamp), fin.need)),
            (None, None) => None,
        }
    }

    /// Takes one step in a direction that waits: gives up the hole in front of
    /// it (up to `limit`), or delivers what waits for its cause. Returns
    /// whether there was anything to do.
    fn force<S: StreamSink>(
        &mut self,
        direction: Direction,
        limit: Position,
        out: &mut Outlet<'_, S>,
    ) -> bool {
        let (tx, rx) = self.pair(direction);
        if tx.finished || !tx.known {
            return false;
        }
        let at_head = tx.backlog.as_ref().is_some_and(|backlog| backlog.head() == Some(tx.next));
        if !at_head {
            return tx.give_up_hole(limit, out);
        }
        let Some((fin, need)) = Self::head_needs(tx) else {
            return false;
        };
        // The cause goes first; where each direction is the other's cause,
        // this one does.
        while rx.done() < need && !rx.finished {
            match Self::head_needs(rx) {
                Some((fin, _)) if rx.backlog.as_ref().and_then(|backlog| backlog.head()) == Some(rx.next) => {
                    match fin {
                        Some(stamp) => rx.finish(stamp, out),
                        None => rx.deliver_first(out),
                    }
                }
                _ => {
                    if !rx.give_up_hole(need, out) {
                        break;
                    }
                }
            }
        }
        match fin {
            Some(stamp) => tx.finish(stamp, out),
            None => tx.deliver_first(out),
        }
        true
    }

    /// Gives up the earliest gaps of a direction that holds back too much.
    fn relieve<S: StreamSink>(&mut self, direction: Direction, out: &mut Outlet<'_, S>) {
        loop {
            let (tx, _) = self.pair(direction);
            let octets = tx.backlog.as_ref().map_or(0, |backlog| backlog.octets());
            if octets == 0
                || (octets <= out.limits.out_of_order_stream && *out.held <= out.limits.out_of_order_total)
            {
                return;
            }
            self.settle(out);
            if !self.force(direction, Position::END, out) {
                return;
            }
            self.settle(out);
        }
    }

    /// Winds the clocks, and gives up what they have run out for.
    fn lose_patience<S: StreamSink>(&mut self, out: &mut Outlet<'_, S>) {
        let patience = out.limits.gap_patience_packets;
        for direction in [Direction::Forward, Direction::Backward] {
            let packets = self.packets;
            self.forward.wind(packets, *out.now);
            self.backward.wind(packets, *out.now);
            let (tx, _) = self.pair(direction);
            let mark = tx.backlog.as_ref().and_then(|backlog| backlog.mark);
            let Some(mark) = mark.filter(|mark| mark.is_over(packets, *out.now, patience)) else {
                continue;
            };
            while self.pair(direction).0.done() < mark.acked && self.force(direction, mark.acked, out) {
                self.settle(out);
            }
        }
        self.forward.wind(self.packets, *out.now);
        self.backward.wind(self.packets, *out.now);
    }

    /// Takes a RST. Returns whether it ended the connection.
    fn reset<S: StreamSink>(
        &mut self,
        segment: &Segment<'_>,
        direction: Direction,
        out: &mut Outlet<'_, S>,
    ) -> bool {
        let packets = self.packets;
        let (tx, rx) = self.pair(direction);
        if !tx.known {
            // RFC 9293 §3.10.7.3: a RST that answers a SYN is believed if it
            // acknowledges that.
            let acceptable = segment.ack.is_none_or(|ack| {
                !rx.known
                    || rx
                        .next
                        .near(ack)
                        .is_some_and(|ack| (rx.acked..=rx.farthest().plus(RESET_WINDOW)).contains(&ack))
            });
            return acceptable && self.end_reset(direction, segment.stamp, None, out);
        }
        // RFC 9293 §3.10.7.4: it has to lie within the receiver's window.
        let Some(at) = tx.next.near(segment.seq) else {
            return false;
        };
        if at < tx.acked || at > tx.farthest().plus(RESET_WINDOW) {
            return false;
        }
        tx.seen = true;
        if at <= tx.done() {
            return self.end_reset(direction, segment.stamp, Some(at), out);
        }
        // Octets before it are missing. They may still come; and a receiver
        // would challenge such a RST (RFC 5961 §3.2), so see what it does.
        let mark = Mark { acked: tx.acked, packets, stamp: segment.stamp };
        tx.backlog().reset.get_or_insert(Reset { at, since: mark });
        false
    }

    /// Ends the connection if a RST's turn has come.
    fn end_by_reset<S: StreamSink>(&mut self, out: &mut Outlet<'_, S>) -> bool {
        for direction in [Direction::Forward, Direction::Backward] {
            let (packets, patience) = (self.packets, out.limits.gap_patience_packets);
            let (tx, _) = self.pair(direction);
            let reset = tx.backlog.as_ref().and_then(|backlog| backlog.reset);
            if let Some(reset) = reset
                && (reset.at <= tx.done() || reset.since.is_over(packets, *out.now, patience))
            {
                return self.end_reset(direction, reset.since.stamp, Some(reset.at), out);
            }
        }
        false
    }

    fn end_reset<S: StreamSink>(
        &mut self,
        by: Direction,
        stamp: Stamp,
        at: Option<Position>,
        out: &mut Outlet<'_, S>,
    ) -> bool {
        self.flush(out);
        for half in [&mut self.forward, &mut self.backward] {
            if let Some(backlog) = &mut half.backlog {
                backlog.reset = None;
            }
        }
        let lost = at.is_some_and(|at| at > self.pair(by).0.done());
        out.item(StreamItem::Reset { by, stamp, lost });
        true
    }

    /// Delivers everything that is held back, and gives up what is missing.
    fn flush<S: StreamSink>(&mut self, out: &mut Outlet<'_, S>) {
        loop {
            self.settle(out);
            let stepped = (self.forward.is_pending() && self.force(Direction::Forward, Position::END, out))
                || (self.backward.is_pending() && self.force(Direction::Backward, Position::END, out));
            if !stepped {
                return;
            }
        }
    }

    /// Ends the connection from outside: everything that is held back comes,
    /// then [`StreamItem::Closed`].
    pub fn close<S: StreamSink>(&mut self, close: Close, out: &mut Outlet<'_, S>) {
        if !self.forward.is_unsettled() && !self.backward.is_unsettled() {
            // Nothing is held back, and nothing is missing.
            let close = if self.has_ended() { Close::Ended } else { close };
            out.item(StreamItem::Closed(close));
        } else {
            self.close_unsettled(close, out);
        }
    }

    /// The same for any connection.
    pub fn close_unsettled<S: StreamSink>(&mut self, close: Close, out: &mut Outlet<'_, S>) {
        let reset = |half: &Half| half.backlog.as_ref().and_then(|backlog| backlog.reset);
        let pending = reset(&self.forward)
            .map(|reset| (Direction::Forward, reset))
            .or_else(|| reset(&self.backward).map(|reset| (Direction::Backward, reset)));
        self.flush(out);
        let ended = self.has_ended();
        let close = match pending {
            Some((by, reset)) if !ended => {
                self.end_reset(by, reset.since.stamp, Some(reset.at), out);
                Close::Ended
            }
            _ if ended => Close::Ended,
            _ => close,
        };
        out.item(StreamItem::Closed(close));
    }
}
