//! How bodies end.

use super::*;

fn watch() -> Talk {
    talk().client(GET).server(WATCH)
}

fn ends(conversation: &Talk) -> Vec<String> {
    conversation.lines("response ends")
}

#[test]
fn the_end_of_the_capture_leaves_a_body_open() {
    let conversation = watch().server("5\r\nhello\r\n");
    assert_eq!(ends(&conversation), ["0 response ends Open 5"]);
    assert_eq!(ends(&conversation.closed(Close::Evicted)), ["0 response ends Open 5"]);
    assert_eq!(ends(&watch().closed(Close::Ended)), ["0 response ends Open"]);
}

#[test]
fn a_body_is_aborted_where_its_receiver_leaves_first() {
    let conversation = watch().server("5\r\nhello\r\n").client_fin().server_fin();
    assert_eq!(ends(&conversation), ["0 response ends Aborted 5 @4"]);
    assert_eq!(ends(&watch().client_fin()), ["0 response ends Aborted @3"]);
    assert_eq!(ends(&watch().with(Part::Reset(Forward, false))), ["0 response ends Aborted reset @3"]);
}

#[test]
fn a_body_is_truncated_where_its_sender_leaves_first() {
    let conversation = watch().server("5\r\nhello\r\n").server_fin().client_fin();
    assert_eq!(ends(&conversation), ["0 response ends Truncated 5 @4"]);
    assert_eq!(ends(&watch().server_fin()), ["0 response ends Truncated @3"]);
    assert_eq!(ends(&watch().with(Part::Reset(Backward, false))), ["0 response ends Truncated reset @3"]);
}

#[test]
fn who_left_first_is_told_by_frame_numbers() {
    // The client's FIN had to wait for a gap before it.
    let conversation = watch().with(Part::Fin(Backward, 9)).client_lost(5).with(Part::Fin(Forward, 8));
    assert_eq!(ends(&conversation), ["0 response ends Aborted @8"]);
    let conversation = watch().with(Part::Fin(Forward, 9)).with(Part::Fin(Backward, 8));
    assert_eq!(ends(&conversation), ["0 response ends Truncated @8"]);
}

/// An aggregate of IEEE 802.11 carries several packets in a frame.
#[test]
fn of_two_fins_in_one_frame_the_first_in_it_counts() {
    let conversation = watch().with(Part::Fin(Forward, 8)).with(Part::Fin(Backward, 8));
    assert_eq!(ends(&conversation), ["0 response ends Aborted @8"]);
    let conversation = watch().with(Part::Fin(Backward, 8)).with(Part::Fin(Forward, 8));
    assert_eq!(ends(&conversation), ["0 response ends Truncated @8"]);
}

#[test]
fn what_comes_behind_the_receivers_fin_is_read_on() {
    let conversation = watch().client_fin().server("5\r\nhello\r\n").server("0\r\n\r\n").server_fin();
    assert_eq!(ends(&conversation), ["0 response ends Complete 5 @5"]);
    let conversation = watch().client_fin().server("5\r\nhello\r\n").server_fin();
    assert_eq!(ends(&conversation), ["0 response ends Aborted 5 @3"]);
}

#[test]
fn a_reset_behind_a_fin_does_not_change_who_left_first() {
    let conversation = watch().client_fin().with(Part::Reset(Forward, false)).closed(Close::Ended);
    assert_eq!(ends(&conversation), ["0 response ends Aborted @3"]);
    let conversation = watch().client_fin().with(Part::Reset(Backward, false)).closed(Close::Ended);
    assert_eq!(ends(&conversation), ["0 response ends Aborted @3"]);
}

#[test]
fn chunks_that_had_begun_are_told_at_the_end() {
    let conversation = watch().server("10\r\n{\"typ").client_fin();
    assert_eq!(
        conversation.told()[6..],
        ["0 response chunk 1 5/16 {\\\"typ unfinished @3", "0 response ends Aborted 5 @4", "0 over"]
    );
    let conversation = watch().server("10\r\n").server_fin();
    assert_eq!(conversation.lines("chunk 1"), ["0 response chunk 1 0/16  unfinished @3"]);
    let conversation = watch().server("5\r\nhello").server_fin();
    assert_eq!(conversation.lines("chunk 1"), ["0 response chunk 1 5/5 hello @3"]);
}

#[test]
fn a_last_chunk_without_the_final_empty_line_is_told_and_ends_nothing() {
    for (conversation, end) in [
        (watch().server("0\r\n"), "0 response ends Open"),
        (watch().server("0\r\nA: b\r\n").client_fin(), "0 response ends Aborted @4"),
        (watch().server("0\r\n").server_fin(), "0 response ends Truncated @4"),
    ] {
        assert_eq!(conversation.lines("last chunk").len(), 1, "{conversation:?}");
        assert_eq!(ends(&conversation), [end]);
    }
}

#[test]
fn broken_framing_ends_a_body_and_nothing_behind_it_is_interpreted() {
    let conversation = watch().server("5\r\nhello\r\n0x5\r\nhello\r\n0\r\n\r\n").server_fin().client_fin();
    assert_eq!(
        conversation.told()[6..],
        [
            "0 response chunk 1 5/5 hello @3",
            "0 response ends Broken 5 @3: the size line begins with \"0x\"; a chunk size has hex digits only (RFC 9112, section 7.1)",
            "0 over",
        ]
    );
    let conversation = watch().server("5\r\nhelloabc\r\n0\r\n\r\n");
    assert_eq!(conversation.lines("chunk 1"), ["0 response chunk 1 5/5 hello @3"]);
    assert_eq!(ends(&conversation).len(), 1);
}

#[test]
fn a_hole_in_a_payload_ends_no_body() {
    let conversation = watch().server("a\r\n012").server_lost(4).server("789\r\n0\r\n\r\n");
    assert_eq!(
        conversation.told()[6..],
        [
            "0 response chunk lacks 4",
            "0 response chunk 1 6/10 012789 @3,5",
            "0 response last chunk @5",
            "0 response ends Complete 6 @5",
            "0 over",
        ]
    );
}

#[test]
fn a_hole_on_a_size_line_loses_the_body() {
    let conversation =
        watch().server("5\r\nhello\r\n").server_lost(1).server("\r\nabc\r\n0\r\n\r\n").server_fin();
    assert_eq!(ends(&conversation), ["0 response ends Lost 5 @4"]);
    let conversation = watch().server("5\r\nhel").server_lost(6).server("abc\r\n0\r\n\r\n");
    assert_eq!(
        conversation.lines("0 response")[2..],
        [
            "0 response chunk lacks 2",
            "0 response chunk 1 3/5 hel closing lost @3",
            "0 response ends Lost 3 @4"
        ]
    );
}

#[test]
fn a_payload_lost_with_its_crlf_ends_no_body() {
    let conversation = watch().server("5\r\n").server_lost(7).server("0\r\n\r\n");
    assert_eq!(
        conversation.told()[6..],
        [
            "0 response chunk lacks 5",
            "0 response chunk 1 0/5  closing lost @3",
            "0 response last chunk @5",
            "0 response ends Complete @5",
            "0 over",
        ]
    );
}

#[test]
fn a_fin_or_rst_behind_lost_octets_ends_a_body_as_lost() {
    let holed = || watch().server("a\r\n012").server_lost(3);
    assert_eq!(ends(&holed().server_fin()), ["0 response ends Lost 3 @5"]);
    assert_eq!(ends(&holed().with(Part::Reset(Backward, false))), ["0 response ends Lost 3 reset @5"]);
    assert_eq!(ends(&holed()), ["0 response ends Open 3"]);
    // What came behind the hole says that the sender sent no more.
    assert_eq!(ends(&holed().server("6").server_fin()), ["0 response ends Truncated 4 @6"]);
    // The RST says that octets before it were never captured.
    assert_eq!(ends(&watch().with(Part::Reset(Backward, true))), ["0 response ends Lost reset @3"]);
    assert_eq!(ends(&watch().with(Part::Reset(Forward, true))), ["0 response ends Aborted reset @3"]);
}

#[test]
fn a_body_of_declared_length_that_lacks_octets_is_lost_and_the_next_head_is_found() {
    let conversation = talk()
        .client(GET)
        .server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012")
        .server_lost(4)
        .server(format!("789{EMPTY}"))
        .client(GET);
    assert_eq!(
        conversation.lines("response"),
        [
            "0 response 200 @2",
            "0 response begins ContentLength(10)",
            "0 response lacks 4",
            "0 response ends Lost 6 @4",
            "1 response 200 @4",
            "1 response begins ContentLength(0)",
            "1 response ends Complete @4",
        ]
    );
    let conversation = talk()
        .client(GET)
        .server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012")
        .server_lost(4)
        .server("7")
        .server_fin();
    assert_eq!(ends(&conversation), ["0 response ends Lost 4 @5"]);
}

#[test]
fn a_hole_from_a_declared_length_into_the_next_head_loses_both() {
    let conversation = talk()
        .client(GET)
        .client("GET /b HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012")
        .server_lost(20)
        .server("Content-Length: 0\r\n\r\n");
    assert_eq!(
        conversation.lines("response"),
        [
            "0 response 200 @3",
            "0 response begins ContentLength(10)",
            "0 response lacks 7",
            "0 response ends Lost 3 @4",
            "incomplete response @4",
            "1 response begins unknown",
            "1 response ends Lost @4",
        ]
    );
}

#[test]
fn the_close_delimits_a_body_without_framing() {
    let close = || talk().client(GET).server("HTTP/1.0 200 OK\r\n\r\nabc").server("HTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(ends(&close().server_fin().client_fin()), ["0 response ends Complete 22 @4"]);
    assert_eq!(ends(&close().server_fin()), ["0 response ends Complete 22 @4"]);
    assert_eq!(ends(&close().with(Part::Reset(Backward, false))), ["0 response ends Truncated 22 reset @4"]);
    // A half-close: the client has nothing more to say, and listens on.
    assert_eq!(ends(&close().client_fin().server_fin()), ["0 response ends Complete 22 @5"]);
    assert_eq!(ends(&close().client_fin()), ["0 response ends Aborted 22 @4"]);
    assert_eq!(ends(&close()), ["0 response ends Open 22"]);
    let holed = talk().client(GET).server("HTTP/1.0 200 OK\r\n\r\nabc").server_lost(3).server("xyz");
    assert_eq!(ends(&holed.server_fin()), ["0 response ends Complete 6 @5"]);
}

#[test]
fn a_client_that_closes_behind_its_request_still_listens() {
    let conversation = talk().client(GET).client_fin().server("HTTP/1.0 200 OK\r\n\r\nabc").server_fin();
    assert_eq!(ends(&conversation), ["0 response ends Complete 3 @4"]);
}

#[test]
fn a_declared_length_that_is_not_reached_is_truncated_or_aborted() {
    let short = || talk().client(GET).server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012");
    assert_eq!(ends(&short().server_fin().client_fin()), ["0 response ends Truncated 3 @3"]);
    assert_eq!(ends(&short().client_fin()), ["0 response ends Aborted 3 @3"]);
    assert_eq!(ends(&short()), ["0 response ends Open 3"]);
}

#[test]
fn requests_end_by_the_same_rules() {
    let post = || talk().client("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe");
    let ends = |conversation: Talk| conversation.lines("request ends");
    assert_eq!(ends(post().client_fin()), ["0 request ends Truncated 2 @2"]);
    assert_eq!(ends(post().server_fin()), ["0 request ends Aborted 2 @2"]);
    assert_eq!(ends(post()), ["0 request ends Open 2"]);
}

#[test]
fn an_early_response_does_not_end_a_request() {
    talk()
        .client("POST /a HTTP/1.1\r\nContent-Length: 4\r\n\r\nab")
        .server("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        .client("cd")
        .expect(&[
            "client 10.0.0.1:1000",
            "0 request POST /a @1",
            "0 request begins ContentLength(4)",
            "0 response 413 @2",
            "0 response begins ContentLength(0)",
            "0 response ends Complete @2",
            "0 request ends Complete 4 @3",
            "0 over",
        ]);
}

#[test]
fn a_head_that_lacks_octets_gives_what_its_lines_say() {
    let conversation =
        talk().client(GET).server("HTTP/1.1 200 OK\r\nServer: a\r\nCont").server_lost(20).server("\r\n\r\n");
    assert_eq!(
        conversation.told()[4..],
        [
            "incomplete response @2",
            "0 response 200 @2",
            "0 response begins unknown",
            "0 response ends Lost @3",
            "0 over",
        ]
    );
    let conversation = talk().client("POST /a HTTP/1.1\r\nHost").client_lost(9).server(EMPTY);
    conversation.expect(&[
        "client 10.0.0.1:1000",
        "incomplete request @1",
        "0 request POST /a @1",
        "0 request begins unknown",
        "0 request ends Lost @2",
        "0 response 200 @3",
        "0 response begins ContentLength(0)",
        "0 response ends Complete @3",
        "0 over",
    ]);
    let conversation = talk().client(GET).server("HTTP/1.1 20").server_lost(20);
    assert_eq!(conversation.lines("0 response")[..1], ["0 response ? @2"]);
}

#[test]
fn a_head_that_the_end_cuts_gives_what_its_lines_say() {
    let cut = || talk().client(GET).server("HTTP/1.1 200 OK\r\nServer: a\r\nCont");
    let told = |end: &'static str| {
        ["incomplete response @2", "0 response 200 @2", "0 response begins unknown", end, "0 over"]
    };
    assert_eq!(cut().told()[4..], told("0 response ends Open"));
    assert_eq!(cut().server_fin().client_fin().told()[4..], told("0 response ends Truncated @3"));
    assert_eq!(cut().client_fin().told()[4..], told("0 response ends Aborted @3"));
    assert_eq!(talk().client(GET).server("HTTP/1.1 20").told()[4..], ["incomplete response @2", "0 over"]);
}

#[test]
fn what_is_open_ends_in_the_order_of_the_exchanges() {
    talk()
        .client(
            "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\nPOST /c HTTP/1.1\r\nContent-Length: 3\r\n\r\nab",
        )
        .server(WATCH)
        .server("5\r\nhe")
        .expect(&[
            "client 10.0.0.1:1000",
            "0 request GET /a @1",
            "0 request begins None",
            "0 request ends Complete @1",
            "1 request GET /b @1",
            "1 request begins None",
            "1 request ends Complete @1",
            "2 request POST /c @1",
            "2 request begins ContentLength(3)",
            "0 response 200 @2",
            "0 response begins Chunked",
            "0 response chunk 1 2/5 he unfinished @3",
            "0 response ends Open 2",
            "0 over",
            "1 over",
            "2 request ends Open 2",
            "2 over",
        ]);
}
