//! What must not depend on how the octets travelled: every capture gives the
//! same chunks, events and verdicts when its segments are cut, doubled,
//! overlapped, or reordered ahead of their acknowledgement.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "support/segments.rs"]
mod segments;

use std::io;

use chunkscope::limits::Limits;
use chunkscope::pipeline::Analysis;
use chunkscope::pipeline::options::Options;
use chunkscope::report::{Conclusion, Finding, Report};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use segments::{Sent, in_pieces};

/// What a capture holds, frames and times aside, in the order of exchanges.
#[derive(Debug, Default, PartialEq)]
struct Findings {
    lines: Vec<(u64, u64, String)>,
}

impl Report for Findings {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        let (id, line) = match finding {
            Finding::Exchange(head) => {
                let request =
                    head.request.as_ref().map(|request| (&request.method, &request.target, &request.fields));
                let response = head.response.as_ref().map(|r| (&r.status, &r.reason, &r.fields));
                (head.id, format!("{request:?} {response:?} {:?} {:?}", head.framing, head.expect))
            }
            Finding::Event(id, event) => (*id, format!("{event:?}")),
            Finding::Chunk(judged) => {
                let chunk = &judged.chunk;
                let events: Vec<u64> = judged.events.iter().map(|event| event.index).collect();
                (
                    judged.exchange,
                    format!(
                        "{:?} chunk {} {} {} {} {} {:?} {:?} {:?}",
                        judged.side,
                        chunk.index,
                        chunk.size_hex(),
                        chunk.offset,
                        chunk.received,
                        String::from_utf8_lossy(&chunk.payload),
                        chunk.closing,
                        judged.verdict,
                        events
                    ),
                )
            }
            Finding::Violation(violation) => (
                violation.exchange,
                format!("{:?} {:?} {}", violation.code, violation.chunk, violation.message),
            ),
            Finding::Lint(lint) => (lint.exchange, format!("{lint:?}")),
            Finding::ExchangeEnd(end) => {
                let body = |body: &Option<chunkscope::report::Body>| {
                    body.as_ref().map(|b| {
                        let last =
                            b.last_chunk.as_ref().map(|last| (last.size_line.clone(), last.trailers.clone()));
                        (b.framing, b.size, b.end, b.joined, b.chunks, last)
                    })
                };
                (
                    end.head.id,
                    format!(
                        "{:?} {:?} {:?} {:?}",
                        body(&end.request_body),
                        body(&end.response_body),
                        end.verdict,
                        end.tally
                    ),
                )
            }
            Finding::Capture(_) | Finding::CaptureEnd(_) => return Ok(()),
            other => panic!("a new kind of finding: {other:?}"),
        };
        self.lines.push((id.stream.unwrap().0, id.index, line));
        Ok(())
    }

    fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
        self.lines.sort_by_key(|(stream, index, _)| (*stream, *index));
        Ok(())
    }
}

fn analyse(capture: &[u8]) -> Findings {
    let options = Options {
        keep_payload: Limits::default().payload,
        check_utf8: true,
        summaries: true,
        ..Options::default()
    };
    let mut findings = Findings::default();
    let mut analysis = Analysis::new(&options, &mut findings);
    analysis.capture("capture", capture).unwrap();
    analysis.conclude(false).unwrap();
    findings
}

/// Captures without holes, which begin with the handshake.
const WHOLE: [&str; 14] = [
    "k8s-watch-coredns.pcap",
    "k8s-watch-coredns-lo.pcap",
    "configmap-sample.pcap",
    "ticks.pcap",
    "trailer.pcap",
    "abort.pcap",
    "bookmarks.pcap",
    "gone-410.pcap",
    "pipelined.pcap",
    "interrupted.pcap",
    "apiserver-killed.pcap",
    "vlan.pcap",
    "sse.pcap",
    "ndjson-coalesced.pcap",
];

fn captures() -> impl Iterator<Item = (&'static str, Vec<Sent>, Findings)> {
    WHOLE.into_iter().map(|name| {
        let path = format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
        let segments = segments::read(&std::fs::read(path).unwrap());
        let findings = analyse(&segments::write(&segments));
        assert!(!findings.lines.is_empty(), "{name} holds something");
        (name, segments, findings)
    })
}

#[track_caller]
fn same(name: &str, how: &str, segments: &[Sent], expected: &Findings) {
    let found = analyse(&segments::write(segments));
    if found != *expected {
        let at = found.lines.iter().zip(&expected.lines).position(|(a, b)| a != b);
        let at = at.unwrap_or(found.lines.len().min(expected.lines.len()));
        panic!(
            "{name}, {how}: finding {at} of {} (expected {}):\n  found    {:?}\n  expected {:?}",
            found.lines.len(),
            expected.lines.len(),
            found.lines.get(at),
            expected.lines.get(at)
        );
    }
}

#[test]
fn what_a_capture_holds_is_in_its_segments_alone() {
    for (name, _, expected) in captures() {
        let path = format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(analyse(&std::fs::read(path).unwrap()), expected, "{name}");
    }
}

#[test]
fn packets_may_share_a_wireless_frame() {
    for (name, segments, expected) in captures() {
        let capture = segments::write_aggregated(&in_pieces(&segments, 1000));
        assert_eq!(analyse(&capture), expected, "{name}");
    }
}

#[test]
fn segments_may_be_cut_at_every_octet() {
    for (name, segments, expected) in captures() {
        let total: usize = segments.iter().map(|segment| segment.payload.len()).sum();
        for size in [1, 2, 3, 5, 7, 64, 1000] {
            if total / size < 200_000 {
                same(name, &format!("in pieces of {size}"), &in_pieces(&segments, size), &expected);
            }
        }
    }
}

#[test]
fn segments_may_be_cut_in_two_anywhere() {
    for (name, segments, expected) in captures().take(5) {
        for (place, segment) in segments.iter().enumerate() {
            let step = segment.payload.len() / 40 + 1;
            for cut in (1..segment.payload.len()).step_by(step) {
                let (front, back) = segment.cut(cut);
                let mut both = segments.clone();
                both.splice(place..=place, [front, back]);
                same(name, &format!("segment {place} cut at {cut}"), &both, &expected);
            }
        }
    }
}

#[test]
fn segments_may_be_doubled() {
    for (name, segments, expected) in captures() {
        let doubled: Vec<Sent> =
            segments.iter().flat_map(|segment| [segment.clone(), segment.clone()]).collect();
        same(name, "doubled", &doubled, &expected);
        let late = segments.iter().enumerate().flat_map(|(place, segment)| {
            let earlier = segments[place.saturating_sub(7)].clone();
            let same_stream = earlier.source == segment.source && earlier.destination == segment.destination;
            let copy = (same_stream && !earlier.flags.syn && !earlier.flags.rst).then_some(earlier);
            [Some(segment.clone()), copy].into_iter().flatten()
        });
        same(name, "doubled late", &late.collect::<Vec<_>>(), &expected);
    }
}

#[test]
fn segments_may_overlap() {
    for (name, segments, expected) in captures() {
        let overlapped: Vec<Sent> = segments
            .iter()
            .enumerate()
            .map(|(place, segment)| {
                let before = segments[..place]
                    .iter()
                    .rev()
                    .find(|before| {
                        before.source == segment.source && before.destination == segment.destination
                    })
                    .filter(|before| {
                        !before.flags.syn && before.seq.wrapping_add(before.len()) == segment.seq
                    });
                let mut segment = segment.clone();
                if let (Some(before), false) = (before, segment.payload.is_empty()) {
                    let tail = &before.payload[before.payload.len() / 2..];
                    segment.seq = segment.seq.wrapping_sub(u32::try_from(tail.len()).unwrap());
                    segment.payload.splice(..0, tail.iter().copied());
                }
                segment
            })
            .collect();
        same(name, "overlapped", &overlapped, &expected);
    }
}

/// The runs of segments that one side sent before the other answered, cut
/// small, in the order that `order` gives each.
fn reordered(segments: &[Sent], size: usize, mut order: impl FnMut(&mut [Sent])) -> Vec<Sent> {
    let mut all = in_pieces(segments, size);
    let mut start = 0;
    while start < all.len() {
        let direction = (all[start].source, all[start].destination);
        let run = all[start..].iter().take_while(|segment| {
            (segment.source, segment.destination) == direction && !segment.flags.syn && !segment.flags.rst
        });
        let len = run.count();
        order(&mut all[start..start + len]);
        start += len.max(1);
    }
    all
}

#[test]
fn segments_may_come_in_reverse_ahead_of_their_acknowledgement() {
    for (name, segments, expected) in captures() {
        for size in [100, 1000] {
            let reversed = reordered(&segments, size, |run| run.reverse());
            same(name, &format!("reversed in pieces of {size}"), &reversed, &expected);
        }
    }
}

#[test]
fn segments_may_come_in_any_order_ahead_of_their_acknowledgement() {
    let captures: Vec<_> = captures().take(6).collect();
    let mut runner = TestRunner::new(Config { cases: 24, ..Config::default() });
    runner
        .run(&(0..captures.len(), 20usize..1500, any::<u64>()), |(place, size, seed)| {
            let (name, segments, expected) = &captures[place];
            let mut state = seed | 1;
            let shuffled = reordered(segments, size, |run| {
                for i in (1..run.len()).rev() {
                    // xorshift: any order will do
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    run.swap(i, usize::try_from(state % (i as u64 + 1)).unwrap());
                }
            });
            same(name, "shuffled", &shuffled, expected);
            Ok(())
        })
        .unwrap();
}
