//! Sequence numbers: the one place where they wrap (RFC 9293 §3.4).

use crate::packet::Segment;

/// The farthest that a sequence number is believed to lie from the next one
/// expected: the largest window there is (RFC 7323 §2.3, 65,535 << 14, nearly
/// 2^30). What lies farther off belongs to another connection or to none.
const REACH: u32 = 1 << 30;

/// A sequence number that doesn't wrap: its low 32 bits are those on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position(u64);

impl Position {
    /// Before every position that a segment can have.
    pub const START: Self = Self(0);
    /// Behind every position that a segment can have.
    pub const END: Self = Self(u64::MAX);

    /// Where a direction begins whose first known sequence number is `seq`.
    /// One turn of the counter lies below it, for what turns up later.
    pub const fn first(seq: u32) -> Self {
        Self((1 << 32) + seq as u64)
    }

    /// The position of `seq` next to this one; `None` out of [`REACH`].
    #[inline]
    pub const fn near(self, seq: u32) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are those on the wire")]
        let distance = seq.wrapping_sub(self.0 as u32).cast_signed();
        if distance.unsigned_abs() > REACH {
            return None;
        }
        match self.0.checked_add_signed(distance as i64) {
            Some(at) => Some(Self(at)),
            None => None,
        }
    }

    /// Whether `seq` is this position's, or that of one whole turns off.
    #[inline]
    pub const fn is(self, seq: u32) -> bool {
        #[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are those on the wire")]
        let low = self.0 as u32;
        low == seq
    }

    /// This many octets further on.
    #[inline]
    pub const fn plus(self, octets: u64) -> Self {
        Self(self.0.saturating_add(octets))
    }

    /// How many octets lie from `earlier` to here; 0 where it isn't earlier.
    #[inline]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The sequence number by which Wireshark tells connections on the same pair
/// of endpoints apart, for the sender of a segment: its SYN's, or the one
/// before its first octet.
pub(super) const fn initial_of_sender(segment: &Segment<'_>) -> u32 {
    if segment.flags.syn { segment.seq } else { segment.seq.wrapping_sub(1) }
}

/// The same for the receiver of a segment, as its acknowledgement tells.
pub(super) fn initial_of_receiver(segment: &Segment<'_>) -> Option<u32> {
    segment.ack.map(|ack| ack.wrapping_sub(1))
}

/// The sequence number of a segment's first payload octet: a SYN takes up one
/// (RFC 9293 §3.4).
pub(super) const fn of_payload(segment: &Segment<'_>) -> u32 {
    if segment.flags.syn { segment.seq.wrapping_add(1) } else { segment.seq }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_go_on_where_the_counter_turns() {
        let start = Position::first(u32::MAX - 1);
        let over = start.near(3).unwrap();
        assert_eq!(over.since(start), 5);
        assert_eq!(over.near(u32::MAX - 1), Some(start));
        let mut at = Position::first(0);
        for turn in 1..20u32 {
            at = at.near(turn.wrapping_mul(1 << 30)).unwrap();
        }
        assert_eq!(at.since(Position::first(0)), 19 << 30);
    }

    #[test]
    fn what_lies_out_of_reach_is_refused() {
        let at = Position::first(5);
        assert!(at.near(5 + REACH).is_some());
        assert!(at.near(6 + REACH).is_none());
        assert!(at.near(5u32.wrapping_sub(REACH)).is_some());
        assert!(at.near(4u32.wrapping_sub(REACH)).is_none());
        assert!(at.near(5 + (1 << 31)).is_none());
    }
}
