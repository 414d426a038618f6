//! One chunked body: chunk tokens in, events and judged chunks out.
//!
//! The framing gives chunk edges, the [`Framer`] gives event edges without
//! knowing of chunks, and [`Overlap`] joins them. What is left to decide here
//! is *when*: a chunk waits until it is known what becomes of the item that
//! was open at its end, for only whole events have a number. And *whether*:
//! after octets that the capture lacks, and after a join in the middle, nobody
//! can know how the first event began, so chunks are unverified until one
//! begins an event.
//!
//! It is one machine, in one file: each token may change all that it knows. Only
//! the queue of chunks that wait has one of its own.

use std::collections::VecDeque;
use std::mem;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use smallvec::smallvec;

use crate::chunk::{Chunk, ChunkToken, WholeChunk};
use crate::coding::Coding;
use crate::event::{EventItem, Framer, Kind, MaybeSummary, OpenItem};
use crate::http::{BodyEnd, Side};
use crate::redact::{self, Readable};
use crate::report::{ChunkUnderWay, Event, EventUnderWay, ExchangeId, JudgedChunk};
use crate::verdict::{Fault, Overlap, Verdict};

use super::coded::{Coded, Stop};
use super::options::Options;
use super::waiting::{Queue, Tail};

/// What a judge is to do with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    /// Nothing is expected of the chunks, for the reason given.
    Pass(Option<String>),
    /// Each chunk holds one event of the kind. `joined` bodies begin anywhere.
    Check {
        /// The kind.
        kind: Kind,
        /// Whether the body was joined in the middle.
        joined: bool,
    },
    /// A watch is expected if the body turns out to hold one: if its first
    /// octets do, or, where it was joined, the first chunk that begins with `{`.
    Guess {
        /// The watch's encoding.
        kind: Kind,
        /// Whether the body was joined in the middle.
        joined: bool,
    },
}

/// What a judge found.
#[derive(Debug)]
pub(super) enum Judgement {
    /// It is settled whether a guessed body is a watch, and of which kind.
    Settled(Option<Kind>),
    /// An event is whole.
    Event(Arc<Event>),
    /// A chunk's verdict is known.
    Chunk(Box<JudgedChunk>),
}

/// How the events of the body are read at the moment.
#[derive(Debug)]
enum Mode {
    /// Not at all.
    Off(Option<String>),
    /// From item to item.
    InStep,
    /// A chunk is looked for that begins an event; until then the reason
    /// makes chunks unverified.
    Searching(&'static str),
    /// As `Searching`, to find out whether the body is a watch.
    Guessing {
        /// Whether chunks before the first event's are unverified.
        joined: bool,
    },
}

const AFTER_JOIN: &str =
    "the stream was joined in the middle: nobody can know how the event that this chunk goes on with began";
const AFTER_LOSS: &str =
    "the capture lost octets before: nobody can know how the event that this chunk goes on with began";

const UNDECIDED: &str =
    "the capture lost octets behind: nobody can know whether what this chunk ends with is whole";

/// Joins the chunks and the events of one body.
#[derive(Debug)]
pub(super) struct Judge {
    exchange: ExchangeId,
    side: Side,
    mode: Mode,
    kind: Kind,
    /// Made with the first chunk: most bodies have none, or nothing is
    /// expected of them.
    framer: Option<Framer>,
    /// The body's codings, if it has any: events are then read in what its
    /// octets decode to.
    coded: Option<Box<Coded>>,
    /// Chunks are messages, whose size shows only with their last frame.
    grows: bool,
    /// Nothing of the current chunk is read any more.
    skipping: bool,
    /// Payload octets of the current chunk.
    size: u64,
    /// Of these, how many came.
    received: u64,
    /// Behind the last octet that was read, in the decoded body.
    at: u64,
    /// In order; the last may still be receiving octets.
    waiting: Queue,
    /// The number for the next event.
    next_event: u64,
    /// The number given in advance to the open event, and the chunk it began in.
    reserved: Option<(u64, u64)>,
    check_utf8: bool,
    summaries: bool,
    /// The octets behind the last that were lost.
    tail: Tail,
    /// How texts of events are masked, if they are.
    redact: Option<Readable>,
    found: VecDeque<Judgement>,
}

impl Judge {
    pub(super) fn new(exchange: ExchangeId, side: Side, task: Task, options: &Options) -> Self {
        let (mode, kind) = match task {
            Task::Pass(reason) => (Mode::Off(reason), Kind::Json),
            Task::Check { kind, joined: true } => (Mode::Searching(AFTER_JOIN), kind),
            Task::Check { kind, joined: false } => (Mode::InStep, kind),
            Task::Guess { kind, joined } => (Mode::Guessing { joined }, kind),
        };
        Self {
            exchange,
            side,
            mode,
            kind,
            framer: None,
            coded: None,
            grows: false,
            skipping: false,
            size: 0,
            received: 0,
            at: 0,
            waiting: Queue::new(&options.limits),
            next_event: 1,
            reserved: None,
            check_utf8: options.check_utf8,
            summaries: options.summaries,
            tail: Tail::default(),
            redact: None,
            found: VecDeque::new(),
        }
    }

    /// Reads with the framer of a judge that is done, if that reads the same.
    pub(super) fn take_over(&mut self, spent: &mut Option<Framer>) {
        self.framer = spent.take_if(|framer| framer.begin_anew(self.kind));
    }

    /// It is done, and needs its framer no more.
    pub(super) fn spent(&mut self) -> Option<Framer> {
        self.framer.take()
    }

    /// The chunks are WebSocket messages.
    pub(super) fn read_messages(&mut self) {
        self.grows = true;
    }

    /// The body has codings, in the order in which they were applied. It
    /// wasn't joined: nobody can decode from the middle on.
    pub(super) fn decode(&mut self, codings: &[Coding], options: &Options) {
        self.coded = Some(Box::new(Coded::new(codings, options)));
    }

    /// The coding whose stream the body ended in, where it was complete all the
    /// same.
    pub(super) fn unfinished_coding(&self) -> Option<Coding> {
        self.decoding()?.unfinished()
    }

    /// Whether what came was not decoded to its end, since it is too much.
    pub(super) fn decodes_to_too_much(&self) -> bool {
        self.decoding().is_some_and(Coded::is_too_much)
    }

    /// The codings, if what the body decodes to is looked at to its end.
    fn decoding(&self) -> Option<&Coded> {
        self.coded.as_deref().filter(|_| !matches!(self.mode, Mode::Off(_)))
    }

    /// Masks what is secret in texts of events from here on.
    pub(super) fn redact(&mut self, readable: Readable) {
        self.redact = Some(Readable { text: true, coded: false, strict: false, ..readable });
    }

    /// Whether anything was found and not taken yet.
    pub(super) fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

    /// What was found and not taken yet, in order.
    pub(super) fn poll(&mut self) -> Option<Judgement> {
        self.found.pop_front()
    }

    /// Takes the next token of the body; the last chunk says nothing here.
    pub(super) fn push(&mut self, token: ChunkToken<'_>) {
        match token {
            ChunkToken::Begin { index, offset, size } => self.begin(index, offset, size),
            ChunkToken::Payload { offset, piece } => self.payload(offset, &piece.bytes),
            ChunkToken::Missing { .. } => self.missing(),
            ChunkToken::End(chunk) => self.end(chunk),
            ChunkToken::Whole(whole) => {
                self.begin(whole.index, whole.offset, whole.size());
                self.payload(whole.offset, whole.payload);
                self.end(whole.record());
            }
            ChunkToken::Last(_) => {}
        }
    }

    /// Takes a chunk that came at once. Where it holds one event and nothing
    /// else, as each should, all is known of it without any waiting, and it is
    /// given back, judged; `spare` may give a record to write it in. Otherwise
    /// this is the same as [`Self::push`].
    #[inline]
    pub(super) fn whole(
        &mut self,
        whole: &WholeChunk<'_>,
        spare: impl FnOnce() -> Option<Box<JudgedChunk>>,
    ) -> Option<Box<JudgedChunk>> {
        let in_step = matches!(self.mode, Mode::InStep) && !self.skipping;
        let plain = self.coded.is_none() && !self.grows && self.reserved.is_none();
        if !(in_step && plain && self.waiting.is_empty() && self.found.is_empty()) {
            self.push(ChunkToken::Whole(*whole));
            return None;
        }
        let framer = framer(&mut self.framer, self.kind, self.summaries);
        if framer.open().is_some() {
            self.push(ChunkToken::Whole(*whole));
            return None;
        }
        let mut spare = spare();
        if self.summaries
            && let Some([event]) = spare.as_mut().map(|judged| judged.events.as_mut_slice())
            && let Some(event) = Arc::get_mut(event)
        {
            framer.reuse(mem::take(&mut event.summary));
        }
        let (mut rest, mut offset) = (whole.payload, whole.offset);
        match framer.read(&mut rest, &mut offset) {
            Some(EventItem::Event { span, summary }) if self.kind.ends_with(rest) => {
                self.at = whole.offset.saturating_add(whole.size());
                Some(self.one(whole, &span, summary, spare))
            }
            item => {
                self.begin(whole.index, whole.offset, whole.size());
                // What was read of it counts as read, its first item as found.
                let read = whole.payload.len() - rest.len();
                self.arrived(whole.payload.get(..read).unwrap_or_default());
                if let Some(item) = item {
                    self.item(item);
                }
                self.payload(offset, rest);
                self.end(whole.record());
                None
            }
        }
    }

    /// The record of a chunk that holds one event and nothing else, written over
    /// another such record if there is one.
    #[inline]
    fn one(
        &mut self,
        whole: &WholeChunk<'_>,
        span: &Range<u64>,
        mut summary: MaybeSummary,
        spare: Option<Box<JudgedChunk>>,
    ) -> Box<JudgedChunk> {
        if let Some(readable) = self.redact {
            redact::summary(&mut summary, readable);
        }
        let (index, number) = (whole.index, self.next_event);
        self.next_event += 1;
        let (offset, size) = (span.start, span.end - span.start);
        let found = Event { index: number, offset, size, first_chunk: index, last_chunk: index, summary };
        // A JSON text was seen to be UTF-8 when it was read.
        let is_utf8 = || self.kind.is_json() || std::str::from_utf8(whole.payload).is_ok();
        let known_utf8 = self.check_utf8.then(is_utf8);
        let Some(mut judged) = spare else {
            return Box::new(JudgedChunk {
                exchange: self.exchange,
                side: self.side,
                chunk: whole.record(),
                decoded: None,
                utf8: known_utf8,
                verdict: Verdict::One,
                events: smallvec![Arc::new(found)],
                overlap: Overlap::ONE,
                unresolved_event: None,
            });
        };
        let JudgedChunk { exchange, side, chunk, decoded, utf8, verdict, events, overlap, unresolved_event } =
            &mut *judged;
        whole.record_over(chunk);
        match events.as_mut_slice() {
            // A report may have kept it.
            [event] => match Arc::get_mut(event) {
                Some(event) => *event = found,
                None => *event = Arc::new(found),
            },
            _ => *events = smallvec![Arc::new(found)],
        }
        (*exchange, *side, *utf8) = (self.exchange, self.side, known_utf8);
        (*decoded, *verdict, *overlap, *unresolved_event) = (None, Verdict::One, Overlap::ONE, None);
        judged
    }

    /// The body is over.
    pub(super) fn finish(&mut self, end: BodyEnd) {
        if end == BodyEnd::Complete
            && !self.skipping
            && !matches!(self.mode, Mode::Off(_))
            && let Some(item) = self.framer.as_mut().and_then(Framer::finish)
        {
            self.item(item);
        }
        self.recognise();
        self.drop_open_item(end == BodyEnd::Lost);
        if let Mode::Guessing { .. } = self.mode {
            self.is_no_watch();
        }
        self.release(true);
    }

    /// What has begun and isn't whole: the chunk, the event.
    pub(super) fn under_way(&self) -> (Option<ChunkUnderWay>, Option<EventUnderWay>) {
        let chunk = self
            .waiting
            .back()
            .filter(|waiting| waiting.chunk.is_none())
            .map(|waiting| ChunkUnderWay { index: waiting.index, received: self.received, size: self.size });
        let reads = matches!(self.mode, Mode::InStep) && !self.skipping;
        let open = self.open().filter(|open| reads && !open.filler_only && !open.undecided);
        let event = open.map(|open| EventUnderWay {
            first_chunk: match self.reserved {
                Some((_, first_chunk)) => first_chunk,
                None => self.waiting.holder(open.start).unwrap_or(1),
            },
            received: self.at.saturating_sub(open.start),
        });
        (chunk, event)
    }

    fn begin(&mut self, index: u64, mut offset: u64, size: u64) {
        self.received = 0;
        self.size = size;
        let mut range = offset..offset.saturating_add(size);
        let mut lost = None;
        if let Some(coded) = &self.coded {
            offset = coded.decoded();
            range = offset..offset;
            lost = coded.unknown();
        }
        let unknown = match self.mode {
            Mode::Searching(reason) => Some(reason),
            Mode::Guessing { joined: true } => Some(AFTER_JOIN),
            _ => lost,
        };
        self.waiting.push(index, range, unknown);
        let searching = match self.mode {
            Mode::Off(_) => return,
            Mode::InStep => false,
            Mode::Searching(_) | Mode::Guessing { .. } => true,
        };
        let framer = framer(&mut self.framer, self.kind, self.summaries);
        if self.skipping
            || framer.is_faulted()
            || (searching && (framer.open().is_none() || framer.is_hopeless()))
        {
            if matches!(self.mode, Mode::Searching(_)) && !self.tail.ends_block(self.kind) {
                framer.resume_amid(offset);
            } else {
                framer.resume(offset);
            }
            self.skipping = false;
        }
    }

    /// Counts payload octets of the chunk at hand.
    fn arrived(&mut self, octets: &[u8]) {
        self.received += octets.len() as u64;
        if self.check_utf8
            && let Some(waiting) = self.waiting.back_mut()
        {
            waiting.utf8.push(octets);
        }
    }

    fn payload(&mut self, offset: u64, octets: &[u8]) {
        self.arrived(octets);
        if self.grows
            && let Some(waiting) = self.waiting.back_mut()
        {
            let end = offset.saturating_add(octets.len() as u64);
            waiting.range.end = waiting.range.end.max(end);
        }
        if self.coded.is_some() && !matches!(self.mode, Mode::Off(_)) {
            self.coded_payload(octets);
        } else {
            self.read(offset, octets);
        }
        self.at = match &self.coded {
            Some(coded) => coded.decoded(),
            None => offset.saturating_add(octets.len() as u64),
        };
    }

    /// Reads octets of a body with codings.
    fn coded_payload(&mut self, octets: &[u8]) {
        // Out of the way while it gives what it decodes.
        let Some(mut coded) = self.coded.take() else { return };
        let stop = coded.read(octets, &mut |offset, octets, keep| {
            if let Some(waiting) = self.waiting.back_mut() {
                waiting.range.end = offset.saturating_add(octets.len() as u64);
                let decoded = waiting.decoded.get_or_insert_default();
                let room = keep.saturating_sub(decoded.octets.len());
                decoded.octets.extend_from_slice(octets.get(..room).unwrap_or(octets));
            }
            self.read(offset, octets);
        });
        if let Some(stop) = stop {
            self.stop(stop, coded.decoded());
        }
        self.coded = Some(coded);
    }

    /// Nothing more of a body with codings can be decoded, from the chunk at
    /// hand on; `decoded` octets came out.
    fn stop(&mut self, stop: Stop, decoded: u64) {
        if matches!(self.mode, Mode::Off(_)) {
            return;
        }
        let lost = !matches!(stop, Stop::Corrupt(_));
        self.drop_open_item(lost);
        self.skipping = true;
        let Some(waiting) = self.waiting.back_mut() else { return };
        match stop {
            Stop::Corrupt(message) => {
                waiting.fault.get_or_insert(Fault { at: decoded, message });
            }
            Stop::Lost | Stop::TooMuch => waiting.unknown = stop.unknown(),
        }
    }

    /// Reads octets of the body as its sender wrote them.
    fn read(&mut self, mut offset: u64, mut octets: &[u8]) {
        if matches!(self.mode, Mode::Off(_)) {
            return;
        }
        if !matches!(self.mode, Mode::InStep) {
            self.tail.push(octets);
        }
        if self.skipping {
            return;
        }
        if !matches!(self.mode, Mode::InStep) && self.open().is_none() && !self.may_begin(octets) {
            return;
        }
        while let Some(item) = self.framer.as_mut().and_then(|framer| framer.read(&mut octets, &mut offset)) {
            self.item(item);
            // Mostly an event ends the chunk, but for what says nothing.
            if self.skipping || matches!(self.mode, Mode::Off(_)) || self.kind.ends_with(octets) {
                return;
            }
        }
    }

    /// The chunk ends, or its octets do: whether what it leaves open shows an
    /// event so far. Where pieces end shall not matter, so only here.
    fn recognise(&mut self) {
        if !self.skipping
            && matches!(self.mode, Mode::Searching(_) | Mode::Guessing { .. })
            && let Some(open) = self.open().filter(|open| open.recognised)
        {
            self.in_step(open.start);
        }
    }

    /// The item that has begun and isn't whole.
    fn open(&self) -> Option<OpenItem> {
        self.framer.as_ref().and_then(Framer::open)
    }

    /// Whether a chunk that goes on with `octets`, none of its items read yet,
    /// can begin an event, as far as its first octet tells.
    fn may_begin(&mut self, octets: &[u8]) -> bool {
        let first = match self.kind {
            Kind::WatchProtobuf | Kind::WatchCbor => octets.first(),
            _ => octets.iter().find(|octet| !octet.is_ascii_whitespace()),
        };
        let Some(first) = first else { return true };
        let begins = match self.kind {
            // The first octet of a length that is believed.
            Kind::WatchProtobuf => *first <= 1,
            // A map, or the tag of CBOR.
            Kind::WatchCbor => matches!(first, 0xa0..=0xbf | 0xd9),
            Kind::Watch => *first == b'{',
            Kind::Json | Kind::Ndjson => matches!(first, b'{' | b'['),
            Kind::Sse => true,
        };
        if !begins {
            self.skipping = true;
            if let Mode::Guessing { joined: false } = self.mode {
                self.is_no_watch();
            }
        }
        begins
    }

    fn item(&mut self, item: EventItem) {
        match item {
            EventItem::Event { span, summary } => {
                if !matches!(self.mode, Mode::InStep) {
                    self.in_step(span.start);
                }
                self.event(&span, summary);
            }
            EventItem::Invalid { span, at, message, well_formed } => match self.mode {
                Mode::Off(_) => {}
                Mode::Searching(_) => self.skipping = true,
                Mode::Guessing { .. } => self.is_no_watch(),
                Mode::InStep => {
                    self.reserved = None;
                    self.invalid(&span, at, message);
                    self.skipping = !well_formed;
                }
            },
            EventItem::Filler { span } => {
                for waiting in self.waiting.touched(&span) {
                    waiting.filler = true;
                }
            }
            EventItem::Rest { span } => {
                for waiting in self.waiting.touched(&span) {
                    waiting.rest = true;
                }
                self.in_step(span.end);
            }
        }
    }

    fn event(&mut self, span: &Range<u64>, summary: MaybeSummary) {
        let last_octet = span.end.saturating_sub(1);
        let (index, first_chunk) = match self.reserved.take() {
            Some(reserved) => reserved,
            None => {
                let index = self.next_event;
                self.next_event += 1;
                (index, self.waiting.holder(span.start).unwrap_or(1))
            }
        };
        let last_chunk = self.waiting.holder(last_octet).unwrap_or(first_chunk);
        let event = self.tell(span, index, first_chunk..=last_chunk, summary);
        for waiting in self.waiting.touched(span) {
            waiting.overlap.add(&waiting.range, span);
            waiting.events.push(Arc::clone(&event));
        }
    }

    /// Tells of an event with its number and the chunks that hold it.
    fn tell(
        &mut self,
        span: &Range<u64>,
        index: u64,
        chunks: RangeInclusive<u64>,
        mut summary: MaybeSummary,
    ) -> Arc<Event> {
        if let Some(readable) = self.redact {
            redact::summary(&mut summary, readable);
        }
        let (first_chunk, last_chunk) = chunks.into_inner();
        let (offset, size) = (span.start, span.end - span.start);
        let event = Arc::new(Event { index, offset, size, first_chunk, last_chunk, summary });
        self.found.push_back(Judgement::Event(Arc::clone(&event)));
        event
    }

    /// The chunk with the fault is invalid; those before it hold a part.
    fn invalid(&mut self, span: &Range<u64>, at: u64, message: String) {
        let last_octet = span.end.saturating_sub(1);
        let mut message = Some(message);
        for waiting in self.waiting.touched(span).rev() {
            if waiting.range.contains(&last_octet) {
                if let (None, Some(message)) = (&waiting.fault, message.take()) {
                    waiting.fault = Some(Fault { at, message });
                }
            } else {
                waiting.overlap.add(&waiting.range, span);
            }
        }
    }

    /// An event begins at `start`, the first item of its chunk, or what may be
    /// the rest of one ends there: what comes from there on can be judged.
    fn in_step(&mut self, start: u64) {
        if matches!(self.mode, Mode::Guessing { .. }) {
            self.found.push_back(Judgement::Settled(Some(self.kind)));
        }
        self.mode = Mode::InStep;
        for waiting in self.waiting.behind(start).filter(|waiting| !waiting.rest) {
            waiting.unknown = None;
        }
    }

    /// The guess was wrong: nothing is expected of the body.
    fn is_no_watch(&mut self) {
        self.mode = Mode::Off(None);
        self.found.push_back(Judgement::Settled(None));
    }

    fn missing(&mut self) {
        if matches!(self.mode, Mode::Off(_)) {
            return;
        }
        self.recognise();
        if let Some(coded) = &mut self.coded {
            let decoded = coded.decoded();
            if let Some(stop) = coded.lose() {
                self.stop(stop, decoded);
            }
            return;
        }
        self.drop_open_item(true);
        self.skipping = true;
        self.tail = Tail::default();
        match &mut self.mode {
            Mode::InStep => self.mode = Mode::Searching(AFTER_LOSS),
            Mode::Guessing { joined } => *joined = true,
            Mode::Off(_) | Mode::Searching(_) => {}
        }
    }

    /// What is open will never be whole: chunks that hold octets of it hold a
    /// part. But where the capture `lost` what would tell whether it ends there,
    /// nobody can know.
    fn drop_open_item(&mut self, lost: bool) {
        self.reserved = None;
        if matches!(self.mode, Mode::Off(_)) || self.skipping {
            return;
        }
        let Some(open) = self.open() else { return };
        for waiting in self.waiting.behind(open.start) {
            if open.filler_only {
                waiting.filler = true;
            } else if open.undecided && lost {
                waiting.unknown.get_or_insert(UNDECIDED);
            } else if waiting.range.start < open.end {
                // That it isn't whole is a matter of what comes behind it.
                waiting.overlap.add(&waiting.range, &(open.start..u64::MAX));
            }
        }
        // Read on, if at all, from a chunk's first octet.
        self.skipping = true;
    }

    fn end(&mut self, chunk: Box<Chunk>) {
        self.recognise();
        self.waiting.end(chunk);
        self.release(false);
    }

    /// Lets go of the chunks whose verdict is known, or of `all`.
    fn release(&mut self, all: bool) {
        let open = if all || self.skipping || matches!(self.mode, Mode::Off(_)) { None } else { self.open() };
        let known = open.map_or(u64::MAX, |open| open.start);
        loop {
            let guessing = matches!(self.mode, Mode::Guessing { .. });
            let crowded = self.waiting.is_crowded();
            let Some(front) = self.waiting.front_mut() else { return };
            if front.chunk.is_none() {
                return;
            }
            if guessing || front.range.end > known {
                if !crowded {
                    return;
                }
                if guessing {
                    // Nothing that begins an event in so many octets.
                    self.is_no_watch();
                    continue;
                }
                if let Some(open) = open {
                    // The event goes on longer than chunks can wait for it.
                    front.overlap.add(&front.range, &(open.start..u64::MAX));
                    let reserved = *self.reserved.get_or_insert_with(|| {
                        let index = self.next_event;
                        self.next_event += 1;
                        (index, front.index)
                    });
                    front.unresolved = Some(reserved.0);
                }
            }
            // Taken apart where it lies: it is large.
            let Some(chunk) = front.chunk.take() else { return };
            let payload = front.kept(&chunk);
            let verdict = match &self.mode {
                Mode::Off(reason) => Verdict::Unchecked(reason.clone()),
                _ => front.verdict(self.kind, self.coded.as_deref(), &chunk),
            };
            let mut decoded = front.decoded.take();
            if matches!(self.mode, Mode::Off(_)) {
                // Decoding ended where nothing more was expected of the body:
                // how far it came depends on where reads ended.
                decoded = None;
            } else if self.coded.is_some() {
                decoded.get_or_insert_default().span = front.range.clone();
            }
            self.found.push_back(Judgement::Chunk(Box::new(JudgedChunk {
                exchange: self.exchange,
                side: self.side,
                utf8: self.check_utf8.then(|| front.utf8.is_valid()),
                chunk,
                decoded,
                verdict,
                overlap: front.overlap,
                events: mem::take(&mut front.events),
                unresolved_event: front.unresolved,
            })));
            self.waiting.pop(payload);
        }
    }
}

/// The framer, made with the first chunk that it is to read.
#[inline]
fn framer(framer: &mut Option<Framer>, kind: Kind, summaries: bool) -> &mut Framer {
    let make = if summaries { Framer::new } else { Framer::without_summaries };
    framer.get_or_insert_with(|| make(kind))
}
