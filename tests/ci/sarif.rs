//! SARIF 2.1.0.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use crate::talk::*;
use crate::{json, on_each_recording, report};

/// The schema of OASIS, errata 01.
const SCHEMA: &str = include_str!("../../testdata/schemas/sarif-schema-2.1.0.json");

static VALIDATOR: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::draft4::options().should_validate_formats(true).build(&schema).unwrap()
});

/// A log, held to the schema, and to what the specification says beyond it.
pub fn assert_valid(text: &str) -> Value {
    let log: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}:\n{text}"));
    let faults: Vec<_> = VALIDATOR.iter_errors(&log).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(SCHEMA.contains(&format!("\"id\": {}", log["$schema"])));
    let run = &log["runs"][0];
    for result in run["results"].as_array().unwrap() {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
        let artifact = &run["artifacts"][place["index"].as_u64().unwrap() as usize];
        assert_eq!(artifact["location"]["uri"], place["uri"]);
    }
    for notification in notifications(&log) {
        let descriptors = &run["tool"]["driver"]["notifications"];
        let index = notification["descriptor"]["index"].as_u64().expect("a code that is explained") as usize;
        assert_eq!(descriptors[index]["id"], notification["descriptor"]["id"]);
    }
    log
}

fn results(log: &Value) -> &Vec<Value> {
    log["runs"][0]["results"].as_array().unwrap()
}

fn notifications(log: &Value) -> &Vec<Value> {
    log["runs"][0]["invocations"][0]["toolExecutionNotifications"].as_array().unwrap()
}

fn log(input: &[u8], args: &[&str]) -> Value {
    assert_valid(&report("sarif", input, args).0)
}

/// Each result's fingerprint.
fn fingerprints(log: &Value) -> Vec<String> {
    let fingerprints = results(log).iter().map(|result| &result["partialFingerprints"]);
    fingerprints.map(|found| found["chunkscopeFinding/v1"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_recording_gives_a_valid_log_with_the_counts_of_the_json_report() {
    on_each_recording(|args| {
        let (text, status) = report("sarif", b"", args);
        let log = assert_valid(&text);
        let json = json(b"", args);
        let mut expected = Vec::new();
        for exchange in json["captures"][0]["exchanges"].as_array().unwrap() {
            for violation in exchange["violations"].as_array().unwrap() {
                expected.push((
                    violation["code"].clone(),
                    exchange["stream"].clone(),
                    violation["chunk"].clone(),
                ));
            }
        }
        let of_run = ["unverified", "unreadable-capture", "nothing-to-check"];
        let found: Vec<_> = results(&log)
            .iter()
            .filter(|result| {
                result["level"] == "error" && !of_run.iter().any(|rule| result["ruleId"] == *rule)
            })
            .map(|result| {
                let properties = &result["properties"];
                (result["ruleId"].clone(), properties["stream"].clone(), properties["chunk"].clone())
            })
            .collect();
        assert_eq!(found, expected, "{args:?}");
        assert_eq!(results(&log).iter().any(|result| result["level"] == "error"), status != 0, "{args:?}");
        assert_eq!(log["runs"][0]["invocations"][0]["exitCode"], status);
        assert_eq!(notifications(&log).len(), json["captures"][0]["problems"].as_array().unwrap().len());
        let all = fingerprints(&log);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{args:?}");
    });
}

#[test]
fn a_result_says_where_and_what() {
    let capture = watch().chunk(event("a") + &event("b")).server(LAST).capture();
    let log = log(&capture, &["-"]);
    let result = &results(&log)[0];
    let text = "GET /api/v1/pods?watch=1: chunk 1 (0x82 = 130 octets, frame 6) holds events 1 and 2.";
    let told = result["message"]["text"].as_str().unwrap();
    assert_eq!(told.split(" Likely cause: ").next(), Some(text));
    let location = &result["locations"][0];
    assert_eq!(location["physicalLocation"]["region"]["startLine"], 6);
    assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "stream 0/exchange 0/chunk 1");
    assert_eq!(result["properties"], serde_json::json!({"stream": 0, "exchange": 0, "chunk": 1}));
}

#[test]
fn a_finding_stays_the_same_when_it_is_recorded_again() {
    let watch = |target: &str, pings: usize| {
        let request = format!("GET {target} HTTP/1.1\r\nHost: api\r\n\r\n");
        let mut talk = talk();
        for _ in 0..pings {
            talk = talk.client_acks();
        }
        talk.client(request).server(HEAD).chunk(event("a") + &event("b")).chunk("oops").server(LAST).capture()
    };
    let of = |target: &str, pings| fingerprints(&log(&watch(target, pings), &["-"]));
    let first = of("/api/v1/pods?resourceVersion=1&watch=1", 0);
    assert_eq!(first.len(), 2);
    assert_ne!(first[0], first[1]);
    assert_eq!(of("/api/v1/pods?resourceVersion=99&watch=1&timeoutSeconds=7", 5), first);
    assert_ne!(of("/api/v1/nodes?watch=1", 0), first);
    // The value of today: a change would make all known findings new ones.
    assert_eq!(first[0], FIRST);
}

const FIRST: &str = "3e2128fa38d3bc0a:1";

#[test]
fn equal_requests_are_told_apart_by_their_order() {
    let one = || REQUEST.to_owned();
    let two = HEAD.to_owned() + std::str::from_utf8(&chunk(event("a") + &event("b"))).unwrap() + LAST;
    let capture = talk().client(one()).server(&two).client(one()).server(&two).capture();
    let all = fingerprints(&log(&capture, &["-"]));
    assert_eq!(all.len(), 2);
    assert_ne!(all[0], all[1]);
}

#[test]
fn what_is_allowed_is_a_suppressed_note() {
    let capture = watch().chunk(event("a") + &event("b")).server(LAST).capture();
    let log = log(&capture, &["--allow", "several", "-"]);
    let [result] = &results(&log)[..] else { panic!("{log}") };
    assert_eq!((&result["ruleId"], &result["level"]), (&Value::from("several-events"), &Value::from("note")));
    assert_eq!(result["suppressions"][0]["justification"], "--allow several");
    assert_eq!(log["runs"][0]["invocations"][0]["exitCode"], 0);
}

#[test]
fn what_could_not_be_checked_is_a_result_too() {
    let unread = log(b"no capture at all, to be sure", &["-"]);
    assert_eq!(results(&unread)[0]["ruleId"], "unreadable-capture");
    assert_eq!(unread["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert_eq!(notifications(&unread)[0]["level"], "error");
    let nothing = log(&stream_of("text/plain").chunk("x").server(LAST).capture(), &["-"]);
    assert_eq!(
        (&results(&nothing)[0]["ruleId"], &results(&nothing)[0]["level"]),
        (&"nothing-to-check".into(), &"error".into())
    );
    let allowed = stream_of("text/plain").chunk("x").server(LAST).capture();
    let allowed = log(&allowed, &["--allow", "nothing", "-"]);
    assert_eq!(results(&allowed)[0]["level"], "note");
    let lossy = watch().chunk(event("a")).server_lost(40).chunk(event("b")).client_acks().server(LAST);
    let lossy = log(&lossy.capture(), &["-"]);
    assert_eq!(results(&lossy)[0]["ruleId"], "unverified");
    assert!(
        notifications(&lossy).iter().any(|found| found["descriptor"]["id"] == "lost-octets"),
        "{lossy:#}"
    );
}

#[test]
fn paths_are_uri_references() {
    let folder = tempfile::tempdir().unwrap();
    let capture = watch().chunk("oops").server(LAST).capture();
    let odd = "a b%41#c?d\u{e9}[1].pcap";
    std::fs::create_dir(folder.path().join("in:side")).unwrap();
    for (path, uri) in [(odd, "a%20b%2541%23c%3Fd%C3%A9%5B1%5D.pcap"), ("in:side/x", "./in:side/x")] {
        std::fs::write(folder.path().join(path), &capture).unwrap();
        let done = assert_cmd::cargo::cargo_bin_cmd!("chunkscope")
            .current_dir(folder.path())
            .args(["-f", "sarif", path])
            .output()
            .unwrap();
        let log = assert_valid(std::str::from_utf8(&done.stdout).unwrap());
        assert_eq!(log["runs"][0]["artifacts"][0]["location"]["uri"], uri);
    }
    let whole = folder.path().join(odd);
    let log = log(b"", &[whole.to_str().unwrap()]);
    let uri = log["runs"][0]["artifacts"][0]["location"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("file:///") && uri.ends_with("/a%20b%2541%23c%3Fd%C3%A9%5B1%5D.pcap"), "{uri}");
}

#[test]
fn the_parts_of_a_joined_recording_are_its_artifacts() {
    let capture = watch().chunk("oops").server(LAST).capture();
    let parts = [file("one.pcap", &capture), file("two.pcap", &capture)];
    let log = log(b"", &["--join", parts[0].to_str().unwrap(), parts[1].to_str().unwrap()]);
    let artifacts = log["runs"][0]["artifacts"].as_array().unwrap();
    assert_eq!(artifacts.len(), 2);
    assert!(artifacts[1]["location"]["uri"].as_str().unwrap().ends_with("/two.pcap"));
}
