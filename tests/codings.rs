//! Bodies with codings hold the same events as the bodies that were coded, and
//! each event lies in the chunks whose octets completed it: held for any body,
//! flushed anywhere, cut into any chunks.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::io::{self, Write as _};

use chunkscope::pipeline::Analysis;
use chunkscope::pipeline::options::Options;
use chunkscope::report::{Conclusion, Event, Finding, JudgedChunk, Report};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

#[derive(Debug, Default)]
struct Findings {
    chunks: Vec<JudgedChunk>,
    events: Vec<Event>,
}

impl Report for Findings {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        match finding {
            Finding::Chunk(judged) => self.chunks.push((*judged).clone()),
            Finding::Event(_, event) => self.events.push(Event::clone(event)),
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
        Ok(())
    }
}

/// What is found in a response with that coding and these chunks.
fn analyse(coding: &str, content_type: &str, chunks: &[&[u8]]) -> Findings {
    let mut response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Encoding: {coding}\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
        write!(response, "{:x}\r\n", chunk.len()).unwrap();
        response.extend_from_slice(chunk);
        response.extend_from_slice(b"\r\n");
    }
    response.extend_from_slice(b"0\r\n\r\n");
    let options = Options { summaries: true, keep_payload: 1 << 20, ..Options::default() };
    let mut findings = Findings::default();
    let mut analysis = Analysis::new(&options, &mut findings);
    analysis.raw("response", &response[..]).unwrap();
    analysis.conclude(false).unwrap();
    findings
}

/// A way of coding a body, flushed behind each of its texts.
#[derive(Debug, Clone, Copy)]
enum Encoder {
    Gzip,
    /// A member for each text.
    Members,
    /// Blocks without compression, in which each octet stands for itself.
    Stored,
    Zlib,
    Deflate,
    Brotli,
    Zstd,
    /// A frame for each text.
    Frames,
}

const ENCODERS: [Encoder; 8] = [
    Encoder::Gzip,
    Encoder::Members,
    Encoder::Stored,
    Encoder::Zlib,
    Encoder::Deflate,
    Encoder::Brotli,
    Encoder::Zstd,
    Encoder::Frames,
];

impl Encoder {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip | Self::Members | Self::Stored => "gzip",
            Self::Zlib | Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd | Self::Frames => "zstd",
        }
    }

    /// The coded octets up to each flush, and the end.
    fn parts(self, texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
        macro_rules! flushed {
            ($encoder:expr) => {{
                let (mut encoder, mut parts, mut taken) = ($encoder, Vec::new(), 0);
                for text in texts {
                    encoder.write_all(text).unwrap();
                    encoder.flush().unwrap();
                    parts.push(encoder.get_ref()[taken..].to_vec());
                    taken = encoder.get_ref().len();
                }
                let whole: Vec<u8> = encoder.finish().unwrap();
                parts.push(whole[taken..].to_vec());
                parts
            }};
        }
        match self {
            Self::Gzip => flushed!(GzEncoder::new(Vec::new(), Compression::default())),
            Self::Stored => flushed!(GzEncoder::new(Vec::new(), Compression::none())),
            Self::Zlib => flushed!(ZlibEncoder::new(Vec::new(), Compression::default())),
            Self::Deflate => flushed!(DeflateEncoder::new(Vec::new(), Compression::default())),
            Self::Zstd => flushed!(zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap()),
            Self::Members => {
                texts.iter().map(|text| Self::Gzip.parts(std::slice::from_ref(text)).concat()).collect()
            }
            Self::Frames => {
                texts.iter().map(|text| Self::Zstd.parts(std::slice::from_ref(text)).concat()).collect()
            }
            Self::Brotli => {
                let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
                let (mut parts, mut taken) = (Vec::new(), 0);
                for text in texts {
                    encoder.write_all(text).unwrap();
                    encoder.flush().unwrap();
                    parts.push(encoder.get_ref()[taken..].to_vec());
                    taken = encoder.get_ref().len();
                }
                parts.push(encoder.into_inner()[taken..].to_vec());
                parts
            }
        }
    }
}

/// A body of watch events, in texts that a sender flushes behind each.
fn texts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let event = (0usize..60, "[a-z]{1,8}").prop_map(|(padding, name)| {
        format!(
            "{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{{\"name\":\"{name}\"}},\"p\":\"{}\"}}}}\n",
            "ü".repeat(padding)
        )
    });
    (proptest::collection::vec(event, 1..6), proptest::collection::vec(1usize..200, 0..8)).prop_map(
        |(events, sizes)| {
            let body = events.concat().into_bytes();
            let (mut texts, mut rest) = (Vec::new(), &body[..]);
            for size in sizes {
                let (text, behind) = rest.split_at(size.min(rest.len()));
                texts.push(text.to_vec());
                rest = behind;
            }
            texts.push(rest.to_vec());
            texts.retain(|text| !text.is_empty());
            texts
        },
    )
}

fn summaries(events: &[Event]) -> Vec<(u64, u64, Option<String>)> {
    events
        .iter()
        .map(|event| (event.offset, event.size, event.summary.name.as_deref().map(str::to_owned)))
        .collect()
}

proptest! {
    /// Where each flush is a chunk, the chunks hold what they hold uncoded.
    #[test]
    fn chunks_of_a_flush_each_are_judged_as_if_they_were_not_coded(
        encoder in proptest::sample::select(&ENCODERS[..]), texts in texts(),
    ) {
        let plain: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let plain = analyse("identity", "application/json;stream=watch", &plain);
        let parts = encoder.parts(&texts);
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let coded = analyse(encoder.name(), "application/json;stream=watch", &parts);
        prop_assert_eq!(&coded.events, &plain.events);
        for (coded, plain) in coded.chunks.iter().zip(&plain.chunks) {
            prop_assert_eq!(coded.verdict.name(), plain.verdict.name());
            prop_assert_eq!(&coded.events, &plain.events);
            prop_assert_eq!(coded.overlap, plain.overlap);
            prop_assert_eq!(coded.span(), plain.span());
            prop_assert_eq!(&coded.decoded.as_ref().unwrap().octets, &plain.chunk.payload);
        }
        // What is left ends the stream.
        for end in coded.chunks.iter().skip(plain.chunks.len()) {
            prop_assert_eq!(end.verdict.name(), "unchecked");
        }
    }

    /// Wherever chunks are cut: the same events, and each in the chunks to
    /// which its octets belong.
    #[test]
    fn any_chunks_hold_the_same_events(
        encoder in proptest::sample::select(&ENCODERS[..]), texts in texts(),
        sizes in proptest::collection::vec(1usize..80, 1..40),
    ) {
        let body = texts.concat();
        let plain = analyse("identity", "application/json;stream=watch", &[&body]);
        let octets = encoder.parts(&texts).concat();
        let (mut chunks, mut rest, mut sizes) = (Vec::new(), &octets[..], sizes.iter().cycle());
        while !rest.is_empty() {
            let (chunk, behind) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            chunks.push(chunk);
            rest = behind;
        }
        let coded = analyse(encoder.name(), "application/json;stream=watch", &chunks);
        prop_assert_eq!(summaries(&coded.events), summaries(&plain.events));
        let kept: Vec<u8> =
            coded.chunks.iter().flat_map(|c| c.decoded.as_ref().unwrap().octets.clone()).collect();
        prop_assert_eq!(&kept, &body);
        let mut at = 0;
        for chunk in &coded.chunks {
            prop_assert_eq!(chunk.span().start, at);
            at = chunk.span().end;
        }
        prop_assert_eq!(at, body.len() as u64);
        for event in &coded.events {
            let first = coded.chunks.iter().find(|chunk| chunk.span().contains(&event.offset)).unwrap();
            let last = event.offset + event.size - 1;
            let last = coded.chunks.iter().find(|chunk| chunk.span().contains(&last)).unwrap();
            prop_assert_eq!(event.first_chunk, first.chunk.index);
            prop_assert_eq!(event.last_chunk, last.chunk.index);
        }
        // A chunk says of its verdict what the ranges say, counted octet by octet.
        for chunk in &coded.chunks {
            let span = chunk.span();
            let touched: Vec<_> = plain.events.iter().filter(|event| {
                event.offset < span.end && event.offset + event.size > span.start
            }).collect();
            let whole = touched.iter().filter(|event| {
                span.start <= event.offset && event.offset + event.size <= span.end
            }).count();
            let expected = match (span.is_empty(), touched.len(), whole) {
                (true, ..) => "unchecked",
                (_, 0, _) => "invalid",
                (_, 1, 1) => "one",
                (_, 1, _) => "part",
                (_, n, w) if n == w => "several",
                _ => "mixed",
            };
            prop_assert_eq!(chunk.verdict.name(), expected);
        }
    }

    /// Of blocks without compression each octet completes itself.
    #[test]
    fn stored_octets_belong_to_the_chunk_that_holds_them(texts in texts(), size in 1usize..50) {
        let body = texts.concat();
        let octets = Encoder::Stored.parts(std::slice::from_ref(&body)).concat();
        let start = octets.windows(body.len()).position(|window| window == body).unwrap();
        let chunks: Vec<&[u8]> = octets.chunks(size).collect();
        let coded = analyse("gzip", "application/json;stream=watch", &chunks);
        prop_assert_eq!(coded.chunks.len(), chunks.len());
        let mut at = 0;
        for (chunk, payload) in coded.chunks.iter().zip(&chunks) {
            let place = |octet: usize| octet.saturating_sub(start).min(body.len());
            let own = place(at)..place(at + payload.len());
            prop_assert_eq!(chunk.span(), own.start as u64..own.end as u64);
            prop_assert_eq!(&chunk.decoded.as_ref().unwrap().octets, &body[own]);
            at += payload.len();
        }
    }

    /// Damage anywhere never panics, and makes no event out of nothing.
    #[test]
    fn chunks_of_damaged_bodies_that_complete_nothing_hold_nothing(
        encoder in proptest::sample::select(&ENCODERS[..]), texts in texts(),
        at in any::<proptest::sample::Index>(), octet in any::<u8>(), size in 1usize..60,
    ) {
        let mut octets = encoder.parts(&texts).concat();
        let at = at.index(octets.len());
        octets[at] ^= octet;
        let coded = analyse(encoder.name(), "application/json;stream=watch", &octets.chunks(size).collect::<Vec<_>>());
        for chunk in &coded.chunks {
            let holds = matches!(chunk.verdict.name(), "one" | "several" | "part" | "mixed");
            prop_assert!(!(chunk.span().is_empty() && holds), "{:?}", chunk);
        }
    }
}
