//! Datagrams that came in fragments (RFC 791 §3.2, RFC 8200 §4.5), until they
//! are whole.
//!
//! Fragments may come in any order, twice, and overlap; of octets that came
//! twice, those received first count. A datagram is whole when each of its
//! octets was on the wire, captured or not: one with a fragment that the snap
//! length cut is passed on up to there, the rest counted.

use std::collections::{BTreeMap, HashMap};

use super::ip::{Addresses, Envelope};
use super::octets::{Octets, Stop};
use crate::units::Stamp;

/// What tells the datagrams of all hosts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    hosts: Hosts,
    identification: u32,
    /// RFC 791 §3.2 has it in the key; RFC 8200 §4.5 hasn't: `None` there.
    protocol: Option<u8>,
}

/// [`Addresses`], kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Hosts {
    V4([u8; 4], [u8; 4]),
    V6([u8; 16], [u8; 16]),
}

impl Key {
    const fn of(envelope: &Envelope<'_>) -> Self {
        let (hosts, protocol) = match envelope.addresses {
            Addresses::V4(from, to) => (Hosts::V4(*from, *to), Some(envelope.protocol)),
            Addresses::V6(from, to) => (Hosts::V6(*from, *to), None),
        };
        Self { hosts, identification: envelope.identification, protocol }
    }
}

/// A fragment of a datagram.
#[derive(Debug, Clone, Copy)]
struct Fragment<'a> {
    key: Key,
    /// What the datagram carries, as this fragment says.
    protocol: u8,
    /// Where its octets belong.
    at: usize,
    /// Whether others follow.
    more: bool,
    octets: Octets<'a>,
}

impl<'a> Fragment<'a> {
    /// A fragment, unless its length is impossible.
    fn new(envelope: &Envelope<'_>, mut octets: Octets<'a>) -> Result<Self, Stop> {
        // Fragments but the last are multiples of 8 octets; as Linux does,
        // more than that is ignored.
        if envelope.more {
            octets.set_length(octets.wire() & !7);
        }
        let at = usize::from(envelope.at);
        if octets.wire() == 0 || at + octets.wire() > Fragments::MAX_DATAGRAM {
            return Err(Stop::Malformed);
        }
        let (key, protocol) = (Key::of(envelope), envelope.protocol);
        Ok(Self { key, protocol, at, more: envelope.more, octets })
    }
}

/// A datagram put together from its fragments.
#[derive(Debug)]
pub(super) struct Datagram {
    key: Key,
    /// What it carries, as its first fragment says.
    protocol: u8,
    /// The octets up to the first that was not captured.
    data: Vec<u8>,
    /// How many it had on the wire.
    wire: usize,
}

impl Datagram {
    /// Its octets.
    pub(super) fn octets(&self) -> Octets<'_> {
        Octets::new(&self.data, self.wire)
    }

    /// What IP said of it.
    pub(super) const fn envelope(&self) -> Envelope<'_> {
        let addresses = match &self.key.hosts {
            Hosts::V4(from, to) => Addresses::V4(from, to),
            Hosts::V6(from, to) => Addresses::V6(from, to),
        };
        Envelope::new(self.protocol, addresses)
    }

    /// Whether this may be one of its fragments once more.
    fn holds(&self, fragment: &Fragment<'_>) -> bool {
        let data = fragment.octets.data();
        let end = fragment.at.saturating_add(data.len());
        self.key == fragment.key && self.data.get(fragment.at..end) == Some(data)
    }
}

/// A datagram with octets missing.
#[derive(Debug)]
struct Partial {
    /// What it carries, as its first fragment says, once that came.
    protocol: u8,
    /// Its place in the order of age.
    age: u64,
    /// Its first fragment's packet.
    since: Stamp,
    /// Ranges of octets that don't overlap, by where they begin; none reaches
    /// beyond `total`.
    ranges: BTreeMap<usize, Range>,
    /// The sum of the ranges' lengths.
    covered: usize,
    /// Its length, once its last fragment came.
    total: Option<usize>,
    /// What it counts for the limit.
    cost: usize,
    /// Whether all of it may be an echo: see [`Fragments::insert`].
    echo: bool,
}

#[derive(Debug)]
struct Range {
    /// The captured octets, which are its first.
    data: Vec<u8>,
    /// How many there were on the wire.
    wire: usize,
}

/// The datagrams that are not whole yet.
#[derive(Debug)]
pub(super) struct Fragments {
    /// What all of them may cost.
    limit: usize,
    /// What they cost: the sum of [`Partial::cost`].
    cost: usize,
    partials: HashMap<Key, Partial, foldhash::fast::RandomState>,
    /// Their keys, the oldest first.
    by_age: BTreeMap<u64, Key>,
    /// The next one's age.
    next_age: u64,
    /// How many were let go to keep to the limit.
    dropped: u64,
    /// How many were given up because their time was over.
    expired: u64,
    /// The first fragment of those.
    first_lost: Option<Stamp>,
}

impl Fragments {
    /// What keeping a datagram or a range of it takes beside its octets, about.
    const OVERHEAD: usize = 128;
    /// The most that a datagram can be long: the field is 16 bits.
    const MAX_DATAGRAM: usize = 65_535;
    /// RFC 8200 §4.5, RFC 1122 §3.3.2: what isn't whole by then is discarded;
    /// its identification may name another datagram.
    const TIMEOUT_SECONDS: i128 = 60;

    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            cost: 0,
            partials: HashMap::default(),
            by_age: BTreeMap::new(),
            next_age: 0,
            dropped: 0,
            expired: 0,
            first_lost: None,
        }
    }

    /// What they cost now.
    #[cfg(test)]
    pub(super) const fn cost(&self) -> usize {
        self.cost
    }

    /// How many datagrams were let go to bound memory.
    pub(super) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many datagrams never became whole, those that still may included.
    pub(super) fn incomplete(&self) -> u64 {
        let waiting = self.partials.values().filter(|partial| !partial.echo).count();
        self.dropped + self.expired + u64::try_from(waiting).unwrap_or(u64::MAX)
    }

    /// The first packet with a fragment of those.
    pub(super) fn first_incomplete(&self) -> Option<Stamp> {
        let waiting = self.partials.values().filter(|partial| !partial.echo).map(|partial| partial.since);
        waiting.chain(self.first_lost).min_by_key(|stamp| stamp.frame)
    }

    /// Counts a datagram that is given up.
    fn lose(first_lost: &mut Option<Stamp>, partial: &Partial) -> u64 {
        if partial.echo {
            return 0;
        }
        if first_lost.is_none_or(|first| partial.since.frame < first.frame) {
            *first_lost = Some(partial.since);
        }
        1
    }

    /// Takes a fragment; gives the datagram that it makes whole.
    ///
    /// `last` is the datagram that became whole last. Where a capture holds
    /// what several interfaces saw, copies of its fragments may follow: an
    /// echo, which waits for nothing, and must not be mixed with the next
    /// datagram of the same identification.
    pub(super) fn insert(
        &mut self,
        envelope: &Envelope<'_>,
        octets: Octets<'_>,
        last: Option<&Datagram>,
        stamp: Stamp,
    ) -> Result<Option<Datagram>, Stop> {
        let fragment = Fragment::new(envelope, octets)?;
        let echo = last.is_some_and(|datagram| datagram.holds(&fragment));
        self.expire(&fragment.key, echo, stamp);
        let partial = self.partials.entry(fragment.key).or_insert_with(|| {
            let age = self.next_age;
            self.next_age += 1;
            self.by_age.insert(age, fragment.key);
            self.cost += Self::OVERHEAD;
            Partial::new(fragment.protocol, age, stamp, echo)
        });
        let before = partial.cost;
        partial.insert(&fragment);
        self.cost += partial.cost - before;
        if partial.total == Some(partial.covered) {
            return Ok(self.remove(&fragment.key).map(|partial| partial.assemble(fragment.key)));
        }
        while self.cost > self.limit
            && let Some((_, key)) = self.by_age.first_key_value()
        {
            let key = *key;
            if let Some(partial) = self.remove(&key) {
                self.dropped += Self::lose(&mut self.first_lost, &partial);
            }
        }
        Ok(None)
    }

    /// Gives up what can't be the same datagram: an echo of another, or one
    /// that is too old.
    fn expire(&mut self, key: &Key, echo: bool, stamp: Stamp) {
        let Some(partial) = self.partials.get(key) else {
            return;
        };
        let expired = match (partial.since.at, stamp.at) {
            (Some(since), Some(now)) => now.nanos_since(since) > Self::TIMEOUT_SECONDS * 1_000_000_000,
            _ => false,
        };
        if partial.echo && !echo {
            self.remove(key);
        } else if expired {
            self.expired += Self::lose(&mut self.first_lost, partial);
            self.remove(key);
        }
    }

    fn remove(&mut self, key: &Key) -> Option<Partial> {
        let partial = self.partials.remove(key)?;
        self.by_age.remove(&partial.age);
        self.cost -= partial.cost;
        Some(partial)
    }
}

impl Partial {
    fn new(protocol: u8, age: u64, since: Stamp, echo: bool) -> Self {
        let (ranges, cost) = (BTreeMap::new(), Fragments::OVERHEAD);
        Self { protocol, age, since, ranges, covered: 0, total: None, cost, echo }
    }

    /// Keeps what of a fragment's octets is new.
    fn insert(&mut self, fragment: &Fragment<'_>) {
        let (start, octets) = (fragment.at, fragment.octets);
        let mut end = start + octets.wire();
        if let Some(total) = self.total {
            end = end.min(total);
        } else if !fragment.more {
            self.total = Some(end);
            self.trim(end);
        }
        if start == 0 && !self.ranges.contains_key(&0) {
            self.protocol = fragment.protocol;
        }
        let mut at = start;
        while at < end {
            if let Some((begin, range)) = self.ranges.range(..=at).next_back()
                && begin + range.wire > at
            {
                at = begin + range.wire;
                continue;
            }
            let stop = self.ranges.range(at..end).next().map_or(end, |(&begin, _)| begin);
            let captured = octets.data().get(at - start..).unwrap_or_default();
            let data = captured.get(..stop - at).unwrap_or(captured).to_vec();
            self.cost += data.len() + Fragments::OVERHEAD;
            self.covered += stop - at;
            self.ranges.insert(at, Range { data, wire: stop - at });
            at = stop;
        }
    }

    /// Takes away what came beyond the end. Its cost stays counted.
    fn trim(&mut self, total: usize) {
        let beyond = self.ranges.split_off(&total);
        self.covered -= beyond.values().map(|range| range.wire).sum::<usize>();
        if let Some((begin, range)) = self.ranges.iter_mut().next_back() {
            let wire = range.wire.min(total - begin);
            self.covered -= range.wire - wire;
            range.wire = wire;
            range.data.truncate(wire);
        }
    }

    /// Puts together what was captured in one piece from the beginning on.
    fn assemble(self, key: Key) -> Datagram {
        let mut data = Vec::with_capacity(self.covered);
        for range in self.ranges.values() {
            data.extend_from_slice(&range.data);
            if range.data.len() < range.wire {
                break;
            }
        }
        Datagram { key, protocol: self.protocol, data, wire: self.covered }
    }
}
