//! What the recordings, whose making is known, are said to show; and that
//! every cause is documented.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use assert_cmd::Command;
use chunkscope::hints::Cause;
use serde_json::Value;

/// The hints of a recording's exchanges that have some, and the answers to
/// whether something buffers its streams.
fn explained(name: &str) -> (Vec<String>, Vec<String>) {
    let path = Path::new("testdata").join(name);
    let output = Command::cargo_bin("chunkscope").unwrap().args(["-f", "json"]).arg(&path).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let exchanges = report["captures"][0]["exchanges"].as_array().unwrap();
    let hints = exchanges.iter().flat_map(|exchange| exchange["hints"].as_array().unwrap());
    let answers = exchanges.iter().filter_map(|exchange| exchange["timing"]["buffered"].as_str());
    (
        hints.map(|hint| format!("{} {}", hint["code"].as_str().unwrap(), hint["count"])).collect(),
        answers.map(str::to_owned).collect(),
    )
}

#[test]
fn recordings_are_explained_by_how_they_were_made() {
    for (name, expected) in [
        ("informer.pcap", &["initial-state 1"][..]),
        ("nano.pcap", &["initial-state 1"]),
        ("pcapng-lo.pcapng", &["initial-state 1"]),
        ("vlan.pcap", &["go-proxy-32768 2", "initial-state 1"]),
        ("veth-impaired.pcap", &["http2-frame-16384 2", "initial-state 1"]),
        ("gzip-list.pcap", &["go-proxy-32768 8", "initial-state 9"]),
        ("nginx-gzip.pcap", &["content-coding-flush 60", "initial-state 4", "burst 28"]),
        ("nginx-buffered.pcap", &["nginx-4k-buffer 13", "initial-state 3", "burst 33"]),
    ] {
        assert_eq!(explained(name).0, expected, "{name}");
    }
}

#[test]
fn recordings_that_are_aligned_or_of_unknown_making_get_no_hint() {
    let explained_ones = [
        "informer",
        "nano",
        "pcapng-lo",
        "vlan",
        "veth-impaired",
        "gzip-list",
        "nginx-buffered",
        "nginx-gzip",
    ];
    let mut seen = 0;
    for entry in std::fs::read_dir("testdata").unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stem = name.split('.').next().unwrap();
        if name.contains(".pcap") && !explained_ones.contains(&stem) {
            assert_eq!(explained(&name).0, [""; 0], "{name}");
            seen += 1;
        }
    }
    assert!(seen > 20);
}

#[test]
fn streams_that_flow_show_no_sign_of_buffering() {
    for (name, answer) in [
        ("pods-watch.pcap", "no"),
        ("configmap-sample.pcap", "no"),
        ("bookmarks.pcap", "no"),
        ("sse.pcap", "unknown"),
        ("k8s-watch-coredns.pcap", "unknown"),
    ] {
        assert_eq!(explained(name).1, [answer], "{name}");
    }
}

#[test]
fn every_cause_has_a_section_with_evidence_and_advice() {
    let page = std::fs::read_to_string("docs/hints.md").unwrap();
    for cause in Cause::ALL {
        let section = page.split(&format!("\n## {}\n", cause.name())).nth(1).unwrap_or_default();
        let section = section.split("\n## ").next().unwrap();
        assert!(section.contains("*Evidence*") && section.contains("*What to do*"), "{}", cause.name());
    }
}

#[test]
fn tables_and_walkthroughs_say_why_and_what_to_do() {
    for format in ["table", "walkthrough"] {
        let output = Command::cargo_bin("chunkscope")
            .unwrap()
            .args(["-f", format, "testdata/nginx-buffered.pcap"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in
            ["why nginx-4k-buffer (chunks ", "proxy_buffering off", "longest gap 2.492 s; buffering: "]
        {
            assert!(text.contains(part), "{format}: {part}");
        }
    }
}

#[test]
fn the_page_says_why_and_what_to_do() {
    let output = Command::cargo_bin("chunkscope")
        .unwrap()
        .args(["-f", "html", "testdata/nginx-buffered.pcap"])
        .output()
        .unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    for part in [
        "<p class=\"code\">Likely cause: nginx-4k-buffer (chunks 2, 56–67)</p>",
        "proxy_buffering off",
        "In time: first event after 0.003 s",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
