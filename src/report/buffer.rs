//! A buffer for lines that are written by the million.

use std::io;

/// The least room that is made.
const ROOM: usize = 1 << 10;

/// Octets written one behind the other.
///
/// What a `Vec` does too; but here the octets behind the end are there
/// already. So a piece whose length the compiler knows takes one comparison
/// and a few moves, without a call, and a piece of which only the first octets
/// count may be written as a whole.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// What was written, and room.
    octets: Vec<u8>,
    /// Where the room begins.
    end: usize,
}

impl Buffer {
    /// What was written.
    pub(crate) fn written(&self) -> &[u8] {
        self.octets.get(..self.end).unwrap_or_default()
    }

    /// How many octets were written.
    pub(crate) const fn len(&self) -> usize {
        self.end
    }

    /// Forgets what was written; the room stays.
    pub(crate) const fn clear(&mut self) {
        self.end = 0;
    }

    /// Writes octets. Inlined, so that constants are moves.
    #[inline(always)]
    pub(crate) fn append(&mut self, octets: &[u8]) {
        match self.octets.get_mut(self.end..).and_then(|room| room.get_mut(..octets.len())) {
            Some(room) => {
                room.copy_from_slice(octets);
                self.end += octets.len();
            }
            None => self.append_growing(octets),
        }
    }

    /// Writes the first `count` of some octets, of which there are `N` at most.
    #[inline(always)]
    pub(crate) fn append_first<const N: usize>(&mut self, octets: [u8; N], count: usize) {
        match self.octets.get_mut(self.end..).and_then(|room| room.first_chunk_mut()) {
            Some(room) => {
                *room = octets;
                self.end += count.min(N);
            }
            None => self.append_growing(octets.get(..count).unwrap_or(&octets)),
        }
    }

    /// Writes an octet.
    #[inline(always)]
    pub(crate) fn push(&mut self, octet: u8) {
        self.append_first([octet], 1);
    }

    #[cold]
    #[inline(never)]
    fn append_growing(&mut self, octets: &[u8]) {
        self.octets.truncate(self.end);
        self.octets.extend_from_slice(octets);
        self.end = self.octets.len();
        self.octets.resize((self.end * 2).max(ROOM), 0);
    }
}

impl io::Write for Buffer {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.append(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_what_a_vec_would(
            pieces in proptest::collection::vec(
                (proptest::collection::vec(any::<u8>(), 0..600), any::<[u8; 8]>(), 0usize..=9, any::<u8>()),
                0..12,
            ),
        ) {
            let (mut buffer, mut plain) = (Buffer::default(), Vec::new());
            for _ in 0..2 {
                for (piece, digits, count, octet) in &pieces {
                    buffer.append(piece);
                    plain.extend_from_slice(piece);
                    buffer.append_first(*digits, *count);
                    plain.extend_from_slice(&digits[..(*count).min(8)]);
                    buffer.push(*octet);
                    plain.push(*octet);
                    prop_assert_eq!(buffer.written(), &plain);
                    prop_assert_eq!(buffer.len(), plain.len());
                }
                buffer.clear();
                plain.clear();
            }
        }
    }
}
