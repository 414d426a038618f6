//! The read buffer: a block of a capture, in which records are found.

use std::io::Read;

use super::error::{CaptureError, Place};
use super::input::Input;
use crate::limits::Limits;

/// Octets of a capture that were read and not yet passed by.
pub(super) struct Block<R: Read> {
    input: Input<R>,
    /// Octets `start..end` are read and not passed by.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Octets before the buffer's first.
    base: u64,
    /// The input is at its end.
    ended: bool,
    /// How long the buffer is without need.
    usual: usize,
}

impl<R: Read> Block<R> {
    /// A block over the octets of `source`.
    pub(super) fn open(source: R, limits: &Limits) -> Result<Self, CaptureError> {
        let usual = limits.read_block.max(64);
        Ok(Self {
            input: Input::open(source)?,
            buffer: vec![0; usual],
            start: 0,
            end: 0,
            base: 0,
            ended: false,
            usual,
        })
    }

    /// The octets that are there.
    #[inline]
    pub(super) fn octets(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// How many octets are there.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.end - self.start
    }

    /// The octets at these places of the buffer; they stay until the next
    /// [`Self::fill`].
    #[inline]
    pub(super) fn at(&self, start: usize, length: usize) -> &[u8] {
        self.buffer.get(start..start.saturating_add(length)).unwrap_or_default()
    }

    /// The place in the buffer of the first octet that is there.
    #[inline]
    pub(super) const fn start(&self) -> usize {
        self.start
    }

    /// The offset of the first octet that is there.
    #[inline]
    pub(super) const fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// That offset, for a message.
    pub(super) const fn place(&self) -> Place {
        Place { offset: self.offset(), unpacked: self.input.compression().is_some() }
    }

    /// What the octets come from.
    pub(super) const fn input(&self) -> &Input<R> {
        &self.input
    }

    /// Passes by octets that are there.
    #[inline]
    pub(super) fn pass(&mut self, count: usize) {
        self.start = self.start.saturating_add(count).min(self.end);
    }

    /// As [`Self::fill_or_yield`], but waits where nothing is there yet.
    pub(super) fn fill(&mut self, need: usize) -> Result<bool, CaptureError> {
        loop {
            match self.fill_or_yield(need) {
                Err(error) if error.is_nothing_yet() => {}
                result => return result,
            }
        }
    }

    /// Reads until `need` octets are there; false if the input ends before.
    /// Doesn't read at all when they are there, so that what has arrived
    /// through a pipe is never held up by a read that waits. The buffer grows
    /// with what arrives, not with what a length field promises.
    ///
    /// Passes on [`NothingYet`](super::NothingYet); what arrived stays.
    pub(super) fn fill_or_yield(&mut self, need: usize) -> Result<bool, CaptureError> {
        while self.len() < need {
            if self.ended {
                return Ok(false);
            }
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.base += self.start as u64;
                self.end -= self.start;
                self.start = 0;
                // A larger buffer is kept for a while: a large block rarely
                // comes alone.
                if self.buffer.len() > self.usual * 4 && need.max(self.end) <= self.usual {
                    self.buffer.truncate(self.usual);
                    self.buffer.shrink_to_fit();
                }
            }
            if self.end == self.buffer.len() {
                let length = self.buffer.len().saturating_mul(2).min(need).max(self.end + 1);
                self.buffer.reserve_exact(length - self.buffer.len());
                self.buffer.resize(length, 0);
            }
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            let got = self.input.read(room)?;
            self.ended = got == 0;
            self.end += got;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_grows_for_a_large_block_and_shrinks_behind_it() {
        let limits = Limits { read_block: 1024, ..Limits::default() };
        let mut block = Block::open(&[7; 200_000][..], &limits).unwrap();
        assert!(block.fill(100_000).unwrap());
        assert!((100_000..=200_000).contains(&block.buffer.len()));
        block.pass(100_000);
        assert!(block.fill(16).unwrap());
        assert_eq!(block.buffer.capacity(), 1024);
        assert_eq!(block.offset(), 100_000);
    }

    #[test]
    fn the_buffer_grows_with_what_arrives_not_with_what_is_promised() {
        let limits = Limits { read_block: 1024, ..Limits::default() };
        let mut block = Block::open(&[7; 5000][..], &limits).unwrap();
        assert!(!block.fill(100 << 20).unwrap());
        assert_eq!(block.len(), 5000);
        assert!(block.buffer.len() < 20_000);
    }
}
