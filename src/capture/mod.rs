//! The capture layer: octets of a capture file → frames.

use crate::units::Stamp;

/// A link type, by its number in the registry of tcpdump.org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

/// One captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its number and time.
    pub stamp: Stamp,
    /// How its first octets are to be read.
    pub link: LinkType,
    /// The captured octets.
    pub data: &'a [u8],
    /// How many octets it had on the wire; more than `data` where the snap
    /// length cut it.
    pub wire_len: u32,
}
