//! Watch events: what is one, and what is picked out of it.

use proptest::prelude::*;
use serde_json::Value;

use super::super::{EventItem, Framer, Kind, Summary};
use super::{everyhow, invalid, read, spans, whole};

/// The summary of a body that is one event.
fn summary(body: &str) -> Summary {
    let mut items = everyhow(Kind::Watch, body.as_bytes()).items;
    match (items.pop(), items.is_empty()) {
        (Some(EventItem::Event { summary, .. }), true) => (*summary).clone(),
        other => panic!("{other:?} of {body}"),
    }
}

/// `object.metadata` and its siblings, read by serde_json.
fn by_serde(body: &str) -> Option<Summary> {
    let event: Value = serde_json::from_str(body).unwrap();
    let event_type = event.get("type")?.as_str()?;
    let object = event.get("object").filter(|object| object.is_object())?;
    if !["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"].contains(&event_type) {
        return None;
    }
    let text = |parent: Option<&Value>, name| Some(parent?.get(name)?.as_str()?.into());
    let metadata = object.get("metadata");
    Some(Summary {
        event_type: Some(event_type.into()),
        api_version: text(Some(object), "apiVersion"),
        kind: text(Some(object), "kind"),
        namespace: text(metadata, "namespace"),
        name: text(metadata, "name"),
        resource_version: text(metadata, "resourceVersion"),
        ..Summary::default()
    })
}

/// A string literal, each character plain or escaped.
fn literal(text: &str, escaped: &[bool]) -> String {
    let mut literal = "\"".to_owned();
    for (character, escaped) in text.chars().zip(escaped.iter().copied().cycle()) {
        let mut units = [0; 2];
        match character {
            '\n' if escaped => literal.push_str("\\n"),
            _ if escaped || character < ' ' || character == '"' || character == '\\' => {
                for unit in character.encode_utf16(&mut units) {
                    literal.push_str(&format!("\\u{unit:04x}"));
                }
            }
            _ => literal.push(character),
        }
    }
    literal + "\""
}

/// JSON texts that are much like watch events, members doubled and misplaced.
fn likeness() -> impl Strategy<Value = String> {
    let escapes = || prop::collection::vec(prop::bool::weighted(0.2), 1..6);
    let string = prop_oneof![
        prop::sample::select(vec![
            "ADDED",
            "MODIFIED",
            "DELETED",
            "BOOKMARK",
            "ERROR",
            "added",
            "Pod",
            "v1",
            "",
            "名\n\"😀"
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    let leaf = prop_oneof![
        4 => (string, escapes()).prop_map(|(text, escaped)| literal(&text, &escaped)),
        1 => prop::sample::select(vec!["null", "true", "12", "-0.5e3", "[]", "{}", "[{\"name\":\"x\"}]"])
            .prop_map(str::to_owned),
    ];
    let name = move || {
        (
            prop::sample::select(vec![
                "type",
                "object",
                "object",
                "metadata",
                "metadata",
                "name",
                "namespace",
                "kind",
                "apiVersion",
                "resourceVersion",
                "other",
            ]),
            escapes(),
        )
            .prop_map(|(name, escaped)| literal(name, &escaped))
    };
    let object = move |inner: BoxedStrategy<String>| {
        prop::collection::vec((name(), inner), 0..6).prop_map(|members| {
            let members: Vec<String> =
                members.into_iter().map(|(name, value)| format!("{name}:{value}")).collect();
            format!("{{{}}}", members.join(","))
        })
    };
    let nested = leaf.prop_recursive(4, 40, 6, {
        move |inner| prop_oneof![4 => object(inner.clone().boxed()), 1 => inner.prop_map(|text| format!("[{text}]"))]
    });
    // Most begin rightly.
    (any::<bool>(), object(nested.boxed())).prop_map(|(right, text)| match text.strip_prefix('{') {
        Some("}") | None => text,
        Some(members) if right => format!("{{\"type\":\"ADDED\",\"object\":{{}},{members}"),
        Some(_) => text,
    })
}

/// Events of which some begin alike, and go on otherwise.
const ALIKE: [&str; 14] = [
    r#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"}}}"#,
    r#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"},"kind":"Node"}}"#,
    r#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{}},"object":{"metadata":[]}}"#,
    r#"{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"c"},"metadata":{"namespace":"d"}}}"#,
    r#"{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"e"}},"type":"DELETED"}"#,
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"}}}"#,
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"22"}}}"#,
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"3\u0034"}}}"#,
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"5","resourceVersion":"6"}}}"#,
    r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":""},"kind":"Node"}}"#,
    r#"{"type":"ERROR","object":{"kind":"Status","message":"f","metadata":{},"reason":"g"}}"#,
    r#"{"type":"ADDED","object":{"kind":"Table","metadata":{"resourceVersion":"7"},"rows":[{"object":{"metadata":{"name":"h","resourceVersion":"8"}}}]}}"#,
    r#"{"type":"ADDED","object":{"kind":"Table","rows":[{"object":{"metadata":{"name":"h"}}}],"metadata":{}}}"#,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

    #[test]
    fn members_are_those_that_serde_json_reads(body in likeness()) {
        let reading = whole(Kind::Watch, body.as_bytes());
        prop_assert_eq!(reading.items.len(), 1);
        match (&reading.items[0], by_serde(&body)) {
            (EventItem::Event { span, summary }, Some(expected)) => {
                prop_assert_eq!(span.clone(), 0..body.len() as u64);
                prop_assert_eq!(&**summary, &expected);
            }
            (EventItem::Invalid { well_formed: true, span, .. }, None) => {
                prop_assert_eq!(span.clone(), 0..body.len() as u64);
            }
            (item, expected) => prop_assert!(false, "{:?}, but {:?}: {}", item, expected, body),
        }
        prop_assert_eq!(&reading, &read(Kind::Watch, body.as_bytes().chunks(1)));
        prop_assert_eq!(&reading, &read(Kind::Watch, body.as_bytes().chunks(5)));
    }

    #[test]
    fn events_that_begin_alike_are_read_as_octet_by_octet(
        likenesses in prop::collection::vec(likeness(), 1..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        size in 1..400_usize,
    ) {
        let events: Vec<&str> = ALIKE.into_iter().chain(likenesses.iter().map(String::as_str)).collect();
        let body: String = order.iter().flat_map(|index| [events[index.index(events.len())], "\n"]).collect();
        let body = body.as_bytes();
        let reading = read(Kind::Watch, body.chunks(1));
        prop_assert_eq!(&reading, &whole(Kind::Watch, body));
        prop_assert_eq!(&reading, &read(Kind::Watch, body.chunks(size)));
        let bare = super::read_by(super::super::Framer::without_summaries(Kind::Watch), [body]);
        prop_assert_eq!(reading.without_summaries(), bare.without_summaries());
    }

    #[test]
    fn events_of_many_bodies_are_read_as_octet_by_octet(
        likenesses in prop::collection::vec(likeness(), 1..3),
        // Of few kinds each, as those of a resource, and some of them are cut short.
        bodies in prop::collection::vec(
            (any::<[prop::sample::Index; 3]>(), prop::collection::vec(0..3_usize, 0..12), 1..400_usize, 0..30_usize),
            1..40,
        ),
    ) {
        let events: Vec<&str> = ALIKE.into_iter().chain(likenesses.iter().map(String::as_str)).collect();
        let mut framer = Framer::new(Kind::Watch);
        let mut bare = Framer::without_summaries(Kind::Watch);
        for (kinds, order, size, cut) in &bodies {
            let mut body = String::new();
            for which in order {
                body.extend([events[kinds[*which].index(events.len())], "\n"]);
            }
            let body = body.as_bytes();
            let body = &body[..body.len().saturating_sub(cut.saturating_sub(20))];
            let reading = read(Kind::Watch, body.chunks(1));
            prop_assert_eq!(&reading, &super::read_over(&mut framer, body.chunks(*size)));
            prop_assert!(framer.begin_anew(Kind::Watch));
            let bare_reading = super::read_over(&mut bare, [body]);
            prop_assert_eq!(reading.without_summaries(), bare_reading.without_summaries());
            prop_assert!(bare.begin_anew(Kind::Watch));
        }
    }

    #[test]
    fn an_open_item_is_recognised_as_serde_json_would(body in likeness(), cut: prop::sample::Index) {
        // What is read of it, its containers closed, is an event or not.
        let cut = cut.index(body.len());
        let front = &body.as_bytes()[..cut];
        let reading = whole(Kind::Watch, front);
        let Some(open) = reading.open else { return Ok(()) };
        prop_assert_eq!(open.start, 0);
        let complete = ["", "0", ":0", "\":0", "\"", "\\\":0", "\\\""].iter().find_map(|end| {
            let text = [front, end.as_bytes()].concat();
            let mut closers = Vec::new();
            let mut in_string = false;
            let mut escaped = false;
            for octet in &text {
                match octet {
                    _ if escaped => escaped = false,
                    b'\\' if in_string => escaped = true,
                    b'"' => in_string = !in_string,
                    b'{' if !in_string => closers.push(b'}'),
                    b'[' if !in_string => closers.push(b']'),
                    b'}' | b']' if !in_string => { closers.pop(); }
                    _ => {}
                }
            }
            closers.reverse();
            let text = String::from_utf8([text, closers].concat()).ok()?;
            serde_json::from_str::<Value>(&text).ok().map(|_| text)
        });
        let string_end = front.ends_with(b"\"") || front.ends_with(b"}") || front.ends_with(b"{") || front.ends_with(b"]");
        if let Some(text) = complete && string_end {
            prop_assert_eq!(open.recognised, by_serde(&text).is_some(), "{}", text);
        }
    }
}

#[test]
fn an_event_spans_from_brace_to_brace() {
    let body =
        " {\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\"}}\n{\"object\":{},\"type\":\"ERROR\"}\r\n\t";
    let reading = everyhow(Kind::Watch, body.as_bytes());
    assert_eq!(spans(&reading), [1..41, 42..70]);
    assert_eq!((reading.open, reading.last, reading.faulted), (None, None, false));
}

#[test]
fn what_is_shown_of_an_event() {
    let body = r#"{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"coredns","namespace":"kube-system","resourceVersion":"73","labels":{"name":"other"}},"data":{"name":"x","metadata":{"name":"y"}}}}"#;
    let expected = Summary {
        event_type: Some("MODIFIED".into()),
        api_version: Some("v1".into()),
        kind: Some("ConfigMap".into()),
        namespace: Some("kube-system".into()),
        name: Some("coredns".into()),
        resource_version: Some("73".into()),
        ..Summary::default()
    };
    assert_eq!(summary(body), expected);
    assert_eq!(by_serde(body), Some(expected));
}

#[test]
fn what_an_added_event_an_error_and_a_bookmark_say_besides() {
    let added = summary(
        r#"{"type":"ADDED","object":{"metadata":{"creationTimestamp":"2026-11-30T01:02:03Z"},"reason":"x"}}"#,
    );
    assert_eq!((added.created, added.reason), (Some(1_796_000_523), None));
    let modified =
        summary(r#"{"type":"MODIFIED","object":{"metadata":{"creationTimestamp":"2026-11-30T01:02:03Z"}}}"#);
    assert_eq!(modified.created, None, "that says when the object was made, not when it was changed");
    let error = summary(
        r#"{"type":"ERROR","object":{"kind":"Status","message":"too old","reason":"Expired","code":410}}"#,
    );
    assert_eq!((error.reason.as_deref(), error.message.as_deref()), (Some("Expired"), Some("too old")));
    let bookmark = |annotations: &str| {
        summary(&format!(r#"{{"type":"BOOKMARK","object":{{"metadata":{{{annotations},"name":"n"}}}}}}"#))
    };
    let end = bookmark(r#""annotations":{"a":{"b":1},"k8s.io/initial-events-end":"true","c":"d"}"#);
    assert!(end.initial_events_end);
    assert_eq!(end.name.as_deref(), Some("n"), "what comes behind the annotations is read");
    assert!(!bookmark(r#""annotations":{"k8s.io/initial-events-end":"false"}"#).initial_events_end);
    assert!(
        !bookmark(r#""annotations":{"k8s.io/initial-events-end":"true"},"annotations":{}"#)
            .initial_events_end
    );
    assert!(!bookmark(r#""labels":{"k8s.io/initial-events-end":"true"}"#).initial_events_end);
}

#[test]
fn names_in_escapes_are_names() {
    let body = r#"{"\u0074ype":"\u0041DDED","\u006fbject":{"meta\u0064ata":{"n\u0061me":"\u0061\n\ud83d\ude00\u00e9\/"}}}"#;
    assert_eq!(summary(body).name.as_deref(), Some("a\n😀é/"));
    assert_eq!(summary(body).event_type.as_deref(), Some("ADDED"));
}

#[test]
fn surrogates_without_their_half_are_replaced() {
    for (written, name) in [
        (r"\ud800", "\u{fffd}"),
        (r"a\udc00b", "a\u{fffd}b"),
        (r"\ud800\ud800\udc00", "\u{fffd}\u{10000}"),
        (r"\ud800\u0041", "\u{fffd}A"),
        (r"\ud800\n", "\u{fffd}\n"),
        (r"\udbff\udfff", "\u{10ffff}"),
        (r"\ud800x\udc00", "\u{fffd}x\u{fffd}"),
    ] {
        let body = format!(r#"{{"type":"ADDED","object":{{"metadata":{{"name":"{written}"}}}}}}"#);
        assert_eq!(summary(&body).name.as_deref(), Some(name), "{written}");
    }
}

#[test]
fn of_a_member_given_twice_the_last_counts() {
    let twice = |object: &str| {
        summary(&format!("{{\"object\":7,\"type\":1,\"type\":\"ADDED\",\"object\":{object}}}"))
    };
    assert_eq!(twice(r#"{"kind":"A","kind":"B"}"#).kind.as_deref(), Some("B"));
    assert_eq!(twice(r#"{"kind":"A","kind":{}}"#).kind, None);
    assert_eq!(twice(r#"{"metadata":{"name":"a","name":1}}"#).name, None);
    let later = twice(r#"{"metadata":{"name":"a","namespace":"b"},"metadata":{"name":"c"}}"#);
    assert_eq!((later.name.as_deref(), later.namespace), (Some("c"), None));
    assert_eq!(twice(r#"{"metadata":{"name":"a"},"metadata":null}"#).name, None);
    let other = twice(r#"{"kind":"A","metadata":{"name":"a"}},"object":{"apiVersion":"v1"}"#);
    assert_eq!((other.api_version.as_deref(), other.kind, other.name), (Some("v1"), None, None));
    let reading = everyhow(Kind::Watch, br#"{"type":"ADDED","object":{},"type":"x"}"#);
    assert_eq!(invalid(&reading).1, 35);
}

#[test]
fn metadata_of_another_shape_gives_no_names() {
    for metadata in ["null", "[]", "[{\"name\":\"x\"}]", "\"name\"", "1", "true", "{}", "{\"name\":[\"x\"]}"]
    {
        let found =
            summary(&format!("{{\"type\":\"ADDED\",\"object\":{{\"kind\":\"K\",\"metadata\":{metadata}}}}}"));
        assert_eq!((found.kind.as_deref(), found.name), (Some("K"), None), "{metadata}");
    }
}

#[test]
fn long_names_are_unknown() {
    let name = |length| {
        let body = format!(
            r#"{{"type":"ADDED","object":{{"metadata":{{"name":"{}","namespace":"n"}}}}}}"#,
            "a".repeat(length)
        );
        let reading = whole(Kind::Watch, body.as_bytes());
        assert_eq!(reading, read(Kind::Watch, body.as_bytes().chunks(100)));
        match reading.items.into_iter().next() {
            Some(EventItem::Event { summary, .. }) => {
                assert_eq!(summary.namespace.as_deref(), Some("n"));
                summary.name.clone()
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(name(4096), Some("a".repeat(4096).into()));
    assert_eq!(name(4097), None);
    let body = format!(r#"{{"{}":1,"type":"{}","object":{{}}}}"#, "k".repeat(5000), "A".repeat(5000));
    let reading = whole(Kind::Watch, body.as_bytes());
    assert_eq!(
        invalid(&reading),
        (0, 5013, "`type` is a long string, not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR", true)
    );
    assert_eq!(reading, read(Kind::Watch, body.as_bytes().chunks(100)));
}

#[test]
fn other_values_are_invalid_and_reading_goes_on_behind_them() {
    let event = r#"{"type":"ADDED","object":{}}"#;
    for (text, at, message) in [
        ("[1,{}]", 0, "a JSON array, not a watch event"),
        ("\"type\"", 0, "a JSON string, not a watch event"),
        ("12", 0, "a JSON number, not a watch event"),
        ("true", 0, "a JSON boolean, not a watch event"),
        ("null", 0, "a JSON null, not a watch event"),
        ("{}", 0, "a JSON object without `type`, not a watch event"),
        (r#"{"kind":"Status","object":{}}"#, 0, "a JSON object without `type`, not a watch event"),
        (r#"{"type":"ADDED"}"#, 0, "a JSON object without `object`, not a watch event"),
        (r#"{"type":"ADDED","object":[]}"#, 25, "`object` is an array, not an object"),
        (r#"{"type":"ADDED","object":null}"#, 25, "`object` is null, not an object"),
        (
            r#"{"type":"added","object":{}}"#,
            8,
            "`type` is \"added\", not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR",
        ),
        (
            r#"{"type":"é\n","object":{}}"#,
            8,
            "`type` is \"\\u{e9}\\n\", not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR",
        ),
        (
            r#"{"type":1,"object":{}}"#,
            8,
            "`type` is a number, not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR",
        ),
        (
            r#"{"type": {"type":"ADDED"}}"#,
            9,
            "`type` is an object, not ADDED, MODIFIED, DELETED, BOOKMARK or ERROR",
        ),
    ] {
        let body = format!("{text} {event}\n");
        let reading = everyhow(Kind::Watch, body.as_bytes());
        assert_eq!(invalid(&reading), (0, at, message, true), "{text}");
        let start = text.len() as u64 + 1;
        assert_eq!(spans(&reading), [start..start + event.len() as u64]);
        assert!(!reading.faulted);
    }
}

#[test]
fn a_page_of_html_is_a_fault_at_its_first_octet() {
    let reading = everyhow(Kind::Watch, b"\n<html>{\"type\":\"ADDED\",\"object\":{}}");
    assert_eq!(invalid(&reading), (1, 1, "expected a JSON value, found `<`", false));
    assert!(spans(&reading).is_empty() && reading.faulted);
}

#[test]
fn a_number_at_the_end_of_a_body_is_invalid() {
    let reading = everyhow(Kind::Watch, b"12");
    assert!(
        matches!(reading.last, Some(EventItem::Invalid { at: 0, well_formed: true, ref span, .. }) if *span == (0..2))
    );
}

#[test]
fn an_event_is_recognised_by_its_beginning() {
    let recognised = |body: &str| everyhow(Kind::Watch, body.as_bytes()).open.unwrap().recognised;
    assert!(!recognised("{"));
    assert!(!recognised(r#"{"type":"ADDED"#));
    assert!(!recognised(r#"{"type":"ADDED","object":"#));
    assert!(recognised(r#"{"type":"ADDED","object":{"#));
    assert!(recognised(r#"{"type":"ADDED","object":{"kind":"Po"#));
    assert!(recognised(r#"{"object":{"a":1},"type":"ERROR""#));
    assert!(!recognised(r#"{"type":"ADDED","object":{},"object":1"#));
    assert!(!recognised(r#"{"type":"ADD","object":{"#));
}

#[test]
fn texts_that_change_from_event_to_event_are_shown_as_they_stand() {
    let mut body = String::new();
    let mut expected = Vec::new();
    for (version, kind, shown, namespace) in [
        ("v1", "Pod", "Pod", "a"),
        ("v1", "Pod", "Pod", "b"),
        ("v2", "P\\u006fd", "Pod", ""),
        ("", "Node", "Node", "b"),
        ("v1", "Pod", "Pod", "a"),
    ] {
        body += &format!(
            r#"{{"type":"ADDED","object":{{"apiVersion":"{version}","kind":"{kind}","metadata":{{"namespace":"{namespace}"}}}}}}"#
        );
        expected.push([version, shown, namespace]);
    }
    let reading = everyhow(Kind::Watch, body.as_bytes());
    let found: Vec<_> = reading
        .items
        .iter()
        .map(|item| match item {
            EventItem::Event { summary, .. } => {
                [&summary.api_version, &summary.kind, &summary.namespace].map(|text| text.as_deref().unwrap())
            }
            item => panic!("{item:?}"),
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_string_that_differs_is_shown_as_it_stands_however_the_others_were() {
    let event = |version: &str| {
        format!(
            r#"{{"type":"BOOKMARK","object":{{"kind":"Pod","metadata":{{"resourceVersion":{version}}}}}}}"#
        )
    };
    let (longest, longer) = ("1".repeat(4096), "1".repeat(4097));
    let mut events: Vec<String> = (0..20).map(|number| event(&format!("\"{number}\""))).collect();
    let last = [
        (format!("\"{longest}\""), Some(longest.as_str())),
        (format!("\"{longer}\""), None),
        (r#""\u0031""#.to_owned(), Some("1")),
        ("\"é\"".to_owned(), Some("é")),
        (r#""""#.to_owned(), Some("")),
        ("7".to_owned(), None),
        ("null".to_owned(), None),
        (r#""8""#.to_owned(), Some("8")),
    ];
    events.extend(last.iter().map(|(version, _)| event(version)));
    // How one ends is learnt where a piece ends with it.
    let reading = read(Kind::Watch, events.iter().map(String::as_bytes));
    assert_eq!(reading, read(Kind::Watch, events.concat().as_bytes().chunks(1)));
    assert_eq!(reading.items.len(), 28);
    for (item, (_, expected)) in reading.items[20..].iter().zip(&last) {
        let EventItem::Event { summary, .. } = item else { panic!("{item:?}") };
        assert_eq!(summary.resource_version.as_deref(), *expected);
    }
}

#[test]
fn an_event_leaves_nothing_to_the_next() {
    let first = r#"{"type":"ADDED","object":{"kind":"A","metadata":{"name":"a"}}}"#;
    let mut framer = Framer::new(Kind::Watch);
    let mut offset = 0;
    for body in [first, r#"{"object":{}}"#, r#"{"type":"ADDED","object":{}}"#] {
        let mut octets = body.as_bytes();
        let item = framer.read(&mut octets, &mut offset).unwrap();
        match (body == first, item) {
            (true, EventItem::Event { summary, .. }) => {
                assert_eq!(summary.name.as_deref(), Some("a"))
            }
            (false, EventItem::Event { summary, .. }) => {
                assert_eq!((&summary.kind, &summary.name), (&None, &None))
            }
            (_, EventItem::Invalid { message, .. }) => assert!(message.contains("without `type`")),
            (_, item) => panic!("{item:?}"),
        }
    }
}

/// A table with these rows, as a watch with `Accept: application/json;as=Table`
/// has it.
fn table(version: &str, rows: &[&str]) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|name| {
            format!(
                "{{\"cells\":[\"{name}\",{{\"object\":{{\"metadata\":{{\"name\":\"cell\"}}}}}},[1]],\"object\":{{\
                 \"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{{\"name\":\"{name}\",\
                 \"namespace\":\"default\",\"labels\":{{\"name\":\"label\"}},\"resourceVersion\":\"7\"}}}}}}"
            )
        })
        .collect();
    format!(
        "{{\"type\":\"ADDED\",\"object\":{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{{\
         \"resourceVersion\":\"{version}\"}},\"columnDefinitions\":[{{\"name\":\"Name\"}}],\"rows\":[{}],\"x\":{{\"name\":\"x\"}},\
         \"y\":[[{{\"object\":1}}]]}}}}",
        rows.join(",")
    )
}

#[test]
fn a_table_of_one_row_has_the_name_of_its_object() {
    let names = |summary: Summary| (summary.name, summary.namespace, summary.resource_version);
    let found = summary(&table("9", &["a"]));
    assert_eq!(
        (found.kind.as_deref(), found.api_version.as_deref()),
        (Some("Table"), Some("meta.k8s.io/v1"))
    );
    assert_eq!(names(found), (Some("a".into()), Some("default".into()), Some("9".into())));
    assert_eq!(
        names(summary(&table("", &["a"]))),
        (Some("a".into()), Some("default".into()), Some("7".into()))
    );
    for rows in [&[][..], &["a", "b"]] {
        assert_eq!(names(summary(&table("9", rows))), (None, None, Some("9".into())), "{rows:?}");
    }
}

#[test]
fn members_behind_rows_are_read_as_before_them() {
    let body = "{\"type\":\"ADDED\",\"object\":{\"rows\":[5,null,[{\"name\":\"r\"}],{}],\"kind\":\"Table\",\
                \"metadata\":{\"name\":\"own\"},\"rows\":{\"name\":\"r\"},\"apiVersion\":\"v1\"},\"type\":\"DELETED\"}";
    let found = summary(body);
    let [event_type, kind, name, version] = [&found.event_type, &found.kind, &found.name, &found.api_version]
        .map(|text| text.as_deref().unwrap());
    assert_eq!([event_type, kind, name, version], ["DELETED", "Table", "own", "v1"]);
}

#[test]
fn a_partial_object_is_named_as_any_object_is() {
    let found = summary(
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"name\":\"a\"}}}",
    );
    assert_eq!(found.name.as_deref(), Some("a"));
}
