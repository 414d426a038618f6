//! The octets of a file or pipe, unpacked if they are compressed.
//!
//! Compression is recognised by content. Its members or frames are decoded one
//! after the other, each by a decoder of its own, so that the place where one
//! ends is known exactly: the decoders of the packages stop after the first,
//! or take what follows the last for an error, and lz4_flex takes a file that
//! is cut between two blocks for a whole one.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::{Decompress, FlushDecompress, Status};
use lz4_flex::frame::FrameDecoder;
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, InBuffer, Operation, OutBuffer};

use super::error::{CaptureError, Compression, NothingYet};
use super::magic;

/// Octets that a source keeps for the decoders, and for recognising them.
const BUFFER: usize = 64 << 10;

/// The largest window that a zstd frame may ask for: 2^27 octets = 128 MiB,
/// as `zstd --long` writes it. A window is memory, so that more is refused.
const ZSTD_WINDOW_LOG: u32 = 27;

/// A file or pipe: interrupted reads are tried again, and the end is
/// remembered.
pub(super) struct Source<R> {
    inner: R,
    /// Octets `at..end` are read but not yet taken.
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    /// Octets read from `inner`.
    read: u64,
    /// A read gave nothing.
    ended: bool,
    /// A read failed: the error that comes out of a decoder is the system's.
    failed: bool,
    /// Whether [`NothingYet`] is passed on. No decoder could go on behind it.
    yields: bool,
}

impl<R: Read> Source<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
            read: 0,
            ended: false,
            failed: false,
            yields: false,
        }
    }

    /// Octets taken.
    const fn offset(&self) -> u64 {
        self.read - (self.end - self.at) as u64
    }

    fn buffered(&self) -> &[u8] {
        self.buffer.get(self.at..self.end).unwrap_or_default()
    }

    /// The next octets, at least `count` unless the end comes first, without
    /// taking them. No more is read than is there, so that a pipe's first
    /// packet isn't waited for.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        let count = count.min(self.buffer.len());
        if self.at + count > self.buffer.len() {
            self.buffer.copy_within(self.at..self.end, 0);
            self.end -= self.at;
            self.at = 0;
        }
        while self.end - self.at < count && !self.ended {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            let got = retried(&mut self.inner, room, self.yields).inspect_err(|_| self.failed = true)?;
            self.ended = got == 0;
            self.end += got;
            self.read += got as u64;
        }
        Ok(self.buffered())
    }

    /// Takes up to `count` octets without keeping them; how many there were.
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let there = self.fill_buf()?.len();
            if there == 0 {
                break;
            }
            let taken = there.min(usize::try_from(left).unwrap_or(usize::MAX));
            self.consume(taken);
            left -= taken as u64;
        }
        Ok(count - left)
    }
}

/// One read; one that a signal interrupts is tried again, and unless the
/// caller `yields`, so is one that found nothing yet.
fn retried<R: Read>(inner: &mut R, room: &mut [u8], yields: bool) -> io::Result<usize> {
    loop {
        match inner.read(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if !yields && NothingYet::is(&error) => {}
            result => return result,
        }
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.end && out.len() >= self.buffer.len() {
            if self.ended {
                return Ok(0);
            }
            let got = retried(&mut self.inner, out, self.yields).inspect_err(|_| self.failed = true)?;
            self.ended = got == 0;
            self.read += got as u64;
            return Ok(got);
        }
        let got = self.fill_buf()?.read(out)?;
        self.consume(got);
        Ok(got)
    }
}

impl<R: Read> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.end {
            (self.at, self.end) = (0, 0);
            self.peek(1)?;
        }
        Ok(self.buffered())
    }

    fn consume(&mut self, amount: usize) {
        self.at = self.at.saturating_add(amount).min(self.end);
    }
}

/// Where a source is being decoded.
enum State<R: Read> {
    Plain(Source<R>),
    Gzip {
        source: Source<R>,
        decoder: Box<Decompress>,
        /// What comes behind the octets that were given out.
        behind: Option<io::Result<Step>>,
    },
    Zstd {
        source: Source<R>,
        decoder: ZstdDecoder<'static>,
        next: Next,
        block: Block,
    },
    Lz4 {
        decoder: Box<FrameDecoder<Source<R>>>,
        /// The legacy form has no end mark; the end of the file is its end.
        legacy: bool,
    },
    /// All is read.
    Over,
}

/// What a zstd frame goes on with.
#[derive(Clone, Copy)]
enum Next {
    /// Input.
    Input,
    /// Output that was held back, since there was no room for it.
    Output,
    /// Nothing: all of it was given out.
    End,
}

/// A header or block of a zstd frame. The decoder gets one at a time: given
/// more, it loses what it has unpacked before a fault.
#[derive(Clone, Copy)]
struct Block {
    /// Where it begins in the file.
    at: u64,
    /// Octets of it that the decoder hasn't got.
    left: usize,
}

impl Block {
    /// What comes next of a frame, by what the decoder wishes to get: mostly a
    /// block with the header of the next.
    const fn wished(at: u64, wish: usize) -> Self {
        Self { at, left: if wish > ZSTD_BLOCK_HEADER { wish - ZSTD_BLOCK_HEADER } else { wish } }
    }
}

/// The window of deflate, 2^15 octets (RFC 1951).
const GZIP_WINDOW_LOG: u8 = 15;

const GZIP_FAULT: &str = "an invalid deflate stream, or a checksum that doesn't match";

/// A zstd frame's magic number and the least that its header has (RFC 8878 §3.1.1).
const ZSTD_HEADER: usize = 5;

/// The header of a block (RFC 8878 §3.1.1.2).
const ZSTD_BLOCK_HEADER: usize = 3;

/// The octets of a capture file, unpacked.
pub(super) struct Input<R: Read> {
    state: State<R>,
    compression: Option<Compression>,
    /// The decoder of the last zstd frame, for the next: making one is dear.
    zstd: Option<ZstdDecoder<'static>>,
    /// The compressed file ends inside a member or frame.
    cut: bool,
    /// Where octets follow the last member or frame that begin none.
    garbage: Option<u64>,
    /// Octets of the file taken, when the state has none to ask.
    taken: u64,
}

impl<R: Read> Input<R> {
    /// Recognises how the source is compressed. Waits for its first four octets.
    pub(super) fn open(inner: R) -> Result<Self, CaptureError> {
        let mut input =
            Self { state: State::Over, compression: None, zstd: None, cut: false, garbage: None, taken: 0 };
        let source = Source::new(inner);
        match input.begin(source, true) {
            Ok(()) => Ok(input),
            Err(source) => Err(CaptureError::Io { offset: input.taken, source }),
        }
    }

    /// How the file is compressed.
    pub(super) const fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Whether the compressed file ends too early. Known at the end.
    pub(super) const fn is_cut(&self) -> bool {
        self.cut
    }

    /// The offset in the file of octets behind the compressed data that are
    /// none. Known at the end.
    pub(super) const fn garbage(&self) -> Option<u64> {
        self.garbage
    }

    /// Reads what is there, at least one octet; 0 at the end. `out` isn't empty.
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, CaptureError> {
        loop {
            let result = match &mut self.state {
                State::Plain(source) => source.read(out).map(Step::of),
                State::Gzip { source, decoder, behind } => gunzip(source, decoder, behind, out),
                State::Zstd { source, decoder, next, block } => unzstd(source, decoder, next, block, out),
                State::Lz4 { decoder, legacy } => decoder.read(out).map(|got| match got {
                    // A clean end is marked, so that the decoder doesn't meet
                    // the end of the file.
                    0 if !*legacy && decoder.get_ref().ended => Step::Cut,
                    got => Step::of(got),
                }),
                State::Over => return Ok(0),
            };
            match result {
                Ok(Step::Got(got)) => return Ok(got),
                Ok(Step::Cut) => {
                    self.close();
                    self.cut = true;
                    return Ok(0);
                }
                Ok(Step::End) => {
                    let Some(source) = self.close() else {
                        return Ok(0);
                    };
                    if self.compression.is_none() {
                        return Ok(0);
                    }
                    if let Err(source) = self.begin(source, false) {
                        return Err(CaptureError::Io { offset: self.taken, source });
                    }
                }
                Err(source) if NothingYet::is(&source) => {
                    return Err(CaptureError::Io { offset: self.taken, source });
                }
                Err(error) => return self.fail(error),
            }
        }
    }

    /// Begins with a source's next member or frame, or with plain data if it
    /// is the `first`.
    fn begin(&mut self, mut source: Source<R>, mut first: bool) -> io::Result<()> {
        loop {
            self.taken = source.offset();
            let octets = source.peek(4)?;
            if magic::is_skippable(octets) {
                let octets = source.peek(8)?;
                let Some(&[_, _, _, _, a, b, c, d]) = octets.first_chunk() else {
                    self.cut = true;
                    return Ok(());
                };
                // RFC 8878 §3.1.2: magic, size in little-endian order, data.
                let size = 8 + u64::from(u32::from_le_bytes([a, b, c, d]));
                if source.skip(size)? < size {
                    self.cut = true;
                    return Ok(());
                }
                first = false;
                continue;
            }
            let legacy = octets.first() == Some(&0x02);
            let compression = magic::compression(octets);
            let ended = octets.is_empty();
            self.state = match compression {
                Some(Compression::Gzip) => {
                    let decoder = Box::new(Decompress::new_gzip(GZIP_WINDOW_LOG));
                    State::Gzip { source, decoder, behind: None }
                }
                Some(Compression::Zstd) => {
                    let mut decoder = match self.zstd.take() {
                        Some(decoder) => decoder,
                        None => ZstdDecoder::new()?,
                    };
                    decoder.reinit()?;
                    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
                    let block = Block { at: self.taken, left: ZSTD_HEADER };
                    State::Zstd { source, decoder, next: Next::Input, block }
                }
                Some(Compression::Lz4) => State::Lz4 { decoder: Box::new(FrameDecoder::new(source)), legacy },
                None if first => {
                    source.yields = true;
                    State::Plain(source)
                }
                None => {
                    if !ended {
                        self.garbage = Some(self.taken);
                    }
                    State::Over
                }
            };
            self.compression = self.compression.or(compression);
            return Ok(());
        }
    }

    /// Ends what is being decoded; its source.
    fn close(&mut self) -> Option<Source<R>> {
        let source = match std::mem::replace(&mut self.state, State::Over) {
            State::Plain(source) | State::Gzip { source, .. } => source,
            State::Zstd { source, decoder, .. } => {
                self.zstd = Some(decoder);
                source
            }
            State::Lz4 { decoder, .. } => decoder.into_inner(),
            State::Over => return None,
        };
        self.taken = source.offset();
        Some(source)
    }

    /// What an error of a decoder or of the system means.
    fn fail(&mut self, error: io::Error) -> Result<usize, CaptureError> {
        let block = match &self.state {
            State::Zstd { block, .. } => Some(block.at),
            _ => None,
        };
        let Some(source) = self.close() else {
            return Ok(0);
        };
        self.taken = block.unwrap_or(self.taken);
        match self.compression {
            Some(compression) if !source.failed => {
                if source.ended && error.kind() == ErrorKind::UnexpectedEof {
                    self.cut = true;
                    return Ok(0);
                }
                Err(CaptureError::Unpack { compression, offset: self.taken, source: error })
            }
            _ => Err(CaptureError::Io { offset: self.taken, source: error }),
        }
    }
}

/// What a decoder did.
enum Step {
    /// It gave so many octets.
    Got(usize),
    /// Its member or frame is over.
    End,
    /// The file is over before it.
    Cut,
}

impl Step {
    const fn of(got: usize) -> Self {
        if got == 0 { Self::End } else { Self::Got(got) }
    }
}

/// Decodes a gzip member on. What is unpacked before a fault is given out
/// first.
fn gunzip<R: Read>(
    source: &mut Source<R>,
    decoder: &mut Decompress,
    behind: &mut Option<io::Result<Step>>,
    out: &mut [u8],
) -> io::Result<Step> {
    loop {
        if let Some(step) = behind.take() {
            return step;
        }
        let input = source.fill_buf()?;
        if input.is_empty() {
            return Ok(Step::Cut);
        }
        let (read, written) = (decoder.total_in(), decoder.total_out());
        let status = decoder.decompress(input, out, FlushDecompress::None);
        let taken = usize::try_from(decoder.total_in() - read).unwrap_or(usize::MAX);
        let got = usize::try_from(decoder.total_out() - written).unwrap_or(usize::MAX).min(out.len());
        source.consume(taken);
        match status {
            Ok(Status::StreamEnd) => *behind = Some(Ok(Step::End)),
            Ok(Status::Ok | Status::BufError) => {}
            // What the decoder says of it depends on where it was interrupted.
            Err(_) => *behind = Some(Err(io::Error::new(ErrorKind::InvalidData, GZIP_FAULT))),
        }
        if got > 0 {
            return Ok(Step::Got(got));
        }
    }
}

/// Decodes a zstd frame on.
fn unzstd<R: Read>(
    source: &mut Source<R>,
    decoder: &mut ZstdDecoder<'static>,
    next: &mut Next,
    block: &mut Block,
    out: &mut [u8],
) -> io::Result<Step> {
    loop {
        let input = match next {
            Next::Input => source.fill_buf()?,
            Next::Output => &[],
            Next::End => return Ok(Step::End),
        };
        if input.is_empty() && matches!(next, Next::Input) {
            return Ok(Step::Cut);
        }
        let input = input.get(..block.left).unwrap_or(input);
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(&mut *out);
        // 0 where the frame is over and all of it is given out.
        let hint = decoder.run(&mut from, &mut to)?;
        let (taken, got) = (from.pos(), to.pos());
        source.consume(taken);
        if taken == block.left {
            *block = Block::wished(source.offset(), hint);
        } else {
            block.left -= taken;
        }
        *next = match hint {
            0 => Next::End,
            _ if got == out.len() => Next::Output,
            _ => Next::Input,
        };
        if got > 0 {
            return Ok(Step::Got(got));
        }
    }
}
