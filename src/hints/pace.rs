//! The pace of a stream: when its first event came, how long it was silent,
//! and whether events that were made apart arrive together.
//!
//! A pause is half a second without an octet. What comes within 20 ms behind a
//! pause came at once. A stream that nothing holds back ends its pauses with
//! single events; something that collects events ends them with several. The
//! reverse isn't certain, since a server may well make several events at once.
//! Certain is only what the objects say themselves: where two were created
//! seconds apart and their ADDED events arrive at once, the first was held.
//! Both times are the API server's, so no clock needs to be right but by its
//! own; their resolution is a second.

use std::borrow::Cow;

use crate::units::Timestamp;

/// A pause: shorter ones are common within what is sent at once.
pub const PAUSE_NANOS: i128 = 500_000_000;

/// What comes within so long behind a pause came at once.
pub const AT_ONCE_NANOS: i128 = 20_000_000;

/// Seconds between two creations from which on it is said that the first was
/// held: both are cut to whole seconds.
const HELD_SECONDS: i64 = 3;

/// Events at once that are a batch: two are often made together.
const BATCH: u64 = 3;

/// Batches from which on a collector is suspected.
const SUSPICIOUS_BATCHES: u64 = 3;

/// Pauses from which on the answer may be no.
const TELLING_PAUSES: u64 = 2;

/// Whether something holds events back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Buffered {
    /// Events arrived together that were made apart by their own times.
    Yes,
    /// Every pause ended with several events at once.
    Suspected,
    /// No sign of it: every pause ended with a single event.
    No,
    /// The capture doesn't tell.
    Unknown,
}

impl Buffered {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Suspected => "suspected",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

/// A stream in time. All durations are nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// From the request's first octet to the octet that made the first event
    /// whole; `None` where either wasn't captured.
    pub time_to_first_event: Option<i128>,
    /// The longest time between two chunks, and the chunk that ended it.
    pub longest_gap: Option<(i128, u64)>,
    /// Pauses that ended with events.
    pub pauses: u64,
    /// Pauses that ended with one event.
    pub singles: u64,
    /// Pauses that ended with three events or more at once.
    pub bursts: u64,
    /// Whether something holds events back.
    pub buffered: Buffered,
    /// Seconds that an event was held at least, and the chunk that shows it.
    pub held: Option<(i64, u64)>,
}

impl Timing {
    /// The answer to "is something buffering my stream?", in one clause.
    #[must_use]
    pub fn answer(&self) -> Cow<'static, str> {
        match (self.buffered, self.held) {
            (Buffered::Yes, Some((seconds, chunk))) => format!(
                "buffering: yes (at chunk {chunk} an event had been held for {seconds} s or more, by the objects' \
                 creation times)"
            )
            .into(),
            (Buffered::Suspected, _) => format!(
                "buffering: suspected ({} pauses, each with {BATCH} events or more at once)",
                self.pauses
            )
            .into(),
            (Buffered::No, _) => format!("buffering: no sign ({} pauses, single events)", self.pauses).into(),
            (Buffered::Yes | Buffered::Unknown, _) if self.pauses == 0 => {
                "buffering: no pause to tell by".into()
            }
            (Buffered::Yes | Buffered::Unknown, _) => "buffering: the times don't tell".into(),
        }
    }
}

/// Events that end in one chunk, as far as their times matter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ended {
    /// How many.
    pub(super) events: u64,
    /// The first and the last creation of objects that were just created, in
    /// seconds since 1970.
    pub(super) created: Option<(i64, i64)>,
}

/// Counts a stream's pauses. Its size is fixed.
#[derive(Debug, Default)]
pub(super) struct Pace {
    request: Option<Timestamp>,
    /// The latest arrival so far.
    last: Option<Timestamp>,
    first_event: Option<i128>,
    any_event: bool,
    longest: Option<(i128, u64)>,
    /// What came at once, behind the last pause.
    group: Option<Group>,
    pauses: u64,
    singles: u64,
    bursts: u64,
    held: Option<(i64, u64)>,
}

#[derive(Debug)]
struct Group {
    start: Timestamp,
    events: u64,
    created: Option<(i64, i64)>,
}

impl Pace {
    pub(super) fn new(request: Option<Timestamp>) -> Self {
        Self { request, ..Self::default() }
    }

    /// Whether a pause comes before this time.
    pub(super) fn pauses_before(&self, first: Timestamp) -> bool {
        self.last.is_some_and(|last| first.nanos_since(last) >= PAUSE_NANOS)
    }

    /// A chunk came, between these times.
    #[inline]
    pub(super) fn chunk(&mut self, index: u64, first: Timestamp, last: Timestamp, ended: Ended) {
        // Mostly the packet has brought the one before too.
        if first != last || self.last != Some(first) {
            self.go_on(index, first, last);
        }
        if let Some(group) = &mut self.group {
            group.events += ended.events;
            group.created = match (group.created, ended.created) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                (one, other) => one.or(other),
            };
            if let Some((earliest, latest)) = group.created {
                let apart = latest.saturating_sub(earliest);
                if apart >= HELD_SECONDS && self.held.is_none_or(|(held, _)| apart - 1 > held) {
                    self.held = Some((apart - 1, index));
                }
            }
        }
        if ended.events > 0 && !self.any_event {
            self.any_event = true;
            self.first_event = self.request.map(|request| last.nanos_since(request));
        }
    }

    /// Time passes until the next chunk, which came between these times.
    fn go_on(&mut self, index: u64, first: Timestamp, last: Timestamp) {
        if let Some(before) = self.last {
            let gap = first.nanos_since(before);
            if gap > self.longest.map_or(0, |(longest, _)| longest) {
                self.longest = Some((gap, index));
            }
            if gap >= PAUSE_NANOS {
                self.close();
                self.group = Some(Group { start: first, events: 0, created: None });
            }
        }
        let at_once = |group: &Group| last.nanos_since(group.start) <= AT_ONCE_NANOS;
        if self.group.as_ref().is_some_and(|group| !at_once(group)) {
            self.close();
        }
        if self.last.is_none_or(|before| last.nanos_since(before) > 0) {
            self.last = Some(last);
        }
    }

    fn close(&mut self) {
        let Some(group) = self.group.take() else { return };
        self.pauses += u64::from(group.events > 0);
        self.singles += u64::from(group.events == 1);
        self.bursts += u64::from(group.events >= BATCH);
    }

    /// The stream is over: what its times say, if it has any.
    pub(super) fn finish(mut self) -> Option<Timing> {
        self.last?;
        self.close();
        let buffered = if self.held.is_some() {
            Buffered::Yes
        } else if self.bursts >= SUSPICIOUS_BATCHES && self.bursts == self.pauses {
            Buffered::Suspected
        } else if self.pauses >= TELLING_PAUSES && self.singles == self.pauses {
            Buffered::No
        } else {
            Buffered::Unknown
        };
        Some(Timing {
            time_to_first_event: self.first_event,
            longest_gap: self.longest,
            pauses: self.pauses,
            singles: self.singles,
            bursts: self.bursts,
            buffered,
            held: self.held,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::new(1_000, millis, 3)
    }

    /// A chunk: when it came (milliseconds), the events that ended in it, and
    /// when the first and the last of their objects were created (seconds).
    type Arrival = (u64, u64, Option<(i64, i64)>);

    fn paced(chunks: &[Arrival]) -> Timing {
        let mut pace = Pace::new(Some(at(0)));
        for (index, &(millis, events, created)) in (1..).zip(chunks) {
            pace.chunk(index, at(millis), at(millis), Ended { events, created });
        }
        pace.finish().unwrap()
    }

    #[test]
    fn single_events_behind_pauses_are_no_sign_of_buffering() {
        let timing = paced(&[(7, 1, None), (1000, 1, None), (2000, 1, None)]);
        assert_eq!(timing.buffered, Buffered::No);
        assert_eq!(timing.time_to_first_event, Some(7_000_000));
        assert_eq!(timing.longest_gap, Some((1_000_000_000, 3)));
        assert_eq!((timing.pauses, timing.singles, timing.bursts), (2, 2, 0));
        assert!(timing.answer().contains("no sign (2 pauses, single events)"), "{}", timing.answer());
    }

    #[test]
    fn what_comes_in_batches_is_suspected_and_one_single_clears_it() {
        let batches = [(0, 1, None), (1000, 2, None), (1010, 1, None), (2000, 5, None), (3000, 3, None)];
        assert_eq!(paced(&batches).buffered, Buffered::Suspected);
        let mut cleared = batches.to_vec();
        cleared.push((4000, 1, None));
        assert_eq!(paced(&cleared).buffered, Buffered::Unknown);
        assert_eq!(paced(&batches[..4]).buffered, Buffered::Unknown, "two batches are no habit");
    }

    #[test]
    fn a_stream_without_pauses_tells_nothing() {
        let timing = paced(&[(0, 4, None), (100, 4, None), (499, 1, None)]);
        assert_eq!((timing.buffered, timing.pauses), (Buffered::Unknown, 0));
    }

    #[test]
    fn objects_made_apart_that_arrive_at_once_were_held() {
        let timing = paced(&[(0, 1, None), (9000, 1, Some((50, 50))), (9004, 2, Some((52, 57)))]);
        assert_eq!((timing.buffered, timing.held), (Buffered::Yes, Some((6, 3))));
        assert!(timing.answer().contains("held for 6 s or more"), "{}", timing.answer());
        let within_resolution = paced(&[(0, 1, None), (9000, 2, Some((50, 52)))]);
        assert_eq!(within_resolution.buffered, Buffered::Unknown);
        let apart = paced(&[(0, 1, None), (9000, 1, Some((50, 50))), (9030, 1, Some((59, 59)))]);
        assert_eq!(apart.held, None, "they didn't come at once");
        let first = paced(&[(0, 5, Some((1, 900))), (9000, 1, Some((1000, 1000)))]);
        assert_eq!(first.held, None, "what comes before the first pause may be old");
    }

    #[test]
    fn a_pause_that_ends_with_no_event_counts_for_nothing() {
        let timing = paced(&[(0, 1, None), (1000, 0, None), (2000, 1, None)]);
        assert_eq!((timing.pauses, timing.singles), (1, 1));
    }

    #[test]
    fn chunks_out_of_order_in_time_make_no_negative_gaps() {
        let mut pace = Pace::new(None);
        pace.chunk(1, at(5), at(2000), Ended { events: 1, created: None });
        pace.chunk(2, at(1000), at(1001), Ended { events: 1, created: None });
        let timing = pace.finish().unwrap();
        assert_eq!((timing.longest_gap, timing.time_to_first_event), (None, None));
    }
}
