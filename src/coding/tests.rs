//! Each coding whole, octet by octet and at every cut, against its encoder.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::*;

/// The ways in which bodies are coded here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoder {
    Gzip,
    Zlib,
    RawDeflate,
    Brotli,
    Zstd,
}

const ENCODERS: [Encoder; 5] =
    [Encoder::Gzip, Encoder::Zlib, Encoder::RawDeflate, Encoder::Brotli, Encoder::Zstd];

impl Encoder {
    fn coding(self) -> Coding {
        match self {
            Self::Gzip => Coding::Gzip,
            Self::Zlib | Self::RawDeflate => Coding::Deflate,
            Self::Brotli => Coding::Brotli,
            Self::Zstd => Coding::Zstd,
        }
    }

    /// One stream that is flushed behind each text: the coded octets up to
    /// each flush, and those that end the stream.
    fn encode(self, texts: &[&[u8]]) -> Vec<Vec<u8>> {
        macro_rules! flushed {
            ($encoder:expr, $finish:ident) => {{
                let mut encoder = $encoder;
                let mut parts = Vec::new();
                let mut taken = 0;
                for text in texts {
                    encoder.write_all(text).unwrap();
                    encoder.flush().unwrap();
                    parts.push(encoder.get_ref()[taken..].to_vec());
                    taken = encoder.get_ref().len();
                }
                let whole: Vec<u8> = $finish!(encoder);
                parts.push(whole[taken..].to_vec());
                parts
            }};
        }
        macro_rules! finish {
            ($encoder:ident) => {
                $encoder.finish().unwrap()
            };
        }
        macro_rules! into_inner {
            ($encoder:ident) => {
                $encoder.into_inner()
            };
        }
        match self {
            Self::Gzip => flushed!(GzEncoder::new(Vec::new(), Compression::default()), finish),
            Self::Zlib => flushed!(ZlibEncoder::new(Vec::new(), Compression::default()), finish),
            Self::RawDeflate => flushed!(DeflateEncoder::new(Vec::new(), Compression::default()), finish),
            Self::Brotli => flushed!(brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22), into_inner),
            Self::Zstd => flushed!(zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap(), finish),
        }
    }
}

/// What parts decode to, each for itself, up to a fault.
fn decode<'p>(
    codings: &[Coding],
    parts: impl IntoIterator<Item = &'p [u8]>,
) -> (Vec<Vec<u8>>, Option<Fault>, Decoder) {
    let mut decoder = Decoder::new(codings, &Limits::default());
    let (mut decoded, mut fault) = (Vec::new(), None);
    for part in parts {
        let mut out = Vec::new();
        let read = decoder.read(part, &mut |octets| out.extend_from_slice(octets));
        decoded.push(out);
        if let Err(why) = read {
            fault.get_or_insert(why);
        }
    }
    (decoded, fault, decoder)
}

const TEXTS: [&[u8]; 4] = [
    b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n",
    b"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n",
    b"",
    b"{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n",
];

#[test]
fn what_was_flushed_is_decoded_with_the_octets_of_its_flush() {
    for encoder in ENCODERS {
        let parts = encoder.encode(&TEXTS);
        let (decoded, fault, decoder) = decode(&[encoder.coding()], parts.iter().map(Vec::as_slice));
        let expected: Vec<Vec<u8>> = TEXTS.iter().map(|text| text.to_vec()).chain([Vec::new()]).collect();
        assert_eq!((decoded, fault), (expected, None), "{encoder:?}");
        assert_eq!(decoder.unfinished(), None, "{encoder:?}");
    }
}

#[test]
fn any_edges_decode_to_the_same_octets() {
    for encoder in ENCODERS {
        let coded = encoder.encode(&TEXTS).concat();
        let text = TEXTS.concat();
        let codings = [encoder.coding()];
        let (octets, fault, _) = decode(&codings, coded.chunks(1));
        assert_eq!((octets.concat(), fault), (text.clone(), None), "{encoder:?}, octet by octet");
        // What is out behind each octet is what it is when that many come at once.
        let mut out = 0;
        for (at, part) in octets.iter().enumerate() {
            out += part.len();
            let (cut, fault, _) = decode(&codings, [&coded[..=at], &coded[at + 1..]]);
            assert_eq!(
                (cut[0].len(), cut.concat(), fault),
                (out, text.clone(), None),
                "{encoder:?}, cut at {at}"
            );
        }
    }
}

#[test]
fn what_there_was_no_room_for_is_kept_before_a_fault() {
    for encoder in ENCODERS {
        let text = vec![b'a'; 100_000];
        let parts = encoder.encode(&[&text[..]]);
        for fault in [0xffu8, 0x06, 0x00] {
            let octets = [&parts[0][..], &[fault; 40]].concat();
            let (whole, met, _) = decode(&[encoder.coding()], [&octets[..]]);
            let (single, met_by_octet, _) = decode(&[encoder.coding()], octets.chunks(1));
            let (whole, single) = (whole.concat(), single.concat());
            assert!(whole.starts_with(&text), "{encoder:?}: {} octets before {fault:#x}", whole.len());
            assert_eq!((whole.len(), met), (single.len(), met_by_octet), "{encoder:?}, {fault:#x}");
        }
    }
}

#[test]
fn later_members_and_frames_hold_later_octets() {
    for encoder in [Encoder::Gzip, Encoder::Zstd] {
        let members: Vec<Vec<u8>> = TEXTS.iter().map(|text| encoder.encode(&[text]).concat()).collect();
        let (decoded, fault, decoder) = decode(&[encoder.coding()], members.iter().map(Vec::as_slice));
        assert_eq!((decoded, fault), (TEXTS.map(<[u8]>::to_vec).to_vec(), None), "{encoder:?}");
        assert_eq!(decoder.unfinished(), None);
        let (octets, fault, _) = decode(&[encoder.coding()], members.concat().chunks(1));
        assert_eq!((octets.concat(), fault), (TEXTS.concat(), None), "{encoder:?}");
    }
}

#[test]
fn skippable_frames_of_zstd_hold_nothing() {
    let frame = Encoder::Zstd.encode(&[b"text"]).concat();
    let skippable = [b"\x5a\x2a\x4d\x18\x03\0\0\0abc", &frame[..]].concat();
    let (decoded, fault, _) = decode(&[Coding::Zstd], skippable.chunks(1));
    assert_eq!((decoded.concat(), fault), (b"text".to_vec(), None));
    let (decoded, fault, _) = decode(&[Coding::Zstd], [&frame[..], &skippable[..]]);
    assert_eq!((decoded.concat(), fault), (b"texttext".to_vec(), None));
}

#[test]
fn stacked_codings_are_undone_in_reverse() {
    for outer in ENCODERS {
        for inner in ENCODERS {
            // Both are flushed behind each text.
            let parts = inner.encode(&TEXTS);
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let parts = outer.encode(&parts);
            let codings = [inner.coding(), outer.coding()];
            let (decoded, fault, _) = decode(&codings, parts.iter().map(Vec::as_slice));
            assert_eq!(fault, None, "{inner:?} in {outer:?}");
            assert_eq!(decoded[..4], TEXTS.map(<[u8]>::to_vec), "{inner:?} in {outer:?}");
            let (octets, fault, _) = decode(&codings, parts.concat().chunks(1));
            assert_eq!((octets.concat(), fault), (TEXTS.concat(), None), "{inner:?} in {outer:?}");
        }
    }
}

#[test]
fn what_stands_behind_a_stream_and_begins_no_other_is_a_fault() {
    for encoder in ENCODERS {
        let coded = encoder.encode(&TEXTS).concat();
        for garbage in [&b"\0"[..], b"garbage", b"\n"] {
            let (decoded, fault, _) = decode(&[encoder.coding()], [&coded[..], garbage]);
            assert_eq!(decoded[0], TEXTS.concat());
            let Some(Fault::Corrupt(message)) = fault else { panic!("{encoder:?}: {garbage:?} passed") };
            assert!(message.contains("behind the end of the"), "{message}");
        }
    }
}

#[test]
fn a_body_that_stops_within_a_stream_is_unfinished() {
    for encoder in ENCODERS {
        let coded = encoder.encode(&TEXTS).concat();
        for end in 1..coded.len() {
            let (_, fault, decoder) = decode(&[encoder.coding()], [&coded[..end]]);
            assert_eq!((fault, decoder.unfinished()), (None, Some(encoder.coding())), "{encoder:?}, {end}");
        }
        let (_, fault, decoder) = decode(&[encoder.coding()], [&b""[..]]);
        assert_eq!((fault, decoder.unfinished()), (None, None));
    }
}

#[test]
fn octets_that_are_no_stream_are_a_fault_from_the_first_on_that_shows_it() {
    for encoder in ENCODERS {
        let (decoded, fault, mut decoder) =
            decode(&[encoder.coding()], [&b"\xff\xff\xff\xff\xff\xff\xff"[..]]);
        assert_eq!(decoded.concat(), b"", "{encoder:?}");
        assert!(matches!(fault, Some(Fault::Corrupt(_))), "{encoder:?}: {fault:?}");
        // And it stays one.
        let good = encoder.encode(&TEXTS).concat();
        assert_eq!(decoder.read(&good, &mut |_| panic!("decoded behind a fault")), Err(fault.unwrap()));
    }
}

#[test]
fn a_checksum_that_does_not_fit_is_a_fault() {
    for (encoder, back) in [(Encoder::Gzip, 8), (Encoder::Gzip, 4), (Encoder::Zlib, 4)] {
        let mut coded = encoder.encode(&TEXTS).concat();
        let at = coded.len() - back;
        coded[at] ^= 1;
        let (decoded, fault, _) = decode(&[encoder.coding()], coded.chunks(1));
        assert_eq!(decoded.concat(), TEXTS.concat());
        assert!(matches!(fault, Some(Fault::Corrupt(_))), "{encoder:?}: {fault:?}");
    }
}

/// Zeros without end, as few octets as each coding can write them in.
fn bomb(encoder: Encoder, size: usize) -> Vec<u8> {
    encoder.encode(&[&vec![b' '; size]]).concat()
}

#[test]
fn a_bomb_is_not_decoded_to_its_end() {
    let limits = Limits { coding_allowance: 1 << 20, coding_ratio: 100, ..Limits::default() };
    for encoder in ENCODERS {
        let coded = bomb(encoder, 64 << 20);
        for cut in [coded.len(), 64, 1] {
            let mut decoder = Decoder::new(&[encoder.coding()], &limits);
            let mut out = 0;
            let fault = coded.chunks(cut).find_map(|part| decoder.read(part, &mut |o| out += o.len()).err());
            assert_eq!(fault, Some(Fault::TooMuch), "{encoder:?}");
            assert!(out <= (1 << 20) + 100 * coded.len(), "{encoder:?}: {out}");
        }
    }
}

#[test]
fn deflate_never_reaches_the_bound_on_one_coding() {
    // What is granted later is had in advance.
    let coding_allowance = Limits::default().coding_ratio * GRANT as u64;
    let limits = Limits { coding_allowance, ..Limits::default() };
    for encoder in [Encoder::Gzip, Encoder::Zlib, Encoder::RawDeflate] {
        let coded = bomb(encoder, 16 << 20);
        let mut decoder = Decoder::new(&[encoder.coding()], &limits);
        let mut out = 0;
        assert_eq!(decoder.read(&coded, &mut |octets| out += octets.len()), Ok(()));
        assert_eq!(out, 16 << 20);
    }
}

#[test]
fn a_bomb_within_a_bomb_counts_what_both_yield() {
    let coded = Encoder::Gzip.encode(&[&bomb(Encoder::Gzip, 64 << 20)]).concat();
    let mut decoder = Decoder::new(&[Coding::Gzip, Coding::Gzip], &Limits::default());
    let mut out = 0;
    assert_eq!(decoder.read(&coded, &mut |octets| out += octets.len()), Err(Fault::TooMuch));
    assert!(out < 32 << 20, "{out} of {} octets", coded.len());
}

/// What brotli decoded in front of a fault was lost where the fault came with it.
#[test]
fn what_stands_in_front_of_a_fault_is_decoded_with_it() {
    for encoder in ENCODERS {
        let parts = encoder.encode(&TEXTS);
        let sound = parts[..2].concat();
        let whole = parts.concat();
        for at in sound.len()..whole.len() {
            for octet in [0x00, 0x03, 0x55, 0xff] {
                let mut coded = whole.clone();
                coded[at] = octet;
                let (decoded, fault, _) = decode(&[encoder.coding()], [&coded[..]]);
                let (singly, fault_singly, _) = decode(&[encoder.coding()], coded.chunks(1));
                assert_eq!(decoded.concat(), singly.concat(), "{encoder:?} at {at}");
                assert_eq!(fault, fault_singly, "{encoder:?} at {at}");
                assert!(decoded.concat().starts_with(&TEXTS[..2].concat()), "{encoder:?} at {at}");
            }
        }
    }
}

/// It did: what was granted for octets to come counted.
#[test]
fn where_a_bomb_is_given_up_does_not_depend_on_cuts() {
    let limits = Limits { coding_allowance: 100_000, coding_ratio: 3, ..Limits::default() };
    for encoder in ENCODERS {
        // What comes behind the bomb allows for more, but too late.
        let noise: Vec<u8> = (0..20_000_u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
        let coded = encoder.encode(&[&noise[..5000], &[b' '; 120_000], &noise]).concat();
        let decoded = [coded.len(), 1000, 64, 1].map(|cut| {
            let mut decoder = Decoder::new(&[encoder.coding()], &limits);
            let mut out = 0;
            let fault = coded.chunks(cut).find_map(|part| decoder.read(part, &mut |o| out += o.len()).err());
            (out, fault)
        });
        assert_eq!(decoded[0].1, Some(Fault::TooMuch), "{encoder:?}");
        assert!(decoded.iter().all(|one| *one == decoded[0]), "{encoder:?}: {decoded:?}");
    }
}

#[test]
fn names_are_those_of_the_registry_in_any_case() {
    assert_eq!(Coding::of("GZip"), Some(Coding::Gzip));
    assert_eq!(Coding::of("x-gzip"), Some(Coding::Gzip));
    assert_eq!(Coding::of("deflate"), Some(Coding::Deflate));
    assert_eq!(Coding::of("br"), Some(Coding::Brotli));
    assert_eq!(Coding::of("zstd"), Some(Coding::Zstd));
    for name in ["compress", "identity", "dcb", "x-deflate", ""] {
        assert_eq!(Coding::of(name), None);
    }
}

fn encoders() -> impl Strategy<Value = Encoder> {
    proptest::sample::select(&ENCODERS[..])
}

proptest! {
    /// Any texts, flushed anywhere and cut anywhere, are what they were.
    #[test]
    fn decoding_undoes_encoding(
        encoder in encoders(),
        texts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..6),
        cut in 1usize..40,
    ) {
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let coded = encoder.encode(&texts).concat();
        let (decoded, fault, _) = decode(&[encoder.coding()], coded.chunks(cut));
        prop_assert_eq!((decoded.concat(), fault), (texts.concat(), None));
    }

    /// Octets of any kind, and damaged streams, never panic, and cutting them
    /// differently changes nothing of what is decoded.
    #[test]
    fn damage_is_met_alike_whatever_the_edges(
        encoder in encoders(),
        at in any::<proptest::sample::Index>(), octet in any::<u8>(), cut in 1usize..40,
    ) {
        let mut coded = encoder.encode(&TEXTS).concat();
        let at = at.index(coded.len());
        coded[at] = octet;
        let codings = [encoder.coding()];
        let (whole, fault, _) = decode(&codings, [&coded[..]]);
        let (parts, fault_in_parts, _) = decode(&codings, coded.chunks(cut));
        prop_assert_eq!(fault, fault_in_parts);
        prop_assert_eq!(whole.concat(), parts.concat());
    }

    #[test]
    fn any_octets_are_read_without_panic(
        encoder in encoders(), octets in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = decode(&[encoder.coding()], octets.chunks(7));
        let _ = decode(&[encoder.coding(), Coding::Zstd, Coding::Gzip], [&octets[..]]);
    }
}
