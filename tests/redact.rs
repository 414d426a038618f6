//! `--redact`: no secret reaches any report, in any format that there is or
//! will be; and without it, the reports say that they hold some.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, dead_code)]

#[path = "support/schema.rs"]
mod schema;
#[path = "support/segments.rs"]
mod segments;
#[path = "contract/talk.rs"]
mod talk;

use base64::Engine as _;
use chunkscope::cli::args::ReportFormat;
use clap::ValueEnum as _;
use serde_json::json;

use talk::*;

/// What no report may hold.
const SECRETS: [&str; 9] = [
    "TOPSECRETa",
    "TOPSECRETb",
    "TOPSECRETc",
    "TOPSECRETd",
    "TOPSECRETe",
    "TOPSECRETf",
    "TOPSECRETg",
    "TOPSECRETh",
    "TOPSECRETi",
];

const TARGET: &str = "http://u:TOPSECRETa@api/api/v1/secrets?watch=1&access_token=TOPSECRETb";

fn request() -> String {
    format!(
        "GET {TARGET} HTTP/1.1\r\nHost: api\r\nAuthorization: Bearer TOPSECRETc\r\n\
         Cookie: sid=TOPSECRETd; x=TOPSECRETd\r\nProxy-Authorization: Basic TOPSECRETe\r\n\r\n"
    )
}

fn response() -> String {
    HEAD.replace("\r\n\r\n", "\r\nSet-Cookie: sid=TOPSECRETf; Path=/\r\n\r\n")
}

/// A watch event of a Secret.
fn secret() -> String {
    let applied = r#"{\"kind\":\"Secret\",\"data\":{\"p\":\"TOPSECRETg\"}}\n"#;
    format!(
        "{{\"type\":\"ADDED\",\"object\":{{\"kind\":\"Secret\",\"metadata\":{{\"name\":\"db\",\"annotations\":\
         {{\"kubectl.kubernetes.io/last-applied-configuration\":\"{applied}\"}}}},\
         \"data\":{{\"p\":\"TOPSECRETh\"}},\"stringData\":{{\"q\":\"TOPSECRETi\"}}}}}}\n"
    )
}

fn formats() -> Vec<String> {
    let formats = ReportFormat::value_variants().iter().filter(|format| **format != ReportFormat::None);
    formats.map(|format| format.name().to_owned()).collect()
}

/// A report without what lines, columns and panes do to a text: its letters,
/// and what its hexadecimal octets and its base64 say.
fn readings(report: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(report).into_owned();
    let joined: String = text.split_whitespace().collect();
    let hex: Vec<u8> = text
        .split(|c: char| c.is_whitespace() || c == '|')
        .filter(|word| word.len() == 2)
        .filter_map(|word| u8::from_str_radix(word, 16).ok())
        .collect();
    let base64 = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=')))
        .filter_map(|word| base64::engine::general_purpose::STANDARD.decode(word).ok())
        .map(|octets| String::from_utf8_lossy(&octets).into_owned());
    let mut all = vec![joined, String::from_utf8_lossy(&hex).into_owned()];
    all.extend(base64);
    all
}

/// Asserts that no format shows any of the secrets, not even six octets of one.
fn assert_hidden(talk: &Talk, args: &[&str], secrets: &[&str]) {
    for format in formats() {
        for payload in ["full", "preview", "none"] {
            let mut all = vec!["--redact", "-f", &format, "--payload", payload, "--all", "-"];
            all.extend(args);
            let (out, messages, status) = call(&talk.capture(), &all);
            assert!(status != 2 && !out.is_empty(), "{format}: {messages}");
            assert!(!messages.contains("unredacted-secret"), "{messages}");
            for reading in readings(&out).iter().chain([&messages]) {
                for secret in secrets {
                    let part = secret.get(secret.len() - 6..).unwrap();
                    assert!(!reading.contains(part), "{format} {payload}: {part} in {reading}");
                }
            }
        }
    }
}

#[test]
fn no_format_shows_a_secret() {
    let talk = talk().client(request()).server(response()).chunk(secret()).chunk(event("a")).server(LAST);
    let (out, messages, _) = call(&talk.capture(), &["-f", "json", "-"]);
    let text = String::from_utf8(out).unwrap();
    for secret in SECRETS {
        assert!(text.contains(secret), "the talk holds {secret}");
    }
    assert!(messages.contains("--redact masks them (frame 4) [unredacted-secret]"), "{messages}");
    assert_hidden(&talk, &[], &SECRETS);
}

#[test]
fn secrets_that_chunks_and_segments_cut_anywhere_are_hidden() {
    let event = secret();
    for size in [1, 2, 3, 7, 50, 101] {
        let mut body = Vec::new();
        for piece in event.as_bytes().chunks(size) {
            body.extend(chunk(piece));
        }
        let mut talk = talk().client(request()).server(response());
        for segment in body.chunks(97) {
            talk = talk.server(segment);
        }
        let talk = talk.server(LAST);
        let report = talk.clone().args(&["--redact"]).report();
        let text = report.report.to_string();
        for secret in SECRETS {
            assert!(!text.contains(&secret[4..]), "{size}");
        }
        let plain = talk.report();
        assert_eq!(plain.exchanges()[0].verdicts(), report.exchanges()[0].verdicts());
        if size == 50 {
            assert_hidden(&talk, &[], &SECRETS);
        }
    }
}

#[test]
fn sizes_verdicts_and_json_stay() {
    let talk = talk()
        .client(request())
        .server(response())
        .chunk(secret())
        .chunk(secret() + &event("a"))
        .server(LAST);
    let (plain, redacted) = (talk.report(), talk.clone().args(&["--redact"]).report());
    assert_eq!((plain.status, redacted.status), (1, 1));
    let (plain, redacted) = (&plain.exchanges()[0], &redacted.exchanges()[0]);
    assert_eq!(plain.verdicts(), redacted.verdicts());
    assert_eq!(plain.events(), redacted.events());
    for (before, after) in plain.chunks().iter().zip(redacted.chunks()) {
        let (before, text) = (before["payload"].as_str().unwrap(), after["payload"].as_str().unwrap());
        assert_eq!(before.len(), text.len());
        assert!(text.contains("\"name\":\"db\"") && text.contains("\"p\":\"**********\""), "{text}");
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }
    assert_eq!(
        redacted["request"]["target"],
        "http://************@api/api/v1/secrets?watch=1&access_token=**********"
    );
    let headers = &redacted["request"]["headers"];
    assert_eq!(headers[1], json!(["Authorization", "Bearer **********"]));
    assert_eq!(headers[2], json!(["Cookie", "sid=**********; x=**********"]));
    assert_eq!(redacted["response"]["headers"][2], json!(["Set-Cookie", "sid=**********; Path=/"]));
}

#[test]
fn secrets_behind_lost_octets_and_joins_are_hidden() {
    let (body, rest) = (chunk(secret()), secret());
    let lost = watch()
        .server(&body[..150])
        .server_lost(20)
        .server(&body[170..])
        .chunk(event("visible"))
        .server(LAST);
    assert_hidden(&lost, &["--allow", "gaps"], &["TOPSECRETh", "TOPSECRETi"]);
    let seen = lost.args(&["--redact"]).report();
    let last = seen.exchanges()[0].chunks().pop().unwrap();
    assert!(last["payload"].as_str().unwrap().contains("visible"), "what is known again is shown");
    let joined = midstream().chunk(&rest[150..]).chunk(secret()).chunk(event("visible"));
    assert_hidden(&joined, &["--allow", "gaps"], &["TOPSECRETh", "TOPSECRETi"]);
}

#[test]
fn payloads_that_arent_text_are_hidden_as_a_whole() {
    let octets = b"k8s\0\n\x0b\n\x02v1\x12\x05Secret\xff\xfeTOPSECRETh";
    for head in [
        head("application/vnd.kubernetes.protobuf;stream=watch"),
        head("application/octet-stream"),
        HEAD.replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n"),
        HEAD.to_owned(),
    ] {
        let talk = talk().client(REQUEST).server(head).chunk(octets).server(LAST);
        assert_hidden(&talk, &[], &["TOPSECRETh"]);
        let chunk = talk.args(&["--redact"]).exchange().chunks().remove(0);
        assert_eq!((&chunk["encoding"], &chunk["size"]), (&json!("base64"), &json!(octets.len())));
    }
}

#[test]
fn framing_that_takes_payload_for_a_size_line_quotes_none() {
    let talk =
        watch().server("5\r\n{\"a\":\r\n").server("TOPSECRETh;x\r\n").server("3;a=TOPSECRETi\r\nabc\r\n");
    assert_hidden(&talk, &[], &["TOPSECRETh"]);
    let extension = watch().server("3;a=TOPSECRETi\r\nabc\r\n").server(LAST);
    assert_hidden(&extension, &[], &["TOPSECRETi"]);
}

#[test]
fn other_kinds_of_events_and_trailers_are_hidden() {
    let object = r#"{"kind":"Secret","data":{"p":"TOPSECRETh"}}"#;
    let events = stream_of("text/event-stream").chunk(format!("data: {object}\n\n")).server(LAST);
    assert_hidden(&events, &[], &["TOPSECRETh"]);
    let lines = stream_of("application/x-ndjson").chunk(format!("{object}\n")).server(LAST);
    assert_hidden(&lines, &[], &["TOPSECRETh"]);
    let trailer = stream_of("text/plain").chunk("x").server("0\r\nX-Auth-Token: TOPSECRETi\r\n\r\n");
    assert_hidden(&trailer, &[], &["TOPSECRETi"]);
    let posted = talk()
        .client(
            "POST /oauth HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Transfer-Encoding: chunked\r\n\r\n",
        )
        .client(chunk("client_secret=TOPSECRETh"))
        .client(LAST)
        .server("HTTP/1.1 204 No Content\r\n\r\n");
    assert_hidden(&posted, &[], &["TOPSECRETh"]);
}

#[test]
fn reports_that_show_secrets_say_so_once_and_others_dont() {
    let talk = talk()
        .client(request())
        .server(response())
        .chunk(secret())
        .chunk(secret())
        .chunk(event("a"))
        .server(LAST);
    let problem = talk.report().problem("unredacted-secret").clone();
    assert_eq!((&problem["count"], &problem["frame"]), (&json!(4), &json!(4)), "{problem}");
    let says = |args: &[&str]| call(&talk.capture(), args).1.contains("unredacted-secret");
    assert!(says(&["-"]), "the target is shown");
    assert!(!says(&["-q", "-"]));
    assert!(!says(&["--redact", "-f", "json", "-"]));
    let harmless = watch().chunk(event("a")).server(LAST);
    assert!(!harmless.report().problems().contains(&"unredacted-secret".to_owned()));
    let payload = watch().chunk(secret()).server(LAST);
    let says = |args: &[&str]| call(&payload.capture(), args).1.contains("unredacted-secret");
    assert!(says(&["-f", "json", "-"]) && says(&["-f", "walkthrough", "--payload", "full", "-"]));
    assert!(!says(&["-f", "json", "--payload", "none", "-"]));
}

#[test]
fn what_compressed_payloads_decode_to_is_hidden_too() {
    use std::io::Write as _;
    let text = format!("{}{}{}", event("visible"), secret(), event("behind"));
    for cuts in [1, 4, 40] {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut talk =
            talk().client(REQUEST).server(HEAD.replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n"));
        for piece in text.as_bytes().chunks(text.len().div_ceil(cuts)) {
            encoder.write_all(piece).unwrap();
            encoder.flush().unwrap();
            talk = talk.chunk(std::mem::take(encoder.get_mut()));
        }
        let talk = talk.chunk(encoder.finish().unwrap()).server(LAST);
        let plain = String::from_utf8(call(&talk.capture(), &["-f", "json", "-"]).0).unwrap();
        assert!(plain.contains("visible"), "events are read: {plain}");
        assert_hidden(&talk, &[], &["TOPSECRETg", "TOPSECRETh", "TOPSECRETi"]);
        let redacted = talk.args(&["--redact"]).exchange();
        assert_eq!(redacted.names(), ["visible", "db", "behind"]);
    }
}
