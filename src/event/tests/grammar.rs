//! The recogniser of JSON texts against serde_json, and what it says of faults.

use proptest::prelude::*;
use serde::de::IgnoredAny;

use super::super::{EventItem, Kind};
use super::{Reading, everyhow, invalid, read, spans, whole};

/// The texts that serde_json finds in a row of them, and why it stops.
fn by_serde(body: &[u8]) -> (Vec<std::ops::Range<u64>>, Option<serde_json::Error>) {
    let mut stream = serde_json::Deserializer::from_slice(body).into_iter::<IgnoredAny>();
    let mut texts = Vec::new();
    let mut from = 0;
    while let Some(text) = stream.next() {
        if let Err(error) = text {
            return (texts, Some(error));
        }
        let end = stream.byte_offset();
        let space = body[from..end].iter().take_while(|octet| b" \t\r\n".contains(octet)).count();
        texts.push((from + space) as u64..end as u64);
        from = end;
    }
    (texts, None)
}

/// Whether octets are texts, or may become such. Of a number that lacks digits
/// at the end serde_json doesn't say that only the end is at fault.
fn may_go_on(body: &[u8]) -> bool {
    [b"".as_slice(), b"0"].into_iter().any(|more| {
        let (_, error) = by_serde(&[body, more].concat());
        error.is_none_or(|error| error.is_eof())
    })
}

/// Holds a reading equal to what serde_json and `str::from_utf8` say. Skipped
/// values are read without a check of UTF-8 and without a limit of depth.
fn agree(body: &[u8], reading: &Reading) {
    let text = body.escape_ascii();
    let (mut texts, error) = by_serde(body);
    let fault = reading.items.iter().find_map(|item| match item {
        EventItem::Invalid { at, well_formed, .. } => {
            assert!(!well_formed, "any value is an event of the kind: {text}");
            Some(*at as usize)
        }
        _ => None,
    });
    assert_eq!(reading.faulted, fault.is_some());
    let Some(at) = fault else {
        let utf8 = std::str::from_utf8(body).err();
        assert!(utf8.is_none_or(|error| error.error_len().is_none()), "invalid UTF-8 passed: {text}");
        assert!(may_go_on(body), "serde_json says {error:?}: {text}");
        assert_eq!(spans(reading), texts, "{text}");
        assert_eq!(reading.open.is_some() && reading.last.is_none(), error.is_some(), "{text}");
        return;
    };
    // The fault is where it is said to be: what precedes can go on …
    let before = &body[..at];
    let utf8 = std::str::from_utf8(before).err();
    assert!(utf8.is_none_or(|error| error.error_len().is_none()), "invalid UTF-8 before {at}: {text}");
    assert!(may_go_on(before), "serde_json rejects {at} octets: {text}");
    let (mut before, _) = by_serde(before);
    // … and nothing makes it good that might follow.
    let mut until = body[..=at].to_vec();
    if std::str::from_utf8(&until).err().is_none_or(|error| error.error_len().is_none()) {
        until.extend(b"0000");
        let (_, error) = by_serde(&until);
        assert!(
            error.as_ref().is_some_and(|error| !error.is_eof()),
            "serde_json says {error:?} of {at}: {text}"
        );
    }
    texts.retain(|text| text.end <= at as u64);
    // A number that the fault stands behind is none.
    before.retain(|text| texts.contains(text));
    assert_eq!(spans(reading), before, "{text}");
}

/// JSON values of any shape, some of them deep.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(|number| serde_json::json!(number)),
        ".{0,12}".prop_map(Into::into),
        "[a-z]{0,20}".prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::btree_map(".{0,9}", inner, 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Rows of texts, plain or indented.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let text = (value(), any::<bool>()).prop_map(|(value, indented)| {
        if indented { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap()
    });
    prop::collection::vec((text, prop::sample::select(vec!["", " ", "\n", "\r\n\t"])), 1..4)
        .prop_map(|parts| {
            parts.into_iter().flat_map(|(text, space)| [text, space.to_owned()]).collect::<String>()
        })
        .prop_map(String::into_bytes)
}

/// Octets put together from what JSON consists of, and from what it doesn't.
fn scraps() -> impl Strategy<Value = Vec<u8>> {
    let scraps: Vec<&'static [u8]> = vec![
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\"a\"",
        b"\"\"",
        b"\\",
        b"\\\"",
        b"\\n",
        b"\\u",
        b"\\ud800",
        b"\\u00e9",
        b"00",
        b"0",
        b"1",
        b"-",
        b"+",
        b".",
        b"e",
        b"E",
        b"1.5e-3",
        b"true",
        b"false",
        b"null",
        b"tru",
        b"nul",
        b" ",
        b"\n",
        b"\r",
        b"\t",
        b"        ",
        b"\"k\":",
        b"\"k\":\"v\",",
        b"{}",
        b"[]",
        b"a",
        b"<",
        b"\x00",
        b"\x1f",
        b"\x7f",
        b"\x80",
        b"\xC3\xA9",
        b"\xC3",
        b"\xE2\x82\xAC",
        b"\xE2\x82",
        b"\xF0\x9F\x98\x80",
        b"\xED\xA0\x80",
        b"\xC0\x80",
        b"\xF4\x90\x80\x80",
        b"\xEF\xBB\xBF",
        b"\xFF",
        b"\"0123456789abcdef",
    ];
    prop::collection::vec(prop::sample::select(scraps), 0..12).prop_map(|scraps| scraps.concat())
}

/// A change of one octet.
fn change(mut body: Vec<u8>, place: prop::sample::Index, octet: u8, how: u8) -> Vec<u8> {
    if body.is_empty() {
        return body;
    }
    let at = place.index(body.len());
    match how % 4 {
        0 => body[at] = octet,
        1 => body.insert(at, octet),
        2 => {
            body.remove(at);
        }
        _ => body.truncate(at),
    }
    body
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn texts_end_where_serde_json_says(body in texts()) {
        let reading = whole(Kind::Json, &body);
        agree(&body, &reading);
        prop_assert_eq!(reading, read(Kind::Json, body.chunks(1)));
    }

    #[test]
    fn changed_texts_are_judged_as_by_serde_json(
        body in texts(), place: prop::sample::Index, octet: u8, how: u8
    ) {
        let body = change(body, place, octet, how);
        let reading = whole(Kind::Json, &body);
        agree(&body, &reading);
        prop_assert_eq!(&reading, &read(Kind::Json, body.chunks(1)));
        prop_assert_eq!(&reading, &read(Kind::Json, body.chunks(7)));
    }

    #[test]
    fn runs_are_read_as_octet_by_octet(
        inner in texts(), scraps in scraps(), place: prop::sample::Index, octet: u8, how in 0..8_u8, size in 2..90_usize
    ) {
        let text = [
            br#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"labels":{"a":"b","c":["#,
            inner.as_slice(),
            br#",{}],"name":"d"}}},"spec":[{"e":"#,
            &scraps,
            br#","f":[]}],"g":"h"}}"#,
        ].concat();
        // Half of them as they are.
        let body = if how < 4 { change(text, place, octet, how) } else { text };
        for kind in [Kind::Watch, Kind::Json, Kind::Ndjson] {
            let reading = read(kind, body.chunks(1));
            prop_assert_eq!(&reading, &whole(kind, &body));
            prop_assert_eq!(&reading, &read(kind, body.chunks(size)));
            let (front, back) = body.split_at(place.index(body.len() + 1));
            prop_assert_eq!(&reading, &read(kind, [front, back]));
        }
        agree(&body, &whole(Kind::Json, &body));
    }

    #[test]
    fn scraps_are_judged_as_by_serde_json_at_every_cut(body in scraps()) {
        agree(&body, &everyhow(Kind::Json, &body));
    }

    #[test]
    fn strings_of_scraps_are_judged_as_by_serde_json(body in scraps()) {
        let body = [b"\"", body.as_slice(), b"\""].concat();
        agree(&body, &everyhow(Kind::Json, &body));
    }

    #[test]
    fn any_octets_are_judged_as_by_serde_json(body in prop::collection::vec(any::<u8>(), 0..24)) {
        agree(&body, &everyhow(Kind::Json, &body));
        let string = [b"\"", body.as_slice(), b"\""].concat();
        agree(&string, &everyhow(Kind::Json, &string));
    }
}

#[test]
fn every_two_octets_in_a_string_are_judged_as_by_serde_json() {
    for pair in 0..=u16::MAX {
        let [one, two] = pair.to_be_bytes();
        let body = [b'"', one, two, b'"'];
        agree(&body, &whole(Kind::Json, &body));
    }
}

#[test]
fn every_beginning_of_a_character_is_judged_by_rfc_3629() {
    let edges = [0x00, 0x22, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF];
    for lead in 0x80..=0xFF {
        for two in edges {
            for three in edges {
                for four in edges {
                    let body = [b'"', b'x', lead, two, three, four, b'"'];
                    let reading = whole(Kind::Json, &body);
                    agree(&body, &reading);
                    assert_eq!(reading, read(Kind::Json, body.chunks(1)));
                }
            }
        }
    }
}

#[test]
fn numbers_and_literals_end_where_something_may_follow() {
    let ends = |body: &str| spans(&everyhow(Kind::Json, body.as_bytes()));
    assert_eq!(ends("[1][2]3[4]"), [0..3, 3..6, 6..7, 7..10]);
    assert_eq!(ends("1 2\n-0.5e+7"), [0..1, 2..3, 4..11]);
    assert_eq!(ends("true{}null\"x\"false"), [0..4, 4..6, 6..10, 10..13, 13..18]);
    assert_eq!(invalid(&everyhow(Kind::Json, b"truefalse")).1, 4);
    assert_eq!(ends("truefalse"), []);
    assert_eq!(ends("1,"), [0..1]);
}

#[test]
fn a_number_is_whole_at_the_end_of_the_body_only() {
    let reading = whole(Kind::Json, b" 12");
    assert!(reading.items.is_empty());
    assert_eq!(reading.open.map(|open| open.start), Some(1));
    assert!(matches!(reading.last, Some(EventItem::Event { ref span, .. }) if *span == (1..3)));
    let unfinished = whole(Kind::Json, b" 12.");
    assert_eq!((unfinished.open.is_some(), unfinished.last), (true, None));
}

#[test]
fn faults_say_where_and_what_in_words() {
    for (body, at, message) in [
        ("<html>", 0, "expected a JSON value, found `<`"),
        ("\u{feff}{}", 0, "expected a JSON value, found 0xef"),
        ("{\"a\":1<", 6, "expected `,` or `}` after a member's value, found `<`"),
        ("[1 2]", 3, "expected `,` or `]` after an array's element, found `2`"),
        ("[1}", 2, "expected `,` or `]` after an array's element, found `}`"),
        ("{\"a\" 1}", 5, "expected `:` after a member's name, found `1`"),
        ("{\"a\":}", 5, "expected a value behind `:`, found `}`"),
        ("{a:1}", 1, "expected a member's name in quotation marks or `}` behind `{`, found `a`"),
        ("{\"a\":1,}", 7, "expected a member's name in quotation marks behind `,`, found `}`"),
        ("[,]", 1, "expected a value or `]` behind `[`, found `,`"),
        ("[1,]", 3, "expected a value behind `,`, found `]`"),
        ("[01]", 2, "expected no further digit behind a leading 0, found `1`"),
        ("[-x]", 2, "expected a digit behind `-`, found `x`"),
        ("[1.]", 3, "expected a digit behind the decimal point, found `]`"),
        ("[1e]", 3, "expected a digit in a number's exponent, found `]`"),
        ("[1e+ ]", 4, "expected a digit in a number's exponent, found a space"),
        ("[nul]", 4, "expected `null`, found `]` in it"),
        ("[fals\n", 5, "expected `false`, found 0x0a in it"),
        ("1x", 1, "expected white space or the next value after a number or a literal, found `x`"),
        ("[\"a\nb\"]", 3, "control character 0x0a in a string"),
        ("[\"\\x\"]", 3, "expected one of `\"\\/bfnrtu` behind `\\`, found `x`"),
        ("[\"\\u12g4\"]", 6, "expected four hex digits behind `\\u`, found `g`"),
    ] {
        let reading = everyhow(Kind::Json, body.as_bytes());
        let (_, found, said, well_formed) = invalid(&reading);
        assert_eq!((found, said, well_formed), (at, message, false), "{body}");
    }
    let reading = everyhow(Kind::Json, b"[\"a\xC3\x28\"]");
    assert_eq!(invalid(&reading), (0, 4, "invalid UTF-8 in a string: `(`", false));
    let reading = everyhow(Kind::Json, b"[\"a\xFF\"]");
    assert_eq!(invalid(&reading), (0, 3, "invalid UTF-8 in a string: 0xff", false));
}

#[test]
fn a_fault_ends_the_span_of_its_item() {
    let reading = everyhow(Kind::Json, b"[] {\"a\":1;}");
    assert_eq!(spans(&reading), [0..2]);
    assert!(matches!(&reading.items[1], EventItem::Invalid { span, at: 9, .. } if *span == (3..10)));
}

#[test]
fn a_million_levels_are_a_text() {
    const DEPTH: usize = 1_000_000;
    let mixed: Vec<u8> = b"[{\"a\":".iter().copied().cycle().take(DEPTH / 2 * 6).collect();
    let closing: Vec<u8> = b"}]".iter().copied().cycle().take(DEPTH).collect();
    let body = [mixed.as_slice(), b"0", &closing].concat();
    assert_eq!(spans(&whole(Kind::Json, &body)), [0..body.len() as u64]);
    // The wrong closer is noticed however deep it is.
    for at in [0, 1, 62, 63, 64, 65, 128, DEPTH - 1] {
        let mut body = body.clone();
        let place = body.len() - DEPTH + at;
        body[place] ^= b'}' ^ b']';
        assert_eq!(invalid(&whole(Kind::Json, &body)).1, place as u64);
    }
}

#[test]
fn a_huge_string_needs_no_memory_in_any_pieces() {
    for unit in ["0123456789abcdef", "\\n\\u00e9", "名前é😀"] {
        let body = format!("{{\"type\":\"ADDED\",\"object\":{{\"data\":\"{}\"}}}}", unit.repeat(400_000));
        for size in [1, 7, 4096] {
            assert_eq!(spans(&read(Kind::Watch, body.as_bytes().chunks(size))), [0..body.len() as u64]);
        }
    }
}

#[test]
fn the_first_characters_of_a_text_are_kept() {
    let data = |body: &str| match whole(Kind::Json, body.as_bytes()).items.pop() {
        Some(EventItem::Event { summary, .. }) => summary.data.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(data(" [1, \"é\"] "), "[1, \"é\"]");
    let long = format!("\"{}\"", "😀".repeat(200));
    assert_eq!(data(&long), long.chars().take(120).collect::<String>());
    let odd = format!("\"a{}\"", "é".repeat(500));
    assert_eq!(data(&odd), odd.chars().take(120).collect::<String>());
    let exact = format!("\"{}\"", "x".repeat(118));
    assert_eq!(data(&exact), exact);
}
