//! Captures whose every text would be markup, a command or a control.

use roxmltree::Document;

use crate::talk::*;
use crate::{FORMATS, github, junit, markdown, report, sarif};

/// What ends an element, a cell, a line, a code span, a link, a command.
const TARGET: &str = "/x?watch=1&a=]]>\"'<img/src=x>`|``|{0}[a](http://evil.example)@admin#1%0A%25::error::$x$*b*_c_~~d~~https://evil.example/www.evil.example\u{202e}\u{feff}\u{ffff}\u{9b}31m<!--&amp;\\";

fn hostile() -> Vec<u8> {
    let request = format!("GET {TARGET} HTTP/1.1\r\nHost: api\r\n\r\n");
    let odd = "::error::x\n::warning::y\r\n</failure>]]>|`@admin <script>\u{1b}[2J\u{0}\u{fffe}";
    let mut talk = talk().client(request.as_bytes()).server(HEAD);
    talk = talk.chunk(odd).chunk(b"\xff\xfe{\"type\":\"\xc3(").chunk(format!("{{\"type\":{odd:?}}}"));
    talk = talk.chunk("{\"type\":\"@admin|`</failure>\",\"object\":1}").server("zz@admin`|<b>\r\n");
    talk.capture()
}

#[test]
fn texts_of_a_capture_stay_text() {
    let path = file("a`b|c@admin <i>&%41,x:y\n::error::z.pcap", &hostile());
    let args = [path.to_str().unwrap()];
    for format in FORMATS {
        let (text, status) = report(format, b"", &args);
        assert_eq!(status, 1, "{format}");
        let control = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{format}: {text}");
    }
    let (text, _) = report("junit", b"", &args);
    junit::assert_valid(&text);
    let document = Document::parse(&text).unwrap();
    let name = junit::all(&document, "testcase")[0].attribute("name").unwrap();
    assert!(name.starts_with("GET /x?watch=1&a=]]>\"'<img/src=x>`|``|{0}["), "{name}");
    assert!(name.contains("\\u{ffff}") || name.contains('…'), "{name}");

    let (text, _) = report("sarif", b"", &args);
    let log = sarif::assert_valid(&text);
    for result in log["runs"][0]["results"].as_array().unwrap() {
        let message = result["message"]["text"].as_str().unwrap();
        assert!(!message.replace("\\](", "").contains("]("), "{message}");
    }

    let (text, _) = report("github", b"", &args);
    let commands = github::commands(&text);
    assert!(
        commands.iter().all(|command| ["error", "warning", "notice"].contains(&command.name.as_str())),
        "{text}"
    );
    for command in &commands {
        assert!(
            command.properties.iter().all(|(key, _)| ["file", "line", "title"].contains(&key.as_str())),
            "{text}"
        );
    }

    let (text, _) = report("markdown", b"", &args);
    let rendered = markdown::rendered(&text);
    assert!(rendered.rows.iter().all(|row| row.len() == 8), "{text}");
    // What stands in code is neither a mention nor a link.
    for (place, _) in rendered.text.match_indices(['@', '#']) {
        let next = rendered.text[place + 1..].chars().next();
        assert!(next.is_none_or(|next| !next.is_alphanumeric()), "{place}: {text}");
    }
    assert!(!rendered.text.contains("://") && !rendered.text.contains("www."), "{text}");
    assert!(
        rendered.code.iter().any(|code| code.starts_with("GET /x?watch=1&a=]]>\"'<img/src=x>`|``|")),
        "{text}"
    );
}

#[test]
fn raw_responses_have_no_frames() {
    let raw = [HEAD.as_bytes(), &chunk("oops"), LAST.as_bytes()].concat();
    for format in FORMATS {
        let (text, status) = report(format, &raw, &["--raw", "-e", "watch", "-"]);
        assert_eq!(status, 1, "{text}");
        let told = text.lines().find(|line| line.contains("chunk 1 (0x4 = 4 octets) holds ")).unwrap();
        assert!(!told.contains("frame"), "{format}: {told}");
    }
    junit::assert_valid(&report("junit", &raw, &["--raw", "-e", "watch", "-"]).0);
    sarif::assert_valid(&report("sarif", &raw, &["--raw", "-e", "watch", "-"]).0);
}
