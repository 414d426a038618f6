//! Markdown for a pull request's comment, a job's summary or a ticket: the
//! verdict, a table of exchanges, the findings in words.
//!
//! What takes Markdown has bounds, so this has one: failures come before all
//! else, and what is left out is counted. Nothing of a capture is markup:
//! requests and paths stand in code, sentences are escaped, and no `@name` or
//! `#1` in them reaches anybody.

use std::io::{self, Write};

use crate::report::cases::{Case, Cases, allowed, nothing, plain, problem_words, sentences};
use crate::report::closing::Run;
use crate::report::codes::{UNVERIFIED, advice};
use crate::report::phrases::{place, request_line, unchecked, unit};
use crate::report::text::{counted, fit_middle, grouped, printable};
use crate::report::why::{LintKind, hint_text};
use crate::report::{
    CaptureEnd, Conclusion, ExchangeEnd, ExchangeId, ExchangeVerdict, Finding, Outcome, Report,
};
use crate::verdict::Allow;

/// Octets of a comment on GitHub (65,536 characters), with some room for what
/// is written around the report.
pub const COMMENT: usize = 60_000;

/// Octets that are needed for the least that there is to say.
const LEAST: usize = 4_000;

/// Columns of a request in the table.
const CELL_COLUMNS: usize = 80;

/// Columns of a request above its findings.
const REQUEST_COLUMNS: usize = 200;

/// Texts up to a number of octets; the rest is counted.
#[derive(Debug)]
struct Bounded {
    room: usize,
    /// With the capture's number and the exchange, by which they are ordered.
    texts: Vec<((u64, ExchangeId), String)>,
    left_out: u64,
}

impl Bounded {
    const fn new(room: usize) -> Self {
        Self { room, texts: Vec::new(), left_out: 0 }
    }

    /// Keeps a text if there is room for it, and for all before it there was.
    fn push(&mut self, place: (u64, ExchangeId), text: impl FnOnce() -> String) {
        if self.left_out == 0 {
            let text = text();
            if let Some(room) = self.room.checked_sub(text.len()) {
                self.room = room;
                self.texts.push((place, text));
                return;
            }
        }
        self.left_out += 1;
    }

    /// The texts in the order of their exchanges.
    fn in_order(&mut self) -> String {
        self.texts.sort_by_key(|(place, _)| *place);
        self.texts.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// Writes Markdown as GitHub and GitLab read it.
#[derive(Debug)]
pub struct MarkdownReport<W> {
    out: W,
    allow: Allow,
    cases: Cases,
    run: Run,
    path: String,
    captures: u64,
    /// Rows of exchanges that fail or can't be verified.
    bad: Bounded,
    /// Rows of those that pass.
    good: Bounded,
    /// Exchanges of which nothing was checked: rows too.
    rest: Bounded,
    findings: Bounded,
    /// What `--lint` found that fails nothing.
    notes: Bounded,
    problems: Bounded,
}

impl<W: Write> MarkdownReport<W> {
    /// A report of at most about `limit` octets, written to `out` at the end;
    /// a limit below 4,000 is 4,000.
    pub fn new(out: W, allow: Allow, limit: usize) -> Self {
        let room = limit.max(LEAST) - LEAST / 2;
        Self {
            out,
            allow,
            cases: Cases::new(allow),
            run: Run::default(),
            path: String::new(),
            captures: 0,
            bad: Bounded::new(room / 4),
            good: Bounded::new(room / 8),
            rest: Bounded::new(room / 16),
            findings: Bounded::new(room / 8 * 3),
            notes: Bounded::new(room / 16),
            problems: Bounded::new(room / 8),
        }
    }

    fn exchange(&mut self, end: &ExchangeEnd) {
        let case = self.cases.end(end);
        self.run.exchange(end, &case.failures);
        let at = (self.captures, end.head.id);
        let said = plain(&sentences(self.allow).verdict_text(end));
        let rows = match end.verdict {
            ExchangeVerdict::Fail | ExchangeVerdict::Unverified => &mut self.bad,
            ExchangeVerdict::Pass => &mut self.good,
            ExchangeVerdict::Unchecked => &mut self.rest,
        };
        let path = &self.path;
        rows.push(at, || row(path, end, &case, self.allow));
        let tells = matches!(end.verdict, ExchangeVerdict::Fail | ExchangeVerdict::Unverified)
            || allowed(&end.tally, self.allow).next().is_some();
        if tells {
            let allow = self.allow;
            self.findings.push(at, || finding(path, end, &case, &said, allow));
        }
        if case.lints.notes().next().is_some() {
            self.notes.push(at, || notes(path, end, &case));
        }
    }

    fn capture(&mut self, end: &CaptureEnd) {
        self.run.capture(end);
        let at = (self.captures, ExchangeId { stream: None, index: 0 });
        for problem in &end.problems {
            self.problems.push(at, || {
                let words = plain(&problem_words(problem, end));
                format!("- {}: {} [`{}`]\n", code(&end.path), escape(&words), problem.code)
            });
        }
    }
}

impl<W: Write> Report for MarkdownReport<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.cases.take(finding);
        match finding {
            Finding::Capture(path) => {
                self.captures += 1;
                (*path).clone_into(&mut self.path);
                self.run.begin(path);
            }
            Finding::ExchangeEnd(end) => self.exchange(end),
            Finding::CaptureEnd(end) => self.capture(end),
            Finding::Exchange(_)
            | Finding::Event(..)
            | Finding::Chunk(_)
            | Finding::Violation(_)
            | Finding::Lint(_) => {}
        }
        Ok(())
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        let sign = match conclusion.outcome {
            Outcome::Pass => "✅",
            Outcome::Fail => "❌",
            Outcome::Empty => "⚠️",
        };
        let mut text = format!("### {sign} chunkscope: {}\n", self.cases.conclude(conclusion));
        if conclusion.outcome == Outcome::Empty {
            let allowed = if self.allow.nothing { " It was allowed: `--allow nothing`." } else { "" };
            text.push_str(&format!("\nA check that checks nothing is no pass.{allowed}\n\n```text\n"));
            // Nothing of a capture is in these sentences, so no fence can be.
            text.push_str(&nothing(&self.run, self.allow, conclusion));
            text.push_str("\n```\n");
        }
        if !(self.bad.texts.is_empty() && self.good.texts.is_empty() && self.rest.texts.is_empty()) {
            text.push_str(
                "\n| | capture | place | request | status | chunks | events | verdict |\n\
                 | --- | --- | --- | --- | --- | ---: | ---: | --- |\n",
            );
            text.push_str(&self.bad.in_order());
            text.push_str(&self.good.in_order());
            text.push_str(&self.rest.in_order());
        }
        let left: Vec<_> = [
            (self.bad.left_out, "that failed or can't be verified"),
            (self.good.left_out, "that passed"),
            (self.rest.left_out, "of which nothing was checked"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, which)| format!("{} {which}", counted(count, "exchange")))
        .collect();
        if !left.is_empty() {
            text.push_str(&format!("\nLeft out of the table: {}.\n", left.join(", ")));
        }
        for (heading, list, noun) in [
            ("Findings", &mut self.findings, "exchange"),
            ("Notes of --lint", &mut self.notes, "exchange"),
            ("The captures", &mut self.problems, "problem"),
        ] {
            if list.texts.is_empty() && list.left_out == 0 {
                continue;
            }
            text.push_str(&format!("\n#### {heading}\n\n{}\n", list.in_order().trim_end()));
            if list.left_out > 0 {
                let more = counted(list.left_out, &format!("more {noun}"));
                text.push_str(&format!("\nLeft out: {more}. `-o json=report.json` has them.\n"));
            }
        }
        text.push_str(&format!("\n<sub>chunkscope {}</sub>\n", env!("CARGO_PKG_VERSION")));
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// A row of the table; what fails is told in full below it.
fn row(path: &str, end: &ExchangeEnd, case: &Case, allow: Allow) -> String {
    let (sign, verdict) = match end.verdict {
        ExchangeVerdict::Pass => ("✅", one_each(end)),
        ExchangeVerdict::Fail => {
            let kinds = case.failures.kinds(end);
            let kinds = kinds.map(|kind| (kind.code.name(), kind.count));
            let kinds = kinds.chain(case.lints.denied().map(|kind| (kind.code.name(), kind.count)));
            let kinds = kinds.map(|(code, count)| format!("{code} ×{}", grouped(count)));
            ("❌", kinds.collect::<Vec<_>>().join(", "))
        }
        ExchangeVerdict::Unverified if allow.gaps => ("❔", "can't be verified, allowed".to_owned()),
        ExchangeVerdict::Unverified => ("❔", "can't be verified".to_owned()),
        ExchangeVerdict::Unchecked => {
            let reason = plain(&unchecked(end));
            // What to do about it is for the conclusion.
            ("–", reason.split(" (").next().unwrap_or_default().to_owned())
        }
    };
    let allowed: Vec<_> = allowed(&end.tally, allow)
        .map(|(code, _, count)| format!("{} ×{} allowed", code.name(), grouped(count)))
        .collect();
    let verdict = [verdict].into_iter().chain(allowed).filter(|text| !text.is_empty());
    let request = request_line(&end.head);
    let status = end.head.response.as_ref().and_then(|response| response.status);
    format!(
        "| {sign} | {} | {} | {} | {} | {} | {} | {} |\n",
        cell(path),
        place(end.head.id),
        cell(&fit_middle(&request, CELL_COLUMNS)),
        status.map_or_else(|| "–".to_owned(), |status| status.to_string()),
        grouped(end.tally.chunks()),
        grouped(end.events),
        escape(&verdict.collect::<Vec<_>>().join(", ")),
    )
}

/// What all checked chunks hold, if all hold the same.
fn one_each(end: &ExchangeEnd) -> String {
    if end.tally.one == end.tally.checked() {
        format!("one {} a chunk", unit(end.head.expect))
    } else {
        String::new()
    }
}

/// What is to be said of an exchange, a paragraph and a list.
fn finding(path: &str, end: &ExchangeEnd, case: &Case, said: &str, allow: Allow) -> String {
    let mut text = format!("{}: {}\n\n", heading(path, end), escape(said));
    for kind in case.failures.kinds(end) {
        let name = kind.code.name();
        for told in kind.told {
            text.push_str(&format!("- **{name}**: {}\n", escape(&plain(told))));
        }
        if let Some(more) = kind.more {
            text.push_str(&format!("- {}\n", escape(&plain(&more))));
        }
        text.push_str(&format!(
            "\n  {}\n\n  What to do: {}\n\n",
            escape(&plain(&kind.meaning)),
            escape(advice(name))
        ));
    }
    for kind in case.lints.denied() {
        let explained = kind.explained();
        text.push_str(&format!(
            "{}\n  {}\n\n  What to do: {}\n\n",
            lints(kind),
            escape(explained.meaning),
            escape(explained.advice)
        ));
    }
    if end.verdict == ExchangeVerdict::Unverified {
        let doubt =
            case.doubt.as_ref().map(|(_, doubt)| format!("- **{UNVERIFIED}**: {}\n\n  ", escape(doubt)));
        let doubt = doubt.unwrap_or_default();
        let advice = match allow.gaps {
            true => "It is allowed: `--allow gaps`".to_owned(),
            false => format!("What to do: {}", escape(advice(UNVERIFIED))),
        };
        text.push_str(&format!("{doubt}{advice}\n\n"));
    }
    let words: Vec<_> = allowed(&end.tally, allow).map(|(_, word, _)| word).collect();
    if !words.is_empty() {
        text.push_str(&format!("- allowed: `--allow {}`\n\n", words.join(",")));
    }
    for hint in &end.hints {
        text.push_str(&format!("Likely cause: {}\n\n", escape(&plain(&hint_text(hint)))));
    }
    if let Some(filter) = case.failures.filter(end) {
        text.push_str(&format!("In Wireshark: {}\n\n", code(&filter)));
    }
    text
}

/// What `--lint` found of an exchange that fails nothing.
fn notes(path: &str, end: &ExchangeEnd, case: &Case) -> String {
    let mut text = heading(path, end);
    text.push_str(":\n\n");
    for kind in case.lints.notes() {
        text.push_str(&lints(kind));
    }
    text.push('\n');
    text
}

/// The request and where it is.
fn heading(path: &str, end: &ExchangeEnd) -> String {
    let request = code(&fit_middle(&request_line(&end.head), REQUEST_COLUMNS));
    format!("**{request}** ({} of {})", place(end.head.id), code(path))
}

/// Findings of `--lint` with one code, as items of a list.
fn lints(kind: &LintKind) -> String {
    let name = kind.code.name();
    let told = kind.told.iter().map(|told| {
        let told = told.strip_prefix(name).unwrap_or(told);
        format!("- **{name}**{}\n", escape(&plain(told)))
    });
    told.chain(kind.more().map(|more| format!("- {more}\n"))).collect()
}

/// A text of a capture as code, which no Markdown in it can end.
fn code(text: &str) -> String {
    let text = printable(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // One blank at each side is taken away again (CommonMark 6.1).
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    let text: &str = if text.trim().is_empty() { "–" } else { &text };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The same in a table, where a bar ends a cell even in code, unless it has a
/// backslash before it.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// A sentence with words of a capture in it, so that none of them is markup.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    let text = printable(text);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => escaped.extend(['\\', c]),
            // A backslash doesn't help: mentions and references are looked for
            // in what is rendered. A comment keeps them apart.
            '@' | '#' if rest.peek().is_some_and(|next| next.is_alphanumeric()) => {
                escaped.push(c);
                escaped.push_str("<!-- -->");
            }
            // `http://` and `www.` make links by themselves (GFM 6.9).
            ':' if rest.peek() == Some(&'/') => escaped.push_str("&#58;<!-- -->"),
            '.' if escaped.to_ascii_lowercase().ends_with("www") => escaped.push_str("<!-- -->."),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    use super::*;
    use crate::report::samples;

    #[test]
    fn everything_reads_so() {
        let mut out = Vec::new();
        samples::tell(&mut MarkdownReport::new(&mut out, Allow::default(), COMMENT), &samples::everything());
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    fn parsed(text: &str) -> Vec<Event<'_>> {
        Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH)
            .collect()
    }

    #[test]
    fn sentences_render_as_they_were() {
        let text = "a*b*_c_`d`[e](f)<g>&amp;|~~h~~$i$ \\ https://x www.y @me #1 @ #";
        let mut shown = String::new();
        for event in parsed(&escape(text)) {
            match event {
                Event::Text(text) => shown.push_str(&text),
                Event::InlineHtml(html) => assert_eq!(&*html, "<!-- -->"),
                Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(shown, text);
    }

    proptest! {
        #[test]
        fn code_holds_whatever_it_is_given(text in "[`|a \\\\<@]{1,20}") {
            prop_assume!(!text.trim().is_empty());
            let spans: Vec<_> = parsed(&format!("x {}", code(&text)))
                .into_iter()
                .filter_map(|event| if let Event::Code(code) = event { Some(code.to_string()) } else { None })
                .collect();
            prop_assert_eq!(spans.len(), 1);
            prop_assert_eq!(spans[0].trim(), text.trim());
        }

        #[test]
        fn a_cell_never_ends_within_its_text(text in "[`|a \\\\<@]{1,20}") {
            let table = format!("| a | b |\n| --- | --- |\n| {} | x |\n", cell(&text));
            let events = parsed(&table);
            let cells = events.iter().filter(|event| matches!(event, Event::Start(Tag::TableCell))).count();
            prop_assert_eq!(cells, 4, "{}", table);
            let last = events.iter().rposition(|event| matches!(event, Event::End(TagEnd::TableCell))).unwrap();
            prop_assert_eq!(&events[last - 1], &Event::Text("x".into()));
        }
    }
}
