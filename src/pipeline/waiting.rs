//! The chunks of a body whose verdict isn't known yet, in order.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::coded::Coded;
use crate::chunk::{Chunk, Closing};
use crate::event::Kind;
use crate::limits::Limits;
use crate::report::{Decoded, Event};
use crate::utf8::Utf8;
use crate::verdict::{Fault, Overlap, Verdict};

/// A chunk whose verdict isn't known yet.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) index: u64,
    pub(super) range: Range<u64>,
    /// Its record, once its last octet came.
    pub(super) chunk: Option<Box<Chunk>>,
    pub(super) overlap: Overlap,
    pub(super) events: SmallVec<[Arc<Event>; 1]>,
    pub(super) unresolved: Option<u64>,
    pub(super) fault: Option<Fault>,
    pub(super) filler: bool,
    /// Why nobody can know what it holds.
    pub(super) unknown: Option<&'static str>,
    /// Whether it holds what may be the rest of an event: that stays unknown.
    pub(super) rest: bool,
    pub(super) utf8: Utf8,
    /// What its octets decode to, in a body with codings; `range` is then the
    /// place of that, and grows with it.
    pub(super) decoded: Option<Box<Decoded>>,
}

/// The chunks that wait; the last may still be receiving octets.
#[derive(Debug)]
pub(super) struct Queue {
    chunks: VecDeque<Waiting>,
    /// Octets that are kept of those of which the last one came.
    kept: usize,
    max_chunks: usize,
    max_kept: usize,
}

impl Waiting {
    /// What it is found to be, with its record, where all is known of it.
    pub(super) fn verdict(&mut self, kind: Kind, coded: Option<&Coded>, chunk: &Chunk) -> Verdict {
        if chunk.lacks_octets() {
            return Verdict::Unverified(format!(
                "the capture holds only {} of its {} octets",
                chunk.received, chunk.size
            ));
        }
        if chunk.unfinished {
            return Verdict::Unchecked(Some(format!(
                "only {} of its {} octets came",
                chunk.received, chunk.size
            )));
        }
        if chunk.closing == Closing::Broken {
            return Verdict::Unchecked(Some("the chunk framing breaks at its end".to_owned()));
        }
        if let Some(reason) = self.unknown {
            return Verdict::Unverified(reason.to_owned());
        }
        if let Some(fault) = self.fault.take() {
            return Verdict::Invalid(fault);
        }
        if let Some(coded) = coded.filter(|_| self.range.is_empty()) {
            return Verdict::Unchecked(Some(coded.nothing_decoded().to_owned()));
        }
        self.overlap.verdict().unwrap_or_else(|| {
            if self.filler || kind == Kind::Sse {
                Verdict::Unchecked(Some(
                    "comments alone, as servers send them to keep a stream alive".to_owned(),
                ))
            } else {
                let message = if self.range.is_empty() { "an empty message" } else { "white space alone" };
                Verdict::Invalid(Fault { at: self.range.start, message: message.to_owned() })
            }
        })
    }

    /// How many octets are kept of it, with its record.
    pub(super) fn kept(&self, chunk: &Chunk) -> usize {
        chunk.payload.len() + self.decoded.as_ref().map_or(0, |decoded| decoded.octets.len())
    }
}

impl Queue {
    pub(super) const fn new(limits: &Limits) -> Self {
        let (max_chunks, max_kept) = (limits.pending_chunks, limits.pending_payload);
        Self { chunks: VecDeque::new(), kept: 0, max_chunks, max_kept }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Whether more wait than memory is meant for.
    pub(super) fn is_crowded(&self) -> bool {
        self.chunks.len() > self.max_chunks || self.kept > self.max_kept
    }

    /// A chunk begins.
    pub(super) fn push(&mut self, index: u64, range: Range<u64>, unknown: Option<&'static str>) {
        self.chunks.push_back(Waiting {
            index,
            range,
            chunk: None,
            overlap: Overlap::default(),
            events: SmallVec::new(),
            unresolved: None,
            fault: None,
            filler: false,
            unknown,
            rest: false,
            utf8: Utf8::default(),
            decoded: None,
        });
    }

    /// The last one's last octet came.
    pub(super) fn end(&mut self, chunk: Box<Chunk>) {
        if let Some(last) = self.chunks.back_mut() {
            self.kept += last.kept(&chunk);
            last.chunk = Some(chunk);
        }
    }

    /// Lets go of the first one, of which so many octets were kept.
    pub(super) fn pop(&mut self, kept: usize) {
        self.kept = self.kept.saturating_sub(kept);
        self.chunks.pop_front();
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut Waiting> {
        self.chunks.front_mut()
    }

    pub(super) fn back(&self) -> Option<&Waiting> {
        self.chunks.back()
    }

    pub(super) fn back_mut(&mut self) -> Option<&mut Waiting> {
        self.chunks.back_mut()
    }

    /// The number of the chunk that holds an octet of the body.
    pub(super) fn holder(&self, octet: u64) -> Option<u64> {
        let chunk = self.chunks.get(self.ending_before(octet)).filter(|chunk| chunk.range.start <= octet);
        chunk.map(|chunk| chunk.index)
    }

    /// The chunks that share octets with `span`.
    pub(super) fn touched(&mut self, span: &Range<u64>) -> impl DoubleEndedIterator<Item = &mut Waiting> {
        let first = self.ending_before(span.start);
        let behind = match self.chunks.back() {
            Some(last) if last.range.start < span.end => self.chunks.len(),
            _ => self.chunks.partition_point(|chunk| chunk.range.start < span.end),
        };
        self.chunks.range_mut(first..behind.max(first))
    }

    /// The chunks that end behind an octet.
    pub(super) fn behind(&mut self, octet: u64) -> impl Iterator<Item = &mut Waiting> {
        let from = self.ending_before(octet);
        self.chunks.range_mut(from..)
    }

    /// How many of them end at an octet or before it.
    fn ending_before(&self, octet: u64) -> usize {
        match self.chunks.back() {
            // Mostly it is about the last one.
            Some(last) if last.range.start <= octet => {
                self.chunks.len() - usize::from(last.range.end > octet)
            }
            _ => self.chunks.partition_point(|chunk| chunk.range.end <= octet),
        }
    }
}

/// The last octets of what came without a hole.
#[derive(Debug, Default)]
pub(super) struct Tail {
    octets: [u8; 4],
    len: usize,
}

impl Tail {
    pub(super) fn push(&mut self, octets: &[u8]) {
        let last = octets.get(octets.len().saturating_sub(self.octets.len())..).unwrap_or(octets);
        for octet in last {
            self.octets.rotate_left(1);
            let [.., place] = &mut self.octets;
            *place = *octet;
            self.len = (self.len + 1).min(self.octets.len());
        }
    }

    /// Whether an event ends with them, whatever came before: in an event
    /// stream, at an empty line.
    pub(super) fn ends_block(&self, kind: Kind) -> bool {
        let octets = self.octets.get(self.octets.len() - self.len..).unwrap_or_default();
        let line_end = octets
            .strip_suffix(b"\r\n")
            .or_else(|| octets.strip_suffix(b"\n"))
            .or_else(|| octets.strip_suffix(b"\r"));
        kind == Kind::Sse && line_end.is_some_and(|before| before.ends_with(b"\n") || before.ends_with(b"\r"))
    }
}
