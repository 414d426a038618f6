//! The table: each exchange with its chunks, row by row, the verdict, and
//! where a check fails, why that matters.
//!
//! A capture's first line needs its end, and exchanges are listed in order
//! although they interleave: so all text goes to a [`Spool`] and is written
//! when the capture is done. Rows wait until their exchange ends, so that the
//! columns fit them, but only as long as there are few in all; beyond that
//! they go to the spool page by page. Rows that aren't shown are never made.

use std::collections::HashMap;
use std::io::{self, Write};
use std::mem;

use crate::event::Kind;
use crate::http::Side;
use crate::report::closing::Run;
use crate::report::failures::Failures;
use crate::report::prose::{Prose, base, body_end, tallied, tally_words};
use crate::report::rows::{Item, Layout, Row};
use crate::report::spool::{Slot, Spool};
use crate::report::text::{Listing, TextOptions};
use crate::report::{
    CaptureEnd, Conclusion, ExchangeEnd, ExchangeHead, ExchangeId, ExchangeVerdict, Expect, Finding, JudgedChunk, Report, Tally,
    Violation,
};
use crate::units::Timestamp;
use crate::verdict::Verdict;

/// Octets of rows that wait for the end of their exchange, in all.
const WAITING: usize = 4 << 20;

/// Rows of an exchange that wait for its end: a page.
const PAGE: usize = 1000;

/// Rows kept of an exchange that will be listed only if it fails.
const KEPT_IN_CASE: u64 = 50;

/// Parts of an exchange's text.
const TITLE: u8 = 0;
const ROWS: u8 = 1;
const END: u8 = 2;

/// Writes findings as tables for people. See the module.
#[derive(Debug)]
pub struct Table<W: Write> {
    out: W,
    options: TextOptions,
    prose: Prose,
    open: HashMap<ExchangeId, Open>,
    /// Octets of all rows that wait.
    waiting: usize,
    listing: Listing,
    /// Exchanges that are listed in full, and those that take a line.
    sections: Spool,
    lines: Spool,
    run: Run,
    captures: u64,
}

/// An exchange that has not ended.
#[derive(Debug, Default)]
struct Open {
    expect: Option<Expect>,
    base: Option<Timestamp>,
    items: Vec<Item>,
    weight: usize,
    listed: u64,
    hidden: Tally,
    layout: Layout,
    /// Whether rows were written.
    paged: bool,
    failures: Option<Box<Failures>>,
}

impl<W: Write> Table<W> {
    /// A table that is written to `out`.
    pub fn new(out: W, options: TextOptions) -> Self {
        let prose = Prose::new(&options);
        Self {
            out,
            options,
            prose,
            open: HashMap::new(),
            waiting: 0,
            listing: Listing::default(),
            sections: Spool::with_budget(WAITING),
            lines: Spool::with_budget(WAITING),
            run: Run::default(),
            captures: 0,
        }
    }

    fn begin(&mut self, head: &ExchangeHead) {
        let open = self.open.entry(head.id).or_default();
        (open.expect, open.base) = (head.expect, base(head));
    }

    fn chunk(&mut self, judged: &JudgedChunk) -> io::Result<()> {
        let open = self.open.entry(judged.exchange).or_default();
        let fails = self.options.allow.fails(&judged.verdict);
        if Failures::may_name(&judged.chunk, fails) {
            open.failures.get_or_insert_default().keep(judged.side, &judged.chunk);
        }
        if judged.side == Side::Request {
            return Ok(()); // its framing is told where it is broken
        }
        let in_full = open.expect.is_some() || self.options.list_all;
        let limit = match in_full {
            true => self.options.limit.unwrap_or(u64::MAX),
            false => self.options.limit.unwrap_or(u64::MAX).min(KEPT_IN_CASE),
        };
        let matters = fails || matches!(judged.verdict, Verdict::Unverified(_));
        let within = open.listed < limit && (matters || !self.options.failed_only || !in_full);
        if !self.listing.admits(fails, within) {
            *tallied(&mut open.hidden, &judged.verdict) += 1;
            return Ok(());
        }
        open.tell_hidden();
        open.listed += 1;
        if open.base.is_none() {
            open.base = judged.chunk.first.at;
        }
        let row = Row::new(judged, open.expect, open.base, &self.options);
        let weight = row.weight();
        open.items.push(Item::Row(Box::new(row)));
        open.weight += weight;
        self.waiting += weight;
        if open.items.len() >= PAGE {
            self.waiting -= open.weight;
            open.page(judged.exchange, self.prose, in_full, false, &mut self.sections)?;
        }
        if self.waiting >= WAITING {
            for (id, open) in &mut self.open {
                let in_full = open.expect.is_some() || self.options.list_all;
                open.page(*id, self.prose, in_full, false, &mut self.sections)?;
            }
            self.waiting = 0;
        }
        Ok(())
    }

    fn violation(&mut self, violation: &Violation) {
        let open = self.open.entry(violation.exchange).or_default();
        let _told = open.failures.get_or_insert_default().push(violation);
    }

    fn end(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        let id = end.head.id;
        let mut open = self.open.remove(&id).unwrap_or_default();
        self.waiting -= open.weight;
        let failures = open.failures.take().unwrap_or_default();
        self.run.exchange(end, &failures);
        let matters = matches!(end.verdict, ExchangeVerdict::Fail | ExchangeVerdict::Unverified);
        if self.options.failed_only && !matters {
            return Ok(());
        }
        if end.head.expect.is_none() && !self.options.list_all && !matters {
            return self.lines.append(Slot { exchange: id, part: TITLE }, self.prose.line(end).as_bytes());
        }
        let prose = self.prose;
        let title = format!("\n{}", prose.title(end));
        self.sections.append(Slot { exchange: id, part: TITLE }, title.as_bytes())?;
        open.tell_hidden();
        open.page(id, prose, true, true, &mut self.sections)?;
        let mut text = String::new();
        if let Some(body) = &end.response_body {
            let ended = body_end(body, Side::Response);
            text.push_str(&prose.faint(&prose.paragraph(&ended, "  ", "  ")));
        }
        text.push('\n');
        text.push_str(&prose.verdict(end));
        text.push_str(&failures.explain(prose, end));
        self.sections.append(Slot { exchange: id, part: END }, text.as_bytes())
    }

    fn capture_end(&mut self, end: &CaptureEnd) -> io::Result<()> {
        self.run.capture(end);
        if self.captures > 0 {
            writeln!(self.out)?;
        }
        self.captures += 1;
        self.out.write_all(self.prose.capture(end).as_bytes())?;
        if self.options.failed_only && self.sections.is_empty() {
            writeln!(self.out, "  nothing here failed")?;
        }
        self.sections.drain_in_order(&mut self.out)?;
        if !self.lines.is_empty() {
            self.out.write_all(self.prose.above_lines().as_bytes())?;
            self.lines.drain_in_order(&mut self.out)?;
        }
        Ok(())
    }
}

impl<W: Write> Report for Table<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        match finding {
            Finding::Capture(path) => self.run.begin(path),
            Finding::Exchange(head) => self.begin(head),
            Finding::Event(..) => {}
            Finding::Chunk(judged) => self.chunk(judged)?,
            Finding::Violation(violation) => self.violation(violation),
            Finding::ExchangeEnd(end) => self.end(end)?,
            Finding::CaptureEnd(end) => self.capture_end(end)?,
        }
        Ok(())
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.out.write_all(self.run.conclude(self.prose, conclusion).as_bytes())?;
        self.out.flush()
    }
}

impl Open {
    /// Writes the rows that wait, if the exchange is listed in full; else lets
    /// go of them.
    fn page(&mut self, id: ExchangeId, prose: Prose, in_full: bool, last: bool, to: &mut Spool) -> io::Result<()> {
        let items = mem::take(&mut self.items);
        self.weight = 0;
        if !in_full {
            let rows = items.iter().filter(|item| matches!(item, Item::Row(_))).count();
            self.hidden.unchecked += rows as u64;
            return Ok(());
        }
        if items.is_empty() {
            return Ok(());
        }
        let sse = self.expect == Some(Expect::Kind(Kind::Sse));
        let begins = if mem::replace(&mut self.paged, true) { "" } else { "\n" };
        let text = self.layout.page(&items, prose, sse, last);
        let slot = Slot { exchange: id, part: ROWS };
        to.append(slot, begins.as_bytes())?;
        to.append(slot, text.as_bytes())
    }

    /// Says how many chunks were not listed since the last row.
    fn tell_hidden(&mut self) {
        let hidden = mem::take(&mut self.hidden);
        if hidden.chunks() > 0 {
            self.items.push(Item::Hidden(tally_words(&hidden, self.expect)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample::{Talk, capture, conclusion, coredns, rechunked, told};

    fn table(options: TextOptions, talks: &[&Talk]) -> String {
        let mut out = Vec::new();
        told(Table::new(&mut out, options), "k8s-watch-coredns.pcap", talks);
        String::from_utf8(out).unwrap()
    }

    fn columns(width: usize) -> TextOptions {
        TextOptions { width, ..TextOptions::default() }
    }

    #[test]
    fn look() {
        for width in [80, 120, 200] {
            println!("{}", table(columns(width), &[&coredns()]));
            println!("{}", table(columns(width), &[&rechunked()]));
        }
        let mut plain = Talk::get(1, "/api/v1/pods", None);
        plain.chunk(b"hello", Verdict::Unchecked(None), vec![]);
        println!("{}", table(columns(100), &[&coredns(), &plain, &rechunked()]));
        println!("{}", table(columns(100), &[&plain]));
        println!("{}", table(TextOptions { color: true, ..columns(100) }, &[&rechunked()]));
    }
}
