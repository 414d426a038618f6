//! What fails, explained in the manner of a good compiler: where, what, what
//! it means for a client, what to look up.
//!
//! Violations of one kind make a group: the first few are told one by one,
//! the rest are counted and listed by their chunks, and each kind is explained
//! once an exchange.

use std::collections::VecDeque;
use std::fmt::Write as _;

use smallvec::SmallVec;

use crate::chunk::{Chunk, Closing, Run, frames};
use crate::event::Kind;
use crate::http::Side;
use crate::report::phrases::unit;
use crate::report::prose::{Mark, Prose};
use crate::report::text::{Tone, counted, frame_ranges, grouped, printable, range, ranges};
use crate::report::{ExchangeEnd, Expect, JudgedChunk, Tally, Violation, ViolationCode};
use crate::units::FrameNo;

/// Violations of a kind that are told one by one.
const TOLD: usize = 3;

/// Runs of chunk numbers that are kept of the others.
const KEPT_RANGES: usize = 12;

/// Chunks that a violation may still name.
const KEPT_CHUNKS: usize = 8;

/// Frames of a chunk that are looked up.
const KEPT_FRAMES: usize = 1000;

/// Runs of frames in a display filter.
const FILTER_RANGES: usize = 40;

/// The failures of one exchange. Its size is bounded.
#[derive(Debug, Default)]
pub(super) struct Failures {
    groups: Vec<Group>,
    /// Chunks that may be named by a violation to come.
    chunks: VecDeque<(Side, ChunkFacts)>,
}

#[derive(Debug)]
struct Group {
    side: Side,
    code: ViolationCode,
    told: Vec<String>,
    /// The frame of the first.
    first: Option<FrameNo>,
    frames: Vec<FrameNo>,
    count: u64,
    /// Chunks of those that aren't told, as runs.
    others: Vec<(u64, u64)>,
}

impl Group {
    const fn is_about_events(&self) -> bool {
        !matches!(self.code, ViolationCode::BadFraming | ViolationCode::TruncatedBody)
    }

    /// `9 more like these: chunks 5–13`, unless all are told.
    fn more(&self) -> Option<String> {
        let others = self.count - self.told.len() as u64;
        let (more, noun) = match others {
            0 => return None,
            1 => ("One more like these".to_owned(), "chunk"),
            _ => (format!("{} more like these", grouped(others)), "chunks"),
        };
        let runs = self.others.iter().take(KEPT_RANGES);
        let runs: Vec<_> = runs.map(|&(first, last)| range(first, last)).collect();
        let cut = if self.others.len() > KEPT_RANGES { ", …" } else { "" };
        Some(match runs.is_empty() {
            true => more,
            false => format!("{more}: {noun} {}{cut}", runs.join(", ")),
        })
    }
}

/// The failures of one kind, for reports that set them in their own way.
#[derive(Debug)]
pub(super) struct FailureKind<'a> {
    pub(super) code: ViolationCode,
    pub(super) count: u64,
    /// The first of them, a sentence each without a full stop.
    pub(super) told: &'a [String],
    /// How many more there are, and where.
    pub(super) more: Option<String>,
    /// What that means for a client, sentences.
    pub(super) meaning: String,
    /// The frame to look up first.
    pub(super) frame: Option<FrameNo>,
}

/// What may be said of a chunk that fails; put into words only if it is.
#[derive(Debug)]
struct ChunkFacts {
    index: u64,
    size_line: SmallVec<[u8; 24]>,
    size: u64,
    trail: SmallVec<[Run; 3]>,
    /// It stands for a WebSocket message.
    message: bool,
}

impl ChunkFacts {
    /// `0x1000 = 4096 octets, frames 18–20`; raw HTTP has no frames.
    fn words(&self, of_packets: bool) -> String {
        let octets = if self.size == 1 { "octet" } else { "octets" };
        let mut text = match self.message {
            true => format!("a message of {} {octets}", self.size),
            false => format!("0x{} = {} {octets}", short(&self.size_line), self.size),
        };
        let frames = frames(&self.trail);
        if of_packets && !frames.is_empty() {
            let noun = if frames.len() == 1 { "frame" } else { "frames" };
            let _ = write!(text, ", {noun}\u{a0}{}", frame_ranges(&frames, 4));
        }
        text
    }
}

impl Failures {
    /// Whether a violation may name this chunk.
    pub(super) fn may_name(chunk: &Chunk, fails: bool) -> bool {
        fails || chunk.unfinished || matches!(chunk.closing, Closing::None | Closing::Broken | Closing::Lost)
    }

    /// Keeps what a violation may need of its chunk.
    pub(super) fn keep(&mut self, side: Side, chunk: &Chunk) {
        if self.chunks.len() == KEPT_CHUNKS {
            self.chunks.pop_front();
        }
        let facts = ChunkFacts {
            index: chunk.index,
            size_line: chunk.size_line.clone(),
            size: chunk.size,
            trail: chunk.trail.clone(),
            message: chunk.message.is_some(),
        };
        self.chunks.push_back((side, facts));
    }

    /// Takes a violation; gives it in words if they are wanted.
    pub(super) fn push(&mut self, violation: &Violation, wanted: bool) -> Option<String> {
        let place =
            self.groups.iter().position(|group| group.code == violation.code && group.side == violation.side);
        let place = place.unwrap_or_else(|| {
            self.groups.push(Group {
                side: violation.side,
                code: violation.code,
                told: Vec::new(),
                first: violation.frame,
                frames: Vec::new(),
                count: 0,
                others: Vec::new(),
            });
            self.groups.len() - 1
        });
        let named = self
            .chunks
            .iter()
            .position(|(side, chunk)| *side == violation.side && Some(chunk.index) == violation.chunk);
        let named = named.and_then(|place| self.chunks.remove(place)).map(|(_, chunk)| chunk);
        let group = self.groups.get_mut(place)?;
        let tells = group.told.len() < TOLD;
        let told = (tells || wanted).then(|| tell(violation, named.as_ref()));
        group.count += 1;
        if tells {
            group.told.extend(told.clone());
            group.frames.extend(violation.frame);
            group.frames.extend(named.into_iter().flat_map(|chunk| frames(&chunk.trail)).take(KEPT_FRAMES));
        } else if let Some(index) = violation.chunk {
            let kept = group.others.len();
            match group.others.last_mut() {
                Some((_, last)) if index <= last.saturating_add(1) => *last = index.max(*last),
                _ if kept <= KEPT_RANGES => group.others.push((index, index)),
                _ => {}
            }
        }
        told
    }

    /// What fails, for a line of the summary.
    pub(super) fn in_short(&self, tally: &Tally) -> String {
        let chunks: u64 =
            self.groups.iter().filter(|group| group.is_about_events()).map(|group| group.count).sum();
        let mut texts = Vec::new();
        if chunks > 0 {
            texts.push(format!("{} of {}", grouped(chunks), counted(tally.chunks(), "chunk")));
        }
        texts.extend(self.groups.iter().filter_map(|group| match (group.code, group.side) {
            (ViolationCode::BadFraming, _) => Some("broken chunk framing".to_owned()),
            (ViolationCode::TruncatedBody, Side::Response) => Some("cut off by the server".to_owned()),
            (ViolationCode::TruncatedBody, Side::Request) => Some("cut off by the client".to_owned()),
            _ => None,
        }));
        texts.join(", ")
    }

    /// The failures kind by kind, in the order in which each came first.
    pub(super) fn kinds<'a>(&'a self, end: &'a ExchangeEnd) -> impl Iterator<Item = FailureKind<'a>> {
        self.groups.iter().map(|group| FailureKind {
            code: group.code,
            count: group.count,
            told: &group.told,
            more: group.more(),
            meaning: meaning(group, end),
            frame: group.first,
        })
    }

    /// The explanation, for below an exchange's verdict.
    pub(super) fn explain(&self, prose: Prose, end: &ExchangeEnd) -> String {
        let mut text = String::new();
        for kind in self.kinds(end) {
            text.push('\n');
            for told in kind.told {
                text.push_str(&prose.marked(Mark::Bad, told));
            }
            if let Some(more) = kind.more {
                text.push_str(&prose.paragraph(&more, "  ", "  "));
            }
            text.push_str(&prose.paragraph(&kind.meaning, "  ", "  "));
        }
        if let Some(filter) = self.filter(end) {
            let what =
                if self.groups.iter().map(|group| group.count).sum::<u64>() == 1 { "it" } else { "them" };
            let line = format!("  look {what} up in Wireshark: {filter}");
            text.push('\n');
            text.push_str(&prose.paint.tone(Tone::Faint, &line));
            text.push('\n');
        }
        text
    }

    /// A display filter for the frames of what was told.
    pub(super) fn filter(&self, end: &ExchangeEnd) -> Option<String> {
        let stream = end.head.id.stream?;
        let frames = self.groups.iter().flat_map(|group| &group.frames);
        let mut frames: Vec<u64> = frames.map(|frame| frame.get()).collect();
        frames.sort_unstable();
        let runs = ranges(frames.into_iter());
        if runs.is_empty() {
            return None;
        }
        let runs: Vec<_> = runs
            .iter()
            .take(FILTER_RANGES)
            .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}..{last}") })
            .collect();
        Some(format!("tcp.stream eq {stream} && frame.number in {{{}}}", runs.join(", ")))
    }
}

/// `chunk 3 (0x1000 = 4096 octets, frames 18–20)`
pub(super) fn chunk_words(judged: &JudgedChunk) -> String {
    let chunk = &judged.chunk;
    let facts = ChunkFacts {
        index: chunk.index,
        size_line: chunk.size_line.clone(),
        size: chunk.size,
        trail: chunk.trail.clone(),
        message: chunk.message.is_some(),
    };
    format!("chunk {} ({})", facts.index, facts.words(judged.exchange.stream.is_some()))
}

/// The hex digits of a size line, which may carry thousands of leading zeros.
fn short(size_line: &[u8]) -> String {
    let digits = size_line.iter().take_while(|octet| octet.is_ascii_hexdigit());
    let hex: String = digits.map(|octet| char::from(*octet)).collect();
    if hex.len() <= 16 { hex } else { format!("0…{}", hex.trim_start_matches('0')) }
}

/// One violation: where and what.
fn tell(violation: &Violation, chunk: Option<&ChunkFacts>) -> String {
    let message = printable(&violation.message);
    let side = if violation.side == Side::Request { "request " } else { "" };
    let of_packets = violation.exchange.stream.is_some();
    let place = match (violation.chunk, chunk, violation.frame) {
        (Some(index), Some(chunk), _) => format!("{side}chunk {index} ({})", chunk.words(of_packets)),
        (Some(index), None, Some(frame)) => format!("{side}chunk {index} (frame\u{a0}{frame})"),
        (Some(index), None, None) => format!("{side}chunk {index}"),
        (None, _, Some(frame)) if side.is_empty() => format!("frame\u{a0}{frame}"),
        (None, _, Some(frame)) => format!("request, frame\u{a0}{frame}"),
        (None, ..) if side.is_empty() => "response".to_owned(),
        (None, ..) => "request".to_owned(),
    };
    // What a chunk holds goes on from its name, anything else stands by itself.
    let goes_on = ["holds ", "is ", "has "].iter().any(|verb| message.starts_with(verb));
    if goes_on { format!("{place} {message}") } else { format!("{place}: {message}") }
}

/// What a kind of failure means for whoever receives it.
fn meaning(group: &Group, end: &ExchangeEnd) -> String {
    let unit = unit(end.head.expect);
    let chunks = end.tally.chunks();
    let json = matches!(end.head.expect, Some(Expect::Kind(Kind::Watch | Kind::Json | Kind::Ndjson)));
    match group.code {
        ViolationCode::SeveralEvents => format!(
            "A client that takes a chunk for one {unit} reads the first and {} the others. Nothing in HTTP keeps \
             two events apart in two chunks: one that looks for the end of each event in the body itself gets \
             all of them.",
            if json { "fails at, or misses," } else { "misses" }
        ),
        ViolationCode::PartialEvent => format!(
            "A client that parses chunk by chunk breaks here: it has {}, and the rest comes in other chunks. \
             One that reads on until the event is whole gets it.",
            if json { "a JSON text that doesn't end or doesn't begin" } else { "a piece of an event" }
        ),
        ViolationCode::MixedEvents if chunks > 1 => format!(
            "A client that parses chunk by chunk breaks here. Chunk edges and event edges have nothing to do with \
             each other in {} of {} chunks; one that looks for the end of each event in the body itself gets \
             all of them.",
            grouped(end.tally.mixed.max(group.count)),
            grouped(chunks)
        ),
        ViolationCode::MixedEvents => {
            "A client that parses chunk by chunk breaks here: the chunk's edges cut \
             through events."
                .to_owned()
        }
        ViolationCode::NotAnEvent => format!(
            "No client finds a {unit} in these octets, whether it reads chunk by chunk or the body as a whole."
        ),
        ViolationCode::BadFraming => {
            "From here on no receiver can tell where a chunk begins (RFC 9112, section \
             7.1): a careful one gives up and closes the connection, a careless one takes framing for data. \
             Nothing behind this octet was interpreted."
                .to_owned()
        }
        ViolationCode::TruncatedBody => {
            let (sender, receiver) = match group.side {
                Side::Request => ("client", "server"),
                Side::Response => ("server", "client"),
            };
            format!(
                "A chunked body ends with a chunk of size 0. Without it the {receiver} has to take the body as \
                 incomplete (RFC 9112, section 8): it can't know what the {sender} would still have sent."
            )
        }
    }
}
