//! Streams made by models of what makes them, and streams built to fool.

use std::sync::Arc;

use proptest::prelude::*;

use smallvec::SmallVec;

use super::*;
use crate::chunk::{Chunk, Closing};
use crate::event::Summary;
use crate::http::{Framing, RequestHead, ResponseHead};
use crate::report::{Event, ExchangeId};
use crate::units::{Stamp, StreamId};
use crate::verdict::Overlap;

const API_SERVER: &[(&str, &str)] = &[("Audit-Id", "1"), ("Content-Type", "application/json")];
const SOMEBODY: &[(&str, &str)] = &[("Content-Type", "application/json"), ("Date", "now")];
const RESUMED: &str = "/api/v1/pods?watch=1&resourceVersion=7";

fn head(target: &str, fields: &[(&str, &str)]) -> ExchangeHead {
    let fields = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    ExchangeHead {
        id: ExchangeId { stream: Some(StreamId(0)), index: 0 },
        client: None,
        server: None,
        request: Some(RequestHead { target: Some(target.into()), ..RequestHead::default() }),
        response: Some(ResponseHead { status: Some(200), fields: Some(fields), ..ResponseHead::default() }),
        framing: Some(Framing::Chunked),
        expect: Some(Expect::Kind(Kind::Watch)),
    }
}

/// A stream: events with their sizes, cut into chunks.
struct Stream {
    /// Each with its type; an LF is behind it.
    events: Vec<(u64, &'static str)>,
    chunks: Vec<u64>,
    /// Milliseconds at which each chunk comes.
    times: Vec<u64>,
    upper: bool,
}

impl Stream {
    fn of(events: &[u64], chunks: &[u64]) -> Self {
        let events = events.iter().map(|&size| (size, "MODIFIED")).collect();
        Self { events, times: (0..chunks.len() as u64).collect(), chunks: chunks.to_vec(), upper: false }
    }

    fn hints(&self, head: &ExchangeHead) -> Vec<Hint> {
        let mut spans = Vec::new();
        let mut at = 0;
        for &(size, _) in &self.events {
            spans.push(at..at + size);
            at += size + 1;
        }
        let mut ranges = Vec::new();
        at = 0;
        for &size in &self.chunks {
            ranges.push(at..at + size);
            at += size;
        }
        let holder = |octet: u64| ranges.iter().position(|range| range.contains(&octet)).unwrap() as u64 + 1;
        let events: Vec<Arc<Event>> = spans
            .iter()
            .zip(&self.events)
            .filter(|(span, _)| span.end <= at)
            .zip(1..)
            .map(|((span, (size, word)), index)| {
                let summary = Summary { event_type: Some((*word).into()), ..Summary::default() }.into();
                let (first_chunk, last_chunk) = (holder(span.start), holder(span.end - 1));
                Arc::new(Event { index, offset: span.start, size: *size, first_chunk, last_chunk, summary })
            })
            .collect();
        let mut evidence = Evidence::new(head);
        for (index, range) in (1..).zip(&ranges) {
            let mut overlap = Overlap::default();
            spans.iter().for_each(|span| overlap.add(range, span));
            let holds = |event: &&Arc<Event>| event.first_chunk <= index && index <= event.last_chunk;
            let size = range.end - range.start;
            let hex = if self.upper { format!("{size:X}\r\n") } else { format!("{size:x}\r\n") };
            let millis = self.times[index as usize - 1];
            let stamp = Stamp { at: Some(Timestamp::new(0, millis, 3)), ..Stamp::untimed(index) };
            evidence.chunk(
                &JudgedChunk {
                    exchange: head.id,
                    side: Side::Response,
                    chunk: Box::new(Chunk {
                        index,
                        size_line: hex.bytes().collect(),
                        size,
                        offset: range.start,
                        received: size,
                        closing: Closing::CrLf,
                        unfinished: false,
                        at: 0,
                        trail: SmallVec::new(),
                        first: stamp,
                        last: stamp,
                        payload: Vec::new(),
                        message: None,
                    }),
                    decoded: None,
                    utf8: None,
                    verdict: overlap.verdict().unwrap_or(Verdict::Unchecked(None)),
                    events: events.iter().filter(holds).cloned().collect(),
                    overlap,
                    unresolved_event: None,
                },
                head,
            );
        }
        evidence.finish().0
    }

    fn causes(&self, head: &ExchangeHead) -> Vec<Cause> {
        self.hints(head).into_iter().map(|hint| hint.cause).collect()
    }
}

/// The chunks that Go's net/http makes of events, each written with one write
/// and flushed where the queue is empty behind it (bufio.Writer of 2,048).
fn net_http(events: &[(u64, bool)]) -> Vec<u64> {
    let (mut chunks, mut buffered) = (Vec::new(), 0);
    for &(size, flush) in events {
        let mut rest = size + 1;
        while rest > NET_HTTP - buffered {
            if buffered == 0 {
                chunks.push(rest); // past the buffer
                rest = 0;
            } else {
                rest -= NET_HTTP - buffered;
                buffered = 0;
                chunks.push(NET_HTTP);
            }
        }
        buffered += rest;
        if flush && buffered > 0 {
            chunks.push(std::mem::take(&mut buffered));
        }
    }
    if buffered > 0 {
        chunks.push(buffered);
    }
    chunks
}

fn blocks(events: &[u64], block: u64) -> Vec<u64> {
    let total: u64 = events.iter().map(|size| size + 1).sum();
    let mut chunks = vec![block; (total / block) as usize];
    chunks.extend(Some(total % block).filter(|rest| *rest > 0));
    chunks
}

/// The chunks of a hop that reads at most `most` octets at once of events
/// that it receives whole.
fn reads(events: &[u64], most: u64) -> Vec<u64> {
    events.iter().flat_map(|size| blocks(&[*size], most)).collect()
}

#[test]
fn the_model_of_net_http_makes_what_was_measured() {
    assert_eq!(net_http(&[(937, true), (914_937, true)]), [938, 914_938]);
    assert_eq!(net_http(&[(600, false), (700, false), (1500, true)]), [2048, 755]);
    assert_eq!(net_http(&[(600, false), (5000, true), (1, true)]), [2048, 3554, 2]);
}

#[test]
fn a_burst_from_net_http_is_named_with_its_chunks() {
    let burst: Vec<(u64, bool)> = (0..20).map(|n| (700 + n, n == 19)).collect();
    let sizes: Vec<u64> = burst.iter().map(|(size, _)| *size).collect();
    let hints = Stream::of(&sizes, &net_http(&burst)).hints(&head(RESUMED, API_SERVER));
    assert_eq!(hints.iter().map(|hint| hint.cause).collect::<Vec<_>>(), [Cause::NetHttp2048]);
    assert_eq!((hints[0].count, hints[0].chunks.len()), (6, 6));
    assert!(hints[0].words().contains("6 chunks of exactly 2,048 octets cut events"), "{}", hints[0].words());
}

proptest! {
    /// Whatever is written, net/http is taken for no other cause; and where it
    /// is anybody's server, two bursts name it.
    #[test]
    fn net_http_is_never_taken_for_a_proxy(
        events in proptest::collection::vec((20u64..6000, any::<bool>()), 1..60),
    ) {
        let sizes: Vec<u64> = events.iter().map(|(size, _)| *size).collect();
        for fields in [API_SERVER, SOMEBODY] {
            let causes = Stream::of(&sizes, &net_http(&events)).causes(&head(RESUMED, fields));
            prop_assert!(
                causes.iter().all(|cause| matches!(cause, Cause::NetHttp2048 | Cause::Burst)), "{causes:?}"
            );
        }
    }

    /// Blocks of a fixed size say nothing: any server may write so.
    #[test]
    fn blocks_of_any_size_name_nobody(
        events in proptest::collection::vec(20u64..5000, 1..60),
        block in proptest::sample::select(vec![1000u64, 2048, 4096, 8192, 16_384, 32_768]),
    ) {
        let causes = Stream::of(&events, &blocks(&events, block)).causes(&head(RESUMED, SOMEBODY));
        prop_assert!(causes.iter().all(|cause| *cause == Cause::Burst), "{causes:?}");
    }

    /// Cuts at any place name nobody, not even on the way from an API server.
    #[test]
    fn random_cuts_name_nobody(
        events in proptest::collection::vec(20u64..5000, 5..60),
        cuts in proptest::collection::vec(1u64..9000, 30..60),
    ) {
        prop_assume!(cuts.iter().any(|size| size % 4096 != 0 && *size != 2048));
        let total: u64 = events.iter().map(|size| size + 1).sum();
        let mut left = total;
        let chunks: Vec<u64> = cuts.iter().cycle().map_while(|&size| {
            let size = size.min(left);
            left -= size;
            (size > 0).then_some(size)
        }).collect();
        prop_assume!(chunks.len() > 8);
        let causes = Stream::of(&events, &chunks).causes(&head(RESUMED, API_SERVER));
        prop_assert!(causes.iter().all(|cause| *cause == Cause::Burst), "{causes:?}");
    }
}

#[test]
fn chunks_that_are_2048_because_events_are_get_no_hint() {
    let events = [2047; 30];
    let aligned = Stream::of(&events, &[2048; 30]);
    assert_eq!(aligned.causes(&head(RESUMED, API_SERVER)), []);
    let pairs = Stream::of(&[1023; 30], &[2048; 15]);
    assert_eq!(pairs.causes(&head(RESUMED, API_SERVER)), [], "two whole events each: a habit");
    let quarters = Stream::of(&[8191; 8], &[4096; 16]);
    assert_eq!(quarters.causes(&head(RESUMED, SOMEBODY)), [], "blocks, for all that shows");
}

#[test]
fn a_single_chunk_of_4096_gets_no_hint() {
    let stream = Stream::of(&[5000, 600, 700], &[4096, 905, 601, 701]);
    assert_eq!(stream.causes(&head(RESUMED, API_SERVER)), []);
}

#[test]
fn one_cut_elsewhere_takes_the_hint_away() {
    let mut events = vec![5000; 4];
    let mut chunks = reads(&events, 4096);
    let head = head(RESUMED, API_SERVER);
    assert_eq!(Stream::of(&events, &chunks).causes(&head), [Cause::ProxyRead4096]);
    events.push(300);
    chunks.extend([100, 201]);
    assert_eq!(Stream::of(&events, &chunks).causes(&head), []);
}

#[test]
fn hops_that_copy_are_told_by_their_sizes_and_restarts() {
    let events = [40_000, 50_001, 700, 39_000];
    for fields in [API_SERVER, SOMEBODY] {
        let head = head(RESUMED, fields);
        let causes = |most| Stream::of(&events, &reads(&events, most)).causes(&head);
        assert_eq!(causes(16_384), [Cause::Http2Frame16384]);
        assert_eq!(causes(32_768), [Cause::GoProxy32768]);
        assert_eq!(causes(4096), [Cause::ProxyRead4096]);
        assert_eq!(causes(10_000), []);
    }
    let large = Stream::of(&[40_000, 40_001, 90_000], &[32_768, 7233, 32_768, 7234, 90_001]);
    assert_eq!(large.causes(&head(RESUMED, API_SERVER)), [], "a copy buffer lets nothing larger pass");
    let server = [("Server", "gunicorn"), ("Audit-Id", "1")];
    assert_eq!(Stream::of(&events, &reads(&events, 16_384)).causes(&head(RESUMED, &server)), []);
}

#[test]
fn nginx_is_told_by_its_name_and_its_buffers_together() {
    let events = [9000, 9500, 9700];
    let chunks: Vec<u64> = events.iter().flat_map(|size| [4090, 6, 4090, 6, size + 1 - 8192]).collect();
    let stream = Stream::of(&events, &chunks);
    let nginx = [("Server", "nginx/1.22.1"), ("Content-Type", "application/json")];
    assert_eq!(stream.causes(&head(RESUMED, &nginx)), [Cause::Nginx4kBuffer]);
    assert_eq!(stream.causes(&head(RESUMED, SOMEBODY)), []);
    let other = Stream::of(&events, &reads(&events, 5000));
    assert_eq!(other.causes(&head(RESUMED, &nginx)), []);
    assert!(Cause::Nginx4kBuffer.advice().contains("proxy_buffering off"));
}

#[test]
fn haproxy_is_told_by_how_it_writes_an_api_servers_response() {
    let events = [9000, 9500];
    let mut stream = Stream::of(&events, &reads(&events, 4090));
    stream.upper = true;
    let rewritten = [("audit-id", "1"), ("content-type", "application/json")];
    assert_eq!(stream.causes(&head(RESUMED, &rewritten)), [Cause::Haproxy]);
    assert_eq!(stream.causes(&head(RESUMED, API_SERVER)), [], "the names are as they were");
    let own = [("content-type", "application/json"), ("date", "now")];
    assert_eq!(stream.causes(&head(RESUMED, &own)), [], "a server of hyper's writes so itself");
    stream.upper = false;
    assert_eq!(stream.causes(&head(RESUMED, &rewritten)), []);
}

#[test]
fn what_exists_already_is_told_by_the_request_and_the_events() {
    let mut stream = Stream::of(&[500, 500, 500, 400, 400], &[1503, 401, 401]);
    stream.events.iter_mut().take(3).for_each(|(_, word)| *word = "ADDED");
    stream.times = vec![0, 2000, 4000];
    for (target, expected) in [
        ("/api/v1/pods?watch=1", vec![Cause::InitialState]),
        ("/api/v1/pods?watch=1&resourceVersion=0", vec![Cause::InitialState]),
        ("/api/v1/pods?watch=1&resourceVersion=9&sendInitialEvents=true", vec![Cause::InitialState]),
        (RESUMED, vec![]),
    ] {
        assert_eq!(stream.causes(&head(target, API_SERVER)), expected, "{target}");
    }
    stream.events[1].1 = "MODIFIED";
    assert_eq!(stream.causes(&head("/api/v1/pods?watch=1", API_SERVER)), []);
}

#[test]
fn a_large_change_behind_the_state_isnt_a_part_of_it() {
    let mut stream = Stream::of(&[500, 500, 5000, 5000], &[501, 501, 4096, 905, 4096, 905]);
    stream.events.iter_mut().take(2).for_each(|(_, word)| *word = "ADDED");
    assert_eq!(stream.causes(&head("/api/v1/pods?watch=1", API_SERVER)), [Cause::ProxyRead4096]);
}

#[test]
fn a_burst_needs_many_events_in_several_chunks_close_together() {
    let mut stream = Stream::of(&[300; 9], &[903, 1204, 602]);
    assert_eq!(stream.causes(&head(RESUMED, SOMEBODY)), [Cause::Burst]);
    stream.times = vec![0, 101, 202];
    assert_eq!(stream.causes(&head(RESUMED, SOMEBODY)), [], "they come one by one");
    let few = Stream::of(&[300; 6], &[602, 602, 602]);
    assert_eq!(few.causes(&head(RESUMED, SOMEBODY)), []);
}

#[test]
fn batches_behind_pauses_are_no_burst() {
    let mut stream = Stream::of(&[300; 36], &[903, 602, 1204].repeat(4));
    stream.times = (0..12).map(|n| n / 3 * 40 + n % 3).collect();
    assert_eq!(stream.causes(&head(RESUMED, SOMEBODY)), [Cause::Burst]);
    stream.times = (0..12).map(|n| n / 3 * 2000 + n % 3).collect();
    assert_eq!(stream.causes(&head(RESUMED, SOMEBODY)), [], "something may collect them");
}

#[test]
fn compressed_bodies_are_told_by_their_coding_alone() {
    let coded = [("Content-Encoding", "gzip"), ("Audit-Id", "1")];
    let stream = Stream::of(&[40_000, 50_001], &reads(&[40_000, 50_001], 16_384));
    assert_eq!(stream.causes(&head(RESUMED, &coded)), [Cause::ContentCodingFlush]);
    let identity = [("Content-Encoding", "identity"), ("Audit-Id", "1")];
    assert_eq!(stream.causes(&head(RESUMED, &identity)), [Cause::Http2Frame16384]);
}

#[test]
fn protobuf_events_of_a_buffer_and_a_rest_show_their_prefix() {
    let protobuf = [("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch"), ("Audit-Id", "1")];
    let events = [3000, 500, 4000];
    let stream = Stream::of(&events, &[2048, 953, 501, 2048, 1953]);
    let hints = stream.hints(&head(RESUMED, &protobuf));
    assert_eq!((hints.len(), hints[0].cause, hints[0].count), (1, Cause::ProtobufPrefix, 2), "{hints:?}");
    let other = Stream::of(&events, &[2000, 1001, 501, 2048, 1953]);
    assert_eq!(other.causes(&head(RESUMED, &protobuf)), []);
}

#[test]
fn nothing_is_said_of_a_stream_without_its_head() {
    let mut unseen = head(RESUMED, API_SERVER);
    unseen.response = None;
    let events = [40_000, 50_001];
    assert_eq!(Stream::of(&events, &reads(&events, 16_384)).causes(&unseen), []);
}

#[test]
fn only_the_first_chunks_are_listed_and_all_are_counted() {
    let events = vec![5000; 300];
    let hints = Stream::of(&events, &reads(&events, 4096)).hints(&head(RESUMED, API_SERVER));
    assert_eq!((hints[0].chunks.len(), hints[0].count), (crate::hints::LISTED_CHUNKS, 300));
    assert!(hints[0].chunks.is_sorted());
}
