//! What was delivered lately, as digests: whether a later copy of the same
//! octets differs can be told without keeping them.

use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::fast::FixedState;

use super::seq::Position;

/// Segments remembered for each direction. Copies come within a round trip or
/// a retransmission timeout; in a watch that is the last segment or two.
const REMEMBERED: usize = 16;

/// One delivered piece.
#[derive(Clone, Copy)]
pub(super) struct Digest {
    at: Position,
    len: u32,
    sum: u32,
}

impl Digest {
    /// Of nothing.
    const NONE: Self = Self { at: Position::START, len: 0, sum: 0 };
}

/// The last pieces that a direction delivered. Short connections deliver one,
/// for which there is room without memory of its own.
pub(super) enum Recent {
    /// The only one, or none.
    One(Digest),
    /// Several.
    Several(Box<Ring>),
}

/// The last of several pieces.
pub(super) struct Ring {
    digests: [Digest; REMEMBERED],
    /// Where the next one goes; always below [`REMEMBERED`].
    place: usize,
}

impl Ring {
    fn put(&mut self, digest: Digest) {
        if let Some(slot) = self.digests.get_mut(self.place) {
            *slot = digest;
        }
        self.place = (self.place + 1) % REMEMBERED;
    }
}

impl Recent {
    /// Nothing was delivered yet.
    pub const fn new() -> Self {
        Self::One(Digest::NONE)
    }

    /// Remembers a piece that is delivered now.
    pub fn note(&mut self, at: Position, bytes: &[u8]) {
        let digest = Digest { at, len: u32::try_from(bytes.len()).unwrap_or(0), sum: sum(bytes) };
        match self {
            Self::Several(ring) => ring.put(digest),
            Self::One(one) if one.len == 0 => *one = digest,
            Self::One(one) => {
                let mut ring = Box::new(Ring { digests: [Digest::NONE; REMEMBERED], place: 0 });
                ring.put(*one);
                ring.put(digest);
                *self = Self::Several(ring);
            }
        }
    }

    fn digests(&self) -> &[Digest] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(ring) => &ring.digests,
        }
    }

    /// Whether a copy of octets from `at` on differs from what was delivered.
    /// Only pieces that lie wholly within the copy can be compared.
    pub fn differs(&self, at: Position, bytes: &[u8]) -> bool {
        self.digests().iter().filter(|digest| digest.len > 0 && digest.at >= at).any(|digest| {
            usize::try_from(digest.at.since(at))
                .ok()
                .and_then(|from| bytes.get(from..)?.get(..digest.len as usize))
                .is_some_and(|copy| sum(copy) != digest.sum)
        })
    }
}

/// A hash at the speed of memory: every payload passes through it. A change
/// goes unnoticed once in 2^32; somebody who wants that can find one.
fn sum(bytes: &[u8]) -> u32 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    let hash = hasher.finish();
    #[expect(clippy::cast_possible_truncation, reason = "half of it will do")]
    let half = (hash ^ hash >> 32) as u32;
    half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_octet_is_noticed() {
        for len in [1usize, 7, 8, 9, 31, 32, 33, 100, 1448] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let mut recent = Recent::new();
            recent.note(Position::first(50), &bytes);
            assert!(!recent.differs(Position::first(50), &bytes));
            for i in 0..len {
                let mut copy = bytes.clone();
                copy[i] ^= 0x20;
                assert!(recent.differs(Position::first(50), &copy), "octet {i} of {len}");
            }
        }
    }

    /// A sum of words took many of these for the same.
    #[test]
    fn octets_that_all_change_alike_are_noticed() {
        for len in 1..100_usize {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let mut recent = Recent::new();
            recent.note(Position::first(50), &bytes);
            for mask in 1..=255 {
                let copy: Vec<u8> = bytes.iter().map(|octet| octet ^ mask).collect();
                assert!(recent.differs(Position::first(50), &copy), "{len} octets, mask {mask:#x}");
            }
        }
    }

    #[test]
    fn a_copy_that_joins_several_segments_is_compared_with_each() {
        let mut recent = Recent::new();
        recent.note(Position::first(0), b"HTTP/1.1 ");
        recent.note(Position::first(9), b"200 OK");
        assert!(!recent.differs(Position::first(0), b"HTTP/1.1 200 OK\r\n"));
        assert!(recent.differs(Position::first(0), b"HTTP/1.1 404 OK\r\n"));
        assert!(!recent.differs(Position::first(4), b"/1.1 200 OK"));
        assert!(recent.differs(Position::first(4), b"/1.1 404 OK"));
        assert!(!recent.differs(Position::first(10), b"something else"), "nothing whole to compare");
    }

    #[test]
    fn old_pieces_make_room() {
        let mut recent = Recent::new();
        for i in 0..=REMEMBERED as u64 {
            recent.note(Position::first(0).plus(i), b"a");
        }
        assert!(!recent.differs(Position::first(0), b"b"), "let go");
        assert!(recent.differs(Position::first(1), b"b"), "the oldest kept");
    }
}
