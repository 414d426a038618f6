//! The chunk-size line, octet by octet (RFC 9112 §7.1).
//!
//! ```text
//! chunk-size [ chunk-ext ] CRLF
//! chunk-size = 1*HEXDIG
//! chunk-ext  = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )
//! ```
//!
//! Extensions are kept as they are and not interpreted. A line end always ends
//! the line, also inside a quoted string: RFC 9110 §5.6.4 gives a quoted string
//! neither CR nor LF.

/// Significant digits of the largest size: 16 hex digits are 64 bits.
const DIGITS: u8 = 16;

/// Reads one size line.
#[derive(Debug, Clone)]
pub(crate) struct SizeLine {
    state: State,
    size: u64,
    /// Digits behind the leading zeros: leading zeros are free.
    significant: u8,
    /// Octets so far.
    len: usize,
    /// The most octets a line may have, its end included.
    limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No octet yet.
    Start,
    /// Within the digits.
    Digits,
    /// White space behind the digits.
    Space,
    /// Within the extensions.
    Extensions,
    /// A CR behind digits or white space: only LF may follow.
    Cr { spaced: bool },
    /// A CR within the extensions: LF ends the line.
    ExtensionsCr,
}

/// What one more octet of a size line makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeStep {
    /// The line goes on.
    More,
    /// The octet ended the line.
    Done {
        /// The chunk's size.
        size: u64,
        /// The line ended in a bare LF.
        bare_lf: bool,
        /// White space stood between the size and the line end.
        spaced: bool,
    },
    /// The octet makes it no size line.
    Fault(SizeFault),
}

/// Why a line is no size line; the octet at fault is known to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeFault {
    /// No digit before the line end, white space or `;`.
    Empty,
    /// Something else than a hex digit where the size stands.
    NoDigit,
    /// Something else than `;` or the line end behind white space.
    BehindSpace,
    /// A CR without its LF.
    BareCr,
    /// A size beyond 64 bits.
    TooLarge,
    /// More octets than a line may have.
    TooLong,
}

impl SizeLine {
    /// A line of which nothing was read, at most `limit` octets long.
    pub(crate) const fn new(limit: usize) -> Self {
        Self { state: State::Start, size: 0, significant: 0, len: 0, limit }
    }

    /// Reads the whole line at once, if it is all there and has nothing but
    /// digits and CRLF, as nearly all have: the size, and how long the line is.
    #[inline]
    pub(crate) fn plain(&self, octets: &[u8]) -> Option<(u64, usize)> {
        if self.len > 0 {
            return None;
        }
        let mut size = 0;
        for (count, &octet) in octets.iter().enumerate().take(usize::from(DIGITS) + 1) {
            let digit = match octet {
                b'0'..=b'9' => octet - b'0',
                b'a'..=b'f' | b'A'..=b'F' => (octet | 0x20) - b'a' + 10,
                b'\r' if count > 0 && octets.get(count + 1) == Some(&b'\n') && count + 2 <= self.limit => {
                    return Some((size, count + 2));
                }
                _ => return None,
            };
            // The seventeenth octet is no digit, or the line isn't read here.
            size = (size << 4) | u64::from(digit);
        }
        None
    }

    /// Takes the next octet.
    pub(crate) fn push(&mut self, octet: u8) -> SizeStep {
        if self.len >= self.limit {
            return SizeStep::Fault(SizeFault::TooLong);
        }
        self.len += 1;
        self.state = match (self.state, octet) {
            (State::Start | State::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if self.significant == DIGITS {
                    return SizeStep::Fault(SizeFault::TooLarge);
                }
                let digit = match octet {
                    b'0'..=b'9' => octet - b'0',
                    _ => (octet | 0x20) - b'a' + 10,
                };
                self.size = self.size << 4 | u64::from(digit);
                if self.size != 0 {
                    self.significant += 1;
                }
                State::Digits
            }
            (State::Start, b' ' | b'\t' | b';' | b'\r' | b'\n') => {
                return SizeStep::Fault(SizeFault::Empty);
            }
            (State::Digits | State::Space, b';') => State::Extensions,
            (State::Digits | State::Space, b' ' | b'\t') => State::Space,
            (State::Digits, b'\r') => State::Cr { spaced: false },
            (State::Space, b'\r') => State::Cr { spaced: true },
            (State::Digits, b'\n') => return self.done(true, false),
            (State::Space, b'\n') => return self.done(true, true),
            (State::Cr { spaced }, b'\n') => return self.done(false, spaced),
            (State::ExtensionsCr, b'\n') => return self.done(false, false),
            (State::Extensions, b'\n') => return self.done(true, false),
            (State::Extensions | State::ExtensionsCr, b'\r') => State::ExtensionsCr,
            // RFC 9112 §2.2: a bare CR may be read as a space.
            (State::Extensions | State::ExtensionsCr, _) => State::Extensions,
            (State::Start | State::Digits, _) => return SizeStep::Fault(SizeFault::NoDigit),
            (State::Space, _) => return SizeStep::Fault(SizeFault::BehindSpace),
            (State::Cr { .. }, _) => return SizeStep::Fault(SizeFault::BareCr),
        };
        SizeStep::More
    }

    const fn done(&self, bare_lf: bool, spaced: bool) -> SizeStep {
        SizeStep::Done { size: self.size, bare_lf, spaced }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the last octet pushed makes of a line.
    fn read(line: &str) -> SizeStep {
        let mut reader = SizeLine::new(4096);
        let mut step = SizeStep::More;
        for octet in line.bytes() {
            assert_eq!(step, SizeStep::More, "{line:?} ended early");
            step = reader.push(octet);
        }
        step
    }

    fn done(size: u64) -> SizeStep {
        SizeStep::Done { size, bare_lf: false, spaced: false }
    }

    #[test]
    fn sizes_are_hexadecimal_in_either_case() {
        assert_eq!(read("31d\r\n"), done(797));
        assert_eq!(read("FfA\r\n"), done(4090));
        assert_eq!(read("0\r\n"), done(0));
    }

    #[test]
    fn leading_zeros_are_free_and_sixteen_digits_count() {
        assert_eq!(read("000003a8\r\n"), done(936));
        assert_eq!(read("0000000000000000000000005\r\n"), done(5));
        assert_eq!(read("ffffffffffffffff\r\n"), done(u64::MAX));
        assert_eq!(read("000ffffffffffffffff\r\n"), done(u64::MAX));
        assert_eq!(read("10000000000000000"), SizeStep::Fault(SizeFault::TooLarge));
    }

    #[test]
    fn extensions_may_hold_anything_but_a_line_end() {
        assert_eq!(read("5;a=b;c=\"d;e\\\"f\"\r\n"), done(5));
        assert_eq!(read("0 \t ;x\r\n"), done(0));
        assert_eq!(read("5; \r\n"), done(5));
        assert_eq!(read("5;a\rb\r\n"), done(5));
        assert_eq!(read("5;a=\"\r\n"), done(5));
    }

    #[test]
    fn liberties_are_told() {
        assert_eq!(read("5 \t\r\n"), SizeStep::Done { size: 5, bare_lf: false, spaced: true });
        assert_eq!(read("5\n"), SizeStep::Done { size: 5, bare_lf: true, spaced: false });
        assert_eq!(read("5 \n"), SizeStep::Done { size: 5, bare_lf: true, spaced: true });
        assert_eq!(read("5;a\n"), SizeStep::Done { size: 5, bare_lf: true, spaced: false });
    }

    #[test]
    fn anything_else_is_a_fault_at_its_octet() {
        for (line, fault) in [
            ("\r", SizeFault::Empty),
            ("\n", SizeFault::Empty),
            (" ", SizeFault::Empty),
            (";", SizeFault::Empty),
            ("0x", SizeFault::NoDigit),
            ("-", SizeFault::NoDigit),
            ("1_", SizeFault::NoDigit),
            ("12g", SizeFault::NoDigit),
            ("5\0", SizeFault::NoDigit),
            ("5 0", SizeFault::BehindSpace),
            ("5\rx", SizeFault::BareCr),
            ("5 \r\r", SizeFault::BareCr),
        ] {
            assert_eq!(read(line), SizeStep::Fault(fault), "{line:?}");
        }
    }

    #[test]
    fn a_line_has_at_most_its_limit_of_octets() {
        let line = format!("5;{}\r\n", "x".repeat(4092));
        assert_eq!(read(&line), done(5));
        assert_eq!(read(&format!("5;{}\r", "x".repeat(4094))), SizeStep::Fault(SizeFault::TooLong));
        assert_eq!(read(&format!("{}5", "0".repeat(4096))), SizeStep::Fault(SizeFault::TooLong));
    }
}
