//! What a learner has to know, each thing once: explanations stand where their
//! term is first met.
//!
//! A walkthrough is written exchange by exchange as they come, and read in
//! their order. So which place is the first is known only at the end: until
//! then each explanation stands wherever it may be needed, marked, and the
//! [`Lessons`] let through the first of each.

use std::io::{self, Write};

use crate::report::prose::Prose;

/// Begins a line of an explanation; its term comes next. No text of a report
/// holds a control of its own.
const MARK: u8 = 0x01;

/// A term, in the order in which they are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Term {
    Frame,
    Header,
    SizeLine,
    Hexadecimal,
    Extension,
    Payload,
    LineFeed,
    ChunkEnd,
    Event,
    NextChunk,
    LastChunk,
    Trailer,
    NoLastChunk,
}

impl Term {
    const fn text(self) -> &'static str {
        match self {
            Self::Frame => {
                "A frame is a packet of the recording, with the number that Wireshark gives it. A stream is one TCP \
                 connection: it puts the octets (bytes) of its frames in order, and HTTP is written in them."
            }
            Self::Header => {
                "The response's header says how to read what follows it, the body. Most bodies have one length, \
                 known beforehand. Of this one nobody knew it: \"chunked\" says that it comes in chunks, pieces \
                 that each say their own length (RFC 9112, section 7.1)."
            }
            Self::SizeLine => {
                "A chunk begins with its size line: how many octets follow, and then CRLF, the two octets 0d 0a \
                 (carriage return, line feed) that end a line in HTTP."
            }
            Self::Hexadecimal => {
                "The size is hexadecimal: the last digit counts ones, the one before it sixteens, then 256s, 4096s; \
                 and the digits go on behind 9 with a = 10, b = 11 up to f = 15."
            }
            Self::Extension => {
                "What stands between the size and CRLF is a chunk extension: HTTP allows it, and hardly anybody \
                 reads it."
            }
            Self::Payload => {
                "The payload follows: so many octets as the size says, and no others. Each row has how many came before it \
                 in the chunk (in hexadecimal too), up to 16 octets, and the same as text, a dot standing for \
                 what is no letter."
            }
            Self::LineFeed => {
                "The last octet, 0a, is a line feed: the server ends an event with one. It belongs to the payload \
                 and is counted."
            }
            Self::ChunkEnd => {
                "One more CRLF ends the chunk. It is no payload, and the size doesn't count it."
            }
            Self::Event => {
                "An event is what the client waits for. HTTP doesn't promise that each has a chunk of its own; \
                 clients that rely on it break where it isn't so. That is what is checked."
            }
            Self::NextChunk => {
                "The next chunk follows directly behind that CRLF, whenever the server has more to send. The time \
                 beside the frame counts from the request."
            }
            Self::LastChunk => {
                "A size of 0 makes the last chunk: no payload follows, and an empty line ends the body. So a client \
                 knows that it has everything."
            }
            Self::Trailer => "Trailer fields are header fields that the sender knew only at the end.",
            Self::NoLastChunk => {
                "A body that is whole ends with a chunk of size 0 and an empty line. This one has none: it was \
                 still going on, which for a watch is usual."
            }
        }
    }
}

/// Explains a term here, unless it was explained above.
pub(super) fn explain(prose: Prose, term: Term) -> String {
    let mut text = String::new();
    for line in prose.faint(&prose.paragraph(term.text(), "  │ ", "  │ ")).lines() {
        text.push(char::from(MARK));
        text.push(char::from(b'A' + term as u8));
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Which terms were explained.
#[derive(Debug, Default)]
pub(super) struct Lessons {
    explained: u32,
    /// The one whose lines come.
    current: Option<u8>,
}

impl Lessons {
    /// `out`, to which the first explanation of each term gets through.
    pub(super) fn over<W: Write>(&mut self, out: W) -> Filter<'_, W> {
        Filter { lessons: self, out, line: Vec::new() }
    }

    /// Whether a line of this term gets through.
    fn admits(&mut self, term: u8) -> bool {
        let bit = 1u32.checked_shl(u32::from(term.saturating_sub(b'A'))).unwrap_or(0);
        if self.current != Some(term) {
            if self.explained & bit != 0 {
                return false;
            }
            (self.explained, self.current) = (self.explained | bit, Some(term));
        }
        true
    }
}

/// Leaves out what was explained before.
pub(super) struct Filter<'l, W> {
    lessons: &'l mut Lessons,
    out: W,
    /// A line that hasn't ended.
    line: Vec<u8>,
}

impl<W: Write> Filter<'_, W> {
    /// Writes what is left of a line without an end.
    pub(super) fn line(&mut self) -> io::Result<()> {
        match self.line.as_slice() {
            [MARK, term, rest @ ..] => {
                if self.lessons.admits(*term) {
                    self.out.write_all(rest)?;
                }
            }
            line => {
                self.lessons.current = None;
                self.out.write_all(line)?;
            }
        }
        self.line.clear();
        Ok(())
    }
}

impl<W: Write> Write for Filter<'_, W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        for part in octets.split_inclusive(|octet| *octet == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.line()?;
            }
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.line()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::text::TextOptions;

    #[test]
    fn each_term_is_explained_where_it_is_first_met() {
        let prose = Prose::new(&TextOptions { width: 60, ..TextOptions::default() });
        let (size, end) = (explain(prose, Term::SizeLine), explain(prose, Term::ChunkEnd));
        let text = format!("1\n{size}2\n{end}3\n{size}4\n{end}5\n");
        let mut out = Vec::new();
        let mut lessons = Lessons::default();
        let mut filter = lessons.over(&mut out);
        // However it is cut.
        for part in text.as_bytes().chunks(7) {
            filter.write_all(part).unwrap();
        }
        filter.flush().unwrap();
        let shown = String::from_utf8(out).unwrap();
        let expected = "\
1
  │ A chunk begins with its size line: how many octets
  │ follow, and then CRLF, the two octets 0d 0a (carriage
  │ return, line feed) that end a line in HTTP.
2
  │ One more CRLF ends the chunk. It is no payload, and the
  │ size doesn't count it.
3
4
5
";
        assert_eq!(shown, expected);
        let mut out = Vec::new();
        lessons.over(&mut out).write_all(text.as_bytes()).unwrap();
        assert_eq!(out, b"1\n2\n3\n4\n5\n");
    }
}
