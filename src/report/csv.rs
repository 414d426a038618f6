//! The chunks of responses as comma-separated values, a row a chunk
//! (RFC 4180), written as findings come.
//!
//! Lists are separated by a blank. What is unknown is empty. A payload that
//! isn't UTF-8 is in base64 behind `base64:`. The chunks of requests are left
//! out: the columns have no place that tells them from the response's.

use std::collections::HashMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use foldhash::fast::RandomState;

use crate::chunk::size_digits;
use crate::http::Side;
use crate::report::buffer::{Block, Buffer};
use crate::report::figures::{NumberText, TimeText};
use crate::report::payload::{Excerpt, Payload};
use crate::report::{Conclusion, ExchangeId, Finding, JudgedChunk, Report};
use crate::units::Timestamp;

/// RFC 4180 §2.1: a line ends with CRLF.
const HEADER: &str = "capture,stream,exchange,target,chunk,size_hex,size,received,extensions,offset,\
    first_frame,last_frame,first_time,time,verdict,events,event_types,payload\r\n";

/// Octets of a payload that are written at once; a multiple of three, so that
/// pieces of base64 need no padding between them.
const PIECE: usize = 48 << 10;

/// Writes a row a chunk.
#[derive(Debug)]
pub struct CsvReport<W> {
    out: W,
    payload: Payload,
    /// What was written and not passed on.
    row: Buffer,
    number: NumberText,
    time: TimeText,
    /// Whether the header is out.
    begun: bool,
    /// The path of the capture that is read, as a field.
    capture: Box<[u8]>,
    /// The request targets of the exchanges that haven't ended, as fields.
    targets: HashMap<ExchangeId, Box<[u8]>, RandomState>,
}

impl<W: Write> CsvReport<W> {
    /// A report that writes each row to `out` as one piece if it isn't long,
    /// with as much of the payloads as `payload` says.
    pub fn new(out: W, payload: Payload) -> Self {
        Self {
            out,
            payload,
            row: Buffer::default(),
            number: NumberText::default(),
            time: TimeText::default(),
            begun: false,
            capture: Box::default(),
            targets: HashMap::default(),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) { Ok(()) } else { self.out.write_all(HEADER.as_bytes()) }
    }

    fn chunk(&mut self, judged: &JudgedChunk) -> io::Result<()> {
        let (id, chunk) = (judged.exchange, &judged.chunk);
        let packets = id.stream.is_some();
        self.row.append(&self.capture);
        self.maybe_number(id.stream.map(|stream| stream.0));
        self.maybe_number(Some(id.index));
        self.row.push(b',');
        if let Some(target) = self.targets.get(&id) {
            self.row.append(target);
        }
        self.maybe_number(Some(chunk.index));
        self.row.push(b',');
        if chunk.message.is_none() {
            self.row.append(size_digits(&chunk.size_line));
        }
        self.maybe_number(Some(chunk.size));
        self.maybe_number(Some(chunk.received));
        self.row.push(b',');
        append_field(&mut self.row, chunk.extensions().unwrap_or_default().as_bytes());
        self.maybe_number(Some(chunk.offset));
        let frames = || chunk.trail.iter().filter_map(|run| run.frame).filter(|_| packets);
        self.maybe_number(frames().min().map(|frame| frame.get()));
        self.maybe_number(frames().max().map(|frame| frame.get()));
        self.maybe_time(chunk.first.at.filter(|_| packets));
        self.maybe_time(chunk.last.at.filter(|_| packets));
        self.row.push(b',');
        self.row.append(judged.verdict.name().as_bytes());
        self.row.push(b',');
        for (place, event) in judged.events.iter().enumerate() {
            if place > 0 {
                self.row.push(b' ');
            }
            self.number.append(&mut self.row, event.index);
        }
        self.row.push(b',');
        self.event_types(judged);
        self.row.push(b',');
        self.payload(judged)?;
        self.row.append(b"\r\n");
        self.pass_on()
    }

    fn event_types(&mut self, judged: &JudgedChunk) {
        let mut types = judged.events.iter().filter_map(|event| event.summary.event_type.as_deref());
        if let (Some(first), None) = (types.next(), types.next()) {
            return append_field(&mut self.row, first.as_bytes());
        }
        let types = judged.events.iter().filter_map(|event| event.summary.event_type.as_deref());
        append_field(&mut self.row, types.collect::<Vec<_>>().join(" ").as_bytes());
    }

    fn payload(&mut self, judged: &JudgedChunk) -> io::Result<()> {
        match self.payload.excerpt(judged) {
            None => {}
            Some(Excerpt::Text(text)) if !needs_quotes(text.as_bytes()) => {
                for piece in text.as_bytes().chunks(PIECE) {
                    self.row.append(piece);
                    self.pass_on_if_long()?;
                }
            }
            Some(Excerpt::Text(text)) => {
                self.row.push(b'"');
                for piece in text.as_bytes().chunks(PIECE) {
                    append_quoted(&mut self.row, piece);
                    self.pass_on_if_long()?;
                }
                self.row.push(b'"');
            }
            Some(Excerpt::Octets(octets)) => {
                self.row.append(b"base64:");
                for piece in octets.chunks(PIECE) {
                    self.row.append(STANDARD.encode(piece).as_bytes());
                    self.pass_on_if_long()?;
                }
            }
        }
        Ok(())
    }

    fn maybe_number(&mut self, number: Option<u64>) {
        self.row.push(b',');
        if let Some(number) = number {
            self.number.append(&mut self.row, number);
        }
    }

    fn maybe_time(&mut self, time: Option<Timestamp>) {
        self.row.push(b',');
        if let Some(time) = time {
            self.time.append(&mut self.row, time);
        }
    }

    fn pass_on_if_long(&mut self) -> io::Result<()> {
        if self.row.len() >= PIECE { self.pass_on() } else { Ok(()) }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let passed = self.out.write_all(self.row.written());
        self.row.clear();
        passed
    }
}

/// RFC 4180 §2.6: fields with line ends, quotes or commas are quoted.
fn needs_quotes(field: &[u8]) -> bool {
    // Most are too short to be worth calls.
    if field.len() <= 16 {
        return field.iter().any(|octet| matches!(octet, b',' | b'"' | b'\n' | b'\r'));
    }
    memchr::memchr3(b',', b'"', b'\n', field).is_some() || memchr::memchr(b'\r', field).is_some()
}

/// RFC 4180 §2.7: a quote within a quoted field is doubled.
fn append_quoted(row: &mut Buffer, octets: &[u8]) {
    // Nothing else stops it.
    row.append_until(octets, [b'"'; 2], b'"', |_| Block::ZERO);
}

fn append_field(row: &mut Buffer, field: &[u8]) {
    if needs_quotes(field) {
        row.push(b'"');
        append_quoted(row, field);
        row.push(b'"');
    } else {
        row.append(field);
    }
}

/// A string as a field.
fn field(text: &str) -> Box<[u8]> {
    let mut field = Buffer::default();
    append_field(&mut field, text.as_bytes());
    field.written().into()
}

impl<W: Write> Report for CsvReport<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        match finding {
            Finding::Capture(path) => {
                self.capture = field(path);
                self.begin()
            }
            Finding::Exchange(head) => {
                if let Some(target) = head.request.as_ref().and_then(|request| request.target.as_deref()) {
                    self.targets.insert(head.id, field(target));
                }
                Ok(())
            }
            Finding::Chunk(chunk) => match chunk.side {
                Side::Request => Ok(()),
                Side::Response => self.chunk(chunk),
            },
            Finding::ExchangeEnd(end) => {
                self.targets.remove(&end.head.id);
                Ok(())
            }
            Finding::CaptureEnd(_) => {
                self.targets.clear();
                Ok(())
            }
            Finding::Event(..) | Finding::Violation(_) | Finding::Lint(_) => Ok(()),
        }
    }

    fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
        self.begin()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::{self, Made};

    fn written(payload: Payload, findings: &[Made]) -> String {
        let mut out = Vec::new();
        samples::tell(&mut CsvReport::new(&mut out, payload), findings);
        String::from_utf8(out).unwrap()
    }

    /// Reads RFC 4180 by its grammar.
    fn rows(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
        let mut quoted = false;
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '"' if quoted && rest.next_if_eq(&'"').is_some() => field.push('"'),
                '"' => {
                    assert!(quoted || field.is_empty(), "a quote within a field: {field}");
                    quoted = !quoted;
                    assert!(quoted || matches!(rest.peek(), Some(',' | '\r')), "text behind a quote");
                }
                c if quoted => field.push(c),
                ',' => row.push(std::mem::take(&mut field)),
                '\r' => {
                    assert_eq!(rest.next(), Some('\n'));
                    row.push(std::mem::take(&mut field));
                    rows.push(std::mem::take(&mut row));
                }
                c => {
                    assert_ne!(c, '\n', "a line feed alone");
                    field.push(c);
                }
            }
        }
        assert!(!quoted && row.is_empty() && field.is_empty(), "no line end at the end");
        rows
    }

    /// The fields of each row by their names.
    fn named(text: &str) -> Vec<HashMap<String, String>> {
        let mut rows = rows(text).into_iter();
        let names = rows.next().unwrap();
        rows.map(|row| {
            assert_eq!(row.len(), names.len());
            names.iter().cloned().zip(row).collect()
        })
        .collect()
    }

    #[test]
    fn the_header_is_the_contracts_also_where_nothing_is_found() {
        let header = "capture,stream,exchange,target,chunk,size_hex,size,received,extensions,offset,first_frame,\
            last_frame,first_time,time,verdict,events,event_types,payload\r\n";
        assert_eq!(written(Payload::Full, &[]), header);
        assert_eq!(written(Payload::Full, &samples::unreadable()), header);
        let two = [samples::one_watch("a"), samples::one_watch("b")].concat();
        assert_eq!(rows(&written(Payload::Full, &two)).len(), 5);
    }

    #[test]
    fn the_rows_of_a_watch_read_so() {
        insta::assert_snapshot!(written(Payload::Full, &samples::one_watch("k8s-watch.pcap")));
    }

    #[test]
    fn fields_with_commas_quotes_and_line_ends_are_quoted() {
        let mut findings = samples::everything();
        for finding in &mut findings {
            if let Made::Chunk(chunk) = finding {
                chunk.chunk.size_line = smallvec::SmallVec::from_slice(b"0A;a=\"1,2\";b\r\n");
                chunk.chunk.payload = b"say \"a\", \r\n then \"\"\n".to_vec();
                chunk.chunk.received = chunk.chunk.payload.len() as u64;
                chunk.utf8 = Some(true);
            }
        }
        let rows = named(&written(Payload::Full, &findings));
        assert_eq!(rows.len(), 8, "the chunk of the request has no row");
        for row in &rows {
            assert_eq!(row["capture"], "dir/all \"kinds\", of ünusual.pcap");
            assert_eq!(row["extensions"], ";a=\"1,2\";b");
            assert_eq!(row["size_hex"], "0A");
            assert_eq!(row["payload"], "say \"a\", \r\n then \"\"\n");
            assert_eq!(row["target"], "");
        }
        assert_eq!(rows[1]["events"], "1 2");
        assert_eq!(rows[1]["event_types"], "ADDED MODIFIED");
        assert_eq!(rows[7]["verdict"], "unchecked");
    }

    #[test]
    fn what_is_unknown_is_empty() {
        let rows = named(&written(Payload::None, &samples::raw()));
        for name in
            ["stream", "target", "extensions", "first_frame", "last_frame", "first_time", "time", "payload"]
        {
            assert_eq!(rows[0][name], "", "{name}");
        }
        assert_eq!((rows[0]["capture"].as_str(), rows[0]["exchange"].as_str()), ("-", "0"));
    }

    #[test]
    fn long_payloads_are_whole() {
        let text = "a,\"é\"\r\n".repeat(PIECE);
        let octets: Vec<u8> = (0..3 * PIECE + 1).map(|n| 0x80 | (n % 127) as u8).collect();
        for (payload, utf8) in [(text.as_bytes(), true), (&octets, false)] {
            let mut findings = samples::raw();
            for finding in &mut findings {
                if let Made::Chunk(chunk) = finding {
                    chunk.chunk.payload = payload.to_vec();
                    chunk.chunk.received = payload.len() as u64;
                    chunk.utf8 = Some(utf8);
                }
            }
            let rows = named(&written(Payload::Full, &findings));
            match rows[0]["payload"].strip_prefix("base64:") {
                Some(base64) => assert_eq!(STANDARD.decode(base64).unwrap(), octets),
                None => assert_eq!(rows[0]["payload"], text),
            }
        }
    }

    #[test]
    fn frames_and_times_are_the_first_and_the_last() {
        let rows = named(&written(Payload::Preview, &samples::one_watch("x")));
        assert_eq!((rows[0]["first_frame"].as_str(), rows[0]["last_frame"].as_str()), ("8", "9"));
        assert_eq!(rows[0]["first_time"], "2023-08-02T13:10:02.008000Z");
        assert_eq!(rows[0]["time"], "2023-08-02T13:10:02.009000Z");
        assert_eq!(rows[0]["target"], "/api/v1/watch/namespaces/kube-system/configmaps/coredns");
        assert_eq!(rows[0]["event_types"], "ADDED");
    }
}
