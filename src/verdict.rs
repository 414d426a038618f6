//! The verdict layer: chunk ranges × event ranges → verdicts.
//!
//! Interval arithmetic only: it parses nothing, so a new event kind cannot
//! change it. The framing gives the chunk's range, the content gives the
//! items' ranges, and neither knows of the other.

use std::ops::Range;

/// What is wrong in a chunk that holds something else than events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The octet at fault, counted in the decoded body.
    pub at: u64,
    /// What is wrong there, a clause.
    pub message: String,
}

/// Whether a chunk holds exactly one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Exactly one event, whole, and nothing else.
    One,
    /// Two or more events, each whole, and nothing else.
    Several,
    /// A part of one event, and nothing of another.
    Part,
    /// Octets of two or more events, of which at least one is not whole.
    Mixed,
    /// Not an event of the expected kind.
    Invalid(Fault),
    /// The capture lacks some of its octets, or octets that are needed to know.
    Unverified(String),
    /// No expectation applies; with the reason where it isn't the exchange's.
    Unchecked(Option<String>),
}

impl Verdict {
    /// Its name in reports.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Several => "several",
            Self::Part => "part",
            Self::Mixed => "mixed",
            Self::Invalid(_) => "invalid",
            Self::Unverified(_) => "unverified",
            Self::Unchecked(_) => "unchecked",
        }
    }
}

/// Findings that shall not fail the check (`--allow`). They are still shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Allow {
    /// Chunks that hold several whole events.
    pub several: bool,
    /// Chunks that hold a part of one event.
    pub part: bool,
    /// Chunks that hold octets of several events, of which one isn't whole.
    pub mixed: bool,
    /// Chunks that can't be checked, since the capture lacks octets.
    pub gaps: bool,
    /// That nothing was there to check.
    pub nothing: bool,
}

impl Allow {
    /// Whether a chunk with this verdict fails the check.
    #[must_use]
    pub const fn fails(self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Several => !self.several,
            Verdict::Part => !self.part,
            Verdict::Mixed => !self.mixed,
            Verdict::Invalid(_) => true,
            Verdict::One | Verdict::Unverified(_) | Verdict::Unchecked(_) => false,
        }
    }
}

/// Which items a chunk shares octets with, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overlap {
    /// Items that lie in the chunk with all their octets.
    pub whole: u64,
    /// Whether an item from before goes on or ends in the chunk.
    pub from_before: bool,
    /// Whether an item goes on behind the chunk.
    pub goes_on: bool,
    /// Items with octets in the chunk and others outside.
    pub parts: u64,
}

impl Overlap {
    /// One item with all its octets, and no other.
    pub const ONE: Self = Self { whole: 1, from_before: false, goes_on: false, parts: 0 };

    /// Counts an item, if it shares octets with the chunk; an item that has no
    /// end yet ends at `u64::MAX`.
    pub fn add(&mut self, chunk: &Range<u64>, item: &Range<u64>) {
        if item.start.max(chunk.start) >= item.end.min(chunk.end) {
            return;
        }
        let (before, behind) = (item.start < chunk.start, item.end > chunk.end);
        self.from_before |= before;
        self.goes_on |= behind;
        if before || behind {
            self.parts += 1;
        } else {
            self.whole += 1;
        }
    }

    /// The verdict on a chunk that has all its octets and no fault; `None`
    /// where it shares none with any item.
    #[must_use]
    pub const fn verdict(&self) -> Option<Verdict> {
        match (self.whole, self.parts) {
            (0, 0) => None,
            (1, 0) => Some(Verdict::One),
            (_, 0) => Some(Verdict::Several),
            (0, 1) => Some(Verdict::Part),
            _ => Some(Verdict::Mixed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn verdict(chunk: Range<u64>, items: &[Range<u64>]) -> Option<Verdict> {
        let mut overlap = Overlap::default();
        for item in items {
            overlap.add(&chunk, item);
        }
        overlap.verdict()
    }

    #[test]
    fn a_chunk_holds_one_several_a_part_or_a_mixture() {
        assert_eq!(verdict(0..10, std::slice::from_ref(&(0..10))), Some(Verdict::One));
        assert_eq!(verdict(0..10, &[0..9, 10..20]), Some(Verdict::One));
        assert_eq!(verdict(0..10, &[0..5, 5..10]), Some(Verdict::Several));
        assert_eq!(verdict(5..10, std::slice::from_ref(&(0..20))), Some(Verdict::Part));
        assert_eq!(verdict(5..10, &[0..7, 7..20]), Some(Verdict::Mixed));
        assert_eq!(verdict(5..10, &[0..6, 6..9]), Some(Verdict::Mixed));
        assert_eq!(verdict(5..10, &[5..9, 9..u64::MAX]), Some(Verdict::Mixed));
        assert_eq!(verdict(5..10, std::slice::from_ref(&(9..u64::MAX))), Some(Verdict::Part));
    }

    #[test]
    fn white_space_between_events_is_no_item() {
        assert_eq!(verdict(0..10, &[]), None);
        assert_eq!(verdict(5..6, &[0..5, 6..9]), None);
    }

    proptest! {
        /// The verdict says the same as counting octet by octet whose each is.
        #[test]
        fn agrees_with_a_count_of_octets(
            sizes in proptest::collection::vec((1u64..6, 0u64..3), 0..8),
            start in 0u64..20, len in 1u64..20,
        ) {
            let mut items = Vec::new();
            let mut at = 0;
            for (size, space) in sizes {
                items.push(at..at + size);
                at += size + space;
            }
            let chunk = start..start + len;
            let touched: Vec<_> = items.iter().filter(|i| chunk.clone().any(|o| i.contains(&o))).collect();
            let whole = touched.iter().filter(|i| (**i).clone().all(|o| chunk.contains(&o))).count();
            let expected = match (touched.len(), whole) {
                (0, _) => None,
                (1, 1) => Some(Verdict::One),
                (1, _) => Some(Verdict::Part),
                (n, w) if n == w => Some(Verdict::Several),
                _ => Some(Verdict::Mixed),
            };
            prop_assert_eq!(verdict(chunk, &items), expected);
        }
    }
}
