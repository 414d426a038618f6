//! Captures built octet by octet, and what is read of them.

mod compressed;
mod hostile;
mod pcap;
mod pcapng;
mod stream;

use std::io::{self, Read};

use super::{CaptureError, CaptureReader};
use crate::limits::Limits;

/// A byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

pub(super) use Order::{Big, Little};

impl Order {
    pub(super) fn u16(self, value: u16) -> [u8; 2] {
        if self == Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(super) fn u32(self, value: u32) -> [u8; 4] {
        if self == Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub(super) fn u64(self, value: u64) -> [u8; 8] {
        if self == Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// The first packet's second in most tests.
pub(super) const START: u32 = 1_690_981_802;

/// A pcap file header.
pub(super) fn header(order: Order, magic: u32, version: (u16, u16), link: u32) -> Vec<u8> {
    let mut file = order.u32(magic).to_vec();
    file.extend(order.u16(version.0));
    file.extend(order.u16(version.1));
    for word in [0, 0, 262_144, link] {
        file.extend(order.u32(word));
    }
    file
}

/// A header of today's kind: little-endian, microseconds, Ethernet.
pub(super) fn plain_header() -> Vec<u8> {
    header(Little, 0xa1b2_c3d4, (2, 4), 1)
}

/// A pcap record; `more` are octets of a longer header.
pub(super) fn record(order: Order, time: (u32, u32), more: &[u8], data: &[u8], wire: u32) -> Vec<u8> {
    let mut record = Vec::new();
    for word in [time.0, time.1, data.len() as u32, wire] {
        record.extend(order.u32(word));
    }
    record.extend(more);
    record.extend(data);
    record
}

/// A whole little-endian record, `n` seconds after the first.
pub(super) fn packet(n: u32, data: &[u8]) -> Vec<u8> {
    record(Little, (START + n, 5), &[], data, data.len() as u32)
}

/// A pcap file with these packets, a second apart.
pub(super) fn plain(packets: &[&[u8]]) -> Vec<u8> {
    let mut file = plain_header();
    for (n, data) in (0..).zip(packets) {
        file.extend(packet(n, data));
    }
    file
}

/// A pcapng block.
pub(super) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = 12 + body.len().next_multiple_of(4);
    let mut block = order.u32(kind).to_vec();
    block.extend(order.u32(length as u32));
    block.extend(body);
    block.resize(length - 4, 0);
    block.extend(order.u32(length as u32));
    block
}

/// A section header block.
pub(super) fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend(order.u64(u64::MAX));
    block(order, 0x0a0d_0d0a, &body)
}

/// An option.
pub(super) fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = order.u16(code).to_vec();
    option.extend(order.u16(value.len() as u16));
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

/// An interface description block.
pub(super) fn interface(order: Order, link: u16, snap: u32, options: &[u8]) -> Vec<u8> {
    let mut body = order.u16(link).to_vec();
    body.extend(order.u16(0));
    body.extend(order.u32(snap));
    body.extend(options);
    block(order, 1, &body)
}

/// An enhanced packet block, or the body of one with these fields.
pub(super) fn enhanced(order: Order, interface: u32, units: u64, data: &[u8], options: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let length = data.len() as u32;
    for word in [interface, (units >> 32) as u32, units as u32, length, length] {
        body.extend(order.u32(word));
    }
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(options);
    block(order, 6, &body)
}

/// The first second in microseconds.
pub(super) const MICROS: u64 = START as u64 * 1_000_000;

/// What was read of a capture.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Number, time (empty for none), link type, octets, octets on the wire.
    pub(super) frames: Vec<(u64, String, u16, Vec<u8>, u32)>,
    /// Code, frame, count, offset.
    pub(super) problems: Vec<(&'static str, Option<u64>, u64, u64)>,
    pub(super) error: Option<String>,
    pub(super) links: Vec<String>,
    pub(super) packets: u64,
}

impl Reading {
    /// The frames' octets.
    pub(super) fn data(&self) -> Vec<&[u8]> {
        self.frames.iter().map(|frame| frame.3.as_slice()).collect()
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        self.frames.iter().map(|frame| frame.0).collect()
    }

    pub(super) fn times(&self) -> Vec<&str> {
        self.frames.iter().map(|frame| frame.1.as_str()).collect()
    }

    pub(super) fn codes(&self) -> Vec<&'static str> {
        self.problems.iter().map(|problem| problem.0).collect()
    }

    /// The error's message, of which there must be one.
    pub(super) fn message(&self) -> &str {
        self.error.as_deref().expect("an error")
    }

    /// Without any problem or error.
    pub(super) fn clean(self) -> Self {
        assert_eq!((&self.error, self.codes()), (&None, vec![]));
        self
    }
}

/// Reads all of a capture.
pub(super) fn try_read_from<R: Read>(source: R, limits: &Limits) -> Result<Reading, CaptureError> {
    let mut capture = CaptureReader::open(source, limits, 1)?;
    let mut frames = Vec::new();
    let error = loop {
        match capture.next_frame() {
            Ok(Some(frame)) => frames.push((
                frame.stamp.frame.get(),
                frame.stamp.at.map(|at| at.to_string()).unwrap_or_default(),
                frame.link.0,
                frame.data.to_vec(),
                frame.wire_len,
            )),
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    assert_eq!(capture.next_frame().unwrap(), None, "nothing comes after the end");
    let problems = capture.problems().iter();
    Ok(Reading {
        frames,
        problems: problems
            .map(|p| (p.kind.code(), p.frame.map(|frame| frame.get()), p.count, p.offset))
            .collect(),
        error,
        links: capture.link_types().iter().map(|link| link.name().into_owned()).collect(),
        packets: capture.packets(),
    })
}

pub(super) fn try_read(file: &[u8]) -> Result<Reading, CaptureError> {
    try_read_from(file, &Limits::default())
}

/// Reads all of a capture whole, and octet by octet with interruptions: both
/// must give the same.
pub(super) fn read(file: &[u8]) -> Reading {
    let whole = try_read(file).expect("a capture");
    let small = Limits { read_block: 64, ..Limits::default() };
    let drops = try_read_from(Dripping::new(file), &small).expect("a capture");
    assert_eq!(whole, drops);
    whole
}

/// Gives one octet at a time, and is interrupted before each.
pub(super) struct Dripping<'o> {
    octets: &'o [u8],
    interrupted: bool,
}

impl<'o> Dripping<'o> {
    pub(super) const fn new(octets: &'o [u8]) -> Self {
        Self { octets, interrupted: false }
    }
}

impl Read for Dripping<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let one = out.len().min(1);
        self.octets.read(&mut out[..one])
    }
}
