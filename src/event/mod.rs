//! The event layer: the octets of a body, chunk edges ignored, as a client
//! reads them → events.

use std::ops::Range;

/// What one chunk must hold exactly one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Kubernetes watch events in JSON.
    Watch,
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
            Self::Watch => "watch",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Sse => "sse",
        }
    }
}

/// What reports show of an event. Unknown is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// `type` of a watch event; the event field of an `sse` event.
    pub event_type: Option<String>,
    /// `object.apiVersion`.
    pub api_version: Option<String>,
    /// `object.kind`.
    pub kind: Option<String>,
    /// `object.metadata.namespace`.
    pub namespace: Option<String>,
    /// `object.metadata.name`.
    pub name: Option<String>,
    /// `object.metadata.resourceVersion`.
    pub resource_version: Option<String>,
    /// The last event ID field of an `sse` event.
    pub id: Option<String>,
    /// The first 120 characters of the data of an `sse` event, or of the text
    /// of a `json` or `ndjson` one.
    pub data: Option<String>,
}

/// Something that a framer read in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventItem {
    /// A whole event.
    Event {
        /// Its octets in the decoded body.
        span: Range<u64>,
        /// What reports show of it.
        summary: Box<Summary>,
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
}

/// An item that has begun and is not whole yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenItem {
    /// Its first octet, in the decoded body.
    pub start: u64,
    /// Whether what was read of it already shows an event of the kind (for a
    /// watch: `type` is one of the five and `object` begins as an object).
    pub recognised: bool,
}
