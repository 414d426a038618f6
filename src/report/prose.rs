//! The sentences of the reports for people: what an exchange was, how its body
//! ended, what the verdict is, and where a check fails, what that means for a
//! client and what to look up.
//!
//! Written for somebody who has never seen the program: each sentence says
//! what is there, none names a cause that the capture doesn't show.

use std::fmt::Write as _;

use crate::event::Kind;
use crate::http::{BodyEnd, Fields, Framing, RequestHead, ResponseHead, Side};
use crate::report::text::{fit, 
    Allowed, Paint, TextOptions, Tone, counted, fit_middle, grouped, printable, ranges, seconds, width, wrap,
};
use crate::report::{Body, CaptureEnd, ExchangeEnd, ExchangeHead, ExchangeId, ExchangeVerdict, Expect, Format, Tally};
use crate::units::{Stamp, Timestamp};
use crate::verdict::Verdict;

/// Columns of running text: longer lines are hard to read.
const PROSE_COLUMNS: usize = 100;

/// How sentences are set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prose {
    pub(super) width: usize,
    pub(super) paint: Paint,
    pub(super) allow: Allowed,
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
        lines.lines().flat_map(|line| [self.paint.tone(Tone::Faint, line), "\n".to_owned()]).collect()
    }

    /// A paragraph behind a mark (`✓ …`), which alone is coloured.
    pub(super) fn marked(self, mark: Mark, text: &str) -> String {
        let lines = wrap(text, self.width.min(PROSE_COLUMNS), &format!("{} ", mark.sign()), "  ");
        match lines.strip_prefix(mark.sign()) {
            Some(rest) => self.paint.tone(mark.tone(), mark.sign()) + rest,
            None => lines,
        }
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
        if matches!(capture.format, Some(Format::Pcap | Format::Pcapng)) {
            let mut packets = counted(capture.packets, "packet");
            if let (Some(first), Some(last)) = (capture.first_time, capture.last_time) {
                let _ = write!(packets, " in {}", seconds(last.nanos_since(first), 3));
            }
            facts.push(packets);
            facts.push(counted(capture.streams, "TCP stream"));
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
        // A target is copied and searched for: it is cut only where it is absurd.
        let request = fit_middle(&request, self.width.saturating_mul(4).max(200));
        let apart = if width(&request) + width(&response) + 3 <= self.width { " " } else { "\n  " };
        let request = self.paint.tone(Tone::Strong, &request);
        format!("{}{request}{apart}→ {response}\n{}{}", self.place_line(head), self.when(head), self.notes(end))
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
        let mut text = String::new();
        for (side, body) in [(Side::Request, &end.request_body), (Side::Response, &end.response_body)] {
            let Some(body) = body else { continue };
            if let Some(skipped) = body.joined {
                let side = if side == Side::Request { "request" } else { "response" };
                let note = format!(
                    "The stream was joined in the middle of a {side}: {} before the first chunk that could \
                     be made out were skipped; chunks count from there.",
                    counted(skipped, "octet")
                );
                text.push_str(&self.paragraph(&note, "", ""));
            }
        }
        if let Some(body) = &end.request_body
            && (body.size > 0 || body.end != BodyEnd::Complete)
        {
            let ended = body_end(body, Side::Request);
            let note = format!("The request has a body of {}: {ended}", counted(body.size, "octet"));
            text.push_str(&self.paragraph(&note, "", ""));
        }
        text
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
        let start = format!("  {place}{}  {status}{}  {body}{}  ", pad(&place, 8), pad(&status, 6), pad(&body, 30));
        let room = self.width.saturating_sub(width(&start)).max(20);
        format!("{start}{}\n", fit_middle(&request_line(head), room))
    }

    /// What stands above the exchanges that take one line each.
    pub(super) fn above_lines(self) -> String {
        let names = format!("  {:<8}  status  {:<30}  request", "stream", "body");
        let text = "\nExchanges of which nothing is expected (--all lists their chunks)\n";
        format!("{text}{}\n", self.paint.tone(Tone::Faint, &names))
    }

    /// The verdict on an exchange, marked.
    pub(super) fn verdict(self, end: &ExchangeEnd) -> String {
        self.marked(Mark::of(end.verdict), &self.verdict_text(end))
    }

    fn verdict_text(self, end: &ExchangeEnd) -> String {
        let tally = &end.tally;
        let unit = unit(end.head.expect);
        let both = format!("{}, {}", counted(tally.chunks(), "chunk"), counted(end.events, "event"));
        match end.verdict {
            ExchangeVerdict::Pass if tally.one == tally.chunks() => match tally.one {
                1 => format!("{both}: the chunk holds exactly one {unit}"),
                _ => format!("{both}: each chunk holds exactly one {unit}"),
            },
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
                    (0, Some(broken)) => format!("{broken}; {both}: {}", self.tally_text(end)),
                    (0, None) => format!("{both}: {}", self.tally_text(end)),
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
        let Allowed { several, part, mixed, .. } = self.allow;
        let counts = [(end.tally.several, several), (end.tally.part, part), (end.tally.mixed, mixed)];
        let failed: u64 = counts.iter().filter(|(_, allowed)| !allowed).map(|(count, _)| count).sum();
        failed + end.tally.invalid
    }

    /// `10 hold parts of several events, 2 hold several events; the other 18
    /// hold exactly one watch event each`
    fn tally_text(self, end: &ExchangeEnd) -> String {
        let unit = unit(end.head.expect);
        let tally = &end.tally;
        let Allowed { several, part, mixed, gaps } = self.allow;
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

/// What one chunk must hold exactly one of, in words.
pub(super) const fn unit(expect: Option<Expect>) -> &'static str {
    match expect {
        Some(Expect::Kind(Kind::Watch)) => "watch event",
        Some(Expect::Kind(Kind::Json)) => "JSON text",
        Some(Expect::Kind(Kind::Ndjson)) => "line of JSON",
        Some(Expect::Kind(Kind::Sse)) => "server-sent event",
        Some(Expect::Any) | None => "event",
    }
}

/// `stream 3, exchange 1`: the exchange is named unless it is a stream's first.
pub(super) fn place(id: ExchangeId) -> String {
    match (id.stream, id.index) {
        (Some(stream), 0) => format!("stream {stream}"),
        (Some(stream), index) => format!("stream {stream}, exchange {index}"),
        (None, index) => format!("response {index}"),
    }
}

/// `GET /api/v1/pods`.
pub(super) fn request_line(head: &ExchangeHead) -> String {
    match &head.request {
        None if head.client.is_none() => "response".to_owned(),
        None => "(the request was not captured)".to_owned(),
        Some(RequestHead { method: Some(method), target: Some(target), .. }) => {
            format!("{} {}", printable(method), printable(target))
        }
        Some(_) => "(the request's head was not captured whole)".to_owned(),
    }
}

/// `200 OK, application/json, chunked`.
fn response_line(head: &ExchangeHead) -> String {
    let Some(ResponseHead { status, reason, fields, .. }) = &head.response else {
        return "no response captured".to_owned();
    };
    let mut facts = Vec::new();
    match status {
        Some(status) => {
            let reason = reason.as_deref().unwrap_or_default();
            facts.push(format!("{status} {}", printable(reason)).trim_end().to_owned());
        }
        None => facts.push("(the head was not captured)".to_owned()),
    }
    for name in ["content-type", "content-encoding"] {
        facts.extend(field(fields.as_ref(), name).map(|value| fit_middle(&printable(value), 60).into_owned()));
    }
    facts.push(framing(head.framing));
    facts.join(", ")
}

/// A field's value, by its name in lower case.
pub(super) fn field<'a>(fields: Option<&'a Fields>, name: &str) -> Option<&'a str> {
    let mut found = fields?.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.as_str())
}

/// How a body is delimited, in words.
pub(super) fn framing(framing: Option<Framing>) -> String {
    match framing {
        Some(Framing::Chunked) => "chunked".to_owned(),
        Some(Framing::ContentLength(octets)) => format!("Content-Length {octets}"),
        Some(Framing::Close) => "read to the close".to_owned(),
        Some(Framing::None) => "no body".to_owned(),
        Some(Framing::Tunnel) => "tunnel".to_owned(),
        None => "framing not known".to_owned(),
    }
}

/// The stamp that times count from, if any: the request's, else the response's.
pub(super) fn base(head: &ExchangeHead) -> Option<Timestamp> {
    let request = head.request.as_ref().and_then(|request| request.stamp?.at);
    request.or_else(|| head.response.as_ref().and_then(|response| response.stamp?.at))
}

/// When it was asked and answered, and what times count from.
fn when(head: &ExchangeHead) -> Option<String> {
    let request = head.request.as_ref().and_then(|request| request.stamp);
    let response = head.response.as_ref().and_then(|response| response.stamp);
    match (request, response) {
        (Some(Stamp { at: Some(asked), frame }), Some(Stamp { at: Some(answered), frame: second })) => {
            let after = seconds(answered.nanos_since(asked), 3);
            Some(format!(
                "requested {asked} (frame\u{a0}{frame}), answered after {after} (frame\u{a0}{second}); times count from the request"
            ))
        }
        (Some(Stamp { at: Some(asked), frame }), _) => {
            Some(format!("requested {asked} (frame\u{a0}{frame}); times count from there"))
        }
        (_, Some(Stamp { at: Some(answered), frame })) => {
            Some(format!("answered {answered} (frame\u{a0}{frame}); times count from there"))
        }
        (Some(Stamp { frame, .. }), Some(Stamp { frame: second, .. })) => {
            Some(format!("requested in frame\u{a0}{frame}, answered in frame\u{a0}{second}; the packets have no times"))
        }
        _ => None,
    }
}

/// How a body ended, a clause.
pub(super) fn body_end(body: &Body, side: Side) -> String {
    let (sender, receiver) = match side {
        Side::Request => ("client", "server"),
        Side::Response => ("server", "client"),
    };
    let frame = match body.end_stamp {
        Some(stamp) => format!(" (frame\u{a0}{})", stamp.frame),
        None => String::new(),
    };
    let closed = if body.reset { "reset" } else { "closed" };
    let chunked = body.framing == Some(Framing::Chunked);
    // RFC 9112 §7.1: a chunked body ends with the last chunk, its trailer
    // section and an empty line.
    let missing = match (&body.last_chunk, chunked) {
        (Some(_), true) => "; the last chunk is there, but not the empty line behind it",
        (None, true) => "; no last chunk",
        (_, false) => "",
    };
    match body.end {
        BodyEnd::Complete => match body.framing {
            Some(Framing::Chunked) => {
                let last = body.last_chunk.as_ref();
                let frame = last.map_or(frame, |last| {
                    let frames: Vec<_> = last.trail.iter().filter_map(|run| run.frame).collect();
                    match frames.last() {
                        Some(frame) => format!(" (frame\u{a0}{frame})"),
                        None => String::new(),
                    }
                });
                let trailers = last.map_or(&[][..], |last| &last.trailers);
                format!("complete: last chunk{frame}{}", trailer_text(trailers))
            }
            Some(Framing::ContentLength(_)) => "complete: all octets of its declared length".to_owned(),
            Some(Framing::Close) => format!("complete: the {sender} {closed} the connection{frame}"),
            Some(Framing::None) => "no body".to_owned(),
            Some(Framing::Tunnel) => format!("the tunnel was {closed}{frame}"),
            None => "complete".to_owned(),
        },
        BodyEnd::Open => format!("the capture ends before the body does{missing}"),
        BodyEnd::Aborted => format!("the {receiver} {closed} the connection{frame}{missing}"),
        BodyEnd::Truncated => format!("the {sender} {closed} the connection{frame}{missing}: the body is cut off"),
        BodyEnd::Broken => format!("the chunk framing is invalid{frame}: nothing behind that octet was interpreted"),
        BodyEnd::Lost => format!("the capture lacks octets here{frame}: where the next chunk begins can't be known"),
    }
}

fn trailer_text(trailers: &[(String, String)]) -> String {
    if trailers.is_empty() {
        return String::new();
    }
    let shown = trailers.iter().take(8).map(|(name, value)| {
        format!("{}: {}", printable(name), fit_middle(&printable(value), 60))
    });
    let shown: Vec<_> = shown.collect();
    let more = trailers.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!(", trailers {}{more}", shown.join(", "))
}

/// The count of a verdict.
pub(super) fn tallied<'a>(tally: &'a mut Tally, verdict: &Verdict) -> &'a mut u64 {
    match verdict {
        Verdict::One => &mut tally.one,
        Verdict::Several => &mut tally.several,
        Verdict::Part => &mut tally.part,
        Verdict::Mixed => &mut tally.mixed,
        Verdict::Invalid(_) => &mut tally.invalid,
        Verdict::Unverified(_) => &mut tally.unverified,
        Verdict::Unchecked(_) => &mut tally.unchecked,
    }
}

/// How many chunks a table leaves out, and what they hold.
pub(super) fn tally_words(tally: &Tally, expect: Option<Expect>) -> String {
    let counts = [
        (tally.one, format!("one {} each", unit(expect))),
        (tally.several, "several events".to_owned()),
        (tally.part, "a part of an event".to_owned()),
        (tally.mixed, "parts of several events".to_owned()),
        (tally.invalid, "no event".to_owned()),
        (tally.unverified, "can't be verified".to_owned()),
        (tally.unchecked, "not checked".to_owned()),
    ];
    let found: Vec<_> = counts.into_iter().filter(|(count, _)| *count > 0).collect();
    let chunks = counted(tally.chunks(), "more chunk");
    match found.as_slice() {
        [(1, words)] => format!("{chunks}: {}", words.trim_end_matches(" each")),
        [(_, words)] => format!("{chunks}: {words}"),
        several => {
            let several = several.iter().map(|(count, words)| format!("{} {words}", grouped(*count)));
            format!("{chunks}: {}", several.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Why nothing was checked.
fn unchecked(end: &ExchangeEnd) -> String {
    let head = &end.head;
    if head.response.is_none() {
        return "nothing to check: no response was captured".to_owned();
    }
    match (head.expect, head.framing) {
        (Some(Expect::Any), Some(Framing::Chunked)) => {
            "the chunk framing is valid; what the chunks hold was not checked (--expect any)".to_owned()
        }
        (Some(expect), Some(Framing::Chunked)) if end.tally.chunks() == 0 => {
            format!("nothing to check: {} was asked for, but no chunk came", expected(expect))
        }
        (Some(_), Some(Framing::Chunked)) if end.tally.unchecked == 1 => {
            "nothing to check: the only chunk is unfinished or holds nothing to judge".to_owned()
        }
        (Some(_), Some(Framing::Chunked)) => {
            "nothing to check: no chunk is finished and holds something to judge".to_owned()
        }
        (Some(expect), framing) => {
            let expected = expected(expect);
            format!("{expected}, but not chunked ({}): there are no chunks to check", self::framing(framing))
        }
        (None, Some(Framing::Chunked)) => {
            "not checked: nothing says that each chunk is an event (--expect KIND checks it all the same)".to_owned()
        }
        (None, _) => "not checked: no chunked event stream".to_owned(),
    }
}

const fn expected(expect: Expect) -> &'static str {
    match expect {
        Expect::Kind(Kind::Watch) => "a watch",
        Expect::Kind(Kind::Sse) => "an event stream",
        Expect::Kind(Kind::Json | Kind::Ndjson) => "a JSON stream",
        Expect::Any => "a chunked body",
    }
}

/// Ascending numbers in words: `3`, `3 and 5`, `3–5, 7 and 9`, cut behind 12.
pub(super) fn listed(numbers: impl Iterator<Item = u64>) -> String {
    let mut texts: Vec<String> = Vec::new();
    let ranges = ranges(numbers);
    for &(first, last) in ranges.iter().take(12) {
        texts.push(crate::report::text::range(first, last));
    }
    if ranges.len() > texts.len() {
        return format!("{}, …", texts.join(", "));
    }
    match texts.pop() {
        Some(last) if texts.is_empty() => last,
        Some(last) => format!("{} and {last}", texts.join(", ")),
        None => String::new(),
    }
}
