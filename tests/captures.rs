//! The recordings of `testdata/`, held to what their clients received.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

#[path = "support/truth.rs"]
mod truth;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// The JSON report on some recordings, and the exit status.
fn report(captures: &[&str], args: &[&str]) -> (Value, i32) {
    let done = Command::new(assert_cmd::cargo::cargo_bin!("chunkscope"))
        .args(["-f", "json", "--payload", "full"])
        .args(args)
        .args(captures.iter().map(|name| testdata().join(name)))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    let report = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|e| panic!("{captures:?}: standard output is no JSON: {e}; {said}"));
    let status = done.status.code().unwrap_or_else(|| panic!("{captures:?}: ended by a signal; {said}"));
    (report, status)
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Compares one recording with its truth.
fn hold(name: &str) {
    let text = std::fs::read_to_string(testdata().join(format!("truth/{name}.json"))).unwrap();
    let truth: Value = serde_json::from_str(&text).unwrap();
    let (report, status) = report(&texts(&truth["_captures"]), &texts(&truth["_args"]));
    assert_ne!(status, 2, "{name} can be read");
    let found = truth::differences(&truth, &report, status);
    let shown = found.iter().take(20).cloned().collect::<Vec<_>>().join("\n  ");
    assert!(found.is_empty(), "{name}: {} differences\n  {shown}", found.len());
}

/// A test for each truth, and one that none was forgotten.
macro_rules! truths {
    ($($test:ident: $name:literal),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                hold($name);
            }
        )*

        #[test]
        fn no_truth_is_left_out() {
            let listed = BTreeSet::from([$($name.to_owned()),*]);
            let there: BTreeSet<String> = std::fs::read_dir(testdata().join("truth"))
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            assert_eq!(listed, there);
        }
    };
}

truths! {
    abort: "abort",
    apiserver_killed: "apiserver-killed",
    blob: "blob",
    bookmarks: "bookmarks",
    cbor_watch: "cbor-watch",
    coded_br: "coded-br",
    coded_deflate_raw: "coded-deflate-raw",
    coded_deflate_zlib: "coded-deflate-zlib",
    coded_gzip_in_zstd: "coded-gzip-in-zstd",
    coded_gzip_members: "coded-gzip-members",
    coded_zstd_frames: "coded-zstd-frames",
    configmap_sample: "configmap-sample",
    gone_410: "gone-410",
    gzip_list: "gzip-list",
    informer: "informer",
    interrupted: "interrupted",
    k8s_watch_coredns: "k8s-watch-coredns",
    k8s_watch_coredns_lo: "k8s-watch-coredns-lo",
    kubectl_get_w_json: "kubectl-get-w-json",
    mixed_keepalive: "mixed-keepalive",
    mozilla: "mozilla",
    nano: "nano",
    ndjson: "ndjson",
    ndjson_coalesced: "ndjson-coalesced",
    nginx_buffered: "nginx-buffered",
    nginx_gzip: "nginx-gzip",
    pcapng_lo: "pcapng-lo",
    pipelined: "pipelined",
    pods_watch: "pods-watch",
    pods_watch_gz: "pods-watch-gz",
    pods_watch_lz4: "pods-watch-lz4",
    pods_watch_zst: "pods-watch-zst",
    pretty_watch: "pretty-watch",
    protobuf_watch: "protobuf-watch",
    sse: "sse",
    ticks: "ticks",
    trailer: "trailer",
    veth_impaired: "veth-impaired",
    vlan: "vlan",
    websocket_watch: "websocket-watch",
}

/// The walkthrough of the tutorial: what each number is and where it was seen.
#[test]
fn the_recorded_walkthrough_to_797() {
    let (report, status) = report(&["k8s-watch-coredns.pcap"], &[]);
    assert_eq!(status, 0);
    let capture = &report["captures"][0];
    assert_eq!(capture["packets"], 12);
    assert_eq!(texts(&capture["link_types"]), ["LINUX_SLL2"]);
    let body = &capture["exchanges"][0]["response"]["body"];
    for (number, size_hex, size, frame) in [(0, "31a", 794, 6), (1, "31d", 797, 8)] {
        let chunk = &body["chunks"][number];
        assert_eq!(chunk["size_hex"], size_hex);
        assert_eq!(chunk["size"], size);
        assert_eq!(chunk["frames"], serde_json::json!([frame]));
    }
    assert_eq!(body["end"], "aborted");
    assert_eq!(body["last_chunk"], Value::Null);
}

/// Begun inside a watch: the first segment begins with a size line, so nothing
/// is skipped, and every chunk begins an event, so each can be judged.
#[test]
fn a_capture_begun_inside_a_watch_is_joined_at_its_first_chunk() {
    let (report, status) = report(&["flaw-midstream.pcap"], &[]);
    assert_eq!(status, 0);
    let capture = &report["captures"][0];
    let codes: Vec<&str> = codes(capture);
    assert!(codes.contains(&"joined-midstream"), "{codes:?}");
    assert_eq!(capture["exchanges"].as_array().unwrap().len(), 1);
    let exchange = &capture["exchanges"][0];
    assert_eq!(exchange["request"], Value::Null);
    assert_eq!(exchange["expect"], "watch");
    assert_eq!(exchange["verdict"], "pass");
    assert_eq!(exchange["response"]["status"], Value::Null);
    let body = &exchange["response"]["body"];
    assert_eq!(body["joined"], true);
    assert_eq!(body["skipped"], 0);
    assert_eq!(body["end"], "complete");
    let seen: Vec<(&str, &Value)> = body["chunks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chunk| (chunk["size_hex"].as_str().unwrap(), &chunk["frames"][0]))
        .collect();
    let frames: Vec<Value> = [1, 3, 5, 7, 9, 11].map(Value::from).to_vec();
    let expected: Vec<(&str, &Value)> = frames.iter().map(|frame| ("1a5", frame)).collect();
    assert_eq!(seen, expected);
    assert_eq!(exchange["events"].as_array().unwrap().len(), 6);
    assert_eq!(body["last_chunk"]["frames"], serde_json::json!([13]));
}

/// With a snap length of 200 octets neither a head nor a chunk is whole. What
/// the captured lines say is said; no chunk and no event is made up.
#[test]
fn a_capture_of_cut_packets_says_so_and_invents_nothing() {
    let (report, status) = report(&["flaw-snaplen200.pcap"], &[]);
    assert_eq!(status, 1);
    let capture = &report["captures"][0];
    let codes = codes(capture);
    assert!(codes.contains(&"cut-packets"), "{codes:?}");
    let exchange = &capture["exchanges"][0];
    assert_eq!(exchange["request"]["method"], "GET");
    assert_eq!(
        exchange["request"]["target"],
        "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=8"
    );
    assert_eq!(exchange["response"]["status"], 200);
    assert_eq!(exchange["response"]["body"]["end"], "lost");
    for exchange in capture["exchanges"].as_array().unwrap() {
        assert_eq!(exchange["events"], serde_json::json!([]));
        assert_ne!(exchange["verdict"], "pass");
        for chunk in exchange["response"]["body"]["chunks"].as_array().unwrap() {
            let verdict = chunk["verdict"].as_str().unwrap();
            assert!(["unverified", "unchecked"].contains(&verdict), "{chunk}");
        }
    }
}

fn codes(capture: &Value) -> Vec<&str> {
    capture["problems"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|problem| problem["code"].as_str())
        .collect()
}
