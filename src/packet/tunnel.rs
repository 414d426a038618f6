//! Tunnels: GRE with all that it carries, and those over UDP.
//!
//! A UDP port proves nothing: what comes over it is read as a tunnel's only
//! where all that the tunnel's specification fixes is as it should be.

use super::octets::{Octets, Stop};
use super::{Layer, Step, link};

/// GRE (RFC 2784, RFC 2890), and as PPTP uses it (RFC 2637 §4.1).
pub(super) fn gre(octets: &mut Octets<'_>) -> Step {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ERSPAN: u16 = 0x88be;
    const ERSPAN_III: u16 = 0x22eb;
    const WCCP: u16 = 0x883e;
    const PPP: u16 = 0x880b;
    let header = octets.take::<4>()?;
    let flags = u16::from_be_bytes([header[0], header[1]]);
    let protocol = u16::from_be_bytes([header[2], header[3]]);
    match flags & 7 {
        0 => {}
        1 if protocol == PPP && flags & KEY != 0 => return pptp(flags, octets),
        _ => return Err(Stop::NotTcp),
    }
    // RFC 2784 §2.3: a packet with the old source routes is to be discarded.
    if flags & ROUTING != 0 {
        return Err(Stop::NotTcp);
    }
    let options = [CHECKSUM, KEY, SEQUENCE].iter().filter(|&flag| flags & flag != 0).count();
    octets.skip(options * 4)?;
    match protocol {
        // ERSPAN type I has no header of its own and no sequence number, which
        // type II always has (draft-foschiano-erspan §4.1, §4.2).
        ERSPAN if flags & SEQUENCE == 0 => Ok(Layer::Ethernet),
        ERSPAN => {
            octets.skip(8)?;
            Ok(Layer::Ethernet)
        }
        ERSPAN_III => erspan_iii(octets),
        // WCCP version 2 puts a redirect header before the packet, version 1
        // none; its first octet is no version of IP.
        WCCP => match octets.peek::<1>()? {
            [0x40..=0x4f] => Ok(Layer::Ip),
            _ => {
                octets.skip(4)?;
                Ok(Layer::Ip)
            }
        },
        PPP => Ok(Layer::Ppp),
        length if length <= link::ether_type::MAX_LENGTH => Err(Stop::NotTcp),
        kind => link::type_or_length(kind, octets),
    }
}

/// The rest of a GRE header of version 1: payload length, call, and the
/// numbers that its flags announce.
fn pptp(flags: u16, octets: &mut Octets<'_>) -> Step {
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGMENT: u16 = 0x0080;
    let key = octets.take::<4>()?;
    // Without a sequence number it only acknowledges.
    if flags & SEQUENCE == 0 {
        return Err(Stop::NotTcp);
    }
    octets.skip(if flags & ACKNOWLEDGMENT == 0 { 4 } else { 8 })?;
    octets.limit(usize::from(u16::from_be_bytes([key[0], key[1]])));
    Ok(Layer::Ppp)
}

/// ERSPAN type III (draft-foschiano-erspan §4.3): twelve octets, then eight
/// more where the lowest bit says so.
fn erspan_iii(octets: &mut Octets<'_>) -> Step {
    const ETHERNET: u8 = 0;
    const IP: u8 = 2;
    let header = octets.take::<12>()?;
    octets.skip(if header[11] & 1 == 0 { 0 } else { 8 })?;
    match (header[10] >> 2) & 0x1f {
        ETHERNET => Ok(Layer::Ethernet),
        IP => Ok(Layer::Ip),
        _ => Err(Stop::NotTcp),
    }
}

/// A UDP datagram (RFC 768), for the tunnels that use it.
pub(super) fn udp(octets: &mut Octets<'_>) -> Step {
    let header = octets.take::<8>()?;
    let source = u16::from_be_bytes([header[0], header[1]]);
    let destination = u16::from_be_bytes([header[2], header[3]]);
    match usize::from(u16::from_be_bytes([header[4], header[5]])) {
        // RFC 2675 §4: longer than the field can say.
        0 => {}
        length => octets.limit(length.checked_sub(8).ok_or(Stop::Malformed)?),
    }
    // The port is the receiver's; a few senders use it at their end alone.
    let tunnel = tunnel_of(destination).or_else(|| tunnel_of(source)).ok_or(Stop::NotTcp)?;
    tunnel(octets)
}

fn tunnel_of(port: u16) -> Option<fn(&mut Octets<'_>) -> Step> {
    match port {
        // IANA's, and the one that Linux has used since before there was any.
        4789 | 8472 => Some(vxlan),
        4790 => Some(vxlan_gpe),
        6081 => Some(geneve),
        2152 => Some(gtp),
        4754 => Some(gre_in_udp),
        3544 => Some(teredo),
        _ => None,
    }
}

/// VXLAN (RFC 7348 §5), with the group policy extension
/// (draft-smith-vxlan-group-policy).
fn vxlan(octets: &mut Octets<'_>) -> Step {
    const GROUP: u8 = 0x80;
    let &[flags, policy, group_high, group_low, _, _, _, reserved] = octets.take::<8>()?;
    let fits = match flags {
        0x08 => [policy, group_high, group_low] == [0, 0, 0],
        _ => flags == 0x08 | GROUP,
    };
    if fits && reserved == 0 { Ok(Layer::Ethernet) } else { Err(Stop::NotTcp) }
}

/// VXLAN with a next protocol (draft-ietf-nvo3-vxlan-gpe §3).
fn vxlan_gpe(octets: &mut Octets<'_>) -> Step {
    let &[flags, 0, 0, next, _, _, _, 0] = octets.take::<8>()? else {
        return Err(Stop::NotTcp);
    };
    match (flags, next) {
        (0x0c, 1 | 2) => Ok(Layer::Ip),
        (0x08, 0) | (0x0c, 3) => Ok(Layer::Ethernet),
        (0x0c, 4) => Ok(Layer::Nsh),
        (0x0c, 5) => Ok(Layer::Mpls),
        _ => Err(Stop::NotTcp),
    }
}

/// Geneve (RFC 8926 §3.4): version 0, the options' length in words, an ether
/// type.
fn geneve(octets: &mut Octets<'_>) -> Step {
    let &[length, flags, high, low, _, _, _, reserved] = octets.take::<8>()?;
    let kind = u16::from_be_bytes([high, low]);
    if length >> 6 != 0 || flags & 0x3f != 0 || reserved != 0 || kind <= link::ether_type::MAX_LENGTH {
        return Err(Stop::NotTcp);
    }
    octets.skip(usize::from(length) * 4)?;
    link::type_or_length(kind, octets)
}

/// GTP-U (3GPP TS 29.281 §5): version 1, a packet of the user's.
fn gtp(octets: &mut Octets<'_>) -> Step {
    const EXTENSION: u8 = 4;
    const OPTIONAL: u8 = 7;
    const USER_PACKET: u8 = 0xff;
    let &[flags, kind, high, low, ..] = octets.take::<8>()?;
    if flags & 0xf8 != 0x30 || kind != USER_PACKET {
        return Err(Stop::NotTcp);
    }
    octets.limit(usize::from(u16::from_be_bytes([high, low])));
    if flags & OPTIONAL != 0 {
        // One flag is enough for all three fields.
        let &[_, _, _, mut next] = octets.take::<4>()?;
        while flags & EXTENSION != 0 && next != 0 {
            // §5.2.1: the length counts four octets each, itself included; the
            // last octet names what follows.
            let &[words] = octets.peek::<1>()?;
            let length = usize::from(words) * 4;
            let last = length.checked_sub(1).ok_or(Stop::NotTcp)?;
            octets.skip(last)?;
            [next] = *octets.take::<1>()?;
        }
    }
    match octets.peek::<1>()? {
        [0x40..=0x4f | 0x60..=0x6f] => Ok(Layer::Ip),
        _ => Err(Stop::NotTcp),
    }
}

/// GRE over UDP (RFC 8086 §3): the flags that are reserved must be zero.
fn gre_in_udp(octets: &mut Octets<'_>) -> Step {
    let header = octets.peek::<2>()?;
    if u16::from_be_bytes(*header) & 0x4fff == 0 { gre(octets) } else { Err(Stop::NotTcp) }
}

/// Teredo (RFC 4380 §5.1.1): authentication and origin may come before an IPv6
/// packet that fills the datagram.
fn teredo(octets: &mut Octets<'_>) -> Step {
    if let Ok(&[0, 1, client, value]) = octets.peek::<4>() {
        octets.skip(13 + usize::from(client) + usize::from(value))?;
    }
    if let Ok([0, 0]) = octets.peek::<2>() {
        octets.skip(8)?;
    }
    let header = octets.peek::<6>()?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    if header[0] >> 4 == 6 && octets.wire() == 40 + length { Ok(Layer::Ip) } else { Err(Stop::NotTcp) }
}
