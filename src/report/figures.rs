//! Numbers and times as text, for formats that write millions of them.

use crate::units::Timestamp;

/// Numbers of at most eight digits are below this.
const EIGHT_DIGITS: u64 = 100_000_000;

/// Appends a number in decimal.
pub(crate) fn append_number(out: &mut Vec<u8>, number: u64) {
    match number {
        // A number below 10 fits an octet.
        0..10 => out.push(b'0' + number as u8),
        10..100 => out.extend_from_slice(&two_digits(number)),
        100..1000 => {
            let [tens, ones] = two_digits(number % 100);
            out.extend_from_slice(&[b'0' + (number / 100) as u8, tens, ones]);
        }
        1000..10_000 => {
            let ([a, b], [c, d]) = (two_digits(number / 100), two_digits(number % 100));
            out.extend_from_slice(&[a, b, c, d]);
        }
        10_000..EIGHT_DIGITS => {
            let digits = eight_digits(number);
            // Zeros in front: the lowest octets, eight bits each.
            append_last(out, digits, 8 - digits.trailing_zeros() / 8);
        }
        _ => append_large(out, number),
    }
}

#[cold]
fn append_large(out: &mut Vec<u8>, number: u64) {
    append_number(out, number / EIGHT_DIGITS);
    append_last(out, eight_digits(number % EIGHT_DIGITS), 8);
}

/// The digits of a number below 100.
const fn two_digits(number: u64) -> [u8; 2] {
    // Each fits an octet.
    let tens = ((number * 103) >> 10) as u8;
    [b'0' + tens, b'0' + number as u8 - 10 * tens]
}

/// Appends a number of at most `width` digits with zeros in front up to
/// `width` digits (at most 20).
fn append_padded(out: &mut Vec<u8>, number: u64, width: u32) {
    let behind = if width > 8 {
        append_padded(out, number / EIGHT_DIGITS, width - 8);
        8
    } else {
        width
    };
    append_last(out, eight_digits(number % EIGHT_DIGITS), behind);
}

/// The digits of a number below 10^8, one an octet, the first one lowest.
///
/// Three multiplications take the number apart into halves, quarters and
/// eighths, all parts at once; each quotient is exact in its range.
const fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 5243) >> 19) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

/// Appends the last `count` (at most 8) of eight digits.
#[inline]
fn append_last(out: &mut Vec<u8>, digits: u64, count: u32) {
    let text = (digits | u64::from_le_bytes([b'0'; 8])).checked_shr(64 - 8 * count).unwrap_or_default();
    // Eight octets at a time cost less than as many as there are.
    let end = out.len() + count as usize;
    out.extend_from_slice(&text.to_le_bytes());
    out.truncate(end);
}

/// Writes times as [`Timestamp`]'s `Display` does, and remembers the last
/// second, since what one packet follows mostly lies in the same one.
#[derive(Debug, Default)]
pub(crate) struct TimeText {
    /// The second that `text` says.
    second: Option<i64>,
    /// `2023-08-02T13:10:02`.
    text: [u8; 19],
}

impl TimeText {
    /// Appends a time: RFC 3339 in UTC, with all its decimals.
    #[inline]
    pub(crate) fn append(&mut self, out: &mut Vec<u8>, time: Timestamp) {
        if self.second != Some(time.seconds()) {
            self.turn_to(time.seconds());
        }
        out.extend_from_slice(&self.text);
        if time.decimals() > 0 {
            out.push(b'.');
            append_padded(out, time.fraction(), u32::from(time.decimals()));
        }
        out.push(b'Z');
    }

    #[cold]
    fn turn_to(&mut self, second: i64) {
        let text = Timestamp::new(second, 0, 0).to_string();
        if let Some(text) = text.as_bytes().first_chunk() {
            self.text = *text;
        }
        self.second = Some(second);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_of_every_length_are_exact() {
        let mut number = 0u64;
        for _ in 0..=20 {
            let mut out = Vec::new();
            append_number(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), number.to_string());
            number = number.saturating_mul(10).saturating_add(7);
        }
        let mut out = Vec::new();
        append_number(&mut out, u64::MAX);
        assert_eq!(out, b"18446744073709551615");
    }

    proptest! {
        #[test]
        fn times_are_those_of_their_display(
            times in proptest::collection::vec((any::<i64>(), -3i64..3, any::<u64>(), 0u8..=19), 1..20),
        ) {
            let mut text = TimeText::default();
            for (far, near, fraction, decimals) in times {
                for seconds in [far, near, 1_690_981_802 + near] {
                    let time = Timestamp::new(seconds, fraction, decimals);
                    let mut out = Vec::new();
                    text.append(&mut out, time);
                    prop_assert_eq!(String::from_utf8(out).unwrap(), time.to_string());
                }
            }
        }
    }
}
