//! One exchange: its heads and bodies in, findings out.

use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::chunk::{Chunk, ChunkToken, Closing, FramingFault, WholeChunk};
use crate::hints::Evidence;
use crate::http::{BodyEnd, Framing, RequestHead, ResponseHead, Side};
use crate::redact::{self, Readable};
use crate::report::{
    Body, ExchangeEnd, ExchangeHead, ExchangeId, ExchangeVerdict, Expect, JudgedChunk, Tally, UnderWay,
    Violation, ViolationCode,
};
use crate::tcp::{Gap, Piece};
use crate::units::{FrameNo, Stamp};
use crate::verdict::Verdict;
use crate::websocket;

use super::expect::is_websocket;
use super::found::{Emit, Found};
use super::judge::{Judge, Judgement, Task};
use super::known::Known;
use super::message;
use super::options::Options;
use super::problems::Shortfalls;

/// A body while it comes.
#[derive(Debug)]
struct Progress {
    judge: Judge,
    /// The body is over.
    over: bool,
    /// What is secret in it, if that is to be masked.
    redactor: Option<Box<redact::Body>>,
    /// The chunk that was last listed, if the body stopped in it.
    stopped_in: Option<Stopped>,
    /// Reads the messages of a tunnel that is a WebSocket.
    messages: Option<Box<websocket::Decoder>>,
    /// Octets that are needed to find the next message are lost.
    messages_lost: bool,
}

impl Progress {
    #[inline(always)]
    fn new(judge: Judge) -> Self {
        Self { judge, over: false, redactor: None, stopped_in: None, messages: None, messages_lost: false }
    }
}

/// The chunk in which a body stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stopped {
    pub(super) chunk: u64,
    pub(super) received: u64,
    pub(super) size: u64,
}

/// An exchange while it comes.
#[derive(Debug)]
pub(super) struct Exchange {
    /// What is told when it is over, as far as it is known: nothing of it is
    /// moved then. The body of a request that has none is in it at once, since
    /// it takes no progress, and most requests are so.
    end: Box<ExchangeEnd>,
    announced: bool,
    request: Option<Box<Progress>>,
    response: Option<Progress>,
    /// What the response's chunks show of their causes, once there is one of
    /// which something is expected.
    evidence: Option<Evidence>,
    /// Most have none.
    shortfalls: Option<Box<Shortfalls>>,
    /// The response's head of the exchange that this one was written over: mostly
    /// it is the same again.
    spare: Option<ResponseHead>,
}

/// Why a raw response may have no chunk framing at all.
const UNCHUNKED: &str = "; was this recorded with curl's --raw? Without it curl takes the framing away";

impl Exchange {
    /// An exchange between these two of which no more came than this request,
    /// if that. A `spent` one, which was told, is written over: so many that are
    /// short take no more memory than one.
    pub(super) fn begin_anew(
        spent: Option<Box<Self>>,
        id: ExchangeId,
        client: Option<SocketAddr>,
        server: Option<SocketAddr>,
        request: Option<(&RequestHead, Option<Stamp>)>,
    ) -> Box<Self> {
        let unread = || {
            let request = request.map(|(head, stamp)| {
                let mut own = RequestHead::default();
                own.copy(head, stamp);
                own
            });
            ExchangeHead { client, server, request, ..unknown(id) }
        };
        let Some(mut exchange) = spent else { return Box::new(Self::new(unread())) };
        let Self { end, announced, request: coming, response, evidence, shortfalls, spare } = &mut *exchange;
        let ExchangeEnd {
            head,
            request_body,
            response_body,
            verdict,
            tally,
            events,
            violations,
            lints,
            denied,
            hints,
            timing,
        } = &mut **end;
        match Arc::get_mut(head) {
            Some(head) => {
                (head.id, head.client, head.server) = (id, client, server);
                match (&mut head.request, request) {
                    (Some(own), Some((head, stamp))) => own.copy(head, stamp),
                    _ => head.request = unread().request,
                }
                if head.response.is_some() {
                    mem::swap(&mut head.response, spare);
                }
                (head.response, head.framing, head.expect) = (None, None, None);
            }
            // A report has kept it.
            None => *head = Arc::new(unread()),
        }
        (*request_body, *response_body, *verdict) = (None, None, ExchangeVerdict::Unchecked);
        (*tally, *events, *violations, *lints, *denied) = (Tally::default(), 0, 0, 0, 0);
        hints.clear();
        (*timing, *announced, *coming, *response) = (None, false, None, None);
        (*evidence, *shortfalls) = (None, None);
        exchange
    }

    fn new(head: ExchangeHead) -> Self {
        Self {
            end: untold(head),
            announced: false,
            request: None,
            response: None,
            evidence: None,
            shortfalls: None,
            spare: None,
        }
    }

    /// What is told of it when it is over.
    pub(super) const fn ended(&self) -> &ExchangeEnd {
        &self.end
    }

    /// The same, to be told elsewhere: a `spent` one takes its place, which was told.
    pub(super) fn take_end(&mut self, spent: Option<Box<ExchangeEnd>>) -> Box<ExchangeEnd> {
        let spent = spent.unwrap_or_else(|| untold(unknown(self.end.head.id)));
        mem::replace(&mut self.end, spent)
    }

    /// The frame of its response's head, or of its request's.
    pub(super) fn frame(&self) -> Option<FrameNo> {
        let response = self.end.head.response.as_ref().and_then(|head| head.stamp);
        let request = self.end.head.request.as_ref().and_then(|head| head.stamp);
        response.or(request).map(|stamp| stamp.frame)
    }

    /// What is under way in its response, where that has chunks or messages and
    /// isn't over.
    pub(super) fn under_way(&self) -> Option<UnderWay> {
        let progress = self.response.as_ref().filter(|progress| {
            let body = self.end.response_body.as_ref();
            let chunked = body.is_some_and(|body| body.framing == Some(Framing::Chunked));
            (chunked || progress.messages.is_some()) && !progress.over
        })?;
        let (chunk, event) = progress.judge.under_way();
        Some(UnderWay { exchange: self.end.head.id, chunk, event })
    }

    /// Looks for secrets in its request, which it was begun with: where a head is
    /// to stay is where it is looked at.
    #[inline]
    pub(super) fn look_at_request(&mut self, known: &mut Known, options: &Options) {
        if options.redact {
            if let Some(head) = &mut Arc::make_mut(&mut self.end.head).request {
                redact::request(head);
            }
        } else if let Some(head) = &self.end.head.request
            && known.request_shows(head, options)
        {
            let stamp = head.stamp;
            self.shortfalls().secret(stamp);
        }
    }

    /// Its response has this head, but for its stamp.
    pub(super) fn response(
        &mut self,
        head: &ResponseHead,
        stamp: Option<Stamp>,
        known: &mut Known,
        options: &Options,
    ) {
        let place = &mut Arc::make_mut(&mut self.end.head).response;
        *place = self.spare.take();
        let own = place.get_or_insert_default();
        own.copy(head, stamp);
        if options.redact {
            redact::response(own);
        } else if known.response_shows(own, options) {
            self.shortfalls().secret(stamp);
        }
    }

    /// How a body is read for what is secret in it.
    fn readable(&self, side: Side) -> Readable {
        let request = self.end.head.request.as_ref();
        let fields = match side {
            Side::Request => request.and_then(|head| head.fields.as_ref()),
            Side::Response => self.end.head.response.as_ref().and_then(|head| head.fields.as_ref()),
        };
        Readable::of(fields, request.and_then(|head| head.target.as_deref()))
    }

    /// Octets of a body that isn't chunked, or of a tunnel.
    pub(super) fn data(&mut self, side: Side, mut piece: Piece<'_>, options: &Options, emit: &mut dyn Emit) {
        let Some((_, body)) = self.side(side) else { return };
        body.size += piece.bytes.len() as u64;
        while let Some(step) = self.messages(side).and_then(|messages| messages.read(&mut piece)) {
            self.message(side, step, options, emit);
        }
    }

    /// Octets of such a body that the capture lacks.
    pub(super) fn missing(&mut self, side: Side, mut gap: Gap, options: &Options, emit: &mut dyn Emit) {
        while let Some(step) = self.messages(side).and_then(|messages| messages.gap(&mut gap)) {
            self.message(side, step, options, emit);
        }
    }

    /// The reader of a WebSocket's messages.
    fn messages(&mut self, side: Side) -> Option<&mut websocket::Decoder> {
        self.side(side)?.0.messages.as_deref_mut()
    }

    /// Takes what a WebSocket's reader has to tell.
    fn message(&mut self, side: Side, step: websocket::Step<'_>, options: &Options, emit: &mut dyn Emit) {
        match step {
            websocket::Step::Token(token) => self.token(side, token, options, emit),
            websocket::Step::Lost => {
                if let Some((progress, _)) = self.side(side) {
                    progress.messages_lost = true;
                }
            }
            websocket::Step::Broken(fault) => {
                // Of a tunnel of which nothing is expected it is nobody's affair.
                if side == Side::Response && matches!(self.end.head.expect, Some(Expect::Kind(_))) {
                    let (code, frame) = (ViolationCode::BadFraming, Some(fault.stamp.frame));
                    self.violation(side, code, fault.chunk, frame, fault.message, emit);
                }
            }
        }
    }

    /// Nothing more comes: the exchange's verdict.
    pub(super) fn finish(
        mut self: Box<Self>,
        known: &mut Known,
        emit: &mut dyn Emit,
    ) -> Option<Box<Shortfalls>> {
        self.announce(emit);
        let end = &mut self.end;
        let lost = end.response_body.as_ref().is_some_and(|body| body.end == BodyEnd::Lost)
            || self.response.as_ref().is_some_and(|progress| progress.messages_lost);
        let checkable = matches!(end.head.expect, Some(Expect::Kind(_)));
        end.verdict = if end.violations > 0 {
            ExchangeVerdict::Fail
        } else if end.tally.unverified > 0 || (lost && checkable) {
            ExchangeVerdict::Unverified
        } else if end.tally.checked() > 0 {
            ExchangeVerdict::Pass
        } else {
            ExchangeVerdict::Unchecked
        };
        if let Some(evidence) = &mut self.evidence {
            (end.hints, end.timing) = evidence.finish();
        }
        if let Some(spent) = self.response.as_mut().and_then(|progress| progress.judge.spent()) {
            known.framer = Some(spent);
        }
        // Of no use any more, and large.
        (self.request, self.response) = (None, None);
        let shortfalls = self.shortfalls.take();
        emit.ended(self);
        shortfalls
    }

    fn shortfalls(&mut self) -> &mut Shortfalls {
        self.shortfalls.get_or_insert_default()
    }

    /// A body while it comes.
    fn side(&mut self, side: Side) -> Option<(&mut Progress, &mut Body)> {
        match side {
            Side::Request => Some((self.request.as_deref_mut()?, self.end.request_body.as_mut()?)),
            Side::Response => Some((self.response.as_mut()?, self.end.response_body.as_mut()?)),
        }
    }

    /// The request has no body, as the packet that ended its head says.
    pub(super) fn no_request_body(&mut self, framing: Framing, stamp: Stamp) {
        let none = Body::begun(Some(framing), None);
        self.end.request_body = Some(Body { end: BodyEnd::Complete, end_stamp: Some(stamp), ..none });
    }

    /// A body begins, as [`BodyEvent::Begin`](crate::http::BodyEvent::Begin) says.
    pub(super) fn begin(
        &mut self,
        side: Side,
        framing: Option<Framing>,
        joined: Option<u64>,
        known: &mut Known,
        options: &Options,
        emit: &mut dyn Emit,
    ) {
        let place = match side {
            Side::Request => &mut self.end.request_body,
            Side::Response => &mut self.end.response_body,
        };
        *place = Some(Body::begun(framing, joined));
        let (task, codings) = match side {
            Side::Request => (Task::Pass(None), Vec::new()),
            Side::Response => {
                let head = Arc::make_mut(&mut self.end.head);
                head.framing = framing;
                let unseen = ResponseHead::default();
                let resolved = known.resolve(
                    options.expectation,
                    head.request.as_ref(),
                    head.response.as_ref().unwrap_or(&unseen),
                    framing,
                    joined.is_some(),
                );
                head.expect = resolved.expect;
                let has_units = matches!(framing, Some(Framing::Chunked | Framing::Tunnel));
                if let Some(encoding) = resolved.unsupported.filter(|_| has_units) {
                    self.shortfalls().encoding = Some(encoding);
                }
                (resolved.task, resolved.codings)
            }
        };
        let settled = !matches!(task, Task::Guess { .. });
        let redacted = options.redact.then(|| self.readable(side));
        let websocket =
            framing == Some(Framing::Tunnel) && self.end.head.response.as_ref().is_some_and(is_websocket);
        let new = || Progress::new(Judge::new(self.end.head.id, side, task, options));
        let progress = match side {
            Side::Request => &mut **self.request.insert(Box::new(new())),
            Side::Response => {
                let progress = self.response.insert(new());
                progress.judge.take_over(&mut known.framer);
                progress
            }
        };
        if let Some(readable) = redacted {
            progress.judge.redact(readable);
            let redactor = progress.redactor.insert(Box::new(redact::Body::new(readable)));
            if joined.is_some() {
                redactor.lost(0);
            }
        }
        if websocket {
            let keep = options.keep_payload.min(options.limits.payload);
            progress.judge.read_messages();
            progress.messages = Some(Box::new(websocket::Decoder::new(keep)));
        }
        if !codings.is_empty() {
            progress.judge.decode(&codings, options);
        }
        if side == Side::Response && settled {
            self.announce(emit);
        }
    }

    /// Tells of the exchange, once, when it is settled what it is.
    fn announce(&mut self, emit: &mut dyn Emit) {
        if !self.announced {
            self.announced = true;
            emit.began(&self.end.head);
        }
    }

    /// Takes a chunk that came at once.
    pub(super) fn whole(
        &mut self,
        side: Side,
        whole: &WholeChunk<'_>,
        options: &Options,
        emit: &mut dyn Emit,
    ) {
        let Some((progress, body)) = self.side(side) else { return };
        if let Some(redactor) = &mut progress.redactor {
            redactor.token(&ChunkToken::Whole(*whole), options.keep_payload);
        }
        body.chunks += 1;
        body.size += whole.size();
        progress.stopped_in = None;
        let Some(mut judged) = progress.judge.whole(whole, || emit.spare()) else {
            if progress.judge.has_found() {
                self.take_judgements(side, options, emit);
            }
            return;
        };
        if let Some(redactor) = &mut progress.redactor {
            redactor.chunk(&mut judged);
        }
        self.end.events += 1;
        self.count(&judged, options);
        emit.one(judged);
    }

    /// Takes the next token of a body with chunks.
    pub(super) fn token(
        &mut self,
        side: Side,
        token: ChunkToken<'_>,
        options: &Options,
        emit: &mut dyn Emit,
    ) {
        let Some((progress, body)) = self.side(side) else { return };
        if let Some(redactor) = &mut progress.redactor {
            redactor.token(&token, options.keep_payload);
        }
        match &token {
            ChunkToken::End(chunk) => {
                body.chunks += 1;
                if chunk.message.is_none() {
                    body.size += chunk.received;
                }
                progress.stopped_in = stopped_in(chunk);
            }
            ChunkToken::Begin { .. } | ChunkToken::Whole(_) => progress.stopped_in = None,
            ChunkToken::Payload { .. } | ChunkToken::Missing { .. } | ChunkToken::Last(_) => {}
        }
        // It holds nothing to judge.
        if let ChunkToken::Last(mut last) = token {
            if options.redact {
                redact::size_line(&mut last.size_line);
                redact::fields(&mut last.trailers);
            }
            body.last_chunk = Some(last);
            return;
        }
        progress.judge.push(token);
        if progress.judge.has_found() {
            self.take_judgements(side, options, emit);
        }
    }

    fn take_judgements(&mut self, side: Side, options: &Options, emit: &mut dyn Emit) {
        while let Some(judgement) = self.side(side).and_then(|(progress, _)| progress.judge.poll()) {
            match judgement {
                Judgement::Settled(watch) => {
                    if let Some(kind) = watch {
                        Arc::make_mut(&mut self.end.head).expect = Some(Expect::Kind(kind));
                    }
                    self.announce(emit);
                }
                Judgement::Event(event) => {
                    self.end.events += 1;
                    emit.emit(Found::Event(self.end.head.id, event));
                }
                Judgement::Chunk(mut judged) => {
                    if let Some(redactor) =
                        self.side(side).and_then(|(progress, _)| progress.redactor.as_mut())
                    {
                        redactor.chunk(&mut judged);
                    }
                    self.judged(judged, options, emit);
                }
            }
        }
    }

    fn judged(&mut self, judged: Box<JudgedChunk>, options: &Options, emit: &mut dyn Emit) {
        self.count(&judged, options);
        let chunk = &judged.chunk;
        let fails = options.allow.fails(&judged.verdict);
        let violation = ViolationCode::of(&judged.verdict).filter(|_| fails).map(|code| {
            (code, judged.side, chunk.index, chunk.last.frame, message::chunk(&judged, self.end.head.expect))
        });
        emit.emit(Found::Chunk(judged));
        if let Some((code, side, chunk, frame, message)) = violation {
            self.violation(side, code, Some(chunk), Some(frame), message, emit);
        }
    }

    /// Counts a judged chunk in.
    #[inline(always)]
    fn count(&mut self, judged: &JudgedChunk, options: &Options) {
        let chunk = &judged.chunk;
        if options.keep_payload >= options.limits.payload && chunk.received > chunk.payload.len() as u64 {
            let cut = self.shortfalls().cut_payloads.get_or_insert((chunk.last.frame, 0));
            cut.1 += 1;
        }
        if options.shows.payload > 0 && redact::payload_shows(&chunk.payload, options.shows.payload) {
            self.shortfalls().secret(Some(chunk.first));
        }
        if judged.side == Side::Response {
            *self.end.tally.of(&judged.verdict) += 1;
            if options.explain && matches!(self.end.head.expect, Some(Expect::Kind(_))) {
                let head = &self.end.head;
                self.evidence.get_or_insert_with(|| Evidence::new(head)).chunk(judged, head);
            }
        }
    }

    fn violation(
        &mut self,
        side: Side,
        code: ViolationCode,
        chunk: Option<u64>,
        frame: Option<FrameNo>,
        message: String,
        emit: &mut dyn Emit,
    ) {
        self.end.violations += 1;
        let frame = frame.filter(|_| self.end.head.id.stream.is_some());
        let violation = Violation { exchange: self.end.head.id, side, code, chunk, frame, message };
        emit.emit(Found::Violation(Box::new(violation)));
    }

    /// A body ends, as [`BodyEvent::End`](crate::http::BodyEvent::End) says.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn end(
        &mut self,
        side: Side,
        end: BodyEnd,
        stamp: Option<Stamp>,
        reset: bool,
        fault: Option<FramingFault>,
        options: &Options,
        emit: &mut dyn Emit,
    ) {
        let (request, response) = (&mut self.end.request_body, &mut self.end.response_body);
        let body = if side == Side::Request { request } else { response };
        if let Some(body) = body {
            (body.end, body.end_stamp, body.reset) = (end, stamp, reset);
        }
        if let Some(token) = self.messages(side).and_then(websocket::Decoder::finish) {
            self.token(side, token, options, emit);
        }
        let Some((progress, body)) = self.side(side) else { return };
        progress.over = true;
        progress.judge.finish(end);
        let chunked = body.framing == Some(Framing::Chunked);
        let (unfinished, too_much) =
            (progress.judge.unfinished_coding(), progress.judge.decodes_to_too_much());
        let stopped_in = progress.stopped_in;
        let chunkless = body.chunks == 0;
        self.take_judgements(side, options, emit);
        if let Some(coding) = unfinished.filter(|_| end == BodyEnd::Complete) {
            self.shortfalls().unfinished_coding = Some(coding);
        }
        if too_much {
            self.shortfalls().too_much = true;
        }
        if let Some(mut fault) = fault {
            if options.redact {
                redact::quoted(&mut fault.message);
            }
            // curl says that the body is chunked also where it took the chunks apart.
            if self.end.head.id.stream.is_none() && chunkless && fault.chunk.is_none() {
                fault.message.push_str(UNCHUNKED);
            }
            self.violation(
                side,
                ViolationCode::BadFraming,
                fault.chunk,
                Some(fault.stamp.frame),
                fault.message,
                emit,
            );
        } else if chunked && end == BodyEnd::Truncated {
            let message = message::truncated(side, reset, stopped_in);
            let chunk = stopped_in.map(|stopped| stopped.chunk);
            self.violation(side, ViolationCode::TruncatedBody, chunk, stamp.map(|s| s.frame), message, emit);
        }
    }
}

/// A chunk that isn't over: the body stopped in its payload or before its CRLF.
fn stopped_in(chunk: &Chunk) -> Option<Stopped> {
    (chunk.unfinished || chunk.closing == Closing::None).then_some(Stopped {
        chunk: chunk.index,
        received: chunk.received,
        size: chunk.size,
    })
}

/// The head of an exchange of which nothing is known.
const fn unknown(id: ExchangeId) -> ExchangeHead {
    ExchangeHead {
        id,
        client: None,
        server: None,
        request: None,
        response: None,
        framing: None,
        expect: None,
    }
}

/// What is told at the end of an exchange of which nothing more than its head is
/// known.
fn untold(head: ExchangeHead) -> Box<ExchangeEnd> {
    Box::new(ExchangeEnd {
        head: Arc::new(head),
        request_body: None,
        response_body: None,
        verdict: ExchangeVerdict::Unchecked,
        tally: Tally::default(),
        events: 0,
        violations: 0,
        lints: 0,
        denied: 0,
        hints: Vec::new(),
        timing: None,
    })
}

impl ViolationCode {
    /// The violation that a verdict is, if it fails the check.
    const fn of(verdict: &Verdict) -> Option<Self> {
        match verdict {
            Verdict::Several => Some(Self::SeveralEvents),
            Verdict::Part => Some(Self::PartialEvent),
            Verdict::Mixed => Some(Self::MixedEvents),
            Verdict::Invalid(_) => Some(Self::NotAnEvent),
            Verdict::One | Verdict::Unverified(_) | Verdict::Unchecked(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;
    use crate::hints::{Cause, Hint};
    use crate::http::Model;
    use crate::units::StreamId;

    fn begin(spent: Option<Box<Exchange>>) -> Box<Exchange> {
        let id = ExchangeId { stream: Some(StreamId(7)), index: 3 };
        let request = RequestHead { target: Some("/b".into()), ..RequestHead::default() };
        let (client, server) = ("10.0.0.1:40000".parse().ok(), "10.0.0.2:80".parse().ok());
        Exchange::begin_anew(spent, id, client, server, Some((&request, None)))
    }

    fn used() -> Box<Exchange> {
        let id = ExchangeId { stream: None, index: 9 };
        let mut exchange = Exchange::begin_anew(None, id, None, None, None);
        let head = Arc::make_mut(&mut exchange.end.head);
        head.response = Some(ResponseHead { status: Some(200), ..ResponseHead::default() });
        head.framing = Some(Framing::Chunked);
        head.expect = Some(Expect::Any);
        let judge = Judge::new(
            id,
            Side::Response,
            Task::Check { kind: Kind::Watch, joined: true },
            &Options::default(),
        );
        exchange.response = Some(Progress::new(judge));
        let judge = Judge::new(id, Side::Request, Task::Pass(None), &Options::default());
        exchange.request = Some(Box::new(Progress::new(judge)));
        exchange.evidence = Some(Evidence::new(&exchange.end.head));
        exchange.shortfalls().too_much = true;
        exchange.announced = true;
        exchange.no_request_body(Framing::None, Stamp::untimed(1));
        let end = &mut exchange.end;
        end.response_body = Some(Body { chunks: 5, ..Body::begun(None, Some(2)) });
        end.verdict = ExchangeVerdict::Fail;
        end.tally = Tally { one: 1, several: 2, part: 3, mixed: 4, invalid: 5, unverified: 6, unchecked: 7 };
        (end.events, end.violations, end.lints, end.denied) = (1, 2, 3, 4);
        end.hints.push(Hint { cause: Cause::Burst, chunks: vec![1], count: 1, message: "m".to_owned() });
        exchange
    }

    /// Nothing of what was told remains, also where a report has kept the heads.
    #[test]
    fn an_exchange_written_over_another_is_as_a_new_one() {
        let begun = |spent| {
            let mut exchange = begin(spent);
            // Of no weight before there is a response.
            exchange.spare = None;
            format!("{exchange:?}")
        };
        let new = begun(None);
        assert_eq!(begun(Some(used())), new);
        let mut free = used();
        free.evidence = None;
        assert_eq!(begun(Some(free)), new);
        let kept = used();
        let head = Arc::clone(&kept.end.head);
        assert_eq!(begun(Some(kept)), new);
        assert_eq!(head.id.index, 9);
        let mut elsewhere = used();
        let (told, spent) = (elsewhere.take_end(None), used().end);
        assert_eq!(begun(Some(elsewhere)), new);
        let mut elsewhere = used();
        assert_eq!(format!("{:?}", elsewhere.take_end(Some(spent))), format!("{told:?}"));
        assert_eq!(begun(Some(elsewhere)), new);
    }

    /// Whichever heads those had that exchanges are written over, and whether they
    /// are told to be the same or not.
    #[test]
    fn heads_written_over_others_are_as_new_ones() {
        let request = |target: &str, model| RequestHead {
            target: Some(target.into()),
            model,
            ..RequestHead::default()
        };
        let response =
            |status, model| ResponseHead { status: Some(status), model, ..ResponseHead::default() };
        let requests =
            [request("/a", Model::new()), request("/b", Model::new()), request("/c", Model::default())];
        let responses =
            [response(200, Model::new()), response(404, Model::new()), response(500, Model::default())];
        let (mut known, options, mut spent) = (Known::default(), Options::default(), None);
        for (frame, choice) in (1..).zip([0, 0, 4, 4, 0, 8, 8, 1, 3, 0, 2, 6, 5, 7, 0]) {
            let (request, response) = (&requests[choice / 3], &responses[choice % 3]);
            let (stamp, id) = (Some(Stamp::untimed(frame)), ExchangeId { stream: None, index: frame });
            let mut exchange = Exchange::begin_anew(spent, id, None, None, Some((request, stamp)));
            // Not each has a response.
            if frame % 4 != 0 {
                exchange.response(response, stamp, &mut known, &options);
            }
            let head = &exchange.end.head;
            assert_eq!(head.request, Some(RequestHead { stamp, ..request.clone() }), "{frame}");
            let response = (frame % 4 != 0).then(|| ResponseHead { stamp, ..response.clone() });
            assert_eq!(head.response, response, "{frame}");
            spent = Some(exchange);
        }
    }
}
