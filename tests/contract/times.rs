//! Contract §4, "Times and frames", and §2, "Terms", on frames.

use serde_json::json;

use crate::segments;
use crate::talk::*;

/// A pcapng block.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let len = u32::try_from(padded + 12).unwrap();
    let mut octets = [kind.to_le_bytes(), len.to_le_bytes()].concat();
    octets.extend_from_slice(body);
    octets.resize(8 + padded, 0);
    octets.extend_from_slice(&len.to_le_bytes());
    octets
}

/// The conversation as pcapng: an interface of that resolution, `ticks` for each packet.
fn pcapng(talk: &Talk, resolution: u8, ticks: impl Fn(u64) -> u64, between: &[u8]) -> Vec<u8> {
    let mut section = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    section.extend_from_slice(&[1, 0, 0, 0]);
    section.extend_from_slice(&u64::MAX.to_le_bytes());
    let mut octets = block(0x0a0d_0d0a, &section);
    octets.extend(block(1, &[101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0]));
    for (number, packet) in packets(talk).into_iter().enumerate() {
        octets.extend_from_slice(between);
        let at = ticks(number as u64);
        let len = u32::try_from(packet.len()).unwrap();
        let mut body = 0u32.to_le_bytes().to_vec();
        body.extend(u32::try_from(at >> 32).unwrap().to_le_bytes());
        body.extend(u32::try_from(at & 0xffff_ffff).unwrap().to_le_bytes());
        body.extend([len.to_le_bytes(), len.to_le_bytes()].concat());
        body.extend(packet);
        octets.extend(block(6, &body));
    }
    octets
}

/// The packets of a conversation.
fn packets(talk: &Talk) -> Vec<Vec<u8>> {
    talk.sent.iter().map(|segment| segments::write(std::slice::from_ref(segment))[40..].to_vec()).collect()
}

#[test]
fn a_chunk_begins_with_its_earliest_octet_and_is_whole_with_its_latest() {
    let a = event("a");
    let whole = watch().server(format!("{:x}\r\n", a.len())).server(&a).server("\r\n");
    let mut late = whole.clone();
    // The size line comes behind the payload.
    late.sent.swap(5, 6);
    late.sent[5].micros = 6000;
    late.sent[6].micros = 7000;
    for talk in [whole, late] {
        let exchange = talk.exchange();
        let chunk = &exchange.chunks()[0];
        assert_eq!(chunk["frames"], json!([6, 7, 8]));
        assert_eq!(chunk["first_time"], "2023-11-14T22:13:20.006000Z");
        assert_eq!(chunk["time"], "2023-11-14T22:13:20.008000Z");
    }
}

#[test]
fn an_unfinished_chunks_time_is_its_last_received_octets() {
    let exchange = watch().server("ff\r\nab").server("cd").client_acks().exchange();
    assert_eq!(exchange.chunks()[0]["time"], "2023-11-14T22:13:20.007000Z");
}

#[test]
fn a_heads_frame_is_its_first_octets() {
    let exchange =
        talk().client(&REQUEST[..5]).client(&REQUEST[5..]).server(&HEAD[..9]).server(&HEAD[9..]).exchange();
    assert_eq!((&exchange["request"]["frame"], &exchange["response"]["frame"]), (&json!(4), &json!(6)));
    assert_eq!(exchange["response"]["time"], "2023-11-14T22:13:20.006000Z");
}

#[test]
fn an_octets_frame_is_that_of_the_packet_that_delivered_it_first() {
    let mut talk = watch().chunk(event("a"));
    let again = talk.sent[5].clone();
    talk.sent.push(again);
    let exchange = talk.chunk(event("b")).exchange();
    assert_eq!(exchange.chunks()[0]["frames"], json!([6]));
    assert_eq!(exchange.chunks()[1]["frames"], json!([8]));
}

#[test]
fn a_one_octet_probe_with_new_data_delivers_that_octet() {
    let a = event("a");
    let text = chunk(&a);
    let exchange = watch().server(&text[..1]).server(&text[1..]).exchange();
    assert_eq!(exchange.verdicts(), ["one"]);
    assert_eq!(exchange.chunks()[0]["frames"], json!([6, 7]));
}

#[test]
fn a_keep_alive_probe_delivers_nothing() {
    let mut talk = watch().chunk(event("a"));
    let mut probe = talk.sent[5].clone();
    probe.seq = probe.seq.wrapping_add(u32::try_from(probe.payload.len()).unwrap() - 1);
    probe.payload = b"\0".to_vec();
    talk.sent.push(probe);
    let seen = talk.chunk(event("b")).report();
    assert_eq!(seen.exchanges()[0].verdicts(), ["one", "one"]);
    assert_eq!(seen.exchanges()[0].chunks()[0]["frames"], json!([6]));
}

#[test]
fn times_have_the_decimals_of_their_interfaces_resolution() {
    let talk = watch().chunk(event("a"));
    for (resolution, per_second, decimals) in [
        (0, 1, ""),
        (3, 1000, ".500"),
        (6, 1_000_000, ".500000"),
        (9, 1_000_000_000, ".500000000"),
        (0x8a, 1024, ".500000000"),
    ] {
        let capture = pcapng(&talk, resolution, |_| 1_700_000_000 * per_second + per_second / 2, &[]);
        let seen = run(&capture, &[]);
        let time = format!("2023-11-14T22:13:20{decimals}Z");
        assert_eq!(seen.capture()["first_time"], *time);
        assert_eq!(seen.exchanges()[0].chunks()[0]["time"], *time);
    }
}

#[test]
fn a_simple_packet_has_no_time() {
    let talk = watch().chunk(event("a"));
    let mut capture = pcapng(&midstream(), 6, |_| 0, &[]);
    for packet in packets(&talk) {
        let mut body = u32::try_from(packet.len()).unwrap().to_le_bytes().to_vec();
        body.extend(packet);
        capture.extend(block(3, &body));
    }
    let seen = run(&capture, &[]);
    assert_eq!(seen.capture()["packets"], 6);
    assert!(seen.capture()["first_time"].is_null());
    let chunk = &seen.exchanges()[0].chunks()[0];
    assert!(chunk["first_time"].is_null() && chunk["time"].is_null());
    assert_eq!(chunk["frames"], json!([6]));
    assert_eq!(seen.status, 0);
}

#[test]
fn a_time_that_cannot_be_written_is_null_with_a_problem() {
    let talk = watch().chunk(event("a"));
    let seen = run(&pcapng(&talk, 0, |number| if number == 0 { 1 << 60 } else { 1_700_000_000 }, &[]), &[]);
    assert_eq!(seen.problem("bad-time")["frame"], 1);
    assert_eq!(seen.problem("bad-time")["count"], 1);
    // The first that a packet has.
    assert_eq!(seen.capture()["first_time"], "2023-11-14T22:13:20Z");
}

#[test]
fn frame_numbers_count_custom_blocks_and_journal_entries() {
    let talk = watch().chunk(event("a"));
    let custom = block(0xbad, &[0, 0, 0x30, 0x39, 1, 2, 3, 4]);
    let seen = run(&pcapng(&talk, 6, |_| 0, &custom), &[]);
    assert_eq!(seen.exchanges()[0].chunks()[0]["frames"], json!([12]));
    let journal = block(9, b"__REALTIME_TIMESTAMP=1\nMESSAGE=x\n");
    let seen = run(&pcapng(&talk, 6, |_| 0, &journal), &[]);
    assert_eq!(seen.exchanges()[0].chunks()[0]["frames"], json!([12]));
}

#[test]
fn link_types_are_those_declared_without_duplicates_by_their_names() {
    let mut section = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    section.extend_from_slice(&[1, 0, 0, 0]);
    section.extend_from_slice(&u64::MAX.to_le_bytes());
    let mut capture = block(0x0a0d_0d0a, &section);
    for link in [1u16, 276, 1, 113] {
        let mut body = link.to_le_bytes().to_vec();
        body.extend([0; 6]);
        capture.extend(block(1, &body));
    }
    let seen = run(&capture, &[]);
    assert_eq!(seen.capture()["link_types"], json!(["ETHERNET", "LINUX_SLL2", "LINUX_SLL"]));
    assert_eq!(seen.capture()["format"], "pcapng");
}

#[test]
fn a_cut_capture_is_read_to_its_last_whole_packet_and_is_no_error() {
    let whole = watch().chunk(event("a")).chunk(event("b")).capture();
    let seen = run(&whole[..whole.len() - 3], &[]);
    assert_eq!(seen.problem("truncated-capture")["frame"], 6);
    assert_eq!(seen.exchanges()[0].verdicts(), ["one"]);
    assert_eq!(seen.status, 0);
}

#[test]
fn octets_behind_the_last_packet_are_a_problem_and_no_error() {
    let mut capture = watch().chunk(event("a")).capture();
    capture.extend([0xee; 40]);
    let seen = run(&capture, &[]);
    seen.problem("trailing-garbage");
    assert_eq!(seen.status, 0);
}

/// The talk in two captures, the second beginning with packet `place`.
fn parts(talk: &Talk, place: usize) -> [std::path::PathBuf; 2] {
    [
        file("z-first.pcap", &segments::write(&talk.sent[..place])),
        file("a-second.pcap", &segments::write(&talk.sent[place..])),
    ]
}

#[test]
fn under_join_frame_numbers_go_on_over_all_parts_in_the_order_of_their_first_packets() {
    let talk = watch().chunk(event("a")).chunk(event("b"));
    let [first, second] = parts(&talk, 6);
    let seen = run_on(&[&second, &first], &["--join"]);
    assert_eq!(seen.report["captures"].as_array().unwrap().len(), 1);
    let capture = seen.capture();
    assert_eq!(capture["path"], first.to_str().unwrap());
    assert_eq!(capture["parts"], json!([first.to_str().unwrap(), second.to_str().unwrap()]));
    assert_eq!(capture["packets"], 7);
    assert_eq!(seen.summary("captures"), 1);
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.chunks()[1]["frames"], json!([7]));
    assert_eq!(seen.status, 0);
}

#[test]
fn without_join_each_capture_is_analysed_on_its_own() {
    let talk = watch().chunk(event("a")).chunk(event("b"));
    let [first, second] = parts(&talk, 6);
    let seen = run_on(&[&first, &second], &[]);
    assert_eq!(seen.summary("captures"), 2);
    assert!(seen.capture()["parts"].is_null());
    let exchanges = seen.exchanges();
    assert_eq!(exchanges.len(), 2);
    assert_eq!(exchanges[1].body()["joined"], true);
    assert_eq!(exchanges[1].chunks()[0]["frames"], json!([1]));
}
