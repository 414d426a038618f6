//! Which octets of a body are secret, found while it comes, in any pieces.
//!
//! A body is read as JSON texts, one behind the other or on lines of an event
//! stream. Secret are, as values:
//!
//! - what lies under `data` and `stringData` of an object whose `kind` names a
//!   Secret, and in its `kubectl.kubernetes.io/last-applied-configuration`. An
//!   object without a `kind` has that of the list which it is in. Where the
//!   kind comes behind the data, or the object isn't whole yet, the values
//!   count as secret until it is known that they aren't;
//! - members such as `token` and `password`, whatever they are in;
//! - what stands behind `Bearer` and `Basic`, and JSON Web Tokens, anywhere.
//!
//! A body that can't be read so (compressed, binary, YAML, a form) is secret
//! as a whole. Behind octets that the capture lacks, and behind what isn't
//! JSON where JSON is promised, nobody can know what the next octets are in:
//! all are secret until a watch event begins.
//!
//! Memory: a few octets for each level of nesting, up to [`LEVELS`] (deeper
//! strings are secret), and two offsets for each value that is secret or may
//! be, only for octets that a report keeps. Each octet is looked at once.
//!
//! It is one machine, in one file: each octet may change all that it knows.

use std::collections::VecDeque;
use std::ops::Range;

use super::beginning::Beginning;
use super::words::Words;
use super::{MARK, is_secret_name};
use crate::chunk::ChunkToken;
use crate::http::{Fields, target};
use crate::report::JudgedChunk;
use crate::verdict::Verdict;

/// Levels of nesting that are followed. Kubernetes has about ten.
const LEVELS: usize = 128;

/// Octets of a name or a kind that are compared: six times the longest one
/// that counts, since each character may be an escape of six.
const LITERAL: usize = 400;

/// How a body can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Readable {
    /// Whether it is text at all, once it is decoded.
    pub text: bool,
    /// Whether it is compressed.
    pub coded: bool,
    /// Whether its content type promises JSON, so that anything else means
    /// that nobody knows where one is.
    pub strict: bool,
    /// Whether the request is for Secrets, so that objects without a kind are.
    pub secrets: bool,
}

impl Readable {
    /// As its message's fields and the request's target say.
    #[must_use]
    pub fn of(fields: Option<&Fields>, target: Option<&str>) -> Self {
        let value = |name: &str| {
            let mut found =
                fields.into_iter().flatten().filter(|(field, _)| field.eq_ignore_ascii_case(name));
            found.next_back().map(|(_, value)| value.trim().to_ascii_lowercase()).unwrap_or_default()
        };
        let coded = |name: &str| {
            value(name).split(',').any(|coding| !matches!(coding.trim(), "" | "identity" | "chunked"))
        };
        let kind = value("content-type");
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let json = kind.contains("json");
        let plain = kind.is_empty() || json || kind.starts_with("text/") || kind.contains("xml");
        let text = plain && !kind.contains("yaml");
        let coded = coded("content-encoding") || coded("transfer-encoding");
        let secrets =
            target.is_some_and(|target| target::path(target).split('/').any(|part| part == "secrets"));
        Self { text, coded, strict: json || kind.is_empty(), secrets }
    }
}

/// Finds the secret octets of one body. See the module.
#[derive(Debug)]
pub struct Body {
    readable: Readable,
    /// Behind the last octet of the current chunk that a report keeps.
    kept_to: u64,
    /// Why all is secret, if it is.
    blind: Option<Blind>,
    stack: Vec<Level>,
    /// Levels that aren't followed.
    deep: u64,
    token: Token,
    /// Whether a value has just ended, so that another can't begin.
    behind_value: bool,
    marks: VecDeque<Mark>,
    /// How many marks were let go in front.
    gone: u64,
    words: Words,
    word_marks: VecDeque<Range<u64>>,
    /// What its chunks decode to, where it is compressed, and how far that
    /// was read.
    decoded: Option<(Box<Body>, u64)>,
}

/// All octets from `from` on are secret.
#[derive(Debug)]
struct Blind {
    from: u64,
    /// Where it may end: at the beginning of a watch event, or at that of a
    /// line with an object too.
    until: Option<Beginning>,
}

/// An object or an array.
#[derive(Debug)]
struct Level {
    object: bool,
    /// Whether a name is due, in an object.
    name_due: bool,
    /// What the next value is.
    role: Role,
    /// Whether all values in it are data.
    data: bool,
    kind: Kind,
    /// The first mark that may be its own, counted from the beginning.
    first: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Unknown,
    Plain,
    Secret,
}

/// What a value is, by its member's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Other,
    Kind,
    /// Secret if the object is.
    Data,
    /// Secret by its name.
    Credential,
}

/// What is read at the moment.
#[derive(Debug)]
enum Token {
    None,
    String {
        /// Its first octet behind the quote.
        start: u64,
        is: Is,
        escaped: bool,
        literal: Vec<u8>,
    },
    /// A number or a literal.
    Scalar {
        data: bool,
    },
}

/// What a string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Is {
    Name,
    Kind,
    /// Secret if the level of that number is: 0 for surely.
    Secret(usize),
    Other,
}

/// Octets that are secret if the object at that level is: 0 for surely, `DEAD`
/// for not.
#[derive(Debug, Clone)]
struct Mark {
    octets: Range<u64>,
    level: usize,
    fill: u8,
}

const DEAD: usize = usize::MAX;

impl Body {
    /// A body of which nothing was read.
    #[must_use]
    pub fn new(readable: Readable) -> Self {
        let blind = (!readable.text || readable.coded).then_some(Blind { from: 0, until: None });
        Self {
            readable,
            kept_to: u64::MAX,
            blind,
            stack: Vec::new(),
            deep: 0,
            token: Token::None,
            behind_value: false,
            marks: VecDeque::new(),
            gone: 0,
            words: Words::default(),
            word_marks: VecDeque::new(),
            decoded: None,
        }
    }

    /// A chunk begins at `offset` of the body, of which reports keep so many
    /// octets.
    pub fn begin(&mut self, offset: u64, kept: usize) {
        self.kept_to = offset.saturating_add(kept as u64);
    }

    /// Octets lack at `offset`, or before the body's first one that is known.
    pub fn lost(&mut self, offset: u64) {
        self.go_blind(offset, false);
    }

    fn go_blind(&mut self, from: u64, lines: bool) {
        if self.blind.is_none() {
            self.blind = Some(Blind { from, until: Some(Beginning::new(lines)) });
        } else if let Some(Blind { until: Some(until), .. }) = &mut self.blind {
            *until = Beginning::new(lines && until.lines());
        }
        // What was undecided stays so for ever.
        let secret: Vec<bool> = (0..=self.stack.len()).map(|level| self.is_secret(level)).collect();
        for mark in &mut self.marks {
            mark.level = if secret.get(mark.level) == Some(&true) { 0 } else { DEAD };
        }
        self.stack.clear();
        self.deep = 0;
        if let Token::String { start, is: Is::Secret(_), .. } =
            std::mem::replace(&mut self.token, Token::None)
        {
            self.mark(start..from, 0, MARK);
        }
        self.behind_value = false;
    }

    /// Reads the octets at `offset` of the body.
    pub fn read(&mut self, offset: u64, octets: &[u8]) {
        let Self { words, word_marks, kept_to, .. } = self;
        if self.readable.text && !self.readable.coded {
            words.read(offset, octets, &mut |range| {
                if range.start < *kept_to {
                    word_marks.push_back(range);
                }
            });
        }
        let mut at = offset;
        let mut rest = octets;
        while let Some(&octet) = rest.first() {
            let mut count = 1;
            if self.blind.is_some() {
                self.look_for_beginning(at, octet);
            } else if let Token::String { escaped, literal, .. } = &mut self.token {
                // Up to the next octet that means something in a string.
                count = match *escaped {
                    true => 1,
                    false => memchr::memchr3(b'"', b'\\', b'\n', rest).map_or(rest.len(), |end| end + 1),
                };
                let piece = rest.get(..count).unwrap_or_default();
                let room = LITERAL.saturating_sub(literal.len());
                literal.extend_from_slice(piece.get(..room).unwrap_or(piece));
                let last = piece.last().copied().unwrap_or_default();
                match last {
                    _ if std::mem::take(escaped) => {}
                    b'\\' => *escaped = true,
                    b'"' => self.end_string(at + count as u64 - 1),
                    // No JSON has a line end in a string.
                    b'\n' => self.go_blind(at + count as u64 - 1, true),
                    _ => {}
                }
            } else {
                self.octet(at, octet);
            }
            at += count as u64;
            rest = rest.get(count..).unwrap_or_default();
        }
    }

    /// An octet outside of strings.
    fn octet(&mut self, at: u64, octet: u8) {
        if let Token::Scalar { data } = self.token {
            if octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'-' | b'.') {
                if data && octet.is_ascii_digit() {
                    self.mark_data(at..at + 1, b'1');
                }
                return;
            }
            self.token = Token::None;
            self.behind_value = true;
        }
        match octet {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' | b'[' => self.open(at, octet == b'{'),
            b'}' | b']' => self.close(),
            b',' => {
                self.behind_value = false;
                if let Some(level) = self.stack.last_mut() {
                    level.name_due = level.object;
                    if level.object {
                        level.role = Role::Other;
                    }
                }
            }
            b':' => {
                self.behind_value = false;
                if let Some(level) = self.stack.last_mut() {
                    level.name_due = false;
                }
            }
            // Between texts a quote is a word's: `{` begins an object behind it.
            b'"' if self.stack.is_empty() => {}
            b'"' => self.begin_string(at),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' if !self.stack.is_empty() => {
                let data = self.stack.last().is_some_and(|level| level.data || level.role == Role::Data);
                self.token = Token::Scalar { data };
                if data && octet.is_ascii_digit() {
                    self.mark_data(at..at + 1, b'1');
                }
            }
            // Words on the lines of an event stream, or no JSON at all.
            _ if self.stack.is_empty() && !(self.readable.strict && is_binary(octet)) => {}
            _ => self.go_blind(at, true),
        }
    }

    fn open(&mut self, at: u64, object: bool) {
        if self.behind_value && !self.stack.is_empty() {
            return self.go_blind(at, true);
        }
        self.behind_value = false;
        if self.stack.len() >= LEVELS {
            self.deep += 1;
            return;
        }
        let above = self.stack.last();
        let data = above.is_some_and(|level| level.data || level.role == Role::Data);
        // Values of an array are what the array is.
        let role = match above.map(|level| level.role) {
            Some(Role::Credential) if !object => Role::Credential,
            _ => Role::Other,
        };
        let first = self.gone + self.marks.len() as u64;
        self.stack.push(Level { object, name_due: object, role, data, kind: Kind::Unknown, first });
    }

    fn close(&mut self) {
        if self.deep > 0 {
            self.deep -= 1;
            return;
        }
        self.behind_value = true;
        let level = self.stack.len();
        let Some(closed) = self.stack.pop() else { return };
        let becomes = match closed.kind {
            Kind::Secret => 0,
            Kind::Plain => DEAD,
            Kind::Unknown if level > 1 => level - 1,
            Kind::Unknown if self.readable.secrets => 0,
            Kind::Unknown => DEAD,
        };
        let first = usize::try_from(closed.first.saturating_sub(self.gone)).unwrap_or(usize::MAX);
        for mark in self.marks.range_mut(first.min(self.marks.len())..) {
            if mark.level == level {
                mark.level = becomes;
            }
        }
        while self.marks.back().is_some_and(|mark| mark.level == DEAD) {
            self.marks.pop_back();
        }
    }

    fn begin_string(&mut self, at: u64) {
        if self.behind_value {
            return self.go_blind(at, true);
        }
        let level = self.stack.len();
        let is = match self.stack.last() {
            _ if self.deep > 0 => Is::Secret(0),
            Some(top) if top.object && top.name_due => Is::Name,
            Some(top) if top.data => Is::Secret(level),
            Some(top) => match top.role {
                Role::Kind => Is::Kind,
                Role::Data => Is::Secret(level),
                Role::Credential => Is::Secret(0),
                Role::Other => Is::Other,
            },
            None => Is::Other,
        };
        self.token = Token::String { start: at + 1, is, escaped: false, literal: Vec::new() };
    }

    /// A string's closing quote is at `at`.
    fn end_string(&mut self, at: u64) {
        let Token::String { start, is, literal, .. } = std::mem::replace(&mut self.token, Token::None) else {
            return;
        };
        self.behind_value = is != Is::Name;
        match is {
            Is::Secret(level) => self.mark(start..at, level, MARK),
            Is::Name => {
                let role = role(&literal, self.readable.secrets);
                if let Some(level) = self.stack.last_mut() {
                    level.role = role;
                }
            }
            Is::Kind => {
                if let Some(level) = self.stack.last_mut()
                    && level.kind != Kind::Secret
                {
                    level.kind = kind(&literal);
                }
            }
            Is::Other => {}
        }
    }

    /// Marks octets of data in the current level.
    fn mark_data(&mut self, octets: Range<u64>, fill: u8) {
        self.mark(octets, self.stack.len(), fill);
    }

    fn mark(&mut self, octets: Range<u64>, level: usize, fill: u8) {
        if octets.start < self.kept_to && !octets.is_empty() {
            self.marks.push_back(Mark { octets, level, fill });
        }
    }

    /// Looks for the beginning of a watch event where all is secret.
    fn look_for_beginning(&mut self, at: u64, octet: u8) {
        let Some(Blind { from, until: Some(until) }) = &mut self.blind else { return };
        let from = *from;
        let by_line = until.line(octet);
        if !until.step(at, octet) && !by_line {
            return;
        }
        let start = if by_line { at } else { until.start };
        self.blind = None;
        self.mark(from..start, 0, MARK);
        self.open(start, true);
        if !by_line {
            self.stack.iter_mut().for_each(|level| level.name_due = false);
            self.open(at, true);
        }
    }

    /// Takes the next token of a chunked body, of whose payload reports keep so
    /// many octets a chunk.
    pub fn token(&mut self, token: &ChunkToken<'_>, kept: usize) {
        match token {
            ChunkToken::Begin { offset, .. } => self.begin(*offset, kept),
            ChunkToken::Payload { offset, piece } => self.read(*offset, &piece.bytes),
            ChunkToken::Whole(whole) => {
                self.begin(whole.offset, kept);
                self.read(whole.offset, whole.payload);
            }
            ChunkToken::Missing { offset, .. } => self.lost(*offset),
            ChunkToken::End(_) | ChunkToken::Last(_) => {}
        }
    }

    /// Masks what is secret in a chunk whose verdict is known; chunks come in
    /// their order.
    pub fn chunk(&mut self, judged: &mut JudgedChunk) {
        let chunk = &mut judged.chunk;
        // A WebSocket message has the header of a frame there.
        if chunk.message.is_none() {
            super::size_line(&mut chunk.size_line);
        }
        if chunk.lacks_octets() {
            // Its octets aren't at their places.
            chunk.payload.fill(MARK);
        } else {
            self.mask(chunk.offset, &mut chunk.payload);
        }
        self.forget(chunk.offset.saturating_add(chunk.size));
        if let Some(decoded) = &mut judged.decoded {
            let readable = Readable { coded: false, ..self.readable };
            let (body, read_to) = self.decoded.get_or_insert_with(|| (Box::new(Self::new(readable)), 0));
            let (start, end) = (decoded.span.start, decoded.span.end);
            if start != *read_to {
                body.lost(start);
            }
            body.begin(start, decoded.octets.len());
            body.read(start, &decoded.octets);
            body.mask(start, &mut decoded.octets);
            body.forget(end);
            // What isn't kept wasn't read either.
            *read_to = start.saturating_add(decoded.octets.len() as u64);
        }
        if let Verdict::Invalid(fault) = &mut judged.verdict {
            super::quoted(&mut fault.message);
        }
    }

    /// Puts the marker over what is secret in a chunk's payload, which begins
    /// at `offset` of the body and lacks none in the middle; what it is over
    /// is forgotten.
    pub fn mask(&mut self, offset: u64, payload: &mut [u8]) {
        let mut cover = |octets: &Range<u64>, fill: u8| {
            let place =
                |at: u64| usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX).min(payload.len());
            payload.get_mut(place(octets.start)..place(octets.end)).unwrap_or_default().fill(fill);
        };
        for mark in &self.marks {
            if self.is_secret(mark.level) {
                cover(&mark.octets, mark.fill);
            }
        }
        for octets in &self.word_marks {
            cover(octets, MARK);
        }
        if let Some(start) = self.words.open() {
            cover(&(start..u64::MAX), MARK);
        }
        if let Token::String { start, is: Is::Secret(level), .. } = self.token
            && self.is_secret(level)
        {
            cover(&(start..u64::MAX), MARK);
        }
        if let Some(blind) = &self.blind {
            cover(&(blind.from..u64::MAX), MARK);
        }
    }

    /// Lets go of what lies before `offset`.
    pub fn forget(&mut self, offset: u64) {
        while self.marks.front().is_some_and(|mark| mark.octets.end <= offset) {
            self.marks.pop_front();
            self.gone += 1;
        }
        while self.word_marks.front().is_some_and(|octets| octets.end <= offset) {
            self.word_marks.pop_front();
        }
    }

    /// Whether something is secret for sure in what was read.
    #[must_use]
    pub fn holds_secrets(&self) -> bool {
        let sure = |level: usize| {
            let kinds = self.stack.get(..level).unwrap_or_default().iter().rev().map(|level| level.kind);
            level == 0
                || (level != DEAD
                    && kinds.into_iter().find(|kind| *kind != Kind::Unknown) == Some(Kind::Secret))
        };
        let open = match self.token {
            Token::String { is: Is::Secret(level), .. } => sure(level),
            _ => false,
        };
        open || self.words.holds_secret()
            || !self.word_marks.is_empty()
            || self.marks.iter().any(|mark| sure(mark.level))
    }

    /// Whether octets whose object is at a level count as secret now.
    fn is_secret(&self, level: usize) -> bool {
        let above = self.stack.get(..level).unwrap_or_default().iter().rev().map(|level| level.kind);
        level != DEAD && above.into_iter().find(|kind| *kind != Kind::Unknown) != Some(Kind::Plain)
    }
}

/// An octet that no JSON has outside of strings, nor ASCII text.
const fn is_binary(octet: u8) -> bool {
    octet >= 0x7f || (octet < 0x20 && !matches!(octet, b'\t' | b'\r' | b'\n'))
}

/// A literal up to its closing quote, its escapes decoded; `None` where it is
/// too long to be one that counts.
fn decoded(literal: &[u8]) -> Option<String> {
    let literal = literal.strip_suffix(b"\"")?;
    match literal.contains(&b'\\') {
        false => std::str::from_utf8(literal).ok().map(str::to_owned),
        true => serde_json::from_slice(&[b"\"", literal, b"\""].concat()).ok(),
    }
}

/// What the value of a member is.
fn role(name: &[u8], secrets: bool) -> Role {
    let Some(name) = decoded(name) else { return Role::Other };
    match name.as_str() {
        "kind" => Role::Kind,
        "data" | "stringData" | "kubectl.kubernetes.io/last-applied-configuration" => Role::Data,
        // A JSON patch.
        "value" if secrets => Role::Data,
        name if is_credential(name) => Role::Credential,
        _ => Role::Other,
    }
}

/// Members whose strings are credentials in any object. Kubernetes' own names
/// such as `secretName` and `tokenExpirationSeconds` aren't.
fn is_credential(name: &str) -> bool {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '-' | '_' | '.')).map(|c| c.to_ascii_lowercase()).collect();
    matches!(
        plain.as_str(),
        "token"
            | "accesstoken"
            | "refreshtoken"
            | "idtoken"
            | "bearertoken"
            | "authtoken"
            | "sessiontoken"
            | "authorization"
            | "proxyauthorization"
            | "password"
            | "passwd"
            | "passphrase"
            | "clientsecret"
            | "secretkey"
            | "secretaccesskey"
            | "privatekey"
            | "clientkeydata"
            | "apikey"
            | "cookie"
            | "setcookie"
    ) || (name.starts_with("x-") && is_secret_name(name))
}

/// What a kind says of its object, and of what in it has none. Objects in a
/// list without kinds of its own, in tables, and in lists of metadata may be
/// Secrets.
fn kind(literal: &[u8]) -> Kind {
    let Some(kind) = decoded(literal) else { return Kind::Plain };
    let any = ["List", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"];
    match kind.contains("Secret") || any.contains(&kind.as_str()) {
        true => Kind::Secret,
        false => Kind::Plain,
    }
}

#[cfg(test)]
mod tests;
