//! The page: one self-contained HTML document for people, to be projected, or
//! attached to a ticket.
//!
//! It opens from a disk, loads nothing, and is read without its script, which
//! only adds filters, zoom and pretty-printed JSON. Templates beside this file
//! hold the markup, and askama escapes what goes into them; what comes from a
//! capture is made printable before, so that nothing hides or turns around.
//! A content security policy allows the page's own style and script by their
//! hashes, and nothing else: what slipped through could still do nothing.
//!
//! What the page says first is known last, and exchanges interleave; so the
//! text of each exchange goes to a [`Spool`] in parts, and the page is put
//! together from there. The page is bounded as the memory is: rows of chunks,
//! sections of exchanges and lines of the overview beyond the bounds below are
//! counted and said, what fails goes first. `--limit 0` lifts them.
//!
//! | file | what |
//! | --- | --- |
//! | `exchange` | what is collected of an exchange, and its section |
//! | `timeline`, `alignment`, `spread` | the figures, as inline SVG |
//! | `chunk` | the rows of a chunk, with its octets |
//! | `raw` | what raw HTTP lacks |
//! | `words` | times, sizes, names |

mod alignment;
mod chunk;
mod exchange;
mod raw;
mod spread;
#[cfg(test)]
mod tests;
mod timeline;
mod words;

use std::collections::{HashMap, HashSet};
use std::io::{self, Seek, SeekFrom, Write};

use askama::Template;
use base64::Engine as _;
use sha2::{Digest as _, Sha256};
use tempfile::SpooledTempFile;

use self::exchange::{Exchange, Line};
use self::words::{anchor, capitalised, exchange_verdict, outcome};
use crate::http::Side;
use crate::report::closing::{RECORDING, Run};
use crate::report::payload::Payload;
use crate::report::phrases::{place, request_line, tally_words};
use crate::report::prose::Prose;
use crate::report::spool::{Slot, Spool};
use crate::report::text::{Listing, TextOptions, counted, fit_middle, grouped, printable, seconds};
use crate::report::{
    CaptureEnd, Conclusion, ExchangeEnd, ExchangeId, ExchangeVerdict, Finding, Format, JudgedChunk, Outcome,
    Problem, Report, Violation, packetless,
};
use crate::verdict::{Allow, Verdict};

/// Rows of a response unless `--limit` says otherwise.
pub const DEFAULT_LIMIT: u64 = 300;

/// Octets of rows in one page behind which a response gets only a few rows
/// more, and behind which none: a page of this size still opens at once.
const PLENTY: u64 = 5 << 20;
const ENOUGH: u64 = 8 << 20;
const FEW_ROWS: u64 = 20;

/// Rows kept of an exchange that gets a section only if it fails.
const KEPT_IN_CASE: u64 = 20;

/// Exchanges with a section: such as fail or can't be verified, and others.
const SECTIONS: u64 = 200;
const OTHER_SECTIONS: u64 = 100;

/// Sections that a browser lays out at once when it opens the page.
const LAID_OUT: u64 = 12;

/// Lines of the overview; twice as many where they matter.
const LINES: u64 = 1000;

/// Findings that are told at the top.
const TOLD: usize = 20;

/// Findings of `--lint` that are told there of an exchange.
const TOLD_LINTS: usize = 3;

/// Problems of a capture that are listed.
const PROBLEMS: usize = 50;

/// Marks of timelines in memory, all together, behind which an exchange that
/// begins gets only a few.
const MARKS_IN_MEMORY: usize = 100_000;

/// Octets kept in memory of the exchanges of a capture, and of captures that
/// are done.
const KEPT: usize = 4 << 20;

/// Parts of an exchange's text, in order.
const SECTION: u8 = 0;
const REQUEST_ROWS: u8 = 2;
const REQUEST_HEAD: u8 = 1;
const HEAD: u8 = 3;
const ROWS: u8 = 4;
const CLOSE: u8 = 5;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What the page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HtmlOptions {
    /// Only what failed or could not be verified.
    pub failed_only: bool,
    /// Exchanges without an expectation in full too.
    pub list_all: bool,
    /// How much of the payloads.
    pub payload: Payload,
    /// Rows of one response; `None` is all, and no other bound either. Failed
    /// ones are listed beyond it, up to 1,000 a run.
    pub limit: Option<u64>,
    /// Verdicts that fail no check.
    pub allow: Allow,
}

impl Default for HtmlOptions {
    fn default() -> Self {
        Self {
            failed_only: false,
            list_all: false,
            payload: Payload::Preview,
            limit: Some(DEFAULT_LIMIT),
            allow: Allow::default(),
        }
    }
}

/// Writes findings as one HTML page. See the module.
#[derive(Debug)]
pub struct HtmlReport<W: Write> {
    out: W,
    options: HtmlOptions,
    prose: Prose,
    /// The capture that is read, from 1.
    capture: u64,
    path: String,
    open: HashMap<ExchangeId, Exchange>,
    listing: Listing,
    sections: Spool,
    /// Exchanges whose rows are in the spool, but not in the page.
    dropped: HashSet<ExchangeId>,
    overview: Spool,
    /// The captures that are done, as HTML.
    done: SpooledTempFile,
    run: Run,
    top: Top,
    /// Octets of rows so far.
    rows: u64,
    /// Marks of the exchanges that are open.
    marks: usize,
    counts: Counts,
}

/// What was shown so far.
#[derive(Debug, Default)]
struct Counts {
    /// Sections of exchanges that matter, and of others, in the run.
    mattering: u64,
    other: u64,
    /// Lines of the overview, in the run.
    lines: u64,
    /// What `--lint` found, in the run.
    lints: u64,
    /// Of the capture that is read: exchanges, lines, sections, and what
    /// isn't shown because it neither failed nor lacks octets, or for want of room.
    exchanges: u64,
    capture_lines: u64,
    sections: u64,
    passed_over: u64,
    no_line: u64,
    no_section: u64,
}

/// What is told at the top.
#[derive(Debug, Default)]
struct Top {
    told: Vec<Told>,
    more: u64,
    /// The verdict on the only exchange.
    only: Option<String>,
    exchanges: u64,
    /// The first capture's path, and how many there are.
    path: String,
}

/// A finding at the top.
#[derive(Debug)]
struct Told {
    anchor: Option<String>,
    class: &'static str,
    word: &'static str,
    path: String,
    place: String,
    request: String,
    verdict: String,
    details: Vec<String>,
    meaning: Option<String>,
}

impl<W: Write> HtmlReport<W> {
    /// A page that is written to `out` when it is finished.
    pub fn new(out: W, options: HtmlOptions) -> Self {
        let text = TextOptions { allow: options.allow, ..TextOptions::default() };
        Self {
            out,
            options,
            prose: Prose::new(&text),
            capture: 0,
            path: String::new(),
            open: HashMap::new(),
            listing: Listing::default(),
            sections: Spool::with_budget(KEPT),
            dropped: HashSet::new(),
            overview: Spool::with_budget(KEPT),
            done: SpooledTempFile::new(KEPT),
            run: Run::default(),
            top: Top::default(),
            rows: 0,
            marks: 0,
            counts: Counts::default(),
        }
    }

    fn begin_capture(&mut self, path: &str) {
        self.capture += 1;
        path.clone_into(&mut self.path);
        self.run.begin(path);
        if self.capture == 1 {
            path.clone_into(&mut self.top.path);
        }
    }

    fn opened(&mut self, id: ExchangeId) -> &mut Exchange {
        let few = self.marks > MARKS_IN_MEMORY;
        self.open.entry(id).or_insert_with(|| Exchange::new(few))
    }

    fn chunk(&mut self, judged: &JudgedChunk) -> io::Result<()> {
        let options = self.options;
        let (id, response) = (judged.exchange, judged.side == Side::Response);
        let fails = options.allow.fails(&judged.verdict);
        let rows_so_far = self.rows;
        let exchange = self.opened(id);
        let before = exchange.timeline.len();
        let in_full = exchange.expect.is_some() || options.list_all;
        exchange.push(judged, options.allow, in_full);
        let (more_marks, expect, base, coded) =
            (exchange.timeline.len(), exchange.expect, exchange.base, exchange.coded);
        let limit = match (options.limit, rows_so_far) {
            _ if !in_full => KEPT_IN_CASE,
            (None, _) => u64::MAX,
            (Some(limit), 0..PLENTY) => limit,
            (Some(limit), PLENTY..ENOUGH) => limit.min(FEW_ROWS),
            (Some(_), _) => 0,
        };
        let matters = fails || matches!(judged.verdict, Verdict::Unverified(_));
        let listed = if response { exchange.listed } else { exchange.request_rows };
        let room = listed < limit && (matters || !options.failed_only || !in_full);
        self.marks = self.marks + more_marks - before.min(self.marks + more_marks);
        let admitted = self.listing.admits(fails, room);
        let anchor = anchor(self.capture, id);
        let exchange = self.opened(id);
        if !admitted {
            if response {
                *exchange.hidden.of(&judged.verdict) += 1;
                *exchange.left_out.of(&judged.verdict) += 1;
            }
            return Ok(());
        }
        let mut text = String::new();
        let part = if response {
            exchange.listed += 1;
            let hidden = std::mem::take(&mut exchange.hidden);
            if hidden.chunks() > 0 {
                text =
                    HiddenRow { words: tally_words(&hidden, expect) }.render().map_err(io::Error::other)?;
            }
            ROWS
        } else {
            exchange.request_rows += 1;
            REQUEST_ROWS
        };
        let setting =
            chunk::Setting { anchor: &anchor, base, coded, payload: options.payload, allow: options.allow };
        text.push_str(&chunk::rows(judged, setting).map_err(io::Error::other)?);
        self.rows += text.len() as u64;
        self.sections.append(Slot { exchange: id, part }, text.as_bytes())
    }

    fn violation(&mut self, violation: &Violation) {
        let _ = self.opened(violation.exchange).failures.push(violation, false);
    }

    fn end(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        let id = end.head.id;
        let mut exchange = self.open.remove(&id).unwrap_or_else(|| Exchange::new(true));
        self.marks = self.marks.saturating_sub(exchange.timeline.len());
        self.run.exchange(end, &exchange.failures);
        self.counts.exchanges += 1;
        self.counts.lints += end.lints;
        let matters = matches!(end.verdict, ExchangeVerdict::Fail | ExchangeVerdict::Unverified);
        let has_section = self.has_section(end, matters);
        let anchor = anchor(self.capture, id);
        self.top.take(end, &exchange, self.prose, &self.path, has_section.then_some(&anchor));
        if self.options.failed_only && !matters {
            self.counts.passed_over += 1;
        } else if self.options.limit.is_none()
            || self.counts.lines < LINES
            || (matters && self.counts.lines < 2 * LINES)
        {
            self.counts.lines += 1;
            self.counts.capture_lines += 1;
            let line = Line::new(has_section.then(|| anchor.clone()), end, &exchange, self.prose);
            let line = line.render().map_err(io::Error::other)?;
            self.overview.append(Slot { exchange: id, part: 0 }, line.as_bytes())?;
        } else {
            self.counts.no_line += 1;
        }
        if !has_section {
            if exchange.listed + exchange.request_rows > 0 {
                self.dropped.insert(id);
            }
            return Ok(());
        }
        self.section(&anchor, end, &mut exchange)
    }

    /// Whether an exchange gets a section of its own; counts it.
    fn has_section(&mut self, end: &ExchangeEnd, matters: bool) -> bool {
        let wanted = matters
            || (!self.options.failed_only
                && (end.head.expect.is_some() || end.lints > 0 || self.options.list_all));
        if !wanted {
            return false;
        }
        let counts = &mut self.counts;
        let (count, most) =
            if matters { (&mut counts.mattering, SECTIONS) } else { (&mut counts.other, OTHER_SECTIONS) };
        if *count >= most && self.options.limit.is_some() {
            counts.no_section += 1;
            return false;
        }
        *count += 1;
        counts.sections += 1;
        true
    }

    fn section(&mut self, anchor: &str, end: &ExchangeEnd, exchange: &mut Exchange) -> io::Result<()> {
        let id = end.head.id;
        let mut put =
            |part: u8, text: &str| self.sections.append(Slot { exchange: id, part }, text.as_bytes());
        put(SECTION, &exchange.section(anchor, end, self.prose).map_err(io::Error::other)?)?;
        put(REQUEST_HEAD, &exchange.request_table_head(anchor).map_err(io::Error::other)?)?;
        let mut head = String::new();
        if exchange.request_rows > 0 {
            head.push_str("</table></div>\n");
        }
        let table = exchange.table_head(anchor, end).map_err(io::Error::other)?;
        head.push_str(&table);
        put(HEAD, &head)?;
        let mut close = String::new();
        if exchange.listed > 0 {
            if exchange.hidden.chunks() > 0 {
                let row = HiddenRow { words: tally_words(&exchange.hidden, exchange.expect) };
                close.push_str(&row.render().map_err(io::Error::other)?);
            }
            close.push_str("</table>");
        }
        if !table.is_empty() {
            close.push_str("</div>");
        }
        close.push_str("</article>\n");
        put(CLOSE, &close)
    }

    fn end_capture(&mut self, end: &CaptureEnd) -> io::Result<()> {
        self.run.capture(end);
        self.open.clear();
        self.marks = 0;
        let counts = &mut self.counts;
        let mut left_out = Vec::new();
        if counts.passed_over > 0 {
            left_out.push(format!(
                "{} that did not fail, as asked for (--failed)",
                counted(counts.passed_over, "exchange")
            ));
        }
        if counts.no_line > 0 {
            left_out.push(format!("{} for want of room", counted(counts.no_line, "exchange")));
        }
        let sections = match counts.no_section {
            0 => None,
            missing => Some(format!(
                "{} without a section of {} own, to keep this page small; --stream and --target select, \
                 --limit 0 shows all.",
                counted(missing, "exchange"),
                if missing == 1 { "its" } else { "their" },
            )),
        };
        let head = CaptureHead {
            anchor: format!("c{}", self.capture),
            path: printable(&end.path).into_owned(),
            facts: capture_facts(end),
            unreadable: end.format.is_none(),
            problems: end.problems.iter().take(PROBLEMS).map(ProblemLine::new).collect(),
            more_problems: end.problems.len().saturating_sub(PROBLEMS),
            nothing: match (counts.exchanges, counts.capture_lines) {
                _ if end.format.is_none() => None,
                (0, _) => Some("No HTTP/1.1 exchange was found here."),
                (_, 0) if self.options.failed_only => Some("Nothing here failed."),
                _ => None,
            },
            overview: counts.capture_lines > 1 || (counts.capture_lines == 1 && counts.sections == 0),
            left_out: (!left_out.is_empty()).then(|| format!("Not listed: {}.", left_out.join("; "))),
            no_section: sections,
        };
        self.done.write_all(head.render().map_err(io::Error::other)?.as_bytes())?;
        if head.overview {
            self.overview.drain_in_order(&mut self.done)?;
            self.done.write_all(b"</tbody></table></div>\n")?;
        } else {
            self.overview.drain_in_order(&mut io::sink())?;
        }
        let (dropped, done) = (&self.dropped, &mut self.done);
        self.sections.drain(|slot, octets| match dropped.contains(&slot.exchange) {
            true => Ok(()),
            false => done.write_all(octets),
        })?;
        self.dropped.clear();
        let Counts { mattering, other, lines, lints, .. } = *counts;
        *counts = Counts { mattering, other, lines, lints, ..Counts::default() };
        self.done.write_all(b"</section>\n")
    }
}

impl<W: Write> Report for HtmlReport<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        match finding {
            Finding::Capture(path) => self.begin_capture(path),
            Finding::Exchange(head) => self.opened(head.id).begin(head),
            Finding::Event(..) => {}
            Finding::Chunk(judged) => self.chunk(&raw::chunk(judged))?,
            Finding::Violation(violation) => self.violation(&raw::violation(violation)),
            Finding::Lint(lint) => self.opened(lint.exchange).lints.push(lint),
            Finding::ExchangeEnd(end) => self.end(&packetless::end(end))?,
            Finding::CaptureEnd(end) => self.end_capture(end)?,
        }
        Ok(())
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        let (class, title) = outcome(conclusion.outcome);
        let totals = &conclusion.totals;
        let alone = self.top.exchanges == 1 && totals.captures == 1 && totals.unreadable == 0;
        let only = self.top.only.take().filter(|_| alone);
        let sentence = match (conclusion.outcome, only) {
            (Outcome::Pass | Outcome::Fail, Some(verdict)) => verdict,
            _ => self.run.outcome_text(self.options.allow, conclusion),
        };
        let path = match totals.captures {
            1 => printable(&self.top.path).into_owned(),
            captures => counted(captures, "capture"),
        };
        let mut facts = Vec::new();
        let mut fact = |name: &'static str, count: u64, always: bool| {
            if count > 0 || always {
                facts.push((name, grouped(count)));
            }
        };
        fact("Captures", if totals.captures > 1 { totals.captures } else { 0 }, false);
        fact("Packets", totals.packets, false);
        fact("TCP streams", totals.streams, false);
        fact("Exchanges", totals.exchanges, true);
        fact("Checked exchanges", totals.checked, true);
        fact("Chunks", totals.chunks, true);
        fact("Events", totals.events, true);
        fact("Violations", totals.violations, true);
        fact("Findings of --lint", self.counts.lints, false);
        fact("Denied findings", totals.denied, false);
        fact("Unverified", totals.unverified, false);
        let page = Page {
            policy: policy(),
            style: STYLE,
            class,
            title,
            sentence: capitalised(&sentence),
            path,
            facts,
            single: alone,
            large: self.counts.mattering + self.counts.other > LAID_OUT,
            told: if alone { Vec::new() } else { std::mem::take(&mut self.top.told) },
            more: if alone { 0 } else { self.top.more },
            instead: match conclusion.outcome {
                Outcome::Empty => self.run.instead(),
                Outcome::Pass | Outcome::Fail => Vec::new(),
            },
            recording: RECORDING,
        };
        self.out.write_all(page.render().map_err(io::Error::other)?.as_bytes())?;
        self.done.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.done, &mut self.out)?;
        let foot = Foot { version: env!("CARGO_PKG_VERSION"), script: SCRIPT };
        self.out.write_all(foot.render().map_err(io::Error::other)?.as_bytes())?;
        self.out.flush()
    }
}

impl Top {
    /// An exchange has ended.
    fn take(
        &mut self,
        end: &ExchangeEnd,
        exchange: &Exchange,
        prose: Prose,
        path: &str,
        anchor: Option<&String>,
    ) {
        self.exchanges += 1;
        self.only = Some(prose.verdict_text(end));
        if !matches!(end.verdict, ExchangeVerdict::Fail | ExchangeVerdict::Unverified) {
            return;
        }
        if self.told.len() == TOLD {
            self.more += 1;
            return;
        }
        let (class, word) = exchange_verdict(end.verdict);
        let mut details = Vec::new();
        let mut meaning = None;
        for kind in exchange.failures.kinds(end) {
            details.extend(kind.told.first().cloned());
            meaning = meaning.or(Some(kind.meaning));
        }
        let denied = exchange.lints.told().iter().filter(|(denied, _)| *denied);
        details.extend(denied.take(TOLD_LINTS).map(|(_, told)| told.clone()));
        self.told.push(Told {
            anchor: anchor.cloned(),
            class,
            word,
            path: printable(path).into_owned(),
            place: place(end.head.id),
            request: fit_middle(&request_line(&end.head), 120).into_owned(),
            verdict: capitalised(&prose.verdict_text(end)),
            details,
            meaning,
        });
    }
}

/// What a capture is, in a few facts.
fn capture_facts(end: &CaptureEnd) -> Vec<String> {
    let mut facts = Vec::new();
    match end.format {
        Some(Format::Http) => facts.push("raw HTTP responses".to_owned()),
        Some(format) => facts.push(format.name().to_owned()),
        None => facts.push("could not be read".to_owned()),
    }
    if !end.parts.is_empty() {
        let parts: Vec<_> = end.parts.iter().take(8).map(|part| printable(part)).collect();
        let more = if end.parts.len() > parts.len() { ", …" } else { "" };
        facts.push(format!("{} joined: {}{more}", counted(end.parts.len() as u64, "part"), parts.join(", ")));
    }
    facts.extend(end.link_types.iter().map(|name| printable(name).into_owned()));
    if end.format.is_some_and(|format| format != Format::Http) {
        facts.push(counted(end.packets, "packet"));
        facts.push(counted(end.streams, "TCP stream"));
        if let (Some(first), Some(last)) = (end.first_time, end.last_time) {
            facts.push(format!("{first}, {} long", seconds(last.nanos_since(first), 3)));
        }
    }
    facts
}

/// The policy that allows this page's own style and script, and nothing else.
fn policy() -> String {
    let hash = |text: &str| {
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text.as_bytes()));
        format!("'sha256-{digest}'")
    };
    format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

/// The page up to its captures.
#[derive(Debug, Template)]
#[template(path = "page.html")]
struct Page {
    policy: String,
    style: &'static str,
    class: &'static str,
    title: &'static str,
    sentence: String,
    path: String,
    facts: Vec<(&'static str, String)>,
    /// Whether there is one exchange: its verdict is the sentence at the top.
    single: bool,
    /// Whether sections are laid out only once they are near what is seen.
    large: bool,
    told: Vec<Told>,
    more: u64,
    instead: Vec<String>,
    recording: [&'static str; 3],
}

/// A capture up to its overview.
#[derive(Debug, Template)]
#[template(path = "capture.html")]
struct CaptureHead {
    anchor: String,
    path: String,
    facts: Vec<String>,
    unreadable: bool,
    problems: Vec<ProblemLine>,
    more_problems: usize,
    nothing: Option<&'static str>,
    overview: bool,
    left_out: Option<String>,
    no_section: Option<String>,
}

/// A problem of a capture.
#[derive(Debug)]
struct ProblemLine {
    code: &'static str,
    text: String,
}

impl ProblemLine {
    fn new(problem: &Problem) -> Self {
        let stream = problem.stream.map(|stream| format!("stream {stream}: ")).unwrap_or_default();
        let frame = problem.frame.map(|frame| format!(" (frame {frame})")).unwrap_or_default();
        Self { code: problem.code, text: format!("{stream}{}{frame}", printable(&problem.message)) }
    }
}

/// In place of rows that aren't listed.
#[derive(Debug, Template)]
#[template(
    source = "<tbody class=\"unlisted\"><tr><td colspan=\"6\">… {{ words }}</td></tr></tbody>\n",
    ext = "html"
)]
struct HiddenRow {
    words: String,
}

/// The end of the page.
#[derive(Debug, Template)]
#[template(path = "foot.html")]
struct Foot {
    version: &'static str,
    script: &'static str,
}
