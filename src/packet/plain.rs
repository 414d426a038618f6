//! The common frame, read at once: a TCP segment whose headers lie at fixed
//! places and raise no question.
//!
//! Nearly all packets of nearly all captures are such, and what is done for
//! each of them is what reading a capture costs. So they don't walk from layer
//! to layer. Whatever gives reason to look closer, a fault too, isn't plain:
//! the layers say what it is. Where a frame is plain, they find the same
//! segment; a test holds the two equal.

use std::net::{IpAddr, SocketAddr};

use super::ip::number;
use super::link::{self, ether_type as ether};
use super::{Flags, Segment};
use crate::capture::{Frame, LinkType};

/// Gives `take` the segment of a frame that is plain: one with at most one VLAN
/// tag, an IPv4 header without options of a whole datagram or an IPv6 header
/// without extensions, which says how long the packet is, and a whole TCP
/// header. `None` if it isn't plain.
///
/// A segment is large: so it is lent from where it is made, and never moved.
#[inline(always)]
pub(crate) fn segment<'a, T>(frame: &Frame<'a>, take: impl FnOnce(&Segment<'a>) -> T) -> Option<T> {
    let packet = packet(frame)?;
    match packet.first()? {
        0x45 => {
            let (ip, data) = packet.split_first_chunk::<20>()?;
            let length = usize::from(u16::from_be_bytes([ip[2], ip[3]])).checked_sub(ip.len())?;
            // Neither do other fragments follow, nor is this one of them.
            let fragment = (ip[6] & 0x3f) | ip[7] != 0;
            if fragment || ip[9] != number::TCP {
                return None;
            }
            let source: [u8; 4] = [ip[12], ip[13], ip[14], ip[15]];
            let destination: [u8; 4] = [ip[16], ip[17], ip[18], ip[19]];
            tcp(frame, data, length, source, destination, take)
        }
        0x60..=0x6f => {
            let (ip, data) = packet.split_first_chunk::<8>()?;
            let (source, data) = data.split_first_chunk::<16>()?;
            let (destination, data) = data.split_first_chunk::<16>()?;
            let length = usize::from(u16::from_be_bytes([ip[4], ip[5]]));
            if ip[6] != number::TCP {
                return None;
            }
            tcp(frame, data, length, *source, *destination, take)
        }
        _ => None,
    }
}

/// The IP packet in a frame of the link types that most captures have.
#[inline(always)]
fn packet<'a>(frame: &Frame<'a>) -> Option<&'a [u8]> {
    let (kind, packet) = match frame.link {
        LinkType::ETHERNET => {
            let (header, data) = frame.data.split_first_chunk::<14>()?;
            let kind = u16::from_be_bytes([header[12], header[13]]);
            if link::is_tag(kind) {
                let (tag, data) = data.split_first_chunk::<4>()?;
                (u16::from_be_bytes([tag[2], tag[3]]), data)
            } else {
                (kind, data)
            }
        }
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => return Some(frame.data),
        LinkType::NULL | LinkType::LOOP => {
            let (family, data) = frame.data.split_first_chunk::<4>()?;
            return link::is_ip(*family).then_some(data);
        }
        LinkType::LINUX_SLL => {
            let (header, data) = frame.data.split_first_chunk::<16>()?;
            if !link::is_plainly_cooked(u16::from_be_bytes([header[2], header[3]])) {
                return None;
            }
            (u16::from_be_bytes([header[14], header[15]]), data)
        }
        LinkType::LINUX_SLL2 => {
            let (header, data) = frame.data.split_first_chunk::<20>()?;
            if !link::is_plainly_cooked(u16::from_be_bytes([header[8], header[9]])) {
                return None;
            }
            (u16::from_be_bytes([header[0], header[1]]), data)
        }
        _ => return None,
    };
    matches!(kind, ether::IPV4 | ether::IPV6).then_some(packet)
}

/// Gives `take` the segment in the `length` octets behind an IP header, of which
/// the first of `data` were captured.
#[inline(always)]
fn tcp<'a, T>(
    frame: &Frame<'a>,
    data: &'a [u8],
    length: usize,
    source: impl Into<IpAddr>,
    destination: impl Into<IpAddr>,
    take: impl FnOnce(&Segment<'a>) -> T,
) -> Option<T> {
    // What is behind the length is padding or a trailer.
    let data = data.get(..length).unwrap_or(data);
    let header = data.first_chunk::<20>()?;
    let header_len = usize::from(header[12] >> 4) * 4;
    if header_len < header.len() {
        return None;
    }
    let flags = header[13];
    let word = |at: [u8; 4]| u32::from_be_bytes(at);
    let segment = Segment {
        stamp: frame.stamp,
        source: SocketAddr::new(source.into(), u16::from_be_bytes([header[0], header[1]])),
        destination: SocketAddr::new(destination.into(), u16::from_be_bytes([header[2], header[3]])),
        seq: word([header[4], header[5], header[6], header[7]]),
        ack: (flags & 0x10 != 0).then(|| word([header[8], header[9], header[10], header[11]])),
        flags: Flags { fin: flags & 1 != 0, syn: flags & 2 != 0, rst: flags & 4 != 0 },
        payload: data.get(header_len..)?,
        // At most 65,535, as both lengths were.
        cut: u32::try_from(length - data.len()).unwrap_or(u32::MAX),
    };
    Some(take(&segment))
}
