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

/// Each segment in pieces of `size` octets.
pub fn in_pieces(segments: &[Sent], size: usize) -> Vec<Sent> {
    let mut pieces = Vec::new();
    for segment in segments {
        let mut rest = segment.clone();
        while rest.payload.len() > size {
            let (front, back) = rest.cut(size);
            pieces.push(front);
            rest = back;
        }
        pieces.push(rest);
    }
    pieces
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
    file(101, segments.iter().map(|segment| (segment, packet(segment))))
}

/// Writes segments as a capture of IEEE 802.11, up to two packets of a sender
/// aggregated in a frame (an A-MSDU).
pub fn write_aggregated(segments: &[Sent]) -> Vec<u8> {
    let runs = segments.chunk_by(|one, next| one.source == next.source);
    let frames = runs.flat_map(|run| run.chunks(2)).map(|pair| {
        // A QoS data frame from a distribution system, its A-MSDU bit set.
        let mut frame = vec![0x88, 2];
        frame.extend_from_slice(&[0; 22]);
        frame.extend_from_slice(&[0x80, 0]);
        for (place, segment) in pair.iter().enumerate() {
            let ether_type = if segment.source.is_ipv4() { [8, 0] } else { [0x86, 0xdd] };
            let msdu = [&[0xaa, 0xaa, 3, 0, 0, 0][..], &ether_type, &packet(segment)].concat();
            frame.extend_from_slice(&[2; 12]);
            frame.extend_from_slice(&u16::try_from(msdu.len()).unwrap().to_be_bytes());
            frame.extend_from_slice(&msdu);
            if place + 1 < pair.len() {
                frame.resize(26 + (frame.len() - 26).next_multiple_of(4), 0);
            }
        }
        (&pair[0], frame)
    });
    file(105, frames)
}

/// A capture of frames, each with the time of its segment.
pub fn file<'s>(link: u32, frames: impl Iterator<Item = (&'s Sent, Vec<u8>)>) -> Vec<u8> {
    let mut capture = Vec::new();
    // The file header: pcap, little-endian, microseconds.
    capture.extend_from_slice(&0xa1b2_c3d4_u32.to_le_bytes());
    capture.extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    capture.extend_from_slice(&link.to_le_bytes());
    for (segment, frame) in frames {
        let len = u32::try_from(frame.len()).unwrap();
        for field in [segment.seconds, segment.micros, len, len] {
            capture.extend_from_slice(&field.to_le_bytes());
        }
        capture.extend_from_slice(&frame);
    }
    capture
}

/// A segment in an IP packet.
pub fn packet(segment: &Sent) -> Vec<u8> {
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
