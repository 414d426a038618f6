//! Hints and times in words, for the reports for people.

use std::fmt::Write as _;

use crate::hints::pace::Timing;
use crate::lint::Lint;
use crate::report::ExchangeEnd;
use crate::report::prose::{Mark, Prose};
use crate::report::text::{Tone, counted, grouped, printable, seconds};

/// Findings of `--lint` that are told of an exchange.
const TOLD_LINTS: usize = 50;

impl Prose {
    /// What made chunk edges differ from event edges, as far as it shows.
    pub(super) fn hints(self, end: &ExchangeEnd) -> String {
        let mut text = String::new();
        for hint in &end.hints {
            let code = hint.cause.name();
            let words = format!("why {code} ({}): {}", hint.places(), hint.words());
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
        self.told.push((lint.denied, lint_words(lint)));
    }

    /// For below an exchange's verdict.
    pub(super) fn tell(&self, prose: Prose, end: &ExchangeEnd) -> String {
        let mut text = String::new();
        for (place, (denied, words)) in self.told.iter().enumerate() {
            if place == 0 {
                text.push('\n');
            }
            text.push_str(&prose.marked(if *denied { Mark::Bad } else { Mark::None }, words));
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
    let mut places = Vec::new();
    places.extend(lint.event.map(|event| format!("event {}", grouped(event))));
    places.extend(lint.chunk.map(|chunk| format!("chunk {}", grouped(chunk))));
    places.extend(lint.frame.map(|frame| format!("frame\u{a0}{frame}")));
    let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
    format!("lint {}{places}: {}", lint.code.name(), printable(&lint.message))
}
