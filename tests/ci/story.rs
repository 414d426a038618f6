//! What `--lint` found and what made chunk edges differ from event edges, in
//! each report for CI.

use pulldown_cmark::{Event, Parser};
use roxmltree::Document;
use serde_json::Value;

use crate::github::{Command, commands};
use crate::talk::*;
use crate::{json, junit, markdown, report, sarif};

const GONE: &str = "testdata/gone-410.pcap";
const NGINX: &str = "testdata/nginx-buffered.pcap";

/// The findings of `--lint` in the JSON report: stream, code, chunk, frame,
/// message, and whether it fails the check.
fn lints(input: &[u8], args: &[&str]) -> Vec<(Value, String, Value, Value, String, bool)> {
    let mut found = Vec::new();
    for exchange in json(input, args)["captures"][0]["exchanges"].as_array().unwrap() {
        for lint in exchange["lints"].as_array().unwrap() {
            let text = |name: &str| lint[name].as_str().unwrap().to_owned();
            found.push((
                exchange["stream"].clone(),
                text("code"),
                lint["chunk"].clone(),
                lint["frame"].clone(),
                text("message"),
                lint["denied"].as_bool().unwrap(),
            ));
        }
    }
    found
}

/// Each hint of the JSON report: its cause and its message.
fn hints(args: &[&str]) -> Vec<(String, String)> {
    let json = json(b"", args);
    let exchanges = json["captures"][0]["exchanges"].as_array().unwrap();
    let hints = exchanges.iter().flat_map(|exchange| exchange["hints"].as_array().unwrap());
    let text = |hint: &Value, name: &str| hint[name].as_str().unwrap().to_owned();
    hints.map(|hint| (text(hint, "code"), text(hint, "message"))).collect()
}

#[test]
fn junit_fails_by_what_is_denied_and_notes_the_rest() {
    let args = ["--lint", "--deny", "watch-expired", GONE];
    let (text, status) = report("junit", b"", &args);
    assert_eq!(status, 1);
    junit::assert_valid(&text);
    let document = Document::parse(&text).unwrap();
    let failures = junit::all(&document, "failure");
    let output = junit::all(&document, "system-out")[0].text().unwrap();
    let found = lints(b"", &args);
    assert_eq!(found.iter().filter(|lint| lint.5).count(), 3);
    assert_eq!(failures.len(), 3);
    for (stream, code, chunk, frame, message, denied) in found {
        let told = match denied {
            true => {
                let failure = failures.iter().find(|failure| {
                    let name = failure.parent().unwrap().attribute("name").unwrap();
                    name.ends_with(&format!("(stream {stream})"))
                });
                let failure = failure.unwrap();
                assert_eq!(failure.attribute("type"), Some(code.as_str()));
                failure.text().unwrap()
            }
            false => output,
        };
        let start = if denied { code.clone() } else { format!("stream {stream}: note {code} ") };
        let line = told.lines().find(|line| line.starts_with(&start) && line.ends_with(&message));
        let line = line.unwrap_or_else(|| panic!("{start}: {told}"));
        assert!(line.contains(&format!("frame {frame}")), "{line}");
        assert!(chunk.is_null() || line.contains(&format!("chunk {chunk}")), "{line}");
    }
    assert!(failures[0].text().unwrap().contains("\nWhat to do: In the client, list anew"), "{text}");
}

#[test]
fn sarif_has_a_rule_and_a_result_for_each() {
    let args = ["--lint", "--deny", "watch-expired", GONE];
    let log = sarif::assert_valid(&report("sarif", b"", &args).0);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let of_json = lints(b"", &args);
    assert_eq!(results.len(), of_json.len());
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    for (stream, code, chunk, frame, message, denied) in of_json {
        let result = results.iter().find(|result| {
            result["ruleId"] == code.as_str()
                && result["properties"]["stream"] == stream
                && result["properties"]["chunk"] == chunk
        });
        let result = result.unwrap_or_else(|| panic!("{code}: {log:#}"));
        assert_eq!(result["level"], if denied { "error" } else { "note" });
        assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], frame);
        assert!(result["message"]["text"].as_str().unwrap().contains(&message), "{result:#}");
        let rule = rules.iter().find(|rule| rule["id"] == code.as_str()).unwrap();
        assert!(rule["help"]["text"].as_str().unwrap().contains("What to do: "), "{rule:#}");
        assert_eq!(rule["defaultConfiguration"]["level"], "note");
    }
}

#[test]
fn how_a_watch_usually_ends_is_no_note_for_anybody() {
    let args = ["--lint", "testdata/bookmarks.pcap"];
    let log = sarif::assert_valid(&report("sarif", b"", &args).0);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let ended: Vec<_> = results
        .iter()
        .filter(|result| {
            ["watch-ended-timeout", "watch-ended-abort"].iter().any(|id| result["ruleId"] == *id)
        })
        .collect();
    assert!(!ended.is_empty(), "{log:#}");
    for result in ended {
        assert_eq!((&result["level"], &result["kind"]), (&"none".into(), &"informational".into()));
    }
    let (text, _) = report("github", b"", &args);
    assert!(!text.contains("watch-ended-timeout") && !text.contains("watch-ended-abort"), "{text}");
}

#[test]
fn github_annotates_both_within_its_limits() {
    let args = ["--lint", "--deny", "watch-expired", GONE];
    let (text, _) = report("github", b"", &args);
    let all = commands(&text);
    let of = |all: &[Command], name: &str| all.iter().filter(|command| command.name == name).count();
    let found = lints(b"", &args);
    assert_eq!(of(&all, "error"), found.iter().filter(|lint| lint.5).count());
    assert_eq!(of(&all, "notice") - 1, found.iter().filter(|lint| !lint.5).count());
    assert!(all[0].message.contains("watch-expired (event 1, chunk 1, frame 8): "), "{text}");
    assert_eq!(all.last().unwrap().message, "fail: 3 denied findings of --lint in 3 of 4 exchanges");

    let mut many = talk();
    many.sent.clear();
    for number in 0..12 {
        let one = talk().between(&format!("10.0.0.1:{}", 40_000 + number), "10.0.0.2:8001");
        let gone = "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n";
        let one = one.client("GET /api/v1/pods?watch=1&resourceVersion=1 HTTP/1.1\r\nHost: api\r\n\r\n");
        many.sent.extend(one.server(gone).sent);
    }
    let (text, _) = report("github", &many.capture(), &["--lint", "--allow", "nothing", "-"]);
    let all = commands(&text);
    assert_eq!(of(&all, "notice"), 10, "{text}");
    let last = &all.last().unwrap().message;
    assert!(last.contains("more notices left out"), "{last}");
}

#[test]
fn markdown_lists_what_is_denied_with_the_findings_and_the_rest_below() {
    let args = ["--lint", "--deny", "watch-expired", GONE];
    let (text, _) = report("markdown", b"", &args);
    let rendered = markdown::rendered(&text);
    assert!(rendered.rows.iter().any(|row| row[0] == "❌" && row[7] == "watch-expired ×1"), "{text}");
    let (findings, notes) = text.split_once("#### Notes of --lint\n").unwrap();
    for (_, code, _, frame, message, denied) in lints(b"", &args) {
        let within = if denied { findings } else { notes };
        let items: Vec<String> = Parser::new(within)
            .filter_map(|event| if let Event::Text(text) = event { Some(text.to_string()) } else { None })
            .collect();
        let shown = items.concat();
        let told = format!("frame {frame}): {message}");
        assert!(shown.contains(&code) && shown.contains(&told), "{told}: {shown}");
    }
    assert!(!notes.contains("watch-expired"), "{notes}");
}

#[test]
fn the_likely_causes_are_told_in_each_report() {
    let found = hints(&[NGINX]);
    assert!(found.len() > 1);
    let (text, _) = report("junit", b"", &[NGINX]);
    let document = Document::parse(&text).unwrap();
    let failure = junit::all(&document, "failure")[0].text().unwrap().to_owned();
    let log = sarif::assert_valid(&report("sarif", b"", &[NGINX]).0);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let with_cause: Vec<_> = results
        .iter()
        .map(|result| result["message"]["text"].as_str().unwrap())
        .filter(|text| text.contains("Likely cause: "))
        .collect();
    assert_eq!(with_cause.len(), 1, "once an exchange");
    let (text, _) = report("github", b"", &[NGINX]);
    let annotations = commands(&text);
    assert_eq!(annotations.iter().filter(|command| command.message.contains("Likely cause: ")).count(), 1);
    let (text, _) = report("markdown", b"", &[NGINX]);
    let rendered = markdown::rendered(&text);
    for (cause, message) in found {
        let (start, words) = (format!("Likely cause: {cause} (chunk"), format!("): {message}. "));
        for text in [&failure, with_cause[0], &rendered.text] {
            assert!(text.contains(&start) && text.contains(&words), "{start} {words}: {text}");
        }
        let short = format!("\nLikely cause: {cause}: {message}.");
        assert!(annotations[0].message.contains(&short), "{short}: {}", annotations[0].message);
    }
    // What is allowed has causes too.
    for format in ["sarif", "github", "markdown"] {
        let (text, status) = report(format, b"", &["--allow", "several,part,mixed", NGINX]);
        assert_eq!(status, 0);
        assert!(text.contains("Likely cause: "), "{format}: {text}");
    }
}

#[test]
fn a_body_that_only_breaks_has_no_cause_it_was_not_shown() {
    let capture = watch().chunk(event("a")).server("zz\r\n").capture();
    for format in crate::FORMATS {
        let (text, status) = report(format, &capture, &["-"]);
        assert_eq!(status, 1);
        assert!(!text.contains("Likely cause"), "{format}: {text}");
    }
}

#[test]
fn findings_of_lint_keep_what_a_capture_says_as_text() {
    let odd = "::error::x</failure>]]>|`@admin [a](b) <script>";
    let error = format!(
        "{{\"type\":\"ERROR\",\"object\":{{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":{odd:?},\
         \"reason\":\"Expired\",\"code\":410}}}}\n"
    );
    let capture = watch().chunk(error).server(LAST).capture();
    for deny in [&["--lint"][..], &["--deny", "watch-expired,watch-ended-error"]] {
        let args: Vec<&str> = deny.iter().copied().chain(["-"]).collect();
        junit::assert_valid(&report("junit", &capture, &args).0);
        assert!(report("junit", &capture, &args).0.contains("&lt;/failure&gt;]]&gt;"));
        let log = sarif::assert_valid(&report("sarif", &capture, &args).0);
        for result in log["runs"][0]["results"].as_array().unwrap() {
            assert!(
                !result["message"]["text"].as_str().unwrap().replace("\\](", "").contains("]("),
                "{log:#}"
            );
        }
        commands(&report("github", &capture, &args).0);
        let rendered = markdown::rendered(&report("markdown", &capture, &args).0);
        assert!(rendered.text.contains("<script>"), "{}", rendered.text);
        assert!(!rendered.text.contains("@admin"), "{}", rendered.text);
    }
}

/// How many results have that level.
fn of_level(log: &Value, level: &str) -> usize {
    let results = log["runs"][0]["results"].as_array().unwrap();
    results.iter().filter(|result| result["level"] == level).count()
}

#[test]
fn sarif_lists_a_thousand_results_of_an_exchange_and_counts_the_rest() {
    let mut talk = watch();
    for _ in 0..1003 {
        talk = talk.chunk("oops\n");
    }
    let log = sarif::assert_valid(&report("sarif", &talk.server(LAST).capture(), &["-"]).0);
    assert_eq!(of_level(&log, "error"), 1000);
    let run = &log["runs"][0];
    assert_eq!(run["properties"]["resultsLeftOut"]["errors"], 3);
    let notes = run["invocations"][0]["toolExecutionNotifications"].as_array().unwrap();
    let last = notes.last().unwrap();
    assert_eq!(last["descriptor"]["id"], "results-left-out");
    assert!(last["message"]["text"].as_str().unwrap().starts_with("Left out: 3 errors. "), "{last:#}");
    let whole =
        sarif::assert_valid(&report("sarif", &watch().chunk("oops").server(LAST).capture(), &["-"]).0);
    assert!(whole["runs"][0]["properties"].is_null(), "{whole:#}");
}

#[test]
fn sarif_never_has_more_results_than_code_scanning_takes() {
    // Twenty-two exchanges with a thousand and ten violations each.
    let body: String = (0..1010).map(|_| String::from_utf8(chunk("oops\n")).unwrap()).collect();
    let mut talk = talk();
    for _ in 0..22 {
        talk = talk.client(REQUEST).server(HEAD).server(&body).server(LAST);
    }
    let log = sarif::assert_valid(&report("sarif", &talk.capture(), &["-"]).0);
    assert_eq!(of_level(&log, "error"), 20_000);
    assert_eq!(log["runs"][0]["properties"]["resultsLeftOut"]["errors"], 22 * 1010 - 20_000);
}
