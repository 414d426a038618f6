//! Whether a crew is faster than the calling thread alone: that is tried out.
//!
//! What goes from one core to the other costs what their caches make of it. On
//! some machines, and at some times on others (a virtual machine's cores don't
//! stay where they are), that is more than a second core brings. So the way
//! that isn't taken is tried for a while now and then, and the faster of the
//! two is taken on. What comes out is the same either way.

use std::mem;
use std::time::{Duration, Instant};

/// A way is taken for so many times as long as the other one is tried, so that
/// trying costs little even where the other one is much slower.
const TAKEN: usize = 32;

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
    /// Whether more was done in the time.
    const fn is_faster_than(self, other: Self) -> bool {
        // Fits: spells are seconds and megabytes.
        self.took.as_nanos() * (other.work as u128) < other.took.as_nanos() * (self.work as u128)
    }
}

/// Tells in which manner to work on.
#[derive(Debug)]
pub(super) struct Trial {
    manner: Manner,
    /// What was done in the manner taken, while the other one is tried.
    taken: Option<Spell>,
    /// Done in this spell, which is over with `most`.
    work: usize,
    most: usize,
    since: Instant,
    /// How much is done while a manner is tried.
    length: usize,
    /// The next spell of the manner taken.
    next: usize,
}

impl Trial {
    /// Begins together. `length` is how much work a trial takes.
    pub(super) fn new(length: usize) -> Self {
        let (manner, taken, work, since) = (Manner::Together, None, 0, Instant::now());
        Self { manner, taken, work, most: length, since, length, next: length.saturating_mul(2) }
    }

    /// Counts work; true where it is time for a [`Self::turn`], with all of it done.
    pub(super) const fn done(&mut self, work: usize) -> bool {
        self.work = self.work.saturating_add(work);
        self.work >= self.most
    }

    /// Time passed with nothing to do: this spell tells nothing.
    pub(super) fn interrupted(&mut self) {
        (self.work, self.since) = (0, Instant::now());
    }

    /// The spell is over: in which manner to go on.
    pub(super) fn turn(&mut self) -> Manner {
        self.turn_after(self.since.elapsed())
    }

    fn turn_after(&mut self, took: Duration) -> Manner {
        let spell = Spell { work: mem::take(&mut self.work), took };
        match self.taken.take() {
            None => {
                self.taken = Some(spell);
                self.manner = self.manner.other();
                self.most = self.length;
            }
            Some(taken) => {
                if !spell.is_faster_than(taken) {
                    self.manner = self.manner.other();
                }
                self.most = self.next;
                self.next = self.next.saturating_mul(2).min(self.length.saturating_mul(TAKEN));
            }
        }
        self.since = Instant::now();
        self.manner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works for so many spells on a machine that needs so long for a unit of
    /// work: what was done in each, and in which manner.
    fn spells(count: usize, nanos: impl Fn(Manner) -> u32) -> Vec<(Manner, usize)> {
        let mut trial = Trial::new(100);
        let mut spells = Vec::new();
        for _ in 0..count {
            while !trial.done(10) {}
            let manner = trial.manner;
            spells.push((manner, trial.work));
            let took = Duration::from_nanos(1) * nanos(manner) * u32::try_from(trial.work).unwrap();
            trial.turn_after(took);
        }
        spells
    }

    #[test]
    fn the_faster_manner_is_taken_and_the_other_one_tried_now_and_then() {
        use Manner::{Alone, Together};
        let alone = spells(8, |manner| if manner == Alone { 2 } else { 3 });
        assert_eq!(
            alone,
            [
                (Together, 100),
                (Alone, 100),
                (Alone, 200),
                (Together, 100),
                (Alone, 400),
                (Together, 100),
                (Alone, 800),
                (Together, 100)
            ]
        );
        let together = spells(40, |manner| if manner == Alone { 2 } else { 1 });
        assert_eq!(together[..3], [(Together, 100), (Alone, 100), (Together, 200)]);
        assert_eq!(together[38..], [(Together, 3200), (Alone, 100)]);
    }

    #[test]
    fn a_spell_with_a_break_in_it_is_begun_again() {
        let mut trial = Trial::new(100);
        assert!(!trial.done(90));
        trial.interrupted();
        assert!(!trial.done(90));
        assert!(trial.done(10));
    }
}
