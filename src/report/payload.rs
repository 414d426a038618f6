//! How much of a chunk's payload the formats for programs show, and as what.

use crate::report::{Decoded, JudgedChunk};

/// How much of the payloads is shown (`--payload`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payload {
    /// Nothing.
    None,
    /// The first [`PREVIEW`] characters of what is written.
    Preview,
    /// As much as was kept.
    Full,
}

/// Characters of a preview in formats without columns.
pub const PREVIEW: usize = 120;

/// Octets whose base64 has [`PREVIEW`] characters.
const PREVIEW_OCTETS: usize = PREVIEW / 4 * 3;

/// The most octets that [`PREVIEW`] characters can have in UTF-8.
const PREVIEW_UTF8: usize = PREVIEW * 4;

/// What is shown of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excerpt<'a> {
    /// Of a payload that is valid UTF-8, all of it.
    Text(&'a str),
    /// Of one that isn't: to be written in base64.
    Octets(&'a [u8]),
}

impl Excerpt<'_> {
    /// How many octets of the payload it shows.
    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Octets(octets) => octets.len(),
        }
    }

    /// Its encoding's name.
    pub(crate) const fn encoding(&self) -> &'static str {
        match self {
            Self::Text(_) => "utf-8",
            Self::Octets(_) => "base64",
        }
    }

    /// Whether it lacks octets of a payload of so many.
    pub(crate) const fn is_cut(&self, octets: u64) -> bool {
        (self.len() as u64) < octets
    }
}

impl Payload {
    /// What is shown of a chunk's payload; `None` if nothing shall be.
    pub(crate) fn excerpt(self, chunk: &JudgedChunk) -> Option<Excerpt<'_>> {
        self.excerpt_of(&chunk.chunk.payload, chunk.chunk.received, chunk.utf8)
    }

    /// What is shown of what a chunk's payload decodes to.
    pub(crate) fn decoded(self, decoded: &Decoded) -> Option<Excerpt<'_>> {
        self.excerpt_of(&decoded.octets, decoded.span.end.saturating_sub(decoded.span.start), None)
    }

    /// What is shown of `octets` octets of which the first are `kept`; `utf8`
    /// tells whether all are UTF-8, where that is known.
    fn excerpt_of(self, kept: &[u8], octets: u64, utf8: Option<bool>) -> Option<Excerpt<'_>> {
        match self {
            Self::None => None,
            Self::Full => Some(match text(kept, octets, utf8) {
                Some(text) => Excerpt::Text(text),
                None => Excerpt::Octets(kept),
            }),
            Self::Preview => {
                // Where the whole is known to be UTF-8 the rest needn't be read.
                let head = if utf8 == Some(true) { first(kept, PREVIEW_UTF8) } else { kept };
                Some(match text(head, octets, utf8) {
                    Some(text) => Excerpt::Text(characters(text, PREVIEW)),
                    None => Excerpt::Octets(first(kept, PREVIEW_OCTETS)),
                })
            }
        }
    }
}

/// The first of `all` octets as text; `None` where they aren't UTF-8. A
/// character that is cut at the end is left out.
fn text(octets: &[u8], all: u64, utf8: Option<bool>) -> Option<&str> {
    if utf8 == Some(false) {
        return None;
    }
    match std::str::from_utf8(octets) {
        Ok(text) => Some(text),
        Err(fault) => {
            let more = (octets.len() as u64) < all;
            let whole = octets.get(..fault.valid_up_to()).filter(|_| more && fault.error_len().is_none())?;
            std::str::from_utf8(whole).ok()
        }
    }
}

fn first(octets: &[u8], most: usize) -> &[u8] {
    octets.get(..most).unwrap_or(octets)
}

fn characters(text: &str, most: usize) -> &str {
    match text.char_indices().nth(most) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}
