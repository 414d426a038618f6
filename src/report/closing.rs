//! The last words of a report for people: what failed, where, and the
//! conclusion, where one looks first; and where nothing was checked, what
//! there is instead and how to record what is wanted.

use crate::http::{Framing, Protocol};
use crate::report::failures::Failures;
use crate::report::phrases::{place, request_line};
use crate::report::prose::{Mark, Prose};
use crate::report::text::{counted, fit_middle, grouped, printable};
use crate::report::{CaptureEnd, Conclusion, ExchangeEnd, ExchangeVerdict, Expect, LeftOut, Outcome};
use crate::verdict::Allow;

/// Exchanges that are named at the end.
const NAMED: usize = 20;

/// How a watch is recorded in the clear, each command in a terminal of its own.
pub(super) const RECORDING: [&str; 3] = [
    "kubectl proxy --port 8001",
    "tcpdump -i any -w watch.pcap port 8001",
    "curl -N '127.0.0.1:8001/api/v1/configmaps?watch=true'",
];

/// What was seen in a run, as far as the last words need it. Its size is bounded.
#[derive(Debug, Default)]
pub(super) struct Run {
    path: String,
    captures: u64,
    packets: u64,
    streams: u64,
    left_out: LeftOut,
    other: [(Option<Protocol>, u64); 3],
    /// Sentences on exchanges that fail or can't be verified.
    named: Vec<(Mark, String, String)>,
    failed: u64,
    unverified: u64,
    /// Exchanges, by what keeps them from being checked.
    seen: Seen,
    exchanges: u64,
    passed: u64,
}

/// Exchanges that were not checked.
#[derive(Debug, Default)]
struct Seen {
    /// An event stream, but no chunk of it can be judged: none is finished, or
    /// none holds what can be read.
    unfinished: u64,
    /// An event stream that isn't chunked.
    unchunked: u64,
    /// Chunked, but nothing is expected of the chunks.
    chunked: u64,
    /// With a declared length, to the close, or without a body.
    plain: u64,
    /// Tunnels and upgrades.
    tunnels: u64,
    /// Framing only, as asked.
    any: u64,
    /// Without a response, or with one whose framing isn't known.
    unknown: u64,
}

impl Run {
    pub(super) fn begin(&mut self, path: &str) {
        path.clone_into(&mut self.path);
    }

    pub(super) fn exchange(&mut self, end: &ExchangeEnd, failures: &Failures) {
        self.exchanges += 1;
        let mark = Mark::of(end.verdict);
        match end.verdict {
            ExchangeVerdict::Pass => self.passed += 1,
            ExchangeVerdict::Fail => self.failed += 1,
            ExchangeVerdict::Unverified => self.unverified += 1,
            ExchangeVerdict::Unchecked => {
                let seen = &mut self.seen;
                *match (end.head.expect, end.head.framing) {
                    _ if end.head.response.is_none() => &mut seen.unknown,
                    (_, None) => &mut seen.unknown,
                    (_, Some(Framing::Tunnel)) => &mut seen.tunnels,
                    (Some(Expect::Any), _) => &mut seen.any,
                    (Some(_), Some(Framing::Chunked)) => &mut seen.unfinished,
                    (Some(_), _) => &mut seen.unchunked,
                    (None, Some(Framing::Chunked)) => &mut seen.chunked,
                    (None, _) => &mut seen.plain,
                } += 1;
            }
        }
        if matches!(end.verdict, ExchangeVerdict::Fail | ExchangeVerdict::Unverified)
            && self.named.len() < NAMED
        {
            let what = match end.verdict {
                ExchangeVerdict::Fail => {
                    let mut what = failures.in_short(&end.tally);
                    if end.denied > 0 {
                        let comma = if what.is_empty() { "" } else { ", " };
                        what.push_str(&format!("{comma}{} of --lint", counted(end.denied, "denied finding")));
                    }
                    what
                }
                _ if end.tally.unverified > 0 => {
                    format!("{} can't be verified", counted(end.tally.unverified, "chunk"))
                }
                _ => "the capture lacks octets".to_owned(),
            };
            let request = fit_middle(&request_line(&end.head), 60).into_owned();
            let line = format!("{}  {request}: {what}", place(end.head.id));
            self.named.push((mark, self.path.clone(), line));
        }
    }

    pub(super) fn capture(&mut self, end: &CaptureEnd) {
        self.captures += 1;
        self.packets += end.packets;
        self.streams += end.streams;
        self.left_out.streams += end.left_out.streams;
        self.left_out.exchanges += end.left_out.exchanges;
        for ((protocol, count), (kind, more)) in self.other.iter_mut().zip(end.other_counts) {
            *protocol = Some(kind);
            *count += more;
        }
    }

    /// The last words. Nothing where the only exchange has just passed: its
    /// verdict is the conclusion.
    pub(super) fn conclude(&self, prose: Prose, conclusion: &Conclusion) -> String {
        let totals = &conclusion.totals;
        let mark = match conclusion.outcome {
            Outcome::Pass if totals.captures == 1 && self.exchanges == 1 && self.passed == 1 => {
                return String::new();
            }
            Outcome::Pass => Mark::Good,
            Outcome::Fail => Mark::Bad,
            Outcome::Empty => return self.empty(prose, conclusion),
        };
        let text = format!("{}: {}", conclusion.outcome.name(), self.outcome_text(prose.allow, conclusion));
        let text = text.strip_suffix(": ").unwrap_or(&text);
        format!("\n{}{}", prose.marked(mark, text), self.names(prose, totals.captures))
    }

    /// What was found in all captures, a clause; empty where nothing is to be
    /// said beyond the outcome's name.
    pub(super) fn outcome_text(&self, allow: Allow, conclusion: &Conclusion) -> String {
        let totals = &conclusion.totals;
        match conclusion.outcome {
            Outcome::Pass => format!(
                "{} checked{}, no check failed ({}, {})",
                counted(totals.checked, "exchange"),
                in_captures(totals.captures),
                counted(totals.chunks, "chunk"),
                counted(totals.events, "event"),
            ),
            Outcome::Fail => {
                let mut texts = Vec::new();
                if totals.unreadable > 0 {
                    let of = counted(totals.captures, "capture");
                    texts.push(format!("{} of {of} could not be read", grouped(totals.unreadable)));
                }
                let violations = match (totals.violations, totals.denied) {
                    (0, denied) if denied > 0 => counted(denied, "denied finding"),
                    (violations, 0) => counted(violations, "violation"),
                    (violations, denied) => {
                        format!(
                            "{} and {}",
                            counted(violations, "violation"),
                            counted(denied, "denied finding")
                        )
                    }
                };
                match self.failed {
                    0 => {}
                    1 if self.exchanges == 1 => texts.push(violations),
                    1 => texts
                        .push(format!("1 of {} exchanges fails, with {violations}", grouped(self.exchanges))),
                    failed => {
                        let (failed, all) = (grouped(failed), grouped(self.exchanges));
                        texts.push(format!("{failed} of {all} exchanges fail, with {violations}"));
                    }
                }
                if self.failed == 0 && self.unverified > 0 && !allow.gaps {
                    texts.push(match totals.unverified {
                        0 => "no check failed, but the capture lacks octets that are needed to check all"
                            .to_owned(),
                        chunks => format!(
                            "no check failed, but {} can't be verified, since the capture lacks octets \
                             (--allow gaps lets that pass)",
                            counted(chunks, "chunk")
                        ),
                    });
                }
                texts.join("; ")
            }
            Outcome::Empty => format!("no chunked event stream{}", in_captures(totals.captures)),
        }
    }

    fn names(&self, prose: Prose, captures: u64) -> String {
        if self.exchanges == 1 {
            return String::new(); // it stands right above
        }
        let mut text = String::new();
        for (mark, path, line) in &self.named {
            let path = if captures > 1 { format!("{}, ", printable(path)) } else { String::new() };
            text.push_str(&prose.marked_within(*mark, &format!("{path}{line}")));
        }
        let more = (self.failed + self.unverified).saturating_sub(self.named.len() as u64);
        if more > 0 {
            text.push_str(&format!("  … and {} more\n", grouped(more)));
        }
        text
    }

    fn empty(&self, prose: Prose, conclusion: &Conclusion) -> String {
        let text = format!("nothing to check: {}", self.outcome_text(prose.allow, conclusion));
        let mut text = format!("\n{}", prose.marked(Mark::Unchecked, &text));
        for sentence in self.instead() {
            text.push_str(&prose.paragraph(&sentence, "  ", "  "));
        }
        if self.left_out != LeftOut::default() {
            return text;
        }
        text.push_str("\n  To record a Kubernetes watch in the clear, each line in a terminal of its own:\n");
        for command in RECORDING {
            text.push_str(&format!("    {command}\n"));
        }
        text.push_str("  then stop curl, wait a second, stop tcpdump:\n    chunkscope watch.pcap\n");
        text
    }

    /// What there is where nothing was checked, and what to do, a sentence each.
    pub(super) fn instead(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let mut say = |sentence: &str| sentences.push(sentence.to_owned());
        let other = |wanted: Protocol| -> u64 {
            let counts = self.other.iter().filter(|(protocol, _)| *protocol == Some(wanted));
            counts.map(|(_, count)| count).sum()
        };
        let (tls, http2, strange) = (other(Protocol::Tls), other(Protocol::Http2), other(Protocol::Other));
        let seen = &self.seen;
        let mut instead = Vec::new();
        for (count, noun, rest) in [
            (seen.unfinished, "event stream", " without a chunk that could be judged"),
            (seen.unchunked, "watch or event stream", " that is not chunked"),
            (seen.chunked, "chunked response", " that no rule takes for an event stream"),
            (seen.any, "response", " whose framing alone was checked (--expect any)"),
            (seen.plain, "response", " without chunks"),
            (seen.tunnels, "tunnel or upgraded connection", ""),
            (seen.unknown, "exchange", " without a response that could be read"),
            (self.unverified, "exchange", " that can't be verified, since the capture lacks octets"),
            (tls, "TLS connection", ", encrypted"),
            (http2, "HTTP/2 connection", " without chunks"),
            (strange, "connection", " that is not HTTP"),
        ] {
            if count > 0 {
                let rest = if count == 1 { rest.to_owned() } else { rest.replace("that is", "that are") };
                instead.push(format!("{}{rest}", counted(count, noun)));
            }
        }
        if !instead.is_empty() {
            say(&format!("There is instead: {}.", instead.join("; ")));
        }
        let left_out = self.left_out;
        if left_out.streams > 0 {
            let verb = if left_out.streams == 1 { "is" } else { "are" };
            say(&format!(
                "{} {verb} left out by --stream, --port or --host.",
                counted(left_out.streams, "TCP stream")
            ));
        }
        if left_out.exchanges > 0 {
            let verb = if left_out.exchanges == 1 { "is" } else { "are" };
            say(&format!(
                "{} {verb} left out by --target, which matches no request that wasn't captured.",
                counted(left_out.exchanges, "exchange")
            ));
        }
        match (instead.is_empty() && left_out == LeftOut::default(), self.streams, self.packets) {
            (false, ..) => {}
            (true, 0, 0) => say("There are no packets."),
            (true, 0, 1) => {
                say("The only packet isn't TCP: was it the right interface, and the right filter?")
            }
            (true, 0, packets) => say(&format!(
                "None of the {} is TCP: was it the right interface, and the right filter?",
                counted(packets, "packet")
            )),
            (true, streams, _) => {
                say(&format!("No HTTP/1.1 was found in {}.", counted(streams, "TCP stream")))
            }
        }
        if seen.chunked > 0 {
            say("To check chunked responses whatever they call themselves, say what each chunk is to hold: \
                 --expect watch, json, ndjson or sse. To see their chunks: --all.");
        }
        if tls > 0 {
            say("TLS hides the chunks. Record where the traffic is in the clear: behind whatever ends TLS \
                 (a proxy and its upstream), or in front of what begins it (kubectl proxy).");
        }
        if http2 > 0 {
            say("Over HTTP/2 there are DATA frames in place of chunks. To see chunks, let the client speak \
                 HTTP/1.1 (curl --http1.1; a Go client: GODEBUG=http2client=0).");
        }
        sentences
    }
}

fn in_captures(captures: u64) -> String {
    if captures == 1 { String::new() } else { format!(" in {}", counted(captures, "capture")) }
}
