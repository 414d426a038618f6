//! The inputs that fuzzing found worth keeping, each through its target again.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "support/targets.rs"]
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use chunkscope::capture::CaptureReader;
use chunkscope::chunk::{self, ChunkToken};
use chunkscope::limits::Limits;
use chunkscope::packet::{Decoded, Decoder};
use chunkscope::tcp::{Direction, Piece, Reassembler, StreamItem};
use chunkscope::units::{Stamp, StreamId};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect()
}

/// Puts each file of a target's corpus through the target.
fn replay(target: &str) {
    let (_, run) = targets::TARGETS.iter().find(|(name, _)| *name == target).unwrap();
    let files = files(&root("fuzz/corpus").join(target));
    assert!(!files.is_empty());
    for file in files {
        // Told where it panics: the test's output shows it.
        println!("{}", file.display());
        run(&fs::read(&file).unwrap());
    }
}

macro_rules! replays {
    ($($name:ident: $target:literal,)*) => {
        $(#[test]
        fn $name() {
            replay($target);
        })*

        const REPLAYED: &[&str] = &[$($target),*];
    };
}

replays! {
    captures_that_were_found: "capture",
    frames_that_were_found: "packet",
    segments_that_were_found: "tcp",
    connections_that_were_found: "http",
    bodies_that_were_found: "chunk",
    coded_bodies_that_were_found: "coding",
    texts_that_were_found: "json",
    lines_that_were_found: "lines",
    messages_that_were_found: "binary",
    responses_that_were_found: "raw",
    recordings_that_were_found: "whole",
}

#[test]
fn every_target_has_a_corpus_and_a_replay() {
    let targets: BTreeSet<&str> = targets::TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(targets, REPLAYED.iter().copied().collect());
    let names = |folder: &str| -> BTreeSet<String> {
        let files = files(&root(folder));
        files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let targets: BTreeSet<String> = targets.into_iter().map(str::to_owned).collect();
    assert_eq!(names("fuzz/corpus"), targets);
    assert_eq!(names("fuzz/fuzz_targets"), targets);
}

/// One file (`INPUT`) through a target (`TARGET`), to look into a failure.
#[test]
#[ignore = "reads what the environment names"]
fn one() {
    let var = |name| std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set"));
    let (_, run) = targets::TARGETS.iter().find(|(name, _)| var("TARGET") == *name).unwrap();
    run(&fs::read(var("INPUT")).unwrap());
}

/// The payload octets of a chunked body.
fn unchunked(octets: &[u8]) -> Vec<u8> {
    let mut decoder = chunk::Decoder::new(&Limits::default(), 0);
    let stamp = Stamp::untimed(1);
    let mut piece = Piece { at: 0, bytes: octets.into(), stamp, released: stamp, segment_start: true };
    let mut body = Vec::new();
    while let Some(chunk::Step::Token(token)) = decoder.read(&mut piece) {
        match token {
            ChunkToken::Payload { piece, .. } => body.extend_from_slice(&piece.bytes),
            ChunkToken::Whole(whole) => body.extend_from_slice(whole.payload),
            _ => {}
        }
    }
    body
}

/// The chunked body of a response and its codings, as the target `coding` reads
/// them.
fn coded(response: &[u8]) -> Option<(u8, Vec<u8>)> {
    let end = response.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&response[..end]).ok()?;
    let codings = head.lines().find_map(|line| line.strip_prefix("Content-Encoding: "))?;
    let mut number = 0;
    for (place, coding) in codings.split(", ").enumerate() {
        let coding = ["gzip", "deflate", "br", "zstd"].iter().position(|one| *one == coding)? as u8;
        number |= if place == 0 { coding } else { 4 | coding << 3 };
    }
    Some((number, unchunked(&response[end + 4..])))
}

/// What fuzzing begins with: the captures of testdata, as each layer sees
/// them. Writes to the folder that `SEEDS` names; fuzz/README.md says when.
#[test]
#[ignore = "writes files"]
fn seeds() {
    let out = PathBuf::from(std::env::var_os("SEEDS").expect("SEEDS names a folder"));
    let write = |target: &str, name: &str, octets: &[u8]| {
        fs::create_dir_all(out.join(target)).unwrap();
        // Short inputs are tried more often, and changed in more places.
        fs::write(out.join(target).join(name), &octets[..octets.len().min(6000)]).unwrap();
    };
    let limits = Limits::default();
    for file in files(&root("testdata")) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".http") {
            let octets = fs::read(&file).unwrap();
            write("raw", name, &octets);
            if let Some((codings, body)) = coded(&octets) {
                write("coding", name, &[&[codings, 16], &body[..]].concat());
            }
            continue;
        }
        if !name.contains(".pcap") {
            continue;
        }
        let octets = fs::read(&file).unwrap();
        write("capture", name, &octets);
        write("whole", name, &octets);
        let mut reader = CaptureReader::open(octets.as_slice(), &limits, 1).unwrap();
        let (mut decoder, mut reassembler) = (Decoder::new(&limits), Reassembler::new(&limits));
        let (mut packets, mut segments) = (Vec::new(), Vec::new());
        let mut connections: BTreeMap<u64, (Vec<u8>, Vec<u8>)> = BTreeMap::new();
        let mut sink = |stream: StreamId, item: StreamItem<'_>| {
            let (both, server) = connections.entry(stream.0).or_insert((vec![1], Vec::new()));
            if let StreamItem::Data(direction, piece) = item {
                let kind = 6 | u8::from(direction == Direction::Backward);
                let len = u16::try_from(piece.bytes.len()).unwrap_or(u16::MAX);
                both.push(kind);
                both.extend_from_slice(&len.to_be_bytes());
                both.extend_from_slice(&piece.bytes);
                if direction == Direction::Backward {
                    server.extend_from_slice(&piece.bytes);
                }
            }
        };
        while let Some(frame) = reader.next_frame().unwrap() {
            if packets.is_empty() {
                packets.extend_from_slice(&frame.link.0.to_be_bytes());
            }
            packets.extend_from_slice(&u16::try_from(frame.data.len()).unwrap_or(u16::MAX).to_be_bytes());
            packets.extend_from_slice(&[0, 0]);
            packets.extend_from_slice(frame.data);
            if let Decoded::Segment(segment) = decoder.decode(&frame) {
                let server = segment.source.port() < segment.destination.port();
                let bits = u8::from(server)
                    | u8::from(segment.flags.syn) << 2
                    | u8::from(segment.flags.fin) << 3
                    | u8::from(segment.flags.rst) << 4
                    | u8::from(segment.ack.is_none()) << 5;
                let [seq, ack] = [segment.seq, segment.ack.unwrap_or(0)].map(|n| (n as u16).to_be_bytes());
                segments.extend_from_slice(&[
                    bits,
                    seq[0],
                    seq[1],
                    ack[0],
                    ack[1],
                    segment.payload.len() as u8,
                    0,
                    0,
                ]);
                reassembler.push(&segment, &mut sink);
            }
        }
        reassembler.finish(&mut sink);
        write("packet", name, &packets);
        write("tcp", name, &segments);
        for (stream, (both, server)) in connections {
            let name = format!("{name}-{stream}");
            write("http", &name, &both);
            write("raw", &name, &server);
            let Some(head) = server.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            write("chunk", &name, &server[head + 4..]);
            if let Some((codings, body)) = coded(&server) {
                write("coding", &name, &[&[codings, 16], &body[..]].concat());
            }
            if ["protobuf", "cbor", "websocket"].iter().any(|one| name.starts_with(one)) {
                let behind = &server[head + 4..];
                let body = unchunked(behind);
                write("binary", &name, if body.is_empty() { behind } else { &body });
            }
            let body = server[head + 4..]
                .split(|octet| *octet == b'\n')
                .skip(1)
                .collect::<Vec<_>>()
                .join(&b"\n"[..]);
            write("json", &name, &body);
            write("lines", &name, &body);
        }
    }
}
