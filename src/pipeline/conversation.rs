//! One connection: its HTTP machine, its open exchanges, its troubles.

use std::net::SocketAddr;

use smallvec::SmallVec;

use crate::chunk::{ChunkToken, WholeChunk};
use crate::http::{
    BodyEvent, Connection, Framing, HttpEvent, HttpSink, Protocol, RequestHead, ResponseHead, Side,
};
use crate::report::{ExchangeId, UnderWay};
use crate::tcp::{Opening, StreamItem};
use crate::units::{Stamp, StreamId};

use super::exchange::Exchange;
use super::found::Emit;
use super::known::Known;
use super::options::Options;
use super::problems::StreamTroubles;

/// A connection with payload.
#[derive(Debug)]
pub(super) struct Conversation {
    http: Connection,
    talk: Talk,
}

/// What is known of a conversation besides its HTTP machine.
#[derive(Debug)]
struct Talk {
    stream: Option<StreamId>,
    client: Option<SocketAddr>,
    server: Option<SocketAddr>,
    /// The open exchanges by index, `None` where a filter passes one over.
    /// Mostly there is one; at most there are [`Limits::pipelined`] and a few.
    ///
    /// [`Limits::pipelined`]: crate::limits::Limits::pipelined
    exchanges: SmallVec<[(u64, Option<Box<Exchange>>); 1]>,
    /// Most have none.
    troubles: Option<Box<StreamTroubles>>,
    protocol: Option<Protocol>,
    /// Whether anything of HTTP/1 was understood.
    understood: bool,
    /// Exchanges that the filters don't select.
    left_out: u64,
}

/// What remains of a conversation when it is over.
#[derive(Debug)]
pub(super) struct Remains {
    /// What went wrong, if HTTP/1 was spoken.
    pub(super) troubles: Option<Box<StreamTroubles>>,
    /// What it spoke, if not HTTP/1.
    pub(super) protocol: Option<Protocol>,
}

impl Conversation {
    pub(super) fn new(stream: StreamId, opening: &Opening, options: &Options) -> Self {
        Self {
            http: Connection::new(opening, &options.limits, options.keep_payload),
            talk: Talk::new(Some(stream)),
        }
    }

    /// The same written over one with the same options that is over.
    pub(super) fn begin_anew(&mut self, stream: StreamId, opening: &Opening) {
        let Self { http, talk } = self;
        http.begin_anew(opening);
        *talk = Talk::new(Some(stream));
    }

    /// Raw HTTP responses, one after the other.
    pub(super) fn raw(options: &Options) -> Self {
        Self { http: Connection::raw(&options.limits, options.keep_payload), talk: Talk::new(None) }
    }

    /// Takes the next item; `known` is of conversations with the same options.
    pub(super) fn push(
        &mut self,
        item: StreamItem<'_>,
        known: &mut Known,
        options: &Options,
        emit: &mut dyn Emit,
    ) {
        match &item {
            StreamItem::Gap(_, gap) => self.talk.troubles().lost(gap.len, gap.noticed),
            StreamItem::Conflict(_, stamp) => self.talk.troubles().conflict(*stamp),
            _ => {}
        }
        let talk = &mut self.talk;
        self.http.lend(&mut known.recent);
        self.http.push(item, &mut Listening { talk, known, options, emit });
        self.http.lend(&mut known.recent);
    }

    /// How many exchanges the filters didn't select so far.
    pub(super) const fn left_out(&self) -> u64 {
        self.talk.left_out
    }

    /// What remains of it when all its items were pushed, if there is anything
    /// to say.
    pub(super) fn remains(&mut self) -> Option<Remains> {
        let is_http = self.is_http();
        let Talk { troubles, protocol, .. } = &mut self.talk;
        let troubles = troubles.take().filter(|_| is_http);
        (troubles.is_some() || protocol.is_some()).then_some(Remains { troubles, protocol: *protocol })
    }

    /// What is under way in the response that comes.
    pub(super) fn under_way(&self) -> Option<UnderWay> {
        let mut open = self.talk.exchanges.iter().filter_map(|(_, exchange)| exchange.as_deref());
        open.find_map(Exchange::under_way)
    }

    /// Whether it speaks something else than HTTP/1.
    pub(super) fn is_other(&self) -> bool {
        self.talk.protocol.is_some()
    }

    /// Whether it speaks HTTP/1.
    pub(super) fn is_http(&self) -> bool {
        self.understood() && !self.is_other()
    }

    /// Whether anything of HTTP/1 was understood.
    pub(super) fn understood(&self) -> bool {
        self.talk.understood
    }
}

/// Takes what the HTTP machine tells.
struct Listening<'l> {
    talk: &'l mut Talk,
    known: &'l mut Known,
    options: &'l Options,
    emit: &'l mut dyn Emit,
}

impl HttpSink for Listening<'_> {
    fn event(&mut self, event: HttpEvent<'_>) {
        self.talk.event(event, self.known, self.options, self.emit);
    }

    fn request(&mut self, index: u64, head: &RequestHead, stamp: Option<Stamp>) {
        self.talk.request(index, head, stamp, self.known, self.options, self.emit);
    }

    fn response(&mut self, index: u64, head: &ResponseHead, stamp: Option<Stamp>) {
        self.talk.response(index, head, stamp, self.known, self.options, self.emit);
    }

    fn bodiless(&mut self, index: u64, side: Side, framing: Framing, stamp: Stamp) {
        if side == Side::Request {
            if let Some(exchange) = self.talk.exchange(index, self.options, self.emit) {
                exchange.no_request_body(framing, stamp);
            }
            return;
        }
        for event in BodyEvent::of_none(framing, stamp) {
            self.event(HttpEvent::Body { index, side, event });
        }
    }

    fn whole(&mut self, index: u64, side: Side, chunk: &WholeChunk<'_>) {
        if let Some(exchange) = self.talk.exchange(index, self.options, self.emit) {
            exchange.whole(side, chunk, self.options, self.emit);
        }
    }
}

impl Talk {
    fn new(stream: Option<StreamId>) -> Self {
        Self {
            stream,
            client: None,
            server: None,
            exchanges: SmallVec::new(),
            troubles: None,
            protocol: None,
            understood: false,
            left_out: 0,
        }
    }

    fn troubles(&mut self) -> &mut StreamTroubles {
        self.troubles.get_or_insert_default()
    }

    fn event(&mut self, event: HttpEvent<'_>, known: &mut Known, options: &Options, emit: &mut dyn Emit) {
        match event {
            HttpEvent::Roles { client, server } => (self.client, self.server) = (Some(client), Some(server)),
            HttpEvent::Request { index, head } => {
                self.request(index, &head, head.stamp, known, options, emit);
            }
            HttpEvent::Response { index, head } => {
                self.response(index, &head, head.stamp, known, options, emit);
            }
            // Each kind by itself: events are large, and so needn't be moved.
            HttpEvent::Body { index, side, event: BodyEvent::Begin { framing, joined } } => {
                if let Some(exchange) = self.exchange(index, options, emit) {
                    exchange.begin(side, framing, joined, known, options, emit);
                }
            }
            HttpEvent::Body { index, side, event: BodyEvent::Data(piece) } => {
                if let Some(exchange) = self.exchange(index, options, emit) {
                    exchange.data(side, piece, options, emit);
                }
            }
            HttpEvent::Body { index, side, event: BodyEvent::Missing(gap) } => {
                if let Some(exchange) = self.exchange(index, options, emit) {
                    exchange.missing(side, gap, options, emit);
                }
            }
            HttpEvent::Body { index, side, event: BodyEvent::Chunk(ChunkToken::Whole(whole)) } => {
                if let Some(exchange) = self.exchange(index, options, emit) {
                    exchange.whole(side, &whole, options, emit);
                }
            }
            HttpEvent::Body { index, side, event: BodyEvent::Chunk(token) } => {
                if let Some(exchange) = self.exchange(index, options, emit) {
                    exchange.token(side, token, options, emit);
                }
            }
            HttpEvent::Body { index, side, event: BodyEvent::End { end, stamp, reset, fault } } => {
                if let Some(exchange) = self.exchange(index, options, emit) {
                    exchange.end(side, end, stamp, reset, fault, options, emit);
                }
            }
            HttpEvent::ExchangeEnd { index } => {
                let Some(place) = self.exchanges.iter().position(|(i, _)| *i == index) else { return };
                let (_, Some(exchange)) = self.exchanges.remove(place) else { return };
                let frame = exchange.frame();
                let Some(shortfalls) = exchange.finish(known, emit) else { return };
                if let Some((first, count)) = shortfalls.cut_payloads {
                    self.troubles().cut_payloads(first, count);
                }
                if let Some((first, count)) = shortfalls.secrets {
                    self.troubles().secrets(first, count);
                }
                let Some(frame) = frame else { return };
                if let Some(encoding) = shortfalls.encoding {
                    self.troubles().encoding(encoding, frame);
                }
                if let Some(coding) = shortfalls.unfinished_coding {
                    self.troubles().unfinished_coding(coding, frame);
                }
                if shortfalls.too_much {
                    self.troubles().too_much_decoded(frame);
                }
            }
            HttpEvent::Lenient(rule, stamp) => self.troubles().lenient(rule, stamp),
            HttpEvent::IncompleteHead(_, stamp) => self.troubles().incomplete_head(stamp),
            HttpEvent::Joined(_, skipped, stamp) => {
                self.understood = true;
                self.troubles().join(skipped, stamp);
            }
            HttpEvent::NotHttp(protocol) => self.protocol = Some(protocol),
        }
    }

    fn request(
        &mut self,
        index: u64,
        head: &RequestHead,
        stamp: Option<Stamp>,
        known: &mut Known,
        options: &Options,
        emit: &mut dyn Emit,
    ) {
        self.understood = true;
        let selected = options.filters.selects_target(head.target.as_deref());
        self.left_out += u64::from(!selected);
        if !selected {
            return self.exchanges.push((index, None));
        }
        let mut exchange = self.begin(index, Some((head, stamp)), emit);
        exchange.look_at_request(known, options);
        self.exchanges.push((index, Some(exchange)));
    }

    fn response(
        &mut self,
        index: u64,
        head: &ResponseHead,
        stamp: Option<Stamp>,
        known: &mut Known,
        options: &Options,
        emit: &mut dyn Emit,
    ) {
        self.understood = true;
        if let Some(exchange) = self.exchange(index, options, emit) {
            exchange.response(head, stamp, known, options);
        }
    }

    /// The exchange of that index; one whose request wasn't seen begins here.
    #[inline]
    fn exchange(&mut self, index: u64, options: &Options, emit: &mut dyn Emit) -> Option<&mut Exchange> {
        // Mostly there is one.
        if self.exchanges.last().is_some_and(|(i, _)| *i == index) {
            return self.exchanges.last_mut().and_then(|(_, exchange)| exchange.as_deref_mut());
        }
        self.any_exchange(index, options, emit)
    }

    /// The same of any.
    #[inline(never)]
    fn any_exchange(&mut self, index: u64, options: &Options, emit: &mut dyn Emit) -> Option<&mut Exchange> {
        let place = match self.exchanges.iter().position(|(i, _)| *i == index) {
            Some(place) => place,
            None => {
                let selected = options.filters.selects_target(None);
                self.left_out += u64::from(!selected);
                let exchange = selected.then(|| self.begin(index, None, emit));
                self.exchanges.push((index, exchange));
                self.exchanges.len() - 1
            }
        };
        self.exchanges.get_mut(place).and_then(|(_, exchange)| exchange.as_deref_mut())
    }

    /// An exchange of which no more came than its request, if that.
    fn begin(
        &self,
        index: u64,
        request: Option<(&RequestHead, Option<Stamp>)>,
        emit: &mut dyn Emit,
    ) -> Box<Exchange> {
        let id = ExchangeId { stream: self.stream, index };
        Exchange::begin_anew(emit.spent(), id, self.client, self.server, request)
    }
}
