//! Heads that are in one piece, and those that were read last, for heads that
//! are the same: a client sends the same request again and again, and a server
//! that is asked by many answers with the same head. Of those that are like one
//! before only the lines that differ are read: mostly a date, an identifier, or
//! the target.
//!
//! What is held is what reading would yield, so that it never matters what is
//! held. Only heads that leave the grammar nowhere are.

use std::mem;

use smallvec::SmallVec;

use super::framing::{self, Delimiter, Method};
use super::head::{self, Said};
use super::start_line::StartLine;
use super::{Fields, Framing, Model, RequestHead, ResponseHead, Side};
use crate::chunk::{Decoder, fields};

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
    pub(super) method: Method,
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

/// A head of either side, where it lies: heads are large. One that is held has
/// no stamp, since it was in several packets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Whole<'h> {
    Request(&'h Request),
    Response(&'h Response),
}

impl Request {
    pub(super) fn of(said: Said<RequestHead>) -> Self {
        let delimiter = framing::of_request(&said.head);
        let upgrade = framing::has_upgrade(said.head.fields.as_ref());
        let method = Method::of(&said.head);
        Self { said, delimiter, upgrade, method }
    }
}

impl Response {
    pub(super) fn of(said: Said<ResponseHead>) -> Self {
        let delimiter = framing::of_response(&said.head, Method::Other);
        let h2c = framing::upgrades_to(said.head.fields.as_ref(), "h2c");
        Self { said, delimiter, h2c }
    }
}

/// A head that may be held.
trait Hold: Sized {
    type Head;
    const SIDE: Side;

    /// How its body is delimited.
    fn delimiter(&self) -> &Delimiter;

    /// What its copies are told by.
    fn model(&mut self) -> &mut Model;

    /// One of that head and framing, with nothing to remark in it, and with
    /// whatever else is asked of this one.
    fn with(&self, head: Self::Head, framing: Framing) -> Self;

    /// The one that is like it.
    fn like(&self, framing: Framing, kin: &Kin<'_>) -> Self;

    /// How its body is delimited, if nothing is to be remarked on that.
    fn framing(&self) -> Option<Framing> {
        let delimiter = self.delimiter();
        delimiter.framing.as_ref().ok().copied().filter(|_| delimiter.remarks.is_empty())
    }
}

impl Hold for Request {
    type Head = RequestHead;
    const SIDE: Side = Side::Request;

    fn delimiter(&self) -> &Delimiter {
        &self.delimiter
    }

    fn model(&mut self) -> &mut Model {
        &mut self.said.head.model
    }

    fn with(&self, head: RequestHead, framing: Framing) -> Self {
        let method = Method::of(&head);
        Self { said: Said::plain(head), delimiter: Delimiter::plain(framing), upgrade: self.upgrade, method }
    }

    fn like(&self, framing: Framing, kin: &Kin<'_>) -> Self {
        let held = &self.said.head;
        let fields = kin.fields(held.fields.as_ref());
        let head = match kin.line {
            Some(line) => head::request(&head::text(line), fields),
            None => RequestHead { fields, ..held.clone() },
        };
        if kin.tells || head.version != held.version {
            return Self::of(Said::plain(head));
        }
        self.with(head, framing)
    }
}

impl Hold for Response {
    type Head = ResponseHead;
    const SIDE: Side = Side::Response;

    fn delimiter(&self) -> &Delimiter {
        &self.delimiter
    }

    fn model(&mut self) -> &mut Model {
        &mut self.said.head.model
    }

    fn with(&self, head: ResponseHead, framing: Framing) -> Self {
        Self { said: Said::plain(head), delimiter: Delimiter::plain(framing), h2c: self.h2c }
    }

    fn like(&self, framing: Framing, kin: &Kin<'_>) -> Self {
        let held = &self.said.head;
        let fields = kin.fields(held.fields.as_ref());
        let head = match kin.line {
            Some(line) => head::response(&head::text(line), fields),
            None => ResponseHead { fields, ..held.clone() },
        };
        if kin.tells || kin.line.is_some() {
            return Self::of(Said::plain(head));
        }
        self.with(head, framing)
    }
}

impl Whole<'_> {
    pub(super) fn side(&self) -> Side {
        match self {
            Self::Request(_) => Side::Request,
            Self::Response(_) => Side::Response,
        }
    }
}

/// What one connection leaves to the next, to which it is lent.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// `None` before the first, so that lending moves no more than pointers.
    heads: Option<Box<Heads>>,
    /// A reader of chunks whose body is over. The next body has it, so that many
    /// short ones take no more memory than one.
    spent: Option<Box<Decoder>>,
}

impl Recent {
    /// Takes out the heads that were read last.
    pub(super) fn take_heads(&mut self) -> Box<Heads> {
        self.heads.take().unwrap_or_default()
    }

    /// Puts them back.
    pub(super) fn put_heads(&mut self, heads: Box<Heads>) {
        self.heads = Some(heads);
    }

    /// A reader of chunks that nobody needs any more, if there is one.
    pub(super) fn take_spent(&mut self) -> Option<Box<Decoder>> {
        self.spent.take()
    }

    /// Keeps a reader of chunks that nobody needs any more.
    pub(super) fn keep_spent(&mut self, spent: Box<Decoder>) {
        self.spent = Some(spent);
    }
}

/// The heads that were read last.
#[derive(Debug, Default)]
pub(super) struct Heads {
    requests: Ring<Request>,
    responses: Ring<Response>,
}

impl Heads {
    /// The head that `octets`, which came with one packet, begin with, and how
    /// long it is: if it is all there, and plain, as nearly all are. `side` is
    /// whose it must be, `limit` the most octets that it may have.
    pub(super) fn read(
        &mut self,
        octets: &[u8],
        side: Option<Side>,
        limit: usize,
    ) -> Option<(Whole<'_>, usize)> {
        let Self { requests, responses } = self;
        let of = |wanted| side.is_none_or(|side| side == wanted);
        let request = of(Side::Request).then(|| requests.read(octets)).flatten();
        let mut response = || of(Side::Response).then(|| responses.read(octets)).flatten();
        let (head, len) = if let Some((place, len)) = request {
            (Whole::Request(requests.at(place)?), len)
        } else if let Some((place, len)) = response() {
            (Whole::Response(responses.at(place)?), len)
        } else {
            let (side, start) = StartLine::new(side).plain(octets)?;
            let (line, rest) = octets.split_at_checked(start)?;
            let (fields, len) = plain_fields(rest)?;
            let (line, len) = (head::text(line.strip_suffix(b"\r\n")?), start + len);
            let octets = octets.get(..len).unwrap_or_default();
            let head = match side {
                Side::Request => {
                    let head = Request::of(Said::plain(head::request(&line, Some(fields))));
                    let place = requests.hold(octets, head);
                    Whole::Request(requests.at(place)?)
                }
                Side::Response => {
                    let head = Response::of(Said::plain(head::response(&line, Some(fields))));
                    let place = responses.hold(octets, head);
                    Whole::Response(responses.at(place)?)
                }
            };
            (head, len)
        };
        (len <= limit).then_some((head, len))
    }
}

/// The fields that some octets begin with, and how long they are with the empty
/// line behind them: if all of it is there, and nothing to be remarked.
fn plain_fields(octets: &[u8]) -> Option<(Fields, usize)> {
    let (lines, _) = octets.split_at_checked(length(octets)?)?;
    let read = fields::parse(lines);
    read.remarks.is_empty().then_some((read.fields, lines.len()))
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
    /// The last one that couldn't be held.
    other: Option<T>,
    /// Where the lines of the head end that is read.
    ends: Vec<usize>,
}

#[derive(Debug)]
struct HeldHead<T> {
    octets: Vec<u8>,
    /// Where each line ends: the start line, one for each field, the empty one.
    ends: Vec<usize>,
    head: T,
    framing: Framing,
}

/// A head that has as many lines as one that is held, and the same names.
struct Kin<'o> {
    len: usize,
    /// Its start line without its end, if that differs.
    line: Option<&'o [u8]>,
    /// Which fields differ, and what stands behind their colons.
    values: SmallVec<[(usize, &'o [u8]); 4]>,
    /// One of those says how the body is delimited, or what follows it.
    tells: bool,
}

impl Kin<'_> {
    /// Its fields: those that don't differ are those that are held.
    fn fields(&self, held: Option<&Fields>) -> Option<Fields> {
        if self.values.is_empty() {
            return held.cloned();
        }
        let mut values = self.values.iter().peekable();
        let fields = held?.iter().enumerate().map(|(place, (name, value))| {
            let differs = values.next_if(|(differs, _)| *differs == place);
            (name.clone(), differs.map_or_else(|| value.clone(), |(_, value)| fields::value(value)))
        });
        Some(fields.collect())
    }
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { heads: Vec::new(), oldest: 0, other: None, ends: Vec::new() }
    }
}

impl<T: Hold> Ring<T> {
    /// Where the head is that some octets begin with, and its length, if one is
    /// held that is the same, or like it.
    fn read(&mut self, octets: &[u8]) -> Option<(Option<usize>, usize)> {
        // They begin with no other one, since each ends in its first empty line.
        let mut held = self.heads.iter().enumerate();
        if let Some((place, held)) = held.find(|(_, held)| octets.starts_with(&held.octets)) {
            return Some((Some(place), held.octets.len()));
        }
        // The one that was held last is looked at first.
        let (behind, before) = self.heads.split_at_checked(self.oldest)?;
        let mut held = behind.iter().rev().chain(before.iter().rev());
        let ends = &mut self.ends;
        let (held, kin) = held.find_map(|held| Some((held, held.kin(octets, ends)?)))?;
        let head = held.head.like(held.framing, &kin);
        let place = self.hold_read(octets.get(..kin.len).unwrap_or_default(), head);
        Some((place, kin.len))
    }

    /// Holds a head, and says where.
    fn hold(&mut self, octets: &[u8], head: T) -> Option<usize> {
        self.ends.clear();
        self.ends.extend(memchr::memchr_iter(b'\n', octets).map(|end| end + 1));
        self.hold_read(octets, head)
    }

    /// Holds a head of which is known where its lines end.
    fn hold_read(&mut self, octets: &[u8], mut head: T) -> Option<usize> {
        let Some(framing) = head.framing().filter(|_| octets.len() <= LONGEST) else {
            self.other = Some(head);
            return None;
        };
        *head.model() = Model::new();
        let place = self.oldest;
        if self.heads.len() < HELD {
            self.heads.push(HeldHead { octets: Vec::new(), ends: Vec::new(), head, framing });
        } else if let Some(held) = self.heads.get_mut(place) {
            (held.head, held.framing) = (head, framing);
        }
        if let Some(held) = self.heads.get_mut(place) {
            held.octets.clear();
            held.octets.extend_from_slice(octets);
            mem::swap(&mut held.ends, &mut self.ends);
        }
        self.oldest = (place + 1) % HELD;
        Some(place)
    }

    /// The head that is held at a place, or the last that couldn't be.
    fn at(&self, place: Option<usize>) -> Option<&T> {
        match place {
            Some(place) => self.heads.get(place).map(|held| &held.head),
            None => self.other.as_ref(),
        }
    }
}

impl<T: Hold> HeldHead<T> {
    /// What differs in the head that some octets begin with, if it is like this
    /// one. A line that differs in its value alone is as plain as the one that
    /// is held, for whatever stands in it. `ends` is where to put where the
    /// lines end.
    fn kin<'o>(&self, octets: &'o [u8], ends: &mut Vec<usize>) -> Option<Kin<'o>> {
        let mut kin = Kin { len: 0, line: None, values: SmallVec::new(), tells: false };
        ends.clear();
        let mut start = 0;
        for (place, &end) in self.ends.iter().enumerate() {
            let line = self.octets.get(start..end)?;
            start = end;
            let rest = octets.get(kin.len..)?;
            if rest.starts_with(line) {
                kin.len += line.len();
                ends.push(kin.len);
                continue;
            }
            let (differs, _) = rest.split_at_checked(memchr::memchr(b'\n', rest)? + 1)?;
            kin.len += differs.len();
            ends.push(kin.len);
            let differs = differs.strip_suffix(b"\r\n")?;
            let Some(field) = place.checked_sub(1) else {
                StartLine::new(Some(T::SIDE)).plain(octets)?;
                kin.line = Some(differs);
                continue;
            };
            let (name, _) = line.split_at_checked(memchr::memchr(b':', line)? + 1)?;
            kin.values.push((field, differs.strip_prefix(name)?));
            kin.tells |= framing::tells(name.strip_suffix(b":").unwrap_or_default());
        }
        Some(kin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn read(recent: &mut Heads, octets: &str, side: Option<Side>) -> Option<(String, usize)> {
        let (head, len) = recent.read(octets.as_bytes(), side, usize::MAX)?;
        Some((format!("{head:?}"), len))
    }

    #[test]
    fn a_head_that_was_read_before_is_the_same_and_shares_its_fields() {
        let mut recent = Heads::default();
        let octets = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nmore";
        let mut fields = || match recent.read(octets, None, 28) {
            Some((Whole::Request(request), 28)) => request.said.head.fields.clone().unwrap(),
            other => panic!("{other:?}"),
        };
        let (first, second) = (fields(), fields());
        assert!(first.is_same(&second));
        assert!(recent.read(octets, None, 27).is_none(), "longer than a head may be");
        assert!(recent.read(octets, Some(Side::Response), 99).is_none(), "of the other side");
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
            assert_eq!(read(&mut Heads::default(), octets, None), None, "{octets:?}");
        }
    }

    #[test]
    fn a_head_that_is_like_one_before_shares_what_does_not_differ() {
        let mut recent = Heads::default();
        let mut fields = |octets: &str| match recent.read(octets.as_bytes(), None, usize::MAX) {
            Some((Whole::Request(request), _)) => request.said.head.fields.clone().unwrap(),
            Some((Whole::Response(response), _)) => response.said.head.fields.clone().unwrap(),
            other => panic!("{other:?}"),
        };
        let first = fields("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(first.is_same(&fields("POST /b HTTP/1.1\r\nHost: a\r\n\r\n")));
        let first = fields("HTTP/1.1 200 OK\r\nServer: a\r\nDate: today\r\n\r\n");
        let second = fields("HTTP/1.1 200 OK\r\nServer: a\r\nDate:\ttomorrow \r\n\r\n");
        assert_eq!(second.as_slice(), [first[0].clone(), ("Date".into(), "tomorrow".into())]);
    }

    fn lines() -> impl Strategy<Value = Vec<String>> {
        let name =
            select(vec!["A", "Date", "Host ", "Upgrade", "Transfer-Encoding", "Content-Length", "", " x"]);
        let value = select(vec![
            "",
            " 1",
            "2 ",
            " chunked",
            " h2c",
            "\t\u{e9}",
            "\r",
            "\u{1}",
            ":",
            " a much longer value, as of a date",
        ]);
        vec((name, value), 0..4)
            .prop_map(|lines| lines.into_iter().map(|(name, value)| format!("{name}:{value}\r\n")).collect())
    }

    proptest::proptest! {
        #[test]
        fn what_is_held_never_matters(
            // Each differs from the one before in some of its parts.
            heads in vec((0..6usize, option::of(lines()), option::of((0..3usize, 0..10usize)), 0..4usize, 0..3usize), 1..30),
        ) {
            let mut recent = Heads::default();
            let mut fields = Vec::new();
            for (line, others, value, behind, side) in heads {
                let line = ["GET / HTTP/1.1", "GET /a HTTP/1.0", "CONNECT a HTTP/1.1", "HTTP/1.1 200 OK", "HTTP/1.1 101 Now", "HTTP/1.1 204"][line];
                fields = others.unwrap_or(fields);
                if let Some((place, value)) = value
                    && let Some(field) = fields.get_mut(place)
                {
                    let name = field.split(':').next().unwrap_or_default();
                    *field = format!("{name}: {value}\r\n");
                }
                let behind = ["", "x", "\r\n", "GET / HTTP/1.1\r\n\r\n"][behind];
                let side = [None, Some(Side::Request), Some(Side::Response)][side];
                let octets = format!("{line}\r\n{}\r\n{behind}", fields.concat());
                let alone = read(&mut Heads::default(), &octets, side);
                prop_assert_eq!(read(&mut recent, &octets, side), alone);
            }
        }
    }
}
