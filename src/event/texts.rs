//! Bodies that are a row of JSON texts: the kinds `watch` and `json`.
//!
//! White space between the texts belongs to none. What a text means is its
//! [`Subject`]'s affair.
//!
//! Behind lost octets, a text may lie within another one, or within a string
//! of it. It is held back until the next octet that is no white space: where
//! another text begins with it, both stand side by side (RFC 8259 §5: elements
//! of an array have a comma between them).

use std::ops::Range;

use super::json::{Listener, Recogniser, Step, skip_space};
use super::kept::Head;
use super::scan::Scan;
use super::{EventItem, MaybeSummary, OpenItem, Summary};
use crate::limits;

/// What is gathered from a text while it is read, and what becomes of it.
pub(super) trait Subject: Listener {
    /// A text begins at an offset; nothing is known of it.
    fn begin(&mut self, start: u64);

    /// Octets of the text.
    fn octets(&mut self, octets: &[u8]);

    /// Whether what is known shows an event, and not a part of one.
    fn recognised(&self) -> bool;

    /// The text is whole.
    fn whole(&mut self, span: Range<u64>) -> EventItem;

    /// How many of a text's first octets are like those of many others, if they
    /// are no more than `longest`, and that can be told of what a slice has of it.
    fn common_length(text: &[u8], longest: usize) -> Option<usize>;

    /// One that gathers the same, and knows nothing yet.
    fn fresh(&self) -> Self;

    /// Whether what is gathered is something that another one can take over.
    fn is_memorable(&self) -> bool;

    /// A text begins at an offset with the octets that another one, which is
    /// memorable, has read: takes over what that gathered.
    fn recall(&mut self, start: u64, other: &Self);

    /// Whether a text that was read to its end, where another one has a string to
    /// come, says of that string what it is, and nothing else.
    fn shows(&self, at_string: &Self, string: &str) -> bool;

    /// Puts a string that is ASCII without escapes in that one's place.
    fn fill_in(&mut self, at_string: &Self, string: &[u8]);

    /// Takes a summary that nobody needs any more, to write another one in.
    fn reuse(&mut self, _: MaybeSummary) {}
}

/// The framer of a row of texts.
#[derive(Debug)]
pub(super) struct Texts<S> {
    recogniser: Recogniser,
    subject: S,
    place: Place,
    /// Octets before were lost, and nothing shows yet that texts stand alone.
    amid: Option<Amid>,
    beginnings: Beginnings<S>,
}

/// How texts begin, and where that leads: watch events of one resource differ in
/// what stands behind `"metadata":{"name":`, and mostly not before. Octets that
/// were read once lead to the same state again, so they are compared as a whole,
/// and not read. Many bodies hold few events, so what was learnt in one serves in
/// the next.
///
/// Of the texts that begin like no known one, one in a few is learnt. Its beginning
/// is on trial until another text begins with it, and then the next one is learnt
/// at once, while there is room. One that is still on trial when the next is due
/// gives way, and twice as many texts go by from then to then. So texts that have
/// nothing in common cost little, and those of other bodies are soon known. Where
/// there is no room, the one that served longest ago gives way.
#[derive(Debug)]
struct Beginnings<S> {
    /// The one that served last is the first.
    known: Vec<Box<Beginning<S>>>,
    /// Whether none has begun with the last of them yet.
    on_trial: bool,
    /// Of how many texts one is learnt.
    interval: u16,
    /// How many of these are to come.
    left: u16,
}

#[derive(Debug)]
struct Beginning<S> {
    octets: Box<[u8]>,
    recogniser: Recogniser,
    subject: S,
    ending: Option<Ending<S>>,
}

/// How a text went on behind its beginning and one string: the bookmarks of a
/// resource differ in their version alone.
#[derive(Debug)]
struct Ending<S> {
    octets: Box<[u8]>,
    /// What the text said.
    subject: S,
}

impl<S: Subject> Beginnings<S> {
    /// Of so many texts one is learnt at most: bodies of few shall need no memory.
    const FEW: u16 = 4;
    /// Of so many texts one is learnt all the same.
    const SELDOM: u16 = 1024;
    /// So many beginnings are known: the events of a watch have three types, and
    /// bodies are of several resources.
    const MOST: usize = 8;
    /// Longer ones aren't learnt.
    const LONGEST: usize = 192;

    const fn new() -> Self {
        Self { known: Vec::new(), on_trial: false, interval: Self::FEW, left: Self::FEW }
    }

    /// The one that a text begins with which goes on behind it.
    #[inline]
    fn of(&mut self, text: &[u8]) -> Option<&mut Beginning<S>> {
        let begins =
            |known: &Beginning<S>| text.len() > known.octets.len() && text.starts_with(&known.octets);
        let place = self.known.iter().position(|known| begins(known))?;
        if place > 0 || self.on_trial {
            self.serve(place);
        }
        self.known.first_mut().map(|known| &mut **known)
    }

    /// Puts the one that serves at the front.
    fn serve(&mut self, place: usize) {
        if self.on_trial && place + 1 == self.known.len() {
            self.on_trial = false;
            if self.known.len() < Self::MOST {
                // Texts have beginnings in common: the next one is worth learning.
                self.left = 1;
            }
        }
        if let Some(front) = self.known.get_mut(..=place) {
            front.rotate_right(1);
        }
    }

    /// A text begins like no known one, and one like `subject` is to read it.
    #[inline]
    fn miss(&mut self, text: &[u8], subject: &S) {
        self.left -= 1;
        if self.left == 0 {
            self.learn(text, subject);
        }
    }

    /// Learns how a text begins.
    #[inline(never)]
    fn learn(&mut self, text: &[u8], subject: &S) {
        let learnt = Self::beginning(text, subject);
        let vain = self.on_trial || learnt.is_none();
        self.interval = if vain { (2 * self.interval).min(Self::SELDOM) } else { Self::FEW };
        self.left = self.interval;
        let Some(learnt) = learnt else { return };
        if self.on_trial || self.known.len() == Self::MOST {
            self.known.pop();
        }
        self.known.push(Box::new(learnt));
        self.on_trial = true;
    }

    /// The beginning of a text that others are likely to have too.
    fn beginning(text: &[u8], subject: &S) -> Option<Beginning<S>> {
        let octets = text.get(..S::common_length(text, Self::LONGEST)?)?;
        let mut subject = subject.fresh();
        let mut recogniser = Recogniser::new();
        subject.begin(0);
        let step = recogniser.read(&mut &*octets, 0, &mut subject);
        let goes_on = step == Step::Open && recogniser.is_memorable() && subject.is_memorable();
        goes_on.then(|| {
            let ending = Ending::of(text, octets, &subject);
            Beginning { octets: octets.into(), recogniser, subject, ending }
        })
    }
}

impl<S: Subject> Beginning<S> {
    /// Finds the end of a text that begins so, if it ends as it is known to: takes
    /// over into `subject` what such a text says. Gives the text's length.
    #[inline]
    fn ends(&mut self, text: &[u8], start: u64, subject: &mut S) -> Option<usize> {
        let ending = self.ending.as_ref()?;
        let (string, behind) = plain_string(text, self.octets.len())?;
        if !behind.starts_with(&ending.octets) {
            if behind.len() >= ending.octets.len() {
                // The next ones aren't likely to end so either.
                self.ending = None;
            }
            return None;
        }
        subject.recall(start, &ending.subject);
        subject.fill_in(&self.subject, string);
        Some(text.len() - behind.len() + ending.octets.len())
    }
}

impl<S: Subject> Ending<S> {
    /// How a text ends behind the string that follows on its beginning, if it lies
    /// in the slice, and what it says of that string is no more than the string.
    fn of(text: &[u8], beginning: &[u8], at_string: &S) -> Option<Self> {
        let (_, behind) = plain_string(text, beginning.len())?;
        if behind.len() > Beginnings::<S>::LONGEST {
            return None;
        }
        let mut ending = None;
        // What comes behind could take the string's place: not that of any string.
        for string in ["a", "b"] {
            let text = [beginning, b"\"", string.as_bytes(), b"\"", behind].concat();
            let (mut rest, mut subject) = (text.as_slice(), at_string.fresh());
            subject.begin(0);
            let step = Recogniser::new().read(&mut rest, 0, &mut subject);
            if step != Step::Whole || !subject.shows(at_string, string) {
                return None;
            }
            let octets = behind.get(..behind.len() - rest.len())?;
            ending = Some(Self { octets: octets.into(), subject });
        }
        ending
    }
}

/// The string at a place in a text, if it is ASCII without escapes, closed in the
/// slice and not too long to show, and what is behind it.
#[inline]
fn plain_string(text: &[u8], at: usize) -> Option<(&[u8], &[u8])> {
    let mut scan = Scan::behind(text, at);
    if !scan.pass_over(*b"\"") || scan.plain() != Some(b'"') {
        return None;
    }
    let string = scan.since(at + 1);
    scan.pass(1);
    (string.len() <= limits::EVENT_LITERAL).then(|| (string, scan.rest()))
}

/// What is known behind lost octets.
#[derive(Debug, Default)]
struct Amid {
    /// A whole text: an event if it stands alone.
    held: Option<(Range<u64>, EventItem)>,
    outside: Outside,
}

/// Whether the place where reading began can lie within a string.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Outside {
    /// It may: no octet yet that a string can't have.
    #[default]
    Unknown,
    /// It may: the last octet was a quotation mark, which would end the string.
    Quoted,
    /// It may: what follows that mark can follow a string.
    Possible,
    /// It can't.
    Sure,
}

impl Outside {
    fn push(&mut self, octets: &[u8]) {
        for &octet in octets {
            *self = match (*self, octet) {
                (Self::Unknown, b'"') => Self::Quoted,
                // RFC 8259 §7: control characters must be escaped.
                (Self::Unknown, 0..0x20) => Self::Sure,
                (Self::Quoted, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b']' | b'}') => Self::Possible,
                (Self::Quoted, _) => Self::Sure,
                (Self::Possible | Self::Sure, _) => return,
                (Self::Unknown, _) => Self::Unknown,
            };
        }
    }
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
        Self {
            recogniser: Recogniser::new(),
            subject,
            place: Place::Between,
            amid: None,
            beginnings: Beginnings::new(),
        }
    }

    #[inline]
    pub(super) fn read(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        if self.amid.is_some() {
            return self.read_amid(octets, offset);
        }
        self.read_text(octets, offset)
    }

    /// Reads behind lost octets, until it is known where texts begin.
    #[cold]
    fn read_amid(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        loop {
            let amid = self.amid.as_mut()?;
            let before = *octets;
            if let Some((span, event)) = &mut amid.held {
                skip_space(octets);
                let space = before.len() - octets.len();
                amid.outside.push(before.get(..space).unwrap_or_default());
                *offset = offset.saturating_add(space as u64);
                let &octet = octets.first()?;
                let begins = matches!(octet, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n');
                let alone = begins && amid.outside == Outside::Sure;
                let (span, event) = (span.clone(), event.clone());
                self.amid = None;
                if alone {
                    return Some(event);
                }
                self.place = Place::Faulted;
                let message = "nobody can know whether this JSON text lies within another one".to_owned();
                return Some(EventItem::Invalid { at: span.start, span, message, well_formed: false });
            }
            let item = self.read_text(octets, offset);
            let amid = self.amid.as_mut()?;
            let read = before.len() - octets.len();
            amid.outside.push(before.get(..read).unwrap_or_default());
            match item {
                Some(event @ EventItem::Event { .. }) => {
                    let EventItem::Event { span, .. } = &event else { return None };
                    amid.held = Some((span.clone(), event));
                }
                item => return item,
            }
        }
    }

    #[inline]
    fn read_text(&mut self, octets: &mut &[u8], offset: &mut u64) -> Option<EventItem> {
        // How many octets are known of a text that begins in the slice.
        let mut known = 0;
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
                if let Some(beginning) = self.beginnings.of(octets) {
                    if let Some(length) = beginning.ends(octets, *offset, &mut self.subject) {
                        let start = *offset;
                        super::advance(octets, offset, length);
                        return Some(self.subject.whole(start..*offset));
                    }
                    self.recogniser.recall(&beginning.recogniser);
                    self.subject.recall(*offset, &beginning.subject);
                    known = beginning.octets.len();
                } else {
                    self.subject.begin(*offset);
                    self.beginnings.miss(octets, &self.subject);
                }
                *offset
            }
        };
        let slice = *octets;
        let step = match known {
            0 => self.recogniser.read(octets, *offset, &mut self.subject),
            _ => self.recogniser.read_behind(known, octets, *offset, &mut self.subject),
        };
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

    #[inline]
    pub(super) fn open(&self) -> Option<OpenItem> {
        if let Some((span, _)) = self.amid.as_ref().and_then(|amid| amid.held.as_ref()) {
            let Range { start, end } = *span;
            return Some(OpenItem { start, recognised: false, filler_only: false, end, undecided: true });
        }
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

    /// Takes a summary to write another one in.
    pub(super) fn reuse(&mut self, summary: MaybeSummary) {
        self.subject.reuse(summary);
    }

    /// As a new one, which gathers the same; but how texts begin it still knows.
    pub(super) fn begin_anew(&mut self) {
        self.resume();
    }

    pub(super) fn resume(&mut self) {
        self.recogniser = Recogniser::new();
        self.place = Place::Between;
        self.amid = None;
    }

    pub(super) fn resume_amid(&mut self) {
        self.resume();
        self.amid = Some(Amid::default());
    }

    pub(super) fn is_faulted(&self) -> bool {
        self.place == Place::Faulted
    }

    pub(super) fn finish(&mut self) -> Option<EventItem> {
        if let Some(amid) = self.amid.take() {
            // The body ends behind a text of its own.
            return amid.held.map(|(_, event)| event);
        }
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
        // Every part of a text looks like one.
        false
    }

    fn whole(&mut self, span: Range<u64>) -> EventItem {
        let summary = if self.summarises {
            MaybeSummary::from(Summary { data: Some(self.head.characters().into()), ..Summary::default() })
        } else {
            MaybeSummary::default()
        };
        EventItem::Event { span, summary }
    }

    fn common_length(_: &[u8], _: usize) -> Option<usize> {
        None
    }

    fn fresh(&self) -> Self {
        Self::new(self.summarises)
    }

    fn is_memorable(&self) -> bool {
        false
    }

    fn recall(&mut self, _: u64, _: &Self) {}

    fn shows(&self, _: &Self, _: &str) -> bool {
        false
    }

    fn fill_in(&mut self, _: &Self, _: &[u8]) {}
}

/// It doesn't care for members.
impl Listener for AnyText {
    const LISTENS: bool = false;
}

#[cfg(test)]
mod tests {
    use super::super::watch::WatchEvent;
    use super::*;

    fn event(kind: &str, version: usize) -> String {
        format!(
            r#"{{"type":"BOOKMARK","object":{{"kind":"{kind}","metadata":{{"resourceVersion":"{version}"}}}}}}"#
        )
    }

    /// Reads texts, of which each is a body.
    fn read(texts: &mut Texts<WatchEvent>, bodies: impl IntoIterator<Item = String>) {
        for body in bodies {
            let item = texts.read(&mut body.as_bytes(), &mut 0);
            assert!(matches!(item, Some(EventItem::Event { .. })), "{item:?}");
            texts.begin_anew();
        }
    }

    /// Whether the next text is known as far as behind the string that differs.
    fn is_known(texts: &mut Texts<WatchEvent>, text: &str) -> bool {
        texts.beginnings.of(text.as_bytes()).is_some_and(|beginning| beginning.ending.is_some())
    }

    #[test]
    fn what_bodies_have_in_common_is_known_in_the_next() {
        let mut texts = Texts::new(WatchEvent::new(true));
        let kinds = ["Pod", "Lease", "Node"];
        read(&mut texts, (0..60).map(|number| event(kinds[number % 3], number)));
        for kind in kinds {
            assert!(is_known(&mut texts, &event(kind, 100)), "{kind}");
        }
        assert_eq!(texts.beginnings.known.len(), 3);
    }

    #[test]
    fn what_bodies_dont_have_in_common_is_seldom_looked_at_and_soon_forgotten() {
        let mut texts = Texts::new(WatchEvent::new(true));
        read(&mut texts, (0..2000).map(|number| event(&format!("Kind{number}"), number)));
        assert_eq!(texts.beginnings.known.len(), 1);
        assert_eq!(texts.beginnings.interval, Beginnings::<WatchEvent>::SELDOM);
    }

    #[test]
    fn of_more_resources_than_there_is_room_for_the_last_are_known() {
        let mut texts = Texts::new(WatchEvent::new(true));
        for kind in 0..20 {
            read(&mut texts, (0..60).map(|number| event(&format!("Kind{kind}"), number)));
            assert!(is_known(&mut texts, &event(&format!("Kind{kind}"), 100)), "{kind}");
        }
        assert_eq!(texts.beginnings.known.len(), Beginnings::<WatchEvent>::MOST);
        assert!(!is_known(&mut texts, &event("Kind0", 100)));
        assert!(is_known(&mut texts, &event("Kind18", 100)));
    }

    #[test]
    fn an_ending_that_does_not_come_is_forgotten() {
        let mut texts = Texts::new(WatchEvent::new(true));
        read(&mut texts, (0..9).map(|number| event("Pod", number)));
        assert!(is_known(&mut texts, &event("Pod", 100)));
        read(&mut texts, [event("Pod", 1).replace("}}}", r#","x":1}}}"#)]);
        assert!(!is_known(&mut texts, &event("Pod", 100)));
    }

    #[test]
    fn an_ending_that_says_what_the_string_says_is_not_known() {
        let mut texts = Texts::new(WatchEvent::new(true));
        let twice = |number| event("Pod", number).replace("}}}", r#","resourceVersion":"a"}}}"#);
        read(&mut texts, (0..9).map(twice));
        let text = twice(100);
        assert!(texts.beginnings.of(text.as_bytes()).is_some());
        assert!(!is_known(&mut texts, &text));
    }
}
