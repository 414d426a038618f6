//! The timeline of an exchange: chunks as marks over time, their size as
//! height, and beneath them the events as spans from their first chunk to
//! their last.
//!
//! Its memory is bounded: beyond so many marks, neighbours within a stretch of
//! time become one, and the stretch doubles as often as needed. Such a mark
//! shows the worst verdict of its chunks. Where packets have no times, or
//! there are no packets, the octets of the body take the place of time.

use askama::Template;

use super::words::{
    after, both_bases, chunks, duration, event_name, percent, severity, severity_name, since,
};
use crate::report::text::{counted, grouped, range};
use crate::report::{Event, JudgedChunk};
use crate::units::Timestamp;

/// Marks of one timeline: more can't be told apart on a screen.
const MARKS: usize = 600;

/// The same where many exchanges are open at once.
pub(super) const FEW_MARKS: usize = 60;

/// Event spans of one timeline; beyond, the marks count their events.
const SPANS: usize = 400;

/// Events that began and have not ended.
const BEGUN: usize = 64;

/// Rows of event spans.
const LANES: usize = 6;

/// The share of the width that a sign above a mark takes.
const SIGNS_APART: f64 = 0.008;

/// Heights in the drawing, in pixels.
const PLOT: f64 = 150.0;
const TOP: f64 = 16.0;
const LANE: f64 = 12.0;

/// One or several chunks.
#[derive(Debug)]
struct Mark {
    /// Nanoseconds since the base, or octets of the body.
    at: i64,
    first: u64,
    last: u64,
    frames: Option<(u64, u64)>,
    /// The largest size among them.
    size: u64,
    /// Events that are whole with these chunks.
    events: u64,
    severity: u8,
    /// How many failed.
    failed: u64,
    /// The event, where it is one chunk.
    what: Option<Box<str>>,
}

/// An event from its first chunk to its last.
#[derive(Debug)]
struct Span {
    index: u64,
    start: i64,
    end: i64,
    chunks: (u64, u64),
    size: u64,
    /// Whether it shares its chunk with others.
    shared: bool,
    name: Box<str>,
}

/// Collects the marks. See the module.
#[derive(Debug)]
pub(super) struct Timeline {
    most: usize,
    marks: Vec<Mark>,
    /// Marks within so much time are one; 0 as long as each chunk has its own.
    bin: i64,
    spans: Vec<Span>,
    /// Events beyond [`SPANS`]: then no span is drawn.
    many_events: bool,
    /// The arrival of the first chunk of events that go on: index, start.
    begun: Vec<(u64, i64)>,
    /// Whether any chunk lacks a time: then octets take the place of time.
    by_octets: bool,
}

impl Timeline {
    pub(super) fn new(few: bool) -> Self {
        Self {
            most: if few { FEW_MARKS } else { MARKS },
            marks: Vec::new(),
            bin: 0,
            spans: Vec::new(),
            many_events: false,
            begun: Vec::new(),
            by_octets: false,
        }
    }

    /// How many marks it keeps.
    pub(super) fn len(&self) -> usize {
        self.marks.len()
    }

    /// Takes the next chunk of the response.
    pub(super) fn push(&mut self, judged: &JudgedChunk, base: Option<Timestamp>, fails: bool) {
        let chunk = &judged.chunk;
        let time = since(chunk.last.at, base);
        if self.marks.is_empty() {
            self.by_octets = time.is_none();
        }
        let octets = i64::try_from(chunk.offset.saturating_add(chunk.size)).unwrap_or(i64::MAX);
        let at = match self.by_octets {
            true => octets,
            // A packet without a time among others: where the last one was.
            false => time.unwrap_or_else(|| self.marks.last().map_or(0, |mark| mark.at)),
        };
        let mut whole = 0;
        let alone = judged.events.len() == 1;
        for event in &judged.events {
            if event.first_chunk == chunk.index && event.last_chunk > chunk.index && self.begun.len() < BEGUN
            {
                self.begun.push((event.index, at));
            }
            if event.last_chunk == chunk.index {
                whole += 1;
                self.span(event, at, !alone);
            }
        }
        let frames = chunk.trail.iter().filter_map(|run| run.frame).map(|frame| frame.get());
        let frames = frames.fold(None, |range: Option<(u64, u64)>, frame| {
            Some(range.map_or((frame, frame), |(first, last)| (first.min(frame), last.max(frame))))
        });
        let what = match judged.events.as_slice() {
            [event] => {
                let part = super::words::part_of(event, chunk.index);
                Some(format!("{part}event {}, {}", event.index, event_name(event)).into())
            }
            [] => None,
            events => Some(format!("{} or parts of them", counted(events.len() as u64, "event")).into()),
        };
        self.marks.push(Mark {
            at,
            first: chunk.index,
            last: chunk.index,
            frames,
            size: chunk.size,
            events: whole,
            severity: severity(&judged.verdict),
            failed: u64::from(fails),
            what,
        });
        if self.marks.len() > self.most {
            self.condense();
        }
    }

    /// An event is whole.
    fn span(&mut self, event: &Event, end: i64, shared: bool) {
        let begun = self.begun.iter().position(|(index, _)| *index == event.index);
        let start = begun.map_or(end, |place| self.begun.swap_remove(place).1);
        if self.many_events {
            return;
        }
        if self.spans.len() == SPANS {
            self.many_events = true;
            self.spans = Vec::new();
            return;
        }
        self.spans.push(Span {
            index: event.index,
            start: start.min(end),
            end,
            chunks: (event.first_chunk, event.last_chunk),
            size: event.size,
            shared,
            name: event_name(event).into(),
        });
    }

    /// Makes fewer marks of them: at most two thirds of what there may be.
    fn condense(&mut self) {
        let (low, high) = self.range();
        let least = high.saturating_sub(low) / i64::try_from(self.most).unwrap_or(1);
        loop {
            if self.bin > 0 {
                let bin = self.bin;
                let place = |mark: &Mark| mark.at.saturating_sub(low).div_euclid(bin);
                let mut merged: Vec<Mark> = Vec::with_capacity(self.marks.len());
                for mark in self.marks.drain(..) {
                    match merged.last_mut() {
                        Some(last) if place(last) == place(&mark) => last.join(mark),
                        _ => merged.push(mark),
                    }
                }
                self.marks = merged;
            }
            if self.marks.len() <= self.most / 3 * 2 {
                break;
            }
            // It ends at the latest when all lie within one stretch.
            self.bin = self.bin.saturating_mul(2).max(least).max(1);
        }
    }

    /// The first and the last place of a mark.
    fn range(&self) -> (i64, i64) {
        let places = || self.marks.iter().map(|mark| mark.at);
        let first = places().min().unwrap_or(0);
        let start = self.spans.iter().map(|span| span.start).min().unwrap_or(first);
        (first.min(start), places().max().unwrap_or(0))
    }

    /// The drawing; `None` where there is nothing to draw.
    pub(super) fn figure(&self, anchor: &str) -> Option<Figure> {
        if self.marks.is_empty() {
            return None;
        }
        let (mut low, mut high) = self.range();
        if !self.by_octets {
            low = low.min(0); // the request, or whatever times count from
        }
        if low == high {
            high = low.saturating_add(1);
        }
        let span = (high as f64) - (low as f64);
        let x = |at: i64| percent(at as f64 - low as f64, span);
        let scale = Scale::new(self.marks.iter().map(|mark| mark.size));
        // The last sign that has its place, and how bad it is.
        let mut sign: Option<(i64, u8)> = None;
        let apart = span * SIGNS_APART;
        let marks = self.marks.iter().map(|mark| FigureMark {
            crowded: {
                let near = |(at, worst): (i64, u8)| {
                    (mark.at as f64 - at as f64).abs() < apart && worst >= mark.severity
                };
                let crowded = sign.is_some_and(near);
                if !crowded {
                    sign = Some((mark.at, mark.severity));
                }
                crowded
            },
            at: mark.at,
            x: x(mark.at),
            y: format!("{:.1}", TOP + PLOT - scale.height(mark.size)),
            verdict: severity_name(mark.severity),
            title: self.mark_title(mark),
            target: mark.first,
            count: mark.events,
        });
        let marks: Vec<_> = marks.collect();
        let (spans, lanes) = self.lanes(span, &x);
        let axis = TOP + PLOT;
        Some(Figure {
            anchor: anchor.to_owned(),
            low,
            high,
            by_octets: self.by_octets,
            dense: marks.len() > 90,
            marks,
            spans,
            many_events: self.many_events,
            ticks: ticks(low, high, self.by_octets),
            levels: scale.levels(),
            logarithmic: scale.logarithmic,
            axis,
            events_at: axis + 34.0,
            height: axis + 40.0 + LANE * lanes.max(1) as f64,
            summary: self.summary(low, high),
            note: (self.bin > 0).then(|| {
                let within = match self.by_octets {
                    true => counted(self.bin.unsigned_abs(), "octet"),
                    false => duration(self.bin),
                };
                format!(
                    "There are more chunks than marks: chunks that arrived within {within} of each other share \
                     one, which has the height of the largest and the sign of the worst."
                )
            }),
        })
    }

    fn mark_title(&self, mark: &Mark) -> String {
        let place = match self.by_octets {
            true => format!("up to octet {}", grouped(mark.at.unsigned_abs())),
            false => after(mark.at),
        };
        let frames = match mark.frames {
            Some((first, last)) if first == last => format!(", frame {first}"),
            Some((first, last)) => format!(", frames {}", range(first, last)),
            None => String::new(),
        };
        let verdict = severity_name(mark.severity);
        if mark.first == mark.last {
            let what = mark.what.as_deref().map(|what| format!(": {what}")).unwrap_or_default();
            return format!(
                "chunk {}, {place}, {} octets{frames}, {verdict}{what}",
                mark.first,
                both_bases(mark.size)
            );
        }
        format!(
            "chunks {}, {place}, up to {} octets{frames}, {}, {} of them failed",
            range(mark.first, mark.last),
            both_bases(mark.size),
            counted(mark.events, "event"),
            grouped(mark.failed),
        )
    }

    /// Spans in as few rows as possible, so that none covers another.
    fn lanes(&self, span: f64, x: &impl Fn(i64) -> String) -> (Vec<FigureSpan>, usize) {
        let apart = span * 0.012;
        let mut ends: Vec<f64> = Vec::new();
        let spans = self.spans.iter().map(|event| {
            let start = event.start as f64;
            let free = ends.iter().position(|end| start > end + apart);
            let lane = match free {
                Some(lane) => lane,
                None if ends.len() < LANES => {
                    ends.push(f64::MIN);
                    ends.len() - 1
                }
                None => LANES - 1,
            };
            if let Some(end) = ends.get_mut(lane) {
                *end = end.max(event.end as f64);
            }
            let split = event.chunks.0 != event.chunks.1;
            let in_chunks = match split {
                true => format!("split over chunks {}", range(event.chunks.0, event.chunks.1)),
                false if event.shared => format!("in chunk {} beside others", event.chunks.0),
                false => format!("alone in chunk {}", event.chunks.0),
            };
            let name = if event.name.is_empty() { String::new() } else { format!(", {}", event.name) };
            FigureSpan {
                start: event.start,
                end: event.end,
                x1: x(event.start),
                x2: x(event.end),
                y: TOP + PLOT + 34.0 + LANE * lane as f64,
                class: match (split, event.shared) {
                    (true, _) => "split",
                    (false, true) => "shared",
                    (false, false) => "alone",
                },
                title: format!("event {}{name}, {} octets, {in_chunks}", event.index, grouped(event.size)),
            }
        });
        let spans: Vec<_> = spans.collect();
        (spans, ends.len())
    }

    /// The drawing in words, for who doesn't see it.
    fn summary(&self, low: i64, high: i64) -> String {
        let count: u64 = self.marks.iter().map(|mark| mark.last - mark.first + 1).sum();
        let failed: u64 = self.marks.iter().map(|mark| mark.failed).sum();
        let largest = self.marks.iter().map(|mark| mark.size).max().unwrap_or(0);
        let over = match self.by_octets {
            true => format!("over {} of the body", counted(high.saturating_sub(low).unsigned_abs(), "octet")),
            false => format!("over {}", duration(high.saturating_sub(low))),
        };
        let failed = match failed {
            0 => "none of them failed".to_owned(),
            failed => format!("{} failed", chunks(failed)),
        };
        format!("{} {over}, the largest of {} octets; {failed}.", chunks(count), grouped(largest))
    }
}

impl Mark {
    fn join(&mut self, other: Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.frames = match (self.frames, other.frames) {
            (Some((first, last)), Some((from, to))) => Some((first.min(from), last.max(to))),
            (frames, others) => frames.or(others),
        };
        self.size = self.size.max(other.size);
        self.events += other.events;
        self.severity = self.severity.max(other.severity);
        self.failed += other.failed;
        self.what = None;
    }
}

/// How sizes become heights: in proportion, or by their logarithm where the
/// largest would press all the others to the ground.
#[derive(Debug)]
struct Scale {
    largest: u64,
    logarithmic: bool,
}

impl Scale {
    fn new(sizes: impl Iterator<Item = u64>) -> Self {
        let mut sizes: Vec<u64> = sizes.collect();
        sizes.sort_unstable();
        let largest = sizes.last().copied().unwrap_or(1).max(1);
        let median = sizes.get(sizes.len() / 2).copied().unwrap_or(1).max(1);
        Self { largest, logarithmic: largest / median >= 40 }
    }

    fn height(&self, size: u64) -> f64 {
        let share = match self.logarithmic {
            true => (size as f64 + 1.0).ln() / (self.largest as f64 + 1.0).ln(),
            false => size as f64 / self.largest as f64,
        };
        (share * PLOT).max(3.0)
    }

    /// Sizes that are marked at the left.
    fn levels(&self) -> Vec<Level> {
        let sizes: Vec<u64> = if self.logarithmic {
            (1..10).map(|power| 16u64.pow(power)).filter(|size| *size <= self.largest).collect()
        } else {
            let step = power_of_two_step(self.largest);
            (1..=4).map(|times| step * times).filter(|size| *size <= self.largest).collect()
        };
        let levels = sizes.into_iter().map(|size| Level {
            y: format!("{:.1}", TOP + PLOT - self.height(size)),
            label: octets_label(size),
        });
        levels.collect()
    }
}

/// A power of two that goes two to four times into a size.
const fn power_of_two_step(largest: u64) -> u64 {
    match largest {
        0..=3 => 1,
        _ => 1 << (largest.ilog2() - 1),
    }
}

/// `512`, `4 KiB`.
pub(super) fn octets_label(octets: u64) -> String {
    match octets {
        0..1024 => octets.to_string(),
        1024..1_048_576 if octets.is_multiple_of(1024) => format!("{}\u{a0}KiB", octets >> 10),
        _ if octets.is_multiple_of(1 << 30) => format!("{}\u{a0}GiB", octets >> 30),
        _ if octets.is_multiple_of(1 << 20) => format!("{}\u{a0}MiB", octets >> 20),
        _ => grouped(octets),
    }
}

/// Round places along the axis, at most seven.
fn ticks(low: i64, high: i64, octets: bool) -> Vec<Tick> {
    let span = (high as f64) - (low as f64);
    let step = round_step(span / 5.0);
    let mut ticks = Vec::new();
    let mut at = (low as f64 / step).ceil() * step;
    while at <= high as f64 && ticks.len() < 8 {
        let label = match octets {
            true => grouped(at.max(0.0) as u64),
            false => tick_label(at, (low as f64).abs().max(high as f64), step),
        };
        ticks.push(Tick { x: percent(at - low as f64, span), label });
        at += step;
    }
    ticks
}

/// 1, 2 or 5 times a power of ten, at least one.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.max(1.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power);
    step.into_iter().find(|step| *step >= rough).unwrap_or(power * 10.0)
}

/// A time in the unit of the longest one, with the decimals that its step has.
fn tick_label(nanos: f64, longest: f64, step: f64) -> String {
    let (unit, name) = match longest {
        1e9.. => (1e9, "s"),
        1e6.. => (1e6, "ms"),
        1e3.. => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    let decimals = (unit / step).log10().ceil().clamp(0.0, 9.0) as usize;
    format!("{:.decimals$}\u{a0}{name}", nanos / unit)
}

/// The drawing.
#[derive(Debug, Template)]
#[template(path = "timeline.html")]
pub(super) struct Figure {
    anchor: String,
    low: i64,
    high: i64,
    by_octets: bool,
    /// Whether marks stand too close for signs above them.
    dense: bool,
    marks: Vec<FigureMark>,
    spans: Vec<FigureSpan>,
    many_events: bool,
    ticks: Vec<Tick>,
    levels: Vec<Level>,
    logarithmic: bool,
    axis: f64,
    events_at: f64,
    height: f64,
    summary: String,
    note: Option<String>,
}

#[derive(Debug)]
struct FigureMark {
    /// Whether its sign would cover another.
    crowded: bool,
    at: i64,
    x: String,
    y: String,
    verdict: &'static str,
    title: String,
    target: u64,
    count: u64,
}

#[derive(Debug)]
struct FigureSpan {
    start: i64,
    end: i64,
    x1: String,
    x2: String,
    y: f64,
    class: &'static str,
    title: String,
}

#[derive(Debug)]
struct Tick {
    x: String,
    label: String,
}

#[derive(Debug)]
struct Level {
    y: String,
    label: String,
}
