//! The page of each recording: well made, of a bounded size, the same each
//! time, and it says the verdict of the other reports.
//!
//! What a browser makes of it is held by `tests/browser/page.mjs`.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::{Command, Output};

#[path = "support/page.rs"]
mod page;

fn chunkscope(words: &[&str]) -> Output {
    let root = env!("CARGO_MANIFEST_DIR");
    Command::new(env!("CARGO_BIN_EXE_chunkscope")).current_dir(root).args(words).output().unwrap()
}

fn page_of(words: &[&str]) -> (String, i32) {
    let output = chunkscope(&[&["-f", "html"], words].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    page::assert_page(&text);
    (text, output.status.code().unwrap())
}

fn recordings() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file() && path.to_string_lossy().contains(".pcap"));
    paths.sort();
    assert!(paths.len() > 30, "{paths:?}");
    paths
}

#[test]
fn every_recording_has_a_page_that_says_its_verdict() {
    for path in recordings() {
        let path = path.to_str().unwrap();
        let (page, status) = page_of(&[path]);
        let title = match status {
            0 => "Check passed",
            1 => "Check failed",
            3 => "Nothing to check",
            status => panic!("{path}: {status}"),
        };
        assert!(page.contains(&format!("</span> {title}</h1>")), "{path}");
        assert!(page.len() < 3 << 20, "{path}: {}", page.len());
        assert_eq!(page_of(&[path]).0, page, "{path}");
    }
}

#[test]
fn a_row_of_the_page_stands_for_a_chunk_of_the_capture() {
    let (page, _) = page_of(&["testdata/nginx-buffered.pcap", "--limit", "0"]);
    let csv = chunkscope(&["-f", "csv", "--payload", "none", "testdata/nginx-buffered.pcap"]);
    let csv = String::from_utf8(csv.stdout).unwrap();
    assert_eq!(page.matches("<tr class=\"facts\">").count(), csv.lines().count() - 1);
    for line in csv.lines().skip(1) {
        let cells: Vec<_> = line.split(',').collect();
        let [_, _, _, _, chunk, hex, ..] = cells.as_slice() else { panic!("{line}") };
        let start = page.find(&format!("id=\"c1-s0-x0-{chunk}\"")).unwrap();
        let (row, _) = page.split_at(start).1.split_once("</tbody>").unwrap();
        assert!(row.contains(&format!("<code>0x{hex}</code>")), "{line}: {row}");
    }
}

#[test]
fn the_options_that_say_what_is_shown_hold_for_the_page() {
    let rows = |words: &[&str]| page_of(words).0.matches("<tr class=\"facts\">").count();
    let capture = "testdata/nginx-buffered.pcap";
    assert_eq!(rows(&[capture]), 69);
    assert_eq!(rows(&[capture, "--failed"]), 49);
    assert_eq!(rows(&[capture, "--limit", "4", "--allow", "several,part,mixed"]), 4);
    let plain = "testdata/ticks.pcap";
    assert_eq!(rows(&[plain]), 0);
    assert!(rows(&[plain, "--all"]) > 0);
    assert!(!page_of(&[capture, "--payload", "none"]).0.contains("Payload as text"));
}

#[test]
fn the_page_goes_to_a_file_beside_another_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("watch.html");
    let output = format!("html={}", path.display());
    let table = chunkscope(&["-o", &output, "testdata/k8s-watch-coredns.pcap"]);
    assert_eq!(table.stdout, chunkscope(&["testdata/k8s-watch-coredns.pcap"]).stdout);
    let page = std::fs::read_to_string(path).unwrap();
    assert_eq!(page, page_of(&["testdata/k8s-watch-coredns.pcap"]).0);
}

#[test]
fn several_captures_share_a_page_with_one_that_cannot_be_read() {
    let captures = ["testdata/k8s-watch-coredns.pcap", "Cargo.toml", "testdata/informer.pcap"];
    let (page, status) = page_of(&captures);
    assert_eq!(status, 2);
    assert_eq!(page.matches("<section class=\"capture\"").count(), 3);
    assert!(page.contains("1 of 3 captures could not be read"));
}

#[test]
fn what_lint_found_has_a_section_also_where_nothing_is_checked() {
    let gone = "testdata/gone-410.pcap";
    let (plain, _) = page_of(&[gone]);
    let (noted, status) = page_of(&["--lint", gone]);
    assert_eq!(status, 0);
    let sections = |page: &str| page.matches("<article class=\"exchange ").count();
    assert_eq!(sections(&noted), sections(&plain) + 1, "the list that was answered with 410");
    assert!(noted.contains("<div class=\"finding lint\"><p class=\"code\">What --lint found</p>"), "{noted}");
    assert!(noted.contains("<dt>Findings of --lint</dt><dd>6</dd>"));
    assert!(noted.contains("no chunked event stream. 1 note of --lint</small>"));
    assert!(!noted.contains("<b>denied:</b>"));
    let (denied, status) = page_of(&["--deny", "watch-expired", gone]);
    assert_eq!(status, 1);
    assert_eq!(denied.matches("<b>denied:</b> watch-expired ").count(), 3);
    assert!(denied.contains("<dt>Denied findings</dt><dd>3</dd>"));
    let (findings, _) = denied.split_once("<article").unwrap();
    assert!(findings.contains("<li>watch-expired (frame\u{a0}20): the server answered the list with 410"));
}
