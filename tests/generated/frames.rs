//! Headers, each put before what it is given.

pub fn join(head: &[u8], body: &[u8]) -> Vec<u8> {
    [head, body].concat()
}

fn word(number: usize) -> [u8; 2] {
    u16::try_from(number).unwrap().to_be_bytes()
}

/// An IPv4 packet, or a fragment of one: `place` counts octets.
pub fn ipv4_part(protocol: u8, id: u16, place: usize, more: bool, body: &[u8]) -> Vec<u8> {
    assert_eq!(place % 8, 0);
    let field = word((place / 8) | if more { 0x2000 } else { 0 });
    let total = word(20 + body.len());
    let id = id.to_be_bytes();
    let mut head = vec![0x45, 0, total[0], total[1], id[0], id[1], field[0], field[1], 64, protocol, 0, 0];
    head.extend_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
    join(&head, body)
}

pub fn ipv4(protocol: u8, body: &[u8]) -> Vec<u8> {
    ipv4_part(protocol, 1, 0, false, body)
}

pub fn ipv6(next: u8, body: &[u8]) -> Vec<u8> {
    let len = word(body.len());
    let mut head = vec![0x60, 0, 0, 0, len[0], len[1], next, 64];
    for last in [1, 2] {
        head.extend_from_slice(&[0x20, 1, 0xd, 0xb8, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    join(&head, body)
}

/// The fragments of an IP packet whose header has no options, each with so many
/// octets of its body (a multiple of 8).
pub fn fragments(packet: &[u8], id: u16, size: usize) -> Vec<Vec<u8>> {
    let six = packet[0] >> 4 == 6;
    let (header, body) = packet.split_at(if six { 40 } else { 20 });
    let count = body.len().div_ceil(size);
    let parts = body.chunks(size).enumerate().map(|(number, part)| {
        let (place, more) = (number * size, number + 1 < count);
        let mut header = header.to_vec();
        if six {
            // RFC 8200 §4.5: next header, offset and flag, identification.
            let at = word(place | usize::from(more));
            let id = id.to_be_bytes();
            let fragment = join(&[header[6], 0, at[0], at[1], 0, 0, id[0], id[1]], part);
            header[6] = 44;
            header[4..6].copy_from_slice(&word(fragment.len()));
            join(&header, &fragment)
        } else {
            header[2..4].copy_from_slice(&word(20 + part.len()));
            header[4..6].copy_from_slice(&id.to_be_bytes());
            header[6..8].copy_from_slice(&word((place / 8) | if more { 0x2000 } else { 0 }));
            join(&header, part)
        }
    });
    parts.collect()
}

pub fn udp(port: u16, body: &[u8]) -> Vec<u8> {
    let len = word(8 + body.len());
    let port = port.to_be_bytes();
    join(&[0xc3, 0x50, port[0], port[1], len[0], len[1], 0, 0], body)
}

/// The ether type of an IP packet.
pub fn kind_of(packet: &[u8]) -> u16 {
    if packet[0] >> 4 == 6 { 0x86dd } else { 0x0800 }
}

pub fn ethernet(kind: u16, body: &[u8]) -> Vec<u8> {
    let kind = kind.to_be_bytes();
    join(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, kind[0], kind[1]], body)
}

/// An IP packet in Ethernet.
pub fn ether(packet: &[u8]) -> Vec<u8> {
    ethernet(kind_of(packet), packet)
}

/// What stands behind the ether type of a VLAN tag.
pub fn tag(vlan: u16, kind: u16, body: &[u8]) -> Vec<u8> {
    join(&[vlan.to_be_bytes(), kind.to_be_bytes()].concat(), body)
}

/// GRE (RFC 2784, RFC 2890) with the fields that its flags announce.
pub fn gre(flags: u16, kind: u16, fields: &[u8], body: &[u8]) -> Vec<u8> {
    let head = [&flags.to_be_bytes()[..], &kind.to_be_bytes(), fields].concat();
    ipv4(47, &join(&head, body))
}

/// Two labels of MPLS (RFC 3032).
pub fn mpls(body: &[u8]) -> Vec<u8> {
    join(&[0, 0x3e, 0x80, 64, 0, 0x3e, 0x91, 64], body)
}

pub fn vxlan(port: u16, frame: &[u8]) -> Vec<u8> {
    ipv4(17, &udp(port, &join(&[8, 0, 0, 0, 0, 0x12, 0x34, 0], frame)))
}

/// Geneve (RFC 8926) with two options, of eight octets and of four.
pub fn geneve(kind: u16, body: &[u8]) -> Vec<u8> {
    let kind = kind.to_be_bytes();
    let head = [
        &[3, 0, kind[0], kind[1], 0, 0, 7, 0][..],
        &[1, 2, 0x80, 1, 0xde, 0xad, 0xbe, 0xef],
        &[1, 3, 0x80, 0],
    ];
    ipv4(17, &udp(6081, &join(&head.concat(), body)))
}

/// PPPoE session (RFC 2516) with PPP.
pub fn pppoe(packet: &[u8]) -> Vec<u8> {
    let protocol: [u8; 2] = if packet[0] >> 4 == 6 { [0, 0x57] } else { [0, 0x21] };
    let len = word(2 + packet.len());
    let head = [&[0x11, 0, 0, 5][..], &len, &protocol].concat();
    ethernet(0x8864, &join(&head, packet))
}

/// IEEE 802.11 QoS data from an access point, behind radiotap with a time stamp
/// and flags, its frame check sequence behind it.
pub fn radiotap(packet: &[u8]) -> Vec<u8> {
    let kind = kind_of(packet).to_be_bytes();
    let mut frame = vec![0, 0, 17, 0, 3, 0, 0, 0];
    frame.extend_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 0x10]);
    frame.extend_from_slice(&[0x88, 2]);
    frame.extend_from_slice(&[2; 20]);
    frame.extend_from_slice(&[0x10, 0, 0, 0]);
    frame.extend_from_slice(&[0xaa, 0xaa, 3, 0, 0, 0, kind[0], kind[1]]);
    frame.extend_from_slice(packet);
    frame.extend_from_slice(&[0xde, 0xad, 0xbe, 0xef]);
    frame
}

/// LINKTYPE_LINUX_SLL2, on an interface, of a packet type.
pub fn sll2(interface: u8, packet_type: u8, packet: &[u8]) -> Vec<u8> {
    let kind = kind_of(packet).to_be_bytes();
    let head = [kind[0], kind[1], 0, 0, 0, 0, 0, interface, 0, 1, packet_type, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    join(&head, packet)
}
