//! Markdown, as a renderer reads it.

use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::talk::*;
use crate::{json, on_each_recording, report};

/// What a renderer makes of a report: its cells by row, and its text.
#[derive(Debug, Default)]
pub struct Rendered {
    pub rows: Vec<Vec<String>>,
    /// All text outside of code, pieces that are apart kept apart by a NUL.
    pub text: String,
    /// All code.
    pub code: Vec<String>,
}

/// Reads a report; no element may be in it that we don't write.
pub fn rendered(markdown: &str) -> Rendered {
    let mut found = Rendered::default();
    let (mut rows, mut in_cell, mut in_block) = (Vec::new(), false, false);
    for event in Parser::new_ext(
        markdown,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_GFM | Options::ENABLE_MATH,
    ) {
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                rows.last_mut().unwrap().push(String::new());
                in_cell = true;
            }
            Event::End(pulldown_cmark::TagEnd::TableCell) => in_cell = false,
            Event::Start(Tag::CodeBlock(_)) => in_block = true,
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_block = false,
            Event::Start(
                Tag::Paragraph | Tag::Heading { .. } | Tag::List(_) | Tag::Item | Tag::Table(_) | Tag::Strong,
            )
            | Event::End(_) => {}
            Event::Text(text) => {
                if in_cell {
                    rows.last_mut().unwrap().last_mut().unwrap().push_str(&text);
                }
                if !in_block {
                    found.text.push_str(&text);
                }
            }
            Event::Code(code) => {
                if in_cell {
                    rows.last_mut().unwrap().last_mut().unwrap().push_str(&code);
                }
                found.code.push(code.to_string());
                found.text.push('\0');
            }
            Event::InlineHtml(html) => {
                assert!(["<sub>", "</sub>", "<!-- -->"].contains(&&*html), "{html}\n{markdown}");
                found.text.push('\0');
            }
            Event::SoftBreak => found.text.push('\n'),
            other => panic!("{other:?} in\n{markdown}"),
        }
    }
    found.rows = rows;
    found
}

#[test]
fn each_recording_gives_a_report_with_the_counts_of_the_json_report() {
    on_each_recording(|args| {
        let (text, _) = report("markdown", b"", args);
        let rendered = rendered(&text);
        let json = json(b"", args);
        let exchanges = json["captures"][0]["exchanges"].as_array().unwrap();
        if !exchanges.is_empty() {
            assert_eq!(rendered.rows.len(), exchanges.len() + 1, "{text}");
            let sum = |column: usize| -> u64 {
                rendered.rows[1..]
                    .iter()
                    .map(|row| row[column].replace(',', "").parse::<u64>().unwrap())
                    .sum()
            };
            assert_eq!(
                (sum(5), sum(6)),
                (json["summary"]["chunks"].as_u64().unwrap(), json["summary"]["events"].as_u64().unwrap())
            );
        }
        assert!(rendered.rows.iter().all(|row| row.len() == 8), "{text}");
        let failed = exchanges.iter().filter(|exchange| exchange["verdict"] == "fail").count();
        assert_eq!(rendered.rows.iter().filter(|row| row[0] == "❌").count(), failed);
    });
}

#[test]
fn failures_come_first_and_what_is_left_out_is_counted() {
    let mut talk = talk();
    let (good, bad) = (chunk(event("a")), chunk("oops"));
    for number in 0..400 {
        let body = if number % 2 == 0 { &good } else { &bad };
        talk = talk.client(REQUEST).server(HEAD).server(body).server(LAST);
    }
    let (text, status) = report("markdown", &talk.capture(), &["-"]);
    assert_eq!(status, 1);
    assert!(text.len() <= 60_000, "{}", text.len());
    let rendered = rendered(&text);
    let bad = rendered.rows.iter().filter(|row| row[0] == "❌").count();
    assert_eq!(rendered.rows[1][2], "stream 0, exchange 1");
    let good = rendered.rows.iter().filter(|row| row[0] == "✅").count();
    assert!(bad > 50 && good > 20, "{bad} {good}");
    let left = format!(
        "Left out of the table: {} exchanges that failed or can't be verified, {} exchanges that passed.",
        200 - bad,
        200 - good
    );
    assert!(rendered.text.contains(&left), "{left}: {text}");
    assert!(rendered.text.contains("more exchanges."), "{text}");
    assert!(rendered.text.contains("fail: 200 violations in 200 of 400 exchanges"), "{text}");
}

#[test]
fn the_findings_say_what_it_means_and_what_to_do() {
    let capture = watch().chunk(event("a") + &event("b")).server(LAST).capture();
    let (text, _) = report("markdown", &capture, &["-"]);
    let rendered = rendered(&text);
    assert!(
        rendered.text.contains("several-events: chunk 1 (0x82 = 130 octets, frame 6) holds events 1 and 2"),
        "{text}"
    );
    assert!(rendered.text.contains("What to do: "), "{text}");
    assert!(rendered.code.contains(&"tcp.stream eq 0 && frame.number in {6}".to_owned()), "{text}");
    let (text, _) = report("markdown", &capture, &["--allow", "several", "-"]);
    assert!(text.starts_with("### ✅ chunkscope: pass: "), "{text}");
    assert!(text.contains("`--allow several`"), "{text}");
}

#[test]
fn nothing_to_check_is_no_pass() {
    let plain = stream_of("text/plain").chunk("x").server(LAST).capture();
    let (text, status) = report("markdown", &plain, &["-"]);
    assert_eq!(status, 3);
    rendered(&text);
    assert!(text.starts_with("### ⚠️ chunkscope: nothing to check"), "{text}");
    assert!(text.contains("kubectl proxy"), "{text}");
}
