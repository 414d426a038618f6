//! Heads that are in one piece, and those that were read last, for heads that
//! are the same: a client sends the same request again and again, and a server
//! that is asked by many answers with the same head.
//!
//! What is held is what reading would yield, so that it never matters what is
//! held. Only heads that leave the grammar nowhere are.

use super::framing::{self, Delimiter, Method};
use super::head::{self, Said};
use super::start_line::StartLine;
use super::{Framing, RequestHead, ResponseHead, Side};
use crate::chunk::fields;
use crate::units::Stamp;

/// How many heads of each side are held. They are compared one by one, which
/// costs little where they differ early, and much less than reading one.
const HELD: usize = 4;

/// The longest head that is held: 8 of them take 16 KiB, and what is longer
/// has cookies or tokens.
const LONGEST: usize = 2048;

/// A request's head, with what is asked of it once it is whole.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) said: Said<RequestHead>,
    pub(super) delimiter: Delimiter,
    /// It has an Upgrade field.
    pub(super) upgrade: bool,
}

/// A response's head, with what is asked of it once it is whole.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) said: Said<ResponseHead>,
    /// How its body is delimited, unless a HEAD or a CONNECT is answered.
    pub(super) delimiter: Delimiter,
    /// It agrees to go on as HTTP/2.
    pub(super) h2c: bool,
}

/// A head of either side.
#[derive(Debug)]
pub(super) enum Whole {
    Request(Request),
    Response(Response),
}

impl Request {
    pub(super) fn of(said: Said<RequestHead>) -> Self {
        let delimiter = framing::of_request(&said.head);
        let upgrade = framing::has_upgrade(said.head.fields.as_ref());
        Self { said, delimiter, upgrade }
    }

    /// Another one that is the same, if there is nothing to remark in it.
    fn again(&self, framing: Framing) -> Self {
        Self {
            said: Said::plain(self.said.head.clone()),
            delimiter: Delimiter::plain(framing),
            upgrade: self.upgrade,
        }
    }
}

impl Response {
    pub(super) fn of(said: Said<ResponseHead>) -> Self {
        let delimiter = framing::of_response(&said.head, Method::Other);
        let h2c = framing::upgrades_to(said.head.fields.as_ref(), "h2c");
        Self { said, delimiter, h2c }
    }

    /// Another one that is the same, if there is nothing to remark in it.
    fn again(&self, framing: Framing) -> Self {
        Self {
            said: Said::plain(self.said.head.clone()),
            delimiter: Delimiter::plain(framing),
            h2c: self.h2c,
        }
    }
}

impl Whole {
    pub(super) fn side(&self) -> Side {
        match self {
            Self::Request(_) => Side::Request,
            Self::Response(_) => Side::Response,
        }
    }
}

/// The heads that were read last: lent to one connection after the other.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// `None` before the first, so that lending moves no more than a pointer.
    held: Option<Box<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    requests: Ring<Request>,
    responses: Ring<Response>,
}

impl Recent {
    /// The head that `octets`, which came with one packet, begin with, and how
    /// long it is: if it is all there, and plain, as nearly all are. `side` is
    /// whose it must be, `limit` the most octets that it may have.
    pub(super) fn read(
        &mut self,
        octets: &[u8],
        stamp: Stamp,
        side: Option<Side>,
        limit: usize,
    ) -> Option<(Whole, usize)> {
        let held = self.held.get_or_insert_default();
        let (requests, responses) = (&mut held.requests, &mut held.responses);
        let of = |wanted| side.is_none_or(|side| side == wanted);
        let request = of(Side::Request).then(|| requests.find(octets)).flatten();
        let response = of(Side::Response).then(|| responses.find(octets)).flatten();
        let (mut head, len) = match (request, response) {
            (Some((request, framing, len)), _) => (Whole::Request(request.again(framing)), len),
            (_, Some((response, framing, len))) => (Whole::Response(response.again(framing)), len),
            (None, None) => {
                let (head, len) = plain(octets, side)?;
                if let Some(octets) = octets.get(..len).filter(|octets| octets.len() <= LONGEST) {
                    match &head {
                        Whole::Request(request) => {
                            let framing = plain_framing(&request.delimiter);
                            requests.hold(octets, framing, |framing| request.again(framing));
                        }
                        Whole::Response(response) => {
                            let framing = plain_framing(&response.delimiter);
                            responses.hold(octets, framing, |framing| response.again(framing));
                        }
                    }
                }
                (head, len)
            }
        };
        match &mut head {
            Whole::Request(request) => request.said.head.stamp = Some(stamp),
            Whole::Response(response) => response.said.head.stamp = Some(stamp),
        }
        (len <= limit).then_some((head, len))
    }
}

/// How a body is delimited, if nothing is to be remarked on that.
fn plain_framing(delimiter: &Delimiter) -> Option<Framing> {
    delimiter.framing.as_ref().ok().copied().filter(|_| delimiter.remarks.is_empty())
}

/// Reads a head that is all there and of which nothing is to be remarked.
fn plain(octets: &[u8], side: Option<Side>) -> Option<(Whole, usize)> {
    let (side, start) = StartLine::new(side).plain(octets)?;
    let (line, rest) = octets.split_at_checked(start)?;
    let line = line.strip_suffix(b"\r\n")?;
    let (lines, _) = rest.split_at_checked(length(rest)?)?;
    let read = fields::parse(lines);
    if !read.remarks.is_empty() {
        return None;
    }
    let line = head::text(line);
    let fields = Some(read.fields);
    let whole = match side {
        Side::Request => Whole::Request(Request::of(Said::plain(head::request(&line, fields)))),
        Side::Response => Whole::Response(Response::of(Said::plain(head::response(&line, fields)))),
    };
    Some((whole, start + lines.len()))
}

/// How long some field lines are, the empty line behind them included, if each
/// ends in CRLF.
fn length(octets: &[u8]) -> Option<usize> {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', octets) {
        let line = octets.get(start..end)?.strip_suffix(b"\r")?;
        start = end + 1;
        if line.is_empty() {
            return Some(start);
        }
    }
    None
}

/// The last heads of a side; the next replaces the oldest.
#[derive(Debug)]
struct Ring<T> {
    heads: Vec<HeldHead<T>>,
    oldest: usize,
}

#[derive(Debug)]
struct HeldHead<T> {
    octets: Vec<u8>,
    head: T,
    framing: Framing,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { heads: Vec::new(), oldest: 0 }
    }
}

impl<T> Ring<T> {
    /// The head that some octets begin with, how its body is delimited, and its
    /// length. They begin with no other one, since each ends in its first empty
    /// line.
    fn find(&self, octets: &[u8]) -> Option<(&T, Framing, usize)> {
        let held = self.heads.iter().find(|held| octets.starts_with(&held.octets))?;
        Some((&held.head, held.framing, held.octets.len()))
    }

    fn hold(&mut self, octets: &[u8], framing: Option<Framing>, again: impl FnOnce(Framing) -> T) {
        let Some(framing) = framing else { return };
        let head = again(framing);
        match self.heads.get_mut(self.oldest) {
            Some(held) => {
                held.octets.clear();
                held.octets.extend_from_slice(octets);
                (held.head, held.framing) = (head, framing);
            }
            None => self.heads.push(HeldHead { octets: octets.to_vec(), head, framing }),
        }
        self.oldest = (self.oldest + 1) % HELD;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp::untimed(7);

    fn read(recent: &mut Recent, octets: &str, side: Option<Side>) -> Option<(String, usize)> {
        let (head, len) = recent.read(octets.as_bytes(), STAMP, side, usize::MAX)?;
        Some((format!("{head:?}"), len))
    }

    #[test]
    fn a_head_that_was_read_before_is_the_same_and_shares_its_fields() {
        let mut recent = Recent::default();
        let octets = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nmore";
        let mut fields = || match recent.read(octets, STAMP, None, 28) {
            Some((Whole::Request(request), 28)) => request.said.head.fields.unwrap(),
            other => panic!("{other:?}"),
        };
        let (first, second) = (fields(), fields());
        assert!(first.is_same(&second));
        assert!(recent.read(octets, STAMP, None, 27).is_none(), "longer than a head may be");
        assert!(recent.read(octets, STAMP, Some(Side::Response), 99).is_none(), "of the other side");
    }

    #[test]
    fn heads_that_are_cut_or_not_plain_are_left_to_others() {
        for octets in [
            "GET /a HTTP/1.1\r\nHost: a\r\n",
            "GET /a HTTP/1.1\nHost: a\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: a\n\r\n",
            "GET /a HTTP/1.1\r\nHost: a\r\n\n",
            "HTTP/1.1 200 OK\nHost: a\r\n\r\n",
            "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET /a HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
            "\r\nGET /a HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(read(&mut Recent::default(), octets, None), None, "{octets:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_held_never_matters(
            heads in proptest::collection::vec((0..4usize, 0..4usize, 0..4usize, 0..3usize), 1..30),
        ) {
            let mut recent = Recent::default();
            for (line, field, behind, side) in heads {
                let line = ["GET / HTTP/1.1", "HEAD / HTTP/1.0", "HTTP/1.1 200 OK", "HTTP/1.1 101 Now"][line];
                let field = ["", "A: b\r\n", "Upgrade: h2c\r\nA: b\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n"][field];
                let behind = ["", "x", "\r\n", "GET / HTTP/1.1\r\n\r\n"][behind];
                let side = [None, Some(Side::Request), Some(Side::Response)][side];
                let octets = format!("{line}\r\n{field}\r\n{behind}");
                let alone = read(&mut Recent::default(), &octets, side);
                proptest::prop_assert_eq!(read(&mut recent, &octets, side), alone);
            }
        }
    }
}
