//! The picture of alignment: chunk edges above, event edges below, on one
//! ruler of octets, so that split, coalesced and straddling events are seen.
//!
//! Drawn are the first chunks of a body, or where checks fail, those around
//! the first that does: a pattern shows there or nowhere. The ruler is cut in
//! rows of some chunks each, of comparable size, so that the smallest is seen.

use std::collections::VecDeque;

use askama::Template;

use super::words::{both_bases, event_name, percent};
use crate::report::JudgedChunk;
use crate::report::text::{counted, grouped, range};

/// Chunks that are drawn where nothing fails.
const USUAL: usize = 24;

/// Chunks that are drawn where something does.
const FAILING: usize = 40;

/// Chunks drawn before the first that fails.
const BEFORE: usize = 2;

/// Chunks of a row, and how many times the smallest the largest may be.
const ROW: usize = 8;
const RATIO: u64 = 24;

/// Events of a chunk that are drawn.
const EVENTS: usize = 60;

#[derive(Debug, Clone)]
struct Chunk {
    index: u64,
    /// Its place on the ruler: in the decoded body where there are codings.
    offset: u64,
    size: u64,
    /// Its size on the wire.
    own_size: u64,
    verdict: &'static str,
    fails: bool,
    events: Vec<Event>,
    /// Events of it that aren't kept.
    more: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Event {
    index: u64,
    start: u64,
    end: u64,
    split: bool,
    /// Whether it lies in one chunk with others.
    shared: bool,
    name: Box<str>,
}

/// Collects the edges. See the module.
#[derive(Debug, Default)]
pub(super) struct Alignment {
    chunks: VecDeque<Chunk>,
    /// Whether one of them fails.
    failing: bool,
    total: u64,
}

impl Alignment {
    /// Takes the next chunk of the response.
    pub(super) fn push(&mut self, judged: &JudgedChunk, fails: bool) {
        self.total += 1;
        let most = if self.failing { FAILING } else { USUAL };
        let full = self.chunks.len() >= most;
        if full && self.failing {
            return;
        }
        let chunk = Chunk::new(judged, fails);
        if full {
            // The first chunks stay until one fails; the last ones wait behind.
            if fails {
                let waiting = self.chunks.split_off(USUAL.min(self.chunks.len()));
                self.chunks = waiting;
            } else {
                if self.chunks.len() >= USUAL + BEFORE {
                    self.chunks.remove(USUAL);
                }
                self.chunks.push_back(chunk);
                return;
            }
        }
        self.failing |= fails;
        self.chunks.push_back(chunk);
    }

    /// The drawing; `None` where there are no events to draw.
    pub(super) fn figure(mut self, anchor: &str) -> Option<Figure> {
        if !self.failing {
            self.chunks.truncate(USUAL);
        }
        let (first, last) = (self.chunks.front()?.index, self.chunks.back()?.index);
        if self.chunks.iter().all(|chunk| chunk.events.is_empty()) {
            return None;
        }
        let more: u64 = self.chunks.iter().map(|chunk| chunk.more).sum();
        let chunks: Vec<_> = self.chunks.into();
        let mut cut = 0;
        let mut aligned = 0;
        for chunk in &chunks {
            let cuts = chunk.events.iter().filter(|event| event.split).count();
            cut += usize::from(cuts > 0);
            aligned += usize::from(chunk.verdict == "one");
        }
        let mut rows: Vec<Row> = Vec::new();
        let mut from = 0;
        while let Some(rest) = chunks.get(from..).filter(|rest| !rest.is_empty()) {
            let count = row_length(rest);
            rows.extend(rest.get(..count).map(Row::new));
            from += count;
        }
        let shown = last - first + 1;
        let which = match shown == self.total {
            true => "All chunks are drawn.".to_owned(),
            false if self.failing && first > 1 => format!(
                "Drawn are chunks {} of {}: those from just before the first that fails on.",
                range(first, last),
                grouped(self.total)
            ),
            false => format!("Drawn are chunks {} of {}.", range(first, last), grouped(self.total)),
        };
        let more = match more {
            0 => String::new(),
            more => format!(" {} in crowded chunks left out.", counted(more, "event")),
        };
        Some(Figure {
            anchor: anchor.to_owned(),
            summary: format!(
                "Of {}, {} exactly one event and {} an event that other chunks hold too.",
                counted(shown, "chunk drawn").replace("chunk drawns", "chunks drawn"),
                holds(aligned),
                holds(cut),
            ),
            note: format!("{which}{more}"),
            rows,
        })
    }
}

fn holds(count: usize) -> String {
    let verb = if count == 1 { "holds" } else { "hold" };
    format!("{} {verb}", grouped(count as u64))
}

/// How many chunks the next row takes: such as are of comparable size.
fn row_length(chunks: &[Chunk]) -> usize {
    let (mut least, mut most) = (u64::MAX, 0);
    let fits = chunks.iter().take(ROW).take_while(|chunk| {
        let size = chunk.size.max(1);
        (least, most) = (least.min(size), most.max(size));
        most / least <= RATIO
    });
    fits.count().max(1)
}

impl Chunk {
    fn new(judged: &JudgedChunk, fails: bool) -> Self {
        let chunk = &judged.chunk;
        let span = judged.span();
        let shared = judged.events.len() > 1;
        let events = judged.events.iter().take(EVENTS).map(|event| Event {
            index: event.index,
            start: event.offset,
            end: event.offset.saturating_add(event.size),
            split: event.first_chunk != event.last_chunk,
            shared,
            name: event_name(event).into(),
        });
        Self {
            index: chunk.index,
            offset: span.start,
            size: span.end.saturating_sub(span.start),
            own_size: chunk.size,
            verdict: judged.verdict.name(),
            fails,
            events: events.collect(),
            more: judged.events.len().saturating_sub(EVENTS) as u64,
        }
    }

    const fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// The drawing.
#[derive(Debug, Template)]
#[template(path = "alignment.html")]
pub(super) struct Figure {
    anchor: String,
    summary: String,
    note: String,
    rows: Vec<Row>,
}

/// A stretch of the ruler.
#[derive(Debug)]
struct Row {
    first: u64,
    last: u64,
    from: String,
    to: String,
    chunks: Vec<Bar>,
    events: Vec<Bar>,
    cuts: Vec<Cut>,
}

/// A chunk or an event on the ruler.
#[derive(Debug)]
struct Bar {
    x: String,
    width: String,
    middle: String,
    class: &'static str,
    /// What fits a wide box, and what a narrow one.
    label: Option<String>,
    number: Option<u64>,
    /// Whether even the number is too wide on a phone.
    tight: bool,
    title: String,
    /// Whether it goes on beyond the row's ends.
    opens: bool,
    closes: bool,
}

/// An edge between two chunks: within an event, or between two.
#[derive(Debug)]
struct Cut {
    x: String,
    class: &'static str,
}

impl Row {
    fn new(chunks: &[Chunk]) -> Self {
        let start = chunks.first().map_or(0, |chunk| chunk.offset);
        let end = chunks.last().map_or(0, Chunk::end).max(start + 1);
        let whole = (end - start) as f64;
        let x = |octet: u64| percent(octet.saturating_sub(start) as f64, whole);
        let place = |from: u64, to: u64| {
            let (from, to) = (from.clamp(start, end), to.clamp(start, end));
            let share = (to - from) as f64 / whole;
            (x(from), percent((to - from) as f64, whole), x(from + (to - from) / 2), share)
        };
        let mut events: Vec<&Event> = chunks.iter().flat_map(|chunk| &chunk.events).collect();
        events.dedup_by_key(|event| event.index);
        let mut cuts: Vec<Cut> = Vec::new();
        for edge in chunks.iter().map(|chunk| chunk.offset).chain([end]) {
            let within = events.iter().any(|event| event.start < edge && edge < event.end);
            cuts.push(Cut { x: x(edge), class: if within { "within" } else { "between" } });
        }
        let boxes = chunks.iter().map(|chunk| {
            let (x, width, middle, share) = place(chunk.offset, chunk.end());
            let hex = format!("{:x}", chunk.own_size);
            Bar {
                x,
                width,
                middle,
                class: chunk.verdict,
                label: (share > 0.11).then(|| format!("{} · 0x{hex}", chunk.index)),
                number: (share > 0.025).then_some(chunk.index),
                tight: share < 0.07,
                title: format!(
                    "chunk {}: {} octets from offset {} on, {}{}",
                    chunk.index,
                    both_bases(chunk.own_size),
                    grouped(chunk.offset),
                    chunk.verdict,
                    if chunk.fails { " (fails)" } else { "" },
                ),
                opens: false,
                closes: false,
            }
        });
        let spans = events.iter().map(|event| {
            let (x, width, middle, share) = place(event.start, event.end);
            let name = event.name.split(' ').next().unwrap_or_default();
            let short = crate::report::text::fit(name, 10).into_owned();
            Bar {
                x,
                width,
                middle,
                class: match (event.split, event.shared) {
                    (true, _) => "split",
                    (false, true) => "shared",
                    (false, false) => "alone",
                },
                label: (share > 0.11 && !short.is_empty()).then(|| format!("{} · {short}", event.index)),
                number: (share > 0.025).then_some(event.index),
                tight: share < 0.07,
                title: format!(
                    "event {}{}{}: octets {}{}",
                    event.index,
                    if event.name.is_empty() { "" } else { ", " },
                    event.name,
                    range(event.start, event.end.saturating_sub(1)),
                    match (event.split, event.shared) {
                        (true, _) => ", split",
                        (false, true) => ", beside others in its chunk",
                        (false, false) => ", alone in its chunk",
                    },
                ),
                opens: event.start < start,
                closes: event.end > end,
            }
        });
        Self {
            first: chunks.first().map_or(0, |chunk| chunk.index),
            last: chunks.last().map_or(0, |chunk| chunk.index),
            from: grouped(start),
            to: grouped(end),
            chunks: boxes.collect(),
            events: spans.collect(),
            cuts,
        }
    }
}
