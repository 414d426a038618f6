//! How far long work has come, on a terminal's standard error.
//!
//! Nothing is seen of work that takes less than half a second, and nothing is
//! left of it when the work is done.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::settings::Input;
use crate::report::text::counted;

/// Work that takes no longer shows no progress.
const SHORT: Duration = Duration::from_millis(500);

/// Where the size is known, and where it isn't.
const SIZED: &str =
    "{binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left, {msg} {wide_bar:.cyan/dim}";
const UNSIZED: &str = "{spinner} {binary_bytes} read, {binary_bytes_per_sec}, {msg}";

/// The progress of a run. Copies are the same.
#[derive(Debug, Clone)]
pub struct Progress(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bar: ProgressBar,
    begun: Instant,
    shown: AtomicBool,
    chunks: AtomicU64,
}

impl Progress {
    /// The progress through these inputs; nothing is shown yet.
    #[must_use]
    pub fn through(inputs: &[Input]) -> Self {
        let sizes: Option<Vec<u64>> = inputs.iter().map(size).collect();
        let size = sizes.map(|sizes| sizes.iter().sum());
        let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::hidden());
        let template = if size.is_some() { SIZED } else { UNSIZED };
        // The templates are sound: a test reads them.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.progress_chars("━╸─"));
        let (shown, chunks) = (AtomicBool::new(false), AtomicU64::new(0));
        Self(Arc::new(Shared { bar, begun: Instant::now(), shown, chunks }))
    }

    /// The source, of which each octet that is read is counted.
    pub fn of<R: Read>(&self, source: R) -> Metered<R> {
        Metered { source, progress: self.clone() }
    }

    /// A chunk was found.
    pub fn chunk(&self) {
        self.0.chunks.fetch_add(1, Ordering::Relaxed);
    }

    /// Something is written to the terminal meanwhile.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        if self.0.shown.load(Ordering::Relaxed) { self.0.bar.suspend(write) } else { write() }
    }

    /// The work is done: nothing of it is left.
    pub fn done(&self) {
        self.0.bar.finish_and_clear();
    }

    fn octets(&self, octets: usize) {
        let Shared { bar, begun, shown, chunks } = &*self.0;
        bar.inc(octets as u64);
        if !shown.load(Ordering::Relaxed) {
            if begun.elapsed() < SHORT {
                return;
            }
            shown.store(true, Ordering::Relaxed);
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_message(counted(chunks.load(Ordering::Relaxed), "chunk"));
    }
}

/// The octets of an input, where they are known before it is read.
fn size(input: &Input) -> Option<u64> {
    let metadata = match input {
        Input::File(path) => path.metadata().ok()?,
        Input::Stdin => stdin_file()?.metadata().ok()?,
    };
    metadata.is_file().then_some(metadata.len())
}

/// Standard input as a file: it may have been redirected from one.
#[cfg(unix)]
fn stdin_file() -> Option<File> {
    use std::os::fd::AsFd as _;
    io::stdin().as_fd().try_clone_to_owned().ok().map(File::from)
}

#[cfg(not(unix))]
fn stdin_file() -> Option<File> {
    None
}

/// A source whose octets are counted.
#[derive(Debug)]
pub struct Metered<R> {
    source: R,
    progress: Progress,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.source.read(out)?;
        self.progress.octets(got);
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_are_sound() {
        for template in [SIZED, UNSIZED] {
            ProgressStyle::with_template(template).unwrap();
        }
    }

    #[test]
    fn the_size_is_the_sum_of_the_files_or_not_known() {
        let file = |name: &str| Input::File(format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR")).into());
        let (one, other) = (file("ticks.pcap"), file("sse.pcap"));
        let sum = size(&one).unwrap() + size(&other).unwrap();
        assert_eq!(Progress::through(&[one.clone(), other]).0.bar.length(), Some(sum));
        assert_eq!(Progress::through(&[one, file("missing.pcap")]).0.bar.length(), None);
        assert_eq!(size(&Input::File("/dev/null".into())), None);
    }

    #[test]
    fn octets_are_counted_as_they_are_read() {
        let progress = Progress::through(&[]);
        let mut source = progress.of(&b"hello"[..]);
        assert_eq!(source.read(&mut [0; 3]).unwrap(), 3);
        assert_eq!(progress.0.bar.position(), 3);
        progress.chunk();
        assert_eq!(progress.aside(|| 7), 7);
        progress.done();
    }
}
