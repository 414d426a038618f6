//! Chunks as they complete: a line each, written at once, for who watches a
//! recording while it is made.
//!
//! Between the lines stand notices: a response begins, a body ends, a stream
//! has stalled in the middle of an event or goes on again. When all is over
//! (the recorder has stopped, or somebody pressed Ctrl-C) the last words are
//! those of the table.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use crate::http::{Framing, Side};
use crate::lint::Lint;
use crate::report::closing::Run;
use crate::report::failures::Failures;
use crate::report::packetless;
use crate::report::payload::Payload;
use crate::report::phrases::{base, body_end, place, request_line, response_line, unit};
use crate::report::prose::{Mark, Prose};
use crate::report::rows::{event_cell, object_cell, payload_cell, version_cell, whole_payload};
use crate::report::stall::Stalls;
use crate::report::text::{TextOptions, Tone, fit, fit_middle, frame_ranges, printable, seconds, width};
use crate::report::why::lint_words;
use crate::report::{
    Conclusion, ExchangeEnd, ExchangeHead, ExchangeId, ExchangeVerdict, Expect, Finding, JudgedChunk, Report,
    UnderWay, Violation, ViolationCode,
};
use crate::units::Timestamp;
use crate::verdict::Verdict;

/// From so many columns on, a line begins with the time of day.
const COLUMNS_WITH_TIME: usize = 110;

/// A clock: the time since any fixed moment.
pub type Clock = Box<dyn FnMut() -> Duration>;

/// Writes findings as lines, when they are made. See the module.
pub struct Follow<W: Write> {
    out: W,
    options: TextOptions,
    prose: Prose,
    clock: Clock,
    stalls: Stalls,
    open: HashMap<ExchangeId, Open>,
    run: Run,
    /// Whether the names of the columns were written.
    named: bool,
    /// Whether the last line is blank.
    blank: bool,
}

/// An exchange that has not ended.
#[derive(Default)]
struct Open {
    head: Option<Box<ExchangeHead>>,
    announced: bool,
    expect: Option<Expect>,
    /// When its last event was whole, or before the first, when it was
    /// requested: by its packets.
    last: Option<Timestamp>,
    /// The same by the clock, for what has no packets.
    last_seen: Option<Duration>,
    chunks: u64,
    failures: Failures,
}

impl<W: Write> fmt::Debug for Follow<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follow").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<W: Write> Follow<W> {
    /// Lines that are written to `out`, each flushed. That nothing came for
    /// `stall` is told, by `clock`.
    pub fn new(out: W, options: TextOptions, stall: Duration, clock: Clock) -> Self {
        Self {
            out,
            options,
            prose: Prose::new(&options),
            clock,
            stalls: Stalls::new(stall),
            open: HashMap::new(),
            run: Run::default(),
            named: false,
            blank: false,
        }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.blank = text.ends_with("\n\n");
        self.out.flush()
    }

    fn begin(&mut self, head: &ExchangeHead) -> io::Result<()> {
        let now = (self.clock)();
        let open = self.open.entry(head.id).or_default();
        (open.expect, open.last, open.last_seen) = (head.expect, base(head), Some(now));
        open.head = Some(Box::new(head.clone()));
        let wanted = head.framing == Some(Framing::Chunked) || head.expect.is_some();
        if (wanted || self.options.list_all) && !self.options.failed_only {
            return self.announce(head.id);
        }
        Ok(())
    }

    /// Tells that a response comes, once.
    fn announce(&mut self, id: ExchangeId) -> io::Result<()> {
        let Some(open) = self.open.get_mut(&id) else { return Ok(()) };
        let Some(head) = open.head.take() else { return Ok(()) };
        open.announced = true;
        let (request, response) = (request_line(&head), response_line(&head));
        let ends = match (head.client, head.server) {
            (Some(client), Some(server)) => format!("  {client} → {server}"),
            _ => String::new(),
        };
        let expected = match head.expect {
            Some(Expect::Any) => "only the framing is checked".to_owned(),
            Some(expect) => format!("each chunk is to hold one {}", unit(Some(expect))),
            None => "not checked".to_owned(),
        };
        let prose = self.prose;
        let name = prose.paint.tone(Tone::Strong, &place(id));
        let room = prose.width.max(40);
        let request = fit_middle(&request, room.saturating_sub(4)).into_owned();
        let mut text = format!("▶ {name}{ends}\n  {request}\n");
        text.push_str(&prose.paragraph(&format!("→ {response}; {expected}"), "  ", "    "));
        self.write(&text)
    }

    fn chunk(&mut self, judged: &JudgedChunk) -> io::Result<()> {
        let now = (self.clock)();
        let fails = self.options.allow.fails(&judged.verdict);
        let chunk = &judged.chunk;
        let open = self.open.entry(judged.exchange).or_default();
        if Failures::may_name(chunk, fails) {
            open.failures.keep(judged.side, chunk);
        }
        if judged.side == Side::Request {
            return Ok(()); // its framing is told where it is broken
        }
        open.chunks += 1;
        let since = match (chunk.last.at, open.last, open.last_seen) {
            (Some(at), Some(last), _) => Some(at.nanos_since(last)),
            (None, _, Some(last)) => i128::try_from(now.saturating_sub(last).as_nanos()).ok(),
            _ => None,
        };
        let unchecked = matches!(judged.verdict, Verdict::Unchecked(_));
        if unchecked || judged.events.iter().any(|event| event.last_chunk == chunk.index) {
            (open.last, open.last_seen) = (chunk.last.at.or(open.last), Some(now));
        }
        let expect = open.expect;
        let matters = fails || matches!(judged.verdict, Verdict::Unverified(_));
        if self.options.failed_only && !matters {
            return Ok(());
        }
        self.announce(judged.exchange)?;
        let mut text = String::new();
        if !std::mem::replace(&mut self.named, true) {
            text.push_str(&self.prose.paint.tone(Tone::Faint, &self.names()));
            text.push('\n');
        }
        text.push_str(&self.line(judged, expect, since, fails));
        if self.options.payload == Payload::Full {
            text.push_str(&whole_payload(judged));
        }
        self.write(&text)
    }

    /// The names of the columns.
    fn names(&self) -> String {
        let time = if self.shows_time() { "time (UTC)    " } else { "" };
        format!(
            "  {time}{:<6} {:>4}  {:>9}  {:>4}  {:>6}  {:<7} {:<9} event",
            "stream", "#", "since", "hex", "size", "frames", "verdict"
        )
    }

    const fn shows_time(&self) -> bool {
        self.prose.width >= COLUMNS_WITH_TIME
    }

    /// The line of a chunk.
    fn line(&self, judged: &JudgedChunk, expect: Option<Expect>, since: Option<i128>, fails: bool) -> String {
        let chunk = &judged.chunk;
        let mark = match judged.verdict {
            _ if fails => Mark::Bad,
            Verdict::One => Mark::Good,
            Verdict::Unverified(_) => Mark::Doubt,
            _ => Mark::Unchecked,
        };
        let time = match chunk.last.at {
            _ if !self.shows_time() => String::new(),
            Some(at) => format!("{:<14}", time_of_day(at)),
            None => " ".repeat(14),
        };
        let stream = match (judged.exchange.stream, judged.exchange.index) {
            (Some(stream), 0) => stream.to_string(),
            (Some(stream), index) => format!("{stream}, {index}"),
            (None, index) => index.to_string(),
        };
        let mut hex = fit(chunk.size_hex(), 16).into_owned();
        if let Some(extensions) = chunk.extensions() {
            hex.push_str(&fit(&printable(&extensions), 12));
        }
        let size = match chunk.received < chunk.size {
            true => format!("{}/{}", chunk.received, chunk.size),
            false => chunk.size.to_string(),
        };
        let start = format!(
            "{time}{stream:<6} {:>4}  {:>9}  {hex:>4}  {size:>6}  {:<7} {:<9} ",
            chunk.index,
            since.map_or_else(String::new, gap),
            frame_ranges(&chunk.frames(), 2),
            judged.verdict.name(),
        );
        let room = self.prose.width.saturating_sub(width(&start) + 2).max(12);
        let what = self.what(judged, expect, room);
        let sign = self.prose.paint.tone(mark.tone(), mark.sign());
        format!("{sign} {}\n", format!("{start}{what}").trim_end())
    }

    /// What a chunk holds, in so many columns: the events, else its octets.
    fn what(&self, judged: &JudgedChunk, expect: Option<Expect>, columns: usize) -> String {
        let event = event_cell(judged, expect);
        let object = object_cell(&judged.events);
        let version = version_cell(&judged.events);
        let left = columns.saturating_sub(width(&event) + usize::from(!event.is_empty()));
        let rest = match object.is_empty() {
            true if self.options.payload == Payload::None => String::new(),
            true => payload_cell(judged, expect, left),
            false if version.is_empty() => object,
            false => {
                let whole = format!("{object}, version {version}");
                if width(&whole) <= left { whole } else { object }
            }
        };
        // The name of an object tells at both its ends.
        let rest = fit_middle(&rest, left.max(8));
        fit(format!("{event} {rest}").trim(), columns).into_owned()
    }

    /// A line's chunk tells what it holds; what else fails is told here.
    fn lint(&mut self, lint: &Lint) -> io::Result<()> {
        self.announce(lint.exchange)?;
        let mark = if lint.denied { Mark::Bad } else { Mark::None };
        let text = format!("{}: {}", place(lint.exchange), lint_words(lint));
        let text = self.prose.marked_within(mark, &text);
        self.write(&text)
    }

    fn violation(&mut self, violation: &Violation) -> io::Result<()> {
        let open = self.open.entry(violation.exchange).or_default();
        let told = open.failures.push(violation, true);
        let told = told.filter(|_| {
            matches!(
                violation.code,
                ViolationCode::NotAnEvent | ViolationCode::BadFraming | ViolationCode::TruncatedBody
            )
        });
        let Some(told) = told else { return Ok(()) };
        self.announce(violation.exchange)?;
        let text = format!("{}: {told}", place(violation.exchange));
        let text = self.prose.marked_within(Mark::Bad, &text);
        self.write(&text)
    }

    fn end(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        let id = end.head.id;
        self.stalls.end(id);
        let open = self.open.remove(&id).unwrap_or_default();
        self.run.exchange(end, &open.failures);
        let matters = matches!(end.verdict, ExchangeVerdict::Fail | ExchangeVerdict::Unverified);
        if !(open.announced || matters) {
            return Ok(());
        }
        let ended = end.response_body.as_ref().map(|body| body_end(body, Side::Response));
        let ended = ended.unwrap_or_else(|| "no response was captured".to_owned());
        let prose = self.prose;
        let name = prose.paint.tone(Tone::Strong, &place(id));
        let mut text = prose.paragraph(&format!("■ {}: {ended}", place(id)), "", "  ");
        text = text.replacen(&place(id), &name, 1);
        text.push_str(&prose.marked_within(Mark::of(end.verdict), &prose.verdict_text(end)));
        let explained = open.failures.explain(prose, end);
        text.push_str(&explained);
        if !explained.is_empty() && !explained.ends_with("\n\n") {
            text.push('\n');
        }
        self.write(&text)
    }

    fn notice(&mut self, mark: &str, notice: &str) -> io::Result<()> {
        let lines = self.prose.paragraph(notice, &format!("{mark} "), "  ");
        let text = self.prose.paint.tone(Tone::Doubt, lines.trim_end());
        self.write(&format!("{text}\n"))
    }
}

impl<W: Write> Report for Follow<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        match finding {
            Finding::Capture(path) => self.run.begin(path),
            Finding::Exchange(head) => self.begin(head)?,
            Finding::Event(..) => {}
            Finding::Chunk(judged) => self.chunk(&packetless::chunk(judged))?,
            Finding::Violation(violation) => self.violation(violation)?,
            Finding::Lint(lint) => self.lint(lint)?,
            Finding::ExchangeEnd(end) => self.end(&packetless::end(end))?,
            Finding::CaptureEnd(end) => {
                self.run.capture(end);
                let apart = if self.blank { "" } else { "\n" };
                let text = format!("{apart}{}", self.prose.capture(end));
                self.write(&text)?;
            }
        }
        Ok(())
    }

    fn under_way(&mut self, under_way: &UnderWay) -> io::Result<()> {
        let now = (self.clock)();
        match self.stalls.under_way(under_way, now) {
            Some(notice) => self.notice("…", &notice),
            None => Ok(()),
        }
    }

    fn moment(&mut self) -> io::Result<()> {
        let now = (self.clock)();
        for notice in self.stalls.moment(now) {
            self.notice("…", &notice)?;
        }
        Ok(())
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        let text = self.run.conclude(self.prose, conclusion);
        self.write(&text)
    }
}

/// `+1.988 s`; longer times with fewer decimals.
fn gap(nanos: i128) -> String {
    let sign = if nanos < 0 { "" } else { "+" };
    let decimals = match nanos.unsigned_abs() / 1_000_000_000 {
        0..=99 => 3,
        100..=9999 => 1,
        _ => 0,
    };
    format!("{sign}{}", seconds(nanos, decimals))
}

/// `13:10:02.123`
fn time_of_day(at: Timestamp) -> String {
    let text = at.to_string();
    let time = text.split_once('T').map_or("", |(_, time)| time.trim_end_matches('Z'));
    time.get(..12).unwrap_or(time).to_owned()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::report::sample::{Talk, coredns, rechunked, sse, told};
    use crate::report::{ChunkUnderWay, EventUnderWay};

    fn lines(options: TextOptions, talks: &[&Talk]) -> String {
        let mut out = Vec::new();
        let report = Follow::new(&mut out, options, Duration::from_secs(5), Box::new(|| Duration::ZERO));
        told(report, "-", talks);
        String::from_utf8(out).unwrap()
    }

    fn columns(width: usize) -> TextOptions {
        TextOptions { width, ..TextOptions::default() }
    }

    #[test]
    fn a_watch_is_a_line_a_chunk() {
        insta::assert_snapshot!("follow_coredns_120", lines(columns(120), &[&coredns()]));
        insta::assert_snapshot!("follow_coredns_80", lines(columns(80), &[&coredns()]));
    }

    #[test]
    fn what_fails_is_marked_and_explained_at_the_end() {
        insta::assert_snapshot!("follow_rechunked_100", lines(columns(100), &[&rechunked()]));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [60, 80, 100, 110, 160] {
            let text = lines(columns(width), &[&coredns(), &rechunked(), &sse()]);
            for line in text.lines().filter(|line| !line.contains("Wireshark: tcp.stream")) {
                assert!(crate::report::text::width(line) <= width.max(76), "{width}: {line}");
            }
        }
    }

    #[test]
    fn only_failures_are_shown_where_they_alone_are_asked_for() {
        let options = TextOptions { failed_only: true, ..columns(100) };
        let passed = lines(options, &[&coredns()]);
        assert!(!passed.contains("stream 0"), "{passed}");
        let text = lines(options, &[&rechunked()]);
        assert!(text.starts_with("▶ stream 0") && !text.contains("\n✓ 0 "), "{text}");
        assert_eq!(text.matches("\n✗ 0 ").count(), 12, "{text}");
    }

    #[test]
    fn time_counts_from_the_last_event_not_from_the_last_chunk() {
        let text = lines(columns(120), &[&rechunked()]);
        let gaps: Vec<_> =
            text.lines().filter_map(|line| line.split(" +").nth(1)?.split(" s").next()).collect();
        assert!(!gaps.is_empty() && gaps.iter().all(|gap| gap.parse::<f64>().unwrap() >= 0.0), "{text}");
    }

    #[test]
    fn stalls_are_told_between_the_lines() {
        let now = Rc::new(Cell::new(0));
        let clock = {
            let now = Rc::clone(&now);
            Box::new(move || Duration::from_millis(now.get()))
        };
        let mut out = Vec::new();
        let mut report = Follow::new(&mut out, columns(100), Duration::from_secs(5), clock);
        let exchange = coredns().head.id;
        let chunk = Some(ChunkUnderWay { index: 2, received: 100, size: 797 });
        let event = Some(EventUnderWay { first_chunk: 2, received: 100 });
        report.under_way(&UnderWay { exchange, chunk, event }).unwrap();
        for millis in [2000, 4999, 5000, 7000] {
            now.set(millis);
            report.moment().unwrap();
        }
        report.under_way(&UnderWay { exchange, chunk: None, event: None }).unwrap();
        drop(report);
        let expected = "\
… stream 0: stalled in mid-event: nothing for 5.0 s behind 100 octets of it; chunk 2 has 100 of 797
  octets
… stream 0: goes on after 7.0 s
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
