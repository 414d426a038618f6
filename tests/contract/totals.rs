//! Contract §4, "Totals", and §1, "Exit status" and `--allow`.

use crate::talk::*;

fn lossy() -> Talk {
    watch().chunk(event("a")).server("8\r\n").server_lost(8).server("\r\n").client_acks().chunk(event("b"))
}

#[test]
fn the_summary_counts_exchanges_checked_ones_and_chunks_of_responses() {
    let seen = talk()
        .client("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        .server(format!("{}1\r\nx\r\n{LAST}", head("text/plain")))
        .client(REQUEST)
        .server(HEAD)
        .chunk(event("a"))
        .chunk(format!("{}{}", event("b"), event("c")))
        .server(LAST)
        .report();
    let count = |member| seen.summary(member);
    assert_eq!((count("captures"), count("packets"), count("streams")), (1, 10, 1));
    assert_eq!((count("exchanges"), count("checked"), count("chunks"), count("events")), (2, 1, 3, 3));
    assert_eq!((count("violations"), count("unverified")), (1, 0));
    assert_eq!(seen.exchanges()[0]["request"]["body"]["chunks"].as_array().unwrap().len(), 2);
}

#[test]
fn there_is_one_violation_for_each_failed_chunk() {
    let a = event("a");
    let exchange =
        watch().chunk(format!("oops{a}")).chunk(format!("{a}{a}")).chunk("[{}").server(LAST).exchange();
    let chunks: Vec<_> = exchange.violations().into_iter().map(|(_, chunk)| chunk).collect();
    assert_eq!(chunks, [Some(1), Some(2), Some(3)]);
}

#[test]
fn what_is_allowed_is_no_violation_and_the_verdict_still_says_it() {
    let a = event("a");
    let several = || watch().chunk(format!("{a}{a}"));
    let part = || watch().chunk(&a[..9]).chunk(&a[9..]);
    let mixed = || watch().chunk(format!("{a}{}", &a[..9])).chunk(&a[9..]);
    assert_eq!(several().report().status, 1);
    for (talk, allow, verdict) in
        [(several(), "several", "several"), (part(), "part", "part"), (mixed(), "mixed,part", "mixed")]
    {
        let seen = talk.args(&["--allow", allow]).report();
        assert_eq!((seen.status, seen.summary("violations")), (0, 0), "{allow}");
        assert_eq!(seen.exchanges()[0].verdicts()[0], verdict);
        assert_eq!(seen.report["verdict"], "pass");
    }
    assert_eq!(mixed().args(&["--allow", "several"]).args(&["--allow", "mixed"]).report().status, 1);
    assert_eq!(mixed().args(&["--allow", "part"]).args(&["--allow", "mixed"]).report().status, 0);
}

#[test]
fn an_event_stream_without_any_finished_chunk_is_nothing_to_check() {
    for talk in [watch(), watch().server(LAST), watch().server("ff\r\nhalf"), watch().client_fin()] {
        let seen = talk.report();
        assert_eq!(seen.status, 3);
        assert_eq!(seen.report["verdict"], "empty");
    }
}

#[test]
fn one_whose_chunks_are_all_unverified_is_nothing_to_check_under_allow_gaps() {
    let all = watch().server("8\r\n").server_lost(8).server("\r\n0\r\n\r\n").client_acks();
    assert_eq!(all.report().status, 1);
    let allowed = all.args(&["--allow", "gaps"]).report();
    assert_eq!((allowed.status, allowed.report["verdict"].as_str()), (3, Some("empty")));
    assert_eq!(allowed.summary("unverified"), 1);
}

#[test]
fn any_unverified_chunk_fails_without_allow_gaps() {
    assert_eq!(lossy().report().status, 1);
    assert_eq!(lossy().report().summary("unverified"), 1);
    assert_eq!(lossy().report().report["verdict"], "fail");
    assert_eq!(lossy().args(&["--allow", "gaps"]).report().status, 0);
    let joined = midstream().chunk("tail\n").chunk(event("a"));
    assert_eq!(joined.report().status, 1);
    assert_eq!(joined.args(&["--allow", "gaps"]).report().status, 0);
}

#[test]
fn allow_gaps_excuses_no_other_fault() {
    assert_eq!(lossy().chunk("oops").args(&["--allow", "gaps"]).report().status, 1);
}

#[test]
fn allow_nothing_changes_the_status_and_not_the_verdict() {
    let seen = stream_of("text/plain").chunk("x").args(&["--allow", "nothing"]).report();
    assert_eq!((seen.status, seen.report["verdict"].as_str()), (0, Some("empty")));
    assert_eq!(run(b"garbage, and more of it than a header has", &["--allow", "nothing"]).status, 2);
}

#[test]
fn of_several_captures_an_unreadable_one_decides_then_a_failed_one_then_nothing() {
    let good = file("good.pcap", &watch().chunk(event("a")).capture());
    let bad = file("bad.pcap", &watch().chunk("oops").capture());
    let empty = file("empty.pcap", &stream_of("text/plain").chunk("x").capture());
    let garbage = file("garbage.pcap", b"nothing that anybody recorded with tcpdump");
    let status = |files: &[&std::path::PathBuf]| run_on(files, &[]).status;
    assert_eq!(status(&[&garbage, &bad, &good]), 2);
    assert_eq!(status(&[&good, &bad, &empty]), 1);
    assert_eq!(status(&[&empty, &empty]), 3);
    assert_eq!(status(&[&empty, &good]), 0);
    // The others are still analysed and reported.
    let seen = run_on(&[&garbage, &good], &[]);
    assert_eq!((seen.summary("captures"), seen.summary("checked")), (2, 1));
    assert_eq!(seen.report["verdict"], "fail");
}

#[test]
fn a_capture_that_breaks_off_with_an_error_is_reported_up_to_there() {
    let mut capture = watch().chunk(event("a")).capture();
    capture.extend([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f]);
    capture.extend(vec![0xaa; 600]);
    let seen = run(&capture, &[]);
    assert_eq!(seen.exchanges()[0].verdicts(), ["one"]);
}
