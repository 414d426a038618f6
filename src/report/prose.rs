//! The sentences of the reports for people: what an exchange was, how its body
//! ended, what the verdict is, and where a check fails, what that means for a
//! client and what to look up.
//!
//! Written for somebody who has never seen the program: each sentence says
//! what is there, none names a cause that the capture doesn't show.

use std::fmt::Write as _;

use crate::http::{BodyEnd, Framing, Side};
use crate::report::phrases::{
    body_end, framing, listed, place, request_line, response_line, unchecked, unit, when,
};
use crate::report::text::{
    Paint, TextOptions, Tone, counted, fit, fit_middle, grouped, printable, seconds, width, wrap,
};
use crate::report::{CaptureEnd, ExchangeEnd, ExchangeHead, ExchangeVerdict, Format};
use crate::verdict::Allow;

/// Columns of running text: longer lines are hard to read.
const PROSE_COLUMNS: usize = 100;

/// How sentences are set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prose {
    pub(super) width: usize,
    pub(super) paint: Paint,
    pub(super) allow: Allow,
}

impl Prose {
    pub(super) const fn new(options: &TextOptions) -> Self {
        Self { width: options.width, paint: Paint { color: options.color }, allow: options.allow }
    }

    /// Running text, wrapped.
    pub(super) fn paragraph(self, text: &str, first: &str, other: &str) -> String {
        wrap(text, self.width.min(PROSE_COLUMNS), first, other)
    }

    /// Lines that are beside the point until they are looked for.
    pub(super) fn faint(self, lines: &str) -> String {
        let mut text = String::with_capacity(lines.len() + 1);
        for line in lines.lines() {
            text.push_str(&self.paint.tone(Tone::Faint, line));
            text.push('\n');
        }
        text
    }

    /// A paragraph behind a mark (`✓ …`), which alone is coloured.
    pub(super) fn marked(self, mark: Mark, text: &str) -> String {
        let lines = wrap(text, self.width.min(PROSE_COLUMNS), &format!("{} ", mark.sign()), "  ");
        match lines.strip_prefix(mark.sign()) {
            Some(rest) => self.paint.tone(mark.tone(), mark.sign()) + rest,
            None => lines,
        }
    }

    /// The same within a chunk or a list, two columns to the right.
    pub(super) fn marked_within(self, mark: Mark, text: &str) -> String {
        let narrower = Self { width: self.width.saturating_sub(2), ..self };
        narrower.marked(mark, text).lines().flat_map(|line| ["  ", line, "\n"]).collect()
    }

    /// What a capture is, one line, and a second one where it lacks octets.
    pub(super) fn capture(self, capture: &CaptureEnd) -> String {
        let mut facts = Vec::new();
        match capture.format {
            Some(Format::Http) => facts.push("raw HTTP responses".to_owned()),
            Some(format) => facts.push(format.name().to_owned()),
            None => facts.push("could not be read".to_owned()),
        }
        if !capture.parts.is_empty() {
            facts.push(format!("{} joined", counted(capture.parts.len() as u64, "part")));
        }
        facts.extend(capture.link_types.iter().map(|name| printable(name).into_owned()));
        if capture.format.is_some_and(|format| format != Format::Http) {
            let mut packets = counted(capture.packets, "packet");
            if let (Some(first), Some(last)) = (capture.first_time, capture.last_time) {
                let _ = write!(packets, " in {}", seconds(last.nanos_since(first), 3));
            }
            facts.push(packets);
            facts.push(match capture.left_out.streams {
                0 => counted(capture.streams, "TCP stream"),
                left_out => {
                    let all = counted(capture.streams + left_out, "TCP stream");
                    format!("{} of {all}", grouped(capture.streams))
                }
            });
        }
        let path = printable(&capture.path);
        let mut text = format!("{}: {}", path, facts.join(", "));
        if width(&text) > self.width {
            text = format!("{path}:\n  {}", facts.join(", "));
        }
        let mut text = match text.strip_prefix(path.as_ref()) {
            Some(rest) => self.paint.tone(Tone::Strong, &path) + rest,
            None => text,
        };
        text.push('\n');
        text.push_str(&self.lacks(capture));
        text
    }

    fn lacks(self, capture: &CaptureEnd) -> String {
        let mut lines = String::new();
        let lost = capture.problems.iter().filter(|problem| problem.code == "lost-octets");
        let mut streams: Vec<u64> = lost.filter_map(|problem| Some(problem.stream?.0)).collect();
        if !streams.is_empty() {
            streams.sort_unstable();
            let noun = if streams.len() == 1 { "stream" } else { "streams" };
            let text = format!(
                "The capture lacks octets of {noun} {}: chunks that can't be judged without them are marked ?",
                listed(streams.into_iter())
            );
            lines.push_str(&self.marked(Mark::Doubt, &text));
        }
        if capture.problems.iter().any(|problem| problem.code == "cut-packets") {
            let text = "Packets were cut when they were recorded; tcpdump -s 0 keeps them whole";
            lines.push_str(&self.marked(Mark::Doubt, text));
        }
        lines
    }

    /// The lines above an exchange's chunks: where, what, when.
    pub(super) fn title(self, end: &ExchangeEnd) -> String {
        let head = &end.head;
        let request = request_line(head);
        let response = response_line(head);
        if head.id.stream.is_none() && head.request.is_none() {
            return format!("{}{response}\n{}", self.place_line(head), self.notes(end));
        }
        // A target is copied and searched for: it is cut only where it is absurd.
        let request = fit_middle(&request, self.width.saturating_mul(4).max(200));
        let apart = if width(&request) + width(&response) + 3 <= self.width { " " } else { "\n  " };
        let request = self.paint.tone(Tone::Strong, &request);
        format!(
            "{}{request}{apart}→ {response}\n{}{}",
            self.place_line(head),
            self.when(head),
            self.notes(end)
        )
    }

    /// `stream 0  127.0.0.1:54946 → 127.0.0.1:8001`
    pub(super) fn place_line(self, head: &ExchangeHead) -> String {
        let place = self.paint.tone(Tone::Strong, &place(head.id));
        match (head.client, head.server) {
            (Some(client), Some(server)) => format!("{place}  {client} → {server}\n"),
            _ => format!("{place}\n"),
        }
    }

    /// When it was asked and answered.
    pub(super) fn when(self, head: &ExchangeHead) -> String {
        when(head).map_or_else(String::new, |when| self.faint(&wrap(&when, self.width, "", "  ")))
    }

    /// What is to be known of its bodies before the chunks.
    pub(super) fn notes(self, end: &ExchangeEnd) -> String {
        notes(end).iter().map(|note| self.paragraph(note, "", "")).collect()
    }

    /// An exchange in one line.
    pub(super) fn line(self, end: &ExchangeEnd) -> String {
        let head = &end.head;
        let place = match (head.id.stream, head.id.index) {
            (Some(stream), 0) => stream.to_string(),
            (Some(stream), index) => format!("{stream}, {index}"),
            (None, index) => index.to_string(),
        };
        let status = head.response.as_ref().and_then(|response| response.status);
        let status = status.map_or_else(|| "–".to_owned(), |status| status.to_string());
        let mut body = match &end.response_body {
            None => "no response captured".to_owned(),
            Some(body) => {
                let size = counted(body.size, "octet");
                let text = match body.framing {
                    Some(Framing::Chunked) => format!("{size} in {}", counted(body.chunks, "chunk")),
                    Some(Framing::ContentLength(_)) => size,
                    None | Some(Framing::None) if body.size == 0 => framing(body.framing),
                    other => format!("{size}, {}", framing(other)),
                };
                match body.end {
                    BodyEnd::Complete => text,
                    BodyEnd::Open => format!("{text}, open"),
                    BodyEnd::Aborted => format!("{text}, aborted"),
                    BodyEnd::Truncated => format!("{text}, cut off"),
                    BodyEnd::Broken => format!("{text}, broken"),
                    BodyEnd::Lost => format!("{text}, octets lost"),
                }
            }
        };
        body = fit(&body, 36).into_owned();
        let pad = |text: &str, columns: usize| " ".repeat(columns.saturating_sub(width(text)));
        let start =
            format!("  {place}{}  {status}{}  {body}{}  ", pad(&place, 8), pad(&status, 6), pad(&body, 30));
        let room = self.width.saturating_sub(width(&start)).max(20);
        format!("{start}{}\n", fit_middle(&request_line(head), room))
    }

    /// What stands above the exchanges that take one line each.
    pub(super) fn above_lines(self) -> String {
        let names = format!("  {:<8}  status  {:<30}  request", "stream", "body");
        let text = "\nOther exchanges, none of them an event stream (--all lists their chunks)\n";
        format!("{text}{}\n", self.paint.tone(Tone::Faint, &names))
    }

    /// The verdict on an exchange, marked.
    pub(super) fn verdict(self, end: &ExchangeEnd) -> String {
        self.marked(Mark::of(end.verdict), &self.verdict_text(end))
    }

    /// The verdict on an exchange, a sentence without a full stop.
    pub(super) fn verdict_text(self, end: &ExchangeEnd) -> String {
        let tally = &end.tally;
        let both = format!("{}, {}", counted(tally.chunks(), "chunk"), counted(end.events, "event"));
        match end.verdict {
            ExchangeVerdict::Pass => format!("{both}: {}", self.tally_text(end)),
            ExchangeVerdict::Fail => {
                let failed = self.failed(end);
                let broken = match end.response_body.as_ref().map(|body| body.end) {
                    Some(BodyEnd::Broken) => Some("the chunk framing is broken"),
                    Some(BodyEnd::Truncated) => Some("the server cut the body off"),
                    _ => match end.request_body.as_ref().map(|body| body.end) {
                        Some(BodyEnd::Broken) => Some("the chunk framing of the request is broken"),
                        Some(BodyEnd::Truncated) => Some("the client cut the request off"),
                        _ => None,
                    },
                };
                let chunks = counted(tally.chunks(), "chunk");
                match (failed, broken) {
                    (0, Some(broken)) if tally.chunks() == 0 => broken.to_owned(),
                    (0, Some(broken)) if tally.checked() == 0 => {
                        format!("{broken}; {chunks}, none of them checked")
                    }
                    (0, Some(broken)) => format!("{broken}; {both}: {}", self.tally_text(end)),
                    (0, None) => {
                        let denied = format!("{} of --lint", counted(end.denied, "denied finding"));
                        match tally.checked() {
                            0 => denied,
                            _ => format!("{denied}; {both}: {}", self.tally_text(end)),
                        }
                    }
                    (failed, broken) => {
                        let broken = broken.map_or_else(String::new, |broken| format!("; {broken}"));
                        let fail = if failed == 1 { "fails" } else { "fail" };
                        let failed = grouped(failed);
                        format!("{failed} of {chunks} {fail}: {}{broken}", self.tally_text(end))
                    }
                }
            }
            ExchangeVerdict::Unverified => match tally.chunks() {
                0 => "the capture lacks octets of the body: its chunks can't be found".to_owned(),
                _ => format!("{both}: {}", self.tally_text(end)),
            },
            ExchangeVerdict::Unchecked => unchecked(end),
        }
    }

    fn failed(self, end: &ExchangeEnd) -> u64 {
        let Allow { several, part, mixed, .. } = self.allow;
        let counts = [(end.tally.several, several), (end.tally.part, part), (end.tally.mixed, mixed)];
        let failed: u64 = counts.iter().filter(|(_, allowed)| !allowed).map(|(count, _)| count).sum();
        failed + end.tally.invalid
    }

    /// `10 hold parts of several events, 2 hold several events; the other 18
    /// hold exactly one watch event each`
    fn tally_text(self, end: &ExchangeEnd) -> String {
        let unit = unit(end.head.expect);
        let tally = &end.tally;
        match (tally.one, tally.chunks()) {
            (1, 1) => return format!("the chunk holds exactly one {unit}"),
            (one, all) if one == all => return format!("each chunk holds exactly one {unit}"),
            _ => {}
        }
        let Allow { several, part, mixed, gaps, .. } = self.allow;
        let say = |count: u64, one: &str, many: &str, allowed: bool| {
            let verb = if count == 1 { one } else { many };
            let allowed = if allowed { " (allowed)" } else { "" };
            (count > 0).then(|| format!("{} {verb}{allowed}", grouped(count)))
        };
        let failed = [
            say(tally.mixed, "holds parts of several events", "hold parts of several events", mixed),
            say(tally.part, "holds a part of one event", "hold a part of one event", part),
            say(tally.several, "holds several events", "hold several events", several),
            say(tally.invalid, &format!("holds no {unit}"), &format!("hold no {unit}"), false),
        ];
        let lack = "can't be verified, as the capture lacks octets";
        let ended = end.response_body.as_ref().is_some_and(|body| body.end == BodyEnd::Complete);
        let unfinished = if tally.unchecked == 1 && !ended { "is unfinished" } else { "was not checked" };
        let (one, many) = (format!("holds exactly one {unit}"), format!("hold exactly one {unit} each"));
        let other = [
            say(tally.one, &one, &many, false),
            say(tally.unverified, lack, lack, gaps),
            say(tally.unchecked, unfinished, "were not checked", false),
        ];
        let failed: Vec<_> = failed.into_iter().flatten().collect();
        let other: Vec<_> = other.into_iter().flatten().collect();
        match (failed.is_empty(), other.is_empty()) {
            (false, false) => format!("{}; {}", failed.join(", "), other.join(", ")),
            _ => failed.join(", ") + &other.join(", "),
        }
    }
}

/// What is to be known of an exchange's bodies before the chunks, a sentence each.
pub(super) fn notes(end: &ExchangeEnd) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, body) in [(Side::Request, &end.request_body), (Side::Response, &end.response_body)] {
        let Some(body) = body else { continue };
        if let Some(skipped) = body.joined {
            let side = if side == Side::Request { "request" } else { "response" };
            let skipped = match skipped {
                0 => String::new(),
                1 => "1 octet before the first chunk that could be made out was skipped; ".to_owned(),
                _ => format!(
                    "{} before the first chunk that could be made out were skipped; ",
                    counted(skipped, "octet")
                ),
            };
            notes.push(format!(
                "The stream was joined in the middle of a {side}: {skipped}chunks count from there."
            ));
        }
    }
    if let Some(body) = &end.request_body
        && (body.size > 0 || body.end != BodyEnd::Complete)
    {
        let ended = body_end(body, Side::Request);
        if body.framing.is_none() {
            notes.push(format!("Whether the request has a body isn't known: {ended}"));
            return notes;
        }
        notes.push(format!("The request has a body of {}: {ended}", counted(body.size, "octet")));
    }
    notes
}

/// The sign at the left of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Good,
    Bad,
    Doubt,
    Unchecked,
    None,
}

impl Mark {
    pub(super) const fn of(verdict: ExchangeVerdict) -> Self {
        match verdict {
            ExchangeVerdict::Pass => Self::Good,
            ExchangeVerdict::Fail => Self::Bad,
            ExchangeVerdict::Unverified => Self::Doubt,
            ExchangeVerdict::Unchecked => Self::Unchecked,
        }
    }

    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Bad => "✗",
            Self::Doubt => "?",
            Self::Unchecked => "–",
            Self::None => " ",
        }
    }

    pub(super) const fn tone(self) -> Tone {
        match self {
            Self::Good => Tone::Good,
            Self::Bad => Tone::Bad,
            Self::Doubt => Tone::Doubt,
            Self::Unchecked | Self::None => Tone::Faint,
        }
    }
}
