//! What the reports for CI share: of each exchange that hasn't ended, what may
//! have to be said of it at its end, and the sentence that concludes a run.
//!
//! An exchange is a test case: it passes, fails, can't be verified, or isn't
//! checked. What is kept of an open one is bounded, however many chunks fail.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::report::closing::Run;
use crate::report::failures::{Failures, chunk_words};
use crate::report::phrases::{base, place, request_line};
use crate::report::prose::{Mark, Prose};
use crate::report::text::{Paint, counted, fit_middle, grouped, printable};
use crate::report::why::{LintKinds, lint_text};
use crate::report::{
    CaptureEnd, Conclusion, ExchangeEnd, ExchangeId, ExchangeVerdict, Finding, JudgedChunk, Outcome, Problem,
    Tally, Violation, ViolationCode,
};
use crate::units::{FrameNo, Timestamp};
use crate::verdict::{Allow, Verdict};

/// Columns of a request in a name or a title: enough to know it by.
const REQUEST_COLUMNS: usize = 200;

/// The exchanges that haven't ended.
#[derive(Debug)]
pub(super) struct Cases {
    allow: Allow,
    open: HashMap<ExchangeId, Case, RandomState>,
    /// Exchanges that fail, in all captures.
    failed: u64,
}

/// What is known of one exchange's chunks.
#[derive(Debug, Default)]
pub(super) struct Case {
    pub(super) failures: Failures,
    /// The first chunk that can't be verified: its frame, and why, in words.
    pub(super) doubt: Option<(Option<FrameNo>, String)>,
    /// Violations so far.
    pub(super) violations: u64,
    /// What `--lint` found.
    pub(super) lints: LintKinds,
    /// The time of the last chunk.
    latest: Option<Timestamp>,
}

impl Cases {
    pub(super) fn new(allow: Allow) -> Self {
        Self { allow, open: HashMap::default(), failed: 0 }
    }

    /// Takes what may have to be said later. A violation is given in words,
    /// with the number that it has in its exchange, from 1; a finding of
    /// `--lint` too, of which those that fail the check are counted apart.
    pub(super) fn take(&mut self, finding: &Finding<'_>) -> Option<(u64, String)> {
        match finding {
            Finding::Chunk(judged) => {
                self.open.entry(judged.exchange).or_default().chunk(judged, self.allow);
                None
            }
            Finding::Violation(violation) => {
                Some(self.open.entry(violation.exchange).or_default().violation(violation))
            }
            Finding::CaptureEnd(_) => {
                self.open.clear();
                None
            }
            Finding::Lint(lint) => {
                let number = self.open.entry(lint.exchange).or_default().lints.push(lint);
                Some((number, plain(&lint_text(lint))))
            }
            Finding::Capture(_) | Finding::Exchange(_) | Finding::Event(..) | Finding::ExchangeEnd(_) => None,
        }
    }

    /// An exchange has ended: what was kept of it.
    pub(super) fn end(&mut self, end: &ExchangeEnd) -> Case {
        self.failed += u64::from(end.verdict == ExchangeVerdict::Fail);
        self.open.remove(&end.head.id).unwrap_or_default()
    }

    /// The conclusion, one sentence without a full stop.
    pub(super) fn conclude(&self, conclusion: &Conclusion) -> String {
        let totals = &conclusion.totals;
        let inside = match totals.captures {
            1 => String::new(),
            captures => format!(" in {}", counted(captures, "capture")),
        };
        match conclusion.outcome {
            Outcome::Pass => format!(
                "pass: {} checked{inside}, no check failed ({}, {})",
                counted(totals.checked, "exchange"),
                counted(totals.chunks, "chunk"),
                counted(totals.events, "event"),
            ),
            Outcome::Empty => format!("nothing to check: no chunked event stream was found{inside}"),
            Outcome::Fail => {
                let mut facts = Vec::new();
                if totals.unreadable > 0 {
                    let of = counted(totals.captures, "capture");
                    facts.push(format!("{} of {of} could not be read", grouped(totals.unreadable)));
                }
                let found: Vec<_> =
                    [(totals.violations, "violation", ""), (totals.denied, "denied finding", " of --lint")]
                        .into_iter()
                        .filter(|(count, ..)| *count > 0)
                        .map(|(count, noun, of)| counted(count, noun) + of)
                        .collect();
                if !found.is_empty() {
                    let found = found.join(" and ");
                    let of = counted(totals.exchanges, "exchange");
                    facts.push(match self.failed == totals.exchanges {
                        true => format!("{found} in {of}"),
                        false => format!("{found} in {} of {of}", grouped(self.failed)),
                    });
                }
                if totals.unverified_exchanges > 0 && !self.allow.gaps {
                    let exchanges = counted(totals.unverified_exchanges, "exchange");
                    facts.push(format!("{exchanges} can't be verified, since the capture lacks octets"));
                }
                format!("fail: {}", facts.join("; "))
            }
        }
    }
}

impl Case {
    fn chunk(&mut self, judged: &JudgedChunk, allow: Allow) {
        let chunk = &judged.chunk;
        self.latest = later(self.latest, chunk.last.at);
        if Failures::may_name(chunk, allow.fails(&judged.verdict)) {
            self.failures.keep(judged.side, chunk);
        }
        if let (Verdict::Unverified(reason), None) = (&judged.verdict, &self.doubt) {
            let frame = judged.exchange.stream.map(|_| chunk.last.frame);
            let told = format!("{} can't be verified: {reason}", chunk_words(judged));
            self.doubt = Some((frame, plain(&told)));
        }
    }

    fn violation(&mut self, violation: &Violation) -> (u64, String) {
        self.violations += 1;
        let told = self.failures.push(violation, true).unwrap_or_default();
        (self.violations, plain(&told))
    }

    /// How long the exchange took, in nanoseconds: from its request, or its
    /// response where that was not seen, to the last that was captured of it.
    pub(super) fn nanos(&self, end: &ExchangeEnd) -> i128 {
        let mut latest = self.latest;
        for body in [&end.request_body, &end.response_body].into_iter().flatten() {
            latest = later(latest, body.last_chunk.as_ref().and_then(|last| last.last.at));
            latest = later(latest, body.end_stamp.and_then(|stamp| stamp.at));
        }
        let response = end.head.response.as_ref().and_then(|response| response.stamp);
        latest = later(latest, response.and_then(|stamp| stamp.at));
        match (base(&end.head), latest) {
            (Some(base), Some(latest)) if end.head.id.stream.is_some() => latest.nanos_since(base).max(0),
            _ => 0,
        }
    }
}

fn later(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(a), Some(b)) if b.nanos_since(a) > 0 => Some(b),
        (None, other) => other,
        (one, _) => one,
    }
}

/// The frame of the response's head, where there are frames.
pub(super) fn answered_in(end: &ExchangeEnd) -> Option<FrameNo> {
    let stamp = end.head.response.as_ref()?.stamp?;
    end.head.id.stream.map(|_| stamp.frame)
}

/// What `--allow` let pass in an exchange: the verdicts, the option's word, how
/// many chunks.
pub(super) fn allowed(
    tally: &Tally,
    allow: Allow,
) -> impl Iterator<Item = (ViolationCode, &'static str, u64)> {
    [
        (ViolationCode::SeveralEvents, "several", tally.several, allow.several),
        (ViolationCode::PartialEvent, "part", tally.part, allow.part),
        (ViolationCode::MixedEvents, "mixed", tally.mixed, allow.mixed),
    ]
    .into_iter()
    .filter(|&(.., count, allowed)| allowed && count > 0)
    .map(|(code, word, count, _)| (code, word, count))
}

/// What chunks with an allowed verdict hold: `1 chunk holds several events`.
pub(super) fn allowed_words(code: ViolationCode, count: u64) -> String {
    let verb = if count == 1 { "holds" } else { "hold" };
    let what = match code {
        ViolationCode::PartialEvent => "a part of one event",
        ViolationCode::MixedEvents => "parts of several events",
        _ => "several events",
    };
    format!("{} {verb} {what}", counted(count, "chunk"))
}

/// Sentences without colours or line breaks.
pub(super) const fn sentences(allow: Allow) -> Prose {
    Prose { width: usize::MAX, paint: Paint { color: false }, allow }
}

/// The request and its place: `GET /api/v1/pods (stream 0)`.
pub(super) fn title(end: &ExchangeEnd) -> String {
    let request = request_line(&end.head);
    format!("{} ({})", fit_middle(&request, REQUEST_COLUMNS), place(end.head.id))
}

/// A problem with its place: `stream 3: the capture lacks … (frame 12)`.
pub(super) fn problem_words(problem: &Problem, end: &CaptureEnd) -> String {
    let stream = problem.stream.map(|stream| format!("stream {stream}: ")).unwrap_or_default();
    let frames = end.packets > 0;
    let frame = problem.frame.filter(|_| frames).map(|frame| format!(" (frame {frame})")).unwrap_or_default();
    format!("{stream}{}{frame}", printable(&problem.message))
}

/// Why there is nothing to check and what to do about it, in lines.
pub(super) fn nothing(run: &Run, allow: Allow, conclusion: &Conclusion) -> String {
    let text = plain(&run.conclude(sentences(allow), conclusion));
    text.trim().trim_start_matches(Mark::Unchecked.sign()).trim_start().to_owned()
}

/// Reports that are searched and copied have no no-break spaces.
pub(super) fn plain(text: &str) -> String {
    text.replace('\u{a0}', " ")
}
