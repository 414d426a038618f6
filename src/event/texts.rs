//! Bodies that are a row of JSON texts: the kinds `watch` and `json`.
//!
//! White space between the texts belongs to none. What a text means is its
//! [`Subject`]'s affair.

use std::ops::Range;

use super::json::{Listener, Recogniser, Shape, Step, skip_space};
use super::kept::Head;
use super::{EventItem, OpenItem, Summary};

/// What is gathered from a text while it is read, and what becomes of it.
pub(super) trait Subject: Listener {
    /// A text begins at an offset; nothing is known of it.
    fn begin(&mut self, start: u64);

    /// Octets of the text.
    fn octets(&mut self, octets: &[u8]);

    /// Whether what is known shows an event.
    fn recognised(&self) -> bool;

    /// The text is whole.
    fn whole(&mut self, span: Range<u64>) -> EventItem;
}

/// The framer of a row of texts.
#[derive(Debug)]
pub(super) struct Texts<S> {
    recogniser: Recogniser,
    subject: S,
    place: Place,
}

/// Where the octets that were read end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Between two texts.
    Between,
    /// In a text.
    Inside { start: u64, read_to: u64 },
    /// Behind a fault.
    Faulted,
}

impl<S: Subject> Texts<S> {
    pub(super) fn new(subject: S) -> Self {
        Self { recogniser: Recogniser::new(), subject, place: Place::Between }
    }

    pub(super) fn read(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        let start = match self.place {
            Place::Faulted => {
                super::swallow(octets, offset);
                return None;
            }
            Place::Inside { start, .. } => start,
            Place::Between => {
                let before = octets.len();
                skip_space(octets);
                *offset = offset.saturating_add((before - octets.len()) as u64);
                if octets.is_empty() {
                    return None;
                }
                self.subject.begin(*offset);
                *offset
            }
        };
        let slice = *octets;
        let step = self.recogniser.read(octets, *offset, &mut self.subject);
        let read = slice.len() - octets.len();
        *offset = offset.saturating_add(read as u64);
        self.subject.octets(slice.get(..read).unwrap_or_default());
        match step {
            Step::Open => {
                self.place = Place::Inside { start, read_to: *offset };
                None
            }
            Step::Whole => {
                self.place = Place::Between;
                Some(self.subject.whole(start..*offset))
            }
            Step::Fault(message) => {
                self.place = Place::Faulted;
                Some(super::fault(start, octets, offset, message))
            }
        }
    }

    pub(super) fn open(&self) -> Option<OpenItem> {
        let Place::Inside { start, .. } = self.place else {
            return None;
        };
        Some(OpenItem {
            start,
            recognised: self.subject.recognised(),
            filler_only: false,
            end: u64::MAX,
            undecided: self.recogniser.ends_here(),
        })
    }

    pub(super) fn resume(&mut self) {
        self.recogniser = Recogniser::new();
        self.place = Place::Between;
    }

    pub(super) fn is_faulted(&self) -> bool {
        self.place == Place::Faulted
    }

    pub(super) fn finish(&mut self) -> Option<EventItem> {
        let Place::Inside { start, read_to } = self.place else {
            return None;
        };
        if !self.recogniser.ends_here() {
            return None;
        }
        self.resume();
        Some(self.subject.whole(start..read_to))
    }
}

/// A text of any shape is an event, and its first characters are shown.
#[derive(Debug)]
pub(super) struct AnyText {
    /// Whether its first characters are wanted.
    summarises: bool,
    head: Head,
}

impl AnyText {
    pub(super) fn new(summarises: bool) -> Self {
        Self { summarises, head: Head::default() }
    }
}

impl Subject for AnyText {
    fn begin(&mut self, _: u64) {
        self.head.clear();
    }

    fn octets(&mut self, octets: &[u8]) {
        if self.summarises {
            self.head.push(octets);
        }
    }

    fn recognised(&self) -> bool {
        true
    }

    fn whole(&mut self, span: Range<u64>) -> EventItem {
        let data = self.summarises.then(|| self.head.characters().into());
        EventItem::Event { span, summary: Box::new(Summary { data, ..Summary::default() }) }
    }
}

/// It doesn't care for members.
impl Listener for AnyText {
    const LISTENS: bool = false;

    fn depth(&self) -> u64 {
        u64::MAX
    }

    fn value(&mut self, _: Shape, _: u64) -> bool {
        false
    }

    fn part(&mut self, _: &[u8]) {}

    fn name(&mut self, _: &[u8]) {}

    fn string(&mut self, _: &[u8]) {}

    fn leave(&mut self) {}
}
