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
