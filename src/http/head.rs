//! Heads: start line and fields up to the empty line, collected over any
//! pieces (RFC 9112 §2.1), and what they say.
//!
//! Each octet is looked at once while the head grows; it is parsed when its
//! empty line is there, or when it is clear that it never comes.

use std::borrow::Cow;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::start_line::{LineStep, StartLine};
use super::{Fields, RequestHead, ResponseHead, Side};
use crate::chunk::{Lenience, fields, piece as pieces};
use crate::tcp::Piece;
use crate::units::Stamp;

/// Room made for a head at once: what a head mostly has.
const USUAL: usize = 512;

/// A head while it comes.
#[derive(Debug, Clone)]
pub(super) struct Head {
    octets: Vec<u8>,
    /// Which packets delivered them: where each part begins in `octets`.
    parts: SmallVec<[Part; 1]>,
    start_line: StartLine,
    /// Whose head it is, once the start line is whole.
    side: Option<Side>,
    /// Where the current line begins; no line before it is empty.
    line: usize,
    /// The first line that ends in a bare LF.
    bare_lf: Option<usize>,
    /// The packet of blank lines before it.
    blank: Option<Stamp>,
}

#[derive(Debug, Clone)]
struct Part {
    start: usize,
    at: u64,
    stamp: Stamp,
    released: Stamp,
    segment_start: bool,
}

/// Where a head leaves the grammar, and the packet that does.
pub(super) type Remarks = SmallVec<[(Lenience, Stamp); 1]>;

/// What a piece makes of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadStep {
    /// The piece is used up; the head goes on.
    More,
    /// The start line is whole.
    StartLine(Side),
    /// The head is whole.
    Whole,
    /// No head begins so. Nothing of this piece was taken.
    Unlike,
    /// It is longer than a head may be; what is left of the piece lies behind.
    TooLong,
}

/// What a head says, and where it leaves the grammar.
#[derive(Debug)]
pub(super) struct Said<T> {
    pub(super) head: T,
    pub(super) remarks: Remarks,
}

impl<T> Said<T> {
    /// A head of which nothing is to be remarked.
    pub(super) fn plain(head: T) -> Self {
        Self { head, remarks: Remarks::new() }
    }
}

/// Where a head lies in its stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The packets of its first octet and of its last one.
    pub(super) first: Stamp,
    pub(super) last: Stamp,
    /// The offset behind its last octet.
    pub(super) end: u64,
}

impl Head {
    /// A head of which nothing was read; `side` is whose it must be, `blank`
    /// the packet of blank lines before it.
    pub(super) fn new(side: Option<Side>, blank: Option<Stamp>) -> Self {
        Self {
            octets: Vec::new(),
            parts: SmallVec::new(),
            start_line: StartLine::new(side),
            side: None,
            line: 0,
            bare_lf: None,
            blank,
        }
    }

    /// Takes octets off the front of a piece, up to the next thing to tell.
    pub(super) fn push(&mut self, piece: &mut Piece<'_>, limit: usize) -> HeadStep {
        if self.side.is_none() {
            return self.push_start_line(piece, limit);
        }
        let room = self.room(limit);
        if room == 0 && !piece.bytes.is_empty() {
            return HeadStep::TooLong;
        }
        let octets = piece.bytes.get(..room).unwrap_or(&piece.bytes);
        let before = self.octets.len();
        for end in memchr::memchr_iter(b'\n', octets) {
            let behind = end + 1;
            let before_lf = end.checked_sub(1).map_or(self.octets.last(), |at| octets.get(at));
            let length = before + behind - self.line;
            let by_crlf = length > 1 && before_lf == Some(&b'\r');
            let last = length == 1 + usize::from(by_crlf);
            if !by_crlf {
                self.bare_lf.get_or_insert(self.line);
            }
            self.line = before + behind;
            if last {
                self.take(piece, behind);
                return HeadStep::Whole;
            }
        }
        self.take(piece, room);
        if piece.bytes.is_empty() { HeadStep::More } else { HeadStep::TooLong }
    }

    fn push_start_line(&mut self, piece: &mut Piece<'_>, limit: usize) -> HeadStep {
        let room = self.room(limit);
        if room == 0 {
            return HeadStep::TooLong;
        }
        let octets = piece.bytes.get(..room).unwrap_or(&piece.bytes);
        if self.octets.is_empty()
            && let Some((side, count)) = self.start_line.plain(octets)
        {
            self.take(piece, count);
            self.end_line();
            self.side = Some(side);
            return HeadStep::StartLine(side);
        }
        let mut count = 0;
        while let Some((&octet, rest)) = octets.get(count..).and_then(<[u8]>::split_first) {
            count += 1;
            match self.start_line.push(octet) {
                LineStep::More => count += self.start_line.indifferent(rest),
                LineStep::Not => return HeadStep::Unlike,
                LineStep::Done(side) => {
                    self.take(piece, count);
                    self.end_line();
                    self.side = Some(side);
                    return HeadStep::StartLine(side);
                }
            }
        }
        self.take(piece, room);
        if piece.bytes.is_empty() { HeadStep::More } else { HeadStep::TooLong }
    }

    /// How many octets it may still have.
    fn room(&self, limit: usize) -> usize {
        limit.saturating_sub(self.octets.len())
    }

    /// Takes the first `count` octets (all, if there are fewer) off a piece,
    /// whatever they are.
    pub(super) fn take(&mut self, piece: &mut Piece<'_>, count: usize) {
        let octets = piece.bytes.get(..count).unwrap_or(&piece.bytes);
        if octets.is_empty() {
            return;
        }
        let other = |part: &Part| part.stamp != piece.stamp || part.released != piece.released;
        if piece.segment_start || self.parts.last().is_none_or(other) {
            let Piece { at, stamp, released, segment_start, .. } = *piece;
            self.parts.push(Part { start: self.octets.len(), at, stamp, released, segment_start });
            // Mostly the whole head is in it.
            self.octets.reserve(piece.bytes.len().min(USUAL));
        }
        self.octets.extend_from_slice(octets);
        pieces::skip(piece, count);
    }

    /// The octets end in a line end: whether the line is empty.
    fn end_line(&mut self) -> bool {
        let line = self.octets.get(self.line..).unwrap_or_default();
        if !line.ends_with(b"\r\n") {
            self.bare_lf.get_or_insert(self.line);
        }
        let empty = fields::without_end(line).is_empty();
        self.line = self.octets.len();
        empty
    }

    /// Its octets so far.
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Its octets so far, in the pieces that they came in.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        self.parts.iter().enumerate().map(|(place, part)| {
            let end = self.parts.get(place + 1).map_or(self.octets.len(), |next| next.start);
            Piece {
                at: part.at,
                bytes: self.octets.get(part.start..end).unwrap_or_default().into(),
                stamp: part.stamp,
                released: part.released,
                segment_start: part.segment_start,
            }
        })
    }

    /// Whose head it is, once the start line is whole.
    pub(super) fn side(&self) -> Option<Side> {
        self.side
    }

    /// The offset of its first octet.
    pub(super) fn at(&self) -> Option<u64> {
        self.parts.first().map(|part| part.at)
    }

    /// The packet of its first octet.
    pub(super) fn first(&self) -> Option<Stamp> {
        self.parts.first().map(|part| part.stamp)
    }

    /// Where its octets so far lie.
    pub(super) fn place(&self) -> Option<Place> {
        let (first, last) = (self.parts.first()?, self.parts.last()?);
        let end = last.at.saturating_add(self.octets.len().saturating_sub(last.start) as u64);
        Some(Place { first: first.stamp, last: last.stamp, end })
    }

    fn stamp_of(&self, offset: usize) -> Option<Stamp> {
        self.parts.iter().rev().find(|part| part.start <= offset).map(|part| part.stamp)
    }

    /// What its whole lines say of a request.
    pub(super) fn request(&self) -> Said<RequestHead> {
        let (line, fields, mut remarks) = self.lines();
        let mut head = match self.side {
            Some(_) => request(&line, fields),
            None => RequestHead::default(),
        };
        head.stamp = self.first();
        if head.target.as_ref().is_some_and(|target| target.contains(' ')) {
            remarks.extend(self.first().map(|stamp| (Lenience::SpaceInTarget, stamp)));
        }
        Said { head, remarks }
    }

    /// What its whole lines say of a response.
    pub(super) fn response(&self) -> Said<ResponseHead> {
        let (line, fields, remarks) = self.lines();
        let mut head = match self.side {
            Some(_) => response(&line, fields),
            None => ResponseHead::default(),
        };
        head.stamp = self.first();
        Said { head, remarks }
    }

    /// The start line without its end, the fields, and what is to be said.
    fn lines(&self) -> (Cow<'_, str>, Option<Fields>, Remarks) {
        let whole = self.octets.get(..self.line).unwrap_or_default();
        let start = memchr::memchr(b'\n', whole).map_or(0, |end| end + 1);
        let (line, rest) = whole.split_at_checked(start).unwrap_or((whole, &[]));
        let line = fields::without_end(line);
        let line = text(line);
        let read = fields::parse(rest);
        let blank = self.blank.map(|stamp| (Lenience::BlankLineBeforeStart, stamp));
        let bare_lf = self.bare_lf.and_then(|line| Some((Lenience::BareLfInHead, self.stamp_of(line)?)));
        let others = read
            .remarks
            .iter()
            .filter_map(|(lenience, line)| Some((*lenience, self.stamp_of(start + line)?)));
        (line, Some(read.fields), blank.into_iter().chain(bare_lf).chain(others).collect())
    }
}

/// A start line as text; octets that aren't UTF-8 as U+FFFD.
pub(super) fn text(line: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed)
}

/// The request whose start line, without its end, is `line`.
pub(super) fn request(line: &str, fields: Option<Fields>) -> RequestHead {
    // One is read for each exchange: `str::split_once` takes longer.
    let first = memchr::memchr(b' ', line.as_bytes()).unwrap_or(line.len());
    let (method, rest) = line.split_at_checked(first).unwrap_or((line, ""));
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    let last = memchr::memrchr(b' ', rest.as_bytes()).unwrap_or(rest.len());
    let (target, version) = rest.split_at_checked(last).unwrap_or((rest, ""));
    let version = version.strip_prefix(' ').unwrap_or(version);
    let [method, target, version] = [method, target, version].map(|word| Some(SmolStr::new(word)));
    RequestHead { method, target, version, fields, ..RequestHead::default() }
}

/// The response whose start line, without its end, is `line`.
pub(super) fn response(line: &str, fields: Option<Fields>) -> ResponseHead {
    let mut words = line.splitn(3, ' ');
    let version = words.next().map(SmolStr::new);
    let status = words.next().and_then(|status| status.parse().ok());
    let reason = Some(words.next().unwrap_or_default().trim_end().into());
    ResponseHead { status, reason, version, fields, ..ResponseHead::default() }
}
