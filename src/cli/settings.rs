//! What was typed, resolved: checked against itself and the environment, with
//! every default filled in.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use super::args::{AllowWord, Args, ColorWord, ExpectWord, Output, PayloadWord, ReportFormat};
use crate::event::Kind;
use crate::pipeline::options::{Allow, Expectation, Filters};
use crate::report::payload::Payload;

/// Columns of a table where there is no terminal.
const DEFAULT_WIDTH: u16 = 120;

/// The fewest columns that a table can be laid out in.
const LEAST_WIDTH: u16 = 40;

/// More columns than this are a mistake rather than a terminal.
const MOST_WIDTH: u16 = 1000;

/// What the environment says, so that it can be told in tests.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Its columns, if it is one.
    pub terminal_columns: Option<u16>,
    /// `COLUMNS`.
    pub columns: Option<OsString>,
    /// `NO_COLOR`.
    pub no_color: Option<OsString>,
    /// `TERM`.
    pub term: Option<OsString>,
}

impl Environment {
    /// That of this process.
    #[must_use]
    pub fn current() -> Self {
        let stdout = std::io::stdout();
        Self {
            stdout_is_terminal: stdout.is_terminal(),
            terminal_columns: terminal_size::terminal_size_of(&stdout).map(|(width, _)| width.0),
            columns: std::env::var_os("COLUMNS"),
            no_color: std::env::var_os("NO_COLOR"),
            term: std::env::var_os("TERM"),
        }
    }

    /// Columns of a table.
    fn width(&self) -> u16 {
        let sane = LEAST_WIDTH..=MOST_WIDTH;
        let wanted = self
            .columns
            .as_ref()
            .and_then(|columns| columns.to_str()?.trim().parse().ok());
        wanted
            .filter(|columns| sane.contains(columns))
            .unwrap_or_else(|| match self.terminal_columns {
                // A terminal without a size says 0.
                None | Some(0) => DEFAULT_WIDTH,
                Some(columns) => columns.clamp(LEAST_WIDTH, MOST_WIDTH),
            })
    }

    /// Whether colours are used where nobody said so.
    fn color(&self) -> bool {
        // no-color.org: set and not empty, whatever the value.
        let refused = self
            .no_color
            .as_ref()
            .is_some_and(|value| !value.is_empty());
        self.stdout_is_terminal && !refused && self.term.as_ref().is_none_or(|term| term != "dumb")
    }
}

/// Where a capture comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Input {
    /// Its name in reports and messages: the path as given, `-` for standard
    /// input.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Stdin => String::from("-"),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// What the reports for people show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Only what failed.
    pub failed: bool,
    /// Exchanges without an expectation in full.
    pub all: bool,
    /// The most chunk rows a response; `None` is all.
    pub limit: Option<u64>,
    /// How much of the payloads; `None` is the format's own default.
    pub payload: Option<Payload>,
}

impl Shown {
    /// How much of the payloads a report in this format shows.
    #[must_use]
    pub const fn payload(&self, format: ReportFormat) -> Payload {
        match (self.payload, format) {
            (Some(payload), _) => payload,
            (None, ReportFormat::Table | ReportFormat::Walkthrough) => Payload::Preview,
            (None, ReportFormat::Json | ReportFormat::Jsonl | ReportFormat::Csv) => Payload::Full,
            (None, ReportFormat::None) => Payload::None,
        }
    }
}

/// Everything that a run needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The captures, in the order given; at least one.
    pub captures: Vec<Input>,
    /// Whether they are raw HTTP responses.
    pub raw: bool,
    /// Whether they are parts of one recording.
    pub join: bool,
    /// The report on standard output; see also `quiet`.
    pub format: ReportFormat,
    /// Whether standard output stays empty, whatever `format` says.
    pub quiet: bool,
    /// Reports that go to files, no two to the same.
    pub outputs: Vec<Output>,
    /// What the chunks are expected to hold.
    pub expect: Expectation,
    /// What is looked at.
    pub filters: Filters,
    /// What may not fail the check.
    pub allow: Allow,
    /// What the reports for people show.
    pub shown: Shown,
    /// Whether standard output has colours. Files never have.
    pub color: bool,
    /// Columns of a table.
    pub width: u16,
}

/// Wrong usage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageError {
    /// What kind of mistake.
    pub kind: ErrorKind,
    /// What is wrong and what to do, without a full stop.
    pub message: String,
}

impl UsageError {
    fn conflict(message: String) -> Self {
        Self {
            kind: ErrorKind::ArgumentConflict,
            message,
        }
    }
}

impl Settings {
    /// What was typed, in this environment.
    ///
    /// # Errors
    /// No capture, standard input given twice, or an output that would
    /// overwrite another one or a capture.
    pub fn resolve(args: Args, environment: &Environment) -> Result<Self, UsageError> {
        let captures = inputs(args.captures)?;
        check_outputs(&args.outputs, &captures)?;
        Ok(Self {
            captures,
            raw: args.raw,
            join: args.join,
            format: args.format,
            quiet: args.quiet,
            outputs: args.outputs,
            expect: expectation(args.expect),
            filters: Filters {
                streams: args.streams,
                ports: args.ports,
                hosts: args.hosts,
                target: args.target,
            },
            allow: allow(&args.allow),
            shown: Shown {
                failed: args.failed,
                all: args.all,
                limit: (args.limit > 0).then_some(args.limit),
                payload: args.payload.map(|word| match word {
                    PayloadWord::None => Payload::None,
                    PayloadWord::Preview => Payload::Preview,
                    PayloadWord::Full => Payload::Full,
                }),
            },
            color: match args.color {
                ColorWord::Auto => environment.color(),
                ColorWord::Always => true,
                ColorWord::Never => false,
            },
            width: environment.width(),
        })
    }

    /// The report that goes to standard output, if one does.
    #[must_use]
    pub fn stdout_format(&self) -> Option<ReportFormat> {
        Some(self.format).filter(|&format| !self.quiet && format != ReportFormat::None)
    }
}

fn inputs(paths: Vec<PathBuf>) -> Result<Vec<Input>, UsageError> {
    if paths.is_empty() {
        let message = "no capture is given\n\n\
            Give a file that tcpdump or Wireshark wrote, or - for standard input:\n  \
            tcpdump -i any -w capture.pcap port 8001\n  \
            chunkscope capture.pcap";
        return Err(UsageError {
            kind: ErrorKind::MissingRequiredArgument,
            message: message.to_owned(),
        });
    }
    let inputs: Vec<_> = paths
        .into_iter()
        .map(|path| {
            if path.as_os_str() == "-" {
                Input::Stdin
            } else {
                Input::File(path)
            }
        })
        .collect();
    if inputs
        .iter()
        .filter(|&input| *input == Input::Stdin)
        .count()
        > 1
    {
        return Err(UsageError::conflict(String::from(
            "standard input (-) can be read only once",
        )));
    }
    Ok(inputs)
}

fn check_outputs(outputs: &[Output], captures: &[Input]) -> Result<(), UsageError> {
    let mut places: HashSet<PathBuf> = HashSet::new();
    for output in outputs {
        if !places.insert(place(&output.path)) {
            let message = format!(
                "two reports would go to the same file '{}'",
                output.path.display()
            );
            return Err(UsageError::conflict(message));
        }
    }
    for capture in captures {
        if let Input::File(path) = capture
            && places.contains(&place(path))
            && !is_device(path)
        {
            let message = format!("a report would overwrite the capture '{}'", path.display());
            return Err(UsageError::conflict(message));
        }
    }
    Ok(())
}

/// A path by which the same file is known again: without `.`, `..` and links
/// where it exists, else within its directory.
fn place(path: &Path) -> PathBuf {
    let whole = || path.canonicalize().ok();
    let within = || {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        Some(
            parent
                .unwrap_or(Path::new("."))
                .canonicalize()
                .ok()?
                .join(path.file_name()?),
        )
    };
    whole().or_else(within).unwrap_or_else(|| path.to_owned())
}

/// Whether it is there and neither a file nor a directory: `/dev/tty`.
fn is_device(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

const fn expectation(word: ExpectWord) -> Expectation {
    match word {
        ExpectWord::Auto => Expectation::Auto,
        ExpectWord::Watch => Expectation::Kind(Kind::Watch),
        ExpectWord::Json => Expectation::Kind(Kind::Json),
        ExpectWord::Ndjson => Expectation::Kind(Kind::Ndjson),
        ExpectWord::Sse => Expectation::Kind(Kind::Sse),
        ExpectWord::Any => Expectation::Any,
    }
}

fn allow(words: &[AllowWord]) -> Allow {
    let mut allow = Allow::default();
    for word in words {
        let allowed = match word {
            AllowWord::Several => &mut allow.several,
            AllowWord::Part => &mut allow.part,
            AllowWord::Mixed => &mut allow.mixed,
            AllowWord::Gaps => &mut allow.gaps,
            AllowWord::Nothing => &mut allow.nothing,
        };
        *allowed = true;
    }
    allow
}
