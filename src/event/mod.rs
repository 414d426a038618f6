//! The event layer: the octets of a body, chunk edges ignored, as a client
//! reads them → events.
//!
//! This layer knows nothing of chunks, frames or losses. It believes that the
//! octets which it is given follow each other; who lost some calls
//! [`Framer::resume`]. What it promises:
//!
//! * **Any edges.** The same octets give the same items, wherever the slices
//!   end: inside an escape, inside a character, one octet at a time.
//! * **One pass.** No octet is looked at again because the slice ended before
//!   it, and no event is kept: of a text there are the few octets that reports
//!   show, and one bit for each level that it is nested.
//! * **The grammar decides.** JSON is what RFC 8259 says, an event stream what
//!   WHATWG HTML says: no other parser's habits, limits or leniencies.
//!
//! | kind | an event | framer |
//! | --- | --- | --- |
//! | [`Kind::Watch`] | a JSON object with `type` and `object` | `texts` with `watch` |
//! | [`Kind::WatchProtobuf`] | a length, and a protobuf message with `type` and `object` | `protobuf` |
//! | [`Kind::WatchCbor`] | a CBOR map with `type` and `object` | `cbor` |
//! | [`Kind::Json`] | a JSON text | `texts` |
//! | [`Kind::Ndjson`] | the JSON text of a line | `ndjson` |
//! | [`Kind::Sse`] | lines with a `data` field up to an empty one | `sse` |
//!
//! `json` is the grammar of JSON, `string` and `number` that of its strings and
//! numbers, `scan` finds where strings end, and `kept` is what is remembered of
//! an event.

mod cbor;
mod json;
mod kept;
mod ndjson;
mod number;
mod protobuf;
mod scan;
mod sse;
mod string;
mod texts;
mod watch;

use std::ops::{Deref, DerefMut, Range};

use smol_str::SmolStr;

use self::cbor::Sequence;
use self::ndjson::Lines;
use self::protobuf::Frames;
use self::sse::EventStream;
use self::texts::{AnyText, Texts};
use self::watch::WatchEvent;

/// What one chunk must hold exactly one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Kubernetes watch events in JSON.
    Watch,
    /// Kubernetes watch events in protobuf.
    WatchProtobuf,
    /// Kubernetes watch events in CBOR.
    WatchCbor,
    /// JSON texts of any shape.
    Json,
    /// Lines with a JSON text each.
    Ndjson,
    /// Server-sent events.
    Sse,
}

impl Kind {
    /// Its name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Watch | Self::WatchProtobuf | Self::WatchCbor => "watch",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Sse => "sse",
        }
    }

    /// Whether `octets` between two items, or behind the last one, say nothing.
    pub(crate) fn ends_with(self, octets: &[u8]) -> bool {
        match self {
            // RFC 8259 §2
            Self::Watch | Self::Json => octets.iter().all(|octet| b" \t\n\r".contains(octet)),
            Self::WatchProtobuf | Self::WatchCbor | Self::Ndjson | Self::Sse => octets.is_empty(),
        }
    }

    /// Whether its events are JSON texts, which are UTF-8.
    pub(crate) const fn is_json(self) -> bool {
        matches!(self, Self::Watch | Self::Json | Self::Ndjson)
    }

    /// Whether its events are Kubernetes watch events, in whatever encoding.
    #[must_use]
    pub const fn is_watch(self) -> bool {
        matches!(self, Self::Watch | Self::WatchProtobuf | Self::WatchCbor)
    }
}

/// What reports show of an event. Unknown is `None`. Short names, as most are,
/// take no memory of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// `type` of a watch event; the event field of an `sse` event.
    pub event_type: Option<SmolStr>,
    /// `object.apiVersion`.
    pub api_version: Option<SmolStr>,
    /// `object.kind`.
    pub kind: Option<SmolStr>,
    /// `object.metadata.namespace`.
    pub namespace: Option<SmolStr>,
    /// `object.metadata.name`.
    pub name: Option<SmolStr>,
    /// `object.metadata.resourceVersion`.
    pub resource_version: Option<SmolStr>,
    /// `object.metadata.creationTimestamp` of an ADDED event, in seconds since
    /// 1970.
    pub created: Option<i64>,
    /// `object.reason` of an ERROR event.
    pub reason: Option<SmolStr>,
    /// `object.message` of an ERROR event.
    pub message: Option<SmolStr>,
    /// Whether a BOOKMARK event ends what existed already: its annotation
    /// `k8s.io/initial-events-end` is `true`.
    pub initial_events_end: bool,
    /// The last event ID field of an `sse` event.
    pub id: Option<SmolStr>,
    /// The first 120 characters of the data of an `sse` event, or of the text
    /// of a `json` or `ndjson` one.
    pub data: Option<SmolStr>,
}

impl Summary {
    /// Copies it over another one: mostly both have much in common, and nothing
    /// of it has memory of its own.
    fn write_over(&self, other: &mut Self) {
        let Self {
            event_type,
            api_version,
            kind,
            namespace,
            name,
            resource_version,
            created,
            reason,
            message,
            initial_events_end,
            id,
            data,
        } = self;
        write_over(event_type, &mut other.event_type);
        write_over(api_version, &mut other.api_version);
        write_over(kind, &mut other.kind);
        write_over(namespace, &mut other.namespace);
        write_over(name, &mut other.name);
        write_over(resource_version, &mut other.resource_version);
        write_over(reason, &mut other.reason);
        write_over(message, &mut other.message);
        write_over(id, &mut other.id);
        write_over(data, &mut other.data);
        other.created = *created;
        other.initial_events_end = *initial_events_end;
    }
}

/// Copies one of its texts over another one, unless both are unknown, as most are.
#[inline(always)]
fn write_over(from: &Option<SmolStr>, to: &mut Option<SmolStr>) {
    if from.is_some() || to.is_some() {
        to.clone_from(from);
    }
}

/// A [`Summary`] to read, or none where nobody asked for one: that reads as one
/// of which nothing is known, and takes no memory.
#[derive(Debug, Clone, Default)]
pub struct MaybeSummary(Option<Box<Summary>>);

impl MaybeSummary {
    /// The summary, if it was made.
    fn made(&mut self) -> Option<&mut Summary> {
        self.0.as_deref_mut()
    }
}

impl From<Summary> for MaybeSummary {
    fn from(summary: Summary) -> Self {
        Self(Some(Box::new(summary)))
    }
}

impl Deref for MaybeSummary {
    type Target = Summary;

    #[inline]
    fn deref(&self) -> &Summary {
        static NOTHING: Summary = Summary {
            event_type: None,
            api_version: None,
            kind: None,
            namespace: None,
            name: None,
            resource_version: None,
            created: None,
            reason: None,
            message: None,
            initial_events_end: false,
            id: None,
            data: None,
        };
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for MaybeSummary {
    #[inline]
    fn deref_mut(&mut self) -> &mut Summary {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for MaybeSummary {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for MaybeSummary {}

/// Something that a framer read in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventItem {
    /// A whole event.
    Event {
        /// Its octets in the decoded body.
        span: Range<u64>,
        /// What reports show of it.
        summary: MaybeSummary,
    },
    /// An item that is no event. Where it is a well-formed one (a JSON value
    /// of another shape), reading goes on behind it; else nothing more is read
    /// until [`Framer::resume`].
    Invalid {
        /// Its octets, up to and with the one at fault.
        span: Range<u64>,
        /// The octet at fault, in the decoded body.
        at: u64,
        /// What is wrong, a clause without the place.
        message: String,
        /// Whether reading goes on behind it.
        well_formed: bool,
    },
    /// Octets that are no event and no fault: comments of an event stream.
    Filler {
        /// Its octets.
        span: Range<u64>,
    },
    /// What may be the rest of an item whose beginning was lost. What follows
    /// begins anew.
    Rest {
        /// Its octets.
        span: Range<u64>,
    },
}

/// An item that has begun and is not whole yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenItem {
    /// Its first octet, in the decoded body.
    pub start: u64,
    /// Whether what was read of it already shows an event of the kind (for a
    /// watch: `type` is one of the five and `object` begins as an object).
    pub recognised: bool,
    /// Whether it consists of comments only, so far: if an empty line comes
    /// next, it is filler.
    pub filler_only: bool,
    /// Behind its last octet, where all of its octets were read and only its
    /// line end is due; `u64::MAX` where it goes on for all that is known.
    pub end: u64,
    /// Whether what comes next decides if it goes on, or is an event at all: a
    /// line whose text can end here, a block without data.
    pub undecided: bool,
}

/// Finds the events of one body.
#[derive(Debug)]
pub struct Framer {
    machine: Machine,
}

/// One machine a kind.
#[derive(Debug)]
enum Machine {
    Watch(Box<Texts<WatchEvent>>),
    WatchProtobuf(Box<Frames>),
    WatchCbor(Box<Sequence>),
    Json(Box<Texts<AnyText>>),
    Ndjson(Box<Lines>),
    Sse(Box<EventStream>),
}

impl Framer {
    /// A framer at the beginning of a body that holds events of a kind.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self::with(kind, true)
    }

    /// The same where nobody asks for summaries: they are left empty where
    /// that saves work. The items and their places are the same.
    #[must_use]
    pub fn without_summaries(kind: Kind) -> Self {
        Self::with(kind, false)
    }

    fn with(kind: Kind, summarises: bool) -> Self {
        let machine = match kind {
            Kind::Watch => Machine::Watch(Box::new(Texts::new(WatchEvent::new(summarises)))),
            Kind::WatchProtobuf => Machine::WatchProtobuf(Box::new(Frames::new(summarises))),
            Kind::WatchCbor => Machine::WatchCbor(Box::new(Sequence::new(summarises))),
            Kind::Json => Machine::Json(Box::new(Texts::new(AnyText::new(summarises)))),
            Kind::Ndjson => Machine::Ndjson(Box::new(Lines::new(summarises))),
            Kind::Sse => Machine::Sse(Box::new(EventStream::new())),
        };
        Self { machine }
    }

    /// Reads octets of the decoded body from the front of `octets`, whose
    /// first octet is at `offset` of the body, and moves both up to the end of
    /// the next item (an NDJSON event's line end is read with it). `None`: all
    /// octets are read, and no further item is complete.
    pub fn read(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        match &mut self.machine {
            Machine::Watch(texts) => texts.read(octets, offset),
            Machine::WatchProtobuf(frames) => frames.read(octets, offset),
            Machine::WatchCbor(sequence) => sequence.read(octets, offset),
            Machine::Json(texts) => texts.read(octets, offset),
            Machine::Ndjson(lines) => lines.read(octets, offset),
            Machine::Sse(stream) => stream.read(octets, offset),
        }
    }

    /// Takes the summary of an event that was told and that nobody needs any
    /// more: another one may be written over it, so that it takes no new memory.
    pub(crate) fn reuse(&mut self, summary: MaybeSummary) {
        if let Machine::Watch(texts) = &mut self.machine {
            texts.reuse(summary);
        }
    }

    /// Puts it at the beginning of another body, if that holds events of the same
    /// kind and JSON texts: so many short bodies take no more memory than one, and
    /// how texts begin is learnt once.
    pub(crate) fn begin_anew(&mut self, kind: Kind) -> bool {
        match (&mut self.machine, kind) {
            (Machine::Watch(texts), Kind::Watch) => texts.begin_anew(),
            (Machine::Json(texts), Kind::Json) => texts.begin_anew(),
            _ => return false,
        }
        true
    }

    /// The item that has begun but isn't whole.
    #[must_use]
    #[inline]
    pub fn open(&self) -> Option<OpenItem> {
        match &self.machine {
            Machine::Watch(texts) => texts.open(),
            Machine::WatchProtobuf(frames) => frames.open(),
            Machine::WatchCbor(sequence) => sequence.open(),
            Machine::Json(texts) => texts.open(),
            Machine::Ndjson(lines) => lines.open(),
            Machine::Sse(stream) => stream.open(),
        }
    }

    /// Begins anew with the octets to come, whose first is at `offset` of the
    /// body: one that an item may begin with. An open item is discarded.
    pub fn resume(&mut self, offset: u64) {
        match &mut self.machine {
            Machine::Watch(texts) => texts.resume(),
            Machine::WatchProtobuf(frames) => frames.resume(),
            Machine::WatchCbor(sequence) => sequence.resume(),
            Machine::Json(texts) => texts.resume(),
            Machine::Ndjson(lines) => lines.resume(),
            Machine::Sse(stream) => stream.resume(offset),
        }
    }

    /// The same where octets before were lost: an item may have begun there
    /// and go on. What can't be told from the rest of one is no event:
    ///
    /// * A JSON text that stands alone may lie within another one. It counts
    ///   once the next text begins, or the body ends, right behind it.
    /// * The lines of an event stream may go on with one that began before: an
    ///   event begins here if they begin with a comment or a field, else behind
    ///   an empty line.
    /// * A line of JSON can't hold a second text, so that one which ends with
    ///   its line began with it; and a watch event, in JSON, protobuf or
    ///   CBOR, shows what it is.
    pub fn resume_amid(&mut self, offset: u64) {
        match &mut self.machine {
            Machine::Watch(texts) => texts.resume(),
            Machine::WatchProtobuf(frames) => frames.resume(),
            Machine::WatchCbor(sequence) => sequence.resume(),
            Machine::Json(texts) => texts.resume_amid(),
            Machine::Ndjson(lines) => lines.resume(),
            Machine::Sse(stream) => stream.resume_amid(offset),
        }
    }

    /// Whether an item was at fault, so that nothing is read until
    /// [`Framer::resume`]: [`Framer::read`] passes over all octets.
    #[must_use]
    pub fn is_faulted(&self) -> bool {
        match &self.machine {
            Machine::Watch(texts) => texts.is_faulted(),
            Machine::WatchProtobuf(frames) => frames.is_faulted(),
            Machine::WatchCbor(sequence) => sequence.is_faulted(),
            Machine::Json(texts) => texts.is_faulted(),
            Machine::Ndjson(lines) => lines.is_faulted(),
            Machine::Sse(_) => false,
        }
    }

    /// Whether the item that has begun turned out to be no event, and goes on
    /// all the same: octets whose place is guessed need no longer be read as
    /// if it did.
    #[must_use]
    pub fn is_hopeless(&self) -> bool {
        match &self.machine {
            Machine::WatchProtobuf(frames) => frames.is_hopeless(),
            Machine::WatchCbor(sequence) => sequence.is_hopeless(),
            Machine::Watch(_) | Machine::Json(_) | Machine::Ndjson(_) | Machine::Sse(_) => false,
        }
    }

    /// The body is complete: the item that this ends, if any (a number, the
    /// last line of NDJSON). One that is unfinished stays open.
    pub fn finish(&mut self) -> Option<EventItem> {
        match &mut self.machine {
            Machine::Watch(texts) => texts.finish(),
            // Frames and CBOR items end with their last octet.
            Machine::WatchProtobuf(_) | Machine::WatchCbor(_) => None,
            Machine::Json(texts) => texts.finish(),
            Machine::Ndjson(lines) => lines.finish(),
            // "Once the end of the file is reached, any pending data must be
            // discarded" (WHATWG HTML, 9.2.6).
            Machine::Sse(_) => None,
        }
    }
}

/// Passes over octets at the front, `count` of them.
fn advance(octets: &mut &[u8], offset: &mut u64, count: usize) {
    *octets = octets.get(count..).unwrap_or_default();
    *offset = offset.saturating_add(count as u64);
}

/// Passes over all octets.
fn swallow(octets: &mut &[u8], offset: &mut u64) {
    advance(octets, offset, octets.len());
}

/// Reads the octet at fault, at the front: the invalid item that it ends.
fn fault(start: u64, octets: &mut &[u8], offset: &mut u64, message: String) -> EventItem {
    let at = *offset;
    advance(octets, offset, 1);
    EventItem::Invalid { span: start..*offset, at, message, well_formed: false }
}

#[cfg(test)]
mod tests;
