//! Streams that stall: a chunk or an event has begun, and nothing more comes.
//!
//! Only who follows a recording as it is made can tell, by a clock: the
//! packets that don't come have no times. The clock is the caller's; here, a
//! moment is the time since any fixed one.

use std::collections::HashMap;
use std::time::Duration;

use crate::report::phrases::place;
use crate::report::text::counted;
use crate::report::{ExchangeId, UnderWay};

/// What is under way, and since when nothing came.
#[derive(Debug, Clone, Copy)]
struct Watched {
    under_way: UnderWay,
    since: Duration,
    told: bool,
}

/// Watches streams for stalls. Its size is bounded by the open exchanges'.
#[derive(Debug)]
pub struct Stalls {
    /// How long nothing comes in a stall.
    after: Duration,
    open: HashMap<ExchangeId, Watched>,
    /// When the next stall can be, at the earliest.
    next: Duration,
}

impl Stalls {
    /// A stall is that nothing came for so long.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self { after, open: HashMap::new(), next: Duration::MAX }
    }

    /// Something came of an exchange, which leaves this under way. Says so if
    /// it was told that it had stalled.
    pub fn under_way(&mut self, under_way: &UnderWay, now: Duration) -> Option<String> {
        let id = under_way.exchange;
        let before = self.open.get(&id).copied();
        if before.is_some_and(|before| before.under_way == *under_way) {
            return None; // what came was the request's
        }
        if under_way.chunk.is_none() && under_way.event.is_none() {
            self.open.remove(&id);
        } else {
            self.open.insert(id, Watched { under_way: *under_way, since: now, told: false });
            self.next = self.next.min(now.saturating_add(self.after));
        }
        let told = before.filter(|before| before.told)?;
        Some(format!("{}: goes on after {}", place(id), pause(now.saturating_sub(told.since))))
    }

    /// Nothing more comes of an exchange.
    pub fn end(&mut self, id: ExchangeId) {
        self.open.remove(&id);
    }

    /// Time has passed: what has stalled since the last moment, by stream.
    pub fn moment(&mut self, now: Duration) -> Vec<String> {
        if now < self.next {
            return Vec::new();
        }
        self.next = Duration::MAX;
        let mut stalled = Vec::new();
        for (id, watched) in &mut self.open {
            if watched.told {
                continue;
            }
            let due = watched.since.saturating_add(self.after);
            if due <= now {
                watched.told = true;
                stalled.push((*id, stalled_text(&watched.under_way, now.saturating_sub(watched.since))));
            } else {
                self.next = self.next.min(due);
            }
        }
        stalled.sort_by_key(|(id, _)| *id);
        stalled.into_iter().map(|(_, text)| text).collect()
    }
}

fn stalled_text(under_way: &UnderWay, quiet: Duration) -> String {
    let (stream, quiet) = (place(under_way.exchange), pause(quiet));
    let chunk = under_way.chunk.map(|chunk| {
        let came = if chunk.received == chunk.size {
            "all octets, but not the CRLF that ends it".to_owned()
        } else {
            format!("{} of {}", chunk.received, counted(chunk.size, "octet"))
        };
        (chunk.index, came)
    });
    match (under_way.event, chunk) {
        (Some(event), chunk) => {
            let octets = counted(event.received, "octet");
            let rest = match chunk {
                Some((index, came)) if index == event.first_chunk => format!("chunk {index} has {came}"),
                Some((index, came)) => {
                    format!("it began in chunk {}, and chunk {index} has {came}", event.first_chunk)
                }
                None => format!(
                    "it began in chunk {}, and the chunk that it goes on in hasn't come",
                    event.first_chunk
                ),
            };
            format!("{stream}: stalled in mid-event: nothing for {quiet} behind {octets} of it; {rest}")
        }
        (None, Some((index, came))) => {
            format!("{stream}: stalled in chunk {index}: nothing for {quiet}; it has {came}")
        }
        (None, None) => format!("{stream}: nothing for {quiet}"),
    }
}

/// `5.0 s`.
fn pause(time: Duration) -> String {
    format!("{}.{} s", time.as_secs(), time.subsec_millis() / 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{ChunkUnderWay, EventUnderWay};
    use crate::units::StreamId;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn under_way(stream: u64, chunk: Option<(u64, u64, u64)>, event: Option<(u64, u64)>) -> UnderWay {
        UnderWay {
            exchange: ExchangeId { stream: Some(StreamId(stream)), index: 0 },
            chunk: chunk.map(|(index, received, size)| ChunkUnderWay { index, received, size }),
            event: event.map(|(first_chunk, received)| EventUnderWay { first_chunk, received }),
        }
    }

    #[test]
    fn a_stall_is_told_once_and_so_is_its_end() {
        let mut stalls = Stalls::new(at(5000));
        assert_eq!(stalls.under_way(&under_way(0, Some((3, 2000, 4096)), Some((3, 2000))), at(1000)), None);
        assert!(stalls.moment(at(5900)).is_empty());
        assert_eq!(
            stalls.moment(at(6100)),
            ["stream 0: stalled in mid-event: nothing for 5.1 s behind 2,000 octets of it; \
              chunk 3 has 2000 of 4,096 octets"]
        );
        assert!(stalls.moment(at(60_000)).is_empty());
        assert_eq!(
            stalls.under_way(&under_way(0, None, None), at(61_000)).as_deref(),
            Some("stream 0: goes on after 60.0 s")
        );
        assert!(stalls.moment(at(99_000)).is_empty());
    }

    #[test]
    fn octets_that_come_slowly_are_no_stall() {
        let mut stalls = Stalls::new(at(5000));
        for second in 0..60 {
            let slow = under_way(0, Some((1, second, 100)), Some((1, second)));
            assert_eq!(stalls.under_way(&slow, at(second * 1000)), None);
            assert!(stalls.moment(at(second * 1000 + 900)).is_empty());
        }
    }

    #[test]
    fn what_the_client_sends_meanwhile_is_no_sign_of_life() {
        let mut stalls = Stalls::new(at(5000));
        let half = under_way(0, None, Some((1, 50)));
        stalls.under_way(&half, at(0));
        stalls.under_way(&half, at(4000));
        let told = stalls.moment(at(5000));
        assert_eq!(told.len(), 1);
        assert!(told[0].ends_with("it began in chunk 1, and the chunk that it goes on in hasn't come"));
    }

    #[test]
    fn streams_are_told_in_their_order_and_ended_ones_not_at_all() {
        let mut stalls = Stalls::new(at(5000));
        for stream in [7, 2, 9, 4] {
            stalls.under_way(&under_way(stream, Some((1, 5, 5)), None), at(0));
        }
        stalls.end(ExchangeId { stream: Some(StreamId(9)), index: 0 });
        let told = stalls.moment(at(5000));
        let first = "stream 2: stalled in chunk 1: nothing for 5.0 s; it has all octets, but not the CRLF that ends it";
        assert_eq!(told[0], first);
        assert_eq!(told.len(), 3);
    }
}
