//! What went wrong in reading a capture: each code once a capture or once a
//! stream, with a count and the first frame, never once a packet.

use std::collections::BTreeMap;

use crate::chunk::Lenience;
use crate::coding::Coding;
use crate::report::Problem;
use crate::units::{FrameNo, Stamp, StreamId};

/// At most so many streams are named with the same code; the rest is counted.
const NAMED_STREAMS: usize = 1000;

/// Once a capture: a report is passed on as a whole.
const SECRETS: &str = "unredacted-secret";

fn tell_secrets(count: u64) -> String {
    let heads = if count == 1 { "1 head or chunk holds" } else { &format!("{count} heads or chunks hold") };
    format!("{heads} credentials or data of Secrets, which reports show; --redact masks them")
}

/// How often something happened, and where first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tallied {
    pub(super) count: u64,
    pub(super) first: FrameNo,
}

impl Tallied {
    fn add(place: &mut Option<Self>, count: u64, frame: FrameNo) {
        place.get_or_insert(Self { count: 0, first: frame }).more(count, frame);
    }

    fn more(&mut self, count: u64, frame: FrameNo) {
        self.count = self.count.saturating_add(count);
        self.first = self.first.min(frame);
    }
}

/// What one exchange lacks: a chunk's payload was longer than what is kept, its
/// encoding isn't read, or it shows secrets.
#[derive(Debug, Default)]
pub(super) struct Shortfalls {
    /// The frame of the first chunk whose payload was cut, and how many were.
    pub(super) cut_payloads: Option<(FrameNo, u64)>,
    /// The encoding that isn't supported.
    pub(super) encoding: Option<String>,
    /// The coding whose stream a complete body ends in.
    pub(super) unfinished_coding: Option<Coding>,
    /// A body decodes to more than is believed.
    pub(super) too_much: bool,
    /// The frame of the first head or chunk that shows a secret, and how many do.
    pub(super) secrets: Option<(FrameNo, u64)>,
}

impl Shortfalls {
    /// A head or a chunk shows a secret.
    pub(super) fn secret(&mut self, stamp: Option<Stamp>) {
        let frame = stamp.map_or(FrameNo::new(1), |stamp| stamp.frame);
        self.secrets.get_or_insert((frame, 0)).1 += 1;
    }
}

/// What one stream lacks, and where its senders left the grammar.
#[derive(Debug, Default)]
pub(super) struct StreamTroubles {
    lost: Option<Tallied>,
    conflicts: Option<Tallied>,
    joins: Option<Tallied>,
    skipped: u64,
    heads: Option<Tallied>,
    lenient: BTreeMap<Lenience, Tallied>,
    cut_payloads: Option<Tallied>,
    encodings: BTreeMap<String, Tallied>,
    unfinished_codings: BTreeMap<&'static str, Tallied>,
    too_much_decoded: Option<Tallied>,
    secrets: Option<Tallied>,
}

impl StreamTroubles {
    pub(super) fn lost(&mut self, octets: u64, stamp: Stamp) {
        Tallied::add(&mut self.lost, octets, stamp.frame);
    }

    pub(super) fn conflict(&mut self, stamp: Stamp) {
        Tallied::add(&mut self.conflicts, 1, stamp.frame);
    }

    pub(super) fn join(&mut self, skipped: u64, stamp: Stamp) {
        Tallied::add(&mut self.joins, 1, stamp.frame);
        self.skipped = self.skipped.saturating_add(skipped);
    }

    pub(super) fn incomplete_head(&mut self, stamp: Stamp) {
        Tallied::add(&mut self.heads, 1, stamp.frame);
    }

    pub(super) fn lenient(&mut self, rule: Lenience, stamp: Stamp) {
        let none = Tallied { count: 0, first: stamp.frame };
        self.lenient.entry(rule).or_insert(none).more(1, stamp.frame);
    }

    pub(super) fn cut_payloads(&mut self, first: FrameNo, count: u64) {
        Tallied::add(&mut self.cut_payloads, count, first);
    }

    pub(super) fn encoding(&mut self, encoding: String, frame: FrameNo) {
        let none = Tallied { count: 0, first: frame };
        self.encodings.entry(encoding).or_insert(none).more(1, frame);
    }

    pub(super) fn secrets(&mut self, first: FrameNo, count: u64) {
        Tallied::add(&mut self.secrets, count, first);
    }

    pub(super) fn unfinished_coding(&mut self, coding: Coding, frame: FrameNo) {
        let none = Tallied { count: 0, first: frame };
        self.unfinished_codings.entry(coding.name()).or_insert(none).more(1, frame);
    }

    pub(super) fn too_much_decoded(&mut self, frame: FrameNo) {
        Tallied::add(&mut self.too_much_decoded, 1, frame);
    }

    /// The problems of the stream, in a fixed order.
    fn problems(&self, frames: bool) -> Vec<(&'static str, Tallied, String)> {
        let mut problems = Vec::new();
        if let Some(lost) = self.lost {
            let octets = lost.count;
            problems.push((
                "lost-octets",
                lost,
                format!(
                    "the capture lacks {octets} {} of it: record with a larger buffer (tcpdump -B 16384) \
                     and without a snap length (-s 0)",
                    plural(octets, "octet")
                ),
            ));
        }
        if let Some(conflicts) = self.conflicts {
            problems.push((
                "conflicting-overlap",
                conflicts,
                "copies of the same octets differ; those that came first count".to_owned(),
            ));
        }
        if let Some(joins) = self.joins {
            problems.push((
                "joined-midstream",
                joins,
                format!(
                    "it was joined in the middle{}: events are checked from the first chunk on that begins one",
                    match self.skipped {
                        0 => String::new(),
                        skipped => format!(", {skipped} {} skipped", plural(skipped, "octet")),
                    }
                ),
            ));
        }
        if let Some(heads) = self.heads {
            problems.push(("incomplete-head", heads, "a request or response head lacks octets, so its body isn't read; record whole packets, from before \
                 the request on".to_owned()));
        }
        if let Some(first) = self.lenient.values().min_by_key(|tallied| tallied.first) {
            let count = self.lenient.values().map(|tallied| tallied.count).sum();
            let rules: Vec<String> = self
                .lenient
                .iter()
                .map(|(rule, tallied)| {
                    let frame = if frames { format!(" (frame {})", tallied.first) } else { String::new() };
                    format!("{}{frame}", explain(*rule))
                })
                .collect();
            problems.push((
                "lenient-framing",
                Tallied { count, first: first.first },
                format!("read all the same, though strict receivers may refuse it: {}", rules.join("; ")),
            ));
        }
        for (encoding, tallied) in &self.encodings {
            problems.push((
                "unsupported-encoding",
                *tallied,
                format!("{encoding} isn't decoded yet: the chunks are listed, their events unchecked"),
            ));
        }
        for (coding, tallied) in &self.unfinished_codings {
            problems.push((
                "unfinished-coding",
                *tallied,
                format!(
                    "a complete body ends before its {coding} stream does: many clients take that for a broken \
                     response; the sender must finish the stream"
                ),
            ));
        }
        if let Some(tallied) = self.too_much_decoded {
            problems.push((
                "decoding-limit",
                tallied,
                "a body decodes to so much more than itself that it wasn't decoded to its end: the chunks from \
                 there on are unverified"
                    .to_owned(),
            ));
        }
        if let Some(cut) = self.cut_payloads {
            problems.push((
                "payload-limit",
                cut,
                format!(
                    "{} {} longer than what a report keeps of a chunk; verdicts don't depend on it",
                    cut.count,
                    if cut.count == 1 { "payload is" } else { "payloads are" }
                ),
            ));
        }
        problems
    }
}

/// The problems of one capture.
#[derive(Debug, Default)]
pub(super) struct Problems {
    named: Vec<Problem>,
    /// Streams by code, as far as they are named.
    streams: BTreeMap<&'static str, usize>,
    unnamed: BTreeMap<&'static str, (u64, Tallied)>,
    /// Heads and chunks that show secrets, of all streams.
    secrets: Option<Tallied>,
}

impl Problems {
    /// A problem of the capture as a whole.
    pub(super) fn capture(
        &mut self,
        code: &'static str,
        frame: Option<FrameNo>,
        count: u64,
        message: String,
    ) {
        self.named.push(Problem { code, stream: None, frame, count, message });
    }

    /// The problems of raw HTTP responses, which have no frames.
    pub(super) fn raw(&mut self, troubles: &StreamTroubles) {
        for (code, tallied, message) in troubles.problems(false) {
            self.capture(code, None, tallied.count, message);
        }
        if let Some(Tallied { count, .. }) = troubles.secrets {
            self.capture(SECRETS, None, count, tell_secrets(count));
        }
    }

    /// The problems of a stream.
    pub(super) fn stream(&mut self, stream: StreamId, troubles: &StreamTroubles) {
        if let Some(Tallied { count, first }) = troubles.secrets {
            Tallied::add(&mut self.secrets, count, first);
        }
        for (code, tallied, message) in troubles.problems(true) {
            let named = self.streams.entry(code).or_default();
            if *named < NAMED_STREAMS {
                *named += 1;
                let Tallied { count, first } = tallied;
                self.named.push(Problem { code, stream: Some(stream), frame: Some(first), count, message });
            } else {
                let none = (0, Tallied { count: 0, first: tallied.first });
                let (streams, all) = self.unnamed.entry(code).or_insert(none);
                *streams += 1;
                all.more(tallied.count, tallied.first);
            }
        }
    }

    /// All problems: those of the capture first, then by stream.
    pub(super) fn into_list(mut self) -> Vec<Problem> {
        if let Some(Tallied { count, first }) = self.secrets {
            self.capture(SECRETS, Some(first), count, tell_secrets(count));
        }
        self.named.sort_by_key(|problem| (problem.stream, problem.frame));
        for (code, (streams, tallied)) in self.unnamed {
            self.named.push(Problem {
                code,
                stream: None,
                frame: Some(tallied.first),
                count: tallied.count,
                message: format!("the same of {streams} further {}", plural(streams, "stream")),
            });
        }
        self.named
    }
}

/// `noun`, with an s unless there is one.
pub(super) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// A tolerated departure from the grammar, with the rule.
fn explain(rule: Lenience) -> &'static str {
    match rule {
        Lenience::SpaceAfterSize => "white space between a chunk size and its line end (RFC 9112 §7.1)",
        Lenience::BareLfInChunks => "a bare LF as a line end in chunk framing (RFC 9112 §7.1)",
        Lenience::BareLfInHead => "a bare LF as a line end in a head (RFC 9112 §2.2)",
        Lenience::ChunkedTwice => "`Transfer-Encoding: chunked` given twice (RFC 9112 §6.1)",
        Lenience::LengthBesideChunked => {
            "both Transfer-Encoding and Content-Length, of which the former counts (RFC 9112 §6.1)"
        }
        Lenience::LengthTwice => "Content-Length given twice with the same value (RFC 9112 §6.3)",
        Lenience::ObsFold => "a folded header field (RFC 9112 §5.2)",
        Lenience::SpaceBeforeColon => "white space before a field's colon (RFC 9112 §5.1)",
        Lenience::BlankLineBeforeStart => "a blank line before a start line (RFC 9112 §2.2)",
        Lenience::CodingInHttp10 => "Transfer-Encoding in an HTTP/1.0 message (RFC 9112 §6.1)",
        Lenience::SpaceInTarget => "white space within a request target (RFC 9112 §3.2)",
        Lenience::InvalidField => "a header field that is none, passed over (RFC 9112 §5.1)",
        Lenience::NotChunkedLast => {
            "a transfer coding whose last member isn't chunked: read to the close (RFC 9112 §6.3)"
        }
    }
}
