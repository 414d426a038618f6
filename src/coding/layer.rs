//! One coding: how its streams begin, follow each other and end.

use std::fmt;

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder as ZstdDecoder, Operation as _};

use super::{Coding, Fault};

/// Octets that are decoded at once.
const PIECE: usize = 8 << 10;

/// The base-2 logarithm of the largest window of deflate.
const DEFLATE_WINDOW: u8 = 15;

/// Takes decoded octets.
type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), Fault>;

/// Decodes one coding.
pub(super) struct Layer {
    coding: Coding,
    place: Place,
    /// Octets that it may still yield.
    left: u64,
    /// What was decoded and isn't passed on yet; kept to be used again.
    piece: Vec<u8>,
}

/// Where in the coded octets it is.
enum Place {
    /// In front of the first stream's first octet.
    Start,
    /// Behind the first octet of a `deflate` body, which zlib may begin with.
    Deflate(u8),
    /// In a stream.
    Amid(Machine),
    /// Behind a stream.
    Behind,
}

/// The decoder of a stream.
enum Machine {
    Inflate(Box<Decompress>),
    Brotli(Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>),
    /// And how many octets it asks for.
    Zstd(Box<ZstdDecoder<'static>>, usize),
}

/// What came of a step.
struct Step {
    read: usize,
    written: usize,
    /// The stream is over.
    ended: bool,
    /// The octets that were read are no stream.
    fault: Option<String>,
}

impl fmt::Debug for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer").field("coding", &self.coding).field("amid", &self.is_amid()).finish()
    }
}

impl Layer {
    /// A layer in front of the first octet, which may yield so many.
    pub(super) const fn new(coding: Coding, left: u64) -> Self {
        Self { coding, place: Place::Start, left, piece: Vec::new() }
    }

    /// Allows it to yield more.
    pub(super) const fn grant(&mut self, more: u64) {
        self.left = self.left.saturating_add(more);
    }

    pub(super) const fn coding(&self) -> Coding {
        self.coding
    }

    /// Whether a stream has begun and not ended.
    pub(super) const fn is_amid(&self) -> bool {
        matches!(self.place, Place::Amid(_) | Place::Deflate(_))
    }

    /// Decodes octets; what they yield goes to `sink`.
    pub(super) fn read(&mut self, mut octets: &[u8], sink: Sink<'_>) -> Result<(), Fault> {
        while let Some(&first) = octets.first() {
            match &mut self.place {
                Place::Start if self.coding == Coding::Deflate && may_begin_zlib(first) => {
                    self.place = Place::Deflate(first);
                    octets = octets.get(1..).unwrap_or_default();
                }
                Place::Start => self.place = Place::Amid(self.machine(false)?),
                Place::Deflate(before) => {
                    let before = *before;
                    let mut machine = self.machine(is_zlib(before, first))?;
                    self.run(&mut machine, &mut &[before][..], sink)?;
                    self.place = Place::Amid(machine);
                }
                Place::Behind => {
                    if !self.may_follow(first) {
                        let name = self.coding.name();
                        return Err(Fault::Corrupt(match self.coding {
                            Coding::Gzip => format!(
                                "0x{first:02x} behind the end of the {name} stream begins no further member"
                            ),
                            Coding::Zstd => format!(
                                "0x{first:02x} behind the end of the {name} stream begins no further frame"
                            ),
                            Coding::Deflate | Coding::Brotli => {
                                format!(
                                    "0x{first:02x} behind the end of the {name} stream, which nothing may follow"
                                )
                            }
                        }));
                    }
                    self.place = Place::Amid(self.machine(false)?);
                }
                Place::Amid(_) => {
                    let Place::Amid(mut machine) = std::mem::replace(&mut self.place, Place::Behind) else {
                        return Ok(());
                    };
                    if !self.run(&mut machine, &mut octets, sink)? {
                        self.place = Place::Amid(machine);
                    }
                }
            }
        }
        Ok(())
    }

    /// Decodes octets of a stream from the front of `octets`, all of them or up
    /// to the stream's end: whether that came.
    fn run(&mut self, machine: &mut Machine, octets: &mut &[u8], sink: Sink<'_>) -> Result<bool, Fault> {
        self.piece.resize(PIECE, 0);
        let mut full = false;
        loop {
            // What there was no room for comes by itself: the decoders of brotli
            // and zstd give it up where they meet a fault in what is given with it.
            let held = full;
            let given = if held { &[] } else { *octets };
            let Step { read, written, ended, fault } = machine.step(given, &mut self.piece);
            *octets = octets.get(read..).unwrap_or_default();
            let believed = usize::try_from(self.left).unwrap_or(usize::MAX).min(written);
            self.left -= believed as u64;
            if let Some(decoded) = self.piece.get(..believed).filter(|decoded| !decoded.is_empty()) {
                sink(decoded)?;
            }
            if believed < written {
                return Err(Fault::TooMuch);
            }
            if let Some(fault) = fault {
                return Err(Fault::Corrupt(format!("the {} stream is corrupt: {fault}", self.coding.name())));
            }
            if ended {
                return Ok(true);
            }
            // A full piece may not have been all.
            full = written == self.piece.len();
            if full || (held && !octets.is_empty()) {
                continue;
            }
            if octets.is_empty() || read + written == 0 {
                return match octets.is_empty() {
                    true => Ok(false),
                    false => {
                        Err(Fault::Corrupt(format!("the {} stream makes no progress", self.coding.name())))
                    }
                };
            }
        }
    }

    /// Whether an octet behind a stream can begin another.
    const fn may_follow(&self, first: u8) -> bool {
        match self.coding {
            Coding::Gzip => first == 0x1f,
            // RFC 8878 §3.1: the first octets of the magic numbers of frames
            // and of skippable frames.
            Coding::Zstd => matches!(first, 0x28 | 0x50..=0x5f),
            Coding::Deflate | Coding::Brotli => false,
        }
    }

    /// A decoder in front of a stream; of `deflate`, with zlib around it or not.
    fn machine(&self, zlib: bool) -> Result<Machine, Fault> {
        Ok(match self.coding {
            Coding::Gzip => Machine::Inflate(Box::new(Decompress::new_gzip(DEFLATE_WINDOW))),
            Coding::Deflate => Machine::Inflate(Box::new(Decompress::new(zlib))),
            // RFC 7932 §9.1: no windows above 16 MiB.
            Coding::Brotli => Machine::Brotli(Box::new(BrotliState::new_strict(
                StandardAlloc::default(),
                StandardAlloc::default(),
                StandardAlloc::default(),
            ))),
            // zstd's own bound on windows is 128 MiB.
            Coding::Zstd => Machine::Zstd(Box::new(ZstdDecoder::new().map_err(|_| Fault::TooMuch)?), 1),
        })
    }
}

impl Machine {
    /// Decodes octets from the front of `octets` into the front of `piece`.
    fn step(&mut self, octets: &[u8], piece: &mut [u8]) -> Step {
        match self {
            Self::Inflate(inflate) => {
                let before = (inflate.total_in(), inflate.total_out());
                let status = inflate.decompress(octets, piece, FlushDecompress::Sync);
                let since = |total: u64, before: u64| usize::try_from(total - before).unwrap_or(usize::MAX);
                Step {
                    read: since(inflate.total_in(), before.0),
                    written: since(inflate.total_out(), before.1),
                    ended: matches!(status, Ok(Status::StreamEnd)),
                    fault: status.err().map(|error| match error.needs_dictionary() {
                        Some(_) => "it needs a dictionary".to_owned(),
                        None => plain(error.message()).to_owned(),
                    }),
                }
            }
            Self::Brotli(state) => {
                // One octet at a time: at a fault the decoder gives up all that it
                // decoded since it was called.
                let octets = octets.get(..1).unwrap_or_default();
                let (mut available_in, mut read) = (octets.len(), 0);
                let (mut available_out, mut written, mut total) = (piece.len(), 0, 0);
                let result = BrotliDecompressStream(
                    &mut available_in,
                    &mut read,
                    octets,
                    &mut available_out,
                    &mut written,
                    piece,
                    &mut total,
                    state,
                );
                let fault = matches!(result, BrotliResult::ResultFailure);
                let ended = matches!(result, BrotliResult::ResultSuccess);
                Step { read, written, ended, fault: fault.then(|| "invalid octets".to_owned()) }
            }
            // Up to a block's end, without the next one's header, which it asks for
            // too: where that is corrupt, the decoder gives up what it decoded.
            Self::Zstd(decoder, asked) => {
                match decoder.run_on_buffers(octets.get(..zstd_part(*asked)).unwrap_or(octets), piece) {
                    Ok(status) => {
                        *asked = status.remaining;
                        Step {
                            read: status.bytes_read,
                            written: status.bytes_written,
                            ended: status.remaining == 0,
                            fault: None,
                        }
                    }
                    Err(error) => Step { read: 0, written: 0, ended: false, fault: Some(error.to_string()) },
                }
            }
        }
    }
}

/// What inflate says is wrong. Of codes that there can't be it says which only
/// where few octets are left, so these are all one.
fn plain(message: Option<&str>) -> &str {
    match message {
        None
        | Some(
            "repeated call with bad state"
            | "invalid distance too far back"
            | "invalid distance code"
            | "invalid distance code too far back"
            | "invalid literal/length code",
        ) => "invalid octets",
        Some(message) => message,
    }
}

/// How many octets a decoder of zstd is given that asks for so many: without the
/// header of three octets (RFC 8878 §3.1.1.2) behind a block.
const fn zstd_part(asked: usize) -> usize {
    match asked {
        0 => 1,
        1..=3 => asked,
        _ => asked - 3,
    }
}

/// Whether an octet can be the first of a zlib stream (RFC 1950 §2.2): deflate,
/// with a window of at most 32 KiB. No deflate stream that is written without
/// zlib begins so: as a block without compression, with padding that isn't 0.
const fn may_begin_zlib(first: u8) -> bool {
    first & 0x0f == 8 && first >> 4 <= 7
}

/// Whether two octets are a zlib header, by its check.
fn is_zlib(first: u8, second: u8) -> bool {
    (u16::from(first) << 8 | u16::from(second)).is_multiple_of(31)
}
