//! Token soup and damaged captures: no panic, an end, and a JSON report that
//! is one, with sums that add up.

use chunkscope::packet::Flags;
use chunkscope::pipeline::Analysis;
use chunkscope::report::json::JsonReport;
use chunkscope::report::payload::Payload;
use proptest::prelude::*;
use serde_json::Value;

use crate::built::{Side, segment};
use crate::record::options;
use crate::schema;
use crate::segments;

/// The report on a capture that may be damaged; `None` where it isn't one.
fn report(capture: &[u8]) -> Value {
    let options = options();
    let mut out = Vec::new();
    let mut json = JsonReport::new(&mut out, Payload::Full);
    let mut analysis = Analysis::new(&options, &mut json);
    let failed = analysis.capture("capture", capture).is_err();
    analysis.conclude(failed).unwrap();
    drop(json);
    serde_json::from_slice(&out).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Whether the report's sums add up.
fn sums(report: &Value) {
    let (mut chunks, mut events, mut violations, mut exchanges, mut unverified) = (0, 0, 0, 0, 0);
    for exchange in list(&report["captures"]).iter().flat_map(|capture| list(&capture["exchanges"])) {
        exchanges += 1;
        violations += list(&exchange["violations"]).len() as u64;
        for (number, event) in list(&exchange["events"]).iter().enumerate() {
            events += 1;
            assert_eq!(event["index"], number as u64 + 1);
            assert!(event["first_chunk"].as_u64() <= event["last_chunk"].as_u64());
        }
        for side in ["request", "response"] {
            let (mut offset, mut received) = (0_u64, 0_u64);
            let body = &exchange[side]["body"];
            for (number, chunk) in list(&body["chunks"]).iter().enumerate() {
                assert_eq!(chunk["index"], number as u64 + 1);
                assert_eq!(chunk["offset"], offset);
                assert!(chunk["received"].as_u64() <= chunk["size"].as_u64());
                offset = offset.saturating_add(chunk["size"].as_u64().unwrap());
                received += chunk["received"].as_u64().unwrap();
                if side == "response" {
                    chunks += 1;
                    unverified += u64::from(chunk["verdict"] == "unverified");
                }
            }
            if body["framing"] == "chunked" {
                assert_eq!(body["size"], received);
            }
        }
    }
    let summary = &report["summary"];
    assert_eq!(summary["exchanges"], exchanges);
    assert_eq!(summary["chunks"], chunks);
    assert_eq!(summary["events"], events);
    assert_eq!(summary["violations"], violations);
    assert_eq!(summary["unverified"], unverified);
}

/// Tokens of HTTP, of chunks and of events, and some that are none.
const TOKENS: [&str; 34] = [
    "GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HEAD / HTTP/1.1\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 101 Switching\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.0 200\r\n\r\n",
    "HTTP/1.1 200 OK\r\n",
    "Transfer-Encoding: gzip\r\n",
    "ffffffffffffffff\r\n",
    "10000000000000000\r\n",
    "7fffffffffffffff;x\r\n",
    "5\r\nhello\r\n",
    "32\r\n{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\r\n",
    "6\r\ndata:a\r\n",
    "2\r\n\n\n\r\n",
    "8\r\n{\"a\":1}\n\r\n",
    "0\r\n\r\n",
    "0\r\nA: b\r\n\r\n",
    "0x2\r\n",
    "1_0\r\n",
    "\r\n",
    "\r",
    "\n",
    "{\"type\":\"",
    "}",
    "\"\\ud800",
    "\u{0}\u{ffff}",
    "a",
];

fn soup() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        8 => prop::sample::select(TOKENS.to_vec()).prop_map(|token| token.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(token, 1..4).prop_map(|tokens| tokens.concat())
}

#[derive(Debug, Clone)]
struct Move {
    server: bool,
    octets: Vec<u8>,
    /// How far from the place in order, in octets.
    shift: i32,
    /// SYN, FIN, RST, or none of them.
    flag: u8,
    ack: bool,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let shift = prop_oneof![10 => Just(0), 2 => -40..40_i32, 1 => any::<i32>()];
    let one = (prop::bool::weighted(0.7), soup(), shift, 0..40_u8, prop::bool::weighted(0.9));
    let one = one.prop_map(|(server, octets, shift, flag, ack)| Move { server, octets, shift, flag, ack });
    prop::collection::vec(one, 1..14)
}

fn capture(moves: &[Move]) -> Vec<u8> {
    let mut at = [0, 0];
    let mut sent = Vec::new();
    for one in moves {
        let me = usize::from(one.server);
        let side = if one.server { Side::Server } else { Side::Client };
        let flags = Flags { syn: one.flag == 0, fin: one.flag == 1, rst: one.flag == 2 };
        let mut segment = segment(side, flags, at, &one.octets, one.ack);
        segment.seq = segment.seq.wrapping_add(one.shift.cast_unsigned());
        at[me] += one.octets.len();
        sent.push(segment);
    }
    segments::write(&sent)
}

const DAMAGED: [&str; 9] = [
    "k8s-watch-coredns.pcap",
    "pcapng-lo.pcapng",
    "trailer.pcap",
    "pipelined.pcap",
    "sse.pcap",
    "ndjson-coalesced.pcap",
    "flaw-midstream.pcap",
    "mixed-keepalive.pcap",
    "vlan.pcap",
];

#[derive(Debug, Clone)]
enum Damage {
    Flip(u16, u8),
    Cut(u16),
    /// Octets from the first place are repeated at the second.
    Repeat(u16, u16, u16),
    Drop(u16, u16),
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let damage = prop_oneof![
        6 => (any::<u16>(), 1..=255_u8).prop_map(|(at, mask)| Damage::Flip(at, mask)),
        1 => any::<u16>().prop_map(Damage::Cut),
        1 => (any::<u16>(), any::<u16>(), 0..2000_u16).prop_map(|(a, b, n)| Damage::Repeat(a, b, n)),
        1 => (any::<u16>(), 0..2000_u16).prop_map(|(at, n)| Damage::Drop(at, n)),
    ];
    prop::collection::vec(damage, 1..8)
}

fn damage(octets: &mut Vec<u8>, damage: &Damage) {
    let place = |at: u16| (usize::from(at) * octets.len()) >> 16;
    match *damage {
        Damage::Flip(at, mask) => {
            let at = place(at);
            if let Some(octet) = octets.get_mut(at) {
                *octet ^= mask;
            }
        }
        Damage::Cut(at) => octets.truncate(place(at)),
        Damage::Repeat(from, to, len) => {
            let (from, to) = (place(from), place(to));
            let end = (from + usize::from(len)).min(octets.len());
            let copy = octets[from..end].to_vec();
            octets.splice(to..to, copy);
        }
        Damage::Drop(at, len) => {
            let at = place(at);
            let end = (at + usize::from(len)).min(octets.len());
            octets.drain(at..end);
        }
    }
}

proptest! {
    #![proptest_config(crate::config(1000))]

    #[test]
    fn token_soup_gives_a_report_that_adds_up(moves in moves()) {
        let report = report(&capture(&moves));
        sums(&report);
    }

    #[test]
    fn a_damaged_capture_gives_a_report_that_adds_up(
        name in prop::sample::select(DAMAGED.to_vec()), damages in damages(),
    ) {
        let path = format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut octets = std::fs::read(path).unwrap();
        damages.iter().for_each(|one| damage(&mut octets, one));
        sums(&report(&octets));
    }
}

proptest! {
    #![proptest_config(crate::config(60))]

    #[test]
    fn token_soup_gives_a_report_of_the_schema(moves in moves()) {
        schema::assert_report(&report(&capture(&moves)));
    }

    #[test]
    fn a_damaged_capture_gives_a_report_of_the_schema(
        name in prop::sample::select(DAMAGED.to_vec()), damages in damages(),
    ) {
        let path = format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut octets = std::fs::read(path).unwrap();
        damages.iter().for_each(|one| damage(&mut octets, one));
        schema::assert_report(&report(&octets));
    }
}
