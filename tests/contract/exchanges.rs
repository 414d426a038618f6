//! Contract §2, "Terms", and §4, "Exchanges".

use serde_json::json;

use crate::talk::*;

#[test]
fn exchanges_are_numbered_on_their_stream_from_0() {
    let seen = talk()
        .client("GET /a HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 204 No Content\r\n\r\n")
        .client("GET /b HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        .report();
    let order: Vec<_> =
        seen.exchanges().iter().map(|e| (e["index"].clone(), e["request"]["target"].clone())).collect();
    assert_eq!(order, [(json!(0), json!("/a")), (json!(1), json!("/b"))]);
}

#[test]
fn interim_responses_belong_to_the_exchange_that_follows() {
    let seen = talk()
        .client("POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        .server("HTTP/1.1 100 Continue\r\n\r\n")
        .client("hi")
        .server("HTTP/1.1 103 Early Hints\r\n\r\n")
        .server("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        .report();
    let exchanges = seen.exchanges();
    assert_eq!(exchanges.len(), 1);
    assert_eq!(exchanges[0]["response"]["status"], 201);
    assert_eq!(exchanges[0]["response"]["frame"], 8);
    assert_eq!(exchanges[0]["request"]["body"]["size"], 2);
}

#[test]
fn an_interim_response_that_nothing_follows_is_its_exchanges_response() {
    let exchange = talk().client(REQUEST).server("HTTP/1.1 102 Processing\r\n\r\n").exchange();
    assert_eq!(exchange["response"]["status"], 102);
}

#[test]
fn a_request_whose_head_was_lost_is_null() {
    let exchange = talk().client_lost(REQUEST.len()).server(HEAD).chunk(event("a")).client_acks().exchange();
    assert_eq!(exchange["index"], 0);
    assert!(exchange["request"].is_null());
    assert_eq!(exchange["response"]["status"], 200);
    assert_eq!(exchange["expect"], "watch");
}

#[test]
fn a_response_that_was_not_seen_is_null() {
    let exchange = talk().client(REQUEST).exchange();
    assert!(exchange["response"].is_null());
    assert_eq!(exchange["verdict"], "unchecked");
}

#[test]
fn a_new_syn_opens_a_new_stream_after_the_old_one_ended() {
    let seen = watch()
        .chunk(event("a"))
        .server(LAST)
        .server_fin()
        .client_fin()
        .anew()
        .handshake()
        .client(REQUEST)
        .server(HEAD)
        .chunk(event("b"))
        .server(LAST)
        .report();
    let exchanges = seen.exchanges();
    let streams: Vec<_> = exchanges.iter().map(|e| (e["stream"].clone(), e["index"].clone())).collect();
    assert_eq!(streams, [(json!(0), json!(0)), (json!(1), json!(0))]);
    assert_eq!(seen.summary("streams"), 2);
}

#[test]
fn a_new_syn_with_another_number_opens_a_new_stream_also_where_the_old_one_never_ended() {
    let seen =
        watch().chunk(event("a")).anew().handshake().client(REQUEST).server(HEAD).chunk(event("b")).report();
    let exchanges = seen.exchanges();
    assert_eq!(exchanges.iter().map(|e| e["stream"].clone()).collect::<Vec<_>>(), [json!(0), json!(1)]);
    assert_eq!(exchanges[0].end(), "open");
}

#[test]
fn ipv6_endpoints_are_written_by_rfc_5952() {
    let seen = watch().chunk(event("a")).between("[2001:DB8:0:0:0:0:0:1]:40000", "[::1]:8001").report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(
        (&exchange["client"], &exchange["server"]),
        (&json!("[2001:db8::1]:40000"), &json!("[::1]:8001"))
    );
}

#[test]
fn a_folded_headers_value_has_one_space_for_the_fold() {
    let exchange =
        talk().client(REQUEST).server("HTTP/1.1 204 \r\nX: a \t\r\n \t b\r\nY: c\r\n\r\n").exchange();
    assert_eq!(exchange["response"]["headers"], json!([["X", "a b"], ["Y", "c"]]));
}

#[test]
fn an_empty_reason_is_an_empty_string() {
    for line in ["HTTP/1.1 204 ", "HTTP/1.1 204"] {
        let exchange = talk().client(REQUEST).server(format!("{line}\r\n\r\n")).exchange();
        assert_eq!(exchange["response"]["reason"], "", "{line}");
    }
}

#[test]
fn a_body_of_framing_none_is_complete_with_size_0() {
    let exchange = talk()
        .client("HEAD / HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
        .exchange();
    for side in ["request", "response"] {
        let body = &exchange[side]["body"];
        assert_eq!(
            (&body["framing"], &body["end"], &body["size"]),
            (&json!("none"), &json!("complete"), &json!(0))
        );
    }
}

#[test]
fn a_tunnels_size_counts_each_directions_octets_and_it_is_complete_at_its_fin() {
    let upgrade = || {
        talk()
            .client("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            .server("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            .client("hello")
            .server("you")
    };
    let exchange = upgrade().client_fin().server_fin().exchange();
    let (up, down) = (&exchange["request"]["body"], exchange.body());
    assert_eq!(
        (&down["framing"], &down["size"], &down["end"]),
        (&json!("tunnel"), &json!(3), &json!("complete"))
    );
    assert_eq!((&up["framing"], &up["size"], &up["end"]), (&json!("tunnel"), &json!(5), &json!("complete")));
    assert_eq!(upgrade().exchange().end(), "open");
}

#[test]
fn the_client_of_a_connection_opened_from_both_sides_is_the_sender_of_the_first_syn_seen() {
    let mut both = watch().chunk(event("a"));
    // Both send a SYN without an acknowledgement, then both acknowledge.
    both.sent[1].ack = None;
    let exchange = both.exchange();
    assert_eq!(exchange["client"], "10.0.0.1:40000");
    assert_eq!(exchange.verdicts(), ["one"]);
}

#[test]
fn payloads_are_base64_exactly_where_they_are_no_utf_8() {
    let exchange =
        stream_of("text/plain").chunk("gr\u{fc}n").chunk(b"gr\xfcn").chunk(b"\xc3").server(LAST).exchange();
    let payloads: Vec<_> =
        exchange.chunks().iter().map(|c| (c["encoding"].clone(), c["payload"].clone())).collect();
    assert_eq!(
        payloads,
        [
            (json!("utf-8"), json!("gr\u{fc}n")),
            (json!("base64"), json!("Z3L8bg==")),
            (json!("base64"), json!("ww=="))
        ]
    );
}

#[test]
fn a_single_capture_that_cannot_be_read_still_gives_a_report() {
    let seen = run(b"no capture at all, but some text that is long enough", &[]);
    assert!(seen.capture()["format"].is_null());
    assert_eq!(seen.problems().len(), 1);
    assert_eq!(seen.status, 2);
    assert_eq!(seen.report["verdict"], "fail");
    let missing = std::path::PathBuf::from("there-is-no-such.pcap");
    let seen = run_on(&[&missing], &[]);
    assert_eq!((seen.status, &seen.capture()["format"]), (2, &json!(null)));
    assert!(seen.messages.contains("there-is-no-such.pcap"));
}

#[test]
fn exchanges_come_in_the_order_of_stream_and_index() {
    // Stream 1 is over before stream 0.
    let slow = watch();
    let mut other = watch().chunk(event("b")).server(LAST).server_fin().client_fin();
    for segment in &mut other.sent {
        for end in [&mut segment.source, &mut segment.destination] {
            if end.port() == 40000 {
                end.set_port(40001);
            }
        }
    }
    let mut both = slow.clone();
    both.sent.extend(other.sent);
    let all = both.chunk(event("a")).report();
    let order: Vec<_> = all.exchanges().iter().map(|e| e["stream"].clone()).collect();
    assert_eq!(order, [json!(0), json!(1)]);
}

#[test]
fn where_copies_differ_the_first_received_wins_with_a_problem() {
    let mut talk = watch().chunk(event("a"));
    let mut copy = talk.sent[5].clone();
    copy.payload[10] ^= 1;
    talk.sent.push(copy);
    let seen = talk.chunk(event("b")).report();
    assert_eq!(seen.exchanges()[0].names(), ["a", "b"]);
    assert_eq!(seen.problem("conflicting-overlap")["frame"], 7);
}

#[test]
fn tcp_headers_quoted_in_icmp_errors_open_no_stream() {
    let talk = watch().chunk(event("a"));
    let mut capture = midstream().capture();
    let packet = crate::segments::write(std::slice::from_ref(&talk.sent[0]))[40..].to_vec();
    let mut icmp = vec![3, 1, 0, 0, 0, 0, 0, 0];
    icmp.extend(&packet);
    let total = u16::try_from(20 + icmp.len()).unwrap().to_be_bytes();
    let mut ip = vec![0x45, 0, total[0], total[1], 0, 0, 0x40, 0, 64, 1, 0, 0, 10, 0, 0, 9, 10, 0, 0, 1];
    ip.extend(icmp);
    let len = u32::try_from(ip.len()).unwrap().to_le_bytes();
    capture.extend([0; 8]);
    capture.extend([len, len].concat());
    capture.extend(ip);
    capture.extend(&talk.between("10.0.0.1:41000", "10.0.0.2:8001").capture()[24..]);
    let seen = run(&capture, &[]);
    assert_eq!(seen.exchanges()[0]["stream"], 0);
    assert_eq!(seen.summary("streams"), 1);
    assert_eq!(seen.capture()["packets"], 7);
}

#[test]
fn connections_that_are_tls_or_http_2_are_counted_and_named_once() {
    let seen = talk()
        .client(b"\x16\x03\x01\x00\xf8\x01\x00\x00\xf4\x03\x03")
        .server(b"\x16\x03\x03\x00\x7a\x02")
        .report();
    assert_eq!(seen.capture()["other_streams"], json!([{"stream": 0, "protocol": "tls"}]));
    seen.problem("encrypted-stream");
    assert_eq!(seen.status, 3);
    assert!(seen.messages.contains("TLS"));
    let seen = talk()
        .client("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .server("\0\0\0\x04\0\0\0\0\0")
        .report();
    assert_eq!(seen.capture()["other_streams"], json!([{"stream": 0, "protocol": "http2"}]));
    seen.problem("http2-stream");
    assert_eq!(seen.status, 3);
}
