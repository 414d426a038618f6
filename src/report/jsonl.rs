//! The report as lines, one JSON object each, written as findings come.
//!
//! `docs/json-format.md` lists the records. Every record of an exchange
//! carries `capture`, `stream` and `exchange`; the rest are the members that
//! the same thing has in the JSON document.

use std::collections::HashMap;
use std::io::{self, Write};

use foldhash::fast::RandomState;

use super::json::members;
use super::json::text::{JsonText, Style};
use crate::http::Side;
use crate::report::payload::Payload;
use crate::report::{
    CaptureEnd, Conclusion, ExchangeEnd, ExchangeHead, ExchangeId, Expect, Finding, Report,
};

/// Writes a JSON object a line.
#[derive(Debug)]
pub struct JsonlReport<W> {
    out: W,
    payload: Payload,
    text: JsonText,
    /// The path of the capture that is read, as a JSON string.
    capture: String,
    /// What is expected of the exchanges that haven't ended.
    open: HashMap<ExchangeId, Option<Expect>, RandomState>,
}

impl<W: Write> JsonlReport<W> {
    /// A report that writes each record to `out` as one piece if it isn't
    /// long, with as much of the payloads as `payload` says.
    pub fn new(out: W, payload: Payload) -> Self {
        Self {
            out,
            payload,
            text: JsonText::new(Style::Compact),
            capture: String::new(),
            open: HashMap::default(),
        }
    }

    fn begin(&mut self, record: &str) {
        self.text.open();
        self.text.name("record", Some(record));
        self.text.literal("capture", &self.capture);
    }

    fn begin_in(&mut self, record: &str, id: ExchangeId) {
        self.begin(record);
        self.text
            .maybe_number("stream", id.stream.map(|stream| stream.0));
        self.text.number("exchange", id.index);
    }

    fn end(&mut self) -> io::Result<()> {
        self.text.close();
        self.text.raw("\n");
        self.text.pass_on(&mut |octets| self.out.write_all(octets))
    }

    fn capture(&mut self, path: &str) -> io::Result<()> {
        self.capture = serde_json::to_string(path)?;
        self.begin("capture");
        self.text.literal("path", &self.capture);
        self.text.name("schema", Some(members::SCHEMA));
        self.text.name("version", Some(env!("CARGO_PKG_VERSION")));
        self.end()
    }

    fn exchange(&mut self, head: &ExchangeHead) -> io::Result<()> {
        self.open.insert(head.id, head.expect);
        self.text.open();
        self.text.name("record", Some("exchange"));
        self.text.literal("capture", &self.capture);
        self.text.number("exchange", head.id.index);
        let text = &mut self.text;
        members::endpoints(text, head);
        text.key("request");
        if let Some(request) = &head.request {
            text.open();
            members::request_line(text, request);
            text.fields("headers", request.fields.as_deref());
            members::head_stamp(text, head.id, request.stamp);
            text.close();
        } else {
            text.raw("null");
        }
        text.key("response");
        if let Some(response) = &head.response {
            text.open();
            members::status_line(text, response);
            text.fields("headers", response.fields.as_deref());
            members::head_stamp(text, head.id, response.stamp);
            text.key("body");
            text.open();
            text.name("framing", head.framing.map(members::framing));
            text.close();
            text.close();
        } else {
            text.raw("null");
        }
        text.name("expect", head.expect.map(Expect::name));
        self.end()
    }

    fn exchange_end(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        let id = end.head.id;
        self.open.remove(&id);
        self.begin_in("end", id);
        let text = &mut self.text;
        if end.response_body.is_some() {
            members::body(text, end.response_body.as_ref());
            members::last_chunk(text, id, end.response_body.as_ref());
        } else {
            for name in [
                "framing",
                "size",
                "end",
                "joined",
                "skipped",
                "last_chunk",
                "trailers",
            ] {
                text.literal(name, "null");
            }
        }
        text.key("request_body");
        if let Some(body) = &end.request_body {
            text.open();
            members::body(text, Some(body));
            text.number("chunks", body.chunks);
            members::last_chunk(text, id, Some(body));
            text.close();
        } else {
            text.raw("null");
        }
        text.name("verdict", Some(end.verdict.name()));
        let tally = &end.tally;
        text.number("chunks", tally.chunks());
        text.number("events", end.events);
        text.number("violations", end.violations);
        for (name, count) in [
            ("one", tally.one),
            ("several", tally.several),
            ("part", tally.part),
            ("mixed", tally.mixed),
            ("invalid", tally.invalid),
            ("unverified", tally.unverified),
            ("unchecked", tally.unchecked),
        ] {
            text.number(name, count);
        }
        self.end()
    }

    fn capture_end(&mut self, capture: &CaptureEnd) -> io::Result<()> {
        self.open.clear();
        for problem in &capture.problems {
            self.begin("problem");
            members::problem(&mut self.text, problem);
            self.end()?;
        }
        self.begin("capture_end");
        let text = &mut self.text;
        if !capture.parts.is_empty() {
            text.texts("parts", &capture.parts);
        }
        text.name("format", capture.format.map(|format| format.name()));
        text.texts("link_types", &capture.link_types);
        text.number("packets", capture.packets);
        text.time("first_time", capture.first_time);
        text.time("last_time", capture.last_time);
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
                self.begin_in("event", *id);
                members::event(&mut self.text, event, self.open.get(id).copied().flatten());
                self.end()
            }
            Finding::Chunk(chunk) => {
                self.begin_in("chunk", chunk.exchange);
                if chunk.side == Side::Request {
                    self.text.name("side", Some("request"));
                }
                let out = &mut self.out;
                members::chunk(&mut self.text, chunk, self.payload, &mut |octets| {
                    out.write_all(octets)
                })?;
                self.end()
            }
            Finding::Violation(violation) => {
                self.begin_in("violation", violation.exchange);
                members::violation(&mut self.text, violation);
                self.end()
            }
            Finding::ExchangeEnd(end) => self.exchange_end(end),
            Finding::CaptureEnd(capture) => self.capture_end(capture),
        }
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.text.open();
        self.text.name("record", Some("summary"));
        self.text.name("verdict", Some(conclusion.outcome.name()));
        members::summary(&mut self.text, conclusion);
        self.end()?;
        self.out.flush()
    }
}
