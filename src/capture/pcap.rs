//! pcap: a header, then records.
//!
//! pcap-parser reads the file header. Record headers are decoded here: its
//! frame parsers know neither the patched layouts nor files of version 2.3 and
//! older, and a record must be judged before its length is believed.

use std::io::Read;

use pcap_parser::parse_pcap_header;

use super::block::Block;
use super::error::{CaptureError, Fault};
use super::magic;
use super::{Book, CaptureFormat, LinkType, ProblemKind, Record};
use crate::limits::Limits;
use crate::units::Timestamp;

/// The captured octets of a packet that are believed whatever else its header
/// says: Wireshark's limit, and the largest snap length of tcpdump.
const USUAL_PACKET: u32 = 256 << 10;

/// The length of a file header.
pub(super) const HEADER: usize = 24;

/// The magic numbers, as they read in the file's own byte order.
mod magics {
    /// libpcap's, with microseconds.
    pub(super) const MICROS: u32 = 0xa1b2_c3d4;
    /// The same with nanoseconds.
    pub(super) const NANOS: u32 = 0xa1b2_3c4d;
    /// Alexey Kuznetzov's patched libpcap: longer record headers.
    pub(super) const MODIFIED: u32 = 0xa1b2_cd34;
    /// IXIA's lcap, hardware: four more octets of file header.
    pub(super) const IXIA_HARD: u32 = 0x1c00_01ac;
    /// IXIA's lcap, software.
    pub(super) const IXIA_SOFT: u32 = 0x1c00_01ab;
}

/// A file header's magic number and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Magic {
    number: u32,
    big: bool,
}

impl Magic {
    /// The magic number that these octets begin with.
    pub(super) fn of(octets: &[u8]) -> Option<Self> {
        let octets = *octets.first_chunk()?;
        [(u32::from_le_bytes(octets), false), (u32::from_be_bytes(octets), true)]
            .into_iter()
            .find(|(number, _)| {
                matches!(
                    *number,
                    magics::MICROS | magics::NANOS | magics::MODIFIED | magics::IXIA_HARD | magics::IXIA_SOFT
                )
            })
            .map(|(number, big)| Self { number, big })
    }

    /// The octets of the file header.
    pub(super) const fn header(self) -> usize {
        match self.number {
            magics::IXIA_HARD | magics::IXIA_SOFT => HEADER + 4,
            _ => HEADER,
        }
    }
}

/// What a file header says about the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    big: bool,
    /// Octets of a record header: 16, and more in patched layouts.
    record: usize,
    /// Decimals of a time: 6 or 9.
    decimals: u8,
    /// Files before version 2.4 give the two lengths in either order: the
    /// smaller one is what was captured.
    unordered: bool,
    link: LinkType,
}

/// The first 16 octets of a record header.
#[derive(Debug, Clone, Copy)]
struct Head {
    seconds: u32,
    fraction: u32,
    captured: u32,
    wire: u32,
}

impl Layout {
    #[inline]
    fn head(&self, octets: &[u8; 16]) -> Head {
        let &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = octets;
        let words = [[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]];
        // Whose order it is is asked once for all four.
        let [seconds, fraction, captured, wire] =
            if self.big { words.map(u32::from_be_bytes) } else { words.map(u32::from_le_bytes) };
        let (captured, wire) =
            if self.unordered && captured > wire { (wire, captured) } else { (captured, wire) };
        Head { seconds, fraction, captured, wire }
    }

    /// The fraction that is a whole second.
    const fn second(&self) -> u32 {
        if self.decimals == 9 { 1_000_000_000 } else { 1_000_000 }
    }

    /// Whether the header has no sign that it is none. The signs are Wireshark's
    /// without the snap length: many files have longer packets.
    const fn is_good(&self, head: Head) -> bool {
        head.fraction < self.second()
            && head.captured <= USUAL_PACKET
            && head.captured <= head.wire
            && head.wire <= 64 << 20
    }

    /// Whether the first two record headers of these octets are good in this
    /// layout, the third too if it is there.
    fn is_vouched_for(&self, octets: &[u8]) -> bool {
        let (mut rest, mut last) = (octets, None);
        for seen in 0..3 {
            let Some(head) = rest.first_chunk().filter(|_| rest.len() >= self.record) else {
                return seen == 2;
            };
            let head = self.head(head);
            let near = last.is_none_or(|last| is_near(last, head.seconds));
            if !self.is_good(head) || !near {
                return false;
            }
            last = Some(head.seconds);
            rest = rest.get(self.record + head.captured as usize..).unwrap_or_default();
        }
        true
    }

    #[inline]
    fn time(&self, head: Head) -> Timestamp {
        let (seconds, fraction) = (i64::from(head.seconds), u64::from(head.fraction));
        match self.decimals {
            6 => Timestamp::new(seconds, fraction, 6),
            _ => Timestamp::new(seconds, fraction, 9),
        }
    }
}

/// A pcap file whose header was read.
pub(super) struct Pcap {
    layout: Layout,
    /// Whether the layout of the records was settled.
    settled: bool,
    /// The seconds of the last packet.
    last: Option<u32>,
    limit: u32,
}

impl Pcap {
    /// Reads the file header, which is there whole.
    pub(super) fn open<R: Read>(
        block: &mut Block<R>,
        magic: Magic,
        limits: &Limits,
        book: &mut Book,
    ) -> Result<Self, CaptureError> {
        let layout = match read_header(block.octets(), magic) {
            Some(Ok(layout)) => layout,
            Some(Err((major, minor))) => {
                return Err(CaptureError::UnsupportedVersion {
                    format: CaptureFormat::Pcap,
                    major,
                    minor,
                    place: block.place(),
                });
            }
            None => {
                return Err(CaptureError::HeaderCut {
                    format: CaptureFormat::Pcap,
                    have: block.len() as u64,
                    need: magic.header() as u64,
                });
            }
        };
        block.pass(magic.header());
        book.declare(layout.link);
        let limit = u32::try_from(limits.capture_block).unwrap_or(u32::MAX);
        Ok(Self { layout, settled: false, last: None, limit })
    }

    /// Finds the next record; false at the end.
    #[inline(always)]
    pub(super) fn next<R: Read>(
        &mut self,
        block: &mut Block<R>,
        book: &mut Book,
        record: &mut Record,
    ) -> Result<bool, CaptureError> {
        loop {
            if self.take(block, book, record) {
                return Ok(true);
            }
            if !self.prepare(block, book)? {
                return Ok(false);
            }
        }
    }

    /// Takes the next record, if it is there whole and nothing is to be asked
    /// about it. If not, does nothing.
    #[inline(always)]
    fn take<R: Read>(&mut self, block: &mut Block<R>, book: &mut Book, record: &mut Record) -> bool {
        let octets = block.octets();
        let Some(head) = octets.first_chunk() else {
            return false;
        };
        let head = self.layout.head(head);
        if !self.settled || !self.is_believable(head) {
            return false;
        }
        let whole = self.layout.record + head.captured as usize;
        if octets.len() < whole {
            return false;
        }
        *record = Record {
            number: book.count(),
            at: Some(self.layout.time(head)),
            link: self.layout.link,
            start: block.start() + self.layout.record,
            length: head.captured as usize,
            // A few writers give less than they captured.
            wire: head.wire.max(head.captured),
        };
        block.pass(whole);
        self.last = Some(head.seconds);
        true
    }

    /// Does what [`Self::take`] lacks next: reads octets, settles the layout,
    /// goes on with another file. False where no record is to come.
    #[inline(never)]
    fn prepare<R: Read>(&mut self, block: &mut Block<R>, book: &mut Book) -> Result<bool, CaptureError> {
        let octets = block.octets();
        let length = self.layout.record;
        let whole = match octets.first_chunk() {
            Some(head) if octets.len() >= length => {
                if !self.settled {
                    self.settled = true;
                    self.settle(octets);
                    return Ok(true);
                }
                let head = self.layout.head(head);
                if !self.is_believable(head) {
                    return match self.next_file(block, book)? {
                        true => Ok(true),
                        false => self.no_record(block, head, book).map(|()| false),
                    };
                }
                length + head.captured as usize
            }
            _ => length,
        };
        let filled = block.fill_or_yield(whole)?;
        if !filled {
            self.end(block, book);
        }
        Ok(filled)
    }

    /// Whether the record's length is believed, and it isn't the beginning of
    /// zero octets or of another file's header.
    #[inline]
    fn is_believable(&self, head: Head) -> bool {
        let length =
            head.captured <= USUAL_PACKET || (head.captured <= head.wire && head.captured <= self.limit);
        let odd = head.seconds == 0 || head.seconds >> 16 == 0xa1b2 || head.seconds << 16 == 0xb2a1_0000;
        length && (!odd || self.is_packet(head))
    }

    /// The same for times that zero octets or another file's header give.
    #[cold]
    fn is_packet(&self, head: Head) -> bool {
        let zeros = (head.seconds | head.fraction | head.captured | head.wire) == 0;
        // A file header's third and fourth word are zero: time zone, accuracy.
        let header = Magic::of(&head.seconds.to_le_bytes()).is_some() && head.captured | head.wire == 0;
        !zeros && !header
    }

    /// Settles which layout the records have: the patched libpcaps that people
    /// used around 1999 share magic numbers with others, and only the fit tells
    /// them apart. Another layout must prove itself by a second header in its
    /// place, so that a damaged file of the usual one isn't taken for it. Judged
    /// by what has arrived.
    fn settle(&mut self, octets: &[u8]) {
        if self.layout.is_vouched_for(octets) {
            return;
        }
        // Nokia's and Kuznetzov's; Kuznetzov's with the processors.
        let others: &[usize] = if self.layout.record == 16 { &[20, 24] } else { &[28] };
        let other = others
            .iter()
            .map(|record| Layout { record: *record, ..self.layout })
            .find(|layout| layout.is_vouched_for(octets));
        if let Some(layout) = other {
            self.layout = layout;
        }
    }

    /// Goes on behind the header of a second file, if one stands here: people
    /// join files with `cat`. Wireshark takes the header for a packet and stops
    /// there; its packets are worth more than that.
    fn next_file<R: Read>(&mut self, block: &mut Block<R>, book: &mut Book) -> Result<bool, CaptureError> {
        let Some(magic) = Magic::of(block.octets()) else {
            return Ok(false);
        };
        if !block.fill(magic.header())? {
            return Ok(false);
        }
        let Some(Ok(layout)) = read_header(block.octets(), magic) else {
            return Ok(false);
        };
        let place = block.place();
        book.note(ProblemKind::CorruptBlock, None, place.offset, || {
            format!(
                "another pcap file begins at {place}: files were joined without `mergecap`; \
                 its packets are read on"
            )
        });
        block.pass(magic.header());
        book.declare(layout.link);
        self.layout = layout;
        self.settled = false;
        Ok(true)
    }

    /// The file ends before what begins here is a whole record.
    fn end<R: Read>(&self, block: &mut Block<R>, book: &mut Book) {
        let octets = block.octets();
        if octets.is_empty() {
            return;
        }
        if block.input().is_cut() || self.may_begin(octets) {
            book.truncated(block.place());
        } else {
            book.garbage(block.place(), octets.len() as u64);
        }
        block.pass(block.len());
    }

    /// Whether these last octets may be the beginning of a record that was cut:
    /// with a time near the last packet's, and fields that can be.
    fn may_begin(&self, octets: &[u8]) -> bool {
        if let Some(head) = octets.first_chunk().map(|head| self.layout.head(head))
            && head.captured > 0
            && self.layout.is_good(head)
        {
            return true;
        }
        let second = self.layout.second();
        let word = |at: usize| {
            let word = *octets.get(at..)?.first_chunk()?;
            Some(if self.layout.big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
        };
        match word(0) {
            Some(seconds) => {
                self.is_near(seconds)
                    && word(4).is_none_or(|fraction| fraction < second)
                    && word(8).is_none_or(|captured| captured <= self.limit)
            }
            None => self.may_begin_seconds(octets),
        }
    }

    /// Whether up to three octets may begin a number of seconds near the last
    /// packet's.
    fn may_begin_seconds(&self, octets: &[u8]) -> bool {
        let Some(last) = self.last else {
            return octets.iter().any(|octet| *octet != 0);
        };
        let (from, to) = near(last);
        let bits = 8 * octets.len();
        if self.layout.big {
            let value = octets.iter().fold(0u64, |value, octet| value << 8 | u64::from(*octet));
            (u64::from(from) >> (32 - bits)..=u64::from(to) >> (32 - bits)).contains(&value)
        } else {
            let value = octets.iter().rev().fold(0u64, |value, octet| value << 8 | u64::from(*octet));
            // The first number from `from` on whose low octets are these.
            let first = u64::from(from) + (value.wrapping_sub(u64::from(from)) & ((1 << bits) - 1));
            first <= u64::from(to)
        }
    }

    /// Whether a packet with this time may follow the last one.
    fn is_near(&self, seconds: u32) -> bool {
        match self.last {
            Some(last) => is_near(last, seconds),
            None => seconds != 0,
        }
    }

    /// Octets stand where a record was expected, but are none. If their time is
    /// a packet's, or packets or another file follow, then a record is damaged,
    /// and what follows can't be read: a problem, or an error where nothing was
    /// read before. Otherwise they are garbage.
    #[cold]
    fn no_record<R: Read>(
        &self,
        block: &mut Block<R>,
        head: Head,
        book: &mut Book,
    ) -> Result<(), CaptureError> {
        let place = block.place();
        let octets: Vec<u8> = block.octets().iter().take(16).copied().collect();
        let fault = if let Some(what) = magic::file_begins(&octets) {
            Fault::AnotherFile(what)
        } else if self.is_near(head.seconds) && head.fraction < self.layout.second() {
            Fault::RecordLength { captured: head.captured, wire: head.wire }
        } else if let Some(next) = self.find_record(block)? {
            Fault::NoRecord { next }
        } else if block.input().is_cut() {
            book.truncated(place);
            return Ok(());
        } else {
            book.garbage(place, block.offset() - place.offset);
            return Ok(());
        };
        let damage = CaptureError::Damaged { format: CaptureFormat::Pcap, place, octets, fault };
        if self.last.is_none() {
            return Err(damage);
        }
        book.corrupt(place, &damage);
        Ok(())
    }

    /// Passes by octets until two records follow each other, or one ends with
    /// the file; the offset of the first.
    fn find_record<R: Read>(&self, block: &mut Block<R>) -> Result<Option<u64>, CaptureError> {
        /// A record and the header behind it fit in half of it, so that each
        /// octet is moved at most once more.
        const WINDOW: usize = 1 << 20;
        let reach = self.layout.record + USUAL_PACKET as usize + self.layout.record;
        loop {
            let more = block.fill(WINDOW)?;
            let octets = block.octets();
            let places = if more { octets.len() - reach } else { octets.len() };
            for at in 0..places {
                if let Some(rest) = octets.get(at..)
                    && let Some(next) = self.good_record(rest)
                    && (next.is_empty() || self.good_record(next).is_some())
                {
                    return Ok(Some(block.offset() + at as u64));
                }
            }
            block.pass(places);
            if !more {
                return Ok(None);
            }
        }
    }

    /// What follows a record without any bad sign that these octets begin with.
    fn good_record<'o>(&self, octets: &'o [u8]) -> Option<&'o [u8]> {
        let head = self.layout.head(octets.first_chunk()?);
        let good = self.is_near(head.seconds) && head.captured > 0 && self.layout.is_good(head);
        good.then(|| octets.get(self.layout.record + head.captured as usize..)).flatten()
    }
}

/// Times within a week of the last packet's: what may come next. Only used to
/// name what is no whole record, never to drop one.
const fn near(last: u32) -> (u32, u32) {
    const WEEK: u32 = 7 * 86_400;
    (last.saturating_sub(WEEK), last.saturating_add(WEEK))
}

fn is_near(last: u32, seconds: u32) -> bool {
    let (from, to) = near(last);
    (from..=to).contains(&seconds)
}

/// What a file header says; the version where it isn't supported; `None` where
/// the header isn't there whole.
fn read_header(octets: &[u8], magic: Magic) -> Option<Result<Layout, (u16, u16)>> {
    let mut header: [u8; HEADER] = *octets.get(..magic.header())?.first_chunk()?;
    // pcap-parser knows the common magic number in both byte orders, but not
    // the big-endian modified one, nor IXIA's.
    let common = if magic.big { magics::MICROS.to_be_bytes() } else { magics::MICROS.to_le_bytes() };
    for (octet, common) in header.iter_mut().zip(common) {
        *octet = common;
    }
    let (_, header) = parse_pcap_header(&header).ok()?;
    let (major, minor) = (header.version_major, header.version_minor);
    if major < 2 {
        return Some(Err((major, minor)));
    }
    // The upper half tells of a frame check sequence.
    let [_, _, high, low] = header.network.0.to_be_bytes();
    let network = u16::from_be_bytes([high, low]);
    // AIX writes RFC 1573 interface types and nanoseconds, in version 2.2.
    let aix = match (major, minor, network) {
        (2, 2, 6) => Some(LinkType::ETHERNET),
        (2, 2, 9) => Some(LinkType::IEEE802_5),
        (2, 2, 15) => Some(LinkType::FDDI),
        (2, 2, 24) => Some(LinkType::NULL),
        _ => None,
    };
    let nanos = aix.is_some() || magic.number == magics::NANOS;
    Some(Ok(Layout {
        big: magic.big,
        record: if magic.number == magics::MODIFIED { 24 } else { 16 },
        decimals: if nanos { 9 } else { 6 },
        // Version 2.3 reversed their order, DG/UX (543.0) too; some writers did
        // and some did not.
        unordered: (major == 2 && minor <= 3) || major == 543,
        link: aix.unwrap_or_else(|| LinkType::declared(network)),
    }))
}
