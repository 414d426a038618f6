//! What stands between the analysis and its reports: all of them in one pass,
//! the problems on standard error, and what was found so far.

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Instant;

use super::progress::Progress;
use super::run::Status;
use super::settings::Settings;
use crate::http::{Protocol, Side};
use crate::report::stall::Stalls;
use crate::report::text::printable;
use crate::report::{CaptureEnd, Conclusion, ExchangeVerdict, Finding, LeftOut, Report, UnderWay};
use crate::verdict::{Allow, Verdict};

/// Several reports in one pass, those to files with their names.
#[derive(Default)]
pub(super) struct Reports<'a>(pub(super) Vec<(Option<String>, Box<dyn Report + 'a>)>);

impl Reports<'_> {
    /// Has all of them write something. That on standard output is dropped
    /// where its reader has left; if it was the only one, that is an error.
    #[inline(always)]
    fn each(&mut self, mut write: impl FnMut(&mut dyn Report) -> io::Result<()>) -> io::Result<()> {
        // Mostly it is the only one.
        match self.0.as_mut_slice() {
            [(None, report)] => write(report.as_mut()),
            _ => self.each_of_several(&mut write),
        }
    }

    #[inline(never)]
    fn each_of_several(
        &mut self,
        write: &mut dyn FnMut(&mut dyn Report) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut left = None;
        for (place, (name, report)) in self.0.iter_mut().enumerate() {
            match (write(report.as_mut()), name) {
                (Ok(()), _) => {}
                (Err(error), Some(name)) => return Err(io::Error::other(format!("{name}: {error}"))),
                (Err(error), None) if error.kind() == io::ErrorKind::BrokenPipe => {
                    left = Some((place, error))
                }
                (Err(error), None) => return Err(error),
            }
        }
        match left {
            Some((_, error)) if self.0.len() == 1 => Err(error),
            Some((place, _)) => {
                self.0.remove(place);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Report for Reports<'_> {
    #[inline]
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.each(|report| report.finding(finding))
    }

    fn under_way(&mut self, under_way: &UnderWay) -> io::Result<()> {
        self.each(|report| report.under_way(under_way))
    }

    fn moment(&mut self) -> io::Result<()> {
        self.each(|report| report.moment())
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.each(|report| report.finish(conclusion))
    }
}

/// What was found so far, for a run that ends before its end.
#[derive(Debug, Default)]
pub(super) struct SoFar {
    /// Whether a capture can't be read.
    unreadable: bool,
    violated: bool,
    /// Whether something couldn't be checked, as the capture lacks octets.
    unverified: bool,
    checked: bool,
}

impl SoFar {
    #[inline]
    fn finding(&mut self, finding: &Finding<'_>, allow: Allow) {
        match finding {
            Finding::Violation(_) => self.violated = true,
            Finding::Chunk(judged) if judged.side == Side::Response => match &judged.verdict {
                Verdict::Unverified(_) => self.unverified = true,
                Verdict::Unchecked(_) => {}
                verdict => {
                    self.checked = true;
                    // Its violation comes next, but perhaps not to here.
                    self.violated |= allow.fails(verdict);
                }
            },
            Finding::ExchangeEnd(end) => self.unverified |= end.verdict == ExchangeVerdict::Unverified,
            Finding::CaptureEnd(end) => self.unreadable |= end.unread.is_some(),
            _ => {}
        }
    }

    /// The status of that. Nobody can know what would have come.
    pub(super) const fn status(&self, settings: &Settings, unreadable: bool) -> Status {
        if unreadable || self.unreadable {
            Status::Error
        } else if self.violated || (self.unverified && !settings.allow.gaps) {
            Status::Fail
        } else if self.checked || settings.allow.nothing {
            Status::Pass
        } else {
            Status::Nothing
        }
    }
}

/// Writes reports, and the problems of each capture to standard error.
pub(super) struct Noting<'a, W> {
    pub(super) reports: Reports<'a>,
    pub(super) messages: W,
    pub(super) raw: bool,
    pub(super) allow: Allow,
    /// What was told of, with the capture's path.
    pub(super) told: HashSet<String>,
    /// TLS and HTTP/2 connections.
    pub(super) others: [u64; 2],
    /// Whether the filters left anything out.
    pub(super) left_out: bool,
    /// What tells of stalls, where the report on standard output doesn't, and
    /// its clock.
    pub(super) stalls: Option<(Stalls, Instant)>,
    pub(super) progress: Option<Progress>,
    pub(super) so_far: SoFar,
}

impl<W: Write> Noting<'_, W> {
    #[inline(never)]
    fn capture_is_done(&mut self, end: &CaptureEnd) -> io::Result<()> {
        self.left_out |= end.left_out != LeftOut::default();
        let [tls, http2] = &mut self.others;
        for (protocol, count) in end.other_counts {
            match protocol {
                Protocol::Tls => *tls += count,
                Protocol::Http2 => *http2 += count,
                Protocol::Other => {}
            }
        }
        // Here tables are written, perhaps to the terminal that shows progress.
        match self.progress.clone() {
            Some(progress) => progress.aside(|| self.capture_end(end)),
            None => self.capture_end(end),
        }
    }

    fn capture_end(&mut self, end: &CaptureEnd) -> io::Result<()> {
        self.reports.finding(&Finding::CaptureEnd(end))?;
        self.problems(end);
        Ok(())
    }

    fn problems(&mut self, end: &CaptureEnd) {
        for problem in &end.problems {
            // What couldn't be read is told of at the end, once.
            if problem.code == "unreadable-capture" {
                continue;
            }
            self.told.insert(format!("{}: {}", end.path, problem.message));
            let stream = problem.stream.map(|stream| format!("stream {stream}: ")).unwrap_or_default();
            let frame = problem
                .frame
                .filter(|_| !self.raw)
                .map(|frame| format!(" (frame {frame})"))
                .filter(|frame| !problem.message.ends_with(frame.as_str()))
                .unwrap_or_default();
            let line = format!("{}: {stream}{}{frame} [{}]", end.path, problem.message, problem.code);
            let _ = writeln!(self.messages, "chunkscope: {}", printable(&line));
        }
    }
}

impl<W: Write> Report for Noting<'_, W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        self.so_far.finding(finding, self.allow);
        match finding {
            Finding::CaptureEnd(end) => return self.capture_is_done(end),
            Finding::ExchangeEnd(end) => {
                if let Some((stalls, _)) = &mut self.stalls {
                    stalls.end(end.head.id);
                }
            }
            Finding::Chunk(_) => {
                if let Some(progress) = &self.progress {
                    progress.chunk();
                }
            }
            _ => {}
        }
        self.reports.finding(finding)
    }

    fn under_way(&mut self, under_way: &UnderWay) -> io::Result<()> {
        if let Some((stalls, clock)) = &mut self.stalls
            && let Some(notice) = stalls.under_way(under_way, clock.elapsed())
        {
            let _ = writeln!(self.messages, "chunkscope: {notice}");
        }
        self.reports.under_way(under_way)
    }

    fn moment(&mut self) -> io::Result<()> {
        if let Some((stalls, clock)) = &mut self.stalls {
            for notice in stalls.moment(clock.elapsed()) {
                let _ = writeln!(self.messages, "chunkscope: {notice}");
            }
        }
        self.reports.moment()
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        if let Some(progress) = &self.progress {
            progress.done();
        }
        self.reports.finish(conclusion)
    }
}
