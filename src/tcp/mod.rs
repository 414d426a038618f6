//! The TCP layer: segments → the octets of each direction, in order.
//!
//! The layer watches two endpoints from somewhere between them, and believes
//! what a careful observer may believe (RFC 9293):
//!
//! - An octet is what its first copy says; it belongs to the packet that
//!   brought that copy. Copies that differ are told, as far as they can be
//!   compared: with what waits always, with what was delivered by digests of
//!   the last few segments.
//! - A hole is waited for. It is given up when the receiver has acknowledged
//!   it and some more packets, or a second, have passed: a capture on several
//!   interfaces can hold a segment after its own acknowledgement. What the
//!   snap length cut off is given up with its acknowledgement. A hole that
//!   nobody acknowledged stands until its direction ends or holds back too
//!   much. One acknowledged number with nothing behind it is taken for a FIN
//!   that was not captured.
//! - A direction of which nothing at all was captured has no holes, and
//!   nothing waits for it.
//! - No octet comes before what its sender had received when it sent it: it
//!   waits for the octets of the other direction that its segment
//!   acknowledges, with the same patience.
//! - A FIN or RST has its turn behind the octets before it. A RST must lie
//!   within the window; one that its receiver didn't take is forgotten.
//! - Streams are numbered as Wireshark numbers them: by first packet, and anew
//!   with a SYN whose number isn't its sender's initial one. What comes of a
//!   connection after very many others have ended counts as another: of those
//!   that ended only the last are remembered.
//!
//! What is kept for a connection is small while its octets come in order: they
//! pass through borrowed. What must wait is copied, and bounded for each
//! direction, for all together, and by the number of open connections.
//!
//! `seq` is the only place where sequence numbers wrap. `table` finds and
//! numbers connections, by their `key`, and `past` remembers those that are over;
//! `flow` is one of them, `half` one of its directions, `backlog` what that holds
//! back.

mod backlog;
#[cfg(test)]
pub(crate) mod conversation;
mod flow;
mod half;
mod key;
#[cfg(test)]
mod model;
mod past;
mod reassembler;
mod recent;
mod seq;
mod table;
#[cfg(test)]
mod tests;

pub use reassembler::Reassembler;

use std::borrow::Cow;
use std::net::SocketAddr;

use crate::units::{Stamp, StreamId};

/// One direction of a connection, named by its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the endpoint that opened the connection (that sent the first SYN;
    /// without a handshake, the first packet's sender).
    Forward,
    /// From the other endpoint.
    Backward,
}

impl Direction {
    /// The other direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Forward => Self::Backward,
            Self::Backward => Self::Forward,
        }
    }
}

/// Octets of one direction that are next in order and arrived in one segment.
///
/// Offsets count from the first octet after the SYN, or, where the SYN was not
/// seen, from the first octet known of; they don't wrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The offset of the first octet in its direction.
    pub at: u64,
    /// The octets: borrowed from the frame, or owned where they had to wait.
    pub bytes: Cow<'a, [u8]>,
    /// The packet that delivered them first.
    pub stamp: Stamp,
    /// The packet that made them contiguous with all before them: when a
    /// receiver could read them.
    pub released: Stamp,
    /// Whether the first octet is the first of a segment's payload.
    pub segment_start: bool,
}

/// Octets of one direction that the capture lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The offset of the first lacking octet.
    pub at: u64,
    /// How many octets lack.
    pub len: u64,
    /// The packet at which the gap was given up.
    pub noticed: Stamp,
}

/// How a connection was first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The endpoint that sends [`Direction::Forward`].
    pub initiator: SocketAddr,
    /// The endpoint that sends [`Direction::Backward`].
    pub responder: SocketAddr,
    /// Whether a SYN or SYN-ACK was seen. Without one the stream was joined in
    /// the middle, and who is the client is for the layer above to find out.
    pub handshake: bool,
    /// The first packet.
    pub stamp: Stamp,
}

/// What a connection yields, in causal order: no item of one direction comes
/// before the octets of the other that its segment acknowledges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamItem<'a> {
    /// A connection was seen for the first time.
    Open(Opening),
    /// Octets, in order.
    Data(Direction, Piece<'a>),
    /// A hole: octets that will not come any more.
    Gap(Direction, Gap),
    /// The sender of this direction closed it; all its octets came before.
    Fin(Direction, Stamp),
    /// The sender of this direction reset the connection. `lost` tells that
    /// octets before it were never captured.
    Reset {
        /// Who reset.
        by: Direction,
        /// The packet that did.
        stamp: Stamp,
        /// Whether octets of that direction are missing before it.
        lost: bool,
    },
    /// Copies of the same octets differed; the first received ones count.
    Conflict(Direction, Stamp),
    /// Nothing more comes of this connection; always the last item.
    Closed(Close),
}

/// Why nothing more comes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// Both sides closed it, or one reset it, or a new one took its place.
    Ended,
    /// It was let go to bound memory, though it may go on.
    Evicted,
    /// The capture ended.
    CaptureEnd,
}

/// Receives what connections yield.
pub trait StreamSink {
    /// Takes the next item of a stream.
    fn item(&mut self, stream: StreamId, item: StreamItem<'_>);
}

impl<F: FnMut(StreamId, StreamItem<'_>)> StreamSink for F {
    #[inline]
    fn item(&mut self, stream: StreamId, item: StreamItem<'_>) {
        self(stream, item);
    }
}
