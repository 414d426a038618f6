//! The rows of a chunk table: what is said of each chunk, and how it fits.
//!
//! Rows are laid out page by page, so that a table of any length streams: the
//! first page settles the columns, later ones only widen what must not be cut.
//! A row takes one line, always: what doesn't fit shrinks, the payload first,
//! then the object; if that isn't enough, columns give way.
//!
//! comfy-table pads text of any width. Rows whose text takes a column a
//! character, as nearly all do, are padded by counting, to the same lines.

use std::borrow::Cow;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid, Width};

use crate::event::Kind;
use crate::report::payload::Payload;
use crate::report::prose::{Mark, Prose};
use crate::report::text::{
    TextOptions, Tone, counted, fit, fit_middle, frame_ranges, plain_width, preview, printable,
    printable_octets, seconds, slack, width,
};
use crate::report::{Event, Expect, JudgedChunk};
use crate::units::Timestamp;
use crate::verdict::Verdict;

const NUMBER: usize = 0;
const TIME: usize = 1;
const HEX: usize = 2;
const SIZE: usize = 3;
const VERDICT: usize = 4;
const EVENT: usize = 5;
const OBJECT: usize = 6;
const VERSION: usize = 7;
const ID: usize = 8;
const FRAMES: usize = 9;
const PAYLOAD: usize = 10;
const COLUMNS: usize = 11;

const NAMES: [&str; COLUMNS] =
    ["#", "time", "hex", "size", "verdict", "event", "object", "version", "id", "frames", "payload"];

/// Columns that numbers stand in, one under the other.
const RIGHT: [usize; 4] = [NUMBER, TIME, HEX, SIZE];

/// What a column may shrink to, in the order in which they do, as long as all
/// stay. A payload that is cut still tells something, an object hardly does.
const SHRINK: [(usize, usize); 4] = [(PAYLOAD, 12), (OBJECT, 48), (EVENT, 32), (ID, 16)];

/// The same where columns have given way.
const SHRINK_FURTHER: [(usize, usize); 3] = [(OBJECT, 20), (EVENT, 16), (ID, 8)];

/// Room for what later pages may bring: columns that have content, and those
/// that a watch will fill.
const ROOM: [(usize, usize); 6] = [(NUMBER, 7), (TIME, 10), (HEX, 5), (SIZE, 6), (VERDICT, 10), (FRAMES, 12)];
const WATCH_ROOM: [(usize, usize); 3] = [(EVENT, 10), (OBJECT, 30), (VERSION, 8)];

/// Columns that give way where that isn't enough, in this order.
const GIVE_WAY: [usize; 7] = [PAYLOAD, VERSION, ID, VERDICT, TIME, OBJECT, EVENT];

/// What an event cell takes at most.
const EVENT_COLUMNS: usize = 32;

/// Between columns.
const GAP: usize = 2;

/// Left of the first column: the mark and a blank.
const MARGIN: usize = 2;

/// A line of a chunk table, and what stands below it.
#[derive(Debug)]
pub(super) enum Item {
    Row(Box<Row>),
    /// How many chunks aren't listed here, in words.
    Hidden(String),
}

impl Item {
    fn row(&self) -> Option<&Row> {
        match self {
            Self::Row(row) => Some(row),
            Self::Hidden(_) => None,
        }
    }
}

/// What is listed of a chunk. Safe to print.
#[derive(Debug)]
pub(super) struct Row {
    mark: Mark,
    nanos: Option<i128>,
    cells: [String; COLUMNS],
    below: Option<String>,
}

impl Row {
    /// The row of a chunk; times count from `base`.
    pub(super) fn new(
        judged: &JudgedChunk,
        expect: Option<Expect>,
        base: Option<Timestamp>,
        options: &TextOptions,
    ) -> Self {
        let chunk = &judged.chunk;
        let mut cells: [String; COLUMNS] = Default::default();
        let mut set = |column: usize, text: String| {
            if let Some(cell) = cells.get_mut(column) {
                *cell = text;
            }
        };
        set(NUMBER, chunk.index.to_string());
        let mut hex = fit(chunk.size_hex(), 16).into_owned();
        if let Some(extensions) = chunk.extensions() {
            hex.push_str(&fit(&printable(&extensions), 12));
        }
        set(HEX, hex);
        set(
            SIZE,
            match chunk.received < chunk.size {
                true => format!("{}/{}", chunk.received, chunk.size),
                false => chunk.size.to_string(),
            },
        );
        if judged.exchange.stream.is_some() {
            set(FRAMES, frame_ranges(&chunk.frames(), 2));
        }
        set(EVENT, event_cell(judged, expect));
        set(OBJECT, object_cell(&judged.events));
        set(VERSION, version_cell(&judged.events));
        if let [event] = judged.events.as_slice() {
            set(ID, fit(&printable(event.summary.id.as_deref().unwrap_or_default()), 24).into_owned());
        }
        let fails = options.allow.fails(&judged.verdict);
        let mark = match judged.verdict {
            _ if fails => Mark::Bad,
            Verdict::Unverified(_) => Mark::Doubt,
            _ => Mark::None,
        };
        if !matches!(judged.verdict, Verdict::One | Verdict::Unchecked(_)) {
            set(VERDICT, judged.verdict.name().to_owned());
        }
        let mut below = None;
        match options.payload {
            Payload::None => {}
            Payload::Preview => set(PAYLOAD, payload_cell(judged, expect, options.width)),
            Payload::Full => below = Some(whole_payload(judged)),
        }
        let nanos = base.and_then(|base| Some(chunk.last.at?.nanos_since(base)));
        Self { mark, nanos, cells, below }
    }

    fn cell(&self, column: usize) -> &str {
        self.cells.get(column).map_or("", String::as_str)
    }

    /// Fills in the time, whose decimals are settled by others.
    fn tell_time(&mut self, decimals: u32) {
        let Some(nanos) = self.nanos else { return };
        if let Some(cell) = self.cells.get_mut(TIME) {
            let sign = if nanos < 0 { "" } else { "+" };
            *cell = format!("{sign}{}", seconds(nanos, decimals));
        }
    }

    /// Octets of memory it takes, about.
    pub(super) fn weight(&self) -> usize {
        let texts: usize = self.cells.iter().map(String::len).sum();
        size_of::<Self>() + texts + self.below.as_ref().map_or(0, String::len)
    }
}

/// `ADDED`, `ADDED ×4, BOOKMARK`; `…ADDED` began in an earlier chunk and
/// `ADDED…` goes on in a later one.
pub(super) fn event_cell(judged: &JudgedChunk, expect: Option<Expect>) -> String {
    let chunk = &judged.chunk;
    if chunk.unfinished {
        return "(unfinished)".to_owned();
    }
    if judged.events.is_empty() {
        return match &judged.verdict {
            Verdict::Part | Verdict::Mixed => "(never whole)".to_owned(),
            Verdict::Invalid(_) => "(no event)".to_owned(),
            Verdict::Unverified(_) if chunk.lacks_octets() => "(lacks octets)".to_owned(),
            Verdict::Unchecked(Some(reason)) => format!("({})", fit(&printable(reason), EVENT_COLUMNS - 2)),
            Verdict::Unverified(_) | Verdict::One | Verdict::Several | Verdict::Unchecked(None) => {
                String::new()
            }
        };
    }
    let plain = matches!(expect, Some(Expect::Kind(Kind::Json | Kind::Ndjson)));
    if plain && matches!(judged.verdict, Verdict::One) {
        return String::new(); // the payload says it
    }
    let label = |event: &Event| {
        let name = event.summary.event_type.as_deref().unwrap_or(if plain { "text" } else { "event" });
        let before = if event.first_chunk < chunk.index { "…" } else { "" };
        let after = if event.last_chunk > chunk.index { "…" } else { "" };
        format!("{before}{}{after}", fit(&printable(name), 20))
    };
    let mut text = String::new();
    let mut at = 0;
    while let Some(event) = judged.events.get(at) {
        let one = label(event);
        let like = judged.events.iter().skip(at + 1).take_while(|event| label(event) == one);
        let run = 1 + like.count();
        let times = if run > 1 { format!(" ×{run}") } else { String::new() };
        let comma = if at > 0 { ", " } else { "" };
        let left = judged.events.len() - at;
        if at > 0 && width(&text) + width(&one) + width(&times) + 2 > EVENT_COLUMNS {
            text.push_str(&format!(", +{left}"));
            break;
        }
        text.push_str(&format!("{comma}{one}{times}"));
        at += run;
    }
    text
}

/// `ConfigMap kube-system/coredns`, with `+8` where others follow.
pub(super) fn object_cell(events: &[std::sync::Arc<Event>]) -> String {
    let name = |event: &Event| {
        let summary = &event.summary;
        let mut text = summary.kind.as_deref().unwrap_or_default().to_owned();
        let named = match (&summary.namespace, &summary.name) {
            (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
            (None, Some(name)) => name.to_string(),
            (Some(namespace), None) => format!("{namespace}/"),
            (None, None) => String::new(),
        };
        if !text.is_empty() && !named.is_empty() {
            text.push(' ');
        }
        text.push_str(&named);
        fit(&printable(&text), 120).into_owned()
    };
    let Some(first) = events.first() else { return String::new() };
    let text = name(first);
    let others = events.iter().filter(|event| event.summary.name != first.summary.name).count();
    if others > 0 && !text.is_empty() { format!("{text} +{others}") } else { text }
}

/// `231`, or `231–239` of several events.
pub(super) fn version_cell(events: &[std::sync::Arc<Event>]) -> String {
    let mut versions = events.iter().filter_map(|event| event.summary.resource_version.as_deref());
    let Some(first) = versions.next() else { return String::new() };
    let last = versions.next_back().filter(|last| *last != first);
    let text = last.map_or_else(|| first.to_owned(), |last| format!("{first}–{last}"));
    fit(&printable(&text), 24).into_owned()
}

/// The start of the payload, or of what it decodes to, without the line end that
/// closes it; for a server-sent event, of its data.
pub(super) fn payload_cell(judged: &JudgedChunk, expect: Option<Expect>, columns: usize) -> String {
    if expect == Some(Expect::Kind(Kind::Sse))
        && let ([event], Verdict::One) = (judged.events.as_slice(), &judged.verdict)
        && let Some(data) = &event.summary.data
    {
        return fit(&printable(data), columns).into_owned();
    }
    // What is compressed tells a reader nothing; what it decodes to does.
    let payload = judged.decoded.as_ref().map_or(&judged.chunk.payload, |decoded| &decoded.octets);
    preview(payload.trim_ascii_end(), columns)
}

/// All of the payload that was kept, or of what it decodes to, each of its lines
/// on one below the row.
pub(super) fn whole_payload(judged: &JudgedChunk) -> String {
    let (kept, octets) = match &judged.decoded {
        Some(decoded) => (&decoded.octets, decoded.span.end.saturating_sub(decoded.span.start)),
        None => (&judged.chunk.payload, judged.chunk.received),
    };
    let mut text = String::with_capacity(kept.len() + 64);
    let payload = kept.strip_suffix(b"\n").unwrap_or(kept);
    for line in payload.split(|&octet| octet == b'\n') {
        text.push_str("      ");
        text.push_str(&printable_octets(line));
        text.push('\n');
    }
    let cut = octets.saturating_sub(kept.len() as u64);
    if cut > 0 {
        text.push_str(&format!("      … {} more, not kept\n", counted(cut, "octet")));
    }
    text
}

/// The line with the columns' names that was written last: tables alike have
/// the same.
#[derive(Debug, Default)]
pub(super) struct Names {
    widths: [usize; COLUMNS],
    sse: bool,
    line: String,
}

/// How the pages of one table are laid out.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Columns in use with their widths; settled by the first page.
    widths: [usize; COLUMNS],
    decimals: u32,
    begun: bool,
}

impl Layout {
    /// Lays out the next page. `last` tells that no other follows.
    pub(super) fn page(
        &mut self,
        items: &mut [Item],
        names: &mut Names,
        prose: Prose,
        expect: Option<Expect>,
        last: bool,
    ) -> String {
        self.tell_times(items);
        let rows: Vec<&Row> = items.iter().filter_map(Item::row).collect();
        let first = !self.begun;
        let mut text = String::new();
        let mut lines = Vec::new().into_iter();
        if !rows.is_empty() {
            self.settle(&rows, prose.width, expect, last);
            lines = self.lines(&rows).into_iter();
            if first {
                let names = self.names(names, expect);
                text.push_str(&prose.paint.tone(Tone::Faint, &format!("  {names}")));
                text.push('\n');
            }
        }
        for item in &*items {
            match item {
                Item::Hidden(words) => {
                    text.push_str(&prose.paint.tone(Tone::Faint, &format!("  … {words}")));
                    text.push('\n');
                }
                Item::Row(row) => {
                    let line = lines.next().unwrap_or_default();
                    let mark = prose.paint.tone(row.mark.tone(), row.mark.sign());
                    let tone = row.mark == Mark::None;
                    text.push_str(if tone { " " } else { &mark });
                    text.push(' ');
                    text.push_str(&line);
                    text.push('\n');
                    text.push_str(row.below.as_deref().unwrap_or_default());
                }
            }
        }
        text
    }

    /// Fills in the times of rows, of which the first ones settle the decimals.
    fn tell_times(&mut self, items: &mut [Item]) {
        let rows = || items.iter().filter_map(Item::row);
        if !self.begun && rows().next().is_some() {
            let longest = rows().filter_map(|row| row.nanos).map(i128::abs).max().unwrap_or(0);
            self.decimals = if longest < 100_000_000 { 6 } else { 3 };
        }
        for item in items {
            if let Item::Row(row) = item {
                row.tell_time(self.decimals);
            }
        }
    }

    /// Settles which columns there are, and how wide.
    fn settle(&mut self, rows: &[&Row], columns: usize, expect: Option<Expect>, last: bool) {
        let mut natural = [0; COLUMNS];
        for (column, wide) in natural.iter_mut().enumerate() {
            *wide = rows.iter().map(|row| width(row.cell(column))).max().unwrap_or(0);
            if *wide > 0 {
                *wide = (*wide).max(NAMES.get(column).map_or(0, |name| width(name)));
            }
        }
        if !self.begun && !last {
            // So that later pages look like this one.
            let watch = if matches!(expect, Some(Expect::Kind(kind)) if kind.is_watch()) {
                &WATCH_ROOM[..]
            } else {
                &[]
            };
            for &(column, room) in ROOM.iter().chain(watch) {
                let filled = natural.get(column).is_some_and(|wide| *wide > 0);
                if filled || column == VERDICT || !watch.is_empty() && column != TIME {
                    natural.get_mut(column).into_iter().for_each(|wide| *wide = (*wide).max(room));
                }
            }
        }
        for (column, (settled, wide)) in self.widths.iter_mut().zip(natural).enumerate() {
            let shrinks = SHRINK.iter().any(|(shrinks, _)| *shrinks == column);
            *settled = match self.begun {
                false => wide,
                // What is wider now widens its column, where it must not be cut.
                true if shrinks || *settled == 0 => *settled,
                true => (*settled).max(wide),
            };
        }
        self.begun = true;
        let slack = rows.iter().map(|row| row.cells.iter().map(|cell| slack(cell)).sum()).max().unwrap_or(0);
        self.widths = fitted(self.widths, columns.saturating_sub(slack));
    }

    /// The line of the columns' names.
    fn names<'n>(&self, names: &'n mut Names, expect: Option<Expect>) -> &'n str {
        let sse = expect == Some(Expect::Kind(Kind::Sse));
        if names.line.is_empty() || names.widths != self.widths || names.sse != sse {
            let line = self.grid(&[], Some(sse)).pop().unwrap_or_default();
            *names = Names { widths: self.widths, sse, line };
        }
        &names.line
    }

    /// The lines of rows.
    fn lines(&self, rows: &[&Row]) -> Vec<String> {
        // Most text takes a column a character: that is padded by counting.
        let plain: Option<Vec<String>> = rows.iter().map(|row| self.plain_line(row)).collect();
        plain.unwrap_or_else(|| self.grid(rows, None))
    }

    /// The line of a row, as [`Self::grid`] lays it out; `None` if it has text
    /// whose width isn't that simple.
    fn plain_line(&self, row: &Row) -> Option<String> {
        let mut line = String::with_capacity(self.widths.iter().map(|wide| wide + GAP).sum());
        let pad = |line: &mut String, columns: usize| line.extend(std::iter::repeat_n(' ', columns));
        for (column, wide) in self.used() {
            let text = cut(column, row.cell(column), wide);
            let free = wide.saturating_sub(plain_width(&text)?);
            if RIGHT.contains(&column) {
                pad(&mut line, free);
                line.push_str(&text);
            } else {
                line.push_str(&text);
                pad(&mut line, free);
            }
            pad(&mut line, GAP);
        }
        line.truncate(line.trim_end().len());
        Some(line)
    }

    /// The columns in use with their widths.
    fn used(&self) -> impl Iterator<Item = (usize, usize)> {
        self.widths.into_iter().enumerate().filter(|(_, wide)| *wide > 0)
    }

    /// The lines of rows, or that of the names (where they are asked for, with
    /// those for server-sent events or without).
    fn grid(&self, rows: &[&Row], names: Option<bool>) -> Vec<String> {
        let used: Vec<_> = self.used().collect();
        let mut grid = Grid::new();
        grid.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if let Some(sse) = names {
            grid.set_header(used.iter().map(|&(column, wide)| {
                let name = if sse && column == PAYLOAD {
                    "data"
                } else {
                    NAMES.get(column).copied().unwrap_or_default()
                };
                aligned(column, fit(name, wide).into_owned())
            }));
        }
        for row in rows {
            grid.add_row(
                used.iter()
                    .map(|&(column, wide)| aligned(column, cut(column, row.cell(column), wide).into_owned())),
            );
        }
        let last = used.len().saturating_sub(1);
        for (place, &(_, wide)) in used.iter().enumerate() {
            let Some(column) = grid.column_mut(place) else { continue };
            let gap = if place < last { GAP } else { 0 };
            let [wide, gap] = [wide, gap].map(|columns| u16::try_from(columns).unwrap_or(u16::MAX));
            column.set_padding((0, gap));
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(wide.saturating_add(gap))));
        }
        let trimmed = |mut line: String| {
            line.truncate(line.trim_end().len());
            line
        };
        grid.lines().map(trimmed).collect()
    }
}

/// Widths that fit, the table's margin included: as few columns give way as
/// must, and those that are left shrink as little as will do.
fn fitted(natural: [usize; COLUMNS], columns: usize) -> [usize; COLUMNS] {
    let total = |widths: &[usize; COLUMNS]| {
        let used = widths.iter().filter(|wide| **wide > 0);
        MARGIN + used.clone().sum::<usize>() + GAP * used.count().saturating_sub(1)
    };
    let mut widths = natural;
    for dropped in 0..=GIVE_WAY.len() {
        widths = natural;
        for &column in GIVE_WAY.iter().take(dropped) {
            widths.get_mut(column).into_iter().for_each(|wide| *wide = 0);
        }
        let shrink = if dropped == 0 { &SHRINK[..] } else { &SHRINK_FURTHER[..] };
        for &(column, least) in shrink {
            let over = total(&widths).saturating_sub(columns);
            if let Some(wide) = widths.get_mut(column) {
                *wide = (*wide).min(wide.saturating_sub(over).max(least));
            }
        }
        if total(&widths) <= columns {
            break;
        }
    }
    widths
}

/// What is shown of a cell: the end of an object's name tells it from others.
fn cut(column: usize, text: &str, wide: usize) -> Cow<'_, str> {
    if column == OBJECT { fit_middle(text, wide) } else { fit(text, wide) }
}

fn aligned(column: usize, text: String) -> Cell {
    let side = if RIGHT.contains(&column) { CellAlignment::Right } else { CellAlignment::Left };
    Cell::new_owned(text).set_alignment(side)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cell() -> impl Strategy<Value = String> {
        prop_oneof![4 => "[ -~]{0,20}", 2 => "[a-z…–×]{0,20}", 1 => "[a-z日é\u{301}]{0,6}"]
    }

    proptest! {
        #[test]
        fn plain_rows_are_laid_out_as_all_are(
            cells in prop::collection::vec(prop::array::uniform11(cell()), 1..4),
            columns in 20usize..200,
            last: bool,
        ) {
            let row = |cells| Row { mark: Mark::None, nanos: None, cells, below: None };
            let rows: Vec<Row> = cells.into_iter().map(row).collect();
            let rows: Vec<&Row> = rows.iter().collect();
            let mut layout = Layout::default();
            layout.settle(&rows, columns, None, last);
            for row in &rows {
                if let Some(line) = layout.plain_line(row) {
                    prop_assert_eq!(vec![line], layout.grid(&[row], None));
                }
            }
            prop_assert_eq!(layout.lines(&rows), layout.grid(&rows, None));
        }
    }
}
