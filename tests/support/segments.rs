//! The TCP segments of a capture, to be sent again in other ways.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
// Each test uses what it needs.
#![allow(dead_code)]

use std::net::{IpAddr, SocketAddr};

use chunkscope::capture::CaptureReader;
use chunkscope::limits::Limits;
use chunkscope::packet::{Decoded, Decoder, Flags, Segment};

/// A segment on its own.
#[derive(Debug, Clone)]
pub struct Sent {
    pub seconds: u32,
    pub micros: u32,
    pub source: SocketAddr,
    pub destination: SocketAddr,
    pub seq: u32,
    pub ack: Option<u32>,
    pub flags: Flags,
    pub payload: Vec<u8>,
}

impl Sent {
    /// How much of the sequence space it takes.
    pub fn len(&self) -> u32 {
        u32::try_from(self.payload.len()).unwrap() + u32::from(self.flags.syn) + u32::from(self.flags.fin)
    }

    /// The segment cut in two behind `place` payload octets.
    pub fn cut(&self, place: usize) -> (Self, Self) {
        let (mut front, mut back) = (self.clone(), self.clone());
        front.payload.truncate(place);
        front.flags.fin = false;
        back.payload.drain(..place);
        back.seq = self.seq.wrapping_add(u32::try_from(place).unwrap() + u32::from(self.flags.syn));
        back.flags.syn = false;
        (front, back)
    }
}

/// Reads the segments of a capture.
pub fn read(capture: &[u8]) -> Vec<Sent> {
    let limits = Limits::default();
    let mut reader = CaptureReader::open(capture, &limits, 1).unwrap();
    let mut decoder = Decoder::new(&limits);
    let mut segments = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        if let Decoded::Segment(Segment { stamp, source, destination, seq, ack, flags, payload, cut }) =
            decoder.decode(&frame)
        {
            assert_eq!(cut, 0, "a whole capture");
            let seconds = stamp.at.map_or(0, |at| u32::try_from(at.seconds()).unwrap());
            let payload = payload.to_vec();
            segments.push(Sent { seconds, micros: 0, source, destination, seq, ack, flags, payload });
        }
    }
    segments
}

/// Writes segments as a capture of raw IP packets.
pub fn write(segments: &[Sent]) -> Vec<u8> {
    let mut capture = Vec::new();
    // The file header (pcap, little-endian, microseconds), link type RAW.
    capture.extend_from_slice(&0xa1b2_c3d4_u32.to_le_bytes());
    capture.extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    capture.extend_from_slice(&101u32.to_le_bytes());
    for segment in segments {
        let packet = packet(segment);
        let len = u32::try_from(packet.len()).unwrap();
        for field in [segment.seconds, segment.micros, len, len] {
            capture.extend_from_slice(&field.to_le_bytes());
        }
        capture.extend_from_slice(&packet);
    }
    capture
}

fn packet(segment: &Sent) -> Vec<u8> {
    let mut tcp = Vec::new();
    tcp.extend_from_slice(&segment.source.port().to_be_bytes());
    tcp.extend_from_slice(&segment.destination.port().to_be_bytes());
    tcp.extend_from_slice(&segment.seq.to_be_bytes());
    tcp.extend_from_slice(&segment.ack.unwrap_or(0).to_be_bytes());
    let flags = u8::from(segment.flags.fin)
        | u8::from(segment.flags.syn) << 1
        | u8::from(segment.flags.rst) << 2
        | u8::from(segment.ack.is_some()) << 4;
    tcp.extend_from_slice(&[5 << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.extend_from_slice(&segment.payload);
    let mut packet = Vec::new();
    match (segment.source.ip(), segment.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            // A total length of 0 where it doesn't fit, as offloading leaves it.
            let total = u16::try_from(tcp.len() + 20).unwrap_or(0).to_be_bytes();
            packet.extend_from_slice(&[0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, 6, 0, 0]);
            packet.extend_from_slice(&source.octets());
            packet.extend_from_slice(&destination.octets());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let len = u16::try_from(tcp.len()).unwrap_or(0).to_be_bytes();
            packet.extend_from_slice(&[0x60, 0, 0, 0, len[0], len[1], 6, 64]);
            packet.extend_from_slice(&source.octets());
            packet.extend_from_slice(&destination.octets());
        }
        _ => panic!("a segment between IPv4 and IPv6"),
    }
    packet.extend_from_slice(&tcp);
    packet
}
