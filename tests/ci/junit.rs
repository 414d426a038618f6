//! JUnit XML.

use roxmltree::{Document, Node};

use crate::talk::*;
use crate::{json, on_each_recording, report};

/// Holds a document to Ant's schema (windyroad/JUnit-Schema, JUnit.xsd), rule
/// by rule; that of Jenkins' xUnit plugin (junit-10.xsd) allows all of this,
/// where a suite's time has at most three decimals.
pub fn assert_valid(text: &str) {
    let document = Document::parse(text).unwrap_or_else(|e| panic!("{e}:\n{text}"));
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    assert_eq!(root.attributes().count(), 0);
    for (id, suite) in elements(root).iter().enumerate() {
        assert_eq!(suite.tag_name().name(), "testsuite");
        let names = [
            "errors",
            "failures",
            "hostname",
            "id",
            "name",
            "package",
            "skipped",
            "tests",
            "time",
            "timestamp",
        ];
        assert_attributes(*suite, &names);
        assert_eq!(suite.attribute("id").unwrap(), id.to_string());
        assert!(!suite.attribute("name").unwrap().trim().is_empty());
        assert_time(suite.attribute("time").unwrap());
        let stamp = suite.attribute("timestamp").unwrap();
        let digits: String = stamp.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(digits, "0000-00-00T00:00:00");
        let children = elements(*suite);
        let tags: Vec<_> = children.iter().map(|child| child.tag_name().name()).collect();
        let [first, cases @ .., out, err] = &tags[..] else { panic!("{tags:?}") };
        assert_eq!((*first, *out, *err), ("properties", "system-out", "system-err"));
        assert!(cases.iter().all(|tag| *tag == "testcase"), "{tags:?}");
        for property in elements(children[0]) {
            assert_attributes(property, &["name", "value"]);
        }
        let cases = &children[1..children.len() - 2];
        let mut counts = [0usize; 3];
        for case in cases {
            assert_attributes(*case, &["classname", "name", "time"]);
            assert_time(case.attribute("time").unwrap());
            let inside = elements(*case);
            assert!(inside.len() <= 1, "a case has one outcome");
            for outcome in inside {
                let (place, names): (usize, &[&str]) = match outcome.tag_name().name() {
                    "failure" => (0, &["message", "type"]),
                    "error" => (1, &["message", "type"]),
                    "skipped" => (2, &["message"]),
                    other => panic!("{other}"),
                };
                counts[place] += 1;
                assert_attributes(outcome, names);
                assert_eq!(elements(outcome).len(), 0);
            }
        }
        let said: [usize; 3] =
            ["failures", "errors", "skipped"].map(|name| suite.attribute(name).unwrap().parse().unwrap());
        assert_eq!(said, counts);
        assert_eq!(suite.attribute("tests").unwrap(), cases.len().to_string());
    }
}

fn elements<'a, 'i>(node: Node<'a, 'i>) -> Vec<Node<'a, 'i>> {
    node.children().filter(Node::is_element).collect()
}

fn assert_attributes(node: Node<'_, '_>, names: &[&str]) {
    let mut found: Vec<_> = node.attributes().map(|attribute| attribute.name()).collect();
    found.sort_unstable();
    assert_eq!(found, names);
}

fn assert_time(time: &str) {
    let (seconds, decimals) = time.split_once('.').unwrap();
    assert!(
        seconds.parse::<u64>().is_ok() && decimals.len() == 3 && decimals.parse::<u64>().is_ok(),
        "{time}"
    );
}

/// The elements of that name, in a document.
pub fn all<'a, 'i>(document: &'a Document<'i>, name: &str) -> Vec<Node<'a, 'i>> {
    document.descendants().filter(|node| node.has_tag_name(name)).collect()
}

#[test]
fn each_recording_gives_a_valid_document_with_the_counts_of_the_json_report() {
    on_each_recording(|args| {
        let (text, status) = report("junit", b"", args);
        assert_valid(&text);
        let document = Document::parse(&text).unwrap();
        let json = json(b"", args);
        let exchanges: Vec<_> = json["captures"][0]["exchanges"].as_array().unwrap().iter().collect();
        let cases = all(&document, "testcase");
        let cases = &cases[..exchanges.len()];
        for (exchange, case) in exchanges.iter().zip(cases) {
            let outcome = case.first_element_child().map_or("pass", |outcome| outcome.tag_name().name());
            let gaps = args.contains(&"several,part,mixed,gaps,nothing");
            match exchange["verdict"].as_str().unwrap() {
                "pass" => assert_eq!(outcome, "pass"),
                "unchecked" => assert_eq!(outcome, "skipped"),
                "unverified" if gaps => assert_ne!(outcome, "failure"),
                _ => assert_eq!(outcome, "failure", "{args:?}"),
            }
            let text = case.first_element_child().and_then(|outcome| outcome.text()).unwrap_or_default();
            for violation in exchange["violations"].as_array().unwrap() {
                let code = violation["code"].as_str().unwrap();
                let message = violation["message"].as_str().unwrap();
                let told = text.lines().any(|line| line.starts_with(code) && line.ends_with(message));
                assert!(told, "{code}: {message} is not in\n{text}");
            }
        }
        let failed = !all(&document, "failure").is_empty() || !all(&document, "error").is_empty();
        assert_eq!(failed, status != 0, "{args:?}: a check that isn't passed shows");
    });
}

#[test]
fn a_failure_names_the_chunk_its_frames_and_what_to_do() {
    let capture = watch().chunk(event("a") + &event("b")).chunk("oops").server(LAST).capture();
    let (text, status) = report("junit", &capture, &["-"]);
    assert_eq!(status, 1);
    let document = Document::parse(&text).unwrap();
    let case = all(&document, "testcase")[0];
    assert_eq!(case.attribute("name"), Some("GET /api/v1/pods?watch=1 (stream 0)"));
    assert_eq!(case.attribute("classname"), Some("chunkscope.-"));
    let failure = case.first_element_child().unwrap();
    assert_eq!(failure.attribute("type"), Some("several-events"));
    let told = failure.text().unwrap();
    let mut lines = told.lines();
    assert_eq!(
        lines.next().unwrap(),
        "several-events: chunk 1 (0x82 = 130 octets, frame 6) holds events 1 and 2"
    );
    assert!(
        lines.next().unwrap().starts_with("not-an-event: chunk 2 (0x4 = 4 octets, frame 7) holds "),
        "{told}"
    );
    assert!(told.contains("\nWhat to do: "), "{told}");
    assert!(told.contains("tcp.stream eq 0 && frame.number in {6..7}"), "{told}");
}

#[test]
fn many_violations_are_listed_up_to_a_thousand_and_counted() {
    let mut talk = watch();
    for _ in 0..1003 {
        talk = talk.chunk("oops\n");
    }
    let (text, _) = report("junit", &talk.server(LAST).capture(), &["-"]);
    let document = Document::parse(&text).unwrap();
    let told = all(&document, "failure")[0].text().unwrap();
    assert_eq!(told.lines().filter(|line| line.starts_with("not-an-event: chunk ")).count(), 1000);
    assert!(told.contains("\n… and 3 more violations\n"), "{}", &told[told.len() - 1000..]);
}

#[test]
fn what_cannot_be_verified_fails_unless_gaps_are_allowed() {
    let talk = || watch().chunk(event("a")).server_lost(40).chunk(event("b")).client_acks().server(LAST);
    let capture = talk().capture();
    let (text, status) = report("junit", &capture, &["-"]);
    assert_eq!(status, 1);
    let document = Document::parse(&text).unwrap();
    let failure = all(&document, "failure")[0];
    assert_eq!(failure.attribute("type"), Some("unverified"));
    assert!(failure.text().unwrap().contains("tcpdump -B"), "{text}");
    let (text, _) = report("junit", &capture, &["--allow", "gaps", "-"]);
    assert!(!text.contains("<failure"), "{text}");
}

#[test]
fn what_is_allowed_passes_and_is_told_of_all_the_same() {
    let capture = watch().chunk(event("a") + &event("b")).server(LAST).capture();
    let (text, status) = report("junit", &capture, &["--allow", "several", "-"]);
    assert_eq!(status, 0);
    assert_valid(&text);
    assert!(!text.contains("<failure"), "{text}");
    let expected =
        "GET /api/v1/pods?watch=1 (stream 0): 1 chunk holds several events (--allow several)\n</system-out>";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_capture_that_cannot_be_read_is_an_error() {
    let (text, status) = report("junit", b"no capture at all, to be sure", &["-"]);
    assert_eq!(status, 2);
    assert_valid(&text);
    let document = Document::parse(&text).unwrap();
    let error = all(&document, "error")[0];
    assert_eq!(error.attribute("type"), Some("unreadable-capture"));
    assert_eq!(error.parent().unwrap().attribute("name"), Some("the capture can be read"));
}

#[test]
fn nothing_to_check_is_an_error_unless_it_is_allowed() {
    let plain = stream_of("text/plain").chunk("x").server(LAST).capture();
    let (text, status) = report("junit", &plain, &["-"]);
    assert_eq!(status, 3);
    assert_valid(&text);
    let document = Document::parse(&text).unwrap();
    assert_eq!(all(&document, "error")[0].attribute("type"), Some("nothing-to-check"));
    assert!(
        all(&document, "error")[0]
            .text()
            .unwrap()
            .starts_with("nothing to check: no chunked event stream\n  There is instead: "),
        "{text}"
    );
    let (text, status) = report("junit", &plain, &["--allow", "nothing", "-"]);
    assert_eq!(status, 0);
    assert_valid(&text);
    let document = Document::parse(&text).unwrap();
    assert_eq!((all(&document, "error").len(), all(&document, "skipped").len()), (0, 2));
}

#[test]
fn times_are_the_captures() {
    let capture = watch().chunk(event("a")).server(LAST).capture();
    let (text, _) = report("junit", &capture, &["-"]);
    let document = Document::parse(&text).unwrap();
    let suite = all(&document, "testsuite")[0];
    // Packets are a millisecond apart: the request is the 4th, the last chunk the 7th.
    assert_eq!(suite.attribute("timestamp"), Some("2023-11-14T22:13:20"));
    assert_eq!(suite.attribute("time"), Some("0.006"));
    assert_eq!(all(&document, "testcase")[0].attribute("time"), Some("0.003"));
}
