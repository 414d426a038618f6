//! Event streams (WHATWG HTML, "Server-sent events", 9.2.5 and 9.2.6): the
//! kind `sse`.
//!
//! Lines end with CRLF, LF or CR. A block of lines ends with an empty line; it
//! is an event if one of its fields is `data`, else it is passed over like a
//! comment. A block spans from its first line, comments too, to the first
//! octet of the line end of the empty line: the LF of a final CRLF can't be
//! waited for, since a server that writes the CR has ended the event. That LF
//! belongs to nothing.
//!
//! Octets that aren't UTF-8 are read as U+FFFD, so no stream has a fault.
//! Behind lost octets, where a line may be the rest of another, an event begins
//! where octets begin as servers begin events: with a comment or a field of a
//! name that counts; else behind the first empty line. Of lines of any length
//! only what is shown is kept.

use smol_str::SmolStr;

use memchr::{memchr, memchr2};

use super::kept::{Head, Literal};
use super::{EventItem, OpenItem, Summary, advance, swallow};

/// The byte order mark that may precede the stream.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The framer of event streams.
#[derive(Debug)]
pub(super) struct EventStream {
    /// How much of the byte order mark came; all of it where none can come.
    mark: usize,
    /// The octet read last is a CR that ended a line: an LF belongs to it.
    after_cr: bool,
    /// Nobody knows what stands before the block that comes: octets were lost.
    amid: Option<Amid>,
    line: Line,
    block: Option<Block>,
    /// The first octets of a field's name.
    name: Vec<u8>,
    /// The value of an `event` or `id` field.
    value: Literal,
    /// Whether that holds a NUL.
    nul: bool,
    event: Literal,
    id: Literal,
    data: Head,
}

/// What is known behind lost octets.
#[derive(Debug, Clone, Copy)]
struct Amid {
    start: u64,
    /// No line has ended since: the one at hand may be the rest of a line.
    in_line: bool,
}

/// Lines of which the empty one that ends them hasn't come.
#[derive(Debug, Clone, Copy)]
struct Block {
    start: u64,
    /// Whether a field is among the lines.
    field: bool,
    /// Whether `data` is.
    data: bool,
    /// Whether an `id` that counts is.
    id: bool,
}

impl Block {
    const fn at(start: u64) -> Self {
        Self { start, field: false, data: false, id: false }
    }
}

/// Where in a line the octets that were read end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// At its beginning.
    Start,
    /// In a comment.
    Comment,
    /// In a field's name.
    Name,
    /// Right behind a field's colon, where a space is dropped.
    Colon(Field),
    /// In a field's value.
    Value(Field),
}

/// The fields that count. `retry` sets a client's delay: nothing to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Event,
    Data,
    Id,
    Other,
}

/// The longest name of a field that counts.
const LONGEST: usize = 5;

impl EventStream {
    pub(super) fn new() -> Self {
        Self {
            mark: 0,
            after_cr: false,
            amid: None,
            line: Line::Start,
            block: None,
            name: Vec::new(),
            value: Literal::default(),
            nul: false,
            event: Literal::default(),
            id: Literal::default(),
            data: Head::default(),
        }
    }

    pub(super) fn read(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        self.byte_order_mark(octets, offset);
        loop {
            let &first = octets.first()?;
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                self.line_ended();
                advance(octets, offset, 1);
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', octets) else {
                self.part(octets, *offset);
                swallow(octets, offset);
                return None;
            };
            let (part, behind) = octets.split_at_checked(end).unwrap_or((octets, &[]));
            self.part(part, *offset);
            self.after_cr = behind.first() == Some(&b'\r');
            advance(octets, offset, end.saturating_add(1));
            let ended = self.end_of_line(*offset);
            if ended.is_some() {
                return ended;
            }
        }
    }

    pub(super) fn open(&self) -> Option<OpenItem> {
        if let Some(Amid { start, .. }) = self.amid {
            let end = u64::MAX;
            return Some(OpenItem { start, recognised: false, filler_only: false, end, undecided: true });
        }
        let Some(block) = self.block else {
            // What may be a byte order mark may be a line's first octets too.
            let in_mark = (1..MARK.len()).contains(&self.mark);
            let mark =
                OpenItem { start: 0, recognised: false, filler_only: true, end: u64::MAX, undecided: true };
            return in_mark.then_some(mark);
        };
        Some(OpenItem {
            start: block.start,
            recognised: block.data,
            filler_only: !block.field,
            end: u64::MAX,
            undecided: !block.data,
        })
    }

    pub(super) fn resume(&mut self, offset: u64) {
        *self = Self::new();
        // It may end a CRLF.
        self.after_cr = true;
        // Only the stream's own beginning has a byte order mark.
        if offset > 0 {
            self.mark = MARK.len();
        }
    }

    pub(super) fn resume_amid(&mut self, offset: u64) {
        self.resume(offset);
        self.mark = MARK.len();
        self.amid = Some(Amid { start: offset, in_line: true });
    }

    /// Passes over the byte order mark that may precede the stream.
    fn byte_order_mark(&mut self, octets: &mut &[u8], offset: &mut u64) {
        let came = self.mark;
        let Some(missing) = MARK.get(came..).filter(|missing| !missing.is_empty()) else {
            return;
        };
        let same = missing.iter().zip(*octets).take_while(|(wanted, octet)| wanted == octet).count();
        self.mark = came + same;
        let whole = same == missing.len();
        if octets.len() > same && !whole {
            // It isn't one: what came of it belongs to the first line.
            self.mark = MARK.len();
            self.part(MARK.get(..came).unwrap_or_default(), offset.saturating_sub(came as u64));
            return;
        }
        advance(octets, offset, same);
    }

    /// Reads octets of a line.
    fn part(&mut self, part: &[u8], offset: u64) {
        let mut rest = part;
        while let Some((&octet, behind)) = rest.split_first() {
            match self.line {
                Line::Start => {
                    let comment = octet == b':';
                    if comment {
                        self.begins();
                    }
                    let block = self.block.get_or_insert(Block::at(offset));
                    block.field |= !comment;
                    self.name.clear();
                    self.line = if comment { Line::Comment } else { Line::Name };
                }
                Line::Name => {
                    let colon = memchr(b':', rest);
                    let (name, behind) =
                        rest.split_at_checked(colon.unwrap_or(rest.len())).unwrap_or((rest, &[]));
                    let room = (LONGEST + 1).saturating_sub(self.name.len());
                    self.name.extend(name.iter().take(room));
                    rest = behind.get(1..).unwrap_or_default();
                    if colon.is_some() {
                        self.line = Line::Colon(self.begin_field());
                    }
                }
                Line::Colon(field) => {
                    if octet == b' ' {
                        rest = behind;
                    }
                    self.line = Line::Value(field);
                }
                Line::Value(field) => {
                    match field {
                        Field::Data => self.data.push(rest),
                        Field::Event => self.value.push(rest),
                        Field::Id => {
                            self.nul |= memchr(0, rest).is_some();
                            self.value.push(rest);
                        }
                        Field::Other => {}
                    }
                    return;
                }
                Line::Comment => return,
            }
        }
    }

    /// The line at hand is one that an event may begin with: so it does, if it
    /// is the first behind lost octets.
    fn begins(&mut self) {
        self.amid.take_if(|amid| amid.in_line);
    }

    /// What follows is no longer in the line that lost octets may have begun.
    fn line_ended(&mut self) {
        if let Some(amid) = &mut self.amid {
            amid.in_line = false;
        }
    }

    /// The field whose name is whole.
    fn begin_field(&mut self) -> Field {
        self.value.clear();
        self.nul = false;
        if matches!(self.name.as_slice(), b"event" | b"data" | b"id" | b"retry") {
            self.begins();
        }
        match self.name.as_slice() {
            b"event" => Field::Event,
            b"id" => Field::Id,
            b"data" => {
                if let Some(block) = &mut self.block
                    && std::mem::replace(&mut block.data, true)
                {
                    self.data.push(b"\n");
                }
                Field::Data
            }
            _ => Field::Other,
        }
    }

    /// A line ends, and its line end (the CR, of a CRLF) before offset `end`.
    fn end_of_line(&mut self, end: u64) -> Option<EventItem> {
        let in_line = self.amid.is_some_and(|amid| amid.in_line);
        let field = match std::mem::replace(&mut self.line, Line::Start) {
            Line::Start if in_line => {
                self.line_ended();
                return None;
            }
            Line::Start => return Some(self.end_of_block(end)),
            Line::Comment => return None,
            // A line without a colon is a field with an empty value.
            Line::Name => self.begin_field(),
            Line::Colon(field) | Line::Value(field) => field,
        };
        self.line_ended();
        match field {
            Field::Event => std::mem::swap(&mut self.event, &mut self.value),
            // An id with a NUL is ignored.
            Field::Id if !self.nul => {
                std::mem::swap(&mut self.id, &mut self.value);
                if let Some(block) = &mut self.block {
                    block.id = true;
                }
            }
            Field::Id | Field::Data | Field::Other => {}
        }
        None
    }

    /// An empty line ends.
    fn end_of_block(&mut self, end: u64) -> EventItem {
        let block = self.block.take().unwrap_or(Block::at(end.saturating_sub(1)));
        let span = block.start..end;
        let item = if let Some(amid) = self.amid.take() {
            EventItem::Rest { span: amid.start..end }
        } else if block.data {
            let event_type = match self.event.whole() {
                Some(b"") => Some(SmolStr::new_static("message")),
                name => name.map(text),
            };
            let summary = Summary {
                event_type,
                id: self.id.whole().filter(|_| block.id).map(text),
                data: Some(self.data.characters().into()),
                ..Summary::default()
            };
            EventItem::Event { span, summary: summary.into() }
        } else {
            EventItem::Filler { span }
        };
        self.event.clear();
        self.data.clear();
        item
    }
}

/// Octets of a stream as text.
fn text(octets: &[u8]) -> SmolStr {
    String::from_utf8_lossy(octets).into()
}
