//! What was typed: the options and their words, nothing decided yet.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Parser, ValueEnum};
use regex::Regex;

use super::generate::Generated;
use crate::lint::Code;

/// Shows the chunks of HTTP/1.1 streams in packet captures, and checks that
/// each holds exactly one event.
///
/// Reads packet captures, finds HTTP/1.1 exchanges with chunked bodies, and
/// shows each chunk: its size in hex and decimal, the packets that carried it,
/// when it arrived, and which events it holds. Kubernetes watches, server-sent
/// events and NDJSON are recognised.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "chunkscope",
    version,
    long_version = concat!(env!("CHUNKSCOPE_VERSION"), "\nJSON report: chunkscope.report/1"),
    override_usage = "chunkscope [OPTIONS] <CAPTURE>...",
    max_term_width = 100,
    args_override_self = true,
    after_help = "See '--help' for examples and the exit statuses.",
    after_long_help = AFTER_LONG_HELP
)]
pub struct Args {
    /// A packet capture (pcap or pcapng), or - for standard input
    ///
    /// It may be compressed; what it is, is told by its content, not by its
    /// name. Several captures are analysed one after the other, each on its
    /// own, unless --join is given.
    #[arg(value_name = "CAPTURE", required = true)]
    pub captures: Vec<PathBuf>,

    /// The inputs are raw HTTP/1.1 responses, as 'curl --raw -i' prints them
    #[arg(long, help_heading = "Input", conflicts_with_all = ["join", "streams", "ports", "hosts"])]
    pub raw: bool,

    /// Read the captures as consecutive parts of one recording (rotated files)
    ///
    /// Their order is that of their first packets.
    #[arg(long, help_heading = "Input")]
    pub join: bool,

    /// Print each chunk as soon as its last octet arrives, while it is recorded
    ///
    /// For 'tcpdump -i any -U -w - port 8001 | chunkscope --follow -'. A line a
    /// chunk in place of the table, with the time since the stream's last
    /// event; records of jsonl and csv are written at once too. Ctrl-C ends it
    /// with the summary and the exit status.
    #[arg(long, help_heading = "Input")]
    pub follow: bool,

    /// With --follow, tell when a stream that stopped within a chunk or an
    /// event has brought nothing for so long
    #[arg(long, value_name = "SECONDS", default_value_t = 5, requires = "follow",
        value_parser = clap::value_parser!(u64).range(1..), help_heading = "Input")]
    pub stall: u64,

    /// Only this TCP stream, numbered as Wireshark's tcp.stream; repeatable
    #[arg(long = "stream", value_name = "N", allow_negative_numbers = true, help_heading = "Selection")]
    pub streams: Vec<u64>,

    /// Only connections with this port at either end; repeatable
    #[arg(long = "port", value_name = "P", allow_negative_numbers = true, help_heading = "Selection")]
    pub ports: Vec<u16>,

    /// Only connections with this IP address at either end; repeatable
    #[arg(long = "host", value_name = "H", value_parser = host, help_heading = "Selection")]
    pub hosts: Vec<IpAddr>,

    /// Only exchanges whose request target matches this regular expression
    #[arg(long, value_name = "REGEX", value_parser = Regex::new, help_heading = "Selection")]
    pub target: Option<Regex>,

    /// What one chunk must hold exactly one of
    #[arg(short, long, value_enum, value_name = "KIND", default_value_t = ExpectWord::Auto, help_heading = "Check")]
    pub expect: ExpectWord,

    /// Findings that shall not fail the check; comma-separated or repeated
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = "Check")]
    pub allow: Vec<AllowWord>,

    /// Follow the story of each Kubernetes watch, and tell what is wrong in it
    ///
    /// The order of resource versions, events of deleted objects, bookmarks,
    /// 410, how watches ended, and what clients that connected again may have
    /// missed. Nothing of it fails the check by itself.
    #[arg(long, help_heading = "Check")]
    pub lint: bool,

    /// Findings of --lint that fail the check; comma-separated or repeated
    ///
    /// Implies --lint.
    #[arg(
        long,
        value_enum,
        value_name = "CODE",
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "Check"
    )]
    pub deny: Vec<Code>,

    /// What goes to standard output
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Table, help_heading = "Report")]
    pub format: ReportFormat,

    /// Also write that report to a file, in the same pass; repeatable
    ///
    /// The file is written beside and renamed at the end: a failed run leaves
    /// what was there.
    #[arg(short, long = "output", value_name = "FORMAT=PATH", value_parser = output, help_heading = "Report")]
    pub outputs: Vec<Output>,

    /// No report on standard output: problems and the exit status only
    ///
    /// Nor is the progress of long work shown, which is else where standard
    /// error is a terminal.
    #[arg(short, long, help_heading = "Report")]
    pub quiet: bool,

    /// Show only what failed (in tables, walkthroughs and html)
    #[arg(long, help_heading = "Report")]
    pub failed: bool,

    /// List exchanges of which nothing is expected in full in a table
    ///
    /// Without it each takes one line. The same holds for html.
    #[arg(long, help_heading = "Report")]
    pub all: bool,

    /// How much of the payloads is shown [default: preview in tables,
    /// walkthroughs and html, full in json, jsonl and csv]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Report")]
    pub payload: Option<PayloadWord>,

    /// Mask secrets and credentials in every report
    ///
    /// Data of Kubernetes Secrets, bearer tokens, cookies, and passwords in
    /// heads, targets and payloads become asterisks, one for each octet, so
    /// that sizes still fit. What can't be decided is masked too.
    #[arg(long, help_heading = "Report")]
    pub redact: bool,

    /// At most this many chunk rows a response in a table [default: 50, in
    /// html 300]; 0 is all
    ///
    /// What is hidden is counted, and the first 1,000 failed chunks are always
    /// shown.
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Report")]
    pub limit: Option<u64>,

    /// Threads to use; the reports don't depend on it [default: the processor's cores]
    ///
    /// With 1 no other thread is started, but for the one that waits for the
    /// input with --follow.
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true, help_heading = "Run")]
    pub threads: Option<NonZeroUsize>,

    /// Only this chunk of each response, in a walkthrough; repeatable
    #[arg(long = "chunk", value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Report")]
    pub chunks: Vec<u64>,

    /// Write completions for a shell, or the man page, and end
    #[arg(long, value_enum, value_name = "WHAT", exclusive = true)]
    pub generate: Option<Generated>,

    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = ColorWord::Auto, help_heading = "Report")]
    pub color: ColorWord,
}

const AFTER_LONG_HELP: &str = "\
Examples:
  Record a watch, then look at it (stop each with Ctrl-C):
    tcpdump -i any -w watch.pcap port 8001
    curl -N '127.0.0.1:8001/api/v1/pods?watch=1'
    chunkscope watch.pcap

  The steps from a packet to an event, for one connection:
    chunkscope -f walkthrough --stream 0 watch.pcap

  Watch the chunks come, and be told when a stream stalls in mid-event:
    tcpdump -i any -U -w - port 8001 | chunkscope --follow -

  Check in CI, with reports for its test view and for code scanning:
    chunkscope -o junit=chunkscope.xml -o sarif=chunkscope.sarif watch.pcap

  A page to attach to a ticket, beside the table:
    chunkscope -o html=watch.html watch.pcap

  Without packets, from what curl received:
    curl -sN --raw -i '127.0.0.1:8001/api/v1/pods?watch=1' | chunkscope --raw -

  The sizes of all chunks:
    chunkscope -f jsonl --payload none watch.pcap | jq 'select(.record == \"chunk\").size'

Exit status:
  0  something was checked, and every checked chunk holds exactly one event
  1  a check failed: a chunk that holds less or more than one event or none at
     all, broken chunk framing, a body cut off by its sender, or (without
     --allow gaps) a chunk that could not be checked because the capture lost
     octets
  2  wrong usage, or a capture that cannot be read
  3  nothing to check: no chunked event stream was found (0 with --allow nothing)";

/// A report's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub enum ReportFormat {
    /// For people: the chunks of each response, then what is wrong
    Table,
    /// For learners: every step from the packet to the event
    Walkthrough,
    /// For programs: one document, chunkscope.report/1
    Json,
    /// For programs: an object a line, written while reading
    Jsonl,
    /// For spreadsheets: a row a chunk, written while reading
    Csv,
    /// For people: one page for a browser, with timelines and octets
    Html,
    /// For CI servers: JUnit XML, a test case an exchange
    Junit,
    /// For code scanning: SARIF 2.1.0
    Sarif,
    /// For GitHub Actions: annotations, and the job summary
    Github,
    /// For pull requests and tickets: Markdown of bounded length
    Markdown,
    /// Nothing
    None,
}

impl ReportFormat {
    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Walkthrough => "walkthrough",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Html => "html",
            Self::Junit => "junit",
            Self::Sarif => "sarif",
            Self::Github => "github",
            Self::Markdown => "markdown",
            Self::None => "none",
        }
    }
}

/// A report that goes to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The report's format, not `none`.
    pub format: ReportFormat,
    /// The file.
    pub path: PathBuf,
}

/// A word of `--expect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExpectWord {
    /// What request and response ask for, else nothing
    Auto,
    /// A Kubernetes watch event, encoded as the content type says
    Watch,
    /// A Kubernetes watch event in protobuf, whatever the content type
    Protobuf,
    /// A Kubernetes watch event in CBOR, whatever the content type
    Cbor,
    /// A JSON text
    Json,
    /// A line with a JSON text
    Ndjson,
    /// A server-sent event
    Sse,
    /// Anything: only the framing is checked
    Any,
}

/// A word of `--allow`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AllowWord {
    /// Chunks that hold several whole events
    Several,
    /// Chunks that hold a part of one event
    Part,
    /// Chunks that hold octets of several events, of which one isn't whole
    Mixed,
    /// Octets that the capture lost
    Gaps,
    /// That there is nothing to check: exit with 0 instead of 3
    Nothing,
}

/// A word of `--payload`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PayloadWord {
    /// Nothing
    None,
    /// What fits; 120 characters in json, jsonl and csv
    Preview,
    /// All
    Full,
}

/// A word of `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWord {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ValueEnum for Code {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()))
    }
}

/// A number of threads.
fn threads(word: &str) -> Result<NonZeroUsize, String> {
    match word.parse::<usize>() {
        Ok(number) => NonZeroUsize::new(number).ok_or_else(|| "at least 1 thread is needed".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads an IP address, an IPv6 one in brackets or without.
fn host(word: &str) -> Result<IpAddr, String> {
    let bare = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
    match bare {
        Some(bare) => bare.parse::<std::net::Ipv6Addr>().map(IpAddr::V6).ok(),
        None => word.parse().ok(),
    }
    .ok_or_else(|| match word.parse::<SocketAddr>() {
        Ok(end) => {
            format!("an address without a port is expected: --host {} --port {}", end.ip(), end.port())
        }
        Err(_) => {
            String::from("an IP address such as 127.0.0.1 or ::1 is expected: a capture holds no names")
        }
    })
}

/// Reads `FORMAT=PATH`.
fn output(word: &str) -> Result<Output, String> {
    let (name, path) = word.split_once('=').ok_or("FORMAT=PATH is expected, such as json=report.json")?;
    let formats = ReportFormat::value_variants().iter().filter(|&&format| format != ReportFormat::None);
    let format = formats.clone().find(|format| format.name() == name).ok_or_else(|| {
        let names: Vec<_> = formats.map(|format| format.name()).collect();
        let near = nearest(name, &names).map(|near| format!("; a similar one is '{near}'"));
        let near = near.unwrap_or_default();
        format!("'{name}' is no format for a file{near} [possible formats: {}]", names.join(", "))
    })?;
    match path {
        "" => Err(format!("a path is expected behind '{name}='")),
        "-" => Err(format!("a file is expected; for standard output use '--format {name}'")),
        path => Ok(Output { format: *format, path: PathBuf::from(path) }),
    }
}

/// The name that was probably meant.
fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let likeness = |name: &&&str| strsim::jaro(word, name);
    let near = names.iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    // As clap has it for the words that it knows.
    (likeness(&near) > 0.7).then_some(near)
}
