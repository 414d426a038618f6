//! What is kept of texts that may be longer than memory.

use crate::limits;

/// The first octets of something, at most `LIMIT` of them.
#[derive(Debug, Default)]
pub(super) struct Kept<const LIMIT: usize> {
    octets: Vec<u8>,
    /// Whether there were more.
    cut: bool,
}

/// Enough of a text for the characters that reports show of it: a character
/// has at most four octets, and so few remain of one that the limit cuts that
/// it lies behind those.
pub(super) type Head = Kept<{ 4 * limits::EVENT_DATA_CHARACTERS }>;

/// A name or a value that is shown whole or not at all.
pub(super) type Literal = Kept<{ limits::EVENT_LITERAL }>;

impl<const LIMIT: usize> Kept<LIMIT> {
    /// Appends what there is room for.
    pub(super) fn push(&mut self, octets: &[u8]) {
        let room = LIMIT.saturating_sub(self.octets.len());
        self.cut |= octets.len() > room;
        self.octets.extend_from_slice(octets.get(..room).unwrap_or(octets));
    }

    /// Whether nothing came.
    pub(super) const fn is_empty(&self) -> bool {
        self.octets.is_empty() && !self.cut
    }

    /// Forgets it all.
    pub(super) fn clear(&mut self) {
        self.octets.clear();
        self.cut = false;
    }

    /// All of it, unless it was too long.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        (!self.cut).then_some(&self.octets)
    }

    /// All of it with `last` behind it, unless that is too long. In the common
    /// case that `last` is all, nothing is copied.
    pub(super) fn ending_in<'a>(&'a mut self, last: &'a [u8]) -> Option<&'a [u8]> {
        if self.is_empty() && last.len() <= LIMIT {
            return Some(last);
        }
        self.push(last);
        self.whole()
    }
}

impl Head {
    /// The first characters; octets that aren't UTF-8 as U+FFFD.
    pub(super) fn characters(&self) -> String {
        let most = limits::EVENT_DATA_CHARACTERS;
        // No character is shorter than an octet, and few are longer.
        let front = self.octets.get(..most).unwrap_or(&self.octets);
        match std::str::from_utf8(front) {
            Ok(front) if front.is_ascii() => front.to_owned(),
            _ => String::from_utf8_lossy(&self.octets).chars().take(most).collect(),
        }
    }
}
