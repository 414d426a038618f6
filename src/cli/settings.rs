//! What was typed, resolved: checked against itself and the environment, with
//! every default filled in.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::{AllowWord, Args, ColorWord, ExpectWord, Output, PayloadWord, ReportFormat};
use super::generate::Generated;
use crate::event::Kind;
use crate::lint::Code;
use crate::pipeline::options::{Expectation, Filters};
use crate::report::html;
use crate::report::payload::Payload;
use crate::verdict::Allow;

/// Chunk rows of a response in a table.
const DEFAULT_LIMIT: u64 = 50;

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
    /// Whether standard error is one.
    pub stderr_is_terminal: bool,
    /// The columns of standard output, if it is a terminal.
    pub terminal_columns: Option<u16>,
    /// `COLUMNS`.
    pub columns: Option<OsString>,
    /// `NO_COLOR`.
    pub no_color: Option<OsString>,
    /// `TERM`.
    pub term: Option<OsString>,
    /// How many threads run at once, as far as the system says.
    pub cores: Option<NonZeroUsize>,
    /// `GITHUB_STEP_SUMMARY`: the file that GitHub Actions takes a step's
    /// summary from.
    pub step_summary: Option<OsString>,
}

impl Environment {
    /// That of this process.
    #[must_use]
    pub fn current() -> Self {
        let stdout = std::io::stdout();
        Self {
            stdout_is_terminal: stdout.is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            terminal_columns: terminal_size::terminal_size_of(&stdout).map(|(width, _)| width.0),
            columns: std::env::var_os("COLUMNS"),
            no_color: std::env::var_os("NO_COLOR"),
            term: std::env::var_os("TERM"),
            cores: std::thread::available_parallelism().ok(),
            step_summary: std::env::var_os("GITHUB_STEP_SUMMARY"),
        }
    }

    /// Columns of a table.
    fn width(&self) -> u16 {
        let sane = LEAST_WIDTH..=MOST_WIDTH;
        let wanted = self.columns.as_ref().and_then(|columns| columns.to_str()?.trim().parse().ok());
        wanted.filter(|columns| sane.contains(columns)).unwrap_or_else(|| match self.terminal_columns {
            // A terminal without a size says 0.
            None | Some(0) => DEFAULT_WIDTH,
            Some(columns) => columns.clamp(LEAST_WIDTH, MOST_WIDTH),
        })
    }

    /// Whether progress is shown, where the report on standard output is
    /// written at once (`streams`) or at the end: lines that come meanwhile
    /// tell enough, and must not be mixed with it.
    fn progress(&self, streams: bool) -> bool {
        let dumb = self.term.as_ref().is_some_and(|term| term == "dumb");
        self.stderr_is_terminal && !dumb && !(streams && self.stdout_is_terminal)
    }

    /// Whether colours are used where nobody said so.
    fn color(&self) -> bool {
        // no-color.org: set and not empty, whatever the value.
        let refused = self.no_color.as_ref().is_some_and(|value| !value.is_empty());
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
    /// The most chunk rows a response, 0 is all; `None` is the format's own
    /// default.
    pub limit: Option<u64>,
    /// How much of the payloads; `None` is the format's own default.
    pub payload: Option<Payload>,
}

impl Shown {
    /// The most chunk rows a response in a report in this format; `None` is all.
    #[must_use]
    pub fn limit(&self, format: ReportFormat) -> Option<u64> {
        let usual = match format {
            ReportFormat::Html => html::DEFAULT_LIMIT,
            _ => DEFAULT_LIMIT,
        };
        Some(self.limit.unwrap_or(usual)).filter(|&limit| limit > 0)
    }

    /// How much of the payloads a report in this format shows.
    #[must_use]
    pub const fn payload(&self, format: ReportFormat) -> Payload {
        match (self.payload, format) {
            // They show no payload, whatever is asked for.
            (
                _,
                ReportFormat::Junit
                | ReportFormat::Sarif
                | ReportFormat::Github
                | ReportFormat::Markdown
                | ReportFormat::None,
            ) => Payload::None,
            (Some(payload), _) => payload,
            (None, ReportFormat::Table | ReportFormat::Walkthrough | ReportFormat::Html) => Payload::Preview,
            (None, ReportFormat::Json | ReportFormat::Jsonl | ReportFormat::Csv) => Payload::Full,
        }
    }
}

/// Everything that a run needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is written in place of a run.
    pub generate: Option<Generated>,
    /// The captures, in the order given; at least one, unless there is no run.
    pub captures: Vec<Input>,
    /// Whether they are raw HTTP responses.
    pub raw: bool,
    /// Whether they are parts of one recording.
    pub join: bool,
    /// Whether chunks are reported as they complete.
    pub follow: bool,
    /// After how long without an octet a stream has stalled.
    pub stall: Duration,
    /// The report on standard output; see also `quiet`.
    pub format: ReportFormat,
    /// Whether standard output stays empty, whatever `format` says.
    pub quiet: bool,
    /// Reports that go to files, no two to the same.
    pub outputs: Vec<Output>,
    /// The file that a summary in Markdown is appended to, where one of the
    /// reports is for GitHub Actions.
    pub step_summary: Option<PathBuf>,
    /// What the chunks are expected to hold.
    pub expect: Expectation,
    /// What is looked at.
    pub filters: Filters,
    /// What may not fail the check.
    pub allow: Allow,
    /// What the reports for people show.
    pub shown: Shown,
    /// Whether the story of each watch is followed; the codes of which
    /// findings fail the check.
    pub lint: Option<Vec<Code>>,
    /// Whether secrets and credentials are masked.
    pub redact: bool,
    /// The chunks that alone a walkthrough shows; empty for all.
    pub chunks: Vec<u64>,
    /// Whether standard output has colours. Files never have.
    pub color: bool,
    /// Whether progress is shown on standard error.
    pub progress: bool,
    /// Columns of a table.
    pub width: u16,
    /// Threads to use.
    pub threads: NonZeroUsize,
}

/// Words that are right, each by itself, but not together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// `-` was given more than once.
    #[error("standard input (-) can be read only once")]
    StdinTwice,
    /// Two outputs are the same file.
    #[error("two reports would go to the same file '{}'", .0.display())]
    SameOutput(PathBuf),
    /// A chunk was asked for, but no walkthrough.
    #[error("--chunk chooses what a walkthrough shows: add --format walkthrough")]
    ChunkWithoutWalkthrough,
    /// The format isn't written while reading.
    #[error(
        "with --follow, {0} can't go to standard output: it is written when all was read. \
         Leave out --format for a line a chunk, or take jsonl or csv; -o {0}=FILE writes it beside"
    )]
    NotFollowed(&'static str),
    /// An output is one of the captures.
    #[error("a report would overwrite the capture '{}'", .0.display())]
    OverwritesCapture(PathBuf),
}

impl Settings {
    /// What was typed, in this environment.
    ///
    /// # Errors
    /// Standard input given twice, a format that can't be followed, or an output that would overwrite another
    /// one or a capture.
    pub fn resolve(args: Args, environment: &Environment) -> Result<Self, UsageError> {
        let captures = inputs(args.captures)?;
        check_outputs(&args.outputs, &captures)?;
        let walks = |format: ReportFormat| format == ReportFormat::Walkthrough;
        if !args.chunks.is_empty()
            && !walks(args.format)
            && !args.outputs.iter().any(|output| walks(output.format))
        {
            return Err(UsageError::ChunkWithoutWalkthrough);
        }
        let follows = matches!(
            args.format,
            ReportFormat::Table | ReportFormat::Jsonl | ReportFormat::Csv | ReportFormat::None
        );
        if args.follow && !args.quiet && !follows {
            return Err(UsageError::NotFollowed(args.format.name()));
        }
        let on_stdout = (!args.quiet).then_some(args.format);
        let mut formats = args.outputs.iter().map(|output| output.format).chain(on_stdout);
        let for_github = formats.any(|format| format == ReportFormat::Github);
        let summary = environment.step_summary.as_ref().filter(|path| for_github && !path.is_empty());
        Ok(Self {
            generate: args.generate,
            captures,
            raw: args.raw,
            join: args.join,
            follow: args.follow,
            stall: Duration::from_secs(args.stall),
            format: args.format,
            quiet: args.quiet,
            outputs: args.outputs,
            step_summary: summary.map(PathBuf::from),
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
                limit: args.limit,
                payload: args.payload.map(|word| match word {
                    PayloadWord::None => Payload::None,
                    PayloadWord::Preview => Payload::Preview,
                    PayloadWord::Full => Payload::Full,
                }),
            },
            lint: (args.lint || !args.deny.is_empty()).then_some(args.deny),
            redact: args.redact,
            chunks: args.chunks,
            color: match args.color {
                ColorWord::Auto => environment.color(),
                ColorWord::Always => true,
                ColorWord::Never => false,
            },
            progress: !args.quiet
                && !args.follow
                && environment.progress(matches!(args.format, ReportFormat::Jsonl | ReportFormat::Csv)),
            width: environment.width(),
            threads: args.threads.or(environment.cores).unwrap_or(NonZeroUsize::MIN),
        })
    }

    /// The report that goes to standard output, if one does.
    #[must_use]
    pub fn stdout_format(&self) -> Option<ReportFormat> {
        Some(self.format).filter(|&format| !self.quiet && format != ReportFormat::None)
    }
}

fn inputs(paths: Vec<PathBuf>) -> Result<Vec<Input>, UsageError> {
    let inputs: Vec<_> = paths
        .into_iter()
        .map(|path| match path.as_os_str() == "-" {
            true => Input::Stdin,
            false => Input::File(path),
        })
        .collect();
    match inputs.iter().filter(|&input| *input == Input::Stdin).count() {
        0 | 1 => Ok(inputs),
        _ => Err(UsageError::StdinTwice),
    }
}

fn check_outputs(outputs: &[Output], captures: &[Input]) -> Result<(), UsageError> {
    let mut places: HashSet<PathBuf> = HashSet::new();
    for output in outputs {
        if !places.insert(place(&output.path)) {
            return Err(UsageError::SameOutput(output.path.clone()));
        }
    }
    for capture in captures {
        if let Input::File(path) = capture
            && places.contains(&place(path))
            && !is_device(path)
        {
            return Err(UsageError::OverwritesCapture(path.clone()));
        }
    }
    Ok(())
}

/// A path by which the same file is known again: without `.`, `..` and links
/// where it exists, else within its directory.
fn place(path: &Path) -> PathBuf {
    let whole = || path.canonicalize().ok();
    let within = || {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Some(parent.unwrap_or(Path::new(".")).canonicalize().ok()?.join(path.file_name()?))
    };
    whole().or_else(within).unwrap_or_else(|| path.to_owned())
}

/// Whether it is there and neither a file nor a directory: `/dev/tty`.
fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

const fn expectation(word: ExpectWord) -> Expectation {
    match word {
        ExpectWord::Auto => Expectation::Auto,
        ExpectWord::Watch => Expectation::Kind(Kind::Watch),
        ExpectWord::Protobuf => Expectation::Kind(Kind::WatchProtobuf),
        ExpectWord::Cbor => Expectation::Kind(Kind::WatchCbor),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn settings_in(environment: &Environment, words: &[&str]) -> Result<Settings, clap::Error> {
        let line = ["chunkscope"].iter().chain(words).map(|word| OsString::from(*word));
        super::super::settings(line, environment)
    }

    fn settings(words: &[&str]) -> Settings {
        settings_in(&Environment::default(), words).unwrap()
    }

    /// What a wrong line is answered with; the status is always 2.
    fn refusal(words: &[&str]) -> String {
        let error = settings_in(&Environment::default(), words).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.use_stderr());
        error.to_string()
    }

    #[test]
    fn the_definitions_are_sound() {
        use clap::CommandFactory as _;
        Args::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_the_contracts() {
        let settings = settings(&["x.pcap"]);
        assert_eq!(settings.captures, [Input::File("x.pcap".into())]);
        assert_eq!(settings.format, ReportFormat::Table);
        assert_eq!(settings.stdout_format(), Some(ReportFormat::Table));
        assert_eq!(settings.expect, Expectation::Auto);
        assert_eq!(settings.allow, Allow::default());
        assert_eq!(settings.shown, Shown { failed: false, all: false, limit: None, payload: None });
        assert_eq!(settings.shown.limit(ReportFormat::Table), Some(50));
        assert_eq!(settings.shown.limit(ReportFormat::Html), Some(300));
        assert!(settings.outputs.is_empty() && !settings.raw && !settings.join && !settings.quiet);
        assert!(settings.filters.streams.is_empty() && settings.filters.target.is_none());
        assert_eq!((settings.color, settings.width), (false, 120));
    }

    #[test]
    fn captures_keep_their_order() {
        let settings = settings(&["b", "--all", "-", "a", "b"]);
        let names: Vec<_> = settings.captures.iter().map(Input::name).collect();
        assert_eq!(names, ["b", "-", "a", "b"]);
        assert_eq!(settings.captures[1], Input::Stdin);
    }

    #[test]
    fn without_a_capture_the_answer_says_what_to_do() {
        let answer = refusal(&["-q"]);
        assert!(answer.contains("no capture is given"), "{answer}");
        assert!(answer.contains("chunkscope capture.pcap"), "{answer}");
        assert!(answer.contains("chunkscope [OPTIONS] <CAPTURE>..."), "{answer}");
    }

    #[test]
    fn standard_input_is_read_once() {
        assert!(refusal(&["-", "-"]).contains("only once"));
    }

    #[test]
    fn filters_are_repeatable_and_checked() {
        let filters = settings(&[
            "--stream",
            "0",
            "--stream=18446744073709551615",
            "--port",
            "8001",
            "--port",
            "65535",
            "--host",
            "[::1]",
            "--host",
            "::2",
            "--host=127.0.0.1",
            "--target",
            "watch=(true|1)",
            "x",
        ])
        .filters;
        assert_eq!(filters.streams, [0, u64::MAX]);
        assert_eq!(filters.ports, [8001, 65535]);
        let hosts: Vec<_> = filters.hosts.iter().map(ToString::to_string).collect();
        assert_eq!(hosts, ["::1", "::2", "127.0.0.1"]);
        assert!(filters.selects_target(Some("/pods?watch=1")));
        assert!(!filters.selects_target(Some("/pods")));

        refusal(&["--port", "65536", "x"]);
        refusal(&["--port", "http", "x"]);
        refusal(&["--stream", "-1", "x"]);
        assert!(refusal(&["--host", "localhost", "x"]).contains("a capture holds no names"));
        assert!(refusal(&["--host", "[127.0.0.1]", "x"]).contains("IP address"));
        assert!(refusal(&["--host", "[::1]:80", "x"]).contains("--host ::1 --port 80"));
        let answer = refusal(&["--target", "(", "x"]);
        assert!(answer.contains("unclosed group"), "{answer}");
    }

    #[test]
    fn expectations_have_the_contracts_words() {
        for (word, expect) in [
            ("auto", Expectation::Auto),
            ("watch", Expectation::Kind(Kind::Watch)),
            ("protobuf", Expectation::Kind(Kind::WatchProtobuf)),
            ("cbor", Expectation::Kind(Kind::WatchCbor)),
            ("json", Expectation::Kind(Kind::Json)),
            ("ndjson", Expectation::Kind(Kind::Ndjson)),
            ("sse", Expectation::Kind(Kind::Sse)),
            ("any", Expectation::Any),
        ] {
            assert_eq!(settings(&["-e", word, "x"]).expect, expect);
            assert_eq!(settings(&["--expect", word, "x"]).expect, expect);
        }
        assert!(
            refusal(&["-e", "xml", "x"])
                .contains("possible values: auto, watch, protobuf, cbor, json, ndjson, sse, any")
        );
    }

    #[test]
    fn allow_takes_lists_and_repetition() {
        let all = Allow { several: true, part: true, mixed: true, gaps: true, nothing: true };
        assert_eq!(
            settings(&["--allow", "several,part", "--allow", "mixed", "--allow=gaps,nothing", "x"]).allow,
            all
        );
        assert_eq!(settings(&["--allow", "gaps", "x"]).allow, Allow { gaps: true, ..Allow::default() });
        refusal(&["--allow", "invalid", "x"]);
        refusal(&["--allow", "several,", "x"]);
    }

    #[test]
    fn formats_are_those_that_exist() {
        for format in [
            "table",
            "walkthrough",
            "json",
            "jsonl",
            "csv",
            "junit",
            "sarif",
            "github",
            "markdown",
            "html",
            "none",
        ] {
            assert_eq!(settings(&["-f", format, "x"]).format.name(), format);
        }
        assert_eq!(settings(&["-f", "none", "x"]).stdout_format(), None);
        assert_eq!(settings(&["-q", "-f", "json", "x"]).stdout_format(), None);
        assert_eq!(
            settings(&["-f", "json", "-f", "csv", "x"]).format,
            ReportFormat::Csv,
            "the last word counts"
        );
        for format in ["xml", "jsn"] {
            let answer = refusal(&["-f", format, "x"]);
            assert!(answer.contains("possible values: table, walkthrough, json, jsonl, csv,"), "{answer}");
        }
    }

    #[test]
    fn a_job_summary_is_written_where_a_report_is_for_github() {
        let actions = Environment { step_summary: Some("/tmp/summary".into()), ..Environment::default() };
        let summary =
            |environment: &Environment, words: &[&str]| settings_in(environment, words).unwrap().step_summary;
        assert_eq!(summary(&actions, &["-f", "github", "x"]), Some("/tmp/summary".into()));
        assert_eq!(summary(&actions, &["-q", "-o", "github=g", "x"]), Some("/tmp/summary".into()));
        assert_eq!(summary(&actions, &["-q", "-f", "github", "x"]), None);
        assert_eq!(summary(&actions, &["-o", "markdown=m", "x"]), None);
        assert_eq!(summary(&Environment::default(), &["-f", "github", "x"]), None);
        let empty = Environment { step_summary: Some("".into()), ..Environment::default() };
        assert_eq!(summary(&empty, &["-f", "github", "x"]), None);
    }

    #[test]
    fn outputs_name_a_format_and_a_file() {
        let outputs = settings(&["-o", "json=a=b.json", "--output", "csv=c.csv", "x"]).outputs;
        assert_eq!(
            outputs,
            [
                Output { format: ReportFormat::Json, path: "a=b.json".into() },
                Output { format: ReportFormat::Csv, path: "c.csv".into() }
            ]
        );
        assert!(refusal(&["-o", "report.json", "x"]).contains("FORMAT=PATH is expected"));
        assert!(
            refusal(&["-o", "jsn=x.json", "x"])
                .contains("possible formats: table, walkthrough, json, jsonl, csv, html")
        );
        assert!(refusal(&["-o", "none=x", "x"]).contains("no format for a file"));
        assert!(refusal(&["-o", "json=", "x"]).contains("a path is expected"));
        assert!(refusal(&["-o", "json=-", "x"]).contains("--format json"));
    }

    #[test]
    fn no_two_reports_go_to_one_file() {
        assert!(refusal(&["-o", "json=r", "-o", "csv=r", "x"]).contains("same file 'r'"));
        assert!(refusal(&["-o", "json=r", "-o", "json=./r", "x"]).contains("same file"));
        let directory = tempfile::tempdir().unwrap();
        let (one, same) = (
            directory.path().join("r"),
            directory.path().join("../").join(directory.path().file_name().unwrap()).join("r"),
        );
        let (one, same) = (format!("json={}", one.display()), format!("csv={}", same.display()));
        assert!(refusal(&["-o", &one, "-o", &same, "x"]).contains("same file"));
        assert_eq!(settings(&["-o", "json=r", "-o", "json=s", "x"]).outputs.len(), 2);
    }

    #[test]
    fn a_report_does_not_overwrite_a_capture() {
        let answer = refusal(&["-o", "json=./x.pcap", "y.pcap", "x.pcap"]);
        assert!(answer.contains("overwrite the capture 'x.pcap'"), "{answer}");
    }

    #[test]
    fn raw_input_has_no_streams_to_choose_from() {
        assert!(settings(&["--raw", "--target", "x", "-"]).raw);
        for option in ["--join", "--stream=0", "--port=1", "--host=::1"] {
            assert!(refusal(&["--raw", option, "-"]).contains("cannot be used with"));
        }
    }

    #[test]
    fn payloads_default_to_what_the_format_is_for() {
        let shown = settings(&["x"]).shown;
        assert_eq!(shown.payload(ReportFormat::Table), Payload::Preview);
        assert_eq!(shown.payload(ReportFormat::Walkthrough), Payload::Preview);
        for format in [ReportFormat::Json, ReportFormat::Jsonl, ReportFormat::Csv] {
            assert_eq!(shown.payload(format), Payload::Full);
        }
        for (word, payload) in
            [("none", Payload::None), ("preview", Payload::Preview), ("full", Payload::Full)]
        {
            let shown = settings(&["--payload", word, "x"]).shown;
            assert_eq!(shown.payload(ReportFormat::Table), payload);
            assert_eq!(shown.payload(ReportFormat::Csv), payload);
        }
    }

    #[test]
    fn chunks_are_chosen_for_a_walkthrough() {
        assert_eq!(settings(&["-f", "walkthrough", "--chunk", "2", "--chunk=7", "x"]).chunks, [2, 7]);
        assert_eq!(settings(&["-o", "walkthrough=w.txt", "--chunk", "2", "x"]).chunks, [2]);
        assert!(refusal(&["--chunk", "2", "x"]).contains("add --format walkthrough"));
        refusal(&["-f", "walkthrough", "--chunk", "0", "x"]);
    }

    #[test]
    fn a_limit_of_zero_is_none() {
        for format in [ReportFormat::Table, ReportFormat::Html] {
            assert_eq!(settings(&["--limit", "0", "x"]).shown.limit(format), None);
            assert_eq!(settings(&["--limit", "7", "x"]).shown.limit(format), Some(7));
        }
        refusal(&["--limit", "-1", "x"]);
    }

    #[test]
    fn threads_are_as_many_as_the_cores_unless_somebody_says_otherwise() {
        let four = Environment { cores: NonZeroUsize::new(4), ..Environment::default() };
        let threads = |words: &[&str]| settings_in(&four, words).unwrap().threads.get();
        assert_eq!(threads(&["x"]), 4);
        assert_eq!(threads(&["--threads", "1", "x"]), 1);
        assert_eq!(threads(&["--threads=9", "x"]), 9);
        assert_eq!(settings(&["x"]).threads.get(), 1, "where the system doesn't say");
        assert!(refusal(&["--threads", "0", "x"]).contains("invalid value '0'"));
        refusal(&["--threads", "-1", "x"]);
        refusal(&["--threads", "all", "x"]);
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let terminal =
            Environment { stdout_is_terminal: true, term: Some("xterm".into()), ..Environment::default() };
        let color =
            |environment: &Environment, words: &[&str]| settings_in(environment, words).unwrap().color;
        assert!(color(&terminal, &["x"]));
        assert!(!color(&terminal, &["--color", "never", "x"]));
        let refused = Environment { no_color: Some("0".into()), ..terminal.clone() };
        assert!(!color(&refused, &["x"]));
        assert!(color(&refused, &["--color=always", "x"]));
        assert!(color(&Environment { no_color: Some("".into()), ..terminal.clone() }, &["x"]));
        assert!(!color(&Environment { term: Some("dumb".into()), ..terminal.clone() }, &["x"]));
        assert!(!color(&Environment { stdout_is_terminal: false, ..terminal }, &["x"]));
        assert!(color(&Environment::default(), &["--color", "always", "x"]));
    }

    #[test]
    fn progress_is_for_terminals_that_nothing_else_is_written_to() {
        let terminal = Environment {
            stdout_is_terminal: true,
            stderr_is_terminal: true,
            term: Some("xterm".into()),
            ..Environment::default()
        };
        let progress =
            |environment: &Environment, words: &[&str]| settings_in(environment, words).unwrap().progress;
        assert!(progress(&terminal, &["x"]));
        assert!(progress(&terminal, &["-f", "json", "x"]));
        assert!(!progress(&terminal, &["-f", "jsonl", "x"]));
        assert!(!progress(&terminal, &["-f", "csv", "x"]));
        assert!(!progress(&terminal, &["--follow", "x"]));
        assert!(!progress(&terminal, &["-q", "x"]));
        let piped = Environment { stdout_is_terminal: false, ..terminal.clone() };
        assert!(progress(&piped, &["-f", "jsonl", "x"]));
        assert!(!progress(&Environment { term: Some("dumb".into()), ..terminal.clone() }, &["x"]));
        assert!(!progress(&Environment { stderr_is_terminal: false, ..terminal }, &["x"]));
    }

    #[test]
    fn a_table_is_as_wide_as_the_terminal_unless_columns_says_otherwise() {
        let width = |terminal: Option<u16>, columns: Option<&str>| {
            let columns = columns.map(OsString::from);
            let environment = Environment { terminal_columns: terminal, columns, ..Environment::default() };
            settings_in(&environment, &["x"]).unwrap().width
        };
        assert_eq!(width(None, None), 120);
        assert_eq!(width(Some(0), None), 120);
        assert_eq!(width(Some(80), None), 80);
        assert_eq!(width(Some(20), None), 40);
        assert_eq!(width(Some(80), Some("200")), 200);
        assert_eq!(width(None, Some("40")), 40);
        for nonsense in ["", "wide", "0", "39", "1001", "-5", "99999999999"] {
            assert_eq!(width(Some(80), Some(nonsense)), 80, "{nonsense}");
        }
    }

    #[test]
    fn help_goes_to_standard_output_and_is_no_mistake() {
        for (option, says) in
            [("-h", "See '--help'"), ("--help", "Exit status:"), ("--version", "chunkscope 0.")]
        {
            let answer = settings_in(&Environment::default(), &[option]).unwrap_err();
            assert_eq!(answer.exit_code(), 0);
            assert!(!answer.use_stderr());
            assert!(answer.to_string().contains(says), "{answer}");
        }
    }
}
