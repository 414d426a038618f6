//! Contract §1, "Command line", and §3, the formats.

use serde_json::{Value, json};

use crate::talk::*;

/// The lines of a jsonl report.
fn lines(talk: &Talk, args: &[&str]) -> Vec<Value> {
    let all: Vec<&str> = ["-f", "jsonl", "-"].iter().chain(args).copied().collect();
    let (stdout, ..) = call(&talk.capture(), &all);
    String::from_utf8(stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn filters_select_before_anything_is_counted_or_judged() {
    let talk = || watch().chunk("oops");
    for args in [["--stream", "1"], ["--port", "8002"], ["--host", "10.0.0.3"], ["--target", "nodes"]] {
        let seen = talk().args(&args).report();
        assert_eq!(
            (seen.status, seen.summary("exchanges"), seen.summary("violations")),
            (3, 0, 0),
            "{args:?}"
        );
    }
    for args in [["--stream", "0"], ["--port", "40000"], ["--host", "10.0.0.2"], ["--target", "po.s"]] {
        assert_eq!(talk().args(&args).report().status, 1, "{args:?}");
    }
}

#[test]
fn payload_is_null_under_none_and_cut_under_preview() {
    let text = "\u{e9}".repeat(200);
    let talk = || stream_of("text/plain").chunk(&text).chunk("short").server(LAST);
    let none = talk().args(&["--payload", "none"]).exchange();
    assert!(none.chunks()[0]["payload"].is_null());
    let preview = talk().args(&["--payload", "preview"]).exchange().chunks();
    assert_eq!(preview[0]["payload"], "\u{e9}".repeat(120));
    assert_eq!((&preview[0]["payload_cut"], &preview[1]["payload"]), (&json!(true), &json!("short")));
    assert_ne!(preview[1]["payload_cut"], json!(true));
    assert_eq!(talk().exchange().chunks()[0]["payload"], text.as_str());
}

#[test]
fn the_report_has_the_members_of_the_contract() {
    let seen = watch().chunk(event("a")).server(LAST).report();
    assert_eq!(seen.report["schema"], "chunkscope.report/1");
    assert_eq!(seen.report["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(seen.report["verdict"], "pass");
    let capture = seen.capture();
    assert_eq!((&capture["path"], &capture["format"]), (&json!("-"), &json!("pcap")));
    assert_eq!(capture["link_types"], json!(["RAW"]));
    assert_eq!(capture["first_time"], "2023-11-14T22:13:20.001000Z");
    assert_eq!(capture["last_time"], "2023-11-14T22:13:20.007000Z");
    assert_eq!(capture["other_streams"], json!([]));
}

#[test]
fn jsonl_is_the_same_information_as_a_stream() {
    let talk = watch().chunk(format!("{}{}", event("a"), event("b"))).chunk(event("c")).server(LAST);
    let records = lines(&talk, &[]);
    let kinds: Vec<_> = records.iter().map(|line| line["record"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "capture",
            "exchange",
            "event",
            "event",
            "chunk",
            "violation",
            "event",
            "chunk",
            "end",
            "capture_end",
            "summary"
        ]
    );
    for line in records.iter().filter(|line| line["record"] == "chunk" || line["record"] == "event") {
        assert_eq!(
            (&line["capture"], &line["stream"], &line["exchange"]),
            (&json!("-"), &json!(0), &json!(0))
        );
    }
    let report = talk.report();
    let exchange = &report.exchanges()[0];
    let chunks: Vec<_> = records.iter().filter(|line| line["record"] == "chunk").collect();
    for (line, part) in chunks.iter().zip(exchange.chunks()) {
        for (member, value) in part.as_object().unwrap() {
            assert_eq!(&line[member], value, "{member}");
        }
    }
    assert_eq!(records.last().unwrap()["verdict"], "fail");
}

#[test]
fn csv_has_a_row_a_chunk() {
    let a = event("a");
    let talk = watch().chunk(format!("{a}{a}")).chunk("comma, \"quote\"\r\nline").server(LAST);
    let (stdout, _, status) = call(&talk.capture(), &["-f", "csv", "-"]);
    let text = String::from_utf8(stdout).unwrap();
    let header = "capture,stream,exchange,target,chunk,size_hex,size,received,extensions,offset,first_frame,\
                  last_frame,first_time,time,verdict,events,event_types,payload";
    assert_eq!(text.lines().next().unwrap(), header);
    assert!(text.contains(",several,1 2,ADDED ADDED,"), "{text}");
    assert!(text.contains("\"comma, \"\"quote\"\"\r\nline\""), "{text}");
    assert_eq!(status, 1);
}

#[test]
fn wrong_usage_is_status_2() {
    for args in [
        &["--expect", "xml", "-"][..],
        &["--no-such", "-"],
        &[],
        &["--stream", "x", "-"],
        &["--target", "(", "-"],
    ] {
        let (stdout, messages, status) = call(b"", args);
        assert_eq!((status, stdout.len()), (2, 0), "{args:?}");
        assert!(!messages.is_empty());
    }
}

#[test]
fn quiet_leaves_the_status_and_the_problems() {
    let talk = watch().chunk("oops").server("5 \r\nhello\r\n");
    let (stdout, messages, status) = call(&talk.capture(), &["-q", "-"]);
    assert_eq!((stdout.len(), status), (0, 1));
    assert!(messages.contains("lenient-framing"), "{messages}");
}

#[test]
fn an_output_file_is_the_same_report_in_the_same_pass() {
    let talk = watch().chunk(event("a"));
    let path = file("report.json", b"old");
    let output = format!("json={}", path.display());
    let (stdout, _, status) = call(&talk.capture(), &["-f", "json", "-o", &output, "-"]);
    assert_eq!(status, 0);
    assert_eq!(std::fs::read(&path).unwrap(), stdout);
}

#[test]
fn nothing_to_check_says_what_was_found() {
    let (stdout, _, status) = call(&stream_of("text/plain").chunk("x").capture(), &["-"]);
    assert_eq!(status, 3);
    let text = String::from_utf8(stdout).unwrap();
    assert!(text.contains("1 chunked response"), "{text}");
}
