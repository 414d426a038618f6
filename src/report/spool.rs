//! Text in the order of its place, whatever the order it is written in.
//!
//! Exchanges interleave in a capture, reports list them one after the other.
//! A spool takes the text of each [`Slot`] piece by piece and gives all of it
//! back in slot order, each slot's pieces in the order they came in. It is an
//! external merge sort: pieces collect in memory up to a budget, then go to an
//! anonymous temporary file as a run sorted by slot; the runs are merged at
//! the end. Nothing in memory belongs to a slot for longer than to the next
//! spill, so neither many slots nor many pieces of few slots cost memory:
//! what there is, is the budget, then one read buffer a run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use crate::report::ExchangeId;
use crate::units::StreamId;

/// Where a piece of text belongs: to which exchange, and to which part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The exchange.
    pub exchange: ExchangeId,
    /// The part, in an order that is the report's own.
    pub part: u8,
}

/// Octets of pieces and their index kept in memory: enough that a usual
/// capture needs no file, and that a file is written in large strokes.
const BUDGET: usize = 8 << 20;

/// Runs merged at once. Eight levels of them outlast any disk; the merge holds
/// a buffer for each.
const FAN_IN: usize = 64;

/// Octets read at once from a run.
const READ_BUFFER: usize = 32 << 10;

/// Text that comes in any order and leaves in slot order. See the module.
#[derive(Debug)]
pub struct Spool {
    budget: usize,
    fan_in: usize,
    log: Vec<u8>,
    /// The pieces within `log`, one after the other without gaps.
    index: Vec<Extent>,
    disk: Option<Disk>,
}

impl Default for Spool {
    fn default() -> Self {
        Self::new()
    }
}

impl Spool {
    /// An empty spool.
    #[must_use]
    pub fn new() -> Self {
        Self::with_budget(BUDGET)
    }

    /// An empty spool that keeps about `budget` octets in memory.
    #[must_use]
    pub fn with_budget(budget: usize) -> Self {
        Self { budget, fan_in: FAN_IN, log: Vec::new(), index: Vec::new(), disk: None }
    }

    /// Whether nothing was appended since the last drain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty() && self.disk.is_none()
    }

    /// Puts `octets` behind what `slot` has so far.
    ///
    /// # Errors
    /// What the temporary file answered.
    pub fn append(&mut self, slot: Slot, octets: &[u8]) -> io::Result<()> {
        if octets.is_empty() {
            return Ok(());
        }
        if octets.len() >= self.budget {
            self.spill()?;
            let disk = Disk::of(&mut self.disk)?;
            let record = (slot, octets.len() as u64, [octets].into_iter());
            return disk.write_run([record].into_iter(), self.fan_in).map_err(of_temporary_file);
        }
        match self.index.last_mut() {
            Some(last) if last.slot == slot => last.len += octets.len(),
            _ => self.index.push(Extent { slot, start: self.log.len(), len: octets.len() }),
        }
        self.log.extend_from_slice(octets);
        if self.in_memory() >= self.budget { self.spill() } else { Ok(()) }
    }

    /// Writes everything in slot order; the spool is empty afterwards.
    ///
    /// # Errors
    /// What `out` or the temporary file answered.
    pub fn drain_in_order(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.drain(|_, octets| out.write_all(octets))
    }

    /// Hands everything to `visit` in slot order, in pieces of any size; the
    /// spool is empty afterwards.
    ///
    /// # Errors
    /// What `visit` or the temporary file answered.
    pub fn drain(&mut self, mut visit: impl FnMut(Slot, &[u8]) -> io::Result<()>) -> io::Result<()> {
        if self.disk.is_some() {
            self.spill()?;
        }
        if let Some(mut disk) = self.disk.take() {
            let runs = std::mem::take(&mut disk.runs);
            return disk.merge(&runs, visit);
        }
        let mut index = std::mem::take(&mut self.index);
        index.sort_by_key(|extent| extent.slot);
        let log = std::mem::take(&mut self.log);
        index.iter().try_for_each(|extent| visit(extent.slot, extent.of(&log)))
    }

    fn in_memory(&self) -> usize {
        self.log.len() + self.index.len() * size_of::<Extent>()
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.index.is_empty() {
            return Ok(());
        }
        self.index.sort_by_key(|extent| extent.slot); // stable: pieces of a slot stay in order
        let (log, index) = (&self.log, &self.index);
        // The pieces of a slot become one record.
        let records = index.chunk_by(|a, b| a.slot == b.slot).filter_map(|pieces| {
            let slot = pieces.first()?.slot;
            let len = pieces.iter().map(|extent| extent.len as u64).sum();
            Some((slot, len, pieces.iter().map(|extent| extent.of(log))))
        });
        let disk = Disk::of(&mut self.disk)?;
        disk.write_run(records, self.fan_in).map_err(of_temporary_file)?;
        self.log.clear();
        self.index.clear();
        Ok(())
    }
}

/// A piece within the log.
#[derive(Debug, Clone, Copy)]
struct Extent {
    slot: Slot,
    start: usize,
    len: usize,
}

impl Extent {
    fn of(self, log: &[u8]) -> &[u8] {
        log.get(self.start..).and_then(|rest| rest.get(..self.len)).unwrap_or_default()
    }
}

/// Records sorted by slot within the file.
#[derive(Debug, Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
    last: Slot,
    level: u8,
}

/// The temporary file. A record is a slot, a length and that many octets.
#[derive(Debug)]
struct Disk {
    file: File,
    len: u64,
    /// In the order of their pieces; levels never rise along it.
    runs: Vec<Run>,
}

impl Disk {
    fn of(disk: &mut Option<Self>) -> io::Result<&mut Self> {
        let disk = match disk.take() {
            Some(open) => disk.insert(open),
            None => {
                let file = tempfile::tempfile().map_err(of_temporary_file)?;
                disk.insert(Self { file, len: 0, runs: Vec::new() })
            }
        };
        Ok(disk)
    }

    /// Writes sorted records as a run, or on to the last one if they go behind it.
    fn write_run<'a, P: Iterator<Item = &'a [u8]>>(
        &mut self,
        records: impl Iterator<Item = (Slot, u64, P)>,
        fan_in: usize,
    ) -> io::Result<()> {
        let mut records = records.peekable();
        let Some(&(first, ..)) = records.peek() else { return Ok(()) };
        self.file.seek(SeekFrom::Start(self.len))?;
        let (start, mut last) = (self.len, first);
        let mut out = BufWriter::with_capacity(1 << 16, &self.file);
        for (slot, len, mut pieces) in records {
            out.write_all(&header(slot, len))?;
            pieces.try_for_each(|piece| out.write_all(piece))?;
            self.len += HEADER as u64 + len;
            last = slot;
        }
        out.flush()?;
        drop(out);
        match self.runs.last_mut() {
            Some(run) if run.end == start && run.last <= first => (run.end, run.last) = (self.len, last),
            _ => self.runs.push(Run { start, end: self.len, last, level: 0 }),
        }
        self.lift(fan_in)
    }

    /// Merges the last runs into one of the next level where there are
    /// `fan_in` of one level, so that few are left at the end and each octet
    /// is written again only once a level.
    fn lift(&mut self, fan_in: usize) -> io::Result<()> {
        while let Some(level) = self.runs.last().map(|run| run.level) {
            let same = self.runs.iter().rev().take_while(|run| run.level == level).count();
            if same < fan_in {
                break;
            }
            let merged = self.runs.split_off(self.runs.len() - same);
            let last = merged.iter().map(|run| run.last).max();
            let (start, mut end) = (self.len, self.len);
            let mut pending = Vec::with_capacity(1 << 20);
            let file = self.file.try_clone()?;
            self.merge(&merged, |slot, octets| {
                pending.extend_from_slice(&header(slot, octets.len() as u64));
                pending.extend_from_slice(octets);
                if pending.len() >= 1 << 20 {
                    end = write_at(&file, end, &pending)?;
                    pending.clear();
                }
                Ok(())
            })?;
            self.len = write_at(&file, end, &pending)?;
            if let Some(last) = last {
                self.runs.push(Run { start, end: self.len, last, level: level.saturating_add(1) });
            }
        }
        Ok(())
    }

    fn merge(
        &mut self,
        runs: &[Run],
        mut visit: impl FnMut(Slot, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut readers: Vec<_> = runs.iter().map(|run| Reader::new(*run)).collect();
        let mut heads = BinaryHeap::with_capacity(readers.len());
        for (number, reader) in readers.iter_mut().enumerate() {
            if let Some((slot, len)) = reader.header(&mut self.file)? {
                heads.push(Reverse((slot, number, len)));
            }
        }
        while let Some(Reverse((slot, number, len))) = heads.pop() {
            let Some(reader) = readers.get_mut(number) else {
                continue;
            };
            let mut left = len;
            while left > 0 {
                let piece = reader.piece(&mut self.file, left)?;
                left -= piece.len() as u64;
                visit(slot, piece)?;
            }
            if let Some((slot, len)) = reader.header(&mut self.file)? {
                heads.push(Reverse((slot, number, len)));
            }
        }
        Ok(())
    }
}

/// Reads a run through a buffer of its own; the file's place is shared.
struct Reader {
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    /// read <= buffer.len(): octets before it were handed out.
    read: usize,
}

impl Reader {
    fn new(run: Run) -> Self {
        Self { at: run.start, end: run.end, buffer: Vec::new(), read: 0 }
    }

    /// The next record's slot and length; `None` at the end.
    fn header(&mut self, file: &mut File) -> io::Result<Option<(Slot, u64)>> {
        let mut octets = [0; HEADER];
        let mut have = 0;
        while let Some(free) = octets.get_mut(have..).filter(|free| !free.is_empty()) {
            if have == 0 && self.read == self.buffer.len() && self.at == self.end {
                return Ok(None);
            }
            let piece = self.piece(file, free.len() as u64)?;
            for (to, from) in free.iter_mut().zip(piece) {
                *to = *from;
            }
            have += piece.len();
        }
        Ok(Some(parse(&octets)))
    }

    /// At least one and at most `most` octets.
    fn piece(&mut self, file: &mut File, most: u64) -> io::Result<&[u8]> {
        if self.read == self.buffer.len() {
            let want = usize::try_from(self.end - self.at).map_or(READ_BUFFER, |left| left.min(READ_BUFFER));
            if want == 0 {
                return Err(of_temporary_file(io::ErrorKind::UnexpectedEof.into()));
            }
            self.buffer.resize(want, 0);
            self.read = 0;
            file.seek(SeekFrom::Start(self.at)).map_err(of_temporary_file)?;
            file.read_exact(&mut self.buffer).map_err(of_temporary_file)?;
            self.at += want as u64;
        }
        let rest = self.buffer.get(self.read..).unwrap_or_default();
        let len = usize::try_from(most).map_or(rest.len(), |most| most.min(rest.len()));
        self.read += len;
        Ok(rest.get(..len).unwrap_or_default())
    }
}

const HEADER: usize = 1 + 8 + 8 + 1 + 8;

fn header(slot: Slot, len: u64) -> [u8; HEADER] {
    let ExchangeId { stream, index } = slot.exchange;
    let mut octets = [0; HEADER];
    let fields = [u8::from(stream.is_some())].into_iter();
    let fields = fields.chain(stream.map_or(0, |stream| stream.0).to_be_bytes());
    let fields = fields.chain(index.to_be_bytes()).chain([slot.part]).chain(len.to_be_bytes());
    for (to, from) in octets.iter_mut().zip(fields) {
        *to = from;
    }
    octets
}

fn parse(octets: &[u8; HEADER]) -> (Slot, u64) {
    let number = |at: usize| {
        let field = octets.get(at..).and_then(|rest| rest.first_chunk::<8>());
        field.map_or(0, |field| u64::from_be_bytes(*field))
    };
    let [some, ..] = *octets;
    let stream = (some == 1).then(|| StreamId(number(1)));
    let part = octets.get(17).copied().unwrap_or_default();
    (Slot { exchange: ExchangeId { stream, index: number(9) }, part }, number(18))
}

/// Writes at `at`; gives where the next octet goes.
fn write_at(mut file: &File, at: u64, octets: &[u8]) -> io::Result<u64> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(octets)?;
    Ok(at + octets.len() as u64)
}

fn of_temporary_file(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the temporary file of a report: {error}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn slot(stream: u64, index: u64, part: u8) -> Slot {
        Slot { exchange: ExchangeId { stream: Some(StreamId(stream)), index }, part }
    }

    fn drained(spool: &mut Spool) -> String {
        let mut out = Vec::new();
        spool.drain_in_order(&mut out).unwrap();
        assert!(spool.is_empty());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn slots_leave_in_order_and_their_pieces_as_they_came() {
        let mut spool = Spool::new();
        for (at, text) in [
            (slot(1, 0, 1), "1.0 rows, "),
            (slot(0, 1, 0), "0.1, "),
            (slot(1, 0, 0), "1.0 title, "),
            (slot(1, 0, 1), "more rows"),
            (slot(0, 0, 0), "0.0, "),
        ] {
            spool.append(at, text.as_bytes()).unwrap();
        }
        assert!(spool.disk.is_none(), "little text needs no file");
        assert_eq!(drained(&mut spool), "0.0, 0.1, 1.0 title, 1.0 rows, more rows");
        assert_eq!(drained(&mut spool), "");
        spool.append(slot(7, 0, 0), b"again").unwrap();
        assert_eq!(drained(&mut spool), "again");
    }

    #[test]
    fn raw_exchanges_have_no_stream_and_come_first() {
        let mut spool = Spool::with_budget(1);
        spool.append(slot(0, 0, 0), b"b").unwrap();
        let raw = Slot { exchange: ExchangeId { stream: None, index: 3 }, part: 9 };
        spool.append(raw, b"a").unwrap();
        let mut seen = Vec::new();
        spool
            .drain(|slot, octets| {
                seen.push((slot, octets.to_vec()));
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, [(raw, b"a".to_vec()), (slot(0, 0, 0), b"b".to_vec())]);
    }

    #[test]
    fn pieces_larger_than_the_budget_keep_their_place() {
        let mut spool = Spool::with_budget(64);
        let large = "x".repeat(100_000);
        spool.append(slot(1, 0, 0), b"<").unwrap();
        spool.append(slot(1, 0, 0), large.as_bytes()).unwrap();
        spool.append(slot(1, 0, 0), b">").unwrap();
        spool.append(slot(0, 0, 0), b"first ").unwrap();
        assert_eq!(drained(&mut spool), format!("first <{large}>"));
    }

    #[test]
    fn many_slots_and_many_pieces_stay_within_the_budget() {
        let budget = 64 << 10;
        for (slots, pieces) in [(50_000, 100_000), (3, 100_000)] {
            let mut spool = Spool::with_budget(budget);
            let mut most = 0;
            for number in 0..pieces {
                spool.append(slot(number * 7 % slots, 0, 0), b"0123456789").unwrap();
                most = most.max(spool.in_memory());
            }
            assert!(most <= budget + 100, "{most}");
            let disk = spool.disk.as_ref().unwrap();
            assert!(disk.runs.len() < 2 * FAN_IN, "{}", disk.runs.len());
            let (mut octets, mut last) = (0, slot(0, 0, 0));
            spool
                .drain(|slot, piece| {
                    assert!(last <= slot);
                    (last, octets) = (slot, octets + piece.len() as u64);
                    Ok(())
                })
                .unwrap();
            assert_eq!(octets, pieces * 10);
        }
    }

    #[test]
    fn exchanges_that_come_one_after_the_other_are_one_run() {
        let mut spool = Spool::with_budget(256);
        for stream in 0..1000 {
            spool.append(slot(stream, 0, 0), b"0123456789").unwrap();
        }
        assert_eq!(spool.disk.as_ref().unwrap().runs.len(), 1);
        assert_eq!(drained(&mut spool), "0123456789".repeat(1000));
    }

    proptest! {
        /// Budgets and fan-ins so small that spills and merges of several
        /// levels happen.
        #[test]
        fn a_sorted_map_agrees(
            budget in 1usize..400,
            fan_in in 2usize..5,
            pieces in prop::collection::vec((0u64..6, 0u64..2, 0u8..3, 0usize..40), 0..200),
        ) {
            let mut spool = Spool::with_budget(budget);
            spool.fan_in = fan_in;
            let mut model: BTreeMap<Slot, Vec<u8>> = BTreeMap::new();
            for (number, (stream, index, part, len)) in pieces.into_iter().enumerate() {
                let text = format!("[{number}]").repeat(len);
                let at = slot(stream, index, part);
                spool.append(at, text.as_bytes()).unwrap();
                model.entry(at).or_default().extend_from_slice(text.as_bytes());
            }
            model.retain(|_, octets| !octets.is_empty());
            let mut seen: BTreeMap<Slot, Vec<u8>> = BTreeMap::new();
            let mut last = None;
            spool.drain(|slot, octets| {
                assert!(last <= Some(slot));
                last = Some(slot);
                seen.entry(slot).or_default().extend_from_slice(octets);
                Ok(())
            }).unwrap();
            prop_assert_eq!(seen, model);
        }
    }
}
