//! How sizes and times spread: the sizes of chunks with their peaks named, and
//! the time between events.
//!
//! A size that occurs again and again is that of a buffer somewhere rather
//! than that of what was written. What the page says of a peak is what is
//! known of the number; whether it is the cause here, it doesn't claim.

use std::collections::HashMap;

use askama::Template;

use super::timeline::octets_label;
use super::words::{both_bases, duration, percent};
use crate::report::text::{counted, grouped};

/// Different sizes that are counted one by one.
const SIZES: usize = 2048;

/// Bars of a drawing in equal steps.
const BARS: u64 = 16;

/// Peaks that are named.
const PEAKS: usize = 4;

/// Sizes that buffers are known to have.
const KNOWN: [(u64, &str); 6] = [
    (2048, "Go's net/http writes a response through a buffer of this size"),
    (4096, "a common size of a read, as of Go's reverse proxies (kubectl proxy)"),
    (8192, "a common size of a proxy's buffer, as of nginx"),
    (16_384, "the largest frame of HTTP/2 by default"),
    (32_768, "the buffer that Go's reverse proxies copy through"),
    (65_536, "a common size of a buffer"),
];

/// The sizes of an exchange's chunks.
#[derive(Debug)]
pub(super) struct Sizes {
    exact: HashMap<u64, u64, foldhash::fast::RandomState>,
    /// By the power of two below.
    powers: [u64; 64],
    chunks: u64,
    least: u64,
    most: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { exact: HashMap::default(), powers: [0; 64], chunks: 0, least: u64::MAX, most: 0 }
    }
}

impl Sizes {
    /// Counts a chunk.
    pub(super) fn push(&mut self, size: u64) {
        self.chunks += 1;
        self.least = self.least.min(size);
        self.most = self.most.max(size);
        if let Some(count) = size.checked_ilog2().and_then(|power| self.powers.get_mut(power as usize)) {
            *count += 1;
        }
        if self.exact.len() < SIZES || self.exact.contains_key(&size) {
            *self.exact.entry(size).or_default() += 1;
        }
    }

    /// The sizes that occur strikingly often, the commonest first.
    fn peaks(&self) -> Vec<(u64, u64)> {
        // Chunks of a stream that are all alike are no peak but the stream.
        let least = (self.chunks / 20).max(3);
        let mut peaks: Vec<_> = self
            .exact
            .iter()
            .map(|(size, count)| (*size, *count))
            .filter(|(_, count)| *count >= least)
            .collect();
        peaks.sort_unstable_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
        peaks.truncate(PEAKS);
        peaks
    }

    /// The drawing; `None` where there are too few for one.
    pub(super) fn figure(&self, anchor: &str) -> Option<Figure> {
        if self.chunks < 4 {
            return None;
        }
        let linear = self.exact.len() < SIZES && self.most < self.least.saturating_mul(8).saturating_add(64);
        let bars = if linear { self.steps() } else { self.powers() };
        let peaks = self.peaks().into_iter().map(|(size, count)| {
            let known = KNOWN.iter().find(|(known, _)| *known == size).map(|(_, what)| format!(": {what}"));
            let known = known.unwrap_or_default();
            format!(
                "{} octets, {} of {}{known}",
                both_bases(size),
                grouped(count),
                counted(self.chunks, "chunk")
            )
        });
        Some(Figure {
            anchor: format!("{anchor}-sizes"),
            title: "Chunk sizes",
            unit: "octets",
            caption: match self.least == self.most {
                true => format!("Each has {} octets.", both_bases(self.least)),
                false => format!("From {} to {} octets.", both_bases(self.least), both_bases(self.most)),
            },
            peaks: if self.least == self.most { Vec::new() } else { peaks.collect() },
            bars: draw(bars),
            noun: "chunks",
        })
    }

    /// Equal steps of a round size.
    fn steps(&self) -> Vec<(String, u64)> {
        let rough = (self.most - self.least) / BARS + 1;
        let step = rough.next_power_of_two();
        let first = self.least / step;
        let mut bars = Vec::new();
        for place in first..=(self.most / step).min(first + 2 * BARS) {
            let (from, to) = (place * step, place * step + step);
            let count =
                self.exact.iter().filter(|(size, _)| (from..to).contains(*size)).map(|(_, count)| count);
            let label =
                if step == 1 { from.to_string() } else { format!("{}–{}", grouped(from), grouped(to - 1)) };
            bars.push((label, count.sum()));
        }
        bars
    }

    /// Powers of two.
    fn powers(&self) -> Vec<(String, u64)> {
        let from = self.powers.iter().position(|count| *count > 0).unwrap_or(0);
        let to = self.powers.iter().rposition(|count| *count > 0).unwrap_or(0);
        let bars = self.powers.iter().enumerate().skip(from).take(to + 1 - from).map(|(power, count)| {
            let low = 1u64 << power;
            let high = low.checked_mul(2).map_or_else(|| "2⁶⁴".to_owned(), octets_label);
            (format!("{} to below {high}", octets_label(low)), *count)
        });
        bars.collect()
    }
}

/// The times between the ends of an exchange's events.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    last: Option<i64>,
    /// By half powers of ten of nanoseconds, those of no time at all first.
    halves: [u64; 32],
    count: u64,
    total: i128,
    least: Option<i64>,
    most: i64,
}

impl Gaps {
    /// An event is whole, so long after what times count from.
    pub(super) fn push(&mut self, at: i64) {
        if let Some(last) = self.last.replace(at) {
            let gap = at.saturating_sub(last).max(0);
            let place = if gap == 0 { 0 } else { 1 + (2.0 * (gap as f64).log10()).floor().max(0.0) as usize };
            // What takes longer than a month is at the last place.
            let place = place.min(self.halves.len() - 1);
            if let Some(count) = self.halves.get_mut(place) {
                *count += 1;
            }
            self.count += 1;
            self.total += i128::from(gap);
            self.least = Some(self.least.map_or(gap, |least| least.min(gap)));
            self.most = self.most.max(gap);
        }
    }

    /// The mean time between events, in words.
    pub(super) fn mean(&self) -> Option<String> {
        let mean = self.total.checked_div(i128::from(self.count))?;
        Some(duration(i64::try_from(mean).unwrap_or(i64::MAX)))
    }

    /// The drawing; `None` where there are too few for one.
    pub(super) fn figure(&self, anchor: &str) -> Option<Figure> {
        if self.count < 3 {
            return None;
        }
        let from = self.halves.iter().position(|count| *count > 0)?;
        let to = self.halves.iter().rposition(|count| *count > 0)?;
        let bars = self.halves.iter().enumerate().skip(from).take(to + 1 - from).map(|(place, count)| {
            let bound = |place: usize| duration(10f64.powf(place as f64 / 2.0).round() as i64);
            let label = match place.checked_sub(1) {
                None => "at the same time".to_owned(),
                Some(place) => format!("{} to {}", bound(place), bound(place + 1)),
            };
            (label, *count)
        });
        Some(Figure {
            anchor: format!("{anchor}-gaps"),
            title: "Time between events",
            unit: "time",
            caption: format!(
                "From {} to {}, {} on average.",
                duration(self.least?),
                duration(self.most),
                self.mean()?
            ),
            peaks: Vec::new(),
            bars: draw(bars.collect()),
            noun: "times",
        })
    }
}

/// A distribution as horizontal bars: labels are read as they are, on a phone
/// too.
#[derive(Debug, Template)]
#[template(path = "spread.html")]
pub(super) struct Figure {
    anchor: String,
    title: &'static str,
    unit: &'static str,
    caption: String,
    peaks: Vec<String>,
    bars: Vec<Bar>,
    noun: &'static str,
}

#[derive(Debug)]
struct Bar {
    label: String,
    count: String,
    width: String,
    /// Nothing here.
    empty: bool,
}

/// The bars, in proportion to the highest. Long stretches of empty ones in
/// between become one.
fn draw(bars: Vec<(String, u64)>) -> Vec<Bar> {
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let mut drawn: Vec<Bar> = Vec::new();
    for (label, count) in bars {
        if count == 0 && drawn.last().is_some_and(|bar| bar.empty) {
            if let Some(last) = drawn.last_mut() {
                last.label = "…".to_owned();
            }
            continue;
        }
        let width = percent(count as f64, most as f64);
        drawn.push(Bar { label, count: grouped(count), width, empty: count == 0 });
    }
    drawn
}
