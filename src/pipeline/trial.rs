//! Whether a crew is faster than the calling thread alone: that is tried out.
//!
//! What goes from one core to the other costs what their caches make of it. On
//! some machines, and at some times on others (a virtual machine's cores don't
//! stay where they are), that is more than a second core brings. So the way
//! that isn't taken is tried for a while now and then, and the faster of the
//! two is taken on. What comes out is the same either way.
//!
//! What is compared is how long as much work took in the one manner and, at
//! once behind it, in the other. Neither count includes what it takes to turn
//! to a manner. And since a thread may be held up at any time by what else the
//! machine does, a manner must be found faster twice to be taken.

use std::mem;
use std::time::{Duration, Instant};

/// How often in a row a manner must be found faster.
const WINS: u32 = 2;

/// The manner taken is looked at again after so many times the work of a
/// trial, at most: trying then costs little even where the other is slow.
const LONGEST: usize = 32;

/// As [`LONGEST`], but to begin with: a small capture is soon over.
const FIRST: usize = 4;

/// Who does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// All threads.
    Together,
    /// The calling one.
    Alone,
}

impl Manner {
    const fn other(self) -> Self {
        match self {
            Self::Together => Self::Alone,
            Self::Alone => Self::Together,
        }
    }
}

/// What was done in one manner, and how long it took.
#[derive(Debug, Clone, Copy)]
struct Spell {
    work: usize,
    took: Duration,
}

impl Spell {
    /// Whether in the time that the other one takes, `times` as much is done and more.
    fn is_faster_than(self, other: Self, times: f64) -> bool {
        self.work as f64 * other.took.as_secs_f64() > times * other.work as f64 * self.took.as_secs_f64()
    }
}

/// Tells in which manner to work on.
#[derive(Debug)]
pub(super) struct Trial {
    /// The manner at the moment.
    manner: Manner,
    /// What was done in the manner taken, while the other one is tried.
    taken: Option<Spell>,
    /// How often in a row the other one was faster.
    wins: u32,
    /// Work that isn't counted, before that which is.
    lead: usize,
    /// Counted so far.
    work: usize,
    since: Instant,
    /// How much is counted of a manner.
    length: usize,
    /// How long the manner taken was last taken on, in such lengths.
    stay: usize,
}

impl Trial {
    /// Begins together. `length` is how much work is counted of each manner.
    pub(super) fn new(length: usize) -> Self {
        let (manner, taken, wins, work, since) = (Manner::Together, None, 0, 0, Instant::now());
        let lead = length.saturating_mul(FIRST).max(1);
        Self { manner, taken, wins, lead, work, since, length, stay: FIRST }
    }

    /// Counts work; true where it is time for a [`Self::turn`].
    pub(super) fn done(&mut self, work: usize) -> bool {
        self.work = self.work.saturating_add(work);
        if self.lead > 0 && self.work >= self.lead {
            (self.lead, self.work, self.since) = (0, 0, Instant::now());
        }
        self.lead == 0 && self.work >= self.length
    }

    /// All was finished before time passed with nothing to do: what was counted
    /// tells nothing. What comes next is worked on alone, until as much comes
    /// without a break as is counted: where octets come in small pieces, threads
    /// would wait for each other at every one.
    pub(super) fn interrupted(&mut self) {
        (self.manner, self.taken, self.wins) = (Manner::Alone, None, 0);
        (self.lead, self.work) = (self.lead_in(), 0);
    }

    /// Work until what was turned to is under way.
    fn lead_in(&self) -> usize {
        (self.length / 2).max(1)
    }

    /// As much was done as is counted: in which manner to go on.
    pub(super) fn turn(&mut self) -> Manner {
        self.turn_after(self.since.elapsed())
    }

    fn turn_after(&mut self, took: Duration) -> Manner {
        let spell = Spell { work: mem::take(&mut self.work), took };
        self.lead = self.lead_in();
        let Some(taken) = self.taken.take() else {
            self.taken = Some(spell);
            self.manner = self.manner.other();
            return self.manner;
        };
        if spell.is_faster_than(taken, 1.0) {
            self.wins += 1;
            if self.wins < WINS {
                // Once more, at once.
                self.manner = self.manner.other();
                return self.manner;
            }
            self.stay = 1;
        } else {
            self.manner = self.manner.other();
        }
        self.wins = 0;
        // The clearer it is, the later it is asked again.
        let longer = if spell.is_faster_than(taken, 0.8) && taken.is_faster_than(spell, 0.8) { 2 } else { 4 };
        self.stay = self.stay.saturating_mul(longer).min(LONGEST);
        self.lead = self.length.saturating_mul(self.stay);
        self.manner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 100;

    /// Works for so many spells on a machine that needs so long for a unit of
    /// work in a spell: the manner of each, and what was done in it.
    fn spells(count: usize, nanos: impl Fn(usize, Manner) -> u32) -> Vec<(Manner, usize)> {
        let mut trial = Trial::new(LENGTH);
        let mut spells = Vec::new();
        for number in 0..count {
            let (manner, mut all) = (trial.manner, 10);
            while !trial.done(10) {
                all += 10;
            }
            spells.push((manner, all));
            let took = Duration::from_nanos(1) * nanos(number, manner) * u32::try_from(trial.work).unwrap();
            trial.turn_after(took);
        }
        spells
    }

    #[test]
    fn the_faster_manner_is_taken_and_the_other_one_tried_now_and_then() {
        use Manner::{Alone, Together};
        let mut alone = vec![(Together, 500), (Alone, 150), (Together, 150), (Alone, 150)];
        for stay in [4, 16, 32, 32] {
            alone.extend([(Alone, (stay + 1) * 100), (Together, 150)]);
        }
        assert_eq!(spells(12, |_, manner| if manner == Alone { 2 } else { 3 }), alone);
        let mut together = vec![(Together, 500), (Alone, 150)];
        for stay in [8, 16, 32, 32] {
            together.extend([(Together, (stay + 1) * 100), (Alone, 150)]);
        }
        assert_eq!(spells(10, |_, manner| if manner == Alone { 9 } else { 8 }), together);
    }

    #[test]
    fn a_thread_that_was_held_up_once_changes_nothing() {
        let held_up = |number, manner| match (number, manner) {
            (2 | 6, _) => 1000,
            (_, Manner::Alone) => 2,
            (_, Manner::Together) => 1,
        };
        for (number, (manner, _)) in spells(40, held_up).into_iter().enumerate() {
            assert!(manner == Manner::Together || number % 2 == 1, "{number}");
        }
    }

    #[test]
    fn what_comes_in_pieces_is_worked_on_alone() {
        let mut trial = Trial::new(100);
        for _ in 0..20 {
            assert!(!trial.done(140));
            trial.interrupted();
            assert_eq!(trial.manner, Manner::Alone);
        }
        assert!(!trial.done(50));
        assert!(!trial.done(90));
        assert!(trial.done(10));
        assert_eq!(trial.turn(), Manner::Together);
    }
}
