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
    New,
    /// It belongs to a connection that ended or was let go.
    Past,
}

/// All connections.
pub(super) struct Table {
    hasher: RandomState,
    /// The slots of those that are open, by their keys.
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
                if let Some(&index) = self.live.find(hash, |index| key_of(slots, *index) == Some(&key)) {
                    self.unlink(index);
                    self.link(index);
                    return self.take_in(index, segment, sender);
                }
                self.past.find(&key, hash).ok_or(Stranger::New)?
            }
        };
        if initials.are_left_by(segment, sender) {
            self.past.remove(&key, key.hash_with(&self.hasher));
            return Err(Stranger::New);
        }
        initials.learn(segment, sender);
        Err(Stranger::Past)
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
        let slot = self.slot(index).ok_or(Stranger::New)?;
        if slot.initials.are_left_by(segment, sender) {
            return Err(Stranger::Replaces(index));
        }
        slot.initials.learn(segment, sender);
        let direction = if sender == slot.initiator { Direction::Forward } else { Direction::Backward };
        Ok((index, direction))
    }

    /// Opens a connection with the next number. Returns its slot and the
    /// direction of the segment.
    pub fn open_with(&mut self, segment: &Segment<'_>) -> (u32, Direction) {
        let (key, sender) = Key::of(segment);
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
            *place =
                Some(Slot { flow: Flow::new(), stream, initials, key, initiator, newer: NONE, older: NONE });
        }
        let Self { slots, hasher, .. } = self;
        self.live.insert_unique(key.hash_with(hasher), index, |index| {
            key_of(slots, *index).map_or(0, |key| key.hash_with(hasher))
        });
        self.link(index);
        (index, if answers { Direction::Backward } else { Direction::Forward })
    }

    /// Drops an open connection; what its number needs is kept.
    pub fn retire(&mut self, index: u32) {
        self.unlink(index);
        let Some(place) = self.slots.get_mut(index as usize) else {
            return;
        };
        let Some(&mut Slot { key, initials, .. }) = place.as_mut() else {
            return;
        };
        *place = None;
        self.free.push(index);
        let hash = key.hash_with(&self.hasher);
        if let Ok(entry) = self.live.find_entry(hash, |live| *live == index) {
            entry.remove();
        }
        self.past.add(key, initials, hash, &self.hasher);
    }

    /// Puts a slot at the newest end.
    fn link(&mut self, index: u32) {
        let newest = self.newest;
        if let Some(slot) = self.slot(newest) {
            slot.newer = index;
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

/// The key of the connection in a slot.
#[inline]
fn key_of(slots: &[Option<Slot>], index: u32) -> Option<&Key> {
    slots.get(index as usize)?.as_ref().map(|slot| &slot.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100,000 half-open connections have to fit beside everything else.
    #[test]
    fn a_connection_without_data_is_small() {
        assert!(size_of::<Option<Slot>>() <= 272, "{}", size_of::<Option<Slot>>());
    }
}
