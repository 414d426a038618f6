//! Captures with holes: what was sent whole is found, what lacks octets is
//! unverified, and nothing is invented or held against the sender.

use chunkscope::http::{BodyEnd, Side};
use proptest::prelude::*;

use crate::built::{
    Body, Close, Content, Conversation, Cuts, Delimited, Plan, Travel, build, delivered, plans, send, travels,
};
use crate::complete::{same, totals};
use crate::expected::{Captured, expect};
use crate::record::{Found, record};
use crate::segments::{self, Sent};

/// What the capture loses of a segment.
#[derive(Debug, Clone, Copy)]
enum Loss {
    All,
    /// All but so many octets at its front.
    Behind(u16),
    /// So many octets at its front.
    Front(u16),
}

fn losses() -> impl Strategy<Value = Vec<(u16, Loss)>> {
    let loss = prop_oneof![
        3 => Just(Loss::All),
        1 => (0..40_u16).prop_map(Loss::Behind),
        1 => (0..40_u16).prop_map(Loss::Front),
    ];
    prop::collection::vec((any::<u16>(), loss), 1..4)
}

/// Takes octets out of segments with payload of which `may` holds.
fn lose(sent: &mut Vec<Sent>, losses: &[(u16, Loss)], may: impl Fn(&Sent) -> bool) {
    for (place, loss) in losses {
        let mut able: Vec<&mut Sent> =
            sent.iter_mut().filter(|one| !one.payload.is_empty() && may(one)).collect();
        let len = able.len();
        let Some(one) = able.get_mut((usize::from(*place) * len) >> 16) else { return };
        match loss {
            Loss::All => one.payload.clear(),
            Loss::Behind(octets) => one.payload.truncate(usize::from(*octets)),
            Loss::Front(octets) => {
                let octets = usize::from(*octets).min(one.payload.len());
                one.payload.drain(..octets);
                one.seq = one.seq.wrapping_add(u32::try_from(octets).unwrap());
            }
        }
        // It acknowledged something: only the octets are lost, with the packet.
        sent.retain(|one| {
            one.source.port() != 8001 || !one.payload.is_empty() || one.flags.fin || one.flags.syn
        });
    }
}

/// The size lines must be such that no rest of one is another of the same chunk.
fn unambiguous(plans: Vec<Plan>) -> Vec<Plan> {
    plans
        .into_iter()
        .map(|mut plan| {
            plan.styles.iter_mut().for_each(|style| *style %= 6);
            // Its octets may look like anything.
            if plan.content == Content::Plain {
                plan.parts.retain(|part| matches!(part, crate::built::Part::Event(..)));
            }
            plan
        })
        .collect()
}

const FAILS: [&str; 4] = ["several", "part", "mixed", "invalid"];

/// Whether octets begin with a chunk by the rule for joining a stream.
fn looks_like_a_chunk(octets: &[u8]) -> bool {
    let size_line = |octets: &[u8]| {
        let digits = octets.iter().take_while(|octet| octet.is_ascii_hexdigit()).count();
        let end = octets.iter().position(|octet| *octet == b'\n')?;
        let size = usize::from_str_radix(std::str::from_utf8(&octets[..digits]).ok()?, 16).ok()?;
        matches!(octets.get(digits), Some(b'\r' | b'\n' | b';' | b' ')).then_some((size, end + 1))
    };
    let Some((size, len)) = size_line(octets).filter(|(size, _)| *size > 0) else { return false };
    let behind = octets.get(len + size..).and_then(|behind| behind.strip_prefix(b"\r\n"));
    behind.is_some_and(|behind| behind.is_empty() || size_line(behind).is_some())
}

/// What is listed was sent: at its place, with its size, its octets.
fn nothing_is_invented(what: &str, found: &Found, body: &Body, content: Content, talk: &Conversation) {
    let whole =
        Captured { frames: vec![Some(1); talk.server.len()], known: talk.server.len(), close: Close::Open };
    let truth = expect(body, content, true, &whole);
    let listed: Vec<_> = found.chunks.iter().filter(|judged| judged.side == Side::Response).collect();
    let mut base = None;
    if let Some(first) = listed.first().map(|judged| usize::try_from(judged.chunk.at).unwrap())
        && body.chunks.iter().all(|sent| sent.at != first)
        && looks_like_a_chunk(&talk.server[first..])
    {
        // By chance, as the rule has it.
        return;
    }
    for judged in &listed {
        let chunk = &judged.chunk;
        let number = body.chunks.iter().position(|sent| sent.at as u64 == chunk.at);
        let number = number.unwrap_or_else(|| panic!("{what}: no chunk was sent at {}: {chunk:?}", chunk.at));
        let sent = &body.chunks[number];
        let base = *base.get_or_insert(sent.payload.start as u64 - chunk.offset);
        same(what, chunk.size_line.as_slice(), sent.size_line.as_bytes());
        same(what, chunk.size, sent.payload.len() as u64);
        same(what, chunk.offset + base, sent.payload.start as u64);
        if chunk.received == chunk.size {
            same(what, chunk.payload.as_slice(), &body.octets[sent.payload.clone()]);
        } else {
            let verdict = judged.verdict.name();
            assert!(matches!(verdict, "unverified" | "unchecked"), "{what}: {verdict} without octets");
        }
        let (verdict, truth) = (judged.verdict.name(), truth.chunks[number].verdict);
        if FAILS.contains(&verdict) {
            assert!(
                FAILS.contains(&truth),
                "{what}: chunk {} at {} is {:?}, but was sent as {truth}",
                chunk.index,
                chunk.at,
                judged.verdict
            );
        } else if verdict == "one" && !matches!(content, Content::Sse(_)) {
            same(&format!("{what}: chunk {}", chunk.index), truth, "one");
        }
    }
    for event in &found.events {
        let base = base.expect("an event has chunks");
        let (offset, size) = (event.offset + base, event.size);
        // Behind a hole the last fields of a stream's event look like one.
        let tail = matches!(content, Content::Sse(_));
        let item = body.items.iter().find(|item| {
            item.event.is_some()
                && item.span.end as u64 == offset + size
                && (item.span.start as u64 == offset || (tail && (item.span.start as u64) < offset))
        });
        let item = item.unwrap_or_else(|| panic!("{what}: no event was sent at {offset}: {event:?}"));
        let label = item.event.as_ref().unwrap();
        if item.span.start as u64 != offset {
            continue;
        }
        same(what, &event.summary.event_type.as_deref(), &label.event_type.as_deref());
        same(what, &event.summary.name.as_deref(), &label.name.as_deref());
        same(what, &event.summary.data.as_deref(), &label.data.as_deref());
    }
}

/// Holds a body that lost octets against the contract, in every detail.
fn strictly(found: &Found, body: &Body, content: Content, capture: &Captured, talk: &Conversation) {
    let checked = content != Content::Plain;
    let expected = expect(body, content, checked, capture);
    let end = found.end.as_ref().unwrap().response_body.as_ref().unwrap();
    same("the end", end.end, expected.end);
    let listed: Vec<_> = found.chunks.iter().filter(|judged| judged.side == Side::Response).collect();
    for (judged, expected) in listed.iter().zip(&expected.chunks) {
        let chunk = &judged.chunk;
        let what = format!("chunk {}", chunk.index);
        same(&what, chunk.at, body.chunks[expected.number].at as u64);
        same(&what, chunk.received, expected.received.len() as u64);
        let payload: Vec<u8> = expected.received.iter().map(|at| talk.server[*at]).collect();
        assert!(chunk.payload == payload, "{what}: the payload is what was captured");
        let frames: Vec<u64> = chunk.frames().iter().map(|frame| frame.get()).collect();
        same(&what, &frames, &expected.frames);
        // Fields of an event stream may begin an event wherever they stand; an
        // event that isn't whole may not be recognised behind a hole.
        let lost_before = (0..chunk.at as usize).any(|at| capture.frames[at].is_none());
        let open = expected.events.is_empty() && matches!(expected.verdict, "part" | "mixed");
        let verdict = judged.verdict.name();
        let stream = matches!(content, Content::Sse(_));
        let forgiven = (lost_before && (stream || (open && verdict == "unverified")))
            || (stream && verdict == "unverified");
        // Without its line end, nobody knows whether a line's text goes on.
        let line = matches!(content, Content::Ndjson) && verdict == "unverified" && !lost_before;
        assert!(
            verdict == expected.verdict || forgiven || line,
            "{what}: found {:?}, expected {}",
            judged.verdict,
            expected.verdict
        );
    }
    same("chunks", listed.len(), expected.chunks.len());
    if !matches!(content, Content::Sse(_)) {
        let spans: Vec<_> = found.events.iter().map(|event| event.offset).collect();
        let expected: Vec<_> =
            expected.events.iter().map(|place| body.items[*place].span.start as u64).collect();
        same("events", &spans, &expected);
    }
}

/// Whether a whole chunk that a segment begins with lies behind a place, with a
/// whole size line behind it.
fn can_join(body: &Body, capture: &Captured, sent: &[Sent], from: usize) -> Option<usize> {
    let first = sent.iter().find(|one| one.source.port() == 8001 && one.flags.syn).unwrap().seq;
    let starts: Vec<usize> = sent
        .iter()
        .filter(|one| one.source.port() == 8001 && !one.payload.is_empty())
        .map(|one| one.seq.wrapping_sub(first).wrapping_sub(1) as usize)
        .collect();
    let ends = body.chunks.iter().skip(1).map(|chunk| chunk.payload_at());
    let ends = ends.chain([body.last + body.last_line.len()]);
    body.chunks
        .iter()
        .zip(ends)
        .find(|(chunk, end)| {
            chunk.at >= from
                && starts.contains(&chunk.at)
                && (chunk.at..*end).all(|at| capture.frames[at].is_some())
        })
        .map(|(chunk, _)| chunk.at)
}

/// One exchange whose body lost octets.
fn check_one(plan: &Plan, travel: &Travel, losses: &[(u16, Loss)], close: Close) {
    let plan = Plan { delimited: Delimited::Chunked, posted: None, interim: false, ..plan.clone() };
    let talk = build(&[plan], false);
    let travel = Travel { doubled: false, swapped: false, ..travel.clone() };
    let mut sent = send(&talk, &travel, talk.server.len(), close);
    let one = &talk.exchanges[0];
    // The head stays.
    let first = sent[1].seq.wrapping_add(1);
    lose(&mut sent, losses, |segment| {
        segment.source.port() == 8001 && segment.seq.wrapping_sub(first) as usize >= one.head.end
    });
    let frames = delivered(&talk, &sent);
    // One octet that was only acknowledged may be a FIN.
    let fin = close != Close::ServerFin && matches!(frames.as_slice(), [.., Some(_), None]);
    let capture = Captured { known: frames.len() - usize::from(fin), frames, close };
    let record = record(&segments::write(&sent));
    let content = one.plan.content;
    let found = &record.exchanges[&(0, 0)];
    strictly(found, &one.body, content, &capture, &talk);
    for (id, found) in &record.exchanges {
        totals(&format!("{id:?}"), found);
        nothing_is_invented(&format!("{id:?}"), found, &one.body, content, &talk);
    }
    if found.end.as_ref().unwrap().response_body.as_ref().unwrap().end == BodyEnd::Lost {
        let behind = found.chunks.last().map_or(one.head.end, |judged| {
            let at = judged.chunk.at as usize;
            let chunk = one.body.chunks.iter().find(|chunk| chunk.at == at).unwrap();
            chunk.payload_end()
        });
        if let Some(place) = can_join(&one.body, &capture, &sent, behind) {
            let joined = record.exchanges.get(&(0, 1)).map(|found| found.chunks[0].chunk.at);
            assert!(joined.is_some_and(|at| at <= place as u64), "joined at {joined:?}, not at {place}");
        }
    }
}

proptest! {
    #![proptest_config(crate::config(2000))]

    #[test]
    fn a_body_that_lost_octets_is_read_as_the_contract_says(
        plans in plans(1).prop_map(unambiguous),
        travel in travels(),
        losses in losses(),
        close in prop::sample::select(vec![
            Close::ServerFin, Close::ClientFin, Close::ServerRst, Close::ClientRst, Close::Open,
        ]),
    ) {
        check_one(&plans[0], &travel, &losses, close);
    }

    #[test]
    fn whatever_is_lost_nothing_is_invented(
        plans in plans(3).prop_map(unambiguous),
        pipelined: bool,
        travel in travels(),
        losses in losses(),
        handshake: bool,
    ) {
        let talk = build(&plans, pipelined);
        let mut sent = send(&talk, &travel, talk.server.len(), Close::ServerFin);
        lose(&mut sent, &losses, |_| true);
        if !handshake {
            sent.remove(0);
        }
        let record = record(&segments::write(&sent));
        for (id, found) in &record.exchanges {
            totals(&format!("{id:?}"), found);
            let Some(chunk) = found.chunks.iter().find(|judged| judged.side == Side::Response) else { continue };
            let at = chunk.chunk.at as usize;
            let sender = talk.exchanges.iter().find(|one| (one.head.end..one.body.end).contains(&at));
            let Some(sender) = sender else {
                assert!(looks_like_a_chunk(&talk.server[at..]), "a chunk at {at}");
                continue;
            };
            nothing_is_invented(&format!("{id:?}"), found, &sender.body, sender.plan.content, &talk);
        }
    }
}

/// Events of which each is a chunk, all in segments of their own.
#[test]
fn each_chunk_lost_alone_leaves_all_others_judged() {
    let event = crate::built::Part::Event(20, 20);
    let plan = Plan {
        content: Content::Watch,
        parts: vec![event; 6],
        cuts: Cuts::AtEvents,
        styles: vec![0],
        trailers: 0,
        delimited: Delimited::Chunked,
        posted: None,
        interim: false,
        mark: false,
    };
    for size in [1, 7, 50, 1000] {
        let travel = Travel { sizes: vec![size], eager: false, doubled: false, swapped: false };
        for place in (0..u16::MAX).step_by(500) {
            check_one(&plan, &travel, &[(place, Loss::All)], Close::ServerFin);
        }
    }
}
