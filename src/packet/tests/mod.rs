//! Frames of every kind that this layer reads, whole, cut and damaged.

mod fragmented;
mod frames;

use super::*;
use frames::*;
use proptest::prelude::*;

const PAYLOAD: &[u8] = b"31d\r\n{\"type\":\"MODIFIED\"}\n";

fn frame(link: u16, data: &[u8]) -> Frame<'_> {
    let wire_len = u32::try_from(data.len()).unwrap();
    Frame { stamp: Stamp::untimed(9), link: LinkType(link), data, wire_len }
}

fn decoder() -> Decoder {
    Decoder::new(&Limits::default())
}

/// Every way to carry the same segment: a name, the link type, the frame.
fn samples() -> Vec<(&'static str, u16, Vec<u8>)> {
    let segment = tcp(PAYLOAD);
    let v4 = &ipv4(6, &segment)[..];
    let v6 = &ipv6(6, &segment)[..];
    let eth4 = &ethernet(0x0800, v4)[..];
    let eth6 = &ethernet(0x86dd, v6)[..];
    let eth = |body: &[u8]| ethernet(0x0800, body);
    let label = [0, 1, 0x90, 64];
    let bottom = [0, 1, 0x91, 64];
    let length = u16::try_from(snap(0x0800, v4).len()).unwrap();
    let mut amsdu = vec![2; 12];
    amsdu.extend(length.to_be_bytes());
    amsdu.extend(snap(0x0800, v4));
    let pptp_len = u8::try_from(v4.len() + 4).unwrap();
    let teredo_origin = [0, 0, 0x12, 0x34, 1, 2, 3, 4];
    let gtp_len = |n: usize| u8::try_from(n).unwrap();
    let word = |n: usize| u8::try_from(n).unwrap();

    vec![
        ("ethernet", 1, eth4.to_vec()),
        ("ethernet, IPv6", 1, eth6.to_vec()),
        ("ethernet, IPv6 under the type of IPv4", 1, eth(v6)),
        ("ethernet, padded behind IP", 1, join(eth4, &[0; 7])),
        ("802.1Q", 1, ethernet(0x8100, &join(&[0, 5, 8, 0], v4))),
        ("802.1ad over 802.1Q", 1, ethernet(0x88a8, &join(&[0, 5, 0x81, 0, 0, 6, 8, 0], v4))),
        (
            "six tags",
            1,
            ethernet(0x9100, &join(&[[0, 5, 0x81, 0].repeat(5), vec![0, 6, 0x86, 0xdd]].concat(), v6)),
        ),
        ("VN-Tag", 1, ethernet(0x8926, &join(&[0, 0, 0, 0, 8, 0], v4))),
        ("802.1BR", 1, ethernet(0x893f, &join(&[0, 0, 0, 0, 0, 0, 8, 0], v4))),
        ("802.1ah", 1, ethernet(0x88e7, &join(&[0, 0, 0, 1], eth4))),
        ("LLC/SNAP", 1, join(&ethernet(length, &snap(0x0800, v4)), &[0, 0])),
        ("LLC of IP", 1, ethernet(3 + u16::try_from(v4.len()).unwrap(), &join(&[6, 6, 3], v4))),
        ("TRILL", 1, ethernet(0x22f3, &join(&[0, 0x40, 0, 1, 0, 2, 9, 9, 9, 9], eth4))),
        ("NSH", 1, ethernet(0x894f, &join(&[0, 2, 2, 1, 0, 0, 1, 0xff], v4))),
        ("MPLS", 1, ethernet(0x8847, &join(&[label, bottom].concat(), v4))),
        ("MPLS, IPv6", 1, ethernet(0x8848, &join(&bottom, v6))),
        ("MPLS, pseudowire", 1, ethernet(0x8847, &join(&bottom, eth4))),
        (
            "MPLS, pseudowire with a control word",
            1,
            ethernet(0x8847, &join(&[bottom, [0, 0, 0, 1]].concat(), eth4)),
        ),
        (
            "MPLS, pseudowire to an address that looks like IPv4",
            1,
            ethernet(0x8847, &join(&bottom, &join(&[0x45, 0], &eth6[2..]))),
        ),
        ("MPLS, a link of its own", 219, join(&bottom, v4)),
        ("PPPoE", 1, ethernet(0x8864, &join(&pppoe(&join(&[0, 0x21], v4)), &[0; 4]))),
        ("PPPoE, a link of its own", 51, pppoe(&join(&[0, 0x57], v6))),
        ("SLL", 113, join(&[0, 4, 3, 4, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0], v4)),
        (
            "SLL, an unknown packet type",
            113,
            join(&[0, 9, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x86, 0xdd], v6),
        ),
        ("SLL, tagged", 113, join(&[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0x81, 0, 0, 5, 8, 0], v4)),
        ("SLL, LLC", 113, join(&[0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4], &snap(0x0800, v4))),
        (
            "SLL, radiotap",
            113,
            join(
                &[0, 0, 3, 0x23, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4],
                &radiotap(&[0, 0, 0, 0], &wlan(8, 1, &[], &snap(0x0800, v4))),
            ),
        ),
        ("SLL2", 276, join(&[&[8, 0, 0, 0, 0, 0, 0, 1, 3, 4, 0, 6][..], &[0; 8]].concat(), v4)),
        (
            "SLL2, a tunnel",
            276,
            join(&[&[0x86, 0xdd, 0, 0, 0, 0, 0, 1, 0xff, 0xfe, 4, 0][..], &[0; 8]].concat(), v6),
        ),
        ("NULL", 0, join(&[2, 0, 0, 0], v4)),
        ("NULL of a big-endian recorder", 0, join(&[0, 0, 0, 2], v4)),
        ("NULL, Linux", 0, join(&[10, 0, 0, 0], v6)),
        ("NULL, NetBSD", 0, join(&[24, 0, 0, 0], v6)),
        ("NULL, FreeBSD", 0, join(&[0, 0, 0, 28], v6)),
        ("NULL, Darwin", 0, join(&[30, 0, 0, 0], v6)),
        ("LOOP", 108, join(&[0, 0, 0, 24], v6)),
        ("ENC", 109, join(&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], v4)),
        ("RAW", 101, v4.to_vec()),
        ("RAW of BSD", 12, v6.to_vec()),
        ("RAW of OpenBSD", 14, v4.to_vec()),
        ("IPV4", 228, v4.to_vec()),
        ("IPV6", 229, v6.to_vec()),
        ("PPP", 9, join(&[0xff, 3, 0, 0x21], v4)),
        ("PPP without framing", 9, join(&[0, 0x57], v6)),
        ("PPP, a short protocol field", 9, join(&[0x21], v4)),
        ("PPP, MPLS", 9, join(&[&[0xff, 3, 2, 0x81][..], &bottom].concat(), v4)),
        ("PPP_HDLC", 50, join(&[0xff, 3, 0, 0x21], v4)),
        ("PPP_HDLC, Cisco", 50, join(&[0x0f, 0, 8, 0], v4)),
        ("PPP_PPPD", 166, join(&[1, 3, 0, 0x21], v4)),
        ("PPP with a direction", 204, join(&[1, 0xff, 3, 0, 0x21], v4)),
        ("C_HDLC", 104, join(&[0x0f, 0, 8, 0], v4)),
        ("C_HDLC with a direction", 205, join(&[0, 0x8f, 0, 0x86, 0xdd], v6)),
        (
            "NFLOG",
            239,
            join(
                &[2, 0, 0, 1, 8, 0, 1, 0, 8, 0, 0, 0, 5, 0, 10, 0, 0, 0, 0, 0, word(4 + v4.len()), 0, 9, 0],
                v4,
            ),
        ),
        ("PKTAP", 258, join(&[&[16, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0][..], &[0; 4]].concat(), eth4)),
        ("802.11", 105, wlan(8, 1, &[], &snap(0x0800, v4))),
        ("802.11, IPv6, four addresses", 105, wlan(8, 3, &[2; 6], &snap(0x86dd, v6))),
        ("802.11, QoS", 105, wlan(0x88, 2, &[0, 0], &snap(0x0800, v4))),
        ("802.11, QoS with HT control", 105, wlan(0x88, 0x82, &[0, 0, 0, 0, 0, 0], &snap(0x0800, v4))),
        ("802.11, QoS, four addresses", 105, wlan(0x88, 3, &[2, 2, 2, 2, 2, 2, 0, 0], &snap(0x0800, v4))),
        ("802.11, A-MSDU", 105, wlan(0x88, 2, &[0x80, 0], &amsdu)),
        ("radiotap", 127, radiotap(&[0, 0, 0, 0], &wlan(8, 2, &[], &snap(0x0800, v4)))),
        (
            "radiotap, flags and FCS",
            127,
            radiotap(&[2, 0, 0, 0, 0x10], &join(&wlan(8, 2, &[], &snap(0x0800, v4)), &[1, 2, 3, 4])),
        ),
        (
            "radiotap, padded header behind a time stamp and two words",
            127,
            radiotap(
                &[3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x20],
                &wlan(0x88, 2, &[0, 0, 0, 0], &snap(0x0800, v4)),
            ),
        ),
        (
            "AVS",
            163,
            join(
                &[&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &[0; 56]].concat(),
                &wlan(8, 2, &[], &snap(0x0800, v4)),
            ),
        ),
        (
            "Prism",
            119,
            join(
                &[&[0x44, 0, 0, 0, 144, 0, 0, 0][..], &[0; 136]].concat(),
                &wlan(8, 2, &[], &snap(0x0800, v4)),
            ),
        ),
        (
            "Prism that is AVS",
            119,
            join(&[0x80, 0x21, 0x10, 2, 0, 0, 0, 8], &wlan(8, 2, &[], &snap(0x0800, v4))),
        ),
        (
            "PPI with FCS",
            192,
            join(
                &[
                    0, 0, 32, 0, 105, 0, 0, 0, 2, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
                    0, 0, 0, 0,
                ],
                &join(&wlan(8, 2, &[], &snap(0x0800, v4)), &[1, 2, 3, 4]),
            ),
        ),
        ("PPI of Ethernet", 192, join(&[0, 0, 8, 0, 1, 0, 0, 0], eth4)),
        ("IPv4 options", 1, eth(&ipv4_raw(u16::try_from(v4.len() + 8).unwrap(), 1, 0, 6, &[1; 8], &segment))),
        (
            "IPv4, authentication",
            1,
            eth(&ipv4(
                51,
                &join(&[6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], &segment),
            )),
        ),
        ("IPv4, a total length of 0", 1, eth(&ipv4_raw(0, 1, 0, 6, &[], &segment))),
        ("IPv6, a payload length of 0", 1, ethernet(0x86dd, &ipv6_raw(0, 6, &segment))),
        (
            "IPv6, jumbo payload",
            1,
            join(
                &ethernet(
                    0x86dd,
                    &ipv6_raw(0, 0, &join(&[6, 0, 0xc2, 4, 0, 0, 0, word(8 + segment.len())], &segment)),
                ),
                &[0; 5],
            ),
        ),
        ("IPv6, hop by hop", 229, ipv6(0, &join(&[6, 0, 5, 2, 0, 0, 1, 0], &segment))),
        (
            "IPv6, destination options",
            229,
            ipv6(60, &join(&[6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &segment)),
        ),
        (
            "IPv6, routing that is done",
            229,
            ipv6(43, &join(&[&[6, 2, 0, 0, 0, 0, 0, 0][..], &[9; 16]].concat(), &segment)),
        ),
        ("IPv6, routing under way", 229, {
            let mut packet =
                ipv6(43, &join(&[&[6, 4, 0, 1, 0, 0, 0, 0][..], &[9; 16], &V6.1].concat(), &segment));
            packet[24..40].copy_from_slice(&[9; 16]);
            packet
        }),
        ("IPv6, segment routing under way", 229, {
            let mut packet =
                ipv6(43, &join(&[&[6, 4, 4, 1, 1, 0, 0, 0][..], &V6.1, &[9; 16]].concat(), &segment));
            packet[24..40].copy_from_slice(&[9; 16]);
            packet
        }),
        (
            "IPv6, three extension headers and authentication",
            229,
            ipv6(
                0,
                &join(
                    &[
                        43, 0, 1, 4, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 51, 0, 1, 4, 0, 0, 0, 0, 6, 2, 0,
                        0, 0, 0, 0, 1, 0, 0, 0, 1, 7, 7, 7, 7,
                    ],
                    &segment,
                ),
            ),
        ),
        ("IPv6, an atomic fragment", 229, ipv6(44, &fragment_header(6, 77, 0, false, &segment))),
        ("IP in IP", 1, eth(&ipv4(4, v4))),
        ("6in4", 1, eth(&ipv4(41, v6))),
        ("4in6", 1, ethernet(0x86dd, &ipv6(4, v4))),
        ("EtherIP", 1, eth(&ipv4(97, &join(&[0x30, 0], eth4)))),
        ("MPLS in IP", 1, eth(&ipv4(137, &join(&bottom, v4)))),
        ("Ethernet in segment routing", 229, ipv6(143, eth4)),
        ("GRE", 1, eth(&gre(&[0, 0, 8, 0], v4))),
        (
            "GRE, checksum, key and number",
            1,
            eth(&gre(&[0xb0, 0, 0x86, 0xdd, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3], v6)),
        ),
        ("GRE, bridging", 1, eth(&gre(&[0x20, 0, 0x65, 0x58, 0, 0, 0, 1], eth4))),
        ("GRE, MPLS", 1, eth(&gre(&[0, 0, 0x88, 0x47, 0, 1, 0x91, 64], v4))),
        ("GRE, PPP", 1, eth(&gre(&[0, 0, 0x88, 0x0b, 0, 0x21], v4))),
        ("GRE, WCCP", 1, eth(&gre(&[0, 0, 0x88, 0x3e], v4))),
        ("GRE, WCCP with a redirect header", 1, eth(&gre(&[0, 0, 0x88, 0x3e, 0, 0, 0, 0], v4))),
        (
            "PPTP",
            1,
            eth(&gre(
                &[0x30, 0x81, 0x88, 0x0b, 0, pptp_len, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 3, 0, 0x21],
                v4,
            )),
        ),
        ("ERSPAN I", 1, eth(&gre(&[0, 0, 0x88, 0xbe], eth4))),
        ("ERSPAN II", 1, eth(&gre(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 0, 0, 0, 0, 0, 0, 0], eth4))),
        (
            "ERSPAN III",
            1,
            eth(&gre(&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], eth4)),
        ),
        (
            "ERSPAN III, of IP, with a platform header",
            1,
            eth(&gre(
                &[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 1][..], &[9; 8]]
                    .concat(),
                v4,
            )),
        ),
        ("GRE in UDP", 1, eth(&over_udp(4754, &[0x20, 0, 8, 0, 0, 0, 0, 1], v4))),
        ("VXLAN", 1, eth(&over_udp(4789, &[8, 0, 0, 0, 0, 0, 42, 0], eth4))),
        (
            "VXLAN of Linux, a group policy, IPv6",
            1,
            eth(&over_udp(8472, &[0x88, 0, 0, 7, 0, 0, 42, 0], eth6)),
        ),
        ("VXLAN-GPE", 1, eth(&over_udp(4790, &[0x0c, 0, 0, 1, 0, 0, 42, 0], v4))),
        (
            "VXLAN-GPE, NSH",
            1,
            eth(&over_udp(4790, &[0x0c, 0, 0, 4, 0, 0, 42, 0, 0, 2, 2, 3, 0, 0, 1, 0xff], eth4)),
        ),
        ("Geneve", 1, eth(&over_udp(6081, &[0, 0, 0x65, 0x58, 0, 0, 42, 0], eth4))),
        (
            "Geneve, options",
            1,
            eth(&over_udp(6081, &[2, 0x40, 0x86, 0xdd, 0, 0, 42, 0, 1, 2, 3, 1, 5, 6, 7, 8], v6)),
        ),
        ("GTP", 1, eth(&over_udp(2152, &[0x30, 0xff, 0, gtp_len(v4.len()), 0, 0, 0, 1], v4))),
        (
            "GTP, a number",
            1,
            eth(&over_udp(2152, &[0x32, 0xff, 0, gtp_len(4 + v4.len()), 0, 0, 0, 1, 0, 9, 0, 0], v4)),
        ),
        (
            "GTP, two extension headers",
            1,
            eth(&over_udp(
                2152,
                &[
                    0x34,
                    0xff,
                    0,
                    gtp_len(16 + v4.len()),
                    0,
                    0,
                    0,
                    1,
                    0,
                    0,
                    0,
                    0x85,
                    1,
                    0x10,
                    9,
                    0x40,
                    2,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                ],
                v4,
            )),
        ),
        ("Teredo", 1, eth(&over_udp(3544, &[], v6))),
        ("Teredo, origin", 1, eth(&over_udp(3544, &teredo_origin, v6))),
        (
            "Teredo, authentication and origin",
            1,
            eth(&over_udp(
                3544,
                &[&[0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0][..], &teredo_origin].concat(),
                v6,
            )),
        ),
        (
            "VXLAN in GRE in 4in6 in Geneve",
            1,
            eth(&over_udp(
                6081,
                &[0, 0, 0x86, 0xdd, 0, 0, 42, 0],
                &ipv6(
                    4,
                    &gre(
                        &[0, 0, 8, 0],
                        &over_udp(
                            4789,
                            &[8, 0, 0, 0, 0, 0, 42, 0],
                            &ethernet(0x8100, &join(&[0, 5, 8, 0], v4)),
                        ),
                    ),
                ),
            )),
        ),
        ("forty times IP in IP", 1, eth(&(0..40).fold(v4.to_vec(), |packet, _| ipv4(4, &packet)))),
    ]
}

fn is_the_segment<'a>(name: &str, decoded: Decoded<'a>) -> Segment<'a> {
    let Decoded::Segment(segment) = decoded else { panic!("{name}: {decoded:?}") };
    let expected = if segment.source.is_ipv4() { endpoints(V4.0, V4.1) } else { endpoints(V6.0, V6.1) };
    assert_eq!((segment.source, segment.destination), expected, "{name}");
    assert_eq!(segment.seq, SEQ, "{name}");
    assert_eq!(segment.stamp, Stamp::untimed(9), "{name}");
    segment
}

#[test]
fn every_link_and_tunnel_carries_the_segment() {
    for (name, link, data) in samples() {
        let mut decoder = decoder();
        let frame = frame(link, &data);
        let segment = is_the_segment(name, decoder.decode(&frame));
        assert_eq!(segment.payload, PAYLOAD, "{name}");
        assert_eq!((segment.cut, segment.ack), (0, Some(ACK)), "{name}");
        assert_eq!(segment.flags, Flags::default(), "{name}");
        assert!(supports(LinkType(link)), "{name}");
    }
}

/// However short the snap length: what was on the wire is known as soon as the
/// sequence number is there.
#[test]
fn every_cut_is_counted() {
    let header = &tcp(&[])[..8];
    for (name, link, data) in samples() {
        let start = memchr::memmem::find(&data, header).unwrap();
        for len in 0..data.len() {
            let mut decoder = decoder();
            let frame = Frame { data: &data[..len], ..frame(link, &data) };
            let decoded = decoder.decode(&frame);
            if len < start + 8 {
                assert_eq!(decoded, Decoded::CutHeaders, "{name} at {len}");
                continue;
            }
            let segment = is_the_segment(name, decoded);
            let payload = &data[(start + 20).min(len)..len];
            assert_eq!(segment.payload, &payload[..payload.len().min(PAYLOAD.len())], "{name} at {len}");
            assert_eq!(segment.payload.len() + segment.cut as usize, PAYLOAD.len(), "{name} at {len}");
            assert_eq!(segment.ack, (len >= start + 14).then_some(ACK), "{name} at {len}");
        }
    }
}

/// A frame that ends inside its headers, and not because of the snap length.
#[test]
fn frames_that_were_short_on_the_wire_are_malformed() {
    for (name, link, data) in samples() {
        let start = memchr::memmem::find(&data, &tcp(&[])[..8]).unwrap();
        for len in 0..start {
            let decoded = decoder().decode(&frame(link, &data[..len])).is_segment();
            assert!(!decoded, "{name} at {len}");
        }
    }
}

impl Decoded<'_> {
    fn is_segment(&self) -> bool {
        matches!(self, Decoded::Segment(_))
    }
}

#[test]
fn flags_are_read_also_where_options_were_cut() {
    for (bits, expected) in [
        (SYN, Flags { syn: true, ..Flags::default() }),
        (FIN | ACKED, Flags { fin: true, ..Flags::default() }),
        (RST, Flags { rst: true, ..Flags::default() }),
    ] {
        let data = ipv4(6, &tcp_with(bits, 40, PAYLOAD));
        for len in [34, 39, 40, 79, 80, data.len()] {
            let mut decoder = decoder();
            let frame = Frame { data: &data[..len], ..frame(228, &data) };
            let segment = is_the_segment("options", decoder.decode(&frame));
            assert_eq!(segment.flags, expected);
            assert_eq!(segment.ack.is_some(), bits & ACKED != 0);
            assert_eq!(segment.payload.len() + segment.cut as usize, PAYLOAD.len());
        }
    }
}

#[test]
fn a_bare_ack_has_no_payload_though_ethernet_padded_it() {
    let ack = tcp(&[]);
    let lengths = [40, 0];
    for total in lengths {
        let data = join(&ethernet(0x0800, &ipv4_raw(total, 1, 0, 6, &[], &ack)), &[0; 6]);
        assert_eq!(data.len(), 60);
        let mut decoder = decoder();
        let frame = frame(1, &data);
        assert_eq!(is_the_segment("padded", decoder.decode(&frame)).payload, b"");
    }
    // Tagged: four octets more may be padding.
    let packet = ipv4_raw(0, 1, 0, 6, &[], &ack);
    let data = join(&ethernet(0x8100, &join(&[0, 5, 8, 0], &packet)), &[0; 6]);
    let frame = frame(1, &data);
    assert_eq!(is_the_segment("tagged", decoder().decode(&frame)).payload, b"");
}

#[test]
fn zeros_at_the_end_of_a_long_frame_are_payload() {
    let payload = [0; 100];
    let data = ethernet(0x0800, &ipv4_raw(0, 1, 0, 6, &[], &tcp(&payload)));
    let frame = frame(1, &data);
    assert_eq!(is_the_segment("zeros", decoder().decode(&frame)).payload, payload);
}

#[test]
fn offloaded_packets_beyond_64_kib_are_whole() {
    let payload = vec![b'x'; 200_000];
    let segment = tcp(&payload);
    let jumbo = u32::try_from(8 + segment.len()).unwrap().to_be_bytes();
    let hop_by_hop = join(&[&[6, 0, 0xc2, 4][..], &jumbo].concat(), &segment);
    for (name, packet) in [
        ("IPv4", ipv4_raw(0, 1, 0, 6, &[], &segment)),
        ("IPv6", ipv6_raw(0, 6, &segment)),
        ("IPv6, jumbo", ipv6_raw(0, 0, &hop_by_hop)),
    ] {
        let data = ethernet(0x0800, &packet);
        let whole = frame(1, &data);
        let mut decoder = decoder();
        assert_eq!(is_the_segment(name, decoder.decode(&whole)).payload, payload);
        let cut = Frame { data: &data[..1000], ..whole };
        let segment = is_the_segment(name, decoder.decode(&cut));
        assert_eq!(segment.payload.len() + segment.cut as usize, payload.len(), "{name}");
    }
}

/// A recorder that cuts packets without noting their length on the wire.
#[test]
fn an_ip_length_beyond_the_frame_is_a_cut() {
    let data = ipv4(6, &tcp(PAYLOAD));
    let frame = frame(228, &data[..data.len() - 5]);
    let mut decoder = decoder();
    let segment = is_the_segment("short", decoder.decode(&frame));
    assert_eq!((segment.payload, segment.cut), (&PAYLOAD[..PAYLOAD.len() - 5], 5));
}

#[test]
fn urgent_data_is_data() {
    let mut data = ipv4(6, &tcp_with(ACKED | 0x20, 0, PAYLOAD));
    data[39] = 3;
    let frame = frame(228, &data);
    assert_eq!(is_the_segment("urgent", decoder().decode(&frame)).payload, PAYLOAD);
}

#[test]
fn what_is_not_tcp_says_so() {
    let v4 = ipv4(6, &tcp(PAYLOAD));
    let eth4 = ethernet(0x0800, &v4);
    let eth = |body: &[u8]| ethernet(0x0800, body);
    let not_tcp = [
        ("ARP", 1, ethernet(0x0806, &[0; 28])),
        ("spanning tree", 1, ethernet(38, &[0x42; 46])),
        ("UDP", 1, eth(&over_udp(53, &[], &v4))),
        ("an ICMP error with a TCP header", 1, eth(&ipv4(1, &join(&[3, 1, 0, 0, 0, 0, 0, 0], &v4)))),
        ("an ICMPv6 error", 229, ipv6(58, &join(&[1, 4, 0, 0, 0, 0, 0, 0], &v4))),
        ("no next header", 229, ipv6(59, &v4)),
        ("an IPv6 extension under IPv4", 1, eth(&ipv4(60, &join(&[6, 0, 1, 4, 0, 0, 0, 0], &tcp(PAYLOAD))))),
        ("ESP", 1, eth(&ipv4(50, &v4))),
        ("netlink", 113, join(&[0, 4, 3, 0x38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0], &v4)),
        ("another address family", 0, join(&[7, 0, 0, 0], &v4)),
        ("encrypted 802.11", 105, wlan(8, 0x41, &[], &snap(0x0800, &v4))),
        ("an 802.11 frame without data", 105, wlan(0x48, 1, &[], &snap(0x0800, &v4))),
        ("a beacon", 105, wlan(0x80, 0, &[], &snap(0x0800, &v4))),
        (
            "a bad FCS",
            127,
            radiotap(&[2, 0, 0, 0, 0x50], &join(&wlan(8, 2, &[], &snap(0x0800, &v4)), &[0; 4])),
        ),
        ("PPPoE discovery", 1, ethernet(0x8864, &join(&[0x11, 9, 0, 0, 0, 0], &join(&[0, 0x21], &v4)))),
        ("LCP", 9, join(&[0xff, 3, 0xc0, 0x21], &v4)),
        ("GRE keep-alive", 1, eth(&gre(&[0, 0, 0, 0], &[]))),
        ("GRE with source routes", 1, eth(&gre(&[0x40, 0, 8, 0, 0, 0, 0, 0], &v4))),
        ("PPTP that acknowledges", 1, eth(&gre(&[0x20, 0x81, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 1], &[]))),
        (
            "a pseudowire's associated channel",
            1,
            ethernet(0x8847, &join(&[0, 1, 0x91, 64, 0x10, 0, 0, 0x21], &[0; 60])),
        ),
        ("VXLAN without its flag", 1, eth(&over_udp(4789, &[0, 0, 0, 0, 0, 0, 42, 0], &eth4))),
        ("VXLAN with other flags", 1, eth(&over_udp(4789, &[0x0a, 0, 0, 0, 0, 0, 42, 0], &eth4))),
        ("VXLAN with reserved octets", 1, eth(&over_udp(8472, &[8, 0, 1, 0, 0, 0, 42, 0], &eth4))),
        ("Geneve of another version", 1, eth(&over_udp(6081, &[0x40, 0, 0x65, 0x58, 0, 0, 42, 0], &eth4))),
        ("GTP that signals", 1, eth(&over_udp(2152, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0], &v4))),
        ("GTP prime", 1, eth(&over_udp(2152, &[0x0f, 0xff, 0, 4, 0, 0, 0, 0], &v4))),
        ("GRE in UDP with reserved flags", 1, eth(&over_udp(4754, &[1, 0, 8, 0], &v4))),
        ("no Teredo", 1, eth(&over_udp(3544, &[], &join(&ipv6(6, &tcp(PAYLOAD)), &[0])))),
        (
            "DNS that is on a tunnel's port",
            1,
            eth(&over_udp(8472, b"\x12\x34\x01\x00\x00\x01\x00\x00", &eth4)),
        ),
    ];
    for (name, link, data) in not_tcp {
        assert_eq!(decoder().decode(&frame(link, &data)), Decoded::NotTcp, "{name}");
    }
}

#[test]
fn headers_that_contradict_themselves_are_malformed() {
    let good = ipv4(6, &tcp(PAYLOAD));
    let change = |at: usize, to: u8| {
        let mut data = good.clone();
        data[at] = to;
        data
    };
    for (name, data) in [
        ("a header length of 16", change(0, 0x44)),
        ("version 5", change(0, 0x55)),
        ("a total length below the header's", change(3, 19)),
        ("a data offset of 16", change(32, 0x40)),
        ("a data offset beyond the segment", change(32, 0xf0)),
        ("no TCP header at all", ipv4(6, &[0; 7])),
        ("an empty packet", vec![]),
    ] {
        assert_eq!(decoder().decode(&frame(228, &data)), Decoded::Malformed, "{name}");
    }
}

#[test]
fn unknown_links_are_named() {
    let unsupported = Decoded::UnsupportedLink(LinkType(147));
    assert_eq!(decoder().decode(&frame(147, &[0; 80])), unsupported);
    assert!(!supports(LinkType(147)));
}

#[test]
fn an_aggregate_gives_each_of_its_packets() {
    let mut body = Vec::new();
    for payload in [&b"first"[..], b"2", b"the third"] {
        let msdu = snap(0x0800, &ipv4(6, &tcp(payload)));
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend([2; 12]);
        body.extend(u16::try_from(msdu.len()).unwrap().to_be_bytes());
        body.extend(msdu);
    }
    let data = wlan(0x88, 2, &[0x80, 0], &body);
    let mut payloads = Vec::new();
    decoder().decode_each(&frame(105, &data), |decoded| {
        payloads.push(is_the_segment("subframe", decoded).payload.to_vec());
    });
    assert_eq!(payloads, [&b"first"[..], b"2", b"the third"]);

    let mut count = 0;
    let eth4 = ethernet(0x0800, &ipv4(6, &tcp(PAYLOAD)));
    decoder().decode_each(&frame(1, &eth4), |decoded| count += usize::from(decoded.is_segment()));
    assert_eq!(count, 1);
}

fn links() -> impl Strategy<Value = u16> {
    let links: Vec<u16> = (0..300).filter(|&link| supports(LinkType(link))).collect();
    proptest::sample::select(links)
}

fn decode_all(decoder: &mut Decoder, frame: &Frame<'_>) {
    let _ = decoder.decode(frame);
    decoder.decode_each(frame, |decoded| {
        if let Decoded::Segment(segment) = decoded {
            assert!(segment.payload.len() <= 65_535.max(frame.data.len()));
        }
    });
}

/// Frames that are read at once: a name, the link type, the frame.
fn plain_samples() -> Vec<(&'static str, u16, Vec<u8>)> {
    let segment = tcp_with(ACKED | FIN, 12, PAYLOAD);
    let v4 = &ipv4(6, &segment)[..];
    let v6 = &ipv6(6, &segment)[..];
    let mut cooked = vec![0, 4, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0, 8, 0];
    cooked.extend(v4);
    let mut cooked_2 = vec![0x86, 0xdd, 0, 0, 0, 0, 0, 3, 0, 1, 4, 6, 2, 2, 2, 2, 2, 2, 0, 0];
    cooked_2.extend(v6);
    vec![
        ("ethernet", 1, ethernet(0x0800, v4)),
        ("ethernet, IPv6", 1, ethernet(0x86dd, v6)),
        ("ethernet, padded", 1, join(&ethernet(0x0800, &ipv4(6, &tcp_with(SYN, 0, b""))), &[0; 6])),
        ("a tag", 1, ethernet(0x8100, &join(&[0, 5, 8, 0], v4))),
        ("a tag, IPv6", 1, ethernet(0x88a8, &join(&[0, 5, 0x86, 0xdd], v6))),
        ("cooked", 113, cooked),
        ("cooked, version 2", 276, cooked_2),
        ("loopback", 0, join(&[2, 0, 0, 0], v4)),
        ("loopback, IPv6", 108, join(&[0, 0, 0, 30], v6)),
        ("raw", 101, v4.to_vec()),
        ("raw, IPv6", 229, v6.to_vec()),
    ]
}

#[test]
fn common_frames_are_plain() {
    for (name, link, data) in plain_samples() {
        let frame = frame(link, &data);
        let segment =
            plain::segment(&frame, |segment| *segment).unwrap_or_else(|| panic!("{name} isn't plain"));
        assert_eq!(decoder().decode_by_layers(&frame), Decoded::Segment(segment), "{name}");
    }
}

/// Whatever an octet of the headers is changed to, and wherever the frame is
/// cut, the layers agree with what is read at once.
#[test]
fn plain_frames_are_what_the_layers_find() {
    let mut compared = 0;
    let mut compare = |frame: &Frame<'_>| {
        if let Some(segment) = plain::segment(frame, |segment| *segment) {
            compared += 1;
            assert_eq!(decoder().decode_by_layers(frame), Decoded::Segment(segment), "{frame:?}");
        }
    };
    for (_, link, mut data) in plain_samples() {
        for at in 0..data.len() {
            compare(&Frame { data: &data[..at], ..frame(link, &data) });
            compare(&frame(link, &data[..at]));
            let was = data[at];
            for to in 0..=255 {
                data[at] = to;
                compare(&frame(link, &data));
            }
            data[at] = was;
        }
    }
    assert!(compared > 1000, "{compared}");
}

proptest! {
    #[test]
    fn random_octets_give_a_value(
        link in links(),
        data in proptest::collection::vec(any::<u8>(), 0..300),
        more in 0..100u32,
    ) {
        let wire_len = u32::try_from(data.len()).unwrap() + more;
        decode_all(&mut decoder(), &Frame { wire_len, ..frame(link, &data) });
    }

    #[test]
    fn plain_frames_are_what_the_layers_find_however_they_are_damaged(
        sample in any::<proptest::sample::Index>(),
        damages in proptest::collection::vec((0..100usize, any::<u8>()), 0..5),
        len in 0..200usize,
        more in 0..100u32,
    ) {
        let samples = plain_samples();
        let (_, link, data) = sample.get(&samples);
        let mut data = data.clone();
        for (at, to) in damages {
            let at = at % data.len();
            data[at] = to;
        }
        let wire_len = u32::try_from(data.len()).unwrap() + more;
        let frame = Frame { data: &data[..len.min(data.len())], wire_len, ..frame(*link, &data) };
        if let Some(segment) = plain::segment(&frame, |segment| *segment) {
            let mut decoder = decoder();
            prop_assert_eq!(decoder.decode_by_layers(&frame), Decoded::Segment(segment));
        }
    }

    #[test]
    fn damaged_frames_give_a_value(
        sample in any::<proptest::sample::Index>(),
        damages in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        len in any::<proptest::sample::Index>(),
        link in proptest::option::of(links()),
        wire_len in proptest::option::of(any::<u32>()),
    ) {
        let samples = samples();
        let (_, own, data) = sample.get(&samples);
        let mut data = data.clone();
        let mut decoder = Decoder::new(&Limits { fragments: 1000, ..Limits::default() });
        for (at, to) in damages {
            let at = at.index(data.len());
            data[at] = to;
            let frame = frame(link.unwrap_or(*own), &data);
            decode_all(&mut decoder, &frame);
            let cut = &data[..len.index(data.len())];
            decode_all(&mut decoder, &Frame { data: cut, wire_len: wire_len.unwrap_or(frame.wire_len), ..frame });
        }
    }
}
