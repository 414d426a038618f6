//! Findings by hand, for the tests of the reports.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::chunk::{Chunk, Closing, LastChunk, Run};
use crate::event::{Kind, Summary};
use crate::http::{BodyEnd, Fields, Framing, RequestHead, ResponseHead, Side};
use crate::report::{
    Body, CaptureEnd, Conclusion, Event, ExchangeEnd, ExchangeHead, ExchangeId, ExchangeVerdict, Expect,
    Finding, Format, JudgedChunk, LeftOut, Outcome, Report, Tally, Totals, Violation, ViolationCode,
};
use crate::units::{FrameNo, Stamp, StreamId, Timestamp};
use crate::verdict::{Fault, Overlap, Verdict};

/// 2026-11-29T22:13:20Z and so many microseconds.
pub(super) fn stamp(frame: u64, micros: u64) -> Stamp {
    Stamp { frame: FrameNo::new(frame), at: Some(Timestamp::new(1_796_000_000, micros, 6)) }
}

/// A watch event of a ConfigMap, `size` octets with its LF.
pub(super) fn config_map(kind: &str, name: &str, version: u64, size: usize) -> Vec<u8> {
    let start = format!(
        r#"{{"type":"{kind}","object":{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"kube-system","resourceVersion":"{version}"}},"data":{{"Corefile":""#
    );
    let fill = "x".repeat(size.saturating_sub(start.len() + 5));
    format!("{start}{fill}\"}}}}}}\n").into_bytes()
}

/// One exchange that makes findings.
pub(super) struct Talk {
    pub(super) head: ExchangeHead,
    pub(super) chunks: Vec<JudgedChunk>,
    pub(super) events: u64,
    pub(super) violations: Vec<Violation>,
    pub(super) end: BodyEnd,
    pub(super) end_stamp: Option<Stamp>,
    pub(super) last_chunk: Option<LastChunk>,
    pub(super) joined: Option<u64>,
    pub(super) size: u64,
    at: u64,
    frame: u64,
    micros: u64,
}

impl Talk {
    /// `GET target` answered with 200 and chunks.
    pub(super) fn get(stream: u64, target: &str, expect: Option<Kind>) -> Self {
        let fields = Fields::from([
            ("Content-Type".into(), "application/json".into()),
            ("Transfer-Encoding".into(), "chunked".into()),
        ]);
        let request = RequestHead {
            method: Some("GET".into()),
            target: Some(target.into()),
            version: Some("HTTP/1.1".into()),
            fields: Some([("Host".into(), "127.0.0.1:8001".into())].into()),
            stamp: Some(stamp(4, 0)),
            ..RequestHead::default()
        };
        let response = ResponseHead {
            status: Some(200),
            reason: Some("OK".into()),
            version: Some("HTTP/1.1".into()),
            fields: Some(fields),
            stamp: Some(stamp(6, 6_121)),
            ..ResponseHead::default()
        };
        let head = ExchangeHead {
            id: ExchangeId { stream: Some(StreamId(stream)), index: 0 },
            client: Some("127.0.0.1:54946".parse().unwrap()),
            server: Some("127.0.0.1:8001".parse().unwrap()),
            request: Some(request),
            response: Some(response),
            framing: Some(Framing::Chunked),
            expect: expect.map(Expect::Kind),
        };
        Self {
            head,
            chunks: Vec::new(),
            events: 0,
            violations: Vec::new(),
            end: BodyEnd::Aborted,
            end_stamp: Some(stamp(10, 3_996_000)),
            last_chunk: None,
            joined: None,
            size: 0,
            at: 200,
            frame: 6,
            micros: 7_000,
        }
    }

    /// The watch of one ConfigMap.
    pub(super) fn watch(stream: u64) -> Self {
        let target = "/api/v1/watch/namespaces/kube-system/configmaps/coredns";
        Self::get(stream, target, Some(Kind::Watch))
    }

    /// The next chunk, in one frame of its own, some time later.
    pub(super) fn chunk(&mut self, payload: &[u8], verdict: Verdict, events: Vec<Arc<Event>>) -> &mut Self {
        let size = payload.len() as u64;
        let size_line = format!("{size:x}\r\n").into_bytes();
        let wire = size_line.len() as u64 + size + 2;
        let runs = [Run { len: wire, frame: Some(FrameNo::new(self.frame)) }];
        let chunk = Chunk {
            message: None,
            index: self.chunks.len() as u64 + 1,
            size_line: SmallVec::from_slice(&size_line),
            size,
            offset: self.size,
            received: size,
            closing: Closing::CrLf,
            unfinished: false,
            at: self.at,
            trail: SmallVec::from_slice(&runs),
            first: stamp(self.frame, self.micros),
            last: stamp(self.frame, self.micros),
            payload: payload.to_vec(),
        };
        self.size += size;
        self.at += wire;
        self.frame += 2;
        self.micros += 1_987_000;
        let exchange = self.head.id;
        self.chunks.push(JudgedChunk {
            decoded: None,
            exchange,
            side: Side::Response,
            chunk: Box::new(chunk),
            utf8: Some(true),
            verdict,
            events: events.into(),
            overlap: Overlap::default(),
            unresolved_event: None,
        });
        self
    }

    /// A chunk that holds exactly one event.
    pub(super) fn one(&mut self, kind: &str, name: &str, version: u64, size: usize) -> &mut Self {
        let payload = config_map(kind, name, version, size);
        let index = self.chunks.len() as u64 + 1;
        let event = self.event(kind, name, version, index, index);
        self.chunk(&payload, Verdict::One, vec![event])
    }

    /// A whole event, in these chunks.
    pub(super) fn event(
        &mut self,
        kind: &str,
        name: &str,
        version: u64,
        first: u64,
        last: u64,
    ) -> Arc<Event> {
        self.events += 1;
        let text = |text: &str| Some(text.into());
        let summary = Summary {
            event_type: text(kind),
            api_version: text("v1"),
            kind: text("ConfigMap"),
            namespace: text("kube-system"),
            name: text(name),
            resource_version: Some(version.to_string().into()),
            ..Summary::default()
        };
        Arc::new(Event {
            index: self.events,
            offset: self.size,
            size: 100,
            first_chunk: first,
            last_chunk: last,
            summary: summary.into(),
        })
    }

    /// The last chunk again, over these frames instead.
    pub(super) fn frames(&mut self, runs: &[(u64, u64)]) -> &mut Self {
        let chunk = &mut self.chunks.last_mut().unwrap().chunk;
        chunk.trail =
            runs.iter().map(|&(frame, len)| Run { len, frame: Some(FrameNo::new(frame)) }).collect();
        chunk.last.frame = FrameNo::new(runs.last().unwrap().0);
        self.frame = runs.last().unwrap().0 + 2;
        self
    }

    /// The last chunk fails.
    pub(super) fn violation(&mut self, code: ViolationCode, message: &str) -> &mut Self {
        let chunk = self.chunks.last();
        self.violations.push(Violation {
            exchange: self.head.id,
            side: Side::Response,
            code,
            chunk: chunk.map(|judged| judged.chunk.index),
            frame: chunk.map(|judged| judged.chunk.last.frame),
            message: message.to_owned(),
        });
        self
    }

    pub(super) fn complete(&mut self) -> &mut Self {
        self.end = BodyEnd::Complete;
        self.last_chunk = Some(LastChunk {
            size_line: SmallVec::from_slice(b"0\r\n"),
            at: self.at,
            trail: SmallVec::from_slice(&[Run { len: 5, frame: Some(FrameNo::new(self.frame)) }]),
            last: stamp(self.frame, self.micros),
            trailers: Fields::default(),
        });
        self
    }

    pub(super) fn end(&self) -> ExchangeEnd {
        let mut tally = Tally::default();
        for judged in &self.chunks {
            *tally.of(&judged.verdict) += 1;
        }
        let verdict = if !self.violations.is_empty() {
            ExchangeVerdict::Fail
        } else if tally.unverified > 0 {
            ExchangeVerdict::Unverified
        } else if tally.checked() > 0 {
            ExchangeVerdict::Pass
        } else {
            ExchangeVerdict::Unchecked
        };
        let body = |framing, size, end, chunks| Body {
            framing,
            size,
            end,
            end_stamp: None,
            reset: false,
            joined: None,
            chunks,
            last_chunk: None,
        };
        let response = Body {
            end_stamp: self.end_stamp,
            joined: self.joined,
            last_chunk: self.last_chunk.clone().map(Box::new),
            ..body(self.head.framing, self.size, self.end, self.chunks.len() as u64)
        };
        ExchangeEnd {
            head: self.head.clone().into(),
            request_body: Some(body(Some(Framing::None), 0, BodyEnd::Complete, 0)),
            response_body: self.head.response.is_some().then_some(response),
            verdict,
            tally,
            events: self.events,
            violations: self.violations.len() as u64,
            lints: 0,
            denied: 0,
            hints: Vec::new(),
            timing: None,
        }
    }

    /// All its findings. A violation comes behind its chunk.
    pub(super) fn tell(&self, report: &mut dyn Report) {
        report.finding(&Finding::Exchange(&self.head)).unwrap();
        let mut violations = self.violations.iter().peekable();
        for judged in &self.chunks {
            report.finding(&Finding::Chunk(judged)).unwrap();
            while let Some(violation) = violations.next_if(|next| next.chunk == Some(judged.chunk.index)) {
                report.finding(&Finding::Violation(violation)).unwrap();
            }
        }
        violations.for_each(|violation| report.finding(&Finding::Violation(violation)).unwrap());
        report.finding(&Finding::ExchangeEnd(&self.end())).unwrap();
    }
}

/// The end of a capture of so many streams.
pub(super) fn capture(path: &str, streams: u64) -> CaptureEnd {
    CaptureEnd {
        path: path.to_owned(),
        parts: Vec::new(),
        format: Some(Format::Pcap),
        unread: None,
        link_types: vec!["LINUX_SLL2".to_owned()],
        packets: 12,
        streams,
        left_out: LeftOut::default(),
        first_time: stamp(1, 0).at,
        last_time: stamp(12, 3_996_120).at,
        problems: Vec::new(),
        other_streams: Vec::new(),
        other_counts: [
            (crate::http::Protocol::Tls, 0),
            (crate::http::Protocol::Http2, 0),
            (crate::http::Protocol::Other, 0),
        ],
    }
}

/// What follows from some exchanges of one capture.
pub(super) fn conclusion(talks: &[&Talk]) -> Conclusion {
    let mut totals = Totals { captures: 1, packets: 12, streams: talks.len() as u64, ..Totals::default() };
    for talk in talks {
        let end = talk.end();
        totals.exchanges += 1;
        totals.checked += u64::from(end.tally.checked() > 0);
        totals.chunks += end.tally.chunks();
        totals.events += end.events;
        totals.violations += end.violations;
        totals.unverified += end.tally.unverified;
        totals.unverified_exchanges += u64::from(end.verdict == ExchangeVerdict::Unverified);
    }
    let outcome = match (totals.violations + totals.unverified, totals.checked) {
        (1.., _) => Outcome::Fail,
        (0, 0) => Outcome::Empty,
        (0, _) => Outcome::Pass,
    };
    Conclusion { totals, outcome }
}

/// What a report makes of one capture with these exchanges.
pub(super) fn told<R: Report>(mut report: R, path: &str, talks: &[&Talk]) {
    report.finding(&Finding::Capture(path)).unwrap();
    talks.iter().for_each(|talk| talk.tell(&mut report));
    report.finding(&Finding::CaptureEnd(&capture(path, talks.len() as u64))).unwrap();
    report.finish(&conclusion(talks)).unwrap();
}

/// The watch of a ConfigMap with one edit, left by its client.
pub(super) fn coredns() -> Talk {
    let mut talk = Talk::watch(0);
    talk.one("ADDED", "coredns", 70, 794).one("MODIFIED", "coredns", 73, 797);
    talk
}

/// A watch through something that cuts at 4096 octets.
pub(super) fn rechunked() -> Talk {
    let mut talk = Talk::get(0, "/api/v1/pods?watch=true&resourceVersion=0", Some(Kind::Watch));
    talk.one("ADDED", "web-0", 100, 794).one("ADDED", "web-1", 101, 794);
    let payload = config_map("ADDED", "web-2", 102, 4096);
    let event = talk.event("ADDED", "web-2", 102, 3, 4);
    talk.chunk(&payload[..4000], Verdict::Part, vec![event.clone()]);
    talk.violation(ViolationCode::PartialEvent, "holds the beginning of event 3");
    let mut events = vec![event];
    events.extend((0..8).map(|n| talk.event("MODIFIED", &format!("web-{n}"), 103 + n, 4, 4)));
    events.push(talk.event("MODIFIED", "web-9", 111, 4, 5));
    talk.chunk(&payload, Verdict::Mixed, events.clone()).frames(&[(18, 2000), (19, 2000), (20, 104)]);
    talk.violation(
        ViolationCode::MixedEvents,
        "holds the end of event 3, events 4 to 11 and the beginning of event 12",
    );
    for n in 0..9 {
        let event = talk.event("MODIFIED", "web-9", 120 + n, 5 + n, 6 + n);
        talk.chunk(&payload, Verdict::Mixed, vec![events.last().unwrap().clone(), event]);
        talk.violation(
            ViolationCode::MixedEvents,
            &format!("holds parts of events {} and {}", 12 + n, 13 + n),
        );
    }
    let fault = Fault { at: 40_000, message: "no".to_owned() };
    talk.chunk(b"{\"kind\":\"Pod\"}\n", Verdict::Invalid(fault), Vec::new());
    talk.violation(
        ViolationCode::NotAnEvent,
        "holds a JSON object without the member type, at octet 0 of the chunk",
    );
    talk.complete();
    talk
}

/// A stream of server-sent events.
pub(super) fn sse() -> Talk {
    let mut talk = Talk::get(2, "/events", Some(Kind::Sse));
    talk.head.response.as_mut().unwrap().fields = Some(
        [("Content-Type".into(), "text/event-stream".into()), ("Transfer-Encoding".into(), "chunked".into())]
            .into(),
    );
    for number in 1..=2u64 {
        let mut event = Arc::unwrap_or_clone(talk.event("tick", "", 0, number, number));
        event.summary = Summary {
            event_type: Some("tick".into()),
            id: Some(number.to_string().into()),
            data: Some(number.to_string().into()),
            ..Summary::default()
        }
        .into();
        let payload = format!("id: {number}\nevent: tick\ndata: {number}\n\n");
        talk.chunk(payload.as_bytes(), Verdict::One, vec![Arc::new(event)]);
    }
    talk.chunk(b": keep-alive\n\n", Verdict::Unchecked(Some("a comment".to_owned())), vec![]);
    talk.complete();
    talk
}
