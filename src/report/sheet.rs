//! What the reports for people share: which exchanges are listed in full, and
//! how the texts of a capture's exchanges, which interleave, come in order.

use std::io::{self, Write};

use crate::report::closing::Run;
use crate::report::failures::Failures;
use crate::report::prose::Prose;
use crate::report::spool::{Slot, Spool};
use crate::report::text::TextOptions;
use crate::report::{CaptureEnd, Conclusion, ExchangeEnd, ExchangeVerdict};

/// Octets of text kept in memory, for exchanges in full and for those of a line.
const KEPT: usize = 4 << 20;

/// The texts of a capture's exchanges.
#[derive(Debug)]
pub(super) struct Sheet {
    /// Exchanges that are listed in full.
    pub(super) sections: Spool,
    /// Exchanges that take a line.
    lines: Spool,
    run: Run,
    captures: u64,
}

impl Sheet {
    pub(super) fn new() -> Self {
        Self {
            sections: Spool::with_budget(KEPT),
            lines: Spool::with_budget(KEPT),
            run: Run::default(),
            captures: 0,
        }
    }

    /// A capture begins.
    pub(super) fn begin(&mut self, path: &str) {
        self.run.begin(path);
    }

    /// An exchange has ended: whether it is listed in full. Otherwise it takes
    /// a line, or isn't shown.
    pub(super) fn lists(
        &mut self,
        prose: Prose,
        options: &TextOptions,
        end: &ExchangeEnd,
        failures: &Failures,
    ) -> io::Result<bool> {
        self.run.exchange(end, failures);
        let matters = matches!(end.verdict, ExchangeVerdict::Fail | ExchangeVerdict::Unverified);
        if options.failed_only && !matters {
            return Ok(false);
        }
        if end.head.expect.is_none() && !options.list_all && !matters && end.lints == 0 {
            let slot = Slot { exchange: end.head.id, part: 0 };
            self.lines.append(slot, prose.line(end).as_bytes())?;
            return Ok(false);
        }
        Ok(true)
    }

    /// A capture is done: writes its first line, its exchanges in full, with
    /// `preface` before them, and those that take a line.
    pub(super) fn capture(
        &mut self,
        out: &mut impl Write,
        prose: Prose,
        options: &TextOptions,
        end: &CaptureEnd,
        preface: &str,
    ) -> io::Result<()> {
        self.run.capture(end);
        if self.captures > 0 {
            writeln!(out)?;
        }
        self.captures += 1;
        out.write_all(prose.capture(end).as_bytes())?;
        out.write_all(preface.as_bytes())?;
        if options.failed_only && self.sections.is_empty() {
            writeln!(out, "  nothing here failed")?;
        }
        self.sections.drain_in_order(out)?;
        if !self.lines.is_empty() {
            out.write_all(prose.above_lines().as_bytes())?;
            self.lines.drain_in_order(out)?;
        }
        Ok(())
    }

    /// The run is over: its last words.
    pub(super) fn finish(
        &self,
        out: &mut impl Write,
        prose: Prose,
        conclusion: &Conclusion,
    ) -> io::Result<()> {
        out.write_all(self.run.conclude(prose, conclusion).as_bytes())?;
        out.flush()
    }
}
