//! What the program finds in a capture, kept by exchange.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use chunkscope::limits::Limits;
use chunkscope::pipeline::Analysis;
use chunkscope::pipeline::options::Options;
use chunkscope::report::{
    Conclusion, Event, ExchangeEnd, ExchangeHead, Finding, JudgedChunk, Report, Violation,
};

/// What was found of one exchange.
#[derive(Debug, Default)]
pub struct Found {
    pub head: Option<ExchangeHead>,
    pub chunks: Vec<JudgedChunk>,
    pub events: Vec<Arc<Event>>,
    pub violations: Vec<Violation>,
    pub end: Option<ExchangeEnd>,
}

/// Keeps everything, by stream and index.
#[derive(Debug, Default)]
pub struct Record {
    pub exchanges: BTreeMap<(u64, u64), Found>,
    pub problems: Vec<&'static str>,
}

impl Report for Record {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        let id = match finding {
            Finding::Exchange(head) => head.id,
            Finding::Event(id, _) => *id,
            Finding::Chunk(judged) => judged.exchange,
            Finding::Violation(violation) => violation.exchange,
            Finding::Lint(lint) => lint.exchange,
            Finding::ExchangeEnd(end) => end.head.id,
            Finding::Capture(_) => return Ok(()),
            Finding::CaptureEnd(end) => {
                self.problems.extend(end.problems.iter().map(|problem| problem.code));
                return Ok(());
            }
            other => panic!("a new kind of finding: {other:?}"),
        };
        let found = self.exchanges.entry((id.stream.unwrap().0, id.index)).or_default();
        assert!(found.end.is_none(), "nothing comes of an exchange behind its end");
        match finding {
            Finding::Exchange(head) => {
                assert!(found.head.replace((*head).clone()).is_none(), "an exchange is told of once");
            }
            Finding::Event(_, event) => found.events.push(Arc::clone(event)),
            Finding::Chunk(judged) => found.chunks.push((*judged).clone()),
            Finding::Violation(violation) => found.violations.push((*violation).clone()),
            Finding::ExchangeEnd(end) => found.end = Some((*end).clone()),
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
        assert!(self.exchanges.values().all(|found| found.end.is_some()), "each exchange ends");
        Ok(())
    }
}

pub fn options() -> Options {
    Options {
        keep_payload: Limits::default().payload,
        check_utf8: true,
        summaries: true,
        ..Options::default()
    }
}

/// Everything in a capture that can be read.
pub fn record(capture: &[u8]) -> Record {
    let options = options();
    let mut record = Record::default();
    let mut analysis = Analysis::new(&options, &mut record);
    analysis.capture("capture", capture).unwrap();
    analysis.conclude(false).unwrap();
    record
}
