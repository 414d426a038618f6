//! How the bodies of a connection end that nothing within them ends: by who
//! left first, and whether the capture holds all up to there.

use smallvec::SmallVec;

use super::connection::Connection;
use super::half::{Departure, Ending, OpenBody, Reading};
use super::{BodyEnd, BodyEvent, Framing, HttpEvent, HttpSink};
use crate::tcp::Direction;
use crate::units::Stamp;

impl Connection {
    /// The sender of a direction closed it or reset the connection.
    pub(super) fn left(
        &mut self,
        direction: Direction,
        stamp: Stamp,
        reset: bool,
        lost: bool,
        sink: &mut impl HttpSink,
    ) {
        let behind = self.departure(direction.reverse()).is_some();
        let half = self.half(direction);
        half.left(Departure { stamp, reset, behind });
        half.hole |= lost;
        self.finish_search(direction, sink);
        // Who left first is certain when both have: items of one direction
        // may have had to wait for a gap.
        if self.departure(direction.reverse()).is_some() {
            self.conclude(direction, sink);
            self.conclude(direction.reverse(), sink);
        }
    }

    /// Nothing more comes of the connection: all that is open ends, in the
    /// order of the exchanges.
    pub(super) fn close(&mut self, sink: &mut impl HttpSink) {
        if self.forward.is_quiet() && self.backward.is_quiet() && self.exchanges.is_quiet() {
            return;
        }
        // The client's first: exchanges are numbered by their requests.
        let first = self.client.unwrap_or(Direction::Forward);
        let both = [first, first.reverse()];
        for direction in both {
            self.finish_search(direction, sink);
            self.cut_head(direction, None, sink);
        }
        self.settle_interim(sink);
        self.decide(sink);
        for direction in both {
            self.finish_decoder(direction, sink);
        }
        for index in self.exchanges.indices() {
            for direction in both {
                self.end_open(index, direction, sink);
            }
            if self.exchanges.forget(index) {
                sink.event(HttpEvent::ExchangeEnd { index });
            }
        }
        for direction in both {
            // What waits for a place to join may be much.
            self.half(direction).reading = Reading::Off;
        }
    }

    /// A direction is closed, and so is the other one.
    fn conclude(&mut self, direction: Direction, sink: &mut impl HttpSink) {
        if self.half(direction).is_quiet() {
            return;
        }
        self.cut_head(direction, None, sink);
        self.finish_decoder(direction, sink);
        let half = self.half(direction);
        let open: SmallVec<[u64; 2]> =
            half.tunnels.iter().copied().chain(half.body.map(|body| body.index)).collect();
        for index in open {
            self.end_open(index, direction, sink);
        }
    }

    /// Ends the body and the tunnel of an exchange in a direction, if any is
    /// open.
    fn end_open(&mut self, index: u64, direction: Direction, sink: &mut impl HttpSink) {
        let half = self.half(direction);
        if let Some(body) = half.body.take_if(|body| body.index == index) {
            half.reading = Reading::Off;
            self.end_by_departure(&body, direction, sink);
        }
        let half = self.half(direction);
        if let Some(place) = half.tunnels.iter().position(|tunnel| *tunnel == index) {
            half.tunnels.remove(place);
            let framing = Some(Framing::Tunnel);
            let body = OpenBody { index, framing, lacks: false };
            self.end_by_departure(&body, direction, sink);
        }
    }

    fn end_by_departure(&mut self, body: &OpenBody, direction: Direction, sink: &mut impl HttpSink) {
        let (sender, receiver) = (self.departure(direction), self.departure(direction.reverse()));
        let hole = self.half(direction).hole;
        let mut ending = Ending::by(body, hole, sender, receiver);
        if self.endpoints.is_none() && body.framing == Some(Framing::Close) {
            // The end of raw responses is the close.
            ending.end = BodyEnd::Complete;
        }
        let Ending { end, stamp, reset } = ending;
        self.body_event(body.index, direction, BodyEvent::End { end, stamp, reset, fault: None }, sink);
        self.message_over(body.index, direction, sink);
    }

    /// A direction has no more octets: a candidate to join at may count
    /// without anything behind it.
    fn finish_search(&mut self, direction: Direction, sink: &mut impl HttpSink) {
        if let Reading::Search(search) = &self.half(direction).reading
            && let Some(join) = search.finish()
        {
            self.join(direction, join, sink);
        }
    }
}
