//! Links and tunnels, nested as they come, and fragments in them.

use crate::frames::*;
use crate::segments::{self, Sent};
use crate::{is_the_watch, v4, v6};

const ETHERNET: u32 = 1;
const RADIOTAP: u32 = 127;
const SLL2: u32 = 276;

type Wrap = fn(&[u8]) -> Vec<u8>;

/// Each packet in one frame.
#[track_caller]
fn holds(name: &str, link: u32, sent: &[Sent], wrap: Wrap) {
    let frames = sent.iter().map(|one| (one, wrap(&segments::packet(one))));
    let (seen, _) = is_the_watch(name, &segments::file(link, frames), |segment| segment as u64);
    assert!(seen.problems().is_empty(), "{name}: {:?}", seen.problems());
}

/// Each packet in several frames, in which it is whole with the last.
#[track_caller]
fn holds_parts(name: &str, sent: &[Sent], wrap: impl Fn(usize, &[u8]) -> Vec<Vec<u8>>) {
    let parts: Vec<Vec<Vec<u8>>> =
        sent.iter().enumerate().map(|(number, one)| wrap(number, &segments::packet(one))).collect();
    let whole_with = |segment: usize| parts[..segment].iter().map(Vec::len).sum::<usize>() as u64;
    let frames =
        sent.iter().zip(&parts).flat_map(|(one, parts)| parts.iter().map(move |part| (one, part.clone())));
    let (seen, _) = is_the_watch(name, &segments::file(ETHERNET, frames), whole_with);
    assert!(seen.problems().is_empty(), "{name}: {:?}", seen.problems());
}

#[test]
fn tunnels_carry_the_watch_nested_as_they_come() {
    let wraps: [(&str, Wrap); 17] = [
        ("VLAN in MPLS in GRE", |packet| {
            let tagged = ethernet(0x8100, &tag(42, kind_of(packet), packet));
            // A pseudowire with its control word (RFC 4448).
            ether(&gre(0, 0x8847, &[], &mpls(&join(&[0; 4], &tagged))))
        }),
        ("VLAN in VLAN in MPLS in GRE with key and sequence", |packet| {
            let tagged = ethernet(0x88a8, &tag(7, 0x8100, &tag(42, kind_of(packet), packet)));
            ether(&gre(0x3000, 0x8847, &[0, 0, 0, 9, 0, 0, 0, 1], &mpls(&join(&[0; 4], &tagged))))
        }),
        ("IP in MPLS", |packet| ethernet(0x8847, &mpls(packet))),
        ("VXLAN", |packet| ether(&vxlan(4789, &ether(packet)))),
        ("VXLAN on Linux' first port", |packet| ether(&vxlan(8472, &ether(packet)))),
        ("VXLAN over IPv6", |packet| {
            let head = [8, 0, 0, 0, 0, 0, 1, 0];
            ether(&ipv6(17, &udp(4789, &join(&head, &ether(packet)))))
        }),
        ("VLAN in VXLAN in VLAN", |packet| {
            let inner = ethernet(0x8100, &tag(5, kind_of(packet), packet));
            let outer = vxlan(8472, &inner);
            ethernet(0x8100, &tag(6, kind_of(&outer), &outer))
        }),
        ("Geneve of Ethernet", |packet| ether(&geneve(0x6558, &ether(packet)))),
        ("Geneve of IP", |packet| ether(&geneve(kind_of(packet), packet))),
        ("ERSPAN type I", |packet| ether(&gre(0, 0x88be, &[], &ether(packet)))),
        ("ERSPAN type II", |packet| {
            let head = [0x10, 5, 0, 1, 0, 0, 0, 0];
            ether(&gre(0x1000, 0x88be, &[0, 0, 0, 1], &join(&head, &ether(packet))))
        }),
        ("ERSPAN type III", |packet| {
            let head = [0x20, 5, 0, 1, 1, 2, 3, 4, 0, 0, 0, 0];
            ether(&gre(0x1000, 0x22eb, &[0, 0, 0, 1], &join(&head, &ether(packet))))
        }),
        ("VXLAN in ERSPAN type III with a platform's header", |packet| {
            let head = [0x20, 5, 0, 1, 1, 2, 3, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
            let inner = ether(&vxlan(4789, &ether(packet)));
            ether(&gre(0x1000, 0x22eb, &[0, 0, 0, 1], &join(&head, &inner)))
        }),
        ("PPPoE", |packet| pppoe(packet)),
        ("PPPoE in two VLANs", |packet| {
            let session = pppoe(packet);
            ethernet(0x88a8, &tag(7, 0x8100, &tag(8, 0x8864, &session[14..])))
        }),
        ("IP in IPv4", |packet| ether(&ipv4(if packet[0] >> 4 == 6 { 41 } else { 4 }, packet))),
        ("IP in IPv6 in IPv4", |packet| {
            ether(&ipv4(41, &ipv6(if packet[0] >> 4 == 6 { 41 } else { 4 }, packet)))
        }),
    ];
    for (name, wrap) in wraps {
        holds(name, ETHERNET, &v4(), wrap);
        holds(&format!("{name}, IPv6 inside"), ETHERNET, &v6(), wrap);
    }
}

#[test]
fn wireless_frames_behind_radiotap_carry_the_watch() {
    holds("802.11", RADIOTAP, &v4(), radiotap);
    holds("802.11, IPv6 inside", RADIOTAP, &v6(), radiotap);
}

#[test]
fn fragments_are_joined_inside_tunnels_and_outside() {
    let wrap: [(&str, Wrap); 4] = [
        ("VXLAN", |packet| vxlan(4789, &ether(packet))),
        ("Geneve", |packet| geneve(0x6558, &ether(packet))),
        ("GRE", |packet| gre(0, kind_of(packet), &[], packet)),
        ("IP in IP", |packet| ipv4(if packet[0] >> 4 == 6 { 41 } else { 4 }, packet)),
    ];
    for (name, wrap) in wrap {
        for sent in [v4(), v6()] {
            for backwards in [false, true] {
                let turned = |mut parts: Vec<Vec<u8>>| {
                    if backwards {
                        parts.reverse();
                    }
                    parts
                };
                holds_parts(&format!("fragments in {name}"), &sent, |number, packet| {
                    let parts = fragments(packet, 100 + number as u16, 504);
                    turned(parts.iter().map(|part| ether(&wrap(part))).collect())
                });
                holds_parts(&format!("{name} in fragments"), &sent, |number, packet| {
                    let parts = fragments(&wrap(packet), 100 + number as u16, 504);
                    turned(parts.iter().map(|part| ether(part)).collect())
                });
                // Both: a router in the tunnel's way has a smaller frame yet.
                holds_parts(&format!("fragments in {name} in fragments"), &sent, |number, packet| {
                    let inner = fragments(packet, 100 + number as u16, 504);
                    let outer = inner
                        .iter()
                        .enumerate()
                        .flat_map(|(place, part)| fragments(&wrap(part), (number * 50 + place) as u16, 304));
                    turned(outer.map(|part| ether(&part)).collect())
                });
            }
        }
    }
}

#[test]
fn copies_of_a_capture_on_any_interface_are_retransmissions() {
    for sent in [v4(), v6()] {
        // On the veth's end of the pod, on that of the node, and on the bridge.
        let copies = [(7, 4), (8, 0), (3, 4)];
        let frames = sent.iter().flat_map(|one| {
            let packet = segments::packet(one);
            copies.map(|(interface, kind)| (one, sll2(interface, kind, &packet)))
        });
        let capture = segments::file(SLL2, frames);
        let (seen, exchange) = is_the_watch("any", &capture, |segment| 3 * segment as u64 - 2);
        assert!(seen.problems().is_empty(), "{:?}", seen.problems());
        assert_eq!(exchange["index"], 0);
        assert_eq!(seen.summary("exchanges"), 1);
    }
}
