//! The flow table: which connection a segment belongs to, under which number,
//! and which one has been idle the longest.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use foldhash::fast::RandomState;

use super::Direction;
use super::flow::Flow;
use super::seq;
use crate::packet::Segment;
use crate::units::StreamId;

/// No slot.
const NONE: u32 = u32::MAX;

/// A pair of endpoints, the lower one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    V4(KeyV4),
    V6(KeyV6),
}

/// Addresses, then ports: as small as can be, since there is one for each
/// connection of the whole capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyV4([u32; 3]);
type KeyV6 = [u32; 9];

impl Hash for KeyV4 {
    /// As two numbers: a hasher is sooner done with these than with octets.
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let [low, high, ports] = self.0;
        hasher.write_u64(u64::from(low) << 32 | u64::from(high));
        hasher.write_u32(ports);
    }
}

impl Key {
    /// The key of a segment, and which of its endpoints is the sender.
    #[inline]
    fn of(segment: &Segment<'_>) -> (Self, End) {
        let (source, destination) = (&segment.source, &segment.destination);
        let ports = |low: u16, high: u16| u32::from(low) << 16 | u32::from(high);
        if let (SocketAddr::V4(source), SocketAddr::V4(destination)) = (source, destination) {
            let (from, to) = (source.ip().to_bits(), destination.ip().to_bits());
            return if (from, source.port()) <= (to, destination.port()) {
                (Self::V4(KeyV4([from, to, ports(source.port(), destination.port())])), End::Low)
            } else {
                (Self::V4(KeyV4([to, from, ports(destination.port(), source.port())])), End::High)
            };
        }
        Self::of_v6(source, destination)
    }

    /// Which of these endpoints sends a segment, if it is between them. Says
    /// what [`Self::of`] says, sooner.
    #[inline(always)]
    fn sender(&self, segment: &Segment<'_>) -> Option<End> {
        match (self, &segment.source, &segment.destination) {
            (Self::V4(KeyV4([low, high, ports])), SocketAddr::V4(source), SocketAddr::V4(destination)) => {
                let (from, to) = (source.ip().to_bits(), destination.ip().to_bits());
                let (from_port, to_port) = (u32::from(source.port()), u32::from(destination.port()));
                if (from, to, from_port << 16 | to_port) == (*low, *high, *ports) {
                    Some(End::Low)
                } else if (to, from, to_port << 16 | from_port) == (*low, *high, *ports) {
                    Some(End::High)
                } else {
                    None
                }
            }
            _ => self.sender_of_any(segment),
        }
    }

    /// The same for any addresses.
    #[inline(never)]
    fn sender_of_any(&self, segment: &Segment<'_>) -> Option<End> {
        let (key, sender) = Self::of(segment);
        (key == *self).then_some(sender)
    }

    fn of_v6(source: &SocketAddr, destination: &SocketAddr) -> (Self, End) {
        let ports = |low: u16, high: u16| u32::from(low) << 16 | u32::from(high);
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            IpAddr::V6(address) => address.to_bits(),
        };
        let (from, to) = (bits(source.ip()), bits(destination.ip()));
        let (low, high, ports, end) = if (from, source.port()) <= (to, destination.port()) {
            (from, to, ports(source.port(), destination.port()), End::Low)
        } else {
            (to, from, ports(destination.port(), source.port()), End::High)
        };
        #[expect(clippy::cast_possible_truncation, reason = "takes the words apart")]
        let word = |bits: u128, index: u32| (bits >> (32 * index)) as u32;
        let key = [
            word(low, 0),
            word(low, 1),
            word(low, 2),
            word(low, 3),
            word(high, 0),
            word(high, 1),
            word(high, 2),
            word(high, 3),
            ports,
        ];
        (Self::V6(key), end)
    }
}

/// One of the two endpoints of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Low,
    High,
}

/// The initial sequence numbers of a connection: by them, and by nothing else,
/// Wireshark tells whether a SYN opens a new one.
#[derive(Debug, Clone, Copy, Default)]
struct Initials {
    low: Option<u32>,
    high: Option<u32>,
}

impl Initials {
    const fn of(&mut self, end: End) -> (&mut Option<u32>, &mut Option<u32>) {
        match end {
            End::Low => (&mut self.low, &mut self.high),
            End::High => (&mut self.high, &mut self.low),
        }
    }

    /// Whether a segment opens a new connection: a SYN with another number
    /// than its sender had.
    #[inline]
    fn are_left_by(&mut self, segment: &Segment<'_>, sender: End) -> bool {
        let (own, _) = self.of(sender);
        segment.flags.syn && segment.ack.is_none() && own.is_some_and(|own| own != segment.seq)
    }

    /// Learns from a segment of the connection.
    #[inline]
    fn learn(&mut self, segment: &Segment<'_>, sender: End) {
        let known = self.low.is_some() && self.high.is_some();
        if !known || segment.flags.syn {
            self.learn_more(segment, sender);
        }
    }

    fn learn_more(&mut self, segment: &Segment<'_>, sender: End) {
        let (own, other) = self.of(sender);
        if own.is_none() || (segment.flags.syn && segment.ack.is_some()) {
            *own = Some(seq::initial_of_sender(segment));
        }
        if other.is_none() {
            *other = seq::initial_of_receiver(segment);
        }
    }
}

/// What is known of a pair of endpoints.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Its connection is open, in this slot.
    Live(u32),
    /// Its last connection ended or was let go; only what the numbering needs
    /// was kept.
    Past(Initials),
}

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
    v4: HashMap<KeyV4, Place, RandomState>,
    v6: HashMap<KeyV6, Place, RandomState>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// The slot used last, and the one idle the longest.
    newest: u32,
    oldest: u32,
    /// Numbers given.
    streams: u64,
}

impl Table {
    pub fn new() -> Self {
        Self {
            v4: HashMap::default(),
            v6: HashMap::default(),
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

    #[inline]
    fn place(&mut self, key: &Key) -> Option<&mut Place> {
        match key {
            Key::V4(key) => self.v4.get_mut(key),
            Key::V6(key) => self.v6.get_mut(key),
        }
    }

    fn set_place(&mut self, key: Key, place: Place) {
        match key {
            Key::V4(key) => self.v4.insert(key, place),
            Key::V6(key) => self.v6.insert(key, place),
        };
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
        match self.place(&key) {
            None => Err(Stranger::New),
            Some(&mut Place::Live(index)) => {
                self.unlink(index);
                self.link(index);
                self.take_in(index, segment, sender)
            }
            Some(Place::Past(initials)) => {
                if initials.are_left_by(segment, sender) {
                    return Err(Stranger::New);
                }
                initials.learn(segment, sender);
                Err(Stranger::Past)
            }
        }
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
        self.set_place(key, Place::Live(index));
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
        if let Some(place) = self.place(&key) {
            *place = Place::Past(initials);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sender_is_told_as_by_the_key() {
        let endpoints =
            ["10.0.0.1:80", "10.0.0.1:81", "10.0.0.2:80", "9.9.9.9:65535", "[::1]:80", "[::2]:80"];
        let endpoints = endpoints.map(|endpoint| endpoint.parse::<SocketAddr>().unwrap());
        let segment = |source, destination| Segment {
            stamp: crate::units::Stamp::untimed(1),
            source,
            destination,
            seq: 0,
            ack: None,
            flags: crate::packet::Flags::default(),
            payload: &[],
            cut: 0,
        };
        for (a, b) in pairs(&endpoints) {
            let (key, _) = Key::of(&segment(a, b));
            for (c, d) in pairs(&endpoints) {
                let (other, sender) = Key::of(&segment(c, d));
                assert_eq!(key.sender(&segment(c, d)), (key == other).then_some(sender), "{a} {b} {c} {d}");
            }
        }
    }

    fn pairs(of: &[SocketAddr]) -> impl Iterator<Item = (SocketAddr, SocketAddr)> {
        of.iter().flat_map(|a| of.iter().map(|b| (*a, *b)))
    }

    /// 100,000 half-open connections have to fit beside everything else.
    #[test]
    fn a_connection_without_data_is_small() {
        assert!(size_of::<Option<Slot>>() <= 272, "{}", size_of::<Option<Slot>>());
        assert!(size_of::<(KeyV4, Place)>() <= 32, "{}", size_of::<(KeyV4, Place)>());
    }
}
