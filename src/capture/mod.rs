//! The capture layer: octets of a capture file → frames.
//!
//! One streaming pass over a file or pipe, in a buffer that doesn't grow with
//! it: [`CaptureReader`] unpacks (gzip, zstd, lz4), finds the records of pcap
//! and pcapng files, and lends each packet as a [`Frame`].
//!
//! What this layer believes: a length that is at odds with what else stands
//! there is wrong; everything else a file says of its packets is as it says.
//!
//! What it promises:
//!
//! - Frame numbers are Wireshark's, also where pcapng blocks take a number
//!   that are no packets (custom blocks, journal entries).
//! - A packet that has arrived whole is given out before more is waited for.
//! - What can't be read is said: a fault that only concerns one block is a
//!   [`CaptureProblem`], and reading goes on; a fault behind which no packet
//!   can be found is a [`CaptureError`], after all packets before it. A file
//!   that ends inside a packet, or has octets behind the last one that are none,
//!   is read up to there.
//! - No time is made up: packets without a usable one have none.

mod block;
mod error;
mod input;
mod interface;
mod link;
mod magic;
mod pcap;
mod pcapng;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt;
use std::io::Read;

pub use error::{CaptureError, Compression, Fault, Looks, NothingYet, Place};
pub use link::LinkType;

use crate::limits::Limits;
use crate::units::{FrameNo, Stamp, Timestamp};
use block::Block;
use pcap::{Magic, Pcap};
use pcapng::Pcapng;

/// One captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its number and time.
    pub stamp: Stamp,
    /// How its first octets are to be read.
    pub link: LinkType,
    /// The captured octets.
    pub data: &'a [u8],
    /// How many octets it had on the wire; more than `data` where the snap
    /// length cut it, never less.
    pub wire_len: u32,
}

/// The format of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaptureFormat {
    /// pcap, of any variant.
    Pcap,
    /// pcapng.
    Pcapng,
}

impl fmt::Display for CaptureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
        })
    }
}

/// What a capture lacks, or what is wrong with a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The file, or what it is compressed in, ends inside a packet.
    TruncatedCapture,
    /// Octets behind the last packet are none.
    TrailingGarbage,
    /// A block is whole but can't be used, and was skipped.
    CorruptBlock,
    /// Packets were cut by the snap length.
    CutPackets,
    /// Packets have times that RFC 3339 can't write.
    BadTime,
}

impl ProblemKind {
    /// Its code in reports.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::TruncatedCapture => "truncated-capture",
            Self::TrailingGarbage => "trailing-garbage",
            Self::CorruptBlock => "corrupt-block",
            Self::CutPackets => "cut-packets",
            Self::BadTime => "bad-time",
        }
    }
}

/// A problem of a capture, with all its occurrences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureProblem {
    /// Which.
    pub kind: ProblemKind,
    /// The first frame with it; for a file that was cut, the last whole one.
    pub frame: Option<FrameNo>,
    /// Where it first is, in octets of the (unpacked) file; of octets behind
    /// compressed data, in those of the file.
    pub offset: u64,
    /// How often it happened.
    pub count: u64,
    /// What happened first, in one sentence without a full stop.
    pub message: String,
}

/// A packet that was found: where its octets are in the block. The reader has
/// one, which is written anew for each packet.
#[derive(Debug, Clone, Copy)]
struct Record {
    number: u64,
    at: Option<Timestamp>,
    link: LinkType,
    start: usize,
    length: usize,
    /// At least `length`.
    wire: u32,
}

/// What is known of a capture so far.
struct Book {
    /// The number of the first frame.
    first: u64,
    /// Numbers given so far.
    numbers: u64,
    links: Vec<LinkType>,
    /// The same; `links` has the order.
    declared: HashSet<u16>,
    problems: Vec<CaptureProblem>,
}

impl Book {
    fn new(first: u64) -> Self {
        Self { first, numbers: 0, links: Vec::new(), declared: HashSet::new(), problems: Vec::new() }
    }

    /// The next frame number.
    #[inline]
    const fn count(&mut self) -> u64 {
        let number = self.first.saturating_add(self.numbers);
        self.numbers += 1;
        number
    }

    /// The last frame's number, if there is one.
    fn last(&self) -> Option<u64> {
        (self.numbers > 0).then(|| self.first.saturating_add(self.numbers - 1))
    }

    fn declare(&mut self, link: LinkType) {
        if self.declared.insert(link.0) {
            self.links.push(link);
        }
    }

    /// Notes a problem; only its first occurrence has a message.
    fn note(&mut self, kind: ProblemKind, frame: Option<u64>, offset: u64, message: impl FnOnce() -> String) {
        match self.problems.iter_mut().find(|problem| problem.kind == kind) {
            Some(problem) => problem.count += 1,
            None => self.problems.push(CaptureProblem {
                kind,
                frame: frame.map(FrameNo::new),
                offset,
                count: 1,
                message: message(),
            }),
        }
    }

    fn has(&self, kind: ProblemKind) -> bool {
        self.problems.iter().any(|problem| problem.kind == kind)
    }

    fn truncated(&mut self, place: Place) {
        let last = self.last();
        self.note(ProblemKind::TruncatedCapture, last, place.offset, || match last {
            Some(last) => format!(
                "the capture ends inside the packet after frame {last}, at {place}; \
                 the recorder was stopped, or the file was not copied whole"
            ),
            None => format!("the capture ends inside its first packet, at {place}"),
        });
    }

    fn corrupt(&mut self, place: Place, damage: &CaptureError) {
        let last = self.last();
        self.note(ProblemKind::CorruptBlock, last, place.offset, || damage.to_string());
    }

    fn garbage(&mut self, place: Place, octets: u64) {
        let last = self.last();
        self.note(ProblemKind::TrailingGarbage, last, place.offset, || {
            format!(
                "{octets} octets at the end, from {place} on, are no packet: they are left out; if the \
                 recording should go on there, copy the file again"
            )
        });
    }
}

/// The machine of a format.
enum Machine {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A capture that is being read.
///
/// ```
/// use chunkscope::capture::CaptureReader;
/// use chunkscope::limits::Limits;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A pcap file with one packet of two octets.
/// let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// file.extend([0, 0, 4, 0, 1, 0, 0, 0]);
/// file.extend([1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, b'h', b'i']);
///
/// let mut capture = CaptureReader::open(&file[..], &Limits::default(), 1)?;
/// while let Some(frame) = capture.next_frame()? {
///     assert_eq!((frame.stamp.frame.get(), frame.data), (1, &b"hi"[..]));
/// }
/// assert!(capture.problems().is_empty());
/// # Ok(())
/// # }
/// ```
pub struct CaptureReader<R: Read> {
    block: Block<R>,
    machine: Machine,
    book: Book,
    /// The last packet that was found.
    record: Record,
    /// It was found by [`Self::first_time`], and not yet given out.
    found: bool,
    /// Nothing more comes, after the end or an error.
    over: bool,
}

impl<R: Read> CaptureReader<R> {
    /// Begins to read a capture whose first packet has the number
    /// `first_frame` (1 unless it continues another file). `source` needs no
    /// buffer of its own.
    ///
    /// # Errors
    ///
    /// What isn't a capture, can't be unpacked or isn't supported.
    pub fn open(source: R, limits: &Limits, first_frame: u64) -> Result<Self, CaptureError> {
        let mut block = Block::open(source, limits)?;
        let mut book = Book::new(first_frame);
        block.fill(4)?;
        if block.octets().is_empty() && !block.input().is_cut() {
            return Err(CaptureError::Empty);
        }
        let machine = if block.octets().starts_with(&pcapng::SECTION) {
            let mut machine = Pcapng::open(limits);
            // Nothing is passed by until the section's header is there.
            while let Err(error) = machine.begin(&mut block, &mut book) {
                if !error.is_nothing_yet() {
                    return Err(error);
                }
            }
            Machine::Pcapng(machine)
        } else if let Some(magic) = Magic::of(block.octets()) {
            block.fill(magic.header())?;
            Machine::Pcap(Pcap::open(&mut block, magic, limits, &mut book)?)
        } else {
            block.fill(magic::LOOK)?;
            let looks = match block.octets() {
                octets if block.input().is_cut() && octets.len() < 4 => Looks::Cut,
                octets => magic::looks(octets),
            };
            return Err(CaptureError::NotACapture { looks, within: block.input().compression() });
        };
        let record = Record { number: 0, at: None, link: LinkType::NULL, start: 0, length: 0, wire: 0 };
        Ok(Self { block, machine, book, record, found: false, over: false })
    }

    /// The next packet; `None` at the end, and after an error. Waits only where
    /// no whole packet has arrived.
    ///
    /// # Errors
    ///
    /// Damage behind which no packet can be found, and failures to read. All
    /// packets before were given out. After [`NothingYet`], which only a source
    /// that answers with it brings about, it can be asked again.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        Ok(if self.advance()? { Some(self.frame()) } else { None })
    }

    /// The first half of [`Self::next_frame`]: goes on to the next packet. False
    /// at the end.
    ///
    /// # Errors
    ///
    /// As [`Self::next_frame`]'s.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> Result<bool, CaptureError> {
        if !self.found && !self.find()? {
            return Ok(false);
        }
        self.found = false;
        if self.record.length < self.record.wire as usize {
            self.cut();
        }
        Ok(true)
    }

    /// The other half: the packet that [`Self::advance`] went on to. Made where it
    /// stays, and never moved: a processor waits long to copy, a word at a time,
    /// what it has only just written by halves.
    #[inline(always)]
    pub(crate) fn frame(&self) -> Frame<'_> {
        let record = &self.record;
        Frame {
            stamp: Stamp { frame: FrameNo::new(record.number), at: record.at },
            link: record.link,
            data: self.block.at(record.start, record.length),
            wire_len: record.wire,
        }
    }

    /// How many octets of that packet were captured.
    #[inline(always)]
    pub(crate) const fn length(&self) -> usize {
        self.record.length
    }

    /// When it was captured.
    #[inline(always)]
    pub(crate) const fn at(&self) -> Option<Timestamp> {
        self.record.at
    }

    /// The time of the first packet, which [`Self::next_frame`] still gives
    /// out; `None` if it has none, or if there is no packet. To be asked before
    /// the first packet is taken: parts of a recording are put in order by it.
    ///
    /// # Errors
    ///
    /// As [`Self::next_frame`]'s.
    pub fn first_time(&mut self) -> Result<Option<Timestamp>, CaptureError> {
        if !self.found {
            self.found = self.find()?;
        }
        Ok(self.record.at.filter(|_| self.found))
    }

    /// Gives the first packet the number `first_frame` after all. To be called
    /// before the first packet is taken.
    pub fn renumber(&mut self, first_frame: u64) {
        let old = self.book.first;
        let moved = |number: u64| first_frame.saturating_add(number.saturating_sub(old));
        self.book.first = first_frame;
        if self.found {
            self.record.number = moved(self.record.number);
        }
        for problem in &mut self.book.problems {
            problem.frame = problem.frame.map(|frame| FrameNo::new(moved(frame.get())));
        }
    }

    /// The file's format.
    #[must_use]
    pub const fn format(&self) -> CaptureFormat {
        match self.machine {
            Machine::Pcap(_) => CaptureFormat::Pcap,
            Machine::Pcapng(_) => CaptureFormat::Pcapng,
        }
    }

    /// How the file is compressed.
    #[must_use]
    pub const fn compression(&self) -> Option<Compression> {
        self.block.input().compression()
    }

    /// The link types declared so far, without duplicates, in order.
    #[must_use]
    pub fn link_types(&self) -> &[LinkType] {
        &self.book.links
    }

    /// How many frame numbers were given so far: packets, and what Wireshark
    /// counts with them.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        if self.found { self.record.number.saturating_sub(self.book.first) } else { self.book.numbers }
    }

    /// The problems so far, each kind once.
    #[must_use]
    pub fn problems(&self) -> &[CaptureProblem] {
        &self.book.problems
    }

    /// Finds the next record; false where there is none.
    #[inline(always)]
    fn find(&mut self) -> Result<bool, CaptureError> {
        if self.over {
            return Ok(false);
        }
        let found = match &mut self.machine {
            Machine::Pcap(machine) => machine.next(&mut self.block, &mut self.book, &mut self.record),
            Machine::Pcapng(machine) => machine.next(&mut self.block, &mut self.book, &mut self.record),
        };
        match &found {
            Ok(true) => {}
            Ok(false) => self.end(),
            Err(error) => self.over = !error.is_nothing_yet(),
        }
        found
    }

    /// The end of the octets: what the compression says of it.
    #[cold]
    fn end(&mut self) {
        self.over = true;
        let input = self.block.input();
        let (cut, garbage) = (input.is_cut(), input.garbage());
        if cut && !self.book.has(ProblemKind::TruncatedCapture) {
            let (last, place) = (self.book.last(), self.block.place());
            self.book.note(ProblemKind::TruncatedCapture, last, place.offset, || {
                format!("the compressed file is cut at {place}; it was not copied whole")
            });
        }
        if let Some(offset) = garbage {
            let last = self.book.last();
            self.book.note(ProblemKind::TrailingGarbage, last, offset, || {
                format!(
                    "the octets behind the compressed data, from offset {offset} on, are none: they are left \
                     out; if the recording should go on there, copy the file again"
                )
            });
        }
    }

    /// Notes a packet that the snap length cut.
    #[cold]
    fn cut(&mut self) {
        let Record { number, length: kept, wire, .. } = self.record;
        let offset = self.block.offset();
        self.book.note(ProblemKind::CutPackets, Some(number), offset, || {
            format!(
                "packets were cut by the snap length, the first to {kept} of {wire} octets; \
                 record with `tcpdump -s 0`"
            )
        });
    }
}
