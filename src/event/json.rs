//! An incremental recogniser of JSON texts (RFC 8259): where a text ends, and
//! where it leaves the grammar, across any edges, in one pass.
//!
//! It takes what the grammar takes: any depth (one bit of memory a level), any
//! number, escaped surrogates without their other half. It takes nothing else:
//! no byte order mark, no octet that isn't UTF-8. Its state at the end of a
//! slice is a few octets, so it doesn't matter where the slices end.
//!
//! Objects, arrays and strings end with their last octet. A number or a
//! literal ends before the next octet, which must be one that can stand behind
//! it: in a row of texts `[1][2]3[4]` is fine and `truefalse` is not, as
//! serde_json's stream reader has it.

use super::number::Number;
use super::string::{self, StringFault, Within};

/// What kind of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

/// What is told of the members of a text while it is read. Only what lies at
/// the listener's depth is told: 0 is the text's own value, 1 the members of
/// an object there, and so on; the listener says which objects it follows by
/// changing its depth.
pub(super) trait Listener {
    /// Whether anything is to be told at all.
    const LISTENS: bool;

    /// The depth that is listened at.
    fn depth(&self) -> u64;

    /// A value begins at offset `at`. To follow an object or an array, the
    /// listener adds one to its depth. Returns whether a string's content is wanted.
    fn value(&mut self, shape: Shape, at: u64) -> bool;

    /// Content of a name or of a wanted string, before its last part.
    fn part(&mut self, octets: &[u8]);

    /// The last part of a member's name.
    fn name(&mut self, octets: &[u8]);

    /// The last part of a wanted string.
    fn string(&mut self, octets: &[u8]);

    /// The object or array that is followed ends: the listener takes one from its depth.
    fn leave(&mut self);
}

/// What came of reading a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// All is read; the text goes on.
    Open,
    /// The text is whole and ends before what is left of the slice.
    Whole,
    /// What is left of the slice begins with the octet at fault.
    Fault(String),
}

/// What the grammar wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A text.
    Text,
    /// A member's value.
    Value,
    /// An element, behind a comma.
    Element,
    /// An element or the end of the array.
    FirstElement,
    /// A member's name, behind a comma.
    Name,
    /// A member's name or the end of the object.
    FirstName,
    /// More of a member's name.
    InName,
    /// The colon behind a name.
    Colon,
    /// More of a string.
    InString,
    /// More of a number.
    InNumber(Number),
    /// More of the literal that the recogniser notes.
    InLiteral,
    /// A comma or the end of the array or object.
    Next,
    /// Something that may follow a text which doesn't show its own end.
    Behind,
}

/// Which of the containers around a place are objects: one bit a level.
#[derive(Debug, Default)]
struct Nesting {
    depth: u64,
    /// The innermost levels, the last one lowest: 1 to 64 of them, or none at
    /// depth 0.
    word: u64,
    /// Full words of the levels around those.
    outer: Vec<u64>,
}

impl Nesting {
    #[inline(always)]
    fn open(&mut self, object: bool) {
        if self.depth.is_multiple_of(64) && self.depth > 0 {
            self.outer.push(self.word);
            self.word = 0;
        }
        self.word = self.word << 1 | u64::from(object);
        self.depth += 1;
    }

    #[inline(always)]
    fn close(&mut self) {
        self.word >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth.is_multiple_of(64) {
            self.word = self.outer.pop().unwrap_or_default();
        }
    }

    #[inline(always)]
    const fn in_object(&self) -> bool {
        self.word & 1 == 1
    }
}

/// The recogniser of one text after the other.
#[derive(Debug)]
pub(super) struct Recogniser {
    state: State,
    nesting: Nesting,
    /// Where in a string; `Plain` outside of strings.
    within: Within,
    /// Whether the string or name at hand is told to the listener.
    told: bool,
    /// The literal that is read.
    literal: &'static str,
    /// How many of its octets came.
    matched: usize,
}

impl Recogniser {
    /// One that awaits the first octet of a text (white space before it is not
    /// its own affair).
    pub(super) fn new() -> Self {
        Self {
            state: State::Text,
            nesting: Nesting::default(),
            within: Within::Plain,
            told: false,
            literal: "",
            matched: 0,
        }
    }

    /// Whether the octets that were read are a text if none follow: a number
    /// or a literal at the end.
    pub(super) fn ends_here(&self) -> bool {
        match self.state {
            State::Behind => true,
            State::InNumber(number) => self.nesting.depth == 0 && number.may_end(),
            _ => false,
        }
    }

    /// Reads octets of a text from the front of `rest`, whose first octet is
    /// at offset `at`. When the text is whole, the next call begins the next
    /// one; after a fault this recogniser is of no more use.
    #[inline(never)]
    pub(super) fn read<L: Listener>(&mut self, rest: &mut &[u8], at: u64, listener: &mut L) -> Step {
        let end = at.saturating_add(rest.len() as u64);
        let mut unread = *rest;
        let mut state = self.state;
        // The state lives in locals here and is stored at the end of the slice.
        let step = loop {
            match state {
                State::Text | State::Value | State::Element | State::FirstElement => {
                    let Some((octet, behind)) = begin(&mut unread) else {
                        break Step::Open;
                    };
                    let shape = match octet {
                        b'"' => Shape::String,
                        b'{' => Shape::Object,
                        b'[' => Shape::Array,
                        b'-' | b'0'..=b'9' => Shape::Number,
                        b't' | b'f' => Shape::Boolean,
                        b'n' => Shape::Null,
                        b']' if state == State::FirstElement => {
                            state = State::Next;
                            continue;
                        }
                        _ => break Step::Fault(self.fault(state, octet)),
                    };
                    let told = self.is_told(listener) && listener.value(shape, place(end, unread));
                    unread = behind;
                    state = match shape {
                        Shape::String => {
                            self.told = told;
                            State::InString
                        }
                        Shape::Object => {
                            self.nesting.open(true);
                            self.members(State::FirstName, &mut unread, end, listener)
                        }
                        Shape::Array => {
                            self.nesting.open(false);
                            State::FirstElement
                        }
                        Shape::Number => State::InNumber(match octet {
                            b'-' => Number::Minus,
                            b'0' => Number::Zero,
                            _ => Number::Integer,
                        }),
                        Shape::Boolean | Shape::Null => {
                            self.literal = match octet {
                                b't' => "true",
                                b'f' => "false",
                                _ => "null",
                            };
                            self.matched = 1;
                            State::InLiteral
                        }
                    };
                }
                State::InString => {
                    let before = unread;
                    let closed = match string::read(&mut self.within, &mut unread) {
                        Ok(closed) => closed,
                        Err(fault) => break Step::Fault(string_fault(fault, unread)),
                    };
                    if L::LISTENS && self.told {
                        tell(before, unread, closed, listener, L::string);
                    }
                    if !closed {
                        break Step::Open;
                    }
                    if self.nesting.depth == 0 {
                        state = State::Text;
                        break Step::Whole;
                    }
                    state = State::Next;
                }
                State::Next => {
                    let Some((octet, behind)) = begin(&mut unread) else {
                        break Step::Open;
                    };
                    let in_object = self.nesting.in_object();
                    match (octet, in_object) {
                        (b',', true) => {
                            unread = behind;
                            state = self.members(State::Name, &mut unread, end, listener);
                        }
                        (b',', false) => {
                            unread = behind;
                            state = State::Element;
                        }
                        (b'}', true) | (b']', false) => {
                            unread = behind;
                            self.close(listener);
                            if self.nesting.depth == 0 {
                                state = State::Text;
                                break Step::Whole;
                            }
                        }
                        _ => break Step::Fault(self.fault(state, octet)),
                    }
                }
                State::Name | State::FirstName => {
                    let Some((octet, behind)) = begin(&mut unread) else {
                        break Step::Open;
                    };
                    match octet {
                        b'"' => {
                            unread = behind;
                            self.told = self.is_told(listener);
                            state = State::InName;
                        }
                        b'}' if state == State::FirstName => state = State::Next,
                        _ => break Step::Fault(self.fault(state, octet)),
                    }
                }
                State::InName => {
                    let before = unread;
                    let closed = match string::read(&mut self.within, &mut unread) {
                        Ok(closed) => closed,
                        Err(fault) => break Step::Fault(string_fault(fault, unread)),
                    };
                    if L::LISTENS && self.told {
                        tell(before, unread, closed, listener, L::name);
                    }
                    if !closed {
                        break Step::Open;
                    }
                    state = State::Colon;
                }
                State::Colon => {
                    let Some((octet, behind)) = begin(&mut unread) else {
                        break Step::Open;
                    };
                    if octet != b':' {
                        break Step::Fault(self.fault(state, octet));
                    }
                    unread = behind;
                    state = State::Value;
                }
                State::InNumber(mut number) => {
                    number.read(&mut unread);
                    state = State::InNumber(number);
                    let Some(&octet) = unread.first() else {
                        break Step::Open;
                    };
                    // RFC 8259 §6: leading zeros are not allowed.
                    if !number.may_end() || (number == Number::Zero && octet.is_ascii_digit()) {
                        break Step::Fault(self.fault(state, octet));
                    }
                    state = if self.nesting.depth == 0 { State::Behind } else { State::Next };
                }
                State::InLiteral => {
                    let missing = self.literal.as_bytes().get(self.matched..).unwrap_or_default();
                    let same =
                        missing.iter().zip(unread).take_while(|(wanted, octet)| wanted == octet).count();
                    self.matched += same;
                    unread = unread.get(same..).unwrap_or_default();
                    if same == missing.len() {
                        state = if self.nesting.depth == 0 { State::Behind } else { State::Next };
                    } else if let Some(&octet) = unread.first() {
                        break Step::Fault(self.fault(state, octet));
                    } else {
                        break Step::Open;
                    }
                }
                State::Behind => {
                    let Some(&octet) = unread.first() else {
                        break Step::Open;
                    };
                    match octet {
                        b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'[' | b']' | b'{' | b'}' | b',' | b':' => {
                            state = State::Text;
                            break Step::Whole;
                        }
                        _ => break Step::Fault(self.fault(state, octet)),
                    }
                }
            }
        };
        self.state = state;
        *rest = unread;
        step
    }

    /// Reads on in an object, as long as it is like most of what there is:
    /// names and strings in ASCII without escapes, and objects of such. The
    /// state behind that; the states do the rest. `end` is the offset of the
    /// slice's end.
    #[inline(always)]
    fn members<L: Listener>(
        &mut self,
        mut state: State,
        unread: &mut &[u8],
        end: u64,
        listener: &mut L,
    ) -> State {
        loop {
            let told = self.is_told(listener);
            let Some((b'"', behind)) = begin(unread) else {
                return state;
            };
            *unread = behind;
            let closed = string::read_plain(unread);
            if told {
                tell(behind, unread, closed, listener, L::name);
            }
            if !closed {
                self.told = told;
                return State::InName;
            }
            let Some((b':', behind)) = begin(unread) else {
                return State::Colon;
            };
            *unread = behind;
            match begin(unread) {
                Some((b'"', behind)) => {
                    let told = told && listener.value(Shape::String, place(end, unread));
                    *unread = behind;
                    let closed = string::read_plain(unread);
                    if told {
                        tell(behind, unread, closed, listener, L::string);
                    }
                    if !closed {
                        self.told = told;
                        return State::InString;
                    }
                }
                Some((b'{', [b'}', behind @ ..])) if !told => *unread = behind,
                Some((b'{', behind)) => {
                    if told {
                        listener.value(Shape::Object, place(end, unread));
                    }
                    *unread = behind;
                    self.nesting.open(true);
                    state = State::FirstName;
                    continue;
                }
                _ => return State::Value,
            }
            loop {
                match begin(unread) {
                    Some((b',', behind)) if self.nesting.in_object() => {
                        *unread = behind;
                        state = State::Name;
                        break;
                    }
                    Some((b'}', behind)) if self.nesting.in_object() && self.nesting.depth > 1 => {
                        *unread = behind;
                        self.close(listener);
                    }
                    _ => return State::Next,
                }
            }
        }
    }

    /// Whether the listener is told of names and values here.
    #[inline(always)]
    fn is_told<L: Listener>(&self, listener: &L) -> bool {
        L::LISTENS && self.nesting.depth == listener.depth()
    }

    /// The innermost container ends.
    #[inline(always)]
    fn close<L: Listener>(&mut self, listener: &mut L) {
        if self.is_told(listener) {
            listener.leave();
        }
        self.nesting.close();
    }

    /// What is wrong with an octet outside of strings.
    #[cold]
    fn fault(&self, state: State, octet: u8) -> String {
        let expected = match state {
            State::Text => "a JSON value",
            State::Value => "a value behind `:`",
            State::Element => "a value behind `,`",
            State::FirstElement => "a value or `]` behind `[`",
            State::Name => "a member's name in quotation marks behind `,`",
            State::FirstName => "a member's name in quotation marks or `}` behind `{`",
            State::Colon => "`:` after a member's name",
            State::Next if self.nesting.in_object() => "`,` or `}` after a member's value",
            State::Next => "`,` or `]` after an array's element",
            State::InNumber(Number::Minus) => "a digit behind `-`",
            State::InNumber(Number::Zero) => "no further digit behind a leading 0",
            State::InNumber(Number::Point) => "a digit behind the decimal point",
            State::InNumber(_) => "a digit in a number's exponent",
            State::InLiteral => {
                return format!("expected `{}`, found {} in it", self.literal, shown(octet));
            }
            State::Behind => "white space or the next value after a number or a literal",
            State::InString | State::InName => "more of a string",
        };
        format!("expected {expected}, found {}", shown(octet))
    }
}

/// Drops the white space of RFC 8259 §2 from the front.
#[inline]
pub(super) fn skip_space(rest: &mut &[u8]) {
    loop {
        // Indentation comes in long runs of spaces.
        while let Some((word, behind)) = rest.split_first_chunk() {
            let others = u64::from_le_bytes(*word) ^ u64::from_le_bytes([b' '; 8]);
            if others != 0 {
                let spaces = (others.trailing_zeros() / 8) as usize;
                *rest = rest.get(spaces..).unwrap_or_default();
                break;
            }
            *rest = behind;
        }
        match rest.split_first() {
            Some((b' ' | b'\t' | b'\n' | b'\r', behind)) => *rest = behind,
            _ => return,
        }
    }
}

/// The next octet that isn't white space, and what follows it.
#[inline(always)]
fn begin<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&octet, behind) = rest.split_first()?;
    if octet > b' ' {
        return Some((octet, behind));
    }
    skip_space(rest);
    let (&octet, behind) = rest.split_first()?;
    Some((octet, behind))
}

/// The offset of the first octet of `rest`, which ends at offset `end`.
#[inline(always)]
fn place(end: u64, rest: &[u8]) -> u64 {
    end.saturating_sub(rest.len() as u64)
}

/// Tells the listener what was read of a string, from `before` on to `after`:
/// `last` if that closed it, without the quotation mark.
#[inline(always)]
fn tell<L: Listener>(before: &[u8], after: &[u8], closed: bool, listener: &mut L, last: fn(&mut L, &[u8])) {
    let length = before.len().saturating_sub(after.len());
    let content = before.get(..length.saturating_sub(usize::from(closed))).unwrap_or_default();
    if closed {
        last(listener, content);
    } else {
        listener.part(content);
    }
}

/// What is wrong with the octet at the front, in a string.
#[cold]
fn string_fault(fault: StringFault, rest: &[u8]) -> String {
    let octet = rest.first().copied().unwrap_or_default();
    match fault {
        StringFault::Control => format!("control character 0x{octet:02x} in a string"),
        StringFault::Utf8 => format!("invalid UTF-8 in a string: {}", shown(octet)),
        StringFault::Escape => format!("expected one of `\"\\/bfnrtu` behind `\\`, found {}", shown(octet)),
        StringFault::Hex => format!("expected four hex digits behind `\\u`, found {}", shown(octet)),
    }
}

/// An octet as a message shows it.
pub(super) fn shown(octet: u8) -> String {
    match octet {
        b' ' => "a space".to_owned(),
        0x21..=0x7E => format!("`{}`", char::from(octet)),
        _ => format!("0x{octet:02x}"),
    }
}
