//! Octets per second of each layer and of the whole, on a small capture made
//! by code: one watch, its events in segments of 1448 octets.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "../tests/support/segments.rs"]
mod segments;

use std::hint::black_box;
use std::io;

use chunkscope::capture::CaptureReader;
use chunkscope::chunk::Decoder as ChunkDecoder;
use chunkscope::event::Kind;
use chunkscope::http::{Connection, HttpEvent};
use chunkscope::limits::Limits;
use chunkscope::packet::{Decoded, Decoder, Flags, Segment};
use chunkscope::pipeline::Analysis;
use chunkscope::pipeline::options::{Expectation, Options};
use chunkscope::report::{Conclusion, Finding, Report};
use chunkscope::tcp::{Piece, Reassembler, StreamItem};
use chunkscope::units::{Stamp, StreamId};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use segments::Sent;

const REQUEST: &str = "GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: a\r\n\r\n";
const RESPONSE: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Chunks of one watch event each, some 2.4 KB.
fn body() -> Vec<u8> {
    let mut body = Vec::new();
    for version in 0..2000 {
        let labels: Vec<String> =
            (0..40).map(|n| format!("\"label-{n}.example.org/name\":\"value {version} of {n}\"")).collect();
        let event = format!(
            "{{\"type\":\"MODIFIED\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"web-{version}\",\
             \"namespace\":\"default\",\"resourceVersion\":\"{version}\",\"labels\":{{{}}}}},\
             \"status\":{{\"phase\":\"Running\",\"ready\":true,\"restarts\":0}}}}}}\n",
            labels.join(",")
        );
        body.extend(format!("{:x}\r\n{event}\r\n", event.len()).bytes());
    }
    body.extend(b"0\r\n\r\n");
    body
}

fn conversation() -> Vec<Sent> {
    let (client, server) = ("10.0.0.1:40000".parse().unwrap(), "10.0.0.2:8001".parse().unwrap());
    let sent = |forward: bool, seq: u32, ack: Option<u32>, syn: bool, payload: &[u8]| Sent {
        seconds: 1_796_000_000,
        micros: 0,
        source: if forward { client } else { server },
        destination: if forward { server } else { client },
        seq,
        ack,
        flags: Flags { syn, ..Flags::default() },
        payload: payload.to_vec(),
    };
    let mut segments = vec![
        sent(true, 0, None, true, b""),
        sent(false, 0, Some(1), true, b""),
        sent(true, 1, Some(1), false, REQUEST.as_bytes()),
    ];
    let asked = 1 + REQUEST.len() as u32;
    let answer = [RESPONSE.as_bytes(), &body()].concat();
    let mut seq = 1;
    for payload in answer.chunks(1448) {
        segments.push(sent(false, seq, Some(asked), false, payload));
        seq += payload.len() as u32;
    }
    segments
}

/// A report that only counts.
#[derive(Default)]
struct Count(u64);

impl Report for Count {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.0 += u64::from(matches!(finding, Finding::Chunk(_)));
        Ok(())
    }

    fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
        Ok(())
    }
}

fn layers(criterion: &mut Criterion) {
    let sent = conversation();
    let capture = segments::write(&sent);
    let limits = Limits::default();
    let mut group = criterion.benchmark_group("layers");
    group.throughput(Throughput::Bytes(capture.len() as u64)).sample_size(20);

    group.bench_function("capture", |bencher| {
        bencher.iter(|| {
            let mut reader = CaptureReader::open(capture.as_slice(), &limits, 1).unwrap();
            while let Some(frame) = reader.next_frame().unwrap() {
                black_box(frame);
            }
        });
    });
    group.bench_function("capture and packet", |bencher| {
        bencher.iter(|| {
            let mut reader = CaptureReader::open(capture.as_slice(), &limits, 1).unwrap();
            let mut decoder = Decoder::new(&limits);
            while let Some(frame) = reader.next_frame().unwrap() {
                black_box(matches!(decoder.decode(&frame), Decoded::Segment(_)));
            }
        });
    });
    let segments: Vec<Segment<'_>> = sent
        .iter()
        .enumerate()
        .map(|(place, s)| Segment {
            stamp: Stamp::untimed(place as u64 + 1),
            source: s.source,
            destination: s.destination,
            seq: s.seq,
            ack: s.ack,
            flags: s.flags,
            payload: &s.payload,
            cut: 0,
        })
        .collect();
    group.bench_function("tcp", |bencher| {
        bencher.iter(|| {
            let mut reassembler = Reassembler::new(&limits);
            let mut sink = |stream: StreamId, item: StreamItem<'_>| {
                black_box((stream, &item));
            };
            for segment in &segments {
                reassembler.push(segment, &mut sink);
            }
            reassembler.finish(&mut sink);
        });
    });
    group.bench_function("tcp, http and chunk", |bencher| {
        bencher.iter(|| {
            let mut reassembler = Reassembler::new(&limits);
            let mut connection: Option<Connection> = None;
            let mut sink = |_: StreamId, item: StreamItem<'_>| match item {
                StreamItem::Open(opening) => connection = Some(Connection::new(&opening, &limits, 0)),
                item => {
                    if let Some(connection) = &mut connection {
                        connection.push(item, &mut |event: HttpEvent<'_>| {
                            black_box(&event);
                        });
                    }
                }
            };
            for segment in &segments {
                reassembler.push(segment, &mut sink);
            }
            reassembler.finish(&mut sink);
        });
    });
    let chunks = body();
    group.bench_function("chunk", |bencher| {
        bencher.iter(|| {
            let mut decoder = ChunkDecoder::new(&limits, 0);
            let stamp = Stamp::untimed(1);
            let bytes = chunks.as_slice().into();
            let mut piece = Piece { at: 0, bytes, stamp, released: stamp, segment_start: true };
            while let Some(step) = decoder.read(&mut piece) {
                black_box(&step);
            }
        });
    });
    for (name, expectation) in
        [("whole, framing alone", Expectation::Any), ("whole, watch events", Expectation::Kind(Kind::Watch))]
    {
        let options = Options { expectation, summaries: true, ..Options::default() };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut count = Count::default();
                let mut analysis = Analysis::new(&options, &mut count);
                analysis.capture("bench", capture.as_slice()).unwrap();
                analysis.conclude(false).unwrap();
                assert_eq!(count.0, 2000);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, layers);
criterion_main!(benches);
