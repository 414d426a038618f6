//! The program as it is met: what reaches a terminal, whatever a capture
//! holds, how rows fit it, what the options select, and where the messages go.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "support/segments.rs"]
mod segments;

use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin_cmd;
use chunkscope::packet::Flags;
use segments::Sent;
use serde_json::Value;
use unicode_width::UnicodeWidthStr as _;

const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata");

fn run(columns: usize, arguments: &[&str]) -> Output {
    cargo_bin_cmd!("chunkscope")
        .current_dir(TESTDATA)
        .env("COLUMNS", columns.to_string())
        .env_remove("NO_COLOR")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(octets: &[u8]) -> &str {
    std::str::from_utf8(octets).unwrap()
}

/// The report in JSON, its status whatever it is.
fn report(arguments: &[&str]) -> Value {
    let line: Vec<_> = ["-f", "json"].iter().chain(arguments).copied().collect();
    serde_json::from_slice(&run(120, &line).stdout).unwrap()
}

/// A conversation of one request and its response, as a capture.
fn capture(request: &[u8], response: &[u8]) -> Vec<u8> {
    let (client, server) = ("10.0.0.1:40000".parse().unwrap(), "10.0.0.2:8001".parse().unwrap());
    let mut sent = Vec::new();
    let (mut here, mut there) = (1000u32, 5000u32);
    let mut send = |from_client: bool, syn: bool, fin: bool, payload: &[u8]| {
        let (source, destination) = if from_client { (client, server) } else { (server, client) };
        let (seq, ack) = if from_client { (&mut here, there) } else { (&mut there, here) };
        let flags = Flags { syn, fin, ..Flags::default() };
        let ack = (!(syn && from_client)).then_some(ack);
        let payload = payload.to_vec();
        let segment =
            Sent { seconds: 1_700_000_000, micros: 0, source, destination, seq: *seq, ack, flags, payload };
        *seq = seq.wrapping_add(segment.len());
        sent.push(segment);
    };
    send(true, true, false, b"");
    send(false, true, false, b"");
    request.chunks(1400).for_each(|part| send(true, false, false, part));
    response.chunks(1400).for_each(|part| send(false, false, false, part));
    send(false, false, true, b"");
    send(true, false, true, b"");
    segments::write(&sent)
}

fn chunked(head: &str, chunks: &[&[u8]]) -> Vec<u8> {
    let mut response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{head}\r\n").into_bytes();
    for chunk in chunks {
        response.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        response.extend(*chunk);
        response.extend(b"\r\n");
    }
    response.extend(b"0\r\n\r\n");
    response
}

/// What a terminal could obey, or would draw in another place.
const EVIL: &str = "\u{1b}[31m\u{1b}]0;title\u{7}\u{9b}2J\u{85}\u{202e}abc\u{2066}\u{200b}\u{feff}\r\u{8}\u{7f}\u{0}\u{2028}";

/// Each harmless alone, and none as wide as it is long.
const WIDE: &str = "日本語テキスト👩‍👩‍👧❤️é한국어";

fn watch_event(name: &str, kind: &str) -> Vec<u8> {
    let object = serde_json::json!({
        "kind": kind, "apiVersion": name,
        "metadata": {"namespace": name, "name": name, "resourceVersion": name},
    });
    let mut event = serde_json::json!({"type": "ADDED", "object": object}).to_string().into_bytes();
    event.push(b'\n');
    event
}

/// Captures whose every text is hostile: heads, targets, events, framing.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let long = WIDE.repeat(400);
    let evil_events = [watch_event(EVIL, EVIL), watch_event(&long, WIDE), watch_event(WIDE, "ConfigMap")];
    let events: Vec<&[u8]> = evil_events.iter().map(Vec::as_slice).collect();
    let coalesced = evil_events.concat();
    // No control may stand in a target or a field, other octets may.
    let loose: String = EVIL.chars().filter(|c| !c.is_ascii_control()).collect();
    let get = format!(
        "GET /api/v1/x?watch=1&{loose}{WIDE} HTTP/1.1\r\nHost: {loose}\r\nUser-Agent: {WIDE}\r\n\r\n"
    );
    let head = format!("Content-Type: application/json;{loose}\r\nX: {WIDE}\r\nTrailer: {loose}\r\n");
    let sse = format!("event: {EVIL}\nid: {WIDE}\ndata: {EVIL}{long}\n\n").replace(['\r', '\0'], "");
    let get_sse = b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n";
    let extension =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;{WIDE}\u{9b}\r\nabc\r\nzz{EVIL}\r\n");
    let trailer = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n{loose}: {loose}\r\nY: {loose}\r\n\r\n"
    );
    vec![
        ("events", capture(get.as_bytes(), &chunked(&head, &events))),
        ("coalesced", capture(get.as_bytes(), &chunked(&head, &[&coalesced]))),
        (
            "no events",
            capture(get.as_bytes(), &chunked(&head, &[EVIL.as_bytes(), b"\xff\xfe\x1b[2J", WIDE.as_bytes()])),
        ),
        (
            "sse",
            capture(
                get_sse,
                &chunked("Content-Type: text/event-stream\r\n", &[sse.as_bytes(), b"data: \x1b[1m\xff\n\n"]),
            ),
        ),
        ("extension", capture(get_sse, extension.as_bytes())),
        ("trailer", capture(get_sse, trailer.as_bytes())),
        (
            "strange head",
            capture(format!("GET /{EVIL} HTTP/1.1\r\n{EVIL}: x\r\n\r\n").as_bytes(), EVIL.as_bytes()),
        ),
    ]
}

/// Whether a terminal draws the character as itself, where it stands.
fn is_harmless(c: char) -> bool {
    c == '\n'
        || !(c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'))
}

#[test]
fn nothing_but_printable_text_reaches_a_terminal_and_no_row_is_wider_than_it() {
    let folder = tempfile::tempdir().unwrap();
    for (name, octets) in hostile() {
        let path = folder.path().join(format!("{name} \u{1b}[31m\u{202e}.pcap"));
        std::fs::write(&path, octets).unwrap();
        let path = path.to_str().unwrap();
        for columns in [80, 100, 120, 200, 250] {
            for options in [
                &["--all"][..],
                &["--all", "--payload", "full"],
                &["--all", "-e", "json"],
                &["--all", "-f", "walkthrough"],
                &["--all", "-f", "walkthrough", "--payload", "full"],
                &[],
            ] {
                let line: Vec<_> = options.iter().copied().chain([path]).collect();
                let output = run(columns, &line);
                assert!(matches!(output.status.code(), Some(0..=3)), "{name}: {:?}", output.status);
                for octets in [&output.stdout, &output.stderr] {
                    let bad = text(octets).chars().find(|c| !is_harmless(*c));
                    assert_eq!(bad, None, "{name} {options:?}: {}", text(octets));
                }
                let out = text(&output.stdout);
                for row in rows(out).iter().filter(|_| !options.contains(&"full")) {
                    assert!(row.width() <= columns, "{name} at {columns}: {} in {row}", row.width());
                }
            }
        }
    }
}

/// The rows of the chunk tables, with the line of their names.
fn rows(table: &str) -> Vec<&str> {
    let mut rows = Vec::new();
    let mut within = false;
    for line in table.lines() {
        within = line.trim_start().starts_with("# ") || (within && !line.trim().is_empty());
        if within {
            rows.push(line);
        }
    }
    rows
}

#[test]
fn columns_stand_under_their_names_beside_wide_characters() {
    let (.., events) = hostile().remove(0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.pcap");
    std::fs::write(&path, events).unwrap();
    let output = run(160, &[path.to_str().unwrap()]);
    let out = text(&output.stdout);
    let rows = rows(out);
    let header = rows[0];
    let frames = header[..header.find("frames").unwrap()].width();
    let chunks: Vec<_> =
        rows[1..].iter().filter(|row| row.contains(" s ") && !row.contains("first event")).collect();
    assert_eq!(chunks.len(), 3, "{out}");
    for row in chunks {
        // The column before ends in blanks, the frame begins where its name does.
        let at = row.char_indices().find(|&(at, _)| row[..at].width() >= frames);
        let (at, first) = at.unwrap();
        assert!(first.is_ascii_digit() && row[..at].ends_with("  "), "{frames}: {row}\n{out}");
    }
}

#[test]
fn a_path_that_is_no_text_is_named_safely() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"a\xff\x1b[2J\nb.pcap"));
    for copied in [false, true] {
        if copied {
            std::fs::copy(format!("{TESTDATA}/ticks.pcap"), &path).unwrap();
        }
        let output = cargo_bin_cmd!("chunkscope").arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(if copied { 3 } else { 2 }));
        for octets in [&output.stdout, &output.stderr] {
            assert!(text(octets).chars().all(is_harmless), "{:?}", text(octets));
        }
        assert_eq!(text(&output.stderr).lines().count(), usize::from(!copied), "{}", text(&output.stderr));
    }
}

#[test]
fn colours_are_used_only_where_they_are_asked_for() {
    let escapes = |arguments: &[&str]| run(120, arguments).stdout.contains(&0x1b);
    assert!(!escapes(&["informer.pcap"]), "standard output is no terminal");
    assert!(escapes(&["--color", "always", "informer.pcap"]));
    assert!(escapes(&["--color", "always", "-f", "walkthrough", "informer.pcap"]));
    for format in ["json", "jsonl", "csv"] {
        assert!(!escapes(&["--color", "always", "-f", format, "informer.pcap"]), "{format}");
    }
}

/// What the program does when its reader leaves after ten octets.
fn left_alone(arguments: &[&str]) -> Output {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("chunkscope"))
        .current_dir(TESTDATA)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    child.wait_with_output().unwrap()
}

/// Captures whose reports are longer than a pipe holds.
const LONG: [&str; 3] = ["nginx-buffered.pcap", "gzip-list.pcap", "nginx-buffered.pcap"];

#[test]
fn a_reader_that_leaves_is_no_error_and_hides_none() {
    for format in ["table", "walkthrough", "json", "jsonl", "csv"] {
        let options = ["-f", format, "--payload", "full", "--all"];
        // What was found before the reader left tells the status.
        for (first, status) in [("informer.pcap", 1), ("missing.pcap", 2), ("k8s-watch-coredns.pcap", 1)] {
            let line: Vec<_> = options.iter().chain(&[first]).chain(&LONG).copied().collect();
            let output = left_alone(&line);
            // A document in one piece is written when everything was read.
            if first == "k8s-watch-coredns.pcap" && format != "json" {
                assert!(matches!(output.status.code(), Some(0 | 1)), "{format}: {:?}", output.status);
            } else {
                assert_eq!(output.status.code(), Some(status), "{format} {first}");
            }
            let said = text(&output.stderr);
            assert!(!said.contains("panick") && !said.contains("pipe"), "{format}: {said}");
            assert_eq!(said.contains("missing.pcap: no such file"), status == 2, "{format}: {said}");
        }
    }
}

#[test]
fn a_reader_that_leaves_takes_no_file_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.jsonl");
    let whole = {
        let line: Vec<_> = ["-f", "jsonl", "k8s-watch-coredns.pcap"].iter().chain(&LONG).copied().collect();
        run(120, &line)
    };
    let output = format!("jsonl={}", path.display());
    for format in ["table", "walkthrough", "json", "jsonl", "csv"] {
        let options = ["--payload", "full", "--all", "-f", format, "-o", &output, "k8s-watch-coredns.pcap"];
        let line: Vec<_> = options.iter().chain(&LONG).copied().collect();
        let left = left_alone(&line);
        assert_eq!(left.status.code(), whole.status.code(), "{format}: {}", text(&left.stderr));
        assert_eq!(std::fs::read(&path).unwrap(), whole.stdout, "{format}");
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn selections_are_made_before_anything_is_counted() {
    let count = |arguments: &[&str], member: &str| report(arguments)["summary"][member].as_u64().unwrap();
    assert_eq!(count(&["gone-410.pcap"], "exchanges"), 4);
    assert_eq!(count(&["--stream", "0", "gone-410.pcap"], "exchanges"), 1);
    assert_eq!(count(&["--stream", "0", "--stream", "2", "gone-410.pcap"], "checked"), 2);
    assert_eq!(count(&["--stream", "0", "gone-410.pcap"], "streams"), 1);
    assert_eq!(count(&["--target", "watch=1", "gone-410.pcap"], "exchanges"), 1);
    assert_eq!(count(&["--target", "^/nothing", "gone-410.pcap"], "chunks"), 0);
    assert_eq!(count(&["--port", "41436", "gone-410.pcap"], "exchanges"), 1);
    assert_eq!(count(&["--port", "1", "--port", "8001", "gone-410.pcap"], "exchanges"), 4);
    assert_eq!(count(&["--host", "10.9.9.9", "gone-410.pcap"], "exchanges"), 0);
    // What is only shown or not changes no count.
    for options in [&["--failed"][..], &["--all"], &["--limit", "1"], &["--payload", "none"]] {
        let line: Vec<_> = options.iter().copied().chain(["nano.pcap"]).collect();
        assert_eq!(report(&line)["summary"], report(&["nano.pcap"])["summary"], "{options:?}");
    }
}

#[test]
fn a_table_shows_what_is_asked_for() {
    let table = |arguments: &[&str]| text(&run(120, arguments).stdout).to_owned();
    let limited = table(&["--limit", "2", "nano.pcap"]);
    assert!(limited.contains("\n  … 5 more chunks: one watch event each\n"), "{limited}");
    let failed = table(&["--failed", "nano.pcap"]);
    assert!(failed.contains("\n✗ 1 ") && failed.contains("… 6 more chunks"), "{failed}");
    assert!(table(&["--failed", "k8s-watch-coredns.pcap"]).contains("nothing here failed"));
    assert!(table(&["ticks.pcap"]).contains("21 octets in 3 chunks"));
    assert_eq!(rows(&table(&["--all", "ticks.pcap"])).iter().filter(|row| row.contains("tick ")).count(), 3);
    assert!(!table(&["--payload", "none", "k8s-watch-coredns.pcap"]).contains("payload"));
    // The payload is shown as soon as there is some room for it.
    let at_100 = run(100, &["k8s-watch-coredns.pcap"]);
    assert!(text(&at_100.stdout).contains("  payload\n"), "{}", text(&at_100.stdout));
}

#[test]
fn quiet_writes_files_and_nothing_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let outputs: Vec<String> =
        ["json", "jsonl", "csv", "table", "walkthrough"].map(|f| format!("{f}={}", place(f))).to_vec();
    let mut line = vec!["-q"];
    outputs.iter().for_each(|output| line.extend(["-o", output]));
    line.push("informer.pcap");
    let output = run(120, &line);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    for format in ["json", "jsonl", "csv", "table", "walkthrough"] {
        let printed = run(120, &["-f", format, "informer.pcap"]).stdout;
        assert_eq!(std::fs::read(place(format)).unwrap(), printed, "{format}");
    }
}

#[test]
fn a_report_without_a_place_is_told_of_as_such() {
    let output = run(120, &["-q", "-o", "json=/nonexistent/report.json", "ticks.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "chunkscope: /nonexistent/report.json: the report can't be written: no such directory\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn captures_of_which_nothing_can_be_read_are_counted_whatever_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let usb = folder.path().join("usb.pcap");
    let mut octets = std::fs::read(format!("{TESTDATA}/ticks.pcap")).unwrap();
    octets[20..24].copy_from_slice(&189u32.to_le_bytes());
    std::fs::write(&usb, octets).unwrap();
    let output = run(120, &["missing.pcap", usb.to_str().unwrap(), "k8s-watch-coredns.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    let out = text(&output.stdout);
    assert!(out.ends_with("\n✗ fail: 2 of 3 captures could not be read\n"), "{out}");
    assert_eq!(text(&output.stderr).lines().count(), 2, "{}", text(&output.stderr));
}

#[test]
fn the_reason_of_the_operating_system_is_given() {
    let output = run(120, &["-q", "/proc/self/mem"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.lines().count() == 1 && said.contains("offset 0 of the file: "), "{said}");
}

#[test]
fn a_raw_response_without_the_option_is_told_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("response.http");
    std::fs::write(&path, chunked("", &[b"abc"])).unwrap();
    let path = path.to_str().unwrap();
    let output = run(120, &["-q", path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--raw reads it"), "{}", text(&output.stderr));
    assert_eq!(run(120, &["-q", "--raw", path]).status.code(), Some(3));
}

#[test]
fn long_work_shows_progress_on_a_terminal_and_leaves_nothing_of_it() {
    let program = assert_cmd::cargo::cargo_bin!("chunkscope").display().to_string();
    // What a terminal gets of standard error: script makes one.
    let on_terminal = |command: &str| {
        let done = Command::new("script")
            .args(["-qec", command, "/dev/null"])
            .current_dir(TESTDATA)
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output();
        done.ok().map(|done| String::from_utf8(done.stdout).unwrap())
    };
    let slowly = "(head -c 2000 pods-watch.pcap; sleep 1; tail -c +2001 pods-watch.pcap)";
    let Some(shown) = on_terminal(&format!("{slowly} | {program} - >/dev/null")) else {
        return; // no such program here
    };
    assert!(shown.contains(" read, ") && shown.contains("chunks"), "{shown:?}");
    // The line is erased, and nothing follows.
    assert!(shown.trim_end_matches(['\r', '\n']).ends_with("\u{1b}[2K"), "{shown:?}");
    for (command, what) in [
        (format!("{slowly} | {program} -q -"), "quiet"),
        (format!("{slowly} | {program} - 2>&1 >/dev/null | cat"), "piped"),
        (format!("{program} pods-watch.pcap >/dev/null"), "short"),
        (format!("{slowly} | {program} -f csv - 2>&1 | tail -n 0"), "piped report"),
    ] {
        assert_eq!(on_terminal(&command).unwrap(), "", "{what}");
    }
    // With the table on the same terminal, the table alone stays.
    let shown = on_terminal(&format!("{slowly} | COLUMNS=100 {program} --color never -")).unwrap();
    let table = text(&run(100, &["pods-watch.pcap"]).stdout).replacen("pods-watch.pcap", "-", 1);
    let table = table.replace('\n', "\r\n");
    assert!(shown.ends_with(&table), "{shown}\n{table}");
}

#[test]
fn what_the_options_leave_out_is_not_said_to_be_absent() {
    for (options, words) in [
        (["--stream", "9"], "1 TCP stream is left out by --stream, --port or --host."),
        (["--port", "443"], "1 TCP stream is left out by --stream, --port or --host."),
        (["--host", "::1"], "1 TCP stream is left out by --stream, --port or --host."),
        (["--target", "^/nothing"], "1 exchange is left out by --target,"),
    ] {
        for threads in ["1", "4"] {
            let output = run(100, &[options[0], options[1], "--threads", threads, "informer.pcap"]);
            assert_eq!(output.status.code(), Some(3));
            let out = text(&output.stdout);
            assert!(out.contains(words), "{options:?}: {out}");
            // It is TCP, and it is HTTP; and nobody need record anew.
            for untrue in ["is TCP", "No HTTP", "To record"] {
                assert!(!out.contains(untrue), "{options:?}: {out}");
            }
        }
        let quiet = run(100, &["-q", options[0], options[1], "informer.pcap"]);
        assert!(text(&quiet.stderr).contains("in what --stream, --port, --host and --target select"));
    }
    let raw = run(100, &["--raw", "--target", "watch", "watch.http"]);
    assert!(text(&raw.stdout).contains("which matches no request that wasn't captured"));
    let some = run(100, &["--stream", "1", "gone-410.pcap"]);
    assert!(text(&some.stdout).contains(", 1 of 4 TCP streams\n"), "{}", text(&some.stdout));
}

#[test]
fn raw_responses_are_said_to_be_in_no_frame() {
    let folder = tempfile::tempdir().unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (name, body) in [("whole", "9\r\ndata: x\n\n\r\n0\r\n\r\n"), ("broken", "9\r\ndata: x\n\n\r\nzz\r\n")]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{head}{body}")).unwrap();
        for options in [&["--raw"][..], &["--raw", "-f", "walkthrough"], &["--raw", "--follow"]] {
            let line: Vec<_> = options.iter().copied().chain([path.to_str().unwrap()]).collect();
            let output = run(100, &line);
            let out = text(&output.stdout);
            assert!(out.contains("data") || out.contains("message"), "{options:?}: {out}");
            let named = out.replace("frames  verdict", "");
            assert!(!named.contains("frame"), "{options:?} {name}: {out}");
        }
    }
}

#[test]
fn a_problem_names_its_frame_once() {
    let response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nab\r\n0\r\n\r\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lenient.pcap");
    std::fs::write(&path, capture(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", response)).unwrap();
    let output = run(100, &[path.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert!(said.contains("[lenient-framing]"), "{said}");
    assert_eq!(said.matches("(frame ").count(), 1, "{said}");
}

#[test]
fn a_head_that_lacks_octets_is_not_taken_for_a_chunked_body() {
    let output = run(120, &["flaw-snaplen200.pcap"]);
    let out = text(&output.stdout);
    assert!(out.contains("Whether the request has a body isn't known: the capture lacks octets of the head"));
    assert!(!out.contains("chunk begins") && !out.contains("0 octets"), "{out}");
}

#[test]
fn numbers_that_are_none_are_refused_by_what_is_wrong_with_them() {
    for (option, number, words) in [
        ("--threads", "0", "invalid value '0' for '--threads <N>': at least 1 thread is needed"),
        ("--limit", "-1", "invalid value '-1' for '--limit <N>'"),
        ("--stream", "-1", "invalid value '-1' for '--stream <N>'"),
        ("--port", "-1", "invalid value '-1' for '--port <P>'"),
    ] {
        let output = run(100, &[option, number, "informer.pcap"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}

#[test]
fn a_saved_response_of_http2_is_told_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.http");
    for version in ["HTTP/2", "HTTP/3"] {
        std::fs::write(
            &path,
            format!("{version} 200 \r\ncontent-type: text/event-stream\r\n\r\ndata: x\n\n"),
        )
        .unwrap();
        let output = run(100, &["--raw", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        let words =
            format!("a response of {version}, which has no chunks: record it with curl --http1.1 --raw -i");
        assert!(said.contains(&words), "{said}");
    }
}

#[test]
fn a_finished_chunk_that_is_not_judged_is_not_called_unfinished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("coded.http");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: compress\r\n";
    std::fs::write(&path, format!("{head}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")).unwrap();
    let output = run(100, &["--raw", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    let out = text(&output.stdout);
    assert!(out.contains("There is instead: 1 event stream without a chunk that could be judged."), "{out}");
}

#[test]
fn a_response_that_curl_took_apart_is_asked_about_curls_option() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.http");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let told = |body: &str| {
        std::fs::write(&path, format!("{head}{body}")).unwrap();
        let output = run(200, &["--raw", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let words = "was this recorded with curl's --raw?";
    assert!(told("event: x\ndata: y\n\n").contains(words));
    // The framing was there, and broke later.
    assert!(!told("9\r\ndata: x\n\n\r\nzz\r\n").contains(words));
    assert!(!told("9\r\ndata: x\n\nzz\r\n").contains(words));
}

#[test]
fn what_is_no_response_is_refused_before_its_end() {
    let output = cargo_bin_cmd!("chunkscope")
        .args(["-q", "--raw", "/dev/zero"])
        .timeout(std::time::Duration::from_secs(60))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("no HTTP/1 response begins"));
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_an_error() {
    for arguments in [&["--help"][..], &["--version"], &["--generate", "man"], &["k8s-watch-coredns.pcap"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_chunkscope"))
            .current_dir(TESTDATA)
            .args(arguments)
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("can't be written: No space left on device"), "{arguments:?}");
    }
}
