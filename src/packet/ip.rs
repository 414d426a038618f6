//! IPv4 (RFC 791) and IPv6 (RFC 8200) with their options and extension
//! headers, and the TCP header (RFC 9293 §3.1).
//!
//! Lengths come from the IP header: what Ethernet padded is no payload, and
//! what the snap length cut is known. Where the IP header has no length (a
//! total length of 0, an IPv6 payload length of 0: segmentation was left to
//! the network card) the packet is as long as what carried it. Checksums are
//! never looked at: offloading leaves them unfinished.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use etherparse::err::LenError;
use etherparse::{
    IpAuthHeaderSlice, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice,
    Ipv6RawExtHeaderSlice, TcpHeaderSlice,
};

use super::fragments::{Fragment, Key};
use super::octets::{Octets, Stop};
use super::{Flags, Layer, Segment};
use crate::units::Stamp;

/// The protocol numbers that matter here, by IANA's registry.
mod number {
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
}

/// What an IP header carries, or an extension header behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Upper {
    /// Its protocol.
    pub protocol: u8,
    /// The sender.
    pub source: IpAddr,
    /// The receiver; the final one, where a routing header names it.
    pub destination: IpAddr,
}

/// What one step through IP found.
pub(super) enum Found<'a> {
    /// Another layer.
    Layer(Layer, Octets<'a>),
    /// A fragment of a datagram.
    Fragment(Fragment<'a>),
    /// The end of the way.
    Segment(Segment<'a>),
}

impl<'a> From<(Layer, Octets<'a>)> for Found<'a> {
    fn from((layer, octets): (Layer, Octets<'a>)) -> Self {
        Self::Layer(layer, octets)
    }
}

/// An IP packet of either version. Which one, its first octet says: what
/// carried it may name the other.
pub(super) fn packet(octets: Octets<'_>) -> Result<Found<'_>, Stop> {
    let &[first] = octets.peek::<1>()?;
    match first >> 4 {
        4 => ipv4(octets),
        6 => ipv6(octets),
        _ => Err(Stop::Malformed),
    }
}

fn ipv4(octets: Octets<'_>) -> Result<Found<'_>, Stop> {
    use etherparse::err::ipv4::HeaderSliceError;
    let header = Ipv4HeaderSlice::from_slice(octets.data()).map_err(|error| match error {
        HeaderSliceError::Len(error) => missing(octets, &error),
        HeaderSliceError::Content(_) => Stop::Malformed,
    })?;
    let header_len = header.slice().len();
    let rest = octets.skip(header_len)?;
    let payload = match usize::from(header.total_len()) {
        // Left to the network card, or too long for the field (BIG TCP).
        0 => rest,
        total => rest.exactly(total.checked_sub(header_len).ok_or(Stop::Malformed)?),
    };
    let upper = Upper {
        protocol: header.protocol().0,
        source: header.source_addr().into(),
        destination: header.destination_addr().into(),
    };
    if header.is_fragmenting_payload() {
        return Ok(Found::Fragment(Fragment {
            key: Key {
                identification: u32::from(header.identification()),
                ..Key::of(upper)
            },
            upper,
            at: usize::from(header.fragments_offset().byte_offset()),
            more: header.more_fragments(),
            octets: payload,
        }));
    }
    Ok(Found::Layer(Layer::Upper(upper), payload))
}

fn ipv6(octets: Octets<'_>) -> Result<Found<'_>, Stop> {
    use etherparse::err::ipv6::HeaderSliceError;
    let header = Ipv6HeaderSlice::from_slice(octets.data()).map_err(|error| match error {
        HeaderSliceError::Len(error) => missing(octets, &error),
        HeaderSliceError::Content(_) => Stop::Malformed,
    })?;
    let rest = octets.skip(header.slice().len())?;
    let next = header.next_header().0;
    let payload = match usize::from(header.payload_length()) {
        0 if next == number::HOP_BY_HOP => match jumbo_length(rest)? {
            Some(length) => rest.exactly(length),
            None => rest,
        },
        0 => rest,
        length => rest.exactly(length),
    };
    let upper = Upper {
        protocol: next,
        source: header.source_addr().into(),
        destination: header.destination_addr().into(),
    };
    Ok(Found::Layer(Layer::Upper(upper), payload))
}

/// The length in a jumbo payload option (RFC 2675 §2), which counts from the
/// hop-by-hop header on.
fn jumbo_length(octets: Octets<'_>) -> Result<Option<usize>, Stop> {
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

/// What an IP header carries: TCP, an extension header, or a tunnel.
pub(super) fn upper(upper: Upper, octets: Octets<'_>, stamp: Stamp) -> Result<Found<'_>, Stop> {
    if upper.protocol == number::TCP {
        return tcp(upper, octets, stamp).map(Found::Segment);
    }
    if upper.source.is_ipv6()
        && let Some(found) = ipv6_extension(upper, octets)?
    {
        return Ok(found);
    }
    let layer = match upper.protocol {
        number::UDP => Layer::Udp,
        number::IPV4 | number::IPV6 => Layer::Ip,
        number::GRE => Layer::Gre,
        number::MPLS => Layer::Mpls,
        number::ETHERNET => Layer::Ethernet,
        number::NSH => Layer::Nsh,
        // RFC 3378 §2: version 3, and nothing else.
        number::ETHER_IP => match octets.header::<2>()? {
            ([0x30, 0x00], frame) => return Ok(Found::Layer(Layer::Ethernet, frame)),
            _ => return Err(Stop::NotTcp),
        },
        // RFC 4302 §3.1.1: with either version of IP.
        number::AUTHENTICATION => return authentication(upper, octets),
        // ICMP quotes TCP headers of others: no segments.
        _ => return Err(Stop::NotTcp),
    };
    Ok(Found::Layer(layer, octets))
}

/// An extension header of IPv6 (RFC 8200 §4), if it is one.
fn ipv6_extension(upper: Upper, octets: Octets<'_>) -> Result<Option<Found<'_>>, Stop> {
    let (upper, rest) = match upper.protocol {
        number::HOP_BY_HOP | number::DESTINATION | number::MOBILITY => {
            let header = extension(octets)?;
            let upper = Upper {
                protocol: header.next_header().0,
                ..upper
            };
            (upper, octets.skip(header.slice().len())?)
        }
        number::ROUTING => {
            let header = extension(octets)?;
            let destination =
                final_destination(header.slice()).map_or(upper.destination, Into::into);
            let upper = Upper {
                protocol: header.next_header().0,
                destination,
                ..upper
            };
            (upper, octets.skip(header.slice().len())?)
        }
        number::FRAGMENT => {
            let header = Ipv6FragmentHeaderSlice::from_slice(octets.data())
                .map_err(|error| missing(octets, &error))?;
            let rest = octets.skip(header.slice().len())?;
            let next = Upper {
                protocol: header.next_header().0,
                ..upper
            };
            if header.is_fragmenting_payload() {
                // RFC 8200 §4.5: the protocol is no part of the key, and that
                // of the first fragment counts.
                return Ok(Some(Found::Fragment(Fragment {
                    key: Key {
                        identification: header.identification(),
                        protocol: 0,
                        ..Key::of(upper)
                    },
                    upper: next,
                    at: usize::from(header.fragment_offset().byte_offset()),
                    more: header.more_fragments(),
                    octets: rest,
                })));
            }
            // RFC 6946 §4: an atomic fragment stands for itself.
            (next, rest)
        }
        _ => return Ok(None),
    };
    Ok(Some(Found::Layer(Layer::Upper(upper), rest)))
}

fn authentication(upper: Upper, octets: Octets<'_>) -> Result<Found<'_>, Stop> {
    use etherparse::err::ip_auth::HeaderSliceError;
    let header = IpAuthHeaderSlice::from_slice(octets.data()).map_err(|error| match error {
        HeaderSliceError::Len(error) => missing(octets, &error),
        HeaderSliceError::Content(_) => Stop::Malformed,
    })?;
    let upper = Upper {
        protocol: header.next_header().0,
        ..upper
    };
    Ok(Found::Layer(
        Layer::Upper(upper),
        octets.skip(header.slice().len())?,
    ))
}

fn extension(octets: Octets<'_>) -> Result<Ipv6RawExtHeaderSlice<'_>, Stop> {
    Ipv6RawExtHeaderSlice::from_slice(octets.data()).map_err(|error| missing(octets, &error))
}

/// The address that a routing header leads to while it has segments left: the
/// connection's endpoint, from which the answers come.
fn final_destination(header: &[u8]) -> Option<Ipv6Addr> {
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
    address
        .first_chunk::<16>()
        .map(|octets| Ipv6Addr::from(*octets))
}

/// Why etherparse found too few octets.
fn missing(octets: Octets<'_>, error: &LenError) -> Stop {
    octets.too_short(error.required_len)
}

/// A TCP segment. The urgent pointer is not looked at: RFC 6093 §6 asks
/// receivers to take urgent data in line.
fn tcp(upper: Upper, octets: Octets<'_>, stamp: Stamp) -> Result<Segment<'_>, Stop> {
    use etherparse::err::tcp::HeaderSliceError;
    let header = match TcpHeaderSlice::from_slice(octets.data()) {
        Ok(header) => header,
        Err(HeaderSliceError::Content(_)) => return Err(Stop::Malformed),
        Err(HeaderSliceError::Len(error)) => {
            return match missing(octets, &error) {
                Stop::CutHeaders => cut_tcp(upper, octets, stamp),
                stop => Err(stop),
            };
        }
    };
    // Where the IP header has no length, Ethernet's padding is still there.
    let payload = octets.skip(header.slice().len())?.without_padding();
    Ok(Segment {
        stamp,
        source: SocketAddr::new(upper.source, header.source_port()),
        destination: SocketAddr::new(upper.destination, header.destination_port()),
        seq: header.sequence_number(),
        ack: header.ack().then(|| header.acknowledgment_number()),
        flags: Flags {
            syn: header.syn(),
            fin: header.fin(),
            rst: header.rst(),
        },
        payload: payload.data(),
        cut: u32::try_from(payload.cut()).unwrap_or(u32::MAX),
    })
}

/// A segment whose header the snap length cut: as long as ports and sequence
/// number are there, a gap of the payload's size stands for it. What is behind
/// the cut is taken as usual: no options, no flags.
fn cut_tcp(upper: Upper, octets: Octets<'_>, stamp: Stamp) -> Result<Segment<'_>, Stop> {
    const MIN: usize = 20;
    let (&[p, q, r, s, seq @ ..], rest) = octets.header::<8>()?;
    let ack = rest
        .data()
        .first_chunk()
        .map(|ack| u32::from_be_bytes(*ack));
    let header_len = match rest.data().get(4) {
        Some(offset) => usize::from(offset >> 4) * 4,
        None => MIN,
    };
    if header_len < MIN {
        return Err(Stop::Malformed);
    }
    let payload = octets
        .wire()
        .checked_sub(header_len)
        .ok_or(Stop::Malformed)?;
    let flags = rest.data().get(5).copied().unwrap_or(0);
    Ok(Segment {
        stamp,
        source: SocketAddr::new(upper.source, u16::from_be_bytes([p, q])),
        destination: SocketAddr::new(upper.destination, u16::from_be_bytes([r, s])),
        seq: u32::from_be_bytes(seq),
        ack: ack.filter(|_| flags & 0x10 != 0),
        flags: Flags {
            fin: flags & 1 != 0,
            syn: flags & 2 != 0,
            rst: flags & 4 != 0,
        },
        payload: &[],
        cut: u32::try_from(payload).unwrap_or(u32::MAX),
    })
}
