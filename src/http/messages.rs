//! What heads mean: exchanges, the bodies that follow, tunnels, and where a
//! stream is joined.

use std::mem;

use super::connection::{Connection, Inner};
use super::exchanges::Answered;
use super::framing::{self, Delimiter, Method};
use super::half::{OpenBody, Reading};
use super::head::{Head, Place, Said};
use super::held::Part;
use super::recent::{Request, Response, Whole};
use super::search::{Found, Join};
use super::{BodyEnd, BodyEvent, Framing, HttpEvent, HttpSink, Protocol, RequestHead, ResponseHead, Side};
use crate::chunk::{FramingFault, Lenience};
use crate::tcp::{Direction, Piece};
use crate::units::Stamp;

/// Tunnels within tunnels that are read: a client behind this many proxies.
const TUNNELS: usize = 4;

impl Connection {
    /// A start line is whole: it tells who is who.
    pub(super) fn start_line(&mut self, direction: Direction, side: Side, sink: &mut impl HttpSink) {
        let client = if side == Side::Request { direction } else { direction.reverse() };
        if self.client.is_some_and(|known| known != client) {
            // Both directions send requests, or both responses.
            let base = self.take_head(direction).and_then(|head| head.at());
            self.search(direction, base);
            return;
        }
        if self.inner == Inner::Unknown {
            self.inner = Inner::Http;
            self.half(client.reverse()).reading = Reading::Idle { blank: None };
        }
        self.roles(client, sink);
    }

    /// A head is whole; `rest` is what came behind it in its piece.
    pub(super) fn whole_head(
        &mut self,
        direction: Direction,
        head: Whole<'_>,
        place: Place,
        rest: &Piece<'_>,
        sink: &mut impl HttpSink,
    ) {
        let tunnels = self.half(direction).tunnels.len();
        match head {
            Whole::Request(request) => self.whole_request(direction, request, place, sink),
            Whole::Response(response) => self.whole_response(direction, response, place, sink),
        }
        // What is left of the piece is the first of a tunnel.
        let opened = self.half(direction).tunnels.get(tunnels).copied();
        if let Some(index) = opened.filter(|_| !rest.bytes.is_empty()) {
            self.body_event(index, direction, BodyEvent::Data(rest.clone()), sink);
        }
    }

    fn whole_request(
        &mut self,
        direction: Direction,
        request: &Request,
        place: Place,
        sink: &mut impl HttpSink,
    ) {
        let Request { said, delimiter, upgrade, method } = request;
        let index = self.request(said, *method, Some(place.first), sink);
        if delimiter.framing == Ok(Framing::None) && (*method == Method::Connect || *upgrade) {
            // Whether octets follow depends on the response.
            if let Some(exchange) = self.exchanges.get_mut(index) {
                exchange.undecided = Some(place.last);
            }
            return;
        }
        self.body(index, direction, delimiter, place, sink);
    }

    fn whole_response(
        &mut self,
        direction: Direction,
        response: &Response,
        place: Place,
        sink: &mut impl HttpSink,
    ) {
        let Response { said: Said { head, remarks }, delimiter, h2c } = response;
        remark(remarks, sink);
        let stamp = Some(place.first);
        // RFC 9110 §15.2: interim responses precede the final one.
        if head.status.is_some_and(|status| matches!(status, 100 | 102..=199)) {
            self.exchanges.interim = Some(Box::new(ResponseHead { stamp, ..head.clone() }));
            return;
        }
        let answered = self.answer(sink);
        let by_method;
        let delimiter = match answered.method {
            Method::Other => delimiter,
            method => {
                by_method = framing::of_response(head, method);
                &by_method
            }
        };
        let index = answered.index;
        sink.response(index, head, stamp);
        if delimiter.framing == Ok(Framing::Tunnel) {
            if *h2c {
                self.switch_to_http2(&answered, direction, place.first, sink);
            } else {
                self.tunnel(&answered, direction, sink);
            }
            return;
        }
        self.no_tunnel(&answered, direction, sink);
        self.body(index, direction, delimiter, place, sink);
    }

    /// A head ends before its empty line, since octets lack or since it is too
    /// long. Where `lost` names the packet at which that was clear, its body
    /// is lost too; else the connection ended, and its body is open.
    pub(super) fn cut_head(&mut self, direction: Direction, lost: Option<Stamp>, sink: &mut impl HttpSink) {
        let Some(head) = self.take_head(direction) else {
            return;
        };
        let Some(first) = head.first() else { return };
        let Some(side) = head.side().or(self.side(direction)) else {
            self.request_lost(direction);
            return;
        };
        sink.event(HttpEvent::IncompleteHead(side, first));
        if head.side().is_none() && lost.is_none() {
            return;
        }
        let index = match side {
            Side::Request => {
                let said = head.request();
                self.request(&said, Method::of(&said.head), Some(first), sink)
            }
            Side::Response => {
                let said = head.response();
                remark(&said.remarks, sink);
                if said.head.status.is_some_and(|status| matches!(status, 100 | 102..=199)) {
                    return;
                }
                let answered = self.answer(sink);
                sink.event(HttpEvent::Response { index: answered.index, head: said.head });
                self.no_tunnel(&answered, direction, sink);
                answered.index
            }
        };
        self.unknown_body(index, direction, lost, sink);
    }

    /// Octets lack where a message was due.
    pub(super) fn message_lost(&mut self, direction: Direction, noticed: Stamp, sink: &mut impl HttpSink) {
        match self.side(direction) {
            Some(Side::Response) => {
                let Some(answered) = self.exchanges.response_lost() else {
                    return;
                };
                self.answered(&answered, sink);
                self.no_tunnel(&answered, direction, sink);
                sink.event(HttpEvent::IncompleteHead(Side::Response, noticed));
                self.unknown_body(answered.index, direction, Some(noticed), sink);
            }
            Some(Side::Request) => self.exchanges.request_lost(),
            None => self.request_lost(direction),
        }
    }

    /// Octets lack at the beginning of a connection.
    fn request_lost(&mut self, direction: Direction) {
        if direction == Direction::Forward {
            self.exchanges.request_lost();
        }
    }

    /// A direction is joined.
    pub(super) fn join(&mut self, direction: Direction, join: Join, sink: &mut impl HttpSink) {
        let reading = &mut self.half(direction).reading;
        let Reading::Search(search) = mem::replace(reading, Reading::Idle { blank: None }) else {
            return;
        };
        let skipped = search.skipped(join.at);
        let held = search.into_held(join.at);
        let first = held.iter().find_map(|part| match part {
            Part::Octets(piece) => Some(piece.stamp),
            Part::Gap(_) => None,
        });
        let Some(stamp) = first else { return };
        let half = self.half(direction);
        half.passed_over = half.passed_over.saturating_add(skipped);
        let handshake = self.endpoints.is_some_and(|endpoints| endpoints.handshake);
        let side = match join.found {
            Found::Foreign(protocol) => return self.not_http(protocol, sink),
            Found::StartLine(side) => side,
            // Of an unknown stream, chunks are a server's, most likely.
            Found::Chunk => self.side(direction).unwrap_or(match direction {
                Direction::Forward if handshake => Side::Request,
                _ => Side::Response,
            }),
        };
        self.roles(if side == Side::Request { direction } else { direction.reverse() }, sink);
        match join.found {
            Found::StartLine(_) | Found::Foreign(_) => {
                // A stream that begins with a head has its ordinary start.
                if skipped > 0 {
                    sink.event(HttpEvent::Joined(side, skipped, stamp));
                }
                self.half(direction).reading = Reading::Head(Box::new(Head::new(Some(side), None)));
            }
            Found::Chunk => {
                sink.event(HttpEvent::Joined(side, skipped, stamp));
                let index = self.exchanges.joined(side);
                sink.event(match side {
                    Side::Request => HttpEvent::Request { index, head: RequestHead::default() },
                    Side::Response => HttpEvent::Response { index, head: ResponseHead::default() },
                });
                self.begin_body(index, direction, Some(Framing::Chunked), Some(skipped), stamp, sink);
            }
        }
        for part in held.iter() {
            match part {
                Part::Octets(mut piece) => self.read(direction, &mut piece, sink),
                Part::Gap(gap) => self.read_gap(direction, gap, sink),
            }
        }
    }

    /// A request's head, with its method and the packet of its first octet: its
    /// exchange.
    fn request(
        &mut self,
        said: &Said<RequestHead>,
        method: Method,
        stamp: Option<Stamp>,
        sink: &mut impl HttpSink,
    ) -> u64 {
        self.decide(sink);
        remark(&said.remarks, sink);
        let passed_over = self.client.map_or(0, |client| {
            let server = self.half(client.reverse());
            let searched = match &server.reading {
                Reading::Search(search) => search.passed_over(),
                _ => 0,
            };
            server.passed_over.saturating_add(searched)
        });
        let (index, given_up) = self.exchanges.request(method, passed_over, self.bounds.pipelined);
        sink.request(index, &said.head, stamp);
        if let Some(index) = given_up.filter(|index| self.exchanges.remove_over(*index)) {
            sink.event(HttpEvent::ExchangeEnd { index });
        }
        index
    }

    /// A final response's head: its exchange.
    fn answer(&mut self, sink: &mut impl HttpSink) -> Answered {
        let answered = self.exchanges.respond();
        self.answered(&answered, sink);
        answered
    }

    fn answered(&mut self, answered: &Answered, sink: &mut impl HttpSink) {
        self.exchanges.interim = None;
        for &index in &answered.passed {
            if self.exchanges.remove_over(index) {
                sink.event(HttpEvent::ExchangeEnd { index });
            }
        }
    }

    /// What a head says of its body is done.
    fn body(
        &mut self,
        index: u64,
        direction: Direction,
        delimiter: &Delimiter,
        place: Place,
        sink: &mut impl HttpSink,
    ) {
        let Place { first, last, end } = place;
        for lenience in &delimiter.remarks {
            sink.event(HttpEvent::Lenient(*lenience, first));
        }
        match &delimiter.framing {
            Ok(framing) => self.begin_body(index, direction, Some(*framing), None, last, sink),
            Err(message) => {
                self.begin_body(index, direction, None, None, last, sink);
                let fault = FramingFault { chunk: None, stamp: first, message: message.clone() };
                self.end_body(direction, BodyEnd::Broken, Some(first), Some(fault), sink);
                self.search(direction, Some(end));
            }
        }
    }

    /// A body of which nobody knows how it is delimited.
    fn unknown_body(
        &mut self,
        index: u64,
        direction: Direction,
        lost: Option<Stamp>,
        sink: &mut impl HttpSink,
    ) {
        self.half(direction).body = Some(OpenBody { index, framing: None, lacks: false });
        self.body_event(index, direction, BodyEvent::Begin { framing: None, joined: None }, sink);
        if lost.is_some() {
            self.end_body(direction, BodyEnd::Lost, lost, None, sink);
        }
    }

    /// Requests that asked for a tunnel and have no answer yet have no body,
    /// as it turns out.
    pub(super) fn decide(&mut self, sink: &mut impl HttpSink) {
        let Some(client) = self.client else { return };
        while let Some((index, stamp)) = self.exchanges.decide() {
            self.empty_body(index, client, stamp, sink);
        }
    }

    /// A response that makes no tunnel: the request that asked for one has no
    /// body.
    pub(super) fn no_tunnel(&mut self, answered: &Answered, direction: Direction, sink: &mut impl HttpSink) {
        if let Some(stamp) = answered.undecided {
            self.empty_body(answered.index, direction.reverse(), stamp, sink);
        }
    }

    /// A message without a body, whatever its direction's reader is at.
    pub(super) fn empty_body(
        &mut self,
        index: u64,
        direction: Direction,
        stamp: Stamp,
        sink: &mut impl HttpSink,
    ) {
        self.no_body(index, direction, Framing::None, stamp, sink);
    }

    /// RFC 9110 §7.8, §9.3.6: the connection becomes a tunnel behind a 101, or
    /// a 2xx to CONNECT. `direction` is the response's.
    fn tunnel(&mut self, answered: &Answered, direction: Direction, sink: &mut impl HttpSink) {
        let begin = || BodyEvent::Begin { framing: Some(Framing::Tunnel), joined: None };
        let (index, client) = (answered.index, direction.reverse());
        let server = self.half(direction);
        server.tunnels.push(index);
        server.reading = Reading::Off;
        let read = answered.method == Method::Connect && server.tunnels.len() <= TUNNELS;
        self.inner = if read { Inner::Unknown } else { Inner::Unread };
        if answered.undecided.is_some() {
            self.half(client).tunnels.push(index);
            self.body_event(index, client, begin(), sink);
        }
        self.body_event(index, direction, begin(), sink);
        if self.half(client).body.is_some() {
            return;
        }
        // What the client sent ahead of the answer goes through the tunnel.
        let ahead = self.take_head(client);
        self.half(client).reading = if read { Reading::Idle { blank: None } } else { Reading::Off };
        for mut piece in ahead.iter().flat_map(|head| head.pieces()) {
            if answered.undecided.is_some() {
                self.body_event(index, client, BodyEvent::Data(piece.clone()), sink);
            }
            self.read(client, &mut piece, sink);
        }
    }

    /// RFC 7540 §3.2: the connection goes on as HTTP/2.
    fn switch_to_http2(
        &mut self,
        answered: &Answered,
        direction: Direction,
        stamp: Stamp,
        sink: &mut impl HttpSink,
    ) {
        self.no_tunnel(answered, direction, sink);
        self.empty_body(answered.index, direction, stamp, sink);
        self.close(sink);
        self.not_http(Protocol::Http2, sink);
    }

    /// The last interim response is its exchange's response, if nothing
    /// followed it.
    pub(super) fn settle_interim(&mut self, sink: &mut impl HttpSink) {
        let Some(head) = self.exchanges.interim.take() else {
            return;
        };
        let Some(client) = self.client else { return };
        let answered = self.answer(sink);
        let stamp = head.stamp.unwrap_or(Stamp::untimed(0));
        sink.event(HttpEvent::Response { index: answered.index, head: *head });
        self.no_tunnel(&answered, client.reverse(), sink);
        self.empty_body(answered.index, client.reverse(), stamp, sink);
    }
}

fn remark(remarks: &[(Lenience, Stamp)], sink: &mut impl HttpSink) {
    for &(lenience, stamp) in remarks {
        sink.event(HttpEvent::Lenient(lenience, stamp));
    }
}
