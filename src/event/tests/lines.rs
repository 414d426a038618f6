//! NDJSON against a naive reader of lines.

use proptest::prelude::*;
use serde::de::IgnoredAny;

use super::super::{EventItem, Kind};
use super::{everyhow, invalid, spans, whole};

/// The events of some lines, and the line that is at fault.
fn naive(body: &[u8]) -> (Vec<std::ops::Range<u64>>, Option<std::ops::Range<u64>>) {
    let mut events = Vec::new();
    let mut start = 0;
    let last = body.iter().filter(|octet| **octet == b'\n').count();
    for (number, line) in body.split(|octet| *octet == b'\n').enumerate() {
        let space = |octet: &u8| b" \t\r".contains(octet);
        let front = line.iter().take_while(|octet| space(octet)).count();
        let text = line[front..].trim_ascii_end();
        let valid = std::str::from_utf8(line).map(serde_json::from_str::<IgnoredAny>);
        match valid {
            _ if front == line.len() => {}
            Ok(Ok(_)) => events.push((start + front) as u64..(start + front + text.len()) as u64),
            // The last line may go on.
            Ok(Err(error)) if number == last && error.is_eof() => {}
            Err(error) if number == last && error.error_len().is_none() => {}
            _ => return (events, Some(start as u64..(start + line.len() + 1) as u64)),
        }
        start += line.len() + 1;
    }
    (events, None)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn lines_are_read_as_one_by_one(parts in prop::collection::vec(prop::sample::select(vec![
        "{}", "[1,2]", "\"x\"", "12", "true", "nul", "{\"a\":", "1}", " ", "\r", "\n", "\n", "\n", "\r\n", "\"", "x",
    ]), 0..12)) {
        let body = parts.concat();
        let reading = everyhow(Kind::Ndjson, body.as_bytes());
        let (events, fault) = naive(body.as_bytes());
        prop_assert_eq!(spans(&reading), events, "{:?}", body);
        prop_assert_eq!(reading.faulted, fault.is_some(), "{:?}", body);
        if let Some(line) = fault {
            prop_assert!(line.contains(&invalid(&reading).1));
        }
    }
}

#[test]
fn an_event_is_whole_at_its_line_end() {
    let reading = everyhow(Kind::Ndjson, b"{\"a\":1}\r\n\n \t\r\n  [2] \n3");
    assert_eq!(spans(&reading), [0..7, 16..19, 21..22]);
    assert_eq!(reading.items.len(), 2);
    assert_eq!(reading.open.map(|open| (open.start, open.recognised)), Some((21, false)));
    let reading = everyhow(Kind::Ndjson, b"{\"a\":1} ");
    assert!(reading.items.is_empty());
    assert_eq!(reading.open.map(|open| open.start), Some(0));
    assert_eq!(spans(&reading), [0..7], "the end of the body ends the last line");
}

#[test]
fn an_unfinished_last_line_is_no_event() {
    let reading = everyhow(Kind::Ndjson, b"[1]\n[2");
    assert_eq!(spans(&reading), [0..3]);
    assert_eq!((reading.open.map(|open| open.start), reading.last), (Some(4), None));
}

#[test]
fn a_line_holds_one_text() {
    let reading = everyhow(Kind::Ndjson, b"[1] {}\n[2]\n");
    assert_eq!(
        invalid(&reading),
        (0, 4, "expected the end of the line after its JSON text, found `{`", false)
    );
    assert!(spans(&reading).is_empty());
    assert_eq!(invalid(&everyhow(Kind::Ndjson, b"1\"a\"\n")).1, 1);
}

#[test]
fn a_text_holds_no_line_end() {
    let reading = everyhow(Kind::Ndjson, b"{\n\"a\":1}\n");
    assert_eq!(invalid(&reading), (0, 1, "the line ends before its JSON text does", false));
    assert_eq!(invalid(&everyhow(Kind::Ndjson, b"\"a\nb\"\n")).1, 2);
    assert_eq!(invalid(&everyhow(Kind::Ndjson, b"-\n")).1, 1);
    assert_eq!(
        invalid(&everyhow(Kind::Ndjson, b"[1]\n  tru\n")),
        (6, 9, "the line ends before its JSON text does", false)
    );
}

#[test]
fn the_first_characters_of_a_line_are_kept() {
    let body = format!("  [{}]  \n", "7,".repeat(100) + "8");
    let reading = whole(Kind::Ndjson, body.as_bytes());
    let EventItem::Event { summary, .. } = &reading.items[0] else { panic!("{reading:?}") };
    assert_eq!(summary.data.as_deref(), body.trim().get(..120));
    assert_eq!(summary.event_type, None);
}
