//! JUnit XML for the test views of CI servers: a suite a capture, a case an
//! exchange.
//!
//! Nobody owns the format. This is written to be valid against both schemas in
//! use: Ant's, which is strict, and that of Jenkins' xUnit plugin. Both want a
//! suite's counts before its cases, so the cases of a capture go to a
//! [`Spool`], of each exchange three parts: its head, which is known at its
//! end, its violations, as they come, and what they mean. So memory doesn't
//! grow with the capture, and cases are in the order of their exchanges.

use std::io::{self, Write};

use crate::lint::Lint;
use crate::report::cases::{
    Case, Cases, allowed, allowed_words, nothing, plain, problem_words, sentences, title,
};
use crate::report::closing::Run;
use crate::report::codes::{self, NOTHING, UNREADABLE, UNVERIFIED, advice};
use crate::report::phrases::{place, unchecked};
use crate::report::spool::{Slot, Spool};
use crate::report::text::{counted, grouped, printable, seconds};
use crate::report::why::hint_text;
use crate::report::{
    CaptureEnd, Conclusion, ExchangeEnd, ExchangeId, ExchangeVerdict, Finding, Outcome, Report,
};
use crate::verdict::Allow;

/// Violations of an exchange that are listed, and findings of `--lint` that
/// fail the check; as many as a table shows.
const LISTED: u64 = 1000;

/// Findings of `--lint` that fail nothing and are told of, in one suite.
const NOTED: u64 = 1000;

/// Exchanges that are named for what `--allow` let pass, in one suite.
const NAMED: u64 = 100;

/// The time of a suite whose capture has no times: Ant's schema wants one.
const NO_TIME: &str = "1970-01-01T00:00:00";

/// The parts of a case.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Part {
    Head,
    Violations,
    Close,
}

impl Part {
    const fn of(self, exchange: ExchangeId) -> Slot {
        Slot { exchange, part: self as u8 }
    }
}

/// The counts of a suite.
#[derive(Debug, Default)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

/// Writes JUnit XML.
#[derive(Debug)]
pub struct JunitReport<W> {
    out: W,
    allow: Allow,
    begun: bool,
    cases: Cases,
    run: Run,
    spool: Spool,
    /// Suites that are done; the number of the next.
    suites: u64,
    path: String,
    counts: Counts,
    /// What `--allow` let pass, for the suite's output, and in how many exchanges.
    allowed: String,
    allowed_in: u64,
    /// What `--lint` found that fails nothing, for the suite's output, and how
    /// many of them there are.
    notes: String,
    noted: u64,
}

impl<W: Write> JunitReport<W> {
    /// A report that is written to `out` capture by capture. What `allow` lets
    /// pass fails no case.
    pub fn new(out: W, allow: Allow) -> Self {
        Self {
            out,
            allow,
            begun: false,
            cases: Cases::new(allow),
            run: Run::default(),
            spool: Spool::new(),
            suites: 0,
            path: String::new(),
            counts: Counts::default(),
            allowed: String::new(),
            allowed_in: 0,
            notes: String::new(),
            noted: 0,
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        self.out.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n")
    }

    fn violation(&mut self, id: ExchangeId, code: &str, number: u64, told: &str) -> io::Result<()> {
        if number > LISTED {
            return Ok(());
        }
        self.spool.append(Part::Violations.of(id), format!("{code}: {}\n", content(told)).as_bytes())
    }

    fn lint(&mut self, lint: &Lint, number: u64, told: &str) -> io::Result<()> {
        if !lint.denied {
            self.noted += 1;
            if self.noted <= NOTED {
                self.notes.push_str(&format!("{}: note {told}\n", place(lint.exchange)));
            }
        } else if number <= LISTED {
            let line = format!("{}\n", content(told));
            self.spool.append(Part::Violations.of(lint.exchange), line.as_bytes())?;
        }
        Ok(())
    }

    fn exchange(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        let case = self.cases.end(end);
        self.run.exchange(end, &case.failures);
        let id = end.head.id;
        let said = plain(&sentences(self.allow).verdict_text(end));
        let time = time(case.nanos(end));
        let mut head = open_case(&title(end), &class(&self.path), &time);
        self.counts.tests += 1;
        match end.verdict {
            // Lines of violations wait for the element that holds them.
            _ if case.violations > 0 || end.denied > 0 => {
                self.counts.failures += 1;
                let kinds = case.failures.kinds(end).map(|kind| kind.code.name());
                let kind = kinds.chain(case.lints.denied().map(|kind| kind.code.name())).next();
                let kind = kind.unwrap_or_default();
                head.push_str(">\n      <failure");
                attribute(&mut head, "type", kind);
                attribute(&mut head, "message", &said);
                head.push('>');
                let close = format!("{}</failure>\n    </testcase>\n", content(&meanings(&case, end)));
                self.spool.append(Part::Close.of(id), close.as_bytes())?;
            }
            ExchangeVerdict::Pass | ExchangeVerdict::Fail => head.push_str("/>\n"),
            ExchangeVerdict::Unverified if self.allow.gaps && end.tally.checked() > 0 => {
                head.push_str("/>\n");
            }
            ExchangeVerdict::Unverified if self.allow.gaps => {
                self.counts.skipped += 1;
                head.push_str(&skipped(&format!("{said} (--allow gaps)")));
            }
            ExchangeVerdict::Unverified => {
                self.counts.failures += 1;
                head.push_str(">\n      <failure");
                attribute(&mut head, "type", UNVERIFIED);
                attribute(&mut head, "message", &said);
                let doubt = case.doubt.map(|(_, doubt)| doubt + "\n").unwrap_or_default();
                let causes = causes(end);
                let line_end = if causes.is_empty() { "" } else { "\n" };
                head.push_str(&format!(
                    ">{}\nWhat to do: {}{line_end}{}</failure>\n    </testcase>\n",
                    content(&doubt),
                    content(advice(UNVERIFIED)),
                    content(&causes),
                ));
            }
            ExchangeVerdict::Unchecked => {
                self.counts.skipped += 1;
                head.push_str(&skipped(&plain(&unchecked(end))));
            }
        }
        let passed: Vec<_> = allowed(&end.tally, self.allow)
            .map(|(code, word, count)| format!("{} (--allow {word})", allowed_words(code, count)))
            .collect();
        if !passed.is_empty() {
            self.allowed_in += 1;
            if self.allowed_in <= NAMED {
                self.allowed.push_str(&format!("{}: {}\n", title(end), passed.join(", ")));
            }
        }
        self.spool.append(Part::Head.of(id), head.as_bytes())
    }

    fn capture(&mut self, end: &CaptureEnd) -> io::Result<()> {
        self.run.capture(end);
        let unread = end.unread.as_ref().map(|reason| {
            self.counts.tests += 1;
            self.counts.errors += 1;
            let message = printable(reason);
            error_case("the capture can be read", &class(&self.path), UNREADABLE, &message, &message)
        });
        let nanos = match (end.first_time, end.last_time) {
            (Some(first), Some(last)) => last.nanos_since(first).max(0),
            _ => 0,
        };
        let timestamp = end.first_time.map(|first| first.to_string());
        let timestamp = timestamp.as_deref().and_then(|time| time.get(..NO_TIME.len())).unwrap_or(NO_TIME);
        self.open_suite(&printable(&end.path), timestamp, nanos)?;
        let format = end.format.map_or("unreadable", |format| format.name());
        let properties = [
            ("chunkscope.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("capture.format", format.to_owned()),
            ("capture.packets", end.packets.to_string()),
        ];
        let mut text = String::from("    <properties>\n");
        for (name, value) in &properties {
            text.push_str("      <property");
            attribute(&mut text, "name", name);
            attribute(&mut text, "value", value);
            text.push_str("/>\n");
        }
        text.push_str("    </properties>\n");
        text.push_str(&unread.unwrap_or_default());
        self.out.write_all(text.as_bytes())?;
        self.spool.drain_in_order(&mut self.out)?;
        let mut said = plain(&sentences(self.allow).capture(end));
        said.push_str(&std::mem::take(&mut self.allowed));
        let more = self.allowed_in.saturating_sub(NAMED);
        if more > 0 {
            said.push_str(&format!("… and {}\n", counted(more, "more exchange")));
        }
        self.allowed_in = 0;
        said.push_str(&std::mem::take(&mut self.notes));
        let more = std::mem::take(&mut self.noted).saturating_sub(NOTED);
        if more > 0 {
            said.push_str(&format!("… and {} of --lint\n", counted(more, "more note")));
        }
        let problems = end.problems.iter();
        let problems =
            problems.map(|problem| format!("{} [{}]\n", problem_words(problem, end), problem.code));
        self.close_suite(&said, &problems.collect::<String>())
    }

    /// A suite up to its cases, with the counts so far, which begin anew.
    fn open_suite(&mut self, name: &str, timestamp: &str, nanos: i128) -> io::Result<()> {
        let Counts { tests, failures, errors, skipped } = std::mem::take(&mut self.counts);
        let mut text = String::from("  <testsuite");
        attribute(&mut text, "name", name);
        // Ant's schema wants a package and a number of each suite.
        attribute(&mut text, "package", "chunkscope");
        attribute(&mut text, "id", &self.suites.to_string());
        for (name, count) in
            [("tests", tests), ("failures", failures), ("errors", errors), ("skipped", skipped)]
        {
            attribute(&mut text, name, &count.to_string());
        }
        attribute(&mut text, "time", &time(nanos));
        attribute(&mut text, "timestamp", timestamp);
        // The host that ran the test says nothing of the capture.
        attribute(&mut text, "hostname", "localhost");
        text.push_str(">\n");
        self.suites += 1;
        self.begin()?;
        self.out.write_all(text.as_bytes())
    }

    fn close_suite(&mut self, out: &str, err: &str) -> io::Result<()> {
        let text = format!(
            "    <system-out>{}</system-out>\n    <system-err>{}</system-err>\n  </testsuite>\n",
            content(out),
            content(err)
        );
        self.out.write_all(text.as_bytes())
    }
}

impl<W: Write> Report for JunitReport<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        let told = self.cases.take(finding);
        match finding {
            Finding::Capture(path) => {
                (*path).clone_into(&mut self.path);
                self.run.begin(path);
                self.begin()
            }
            Finding::Violation(violation) => match told {
                Some((number, told)) => {
                    self.violation(violation.exchange, violation.code.name(), number, &told)
                }
                None => Ok(()),
            },
            Finding::Lint(lint) => match told {
                Some((number, told)) => self.lint(lint, number, &told),
                None => Ok(()),
            },
            Finding::ExchangeEnd(end) => self.exchange(end),
            Finding::CaptureEnd(end) => self.capture(end),
            Finding::Exchange(_) | Finding::Event(..) | Finding::Chunk(_) => Ok(()),
        }
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.begin()?;
        if conclusion.outcome == Outcome::Empty {
            // A view that shows no failed test must not be taken for a pass.
            self.counts.tests = 1;
            let said = self.cases.conclude(conclusion);
            let case = if self.allow.nothing {
                self.counts.skipped = 1;
                let mut case = open_case("something to check", "chunkscope", &time(0));
                case.push_str(&skipped(&format!("{said} (--allow nothing)")));
                case
            } else {
                self.counts.errors = 1;
                let text = nothing(&self.run, self.allow, conclusion);
                error_case("something to check", "chunkscope", NOTHING, &said, &text)
            };
            self.open_suite("chunkscope", NO_TIME, 0)?;
            self.out.write_all(b"    <properties/>\n")?;
            self.out.write_all(case.as_bytes())?;
            self.close_suite("", "")?;
        }
        self.out.write_all(b"</testsuites>\n")?;
        self.out.flush()
    }
}

/// What the violations of an exchange mean, where to look them up, and what
/// made them.
fn meanings(case: &Case, end: &ExchangeEnd) -> String {
    let mut text = String::new();
    let more = case.violations.saturating_sub(LISTED);
    if more > 0 {
        text.push_str(&format!("… and {}\n", counted(more, "more violation")));
    }
    let more = end.denied.saturating_sub(LISTED);
    if more > 0 {
        text.push_str(&format!("… and {} of --lint\n", counted(more, "more denied finding")));
    }
    for kind in case.failures.kinds(end) {
        let code = kind.code.name();
        text.push_str(&format!(
            "\n{code} ({}): {}\nWhat to do: {}\n",
            grouped(kind.count),
            plain(&kind.meaning),
            advice(code)
        ));
    }
    for kind in case.lints.denied() {
        let codes::Code { id, meaning, advice, .. } = kind.explained();
        text.push_str(&format!("\n{id} ({}): {meaning}\nWhat to do: {advice}\n", grouped(kind.count)));
    }
    if let Some(filter) = case.failures.filter(end) {
        text.push_str(&format!("\nIn Wireshark: {filter}\n"));
    }
    text.push_str(&causes(end));
    text
}

/// What made chunk edges differ from event edges, as far as it shows.
fn causes(end: &ExchangeEnd) -> String {
    let causes = end.hints.iter();
    causes.map(|hint| format!("\nLikely cause: {}\n", plain(&hint_text(hint)))).collect()
}

fn open_case(name: &str, class: &str, time: &str) -> String {
    let mut text = String::from("    <testcase");
    attribute(&mut text, "name", name);
    attribute(&mut text, "classname", class);
    attribute(&mut text, "time", time);
    text
}

fn skipped(reason: &str) -> String {
    let mut text = String::from(">\n      <skipped");
    attribute(&mut text, "message", reason);
    text.push_str("/>\n    </testcase>\n");
    text
}

fn error_case(name: &str, class: &str, code: &str, message: &str, text: &str) -> String {
    let mut case = open_case(name, class, &time(0));
    case.push_str(">\n      <error");
    attribute(&mut case, "type", code);
    attribute(&mut case, "message", message);
    case.push_str(&format!(
        ">{}\nWhat to do: {}</error>\n    </testcase>\n",
        content(text),
        content(advice(code))
    ));
    case
}

/// The class of a capture's cases: its path, with a package a directory. It
/// stays the same as long as the capture's name does.
fn class(path: &str) -> String {
    let mut class = String::from("chunkscope");
    for step in path.split(['/', '\\']).filter(|step| !matches!(*step, "" | "." | "..")) {
        class.push('.');
        // CI servers split classes at dots.
        class.extend(printable(step).chars().map(|c| if c == '.' || c.is_whitespace() { '_' } else { c }));
    }
    class
}

/// Seconds with three decimals, which is what Jenkins' schema allows, without a
/// unit.
fn time(nanos: i128) -> String {
    seconds(nanos, 3).trim_end_matches(" s").to_owned()
}

fn attribute(to: &mut String, name: &str, value: &str) {
    to.push(' ');
    to.push_str(name);
    to.push_str("=\"");
    escape(to, value, true);
    to.push('"');
}

fn content(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    escape(&mut escaped, text, false);
    escaped
}

/// Writes text so that a parser gives back the same, but for characters that
/// XML 1.0 has no way to write: these are written by number, as `\u{fffe}`.
fn escape(to: &mut String, text: &str, attribute: bool) {
    for c in text.chars() {
        match c {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            // Text may not hold `]]>` (XML 1.0, section 2.4).
            '>' => to.push_str("&gt;"),
            '"' if attribute => to.push_str("&quot;"),
            // Parsers make a blank of these in attributes, and LF of CR anywhere.
            '\n' if attribute => to.push_str("&#10;"),
            '\t' if attribute => to.push_str("&#9;"),
            '\r' => to.push_str("&#13;"),
            '\n' | '\t' => to.push(c),
            // XML 1.0, section 2.2: Char.
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => to.extend(c.escape_unicode()),
            c => to.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::samples;

    #[test]
    fn everything_reads_so() {
        let mut out = Vec::new();
        samples::tell(&mut JunitReport::new(&mut out, Allow::default()), &samples::everything());
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_class_is_its_captures_path_with_a_package_a_directory() {
        assert_eq!(class("informer.pcap"), "chunkscope.informer_pcap");
        assert_eq!(class("./a b/../c.d/x.pcapng"), "chunkscope.a_b.c_d.x_pcapng");
        assert_eq!(class("/var/x\n.pcap"), "chunkscope.var.x␊_pcap");
    }

    #[test]
    fn what_xml_has_no_way_to_write_is_written_by_number() {
        assert_eq!(content("a\u{fffe}\u{ffff}\0\u{1b}"), "a\\u{fffe}\\u{ffff}\\u{0}\\u{1b}");
        assert_eq!(content("]]>&<\r\n\t\""), "]]&gt;&amp;&lt;&#13;\n\t\"");
        let mut text = String::new();
        attribute(&mut text, "x", "\n\t\"");
        assert_eq!(text, " x=\"&#10;&#9;&quot;\"");
    }

    proptest! {
        #[test]
        fn a_parser_gives_back_what_was_written(text in "[ -~\\n\\t\\réü日\u{85}\u{10ffff}]{0,40}") {
            let mut document = String::from("<a");
            attribute(&mut document, "b", &text);
            document.push_str(&format!(">{}</a>", content(&text)));
            let parsed = roxmltree::Document::parse(&document).unwrap();
            let root = parsed.root_element();
            prop_assert_eq!(root.attribute("b"), Some(text.as_str()));
            prop_assert_eq!(root.text().unwrap_or_default(), text);
        }
    }
}
