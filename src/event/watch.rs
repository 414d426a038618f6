//! What makes a JSON text a Kubernetes watch event, and what is shown of it.
//!
//! An event is an object whose `type` is one of five and whose `object` is an
//! object (metav1.WatchEvent). The listener picks these members, and the few
//! that name the object, out of the text while it goes by; the text itself is
//! never kept.
//!
//! A table (meta.k8s.io/v1, `Accept: application/json;as=Table`) has no name of its
//! own: where it has one row, as in a watch, the object of that row names it.
//!
//! Of a member given twice the last counts, and what belonged to the earlier
//! one is forgotten. A name may be written with escapes. What a cluster may
//! leave out, or give in another shape, is unknown, not wrong.

use std::ops::Range;

use memchr::memchr;
use smol_str::SmolStr;

use super::json::{Listener, Recogniser, Shape, Step};
use super::kept::Literal;
use super::string::{decode, plain as plain_text};
use super::texts::Subject;
use super::{EventItem, MaybeSummary, Summary};
use crate::limits;

/// The types of watch events.
pub(super) const TYPES: [&str; 5] = ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"];

/// How many characters of a wrong type a message shows.
const SHOWN: usize = 40;

/// What is gathered from a text.
#[derive(Debug)]
pub(super) struct WatchEvent {
    /// 1 in the text's own object, 2 in its `object`, 3 in `object.metadata` or
    /// in `object.rows`; 4 in a row, 5 in its `object`, 6 in the `metadata` of
    /// that; 4 in `object.metadata.annotations` of a bookmark too.
    depth: u64,
    /// The member whose name was read last, at that depth.
    member: Member,
    /// A bit for each member that was named: only what was named before has
    /// anything to forget.
    named: u32,
    /// The name or string at hand, where slices cut it.
    literal: Literal,
    /// The text's first octet.
    start: u64,
    /// What the text is.
    shape: Shape,
    kind: Type,
    object: Object,
    /// Behind the brace that opens the innermost of `object` and
    /// `object.metadata` that came.
    opened: u64,
    /// Whether the summary is wanted.
    summarises: bool,
    /// Made with the first member that it shows.
    summary: MaybeSummary,
    /// One to write over.
    spare: MaybeSummary,
    /// Texts that most events have in common with the one before.
    common: Common,
    /// What is known of a table's rows.
    rows: Option<Box<Rows>>,
}

/// The rows of a table, while it is read.
#[derive(Debug, Default)]
struct Rows {
    /// The next value is a row.
    within: bool,
    count: u64,
    /// The names of the last one's object.
    last: Summary,
}

/// Texts of the event before.
#[derive(Debug, Default)]
struct Common {
    api_version: SmolStr,
    kind: SmolStr,
    namespace: SmolStr,
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
    /// Of an ADDED event.
    Created,
    /// Of an ERROR event.
    Reason,
    /// Of an ERROR event.
    Message,
    /// Of a BOOKMARK event.
    Annotations,
    InitialEventsEnd,
    Rows,
    RowObject,
    RowMetadata,
    RowName,
    RowNamespace,
    RowVersion,
    Other,
}

impl Member {
    /// Whether the summary of any event shows it.
    const fn is_shown(self) -> bool {
        matches!(
            self,
            Self::ApiVersion
                | Self::Kind
                | Self::Name
                | Self::Namespace
                | Self::ResourceVersion
                | Self::RowName
                | Self::RowNamespace
                | Self::RowVersion
        )
    }
}

/// What is known of `type`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Type {
    Missing,
    /// Its string has begun.
    Begun {
        at: u64,
    },
    Known(&'static str),
    /// Another string; `None` if it is too long to show.
    Unknown {
        at: u64,
        found: Option<SmolStr>,
    },
    Shaped {
        at: u64,
        shape: Shape,
    },
}

/// What is known of `object`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
    Missing,
    Begun,
    Shaped { at: u64, shape: Shape },
}

impl WatchEvent {
    pub(super) fn new(summarises: bool) -> Self {
        Self {
            depth: 0,
            member: Member::Other,
            named: 0,
            literal: Literal::default(),
            start: 0,
            shape: Shape::Null,
            kind: Type::Missing,
            object: Object::Missing,
            opened: 0,
            summarises,
            summary: MaybeSummary::default(),
            spare: MaybeSummary::default(),
            common: Common::default(),
            rows: None,
        }
    }

    /// Notes what the summary shows of a member.
    fn note(&mut self, member: Member, text: Option<SmolStr>) {
        match member {
            Member::ApiVersion => self.summary.api_version = text,
            Member::Kind => self.summary.kind = text,
            Member::Name => self.summary.name = text,
            Member::Namespace => self.summary.namespace = text,
            Member::ResourceVersion => self.summary.resource_version = text,
            Member::Created => self.summary.created = text.as_deref().and_then(seconds),
            Member::InitialEventsEnd => self.summary.initial_events_end = text.as_deref() == Some("true"),
            Member::Reason => self.summary.reason = text,
            Member::Message => self.summary.message = text,
            Member::RowName | Member::RowNamespace | Member::RowVersion => {
                let Some(rows) = &mut self.rows else { return };
                match member {
                    Member::RowName => rows.last.name = text,
                    Member::RowNamespace => rows.last.namespace = text,
                    _ => rows.last.resource_version = text,
                }
            }
            Member::Type
            | Member::Object
            | Member::Metadata
            | Member::Rows
            | Member::RowObject
            | Member::RowMetadata
            | Member::Annotations
            | Member::Other => {}
        }
    }

    /// Forgets what an earlier member of the same name said.
    #[cold]
    fn forget(&mut self, member: Member) {
        match member {
            Member::Type => self.kind = Type::Missing,
            Member::Object => {
                self.object = Object::Missing;
                self.summary = MaybeSummary::default();
                self.rows = None;
            }
            Member::Rows => self.rows = None,
            Member::RowObject | Member::RowMetadata => {
                if let Some(rows) = &mut self.rows {
                    rows.last = Summary::default();
                }
            }
            Member::Metadata => {
                if let Some(summary) = self.summary.made() {
                    summary.name = None;
                    summary.namespace = None;
                    summary.resource_version = None;
                    summary.created = None;
                    summary.initial_events_end = false;
                }
            }
            Member::Annotations => {
                if let Some(summary) = self.summary.made() {
                    summary.initial_events_end = false;
                }
            }
            Member::Other => {}
            _ => self.note(member, None),
        }
    }

    /// The member that a name stands for which slices cut, or which has
    /// escapes or longer characters; its last octets are given.
    #[cold]
    fn unusual_name(&mut self, octets: &[u8]) -> Member {
        let name = self.literal.ending_in(octets).unwrap_or_default();
        let named = match member(self.depth, name) {
            Member::Other if name.contains(&b'\\') => member(self.depth, decode(name).as_bytes()),
            member => member,
        };
        self.literal.clear();
        named
    }

    /// The same of a string.
    #[inline(never)]
    fn unusual_string(&mut self, octets: &[u8]) {
        let text = self.literal.ending_in(octets).map(decode);
        self.literal.clear();
        if let Type::Begun { at } = self.kind {
            let known = text.as_deref().and_then(|text| known_type(text.as_bytes()));
            self.kind = known.map_or(Type::Unknown { at, found: text }, Type::Known);
        } else {
            self.note(self.member, text);
        }
    }

    /// The value at hand is a table's list of rows.
    #[cold]
    fn begin_rows(&mut self) {
        self.rows = Some(Box::new(Rows { within: true, ..Rows::default() }));
        self.depth = 3;
        self.member = Member::Other;
    }

    /// The value at hand is a row, if it is in the list of rows.
    #[cold]
    fn begin_row(&mut self, shape: Shape) {
        if let Some(rows) = self.rows.as_mut().filter(|rows| rows.within) {
            rows.count += 1;
            rows.last = Summary::default();
            self.depth += u64::from(shape == Shape::Object);
        }
    }

    /// Why the text is no watch event: where, and what.
    #[cold]
    fn objection(&self) -> Option<(u64, String)> {
        if self.shape != Shape::Object {
            return Some((self.start, format!("{}, not a watch event", json(self.shape))));
        }
        let one_of = "not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR";
        match &self.kind {
            Type::Known(_) => {}
            Type::Missing | Type::Begun { .. } => {
                return Some((self.start, "a JSON object without `type`, not a watch event".to_owned()));
            }
            Type::Unknown { at, found: Some(found) } => {
                let more = if found.chars().nth(SHOWN).is_some() { "…" } else { "" };
                let found: String = found.chars().take(SHOWN).flat_map(char::escape_default).collect();
                return Some((*at, format!("`type` is \"{found}{more}\", {one_of}")));
            }
            Type::Unknown { at, found: None } => {
                return Some((*at, format!("`type` is a long string, {one_of}")));
            }
            Type::Shaped { at, shape } => {
                return Some((*at, format!("`type` is {}, {one_of}", plain(*shape))));
            }
        }
        match self.object {
            Object::Begun => None,
            Object::Missing => {
                Some((self.start, "a JSON object without `object`, not a watch event".to_owned()))
            }
            Object::Shaped { at, shape } => {
                Some((at, format!("`object` is {}, not an object", plain(shape))))
            }
        }
    }
}

impl Subject for WatchEvent {
    fn begin(&mut self, start: u64) {
        self.depth = 0;
        self.member = Member::Other;
        self.named = 0;
        self.literal.clear();
        self.start = start;
        self.kind = Type::Missing;
        self.object = Object::Missing;
        self.summary = MaybeSummary::default();
        self.rows = None;
    }

    fn octets(&mut self, _: &[u8]) {}

    fn recognised(&self) -> bool {
        matches!(self.kind, Type::Known(_)) && self.object == Object::Begun
    }

    #[inline]
    fn whole(&mut self, span: Range<u64>) -> EventItem {
        let is_event = self.shape == Shape::Object && self.recognised();
        if !is_event && let Some((at, message)) = self.objection() {
            return EventItem::Invalid { span, at, message, well_formed: true };
        }
        if !self.summarises {
            return EventItem::Event { span, summary: MaybeSummary::default() };
        }
        let mut summary = std::mem::take(&mut self.summary);
        if let Some(Rows { count: 1, last, .. }) = self.rows.take().map(|rows| *rows)
            && summary.name.is_none()
        {
            summary.name = last.name;
            summary.namespace = last.namespace;
            let own = summary.resource_version.take().filter(|version| !version.is_empty());
            summary.resource_version = own.or(last.resource_version);
        }
        if let Type::Known(kind) = &self.kind {
            summary.event_type = Some(SmolStr::new_static(kind));
        }
        EventItem::Event { span, summary }
    }

    /// As far as behind the first name in `object.metadata`, or in `object` where
    /// that comes before or there is none.
    fn common_length(text: &[u8], longest: usize) -> Option<usize> {
        let front = text.get(..longest).unwrap_or(text);
        let mut scout = Self::new(true);
        scout.begin(0);
        let step = Recogniser::new().read(&mut &*front, 0, &mut scout);
        if step != Step::Whole && front.len() < longest {
            // More may be in common than the slice has of it.
            return None;
        }
        let opened = usize::try_from(scout.opened).ok().filter(|opened| *opened > 0)?;
        let name = front.get(opened..)?.strip_prefix(b"\"").and_then(|name| {
            let length = memchr(b'"', name)?;
            (name.get(length + 1) == Some(&b':')).then_some(length)
        });
        // With the quotation marks and the colon.
        Some(opened + name.map_or(0, |length| length + 3))
    }

    fn fresh(&self) -> Self {
        Self::new(self.summarises)
    }

    fn is_memorable(&self) -> bool {
        self.recognised() && self.rows.is_none()
    }

    #[inline]
    fn recall(&mut self, start: u64, other: &Self) {
        self.literal.clear();
        self.rows = None;
        self.start = start;
        self.depth = other.depth;
        self.member = other.member;
        self.named = other.named;
        self.shape = other.shape;
        if let Type::Known(kind) = other.kind {
            self.kind = Type::Known(kind);
        }
        self.object = other.object;
        self.summary = match (self.spare.0.take(), &other.summary.0) {
            (Some(mut spare), Some(summary)) => {
                summary.write_over(&mut spare);
                MaybeSummary(Some(spare))
            }
            (_, summary) => MaybeSummary(summary.clone()),
        };
    }

    fn shows(&self, at_string: &Self, string: &str) -> bool {
        let mut summary = (*self.summary).clone();
        let is_shown =
            named(&mut summary, at_string.member).is_some_and(|text| text.as_deref() == Some(string));
        self.is_memorable() && (!self.summarises || is_shown)
    }

    #[inline]
    fn fill_in(&mut self, at_string: &Self, string: &[u8]) {
        if self.summarises
            && let Some(text) = named(&mut self.summary, at_string.member)
        {
            *text = Some(plain_text(string));
        }
    }

    fn reuse(&mut self, summary: MaybeSummary) {
        self.spare = summary;
    }
}

impl Listener for WatchEvent {
    const LISTENS: bool = true;

    #[inline(always)]
    fn depth(&self) -> u64 {
        self.depth
    }

    #[inline]
    fn value(&mut self, shape: Shape, at: u64) -> bool {
        match (self.depth, self.member, shape) {
            (0, ..) => {
                self.shape = shape;
                self.depth = u64::from(shape == Shape::Object);
                false
            }
            (_, Member::Type, Shape::String) => {
                self.kind = Type::Begun { at };
                true
            }
            (_, Member::Type, _) => {
                self.kind = Type::Shaped { at, shape };
                false
            }
            (_, Member::Object, Shape::Object) => {
                self.object = Object::Begun;
                self.opened = at.saturating_add(1);
                // What it holds only the summary needs.
                self.depth = if self.summarises { 2 } else { 1 };
                false
            }
            (_, Member::Object, _) => {
                self.object = Object::Shaped { at, shape };
                false
            }
            (_, Member::Metadata, Shape::Object) => {
                self.opened = at.saturating_add(1);
                self.depth = 3;
                false
            }
            (_, Member::Annotations, Shape::Object) => {
                self.depth = if self.kind == Type::Known("BOOKMARK") { 4 } else { 3 };
                false
            }
            (_, Member::Created, Shape::String) => self.kind == Type::Known("ADDED"),
            (_, Member::InitialEventsEnd, Shape::String) => true,
            (_, Member::Reason | Member::Message, Shape::String) => self.kind == Type::Known("ERROR"),
            (_, Member::Rows, Shape::Array) => {
                self.begin_rows();
                false
            }
            (3, Member::Other, _) => {
                self.begin_row(shape);
                false
            }
            (_, Member::RowObject | Member::RowMetadata, Shape::Object) => {
                self.depth += 1;
                false
            }
            (_, member, Shape::String) => self.summarises && member.is_shown(),
            _ => false,
        }
    }

    #[inline(never)]
    fn part(&mut self, octets: &[u8]) {
        self.literal.push(octets);
    }

    #[inline(never)]
    fn name(&mut self, octets: &[u8], is_plain: bool) -> bool {
        self.member = if is_plain && self.literal.is_empty() {
            member(self.depth, octets)
        } else {
            self.unusual_name(octets)
        };
        let bit = 1 << self.member as u32;
        if self.named & bit != 0 {
            self.forget(self.member);
        }
        self.named |= bit;
        self.member != Member::Other
    }

    #[inline]
    fn string(&mut self, octets: &[u8], is_plain: bool) {
        if !is_plain || !self.literal.is_empty() || octets.len() > limits::EVENT_LITERAL {
            return self.unusual_string(octets);
        }
        if let Type::Begun { at } = self.kind {
            let unknown = || Type::Unknown { at, found: Some(plain_text(octets)) };
            self.kind = known_type(octets).map_or_else(unknown, Type::Known);
            return;
        }
        let text = match self.member {
            Member::ApiVersion => same_or_new(&mut self.common.api_version, octets),
            Member::Kind => same_or_new(&mut self.common.kind, octets),
            Member::Namespace => same_or_new(&mut self.common.namespace, octets),
            _ => plain_text(octets),
        };
        self.note(self.member, Some(text));
    }

    #[inline(never)]
    fn text(&mut self, at: u64, octets: &[u8], is_plain: bool) {
        // Of what is shown of any event nothing but the string is noted.
        if (self.summarises && self.member.is_shown()) || self.value(Shape::String, at) {
            self.string(octets, is_plain);
        }
    }

    fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.member = Member::Other;
        if self.depth == 2
            && let Some(rows) = &mut self.rows
        {
            rows.within = false;
        }
    }
}

/// The member that a name stands for, in the object at a depth.
#[inline(always)]
fn member(depth: u64, name: &[u8]) -> Member {
    match depth {
        1 if is(name, b"type") => Member::Type,
        1 if is(name, b"object") => Member::Object,
        2 if is(name, b"kind") => Member::Kind,
        2 if is(name, b"apiVersion") => Member::ApiVersion,
        2 if is(name, b"metadata") => Member::Metadata,
        2 if is(name, b"reason") => Member::Reason,
        2 if is(name, b"message") => Member::Message,
        2 if is(name, b"rows") => Member::Rows,
        3 if is(name, b"name") => Member::Name,
        3 if is(name, b"namespace") => Member::Namespace,
        3 if is(name, b"resourceVersion") => Member::ResourceVersion,
        3 if is(name, b"creationTimestamp") => Member::Created,
        3 if is(name, b"annotations") => Member::Annotations,
        4 if is(name, b"k8s.io/initial-events-end") => Member::InitialEventsEnd,
        4 if is(name, b"object") => Member::RowObject,
        5 if is(name, b"metadata") => Member::RowMetadata,
        6 if is(name, b"name") => Member::RowName,
        6 if is(name, b"namespace") => Member::RowNamespace,
        6 if is(name, b"resourceVersion") => Member::RowVersion,
        _ => Member::Other,
    }
}

/// Where a summary shows the string of a member, if it shows it as it is.
#[inline]
const fn named(summary: &mut Summary, member: Member) -> Option<&mut Option<SmolStr>> {
    match member {
        Member::ApiVersion => Some(&mut summary.api_version),
        Member::Kind => Some(&mut summary.kind),
        Member::Name => Some(&mut summary.name),
        Member::Namespace => Some(&mut summary.namespace),
        Member::ResourceVersion => Some(&mut summary.resource_version),
        _ => None,
    }
}

/// Whether a text is the one given: as its length is known, some words are
/// compared, where the patterns of `match` compare octets.
#[inline(always)]
fn is<const N: usize>(text: &[u8], given: &[u8; N]) -> bool {
    text.len() == N && text.first_chunk() == Some(given)
}

/// The type of watch events that a string names.
#[inline(always)]
fn known_type(text: &[u8]) -> Option<&'static str> {
    match text {
        _ if is(text, b"ADDED") => Some("ADDED"),
        _ if is(text, b"MODIFIED") => Some("MODIFIED"),
        _ if is(text, b"DELETED") => Some("DELETED"),
        _ if is(text, b"BOOKMARK") => Some("BOOKMARK"),
        _ if is(text, b"ERROR") => Some("ERROR"),
        _ => None,
    }
}

/// The text that was the last of its kind if it is the same, so that nothing
/// is made of it anew.
#[inline(always)]
fn same_or_new(last: &mut SmolStr, octets: &[u8]) -> SmolStr {
    if last.as_bytes() != octets {
        *last = plain_text(octets);
    }
    last.clone()
}

/// The seconds since 1970 of a time as Kubernetes writes it (RFC 3339).
fn seconds(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

/// A shape with its article.
const fn plain(shape: Shape) -> &'static str {
    match shape {
        Shape::Object => "an object",
        Shape::Array => "an array",
        Shape::String => "a string",
        Shape::Number => "a number",
        Shape::Boolean => "a boolean",
        Shape::Null => "null",
    }
}

/// A text's shape.
const fn json(shape: Shape) -> &'static str {
    match shape {
        Shape::Object => "a JSON object",
        Shape::Array => "a JSON array",
        Shape::String => "a JSON string",
        Shape::Number => "a JSON number",
        Shape::Boolean => "a JSON boolean",
        Shape::Null => "a JSON null",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_known_and_nothing_else() {
        for known in TYPES {
            assert_eq!(known_type(known.as_bytes()), Some(known));
            for other in [&known[1..], &known[..known.len() - 1], &format!("{known}S"), &known.to_lowercase()]
            {
                assert_eq!(known_type(other.as_bytes()), None);
            }
        }
    }
}
