//! One recording, from the first packet of its first part to the last.

use std::io::Read;
use std::sync::Arc;

use super::exchange::Exchange;
use super::found::{Emit, Found};
use super::options::Options;
use super::problems::plural;
use super::streams::{Ledger, Streams};
use super::threads::{self, Crew, LaneCell, Watched};
use super::{AnalysisError, Output};
use crate::capture::{CaptureFormat, CaptureReader, LinkType};
use crate::packet::{self, Decoded, Decoder, Segment};
use crate::report::{CaptureEnd, ExchangeHead, Format, JudgedChunk, LeftOut};
use crate::tcp::{Reassembler, StreamItem};
use crate::units::{FrameNo, StreamId, Timestamp};

/// One recording while it is read: all layers, and what they leave.
pub(super) struct Recording<'o> {
    options: &'o Options,
    reading: Reading,
    /// By share; one where there is one thread.
    streams: Vec<Streams>,
    ledger: Ledger,
    format: Option<Format>,
    links: Vec<LinkType>,
    packets: u64,
}

/// What is read in the order of the capture, whatever the streams.
struct Reading {
    decoder: Decoder,
    reassembler: Reassembler,
    /// Captured octets so far.
    octets: u64,
    times: Times,
    unsupported: Option<(FrameNo, u64, LinkType)>,
    /// The frame of the last segment that was decoded elsewhere.
    frame: Option<FrameNo>,
}

/// The times of the first packet and of the last that have one.
#[derive(Default)]
struct Times {
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Times {
    #[inline]
    fn note(&mut self, at: Option<Timestamp>) {
        if at.is_some() {
            self.last = at;
            if self.first.is_none() {
                self.first = at;
            }
        }
    }
}

/// Where items go.
pub(super) trait Way {
    /// Takes the next item of a stream.
    fn item(&mut self, stream: StreamId, item: StreamItem<'_>);

    /// Tells all that was found so far, and that time passes.
    fn moment(&mut self);

    /// Says whether a report couldn't be written meanwhile.
    fn check(&mut self) -> Result<(), AnalysisError>;
}

/// Where what is found goes: to the report, or into the ledger.
pub(super) struct Outlet<'l, 'r> {
    pub(super) ledger: &'l mut Ledger,
    pub(super) output: &'l mut Output<'r>,
}

impl Outlet<'_, '_> {
    pub(super) fn found(&mut self, found: &Found) {
        match found {
            Found::Over(stream, remains) => self.ledger.over(*stream, remains),
            Found::UnderWay(under_way) => self.output.tell(|report| report.under_way(under_way)),
            found => self.output.found(found),
        }
    }

    /// Has the streams take an item, and tells what they find in it.
    pub(super) fn item(
        &mut self,
        streams: &mut [Streams],
        stream: StreamId,
        item: StreamItem<'_>,
        options: &Options,
    ) {
        let streams = match streams {
            [all] => Some(all),
            _ => streams.get_mut(threads::share(stream, streams.len())),
        };
        if let Some(streams) = streams {
            streams.item(stream, item, options, self);
        }
    }

    pub(super) fn moment(&mut self) {
        self.output.tell(|report| report.moment());
    }

    /// Whether what is found still reaches the report.
    pub(super) const fn is_open(&self) -> bool {
        self.output.error.is_none()
    }

    pub(super) fn check(&mut self) -> Result<(), AnalysisError> {
        self.output.check()
    }
}

/// Tells what is found as it is found.
impl Emit for Outlet<'_, '_> {
    fn emit(&mut self, found: Found) {
        self.found(&found);
    }

    fn one(&mut self, judged: Box<JudgedChunk>) {
        self.output.one(judged);
    }

    fn spare(&mut self) -> Option<Box<JudgedChunk>> {
        self.output.spare()
    }

    fn began(&mut self, head: &Arc<ExchangeHead>) {
        self.output.began(head);
    }

    fn ended(&mut self, exchange: Box<Exchange>) {
        self.output.ended(exchange);
    }

    fn spent(&mut self) -> Option<Box<Exchange>> {
        self.output.spent()
    }
}

/// The way on the same thread.
struct Direct<'l, 'r> {
    options: &'l Options,
    streams: &'l mut [Streams],
    outlet: Outlet<'l, 'r>,
}

impl Way for Direct<'_, '_> {
    #[inline]
    fn item(&mut self, stream: StreamId, item: StreamItem<'_>) {
        self.outlet.item(self.streams, stream, item, self.options);
    }

    fn moment(&mut self) {
        self.outlet.moment();
    }

    fn check(&mut self) -> Result<(), AnalysisError> {
        self.outlet.check()
    }
}

impl<'o> Recording<'o> {
    pub(super) fn new(options: &'o Options) -> Self {
        Self {
            options,
            reading: Reading {
                decoder: Decoder::new(&options.limits),
                reassembler: Reassembler::new(&options.limits),
                octets: 0,
                times: Times::default(),
                unsupported: None,
                frame: None,
            },
            streams: (0..threads::shares(options)).map(|_| Streams::default()).collect(),
            ledger: Ledger::new(),
            format: None,
            links: Vec::new(),
            packets: 0,
        }
    }

    /// One whose segments are decoded elsewhere.
    pub(super) fn of_segments(options: &'o Options) -> Self {
        Self { format: Some(Format::Segments), ..Self::new(options) }
    }

    /// Reads a part of the recording.
    pub(super) fn read(&mut self, source: impl Read, output: &mut Output<'_>) -> Result<(), AnalysisError> {
        let Self { options, reading, streams, ledger, format, links, packets } = self;
        let mut crew = None;
        // What the reader lends ends before the streams and the ledger are
        // looked at again.
        let (outcome, problems) = {
            let lane = LaneCell::new();
            let finish = || lane.flush();
            let source = Watched::new(source, &finish);
            let mut reader = CaptureReader::open(source, &options.limits, *packets + 1)?;
            format.get_or_insert(match reader.format() {
                CaptureFormat::Pcap => Format::Pcap,
                CaptureFormat::Pcapng => Format::Pcapng,
            });
            let outlet = Outlet { ledger: &mut *ledger, output: &mut *output };
            let mut direct = Direct { options, streams, outlet };
            let mut outcome = reading.frames(&mut reader, &mut direct, options.follow, alone(options));
            if let Ok(Until::Alone) = outcome {
                let crew: &Crew<'_> = crew.insert(Crew::new(options, std::mem::take(streams)));
                lane.open(crew, Outlet { ledger: &mut *ledger, output });
                outcome = crew.with(|| {
                    let outcome = reading.frames(&mut reader, &mut &lane, options.follow, u64::MAX);
                    if !matches!(outcome, Err(AnalysisError::Report(_))) {
                        lane.flush();
                        (&lane).check()?;
                    }
                    outcome
                });
            }
            *packets += reader.packets();
            for link in reader.link_types() {
                if !links.contains(link) {
                    links.push(*link);
                }
            }
            (outcome, reader.problems().to_vec())
        };
        if let Some(crew) = crew {
            *streams = crew.into_streams();
        }
        for problem in problems {
            ledger.problems.capture(problem.kind.code(), problem.frame, problem.count, problem.message);
        }
        outcome.map(|_| ())
    }

    /// Takes a segment that was decoded elsewhere.
    pub(super) fn segment(
        &mut self,
        segment: &Segment<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), AnalysisError> {
        let Self { options, reading, streams, ledger, packets, .. } = self;
        // A frame may aggregate several segments.
        if reading.frame.replace(segment.stamp.frame) != Some(segment.stamp.frame) {
            *packets += 1;
        }
        reading.times.note(segment.stamp.at);
        let outlet = Outlet { ledger, output };
        let mut direct = Direct { options, streams, outlet };
        reading.reassembler.push(segment, &mut |stream: StreamId, item: StreamItem<'_>| {
            direct.item(stream, item);
        });
        output.check()
    }

    /// Tells what is left, and sums the recording up. `outcome` is that of the
    /// last part; an error is added where no packet could be read.
    pub(super) fn finish(
        self,
        path: &str,
        parts: Vec<String>,
        outcome: &mut Result<(), AnalysisError>,
        output: &mut Output<'_>,
    ) -> CaptureEnd {
        let Self { options, reading, mut streams, mut ledger, format, links, packets } = self;
        let Reading { decoder, mut reassembler, times, unsupported, .. } = reading;
        let outlet = Outlet { ledger: &mut ledger, output };
        let mut direct = Direct { options, streams: &mut streams, outlet };
        reassembler.finish(&mut |stream: StreamId, item: StreamItem<'_>| direct.item(stream, item));
        let evicted = reassembler.evicted();
        let problems = &mut ledger.problems;
        if let Some((frame, count, link)) = unsupported {
            let name = link.name().into_owned();
            let mut message =
                format!("{count} {} of link type {name} can't be read", plural(count, "packet"));
            if outcome.is_ok() && !links.iter().any(|link| packet::supports(*link)) {
                let error = AnalysisError::UnsupportedLink(name);
                message = error.to_string();
                *outcome = Err(error);
            }
            problems.capture("unsupported-link", Some(frame), count, message);
        }
        let incomplete = decoder.incomplete_datagrams();
        if incomplete > 0 {
            problems.capture(
                "incomplete-fragments",
                decoder.first_incomplete().map(|stamp| stamp.frame),
                incomplete,
                format!(
                    "{incomplete} fragmented {} not whole, and what {} is missing: a capture filter by port \
                     (`port 8001`) keeps first fragments only, one by host keeps all",
                    if incomplete == 1 { "datagram is" } else { "datagrams are" },
                    if incomplete == 1 { "it carried" } else { "they carried" }
                ),
            );
        }
        if evicted > 0 {
            problems.capture(
                "stream-limit",
                reassembler.first_evicted().map(|stamp| stamp.frame),
                evicted,
                format!("{evicted} {} let go before their end, to bound memory", plural(evicted, "stream")),
            );
        }
        let doubtful = reassembler.doubtful();
        if doubtful > 0 {
            problems.capture(
                "stream-numbers",
                reassembler.first_doubtful().map(|stamp| stamp.frame),
                doubtful,
                format!(
                    "{doubtful} {} began without a handshake when more had ended than are remembered: if that is \
                     what came late of one of these, streams have higher numbers than in Wireshark from there on",
                    plural(doubtful, "stream")
                ),
            );
        }
        ledger.name_others();
        if let Err(error) = outcome {
            let code = if format.is_some() { "corrupt-block" } else { "unreadable-capture" };
            if !matches!(error, AnalysisError::UnsupportedLink(_)) {
                ledger.problems.capture(code, None, 1, error.to_string());
            }
        }
        let (other_streams, other_counts) = ledger.others();
        CaptureEnd {
            path: path.to_owned(),
            parts,
            format,
            unread: outcome.as_ref().err().map(ToString::to_string),
            link_types: links.iter().map(|link| link.name().into_owned()).collect(),
            packets,
            streams: streams.iter().map(Streams::selected).sum(),
            left_out: LeftOut {
                streams: streams.iter().map(|share| share.left_out().streams).sum(),
                exchanges: streams.iter().map(|share| share.left_out().exchanges).sum(),
            },
            first_time: times.first,
            last_time: times.last,
            problems: ledger.problems.into_list(),
            other_streams,
            other_counts,
        }
    }
}

/// Octets that the calling thread reads alone: a capture that ends within its
/// first block is done before another thread would have begun.
fn alone(options: &Options) -> u64 {
    match threads::threads(options) {
        1 => u64::MAX,
        _ => options.limits.read_block as u64,
    }
}

/// How far frames were read.
enum Until {
    /// As far as is read alone.
    Alone,
    /// To the end.
    End,
}

impl Reading {
    /// Reads to the end of the part, or until there were more than `most` octets.
    fn frames<R: Read>(
        &mut self,
        reader: &mut CaptureReader<R>,
        way: &mut impl Way,
        follow: bool,
        most: u64,
    ) -> Result<Until, AnalysisError> {
        let Self { decoder, reassembler, octets, times, unsupported, .. } = self;
        while *octets <= most {
            match reader.advance() {
                Ok(true) => {}
                Ok(false) => return Ok(Until::End),
                Err(error) if error.is_nothing_yet() => {
                    // No packet has come for a while.
                    reassembler.idle(&mut |stream: StreamId, item: StreamItem<'_>| way.item(stream, item));
                    way.moment();
                    way.check()?;
                    continue;
                }
                Err(error) => {
                    // It may be that of a source that is to end.
                    way.check()?;
                    return Err(error.into());
                }
            }
            // As nearly all are: what is done for each of these is what reading a
            // capture costs.
            let plain = packet::plain_segment(&reader.frame(), |segment| {
                reassembler
                    .push(segment, &mut |stream: StreamId, item: StreamItem<'_>| way.item(stream, item));
            });
            *octets += reader.length() as u64;
            times.note(reader.at());
            if plain.is_none() {
                let frame = reader.frame();
                decoder.decode_each_by_layers(&frame, |decoded| match decoded {
                    Decoded::Segment(segment) => {
                        reassembler.push(&segment, &mut |stream: StreamId, item: StreamItem<'_>| {
                            way.item(stream, item);
                        });
                    }
                    Decoded::UnsupportedLink(link) => {
                        unsupported.get_or_insert((frame.stamp.frame, 0, link)).1 += 1;
                    }
                    _ => {}
                });
            }
            if follow {
                way.moment();
            }
            way.check()?;
        }
        Ok(Until::Alone)
    }
}
