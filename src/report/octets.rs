//! Octets as one sees them in Wireshark's panes: offset, hex, text; and the
//! frame that each row came from.
//!
//! A chunk's octets lie on the wire in the order size line, payload, closing;
//! its trail tells run by run which frame delivered them. Rows are split where
//! the frame changes, so each row came from one frame, and where an event
//! begins. Colours tell what an octet is; so do the notes, where there are none.

use std::fmt::Write as _;
use std::ops::Range;

use crate::chunk::Run;
use crate::report::prose::Prose;
use crate::report::text::{Paint, Tone, counted, frame_ranges, preview};
use crate::units::FrameNo;

/// Octets of a row.
pub(super) const ROW: u64 = 16;

/// Payload octets that are shown of a long payload: its beginning and its end.
pub(super) const HEAD: u64 = 6 * ROW;
pub(super) const TAIL: u64 = 2 * ROW;

/// Beginnings of events that are shown in between.
const SHOWN_EDGES: usize = 4;

/// Octets of a chunk's payload that belong to an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventSpan {
    /// The event's number.
    pub(super) index: u64,
    /// Its octets, as far as they lie in the chunk, from the payload's first on.
    pub(super) range: Range<u64>,
    /// Whether the event begins in the chunk.
    pub(super) begins: bool,
}

/// Walks a trail in steps of any length.
#[derive(Debug)]
pub(super) struct Trail<'a> {
    runs: std::slice::Iter<'a, Run>,
    run: Option<Run>,
    /// Whether there are frames at all: raw HTTP has none, and no holes.
    framed: bool,
}

impl<'a> Trail<'a> {
    pub(super) fn new(runs: &'a [Run]) -> Self {
        let framed = runs.iter().any(|run| run.frame.is_some());
        let mut runs = runs.iter();
        let run = runs.next().copied();
        Self { runs, run, framed }
    }

    /// Whether the capture lacks the next octets.
    pub(super) fn at_hole(&mut self) -> bool {
        self.settle();
        self.framed && self.run.is_none_or(|run| run.frame.is_none())
    }

    fn settle(&mut self) {
        while self.run.is_some_and(|run| run.len == 0) {
            self.run = self.runs.next().copied();
        }
    }

    /// Goes on by so many octets.
    pub(super) fn skip(&mut self, mut octets: u64) {
        self.settle();
        while octets > 0 && self.run.is_some() {
            octets -= self.step(octets).len;
        }
    }

    /// The next octets, at most `most`, that share a frame. A trail that is
    /// shorter than what is asked of it goes on without a frame.
    pub(super) fn step(&mut self, most: u64) -> Run {
        self.settle();
        match &mut self.run {
            Some(run) => {
                let len = most.min(run.len);
                run.len -= len;
                Run { len, frame: run.frame }
            }
            None => Run { len: most, frame: None },
        }
    }
}

/// Draws octets into text.
#[derive(Debug)]
pub(super) struct Pane {
    prose: Prose,
    /// The frame that the rows above came from.
    frame: Option<FrameNo>,
    text: String,
}

impl Pane {
    /// A pane whose heading has named `frame` already.
    pub(super) fn new(prose: Prose, frame: Option<FrameNo>) -> Self {
        Self { prose, frame, text: String::new() }
    }

    /// Octets of framing, all of which are there, and beside the last of them
    /// what they are: `digits` of a size, an extension, a line end.
    pub(super) fn framing(&mut self, trail: &mut Trail<'_>, octets: &[u8], digits: usize, note: &str) {
        let line_end = octets.iter().rev().take_while(|octet| matches!(octet, b'\r' | b'\n')).count();
        let line_end = octets.len() - line_end;
        let tone = |at: usize| match at {
            at if at < digits => Some(Tone::Size),
            at if at >= line_end => Some(Tone::LineEnd),
            _ => Some(Tone::Extension),
        };
        let mut rest = octets;
        while !rest.is_empty() {
            let run = trail.step((rest.len() as u64).min(ROW));
            self.from(run.frame);
            let (row, behind) =
                rest.split_at_checked(usize::try_from(run.len).unwrap_or(0)).unwrap_or((rest, &[]));
            // A size line with kilooctets of extensions is cut.
            let cut = behind.len() as u64 > 4 * ROW;
            let note = if behind.is_empty() || cut { note } else { "" };
            let more = if cut {
                format!(" … {}", counted(behind.len() as u64, "more octet"))
            } else {
                String::new()
            };
            let columns = if octets.len() <= 8 { 24 } else { 49 };
            let before = octets.len() - rest.len();
            let shown = drawn(self.prose.paint, row, columns, |at| tone(before + at));
            let pad = " ".repeat(8usize.saturating_sub(row.len()));
            let line = format!("        {shown}{pad}{more}  {note}");
            self.text.push_str(line.trim_end());
            self.text.push('\n');
            rest = if cut { &[] } else { behind };
        }
    }

    /// The payload of a chunk: `size` octets, of which the capture holds
    /// `received` and the report `kept`, with the events in it in their order.
    pub(super) fn payload(
        &mut self,
        trail: &mut Trail<'_>,
        size: u64,
        received: u64,
        kept: &[u8],
        whole: bool,
        events: &[EventSpan],
    ) {
        // An event that is alone needs no line where it begins.
        let begins = |from: u64, to: u64| {
            let place = events.partition_point(|span| span.range.start < from);
            let within = events.get(place..).unwrap_or_default();
            within.iter().take_while(move |span| span.range.start < to).filter(|span| span.begins)
        };
        let tone_at = |octet: u64| {
            let place = events.partition_point(|span| span.range.end <= octet);
            let span = events.get(place).filter(|span| span.range.contains(&octet))?;
            Some(if span.index % 2 == 1 { Tone::Event } else { Tone::Neighbour })
        };
        let long = !whole && size > HEAD + TAIL + 4 * ROW;
        let tail = (size - size.min(TAIL)) / ROW * ROW;
        // Where an event begins, what stands before it and behind is shown.
        let edges = begins(HEAD, tail.min(kept.len() as u64)).take(SHOWN_EDGES);
        let windows: Vec<Range<u64>> = edges
            .map(|span| span.range.start)
            .map(|edge| edge.saturating_sub(1) / ROW * ROW..((edge / ROW + 1) * ROW).min(tail))
            .collect();
        let mut left_out = LeftOut::default();
        let mut rest = kept;
        let (mut at, mut seen) = (0, 0);
        while at < size {
            if seen >= received && rest.is_empty() {
                break; // the body ended in this chunk
            }
            let hole = trail.at_hole();
            let window = windows.iter().find(|window| at < window.end);
            let within = window.is_some_and(|window| window.contains(&at));
            let elided = long && at >= HEAD && at < tail && !within;
            let row = if hole {
                size
            } else if elided {
                window.map_or(tail, |window| window.start) - at
            } else {
                let row = ROW - at % ROW;
                let edge = begins(at + 1, at + row).next();
                edge.map_or(row, |span| span.range.start - at)
            };
            let run = trail.step(row.min(size - at));
            if run.len == 0 {
                break;
            }
            if hole {
                left_out.tell(self);
                let lost = counted(run.len, "octet");
                self.remark(&format!("⋮ {lost} that the capture lacks (0x{at:x} on)"));
                at += run.len;
                continue;
            }
            let len = usize::try_from(run.len).unwrap_or(usize::MAX);
            let (row, behind) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            rest = behind;
            if elided {
                left_out.add(run.len, run.frame);
                left_out.begins += begins(at, at + run.len).count() as u64;
            } else {
                left_out.tell(self);
                if !row.is_empty() {
                    self.from(run.frame);
                    if at > 0
                        && let Some(span) = begins(at, at + 1).next()
                    {
                        self.remark(&format!("── event {} begins", span.index));
                    }
                    let shown = drawn(self.prose.paint, row, 49, |octet| tone_at(at + octet as u64));
                    let line = format!("  {at:04x}  {shown}");
                    self.text.push_str(line.trim_end());
                    self.text.push('\n');
                }
            }
            (at, seen) = (at + run.len, seen + run.len);
            if row.len() < len {
                break; // no more was kept
            }
        }
        left_out.tell(self);
        let kept = kept.len() as u64;
        if kept < received {
            let more = counted(received - kept, "more octet");
            self.remark(&match whole {
                true => format!("… {more} in the capture, too many to be kept"),
                false => format!("… {more}; --payload full shows them"),
            });
        }
    }

    /// A line between the rows.
    pub(super) fn remark(&mut self, text: &str) {
        let lines = self.prose.paragraph(text, "        ", "        ");
        self.text.push_str(&self.prose.faint(&lines));
    }

    /// Lines that stand between the rows as they are.
    pub(super) fn push(&mut self, lines: &str) {
        self.text.push_str(lines);
    }

    fn from(&mut self, frame: Option<FrameNo>) {
        if let Some(number) = frame
            && frame != self.frame
        {
            let line = format!("  frame {number}");
            self.text.push_str(&self.prose.faint(&line));
            self.frame = frame;
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Rows in the middle of a payload that aren't drawn.
#[derive(Debug, Default)]
struct LeftOut {
    octets: u64,
    frames: Vec<FrameNo>,
    /// Events that begin in them.
    begins: u64,
}

impl LeftOut {
    fn add(&mut self, octets: u64, frame: Option<FrameNo>) {
        self.octets += octets;
        if self.frames.last() != frame.as_ref() {
            self.frames.extend(frame);
        }
    }

    fn tell(&mut self, pane: &mut Pane) {
        if self.octets == 0 {
            return;
        }
        self.frames.sort_unstable();
        self.frames.dedup();
        let frames = match self.frames.as_slice() {
            [] => String::new(),
            [frame] => format!(", frame\u{a0}{frame}"),
            frames => format!(", frames\u{a0}{}", frame_ranges(frames, 4)),
        };
        let octets = counted(self.octets, "octet");
        let begins = match self.begins {
            0 => String::new(),
            1 => ", in which 1 event begins".to_owned(),
            events => format!(", in which {} begin", counted(events, "event")),
        };
        pane.remark(&format!("… {octets} left out{frames}{begins}; --payload full shows them"));
        *self = Self::default();
    }
}

/// `33 31 64 0d 0a`, with a wider gap in the middle of a row.
pub(super) fn hex(octets: &[u8]) -> String {
    hex_from(0, octets)
}

/// The same for octets of a row that stand from a place in it on.
fn hex_from(start: usize, octets: &[u8]) -> String {
    let mut text = String::with_capacity(3 * octets.len() + 1);
    for (place, octet) in (start..).zip(octets) {
        text.push_str(if place > start { gap(place) } else { "" });
        let _ = write!(text, "{octet:02x}");
    }
    text
}

/// What stands before the octet at a place of a row.
const fn gap(place: usize) -> &'static str {
    match place {
        0 => "",
        8 => "  ",
        _ => " ",
    }
}

/// A row in so many columns of hex, then as text; each octet in its tone.
fn drawn(paint: Paint, octets: &[u8], columns: usize, tone: impl Fn(usize) -> Option<Tone>) -> String {
    let painted = |tone: Option<Tone>, text: String| match tone {
        Some(tone) => paint.tone(tone, &text),
        None => text,
    };
    let (mut hex, mut text, mut at) = (String::new(), String::new(), 0);
    while at < octets.len() {
        let this = tone(at);
        let run = (at..octets.len()).take_while(|place| tone(*place) == this).count().max(1);
        let row = octets.get(at..at + run).unwrap_or_default();
        hex.push_str(gap(at));
        hex.push_str(&painted(this, hex_from(at, row)));
        text.push_str(&painted(this, dots(row)));
        at += run;
    }
    let taken = (3 * octets.len()).saturating_sub(1) + usize::from(octets.len() > 8);
    format!("{hex}{}  {text}", " ".repeat(columns.saturating_sub(taken)))
}

/// Printable ASCII as it is, anything else as a dot: one column an octet.
pub(super) fn dots(octets: &[u8]) -> String {
    let shown = |octet: &u8| if matches!(octet, 0x20..=0x7e) { char::from(*octet) } else { '·' };
    octets.iter().map(shown).collect()
}

/// `3×256 + 1×16 + 13 = 797`: what the digits of a chunk size amount to.
pub(super) fn arithmetic(hex: &str, size: u64) -> String {
    let digits = hex.trim_start_matches('0');
    let last = digits.len().saturating_sub(1);
    let terms = digits.chars().enumerate().filter_map(|(place, digit)| {
        let value = digit.to_digit(16).filter(|value| *value > 0)?;
        let power = u32::try_from(last - place).ok()?;
        Some(match power {
            0 => value.to_string(),
            _ => format!("{value}×{}", 16u64.checked_pow(power)?),
        })
    });
    let terms: Vec<_> = terms.collect();
    if terms.len() > 1 || last > 0 { format!("{} = {size}", terms.join(" + ")) } else { size.to_string() }
}

/// The size line's digits for a sentence.
pub(super) fn digits(hex: &str) -> String {
    preview(hex.as_bytes(), 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::text::TextOptions;

    fn runs(runs: &[(u64, u64)]) -> Vec<Run> {
        runs.iter()
            .map(|&(frame, len)| Run { len, frame: (frame > 0).then(|| FrameNo::new(frame)) })
            .collect()
    }

    fn drawn(trail: &[(u64, u64)], size: u64, received: u64, kept: &[u8], whole: bool) -> String {
        let mut pane = Pane::new(Prose::new(&TextOptions { width: 80, ..TextOptions::default() }), None);
        let runs = runs(trail);
        pane.payload(&mut Trail::new(&runs), size, received, kept, whole, &[]);
        pane.into_text()
    }

    #[test]
    fn sizes_are_worked_out_digit_by_digit() {
        assert_eq!(arithmetic("31d", 797), "3×256 + 1×16 + 13 = 797");
        assert_eq!(arithmetic("00031D", 797), "3×256 + 1×16 + 13 = 797");
        assert_eq!(arithmetic("1000", 4096), "1×4096 = 4096");
        assert_eq!(arithmetic("7", 7), "7");
        assert_eq!(arithmetic("df5fa", 914_938), "13×65536 + 15×4096 + 5×256 + 15×16 + 10 = 914938");
        assert_eq!(arithmetic("ffffffffffffffff", u64::MAX).matches('×').count(), 15);
    }

    #[test]
    fn rows_are_split_where_the_frame_changes() {
        assert_eq!(
            drawn(&[(8, 5), (9, 30)], 20, 20, b"{\"type\":\"ADDED\"\x1b\xff\r\n\n", false),
            concat!(
                "  frame 8\n",
                "  0000  7b 22 74 79 70                                     {\"typ\n",
                "  frame 9\n",
                "  0005  65 22 3a 22 41 44 44 45  44 22 1b                  e\":\"ADDED\"·\n",
                "  0010  ff 0d 0a 0a                                        ····\n",
            )
        );
    }

    #[test]
    fn holes_are_lines_of_their_own() {
        assert_eq!(
            drawn(&[(3, 4), (0, 1448), (5, 3)], 1455, 7, b"abcdefg", true),
            concat!(
                "  frame 3\n",
                "  0000  61 62 63 64                                        abcd\n",
                "        ⋮ 1,448 octets that the capture lacks (0x4 on)\n",
                "  frame 5\n",
                "  05ac  65 66 67                                           efg\n",
            )
        );
    }

    #[test]
    fn raw_octets_have_no_frames_and_no_holes() {
        let text = drawn(&[(0, 4)], 10, 4, b"abcd", true);
        assert_eq!(text, "  0000  61 62 63 64                                        abcd\n");
        assert_eq!(drawn(&[], 4, 4, b"abcd", true), text);
        assert!(drawn(&[], 5000, 5000, &[b'x'; 5000], false).contains("4,864 octets left out; --payload"));
    }

    #[test]
    fn the_middle_of_a_long_payload_is_left_out_unless_asked_for() {
        let payload = vec![b'x'; 5000];
        let trail = [(8, 2048), (9, 3000)];
        let text = drawn(&trail, 5000, 5000, &payload, false);
        assert_eq!(text.lines().count(), 6 + 3 + 1 + 2, "{text}");
        assert!(text.contains("… 4,864 octets left out, frames 8–9; --payload full shows them"), "{text}");
        assert!(text.contains("  1370  78 78"), "{text}");
        let text = drawn(&trail, 5000, 5000, &payload, true);
        assert_eq!(text.lines().count(), 5000_usize.div_ceil(16) + 2);
        assert!(text.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn what_was_not_kept_or_never_came_is_said() {
        let text = drawn(&[(8, 100)], 100, 100, &[b'x'; 20], true);
        assert!(text.ends_with("… 80 more octets in the capture, too many to be kept\n"), "{text}");
        let text = drawn(&[(8, 5000)], 5000, 5000, &[b'x'; 200], false);
        assert!(text.ends_with("… 4,800 more octets; --payload full shows them\n"), "{text}");
        let text = drawn(&[(8, 20)], 100, 20, &[b'x'; 20], true);
        assert_eq!(text.lines().count(), 3, "{text}");
    }

    #[test]
    fn rows_are_split_where_an_event_begins() {
        let mut pane = Pane::new(Prose::new(&TextOptions { width: 80, ..TextOptions::default() }), None);
        let span = |index, range, begins| EventSpan { index, range, begins };
        let events = [span(3, 0..4, false), span(4, 5..8, true), span(5, 9..12, true)];
        pane.payload(&mut Trail::new(&runs(&[(8, 12)])), 12, 12, b"abc}\n{4}\n{5}", true, &events);
        let expected = concat!(
            "  frame 8\n",
            "  0000  61 62 63 7d 0a                                     abc}·\n",
            "        ── event 4 begins\n",
            "  0005  7b 34 7d 0a                                        {4}·\n",
            "        ── event 5 begins\n",
            "  0009  7b 35 7d                                           {5}\n",
        );
        assert_eq!(pane.into_text(), expected);
    }

    #[test]
    fn colours_tell_what_an_octet_is() {
        let prose = Prose::new(&TextOptions { width: 80, color: true, ..TextOptions::default() });
        let mut pane = Pane::new(prose, Some(FrameNo::new(8)));
        let runs = runs(&[(8, 8)]);
        let mut trail = Trail::new(&runs);
        pane.framing(&mut trail, b"3;x\r\n", 1, "size line");
        let span = EventSpan { index: 2, range: 0..2, begins: true };
        pane.payload(&mut trail, 3, 3, b"{}\n", true, &[span]);
        let text = pane.into_text();
        for painted in [
            "\x1b[1m\x1b[36m33\x1b[0m \x1b[33m3b 78\x1b[0m \x1b[35m0d 0a\x1b[0m",
            "\x1b[34m7b 7d\x1b[0m 0a",
            "\x1b[34m{}\x1b[0m·",
        ] {
            assert!(text.contains(painted), "{text:?}");
        }
    }
}
