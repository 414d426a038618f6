//! The report layer: findings → what people and programs read.
//!
//! Findings come as they are made. Those of one exchange are in order;
//! exchanges interleave as they do in the capture. What a finding refers to
//! (an event of a chunk, a chunk of a violation) came before it.

mod again;
mod buffer;
mod cases;
mod closing;
mod codes;
pub mod csv;
mod failures;
mod figures;
pub mod follow;
pub mod github;
pub mod html;
pub mod json;
pub mod jsonl;
pub mod junit;
mod lesson;
pub mod markdown;
mod octets;
mod packetless;
pub mod payload;
mod phrases;
mod prose;
mod rows;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod samples;
pub mod sarif;
mod sheet;
pub mod spool;
pub mod stall;
pub mod table;
pub mod text;
pub mod walkthrough;
mod why;

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::chunk::{Chunk, LastChunk};
use crate::event::{Kind, MaybeSummary};
use crate::hints::Hint;
use crate::hints::pace::Timing;
use crate::http::{BodyEnd, Framing, Protocol, RequestHead, ResponseHead, Side};
use crate::lint::Lint;
use crate::units::{FrameNo, Stamp, StreamId, Timestamp};
use crate::verdict::{Allow, Overlap, Verdict};

/// An exchange's place: its stream, and its number on it from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExchangeId {
    /// The TCP stream; `None` for raw HTTP.
    pub stream: Option<StreamId>,
    /// The exchange on it.
    pub index: u64,
}

/// What is expected of an exchange's chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expect {
    /// Each chunk holds exactly one event of this kind.
    Kind(Kind),
    /// Only the framing is checked (`--expect any`).
    Any,
}

impl Expect {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.name(),
            Self::Any => "any",
        }
    }
}

/// What is known of an exchange before its response body is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeHead {
    /// Its place.
    pub id: ExchangeId,
    /// The client; `None` for raw HTTP.
    pub client: Option<SocketAddr>,
    /// The server; `None` for raw HTTP.
    pub server: Option<SocketAddr>,
    /// The request, where it was seen.
    pub request: Option<RequestHead>,
    /// The response, where it was seen.
    pub response: Option<ResponseHead>,
    /// How the response body is delimited; `None` where nobody can know.
    pub framing: Option<Framing>,
    /// What its chunks are expected to hold.
    pub expect: Option<Expect>,
}

/// An event, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number in its exchange, from 1.
    pub index: u64,
    /// Where it begins in the decoded body.
    pub offset: u64,
    /// Its octets in the decoded body.
    pub size: u64,
    /// The chunk that holds its first octet.
    pub first_chunk: u64,
    /// The chunk that holds its last octet.
    pub last_chunk: u64,
    /// What is shown of it.
    pub summary: MaybeSummary,
}

/// A chunk and what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedChunk {
    /// Whose exchange.
    pub exchange: ExchangeId,
    /// Of the request or of the response.
    pub side: Side,
    /// The chunk.
    pub chunk: Box<Chunk>,
    /// What its payload decodes to, in a body whose codings are decoded.
    pub decoded: Option<Box<Decoded>>,
    /// Whether its payload, all of it, is valid UTF-8; `None` if no report asked.
    pub utf8: Option<bool>,
    /// The verdict.
    pub verdict: Verdict,
    /// The whole events of which it holds octets, in order. Such as began
    /// before it or end behind it are among them, but not what never became whole.
    pub events: SmallVec<[Arc<Event>; 1]>,
    /// With how many events, whole or never whole, it shares octets.
    pub overlap: Overlap,
    /// The number kept for an event that still went on when this record had to
    /// be let go to bound memory; `None` in all but monstrous streams.
    pub unresolved_event: Option<u64>,
}

/// What a chunk of a body with codings decodes to: the octets that its payload
/// completed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decoded {
    /// Their place in the decoded body.
    pub span: Range<u64>,
    /// The first of them, as many as are kept.
    pub octets: Vec<u8>,
}

impl JudgedChunk {
    /// Where its octets lie in the body that events are read in: the decoded
    /// one where there are codings.
    #[must_use]
    pub fn span(&self) -> Range<u64> {
        match &self.decoded {
            Some(decoded) => decoded.span.clone(),
            None => self.chunk.offset..self.chunk.offset.saturating_add(self.chunk.size),
        }
    }
}

/// Why a check fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ViolationCode {
    /// A chunk holds several events.
    SeveralEvents,
    /// A chunk holds a part of an event.
    PartialEvent,
    /// A chunk holds parts of several events.
    MixedEvents,
    /// A chunk holds something else.
    NotAnEvent,
    /// The chunk framing is broken.
    BadFraming,
    /// The sender cut the body off.
    TruncatedBody,
}

impl ViolationCode {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SeveralEvents => "several-events",
            Self::PartialEvent => "partial-event",
            Self::MixedEvents => "mixed-events",
            Self::NotAnEvent => "not-an-event",
            Self::BadFraming => "bad-framing",
            Self::TruncatedBody => "truncated-body",
        }
    }
}

/// A failed check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Whose exchange.
    pub exchange: ExchangeId,
    /// Of the request or of the response.
    pub side: Side,
    /// Which rule.
    pub code: ViolationCode,
    /// The chunk; `None` between chunks.
    pub chunk: Option<u64>,
    /// The frame to look up: that of the chunk's last octet, of the octet at
    /// fault, of the FIN or RST; `None` for raw HTTP.
    pub frame: Option<FrameNo>,
    /// One sentence without a full stop: what the chunk holds, or what is wrong.
    pub message: String,
}

/// A body, without its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// How it is delimited; `None` where nobody can know.
    pub framing: Option<Framing>,
    /// Octets received, after de-chunking.
    pub size: u64,
    /// How it ends.
    pub end: BodyEnd,
    /// The packet that ended it, where one did.
    pub end_stamp: Option<Stamp>,
    /// Whether that was a reset.
    pub reset: bool,
    /// Octets skipped before the stream was joined; `None` if it was not.
    pub joined: Option<u64>,
    /// How many chunks it has.
    pub chunks: u64,
    /// The last, zero-size chunk.
    pub last_chunk: Option<Box<LastChunk>>,
}

impl Body {
    /// One of which nothing came yet.
    pub(crate) const fn begun(framing: Option<Framing>, joined: Option<u64>) -> Self {
        Self {
            framing,
            size: 0,
            end: BodyEnd::Open,
            end_stamp: None,
            reset: false,
            joined,
            chunks: 0,
            last_chunk: None,
        }
    }
}

/// An exchange's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExchangeVerdict {
    /// At least one chunk was checked, and none failed.
    Pass,
    /// A check failed.
    Fail,
    /// Something could not be checked, since the capture lacks octets.
    Unverified,
    /// Nothing was checked.
    Unchecked,
}

impl ExchangeVerdict {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unverified => "unverified",
            Self::Unchecked => "unchecked",
        }
    }
}

/// How many of an exchange's response chunks have which verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Exactly one event.
    pub one: u64,
    /// Several.
    pub several: u64,
    /// A part of one.
    pub part: u64,
    /// Parts of several.
    pub mixed: u64,
    /// None.
    pub invalid: u64,
    /// Not known: the capture lacks octets.
    pub unverified: u64,
    /// Not checked.
    pub unchecked: u64,
}

impl Tally {
    /// All chunks.
    #[must_use]
    pub const fn chunks(&self) -> u64 {
        self.checked() + self.unverified + self.unchecked
    }

    /// The count of a verdict.
    pub const fn of(&mut self, verdict: &Verdict) -> &mut u64 {
        match verdict {
            Verdict::One => &mut self.one,
            Verdict::Several => &mut self.several,
            Verdict::Part => &mut self.part,
            Verdict::Mixed => &mut self.mixed,
            Verdict::Invalid(_) => &mut self.invalid,
            Verdict::Unverified(_) => &mut self.unverified,
            Verdict::Unchecked(_) => &mut self.unchecked,
        }
    }

    /// Those with a verdict from `one` to `invalid`.
    #[must_use]
    pub const fn checked(&self) -> u64 {
        self.one + self.several + self.part + self.mixed + self.invalid
    }
}

/// An exchange, when nothing more comes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeEnd {
    /// What its start line and fields said.
    pub head: Arc<ExchangeHead>,
    /// The request's body; `None` where no request was seen.
    pub request_body: Option<Body>,
    /// The response's body; `None` where no response was seen.
    pub response_body: Option<Body>,
    /// The verdict.
    pub verdict: ExchangeVerdict,
    /// The verdicts of the response's chunks.
    pub tally: Tally,
    /// How many events are whole.
    pub events: u64,
    /// How many violations there are.
    pub violations: u64,
    /// How many findings `--lint` has on it.
    pub lints: u64,
    /// How many of them fail the check (`--deny`).
    pub denied: u64,
    /// Why chunk edges aren't event edges, where the capture shows it.
    pub hints: Vec<Hint>,
    /// The response in time; `None` where it is no event stream or has no times.
    pub timing: Option<Timing>,
}

/// What went wrong in reading a capture, or what it lacks: no violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its code, as the contract lists them.
    pub code: &'static str,
    /// The stream that it is about, if it is about one.
    pub stream: Option<StreamId>,
    /// The first frame with it.
    pub frame: Option<FrameNo>,
    /// How often it happened.
    pub count: u64,
    /// What, and where it helps, what to do.
    pub message: String,
}

/// What kind of file a capture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// pcap, of any variant.
    Pcap,
    /// pcapng.
    Pcapng,
    /// Raw HTTP responses.
    Http,
    /// No file: segments that were decoded elsewhere
    /// ([`Analysis::segments`](crate::pipeline::Analysis::segments)).
    Segments,
}

impl Format {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
            Self::Http => "http",
            Self::Segments => "segments",
        }
    }
}

/// A stream that isn't HTTP/1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherStream {
    /// The stream.
    pub stream: StreamId,
    /// What it speaks.
    pub protocol: Protocol,
}

/// A capture, when all of it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureEnd {
    /// Its path as given; `-` for standard input.
    pub path: String,
    /// Its parts, where several files are one recording.
    pub parts: Vec<String>,
    /// Its format; `None` where it could not be read.
    pub format: Option<Format>,
    /// Why it could not be read, or not to its end.
    pub unread: Option<String>,
    /// The link types it declares, by name, without duplicates.
    pub link_types: Vec<String>,
    /// How many packets it has.
    pub packets: u64,
    /// How many TCP streams.
    pub streams: u64,
    /// What the filters left out of it.
    pub left_out: LeftOut,
    /// The first time that a packet has.
    pub first_time: Option<Timestamp>,
    /// The last packet's time.
    pub last_time: Option<Timestamp>,
    /// What went wrong or lacks.
    pub problems: Vec<Problem>,
    /// Streams that aren't HTTP/1, at most 1,000.
    pub other_streams: Vec<OtherStream>,
    /// How many streams are TLS, HTTP/2, or something else.
    pub other_counts: [(Protocol, u64); 3],
}

/// What a capture has and the filters don't select; it is in no other count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// TCP streams.
    pub streams: u64,
    /// Exchanges on streams that are selected.
    pub exchanges: u64,
}

/// Something that was found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Finding<'a> {
    /// A capture begins: its path.
    Capture(&'a str),
    /// An exchange's heads are known; what is expected of it is settled.
    Exchange(&'a ExchangeHead),
    /// An event is whole.
    Event(ExchangeId, &'a Arc<Event>),
    /// A chunk's verdict is known.
    Chunk(&'a JudgedChunk),
    /// A check failed.
    Violation(&'a Violation),
    /// Something in a watch's story (`--lint`).
    Lint(&'a Lint),
    /// Nothing more comes of an exchange.
    ExchangeEnd(&'a ExchangeEnd),
    /// A capture is done.
    CaptureEnd(&'a CaptureEnd),
}

/// The verdict on everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Status 0.
    Pass,
    /// Status 1 or 2.
    Fail,
    /// Status 3.
    Empty,
}

impl Outcome {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Empty => "empty",
        }
    }
}

/// Counts over all captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Captures given.
    pub captures: u64,
    /// Captures that could not be read, or not to their end.
    pub unreadable: u64,
    /// Packets.
    pub packets: u64,
    /// TCP streams.
    pub streams: u64,
    /// Exchanges.
    pub exchanges: u64,
    /// Exchanges with at least one checked chunk.
    pub checked: u64,
    /// Chunks of responses.
    pub chunks: u64,
    /// Whole events.
    pub events: u64,
    /// Violations.
    pub violations: u64,
    /// Findings of `--lint` that fail the check (`--deny`).
    pub denied: u64,
    /// Chunks that could not be verified.
    pub unverified: u64,
    /// Exchanges whose verdict is `unverified`.
    pub unverified_exchanges: u64,
}

/// The end of a run: the counts, and what follows from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conclusion {
    /// The counts.
    pub totals: Totals,
    /// The verdict.
    pub outcome: Outcome,
}

/// What has begun in the chunked body of a response, and isn't whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// Whose exchange.
    pub exchange: ExchangeId,
    /// The chunk of which not all octets came.
    pub chunk: Option<ChunkUnderWay>,
    /// The event of which not all octets came.
    pub event: Option<EventUnderWay>,
}

/// A chunk that isn't whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkUnderWay {
    /// Its number.
    pub index: u64,
    /// The octets of payload that came.
    pub received: u64,
    /// Those that its size line declares.
    pub size: u64,
}

/// An event that isn't whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventUnderWay {
    /// The chunk that holds its first octet.
    pub first_chunk: u64,
    /// The octets of it that came.
    pub received: u64,
}

impl Conclusion {
    /// The exit status that follows: 0 where something was checked and nothing
    /// failed, 1 where a check failed, 2 where a capture could not be read, 3
    /// where there was nothing to check, unless `allow` lets that pass.
    #[must_use]
    pub const fn exit_status(&self, allow: Allow) -> u8 {
        match self.outcome {
            _ if self.totals.unreadable > 0 => 2,
            Outcome::Pass => 0,
            Outcome::Fail => 1,
            Outcome::Empty if allow.nothing => 0,
            Outcome::Empty => 3,
        }
    }
}

/// Writes findings in some format.
pub trait Report {
    /// Takes the next finding.
    ///
    /// # Errors
    /// What the output answered.
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()>;

    /// Takes what is under way on an exchange of which something came. Told
    /// only where findings are followed
    /// ([`Options::follow`](crate::pipeline::options::Options::follow)).
    ///
    /// # Errors
    /// What the output answered.
    fn under_way(&mut self, _: &UnderWay) -> io::Result<()> {
        Ok(())
    }

    /// Time passes: told after each packet, and a few times a second where
    /// none comes. Told only where findings are followed.
    ///
    /// # Errors
    /// What the output answered.
    fn moment(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Writes what is left, when all captures are done.
    ///
    /// # Errors
    /// What the output answered.
    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()>;
}
