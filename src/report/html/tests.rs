use std::fmt::Write as _;

use regex::Regex;

use self::support::assert_page;
use super::*;
use crate::event::Kind;
use crate::http::{BodyEnd, Framing, Protocol};
use crate::report::sample::{Talk, capture, conclusion, coredns, rechunked, sse, told};
use crate::report::samples::{self, Made};
use crate::report::{Totals, ViolationCode};
use crate::units::StreamId;
use crate::verdict::Fault;

#[path = "../../../tests/support/page.rs"]
mod support;

/// The page, held to be well made.
fn checked(page: String) -> String {
    assert_page(&page);
    page
}

fn page(options: HtmlOptions, talks: &[&Talk]) -> String {
    let mut out = Vec::new();
    told(HtmlReport::new(&mut out, options), "k8s-watch-coredns.pcap", talks);
    checked(String::from_utf8(out).unwrap())
}

fn page_of(findings: &[Made]) -> String {
    let mut out = Vec::new();
    samples::tell(&mut HtmlReport::new(&mut out, HtmlOptions::default()), findings);
    checked(String::from_utf8(out).unwrap())
}

/// The page's text as one reads it: an element a line, without figures.
fn text(page: &str) -> String {
    let body = &page[page.find("<body").unwrap()..page.find("<script>").unwrap()];
    let body = Regex::new("(?s)<svg.*?</svg>").unwrap().replace_all(body, "");
    let lines = Regex::new(r"</(p|h[1-4]|li|tr|div|pre|summary|button|dt|form)>|\n").unwrap();
    let body = lines.replace_all(&body, "\n");
    let body = Regex::new(r"</(td|th|dd|span|label|option|code)>").unwrap().replace_all(&body, " ");
    let body = Regex::new("<[^>]*>").unwrap().replace_all(&body, "");
    let mut text = String::new();
    for line in body.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")) {
        if !line.is_empty() {
            writeln!(text, "{line}").unwrap();
        }
    }
    for (code, sign) in [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")] {
        text = text.replace(code, sign);
    }
    text
}

#[test]
fn the_page_of_a_watch_reads_so() {
    insta::assert_snapshot!(text(&page(HtmlOptions::default(), &[&coredns()])));
}

#[test]
fn the_page_of_a_failing_stream_reads_so() {
    let options = HtmlOptions { payload: Payload::None, ..HtmlOptions::default() };
    insta::assert_snapshot!(text(&page(options, &[&rechunked()])));
}

#[test]
fn the_page_of_everything_holds_together() {
    let mut findings = samples::one_watch("first.pcap");
    findings.extend(samples::unreadable());
    findings.extend(samples::everything());
    findings.extend(samples::raw());
    let text = text(&page_of(&findings));
    for said in ["4 captures", "first.pcap", "notes.txt", "could not be read", "raw HTTP responses"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn a_run_without_captures_is_a_page_too() {
    assert!(page_of(&[]).contains("<h1>"));
}

#[test]
fn the_policy_names_the_hashes_of_what_the_page_holds() {
    let page = page(HtmlOptions::default(), &[&coredns()]);
    let policy = Regex::new("Content-Security-Policy\" content=\"([^\"]*)\"").unwrap();
    let policy = policy.captures(&page).unwrap()[1].replace("&#39;", "'");
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    for name in ["style", "script"] {
        let start = page.find(&format!("<{name}>")).unwrap() + name.len() + 2;
        let end = page.find(&format!("</{name}>")).unwrap();
        let digest = Sha256::digest(&page.as_bytes()[start..end]);
        let digest = base64::engine::general_purpose::STANDARD.encode(digest);
        assert!(policy.contains(&format!("{name}-src 'sha256-{digest}'")), "{policy}");
        assert_eq!(page.matches(&format!("<{name}")).count(), 1);
    }
}

#[test]
fn hostile_octets_stay_text() {
    let hostile = concat!(
        "</script><script>alert(1)</script><img src=x onerror=alert(1)>]]>--><style>*{}</style>\"'`&lt;",
        "\u{202e}\u{2066}\u{200b}\u{0}\u{1b}[31m\u{85}\u{feff}"
    );
    let mut talk = Talk::get(0, hostile, Some(Kind::Watch));
    talk.head.request.as_mut().unwrap().method = Some(hostile.into());
    let response = talk.head.response.as_mut().unwrap();
    response.reason = Some(hostile.into());
    response.fields = Some([("Content-Type".into(), hostile.into())].into());
    let mut event = std::sync::Arc::unwrap_or_clone(talk.event(hostile, hostile, 1, 1, 1));
    event.summary.kind = Some(hostile.into());
    event.summary.namespace = Some(hostile.into());
    event.summary.resource_version = Some(hostile.into());
    talk.chunk(hostile.as_bytes(), Verdict::One, vec![std::sync::Arc::new(event.clone())]);
    talk.chunk(b"\xff\xfe\x00<b>", Verdict::Unverified(hostile.into()), vec![]);
    talk.chunk(b"x", Verdict::Invalid(Fault { at: 3, message: hostile.into() }), vec![]);
    talk.violation(ViolationCode::NotAnEvent, hostile);
    talk.chunks[1].chunk.size_line = smallvec::SmallVec::from_slice(b"6;</script>\"<img onerror=x>\r\n");
    event.summary.kind = None;
    event.summary.data = Some(hostile.into());
    talk.chunk(b"y", Verdict::Unchecked(Some(hostile.into())), vec![std::sync::Arc::new(event)]);
    talk.complete();
    let mut out = Vec::new();
    let mut report = HtmlReport::new(&mut out, HtmlOptions { list_all: true, ..HtmlOptions::default() });
    report.finding(&Finding::Capture(hostile)).unwrap();
    talk.tell(&mut report);
    let mut end = capture(hostile, 1);
    end.link_types = vec![hostile.to_owned()];
    end.parts = vec![hostile.to_owned()];
    let count = 1;
    end.problems = vec![Problem {
        code: "lost-octets",
        stream: Some(StreamId(0)),
        frame: None,
        count,
        message: hostile.to_owned(),
    }];
    report.finding(&Finding::CaptureEnd(&end)).unwrap();
    report.finish(&conclusion(&[&talk])).unwrap();
    let page = checked(String::from_utf8(out).unwrap());
    assert!(page.contains("&#60;img src=x onerror=alert(1)&#62;"));
    for forbidden in ["<img", "<b>", "</script><script>", "]]>", "<style>*"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("</script>").count(), 1);
    let unseen = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let found: Vec<_> = page.chars().filter(|c| unseen(*c)).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// A watch of so many chunks, of which those at `bad` fail.
fn long(chunks: u64, bad: impl Fn(u64) -> bool) -> Talk {
    let mut talk = Talk::watch(0);
    for number in 1..=chunks {
        if bad(number) {
            let events = vec![
                talk.event("ADDED", "a", number, number, number),
                talk.event("ADDED", "b", number, number, number),
            ];
            talk.chunk(b"{}{}", Verdict::Several, events);
            talk.violation(ViolationCode::SeveralEvents, "holds two events");
        } else {
            talk.one("MODIFIED", "coredns", number, 300);
        }
    }
    talk
}

fn rows(page: &str) -> usize {
    page.matches("<tr class=\"facts\">").count()
}

#[test]
fn a_long_stream_is_bounded_and_what_is_left_out_is_said() {
    let talk = long(20_000, |number| number % 1000 == 999);
    let whole = page(HtmlOptions::default(), &[&talk]);
    assert!(whole.len() < 4 << 20, "{}", whole.len());
    assert_eq!(rows(&whole), 300 + 20);
    let text = text(&whole);
    assert!(
        text.contains(
            "320 of 20,000 chunks are listed, all failed ones among them as far as there is room. \
             Not listed: 19,680 chunks: one watch event each."
        ),
        "{text}"
    );
    assert!(text.contains("… 698 more chunks: one watch event each"), "{text}");
    assert!(whole.matches("<g class=\"mark ").count() <= 600);
    assert!(text.contains("There are more chunks than marks"), "{text}");
}

#[test]
fn a_limit_of_zero_lists_all() {
    let talk = long(700, |_| false);
    assert_eq!(rows(&page(HtmlOptions { limit: None, ..HtmlOptions::default() }, &[&talk])), 700);
    assert_eq!(rows(&page(HtmlOptions { limit: Some(7), ..HtmlOptions::default() }, &[&talk])), 7);
}

#[test]
fn only_what_failed_is_shown_when_asked() {
    let talk = long(40, |number| number == 9);
    let mut passes = Talk::watch(3);
    passes.one("ADDED", "x", 1, 200);
    let options = HtmlOptions { failed_only: true, ..HtmlOptions::default() };
    let failed = page(options, &[&talk, &passes]);
    assert_eq!(rows(&failed), 1);
    assert!(failed.contains("id=\"c1-s0-x0-9\"") && !failed.contains("c1-s3-x0"));
    assert!(text(&failed).contains("Not listed: 1 exchange that did not fail, as asked for (--failed)."));
    let good = text(&page(options, &[&passes]));
    assert!(good.contains("Nothing here failed."), "{good}");
}

#[test]
fn allowed_verdicts_are_shown_but_fail_nothing() {
    let mut talk = long(5, |number| number == 3);
    talk.violations.clear();
    let allow = Allow { several: true, ..Allow::default() };
    let page = page(HtmlOptions { allow, ..HtmlOptions::default() }, &[&talk]);
    assert!(page.contains("class=\"v-several\"") && !page.contains("v-several bad"));
    assert!(text(&page).contains("1 holds several events (allowed)"));
}

#[test]
fn payloads_are_shown_as_far_as_asked() {
    let mut talk = Talk::watch(0);
    talk.one("ADDED", "x", 1, 5_000);
    let with = |payload| page(HtmlOptions { payload, ..HtmlOptions::default() }, &[&talk]);
    let none = with(Payload::None);
    assert!(!none.contains("<pre>") && none.contains("5,000 octets of payload (left out by --payload none)"));
    let preview = with(Payload::Preview);
    assert!(preview.contains("3,000 more octets left out; --payload full shows them"), "{}", text(&preview));
    assert!(preview.contains("4,864 octets left out."));
    let full = with(Payload::Full);
    assert!(!full.contains("left out") && full.matches("<td>payload</td>").count() == 313);
}

#[test]
fn hundreds_of_exchanges_have_an_overview_and_those_that_matter_a_section() {
    let talks: Vec<_> = (0..1_500)
        .map(|stream| {
            let mut talk = long(1, |_| stream % 100 == 50);
            talk.head.id.stream = Some(StreamId(stream));
            for chunk in &mut talk.chunks {
                chunk.exchange = talk.head.id;
            }
            for violation in &mut talk.violations {
                violation.exchange = talk.head.id;
            }
            talk
        })
        .collect();
    let talks: Vec<_> = talks.iter().collect();
    let page = page(HtmlOptions::default(), &talks);
    assert_eq!(page.matches("<article class=\"exchange bad\"").count(), 15);
    assert_eq!(page.matches("<article class=\"exchange good\"").count(), 100);
    assert!(page.contains("href=\"#c1-s1450-x0\""));
    let text = text(&page);
    assert!(text.contains("Not listed: 495 exchanges for want of room."), "{text}");
    assert!(text.contains("1,385 exchanges without a section of their own"), "{text}");
}

#[test]
fn exchanges_without_an_expectation_take_a_line_unless_all_are_wanted() {
    let mut plain = Talk::get(1, "/api/v1/pods", None);
    plain.chunk(b"hello", Verdict::Unchecked(None), vec![]).complete();
    let brief = page(HtmlOptions::default(), &[&coredns(), &plain]);
    assert!(brief.contains("GET /api/v1/pods") && !brief.contains("id=\"c1-s1-x0\""));
    assert_eq!(rows(&brief), 2);
    let all = page(HtmlOptions { list_all: true, ..HtmlOptions::default() }, &[&coredns(), &plain]);
    assert!(all.contains("id=\"c1-s1-x0\""));
    assert_eq!(rows(&all), 3);
}

#[test]
fn what_there_is_instead_is_said_where_nothing_was_checked() {
    let mut out = Vec::new();
    let mut report = HtmlReport::new(&mut out, HtmlOptions::default());
    report.finding(&Finding::Capture("tls.pcap")).unwrap();
    let mut end = capture("tls.pcap", 2);
    end.other_counts[0] = (Protocol::Tls, 2);
    report.finding(&Finding::CaptureEnd(&end)).unwrap();
    let totals = Totals { captures: 1, packets: 12, streams: 2, ..Totals::default() };
    report.finish(&Conclusion { totals, outcome: Outcome::Empty }).unwrap();
    let text = text(&checked(String::from_utf8(out).unwrap()));
    for said in ["Nothing to check", "There is instead: 2 TLS connections", "kubectl proxy --port 8001"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn without_times_the_octets_of_the_body_take_their_place() {
    let page = page_of(&samples::raw());
    assert!(page.contains("data-unit=\"octets\"") && page.contains("there are no times"));
    assert!(!text(&page).contains("frame 1") && !text(&page).contains("requested"), "{}", text(&page));
}

#[test]
fn a_compressed_body_is_drawn_and_shown_as_what_it_decodes_to() {
    let mut talk = coredns();
    talk.head.response.as_mut().unwrap().fields = Some([("Content-Encoding".into(), "gzip".into())].into());
    let drawn = |talk: &Talk| page(HtmlOptions::default(), &[talk]);
    // Whose coding isn't read has no place on the ruler.
    let opaque = drawn(&talk);
    assert!(!opaque.contains("<figure class=\"alignment\">") && opaque.contains("The body is compressed"));
    for (chunk, span) in talk.chunks.iter_mut().zip([0..100, 100..400]) {
        let octets = b"{\"type\":\"ADDED\" decoded}".to_vec();
        chunk.decoded = Some(Box::new(crate::report::Decoded { span, octets }));
    }
    let decoded = drawn(&talk);
    assert!(
        decoded.contains("<rect x=\"25%\" width=\"75%\" y=\"2\""),
        "the second chunk, three times the first"
    );
    assert!(decoded.contains("Payload, decoded, as text") && text(&decoded).contains("\"ADDED\" decoded}"));
}

#[test]
fn edges_that_cut_events_are_drawn_through_them() {
    let mut talk = Talk::watch(0);
    let event = |index, offset, size, first, last| {
        let summary = crate::event::MaybeSummary::default();
        std::sync::Arc::new(crate::report::Event {
            index,
            offset,
            size,
            first_chunk: first,
            last_chunk: last,
            summary,
        })
    };
    let (one, two) = (event(1, 0, 150, 1, 2), event(2, 151, 149, 2, 2));
    talk.chunk(&[b'x'; 100], Verdict::Part, vec![one.clone()]);
    talk.violation(ViolationCode::PartialEvent, "holds the beginning of event 1");
    talk.chunk(&[b'x'; 200], Verdict::Mixed, vec![one, two]);
    talk.violation(ViolationCode::MixedEvents, "holds the end of event 1 and event 2");
    let page = page(HtmlOptions::default(), &[&talk]);
    assert!(page.contains("<line class=\"within\" x1=\"33.33%\" x2=\"33.33%\""), "the edge cuts event 1");
    assert_eq!(page.matches("<line class=\"between\"").count(), 2);
    assert!(page.contains("event 1: octets 0–149, split"));
    assert!(page.contains("event 2: octets 151–299, beside others in its chunk"));
}

#[test]
fn peaks_of_buffers_are_named_but_not_blamed() {
    let mut talk = Talk::watch(0);
    for version in 0..10 {
        talk.one("ADDED", "x", version, 2048).one("ADDED", "y", version, 600 + version as usize);
    }
    let text = text(&page(HtmlOptions::default(), &[&talk]));
    assert!(
        text.contains("2,048 (0x800) octets, 10 of 20 chunks: Go's net/http writes a response through"),
        "{text}"
    );
}

#[test]
fn a_request_in_chunks_has_a_table_of_its_own() {
    let page = page_of(&samples::everything());
    assert!(page.contains("Chunks of the request") && page.contains("-q1\""));
}

#[test]
fn a_body_that_is_not_chunked_needs_no_figures() {
    let mut talk = Talk::get(0, "/api/v1/pods?watch=1", Some(Kind::Watch));
    talk.head.framing = Some(Framing::ContentLength(10));
    (talk.size, talk.end) = (10, BodyEnd::Complete);
    let page = page(HtmlOptions::default(), &[&talk]);
    assert!(!page.contains("<figure") && text(&page).contains("A watch, but not chunked"));
}

#[test]
fn server_sent_events_show_their_data() {
    let text = text(&page(HtmlOptions::default(), &[&sse()]));
    assert!(text.contains("1 tick 1") && text.contains("a comment"), "{text}");
}
