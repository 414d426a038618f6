//! A place in a slice, and where string content next has something to look at.
//!
//! Most of a Kubernetes object is string content, so this is where the time
//! goes. 64 octets are compared at once (the idea is simdjson's: Langdale and
//! Lemire, "Parsing gigabytes of JSON per second", 2019): one bit is set for
//! each octet that isn't plain ASCII of a string. Then the end of each string
//! among them is found by counting zeros. Octets outside of strings have bits
//! too, which nobody asks for: which those are the grammar knows.

use wide::{i8x16, u8x16};

/// Octets that are compared at once.
const BLOCK: usize = 64;

/// A place in a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scan<'a> {
    octets: &'a [u8],
    at: usize,
    /// Where the octets that were compared last begin: not behind `at`.
    block: usize,
    /// One bit for each of them, the first one lowest: whether it is special.
    marks: u64,
}

impl<'a> Scan<'a> {
    /// The beginning of a slice.
    #[cfg(test)]
    pub(super) const fn new(octets: &'a [u8]) -> Self {
        Self::behind(octets, 0)
    }

    /// A place in a slice with so many octets before it, which must be there.
    pub(super) const fn behind(octets: &'a [u8], at: usize) -> Self {
        Self { octets, at, block: at, marks: 0 }
    }

    /// How many octets lie before the place.
    #[inline(always)]
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    /// How many octets lie behind it.
    #[inline(always)]
    pub(super) const fn left(&self) -> usize {
        self.octets.len().saturating_sub(self.at)
    }

    /// The octets behind it.
    #[inline(always)]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.octets.get(self.at..).unwrap_or_default()
    }

    /// The octets from another place up to it.
    #[inline(always)]
    pub(super) fn since(&self, from: usize) -> &'a [u8] {
        self.octets.get(from..self.at).unwrap_or_default()
    }

    /// The octet behind it.
    #[inline(always)]
    pub(super) fn peek(&self) -> Option<u8> {
        self.octets.get(self.at).copied()
    }

    /// Passes over octets, which must be there.
    #[inline(always)]
    pub(super) const fn pass(&mut self, count: usize) {
        self.at += count;
    }

    /// Passes over octets if they come next: whether they did.
    #[inline(always)]
    pub(super) fn pass_over<const N: usize>(&mut self, octets: [u8; N]) -> bool {
        if self.rest().first_chunk() != Some(&octets) {
            return false;
        }
        self.at += N;
        true
    }

    /// Passes over octets, up to a slice that those at the end are.
    #[inline(always)]
    pub(super) const fn pass_to(&mut self, rest: &[u8]) {
        self.at = self.octets.len().saturating_sub(rest.len());
    }

    /// The next octet that isn't white space (RFC 8259 §2); what is before it is passed over.
    #[inline(always)]
    pub(super) fn token(&mut self) -> Option<u8> {
        let octet = self.peek()?;
        if octet > b' ' {
            return Some(octet);
        }
        self.at += space(self.rest());
        self.peek()
    }

    /// Passes over plain ASCII of a string: the octet behind that.
    #[inline(always)]
    pub(super) fn plain(&mut self) -> Option<u8> {
        let compared = self.at - self.block;
        let marks = if compared < BLOCK { self.marks >> compared } else { 0 };
        if marks != 0 {
            self.at += marks.trailing_zeros() as usize;
        } else {
            (self.block, self.marks) = find(self.octets, self.at);
            self.at = match self.marks {
                0 => self.octets.len(),
                marks => self.block + marks.trailing_zeros() as usize,
            };
        }
        self.peek()
    }

    /// The same, octet by octet.
    #[inline(always)]
    pub(super) fn plain_few(&mut self) -> Option<u8> {
        while let Some(octet) = self.peek() {
            if is_special(octet) {
                return Some(octet);
            }
            self.at += 1;
        }
        None
    }
}

/// Whether an octet isn't plain ASCII of a string: a quotation mark, a reverse
/// solidus, a control character, or part of a character of several octets.
#[inline(always)]
pub(super) const fn is_special(octet: u8) -> bool {
    matches!(octet, b'"' | b'\\' | ..0x20 | 0x80..)
}

/// Compares octets from a place on until some of a block are marked: the
/// block's place, and the marks, of which the lowest lies at `at` or behind it.
/// No marks: there are none up to the end.
#[inline(never)]
fn find(octets: &[u8], at: usize) -> (usize, u64) {
    let mut block = at;
    let mut rest = octets.get(at..).unwrap_or_default();
    while let Some((front, behind)) = rest.split_first_chunk::<BLOCK>() {
        let marks = marks(front);
        if marks != 0 {
            return (block, marks);
        }
        rest = behind;
        block += BLOCK;
    }
    if rest.is_empty() { (block, 0) } else { find_last(octets, rest) }
}

/// The same in what is left of a slice, which is less than a block.
#[inline(never)]
fn find_last(octets: &[u8], rest: &[u8]) -> (usize, u64) {
    let block = octets.len() - rest.len();
    if let Some(last) = octets.last_chunk::<BLOCK>() {
        // Octets that were passed over are compared once more, and forgotten.
        let again = BLOCK - rest.len();
        return (block - again, marks(last) & u64::MAX << again);
    }
    // All of the slice is shorter than a block. Spaces aren't special.
    let mut padded = [b' '; BLOCK];
    if let Some(front) = padded.get_mut(..rest.len()) {
        front.copy_from_slice(rest);
    }
    (block, marks(&padded))
}

/// One bit for each octet of a block: whether it is special.
#[inline(always)]
fn marks(block: &[u8; BLOCK]) -> u64 {
    let (&[first, second, third, last], []) = block.as_chunks() else { return u64::MAX };
    marks_of(first) | marks_of(second) << 16 | marks_of(third) << 32 | marks_of(last) << 48
}

/// The same of a quarter of a block.
#[inline(always)]
fn marks_of(quarter: [u8; BLOCK / 4]) -> u64 {
    let octets = u8x16::new(quarter).cast_signed();
    // As signed numbers, octets of longer characters lie below the controls.
    let special = octets.simd_lt(i8x16::splat(0x20))
        | octets.simd_eq(i8x16::splat(b'"'.cast_signed()))
        | octets.simd_eq(i8x16::splat(b'\\'.cast_signed()));
    u64::from(special.to_bitmask())
}

/// How much white space is at the front.
#[inline(never)]
pub(super) fn space(octets: &[u8]) -> usize {
    let mut rest = octets;
    loop {
        match rest.split_first() {
            Some((b' ' | b'\t' | b'\n' | b'\r', behind)) => rest = behind,
            _ => return octets.len() - rest.len(),
        }
        // Indentation comes in long runs of spaces.
        while let Some((word, behind)) = rest.split_first_chunk() {
            let others = u64::from_le_bytes(*word) ^ u64::from_le_bytes([b' '; 8]);
            if others != 0 {
                let spaces = (others.trailing_zeros() / 8) as usize;
                rest = rest.get(spaces..).unwrap_or_default();
                break;
            }
            rest = behind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The place of the first octet from `at` on that isn't plain.
    fn naive(octets: &[u8], at: usize) -> usize {
        let plain = |octet: &u8| matches!(octet, 0x20..=0x7F) && !b"\"\\".contains(octet);
        at + octets[at..].iter().take_while(|octet| plain(octet)).count()
    }

    #[test]
    fn every_octet_is_marked_as_what_it_is_wherever_it_lies() {
        for length in [1, 15, 16, 63, 64, 65, 128, 150] {
            for place in 0..length {
                for octet in 0..=u8::MAX {
                    let mut octets = vec![b'x'; length];
                    octets[place] = octet;
                    let mut scan = Scan::new(&octets);
                    let next = scan.plain();
                    assert_eq!(scan.at(), naive(&octets, 0), "{octet:#x} at {place} of {length}");
                    assert_eq!(next, octets.get(scan.at()).copied());
                    let mut few = Scan::new(&octets);
                    assert_eq!((few.plain_few(), few.at()), (next, scan.at()));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn plain_octets_end_where_they_end_octet_by_octet(
            octets in prop::collection::vec(prop::sample::select(b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa \"\\\n\x80".to_vec()), 0..400),
            passes in prop::collection::vec(0..90_usize, 1..20),
        ) {
            let mut scan = Scan::new(&octets);
            for pass in passes {
                scan.pass(pass.min(scan.left()));
                let end = naive(&octets, scan.at());
                prop_assert_eq!(scan.plain(), octets.get(end).copied());
                prop_assert_eq!(scan.at(), end);
                prop_assert_eq!(scan.rest(), &octets[end..]);
            }
        }
    }
}
