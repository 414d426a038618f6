//! Captures within gzip, zstd and lz4.

use std::io::Write;

use flate2::write::GzEncoder;
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use super::*;
use crate::capture::{Compression, Looks};

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

fn zstd(octets: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

fn lz4(octets: &[u8]) -> Vec<u8> {
    let info =
        FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Linked).content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

/// The form of `lz4 -l`: a magic number, then blocks of up to 8 MiB.
fn lz4_legacy(octets: &[u8]) -> Vec<u8> {
    let block = lz4_flex::block::compress(octets);
    [&[0x02, 0x21, 0x4c, 0x18], (block.len() as u32).to_le_bytes().as_slice(), &block].concat()
}

type Pack = fn(&[u8]) -> Vec<u8>;

const PACKERS: [Pack; 3] = [gzip, zstd, lz4];

/// A capture with a packet that takes several blocks.
fn capture() -> Vec<u8> {
    plain(&[b"one", b"two", &[7; 200_000], b"four"])
}

#[test]
fn compression_is_recognised_by_content() {
    let file = capture();
    let plain = read(&file).clean();
    for pack in [gzip, zstd, lz4, lz4_legacy] {
        assert_eq!(read(&pack(&file)), plain);
    }
    let ng = [section(Big), interface(Big, 1, 0, &[]), enhanced(Big, 0, MICROS, b"x", &[])].concat();
    for pack in PACKERS {
        assert_eq!(read(&pack(&ng)).clean().data(), [b"x"]);
    }
    let kinds = [Compression::Gzip, Compression::Zstd, Compression::Lz4];
    for (pack, kind) in PACKERS.into_iter().zip(kinds) {
        let packed = pack(&file);
        let capture = CaptureReader::open(&packed[..], &Limits::default(), 1).unwrap();
        assert_eq!(capture.compression(), Some(kind));
    }
}

#[test]
fn members_follow_each_other() {
    let file = capture();
    let plain = read(&file).clean();
    for pack in PACKERS {
        for at in [0, 2, 24, 30, file.len() - 1, file.len()] {
            let (head, tail) = file.split_at(at);
            assert_eq!(read(&[pack(head), pack(tail)].concat()), plain, "split at {at}");
        }
    }
    // Skippable frames anywhere, as pzstd and seekable zstd write them.
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 5, 0, 0, 0], b"skip!".as_slice()].concat();
    for pack in [zstd, lz4] {
        let (head, tail) = file.split_at(100);
        let parts = [
            skippable.clone(),
            pack(head),
            skippable.clone(),
            skippable.clone(),
            pack(tail),
            skippable.clone(),
        ];
        assert_eq!(read(&parts.concat()), plain);
    }
}

#[test]
fn a_cut_file_gives_its_packets_and_says_that_it_is_cut() {
    let file = plain(&[b"one, a packet with some text", b"two, and another one", b"three"]);
    let all = read(&file).clean();
    for pack in PACKERS {
        let packed = pack(&file);
        for cut in 8..packed.len() {
            match try_read(&packed[..cut]) {
                Ok(reading) => {
                    assert_eq!(reading.error, None);
                    assert_eq!(reading.frames, all.frames[..reading.frames.len()]);
                    assert_eq!(reading.codes(), ["truncated-capture"], "cut at {cut}");
                    let last = (!reading.frames.is_empty()).then_some(reading.frames.len() as u64);
                    assert_eq!(reading.problems[0].1, last);
                }
                Err(CaptureError::NotACapture { looks: Looks::Cut, within: Some(_) })
                | Err(CaptureError::HeaderCut { .. }) => {}
                Err(error) => panic!("cut at {cut}: {error}"),
            }
        }
        // Only the trailer is missing: all packets are there.
        let reading = try_read(&packed[..packed.len() - 1]).unwrap();
        assert_eq!(reading.frames, all.frames);
    }
}

/// lz4_flex takes the end of the file for the end of the frame there.
#[test]
fn an_lz4_file_cut_between_blocks_is_cut() {
    let file = plain(&[&[1; 65_536 - 24 - 16], b"behind the first block"]);
    let packed = lz4(&file);
    // Magic number, descriptor (3), then a block with its length.
    let first = u32::from_le_bytes(packed[7..11].try_into().unwrap()) as usize & 0x7fff_ffff;
    let reading = read(&packed[..11 + first]);
    assert_eq!((reading.frames.len(), reading.codes()), (1, vec!["truncated-capture"]));
}

#[test]
fn octets_behind_the_compressed_data_are_garbage() {
    let file = capture();
    for pack in PACKERS {
        let packed = pack(&file);
        for tail in [[0; 512].as_slice(), b"x", b"HTTP/1.1 200 OK\r\n"] {
            let reading = read(&[&packed, tail].concat());
            assert_eq!(reading.frames.len(), 4);
            assert_eq!(reading.problems, [("trailing-garbage", Some(4), 1, packed.len() as u64)]);
        }
    }
}

#[test]
fn damaged_data_is_an_error_behind_the_packets_before_it() {
    // Octets that don't compress, so that damage is far behind the beginning.
    let mut state = 1u32;
    let noise: Vec<u8> = (0..600_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    let file = plain(&[b"one", &noise]);
    for pack in PACKERS {
        let mut packed = pack(&file);
        let at = packed.len() - 3;
        packed[at] ^= 0x55;
        let reading = try_read(&packed).unwrap();
        assert_eq!(reading.frames[0].3, b"one");
        assert!(reading.message().contains("data is damaged"), "{}", reading.message());
    }
}

/// Gives some octets at a time.
struct Steps<'o> {
    octets: &'o [u8],
    step: usize,
}

impl Read for Steps<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let step = self.step.min(out.len());
        self.octets.read(&mut out[..step])
    }
}

/// The decoders stop at the fault with all that they unpacked in the same call.
#[test]
fn what_is_unpacked_before_a_fault_is_read_however_the_octets_come() {
    let texts: Vec<String> =
        (0..4000_u64).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let packets: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    let file = plain(&packets);
    for pack in PACKERS {
        let mut packed = pack(&file);
        let from = packed.len() * 9 / 10;
        packed[from..from + 20].fill(0xff);
        let reading = try_read(&packed).unwrap();
        assert!(reading.message().contains("data is damaged"), "{}", reading.message());
        // Of zstd and lz4, the block with the fault is lost: 64 or 128 KiB.
        let count = reading.frames.len();
        assert!(count > 1000, "{count} packets are read before the fault");
        for step in [1, 700, 5000] {
            let pipe = Steps { octets: &packed, step };
            assert_eq!(try_read_from(pipe, &Limits::default()).unwrap(), reading);
        }
    }
}

#[test]
fn zstd_windows_reach_128_mib() {
    let mut packed = zstd(&plain(&[b"one"]));
    // RFC 8878 §3.1.1.1: without the flag of a single segment, the octet behind
    // the descriptor is the window's: exponent (from 10), mantissa.
    assert_eq!(packed[4] & 0b0010_0000, 0);
    packed[5] = (27 - 10) << 3;
    assert_eq!(read(&packed).clean().data(), [b"one"]);
    packed[5] = (28 - 10) << 3;
    let error = try_read(&packed).unwrap_err();
    assert!(matches!(error, CaptureError::Unpack { compression: Compression::Zstd, .. }), "{error}");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn what_is_within_is_named() {
    for (pack, name) in PACKERS.into_iter().zip(["gzip", "zstd", "lz4"]) {
        let error = |file: &[u8]| try_read(&pack(file)).unwrap_err().to_string();
        assert!(error(b"some text\n").contains(&format!("within {name}: it is text")));
        assert!(error(&gzip(b"x")).contains("gzip, twice"));
        assert!(error(b"").contains("empty"));
        let bad = [plain(&[]), [0x11; 40].to_vec(), packet(1, b"y"), packet(2, b"z")].concat();
        let reading = read(&pack(&bad));
        assert!(reading.message().contains("of the unpacked data"), "{}", reading.message());
    }
}
