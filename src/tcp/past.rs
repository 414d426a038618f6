//! Connections that are over: of each what the numbers of those to come need.

use std::hash::{BuildHasher as _, Hash};
use std::mem;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::key::{End, Key, KeyV4, KeyV6};
use super::seq;
use crate::packet::Segment;

/// The initial sequence numbers of a connection: by them, and by nothing else,
/// Wireshark tells whether a SYN opens a new one. Laid out to be small.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Initials {
    /// Of the lower endpoint and the higher, meaningless until known.
    numbers: [u32; 2],
    known: [bool; 2],
}

impl Initials {
    /// Whether a segment opens a new connection: a SYN with another number
    /// than its sender had.
    #[inline]
    pub const fn are_left_by(&self, segment: &Segment<'_>, sender: End) -> bool {
        let ([low, high], [low_known, high_known]) = (self.numbers, self.known);
        let (own, known) = match sender {
            End::Low => (low, low_known),
            End::High => (high, high_known),
        };
        segment.flags.syn && segment.ack.is_none() && known && own != segment.seq
    }

    /// Learns from a segment of the connection.
    #[inline]
    pub fn learn(&mut self, segment: &Segment<'_>, sender: End) {
        if self.known != [true; 2] || segment.flags.syn {
            self.learn_more(segment, sender);
        }
    }

    fn learn_more(&mut self, segment: &Segment<'_>, sender: End) {
        let Self { numbers: [low, high], known: [low_known, high_known] } = self;
        let (own, other) = match sender {
            End::Low => ((low, low_known), (high, high_known)),
            End::High => ((high, high_known), (low, low_known)),
        };
        if !*own.1 || (segment.flags.syn && segment.ack.is_some()) {
            (*own.0, *own.1) = (seq::initial_of_sender(segment), true);
        }
        if !*other.1
            && let Some(number) = seq::initial_of_receiver(segment)
        {
            (*other.0, *other.1) = (number, true);
        }
    }
}

/// The connections that ended, or were let go, last: at least `most` of them for
/// each version of IP, and at most twice as many.
pub(super) struct Past {
    /// The very last: mostly its last acknowledgement is still to come.
    last: Option<(Key, u64, Initials)>,
    v4: Generations<KeyV4>,
    v6: Generations<KeyV6>,
    most: usize,
    /// Whether there were more than are remembered.
    forgot: bool,
}

impl Past {
    pub fn new(most: usize) -> Self {
        // Places have 16 bits.
        let most = most.min(1 << 16);
        Self { last: None, v4: Generations::default(), v6: Generations::default(), most, forgot: false }
    }

    /// Whether it isn't known of each connection any more that it was there.
    pub const fn forgot(&self) -> bool {
        self.forgot
    }

    /// What is remembered of the connection that was added last, if it is the one
    /// between these endpoints.
    #[inline]
    pub fn last(&mut self, key: &Key) -> Option<&mut Initials> {
        self.last.as_mut().filter(|(last, ..)| last == key).map(|(.., initials)| initials)
    }

    /// What is remembered of the connection between these endpoints, if it isn't
    /// [`Self::last`]. `hash` is the key's, here and below, by the same hasher each
    /// time.
    #[inline]
    pub fn find(&mut self, key: &Key, hash: u64) -> Option<&mut Initials> {
        match key {
            Key::V4(key) => self.v4.find(key, hash),
            Key::V6(key) => self.v6.find(key, hash),
        }
    }

    /// Remembers a connection between endpoints of which none is remembered.
    #[inline]
    pub fn add(&mut self, key: Key, initials: Initials, hash: u64, hasher: &RandomState) {
        let Some((key, hash, initials)) = self.last.replace((key, hash, initials)) else { return };
        self.forgot |= match key {
            Key::V4(key) => self.v4.add(Over { key, initials }, hash, hasher, self.most),
            Key::V6(key) => self.v6.add(Over { key, initials }, hash, hasher, self.most),
        };
    }

    /// The connection between these endpoints has a successor.
    pub fn remove(&mut self, key: &Key, hash: u64) {
        self.last.take_if(|(last, ..)| last == key);
        match key {
            Key::V4(key) => self.v4.remove(key, hash),
            Key::V6(key) => self.v6.remove(key, hash),
        }
    }
}

/// A connection that is over.
#[derive(Debug)]
struct Over<K> {
    key: K,
    initials: Initials,
}

/// Those that came last, in two tables: once the younger is full, it takes the
/// place of the older, which is forgotten.
#[derive(Debug)]
struct Generations<K> {
    young: Generation<K>,
    old: Generation<K>,
}

impl<K> Default for Generations<K> {
    fn default() -> Self {
        Self { young: Generation::default(), old: Generation::default() }
    }
}

impl<K: Eq + Hash> Generations<K> {
    #[inline]
    fn find(&mut self, key: &K, hash: u64) -> Option<&mut Initials> {
        let Self { young, old } = self;
        young.find(key, hash).or_else(|| old.find(key, hash))
    }

    /// Whether others were forgotten for it.
    #[inline]
    fn add(&mut self, over: Over<K>, hash: u64, hasher: &RandomState, most: usize) -> bool {
        let mut forgot = false;
        if self.young.all.len() >= most {
            mem::swap(&mut self.young, &mut self.old);
            forgot = !self.young.places.is_empty();
            self.young.clear();
        }
        self.young.add(over, hash, hasher);
        forgot
    }

    fn remove(&mut self, key: &K, hash: u64) {
        self.young.remove(key, hash);
        self.old.remove(key, hash);
    }
}

/// One behind the other, with their places by key. So what is written for each at
/// random places, which a processor waits for, stays within its cache.
#[derive(Debug)]
struct Generation<K> {
    all: Vec<Over<K>>,
    places: HashTable<Place>,
}

/// Where a connection is, with a part of its key's hash: mostly that tells another
/// one without a look at it.
#[derive(Debug)]
struct Place {
    index: u16,
    tag: u16,
}

impl Place {
    /// A part of a hash that the table doesn't look at itself.
    #[expect(clippy::cast_possible_truncation, reason = "a part of it")]
    const fn tag(hash: u64) -> u16 {
        (hash >> 32) as u16
    }

    fn index(&self) -> usize {
        self.index.into()
    }

    /// Whether it is that of a key.
    #[inline]
    fn is_of<K: Eq>(&self, key: &K, hash: u64, all: &[Over<K>]) -> bool {
        self.tag == Self::tag(hash) && all.get(self.index()).is_some_and(|over| over.key == *key)
    }
}

impl<K> Default for Generation<K> {
    fn default() -> Self {
        Self { all: Vec::new(), places: HashTable::new() }
    }
}

impl<K: Eq + Hash> Generation<K> {
    #[inline]
    fn find(&mut self, key: &K, hash: u64) -> Option<&mut Initials> {
        let Self { all, places } = self;
        let place = places.find(hash, |place| place.is_of(key, hash, all))?.index();
        all.get_mut(place).map(|over| &mut over.initials)
    }

    #[inline]
    fn add(&mut self, over: Over<K>, hash: u64, hasher: &RandomState) {
        let Self { all, places } = self;
        let Ok(index) = u16::try_from(all.len()) else { return };
        all.push(over);
        places.insert_unique(hash, Place { index, tag: Place::tag(hash) }, |place| {
            all.get(place.index()).map_or(0, |over| hasher.hash_one(&over.key))
        });
    }

    fn remove(&mut self, key: &K, hash: u64) {
        let Self { all, places } = self;
        if let Ok(place) = places.find_entry(hash, |place| place.is_of(key, hash, all)) {
            place.remove();
        }
    }

    fn clear(&mut self) {
        self.all.clear();
        self.places.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Stamp;

    fn key(port: u16) -> Key {
        Key::of(&Segment {
            stamp: Stamp::untimed(1),
            source: ([10, 0, 0, 1], port).into(),
            destination: ([10, 0, 0, 2], 80).into(),
            seq: 0,
            ack: None,
            flags: crate::packet::Flags::default(),
            payload: &[],
            cut: 0,
        })
        .0
    }

    /// All that is remembered when `count` connections ended one after the other.
    fn remembered(past: &mut Past, count: u16) -> Vec<u16> {
        let hasher = RandomState::default();
        let hash = |port: u16| key(port).hash_with(&hasher);
        for port in 0..count {
            past.add(
                key(port),
                Initials { numbers: [port.into(), 0], known: [true, false] },
                hash(port),
                &hasher,
            );
        }
        let found = |port: &u16| {
            let last = past.last(&key(*port)).copied();
            let found = last.or_else(|| past.find(&key(*port), hash(*port)).copied());
            found.is_some_and(|initials| initials.numbers == [(*port).into(), 0])
        };
        (0..count).filter(found).collect()
    }

    #[test]
    fn the_last_are_remembered() {
        for (count, first, forgot) in
            [(0, 0, false), (10, 0, false), (21, 0, false), (22, 10, true), (31, 10, true), (32, 20, true)]
        {
            let mut past = Past::new(10);
            assert_eq!(remembered(&mut past, count), Vec::from_iter(first..count), "of {count}");
            assert_eq!(past.forgot(), forgot, "of {count}");
        }
    }

    /// They take the larger part of the memory of many short connections.
    #[test]
    fn one_that_is_over_is_small() {
        assert_eq!(size_of::<Over<KeyV4>>(), 24);
    }

    #[test]
    fn one_that_has_a_successor_is_removed_wherever_it_is() {
        let mut past = Past::new(2);
        let hasher = RandomState::default();
        for key in (0..4).map(key) {
            past.add(key, Initials::default(), key.hash_with(&hasher), &hasher);
        }
        for key in (0..4).map(key) {
            let hash = key.hash_with(&hasher);
            assert!(past.last(&key).is_some() != past.find(&key, hash).is_some(), "{key:?}");
            past.remove(&key, hash);
            assert!(past.last(&key).is_none() && past.find(&key, hash).is_none(), "{key:?}");
        }
    }
}
