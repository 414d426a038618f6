//! Workflow commands for GitHub Actions: what failed as annotations.
//!
//! GitHub keeps ten annotations of a kind a step and drops the others without
//! a word. So an annotation is for all failures of one kind in an exchange,
//! they come at the end, captures that can't be read first, and a notice says
//! how many were left out. Not more than these is kept in memory. What `--lint`
//! found is an error where `--deny` makes it fail, and otherwise a notice,
//! unless it is how watches usually end.

use std::io::{self, Write};

use crate::report::cases::{Cases, allowed, answered_in, nothing, plain, problem_words, sentences, title};
use crate::report::closing::Run;
use crate::report::codes::{LINTS, NOTHING, PROBLEMS, RULES, UNREADABLE, UNVERIFIED, advice};
use crate::report::text::{counted, fit_middle, grouped, printable};
use crate::report::why::LintKind;
use crate::report::{CaptureEnd, Conclusion, ExchangeEnd, ExchangeVerdict, Finding, Outcome, Report};
use crate::units::FrameNo;
use crate::verdict::Allow;

/// Annotations of a kind that GitHub keeps of a step.
const KEPT: usize = 10;

/// Columns of a request in a message: an annotation is read at a glance.
const TITLE_COLUMNS: usize = 120;

/// An annotation.
#[derive(Debug)]
struct Annotation {
    file: String,
    frame: Option<FrameNo>,
    title: String,
    message: String,
}

/// Annotations of one kind: the first ten, and how many more there were.
#[derive(Debug, Default)]
struct Annotations {
    kept: Vec<Annotation>,
    more: u64,
}

impl Annotations {
    fn push(&mut self, annotation: impl FnOnce() -> Annotation) {
        if self.kept.len() < KEPT { self.kept.push(annotation()) } else { self.more += 1 }
    }
}

/// Writes workflow commands.
#[derive(Debug)]
pub struct GithubReport<W> {
    out: W,
    allow: Allow,
    cases: Cases,
    run: Run,
    path: String,
    /// Captures that can't be read.
    unread: Annotations,
    failures: Annotations,
    warnings: Annotations,
    /// What `--lint` found that fails nothing.
    notices: Annotations,
}

impl<W: Write> GithubReport<W> {
    /// A report that is written to `out` at the end.
    pub fn new(out: W, allow: Allow) -> Self {
        Self {
            out,
            allow,
            cases: Cases::new(allow),
            run: Run::default(),
            path: String::new(),
            unread: Annotations::default(),
            failures: Annotations::default(),
            warnings: Annotations::default(),
            notices: Annotations::default(),
        }
    }

    fn exchange(&mut self, end: &ExchangeEnd) {
        let case = self.cases.end(end);
        self.run.exchange(end, &case.failures);
        let path = &self.path;
        let annotation = |frame, title: String, message: String| Annotation {
            file: path.clone(),
            frame,
            title,
            message: plain(&message),
        };
        let request = fit_middle(&title(end), TITLE_COLUMNS).into_owned();
        // Once an exchange, at its first annotation that is about chunks.
        let mut causes: String = end
            .hints
            .iter()
            .map(|hint| format!("\nLikely cause: {}: {}.", hint.cause.name(), hint.message))
            .collect();
        for kind in case.failures.kinds(end) {
            self.failures.push(|| {
                let look = match (end.head.id.stream, kind.frame) {
                    (Some(stream), Some(frame)) => {
                        format!("\nIn Wireshark: tcp.stream eq {stream} && frame.number eq {frame}")
                    }
                    _ => String::new(),
                };
                let code = kind.code.name();
                let causes = std::mem::take(&mut causes);
                let mut told: Vec<&str> = kind.told.iter().map(String::as_str).collect();
                told.extend(kind.more.as_deref());
                annotation(
                    kind.frame,
                    heading(code, kind.count),
                    format!(
                        "{request}: {}.\n{}\nWhat to do: {}{look}{causes}",
                        told.join("; "),
                        kind.meaning,
                        advice(code)
                    ),
                )
            });
        }
        for kind in case.lints.denied() {
            self.failures.push(|| {
                let explained = kind.explained();
                annotation(
                    kind.frame,
                    heading(kind.code.name(), kind.count),
                    format!(
                        "{request}: {}.\n{}\nWhat to do: {}",
                        lints(kind),
                        explained.meaning,
                        explained.advice
                    ),
                )
            });
        }
        for kind in case.lints.notes().filter(|kind| !kind.code.is_ordinary()) {
            self.notices.push(|| {
                let message = format!("{request}: {}.", lints(kind));
                annotation(kind.frame, heading(kind.code.name(), kind.count), message)
            });
        }
        let said = sentences(self.allow).verdict_text(end);
        if end.verdict == ExchangeVerdict::Unverified {
            let list = if self.allow.gaps { &mut self.warnings } else { &mut self.failures };
            list.push(|| {
                let (frame, doubt) = match case.doubt {
                    Some((frame, doubt)) => (frame, format!("\nFirst, {doubt}.")),
                    None => (None, String::new()),
                };
                let allowed = if self.allow.gaps { " (--allow gaps)" } else { "" };
                let causes = std::mem::take(&mut causes);
                let message =
                    format!("{request}: {said}{allowed}.{doubt}\nWhat to do: {}{causes}", advice(UNVERIFIED));
                annotation(frame, heading(UNVERIFIED, 1), message)
            });
        }
        for (code, word, count) in allowed(&end.tally, self.allow) {
            self.warnings.push(|| {
                let causes = std::mem::take(&mut causes);
                let message = format!("{request}: {said} (--allow {word}).{causes}");
                annotation(answered_in(end), heading(code.name(), count), message)
            });
        }
    }

    fn capture(&mut self, end: &CaptureEnd) {
        self.run.capture(end);
        let about = |frame, title: String, message: String| Annotation {
            file: end.path.clone(),
            frame,
            title,
            message: plain(&message),
        };
        if let Some(reason) = &end.unread {
            self.unread.push(|| {
                let path = printable(&end.path);
                about(None, heading(UNREADABLE, 1), format!("{path}: {}.", printable(reason)))
            });
        }
        for problem in &end.problems {
            // The one for which the capture is unread is told.
            if end.unread.as_ref() == Some(&problem.message) {
                continue;
            }
            self.warnings.push(|| {
                let frame = problem.frame.filter(|_| end.packets > 0);
                about(frame, heading(problem.code, 1), format!("{}.", problem_words(problem, end)))
            });
        }
    }

    fn write(&mut self, command: &str, annotation: &Annotation) -> io::Result<()> {
        let mut properties = Vec::new();
        if !matches!(annotation.file.as_str(), "" | "-") {
            properties.push(format!("file={}", property(&printable(&annotation.file))));
            // A capture has no lines; what one looks up is the frame.
            properties.extend(annotation.frame.map(|frame| format!("line={frame}")));
        }
        properties.push(format!("title={}", property(&annotation.title)));
        writeln!(self.out, "::{command} {}::{}", properties.join(","), data(&annotation.message))
    }
}

impl<W: Write> Report for GithubReport<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.cases.take(finding);
        match finding {
            Finding::Capture(path) => {
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
        let said = self.cases.conclude(conclusion);
        if conclusion.outcome == Outcome::Empty {
            let list = if self.allow.nothing { &mut self.warnings } else { &mut self.failures };
            // The reason must not be the one that is left out.
            list.more += u64::from(list.kept.len() == KEPT);
            list.kept.truncate(KEPT - 1);
            let message = nothing(&self.run, self.allow, conclusion);
            let title = heading(NOTHING, 1);
            list.kept.insert(0, Annotation { file: self.path.clone(), frame: None, title, message });
        }
        let mut errors = std::mem::take(&mut self.unread);
        let failures = std::mem::take(&mut self.failures);
        errors.more += failures.more;
        for failure in failures.kept {
            errors.push(|| failure);
        }
        let warnings = std::mem::take(&mut self.warnings);
        for annotation in &errors.kept {
            self.write("error", annotation)?;
        }
        for annotation in &warnings.kept {
            self.write("warning", annotation)?;
        }
        let mut notices = std::mem::take(&mut self.notices);
        // The last one is the conclusion's.
        notices.more += u64::from(notices.kept.len() == KEPT);
        notices.kept.truncate(KEPT - 1);
        for annotation in &notices.kept {
            self.write("notice", annotation)?;
        }
        let left: Vec<_> =
            [(errors.more, "more error"), (warnings.more, "more warning"), (notices.more, "more notice")]
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, noun)| counted(count, noun))
                .collect();
        let mut notice = said;
        if !left.is_empty() {
            let left = left.join(" and ");
            notice.push_str(&format!(
                "; {left} left out, since GitHub keeps {KEPT} of a kind: the job summary and the other reports \
                 have them"
            ));
        }
        writeln!(self.out, "::notice title=chunkscope::{}", data(&notice))?;
        self.out.flush()
    }
}

/// Findings of `--lint` with one code, in a sentence without a full stop.
fn lints(kind: &LintKind) -> String {
    kind.told.iter().cloned().chain(kind.more()).collect::<Vec<_>>().join("; ")
}

/// What an annotation is about: `A chunk holds several events (several-events)`.
fn heading(code: &str, count: u64) -> String {
    let title = RULES
        .iter()
        .chain(&PROBLEMS)
        .chain(&LINTS)
        .find(|known| known.id == code)
        .map_or(code, |known| known.title);
    let times = if count > 1 { format!(", {} times", grouped(count)) } else { String::new() };
    format!("{title} ({code}{times})")
}

/// The message of a workflow command, on one line.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
