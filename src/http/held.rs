//! Octets that are held back until it is clear what they are, with their
//! provenance.

use std::collections::VecDeque;

use crate::tcp::{Gap, Piece};
use crate::units::Stamp;

/// Consecutive octets and gaps of one direction.
#[derive(Debug, Default)]
pub(super) struct Held {
    octets: Vec<u8>,
    /// Octets at the front of `octets` that were let go.
    gone: usize,
    items: VecDeque<Item>,
}

#[derive(Debug)]
enum Item {
    Octets { at: u64, len: usize, stamp: Stamp, released: Stamp, segment_start: bool },
    Gap(Gap),
}

/// What was held, in order.
#[derive(Debug)]
pub(super) enum Part<'h> {
    Octets(Piece<'h>),
    Gap(Gap),
}

impl Held {
    /// In how many parts.
    pub(super) fn parts(&self) -> usize {
        self.items.len()
    }

    /// Whether a piece that is held now is a part of its own.
    pub(super) fn begins_part(&self, piece: &Piece<'_>) -> bool {
        match self.items.back() {
            Some(Item::Octets { stamp, released, .. }) => {
                piece.segment_start || *stamp != piece.stamp || *released != piece.released
            }
            _ => true,
        }
    }

    /// Holds the first `count` octets of a piece.
    pub(super) fn push(&mut self, piece: &Piece<'_>, count: usize) {
        let Some(octets) = piece.bytes.get(..count).filter(|octets| !octets.is_empty()) else {
            return;
        };
        self.octets.extend_from_slice(octets);
        if !self.begins_part(piece)
            && let Some(Item::Octets { len, .. }) = self.items.back_mut()
        {
            *len += count;
            return;
        }
        self.items.push_back(Item::Octets {
            at: piece.at,
            len: count,
            stamp: piece.stamp,
            released: piece.released,
            segment_start: piece.segment_start,
        });
    }

    /// Holds a gap.
    pub(super) fn push_gap(&mut self, gap: Gap) {
        self.items.push_back(Item::Gap(gap));
    }

    /// Lets everything go.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Lets go what lies before an offset, in whole parts.
    pub(super) fn release(&mut self, until: u64) {
        while let Some(item) = self.items.front() {
            let (end, len) = match item {
                Item::Octets { at, len, .. } => (at.saturating_add(*len as u64), *len),
                Item::Gap(gap) => (gap.at.saturating_add(gap.len), 0),
            };
            if end > until {
                break;
            }
            self.gone += len;
            self.items.pop_front();
        }
        if self.gone > self.octets.len() / 2 {
            self.octets.drain(..self.gone);
            self.gone = 0;
        }
    }

    /// What is held, in order; cuts are where packets begin.
    pub(super) fn iter(&self) -> impl Iterator<Item = Part<'_>> {
        let mut start = self.gone;
        self.items.iter().map(move |item| match item {
            Item::Gap(gap) => Part::Gap(*gap),
            Item::Octets { at, len, stamp, released, segment_start } => {
                let end = start.saturating_add(*len);
                let bytes = self.octets.get(start..end).unwrap_or_default().into();
                start = end;
                Part::Octets(Piece {
                    at: *at,
                    bytes,
                    stamp: *stamp,
                    released: *released,
                    segment_start: *segment_start,
                })
            }
        })
    }
}
