//! Numbers and times as text, for formats that write millions of them.

use super::buffer::Buffer;
use crate::units::Timestamp;

/// Numbers of at most eight digits are below this.
pub(crate) const EIGHT_DIGITS: u64 = 100_000_000;

/// Appends a number in decimal.
pub(crate) fn append_number(out: &mut Buffer, number: u64) {
    match number {
        // A number below 10 fits an octet.
        0..10 => out.push(b'0' + number as u8),
        10..EIGHT_DIGITS => {
            let (text, count) = digits(number);
            out.append_first(&text, count);
        }
        _ => append_large(out, number),
    }
}

#[cold]
fn append_large(out: &mut Buffer, number: u64) {
    append_number(out, number / EIGHT_DIGITS);
    append_last(out, eight_digits(number % EIGHT_DIGITS), 8);
}

/// The digits of a number below 10^8, in the first of eight octets, and how
/// many there are.
#[inline(never)]
fn digits(number: u64) -> ([u8; 8], usize) {
    let (digits, count) = last_digits(number);
    ((u64::from_le_bytes(digits) >> (64 - 8 * count)).to_le_bytes(), count)
}

/// The digits of a number below 10^8, in the last of eight octets and with
/// zeros before them, and how many there are.
#[inline(always)]
pub(crate) const fn last_digits(number: u64) -> ([u8; 8], usize) {
    let digits = eight_digits(number);
    // Zeros in front: the lowest octets, eight bits each. A zero is a digit.
    let zeros = digits.trailing_zeros() as usize / 8;
    let count = if zeros < 8 { 8 - zeros } else { 1 };
    ((digits | u64::from_le_bytes([b'0'; 8])).to_le_bytes(), count)
}

/// Appends a number of at most `width` digits with zeros in front up to
/// `width` digits (at most 20).
fn append_padded(out: &mut Buffer, number: u64, width: u32) {
    let behind = if width > 8 {
        append_padded(out, number / EIGHT_DIGITS, width - 8);
        8
    } else {
        width
    };
    append_last(out, eight_digits(number % EIGHT_DIGITS), behind);
}

/// Appends nanoseconds as seconds, exact, without zeros at the end.
pub(crate) fn append_seconds(out: &mut Buffer, nanos: u128) {
    const SECOND: u64 = 1_000_000_000;
    // Those of 584 years.
    let Ok(nanos) = u64::try_from(nanos) else {
        let (seconds, nanos) = (nanos / u128::from(SECOND), nanos % u128::from(SECOND));
        let text = format!("{seconds}.{nanos:09}");
        return out.append(text.trim_end_matches('0').trim_end_matches('.').as_bytes());
    };
    append_number(out, nanos / SECOND);
    let (mut decimals, mut count) = (nanos % SECOND, 9);
    if decimals > 0 {
        while decimals % 10 == 0 {
            (decimals, count) = (decimals / 10, count - 1);
        }
        out.push(b'.');
        append_padded(out, decimals, count);
    }
}

/// The digits of a number below 10^8, one an octet, the first one lowest.
///
/// Three multiplications take the number apart into halves, quarters and
/// eighths, all parts at once; each quotient is exact in its range.
#[inline(always)]
const fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 5243) >> 19) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

/// Appends the last `count` (at most 8) of eight digits.
#[inline(always)]
fn append_last(out: &mut Buffer, digits: u64, count: u32) {
    let text = (digits | u64::from_le_bytes([b'0'; 8])).checked_shr(64 - 8 * count).unwrap_or_default();
    out.append_first(&text.to_le_bytes(), count as usize);
}

/// Writes numbers, and remembers the last ones: a chunk's number is that of an
/// event, its size is what was received of it, its frame that of others.
#[derive(Debug)]
pub(crate) struct NumberText([(u64, [u8; 8], usize); REMEMBERED]);

/// How many are remembered, one of each remainder.
const REMEMBERED: usize = 16;

impl Default for NumberText {
    fn default() -> Self {
        // Numbers of more than eight digits aren't remembered: this is none.
        Self([(u64::MAX, [0; 8], 0); REMEMBERED])
    }
}

impl NumberText {
    /// Appends a number in decimal.
    #[inline(always)]
    pub(crate) fn append(&mut self, out: &mut Buffer, number: u64) {
        if !(10..EIGHT_DIGITS).contains(&number) {
            return append_number(out, number);
        }
        if let Some((known, text, count)) = self.0.get_mut(number as usize % REMEMBERED) {
            if *known != number {
                (*known, (*text, *count)) = (number, digits(number));
            }
            out.append_first(text, *count);
        }
    }
}

/// Octets at the end of a time's text: any time has more.
const END: usize = 16;

/// Whether two times have texts that differ in these alone: they lie in one
/// second, and all decimals are among them, with the Z behind.
#[inline(always)]
fn differ_in_end(one: Timestamp, other: Timestamp) -> bool {
    one.seconds() == other.seconds()
        && one.decimals() == other.decimals()
        && usize::from(other.decimals()) < END
}

/// Writes times as [`Timestamp`]'s `Display` does, and remembers the last one:
/// a chunk's first octet mostly came with its last one, and with other chunks;
/// and what one packet follows mostly lies in the same second.
#[derive(Debug, Default)]
pub(crate) struct TimeText {
    last: Option<Timestamp>,
    /// What `last` is written as.
    text: Vec<u8>,
}

impl TimeText {
    /// Appends a time: RFC 3339 in UTC, with all its decimals.
    #[inline]
    pub(crate) fn append(&mut self, out: &mut Buffer, time: Timestamp) {
        out.append(self.text(time));
    }

    /// A time as text.
    #[inline(always)]
    pub(crate) fn text(&mut self, time: Timestamp) -> &[u8] {
        if self.last != Some(time) {
            self.turn_to(time);
        }
        &self.text
    }

    /// The last octets of a time's text, if it differs from that of `before`
    /// in these alone.
    #[inline(always)]
    pub(crate) fn end(&mut self, before: Timestamp, time: Timestamp) -> Option<&[u8; END]> {
        if differ_in_end(before, time) { self.text(time).last_chunk() } else { None }
    }

    #[inline(never)]
    fn turn_to(&mut self, time: Timestamp) {
        if !self.last.replace(time).is_some_and(|last| differ_in_end(last, time)) {
            return self.turn_to_second(time);
        }
        let (leading, last) = (time.fraction() / EIGHT_DIGITS, time.fraction() % EIGHT_DIGITS);
        let decimals = usize::from(time.decimals());
        if let Some((_, text)) = self.text.split_last_mut() {
            write_over_last(text, last_digits(last).0, decimals.min(8));
            if decimals > 8
                && let Some((text, _)) = text.split_last_chunk_mut::<8>()
            {
                write_over_last(text, last_digits(leading).0, decimals - 8);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn turn_to_second(&mut self, time: Timestamp) {
        self.text = time.to_string().into_bytes();
    }
}

/// Writes the last `count` of eight digits over as many octets at the end of a
/// text, which has eight octets at least.
#[inline(always)]
pub(crate) fn write_over_last(text: &mut [u8], digits: [u8; 8], count: usize) {
    if let Some(word) = text.last_chunk_mut::<8>() {
        let digits_only = u64::MAX << (64 - 8 * count);
        let (old, new) = (u64::from_le_bytes(*word), u64::from_le_bytes(digits));
        *word = (old & !digits_only | new & digits_only).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(buffer: &Buffer) -> &str {
        std::str::from_utf8(buffer.written()).unwrap()
    }

    fn decimal(number: u64) -> String {
        let mut out = Buffer::default();
        append_number(&mut out, number);
        text(&out).to_owned()
    }

    #[test]
    fn numbers_of_every_length_are_exact() {
        let mut number = 0u64;
        for _ in 0..=20 {
            assert_eq!(decimal(number), number.to_string());
            number = number.saturating_mul(10).saturating_add(7);
        }
        assert_eq!(decimal(u64::MAX), "18446744073709551615");
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_their_display(number in any::<u64>(), digits in 0u32..20) {
            for number in [number, number % 10u64.pow(digits)] {
                prop_assert_eq!(decimal(number), number.to_string());
            }
        }

        #[test]
        fn numbers_come_again_as_they_were(
            numbers in proptest::collection::vec(prop_oneof![any::<u64>(), 0u64..200, 99_999_990u64..100_000_010], 0..50),
        ) {
            let mut texts = NumberText::default();
            for number in numbers.iter().chain(&numbers) {
                let mut out = Buffer::default();
                texts.append(&mut out, *number);
                prop_assert_eq!(text(&out), number.to_string());
            }
        }

        #[test]
        fn seconds_are_exact(nanos in any::<u128>(), digits in 0u32..39, zeros in 0u32..20) {
            let nanos = nanos % 10u128.pow(digits) / 10u128.pow(zeros) * 10u128.pow(zeros);
            let mut out = Buffer::default();
            append_seconds(&mut out, nanos);
            let plain = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
            prop_assert_eq!(text(&out), plain.trim_end_matches('0').trim_end_matches('.'));
        }

        #[test]
        fn times_are_those_of_their_display(
            times in proptest::collection::vec((any::<i64>(), -3i64..3, any::<u64>(), 0u8..=19), 1..20),
        ) {
            let mut texts = TimeText::default();
            let mut before = None;
            for (far, near, fraction, decimals) in times {
                let second = 10u64.pow(u32::from(decimals));
                for seconds in [far, near, 1_690_981_802 + near] {
                    for fraction in [fraction, fraction / 3 % second, fraction % second, fraction % second] {
                        let time = Timestamp::new(seconds, fraction, decimals);
                        let plain = time.to_string();
                        if let Some((before, earlier)) = before.replace((time, plain.clone()))
                            && let Some(end) = texts.end(before, time)
                        {
                            let same = plain.len() - end.len();
                            prop_assert_eq!(std::str::from_utf8(end).unwrap(), &plain[same..]);
                            prop_assert_eq!(&earlier[..same], &plain[..same]);
                        }
                        let mut out = Buffer::default();
                        texts.append(&mut out, time);
                        prop_assert_eq!(text(&out), plain);
                    }
                }
            }
        }
    }
}
