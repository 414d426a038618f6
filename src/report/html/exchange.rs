//! An exchange on the page: what is collected of it while it goes on, and its
//! section when it has ended.

use std::collections::BTreeSet;

use askama::Template;

use super::alignment::Alignment;
use super::chunk::is_json;
use super::spread::{Gaps, Sizes};
use super::timeline::Timeline;
use super::words::{capitalised, duration, event_type, exchange_verdict, percent, since};
use crate::hints::Hint;
use crate::http::Side;
use crate::report::failures::{FailureKind, Failures};
use crate::report::phrases::{base, body_end, field, place, request_line, response_line, tally_words, when};
use crate::report::prose::{Prose, notes};
use crate::report::text::{counted, fit_middle, grouped, printable};
use crate::report::why::{Lints, timing_words};
use crate::report::{ExchangeEnd, ExchangeHead, Expect, JudgedChunk, Tally};
use crate::units::Timestamp;
use crate::verdict::{Allow, Verdict};

/// Event types that the filter lists.
const TYPES: usize = 40;

/// Characters of a request line in full.
const REQUEST_COLUMNS: usize = 800;

/// An exchange that has not ended.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) expect: Option<Expect>,
    pub(super) base: Option<Timestamp>,
    /// Whether a content coding lies between chunks and events.
    pub(super) coded: bool,
    /// Rows in the page so far.
    pub(super) listed: u64,
    pub(super) request_rows: u64,
    pub(super) hidden: Tally,
    /// All chunks that have no row.
    pub(super) left_out: Tally,
    pub(super) failures: Failures,
    pub(super) lints: Lints,
    doubt: Option<(u64, String)>,
    pub(super) timeline: Timeline,
    alignment: Alignment,
    sizes: Sizes,
    gaps: Gaps,
    types: BTreeSet<String>,
    first_event: Option<i64>,
    first_chunk: Option<i64>,
    last: Option<i64>,
}

impl Exchange {
    /// One of which nothing is known yet; `few` where many are open.
    pub(super) fn new(few: bool) -> Self {
        Self {
            expect: None,
            base: None,
            coded: false,
            listed: 0,
            request_rows: 0,
            hidden: Tally::default(),
            left_out: Tally::default(),
            failures: Failures::default(),
            lints: Lints::default(),
            doubt: None,
            timeline: Timeline::new(few),
            alignment: Alignment::default(),
            sizes: Sizes::default(),
            gaps: Gaps::default(),
            types: BTreeSet::new(),
            first_event: None,
            first_chunk: None,
            last: None,
        }
    }

    /// Its heads are known.
    pub(super) fn begin(&mut self, head: &ExchangeHead) {
        self.expect = head.expect;
        // Raw HTTP has no packets: what stands in for them has no times.
        self.base = head.id.stream.and(base(head));
        let fields = head.response.as_ref().and_then(|response| response.fields.as_ref());
        let coding = field(fields, "content-encoding").map(str::trim);
        self.coded =
            coding.is_some_and(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"));
    }

    /// Takes what the figures need of a chunk.
    pub(super) fn push(&mut self, judged: &JudgedChunk, allow: Allow, draws: bool) {
        let fails = allow.fails(&judged.verdict);
        if Failures::may_name(&judged.chunk, fails) {
            self.failures.keep(judged.side, &judged.chunk);
        }
        if let Verdict::Unverified(reason) = &judged.verdict
            && self.doubt.is_none()
        {
            self.doubt = Some((judged.chunk.index, reason.clone()));
        }
        if judged.side == Side::Request || !draws {
            return;
        }
        if self.base.is_none() {
            self.base = judged.chunk.first.at;
        }
        let at = since(judged.chunk.last.at, self.base);
        self.first_chunk = self.first_chunk.or(at);
        self.last = at.or(self.last);
        self.timeline.push(judged, self.base, fails);
        if !self.coded || judged.decoded.is_some() {
            self.alignment.push(judged, fails);
        }
        self.sizes.push(judged.chunk.size);
        for event in &judged.events {
            if self.types.len() < TYPES {
                self.types.extend(event_type(event));
            }
            if event.last_chunk == judged.chunk.index
                && let Some(at) = at
            {
                self.first_event = self.first_event.or(Some(at));
                self.gaps.push(at);
            }
        }
    }

    /// How long after the request the first event was whole, in words.
    pub(super) fn first_event(&self) -> Option<String> {
        self.first_event.map(duration)
    }

    /// The section as HTML, up to its rows.
    pub(super) fn section(
        &mut self,
        anchor: &str,
        end: &ExchangeEnd,
        prose: Prose,
    ) -> askama::Result<String> {
        let head = &end.head;
        let (class, word) = exchange_verdict(end.verdict);
        let mut facts = Vec::new();
        let mut fact = |name: &'static str, value: String| facts.push((name, value));
        fact("Chunks", grouped(end.tally.chunks()));
        fact("Events", grouped(end.events));
        if let Some(body) = &end.response_body {
            fact("Octets", grouped(body.size));
        }
        let asked = head.request.as_ref().and_then(|request| request.stamp?.at).is_some();
        if let Some(first) = self.first_event {
            fact(if asked { "First event after" } else { "First event" }, duration(first));
        } else if let Some(first) = self.first_chunk {
            fact(if asked { "First chunk after" } else { "First chunk" }, duration(first));
        }
        if let Some(mean) = self.gaps.mean() {
            fact("Between events", mean);
        }
        if let Some(last) = self.last.filter(|_| end.tally.chunks() > 1) {
            fact("Last chunk after", duration(last));
        }
        let mut sentences = notes(end);
        if let Some((index, reason)) = &self.doubt {
            let first = if end.tally.unverified > 1 { ", the first of them" } else { "" };
            sentences.push(format!("Chunk {index}{first}, can't be verified: {}", printable(reason)));
        }
        if self.coded && end.events > 0 {
            sentences.push(
                "The body is compressed: what a chunk holds are the octets that it completes once it is decoded. \
                 The ruler and the payloads as text are of the decoded body, sizes are those on the wire."
                    .to_owned(),
            );
        }
        let endpoints = match (head.client, head.server) {
            (Some(client), Some(server)) => format!("{client} → {server}"),
            _ => String::new(),
        };
        let mut spreads = String::new();
        for figure in [self.sizes.figure(anchor), self.gaps.figure(anchor)].into_iter().flatten() {
            spreads.push_str(&figure.render()?);
        }
        let figure = self.timeline.figure(anchor).map(|figure| figure.render()).transpose()?;
        let alignment = std::mem::take(&mut self.alignment);
        let alignment = alignment.figure(anchor).map(|figure| figure.render()).transpose()?;
        let chunked = end.response_body.as_ref().is_some_and(|body| body.chunks > 0);
        let section = Section {
            anchor,
            class,
            word,
            request: fit_middle(&request_line(head), REQUEST_COLUMNS).into_owned(),
            response: response_line(head),
            place: place(head.id),
            endpoints,
            when: when(head),
            verdict: capitalised(&prose.verdict_text(end)),
            end: end.response_body.as_ref().map(|body| body_end(body, Side::Response)),
            sentences,
            failures: self.failures.kinds(end).collect(),
            hints: &end.hints,
            lints: self.lints.told(),
            more_lints: self.lints.more(end),
            denied: end.denied > 0,
            timing: end.timing.as_ref().and_then(timing_words),
            filter: self.failures.filter(end),
            facts: if chunked { facts } else { Vec::new() },
            timeline: figure.unwrap_or_default(),
            alignment: alignment.unwrap_or_default(),
            spreads,
        };
        section.render()
    }

    /// What stands above the response's rows as HTML: the filters and the
    /// table's head. Nothing where there are no rows.
    pub(super) fn table_head(&self, anchor: &str, end: &ExchangeEnd) -> askama::Result<String> {
        if self.listed == 0 && self.left_out.chunks() == 0 {
            return Ok(String::new());
        }
        let left_out = match self.left_out.chunks() {
            0 => None,
            _ => Some(format!(
                "{} of {} are listed, all failed ones among them as far as there is room. Not listed: {}. \
                 --limit 0 lists all.",
                grouped(self.listed),
                counted(end.tally.chunks(), "chunk"),
                tally_words(&self.left_out, self.expect).replacen("more chunk", "chunk", 1),
            )),
        };
        TableHead {
            anchor,
            caption: "Chunks",
            types: self.types.iter().cloned().collect(),
            left_out,
            filters: self.listed > 1,
            json: is_json(self.expect),
            rows: self.listed > 0,
        }
        .render()
    }

    /// The same for the chunks of a request.
    pub(super) fn request_table_head(&self, anchor: &str) -> askama::Result<String> {
        if self.request_rows == 0 {
            return Ok(String::new());
        }
        TableHead {
            anchor: &format!("{anchor}-q"),
            caption: "Chunks of the request",
            types: Vec::new(),
            left_out: None,
            filters: false,
            json: false,
            rows: true,
        }
        .render()
    }
}

/// The top of a section.
#[derive(Debug, Template)]
#[template(path = "exchange.html")]
struct Section<'a> {
    anchor: &'a str,
    class: &'static str,
    word: &'static str,
    request: String,
    response: String,
    place: String,
    endpoints: String,
    when: Option<String>,
    verdict: String,
    end: Option<String>,
    sentences: Vec<String>,
    failures: Vec<FailureKind<'a>>,
    hints: &'a [Hint],
    lints: &'a [(bool, String)],
    more_lints: Option<String>,
    denied: bool,
    timing: Option<String>,
    filter: Option<String>,
    facts: Vec<(&'static str, String)>,
    /// Figures, as HTML.
    timeline: String,
    alignment: String,
    spreads: String,
}

/// What stands above rows.
#[derive(Debug, Template)]
#[template(path = "rows.html")]
struct TableHead<'a> {
    anchor: &'a str,
    caption: &'a str,
    types: Vec<String>,
    left_out: Option<String>,
    filters: bool,
    json: bool,
    rows: bool,
}

/// An exchange in the overview.
#[derive(Debug, Template)]
#[template(path = "line.html")]
pub(super) struct Line {
    anchor: Option<String>,
    class: &'static str,
    word: &'static str,
    place: String,
    request: String,
    response: String,
    chunks: String,
    events: String,
    first_event: String,
    shares: Vec<Share>,
    verdict: String,
}

/// How many of the chunks have a verdict, as a part of a bar.
#[derive(Debug)]
struct Share {
    verdict: &'static str,
    x: String,
    width: String,
}

impl Line {
    /// The line of an exchange; with a link where it has a section.
    pub(super) fn new(anchor: Option<String>, end: &ExchangeEnd, exchange: &Exchange, prose: Prose) -> Self {
        let (class, word) = exchange_verdict(end.verdict);
        let tally = &end.tally;
        let counts = [
            ("one", tally.one),
            ("several", tally.several),
            ("part", tally.part),
            ("mixed", tally.mixed),
            ("invalid", tally.invalid),
            ("unverified", tally.unverified),
            ("unchecked", tally.unchecked),
        ];
        let all = tally.chunks() as f64;
        let mut before = 0;
        let shares = counts.into_iter().filter(|(_, count)| *count > 0).map(|(verdict, count)| {
            let x = percent(before as f64, all);
            before += count;
            Share { verdict, x, width: percent(count as f64, all) }
        });
        // The verdict tells of those that fail the check.
        let notes = match end.lints.saturating_sub(end.denied) {
            0 => String::new(),
            notes => format!(". {} of --lint", counted(notes, "note")),
        };
        Self {
            anchor,
            class,
            word,
            place: place(end.head.id),
            request: fit_middle(&request_line(&end.head), 160).into_owned(),
            response: response_line(&end.head),
            chunks: grouped(tally.chunks()),
            events: grouped(end.events),
            first_event: exchange.first_event().unwrap_or_else(|| "–".to_owned()),
            shares: shares.collect(),
            verdict: capitalised(&prose.verdict_text(end)) + &notes,
        }
    }
}
