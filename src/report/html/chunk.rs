//! A chunk in the page's chunk table: what it holds, and behind a disclosure
//! its octets, each range tied to the frame that delivered it.

use askama::Template;

use super::words::{after, event_name, event_type, part_of, since, verdict_words};
use crate::chunk::{Chunk, Closing};
use crate::event::Kind;
use crate::http::Side;
use crate::report::octets::{HEAD, ROW, TAIL, Trail, arithmetic, digits, dots, hex};
use crate::report::payload::Payload;
use crate::report::text::{counted, fit, frame_ranges, grouped, preview, printable, printable_octets};
use crate::report::{Event, Expect, JudgedChunk};
use crate::units::{FrameNo, Timestamp};
use crate::verdict::{Allow, Verdict};

/// Payload octets that are shown as text under `--payload preview`.
const PREVIEW: usize = 2_000;

/// Payload octets of which `--payload full` draws the rows in hexadecimal:
/// beyond that a page isn't where one reads them.
const MOST_ROWS: u64 = 64 << 10;

/// Columns of the payload's beginning in the disclosure's line.
const SUMMARY_COLUMNS: usize = 200;

/// Events of a chunk that are named: the first ones, and where there are more,
/// the last, which may go on.
const NAMED_EVENTS: usize = 4;

/// Event types of a chunk that the filter finds it by.
const NAMED_TYPES: usize = 16;

/// What the rows of one exchange share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    /// The exchange's anchor.
    pub(super) anchor: &'a str,
    /// What times count from.
    pub(super) base: Option<Timestamp>,
    /// Whether a content coding lies between chunks and events.
    pub(super) coded: bool,
    pub(super) payload: Payload,
    pub(super) allow: Allow,
}

/// The rows of a chunk.
#[derive(Debug, Template)]
#[template(path = "chunk.html")]
struct Rows<'a> {
    anchor: String,
    verdict: &'static str,
    words: &'static str,
    bad: bool,
    types: String,
    index: u64,
    time: String,
    hex: String,
    extensions: String,
    size: String,
    received: Option<String>,
    holds: Vec<Held>,
    remark: Option<String>,
    frames: String,
    sentence: String,
    summary: String,
    octets: Vec<Octets>,
    show_payload: bool,
    /// Whether the text is of what the payload decodes to.
    decoded: bool,
    text: Vec<Stretch>,
    text_note: Option<String>,
    side: &'a str,
}

/// An event that a chunk holds, or a part of it.
#[derive(Debug)]
struct Held {
    /// How many before it aren't named.
    before: Option<String>,
    index: u64,
    part: &'static str,
    name: String,
    version: Option<String>,
    size: String,
}

/// A row of octets, or a remark between rows.
#[derive(Debug)]
struct Octets {
    part: &'static str,
    /// Whether the row's frame is another than that of the row above.
    frame: Option<FrameNo>,
    offset: String,
    hex: String,
    text: String,
    /// Set instead of all the others.
    remark: Option<String>,
}

/// Payload text that belongs to one event, or to none.
#[derive(Debug, PartialEq, Eq)]
struct Stretch {
    event: Option<u64>,
    class: &'static str,
    text: String,
}

/// The rows of a chunk as HTML.
pub(super) fn rows(judged: &JudgedChunk, setting: Setting<'_>) -> askama::Result<String> {
    let chunk = &judged.chunk;
    let side = if judged.side == Side::Request { "q" } else { "" };
    let count = judged.events.len();
    let (first, last) = match count > NAMED_EVENTS {
        true => (NAMED_EVENTS - 2, count - 1),
        false => (count, count),
    };
    let more = (last - first) as u64;
    let named = judged.events.iter().enumerate().filter(|(place, _)| *place < first || *place >= last);
    let holds = named.map(|(place, event)| Held {
        before: (place == last && more > 0).then(|| counted(more, "more event")),
        index: event.index,
        part: part_of(event, chunk.index),
        name: event_name(event),
        version: event
            .summary
            .resource_version
            .as_deref()
            .map(|version| fit(&printable(version), 24).into_owned()),
        size: grouped(event.size),
    });
    let mut types: Vec<_> = judged.events.iter().filter_map(|event| event_type(event)).collect();
    types.sort_unstable();
    types.dedup();
    types.truncate(NAMED_TYPES);
    let (text, text_note) = payload_text(judged, setting);
    let rows = Rows {
        anchor: format!("{}-{side}{}", setting.anchor, chunk.index),
        verdict: judged.verdict.name(),
        words: verdict_words(&judged.verdict),
        bad: setting.allow.fails(&judged.verdict),
        types: types.join(" "),
        index: chunk.index,
        time: since(chunk.last.at, setting.base).map(after).unwrap_or_default(),
        hex: fit(chunk.size_hex(), 18).into_owned(),
        extensions: chunk
            .extensions()
            .map(|text| fit(&printable(&text), 16).into_owned())
            .unwrap_or_default(),
        size: grouped(chunk.size),
        received: (chunk.received < chunk.size).then(|| grouped(chunk.received)),
        holds: holds.collect(),
        remark: remark(judged, setting),
        frames: frame_ranges(&chunk.frames(), 2),
        sentence: size_sentence(chunk),
        summary: match setting.payload {
            Payload::None => String::new(),
            Payload::Preview | Payload::Full => preview(held(judged), SUMMARY_COLUMNS).replace('␊', "↵"),
        },
        octets: octets(chunk, setting.payload),
        show_payload: setting.payload != Payload::None,
        decoded: judged.decoded.is_some(),
        text,
        text_note,
        side: if judged.side == Side::Request { "request chunk" } else { "chunk" },
    };
    rows.render()
}

/// What is said of a chunk beside its events.
fn remark(judged: &JudgedChunk, setting: Setting<'_>) -> Option<String> {
    let chunk = &judged.chunk;
    if let Verdict::Invalid(fault) = &judged.verdict {
        let of = if judged.decoded.is_some() { "what it decodes to" } else { "the payload" };
        let place = match fault.at.checked_sub(judged.span().start) {
            Some(octet) if judged.decoded.is_some() || !setting.coded => {
                format!(", at octet {} of {of}", grouped(octet))
            }
            _ => String::new(),
        };
        return Some(format!("{}{place}", printable(&fault.message)));
    }
    if chunk.unfinished {
        return Some("unfinished: the body ends within it".to_owned());
    }
    match &judged.verdict {
        Verdict::Unverified(reason) | Verdict::Unchecked(Some(reason)) => {
            Some(printable(reason).into_owned())
        }
        Verdict::Part | Verdict::Mixed if judged.events.is_empty() => {
            Some("of what never became whole".to_owned())
        }
        verdict if judged.events.is_empty() || setting.allow.fails(verdict) => None,
        Verdict::Several | Verdict::Part | Verdict::Mixed => Some("allowed".to_owned()),
        _ => None,
    }
}

/// What the size line says, worked out.
fn size_sentence(chunk: &Chunk) -> String {
    if let Some(message) = chunk.message {
        let kind = if message.text { "text" } else { "binary" };
        let frames = counted(message.frames, "frame");
        return format!("a WebSocket message ({kind}) of {} in {frames}", counted(chunk.size, "octet"));
    }
    let follow = if chunk.size == 1 { "octet" } else { "octets" };
    let hex = chunk.size_hex();
    let mut text = format!("“{}” in hexadecimal: {} {follow}", digits(hex), arithmetic(hex, chunk.size));
    if let Some(extensions) = chunk.extensions() {
        text.push_str(&format!("; “{}” is a chunk extension", fit(&printable(&extensions), 60)));
    }
    text
}

/// The octets of a chunk as they lie on the wire.
fn octets(chunk: &Chunk, payload: Payload) -> Vec<Octets> {
    let mut pane = Pane::default();
    let mut trail = Trail::new(&chunk.trail);
    let line = if chunk.message.is_some() { "frame header" } else { "size line" };
    pane.framing(&mut trail, line, &chunk.size_line);
    pane.payload(&mut trail, chunk, payload);
    match chunk.closing {
        // RFC 6455 §5.2: a frame's length is all that ends it.
        Closing::CrLf if chunk.message.is_some() => {}
        Closing::CrLf => pane.framing(&mut trail, "CRLF", b"\r\n"),
        Closing::Lf => pane.framing(&mut trail, "bare LF", b"\n"),
        Closing::Lost => pane.remark("The capture lacks the CRLF that ends the chunk.".to_owned()),
        Closing::None if chunk.received < chunk.size => {
            let (got, size) = (grouped(chunk.received), grouped(chunk.size));
            pane.remark(format!("{got} of {size} octets came: the body ends within this chunk."));
        }
        Closing::None if chunk.message.is_some() => {
            pane.remark("The last frame of the message did not come.".to_owned());
        }
        Closing::None => pane.remark("The CRLF that ends the chunk is not there.".to_owned()),
        Closing::Broken => pane.remark("No CRLF follows: the chunk framing breaks here.".to_owned()),
    }
    pane.rows
}

/// Draws octets in rows that each came from one frame.
#[derive(Debug, Default)]
struct Pane {
    rows: Vec<Octets>,
    /// Octets left out since the last row, and whether something came before.
    left_out: u64,
}

impl Pane {
    fn framing(&mut self, trail: &mut Trail<'_>, part: &'static str, octets: &[u8]) {
        // A size line with kilooctets of extensions is cut.
        let mut rest = octets.get(..octets.len().min(64)).unwrap_or(octets);
        let cut = (octets.len() - rest.len()) as u64;
        while !rest.is_empty() {
            let run = trail.step((rest.len() as u64).min(ROW));
            let taken = usize::try_from(run.len).unwrap_or(0).max(1);
            let (row, behind) = rest.split_at_checked(taken).unwrap_or((rest, &[]));
            self.row(part, run.frame, String::new(), row);
            rest = behind;
        }
        if cut > 0 {
            trail.skip(cut);
            self.remark(format!("{} of the size line left out.", counted(cut, "more octet")));
        }
    }

    /// The payload's rows: all of them, or its beginning and its end.
    fn payload(&mut self, trail: &mut Trail<'_>, chunk: &Chunk, payload: Payload) {
        let size = chunk.size;
        if payload == Payload::None {
            if chunk.received > 0 {
                self.remark(format!(
                    "{} of payload (left out by --payload none).",
                    counted(chunk.received, "octet")
                ));
            }
            return trail.skip(size);
        }
        let whole = payload == Payload::Full && size <= MOST_ROWS;
        let head = if payload == Payload::Full { MOST_ROWS } else { HEAD };
        let long = !whole && size > head + TAIL + 4 * ROW;
        let tail = (size - size.min(TAIL)) / ROW * ROW;
        let mut rest = chunk.payload.as_slice();
        let (mut at, mut seen) = (0, 0);
        while at < size && (seen < chunk.received || !rest.is_empty()) {
            let hole = trail.at_hole();
            let elided = long && at >= head && at < tail;
            let most = if hole {
                size
            } else if elided {
                tail - at
            } else {
                ROW - at % ROW
            };
            let run = trail.step(most.min(size - at));
            if run.len == 0 {
                break;
            }
            if hole {
                self.remark(format!(
                    "{} that the capture lacks, from 0x{at:x} on.",
                    counted(run.len, "octet")
                ));
                at += run.len;
                continue;
            }
            let len = usize::try_from(run.len).unwrap_or(usize::MAX);
            let (row, behind) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            rest = behind;
            if elided {
                self.left_out += run.len;
            } else if !row.is_empty() {
                self.row("payload", run.frame, format!("{at:04x}"), row);
            }
            (at, seen) = (at + run.len, seen + run.len);
            if row.len() < len && !elided {
                // No more was kept, which only a payload far above any bound
                // of this page can lack.
                self.left_out += (len - row.len()) as u64 + chunk.received.saturating_sub(seen);
                trail.skip(size - at);
                break;
            }
        }
        self.tell_left_out();
    }

    fn row(&mut self, part: &'static str, frame: Option<FrameNo>, offset: String, octets: &[u8]) {
        self.tell_left_out();
        self.rows.push(Octets { part, frame, offset, hex: hex(octets), text: dots(octets), remark: None });
    }

    fn tell_left_out(&mut self) {
        let octets = std::mem::take(&mut self.left_out);
        if octets > 0 {
            self.remark(format!("{} left out.", counted(octets, "octet")));
        }
    }

    fn remark(&mut self, text: String) {
        self.tell_left_out();
        self.rows.push(Octets {
            part: "",
            frame: None,
            offset: String::new(),
            hex: String::new(),
            text: String::new(),
            remark: Some(text),
        });
    }
}

/// The payload, or what it decodes to, as text, cut where events begin and
/// end; and what is left out.
fn payload_text(judged: &JudgedChunk, setting: Setting<'_>) -> (Vec<Stretch>, Option<String>) {
    let (kept, span) = (held(judged), judged.span());
    let whole = match &judged.decoded {
        Some(_) => span.end.saturating_sub(span.start),
        None => judged.chunk.received,
    };
    let shown = match setting.payload {
        Payload::None => return (Vec::new(), None),
        Payload::Preview => kept.get(..PREVIEW.min(kept.len())).unwrap_or_default(),
        Payload::Full => kept,
    };
    let shown = whole_characters(shown, whole > shown.len() as u64);
    let mut stretches = Vec::new();
    let mut at = 0;
    // Behind a hole the place of an octet in the body isn't its place here.
    let placed = judged.decoded.is_some() || !(setting.coded || judged.chunk.lacks_octets());
    for event in judged.events.iter().filter(|_| placed) {
        let start = within(event.offset, span.start, shown.len());
        let end = within(event.offset.saturating_add(event.size), span.start, shown.len());
        if start < at || end <= start {
            continue;
        }
        push(&mut stretches, shown.get(at..start), None);
        push(&mut stretches, shown.get(start..end), Some(event));
        at = end;
    }
    push(&mut stretches, shown.get(at..), None);
    let left = whole.saturating_sub(shown.len() as u64);
    let note = (left > 0).then(|| {
        let how = if setting.payload == Payload::Full { "" } else { "; --payload full shows them" };
        format!("{} left out{how}", counted(left, "more octet"))
    });
    (stretches, note)
}

/// The octets that a reader looks for: decoded where there are codings.
fn held(judged: &JudgedChunk) -> &[u8] {
    judged.decoded.as_ref().map_or(&judged.chunk.payload, |decoded| &decoded.octets)
}

fn within(octet: u64, offset: u64, len: usize) -> usize {
    usize::try_from(octet.saturating_sub(offset)).unwrap_or(usize::MAX).min(len)
}

fn push(stretches: &mut Vec<Stretch>, octets: Option<&[u8]>, event: Option<&std::sync::Arc<Event>>) {
    let Some(octets) = octets.filter(|octets| !octets.is_empty()) else { return };
    let class = match event {
        Some(event) if event.index % 2 == 0 => "even",
        Some(_) => "odd",
        None => "",
    };
    let event = event.map(|event| event.index);
    stretches.push(Stretch { event, class, text: lines(octets) });
}

/// Without a character that is cut at the end, where more follows.
fn whole_characters(octets: &[u8], cut: bool) -> &[u8] {
    match std::str::from_utf8(octets) {
        Err(error) if cut && error.error_len().is_none() => {
            octets.get(..error.valid_up_to()).unwrap_or(octets)
        }
        _ => octets,
    }
}

/// Octets as printable text; a line feed is a sign that most fonts have, and
/// behind it a line ends.
fn lines(octets: &[u8]) -> String {
    printable_octets(octets).replace('␊', "↵\n")
}

/// Whether the page offers to pretty-print a body's payloads.
pub(super) const fn is_json(expect: Option<Expect>) -> bool {
    matches!(expect, Some(Expect::Kind(Kind::Watch | Kind::Json | Kind::Ndjson)))
}
