//! The packet layer: a frame → the TCP segment that it carries.

use std::net::SocketAddr;

use crate::units::Stamp;

/// Flags of a TCP segment that matter here (RFC 9293 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Synchronize sequence numbers.
    pub syn: bool,
    /// No more data from the sender.
    pub fin: bool,
    /// Reset the connection.
    pub rst: bool,
}

/// A TCP segment, still in the frame's octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The frame that carried it (that completed it, where it was fragmented).
    pub stamp: Stamp,
    /// Its sender.
    pub source: SocketAddr,
    /// Its receiver.
    pub destination: SocketAddr,
    /// Sequence number of the first octet (of the SYN, where there is one).
    pub seq: u32,
    /// Acknowledgement number, if the ACK flag is set.
    pub ack: Option<u32>,
    /// SYN, FIN, RST.
    pub flags: Flags,
    /// The captured payload octets.
    pub payload: &'a [u8],
    /// How many further payload octets were on the wire but not captured.
    pub cut: u32,
}
