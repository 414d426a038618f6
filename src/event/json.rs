//! An incremental recogniser of JSON texts (RFC 8259): where a text ends, and
//! where it leaves the grammar, across any edges, in one pass.
//!
//! It takes what the grammar takes: any depth (one bit of memory a level), any
//! number, escaped surrogates without their other half. It takes nothing else:
//! no byte order mark, no octet that isn't UTF-8. Its state at the end of a
//! slice is a few octets, so it doesn't matter where the slices end.
//!
//! The grammar is written down twice. The states can stop at any octet, and say
//! what is wrong with one. A run reads what lies in a slice as a whole, and
//! stops, between two tokens, before whatever it doesn't expect. What takes
//! octets one by one meets only the states, so tests that read the same in
//! pieces of every size hold the two equal. Both stand in this file, however
//! long that makes it, since a change to one is a change to the other.
//!
//! Objects, arrays and strings end with their last octet. A number or a
//! literal ends before the next octet, which must be one that can stand behind
//! it: in a row of texts `[1][2]3[4]` is fine and `truefalse` is not, as
//! serde_json's stream reader has it.

use super::number::{self, Number};
use super::scan::{self, Scan};
use super::string::{self, StringFault, Within};

/// So many octets are read as a run. Fewer, as those of a chunk of one, are
/// left to the states at once.
const WORTH_RUNNING: usize = 4;

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
/// changing its depth. One that doesn't listen needs nothing but to say so.
pub(super) trait Listener {
    /// Whether anything is to be told at all.
    const LISTENS: bool;

    /// The depth that is listened at.
    fn depth(&self) -> u64 {
        0
    }

    /// A value begins at offset `at`. To follow an object or an array, the
    /// listener adds one to its depth. Returns whether a string's content is wanted.
    fn value(&mut self, _shape: Shape, _at: u64) -> bool {
        false
    }

    /// Content of a name or of a wanted string, before its last part.
    fn part(&mut self, _octets: &[u8]) {}

    /// The last part of a member's name; `is_plain` where that is known to be
    /// ASCII without escapes. Returns whether its value is of interest.
    fn name(&mut self, _octets: &[u8], _is_plain: bool) -> bool {
        false
    }

    /// The last part of a wanted string.
    fn string(&mut self, _octets: &[u8], _is_plain: bool) {}

    /// A string that lies in a slice as a whole, and begins at offset `at`: the
    /// same as its value, and then, if it is wanted, its last part.
    #[inline(always)]
    fn text(&mut self, at: u64, octets: &[u8], is_plain: bool) {
        if self.value(Shape::String, at) {
            self.string(octets, is_plain);
        }
    }

    /// The object or array that is followed ends: the listener takes one from its depth.
    fn leave(&mut self) {}
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

/// Listens to nothing.
struct Deaf;

impl Listener for Deaf {
    const LISTENS: bool = false;
}

/// Which of the containers around a place are objects: one bit a level.
#[derive(Debug)]
struct Nesting {
    depth: u64,
    /// The innermost levels, the last one lowest, above them a bit that is set:
    /// 1 to 63 levels, or none at depth 0.
    word: u64,
    /// Full words of the levels around those.
    outer: Vec<u64>,
}

impl Nesting {
    const fn new() -> Self {
        Self { depth: 0, word: 1, outer: Vec::new() }
    }

    #[inline(always)]
    fn open(&mut self, object: bool) {
        if self.word.leading_zeros() == 0 {
            self.outer.push(self.word);
            self.word = 1;
        }
        self.word = self.word << 1 | u64::from(object);
        self.depth += 1;
    }

    #[inline(always)]
    fn close(&mut self) {
        self.word >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.word <= 1 {
            self.word = self.outer.pop().unwrap_or(1);
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
            nesting: Nesting::new(),
            within: Within::Plain,
            told: false,
            literal: "",
            matched: 0,
        }
    }

    /// Whether another one can go on from here: between two tokens, and not
    /// deep within the text.
    pub(super) fn is_memorable(&self) -> bool {
        matches!(self.state, State::Value | State::FirstName) && self.nesting.outer.is_empty()
    }

    /// Goes on where another one is, which is memorable; this one awaits a text.
    #[inline(always)]
    pub(super) const fn recall(&mut self, other: &Self) {
        self.state = other.state;
        self.nesting.depth = other.nesting.depth;
        self.nesting.word = other.nesting.word;
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
    #[inline(always)]
    pub(super) fn read<L: Listener>(&mut self, rest: &mut &[u8], at: u64, listener: &mut L) -> Step {
        // The octet of a chunk of one mostly lies in a string that nobody is told of.
        if rest.len() < WORTH_RUNNING && self.goes_on_plainly(rest) {
            *rest = &[];
            return Step::Open;
        }
        self.read_behind(0, rest, at, listener)
    }

    /// Whether a string that isn't told goes on with plain octets alone.
    #[inline(never)]
    fn goes_on_plainly(&self, octets: &[u8]) -> bool {
        matches!(self.state, State::InString | State::InName)
            && !self.told
            && self.within == Within::Plain
            && !octets.iter().any(|octet| scan::is_special(*octet))
    }

    /// The same, where the first `known` octets of `rest` have been read.
    #[inline(never)]
    pub(super) fn read_behind<L: Listener>(
        &mut self,
        known: usize,
        rest: &mut &[u8],
        at: u64,
        listener: &mut L,
    ) -> Step {
        let mut scan = Scan::behind(rest, known);
        let mut state = self.state;
        // The state lives in locals here and is stored at the end of the slice.
        let step = loop {
            if scan.left() >= WORTH_RUNNING && self.nesting.depth > 0 {
                if self.nesting.depth > listener.depth() {
                    state = self.pass_by(state, &mut scan, listener.depth());
                }
                if L::LISTENS && self.nesting.depth > 0 && self.nesting.depth == listener.depth() {
                    state = self.run(state, &mut scan, 0, at, listener);
                }
                if self.nesting.depth == 0 {
                    state = State::Text;
                    break Step::Whole;
                }
            }
            match state {
                State::Text | State::Value | State::Element | State::FirstElement => {
                    let Some(octet) = scan.token() else {
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
                    let told = self.is_told(listener) && listener.value(shape, place(at, &scan));
                    scan.pass(1);
                    state = match shape {
                        Shape::String => {
                            self.told = told;
                            State::InString
                        }
                        Shape::Object => {
                            self.nesting.open(true);
                            State::FirstName
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
                            self.literal = literal(octet);
                            self.matched = 1;
                            State::InLiteral
                        }
                    };
                }
                State::InString => {
                    match self.string(&mut scan, listener, |listener, octets| listener.string(octets, false))
                    {
                        Ok(true) => {}
                        Ok(false) => break Step::Open,
                        Err(fault) => break Step::Fault(string_fault(fault, scan.rest())),
                    }
                    if self.nesting.depth == 0 {
                        state = State::Text;
                        break Step::Whole;
                    }
                    state = State::Next;
                }
                State::Next => {
                    let Some(octet) = scan.token() else {
                        break Step::Open;
                    };
                    let in_object = self.nesting.in_object();
                    state = match (octet, in_object) {
                        (b',', true) => State::Name,
                        (b',', false) => State::Element,
                        (b'}', true) | (b']', false) => {
                            self.close(listener);
                            State::Next
                        }
                        _ => break Step::Fault(self.fault(state, octet)),
                    };
                    scan.pass(1);
                    if self.nesting.depth == 0 {
                        state = State::Text;
                        break Step::Whole;
                    }
                }
                State::Name | State::FirstName => {
                    let Some(octet) = scan.token() else {
                        break Step::Open;
                    };
                    match octet {
                        b'"' => {
                            scan.pass(1);
                            self.told = self.is_told(listener);
                            state = State::InName;
                        }
                        b'}' if state == State::FirstName => state = State::Next,
                        _ => break Step::Fault(self.fault(state, octet)),
                    }
                }
                State::InName => {
                    match self.string(&mut scan, listener, |listener, octets| {
                        listener.name(octets, false);
                    }) {
                        Ok(true) => {}
                        Ok(false) => break Step::Open,
                        Err(fault) => break Step::Fault(string_fault(fault, scan.rest())),
                    }
                    state = State::Colon;
                }
                State::Colon => {
                    let Some(octet) = scan.token() else {
                        break Step::Open;
                    };
                    if octet != b':' {
                        break Step::Fault(self.fault(state, octet));
                    }
                    scan.pass(1);
                    state = State::Value;
                }
                State::InNumber(mut number) => {
                    let mut rest = scan.rest();
                    number.read(&mut rest);
                    scan.pass_to(rest);
                    state = State::InNumber(number);
                    let Some(octet) = scan.peek() else {
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
                    let rest = scan.rest();
                    let same = missing.iter().zip(rest).take_while(|(wanted, octet)| wanted == octet).count();
                    self.matched += same;
                    scan.pass(same);
                    if same == missing.len() {
                        state = if self.nesting.depth == 0 { State::Behind } else { State::Next };
                    } else if let Some(octet) = scan.peek() {
                        break Step::Fault(self.fault(state, octet));
                    } else {
                        break Step::Open;
                    }
                }
                State::Behind => {
                    let Some(octet) = scan.peek() else {
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
        *rest = scan.rest();
        step
    }

    /// Reads on in a name or a string that has begun: whether it closed (else
    /// all is read).
    fn string<L: Listener>(
        &mut self,
        scan: &mut Scan<'_>,
        listener: &mut L,
        last: fn(&mut L, &[u8]),
    ) -> Result<bool, StringFault> {
        let from = scan.at();
        let closed = string::read(&mut self.within, scan)?;
        if L::LISTENS && self.told {
            let content = scan.since(from);
            match content.split_last() {
                Some((_, content)) if closed => last(listener, content),
                _ => listener.part(content),
            }
        }
        Ok(closed)
    }

    /// Reads on from a place between two tokens of an object or array, as far as
    /// names and values lie in the slice as wholes: the state behind that, which
    /// is `Next` where what encloses it ends, down to a depth of `until`. What
    /// the slice's end cuts, and what is at fault, is left to the states: nearly
    /// all octets go this way, and none that the states would take otherwise.
    #[inline(always)]
    fn run<L: Listener>(
        &mut self,
        mut state: State,
        scan: &mut Scan<'_>,
        until: u64,
        start: u64,
        listener: &mut L,
    ) -> State {
        match state {
            State::Value | State::Element | State::FirstElement | State::Name | State::FirstName => {}
            State::Next => match self.behind(scan, until, listener) {
                State::Next => return State::Next,
                behind => state = behind,
            },
            _ => return state,
        }
        // Whether a name's quotation mark has been passed over.
        let mut in_name = false;
        loop {
            let mut told = self.is_told(listener);
            if in_name || matches!(state, State::Name | State::FirstName) {
                if !in_name {
                    if scan.token() != Some(b'"') {
                        return state;
                    }
                    scan.pass(1);
                }
                in_name = false;
                let from = scan.at();
                let Some(is_plain) = self.closes(scan) else {
                    return self.left_open(State::InName, told, scan.since(from), listener);
                };
                told = told && listener.name(scan.since(from), is_plain);
                scan.pass(1);
                // Most members have a string, and most are followed by others.
                if scan.pass_over(*b":\"") {
                    let at = place(start, scan).saturating_sub(1);
                    if let Some(left) = self.text(at, told, scan, listener) {
                        return left;
                    }
                    if scan.pass_over(*b",\"") {
                        in_name = true;
                        continue;
                    }
                    state = self.behind(scan, until, listener);
                    if state == State::Next {
                        return state;
                    }
                    continue;
                }
                if !L::LISTENS && scan.pass_over(*b":{\"") {
                    // Nobody is told of the object: its first name is read at once.
                    self.nesting.open(true);
                    in_name = true;
                    continue;
                }
                if scan.token() != Some(b':') {
                    return State::Colon;
                }
                scan.pass(1);
                state = State::Value;
            }
            if !L::LISTENS && scan.pass_over(*b"{\"") {
                // The same of an array's element.
                self.nesting.open(true);
                in_name = true;
                continue;
            }
            let Some(octet) = scan.token() else {
                return state;
            };
            match octet {
                b'"' => {
                    let at = place(start, scan);
                    scan.pass(1);
                    if let Some(left) = self.text(at, told, scan, listener) {
                        return left;
                    }
                }
                b'{' => {
                    if told {
                        listener.value(Shape::Object, place(start, scan));
                    }
                    scan.pass(1);
                    self.nesting.open(true);
                    state = State::FirstName;
                    let passed_by = L::LISTENS && self.nesting.depth > listener.depth();
                    if !passed_by && scan.pass_over(*b"\"") {
                        in_name = true;
                        continue;
                    }
                    if scan.token() != Some(b'}') {
                        if !passed_by {
                            continue;
                        }
                        state = self.pass_by(state, scan, listener.depth());
                        if state != State::Next {
                            return state;
                        }
                    }
                }
                b'[' => {
                    if told {
                        listener.value(Shape::Array, place(start, scan));
                    }
                    scan.pass(1);
                    self.nesting.open(false);
                    state = State::FirstElement;
                    if scan.token() != Some(b']') {
                        if !(L::LISTENS && self.nesting.depth > listener.depth()) {
                            continue;
                        }
                        state = self.pass_by(state, scan, listener.depth());
                        if state != State::Next {
                            return state;
                        }
                    }
                }
                b'0'..=b'9' | b'-' => {
                    let Some(length) = number::length(scan.rest()) else {
                        return state;
                    };
                    if told {
                        listener.value(Shape::Number, place(start, scan));
                    }
                    scan.pass(length);
                }
                b't' | b'f' | b'n' => {
                    let at = place(start, scan);
                    let comes = match octet {
                        b't' => scan.pass_over(*b"true"),
                        b'f' => scan.pass_over(*b"false"),
                        _ => scan.pass_over(*b"null"),
                    };
                    if !comes {
                        return state;
                    }
                    if told {
                        let shape = if octet == b'n' { Shape::Null } else { Shape::Boolean };
                        listener.value(shape, at);
                    }
                }
                _ => return state,
            }
            state = self.behind(scan, until, listener);
            if state == State::Next {
                return state;
            }
        }
    }

    /// Runs on in an object or array that the listener doesn't follow, at most
    /// to its end at a depth of `until`.
    #[inline(always)]
    fn pass_by(&mut self, state: State, scan: &mut Scan<'_>, until: u64) -> State {
        let (place, state) = self.pass_by_from(state, *scan, until);
        *scan = place;
        state
    }

    /// The same with the place handed over by value, so that it stays in registers.
    #[inline(never)]
    fn pass_by_from<'a>(&mut self, state: State, from: Scan<'a>, until: u64) -> (Scan<'a>, State) {
        let mut scan = from;
        let state = self.run(state, &mut scan, until, 0, &mut Deaf);
        (scan, state)
    }

    /// Reads a string that is a value and began at offset `at`, from behind its
    /// first quotation mark on: the state that the run is left with, if it isn't
    /// whole in the slice.
    #[inline(always)]
    fn text<L: Listener>(
        &mut self,
        at: u64,
        told: bool,
        scan: &mut Scan<'_>,
        listener: &mut L,
    ) -> Option<State> {
        let from = scan.at();
        let Some(is_plain) = self.closes(scan) else {
            let wanted = told && listener.value(Shape::String, at);
            return Some(self.left_open(State::InString, wanted, scan.since(from), listener));
        };
        if told {
            listener.text(at, scan.since(from), is_plain);
        }
        scan.pass(1);
        None
    }

    /// A name or a string is read in part: to its end in the slice or up to a fault.
    #[inline(always)]
    fn left_open<L: Listener>(&mut self, state: State, told: bool, part: &[u8], listener: &mut L) -> State {
        self.told = told;
        if told {
            listener.part(part);
        }
        state
    }

    /// Reads a string up to the quotation mark that closes it, if that comes:
    /// whether it is ASCII without escapes. If it doesn't come, either all is
    /// read, or what comes next is at fault.
    #[inline(always)]
    fn closes(&mut self, scan: &mut Scan<'_>) -> Option<bool> {
        if scan.plain() == Some(b'"') {
            return Some(true);
        }
        let closed;
        (*scan, closed) = string::read_on(&mut self.within, *scan);
        (closed == Ok(true)).then_some(false)
    }

    /// Reads what stands between two values of an object or an array, and the
    /// ends of objects and arrays: what the grammar wants then. `Next` where
    /// something else stands there, or an end brought the depth to `until`.
    #[inline(always)]
    fn behind<L: Listener>(&mut self, scan: &mut Scan<'_>, until: u64, listener: &mut L) -> State {
        loop {
            let in_object = self.nesting.in_object();
            match (scan.token(), in_object) {
                (Some(b','), _) => {
                    scan.pass(1);
                    return if in_object { State::Name } else { State::Element };
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    scan.pass(1);
                    self.close(listener);
                    if self.nesting.depth == until {
                        return State::Next;
                    }
                }
                _ => return State::Next,
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
    if rest.first().is_some_and(|octet| *octet > b' ') {
        return;
    }
    *rest = rest.get(scan::space(rest)..).unwrap_or_default();
}

/// The offset of a place in a slice whose first octet is at offset `start`.
#[inline(always)]
const fn place(start: u64, scan: &Scan<'_>) -> u64 {
    start.saturating_add(scan.at() as u64)
}

/// The literal that begins with a letter.
#[inline(always)]
const fn literal(letter: u8) -> &'static str {
    match letter {
        b't' => "true",
        b'f' => "false",
        _ => "null",
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
