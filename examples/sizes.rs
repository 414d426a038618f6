//! A report of one's own: how often each chunk size occurs.
//!
//! ```text
//! cargo run --example sizes testdata/nginx-buffered.pcap
//! ```
//!
//! A report is whatever implements [`Report`]. Here it collects, and writes
//! when the analysis is done; `chunkscope::report` has others that write as
//! they go. Sizes that occur often name a buffer somewhere on the way.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};

use chunkscope::http::Side;
use chunkscope::pipeline::Analysis;
use chunkscope::pipeline::options::Options;
use chunkscope::report::{Conclusion, Finding, Report};

/// Counts response chunks by size.
struct Sizes<W> {
    counts: BTreeMap<u64, u64>,
    out: W,
}

impl<W: Write> Report for Sizes<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        if let Finding::Chunk(judged) = finding
            && judged.side == Side::Response
        {
            *self.counts.entry(judged.chunk.size).or_default() += 1;
        }
        Ok(())
    }

    fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
        let mut counts: Vec<_> = self.counts.iter().collect();
        counts.sort_by_key(|&(size, count)| (std::cmp::Reverse(*count), *size));
        for (size, count) in counts.into_iter().take(10) {
            writeln!(self.out, "{count:>6} × {size:>6} = 0x{size:x}")?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which capture?")?;
    // Payloads aren't wanted: none are kept, which is faster.
    let options = Options::default();
    let mut report = Sizes { counts: BTreeMap::new(), out: io::stdout().lock() };
    let mut analysis = Analysis::new(&options, &mut report);
    analysis.capture(&path, File::open(&path)?)?;
    analysis.conclude(false)?;
    Ok(())
}
