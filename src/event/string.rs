//! The content of JSON strings (RFC 8259 §7), readable from any octet on.
//!
//! `scan` passes over plain ASCII, many octets at a time; runs with longer
//! characters are left to `std::str::from_utf8`. Only an escape or a character
//! that the end of a slice cuts is read octet by octet.
//!
//! Octets that aren't UTF-8 (RFC 3629: no overlong forms, no surrogates,
//! nothing above U+10FFFF) are a fault at the first octet that no character
//! can go on with. Escaped surrogates without their other half are none: the
//! grammar allows them (RFC 8259 §8.2).

use memchr::memchr;
use smol_str::SmolStr;

use super::scan::Scan;

/// Where in a string's content the last slice ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// Between two characters.
    Plain,
    /// Behind a reverse solidus.
    Escape,
    /// Behind `\u` and some of its digits.
    Hex {
        /// How many digits must follow.
        left: u8,
    },
    /// In a character of several octets.
    Character {
        /// How many octets must follow.
        left: u8,
        /// The least value of the next one.
        low: u8,
        /// Its largest value.
        high: u8,
    },
}

/// Why an octet can't stand where it stands in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringFault {
    /// A control character that isn't escaped.
    Control,
    /// An octet that is no UTF-8 there.
    Utf8,
    /// No escape has this letter.
    Escape,
    /// `\u` wants four hex digits.
    Hex,
}

/// So few octets are sooner looked at than compared as a block.
const FEW: usize = 8;

/// Reads string content, up to and with the closing quotation mark: whether the
/// string closed (else all is read). At a fault the octet at fault comes next.
#[inline]
pub(super) fn read(within: &mut Within, scan: &mut Scan<'_>) -> Result<bool, StringFault> {
    if *within == Within::Plain {
        match if scan.left() < FEW { scan.plain_few() } else { scan.plain() } {
            Some(b'"') => {
                scan.pass(1);
                return Ok(true);
            }
            None => return Ok(false),
            Some(_) => {}
        }
    }
    let (behind, closed) = read_on(within, *scan);
    *scan = behind;
    if closed == Ok(true) {
        scan.pass(1);
    }
    closed
}

/// The same, but for the closing quotation mark, which then comes next. The
/// place is handed over by value so that a caller can keep it in registers.
#[inline(never)]
pub(super) fn read_on<'a>(within: &mut Within, mut scan: Scan<'a>) -> (Scan<'a>, Result<bool, StringFault>) {
    let closed = content(within, &mut scan);
    (scan, closed)
}

#[inline(always)]
fn content(within: &mut Within, scan: &mut Scan<'_>) -> Result<bool, StringFault> {
    if *within != Within::Plain && !resume(within, scan)? {
        return Ok(false);
    }
    loop {
        match scan.plain() {
            None => return Ok(false),
            Some(b'"') => return Ok(true),
            Some(b'\\') => {
                scan.pass(1);
                match scan.peek() {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => scan.pass(1),
                    _ => {
                        *within = Within::Escape;
                        if !resume(within, scan)? {
                            return Ok(false);
                        }
                    }
                }
            }
            Some(0x80..) => {
                if !characters(within, scan)? {
                    return Ok(false);
                }
            }
            Some(_) => return Err(StringFault::Control),
        }
    }
}

/// The string that a literal's content stands for. A surrogate without its
/// other half becomes U+FFFD.
pub(super) fn decode(literal: &[u8]) -> SmolStr {
    if memchr(b'\\', literal).is_none() {
        return plain(literal);
    }
    let quoted = [b"\"", literal, b"\""].concat();
    if let Ok(text) = serde_json::from_slice::<String>(&quoted) {
        return text.into();
    }
    // serde_json refuses half a surrogate pair, which the grammar allows.
    let mut text = String::new();
    let mut rest = literal;
    while let Some((plain, escape)) = memchr(b'\\', rest).and_then(|at| rest.split_at_checked(at)) {
        text.push_str(&self::plain(plain));
        let (character, length) = match escape.get(1) {
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(b'u') => unicode(escape),
            Some(&octet) => (char::from(octet), 2),
            None => (char::REPLACEMENT_CHARACTER, 1),
        };
        text.push(character);
        rest = escape.get(length..).unwrap_or_default();
    }
    text.push_str(&plain(rest));
    text.into()
}

/// A literal's content without escapes as a string. That it is UTF-8 was seen
/// when it was read, but for what stands beside a fault.
pub(super) fn plain(octets: &[u8]) -> SmolStr {
    match std::str::from_utf8(octets) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(octets).into(),
    }
}

/// The character of the `\u` escape at the front, and how long that is: two
/// escapes where they are the halves of a pair.
fn unicode(escape: &[u8]) -> (char, usize) {
    let first = unit(escape);
    if let Some(character) = first.and_then(char::from_u32) {
        return (character, 6);
    }
    let second = escape.get(6..).and_then(unit);
    match (first, second) {
        (Some(high @ 0xD800..=0xDBFF), Some(low @ 0xDC00..=0xDFFF)) => {
            let scalar = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

/// The UTF-16 code unit of the `\u` escape at the front.
fn unit(escape: &[u8]) -> Option<u32> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// `octet` in each octet of a word.
const fn all(octet: u8) -> u64 {
    u64::from_le_bytes([octet; 8])
}

/// The highest bit of each octet that is a quotation mark, a reverse solidus
/// or a control character. Octets above the first such one may be marked by a
/// borrow, those below never: the lowest mark is right.
const fn specials(word: u64) -> u64 {
    let quote = (word ^ all(b'"')).wrapping_sub(all(1));
    let solidus = (word ^ all(b'\\')).wrapping_sub(all(1));
    let control = word.wrapping_sub(all(0x20));
    quote | solidus | control
}

/// How many octets come before the first special one, longer characters
/// counted in.
fn run_length(text: &[u8]) -> usize {
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*word);
        let marks = specials(word) & !word & all(0x80);
        if marks != 0 {
            return text.len() - rest.len() + (marks.trailing_zeros() / 8) as usize;
        }
        rest = behind;
    }
    let end = rest.iter().position(|octet| matches!(octet, b'"' | b'\\' | ..0x20));
    text.len() - rest.len() + end.unwrap_or(rest.len())
}

/// Reads a run that begins with a character of several octets: whether it
/// ended between two characters.
#[inline(never)]
fn characters(within: &mut Within, scan: &mut Scan<'_>) -> Result<bool, StringFault> {
    let rest = scan.rest();
    let run = rest.get(..run_length(rest)).unwrap_or(rest);
    let Err(error) = std::str::from_utf8(run) else {
        scan.pass(run.len());
        return Ok(true);
    };
    scan.pass(error.valid_up_to());
    if let Some(octet) = scan.peek() {
        *within = lead(octet).ok_or(StringFault::Utf8)?;
        scan.pass(1);
    }
    resume(within, scan)
}

/// What must follow the first octet of a character (RFC 3629 §4); `None`
/// where no character begins so.
const fn lead(octet: u8) -> Option<Within> {
    let (left, low, high) = match octet {
        0xC2..=0xDF => (1, 0x80, 0xBF),
        0xE0 => (2, 0xA0, 0xBF),
        0xE1..=0xEC | 0xEE..=0xEF => (2, 0x80, 0xBF),
        0xED => (2, 0x80, 0x9F),
        0xF0 => (3, 0x90, 0xBF),
        0xF1..=0xF3 => (3, 0x80, 0xBF),
        0xF4 => (3, 0x80, 0x8F),
        _ => return None,
    };
    Some(Within::Character { left, low, high })
}

/// Reads on in an escape or a character that a slice's end cut: whether it is
/// whole now.
#[inline(never)]
fn resume(within: &mut Within, scan: &mut Scan<'_>) -> Result<bool, StringFault> {
    while *within != Within::Plain {
        let Some(octet) = scan.peek() else {
            return Ok(false);
        };
        *within = match *within {
            Within::Plain => Within::Plain,
            Within::Escape => match octet {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Within::Plain,
                b'u' => Within::Hex { left: 4 },
                _ => return Err(StringFault::Escape),
            },
            Within::Hex { left } => match (octet.is_ascii_hexdigit(), left) {
                (false, _) => return Err(StringFault::Hex),
                (true, ..=1) => Within::Plain,
                (true, left) => Within::Hex { left: left - 1 },
            },
            Within::Character { left, low, high } => match (low <= octet && octet <= high, left) {
                (false, _) => return Err(StringFault::Utf8),
                (true, ..=1) => Within::Plain,
                (true, left) => Within::Character { left: left - 1, low: 0x80, high: 0xBF },
            },
        };
        scan.pass(1);
    }
    Ok(true)
}
