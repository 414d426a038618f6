//! Contract §2, "How a body ends" and "What is tolerated, and said", and §4, "Framing".

use serde_json::json;

use crate::talk::*;

#[test]
fn the_chunk_in_which_the_framing_breaks_is_listed_if_its_size_line_is_valid() {
    let exchange = watch().chunk(event("a")).server("3\r\nfour\r\n").exchange();
    assert_eq!(exchange.end(), "broken");
    assert_eq!(exchange.verdicts(), ["one", "unchecked"]);
    assert_eq!(exchange.violations(), [("bad-framing".to_owned(), Some(2))]);
    let exchange = watch().chunk(event("a")).server("0x4\r\nfour\r\n").exchange();
    assert_eq!(exchange.verdicts(), ["one"]);
    assert_eq!(exchange.violations(), [("bad-framing".to_owned(), None)]);
}

#[test]
fn a_size_line_without_any_payload_is_listed_with_nothing_received() {
    let exchange = watch().chunk(event("a")).server("1f\r\n").exchange();
    let chunk = &exchange.chunks()[1];
    assert_eq!(
        (&chunk["size"], &chunk["received"], &chunk["verdict"]),
        (&json!(31), &json!(0), &json!("unchecked"))
    );
    assert_eq!(exchange.end(), "open");
    assert_eq!(exchange["verdict"], "pass");
}

#[test]
fn a_whole_payload_without_its_crlf_is_judged_as_usual() {
    let a = event("a");
    let not_captured = watch().server(format!("{:x}\r\n{a}", a.len())).exchange();
    assert_eq!(not_captured.verdicts(), ["one"]);
    assert_eq!(not_captured.end(), "open");
    let lost = watch()
        .server(format!("{:x}\r\n{a}", a.len()))
        .server_lost(2)
        .chunk(event("b"))
        .server(LAST)
        .client_acks()
        .exchange();
    assert_eq!(lost.verdicts(), ["one", "one"]);
    assert_eq!(lost.end(), "complete");
}

#[test]
fn a_chunk_of_an_unchecked_exchange_that_lacks_octets_stays_unchecked() {
    let seen = stream_of("text/plain")
        .server("8\r\nab")
        .server_lost(4)
        .server("gh\r\n")
        .client_acks()
        .server(LAST)
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.verdicts(), ["unchecked"]);
    assert_eq!(exchange["verdict"], "unchecked");
    assert_eq!(seen.summary("unverified"), 0);
    assert_eq!(seen.status, 3);
}

#[test]
fn offsets_count_lost_octets_and_a_bodys_size_the_received_ones() {
    let exchange = stream_of("text/plain")
        .server("8\r\nab")
        .server_lost(4)
        .server("gh\r\n")
        .client_acks()
        .chunk("xyz")
        .server(LAST)
        .exchange();
    let chunks = exchange.chunks();
    assert_eq!((&chunks[0]["received"], &chunks[0]["payload"]), (&json!(4), &json!("abgh")));
    assert_eq!(chunks[1]["offset"], 8);
    assert_eq!(exchange.body()["size"], 7);
}

#[test]
fn the_last_chunks_frames_include_the_trailer_section() {
    let exchange =
        watch().chunk(event("a")).server("0;x\r\n").server("Total: 1\r\n").server("\r\n").exchange();
    let last = &exchange.body()["last_chunk"];
    assert_eq!(last["frames"], json!([7, 8, 9]));
    assert_eq!((&last["size_hex"], &last["extensions"]), (&json!("0"), &json!(";x")));
    assert_eq!(exchange.body()["trailers"], json!([["Total", "1"]]));
}

#[test]
fn a_fin_before_octets_that_the_capture_lost_ends_the_body_as_lost() {
    for talk in [
        watch().chunk(event("a")).server_lost(100).server_fin().client_acks(),
        watch().chunk(event("a")).server_lost(100).server_rst(),
    ] {
        let seen = talk.report();
        let exchange = &seen.exchanges()[0];
        assert_eq!(exchange.end(), "lost");
        assert!(exchange.violations().is_empty());
        assert_eq!(exchange["verdict"], "unverified");
        assert_eq!(seen.status, 1);
        assert_eq!(talk.args(&["--allow", "gaps"]).report().status, 0);
    }
}

#[test]
fn a_payload_lost_together_with_its_crlf_does_not_end_the_body() {
    let exchange =
        watch().server("64\r\n").server_lost(102).chunk(event("b")).server(LAST).client_acks().exchange();
    assert_eq!(exchange.verdicts(), ["unverified", "one"]);
    assert_eq!(exchange.end(), "complete");
    assert_eq!(exchange.chunks()[1]["offset"], 100);
}

#[test]
fn a_chunk_whose_payload_is_not_followed_by_crlf_has_the_frames_of_its_size_line_and_payload() {
    let exchange = watch().server("4\r\n").server("four").server("XX").exchange();
    let chunk = &exchange.chunks()[0];
    assert_eq!(chunk["frames"], json!([6, 7]));
    assert_eq!(chunk["time"], "2023-11-14T22:13:20.007000Z");
    let violation = &exchange["violations"][0];
    assert_eq!((&violation["chunk"], &violation["frame"]), (&json!(1), &json!(8)));
}

#[test]
fn truncated_body_names_the_chunk_in_which_it_happens_and_null_between_chunks() {
    let inside = watch().server("1f\r\nhalf").server_fin().exchange();
    assert_eq!(inside.violations(), [("truncated-body".to_owned(), Some(1))]);
    assert_eq!(inside["violations"][0]["frame"], 7);
    let between = watch().chunk(event("a")).server_fin().exchange();
    assert_eq!(between.violations(), [("truncated-body".to_owned(), None)]);
    assert_eq!(between.end(), "truncated");
    let in_size_line = watch().chunk(event("a")).server("1").server_rst().exchange();
    assert_eq!(in_size_line.violations(), [("truncated-body".to_owned(), None)]);
    assert_eq!(in_size_line["violations"][0]["frame"], 8);
}

#[test]
fn the_last_chunk_is_given_also_where_the_final_empty_line_is_missing() {
    let open = watch().chunk(event("a")).server("0\r\n").exchange();
    assert_eq!(open.end(), "open");
    assert_eq!(open.body()["last_chunk"]["size_hex"], "0");
    let truncated = watch().chunk(event("a")).server("0\r\n").server_fin().exchange();
    assert_eq!(truncated.end(), "truncated");
    assert_eq!(truncated.body()["last_chunk"]["frames"], json!([7]));
    let aborted = watch().chunk(event("a")).server("0\r\n").client_fin().exchange();
    assert_eq!(aborted.end(), "aborted");
}

#[test]
fn a_body_of_declared_length_that_lacks_octets_is_lost() {
    let exchange = talk()
        .client("GET / HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab")
        .server_lost(4)
        .server("ghij")
        .client_acks()
        .exchange();
    assert_eq!(exchange.end(), "lost");
    assert_eq!(exchange.body()["size"], 6);
}

#[test]
fn a_close_delimited_body_is_complete_at_a_fin_and_truncated_at_a_rst() {
    let response = || talk().client("GET / HTTP/1.1\r\n\r\n").server("HTTP/1.1 200 OK\r\n\r\nhello");
    let fin = response().server_fin().exchange();
    assert_eq!((fin.end(), &fin.body()["framing"]), ("complete", &json!("close")));
    let rst = response().server_rst().exchange();
    assert_eq!(rst.end(), "truncated");
    assert!(rst.violations().is_empty(), "only chunked bodies are checked");
    assert_eq!(response().exchange().end(), "open");
}

#[test]
fn a_head_that_lacks_octets_gives_what_its_captured_lines_say_and_its_body_is_lost() {
    let seen = talk()
        .client(REQUEST)
        .server("HTTP/1.1 200 OK\r\nContent-Type: appl")
        .server_lost(300)
        .client_acks()
        .chunk(event("a"))
        .chunk(event("b"))
        .client_acks()
        .report();
    let exchanges = seen.exchanges();
    assert_eq!(exchanges[0]["response"]["status"], 200);
    assert_eq!(exchanges[0].end(), "lost");
    assert!(exchanges[0].body()["framing"].is_null());
    assert_eq!(exchanges[1].body()["joined"], true);
    assert_eq!(exchanges[1].verdicts(), ["one", "one"]);
    assert_eq!(seen.problem("incomplete-head")["count"], 1);
}

#[test]
fn a_body_that_ends_as_lost_before_its_first_chunk_makes_its_exchange_unverified() {
    let lost = watch().server_lost(100).server_fin().client_acks();
    let seen = lost.report();
    assert_eq!(seen.exchanges()[0].end(), "lost");
    assert_eq!(seen.exchanges()[0]["verdict"], "unverified");
    assert_eq!(seen.status, 1);
    // Nothing is left that was checked.
    assert_eq!(lost.args(&["--allow", "gaps"]).report().status, 3);
}

#[test]
fn a_body_is_open_where_the_capture_ends_first() {
    let exchange = watch().chunk(event("a")).exchange();
    assert_eq!((exchange.end(), exchange["verdict"].as_str()), ("open", Some("pass")));
}

#[test]
fn a_client_that_leaves_aborts_the_body_and_violates_nothing() {
    for talk in [
        watch().chunk(event("a")).client_fin(),
        watch().chunk(event("a")).client_rst(),
        watch().chunk(event("a")).server("ff\r\nhalf").client_fin().server_fin(),
    ] {
        let seen = talk.report();
        assert_eq!(seen.exchanges()[0].end(), "aborted");
        assert_eq!(seen.status, 0);
    }
}

#[test]
fn where_only_the_servers_side_was_captured_its_answer_to_a_fin_accuses_nobody() {
    let servers = |mut talk: Talk| {
        let server = talk.sent[1].source;
        talk.sent.retain(|one| one.source == server);
        talk.exchange()
    };
    let left = servers(watch().chunk(event("a")).client_fin().server_fin());
    assert_eq!((left.end(), left.violations()), ("aborted", vec![]));
    let stopped = servers(watch().chunk(event("a")).server_fin());
    assert_eq!((stopped.end(), stopped.violations().len()), ("truncated", 1));
}

#[test]
fn octets_that_come_behind_the_clients_fin_are_read_all_the_same() {
    let exchange =
        watch().chunk(event("a")).client_fin().chunk(event("b")).server(LAST).server_fin().exchange();
    assert_eq!(exchange.end(), "complete");
    assert_eq!(exchange.verdicts(), ["one", "one"]);
}

#[test]
fn legal_framing_is_read_without_remark() {
    let a = event("a");
    let exchange = |size: &str, trailer: &str| {
        let seen = watch().server(format!("{size}\r\n{a}\r\n0000\r\n{trailer}\r\n")).report();
        assert!(seen.problems().is_empty(), "{size}: {:?}", seen.problems());
        assert_eq!(seen.status, 0, "{size}");
        seen.exchanges().remove(0)
    };
    let len = a.len();
    for size in [
        format!("{len:06x}"),
        format!("{len:X}"),
        format!("{len:x};a=b"),
        format!("{len:x} ; a = \"b;\\\"\""),
    ] {
        let size = size.as_str();
        exchange(size, "");
    }
    let read = exchange(&format!("{len:x};name=\"quoted; text\""), "Expires: 0\r\nX:\r\n");
    assert_eq!(read.chunks()[0]["extensions"], ";name=\"quoted; text\"");
    assert_eq!(read.body()["trailers"], json!([["Expires", "0"], ["X", ""]]));
    assert_eq!(read.body()["last_chunk"]["size_hex"], "0000");
}

#[test]
fn the_size_is_the_literal_on_the_wire() {
    let exchange =
        stream_of("text/plain").server("000003\r\nabc\r\n").server("A;x=1\r\n0123456789\r\n").exchange();
    let chunks = exchange.chunks();
    assert_eq!(
        (&chunks[0]["size_hex"], &chunks[0]["size"], &chunks[0]["extensions"]),
        (&json!("000003"), &json!(3), &json!(null))
    );
    assert_eq!(
        (&chunks[1]["size_hex"], &chunks[1]["size"], &chunks[1]["extensions"]),
        (&json!("A"), &json!(10), &json!(";x=1"))
    );
}

/// A response that a lenient receiver reads.
#[track_caller]
fn lenient(response: &str, rule: &str) {
    let seen = talk().client(REQUEST).server(response).report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange.verdicts(), ["unchecked"], "{rule}");
    assert_eq!(exchange.end(), "complete", "{rule}");
    let problem = seen.problem("lenient-framing");
    assert!(problem["message"].as_str().unwrap().contains(rule), "{problem}");
    assert_eq!(problem["frame"], 5);
    assert!(exchange.violations().is_empty(), "{rule}");
}

#[test]
fn white_space_between_size_and_line_end_is_read_with_a_problem() {
    lenient(
        "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3 \t\r\nabc\r\n0\r\n\r\n",
        "white space between a chunk size",
    );
}

#[test]
fn bare_lf_is_read_with_a_problem() {
    lenient(
        "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\n0\n\n",
        "bare LF as a line end in chunk framing",
    );
    lenient(
        "HTTP/1.1 404 No\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n",
        "bare LF as a line end in a head",
    );
}

#[test]
fn chunked_given_twice_is_read_with_a_problem() {
    for fields in
        ["Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: Chunked"]
    {
        lenient(&format!("HTTP/1.1 404 No\r\n{fields}\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), "given twice");
    }
}

#[test]
fn transfer_encoding_wins_over_content_length_with_a_problem() {
    lenient(
        "HTTP/1.1 404 No\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "both Transfer-Encoding and Content-Length",
    );
}

#[test]
fn obs_fold_and_white_space_before_a_colon_are_read_with_a_problem() {
    lenient(
        "HTTP/1.1 404 No\r\nX: a\r\n  b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "folded",
    );
    lenient(
        "HTTP/1.1 404 No\r\nTransfer-Encoding : chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "before a field's colon",
    );
}

#[test]
fn blank_lines_before_a_start_line_are_read_with_a_problem() {
    lenient(
        "\r\n\r\nHTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "blank line",
    );
    let exchange = talk().client(format!("\r\n{REQUEST}")).server(HEAD).chunk(event("a")).exchange();
    assert_eq!(exchange["request"]["method"], "GET");
}

#[test]
fn a_size_line_that_is_no_size_breaks_the_body() {
    let long = format!("1;{}", "x".repeat(4096));
    for line in ["", "0x2", "-0", "5 0", "1_0", "12g", " 5", "+5", "11112222333344445", ";x", &long] {
        let seen = watch().chunk(event("a")).server(format!("{line}\r\n")).server("hello\r\n").report();
        let exchange = &seen.exchanges()[0];
        assert_eq!(exchange.end(), "broken", "{line:.20}");
        assert_eq!(exchange.violations(), [("bad-framing".to_owned(), None)], "{line:.20}");
        assert_eq!(exchange["violations"][0]["frame"], 7, "{line:.20}");
        assert_eq!(seen.status, 1);
    }
}

#[test]
fn sixteen_significant_digits_are_a_size() {
    let exchange = watch().server("000ffffffffffffffff\r\nx").exchange();
    assert_eq!(exchange.chunks()[0]["size"], u64::MAX);
    assert_eq!(exchange.end(), "open");
}

#[test]
fn a_bare_lf_behind_a_payload_will_do_only_where_its_size_line_ended_in_one() {
    assert_eq!(watch().server("3\r\nabc\n0\r\n\r\n").exchange().end(), "broken");
    assert_eq!(watch().server("3\nabc\n0\n\n").exchange().end(), "complete");
}

#[test]
fn a_response_whose_last_coding_is_not_chunked_is_read_to_the_close_with_a_problem() {
    let seen = talk()
        .client("GET / HTTP/1.1\r\n\r\n")
        .server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n3\r\nabc\r\n")
        .server_fin()
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!((&exchange.body()["framing"], exchange.end()), (&json!("close"), "complete"));
    assert!(seen.problem("lenient-framing")["message"].as_str().unwrap().contains("chunked"));
}

#[test]
fn a_request_whose_last_coding_is_not_chunked_is_broken() {
    let seen = talk().client("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\nabc").report();
    let exchange = &seen.exchanges()[0];
    assert_eq!(exchange["request"]["body"]["end"], "broken");
    assert_eq!(exchange.violations(), [("bad-framing".to_owned(), None)]);
    assert_eq!(seen.status, 1);
}

#[test]
fn framing_and_cut_bodies_are_checked_in_requests_too() {
    let seen = talk().client("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n").report();
    assert_eq!(seen.exchanges()[0].violations(), [("bad-framing".to_owned(), Some(1))]);
    assert_eq!(seen.exchanges()[0]["verdict"], "fail");
    assert_eq!(seen.status, 1);
    let cut = talk()
        .client("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        .client_fin()
        .report();
    assert_eq!(cut.exchanges()[0]["request"]["body"]["end"], "truncated");
    assert_eq!(cut.exchanges()[0].violations(), [("truncated-body".to_owned(), None)]);
    let aborted = talk()
        .client("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        .server_rst()
        .report();
    assert_eq!(aborted.exchanges()[0]["request"]["body"]["end"], "aborted");
    assert_eq!(aborted.status, 3);
}

#[test]
fn a_watch_that_is_not_chunked_is_reported_as_such_and_unchecked() {
    let a = event("a");
    let seen = talk()
        .client(REQUEST)
        .server(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{a}",
            a.len()
        ))
        .report();
    let exchange = &seen.exchanges()[0];
    assert_eq!((&exchange["expect"], &exchange["verdict"]), (&json!("watch"), &json!("unchecked")));
    assert_eq!(exchange.body()["chunks"], json!([]));
    assert_eq!(seen.status, 3);
}
