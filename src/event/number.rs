//! JSON numbers (RFC 8259 §6), readable from any octet on. Their size and
//! their digits are nobody's concern: they are skipped, not computed.

/// How far a number has come (RFC 8259 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Number {
    /// Reads what can belong to the number from the front of `rest`.
    #[inline(always)]
    pub(super) fn read(&mut self, rest: &mut &[u8]) {
        if *self == Self::Minus {
            match rest.split_first() {
                Some((b'0', behind)) => (*self, *rest) = (Self::Zero, behind),
                Some((b'1'..=b'9', behind)) => (*self, *rest) = (Self::Integer, behind),
                _ => return,
            }
        }
        if *self == Self::Integer {
            skip_digits(rest);
        }
        if matches!(self, Self::Zero | Self::Integer) {
            match rest.split_first() {
                Some((b'.', behind)) => (*self, *rest) = (Self::Point, behind),
                Some((b'e' | b'E', behind)) => (*self, *rest) = (Self::Exponent, behind),
                _ => return,
            }
        }
        if *self == Self::Point {
            let Some((b'0'..=b'9', behind)) = rest.split_first() else {
                return;
            };
            (*self, *rest) = (Self::Fraction, behind);
        }
        if *self == Self::Fraction {
            skip_digits(rest);
            let Some((b'e' | b'E', behind)) = rest.split_first() else {
                return;
            };
            (*self, *rest) = (Self::Exponent, behind);
        }
        if *self == Self::Exponent
            && let Some((b'+' | b'-', behind)) = rest.split_first()
        {
            (*self, *rest) = (Self::ExponentSign, behind);
        }
        if matches!(self, Self::Exponent | Self::ExponentSign) {
            let Some((b'0'..=b'9', behind)) = rest.split_first() else {
                return;
            };
            (*self, *rest) = (Self::ExponentDigits, behind);
        }
        skip_digits(rest);
    }

    /// Whether it is a number if nothing more belongs to it.
    pub(super) const fn may_end(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits)
    }
}

/// Drops digits from the front.
#[inline]
fn skip_digits(rest: &mut &[u8]) {
    while let Some((b'0'..=b'9', behind)) = rest.split_first() {
        *rest = behind;
    }
}

/// How long the number at the front is, if it ends before the last octet;
/// `None` where that isn't so, or something is wrong with it.
#[inline(always)]
pub(super) fn length(octets: &[u8]) -> Option<usize> {
    // Most are integers, of fewer than eight digits.
    if let Some(word) = octets.first_chunk() {
        let word = u64::from_le_bytes(*word) ^ u64::from_le_bytes([b'0'; 8]);
        // The lowest octet of which the highest bit is set is no digit.
        let others =
            (word.wrapping_add(u64::from_le_bytes([0x76; 8])) | word) & u64::from_le_bytes([0x80; 8]);
        let digits = (others.trailing_zeros() / 8) as usize;
        let ends = matches!(octets.get(digits), Some(b',' | b'}' | b']'));
        if ends && digits > 0 && (digits == 1 || octets.first() != Some(&b'0')) {
            return Some(digits);
        }
    }
    any_length(octets)
}

/// The same for all numbers.
#[inline(never)]
fn any_length(octets: &[u8]) -> Option<usize> {
    let (&first, mut rest) = octets.split_first()?;
    let mut number = match first {
        b'-' => Number::Minus,
        b'0' => Number::Zero,
        b'1'..=b'9' => Number::Integer,
        _ => return None,
    };
    number.read(&mut rest);
    let behind = rest.first()?;
    // RFC 8259 §6: leading zeros are not allowed.
    let ends = number.may_end() && !(number == Number::Zero && behind.is_ascii_digit());
    ends.then_some(octets.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_known_as_by_reading_octet_by_octet() {
        let letters = b"019-.e+,}] x";
        for mut choice in 0..letters.len().pow(5) {
            let mut octets = Vec::new();
            for _ in 0..5 {
                octets.push(letters[choice % letters.len()]);
                choice /= letters.len();
            }
            for behind in ["", ",0123456", "0123456789,", "]"] {
                let octets = [octets.as_slice(), behind.as_bytes()].concat();
                if matches!(octets.first(), Some(b'-' | b'0'..=b'9')) {
                    assert_eq!(length(&octets), any_length(&octets), "{}", octets.escape_ascii());
                }
            }
        }
    }
}
