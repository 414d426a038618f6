//! Analyses a capture and prints a line for each exchange that was checked.
//!
//! ```text
//! cargo run --example verdicts testdata/informer.pcap
//! ```
//!
//! Everything that an analysis finds comes as a [`Finding`], in the order in
//! which it is found. This one looks at the ends of exchanges only.

use std::fs::File;
use std::io;
use std::process::ExitCode;

use chunkscope::pipeline::Analysis;
use chunkscope::pipeline::options::Options;
use chunkscope::report::{Conclusion, Finding, Outcome, Report};

/// Prints a line for each exchange that was checked.
struct Lines;

impl Report for Lines {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        let Finding::ExchangeEnd(end) = finding else { return Ok(()) };
        if end.tally.checked() > 0 {
            let target = end.head.request.as_ref().and_then(|request| request.target.as_deref());
            println!(
                "{}: {} of {} chunks hold one event  {}",
                end.verdict.name(),
                end.tally.one,
                end.tally.checked(),
                target.unwrap_or("(its request was not captured)")
            );
        }
        Ok(())
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        println!("{}: {} events", conclusion.outcome.name(), conclusion.totals.events);
        Ok(())
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which capture?")?;
    let options = Options::default();
    let mut report = Lines;
    let mut analysis = Analysis::new(&options, &mut report);
    analysis.capture(&path, File::open(&path)?)?;
    let conclusion = analysis.conclude(false)?;
    Ok(if conclusion.outcome == Outcome::Pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
