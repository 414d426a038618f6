//! What is a JSON text and what isn't, case by case: the corners of RFC 8259
//! that parsers are known to disagree on (numbers, structures, strings,
//! Unicode, white space), judged by the grammar.
//!
//! Each case is read whole and octet by octet, and serde_json with
//! `str::from_utf8` is asked too, where those read the whole grammar.

use chunkscope::event::{EventItem, Framer, Kind};
use serde::de::IgnoredAny;

/// What a row of octets is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// One text, white space around it allowed.
    Text,
    /// Not the beginning of any text: the octet at this place is at fault.
    Fault(u64),
    /// The beginning of a text that goes on, or no text at all.
    Unfinished,
    /// This many texts in a row.
    Texts(usize),
}

use Verdict::{Fault, Text, Texts, Unfinished};

/// Octets and their verdict.
type Case = (&'static [u8], Verdict);

const NUMBERS: &[Case] = &[
    (b"0", Text),
    (b"-0", Text),
    (b"[0]", Text),
    (b"[-0]", Text),
    (b"[-0.0]", Text),
    (b"[0e1]", Text),
    (b"[0e+1]", Text),
    (b"[0E-1]", Text),
    (b"[0.00]", Text),
    (b"[4]", Text),
    (b"[ 4]", Text),
    (b"[4 ]", Text),
    (b"[20e1]", Text),
    (b"[1E22]", Text),
    (b"[1E-2]", Text),
    (b"[1E+2]", Text),
    (b"[123.456e78]", Text),
    (b"[123.456789]", Text),
    (b"[-1]", Text),
    (b"[-12]", Text),
    (b"[-12.5E-0007]", Text),
    (b"[1e0]", Text),
    (b"[1e00]", Text),
    (b"[18446744073709551616]", Text),
    (b"[-9223372036854775809]", Text),
    (b"[123456789012345678901234567890123456789012345678901234567890]", Text),
    (b"[0.0000000000000000000000000000000000000000000000000000000000000000001]", Text),
    (b"[1e400]", Text),
    (b"[-1e400]", Text),
    (b"[1e-9999999999999999999999]", Text),
    (b"[0.4e00669999999999999999999999999999999999999999999999999999999969999999006]", Text),
    (b"[00]", Fault(2)),
    (b"[01]", Fault(2)),
    (b"[012]", Fault(2)),
    (b"[-01]", Fault(3)),
    (b"[-012]", Fault(3)),
    (b"[0.]", Fault(3)),
    (b"[1.]", Fault(3)),
    (b"[-2.]", Fault(4)),
    (b"[.5]", Fault(1)),
    (b"[-.5]", Fault(2)),
    (b"[1.e1]", Fault(3)),
    (b"[1..2]", Fault(3)),
    (b"[1.2.3]", Fault(4)),
    (b"[0e]", Fault(3)),
    (b"[0e+]", Fault(4)),
    (b"[1e]", Fault(3)),
    (b"[1eE2]", Fault(3)),
    (b"[1e1.5]", Fault(4)),
    (b"[1e++2]", Fault(4)),
    (b"[1e2e3]", Fault(4)),
    (b"[+1]", Fault(1)),
    (b"[++1]", Fault(1)),
    (b"[--1]", Fault(2)),
    (b"[-]", Fault(2)),
    (b"[- 1]", Fault(2)),
    (b"[1-2]", Fault(2)),
    (b"[1+2]", Fault(2)),
    (b"[1 000]", Fault(3)),
    (b"[1_000]", Fault(2)),
    (b"[1,000]", Fault(4)),
    (b"[0x1]", Fault(2)),
    (b"[0xff]", Fault(2)),
    (b"[1a]", Fault(2)),
    (b"[1f]", Fault(2)),
    (b"[1L]", Fault(2)),
    (b"[NaN]", Fault(1)),
    (b"[-NaN]", Fault(2)),
    (b"[Infinity]", Fault(1)),
    (b"[-Infinity]", Fault(2)),
    (b"[inf]", Fault(1)),
    (b"[\xEF\xBC\x91]", Fault(1)),
    (b"[1\xC2\xA0]", Fault(2)),
    (b"[1\x00]", Fault(2)),
    (b"-", Unfinished),
    (b"1.", Unfinished),
    (b"1e", Unfinished),
    (b"1e+", Unfinished),
    (b"[1", Unfinished),
    (b"1.5", Text),
    (b"1x", Fault(1)),
    (b"1.5.5", Fault(3)),
    (b"01", Fault(1)),
    (b"1 2", Texts(2)),
    (b"1-2", Fault(1)),
];

const LITERALS: &[Case] = &[
    (b"true", Text),
    (b"false", Text),
    (b"null", Text),
    (b" null\n", Text),
    (b"[true,false,null]", Text),
    (b"[true]", Text),
    (b"[True]", Fault(1)),
    (b"[TRUE]", Fault(1)),
    (b"[tRue]", Fault(2)),
    (b"[nul]", Fault(4)),
    (b"[nulll]", Fault(5)),
    (b"[truth]", Fault(4)),
    (b"[fals]", Fault(5)),
    (b"[tr ue]", Fault(3)),
    (b"[undefined]", Fault(1)),
    (b"[None]", Fault(1)),
    (b"tru", Unfinished),
    (b"nullx", Fault(4)),
    (b"truefalse", Fault(4)),
    (b"true false", Texts(2)),
    (b"true1", Fault(4)),
    (b"true\"\"", Texts(2)),
];

const ARRAYS: &[Case] = &[
    (b"[]", Text),
    (b"[ ]", Text),
    (b"[[]]", Text),
    (b"[[] ]", Text),
    (b"[\"\"]", Text),
    (b"[1,null,1]", Text),
    (b"[1\n]", Text),
    (b"[2] ", Text),
    (b"\t[2]\r\n", Text),
    (b"[null,null,null,null]", Text),
    (b"[1,[2,[3,[4,{\"a\":[]}]]]]", Text),
    (b"[,]", Fault(1)),
    (b"[,1]", Fault(1)),
    (b"[1,]", Fault(3)),
    (b"[1,,2]", Fault(3)),
    (b"[1,\n]", Fault(4)),
    (b"[\"\",]", Fault(4)),
    (b"[1 true]", Fault(3)),
    (b"[\"a\" \"b\"]", Fault(5)),
    (b"[\"a\":1]", Fault(4)),
    (b"[1}", Fault(2)),
    (b"[x]", Fault(1)),
    (b"[*]", Fault(1)),
    (b"[(1)]", Fault(1)),
    (b"[/**/]", Fault(1)),
    (b"[1]//", Fault(3)),
    (b"[1]#", Fault(3)),
    (b"]", Fault(0)),
    (b"[1]]", Fault(3)),
    (b"[1],", Fault(3)),
    (b"[", Unfinished),
    (b"[\"\"", Unfinished),
    (b"[1,", Unfinished),
    (b"[[[[", Unfinished),
    (b"[1][2]", Texts(2)),
    (b"[1][2]3[4]", Texts(4)),
    (b"[[]", Unfinished),
    (b"<[]>", Fault(0)),
    (b"[<null>]", Fault(1)),
    (b"[\x0C]", Fault(1)),
    (b"[\x0B]", Fault(1)),
    (b"[\xC2\x85]", Fault(1)),
    (b"[\xE2\x81\xA0]", Fault(1)),
];

const OBJECTS: &[Case] = &[
    (b"{}", Text),
    (b"{ }", Text),
    (b"{\"a\":1}", Text),
    (b"{ \"a\" : 1 , \"b\" : 2 }", Text),
    (b"{\"\":0}", Text),
    (b"{\"a\":1,\"a\":1}", Text),
    (b"{\"a\":1,\"a\":2}", Text),
    (b"{\"a\":[],\"b\":{}}", Text),
    (b"{\"a\\u0000b\":12}", Text),
    (b"{\"\xC3\xA9\":1}", Text),
    (b"{\"a\":{\"b\":{\"c\":{\"d\":null}}}}", Text),
    (b"{\"min\":-1.0e+28,\"max\":1.0e+28}", Text),
    (b"{\n\"a\":\r\t1\n}", Text),
    (b"{,}", Fault(1)),
    (b"{\"a\"}", Fault(4)),
    (b"{\"a\":}", Fault(5)),
    (b"{\"a\" 1}", Fault(5)),
    (b"{\"a\"::1}", Fault(5)),
    (b"{\"a\",1}", Fault(4)),
    (b"{\"a\"=1}", Fault(4)),
    (b"{:1}", Fault(1)),
    (b"{a:1}", Fault(1)),
    (b"{'a':1}", Fault(1)),
    (b"{1:1}", Fault(1)),
    (b"{null:1}", Fault(1)),
    (b"{[]:1}", Fault(1)),
    (b"{{}}", Fault(1)),
    (b"{\"a\":1,}", Fault(7)),
    (b"{\"a\":1,,\"b\":2}", Fault(7)),
    (b"{\"a\":1;\"b\":2}", Fault(6)),
    (b"{\"a\":1 \"b\":2}", Fault(7)),
    (b"{\"a\":1]", Fault(6)),
    (b"{\"a\":1}}", Fault(7)),
    (b"{\"a\":1}#", Fault(7)),
    (b"{\"a\":1}/**/", Fault(7)),
    (b"{\"a\":/*x*/1}", Fault(5)),
    (b"{\"a\":\"b\":1}", Fault(8)),
    (b"{\"a\":a}", Fault(5)),
    (b"{\xC3\xA9:1}", Fault(1)),
    (b"{\xF0\x9F\x98\x80}", Fault(1)),
    (b"}", Fault(0)),
    (b"{", Unfinished),
    (b"{\"a", Unfinished),
    (b"{\"a\"", Unfinished),
    (b"{\"a\":", Unfinished),
    (b"{\"a\":1", Unfinished),
    (b"{\"a\":1,", Unfinished),
    (b"{}{}", Texts(2)),
];

const STRINGS: &[Case] = &[
    (b"\"\"", Text),
    (b"\" \"", Text),
    (b"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", Text),
    (b"[\"\\u0012\"]", Text),
    (b"[\"\\u0000\"]", Text),
    (b"[\"\\u00e9\\u00E9\"]", Text),
    (b"[\"\\uFFFF\"]", Text),
    (b"[\"\\uD83D\\uDE00\"]", Text),
    (b"[\"\\\\u0000\"]", Text),
    (b"[\"\\\\a\"]", Text),
    (b"[\"\\\"\"]", Text),
    (b"[\"a/*b*/c\"]", Text),
    (b"[\"\x7F\"]", Text),
    (b"[\"\\u2028\xE2\x80\xA8\xE2\x80\xA9\"]", Text),
    // Surrogates without their half: the grammar allows them.
    (b"[\"\\uD800\"]", Text),
    (b"[\"\\uDC00\"]", Text),
    (b"[\"\\uD800\\uD800\"]", Text),
    (b"[\"\\uDC00\\uD800\"]", Text),
    (b"[\"\\uD800abc\"]", Text),
    (b"[\"\\uD800\\n\"]", Text),
    (b"[\"\\a\"]", Fault(3)),
    (b"[\"\\x00\"]", Fault(3)),
    (b"[\"\\0\"]", Fault(3)),
    (b"[\"\\'\"]", Fault(3)),
    (b"[\"\\ \"]", Fault(3)),
    (b"[\"\\U0041\"]", Fault(3)),
    (b"[\"\\\n\"]", Fault(3)),
    (b"[\"\\\t\"]", Fault(3)),
    (b"[\"\\\x00\"]", Fault(3)),
    (b"[\"\\\xC3\xA9\"]", Fault(3)),
    (b"[\"\\u\"]", Fault(4)),
    (b"[\"\\u1\"]", Fault(5)),
    (b"[\"\\u12\"]", Fault(6)),
    (b"[\"\\u123\"]", Fault(7)),
    (b"[\"\\u00G0\"]", Fault(6)),
    (b"[\"\\u-123\"]", Fault(4)),
    (b"[\"\\u+123\"]", Fault(4)),
    (b"[\"\\u{41}\"]", Fault(4)),
    (b"[\"\\uD83D\\x\"]", Fault(9)),
    (b"[\"\\u00\xC3\xA9\"]", Fault(6)),
    (b"[\"\n\"]", Fault(2)),
    (b"[\"\t\"]", Fault(2)),
    (b"[\"a\x00a\"]", Fault(3)),
    (b"[\"0123456789\x1Fabcdef\"]", Fault(12)),
    (b"['a']", Fault(1)),
    (b"[`a`]", Fault(1)),
    (b"[a]", Fault(1)),
    (b"[\xE2\x80\x9Ca\xE2\x80\x9D]", Fault(1)),
    (b"[\\n]", Fault(1)),
    (b"\"\\", Unfinished),
    (b"\"\\u", Unfinished),
    (b"\"\\u12", Unfinished),
    (b"\"abc", Unfinished),
    (b"\"\\\"", Unfinished),
    (b"\"a\"\"b\"", Texts(2)),
    (b"\"a\"x", Fault(3)),
];

const UNICODE: &[Case] = &[
    (b"[\"\xC3\xA9\"]", Text),
    (b"[\"\xC2\x80\"]", Text),
    (b"[\"\xDF\xBF\"]", Text),
    (b"[\"\xE0\xA0\x80\"]", Text),
    (b"[\"\xED\x9F\xBF\"]", Text),
    (b"[\"\xEE\x80\x80\"]", Text),
    (b"[\"\xEF\xBF\xBE\"]", Text),
    (b"[\"\xEF\xBF\xBF\"]", Text),
    (b"[\"\xF0\x90\x80\x80\"]", Text),
    (b"[\"\xF4\x8F\xBF\xBF\"]", Text),
    (b"[\"\xEF\xBB\xBF\"]", Text),
    (b"[\"\x80\"]", Fault(2)),
    (b"[\"\xBF\"]", Fault(2)),
    (b"[\"\xFE\"]", Fault(2)),
    (b"[\"\xFF\"]", Fault(2)),
    (b"[\"\xC0\xAF\"]", Fault(2)),
    (b"[\"\xC1\xBF\"]", Fault(2)),
    (b"[\"\xE0\x80\xAF\"]", Fault(3)),
    (b"[\"\xF0\x80\x80\xAF\"]", Fault(3)),
    (b"[\"\xED\xA0\x80\"]", Fault(3)),
    (b"[\"\xED\xBF\xBF\"]", Fault(3)),
    (b"[\"\xF4\x90\x80\x80\"]", Fault(3)),
    (b"[\"\xF5\x80\x80\x80\"]", Fault(2)),
    (b"[\"\xF8\x88\x80\x80\x80\"]", Fault(2)),
    (b"[\"\xC3\"]", Fault(3)),
    (b"[\"\xE2\x82\"]", Fault(4)),
    (b"[\"\xF0\x9F\x98\"]", Fault(5)),
    (b"[\"\xC3\x28\"]", Fault(3)),
    (b"[\"\xE2\x28\xAC\"]", Fault(3)),
    (b"[\"\xC3\\n\"]", Fault(3)),
    (b"[\"\xC3\xC3\xA9\"]", Fault(3)),
    (b"[\"\xE9\"]", Fault(3)),
    (b"[\"0123456789abcdef\xFF\"]", Fault(18)),
    (b"\"\xC3", Unfinished),
    (b"\"\xF0\x9F\x98", Unfinished),
    (b"\xEF\xBB\xBF{}", Fault(0)),
    (b"\xEF\xBB\xBF", Fault(0)),
    (b"\xFF\xFE[\x00]\x00", Fault(0)),
    (b"\x00[\x00]", Fault(0)),
    (b"\xC3\xA9", Fault(0)),
];

const AROUND: &[Case] = &[
    (b"", Texts(0)),
    (b" ", Texts(0)),
    (b"\r\n\t ", Texts(0)),
    (b"                 []                 ", Text),
    (b"\x0C[]", Fault(0)),
    (b"\x0B[]", Fault(0)),
    (b"\xC2\xA0[]", Fault(0)),
    (b"[]\x00", Fault(2)),
    (b"\x00", Fault(0)),
    (b"\x1E[]", Fault(0)),
    (b",", Fault(0)),
    (b":", Fault(0)),
    (b"<html>", Fault(0)),
    (b"HTTP/1.1 200 OK", Fault(0)),
    (b"*", Fault(0)),
    (b"// []", Fault(0)),
    (b"[]\n[]\n", Texts(2)),
    (b"{}\r\n", Text),
];

/// All tables.
fn cases() -> impl Iterator<Item = Case> {
    [NUMBERS, LITERALS, ARRAYS, OBJECTS, STRINGS, UNICODE, AROUND].into_iter().flatten().copied()
}

/// What the program says of octets that come in pieces.
fn judge(octets: &[u8], size: usize) -> Verdict {
    let mut framer = Framer::new(Kind::Json);
    let mut offset = 0;
    let mut texts = 0;
    for mut piece in octets.chunks(size) {
        while let Some(item) = framer.read(&mut piece, &mut offset) {
            match item {
                EventItem::Event { .. } => texts += 1,
                EventItem::Invalid { at, .. } => return Fault(at),
                EventItem::Filler { .. } | EventItem::Rest { .. } => panic!("JSON has no comments"),
            }
        }
    }
    texts += usize::from(framer.finish().is_some());
    match (framer.open(), texts) {
        (Some(_), _) => Unfinished,
        (None, 1) => Text,
        (None, texts) => Texts(texts),
    }
}

#[test]
fn there_are_cases_for_each_corner() {
    let mut octets: Vec<_> = cases().map(|(octets, _)| octets).collect();
    octets.sort_unstable();
    let count = octets.len();
    octets.dedup();
    assert_eq!(octets.len(), count, "a case is there twice");
    assert!(count >= 300, "{count}");
}

#[test]
fn each_case_is_judged_by_the_grammar() {
    for (octets, verdict) in cases() {
        for size in [usize::MAX, 1, 2, 3, 5, 8] {
            assert_eq!(judge(octets, size), verdict, "in pieces of {size}: {}", octets.escape_ascii());
        }
    }
}

#[test]
fn serde_json_agrees_on_each_case() {
    for (octets, verdict) in cases() {
        let texts: Result<Vec<IgnoredAny>, _> =
            serde_json::Deserializer::from_slice(octets).into_iter().collect();
        let utf8 = std::str::from_utf8(octets).is_ok();
        let expected = match verdict {
            Text => Some(1),
            Texts(texts) => Some(texts),
            Fault(_) | Unfinished => None,
        };
        let found = texts.ok().filter(|_| utf8).map(|texts| texts.len());
        assert_eq!(found, expected, "{}", octets.escape_ascii());
    }
}

#[test]
fn octets_before_a_fault_can_become_a_text() {
    for (octets, verdict) in cases() {
        if let Fault(at) = verdict {
            let before = judge(&octets[..at as usize], usize::MAX);
            assert!(!matches!(before, Fault(_)), "{}", octets.escape_ascii());
        }
    }
}
