//! Contract §4, "Problem codes".

use crate::segments;
use crate::talk::*;

#[test]
fn octets_that_the_capture_lost_are_counted_once_a_stream() {
    let seen = watch()
        .server("8\r\n")
        .server_lost(8)
        .server("\r\n9\r\nx")
        .server_lost(8)
        .server("\r\n")
        .client_acks()
        .server(LAST)
        .report();
    assert_eq!(seen.problem("lost-octets")["count"], 16);
}

#[test]
fn packets_cut_by_the_snap_length_are_counted() {
    let talk = watch().chunk(event("a")).chunk(event("b"));
    let mut capture = segments::write(&[]);
    for segment in &talk.sent {
        let mut record = segments::write(std::slice::from_ref(segment))[24..].to_vec();
        let kept = record.len().min(16 + 90);
        record.truncate(kept);
        record[8..12].copy_from_slice(&u32::try_from(kept - 16).unwrap().to_le_bytes());
        capture.extend(record);
    }
    let seen = run(&capture, &[]);
    // Of the packets, the response head and two chunks are longer than 90 octets.
    assert_eq!(seen.problem("cut-packets")["count"], 3);
    assert_eq!(seen.problem("cut-packets")["frame"], 5);
}

#[test]
fn leniences_are_said_once_a_stream_with_a_count_and_the_first_frame() {
    let mut talk = watch();
    for _ in 0..50 {
        let a = event("a");
        talk = talk.server(format!("{:x} \r\n{a}\r\n", a.len()));
    }
    let seen = talk.report();
    let problem = seen.problem("lenient-framing");
    assert_eq!((problem["frame"].as_u64(), problem["count"].as_u64()), (Some(6), Some(50)));
    assert_eq!(seen.problems(), ["lenient-framing"]);
}

#[test]
fn fragments_that_never_become_whole_are_counted() {
    let mut capture = watch().chunk(event("a")).capture();
    let whole = run(&capture, &[]);
    assert_eq!((whole.status, whole.problems()), (0, vec![]));
    // The flags of the IPv4 header of the last packet: more fragments follow.
    let (mut at, mut last) = (24, 24);
    while at < capture.len() {
        last = at;
        at += 16 + u32::from_le_bytes(capture[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    capture[last + 16 + 6] = 0x20;
    let seen = run(&capture, &[]);
    let problem = seen.problem("incomplete-fragments");
    assert_eq!((problem["count"].as_u64(), problem["frame"].as_u64()), (Some(1), Some(6)));
    assert_eq!(seen.status, 3, "{}", seen.messages);
}

#[test]
fn a_link_that_is_not_supported_is_an_error_that_says_what_to_do() {
    let mut capture = watch().chunk(event("a")).capture();
    capture[20..24].copy_from_slice(&147u32.to_le_bytes());
    let seen = run(&capture, &[]);
    assert_eq!(seen.status, 2);
    assert_eq!(seen.problem("unsupported-link")["count"], 6);
    assert!(seen.messages.contains("editcap"), "{}", seen.messages);
}

#[test]
fn a_payload_above_16_mib_is_cut_with_a_problem_and_judged_all_the_same() {
    let size = (16 << 20) + 1000;
    let filler = "x".repeat(size);
    let text = format!("{{\"type\":\"ADDED\",\"object\":{{\"x\":\"{filler}\"}}}}\n");
    let mut talk = watch();
    for piece in chunk(&text).chunks(60_000) {
        talk = talk.server(piece);
    }
    let seen = talk.server(LAST).report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.verdicts(), ["one"]);
    let part = &exchange.chunks()[0];
    assert_eq!(part["payload_cut"], true);
    assert_eq!(part["received"], text.len());
    assert_eq!(part["payload"].as_str().unwrap().len(), 16 << 20);
    assert_eq!(seen.problem("payload-limit")["count"], 1);
    assert_eq!(seen.status, 0);
}

#[test]
fn an_incomplete_head_is_a_problem() {
    let seen =
        talk().client(&REQUEST[..40]).client_lost(30).server(HEAD).chunk(event("a")).client_acks().report();
    let exchanges = seen.exchanges();
    assert_eq!(exchanges[0]["request"]["method"], "GET");
    assert_eq!(seen.problem("incomplete-head")["count"], 1);
}

#[test]
fn every_code_of_a_report_is_one_of_the_contract() {
    let codes = [
        "truncated-capture",
        "trailing-garbage",
        "corrupt-block",
        "cut-packets",
        "incomplete-fragments",
        "lost-octets",
        "conflicting-overlap",
        "joined-midstream",
        "incomplete-head",
        "lenient-framing",
        "unsupported-link",
        "unsupported-encoding",
        "unfinished-coding",
        "decoding-limit",
        "encrypted-stream",
        "http2-stream",
        "payload-limit",
        "stream-limit",
        "stream-numbers",
        "bad-time",
        "unredacted-secret",
    ];
    let damaged = {
        let mut capture = watch().chunk(event("a")).capture();
        capture[24 + 8..24 + 12].copy_from_slice(&[0xff; 4]);
        capture
    };
    for capture in [watch().chunk(event("a")).capture()[..100].to_vec(), damaged] {
        for code in run(&capture, &[]).problems() {
            assert!(codes.contains(&code.as_str()), "{code}");
        }
    }
}
