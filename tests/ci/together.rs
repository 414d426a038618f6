//! Several reports in one pass, and several captures in one report.

use crate::talk::*;
use crate::{FORMATS, json, junit, recordings, report, sarif};

#[test]
fn reports_of_one_pass_equal_those_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut captures: Vec<String> =
        recordings().into_iter().filter(|args| args.len() == 1).flatten().collect();
    captures.push("missing.pcap".to_owned());
    let captures: Vec<&str> = captures.iter().map(String::as_str).collect();
    let place = |format: &str| folder.path().join(format).to_str().unwrap().to_owned();
    let outputs: Vec<String> = FORMATS.iter().map(|format| format!("{format}={}", place(format))).collect();
    let mut args = vec!["-f", "json"];
    outputs.iter().for_each(|output| args.extend(["-o", output]));
    args.extend(&captures);
    let (together, _, status) = call(b"", &args);
    assert_eq!(status, 2);
    assert_eq!(String::from_utf8(together).unwrap(), report("json", b"", &captures).0);
    for format in FORMATS {
        let (alone, status) = report(format, b"", &captures);
        assert_eq!(status, 2);
        assert_eq!(std::fs::read_to_string(place(format)).unwrap(), alone, "{format}");
        assert_eq!(report(format, b"", &captures).0, alone, "{format}: the same again");
    }
    let summary = &json(b"", &captures)["summary"];
    junit::assert_valid(&report("junit", b"", &captures).0);
    let log = sarif::assert_valid(&report("sarif", b"", &captures).0);
    let violations = log["runs"][0]["results"].as_array().unwrap().iter().filter(|result| {
        result["level"] == "error"
            && !["unverified", "unreadable-capture"].iter().any(|rule| result["ruleId"] == *rule)
    });
    assert_eq!(violations.count() as u64, summary["violations"]);
    assert_eq!(log["runs"][0]["artifacts"].as_array().unwrap().len() as u64, summary["captures"]);
}

#[test]
fn what_is_shown_elsewhere_changes_nothing() {
    let capture = watch().chunk(event("a")).chunk("oops").server(LAST).capture();
    for format in FORMATS {
        let (whole, _) = report(format, &capture, &["-"]);
        for options in
            [&["--failed"][..], &["--all"], &["--payload", "full"], &["--limit", "1"], &["--color", "always"]]
        {
            let args: Vec<&str> = options.iter().copied().chain(["-"]).collect();
            assert_eq!(report(format, &capture, &args).0, whole, "{format} {options:?}");
        }
    }
}

#[test]
fn exchanges_that_interleave_are_in_their_order() {
    // Pipelined exchanges on two connections, of which the first is done last.
    let one = watch().chunk("oops1").server("3\r\nab");
    let two = talk()
        .between("10.0.0.1:40001", "10.0.0.2:8001")
        .client(REQUEST)
        .server(HEAD)
        .chunk("oops2")
        .server(LAST);
    let mut both = one.clone();
    both.sent.extend(two.sent);
    let (text, _) = report("junit", &both.capture(), &["-"]);
    let at = |stream: usize| text.find(&format!("(stream {stream})")).unwrap();
    assert!(at(0) < at(1), "{text}");
}
