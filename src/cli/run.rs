//! A run: captures opened, reports written, the exit status.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

use super::args::{Output, ReportFormat};
use super::output::OutputFile;
use super::settings::{Input, Settings};
use crate::capture::CaptureReader;
use crate::http::Protocol;
use crate::limits::Limits;
use crate::pipeline::options::Options;
use crate::pipeline::{Analysis, AnalysisError};
use crate::report::csv::CsvReport;
use crate::report::json::JsonReport;
use crate::report::jsonl::JsonlReport;
use crate::report::payload::Payload;
use crate::report::table::Table;
use crate::report::text::{TextOptions, counted, printable};
use crate::report::walkthrough::Walkthrough;
use crate::report::{CaptureEnd, Conclusion, Finding, Outcome, Report};
use crate::units::Timestamp;

/// Payload octets that a preview needs: a line of a wide terminal.
const PREVIEW_OCTETS: usize = 4 << 10;

/// The exit statuses of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Something was checked, and nothing failed.
    Pass = 0,
    /// A check failed.
    Fail = 1,
    /// Wrong usage, or a capture that can't be read.
    Error = 2,
    /// Nothing to check.
    Nothing = 3,
}

/// Analyses what the settings name, and writes the reports that they ask for.
/// Messages go to `messages`.
pub fn run(settings: &Settings, stdout: impl Write, messages: &mut impl Write) -> Status {
    match try_run(settings, stdout, messages) {
        Ok(status) => status,
        Err(Stop::Quietly) => Status::Pass,
        Err(Stop::Failed(message)) => {
            // Nobody is left to be told where this fails.
            let _ = writeln!(messages, "chunkscope: {}", printable(&message));
            Status::Error
        }
    }
}

/// Why a run ends before its end.
enum Stop {
    /// The reader of standard output left.
    Quietly,
    /// With a message.
    Failed(String),
}

fn try_run(settings: &Settings, stdout: impl Write, messages: &mut impl Write) -> Result<Status, Stop> {
    let limits = Limits::default();
    let options = Options {
        expectation: settings.expect,
        allow: settings.allow,
        filters: settings.filters.clone(),
        keep_payload: keep_payload(settings, &limits),
        check_utf8: formats(settings).any(|format| {
            matches!(format, ReportFormat::Json | ReportFormat::Jsonl | ReportFormat::Csv)
                && settings.shown.payload(format) != Payload::None
        }),
        summaries: formats(settings).any(|format| format != ReportFormat::None),
        limits,
    };
    let mut files = Vec::new();
    for Output { format, path } in &settings.outputs {
        let file = OutputFile::create(path)
            .map_err(|error| Stop::Failed(format!("{}: {}", path.display(), explain_output(&error))))?;
        files.push((path.display().to_string(), *format, file));
    }
    let mut reports = Reports::default();
    if let Some(format) = settings.stdout_format() {
        let out = BufWriter::with_capacity(64 << 10, stdout);
        reports.0.push((None, report(format, out, settings, settings.color)));
    }
    for (name, format, file) in &mut files {
        reports.0.push((Some(name.clone()), report(*format, file, settings, false)));
    }
    let mut reports =
        Noting { reports, messages: &mut *messages, raw: settings.raw, told: HashSet::new(), others: [0; 2] };
    let mut analysis = Analysis::new(&options, &mut reports);
    let mut errors = Vec::new();
    if settings.join {
        let outcome = join(&mut analysis, &settings.captures, &options.limits);
        note(outcome, &mut errors)?;
    } else {
        for input in &settings.captures {
            let name = input.name();
            let outcome = match open(input) {
                Ok(source) if settings.raw => analysis.raw(&name, source),
                Ok(source) => analysis.capture(&name, source),
                Err(error) => analysis.unreadable(&name, &explain(&error)).and(Err(AnalysisError::Io(error))),
            }
            .map_err(|error| (name, error));
            note(outcome, &mut errors)?;
        }
    }
    let conclusion = analysis.conclude(!errors.is_empty()).map_err(stop)?;
    let told = std::mem::take(&mut reports.told);
    let [tls, http2] = reports.others;
    drop(reports);
    for (name, _, file) in files {
        file.commit().map_err(|error| Stop::Failed(format!("{name}: {}", explain_output(&error))))?;
    }
    for Unread { problem, message } in &errors {
        if problem.as_ref().is_none_or(|problem| !told.contains(problem)) {
            let _ = writeln!(messages, "chunkscope: {}", printable(message));
        }
    }
    let shown = matches!(settings.stdout_format(), Some(ReportFormat::Table | ReportFormat::Walkthrough));
    if conclusion.outcome == Outcome::Empty && !shown {
        let _ = writeln!(messages, "chunkscope: {}", nothing(conclusion.totals.exchanges, tls, http2));
    }
    Ok(status(&conclusion, settings, !errors.is_empty()))
}

/// Why there is nothing to check, in one line.
fn nothing(exchanges: u64, tls: u64, http2: u64) -> String {
    let named = [(exchanges, "other exchange"), (tls, "TLS connection"), (http2, "HTTP/2 connection")];
    let seen: Vec<_> =
        named.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun)).collect();
    let instead = if seen.is_empty() { "no HTTP at all".to_owned() } else { seen.join(", ") };
    format!(
        "nothing to check: no chunked event stream was found, but {instead}; record where the stream is plain \
         HTTP/1.1, for instance at `kubectl proxy`, or say what the chunks hold (--expect)"
    )
}

fn status(conclusion: &Conclusion, settings: &Settings, unreadable: bool) -> Status {
    match conclusion.outcome {
        _ if unreadable => Status::Error,
        Outcome::Pass => Status::Pass,
        Outcome::Fail => Status::Fail,
        Outcome::Empty if settings.allow.nothing => Status::Pass,
        Outcome::Empty => Status::Nothing,
    }
}

/// A capture that can't be read, or not to its end.
struct Unread {
    /// The problem by which it may have been told of already.
    problem: Option<String>,
    message: String,
}

/// Keeps what can't be read for the end; stops where a report can't be written.
fn note(outcome: Result<(), (String, AnalysisError)>, errors: &mut Vec<Unread>) -> Result<(), Stop> {
    match outcome {
        Ok(()) => Ok(()),
        Err((_, AnalysisError::Report(error))) => Err(stop(error)),
        Err((name, AnalysisError::Io(error))) => {
            errors.push(Unread { problem: None, message: format!("{name}: {}", explain(&error)) });
            Ok(())
        }
        Err((name, error)) => {
            let message = format!("{name}: {}", in_full(&error));
            errors.push(Unread { problem: Some(format!("{name}: {error}")), message });
            Ok(())
        }
    }
}

fn stop(error: io::Error) -> Stop {
    if error.kind() == io::ErrorKind::BrokenPipe {
        Stop::Quietly
    } else {
        Stop::Failed(format!("a report can't be written: {error}"))
    }
}

/// Opens an input; a directory, which opens well, is an error like others.
fn open(input: &Input) -> io::Result<Box<dyn Read>> {
    match input {
        Input::Stdin => Ok(Box::new(io::stdin().lock())),
        Input::File(path) => {
            let file = File::open(path)?;
            if file.metadata()?.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            Ok(Box::new(file))
        }
    }
}

/// What an operating system's error means for who typed the path.
fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::IsADirectory => "a directory, not a capture: name the files in it".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "not allowed to read it: captures that root recorded need chmod or sudo".to_owned()
        }
        _ => error.to_string(),
    }
}

/// The same for who named a report's file.
fn explain_output(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "the report can't be written: no such directory".to_owned(),
        io::ErrorKind::IsADirectory => {
            "the report can't be written: a directory; name a file in it".to_owned()
        }
        _ => format!("the report can't be written: {error}"),
    }
}

/// What can't be read, and what the operating system or a decompressor says
/// of it.
fn in_full(error: &AnalysisError) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Reads captures as parts of one recording, in the order of their first packets.
fn join(
    analysis: &mut Analysis<'_>,
    captures: &[Input],
    limits: &Limits,
) -> Result<(), (String, AnalysisError)> {
    let mut parts: Vec<(Option<Timestamp>, &Input)> = Vec::new();
    for input in captures {
        let first = match input {
            Input::Stdin => None,
            Input::File(_) => first_time(input, limits),
        };
        parts.push((first, input));
    }
    // A part without a time (standard input, one without packets) stays behind
    // those named before it.
    let mut latest = None;
    for (time, _) in &mut parts {
        latest = time.or(latest);
        *time = latest;
    }
    parts.sort_by(|(one, _), (other, _)| match (one, other) {
        (Some(one), Some(other)) => one.nanos_since(*other).cmp(&0),
        _ => one.is_some().cmp(&other.is_some()),
    });
    let name = parts.first().map(|(_, input)| input.name()).unwrap_or_default();
    analysis
        .joined(parts.into_iter().map(|(_, input)| (input.name(), open(input))))
        .map_err(|error| (name, error))
}

/// The time of a capture's first packet; what can't be read is told of later.
fn first_time(input: &Input, limits: &Limits) -> Option<Timestamp> {
    CaptureReader::open(open(input).ok()?, limits, 1).ok()?.first_time().ok()?
}

fn formats(settings: &Settings) -> impl Iterator<Item = ReportFormat> {
    settings.stdout_format().into_iter().chain(settings.outputs.iter().map(|output| output.format))
}

/// The payload octets that the reports want of each chunk.
fn keep_payload(settings: &Settings, limits: &Limits) -> usize {
    let wanted = formats(settings).map(|format| match settings.shown.payload(format) {
        Payload::None => 0,
        Payload::Preview => PREVIEW_OCTETS,
        Payload::Full => limits.payload,
    });
    wanted.max().unwrap_or(0)
}

/// The report of that format, to be written to `out`. What `settings` say of
/// other formats and of files doesn't matter here.
pub fn report<'a>(
    format: ReportFormat,
    out: impl Write + 'a,
    settings: &Settings,
    color: bool,
) -> Box<dyn Report + 'a> {
    let shown = settings.shown;
    let text = TextOptions {
        width: usize::from(settings.width),
        color,
        failed_only: shown.failed,
        list_all: shown.all,
        payload: shown.payload(format),
        limit: shown.limit,
        allow: settings.allow,
    };
    match format {
        ReportFormat::Table => Box::new(Table::new(out, text)),
        ReportFormat::Walkthrough => Box::new(Walkthrough::new(out, text)),
        ReportFormat::Json => Box::new(JsonReport::new(out, text.payload)),
        ReportFormat::Jsonl => Box::new(JsonlReport::new(out, text.payload)),
        ReportFormat::Csv => Box::new(CsvReport::new(out, text.payload)),
        ReportFormat::None => Box::new(Reports::default()),
    }
}

/// Several reports in one pass, those to files with their names.
#[derive(Default)]
struct Reports<'a>(Vec<(Option<String>, Box<dyn Report + 'a>)>);

impl Reports<'_> {
    fn each(&mut self, mut write: impl FnMut(&mut dyn Report) -> io::Result<()>) -> io::Result<()> {
        for (name, report) in &mut self.0 {
            write(report.as_mut()).map_err(|error| match name {
                Some(name) => io::Error::other(format!("{name}: {error}")),
                None => error,
            })?;
        }
        Ok(())
    }
}

impl Report for Reports<'_> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.each(|report| report.finding(finding))
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.each(|report| report.finish(conclusion))
    }
}

/// Writes reports, and the problems of each capture to standard error.
struct Noting<'a, W> {
    reports: Reports<'a>,
    messages: W,
    raw: bool,
    /// What was told of, with the capture's path.
    told: HashSet<String>,
    /// TLS and HTTP/2 connections.
    others: [u64; 2],
}

impl<W: Write> Noting<'_, W> {
    fn problems(&mut self, end: &CaptureEnd) {
        for problem in &end.problems {
            // What couldn't be read is told of at the end, once.
            if problem.code == "unreadable-capture" {
                continue;
            }
            self.told.insert(format!("{}: {}", end.path, problem.message));
            let stream = problem.stream.map(|stream| format!("stream {stream}: ")).unwrap_or_default();
            let frame = problem
                .frame
                .filter(|_| !self.raw)
                .map(|frame| format!(" (frame {frame})"))
                .unwrap_or_default();
            let line = format!("{}: {stream}{}{frame} [{}]", end.path, problem.message, problem.code);
            let _ = writeln!(self.messages, "chunkscope: {}", printable(&line));
        }
    }
}

impl<W: Write> Report for Noting<'_, W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.reports.finding(finding)?;
        if let Finding::CaptureEnd(end) = finding {
            let [tls, http2] = &mut self.others;
            for (protocol, count) in end.other_counts {
                match protocol {
                    Protocol::Tls => *tls += count,
                    Protocol::Http2 => *http2 += count,
                    Protocol::Other => {}
                }
            }
            self.problems(end);
        }
        Ok(())
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.reports.finish(conclusion)
    }
}
