//! Hints and times in words, for the reports for people.

use std::fmt::Write as _;

use crate::hints::pace::Timing;
use crate::report::ExchangeEnd;
use crate::report::prose::Prose;
use crate::report::text::{Tone, grouped, range, ranges, seconds};

/// Runs of chunks that are named of a hint.
const NAMED_RANGES: usize = 8;

impl Prose {
    /// What made chunk edges differ from event edges, as far as it shows.
    pub(super) fn hints(self, end: &ExchangeEnd) -> String {
        let mut text = String::new();
        for hint in &end.hints {
            let runs = ranges(hint.chunks.iter().copied());
            let mut chunks: Vec<_> =
                runs.iter().take(NAMED_RANGES).map(|&(first, last)| range(first, last)).collect();
            if runs.len() > NAMED_RANGES || hint.count > hint.chunks.len() as u64 {
                chunks.push("…".to_owned());
            }
            let noun = if hint.count == 1 { "chunk" } else { "chunks" };
            let code = hint.cause.name();
            let words = format!("why {code} ({noun} {}): {}", chunks.join(", "), hint.words());
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

/// `first event after 0.007 s, longest gap 1.987 s before chunk 2; buffering: no
/// sign (…)`; nothing where nothing can be said.
fn timing_words(timing: &Timing) -> Option<String> {
    let mut words = Vec::new();
    if let Some(first) = timing.time_to_first_event {
        words.push(format!("first event after {}", seconds(first, 3)));
    }
    if let Some((gap, chunk)) = timing.longest_gap {
        words.push(format!("longest gap {} before chunk {}", seconds(gap, 3), grouped(chunk)));
        return Some(format!("{}; {}", words.join(", "), timing.answer()));
    }
    words.pop()
}
