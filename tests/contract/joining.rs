//! Contract §2, "Joining a stream in the middle", and §4, "Joining".

use crate::talk::*;

#[test]
fn a_stream_without_its_syn_is_joined_at_the_first_segment_that_begins_with_a_chunk() {
    let a = event("a");
    let seen = midstream().server(format!("{}\r\n", &a[10..])).chunk(event("b")).chunk(event("c")).report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange["index"], 0);
    assert!(exchange["request"].is_null());
    for member in ["status", "reason", "version", "headers", "frame", "time"] {
        assert!(exchange["response"][member].is_null(), "{member}");
    }
    assert_eq!(exchange.body()["joined"], true);
    assert_eq!(exchange.body()["skipped"], a.len() - 10 + 2);
    assert_eq!(exchange.verdicts(), ["one", "one"]);
    assert_eq!(exchange.chunks()[0]["index"], 1);
    assert_eq!(exchange["expect"], "watch");
    assert_eq!(seen.problem("joined-midstream")["frame"], 2);
    assert_eq!(seen.status, 0);
}

#[test]
fn chunks_are_unverified_until_one_begins_an_event() {
    let (a, b) = (event("a"), event("b"));
    let seen = midstream()
        .chunk(&a[10..20])
        .chunk(format!("{}{}", &a[20..], &b[..10]))
        .chunk(&b[10..])
        .chunk(event("c"))
        .chunk(format!("{a}{b}"))
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.verdicts(), ["unverified", "unverified", "unverified", "one", "several"]);
    assert!(exchange.violations().iter().all(|(code, _)| code == "several-events"));
}

#[test]
fn one_chunk_is_no_place_to_join_at_where_the_capture_has_what_follows() {
    let seen = midstream()
        .server("5\r\nhello\r\nno size\r\n")
        .server("6\r\nworld!\r\n")
        .server("1\r\nx\r\n")
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.chunks().len(), 2);
    assert_eq!(exchange.body()["skipped"], 19);
}

#[test]
fn a_chunk_at_the_end_of_the_capture_needs_no_size_line_behind_it() {
    let seen = midstream().server("xyz\r\n").chunk(event("b")).report();
    assert_eq!(seen.exchanges()[0].verdicts(), ["one"]);
    assert_eq!(seen.exchanges()[0].body()["skipped"], 5);
}

#[test]
fn the_last_chunk_alone_is_no_place_to_join_at() {
    let seen = midstream().server("rest of a chunk\r\n").server(LAST).server_fin().report();
    assert!(seen.exchanges().is_empty());
    assert_eq!(seen.status, 3);
}

#[test]
fn a_response_head_is_joined_at_the_same_way() {
    let seen = midstream().server("rest of a chunk\r\n0\r\n\r\n").server(HEAD).chunk(event("b")).report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange["response"]["status"], 200);
    assert_eq!(exchange.verdicts(), ["one"]);
    assert_eq!(exchange["expect"], "watch");
}

#[test]
fn a_request_is_joined_at_the_same_way() {
    let exchange =
        midstream().client("rest of a body").client(REQUEST).server(HEAD).chunk(event("b")).exchange();
    assert_eq!(exchange["request"]["method"], "GET");
    assert_eq!(exchange["response"]["status"], 200);
    assert_eq!(exchange.verdicts(), ["one"]);
}

#[test]
fn a_joined_body_whose_first_brace_begins_a_watch_event_is_a_watch() {
    let exchange = midstream().chunk("\"x\":1}}\n").chunk(event("b")).chunk("oops\n").exchange();
    assert_eq!(exchange["expect"], "watch");
    assert_eq!(exchange.verdicts(), ["unverified", "one", "invalid"]);
}

#[test]
fn of_a_joined_body_whose_first_brace_begins_something_else_nothing_is_expected() {
    let seen = midstream().chunk("text").chunk("{\"a\":1}\n").chunk(event("b")).report();
    let exchange = &seen.exchanges()[0];
    assert!(exchange["expect"].is_null());
    assert_eq!(exchange.verdicts(), ["unchecked", "unchecked", "unchecked"]);
    assert_eq!(seen.status, 3);
}

#[test]
fn a_joined_body_is_checked_by_name_too() {
    let exchange =
        midstream().chunk("x\n\n").chunk("data: y\n\n").chunk("data: z\n\n").args(&["-e", "sse"]).exchange();
    assert_eq!(exchange["expect"], "sse");
    let ndjson = midstream()
        .chunk(":2}\n")
        .chunk("{\"a\":1}\n")
        .chunk("{\"a\":2}\n")
        .args(&["-e", "ndjson"])
        .exchange();
    assert_eq!(ndjson.verdicts(), ["unverified", "one", "one"]);
}

#[test]
fn behind_a_lost_body_the_joined_exchange_takes_the_next_index_and_counts_from_the_last_octet_read() {
    let seen = watch()
        .chunk(event("a"))
        .server_lost(500)
        .server("tail of a lost chunk\r\n")
        .client_acks()
        .chunk(event("c"))
        .chunk(event("d"))
        .client_acks()
        .report();
    let exchanges = seen.exchanges();
    assert_eq!(exchanges.len(), 2);
    assert_eq!(exchanges[0].end(), "lost");
    assert_eq!(exchanges[0]["verdict"], "unverified");
    let joined = &exchanges[1];
    assert_eq!(joined["index"], 1);
    assert!(joined["request"].is_null());
    assert_eq!(joined.body()["joined"], true);
    assert_eq!(joined.body()["skipped"], 500 + 22);
    assert_eq!(joined.chunks()[0]["offset"], 0);
    assert_eq!(joined.chunks()[0]["index"], 1);
    assert_eq!(joined.verdicts(), ["one", "one"]);
    assert_eq!(seen.status, 1);
}

#[test]
fn nothing_behind_broken_framing_is_interpreted_until_the_stream_is_joined_again() {
    let seen = watch()
        .chunk(event("a"))
        .server(format!("zz\r\n{}", event("x")))
        .server("still nothing")
        .chunk(event("b"))
        .chunk(event("c"))
        .report();
    let exchanges = seen.exchanges();
    assert_eq!(exchanges[0].end(), "broken");
    assert_eq!(exchanges[0].verdicts(), ["one"]);
    assert_eq!(exchanges[1].body()["joined"], true);
    assert_eq!(exchanges[1].verdicts(), ["one", "one"]);
    // The line at fault and what follows it were not read.
    assert_eq!(exchanges[1].body()["skipped"], 4 + event("x").len() + 13);
    seen.problem("joined-midstream");
}

#[test]
fn a_target_selects_no_joined_exchange() {
    let seen = midstream().chunk(event("a")).chunk(event("b")).args(&["--target", "."]).report();
    assert!(seen.exchanges().is_empty());
    assert_eq!(seen.status, 3);
    let both = watch().chunk(event("a")).args(&["--target", "^/api"]).report();
    assert_eq!(both.exchanges().len(), 1);
    assert_eq!(watch().chunk(event("a")).args(&["--target", "^/apis"]).report().summary("exchanges"), 0);
}

#[test]
fn a_joined_event_stream_is_checked_from_the_chunk_on_that_begins_an_event() {
    let exchange =
        midstream().chunk("lo world\n\ndata: y\n\n").chunk("data: z\n\n").args(&["-e", "sse"]).exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "one"]);
    let exchange =
        midstream().chunk(": alive\n\ndata: y\n\n").chunk(": alive\n\n").args(&["-e", "sse"]).exchange();
    assert_eq!(exchange.verdicts(), ["one", "unchecked"]);
    let exchange = midstream()
        .chunk("data: y\n\n")
        .chunk("event: z\n")
        .chunk("data: z\n\n")
        .args(&["-e", "sse"])
        .exchange();
    assert_eq!(exchange.verdicts(), ["one", "part", "part"]);
    // A line that goes on with one before, and a further one of the same event.
    let exchange =
        midstream().chunk("lo\n").chunk("data: y\n\n").chunk("data: z\n\n").args(&["-e", "sse"]).exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "unverified", "one"]);
    let exchange =
        midstream().chunk("\n\n").chunk(": alive\n\n").chunk("data: z\n\n").args(&["-e", "sse"]).exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "unchecked", "one"]);
}

#[test]
fn octets_lost_in_an_event_stream_leave_chunks_unverified_until_one_begins_an_event() {
    let exchange = stream_of("text/event-stream")
        .chunk("data: a\n\n")
        .server("8\r\ndat")
        .server_lost(3)
        .server("\nd\r\n")
        .client_acks()
        .chunk("ata: b\n\ndata: c\n\n")
        .chunk("data: d\n\n")
        .server(LAST)
        .exchange();
    assert_eq!(exchange.verdicts(), ["one", "unverified", "unverified", "one"]);
    // An empty line that came behind the hole shows where an event begins.
    let exchange = stream_of("text/event-stream")
        .server("9\r\ndat")
        .server_lost(3)
        .server("b\n\n\r\n")
        .client_acks()
        .chunk("data: d\n\n")
        .server(LAST)
        .exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "one"]);
}

#[test]
fn behind_lost_octets_a_json_text_counts_where_the_next_one_shows_that_it_stands_alone() {
    let behind = |chunks: &[&str]| {
        let mut talk =
            stream_of("application/json").server("8\r\n{\"a\"").server_lost(2).server("{}\r\n").client_acks();
        for chunk in chunks {
            talk = talk.chunk(chunk);
        }
        talk.server(LAST).args(&["-e", "json"]).exchange().verdicts()[1..].to_vec()
    };
    // Within another text, or within a string of one.
    assert_eq!(behind(&["{}", "}", "[1]\n", "[2]\n"]), ["unverified", "unverified", "one", "one"]);
    assert_eq!(behind(&["{},\"b\":{}}", "[1]\n"]), ["unverified", "one"]);
    assert_eq!(behind(&["{} {}\"}", "[1]\n"]), ["unverified", "one"]);
    assert_eq!(behind(&["[\",\"] [\"]", "{\"a\":1}", "{\"b\":1}"]), ["unverified", "one", "one"]);
    // Beside another.
    assert_eq!(behind(&["{}\n", "{}\n"]), ["one", "one"]);
    assert_eq!(behind(&["{\"a\":1}", "{\"b\":{}}"]), ["one", "one"]);
    assert_eq!(behind(&["{\"a\":", "1}\n", "2\n"]), ["part", "part", "one"]);
    assert_eq!(behind(&["{}\n{}\n", "{}\n"]), ["several", "one"]);
}

#[test]
fn a_watch_event_that_begins_a_chunk_behind_lost_octets_counts_from_its_beginning_on() {
    let a = event("a");
    for cut in [1, 5, 20, 40, 60] {
        let exchange = watch()
            .server("8\r\n{\"ty")
            .server_lost(2)
            .server("\":\r\n")
            .client_acks()
            .chunk(&a[..cut])
            .chunk(&a[cut..])
            .server(LAST)
            .exchange();
        assert_eq!(exchange.verdicts(), ["unverified", "part", "part"], "{cut}");
    }
}

#[test]
fn a_joined_body_without_any_brace_is_none_that_is_checked() {
    let seen = midstream().chunk("one").chunk("two").chunk("three").report();
    assert_eq!(seen.exchanges()[0].verdicts(), ["unchecked", "unchecked", "unchecked"]);
    assert_eq!(seen.status, 3);
}
