//! The HTTP layer: stream data of both directions → heads, bodies, exchanges
//! (RFC 9112).
//!
//! A [`Connection`] takes the [`StreamItem`](crate::tcp::StreamItem)s of one
//! TCP connection and yields [`HttpEvent`]s. It believes:
//!
//! - whoever sends a request line is the client, whoever sends a status line
//!   the server, whatever the handshake says;
//! - the n-th final response answers the n-th request;
//! - a body is delimited as RFC 9112 §6.3 says, and what the sender does
//!   beside the grammar is read as careful receivers read it, and said;
//! - where octets lack, nothing is read until a place to join is found.
//!
//! It promises that each body has one beginning and one end, that each
//! exchange has one end and no event after it, that cutting the octets
//! differently changes nothing but the cuts of data, that its memory is
//! bounded by [`Limits`](crate::limits::Limits), and that it never panics.

mod closing;
mod connection;
mod exchanges;
mod framing;
mod half;
mod head;
mod held;
mod messages;
mod model;
mod recent;
mod search;
mod start_line;
pub(crate) mod target;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use smol_str::SmolStr;

use crate::chunk::{ChunkToken, FramingFault, Lenience, WholeChunk};
use crate::tcp::{Gap, Piece};
use crate::units::Stamp;

pub use crate::chunk::Fields;
pub use connection::Connection;
pub(crate) use framing::{is_named, members, upgrades_to};
pub(crate) use model::Model;
pub(crate) use recent::Recent;

/// Receives what connections yield.
pub trait HttpSink {
    /// Takes the next event.
    fn event(&mut self, event: HttpEvent<'_>);

    /// Takes a chunk of an exchange's body that came at once, as most events
    /// are: the same as its event, which needn't be made.
    fn whole(&mut self, index: u64, side: Side, chunk: &WholeChunk<'_>) {
        let event = BodyEvent::Chunk(ChunkToken::Whole(*chunk));
        self.event(HttpEvent::Body { index, side, event });
    }

    /// Takes an [`HttpEvent::Request`], whose head is this one but for its stamp.
    fn request(&mut self, index: u64, head: &RequestHead, stamp: Option<Stamp>) {
        self.event(HttpEvent::Request { index, head: RequestHead { stamp, ..head.clone() } });
    }

    /// Takes an [`HttpEvent::Response`], whose head is this one but for its stamp.
    fn response(&mut self, index: u64, head: &ResponseHead, stamp: Option<Stamp>) {
        self.event(HttpEvent::Response { index, head: ResponseHead { stamp, ..head.clone() } });
    }

    /// Takes a body that has no octets, as most requests have one: the same as
    /// its events, which needn't be made.
    fn bodiless(&mut self, index: u64, side: Side, framing: Framing, stamp: Stamp) {
        for event in BodyEvent::of_none(framing, stamp) {
            self.event(HttpEvent::Body { index, side, event });
        }
    }
}

impl BodyEvent<'_> {
    /// A body that has no octets, and ends with the packet that ends its head.
    pub(crate) const fn of_none(framing: Framing, stamp: Stamp) -> [Self; 2] {
        let end = Self::End { end: BodyEnd::Complete, stamp: Some(stamp), reset: false, fault: None };
        [Self::Begin { framing: Some(framing), joined: None }, end]
    }
}

impl<F: FnMut(HttpEvent<'_>)> HttpSink for F {
    fn event(&mut self, event: HttpEvent<'_>) {
        self(event);
    }
}

/// The request or the response of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// From the client.
    Request,
    /// From the server.
    Response,
}

/// A request's head. What was not captured is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RequestHead {
    /// `GET`.
    pub method: Option<SmolStr>,
    /// The request target as written.
    pub target: Option<SmolStr>,
    /// `HTTP/1.1`.
    pub version: Option<SmolStr>,
    /// The header fields.
    pub fields: Option<Fields>,
    /// The frame and time of its first octet.
    pub stamp: Option<Stamp>,
    pub(crate) model: Model,
}

/// A response's head. What was not captured is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The status code.
    pub status: Option<u16>,
    /// The reason phrase, empty where there is none.
    pub reason: Option<SmolStr>,
    /// `HTTP/1.1`.
    pub version: Option<SmolStr>,
    /// The header fields.
    pub fields: Option<Fields>,
    /// The frame and time of its first octet.
    pub stamp: Option<Stamp>,
    pub(crate) model: Model,
}

/// How a body is delimited (RFC 9112 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// The chunked transfer coding.
    Chunked,
    /// A declared length in octets.
    ContentLength(u64),
    /// The close of the connection.
    Close,
    /// There is no body.
    None,
    /// The connection became a tunnel (101, or CONNECT with 2xx).
    Tunnel,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodyEnd {
    /// As its framing says.
    Complete,
    /// The capture ends first.
    Open,
    /// The receiver closed or reset the connection first.
    Aborted,
    /// The sender closed or reset the connection first.
    Truncated,
    /// The framing is invalid.
    Broken,
    /// The capture lacks octets that are needed to find the rest.
    Lost,
}

/// What a body consists of, in order: one `Begin`, then data, then one `End`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyEvent<'a> {
    /// The head said how the body is delimited.
    Begin {
        /// `None` where the head lacks octets, so that nobody can know.
        framing: Option<Framing>,
        /// How many octets before a place to join the stream were skipped;
        /// `None` for a body that was seen from its head on.
        joined: Option<u64>,
    },
    /// Octets of a body that isn't chunked, or of a tunnel.
    Data(Piece<'a>),
    /// Octets of such a body that the capture lacks.
    Missing(Gap),
    /// The next token of a chunked body.
    Chunk(ChunkToken<'a>),
    /// The body is over.
    End {
        /// How.
        end: BodyEnd,
        /// The packet that ended it: the last octet's, the FIN's or RST's;
        /// `None` where the capture ended.
        stamp: Option<Stamp>,
        /// Whether the connection was reset rather than closed.
        reset: bool,
        /// What is wrong, where it is broken.
        fault: Option<FramingFault>,
    },
}

/// What a stream speaks, if it isn't HTTP/1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// TLS: encrypted.
    Tls,
    /// HTTP/2 in clear.
    Http2,
    /// Something else.
    Other,
}

/// What a connection yields, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpEvent<'a> {
    /// The roles of the endpoints are known; comes before any head.
    Roles {
        /// The client.
        client: SocketAddr,
        /// The server.
        server: SocketAddr,
    },
    /// A request's head; exchanges are numbered on their stream from 0.
    Request {
        /// The exchange.
        index: u64,
        /// The head.
        head: RequestHead,
    },
    /// A final response's head (or the last interim one, if none followed).
    Response {
        /// The exchange.
        index: u64,
        /// The head.
        head: ResponseHead,
    },
    /// A part of a body.
    Body {
        /// The exchange.
        index: u64,
        /// Whose body.
        side: Side,
        /// The part.
        event: BodyEvent<'a>,
    },
    /// Nothing more comes of an exchange; its bodies have ended.
    ExchangeEnd {
        /// The exchange.
        index: u64,
    },
    /// The sender left the grammar, and was read all the same.
    Lenient(Lenience, Stamp),
    /// A head lacks octets.
    IncompleteHead(Side, Stamp),
    /// The stream was joined in the middle, this many octets of the direction
    /// behind its first one known or behind the last one read.
    Joined(Side, u64, Stamp),
    /// The stream is not HTTP/1; nothing else comes of it.
    NotHttp(Protocol),
}
