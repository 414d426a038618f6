//! What is odd about the octets themselves.

use crate::talk::*;

/// The sequence numbers wrap at each octet of a chunk in turn: of its size
/// line, its payload and its CRLF, at a segment's edge and inside a segment.
#[test]
fn sequence_numbers_may_wrap_anywhere_in_a_chunk() {
    let octets = chunk(event("a"));
    for whole in [true, false] {
        for place in 0..=octets.len() {
            let mut talk = watch();
            if whole {
                talk = talk.server(&octets);
            } else {
                let (front, rest) = octets.split_at(place);
                talk =
                    [front, rest].iter().filter(|part| !part.is_empty()).fold(talk, |t, part| t.server(part));
            }
            talk = talk.chunk(event("b")).server(LAST).client_acks().server_fin();
            // The chunk's first segment is the sixth.
            let shift = 0_u32.wrapping_sub(talk.sent[5].seq).wrapping_sub(u32::try_from(place).unwrap());
            for one in &mut talk.sent {
                if one.source.port() == 8001 {
                    one.seq = one.seq.wrapping_add(shift);
                } else {
                    one.ack = one.ack.map(|ack| ack.wrapping_add(shift));
                }
            }
            let seen = talk.report();
            let exchange = &seen.exchanges()[0];
            assert_eq!(exchange.verdicts(), ["one", "one"], "at {place}");
            assert_eq!(exchange.end(), "complete", "at {place}");
            assert!(seen.problems().is_empty(), "at {place}: {:?}", seen.problems());
        }
    }
}

/// Lines that end with CR alone (WHATWG HTML §9.2.5): an event ends at the
/// second CR, and an LF that opens the next chunk belongs to the first's CRLF.
#[test]
fn event_streams_may_end_their_lines_with_cr() {
    let stream = stream_of("text/event-stream")
        .chunk("event: tick\rdata: 1\r\r")
        .chunk(": keep-alive\r\r")
        .chunk("data: 2\r\rdata: 3\r\r")
        .chunk("data: 4\rdata: 5\rid: 7\r\r")
        .chunk("data: 6\r")
        .chunk("\r")
        .server(LAST)
        .client_acks();
    let exchange = stream.exchange();
    assert_eq!(exchange["expect"], "sse");
    assert_eq!(exchange.verdicts(), ["one", "unchecked", "several", "one", "part", "part"]);
    let member = |member: &str| -> Vec<String> {
        exchange.events().iter().map(|event| event[member].as_str().unwrap_or("null").to_owned()).collect()
    };
    assert_eq!(member("data"), ["1", "2", "3", "4\n5", "6"]);
    assert_eq!(member("type"), ["tick", "message", "message", "message", "message"]);
}
