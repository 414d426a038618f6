//! Captures made to cost: the program, run as users run it, stays below 20 s
//! and 512 MiB, dies of no signal, and says in its report what it left out.

use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use chunkscope::limits::Limits;
use chunkscope::packet::Flags;
use chunkscope::pipeline::Analysis;
use serde_json::Value;

use crate::built::{Side, segment};
use crate::record::{Record, options};
use crate::schema;
use crate::segments::{self, Sent};

const PLAIN: Flags = Flags { syn: false, fin: false, rst: false };
const SYN: Flags = Flags { syn: true, fin: false, rst: false };
const RST: Flags = Flags { syn: false, fin: false, rst: true };
const SECONDS: u64 = 20;
const KIBIBYTES: u64 = 512 << 10;

/// Runs the program on a capture: its report, which is one by the schema.
fn run(name: &str, capture: &[u8]) -> Value {
    let (json, _) = watched(name, &["-f", "json", "--payload", "preview"], capture);
    let report = serde_json::from_slice(&json).unwrap();
    schema::assert_report(&report);
    report
}

/// Runs the program on a capture: what it writes, and its peak in KiB.
fn watched(name: &str, args: &[&str], capture: &[u8]) -> (Vec<u8>, u64) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(capture).unwrap();
    let mut out = tempfile::NamedTempFile::new().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_chunkscope"))
        .args(args)
        .arg(file.path())
        .stdout(Stdio::from(out.reopen().unwrap()))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let exit = loop {
        // It only grows, and is gone with the process.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let size = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(size.unwrap_or(0));
        if let Some(exit) = child.try_wait().unwrap() {
            break exit;
        }
        if begun.elapsed() > Duration::from_secs(SECONDS) {
            child.kill().unwrap();
            panic!("{name}: not done after {SECONDS} s");
        }
        thread::sleep(Duration::from_millis(2));
    };
    assert!(peak < KIBIBYTES, "{name}: {peak} KiB");
    assert!(exit.code().is_some_and(|code| code <= 3), "{name}: {exit}");
    let mut written = Vec::new();
    std::io::Read::read_to_end(&mut out, &mut written).unwrap();
    (written, peak)
}

fn codes(report: &Value) -> Vec<&str> {
    let problems = report["captures"][0]["problems"].as_array().unwrap();
    problems.iter().map(|problem| problem["code"].as_str().unwrap()).collect()
}

/// A connection with a response that goes on with `body`, in segments of
/// 60,000 octets.
fn answer(head: &str, body: &[u8]) -> Vec<Sent> {
    let request = b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n";
    let syn = Flags { syn: true, ..PLAIN };
    let mut sent = vec![
        segment(Side::Client, syn, [0, 0], b"", false),
        segment(Side::Server, syn, [0, 0], b"", true),
        segment(Side::Client, PLAIN, [0, 0], request, true),
    ];
    let octets = [head.as_bytes(), body].concat();
    for (place, part) in octets.chunks(60_000).enumerate() {
        sent.push(segment(Side::Server, PLAIN, [request.len(), place * 60_000], part, true));
    }
    sent
}

const WATCH: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn bombs_in_every_compression_are_unpacked_in_little_memory() {
    let mut capture = segments::write(&answer(WATCH, b"0\r\n\r\n"));
    capture.resize(40 << 20, 0);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&capture).unwrap();
    run("gzip", &gzip.finish().unwrap());
    run("zstd", &zstd::encode_all(capture.as_slice(), 1).unwrap());
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(&capture).unwrap();
    run("lz4", &lz4.finish().unwrap());
}

#[test]
fn lengths_that_lie_take_no_memory() {
    let whole = segments::write(&answer(WATCH, b"0\r\n\r\n"));
    for length in [0x7fff_ffff_u32, 0x0800_0000, 0xffff_ffff] {
        let mut capture = whole.clone();
        capture[32..36].copy_from_slice(&length.to_le_bytes());
        run("a record", &capture);
    }
    for size in ["7fffffffffffffff", "ffffffffffffffff", "8000000000000000;x"] {
        let sent = answer(WATCH, format!("{size}\r\n{{\"a\":").as_bytes());
        run("a chunk", &segments::write(&sent));
    }
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n";
    run("a length", &segments::write(&answer(length, b"x")));
}

#[test]
fn what_never_ends_is_bounded() {
    let megabytes = |pattern: &[u8]| pattern.repeat((2 << 20) / pattern.len());
    let head = "HTTP/1.1 200 OK\r\nX: ";
    run("a head", &segments::write(&answer(head, &megabytes(b"y: z\r\n "))));
    run("a size line", &segments::write(&answer(WATCH, &megabytes(b"0"))));
    let trailers = [&b"0\r\n"[..], &megabytes(b"a: b\r\n")].concat();
    run("a trailer section", &segments::write(&answer(WATCH, &trailers)));
    let nested = [&b"200000\r\n"[..], &megabytes(b"[")].concat();
    run("a nested text", &segments::write(&answer(WATCH, &nested)));
    let single = b"1\r\n{\r\n1\r\n\"\r\n".to_vec();
    let single = [single, b"1\r\na\r\n".repeat(100_000)].concat();
    run("chunks of one octet", &segments::write(&answer(WATCH, &single)));
}

#[test]
fn segments_ahead_of_a_hole_are_bounded() {
    let mut sent = answer(WATCH, &b"10\r\n0123456789abcdef\r\n".repeat(1 << 20));
    // Nothing acknowledges, and the first octets never come.
    sent.remove(3);
    let report = run("a hole", &segments::write(&sent));
    assert!(codes(&report).contains(&"lost-octets"), "{:?}", codes(&report));
}

#[test]
fn fragments_that_never_become_whole_are_bounded() {
    let mut capture = segments::write(&[segment(Side::Client, PLAIN, [0, 0], &[7; 1400], true)]);
    let record = capture.split_off(24);
    for number in 0..30_000_u32 {
        let at = capture.len();
        capture.extend_from_slice(&record);
        // The identification, and the flag for more fragments.
        let number = u16::try_from(number % 65_521).unwrap().to_be_bytes();
        capture[at + 16 + 4..at + 16 + 6].copy_from_slice(&number);
        capture[at + 16 + 6] = 0x20;
    }
    let report = run("fragments", &capture);
    assert_eq!(codes(&report), ["incomplete-fragments"]);
    assert_eq!(report["captures"][0]["problems"][0]["count"], 30_000);
}

#[test]
fn streams_beyond_the_limit_are_let_go_and_counted() {
    let mut limits = Limits::default();
    limits.open_streams = 2;
    let options = chunkscope::pipeline::options::Options { limits, ..options() };
    let mut sent = Vec::new();
    for port in 0..5 {
        let mut one = segment(Side::Client, PLAIN, [0, 0], b"GET / HTTP/1.1\r\n\r\n", true);
        one.source.set_port(2000 + port);
        sent.push(one);
    }
    let mut record = Record::default();
    let mut analysis = Analysis::new(&options, &mut record);
    analysis.capture("capture", segments::write(&sent).as_slice()).unwrap();
    analysis.conclude(false).unwrap();
    assert_eq!(record.problems, ["stream-limit"]);
    assert_eq!(record.exchanges.len(), 5, "what was read of them is told");
}

/// A connection that the server refuses.
fn refused(number: u32) -> [Sent; 2] {
    let mut syn = segment(Side::Client, SYN, [0, 0], b"", false);
    let address = Ipv4Addr::from_bits(0x0a01_0000 + number / 50_000);
    syn.source = (address, u16::try_from(2000 + number % 50_000).unwrap()).into();
    let mut rst = segment(Side::Server, RST, [0, 0], b"", true);
    rst.destination = syn.source;
    [syn, rst]
}

/// Of those that ended no more is remembered than of some.
#[test]
fn connections_one_after_the_other_take_no_memory() {
    let peak = |count| {
        let sent: Vec<_> = (0..count).flat_map(refused).collect();
        watched("connections", &["-q", "--threads", "1", "--allow", "nothing"], &segments::write(&sent)).1
    };
    // A short run may be over before its peak was seen.
    let some = (0..3).map(|_| peak(100_000)).max().unwrap();
    let many = peak(300_000);
    assert!(many < some + 1024, "{some} KiB, {many} KiB");
}

/// A packet of a connection that ended long before: it isn't known any more that
/// it was there.
#[test]
fn what_comes_too_late_to_be_told_from_a_new_stream_is_counted() {
    let mut limits = Limits::default();
    limits.ended_streams = 2;
    let options = chunkscope::pipeline::options::Options { limits, ..options() };
    for (late, problems) in [(5, &[][..]), (4, &[]), (0, &["stream-numbers"])] {
        let mut sent: Vec<_> = (0..6).flat_map(refused).collect();
        sent.extend(refused(late).into_iter().skip(1));
        let mut record = Record::default();
        let mut analysis = Analysis::new(&options, &mut record);
        analysis.capture("capture", segments::write(&sent).as_slice()).unwrap();
        analysis.conclude(false).unwrap();
        assert_eq!(record.problems, problems, "of {late}");
    }
}
