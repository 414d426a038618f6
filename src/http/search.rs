//! Where to join a stream that nobody can read yet: seen without its
//! beginning, or behind octets that were lost or invalid.
//!
//! A place to join at is where a segment begins with
//!
//! - a chunk-size line, its size above 0, whose payload is followed by CRLF,
//!   and by another size line (the last chunk's will do) if the capture has
//!   one; or
//! - a status line or a request line.
//!
//! Every such segment start is a candidate, read side by side with the others;
//! the first one confirmed wins, of several the earliest. What the earliest
//! candidate has read is held back, so that the octets can be read from there
//! on. Nothing is guessed beyond that rule.
//!
//! The work is linear: payloads are jumped over, and only few candidates are
//! read octet by octet at a time.

use std::collections::BTreeMap;

use super::held::Held;
use super::start_line::{LineStep, Preface, StartLine};
use super::{Protocol, Side};
use crate::chunk::piece as pieces;
use crate::chunk::size_line::{SizeLine, SizeStep};
use crate::tcp::{Gap, Piece};

/// Candidates that are read octet by octet at a time. Segments of one octet
/// make each digit of a size line one, a long extension more.
const READING: usize = 64;

/// Candidates whose payload goes on: places that look like a size line by
/// chance, whose size is the window's at most.
const WAITING: usize = 256;

/// Octets of a held part at the least, on average: bounds what the parts'
/// provenance takes.
const PART: usize = 32;

/// Looks for a place to join one direction of a stream.
#[derive(Debug)]
pub(super) struct Search {
    /// Whose messages the direction has, if that is known.
    side: Option<Side>,
    /// Behind the last octet that was read; the first known of, where none was.
    base: Option<u64>,
    /// Behind the last octet that was looked at.
    next: u64,
    /// Candidates that are at their first line.
    readers: Vec<Reader>,
    /// Candidates within their payload: where it ends, and where they began.
    waiting: BTreeMap<u64, u64>,
    /// Candidates behind their payload.
    closers: Vec<Closer>,
    /// From the earliest candidate on.
    held: Held,
    window: usize,
    size_line_limit: usize,
}

#[derive(Debug)]
struct Reader {
    at: u64,
    size: Option<SizeLine>,
    start: Option<StartLine>,
    preface: Option<Preface>,
}

#[derive(Debug)]
struct Closer {
    at: u64,
    state: Behind,
}

#[derive(Debug)]
enum Behind {
    /// The payload: CR is due.
    Payload,
    /// Its CR: LF is due.
    Cr,
    /// Its CRLF: a size line is due.
    CrLf(SizeLine),
}

/// A place to join at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Join {
    pub(super) at: u64,
    pub(super) found: Found,
}

/// What begins there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Chunk,
    StartLine(Side),
    /// The stream isn't HTTP/1.
    Foreign(Protocol),
}

impl Search {
    /// A search from `base` on (where that isn't known, from the first octet
    /// that comes), in a direction of that side's messages.
    pub(super) fn new(side: Option<Side>, base: Option<u64>, window: usize, size_line_limit: usize) -> Self {
        Self {
            side,
            base,
            next: base.unwrap_or(0),
            readers: Vec::new(),
            waiting: BTreeMap::new(),
            closers: Vec::new(),
            held: Held::default(),
            window,
            size_line_limit,
        }
    }

    /// The direction's side became known.
    pub(super) fn know_side(&mut self, side: Side) {
        self.side = Some(side);
        for reader in &mut self.readers {
            reader.preface = None;
        }
    }

    /// Octets between the last one read and a place.
    pub(super) fn skipped(&self, at: u64) -> u64 {
        at.saturating_sub(self.base.unwrap_or(at))
    }

    /// Octets since the last one read that are no candidate's.
    pub(super) fn passed_over(&self) -> u64 {
        self.skipped(self.earliest().unwrap_or(self.next))
    }

    /// Takes octets off the front of a piece, up to those that confirm a place.
    pub(super) fn read(&mut self, piece: &mut Piece<'_>) -> Option<Join> {
        self.base.get_or_insert(piece.at);
        if self.held.begins_part(piece) {
            self.make_room();
        }
        if piece.segment_start {
            self.consider(piece);
        }
        let (mut count, mut found) = (0, None);
        while let Some(&octet) = piece.bytes.get(count) {
            let at = piece.at.saturating_add(count as u64);
            if let Some((&end, _)) = self.waiting.first_key_value()
                && end <= at
                && let Some((end, began)) = self.waiting.pop_first()
                && end == at
                && self.reading() < READING
            {
                self.closers.push(Closer { at: began, state: Behind::Payload });
            }
            if self.readers.is_empty() && self.closers.is_empty() {
                let wake = self.waiting.first_key_value().map_or(u64::MAX, |(end, _)| *end);
                let ahead = usize::try_from(wake.saturating_sub(at)).unwrap_or(usize::MAX).max(1);
                count = count.saturating_add(ahead).min(piece.bytes.len());
                continue;
            }
            count += 1;
            found = self.step(at, octet);
            if found.is_some() {
                break;
            }
        }
        if found.is_some() || self.earliest().is_some() {
            self.held.push(piece, count);
            if found.is_none() {
                self.release();
            }
        } else if self.held.parts() > 0 {
            self.held.clear();
        }
        pieces::skip(piece, count);
        self.next = piece.at;
        found
    }

    /// Takes note that octets were lost. A candidate behind whose CRLF they
    /// lie is confirmed, and the gap is to be read from there on.
    pub(super) fn gap(&mut self, gap: &Gap) -> Option<Join> {
        self.base.get_or_insert(gap.at);
        let confirmed = self.finish();
        if confirmed.is_some() {
            return confirmed;
        }
        self.readers.clear();
        self.closers.clear();
        let end = gap.at.saturating_add(gap.len);
        self.next = end;
        self.waiting.retain(|closing, _| !(gap.at..end).contains(closing));
        if self.waiting.is_empty() {
            self.held.clear();
        } else {
            self.make_room();
            self.held.push_gap(*gap);
            self.release();
        }
        None
    }

    /// Nothing more comes: the earliest candidate whose payload is followed by
    /// CRLF, and by nothing that contradicts.
    pub(super) fn finish(&self) -> Option<Join> {
        let confirmed = self.closers.iter().filter(|closer| matches!(closer.state, Behind::CrLf(_)));
        let at = confirmed.map(|closer| closer.at).min()?;
        Some(Join { at, found: Found::Chunk })
    }

    /// What is held from a place on.
    pub(super) fn into_held(mut self, at: u64) -> Held {
        self.held.release(at);
        self.held
    }

    /// A segment begins: a candidate, if it begins like one.
    fn consider(&mut self, piece: &Piece<'_>) {
        let Some(first) = piece.bytes.first() else {
            return;
        };
        if self.reading() >= READING {
            return;
        }
        let size = first.is_ascii_hexdigit().then(|| SizeLine::new(self.size_line_limit));
        let mut start = StartLine::new(self.side);
        let start = (start.push(*first) == LineStep::More).then(|| StartLine::new(self.side));
        let unknown = self.side.is_none() && Preface::default().push(*first).is_ok();
        let preface = unknown.then(Preface::default);
        if size.is_some() || start.is_some() || preface.is_some() {
            self.readers.push(Reader { at: piece.at, size, start, preface });
        }
    }

    /// Every candidate that is read takes the octet at an offset. Those that
    /// began too far before it are let go.
    fn step(&mut self, at: u64, octet: u8) -> Option<Join> {
        let mut join: Option<Join> = None;
        let far = at.saturating_sub(self.window as u64);
        self.closers.retain(|closer| closer.at >= far);
        self.readers.retain(|reader| reader.at >= far);
        let mut confirm = |at, found| {
            if join.is_none_or(|other| at < other.at) {
                join = Some(Join { at, found });
            }
        };
        let limit = self.size_line_limit;
        self.closers.retain_mut(|closer| match (&mut closer.state, octet) {
            (Behind::Payload, b'\r') => {
                closer.state = Behind::Cr;
                true
            }
            (Behind::Cr, b'\n') => {
                closer.state = Behind::CrLf(SizeLine::new(limit));
                true
            }
            (Behind::Payload | Behind::Cr, _) => false,
            (Behind::CrLf(line), _) => match line.push(octet) {
                SizeStep::More => true,
                SizeStep::Fault(_) => false,
                SizeStep::Done { .. } => {
                    confirm(closer.at, Found::Chunk);
                    false
                }
            },
        });
        let (window, waiting) = (self.window as u64, &mut self.waiting);
        self.readers.retain_mut(|reader| {
            if let Some(line) = &mut reader.size {
                match line.push(octet) {
                    SizeStep::More => {}
                    SizeStep::Fault(_) => reader.size = None,
                    SizeStep::Done { size, .. } => {
                        reader.size = None;
                        let end = at.saturating_add(1).saturating_add(size);
                        let fits = end.saturating_sub(reader.at).saturating_add(2) <= window;
                        if size > 0 && fits && waiting.len() < WAITING {
                            waiting.entry(end).or_insert(reader.at);
                        }
                    }
                }
            }
            if let Some(line) = &mut reader.start {
                match line.push(octet) {
                    LineStep::More => {}
                    LineStep::Not => reader.start = None,
                    LineStep::Done(side) => {
                        reader.start = None;
                        confirm(reader.at, Found::StartLine(side));
                    }
                }
            }
            if let Some(preface) = &mut reader.preface {
                match preface.push(octet) {
                    Ok(None) => {}
                    Ok(Some(protocol)) => {
                        reader.preface = None;
                        confirm(reader.at, Found::Foreign(protocol));
                    }
                    Err(()) => reader.preface = None,
                }
            }
            reader.size.is_some() || reader.start.is_some() || reader.preface.is_some()
        });
        join
    }

    fn reading(&self) -> usize {
        self.readers.len() + self.closers.len()
    }

    /// Where the earliest candidate began.
    fn earliest(&self) -> Option<u64> {
        let readers = self.readers.iter().map(|reader| reader.at);
        let closers = self.closers.iter().map(|closer| closer.at);
        readers.chain(closers).chain(self.waiting.values().copied()).min()
    }

    /// Lets go what no candidate needs.
    fn release(&mut self) {
        match self.earliest() {
            Some(earliest) => self.held.release(earliest),
            None => self.held.clear(),
        }
    }

    /// Lets the earliest candidates go until another part can be held.
    fn make_room(&mut self) {
        while self.held.parts() >= (self.window / PART).max(2) {
            let Some(earliest) = self.earliest() else { break };
            self.readers.retain(|reader| reader.at != earliest);
            self.closers.retain(|closer| closer.at != earliest);
            self.waiting.retain(|_, at| *at != earliest);
            self.release();
        }
    }
}
