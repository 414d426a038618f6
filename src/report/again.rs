//! A line that is written again with other values in it.
//!
//! A report says the same of thousands of things, but for some numbers. So a
//! line that was written is kept, and where the next one has another value, that
//! is put in the place of the old one. What stands around the values isn't
//! known here: it is what the report wrote.

use std::mem;

use super::buffer::{Buffer, copy};
use super::figures::{EIGHT_DIGITS, append_number, last_digits, write_over_last};

/// A line with `N` values.
#[derive(Debug)]
pub(crate) struct Again<const N: usize> {
    text: Vec<u8>,
    values: [Value; N],
}

/// A value in a line.
#[derive(Debug, Clone, Copy)]
struct Value {
    start: usize,
    end: usize,
    /// Which number it is, if it was put there as one; else [`NO_NUMBER`].
    number: u64,
}

/// A value that wasn't put there as a number. This one is put there each time.
const NO_NUMBER: u64 = u64::MAX;

impl<const N: usize> Again<N> {
    /// Of a line in which these texts stand before the values, one behind the
    /// other; `None` where they don't, or where the first one is shorter than
    /// eight digits. Each value reaches to what ends it: the end of the string
    /// or list that its text begins, else that of the member.
    pub(crate) fn of(line: &[u8], before: [&str; N]) -> Option<Self> {
        let mut values = [Value { start: 0, end: 0, number: NO_NUMBER }; N];
        let mut end = 0;
        for (value, before) in values.iter_mut().zip(before) {
            let start = end + memchr::memmem::find(line.get(end..)?, before.as_bytes())? + before.len();
            end = start + length(line.get(start..)?, before)?;
            (value.start, value.end) = (start, end);
        }
        values.iter().all(|value| value.start >= 8).then(|| Self { text: line.to_vec(), values })
    }

    /// The line.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Puts a number there.
    #[inline(always)]
    pub(crate) fn number(&mut self, value: usize, number: u64) {
        if self.values.get(value).is_some_and(|value| value.number != number || number == NO_NUMBER) {
            self.put_number(value, number);
        }
    }

    /// Puts a number there which mostly is one more than that before it: then
    /// only its last digit is another, mostly.
    #[inline(always)]
    pub(crate) fn count(&mut self, value: usize, number: u64) {
        if let Some(Value { end, number: known, .. }) = self.values.get_mut(value)
            && number.checked_sub(1) == Some(*known)
            && let Some(digit) = self.text.get_mut(*end - 1)
            && *digit < b'9'
        {
            (*digit, *known) = (*digit + 1, number);
        } else {
            self.number(value, number);
        }
    }

    #[inline(never)]
    fn put_number(&mut self, value: usize, number: u64) {
        let Some(Value { start, end, number: known }) = self.values.get_mut(value) else {
            return;
        };
        let before = mem::replace(known, number);
        if number >= EIGHT_DIGITS {
            return self.put_large(value, number, before);
        }
        let (digits, count) = last_digits(number);
        if count == *end - *start {
            self.put_last(value, digits, count);
        } else {
            self.put_longer(value, digits.get(8 - count..).unwrap_or_default());
        }
    }

    /// Puts the last `count` of these digits in the place of the last ones of a
    /// value.
    #[inline(always)]
    pub(crate) fn put_last(&mut self, value: usize, digits: [u8; 8], count: usize) {
        if let Some(text) = self.values.get(value).and_then(|value| self.text.get_mut(..value.end)) {
            write_over_last(text, digits, count);
        }
    }

    /// Puts a number of more than eight digits there.
    #[inline(never)]
    fn put_large(&mut self, value: usize, number: u64, before: u64) {
        let (leading, last) = (number / EIGHT_DIGITS, number % EIGHT_DIGITS);
        if before != NO_NUMBER
            && before / EIGHT_DIGITS == leading
            && let Some(place) = self.place(value)
            && let Some(word) = place.last_chunk_mut()
        {
            *word = last_digits(last).0;
            return;
        }
        let mut text = Buffer::default();
        append_number(&mut text, number);
        self.put(value, text.written());
        if let Some(value) = self.values.get_mut(value) {
            value.number = number;
        }
    }

    /// Where a value stands that is no number.
    #[inline(always)]
    pub(crate) fn place(&mut self, value: usize) -> Option<&mut [u8]> {
        let Value { start, end, .. } = self.values.get(value)?;
        self.text.get_mut(*start..*end)
    }

    /// Puts a text there.
    #[inline(always)]
    pub(crate) fn put(&mut self, value: usize, text: &[u8]) {
        let Some(Value { start, end, number }) = self.values.get_mut(value) else {
            return;
        };
        *number = NO_NUMBER;
        match self.text.get_mut(*start..*end) {
            Some(place) if place.len() == text.len() => copy(place, text),
            _ => self.put_longer(value, text),
        }
    }

    /// Puts a text of another length there: what is behind it moves.
    #[inline(never)]
    fn put_longer(&mut self, value: usize, text: &[u8]) {
        let mut values = self.values.iter_mut().skip(value);
        let Some(Value { start, end, .. }) = values.next() else {
            return;
        };
        let (before, behind) = (*end, *start + text.len());
        let (len, moved) = (self.text.len(), behind.wrapping_sub(before));
        self.text.resize(len.max(len.wrapping_add(moved)), 0);
        self.text.copy_within(before..len, behind);
        self.text.truncate(len.wrapping_add(moved));
        if let Some(place) = self.text.get_mut(*start..behind) {
            copy(place, text);
        }
        *end = behind;
        for value in values {
            value.start = value.start.wrapping_add(moved);
            value.end = value.end.wrapping_add(moved);
        }
    }
}

/// How long the value is that `text` begins with, by what stands before it.
fn length(text: &[u8], before: &str) -> Option<usize> {
    match before.as_bytes().last() {
        Some(b'"') => text.iter().position(|octet| *octet == b'"'),
        Some(b'[') => text.iter().position(|octet| *octet == b']'),
        _ if text.first() == Some(&b'[') => lists(text),
        _ if text.first() == Some(&b'"') => {
            // Up to a quote that isn't escaped.
            let mut escaped = true;
            let end = text.iter().position(|octet| {
                let ends = *octet == b'"' && !escaped;
                escaped = *octet == b'\\' && !escaped;
                ends
            });
            end.map(|end| end + 1)
        }
        _ => text.iter().position(|octet| matches!(octet, b',' | b'}')),
    }
}

/// How long the list is that `text` begins with, with lists and strings in it.
fn lists(text: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    let end = text.iter().position(|octet| {
        match octet {
            b'"' if !escaped => in_string = !in_string,
            b'[' if !in_string => depth += 1,
            b']' if !in_string => depth -= 1,
            _ => {}
        }
        escaped = *octet == b'\\' && !escaped;
        depth == 0
    });
    end.map(|end| end + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a line says.
    type Said = (u64, u64, Vec<u64>, String, Option<String>);

    fn line((count, number, list, word, string): &Said) -> String {
        let line = serde_json::json!({ "a": 1, "aa": count, "b": number, "c": list, "d": word, "e": string, "f": 1 });
        format!("{line}\n")
    }

    fn numbers() -> impl Strategy<Value = u64> {
        prop_oneof![
            0..12u64,
            95..105u64,
            99_999_998..100_000_003u64,
            1_099_999_998..1_100_000_002u64,
            any::<u64>()
        ]
    }

    proptest! {
        #[test]
        fn a_line_with_other_values_is_as_if_written_anew(
            all in proptest::collection::vec(
                (
                    prop_oneof![Just(None), numbers().prop_map(Some)],
                    numbers(),
                    proptest::collection::vec(numbers(), 0..3),
                    "[a-z]{0,70}",
                    prop_oneof![Just(None), "[a\"\\\\,}\\]\u{1}]{0,6}".prop_map(Some)],
                ),
                1..20,
            ),
        ) {
            let mut again = None;
            let mut before = 0u64;
            for (number, other, list, word, string) in all {
                // Where none is given it is one more.
                before = number.unwrap_or(before.saturating_add(1));
                let said = (before, other, list, word, string);
                let written = line(&said);
                let (count, number, list, word, string) = &said;
                let again = again.get_or_insert_with(|| {
                    Again::of(written.as_bytes(), [r#","aa":"#, r#","b":"#, r#","c":["#, r#","d":""#, r#","e":"#]).unwrap()
                });
                again.count(0, *count);
                again.number(1, *number);
                match list.as_slice() {
                    [one] => again.number(2, *one),
                    list => again.put(2, list.iter().map(u64::to_string).collect::<Vec<_>>().join(",").as_bytes()),
                }
                again.put(3, word.as_bytes());
                again.put(4, serde_json::to_string(string).unwrap().as_bytes());
                prop_assert_eq!(std::str::from_utf8(again.text()).unwrap(), written);
            }
        }
    }

    #[test]
    fn a_line_without_a_value_is_none_to_write_again() {
        assert!(Again::of(b"{\"a\":1,\"b\":2}\n", [",\"b\":", ",\"a\":"]).is_none());
        assert!(Again::of(b"{\"a\":1,\"b\":2", [",\"b\":"]).is_none());
    }
}
