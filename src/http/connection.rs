//! One connection: what comes of it goes to the reader of its direction, and
//! what the readers find goes out as [`HttpEvent`]s.
//!
//! This file drives the readers; `messages.rs` says what their heads mean,
//! and `closing.rs` what the end of the connection means.

use std::mem;
use std::net::SocketAddr;

use super::exchanges::Exchanges;
use super::half::{Departure, Half, OpenBody, Reading};
use super::head::{Head, HeadStep, Place};
use super::recent::{Recent, Request, Response, Whole};
use super::search::Search;
use super::start_line::foreign;
use super::{BodyEnd, BodyEvent, Framing, HttpEvent, HttpSink, Protocol, Side};
use crate::chunk::{ChunkToken, Decoder, FramingFault, Lenience, Step, piece as pieces};
use crate::limits::Limits;
use crate::tcp::{Direction, Gap, Opening, Piece, StreamItem};
use crate::units::Stamp;

/// Octets that tell what else than HTTP/1 a stream speaks.
const FOREIGN: usize = 24;

/// Reads one TCP connection, or raw responses. It is small while nothing is in
/// progress: allocate one at the connection's first payload.
#[derive(Debug)]
pub struct Connection {
    /// `None` for raw responses.
    pub(super) endpoints: Option<Endpoints>,
    /// The direction of the requests, once it is known.
    pub(super) client: Option<Direction>,
    pub(super) forward: Half,
    pub(super) backward: Half,
    pub(super) exchanges: Exchanges,
    pub(super) inner: Inner,
    /// It isn't HTTP/1; nothing else is told of it.
    pub(super) foreign: bool,
    /// Whether any octet was seen.
    octets: bool,
    recent: Recent,
    pub(super) bounds: Bounds,
}

/// Who talks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoints {
    initiator: SocketAddr,
    responder: SocketAddr,
    /// The connection was seen from its beginning.
    pub(super) handshake: bool,
}

impl Endpoints {
    const fn of(opening: &Opening) -> Self {
        let Opening { initiator, responder, handshake, .. } = *opening;
        Self { initiator, responder, handshake }
    }
}

/// What goes through a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inner {
    /// There is none, or it isn't read.
    Unread,
    /// The client's first octets will tell.
    Unknown,
    /// HTTP/1.
    Http,
}

/// The limits that matter here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    head: usize,
    size_line: usize,
    trailer: usize,
    join_window: usize,
    pub(super) pipelined: usize,
    keep_payload: usize,
}

impl Connection {
    /// A connection; `keep_payload` is how many payload octets the record of a
    /// chunk keeps, at most [`Limits::payload`].
    #[must_use]
    #[inline]
    pub fn new(opening: &Opening, limits: &Limits, keep_payload: usize) -> Self {
        let mut connection = Self::with(Some(Endpoints::of(opening)), None, limits, keep_payload);
        connection.open();
        connection
    }

    /// The same written over one that is over, with the limits that it had: so
    /// many short ones take no more memory than one.
    pub(crate) fn begin_anew(&mut self, opening: &Opening) {
        // What it was lent it gave back.
        let Self { endpoints, client, forward, backward, exchanges, inner, foreign, octets, .. } = self;
        (*endpoints, *client, *inner) = (Some(Endpoints::of(opening)), None, Inner::Unread);
        forward.begin_anew(Reading::Idle { blank: None });
        backward.begin_anew(Reading::Idle { blank: None });
        exchanges.begin_anew();
        (*foreign, *octets) = (false, false);
        self.open();
    }

    /// Looks for a place to join if it wasn't seen from its beginning.
    fn open(&mut self) {
        if self.endpoints.is_some_and(|endpoints| !endpoints.handshake) {
            for direction in [Direction::Forward, Direction::Backward] {
                self.search(direction, None);
            }
        }
    }

    /// Raw HTTP/1.1 responses, one after the other, that come as data of
    /// [`Direction::Backward`]. Their requests are unknown, nothing is joined,
    /// and a body that is delimited by the close is complete at the end.
    #[must_use]
    pub fn raw(limits: &Limits, keep_payload: usize) -> Self {
        Self::with(None, Some(Direction::Forward), limits, keep_payload)
    }

    #[inline(always)]
    fn with(
        endpoints: Option<Endpoints>,
        client: Option<Direction>,
        limits: &Limits,
        keep_payload: usize,
    ) -> Self {
        Self {
            endpoints,
            client,
            forward: Half::new(Reading::Idle { blank: None }),
            backward: Half::new(Reading::Idle { blank: None }),
            exchanges: Exchanges::default(),
            inner: Inner::Unread,
            foreign: false,
            octets: false,
            recent: Recent::default(),
            bounds: Bounds {
                head: limits.head,
                size_line: limits.size_line,
                trailer: limits.trailer,
                join_window: limits.join_window,
                pipelined: limits.pipelined,
                keep_payload: keep_payload.min(limits.payload),
            },
        }
    }

    /// Lends it the heads that were read last on other connections, or takes
    /// them back: what one has goes to the other. What is told is the same.
    pub(crate) fn lend(&mut self, recent: &mut Recent) {
        mem::swap(&mut self.recent, recent);
    }

    /// Takes the next item of the stream.
    pub fn push(&mut self, item: StreamItem<'_>, sink: &mut impl HttpSink) {
        if self.foreign {
            return;
        }
        match item {
            StreamItem::Open(_) | StreamItem::Conflict(..) => {}
            StreamItem::Data(direction, piece) => {
                // A borrowed view: what is split off later copies nothing.
                let mut piece = Piece { bytes: piece.bytes.as_ref().into(), ..piece };
                self.octets |= !piece.bytes.is_empty();
                self.data(direction, &mut piece, sink);
            }
            StreamItem::Gap(direction, gap) => self.gap(direction, gap, sink),
            StreamItem::Fin(direction, stamp) => self.left(direction, stamp, false, false, sink),
            StreamItem::Reset { by, stamp, lost } => self.left(by, stamp, true, lost, sink),
            StreamItem::Closed(_) => {
                self.close(sink);
                if !self.exchanges.any() && self.octets && !self.foreign {
                    self.not_http(Protocol::Other, sink);
                }
            }
        }
    }

    fn data(&mut self, direction: Direction, piece: &mut Piece<'_>, sink: &mut impl HttpSink) {
        let half = self.half(direction);
        half.hole = false;
        if !half.tunnels.is_empty() {
            for index in half.tunnels.clone() {
                self.body_event(index, direction, BodyEvent::Data(piece.clone()), sink);
            }
        }
        self.read(direction, piece, sink);
    }

    /// Reads a piece to its end.
    pub(super) fn read(&mut self, direction: Direction, piece: &mut Piece<'_>, sink: &mut impl HttpSink) {
        let longest_head = self.bounds.head;
        loop {
            let side = self.side(direction);
            let half = self.half(direction);
            // Only a chunked body can have something to tell without octets.
            if piece.bytes.is_empty() && !matches!(half.reading, Reading::Chunked(_)) {
                return;
            }
            match &mut half.reading {
                Reading::Off => return,
                Reading::Idle { blank } => {
                    // RFC 9112 §2.2: empty lines before a request-line are ignored.
                    let lines = piece.bytes.iter().take_while(|octet| matches!(octet, b'\r' | b'\n')).count();
                    if lines > 0 {
                        blank.get_or_insert(piece.stamp);
                        pieces::skip(piece, lines);
                        continue;
                    }
                    let blank = *blank;
                    if blank.is_some() || !self.head_in_one_piece(direction, piece, sink) {
                        self.half(direction).reading = Reading::Head(Box::new(Head::new(side, blank)));
                    }
                }
                Reading::Head(head) => match head.push(piece, longest_head) {
                    HeadStep::More => return,
                    HeadStep::StartLine(side) => self.start_line(direction, side, sink),
                    HeadStep::Whole => self.collected_head(direction, piece, sink),
                    HeadStep::TooLong if head.side().is_none() && side.is_none() => {
                        // So long a line, of something that nothing is known of.
                        self.not_http(Protocol::Other, sink);
                        return;
                    }
                    HeadStep::TooLong => {
                        self.cut_head(direction, Some(piece.stamp), sink);
                        self.search(direction, Some(piece.at));
                    }
                    HeadStep::Unlike => self.unlike(direction, piece, sink),
                },
                Reading::Length { left } => {
                    let part = pieces::take(piece, usize::try_from(*left).unwrap_or(usize::MAX));
                    *left = left.saturating_sub(part.bytes.len() as u64);
                    let over = *left == 0;
                    let stamp = part.stamp;
                    self.open_body_event(direction, BodyEvent::Data(part), sink);
                    if over {
                        self.length_over(direction, stamp, sink);
                    }
                }
                Reading::ToClose => {
                    self.open_body_event(direction, BodyEvent::Data(piece.clone()), sink);
                    return;
                }
                Reading::Chunked(decoder) => {
                    let (Some(body), Some(side)) = (half.body, side) else {
                        half.reading = Reading::Off;
                        return;
                    };
                    loop {
                        while let Some(whole) = decoder.whole(piece) {
                            sink.whole(body.index, side, &whole);
                        }
                        match decoder.read(piece) {
                            None => return,
                            Some(Step::Token(token)) => {
                                let event = BodyEvent::Chunk(token);
                                sink.event(HttpEvent::Body { index: body.index, side, event });
                            }
                            Some(Step::Lenient(lenience, stamp)) => {
                                sink.event(HttpEvent::Lenient(lenience, stamp))
                            }
                            Some(step) => {
                                self.chunks_over(direction, step, piece.stamp, Some(piece.at), sink);
                                break;
                            }
                        }
                    }
                }
                Reading::Search(search) => {
                    let Some(join) = search.read(piece) else {
                        return;
                    };
                    self.join(direction, join, sink);
                }
            }
        }
    }

    /// Reads a head that is all there, if it is: nothing of it need be kept.
    fn head_in_one_piece(
        &mut self,
        direction: Direction,
        piece: &mut Piece<'_>,
        sink: &mut impl HttpSink,
    ) -> bool {
        if self.inner == Inner::Unknown {
            // The start line tells first whether a tunnel is read.
            return false;
        }
        let side = self.side(direction);
        // Out of the way while the head that it holds is told.
        let mut heads = self.recent.take_heads();
        let read = heads.read(&piece.bytes, side, self.bounds.head);
        let is_whole = read.is_some();
        if let Some((head, len)) = read {
            pieces::skip(piece, len);
            let place = Place { first: piece.stamp, last: piece.stamp, end: piece.at };
            self.roles(if head.side() == Side::Request { direction } else { direction.reverse() }, sink);
            self.whole_head(direction, head, place, piece, sink);
        }
        self.recent.put_heads(heads);
        is_whole
    }

    /// A head that was collected is whole; `rest` is what came behind it.
    fn collected_head(&mut self, direction: Direction, rest: &Piece<'_>, sink: &mut impl HttpSink) {
        let Some(head) = self.take_head(direction) else { return };
        let Some(place) = head.place() else { return };
        match head.side() {
            Some(Side::Request) => {
                let head = Request::of(head.request());
                self.whole_head(direction, Whole::Request(&head), place, rest, sink);
            }
            Some(Side::Response) => {
                let head = Response::of(head.response());
                self.whole_head(direction, Whole::Response(&head), place, rest, sink);
            }
            None => {}
        }
    }

    fn gap(&mut self, direction: Direction, gap: Gap, sink: &mut impl HttpSink) {
        let half = self.half(direction);
        half.hole = true;
        if !half.tunnels.is_empty() {
            for index in half.tunnels.clone() {
                self.body_event(index, direction, BodyEvent::Missing(gap), sink);
            }
        }
        self.read_gap(direction, gap, sink);
    }

    /// Reads over a gap.
    pub(super) fn read_gap(&mut self, direction: Direction, mut gap: Gap, sink: &mut impl HttpSink) {
        let (base, noticed) = (gap.at, gap.noticed);
        while gap.len > 0 {
            let side = self.side(direction);
            let half = self.half(direction);
            match &mut half.reading {
                Reading::Off => return,
                Reading::Idle { .. } => {
                    self.message_lost(direction, noticed, sink);
                    self.search(direction, Some(base));
                }
                Reading::Head(_) => {
                    self.cut_head(direction, Some(noticed), sink);
                    self.search(direction, Some(base));
                }
                Reading::Length { left } => {
                    let len = gap.len.min(*left);
                    *left = left.saturating_sub(len);
                    let over = *left == 0;
                    if let Some(body) = &mut half.body {
                        body.lacks = true;
                    }
                    let part = Gap { len, ..gap };
                    gap.at = gap.at.saturating_add(len);
                    gap.len = gap.len.saturating_sub(len);
                    self.open_body_event(direction, BodyEvent::Missing(part), sink);
                    if over {
                        self.length_over(direction, noticed, sink);
                    }
                }
                Reading::ToClose => {
                    self.open_body_event(direction, BodyEvent::Missing(gap), sink);
                    return;
                }
                Reading::Chunked(decoder) => {
                    let (Some(body), Some(side)) = (half.body, side) else {
                        half.reading = Reading::Off;
                        return;
                    };
                    while let Some(step) = decoder.gap(&mut gap) {
                        match step {
                            Step::Token(token) => {
                                let event = BodyEvent::Chunk(token);
                                sink.event(HttpEvent::Body { index: body.index, side, event });
                            }
                            Step::Lenient(lenience, stamp) => sink.event(HttpEvent::Lenient(lenience, stamp)),
                            step => {
                                self.chunks_over(direction, step, noticed, Some(base), sink);
                                break;
                            }
                        }
                    }
                }
                Reading::Search(search) => match search.gap(&gap) {
                    None => return,
                    Some(join) => self.join(direction, join, sink),
                },
            }
            if self.foreign {
                return;
            }
        }
    }

    /// A body of declared length is over.
    fn length_over(&mut self, direction: Direction, stamp: Stamp, sink: &mut impl HttpSink) {
        self.half(direction).reading = Reading::Idle { blank: None };
        let lacks = self.half(direction).body.is_some_and(|body| body.lacks);
        let end = if lacks { BodyEnd::Lost } else { BodyEnd::Complete };
        self.end_body(direction, end, Some(stamp), None, sink);
    }

    /// A chunked body is over by its framing, or by the want of it; `base` is
    /// behind its last octet.
    fn chunks_over(
        &mut self,
        direction: Direction,
        step: Step<'_>,
        stamp: Stamp,
        base: Option<u64>,
        sink: &mut impl HttpSink,
    ) {
        match step {
            Step::Complete => {
                let idle = Reading::Idle { blank: None };
                if let Reading::Chunked(spent) = mem::replace(&mut self.half(direction).reading, idle) {
                    self.recent.keep_spent(spent);
                }
                self.end_body(direction, BodyEnd::Complete, Some(stamp), None, sink);
            }
            Step::Broken(fault) => {
                self.end_body(direction, BodyEnd::Broken, Some(fault.stamp), Some(fault), sink);
                self.search(direction, base);
            }
            _ => {
                self.end_body(direction, BodyEnd::Lost, Some(stamp), None, sink);
                self.search(direction, base);
            }
        }
    }

    /// No start line begins as the octets do where one is due.
    fn unlike(&mut self, direction: Direction, piece: &mut Piece<'_>, sink: &mut impl HttpSink) {
        if self.inner == Inner::Unknown {
            // A tunnel through which something else goes: its octets count.
            self.inner = Inner::Unread;
            self.forward.reading = Reading::Off;
            self.backward.reading = Reading::Off;
            return;
        }
        // Of a stream of which nothing is known these are the first octets.
        let unknown = self.client.is_none() || (self.endpoints.is_none() && !self.exchanges.any());
        let Reading::Head(head) = &mut self.half(direction).reading else {
            return;
        };
        if unknown {
            let count = FOREIGN.saturating_sub(head.octets().len()).max(1);
            head.take(piece, count);
            if let Some(protocol) = foreign(head.octets()) {
                self.not_http(protocol, sink);
            }
            return;
        }
        // Something else than a message where one is due: nothing is read
        // until the stream is joined, which may be at one of its segments.
        let Some(head) = self.take_head(direction) else { return };
        self.search(direction, Some(head.at().unwrap_or(piece.at)));
        for mut part in head.pieces() {
            self.read(direction, &mut part, sink);
        }
    }

    /// Nothing is interpreted until the direction is joined again.
    pub(super) fn search(&mut self, direction: Direction, base: Option<u64>) {
        let side = self.side(direction);
        let Bounds { join_window, size_line, .. } = self.bounds;
        self.half(direction).reading = match self.endpoints {
            // Raw responses have no segments to join at.
            None => Reading::Off,
            Some(_) => Reading::Search(Box::new(Search::new(side, base, join_window, size_line))),
        };
    }

    /// It isn't HTTP/1.
    pub(super) fn not_http(&mut self, protocol: Protocol, sink: &mut impl HttpSink) {
        self.foreign = true;
        for half in [&mut self.forward, &mut self.backward] {
            *half = Half::new(Reading::Off);
        }
        self.exchanges = Exchanges::default();
        sink.event(HttpEvent::NotHttp(protocol));
    }

    /// Who is the client became known, or is known already.
    pub(super) fn roles(&mut self, client: Direction, sink: &mut impl HttpSink) {
        if self.client.is_some() {
            return;
        }
        self.client = Some(client);
        let (request, response) = (Side::Request, Side::Response);
        for (direction, side) in [(client, request), (client.reverse(), response)] {
            if let Reading::Search(search) = &mut self.half(direction).reading {
                search.know_side(side);
            }
        }
        if let Some(Endpoints { initiator, responder, .. }) = self.endpoints {
            let (client, server) = match client {
                Direction::Forward => (initiator, responder),
                Direction::Backward => (responder, initiator),
            };
            sink.event(HttpEvent::Roles { client, server });
        }
    }

    /// Whose messages go in a direction, once that is known.
    pub(super) fn side(&self, direction: Direction) -> Option<Side> {
        self.client.map(|client| if client == direction { Side::Request } else { Side::Response })
    }

    pub(super) fn half(&mut self, direction: Direction) -> &mut Half {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Backward => &mut self.backward,
        }
    }

    pub(super) fn departure(&self, direction: Direction) -> Option<Departure> {
        match direction {
            Direction::Forward => self.forward.departure,
            Direction::Backward => self.backward.departure,
        }
    }

    fn decoder(&mut self) -> Box<Decoder> {
        let Bounds { size_line, trailer, keep_payload, .. } = self.bounds;
        match self.recent.take_spent() {
            Some(mut spent) => {
                spent.restart(size_line, trailer, keep_payload);
                spent
            }
            None => Box::new(Decoder::with_limits(size_line, trailer, keep_payload)),
        }
    }

    pub(super) fn body_event(
        &self,
        index: u64,
        direction: Direction,
        event: BodyEvent<'_>,
        sink: &mut impl HttpSink,
    ) {
        if let Some(side) = self.side(direction) {
            sink.event(HttpEvent::Body { index, side, event });
        }
    }

    fn open_body_event(&mut self, direction: Direction, event: BodyEvent<'_>, sink: &mut impl HttpSink) {
        if let Some(body) = self.half(direction).body {
            self.body_event(body.index, direction, event, sink);
        }
    }

    /// A body begins, and its reader with it; what has no octets ends at once,
    /// with the packet that `stamp` names.
    pub(super) fn begin_body(
        &mut self,
        index: u64,
        direction: Direction,
        framing: Option<Framing>,
        joined: Option<u64>,
        stamp: Stamp,
        sink: &mut impl HttpSink,
    ) {
        if let Some(framing @ (Framing::None | Framing::ContentLength(0))) = framing {
            let half = self.half(direction);
            (half.body, half.reading) = (None, Reading::Idle { blank: None });
            return self.no_body(index, direction, framing, stamp, sink);
        }
        let decoder = (framing == Some(Framing::Chunked)).then(|| self.decoder());
        let half = self.half(direction);
        half.body = Some(OpenBody { index, framing, lacks: false });
        half.reading = match (framing, decoder) {
            (Some(Framing::Chunked), Some(decoder)) => Reading::Chunked(decoder),
            (Some(Framing::ContentLength(left)), _) if left > 0 => Reading::Length { left },
            (Some(Framing::Close), _) => Reading::ToClose,
            _ => Reading::Idle { blank: None },
        };
        self.body_event(index, direction, BodyEvent::Begin { framing, joined }, sink);
    }

    /// A body without octets begins and ends with the packet that `stamp` names.
    pub(super) fn no_body(
        &mut self,
        index: u64,
        direction: Direction,
        framing: Framing,
        stamp: Stamp,
        sink: &mut impl HttpSink,
    ) {
        if let Some(side) = self.side(direction) {
            sink.bodiless(index, side, framing, stamp);
        }
        self.message_over(index, direction, sink);
    }

    /// The open body of a direction ends by what was read.
    pub(super) fn end_body(
        &mut self,
        direction: Direction,
        end: BodyEnd,
        stamp: Option<Stamp>,
        fault: Option<FramingFault>,
        sink: &mut impl HttpSink,
    ) {
        let Some(body) = self.half(direction).body.take() else {
            return;
        };
        self.body_event(body.index, direction, BodyEvent::End { end, stamp, reset: false, fault }, sink);
        self.message_over(body.index, direction, sink);
    }

    /// One message of an exchange is over.
    pub(super) fn message_over(&mut self, index: u64, direction: Direction, sink: &mut impl HttpSink) {
        if let Some(side) = self.side(direction)
            && self.exchanges.over(index, side)
        {
            sink.event(HttpEvent::ExchangeEnd { index });
        }
    }

    /// What a decoder had begun, and what it had not told yet.
    pub(super) fn finish_decoder(&mut self, direction: Direction, sink: &mut impl HttpSink) {
        let half = self.half(direction);
        let Reading::Chunked(decoder) = &mut half.reading else {
            return;
        };
        let Some(body) = half.body else { return };
        let token: Option<ChunkToken<'static>> = decoder.finish();
        let mut remarks: Vec<(Lenience, Stamp)> = Vec::new();
        while let Some(Step::Lenient(lenience, stamp)) = decoder.remark() {
            remarks.push((lenience, stamp));
        }
        half.reading = Reading::Off;
        if let Some(token) = token {
            self.body_event(body.index, direction, BodyEvent::Chunk(token), sink);
        }
        for (lenience, stamp) in remarks {
            sink.event(HttpEvent::Lenient(lenience, stamp));
        }
    }

    /// The head that a direction is in; its reader is between messages then.
    pub(super) fn take_head(&mut self, direction: Direction) -> Option<Box<Head>> {
        let reading = &mut self.half(direction).reading;
        match mem::replace(reading, Reading::Idle { blank: None }) {
            Reading::Head(head) => Some(head),
            other => {
                *reading = other;
                None
            }
        }
    }
}
