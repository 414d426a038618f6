//! The table: each exchange with its chunks, row by row, the verdict, and
//! where a check fails, why that matters.
//!
//! A capture's first line needs its end, and exchanges are listed in order
//! although they interleave: so all text goes to a [`Spool`] and is written
//! when the capture is done. Rows wait until their exchange ends, so that the
//! columns fit them, but only as long as there are few in all; beyond that
//! they go to the spool page by page. Rows that aren't shown are never made.

use std::collections::HashMap;
use std::io::{self, Write};
use std::mem;

use crate::http::Side;
use crate::report::failures::Failures;
use crate::report::packetless;
use crate::report::phrases::{base, body_end, tally_words};
use crate::report::prose::{Mark, Prose};
use crate::report::rows::{Item, Layout, Names, Row};
use crate::report::sheet::Sheet;
use crate::report::spool::{Slot, Spool};
use crate::report::text::{Listing, TextOptions, printable};
use crate::report::why::Lints;
use crate::report::{
    Conclusion, ExchangeEnd, ExchangeHead, ExchangeId, Expect, Finding, JudgedChunk, Report, Tally, Violation,
};
use crate::units::Timestamp;
use crate::verdict::Verdict;

/// Octets of rows that wait for the end of their exchange, in all.
const WAITING: usize = 4 << 20;

/// Rows of an exchange that wait for its end: a page.
const PAGE: usize = 1000;

/// Rows kept of an exchange that will be listed only if it fails.
const KEPT_IN_CASE: u64 = 50;

/// Parts of an exchange's text.
const TITLE: u8 = 0;
const ROWS: u8 = 1;
const END: u8 = 2;

/// Writes findings as tables for people. See the module.
#[derive(Debug)]
pub struct Table<W: Write> {
    out: W,
    options: TextOptions,
    prose: Prose,
    open: HashMap<ExchangeId, Open>,
    /// Octets of all rows that wait.
    waiting: usize,
    listing: Listing,
    names: Names,
    sheet: Sheet,
}

/// An exchange that has not ended.
#[derive(Debug, Default)]
struct Open {
    expect: Option<Expect>,
    base: Option<Timestamp>,
    items: Vec<Item>,
    weight: usize,
    listed: u64,
    hidden: Tally,
    layout: Layout,
    /// Whether rows were written.
    paged: bool,
    failures: Option<Box<Failures>>,
    lints: Option<Box<Lints>>,
    /// The first chunk that can't be verified, and why.
    doubt: Option<(u64, String)>,
}

impl<W: Write> Table<W> {
    /// A table that is written to `out`.
    pub fn new(out: W, options: TextOptions) -> Self {
        let prose = Prose::new(&options);
        Self {
            out,
            options,
            prose,
            open: HashMap::new(),
            waiting: 0,
            listing: Listing::default(),
            names: Names::default(),
            sheet: Sheet::new(),
        }
    }

    fn begin(&mut self, head: &ExchangeHead) {
        let open = self.open.entry(head.id).or_default();
        (open.expect, open.base) = (head.expect, base(head));
    }

    fn chunk(&mut self, judged: &JudgedChunk) -> io::Result<()> {
        let open = self.open.entry(judged.exchange).or_default();
        let fails = self.options.allow.fails(&judged.verdict);
        if Failures::may_name(&judged.chunk, fails) {
            open.failures.get_or_insert_default().keep(judged.side, &judged.chunk);
        }
        if let Verdict::Unverified(reason) = &judged.verdict
            && open.doubt.is_none()
        {
            open.doubt = Some((judged.chunk.index, reason.clone()));
        }
        if judged.side == Side::Request {
            return Ok(()); // its framing is told where it is broken
        }
        let in_full = open.expect.is_some() || self.options.list_all;
        let limit = match in_full {
            true => self.options.limit.unwrap_or(u64::MAX),
            false => self.options.limit.unwrap_or(u64::MAX).min(KEPT_IN_CASE),
        };
        let matters = fails || matches!(judged.verdict, Verdict::Unverified(_));
        let within = open.listed < limit && (matters || !self.options.failed_only || !in_full);
        if !self.listing.admits(fails, within) {
            *open.hidden.of(&judged.verdict) += 1;
            return Ok(());
        }
        open.tell_hidden();
        open.listed += 1;
        if open.base.is_none() {
            open.base = judged.chunk.first.at;
        }
        let row = Row::new(judged, open.expect, open.base, &self.options);
        let weight = row.weight();
        open.items.push(Item::Row(Box::new(row)));
        open.weight += weight;
        self.waiting += weight;
        if open.items.len() >= PAGE {
            self.waiting -= open.weight;
            open.page(
                judged.exchange,
                self.prose,
                in_full,
                false,
                &mut self.names,
                &mut self.sheet.sections,
            )?;
        }
        if self.waiting >= WAITING {
            for (id, open) in &mut self.open {
                let in_full = open.expect.is_some() || self.options.list_all;
                open.page(*id, self.prose, in_full, false, &mut self.names, &mut self.sheet.sections)?;
            }
            self.waiting = 0;
        }
        Ok(())
    }

    fn violation(&mut self, violation: &Violation) {
        let open = self.open.entry(violation.exchange).or_default();
        let _ = open.failures.get_or_insert_default().push(violation, false);
    }

    fn end(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        let id = end.head.id;
        let mut open = self.open.remove(&id).unwrap_or_default();
        self.waiting -= open.weight;
        let failures = open.failures.take().unwrap_or_default();
        if !self.sheet.lists(self.prose, &self.options, end, &failures)? {
            return Ok(());
        }
        let prose = self.prose;
        let title = format!("\n{}", prose.title(end));
        self.sheet.sections.append(Slot { exchange: id, part: TITLE }, title.as_bytes())?;
        open.tell_hidden();
        open.page(id, prose, true, true, &mut self.names, &mut self.sheet.sections)?;
        let mut text = String::new();
        if let Some(body) = &end.response_body {
            let ended = body_end(body, Side::Response);
            text.push_str(&prose.faint(&prose.paragraph(&ended, "  ", "  ")));
        }
        text.push_str(&prose.timing(end));
        text.push('\n');
        text.push_str(&prose.verdict(end));
        if let Some((index, reason)) = &open.doubt {
            let first = if end.tally.unverified > 1 { ", the first of them" } else { "" };
            let why = format!("chunk {index}{first}: {}", printable(reason));
            text.push_str(&prose.marked(Mark::Doubt, &why));
        }
        text.push_str(&failures.explain(prose, end));
        text.push_str(&prose.hints(end));
        if let Some(lints) = &open.lints {
            text.push_str(&lints.tell(prose, end));
        }
        self.sheet.sections.append(Slot { exchange: id, part: END }, text.as_bytes())
    }
}

impl<W: Write> Report for Table<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        match finding {
            Finding::Capture(path) => self.sheet.begin(path),
            Finding::Exchange(head) => self.begin(head),
            Finding::Event(..) => {}
            Finding::Chunk(judged) => self.chunk(&packetless::chunk(judged))?,
            Finding::Violation(violation) => self.violation(violation),
            Finding::Lint(lint) => {
                let open = self.open.entry(lint.exchange).or_default();
                open.lints.get_or_insert_default().push(lint);
            }
            Finding::ExchangeEnd(end) => self.end(&packetless::end(end))?,
            Finding::CaptureEnd(end) => {
                self.sheet.capture(&mut self.out, self.prose, &self.options, end, "")?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.sheet.finish(&mut self.out, self.prose, conclusion)
    }
}

impl Open {
    /// Writes the rows that wait, if the exchange is listed in full; else lets
    /// go of them.
    fn page(
        &mut self,
        id: ExchangeId,
        prose: Prose,
        in_full: bool,
        last: bool,
        names: &mut Names,
        to: &mut Spool,
    ) -> io::Result<()> {
        let mut items = mem::take(&mut self.items);
        self.weight = 0;
        if !in_full {
            let rows = items.iter().filter(|item| matches!(item, Item::Row(_))).count();
            self.hidden.unchecked += rows as u64;
            return Ok(());
        }
        if items.is_empty() {
            return Ok(());
        }
        let begins = if mem::replace(&mut self.paged, true) { "" } else { "\n" };
        let text = self.layout.page(&mut items, names, prose, self.expect, last);
        let slot = Slot { exchange: id, part: ROWS };
        to.append(slot, begins.as_bytes())?;
        to.append(slot, text.as_bytes())
    }

    /// Says how many chunks were not listed since the last row.
    fn tell_hidden(&mut self) {
        let hidden = mem::take(&mut self.hidden);
        if hidden.chunks() > 0 {
            self.items.push(Item::Hidden(tally_words(&hidden, self.expect)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::event::Kind;
    use crate::http::{BodyEnd, Framing, Protocol};
    use crate::report::payload::Payload;
    use crate::report::sample::{Talk, capture, conclusion, coredns, rechunked, sse, stamp, told};
    use crate::report::text::width;
    use crate::report::{CaptureEnd, LeftOut, Outcome, Problem, Totals, ViolationCode};
    use crate::units::StreamId;
    use crate::verdict::{Allow, Fault};

    fn table(options: TextOptions, talks: &[&Talk]) -> String {
        let mut out = Vec::new();
        told(Table::new(&mut out, options), "k8s-watch-coredns.pcap", talks);
        String::from_utf8(out).unwrap()
    }

    fn columns(width: usize) -> TextOptions {
        TextOptions { width, ..TextOptions::default() }
    }

    #[test]
    fn a_watch_that_passes_ends_with_its_verdict() {
        let expected = r#"k8s-watch-coredns.pcap: pcap, LINUX_SLL2, 12 packets in 3.996 s, 1 TCP stream

stream 0  127.0.0.1:54946 → 127.0.0.1:8001
GET /api/v1/watch/namespaces/kube-system/configmaps/coredns → 200 OK, application/json, chunked
requested 2026-11-30T00:53:20.000000Z (frame 4), answered +0.006 s (frame 6)

  #      time  hex  size  event     object                         version  frames  payload
  1  +0.007 s  31a   794  ADDED     ConfigMap kube-system/coredns  70       6       {"type":"ADDED","object":{"kind":"C…
  2  +1.994 s  31d   797  MODIFIED  ConfigMap kube-system/coredns  73       8       {"type":"MODIFIED","object":{"kind"…
  the client closed the connection (frame 10); no last chunk

✓ 2 chunks, 2 events: each chunk holds exactly one watch event
"#;
        assert_eq!(table(columns(120), &[&coredns()]), expected);
    }

    #[test]
    fn a_narrow_terminal_keeps_one_line_a_row() {
        let expected = r#"k8s-watch-coredns.pcap: pcap, LINUX_SLL2, 12 packets in 3.996 s, 1 TCP stream

stream 0  127.0.0.1:54946 → 127.0.0.1:8001
GET /api/v1/watch/namespaces/kube-system/configmaps/coredns
  → 200 OK, application/json, chunked
requested 2026-11-30T00:53:20.000000Z (frame 4), answered +0.006 s (frame 6)

  #      time  hex  size  event     object                       version  frames
  1  +0.007 s  31a   794  ADDED     ConfigMap kub…ystem/coredns  70       6
  2  +1.994 s  31d   797  MODIFIED  ConfigMap kub…ystem/coredns  73       8
  the client closed the connection (frame 10); no last chunk

✓ 2 chunks, 2 events: each chunk holds exactly one watch event
"#;
        assert_eq!(table(columns(80), &[&coredns()]), expected);
    }

    #[test]
    fn what_fails_is_explained_below_and_concluded_at_the_end() {
        insta::assert_snapshot!("table_rechunked_80", table(columns(80), &[&rechunked()]));
        insta::assert_snapshot!("table_rechunked_200", table(columns(200), &[&rechunked()]));
    }

    #[test]
    fn server_sent_events_show_name_id_and_data() {
        insta::assert_snapshot!("table_sse_120", table(columns(120), &[&sse()]));
    }

    #[test]
    fn whole_payloads_stand_below_their_rows() {
        let options = TextOptions { payload: Payload::Full, ..columns(80) };
        let text = table(options, &[&sse()]);
        assert!(text.contains("\n      event: tick\n      data: 1\n"), "{text}");
        let text = table(TextOptions { payload: Payload::None, ..columns(120) }, &[&coredns()]);
        assert!(!text.contains("payload") && !text.contains("{\"type"), "{text}");
    }

    #[test]
    fn colours_wrap_marks_and_faint_lines_only_if_asked_for() {
        assert!(!table(columns(120), &[&rechunked()]).contains('\x1b'));
        let text = table(TextOptions { color: true, ..columns(120) }, &[&rechunked()]);
        assert!(text.contains("\x1b[1m\x1b[31m✗\x1b[0m  4  "), "{text:?}");
        assert!(
            text.lines().all(|line| line.matches("\x1b[0m").count() * 2 >= line.matches('\x1b').count() / 2)
        );
    }

    #[test]
    fn exchanges_without_an_expectation_take_a_line_each() {
        let mut plain = Talk::get(1, "/api/v1/pods", None);
        plain.chunk(b"hello", Verdict::Unchecked(None), vec![]).complete();
        let mut other = Talk::get(2, "/favicon.ico", None);
        other.head.framing = Some(Framing::ContentLength(19));
        other.head.response.as_mut().unwrap().status = Some(404);
        (other.size, other.end) = (19, BodyEnd::Complete);
        let text = table(columns(120), &[&coredns(), &other, &plain]);
        let expected = "\
✓ 2 chunks, 2 events: each chunk holds exactly one watch event

Other exchanges, none of them an event stream (--all lists their chunks)
  stream    status  body                            request
  1         200     5 octets in 1 chunk             GET /api/v1/pods
  2         404     19 octets                       GET /favicon.ico

✓ pass: 1 exchange checked, no check failed (3 chunks, 2 events)
";
        assert!(text.ends_with(expected), "{text}");
        let text = table(TextOptions { list_all: true, ..columns(120) }, &[&plain]);
        assert!(text.contains("\n  1  +0.007000 s    5     5  6       hello\n"), "{text}");
        let text = table(TextOptions { failed_only: true, ..columns(120) }, &[&coredns(), &plain]);
        assert!(text.contains("  nothing here failed\n") && !text.contains("stream 0"), "{text}");
    }

    #[test]
    fn only_failed_rows_are_shown_when_asked_and_the_others_counted() {
        let text = table(TextOptions { failed_only: true, ..columns(120) }, &[&rechunked()]);
        let rows = text.lines().skip_while(|line| !line.starts_with("   #")).skip(1);
        let rows: Vec<_> = rows.take_while(|line| !line.contains("complete")).collect();
        assert!(rows.iter().all(|row| row.starts_with("✗ ") || row.starts_with("  … ")), "{text}");
        assert!(rows[0].starts_with("  … 2 more chunks: one watch event each"), "{text}");
    }

    #[test]
    fn the_limit_hides_what_passes_and_never_what_fails() {
        let mut talk = Talk::watch(0);
        for version in 0..40 {
            talk.one("MODIFIED", "coredns", version, 300);
        }
        let fault = Fault { at: 1, message: "not JSON".to_owned() };
        talk.chunk(b"oops", Verdict::Invalid(fault), vec![]);
        talk.violation(ViolationCode::NotAnEvent, "holds no JSON at octet 1 of the chunk");
        talk.one("MODIFIED", "coredns", 99, 300).one("DELETED", "coredns", 100, 300);
        let text = table(TextOptions { limit: Some(2), ..columns(120) }, &[&talk]);
        let rows = text.lines().skip_while(|line| !line.starts_with("   #")).skip(1);
        let rows: Vec<_> =
            rows.take_while(|line| !line.contains("closed")).map(|row| row.get(..10).unwrap()).collect();
        let starts = ["   1   +0.", "   2   +1.", "  … 38 mo", "✗ 41  +79", "  … 2 mor"];
        assert_eq!(rows.len(), starts.len(), "{text}");
        assert!(text.contains("  … 38 more chunks: one watch event each\n"), "{text}");
        assert!(text.contains("  … 2 more chunks: one watch event each\n"), "{text}");
        assert!(
            text.contains("✗ chunk 41 (0x4 = 4 octets, frame 86) holds no JSON at octet 1 of the chunk"),
            "{text}"
        );
        assert!(text.contains("tcp.stream eq 0 && frame.number in {86}"), "{text}");
    }

    #[test]
    fn what_is_allowed_is_no_failure() {
        let mut talk = coredns();
        talk.chunk(b"{}{}", Verdict::Several, vec![]);
        let allow = Allow { several: true, ..Allow::default() };
        let text = table(TextOptions { allow, ..columns(120) }, &[&talk]);
        assert!(!text.contains('✗'), "{text}");
        assert!(
            text.contains("1 holds several events (allowed); 2 hold exactly one watch event each"),
            "{text}"
        );
    }

    #[test]
    fn broken_and_cut_off_bodies_say_where_and_what_it_means() {
        let mut broken = coredns();
        broken.end = BodyEnd::Broken;
        broken.violation(
            ViolationCode::BadFraming,
            "the size line \"0x2\u{1b}[31m\" has other octets than hex digits",
        );
        broken.violations[0].chunk = None;
        let mut cut = Talk::watch(1);
        cut.one("ADDED", "coredns", 70, 794);
        cut.end = BodyEnd::Truncated;
        cut.violation(ViolationCode::TruncatedBody, "the server closed the connection before the last chunk");
        cut.violations[0].chunk = None;
        insta::assert_snapshot!("table_framing_100", table(columns(100), &[&broken, &cut]));
    }

    #[test]
    fn lost_octets_and_joins_are_told_where_they_matter() {
        let mut talk = Talk::watch(3);
        let reason = "the stream was joined in the middle, and no event has begun yet".to_owned();
        talk.chunk(b"xyz\n", Verdict::Unverified(reason), vec![]);
        talk.one("ADDED", "coredns", 70, 794);
        talk.joined = Some(1234);
        talk.head.request = None;
        talk.end = BodyEnd::Lost;
        let mut out = Vec::new();
        let mut report = Table::new(&mut out, columns(100));
        talk.tell(&mut report);
        let mut end = capture("lossy.pcap", 4);
        end.problems = vec![Problem {
            code: "lost-octets",
            stream: Some(StreamId(3)),
            frame: None,
            count: 1,
            message: String::new(),
        }];
        report.finding(&Finding::CaptureEnd(&end)).unwrap();
        report.finish(&conclusion(&[&talk])).unwrap();
        insta::assert_snapshot!("table_lossy_100", String::from_utf8(out).unwrap());
    }

    #[test]
    fn nothing_to_check_says_what_there_is_instead() {
        let mut out = Vec::new();
        let mut report = Table::new(&mut out, columns(100));
        let mut end = capture("tls.pcap", 3);
        end.other_counts = [(Protocol::Tls, 2), (Protocol::Http2, 1), (Protocol::Other, 0)];
        report.finding(&Finding::CaptureEnd(&end)).unwrap();
        let totals = Totals { captures: 1, streams: 3, packets: 12, ..Totals::default() };
        report.finish(&Conclusion { totals, outcome: Outcome::Empty }).unwrap();
        insta::assert_snapshot!("table_empty_100", String::from_utf8(out).unwrap());
    }

    #[test]
    fn what_the_filters_left_out_is_said_and_nothing_untrue_of_the_capture() {
        let told = |streams, left_out, packets| {
            let mut out = Vec::new();
            let mut report = Table::new(&mut out, columns(100));
            let end = CaptureEnd { left_out, packets, ..capture("left.pcap", streams) };
            report.finding(&Finding::CaptureEnd(&end)).unwrap();
            let totals = Totals { captures: 1, packets, ..Totals::default() };
            report.finish(&Conclusion { totals, outcome: Outcome::Empty }).unwrap();
            String::from_utf8(out).unwrap()
        };
        let text = told(0, LeftOut { streams: 1, exchanges: 0 }, 12);
        assert!(text.contains(", 0 of 1 TCP stream\n"), "{text}");
        assert!(text.ends_with("\n  1 TCP stream is left out by --stream, --port or --host.\n"), "{text}");
        let text = told(1, LeftOut { streams: 2, exchanges: 3 }, 12);
        assert!(text.contains(", 1 of 3 TCP streams\n"), "{text}");
        assert!(
            text.contains(
                "3 exchanges are left out by --target, which matches no request that wasn't captured."
            ),
            "{text}"
        );
        assert!(!text.contains("No HTTP/1.1"), "{text}");
        // Without filters.
        let text = told(0, LeftOut::default(), 1);
        assert!(text.contains("\n  The only packet isn't TCP: was it the right"), "{text}");
    }

    #[test]
    fn several_captures_have_one_conclusion() {
        let mut out = Vec::new();
        let mut report = Table::new(&mut out, columns(100));
        for path in ["a.pcap", "b.pcap"] {
            report.finding(&Finding::Capture(path)).unwrap();
            rechunked().tell(&mut report);
            report.finding(&Finding::CaptureEnd(&capture(path, 1))).unwrap();
        }
        let totals = Totals { captures: 3, unreadable: 1, checked: 2, violations: 24, ..Totals::default() };
        report.finish(&Conclusion { totals, outcome: Outcome::Fail }).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = "\
✗ fail: 1 of 3 captures could not be read; 2 of 2 exchanges fail, with 24 violations
  ✗ a.pcap, stream 0  GET /api/v1/pods?watch=true&resourceVersion=0: 12 of 14 chunks
  ✗ b.pcap, stream 0  GET /api/v1/pods?watch=true&resourceVersion=0: 12 of 14 chunks
";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn interleaved_exchanges_are_listed_one_after_the_other() {
        let (mut first, mut second) = (coredns(), rechunked());
        first.head.id.stream = Some(StreamId(5));
        first.chunks.iter_mut().for_each(|judged| judged.exchange = first.head.id);
        second.head.id.index = 1;
        second.chunks.iter_mut().for_each(|judged| judged.exchange = second.head.id);
        let mut out = Vec::new();
        let mut report = Table::new(&mut out, columns(120));
        report.finding(&Finding::Exchange(&first.head)).unwrap();
        report.finding(&Finding::Exchange(&second.head)).unwrap();
        for (one, other) in first.chunks.iter().zip(&second.chunks) {
            report.finding(&Finding::Chunk(one)).unwrap();
            report.finding(&Finding::Chunk(other)).unwrap();
        }
        report.finding(&Finding::ExchangeEnd(&first.end())).unwrap();
        report.finding(&Finding::ExchangeEnd(&second.end())).unwrap();
        report.finding(&Finding::CaptureEnd(&capture("x.pcap", 6))).unwrap();
        drop(report);
        let text = String::from_utf8(out).unwrap();
        let place = |words: &str| text.find(words).unwrap();
        assert!(place("stream 0, exchange 1") < place("web-1"), "{text}");
        assert!(place("web-1") < place("stream 5"), "{text}");
        assert!(place("stream 5") < place("kube-system/coredns  73"), "{text}");
    }

    /// Wide characters, marks, emoji, escapes, bidi overrides and octets that
    /// are no UTF-8, in payload, names, target and message.
    fn hostile() -> Talk {
        let nasty =
            "日本語\x1b]0;title\x07\u{202e}evil\u{9b}31m e\u{301}👩\u{200d}🔬❤\u{fe0f}\r\n\t\u{2028}لا";
        let mut talk = Talk::get(0, &format!("/{nasty}?watch=1"), Some(Kind::Watch));
        talk.head.response.as_mut().unwrap().reason = Some(nasty.into());
        for number in 0..6 {
            let event = talk.event(nasty, &nasty.repeat(number), 5, 1, 1);
            let mut payload = nasty.repeat(20).into_bytes();
            payload.extend([0xff, 0xc3, 0, 0x80]);
            talk.chunk(&payload, Verdict::One, vec![event]);
        }
        talk.violation(ViolationCode::NotAnEvent, &format!("holds {nasty}"));
        talk
    }

    #[test]
    fn nothing_but_printable_text_comes_out_and_no_row_is_too_wide() {
        for payload in [Payload::None, Payload::Preview, Payload::Full] {
            for columns in [60, 80, 81, 100, 120, 200, 250] {
                let options = TextOptions { width: columns, payload, ..TextOptions::default() };
                let text = table(options, &[&hostile(), &rechunked()]);
                let unsafe_ =
                    |c: char| (c.is_control() && c != '\n') || ('\u{2028}'..='\u{202e}').contains(&c);
                assert!(!text.contains(unsafe_), "{text:?}");
                let rows = text.lines().filter(|line| line.contains(" s  ") && line.contains("ConfigMap"));
                for row in rows {
                    assert!(width(row) <= columns, "{columns}: {row}");
                }
            }
        }
    }

    #[test]
    fn a_long_table_streams_in_pages_of_the_same_columns() {
        let head = Talk::watch(0);
        let mut row = coredns().chunks.remove(1);
        let mut out = Vec::new();
        let mut report = Table::new(&mut out, TextOptions { limit: None, ..columns(120) });
        report.finding(&Finding::Exchange(&head.head)).unwrap();
        for index in 1..=20_000 {
            row.chunk.index = index;
            row.chunk.last = stamp(index, index * 1000);
            report.finding(&Finding::Chunk(&row)).unwrap();
            assert!(report.waiting < WAITING && report.open[&head.head.id].items.len() <= PAGE);
        }
        report.finding(&Finding::ExchangeEnd(&head.end())).unwrap();
        assert_eq!(report.waiting, 0);
        report.finding(&Finding::CaptureEnd(&capture("x.pcap", 1))).unwrap();
        drop(report);
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<_> = text.lines().filter(|line| line.contains("MODIFIED")).collect();
        assert_eq!(rows.len(), 20_000);
        let place = |row: &str| width(&row[..row.find("ConfigMap").unwrap()]);
        for row in &rows {
            assert_eq!(place(row), place(rows[0]), "the columns stay:\n{}\n{row}", rows[0]);
        }
        assert_eq!(text.matches("version").count(), 1);
    }

    #[test]
    fn rows_of_many_exchanges_that_wait_are_bounded() {
        let mut out = Vec::new();
        let mut report = Table::new(&mut out, columns(120));
        let mut row = coredns().chunks.remove(0);
        let mut heads = Vec::new();
        for stream in 0..400 {
            heads.push(Talk::watch(stream));
            report.finding(&Finding::Exchange(&heads.last().unwrap().head)).unwrap();
        }
        for index in 1..=60 {
            for head in &heads {
                (row.exchange, row.chunk.index) = (head.head.id, index);
                report.finding(&Finding::Chunk(&row)).unwrap();
                assert!(report.waiting < WAITING);
            }
        }
        for head in &heads {
            report.finding(&Finding::ExchangeEnd(&head.end())).unwrap();
        }
        assert_eq!(report.waiting, 0);
        report.finding(&Finding::CaptureEnd(&capture("x.pcap", 1))).unwrap();
        drop(report);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().filter(|line| line.contains("ADDED")).count(), 400 * 50);
        assert_eq!(text.matches("… 10 more chunks: one watch event each").count(), 400);
    }

    #[test]
    fn failed_rows_beyond_a_thousand_are_counted() {
        let talk = Talk::watch(0);
        let mut row = coredns().chunks.remove(0);
        row.verdict = Verdict::Mixed;
        let mut out = Vec::new();
        let mut report = Table::new(&mut out, columns(120));
        report.finding(&Finding::Exchange(&talk.head)).unwrap();
        for index in 1..=1500 {
            row.chunk.index = index;
            report.finding(&Finding::Chunk(&row)).unwrap();
        }
        report.finding(&Finding::ExchangeEnd(&talk.end())).unwrap();
        report.finding(&Finding::CaptureEnd(&capture("x.pcap", 1))).unwrap();
        drop(report);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text.lines().filter(|line| line.starts_with("✗ ") && line.contains("mixed")).count(),
            1000
        );
        assert!(text.contains("  … 500 more chunks: parts of several events\n"));
    }

    #[test]
    fn thousands_of_plain_exchanges_are_lines_and_the_verdict_is_last() {
        let mut out = String::new();
        let watch = rechunked();
        let plain: Vec<_> = (1..3000).map(|stream| Talk::get(stream, "/healthz", None)).collect();
        let mut talks = vec![&watch];
        talks.extend(&plain);
        write!(out, "{}", table(columns(100), &talks)).unwrap();
        assert_eq!(out.lines().filter(|line| line.ends_with("GET /healthz")).count(), 2999);
        let last: Vec<_> = out.lines().rev().take(2).collect();
        assert!(last[0].starts_with("  ✗ stream 0  GET /api/v1/pods"), "{last:?}");
        assert_eq!(last[1], "✗ fail: 1 of 3,000 exchanges fails, with 12 violations");
    }

    #[test]
    fn raw_responses_have_no_streams_frames_or_times() {
        let mut talk = coredns();
        talk.head.id.stream = None;
        (talk.head.client, talk.head.server, talk.head.request) = (None, None, None);
        talk.head.response.as_mut().unwrap().stamp = None;
        for judged in &mut talk.chunks {
            judged.exchange = talk.head.id;
            judged.chunk.trail.iter_mut().for_each(|run| run.frame = None);
            (judged.chunk.first.at, judged.chunk.last.at) = (None, None);
        }
        (talk.end, talk.end_stamp) = (BodyEnd::Open, None);
        let text = table(columns(100), &[&talk]);
        let expected = "
response 0
200 OK, application/json, chunked

  #  hex  size  event     object                         version  payload
";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\n  the capture ends before the body does; no last chunk\n"), "{text}");
    }
}
