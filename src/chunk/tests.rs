//! Chunked bodies as they come off the wire. Every reading is done whole,
//! octet by octet, and cut at every octet, and must be the same.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use crate::limits::Limits;
use crate::tcp::Gap;

/// What a sender sent; each part that was captured is one packet.
#[derive(Debug, Clone, Default)]
struct Wire(Vec<Part>);

#[derive(Debug, Clone)]
enum Part {
    Sent(Vec<u8>),
    Lost(u64),
}

/// What was read of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Begin(u64, u64, u64),
    Payload(u64, Vec<u8>),
    Missing(u64, u64),
    End(Box<Chunk>),
    Last(Box<LastChunk>),
    Lenient(Lenience, u64),
    /// With the offset of the first octet that isn't the body's.
    Complete(u64),
    /// With the offset of the octet at fault.
    Broken(FramingFault, u64),
    Lost,
}

fn sent(octets: impl AsRef<[u8]>) -> Wire {
    Wire::default().sent(octets)
}

impl Wire {
    fn sent(mut self, octets: impl AsRef<[u8]>) -> Self {
        self.0.push(Part::Sent(octets.as_ref().to_vec()));
        self
    }

    fn lost(mut self, len: u64) -> Self {
        self.0.push(Part::Lost(len));
        self
    }

    fn len(&self) -> u64 {
        self.0.iter().map(|part| if let Part::Sent(octets) = part { octets.len() as u64 } else { 0 }).sum()
    }

    /// Reads it, each packet cut where `cut` says of a sent octet's number
    /// that one begins a piece.
    fn read(&self, cut: impl Fn(u64) -> bool) -> Vec<Told> {
        let mut decoder = Decoder::new(&Limits::default(), usize::MAX);
        let mut told = Vec::new();
        let (mut at, mut count, mut frame) = (0, 0, 0);
        for part in &self.0 {
            match part {
                Part::Lost(len) => {
                    let mut gap = Gap { at, len: *len, noticed: Stamp::untimed(frame) };
                    at += len;
                    while let Some(step) = decoder.gap(&mut gap) {
                        tell(&mut told, step, at);
                    }
                }
                Part::Sent(octets) => {
                    frame += 1;
                    let mut start = 0;
                    for end in 1..=octets.len() {
                        count += 1;
                        if end < octets.len() && !cut(count) {
                            continue;
                        }
                        let mut piece = Piece {
                            at,
                            bytes: Cow::Borrowed(&octets[start..end]),
                            stamp: Stamp::untimed(frame),
                            released: Stamp::untimed(frame),
                            segment_start: start == 0,
                        };
                        at += (end - start) as u64;
                        start = end;
                        while let Some(step) = decoder.read(&mut piece) {
                            tell(&mut told, step, piece.at);
                        }
                        if matches!(told.last(), Some(Told::Complete(_) | Told::Broken(..) | Told::Lost)) {
                            return told;
                        }
                    }
                }
            }
        }
        if let Some(token) = decoder.finish() {
            tell(&mut told, Step::Token(token), at);
        }
        told
    }

    /// Reads it in all ways.
    fn told(&self) -> Vec<Told> {
        let whole = self.read(|_| false);
        assert_eq!(self.read(|_| true), whole, "octet by octet");
        for place in 1..self.len() {
            assert_eq!(self.read(|count| count == place), whole, "cut at {place}");
        }
        whole
    }

    fn chunks(&self) -> Vec<Chunk> {
        self.told()
            .into_iter()
            .filter_map(|told| if let Told::End(chunk) = told { Some(*chunk) } else { None })
            .collect()
    }

    fn leniences(&self) -> Vec<(Lenience, u64)> {
        self.told()
            .into_iter()
            .filter_map(|told| {
                if let Told::Lenient(lenience, frame) = told { Some((lenience, frame)) } else { None }
            })
            .collect()
    }

    fn fault(&self) -> FramingFault {
        match self.told().pop() {
            Some(Told::Broken(fault, _)) => fault,
            other => panic!("not broken, but {other:?}"),
        }
    }
}

/// Whatever a body was like: the reader of the next one knows nothing of it.
#[test]
fn a_reader_of_a_spent_body_is_as_a_new_one() {
    for (body, keep) in [
        ("5\r\nhello\r\n0\r\n\r\n", 100),
        ("5;a=b\nhello\n0 \r\nA: b\r\nC : d\r\n\r\n", 3),
        ("5\r\nhel", 100),
        ("5\r\nhello\r", 100),
        ("0\r\nA: b", 100),
        ("00000000000000000000000000000005;a", 0),
        ("x", 100),
        ("", 100),
    ] {
        let mut spent = Decoder::with_limits(50, 60, keep);
        let mut piece = Piece {
            at: 7,
            bytes: Cow::Borrowed(body.as_bytes()),
            stamp: Stamp::untimed(3),
            released: Stamp::untimed(3),
            segment_start: true,
        };
        while spent.read(&mut piece).is_some() {}
        spent.restart(20, 30, 40);
        let new = Decoder::with_limits(20, 30, 40);
        assert_eq!(format!("{spent:?}"), format!("{new:?}"), "{body:?}");
    }
}

fn tell(told: &mut Vec<Told>, step: Step<'_>, at: u64) {
    let next = match step {
        Step::Token(ChunkToken::Begin { index, offset, size }) => Told::Begin(index, offset, size),
        Step::Token(ChunkToken::Payload { offset, piece }) => {
            if let Some(Told::Payload(start, octets)) = told.last_mut()
                && *start + octets.len() as u64 == offset
            {
                octets.extend_from_slice(&piece.bytes);
                return;
            }
            Told::Payload(offset, piece.bytes.into_owned())
        }
        Step::Token(ChunkToken::Missing { offset, len }) => Told::Missing(offset, len),
        Step::Token(ChunkToken::End(chunk)) => Told::End(chunk),
        Step::Token(ChunkToken::Whole(whole)) => {
            told.push(Told::Begin(whole.index, whole.offset, whole.size()));
            told.push(Told::Payload(whole.offset, whole.payload.to_vec()));
            Told::End(whole.record())
        }
        Step::Token(ChunkToken::Last(last)) => Told::Last(last),
        Step::Lenient(lenience, stamp) => Told::Lenient(lenience, stamp.frame.get()),
        Step::Complete => Told::Complete(at),
        Step::Broken(fault) => Told::Broken(fault, at),
        Step::Lost => Told::Lost,
    };
    told.push(next);
}

fn frames_of(chunk: &Chunk) -> Vec<u64> {
    chunk.frames().into_iter().map(FrameNo::get).collect()
}

fn run(len: u64, frame: u64) -> Run {
    Run { len, frame: Some(FrameNo::new(frame)) }
}

fn hole(len: u64) -> Run {
    Run { len, frame: None }
}

#[test]
fn a_body_is_read_to_its_last_chunk_and_no_further() {
    let told = sent("7\r\nMozilla\r\n9\r\nDeveloper\r\n0\r\n\r\nHTTP/1.1").told();
    let [first, payload, Told::End(one), _, _, Told::End(two), Told::Last(last), Told::Complete(31)] =
        &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(first, &Told::Begin(1, 0, 7));
    assert_eq!(payload, &Told::Payload(0, b"Mozilla".to_vec()));
    assert_eq!((one.index, one.size, one.received, one.offset, one.at), (1, 7, 7, 0, 0));
    assert_eq!(
        (one.size_hex(), one.extensions(), one.closing, one.unfinished),
        ("7", None, Closing::CrLf, false)
    );
    assert_eq!((two.index, two.size, two.received, two.offset, two.at), (2, 9, 9, 7, 12));
    assert_eq!(two.payload, b"Developer");
    assert_eq!((last.at, last.size_line.as_slice(), last.trailers.len()), (26, &b"0\r\n"[..], 0));
}

#[test]
fn the_size_is_kept_as_written() {
    let chunks = sent("00000005;a=b;c=\"d;e\\\"f\"\r\nhello\r\nA \t;x\r\n0123456789\r\n").chunks();
    assert_eq!((chunks[0].size_hex(), chunks[0].size), ("00000005", 5));
    assert_eq!(chunks[0].extensions().unwrap(), ";a=b;c=\"d;e\\\"f\"");
    assert_eq!((chunks[1].size_hex(), chunks[1].size), ("A", 10));
    assert_eq!(chunks[1].extensions().unwrap(), ";x");
    assert_eq!(sent("5;a=b;c=\"d\"\r\nhello\r\n0   ;x\r\n\r\n").leniences(), []);
}

#[test]
fn a_chunk_knows_the_packets_of_its_size_line_payload_and_closing() {
    let chunks = sent("5\r").sent("\nhe").sent("llo\r").sent("\n3\r\nabc\r\n").chunks();
    assert_eq!(frames_of(&chunks[0]), [1, 2, 3, 4]);
    assert_eq!(chunks[0].trail.to_vec(), [run(2, 1), run(3, 2), run(4, 3), run(1, 4)]);
    assert_eq!((chunks[0].first.frame.get(), chunks[0].last.frame.get()), (1, 4));
    assert_eq!(frames_of(&chunks[1]), [4]);
    assert_eq!(chunks[1].trail.to_vec(), [run(8, 4)]);
}

#[test]
fn a_chunk_begins_at_its_earliest_arrival_and_is_whole_at_its_latest() {
    let mut decoder = Decoder::new(&Limits::default(), 100);
    let mut told = Vec::new();
    for (at, octets, frame) in [(0, "5\r\nhe", 9), (5, "llo", 4), (8, "\r\n", 7)] {
        let stamp = Stamp::untimed(frame);
        let bytes = Cow::Borrowed(octets.as_bytes());
        let mut piece = Piece { at, bytes, stamp, released: Stamp::untimed(9), segment_start: true };
        while let Some(step) = decoder.read(&mut piece) {
            tell(&mut told, step, 0);
        }
    }
    let Some(Told::End(chunk)) = told.pop() else { panic!("{told:?}") };
    assert_eq!((chunk.first.frame.get(), chunk.last.frame.get()), (4, 9));
    assert_eq!(frames_of(&chunk), [4, 7, 9]);
}

#[test]
fn trailers_are_fields_and_the_last_chunk_has_their_packets() {
    let told = sent("0\r\n").sent("X-Sum: 1\r\nX-Two: b").sent(" c\r\n\r\n").told();
    let [Told::Last(last), Told::Complete(_)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*last.trailers, [("X-Sum".into(), "1".into()), ("X-Two".into(), "b c".into())]);
    assert_eq!(frames(&last.trail), [FrameNo::new(1), FrameNo::new(2), FrameNo::new(3)]);
    assert_eq!(last.last.frame.get(), 3);
}

#[test]
fn a_last_chunk_without_its_empty_line_is_told_at_the_end() {
    let told = sent("0\r\nX-Sum: 1\r\nX-T").told();
    let [Told::Last(last)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*last.trailers, [("X-Sum".into(), "1".into())]);
    assert!(matches!(&sent("0\r\n").told()[..], [Told::Last(_)]));
    assert!(matches!(&sent("0\r\n\r").told()[..], [Told::Last(_)]));
    assert_eq!(sent("0\r").told(), []);
}

#[test]
fn a_trailer_section_over_its_limit_breaks_the_body() {
    let told = sent(format!("0\r\nX: {}\r\n", "y".repeat(70_000))).read(|_| false);
    assert!(matches!(&told[..], [Told::Last(_), Told::Broken(..)]), "{told:?}");
}

#[test]
fn white_space_behind_a_size_is_read_and_said() {
    let wire = sent("5   \r\nhello\r\n").sent("0\t\r\n\r\n");
    assert_eq!(wire.leniences(), [(Lenience::SpaceAfterSize, 1), (Lenience::SpaceAfterSize, 2)]);
    assert_eq!(wire.chunks()[0].size_hex(), "5");
}

#[test]
fn bare_line_feeds_are_read_and_said() {
    let wire = sent("5\nhello\n0\n\n");
    assert_eq!(wire.leniences(), [(Lenience::BareLfInChunks, 1); 4]);
    assert_eq!(wire.chunks()[0].closing, Closing::Lf);
    let mixed = sent("5\nhello\r\n0\r\n\r\n");
    assert_eq!(mixed.leniences(), [(Lenience::BareLfInChunks, 1)]);
    assert_eq!(mixed.chunks()[0].closing, Closing::CrLf);
}

#[test]
fn a_bare_line_feed_closes_no_payload_whose_size_line_ends_in_crlf() {
    // The size is one too small: the payload's own LF would pass for the closing.
    let fault = sent("4\r\ntick\n\r\n0\r\n\r\n").fault();
    assert_eq!(fault.chunk, Some(1));
    assert_eq!(
        fault.message,
        "the payload's 4 octets (0x4) are followed by \"\\n\", not by CRLF (RFC 9112, section 7.1)"
    );
}

#[test]
fn a_size_line_at_fault_breaks_the_body_between_chunks() {
    for size in ["", "0x5", "-0", "5 0", "1_0", "12g", " 5", ";a", "10000000000000000", "5\rx"] {
        let wire = sent("1\r\nZ\r\n").sent(format!("{size}\r\nhello\r\n0\r\n\r\n"));
        let fault = wire.fault();
        assert_eq!((fault.chunk, fault.stamp.frame.get()), (None, 2), "{size:?}");
        assert_eq!(wire.chunks().len(), 1, "{size:?}");
    }
    assert_eq!(
        sent("0x5\r\n").fault().message,
        "the size line begins with \"0x\"; a chunk size has hex digits only (RFC 9112, section 7.1)"
    );
}

#[test]
fn a_size_line_over_four_kibibytes_breaks_the_body() {
    let line =
        |octets: usize| sent(format!("5;{}\r\nhello\r\n0\r\n\r\n", "x".repeat(octets - 4))).read(|_| false);
    assert!(matches!(line(4096).last(), Some(Told::Complete(_))));
    assert!(matches!(line(4097).last(), Some(Told::Broken(..))));
}

#[test]
fn a_chunk_whose_payload_is_too_long_is_listed_without_its_closing() {
    let wire = sent("5\r\nhel").sent("lo").sent("abc\r\n0\r\n\r\n");
    let told = wire.told();
    let [_, _, Told::End(chunk), Told::Broken(fault, 8)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((frames_of(chunk), chunk.closing, chunk.unfinished), (vec![1, 2], Closing::Broken, false));
    assert_eq!((fault.chunk, fault.stamp.frame.get()), (Some(1), 3));
}

#[test]
fn a_cr_without_its_lf_closes_nothing_and_is_no_octet_of_the_chunk() {
    let wire = sent("5\r\nhello").sent("\r").sent("x");
    assert_eq!(frames_of(&wire.chunks()[0]), [1]);
    assert!(wire.fault().message.contains("\"\\rx\""));
}

#[test]
fn an_unfinished_chunk_is_told_at_the_end() {
    let told = sent("10\r\n{\"typ").told();
    let [_, _, Told::End(chunk)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((chunk.size, chunk.received, chunk.unfinished, chunk.closing), (16, 5, true, Closing::None));
    assert!(!chunk.lacks_octets());
}

#[test]
fn a_size_line_without_payload_is_listed_with_nothing_received() {
    let chunks = sent("10\r\n").chunks();
    assert_eq!((chunks[0].size, chunks[0].received, chunks[0].unfinished), (16, 0, true));
    assert_eq!(sent("10\r").told(), []);
    assert_eq!(sent("10").told(), []);
}

#[test]
fn a_whole_payload_without_its_crlf_is_a_finished_chunk() {
    for (wire, frames) in [(sent("5\r\nhello"), vec![1]), (sent("5\r\nhello").sent("\r"), vec![1, 2])] {
        let chunk = &wire.chunks()[0];
        assert_eq!((chunk.received, chunk.unfinished, chunk.closing), (5, false, Closing::None));
        assert_eq!(frames_of(chunk), frames);
    }
}

#[test]
fn octets_lost_in_a_payload_are_stepped_over() {
    let wire = sent("a\r\n012").lost(4).sent("789\r\n0\r\n\r\n");
    let told = wire.told();
    assert_eq!(
        told[..4],
        [
            Told::Begin(1, 0, 10),
            Told::Payload(0, b"012".to_vec()),
            Told::Missing(3, 4),
            Told::Payload(7, b"789".to_vec())
        ]
    );
    let chunk = &wire.chunks()[0];
    assert_eq!((chunk.received, chunk.unfinished, chunk.lacks_octets()), (6, false, true));
    assert_eq!(chunk.trail.to_vec(), [run(6, 1), hole(4), run(5, 2)]);
    assert_eq!(chunk.payload, b"012789");
    assert!(matches!(told.last(), Some(Told::Complete(_))));
}

#[test]
fn a_payload_lost_together_with_its_crlf_ends_the_chunk_and_not_the_body() {
    let wire = sent("5\r\nhel").lost(4).sent("3\r\nabc\r\n0\r\n\r\n");
    let chunks = wire.chunks();
    assert_eq!((chunks[0].received, chunks[0].closing, chunks[0].unfinished), (3, Closing::Lost, false));
    assert_eq!(chunks[0].trail.to_vec(), [run(6, 1), hole(4)]);
    assert_eq!((chunks[1].index, chunks[1].offset), (2, 5));
    assert!(matches!(wire.told().last(), Some(Told::Complete(_))));
}

#[test]
fn a_crlf_lost_in_part_or_whole_ends_a_finished_chunk() {
    for (wire, trail) in [
        (sent("5\r\nhello").lost(2).sent("0\r\n\r\n"), vec![run(8, 1), hole(2)]),
        (sent("5\r\nhello").lost(1).sent("\n0\r\n\r\n"), vec![run(8, 1), hole(1), run(1, 2)]),
        (sent("5\r\nhello\r").lost(1).sent("0\r\n\r\n"), vec![run(9, 1), hole(1)]),
        (sent("5\r\nhell").lost(2).sent("\n0\r\n\r\n"), vec![run(7, 1), hole(2), run(1, 2)]),
        (sent("5\r\nhello").lost(1).lost(1).sent("0\r\n\r\n"), vec![run(8, 1), hole(2)]),
    ] {
        let chunk = &wire.chunks()[0];
        assert_eq!((chunk.closing, chunk.unfinished), (Closing::Lost, false), "{wire:?}");
        assert_eq!(chunk.trail.to_vec(), trail);
        assert!(matches!(wire.told().last(), Some(Told::Complete(_))), "{wire:?}");
    }
    let chunk = &sent("5\r\nhello").lost(1).chunks()[0];
    assert_eq!((chunk.closing, chunk.unfinished), (Closing::Lost, false));
}

#[test]
fn a_lost_closing_that_is_no_crlf_breaks_the_body() {
    assert_eq!(sent("5\r\nhello").lost(1).sent("x").fault().chunk, Some(1));
}

#[test]
fn a_hole_that_reaches_into_the_next_size_line_loses_the_body() {
    let wire = sent("5\r\nhel").lost(5).sent("\r\nabc\r\n0\r\n\r\n");
    let told = wire.told();
    let [_, _, Told::Missing(3, 2), Told::End(chunk), Told::Lost] = &told[..] else { panic!("{told:?}") };
    assert_eq!((chunk.received, chunk.closing, chunk.unfinished), (3, Closing::Lost, false));
}

#[test]
fn a_hole_in_a_size_line_loses_the_body() {
    for wire in [
        sent("5\r\nhello\r\n").lost(1).sent("\r\nabc"),
        sent("5\r\nhello\r\n3").lost(1).sent("\nabc"),
        sent("5\r\nhello\r\n3\r").lost(1).sent("abc"),
    ] {
        assert_eq!(wire.chunks().len(), 1, "{wire:?}");
        assert_eq!(wire.told().last(), Some(&Told::Lost), "{wire:?}");
    }
}

#[test]
fn a_hole_in_a_trailer_section_loses_the_body_and_not_the_last_chunk() {
    let told = sent("0\r\nA: b\r\nX").lost(3).sent("\r\n\r\n").told();
    let [Told::Last(last), Told::Lost] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*last.trailers, [("A".into(), "b".into())]);
}

#[test]
fn a_lost_closing_of_one_octet_or_two_is_not_guessed_where_line_feeds_are_bare() {
    let one = sent("5\nhello").lost(1).sent("3\nabc\n0\n\n");
    assert!(matches!(one.told().last(), Some(Told::Complete(_))));
    assert_eq!((one.chunks()[0].closing, one.chunks()[1].size), (Closing::Lost, 3));
    let cr = sent("5\nhello").lost(1).sent("\n3\nabc\n0\n\n");
    assert_eq!((cr.chunks()[0].closing, cr.chunks()[1].size), (Closing::Lost, 3));
    let two = sent("5\nhello").lost(2).sent("\nabc\n0\n\n");
    assert_eq!(two.told().last(), Some(&Told::Lost));
}

#[test]
fn the_record_keeps_as_much_payload_as_was_asked_for() {
    let mut decoder = Decoder::new(&Limits::default(), 4);
    let mut told = Vec::new();
    let stamp = Stamp::untimed(1);
    for octets in ["a\r\n012", "3456789\r\n"] {
        let bytes = Cow::Owned(octets.as_bytes().to_vec());
        let mut piece = Piece { at: 0, bytes, stamp, released: stamp, segment_start: true };
        while let Some(step) = decoder.read(&mut piece) {
            tell(&mut told, step, 0);
        }
    }
    let Some(Told::End(chunk)) = told.pop() else { panic!("{told:?}") };
    assert_eq!((chunk.payload.as_slice(), chunk.received), (&b"0123"[..], 10));
}

#[test]
fn a_size_of_sixteen_digits_takes_no_memory() {
    let wire = sent("ffffffffffffffff\r\nabc").lost(u64::MAX - 100).sent("x");
    let chunk = &wire.chunks()[0];
    assert_eq!((chunk.size, chunk.received), (u64::MAX, 4));
}

/// A body with chunks of any size and any payload, on the wire.
fn body() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<u8>)> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..6).prop_map(|payloads| {
        let mut wire = Vec::new();
        for payload in &payloads {
            wire.extend_from_slice(format!("{:x}\r\n", payload.len()).as_bytes());
            wire.extend_from_slice(payload);
            wire.extend_from_slice(b"\r\n");
        }
        wire.extend_from_slice(b"0\r\n\r\n");
        (payloads, wire)
    })
}

/// Octets that chunked bodies are made of, and some others.
fn octets() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(
        prop_oneof![Just(b'\r'), Just(b'\n'), Just(b'0'), Just(b'2'), Just(b';'), Just(b' '), any::<u8>()],
        0..60,
    )
}

proptest! {
    #[test]
    fn what_was_sent_in_chunks_is_read_in_chunks((payloads, wire) in body()) {
        let chunks: Vec<Vec<u8>> = sent(wire).chunks().into_iter().map(|chunk| chunk.payload).collect();
        prop_assert_eq!(chunks, payloads);
    }

    #[test]
    fn cuts_change_nothing_whatever_the_octets(
        first in octets(), lost in 0_u64..8, second in octets()
    ) {
        sent(first).lost(lost).sent(second).told();
    }

    #[test]
    fn a_hole_changes_no_chunk_but_those_that_it_touches((payloads, wire) in body(), hole in 0_usize..200, len in 1_usize..50) {
        let start = hole.min(wire.len());
        let end = (start + len).min(wire.len());
        let whole = sent(&wire).chunks();
        let holed = sent(&wire[..start]).lost((end - start) as u64).sent(&wire[end..]).chunks();
        prop_assert!(holed.len() <= payloads.len());
        for (chunk, model) in holed.iter().zip(&whole) {
            prop_assert_eq!((chunk.size, chunk.offset, chunk.at), (model.size, model.offset, model.at));
            let chunk_end = model.at + model.trail.iter().map(|run| run.len).sum::<u64>();
            if chunk_end <= start as u64 || model.at >= end as u64 {
                prop_assert_eq!(&chunk.payload, &model.payload);
            }
            let inside = (start as u64..end as u64).filter(|at| (chunk_end - 2 - model.size..chunk_end - 2).contains(at)).count();
            prop_assert_eq!(chunk.received, model.size - inside as u64);
        }
    }
}

#[test]
fn a_chunk_that_one_piece_holds_is_told_at_once() {
    let tokens = |parts: &[&'static str], keep: usize| {
        let mut decoder = Decoder::new(&Limits::default(), keep);
        let (mut at, mut tokens) = (0, Vec::new());
        for (part, frame) in parts.iter().zip(1..) {
            let stamp = Stamp::untimed(frame);
            let mut piece =
                Piece { at, bytes: part.as_bytes().into(), stamp, released: stamp, segment_start: true };
            at += part.len() as u64;
            while let Some(Step::Token(token)) = decoder.read(&mut piece) {
                tokens.push(token);
            }
        }
        tokens
    };
    let whole = tokens(&["5\r\nhello\r\n3;x\r\nyou\r\n2\r\n!\n\r\n0\r\n\r\n"], 2);
    let [
        ChunkToken::Whole(first @ WholeChunk { payload: b"hello", .. }),
        // Extensions are read octet by octet.
        ChunkToken::Begin { .. },
        ChunkToken::Payload { .. },
        ChunkToken::End(second),
        ChunkToken::Whole(third @ WholeChunk { payload: b"!\n", .. }),
        ChunkToken::Last(_),
    ] = &whole[..]
    else {
        panic!("{whole:?}")
    };
    assert_eq!((first.index, second.index, third.index, third.offset, third.at), (1, 2, 3, 8, 20));
    let wholes = [first, third];
    let [first, third] = wholes.map(WholeChunk::record);
    assert_eq!((&first.payload[..], &third.payload[..]), (&b"he"[..], &b"!\n"[..]));
    assert_eq!(first.trail[..], [run(10, 1)]);
    // A record is the same whatever it is written over.
    for other in [&first, &third, second] {
        for (chunk, record) in [(&wholes[0], &first), (&wholes[1], &third)] {
            let mut written = other.clone();
            chunk.record_over(&mut written);
            assert_eq!(&written, record);
        }
    }
    // Its last octet in another piece: token by token.
    let cut = tokens(&["5\r\nhello\r", "\n"], 2);
    assert!(
        matches!(cut[..], [ChunkToken::Begin { .. }, ChunkToken::Payload { .. }, ChunkToken::End(_)]),
        "{cut:?}"
    );
}

#[test]
fn a_record_that_is_written_over_keeps_little_memory() {
    let payload = vec![b'x'; 1 << 20];
    let chunk = |size: usize| WholeChunk {
        index: 1,
        offset: 0,
        at: 0,
        stamp: Stamp::untimed(1),
        size_line: b"1\r\n",
        payload: &payload[..size],
        keep: usize::MAX,
    };
    let mut record = *chunk(1 << 20).record();
    for size in [100_000, 10, 10_000, 0] {
        chunk(size).record_over(&mut record);
        assert_eq!(record, *chunk(size).record());
        assert!(record.payload.capacity() < 10_000 + size, "{} of {size}", record.payload.capacity());
    }
}
