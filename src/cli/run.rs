//! A run: captures opened, reports written, the exit status.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, LineWriter, Read, Write};
use std::path::Path;
use std::time::Instant;

use super::args::{Args, Output, ReportFormat};
use super::generate::Generated;
use super::live::{LiveInput, Stop};
use super::output::{OutputFile, StepSummary};
use super::progress::Progress;
use super::reports::{Noting, Reports, SoFar};
use super::settings::{Input, Settings};
use clap::CommandFactory as _;

use crate::capture::CaptureReader;
use crate::limits::Limits;
use crate::pipeline::options::{Options, Shows};
use crate::pipeline::{Analysis, AnalysisError};
use crate::report::csv::CsvReport;
use crate::report::follow::Follow;
use crate::report::github::GithubReport;
use crate::report::html::{HtmlOptions, HtmlReport};
use crate::report::json::JsonReport;
use crate::report::jsonl::JsonlReport;
use crate::report::junit::JunitReport;
use crate::report::markdown::{COMMENT, MarkdownReport};
use crate::report::payload::Payload;
use crate::report::sarif::SarifReport;
use crate::report::stall::Stalls;
use crate::report::table::Table;
use crate::report::text::{TextOptions, counted, printable};
use crate::report::walkthrough::Walkthrough;
use crate::report::{Conclusion, Outcome, Report};
use crate::units::Timestamp;

/// Payload octets that a preview needs: a line of a wide terminal.
const PREVIEW_OCTETS: usize = 4 << 10;

/// The most octets of a payload that a preview shows in one piece: the columns
/// of the widest table.
const SHOWN_OCTETS: usize = 1000;

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
///
/// Where the reader of standard output leaves (`| head`), nothing more is
/// written there. Reports that go to files are finished all the same; without
/// any, the run ends at once, with the status of what was found so far.
pub fn run(settings: &Settings, stdout: impl Write, messages: &mut impl Write) -> Status {
    let done = match settings.generate {
        Some(generated) => generate(generated, stdout),
        None => try_run(settings, stdout, messages),
    };
    match done {
        Ok(status) => status,
        Err(Ended::Quietly(status)) => status,
        Err(Ended::Failed(message)) => {
            // Nobody is left to be told where this fails.
            let _ = writeln!(messages, "chunkscope: {}", printable(&message));
            Status::Error
        }
    }
}

/// Why a run ends before its end.
enum Ended {
    /// The reader of standard output left: the status of what was found so far.
    Quietly(Status),
    /// With a message.
    Failed(String),
}

/// What is said where standard output can't be written.
pub fn unwritable(error: &io::Error) -> String {
    format!("standard output can't be written: {error}")
}

/// Writes what is shipped beside the program.
fn generate(generated: Generated, mut stdout: impl Write) -> Result<Status, Ended> {
    let text = generated.text(Args::command()).map_err(|error| Ended::Failed(error.to_string()))?;
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Ended::Failed(unwritable(&error))),
        _ => Ok(Status::Pass),
    }
}

fn try_run(settings: &Settings, stdout: impl Write, messages: &mut impl Write) -> Result<Status, Ended> {
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
        summaries: settings.lint.is_some() || formats(settings).any(|format| format != ReportFormat::None),
        lint: settings.lint.clone(),
        follow: settings.follow,
        threads: settings.threads.get(),
        redact: settings.redact,
        shows: shows(settings),
        explain: formats(settings).any(|format| format != ReportFormat::None),
        limits,
    };
    let mut files = Vec::new();
    for Output { format, path } in &settings.outputs {
        let file = OutputFile::create(path)
            .map_err(|error| Ended::Failed(format!("{}: {}", path.display(), explain_output(&error))))?;
        files.push((path.display().to_string(), *format, file));
    }
    let mut summary = match &settings.step_summary {
        Some(path) => {
            let refused = |error| Ended::Failed(format!("{}: {}", path.display(), explain_output(&error)));
            Some((path.display().to_string(), StepSummary::open(path).map_err(refused)?))
        }
        None => None,
    };
    let mut reports = Reports::default();
    let clock = Instant::now();
    match settings.stdout_format() {
        Some(ReportFormat::Table) if settings.follow => {
            let text = text_options(ReportFormat::Table, settings, settings.color);
            let clock = Box::new(move || clock.elapsed());
            reports.0.push((None, Box::new(Follow::new(stdout, text, settings.stall, clock))));
        }
        Some(format) if settings.follow => {
            reports.0.push((None, report(format, LineWriter::new(stdout), settings, settings.color)));
        }
        Some(format) => {
            let out = BufWriter::with_capacity(64 << 10, stdout);
            reports.0.push((None, report(format, out, settings, settings.color)));
        }
        None => {}
    }
    let progress = settings.progress.then(|| Progress::through(&settings.captures));
    // Lines on standard output tell of stalls themselves.
    let tells_stalls = settings.follow && settings.stdout_format() != Some(ReportFormat::Table);
    for (name, format, file) in &mut files {
        reports.0.push((Some(name.clone()), report(*format, file, settings, false)));
    }
    if let Some((name, summary)) = &mut summary {
        let room = summary.room();
        reports.0.push((Some(name.clone()), Box::new(MarkdownReport::new(summary, settings.allow, room))));
    }
    let mut reports = Noting {
        reports,
        messages: &mut *messages,
        raw: settings.raw,
        allow: settings.allow,
        told: HashSet::new(),
        others: [0; 2],
        left_out: false,
        stalls: tells_stalls.then(|| (Stalls::new(settings.stall), clock)),
        progress: progress.clone(),
        so_far: SoFar::default(),
    };
    let mut errors = Vec::new();
    let analysis = Analysis::new(&options, &mut reports);
    let conclusion = analyse(analysis, settings, &options.limits, progress.as_ref(), &mut errors);
    if let Some(progress) = progress {
        progress.done();
    }
    let conclusion = match conclusion {
        Ok(conclusion) => conclusion,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            tell_unread(&errors, &reports.told, &mut reports.messages);
            return Err(Ended::Quietly(reports.so_far.status(settings, !errors.is_empty())));
        }
        Err(error) => return Err(Ended::Failed(format!("a report can't be written: {error}"))),
    };
    let told = std::mem::take(&mut reports.told);
    let [tls, http2] = reports.others;
    let left_out = reports.left_out;
    drop(reports);
    if let Some((name, summary)) = summary {
        summary.commit().map_err(|error| Ended::Failed(format!("{name}: {}", explain_output(&error))))?;
    }
    for (name, _, file) in files {
        file.commit().map_err(|error| Ended::Failed(format!("{name}: {}", explain_output(&error))))?;
    }
    tell_unread(&errors, &told, messages);
    let shown = matches!(
        settings.stdout_format(),
        Some(ReportFormat::Table | ReportFormat::Walkthrough | ReportFormat::Github | ReportFormat::Markdown)
    );
    if conclusion.outcome == Outcome::Empty && !shown {
        let _ =
            writeln!(messages, "chunkscope: {}", nothing(conclusion.totals.exchanges, tls, http2, left_out));
    }
    Ok(match conclusion.exit_status(settings.allow) {
        0 => Status::Pass,
        1 => Status::Fail,
        3 => Status::Nothing,
        _ => Status::Error,
    })
}

/// Reads all captures, and concludes. What can't be read is kept for the end.
///
/// # Errors
/// Where a report can't be written.
fn analyse(
    mut analysis: Analysis<'_>,
    settings: &Settings,
    limits: &Limits,
    progress: Option<&Progress>,
    errors: &mut Vec<Unread>,
) -> io::Result<Conclusion> {
    if settings.join {
        let outcome = join(&mut analysis, &settings.captures, limits, progress);
        note(outcome, errors)?;
    } else {
        let stop = match settings.follow {
            true => Some(Stop::by_signals()?),
            false => None,
        };
        for input in &settings.captures {
            let name = input.name();
            let source = match &stop {
                Some(stop) if stop.is_wished() => break,
                Some(stop) => follow(input, stop),
                None => open_metered(input, progress),
            };
            let outcome = match source {
                Ok(source) if settings.raw => analysis.raw(&name, source),
                Ok(source) => analysis.capture(&name, source),
                Err(error) => analysis.unreadable(&name, &explain(&error)).and(Err(AnalysisError::Io(error))),
            }
            .map_err(|error| (name, error));
            note(outcome, errors)?;
        }
    }
    analysis.conclude(!errors.is_empty())
}

/// Why there is nothing to check, in one line.
fn nothing(exchanges: u64, tls: u64, http2: u64, left_out: bool) -> String {
    let named = [(exchanges, "other exchange"), (tls, "TLS connection"), (http2, "HTTP/2 connection")];
    let seen: Vec<_> =
        named.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun)).collect();
    if left_out {
        let instead = if seen.is_empty() { String::new() } else { format!(", but {}", seen.join(", ")) };
        return format!(
            "nothing to check: no chunked event stream was found{instead} in what --stream, --port, --host and \
             --target select"
        );
    }
    let instead = if seen.is_empty() { "no HTTP at all".to_owned() } else { seen.join(", ") };
    format!(
        "nothing to check: no chunked event stream was found, but {instead}; record where the stream is plain \
         HTTP/1.1, for instance at `kubectl proxy`, or say what the chunks hold (--expect)"
    )
}

/// A capture that can't be read, or not to its end.
struct Unread {
    /// The problem by which it may have been told of already.
    problem: Option<String>,
    message: String,
}

/// Tells of what can't be read, once each.
fn tell_unread(unread: &[Unread], told: &HashSet<String>, messages: &mut impl Write) {
    for Unread { problem, message } in unread {
        if problem.as_ref().is_none_or(|problem| !told.contains(problem)) {
            let _ = writeln!(messages, "chunkscope: {}", printable(message));
        }
    }
}

/// Keeps what can't be read for the end; stops where a report can't be written.
fn note(outcome: Result<(), (String, AnalysisError)>, errors: &mut Vec<Unread>) -> io::Result<()> {
    match outcome {
        Ok(()) => Ok(()),
        Err((_, AnalysisError::Report(error))) => Err(error),
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

/// Opens an input; a directory, which opens well, is an error like others.
fn open(input: &Input) -> io::Result<Box<dyn Read>> {
    match input {
        Input::Stdin => Ok(Box::new(io::stdin().lock())),
        Input::File(path) => Ok(Box::new(open_file(path)?)),
    }
}

/// Opens an input of which progress is shown, if it is.
fn open_metered(input: &Input, progress: Option<&Progress>) -> io::Result<Box<dyn Read>> {
    let source = open(input)?;
    Ok(match progress {
        Some(progress) => Box::new(progress.of(source)),
        None => source,
    })
}

/// Opens an input that is followed while it is written.
fn follow(input: &Input, stop: &Stop) -> io::Result<Box<dyn Read>> {
    let live = match input {
        Input::Stdin => LiveInput::new(|| io::stdin().lock(), stop.clone()),
        Input::File(path) => {
            let file = open_file(path)?;
            LiveInput::new(move || file, stop.clone())
        }
    };
    Ok(Box::new(live?))
}

fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
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
    progress: Option<&Progress>,
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
        .joined(parts.into_iter().map(|(_, input)| (input.name(), open_metered(input, progress))))
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

/// What the reports show in which secrets may be.
fn shows(settings: &Settings) -> Shows {
    if settings.redact {
        return Shows::default();
    }
    let payload = formats(settings).map(|format| match settings.shown.payload(format) {
        Payload::None => 0,
        Payload::Preview => SHOWN_OCTETS,
        Payload::Full => usize::MAX,
    });
    Shows {
        targets: formats(settings).any(|format| format != ReportFormat::None),
        fields: formats(settings).any(|format| {
            use ReportFormat::{Csv, None, Table, Walkthrough};
            !matches!(format, Csv | None | Table | Walkthrough)
        }),
        payload: payload.max().unwrap_or(0),
    }
}

/// The report of that format, to be written to `out`. What `settings` say of
/// other formats and of files doesn't matter here.
pub fn report<'a>(
    format: ReportFormat,
    out: impl Write + 'a,
    settings: &Settings,
    color: bool,
) -> Box<dyn Report + 'a> {
    let text = text_options(format, settings, color);
    match format {
        ReportFormat::Table => Box::new(Table::new(out, text)),
        ReportFormat::Walkthrough => Box::new(Walkthrough::new(out, text).only(&settings.chunks)),
        ReportFormat::Json => Box::new(JsonReport::new(out, text.payload)),
        ReportFormat::Jsonl => Box::new(JsonlReport::new(out, text.payload)),
        ReportFormat::Csv => Box::new(CsvReport::new(out, text.payload)),
        ReportFormat::Html => {
            let TextOptions { failed_only, list_all, payload, limit, allow, .. } = text;
            Box::new(HtmlReport::new(out, HtmlOptions { failed_only, list_all, payload, limit, allow }))
        }
        ReportFormat::Junit => Box::new(JunitReport::new(out, text.allow)),
        ReportFormat::Sarif => Box::new(SarifReport::new(out, text.allow)),
        ReportFormat::Github => Box::new(GithubReport::new(out, text.allow)),
        ReportFormat::Markdown => Box::new(MarkdownReport::new(out, text.allow, COMMENT)),
        ReportFormat::None => Box::new(Reports::default()),
    }
}

fn text_options(format: ReportFormat, settings: &Settings, color: bool) -> TextOptions {
    let shown = settings.shown;
    TextOptions {
        width: usize::from(settings.width),
        color,
        failed_only: shown.failed,
        list_all: shown.all,
        payload: shown.payload(format),
        limit: shown.limit(format),
        allow: settings.allow,
    }
}
