//! What the chunks of one response show of their causes, counted as they come.
//!
//! A chunk *cuts* where an event goes on behind its end. Whoever writes or
//! copies by buffers cuts where a buffer is full: always at the same sizes.
//! Whoever cuts at other sizes too does something else, so a single cut that a
//! cause can't explain takes its hint away.
//!
//! The API server writes each event with one write and cuts at 2,048 octets at
//! most. Where a response is its (`Audit-Id`), cuts at larger sizes were made
//! on the way. Where it may be anybody's, the cuts must also begin anew with
//! each event: a server that writes blocks of a fixed size cuts at the same
//! sizes, whatever its events are.

use super::pace::{Buffered, Ended, Pace, Timing};
use super::{Cause, Hint, Noted};
use crate::event::Kind;
use crate::http::{Fields, Side, target};
use crate::report::text::{counted, grouped};
use crate::report::{Event, ExchangeHead, Expect, JudgedChunk};
use crate::units::Timestamp;
use crate::verdict::Verdict;

/// Different sizes of cutting chunks that are counted; somebody who cuts at
/// more than these follows no buffer.
const SIZES: usize = 12;

/// Cuts of one kind from which on it is a habit.
const HABIT: u64 = 2;

/// The longest time between two chunks of a burst.
const BURST_GAP_NANOS: i128 = 100_000_000;

/// Events and chunks that a burst has at least.
const BURST_EVENTS: u64 = 8;
const BURST_CHUNKS: u64 = 3;

/// The size of Go's net/http write buffer, and of its reverse proxy's copy
/// buffer; the largest HTTP/2 frame by default (RFC 9113 §4.2); the read
/// buffer of Go's HTTP client.
const NET_HTTP: u64 = 2048;
const GO_COPY: u64 = 32_768;
const HTTP2_FRAME: u64 = 16_384;
const GO_READ: u64 = 4096;

/// What the chunks of one response show. See the module.
#[derive(Debug)]
pub struct Evidence {
    /// What the heads say, once that was read off.
    origin: Origin,
    /// Whether it was: most responses have nothing that a hint is to be given of.
    read: bool,
    pace: Pace,
    misaligned: Noted,
    cuts: Vec<Cuts>,
    /// Whether chunks cut at more sizes than are counted.
    irregular: bool,
    /// Whether the last chunk cut.
    cutting: bool,
    /// Runs of cutting chunks, each of them ended by one that doesn't cut.
    ended_runs: u64,
    /// The event that the last chunk cut: its number, and whether it began
    /// with a chunk.
    cut_event: Option<(u64, bool)>,
    largest: u64,
    /// Sizes with letters of either case, or with leading zeros.
    upper: u64,
    lower: u64,
    padded: u64,
    /// Protobuf events in a chunk of 2,048 octets and one more.
    prefixed: Noted,
    initial: Initial,
    run: Run,
    /// The run with the most events.
    burst: Option<Box<Run>>,
}

/// What the heads say of whose chunks these are.
#[derive(Debug, Default)]
struct Origin {
    /// Whether both heads were seen.
    seen: bool,
    api_server: bool,
    /// The Server field, in lower case.
    server: Option<String>,
    coding: Option<String>,
    protobuf: bool,
    /// Whether all field names are in lower case.
    lower_names: bool,
    watch: bool,
    /// Whether the request asks for what exists already.
    asks_for_state: bool,
    /// Whether an ADDED event says that the object was just created.
    added_is_new: bool,
}

/// The chunks of one size that cut.
#[derive(Debug)]
struct Cuts {
    size: u64,
    chunks: Noted,
    /// Those that hold octets of one event alone.
    parts: u64,
    /// Different events that begin with a chunk and are cut at a multiple of
    /// the size from there, with the last of them.
    restarts: u64,
    last_event: u64,
}

/// The events of what existed already.
#[derive(Debug, Default)]
struct Initial {
    over: bool,
    events: u64,
    misaligned: Noted,
}

/// Chunks that come close to each other.
#[derive(Debug, Clone, Default)]
struct Run {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    chunks: u64,
    events: u64,
    /// Those that hold several whole events.
    coalesced: Noted,
    /// The fewest and the most events that one of them ends.
    spread: Option<(u64, u64)>,
}

impl Evidence {
    /// Nothing seen yet of a response whose heads are these.
    #[must_use]
    pub fn new(head: &ExchangeHead) -> Self {
        let asked = head.request.as_ref().and_then(|request| request.stamp?.at);
        Self {
            origin: Origin::default(),
            read: false,
            pace: Pace::new(asked),
            misaligned: Noted::default(),
            cuts: Vec::new(),
            irregular: false,
            cutting: false,
            ended_runs: 0,
            cut_event: None,
            largest: 0,
            upper: 0,
            lower: 0,
            padded: 0,
            prefixed: Noted::default(),
            initial: Initial::default(),
            run: Run::default(),
            burst: None,
        }
    }

    /// Takes the response's next chunk; `head` is what [`Self::new`] was given.
    pub fn chunk(&mut self, judged: &JudgedChunk, head: &ExchangeHead) {
        let chunk = &judged.chunk;
        if judged.side != Side::Response || chunk.unfinished {
            return;
        }
        let one = matches!(judged.verdict, Verdict::One);
        let misaligned = matches!(judged.verdict, Verdict::Several | Verdict::Part | Verdict::Mixed);
        if !self.read && (misaligned || judged.events.iter().any(|event| added_at(event).is_some())) {
            self.read = true;
            self.origin = Origin::of(head);
        }
        if misaligned {
            self.misaligned.add(chunk.index);
        }
        if chunk.message.is_none() {
            self.spelling(&chunk.size_line);
        }
        if one || misaligned {
            self.largest = self.largest.max(chunk.size);
        }
        // One behind one, as most are, tells nothing of cuts.
        if misaligned || (one && self.cutting) {
            self.cut(judged);
        }
        self.times(judged, misaligned);
    }

    /// The chunk is the last: what can be said.
    #[must_use]
    pub fn finish(&mut self) -> (Vec<Hint>, Option<Timing>) {
        self.end_run();
        let timing = std::mem::take(&mut self.pace).finish();
        if self.misaligned.count == 0 || !self.origin.seen {
            return (Vec::new(), timing);
        }
        let held = timing
            .as_ref()
            .is_some_and(|timing| matches!(timing.buffered, Buffered::Yes | Buffered::Suspected));
        let mut hints = Vec::new();
        if self.origin.coding.is_some() {
            // Sizes are those of compressed octets: they tell nothing else.
            hints.extend(self.content_coding());
            hints.extend(self.haproxy());
        } else {
            hints.extend(self.net_http());
            hints.extend(self.protobuf());
            hints.extend(self.copied());
            hints.extend(self.nginx());
            hints.extend(self.haproxy());
        }
        hints.extend(self.initial_state());
        if !held {
            hints.extend(self.burst());
        }
        (hints, timing)
    }

    /// How the size in a size line is written.
    fn spelling(&mut self, line: &[u8]) {
        let (mut upper, mut lower) = (false, false);
        for octet in line {
            match octet {
                b'0'..=b'9' => {}
                b'a'..=b'f' => lower = true,
                b'A'..=b'F' => upper = true,
                _ => break,
            }
        }
        self.upper += u64::from(upper);
        self.lower += u64::from(lower);
        self.padded += u64::from(line.first() == Some(&b'0'));
    }

    fn cut(&mut self, judged: &JudgedChunk) {
        let chunk = &judged.chunk;
        let cuts = judged.overlap.goes_on;
        let end = chunk.offset.saturating_add(chunk.size);
        let behind = judged.events.last().filter(|event| event.offset.saturating_add(event.size) > end);
        if !cuts
            && judged.verdict == Verdict::Part
            && let Some(event) = judged.events.first()
            && event.first_chunk + 1 == chunk.index
            && self
                .cuts
                .iter()
                .any(|c| c.size == NET_HTTP && c.chunks.chunks.last() == Some(&event.first_chunk))
            && self.origin.protobuf
        {
            self.prefixed.add(chunk.index);
        }
        if !cuts {
            self.ended_runs += u64::from(std::mem::take(&mut self.cutting));
            self.cut_event = None;
            return;
        }
        self.cutting = true;
        // Events of which the number isn't known never became whole.
        let event = behind.map(|event| {
            let begins = match self.cut_event {
                Some((index, begins)) if index == event.index => begins,
                _ => event.offset == chunk.offset,
            };
            (event.index, begins, event.offset)
        });
        self.cut_event = event.map(|(index, begins, _)| (index, begins));
        let place = match self.cuts.iter().position(|cuts| cuts.size == chunk.size) {
            Some(place) => place,
            None if self.cuts.len() == SIZES => {
                self.irregular = true;
                return;
            }
            None => {
                self.cuts.push(Cuts {
                    size: chunk.size,
                    chunks: Noted::default(),
                    parts: 0,
                    restarts: 0,
                    last_event: 0,
                });
                self.cuts.len() - 1
            }
        };
        let Some(cuts) = self.cuts.get_mut(place) else { return };
        cuts.chunks.add(chunk.index);
        cuts.parts += u64::from(judged.verdict == Verdict::Part);
        if let Some((index, true, start)) = event
            && index != cuts.last_event
            && chunk.size > 0
            && (end - start).is_multiple_of(chunk.size)
            && !start.is_multiple_of(chunk.size)
        {
            cuts.restarts += 1;
            cuts.last_event = index;
        }
    }

    fn times(&mut self, judged: &JudgedChunk, misaligned: bool) {
        let chunk = &judged.chunk;
        let ended = || judged.events.iter().filter(|event| event.last_chunk == chunk.index);
        let events = ended().count() as u64;
        if !self.initial.over {
            self.existed_already(judged, events, misaligned);
        }
        let (Some(first), Some(last)) = (chunk.first.at, chunk.last.at) else { return };
        // Mostly the packet has brought the one before too.
        if first != last || self.run.end != Some(first) {
            self.go_on(first, last);
        }
        self.run.chunks += 1;
        self.run.events += events;
        if matches!(judged.verdict, Verdict::Several) && (self.initial.over || !self.origin.asks_for_state) {
            self.run.coalesced.add(chunk.index);
        }
        let (few, many) = self.run.spread.unwrap_or((events, events));
        self.run.spread = Some((few.min(events), many.max(events)));
        let created = ended().filter_map(|event| added_at(event)).filter(|_| self.origin.added_is_new);
        let created = created.fold(None, |range: Option<(i64, i64)>, at| {
            Some(range.map_or((at, at), |(first, last)| (first.min(at), last.max(at))))
        });
        self.pace.chunk(chunk.index, first, last, Ended { events, created });
    }

    /// Takes the next chunk as one of what existed already, unless that is over.
    fn existed_already(&mut self, judged: &JudgedChunk, events: u64, misaligned: bool) {
        if let Some(first) = judged.chunk.first.at
            && self.pace.pauses_before(first)
        {
            self.initial.over = true;
        }
        self.initial.chunk(judged, events, misaligned);
    }

    /// The next chunk came between these times: the run goes on, or another begins.
    fn go_on(&mut self, first: Timestamp, last: Timestamp) {
        let near = self.run.end.is_some_and(|end| first.nanos_since(end) <= BURST_GAP_NANOS);
        if !near {
            self.end_run();
            self.run.start = Some(first);
        }
        self.run.end = Some(self.run.end.filter(|end| end.nanos_since(last) > 0).unwrap_or(last));
    }

    fn end_run(&mut self) {
        let run = &self.run;
        // Who puts the same number of events in each chunk means to.
        let varies = run.spread.is_some_and(|(few, many)| few < many);
        let is_burst = run.coalesced.count >= HABIT
            && varies
            && run.events >= BURST_EVENTS
            && run.chunks >= BURST_CHUNKS
            && self.burst.as_ref().is_none_or(|burst| run.events > burst.events);
        if is_burst {
            self.burst = Some(Box::new(std::mem::take(&mut self.run)));
        } else if run.chunks > 0 {
            self.run = Run::default();
        }
    }

    fn net_http(&mut self) -> Option<Hint> {
        let [cuts] = self.cuts.as_mut_slice() else { return None };
        let habit = if self.origin.api_server {
            cuts.chunks.count >= HABIT
        } else {
            // Blocks of a fixed size end with one run of cuts.
            self.ended_runs >= HABIT && cuts.chunks.count > HABIT
        };
        // One write of more goes through in one piece where the buffer is
        // empty, so a full buffer ends in another event than it begins with.
        let fits = cuts.size == NET_HTTP && cuts.parts == 0 && !self.irregular;
        let plain = self.origin.server.is_none() && self.upper == 0 && self.padded == 0;
        (habit && fits && plain && !self.origin.protobuf).then(|| {
            let message = format!(
                "{} of exactly 2,048 octets cut events, and events are cut nowhere else: a buffer of that size ran \
                 full, as that of Go's net/http (the Kubernetes API server's) does while further events wait",
                counted(cuts.chunks.count, "chunk")
            );
            std::mem::take(&mut cuts.chunks).hint(Cause::NetHttp2048, message)
        })
    }

    fn protobuf(&mut self) -> Option<Hint> {
        let parts = self.cuts.iter().find(|cuts| cuts.size == NET_HTTP).map_or(0, |cuts| cuts.parts);
        let elsewhere = self.cuts.iter().any(|cuts| cuts.size != NET_HTTP);
        (self.prefixed.count > 0 && parts >= self.prefixed.count && !elsewhere).then(|| {
            let message = format!(
                "{} came in a chunk of 2,048 octets and the rest: the 4-octet length is written before the event, \
                 and both fill Go's buffer of 2,048 octets first",
                counted(self.prefixed.count, "protobuf event")
            );
            std::mem::take(&mut self.prefixed).hint(Cause::ProtobufPrefix, message)
        })
    }

    /// The hops that copy by Go's buffers.
    fn copied(&mut self) -> Vec<Hint> {
        let fits = |cuts: &Cuts| cuts.size.is_multiple_of(GO_READ) && cuts.size <= GO_COPY;
        if self.irregular
            || self.origin.server.is_some()
            || self.origin.protobuf
            || self.largest > GO_COPY
            || self.upper > 0
            || self.padded > 0
            || !self.cuts.iter().all(fits)
        {
            return Vec::new();
        }
        let mut hints = Vec::new();
        for (cause, what) in [
            (
                Cause::Http2Frame16384,
                "cut events after 16,384 octets, the most that an HTTP/2 frame carries by default (and a TLS record): \
                 a hop received the events in such pieces and made a chunk of each",
            ),
            (
                Cause::GoProxy32768,
                "cut events after 32,768 octets, the copy buffer of Go's reverse proxy (kubectl proxy): a hop copies \
                 by that buffer and makes a chunk of each copy",
            ),
            (
                Cause::ProxyRead4096,
                "cut events after 4,096 octets or a multiple, and events are cut nowhere else: a proxy makes a chunk \
                 of what each read of its upstream gives, as kubectl proxy does",
            ),
        ] {
            let mine = |cuts: &&Cuts| match cause {
                Cause::Http2Frame16384 => cuts.size == HTTP2_FRAME,
                Cause::GoProxy32768 => cuts.size == GO_COPY,
                _ => cuts.size != HTTP2_FRAME && cuts.size != GO_COPY,
            };
            let count: u64 = self.cuts.iter().filter(mine).map(|cuts| cuts.chunks.count).sum();
            let restarts: u64 = self.cuts.iter().filter(mine).map(|cuts| cuts.restarts).sum();
            if count < HABIT || !(self.origin.api_server || restarts >= HABIT) {
                continue;
            }
            let mut chunks: Vec<u64> =
                self.cuts.iter().filter(mine).flat_map(|cuts| cuts.chunks.chunks.iter().copied()).collect();
            chunks.sort_unstable();
            chunks.truncate(super::LISTED_CHUNKS);
            hints.push(Hint { cause, chunks, count, message: format!("{} {what}", counted(count, "chunk")) });
        }
        hints
    }

    fn nginx(&mut self) -> Option<Hint> {
        let nginx = self.origin.server.as_deref().is_some_and(|server| server.starts_with("nginx"));
        if !nginx {
            return None;
        }
        // A buffer of 4 or 8 KiB, less the framing that is put around it.
        let full = |size: u64| (0xff0..=0x1000).contains(&size) || (0x1ff0..=0x2000).contains(&size);
        let mut chunks: Vec<u64> = Vec::new();
        let mut count = 0;
        for cuts in self.cuts.iter().filter(|cuts| full(cuts.size)) {
            count += cuts.chunks.count;
            chunks.extend(&cuts.chunks.chunks);
        }
        chunks.sort_unstable();
        chunks.truncate(super::LISTED_CHUNKS);
        (count >= HABIT).then(|| Hint {
            cause: Cause::Nginx4kBuffer,
            chunks,
            count,
            message: format!(
                "the response says that it comes from nginx, and {} of 4 or 8 KiB less a few octets of framing \
                 cut events: nginx makes a chunk of each full buffer",
                counted(count, "chunk")
            ),
        })
    }

    fn haproxy(&mut self) -> Option<Hint> {
        let rewritten = self.upper >= HABIT && self.lower == 0 && self.padded == 0 && self.origin.lower_names;
        // Others write sizes so too, but don't rewrite the API server's names.
        (rewritten && self.origin.api_server && self.origin.server.is_none()).then(|| {
            let message = format!(
                "{} have their size in upper-case hex and the field names are in lower case, neither of which the \
                 API server writes: a proxy rewrote the framing, as haproxy does (and those built on Rust's hyper)",
                counted(self.upper, "chunk")
            );
            self.misaligned.clone().hint(Cause::Haproxy, message)
        })
    }

    fn content_coding(&self) -> Option<Hint> {
        let coding = self.origin.coding.as_ref()?;
        let message = format!(
            "the body is compressed ({coding}): a chunk holds what the compressor gave out when it was flushed or \
             full, and {} no single event",
            match self.misaligned.count {
                1 => "1 chunk holds".to_owned(),
                count => format!("{} chunks hold", grouped(count)),
            }
        );
        Some(self.misaligned.clone().hint(Cause::ContentCodingFlush, message))
    }

    fn initial_state(&mut self) -> Option<Hint> {
        let initial = std::mem::take(&mut self.initial);
        let several = initial.events >= HABIT && initial.misaligned.count > 0;
        (several && self.origin.watch && self.origin.asks_for_state).then(|| {
            let message = format!(
                "the request asks for what exists already, and {} came at once at the beginning: objects that exist \
                 are sent without a flush between them",
                counted(initial.events, "event")
            );
            initial.misaligned.hint(Cause::InitialState, message)
        })
    }

    fn burst(&mut self) -> Option<Hint> {
        let run = self.burst.take()?;
        let (start, end) = (run.start?, run.end?);
        let millis = (end.nanos_since(start) / 1_000_000).max(1);
        let message = format!(
            "{} came in {} within {} ms: events that wait for each other in the sender's queue share a chunk",
            counted(run.events, "event"),
            counted(run.chunks, "chunk"),
            grouped(u64::try_from(millis).unwrap_or_default())
        );
        Some(run.coalesced.hint(Cause::Burst, message))
    }
}

impl Initial {
    /// Takes the next chunk, in which so many events end.
    fn chunk(&mut self, judged: &JudgedChunk, ended: u64, misaligned: bool) {
        if self.over {
            return;
        }
        let mut types = judged.events.iter().map(|event| event.summary.event_type.as_deref());
        // A bookmark may say that the state ends here.
        let last = types.next_back().flatten();
        let bookmark = last == Some("BOOKMARK");
        self.over = !(bookmark || last == Some("ADDED")) || !types.all(|word| word == Some("ADDED"));
        if !self.over {
            self.events += ended;
            if misaligned {
                self.misaligned.add(judged.chunk.index);
            }
            self.over = bookmark;
        }
    }
}

impl Origin {
    fn of(head: &ExchangeHead) -> Self {
        let request = head.request.as_ref().and_then(|request| request.target.as_deref());
        let Some(fields) = head.response.as_ref().and_then(|response| response.fields.as_ref()) else {
            return Self::default();
        };
        let value = |name: &str| {
            let mut found = fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.trim().to_ascii_lowercase())
        };
        let watch = matches!(head.expect, Some(Expect::Kind(Kind::Watch | Kind::WatchProtobuf)));
        let target = request.unwrap_or_default();
        let version = target::parameter(target, "resourceVersion").unwrap_or_default();
        let asks_for_state = matches!(&*version, "" | "0") || target::says_yes(target, "sendInitialEvents");
        let selects = target::parameter(target, "labelSelector").is_some()
            || target::parameter(target, "fieldSelector").is_some();
        Self {
            seen: true,
            api_server: fields.iter().any(|(name, _)| is_api_servers(name)),
            server: value("server"),
            coding: value("content-encoding").filter(|coding| !coding.is_empty() && coding != "identity"),
            protobuf: value("content-type").is_some_and(|kind| kind.contains("protobuf")),
            lower_names: in_lower_case(fields),
            watch,
            asks_for_state: request.is_some() && asks_for_state,
            added_is_new: watch && request.is_some() && !selects,
        }
    }
}

/// When the object was created, by its own time, that an event says was added.
fn added_at(event: &Event) -> Option<i64> {
    let at = event.summary.created?;
    (event.summary.event_type.as_deref() == Some("ADDED")).then_some(at)
}

/// Whether only the Kubernetes API server sends a field of this name.
fn is_api_servers(name: &str) -> bool {
    let prefix = name.get(.."x-kubernetes-pf-".len()).unwrap_or_default();
    name.eq_ignore_ascii_case("audit-id") || prefix.eq_ignore_ascii_case("x-kubernetes-pf-")
}

fn in_lower_case(fields: &Fields) -> bool {
    fields.len() >= 2 && fields.iter().all(|(name, _)| !name.bytes().any(|octet| octet.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests;
