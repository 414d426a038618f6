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
pub(super) fn ethernet(octets: &mut Octets<'_>) -> Step {
    // A tag that was put in on the way doesn't count into the minimum.
    let wire = octets.wire();
    let header = octets.take::<14>()?;
    let kind = u16::from_be_bytes([header[12], header[13]]);
    let tag = if is_tag(kind) { 4 } else { 0 };
    octets.set_padded(wire <= ETHERNET_MIN + tag);
    // The common case first, without another turn.
    if kind == ether::IPV4 || kind == ether::IPV6 {
        return Ok(Layer::Ip);
    }
    type_or_length(kind, octets)
}

#[inline]
pub(super) const fn is_tag(kind: u16) -> bool {
    matches!(kind, ether::VLAN | ether::PROVIDER_VLAN | ether::VLAN_9100 | ether::VLAN_9200)
}

/// What follows an ether type, or a length of IEEE 802.3.
pub(super) fn type_or_length(mut kind: u16, octets: &mut Octets<'_>) -> Step {
    loop {
        let tag = match kind {
            // 802.1Q §9.6, and the stacked tags of the time before 802.1ad:
            // two octets of tag control, and the next type.
            _ if is_tag(kind) => 2,
            // 802.1BR: six octets of tag control. Cisco's VN-Tag: four.
            ether::E_TAG => 6,
            ether::VN_TAG => 4,
            length if length <= ether::MAX_LENGTH => {
                octets.limit(usize::from(length));
                return Ok(Layer::Llc);
            }
            _ => return ether_type(kind, octets),
        };
        octets.skip(tag)?;
        kind = u16::from_be_bytes(*octets.take::<2>()?);
    }
}

/// What follows an ether type that is no tag.
fn ether_type(kind: u16, octets: &mut Octets<'_>) -> Step {
    match kind {
        ether::IPV4 | ether::IPV6 => Ok(Layer::Ip),
        ether::MPLS | ether::MPLS_UPSTREAM => mpls(octets),
        ether::PPPOE_SESSION => pppoe(octets),
        ether::BRIDGING => Ok(Layer::Ethernet),
        // 802.1ah §9.7: the I-TAG's control octets, then the customer's frame.
        ether::BACKBONE => {
            octets.skip(4)?;
            Ok(Layer::Ethernet)
        }
        ether::NSH => nsh(octets),
        ether::TRILL => trill(octets),
        _ => Err(Stop::NotTcp),
    }
}

/// IEEE 802.2 with or without SNAP.
pub(super) fn llc(octets: &mut Octets<'_>) -> Step {
    match octets.peek::<3>()? {
        // RFC 1042: SNAP with a zero OUI (or that of a bridge tunnel,
        // 802.1H) holds an ether type.
        [0xaa, 0xaa, 0x03] => {
            let snap = octets.take::<8>()?;
            let kind = u16::from_be_bytes([snap[6], snap[7]]);
            match [snap[3], snap[4], snap[5]] {
                [0, 0, 0] | [0, 0, 0xf8] if kind > ether::MAX_LENGTH => type_or_length(kind, octets),
                _ => Err(Stop::NotTcp),
            }
        }
        // The SAP of IP itself.
        [0x06, 0x06, 0x03] => {
            octets.skip(3)?;
            Ok(Layer::Ip)
        }
        _ => Err(Stop::NotTcp),
    }
}

/// LINKTYPE_LINUX_SLL: packet type, ARPHRD type, address length, address,
/// protocol.
pub(super) fn linux_sll(octets: &mut Octets<'_>) -> Step {
    let header = octets.take::<16>()?;
    let arphrd = u16::from_be_bytes([header[2], header[3]]);
    cooked(arphrd, u16::from_be_bytes([header[14], header[15]]), octets)
}

/// LINKTYPE_LINUX_SLL2: protocol, reserved, interface, ARPHRD type, packet
/// type, address length, address.
pub(super) fn linux_sll2(octets: &mut Octets<'_>) -> Step {
    let header = octets.take::<20>()?;
    let arphrd = u16::from_be_bytes([header[8], header[9]]);
    cooked(arphrd, u16::from_be_bytes([header[0], header[1]]), octets)
}

/// ARPHRD types that say more of a cooked packet than its protocol does.
mod arphrd {
    pub(super) const IEEE80211_RADIOTAP: u16 = 803;
    pub(super) const NETLINK: u16 = 824;
}

/// Whether the protocol of a cooked packet with this ARPHRD type is an ether
/// type.
pub(super) const fn is_plainly_cooked(arphrd: u16) -> bool {
    !matches!(arphrd, arphrd::IEEE80211_RADIOTAP | arphrd::NETLINK)
}

/// What a cooked capture holds. The packet type is never looked at.
fn cooked(arphrd: u16, protocol: u16, octets: &mut Octets<'_>) -> Step {
    const LLC: u16 = 4;
    match (arphrd, protocol) {
        (arphrd::NETLINK, _) => Err(Stop::NotTcp),
        (arphrd::IEEE80211_RADIOTAP, _) => Ok(Layer::Radiotap),
        (_, ether::IPV4 | ether::IPV6) => Ok(Layer::Ip),
        (_, LLC) => Ok(Layer::Llc),
        (_, kind) if kind > ether::MAX_LENGTH => type_or_length(kind, octets),
        _ => Err(Stop::NotTcp),
    }
}

/// LINKTYPE_NULL (the recorder's octet order) and LINKTYPE_LOOP (network
/// octet order): an address family, whose numbers are the recorder's too.
pub(super) fn loopback(octets: &mut Octets<'_>) -> Step {
    if is_ip(*octets.take::<4>()?) { Ok(Layer::Ip) } else { Err(Stop::NotTcp) }
}

/// Whether an address family is one of IP's: AF_INET everywhere; AF_INET6 of
/// Linux, NetBSD and OpenBSD, FreeBSD, Darwin.
pub(super) fn is_ip(family: [u8; 4]) -> bool {
    let family = u32::from_be_bytes(family).min(u32::from_le_bytes(family));
    matches!(family, 2 | 10 | 24 | 28 | 30)
}

/// LINKTYPE_ENC of OpenBSD: an address family, a security parameter index and
/// flags.
pub(super) fn enc(octets: &mut Octets<'_>) -> Step {
    let layer = loopback(octets)?;
    octets.skip(8)?;
    Ok(layer)
}

/// LINKTYPE_NFLOG: attributes, one of which is the packet. Their lengths are
/// in the recorder's octet order, taken to be little-endian.
pub(super) fn nflog(octets: &mut Octets<'_>) -> Step {
    const PAYLOAD: u16 = 9;
    let &[_, version, _, _] = octets.take::<4>()?;
    if version != 0 {
        return Err(Stop::NotTcp);
    }
    while octets.wire() > 0 {
        let &[len_low, len_high, kind_low, kind_high] = octets.take::<4>()?;
        let length = usize::from(u16::from_le_bytes([len_low, len_high]));
        let value_len = length.checked_sub(4).ok_or(Stop::Malformed)?;
        // The two highest bits say how the value is coded.
        if u16::from_le_bytes([kind_low, kind_high]) & 0x3fff == PAYLOAD {
            octets.limit(value_len);
            return Ok(Layer::Ip);
        }
        octets.skip(value_len.next_multiple_of(4))?;
    }
    Err(Stop::NotTcp)
}

/// LINKTYPE_PKTAP of Darwin: a header that names its length and the link type
/// of what follows.
pub(super) fn pktap(octets: &mut Octets<'_>) -> Step {
    let header = octets.peek::<12>()?;
    let [length, _, link] = [0, 4, 8].map(|at| {
        header.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |field| u32::from_le_bytes(*field))
    });
    let length = usize::try_from(length).map_err(|_| Stop::Malformed)?;
    if length < 12 {
        return Err(Stop::Malformed);
    }
    let layer = u16::try_from(link).ok().and_then(Layer::of_link).ok_or(Stop::NotTcp)?;
    octets.skip(length)?;
    Ok(layer)
}

/// PPP with or without HDLC framing (RFC 1662), or Cisco HDLC on such a link.
pub(super) fn ppp(octets: &mut Octets<'_>) -> Step {
    match octets.peek::<2>()? {
        [0xff, 0x03] => {
            octets.skip(2)?;
            ppp_protocol(octets)
        }
        [0x0f | 0x8f, 0x00] => cisco_hdlc(octets),
        _ => ppp_protocol(octets),
    }
}

/// A PPP protocol field and what it names.
fn ppp_protocol(octets: &mut Octets<'_>) -> Step {
    let &[first] = octets.take::<1>()?;
    // RFC 1661 §6.5: a compressed field is the low octet alone, which is odd.
    let protocol = if first & 1 == 1 {
        u16::from(first)
    } else {
        let &[second] = octets.take::<1>()?;
        u16::from_be_bytes([first, second])
    };
    match protocol {
        0x0021 | 0x0057 => Ok(Layer::Ip),
        0x0281 | 0x0283 => mpls(octets),
        _ => Err(Stop::NotTcp),
    }
}

/// LINKTYPE_PPP_PPPD: a direction in place of the HDLC address.
pub(super) fn pppd(octets: &mut Octets<'_>) -> Step {
    match octets.peek::<2>()? {
        [_, 0x03] => {
            octets.skip(2)?;
            ppp_protocol(octets)
        }
        _ => ppp_directed(octets),
    }
}

/// LINKTYPE_PPP_WITH_DIR: a direction before the rest.
pub(super) fn ppp_directed(octets: &mut Octets<'_>) -> Step {
    octets.skip(1)?;
    ppp(octets)
}

/// PPPoE's session stage (RFC 2516 §4).
pub(super) fn pppoe(octets: &mut Octets<'_>) -> Step {
    let &[version, code, _, _, high, low] = octets.take::<6>()?;
    if version != 0x11 || code != 0 {
        return Err(Stop::NotTcp);
    }
    octets.limit(usize::from(u16::from_be_bytes([high, low])));
    ppp_protocol(octets)
}

/// LINKTYPE_C_HDLC: address, control, ether type (RFC 1547 §4.3.1).
pub(super) fn cisco_hdlc(octets: &mut Octets<'_>) -> Step {
    let &[_, _, high, low] = octets.take::<4>()?;
    match u16::from_be_bytes([high, low]) {
        // IS-IS and SLARP have numbers of their own; lengths don't occur.
        kind if kind > ether::MAX_LENGTH => type_or_length(kind, octets),
        _ => Err(Stop::NotTcp),
    }
}

/// LINKTYPE_C_HDLC_WITH_DIR: a direction before the rest.
pub(super) fn cisco_hdlc_directed(octets: &mut Octets<'_>) -> Step {
    octets.skip(1)?;
    cisco_hdlc(octets)
}

/// MPLS labels (RFC 3032) and what they carry, which no field names.
pub(super) fn mpls(octets: &mut Octets<'_>) -> Step {
    loop {
        let entry = octets.take::<4>()?;
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
        0 if octets.data().get(4..).is_some_and(holds_ethernet) => {
            octets.skip(4)?;
            Ok(Layer::Ethernet)
        }
        _ if holds_ethernet(octets.data()) => Ok(Layer::Ethernet),
        4 | 6 => Ok(Layer::Ip),
        _ if octets.cut() > 0 && octets.data().len() < 19 => Err(Stop::CutHeaders),
        _ => Err(Stop::NotTcp),
    }
}

/// Whether an Ethernet frame is likely: the type is a known one, and what
/// follows an IP type begins with that version.
fn holds_ethernet(data: &[u8]) -> bool {
    let Some(header) = data.first_chunk::<15>() else {
        return false;
    };
    match u16::from_be_bytes([header[12], header[13]]) {
        ether::IPV4 => header[14] >> 4 == 4,
        ether::IPV6 => header[14] >> 4 == 6,
        kind => is_tag(kind) || matches!(kind, ether::MPLS | ether::ARP | ether::PPPOE_SESSION),
    }
}

/// A network service header (RFC 8300 §2).
pub(super) fn nsh(octets: &mut Octets<'_>) -> Step {
    let &[_, length, _, next] = octets.peek::<4>()?;
    let header = usize::from(length & 0x3f) * 4;
    if header < 8 {
        return Err(Stop::Malformed);
    }
    octets.skip(header)?;
    match next {
        1 | 2 => Ok(Layer::Ip),
        3 => Ok(Layer::Ethernet),
        5 => mpls(octets),
        _ => Err(Stop::NotTcp),
    }
}

/// TRILL (RFC 6325 §3.2): two octets of flags with the options' length,
/// two nicknames, the options, and a frame.
fn trill(octets: &mut Octets<'_>) -> Step {
    let header = octets.take::<6>()?;
    let options = (u16::from_be_bytes([header[0], header[1]]) >> 6) & 0x1f;
    octets.skip(usize::from(options) * 4)?;
    Ok(Layer::Ethernet)
}
