//! Findings made by hand, for the tests of reports.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::chunk::{Chunk, Closing, LastChunk, Run};
use crate::event::{Kind, MaybeSummary, Summary};
use crate::http::{BodyEnd, Framing, Protocol, RequestHead, ResponseHead, Side};
use crate::report::{
    Body, CaptureEnd, Conclusion, Event, ExchangeEnd, ExchangeHead, ExchangeId, ExchangeVerdict, Expect,
    Finding, Format, JudgedChunk, LeftOut, OtherStream, Outcome, Problem, Report, Tally, Totals, Violation,
    ViolationCode,
};
use crate::units::{FrameNo, Stamp, StreamId, Timestamp};
use crate::verdict::{Fault, Verdict};

/// A finding that owns what it refers to.
#[derive(Debug, Clone)]
pub(crate) enum Made {
    Capture(&'static str),
    Exchange(ExchangeHead),
    Event(ExchangeId, Arc<Event>),
    Chunk(JudgedChunk),
    Violation(Violation),
    ExchangeEnd(Box<ExchangeEnd>),
    CaptureEnd(CaptureEnd),
}

/// Gives the findings to a report, and finishes it.
pub(crate) fn tell(report: &mut dyn Report, findings: &[Made]) {
    let mut totals = Totals::default();
    for finding in findings {
        let finding = match finding {
            Made::Capture(path) => Finding::Capture(path),
            Made::Exchange(head) => Finding::Exchange(head),
            Made::Event(id, event) => Finding::Event(*id, event),
            Made::Chunk(chunk) => Finding::Chunk(chunk),
            Made::Violation(violation) => Finding::Violation(violation),
            Made::ExchangeEnd(end) => {
                totals.exchanges += 1;
                totals.chunks += end.tally.chunks();
                totals.events += end.events;
                Finding::ExchangeEnd(end)
            }
            Made::CaptureEnd(capture) => {
                totals.captures += 1;
                totals.packets += capture.packets;
                Finding::CaptureEnd(capture)
            }
        };
        report.finding(&finding).unwrap();
    }
    report.finish(&Conclusion { totals, outcome: Outcome::Pass }).unwrap();
}

/// An exchange's place.
pub(crate) fn place(stream: u64, index: u64) -> ExchangeId {
    ExchangeId { stream: Some(StreamId(stream)), index }
}

/// A place in raw HTTP.
pub(crate) fn raw_place(index: u64) -> ExchangeId {
    ExchangeId { stream: None, index }
}

/// A packet, a millisecond after the one before it.
pub(crate) fn stamp(frame: u64) -> Stamp {
    Stamp { frame: FrameNo::new(frame), at: Some(Timestamp::new(1_690_981_802, frame * 1000, 6)) }
}

fn fields(fields: &[(&str, &str)]) -> crate::http::Fields {
    fields.iter().map(|&(name, value)| (name.into(), value.into())).collect()
}

/// A watch on a ConfigMap.
pub(crate) fn watch_head(id: ExchangeId) -> ExchangeHead {
    let of_packets = id.stream.is_some();
    ExchangeHead {
        id,
        client: of_packets.then(|| "127.0.0.1:52114".parse().unwrap()),
        server: of_packets.then(|| "[::1]:8001".parse().unwrap()),
        request: Some(RequestHead {
            method: Some("GET".into()),
            target: Some("/api/v1/watch/namespaces/kube-system/configmaps/coredns".into()),
            version: Some("HTTP/1.1".into()),
            fields: Some(fields(&[("Host", "127.0.0.1:8001"), ("Accept", "*/*, \"x\"")])),
            stamp: Some(stamp(4)),
            ..RequestHead::default()
        }),
        response: Some(ResponseHead {
            status: Some(200),
            reason: Some("OK".into()),
            version: Some("HTTP/1.1".into()),
            fields: Some(fields(&[("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")])),
            stamp: Some(stamp(6)),
            ..ResponseHead::default()
        }),
        framing: Some(Framing::Chunked),
        expect: Some(Expect::Kind(Kind::Watch)),
    }
}

/// A request without a body.
pub(crate) fn no_body() -> Body {
    Body {
        framing: Some(Framing::None),
        size: 0,
        end: BodyEnd::Complete,
        end_stamp: None,
        reset: false,
        joined: None,
        chunks: 0,
        last_chunk: None,
    }
}

/// A chunked body.
pub(crate) fn chunked(size: u64, chunks: u64, end: BodyEnd) -> Body {
    Body { framing: Some(Framing::Chunked), size, end, chunks, ..no_body() }
}

/// A last chunk with a trailer section.
pub(crate) fn last_chunk() -> LastChunk {
    LastChunk {
        size_line: SmallVec::from_slice(b"000;last=\"yes\"\r\n"),
        at: 4000,
        trail: smallvec![run(16, 20), run(12, 21)],
        last: stamp(21),
        trailers: fields(&[("X-Sum", "1"), ("X-Line", "a\tb")]),
    }
}

fn run(len: u64, frame: u64) -> Run {
    Run { len, frame: Some(FrameNo::new(frame)) }
}

/// A chunk with this payload, whole, carried by two frames.
pub(crate) fn chunk(id: ExchangeId, index: u64, offset: u64, payload: &[u8]) -> JudgedChunk {
    let size = payload.len() as u64;
    let size_line = format!("{size:03x}\r\n");
    let frame = 6 + 2 * index;
    JudgedChunk {
        decoded: None,
        exchange: id,
        side: Side::Response,
        chunk: Box::new(Chunk {
            message: None,
            index,
            size_line: SmallVec::from_slice(size_line.as_bytes()),
            size,
            offset,
            received: size,
            closing: Closing::CrLf,
            unfinished: false,
            at: 200 + offset,
            trail: smallvec![run(5, frame), run(size, frame), run(2, frame + 1)],
            first: stamp(frame),
            last: stamp(frame + 1),
            payload: payload.to_vec(),
        }),
        overlap: Default::default(),
        unresolved_event: None,
        utf8: Some(std::str::from_utf8(payload).is_ok()),
        verdict: Verdict::Unchecked(None),
        events: smallvec![],
    }
}

/// An event that one chunk holds.
pub(crate) fn event(index: u64, event_type: &str, in_chunk: u64) -> Arc<Event> {
    Arc::new(Event {
        index,
        offset: 0,
        size: 37,
        first_chunk: in_chunk,
        last_chunk: in_chunk,
        summary: MaybeSummary::from(Summary {
            event_type: Some(event_type.into()),
            api_version: Some("v1".into()),
            kind: Some("ConfigMap".into()),
            namespace: Some("kube-system".into()),
            name: Some("coredns".into()),
            resource_version: Some("230".into()),
            ..Summary::default()
        }),
    })
}

/// An exchange's end.
pub(crate) fn end(
    head: ExchangeHead,
    response: Option<Body>,
    verdict: ExchangeVerdict,
    tally: Tally,
) -> Box<ExchangeEnd> {
    Box::new(ExchangeEnd {
        request_body: head.request.as_ref().map(|_| no_body()),
        response_body: response,
        head: head.into(),
        verdict,
        tally,
        events: tally.one,
        violations: 0,
        lints: 0,
        denied: 0,
        hints: Vec::new(),
        timing: None,
    })
}

/// A capture's end, without problems.
pub(crate) fn capture_end(path: &str) -> CaptureEnd {
    CaptureEnd {
        path: path.into(),
        parts: Vec::new(),
        format: Some(Format::Pcap),
        unread: None,
        link_types: vec!["LINUX_SLL2".into()],
        packets: 34,
        streams: 2,
        left_out: LeftOut::default(),
        first_time: stamp(1).at,
        last_time: stamp(34).at,
        problems: Vec::new(),
        other_streams: Vec::new(),
        other_counts: [(Protocol::Tls, 0), (Protocol::Http2, 0), (Protocol::Other, 0)],
    }
}

/// A capture with a watch of two events in two chunks, and nothing else.
pub(crate) fn one_watch(path: &'static str) -> Vec<Made> {
    let id = place(0, 0);
    let head = watch_head(id);
    let mut made = vec![Made::Capture(path), Made::Exchange(head.clone())];
    let payloads: [&[u8]; 2] = [
        b"{\"type\":\"ADDED\",\"object\":{\"kind\":1}}\n",
        b"{\"type\":\"DELETED\",\"object\":{\"k\":\"\xc3\xa9\"}}\n",
    ];
    for (index, payload) in (1..).zip(payloads) {
        let event = event(index, if index == 1 { "ADDED" } else { "DELETED" }, index);
        let mut chunk = chunk(id, index, (index - 1) * 38, payload);
        chunk.verdict = Verdict::One;
        chunk.events = smallvec![Arc::clone(&event)];
        made.push(Made::Event(id, event));
        made.push(Made::Chunk(chunk));
    }
    let mut body = chunked(81, 2, BodyEnd::Complete);
    body.last_chunk = Some(Box::new(last_chunk()));
    let tally = Tally { one: 2, ..Tally::default() };
    made.push(Made::ExchangeEnd(end(head, Some(body), ExchangeVerdict::Pass, tally)));
    made.push(Made::CaptureEnd(capture_end(path)));
    made
}

/// A capture with everything at once: exchanges that interleave and end in
/// another order than theirs, chunks of a request, each verdict, problems.
pub(crate) fn everything() -> Vec<Made> {
    let path = "dir/all \"kinds\", of ünusual.pcap";
    let (upload, joined, plain) = (place(1, 0), place(0, 1), place(0, 0));
    let mut upload_head = watch_head(upload);
    upload_head.expect = Some(Expect::Kind(Kind::Sse));
    let joined_head =
        ExchangeHead { request: None, response: Some(ResponseHead::default()), ..watch_head(joined) };
    let plain_head =
        ExchangeHead { expect: None, framing: Some(Framing::ContentLength(5)), ..watch_head(plain) };

    let mut sent = chunk(upload, 1, 0, b"sent, \"quoted\"\r\n");
    sent.side = Side::Request;
    let mut message = (*event(1, "message", 1)).clone();
    message.summary = Summary {
        event_type: Some("message".into()),
        id: Some("7".into()),
        data: Some("tick\n\u{7}".into()),
        ..Summary::default()
    }
    .into();
    let message = Arc::new(message);
    let mut verdicts = Vec::new();
    for (index, verdict) in (1..).zip([
        Verdict::One,
        Verdict::Several,
        Verdict::Part,
        Verdict::Mixed,
        Verdict::Invalid(Fault { at: 77, message: "expected a value".into() }),
        Verdict::Unverified("the capture lacks 3 of its octets".into()),
        Verdict::Unchecked(Some("comments only".into())),
        Verdict::Unchecked(None),
    ]) {
        let mut chunk = chunk(joined, index, 0, b"\xff\x00{\"a\": 1}");
        chunk.verdict = verdict;
        if index == 2 {
            chunk.events = smallvec![event(1, "ADDED", 2), event(2, "MODIFIED", 2)];
        }
        verdicts.push(Made::Chunk(chunk));
    }
    let violation = |exchange, side, code, chunk, frame: Option<u64>| {
        Made::Violation(Violation {
            exchange,
            side,
            code,
            chunk,
            frame: frame.map(FrameNo::new),
            message: "holds 2 events, ADDED \u{1b}[31m and MODIFIED".into(),
        })
    };
    let mut joined_body = chunked(80, 8, BodyEnd::Lost);
    joined_body.joined = Some(1234);
    let mut capture = capture_end(path);
    capture.problems = vec![
        Problem {
            code: "truncated-capture",
            stream: None,
            frame: Some(FrameNo::new(34)),
            count: 1,
            message: "the capture ends in the middle of a packet".into(),
        },
        Problem {
            code: "joined-midstream",
            stream: Some(StreamId(0)),
            frame: None,
            count: 2,
            message: "joined".into(),
        },
    ];
    capture.other_streams = vec![
        OtherStream { stream: StreamId(2), protocol: Protocol::Tls },
        OtherStream { stream: StreamId(3), protocol: Protocol::Http2 },
        OtherStream { stream: StreamId(4), protocol: Protocol::Other },
    ];
    capture.parts = vec![path.into(), "part 2".into()];

    let mut made = vec![
        Made::Capture(path),
        Made::Exchange(upload_head.clone()),
        Made::Chunk(sent),
        Made::Exchange(joined_head.clone()),
        Made::Event(joined, event(1, "ADDED", 2)),
    ];
    made.extend(verdicts);
    made.extend([
        Made::Exchange(plain_head.clone()),
        Made::Event(upload, message),
        violation(upload, Side::Request, ViolationCode::BadFraming, None, Some(30)),
        violation(joined, Side::Response, ViolationCode::SeveralEvents, Some(2), None),
        violation(joined, Side::Response, ViolationCode::TruncatedBody, Some(8), Some(33)),
        Made::ExchangeEnd(end(
            plain_head,
            Some(Body { framing: Some(Framing::ContentLength(5)), size: 5, ..no_body() }),
            ExchangeVerdict::Unchecked,
            Tally::default(),
        )),
        Made::Event(joined, event(2, "MODIFIED", 2)),
    ]);
    let mut upload_end = end(upload_head, None, ExchangeVerdict::Unverified, Tally::default());
    Arc::make_mut(&mut upload_end.head).response = None;
    upload_end.request_body = Some(chunked(16, 1, BodyEnd::Broken));
    let tally = Tally { one: 1, several: 1, part: 1, mixed: 1, invalid: 1, unverified: 1, unchecked: 2 };
    made.extend([
        Made::ExchangeEnd(upload_end),
        Made::ExchangeEnd(end(joined_head, Some(joined_body), ExchangeVerdict::Fail, tally)),
        Made::CaptureEnd(capture),
    ]);
    made
}

/// A capture that can't be read.
pub(crate) fn unreadable() -> Vec<Made> {
    let mut capture = capture_end("notes.txt");
    capture.format = None;
    capture.link_types.clear();
    capture.packets = 0;
    (capture.first_time, capture.last_time) = (None, None);
    capture.problems = vec![Problem {
        code: "not-a-capture",
        stream: None,
        frame: None,
        count: 1,
        message: "it begins with \"Dear\"".into(),
    }];
    vec![Made::Capture("notes.txt"), Made::CaptureEnd(capture)]
}

/// A raw response with one chunk.
pub(crate) fn raw() -> Vec<Made> {
    let id = raw_place(0);
    let head = ExchangeHead { request: None, ..watch_head(id) };
    let mut capture = capture_end("-");
    capture.format = Some(Format::Http);
    capture.link_types.clear();
    capture.packets = 0;
    (capture.first_time, capture.last_time) = (None, None);
    let mut body = chunked(5, 1, BodyEnd::Complete);
    body.last_chunk = Some(Box::new(last_chunk()));
    let tally = Tally { unchecked: 1, ..Tally::default() };
    vec![
        Made::Capture("-"),
        Made::Exchange(head.clone()),
        Made::Chunk(chunk(id, 1, 0, b"hello")),
        Made::ExchangeEnd(end(head, Some(body), ExchangeVerdict::Unchecked, tally)),
        Made::CaptureEnd(capture),
    ]
}
