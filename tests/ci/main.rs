//! The reports for CI, as a job and its readers meet them: each is held to its
//! schema, its counts to those of the JSON report, and what a capture holds
//! must stay text in it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/segments.rs"]
mod segments;
#[allow(dead_code, reason = "the tests of the contract use all of it")]
#[path = "../contract/talk.rs"]
mod talk;

#[cfg(unix)]
mod action;
mod github;
mod hostile;
mod junit;
mod markdown;
mod sarif;
mod story;
mod together;

use std::path::PathBuf;

use serde_json::Value;

/// The formats that this is about.
const FORMATS: [&str; 4] = ["junit", "sarif", "github", "markdown"];

/// A report in a format and the exit status.
fn report(format: &str, input: &[u8], args: &[&str]) -> (String, i32) {
    let all: Vec<&str> = ["-f", format].iter().chain(args).copied().collect();
    let (stdout, _, status) = talk::call(input, &all);
    (String::from_utf8(stdout).unwrap(), status)
}

/// The JSON report.
fn json(input: &[u8], args: &[&str]) -> Value {
    serde_json::from_str(&report("json", input, args).0).unwrap()
}

/// The recordings, and raw responses: the arguments that read each.
fn recordings() -> Vec<Vec<String>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path().to_str().unwrap().to_owned();
        if path.ends_with(".http") {
            found.push(vec!["--raw".to_owned(), path]);
        } else if path.contains(".pcap") {
            found.push(vec![path]);
        }
    }
    found.sort();
    assert!(found.len() > 30);
    found
}

/// Runs `check` on each recording, as it is, with everything allowed, and with
/// another expectation.
fn on_each_recording(check: impl Fn(&[&str])) {
    for recording in recordings() {
        for options in [&[][..], &["--allow", "several,part,mixed,gaps,nothing"], &["--expect", "json"]] {
            let args: Vec<&str> =
                options.iter().copied().chain(recording.iter().map(String::as_str)).collect();
            check(&args);
        }
    }
}
