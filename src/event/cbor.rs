//! Kubernetes watches in CBOR, `application/cbor-seq`: the kind
//! [`Kind::WatchCbor`](super::Kind::WatchCbor).
//!
//! An event is a data item of a CBOR sequence (RFC 8742): a map with `type` and
//! `object`, behind the tag 55799 that says "this is CBOR" (RFC 8949 §3.4.6) or
//! not. Nothing stands between items. Kubernetes writes names and texts as byte
//! strings; text strings are as good.
//!
//! The recogniser takes what is well-formed by RFC 8949 §5.3.1, to a depth
//! that no client reads, and its texts must be UTF-8. Of a member given twice
//! the last counts; one of another shape is unknown, not wrong.

use std::ops::Range;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::kept::Literal;
use super::watch::TYPES;
use super::{EventItem, MaybeSummary, OpenItem, Summary, advance, fault, swallow};
use crate::limits;
use crate::utf8::Utf8;

/// The octet that ends what has no length.
const BREAK: u8 = 0xff;

/// The framer of a CBOR sequence.
#[derive(Debug)]
pub(super) struct Sequence {
    place: Place,
    state: State,
    /// The containers that the next octet is in, outermost first.
    levels: SmallVec<[Level; 8]>,
    /// A tag came, whose content is due.
    tagged: bool,
    /// The item's first octet (behind tags), where a value is named.
    item: u64,
    literal: Literal,
    /// Whether the string at hand is kept.
    told: bool,
    utf8: Utf8,
    event: Event,
    summarises: bool,
}

/// Where the octets that were read end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Between,
    Inside { start: u64 },
    Faulted,
}

/// What the next octet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first of an item.
    Head,
    /// Of an item's argument, `left` octets of it missing.
    Argument { major: u8, left: u8, value: u64, simple: bool },
    /// Of a string's content.
    Content { text: bool, left: u64 },
}

/// Something that holds items.
#[derive(Debug, Clone, Copy)]
struct Level {
    holds: Holds,
    /// Items still to come; `None` where a break ends them.
    left: Option<u64>,
    role: Role,
    /// Of a map: the next item is a name.
    name: bool,
    /// Of a map with a role: whose value is due.
    member: Member,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Elements,
    Members,
    /// Pieces of a string without a length.
    Pieces {
        text: bool,
    },
}

/// The maps whose members are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Event,
    Object,
    Metadata,
    Other,
}

/// The members that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Member {
    Type,
    Object,
    ApiVersion,
    Kind,
    Metadata,
    Name,
    Namespace,
    ResourceVersion,
    Other,
}

/// What kind of item, with its article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Map,
    Array,
    String,
    Number,
    Simple,
}

impl Shape {
    const fn name(self) -> &'static str {
        match self {
            Self::Map => "a map",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Simple => "a simple value",
        }
    }
}

/// What is known of a member that makes an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Found<T> {
    #[default]
    Missing,
    Right(T),
    /// It is something else: where, and what.
    Other {
        at: u64,
        found: String,
    },
}

/// What is gathered from an item.
#[derive(Debug, Default)]
struct Event {
    /// What the item is, where it is no map.
    other: Option<Shape>,
    event_type: Found<&'static str>,
    object: Found<()>,
    /// Whether a member came that isn't an event's, first of all.
    foreign: bool,
    members: bool,
    summary: Summary,
}

impl Sequence {
    pub(super) fn new(summarises: bool) -> Self {
        Self {
            place: Place::Between,
            state: State::Head,
            levels: SmallVec::new(),
            tagged: false,
            item: 0,
            literal: Literal::default(),
            told: false,
            utf8: Utf8::default(),
            event: Event::default(),
            summarises,
        }
    }

    pub(super) fn read(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        while let Some(&octet) = octets.first() {
            let start = match self.place {
                Place::Faulted => {
                    swallow(octets, offset);
                    return None;
                }
                Place::Inside { start } => start,
                Place::Between => {
                    self.place = Place::Inside { start: *offset };
                    *offset
                }
            };
            let (read, step) = match &mut self.state {
                State::Content { text, left } => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    let mut part = octets.get(..most).unwrap_or(octets);
                    if *text && let Some(fault) = self.utf8.first_invalid(part) {
                        part = part.get(..=fault).unwrap_or(part);
                    }
                    *left = left.saturating_sub(part.len() as u64);
                    let over = *left == 0;
                    let text = *text;
                    (part.len(), self.content(part, text, over))
                }
                _ => (1, self.octet(octet, *offset)),
            };
            match step {
                Ok(false) => advance(octets, offset, read),
                Ok(true) => {
                    advance(octets, offset, read);
                    self.place = Place::Between;
                    return Some(std::mem::take(&mut self.event).whole(start..*offset, self.summarises));
                }
                Err(message) => {
                    // Of a string the octets before its last one are read.
                    advance(octets, offset, read.saturating_sub(1));
                    self.resume();
                    self.place = Place::Faulted;
                    return Some(fault(start, octets, offset, message.to_owned()));
                }
            }
        }
        None
    }

    pub(super) fn open(&self) -> Option<OpenItem> {
        let Place::Inside { start } = self.place else { return None };
        let recognised =
            matches!((&self.event.event_type, &self.event.object), (Found::Right(_), Found::Right(())));
        Some(OpenItem { start, recognised, filler_only: false, end: u64::MAX, undecided: false })
    }

    pub(super) fn resume(&mut self) {
        *self = Self::new(self.summarises);
    }

    pub(super) fn is_faulted(&self) -> bool {
        self.place == Place::Faulted
    }

    /// Whether the open item is no event, whatever follows, or begins as
    /// Kubernetes begins none.
    pub(super) fn is_hopeless(&self) -> bool {
        let event = &self.event;
        matches!(self.place, Place::Inside { .. })
            && (event.foreign || event.other.is_some() || matches!(event.event_type, Found::Other { .. }))
    }

    /// Reads an octet of an item's head: whether the outermost item is whole.
    fn octet(&mut self, octet: u8, at: u64) -> Result<bool, &'static str> {
        match self.state {
            State::Argument { major, left, value, simple } => {
                let value = value << 8 | u64::from(octet);
                if left > 1 {
                    self.state = State::Argument { major, left: left - 1, value, simple };
                    return Ok(false);
                }
                // RFC 8949 §3.3: one octet holds no value that none could hold.
                if simple && value < 32 {
                    return Err("a simple value that isn't written so");
                }
                self.state = State::Head;
                self.begin(major, Some(value))
            }
            _ => {
                let (major, info) = (octet >> 5, octet & 0x1f);
                if octet == BREAK {
                    return self.end();
                }
                if !self.tagged {
                    self.item = at;
                }
                match info {
                    0..=23 => self.begin(major, Some(u64::from(info))),
                    24..=27 => {
                        let simple = major == 7 && info == 24;
                        self.state = State::Argument { major, left: 1 << (info - 24), value: 0, simple };
                        Ok(false)
                    }
                    31 if matches!(major, 2..=5) => self.begin(major, None),
                    _ => Err("an octet that begins no item (RFC 8949, section 3)"),
                }
            }
        }
    }

    /// An item begins: its major type and its argument, if it has a length.
    fn begin(&mut self, major: u8, argument: Option<u64>) -> Result<bool, &'static str> {
        let text = major == 3;
        if let Some(Level { holds: Holds::Pieces { text: whole }, .. }) = self.levels.last() {
            // RFC 8949 §3.2.3: pieces are strings of the same kind, with a length.
            return match argument {
                Some(length) if matches!(major, 2 | 3) && *whole == text && !self.tagged => {
                    self.string(text, length)
                }
                _ => Err("a string in pieces holds something else than such strings"),
            };
        }
        if major == 6 {
            self.tagged = true;
            return Ok(false);
        }
        self.tagged = false;
        let shape = match major {
            2 | 3 => Shape::String,
            4 => Shape::Array,
            5 => Shape::Map,
            7 => Shape::Simple,
            _ => Shape::Number,
        };
        let role = self.value(shape);
        match (major, argument) {
            (2 | 3, Some(length)) => self.string(text, length),
            (2 | 3, None) => self.open_level(Holds::Pieces { text }, None, Role::Other),
            (4, count) => self.open_level(Holds::Elements, count, Role::Other),
            (5, count) => {
                // A map of more members than fit a count of items never ends.
                let count = count.map(|members| members.saturating_mul(2));
                self.open_level(Holds::Members, count, role)
            }
            _ => Ok(self.item_over()),
        }
    }

    fn open_level(&mut self, holds: Holds, left: Option<u64>, role: Role) -> Result<bool, &'static str> {
        if left == Some(0) {
            return Ok(self.item_over());
        }
        if self.levels.len() >= limits::CBOR_DEPTH {
            return Err("an item that is nested deeper than any client reads");
        }
        let name = holds == Holds::Members;
        self.levels.push(Level { holds, left, role, name, member: Member::Other });
        Ok(false)
    }

    /// A break: what has no length ends.
    fn end(&mut self) -> Result<bool, &'static str> {
        let Some(level) = self.levels.last().filter(|level| level.left.is_none() && !self.tagged) else {
            return Err("a break where nothing without a length is open");
        };
        if level.holds == Holds::Members && !level.name {
            return Err("a map ends behind a name");
        }
        let pieces = matches!(level.holds, Holds::Pieces { .. });
        self.levels.pop();
        if pieces {
            self.string_over();
        }
        Ok(self.item_over())
    }

    /// A string, or a piece of one, begins.
    fn string(&mut self, text: bool, length: u64) -> Result<bool, &'static str> {
        if length > u64::from(limits::WATCH_FRAME) {
            return Err("a string that is longer than any client reads");
        }
        if length == 0 {
            return self.content(&[], text, true);
        }
        self.state = State::Content { text, left: length };
        Ok(false)
    }

    /// Content of a string, `over` with its last octet: whether the outermost
    /// item is whole.
    fn content(&mut self, part: &[u8], text: bool, over: bool) -> Result<bool, &'static str> {
        if self.told {
            self.literal.push(part);
        }
        if text {
            self.utf8.push(part);
            if self.utf8.is_invalid() || (over && !self.utf8.is_valid()) {
                return Err("a text string that isn't UTF-8");
            }
        }
        if !over {
            return Ok(false);
        }
        self.utf8 = Utf8::default();
        self.state = State::Head;
        if matches!(self.levels.last(), Some(Level { holds: Holds::Pieces { .. }, .. })) {
            return Ok(false);
        }
        self.string_over();
        Ok(self.item_over())
    }

    /// An item is over, and with it the containers whose last it was: whether
    /// the outermost is.
    fn item_over(&mut self) -> bool {
        while let Some(level) = self.levels.last_mut() {
            level.name = level.holds == Holds::Members && !level.name;
            match &mut level.left {
                Some(left) => *left = left.saturating_sub(1),
                None => return false,
            }
            if level.left != Some(0) {
                return false;
            }
            self.levels.pop();
        }
        true
    }

    /// A value begins that isn't a piece of a string: the role of its members,
    /// if it is a map.
    fn value(&mut self, shape: Shape) -> Role {
        self.told = false;
        self.literal.clear();
        let Some(level) = self.levels.last_mut() else {
            if shape != Shape::Map {
                self.event.other = Some(shape);
                return Role::Other;
            }
            return Role::Event;
        };
        if level.role == Role::Other {
            return Role::Other;
        }
        if level.name {
            level.member = Member::Other;
            self.told = shape == Shape::String;
            self.event.foreign |= !self.told && !self.event.members;
            self.event.members = true;
            return Role::Other;
        }
        match (level.member, shape) {
            (Member::Object, Shape::Map) => {
                self.event.object = Found::Right(());
                return if self.summarises { Role::Object } else { Role::Other };
            }
            (Member::Object, _) => {
                self.event.object = Found::Other { at: self.item, found: shape.name().to_owned() };
            }
            (Member::Metadata, Shape::Map) => return Role::Metadata,
            (Member::Type, Shape::String) => self.told = true,
            (Member::Type, _) => {
                self.event.event_type = Found::Other { at: self.item, found: shape.name().to_owned() };
            }
            (Member::Other, _) => {}
            (_, Shape::String) => self.told = true,
            _ => {}
        }
        Role::Other
    }

    /// A string is over that is a name or a value.
    fn string_over(&mut self) {
        if !std::mem::take(&mut self.told) {
            return;
        }
        let Some(level) = self.levels.last_mut() else { return };
        let octets = self.literal.whole();
        if level.name {
            level.member = member(level.role, octets.unwrap_or_default());
            if level.role == Role::Event {
                self.event.foreign |= level.member == Member::Other && self.event.is_blank();
            }
            self.event.forget(level.member);
        } else {
            let text = octets.and_then(|octets| std::str::from_utf8(octets).ok());
            let member = level.member;
            self.event.text(member, text.map(SmolStr::from), self.item);
        }
        self.literal.clear();
    }
}

/// The member that a name stands for, in a map of a role.
fn member(role: Role, name: &[u8]) -> Member {
    match (role, name) {
        (Role::Event, b"type") => Member::Type,
        (Role::Event, b"object") => Member::Object,
        (Role::Object, b"apiVersion") => Member::ApiVersion,
        (Role::Object, b"kind") => Member::Kind,
        (Role::Object, b"metadata") => Member::Metadata,
        (Role::Metadata, b"name") => Member::Name,
        (Role::Metadata, b"namespace") => Member::Namespace,
        (Role::Metadata, b"resourceVersion") => Member::ResourceVersion,
        _ => Member::Other,
    }
}

impl Event {
    /// Whether no member of an event came.
    fn is_blank(&self) -> bool {
        self.event_type == Found::Missing && self.object == Found::Missing
    }

    fn field(&mut self, member: Member) -> Option<&mut Option<SmolStr>> {
        match member {
            Member::ApiVersion => Some(&mut self.summary.api_version),
            Member::Kind => Some(&mut self.summary.kind),
            Member::Name => Some(&mut self.summary.name),
            Member::Namespace => Some(&mut self.summary.namespace),
            Member::ResourceVersion => Some(&mut self.summary.resource_version),
            Member::Type | Member::Object | Member::Metadata | Member::Other => None,
        }
    }

    /// Forgets what an earlier member of the same name said.
    fn forget(&mut self, member: Member) {
        match member {
            Member::Type => self.event_type = Found::Missing,
            Member::Object => {
                self.object = Found::Missing;
                self.summary = Summary::default();
            }
            Member::Metadata => {
                let Summary { api_version, kind, .. } = std::mem::take(&mut self.summary);
                self.summary = Summary { api_version, kind, ..Summary::default() };
            }
            _ => {
                if let Some(field) = self.field(member) {
                    *field = None;
                }
            }
        }
    }

    /// A member's text is whole; `None` where it is too long or no UTF-8.
    fn text(&mut self, member: Member, text: Option<SmolStr>, at: u64) {
        if member == Member::Type {
            let known = text.as_deref().and_then(|text| TYPES.into_iter().find(|known| *known == text));
            self.event_type = known.map_or_else(
                || {
                    let found = text.map_or("a long string".to_owned(), |text| {
                        format!(
                            "\"{}\"",
                            text.chars().take(40).flat_map(char::escape_default).collect::<String>()
                        )
                    });
                    Found::Other { at, found }
                },
                Found::Right,
            );
        } else if let Some(field) = self.field(member) {
            *field = text;
        }
    }

    /// What the item is, when all of it was read.
    fn whole(self, span: Range<u64>, summarises: bool) -> EventItem {
        let start = span.start;
        let objection = match (self.other, self.event_type, &self.object) {
            (Some(shape), ..) => Err((start, format!("{} in CBOR, not a watch event", shape.name()))),
            (_, Found::Missing, _) => Err((start, "a map without `type`, not a watch event".to_owned())),
            (_, Found::Other { at, found }, _) => {
                Err((at, format!("`type` is {found}, not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR")))
            }
            (_, _, Found::Missing) => Err((start, "a map without `object`, not a watch event".to_owned())),
            (_, _, Found::Other { at, found }) => Err((*at, format!("`object` is {found}, not a map"))),
            (_, Found::Right(known), Found::Right(())) => Ok(known),
        };
        match objection {
            Err((at, message)) => EventItem::Invalid { span, at, message, well_formed: true },
            Ok(known) if summarises => EventItem::Event {
                span,
                summary: MaybeSummary::from(Summary {
                    event_type: Some(SmolStr::new_static(known)),
                    ..self.summary
                }),
            },
            Ok(_) => EventItem::Event { span, summary: MaybeSummary::default() },
        }
    }
}
