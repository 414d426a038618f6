//! The walkthrough: the octets of each exchange, chunk by chunk, as one sees
//! them in Wireshark's panes, with what each of them is.
//!
//! For somebody who learns what a chunk is, or looks up one that is wrong: each
//! term is explained once, where it is first met, in the order of the octets:
//! the response's header, the size line, hexadecimal, the payload, CRLF, the
//! next chunk, the last one. It streams: each chunk's text goes to a [`Spool`](super::spool::Spool) as the chunk comes.

use std::collections::HashMap;
use std::io::{self, Write};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use crate::chunk::{self, Chunk, Closing, LastChunk, Message};
use crate::event::Kind;
use crate::http::{BodyEnd, Fields, Framing, Side};
use crate::report::failures::Failures;
use crate::report::lesson::{Lessons, Term, explain};
use crate::report::octets::{EventSpan, Pane, Trail, arithmetic, digits};
use crate::report::packetless;
use crate::report::payload::Payload;
use crate::report::phrases::{base, body_end, field, framing, listed, tally_words, unit};
use crate::report::prose::{Mark, Prose};
use crate::report::sheet::Sheet;
use crate::report::spool::Slot;
use crate::report::text::{
    Listing, TextOptions, Tone, counted, fit, frame_ranges, grouped, preview, printable, seconds,
};
use crate::report::why::Lints;
use crate::report::{
    CaptureEnd, Conclusion, Decoded, Event, ExchangeEnd, ExchangeHead, ExchangeId, Expect, Finding,
    JudgedChunk, Report, Tally, Violation,
};
use crate::units::{FrameNo, Stamp, Timestamp};
use crate::verdict::Verdict;

/// Events of a chunk that are named.
const NAMED_EVENTS: usize = 4;

/// Fields that say how a message is to be read.
const KEY_FIELDS: [(&str, &str); 9] = [
    ("host", ""),
    ("accept", ""),
    ("user-agent", ""),
    ("content-type", ""),
    ("content-encoding", "the payload is compressed"),
    ("transfer-encoding", "the body comes in chunks"),
    ("content-length", "octets of the body, in decimal"),
    ("trailer", "fields that follow the last chunk"),
    ("connection", ""),
];

/// Parts of an exchange's text.
const TITLE: u8 = 0;
const REQUEST_CHUNKS: u8 = 1;
const RESPONSE_HEAD: u8 = 2;
const CHUNKS: u8 = 3;
const END: u8 = 4;

/// Writes findings as annotated octets for people. See the module.
#[derive(Debug)]
pub struct Walkthrough<W: Write> {
    out: W,
    options: TextOptions,
    prose: Prose,
    open: HashMap<ExchangeId, Open>,
    listing: Listing,
    sheet: Sheet,
    lessons: Lessons,
    /// The chunks that alone are shown; empty for all.
    only: Vec<u64>,
    legend: bool,
}

/// An exchange that has not ended.
#[derive(Debug, Default)]
struct Open {
    expect: Option<Expect>,
    base: Option<Timestamp>,
    listed: u64,
    hidden: Tally,
    failures: Option<Box<Failures>>,
    lints: Option<Box<Lints>>,
    /// Whether octets of the payload are octets of events: not if it is encoded.
    plain: bool,
    /// Chunks of the response that are shown, and whether the terms met in one
    /// are explained.
    shown: Vec<u64>,
    explained: [bool; 2],
}

impl<W: Write> Walkthrough<W> {
    /// A walkthrough that is written to `out`.
    pub fn new(out: W, options: TextOptions) -> Self {
        let prose = Prose::new(&options);
        Self {
            out,
            options,
            prose,
            open: HashMap::new(),
            listing: Listing::default(),
            sheet: Sheet::new(),
            lessons: Lessons::default(),
            only: Vec::new(),
            legend: options.color,
        }
    }

    /// Shows only these chunks of each response, whatever is expected of them.
    #[must_use]
    pub fn only(mut self, chunks: &[u64]) -> Self {
        self.only = chunks.to_vec();
        self.options.list_all |= !chunks.is_empty();
        self
    }

    fn begin(&mut self, head: &ExchangeHead) {
        let open = self.open.entry(head.id).or_default();
        (open.expect, open.base) = (head.expect, base(head));
        let fields = head.response.as_ref().and_then(|response| response.fields.as_ref());
        open.plain = field(fields, "content-encoding").is_none();
    }

    fn chunk(&mut self, judged: &JudgedChunk) -> io::Result<()> {
        let open = self.open.entry(judged.exchange).or_default();
        let fails = self.options.allow.fails(&judged.verdict);
        if Failures::may_name(&judged.chunk, fails) {
            open.failures.get_or_insert_default().keep(judged.side, &judged.chunk);
        }
        if open.expect.is_none() && !self.options.list_all {
            return Ok(());
        }
        if !self.only.is_empty() {
            let wanted = judged.side == Side::Response && self.only.contains(&judged.chunk.index);
            if !wanted {
                return Ok(());
            }
            open.shown.push(judged.chunk.index);
        }
        let limit = if self.only.is_empty() { self.options.limit.unwrap_or(u64::MAX) } else { u64::MAX };
        let matters = fails || matches!(judged.verdict, Verdict::Unverified(_));
        let room = open.listed < limit && (matters || !self.options.failed_only);
        let response = judged.side == Side::Response;
        if !self.listing.admits(fails, room) {
            if response {
                *open.hidden.of(&judged.verdict) += 1;
            }
            return Ok(());
        }
        open.base = open.base.or(judged.chunk.first.at);
        let mut text = open.hidden_text(self.prose);
        open.listed += u64::from(response);
        let (expect, base, plain) = (open.expect, open.base, open.plain);
        let first = !mem::replace(&mut open.explained[0], true);
        let second = !first && !mem::replace(&mut open.explained[1], true);
        let lesson = Lesson { first, second };
        text.push_str(&self.chunk_text(judged, expect, base, plain, lesson));
        let part = if response { CHUNKS } else { REQUEST_CHUNKS };
        self.sheet.sections.append(Slot { exchange: judged.exchange, part }, text.as_bytes())
    }

    /// A chunk: its octets, and what they are.
    fn chunk_text(
        &self,
        judged: &JudgedChunk,
        expect: Option<Expect>,
        base: Option<Timestamp>,
        plain: bool,
        lesson: Lesson,
    ) -> String {
        let (chunk, prose) = (&judged.chunk, self.prose);
        let side = if judged.side == Side::Request { "request chunk" } else { "chunk" };
        let heading = self.heading(&format!("{side} {}", chunk.index), &chunk.frames(), chunk.last, base);
        let teach = |pane: &mut Pane, wanted: bool, term: Term| {
            if wanted {
                pane.push(&explain(prose, term));
            }
        };
        let mut pane = Pane::new(prose, only_frame(&chunk.trail));
        let mut trail = Trail::new(&chunk.trail);
        let line = match chunk.message {
            Some(_) => {
                pane.framing(&mut trail, &chunk.size_line, 0, "frame header");
                false
            }
            None => {
                teach(&mut pane, lesson.second, Term::NextChunk);
                pane.framing(&mut trail, &chunk.size_line, chunk.size_hex().len(), "size line");
                lesson.first
            }
        };
        teach(&mut pane, line, Term::SizeLine);
        pane.remark(&size_sentence(chunk));
        teach(&mut pane, line, Term::Hexadecimal);
        teach(&mut pane, chunk.extensions().is_some(), Term::Extension);
        if self.options.payload == Payload::None && chunk.received > 0 {
            pane.remark(&format!(
                "{} of payload; --payload preview shows them",
                counted(chunk.received, "octet")
            ));
            trail.skip(chunk.size);
        } else {
            let whole = self.options.payload == Payload::Full;
            let spans = if plain { spans(judged) } else { Vec::new() };
            teach(&mut pane, line, Term::Payload);
            pane.payload(&mut trail, chunk.size, chunk.received, &chunk.payload, whole, &spans);
            let lines = matches!(expect, Some(Expect::Kind(Kind::Watch | Kind::Ndjson)));
            let feeds = lines && judged.verdict == Verdict::One && chunk.payload.ends_with(b"\n");
            let feeds = feeds && chunk.payload.len() as u64 == chunk.size;
            teach(&mut pane, line && feeds, Term::LineFeed);
        }
        match chunk.closing {
            // RFC 6455 §5.2: a frame's length is all that ends it.
            Closing::CrLf if chunk.message.is_some() => {}
            Closing::CrLf => {
                pane.framing(&mut trail, b"\r\n", 0, "CRLF: the chunk ends here");
                teach(&mut pane, lesson.first, Term::ChunkEnd);
            }
            Closing::Lf => pane.framing(&mut trail, b"\n", 0, "a bare LF in place of CRLF"),
            Closing::Lost => pane.remark("the capture lacks the CRLF that ends the chunk"),
            Closing::None if chunk.received < chunk.size => {
                let (got, size) = (chunk.received, chunk.size);
                pane.remark(&format!("{got} of {size} octets came: the body ends within this chunk"));
            }
            Closing::None if chunk.message.is_some() => {
                pane.remark("the last frame of the message did not come")
            }
            Closing::None => pane.remark("the CRLF that ends the chunk is not there"),
            Closing::Broken => pane.remark("no CRLF follows: the chunk framing breaks here"),
        }
        let mut text = format!("\n{heading}{}", pane.into_text());
        if let Some(decoded) = &judged.decoded {
            text.push_str(&prose.paragraph(&decoded_sentence(decoded), "  ", "    "));
        }
        for event in judged.events.iter().take(NAMED_EVENTS) {
            text.push_str(&prose.paragraph(&event_sentence(event, chunk.index), "  ", "    "));
        }
        let more = judged.events.len().saturating_sub(NAMED_EVENTS);
        if more > 0 {
            text.push_str(&format!("  … and {}\n", counted(more as u64, "more event")));
        }
        let checked = !matches!(judged.verdict, Verdict::Unchecked(_));
        if lesson.first && checked && !judged.events.is_empty() {
            text.push_str(&explain(prose, Term::Event));
        }
        text.push_str(&self.verdict_text(judged, expect));
        text
    }

    /// `chunk 2  frames 8–10  +1.994 s`
    fn heading(&self, name: &str, frames: &[FrameNo], last: Stamp, base: Option<Timestamp>) -> String {
        let mut text = self.prose.paint.tone(Tone::Strong, name);
        if !frames.is_empty() {
            let noun = if frames.len() == 1 { "frame" } else { "frames" };
            text.push_str(&format!("  {noun} {}", frame_ranges(frames, 4)));
        }
        if let (Some(at), Some(base)) = (last.at, base) {
            let nanos = at.nanos_since(base);
            let sign = if nanos < 0 { "" } else { "+" };
            text.push_str(&format!("  {sign}{}", seconds(nanos, 6)));
        }
        text.push('\n');
        text
    }

    /// The verdict on a chunk. What fails is told by its violation, which
    /// comes next.
    fn verdict_text(&self, judged: &JudgedChunk, expect: Option<Expect>) -> String {
        let unit = unit(expect);
        let (mark, text) = match &judged.verdict {
            Verdict::One => (Mark::Good, format!("holds exactly one {unit}")),
            verdict if self.options.allow.fails(verdict) => return String::new(),
            Verdict::Several => (Mark::Unchecked, "holds several events (allowed)".to_owned()),
            Verdict::Part => (Mark::Unchecked, "holds a part of one event (allowed)".to_owned()),
            Verdict::Mixed => (Mark::Unchecked, "holds parts of several events (allowed)".to_owned()),
            Verdict::Invalid(fault) => (Mark::Bad, printable(&fault.message).into_owned()),
            Verdict::Unverified(reason) => (Mark::Doubt, format!("can't be verified: {}", printable(reason))),
            Verdict::Unchecked(Some(reason)) => {
                (Mark::Unchecked, format!("not checked: {}", printable(reason)))
            }
            Verdict::Unchecked(None) => return String::new(),
        };
        self.prose.marked_within(mark, &text)
    }

    fn violation(&mut self, violation: &Violation) -> io::Result<()> {
        let open = self.open.entry(violation.exchange).or_default();
        // A chunk that isn't shown, and any of an exchange that takes a line
        // unless it fails, is told at the end of the exchange.
        let shown = (open.expect.is_some() || self.options.list_all) && open.hidden.chunks() == 0;
        let shown = shown
            && (self.only.is_empty() || violation.chunk.is_some_and(|chunk| open.shown.contains(&chunk)));
        let told = open.failures.get_or_insert_default().push(violation, shown);
        let Some(told) = told.filter(|_| shown) else { return Ok(()) };
        let part = if violation.side == Side::Response { CHUNKS } else { REQUEST_CHUNKS };
        let text = self.prose.marked_within(Mark::Bad, &told);
        self.sheet.sections.append(Slot { exchange: violation.exchange, part }, text.as_bytes())
    }

    fn end(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        let (id, prose) = (end.head.id, self.prose);
        let mut open = self.open.remove(&id).unwrap_or_default();
        let failures = open.failures.take().unwrap_or_default();
        if !self.sheet.lists(self.prose, &self.options, end, &failures)? {
            return Ok(());
        }
        let lacks: Vec<u64> = self.only.iter().copied().filter(|chunk| !open.shown.contains(chunk)).collect();
        if !self.only.is_empty() && open.shown.is_empty() {
            let text = format!("\n{}  {}", prose.place_line(&end.head), lacking(&lacks, end));
            return self.sheet.sections.append(Slot { exchange: id, part: TITLE }, text.as_bytes());
        }
        let framed = end.head.id.stream.is_some();
        let title = format!(
            "\n{}{}{}{}",
            prose.place_line(&end.head),
            prose.when(&end.head),
            if framed { explain(prose, Term::Frame) } else { String::new() },
            self.request_text(end)
        );
        self.sheet.sections.append(Slot { exchange: id, part: TITLE }, title.as_bytes())?;
        let chunked = end.head.framing == Some(Framing::Chunked) && end.head.response.is_some();
        let explained = if chunked { explain(prose, Term::Header) } else { String::new() };
        let head = format!("{}{explained}{}", self.response_text(end), prose.notes(end));
        self.sheet.sections.append(Slot { exchange: id, part: RESPONSE_HEAD }, head.as_bytes())?;
        let mut text = open.hidden_text(prose);
        if !lacks.is_empty() {
            text.push_str(&format!("\n{}", lacking(&lacks, end)));
        }
        let all = self.only.is_empty();
        if let Some(body) = &end.response_body {
            if let Some(last) = body.last_chunk.as_ref().filter(|_| all) {
                text.push_str(&self.last_chunk_text(last, body.end, open.base));
            }
            text.push('\n');
            text.push_str(&prose.paragraph(&body_end(body, Side::Response), "", "  "));
            let leaves = matches!(body.end, BodyEnd::Aborted | BodyEnd::Open);
            if all && leaves && body.last_chunk.is_none() && body.chunks > 0 {
                text.push_str(&explain(prose, Term::NoLastChunk));
            }
        }
        text.push_str(&prose.timing(end));
        text.push('\n');
        text.push_str(&prose.verdict(end));
        if all {
            text.push_str(&failures.explain(prose, end));
            text.push_str(&prose.hints(end));
            if let Some(lints) = &open.lints {
                text.push_str(&lints.tell(prose, end));
            }
        }
        self.sheet.sections.append(Slot { exchange: id, part: END }, text.as_bytes())
    }

    fn request_text(&self, end: &ExchangeEnd) -> String {
        let Some(request) = &end.head.request else { return String::new() };
        let unknown = "(not captured)";
        let line = format!(
            "{} {} {}",
            printable(request.method.as_deref().unwrap_or(unknown)),
            printable(request.target.as_deref().unwrap_or_default()),
            printable(request.version.as_deref().unwrap_or_default()),
        );
        self.head_text("request", request.stamp, line.trim_end(), request.fields.as_ref())
    }

    fn response_text(&self, end: &ExchangeEnd) -> String {
        let Some(response) = &end.head.response else { return "\nno response was captured\n".to_owned() };
        let line = match response.status {
            Some(status) => format!(
                "{} {status} {}",
                printable(response.version.as_deref().unwrap_or_default()),
                printable(response.reason.as_deref().unwrap_or_default()),
            ),
            None => "(the head was not captured)".to_owned(),
        };
        self.head_text("response", response.stamp, line.trim(), response.fields.as_ref())
    }

    /// A start line and the fields that say how the message is to be read.
    fn head_text(&self, name: &str, stamp: Option<Stamp>, line: &str, fields: Option<&Fields>) -> String {
        let frame = stamp.map_or_else(String::new, |stamp| format!("  frame {}", stamp.frame));
        let name = self.prose.paint.tone(Tone::Strong, name);
        let mut text = format!("\n{name}{frame}\n  {line}\n");
        let mut shown = 0;
        for (key, note) in KEY_FIELDS {
            let Some(value) = field(fields, key) else { continue };
            shown += 1;
            let chunked = key != "transfer-encoding" || value.to_ascii_lowercase().ends_with("chunked");
            let note = if note.is_empty() || !chunked { String::new() } else { format!("  ← {note}") };
            let name = fields.into_iter().flatten().find(|(name, _)| name.eq_ignore_ascii_case(key));
            let name = name.map_or(key, |(name, _)| name);
            let room = self.prose.width.saturating_sub(name.len() + note.chars().count() + 4).max(16);
            let value = printable(value);
            text.push_str(&format!("  {}: {}{note}\n", printable(name), fit(&value, room)));
        }
        let others = fields.map_or(0, |fields| fields.len()).saturating_sub(shown);
        if others > 0 {
            text.push_str(&self.prose.faint(&format!("  … and {}", counted(others as u64, "other field"))));
        }
        text
    }

    /// The chunk of size zero, the trailer section and the empty line.
    fn last_chunk_text(&self, last: &LastChunk, end: BodyEnd, base: Option<Timestamp>) -> String {
        let frames: Vec<_> = last.trail.iter().filter_map(|run| run.frame).collect();
        let mut text = format!("\n{}", self.heading("last chunk", &frames, last.last, base));
        let mut pane = Pane::new(self.prose, only_frame(&last.trail));
        let mut trail = Trail::new(&last.trail);
        let zeros = last.size_line.iter().take_while(|octet| **octet == b'0').count();
        pane.framing(&mut trail, &last.size_line, zeros, "size 0: no more chunks");
        if !last.trailers.is_empty() {
            pane.push(&explain(self.prose, Term::Trailer));
        }
        for (name, value) in last.trailers.iter().take(20) {
            pane.remark(&format!("trailer  {}: {}", printable(name), fit(&printable(value), 200)));
        }
        if last.trailers.len() > 20 {
            pane.remark(&format!("… and {}", counted(last.trailers.len() as u64 - 20, "more trailer")));
        }
        if end == BodyEnd::Complete {
            let line = if last.size_line.ends_with(b"\r\n") { &b"\r\n"[..] } else { b"\n" };
            let on_wire: u64 = last.trail.iter().map(|run| run.len).sum();
            let before = on_wire.saturating_sub((last.size_line.len() + line.len()) as u64);
            trail.skip(before);
            pane.framing(&mut trail, line, 0, "empty line: the body is whole");
        }
        pane.push(&explain(self.prose, Term::LastChunk));
        text.push_str(&pane.into_text());
        text
    }

    fn capture_end(&mut self, end: &CaptureEnd) -> io::Result<()> {
        let tells = !self.sheet.sections.is_empty() && mem::replace(&mut self.legend, false);
        let preface = if tells { legend(self.prose) } else { String::new() };
        let mut out = self.lessons.over(&mut self.out);
        self.sheet.capture(&mut out, self.prose, &self.options, end, &preface)?;
        out.line()
    }
}

impl<W: Write> Report for Walkthrough<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        match finding {
            Finding::Capture(path) => self.sheet.begin(path),
            Finding::Exchange(head) => self.begin(head),
            Finding::Event(..) => {}
            Finding::Chunk(judged) => self.chunk(&packetless::chunk(judged))?,
            Finding::Violation(violation) => self.violation(violation)?,
            Finding::Lint(lint) => {
                let open = self.open.entry(lint.exchange).or_default();
                open.lints.get_or_insert_default().push(lint);
            }
            Finding::ExchangeEnd(end) => self.end(&packetless::end(end))?,
            Finding::CaptureEnd(end) => self.capture_end(end)?,
        }
        Ok(())
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.sheet.finish(&mut self.out, self.prose, conclusion)
    }
}

impl Open {
    /// How many chunks were not shown since the last one that was.
    fn hidden_text(&mut self, prose: Prose) -> String {
        let hidden = mem::take(&mut self.hidden);
        if hidden.chunks() == 0 {
            return String::new();
        }
        prose.faint(&format!("\n… {}", tally_words(&hidden, self.expect)))
    }
}

/// Which terms may be explained at a chunk: those of an exchange's first, of
/// its second.
#[derive(Debug, Clone, Copy)]
struct Lesson {
    first: bool,
    second: bool,
}

/// Which octets of a chunk are those of which event.
fn spans(judged: &JudgedChunk) -> Vec<EventSpan> {
    let chunk = &judged.chunk;
    let spans = judged.events.iter().map(|event| {
        let end = event.offset.saturating_add(event.size);
        EventSpan {
            index: event.index,
            range: event.offset.saturating_sub(chunk.offset)
                ..end.saturating_sub(chunk.offset).min(chunk.size),
            begins: event.offset >= chunk.offset,
        }
    });
    spans.collect()
}

/// That chunks which were asked for aren't there.
fn lacking(chunks: &[u64], end: &ExchangeEnd) -> String {
    let asked = match chunks {
        [chunk] => format!("no chunk {chunk}"),
        chunks => format!("no chunks {}", listed(chunks.iter().copied())),
    };
    let there = match &end.response_body {
        None => "no response was captured".to_owned(),
        Some(body) if body.framing == Some(Framing::Chunked) => match body.chunks {
            0 => "its response has none".to_owned(),
            1 => "its response has 1 chunk".to_owned(),
            chunks => format!("its response has chunks 1 to {}", grouped(chunks)),
        },
        Some(body) => format!("its response isn't chunked ({})", framing(body.framing)),
    };
    format!("{asked}: {there}\n")
}

/// The frame of all octets, where it is one: the heading names it.
fn only_frame(trail: &[chunk::Run]) -> Option<FrameNo> {
    let first = trail.first()?.frame;
    trail.iter().all(|run| run.frame == first).then_some(first)?
}

/// What a chunk's octets decode to, with the beginning of it.
fn decoded_sentence(decoded: &Decoded) -> String {
    let Range { start, end } = decoded.span;
    if start == end {
        return "decodes to nothing".to_owned();
    }
    let octets = counted(end - start, "octet");
    let shown = preview(decoded.octets.trim_ascii_end(), 120);
    let colon = if shown.is_empty() { "" } else { ": " };
    format!("decodes to {octets}, from offset {start} of the decoded body on{colon}{shown}")
}

/// What the size line says, worked out.
fn size_sentence(chunk: &Chunk) -> String {
    if let Some(message) = chunk.message {
        return message_sentence(message, chunk.size);
    }
    let hex = chunk.size_hex();
    let follow = if chunk.size == 1 { "octet of payload follows" } else { "octets of payload follow" };
    let mut text = format!("\"{}\" in hexadecimal: {} {follow}", digits(hex), arithmetic(hex, chunk.size));
    if let Some(extensions) = chunk.extensions() {
        text.push_str(&format!("; \"{}\" is a chunk extension", fit(&printable(&extensions), 40)));
    }
    text
}

/// What a message is, and in how many frames it came.
fn message_sentence(message: Message, size: u64) -> String {
    let kind = if message.text { "text" } else { "binary" };
    let frames = match message.frames {
        1 => "one frame".to_owned(),
        more => format!("{}, of which the headers of the others are left out", counted(more, "frame")),
    };
    format!("a {kind} message of {} in {frames}", counted(size, "octet"))
}

/// `event 2: MODIFIED ConfigMap kube-system/coredns, version 73`
fn event_sentence(event: &Arc<Event>, chunk: u64) -> String {
    let summary = &event.summary;
    let part = match (event.first_chunk < chunk, event.last_chunk > chunk) {
        (false, false) => "",
        (true, false) => ", its end",
        (false, true) => ", its beginning",
        (true, true) => ", its middle",
    };
    let mut words = Vec::new();
    words.extend(summary.event_type.clone());
    words.extend(summary.kind.clone());
    words.extend(match (&summary.namespace, &summary.name) {
        (Some(namespace), Some(name)) => Some(format!("{namespace}/{name}").into()),
        (_, name) => name.clone(),
    });
    if summary.kind.is_none()
        && let Some(data) = &summary.data
    {
        words.push(data.clone());
    }
    let words = words.join(" ");
    let words = fit(&printable(&words), 160).into_owned();
    let version =
        summary.resource_version.as_deref().map(|version| format!(", version {}", printable(version)));
    let id = summary.id.as_deref().map(|id| format!(", id {}", printable(id)));
    let more = version.into_iter().chain(id).collect::<String>();
    let words = if words.is_empty() { words } else { format!(" {words}") };
    format!("event {}{part}:{words}{more}, {}", event.index, counted(event.size, "octet"))
        .replacen(":,", ":", 1)
}

/// What the colours stand for, once a run.
fn legend(prose: Prose) -> String {
    let names = [
        (Some(Tone::Size), "chunk size"),
        (Some(Tone::Extension), "extension"),
        (Some(Tone::LineEnd), "CRLF of the framing"),
        (Some(Tone::Event), "event 1, 3, 5 …"),
        (Some(Tone::Neighbour), "event 2, 4, 6 …"),
        (None, "other payload"),
    ];
    let names = names.map(|(tone, name)| tone.map_or(name.to_owned(), |tone| prose.paint.tone(tone, name)));
    format!("colours: {}\n", names.join(", "))
}

#[cfg(test)]
mod tests {
    use smallvec::SmallVec;

    use super::*;
    use crate::report::ViolationCode;
    use crate::report::sample::{Talk, coredns, rechunked, told};
    use crate::report::text::width;

    fn walk(options: TextOptions, talks: &[&Talk]) -> String {
        let mut out = Vec::new();
        told(Walkthrough::new(&mut out, options), "k8s-watch-coredns.pcap", talks);
        String::from_utf8(out).unwrap()
    }

    /// Without what is explained.
    fn bare(text: &str) -> String {
        text.lines().filter(|line| !line.starts_with("  │ ")).flat_map(|line| [line, "\n"]).collect()
    }

    fn narrow() -> TextOptions {
        TextOptions { width: 80, ..TextOptions::default() }
    }

    #[test]
    fn a_watch_is_shown_octet_by_octet() {
        insta::assert_snapshot!("walkthrough_coredns_80", walk(narrow(), &[&coredns()]));
    }

    #[test]
    fn each_term_is_explained_once_a_run_where_it_is_first_met() {
        let mut whole = Talk::watch(1);
        whole.one("ADDED", "coredns", 70, 200).complete();
        let text = walk(narrow(), &[&coredns(), &whole]);
        let order = [
            "│ A frame is",
            "│ The response's header",
            "33 31 61 0d 0a",
            "│ A chunk begins with its size line",
            "\"31a\" in hexadecimal",
            "│ The size is hexadecimal",
            "│ The payload follows",
            "  0000  7b 22",
            "│ The last octet, 0a",
            "CRLF: the chunk ends here",
            "│ One more CRLF",
            "│ An event is",
            "chunk 2  frame",
            "│ The next chunk",
            "│ A body that is whole",
            "last chunk  frame",
            "│ A size of 0",
        ];
        let mut at = 0;
        for words in order {
            at += text[at..]
                .find(words)
                .unwrap_or_else(|| panic!("{words} comes too early or not at all: {text}"));
        }
        for words in order.iter().filter(|words| words.starts_with('│')) {
            assert_eq!(text.matches(words).count(), 1, "{words}");
        }
        assert!(!text.contains('\x01'));
    }

    #[test]
    fn chunks_that_are_asked_for_are_shown_alone_and_those_that_are_not_there_said() {
        let only = |chunks: &[u64], talks: &[&Talk]| {
            let mut out = Vec::new();
            told(Walkthrough::new(&mut out, narrow()).only(chunks), "x", talks);
            String::from_utf8(out).unwrap()
        };
        let text = only(&[2], &[&coredns()]);
        assert!(text.contains("\nchunk 2  frame 8") && !text.contains("\nchunk 1"), "{text}");
        assert!(!text.contains("more chunk") && text.contains("│ A chunk begins"), "{text}");
        let text = only(&[1, 7, 8, 9], &[&coredns()]);
        assert!(
            text.contains("\nchunk 1 ") && text.contains("\nno chunks 7–9: its response has chunks 1 to 2\n")
        );
        let text = only(&[9], &[&coredns()]);
        assert!(text.contains("127.0.0.1:8001\n  no chunk 9: its response has chunks 1 to 2\n"), "{text}");
        assert!(!text.contains("response  frame"), "{text}");
        // What fails elsewhere is counted, not told.
        let text = only(&[3], &[&rechunked()]);
        assert!(text.contains("✗ chunk 3 ") && !text.contains("✗ chunk 4 "), "{text}");
        assert!(text.contains("12 of 14 chunks fail"), "{text}");
    }

    #[test]
    fn a_legend_tells_what_colours_stand_for() {
        assert!(!walk(narrow(), &[&coredns()]).contains("colours:"));
        let text = walk(TextOptions { color: true, ..narrow() }, &[&coredns()]);
        assert!(text.contains("\ncolours: \x1b[1m\x1b[36mchunk size\x1b[0m, "), "{text:?}");
        assert!(text.contains("\x1b[32m7b 22 74 79 70 65 22 3a  22"), "{text:?}");
    }

    #[test]
    fn what_fails_is_told_at_its_chunk_and_explained_at_the_end() {
        let options = TextOptions { limit: Some(2), payload: Payload::None, ..narrow() };
        insta::assert_snapshot!("walkthrough_rechunked_80", walk(options, &[&rechunked()]));
    }

    #[test]
    fn the_last_chunk_its_trailers_and_its_empty_line_are_shown() {
        let mut talk = coredns();
        talk.complete();
        let last = talk.last_chunk.as_mut().unwrap();
        last.trailers = [("X-Sum".into(), "a\x1bb".into())].into();
        last.trail = SmallVec::from_slice(&[chunk::Run { len: 3 + 12 + 2, frame: Some(FrameNo::new(12)) }]);
        let text = bare(&walk(narrow(), &[&talk]));
        let expected = "
last chunk  frame 10  +3.981000 s
        30 0d 0a                  0··       size 0: no more chunks
        trailer  X-Sum: a␛b
        0d 0a                     ··        empty line: the body is whole

complete: last chunk (frame 12), trailers X-Sum: a␛b
";
        let expected = expected.replace("last chunk  frame 10", "last chunk  frame 12");
        assert!(text.contains(&expected), "{text}");
    }

    #[test]
    fn chunks_in_several_frames_name_each_where_it_begins() {
        let mut talk = Talk::watch(0);
        talk.one("ADDED", "coredns", 70, 200).frames(&[(6, 4), (7, 30), (9, 170), (11, 2)]);
        let text = bare(&walk(TextOptions { payload: Payload::Full, ..narrow() }, &[&talk]));
        let expected = "chunk 1  frames 6–7, 9, 11  +0.007000 s
  frame 6
        63 38 0d 0a               c8··      size line
        \"c8\" in hexadecimal: 12×16 + 8 = 200 octets of payload follow
  frame 7
  0000  7b 22 74 79 70 65 22 3a  22 41 44 44 45 44 22 2c   {\"type\":\"ADDED\",
  0010  22 6f 62 6a 65 63 74 22  3a 7b 22 6b 69 6e         \"object\":{\"kin
  frame 9
  001e  64 22                                              d\"
";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("  frame 11\n        0d 0a "), "{text}");
    }

    #[test]
    fn unfinished_chunks_and_extensions_are_said() {
        let mut talk = coredns();
        let chunk = &mut talk.chunks[1].chunk;
        chunk.size_line = SmallVec::from_slice(b"31d;a=\"\x1b\"\r\n");
        chunk.trail = SmallVec::from_slice(&[chunk::Run { len: 112, frame: Some(FrameNo::new(8)) }]);
        (chunk.closing, chunk.unfinished, chunk.received) = (Closing::None, true, 101);
        chunk.payload.truncate(101);
        talk.chunks[1].verdict = Verdict::Unchecked(None);
        let text = walk(narrow(), &[&talk]);
        assert!(text.contains("\";a=\"␛\"\" is a chunk extension"), "{text}");
        assert!(text.contains("        101 of 797 octets came: the body ends within this chunk\n"), "{text}");
    }

    #[test]
    fn nothing_but_printable_text_comes_out() {
        let nasty = "日本\x1b]0;x\x07\u{202e}\u{9b}31m\r\n\u{2028}";
        let mut talk = Talk::watch(0);
        let head = talk.head.request.as_mut().unwrap();
        (head.method, head.target) = (Some(nasty.into()), Some(nasty.repeat(9).into()));
        head.fields = Some([("Host".into(), nasty.repeat(30).into()), ("X".into(), "".into())].into());
        let event = talk.event(nasty, nasty, 1, 1, 1);
        talk.chunk(&nasty.repeat(40).into_bytes(), Verdict::Unverified(nasty.to_owned()), vec![event]);
        talk.violation(ViolationCode::NotAnEvent, nasty);
        talk.complete();
        talk.last_chunk.as_mut().unwrap().trailers = [(nasty.into(), nasty.repeat(99).into())].into();
        for payload in [Payload::None, Payload::Preview, Payload::Full] {
            let text = walk(TextOptions { payload, ..narrow() }, &[&talk]);
            let unsafe_ = |c: char| (c.is_control() && c != '\n') || ('\u{2028}'..='\u{202e}').contains(&c);
            assert!(!text.contains(unsafe_), "{text:?}");
        }
    }

    #[test]
    fn a_usual_walkthrough_fits_80_columns() {
        let text = walk(TextOptions { limit: None, ..narrow() }, &[&coredns(), &rechunked()]);
        let wide: Vec<_> = text.lines().filter(|line| width(line) > 80).collect();
        assert!(wide.iter().all(|line| line.contains("Wireshark: tcp.stream")), "{wide:?}");
    }

    #[test]
    fn chunks_beyond_the_limit_are_counted_and_failed_ones_shown() {
        let options = TextOptions { limit: Some(1), ..narrow() };
        let text = walk(options, &[&rechunked()]);
        assert!(text.contains("\n… 1 more chunk: one watch event\n\nchunk 3 "), "{text}");
        let only = walk(TextOptions { failed_only: true, ..narrow() }, &[&coredns()]);
        assert!(only.contains("  nothing here failed\n") && !only.contains("chunk 1"), "{only}");
    }
}
