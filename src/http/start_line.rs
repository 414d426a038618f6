//! Start lines, octet by octet: request line or status line, or neither
//! (RFC 9112 §3, §4), and what else a stream may begin with.

use super::{Protocol, Side};
use crate::chunk::fields::is_token;

/// The longest method that is believed: registered ones have at most 17
/// octets.
const METHOD: u8 = 64;

const REQUEST_VERSION: &[u8] = b"HTTP/1.";

/// Reads a start line.
#[derive(Debug, Clone)]
pub(super) struct StartLine {
    request: Option<Request>,
    /// The method isn't of capital letters alone, as all registered ones are:
    /// white space in the target isn't tolerated too.
    odd_method: bool,
    status: Option<Status>,
}

#[derive(Debug, Clone, Copy)]
enum Request {
    Method(u8),
    /// Behind the method's blank; whether the target has an octet.
    Target(bool),
    /// Octets of `HTTP/1.` that matched.
    Version(u8),
    /// Behind the version's last digit; whether a CR was seen.
    End(bool),
}

/// How many octets of a status line matched; 13 is within the reason.
type Status = u8;

/// What one more octet makes of a start line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineStep {
    /// It goes on.
    More,
    /// The octet ended the line: a request's, or a response's.
    Done(Side),
    /// No start line begins so.
    Not,
}

impl StartLine {
    /// A line of which nothing was read; `side` is whose it must be.
    pub(super) fn new(side: Option<Side>) -> Self {
        Self {
            request: (side != Some(Side::Response)).then_some(Request::Method(0)),
            odd_method: false,
            status: (side != Some(Side::Request)).then_some(0),
        }
    }

    /// Whose start line the first line of `octets` is, if it is all there and
    /// plain, as nearly all are: a method in capitals and a target without
    /// blanks, or a status line with a blank behind the status. Nothing of it
    /// may have been pushed. Also how long the line is, its end included.
    pub(super) fn plain(&self, octets: &[u8]) -> Option<(Side, usize)> {
        let (line, _) = octets.split_at_checked(memchr::memchr(b'\n', octets)? + 1)?;
        let side = match (self.request, self.status, line) {
            (_, Some(0), [b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor, b' ', a, b, c, b' ', ..])
                if [minor, a, b, c].into_iter().all(u8::is_ascii_digit) =>
            {
                Side::Response
            }
            (Some(Request::Method(0)), ..) => {
                let method = line.iter().take_while(|octet| octet.is_ascii_uppercase()).count();
                let rest = line.get(method..)?.strip_prefix(b" ")?;
                let (target, version) =
                    rest.split_at_checked(rest.len().checked_sub(b" HTTP/1.1\r\n".len())?)?;
                let [b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', minor, b'\r', b'\n'] = version else {
                    return None;
                };
                // Without branches, so that the compiler compares many octets at once.
                let odd = target.iter().fold(false, |odd, &octet| odd | (octet <= b' ') | (octet == 0x7f));
                let plain = (1..=usize::from(METHOD)).contains(&method)
                    && !target.is_empty()
                    && !odd
                    && minor.is_ascii_digit();
                plain.then_some(Side::Request)?
            }
            _ => return None,
        };
        Some((side, line.len()))
    }

    /// Takes the next octet.
    pub(super) fn push(&mut self, octet: u8) -> LineStep {
        if octet == b'\n' {
            let request = matches!(self.request, Some(Request::End(_)));
            let status = self.status.is_some_and(|matched| matched >= 12);
            (self.request, self.status) = (None, None);
            return match (request, status) {
                (true, _) => LineStep::Done(Side::Request),
                (_, true) => LineStep::Done(Side::Response),
                _ => LineStep::Not,
            };
        }
        if matches!(self.request, Some(Request::Method(_))) && octet != b' ' {
            self.odd_method |= !octet.is_ascii_uppercase();
        }
        self.request = self.request.and_then(|state| state.next(octet, self.odd_method));
        self.status = self.status.and_then(|matched| status(matched, octet));
        if self.request.is_none() && self.status.is_none() { LineStep::Not } else { LineStep::More }
    }

    /// How many octets at the front of `octets` change nothing: those within a
    /// target or a reason phrase.
    pub(super) fn indifferent(&self, octets: &[u8]) -> usize {
        match (self.request, self.status) {
            (Some(Request::Target(true)), None) => {
                octets.iter().take_while(|octet| matches!(octet, 0x21..=0x7e | 0x80..)).count()
            }
            (None, Some(13..)) => memchr::memchr(b'\n', octets).unwrap_or(octets.len()),
            _ => 0,
        }
    }
}

impl Request {
    /// RFC 9112 §3: `method SP request-target SP HTTP-version`.
    fn next(self, octet: u8, strict: bool) -> Option<Self> {
        match (self, octet) {
            (Self::Method(count), b' ') if count > 0 => Some(Self::Target(false)),
            (Self::Method(count), _) if count < METHOD && is_token(octet) => Some(Self::Method(count + 1)),
            (Self::Target(true), b' ') => Some(Self::Version(0)),
            (Self::Target(_), 0x21..=0x7e | 0x80..) => Some(Self::Target(true)),
            (Self::Version(count), _) => match REQUEST_VERSION.get(usize::from(count)) {
                Some(expected) if octet == *expected => Some(Self::Version(count + 1)),
                None if octet.is_ascii_digit() => Some(Self::End(false)),
                // RFC 9112 §3.2: a target has no white space, but clients that
                // leave it in exist; the last word is the version.
                _ if !strict => Self::Target(true).next(octet, strict),
                _ => None,
            },
            (Self::End(false), b'\r') => Some(Self::End(true)),
            (Self::End(false), _) if !strict => Self::Target(true).next(octet, strict),
            _ => None,
        }
    }
}

/// RFC 9112 §4: `HTTP-version SP status-code SP [ reason-phrase ]`; the blank
/// behind the status may be missing.
fn status(matched: Status, octet: u8) -> Option<Status> {
    let fits = match matched {
        0..=6 => REQUEST_VERSION.get(usize::from(matched)) == Some(&octet),
        7 | 9..=11 => octet.is_ascii_digit(),
        8 => octet == b' ',
        12 => matches!(octet, b' ' | b'\r'),
        _ => return Some(matched),
    };
    fits.then_some(matched + 1)
}

/// What a stream speaks whose first octets begin no start line; `None` while
/// they don't tell.
pub(super) fn foreign(octets: &[u8]) -> Option<Protocol> {
    /// A SETTINGS frame on stream 0 (RFC 9113 §6.5): a server's preface. Its
    /// third octet is a length.
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    match octets {
        [] | [0x14..=0x17] => None,
        // RFC 8446 §5.1: a record's type and legacy version.
        [0x14..=0x17, 3, ..] => Some(Protocol::Tls),
        [0, ..] => {
            let fits = octets
                .iter()
                .zip(SETTINGS)
                .enumerate()
                .all(|(place, (octet, fit))| place == 2 || *octet == fit);
            match fits {
                true if octets.len() < SETTINGS.len() => None,
                true => Some(Protocol::Http2),
                false => Some(Protocol::Other),
            }
        }
        // RFC 9113 §3.4; and how curl prints the status line of HTTP/2.
        _ if octets.starts_with(b"PRI * HTTP/2") || octets.starts_with(b"HTTP/2") => Some(Protocol::Http2),
        _ => Some(Protocol::Other),
    }
}

/// Tells whether a segment in the middle of a stream begins as one of TLS or
/// HTTP/2 does: with a record's header, or the client's preface.
#[derive(Debug, Clone, Default)]
pub(super) struct Preface {
    matched: u8,
}

impl Preface {
    /// Takes the next octet: a protocol that is recognised by it, or `Err` if
    /// no such segment begins so.
    pub(super) fn push(&mut self, octet: u8) -> Result<Option<Protocol>, ()> {
        // RFC 9113 §3.4.
        const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n";
        /// From here on `matched` counts octets of a record's header.
        const TLS: u8 = 100;
        // RFC 8446 §5.1: type, version and length; a record has at most
        // 2^14 + 256 octets (TLS 1.2: 2048).
        let fits = match (self.matched, octet) {
            (0, 0x14..=0x17) => {
                self.matched = TLS;
                true
            }
            (101, 3) | (102, 0..=4) | (103, 0..=0x48) => true,
            (104, _) => return Ok(Some(Protocol::Tls)),
            (matched, _) => HTTP_2.get(usize::from(matched)) == Some(&octet),
        };
        self.matched += 1;
        match fits {
            true if usize::from(self.matched) == HTTP_2.len() => Ok(Some(Protocol::Http2)),
            true => Ok(None),
            false => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of a line, and how many octets that took.
    fn read(side: Option<Side>, line: &str) -> (LineStep, usize) {
        let mut reader = StartLine::new(side);
        for (place, octet) in line.bytes().enumerate() {
            match reader.push(octet) {
                LineStep::More => {}
                step => return (step, place + 1),
            }
        }
        (LineStep::More, line.len())
    }

    #[test]
    fn request_and_status_lines_are_told_apart() {
        assert_eq!(read(None, "GET /a?b HTTP/1.1\r\n"), (LineStep::Done(Side::Request), 19));
        assert_eq!(read(None, "OPTIONS * HTTP/1.0\n").0, LineStep::Done(Side::Request));
        assert_eq!(read(None, "HTTP/1.1 200 OK\r\n").0, LineStep::Done(Side::Response));
        assert_eq!(read(None, "HTTP/1.1 200 \r\n").0, LineStep::Done(Side::Response));
        assert_eq!(read(None, "HTTP/1.0 204\r\n").0, LineStep::Done(Side::Response));
        assert_eq!(read(None, "HTTP /a HTTP/1.1\r\n").0, LineStep::Done(Side::Request));
        assert_eq!(read(None, "GET /a b HTTP HTTP/1.0 HTTP/1.1\r\n").0, LineStep::Done(Side::Request));
    }

    proptest::proptest! {
        #[test]
        fn a_line_that_is_read_at_once_is_what_its_octets_make_of_it(
            words in proptest::collection::vec(proptest::sample::select(vec![
                "GET", "get", " ", "/", "/a?b=c", "\u{e9}", "HTTP/1.1", "HTTP/1.", "0", "200", "OK", "\r", "\r\n", "\n", "\t", "\x7f", "HTTP",
            ]), 0..9),
            known in proptest::option::of(proptest::sample::select(vec![Side::Request, Side::Response])),
        ) {
            let line = words.concat();
            for line in [line.clone(), format!("GET {line} HTTP/1.1\r\n"), format!("HTTP/1.1 200{line}\r\n")] {
                if let Some((side, length)) = StartLine::new(known).plain(line.as_bytes()) {
                    proptest::prop_assert_eq!(read(known, &line), (LineStep::Done(side), length), "{:?}", line);
                }
            }
        }
    }

    #[test]
    fn plain_lines_are_read_at_once() {
        let plain = |line: &str| StartLine::new(None).plain(line.as_bytes());
        assert_eq!(plain("GET /a?b HTTP/1.1\r\nHost: a"), Some((Side::Request, 19)));
        assert_eq!(plain("HTTP/1.1 200 OK\r\n"), Some((Side::Response, 17)));
        assert_eq!(plain("GET /a b HTTP/1.1\r\n"), None);
        assert_eq!(plain("GET /a HTTP/1.1"), None);
    }

    #[test]
    fn a_side_that_is_known_is_not_doubted() {
        assert_eq!(read(Some(Side::Response), "G"), (LineStep::Not, 1));
        assert_eq!(read(Some(Side::Request), "HTTP/"), (LineStep::Not, 5));
    }

    #[test]
    fn nothing_is_called_other_too_early() {
        for start in
            ["G", "GET", "GET ", "GET /", "GET / HTTP/1", "HTTP/1.1 2", "HTTP/1.1 200", "HTTP/1.1 200 OK\r"]
        {
            assert_eq!(read(None, start), (LineStep::More, start.len()), "{start:?}");
        }
    }

    #[test]
    fn other_lines_fail_at_the_octet_that_tells() {
        for (line, place) in [
            ("GET /\r\n", 6),
            ("GET / HTTP/2.0\r\n", 15),
            ("SSH-2.0-OpenSSH\r\n", 16),
            ("EHLO mail\r\n", 10),
            ("220 mail ESMTP\r\n", 10),
            ("*1\r\n", 3),
            ("HTTP/1.1 OK\r\n", 10),
            ("HTTP/1.1 2000\r\n", 13),
            ("GET / HTTP/1.1 \r\n", 16),
            (" GET", 1),
        ] {
            assert_eq!(read(None, line), (LineStep::Not, place), "{line:?}");
        }
    }

    #[test]
    fn other_protocols_are_known_by_their_first_octets() {
        assert_eq!(foreign(&[0x16]), None);
        assert_eq!(foreign(&[0x16, 3]), Some(Protocol::Tls));
        assert_eq!(foreign(&[0x17, 3, 3]), Some(Protocol::Tls));
        assert_eq!(foreign(&[0x16, 4]), Some(Protocol::Other));
        assert_eq!(foreign(b"PRI * HTTP/2"), Some(Protocol::Http2));
        assert_eq!(foreign(b"HTTP/2 200"), Some(Protocol::Http2));
        assert_eq!(foreign(&[0, 0, 18, 4]), None);
        assert_eq!(foreign(&[0, 0, 18, 4, 0, 0, 0, 0, 0, 0]), Some(Protocol::Http2));
        assert_eq!(foreign(&[0, 0, 18, 5]), Some(Protocol::Other));
        assert_eq!(foreign(b"SSH-"), Some(Protocol::Other));
    }
}
