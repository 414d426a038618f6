//! A buffer for lines that are written by the million.

use std::io;

use wide::u8x16;

/// The least room that is made.
const ROOM: usize = 1 << 10;

/// Octets that are compared at once.
pub(crate) type Block = u8x16;
const BLOCK: usize = 16;

/// A short text that is known when the program is built. With octets behind it
/// that don't count: as long as any other, it is written by a few moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Constant {
    octets: [u8; CONSTANT],
    len: usize,
}

/// The most octets of a constant.
const CONSTANT: usize = 32;

impl Constant {
    /// Of a text of at most 32 octets; a longer one fails to be built.
    pub(crate) const fn new(text: &str) -> Self {
        let mut octets = [0; CONSTANT];
        octets.split_at_mut(text.len()).0.copy_from_slice(text.as_bytes());
        Self { octets, len: text.len() }
    }
}

/// Octets written one behind the other.
///
/// What a `Vec` does too; but here the octets behind the end are there
/// already. So octets may be written of which only the first ones count: as
/// many each time, which takes a few moves and no call.
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

    /// Writes octets.
    #[inline]
    pub(crate) fn append(&mut self, octets: &[u8]) {
        match self.octets.get_mut(self.end..).and_then(|room| room.get_mut(..octets.len())) {
            Some(room) => {
                copy(room, octets);
                self.end += octets.len();
            }
            None => self.append_growing(octets),
        }
    }

    /// Writes a constant.
    #[inline(always)]
    pub(crate) fn append_constant(&mut self, constant: &'static Constant) {
        self.append_first(&constant.octets, constant.len);
    }

    /// Writes the first `count` octets of `N`.
    #[inline(always)]
    pub(crate) fn append_first<const N: usize>(&mut self, octets: &[u8; N], count: usize) {
        debug_assert!(count <= N, "{count} of {N} octets");
        match self.octets.get_mut(self.end..).and_then(|room| room.first_chunk_mut()) {
            Some(room) => {
                *room = *octets;
                self.end += count;
            }
            None => self.append_growing(octets.get(..count).unwrap_or(octets)),
        }
    }

    /// Writes octets with `lead` before each of the two `led`, up to the first
    /// one that `stops` marks. Returns those from that one on; `None` where
    /// there is no such. Blanks are none of these.
    #[inline(always)]
    pub(crate) fn append_until<'o>(
        &mut self,
        octets: &'o [u8],
        led: [u8; 2],
        lead: u8,
        stops: impl Fn(Block) -> Block,
    ) -> Option<&'o [u8]> {
        let mut rest = octets;
        while !rest.is_empty() {
            // With blanks behind, so that a block can be taken from anywhere.
            let mut text = [b' '; 2 * BLOCK];
            let len = rest.len().min(BLOCK);
            match (text.first_chunk_mut::<BLOCK>(), rest.first_chunk()) {
                (Some(room), Some(block)) => *room = *block,
                _ => copy(text.split_at_mut(len).0, rest),
            }
            let block = Block::new(text.first_chunk().copied().unwrap_or_default());
            let stop = stops(block).to_bitmask();
            let leads = block.simd_eq(Block::splat(led[0])) | block.simd_eq(Block::splat(led[1]));
            let len = len.min(stop.trailing_zeros() as usize);
            self.append_with_leads(&text, len, leads.to_bitmask(), lead);
            if stop != 0 {
                return rest.get(len..);
            }
            rest = rest.get(len..).unwrap_or_default();
        }
        None
    }

    /// Writes the first `len` octets of a block with `lead` before those that
    /// have a mark. From each of these on the whole block is written again.
    #[inline(always)]
    fn append_with_leads(&mut self, text: &[u8; 2 * BLOCK], len: usize, marks: u32, lead: u8) {
        if self.octets.len() < self.end + 3 * BLOCK {
            self.octets.resize((self.end * 2).max(ROOM), 0);
        }
        let Some(room) =
            self.octets.get_mut(self.end..).and_then(|room| room.first_chunk_mut::<{ 3 * BLOCK }>())
        else {
            return;
        };
        let mut marks = marks & !(u32::MAX << len);
        let (mut from, mut end) = (0, 0);
        loop {
            if let (Some(to), Some(from)) = (room.get_mut(end..), text.get(from..))
                && let (Some(to), Some(from)) = (to.first_chunk_mut::<BLOCK>(), from.first_chunk())
            {
                *to = *from;
            }
            if marks == 0 {
                break;
            }
            let at = marks.trailing_zeros() as usize;
            end += at - from;
            from = at;
            if let Some(place) = room.get_mut(end) {
                *place = lead;
            }
            end += 1;
            marks &= marks - 1;
        }
        self.end += end + len - from;
    }

    /// Writes an octet.
    #[inline(always)]
    pub(crate) fn push(&mut self, octet: u8) {
        self.append_first(&[octet], 1);
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

/// Fewer than eight octets, and blanks.
#[inline(always)]
pub(crate) fn padded(octets: &[u8]) -> [u8; 8] {
    let mut word = [b' '; 8];
    if let Some(room) = word.get_mut(..octets.len()) {
        copy(room, octets);
    }
    word
}

/// Copies octets to where there is as much room. Most are short: words that
/// overlap are moved faster than a call is made.
#[inline(always)]
pub(crate) fn copy(room: &mut [u8], octets: &[u8]) {
    match octets.len() {
        33..=64 => copy_ends::<32>(room, octets),
        17..=32 => copy_ends::<16>(room, octets),
        8..=16 => copy_ends::<8>(room, octets),
        4..8 => copy_ends::<4>(room, octets),
        2 | 3 => copy_ends::<2>(room, octets),
        1 => copy_ends::<1>(room, octets),
        _ => room.copy_from_slice(octets),
    }
}

/// Copies the first and the last `N` octets.
#[inline(always)]
fn copy_ends<const N: usize>(room: &mut [u8], octets: &[u8]) {
    if let (Some(to), Some(from)) = (room.first_chunk_mut::<N>(), octets.first_chunk()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (room.last_chunk_mut::<N>(), octets.last_chunk()) {
        *to = *from;
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
                (proptest::collection::vec(any::<u8>(), 0..600), any::<[u8; 8]>(), 0usize..=8, any::<u8>()),
                0..12,
            ),
        ) {
            let (mut buffer, mut plain) = (Buffer::default(), Vec::new());
            for _ in 0..2 {
                for (piece, digits, count, octet) in &pieces {
                    buffer.append(piece);
                    plain.extend_from_slice(piece);
                    buffer.append_first(digits, *count);
                    plain.extend_from_slice(&digits[..*count]);
                    buffer.push(*octet);
                    plain.push(*octet);
                    prop_assert_eq!(buffer.written(), &plain);
                    prop_assert_eq!(buffer.len(), plain.len());
                }
                buffer.clear();
                plain.clear();
            }
        }

        #[test]
        fn it_leads_and_stops_where_an_octet_is_told(
            octets in proptest::collection::vec(
                prop_oneof![3 => 0x1eu8..0x24, 3 => b'['..b'^', 1 => 0x7fu8..0x83, 5 => b'a'..=b'z', 1 => any::<u8>()],
                0..40,
            ),
        ) {
            let mut buffer = Buffer::default();
            let stops = |block: Block| block.simd_lt(Block::splat(0x20)) | block.simd_eq(Block::splat(0x80));
            let rest = buffer.append_until(&octets, [b'"', b'\\'], b'!', stops);
            let at = octets.iter().position(|octet| *octet < 0x20 || *octet == 0x80);
            prop_assert_eq!(rest, at.map(|at| &octets[at..]));
            let mut plain = Vec::new();
            for octet in &octets[..at.unwrap_or(octets.len())] {
                plain.extend(Some(b'!').filter(|_| matches!(octet, b'"' | b'\\')));
                plain.push(*octet);
            }
            prop_assert_eq!(buffer.written(), plain);
        }
    }
}
