//! The packet layer: a frame → the TCP segment that it carries.
//!
//! It believes lengths over everything else. A link header says where IP
//! begins, the IP header says where the payload ends; what is behind that end
//! is padding or a trailer, what the snap length cut before it is counted.
//! Checksums, packet types and the directions that some recorders note are
//! never looked at: offloading and loopback make them wrong.
//!
//! It promises: any octets give a value; what isn't TCP says so, and why. Tags,
//! labels and tunnels are taken off as they come, to any depth, for each one
//! takes octets off the frame: the work is linear in them. A segment's payload
//! is the frame's own octets. Only datagrams that came in fragments are kept,
//! within [`Limits::fragments`], and put together in the decoder's memory.
//!
//! A segment names the endpoints of the innermost IP header. TCP headers that
//! ICMP errors quote are no segments.

mod fragments;
mod ip;
mod link;
mod octets;
mod plain;
mod tunnel;
mod wlan;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use crate::capture::{Frame, LinkType};
use crate::limits::Limits;
use crate::units::Stamp;
use fragments::{Datagram, Fragments};
use ip::Envelope;
use octets::{Octets, Stop};
pub(crate) use plain::segment as plain_segment;

/// Flags of a TCP segment that matter here (RFC 9293 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Synchronize sequence numbers.
    pub syn: bool,
    /// No more data from the sender.
    pub fin: bool,
    /// Reset the connection.
    pub rst: bool,
}

/// A TCP segment, still in the frame's octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The frame that carried it (that completed it, where it was fragmented).
    pub stamp: Stamp,
    /// Its sender.
    pub source: SocketAddr,
    /// Its receiver.
    pub destination: SocketAddr,
    /// Sequence number of the first octet (of the SYN, where there is one).
    pub seq: u32,
    /// Acknowledgement number, if the ACK flag is set.
    pub ack: Option<u32>,
    /// SYN, FIN, RST.
    pub flags: Flags,
    /// The captured payload octets.
    pub payload: &'a [u8],
    /// How many further payload octets were on the wire but not captured.
    pub cut: u32,
}

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// A TCP segment.
    Segment(Segment<'a>),
    /// Something else: another protocol, or one that can't be read because it
    /// is encrypted.
    NotTcp,
    /// Its link type is none of those that can be read.
    UnsupportedLink(LinkType),
    /// A fragment of a datagram that isn't whole yet.
    FragmentHeld,
    /// The snap length cut it before the TCP sequence number (or before it was
    /// clear whether there is one).
    CutHeaders,
    /// A header contradicts itself or doesn't fit into its packet.
    Malformed,
}

impl From<Stop> for Decoded<'_> {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::NotTcp => Self::NotTcp,
            Stop::CutHeaders => Self::CutHeaders,
            Stop::Malformed => Self::Malformed,
        }
    }
}

impl<'a> From<Result<Segment<'a>, Stop>> for Decoded<'a> {
    fn from(segment: Result<Segment<'a>, Stop>) -> Self {
        match segment {
            Ok(segment) => Self::Segment(segment),
            Err(stop) => stop.into(),
        }
    }
}

/// Whether frames of this link type can be read.
#[must_use]
pub fn supports(link: LinkType) -> bool {
    Layer::of_link(link.0).is_some()
}

/// Finds the TCP segments of frames, and keeps what fragments need.
#[derive(Debug)]
pub struct Decoder {
    fragments: Fragments,
    /// The datagram that became whole last: the segment that was given last may
    /// be in it, and its fragments may come again.
    datagram: Option<Datagram>,
}

impl Decoder {
    /// A decoder that keeps within [`Limits::fragments`].
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { fragments: Fragments::new(limits.fragments), datagram: None }
    }

    /// The TCP segment of a frame, or why there is none. It is borrowed from
    /// the frame, or from the decoder where the frame completed a datagram.
    /// Of an aggregate of IEEE 802.11 it is the first one's; see
    /// [`Self::decode_each`].
    #[inline]
    pub fn decode<'a>(&'a mut self, frame: &Frame<'a>) -> Decoded<'a> {
        plain::segment(frame, |segment| Decoded::Segment(*segment))
            .unwrap_or_else(|| self.decode_by_layers(frame))
    }

    /// The same for any frame.
    fn decode_by_layers<'a>(&'a mut self, frame: &Frame<'a>) -> Decoded<'a> {
        let Some(layer) = Layer::of_link(frame.link.0) else {
            return Decoded::UnsupportedLink(frame.link);
        };
        self.walk(layer, Octets::of(frame), frame.stamp)
    }

    /// Gives `take` what [`Self::decode`] finds in the frame. A frame of IEEE
    /// 802.11 may aggregate several packets: `take` gets each.
    #[inline]
    pub fn decode_each(&mut self, frame: &Frame<'_>, mut take: impl FnMut(Decoded<'_>)) {
        if plain::segment(frame, |segment| take(Decoded::Segment(*segment))).is_none() {
            self.decode_each_by_layers(frame, take);
        }
    }

    /// The same for any frame.
    #[inline(never)]
    pub(crate) fn decode_each_by_layers(&mut self, frame: &Frame<'_>, mut take: impl FnMut(Decoded<'_>)) {
        let Some(mut subframes) = aggregate(frame) else {
            return take(self.decode_by_layers(frame));
        };
        while subframes.wire() > 0 {
            match wlan::next_subframe(&mut subframes) {
                Ok(body) => take(self.walk(Layer::Llc, body, frame.stamp)),
                Err(stop) => return take(stop.into()),
            }
        }
    }

    /// How many fragmented datagrams were let go to bound memory.
    #[must_use]
    pub const fn dropped_datagrams(&self) -> u64 {
        self.fragments.dropped()
    }

    /// The first packet with a fragment of a datagram that is not whole.
    #[must_use]
    pub fn first_incomplete(&self) -> Option<Stamp> {
        self.fragments.first_incomplete()
    }

    /// How many fragmented datagrams are not whole: those that still wait for
    /// fragments, that waited too long, and that were let go.
    #[must_use]
    pub fn incomplete_datagrams(&self) -> u64 {
        self.fragments.incomplete()
    }

    #[inline]
    fn walk<'a>(&'a mut self, layer: Layer, mut octets: Octets<'a>, stamp: Stamp) -> Decoded<'a> {
        let mut envelope = Envelope::none();
        match walk(layer, &mut octets, &mut envelope) {
            Ok(End::Tcp) => ip::tcp(envelope.addresses, &mut octets, stamp),
            Ok(End::Fragment) => self.assemble(&envelope, octets, stamp),
            Err(stop) => stop.into(),
        }
    }

    /// Takes a fragment, and reads the datagram that it makes whole. That may
    /// hold a tunnel with a fragment in turn.
    #[cold]
    fn assemble(&mut self, envelope: &Envelope<'_>, octets: Octets<'_>, stamp: Stamp) -> Decoded<'_> {
        let last = self.datagram.as_ref();
        let mut whole = self.fragments.insert(envelope, octets, last, stamp);
        let datagram = loop {
            let datagram = match whole {
                Ok(Some(datagram)) => datagram,
                Ok(None) => return Decoded::FragmentHeld,
                Err(stop) => return stop.into(),
            };
            let (mut envelope, mut octets) = (datagram.envelope(), datagram.octets());
            match walk(Layer::Carried, &mut octets, &mut envelope) {
                // Each turn takes a datagram out of those that are held.
                Ok(End::Fragment) => {
                    whole = self.fragments.insert(&envelope, octets, last, stamp);
                }
                _ => break datagram,
            }
        };
        // Read again where it stays.
        let datagram = self.datagram.insert(datagram);
        let (mut envelope, mut octets) = (datagram.envelope(), datagram.octets());
        match walk(Layer::Carried, &mut octets, &mut envelope) {
            Ok(End::Tcp) => ip::tcp(envelope.addresses, &mut octets, stamp),
            Ok(End::Fragment) => Decoded::FragmentHeld,
            Err(stop) => stop.into(),
        }
    }
}

impl<'a> Octets<'a> {
    /// All of a frame.
    #[inline]
    fn of(frame: &Frame<'a>) -> Self {
        Self::new(frame.data, usize::try_from(frame.wire_len).unwrap_or(usize::MAX))
    }
}

/// How octets are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Ethernet,
    LinuxSll,
    LinuxSll2,
    Loopback,
    Enc,
    Nflog,
    Pktap,
    Ppp,
    Pppd,
    /// PPP behind an octet for its direction.
    PppDirected,
    PppoE,
    CiscoHdlc,
    /// Cisco HDLC behind an octet for its direction.
    CiscoHdlcDirected,
    Llc,
    Wlan,
    Radiotap,
    Prism,
    Avs,
    Ppi,
    /// Subframes of an A-MSDU.
    Aggregate,
    Mpls,
    Nsh,
    Ip,
    /// What an IP header carries.
    Carried,
    /// A fragment of it.
    Fragment,
    Udp,
    Gre,
}

/// What comes behind a layer's header, which was taken off.
type Step = Result<Layer, Stop>;

impl Layer {
    /// How frames of a link type begin: numbers of the tcpdump.org registry,
    /// and those of systems that write their own number for raw IP.
    #[inline]
    const fn of_link(link: u16) -> Option<Self> {
        Some(match link {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            9 | 50 => Self::Ppp,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            51 => Self::PppoE,
            104 => Self::CiscoHdlc,
            109 => Self::Enc,
            105 => Self::Wlan,
            113 => Self::LinuxSll,
            119 => Self::Prism,
            127 => Self::Radiotap,
            163 => Self::Avs,
            166 => Self::Pppd,
            192 => Self::Ppi,
            204 => Self::PppDirected,
            205 => Self::CiscoHdlcDirected,
            219 => Self::Mpls,
            239 => Self::Nflog,
            258 => Self::Pktap,
            276 => Self::LinuxSll2,
            _ => return None,
        })
    }
}

/// Where the way through the layers ends.
enum End {
    /// At a TCP segment.
    Tcp,
    /// At a fragment of a datagram.
    Fragment,
}

/// Goes through the layers from `layer` on, and writes what the last IP header
/// said. Each takes octets off (but for [`Layer::Carried`], which names one
/// that does), so this ends.
#[inline]
fn walk<'a>(mut layer: Layer, octets: &mut Octets<'a>, envelope: &mut Envelope<'a>) -> Result<End, Stop> {
    loop {
        layer = match layer {
            Layer::Ip => ip::packet(octets, envelope)?,
            Layer::Carried if envelope.is_tcp() => return Ok(End::Tcp),
            Layer::Carried => ip::carried(octets, envelope)?,
            Layer::Fragment => return Ok(End::Fragment),
            Layer::Ethernet => link::ethernet(octets)?,
            other => other.step(octets)?,
        };
    }
}

impl Layer {
    /// Takes off a header that is not IP's.
    fn step(self, octets: &mut Octets<'_>) -> Step {
        match self {
            Self::Ethernet => link::ethernet(octets),
            Self::LinuxSll => link::linux_sll(octets),
            Self::LinuxSll2 => link::linux_sll2(octets),
            Self::Loopback => link::loopback(octets),
            Self::Enc => link::enc(octets),
            Self::Nflog => link::nflog(octets),
            Self::Pktap => link::pktap(octets),
            Self::Ppp => link::ppp(octets),
            Self::Pppd => link::pppd(octets),
            Self::PppDirected => link::ppp_directed(octets),
            Self::PppoE => link::pppoe(octets),
            Self::CiscoHdlc => link::cisco_hdlc(octets),
            Self::CiscoHdlcDirected => link::cisco_hdlc_directed(octets),
            Self::Llc => link::llc(octets),
            Self::Wlan => wlan::bare(octets),
            Self::Radiotap => wlan::radiotap(octets),
            Self::Prism => wlan::prism(octets),
            Self::Avs => wlan::avs(octets),
            Self::Ppi => wlan::ppi(octets),
            Self::Aggregate => wlan::first_subframe(octets),
            Self::Mpls => link::mpls(octets),
            Self::Nsh => link::nsh(octets),
            Self::Udp => tunnel::udp(octets),
            Self::Gre => tunnel::gre(octets),
            // IP's, which need its envelope.
            Self::Ip | Self::Carried | Self::Fragment => Err(Stop::NotTcp),
        }
    }
}

/// The subframes of a frame of IEEE 802.11, if it aggregates any.
fn aggregate<'a>(frame: &Frame<'a>) -> Option<Octets<'a>> {
    let mut layer = Layer::of_link(frame.link.0)?;
    let mut octets = Octets::of(frame);
    loop {
        match layer {
            Layer::Aggregate => return Some(octets),
            Layer::Wlan | Layer::Radiotap | Layer::Prism | Layer::Avs | Layer::Ppi => {
                layer = layer.step(&mut octets).ok()?;
            }
            _ => return None,
        }
    }
}
