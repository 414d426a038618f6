//! Inputs that are followed while they are written, and the signals that end
//! it: Ctrl-C ends the input, so that what was found is concluded.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::capture::NothingYet;

/// After so long without an octet, the reader is told that there is nothing yet.
const QUIET: Duration = Duration::from_millis(500);

/// How often it is looked whether somebody wants to end.
const LOOK: Duration = Duration::from_millis(100);

/// How long a recorder that got the same Ctrl-C has for its last packets: so
/// much between two reads, and so much in all.
const LAST_READ: Duration = Duration::from_millis(200);
const LAST_READS: Duration = Duration::from_secs(2);

/// Octets of a read, and reads that may wait.
const READ: usize = 64 << 10;
const READS: usize = 16;

/// The status of a program that a second Ctrl-C ends: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// Whether somebody wants to end.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From here on, Ctrl-C and SIGTERM are taken as a wish to end; a second
    /// one ends the program at once.
    ///
    /// # Errors
    /// What the operating system answered.
    pub fn by_signals() -> io::Result<Self> {
        let stop = Self::default();
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds nothing wished yet.
            flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stop.0))?;
            flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    /// Whether it is wished.
    #[must_use]
    pub fn is_wished(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// An input that is read as its octets come. A thread of its own waits for
/// them, so that the reader can be told that time passes ([`NothingYet`]).
#[derive(Debug)]
pub struct LiveInput {
    reads: Receiver<io::Result<Vec<u8>>>,
    /// The octets of the last read from `at` on are still to be given out.
    last: Vec<u8>,
    at: usize,
    stop: Stop,
    /// When the wish to end was seen.
    stopped: Option<Instant>,
}

impl LiveInput {
    /// Begins to read; `open` is called on the thread that reads.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn new<R: Read>(open: impl FnOnce() -> R + Send + 'static, stop: Stop) -> io::Result<Self> {
        let (sender, reads) = sync_channel(READS);
        thread::Builder::new().name("input".to_owned()).spawn(move || {
            let mut source = open();
            let mut block = vec![0; READ];
            loop {
                let read = match source.read(&mut block) {
                    Ok(0) => return,
                    Ok(got) => Ok(block.get(..got).unwrap_or_default().to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let failed = read.is_err();
                // Nobody listens any more where the run has ended.
                if sender.send(read).is_err() || failed {
                    return;
                }
            }
        })?;
        Ok(Self { reads, last: Vec::new(), at: 0, stop, stopped: None })
    }

    /// Waits for the next read; false at the end.
    fn next(&mut self) -> io::Result<bool> {
        let quiet = Instant::now() + QUIET;
        loop {
            let mut wait = LOOK;
            if self.stop.is_wished() {
                let since = *self.stopped.get_or_insert_with(Instant::now);
                if since.elapsed() >= LAST_READS {
                    return Ok(false);
                }
                wait = LAST_READ;
            }
            match self.reads.recv_timeout(wait) {
                Ok(read) => {
                    (self.last, self.at) = (read?, 0);
                    return Ok(true);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(false),
                Err(RecvTimeoutError::Timeout) if self.stopped.is_some() => return Ok(false),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= quiet => return Err(NothingYet.into()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Read for LiveInput {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.last.len() && !self.next()? {
            return Ok(0);
        }
        let got = self.last.get(self.at..).unwrap_or_default().read(out)?;
        self.at += got;
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Gives out what it is sent, and ends with the sender.
    struct Fed(Receiver<&'static [u8]>);

    impl Read for Fed {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.0.recv().map_or(Ok(0), |mut octets| octets.read(out))
        }
    }

    fn fed(stop: &Stop) -> (Sender<&'static [u8]>, LiveInput) {
        let (sender, receiver) = channel();
        (sender, LiveInput::new(move || Fed(receiver), stop.clone()).unwrap())
    }

    #[test]
    fn octets_come_as_they_are_sent_and_silence_is_told() {
        let (sender, mut input) = fed(&Stop::default());
        let mut out = [0; 4];
        sender.send(b"hello").unwrap();
        assert_eq!((input.read(&mut out).unwrap(), &out), (4, b"hell"));
        assert_eq!((input.read(&mut out).unwrap(), out[0]), (1, b'o'));
        let begun = Instant::now();
        assert!(NothingYet::is(&input.read(&mut out).unwrap_err()));
        assert!(begun.elapsed() >= QUIET);
        sender.send(b"x").unwrap();
        assert_eq!(input.read(&mut out).unwrap(), 1);
        drop(sender);
        assert_eq!(input.read(&mut out).unwrap(), 0);
        assert_eq!(input.read(&mut out).unwrap(), 0);
    }

    #[test]
    fn a_wish_to_end_leaves_time_for_the_last_octets() {
        let stop = Stop::default();
        let (sender, mut input) = fed(&stop);
        let mut out = [0; 4];
        stop.0.store(true, Ordering::Relaxed);
        sender.send(b"last").unwrap();
        assert_eq!((input.read(&mut out).unwrap(), &out), (4, b"last"));
        assert_eq!(input.read(&mut out).unwrap(), 0);
        drop(sender);
    }

    #[test]
    fn an_error_is_passed_on() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::PermissionDenied.into())
            }
        }
        let mut input = LiveInput::new(|| Broken, Stop::default()).unwrap();
        let error = input.read(&mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(input.read(&mut [0; 4]).unwrap(), 0);
    }
}
