//! The reassembler held against a model that is too simple to be wrong: a map
//! from each octet's offset to the packet that brought it first.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::conversation::{Packet, Talk, talk_from, tell};
use super::flow::Flow;
use super::half::Outlet;
use super::*;
use crate::limits::Limits;
use crate::units::FrameNo;

/// What one direction has brought so far.
#[derive(Default)]
struct Side {
    /// Offset → octet and frame of its first copy.
    first: BTreeMap<u64, (u8, FrameNo)>,
    /// Offset → what the octet needs of the other direction: the least that
    /// one of its packets acknowledges.
    cause: BTreeMap<u64, u64>,
    /// Offsets at which a payload begins, with the frame.
    starts: BTreeSet<(u64, FrameNo)>,
    /// What came out.
    out: Vec<u8>,
    delivered: u64,
    gaps: u64,
    released: u64,
    fin: bool,
    fin_at: Option<u64>,
}

struct Model {
    sides: [Side; 2],
    /// The sequence numbers of offset 0.
    base: [u32; 2],
    conflicts: usize,
    closed: Option<Close>,
    /// Whether no item may come before its cause.
    strict: bool,
}

const fn index(direction: Direction) -> usize {
    match direction {
        Direction::Forward => 0,
        Direction::Backward => 1,
    }
}

impl Model {
    fn new(base: [u32; 2], strict: bool) -> Self {
        Self { sides: [Side::default(), Side::default()], base, conflicts: 0, closed: None, strict }
    }

    /// The offset that a sequence number means: of those that agree with it
    /// modulo 2^32, the one next to where the direction has come to
    /// (RFC 9293 §3.4). `None` where that is farther off than a window can be
    /// (RFC 7323 §2.3).
    fn offset(&self, who: usize, seq: u32) -> Option<i64> {
        let reached = self.sides[who].delivered as i64;
        let number = i64::from(seq.wrapping_sub(self.base[who]));
        let turns = (reached - number + (1 << 31)) >> 32;
        let offset = number + (turns << 32);
        ((offset - reached).abs() <= 1 << 30).then_some(offset)
    }

    fn push(&mut self, who: usize, packet: &Packet, frame: u64) {
        if packet.flags.syn {
            return;
        }
        let ack = packet.ack.and_then(|ack| self.offset(1 - who, ack));
        let ack = ack.map_or(0, |ack| u64::try_from(ack).unwrap_or(0));
        let Some(from) = self.offset(who, packet.seq) else { return };
        // What would lie before the first octet is of nothing.
        let before = usize::try_from(-from).unwrap_or(0);
        let Some(octets) = packet.payload.get(before..) else { return };
        let at = u64::try_from(from).unwrap_or(0);
        let side = &mut self.sides[who];
        if packet.flags.fin {
            side.fin_at = Some(at + octets.len() as u64);
        }
        if !octets.is_empty() && before == 0 {
            side.starts.insert((at, FrameNo::new(frame)));
        }
        for (offset, &octet) in (at..).zip(octets) {
            if offset >= side.delivered {
                side.first.entry(offset).or_insert((octet, FrameNo::new(frame)));
                let cause = side.cause.entry(offset).or_insert(ack);
                *cause = ack.min(*cause);
            }
        }
    }

    fn hear(&mut self, now: u64, item: &StreamItem<'_>) {
        assert!(self.closed.is_none(), "{item:?} after the close");
        match item {
            StreamItem::Data(direction, piece) => {
                let other = &self.sides[1 - index(*direction)];
                let reached = other.delivered + u64::from(other.fin);
                let side = &mut self.sides[index(*direction)];
                assert!(!side.fin, "octets behind the FIN");
                assert_eq!(piece.at, side.delivered, "octets are next in order");
                assert!(!piece.bytes.is_empty());
                let frame = piece.stamp.frame;
                for (offset, &octet) in (piece.at..).zip(piece.bytes.iter()) {
                    assert_eq!(side.first.get(&offset), Some(&(octet, frame)), "offset {offset}");
                    if self.strict {
                        assert!(side.cause[&offset] <= reached, "offset {offset} before its cause");
                    }
                }
                assert_eq!(piece.segment_start, side.starts.contains(&(piece.at, frame)));
                side.released = side.released.max(frame.get());
                assert!(piece.released.frame.get() <= now);
                if side.gaps == 0 {
                    assert_eq!(piece.released.frame.get(), side.released, "when it could be read");
                }
                side.delivered += piece.bytes.len() as u64;
                side.out.extend_from_slice(&piece.bytes);
            }
            StreamItem::Gap(direction, gap) => {
                let side = &mut self.sides[index(*direction)];
                assert!(!side.fin, "a gap behind the FIN");
                assert_eq!(gap.at, side.delivered);
                assert!(gap.len > 0);
                let here = side.first.range(gap.at..gap.at + gap.len).next();
                assert_eq!(here, None, "given up though it was captured");
                side.delivered += gap.len;
                side.gaps += gap.len;
            }
            StreamItem::Fin(direction, _) => {
                let side = &mut self.sides[index(*direction)];
                assert!(!side.fin, "one FIN");
                assert_eq!(side.fin_at, Some(side.delivered), "the FIN comes last");
                side.fin = true;
            }
            StreamItem::Conflict(..) => self.conflicts += 1,
            StreamItem::Closed(close) => self.closed = Some(*close),
            StreamItem::Open(_) | StreamItem::Reset { .. } => {}
        }
    }
}

/// Runs a capture through both; the client is 10.0.0.1.
fn run(packets: &[Packet], base: [u32; 2], strict: bool, limits: &Limits) -> Model {
    let mut model = Model::new(base, strict);
    let mut reassembler = Reassembler::new(limits);
    for (frame, packet) in (1..).zip(packets) {
        let who = usize::from(packet.source.port() == 80);
        model.push(who, packet, frame);
        reassembler.push(&packet.segment(frame), &mut |_, item: StreamItem<'_>| model.hear(frame, &item));
    }
    reassembler.finish(&mut |_, item: StreamItem<'_>| model.hear(u64::MAX, &item));
    assert_eq!(reassembler.held(), 0);
    assert!(model.closed.is_some());
    model
}

/// One message of a conversation: who sends how much, and where it is cut.
#[derive(Debug, Clone)]
struct Message {
    server: bool,
    cuts: Vec<u8>,
    acked: bool,
}

/// What befalls a packet on its way into the capture.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Fine,
    Again,
    /// A copy that begins earlier and ends later within its message.
    Overlap(u8, u8),
    Early(u8),
    Late(u8),
    Lost,
}

fn message() -> impl Strategy<Value = Message> {
    (any::<bool>(), prop::collection::vec(1u8..9, 1..6), any::<bool>())
        .prop_map(|(server, cuts, acked)| Message { server, cuts, acked })
}

fn bases() -> impl Strategy<Value = (u32, u32)> {
    // Near the turn of the counter, or anywhere.
    let base = || prop_oneof![(0u32..40).prop_map(|below| 20u32.wrapping_sub(below)), any::<u32>()];
    (base(), base())
}

/// The octet that a side sends at an offset.
fn octet(who: usize, offset: u64) -> u8 {
    (offset.wrapping_mul(31).wrapping_add(offset / 7) as u8) ^ (who as u8 * 0x55)
}

fn octets(who: usize, at: u64, len: u64) -> Vec<u8> {
    (at..at + len).map(|offset| octet(who, offset)).collect()
}

/// The conversation as it was on the wire, whole, and how much each side sent.
fn converse(base: (u32, u32), messages: &[Message], fins: bool) -> (Talk, [u64; 2]) {
    let mut talk = talk_from(base.0.wrapping_sub(1), base.1.wrapping_sub(1)).handshake();
    let mut sent = [0u64; 2];
    for message in messages {
        let who = usize::from(message.server);
        for &len in &message.cuts {
            let payload = octets(who, sent[who], len.into());
            sent[who] += u64::from(len);
            talk = if who == 0 { talk.client(&payload) } else { talk.server(&payload) };
        }
        if message.acked {
            talk = if who == 0 { talk.server(b"") } else { talk.client(b"") };
        }
    }
    if fins {
        talk = talk.client_fin().server_fin().client(b"");
    }
    (talk, sent)
}

/// The conversation as it was captured.
fn capture(talk: &Talk, base: (u32, u32), sent: [u64; 2], fates: &[Fate]) -> Vec<Packet> {
    let base = [base.0, base.1];
    // Each packet with its place; packets are sorted by it at the end.
    let mut placed: Vec<(i64, Packet)> = Vec::new();
    for (i, packet) in talk.packets.iter().enumerate() {
        let place = 10 * i as i64;
        let fate = if packet.flags.syn || i < 3 { Fate::Fine } else { fates[i % fates.len()] };
        let who = usize::from(packet.source.port() == 80);
        match fate {
            Fate::Fine => placed.push((place, packet.clone())),
            Fate::Again => placed.extend([(place, packet.clone()), (place + 1, packet.clone())]),
            Fate::Overlap(before, behind) if !packet.payload.is_empty() => {
                let at = u64::from(packet.seq.wrapping_sub(base[who]));
                let from = at.saturating_sub(before.into());
                let to = (at + packet.payload.len() as u64 + u64::from(behind)).min(sent[who]);
                let mut wide = packet.clone();
                wide.seq = packet.seq.wrapping_sub((at - from) as u32);
                wide.payload = octets(who, from, to - from);
                placed.push((place, wide));
                placed.push((place + 15, packet.clone()));
            }
            Fate::Overlap(..) => placed.push((place, packet.clone())),
            Fate::Early(by) => placed.push((place - 10 * i64::from(by) - 5, packet.clone())),
            Fate::Late(by) => placed.push((place + 10 * i64::from(by) + 5, packet.clone())),
            Fate::Lost => {}
        }
    }
    // The handshake stays in front, or offset 0 couldn't be known.
    for (i, (place, _)) in placed.iter_mut().enumerate() {
        *place = if i < 3 { i64::MIN + i as i64 } else { *place };
    }
    placed.sort_by_key(|&(place, _)| place);
    placed.into_iter().map(|(_, packet)| packet).collect()
}

fn harmless() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Fine),
        1 => Just(Fate::Again),
        1 => (0u8..20, 0u8..9).prop_map(|(before, behind)| Fate::Overlap(before, behind)),
        1 => (0u8..8).prop_map(Fate::Early),
        1 => (0u8..8).prop_map(Fate::Late),
    ]
}

fn harmful() -> impl Strategy<Value = Fate> {
    prop_oneof![3 => harmless(), 1 => Just(Fate::Lost)]
}

/// A segment of anything.
#[derive(Debug, Clone)]
struct Anything {
    who: bool,
    seq: i32,
    ack: Option<i32>,
    len: u8,
    cut: u8,
    flags: u8,
    salt: u8,
    millis: u16,
}

fn anything() -> impl Strategy<Value = Anything> {
    let number = || prop_oneof![6 => 0i32..120, 1 => any::<i32>()];
    (
        any::<bool>(),
        number(),
        prop::option::weighted(0.8, number()),
        0u8..30,
        prop_oneof![5 => Just(0u8), 1 => 0u8..9],
        prop_oneof![12 => Just(0u8), 1 => 0u8..8],
        prop_oneof![5 => Just(0u8), 1 => 0u8..3],
        0u16..300,
    )
        .prop_map(|(who, seq, ack, len, cut, flags, salt, millis)| Anything {
            who,
            seq,
            ack,
            len,
            cut,
            flags,
            salt,
            millis,
        })
}

impl Anything {
    fn packet(&self, base: [u32; 2], millis: u64) -> Packet {
        let who = usize::from(self.who);
        let mut talk = talk_from(0, 0);
        talk = if who == 0 { talk.client(b"") } else { talk.server(b"") };
        let mut packet = talk.packets.remove(0);
        packet.seq = base[who].wrapping_add_signed(self.seq);
        packet.ack = self.ack.map(|ack| base[1 - who].wrapping_add_signed(ack));
        let offset = u64::from(self.seq.cast_unsigned());
        packet.payload = octets(who, offset, self.len.into());
        packet.payload.iter_mut().for_each(|octet| *octet = octet.wrapping_add(self.salt));
        packet.cut = self.cut.into();
        packet.flags.syn = self.flags & 1 != 0;
        packet.flags.fin = self.flags & 2 != 0;
        packet.flags.rst = self.flags & 4 != 0;
        packet.millis = millis;
        packet
    }
}

/// What a connection says of packets, and what it holds back and waits for
/// after each; with every packet considered, or those passed that may be.
fn hear(packets: &[Packet], limits: &Limits, considered: bool) -> Vec<String> {
    let mut heard = Vec::new();
    let (mut flow, mut held) = (Flow::new(), 0);
    let mut ended = false;
    for (frame, packet) in (1..).zip(packets) {
        if ended {
            break;
        }
        let segment = packet.segment(frame);
        let direction =
            if packet.source == packets[0].source { Direction::Forward } else { Direction::Backward };
        let stream = StreamId(0);
        let mut sink = |stream: StreamId, item: StreamItem<'_>| heard.push(tell(stream, &item));
        let mut out = Outlet { sink: &mut sink, stream, now: &segment.stamp, limits, held: &mut held };
        ended = if considered {
            flow.push_considered(&segment, direction, &mut out)
        } else {
            flow.push(&segment, direction, &mut out)
        };
        if ended || frame as usize == packets.len() {
            if considered {
                flow.close_unsettled(Close::CaptureEnd, &mut out);
            } else {
                flow.close(Close::CaptureEnd, &mut out);
            }
        }
        heard.push(format!("{held} held, waits: {}", flow.starts_to_wait()));
    }
    heard
}

/// The model took a sequence number for an offset, though the receiver had
/// acknowledged nearly 4 GiB that no packet brought: an octet that comes then
/// belongs behind those (RFC 9293 §3.4), not at the beginning.
#[test]
fn an_octet_behind_acknowledgements_of_four_gib_is_not_the_first_one() {
    let base = 20_u32;
    let mut packets = talk_from(base - 1, base - 1).handshake().packets;
    // Each step is within reach of the one before.
    for acked in [556_528_892, 1_413_408_743, -1_807_816_729, -734_074_905] {
        // Patience ends with the next packet.
        packets.push(packet_of_anything(false, Some(acked), 0, base));
        packets.push(packet_of_anything(false, None, 0, base));
    }
    packets.push(packet_of_anything(true, None, 1, base));
    let limits = Limits { gap_patience_packets: 0, ..Limits::default() };
    let model = run(&packets, [base; 2], false, &limits);
    let server = &model.sides[1];
    assert_eq!(server.out, octets(1, 0, 1));
    assert_eq!((server.gaps, server.delivered), (1 << 32, (1 << 32) + 1));
}

fn packet_of_anything(who: bool, ack: Option<i32>, len: u8, base: u32) -> Packet {
    let anything = Anything { who, seq: 0, ack, len, cut: 0, flags: 0, salt: 0, millis: 0 };
    anything.packet([base; 2], 0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Cut, doubled, overlapping and permuted, also across the directions:
    /// everything arrives, in order, after its cause, with its packets.
    #[test]
    fn what_was_captured_in_any_order_arrives_in_order(
        base in bases(),
        messages in prop::collection::vec(message(), 0..8),
        fates in prop::collection::vec(harmless(), 1..40),
    ) {
        let (talk, sent) = converse(base, &messages, true);
        let packets = capture(&talk, base, sent, &fates);
        let model = run(&packets, [base.0, base.1], true, &Limits::default());
        for (who, (side, sent)) in model.sides.iter().zip(sent).enumerate() {
            prop_assert_eq!(&side.out, &octets(who, 0, sent));
            prop_assert_eq!(side.gaps, 0);
            prop_assert!(side.fin);
        }
        prop_assert_eq!(model.conflicts, 0);
        prop_assert_eq!(model.closed, Some(Close::Ended));
    }

    /// With losses, whatever the patience: what was captured arrives unless it
    /// came too late, what wasn't is a gap, and no octet is made up.
    #[test]
    fn what_was_lost_is_a_gap(
        base in bases(),
        messages in prop::collection::vec(message(), 0..8),
        fates in prop::collection::vec(harmful(), 1..40),
        patience in prop_oneof![Just(64u32), 0u32..8],
        budget in prop_oneof![Just(1usize << 20), 0usize..1000],
    ) {
        let (talk, sent) = converse(base, &messages, false);
        let packets = capture(&talk, base, sent, &fates);
        let limits = Limits { gap_patience_packets: patience, out_of_order_stream: budget, ..Limits::default() };
        let model = run(&packets, [base.0, base.1], false, &limits);
        prop_assert_eq!(model.conflicts, 0);
        for side in &model.sides {
            prop_assert_eq!(side.out.len() as u64 + side.gaps, side.delivered);
            // All that was captured in time came out.
            let last = side.first.last_key_value().map_or(0, |(&offset, _)| offset + 1);
            prop_assert!(side.delivered >= last);
            if patience == 64 && budget > 1000 {
                let captured = side.first.len() as u64;
                prop_assert_eq!(side.out.len() as u64, captured);
            }
        }
    }

    /// Segments without sense: the model still agrees on what comes out while
    /// the handshake fixes the offsets and nothing is cut or ends.
    #[test]
    fn random_segments_agree_with_the_model(
        base in bases(),
        segments in prop::collection::vec(anything(), 1..60),
        patience in prop_oneof![Just(64u32), 0u32..8],
        budget in prop_oneof![Just(1usize << 20), 0usize..1000],
    ) {
        let talk = talk_from(base.0.wrapping_sub(1), base.1.wrapping_sub(1)).handshake();
        let mut packets = talk.packets;
        let mut millis = 0;
        for segment in &segments {
            millis += u64::from(segment.millis);
            let mut packet = segment.packet([base.0, base.1], millis);
            (packet.cut, packet.flags) = (0, crate::packet::Flags::default());
            if segment.seq.unsigned_abs() < 1000 {
                packets.push(packet);
            }
        }
        let limits = Limits { gap_patience_packets: patience, out_of_order_stream: budget, ..Limits::default() };
        run(&packets, [base.0, base.1], false, &limits);
    }

    /// A packet that is passed is one that nothing would have come of but what
    /// came of it: in captures with losses and disorder, and of anything.
    #[test]
    fn what_is_passed_needed_no_consideration(
        base in bases(),
        skipped in 0usize..6,
        fins in any::<bool>(),
        messages in prop::collection::vec(message(), 0..8),
        fates in prop::collection::vec(harmful(), 1..40),
        segments in prop::collection::vec(anything(), 0..8),
        patience in prop_oneof![Just(64u32), 0u32..8],
        budget in prop_oneof![Just(1usize << 20), 0usize..1000],
    ) {
        let (talk, sent) = converse(base, &messages, fins);
        let mut packets = capture(&talk, base, sent, &fates);
        packets.drain(..skipped.min(packets.len()));
        let mut millis = 0;
        for segment in &segments {
            millis += u64::from(segment.millis);
            // From where the talk has come to.
            let base = [base.0.wrapping_add(sent[0] as u32), base.1.wrapping_add(sent[1] as u32)];
            packets.push(segment.packet(base, millis));
        }
        let limits = Limits { gap_patience_packets: patience, out_of_order_stream: budget, ..Limits::default() };
        prop_assert_eq!(hear(&packets, &limits, false), hear(&packets, &limits, true));
    }

    /// Anything at all: no panic, items in order, nothing after a close,
    /// nothing held back for ever.
    #[test]
    fn anything_at_all_is_taken(
        base in bases(),
        handshake in any::<bool>(),
        segments in prop::collection::vec(anything(), 1..60),
        patience in prop_oneof![Just(64u32), 0u32..8],
        budget in prop_oneof![Just(1usize << 20), 0usize..1000],
        open_streams in 0usize..3,
    ) {
        let mut packets = Vec::new();
        if handshake {
            packets = talk_from(base.0.wrapping_sub(1), base.1.wrapping_sub(1)).handshake().packets;
        }
        let mut millis = 0;
        for segment in &segments {
            millis += u64::from(segment.millis);
            packets.push(segment.packet([base.0, base.1], millis));
            packets.last_mut().unwrap().source.set_port(if segment.who { 80 } else { 40000 });
        }
        let limits = Limits {
            gap_patience_packets: patience,
            out_of_order_stream: budget,
            out_of_order_total: 2 * budget,
            open_streams,
            ..Limits::default()
        };
        let mut reassembler = Reassembler::new(&limits);
        let mut streams: BTreeMap<StreamId, ([u64; 2], bool)> = BTreeMap::new();
        let mut sink = |stream: StreamId, item: StreamItem<'_>| {
            if let StreamItem::Open(_) = item {
                assert!(streams.insert(stream, ([0; 2], false)).is_none(), "opened once");
            }
            let (delivered, closed) = streams.get_mut(&stream).unwrap();
            assert!(!*closed, "{item:?} after the close");
            match item {
                StreamItem::Data(direction, piece) => {
                    assert_eq!(piece.at, delivered[index(direction)]);
                    assert!(piece.released.frame >= piece.stamp.frame);
                    delivered[index(direction)] += piece.bytes.len() as u64;
                }
                StreamItem::Gap(direction, gap) => {
                    assert_eq!(gap.at, delivered[index(direction)]);
                    delivered[index(direction)] += gap.len;
                }
                StreamItem::Closed(_) => *closed = true,
                _ => {}
            }
        };
        for (frame, packet) in (1..).zip(&packets) {
            reassembler.push(&packet.segment(frame), &mut sink);
        }
        reassembler.finish(&mut sink);
        assert_eq!(reassembler.held(), 0);
        assert_eq!(reassembler.streams(), streams.len() as u64);
        assert!(streams.values().all(|(_, closed)| *closed));
    }
}
