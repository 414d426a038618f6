//! One chunked body, from its first size line to the empty line that ends it.
//!
//! The machine is driven piece by piece: [`Decoder::read`] and
//! [`Decoder::gap`] take octets and holes off the front of what they are given
//! and return one [`Step`] at a time until nothing is left to tell.
//! [`Decoder::finish`] yields what had begun when the body stopped.

use std::borrow::Cow;
use std::mem;

use smallvec::{SmallVec, smallvec};

use super::size_line::{SizeFault, SizeLine, SizeStep};
use super::{
    Chunk, ChunkToken, Closing, Fields, FramingFault, LastChunk, Lenience, Run, WholeChunk, fields,
    piece as pieces,
};
use crate::limits::Limits;
use crate::tcp::{Gap, Piece};
use crate::units::Stamp;

/// Payload room reserved before the octets are there: a damaged size must not
/// take memory.
const FIRST_ROOM: usize = 64 << 10;

/// What the decoder has to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'a> {
    /// The next token of the body.
    Token(ChunkToken<'a>),
    /// The sender left the grammar, and is read all the same.
    Lenient(Lenience, Stamp),
    /// The body ended as RFC 9112 §7.1 has it; what is left of the piece
    /// belongs to the next message.
    Complete,
    /// The framing is invalid; what is left of the piece begins with the octet
    /// at fault. Nothing more is read.
    Broken(FramingFault),
    /// The capture lacks octets that are needed to find the next chunk. What
    /// is left of the gap lies behind the chunk that was told last. Nothing
    /// more is read.
    Lost,
}

/// Reads one chunked body.
#[derive(Debug, Clone)]
pub struct Decoder {
    state: State,
    /// The chunk or last chunk that is being read.
    record: Record,
    /// Chunks begun.
    index: u64,
    /// The next payload octet's place in the de-chunked body.
    offset: u64,
    /// Liberties that were read and not told yet.
    remarks: Vec<(Lenience, Stamp)>,
    keep_payload: usize,
    size_line_limit: usize,
    trailer_limit: usize,
}

#[derive(Debug, Clone)]
enum State {
    Size(SizeLine),
    Payload {
        /// Octets to come, above 0.
        left: u64,
    },
    Closing(Cr),
    /// Behind the last chunk's size line; `line` is where its current line
    /// begins in `octets`, which hold no empty line.
    Trailer {
        octets: Vec<u8>,
        line: usize,
    },
    /// To be told, then over.
    Complete,
    Broken(FramingFault),
    Lost,
    Over,
}

/// The CR behind a payload.
#[derive(Debug, Clone, Copy)]
enum Cr {
    Awaited,
    Seen(Stamp),
    Lost,
}

/// What is known of the chunk that is being read.
#[derive(Debug, Clone, Default)]
struct Record {
    at: u64,
    size_line: SmallVec<[u8; 24]>,
    /// The size line ended in a bare LF.
    bare_lf: bool,
    size: u64,
    offset: u64,
    received: u64,
    trail: SmallVec<[Run; 3]>,
    /// The earliest and the latest arrival.
    times: Option<(Stamp, Stamp)>,
    payload: Vec<u8>,
}

impl Record {
    /// Forgets what is known.
    fn restart(&mut self) {
        let Self { at, size_line, bare_lf, size, offset, received, trail, times, payload } = self;
        (*at, *size, *offset, *received) = (0, 0, 0, 0);
        (*bare_lf, *times) = (false, None);
        size_line.clear();
        trail.clear();
        payload.clear();
    }

    /// Counts octets that one packet delivered.
    fn arrived(&mut self, len: u64, stamp: &Stamp) {
        match self.trail.last_mut() {
            Some(run) if run.frame == Some(stamp.frame) => run.len = run.len.saturating_add(len),
            _ => {
                self.trail.push(Run { len, frame: Some(stamp.frame) });
                self.times = Some(match self.times {
                    None => (*stamp, *stamp),
                    Some((first, last)) => (
                        if stamp.frame < first.frame { *stamp } else { first },
                        if stamp.frame > last.frame { *stamp } else { last },
                    ),
                });
            }
        }
    }

    /// Counts octets that the capture lacks.
    fn lacks(&mut self, len: u64) {
        match self.trail.last_mut() {
            Some(run) if run.frame.is_none() => run.len = run.len.saturating_add(len),
            _ => self.trail.push(Run { len, frame: None }),
        }
    }
}

impl Decoder {
    /// A decoder in front of a body's first octet. `keep_payload` is how many
    /// payload octets of a chunk its record keeps, at most
    /// [`Limits::payload`].
    #[must_use]
    pub fn new(limits: &Limits, keep_payload: usize) -> Self {
        Self::with_limits(limits.size_line, limits.trailer, keep_payload.min(limits.payload))
    }

    /// The same with the limits that a decoder needs.
    pub(crate) fn with_limits(size_line_limit: usize, trailer_limit: usize, keep_payload: usize) -> Self {
        Self {
            state: State::Size(SizeLine::new(size_line_limit)),
            record: Record::default(),
            index: 0,
            offset: 0,
            remarks: Vec::new(),
            keep_payload,
            size_line_limit,
            trailer_limit,
        }
    }

    /// Puts it in front of another body's first octet.
    pub(crate) fn restart(&mut self, size_line_limit: usize, trailer_limit: usize, keep_payload: usize) {
        let Self { state, record, index, offset, remarks, .. } = self;
        *state = State::Size(SizeLine::new(size_line_limit));
        record.restart();
        (*index, *offset) = (0, 0);
        remarks.clear();
        self.keep_payload = keep_payload;
        self.size_line_limit = size_line_limit;
        self.trailer_limit = trailer_limit;
    }

    /// Takes octets off the front of a piece, up to the next thing to tell.
    /// `None`: the piece is used up, or the body is over.
    pub fn read<'a>(&mut self, piece: &mut Piece<'a>) -> Option<Step<'a>> {
        if let Some(step) = self.remark() {
            return Some(step);
        }
        loop {
            match &mut self.state {
                State::Payload { left } => {
                    if piece.bytes.is_empty() {
                        return None;
                    }
                    let part = pieces::take(piece, usize::try_from(*left).unwrap_or(usize::MAX));
                    let len = part.bytes.len() as u64;
                    *left -= len.min(*left);
                    if *left == 0 {
                        self.state = State::Closing(Cr::Awaited);
                    }
                    return Some(Step::Token(self.payload(part, len)));
                }
                State::Size(_) => {
                    if piece.bytes.is_empty() {
                        return None;
                    }
                    if let Some(whole) = self.whole(piece) {
                        return Some(Step::Token(ChunkToken::Whole(whole)));
                    }
                    if let Some(last) = self.plain_last(piece) {
                        return Some(Step::Token(ChunkToken::Last(last)));
                    }
                    if let Some(step) = self.size_line(piece) {
                        return Some(step);
                    }
                }
                State::Closing(_) => {
                    if piece.bytes.is_empty() {
                        return None;
                    }
                    if let Some(step) = self.closing(piece) {
                        return Some(step);
                    }
                }
                State::Trailer { .. } => {
                    if piece.bytes.is_empty() {
                        return None;
                    }
                    if let Some(step) = self.trailer(piece) {
                        return Some(step);
                    }
                }
                State::Complete | State::Broken(_) | State::Lost | State::Over => {
                    return self.outcome();
                }
            }
        }
    }

    /// Takes lost octets off the front of a gap, up to the next thing to tell:
    /// those of a payload and of the CRLF behind it are stepped over. `None`:
    /// the gap is used up, or the body is over.
    pub fn gap(&mut self, gap: &mut Gap) -> Option<Step<'static>> {
        if let Some(step) = self.remark() {
            return Some(step);
        }
        match &mut self.state {
            State::Complete | State::Broken(_) | State::Lost | State::Over => self.outcome(),
            _ if gap.len == 0 => None,
            State::Payload { left } => {
                let len = gap.len.min(*left);
                *left -= len;
                if *left == 0 {
                    self.state = State::Closing(Cr::Awaited);
                }
                self.record.lacks(len);
                shrink(gap, len);
                let offset = self.offset;
                self.offset = offset.saturating_add(len);
                Some(Step::Token(ChunkToken::Missing { offset, len }))
            }
            State::Closing(cr) => {
                let cr = *cr;
                let lacks = if matches!(cr, Cr::Awaited) { 2 } else { 1 };
                // Where the size line ended in a bare LF, the payload may be
                // followed by one or by two octets.
                let certain = !self.record.bare_lf || matches!(cr, Cr::Seen(_));
                if gap.len == 1 && lacks == 2 {
                    self.record.lacks(1);
                    shrink(gap, 1);
                    self.state = State::Closing(Cr::Lost);
                    return None;
                }
                self.count_cr(cr);
                self.record.lacks(lacks);
                shrink(gap, lacks);
                self.state = if certain && gap.len == 0 {
                    State::Size(SizeLine::new(self.size_line_limit))
                } else {
                    State::Lost
                };
                Some(Step::Token(self.end(Closing::Lost, false)))
            }
            State::Size(_) => {
                self.state = State::Over;
                Some(Step::Lost)
            }
            State::Trailer { octets, .. } => {
                let octets = mem::take(octets);
                self.state = State::Lost;
                Some(Step::Token(self.last(&octets)))
            }
        }
    }

    /// The body stops here: the chunk that had begun, or the last chunk
    /// without its final empty line. Nothing more is read.
    pub fn finish(&mut self) -> Option<ChunkToken<'static>> {
        match mem::replace(&mut self.state, State::Over) {
            State::Payload { .. } => Some(self.end(Closing::None, true)),
            State::Closing(cr) => {
                self.count_cr(cr);
                let closing = if matches!(cr, Cr::Lost) { Closing::Lost } else { Closing::None };
                Some(self.end(closing, false))
            }
            State::Trailer { octets, .. } => Some(self.last(&octets)),
            State::Size(_) | State::Complete | State::Broken(_) | State::Lost | State::Over => None,
        }
    }

    /// The next liberty that was read and not told yet; the trailer fields of
    /// a last chunk can have some also at the end.
    pub(crate) fn remark<'a>(&mut self) -> Option<Step<'a>> {
        if self.remarks.is_empty() {
            return None;
        }
        let (lenience, stamp) = self.remarks.remove(0);
        Some(Step::Lenient(lenience, stamp))
    }

    fn outcome<'a>(&mut self) -> Option<Step<'a>> {
        match mem::replace(&mut self.state, State::Over) {
            State::Complete => Some(Step::Complete),
            State::Broken(fault) => Some(Step::Broken(fault)),
            State::Lost => Some(Step::Lost),
            _ => None,
        }
    }

    /// Takes the next chunk off the front of a piece, if the piece holds all of
    /// it and nothing in its framing is out of the ordinary: what [`Self::read`]
    /// would tell next. `None` says nothing.
    #[inline]
    pub(crate) fn whole<'a>(&mut self, piece: &mut Piece<'a>) -> Option<WholeChunk<'a>> {
        let (State::Size(line), Cow::Borrowed(octets)) = (&self.state, &piece.bytes) else {
            return None;
        };
        if !self.remarks.is_empty() {
            return None;
        }
        let (size, count) = line.plain(octets).filter(|(size, _)| *size > 0)?;
        let (size_line, behind) = octets.split_at_checked(count)?;
        let (payload, closing) = behind.split_at_checked(usize::try_from(size).ok()?)?;
        let (_, rest) = closing.split_first_chunk().filter(|(closing, _)| *closing == b"\r\n")?;
        self.index = self.index.saturating_add(1);
        let (index, offset, keep) = (self.index, self.offset, self.keep_payload);
        let whole = WholeChunk { index, offset, at: piece.at, stamp: piece.stamp, size_line, payload, keep };
        self.offset = offset.saturating_add(size);
        pieces::skip_to(piece, rest);
        Some(whole)
    }

    /// The last chunk, if the piece holds all of it and it is as nearly all are.
    fn plain_last(&mut self, piece: &mut Piece<'_>) -> Option<Box<LastChunk>> {
        const SIZE_LINE: &[u8] = b"0\r\n";
        const END: &[u8] = b"\r\n";
        let (State::Size(line), Cow::Borrowed(octets)) = (&self.state, &piece.bytes) else {
            return None;
        };
        let rest = octets.strip_prefix(SIZE_LINE)?.strip_prefix(END)?;
        if line.plain(octets) != Some((0, SIZE_LINE.len())) || self.trailer_limit < END.len() {
            return None;
        }
        let Piece { at, stamp, .. } = *piece;
        let run = Run { len: (SIZE_LINE.len() + END.len()) as u64, frame: Some(stamp.frame) };
        pieces::skip_to(piece, rest);
        self.state = State::Complete;
        Some(Box::new(LastChunk {
            size_line: SmallVec::from_slice(SIZE_LINE),
            at,
            trail: smallvec![run],
            last: stamp,
            trailers: Fields::default(),
        }))
    }

    fn size_line<'a>(&mut self, piece: &mut Piece<'a>) -> Option<Step<'a>> {
        let State::Size(line) = &mut self.state else {
            return None;
        };
        if let Some((size, count)) = line.plain(&piece.bytes) {
            self.begin_size_line(piece, count);
            return self.sized(size);
        }
        let mut count = 0;
        let mut step = SizeStep::More;
        let mut at_fault = 0;
        for &octet in piece.bytes.iter() {
            step = line.push(octet);
            match step {
                SizeStep::More => count += 1,
                SizeStep::Done { .. } => {
                    count += 1;
                    break;
                }
                SizeStep::Fault(_) => {
                    at_fault = octet;
                    break;
                }
            }
        }
        let stamp = piece.stamp;
        self.begin_size_line(piece, count);
        match step {
            SizeStep::More => None,
            SizeStep::Fault(fault) => {
                let message = size_message(fault, &self.record.size_line, at_fault, self.size_line_limit);
                self.state = State::Over;
                Some(Step::Broken(FramingFault { chunk: None, stamp, message }))
            }
            SizeStep::Done { size, bare_lf, spaced } => {
                if spaced {
                    self.remarks.push((Lenience::SpaceAfterSize, stamp));
                }
                if bare_lf {
                    self.remarks.push((Lenience::BareLfInChunks, stamp));
                }
                self.record.bare_lf = bare_lf;
                self.sized(size)
            }
        }
    }

    /// Takes the first `count` octets of a piece as a part of the size line.
    fn begin_size_line(&mut self, piece: &mut Piece<'_>, count: usize) {
        if self.record.size_line.is_empty() {
            self.record.at = piece.at;
        }
        self.record.size_line.extend_from_slice(piece.bytes.get(..count).unwrap_or_default());
        if count > 0 {
            self.record.arrived(count as u64, &piece.stamp);
        }
        pieces::skip(piece, count);
    }

    /// The size line is whole.
    fn sized<'a>(&mut self, size: u64) -> Option<Step<'a>> {
        self.record.size = size;
        self.record.offset = self.offset;
        if size == 0 {
            self.state = State::Trailer { octets: Vec::new(), line: 0 };
            return self.remark();
        }
        self.state = State::Payload { left: size };
        self.index = self.index.saturating_add(1);
        if self.keep_payload > 0 {
            let room = usize::try_from(size).unwrap_or(usize::MAX).min(self.keep_payload).min(FIRST_ROOM);
            self.record.payload.reserve_exact(room);
        }
        Some(Step::Token(ChunkToken::Begin { index: self.index, offset: self.offset, size }))
    }

    fn payload<'a>(&mut self, part: Piece<'a>, len: u64) -> ChunkToken<'a> {
        self.record.arrived(len, &part.stamp);
        self.record.received = self.record.received.saturating_add(len);
        let room = self.keep_payload.saturating_sub(self.record.payload.len());
        if room > 0 {
            self.record.payload.extend_from_slice(part.bytes.get(..room).unwrap_or(&part.bytes));
        }
        let offset = self.offset;
        self.offset = offset.saturating_add(len);
        ChunkToken::Payload { offset, piece: part }
    }

    /// RFC 9112 §7.1: `chunk-data CRLF`. A bare LF will do only where the
    /// chunk's own size line ended in one: else a size that is one too small
    /// would pass where the payload ends in CRLF of its own.
    fn closing<'a>(&mut self, piece: &mut Piece<'a>) -> Option<Step<'a>> {
        let State::Closing(cr) = self.state else {
            return None;
        };
        if matches!(cr, Cr::Awaited) && piece.bytes.starts_with(b"\r\n") {
            // Both at once, as they nearly always come.
            self.record.arrived(2, &piece.stamp);
            pieces::skip(piece, 2);
            self.state = State::Size(SizeLine::new(self.size_line_limit));
            return Some(Step::Token(self.end(Closing::CrLf, false)));
        }
        let octet = piece.bytes.first().copied()?;
        let closing = match (cr, octet) {
            (Cr::Awaited, b'\r') => {
                self.state = State::Closing(Cr::Seen(piece.stamp));
                pieces::skip(piece, 1);
                return None;
            }
            (Cr::Seen(_), b'\n') => Closing::CrLf,
            (Cr::Awaited, b'\n') if self.record.bare_lf => {
                self.remarks.push((Lenience::BareLfInChunks, piece.stamp));
                Closing::Lf
            }
            (Cr::Lost, b'\n') => Closing::Lost,
            (Cr::Lost, _) if self.record.bare_lf => {
                // The lost octet was the LF.
                self.state = State::Size(SizeLine::new(self.size_line_limit));
                return Some(Step::Token(self.end(Closing::Lost, false)));
            }
            _ => {
                let size = self.record.size;
                let found = match cr {
                    Cr::Awaited => show(&[octet]),
                    Cr::Seen(_) => show(&[b'\r', octet]),
                    Cr::Lost => format!("a lost octet and {}", show(&[octet])),
                };
                let message = format!(
                    "the payload's {size} octets (0x{size:x}) are followed by {found}, not by CRLF (RFC 9112, section 7.1)"
                );
                self.state =
                    State::Broken(FramingFault { chunk: Some(self.index), stamp: piece.stamp, message });
                return Some(Step::Token(self.end(Closing::Broken, false)));
            }
        };
        self.count_cr(cr);
        self.record.arrived(1, &piece.stamp);
        pieces::skip(piece, 1);
        self.state = State::Size(SizeLine::new(self.size_line_limit));
        Some(Step::Token(self.end(closing, false)))
    }

    /// RFC 9112 §7.1: `trailer-section CRLF` behind the last chunk.
    fn trailer<'a>(&mut self, piece: &mut Piece<'a>) -> Option<Step<'a>> {
        let State::Trailer { octets, line } = &mut self.state else {
            return None;
        };
        let stamp = piece.stamp;
        let room = self.trailer_limit.saturating_sub(octets.len());
        if room == 0 {
            let octets = mem::take(octets);
            let message = format!("the trailer section is longer than {} octets", self.trailer_limit);
            self.state = State::Broken(FramingFault { chunk: None, stamp, message });
            return Some(Step::Token(self.last(&octets)));
        }
        let part = piece.bytes.get(..room).unwrap_or(&piece.bytes);
        let end = memchr::memchr(b'\n', part);
        let count = end.map_or(part.len(), |end| end + 1);
        octets.extend_from_slice(part.get(..count).unwrap_or_default());
        self.record.arrived(count as u64, &stamp);
        pieces::skip(piece, count);
        end?;
        let whole = octets.get(*line..).unwrap_or_default();
        if !whole.ends_with(b"\r\n") {
            self.remarks.push((Lenience::BareLfInChunks, stamp));
        }
        if fields::without_end(whole).is_empty() {
            let octets = mem::take(octets);
            self.state = State::Complete;
            return Some(Step::Token(self.last(&octets)));
        }
        *line = octets.len();
        self.remark()
    }

    /// Counts a CR behind the payload that was seen.
    fn count_cr(&mut self, cr: Cr) {
        if let Cr::Seen(stamp) = cr {
            self.record.arrived(1, &stamp);
        }
    }

    fn end(&mut self, closing: Closing, unfinished: bool) -> ChunkToken<'static> {
        let record = &mut self.record;
        let (first, last) = record.times.take().unwrap_or((Stamp::untimed(0), Stamp::untimed(0)));
        let chunk = Chunk {
            index: self.index,
            size_line: mem::take(&mut record.size_line),
            size: record.size,
            offset: record.offset,
            received: record.received,
            closing,
            unfinished,
            at: record.at,
            trail: mem::take(&mut record.trail),
            first,
            last,
            payload: mem::take(&mut record.payload),
            message: None,
        };
        record.bare_lf = false;
        record.received = 0;
        ChunkToken::End(Box::new(chunk))
    }

    /// The last chunk with the whole lines of its trailer section.
    fn last(&mut self, trailer: &[u8]) -> ChunkToken<'static> {
        let record = mem::take(&mut self.record);
        let (_, last) = record.times.unwrap_or((Stamp::untimed(0), Stamp::untimed(0)));
        let whole = memchr::memrchr(b'\n', trailer).map_or(0, |end| end + 1);
        let read = fields::parse(trailer.get(..whole).unwrap_or_default());
        self.remarks.extend(read.remarks.iter().map(|(lenience, _)| (*lenience, last)));
        ChunkToken::Last(Box::new(LastChunk {
            size_line: record.size_line,
            at: record.at,
            trail: record.trail,
            last,
            trailers: read.fields,
        }))
    }
}

fn shrink(gap: &mut Gap, len: u64) {
    gap.at = gap.at.saturating_add(len);
    gap.len = gap.len.saturating_sub(len);
}

/// What is wrong with a size line: `line` is what was read of it, `octet` the
/// one at fault.
fn size_message(fault: SizeFault, line: &[u8], octet: u8, limit: usize) -> String {
    let mut stands = line.get(line.len().saturating_sub(40)..).unwrap_or_default().to_vec();
    stands.push(octet);
    let stands = show(&stands);
    match fault {
        SizeFault::Empty => {
            format!("{stands} stands where a chunk size belongs (RFC 9112, section 7.1)")
        }
        SizeFault::NoDigit => {
            format!(
                "the size line begins with {stands}; a chunk size has hex digits only (RFC 9112, section 7.1)"
            )
        }
        SizeFault::BehindSpace => format!(
            "the size line begins with {stands}; behind a chunk size and white space only \";\" or the line end may stand (RFC 9112, section 7.1)"
        ),
        SizeFault::BareCr => {
            format!("the size line begins with {stands}; its CR isn't followed by LF (RFC 9112, section 7.1)")
        }
        SizeFault::TooLarge => {
            format!("the chunk size {stands} has more than 16 significant digits")
        }
        SizeFault::TooLong => format!("the size line is longer than {limit} octets"),
    }
}

/// Octets in quotes, printable ASCII only.
fn show(octets: &[u8]) -> String {
    format!("\"{}\"", octets.escape_ascii())
}
