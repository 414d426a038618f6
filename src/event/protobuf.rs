//! Kubernetes watches in protobuf, `application/vnd.kubernetes.protobuf`: the
//! kind [`Kind::WatchProtobuf`](super::Kind::WatchProtobuf).
//!
//! An event is a frame: four octets with the length of the message behind them,
//! big-endian, and the message, a `WatchEvent` (k8s.io/apimachinery,
//! `meta/v1/generated.proto`). Nothing stands between frames.
//!
//! ```text
//! WatchEvent    { 1: type, 2: RawExtension }
//! RawExtension  { 1: raw = "k8s\0" and an Unknown }
//! Unknown       { 1: TypeMeta, 2: raw = the object }
//! TypeMeta      { 1: apiVersion, 2: kind }
//! the object    { 1: ObjectMeta, … }
//! ObjectMeta    { 1: name, 3: namespace, 6: resourceVersion, … }
//! ```
//!
//! Only these fields are looked at while the message goes by; the others are
//! passed over by their wire type, as protobuf has it. Of a field given twice
//! the last counts. What is wrong within a message doesn't touch the next one,
//! since its length is known.

use std::ops::Range;

use smol_str::SmolStr;

use super::kept::Literal;
use super::watch::TYPES;
use super::{EventItem, MaybeSummary, OpenItem, Summary, advance, fault, swallow};
use crate::limits;

/// What an object begins with that is protobuf (k8s.io/apimachinery,
/// `runtime/serializer/protobuf`).
const MAGIC: &[u8; 4] = b"k8s\0";

/// The framer of frames.
#[derive(Debug)]
pub(super) struct Frames {
    place: Place,
    message: Message,
    summarises: bool,
}

/// Where the octets that were read end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the length in front of a message, `count` octets of it read.
    Length { start: u64, length: u32, count: u8 },
    /// In the message, so many octets before its end.
    Inside { start: u64, left: u32 },
    /// Behind a fault.
    Faulted,
}

/// Between two frames.
const BETWEEN: Place = Place::Length { start: 0, length: 0, count: 0 };

impl Frames {
    pub(super) fn new(summarises: bool) -> Self {
        Self { place: BETWEEN, message: Message::default(), summarises }
    }

    pub(super) fn read(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        while let Some(&octet) = octets.first() {
            match &mut self.place {
                Place::Faulted => swallow(octets, offset),
                Place::Length { start, length, count } => {
                    if *count == 0 {
                        *start = *offset;
                    }
                    *length = *length << 8 | u32::from(octet);
                    *count += 1;
                    let missing = u32::from(4u8.saturating_sub(*count)) * 8;
                    let start = *start;
                    if u64::from(*length) << missing > u64::from(limits::WATCH_FRAME) {
                        let message = format!(
                            "a frame of more than {} octets, by its length: no client reads so long a one",
                            limits::WATCH_FRAME
                        );
                        self.place = Place::Faulted;
                        return Some(fault(start, octets, offset, message));
                    }
                    advance(octets, offset, 1);
                    if missing == 0 {
                        let left = *length;
                        self.message = Message::new(left);
                        self.place = Place::Inside { start, left };
                        if left == 0 {
                            return Some(self.whole(start..*offset));
                        }
                    }
                }
                Place::Inside { start, left } => {
                    let most = usize::try_from(*left).unwrap_or(usize::MAX);
                    let part = octets.get(..most).unwrap_or(octets);
                    self.message.read(part, *offset);
                    *left = left.saturating_sub(u32::try_from(part.len()).unwrap_or(u32::MAX));
                    let (start, over) = (*start, *left == 0);
                    advance(octets, offset, part.len());
                    if over {
                        return Some(self.whole(start..*offset));
                    }
                }
            }
        }
        None
    }

    /// The frame is whole.
    fn whole(&mut self, span: Range<u64>) -> EventItem {
        self.place = BETWEEN;
        let message = std::mem::take(&mut self.message);
        message.whole(span, self.summarises)
    }

    pub(super) fn open(&self) -> Option<OpenItem> {
        let (start, recognised) = match self.place {
            Place::Length { count: 0, .. } | Place::Faulted => return None,
            Place::Length { start, .. } => (start, false),
            Place::Inside { start, .. } => (start, self.message.recognised()),
        };
        Some(OpenItem { start, recognised, filler_only: false, end: u64::MAX, undecided: false })
    }

    pub(super) fn resume(&mut self) {
        self.place = BETWEEN;
    }

    pub(super) fn is_faulted(&self) -> bool {
        self.place == Place::Faulted
    }

    /// Whether the open frame is no event whatever follows.
    pub(super) fn is_hopeless(&self) -> bool {
        matches!(self.place, Place::Inside { .. }) && self.message.is_hopeless()
    }
}

/// The messages whose fields are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    WatchEvent,
    RawExtension,
    Unknown,
    TypeMeta,
    Object,
    ObjectMeta,
}

/// The texts that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Type,
    ApiVersion,
    Kind,
    Name,
    Namespace,
    ResourceVersion,
}

/// What a field of a length holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Message(Kind),
    Magic,
    Text(Text),
    Other,
}

impl Kind {
    /// What the field of a number holds, if it has a length.
    const fn field(self, number: u64) -> Held {
        match (self, number) {
            (Self::WatchEvent, 1) => Held::Text(Text::Type),
            (Self::WatchEvent, 2) => Held::Message(Self::RawExtension),
            (Self::RawExtension, 1) => Held::Magic,
            (Self::Unknown, 1) => Held::Message(Self::TypeMeta),
            (Self::Unknown, 2) => Held::Message(Self::Object),
            (Self::TypeMeta, 1) => Held::Text(Text::ApiVersion),
            (Self::TypeMeta, 2) => Held::Text(Text::Kind),
            (Self::Object, 1) => Held::Message(Self::ObjectMeta),
            (Self::ObjectMeta, 1) => Held::Text(Text::Name),
            (Self::ObjectMeta, 3) => Held::Text(Text::Namespace),
            (Self::ObjectMeta, 6) => Held::Text(Text::ResourceVersion),
            _ => Held::Other,
        }
    }
}

/// Where in a message the octets that were read end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In front of a field, or in its tag.
    Tag(Varint),
    /// In the length of a field.
    Length(Held, Varint),
    /// In a number that isn't looked at.
    Number(Varint),
    /// In octets that aren't looked at.
    Skip { left: u64 },
    /// In a text.
    Text { text: Text, left: u64 },
    /// In front of an object, `count` octets of the magic ones read; it ends
    /// at `end`.
    Magic { count: u8, end: u64 },
}

/// A variable-length number, as far as it is read (base 128, at most ten
/// octets, the lowest seven bits first).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Varint {
    value: u64,
    shift: u32,
}

impl Varint {
    /// Reads its next octet: the number, if that was its last one.
    fn push(&mut self, octet: u8) -> Result<Option<u64>, &'static str> {
        let bits = u64::from(octet & 0x7f);
        if self.shift > 63 || (self.shift == 63 && bits > 1) {
            return Err("a number of more than 64 bits");
        }
        self.value |= bits << self.shift;
        self.shift += 7;
        Ok((octet < 0x80).then_some(self.value))
    }
}

/// A message while it goes by.
#[derive(Debug)]
struct Message {
    /// Octets read of it.
    at: u64,
    /// The messages that the next octet is in, and where each ends: at most one
    /// of each kind.
    levels: smallvec::SmallVec<[(Kind, u64); 6]>,
    state: State,
    literal: Literal,
    event_type: Type,
    /// Whether an object has begun.
    object: bool,
    summary: Summary,
    /// What is wrong, and at which octet of the body. Nothing is read then.
    fault: Option<(u64, String)>,
}

/// What is known of `type`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Type {
    Missing,
    Known(&'static str),
    Other(String),
}

impl Default for Message {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Message {
    fn new(length: u32) -> Self {
        Self {
            at: 0,
            levels: smallvec::smallvec![(Kind::WatchEvent, u64::from(length))],
            state: State::Tag(Varint::default()),
            literal: Literal::default(),
            event_type: Type::Missing,
            object: false,
            summary: Summary::default(),
            fault: None,
        }
    }

    fn recognised(&self) -> bool {
        matches!(self.event_type, Type::Known(_)) && self.object
    }

    /// Whether it is no event, whatever follows.
    fn is_hopeless(&self) -> bool {
        self.fault.is_some() || matches!(self.event_type, Type::Other(_))
    }

    /// Reads the next octets of the message, whose first is at `offset` of the
    /// body.
    fn read(&mut self, mut octets: &[u8], offset: u64) {
        let end = offset.saturating_add(octets.len() as u64);
        while !octets.is_empty() && self.fault.is_none() {
            match self.step(octets) {
                Ok(read) => {
                    self.at = self.at.saturating_add(read as u64);
                    octets = octets.get(read..).unwrap_or_default();
                }
                Err(message) => {
                    self.fault = Some((end.saturating_sub(octets.len() as u64), message.to_owned()));
                }
            }
        }
    }

    /// Reads some of the octets, at least one: how many.
    fn step(&mut self, octets: &[u8]) -> Result<usize, &'static str> {
        let &first = octets.first().ok_or("no octet")?;
        match &mut self.state {
            State::Tag(_) | State::Length(..) | State::Number(_) => {
                self.leave();
                let end = self.levels.last().map_or(0, |(_, end)| *end);
                if self.at >= end {
                    return Err("a field goes on behind its message");
                }
                self.varint(first)?;
                Ok(1)
            }
            State::Skip { left } => {
                let read = octets.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= read as u64;
                if *left == 0 {
                    self.state = State::Tag(Varint::default());
                }
                Ok(read)
            }
            State::Text { text, left } => {
                let read = octets.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                self.literal.push(octets.get(..read).unwrap_or_default());
                *left -= read as u64;
                if *left == 0 {
                    let text = *text;
                    self.state = State::Tag(Varint::default());
                    self.text(text);
                }
                Ok(read)
            }
            State::Magic { count, end } => {
                if MAGIC.get(usize::from(*count)) != Some(&first) {
                    return Err(
                        "`object` is no Kubernetes object: it doesn't begin with `k8s` and a zero octet",
                    );
                }
                *count += 1;
                if usize::from(*count) == MAGIC.len() {
                    let end = *end;
                    self.object = true;
                    self.levels.push((Kind::Unknown, end));
                    self.state = State::Tag(Varint::default());
                }
                Ok(1)
            }
        }
    }

    /// Leaves the messages that end here, if the next octet begins a field.
    fn leave(&mut self) {
        if self.state == State::Tag(Varint::default()) {
            while self.levels.len() > 1 && self.levels.last().is_some_and(|(_, end)| *end <= self.at) {
                self.levels.pop();
            }
        }
    }

    /// Reads an octet of a number, and what follows from it.
    fn varint(&mut self, octet: u8) -> Result<(), &'static str> {
        let (State::Tag(varint) | State::Length(_, varint) | State::Number(varint)) = &mut self.state else {
            return Ok(());
        };
        let Some(value) = varint.push(octet)? else { return Ok(()) };
        let (kind, end) = *self.levels.last().ok_or("no message")?;
        // Behind the octet at hand.
        let at = self.at.saturating_add(1);
        self.state = match self.state {
            State::Tag(_) => {
                let number = value >> 3;
                if number == 0 || number > 0x1fff_ffff {
                    return Err("a field whose number there isn't");
                }
                match value & 7 {
                    0 => State::Number(Varint::default()),
                    1 => State::Skip { left: 8 },
                    2 => {
                        // ListMeta, which begins otherwise than ObjectMeta.
                        let list = kind == Kind::Object && self.summary.kind.as_deref() == Some("Status");
                        let held = if list { Held::Other } else { kind.field(number) };
                        State::Length(held, Varint::default())
                    }
                    5 => State::Skip { left: 4 },
                    _ => return Err("a field of a wire type that isn't used"),
                }
            }
            State::Number(_) => State::Tag(Varint::default()),
            State::Length(held, _) => {
                let behind = at.checked_add(value).filter(|behind| *behind <= end);
                let behind = behind.ok_or("a field goes on behind its message")?;
                self.begin(held, value, behind)
            }
            other => other,
        };
        if let State::Skip { left } = self.state
            && at.saturating_add(left) > end
        {
            return Err("a field goes on behind its message");
        }
        Ok(())
    }

    /// A field with a length begins, and ends at `end`.
    fn begin(&mut self, held: Held, length: u64, end: u64) -> State {
        self.forget(held);
        match held {
            Held::Text(text) if length == 0 => self.text(text),
            Held::Text(text) => return State::Text { text, left: length },
            Held::Magic => return State::Magic { count: 0, end },
            Held::Message(kind) => self.levels.push((kind, end)),
            Held::Other if length > 0 => return State::Skip { left: length },
            Held::Other => {}
        }
        State::Tag(Varint::default())
    }

    /// Forgets what an earlier field of the same number said.
    fn forget(&mut self, held: Held) {
        match held {
            Held::Text(text) => {
                self.literal.clear();
                if let Some(place) = self.field(text) {
                    *place = None;
                }
            }
            Held::Message(Kind::RawExtension) | Held::Magic => {
                self.object = false;
                self.summary = Summary::default();
            }
            Held::Message(_) | Held::Other => {}
        }
    }

    fn field(&mut self, text: Text) -> Option<&mut Option<SmolStr>> {
        Some(match text {
            Text::Type => return None,
            Text::ApiVersion => &mut self.summary.api_version,
            Text::Kind => &mut self.summary.kind,
            Text::Name => &mut self.summary.name,
            Text::Namespace => &mut self.summary.namespace,
            Text::ResourceVersion => &mut self.summary.resource_version,
        })
    }

    /// A text is whole. An empty one says nothing: Kubernetes writes those that
    /// JSON leaves out.
    fn text(&mut self, text: Text) {
        let whole = self.literal.whole();
        let found = whole.and_then(|octets| std::str::from_utf8(octets).ok()).filter(|text| !text.is_empty());
        let found = found.map(SmolStr::from);
        self.literal.clear();
        if text == Text::Type {
            let found = found.unwrap_or_default();
            let known = TYPES.into_iter().find(|known| **known == found);
            self.event_type = known.map_or_else(|| Type::Other(found.into()), Type::Known);
        } else if let Some(place) = self.field(text) {
            *place = found;
        }
    }

    /// What the message is, when all of it was read.
    fn whole(mut self, span: Range<u64>, summarises: bool) -> EventItem {
        self.leave();
        let unfinished = self.levels.len() > 1 || self.state != State::Tag(Varint::default());
        let objection = match (self.fault, &self.event_type) {
            (Some(fault), _) => Some(fault),
            (None, _) if unfinished => {
                Some((span.end.saturating_sub(1), "the message ends within a field".to_owned()))
            }
            (None, Type::Missing) => {
                Some((span.start, "a message without `type`, not a watch event".to_owned()))
            }
            (None, Type::Other(found)) => Some((
                span.start,
                format!(
                    "`type` is \"{}\", not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR",
                    found.chars().take(40).flat_map(char::escape_default).collect::<String>()
                ),
            )),
            (None, Type::Known(_)) if !self.object => {
                Some((span.start, "a message without `object`, not a watch event".to_owned()))
            }
            (None, Type::Known(_)) => None,
        };
        if let Some((at, message)) = objection {
            return EventItem::Invalid { span, at, message, well_formed: true };
        }
        let summary = match (summarises, self.event_type) {
            (true, Type::Known(known)) => {
                MaybeSummary::from(Summary { event_type: Some(known.into()), ..self.summary })
            }
            _ => MaybeSummary::default(),
        };
        EventItem::Event { span, summary }
    }
}
