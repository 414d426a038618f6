//! Datagrams in fragments.

use super::*;
use crate::units::{FrameNo, Timestamp};

/// Decodes packets of raw IP; each is a frame of its own, from number 1.
struct Recording {
    decoder: Decoder,
    frames: u64,
}

impl Recording {
    fn new() -> Self {
        Self::within(Limits::default().fragments)
    }

    fn within(fragments: usize) -> Self {
        Self { decoder: Decoder::new(&Limits { fragments, ..Limits::default() }), frames: 0 }
    }

    fn packet<'a>(&'a mut self, data: &'a [u8]) -> Decoded<'a> {
        self.cut_packet(data, data.len())
    }

    fn cut_packet<'a>(&'a mut self, data: &'a [u8], wire_len: usize) -> Decoded<'a> {
        self.frames += 1;
        let wire_len = u32::try_from(wire_len).unwrap();
        self.decoder.decode(&Frame { stamp: Stamp::untimed(self.frames), wire_len, ..frame(101, data) })
    }

    fn held(&mut self, data: &[u8]) {
        assert_eq!(self.packet(data), Decoded::FragmentHeld);
    }

    fn payload(&mut self, data: &[u8]) -> Vec<u8> {
        let frames = self.frames + 1;
        let Decoded::Segment(segment) = self.packet(data) else { panic!("no segment") };
        assert_eq!((segment.seq, segment.cut), (SEQ, 0));
        assert_eq!(segment.stamp, Stamp::untimed(frames));
        segment.payload.to_vec()
    }
}

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect()
}

/// A datagram of IPv4 in fragments of `size` octets.
fn split_v4(id: u16, protocol: u8, body: &[u8], size: usize) -> Vec<Vec<u8>> {
    let count = body.len().div_ceil(size);
    let parts = body.chunks(size).enumerate();
    parts.map(|(n, part)| ipv4_fragment(id, protocol, n * size, n + 1 < count, part)).collect()
}

fn split_v6(id: u32, next: u8, body: &[u8], size: usize) -> Vec<Vec<u8>> {
    let count = body.len().div_ceil(size);
    let parts = body.chunks(size).enumerate();
    parts.map(|(n, part)| ipv6(44, &fragment_header(next, id, n * size, n + 1 < count, part))).collect()
}

#[test]
fn fragments_in_every_order_make_the_datagram() {
    let payload = payload(60);
    for fragments in [split_v4(9, 6, &tcp(&payload), 24), split_v6(9, 6, &tcp(&payload), 24)] {
        let &[a, b, c, d] = &[0, 1, 2, 3];
        for order in [[a, b, c, d], [d, c, b, a], [b, d, a, c], [c, a, d, b]] {
            let mut recording = Recording::new();
            for &n in &order[..3] {
                recording.held(&fragments[n]);
            }
            assert_eq!(recording.payload(&fragments[order[3]]), payload);
            assert_eq!(recording.decoder.incomplete_datagrams(), 0);
        }
    }
}

#[test]
fn the_first_received_octets_win_an_overlap() {
    let segment = tcp(&payload(44));
    let other = [b'x'; 64];
    let mut recording = Recording::new();
    recording.held(&ipv4_fragment(1, 6, 16, true, &segment[16..32]));
    recording.held(&ipv4_fragment(1, 6, 40, true, &segment[40..48]));
    // Around and between those: all of it new but what is there already.
    recording.held(&ipv4_fragment(
        1,
        6,
        8,
        true,
        &[&segment[8..16], &other[16..32], &segment[32..40], &other[40..48]].concat(),
    ));
    recording.held(&ipv4_fragment(1, 6, 48, false, &segment[48..]));
    recording.held(&ipv4_fragment(1, 6, 40, true, &other[..16]));
    assert_eq!(
        recording.payload(&ipv4_fragment(1, 6, 0, true, &[&segment[..8], &other[..56]].concat())),
        payload(44)
    );
}

#[test]
fn datagrams_are_told_apart() {
    let (first, second) = (tcp(&payload(60)), tcp(&[b'z'; 60]));
    let mut recording = Recording::new();
    let fragments = [
        split_v4(1, 6, &first, 40),
        split_v4(2, 6, &second, 40),
        split_v4(1, 17, &[0; 80], 40),
        split_v6(1, 6, &first, 40),
    ];
    for parts in &fragments {
        recording.held(&parts[1]);
    }
    assert_eq!(recording.payload(&fragments[0][0]), payload(60));
    assert_eq!(recording.payload(&fragments[1][0]), [b'z'; 60]);
    assert_eq!(recording.packet(&fragments[2][0]), Decoded::NotTcp);
    assert_eq!(recording.payload(&fragments[3][0]), payload(60));
}

#[test]
fn the_first_fragment_names_the_protocol_of_ipv6() {
    let options = join(&[6, 0, 1, 4, 0, 0, 0, 0], &tcp(&payload(60)));
    let parts = split_v6(1, 60, &options, 48);
    let mut recording = Recording::new();
    // The second one's next header is wrong, and doesn't matter.
    recording.held(&ipv6(44, &fragment_header(17, 1, 48, false, &options[48..])));
    assert_eq!(recording.payload(&parts[0]), payload(60));
}

/// As where a capture holds what two interfaces saw.
#[test]
fn doubled_fragments_are_tolerated() {
    let parts = split_v4(1, 6, &tcp(&payload(60)), 40);
    let mut recording = Recording::new();
    recording.held(&parts[0]);
    recording.held(&parts[0]);
    assert_eq!(recording.payload(&parts[1]), payload(60));
    recording.held(&parts[1]);
    assert_eq!(recording.decoder.incomplete_datagrams(), 0);
    // The same identification again: the echo takes no part in it.
    let parts = split_v4(1, 6, &tcp(&[b'z'; 60]), 40);
    recording.held(&parts[0]);
    assert_eq!(recording.payload(&parts[1]), [b'z'; 60]);
    // Both once more: a copy of the segment, as without fragments.
    recording.held(&parts[0]);
    assert_eq!(recording.payload(&parts[1]), [b'z'; 60]);
}

#[test]
fn a_new_datagram_may_share_a_fragment_with_the_last() {
    let mut recording = Recording::new();
    for first in [b'a', b'b', b'c'] {
        let payload = [[first; 20], [b'-'; 20]].concat();
        let parts = split_v4(1, 6, &tcp(&payload), 40);
        recording.held(&parts[0]);
        assert_eq!(recording.payload(&parts[1]), payload);
    }
}

#[test]
fn a_datagram_may_hold_a_tunnel_and_fragments_in_turn() {
    let inner = split_v4(5, 6, &tcp(&payload(200)), 112);
    let outer: Vec<_> = inner.iter().map(|packet| split_v4(6, 4, packet, 72)).collect();
    let mut recording = Recording::new();
    recording.held(&outer[0][1]);
    recording.held(&outer[0][0]);
    recording.held(&outer[1][0]);
    assert_eq!(recording.payload(&outer[1][1]), payload(200));
    assert_eq!(recording.decoder.incomplete_datagrams(), 0);
}

#[test]
fn what_follows_a_cut_fragment_is_counted_as_cut() {
    let segment = tcp(&payload(100));
    let parts = split_v4(1, 6, &segment, 40);
    let mut recording = Recording::new();
    recording.held(&parts[0]);
    recording.held(&parts[2]);
    let decoded = recording.cut_packet(&parts[1][..50], parts[1].len());
    let Decoded::Segment(found) = decoded else { panic!("{decoded:?}") };
    assert_eq!((found.payload, found.cut), (&segment[20..70], 50));
}

#[test]
fn what_is_no_fragment_is_malformed() {
    let mut recording = Recording::new();
    assert_eq!(recording.packet(&ipv4_fragment(1, 6, 8, true, &[])), Decoded::Malformed);
    assert_eq!(recording.packet(&ipv4_fragment(1, 6, 8, true, &[1; 7])), Decoded::Malformed);
    assert_eq!(recording.packet(&ipv4_fragment(1, 6, 65_528, false, &[1; 8])), Decoded::Malformed);
    assert_eq!(recording.decoder.incomplete_datagrams(), 0);
}

#[test]
fn memory_is_bounded_and_the_oldest_goes_first() {
    let mut recording = Recording::within(10_000);
    for id in 0..100 {
        recording.held(&split_v4(id, 6, &tcp(&payload(1480)), 1000)[0]);
    }
    assert!(recording.decoder.fragments.cost() <= 10_000);
    assert_eq!(recording.decoder.dropped_datagrams(), 93);
    assert_eq!(recording.decoder.incomplete_datagrams(), 100);
    let second = |id| split_v4(id, 6, &tcp(&payload(1480)), 1000)[1].clone();
    assert_eq!(recording.payload(&second(99)), payload(1480));
    recording.held(&second(0));
    assert_eq!(recording.decoder.dropped_datagrams(), 93);
}

#[test]
fn tiny_fragments_count_what_they_take() {
    let mut recording = Recording::within(10_000);
    for n in 0..5000 {
        recording.held(&ipv4_fragment(1, 6, n * 16, true, &[1; 8]));
        assert!(recording.decoder.fragments.cost() <= 10_000);
        if n == 4000 {
            break;
        }
    }
    assert!(recording.decoder.dropped_datagrams() > 0);
}

#[test]
fn an_old_fragment_is_of_another_datagram() {
    let (old, new) = (split_v4(1, 6, &tcp(&[b'o'; 60]), 40), split_v4(1, 6, &tcp(&[b'n'; 60]), 40));
    let mut decoder = decoder();
    let mut at = |seconds, data: &[u8]| {
        let stamp = Stamp { frame: FrameNo::new(1), at: Some(Timestamp::new(seconds, 0, 6)) };
        match decoder.decode(&Frame { stamp, ..frame(101, data) }) {
            Decoded::Segment(segment) => Some(segment.payload.to_vec()),
            _ => None,
        }
    };
    assert_eq!(at(0, &old[0]), None);
    assert_eq!(at(60, &old[1]), Some(vec![b'o'; 60]));
    assert_eq!(at(100, &old[1]), None);
    assert_eq!(at(161, &new[0]), None);
    assert_eq!(at(161, &new[1]), Some(vec![b'n'; 60]));
}

proptest! {
    /// Against a naive model: for each octet, the first that came.
    #[test]
    fn any_fragments_agree_with_a_model(
        len in 1..30usize,
        tail in 1..8usize,
        fragments in proptest::collection::vec((1..30usize, 1..12usize, any::<u8>()), 1..60),
    ) {
        // The header is the first fragment and comes first: what overlaps it
        // doesn't win. The rest is payload.
        let total = 24 + len * 8 + tail;
        let mut model: Vec<Option<u8>> = vec![None; total];
        let mut recording = Recording::new();
        let head = tcp(&[1; 4]);
        recording.held(&ipv4_fragment(1, 6, 0, true, &head));
        model[..24].iter_mut().zip(&head).for_each(|(octet, &new)| *octet = Some(new));
        for (at, count, fill) in fragments {
            let start = (at * 8).min(total - 1) / 8 * 8; // never the first: that would be a whole datagram
            let end = (start + count * 8).min(total);
            for octet in &mut model[start..end] {
                octet.get_or_insert(fill);
            }
            let packet = ipv4_fragment(1, 6, start, end < total, &vec![fill; end - start]);
            let whole: Option<Vec<u8>> = model.iter().copied().collect();
            match whole {
                Some(whole) => {
                    prop_assert_eq!(recording.payload(&packet), &whole[20..]);
                    return Ok(());
                }
                None => prop_assert_eq!(recording.packet(&packet), Decoded::FragmentHeld),
            }
        }
    }
}
