//! Frame numbers, times and offsets: the units that the layers share.

use std::fmt;
use std::num::{NonZeroI64, NonZeroU8, NonZeroU64};

/// A packet's number in its capture, from 1, as Wireshark's `frame.number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameNo(NonZeroU64);

impl FrameNo {
    /// The frame with this number; 0 counts as 1.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        match NonZeroU64::new(number) {
            Some(number) => Self(number),
            None => Self(NonZeroU64::MIN),
        }
    }

    /// The number, from 1.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for FrameNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Nanoseconds in a second.
const NANOS: i64 = 1_000_000_000;

/// A packet's time: seconds since 1970-01-01T00:00:00Z and a decimal fraction
/// with the decimals of the interface's resolution.
///
/// Each piece of a stream carries two of them, so it takes two words, and an
/// `Option` of one no more. Seconds beyond ±2^55, a thousand million years, are
/// taken for these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timestamp {
    /// The seconds above eight bits with one more than the decimals, of which
    /// there are at most 19: never 0.
    seconds_and_resolution: NonZeroI64,
    /// In units of 10^-decimals, below 10^decimals.
    fraction: u64,
}

impl Timestamp {
    /// The most decimals that a time keeps: a fraction fits 64 bits.
    pub const MAX_DECIMALS: u8 = 19;

    /// A time from whole seconds (floor) and `fraction` × 10^-`decimals`
    /// seconds. A fraction of a second or more is carried over; decimals
    /// beyond [`Self::MAX_DECIMALS`] are cut.
    #[must_use]
    #[inline]
    pub fn new(seconds: i64, fraction: u64, decimals: u8) -> Self {
        let (mut fraction, mut decimals) = (fraction, decimals);
        while decimals > Self::MAX_DECIMALS {
            fraction /= 10;
            decimals -= 1;
        }
        let second = 10u64.pow(u32::from(decimals));
        let mut carry = 0;
        if fraction >= second {
            carry = i64::try_from(fraction / second).unwrap_or(i64::MAX);
            fraction %= second;
        }
        let seconds = seconds.saturating_add(carry).clamp(-(1 << 55), (1 << 55) - 1);
        let resolution = NonZeroI64::from(NonZeroU8::MIN.saturating_add(decimals));
        Self { seconds_and_resolution: resolution | seconds << 8, fraction }
    }

    /// Whole seconds since 1970 (floor).
    #[must_use]
    pub const fn seconds(self) -> i64 {
        self.seconds_and_resolution.get() >> 8
    }

    /// The fraction of a second, in units of 10^-[`Self::decimals`].
    #[must_use]
    pub const fn fraction(self) -> u64 {
        self.fraction
    }

    /// Decimals of the fraction.
    #[must_use]
    pub const fn decimals(self) -> u8 {
        self.seconds_and_resolution.get().to_le_bytes()[0] - 1
    }

    /// The time since `earlier`, in nanoseconds (toward zero); negative where
    /// `earlier` is later.
    #[must_use]
    #[inline]
    pub fn nanos_since(self, earlier: Self) -> i128 {
        // Asked several times a chunk, of octets that mostly came together.
        if self == earlier { 0 } else { self.nanos_apart(earlier) }
    }

    fn nanos_apart(self, earlier: Self) -> i128 {
        let seconds = i128::from(self.seconds() - earlier.seconds());
        let fraction = self.fraction_in_nanos() - earlier.fraction_in_nanos();
        // Mostly they are close: no multiplication of 128 bits for those.
        match i32::try_from(seconds) {
            Ok(seconds) => i128::from(i64::from(seconds) * NANOS + fraction),
            Err(_) => seconds * i128::from(NANOS) + i128::from(fraction),
        }
    }

    /// The fraction in nanoseconds (toward zero), below [`NANOS`].
    const fn fraction_in_nanos(self) -> i64 {
        let nanos = match self.decimals() {
            9 => self.fraction,
            6 => self.fraction * 1000,
            decimals @ 0..=9 => self.fraction * 10u64.pow(9 - decimals as u32),
            decimals => self.fraction / 10u64.pow(decimals as u32 - 9),
        };
        nanos.cast_signed()
    }

    /// Whether RFC 3339 can write it: its years are 0000 to 9999.
    #[must_use]
    pub fn is_writable(self) -> bool {
        // 0000-01-01T00:00:00Z to 9999-12-31T23:59:59Z
        (-62_167_219_200..=253_402_300_799).contains(&self.seconds())
    }
}

/// RFC 3339 in UTC, with all decimals: `2023-08-02T13:10:02.123456Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Times that RFC 3339 can't write never reach a report; the epoch
        // stands in so that formatting can't fail.
        let seconds = if self.is_writable() { self.seconds() } else { 0 };
        // By days and not by an instant: jiff's instants end 26 hours before
        // the year 9999 does.
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let date = jiff::civil::date(1970, 1, 1);
        let date = date.checked_add(jiff::Span::new().days(days)).unwrap_or(date);
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            date.year(),
            date.month(),
            date.day(),
            second / 3600,
            second / 60 % 60,
            second % 60
        )?;
        if self.decimals() > 0 {
            write!(f, ".{:0width$}", self.fraction, width = usize::from(self.decimals()))?;
        }
        f.write_str("Z")
    }
}

/// The frame that delivered an octet, and its time where the capture has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The frame.
    pub frame: FrameNo,
    /// Its time; pcapng's simple packet blocks have none.
    pub at: Option<Timestamp>,
}

impl Stamp {
    /// A stamp without a time.
    #[must_use]
    pub const fn untimed(frame: u64) -> Self {
        Self { frame: FrameNo::new(frame), at: None }
    }
}

/// A TCP stream's number, as Wireshark's `tcp.stream`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_the_decimals_of_their_resolution() {
        let text = |s, f, d| Timestamp::new(s, f, d).to_string();
        assert_eq!(text(1_690_981_802, 123_456, 6), "2023-08-02T13:10:02.123456Z");
        assert_eq!(text(1_690_981_802, 1, 9), "2023-08-02T13:10:02.000000001Z");
        assert_eq!(text(0, 0, 0), "1970-01-01T00:00:00Z");
        assert_eq!(text(-1, 5, 1), "1969-12-31T23:59:59.5Z");
        assert_eq!(text(253_402_300_799, 0, 3), "9999-12-31T23:59:59.000Z");
        assert_eq!(text(-62_167_219_200, 0, 0), "0000-01-01T00:00:00Z");
        assert_eq!(text(0, 1_500_000, 6), "1970-01-01T00:00:01.500000Z");
    }

    #[test]
    fn differences_are_exact_across_resolutions() {
        let micro = Timestamp::new(10, 500_000, 6);
        let nano = Timestamp::new(8, 999_999_999, 9);
        assert_eq!(micro.nanos_since(nano), 1_500_000_001);
        assert_eq!(nano.nanos_since(micro), -1_500_000_001);
        assert_eq!(Timestamp::new(0, 1_999, 12).nanos_since(Timestamp::new(0, 0, 0)), 1);
        let (first, last) = (Timestamp::new(i64::MIN, 5, 1), Timestamp::new(i64::MAX, 25, 2));
        assert_eq!(last.nanos_since(first), ((1 << 56) - 1) * 1_000_000_000 - 250_000_000);
        assert_eq!(first.nanos_since(last), -last.nanos_since(first));
    }

    #[test]
    fn years_beyond_rfc_3339_are_known() {
        assert!(!Timestamp::new(253_402_300_800, 0, 6).is_writable());
        assert!(Timestamp::new(-62_167_219_200, 0, 6).is_writable());
        assert!(!Timestamp::new(i64::MIN, 0, 6).is_writable());
    }
}
