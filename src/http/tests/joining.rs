//! Streams that begin in the middle, or go on behind what was lost.

use super::*;

/// A chunk on the wire.
fn chunk(payload: &str) -> String {
    format!("{:x}\r\n{payload}\r\n", payload.len())
}

#[test]
fn a_stream_that_begins_with_a_head_has_its_ordinary_start() {
    midstream().client(GET).server(EMPTY).expect(&[
        "client 10.0.0.1:1000",
        "0 request GET /a @1",
        "0 request begins None",
        "0 request ends Complete @1",
        "0 response 200 @2",
        "0 response begins ContentLength(0)",
        "0 response ends Complete @2",
        "0 over",
    ]);
    let told = midstream().server(GET).client(EMPTY).told();
    assert_eq!(told[..2], ["client 10.0.0.2:80", "0 request GET /a @1"]);
    let told = midstream().client(EMPTY).server(GET).told();
    assert_eq!(told[..2], ["client 10.0.0.2:80", "0 response 200 @1"]);
}

#[test]
fn a_stream_is_joined_at_a_chunk_that_begins_a_segment() {
    midstream()
        .server("the end of some chunk\r\n")
        .server(chunk("hello"))
        .server(chunk("abc"))
        .server("0\r\n\r\n")
        .client(GET)
        .server(EMPTY)
        .expect(
            &[
                "client 10.0.0.1:1000",
                "joined response behind 23 @2",
                "0 response ? ",
                "0 response begins Chunked joined behind 23",
                "0 response chunk 1 5/5 hello @2",
                "0 response chunk 2 3/3 abc @3",
                "0 response last chunk @4",
                "0 response ends Complete 8 @4",
                "0 over",
                "1 request GET /a @5",
                "1 request begins None",
                "1 request ends Complete @5",
                "1 response 200 @6",
                "1 response begins ContentLength(0)",
                "1 response ends Complete @6",
                "1 over",
            ]
            .map(str::trim_end),
        );
}

#[test]
fn who_sends_chunks_in_the_middle_is_the_server() {
    let told = midstream().client(chunk("hello")).client(chunk("abc")).told();
    assert_eq!(told[..2], ["client 10.0.0.2:80", "joined response behind 0 @1"]);
}

#[test]
fn the_payload_must_be_followed_by_crlf_and_by_a_size_line() {
    // 0xab octets aren't there; "5" is followed by too much, "3" by no size line.
    let conversation = midstream()
        .server("ab\r\nnothing")
        .server("5\r\nhellooo\r\n")
        .server("3\r\nabc\r\nzz\r\n")
        .server(chunk("abcd"))
        .server(chunk("x"));
    assert_eq!(
        conversation.lines("joined"),
        ["joined response behind 35 @4", "0 response begins Chunked joined behind 35"]
    );
    let conversation = midstream().server("5\nhello\n").server("5\nhello\n");
    assert_eq!(conversation.told(), ["not http but Other"]);
}

#[test]
fn a_chunk_over_many_segments_is_a_place_to_join() {
    let mut conversation = midstream().server("?\r\n").server("1388\r\n");
    for _ in 0..5 {
        conversation = conversation.server("x".repeat(1000));
    }
    let conversation = conversation.server("\r\n").server(chunk("abc"));
    let told = conversation.read(|_| false);
    assert_eq!(told[1], "joined response behind 3 @2");
    assert!(told[4].ends_with("@2,3,4,5,6,7,8"), "{}", told[4]);
    assert_eq!(conversation.read(|_| true), told);
}

#[test]
fn the_last_chunks_size_line_confirms_and_is_no_place_by_itself() {
    let conversation = midstream().server(chunk("hello")).server("0\r\n\r\n");
    assert_eq!(conversation.lines("ends"), ["0 response ends Complete 5 @2"]);
    assert_eq!(midstream().server("0\r\n\r\n").told(), ["not http but Other"]);
}

#[test]
fn at_the_end_a_chunk_with_its_crlf_is_enough() {
    let conversation = midstream().server("?").server(chunk("hello"));
    assert_eq!(
        conversation.told()[1..],
        [
            "joined response behind 1 @2",
            "0 response ?",
            "0 response begins Chunked joined behind 1",
            "0 response chunk 1 5/5 hello @2",
            "0 response ends Open 5",
            "0 over",
        ]
    );
    let conversation = midstream().server("?").server(chunk("hello")).server_fin().client_fin();
    assert_eq!(conversation.lines("ends"), ["0 response ends Truncated 5 @3"]);
    assert_eq!(midstream().server("5\r\nhello\r").told(), ["not http but Other"]);
}

#[test]
fn the_first_place_that_is_confirmed_wins() {
    // The outer chunk begins first; the one inside it is confirmed first.
    let conversation = midstream().server("40\r\n").server(chunk("hello")).server(chunk("abc"));
    assert_eq!(conversation.lines("joined response"), ["joined response behind 4 @2"]);
}

#[test]
fn of_places_confirmed_together_the_earliest_wins() {
    // Both end at the same octet: 1c and c are sizes of the same end.
    let conversation =
        midstream().server("10\r\n0123456789").server("4\r\nabc").server("\r\n").server(chunk("x"));
    assert_eq!(conversation.lines("joined response"), ["joined response behind 0 @1"]);
}

#[test]
fn each_octet_a_segment_of_its_own_is_no_obstacle() {
    let mut conversation = midstream();
    for octet in format!("?{}{}", chunk("hello"), chunk("abc")).bytes() {
        conversation = conversation.server([octet]);
    }
    assert_eq!(conversation.lines("joined response"), ["joined response behind 1 @2"]);
    assert_eq!(
        conversation.lines("chunk "),
        [
            "0 response chunk 1 5/5 hello @2,3,4,5,6,7,8,9,10,11",
            "0 response chunk 2 3/3 abc @12,13,14,15,16,17,18,19"
        ]
    );
}

#[test]
fn a_hole_inside_the_first_payload_is_stepped_over() {
    let conversation = midstream().server("a\r\n012").server_lost(4).server("789\r\n").server(chunk("abc"));
    assert_eq!(
        conversation.lines("0 response"),
        [
            "0 response ?",
            "0 response begins Chunked joined behind 0",
            "0 response chunk lacks 4",
            "0 response chunk 1 6/10 012789 @1,3",
            "0 response chunk 2 3/3 abc @4",
            "0 response ends Open 9",
        ]
    );
    // Its CRLF must be there.
    let conversation =
        midstream().server("a\r\n012").server_lost(8).server("\n").server(chunk("abc")).server("0\r\n\r\n");
    assert_eq!(conversation.lines("joined response"), ["joined response behind 15 @4"]);
}

#[test]
fn a_hole_behind_a_chunk_is_no_contradiction() {
    let conversation = midstream().server("?").server(chunk("hello")).server_lost(9).server("??");
    assert_eq!(
        conversation.lines("0 response")[2..],
        ["0 response chunk 1 5/5 hello @2", "0 response ends Lost 5 @3"]
    );
}

#[test]
fn behind_a_lost_body_the_stream_is_joined_as_the_next_exchange() {
    let conversation = talk()
        .client(GET)
        .server(WATCH)
        .server(chunk("one"))
        .server_lost(10)
        .server("rest\r\n")
        .server(chunk("hello"))
        .server(chunk("abc"))
        .client_fin();
    assert_eq!(
        conversation.told()[4..],
        [
            "0 response 200 @2",
            "0 response begins Chunked",
            "0 response chunk 1 3/3 one @3",
            "0 response ends Lost 3 @4",
            "0 over",
            "joined response behind 16 @6",
            "1 response ?",
            "1 response begins Chunked joined behind 16",
            "1 response chunk 1 5/5 hello @6",
            "1 response chunk 2 3/3 abc @7",
            "1 response ends Aborted 8 @8",
            "1 over",
        ]
    );
}

#[test]
fn what_was_skipped_counts_from_the_last_octet_read() {
    let conversation = talk()
        .client(GET)
        .server(WATCH)
        .server("5\r\nhel")
        .server_lost(10)
        .server(chunk("hello"))
        .server(chunk("abc"));
    assert_eq!(conversation.lines("joined response"), ["joined response behind 10 @5"]);
}

#[test]
fn behind_a_lost_head_the_body_is_joined() {
    let conversation = talk().client(GET).server_lost(40).server(chunk("hello")).server(chunk("abc"));
    assert_eq!(
        conversation.told()[4..],
        [
            "incomplete response @2",
            "0 response begins unknown",
            "0 response ends Lost @2",
            "0 over",
            "joined response behind 40 @3",
            "1 response ?",
            "1 response begins Chunked joined behind 40",
            "1 response chunk 1 5/5 hello @3",
            "1 response chunk 2 3/3 abc @4",
            "1 response ends Open 8",
            "1 over",
        ]
    );
}

#[test]
fn behind_a_broken_body_the_stream_is_joined_too() {
    let conversation = talk()
        .client(GET)
        .server(WATCH)
        .server("5\r\nhelloo\r\n")
        .server(chunk("hello"))
        .server(chunk("abc"));
    assert_eq!(conversation.lines("joined response"), ["joined response behind 3 @4"]);
    assert_eq!(conversation.lines("1 response chunk").len(), 2);
}

#[test]
fn a_joined_body_does_not_take_a_request_that_waits() {
    let conversation = talk()
        .client(GET)
        .server(WATCH)
        .server_lost(3)
        .server(chunk("hello"))
        .client("GET /b HTTP/1.1\r\n\r\n")
        .server(chunk("abc"))
        .server("0\r\n\r\n")
        .server("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(conversation.lines("joined response"), ["joined response behind 3 @4"]);
    assert_eq!(conversation.lines("response 2"), ["0 response 200 @2", "1 response 201 @8"]);
}

#[test]
fn a_response_head_in_the_middle_is_a_place_to_join() {
    let conversation = midstream().server("tail of a body").server(EMPTY).client(GET).server(WATCH);
    assert_eq!(
        conversation.lines("response"),
        [
            "joined response behind 14 @2",
            "0 response 200 @2",
            "0 response begins ContentLength(0)",
            "0 response ends Complete @2",
            "1 response 200 @4",
            "1 response begins Chunked",
            "1 response ends Open",
        ]
    );
}

#[test]
fn a_request_in_the_middle_is_a_place_to_join() {
    let conversation =
        midstream().client("tail of a body").client("GET /a HT").client("TP/1.1\r\n\r\n").server(EMPTY);
    assert_eq!(
        conversation.told()[..3],
        ["client 10.0.0.1:1000", "joined request behind 14 @2", "0 request GET /a @2"]
    );
    assert_eq!(conversation.lines("0 response 200"), ["0 response 200 @4"]);
}

#[test]
fn pipelined_requests_at_the_start_of_a_capture_are_paired() {
    let conversation = midstream()
        .client(GET)
        .client("GET /b HTTP/1.1\r\n\r\n")
        .server(WATCH)
        .server("0\r\n\r\n")
        .server(EMPTY);
    assert_eq!(conversation.lines("response 200"), ["0 response 200 @3", "1 response 200 @5"]);
}

#[test]
fn a_request_body_in_the_middle_awaits_no_response() {
    let conversation = talk()
        .client("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
        .client_lost(10)
        .client(chunk("hello"))
        .client(chunk("abc"))
        .client("0\r\n\r\n")
        .server(EMPTY)
        .client("GET /b HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(conversation.lines("joined request"), ["joined request behind 10 @3"]);
    assert_eq!(conversation.lines("1 request chunk").len(), 2);
    assert_eq!(conversation.lines("response 20"), ["0 response 200 @6", "2 response 201 @8"]);
}

#[test]
fn garbage_where_a_status_line_is_due_is_passed_over() {
    let conversation = talk()
        .client(GET)
        .server(EMPTY)
        .server("H?garbage")
        .client("GET /b HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(conversation.lines("joined response"), ["joined response behind 9 @5"]);
    assert_eq!(conversation.lines("response 201"), ["1 response 201 @5"]);
    assert_eq!(talk().client(GET).server(EMPTY).server("garbage").lines("joined").len(), 0);
}

#[test]
fn a_segment_that_shows_that_the_one_before_was_garbage_is_a_place_itself() {
    let conversation = talk().client(GET).server(EMPTY).server("HT").server("HTTP/1.1 404 Not Found\r\n\r\n");
    assert_eq!(conversation.lines("joined response"), ["joined response behind 2 @4"]);
    assert_eq!(conversation.lines("1 response 404"), ["1 response 404 @4"]);
}

#[test]
fn a_chunk_beyond_the_window_is_no_place() {
    let mut conversation = midstream();
    conversation.limits.join_window = 1000;
    let long = "x".repeat(2000);
    let conversation = conversation.server(chunk(&long)).server(chunk("hello")).server(chunk("abc"));
    assert_eq!(conversation.lines("joined response"), ["joined response behind 2007 @2"]);
}

/// In one piece, such a line was a place; in two, none.
#[test]
fn a_line_beyond_the_window_is_no_place_wherever_it_is_cut() {
    let mut conversation = midstream();
    conversation.limits.join_window = 100;
    let conversation =
        conversation.client_lost(9).client(format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100)));
    assert_eq!(conversation.told(), ["not http but Other"]);
}

#[test]
fn a_stream_that_is_never_joined_is_something_else() {
    assert_eq!(midstream().server("what").client("ever").told(), ["not http but Other"]);
    assert_eq!(midstream().server_lost(100).told(), [""; 0]);
}
