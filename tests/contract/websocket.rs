//! WebSocket watches: a message is the unit in place of a chunk (RFC 6455).

use serde_json::json;

use crate::talk::*;

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
     Sec-WebSocket-Accept: BACScCJPNqyz+UBoqMH89VmURoA=\r\n";

fn request(target: &str, fields: &str) -> String {
    format!(
        "GET {target} HTTP/1.1\r\nHost: api\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n{fields}\r\n"
    )
}

/// A watch over a WebSocket, up to the handshake's end.
fn socket() -> Talk {
    talk().client(request("/api/v1/pods?watch=1", "")).server(format!("{SWITCH}\r\n"))
}

/// An unmasked frame.
fn frame(first: u8, payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let mut octets = vec![first];
    match payload.len() {
        len @ 0..126 => octets.push(len as u8),
        len => {
            octets.push(126);
            octets.extend((len as u16).to_be_bytes());
        }
    }
    [&octets[..], payload].concat()
}

fn text(payload: impl AsRef<[u8]>) -> Vec<u8> {
    frame(0x81, payload)
}

fn close() -> Vec<u8> {
    frame(0x88, b"\x03\xe8")
}

#[test]
fn each_message_of_a_websocket_watch_is_judged_as_a_chunk() {
    let seen = socket()
        .server(text(event("a")))
        .server([frame(0x89, b"ping"), text(event("b"))].concat())
        .server(close())
        .server_fin()
        .client_fin()
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!((exchange["expect"].clone(), exchange["verdict"].clone()), (json!("watch"), json!("pass")));
    assert_eq!(exchange.body()["framing"], "tunnel");
    assert_eq!(exchange.verdicts(), ["one", "one"]);
    assert_eq!(exchange.names(), ["a", "b"]);
    assert_eq!(seen.status, 0);
    let message = &exchange.chunks()[1];
    assert_eq!(message["message"], json!({"opcode": "text", "frames": 1}));
    assert_eq!((&message["size_hex"], &message["frames"]), (&json!(null), &json!([7])));
    let size = event("a").len();
    assert_eq!((&message["size"], &message["offset"]), (&json!(size), &json!(size)));
    assert_eq!(message["payload"], json!(event("b")));
    assert_eq!(exchange.events()[1]["offset"], json!(size));
}

#[test]
fn messages_that_hold_several_events_or_a_part_of_one_fail() {
    let both = event("a") + &event("b");
    let (front, back) = both.split_at(20);
    let exchange = socket().server(text(&both)).server(text(front)).server(text(back)).exchange();
    assert_eq!(exchange.verdicts(), ["several", "part", "mixed"]);
    let codes = ["several-events", "partial-event", "mixed-events"].map(str::to_owned);
    assert_eq!(exchange.violations(), codes.into_iter().zip([1, 2, 3].map(Some)).collect::<Vec<_>>());
    let messages = exchange["violations"].to_string();
    assert!(messages.contains("holds events 1 and 2"), "{messages}");
    let exchange = socket().server(text("hello")).server(text("")).exchange();
    assert_eq!(exchange.verdicts(), ["invalid", "invalid"]);
}

#[test]
fn the_frames_of_a_message_are_joined() {
    let event = event("a");
    let (front, back) = event.split_at(20);
    let exchange = socket()
        .server(frame(0x01, front))
        .server(frame(0x89, b""))
        .server(frame(0x80, back))
        .server(text(crate::talk::event("b")))
        .exchange();
    assert_eq!(exchange.verdicts(), ["one", "one"]);
    let message = &exchange.chunks()[0];
    assert_eq!((&message["message"]["frames"], &message["size"]), (&json!(2), &json!(event.len())));
    assert_eq!(message["frames"], json!([6, 8]));
}

#[test]
fn the_clients_messages_are_unmasked_and_unchecked() {
    let masked = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
    let exchange = socket().client(masked).server(text(event("a"))).exchange();
    let message = &exchange["request"]["body"]["chunks"][0];
    assert_eq!((&message["payload"], &message["verdict"]), (&json!("Hello"), &json!("unchecked")));
    assert_eq!(exchange.verdicts(), ["one"]);
}

#[test]
fn a_websocket_that_is_no_watch_is_listed_and_unchecked() {
    let talk = || talk().client(request("/chat", "")).server(format!("{SWITCH}\r\n")).server(text("hello"));
    let seen = talk().report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(
        (exchange["expect"].clone(), exchange.verdicts()),
        (json!(null), vec!["unchecked".to_owned()])
    );
    assert_eq!((seen.status, seen.problems()), (3, Vec::new()));
    let named = talk().server(text("{}")).args(&["-e", "json"]).report();
    assert_eq!(named.exchanges()[0].verdicts(), ["invalid", "one"]);
    // What isn't WebSocket at all is nobody's affair.
    let other = socket().args(&["-e", "any"]).server(b"\xff\xff\xff\xff").report();
    assert!(other.exchanges()[0].violations().is_empty());
}

#[test]
fn binary_messages_are_read_by_what_the_request_accepts() {
    let event = b"\xa2\x44type\x45ADDED\x46object\xa1\x44kind\x43Pod";
    let talk = |accept: &str| {
        let request = request("/api/v1/pods?watch=1", &format!("Accept: {accept}\r\n"));
        talk().client(request).server(format!("{SWITCH}\r\n"))
    };
    let exchange = talk("application/cbor-seq, application/json").server(frame(0x82, event)).exchange();
    assert_eq!((exchange.verdicts(), &exchange.events()[0]["kind"]), (vec!["one".to_owned()], &json!("Pod")));
    assert_eq!(exchange.chunks()[0]["message"]["opcode"], "binary");
    let json = talk("application/json").server(frame(0x82, crate::talk::event("a"))).exchange();
    assert_eq!(json.verdicts(), ["one"]);
}

#[test]
fn messages_in_an_encoding_that_is_not_read_are_unchecked_with_a_problem() {
    let deflate = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n";
    for (accept, fields, says) in [
        ("", deflate, "permessage-deflate"),
        ("", "Sec-WebSocket-Protocol: base64.binary.k8s.io\r\n", "base64.binary.k8s.io"),
        ("Accept: application/vnd.kubernetes.protobuf\r\n", "", "protobuf"),
    ] {
        let request = request("/api/v1/pods?watch=1", accept);
        let seen =
            talk().client(request).server(format!("{SWITCH}{fields}\r\n")).server(text(b"abc")).report();
        assert_eq!(seen.exchanges()[0].verdicts(), ["unchecked"]);
        let reason = seen.exchanges()[0].chunks()[0]["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(says), "{reason}");
        assert_eq!((seen.problems(), seen.status), (vec!["unsupported-encoding".to_owned()], 3));
    }
}

#[test]
fn frames_that_are_not_allowed_are_bad_framing() {
    let exchange = socket().server(text(event("a"))).server(b"\x83\x00").server(text(event("b"))).exchange();
    assert_eq!(exchange.verdicts(), ["one"]);
    assert_eq!(exchange.violations(), [("bad-framing".to_owned(), None)]);
    assert_eq!(exchange["verdict"], "fail");
}

#[test]
fn octets_lost_in_a_message_leave_it_unverified_and_the_next_is_judged() {
    let message = text(event("a"));
    let exchange = socket()
        .server(&message[..10])
        .server_lost(10)
        .server(&message[20..])
        .server(text(event("b")))
        .client_acks()
        .exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "one"]);
    assert!(exchange.violations().is_empty());
    // Behind a lost header nobody knows where a frame begins.
    let seen = socket()
        .server(text(event("a")))
        .server_lost(message.len())
        .server(text(event("b")))
        .client_acks()
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(
        (exchange.verdicts(), exchange["verdict"].clone()),
        (vec!["one".to_owned()], json!("unverified"))
    );
    assert_eq!(seen.status, 1);
}

#[test]
fn a_message_that_goes_on_at_the_end_is_unchecked() {
    let exchange = socket().server(text(event("a"))).server(&text(event("b"))[..10]).exchange();
    assert_eq!(exchange.verdicts(), ["one", "unchecked"]);
    let exchange = socket().server(frame(0x01, &event("a")[..20])).exchange();
    assert_eq!(exchange.verdicts(), ["unchecked"]);
}
