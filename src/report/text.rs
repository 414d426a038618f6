//! Text for people: what is safe to print, how wide it is, and how numbers,
//! times and frames are written.
//!
//! Captures hold any octets. Everything that comes from one passes
//! `printable` or `printable_octets` before it is printed: controls, escapes,
//! what changes the direction or hides, and octets that aren't UTF-8 are shown
//! as signs and never reach a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::report::payload::Payload;
use crate::units::FrameNo;
use crate::verdict::Allow;

/// How the reports for people are to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns that a line may take.
    pub width: usize,
    /// Whether to colour.
    pub color: bool,
    /// Only what failed or could not be verified.
    pub failed_only: bool,
    /// Exchanges without an expectation in full too.
    pub list_all: bool,
    /// How much of the payloads.
    pub payload: Payload,
    /// Chunks listed of one response; `None` is all. Failed ones are listed
    /// beyond it, up to [`FAILED_ROWS`] a run.
    pub limit: Option<u64>,
    /// Verdicts that fail no check.
    pub allow: Allow,
}

/// Failed chunks that are listed in any case, in one run.
pub const FAILED_ROWS: u64 = 1000;

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            width: 120,
            color: false,
            failed_only: false,
            list_all: false,
            payload: Payload::Preview,
            limit: Some(50),
            allow: Allow::default(),
        }
    }
}

/// Which chunks are listed one by one, over a whole run.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Failed chunks so far.
    failed: u64,
}

impl Listing {
    /// Whether a chunk is listed: there is room for it, or it failed.
    pub(super) const fn admits(&mut self, fails: bool, room: bool) -> bool {
        self.failed += fails as u64;
        room || (fails && self.failed <= FAILED_ROWS)
    }
}

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Names one looks for: paths, streams, requests.
    Strong,
    /// Beside the point until it is looked for.
    Faint,
    /// Passed.
    Good,
    /// Failed.
    Bad,
    /// Not known.
    Doubt,
    /// Octets of a chunk size.
    Size,
    /// Octets of a chunk extension.
    Extension,
    /// Line ends that are framing.
    LineEnd,
    /// Octets of an event with an odd number.
    Event,
    /// Octets of one with an even number: neighbours are told apart.
    Neighbour,
}

/// Colours text, or doesn't.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    pub(super) color: bool,
}

impl Paint {
    /// `text`, which must be safe to print, in its tone.
    pub(super) fn tone(self, tone: Tone, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let style = match tone {
            Tone::Strong => Style::new().bold(),
            Tone::Faint => Style::new().dimmed(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Bad => AnsiColor::Red.on_default().bold(),
            Tone::Doubt => AnsiColor::Yellow.on_default(),
            Tone::Size => AnsiColor::Cyan.on_default().bold(),
            Tone::Extension => AnsiColor::Yellow.on_default(),
            Tone::LineEnd => AnsiColor::Magenta.on_default(),
            Tone::Event => AnsiColor::Green.on_default(),
            Tone::Neighbour => AnsiColor::Blue.on_default(),
        };
        format!("{style}{text}{style:#}")
    }
}

/// Whether a character is safe to print and seen as itself.
fn is_visible(c: char) -> bool {
    !(c.is_control()
        || matches!(c,
            // Format characters that hide, join, or change the direction;
            // line and paragraph separators.
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'))
}

/// Writes a character so that it is seen: C0 controls and DEL by their
/// control pictures, other invisible ones by number.
fn push_visible(to: &mut String, c: char) {
    match c {
        '\0'..='\x1f' => to.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('·')),
        '\x7f' => to.push('␡'),
        c if is_visible(c) => to.push(c),
        c => to.extend(c.escape_unicode()),
    }
}

/// The printable ASCII that `octets` begin with.
fn plain_beginning(octets: &[u8]) -> &[u8] {
    let end = octets.iter().position(|octet| !matches!(octet, b' '..=b'~'));
    octets.get(..end.unwrap_or(octets.len())).unwrap_or_default()
}

/// `text` with everything that isn't safe to print shown as a sign.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let plain = plain_beginning(text.as_bytes()).len() == text.len();
    if plain || text.chars().all(is_visible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| push_visible(&mut shown, c));
    Cow::Owned(shown)
}

/// `octets` as [`printable`] text; those that aren't UTF-8 as `\xff`.
pub(super) fn printable_octets(octets: &[u8]) -> String {
    let mut shown = String::with_capacity(octets.len());
    for piece in octets.utf8_chunks() {
        let mut rest = piece.valid();
        while let Some(c) = rest.chars().next() {
            // Most text is printable ASCII, in long runs.
            let (plain, behind) = rest.split_at(plain_beginning(rest.as_bytes()).len());
            shown.push_str(plain);
            rest = behind;
            if plain.is_empty() {
                push_visible(&mut shown, c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
        for octet in piece.invalid() {
            let _ = write!(shown, "\\x{octet:02x}");
        }
    }
    shown
}

/// The beginning of `octets` as [`printable`] text, at most `columns` wide,
/// with `…` where more follows. Reads no more octets than can matter.
pub(super) fn preview(octets: &[u8], columns: usize) -> String {
    let plain = plain_beginning(octets.get(..=columns).unwrap_or(octets));
    if plain.len() == octets.len() || plain.len() > columns {
        // An octet a column; what doesn't fit needs no more than that one octet is over.
        return fit(&String::from_utf8_lossy(plain), columns).into_owned();
    }
    // A column is at most 4 octets, but for marks that take no room: a text
    // of these is cut short, not read to its end.
    let start = octets.get(..columns.saturating_mul(4).saturating_add(8)).unwrap_or(octets);
    let mut shown = printable_octets(start);
    if start.len() < octets.len() {
        shown.push('…');
    }
    fit(&shown, columns).into_owned()
}

/// How many columns a text takes on a terminal at most: some draw what joins
/// (ligatures) apart.
pub(super) fn width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    if let Some(columns) = plain_width(text) {
        return columns;
    }
    text.width().max(text.chars().map(char_width).sum())
}

/// By how much a table that pads by Unicode's rule alone may draw a text wider.
pub(super) fn slack(text: &str) -> usize {
    let plain = text.is_ascii() || plain_width(text).is_some();
    if plain { 0 } else { width(text).saturating_sub(text.width()) }
}

/// How many columns a text takes that consists of printable ASCII and the signs
/// that reports set: as many as it has characters, whatever stands beside them.
/// `None` for any other.
pub(super) fn plain_width(text: &str) -> Option<usize> {
    let mut columns = 0;
    let mut rest = text;
    loop {
        let plain = plain_beginning(rest.as_bytes()).len();
        let mut behind = rest.get(plain..).unwrap_or_default().chars();
        match behind.next() {
            None => return Some(columns + plain),
            Some(sign) if PLAIN_SIGNS.contains(&sign) => columns += plain + 1,
            Some(_) => return None,
        }
        rest = behind.as_str();
    }
}

/// Signs that reports set, a column wide each; the last is a no-break space.
const PLAIN_SIGNS: [char; 8] = ['…', '–', '→', '×', '✓', '✗', '⋮', '\u{a0}'];

fn char_width(c: char) -> usize {
    // The emoji variation selector widens the character before it.
    if c == '\u{fe0f}' { 1 } else { c.width().unwrap_or(0) }
}

/// `text` if it is at most `columns` wide, else its beginning and `…`.
pub(super) fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if text.len() <= columns || width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut cut = beginning(text, columns.saturating_sub(1)).to_owned();
    if columns > 0 {
        cut.push('…');
    }
    Cow::Owned(cut)
}

/// `text` if it is at most `columns` wide, else its beginning, `…` and its end.
pub(super) fn fit_middle(text: &str, columns: usize) -> Cow<'_, str> {
    if text.len() <= columns || width(text) <= columns || columns < 3 {
        return fit(text, columns);
    }
    let end_columns = (columns - 1) / 2;
    let start = beginning(text, columns - 1 - end_columns);
    let mut taken = 0;
    let mut at = text.len();
    for (place, c) in text.char_indices().rev() {
        taken += char_width(c);
        if taken > end_columns {
            break;
        }
        at = place;
    }
    Cow::Owned(format!("{start}…{}", text.get(at..).unwrap_or_default()))
}

/// The longest beginning that is at most `columns` wide.
fn beginning(text: &str, columns: usize) -> &str {
    // What follows is a column wide: no mark that joins what is before it.
    if plain_beginning(text.as_bytes()).len() > columns {
        return text.get(..columns).unwrap_or_default();
    }
    let mut taken = 0;
    let mut end = text.len();
    for (place, c) in text.char_indices() {
        let wide = char_width(c);
        if taken + wide > columns {
            end = place;
            break;
        }
        taken += wide;
    }
    text.get(..end).unwrap_or_default()
}

/// `text` in lines of at most `columns`, broken at blanks; the first line
/// begins with `first`, the others with `other`. Ends with a line end. Words
/// wider than a line stay whole: names must be found again. A no-break space
/// becomes a blank.
pub(super) fn wrap(text: &str, columns: usize, first: &str, other: &str) -> String {
    let mut lines = String::with_capacity(first.len() + text.len() + 16);
    lines.push_str(first);
    // Most fits a line.
    if plain_width(text).is_some_and(|wide| width(first) + wide <= columns) {
        push_with_blanks(&mut lines, text);
        end_line(&mut lines, 0);
        return lines;
    }
    // Where the line begins that is written.
    let mut start = 0;
    let mut taken = width(first);
    let mut empty = true;
    for word in text.split(' ') {
        let wide = width(word);
        if !empty && taken + 1 + wide > columns {
            start = end_line(&mut lines, start);
            lines.push_str(other);
            (taken, empty) = (width(other), true);
        }
        if !empty {
            lines.push(' ');
            taken += 1;
        }
        push_with_blanks(&mut lines, word);
        (taken, empty) = (taken + wide, false);
    }
    end_line(&mut lines, start);
    lines
}

/// Writes a text with blanks for its no-break spaces.
fn push_with_blanks(lines: &mut String, text: &str) {
    for (place, part) in text.split('\u{a0}').enumerate() {
        lines.push_str(if place > 0 { " " } else { "" });
        lines.push_str(part);
    }
}

/// Ends the line that begins at `start`, without the white space at its end:
/// where the next one begins.
fn end_line(lines: &mut String, start: usize) -> usize {
    let line = lines.get(start..).unwrap_or_default();
    lines.truncate(start + line.trim_end().len());
    lines.push('\n');
    lines.len()
}

/// A number in groups of three: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() <= 3 {
        return digits;
    }
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 chunk`, `1,234 chunks`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let mut text = grouped(number);
    text.push(' ');
    text.push_str(noun);
    text.push_str(if number == 1 { "" } else { "s" });
    text
}

/// Nanoseconds of a second.
const NANOS: u64 = 1_000_000_000;

/// Nanoseconds as seconds with so many decimals (at most 9), rounded down:
/// `1.994 s`.
pub(super) fn seconds(nanos: i128, decimals: u32) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let decimals = decimals.min(9);
    // 64 bits hold 584 years; more is slow to divide.
    let (units, parts) = match u64::try_from(nanos.unsigned_abs()) {
        Ok(nanos) => (u128::from(nanos / NANOS), nanos % NANOS),
        Err(_) => {
            let nanos = nanos.unsigned_abs();
            (nanos / u128::from(NANOS), (nanos % u128::from(NANOS)) as u64)
        }
    };
    if decimals == 0 {
        return format!("{sign}{units} s");
    }
    let parts = parts / 10u64.pow(9 - decimals);
    format!("{sign}{units}.{parts:0width$} s", width = decimals as usize)
}

/// Ascending frames as ranges: `8–10, 12`, at most `most` of them, the rest
/// as `… 46`.
pub(super) fn frame_ranges(frames: &[FrameNo], most: usize) -> String {
    let ranges = ranges(frames.iter().map(|frame| frame.get()));
    let mut text = String::new();
    for (place, &(first, last)) in ranges.iter().enumerate() {
        if place >= most {
            let end = ranges.last().map_or(last, |&(_, last)| last);
            let _ = write!(text, " … {end}");
            break;
        }
        text.push_str(if place > 0 { ", " } else { "" });
        text.push_str(&range(first, last));
    }
    text
}

/// `8`, or `8–10`.
pub(crate) fn range(first: u64, last: u64) -> String {
    if first == last { first.to_string() } else { format!("{first}–{last}") }
}

/// Ascending numbers as runs of consecutive ones.
pub(crate) fn ranges(numbers: impl Iterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if number <= last.saturating_add(1) => *last = number.max(*last),
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        assert_eq!(printable("plain ▶ 日本 é"), "plain ▶ 日本 é");
        assert_eq!(printable("\x1b[31mred\x1b[0m\r\n\t\0\x7f"), "␛[31mred␛[0m␍␊␉␀␡");
        assert_eq!(printable("a\u{202e}b\u{2066}c"), "a\\u{202e}b\\u{2066}c");
        assert_eq!(printable("\u{9b}31m\u{85}"), "\\u{9b}31m\\u{85}");
        assert_eq!(printable("\u{200b}\u{feff}\u{2028}\u{e0041}"), "\\u{200b}\\u{feff}\\u{2028}\\u{e0041}");
        assert_eq!(printable_octets(b"ok\xff\xfe\x1b\xc3"), "ok\\xff\\xfe␛\\xc3");
        assert_eq!(printable_octets("é\u{9d}".as_bytes()), "é\\u{9d}");
    }

    #[test]
    fn texts_are_cut_at_columns_not_octets() {
        assert_eq!(fit("abcdef", 6), "abcdef");
        assert_eq!(fit("abcdef", 5), "abcd…");
        assert_eq!(fit("日本語", 6), "日本語");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("e\u{301}e\u{301}e\u{301}", 3), "e\u{301}e\u{301}e\u{301}");
        assert_eq!(fit("abc", 1), "…");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(fit_middle("/api/v1/namespaces/x", 11), "/api/…ces/x");
        assert_eq!(fit_middle("日本語日本語", 8), "日本…語");
    }

    #[test]
    fn a_preview_reads_only_the_beginning() {
        assert_eq!(preview(b"abc", 5), "abc");
        assert_eq!(preview(b"abcdef", 5), "abcd…");
        assert_eq!(preview(&vec![b'x'; 10 << 20], 5), "xxxx…");
        assert!(preview("a\u{301}".repeat(1000).as_bytes(), 5).len() < 40);
    }

    #[test]
    fn numbers_read_as_people_write_them() {
        let numbers = [0, 12, 999, 1000, 44_000, 1_234_567];
        assert_eq!(numbers.map(grouped).join(" "), "0 12 999 1,000 44,000 1,234,567");
        assert_eq!(counted(1, "chunk"), "1 chunk");
        assert_eq!(counted(2000, "chunk"), "2,000 chunks");
        assert_eq!(seconds(1_994_123_456, 3), "1.994 s");
        assert_eq!(seconds(-7_000_000, 3), "-0.007 s");
        assert_eq!(seconds(7_890, 6), "0.000007 s");
        let frames = [8, 9, 10, 12, 14, 46].map(FrameNo::new);
        assert_eq!(frame_ranges(&frames, 9), "8–10, 12, 14, 46");
        assert_eq!(frame_ranges(&frames, 2), "8–10, 12 … 46");
        assert_eq!(frame_ranges(&[], 2), "");
    }

    #[test]
    fn prose_wraps_at_blanks_under_its_indent() {
        assert_eq!(wrap("one two three four", 10, "✗ ", "  "), "✗ one two\n  three\n  four\n");
        assert_eq!(wrap("in frame\u{a0}12", 10, "", ""), "in\nframe 12\n");
        assert_eq!(wrap("https://example.org/long x", 10, "", "  "), "https://example.org/long\n  x\n");
    }

    proptest! {
        #[test]
        fn no_text_is_wider_than_asked_nor_unsafe(text in ".{0,60}", columns in 0usize..50) {
            let shown = printable(&text);
            prop_assert!(shown.chars().all(is_visible));
            prop_assert!(width(&fit(&shown, columns)) <= columns, "{:?}", fit(&shown, columns));
            prop_assert!(width(&fit_middle(&shown, columns)) <= columns);
            prop_assert!(width(&preview(text.as_bytes(), columns)) <= columns);
        }

        #[test]
        fn plain_text_is_as_wide_as_any_other_rule_says(
            pieces in prop::collection::vec(
                prop_oneof![4 => "[ -~]{0,9}", 4 => prop::sample::select(&PLAIN_SIGNS[..]).prop_map(String::from), 1 => ".{0,2}"],
                0..9,
            ),
            columns in 0usize..40,
        ) {
            let text = pieces.concat();
            let by_characters: usize = text.chars().map(char_width).sum();
            if let Some(wide) = plain_width(&text) {
                prop_assert_eq!(wide, text.width());
                prop_assert_eq!(wide, by_characters);
            }
            let mut taken = 0;
            let fits = |c: &char| { taken += char_width(*c); taken <= columns };
            let start: String = text.chars().take_while(fits).collect();
            prop_assert_eq!(beginning(&text, columns), start);
        }

        #[test]
        fn lines_are_wrapped_as_word_by_word(text in "[a-z \u{a0}…]{0,30}", columns in 0usize..40) {
            let by_words = |text: &str| {
                let (mut line, mut lines, mut empty) = ("✗ ".to_owned(), String::new(), true);
                for word in text.split(' ') {
                    if !empty && line.chars().count() + 1 + word.chars().count() > columns {
                        lines += &format!("{}\n", line.replace('\u{a0}', " ").trim_end());
                        (line, empty) = ("  ".to_owned(), true);
                    }
                    line += if empty { "" } else { " " };
                    line += word;
                    empty = false;
                }
                lines + &format!("{}\n", line.replace('\u{a0}', " ").trim_end())
            };
            prop_assert_eq!(wrap(&text, columns, "✗ ", "  "), by_words(&text));
        }

        #[test]
        fn octets_of_any_kind_are_shown_safely(octets in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!(printable_octets(&octets).chars().all(is_visible));
        }
    }
}
