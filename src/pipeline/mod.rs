//! The layers, one after the other: a capture in, findings out.
//!
//! [`Analysis`] reads captures and hands what it finds to a [`Report`]. It
//! opens no file and knows of no command line.

mod conversation;
mod exchange;
mod expect;
mod judge;
mod message;
pub mod options;
mod problems;

use std::collections::HashMap;
use std::io::{self, Read};

use foldhash::fast::RandomState;

use crate::capture::{CaptureError, CaptureFormat, CaptureReader, LinkType};
use crate::http::Protocol;
use crate::packet::{self, Decoded, Decoder};
use crate::report::{
    CaptureEnd, Conclusion, ExchangeEnd, ExchangeVerdict, Finding, Format, OtherStream, Outcome, Report,
    Totals,
};
use crate::tcp::{Close, Direction, Opening, Piece, Reassembler, StreamItem};
use crate::units::{FrameNo, Stamp, StreamId, Timestamp};

use conversation::{Conversation, Remains};
use options::Options;
use problems::{Problems, plural};

/// At most so many streams that aren't HTTP/1 are listed.
const LISTED_STREAMS: usize = 1000;

/// Why an analysis stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// The capture can't be read, or not to its end.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A file can't be read.
    #[error("{0}")]
    Io(#[source] io::Error),
    /// No packet of the capture has a link type that is read.
    #[error(
        "the link type {0} isn't supported: record on another interface, or convert the capture with editcap -T"
    )]
    UnsupportedLink(String),
    /// The input is no HTTP response.
    #[error(
        "no HTTP/1 response begins at offset 0: write one with curl --raw -i, or leave out --raw for a capture"
    )]
    NotHttp,
    /// A report can't be written.
    #[error("{0}")]
    Report(#[source] io::Error),
}

/// Reads captures and reports what it finds.
pub struct Analysis<'a> {
    options: &'a Options,
    output: Output<'a>,
}

/// Where findings go, counted on their way.
struct Output<'a> {
    report: &'a mut dyn Report,
    totals: Totals,
    error: Option<io::Error>,
}

impl Output<'_> {
    fn emit(&mut self, finding: &Finding<'_>) {
        match finding {
            Finding::ExchangeEnd(end) => self.totals.exchange(end),
            Finding::Event(..) => self.totals.events += 1,
            Finding::CaptureEnd(end) => {
                self.totals.captures += 1;
                self.totals.unreadable += u64::from(end.format.is_none());
                self.totals.packets += end.packets;
                self.totals.streams += end.streams;
            }
            Finding::Capture(_) | Finding::Exchange(_) | Finding::Chunk(_) | Finding::Violation(_) => {}
        }
        if self.error.is_none() {
            self.error = self.report.finding(finding).err();
        }
    }

    fn check(&mut self) -> Result<(), AnalysisError> {
        self.error.take().map_or(Ok(()), |error| Err(AnalysisError::Report(error)))
    }
}

impl Totals {
    fn exchange(&mut self, end: &ExchangeEnd) {
        self.exchanges += 1;
        self.checked += u64::from(end.tally.checked() > 0);
        self.chunks += end.tally.chunks();
        self.unverified += end.tally.unverified;
        self.violations += end.violations;
        self.unverified_exchanges += u64::from(end.verdict == ExchangeVerdict::Unverified);
    }
}

impl<'a> Analysis<'a> {
    /// An analysis that reports to `report`.
    pub fn new(options: &'a Options, report: &'a mut dyn Report) -> Self {
        Self { options, output: Output { report, totals: Totals::default(), error: None } }
    }

    /// Reads one capture, in one pass.
    ///
    /// # Errors
    /// Where the capture can't be read, or not to its end (what was read is
    /// reported all the same), or where a report can't be written.
    pub fn capture(&mut self, path: &str, source: impl Read) -> Result<(), AnalysisError> {
        self.recording(path, std::iter::once((path.to_owned(), Ok(source))), false)
    }

    /// Reads several captures, in this order, as parts of one recording.
    ///
    /// # Errors
    /// As of [`Self::capture`]; a part that can't be opened ends the recording.
    pub fn joined<R: Read>(
        &mut self,
        parts: impl IntoIterator<Item = (String, io::Result<R>)>,
    ) -> Result<(), AnalysisError> {
        let mut parts = parts.into_iter().peekable();
        let path = parts.peek().map(|(path, _)| path.clone()).unwrap_or_default();
        self.recording(&path, parts, true)
    }

    fn recording<R: Read>(
        &mut self,
        path: &str,
        parts: impl Iterator<Item = (String, io::Result<R>)>,
        joined: bool,
    ) -> Result<(), AnalysisError> {
        self.output.emit(&Finding::Capture(path));
        let mut recording = Recording::new(self.options);
        let mut names = Vec::new();
        let mut outcome = Ok(());
        for (name, source) in parts {
            if joined {
                names.push(name);
            }
            outcome =
                source.map_err(AnalysisError::Io).and_then(|source| recording.read(source, &mut self.output));
            if outcome.is_err() {
                break;
            }
        }
        if !matches!(outcome, Err(AnalysisError::Report(_))) {
            let end = recording.finish(path, names, &mut outcome, &mut self.output);
            self.output.emit(&Finding::CaptureEnd(&end));
            self.output.check()?;
            // One of which nothing is known was counted as its end was told.
            self.output.totals.unreadable += u64::from(outcome.is_err() && end.format.is_some());
        }
        outcome
    }

    /// Reads raw HTTP/1.1 responses, as `curl --raw -i` prints them.
    ///
    /// # Errors
    /// Where the input can't be read or is no HTTP response, or where a report
    /// can't be written.
    pub fn raw(&mut self, path: &str, mut source: impl Read) -> Result<(), AnalysisError> {
        self.output.emit(&Finding::Capture(path));
        let stamp = Stamp::untimed(1);
        let mut conversation = Conversation::raw(self.options);
        let mut block = vec![0; self.options.limits.read_block];
        let mut at = 0;
        let mut outcome = Ok(());
        loop {
            let len = match source.read(&mut block) {
                Ok(0) => break,
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    outcome = Err(AnalysisError::Io(error));
                    break;
                }
            };
            let bytes = block.get(..len).unwrap_or_default().into();
            let piece = Piece { at, bytes, stamp, released: stamp, segment_start: at == 0 };
            at += len as u64;
            let output = &mut self.output;
            conversation
                .push(StreamItem::Data(Direction::Backward, piece), self.options, &mut |f| output.emit(f));
            self.output.check()?;
        }
        let output = &mut self.output;
        conversation.push(StreamItem::Closed(Close::CaptureEnd), self.options, &mut |f| output.emit(f));
        if outcome.is_ok() && !conversation.understood() {
            outcome = Err(AnalysisError::NotHttp);
        }
        let mut problems = Problems::default();
        let troubles = conversation.finish().troubles;
        if let Some(troubles) = &troubles {
            problems.raw(troubles);
        }
        if let Err(error) = &outcome {
            problems.capture("unreadable-capture", None, 1, error.to_string());
        }
        let end = CaptureEnd {
            format: troubles.is_some().then_some(Format::Http),
            problems: problems.into_list(),
            ..unread(path)
        };
        self.output.emit(&Finding::CaptureEnd(&end));
        self.output.check()?;
        outcome
    }

    /// Reports a capture that can't even be opened.
    ///
    /// # Errors
    /// Where a report can't be written.
    pub fn unreadable(&mut self, path: &str, reason: &str) -> Result<(), AnalysisError> {
        self.output.emit(&Finding::Capture(path));
        let mut problems = Problems::default();
        problems.capture("unreadable-capture", None, 1, reason.to_owned());
        let end = CaptureEnd { problems: problems.into_list(), ..unread(path) };
        self.output.emit(&Finding::CaptureEnd(&end));
        self.output.check()
    }

    /// Ends the run: what the counts amount to is written and returned.
    /// `failed` tells that a capture could not be read to its end.
    ///
    /// # Errors
    /// Where a report can't be written.
    pub fn conclude(self, failed: bool) -> io::Result<Conclusion> {
        let totals = self.output.totals;
        let unverified = totals.unverified_exchanges > 0 && !self.options.allow.gaps;
        let outcome = if failed || totals.unreadable > 0 || totals.violations > 0 || unverified {
            Outcome::Fail
        } else if totals.checked == 0 {
            Outcome::Empty
        } else {
            Outcome::Pass
        };
        let conclusion = Conclusion { totals, outcome };
        self.output.report.finish(&conclusion)?;
        Ok(conclusion)
    }
}

/// A capture that nothing is known of.
fn unread(path: &str) -> CaptureEnd {
    CaptureEnd {
        path: path.to_owned(),
        parts: Vec::new(),
        format: None,
        link_types: Vec::new(),
        packets: 0,
        streams: 0,
        first_time: None,
        last_time: None,
        problems: Vec::new(),
        other_streams: Vec::new(),
        other_counts: [(Protocol::Tls, 0), (Protocol::Http2, 0), (Protocol::Other, 0)],
    }
}

/// One recording while it is read: all layers, and what they leave.
struct Recording<'o> {
    decoder: Decoder,
    reassembler: Reassembler,
    streams: Streams<'o>,
    format: Option<CaptureFormat>,
    links: Vec<LinkType>,
    packets: u64,
    times: Option<(Timestamp, Timestamp)>,
    unsupported: Option<(FrameNo, u64, LinkType)>,
}

impl<'o> Recording<'o> {
    fn new(options: &'o Options) -> Self {
        Self {
            decoder: Decoder::new(&options.limits),
            reassembler: Reassembler::new(&options.limits),
            streams: Streams {
                options,
                slots: HashMap::default(),
                selected: 0,
                problems: Problems::default(),
                others: Vec::new(),
                counts: [(Protocol::Tls, 0), (Protocol::Http2, 0), (Protocol::Other, 0)],
                first_others: [None; 3],
            },
            format: None,
            links: Vec::new(),
            packets: 0,
            times: None,
            unsupported: None,
        }
    }

    fn read(&mut self, source: impl Read, output: &mut Output<'_>) -> Result<(), AnalysisError> {
        let mut reader = CaptureReader::open(source, &self.streams.options.limits, self.packets + 1)?;
        self.format.get_or_insert(reader.format());
        let outcome = self.frames(&mut reader, output);
        self.packets += reader.packets();
        for link in reader.link_types() {
            if !self.links.contains(link) {
                self.links.push(*link);
            }
        }
        for problem in reader.problems() {
            self.streams.problems.capture(
                problem.kind.code(),
                problem.frame,
                problem.count,
                problem.message.clone(),
            );
        }
        outcome
    }

    fn frames<R: Read>(
        &mut self,
        reader: &mut CaptureReader<R>,
        output: &mut Output<'_>,
    ) -> Result<(), AnalysisError> {
        while let Some(frame) = reader.next_frame()? {
            if let Some(at) = frame.stamp.at {
                self.times = Some((self.times.map_or(at, |(first, _)| first), at));
            }
            let Self { decoder, reassembler, streams, unsupported, .. } = self;
            decoder.decode_each(&frame, |decoded| match decoded {
                Decoded::Segment(segment) => {
                    let mut sink =
                        |stream: StreamId, item: StreamItem<'_>| streams.item(stream, item, &mut *output);
                    reassembler.push(&segment, &mut sink);
                }
                Decoded::UnsupportedLink(link) => {
                    unsupported.get_or_insert((frame.stamp.frame, 0, link)).1 += 1;
                }
                _ => {}
            });
            output.check()?;
        }
        Ok(())
    }

    fn finish(
        mut self,
        path: &str,
        parts: Vec<String>,
        outcome: &mut Result<(), AnalysisError>,
        output: &mut Output<'_>,
    ) -> CaptureEnd {
        let streams = &mut self.streams;
        let mut sink = |stream: StreamId, item: StreamItem<'_>| streams.item(stream, item, &mut *output);
        self.reassembler.finish(&mut sink);
        let evicted = self.reassembler.evicted();
        let mut problems = std::mem::take(&mut self.streams.problems);
        if let Some((frame, count, link)) = self.unsupported {
            let name = link.name().into_owned();
            let mut message =
                format!("{count} {} of link type {name} can't be read", plural(count, "packet"));
            if outcome.is_ok() && !self.links.iter().any(|link| packet::supports(*link)) {
                let error = AnalysisError::UnsupportedLink(name);
                message = error.to_string();
                *outcome = Err(error);
            }
            problems.capture("unsupported-link", Some(frame), count, message);
        }
        let incomplete = self.decoder.incomplete_datagrams();
        if incomplete > 0 {
            problems.capture(
                "incomplete-fragments",
                self.decoder.first_incomplete().map(|stamp| stamp.frame),
                incomplete,
                format!(
                    "{incomplete} fragmented {} not whole, and what {} is missing: a capture filter by port \
                     (`port 8001`) keeps first fragments only, one by host keeps all",
                    if incomplete == 1 { "datagram is" } else { "datagrams are" },
                    if incomplete == 1 { "it carried" } else { "they carried" }
                ),
            );
        }
        if evicted > 0 {
            problems.capture(
                "stream-limit",
                self.reassembler.first_evicted().map(|stamp| stamp.frame),
                evicted,
                format!("{evicted} {} let go before their end, to bound memory", plural(evicted, "stream")),
            );
        }
        self.streams.name_others(&mut problems);
        if let Err(error) = outcome {
            let code = if self.format.is_some() { "corrupt-block" } else { "unreadable-capture" };
            if !matches!(error, AnalysisError::UnsupportedLink(_)) {
                problems.capture(code, None, 1, error.to_string());
            }
        }
        self.streams.others.sort_by_key(|other| other.stream);
        CaptureEnd {
            path: path.to_owned(),
            parts,
            format: self.format.map(|format| match format {
                CaptureFormat::Pcap => Format::Pcap,
                CaptureFormat::Pcapng => Format::Pcapng,
            }),
            link_types: self.links.iter().map(|link| link.name().into_owned()).collect(),
            packets: self.packets,
            streams: self.streams.selected,
            first_time: self.times.map(|(first, _)| first),
            last_time: self.times.map(|(_, last)| last),
            problems: problems.into_list(),
            other_streams: std::mem::take(&mut self.streams.others),
            other_counts: self.streams.counts,
        }
    }
}

/// A stream's place.
enum Slot {
    /// Nothing but its beginning was seen.
    Quiet(Opening),
    /// It has payload.
    Talking(Box<Conversation>),
}

/// The open streams of a recording.
struct Streams<'o> {
    options: &'o Options,
    slots: HashMap<StreamId, Slot, RandomState>,
    selected: u64,
    problems: Problems,
    others: Vec<OtherStream>,
    counts: [(Protocol, u64); 3],
    first_others: [Option<StreamId>; 3],
}

impl Streams<'_> {
    fn item(&mut self, stream: StreamId, item: StreamItem<'_>, output: &mut Output<'_>) {
        match item {
            StreamItem::Open(opening) => {
                let filters = &self.options.filters;
                if filters.selects_stream(stream.0)
                    && filters.selects_endpoints(opening.initiator, opening.responder)
                {
                    self.selected += 1;
                    self.slots.insert(stream, Slot::Quiet(opening));
                }
            }
            StreamItem::Closed(_) => {
                if let Some(Slot::Talking(mut conversation)) = self.slots.remove(&stream) {
                    conversation.push(item, self.options, &mut |finding| output.emit(finding));
                    self.closed(stream, conversation.finish());
                }
            }
            item => {
                let Some(slot) = self.slots.get_mut(&stream) else { return };
                if let Slot::Quiet(opening) = slot {
                    if !matches!(item, StreamItem::Data(..) | StreamItem::Gap(..)) {
                        return;
                    }
                    *slot = Slot::Talking(Box::new(Conversation::new(stream, opening, self.options)));
                }
                if let Slot::Talking(conversation) = slot {
                    conversation.push(item, self.options, &mut |finding| output.emit(finding));
                }
            }
        }
    }

    fn closed(&mut self, stream: StreamId, remains: Remains) {
        let Remains { troubles, protocol } = remains;
        if let Some(troubles) = troubles {
            self.problems.stream(stream, &troubles);
        }
        let Some(protocol) = protocol else { return };
        for ((counted, count), first) in self.counts.iter_mut().zip(&mut self.first_others) {
            if *counted == protocol {
                *count += 1;
                *first = Some(first.map_or(stream, |first| first.min(stream)));
            }
        }
        if self.others.len() < LISTED_STREAMS {
            self.others.push(OtherStream { stream, protocol });
        }
    }

    fn name_others(&self, problems: &mut Problems) {
        for ((protocol, count), first) in self.counts.iter().zip(self.first_others) {
            let (code, what) = match protocol {
                Protocol::Tls => ("encrypted-stream", "TLS: record on the side of a proxy where it is plain"),
                Protocol::Http2 => {
                    ("http2-stream", "HTTP/2, which has no chunks: ask the server for HTTP/1.1")
                }
                Protocol::Other => continue,
            };
            if let Some(first) = first {
                let speak = if *count == 1 { "speaks" } else { "speak" };
                problems.capture(
                    code,
                    None,
                    *count,
                    format!(
                        "{count} {} {speak} {what} (the first is stream {first})",
                        plural(*count, "stream")
                    ),
                );
            }
        }
    }
}
