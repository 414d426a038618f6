//! Hints and times in words, for the reports for people.

use std::fmt::Write as _;

use crate::hints::Hint;
use crate::hints::pace::Timing;
use crate::lint::{Code, Lint};
use crate::report::ExchangeEnd;
use crate::report::codes::{self, lint_rule};
use crate::report::prose::{Mark, Prose};
use crate::report::text::{Tone, counted, grouped, printable, seconds};
use crate::units::FrameNo;

/// Findings of `--lint` that are told of an exchange.
const TOLD_LINTS: usize = 50;

/// Findings with one code that are told of an exchange where they are grouped.
const TOLD_OF_A_CODE: usize = 3;

impl Prose {
    /// What made chunk edges differ from event edges, as far as it shows.
    pub(super) fn hints(self, end: &ExchangeEnd) -> String {
        let mut text = String::new();
        for hint in &end.hints {
            let code = hint.cause.name();
            let words = format!("why {}", hint_text(hint));
            let words = self.paragraph(&words, "  ", "  ");
            let strong = self.paint.tone(Tone::Strong, &format!("why {code}"));
            let _ = write!(text, "\n{}", words.replacen(&format!("why {code}"), &strong, 1));
        }
        text
    }

    /// How the stream flows, and whether something buffers it; in one line
    /// where there is room.
    pub(super) fn timing(self, end: &ExchangeEnd) -> String {
        let words = end.timing.as_ref().and_then(timing_words);
        words.map_or_else(String::new, |words| self.faint(&self.paragraph(&words, "  ", "  ")))
    }
}

/// What `--lint` found of an exchange: the first few in words, all counted.
#[derive(Debug, Default)]
pub(super) struct Lints {
    told: Vec<(bool, String)>,
}

impl Lints {
    pub(super) fn push(&mut self, lint: &Lint) {
        if self.told.len() >= TOLD_LINTS {
            return;
        }
        self.told.push((lint.denied, lint_text(lint)));
    }

    /// For below an exchange's verdict.
    pub(super) fn tell(&self, prose: Prose, end: &ExchangeEnd) -> String {
        let mut text = String::new();
        for (place, (denied, words)) in self.told.iter().enumerate() {
            if place == 0 {
                text.push('\n');
            }
            let mark = if *denied { Mark::Bad } else { Mark::None };
            text.push_str(&prose.marked(mark, &format!("lint {words}")));
        }
        text.extend(self.more(end).map(|more| prose.paragraph(&more, "  ", "  ")));
        text
    }

    /// Those that are told: whether they fail the check, and the words.
    pub(super) fn told(&self) -> &[(bool, String)] {
        &self.told
    }

    /// How many aren't told.
    pub(super) fn more(&self, end: &ExchangeEnd) -> Option<String> {
        let more = end.lints.saturating_sub(self.told.len() as u64);
        (more > 0).then(|| format!("… and {}", counted(more, "more finding")))
    }
}

/// What `--lint` found of an exchange by code, for the reports for CI. Its size
/// is bounded.
#[derive(Debug, Default)]
pub(super) struct LintKinds {
    kinds: Vec<LintKind>,
}

/// The findings with one code.
#[derive(Debug)]
pub(super) struct LintKind {
    pub(super) code: Code,
    /// Whether they fail the check.
    pub(super) denied: bool,
    pub(super) count: u64,
    /// The first of them in words, with their places.
    pub(super) told: Vec<String>,
    /// The frame of the first.
    pub(super) frame: Option<FrameNo>,
}

impl LintKinds {
    /// Takes a finding; gives its number among all of the exchange that fail
    /// the check, or among those that don't.
    pub(super) fn push(&mut self, lint: &Lint) -> u64 {
        let place = self.kinds.iter().position(|kind| kind.code == lint.code).unwrap_or_else(|| {
            self.kinds.push(LintKind {
                code: lint.code,
                denied: lint.denied,
                count: 0,
                told: Vec::new(),
                frame: lint.frame,
            });
            self.kinds.len() - 1
        });
        if let Some(kind) = self.kinds.get_mut(place) {
            kind.count += 1;
            if kind.told.len() < TOLD_OF_A_CODE {
                kind.told.push(lint_text(lint));
            }
        }
        let alike = self.kinds.iter().filter(|kind| kind.denied == lint.denied);
        alike.map(|kind| kind.count).sum()
    }

    /// Those that fail the check.
    pub(super) fn denied(&self) -> impl Iterator<Item = &LintKind> {
        self.kinds.iter().filter(|kind| kind.denied)
    }

    /// Those that don't.
    pub(super) fn notes(&self) -> impl Iterator<Item = &LintKind> {
        self.kinds.iter().filter(|kind| !kind.denied)
    }
}

impl LintKind {
    /// How many of them aren't told: `4 more like these`.
    pub(super) fn more(&self) -> Option<String> {
        match self.count - self.told.len() as u64 {
            0 => None,
            1 => Some("one more like these".to_owned()),
            more => Some(format!("{} more like these", grouped(more))),
        }
    }

    /// What the code means, and what to do.
    pub(super) fn explained(&self) -> &'static codes::Code {
        lint_rule(self.code)
    }
}

/// `initial-state (chunks 1–3): the request asks … What to do.`: the evidence
/// and the advice of a hint.
pub(super) fn hint_text(hint: &Hint) -> String {
    format!("{} ({}): {}", hint.cause.name(), hint.places(), hint.words())
}

/// `first event after 0.007 s, longest gap 1.987 s; buffering: no sign (…)`;
/// nothing where nothing can be said.
pub(super) fn timing_words(timing: &Timing) -> Option<String> {
    let mut words = Vec::new();
    if let Some(first) = timing.time_to_first_event {
        words.push(format!("first event after {}", seconds(first, 3)));
    }
    if let Some((gap, _)) = timing.longest_gap {
        words.push(format!("longest gap {}", seconds(gap, 3)));
        return Some(format!("{}; {}", words.join(", "), timing.answer()));
    }
    words.pop()
}

/// `lint watch-added-twice (event 2, chunk 2, frame 7): …`
pub(super) fn lint_words(lint: &Lint) -> String {
    format!("lint {}", lint_text(lint))
}

/// `watch-added-twice (event 2, chunk 2, frame 7): …`
pub(super) fn lint_text(lint: &Lint) -> String {
    let mut places = Vec::new();
    places.extend(lint.event.map(|event| format!("event {}", grouped(event))));
    places.extend(lint.chunk.map(|chunk| format!("chunk {}", grouped(chunk))));
    places.extend(lint.frame.map(|frame| format!("frame\u{a0}{frame}")));
    let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
    format!("{}{places}: {}", lint.code.name(), printable(&lint.message))
}
