//! Contract §4, "Content codings", and what follows from it.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use serde_json::json;

use crate::talk::*;

/// One stream flushed behind each text: what each flush yields, and the end.
macro_rules! parts {
    ($encoder:expr, $texts:expr) => {{
        let (mut encoder, mut parts, mut taken) = ($encoder, Vec::new(), 0);
        for text in $texts {
            encoder.write_all(text.as_ref()).unwrap();
            encoder.flush().unwrap();
            parts.push(encoder.get_ref()[taken..].to_vec());
            taken = encoder.get_ref().len();
        }
        let whole: Vec<u8> = encoder.finish().unwrap();
        parts.push(whole[taken..].to_vec());
        parts
    }};
}

fn gzip<T: AsRef<[u8]>>(texts: &[T]) -> Vec<Vec<u8>> {
    parts!(GzEncoder::new(Vec::new(), Compression::default()), texts)
}

fn zlib<T: AsRef<[u8]>>(texts: &[T]) -> Vec<Vec<u8>> {
    parts!(ZlibEncoder::new(Vec::new(), Compression::default()), texts)
}

fn raw_deflate<T: AsRef<[u8]>>(texts: &[T]) -> Vec<Vec<u8>> {
    parts!(DeflateEncoder::new(Vec::new(), Compression::default()), texts)
}

fn zstd<T: AsRef<[u8]>>(texts: &[T]) -> Vec<Vec<u8>> {
    parts!(zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap(), texts)
}

fn brotli<T: AsRef<[u8]>>(texts: &[T]) -> Vec<Vec<u8>> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
    let (mut parts, mut taken) = (Vec::new(), 0);
    for text in texts {
        encoder.write_all(text.as_ref()).unwrap();
        encoder.flush().unwrap();
        parts.push(encoder.get_ref()[taken..].to_vec());
        taken = encoder.get_ref().len();
    }
    parts.push(encoder.into_inner()[taken..].to_vec());
    parts
}

fn events() -> Vec<String> {
    ["a", "b", "c"].map(event).to_vec()
}

/// A watch of which the response has these fields too.
fn coded(fields: &str, content_type: &str) -> Talk {
    talk().client(REQUEST).server(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{fields}\r\nTransfer-Encoding: chunked\r\n\r\n"
    ))
}

fn encoded(coding: &str) -> Talk {
    coded(&format!("Content-Encoding: {coding}"), "application/json")
}

/// Chunks with these payloads, and the end of the body.
fn with(talk: Talk, chunks: &[Vec<u8>]) -> Talk {
    chunks.iter().fold(talk, |talk, payload| talk.chunk(payload)).server(LAST)
}

#[test]
fn each_coding_is_decoded_as_it_arrives() {
    for (coding, parts) in [
        ("gzip", gzip(&events())),
        ("X-GZIP", gzip(&events())),
        ("deflate", zlib(&events())),
        ("deflate", raw_deflate(&events())),
        ("br", brotli(&events())),
        ("zstd", zstd(&events())),
    ] {
        let seen = with(encoded(coding), &parts).report();
        let exchange = &seen.exchanges()[0];
        assert_eq!(exchange.verdicts(), ["one", "one", "one", "unchecked"], "{coding}");
        assert_eq!(exchange.names(), ["a", "b", "c"], "{coding}");
        assert_eq!((seen.status, seen.problems()), (0, Vec::new()), "{coding}");
    }
}

#[test]
fn event_spans_count_decoded_octets_and_chunks_those_of_the_wire() {
    let exchange = with(encoded("gzip"), &gzip(&events())).exchange();
    let size = event("a").len() as u64;
    for (number, found) in exchange.events().iter().enumerate() {
        let number = number as u64;
        assert_eq!((&found["offset"], &found["size"]), (&json!(number * size), &json!(size - 1)));
        assert_eq!((&found["first_chunk"], &found["last_chunk"]), (&json!(number + 1), &json!(number + 1)));
    }
    let mut offset = 0;
    for (number, (found, part)) in exchange.chunks().iter().zip(gzip(&events())).enumerate() {
        assert_eq!((&found["offset"], &found["size"]), (&json!(offset), &json!(part.len())));
        assert_eq!(found["encoding"], "base64");
        offset += part.len();
        let decoded = &found["decoded"];
        assert_eq!(decoded["offset"], json!(number as u64 * size));
        let text = events().get(number).cloned().unwrap_or_default();
        assert_eq!((&decoded["payload"], &decoded["size"]), (&json!(text), &json!(text.len())));
    }
    assert_eq!(exchange.body()["size"], json!(offset));
}

#[test]
fn events_belong_to_the_chunks_whose_octets_completed_them() {
    // Flushed behind a text and a half, and behind the rest.
    let [a, b, c] = ["a", "b", "c"].map(event);
    let (front, back) = b.split_at(20);
    for parts in
        [gzip(&[a.clone() + front, back.to_owned() + &c]), brotli(&[a + front, back.to_owned() + &c])]
    {
        let coding = if parts[0].starts_with(b"\x1f\x8b") { "gzip" } else { "br" };
        let exchange = with(encoded(coding), &parts).exchange();
        assert_eq!(exchange.verdicts(), ["mixed", "mixed", "unchecked"]);
        let chunks = |event: &serde_json::Value| (event["first_chunk"].clone(), event["last_chunk"].clone());
        let found: Vec<_> = exchange.events().iter().map(chunks).collect();
        assert_eq!(found, [(json!(1), json!(1)), (json!(1), json!(2)), (json!(2), json!(2))]);
    }
}

#[test]
fn later_members_of_gzip_hold_later_events() {
    let members: Vec<Vec<u8>> = events().iter().map(|text| gzip(&[text]).concat()).collect();
    let exchange = with(encoded("gzip"), &members).exchange();
    assert_eq!(exchange.verdicts(), ["one"; 3]);
    assert_eq!(exchange.names(), ["a", "b", "c"]);
}

#[test]
fn later_frames_of_zstd_hold_later_events() {
    let frames: Vec<Vec<u8>> = events().iter().map(|text| zstd(&[text]).concat()).collect();
    let exchange = with(encoded("zstd"), &frames).exchange();
    assert_eq!(exchange.verdicts(), ["one"; 3]);
    assert_eq!(exchange.names(), ["a", "b", "c"]);
}

#[test]
fn stacked_codings_are_undone_in_reverse_order() {
    let parts = zstd(&gzip(&events()));
    let exchange = with(encoded("gzip, zstd"), &parts).exchange();
    assert_eq!(exchange.verdicts()[..3], ["one"; 3]);
    let exchange =
        with(coded("Content-Encoding: gzip\r\nContent-Encoding: zstd", "application/json"), &parts);
    assert_eq!(exchange.exchange().names(), ["a", "b", "c"]);
    assert_eq!(with(encoded("zstd, gzip"), &parts).exchange().verdicts()[0], "invalid");
}

#[test]
fn transfer_codings_before_chunked_are_decoded_too() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
    let exchange = with(talk().client(REQUEST).server(head), &gzip(&events())).exchange();
    assert_eq!(exchange.verdicts(), ["one", "one", "one", "unchecked"]);
}

#[test]
fn identity_is_no_coding() {
    let exchange = encoded("identity").chunk(event("a")).server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["one"]);
    assert_eq!(exchange.chunks()[0].get("decoded"), None);
}

#[test]
fn sse_and_ndjson_are_decoded_too() {
    let texts = ["data: 1\n\n", "data: 2\n\n"];
    let sse = with(coded("Content-Encoding: gzip", "text/event-stream"), &gzip(&texts)).exchange();
    assert_eq!(sse.verdicts(), ["one", "one", "unchecked"]);
    assert_eq!(sse.events()[1]["data"], "2");
    let texts = ["{\"a\":1}\n", "{\"a\":2}\n"];
    let lines = with(coded("Content-Encoding: br", "application/x-ndjson"), &brotli(&texts)).exchange();
    assert_eq!(lines.verdicts(), ["one", "one", "unchecked"]);
    assert_eq!(lines.events()[1]["data"], "{\"a\":2}");
}

#[test]
fn a_chunk_that_completes_no_decoded_octet_is_unchecked_and_says_why() {
    let parts = gzip(&events());
    let (header, rest) = parts[0].split_at(10);
    let chunks = [header.to_vec(), rest.to_vec(), parts[1].clone(), parts[2].clone(), parts[3].clone()];
    let exchange = with(encoded("gzip"), &chunks).exchange();
    assert_eq!(exchange.verdicts(), ["unchecked", "one", "one", "one", "unchecked"]);
    for chunk in [0, 4] {
        let reason = exchange.chunks()[chunk]["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains("completes no decoded octet"), "{reason}");
    }
    assert_eq!(exchange["verdict"], "pass");
}

#[test]
fn corrupt_octets_make_their_chunk_invalid_and_leave_those_behind_unchecked() {
    let mut parts = gzip(&events());
    // A block of a type that there isn't.
    parts[1] = vec![0x07; 8];
    let exchange = with(encoded("gzip"), &parts).exchange();
    assert_eq!(exchange.verdicts(), ["one", "invalid", "unchecked", "unchecked"]);
    assert_eq!(exchange.violations(), [("not-an-event".to_owned(), Some(2))]);
    let chunks = exchange.chunks();
    assert!(chunks[1]["reason"].as_str().unwrap().contains("the gzip stream is corrupt"));
    assert!(chunks[2]["reason"].as_str().unwrap().contains("corrupt before"));
    assert_eq!(exchange["verdict"], "fail");
}

#[test]
fn an_event_that_corrupt_octets_cut_off_is_a_part_in_the_chunks_before() {
    let (front, _) = (event("a").split_at(20).0.to_owned(), ());
    let mut parts = gzip(&[front]);
    parts[1] = vec![0x07; 8];
    let exchange = with(encoded("gzip"), &parts).exchange();
    assert_eq!(exchange.verdicts(), ["part", "invalid"]);
}

#[test]
fn octets_behind_the_end_of_a_stream_that_begin_no_other_are_invalid() {
    let mut parts = gzip(&events());
    parts.push(b"garbage".to_vec());
    let exchange = with(encoded("gzip"), &parts).exchange();
    assert_eq!(exchange.verdicts(), ["one", "one", "one", "unchecked", "invalid"]);
    let reason = exchange.chunks()[4]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("begins no further member"), "{reason}");
    let mut parts = brotli(&events());
    parts.push(brotli(&events()).concat());
    assert_eq!(with(encoded("br"), &parts).exchange().verdicts().last().unwrap(), "invalid");
}

#[test]
fn a_body_that_was_never_compressed_is_invalid() {
    let exchange = encoded("gzip").chunk(event("a")).chunk(event("b")).server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["invalid", "unchecked"]);
}

#[test]
fn what_follows_lost_octets_of_a_coded_body_is_unverified_and_nothing_fails() {
    let parts = gzip(&events());
    let seen = encoded("gzip")
        .chunk(&parts[0])
        .server_lost(chunk(&parts[1]).len())
        .chunk(&parts[2])
        .chunk(&parts[3])
        .server(LAST)
        .client_acks()
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.verdicts()[0], "one");
    assert!(exchange.violations().is_empty(), "{exchange:#?}");
    // Within a chunk, the next one's place is known.
    let whole = chunk(&parts[1]);
    let seen = encoded("gzip")
        .chunk(&parts[0])
        .server(&whole[..6])
        .server_lost(3)
        .server(&whole[9..])
        .chunk(&parts[2])
        .chunk(&parts[3])
        .server(LAST)
        .client_acks()
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.verdicts(), ["one", "unverified", "unverified", "unverified"]);
    assert!(exchange.violations().is_empty());
    assert_eq!((exchange["verdict"].clone(), seen.status), (json!("unverified"), 1));
    let reason = exchange.chunks()[2]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("can't be decoded"), "{reason}");
    assert_eq!(exchange.names(), ["a"]);
}

#[test]
fn a_coded_body_that_is_joined_in_the_middle_is_not_guessed_at() {
    let parts = gzip(&events());
    let seen = midstream().chunk(&parts[1]).chunk(&parts[2]).chunk(&parts[1]).client_acks().report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.body()["joined"], true);
    assert!(exchange.verdicts().iter().all(|verdict| verdict == "unchecked"), "{exchange:#?}");
    let named = midstream().args(&["-e", "watch"]).chunk(&parts[1]).chunk(&parts[2]).client_acks().report();
    let exchange = &named.exchanges()[0];
    assert!(exchange.verdicts().iter().all(|verdict| verdict == "unverified"), "{exchange:#?}");
    assert!(exchange.violations().is_empty());
}

#[test]
fn codings_that_are_not_decoded_leave_the_chunks_unchecked_with_a_problem() {
    for coding in ["compress", "gzip, x-unknown", "dcb"] {
        let seen = encoded(coding).chunk(b"\x1f\x9d").server(LAST).report();
        assert_eq!(seen.exchanges()[0].verdicts(), ["unchecked"]);
        assert_eq!(seen.problems(), ["unsupported-encoding"], "{coding}");
        assert_eq!(seen.status, 3);
    }
}

#[test]
fn a_complete_body_that_ends_within_its_stream_is_a_problem() {
    let parts = gzip(&events());
    let seen = with(encoded("gzip"), &parts[..3]).report();
    assert_eq!(seen.exchanges()[0].verdicts(), ["one"; 3]);
    assert_eq!((seen.problems(), seen.status), (vec!["unfinished-coding".to_owned()], 0));
    // A client that leaves ends it earlier, which is nobody's fault.
    let seen = encoded("gzip").chunk(&parts[0]).client_fin().report();
    assert_eq!((seen.problems(), seen.status), (Vec::new(), 0));
}

#[test]
fn a_bomb_is_not_decoded_to_its_end_and_never_passes() {
    let spaces = vec![b' '; 64 << 20];
    let parts = zstd(&[event("a").into_bytes(), spaces, event("b").into_bytes()]);
    assert!(parts[1].len() < 16 << 10);
    let seen = with(encoded("zstd"), &parts).report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.verdicts(), ["one", "unverified", "unverified", "unverified"]);
    assert_eq!(seen.problems(), ["decoding-limit"]);
    assert_eq!((exchange["verdict"].clone(), seen.status), (json!("unverified"), 1));
}
