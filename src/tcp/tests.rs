//! The rules of the layer, each on the traffic that it is there for. Frames 1
//! to 3 are the handshake unless the talk begins midstream.

use super::conversation::{Talk, midstream, talk, talk_from};
use super::*;
use crate::limits::Limits;

const OPEN: &str = "open 10.0.0.1:40000 frame 1";

/// Holds what is heard against lines; the opening and a close by the end of
/// the capture are added.
#[track_caller]
fn hears(talk: &Talk, expected: &[&str]) {
    hears_within(talk, &Limits::default(), expected);
}

#[track_caller]
fn hears_within(talk: &Talk, limits: &Limits, expected: &[&str]) {
    let mut all = vec![OPEN.to_owned()];
    if expected.first().is_some_and(|line| line.starts_with("open")) {
        all.clear();
    }
    all.extend(expected.iter().map(ToString::to_string));
    if !all.iter().any(|line| line.starts_with("closed")) {
        all.push("closed CaptureEnd".to_owned());
    }
    pretty(&talk.heard_within(limits), &all);
}

#[track_caller]
fn pretty(heard: &[String], expected: &[String]) {
    assert_eq!(heard, expected, "\nheard:\n{}\n", heard.join("\n"));
}

fn patience(packets: u32) -> Limits {
    Limits { gap_patience_packets: packets, ..Limits::default() }
}

// In order, out of order, again

#[test]
fn octets_in_order_pass_at_once() {
    let talk = talk().client(b"GET").server(b"200").server(b" OK").client_fin().server_fin().client(b"");
    hears(&talk, &["> 0 GET 4", "< 0 200 5", "< 3  OK 6", "> fin 7", "< fin 8", "closed Ended"]);
}

#[test]
fn octets_out_of_order_wait_and_know_both_packets() {
    let talk = talk().client(b"GET").server(b"one").server(b"two").early(1).server(b"six");
    hears(&talk, &["> 0 GET 4", "< 0 one 6", "< 3 two 5/6", "< 6 six 7"]);
}

#[test]
fn a_retransmission_delivers_nothing_twice() {
    let talk = talk().client(b"GET").again().server(b"200").again().client(b"").server(b"OK");
    hears(&talk, &["> 0 GET 4", "< 0 200 6", "< 3 OK 9"]);
}

#[test]
fn a_retransmission_with_more_delivers_the_rest() {
    let talk = talk().client(b"abc").forgotten().client(b"abcdef").client(b"g");
    hears(&talk, &["> 0 abc 4", "> 3 def ~5", "> 6 g 6"]);
}

#[test]
fn the_first_received_wins_also_out_of_order() {
    let talk =
        talk().server(b"ab").lost().server(b"cd").shifted(0).server(b"").shifted(-4).carrying(b"abXYef");
    hears(&talk, &["< conflict 5", "< 0 ab 5", "< 2 cd 4/5", "< 4 ef ~5"]);
}

#[test]
fn a_copy_that_differs_from_delivered_octets_is_a_conflict() {
    let talk = talk().server(b"3\r\nabc\r\n").again().carrying(b"3\r\nabX\r\n").again().server(b"0\r\n");
    hears(&talk, &["< 0 3\r\nabc\r\n 4", "< conflict 5", "< conflict 6", "< 8 0\r\n 7"]);
}

#[test]
fn numbers_wrap_within_a_stream() {
    let talk = talk_from(u32::MAX - 1, u32::MAX - 4).handshake();
    let talk = talk.client(b"GET").server(b"abcdef").server(b"ghi").early(1).client(b"").server_fin();
    hears(&talk, &["> 0 GET 4", "< 0 abcdef 6", "< 6 ghi 5/6", "< fin 8"]);
}

#[test]
fn a_stream_exceeds_4_gib() {
    // Sparse: nearly all octets are acknowledged, but were not captured.
    let mut talk = talk().server(b"begin");
    let step = 1u32 << 29;
    for _ in 0..10 {
        talk.packets.push(talk.packets.last().unwrap().clone());
        talk = talk.shifted(step as i32).carrying(b"x");
        let ack = talk.packets.last().unwrap().seq.wrapping_add(1);
        talk = talk.client(b"").acking(Some(ack));
        talk.packets.push(talk.packets[talk.packets.len() - 2].clone());
    }
    let heard = talk.heard_within(&patience(0));
    assert!(heard.contains(&"< 5368709120 x 32/33".to_owned()), "{heard:?}");
}

// Probes

#[test]
fn a_keep_alive_probe_delivers_nothing() {
    let talk = talk()
        .server(b"a")
        .client(b"")
        .server(b"")
        .shifted(-1)
        .again()
        .carrying(b"\0")
        .client(b"")
        .server(b"bc");
    hears(&talk, &["< 0 a 4", "< 1 bc 9"]);
}

#[test]
fn a_one_octet_probe_with_a_new_octet_delivers_it() {
    let talk = talk().server(b"a").server(b"b").again().forgotten().server(b"bcd");
    hears(&talk, &["< 0 a 4", "< 1 b 5", "< 2 cd ~7"]);
}

#[test]
fn a_capture_that_begins_with_a_keep_alive_probe_lacks_nothing() {
    let talk = midstream().server(b"").shifted(-1).client(b"").server(b"abc").client(b"");
    hears(&talk, &["open 10.0.0.2:80 midstream frame 1", "> 0 abc 3"]);
}

// Gaps

#[test]
fn a_gap_is_given_up_some_packets_after_its_acknowledgement() {
    let talk = talk()
        .server(b"one")
        .server(b"two")
        .lost()
        .server(b"six") // 5
        .client(b"") // 6 acknowledges all
        .client(b"")
        .client(b"") // 8
        .client(b"");
    hears_within(&talk, &patience(2), &["< 0 one 4", "< 3 gap of 3 noticed 8", "< 6 six 5/6"]);
}

#[test]
fn a_gap_is_given_up_a_second_after_its_acknowledgement() {
    let talk = talk().server(b"one").lost().server(b"six").client(b"").after(999).client(b"");
    hears(&talk.clone().after(1).client(b""), &["< 0 gap of 3 noticed 7", "< 3 six 4/5"]);
    hears(&talk, &["< 0 gap of 3 noticed 6", "< 3 six 4/5"]);
}

#[test]
fn a_silent_connection_gives_up_while_others_go_on() {
    let mut all = talk().server(b"lost").lost().server(b"two").client_fin().server_fin();
    let other = midstream().client_port(7).after(900).client(b"a").after(200).client(b"b");
    all.packets.extend(other.packets);
    let heard = all.heard();
    assert_eq!(
        heard,
        [
            OPEN,
            "1: open 10.0.0.1:7 midstream frame 7",
            "1: > 0 a 7",
            "1: > 1 b 8",
            "< 0 gap of 4 noticed 8",
            "< 4 two 4/5",
            "> fin 5",
            "< fin 6",
            "closed Ended",
            "1: closed CaptureEnd",
        ]
    );
}

#[test]
fn a_gap_that_nobody_acknowledged_waits() {
    let mut talk = talk().server(b"one").lost().server(b"six");
    for _ in 0..100 {
        talk = talk.after(100).client(b"").acking(Some(5001));
    }
    let talk = talk.server(b"").shifted(-6).carrying(b"one").client(b"");
    hears(&talk, &["< 0 one 105", "< 3 six 4/105"]);
}

#[test]
fn a_segment_captured_after_its_acknowledgement_is_no_gap() {
    let talk = talk().server(b"one").client(b"").early(1).server(b"two").client(b"").early(1).server(b"six");
    hears(&talk, &["< 0 one 5", "< 3 two 7", "< 6 six 8"]);
}

#[test]
fn a_lost_tail_is_a_gap() {
    let talk = talk().server(b"one").server(b"tail").lost().client(b"").client(b"").client(b"");
    hears_within(&talk, &patience(2), &["< 0 one 4", "< 3 gap of 4 noticed 7"]);
    hears(&talk, &["< 0 one 4", "< 3 gap of 4 noticed 7"]);
}

#[test]
fn a_fin_that_was_not_captured_is_no_gap() {
    let talk = talk().server(b"one").server_fin().lost().client(b"").client(b"a").client(b"b");
    hears_within(&talk, &patience(1), &["< 0 one 4", "> 0 a 6", "> 1 b 7"]);
    hears(&talk, &["< 0 one 4", "> 0 a 6", "> 1 b 7"]);
}

#[test]
fn one_lost_octet_between_others_is_a_gap() {
    let talk = talk().server(b"o").lost().server(b"ne").client(b"");
    hears(&talk, &["< 0 gap of 1 noticed 5", "< 1 ne 4/5"]);
}

#[test]
fn a_spent_budget_gives_up_the_earliest_gap() {
    let limits = Limits { out_of_order_stream: 1000, ..Limits::default() };
    let mut talk = talk().server(b"lost").lost();
    for _ in 0..4 {
        talk = talk.server(&[b'x'; 300]);
    }
    let heard = talk.heard_within(&limits);
    assert_eq!(heard[1], "< 0 gap of 4 noticed 6", "the third doesn't fit");
    assert_eq!(heard.iter().filter(|line| line.contains("xxx")).count(), 4);
}

#[test]
fn a_spent_total_budget_bounds_all_streams_together() {
    let limits = Limits { out_of_order_total: 1000, ..Limits::default() };
    let mut all = midstream();
    for port in 1..5 {
        all.packets
            .extend(midstream().client_port(port).handshake().server(b"a").lost().server(&[0; 300]).packets);
    }
    let heard = all.heard_within(&limits);
    assert_eq!(heard.iter().filter(|line| line.contains("gap of 1 noticed 12")).count(), 1);
}

#[test]
fn small_segments_count_with_what_they_cost() {
    let limits = Limits { out_of_order_stream: 100_000, ..Limits::default() };
    let mut talk = talk().server(b"a").lost();
    for _ in 0..1000 {
        talk = talk.server(b"x");
    }
    let heard = talk.heard_within(&limits);
    assert!(heard[1].starts_with("< 0 gap of 1 noticed 6"), "{}", heard[1]);
}

// Snap length

#[test]
fn cut_octets_are_a_gap_as_soon_as_they_are_acknowledged() {
    let talk = talk().server(b"abcdef").cut(3).server(b"ghijkl").cut(2).client(b"").server(b"m");
    hears(
        &talk,
        &["< 0 abc 4", "< 3 gap of 3 noticed 6", "< 6 ghij 5", "< 10 gap of 2 noticed 6", "< 12 m 7"],
    );
}

#[test]
fn a_whole_copy_fills_what_was_cut() {
    let talk = talk().server(b"abcdef").cut(3).again().carrying(b"abcdef").client(b"").server(b"m");
    hears(&talk, &["< 0 abc 4", "< 3 def ~5", "< 6 m 7"]);
}

#[test]
fn headers_alone_give_one_gap_after_the_other() {
    let talk =
        talk().server(b"abc").cut(3).server(b"de").cut(2).client(b"").server(b"fg").cut(2).server_fin();
    hears(&talk, &["< 0 gap of 5 noticed 6", "< 5 gap of 2 noticed 8", "< fin 8"]);
}

#[test]
fn a_cut_capture_of_one_direction_does_not_wait() {
    let talk = midstream().server(b"abcdef").cut(3).server(b"gh").server(b"ij").cut(1);
    hears(
        &talk,
        &[
            "open 10.0.0.2:80 midstream frame 1",
            "> 0 abc 1",
            "> 3 gap of 3 noticed 1",
            "> 6 gh 2",
            "> 8 i 3",
            "> 9 gap of 1 noticed 3",
        ],
    );
}

// Cause and effect

#[test]
fn a_response_captured_before_its_request_waits_for_it() {
    let talk = talk().client(b"GET").server(b"200").early(1).server(b"OK");
    hears(&talk, &["> 0 GET 5", "< 0 200 4", "< 3 OK 6"]);
}

#[test]
fn a_response_waits_for_all_of_its_request() {
    let talk = talk().client(b"GE").client(b"T").server(b"200").early(2).server(b"OK").early(1);
    hears(&talk, &["> 0 GE 5", "> 2 T 7", "< 0 200 4", "< 3 OK 6"]);
}

#[test]
fn a_response_to_a_lost_request_waits_for_patience_alone() {
    let talk = talk().client(b"GET").lost().server(b"200").client(b"").client(b"").client(b"");
    hears_within(&talk, &patience(2), &["> 0 gap of 3 noticed 6", "< 0 200 4"]);
}

#[test]
fn where_one_direction_was_captured_nothing_waits() {
    let talk = midstream().client(b"GET").lost().server(b"200").client(b"GET").lost().server(b"OK");
    hears(&talk, &["open 10.0.0.2:80 midstream frame 1", "> 0 200 1", "> 3 OK 2"]);
}

#[test]
fn a_fin_waits_for_its_cause_too() {
    let talk = talk().client_fin().server_fin().early(1);
    hears(&talk, &["> fin 5", "< fin 4", "closed Ended"]);
}

#[test]
fn each_waiting_for_the_other_ends_with_patience() {
    let mut talk = talk().client(b"a").acking(Some(5002)).server(b"b").acking(Some(1002));
    for _ in 0..4 {
        talk = talk.client(b"");
    }
    let heard = talk.heard_within(&patience(3));
    assert_eq!(heard.len(), 4, "{heard:?}");
    assert!(heard.contains(&"> 0 a 4".to_owned()) && heard.contains(&"< 0 b 5".to_owned()));
}

// Beginnings

#[test]
fn without_a_handshake_the_first_octet_known_has_offset_0() {
    let talk = midstream().server(b"abc").client(b"").server(b"def");
    hears(&talk, &["open 10.0.0.2:80 midstream frame 1", "> 0 abc 1", "> 3 def 3"]);
}

#[test]
fn an_acknowledgement_tells_where_a_direction_stands() {
    let talk = midstream().client(b"").server(b"abc").server(b"def").early(1).client(b"");
    hears(&talk, &["open 10.0.0.1:40000 midstream frame 1", "< 0 abc 3", "< 3 def 2/3"]);
}

#[test]
fn earlier_octets_are_taken_while_nothing_was_delivered() {
    let talk = midstream().server(b"abc").client(b"").early(1).server(b"def");
    hears(&talk, &["open 10.0.0.1:40000 midstream frame 1", "< 0 abc 2", "< 3 def 3"]);
}

#[test]
fn earlier_octets_are_old_once_later_ones_were_delivered() {
    let talk = midstream().server(b"abc").server(b"def").early(1).server(b"ghi");
    hears(&talk, &["open 10.0.0.2:80 midstream frame 1", "> 0 def 1", "> 3 ghi 3"]);
}

#[test]
fn a_syn_that_carries_octets_counts_from_the_next_number() {
    let talk =
        midstream().syn().carrying(b"GET").syn_ack().acking(Some(1004)).restart(1004, 5001).client(b" /");
    hears(&talk, &["> 0 GET 1", "> 3  / 3"]);
}

#[test]
fn the_receiver_of_a_lone_syn_ack_opened_the_connection() {
    let talk = midstream().syn().lost().syn_ack().client(b"GET").server(b"200");
    hears(&talk, &["> 0 GET 2", "< 0 200 3"]);
}

#[test]
fn of_two_syns_the_first_sender_opened_the_connection() {
    let talk = midstream().syn().server_syn().client(b"a").server(b"b");
    hears(&talk, &["> 0 a 3", "< 0 b 4"]);
    let talk = midstream().server_syn().syn().client(b"a").server(b"b");
    hears(&talk, &["open 10.0.0.2:80 frame 1", "< 0 a 3", "> 0 b 4"]);
}

#[test]
fn octets_before_their_syn_are_kept() {
    let talk = midstream().syn().syn_ack().client(b"GET").early(2).client(b" /");
    hears(&talk, &["open 10.0.0.1:40000 midstream frame 1", "> 0 GET 1", "> 3  / 4"]);
}

// Ends

#[test]
fn a_fin_waits_for_the_octets_before_it() {
    let talk = talk().server(b"abc").server_fin().early(1).client(b"");
    hears(&talk, &["< 0 abc 5", "< fin 4"]);
}

#[test]
fn octets_behind_a_fin_are_dropped() {
    let talk = talk().server(b"abc").server_fin().server(b"def").client(b"").server(b"g").early(4);
    hears(&talk, &["< 0 abc 5", "< fin 6"]);
}

#[test]
fn a_fin_can_carry_octets() {
    let mut talk = talk().server(b"abc");
    talk.packets.last_mut().unwrap().flags.fin = true;
    hears(&talk, &["< 0 abc 4", "< fin 4"]);
}

#[test]
fn what_comes_after_the_end_is_ignored() {
    let talk = talk().client_fin().server_fin().client(b"").server(b"late").server_rst();
    hears(&talk, &["> fin 4", "< fin 5", "closed Ended"]);
}

#[test]
fn the_other_direction_goes_on_after_a_fin() {
    let talk = talk().client(b"GET").client_fin().server(b"200").server_fin();
    hears(&talk, &["> 0 GET 4", "> fin 5", "< 0 200 6", "< fin 7", "closed Ended"]);
}

#[test]
fn a_reset_ends_the_connection() {
    let talk = talk().client(b"GET").server(b"200").client_rst().server(b"late");
    hears(&talk, &["> 0 GET 4", "< 0 200 5", "> reset 6", "closed Ended"]);
}

#[test]
fn a_refused_connection_is_reset() {
    let talk = midstream().syn().server_rst().restart(1001, 0).shifted(-5000);
    hears(&talk, &["< reset 2", "closed Ended"]);
    let talk = midstream().syn().server_rst().shifted(-5000).acking(Some(7)).syn_ack().client(b"a");
    hears(&talk, &["> 0 a 4"]);
}

#[test]
fn a_reset_outside_the_window_is_ignored() {
    for by in [-10, 100_000, 1 << 25, i32::MIN, i32::MAX] {
        let talk = talk().server(b"two hundred").client(b"").server_rst().shifted(by).server(b" OK");
        hears(&talk, &["< 0 two hundred 4", "< 11  OK 7"]);
    }
}

#[test]
fn a_reset_before_lost_octets_says_so() {
    let talk = talk().server(b"200").server(b" OK").lost().server_rst();
    hears(&talk, &["< 0 200 4", "< reset 5 lost", "closed Ended"]);
}

#[test]
fn a_reset_captured_before_its_last_octets_waits_for_them() {
    let talk = talk().server(b"200").server(b" OK").server_rst().early(1);
    hears(&talk, &["< 0 200 4", "< 3  OK 6", "< reset 5", "closed Ended"]);
}

#[test]
fn a_reset_that_its_receiver_did_not_believe_is_forgotten() {
    // A middlebox guesses a number within the window; the server goes on.
    let talk = talk().server(b"200").server_rst().shifted(50).server(&[b'x'; 60]).client(b"").server(b"end");
    let heard = talk.heard_within(&patience(2));
    assert_eq!(heard.last().unwrap(), "closed CaptureEnd");
    assert!(heard.contains(&"< 63 end 8".to_owned()), "{heard:?}");
}

#[test]
fn a_reset_lets_out_what_waits() {
    let talk = talk().server(b"one").lost().server(b"two").client_rst();
    hears(&talk, &["< 0 gap of 3 noticed 5", "< 3 two 4", "> reset 5", "closed Ended"]);
}

#[test]
fn the_text_of_a_reset_is_no_data() {
    let talk = talk().server(b"200").server_rst().carrying(b"no such port");
    hears(&talk, &["< 0 200 4", "< reset 5", "closed Ended"]);
}

// Foreign segments

#[test]
fn what_lies_out_of_reach_does_not_disturb() {
    for by in [i32::MIN, i32::MAX, 1_200_000_000, -1_200_000_000] {
        let talk =
            talk().server(b"abc").server(b"foreign").forgotten().shifted(by).client(b"").server(b"def");
        hears(&talk, &["< 0 abc 4", "< 3 def 7"]);
    }
}

// Streams

#[test]
fn streams_are_numbered_by_first_packet() {
    let mut all = midstream().client_port(5).handshake();
    all.packets.extend(midstream().client_port(6).handshake().packets);
    all.packets.extend(midstream().client_port(5).client(b"a").shifted(1).packets);
    let heard = all.heard();
    assert_eq!(
        heard,
        [
            "open 10.0.0.1:5 frame 1",
            "1: open 10.0.0.1:6 frame 4",
            "> 0 a 7",
            "closed CaptureEnd",
            "1: closed CaptureEnd",
        ]
    );
}

#[test]
fn a_new_syn_takes_the_place_of_a_connection() {
    let talk = talk().server(b"one").lost().server(b"two").restart(9000, 8000).handshake().client(b"GET");
    hears(
        &talk,
        &[
            OPEN,
            "< 0 gap of 3 noticed 5",
            "< 3 two 4",
            "closed Ended",
            "1: open 10.0.0.1:40000 frame 5",
            "1: > 0 GET 8",
            "1: closed CaptureEnd",
        ],
    );
}

#[test]
fn a_new_syn_after_the_end_opens_a_stream_and_an_old_one_does_not() {
    let ended = talk().client_fin().server_fin();
    let again = ended.clone().restart(1000, 5000).syn();
    hears(&again, &["> fin 4", "< fin 5", "closed Ended"]);
    let new = ended.restart(1001, 5000).handshake().client(b"GET");
    hears(
        &new,
        &[
            OPEN,
            "> fin 4",
            "< fin 5",
            "closed Ended",
            "1: open 10.0.0.1:40000 frame 6",
            "1: > 0 GET 9",
            "1: closed CaptureEnd",
        ],
    );
}

/// The number of the stream that each packet belongs to, as tshark 4.0 gives
/// them for these very packets.
#[test]
fn numbers_are_those_of_tshark() {
    let (syn, both, none) = ((true, false), (true, true), (false, true));
    type Row = (usize, u32, u32, (bool, bool));
    let cases: [(&[Row], u64); 3] = [
        (
            &[
                (0, 100, 0, syn),
                (1, 500, 101, both),
                (0, 101, 501, none),
                (0, 100, 0, syn),
                (0, 200, 0, syn),
                (1, 700, 201, both),
                (1, 900, 201, both),
                (0, 201, 901, none),
                (1, 499, 0, syn),
                (1, 50, 0, syn),
                (0, 100, 0, syn),
                (0, 200, 0, syn),
            ],
            5,
        ),
        (
            &[
                (1, 500, 101, none),
                (0, 100, 0, syn),
                (0, 99, 0, syn),
                (1, 7, 0, syn),
                (0, 5, 8, both),
                (0, 99, 0, syn),
                (1, 7, 0, none),
                (1, 7, 0, syn),
                (0, 99, 0, syn),
            ],
            4,
        ),
        (
            &[
                (1, 0, 101, none),
                (0, 100, 0, syn),
                (1, u32::MAX, 0, syn),
                (1, 5, 0, syn),
                (0, 100, 0, syn),
                (0, 100, 0, syn),
                (0, 7, 0, syn),
                (1, 3, 0, both),
                (0, 8, 0, syn),
            ],
            4,
        ),
    ];
    for (rows, streams) in cases {
        let mut reassembler = Reassembler::new(&Limits::default());
        for (frame, &(who, seq, ack, (syn, acks))) in (1..).zip(rows) {
            let mut talk =
                if who == 0 { talk_from(seq, 0).client(b"") } else { talk_from(0, seq).server(b"") };
            talk = talk.acking(acks.then_some(ack));
            talk.packets[0].flags.syn = syn;
            reassembler.push(&talk.packets[0].segment(frame), &mut |_, _: StreamItem<'_>| {});
        }
        assert_eq!(reassembler.streams(), streams);
    }
}

#[test]
fn beyond_the_limit_the_longest_idle_stream_goes() {
    let limits = Limits { open_streams: 2, ..Limits::default() };
    let mut all = midstream();
    for port in [1, 2] {
        all.packets.extend(midstream().client_port(port).handshake().packets);
    }
    all.packets.extend(midstream().client_port(1).client(b"a").shifted(1).packets); // 7
    all.packets.extend(midstream().client_port(3).handshake().packets); // 8
    all.packets.extend(midstream().client_port(2).client(b"late").shifted(1).packets);
    all.packets.extend(midstream().client_port(2).syn().shifted(1).packets); // 12: another one
    let heard = all.heard_within(&limits);
    assert_eq!(
        heard,
        [
            "open 10.0.0.1:1 frame 1",
            "1: open 10.0.0.1:2 frame 4",
            "> 0 a 7",
            "1: closed Evicted",
            "2: open 10.0.0.1:3 frame 8",
            "closed Evicted",
            "3: open 10.0.0.1:2 frame 12",
            "2: closed CaptureEnd",
            "3: closed CaptureEnd",
        ]
    );
}

#[test]
fn an_endpoint_that_talks_to_itself_does_no_harm() {
    let mut talk = talk().client(b"abc");
    for packet in &mut talk.packets {
        packet.destination = packet.source;
    }
    assert!(talk.heard().iter().any(|line| line.contains("abc")));
}

// While it is recorded

#[test]
fn what_waits_for_late_packets_alone_comes_when_none_do() {
    // The response acknowledges a request that the recorder lost.
    let talk = talk().client(b"").client(b"GET").lost().server(b"200");
    assert_eq!(talk.heard_until_idle(), [OPEN, "> 0 gap of 3 noticed 5", "< 0 200 5"]);
}

#[test]
fn a_hole_that_may_still_be_sent_again_is_waited_for_also_when_no_packets_come() {
    let talk = talk().client(b"GET").server(b"one").lost().server(b"two");
    assert_eq!(talk.heard_until_idle(), [OPEN, "> 0 GET 4"]);
    // Once it is acknowledged, nobody sends it again.
    let talk = talk.client(b"");
    let expected = [OPEN, "> 0 GET 4", "< 0 gap of 3 noticed 6", "< 3 two 5/6"];
    assert_eq!(talk.heard_until_idle(), expected);
}
