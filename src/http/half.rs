//! One direction of a connection: where its reader is, which body is open in
//! it, and how it was closed.

use smallvec::SmallVec;

use super::head::Head;
use super::search::Search;
use super::{BodyEnd, Framing};
use crate::chunk::Decoder;
use crate::units::Stamp;

/// One direction.
#[derive(Debug)]
pub(super) struct Half {
    pub(super) reading: Reading,
    /// The body that is open, besides tunnels.
    pub(super) body: Option<OpenBody>,
    /// The exchanges whose tunnels its octets go through, outermost first.
    pub(super) tunnels: SmallVec<[u64; 1]>,
    /// The octets before the next ones are lost.
    pub(super) hole: bool,
    /// Octets that searches for a place to join passed over.
    pub(super) passed_over: u64,
    /// The FIN or RST of its sender that came first, by frame number.
    pub(super) departure: Option<Departure>,
}

/// Where the reader of a direction is.
#[derive(Debug)]
pub(super) enum Reading {
    /// Nothing of it is interpreted.
    Off,
    /// Between messages; the packet of the first blank line there.
    Idle { blank: Option<Stamp> },
    /// In a head.
    Head(Box<Head>),
    /// In a body of declared length, so many octets before its end.
    Length { left: u64 },
    /// In a body that ends with the connection.
    ToClose,
    /// In a chunked body.
    Chunked(Box<Decoder>),
    /// Nowhere: looking for a place to join.
    Search(Box<Search>),
}

/// A body that has begun and not ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenBody {
    pub(super) index: u64,
    pub(super) framing: Option<Framing>,
    /// Octets of it are lost.
    pub(super) lacks: bool,
}

/// How an endpoint left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Departure {
    pub(super) stamp: Stamp,
    pub(super) reset: bool,
    /// The other endpoint's was told before: it decides where one frame
    /// carried both, as an aggregate of IEEE 802.11 can.
    pub(super) behind: bool,
}

impl Departure {
    /// Whether this was sent before another one.
    fn precedes(&self, other: &Self) -> bool {
        (self.stamp.frame, self.behind) < (other.stamp.frame, other.behind)
    }
}

/// How a body ends.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) end: BodyEnd,
    pub(super) stamp: Option<Stamp>,
    pub(super) reset: bool,
}

impl Half {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading, body: None, tunnels: SmallVec::new(), hole: false, passed_over: 0, departure: None }
    }

    /// The same written over one that is of no use any more.
    pub(super) fn begin_anew(&mut self, reading: Reading) {
        let Self { reading: old, body, tunnels, hole, passed_over, departure } = self;
        (*old, *body, *hole, *passed_over, *departure) = (reading, None, false, 0, None);
        tunnels.clear();
    }

    /// Whether nothing is under way in it: no message, no tunnel, no search.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        let between = matches!(self.reading, Reading::Idle { .. } | Reading::Off);
        between && self.body.is_none() && self.tunnels.is_empty()
    }

    /// Its sender left; of several such packets the first counts.
    pub(super) fn left(&mut self, departure: Departure) {
        if self.departure.is_none_or(|other| departure.stamp.frame < other.stamp.frame) {
            self.departure = Some(departure);
        }
    }
}

impl Ending {
    /// How a body ends that nothing within it ended, by who left first;
    /// `hole`: the last octets before that are lost.
    pub(super) fn by(
        body: &OpenBody,
        hole: bool,
        sender: Option<Departure>,
        receiver: Option<Departure>,
    ) -> Self {
        let tunnel = body.framing == Some(Framing::Tunnel);
        let (departure, end) = match (sender, receiver) {
            (None, None) => (None, BodyEnd::Open),
            (sender, Some(receiver))
                if sender.is_none_or(|sender| {
                    // A client that has nothing more to say may close its side
                    // and still await the close that delimits the body.
                    receiver.precedes(&sender)
                        && !tunnel
                        && (receiver.reset || body.framing != Some(Framing::Close))
                }) =>
            {
                (Some(receiver), BodyEnd::Aborted)
            }
            (Some(sender), _) => {
                let delimits = tunnel || body.framing == Some(Framing::Close);
                (Some(sender), if delimits && !sender.reset { BodyEnd::Complete } else { BodyEnd::Truncated })
            }
            (None, Some(receiver)) => (Some(receiver), BodyEnd::Aborted),
        };
        let declared = matches!(body.framing, Some(Framing::ContentLength(_)));
        let lost = (declared && body.lacks) || (hole && departure.is_some());
        Self {
            end: if lost { BodyEnd::Lost } else { end },
            stamp: departure.map(|departure| departure.stamp),
            reset: departure.is_some_and(|departure| departure.reset),
        }
    }
}
