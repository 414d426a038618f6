//! The WebSocket layer: the octets of a tunnel → messages (RFC 6455).
//!
//! It is a sibling of `chunk`: a message is the unit in place of a chunk, and
//! comes as the same tokens with the same record. [`Decoder`] reads one
//! direction, from the octet behind the handshake on. It believes what RFC 6455
//! §5.2 says of frames: what payload is masked is unmasked, the frames of one
//! message are joined, control frames may stand between them and are passed
//! over. Octets that the capture lost inside a payload are stepped over, since
//! its length is known; behind a header that lacks octets nothing is read.

#[cfg(test)]
mod tests;

use smallvec::SmallVec;

use crate::chunk::piece as pieces;
use crate::chunk::{Chunk, ChunkToken, Closing, FramingFault, Message, Run};
use crate::tcp::{Gap, Piece};
use crate::units::Stamp;

/// The longest header: two octets, a length of eight, a mask of four.
const HEADER: usize = 14;

/// What the decoder has to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'a> {
    /// The next token of the messages.
    Token(ChunkToken<'a>),
    /// The framing is invalid. Nothing more is read.
    Broken(FramingFault),
    /// The capture lacks octets that are needed to find the next frame.
    /// Nothing more is read.
    Lost,
}

/// Reads the messages of one direction.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    header: SmallVec<[u8; HEADER]>,
    /// The packets of the header, and the latest of them.
    header_trail: SmallVec<[Run; 3]>,
    header_stamps: Option<(Stamp, Stamp)>,
    /// The message whose last frame hasn't come.
    record: Option<Box<Record>>,
    /// A message whose last frame is over, to be told.
    over: bool,
    /// Messages begun.
    index: u64,
    /// Where the next message octet lies among all of them.
    offset: u64,
    keep_payload: usize,
}

#[derive(Debug)]
enum State {
    Header,
    Payload {
        left: u64,
        /// The mask, from the next octet on.
        mask: Option<[u8; 4]>,
        control: bool,
        last: bool,
    },
    Off,
}

/// What is known of the message that is read.
#[derive(Debug)]
struct Record {
    at: u64,
    header: SmallVec<[u8; 24]>,
    text: bool,
    frames: u64,
    size: u64,
    offset: u64,
    received: u64,
    trail: SmallVec<[Run; 3]>,
    first: Stamp,
    last: Stamp,
    payload: Vec<u8>,
}

impl Record {
    fn arrived(&mut self, len: u64, stamp: Stamp) {
        if stamp.frame < self.first.frame {
            self.first = stamp;
        }
        if stamp.frame > self.last.frame {
            self.last = stamp;
        }
        match self.trail.last_mut() {
            Some(run) if run.frame == Some(stamp.frame) => run.len = run.len.saturating_add(len),
            _ => self.trail.push(Run { len, frame: Some(stamp.frame) }),
        }
    }
}

impl Decoder {
    /// A decoder in front of the first frame. `keep_payload` is how many octets
    /// of a message its record keeps.
    #[must_use]
    pub fn new(keep_payload: usize) -> Self {
        Self {
            state: State::Header,
            header: SmallVec::new(),
            header_trail: SmallVec::new(),
            header_stamps: None,
            record: None,
            over: false,
            index: 0,
            offset: 0,
            keep_payload,
        }
    }

    /// Takes octets off the front of a piece, up to the next thing to tell.
    /// `None`: the piece is used up.
    pub fn read<'a>(&mut self, piece: &mut Piece<'a>) -> Option<Step<'a>> {
        loop {
            if let Some(token) = self.tell_over() {
                return Some(Step::Token(token));
            }
            let &octet = piece.bytes.first()?;
            match &mut self.state {
                State::Off => return None,
                State::Header => {
                    let (at, stamp) = (piece.at, piece.stamp);
                    self.header.push(octet);
                    self.header_arrived(stamp);
                    pieces::skip(piece, 1);
                    match self.take_header(at, stamp) {
                        Ok(None) => {}
                        Ok(Some(token)) => return Some(Step::Token(token)),
                        Err(message) => {
                            self.state = State::Off;
                            let chunk = self.record.as_ref().map(|_| self.index);
                            return Some(Step::Broken(FramingFault {
                                chunk,
                                stamp,
                                message: message.to_owned(),
                            }));
                        }
                    }
                }
                State::Payload { left, mask, control, last } => {
                    let mut part = pieces::take(piece, usize::try_from(*left).unwrap_or(usize::MAX));
                    let len = part.bytes.len() as u64;
                    *left = left.saturating_sub(len);
                    if let Some(mask) = mask {
                        unmask(mask, part.bytes.to_mut());
                    }
                    let (control, over, last) = (*control, *left == 0, *last);
                    if over {
                        self.state = State::Header;
                        self.over = last && !control;
                    }
                    if !control && let Some(record) = &mut self.record {
                        record.arrived(len, part.stamp);
                        record.received = record.received.saturating_add(len);
                        let room = self.keep_payload.saturating_sub(record.payload.len());
                        record.payload.extend_from_slice(part.bytes.get(..room).unwrap_or(&part.bytes));
                        let offset = self.offset;
                        self.offset = offset.saturating_add(len);
                        return Some(Step::Token(ChunkToken::Payload { offset, piece: part }));
                    }
                }
            }
        }
    }

    /// Takes a hole off the front of a gap, up to the next thing to tell.
    pub fn gap(&mut self, gap: &mut Gap) -> Option<Step<'static>> {
        loop {
            if let Some(token) = self.tell_over() {
                return Some(Step::Token(token));
            }
            if gap.len == 0 {
                return None;
            }
            match &mut self.state {
                State::Off => return None,
                State::Header => {
                    self.state = State::Off;
                    return Some(Step::Lost);
                }
                State::Payload { left, mask, control, last } => {
                    let len = gap.len.min(*left);
                    *left = left.saturating_sub(len);
                    gap.len = gap.len.saturating_sub(len);
                    gap.at = gap.at.saturating_add(len);
                    if let Some(mask) = mask {
                        mask.rotate_left(usize::try_from(len % 4).unwrap_or_default());
                    }
                    let (control, over, last) = (*control, *left == 0, *last);
                    if over {
                        self.state = State::Header;
                        self.over = last && !control;
                    }
                    if !control && let Some(record) = &mut self.record {
                        record.trail.push(Run { len, frame: None });
                        let offset = self.offset;
                        self.offset = offset.saturating_add(len);
                        return Some(Step::Token(ChunkToken::Missing { offset, len }));
                    }
                }
            }
        }
    }

    /// The tunnel is over: the message that had begun.
    pub fn finish(&mut self) -> Option<ChunkToken<'static>> {
        self.state = State::Off;
        self.record.take().map(|record| record.end(self.index, false))
    }

    /// The message whose last frame is over.
    fn tell_over<'a>(&mut self) -> Option<ChunkToken<'a>> {
        if !std::mem::take(&mut self.over) {
            return None;
        }
        self.record.take().map(|record| record.end(self.index, true))
    }

    fn header_arrived(&mut self, stamp: Stamp) {
        match self.header_trail.last_mut() {
            Some(run) if run.frame == Some(stamp.frame) => run.len += 1,
            _ => self.header_trail.push(Run { len: 1, frame: Some(stamp.frame) }),
        }
        self.header_stamps = Some(match self.header_stamps {
            None => (stamp, stamp),
            Some((first, last)) => (
                if stamp.frame < first.frame { stamp } else { first },
                if stamp.frame > last.frame { stamp } else { last },
            ),
        });
    }

    /// Reads the header, if it is whole with its last octet, which stands at
    /// `at`: the token of a message that begins.
    fn take_header<'a>(&mut self, at: u64, stamp: Stamp) -> Result<Option<ChunkToken<'a>>, &'static str> {
        let octets = self.header.as_slice();
        let &[first, ref rest @ ..] = octets else { return Ok(None) };
        // RFC 6455 §5.2: these mean what an extension says, and none is read.
        if first & 0x70 != 0 {
            return Err(
                "a WebSocket frame uses reserved bits without an extension that is read (RFC 6455, section 5.2)",
            );
        }
        let (last, opcode) = (first & 0x80 != 0, first & 0x0f);
        let control = opcode >= 8;
        match opcode {
            0 if self.record.is_none() => {
                return Err("a continuation frame continues no message (RFC 6455, section 5.4)");
            }
            1 | 2 if self.record.is_some() => {
                return Err("a message begins before the last one ended (RFC 6455, section 5.4)");
            }
            0..=2 | 8..=10 => {}
            _ => return Err("a WebSocket frame has an opcode that there isn't (RFC 6455, section 5.2)"),
        }
        if control && !last {
            return Err("a control frame is fragmented (RFC 6455, section 5.5)");
        }
        let Some(&second) = rest.first() else { return Ok(None) };
        let (masked, short) = (second & 0x80 != 0, second & 0x7f);
        if control && short > 125 {
            return Err("a control frame has more than 125 octets (RFC 6455, section 5.5)");
        }
        let extended = match short {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask_at = 2 + extended;
        if octets.len() < mask_at + if masked { 4 } else { 0 } {
            return Ok(None);
        }
        let length = match extended {
            0 => u64::from(short),
            _ => octets
                .get(2..mask_at)
                .into_iter()
                .flatten()
                .fold(0, |all, &octet| all << 8 | u64::from(octet)),
        };
        if length > u64::MAX >> 1 {
            return Err("a frame's length has its highest bit set (RFC 6455, section 5.2)");
        }
        let mask = octets.get(mask_at..mask_at + 4).filter(|_| masked).and_then(|mask| mask.try_into().ok());
        let header = std::mem::take(&mut self.header);
        let trail = std::mem::take(&mut self.header_trail);
        let (first, last_stamp) = self.header_stamps.take().unwrap_or((stamp, stamp));
        self.state = match length {
            0 => State::Header,
            left => State::Payload { left, mask, control, last },
        };
        if control {
            return Ok(None);
        }
        self.over = length == 0 && last;
        if let Some(record) = &mut self.record {
            record.frames += 1;
            record.size = record.size.saturating_add(length);
            record.arrived(0, stamp);
            return Ok(None);
        }
        self.index += 1;
        let len = header.len() as u64;
        self.record = Some(Box::new(Record {
            at: at.saturating_add(1).saturating_sub(len),
            header: SmallVec::from_slice(&header),
            text: opcode == 1,
            frames: 1,
            size: length,
            offset: self.offset,
            received: 0,
            trail,
            first,
            last: last_stamp,
            payload: Vec::new(),
        }));
        Ok(Some(ChunkToken::Begin { index: self.index, offset: self.offset, size: length }))
    }
}

impl Record {
    fn end<'a>(self: Box<Self>, index: u64, whole: bool) -> ChunkToken<'a> {
        ChunkToken::End(Box::new(Chunk {
            index,
            size_line: self.header,
            size: self.size,
            offset: self.offset,
            received: self.received,
            closing: if whole { Closing::CrLf } else { Closing::None },
            unfinished: !whole,
            at: self.at,
            trail: self.trail,
            first: self.first,
            last: self.last,
            payload: self.payload,
            message: Some(Message { text: self.text, frames: self.frames }),
        }))
    }
}

/// Undoes the mask of octets (RFC 6455 §5.3), and turns it to what follows.
fn unmask(mask: &mut [u8; 4], octets: &mut [u8]) {
    for (octet, key) in octets.iter_mut().zip(mask.iter().cycle()) {
        *octet ^= key;
    }
    mask.rotate_left(octets.len() % 4);
}
