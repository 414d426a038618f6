//! Bodies of lines with a JSON text each: the kind `ndjson`.
//!
//! A line ends with its LF; a CR before it is white space, as RFC 8259 §2 has
//! it. A blank line is no event and no fault. Any other line holds one text:
//! one that goes on in the next line, or a second one, is a fault. The event
//! is the text without the white space around it, and it is whole when the
//! line is: at the LF, or at the end of the body.

use std::ops::Range;

use memchr::memchr;

use super::json::{Recogniser, Step, shown, skip_space};
use super::texts::{AnyText, Subject};
use super::{EventItem, OpenItem};

/// The framer of lines.
#[derive(Debug)]
pub(super) struct Lines {
    recogniser: Recogniser,
    text: AnyText,
    place: Place,
}

/// Where the octets that were read end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// In a line that is blank so far.
    Before,
    /// In a line's text.
    Inside { start: u64, read_to: u64 },
    /// Behind a line's text, which is whole.
    Behind(Range<u64>),
    /// Behind a fault.
    Faulted,
}

impl Lines {
    pub(super) fn new(summarises: bool) -> Self {
        Self { recogniser: Recogniser::new(), text: AnyText::new(summarises), place: Place::Before }
    }

    pub(super) fn read(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        while !octets.is_empty() {
            if self.place == Place::Faulted {
                super::swallow(octets, offset);
                return None;
            }
            let end = memchr(b'\n', octets);
            let (mut line, behind) =
                octets.split_at_checked(end.unwrap_or(octets.len())).unwrap_or((octets, &[]));
            if let Some(fault) = self.line(&mut line, offset) {
                // The fault is the octet before what is left of the line.
                *octets = octets.get(octets.len() - behind.len() - line.len()..).unwrap_or_default();
                return Some(fault);
            }
            *octets = behind;
            if end.is_some() {
                let ended = self.end(octets, offset);
                if ended.is_some() {
                    return ended;
                }
            }
        }
        None
    }

    /// Reads octets of a line that hold no LF: all of them, or up to a fault.
    fn line(&mut self, line: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        loop {
            if !matches!(self.place, Place::Inside { .. }) {
                let before = line.len();
                skip_space(line);
                *offset = offset.saturating_add((before - line.len()) as u64);
            }
            let &octet = line.first()?;
            let start = match &self.place {
                Place::Before => {
                    self.text.begin(*offset);
                    *offset
                }
                Place::Inside { start, .. } => *start,
                Place::Behind(text) => {
                    let message =
                        format!("expected the end of the line after its JSON text, found {}", shown(octet));
                    let fault = super::fault(text.start, line, offset, message);
                    self.place = Place::Faulted;
                    return Some(fault);
                }
                Place::Faulted => return None,
            };
            let slice = *line;
            let step = self.recogniser.read(line, *offset, &mut self.text);
            let read = slice.len() - line.len();
            *offset = offset.saturating_add(read as u64);
            self.text.octets(slice.get(..read).unwrap_or_default());
            self.place = match step {
                Step::Open => Place::Inside { start, read_to: *offset },
                Step::Whole => Place::Behind(start..*offset),
                Step::Fault(message) => {
                    self.place = Place::Faulted;
                    return Some(super::fault(start, line, offset, message));
                }
            };
        }
    }

    /// Reads the LF at the front.
    fn end(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        if let Place::Inside { start, .. } = self.place
            && !self.recogniser.ends_here()
        {
            self.place = Place::Faulted;
            return Some(super::fault(
                start,
                octets,
                offset,
                "the line ends before its JSON text does".to_owned(),
            ));
        }
        super::advance(octets, offset, 1);
        self.finish()
    }

    pub(super) fn open(&self) -> Option<OpenItem> {
        let (start, end, undecided) = match self.place {
            Place::Inside { start, .. } => (start, u64::MAX, self.recogniser.ends_here()),
            Place::Behind(Range { start, end }) => (start, end, true),
            Place::Before | Place::Faulted => return None,
        };
        // A part of a line can look like the beginning of one, up to its end.
        Some(OpenItem { start, recognised: false, filler_only: false, end, undecided })
    }

    pub(super) fn resume(&mut self) {
        self.recogniser = Recogniser::new();
        self.place = Place::Before;
    }

    pub(super) fn is_faulted(&self) -> bool {
        self.place == Place::Faulted
    }

    pub(super) fn finish(&mut self) -> Option<EventItem> {
        let span = match &self.place {
            Place::Inside { start, read_to } if self.recogniser.ends_here() => *start..*read_to,
            Place::Behind(span) => span.clone(),
            _ => return None,
        };
        self.resume();
        Some(self.text.whole(span))
    }
}
