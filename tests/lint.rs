//! `--lint`: what a watch says that no correct server says, how it ended, and
//! what clients that connected again may have missed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, dead_code)]

#[path = "support/schema.rs"]
mod schema;
#[path = "support/segments.rs"]
mod segments;
#[path = "contract/talk.rs"]
mod talk;

use chunkscope::limits::Limits;
use chunkscope::lint::{Code, Linter};
use serde_json::{Value, json};

use talk::*;

/// A watch event with its LF.
fn change(word: &str, name: &str, version: &str) -> String {
    format!(
        "{{\"type\":\"{word}\",\"object\":{{\"kind\":\"Pod\",\"metadata\":{{\"namespace\":\"d\",\"name\":\"{name}\",\
         \"resourceVersion\":\"{version}\"}}}}}}\n"
    )
}

fn bookmark(version: &str, end: bool) -> String {
    let end = if end { ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" } else { "" };
    format!(
        "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"Pod\",\"metadata\":{{\"resourceVersion\":\"{version}\"{end}}}}}}}\n"
    )
}

fn expired() -> String {
    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"too old resource version: 1 (2)\",\
     \"reason\":\"Expired\",\"code\":410}}\n"
        .to_owned()
}

fn get(query: &str) -> String {
    format!("GET /api/v1/pods{query} HTTP/1.1\r\nHost: api\r\n\r\n")
}

/// A watch that was asked for with this query, and its events.
fn asked(query: &str, events: &[String]) -> Talk {
    events.iter().fold(talk().client(get(query)).server(HEAD), |talk, event| talk.chunk(event))
}

const RESUMED: &str = "?watch=1&resourceVersion=10&allowWatchBookmarks=true";

/// Each finding as its code, chunk and event, of all exchanges; how the watch
/// ended is left out.
fn found(talk: &Talk) -> Vec<(String, Option<u64>, Option<u64>)> {
    lints(talk)
        .iter()
        .map(|lint| {
            (lint["code"].as_str().unwrap().to_owned(), lint["chunk"].as_u64(), lint["event"].as_u64())
        })
        .filter(|(code, ..)| !code.starts_with("watch-ended-"))
        .collect()
}

fn lints(talk: &Talk) -> Vec<Value> {
    let seen = talk.clone().args(&["--lint", "--allow", "gaps"]).report();
    let exchanges = seen.exchanges();
    exchanges.iter().flat_map(|exchange| exchange["lints"].as_array().unwrap().clone()).collect()
}

/// How the watch ended.
fn ended(talk: &Talk) -> Vec<String> {
    let codes = lints(talk).iter().map(|lint| lint["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    codes.into_iter().filter(|code| code.starts_with("watch-ended-")).collect()
}

fn one(code: &str, place: u64) -> Vec<(String, Option<u64>, Option<u64>)> {
    vec![(code.to_owned(), Some(place), Some(place))]
}

#[test]
fn a_watch_in_order_has_no_finding() {
    let events = [
        change("ADDED", "a", "11"),
        change("MODIFIED", "a", "12"),
        bookmark("12", false),
        bookmark("100", false),
        change("DELETED", "a", "101"),
        change("ADDED", "a", "102"),
        change("MODIFIED", "b", "99999999999999999999999999"),
        change("MODIFIED", "b", "100000000000000000000000000"),
    ];
    assert_eq!(found(&asked(RESUMED, &events)), []);
}

#[test]
fn versions_rise_as_numbers_bookmarks_included() {
    let regression = one("watch-rv-regression", 2);
    assert_eq!(
        found(&asked(RESUMED, &[change("ADDED", "a", "100"), change("ADDED", "b", "99")])),
        regression
    );
    assert_eq!(found(&asked(RESUMED, &[change("ADDED", "a", "100"), bookmark("99", false)])), regression);
    assert_eq!(
        found(&asked(RESUMED, &[change("ADDED", "a", "9")])),
        one("watch-rv-regression", 1),
        "lower than what the request resumes from"
    );
    assert_eq!(found(&asked(RESUMED, &[change("ADDED", "a", "x9"), change("ADDED", "b", "x8")])), []);
    let repeated = [change("MODIFIED", "a", "11"), change("MODIFIED", "a", "11")];
    assert_eq!(found(&asked(RESUMED, &repeated)), one("watch-event-repeated", 2));
}

#[test]
fn what_existed_already_comes_in_any_order() {
    let state = [change("ADDED", "a", "50"), change("ADDED", "b", "7"), change("MODIFIED", "a", "51")];
    for query in ["?watch=1", "?watch=1&resourceVersion=0", "?watch=1&resourceVersion="] {
        assert_eq!(found(&asked(query, &state)), [], "{query}");
    }
    let late = [change("ADDED", "a", "50"), change("MODIFIED", "a", "51"), change("ADDED", "b", "7")];
    assert_eq!(found(&asked("?watch=1", &late)), one("watch-rv-regression", 3));
}

#[test]
fn objects_are_added_once_until_they_are_deleted() {
    let twice = [change("ADDED", "a", "11"), change("ADDED", "a", "12")];
    assert_eq!(found(&asked(RESUMED, &twice)), one("watch-added-twice", 2));
    for word in ["MODIFIED", "DELETED"] {
        let after = [change("DELETED", "a", "11"), change(word, "a", "12")];
        assert_eq!(found(&asked(RESUMED, &after)), one("watch-event-after-deleted", 2));
    }
    let other = [change("ADDED", "a", "11"), change("ADDED", "b", "12"), change("DELETED", "a", "13")];
    assert_eq!(found(&asked(RESUMED, &other)), []);
}

#[test]
fn nothing_is_said_of_objects_whose_events_the_capture_lost() {
    let lost = chunk(change("DELETED", "a", "12"));
    let talk = asked(RESUMED, &[change("ADDED", "a", "11")])
        .server(&lost[..30])
        .server_lost(20)
        .server(&lost[50..])
        .chunk(change("ADDED", "a", "13"));
    assert_eq!(found(&talk), []);
    let regression = talk.chunk(change("MODIFIED", "a", "5"));
    assert_eq!(found(&regression)[0].0, "watch-rv-regression", "versions rise all the same");
}

#[test]
fn bookmarks_come_where_they_are_asked_for() {
    let plain = "?watch=1&resourceVersion=10";
    let codes = |query: &str, events: &[String]| -> Vec<String> {
        found(&asked(query, events).server(LAST)).into_iter().map(|(code, ..)| code).collect()
    };
    assert_eq!(codes(plain, &[bookmark("11", false), bookmark("12", false)]), ["watch-bookmark-unasked"]);
    let initial =
        "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    let state = [change("ADDED", "b", "9"), change("ADDED", "a", "5")];
    let ends = [&state[..], &[bookmark("9", true), change("MODIFIED", "a", "10")]].concat();
    assert_eq!(codes(initial, &ends), [""; 0]);
    assert_eq!(codes(initial, &state), ["watch-bookmark-end-missing"]);
    let twice = [&ends[..], &[bookmark("11", true)]].concat();
    assert_eq!(codes(initial, &twice), ["watch-bookmark-end-repeated"]);
    assert_eq!(codes(RESUMED, &[bookmark("11", true)]), ["watch-bookmark-end-unasked"]);
    let open = asked(initial, &state);
    assert_eq!(found(&open), [], "it may still come");
}

#[test]
fn four_hundred_and_ten_is_known_in_its_three_shapes() {
    let event = asked(RESUMED, &[expired()]).server(LAST);
    assert_eq!(found(&event), one("watch-expired", 1));
    assert_eq!(ended(&event), ["watch-ended-error"]);
    let gone = "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n";
    for (query, says) in [
        (RESUMED, "answered the watch with 410"),
        ("?limit=5&continue=abc", "the continue token is too old"),
        ("?resourceVersion=1&resourceVersionMatch=Exact", "answered the list with 410"),
    ] {
        let talk = talk().client(get(query)).server(gone);
        let lints = lints(&talk);
        assert_eq!(lints.len(), 1, "{query}");
        assert_eq!((&lints[0]["code"], &lints[0]["frame"]), (&json!("watch-expired"), &json!(5)));
        assert!(lints[0]["message"].as_str().unwrap().contains(says), "{}", lints[0]);
    }
    let elsewhere = talk().client("GET /old HTTP/1.1\r\nHost: x\r\n\r\n").server(gone);
    assert!(lints(&elsewhere).is_empty());
}

/// A watch that its client left after these events, then what the client does
/// next, on a connection of its own.
fn again(first: &str, events: &[String], then: &[(&str, &str)]) -> Vec<String> {
    let mut talk = asked(first, events).client_fin();
    for (query, head) in then {
        talk = talk.anew().handshake().client(get(query)).server(head).client_fin();
    }
    found(&talk).into_iter().map(|(code, ..)| code).collect()
}

#[test]
fn what_a_client_that_comes_again_may_have_missed_is_said() {
    let events = [change("ADDED", "a", "11"), bookmark("20", false)];
    let list = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    let from = |version: &str| {
        format!("?timeoutSeconds=9&watch=1&allowWatchBookmarks=true&resourceVersion={version}")
    };
    let resumed = |version: &str| again(RESUMED, &events, &[(&from(version), HEAD)]);
    assert_eq!(resumed("20"), [""; 0], "from where it had been, the bookmark counted");
    assert_eq!(resumed("25"), ["watch-reconnect-gap"]);
    assert_eq!(resumed("11"), ["watch-reconnect-replay"]);
    assert_eq!(resumed("0"), ["watch-reconnect-gap"]);
    assert_eq!(resumed("&sendInitialEvents=true"), [""; 0], "its state is replaced");
    assert_eq!(again(RESUMED, &events, &[("", list), (&from("25"), HEAD)]), [""; 0], "it listed between");
    let other = format!("{}&labelSelector=a", from("25"));
    assert_eq!(again(RESUMED, &events, &[(&other, HEAD)]), [""; 0], "it watches something else");
    let expired = [expired()];
    assert_eq!(
        again(RESUMED, &expired, &[(&from("10"), HEAD)]),
        ["watch-expired", "watch-reconnect-expired"]
    );
}

#[test]
fn a_second_watch_beside_an_open_one_is_no_reconnection() {
    let first = asked(RESUMED, &[change("ADDED", "a", "20")]);
    let mut second = asked("?watch=1&resourceVersion=30", &[]);
    second = second.between("10.0.0.1:40001", "10.0.0.2:8001");
    let mut both = first.clone();
    both.sent.extend(second.sent);
    assert_eq!(found(&both), []);
}

#[test]
fn why_a_watch_ended_is_said() {
    let events = [change("ADDED", "a", "11")];
    let watch = |query: &str| asked(query, &events);
    assert_eq!(ended(&watch("?watch=1&timeoutSeconds=1").server(LAST)), ["watch-ended-timeout"]);
    assert_eq!(ended(&watch("?watch=1&timeoutSeconds=30").server(LAST)), ["watch-ended-early"]);
    assert_eq!(ended(&watch("?watch=1").server(LAST)), ["watch-ended-early"]);
    assert_eq!(ended(&watch("?watch=1").client_fin()), ["watch-ended-abort"]);
    assert_eq!(ended(&watch("?watch=1").server_rst()), ["watch-ended-server-gone"]);
    assert_eq!(ended(&watch("?watch=1").server("zz\r\n")), ["watch-ended-broken"]);
    assert_eq!(ended(&watch("?watch=1")), [""; 0], "the capture ends first");
}

#[test]
fn findings_fail_the_check_only_where_they_are_denied() {
    let talk = asked(RESUMED, &[change("ADDED", "a", "11"), change("ADDED", "a", "12")]).client_fin();
    let status = |args: &[&str]| talk.clone().args(args).report().status;
    assert_eq!(status(&[]), 0);
    assert_eq!(status(&["--lint"]), 0);
    assert_eq!(status(&["--deny", "watch-rv-regression,watch-ended-error"]), 0);
    assert_eq!(status(&["--lint", "--deny", "watch-added-twice"]), 1);
    assert_eq!(status(&["--deny=watch-rv-regression", "--deny=watch-ended-abort"]), 1);
    let (_, messages, status) = call(b"", &["--deny", "watch-nonsense", "-"]);
    assert!(status == 2 && messages.contains("invalid value 'watch-nonsense'"), "{messages}");

    let seen = talk.clone().args(&["--deny", "watch-added-twice"]).report();
    let exchange = &seen.exchanges()[0];
    assert_eq!((&seen.report["verdict"], &exchange["verdict"]), (&json!("fail"), &json!("fail")));
    assert_eq!(exchange["violations"], json!([]), "the chunks are as they should be");
    let denied = exchange["lints"].as_array().unwrap().iter().map(|lint| lint["denied"].clone());
    assert_eq!(denied.collect::<Vec<_>>(), [json!(true), json!(false)]);
    assert_eq!(talk.report().exchanges()[0]["lints"], json!([]));
}

#[test]
fn every_report_tells_of_findings() {
    let talk = asked(RESUMED, &[change("ADDED", "a", "11"), change("ADDED", "a", "12")]).client_fin();
    let out = |args: &[&str]| String::from_utf8(call(&talk.capture(), args).0).unwrap();
    for format in ["table", "walkthrough"] {
        let text = out(&["--deny", "watch-added-twice", "-f", format, "-"]);
        assert!(
            text.contains("✗ lint watch-added-twice (event 2, chunk 2, frame 7): Pod d/a is ADDED"),
            "{text}"
        );
        assert!(text.contains("lint watch-ended-abort (frame 8): the client closed"), "{text}");
        assert!(text.contains("fail: 1 denied finding"), "{text}");
    }
    let lines = out(&["--lint", "-f", "jsonl", "-"]);
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lints: Vec<_> = records.iter().filter(|record| record["record"] == "lint").collect();
    assert_eq!((lints.len(), &lints[0]["code"]), (2, &json!("watch-added-twice")));
    assert_eq!(
        (&lints[0]["stream"], &lints[0]["exchange"], &lints[0]["frame"]),
        (&json!(0), &json!(0), &json!(7))
    );
    let end = records.iter().find(|record| record["record"] == "end").unwrap();
    assert_eq!(end["lints"], 2);
    let status = call(&talk.capture(), &["-q", "--deny", "watch-added-twice", "-"]).2;
    assert_eq!(status, 1, "without any report too");
}

#[test]
fn under_raw_events_are_followed_all_the_same() {
    let mut body = HEAD.as_bytes().to_vec();
    for event in [change("ADDED", "a", "11"), change("MODIFIED", "a", "12"), change("ADDED", "a", "13")] {
        body.extend(chunk(event));
    }
    let seen = run(&body, &["--raw", "--lint"]);
    let lints = seen.exchanges()[0]["lints"].clone();
    assert_eq!((&lints[0]["code"], &lints[0]["frame"]), (&json!("watch-added-twice"), &Value::Null));
}

#[test]
fn crossing_a_limit_is_said_once() {
    let mut limits = Limits::default();
    limits.lint_objects = 2;
    let events: Vec<String> =
        (0..5).map(|n| change("ADDED", &format!("o{n}"), &format!("{}", n + 11))).collect();
    let options = chunkscope::pipeline::options::Options {
        lint: Some(Vec::new()),
        summaries: true,
        limits,
        ..Default::default()
    };
    struct Codes(Vec<Code>);
    impl chunkscope::report::Report for Codes {
        fn finding(&mut self, finding: &chunkscope::report::Finding<'_>) -> std::io::Result<()> {
            if let chunkscope::report::Finding::Lint(lint) = finding {
                self.0.push(lint.code);
            }
            Ok(())
        }

        fn finish(&mut self, _: &chunkscope::report::Conclusion) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut codes = Codes(Vec::new());
    let mut analysis = chunkscope::pipeline::Analysis::new(&options, &mut codes);
    analysis.capture("x", asked(RESUMED, &events).capture().as_slice()).unwrap();
    analysis.conclude(false).unwrap();
    assert_eq!(codes.0, [Code::Limit]);
    let _ = Linter::new(&[], &options.limits);
}

#[test]
fn real_watches_have_no_finding_but_how_they_ended() {
    let mut ended = 0;
    for entry in std::fs::read_dir("testdata").unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.contains(".pcap") || name == "gone-410.pcap" {
            continue;
        }
        let seen = run_on(&[&path], &["--lint", "--payload", "none"]);
        for exchange in seen.exchanges() {
            for lint in exchange["lints"].as_array().unwrap() {
                assert!(lint["code"].as_str().unwrap().starts_with("watch-ended-"), "{name}: {lint}");
                ended += 1;
            }
        }
    }
    assert!(ended > 15);
}

#[test]
fn every_code_is_documented() {
    let page = std::fs::read_to_string("docs/lint.md").unwrap();
    for code in Code::ALL {
        assert!(page.contains(&format!("| `{}` |", code.name())), "{}", code.name());
    }
}
