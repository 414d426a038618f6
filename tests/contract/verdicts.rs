//! Contract §2, "A chunk's verdict".

use crate::talk::*;

#[test]
fn the_verdicts_of_chunks_with_all_their_octets() {
    let (a, b, c) = (event("a"), event("b"), event("c"));
    let exchange = watch()
        .chunk(&a)
        .chunk(format!("{a}{b}"))
        .chunk(&a[..9])
        .chunk(&a[9..20])
        .chunk(format!("{}{b}{}", &a[20..], &c[..5]))
        .chunk(&c[5..])
        .chunk("oops")
        .server(LAST)
        .exchange();
    assert_eq!(exchange.verdicts(), ["one", "several", "part", "part", "mixed", "part", "invalid"]);
    let codes: Vec<_> = exchange.violations().into_iter().map(|(code, _)| code).collect();
    assert_eq!(
        codes,
        ["several-events", "partial-event", "partial-event", "mixed-events", "partial-event", "not-an-event"]
    );
    assert_eq!(exchange["verdict"], "fail");
}

#[test]
fn white_space_beside_an_event_decides_no_verdict_wherever_a_chunk_edge_cuts_it() {
    let (a, b) = (event("a"), event("b"));
    let exchange = watch()
        .chunk(a.trim_end())
        .chunk(format!("\n{b}"))
        .chunk(format!(" \r\n\t{a}"))
        .server(LAST)
        .exchange();
    assert_eq!(exchange.verdicts(), ["one", "one", "one"]);
    assert_eq!(exchange.events()[1]["offset"], a.len());
}

#[test]
fn the_end_of_one_event_and_the_white_space_behind_it_are_a_part() {
    let a = event("a");
    assert_eq!(watch().chunk(&a[..9]).chunk(&a[9..]).exchange().verdicts(), ["part", "part"]);
    // Two events, none whole, in one chunk: mixed.
    let b = event("b");
    let exchange = watch().chunk(&a[..9]).chunk(format!("{}{}", &a[9..], &b[..9])).chunk(&b[9..]).exchange();
    assert_eq!(exchange.verdicts(), ["part", "mixed", "part"]);
}

#[test]
fn white_space_alone_is_invalid() {
    let exchange = watch().chunk(event("a").trim_end()).chunk("\n").server(LAST).exchange();
    assert_eq!(exchange.verdicts(), ["one", "invalid"]);
    let message = exchange["violations"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("white space alone"), "{message}");
}

#[test]
fn invalid_says_why_and_at_which_octet() {
    let exchange = watch().chunk("{\"type\": ADDED}").server(LAST).exchange();
    let message = exchange["violations"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("octet 9"), "{message}");
}

#[test]
fn a_chunk_that_is_unfinished_is_judged_by_no_rule() {
    for talk in [
        watch().server("ff\r\noops"),
        watch().server("ff\r\noops").client_fin(),
        watch().server("ff\r\noops").server_fin(),
    ] {
        let exchange = talk.exchange();
        assert_eq!(exchange.verdicts(), ["unchecked"]);
        assert!(exchange.chunks()[0]["received"].as_u64() < exchange.chunks()[0]["size"].as_u64());
    }
}

#[test]
fn an_exchange_fails_before_it_is_unverified_and_is_unverified_before_it_passes() {
    let lossy = || watch().chunk(event("a")).server("8\r\n").server_lost(8).server("\r\n").client_acks();
    assert_eq!(lossy().exchange()["verdict"], "unverified");
    assert_eq!(lossy().chunk(event("b")).chunk("oops").exchange()["verdict"], "fail");
    assert_eq!(watch().chunk(event("a")).exchange()["verdict"], "pass");
    assert_eq!(watch().server(LAST).exchange()["verdict"], "unchecked");
    assert_eq!(watch().chunk(event("a")).server_fin().exchange()["verdict"], "fail");
}

#[test]
fn an_exchange_whose_findings_are_all_allowed_passes() {
    let a = event("a");
    let exchange = watch()
        .chunk(format!("{a}{a}"))
        .chunk(&a[..9])
        .chunk(&a[9..])
        .args(&["--allow", "several,part"])
        .exchange();
    assert_eq!(exchange["verdict"], "pass");
    assert_eq!(exchange.verdicts(), ["several", "part", "part"]);
}
