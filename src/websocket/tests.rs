//! Messages whole, octet by octet and at every cut, masked and fragmented.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::units::FrameNo;

/// A frame as RFC 6455 §5.2 draws it.
fn frame(first: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let bit = if mask.is_some() { 0x80 } else { 0 };
    let mut octets = vec![first];
    match payload.len() {
        len @ 0..126 => octets.push(bit | len as u8),
        len @ 126..65536 => {
            octets.push(bit | 126);
            octets.extend((len as u16).to_be_bytes());
        }
        len => {
            octets.push(bit | 127);
            octets.extend((len as u64).to_be_bytes());
        }
    }
    octets.extend(mask.iter().flatten());
    let key = mask.unwrap_or_default();
    octets.extend(payload.iter().zip(key.iter().cycle()).map(|(octet, key)| octet ^ key));
    octets
}

fn text(payload: &[u8]) -> Vec<u8> {
    frame(0x81, payload, None)
}

/// Messages (their payload, whether text, their frames, whether whole), and
/// how reading ended.
#[derive(Debug, Default, PartialEq, Eq)]
struct Read {
    messages: Vec<(Vec<u8>, bool, u64, bool)>,
    packets: Vec<Vec<u64>>,
    sizes: Vec<(u64, u64, u64)>,
    /// The octets of the payload tokens, and where holes were.
    octets: Vec<u8>,
    ended: Option<String>,
}

impl Read {
    fn step(&mut self, step: Step<'_>) {
        match step {
            Step::Token(ChunkToken::End(chunk)) => {
                let message = chunk.message.unwrap();
                assert_eq!(chunk.index, self.messages.len() as u64 + 1);
                assert_eq!((chunk.size_hex(), chunk.extensions()), ("", None));
                self.sizes.push((chunk.offset, chunk.size, chunk.received));
                self.packets.push(chunk.frames().into_iter().map(FrameNo::get).collect());
                self.messages.push((chunk.payload, message.text, message.frames, !chunk.unfinished));
            }
            Step::Token(ChunkToken::Payload { offset, piece }) => {
                assert_eq!(offset, self.octets.len() as u64);
                self.octets.extend_from_slice(&piece.bytes);
            }
            Step::Token(ChunkToken::Missing { offset, len }) => {
                assert_eq!(offset, self.octets.len() as u64);
                self.octets.extend(std::iter::repeat_n(b'?', len as usize));
            }
            Step::Token(_) => {}
            Step::Broken(fault) => self.ended = Some(fault.message),
            Step::Lost => self.ended = Some("lost".to_owned()),
        }
    }
}

/// Reads parts, each a packet from 1 on; `None` is a hole of so many octets.
fn read<'p>(parts: impl IntoIterator<Item = Result<&'p [u8], u64>>) -> Read {
    let mut decoder = Decoder::new(1 << 20);
    let (mut read, mut at) = (Read::default(), 0);
    for (number, part) in (1..).zip(parts) {
        let stamp = Stamp::untimed(number);
        match part {
            Ok(bytes) => {
                let bytes = Cow::Borrowed(bytes);
                let mut piece = Piece { at, bytes, stamp, released: stamp, segment_start: true };
                at += piece.bytes.len() as u64;
                while let Some(step) = decoder.read(&mut piece) {
                    read.step(step);
                }
                assert!(piece.bytes.is_empty() || read.ended.is_some());
            }
            Err(len) => {
                let mut gap = Gap { at, len, noticed: stamp };
                at += len;
                while let Some(step) = decoder.gap(&mut gap) {
                    read.step(step);
                }
            }
        }
    }
    if let Some(token) = decoder.finish() {
        read.step(Step::Token(token));
    }
    read
}

/// Reads octets whole, octet by octet, and at every cut: the same.
fn everyhow(octets: &[u8]) -> Read {
    let bare = |read: Read| (read.messages, read.sizes, read.octets, read.ended);
    let whole = read([Ok(octets)]);
    let expected = bare(read([Ok(octets)]));
    assert_eq!(bare(read(octets.chunks(1).map(Ok))), expected);
    for cut in 1..octets.len() {
        assert_eq!(bare(read([Ok(&octets[..cut]), Ok(&octets[cut..])])), expected, "cut at {cut}");
    }
    whole
}

#[test]
fn the_examples_of_rfc_6455_are_read() {
    // Section 5.7.
    let hello = (b"Hello".to_vec(), true, 1, true);
    assert_eq!(everyhow(b"\x81\x05Hello").messages, std::slice::from_ref(&hello));
    assert_eq!(everyhow(b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58").messages, [hello]);
    let fragmented = everyhow(b"\x01\x03Hel\x80\x02lo");
    assert_eq!(fragmented.messages, [(b"Hello".to_vec(), true, 2, true)]);
    assert_eq!(fragmented.sizes, [(0, 5, 5)]);
    assert_eq!(everyhow(b"\x89\x05Hello\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58").messages, []);
    let long = vec![7; 256];
    assert_eq!(everyhow(&[b"\x82\x7e\x01\x00", &long[..]].concat()).messages, [(long, false, 1, true)]);
    let longer = vec![7; 65536];
    let octets = [b"\x82\x7f\0\0\0\0\0\x01\0\0", &longer[..]].concat();
    assert_eq!(read([Ok(&octets[..])]).messages, [(longer, false, 1, true)]);
}

#[test]
fn control_frames_may_stand_between_the_frames_of_a_message() {
    let octets =
        [&frame(0x01, b"ab", None)[..], &frame(0x89, b"ping", None), &frame(0x80, b"c", None)].concat();
    let read = everyhow(&[&octets[..], &frame(0x88, b"\x03\xe8", None)].concat());
    assert_eq!(read.messages, [(b"abc".to_vec(), true, 2, true)]);
    assert_eq!((read.octets, read.ended), (b"abc".to_vec(), None));
}

#[test]
fn empty_messages_are_messages() {
    let octets = [&text(b"")[..], &frame(0x02, b"", None), &frame(0x80, b"", None), &text(b"x")].concat();
    let read = everyhow(&octets);
    let empty = |text, frames| (Vec::new(), text, frames, true);
    assert_eq!(read.messages, [empty(true, 1), empty(false, 2), (b"x".to_vec(), true, 1, true)]);
}

#[test]
fn a_message_knows_the_packets_of_its_header_and_payload() {
    let octets = [text(b"abcdef"), text(b"gh")].concat();
    let parts = [&octets[..1], &octets[1..2], &octets[2..5], &octets[5..9], &octets[9..]];
    assert_eq!(read(parts.map(Ok)).packets, [vec![1, 2, 3, 4], vec![4, 5]]);
}

#[test]
fn a_message_that_goes_on_is_unfinished() {
    assert_eq!(everyhow(b"\x81\x05Hel").messages, [(b"Hel".to_vec(), true, 1, false)]);
    assert_eq!(everyhow(b"\x01\x03Hel").messages, [(b"Hel".to_vec(), true, 1, false)]);
    assert_eq!(everyhow(b"\x81").messages, []);
}

#[test]
fn frames_that_are_not_allowed_break_the_framing() {
    for (octets, says) in [
        (&b"\xc1\x00"[..], "reserved bits"),
        (b"\x83\x00", "opcode"),
        (b"\x8b\x00", "opcode"),
        (b"\x80\x00", "continues no message"),
        (b"\x01\x01a\x81\x01b", "before the last one ended"),
        (b"\x09\x00", "fragmented"),
        (b"\x89\x7e\x00\x7e", "125"),
        (b"\x82\x7f\x80\0\0\0\0\0\0\0", "highest bit"),
    ] {
        let read = everyhow(octets);
        let message = read.ended.unwrap();
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn lost_payload_is_stepped_over_and_a_lost_header_is_the_end() {
    let mask = Some([1, 2, 3, 4]);
    let octets = [frame(0x81, b"abcdefgh", mask), text(b"x")].concat();
    let lost = read([Ok(&octets[..8]), Err(3), Ok(&octets[11..])]);
    assert_eq!(lost.octets, b"ab???fghx");
    assert_eq!(lost.sizes, [(0, 8, 5), (8, 1, 1)]);
    assert_eq!(lost.ended, None);
    let lost = read([Ok(&octets[..12]), Err(4), Ok(&octets[16..])]);
    assert_eq!((lost.messages.len(), lost.ended.as_deref()), (1, Some("lost")));
}

proptest! {
    /// Messages are what was sent, however they are fragmented, masked, mixed
    /// with control frames and cut.
    #[test]
    fn what_was_sent_is_read(
        messages in proptest::collection::vec(
            (proptest::collection::vec(any::<u8>(), 0..400), any::<bool>(), 1usize..4, any::<Option<[u8; 4]>>(), any::<bool>()),
            0..5,
        ),
        cut in 1usize..50,
    ) {
        let (mut octets, mut expected) = (Vec::new(), Vec::new());
        for (payload, is_text, frames, mask, ping) in &messages {
            let size = (payload.len() / frames).max(1);
            let mut parts: Vec<&[u8]> = payload.chunks(size).collect();
            if parts.is_empty() {
                parts.push(b"");
            }
            let last = parts.len() - 1;
            for (number, part) in parts.iter().enumerate() {
                let opcode = if number > 0 { 0 } else if *is_text { 1 } else { 2 };
                octets.extend(frame(opcode | if number == last { 0x80 } else { 0 }, part, *mask));
                if *ping {
                    octets.extend(frame(0x89, b"ping", *mask));
                }
            }
            expected.push((payload.clone(), *is_text, parts.len() as u64, true));
        }
        let read = read(octets.chunks(cut).map(Ok));
        prop_assert_eq!((read.messages, read.ended), (expected, None));
    }

    #[test]
    fn any_octets_are_read_alike_whatever_the_edges(
        octets in proptest::collection::vec(prop_oneof![any::<u8>(), 0u8..8, 0x80u8..0x90], 0..60),
    ) {
        everyhow(&octets);
    }
}
