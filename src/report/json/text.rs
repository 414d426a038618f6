//! JSON text, written into one buffer that is used again.
//!
//! Strings are as serde_json writes them, with more control characters escaped;
//! numbers and times are [`figures`](super::super::figures). Long strings leave
//! the buffer in pieces, so that it stays small whatever a payload holds.

use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use smol_str::SmolStr;

use crate::chunk::Fields;
use crate::report::buffer::{Block, Buffer, Constant, copy};
use crate::report::figures::{NumberText, TimeText, append_seconds};
use crate::report::payload::Excerpt;
use crate::units::Timestamp;

/// What takes octets that are written.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> io::Result<()>;

/// Octets of a string that are escaped at once; a multiple of three, so that
/// pieces of base64 need no padding between them.
const PIECE: usize = 48 << 10;

/// Lists of fields that are remembered: a client's and a server's, and those of
/// another kind of request. Each is bounded as heads are.
const LISTS: usize = 4;

/// How members are told apart.
pub(crate) trait Style {
    /// What stands between two elements.
    const COMMA: &'static str;

    /// Picks what this style writes behind another member.
    fn next(texts: &'static Texts) -> &'static Constant;

    /// Picks what it writes as the first one.
    fn first(texts: &'static Texts) -> &'static Constant;
}

/// `"a": 1, "b": 2`: for people who open the document.
#[derive(Debug)]
pub(crate) struct Spaced;

/// `"a":1,"b":2`: for lines.
#[derive(Debug)]
pub(crate) struct Compact;

impl Style for Spaced {
    const COMMA: &'static str = ", ";

    #[inline(always)]
    fn next(texts: &'static Texts) -> &'static Constant {
        &texts.spaced
    }

    #[inline(always)]
    fn first(texts: &'static Texts) -> &'static Constant {
        &texts.spaced_first
    }
}

impl Style for Compact {
    const COMMA: &'static str = ",";

    #[inline(always)]
    fn next(texts: &'static Texts) -> &'static Constant {
        &texts.compact
    }

    #[inline(always)]
    fn first(texts: &'static Texts) -> &'static Constant {
        &texts.compact_first
    }
}

/// What a member begins with, in either style, behind another and as the first.
#[derive(Debug)]
pub(crate) struct Texts {
    pub(crate) spaced: Constant,
    pub(crate) spaced_first: Constant,
    pub(crate) compact: Constant,
    pub(crate) compact_first: Constant,
}

/// A member's name with what stands around it, made by [`key!`]. With the
/// beginning of the value, where that is known: one constant is written faster
/// than two.
#[derive(Debug)]
pub(crate) struct Key {
    /// `, "name": `
    pub(crate) value: Texts,
    /// `, "name": "`
    pub(crate) string: Texts,
    /// `, "name": null`
    pub(crate) null: Texts,
}

/// Whether all octets are characters that stand for themselves in a string.
#[inline(always)]
fn is_plain<const N: usize>(octets: &[u8; N]) -> bool {
    octets.iter().fold(true, |plain, &octet| {
        plain & (b' '..0x7f).contains(&octet) & (octet != b'"') & (octet != b'\\')
    })
}

/// The [`Key`] of a name that needs no escapes.
macro_rules! key {
    ($name:literal) => {
        const {
            &$crate::report::json::text::Key {
                value: key!($name, ""),
                string: key!($name, "\""),
                null: key!($name, "null"),
            }
        }
    };
    ($name:literal, $value:literal) => {
        $crate::report::json::text::Texts {
            spaced: $crate::report::buffer::Constant::new(concat!(", \"", $name, "\": ", $value)),
            spaced_first: $crate::report::buffer::Constant::new(concat!("\"", $name, "\": ", $value)),
            compact: $crate::report::buffer::Constant::new(concat!(",\"", $name, "\":", $value)),
            compact_first: $crate::report::buffer::Constant::new(concat!("\"", $name, "\":", $value)),
        }
    };
}
pub(crate) use key;

/// Fields, and what was written for them.
#[derive(Debug, Default)]
struct List {
    fields: Fields,
    text: Buffer,
    /// Where each pair ends in it.
    ends: Vec<usize>,
}

impl List {
    /// The text of a pair, if it is the one at that place.
    fn pair(&self, place: usize, pair: &(SmolStr, SmolStr)) -> Option<&[u8]> {
        self.fields.get(place).filter(|known| *known == pair)?;
        let start = place.checked_sub(1).map_or(Some(1), |before| self.ends.get(before).copied())?;
        self.text.written().get(start..*self.ends.get(place)?)
    }
}

/// A buffer with JSON text.
#[derive(Debug)]
pub(crate) struct JsonText<S> {
    /// What was written and not passed on.
    out: Buffer,
    /// Whether the next member is the first one of its object, or on its line.
    first: bool,
    /// Fields that came last, and what was written for them: the requests of a
    /// client are mostly the same, and those responses of a server that have
    /// no date.
    lists: VecDeque<List>,
    number: NumberText,
    time: TimeText,
    style: PhantomData<S>,
}

impl<S: Style> JsonText<S> {
    /// An empty buffer.
    pub(crate) fn new() -> Self {
        Self {
            out: Buffer::default(),
            first: false,
            lists: VecDeque::with_capacity(LISTS),
            number: NumberText::default(),
            time: TimeText::default(),
            style: PhantomData,
        }
    }

    /// What was written and not passed on.
    pub(crate) fn written(&self) -> &[u8] {
        self.out.written()
    }

    /// Gives what was written to `sink`, and empties the buffer.
    pub(crate) fn pass_on(&mut self, sink: Sink<'_>) -> io::Result<()> {
        let passed = sink(self.out.written());
        self.out.clear();
        passed
    }

    /// Writes a constant that is JSON text.
    #[inline(always)]
    pub(crate) fn constant(&mut self, constant: &'static Constant) {
        self.out.append_constant(constant);
    }

    /// Writes octets that are JSON text already.
    #[inline(always)]
    pub(crate) fn raw(&mut self, text: &str) {
        self.out.append(text.as_bytes());
    }

    /// Writes what another one holds.
    pub(crate) fn append(&mut self, other: &Self) {
        self.out.append(other.out.written());
    }

    /// Forgets what was written and not passed on.
    pub(crate) const fn clear(&mut self) {
        self.out.clear();
    }

    /// Begins a line, with `indent` blanks.
    #[inline]
    pub(crate) fn line(&mut self, indent: usize) {
        const BLANKS: [u8; 21] = *b"\n                    ";
        self.out.append_first(&BLANKS, 1 + indent);
        self.first = true;
    }

    /// Ends a line with a comma, and begins the next one.
    #[inline]
    pub(crate) fn next_line(&mut self, indent: usize) {
        self.out.push(b',');
        self.line(indent);
    }

    /// Writes a member's name, and with it what [`Key`] has of the value.
    /// Inlined where the name is known, it is a few moves of constants.
    #[inline(always)]
    fn begin(&mut self, texts: &'static Texts) {
        if self.first {
            self.begin_first(S::first(texts));
        } else {
            self.out.append_constant(S::next(texts));
        }
    }

    #[inline(never)]
    fn begin_first(&mut self, text: &'static Constant) {
        self.first = false;
        self.out.append_constant(text);
    }

    /// Writes a member's name; its value must follow.
    #[inline(always)]
    pub(crate) fn key(&mut self, key: &'static Key) {
        self.begin(&key.value);
    }

    /// A member whose value is null.
    #[inline(always)]
    pub(crate) fn null(&mut self, key: &'static Key) {
        self.begin(&key.null);
    }

    /// A member whose value is JSON text already.
    #[inline(always)]
    pub(crate) fn literal(&mut self, key: &'static Key, value: &str) {
        self.key(key);
        self.raw(value);
    }

    /// A member whose value is one of our own names.
    #[inline(always)]
    pub(crate) fn name(&mut self, key: &'static Key, value: &str) {
        self.begin(&key.string);
        self.raw(value);
        self.out.push(b'"');
    }

    /// A member whose value is a string of digits in ASCII.
    #[inline(always)]
    pub(crate) fn digits(&mut self, key: &'static Key, value: &[u8]) {
        self.begin(&key.string);
        self.out.append(value);
        self.out.push(b'"');
    }

    /// A member whose value is one of our own names, or null.
    #[inline(always)]
    pub(crate) fn maybe_name(&mut self, key: &'static Key, value: Option<&str>) {
        match value {
            Some(value) => self.name(key, value),
            None => self.null(key),
        }
    }

    /// A member with a string of any content.
    #[inline(never)]
    pub(crate) fn text(&mut self, key: &'static Key, value: &str) {
        self.begin(&key.string);
        escape(&mut self.out, value);
        self.out.push(b'"');
    }

    /// A member with a string of any content, or null.
    #[inline(always)]
    pub(crate) fn maybe_text(&mut self, key: &'static Key, value: Option<&str>) {
        match value {
            Some(value) => self.text(key, value),
            None => self.null(key),
        }
    }

    /// A member with a number.
    #[inline(always)]
    pub(crate) fn number(&mut self, key: &'static Key, value: u64) {
        self.key(key);
        self.number.append(&mut self.out, value);
    }

    /// A member with a number or null.
    #[inline(always)]
    pub(crate) fn maybe_number(&mut self, key: &'static Key, value: Option<u64>) {
        match value {
            Some(value) => self.number(key, value),
            None => self.null(key),
        }
    }

    /// A member with a time, or null.
    #[inline(always)]
    pub(crate) fn time(&mut self, key: &'static Key, value: Option<Timestamp>) {
        match value {
            Some(time) => {
                self.begin(&key.string);
                self.time.append(&mut self.out, time);
                self.out.push(b'"');
            }
            None => self.null(key),
        }
    }

    /// A member with a number of seconds, exact, or null.
    pub(crate) fn seconds(&mut self, key: &'static Key, nanos: Option<i128>) {
        let Some(nanos) = nanos else {
            return self.null(key);
        };
        self.key(key);
        if nanos < 0 {
            self.out.push(b'-');
        }
        append_seconds(&mut self.out, nanos.unsigned_abs());
    }

    /// A member with an address and a port, or null.
    pub(crate) fn address(&mut self, key: &'static Key, value: Option<SocketAddr>) {
        let Some(address) = value else {
            return self.null(key);
        };
        self.begin(&key.string);
        append_address(&mut self.out, address, &mut self.number);
        self.out.push(b'"');
    }

    /// A member with a list of numbers.
    #[inline(always)]
    pub(crate) fn numbers(&mut self, key: &'static Key, values: impl IntoIterator<Item = u64>) {
        self.key(key);
        self.out.push(b'[');
        let mut comma = "";
        for value in values {
            self.raw(std::mem::replace(&mut comma, S::COMMA));
            self.number.append(&mut self.out, value);
        }
        self.out.push(b']');
    }

    /// A member with a list of strings.
    pub(crate) fn texts(&mut self, key: &'static Key, values: &[String]) {
        self.key(key);
        self.out.push(b'[');
        let mut comma = "";
        for value in values {
            self.raw(std::mem::replace(&mut comma, S::COMMA));
            append_string(&mut self.out, value);
        }
        self.out.push(b']');
    }

    /// A member with a list of pairs of a name and a value, or null.
    pub(crate) fn fields(&mut self, key: &'static Key, fields: Option<&Fields>) {
        let Some(fields) = fields else {
            return self.null(key);
        };
        self.key(key);
        if fields.is_empty() {
            return self.raw("[]");
        }
        let place = self.list(fields);
        if let Some(list) = self.lists.get(place) {
            self.out.append(list.text.written());
        }
    }

    /// A list of pairs of a name and a value, as text.
    pub(crate) fn fields_text(&mut self, fields: &Fields) -> &[u8] {
        if fields.is_empty() {
            return b"[]";
        }
        let place = self.list(fields);
        self.lists.get(place).map(|list| list.text.written()).unwrap_or_default()
    }

    /// Where a list of pairs of a name and a value is among those that are
    /// remembered.
    fn list(&mut self, fields: &Fields) -> usize {
        match self.lists.iter().position(|list| list.fields.is_same(fields)) {
            Some(place) => place,
            None => {
                self.add_list(fields);
                0
            }
        }
    }

    /// Writes a list of pairs, to be remembered in place of the oldest. The
    /// pairs that another one has at the same place are copied from there.
    fn add_list(&mut self, fields: &Fields) {
        let mut list =
            if self.lists.len() < LISTS { None } else { self.lists.pop_back() }.unwrap_or_default();
        list.ends.clear();
        let text = &mut list.text;
        text.clear();
        text.push(b'[');
        for (place, pair) in fields.iter().enumerate() {
            if let Some(known) = self.lists.iter().find_map(|known| known.pair(place, pair)) {
                text.append(known);
            } else {
                text.append(if place == 0 { b"" } else { S::COMMA.as_bytes() });
                text.push(b'[');
                append_string(text, &pair.0);
                text.append(S::COMMA.as_bytes());
                append_string(text, &pair.1);
                text.push(b']');
            }
            list.ends.push(text.len());
        }
        text.push(b']');
        list.fields = fields.clone();
        self.lists.push_front(list);
    }

    /// Opens a list of objects that is a member's value.
    #[inline(always)]
    pub(crate) fn open_list(&mut self, key: &'static Key) {
        self.key(key);
        self.out.push(b'[');
        self.first = true;
    }

    /// Closes it.
    #[inline(always)]
    pub(crate) fn close_list(&mut self) {
        self.out.push(b']');
        self.first = false;
    }

    /// Opens an object as the next element of a list.
    pub(crate) fn element(&mut self) {
        if !self.first {
            self.raw(S::COMMA);
        }
        self.open();
    }

    /// Opens an object that is a member's value, or an element's on its line.
    #[inline]
    pub(crate) fn open(&mut self) {
        self.out.push(b'{');
        self.first = true;
    }

    /// Closes an object that is a line.
    #[inline]
    pub(crate) fn close_line(&mut self) {
        self.out.append_first(b"}\n", 2);
        self.first = false;
    }

    /// Closes an object.
    #[inline]
    pub(crate) fn close(&mut self) {
        self.out.push(b'}');
        self.first = false;
    }

    /// A member with a payload, which may be long: what is ready goes to `sink`.
    pub(crate) fn payload(
        &mut self,
        key: &'static Key,
        payload: Excerpt<'_>,
        sink: Sink<'_>,
    ) -> io::Result<()> {
        if let Excerpt::Text(text) = payload
            && text.len() <= PIECE
        {
            self.text(key, text);
            return Ok(());
        }
        self.begin(&key.string);
        match payload {
            Excerpt::Text(text) => {
                let mut rest = text;
                while !rest.is_empty() {
                    // A character has at most four octets.
                    let edge = (PIECE - 3..=PIECE).rev().find(|&at| rest.is_char_boundary(at));
                    let (piece, behind) = edge.and_then(|at| rest.split_at_checked(at)).unwrap_or((rest, ""));
                    escape(&mut self.out, piece);
                    self.pass_on(sink)?;
                    rest = behind;
                }
            }
            Excerpt::Octets(octets) => {
                for piece in octets.chunks(PIECE) {
                    self.raw(&STANDARD.encode(piece));
                    if octets.len() > PIECE {
                        self.pass_on(sink)?;
                    }
                }
            }
        }
        self.out.push(b'"');
        Ok(())
    }
}

/// Appends an address and a port.
pub(crate) fn append_address(out: &mut Buffer, address: SocketAddr, number: &mut NumberText) {
    match address {
        SocketAddr::V4(address) => {
            for (octet, behind) in address.ip().octets().into_iter().zip(*b"...:") {
                number.append(out, u64::from(octet));
                out.push(behind);
            }
            number.append(out, u64::from(address.port()));
        }
        SocketAddr::V6(address) => out.append(address.to_string().as_bytes()),
    }
}

/// Appends a string as a value.
pub(crate) fn append_string(out: &mut Buffer, text: &str) {
    out.push(b'"');
    escape(out, text);
    out.push(b'"');
}

/// Appends a string without its quotes.
fn escape(out: &mut Buffer, text: &str) {
    let mut rest = text.as_bytes();
    // Targets, identifiers and messages mostly have nothing to escape: so
    // many octets are compared at once.
    while let Some((part, behind)) = rest.split_first_chunk::<32>()
        && is_plain(part)
    {
        out.append_first(part, part.len());
        rest = behind;
    }
    if let Some(part) = plain::<32>(rest) {
        return out.append_first(&part, rest.len());
    }
    while let Some(behind) = out.append_until(rest, [b'"', b'\\'], b'\\', stops) {
        rest = escape_control(out, behind);
    }
}

/// Writes a short string without its quotes to where there is as much room, if
/// nothing of it is escaped.
#[inline(always)]
pub(crate) fn copy_plain(room: &mut [u8], text: &str) -> bool {
    // Versions and names of nodes are shorter than many names.
    let is_plain = match text.len() {
        ..=16 => plain::<16>(text.as_bytes()).is_some(),
        _ => plain::<32>(text.as_bytes()).is_some(),
    };
    if is_plain {
        copy(room, text.as_bytes());
    }
    is_plain
}

/// A short text with nothing to escape, and blanks.
#[inline(always)]
fn plain<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut padded = [b' '; N];
    copy(padded.get_mut(..text.len())?, text);
    if is_plain(&padded) { Some(padded) } else { None }
}

/// Marks the octets that are control characters, or may begin one: C1 controls,
/// which JSON lets pass and some terminals obey, begin with 0xc2 in UTF-8.
#[inline(always)]
fn stops(block: Block) -> Block {
    block.simd_lt(Block::splat(0x20)) | block.simd_eq(Block::splat(0x7f)) | block.simd_eq(Block::splat(0xc2))
}

/// Writes a control character that some octets begin with escaped (RFC 8259 §7),
/// or the octet that might have begun one. Returns those behind.
fn escape_control<'o>(out: &mut Buffer, octets: &'o [u8]) -> &'o [u8] {
    let (control, behind) = match octets {
        [octet @ (0x08..=0x0a | 0x0c | 0x0d), behind @ ..] => {
            let letter = match octet {
                0x08 => b'b',
                b'\t' => b't',
                b'\n' => b'n',
                0x0c => b'f',
                _ => b'r',
            };
            out.append_first(&[b'\\', letter], 2);
            return behind;
        }
        // U+0080 to U+009F have their number in the second octet.
        [0xc2, control @ 0x80..=0x9f, behind @ ..] => (*control, behind),
        [0xc2, behind @ ..] => {
            out.push(0xc2);
            return behind;
        }
        [control, behind @ ..] => (*control, behind),
        [] => return octets,
    };
    out.append(format!("\\u{control:04x}").as_bytes());
    behind
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A payload written as an object, and how often the buffer was passed on.
    fn written(payload: Excerpt<'_>) -> (serde_json::Value, usize) {
        let mut text = JsonText::<Compact>::new();
        let (mut all, mut times) = (Vec::new(), 0);
        let mut sink = |octets: &[u8]| {
            assert!(octets.len() <= 7 * PIECE, "{} octets at once", octets.len());
            times += 1;
            all.extend_from_slice(octets);
            Ok(())
        };
        text.open();
        text.payload(key!("payload"), payload, &mut sink).unwrap();
        text.number(key!("behind"), 1);
        text.close();
        text.pass_on(&mut sink).unwrap();
        (serde_json::from_slice(&all).unwrap(), times)
    }

    #[test]
    fn long_text_leaves_in_pieces_and_is_whole() {
        // Four-octet characters, shifted so that pieces end inside of them.
        for lead in ["", "a", "ab", "\u{1}\"\\"] {
            let long = format!("{lead}{}", "\u{1F41F}".repeat(PIECE));
            let (value, times) = written(Excerpt::Text(&long));
            assert_eq!(value["payload"], long);
            assert_eq!(value["behind"], 1);
            assert!(times > 3);
        }
    }

    #[test]
    fn long_base64_leaves_in_pieces_and_is_whole() {
        for length in [0, 1, 2, 3, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 2] {
            let octets: Vec<u8> = (0..length).map(|i| (i % 251) as u8 ^ 0x80).collect();
            let (value, _) = written(Excerpt::Octets(&octets));
            assert_eq!(STANDARD.decode(value["payload"].as_str().unwrap()).unwrap(), octets);
            assert_eq!(value["behind"], 1);
        }
    }

    proptest! {
        #[test]
        fn a_list_of_fields_is_the_same_whatever_came_before(
            lists in proptest::collection::vec(
                proptest::collection::vec((0..3usize, 0..3usize), 0..4), 1..20,
            ),
        ) {
            let mut json = JsonText::<Compact>::new();
            for list in lists {
                let pair = |(name, value): (usize, usize)| {
                    (["A", "b\"", "Date"][name].into(), ["", "\u{e9}\n", "today"][value].into())
                };
                let fields: Fields = list.into_iter().map(pair).collect();
                json.clear();
                json.open();
                json.fields(key!("fields"), Some(&fields));
                json.close();
                let pairs: Vec<_> = fields.iter().map(|(name, value)| [name.as_str(), value.as_str()]).collect();
                let text = std::str::from_utf8(json.out.written()).unwrap();
                prop_assert_eq!(text, serde_json::json!({ "fields": pairs }).to_string());
            }
        }
    }

    proptest! {
        #[test]
        fn strings_are_what_they_were_and_hold_no_control_characters(
            text in proptest::collection::vec(
                prop_oneof![
                    any::<char>(),
                    proptest::char::range('\0', '\u{c0}'),
                    proptest::char::range('\u{70}', '\u{c0}'),
                    Just('\u{9b}'),
                    Just('"'),
                ],
                0..40,
            ).prop_map(|chars| chars.into_iter().collect::<String>()),
            plain in "[ -~]{0,70}",
        ) {
            let text = plain + &text;
            let mut json = JsonText::<Compact>::new();
            append_string(&mut json.out, &text);
            let mut out = Vec::new();
            json.pass_on(&mut |octets| { out.extend_from_slice(octets); Ok(()) }).unwrap();
            let written = String::from_utf8(out).unwrap();
            prop_assert!(!written.chars().any(char::is_control), "{written:?}");
            prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text.as_str());
            // As serde_json writes it, but for the controls that it lets pass.
            let mut plain = String::new();
            for character in serde_json::to_string(&text).unwrap().chars() {
                match character.is_control() {
                    true => plain += &format!("\\u{:04x}", u32::from(character)),
                    false => plain.push(character),
                }
            }
            prop_assert_eq!(written, plain);
        }
    }

    #[test]
    fn control_characters_are_escaped_in_long_text_too() {
        let long = "\u{1}\n\"".repeat(PIECE);
        assert_eq!(written(Excerpt::Text(&long)).0["payload"], long);
    }
}
