//! The JSON report, `chunkscope.report/1`: one document.
//!
//! Its schema is `docs/report.schema.json`; `docs/json-format.md` explains the
//! members. What the document says first (the verdict, the counts, a capture's
//! problems) is known last, and exchanges interleave; so each exchange's text
//! goes to a [`Spool`] in parts, and the document is put together in order
//! from there, in bounded memory. A chunk, an event, a problem or a violation
//! is a line of its own.

use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};

use foldhash::fast::RandomState;
use tempfile::SpooledTempFile;

use crate::http::Side;
use crate::report::payload::Payload;
use crate::report::spool::{Slot, Spool};
use crate::report::{
    Body, CaptureEnd, Conclusion, ExchangeEnd, ExchangeHead, ExchangeId, Expect, Finding, Report,
};

pub(crate) mod members;
pub(crate) mod text;

use text::{JsonText, Spaced, key};

/// Octets of captures that are done kept in memory while others are read.
const DONE_IN_MEMORY: usize = 1 << 20;

/// The parts of an exchange's text, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Part {
    /// The comma behind the exchange before it.
    Comma,
    /// Up to the request's chunks.
    Request,
    RequestChunks,
    /// Behind them, and up to the response's chunks.
    Response,
    ResponseChunks,
    /// Behind them, and up to the events.
    Expect,
    Events,
    /// Behind them, and up to the violations.
    Verdict,
    Violations,
    /// Behind them, and up to the lints.
    Hints,
    Lints,
    /// The end.
    Close,
}

impl Part {
    const fn of(self, exchange: ExchangeId) -> Slot {
        Slot { exchange, part: self as u8 }
    }
}

/// Which of an exchange's lists have members, so that commas stand between.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    expect: Option<Expect>,
    request_chunks: bool,
    response_chunks: bool,
    events: bool,
    violations: bool,
    lints: bool,
}

/// Writes the JSON document.
#[derive(Debug)]
pub struct JsonReport<W> {
    out: W,
    payload: Payload,
    text: JsonText<Spaced>,
    /// The exchanges of the capture that is read.
    spool: Spool,
    open: HashMap<ExchangeId, Open, RandomState>,
    /// The first exchange of the capture by place, so far: the one without a
    /// comma before it.
    least: Option<ExchangeId>,
    /// The captures that are done, except the last.
    done: SpooledTempFile,
    /// The last capture that is done; its exchanges are in the spool.
    last: Option<Ready>,
}

/// What goes around a capture's exchanges.
#[derive(Debug)]
struct Ready {
    before: Vec<u8>,
    after: &'static [u8],
}

impl<W: Write> JsonReport<W> {
    /// A report that is written to `out` when it is finished, with as much of
    /// the payloads as `payload` says.
    pub fn new(out: W, payload: Payload) -> Self {
        Self {
            out,
            payload,
            text: JsonText::new(),
            spool: Spool::new(),
            open: HashMap::default(),
            least: None,
            done: SpooledTempFile::new(DONE_IN_MEMORY),
            last: None,
        }
    }

    /// An exchange's lists; at its first finding, the comma before it too.
    fn opened(&mut self, id: ExchangeId) -> io::Result<&mut Open> {
        if !self.open.contains_key(&id) {
            // All but the first by place have a comma before them. Which one
            // that is, is known only for now: it may lose its place.
            let follows = match self.least.replace(id) {
                None => None,
                Some(least) if least < id => {
                    self.least = Some(least);
                    Some(id)
                }
                Some(least) => Some(least),
            };
            if let Some(follows) = follows {
                self.spool.append(Part::Comma.of(follows), b",")?;
            }
        }
        Ok(self.open.entry(id).or_default())
    }

    /// Begins an element of a list within an exchange.
    fn element(&mut self, indent: usize, follows: bool) {
        if follows {
            self.text.raw(",");
        }
        self.text.line(indent);
        self.text.open();
    }

    /// Puts what was written behind a part.
    fn put(&mut self, part: Slot) -> io::Result<()> {
        self.text.pass_on(&mut |octets| self.spool.append(part, octets))
    }

    fn exchange_end(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        let id = end.head.id;
        let lists = *self.opened(id)?;
        self.open.remove(&id);
        self.request(end, lists.request_chunks);
        self.put(Part::Request.of(id))?;
        self.response(end, lists);
        self.put(Part::Response.of(id))?;
        if side_is_there(end.head.response.is_some(), end.response_body.as_ref(), lists.response_chunks) {
            self.close_body(id, end.response_body.as_ref(), lists.response_chunks);
        }
        let text = &mut self.text;
        text.next_line(10);
        text.maybe_name(key!("expect"), end.head.expect.map(Expect::name));
        text.next_line(10);
        text.open_list(key!("events"));
        self.put(Part::Expect.of(id))?;
        self.close_list(10, lists.events);
        let text = &mut self.text;
        text.next_line(10);
        text.name(key!("verdict"), end.verdict.name());
        text.next_line(10);
        text.open_list(key!("violations"));
        self.put(Part::Verdict.of(id))?;
        self.close_list(10, lists.violations);
        self.text.next_line(10);
        self.text.open_list(key!("hints"));
        for (place, hint) in end.hints.iter().enumerate() {
            self.element(12, place > 0);
            members::hint(&mut self.text, hint);
            self.text.close();
        }
        self.close_list(10, !end.hints.is_empty());
        self.text.next_line(10);
        members::timing(&mut self.text, end.timing.as_ref());
        self.text.next_line(10);
        self.text.open_list(key!("lints"));
        self.put(Part::Hints.of(id))?;
        self.close_list(10, lists.lints);
        self.text.line(8);
        self.text.close();
        self.put(Part::Close.of(id))
    }

    /// From the exchange's beginning to the request's chunks.
    fn request(&mut self, end: &ExchangeEnd, chunks: bool) {
        let text = &mut self.text;
        text.line(8);
        text.open();
        text.line(10);
        text.maybe_number(key!("stream"), end.head.id.stream.map(|stream| stream.0));
        members::endpoints(text, &end.head);
        text.next_line(10);
        if !side_is_there(end.head.request.is_some(), end.request_body.as_ref(), chunks) {
            return text.null(key!("request"));
        }
        text.key(key!("request"));
        let unseen = Default::default();
        let request = end.head.request.as_ref().unwrap_or(&unseen);
        text.open();
        text.line(12);
        members::request_line(text, request);
        text.next_line(12);
        text.fields(key!("headers"), request.fields.as_ref());
        text.next_line(12);
        members::head_stamp(text, end.head.id, request.stamp);
        self.open_body(end.request_body.as_ref(), chunks);
    }

    /// From behind the request's chunks to the response's.
    fn response(&mut self, end: &ExchangeEnd, lists: Open) {
        if side_is_there(end.head.request.is_some(), end.request_body.as_ref(), lists.request_chunks) {
            self.close_body(end.head.id, end.request_body.as_ref(), lists.request_chunks);
        }
        let text = &mut self.text;
        text.next_line(10);
        if !side_is_there(end.head.response.is_some(), end.response_body.as_ref(), lists.response_chunks) {
            return text.null(key!("response"));
        }
        text.key(key!("response"));
        let unseen = Default::default();
        let response = end.head.response.as_ref().unwrap_or(&unseen);
        text.open();
        text.line(12);
        members::status_line(text, response);
        text.next_line(12);
        text.fields(key!("headers"), response.fields.as_ref());
        text.next_line(12);
        members::head_stamp(text, end.head.id, response.stamp);
        self.open_body(end.response_body.as_ref(), lists.response_chunks);
    }

    /// A body up to its chunks; on one line if it has none.
    fn open_body(&mut self, body: Option<&Body>, chunks: bool) {
        let text = &mut self.text;
        text.next_line(12);
        text.key(key!("body"));
        text.open();
        if chunks {
            text.line(14);
        }
        members::body(text, body);
        if chunks {
            text.next_line(14);
        }
        text.open_list(key!("chunks"));
    }

    /// A body from behind its chunks on, and the end of its message.
    fn close_body(&mut self, id: ExchangeId, body: Option<&Body>, chunks: bool) {
        self.close_list(14, chunks);
        let text = &mut self.text;
        if chunks {
            text.next_line(14);
        }
        members::last_chunk(text, id, body);
        if chunks {
            text.next_line(14);
        }
        members::trailers(text, body);
        if chunks {
            text.line(12);
        }
        text.close();
        text.line(10);
        text.close();
    }

    fn close_list(&mut self, indent: usize, members: bool) {
        if members {
            self.text.line(indent);
        }
        self.text.close_list();
    }

    fn capture_end(&mut self, capture: &CaptureEnd) -> io::Result<()> {
        let exchanges = self.least.take().is_some();
        self.open.clear();
        let text = &mut self.text;
        text.line(4);
        text.open();
        text.line(6);
        text.text(key!("path"), &capture.path);
        if !capture.parts.is_empty() {
            text.next_line(6);
            text.texts(key!("parts"), &capture.parts);
        }
        text.next_line(6);
        text.maybe_name(key!("format"), capture.format.map(|format| format.name()));
        text.next_line(6);
        text.texts(key!("link_types"), &capture.link_types);
        text.next_line(6);
        text.number(key!("packets"), capture.packets);
        text.next_line(6);
        text.time(key!("first_time"), capture.first_time);
        text.next_line(6);
        text.time(key!("last_time"), capture.last_time);
        text.next_line(6);
        text.open_list(key!("problems"));
        for (place, problem) in capture.problems.iter().enumerate() {
            self.element(8, place > 0);
            members::problem(&mut self.text, problem);
            self.text.close();
        }
        self.close_list(6, !capture.problems.is_empty());
        let text = &mut self.text;
        text.next_line(6);
        members::other_streams(text, &capture.other_streams);
        text.next_line(6);
        text.open_list(key!("exchanges"));
        let mut before = Vec::new();
        text.pass_on(&mut |octets| {
            before.extend_from_slice(octets);
            Ok(())
        })?;
        let after: &[u8] = if exchanges { b"\n      ]\n    }" } else { b"]\n    }" };
        self.last = Some(Ready { before, after });
        Ok(())
    }

    /// Puts the capture that is done, if there is one, behind those before it.
    fn set_aside(&mut self) -> io::Result<()> {
        let Some(last) = self.last.take() else {
            return Ok(());
        };
        last.write(&mut self.spool, &mut self.done)?;
        self.done.write_all(b",")
    }
}

impl Ready {
    fn write(&self, spool: &mut Spool, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.before)?;
        spool.drain_in_order(out)?;
        out.write_all(self.after)
    }
}

/// Whether a request or a response was seen, or anything of it.
const fn side_is_there(head: bool, body: Option<&Body>, chunks: bool) -> bool {
    head || body.is_some() || chunks
}

impl<W: Write> Report for JsonReport<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        match finding {
            Finding::Capture(_) => self.set_aside(),
            Finding::Exchange(ExchangeHead { id, expect, .. }) => {
                self.opened(*id)?.expect = *expect;
                Ok(())
            }
            Finding::Event(id, event) => {
                let open = self.opened(*id)?;
                let expect = open.expect;
                let follows = std::mem::replace(&mut open.events, true);
                self.element(12, follows);
                members::event(&mut self.text, event, expect);
                self.text.close();
                self.put(Part::Events.of(*id))
            }
            Finding::Chunk(chunk) => {
                let id = chunk.exchange;
                let open = self.opened(id)?;
                let (list, part) = match chunk.side {
                    Side::Request => (&mut open.request_chunks, Part::RequestChunks),
                    Side::Response => (&mut open.response_chunks, Part::ResponseChunks),
                };
                let follows = std::mem::replace(list, true);
                let part = part.of(id);
                self.element(16, follows);
                let spool = &mut self.spool;
                members::chunk(&mut self.text, chunk, self.payload, &mut |octets| {
                    spool.append(part, octets)
                })?;
                self.text.close();
                self.put(part)
            }
            Finding::Violation(violation) => {
                let id = violation.exchange;
                let open = self.opened(id)?;
                let follows = std::mem::replace(&mut open.violations, true);
                self.element(12, follows);
                members::violation(&mut self.text, violation);
                self.text.close();
                self.put(Part::Violations.of(id))
            }
            Finding::Lint(lint) => {
                let id = lint.exchange;
                let open = self.opened(id)?;
                let follows = std::mem::replace(&mut open.lints, true);
                self.element(12, follows);
                members::lint(&mut self.text, lint);
                self.text.close();
                self.put(Part::Lints.of(id))
            }
            Finding::ExchangeEnd(end) => self.exchange_end(end),
            Finding::CaptureEnd(capture) => {
                self.set_aside()?;
                self.capture_end(capture)
            }
        }
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        let text = &mut self.text;
        text.open();
        text.line(2);
        text.name(key!("schema"), members::SCHEMA);
        text.next_line(2);
        text.name(key!("version"), env!("CARGO_PKG_VERSION"));
        text.next_line(2);
        text.name(key!("verdict"), conclusion.outcome.name());
        text.next_line(2);
        text.key(key!("summary"));
        text.open();
        members::summary(text, conclusion);
        text.close();
        text.next_line(2);
        text.open_list(key!("captures"));
        let out = &mut self.out;
        text.pass_on(&mut |octets| out.write_all(octets))?;
        self.done.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.done, out)?;
        if let Some(last) = self.last.take() {
            last.write(&mut self.spool, out)?;
            out.write_all(b"\n  ")?;
        }
        out.write_all(b"]\n}\n")?;
        out.flush()
    }
}

#[cfg(test)]
#[path = "../../tests/support/schema.rs"]
pub(crate) mod schema;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::schema::assert_report;
    use super::*;
    use crate::report::samples::{self, Made};

    fn written(payload: Payload, findings: &[Made]) -> String {
        let mut out = Vec::new();
        samples::tell(&mut JsonReport::new(&mut out, payload), findings);
        String::from_utf8(out).unwrap()
    }

    /// The document, held against the schema.
    fn document(payload: Payload, findings: &[Made]) -> Value {
        let document = serde_json::from_str(&written(payload, findings)).unwrap();
        assert_report(&document);
        document
    }

    /// The first response chunk with this payload, as written.
    fn one_chunk(payload: Payload, change: impl FnOnce(&mut crate::report::JudgedChunk)) -> Value {
        let mut findings = samples::raw();
        for finding in &mut findings {
            if let Made::Chunk(chunk) = finding {
                change(chunk);
                break;
            }
        }
        document(payload, &findings)["captures"][0]["exchanges"][0]["response"]["body"]["chunks"][0].clone()
    }

    #[test]
    fn the_document_of_a_watch_reads_so() {
        insta::assert_snapshot!(written(Payload::Full, &samples::one_watch("k8s-watch.pcap")));
    }

    #[test]
    fn the_document_of_everything_reads_so() {
        let written = written(Payload::Preview, &samples::everything());
        assert_report(&serde_json::from_str(&written).unwrap());
        insta::assert_snapshot!(written);
    }

    #[test]
    fn exchanges_are_in_order_whatever_order_they_begin_and_end_in() {
        let document = document(Payload::None, &samples::everything());
        let exchanges = document["captures"][0]["exchanges"].as_array().unwrap();
        let places: Vec<_> =
            exchanges.iter().map(|exchange| (&exchange["stream"], &exchange["index"])).collect();
        assert_eq!(json!(places), json!([[0, 0], [0, 1], [1, 0]]));
        assert_eq!(exchanges[1]["response"]["body"]["chunks"].as_array().unwrap().len(), 8);
        assert_eq!(exchanges[2]["request"]["body"]["chunks"].as_array().unwrap().len(), 1);
        assert_eq!(exchanges[2]["response"], Value::Null);
        assert_eq!(exchanges[2]["violations"][0]["side"], "request");
        assert_eq!(exchanges[1]["request"], Value::Null);
        assert_eq!(exchanges[1]["response"]["body"]["joined"], true);
        assert_eq!(exchanges[1]["response"]["body"]["skipped"], 1234);
    }

    #[test]
    fn a_capture_that_cannot_be_read_is_an_entry_among_the_others() {
        let mut findings = samples::one_watch("first.pcap");
        findings.extend(samples::unreadable());
        findings.extend(samples::everything());
        findings.extend(samples::raw());
        let document = document(Payload::Full, &findings);
        let captures = document["captures"].as_array().unwrap();
        let formats: Vec<_> = captures.iter().map(|capture| &capture["format"]).collect();
        assert_eq!(json!(formats), json!(["pcap", null, "pcap", "http"]));
        let exchanges: Vec<_> =
            captures.iter().map(|capture| capture["exchanges"].as_array().unwrap().len()).collect();
        assert_eq!(exchanges, [1, 0, 3, 1]);
        assert_eq!(captures[1]["path"], "notes.txt");
        assert_eq!(captures[1]["problems"].as_array().unwrap().len(), 1);
        assert_eq!(document["summary"]["captures"], 4);
    }

    #[test]
    fn a_run_without_captures_is_a_document_too() {
        assert_eq!(document(Payload::Full, &[])["captures"], json!([]));
    }

    #[test]
    fn raw_http_has_no_frames_and_no_times() {
        let document = document(Payload::Full, &samples::raw());
        let exchange = &document["captures"][0]["exchanges"][0];
        assert_eq!(exchange["stream"], Value::Null);
        assert_eq!(exchange["client"], Value::Null);
        assert_eq!(exchange["server"], Value::Null);
        assert_eq!(exchange["response"]["frame"], Value::Null);
        assert_eq!(exchange["response"]["time"], Value::Null);
        let body = &exchange["response"]["body"];
        assert_eq!(body["chunks"][0]["frames"], json!([]));
        assert_eq!(body["chunks"][0]["first_time"], Value::Null);
        assert_eq!(body["chunks"][0]["time"], Value::Null);
        assert_eq!(body["last_chunk"]["frames"], json!([]));
        assert_eq!(body["last_chunk"]["time"], Value::Null);
    }

    #[test]
    fn frames_are_ascending_without_duplicates_though_segments_came_in_disorder() {
        let mut findings = samples::one_watch("x");
        for finding in &mut findings {
            if let Made::Chunk(chunk) = finding {
                let run = |frame: Option<u64>| crate::chunk::Run {
                    len: 1,
                    frame: frame.map(crate::units::FrameNo::new),
                };
                chunk.chunk.trail = [Some(9), Some(7), None, Some(9), Some(8)].map(run).into_iter().collect();
            }
        }
        let document = document(Payload::None, &findings);
        let chunk = &document["captures"][0]["exchanges"][0]["response"]["body"]["chunks"][0];
        assert_eq!(chunk["frames"], json!([7, 8, 9]));
    }

    #[test]
    fn payloads_are_text_exactly_where_all_of_them_is_utf_8() {
        let chunk = one_chunk(Payload::Full, |chunk| {
            chunk.chunk.payload = "héllo \u{0}".into();
            chunk.chunk.received = 8;
        });
        assert_eq!((&chunk["payload"], &chunk["encoding"]), (&json!("héllo \u{0}"), &json!("utf-8")));
        assert_eq!(chunk.get("payload_cut"), None);
        let chunk = one_chunk(Payload::Full, |chunk| {
            chunk.chunk.payload = b"ab\xff".to_vec();
            chunk.chunk.received = 3;
            chunk.utf8 = Some(false);
        });
        assert_eq!((&chunk["payload"], &chunk["encoding"]), (&json!("YWL/"), &json!("base64")));
        // What was kept is UTF-8, but not what was not.
        let chunk = one_chunk(Payload::Full, |chunk| {
            chunk.chunk.received = 9;
            chunk.utf8 = Some(false);
        });
        assert_eq!((&chunk["payload"], &chunk["encoding"]), (&json!("aGVsbG8="), &json!("base64")));
        assert_eq!(chunk["payload_cut"], true);
    }

    #[test]
    fn a_payload_that_was_cut_within_a_character_ends_before_it() {
        for utf8 in [Some(true), None] {
            let chunk = one_chunk(Payload::Full, |chunk| {
                chunk.chunk.payload = b"caf\xc3".to_vec();
                chunk.chunk.received = 5;
                chunk.utf8 = utf8;
            });
            assert_eq!((&chunk["payload"], &chunk["encoding"]), (&json!("caf"), &json!("utf-8")));
            assert_eq!(chunk["payload_cut"], true);
        }
        // The same octets are no text where nothing follows.
        let chunk = one_chunk(Payload::Full, |chunk| {
            chunk.chunk.payload = b"caf\xc3".to_vec();
            chunk.chunk.received = 4;
            chunk.utf8 = None;
        });
        assert_eq!(chunk["encoding"], "base64");
    }

    #[test]
    fn a_preview_is_120_characters_of_text_or_of_base64() {
        let long = "é\u{1F41F}".repeat(100);
        let chunk = one_chunk(Payload::Preview, |chunk| {
            chunk.chunk.received = long.len() as u64;
            chunk.chunk.payload = long.clone().into();
        });
        assert_eq!(chunk["payload"], "é\u{1F41F}".repeat(60));
        assert_eq!(chunk["payload_cut"], true);
        let chunk = one_chunk(Payload::Preview, |chunk| {
            chunk.chunk.received = 120;
            chunk.chunk.payload = vec![b'x'; 120];
        });
        assert_eq!(chunk["payload"], "x".repeat(120));
        assert_eq!(chunk.get("payload_cut"), None);
        for (length, cut) in [(90, None), (91, Some(&json!(true)))] {
            let chunk = one_chunk(Payload::Preview, |chunk| {
                chunk.chunk.received = length;
                chunk.chunk.payload = vec![0xff; 91][..length as usize].to_vec();
                chunk.utf8 = Some(false);
            });
            assert_eq!(chunk["payload"], "/".repeat(120));
            assert_eq!(chunk.get("payload_cut"), cut);
        }
    }

    #[test]
    fn no_payload_has_no_encoding() {
        let chunk = one_chunk(Payload::None, |_| {});
        assert_eq!((&chunk["payload"], &chunk["encoding"]), (&Value::Null, &Value::Null));
        assert_eq!(chunk.get("payload_cut"), None);
    }

    #[test]
    fn events_have_the_members_of_their_kind() {
        use crate::event::Kind;
        for (kind, id, data) in [
            (Kind::Watch, None, None),
            (Kind::Json, None, Some(&Value::Null)),
            (Kind::Ndjson, None, Some(&Value::Null)),
            (Kind::Sse, Some(&Value::Null), Some(&Value::Null)),
        ] {
            let mut findings = samples::one_watch("x");
            for finding in &mut findings {
                match finding {
                    Made::Exchange(head) => head.expect = Some(Expect::Kind(kind)),
                    Made::ExchangeEnd(end) => Arc::make_mut(&mut end.head).expect = Some(Expect::Kind(kind)),
                    _ => {}
                }
            }
            let document = document(Payload::None, &findings);
            let event = &document["captures"][0]["exchanges"][0]["events"][0];
            assert_eq!((event.get("id"), event.get("data")), (id, data), "{kind:?}");
        }
    }

    #[test]
    fn many_interleaving_exchanges_leave_whole() {
        let mut findings = samples::one_watch("x");
        let end = findings.pop().unwrap();
        findings.truncate(1);
        let ids: Vec<_> = (0..40).map(|n| samples::place(n * 7 % 40, n % 3)).collect();
        for &id in &ids {
            findings.push(Made::Exchange(samples::watch_head(id)));
        }
        for index in 1..=300 {
            for &id in &ids {
                findings.push(Made::Chunk(samples::chunk(id, index, 0, "x".repeat(2000).as_bytes())));
            }
        }
        for &id in &ids {
            let tally = crate::report::Tally { unchecked: 300, ..Default::default() };
            let body = samples::chunked(600_000, 300, crate::http::BodyEnd::Open);
            let head = samples::watch_head(id);
            let verdict = crate::report::ExchangeVerdict::Unchecked;
            findings.push(Made::ExchangeEnd(samples::end(head, Some(body), verdict, tally)));
        }
        findings.push(end);
        // 24 MB: more than the spool keeps in memory.
        let document: Value = serde_json::from_str(&written(Payload::Full, &findings)).unwrap();
        let exchanges = document["captures"][0]["exchanges"].as_array().unwrap();
        let places: Vec<_> = exchanges
            .iter()
            .map(|exchange| (exchange["stream"].as_u64().unwrap(), exchange["index"].as_u64().unwrap()))
            .collect();
        assert_eq!(places.len(), 40);
        assert!(places.is_sorted());
        for exchange in exchanges {
            let chunks = exchange["response"]["body"]["chunks"].as_array().unwrap();
            assert_eq!(chunks.len(), 300);
            assert!(chunks.is_sorted_by_key(|chunk| chunk["index"].as_u64()));
        }
    }

    proptest! {
        #[test]
        fn any_payload_is_shown_as_what_it_is(
            payload in prop_oneof![any::<Vec<u8>>(), any::<String>().prop_map(String::into_bytes)],
            kept in any::<proptest::sample::Index>(),
            ask in any::<bool>(),
        ) {
            use base64::Engine as _;
            let valid = std::str::from_utf8(&payload).is_ok();
            let kept = kept.index(payload.len() + 1);
            for kept in [kept, payload.len()] {
                // Nobody can know of octets that weren't kept unless asked before.
                let utf8 = (ask || kept < payload.len()).then_some(valid);
                let chunk = one_chunk(Payload::Full, |chunk| {
                    chunk.chunk.received = payload.len() as u64;
                    chunk.chunk.payload = payload[..kept].to_vec();
                    chunk.utf8 = utf8;
                });
                let shown = chunk["payload"].as_str().unwrap();
                let octets = if valid {
                    prop_assert_eq!(&chunk["encoding"], "utf-8");
                    prop_assert!(kept - shown.len() < 4);
                    shown.as_bytes().to_vec()
                } else {
                    prop_assert_eq!(&chunk["encoding"], "base64");
                    base64::engine::general_purpose::STANDARD.decode(shown).unwrap()
                };
                prop_assert!(payload.starts_with(&octets));
                prop_assert_eq!(chunk.get("payload_cut").is_some(), octets.len() < payload.len());
            }
        }
    }
}
