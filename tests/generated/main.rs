//! Captures that are generated, their truth known by construction: one watch
//! in every wrapping that people record it in, through the whole program.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod files;
mod frames;
mod links;
#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/segments.rs"]
mod segments;
mod streams;
#[allow(dead_code)]
#[path = "../contract/talk.rs"]
mod talk;

use serde_json::Value;

use segments::Sent;
use talk::{Exchange, LAST, REQUEST, Seen, event};

/// The verdicts of the watch's chunks.
const VERDICTS: [&str; 5] = ["one", "several", "part", "part", "one"];

/// The segments that bring each chunk of the watch, from 1: the first and the last.
const BROUGHT: [(usize, usize); 5] = [(6, 8), (9, 9), (10, 10), (11, 11), (12, 12)];

/// A watch between addresses of one family: five chunks, the first of them in
/// three segments, and in its second one the sequence numbers wrap.
fn watch(client: &str, server: &str) -> Vec<Sent> {
    let mut big = event("big");
    big.insert_str(big.len() - 4, &format!(",\"x\":\"{}\"", "y".repeat(2800)));
    let big = talk::chunk(big);
    let cut = event("cut");
    let (front, rest) = cut.split_at(20);
    let talk = talk::talk()
        .client(REQUEST)
        .server(talk::HEAD)
        .server(&big[..1200])
        .server(&big[1200..2400])
        .server(&big[2400..])
        .chunk(format!("{}{}", event("b"), event("c")))
        .chunk(front)
        .chunk(rest)
        .chunk(event("last"))
        .server(LAST)
        .client_acks()
        .server_fin()
        .client_fin()
        .between(client, server);
    // The second segment of the first chunk wraps in its middle.
    let mut sent = talk.sent;
    let shift = 0_u32.wrapping_sub(sent[6].seq).wrapping_sub(600);
    for one in &mut sent {
        let mine = one.source == server.parse().unwrap();
        let moved = |number: u32| number.wrapping_add(shift);
        if mine {
            one.seq = moved(one.seq);
        } else {
            one.ack = one.ack.map(moved);
        }
    }
    assert!(sent[6].seq.checked_add(1200).is_none(), "the numbers wrap inside the chunk");
    sent
}

fn v4() -> Vec<Sent> {
    watch("10.0.0.1:40000", "10.0.0.2:8001")
}

fn v6() -> Vec<Sent> {
    watch("[2001:db8::1]:40000", "[2001:db8::2]:8001")
}

/// The program on a capture; the only exchange in it, which is the watch.
/// `frame` is where the segment with a number, from 1, is seen whole.
#[track_caller]
fn is_the_watch(name: &str, capture: &[u8], frame: impl Fn(usize) -> u64) -> (Seen, Exchange) {
    let seen = talk::run(capture, &[]);
    let exchanges = seen.exchanges();
    assert_eq!(exchanges.len(), 1, "{name}: {:#?}", seen.report);
    let exchange = exchanges[0].clone();
    assert_eq!(exchange.verdicts(), VERDICTS, "{name}");
    assert_eq!(exchange.names(), ["big", "b", "c", "cut", "last"], "{name}");
    assert_eq!(exchange.end(), "complete", "{name}");
    assert_eq!(seen.status, 1, "{name}");
    let number = |chunk: &Value, member: &str| chunk[member].as_u64().unwrap();
    for (chunk, (first, last)) in exchange.chunks().iter().zip(BROUGHT) {
        let frames: Vec<u64> =
            chunk["frames"].as_array().unwrap().iter().map(|f| f.as_u64().unwrap()).collect();
        let expected: Vec<u64> = (first..=last).map(&frame).collect();
        assert_eq!(frames, expected, "{name}: chunk {}", number(chunk, "index"));
    }
    (seen, exchange)
}
