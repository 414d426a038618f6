//! The layers, one after the other: a capture in, findings out.
//!
//! [`Analysis`] reads captures and hands what it finds to a [`Report`]. It
//! opens no file and knows of no command line.

mod batch;
mod coded;
mod conversation;
mod exchange;
mod expect;
mod found;
mod judge;
mod known;
mod message;
pub mod options;
mod problems;
mod recording;
mod streams;
mod threads;
mod trial;
mod waiting;

use std::io::{self, Read};
use std::sync::Arc;

use crate::capture::{CaptureError, NothingYet};
use crate::lint::Linter;
use crate::packet::Segment;
use crate::report::{
    CaptureEnd, Conclusion, ExchangeEnd, ExchangeHead, ExchangeVerdict, Finding, Format, JudgedChunk,
    LeftOut, Outcome, Report, Totals,
};
use crate::tcp::{Close, Direction, Piece, StreamItem};
use crate::units::Stamp;

use conversation::Conversation;
use exchange::Exchange;
use found::{Emit, Found};
use known::Known;
use options::Options;
use problems::Problems;
use recording::Recording;
use streams::NO_OTHERS;

/// What tells HTTP/2 and HTTP/3 in a status line as curl writes it.
const VERSION_OCTETS: usize = "HTTP/2 ".len();

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
    /// The input is a response of another version of HTTP.
    #[error("a response of {0}, which has no chunks: record it with curl --http1.1 --raw -i")]
    OtherHttp(&'static str),
    /// A report can't be written.
    #[error("{0}")]
    Report(#[source] io::Error),
}

/// Reads captures and reports what it finds.
pub struct Analysis<'a> {
    options: &'a Options,
    output: Output<'a>,
}

/// A recording whose segments come one by one; see [`Analysis::segments`].
/// Where it is dropped without [`Segments::finish`], what is still open stays
/// untold.
pub struct Segments<'s, 'a> {
    path: String,
    recording: Recording<'a>,
    output: &'s mut Output<'a>,
}

impl Segments<'_, '_> {
    /// Takes the next segment. Frame numbers rise, or stay where a frame holds
    /// several segments.
    ///
    /// # Errors
    /// Where a report can't be written.
    pub fn push(&mut self, segment: &Segment<'_>) -> Result<(), AnalysisError> {
        self.recording.segment(segment, self.output)
    }

    /// Ends the recording: whatever is still open ends with it.
    ///
    /// # Errors
    /// Where a report can't be written.
    pub fn finish(self) -> Result<(), AnalysisError> {
        let Self { path, recording, output } = self;
        let end = recording.finish(&path, Vec::new(), &mut Ok(()), output);
        output.emit(&Finding::CaptureEnd(&end));
        output.check()
    }
}

/// Where findings go, counted on their way.
struct Output<'a> {
    report: &'a mut dyn Report,
    linter: Option<Box<Linter>>,
    totals: Totals,
    error: Option<io::Error>,
    /// The record of a chunk that was told, to be written over.
    spare: Option<Box<JudgedChunk>>,
    /// An exchange that was told, to be written over.
    spent: Option<Box<Exchange>>,
}

impl<'a> Output<'a> {
    fn new(report: &'a mut dyn Report, linter: Option<Box<Linter>>) -> Self {
        Self { report, linter, totals: Totals::default(), error: None, spare: None, spent: None }
    }

    #[inline]
    fn emit(&mut self, finding: &Finding<'_>) {
        if self.linter.is_none() {
            return self.pass_on(finding);
        }
        self.lint(finding);
    }

    /// Passes a finding on, and what it is found to lack in a watch's story.
    fn lint(&mut self, finding: &Finding<'_>) {
        let Some(linter) = &mut self.linter else { return };
        linter.finding(finding);
        let found = linter.take();
        let Finding::ExchangeEnd(end) = finding else {
            self.pass_on(finding);
            return found.iter().for_each(|lint| self.pass_on(&Finding::Lint(lint)));
        };
        let (lints, denied) = linter.counts(end.head.id);
        found.iter().for_each(|lint| self.pass_on(&Finding::Lint(lint)));
        if lints == 0 {
            return self.pass_on(finding);
        }
        let verdict = if denied > 0 { ExchangeVerdict::Fail } else { end.verdict };
        self.pass_on(&Finding::ExchangeEnd(&ExchangeEnd {
            lints,
            denied,
            verdict,
            ..ExchangeEnd::clone(end)
        }));
    }

    fn pass_on(&mut self, finding: &Finding<'_>) {
        match finding {
            Finding::ExchangeEnd(end) => self.totals.exchange(end),
            Finding::Event(..) => self.totals.events += 1,
            Finding::CaptureEnd(end) => {
                self.totals.captures += 1;
                self.totals.unreadable += u64::from(end.unread.is_some());
                self.totals.packets += end.packets;
                self.totals.streams += end.streams;
            }
            Finding::Lint(lint) => self.totals.denied += u64::from(lint.denied),
            Finding::Capture(_) | Finding::Exchange(_) | Finding::Chunk(_) | Finding::Violation(_) => {}
        }
        if self.error.is_none() {
            self.error = self.report.finding(finding).err();
        }
    }

    /// Tells the report what is under way, or that time passes.
    fn tell(&mut self, tell: impl FnOnce(&mut dyn Report) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = tell(self.report).err();
        }
    }

    fn found(&mut self, found: &Found) {
        found.findings(|finding| self.emit(finding));
    }

    fn check(&mut self) -> Result<(), AnalysisError> {
        if self.error.is_none() {
            return Ok(());
        }
        self.error.take().map_or(Ok(()), |error| Err(AnalysisError::Report(error)))
    }
}

/// Tells the report what is found.
impl Emit for Output<'_> {
    fn emit(&mut self, found: Found) {
        self.found(&found);
    }

    fn one(&mut self, judged: Box<JudgedChunk>) {
        found::one(&judged, |finding| self.emit(finding));
        self.spare = Some(judged);
    }

    fn spare(&mut self) -> Option<Box<JudgedChunk>> {
        self.spare.take()
    }

    fn began(&mut self, head: &Arc<ExchangeHead>) {
        self.emit(&Finding::Exchange(head));
    }

    fn ended(&mut self, exchange: Box<Exchange>) {
        self.emit(&Finding::ExchangeEnd(exchange.ended()));
        self.spent = Some(exchange);
    }

    fn spent(&mut self) -> Option<Box<Exchange>> {
        self.spent.take()
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
        let linter = options.lint.as_ref().map(|deny| Box::new(Linter::new(deny, &options.limits)));
        Self { options, output: Output::new(report, linter) }
    }

    /// Reads one capture, in one pass.
    ///
    /// The source of a capture that is still recorded may answer with
    /// [`NothingYet`] where none has come for a
    /// while. Then what was held back for the sake of packets that may be
    /// recorded late is given out, and reading goes on.
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
        }
        outcome
    }

    /// Takes segments that were decoded elsewhere (from a tap, another reader
    /// of captures, or made by a test) as one recording with the name `path`.
    /// They are analysed as they come, on the calling thread.
    ///
    /// # Errors
    /// Where a report can't be written.
    pub fn segments<'s>(&'s mut self, path: &str) -> Result<Segments<'s, 'a>, AnalysisError> {
        self.output.emit(&Finding::Capture(path));
        self.output.check()?;
        Ok(Segments {
            path: path.to_owned(),
            recording: Recording::of_segments(self.options),
            output: &mut self.output,
        })
    }

    /// Reads raw HTTP/1.1 responses, as `curl --raw -i` prints them.
    ///
    /// # Errors
    /// Where the input can't be read or is no HTTP response, or where a report
    /// can't be written.
    pub fn raw(&mut self, path: &str, mut source: impl Read) -> Result<(), AnalysisError> {
        self.output.emit(&Finding::Capture(path));
        let stamp = Stamp::untimed(1);
        let mut known = Known::default();
        let mut conversation = Conversation::raw(self.options);
        let mut block = vec![0; self.options.limits.read_block];
        let mut at = 0;
        let mut outcome = Ok(());
        let mut start = Vec::new();
        loop {
            let len = match source.read(&mut block) {
                Ok(0) => break,
                Ok(len) => len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if NothingYet::is(&error) => {
                    self.output.tell(|report| report.moment());
                    self.output.check()?;
                    continue;
                }
                Err(error) => {
                    outcome = Err(AnalysisError::Io(error));
                    break;
                }
            };
            let octets = block.get(..len).unwrap_or_default();
            start.extend(octets.iter().take(VERSION_OCTETS.saturating_sub(start.len())));
            let bytes = octets.into();
            let piece = Piece { at, bytes, stamp, released: stamp, segment_start: at == 0 };
            at += len as u64;
            let output = &mut self.output;
            conversation.push(StreamItem::Data(Direction::Backward, piece), &mut known, self.options, output);
            if self.options.follow {
                if let Some(under_way) = conversation.under_way() {
                    output.tell(|report| report.under_way(&under_way));
                }
                output.tell(|report| report.moment());
            }
            self.output.check()?;
            // What isn't HTTP/1 needn't be read to its end, if it has one, but until it
            // shows what else it is.
            if conversation.is_other() && start.len() >= VERSION_OCTETS {
                break;
            }
        }
        let output = &mut self.output;
        conversation.push(StreamItem::Closed(Close::CaptureEnd), &mut known, self.options, output);
        if outcome.is_ok() && !conversation.understood() {
            // As curl writes the status line of either.
            outcome = Err(match start.as_slice() {
                b"HTTP/2 " => AnalysisError::OtherHttp("HTTP/2"),
                b"HTTP/3 " => AnalysisError::OtherHttp("HTTP/3"),
                _ => AnalysisError::NotHttp,
            });
        }
        let mut problems = Problems::default();
        let left_out = LeftOut { streams: 0, exchanges: conversation.left_out() };
        if let Some(troubles) = conversation.remains().and_then(|remains| remains.troubles) {
            problems.raw(&troubles);
        }
        if let Err(error) = &outcome {
            problems.capture("unreadable-capture", None, 1, error.to_string());
        }
        let end = CaptureEnd {
            format: conversation.is_http().then_some(Format::Http),
            unread: outcome.as_ref().err().map(ToString::to_string),
            problems: problems.into_list(),
            left_out,
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
        let unread = CaptureEnd { unread: Some(reason.to_owned()), ..unread(path) };
        let end = CaptureEnd { problems: problems.into_list(), ..unread };
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
        let outcome =
            if failed || totals.unreadable > 0 || totals.violations > 0 || totals.denied > 0 || unverified {
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
        unread: None,
        link_types: Vec::new(),
        packets: 0,
        streams: 0,
        left_out: LeftOut::default(),
        first_time: None,
        last_time: None,
        problems: Vec::new(),
        other_streams: Vec::new(),
        other_counts: NO_OTHERS,
    }
}
