//! How much of a chunk's payload the formats for programs show, and as what.

use crate::report::JudgedChunk;

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

    /// Whether it lacks octets of the payload that the capture has.
    pub(crate) fn is_cut(&self, chunk: &JudgedChunk) -> bool {
        (self.len() as u64) < chunk.chunk.received
    }
}

impl Payload {
    /// What is shown of a chunk's payload; `None` if nothing shall be.
    pub(crate) fn excerpt(self, chunk: &JudgedChunk) -> Option<Excerpt<'_>> {
        let kept = chunk.chunk.payload.as_slice();
        match self {
            Self::None => None,
            Self::Full => Some(match text(chunk, kept) {
                Some(text) => Excerpt::Text(text),
                None => Excerpt::Octets(kept),
            }),
            Self::Preview => {
                // Where the whole is known to be UTF-8 the rest needn't be read.
                let head = if chunk.utf8 == Some(true) { first(kept, PREVIEW_UTF8) } else { kept };
                Some(match text(chunk, head) {
                    Some(text) => Excerpt::Text(characters(text, PREVIEW)),
                    None => Excerpt::Octets(first(kept, PREVIEW_OCTETS)),
                })
            }
        }
    }
}

/// The first octets of a chunk's payload as text; `None` where the payload
/// isn't UTF-8. A character that is cut at the end is left out.
fn text<'a>(chunk: &JudgedChunk, octets: &'a [u8]) -> Option<&'a str> {
    if chunk.utf8 == Some(false) {
        return None;
    }
    match std::str::from_utf8(octets) {
        Ok(text) => Some(text),
        Err(fault) => {
            let more = (octets.len() as u64) < chunk.chunk.received;
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
