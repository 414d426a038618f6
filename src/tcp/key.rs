//! Which connection a segment belongs to: a pair of endpoints.

use std::hash::BuildHasher as _;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};

use foldhash::fast::RandomState;

use crate::packet::Segment;

/// A pair of endpoints, the lower one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    V4(KeyV4),
    V6(KeyV6),
}

/// Addresses, then ports. Packed, since a great many are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C, packed(4))]
pub(super) struct KeyV4 {
    addresses: u64,
    ports: u32,
}

pub(super) type KeyV6 = [u32; 9];

impl KeyV4 {
    #[inline(always)]
    fn new(low: SocketAddrV4, high: SocketAddrV4) -> Self {
        let (low_address, high_address) = (low.ip().to_bits(), high.ip().to_bits());
        Self {
            addresses: u64::from(low_address) << 32 | u64::from(high_address),
            ports: u32::from(low.port()) << 16 | u32::from(high.port()),
        }
    }
}

impl Key {
    #[inline]
    pub fn hash_with(&self, hasher: &RandomState) -> u64 {
        match self {
            Self::V4(key) => hasher.hash_one(key),
            Self::V6(key) => hasher.hash_one(key),
        }
    }

    /// The key of a segment, and which of its endpoints is the sender.
    #[inline]
    pub fn of(segment: &Segment<'_>) -> (Self, End) {
        let (source, destination) = (&segment.source, &segment.destination);
        if let (SocketAddr::V4(source), SocketAddr::V4(destination)) = (source, destination) {
            let end = |of: &SocketAddrV4| (of.ip().to_bits(), of.port());
            return if end(source) <= end(destination) {
                (Self::V4(KeyV4::new(*source, *destination)), End::Low)
            } else {
                (Self::V4(KeyV4::new(*destination, *source)), End::High)
            };
        }
        Self::of_v6(source, destination)
    }

    /// Which of these endpoints sends a segment, if it is between them. Says
    /// what [`Self::of`] says, sooner.
    #[inline(always)]
    pub fn sender(&self, segment: &Segment<'_>) -> Option<End> {
        match (self, &segment.source, &segment.destination) {
            (Self::V4(key), SocketAddr::V4(source), SocketAddr::V4(destination)) => {
                if KeyV4::new(*source, *destination) == *key {
                    Some(End::Low)
                } else if KeyV4::new(*destination, *source) == *key {
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
pub(super) enum End {
    Low,
    High,
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
}
