//! The verdict layer: chunk ranges × event ranges → verdicts.
//!
//! Interval arithmetic only: it parses nothing, so a new event kind cannot
//! change it.

/// What is wrong in a chunk that holds something else than events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The octet at fault, counted in the decoded body.
    pub at: u64,
    /// What is wrong there, a clause.
    pub message: String,
}

/// Whether a chunk holds exactly one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Exactly one event, whole, and nothing else.
    One,
    /// Two or more events, each whole, and nothing else.
    Several,
    /// A part of one event, and nothing of another.
    Part,
    /// Octets of two or more events, of which at least one is not whole.
    Mixed,
    /// Not an event of the expected kind.
    Invalid(Fault),
    /// The capture lacks some of its octets, or octets that are needed to know.
    Unverified(String),
    /// No expectation applies; with the reason where it isn't the exchange's.
    Unchecked(Option<String>),
}

impl Verdict {
    /// Its name in reports.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Several => "several",
            Self::Part => "part",
            Self::Mixed => "mixed",
            Self::Invalid(_) => "invalid",
            Self::Unverified(_) => "unverified",
            Self::Unchecked(_) => "unchecked",
        }
    }
}
