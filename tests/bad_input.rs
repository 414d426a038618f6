//! What can't be read: one clear line that names the file and what to do,
//! status 2, and the other captures still done.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;
use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

const GOOD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/k8s-watch-coredns.pcap");

/// Runs the program in a folder that holds these files.
fn run(files: &[(&str, &[u8])], arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    for (name, octets) in files {
        std::fs::write(folder.path().join(name), octets).unwrap();
    }
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    cargo_bin_cmd!("chunkscope").current_dir(folder.path()).args(arguments).output().unwrap()
}

fn pcap(link: u32, packets: &[&[u8]]) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    file.extend(link.to_le_bytes());
    for packet in packets {
        let len = u32::try_from(packet.len()).unwrap();
        for word in [1_700_000_000, 0, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(*packet);
    }
    file
}

/// A section, an interface, and a block whose length can't be.
fn broken_pcapng() -> Vec<u8> {
    let words: [u32; 7] = [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28];
    let mut file: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    file.extend([1u32, 20, 1, 0, 20].into_iter().flat_map(u32::to_le_bytes));
    file.extend([6u32, 13].into_iter().flat_map(u32::to_le_bytes));
    file.extend([b'x'; 40]);
    file
}

#[track_caller]
fn one_line(output: &Output, parts: &[&str]) {
    let text = std::str::from_utf8(&output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(output.status.code(), Some(2), "{text}");
    for part in parts {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn each_input_that_cannot_be_read_is_one_line_and_status_2() {
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("empty.pcap", Vec::new()),
        ("notes.txt", b"some notes\n".to_vec()),
        ("raw.http", b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
        ("usb.pcap", pcap(189, &[b"abcd", b"efgh"])),
        ("bad.pcapng", broken_pcapng()),
        ("cut.pcap", pcap(1, &[])[..10].to_vec()),
    ];
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, octets)| (*name, octets.as_slice())).collect();
    for (name, parts) in [
        ("missing.pcap", &["no such file"][..]),
        ("folder", &["directory"]),
        ("empty.pcap", &["empty"]),
        ("notes.txt", &["text", "tcpdump -w"]),
        ("raw.http", &["raw HTTP response"]),
        ("usb.pcap", &["USB_LINUX", "isn't supported"]),
        ("bad.pcapng", &["offset 48", "13"]),
        ("cut.pcap", &["header", "10 of 24"]),
    ] {
        let mut expected = vec![name];
        expected.extend(parts);
        one_line(&run(&files, &["-q", name]), &expected);
        // The other captures are still done, in order, and the report says all.
        let both = run(&files, &["-f", "json", "--payload", "none", name, GOOD]);
        one_line(&both, &expected);
        let report: Value = serde_json::from_slice(&both.stdout).unwrap();
        assert_eq!(report["verdict"], "fail");
        assert_eq!(report["summary"]["chunks"], 2);
        assert_eq!(report["captures"][0]["path"], name);
        assert_ne!(report["captures"][0]["problems"][0]["message"], Value::Null);
        assert_eq!(report["captures"][1]["exchanges"][0]["verdict"], "pass");
    }
}

#[test]
fn raw_input_that_is_no_response_is_an_error() {
    one_line(&run(&[("a.txt", b"hello\n")], &["--raw", "a.txt"]), &["a.txt", "curl --raw -i"]);
    one_line(&run(&[("b.txt", b"")], &["--raw", "b.txt"]), &["b.txt"]);
}

#[test]
fn what_was_read_before_the_damage_is_reported() {
    let mut file = std::fs::read(GOOD).unwrap();
    file.truncate(file.len() - 300);
    let cut = run(&[("cut.pcap", &file)], &["-q", "cut.pcap"]);
    assert_eq!(cut.status.code(), Some(0), "a capture that ends in a packet is no error");
    assert!(String::from_utf8(cut.stderr).unwrap().contains("[truncated-capture]"));
    let mut file = std::fs::read(GOOD).unwrap();
    file.extend([0; 50]);
    let garbage = run(&[("garbage.pcap", &file)], &["-q", "garbage.pcap"]);
    assert_eq!(garbage.status.code(), Some(0));
    assert!(String::from_utf8(garbage.stderr).unwrap().contains("[trailing-garbage]"));
}

#[test]
fn statuses_add_up_over_captures() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let path = |name: &str| testdata.join(name).to_str().unwrap().to_owned();
    let (pass, fail, nothing) = (path("k8s-watch-coredns.pcap"), path("informer.pcap"), path("ticks.pcap"));
    let status = |arguments: &[&str]| run(&[], arguments).status.code().unwrap();
    assert_eq!(status(&["-q", &pass]), 0);
    assert_eq!(status(&["-q", &fail]), 1);
    assert_eq!(status(&["-q", &nothing]), 3);
    assert_eq!(status(&["-q", &pass, &nothing]), 0);
    assert_eq!(status(&["-q", &pass, &fail, &nothing]), 1);
    assert_eq!(status(&["-q", &pass, &fail, "missing"]), 2);
    let said = run(&[], &["-q", &nothing]).stderr;
    assert!(String::from_utf8(said).unwrap().contains("nothing to check: no chunked event stream"));
    assert_eq!(status(&["-q", "--allow", "several", &fail]), 0);
    assert_eq!(status(&["-q", "--allow", "nothing", &nothing]), 0);
    assert_eq!(status(&["-q", "-e", "any", &pass]), 3);
    assert_eq!(status(&["-q", "--stream", "7", &pass]), 3);
    assert_eq!(status(&["-q", "--target", "coredns$", &pass]), 0);
    assert_eq!(status(&["-q", "--port", "8001", "--host", "127.0.0.1", &fail]), 1);
    assert_eq!(status(&["-q", "--host", "10.1.1.1", &fail]), 3);
    assert_eq!(status(&["--no-such-option"]), 2);
    assert_eq!(status(&[]), 2);
}

#[test]
fn terminal_escapes_in_a_path_stay_visible() {
    let output = run(&[], &["-q", "a\u{1b}[31mb.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!output.stderr.contains(&0x1b), "{:?}", String::from_utf8_lossy(&output.stderr));
}
