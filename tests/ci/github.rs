//! Workflow commands and the job summary.

use std::path::Path;

use crate::talk::*;
use crate::{json, on_each_recording, report};

/// A workflow command, as the runner reads it.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    pub name: String,
    pub properties: Vec<(String, String)>,
    pub message: String,
}

/// Reads lines as the runner does: each must be a command.
pub fn commands(text: &str) -> Vec<Command> {
    let read = |text: &str| {
        text.replace("%0D", "\r")
            .replace("%0A", "\n")
            .replace("%3A", ":")
            .replace("%2C", ",")
            .replace("%25", "%")
    };
    let lines = text.split_terminator('\n');
    lines
        .map(|line| {
            let (command, message) = line.strip_prefix("::").unwrap().split_once("::").unwrap();
            let (name, properties) = command.split_once(' ').unwrap();
            let properties = properties.split(',').map(|property| property.split_once('=').unwrap());
            let properties = properties.map(|(key, value)| (key.to_owned(), read(value))).collect();
            Command { name: name.to_owned(), properties, message: read(message) }
        })
        .collect()
}

impl Command {
    fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn count(commands: &[Command], name: &str) -> usize {
    commands.iter().filter(|command| command.name == name).count()
}

/// The program as a step runs it, with a file for its summary.
fn step(summary: &Path, input: &[u8], args: &[&str]) -> i32 {
    let done = assert_cmd::cargo::cargo_bin_cmd!("chunkscope")
        .env("GITHUB_STEP_SUMMARY", summary)
        .args(args)
        .write_stdin(input)
        .output()
        .unwrap();
    done.status.code().unwrap()
}

#[test]
fn each_recording_gives_commands_with_the_counts_of_the_json_report() {
    on_each_recording(|args| {
        let (text, status) = report("github", b"", args);
        let commands = commands(&text);
        let summary = &json(b"", args)["summary"];
        assert!(count(&commands, "error") <= 10 && count(&commands, "warning") <= 10);
        assert_eq!(count(&commands, "error") > 0, status != 0, "{args:?}");
        let notice = commands.last().unwrap();
        assert_eq!(notice.name, "notice");
        let violations = summary["violations"].as_u64().unwrap();
        let noun = if violations == 1 { "violation" } else { "violations" };
        assert_eq!(notice.message.contains(&format!("{violations} {noun} in ")), violations > 0, "{text}");
    });
}

#[test]
fn an_annotation_says_what_where_and_what_to_do() {
    let talk = watch().chunk(event("a") + &event("b")).chunk(event("c") + &event("d")).chunk(event("e"));
    let path = file("watch.pcap", &talk.server(LAST).capture());
    let (text, status) = report("github", b"", &[path.to_str().unwrap()]);
    assert_eq!(status, 1);
    let [error, notice] = &commands(&text)[..] else { panic!("{text}") };
    assert_eq!(error.name, "error");
    assert_eq!(error.property("file"), path.to_str());
    assert_eq!(error.property("line"), Some("6"), "the frame");
    assert_eq!(error.property("title"), Some("A chunk holds several events (several-events, 2 times)"));
    let start = "GET /api/v1/pods?watch=1 (stream 0): chunk 1 (0x82 = 130 octets, frame 6) holds events 1 and 2; \
                 chunk 2 (0x82 = 130 octets, frame 7) holds events 3 and 4.\n";
    assert!(error.message.starts_with(start), "{}", error.message);
    assert!(error.message.contains("\nWhat to do: "), "{}", error.message);
    assert_eq!(notice.message, "fail: 2 violations in 1 exchange");
}

/// So many exchanges that fail, each on a connection of its own.
fn failing(exchanges: usize) -> Vec<u8> {
    let mut all = talk();
    all.sent.clear();
    for number in 0..exchanges {
        let one = talk().between(&format!("10.0.0.1:{}", 40_000 + number), "10.0.0.2:8001");
        all.sent.extend(one.client(REQUEST).server(HEAD).chunk("oops").server(LAST).sent);
    }
    all.capture()
}

#[test]
fn beyond_ten_annotations_the_rest_is_counted() {
    let (text, _) = report("github", &failing(10), &["-"]);
    assert_eq!(count(&commands(&text), "error"), 10);
    assert!(!text.contains("left out"), "{text}");
    let (text, _) = report("github", &failing(13), &["-"]);
    let commands = commands(&text);
    assert_eq!(count(&commands, "error"), 10);
    let notice = &commands.last().unwrap().message;
    assert!(notice.starts_with("fail: 13 violations in 13 exchanges; 3 more errors left out"), "{notice}");
}

#[test]
fn a_capture_that_cannot_be_read_comes_before_all_else() {
    let good = file("bad.pcap", &failing(12));
    let (text, status) = report("github", b"", &[good.to_str().unwrap(), "missing.pcap"]);
    assert_eq!(status, 2);
    let commands = commands(&text);
    assert_eq!(commands[0].property("file"), Some("missing.pcap"));
    assert_eq!(count(&commands, "error"), 10);
    assert!(commands.last().unwrap().message.contains("3 more errors left out"), "{text}");
}

#[test]
fn what_is_allowed_is_a_warning() {
    let capture = watch().chunk(event("a") + &event("b")).server(LAST).capture();
    let (text, status) = report("github", &capture, &["--allow", "several", "-"]);
    assert_eq!(status, 0);
    let commands = commands(&text);
    assert_eq!((count(&commands, "error"), count(&commands, "warning")), (0, 1));
    assert!(commands[0].message.contains("(--allow several)"), "{text}");
    let plain = stream_of("text/plain").chunk("x").server(LAST).capture();
    let (text, status) = report("github", &plain, &["-"]);
    assert_eq!((status, count(&crate::github::commands(&text), "error")), (3, 1));
    let (text, status) = report("github", &plain, &["--allow", "nothing", "-"]);
    assert_eq!((status, count(&crate::github::commands(&text), "error")), (0, 0));
}

#[test]
fn the_job_summary_is_appended_within_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let summary = folder.path().join("summary.md");
    std::fs::write(&summary, "# Before\n").unwrap();
    let capture = failing(2);
    assert_eq!(step(&summary, &capture, &["-f", "github", "-"]), 1);
    let text = std::fs::read_to_string(&summary).unwrap();
    let (before, ours) = text.split_at("# Before\n\n".len());
    assert_eq!(before, "# Before\n\n");
    assert_eq!(ours, report("markdown", &capture, &["-"]).0);

    // Other formats leave it alone.
    assert_eq!(step(&summary, &capture, &["-f", "markdown", "-"]), 1);
    assert_eq!(std::fs::read_to_string(&summary).unwrap(), text);

    // A file that is nearly full takes less, one that is full nothing.
    for (left, grows) in [(5000, true), (100, false), (0, false)] {
        let before = (1 << 20) - left;
        std::fs::write(&summary, vec![b'x'; before]).unwrap();
        assert_eq!(step(&summary, &failing(60), &["-f", "github", "-"]), 1);
        let len = std::fs::metadata(&summary).unwrap().len() as usize;
        assert!(len <= 1 << 20, "{len}");
        assert_eq!(len > before, grows, "{left}");
    }
}

#[test]
fn a_summary_that_cannot_be_written_is_told_of() {
    let status = step(Path::new("/nonexistent/summary.md"), &failing(1), &["-f", "github", "-"]);
    assert_eq!(status, 2);
}
