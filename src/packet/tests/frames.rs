//! Frames, built from the inside out: each function puts a header before what
//! it is given.

use std::net::{IpAddr, SocketAddr};

/// The addresses of every packet's innermost header.
pub const V4: ([u8; 4], [u8; 4]) = ([10, 0, 0, 1], [10, 0, 0, 2]);
pub const V6: ([u8; 16], [u8; 16]) = (v6(1), v6(2));
pub const PORTS: (u16, u16) = (40_000, 8001);
pub const SEQ: u32 = 0xfeed_beef;
pub const ACK: u32 = 0x1234_5678;
pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACKED: u8 = 0x10;

const fn v6(last: u8) -> [u8; 16] {
    [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]
}

pub fn endpoints(source: impl Into<IpAddr>, destination: impl Into<IpAddr>) -> (SocketAddr, SocketAddr) {
    (SocketAddr::new(source.into(), PORTS.0), SocketAddr::new(destination.into(), PORTS.1))
}

pub fn join(head: &[u8], body: &[u8]) -> Vec<u8> {
    [head, body].concat()
}

/// A TCP segment with this many octets of options.
pub fn tcp_with(flags: u8, options: usize, payload: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    head.extend(PORTS.0.to_be_bytes());
    head.extend(PORTS.1.to_be_bytes());
    head.extend(SEQ.to_be_bytes());
    head.extend(ACK.to_be_bytes());
    head.extend([u8::try_from((20 + options) / 4).unwrap() << 4, flags]);
    // Window; a checksum that is wrong, as offloading leaves it; urgent pointer.
    head.extend([1, 0, 0xba, 0xd0, 0, 0]);
    head.extend(vec![1; options]);
    join(&head, payload)
}

pub fn tcp(payload: &[u8]) -> Vec<u8> {
    tcp_with(ACKED, 0, payload)
}

/// An IPv4 packet whose header fields are all given.
pub fn ipv4_raw(total: u16, id: u16, fragment: u16, protocol: u8, options: &[u8], body: &[u8]) -> Vec<u8> {
    let mut head = vec![0x40 | u8::try_from(5 + options.len() / 4).unwrap(), 0];
    head.extend(total.to_be_bytes());
    head.extend(id.to_be_bytes());
    head.extend(fragment.to_be_bytes());
    head.extend([64, protocol, 0xba, 0xd0]);
    head.extend(V4.0);
    head.extend(V4.1);
    head.extend(options);
    join(&head, body)
}

pub fn ipv4(protocol: u8, body: &[u8]) -> Vec<u8> {
    ipv4_raw(u16::try_from(20 + body.len()).unwrap(), 7, 0x4000, protocol, &[], body)
}

/// An IPv4 fragment; `at` counts octets.
pub fn ipv4_fragment(id: u16, protocol: u8, at: usize, more: bool, body: &[u8]) -> Vec<u8> {
    assert_eq!(at % 8, 0);
    let field = u16::try_from(at / 8).unwrap() | if more { 0x2000 } else { 0 };
    ipv4_raw(u16::try_from(20 + body.len()).unwrap(), id, field, protocol, &[], body)
}

pub fn ipv6_raw(length: u16, next: u8, body: &[u8]) -> Vec<u8> {
    let mut head = vec![0x60, 0, 0, 0];
    head.extend(length.to_be_bytes());
    head.extend([next, 64]);
    head.extend(V6.0);
    head.extend(V6.1);
    join(&head, body)
}

pub fn ipv6(next: u8, body: &[u8]) -> Vec<u8> {
    ipv6_raw(u16::try_from(body.len()).unwrap(), next, body)
}

/// A fragment header of IPv6 with what it carries.
pub fn fragment_header(next: u8, id: u32, at: usize, more: bool, body: &[u8]) -> Vec<u8> {
    let mut head = vec![next, 0];
    head.extend((u16::try_from(at).unwrap() | u16::from(more)).to_be_bytes());
    head.extend(id.to_be_bytes());
    join(&head, body)
}

pub fn udp(port: u16, body: &[u8]) -> Vec<u8> {
    let mut head = vec![0xc3, 0x50];
    head.extend(port.to_be_bytes());
    head.extend(u16::try_from(8 + body.len()).unwrap().to_be_bytes());
    head.extend([0, 0]);
    join(&head, body)
}

/// UDP in IPv4.
pub fn over_udp(port: u16, head: &[u8], body: &[u8]) -> Vec<u8> {
    ipv4(17, &udp(port, &join(head, body)))
}

pub fn gre(head: &[u8], body: &[u8]) -> Vec<u8> {
    ipv4(47, &join(head, body))
}

pub fn ethernet(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut head = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    head.extend(kind.to_be_bytes());
    join(&head, body)
}

pub const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];

pub fn snap(kind: u16, body: &[u8]) -> Vec<u8> {
    join(&SNAP, &join(&kind.to_be_bytes(), body))
}

/// A frame of IEEE 802.11 with `between` its first 24 octets and its body.
pub fn wlan(control: u8, flags: u8, between: &[u8], body: &[u8]) -> Vec<u8> {
    let mut head = vec![control, flags, 0, 0];
    head.extend([2; 18]);
    head.extend([0x10, 0]);
    head.extend(between);
    join(&head, body)
}

pub fn radiotap(fields: &[u8], body: &[u8]) -> Vec<u8> {
    let mut head = vec![0, 0];
    head.extend(u16::try_from(4 + fields.len()).unwrap().to_le_bytes());
    head.extend(fields);
    join(&head, body)
}

pub fn pppoe(body: &[u8]) -> Vec<u8> {
    let mut head = vec![0x11, 0, 0, 9];
    head.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    join(&head, body)
}
