//! Heads, bodies, and which response answers which request.

use super::*;

#[test]
fn a_watch_is_one_exchange_with_chunks() {
    talk()
        .client(GET)
        .server(WATCH)
        .server("5\r\nhello\r\n")
        .server("3\r\nab")
        .server("c\r\n0\r\n\r\n")
        .expect(&[
            "client 10.0.0.1:1000",
            "0 request GET /a @1",
            "0 request begins None",
            "0 request ends Complete @1",
            "0 response 200 @2",
            "0 response begins Chunked",
            "0 response chunk 1 5/5 hello @3",
            "0 response chunk 2 3/3 abc @4,5",
            "0 response last chunk @5",
            "0 response ends Complete 8 @5",
            "0 over",
        ]);
}

#[test]
fn exchanges_follow_each_other_on_a_connection() {
    talk()
        .client("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")
        .server("HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello")
        .client("GET /b HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 304 \r\nContent-Length: 5\r\n\r\n")
        .client("GET /c HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 204\r\n\r\n")
        .expect(&[
            "client 10.0.0.1:1000",
            "0 request POST /a @1",
            "0 request begins ContentLength(3)",
            "0 request ends Complete 3 @1",
            "0 response 404 @2",
            "0 response begins ContentLength(5)",
            "0 response ends Complete 5 @2",
            "0 over",
            "1 request GET /b @3",
            "1 request begins None",
            "1 request ends Complete @3",
            "1 response 304 @4",
            "1 response begins None",
            "1 response ends Complete @4",
            "1 over",
            "2 request GET /c @5",
            "2 request begins None",
            "2 request ends Complete @5",
            "2 response 204 @6",
            "2 response begins None",
            "2 response ends Complete @6",
            "2 over",
        ]);
}

#[test]
fn hundreds_of_exchanges_are_told_apart() {
    let mut conversation = talk();
    for number in 0..300 {
        conversation = conversation.client(format!("GET /{number} HTTP/1.1\r\n\r\n")).server(EMPTY);
    }
    let told = conversation.read(|_| false);
    assert_eq!(told.iter().filter(|line| line.ends_with(" over")).count(), 300);
    assert!(told.contains(&"299 request GET /299 @599".to_owned()));
    assert_eq!(conversation.read(|_| true), told);
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let conversation = talk()
        .client("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nHEAD /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        .server("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    let heads: Vec<String> =
        conversation.told().into_iter().filter(|line| line.contains('@') && !line.contains("ends")).collect();
    assert_eq!(
        heads,
        [
            "0 request POST /a @1",
            "0 request chunk 1 3/3 abc @1",
            "0 request last chunk @1",
            "1 request HEAD /b @1",
            "2 request GET /c @1",
            "0 response 200 @2",
            "1 response 200 @3",
            "2 response 201 @3",
        ]
    );
}

#[test]
fn an_interim_response_belongs_to_the_exchange_that_follows() {
    talk()
        .client("PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        .server("HTTP/1.1 100 Continue\r\n\r\n")
        .client("abc")
        .server("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        .expect(&[
            "client 10.0.0.1:1000",
            "0 request PUT /a @1",
            "0 request begins ContentLength(3)",
            "0 request ends Complete 3 @3",
            "0 response 200 @4",
            "0 response begins ContentLength(0)",
            "0 response ends Complete @4",
            "0 over",
        ]);
}

#[test]
fn an_interim_response_that_nothing_follows_is_the_response() {
    let told = talk().client(GET).server("HTTP/1.1 100 Continue\r\n\r\n").client_fin().server_fin().told();
    assert_eq!(
        told[4..],
        ["0 response 100 @2", "0 response begins None", "0 response ends Complete @2", "0 over"]
    );
}

#[test]
fn a_request_without_its_response_ends_with_the_connection() {
    talk().client(GET).expect(&[
        "client 10.0.0.1:1000",
        "0 request GET /a @1",
        "0 request begins None",
        "0 request ends Complete @1",
        "0 over",
    ]);
}

#[test]
fn a_response_whose_request_was_not_seen_is_an_exchange_without_one() {
    talk().server(EMPTY).server(EMPTY).expect(&[
        "client 10.0.0.1:1000",
        "0 response 200 @1",
        "0 response begins ContentLength(0)",
        "0 response ends Complete @1",
        "0 over",
        "1 response 200 @2",
        "1 response begins ContentLength(0)",
        "1 response ends Complete @2",
        "1 over",
    ]);
}

#[test]
fn contents_are_believed_more_than_the_handshake() {
    let told = talk().server(GET).client(EMPTY).told();
    assert_eq!(told[..2], ["client 10.0.0.2:80", "0 request GET /a @1"]);
    assert_eq!(told[4..5], ["0 response 200 @2"]);
}

#[test]
fn a_request_that_was_lost_leaves_the_pairing_right() {
    let told = talk()
        .client(GET)
        .server(EMPTY)
        .client_lost(20)
        .server("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        .client("GET /c HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        .lines("response 4");
    assert_eq!(told, ["1 response 404 @4", "2 response 403 @6"]);
}

#[test]
fn a_lost_request_among_pipelined_ones_has_a_response_of_its_own() {
    let conversation = talk()
        .client("GET /a HTTP/1.1\r\n\r\n")
        .client_lost(19)
        .client("GET /c HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        .server("HTTP/1.1 201 OK\r\nContent-Length: 0\r\n\r\n")
        .server("HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(conversation.lines("request GET"), ["0 request GET /a @1", "1 request GET /c @3"]);
    assert_eq!(
        conversation.lines("response 20"),
        ["0 response 200 @4", "2 response 201 @5", "1 response 202 @6"]
    );
}

#[test]
fn a_response_that_was_lost_leaves_the_pairing_right() {
    let conversation = talk()
        .client("GET /a HTTP/1.1\r\n\r\n")
        .server_lost(38)
        .client("GET /b HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    conversation.expect(&[
        "client 10.0.0.1:1000",
        "0 request GET /a @1",
        "0 request begins None",
        "0 request ends Complete @1",
        "incomplete response @2",
        "0 response begins unknown",
        "0 response ends Lost @2",
        "0 over",
        "1 request GET /b @3",
        "1 request begins None",
        "1 request ends Complete @3",
        "joined response behind 38 @4",
        "1 response 201 @4",
        "1 response begins ContentLength(0)",
        "1 response ends Complete @4",
        "1 over",
    ]);
}

#[test]
fn a_response_that_nobody_could_read_leaves_the_pairing_right() {
    // The first answer's rest holds no place to join at; the second one does.
    let conversation = talk()
        .client("GET /a HTTP/1.1\r\n\r\n")
        .server(WATCH)
        .server_lost(100)
        .server("xxxxxxxxx\r\n0\r\n\r\n")
        .client("GET /b HTTP/1.1\r\n\r\n")
        .server("??? no response ???")
        .client("GET /c HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 203 OK\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(conversation.lines("response 20"), ["0 response 200 @2", "2 response 203 @8"]);
}

#[test]
fn what_no_client_pipelines_is_let_go() {
    let mut conversation = talk();
    conversation.limits.pipelined = 2;
    for number in 0..4 {
        conversation = conversation.client(format!("GET /{number} HTTP/1.1\r\n\r\n"));
    }
    for number in 0..4 {
        conversation = conversation.server(format!("HTTP/1.1 20{number} OK\r\nContent-Length: 0\r\n\r\n"));
    }
    assert_eq!(
        conversation.lines("response 20"),
        ["4 response 200 @5", "5 response 201 @6", "2 response 202 @7", "3 response 203 @8"]
    );
}

#[test]
fn liberties_in_heads_are_read_and_said() {
    let conversation = talk()
        .client("\r\nGET /a HTTP/1.1\nHost: b\r\nX :1\r\n")
        .client(" folded\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length : 3\r\n\r\n0\r\n\r\n");
    assert_eq!(
        conversation.lines("lenient"),
        [
            "lenient BlankLineBeforeStart @1",
            "lenient BareLfInHead @1",
            "lenient SpaceBeforeColon @1",
            "lenient ObsFold @2",
            "lenient ObsFold @3",
            "lenient SpaceBeforeColon @3",
            "lenient LengthBesideChunked @3",
        ]
    );
    assert_eq!(conversation.lines("response begins"), ["0 response begins Chunked"]);
}

#[test]
fn the_liberties_of_the_contract_are_read_as_it_says() {
    let head = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    for (fields, lenience) in [
        ("Transfer-Encoding: chunked\r\nA: b\r\nTransfer-Encoding: chunked", "ChunkedTwice"),
        ("Transfer-Encoding: chunked, chunked", "ChunkedTwice"),
        ("Content-Length: 3\r\nTransfer-Encoding: chunked", "LengthBesideChunked"),
        ("Transfer-Encoding : chunked", "SpaceBeforeColon"),
    ] {
        let conversation = talk().client(GET).server(head(fields));
        assert_eq!(conversation.lines("lenient"), [format!("lenient {lenience} @2")]);
        assert_eq!(conversation.lines("chunk 1"), ["0 response chunk 1 5/5 hello @2"]);
    }
    assert_eq!(talk().client(GET).server(head("transfer-ENCODING: chUnked")).lines("lenient"), [""; 0]);
}

#[test]
fn a_response_whose_last_coding_is_not_chunked_is_read_to_the_close() {
    let told = talk()
        .client(GET)
        .server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\nabc")
        .server_fin()
        .client_fin()
        .told();
    assert_eq!(
        told[5..],
        ["lenient NotChunkedLast @2", "0 response begins Close", "0 response ends Complete 3 @3", "0 over"]
    );
}

#[test]
fn a_request_whose_last_coding_is_not_chunked_is_broken() {
    let conversation = talk()
        .client("POST /a HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nabc")
        .server("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(
        conversation.lines("request"),
        [
            "0 request POST /a @1",
            "0 request begins unknown",
            "0 request ends Broken @1: the last transfer coding of the request is \"gzip\", not chunked (RFC 9112, section 6.3)",
        ]
    );
    assert_eq!(conversation.lines("response 4"), ["0 response 400 @2"]);
}

#[test]
fn lengths_that_differ_break_the_body() {
    let conversation =
        talk().client(GET).server("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc");
    assert_eq!(
        conversation.lines("response"),
        [
            "0 response 200 @2",
            "0 response begins unknown",
            "0 response ends Broken @2: Content-Length is given as \"3\" and as \"4\" (RFC 9112, section 6.3)",
        ]
    );
}

/// What lay behind the limit in the same segment was dropped in silence.
#[test]
fn a_start_line_over_the_limit_is_too_long_wherever_segments_end() {
    let line = format!("HTTP/1.1 200 {}\r\n\r\n", "y".repeat(64 << 10));
    let conversation = talk().client(GET).server(&line).server("5\r\nhello\r\n").server("0\r\n\r\n");
    let told = conversation.read(|_| false);
    assert!(told.contains(&"incomplete response @2".to_owned()), "{told:?}");
    assert_eq!(conversation.read(|_| true), told);
}

#[test]
fn a_head_may_have_sixty_four_kibibytes() {
    let head = |octets: usize| {
        let start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ";
        format!("{start}{}\r\n\r\n", "y".repeat(octets - start.len() - 4))
    };
    let mut conversation = talk().client(GET);
    for part in head(64 << 10).as_bytes().chunks(1460) {
        conversation = conversation.server(part);
    }
    let told = conversation.read(|_| false);
    assert!(told.contains(&"0 response ends Complete @46".to_owned()), "{told:?}");
    assert_eq!(conversation.read(|_| true), told);
    let told = talk().client(GET).server(head((64 << 10) + 1)).read(|_| false);
    assert_eq!(
        told[4..],
        [
            "incomplete response @2",
            "0 response 200 @2",
            "0 response begins unknown",
            "0 response ends Lost @2",
            "0 over"
        ]
    );
}

#[test]
fn what_heads_say_is_kept_as_it_stands() {
    let mut heads = Vec::new();
    let opening = Opening {
        initiator: "10.0.0.1:1000".parse().unwrap(),
        responder: "[::1]:80".parse().unwrap(),
        handshake: true,
        stamp: Stamp::untimed(1),
    };
    let mut connection = Connection::new(&opening, &Limits::default(), 0);
    for (direction, octets) in [
        (Forward, &b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nA:  b c \r\n\r\n"[..]),
        (Backward, &b"HTTP/1.0 404 Not \xe4 Found\r\nX-Y:\r\n z\r\n\r\n"[..]),
    ] {
        let stamp = Stamp::untimed(7);
        let piece = Piece { at: 0, bytes: octets.into(), stamp, released: stamp, segment_start: true };
        connection.push(StreamItem::Data(direction, piece), &mut |event: HttpEvent<'_>| match event {
            HttpEvent::Request { head, .. } => heads.push(format!("{head:?}")),
            HttpEvent::Response { head, .. } => heads.push(format!("{head:?}")),
            _ => {}
        });
    }
    let pair = |name: &str, value: &str| (SmolStr::from(name), SmolStr::from(value));
    let stamp = Some(Stamp::untimed(7));
    let request = RequestHead {
        method: Some("GET".into()),
        target: Some("/a?b=c".into()),
        version: Some("HTTP/1.1".into()),
        fields: Some([pair("Host", "x"), pair("A", "b c")].into()),
        stamp,
        ..RequestHead::default()
    };
    let response = ResponseHead {
        status: Some(404),
        reason: Some("Not \u{fffd} Found".into()),
        version: Some("HTTP/1.0".into()),
        fields: Some([pair("X-Y", "z")].into()),
        stamp,
        ..ResponseHead::default()
    };
    assert_eq!(heads, [format!("{request:?}"), format!("{response:?}")]);
}

#[test]
fn a_target_with_blanks_is_read_up_to_the_version() {
    talk().client("GET /a b HTTP/1.0\r\n\r\n").server("HTTP/1.0 204\r\n\r\n").expect(&[
        "client 10.0.0.1:1000",
        "lenient SpaceInTarget @1",
        "0 request GET /a b @1",
        "0 request begins None",
        "0 request ends Complete @1",
        "0 response 204 @2",
        "0 response begins None",
        "0 response ends Complete @2",
        "0 over",
    ]);
}
