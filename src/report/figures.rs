//! Numbers and times as text, for formats that write millions of them.

use crate::units::Timestamp;

/// The most digits of a `u64`.
const MOST_DIGITS: usize = 20;

/// Appends a number in decimal.
pub(crate) fn append_number(out: &mut Vec<u8>, number: u64) {
    match number {
        // A number below 10 fits an octet.
        0..10 => out.push(b'0' + number as u8),
        _ => append_padded(out, number, 1),
    }
}

/// Appends a number in decimal, with zeros in front up to `width` digits (at
/// most 20).
fn append_padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let mut digits = [b'0'; MOST_DIGITS];
    let mut rest = number;
    let mut used = 0;
    for pair in digits.rchunks_exact_mut(2) {
        // A remainder of 100 has two digits, and each fits an octet.
        let [tens, ones] = pair else { break };
        let two = (rest % 100) as u8;
        (*tens, *ones) = (b'0' + two / 10, b'0' + two % 10);
        rest /= 100;
        used += 1 + usize::from(two >= 10 || rest > 0);
        if rest == 0 {
            break;
        }
    }
    let start = MOST_DIGITS.saturating_sub(used.max(width));
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

/// Writes times as [`Timestamp`]'s `Display` does, and remembers the last
/// second, since what one packet follows mostly lies in the same one.
#[derive(Debug, Default)]
pub(crate) struct TimeText {
    /// The second that `text` says.
    second: Option<i64>,
    /// `2023-08-02T13:10:02`.
    text: String,
}

impl TimeText {
    /// Appends a time: RFC 3339 in UTC, with all its decimals.
    pub(crate) fn append(&mut self, out: &mut Vec<u8>, time: Timestamp) {
        if self.second != Some(time.seconds()) {
            self.text = Timestamp::new(time.seconds(), 0, 0).to_string();
            self.text.pop(); // the Z
            self.second = Some(time.seconds());
        }
        out.extend_from_slice(self.text.as_bytes());
        if time.decimals() > 0 {
            out.push(b'.');
            append_padded(out, time.fraction(), usize::from(time.decimals()));
        }
        out.push(b'Z');
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
