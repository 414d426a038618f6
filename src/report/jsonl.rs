//! The report as lines, one JSON object each, written as findings come.
//!
//! `docs/json-format.md` lists the records. Every record of an exchange
//! carries `capture`, `stream` and `exchange`; the rest are the members that
//! the same thing has in the JSON document.

use std::collections::HashMap;
use std::io::{self, Write};

use foldhash::fast::RandomState;

use self::usual::Usual;
use super::json::members;
use super::json::text::{Compact, JsonText, key};
use crate::http::Side;
use crate::report::buffer::Constant;
use crate::report::payload::Payload;
use crate::report::{CaptureEnd, Conclusion, ExchangeEnd, ExchangeHead, ExchangeId, Expect, Finding, Report};

mod usual;

/// How a line begins that is a record of this name.
macro_rules! record {
    ($name:literal) => {
        const { &Constant::new(concat!("{\"record\":\"", $name, "\"")) }
    };
}

/// Writes a JSON object a line.
#[derive(Debug)]
pub struct JsonlReport<W> {
    out: W,
    payload: Payload,
    text: JsonText<Compact>,
    usual: Usual,
    /// The path of the capture that is read, as a JSON string.
    capture: String,
    /// The exchange that came last, and what is expected of it: records of one
    /// exchange come in runs.
    last: Option<(ExchangeId, Option<Expect>)>,
    /// What every record of that exchange says of it, behind the record's name.
    place: JsonText<Compact>,
    /// What is expected of the others that haven't ended.
    open: HashMap<ExchangeId, Option<Expect>, RandomState>,
}

impl<W: Write> JsonlReport<W> {
    /// A report that writes each record to `out` as one piece if it isn't
    /// long, with as much of the payloads as `payload` says.
    pub fn new(out: W, payload: Payload) -> Self {
        Self {
            out,
            payload,
            text: JsonText::new(),
            usual: Usual::default(),
            capture: String::new(),
            last: None,
            place: JsonText::new(),
            open: HashMap::default(),
        }
    }

    /// Begins a record of the capture.
    fn begin(&mut self, record: &'static Constant) {
        self.text.constant(record);
        self.text.literal(key!("capture"), &self.capture);
    }

    /// Begins a record of an exchange.
    fn begin_in(&mut self, record: &'static Constant, id: ExchangeId) {
        self.turn_to(id);
        if self.place.written().is_empty() {
            let place = &mut self.place;
            place.literal(key!("capture"), &self.capture);
            place.maybe_number(key!("stream"), id.stream.map(|stream| stream.0));
            place.number(key!("exchange"), id.index);
        }
        self.text.constant(record);
        self.text.append(&self.place);
    }

    /// Turns to an exchange, of which the return value tells what is expected.
    #[inline]
    fn turn_to(&mut self, id: ExchangeId) -> Option<Expect> {
        match self.last {
            Some((last, expect)) if last == id => expect,
            _ => self.turn_to_another(id),
        }
    }

    fn turn_to_another(&mut self, id: ExchangeId) -> Option<Expect> {
        let expect = self.open.remove(&id).flatten();
        self.begin_runs(id, expect);
        expect
    }

    /// The records that come are those of an exchange of which that is expected.
    fn begin_runs(&mut self, id: ExchangeId, expect: Option<Expect>) {
        if let Some((last, expect)) = self.last.replace((id, expect)) {
            self.open.insert(last, expect);
        }
        self.place.clear();
    }

    /// No more records come of an exchange.
    fn end_runs(&mut self, id: ExchangeId) {
        self.turn_to(id);
        self.last = None;
    }

    fn end(&mut self) -> io::Result<()> {
        self.text.close_line();
        self.pass_on()
    }

    fn pass_on(&mut self) -> io::Result<()> {
        self.text.pass_on(&mut |octets| self.out.write_all(octets))
    }

    #[inline(never)]
    fn capture(&mut self, path: &str) -> io::Result<()> {
        self.capture = serde_json::to_string(path)?;
        self.last = None;
        self.usual.forget();
        self.begin(record!("capture"));
        self.text.literal(key!("path"), &self.capture);
        self.text.name(key!("schema"), members::SCHEMA);
        self.text.name(key!("version"), env!("CARGO_PKG_VERSION"));
        self.end()
    }

    #[inline(never)]
    fn exchange(&mut self, head: &ExchangeHead) -> io::Result<()> {
        self.begin_runs(head.id, head.expect);
        if let Some(line) = self.usual.exchange.line(head, &mut self.text, &mut self.usual.pen) {
            return self.out.write_all(line);
        }
        self.begin_in(record!("exchange"), head.id);
        let text = &mut self.text;
        members::endpoints(text, head);
        if let Some(request) = &head.request {
            text.key(key!("request"));
            text.open();
            members::request_line(text, request);
            text.fields(key!("headers"), request.fields.as_ref());
            members::head_stamp(text, head.id, request.stamp);
            text.close();
        } else {
            text.null(key!("request"));
        }
        if let Some(response) = &head.response {
            text.key(key!("response"));
            text.open();
            members::status_line(text, response);
            text.fields(key!("headers"), response.fields.as_ref());
            members::head_stamp(text, head.id, response.stamp);
            text.key(key!("body"));
            text.open();
            text.maybe_name(key!("framing"), head.framing.map(members::framing));
            text.close();
            text.close();
        } else {
            text.null(key!("response"));
        }
        text.maybe_name(key!("expect"), head.expect.map(Expect::name));
        self.text.close_line();
        self.usual.exchange.keep(head, self.text.written());
        self.pass_on()
    }

    #[inline(never)]
    fn exchange_end(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        /// The verdicts behind `one` where no chunk has another, as mostly.
        const NO_OTHERS: &str = r#","several":0,"part":0,"mixed":0,"invalid":0,"unverified":0,"unchecked":0"#;
        let id = end.head.id;
        if let Some(line) = self.usual.end.line(end, &mut self.usual.pen) {
            self.out.write_all(line)?;
            self.end_runs(id);
            return Ok(());
        }
        self.begin_in(record!("end"), id);
        self.end_runs(id);
        let text = &mut self.text;
        if end.response_body.is_some() {
            members::body(text, end.response_body.as_ref());
            members::last_chunk(text, id, end.response_body.as_ref());
            members::trailers(text, end.response_body.as_ref());
        } else {
            text.null(key!("framing"));
            text.null(key!("size"));
            text.null(key!("end"));
            text.null(key!("joined"));
            text.null(key!("skipped"));
            text.null(key!("last_chunk"));
            text.null(key!("trailers"));
        }
        if let Some(body) = &end.request_body {
            text.key(key!("request_body"));
            text.open();
            members::body(text, Some(body));
            text.number(key!("chunks"), body.chunks);
            members::last_chunk(text, id, Some(body));
            members::trailers(text, Some(body));
            text.close();
        } else {
            text.null(key!("request_body"));
        }
        text.name(key!("verdict"), end.verdict.name());
        let tally = &end.tally;
        text.number(key!("chunks"), tally.chunks());
        text.number(key!("events"), end.events);
        text.number(key!("violations"), end.violations);
        text.number(key!("lints"), end.lints);
        text.number(key!("one"), tally.one);
        if tally.chunks() == tally.one {
            text.raw(NO_OTHERS);
        } else {
            text.number(key!("several"), tally.several);
            text.number(key!("part"), tally.part);
            text.number(key!("mixed"), tally.mixed);
            text.number(key!("invalid"), tally.invalid);
            text.number(key!("unverified"), tally.unverified);
            text.number(key!("unchecked"), tally.unchecked);
        }
        text.open_list(key!("hints"));
        for hint in &end.hints {
            text.element();
            members::hint(text, hint);
            text.close();
        }
        text.close_list();
        members::timing(text, end.timing.as_ref());
        self.text.close_line();
        self.usual.end.keep(end, self.text.written());
        self.pass_on()
    }

    #[inline(never)]
    fn capture_end(&mut self, capture: &CaptureEnd) -> io::Result<()> {
        self.open.clear();
        self.last = None;
        for problem in &capture.problems {
            self.begin(record!("problem"));
            members::problem(&mut self.text, problem);
            self.end()?;
        }
        self.begin(record!("capture_end"));
        let text = &mut self.text;
        if !capture.parts.is_empty() {
            text.texts(key!("parts"), &capture.parts);
        }
        text.maybe_name(key!("format"), capture.format.map(|format| format.name()));
        text.texts(key!("link_types"), &capture.link_types);
        text.number(key!("packets"), capture.packets);
        text.time(key!("first_time"), capture.first_time);
        text.time(key!("last_time"), capture.last_time);
        members::other_streams(text, &capture.other_streams);
        self.end()
    }
}

impl<W: Write> Report for JsonlReport<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        match finding {
            Finding::Capture(path) => self.capture(path),
            Finding::Exchange(head) => self.exchange(head),
            Finding::Event(id, event) => {
                let expect = self.turn_to(*id);
                if let Some(line) = self.usual.event.line(*id, event, expect, &mut self.usual.pen) {
                    return self.out.write_all(line);
                }
                self.begin_in(record!("event"), *id);
                members::event(&mut self.text, event, expect);
                self.text.close_line();
                self.usual.event.keep(*id, event, expect, self.text.written());
                self.pass_on()
            }
            Finding::Chunk(chunk) => {
                if let Some(line) = self.usual.chunk.line(chunk, self.payload, &mut self.usual.pen) {
                    return self.out.write_all(line);
                }
                self.begin_in(record!("chunk"), chunk.exchange);
                if chunk.side == Side::Request {
                    self.text.name(key!("side"), "request");
                }
                let out = &mut self.out;
                members::chunk(&mut self.text, chunk, self.payload, &mut |octets| out.write_all(octets))?;
                self.text.close_line();
                self.usual.chunk.keep(chunk, self.payload, self.text.written());
                self.pass_on()
            }
            Finding::Violation(violation) => {
                self.begin_in(record!("violation"), violation.exchange);
                members::violation(&mut self.text, violation);
                self.end()
            }
            Finding::Lint(lint) => {
                self.begin_in(record!("lint"), lint.exchange);
                members::lint(&mut self.text, lint);
                self.end()
            }
            Finding::ExchangeEnd(end) => self.exchange_end(end),
            Finding::CaptureEnd(capture) => self.capture_end(capture),
        }
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.text.constant(record!("summary"));
        self.text.name(key!("verdict"), conclusion.outcome.name());
        members::summary(&mut self.text, conclusion);
        self.end()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::json::schema::assert_part;
    use super::*;
    use crate::report::Tally;
    use crate::report::json::JsonReport;
    use crate::report::samples::{self, Made};

    fn written(payload: Payload, findings: &[Made]) -> String {
        let mut out = Vec::new();
        samples::tell(&mut JsonlReport::new(&mut out, payload), findings);
        String::from_utf8(out).unwrap()
    }

    fn records(findings: &[Made]) -> Vec<Value> {
        let written = written(Payload::Full, findings);
        assert!(written.ends_with('\n'));
        written.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn all_samples() -> Vec<Made> {
        let mut findings = samples::everything();
        findings.extend(samples::unreadable());
        findings.extend(samples::one_watch("k8s-watch.pcap"));
        findings.extend(samples::raw());
        findings
    }

    #[test]
    fn the_lines_of_everything_read_so() {
        insta::assert_snapshot!(written(Payload::Preview, &samples::everything()));
    }

    #[test]
    fn every_line_is_an_object_that_says_what_it_is_and_whose() {
        let records = records(&all_samples());
        for record in &records {
            let kind = record["record"].as_str().unwrap();
            assert!(
                [
                    "capture",
                    "exchange",
                    "chunk",
                    "event",
                    "violation",
                    "problem",
                    "end",
                    "capture_end",
                    "summary"
                ]
                .contains(&kind)
            );
            assert_eq!(record["capture"].is_string(), kind != "summary", "{record}");
            let of_exchange = ["exchange", "chunk", "event", "violation", "end"].contains(&kind);
            assert_eq!(record["exchange"].is_u64(), of_exchange, "{record}");
            assert_eq!(record.get("stream").is_some(), of_exchange || kind == "problem", "{record}");
        }
        assert_eq!(records[0]["record"], "capture");
        assert_eq!(records[0]["schema"], "chunkscope.report/1");
        assert_eq!(records.last().unwrap()["record"], "summary");
        assert_eq!(records.iter().filter(|record| record["record"] == "summary").count(), 1);
    }

    /// A record without what says whose it is.
    fn part(record: &Value, beside: &[&str]) -> Value {
        let mut part = record.as_object().unwrap().clone();
        for name in ["record", "capture", "exchange"].iter().chain(beside) {
            part.remove(*name).unwrap();
        }
        Value::Object(part)
    }

    #[test]
    fn lines_hold_what_the_document_holds() {
        let findings = all_samples();
        let mut document = Vec::new();
        samples::tell(&mut JsonReport::new(&mut document, Payload::Full), &findings);
        let document: Value = serde_json::from_slice(&document).unwrap();
        let mut exchanges = 0;
        for record in records(&findings) {
            let captures = document["captures"].as_array().unwrap();
            let Some(capture) = captures.iter().find(|capture| capture["path"] == record["capture"]) else {
                assert_eq!(record["record"], "summary");
                continue;
            };
            let all = capture["exchanges"].as_array().unwrap();
            let exchange = all.iter().find(|exchange| {
                exchange["stream"] == record["stream"] && exchange["index"] == record["exchange"]
            });
            match record["record"].as_str().unwrap() {
                "chunk" => {
                    let mut chunk = part(&record, &["stream"]);
                    let side =
                        chunk.as_object_mut().unwrap().remove("side").map_or("response", |_| "request");
                    assert_part("chunk", &chunk);
                    assert!(exchange.unwrap()[side]["body"]["chunks"].as_array().unwrap().contains(&chunk));
                }
                "event" => {
                    let event = part(&record, &["stream"]);
                    assert_part("event", &event);
                    assert!(exchange.unwrap()["events"].as_array().unwrap().contains(&event));
                }
                "violation" => {
                    let violation = part(&record, &["stream"]);
                    assert_part("violation", &violation);
                    assert!(exchange.unwrap()["violations"].as_array().unwrap().contains(&violation));
                }
                "problem" => {
                    let mut problem = record.as_object().unwrap().clone();
                    problem.remove("record");
                    problem.remove("capture");
                    assert!(capture["problems"].as_array().unwrap().contains(&Value::Object(problem)));
                }
                "end" => {
                    exchanges += 1;
                    let exchange = exchange.unwrap();
                    assert_eq!(record["verdict"], exchange["verdict"]);
                    let body = &exchange["response"]["body"];
                    for name in ["framing", "size", "end", "joined", "skipped", "last_chunk", "trailers"] {
                        assert_eq!(record[name], body[name], "{name}");
                    }
                    assert_eq!(record["chunks"], body["chunks"].as_array().map_or(0, Vec::len));
                    if let Some(request) = exchange["request"].as_object() {
                        assert_eq!(record["request_body"]["end"], request["body"]["end"]);
                    }
                }
                "exchange" => {
                    let exchange = exchange.unwrap();
                    for name in ["stream", "index", "client", "server", "expect"] {
                        assert_eq!(record[name], exchange[name], "{name}");
                    }
                }
                "capture_end" => {
                    for name in
                        ["format", "link_types", "packets", "first_time", "last_time", "other_streams"]
                    {
                        assert_eq!(record[name], capture[name], "{name}");
                    }
                }
                "capture" => assert_eq!(record["path"], record["capture"]),
                other => panic!("{other}"),
            }
        }
        assert_eq!(exchanges, 5);
    }

    #[test]
    fn an_end_has_the_count_of_each_verdict() {
        const NAMES: [&str; 7] = ["one", "several", "part", "mixed", "invalid", "unverified", "unchecked"];
        for name in NAMES {
            let count = |other| if name == other { 7 } else { 0 };
            let [one, several, part, mixed, invalid, unverified, unchecked] = NAMES.map(count);
            let tally = Tally { one, several, part, mixed, invalid, unverified, unchecked };
            let mut findings = samples::one_watch("k8s-watch.pcap");
            for made in &mut findings {
                if let Made::ExchangeEnd(end) = made {
                    end.tally = tally;
                }
            }
            let records = records(&findings);
            let record = records.iter().find(|record| record["record"] == "end").unwrap();
            assert_eq!(
                NAMES.map(|other| record[other].as_u64()),
                NAMES.map(|other| Some(count(other))),
                "{name}"
            );
        }
    }

    #[test]
    fn records_come_as_the_findings_do() {
        let mut out = Vec::new();
        let mut report = JsonlReport::new(&mut out, Payload::None);
        report.finding(&Finding::Capture("x")).unwrap();
        let id = samples::place(3, 1);
        report.finding(&Finding::Exchange(&samples::watch_head(id))).unwrap();
        report.finding(&Finding::Chunk(&samples::chunk(id, 1, 0, b"hello"))).unwrap();
        drop(report);
        let last: Value = serde_json::from_slice(out.split(|octet| *octet == b'\n').nth(2).unwrap()).unwrap();
        assert_eq!(last["payload"], Value::Null);
        assert_eq!((&last["stream"], &last["exchange"], &last["index"]), (&json!(3), &json!(1), &json!(1)));
    }
}
