//! What comes out doesn't depend on the number of threads, to the octet; a
//! report holds back the reader; and nothing that arrived waits for what didn't.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "support/segments.rs"]
mod segments;

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{self, Read, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::rc::Rc;

use chunkscope::limits::Limits;
use chunkscope::packet::Flags;
use chunkscope::pipeline::options::{Filters, Options};
use chunkscope::pipeline::{Analysis, AnalysisError};
use chunkscope::report::csv::CsvReport;
use chunkscope::report::json::JsonReport;
use chunkscope::report::jsonl::JsonlReport;
use chunkscope::report::payload::Payload;
use chunkscope::report::table::Table;
use chunkscope::report::text::TextOptions;
use chunkscope::report::walkthrough::Walkthrough;
use chunkscope::report::{Conclusion, Finding, Report};
use segments::Sent;

const THREADS: [usize; 4] = [1, 2, 3, 8];

/// Options for so many threads. A read block this small makes each item of a
/// stream a batch of its own, or nearly so.
fn options(threads: usize, read_block: usize) -> Options {
    let mut limits = Limits::default();
    limits.read_block = read_block;
    Options {
        keep_payload: limits.payload,
        check_utf8: true,
        summaries: true,
        threads,
        limits,
        ..Options::default()
    }
}

/// Several reports at once.
struct All<'a>(Vec<Box<dyn Report + 'a>>);

impl Report for All<'_> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|report| report.finding(finding))
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|report| report.finish(conclusion))
    }
}

/// What every format says of captures, and the errors and counts that the
/// caller is given.
fn outputs<R: Read>(options: &Options, captures: Vec<(&str, R)>, join: bool) -> (Vec<Vec<u8>>, String) {
    let mut outs = vec![Vec::new(); 5];
    let told = {
        let [json, jsonl, csv, table, walkthrough] = outs.get_disjoint_mut([0, 1, 2, 3, 4]).unwrap();
        let text = TextOptions { limit: None, list_all: true, ..TextOptions::default() };
        let mut reports = All(vec![
            Box::new(JsonReport::new(json, Payload::Full)),
            Box::new(JsonlReport::new(jsonl, Payload::Full)),
            Box::new(CsvReport::new(csv, Payload::Preview)),
            Box::new(Table::new(table, text)),
            Box::new(Walkthrough::new(walkthrough, text)),
        ]);
        let mut analysis = Analysis::new(options, &mut reports);
        let mut told = Vec::new();
        if join {
            told.push(
                analysis.joined(captures.into_iter().map(|(name, source)| (name.to_owned(), Ok(source)))),
            );
        } else {
            for (name, source) in captures {
                told.push(analysis.capture(name, source));
            }
        }
        let failed = told.iter().any(Result::is_err);
        let told: Vec<_> =
            told.into_iter().map(|outcome| outcome.map_err(|error| error.to_string())).collect();
        format!("{told:?} {:?}", analysis.conclude(failed).unwrap())
    };
    (outs, told)
}

/// Holds what a capture yields with several threads against what it yields
/// with one that reads in blocks of the usual size.
#[track_caller]
fn same<R: Read>(name: &str, read_blocks: &[usize], source: impl Fn() -> R) {
    let expected = outputs(&options(1, Limits::default().read_block), vec![(name, source())], false);
    for threads in THREADS {
        // Together all the time, and with the calling thread alone now and then.
        let trials = [usize::MAX, 700];
        for (&read_block, trial) in read_blocks.iter().flat_map(|block| trials.map(|trial| (block, trial))) {
            let mut options = options(threads, read_block);
            options.limits.trial = trial;
            let found = outputs(&options, vec![(name, source())], false);
            let which = format!("{name}, {threads} threads, blocks of {read_block}, trials of {trial}");
            assert_eq!(found.1, expected.1, "{which}");
            for (place, (found, expected)) in found.0.iter().zip(&expected.0).enumerate() {
                assert!(found == expected, "{which}, report {place}");
            }
        }
    }
}

fn testdata() -> impl Iterator<Item = (String, PathBuf)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_str().unwrap().contains(".pcap"));
    paths.sort();
    assert!(paths.len() > 30);
    paths.into_iter().map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path))
}

/// One side of a conversation after the other, as segments.
struct Talk {
    client: std::net::SocketAddr,
    server: std::net::SocketAddr,
    here: u32,
    there: u32,
}

impl Talk {
    fn new(number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        let client = format!("10.1.{high}.{low}:40000").parse().unwrap();
        Self { client, server: "10.0.0.2:8001".parse().unwrap(), here: 1000, there: 5000 }
    }

    fn send(&mut self, from_client: bool, flags: Flags, payload: &[u8]) -> Sent {
        let (source, destination) =
            if from_client { (self.client, self.server) } else { (self.server, self.client) };
        let (seq, ack) =
            if from_client { (&mut self.here, self.there) } else { (&mut self.there, self.here) };
        let ack = (!(flags.syn && from_client)).then_some(ack);
        let (seconds, payload) = (1_700_000_000, payload.to_vec());
        let sent = Sent { seconds, micros: 0, source, destination, seq: *seq, ack, flags, payload };
        *seq = seq.wrapping_add(sent.len());
        sent
    }

    fn open(&mut self) -> [Sent; 2] {
        let syn = Flags { syn: true, ..Flags::default() };
        [self.send(true, syn, b""), self.send(false, syn, b"")]
    }

    fn client(&mut self, payload: &[u8]) -> Sent {
        self.send(true, Flags::default(), payload)
    }

    fn server(&mut self, payload: &[u8]) -> Sent {
        self.send(false, Flags::default(), payload)
    }

    fn close(&mut self) -> [Sent; 2] {
        let fin = Flags { fin: true, ..Flags::default() };
        [self.send(false, fin, b""), self.send(true, fin, b"")]
    }
}

const REQUEST: &[u8] = b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: a\r\n\r\n";
const RESPONSE: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(payload: &str) -> Vec<u8> {
    format!("{:x}\r\n{payload}\r\n", payload.len()).into_bytes()
}

fn event(number: usize, filler: usize) -> String {
    let filler = "x".repeat(filler);
    format!(
        "{{\"type\":\"ADDED\",\"object\":{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"p{number}\",\
         \"resourceVersion\":\"{number}\",\"labels\":{{\"a\":\"{filler}\"}}}}}}}}\n"
    )
}

/// So many watches at once, one segment of each in turn, of seven kinds: whole,
/// with coalesced or split events, broken framing, lost octets, and TLS. They
/// end in another order than they begin.
fn crowd(streams: u16, rounds: usize, filler: usize) -> Vec<Sent> {
    crowd_of(|number| number % 7, streams, rounds, filler)
}

/// The same, each stream of the kind that `kind` tells.
fn crowd_of(kind: impl Fn(usize) -> usize, streams: u16, rounds: usize, filler: usize) -> Vec<Sent> {
    let mut talks: Vec<_> = (0..streams).map(Talk::new).collect();
    let mut sent: Vec<Sent> = talks.iter_mut().flat_map(Talk::open).collect();
    for (number, talk) in talks.iter_mut().enumerate() {
        if kind(number) == 6 {
            sent.push(talk.client(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"));
        } else {
            sent.extend([talk.client(REQUEST), talk.server(RESPONSE)]);
        }
    }
    for round in 0..rounds {
        for (number, talk) in talks.iter_mut().enumerate() {
            let one = event(round, filler + number % 50);
            let (front, back) = one.split_at(one.len() / 2);
            match kind(number) {
                0 | 1 => sent.push(talk.server(&chunk(&one))),
                2 => sent.push(talk.server(&chunk(&(one.clone() + &one)))),
                3 => sent.extend([talk.server(&chunk(front)), talk.server(&chunk(back))]),
                4 if round == rounds / 2 => sent.push(talk.server(b"nonsense\r\n")),
                5 if round == rounds / 2 => drop(talk.server(&chunk(&one))),
                6 => {}
                _ => sent.push(talk.server(&chunk(&one))),
            }
        }
    }
    for place in 0..talks.len() {
        // 3 is prime to the number of streams, or some stay open: no matter.
        let place = (place * 3 + 1) % talks.len();
        let talk = &mut talks[place];
        if kind(place) != 6 && place % 2 == 0 {
            sent.push(talk.server(b"0\r\n\r\n"));
        }
        sent.extend(talk.close());
    }
    sent
}

#[test]
fn every_recording_gives_the_same_with_any_number_of_threads() {
    for (name, path) in testdata() {
        let octets = fs::read(path).unwrap();
        same(&name, &[64, 4096], || octets.as_slice());
    }
}

#[test]
fn interleaved_streams_give_the_same_with_any_number_of_threads() {
    let capture = segments::write(&crowd(41, 12, 10));
    same("crowd", &[64, 300, 2048, 65536], || capture.as_slice());
    let capture = segments::write(&crowd(1, 200, 100));
    same("one", &[64, 2048, 65536], || capture.as_slice());
}

#[test]
fn more_streams_with_troubles_than_are_named_give_the_same() {
    // 1,000 are named, and of the TLS streams listed, in the order in which
    // they end.
    let capture = segments::write(&crowd_of(|number| 5 + number % 2, 2200, 2, 0));
    let run = |threads| outputs(&options(threads, 64 << 10), vec![("c", capture.as_slice())], false);
    let expected = run(1);
    let json = std::str::from_utf8(&expected.0[0]).unwrap();
    assert!(json.contains("the same of 100 further streams"), "named and counted");
    for threads in [2, 5] {
        assert!(run(threads) == expected, "{threads} threads");
    }
}

#[test]
fn tiny_chunks_that_yield_many_findings_give_the_same() {
    // One stream and several: more findings than may wait to be told, of fewer
    // batches than may be under way.
    for streams in [1, 5] {
        let mut talks: Vec<_> = (0..streams).map(Talk::new).collect();
        let mut sent: Vec<Sent> = talks.iter_mut().flat_map(Talk::open).collect();
        for talk in &mut talks {
            sent.extend([talk.client(REQUEST), talk.server(RESPONSE)]);
        }
        let chunks: Vec<u8> = (0..12).flat_map(|number| chunk(&event(number, 0))).collect();
        for _ in 0..1200 / streams {
            sent.extend(talks.iter_mut().map(|talk| talk.server(&chunks)));
        }
        let capture = segments::write(&sent);
        let run = |threads| {
            let mut out = Vec::new();
            let mut report = JsonlReport::new(&mut out, Payload::Full);
            let options = options(threads, Limits::default().read_block);
            let mut analysis = Analysis::new(&options, &mut report);
            analysis.capture("c", capture.as_slice()).unwrap();
            analysis.conclude(false).unwrap();
            out
        };
        let expected = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == expected, "{threads} threads, {streams} streams");
        }
    }
}

#[test]
fn filters_select_the_same_with_any_number_of_threads() {
    let capture = segments::write(&crowd(30, 6, 0));
    let filters = Filters { streams: vec![3, 4, 17], ..Filters::default() };
    let expected = outputs(
        &Options { filters: filters.clone(), ..options(1, 1024) },
        vec![("f", capture.as_slice())],
        false,
    );
    assert!(expected.1.contains("streams: 3,"), "{}", expected.1);
    for threads in THREADS {
        let options = Options { filters: filters.clone(), ..options(threads, 1024) };
        assert!(outputs(&options, vec![("f", capture.as_slice())], false) == expected, "{threads}");
    }
}

#[test]
fn parts_of_a_recording_and_several_captures_give_the_same() {
    let whole = crowd(10, 20, 30);
    let (one, two) = whole.split_at(whole.len() / 3);
    let (one, two) = (segments::write(one), segments::write(two));
    for join in [true, false] {
        let captures = || vec![("one", one.as_slice()), ("two", two.as_slice()), ("three", &one[..40])];
        let expected = outputs(&options(1, 1024), captures(), join);
        for threads in THREADS {
            assert!(outputs(&options(threads, 1024), captures(), join) == expected, "{threads}, {join}");
        }
    }
}

/// Octets, then an error.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(io::Error::other("the disk is gone")),
            got => Ok(got),
        }
    }
}

#[test]
fn an_error_in_the_middle_comes_behind_all_that_was_read() {
    let capture = segments::write(&crowd(9, 10, 40));
    for end in [capture.len() / 3, capture.len() / 2, capture.len() - 1] {
        same("cut", &[64, 1024], || &capture[..end]);
        same("failing", &[64, 1024], || Failing(&capture[..end]));
    }
    // A length that can't be: nothing behind it can be found.
    let mut damaged = capture;
    let place = damaged.len() / 2;
    let from = {
        let mut at = 24;
        while at < place {
            at += 16 + u32::from_le_bytes(damaged[at + 8..at + 12].try_into().unwrap()) as usize;
        }
        at
    };
    damaged[from + 8..from + 16].fill(0xff);
    same("damaged", &[64, 1024], || damaged.as_slice());
}

/// Counts findings, and fails at one of them.
struct Counting {
    count: Rc<Cell<u64>>,
    fails_at: u64,
    text: String,
}

impl Report for Counting {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.count.set(self.count.get() + 1);
        assert!(self.count.get() <= self.fails_at, "nothing comes behind a failure");
        self.text += &format!("{finding:?}\n");
        match self.count.get() == self.fails_at {
            true => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
            false => Ok(()),
        }
    }

    fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_report_that_fails_ends_the_analysis_at_that_finding() {
    let capture = segments::write(&crowd(9, 10, 40));
    let run = |threads: usize, fails_at: u64| {
        let mut report = Counting { count: Rc::default(), fails_at, text: String::new() };
        let mut options = options(threads, 256);
        options.limits.trial = 700;
        let mut analysis = Analysis::new(&options, &mut report);
        match analysis.capture("c", capture.as_slice()) {
            Err(AnalysisError::Report(error)) => assert_eq!(error.kind(), io::ErrorKind::BrokenPipe),
            other => panic!("{other:?}"),
        }
        report.text
    };
    for fails_at in [1, 2, 20, 77, 150] {
        let expected = run(1, fails_at);
        assert_eq!(expected.lines().count() as u64, fails_at);
        for threads in THREADS {
            assert_eq!(run(threads, fails_at), expected, "{threads} threads");
        }
    }
}

/// Panics at a finding.
struct Panicking(u64);

impl Report for Panicking {
    fn finding(&mut self, _: &Finding<'_>) -> io::Result<()> {
        self.0 -= 1;
        match self.0 {
            0 => panic::panic_any(THREADS),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_panic_of_a_report_goes_on_in_the_caller() {
    let capture = segments::write(&crowd(9, 10, 40));
    for threads in THREADS {
        let options = options(threads, 256);
        let panicked = panic::catch_unwind(AssertUnwindSafe(|| {
            let mut report = Panicking(50);
            let _ = Analysis::new(&options, &mut report).capture("c", capture.as_slice());
        }))
        .unwrap_err();
        assert_eq!(*panicked.downcast::<[usize; 4]>().unwrap(), THREADS);
    }
}

/// Notes how many findings were told before each read.
struct Pipe<'a> {
    packets: Vec<&'a [u8]>,
    told: Rc<Cell<u64>>,
    before: Rc<RefCell<Vec<u64>>>,
}

impl Read for Pipe<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.before.borrow_mut().push(self.told.get());
        let Some(packet) = self.packets.first_mut() else { return Ok(0) };
        let got = packet.read(out)?;
        if packet.is_empty() {
            self.packets.remove(0);
        }
        Ok(got)
    }
}

#[test]
fn nothing_that_arrived_waits_for_what_did_not() {
    let capture = segments::write(&crowd(5, 30, 200));
    // As `tcpdump -U` writes: the header, then a packet at once.
    let mut packets = vec![&capture[..24]];
    let mut at = 24;
    while at < capture.len() {
        let end = at + 16 + u32::from_le_bytes(capture[at + 8..at + 12].try_into().unwrap()) as usize;
        packets.push(&capture[at..end]);
        at = end;
    }
    let run = |threads| {
        let told = Rc::new(Cell::new(0));
        let before = Rc::default();
        let pipe = Pipe { packets: packets.clone(), told: Rc::clone(&told), before: Rc::clone(&before) };
        let mut report = Counting { count: told, fails_at: u64::MAX, text: String::new() };
        // Larger than a packet, so that each read gives less than asked for.
        let options = options(threads, 4096);
        Analysis::new(&options, &mut report).capture("c", pipe).unwrap();
        (before.take(), report.text)
    };
    let expected = run(1);
    assert!(expected.0.len() > 150);
    for threads in THREADS {
        assert_eq!(run(threads), expected, "{threads} threads");
    }
}

/// Notes at each finding how far the reader is ahead.
struct Slow {
    read: Rc<Cell<u64>>,
    /// Octets up to the end of each frame.
    ends: Vec<u64>,
    most: u64,
}

impl Report for Slow {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        if let Finding::Chunk(judged) = finding {
            // Whoever could read on meanwhile, would.
            std::thread::sleep(std::time::Duration::from_micros(50));
            let frame = usize::try_from(judged.chunk.last.frame.get()).unwrap();
            self.most = self.most.max(self.read.get() - self.ends[frame - 1]);
        }
        Ok(())
    }

    fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
        Ok(())
    }
}

/// Counts what is read.
struct Metered<'a>(&'a [u8], Rc<Cell<u64>>);

impl Read for Metered<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.0.read(out)?;
        self.1.set(self.1.get() + got as u64);
        Ok(got)
    }
}

#[test]
fn a_slow_report_holds_back_the_reader() {
    // Whole watches, whose chunks are told of as they come.
    let capture = segments::write(&crowd_of(|_| 0, 6, 400, 300));
    let mut ends = Vec::new();
    let mut at = 24;
    while at < capture.len() {
        at += 16 + u32::from_le_bytes(capture[at + 8..at + 12].try_into().unwrap()) as usize;
        ends.push(at as u64);
    }
    for threads in THREADS {
        let options = options(threads, 4096);
        let read = Rc::new(Cell::new(0));
        let mut report = Slow { read: Rc::clone(&read), ends: ends.clone(), most: 0 };
        Analysis::new(&options, &mut report).capture("c", Metered(&capture, read)).unwrap();
        // The batches, each with the headers of its packets and one packet more
        // than it needs; the block that is read, and the source's buffer.
        let batch = 2 * (2 * 4096) + 1024;
        let most = (options.limits.batches as u64 + 1) * batch + 4096 + (64 << 10);
        assert!(report.most <= most, "{threads} threads: {} octets ahead, not {most}", report.most);
        assert!(capture.len() as u64 > 8 * most);
    }
}

#[cfg(target_os = "linux")]
mod program {
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    fn program(arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_chunkscope"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// More than is read before threads are started.
    fn large() -> Vec<u8> {
        let capture = segments::write(&crowd(20, 200, 200));
        assert!(capture.len() > 3 * Limits::default().read_block);
        capture
    }

    fn tasks(child: &Child) -> usize {
        fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().count()
    }

    #[test]
    fn as_many_threads_run_as_were_asked_for() {
        let capture = large();
        for threads in [1, 2, 5] {
            let mut child = program(&["--threads", &threads.to_string(), "-q", "-"]);
            let mut stdin = child.stdin.take().unwrap();
            assert_eq!(tasks(&child), 1, "before anything is read");
            stdin.write_all(&capture).unwrap();
            let begin = Instant::now();
            while tasks(&child) < threads && begin.elapsed() < Duration::from_secs(20) {
                thread::sleep(Duration::from_millis(5));
            }
            thread::sleep(Duration::from_millis(50));
            assert_eq!(tasks(&child), threads);
            drop(stdin);
            assert_eq!(child.wait().unwrap().code(), Some(1));
        }
    }

    #[test]
    fn a_reader_that_leaves_ends_the_program_though_the_source_goes_on() {
        for threads in ["1", "2", "4"] {
            let capture = large();
            let mut child = program(&["--threads", threads, "-f", "jsonl", "-"]);
            let mut stdin = child.stdin.take().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            let writer = thread::spawn(move || {
                // Fails when the program leaves; else the pipe stays open.
                let _ = stdin.write_all(&capture);
                stdin
            });
            stdout.read_exact(&mut [0; 1000]).unwrap();
            drop(stdout);
            let status = child.wait().unwrap();
            // Chunks that hold several events were told of before.
            assert_eq!(status.code(), Some(1), "{threads}");
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            assert_eq!(said, "");
            drop(writer.join().unwrap());
        }
    }
}
