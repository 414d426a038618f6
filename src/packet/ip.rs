//! IPv4 (RFC 791) and IPv6 (RFC 8200) with their options and extension
//! headers, and the TCP header (RFC 9293 §3.1).
//!
//! Lengths come from the IP header: what Ethernet padded is no payload, and
//! what the snap length cut is known. Where the IP header has no length (a
//! total length of 0, an IPv6 payload length of 0: segmentation was left to
//! the network card) the packet is as long as what carried it. Checksums are
//! never looked at: offloading leaves them unfinished.

use std::net::SocketAddr;

use etherparse::err::LenError;
use etherparse::{
    IpAuthHeaderSlice, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice,
    TcpHeaderSlice,
};

use super::octets::{Octets, Stop};
use super::{Decoded, Flags, Layer, Segment, Step};
use crate::units::Stamp;

/// The protocol numbers that matter here, by IANA's registry.
pub(super) mod number {
    pub const HOP_BY_HOP: u8 = 0;
    pub const IPV4: u8 = 4;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const IPV6: u8 = 41;
    pub const ROUTING: u8 = 43;
    pub const FRAGMENT: u8 = 44;
    pub const GRE: u8 = 47;
    pub const AUTHENTICATION: u8 = 51;
    pub const DESTINATION: u8 = 60;
    pub const ETHER_IP: u8 = 97;
    pub const MOBILITY: u8 = 135;
    pub const MPLS: u8 = 137;
    pub const ETHERNET: u8 = 143;
    pub const NSH: u8 = 145;
    /// Reserved.
    pub const NOTHING: u8 = 255;
}

/// The addresses of an IP header, where they are. They become endpoints only
/// once there are ports: on the way they would be copied at every layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Addresses<'a> {
    /// IPv4: source, destination.
    V4(&'a [u8; 4], &'a [u8; 4]),
    /// IPv6: source, destination; the final one, where a routing header names
    /// it.
    V6(&'a [u8; 16], &'a [u8; 16]),
}

impl Addresses<'_> {
    /// The endpoints with these ports.
    #[inline]
    fn with_ports(self, source: u16, destination: u16) -> (SocketAddr, SocketAddr) {
        match self {
            Self::V4(from, to) => ((*from, source).into(), (*to, destination).into()),
            Self::V6(from, to) => ((*from, source).into(), (*to, destination).into()),
        }
    }
}

/// What IP says of the octets behind it: written by the header of IP, and by
/// extension headers where they know better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Envelope<'a> {
    /// The protocol of what it carries.
    pub protocol: u8,
    /// Between whom.
    pub addresses: Addresses<'a>,
    /// Of a fragment: which datagram of its hosts it is of.
    pub identification: u32,
    /// Of a fragment: where its octets belong.
    pub at: u16,
    /// Of a fragment: whether others follow.
    pub more: bool,
}

impl<'a> Envelope<'a> {
    /// That of a whole datagram.
    pub(super) const fn new(protocol: u8, addresses: Addresses<'a>) -> Self {
        Self { protocol, addresses, identification: 0, at: 0, more: false }
    }

    /// Before there was an IP header.
    pub(super) const fn none() -> Self {
        Self::new(number::NOTHING, Addresses::V4(&[0; 4], &[0; 4]))
    }

    /// Whether it holds a TCP segment.
    pub(super) const fn is_tcp(&self) -> bool {
        self.protocol == number::TCP
    }
}

/// An IP packet of either version. Which one, its first octet says: what
/// carried it may name the other.
#[inline]
pub(super) fn packet<'a>(octets: &mut Octets<'a>, envelope: &mut Envelope<'a>) -> Step {
    let &[first] = octets.peek::<1>()?;
    match first >> 4 {
        4 => ipv4(octets, envelope),
        6 => ipv6(octets, envelope),
        _ => Err(Stop::Malformed),
    }
}

#[inline]
fn ipv4<'a>(octets: &mut Octets<'a>, envelope: &mut Envelope<'a>) -> Step {
    use etherparse::err::ipv4::HeaderSliceError;
    let header = Ipv4HeaderSlice::from_slice(octets.data()).map_err(|error| match error {
        HeaderSliceError::Len(error) => missing(octets, &error),
        HeaderSliceError::Content(_) => Stop::Malformed,
    })?;
    let header_len = header.slice().len();
    octets.skip(header_len)?;
    match usize::from(header.total_len()) {
        // Left to the network card, or too long for the field (BIG TCP).
        0 => {}
        total => octets.set_length(total.checked_sub(header_len).ok_or(Stop::Malformed)?),
    }
    let addresses = Addresses::V4(field(header.slice(), 12)?, field(header.slice(), 16)?);
    *envelope = Envelope::new(header.protocol().0, addresses);
    if header.is_fragmenting_payload() {
        envelope.identification = u32::from(header.identification());
        envelope.at = header.fragments_offset().byte_offset();
        envelope.more = header.more_fragments();
        return Ok(Layer::Fragment);
    }
    Ok(Layer::Carried)
}

#[inline]
fn ipv6<'a>(octets: &mut Octets<'a>, envelope: &mut Envelope<'a>) -> Step {
    use etherparse::err::ipv6::HeaderSliceError;
    let header = Ipv6HeaderSlice::from_slice(octets.data()).map_err(|error| match error {
        HeaderSliceError::Len(error) => missing(octets, &error),
        HeaderSliceError::Content(_) => Stop::Malformed,
    })?;
    octets.skip(header.slice().len())?;
    let next = header.next_header().0;
    match usize::from(header.payload_length()) {
        0 if next == number::HOP_BY_HOP => {
            if let Some(length) = jumbo_length(octets)? {
                octets.set_length(length);
            }
        }
        0 => {}
        length => octets.set_length(length),
    }
    let addresses = Addresses::V6(field(header.slice(), 8)?, field(header.slice(), 24)?);
    *envelope = Envelope::new(next, addresses);
    Ok(Layer::Carried)
}

/// A field of a header.
fn field<const N: usize>(header: &[u8], at: usize) -> Result<&[u8; N], Stop> {
    header.get(at..).and_then(<[u8]>::first_chunk).ok_or(Stop::Malformed)
}

/// The length in a jumbo payload option (RFC 2675 §2), which counts from the
/// hop-by-hop header on.
fn jumbo_length(octets: &Octets<'_>) -> Result<Option<usize>, Stop> {
    const PAD1: u8 = 0;
    const JUMBO: u8 = 0xc2;
    let header = extension(octets)?;
    let mut options = header.payload();
    while let Some((&kind, rest)) = options.split_first() {
        if kind == PAD1 {
            options = rest;
            continue;
        }
        let Some((&len, value)) = rest.split_first() else {
            break;
        };
        if let (JUMBO, 4, Some(length)) = (kind, len, value.first_chunk()) {
            return Ok(usize::try_from(u32::from_be_bytes(*length)).ok());
        }
        options = value.get(usize::from(len)..).unwrap_or_default();
    }
    Ok(None)
}

/// What an IP header carries that isn't TCP: an extension header, or a tunnel.
pub(super) fn carried<'a>(octets: &mut Octets<'a>, envelope: &mut Envelope<'a>) -> Step {
    if let Addresses::V6(source, destination) = envelope.addresses {
        match envelope.protocol {
            number::HOP_BY_HOP | number::DESTINATION | number::MOBILITY => {
                let header = extension(octets)?;
                envelope.protocol = header.next_header().0;
                octets.skip(header.slice().len())?;
                return Ok(Layer::Carried);
            }
            number::ROUTING => {
                let header = extension(octets)?;
                let destination = final_destination(header.slice()).unwrap_or(destination);
                envelope.addresses = Addresses::V6(source, destination);
                envelope.protocol = header.next_header().0;
                octets.skip(header.slice().len())?;
                return Ok(Layer::Carried);
            }
            number::FRAGMENT => return ipv6_fragment(octets, envelope),
            _ => {}
        }
    }
    match envelope.protocol {
        number::UDP => Ok(Layer::Udp),
        number::IPV4 | number::IPV6 => Ok(Layer::Ip),
        number::GRE => Ok(Layer::Gre),
        number::MPLS => Ok(Layer::Mpls),
        number::ETHERNET => Ok(Layer::Ethernet),
        number::NSH => Ok(Layer::Nsh),
        // RFC 3378 §2: version 3, and nothing else.
        number::ETHER_IP => match octets.take::<2>()? {
            [0x30, 0x00] => Ok(Layer::Ethernet),
            _ => Err(Stop::NotTcp),
        },
        // RFC 4302 §3.1.1: with either version of IP.
        number::AUTHENTICATION => authentication(octets, envelope),
        // ICMP quotes TCP headers of others: no segments.
        _ => Err(Stop::NotTcp),
    }
}

/// A fragment header (RFC 8200 §4.5).
fn ipv6_fragment<'a>(octets: &mut Octets<'a>, envelope: &mut Envelope<'a>) -> Step {
    let header =
        Ipv6FragmentHeaderSlice::from_slice(octets.data()).map_err(|error| missing(octets, &error))?;
    octets.skip(header.slice().len())?;
    envelope.protocol = header.next_header().0;
    if header.is_fragmenting_payload() {
        envelope.identification = header.identification();
        envelope.at = header.fragment_offset().byte_offset();
        envelope.more = header.more_fragments();
        return Ok(Layer::Fragment);
    }
    // RFC 6946 §4: an atomic fragment stands for itself.
    Ok(Layer::Carried)
}

fn authentication<'a>(octets: &mut Octets<'a>, envelope: &mut Envelope<'a>) -> Step {
    use etherparse::err::ip_auth::HeaderSliceError;
    let header = IpAuthHeaderSlice::from_slice(octets.data()).map_err(|error| match error {
        HeaderSliceError::Len(error) => missing(octets, &error),
        HeaderSliceError::Content(_) => Stop::Malformed,
    })?;
    envelope.protocol = header.next_header().0;
    octets.skip(header.slice().len())?;
    Ok(Layer::Carried)
}

fn extension<'a>(octets: &Octets<'a>) -> Result<Ipv6RawExtHeaderSlice<'a>, Stop> {
    Ipv6RawExtHeaderSlice::from_slice(octets.data()).map_err(|error| missing(octets, &error))
}

/// The address that a routing header leads to while it has segments left: the
/// connection's endpoint, from which the answers come.
fn final_destination(header: &[u8]) -> Option<&[u8; 16]> {
    const SOURCE_ROUTE: u8 = 0;
    const MOBILE: u8 = 2;
    const SEGMENT_ROUTING: u8 = 4;
    let (&[_, length, kind, left, ..], addresses) = header.split_first_chunk::<8>()?;
    let address = match (kind, left) {
        (_, 0) => None,
        // RFC 2460 §4.4, RFC 6275 §6.4: in the order of the way.
        (SOURCE_ROUTE | MOBILE, _) => {
            let count = usize::from(length) / 2;
            addresses.chunks_exact(16).take(count).next_back()
        }
        // RFC 8754 §2: in the opposite order.
        (SEGMENT_ROUTING, _) => addresses.chunks_exact(16).next(),
        _ => None,
    }?;
    address.first_chunk()
}

/// Why etherparse found too few octets.
fn missing(octets: &Octets<'_>, error: &LenError) -> Stop {
    octets.too_short(error.required_len)
}

/// A TCP segment. The urgent pointer is not looked at: RFC 6093 §6 asks
/// receivers to take urgent data in line.
#[inline]
pub(super) fn tcp<'a>(addresses: Addresses<'_>, octets: &mut Octets<'a>, stamp: Stamp) -> Decoded<'a> {
    use etherparse::err::tcp::HeaderSliceError;
    let header = match TcpHeaderSlice::from_slice(octets.data()) {
        Ok(header) => header,
        Err(HeaderSliceError::Content(_)) => return Decoded::Malformed,
        Err(HeaderSliceError::Len(error)) => {
            return match missing(octets, &error) {
                Stop::CutHeaders => cut_tcp(addresses, octets, stamp).into(),
                stop => stop.into(),
            };
        }
    };
    if let Err(stop) = octets.skip(header.slice().len()) {
        return stop.into();
    }
    // Where the IP header has no length, Ethernet's padding is still there.
    octets.drop_padding();
    let (source, destination) = addresses.with_ports(header.source_port(), header.destination_port());
    Decoded::Segment(Segment {
        stamp,
        source,
        destination,
        seq: header.sequence_number(),
        ack: header.ack().then(|| header.acknowledgment_number()),
        flags: Flags { syn: header.syn(), fin: header.fin(), rst: header.rst() },
        payload: octets.data(),
        cut: u32::try_from(octets.cut()).unwrap_or(u32::MAX),
    })
}

/// A segment whose header the snap length cut: as long as ports and sequence
/// number are there, a gap of the payload's size stands for it. What is behind
/// the cut is taken as usual: no options, no flags.
#[cold]
fn cut_tcp<'a>(addresses: Addresses<'_>, octets: &mut Octets<'a>, stamp: Stamp) -> Result<Segment<'a>, Stop> {
    const MIN: usize = 20;
    let wire = octets.wire();
    let &[p, q, r, s, seq @ ..] = octets.take::<8>()?;
    let ack = octets.data().first_chunk().map(|ack| u32::from_be_bytes(*ack));
    let header_len = match octets.data().get(4) {
        Some(offset) => usize::from(offset >> 4) * 4,
        None => MIN,
    };
    if header_len < MIN {
        return Err(Stop::Malformed);
    }
    let payload = wire.checked_sub(header_len).ok_or(Stop::Malformed)?;
    let flags = octets.data().get(5).copied().unwrap_or(0);
    let (source, destination) = addresses.with_ports(u16::from_be_bytes([p, q]), u16::from_be_bytes([r, s]));
    Ok(Segment {
        stamp,
        source,
        destination,
        seq: u32::from_be_bytes(seq),
        ack: ack.filter(|_| flags & 0x10 != 0),
        flags: Flags { fin: flags & 1 != 0, syn: flags & 2 != 0, rst: flags & 4 != 0 },
        payload: &[],
        cut: u32::try_from(payload).unwrap_or(u32::MAX),
    })
}
