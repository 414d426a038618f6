//! Event streams against a naive reader of lines.

use proptest::prelude::*;
use smol_str::SmolStr;

use super::super::{EventItem, Framer, Kind, MaybeSummary, OpenItem, Summary};
use super::{everyhow, read, whole};

/// Reads an event stream as the algorithm of WHATWG HTML 9.2.6 is written.
fn naive(body: &[u8]) -> Vec<EventItem> {
    let mut items = Vec::new();
    let mut at = if body.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let mut block = None;
    let (mut name, mut id, mut data) = (String::new(), None, None::<String>);
    while let Some(length) = body[at..].iter().position(|octet| b"\r\n".contains(octet)) {
        let line = String::from_utf8_lossy(&body[at..at + length]).into_owned();
        let end = at + length + 1;
        let start = *block.get_or_insert(at);
        at = if body[at + length..].starts_with(b"\r\n") { end + 1 } else { end };
        if line.is_empty() {
            let span = start as u64..end as u64;
            items.push(match data.take() {
                Some(data) => EventItem::Event {
                    span,
                    summary: MaybeSummary::from(Summary {
                        event_type: Some(if name.is_empty() {
                            "message".into()
                        } else {
                            name.as_str().into()
                        }),
                        id: id.take(),
                        data: Some(data.chars().take(120).collect()),
                        ..Summary::default()
                    }),
                },
                None => EventItem::Filler { span },
            });
            (block, id) = (None, None);
            name.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.to_owned(),
            "data" => match &mut data {
                Some(data) => *data = format!("{data}\n{value}"),
                None => data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => id = Some(value.into()),
            _ => {}
        }
    }
    items
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, ..ProptestConfig::default() })]

    #[test]
    fn streams_are_read_as_whatwg_html_says(parts in prop::collection::vec(prop::sample::select(vec![
        &b"data"[..], b"data:", b"data: ", b"event:", b"id: ", b"id", b"retry: 5", b":", b": c", b" ", b"x", b"\xC3\xA9",
        b"\xE2\x82", b"\xFF", b"\0", b"\r", b"\n", b"\n\n", b"\r\n", b"\r\n\r\n", b"\xEF\xBB\xBF", b"\xEF\xBB", b"\xEF",
    ]), 0..24)) {
        let body = parts.concat();
        let reading = everyhow(Kind::Sse, &body);
        prop_assert_eq!(&reading.items, &naive(&body), "{}", body.escape_ascii());
        prop_assert!(!reading.faulted && reading.last.is_none());
    }
}

/// The events of a stream: span, type, id, data.
fn events(body: &str) -> Vec<(std::ops::Range<u64>, SmolStr, Option<SmolStr>, SmolStr)> {
    let event = |item| match item {
        EventItem::Event { span, summary } => {
            let Summary { event_type, id, data, .. } = (*summary).clone();
            Some((span, event_type.unwrap(), id, data.unwrap()))
        }
        EventItem::Filler { .. } => None,
        EventItem::Invalid { .. } | EventItem::Rest { .. } => panic!("an event stream has no faults"),
    };
    everyhow(Kind::Sse, body.as_bytes()).items.into_iter().filter_map(event).collect()
}

fn message(
    span: std::ops::Range<u64>,
    data: &str,
) -> (std::ops::Range<u64>, SmolStr, Option<SmolStr>, SmolStr) {
    (span, "message".into(), None, data.into())
}

#[test]
fn lines_end_with_lf_cr_or_crlf() {
    assert_eq!(events("data: a\n\ndata: b\n\n"), [message(0..9, "a"), message(9..18, "b")]);
    assert_eq!(events("data: a\r\rdata: b\r\r"), [message(0..9, "a"), message(9..18, "b")]);
    assert_eq!(events("data: a\r\n\r\ndata: b\r\n\r\n"), [message(0..10, "a"), message(11..21, "b")]);
    assert_eq!(events("data: a\n\rdata: b\r\n\n"), [message(0..9, "a"), message(9..19, "b")]);
}

#[test]
fn the_lf_of_the_last_crlf_belongs_to_nothing() {
    let reading = read(Kind::Sse, [&b"data: a\r\n\r"[..], b"\n", b"data: b\r\n\r\n"]);
    assert_eq!(reading.items.len(), 2, "no empty line is seen: {reading:?}");
    assert_eq!(reading.open, None);
    assert_eq!(reading.items, whole(Kind::Sse, b"data: a\r\n\r\ndata: b\r\n\r\n").items);
}

#[test]
fn the_fields_of_an_event() {
    let full = "event: tick\nid: 7\nretry: 10\ndata: {\"a\":\ndata:1}\nother: x\n\n";
    assert_eq!(events(full), [(0..full.len() as u64, "tick".into(), Some("7".into()), "{\"a\":\n1}".into())]);
    // The examples of WHATWG HTML 9.2.6.
    assert_eq!(events("data: YHOO\ndata: +2\ndata: 10\n\n"), [message(0..30, "YHOO\n+2\n10")]);
    assert_eq!(
        events(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"
        ),
        [
            (15..40, "message".into(), Some("1".into()), "first event".into()),
            (40..62, "message".into(), Some("".into()), "second event".into()),
            message(62..82, " third event"),
        ]
    );
    assert_eq!(events("data\n\ndata\ndata\n\ndata:"), [message(0..6, ""), message(6..17, "\n")]);
    assert_eq!(events("data:test\n\ndata: test\n\n"), [message(0..11, "test"), message(11..23, "test")]);
}

#[test]
fn the_last_field_of_a_name_counts() {
    let body = "event: a\nevent: b\nid: 1\nid: 2\ndata\n\nevent: c\nevent\ndata\n\n";
    assert_eq!(events(body), [(0..36, "b".into(), Some("2".into()), "".into()), message(36..57, "")]);
}

#[test]
fn an_event_inherits_no_field_of_a_block_before_it() {
    assert_eq!(events("event: a\nid: 1\n\ndata: x\n\n"), [message(16..25, "x")]);
    assert_eq!(events("event: a\nid: 1\ndata: w\n\ndata: x\n\n")[1], message(24..33, "x"));
}

#[test]
fn an_id_with_a_nul_is_ignored() {
    assert_eq!(events("id: 1\nid: a\0b\ndata: x\n\n")[0].2.as_deref(), Some("1"));
    let long = format!("id: {}\0\ndata: x\n\n", "a".repeat(10_000));
    assert_eq!(events(&long[9_000..]).len(), 1);
    assert_eq!(whole(Kind::Sse, long.as_bytes()).items.len(), 1);
}

#[test]
fn names_of_fields_are_exact() {
    for name in ["Data", "dat", "dataa", " data", "data ", "\u{feff}data"] {
        assert_eq!(events(&format!("\n{name}: x\n\n")), [], "{name}");
    }
}

#[test]
fn comments_belong_to_the_event_below_them() {
    assert_eq!(events(": a\n: b\ndata: x\n: c\n\n"), [message(0..21, "x")]);
}

#[test]
fn blocks_without_data_are_filler() {
    for (body, fillers) in [
        (": keep-alive\n\n", vec![0..14]),
        (":\r\n\r\n:\n\n", vec![0..4, 5..8]),
        ("\n", vec![0..1]),
        ("\r\n\r\n", vec![0..1, 2..3]),
        ("retry: 100\n\n", vec![0..12]),
        ("event: x\nid: 2\n\n\n", vec![0..16, 16..17]),
    ] {
        let items: Vec<_> = fillers.into_iter().map(|span| EventItem::Filler { span }).collect();
        assert_eq!(everyhow(Kind::Sse, body.as_bytes()).items, items, "{body:?}");
    }
}

#[test]
fn an_open_block_says_whether_it_is_comments_only() {
    let open = |body: &[u8]| everyhow(Kind::Sse, body).open;
    let item = |start, recognised, filler_only| {
        Some(OpenItem { start, recognised, filler_only, end: u64::MAX, undecided: !recognised })
    };
    let comments = |start| item(start, false, true);
    let fields = |start| item(start, false, false);
    assert_eq!(open(b""), None);
    assert_eq!(open(b"data: x\n\n"), None);
    assert_eq!(open(b"data: x\r\n\r\n"), None);
    assert_eq!(open(b":"), comments(0));
    assert_eq!(open(b"\n: a\r\n: b\r\n"), comments(1));
    assert_eq!(open(b": a\nd"), fields(0));
    assert_eq!(open(b"data: x\n\nevent: y\n: c\n"), fields(9));
    assert_eq!(open(b": a\ndata:"), item(0, true, false));
}

#[test]
fn behind_lost_octets_an_event_begins_with_a_field_or_a_comment_or_behind_an_empty_line() {
    let items = |body: &str| {
        let mut framer = Framer::new(Kind::Sse);
        framer.resume_amid(40);
        let (mut octets, mut offset, mut items) = (body.as_bytes(), 40, Vec::new());
        while let Some(item) = framer.read(&mut octets, &mut offset) {
            items.push(item);
        }
        // Octet by octet it is the same.
        framer.resume_amid(40);
        let (mut offset, mut singly) = (40, Vec::new());
        for mut octet in body.as_bytes().chunks(1) {
            singly.extend(framer.read(&mut octet, &mut offset));
        }
        assert_eq!(items, singly);
        items
    };
    for (body, rest) in [
        ("lo\r\n\r\n", 5),
        ("ata: x\ndata: y\n\n", 16),
        // The first may end a line that began before, whatever it had.
        ("\r\r", 2),
        ("\n\n", 2),
        ("\r\n\r\n", 3),
        ("lo: x\ndata: y\n\n", 15),
    ] {
        let [EventItem::Rest { span }, EventItem::Event { span: event, summary }] =
            &items(&format!("{body}data: z\n\n"))[..]
        else {
            panic!("{body:?}: {:?}", items(&format!("{body}data: z\n\n")))
        };
        assert_eq!(*span, 40..40 + rest, "{body:?}");
        assert_eq!(event.start, 40 + body.len() as u64);
        assert_eq!(summary.data.as_deref(), Some("z"));
        assert_eq!(summary.event_type.as_deref(), Some("message"));
    }
    for body in ["data: x\n\n", ": c\nid: 4\ndata: x\n\n", "retry\ndata: x\n\n", "event: x\r\ndata\r\n\r"] {
        let [EventItem::Event { span, .. }] = &items(body)[..] else { panic!("{body:?}: {:?}", items(body)) };
        assert_eq!(*span, 40..40 + body.len() as u64, "{body:?}");
    }
    assert!(matches!(&items(": c\n\n")[..], [EventItem::Filler { .. }]));
    for body in ["lo", "\n", "\r\n", "data: x\n", "event: x\nid: 4\n"] {
        assert_eq!(items(body), [], "{body:?}");
    }
}

#[test]
fn only_the_stream_itself_begins_with_a_byte_order_mark() {
    let body = "\u{feff}data: x\n\n\u{feff}data: y\n\n";
    assert_eq!(events(body), [message(3..12, "x")]);
    assert_eq!(events("\u{feff}\u{feff}data: x\n\n"), []);
    let mut framer = Framer::new(Kind::Sse);
    framer.resume(40);
    let item = framer.read(&mut body.as_bytes(), &mut 40);
    assert!(matches!(item, Some(EventItem::Filler { .. })), "another field: {item:?}");
    framer.resume(0);
    assert!(matches!(framer.read(&mut body.as_bytes(), &mut 0), Some(EventItem::Event { .. })));
}

#[test]
fn what_is_no_utf_8_is_replaced() {
    let reading = everyhow(Kind::Sse, b"event: \xC3\ndata: \xFF\xE2\x82x\xF0\x9F\n\n");
    let EventItem::Event { summary, .. } = &reading.items[0] else { panic!("{reading:?}") };
    assert_eq!(summary.event_type.as_deref(), Some("\u{fffd}"));
    assert_eq!(summary.data.as_deref(), Some("\u{fffd}\u{fffd}x\u{fffd}"));
}

#[test]
fn long_lines_keep_what_is_shown() {
    let long = "é".repeat(100_000);
    let body = format!(": {long}\n{long}: {long}\nevent: {long}\nid: {long}\ndata: {long}\ndata: {long}\n\n");
    for size in [1, 1000, usize::MAX] {
        let reading = read(Kind::Sse, body.as_bytes().chunks(size));
        let summary = Summary { data: Some("é".repeat(120).into()), ..Summary::default() };
        let span = 0..body.len() as u64;
        assert_eq!(reading.items, [EventItem::Event { span, summary: summary.into() }]);
    }
}

#[test]
fn a_stream_that_stops_in_an_event_has_no_more() {
    let reading = everyhow(Kind::Sse, b"data: x\n\ndata: y\n");
    assert_eq!((reading.items.len(), reading.last), (1, None));
    assert_eq!(reading.open.map(|open| open.start), Some(9));
}
