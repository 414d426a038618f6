//! Contract §4, "Chunks and events".

use crate::talk::*;

/// The pieces as chunks of a watch, and the last chunk.
fn chunks(pieces: &[&str]) -> Exchange {
    let talk = pieces.iter().fold(watch(), |talk, piece| talk.chunk(piece));
    talk.server(LAST).exchange()
}

#[test]
fn an_invalid_item_ends_the_event_reading_of_its_chunk() {
    let exchange = chunks(&[&format!("{{oops}}{}", event("a")), &event("b")]);
    assert_eq!(exchange.verdicts(), ["invalid", "one"]);
    assert_eq!(exchange.names(), ["b"]);
    assert_eq!(exchange.violations(), [("not-an-event".to_owned(), Some(1))]);
}

#[test]
fn reading_goes_on_at_the_next_chunks_first_octet_whatever_the_fault_left_open() {
    let exchange = chunks(&["{\"a\":[[[[\"x\u{1}", &event("b"), &event("c")]);
    assert_eq!(exchange.verdicts(), ["invalid", "one", "one"]);
}

#[test]
fn a_json_value_that_is_no_event_is_invalid_and_reading_goes_on_behind_it() {
    for value in [
        "{\"a\":1}",
        "[]",
        "\"text\"",
        "{\"type\":\"GONE\",\"object\":{}}",
        "{\"type\":\"ADDED\",\"object\":[]}",
    ] {
        let exchange = chunks(&[&format!("{value}\n{}", event("a")), &event("b")]);
        assert_eq!(exchange.verdicts(), ["invalid", "one"], "{value}");
        assert_eq!(exchange.names(), ["a", "b"], "{value}");
    }
}

#[test]
fn octets_lost_inside_an_event_leave_the_chunks_that_lack_octets_unverified() {
    let a = event("a");
    let exchange = watch()
        .server(format!("{:x}\r\n{}", a.len(), &a[..10]))
        .server_lost(5)
        .server(format!("{}\r\n", &a[15..]))
        .client_acks()
        .chunk(event("b"))
        .server(LAST)
        .client_acks()
        .exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "one"]);
    assert_eq!(exchange.names(), ["b"]);
    assert_eq!(exchange["verdict"], "unverified");
    assert!(exchange.violations().is_empty());
}

#[test]
fn an_event_that_went_on_behind_lost_octets_leaves_chunks_unverified_until_one_begins_an_event() {
    let a = event("a");
    // The chunk in front of the hole has all its octets: it holds a part for sure.
    let exchange = watch()
        .chunk(&a[..10])
        .server(format!("14\r\n{}", &a[10..15]))
        .server_lost(5)
        .server(format!("{}\r\n", &a[20..30]))
        .client_acks()
        .chunk(&a[30..])
        .chunk(event("b"))
        .chunk(&a[..20])
        .chunk(&a[20..])
        .server(LAST)
        .exchange();
    assert_eq!(exchange.verdicts(), ["part", "unverified", "unverified", "one", "part", "part"]);
}

#[test]
fn an_object_inside_a_lost_event_is_no_event_and_no_fault() {
    let exchange = watch()
        .server("14\r\n{\"type\":\"ADD")
        .server_lost(8)
        .server("\r\n")
        .client_acks()
        .chunk("{\"kind\":\"Pod\"}")
        .chunk("}\n")
        .chunk(event("b"))
        .server(LAST)
        .exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "unverified", "unverified", "one"]);
}

#[test]
fn an_invalid_item_beside_events_or_parts_makes_its_chunk_invalid() {
    let (a, b) = (event("a"), event("b"));
    let exchange = chunks(&[&format!("{a}oops"), &b[..10], &format!("{}{{]", &b[10..])]);
    assert_eq!(exchange.verdicts(), ["invalid", "part", "invalid"]);
    assert_eq!(exchange.names(), ["a", "b"]);
}

#[test]
fn of_an_invalid_item_that_spans_chunks_the_one_with_the_fault_is_invalid_and_those_before_are_part() {
    let exchange = chunks(&["{\"type\":\"ADDED\",", "\"object\":{\"x\":", "nul}}}", &event("b")]);
    assert_eq!(exchange.verdicts(), ["part", "part", "invalid", "one"]);
    let violations: Vec<_> = exchange.violations();
    assert_eq!(violations[2], ("not-an-event".to_owned(), Some(3)));
}

#[test]
fn a_whole_event_in_an_unfinished_chunk_is_listed() {
    let exchange = watch().server(format!("fff\r\n{}", event("a"))).exchange();
    assert_eq!(exchange.verdicts(), ["unchecked"]);
    assert_eq!(exchange.names(), ["a"]);
    assert_eq!(exchange.chunks()[0]["events"], serde_json::json!([1]));
}

#[test]
fn an_ndjson_text_whose_line_end_has_not_come_is_not_listed() {
    let stream = || stream_of("application/x-ndjson");
    assert_eq!(stream().server("ff\r\n{\"a\":1}\n{\"b\":2}").exchange().events().len(), 1);
    let unended = stream().chunk("{\"a\":1}\n").chunk("{\"b\":2}").exchange();
    assert_eq!(unended.events().len(), 1);
    assert_eq!(unended.verdicts(), ["one", "part"]);
}

#[test]
fn the_end_of_a_complete_body_ends_the_last_ndjson_line() {
    let exchange =
        stream_of("application/x-ndjson").chunk("{\"a\":1}\n").chunk("{\"b\":2}").server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["one", "one"]);
    assert_eq!(exchange.events()[1]["data"], "{\"b\":2}");
}

#[test]
fn an_ndjson_event_is_its_lines_json_text() {
    let exchange = stream_of("application/jsonl").chunk(" {\"a\": 1} \r\n").server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["one"]);
    let event = &exchange.events()[0];
    assert_eq!((event["offset"].as_u64(), event["size"].as_u64()), (Some(1), Some(8)));
}

#[test]
fn an_sse_event_is_whole_at_the_cr_of_its_last_crlf() {
    let exchange = stream_of("text/event-stream")
        .chunk("data: x\r\n\r")
        .chunk("\ndata: y\r\n\r\n")
        .server(LAST)
        .exchange();
    assert_eq!(exchange.verdicts(), ["one", "one"]);
    let spans: Vec<_> =
        exchange.events().iter().map(|e| (e["offset"].as_u64(), e["size"].as_u64())).collect();
    assert_eq!(spans, [(Some(0), Some(10)), (Some(11), Some(10))]);
}

#[test]
fn comment_lines_directly_above_an_sse_events_fields_belong_to_it_and_a_block_of_comments_does_not() {
    let exchange =
        stream_of("text/event-stream").chunk(": alive\n\n: about x\ndata: x\n\n").server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["one"]);
    let event = &exchange.events()[0];
    assert_eq!((event["offset"].as_u64(), event["size"].as_u64()), (Some(9), Some(19)));
}

#[test]
fn a_block_without_data_or_an_empty_line_alone_is_treated_like_comments() {
    for block in ["event: x\n\n", "\n", "\r\n", "id: 7\n\n", ": only\n\n", "retry: 10\n\n"] {
        let exchange = stream_of("text/event-stream")
            .chunk(block)
            .chunk(format!("{block}data: x\n\n{block}"))
            .server(LAST)
            .exchange();
        assert_eq!(exchange.verdicts(), ["unchecked", "one"], "{block:?}");
        assert_eq!(exchange.events().len(), 1);
        assert_eq!(exchange["verdict"], "pass");
    }
}

#[test]
fn a_chunk_of_sse_comments_alone_is_unchecked() {
    let seen = stream_of("text/event-stream").chunk(": alive\n\n").chunk(": alive\n").server(LAST).report();
    assert_eq!(seen.exchanges()[0].verdicts(), ["unchecked", "unchecked"]);
    assert_eq!(seen.status, 3);
}

#[test]
fn a_chunk_that_lacks_octets_and_is_unfinished_too_is_unverified() {
    let exchange =
        watch().server("ff\r\n{\"type\":").server_lost(20).server("\"more\"").client_acks().exchange();
    assert_eq!(exchange.verdicts(), ["unverified"]);
    let chunk = &exchange.chunks()[0];
    assert_eq!((chunk["size"].as_u64(), chunk["received"].as_u64()), (Some(255), Some(14)));
}

#[test]
fn events_that_never_became_whole_are_not_listed_and_their_chunks_are_part() {
    let a = event("a");
    let exchange = watch().chunk(&a[..10]).chunk(&a[10..20]).exchange();
    assert_eq!(exchange.verdicts(), ["part", "part"]);
    assert!(exchange.events().is_empty());
    assert_eq!(exchange["verdict"], "fail");
}

#[test]
fn json_of_any_depth_and_any_number_is_well_formed() {
    let deep = format!("{}1e999999{}", "[".repeat(5000), "]".repeat(5000));
    let event = format!("{{\"type\":\"ADDED\",\"object\":{{\"x\":{deep},\"y\":-0.0E-0}}}}\n");
    assert_eq!(chunks(&[&event]).verdicts(), ["one"]);
    for number in ["01", "1.", ".5", "+1", "NaN", "0x1", "1e"] {
        let event = format!("{{\"type\":\"ADDED\",\"object\":{{\"x\":{number}}}}}\n");
        assert_eq!(chunks(&[&event]).verdicts(), ["invalid"], "{number}");
    }
}

#[test]
fn invalid_utf_8_makes_a_json_event_invalid_and_sse_decodes_it() {
    let exchange =
        watch().chunk(b"{\"type\":\"ADDED\",\"object\":{\"x\":\"\xff\"}}\n").server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["invalid"]);
    assert_eq!(exchange.chunks()[0]["encoding"], "base64");
    let exchange = stream_of("text/event-stream").chunk(b"data: a\xffb\n\n").server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["one"]);
    assert_eq!(exchange.events()[0]["data"], "a\u{fffd}b");
}

#[test]
fn an_encoding_that_is_not_supported_leaves_chunks_unchecked_with_a_problem() {
    let seen = talk()
        .client(REQUEST)
        .server("HTTP/1.1 200 OK\r\nContent-Encoding: compress\r\nTransfer-Encoding: chunked\r\n\r\n")
        .chunk(b"\x1f\x9d")
        .server(LAST)
        .report();
    assert_eq!(seen.exchanges()[0].verdicts(), ["unchecked"]);
    assert_eq!(seen.problem("unsupported-encoding")["count"], 1);
    assert_eq!(seen.status, 3);
}

#[test]
fn an_expectation_by_name_applies_to_every_status() {
    let gone = |args: &[&str]| {
        talk()
            .client(REQUEST)
            .server("HTTP/1.1 410 Gone\r\nTransfer-Encoding: chunked\r\n\r\n")
            .chunk(event("a"))
            .chunk("oops")
            .server(LAST)
            .args(args)
            .report()
    };
    let auto = gone(&[]);
    assert_eq!(
        (auto.exchanges()[0].verdicts(), auto.status),
        (vec!["unchecked".into(), "unchecked".into()], 3)
    );
    let named = gone(&["-e", "watch"]);
    assert_eq!((named.exchanges()[0].verdicts(), named.status), (vec!["one".into(), "invalid".into()], 1));
}

#[test]
fn any_checks_the_framing_only() {
    let whole = watch().chunk("oops").server(LAST).args(&["-e", "any"]).report();
    assert_eq!((whole.exchanges()[0].verdicts(), whole.status), (vec!["unchecked".to_owned()], 3));
    assert_eq!(whole.exchanges()[0]["expect"], "any");
    assert_eq!(whole.report["verdict"], "empty");
    let broken = watch().chunk("oops").server("zz\r\n").args(&["-e", "any"]).report();
    assert_eq!(broken.status, 1);
    assert_eq!(broken.exchanges()[0].violations(), [("bad-framing".to_owned(), None)]);
    assert_eq!(broken.exchanges()[0]["verdict"], "fail");
}
