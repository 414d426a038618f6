//! pcapng: sections of blocks.
//! Source: draft-ietf-opsawg-pcapng; the sections cited are its.
//!
//! A block is delimited here first, by its two lengths, and looked into
//! afterwards: what is whole but inconsistent is skipped, and only a block
//! without an end ends the reading. pcap-parser reads the headers with options
//! (section, interface); the fixed fields of packets are read here, since it
//! allocates for their options, takes an inconsistent block for an incomplete
//! one, and doesn't know the obsolete packet block.

use std::io::Read;

use pcap_parser::pcapng::parse_sectionheaderblock;

use super::block::Block;
use super::error::{CaptureError, Fault};
use super::interface::{HEADER_BLOCK, Interface};
use super::magic;
use super::{Book, CaptureFormat, ProblemKind, Record};
use crate::limits::Limits;

/// The octets that a pcapng file begins with, in either byte order (§4.1).
pub(super) const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Interfaces of a section that are kept: a file has a handful, a node with a
/// container each some hundred. Packets of interfaces beyond are skipped.
const INTERFACES: usize = 65_536;

/// Block types.
mod types {
    pub(super) const SECTION: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE: u32 = 1;
    pub(super) const OBSOLETE_PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const NAMES: u32 = 4;
    pub(super) const STATISTICS: u32 = 5;
    pub(super) const ENHANCED_PACKET: u32 = 6;
    pub(super) const JOURNAL: u32 = 9;
    pub(super) const SECRETS: u32 = 10;
    pub(super) const CUSTOM: u32 = 0x0000_0bad;
    pub(super) const CUSTOM_PRIVATE: u32 = 0x4000_0bad;
    pub(super) const PROCESS: u32 = 0x8000_0001;
    /// Events of sysdig, in three versions, which Wireshark counts too.
    pub(super) const SYSDIG_EVENTS: [u32; 3] = [0x204, 0x216, 0x221];
}

/// Those types that a block which stands where one is expected is known by.
const KNOWN: [u32; 12] = [
    types::SECTION,
    types::INTERFACE,
    types::OBSOLETE_PACKET,
    types::SIMPLE_PACKET,
    types::NAMES,
    types::STATISTICS,
    types::ENHANCED_PACKET,
    types::JOURNAL,
    types::SECRETS,
    types::CUSTOM,
    types::CUSTOM_PRIVATE,
    types::PROCESS,
];

/// What stands at the beginning of the octets.
enum Found {
    /// A block: its type and its octets with padding.
    Block { kind: u32, length: usize },
    /// The file ends before a block does.
    Unfinished { known: bool },
    /// Nothing that can be delimited.
    Fault { known: bool, fault: Fault },
}

/// A pcapng file.
pub(super) struct Pcapng {
    /// The byte order of the section.
    big: bool,
    /// Those of the section; `None` for a description that can't be read.
    interfaces: Vec<Option<Interface>>,
    limit: usize,
}

impl Pcapng {
    /// A reader of a file that begins with [`SECTION`].
    pub(super) const fn open(limits: &Limits) -> Self {
        Self { big: false, interfaces: Vec::new(), limit: limits.capture_block }
    }

    /// Reads the first section header, so that a file whose version isn't
    /// known fails when it is opened.
    pub(super) fn begin<R: Read>(
        &mut self,
        block: &mut Block<R>,
        book: &mut Book,
    ) -> Result<(), CaptureError> {
        match self.find(block)? {
            Found::Block { kind: types::SECTION, length } => {
                self.section(block, length)?;
                block.pass(length);
                // Interfaces follow at once; declared link types are known
                // early, where that needs no waiting.
                while let Some(kind) = block.octets().first_chunk()
                    && self.word(*kind) == types::INTERFACE
                    && let Some(length) = block.octets().get(4..).and_then(<[u8]>::first_chunk)
                    && block.len() >= self.word(*length) as usize
                    && let Found::Block { kind: types::INTERFACE, length } = self.find(block)?
                {
                    self.interface(block, length, book);
                    block.pass(length);
                }
                Ok(())
            }
            Found::Fault { fault, .. } => Err(damaged(block, fault)),
            Found::Block { .. } | Found::Unfinished { .. } => {
                let declared = block.octets().get(4..).and_then(<[u8]>::first_chunk);
                let declared = declared.filter(|_| block.len() >= 12);
                Err(CaptureError::HeaderCut {
                    format: CaptureFormat::Pcapng,
                    have: block.len() as u64,
                    need: declared.map_or(28, |length| u64::from(self.word(*length))),
                })
            }
        }
    }

    /// Finds the next packet; false at the end.
    #[inline(never)]
    pub(super) fn next<R: Read>(
        &mut self,
        block: &mut Block<R>,
        book: &mut Book,
        record: &mut Record,
    ) -> Result<bool, CaptureError> {
        loop {
            let (kind, length) = match self.find(block)? {
                Found::Block { kind, length } => (kind, length),
                Found::Unfinished { known } => {
                    self.end(block, book, known);
                    return Ok(false);
                }
                Found::Fault { known, fault } => {
                    return self.no_block(block, book, known, fault).map(|()| false);
                }
            };
            let found = match kind {
                types::ENHANCED_PACKET | types::OBSOLETE_PACKET | types::SIMPLE_PACKET => {
                    self.packet(block, kind, length, book)
                }
                types::SECTION => {
                    self.section(block, length)?;
                    None
                }
                types::INTERFACE => {
                    self.interface(block, length, book);
                    None
                }
                types::CUSTOM | types::CUSTOM_PRIVATE | types::JOURNAL => {
                    book.count();
                    None
                }
                kind => {
                    if types::SYSDIG_EVENTS.contains(&kind) {
                        book.count();
                    }
                    None
                }
            };
            block.pass(length);
            if let Some(found) = found {
                *record = found;
                return Ok(true);
            }
        }
    }

    #[inline]
    fn word(&self, octets: [u8; 4]) -> u32 {
        if self.big { u32::from_be_bytes(octets) } else { u32::from_le_bytes(octets) }
    }

    /// Delimits the next block (§3.1: type, length, body, length again), and
    /// reads it whole.
    fn find<R: Read>(&mut self, block: &mut Block<R>) -> Result<Found, CaptureError> {
        let Some(&[a, b, c, d, e, f, g, h]) = first_octets(block)? else {
            let known = block.octets().is_empty() || self.may_begin(block.octets());
            return Ok(Found::Unfinished { known });
        };
        if [a, b, c, d] == SECTION {
            // §4.1: the byte-order magic comes before anything that needs it.
            if !block.fill_or_yield(12)? {
                return Ok(Found::Unfinished { known: true });
            }
            match block.octets().get(8..).and_then(<[u8]>::first_chunk) {
                Some([0x4d, 0x3c, 0x2b, 0x1a]) => self.big = false,
                Some([0x1a, 0x2b, 0x3c, 0x4d]) => self.big = true,
                magic => {
                    let fault = Fault::ByteOrder(magic.copied().unwrap_or_default());
                    return Ok(Found::Fault { known: true, fault });
                }
            }
        }
        let (kind, first) = (self.word([a, b, c, d]), self.word([e, f, g, h]));
        let length = first as usize;
        let least: usize = if kind == types::SECTION { 28 } else { 12 };
        if length < least {
            let fault = Fault::BlockTooShort { length: first };
            return Ok(Found::Fault { known: KNOWN.contains(&kind), fault });
        }
        if length > self.limit {
            let fault = Fault::TooLong { length: u64::from(first), limit: self.limit as u64 };
            return Ok(Found::Fault { known: KNOWN.contains(&kind), fault });
        }
        if block.len() < length && !block.fill_or_yield(length)? {
            return Ok(Found::Unfinished { known: KNOWN.contains(&kind) });
        }
        let second = self.length_at(block.octets(), length);
        if second == first {
            return Ok(Found::Block { kind, length });
        }
        // A few writers pad a block without counting the padding.
        let padded = length.next_multiple_of(4);
        if padded != length && block.fill(padded)? && self.length_at(block.octets(), padded) == first {
            return Ok(Found::Block { kind, length: padded });
        }
        Ok(Found::Fault { known: KNOWN.contains(&kind), fault: Fault::BlockEnds { first, second } })
    }

    /// The length that a block of `length` octets ends with.
    #[inline]
    fn length_at(&self, octets: &[u8], length: usize) -> u32 {
        octets.get(..length).and_then(<[u8]>::last_chunk).map_or(0, |octets| self.word(*octets))
    }

    /// Begins a section (§4.1). Its declared length isn't needed.
    fn section<R: Read>(&mut self, block: &Block<R>, length: usize) -> Result<(), CaptureError> {
        if length > HEADER_BLOCK {
            let (length, limit) = (length as u64, HEADER_BLOCK as u64);
            return Err(damaged(block, Fault::TooLong { length, limit }));
        }
        let octets = block.octets().get(..length).unwrap_or_default();
        let Ok((_, header)) = parse_sectionheaderblock(octets) else {
            return Err(damaged(block, Fault::BlockTooShort { length: saturated(length) }));
        };
        // Minor versions change nothing that a reader must know; Wireshark
        // itself wrote 1.2 for a while.
        if header.major_version != 1 {
            return Err(CaptureError::UnsupportedVersion {
                format: CaptureFormat::Pcapng,
                major: header.major_version,
                minor: header.minor_version,
                place: block.place(),
            });
        }
        self.interfaces.clear();
        Ok(())
    }

    /// Takes an interface description (§4.2). One that can't be read takes its
    /// index all the same.
    fn interface<R: Read>(&mut self, block: &Block<R>, length: usize, book: &mut Book) {
        let octets = block.octets().get(..length).unwrap_or_default();
        let interface = Interface::read(octets, self.big);
        match interface {
            Some(interface) => book.declare(interface.link),
            None => {
                let place = block.place();
                book.note(ProblemKind::CorruptBlock, None, place.offset, || {
                    format!("an interface description at {place} can't be read")
                });
            }
        }
        if self.interfaces.len() < INTERFACES {
            self.interfaces.push(interface);
        }
    }

    /// A packet of one of the three blocks, and its number; `None` if the
    /// block is inconsistent.
    fn packet<R: Read>(&self, block: &Block<R>, kind: u32, length: usize, book: &mut Book) -> Option<Record> {
        let number = book.count();
        let body = block.octets().get(8..length - 4).unwrap_or_default();
        let fields = match kind {
            types::SIMPLE_PACKET => self.simple(body),
            _ => self.timed(kind, body),
        };
        match fields {
            Ok(Packet { units, interface, skip, captured, wire }) => {
                let at = units.map(|units| interface.time(units));
                let at = at.filter(|at| {
                    if !at.is_writable() {
                        let place = block.place();
                        book.note(ProblemKind::BadTime, Some(number), place.offset, || {
                            "packets have times before the year 0 or after 9999; \
                             they count as unknown"
                                .into()
                        });
                    }
                    at.is_writable()
                });
                Some(Record {
                    number,
                    at,
                    link: interface.link,
                    start: block.start() + 8 + skip,
                    length: captured,
                    wire: wire.max(saturated(captured)),
                })
            }
            Err(what) => {
                let place = block.place();
                book.note(ProblemKind::CorruptBlock, Some(number), place.offset, || {
                    format!("the packet block at {place} {what}; it is skipped")
                });
                None
            }
        }
    }

    /// Enhanced (§4.3) and obsolete (§ A) packet blocks: their fixed fields.
    /// Options, with an end or without, aren't needed.
    fn timed(&self, kind: u32, body: &[u8]) -> Result<Packet<'_>, Inconsistent> {
        let Some((&fields, data)) = body.split_first_chunk::<20>() else {
            return Err(Inconsistent::Short);
        };
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = fields;
        let index = match kind {
            // Its other half counts drops.
            types::OBSOLETE_PACKET if self.big => u32::from(u16::from_be_bytes([a, b])),
            types::OBSOLETE_PACKET => u32::from(u16::from_le_bytes([a, b])),
            _ => self.word([a, b, c, d]),
        };
        let interface = self.described_at(index)?;
        let units = u64::from(self.word([e, f, g, h])) << 32 | u64::from(self.word([i, j, k, l]));
        let captured = self.word([m, n, o, p]);
        if captured as usize > data.len() {
            return Err(Inconsistent::Captured { captured, room: data.len() });
        }
        Ok(Packet {
            units: Some(units),
            interface,
            skip: 20,
            captured: captured as usize,
            wire: self.word([q, r, s, t]),
        })
    }

    /// Simple packet blocks (§4.4): of the first interface, without a time; as
    /// many octets as the packet had, up to the snap length.
    fn simple(&self, body: &[u8]) -> Result<Packet<'_>, Inconsistent> {
        let Some((wire, data)) = body.split_first_chunk::<4>() else {
            return Err(Inconsistent::Short);
        };
        let interface = self.described_at(0)?;
        let wire = self.word(*wire);
        let whole = wire as usize;
        let captured = if data.len() >= whole && data.len() - whole < 4 {
            // All of it is there, whatever the snap length says.
            whole
        } else if interface.snap > 0 {
            whole.min(interface.snap as usize)
        } else {
            whole
        };
        if captured > data.len() {
            return Err(Inconsistent::Captured { captured: saturated(captured), room: data.len() });
        }
        Ok(Packet { units: None, interface, skip: 4, captured, wire })
    }

    fn described_at(&self, index: u32) -> Result<&Interface, Inconsistent> {
        self.interfaces.get(index as usize).and_then(Option::as_ref).ok_or(Inconsistent::Interface(index))
    }

    /// The file ends before what begins here is a whole block.
    fn end<R: Read>(&self, block: &mut Block<R>, book: &mut Book, known: bool) {
        if block.len() > 0 {
            if known || block.input().is_cut() {
                book.truncated(block.place());
            } else {
                book.garbage(block.place(), block.len() as u64);
            }
            block.pass(block.len());
        }
    }

    /// Whether up to seven octets may begin a block: its type is known as far
    /// as it is there.
    fn may_begin(&self, octets: &[u8]) -> bool {
        KNOWN.iter().any(|kind| {
            let kind = if self.big { kind.to_be_bytes() } else { kind.to_le_bytes() };
            octets.iter().zip(kind).all(|(octet, kind)| *octet == kind)
        })
    }

    /// Octets stand where a block was expected, but can't be delimited. If
    /// their type is known, or blocks or another file follow, then a block is
    /// damaged: an error, since what follows can't be read. Otherwise they are
    /// garbage.
    #[cold]
    fn no_block<R: Read>(
        &self,
        block: &mut Block<R>,
        book: &mut Book,
        known: bool,
        fault: Fault,
    ) -> Result<(), CaptureError> {
        if known {
            return Err(damaged(block, fault));
        }
        if let Some(what) = magic::file_begins(block.octets()) {
            return Err(damaged(block, Fault::AnotherFile(what)));
        }
        let place = block.place();
        let octets: Vec<u8> = block.octets().iter().take(8).copied().collect();
        if let Some(next) = self.find_block(block)? {
            let fault = Fault::NoRecord { next };
            return Err(CaptureError::Damaged { format: CaptureFormat::Pcapng, place, octets, fault });
        }
        if block.input().is_cut() {
            book.truncated(place);
        } else {
            book.garbage(place, block.offset() - place.offset);
        }
        Ok(())
    }

    /// Passes by octets until a block of a known type with equal lengths
    /// begins; its offset.
    fn find_block<R: Read>(&self, block: &mut Block<R>) -> Result<Option<u64>, CaptureError> {
        /// The blocks that are looked for fit in half of it, so that each octet
        /// is moved at most once more.
        const WINDOW: usize = 1 << 20;
        const REACH: usize = WINDOW / 2;
        loop {
            let more = block.fill(WINDOW)?;
            let octets = block.octets();
            let places = if more { octets.len() - REACH } else { octets.len() };
            if let Some(at) = (0..places).find(|at| self.is_block(octets.get(*at..).unwrap_or_default())) {
                return Ok(Some(block.offset() + at as u64));
            }
            block.pass(places);
            if !more {
                return Ok(None);
            }
        }
    }

    /// Whether a whole block of a known type begins here.
    fn is_block(&self, octets: &[u8]) -> bool {
        let Some(&[a, b, c, d, e, f, g, h]) = octets.first_chunk() else {
            return false;
        };
        if !KNOWN.contains(&self.word([a, b, c, d])) {
            return false;
        }
        let first = self.word([e, f, g, h]);
        first >= 12
            && first.is_multiple_of(4)
            && first as usize <= octets.len()
            && self.length_at(octets, first as usize) == first
    }
}

/// A packet block's fields.
struct Packet<'i> {
    units: Option<u64>,
    interface: &'i Interface,
    /// Octets of the body before the data.
    skip: usize,
    captured: usize,
    wire: u32,
}

/// What is wrong with a block that is whole.
enum Inconsistent {
    /// Its fixed fields don't fit.
    Short,
    /// No such interface.
    Interface(u32),
    /// More octets were captured than it has.
    Captured { captured: u32, room: usize },
}

impl std::fmt::Display for Inconsistent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("is too short for its fields"),
            Self::Interface(index) => {
                write!(f, "is of interface {index}, which has no usable description")
            }
            Self::Captured { captured, room } => {
                write!(f, "claims {captured} captured octets but has room for {room}")
            }
        }
    }
}

/// The type and length of the next block.
fn first_octets<R: Read>(block: &mut Block<R>) -> Result<Option<&[u8; 8]>, CaptureError> {
    if block.len() < 8 {
        block.fill_or_yield(8)?;
    }
    Ok(block.octets().first_chunk())
}

fn damaged<R: Read>(block: &Block<R>, fault: Fault) -> CaptureError {
    CaptureError::Damaged {
        format: CaptureFormat::Pcapng,
        place: block.place(),
        octets: block.octets().iter().take(8).copied().collect(),
        fault,
    }
}

fn saturated(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
