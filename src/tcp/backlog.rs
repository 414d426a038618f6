//! What one direction has to hold back: octets behind a hole or ahead of their
//! cause, a FIN or RST that comes too early, and the clock of a hole.

use std::collections::BTreeMap;

use super::seq::Position;
use crate::units::Stamp;

/// What a kept segment costs beside its octets: its place in the map and its
/// share of the allocator's work. Without it, one-octet segments would fill
/// memory unnoticed.
const OVERHEAD: usize = 160;

/// One second, in nanoseconds: the longest that a gap outlives its
/// acknowledgement where captures have times.
pub(super) const PATIENCE_NANOS: i128 = 1_000_000_000;

/// Octets of one segment that have to wait.
pub(super) struct Waiting {
    pub bytes: Vec<u8>,
    pub stamp: Stamp,
    /// Whether the segment's payload begins with the first of these octets.
    pub segment_start: bool,
    /// How far the other direction must have come first: what the segment
    /// acknowledges.
    pub need: Position,
    /// Where the octets end that the snap length cut off behind these.
    pub cut_to: Position,
}

/// A FIN whose turn hasn't come.
#[derive(Clone, Copy)]
pub(super) struct Fin {
    pub at: Position,
    pub stamp: Stamp,
    pub need: Position,
}

/// A RST ahead of octets that are missing.
#[derive(Clone, Copy)]
pub(super) struct Reset {
    pub at: Position,
    pub since: Mark,
}

/// When something began that patience bounds.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    /// How far the receiver had acknowledged.
    pub acked: Position,
    /// The connection's count of packets.
    pub packets: u32,
    pub stamp: Stamp,
}

impl Mark {
    /// Whether `patience` further packets or a second have passed.
    pub fn is_over(&self, packets: u32, now: Stamp, patience: u32) -> bool {
        packets.wrapping_sub(self.packets) >= patience
            || match (now.at, self.stamp.at) {
                (Some(now), Some(then)) => now.nanos_since(then) >= PATIENCE_NANOS,
                _ => false,
            }
    }
}

/// What one direction holds back.
#[derive(Default)]
pub(super) struct Backlog {
    /// Keyed by the first octet's position; never empty, never overlapping,
    /// never before the direction's next octet, never behind `fin`.
    waiting: BTreeMap<Position, Waiting>,
    /// What `waiting` costs in memory.
    octets: usize,
    pub fin: Option<Fin>,
    pub reset: Option<Reset>,
    /// Since when the receiver has acknowledged octets that weren't delivered.
    pub mark: Option<Mark>,
    /// The latest arrival among the octets delivered so far: what lies behind
    /// them could not be read earlier.
    pub reached: Option<Stamp>,
}

impl Backlog {
    /// Whether there is nothing to keep it for.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.fin.is_none() && self.reset.is_none() && self.mark.is_none()
    }

    /// What the octets that wait cost in memory.
    pub const fn octets(&self) -> usize {
        self.octets
    }

    /// The first octets that wait.
    pub fn first(&self) -> Option<(Position, &Waiting)> {
        self.waiting.first_key_value().map(|(&at, waiting)| (at, waiting))
    }

    /// Where the next known thing begins: octets or the FIN.
    pub fn head(&self) -> Option<Position> {
        self.first().map(|(at, _)| at).or(self.fin.map(|fin| fin.at))
    }

    /// Behind the last octet that waits.
    pub fn end(&self) -> Option<Position> {
        self.waiting.last_key_value().map(|(at, waiting)| at.plus(waiting.bytes.len() as u64))
    }

    /// Takes out the first octets that wait.
    pub fn pop(&mut self) -> Option<Waiting> {
        let (_, waiting) = self.waiting.pop_first()?;
        self.octets = self.octets.saturating_sub(waiting.bytes.len() + OVERHEAD);
        Some(waiting)
    }

    /// Drops what lies behind `end`: nothing comes after a FIN.
    pub fn truncate(&mut self, end: Position) {
        while let Some((&at, waiting)) = self.waiting.last_key_value() {
            if at.plus(waiting.bytes.len() as u64) <= end {
                break;
            }
            let Some((at, mut waiting)) = self.waiting.pop_last() else {
                break;
            };
            self.octets = self.octets.saturating_sub(waiting.bytes.len() + OVERHEAD);
            if at < end {
                waiting.bytes.truncate(usize::try_from(end.since(at)).unwrap_or(usize::MAX));
                waiting.cut_to = Position::START;
                self.octets += waiting.bytes.len() + OVERHEAD;
                self.waiting.insert(at, waiting);
                break;
            }
        }
    }

    /// Keeps those octets of `bytes`, which begin at `at`, that nothing kept
    /// so far covers: the first received wins. Returns whether a copy differs.
    ///
    /// Of several copies the one that needs least tells what the octets
    /// needed when they were sent.
    pub fn insert(&mut self, at: Position, bytes: &[u8], segment: &Waiting) -> bool {
        let end = at.plus(bytes.len() as u64);
        self.split(at, segment.need);
        self.split(end, segment.need);
        let slice = |from: Position, to: Position| -> &[u8] {
            let from = usize::try_from(from.since(at)).unwrap_or(usize::MAX);
            let to = usize::try_from(to.since(at)).unwrap_or(usize::MAX);
            bytes.get(from..to).unwrap_or_default()
        };
        let first = match self.waiting.range(..=at).next_back() {
            Some((&start, waiting)) if start.plus(waiting.bytes.len() as u64) > at => start,
            _ => at,
        };
        let mut differs = false;
        let mut lacking = smallvec::SmallVec::<[(Position, Position); 4]>::new();
        let mut cursor = at;
        for (&start, waiting) in self.waiting.range_mut(first..end) {
            let until = start.plus(waiting.bytes.len() as u64);
            if cursor < start {
                lacking.push((cursor, start));
            }
            let copy = slice(start.max(at), until.min(end));
            let skip = usize::try_from(at.since(start)).unwrap_or(usize::MAX);
            let kept = waiting.bytes.get(skip..).unwrap_or_default();
            differs |= kept.get(..copy.len()) != Some(copy);
            if copy.len() == waiting.bytes.len() {
                waiting.need = waiting.need.min(segment.need);
            }
            cursor = cursor.max(until);
        }
        if cursor < end {
            lacking.push((cursor, end));
        }
        for (from, to) in lacking {
            let bytes = slice(from, to).to_vec();
            self.octets += bytes.len() + OVERHEAD;
            let waiting = Waiting {
                bytes,
                stamp: segment.stamp,
                segment_start: segment.segment_start && from == at,
                need: segment.need,
                cut_to: if to == end { segment.cut_to } else { Position::START },
            };
            self.waiting.insert(from, waiting);
        }
        differs
    }

    /// Splits what is kept across `at`, if it needs more than `need`.
    fn split(&mut self, at: Position, need: Position) {
        let Some((&start, waiting)) = self.waiting.range_mut(..at).next_back() else {
            return;
        };
        let len = usize::try_from(at.since(start)).unwrap_or(usize::MAX);
        if waiting.need <= need || waiting.bytes.len() <= len {
            return;
        }
        let rest = Waiting { bytes: waiting.bytes.split_off(len), segment_start: false, ..*waiting };
        waiting.cut_to = Position::START;
        self.octets += OVERHEAD;
        self.waiting.insert(at, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: u64) -> Position {
        Position::first(1000).plus(offset)
    }

    fn segment(frame: u64) -> Waiting {
        Waiting {
            bytes: Vec::new(),
            stamp: Stamp::untimed(frame),
            segment_start: true,
            need: Position::START,
            cut_to: Position::START,
        }
    }

    fn drain(backlog: &mut Backlog) -> Vec<(u64, String, u64, bool)> {
        let mut all = Vec::new();
        while let Some((start, _)) = backlog.first() {
            let waiting = backlog.pop().unwrap();
            all.push((
                start.since(at(0)),
                String::from_utf8(waiting.bytes).unwrap(),
                waiting.stamp.frame.get(),
                waiting.segment_start,
            ));
        }
        assert_eq!(backlog.octets(), 0);
        all
    }

    #[test]
    fn only_the_holes_between_kept_octets_are_filled() {
        let mut backlog = Backlog::default();
        assert!(!backlog.insert(at(2), b"cd", &segment(1)));
        assert!(!backlog.insert(at(6), b"g", &segment(2)));
        assert!(!backlog.insert(at(0), b"abcdefgh", &segment(3)));
        assert!(!backlog.insert(at(0), b"abcdefgh", &segment(4)));
        let kept = drain(&mut backlog);
        let kept: Vec<_> = kept.iter().map(|(o, b, f, s)| (*o, b.as_str(), *f, *s)).collect();
        assert_eq!(
            kept,
            [
                (0, "ab", 3, true),
                (2, "cd", 1, true),
                (4, "ef", 3, false),
                (6, "g", 2, true),
                (7, "h", 3, false),
            ]
        );
    }

    #[test]
    fn a_copy_that_differs_is_noticed_and_loses() {
        let mut backlog = Backlog::default();
        assert!(!backlog.insert(at(2), b"cdef", &segment(1)));
        assert!(backlog.insert(at(0), b"abX", &segment(2)));
        assert!(backlog.insert(at(5), b"Xg", &segment(3)));
        assert!(backlog.insert(at(3), b"X", &segment(4)));
        let octets: String = drain(&mut backlog).into_iter().map(|(_, bytes, ..)| bytes).collect();
        assert_eq!(octets, "abcdefg");
    }

    #[test]
    fn truncation_cuts_what_lies_behind_a_fin() {
        let mut backlog = Backlog::default();
        backlog.insert(at(0), b"abc", &segment(1));
        backlog.insert(at(5), b"fgh", &segment(2));
        backlog.insert(at(9), b"j", &segment(3));
        backlog.truncate(at(7));
        let octets: Vec<_> = drain(&mut backlog).into_iter().map(|(o, bytes, ..)| (o, bytes)).collect();
        assert_eq!(octets, [(0, "abc".to_owned()), (5, "fg".to_owned())]);
    }
}
