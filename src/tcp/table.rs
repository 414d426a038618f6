//! The flow table: which connection a segment belongs to, under which number,
//! and which one has been idle the longest.

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Direction;
use super::flow::Flow;
use super::key::{End, Key};
use super::past::{Initials, Past};
use crate::packet::Segment;
use crate::units::StreamId;

/// No slot.
const NONE: u32 = u32::MAX;

/// A connection that is open.
pub(super) struct Slot {
    pub flow: Flow,
    pub stream: StreamId,
    initials: Initials,
    key: Key,
    hash: u64,
    /// Whether [`Table::live`] has it.
    entered: bool,
    /// Which endpoint sends [`Direction::Forward`].
    initiator: End,
    newer: u32,
    older: u32,
}

/// What a segment means that belongs to no open connection.
pub(super) enum Stranger {
    /// It takes the place of the open connection in this slot.
    Replaces(u32),
    /// It begins a connection.
    New(Newcomer),
    /// It belongs to a connection that ended or was let go.
    Past,
}

/// The first segment of a connection.
pub(super) struct Newcomer {
    key: Key,
    hash: u64,
    sender: End,
}

/// All connections.
pub(super) struct Table {
    hasher: RandomState,
    /// The slots of those that are open, by their keys. The one used last may not
    /// be in it: short connections begin and end in one run.
    live: HashTable<u32>,
    past: Past,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// The slot used last, and the one idle the longest.
    newest: u32,
    oldest: u32,
    /// Numbers given.
    streams: u64,
}

impl Table {
    /// A table that remembers so many connections that are over; see [`Past`].
    pub fn new(ended: usize) -> Self {
        Self {
            hasher: RandomState::default(),
            live: HashTable::new(),
            past: Past::new(ended),
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            streams: 0,
        }
    }

    /// How many numbers were given.
    pub const fn streams(&self) -> u64 {
        self.streams
    }

    /// How many connections are open.
    pub const fn open(&self) -> usize {
        self.slots.len().saturating_sub(self.free.len())
    }

    /// The slot that has been idle the longest.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// All open slots, in the order of their streams.
    pub fn all(&self) -> Vec<u32> {
        let mut all: Vec<(StreamId, u32)> = (0..)
            .zip(&self.slots)
            .filter_map(|(index, slot)| slot.as_ref().map(|slot| (slot.stream, index)))
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(_, index)| index).collect()
    }

    #[inline]
    pub fn slot(&mut self, index: u32) -> Option<&mut Slot> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    /// Whether it isn't known of each connection any more that it was there.
    pub const fn forgot(&self) -> bool {
        self.past.forgot()
    }

    /// Finds the open connection of a segment, and makes it the one used last:
    /// its slot, and the direction of the segment.
    #[inline(always)]
    pub fn find(&mut self, segment: &Segment<'_>) -> Result<(u32, Direction), Stranger> {
        // Segments of one connection come in runs.
        let newest = self.newest;
        if let Some(Some(slot)) = self.slots.get(newest as usize)
            && let Some(sender) = slot.key.sender(segment)
        {
            return self.take_in(newest, segment, sender);
        }
        self.find_other(segment)
    }

    /// The same where the connection isn't the one that was used last.
    #[inline(never)]
    fn find_other(&mut self, segment: &Segment<'_>) -> Result<(u32, Direction), Stranger> {
        let (key, sender) = Key::of(segment);
        let initials = match self.past.last(&key) {
            Some(last) => last,
            None => {
                let hash = key.hash_with(&self.hasher);
                let slots = &self.slots;
                let is = |index: &u32| slot_at(slots, *index).is_some_and(|slot| slot.key == key);
                if let Some(&index) = self.live.find(hash, is) {
                    self.unlink(index);
                    self.link(index);
                    return self.take_in(index, segment, sender);
                }
                self.past.find(&key, hash).ok_or(Stranger::New(Newcomer { key, hash, sender }))?
            }
        };
        if initials.are_left_by(segment, sender) {
            return Err(Stranger::New(self.take_place(segment)));
        }
        initials.learn(segment, sender);
        Err(Stranger::Past)
    }

    /// A segment as the first of a connection whose endpoints had another one,
    /// which is over.
    pub fn take_place(&mut self, segment: &Segment<'_>) -> Newcomer {
        let (key, sender) = Key::of(segment);
        let hash = key.hash_with(&self.hasher);
        self.past.remove(&key, hash);
        Newcomer { key, hash, sender }
    }

    /// Takes in a segment between the endpoints of an open connection, if it
    /// belongs to that.
    #[inline]
    fn take_in(
        &mut self,
        index: u32,
        segment: &Segment<'_>,
        sender: End,
    ) -> Result<(u32, Direction), Stranger> {
        // Nobody asks for a slot that is free.
        let slot = self.slot(index).ok_or(Stranger::Past)?;
        if slot.initials.are_left_by(segment, sender) {
            return Err(Stranger::Replaces(index));
        }
        slot.initials.learn(segment, sender);
        let direction = if sender == slot.initiator { Direction::Forward } else { Direction::Backward };
        Ok((index, direction))
    }

    /// Opens a connection with the next number. Returns its slot and the
    /// direction of the segment.
    pub fn open_with(&mut self, newcomer: Newcomer, segment: &Segment<'_>) -> (u32, Direction) {
        let Newcomer { key, hash, sender } = newcomer;
        // Who answers a SYN did not open the connection.
        let answers = segment.flags.syn && segment.ack.is_some();
        let initiator = match sender {
            End::Low if answers => End::High,
            End::High if answers => End::Low,
            sender => sender,
        };
        let mut initials = Initials::default();
        initials.learn(segment, sender);
        let stream = StreamId(self.streams);
        self.streams += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
        });
        if let Some(place) = self.slots.get_mut(index as usize) {
            // Written where it stays: it is large.
            *place = Some(Slot {
                flow: Flow::new(),
                stream,
                initials,
                key,
                hash,
                entered: false,
                initiator,
                newer: NONE,
                older: NONE,
            });
        }
        self.link(index);
        (index, if answers { Direction::Backward } else { Direction::Forward })
    }

    /// Drops an open connection; what its number needs is kept for a while.
    pub fn retire(&mut self, index: u32) {
        self.unlink(index);
        let Some(place) = self.slots.get_mut(index as usize) else {
            return;
        };
        let Some(&mut Slot { key, hash, entered, initials, .. }) = place.as_mut() else {
            return;
        };
        *place = None;
        self.free.push(index);
        if entered && let Ok(entry) = self.live.find_entry(hash, |live| *live == index) {
            entry.remove();
        }
        self.past.add(key, initials, hash, &self.hasher);
    }

    /// Puts a slot at the newest end.
    fn link(&mut self, index: u32) {
        let newest = self.newest;
        if let Some(slot) = self.slot(newest) {
            slot.newer = index;
            if !slot.entered {
                slot.entered = true;
                let hash = slot.hash;
                let slots = &self.slots;
                let hash_of = |index: &u32| slot_at(slots, *index).map_or(0, |slot| slot.hash);
                self.live.insert_unique(hash, newest, hash_of);
            }
        } else {
            self.oldest = index;
        }
        if let Some(slot) = self.slot(index) {
            slot.older = newest;
            slot.newer = NONE;
        }
        self.newest = index;
    }

    fn unlink(&mut self, index: u32) {
        let Some(&mut Slot { newer, older, .. }) = self.slot(index) else {
            return;
        };
        match self.slot(newer) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.slot(older) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }
}

/// The slot of that number.
#[inline]
fn slot_at(slots: &[Option<Slot>], index: u32) -> Option<&Slot> {
    slots.get(index as usize)?.as_ref()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::SocketAddr;

    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::tcp::seq;

    /// A table that is too simple to be wrong: what is known of each pair of
    /// endpoints, the initial numbers by address, and whether its connection is open.
    #[derive(Default)]
    struct Model {
        pairs: HashMap<[SocketAddr; 2], (u64, HashMap<SocketAddr, u32>, bool)>,
        streams: u64,
    }

    impl Model {
        /// The stream of a segment, and whether that is a new one; `None` where its
        /// connection is over.
        fn take(&mut self, segment: &Segment<'_>) -> Option<(u64, bool)> {
            let mut pair = [segment.source, segment.destination];
            pair.sort();
            let opens = segment.flags.syn && segment.ack.is_none();
            let own = |numbers: &HashMap<SocketAddr, u32>| numbers.get(&segment.source).copied();
            let known = self.pairs.get(&pair);
            let left = known.is_none_or(|(_, numbers, _)| {
                opens && own(numbers).is_some_and(|number| number != segment.seq)
            });
            if left {
                self.pairs.insert(pair, (self.streams, HashMap::new(), true));
                self.streams += 1;
            }
            let (stream, numbers, open) = self.pairs.get_mut(&pair)?;
            if (segment.flags.syn && !opens) || own(numbers).is_none() {
                numbers.insert(segment.source, seq::initial_of_sender(segment));
            }
            if let Some(number) = seq::initial_of_receiver(segment) {
                numbers.entry(segment.destination).or_insert(number);
            }
            open.then_some((*stream, left))
        }

        fn end(&mut self, stream: u64) {
            self.pairs.values_mut().filter(|pair| pair.0 == stream).for_each(|pair| pair.2 = false);
        }
    }

    proptest! {
        /// Whichever connections are open, end, and have successors.
        #[test]
        fn streams_are_numbered_as_by_the_model(
            steps in vec((0..3_usize, any::<bool>(), 0..3_u32, option::of(0..3_u32), any::<bool>(), 0..4_u8), 1..80),
        ) {
            let clients = ["10.0.0.1:1000", "10.0.0.9:1000", "[::1]:1000"].map(|client| client.parse::<SocketAddr>().unwrap());
            let servers = ["10.0.0.5:80", "10.0.0.5:80", "[::2]:80"].map(|server| server.parse::<SocketAddr>().unwrap());
            let (mut table, mut model) = (Table::new(100), Model::default());
            for (pair, from_client, seq, ack, syn, end) in steps {
                let (client, server) = (clients[pair], servers[pair]);
                let (source, destination) = if from_client { (client, server) } else { (server, client) };
                let flags = crate::packet::Flags { syn, ..Default::default() };
                let stamp = crate::units::Stamp::untimed(1);
                let segment = Segment { stamp, source, destination, seq, ack, flags, payload: &[], cut: 0 };
                let streams = table.streams();
                let place = match table.find(&segment) {
                    Ok((index, _)) => Some(index),
                    Err(Stranger::New(newcomer)) => Some(table.open_with(newcomer, &segment).0),
                    Err(Stranger::Replaces(index)) => {
                        table.retire(index);
                        let newcomer = table.take_place(&segment);
                        Some(table.open_with(newcomer, &segment).0)
                    }
                    Err(Stranger::Past) => None,
                };
                let found = place.map(|index| (table.slot(index).unwrap().stream.0, table.streams() > streams));
                prop_assert_eq!(found, model.take(&segment));
                if let Some(index) = place.filter(|_| end == 0) {
                    model.end(table.slot(index).unwrap().stream.0);
                    table.retire(index);
                }
                let open = model.pairs.values().filter(|pair| pair.2).count();
                prop_assert_eq!(table.open(), open);
                prop_assert_eq!(table.all().len(), open);
            }
        }
    }

    /// 100,000 half-open connections have to fit beside everything else.
    #[test]
    fn a_connection_without_data_is_small() {
        assert!(size_of::<Option<Slot>>() <= 272, "{}", size_of::<Option<Slot>>());
    }
}
