//! Watch events in CBOR, against ciborium and the examples of RFC 8949.

use ciborium::Value;
use proptest::prelude::*;

use super::super::{EventItem, Framer, Kind, Summary};
use super::{everyhow, invalid, read, spans, whole};

fn write(value: &Value) -> Vec<u8> {
    let mut octets = Vec::new();
    ciborium::into_writer(value, &mut octets).unwrap();
    octets
}

/// A text as Kubernetes writes it, or as a text string.
fn text(text: &str, bytes: bool) -> Value {
    if bytes { Value::Bytes(text.into()) } else { Value::Text(text.into()) }
}

fn map(members: Vec<(&str, Value)>, bytes: bool) -> Value {
    Value::Map(members.into_iter().map(|(name, value)| (text(name, bytes), value)).collect())
}

fn value(name: &str, bytes: bool) -> Value {
    let metadata = vec![
        ("resourceVersion", text("1397", bytes)),
        ("name", text(name, bytes)),
        ("labels", map(vec![("name", text("label", bytes))], bytes)),
        ("namespace", text("default", bytes)),
    ];
    let object = vec![
        ("data", map(vec![("type", text("DELETED", bytes))], bytes)),
        ("kind", text("ConfigMap", bytes)),
        ("apiVersion", text("v1", bytes)),
        ("metadata", map(metadata, bytes)),
    ];
    let object = Value::Tag(55799, Box::new(map(object, bytes)));
    Value::Tag(55799, Box::new(map(vec![("object", object), ("type", text("ADDED", bytes))], bytes)))
}

fn event(name: &str) -> Vec<u8> {
    write(&value(name, true))
}

fn summary(name: &str) -> Summary {
    Summary {
        event_type: Some("ADDED".into()),
        api_version: Some("v1".into()),
        kind: Some("ConfigMap".into()),
        namespace: Some("default".into()),
        name: Some(name.into()),
        resource_version: Some("1397".into()),
        ..Summary::default()
    }
}

#[test]
fn an_item_is_an_event_and_its_names_are_picked_out() {
    for bytes in [true, false] {
        let (first, second) = (write(&value("a", bytes)), write(&value("bb", bytes)));
        let reading = everyhow(Kind::WatchCbor, &[&first[..], &second].concat());
        let (end, behind) = (first.len() as u64, (first.len() + second.len()) as u64);
        let expected = [(0..end, summary("a")), (end..behind, summary("bb"))]
            .map(|(span, summary)| EventItem::Event { span, summary: summary.into() });
        assert_eq!(reading.items, expected);
        assert_eq!((reading.open, reading.faulted), (None, false));
    }
}

#[test]
fn what_has_no_length_ends_with_its_break() {
    // {_ "type": (_ "ADD", "ED"), "object": {_ "kind": h'50 6f 64', "x": [_ 1, [_ ]]}}
    let octets =
        b"\xbf\x64type\x7f\x63ADD\x62ED\xff\x66object\xbf\x64kind\x43Pod\x61x\x9f\x01\x9f\xff\xff\xff\xff";
    let reading = everyhow(Kind::WatchCbor, octets);
    let [EventItem::Event { span, summary }] = &reading.items[..] else { panic!("{reading:?}") };
    assert_eq!(*span, 0..octets.len() as u64);
    assert_eq!((summary.event_type.as_deref(), summary.kind.as_deref()), (Some("ADDED"), Some("Pod")));
}

#[test]
fn of_a_member_given_twice_the_last_counts() {
    let object = |name: &str| {
        map(
            vec![("kind", text("Pod", true)), ("metadata", map(vec![("name", text(name, true))], true))],
            true,
        )
    };
    let twice = map(
        vec![
            ("type", Value::from(5)),
            ("object", object("a")),
            ("type", text("DELETED", true)),
            ("object", map(vec![("metadata", map(vec![("name", text("b", true))], true))], true)),
        ],
        true,
    );
    let reading = everyhow(Kind::WatchCbor, &write(&twice));
    let [EventItem::Event { summary, .. }] = &reading.items[..] else { panic!("{reading:?}") };
    assert_eq!(
        (summary.event_type.as_deref(), summary.name.as_deref(), &summary.kind),
        (Some("DELETED"), Some("b"), &None)
    );
}

#[test]
fn an_item_of_another_shape_is_invalid_and_reading_goes_on_behind_it() {
    let good = event("a");
    let of = |members| write(&map(members, true));
    for (bad, says) in [
        (b"\x01".to_vec(), "a number in CBOR"),
        (b"\x83\x01\x02\x03".to_vec(), "an array in CBOR"),
        (b"\x65hello".to_vec(), "a string in CBOR"),
        (b"\xf6".to_vec(), "a simple value in CBOR"),
        (b"\xa0".to_vec(), "without `type`"),
        (of(vec![("type", text("ADDED", true))]), "without `object`"),
        (of(vec![("type", text("BORN", true)), ("object", map(vec![], true))]), "`type` is \"BORN\""),
        (of(vec![("type", Value::from(7)), ("object", map(vec![], true))]), "`type` is a number"),
        (of(vec![("type", text("ADDED", true)), ("object", Value::Array(vec![]))]), "`object` is an array"),
    ] {
        let body = [&bad[..], &good].concat();
        let reading = everyhow(Kind::WatchCbor, &body);
        let (start, _, message, well_formed) = invalid(&reading);
        assert!(message.contains(says) && well_formed && start == 0, "{message}, not {says}");
        assert_eq!(spans(&reading), [bad.len() as u64..body.len() as u64]);
    }
}

#[test]
fn what_is_not_well_formed_is_a_fault_at_the_octet_that_shows_it() {
    for (octets, at) in [
        // RFC 8949 appendix F.1.
        (&b"\x1c"[..], 0),
        (b"\x5d", 0),
        (b"\xfe", 0),
        (b"\x1f", 0),
        (b"\xdf", 0),
        (b"\xff", 0),
        (b"\xf8\x00", 1),
        (b"\xf8\x18", 1),
        (b"\x5f\x00\xff", 1),
        (b"\x5f\x61\x00\xff", 1),
        (b"\x7f\x41\x00\xff", 1),
        (b"\x5f\x5f\xff\xff", 1),
        (b"\x81\xff", 1),
        (b"\xa1\x01\xff", 2),
        (b"\xbf\x01\xff", 2),
        (b"\x9f\xc1\xff", 2),
        (b"\x5f\xc1\x41\x00\xff", 1),
        // A string of more than 16 MiB; of JSON, the first octets are one.
        (b"\x5a\x01\0\0\x01", 4),
        (b"{\"type\":\"ADDED\"", 8),
        // Texts are UTF-8, each piece for itself.
        (b"\x62\xc3\x28", 2),
        (b"\x64ab\xe0\x80", 4),
        (b"\x62a\xc3", 2),
        (b"\x7f\x61\xc3\x61\xa9\xff", 2),
    ] {
        let reading = everyhow(Kind::WatchCbor, octets);
        let (start, found, message, well_formed) = invalid(&reading);
        assert_eq!((start, found, well_formed), (0, at, false), "{message} in {}", octets.escape_ascii());
        assert!(reading.faulted);
    }
}

#[test]
fn what_goes_on_is_open() {
    for octets in [
        &b"\xa2"[..],
        b"\x18",
        b"\x1b\0\0",
        b"\x42a",
        b"\x9f\x01",
        b"\xd9\xd9\xf7",
        b"\x5f",
        b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let open = everyhow(Kind::WatchCbor, octets).open.unwrap();
        assert_eq!((open.start, open.end, open.recognised, open.undecided), (0, u64::MAX, false, false));
    }
    let octets = event("a");
    let recognised = octets.windows(6).position(|window| window == b"EADDED").unwrap() + 6;
    for end in 1..octets.len() {
        assert_eq!(
            whole(Kind::WatchCbor, &octets[..end]).open.unwrap().recognised,
            end >= recognised,
            "{end}"
        );
    }
}

#[test]
fn a_depth_that_nobody_reads_is_a_fault() {
    let deep = |levels: usize| [[0x82, 0x00].repeat(levels), vec![0x00]].concat();
    assert!(!whole(Kind::WatchCbor, &deep(4096)).faulted);
    let reading = whole(Kind::WatchCbor, &deep(4097));
    assert!(invalid(&reading).2.contains("nested deeper"));
}

#[test]
fn an_item_that_begins_as_no_event_is_hopeless() {
    let hopeless = |octets: &[u8]| {
        let mut framer = Framer::new(Kind::WatchCbor);
        framer.read(&mut &octets[..], &mut 0);
        framer.is_hopeless()
    };
    assert!(!hopeless(&event("a")[..40]));
    assert!(hopeless(b"\x9f\x01"));
    assert!(hopeless(b"\xa2\x44kind"));
    assert!(hopeless(b"\xa2\x01"));
    assert!(hopeless(b"\xa2\x44type\x44BORN"));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::Float),
        any::<bool>().prop_map(Value::Bool),
        Just(Value::Null),
        "[a-zü]{0,12}".prop_map(Value::Text),
        proptest::collection::vec(any::<u8>(), 0..30).prop_map(Value::Bytes),
        prop_oneof![
            Just("type"),
            Just("object"),
            Just("ADDED"),
            Just("metadata"),
            Just("name"),
            Just("kind")
        ]
        .prop_map(|known| Value::Bytes(known.into())),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            proptest::collection::vec((inner.clone(), inner.clone()), 0..6).prop_map(Value::Map),
            (any::<u32>(), inner).prop_map(|(tag, value)| Value::Tag(u64::from(tag), Box::new(value))),
        ]
    })
}

proptest! {
    /// Whatever ciborium writes is well-formed and ends where it ends.
    #[test]
    fn items_end_where_ciborium_ends_them(
        values in proptest::collection::vec(any_value(), 1..4), cut in 1usize..30,
    ) {
        let (mut body, mut ends) = (Vec::new(), Vec::new());
        for value in &values {
            body.extend(write(value));
            ends.push(body.len() as u64);
        }
        let reading = read(Kind::WatchCbor, body.chunks(cut));
        let found: Vec<u64> = reading.items.iter().map(|item| match item {
            EventItem::Event { span, .. } | EventItem::Invalid { span, well_formed: true, .. } => span.end,
            other => panic!("{other:?}"),
        }).collect();
        prop_assert_eq!(found, ends);
        prop_assert_eq!(&reading, &whole(Kind::WatchCbor, &body));
    }

    /// Octets of any kind read alike whatever the edges, and what is taken for
    /// whole is so for ciborium, but for what that limits further.
    #[test]
    fn any_octets_are_read_alike_and_as_ciborium_reads_them(
        octets in proptest::collection::vec(
            prop_oneof![any::<u8>(), 0x40u8..0x48, 0x80u8..0x84, 0xa0u8..0xa3, Just(0xff), Just(0x9f), Just(0x5f)], 0..40,
        ),
    ) {
        let reading = everyhow(Kind::WatchCbor, &octets);
        let mut rest = &octets[..];
        let ours = match reading.items.first() {
            Some(EventItem::Invalid { span, well_formed: true, .. } | EventItem::Event { span, .. }) => {
                Some(span.end as usize)
            }
            _ => None,
        };
        // RFC 8949 §3.2.3: the parts of a string of indefinite length have one
        // of their own; ciborium reads a string in a string all the same.
        let indefinite = octets.iter().filter(|octet| matches!(octet, 0x5f | 0x7f)).count();
        let nested = ours.is_none() && indefinite > 1;
        if !nested && ciborium::from_reader::<Value, _>(&mut rest).is_ok() {
            prop_assert_eq!(ours, Some(octets.len() - rest.len()), "{}", octets.escape_ascii());
        }
    }

    #[test]
    fn damaged_events_are_read_alike_whatever_the_edges(at in any::<proptest::sample::Index>(), octet in any::<u8>()) {
        let mut octets = event("a");
        let at = at.index(octets.len());
        octets[at] = octet;
        everyhow(Kind::WatchCbor, &octets);
    }
}
