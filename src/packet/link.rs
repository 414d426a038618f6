//! Link layers other than IEEE 802.11: the headers before IP, by the
//! link-layer header types of the tcpdump.org registry.
//!
//! They are read here rather than by a library because recorders write values
//! that a strict parser refuses (ARPHRD types and packet types of cooked
//! captures) and because tags, labels and PPP nest in any number and order.

use super::octets::{Octets, Stop};
use super::{Layer, Step};

/// IEEE 802: the values below are ether types, or lengths where they are at
/// most 1500 (IEEE 802.3 §3.2.6).
pub(super) mod ether_type {
    pub const MAX_LENGTH: u16 = 1500;
    pub const IPV4: u16 = 0x0800;
    pub const ARP: u16 = 0x0806;
    pub const TRILL: u16 = 0x22f3;
    pub const BRIDGING: u16 = 0x6558;
    pub const VLAN: u16 = 0x8100;
    pub const IPV6: u16 = 0x86dd;
    pub const MPLS: u16 = 0x8847;
    pub const MPLS_UPSTREAM: u16 = 0x8848;
    pub const PPPOE_SESSION: u16 = 0x8864;
    pub const PROVIDER_VLAN: u16 = 0x88a8;
    pub const BACKBONE: u16 = 0x88e7;
    pub const VN_TAG: u16 = 0x8926;
    pub const E_TAG: u16 = 0x893f;
    pub const NSH: u16 = 0x894f;
    pub const VLAN_9100: u16 = 0x9100;
    pub const VLAN_9200: u16 = 0x9200;
}
use ether_type as ether;

/// A frame is padded to this length, its FCS left out (IEEE 802.3 §3.2.8).
const ETHERNET_MIN: usize = 60;

/// An Ethernet frame, from its destination address on.
#[inline]
pub(super) fn ethernet(octets: Octets<'_>) -> Step<'_> {
    // A tag that was put in on the way doesn't count into the minimum.
    let (header, rest) = octets.header::<14>()?;
    let kind = u16::from_be_bytes([header[12], header[13]]);
    let min = if is_tag(kind) {
        ETHERNET_MIN + 4
    } else {
        ETHERNET_MIN
    };
    let rest = rest.with_padding(octets.wire() <= min);
    // The common case first, without another turn.
    if kind == ether::IPV4 || kind == ether::IPV6 {
        return Ok((Layer::Ip, rest));
    }
    type_or_length(kind, rest)
}

const fn is_tag(kind: u16) -> bool {
    matches!(
        kind,
        ether::VLAN | ether::PROVIDER_VLAN | ether::VLAN_9100 | ether::VLAN_9200
    )
}

/// What follows an ether type, or a length of IEEE 802.3.
pub(super) fn type_or_length(mut kind: u16, mut octets: Octets<'_>) -> Step<'_> {
    loop {
        let tag = match kind {
            // 802.1Q §9.6, and the stacked tags of the time before 802.1ad:
            // two octets of tag control, and the next type.
            _ if is_tag(kind) => 2,
            // 802.1BR: six octets of tag control. Cisco's VN-Tag: four.
            ether::E_TAG => 6,
            ether::VN_TAG => 4,
            length if length <= ether::MAX_LENGTH => {
                return Ok((Layer::Llc, octets.at_most(usize::from(length))));
            }
            _ => return ether_type(kind, octets),
        };
        let (next, rest) = octets.skip(tag)?.header::<2>()?;
        (kind, octets) = (u16::from_be_bytes(*next), rest);
    }
}

/// What follows an ether type that is no tag.
fn ether_type(kind: u16, octets: Octets<'_>) -> Step<'_> {
    match kind {
        ether::IPV4 | ether::IPV6 => Ok((Layer::Ip, octets)),
        ether::MPLS | ether::MPLS_UPSTREAM => mpls(octets),
        ether::PPPOE_SESSION => pppoe(octets),
        ether::BRIDGING => Ok((Layer::Ethernet, octets)),
        // 802.1ah §9.7: the I-TAG's control octets, then the customer's frame.
        ether::BACKBONE => Ok((Layer::Ethernet, octets.skip(4)?)),
        ether::NSH => nsh(octets),
        ether::TRILL => trill(octets),
        _ => Err(Stop::NotTcp),
    }
}

/// IEEE 802.2 with or without SNAP.
pub(super) fn llc(octets: Octets<'_>) -> Step<'_> {
    match octets.peek::<3>()? {
        // RFC 1042: SNAP with a zero OUI (or that of a bridge tunnel,
        // 802.1H) holds an ether type.
        [0xaa, 0xaa, 0x03] => {
            let (snap, rest) = octets.header::<8>()?;
            let kind = u16::from_be_bytes([snap[6], snap[7]]);
            match [snap[3], snap[4], snap[5]] {
                [0, 0, 0] | [0, 0, 0xf8] if kind > ether::MAX_LENGTH => type_or_length(kind, rest),
                _ => Err(Stop::NotTcp),
            }
        }
        // The SAP of IP itself.
        [0x06, 0x06, 0x03] => Ok((Layer::Ip, octets.skip(3)?)),
        _ => Err(Stop::NotTcp),
    }
}

/// LINKTYPE_LINUX_SLL: packet type, ARPHRD type, address length, address,
/// protocol.
pub(super) fn linux_sll(octets: Octets<'_>) -> Step<'_> {
    let (header, rest) = octets.header::<16>()?;
    let arphrd = u16::from_be_bytes([header[2], header[3]]);
    cooked(arphrd, u16::from_be_bytes([header[14], header[15]]), rest)
}

/// LINKTYPE_LINUX_SLL2: protocol, reserved, interface, ARPHRD type, packet
/// type, address length, address.
pub(super) fn linux_sll2(octets: Octets<'_>) -> Step<'_> {
    let (header, rest) = octets.header::<20>()?;
    let arphrd = u16::from_be_bytes([header[8], header[9]]);
    cooked(arphrd, u16::from_be_bytes([header[0], header[1]]), rest)
}

/// What a cooked capture holds. The packet type is never looked at.
fn cooked(arphrd: u16, protocol: u16, octets: Octets<'_>) -> Step<'_> {
    const ARPHRD_IEEE80211_RADIOTAP: u16 = 803;
    const ARPHRD_NETLINK: u16 = 824;
    const LLC: u16 = 4;
    match (arphrd, protocol) {
        (ARPHRD_NETLINK, _) => Err(Stop::NotTcp),
        (ARPHRD_IEEE80211_RADIOTAP, _) => Ok((Layer::Radiotap, octets)),
        (_, ether::IPV4 | ether::IPV6) => Ok((Layer::Ip, octets)),
        (_, LLC) => Ok((Layer::Llc, octets)),
        (_, kind) if kind > ether::MAX_LENGTH => type_or_length(kind, octets),
        _ => Err(Stop::NotTcp),
    }
}

/// LINKTYPE_NULL (the recorder's octet order) and LINKTYPE_LOOP (network
/// octet order): an address family, whose numbers are the recorder's too.
pub(super) fn loopback(octets: Octets<'_>) -> Step<'_> {
    let (family, rest) = octets.header::<4>()?;
    let family = u32::from_be_bytes(*family).min(u32::from_le_bytes(*family));
    match family {
        // AF_INET everywhere; AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD,
        // Darwin.
        2 | 10 | 24 | 28 | 30 => Ok((Layer::Ip, rest)),
        _ => Err(Stop::NotTcp),
    }
}

/// LINKTYPE_ENC of OpenBSD: an address family, a security parameter index and
/// flags.
pub(super) fn enc(octets: Octets<'_>) -> Step<'_> {
    octets.peek::<12>()?;
    let (layer, _) = loopback(octets)?;
    Ok((layer, octets.skip(12)?))
}

/// LINKTYPE_NFLOG: attributes, one of which is the packet. Their lengths are
/// in the recorder's octet order, taken to be little-endian.
pub(super) fn nflog(octets: Octets<'_>) -> Step<'_> {
    const PAYLOAD: u16 = 9;
    let (&[_, version, _, _], mut rest) = octets.header::<4>()?;
    if version != 0 {
        return Err(Stop::NotTcp);
    }
    while rest.wire() > 0 {
        let (&[len_low, len_high, kind_low, kind_high], value) = rest.header::<4>()?;
        let length = usize::from(u16::from_le_bytes([len_low, len_high]));
        let value_len = length.checked_sub(4).ok_or(Stop::Malformed)?;
        // The two highest bits say how the value is coded.
        if u16::from_le_bytes([kind_low, kind_high]) & 0x3fff == PAYLOAD {
            return Ok((Layer::Ip, value.at_most(value_len)));
        }
        rest = value.skip(value_len.next_multiple_of(4))?;
    }
    Err(Stop::NotTcp)
}

/// LINKTYPE_PKTAP of Darwin: a header that names its length and the link type
/// of what follows.
pub(super) fn pktap(octets: Octets<'_>) -> Step<'_> {
    let (header, _) = octets.header::<12>()?;
    let [length, _, link] = [0, 4, 8].map(|at| {
        header
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |field| u32::from_le_bytes(*field))
    });
    let length = usize::try_from(length).map_err(|_| Stop::Malformed)?;
    if length < 12 {
        return Err(Stop::Malformed);
    }
    let layer = u16::try_from(link)
        .ok()
        .and_then(Layer::of_link)
        .ok_or(Stop::NotTcp)?;
    Ok((layer, octets.skip(length)?))
}

/// PPP with or without HDLC framing (RFC 1662), or Cisco HDLC on such a link.
pub(super) fn ppp(octets: Octets<'_>) -> Step<'_> {
    match octets.peek::<2>()? {
        [0xff, 0x03] => ppp_protocol(octets.skip(2)?),
        [0x0f | 0x8f, 0x00] => cisco_hdlc(octets),
        _ => ppp_protocol(octets),
    }
}

/// A PPP protocol field and what it names.
fn ppp_protocol(octets: Octets<'_>) -> Step<'_> {
    let (&[first], rest) = octets.header::<1>()?;
    // RFC 1661 §6.5: a compressed field is the low octet alone, which is odd.
    let (protocol, rest) = if first & 1 == 1 {
        (u16::from(first), rest)
    } else {
        let (&[second], rest) = rest.header::<1>()?;
        (u16::from_be_bytes([first, second]), rest)
    };
    match protocol {
        0x0021 | 0x0057 => Ok((Layer::Ip, rest)),
        0x0281 | 0x0283 => mpls(rest),
        _ => Err(Stop::NotTcp),
    }
}

/// LINKTYPE_PPP_PPPD: a direction in place of the HDLC address.
pub(super) fn pppd(octets: Octets<'_>) -> Step<'_> {
    match octets.peek::<2>()? {
        [_, 0x03] => ppp_protocol(octets.skip(2)?),
        _ => ppp(octets.skip(1)?),
    }
}

/// PPPoE's session stage (RFC 2516 §4).
pub(super) fn pppoe(octets: Octets<'_>) -> Step<'_> {
    let (&[version, code, _, _, high, low], rest) = octets.header::<6>()?;
    if version != 0x11 || code != 0 {
        return Err(Stop::NotTcp);
    }
    ppp_protocol(rest.at_most(usize::from(u16::from_be_bytes([high, low]))))
}

/// LINKTYPE_C_HDLC: address, control, ether type (RFC 1547 §4.3.1).
pub(super) fn cisco_hdlc(octets: Octets<'_>) -> Step<'_> {
    let (&[_, _, high, low], rest) = octets.header::<4>()?;
    match u16::from_be_bytes([high, low]) {
        // IS-IS and SLARP have numbers of their own; lengths don't occur.
        kind if kind > ether::MAX_LENGTH => type_or_length(kind, rest),
        _ => Err(Stop::NotTcp),
    }
}

/// MPLS labels (RFC 3032) and what they carry, which no field names.
pub(super) fn mpls(mut octets: Octets<'_>) -> Step<'_> {
    loop {
        let (entry, rest) = octets.header::<4>()?;
        octets = rest;
        // The bottom of the stack.
        if entry[2] & 1 == 1 {
            break;
        }
    }
    // RFC 4928 §3: IP begins with its version, so a pseudowire's control word
    // begins with 0 (data) or 1 (an associated channel, RFC 5085). One
    // without a control word begins with any octet: its ether type decides.
    let &[first] = octets.peek::<1>()?;
    match first >> 4 {
        0 if octets.skip(4).is_ok_and(holds_ethernet) => Ok((Layer::Ethernet, octets.skip(4)?)),
        _ if holds_ethernet(octets) => Ok((Layer::Ethernet, octets)),
        4 | 6 => Ok((Layer::Ip, octets)),
        _ if octets.cut() > 0 && octets.data().len() < 19 => Err(Stop::CutHeaders),
        _ => Err(Stop::NotTcp),
    }
}

/// Whether an Ethernet frame is likely: the type is a known one, and what
/// follows an IP type begins with that version.
fn holds_ethernet(octets: Octets<'_>) -> bool {
    let Ok(header) = octets.peek::<15>() else {
        return false;
    };
    match u16::from_be_bytes([header[12], header[13]]) {
        ether::IPV4 => header[14] >> 4 == 4,
        ether::IPV6 => header[14] >> 4 == 6,
        kind => is_tag(kind) || matches!(kind, ether::MPLS | ether::ARP | ether::PPPOE_SESSION),
    }
}

/// A network service header (RFC 8300 §2).
pub(super) fn nsh(octets: Octets<'_>) -> Step<'_> {
    let &[_, length, _, next] = octets.peek::<4>()?;
    let header = usize::from(length & 0x3f) * 4;
    if header < 8 {
        return Err(Stop::Malformed);
    }
    let rest = octets.skip(header)?;
    match next {
        1 | 2 => Ok((Layer::Ip, rest)),
        3 => Ok((Layer::Ethernet, rest)),
        5 => mpls(rest),
        _ => Err(Stop::NotTcp),
    }
}

/// TRILL (RFC 6325 §3.2): two octets of flags with the options' length,
/// two nicknames, the options, and a frame.
fn trill(octets: Octets<'_>) -> Step<'_> {
    let (header, rest) = octets.header::<6>()?;
    let options = (u16::from_be_bytes([header[0], header[1]]) >> 6) & 0x1f;
    Ok((Layer::Ethernet, rest.skip(usize::from(options) * 4)?))
}
