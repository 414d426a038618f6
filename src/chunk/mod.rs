//! The chunk layer: the octets of a chunked body → chunk records
//! (RFC 9112 §7.1).
//!
//! [`Decoder`] reads one chunked body. It believes what a careful receiver
//! believes: a size line has hex digits, a payload is followed by CRLF. It
//! promises that every octet of a chunk is accounted for in its record's
//! trail, that cutting the octets differently changes nothing but the cuts of
//! the payload tokens (and whether a chunk is told at once), and that octets
//! which the capture lost inside a payload are stepped over, since its size is
//! known.

mod decoder;
pub(crate) mod fields;
pub(crate) mod piece;
pub(crate) mod size_line;
#[cfg(test)]
mod tests;

use smallvec::{SmallVec, smallvec};

pub use decoder::{Decoder, Step};
pub use fields::Fields;

use crate::tcp::Piece;
use crate::units::{FrameNo, Stamp};

/// Consecutive octets of a stream that one frame delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// How many octets.
    pub len: u64,
    /// The frame that delivered them first; `None` where the capture lacks them.
    pub frame: Option<FrameNo>,
}

/// How a chunk's payload is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// CRLF, as RFC 9112 §7.1 wants it.
    CrLf,
    /// A bare LF, tolerated behind a size line that ended in one.
    Lf,
    /// The capture lacks it, or some of it, but the chunk's payload is over.
    Lost,
    /// It has not come: the body ended first.
    None,
    /// Other octets stand in its place: the framing breaks here.
    Broken,
}

/// One chunk of a chunked body, with the edges that it had on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its number in its body, from 1.
    pub index: u64,
    /// The size line as on the wire, its line end included.
    pub size_line: SmallVec<[u8; 24]>,
    /// The size in octets.
    pub size: u64,
    /// Where its payload begins in the de-chunked body (lost octets count).
    pub offset: u64,
    /// How many payload octets the capture holds.
    pub received: u64,
    /// How its payload is closed.
    pub closing: Closing,
    /// Whether the body ended before the payload did: the rest of it was never
    /// captured or never sent (a hole in the middle doesn't count).
    pub unfinished: bool,
    /// The stream offset of its size line's first octet.
    pub at: u64,
    /// The frames of its size line, payload and closing, run by run, from `at` on.
    pub trail: SmallVec<[Run; 3]>,
    /// The earliest arrival of any of its octets (by frame number).
    pub first: Stamp,
    /// The latest arrival of any of its octets: when it was whole.
    pub last: Stamp,
    /// The first received payload octets, as many as are kept.
    pub payload: Vec<u8>,
    /// What it is where it stands for a WebSocket message: the size line is
    /// then the header of its first frame.
    pub message: Option<Message>,
}

/// A WebSocket message, which is a unit in place of a chunk (RFC 6455 §5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Whether it is text; else it is binary.
    pub text: bool,
    /// How many frames it came in.
    pub frames: u64,
}

impl Chunk {
    /// The size as written: the hex digits of the size line; empty for a
    /// message.
    #[must_use]
    pub fn size_hex(&self) -> &str {
        if self.message.is_some() {
            return "";
        }
        std::str::from_utf8(size_digits(&self.size_line)).unwrap_or_default()
    }

    /// The chunk extensions as written, from the `;` on, without the line end;
    /// octets that aren't UTF-8 as U+FFFD.
    #[must_use]
    pub fn extensions(&self) -> Option<String> {
        if self.message.is_some() { None } else { extensions(&self.size_line) }
    }

    /// The frames of its octets, ascending, without duplicates.
    #[must_use]
    pub fn frames(&self) -> Vec<FrameNo> {
        frames(&self.trail)
    }

    /// How many payload octets the capture lacks in the middle of the chunk.
    #[must_use]
    pub fn lacks_octets(&self) -> bool {
        self.trail.iter().any(|run| run.frame.is_none()) && self.received < self.size
    }
}

/// The hex digits of a size line.
#[inline]
pub(crate) fn size_digits(size_line: &[u8]) -> &[u8] {
    let digits = size_line.iter().take_while(|octet| octet.is_ascii_hexdigit()).count();
    size_line.get(..digits).unwrap_or_default()
}

/// The extensions of a size line, from the `;` on.
#[inline]
pub(crate) fn extensions(size_line: &[u8]) -> Option<String> {
    let line = size_line.strip_suffix(b"\n").unwrap_or(size_line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Mostly there are few octets and no extensions: not worth a call.
    let start = line.iter().position(|octet| *octet == b';')?;
    line.get(start..).map(|text| String::from_utf8_lossy(text).into_owned())
}

/// The frames of some runs, ascending, without duplicates.
pub(crate) fn frames(trail: &[Run]) -> Vec<FrameNo> {
    let mut frames: Vec<FrameNo> = trail.iter().filter_map(|run| run.frame).collect();
    if !frames.is_sorted_by(|a, b| a < b) {
        frames.sort_unstable();
        frames.dedup();
    }
    frames
}

/// The last chunk, of size zero, with the trailer section behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastChunk {
    /// The size line as on the wire, its line end included.
    pub size_line: SmallVec<[u8; 24]>,
    /// The stream offset of its first octet.
    pub at: u64,
    /// The frames of its size line, the trailer section and the final empty
    /// line, run by run, from `at` on.
    pub trail: SmallVec<[Run; 3]>,
    /// When its last octet that was received arrived.
    pub last: Stamp,
    /// The trailer fields.
    pub trailers: Fields,
}

/// A chunk that one piece holds from its size line to its CRLF, and in whose
/// framing nothing is out of the ordinary, where it lies: most are so, and
/// what becomes of them is mostly known before anything need be kept of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeChunk<'a> {
    /// See [`Chunk::index`].
    pub index: u64,
    /// See [`Chunk::offset`].
    pub offset: u64,
    /// See [`Chunk::at`].
    pub at: u64,
    /// The packet that delivered it.
    pub stamp: Stamp,
    /// The size line, its line end included.
    pub size_line: &'a [u8],
    /// Its payload, all of it.
    pub payload: &'a [u8],
    /// How many payload octets its record keeps, if there are so many.
    pub keep: usize,
}

/// What a record that is written over keeps of its memory for payload, though the
/// next one has less: there may be many records, and each of them may once have
/// had a large payload.
const RECORD_ROOM: usize = 4096;

impl WholeChunk<'_> {
    /// Its record.
    #[must_use]
    pub fn record(&self) -> Box<Chunk> {
        Box::new(Chunk {
            index: self.index,
            size_line: SmallVec::from_slice(self.size_line),
            size: self.size(),
            offset: self.offset,
            received: self.size(),
            closing: Closing::CrLf,
            unfinished: false,
            at: self.at,
            trail: smallvec![self.run()],
            first: self.stamp,
            last: self.stamp,
            payload: self.kept().to_vec(),
            message: None,
        })
    }

    /// Makes its record of that of another chunk, whose memory is used again.
    pub(crate) fn record_over(&self, record: &mut Chunk) {
        let Chunk {
            index,
            size_line,
            size,
            offset,
            received,
            closing,
            unfinished,
            at,
            trail,
            first,
            last,
            payload,
            message,
        } = record;
        if size_line.as_slice() != self.size_line {
            *size_line = SmallVec::from_slice(self.size_line);
        }
        match trail.as_mut_slice() {
            [run] => *run = self.run(),
            _ => *trail = smallvec![self.run()],
        }
        // Mostly nothing is kept.
        if !(payload.is_empty() && self.keep == 0) {
            payload.clear();
            payload.shrink_to(self.kept().len().max(RECORD_ROOM));
            payload.extend_from_slice(self.kept());
        }
        (*index, *offset, *at) = (self.index, self.offset, self.at);
        (*size, *received) = (self.size(), self.size());
        (*closing, *unfinished, *message) = (Closing::CrLf, false, None);
        (*first, *last) = (self.stamp, self.stamp);
    }

    /// See [`Chunk::size`].
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.payload.len() as u64
    }

    fn kept(&self) -> &[u8] {
        self.payload.get(..self.keep).unwrap_or(self.payload)
    }

    /// Its octets, with the CRLF behind its payload.
    const fn run(&self) -> Run {
        let len = (self.size_line.len() + self.payload.len() + 2) as u64;
        Run { len, frame: Some(self.stamp.frame) }
    }
}

/// What a chunked body consists of, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkToken<'a> {
    /// A valid size line of a chunk with payload.
    Begin {
        /// The chunk's number, from 1.
        index: u64,
        /// Where its payload begins in the de-chunked body.
        offset: u64,
        /// Its size in octets.
        size: u64,
    },
    /// Payload octets of the chunk that began.
    Payload {
        /// Where they lie in the de-chunked body.
        offset: u64,
        /// The octets.
        piece: Piece<'a>,
    },
    /// Payload octets that the capture lacks.
    Missing {
        /// Where they lie in the de-chunked body.
        offset: u64,
        /// How many.
        len: u64,
    },
    /// The chunk that began is over, whole or not.
    End(Box<Chunk>),
    /// All of a chunk at once, as most come: what `Begin`, `Payload` and `End`
    /// would tell of a chunk that one piece holds from its size line to its CRLF.
    Whole(WholeChunk<'a>),
    /// The last chunk and its trailer section, as far as they came. Comes at
    /// the end of the body, also where the final empty line is missing.
    Last(Box<LastChunk>),
}

/// Where a sender left the grammar of RFC 9112 so that a careful receiver
/// still reads on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lenience {
    /// White space between a chunk size and the line end.
    SpaceAfterSize,
    /// A bare LF as a line end of a size line, a payload, or a trailer.
    BareLfInChunks,
    /// A bare LF as a line end in a head.
    BareLfInHead,
    /// `Transfer-Encoding: chunked` given twice.
    ChunkedTwice,
    /// Both Transfer-Encoding and Content-Length.
    LengthBesideChunked,
    /// Several Content-Length fields, or a list, of the same value.
    LengthTwice,
    /// A folded field.
    ObsFold,
    /// White space before a field's colon.
    SpaceBeforeColon,
    /// Blank lines before a start line.
    BlankLineBeforeStart,
    /// A response's last transfer coding isn't chunked: it is read to the close.
    NotChunkedLast,
    /// Transfer-Encoding in a message of HTTP/1.0 (RFC 9112 §6.1).
    CodingInHttp10,
    /// White space within a request target.
    SpaceInTarget,
    /// A line in a head or a trailer section that is no field.
    InvalidField,
}

/// Why chunk framing is broken, with what stands on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramingFault {
    /// The chunk in which it happens; `None` between chunks.
    pub chunk: Option<u64>,
    /// The packet with the octet at fault.
    pub stamp: Stamp,
    /// What is wrong, one clause that names the rule.
    pub message: String,
}
