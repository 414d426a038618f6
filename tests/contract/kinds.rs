//! Contract §2, "What `--expect auto` checks", and `event`.

use serde_json::json;

use crate::talk::*;

fn expect(target: &str, status: u16, content_type: &str) -> serde_json::Value {
    let exchange = talk()
        .client(format!("GET {target} HTTP/1.1\r\n\r\n"))
        .server(format!(
            "HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
        ))
        .chunk("x")
        .exchange();
    exchange["expect"].clone()
}

#[test]
fn sse_is_checked_by_its_content_type_first() {
    assert_eq!(expect("/api/v1/pods?watch=true", 200, "text/event-stream"), "sse");
    assert_eq!(expect("/", 200, "Text/Event-Stream;charset=utf-8"), "sse");
}

#[test]
fn ndjson_is_checked_by_its_five_content_types() {
    for kind in ["x-ndjson", "ndjson", "jsonl", "x-jsonlines", "stream+json"] {
        assert_eq!(expect("/api/v1/pods?watch=true", 200, &format!("application/{kind}")), "ndjson");
    }
}

#[test]
fn a_watch_is_checked_by_its_target_or_its_stream_parameter() {
    for target in
        ["/?watch=true", "/x?a=b&watch=1", "/api/v1/watch/pods", "/apis/apps/v1/watch/deployments/x"]
    {
        assert_eq!(expect(target, 200, "application/json"), "watch", "{target}");
        assert_eq!(expect(target, 200, "text/plain"), "watch", "{target}");
    }
    for target in ["/?watch=false", "/?watch=2", "/watch/pods", "/api/v1/watcher/pods", "/?x=watch=true"] {
        assert_eq!(expect(target, 200, "application/json"), json!(null), "{target}");
    }
    assert_eq!(expect("/", 200, "application/json; stream=watch"), "watch");
    assert_eq!(expect("/", 200, "application/json;charset=utf-8;Stream=\"watch\""), "watch");
}

#[test]
fn a_status_other_than_2xx_is_never_checked_under_auto() {
    for status in [199, 300, 404, 410, 500] {
        if status >= 200 {
            assert_eq!(expect("/?watch=true", status, "text/event-stream"), json!(null), "{status}");
        }
    }
    assert_eq!(expect("/?watch=true", 299, "application/json"), "watch");
}

#[test]
fn where_the_request_was_not_seen_a_json_body_that_starts_with_a_watch_event_is_a_watch() {
    let body = |first: &str| {
        talk().client_lost(30).server(HEAD).chunk(first).client_acks().exchange()["expect"].clone()
    };
    assert_eq!(body(&event("a")), "watch");
    assert_eq!(body("{\"items\":[]}"), json!(null));
    assert_eq!(body(&format!("[]{}", event("a"))), json!(null));
    let html = talk().client_lost(30).server(head("text/html")).chunk(event("a")).client_acks().exchange();
    assert_eq!(html["expect"], json!(null));
}

/// It did, while what was open at a segment's end counted: of a member given
/// twice the last counts, so that nobody knows before the chunk's end.
#[test]
fn whether_a_body_is_taken_for_a_watch_does_not_depend_on_where_segments_end() {
    let octets = chunk("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\"},\"type\":\"LATER\"}\n");
    for place in 1..octets.len() {
        let (front, rest) = octets.split_at(place);
        let exchange = talk()
            .client_lost(30)
            .server(HEAD)
            .server(front)
            .server(rest)
            .chunk(event("a"))
            .client_acks()
            .exchange();
        assert_eq!(exchange["expect"], json!(null), "cut at {place}");
        assert_eq!(exchange.verdicts(), ["unchecked", "unchecked"], "cut at {place}");
    }
}

#[test]
fn a_body_that_starts_with_something_else_is_no_watch_though_an_event_follows_in_its_chunk() {
    for behind in [event("a"), event("a").replace("}}}", "")] {
        let exchange = talk()
            .client_lost(30)
            .server(HEAD)
            .chunk(format!("{{\"items\":[]}}\n{behind}"))
            .client_acks()
            .exchange();
        assert_eq!(exchange["expect"], json!(null));
        assert_eq!(exchange.verdicts(), ["unchecked"]);
        assert!(exchange.events().is_empty());
    }
}

#[test]
fn any_other_response_is_listed_and_unchecked() {
    let exchange = stream_of("text/html").chunk("<p>").server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["unchecked"]);
    assert_eq!((&exchange["expect"], &exchange["verdict"]), (&json!(null), &json!("unchecked")));
}

#[test]
fn a_watch_event_has_one_of_five_types_and_an_object() {
    for kind in ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"] {
        let exchange = watch().chunk(format!("{{\"object\":{{}},\"type\":\"{kind}\"}}\n")).exchange();
        assert_eq!(exchange.verdicts(), ["one"]);
        assert_eq!(exchange.events()[0]["type"], kind);
    }
    for other in ["added", "CHANGED", ""] {
        let exchange = watch().chunk(format!("{{\"type\":\"{other}\",\"object\":{{}}}}\n")).exchange();
        assert_eq!(exchange.verdicts(), ["invalid"], "{other}");
    }
}

#[test]
fn of_a_member_given_twice_the_last_counts() {
    let last = watch().chunk("{\"type\":\"x\",\"type\":\"ADDED\",\"object\":1,\"object\":{}}").exchange();
    assert_eq!(last.verdicts(), ["one"]);
    let first = watch().chunk("{\"type\":\"ADDED\",\"type\":\"x\",\"object\":{}}").exchange();
    assert_eq!(first.verdicts(), ["invalid"]);
}

#[test]
fn metadata_of_another_shape_gives_null_names_never_invalid() {
    for metadata in ["7", "[]", "{\"name\":{}}", "null", "{\"name\":7,\"namespace\":[]}"] {
        let exchange = watch()
            .chunk(format!("{{\"type\":\"ADDED\",\"object\":{{\"metadata\":{metadata}}}}}"))
            .exchange();
        assert_eq!(exchange.verdicts(), ["one"], "{metadata}");
        assert!(exchange.events()[0]["name"].is_null() && exchange.events()[0]["namespace"].is_null());
    }
}

#[test]
fn what_an_event_says_of_its_object() {
    let text = "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":\
                {\"name\":\"coredns\",\"namespace\":\"kube-system\",\"resourceVersion\":\"230\"}}}\n";
    let exchange = watch().chunk(&text[..20]).chunk(&text[20..]).exchange();
    let expected = json!({
        "index": 1, "type": "ADDED", "api_version": "v1", "kind": "ConfigMap", "namespace": "kube-system",
        "name": "coredns", "resource_version": "230", "offset": 0, "size": text.len() - 1,
        "first_chunk": 1, "last_chunk": 2
    });
    for (member, value) in expected.as_object().unwrap() {
        assert_eq!(&exchange.events()[0][member], value, "{member}");
    }
}

#[test]
fn an_sse_event_has_its_field_or_message_as_type_and_id_and_data() {
    let long = "x".repeat(200);
    let exchange = stream_of("text/event-stream")
        .chunk("event: tick\nid: 7\ndata: a\ndata: b\n\n")
        .chunk(format!("data: {long}\n\n"))
        .server(LAST)
        .exchange();
    let events = exchange.events();
    assert_eq!(
        (&events[0]["type"], &events[0]["id"], &events[0]["data"]),
        (&json!("tick"), &json!("7"), &json!("a\nb"))
    );
    assert_eq!((&events[1]["type"], &events[1]["data"]), (&json!("message"), &json!("x".repeat(120))));
    for member in ["api_version", "kind", "namespace", "name", "resource_version"] {
        assert!(events[0][member].is_null());
    }
}

#[test]
fn a_json_event_has_data_and_may_span_lines() {
    let exchange =
        stream_of("text/plain").chunk("{\n \"a\": 1\n}\n").chunk("[1]\n").args(&["-e", "json"]).exchange();
    assert_eq!(exchange.verdicts(), ["one", "one"]);
    assert_eq!(exchange.events()[1]["data"], "[1]");
    assert!(exchange.events()[0]["type"].is_null());
}

#[test]
fn a_line_whose_end_was_lost_is_not_held_against_its_sender() {
    let exchange = stream_of("application/x-ndjson")
        .chunk("{\"a\":1}")
        .server("8\r\n")
        .server_lost(1)
        .server("{\"b\":2}\r\n")
        .chunk("\n{\"c\":3}\n")
        .server(LAST)
        .client_acks()
        .exchange();
    assert_eq!(exchange.verdicts()[..2], ["unverified", "unverified"]);
    assert!(exchange.violations().is_empty());
}

#[test]
fn white_space_behind_a_line_that_never_ended_is_no_part_of_it() {
    let exchange = stream_of("application/x-ndjson").chunk("[1]").chunk(" ").server_fin().exchange();
    assert_eq!(exchange.verdicts(), ["part", "invalid"]);
}

#[test]
fn a_chunk_behind_a_hole_that_begins_inside_a_line_begins_no_event() {
    let exchange = stream_of("application/x-ndjson")
        .server("3\r\n{\"")
        .server_lost(1)
        .server("\r\n")
        .chunk("\":")
        .server("a\r\n{\"b\":")
        .server("[]}}\n\r\n")
        .chunk("[1]\n")
        .server(LAST)
        .client_acks()
        .exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "unverified", "unverified", "one"]);
}

#[test]
fn a_block_without_data_before_a_hole_may_be_no_event() {
    let exchange = stream_of("text/event-stream")
        .chunk("event: a\n")
        .server("3\r\n")
        .server_lost(1)
        .server("\n\n\r\n")
        .server(LAST)
        .client_acks()
        .exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "unverified"]);
}

/// A watch event in protobuf: its length, and a `WatchEvent` with a ConfigMap
/// of that name and so many octets of data.
fn protobuf(name: &str, data: usize) -> Vec<u8> {
    fn field(number: u8, octets: &[u8]) -> Vec<u8> {
        let (mut field, mut length) = (vec![number << 3 | 2], octets.len());
        while length >= 0x80 {
            field.push((length & 0x7f | 0x80) as u8);
            length >>= 7;
        }
        field.push(length as u8);
        [field, octets.to_vec()].concat()
    }
    let meta = [field(1, name.as_bytes()), field(3, b"default"), field(6, b"7")].concat();
    let object = [field(1, &meta), field(2, &vec![b'x'; data])].concat();
    let unknown = [field(1, &[field(1, b"v1"), field(2, b"ConfigMap")].concat()), field(2, &object)].concat();
    let raw = [b"k8s\0", &unknown[..]].concat();
    let event = [field(1, b"ADDED"), field(2, &field(1, &raw))].concat();
    [&u32::try_from(event.len()).unwrap().to_be_bytes()[..], &event].concat()
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf;stream=watch";

#[test]
fn a_watch_in_protobuf_is_a_watch_and_its_events_are_frames() {
    let (a, b) = (protobuf("a", 0), protobuf("b", 0));
    let exchange = stream_of(PROTOBUF).chunk(&a).chunk([&a[..], &b].concat()).server(LAST).exchange();
    assert_eq!(exchange["expect"], "watch");
    assert_eq!(exchange.verdicts(), ["one", "several"]);
    assert_eq!(exchange.names(), ["a", "a", "b"]);
    let event = &exchange.events()[1];
    assert_eq!((&event["offset"], &event["size"]), (&json!(a.len()), &json!(a.len())));
    assert_eq!((&event["type"], &event["kind"]), (&json!("ADDED"), &json!("ConfigMap")));
    assert_eq!((&event["namespace"], &event["resource_version"]), (&json!("default"), &json!("7")));
}

#[test]
fn a_frame_that_a_full_buffer_cut_is_split() {
    // net/http's 2048 octets: the length is a write of its own.
    let event = protobuf("a", 3000);
    let (front, back) = event.split_at(2048);
    let exchange =
        stream_of(PROTOBUF).chunk(front).chunk(back).chunk(protobuf("b", 0)).server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["part", "part", "one"]);
    let exchange = stream_of(PROTOBUF).chunk(&event[..4]).chunk(&event[4..]).server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["part", "part"]);
}

#[test]
fn a_frame_that_is_no_event_is_invalid_and_the_next_one_is_read() {
    let mut bad = protobuf("a", 0);
    bad[6] = b'X';
    let exchange = stream_of(PROTOBUF).chunk(bad).chunk(protobuf("b", 0)).server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["invalid", "one"]);
    let json = stream_of(PROTOBUF).chunk(event("a")).chunk(protobuf("b", 0)).server(LAST).exchange();
    assert_eq!(json.verdicts(), ["invalid", "one"]);
}

#[test]
fn behind_lost_octets_a_chunk_that_begins_a_frame_is_judged_again() {
    let event = protobuf("a", 3000);
    let chunks = [&event[..2048], &event[2048..]].map(chunk);
    let seen = stream_of(PROTOBUF)
        .server(&chunks[0][..100])
        .server_lost(chunks[0].len() - 100 - 20)
        .server(&chunks[0][chunks[0].len() - 20..])
        .server(&chunks[1])
        .chunk(protobuf("b", 0))
        .server(LAST)
        .client_acks()
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.verdicts(), ["unverified", "unverified", "one"]);
    assert_eq!(exchange.names(), ["b"]);
}

#[test]
fn expect_protobuf_reads_frames_whatever_the_content_type() {
    let exchange = watch().args(&["-e", "protobuf"]).chunk(protobuf("a", 0)).server(LAST).exchange();
    assert_eq!((exchange["expect"].clone(), exchange.verdicts()), (json!("watch"), vec!["one".to_owned()]));
    let named = stream_of(PROTOBUF).args(&["-e", "watch"]).chunk(protobuf("a", 0)).server(LAST).exchange();
    assert_eq!(named.verdicts(), ["one"]);
}

/// A watch event in CBOR, written as Kubernetes writes it.
fn cbor(name: &str, data: usize) -> Vec<u8> {
    let string = |text: &str| ciborium::Value::Bytes(text.into());
    let map = |members: Vec<(&str, ciborium::Value)>| {
        ciborium::Value::Map(members.into_iter().map(|(name, value)| (string(name), value)).collect())
    };
    let tagged = |value| ciborium::Value::Tag(55799, Box::new(value));
    let metadata = map(vec![("name", string(name)), ("resourceVersion", string("7"))]);
    let object = map(vec![
        ("data", map(vec![("key", string(&"x".repeat(data)))])),
        ("kind", string("ConfigMap")),
        ("metadata", metadata),
        ("apiVersion", string("v1")),
    ]);
    let mut octets = Vec::new();
    let event = tagged(map(vec![("type", string("ADDED")), ("object", tagged(object))]));
    ciborium::into_writer(&event, &mut octets).unwrap();
    octets
}

#[test]
fn a_watch_in_cbor_is_a_watch_and_its_events_are_items_of_a_sequence() {
    let of = |content_type: &str| talk().client(REQUEST).server(head(content_type));
    let (a, b) = (cbor("a", 0), cbor("b", 0));
    for content_type in ["application/cbor-seq", "application/cbor;stream=watch"] {
        let exchange = of(content_type).chunk(&a).chunk([&a[..], &b].concat()).server(LAST).exchange();
        assert_eq!(exchange["expect"], "watch");
        assert_eq!(exchange.verdicts(), ["one", "several"]);
        assert_eq!(exchange.names(), ["a", "a", "b"]);
        let event = &exchange.events()[1];
        assert_eq!((&event["offset"], &event["size"]), (&json!(a.len()), &json!(a.len())));
        assert_eq!((&event["type"], &event["api_version"]), (&json!("ADDED"), &json!("v1")));
    }
    let (front, back) = a.split_at(30);
    let split = of("application/cbor-seq").chunk(front).chunk(back).server(LAST).exchange();
    assert_eq!(split.verdicts(), ["part", "part"]);
}

#[test]
fn a_cbor_item_that_is_no_event_is_invalid_and_reading_goes_on_behind_it() {
    let talk = || talk().client(REQUEST).server(head("application/cbor-seq"));
    let exchange = talk().chunk(b"\x83\x01\x02\x03").chunk(cbor("b", 0)).server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["invalid", "one"]);
    let exchange = talk().chunk(b"\n").chunk(event("a")).chunk(cbor("b", 0)).server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["invalid", "invalid", "one"]);
}

#[test]
fn where_the_request_was_not_seen_a_cbor_sequence_that_starts_with_a_watch_event_is_a_watch() {
    let body = |first: Vec<u8>| {
        let talk = talk().client_lost(30).server(head("application/cbor-seq"));
        talk.chunk(first).client_acks().exchange()["expect"].clone()
    };
    assert_eq!(body(cbor("a", 0)), "watch");
    assert_eq!(body(b"\x83\x01\x02\x03".to_vec()), json!(null));
    assert_eq!(stream_of("application/cbor-seq").chunk(cbor("a", 0)).exchange()["expect"], json!(null));
}

#[test]
fn behind_lost_octets_a_chunk_that_begins_a_cbor_event_is_judged_again() {
    let event = cbor("a", 3000);
    let chunks = [&event[..1000], &event[1000..]].map(chunk);
    let seen = talk()
        .client(REQUEST)
        .server(head("application/cbor-seq"))
        .server(&chunks[0][..100])
        .server_lost(chunks[0].len() - 100 - 20)
        .server(&chunks[0][chunks[0].len() - 20..])
        .server(&chunks[1])
        .chunk(cbor("b", 0))
        .server(LAST)
        .client_acks()
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.verdicts(), ["unverified", "unverified", "one"]);
    assert_eq!(exchange.names(), ["b"]);
}

#[test]
fn expect_cbor_reads_a_sequence_whatever_the_content_type() {
    let exchange = watch().args(&["-e", "cbor"]).chunk(cbor("a", 0)).server(LAST).exchange();
    assert_eq!((exchange["expect"].clone(), exchange.verdicts()), (json!("watch"), vec!["one".to_owned()]));
}
