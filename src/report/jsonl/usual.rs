//! The short way to write the lines that there are most of.
//!
//! What lines say, and how, is in [`members`] and in the report: for these as
//! for all others. But most are like the one before of their kind, but for some
//! values. So the report writes a line the long way; here it is kept, and
//! written [again](Again) with the values of those that are like it. Each kind
//! says which are, and has its values in the order of the line.
//!
//! [`members`]: super::members

/// The values of a line, in its order, each with what stands before it there.
macro_rules! values {
    ($($value:ident: $before:literal,)*) => {
        const BEFORE: [&str; [$($before),*].len()] = [$($before),*];

        enum Of {
            $($value),*
        }
    };
}

mod chunk;
mod end;
mod event;
mod exchange;

pub(super) use chunk::UsualChunk;
pub(super) use end::UsualEnd;
pub(super) use event::UsualEvent;
pub(super) use exchange::UsualExchange;

use std::net::SocketAddr;

use crate::chunk::{Run, frames};
use crate::report::again::Again;
use crate::report::buffer::Buffer;
use crate::report::figures::{NumberText, TimeText, append_seconds, last_digits};
use crate::report::json::text::{append_address, append_string, copy_plain};
use crate::units::Timestamp;

/// The lines that are kept, and what they are written with.
#[derive(Debug, Default)]
pub(super) struct Usual {
    pub(super) exchange: UsualExchange,
    pub(super) event: UsualEvent,
    pub(super) chunk: UsualChunk,
    pub(super) end: UsualEnd,
    pub(super) pen: Pen,
}

impl Usual {
    /// Forgets the lines: those that come tell of another capture.
    pub(super) fn forget(&mut self) {
        let Self { exchange, event, chunk, end, pen: _ } = self;
        *exchange = UsualExchange::default();
        *event = UsualEvent::default();
        *chunk = UsualChunk::default();
        *end = UsualEnd::default();
    }
}

/// Writes values that are no numbers.
#[derive(Debug, Default)]
pub(super) struct Pen {
    text: Buffer,
    number: NumberText,
    time: TimeText,
}

impl Pen {
    /// Puts a time there, if it isn't the one that is known to be. Its place is
    /// within the quotes.
    #[inline(always)]
    fn time<const N: usize>(
        &mut self,
        line: &mut Again<N>,
        value: usize,
        known: &mut Option<Timestamp>,
        time: Timestamp,
    ) {
        let before = known.replace(time);
        if before == Some(time) {
            return;
        }
        // Mostly it is a little later.
        if let Some(end) = before.and_then(|before| self.time.end(before, time))
            && let Some(place) = line.place(value).and_then(|place| place.last_chunk_mut())
        {
            *place = *end;
        } else {
            self.put_time(line, value, time);
        }
    }

    #[inline(never)]
    fn put_time<const N: usize>(&mut self, line: &mut Again<N>, value: usize, time: Timestamp) {
        line.put(value, self.time.text(time));
    }

    /// Puts an address there, if it isn't the one that is known to be. Its place
    /// is within the quotes.
    #[inline(always)]
    fn address<const N: usize>(
        &mut self,
        line: &mut Again<N>,
        value: usize,
        known: &mut Option<SocketAddr>,
        address: SocketAddr,
    ) {
        let before = known.replace(address);
        if before == Some(address) {
            return;
        }
        // Mostly it is another port of the same client. Few have less than five
        // digits, none has more.
        let five_digits = 10_000..;
        if let Some(mut before) = before
            && five_digits.contains(&before.port())
            && five_digits.contains(&address.port())
            && {
                before.set_port(address.port());
                before == address
            }
        {
            line.put_last(value, last_digits(address.port().into()).0, 5);
        } else {
            self.put_address(line, value, address);
        }
    }

    #[inline(never)]
    fn put_address<const N: usize>(&mut self, line: &mut Again<N>, value: usize, address: SocketAddr) {
        self.text.clear();
        append_address(&mut self.text, address, &mut self.number);
        line.put(value, self.text.written());
    }

    /// Puts so many nanoseconds there, as seconds.
    #[inline(never)]
    fn seconds<const N: usize>(&mut self, line: &mut Again<N>, value: usize, nanos: u64) {
        self.text.clear();
        append_seconds(&mut self.text, nanos.into());
        line.put(value, self.text.written());
    }

    /// Puts a string or null there.
    #[inline(never)]
    fn string<const N: usize>(&mut self, line: &mut Again<N>, value: usize, string: Option<&str>) {
        let Some(string) = string else {
            return line.put(value, b"null");
        };
        // Mostly it takes the place of another one of its length.
        if let Some([b'"', room @ .., b'"']) = line.place(value)
            && room.len() == string.len()
            && copy_plain(room, string)
        {
            return;
        }
        self.text.clear();
        append_string(&mut self.text, string);
        line.put(value, self.text.written());
    }

    /// Puts the frames of some runs there. The place is within the brackets, as
    /// that of any list.
    #[inline(always)]
    fn frames<const N: usize>(&mut self, line: &mut Again<N>, value: usize, trail: &[Run]) {
        match trail {
            [Run { frame: Some(frame), .. }] => line.number(value, frame.get()),
            _ => self.numbers(line, value, frames(trail).into_iter().map(|frame| frame.get())),
        }
    }

    /// Puts numbers there.
    #[inline(never)]
    fn numbers<const N: usize>(
        &mut self,
        line: &mut Again<N>,
        value: usize,
        numbers: impl Iterator<Item = u64>,
    ) {
        self.text.clear();
        for number in numbers {
            if self.text.len() > 0 {
                self.text.push(b',');
            }
            self.number.append(&mut self.text, number);
        }
        line.put(value, self.text.written());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use proptest::prelude::*;
    use smol_str::SmolStr;

    use super::super::JsonlReport;
    use crate::chunk::{LastChunk, Message};
    use crate::event::Kind;
    use crate::hints::pace::{Buffered, Timing};
    use crate::http::{BodyEnd, Fields, Framing, Model, RequestHead, ResponseHead, Side};
    use crate::report::payload::Payload;
    use crate::report::samples::{self, Made};
    use crate::report::{
        Body, Decoded, Event, ExchangeEnd, ExchangeHead, ExchangeId, ExchangeVerdict, Expect, Finding,
        JudgedChunk, Report, Tally,
    };
    use crate::units::{FrameNo, Stamp, Timestamp};
    use crate::verdict::Verdict;

    /// Octets that something is picked by; the first of each choice is common.
    struct Dice<'d>(std::slice::Iter<'d, u8>);

    impl Dice<'_> {
        fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
            choices[usize::from(*self.0.next().unwrap()) % choices.len()].clone()
        }

        fn number(&mut self) -> u64 {
            const NUMBERS: [u64; 16] = [
                7,
                8,
                9,
                10,
                11,
                0,
                1,
                99,
                100,
                12_345,
                99_999_999,
                100_000_000,
                100_000_001,
                u64::MAX - 1,
                u64::MAX,
                8_345,
            ];
            self.pick(&NUMBERS)
        }

        fn text(&mut self) -> Option<SmolStr> {
            let texts = [
                "pod-1",
                "pod-2",
                "",
                "a\"b",
                "a\\\"b",
                "\u{7f}",
                "\u{e9}t\u{e9}",
                "null",
                "longer-than-thirty-two-octets-all-plain",
            ];
            self.pick(&texts.map(|text| Some(text.into())).into_iter().chain([None]).collect::<Vec<_>>())
        }

        fn stamp(&mut self) -> Stamp {
            let times =
                [(5, 42, 6), (5, 43, 6), (6, 42, 6), (5, 42, 9), (5, 0, 0), (-1, 7, 3), (5, 123_456_789, 9)];
            let at =
                times.map(|(seconds, fraction, decimals)| Some(Timestamp::new(seconds, fraction, decimals)));
            Stamp { frame: FrameNo::new(self.number()), at: self.pick(&[at.as_slice(), &[None]].concat()) }
        }

        fn id(&mut self) -> ExchangeId {
            let places =
                [samples::place(3, 0), samples::place(3, 1), samples::place(4, 0), samples::place(10, 9)];
            self.pick(&[places.as_slice(), &[samples::raw_place(0)]].concat())
        }

        fn event(&mut self) -> Arc<Event> {
            let mut event = (*samples::event(self.number(), "ADDED", self.number())).clone();
            event.offset = self.number();
            event.size = self.number();
            event.last_chunk = self.number();
            let summary = &mut *event.summary;
            for name in [
                &mut summary.event_type,
                &mut summary.api_version,
                &mut summary.kind,
                &mut summary.namespace,
                &mut summary.name,
                &mut summary.resource_version,
                &mut summary.id,
                &mut summary.data,
            ] {
                *name = self.text();
            }
            Arc::new(event)
        }

        fn chunk(&mut self) -> JudgedChunk {
            let mut judged = samples::chunk(self.id(), 1, 0, b"hello");
            let lines: [&[u8]; 9] = [
                b"69\r\n",
                b"6a\r\n",
                b"069\r\n",
                b"69;a\r\n",
                b"69 \r\n",
                b"69\n",
                b"123456\r\n",
                b"0123456\r\n",
                b"69\r\n;",
            ];
            let chunk = &mut judged.chunk;
            chunk.index = self.number();
            chunk.offset = self.number();
            chunk.size_line = self.pick(&lines).into();
            chunk.size = self.number();
            chunk.received = self.number();
            chunk.payload =
                self.pick(&[b"hello".as_slice(), b"a\"b\n", b"", b"\xff", "\u{e9}".as_bytes()]).to_vec();
            judged.utf8 = Some(std::str::from_utf8(&chunk.payload).is_ok());
            chunk.received = self.pick(&[chunk.payload.len() as u64, chunk.received]);
            chunk.trail.truncate(self.pick(&[1, 0, 2, 3]));
            for run in &mut chunk.trail {
                run.frame = self.pick(&[6u64, 7, 5, 0]).checked_sub(1).map(FrameNo::new);
            }
            chunk.first = self.stamp();
            chunk.last = self.stamp();
            chunk.message = self.pick(&[None, None, None, Some(Message { text: true, frames: 1 })]);
            judged.decoded = self.pick(&[None, None, None, Some(Box::new(Decoded::default()))]);
            judged.side = self.pick(&[Side::Response, Side::Response, Side::Request]);
            judged.verdict = self.pick(&[
                Verdict::One,
                Verdict::Part,
                Verdict::Mixed,
                Verdict::Several,
                Verdict::Unchecked(None),
            ]);
            judged.events =
                (0..self.pick(&[1, 0, 2])).map(|_| samples::event(self.number(), "ADDED", 1)).collect();
            judged
        }

        fn head(&mut self) -> ExchangeHead {
            let mut head = samples::watch_head(self.id());
            let clients = [
                "10.0.0.1:10000",
                "10.0.0.1:54321",
                "10.0.0.1:9999",
                "10.0.0.20:1",
                "[::1]:5",
                "[::1]:10000",
                "[::1%2]:10000",
            ];
            head.client = self.pick(&clients.map(|client| Some(client.parse().unwrap())));
            let usual = head.clone();
            if self.pick(&[true, false]) {
                return head;
            }
            head.expect = self.expect();
            head.framing = self.pick(&[usual.framing, None, Some(Framing::ContentLength(4))]);
            head.server = self.pick(&[usual.server, head.client, None]);
            if let (Some(request), Some(response)) = (&mut head.request, &mut head.response) {
                request.stamp = Some(self.stamp());
                response.stamp = Some(self.stamp());
                let target = self.text();
                request.target = self.pick(&[request.target.clone(), target]);
                response.status = self.pick(&[response.status, Some(404), None]);
                let others =
                    [("Date", "to\"]day"), ("[", "\\")].map(|(name, value)| (name.into(), value.into()));
                let fields = [response.fields.clone(), Some(others.into()), None, Some(Fields::default())];
                response.fields = self.pick(&fields);
                request.fields = self.pick(&[request.fields.clone(), response.fields.clone()]);
            }
            head.request = self.pick(&[head.request.clone(), usual.request, None]);
            head.response = self.pick(&[head.response.clone(), usual.response, None]);
            head
        }

        fn expect(&mut self) -> Option<Expect> {
            let kinds = [Kind::Watch, Kind::Sse, Kind::Json].map(|kind| Some(Expect::Kind(kind)));
            self.pick(&[kinds.as_slice(), &[Some(Expect::Any), None]].concat())
        }

        fn end(&mut self) -> Box<ExchangeEnd> {
            let mut head = samples::watch_head(self.id());
            head.request = self.pick(&[head.request.clone(), None]);
            let last = LastChunk {
                size_line: self.pick(&[b"0\r\n".as_slice(), b"00\r\n", b"0;a\r\n"]).into(),
                last: self.stamp(),
                trailers: self.pick(&[
                    Default::default(),
                    Default::default(),
                    samples::last_chunk().trailers,
                ]),
                ..samples::last_chunk()
            };
            let body = Body {
                size: self.number(),
                end: self.pick(&[BodyEnd::Complete, BodyEnd::Aborted]),
                joined: self.pick(&[None, None, Some(3)]),
                last_chunk: self.pick(&[Some(Box::new(last.clone())), Some(Box::new(last)), None]),
                ..samples::chunked(0, 1, BodyEnd::Complete)
            };
            let tally = Tally { one: self.number() % 1000, part: self.pick(&[0, 0, 1]), ..Tally::default() };
            let verdict = self.pick(&[ExchangeVerdict::Pass, ExchangeVerdict::Fail]);
            let mut end =
                samples::end(head, self.pick(&[Some(body.clone()), Some(body), None]), verdict, tally);
            end.events = self.number();
            end.violations = self.pick(&[0, 0, 3]);
            end.timing = Some(Timing {
                time_to_first_event: self.pick(&[
                    Some(7000),
                    Some(7001),
                    Some(1_000_000_000),
                    Some(-5),
                    None,
                ]),
                longest_gap: self.pick(&[None, None, Some((1_500_000, 3))]),
                pauses: self.pick(&[0, 0, 1]),
                singles: 0,
                bursts: 0,
                buffered: Buffered::Unknown,
                held: None,
            });
            end.timing = self.pick(&[end.timing.clone(), end.timing.clone(), None]);
            end
        }

        fn made(&mut self) -> Made {
            match self.pick(&[0, 1, 2, 3]) {
                0 => Made::Chunk(self.chunk()),
                1 => Made::Event(self.id(), self.event()),
                2 => Made::Exchange(self.head()),
                _ => Made::ExchangeEnd(self.end()),
            }
        }
    }

    /// What is written of a capture's findings, each with what is expected of
    /// its exchange.
    fn written(findings: &[(Made, ExchangeHead)], payload: Payload) -> Vec<String> {
        let mut out = Vec::new();
        let mut report = JsonlReport::new(&mut out, payload);
        report.finding(&Finding::Capture("a,\"stream\":.pcap")).unwrap();
        for (made, head) in findings {
            match made {
                Made::Chunk(judged) => report.finding(&Finding::Chunk(judged)),
                Made::Event(id, event) => {
                    report.begin_runs(*id, head.expect);
                    report.finding(&Finding::Event(*id, event))
                }
                Made::Exchange(head) => report.finding(&Finding::Exchange(head)),
                Made::ExchangeEnd(end) => report.finding(&Finding::ExchangeEnd(end)),
                other => panic!("{other:?}"),
            }
            .unwrap();
        }
        drop(report);
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    proptest! {
        #[test]
        fn the_short_way_writes_what_the_long_one_does(
            dice in proptest::collection::vec(
                proptest::collection::vec(prop_oneof![4 => Just(0u8), 1 => 1u8..3, 1 => any::<u8>()], 64), 1..30,
            ),
            payload in prop_oneof![Just(Payload::None), Just(Payload::Preview), Just(Payload::Full)],
        ) {
            let mut findings: Vec<_> = dice
                .iter()
                .map(|dice| {
                    let mut dice = Dice(dice.iter());
                    let made = dice.made();
                    (made, ExchangeHead { expect: dice.expect(), ..samples::watch_head(samples::place(0, 0)) })
                })
                .collect();
            // Most heads are told to be copies of those before that say the same.
            let mut models = HashMap::new();
            for (place, (made, _)) in findings.iter_mut().enumerate().filter(|(place, _)| place % 4 != 3) {
                let Made::Exchange(head) = made else { continue };
                let mut model = |said: String| models.entry((said, place % 2)).or_insert_with(Model::new).share();
                if let Some(request) = &mut head.request {
                    request.model = model(format!("{:?}", RequestHead { stamp: None, ..request.clone() }));
                }
                if let Some(response) = &mut head.response {
                    response.model = model(format!("{:?}", ResponseHead { stamp: None, ..response.clone() }));
                }
            }
            // A report's first line of each kind is written the long way.
            let long: Vec<_> = findings.iter().flat_map(|finding| written(std::slice::from_ref(finding), payload).into_iter().skip(1)).collect();
            let short = written(&findings, payload);
            prop_assert_eq!(&short[1..], long);
        }
    }
}
