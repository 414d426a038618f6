//! A recording read by several threads.
//!
//! ```text
//! calling thread   capture ▶ packet ▶ tcp ─┐                       ┌─▶ report
//!                                        batch                   merge
//! any thread                               └─▶ http ▶ chunk ▶ … ──┘
//! ```
//!
//! The calling thread reads, and copies what the reassembler yields into a
//! batch. Streams are dealt out to *shares*; a share's part of a batch is a
//! task, and whoever has nothing else to do takes the oldest one: the workers,
//! and the calling thread itself when as many batches are under way as may be.
//! A share's parts are worked on one after the other, so that each
//! conversation hears its items in order, and different shares at once. When
//! all parts of the oldest batch are done, the calling thread tells the report
//! what was found, item by item in the order in which they were read: what
//! comes out is what one thread would have written, to the octet.
//!
//! So one long stream gains too: while a worker reads its content, the calling
//! thread decodes packets and writes reports. Neither the source nor the
//! report leaves the calling thread, and neither need be [`Send`]. Where that
//! thread is faster alone, for what it costs to hand things on, it works alone;
//! see `trial`.
//!
//! Memory is bounded by [`Limits::batches`]: a report that writes slowly holds
//! back the reader. And nothing that arrived waits for what didn't: before a
//! read that may wait for a pipe, all that is under way is finished and told.
//!
//! [`Limits::batches`]: crate::limits::Limits::batches

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::mem;
use std::panic;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::AnalysisError;
use super::batch::{Batch, List, Spent};
use super::found::{Emit as _, Found};
use super::options::Options;
use super::recording::{Outlet, Way};
use super::streams::Streams;
use super::trial::{Manner, Trial};
use crate::limits::Limits;
use crate::tcp::StreamItem;
use crate::units::StreamId;

/// More threads than these would find nothing to do: the reading and the
/// writing go on one thread, and take more than a sixtieth of the time.
const MOST_THREADS: usize = 64;

/// Read blocks' worth of octets in a full batch: with more, threads wait for
/// each other less often; with less, it stays in the processor's cache.
const BATCH: usize = 2;

/// Octets for each item of a full batch: items with little in them, such as
/// the packets that close short connections, fill a batch by their number.
const OCTETS_AN_ITEM: usize = 256;

/// Findings that a batch is to yield at most, as far as that can be foretold:
/// what was found in it is still in the processor's cache when it is told.
const FINDINGS: usize = 1024;

/// The smallest part of a full batch that one is made for what it may yield.
const LEAST: usize = 8;

/// Findings that wait to be told, so that streams of tiny chunks, which yield
/// many times their octets in findings, take no more memory than others: above
/// it only the oldest batch is worked on.
const WAITING_FINDINGS: usize = 2 * FINDINGS;

/// Spent lists that wait for their maker, and as many that it has at hand to
/// write over what is in them.
const SPENT_LISTS: usize = 4;

/// What an item takes besides its octets, as octets, for [`Trial`].
const WORK_AN_ITEM: usize = 128;

/// Octets of a batch that are worth waking another thread for.
const WORTH_WAKING: usize = 16 << 10;

/// What a source answers whose reader is to end.
const STOPPED: &str = "the analysis was stopped";

/// How many threads are to be used.
pub(super) fn threads(options: &Options) -> usize {
    match options.follow {
        // Each packet is to be told of at once: there is nothing to share out.
        true => 1,
        false => options.threads.clamp(1, MOST_THREADS),
    }
}

/// How many shares streams are dealt out to: several for each thread, so that
/// a share with a busy stream doesn't leave the others without work.
pub(super) fn shares(options: &Options) -> usize {
    match threads(options) {
        1 => 1,
        threads => threads * 2,
    }
}

/// The share that a stream falls to.
pub(super) fn share(stream: StreamId, shares: usize) -> usize {
    // The remainder is below `shares`.
    (stream.0 % shares.max(1) as u64) as usize
}

/// The most that a list keeps room for while it is empty.
const LIST_ROOM: usize = 4096;

/// A list and the thread that made it. What is in it is freed where it was
/// allocated: allocators are slow, and wait for each other, where one thread
/// frees what another allocates.
#[derive(Debug)]
struct Findings {
    maker: usize,
    list: List,
}

/// What a thread brings along.
struct Hand {
    /// Its number; 0 is the calling thread.
    number: usize,
    /// What is in lists of its own that were told.
    spent: Spent,
}

impl Hand {
    fn new(number: usize) -> Self {
        Self { number, spent: Spent::default() }
    }

    /// An empty list, once lists that were told are taken in.
    fn list(&mut self, spent: Vec<List>) -> List {
        self.spent.add(spent, SPENT_LISTS);
        let mut list = self.spent.empty().unwrap_or_default();
        list.shrink_to(LIST_ROOM);
        list
    }
}

/// A batch under way.
struct Underway {
    batch: Arc<Batch>,
    /// Parts that aren't done.
    left: usize,
    found: Vec<Findings>,
}

/// A share's streams, unless a thread has them, and the next batch that they
/// are to take.
struct Share {
    streams: Option<Streams>,
    next: u64,
    /// The thread that had them last, and has what it needs of them at hand.
    last: usize,
}

/// What the threads have in common.
struct State {
    shares: Vec<Share>,
    underway: VecDeque<Underway>,
    /// Lists of which all was told, by the thread that made them.
    spent: Vec<Vec<List>>,
    /// Findings in the batches under way.
    findings: usize,
    /// The number of the first batch under way.
    first: u64,
    /// Workers that wait for a task.
    idle: usize,
    /// How many of the first batches must be done for the calling thread to be
    /// woken; 0 while it doesn't wait.
    wanted: usize,
    /// No more work comes; or a thread panicked.
    over: bool,
}

/// A share's part of a batch, and what it takes to work on it.
struct Task {
    share: usize,
    number: u64,
    batch: Arc<Batch>,
    streams: Streams,
    spent: Vec<List>,
}

impl State {
    /// Takes the oldest task that can be worked on, for the thread of a number.
    fn take(&mut self, taker: usize) -> Option<Task> {
        let crowded = self.findings >= WAITING_FINDINGS;
        let end = self.first + if crowded { 1 } else { self.underway.len() as u64 };
        let end = end.min(self.first + self.underway.len() as u64);
        let mut oldest: Option<(usize, (u64, bool))> = None;
        for (place, share) in self.shares.iter_mut().enumerate() {
            if share.streams.is_none() {
                continue;
            }
            // Parts without items are done as it is.
            share.next = share.next.max(self.first);
            while share.next < end && !has_part(&self.underway, share.next - self.first, place) {
                share.next += 1;
            }
            let rank = (share.next, share.last != taker);
            if share.next < end && oldest.is_none_or(|(_, other)| rank < other) {
                oldest = Some((place, rank));
            }
        }
        let (share, (number, _)) = oldest?;
        let underway = self.underway.get(usize::try_from(number - self.first).ok()?)?;
        let batch = Arc::clone(&underway.batch);
        let spent = self.spent.get_mut(taker).map(mem::take).unwrap_or_default();
        let streams = self.shares.get_mut(share)?.streams.take()?;
        Some(Task { share, number, batch, streams, spent })
    }

    /// Takes back what a thread has worked on. Its batch is no longer shared.
    fn done(&mut self, share: usize, number: u64, streams: Streams, found: Findings) {
        if let Some(share) = self.shares.get_mut(share) {
            *share = Share { streams: Some(streams), next: number + 1, last: found.maker };
        }
        let place = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        if let Some(underway) = self.underway.get_mut(place) {
            underway.left -= 1;
            self.findings += found.list.len();
            underway.found.push(found);
        }
    }

    /// Takes all streams, while no batch is under way.
    fn take_streams(&mut self) -> Vec<Streams> {
        self.shares.iter_mut().map(|share| share.streams.take().unwrap_or_default()).collect()
    }

    /// Takes them back.
    fn give_streams(&mut self, streams: Vec<Streams>) {
        for (share, streams) in self.shares.iter_mut().zip(streams) {
            share.streams = Some(streams);
        }
    }

    /// How many of the first batches are done.
    fn ready(&self) -> usize {
        self.underway.iter().take_while(|underway| underway.left == 0).count()
    }
}

fn has_part(underway: &VecDeque<Underway>, place: u64, share: usize) -> bool {
    let underway = usize::try_from(place).ok().and_then(|place| underway.get(place));
    underway.is_some_and(|underway| underway.batch.has_part(share))
}

/// The threads that work on a recording, the calling one among them.
pub(super) struct Crew<'o> {
    options: &'o Options,
    state: Mutex<State>,
    /// Workers wait for tasks.
    work: Condvar,
    /// The calling thread waits for batches that are done.
    ready: Condvar,
}

impl<'o> Crew<'o> {
    /// A crew for the streams, by share.
    pub(super) fn new(options: &'o Options, streams: Vec<Streams>) -> Self {
        let shares =
            streams.into_iter().map(|streams| Share { streams: Some(streams), next: 0, last: 0 }).collect();
        let spent = (0..threads(options)).map(|_| Vec::new()).collect();
        let (underway, findings, first, idle, wanted, over) = (VecDeque::new(), 0, 0, 0, 0, false);
        let state = Mutex::new(State { shares, underway, spent, findings, first, idle, wanted, over });
        Self { options, state, work: Condvar::new(), ready: Condvar::new() }
    }

    /// Gives the streams back. Those that a thread had when it panicked are lost.
    pub(super) fn into_streams(self) -> Vec<Streams> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.shares.into_iter().map(|share| share.streams.unwrap_or_default()).collect()
    }

    /// Runs `read` on this thread while the others work; a panic of theirs
    /// goes on here.
    pub(super) fn with<T>(&self, read: impl FnOnce() -> T) -> T {
        thread::scope(|scope| {
            let ending = Ending(self);
            let workers: Vec<_> = (1..threads(self.options))
                // Where the system refuses a thread, the others do its work.
                .map_while(|number| {
                    let builder = thread::Builder::new().name(format!("worker {number}"));
                    builder.spawn_scoped(scope, move || self.work(&mut Hand::new(number))).ok()
                })
                .collect();
            let result = read();
            drop(ending);
            for worker in workers {
                if let Err(panicked) = worker.join() {
                    panic::resume_unwind(panicked);
                }
            }
            result
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a worker does, until all is over.
    fn work(&self, hand: &mut Hand) {
        let mut state = self.lock();
        while !state.over {
            if let Some(task) = state.take(hand.number) {
                drop(state);
                state = self.run(task, hand);
                if state.wanted > 0 && state.ready() >= state.wanted {
                    state.wanted = 0;
                    self.ready.notify_one();
                }
            } else {
                if state.wanted > 0 && state.ready() > 0 {
                    // Nothing can be worked on before something is told.
                    state.wanted = 0;
                    self.ready.notify_one();
                }
                state.idle += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }

    fn run(&self, task: Task, hand: &mut Hand) -> MutexGuard<'_, State> {
        let Task { share, number, batch, mut streams, spent } = task;
        // A panic in here must not leave the others waiting.
        let ending = Ending(self);
        let mut list = hand.list(spent);
        batch.work(share, &mut streams, self.options, &mut list, &mut hand.spent);
        let found = Findings { maker: hand.number, list };
        mem::forget(ending);
        drop(batch);
        let mut state = self.lock();
        state.done(share, number, streams, found);
        state
    }
}

/// Ends the work when it is dropped, also by a panic.
struct Ending<'c, 'o>(&'c Crew<'o>);

impl Drop for Ending<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.work.notify_all();
        self.0.ready.notify_all();
    }
}

/// The calling thread's side: items in, findings out.
struct Lane<'l, 'r> {
    crew: &'l Crew<'l>,
    outlet: Outlet<'l, 'r>,
    filling: Batch,
    /// Batches to be filled again.
    spare: Vec<Batch>,
    hand: Hand,
    shares: usize,
    most_octets: usize,
    /// How many of them the next batch is to hold, for what the last ones yielded.
    octets: usize,
    most_items: u32,
    most_batches: usize,
    /// Whether the crew is worth it.
    trial: Trial,
    /// The streams, by share, while the calling thread works alone.
    alone: Option<Vec<Streams>>,
    /// A worker panicked.
    stopped: bool,
}

impl<'l, 'r> Lane<'l, 'r> {
    fn new(crew: &'l Crew<'l>, outlet: Outlet<'l, 'r>) -> Self {
        let Limits { read_block, batches, trial, .. } = crew.options.limits;
        let shares = shares(crew.options);
        let most_octets = read_block.saturating_mul(BATCH).max(1);
        Self {
            crew,
            outlet,
            filling: Batch::new(shares),
            spare: Vec::new(),
            hand: Hand::new(0),
            shares,
            most_octets,
            // Until it is known what they yield.
            octets: most_octets / LEAST,
            most_items: u32::try_from(most_octets / OCTETS_AN_ITEM).unwrap_or(u32::MAX).max(1),
            most_batches: batches.max(1),
            trial: Trial::new(trial),
            alone: None,
            stopped: false,
        }
    }

    fn item(&mut self, stream: StreamId, item: StreamItem<'_>) {
        let octets = if let StreamItem::Data(_, piece) = &item { piece.bytes.len() } else { 0 };
        if let Some(streams) = &mut self.alone {
            self.outlet.item(streams, stream, item, self.crew.options);
        } else {
            self.filling.push(stream, &item);
            if self.filling.octets.len() >= self.octets || self.filling.items >= self.most_items {
                self.submit();
                self.settle(self.most_batches - 1);
            }
        }
        if self.trial.done(octets + WORK_AN_ITEM) {
            self.turn();
        }
    }

    /// Goes on alone or together, as is faster.
    fn turn(&mut self) {
        match (self.trial.turn(), self.alone.take()) {
            (Manner::Alone, None) => {
                self.finish();
                self.go_on_alone();
            }
            (Manner::Together, Some(streams)) => self.crew.lock().give_streams(streams),
            (_, alone) => self.alone = alone,
        }
    }

    /// Takes all streams, while nothing is under way.
    fn go_on_alone(&mut self) {
        if self.alone.is_none() && !self.stopped {
            self.alone = Some(self.crew.lock().take_streams());
        }
    }

    /// Has the crew work on what was read.
    fn submit(&mut self) {
        let empty = self.spare.pop().unwrap_or_else(|| Batch::new(self.shares));
        let batch = mem::replace(&mut self.filling, empty);
        let parts = (0..self.shares).filter(|share| batch.has_part(*share)).count();
        let wakes = if batch.octets.len() < WORTH_WAKING.min(self.most_octets) { 0 } else { parts };
        let mut state = self.crew.lock();
        let found = Vec::with_capacity(parts);
        state.underway.push_back(Underway { batch: Arc::new(batch), left: parts, found });
        for _ in 0..wakes.min(state.idle) {
            self.crew.work.notify_one();
        }
    }

    /// Tells what was found until at most so many batches are under way. What
    /// can be worked on meanwhile, is.
    fn settle(&mut self, most: usize) {
        let crew = self.crew;
        let mut state = crew.lock();
        loop {
            if state.ready() > 0
                && let Some(underway) = state.underway.pop_front()
            {
                state.first += 1;
                drop(state);
                let told = self.tell(underway);
                state = crew.lock();
                let crowded = state.findings >= WAITING_FINDINGS;
                for Findings { maker, list } in told {
                    state.findings -= list.len();
                    if let Some(spent) = state.spent.get_mut(maker).filter(|spent| spent.len() < SPENT_LISTS)
                    {
                        spent.push(list);
                    }
                }
                if crowded && state.idle > 0 {
                    crew.work.notify_all();
                }
            } else if state.over {
                self.stopped = true;
                return;
            } else if state.underway.len() <= most {
                return;
            } else if let Some(task) = state.take(self.hand.number) {
                drop(state);
                state = crew.run(task, &mut self.hand);
                if state.idle > 0 {
                    crew.work.notify_one();
                }
            } else {
                // Half of what must go, or more, at one waking.
                state.wanted = (state.underway.len() - most).max(state.underway.len() / 2);
                state = crew.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.wanted = 0;
            }
        }
    }

    /// Tells what was found in a batch, in the order of its items.
    fn tell(&mut self, underway: Underway) -> Vec<Findings> {
        let Underway { batch, found, .. } = underway;
        let mut parts: Vec<_> =
            found.iter().map(|part| (part.list.iter().peekable(), part.list.as_slice())).collect();
        loop {
            // The part that goes on with the earliest item, up to the next part's.
            let (mut earliest, mut until) = (None, u32::MAX);
            for part in &mut parts {
                let Some((number, _)) = part.0.peek() else { continue };
                let number = *number;
                match &earliest {
                    Some((other, _)) if *other < number => until = until.min(number),
                    Some((other, _)) => {
                        until = *other;
                        earliest = Some((number, part));
                    }
                    None => earliest = Some((number, part)),
                }
            }
            let Some((_, (part, list))) = earliest else { break };
            while let Some((_, one)) = part.next_if(|(number, _)| *number < until) {
                match one {
                    Found::ExchangeAt(place) => {
                        if let Some((_, Found::ExchangeEnd(end))) = list.get(*place as usize) {
                            self.outlet.began(&end.head);
                        }
                    }
                    one => self.outlet.found(one),
                }
            }
        }
        if let Some(mut batch) = Arc::into_inner(batch) {
            let findings: usize = found.iter().map(|part| part.list.len()).sum();
            let yields = batch.octets.len().saturating_mul(FINDINGS) / findings.max(1);
            self.octets = yields.clamp(self.most_octets / LEAST, self.most_octets);
            batch.clear(self.most_octets);
            self.spare.push(batch);
        }
        found
    }

    /// Finishes all that was read.
    fn finish(&mut self) {
        if self.filling.items > 0 {
            self.submit();
        }
        self.settle(0);
    }

    /// Finishes all that was read, before a wait; false where there is no point
    /// in reading on.
    fn flush(&mut self) -> bool {
        self.finish();
        self.trial.interrupted();
        self.go_on_alone();
        self.outlet.is_open() && !self.stopped
    }

    fn check(&mut self) -> Result<(), AnalysisError> {
        if self.stopped {
            // Nobody sees it: the panic goes on.
            return Err(AnalysisError::Io(io::Error::other(STOPPED)));
        }
        self.outlet.check()
    }
}

impl Drop for Lane<'_, '_> {
    fn drop(&mut self) {
        if let Some(streams) = self.alone.take() {
            self.crew.lock().give_streams(streams);
        }
    }
}

/// Where a lane is while there is one, for the reader and the source.
pub(super) struct LaneCell<'l, 'r>(RefCell<Option<Lane<'l, 'r>>>);

impl<'l, 'r> LaneCell<'l, 'r> {
    /// No lane.
    pub(super) const fn new() -> Self {
        Self(RefCell::new(None))
    }

    /// From here on items go to the crew.
    pub(super) fn open(&self, crew: &'l Crew<'l>, outlet: Outlet<'l, 'r>) {
        *self.0.borrow_mut() = Some(Lane::new(crew, outlet));
    }

    /// Finishes all that was read; false where there is no point in reading on.
    pub(super) fn flush(&self) -> bool {
        self.0.borrow_mut().as_mut().is_none_or(Lane::flush)
    }
}

impl Way for &LaneCell<'_, '_> {
    fn moment(&mut self) {
        if let Some(lane) = self.0.borrow_mut().as_mut() {
            lane.flush();
            lane.outlet.moment();
        }
    }

    fn item(&mut self, stream: StreamId, item: StreamItem<'_>) {
        if let Some(lane) = self.0.borrow_mut().as_mut() {
            lane.item(stream, item);
        }
    }

    fn check(&mut self) -> Result<(), AnalysisError> {
        self.0.borrow_mut().as_mut().map_or(Ok(()), Lane::check)
    }
}

/// A source before whose reads, where they may wait, all that was read before
/// is finished.
pub(super) struct Watched<'w, R> {
    inner: R,
    /// The last read gave less than was asked for: a file's last octets, or
    /// all that was in a pipe.
    short: bool,
    finish: &'w dyn Fn() -> bool,
}

impl<'w, R> Watched<'w, R> {
    /// A source that calls `finish` before it may wait, and fails where that
    /// returns false.
    pub(super) const fn new(inner: R, finish: &'w dyn Fn() -> bool) -> Self {
        Self { inner, short: false, finish }
    }
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.short && !(self.finish)() {
            return Err(io::Error::other(STOPPED));
        }
        let got = self.inner.read(out)?;
        self.short = got < out.len();
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Output;
    use crate::pipeline::streams::Ledger;
    use crate::report::{Conclusion, Finding, Report};
    use crate::tcp::Close;

    struct Nobody;

    impl Report for Nobody {
        fn finding(&mut self, _: &Finding<'_>) -> io::Result<()> {
            Ok(())
        }

        fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
            Ok(())
        }
    }

    fn crew(options: &Options) -> Crew<'_> {
        Crew::new(options, (0..shares(options)).map(|_| Streams::default()).collect())
    }

    fn closed() -> StreamItem<'static> {
        StreamItem::Closed(Close::Ended)
    }

    #[test]
    fn a_share_takes_its_parts_one_after_the_other_and_the_oldest_goes_first() {
        let options = Options { threads: 2, ..Options::default() };
        let (crew, mut nobody) = (crew(&options), Nobody);
        let mut output = Output::new(&mut nobody, None);
        let mut ledger = Ledger::new();
        let mut lane = Lane::new(&crew, Outlet { ledger: &mut ledger, output: &mut output });
        for streams in [&[0, 1][..], &[1, 2], &[0, 8]] {
            streams.iter().for_each(|stream| lane.filling.push(StreamId(*stream), &closed()));
            lane.submit();
        }
        let mut state = crew.lock();
        let mut order = Vec::new();
        let mut held = Vec::new();
        while let Some(task) = state.take(0) {
            order.push((task.number, task.share));
            held.push(task);
        }
        assert_eq!(order, [(0, 0), (0, 1), (1, 2)], "0 and 1 are busy in the first batch");
        for Task { share, number, streams, .. } in held {
            state.done(share, number, streams, Findings { maker: 0, list: List::new() });
        }
        assert_eq!(state.ready(), 1);
        assert_eq!(state.take(0).map(|task| (task.number, task.share)), Some((1, 1)));
        assert_eq!(state.take(0).map(|task| (task.number, task.share)), Some((2, 0)));
        assert!(state.take(0).is_none());
    }

    #[test]
    fn a_panic_of_a_worker_ends_the_wait_for_what_it_had() {
        let options = Options { threads: 2, ..Options::default() };
        let (crew, mut nobody) = (crew(&options), Nobody);
        let mut output = Output::new(&mut nobody, None);
        let mut ledger = Ledger::new();
        let mut lane = Lane::new(&crew, Outlet { ledger: &mut ledger, output: &mut output });
        lane.item(StreamId(0), closed());
        lane.submit();
        let task = crew.lock().take(1).unwrap();
        let died = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            let _ending = Ending(&crew);
            let _task = task;
            panic::resume_unwind(Box::new("as a machine of a layer might"));
        }));
        assert!(died.is_err());
        assert!(!lane.flush(), "though the batch is never done");
        assert!(lane.check().is_err());
    }

    #[test]
    fn a_panic_on_the_calling_thread_ends_the_workers() {
        let options = Options { threads: 3, ..Options::default() };
        let crew = crew(&options);
        let died = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            crew.with(|| panic::resume_unwind(Box::new("as a report might")));
        }));
        assert!(died.is_err());
        assert_eq!(crew.lock().idle, 0);
    }
}
