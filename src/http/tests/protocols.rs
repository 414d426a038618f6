//! Tunnels, other protocols, and raw responses.

use super::*;

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
const CONNECT: &str = "CONNECT b:80 HTTP/1.1\r\n\r\n";
const CONNECTED: &str = "HTTP/1.1 200 Connected\r\n\r\n";

#[test]
fn a_101_makes_a_tunnel_of_both_directions() {
    talk()
        .client(UPGRADE)
        .server(format!("{SWITCH}abc"))
        .client("defg")
        .server("HTTP/1.1 200 OK\r\n\r\n")
        .server_fin()
        .client_fin()
        .expect(
            &[
                "client 10.0.0.1:1000",
                "0 request GET /ws @1",
                "0 response 101 @2",
                "0 request begins Tunnel",
                "0 response begins Tunnel",
                "0 request ends Complete 4 @6",
                "0 response ends Complete 22 @5",
                "0 over",
            ]
            .map(|line| line),
        );
}

#[test]
fn an_upgrade_that_is_declined_has_no_body() {
    talk().client(UPGRADE).server(EMPTY).client(GET).server(EMPTY).expect(&[
        "client 10.0.0.1:1000",
        "0 request GET /ws @1",
        "0 response 200 @2",
        "0 request begins None",
        "0 request ends Complete @1",
        "0 response begins ContentLength(0)",
        "0 response ends Complete @2",
        "0 over",
        "1 request GET /a @3",
        "1 request begins None",
        "1 request ends Complete @3",
        "1 response 200 @4",
        "1 response begins ContentLength(0)",
        "1 response ends Complete @4",
        "1 over",
    ]);
    talk().client(UPGRADE).expect(&[
        "client 10.0.0.1:1000",
        "0 request GET /ws @1",
        "0 request begins None",
        "0 request ends Complete @1",
        "0 over",
    ]);
}

#[test]
fn a_tunnel_ends_by_who_leaves() {
    let tunnel = || talk().client(UPGRADE).server(SWITCH).client("ab");
    let ends = |conversation: Talk| conversation.lines("ends");
    assert_eq!(ends(tunnel()), ["0 request ends Open 2", "0 response ends Open"]);
    assert_eq!(
        ends(tunnel().client_fin().server_fin()),
        ["0 response ends Complete @5", "0 request ends Complete 2 @4"]
    );
    assert_eq!(
        ends(tunnel().with(Part::Reset(Forward, false))),
        ["0 request ends Truncated 2 reset @4", "0 response ends Aborted reset @4"]
    );
    assert_eq!(
        ends(tunnel().client_lost(3).client("c").client_fin().server_fin()),
        ["0 response ends Complete @7", "0 request ends Complete 3 @6"]
    );
}

#[test]
fn http_through_a_connect_tunnel_is_read_as_further_exchanges() {
    let conversation =
        talk().client(CONNECT).server(CONNECTED).client(GET).server(WATCH).server("3\r\nabc\r\n0\r\n\r\n");
    conversation.expect(&[
        "client 10.0.0.1:1000",
        "0 request CONNECT b:80 @1",
        "0 response 200 @2",
        "0 request begins Tunnel",
        "0 response begins Tunnel",
        "1 request GET /a @3",
        "1 request begins None",
        "1 request ends Complete @3",
        "1 response 200 @4",
        "1 response begins Chunked",
        "1 response chunk 1 3/3 abc @5",
        "1 response last chunk @5",
        "1 response ends Complete 3 @5",
        "1 over",
        "0 request ends Open 19",
        "0 response ends Open 60",
        "0 over",
    ]);
}

#[test]
fn what_else_goes_through_a_tunnel_is_counted() {
    let conversation = talk()
        .client(CONNECT)
        .server(CONNECTED)
        .client([0x16, 3, 1, 0, 5])
        .server([0x16, 3, 3, 0, 5])
        .client(GET)
        .server(EMPTY);
    assert_eq!(conversation.lines("1 "), [""; 0]);
    assert_eq!(conversation.lines("ends"), ["0 request ends Open 24", "0 response ends Open 43"]);
    // A server that talks first talks no HTTP.
    let conversation = talk().client(CONNECT).server(CONNECTED).server(EMPTY).client("EHLO b\r\n");
    assert_eq!(
        conversation.lines("response "),
        ["0 response 200 @2", "0 response begins Tunnel", "0 response ends Open 38"]
    );
}

#[test]
fn a_connect_that_is_refused_makes_no_tunnel() {
    let conversation = talk()
        .client(CONNECT)
        .server("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno")
        .client(CONNECT)
        .server(CONNECTED);
    assert_eq!(
        conversation.lines("begins"),
        [
            "0 request begins None",
            "0 response begins ContentLength(2)",
            "1 request begins Tunnel",
            "1 response begins Tunnel",
        ]
    );
}

#[test]
fn tunnels_in_tunnels_are_read_so_far() {
    let mut conversation = talk();
    for _ in 0..8 {
        conversation = conversation.client(CONNECT).server(CONNECTED);
    }
    assert_eq!(conversation.lines("response begins").len(), 5);
}

#[test]
fn octets_sent_ahead_of_the_answer_go_through_the_tunnel() {
    let conversation =
        talk().client(CONNECT).client("GET /a HTTP/1.1\r\n").server(CONNECTED).client("\r\n").server(EMPTY);
    assert_eq!(conversation.lines("1 re").len(), 6, "{:?}", conversation.told());
    assert_eq!(conversation.lines("0 request ends"), ["0 request ends Open 19"]);
}

#[test]
fn tls_is_left_alone() {
    assert_eq!(talk().client([0x16, 3, 1, 2, 0, 1]).server([0x16, 3, 3]).told(), ["not http but Tls"]);
    assert_eq!(talk().client([0x16]).client([3]).told(), ["not http but Tls"]);
    assert_eq!(midstream().server([0x17, 3, 3, 0, 30, 1, 2]).told(), ["not http but Tls"]);
}

#[test]
fn http_2_is_left_alone() {
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    assert_eq!(talk().client(preface).told(), ["not http but Http2"]);
    assert_eq!(
        talk().server([0, 0, 18, 4, 0, 0, 0, 0, 0, 0, 3]).client(preface).told(),
        ["not http but Http2"]
    );
    assert_eq!(midstream().client(preface).read(|_| false), ["not http but Http2"]);
}

#[test]
fn an_upgrade_to_h2c_goes_on_as_http_2() {
    talk()
        .client("GET /a HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n")
        .server("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n\0\0\0")
        .client("PRI * HTTP/2.0\r\n\r\n")
        .expect(&[
            "client 10.0.0.1:1000",
            "0 request GET /a @1",
            "0 response 101 @2",
            "0 request begins None",
            "0 request ends Complete @1",
            "0 response begins None",
            "0 response ends Complete @2",
            "0 over",
            "not http but Http2",
        ]);
}

#[test]
fn other_protocols_are_left_alone_without_noise() {
    for octets in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "220 mail ESMTP\r\n",
        "\0\0\0\x08hello",
        "GET /\r\n",
        "*1\r\n$4\r\nPING\r\n",
    ] {
        assert_eq!(talk().server(octets).client(octets).told(), ["not http but Other"], "{octets:?}");
    }
    assert_eq!(talk().client("GET /a HTTP").told(), ["not http but Other"]);
    assert_eq!(talk().client_fin().server_fin().told(), [""; 0]);
}

#[test]
fn raw_responses_have_no_requests() {
    raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        .server(EMPTY)
        .expect(&[
            "0 response 200 @1",
            "0 response begins Chunked",
            "0 response chunk 1 5/5 hello @1",
            "0 response last chunk @1",
            "0 response ends Complete 5 @1",
            "0 over",
            "1 response 200 @2",
            "1 response begins ContentLength(0)",
            "1 response ends Complete @2",
            "1 over",
        ]);
}

#[test]
fn a_raw_response_that_stops_early_is_open_and_one_to_the_close_complete() {
    let ends = |octets: &str| raw(octets).lines("ends");
    assert_eq!(ends(&format!("{WATCH}10\r\n{{\"typ")), ["0 response ends Open 5"]);
    assert_eq!(ends(&format!("{WATCH}0\r\n")), ["0 response ends Open"]);
    assert_eq!(ends("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), ["0 response ends Open 3"]);
    assert_eq!(ends("HTTP/1.1 200 OK\r\n\r\nabc"), ["0 response ends Complete 3"]);
    assert_eq!(ends("HTTP/1.1 200 OK\r\nServer: x\r\n"), ["0 response ends Open"]);
}

#[test]
fn a_raw_response_that_breaks_is_not_joined() {
    let conversation = raw(format!("{WATCH}0x5\r\n")).server("5\r\nhello\r\n").server("5\r\nhello\r\n");
    assert_eq!(conversation.told().len(), 4);
}

#[test]
fn raw_octets_that_are_no_response_are_something_else() {
    assert_eq!(raw("{\"type\":\"ADDED\"}").told(), ["not http but Other"]);
    assert_eq!(raw("HTTP/2 200 \r\nserver: x\r\n\r\n").told(), ["not http but Http2"]);
    assert_eq!(raw("GET /a HTTP/1.1\r\n\r\n").told(), ["not http but Other"]);
}

#[test]
fn raw_line_feeds_are_read_and_said() {
    let conversation = raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n");
    assert_eq!(conversation.lines("InHead"), ["lenient BareLfInHead @1"]);
    assert_eq!(conversation.lines("InChunks").len(), 4);
    assert_eq!(conversation.lines("ends"), ["0 response ends Complete 5 @1"]);
}
