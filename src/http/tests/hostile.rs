//! Octets that nobody would send, in any order and with any losses: every
//! body and exchange still ends once, and cuts change nothing.

use proptest::prelude::*;

use super::*;

/// Pieces that conversations are made of, and some others.
fn octets() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        GET,
        "POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /a HTTP/1.1\r\nContent-Length: 6\r\n\r\n",
        "HEAD /a HTTP/1.1\nHost : b\n\n",
        "CONNECT a:1 HTTP/1.1\r\n\r\n",
        "GET /a HTTP/1.1\r\nUpgrade: x\r\n\r\n",
        WATCH,
        EMPTY,
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "5\r\nhello\r\n",
        "a;b=\"c\"\r\n0123456789\r\n",
        "1\n2\n",
        "0\r\n\r\n",
        "0\r\nA: b\r\n\r\n",
        "0",
        "\r\n",
        "\r",
        "\n",
        "hello",
    ]);
    prop_oneof![
        6 => known.prop_map(|known| known.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..12),
    ]
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Forward), Just(Backward)]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        20 => (direction(), octets()).prop_map(|(direction, octets)| Part::Sent(direction, octets)),
        4 => (direction(), 1_u64..30).prop_map(|(direction, len)| Part::Lost(direction, len)),
        1 => (direction(), 1_u64..30).prop_map(|(direction, frame)| Part::Fin(direction, frame)),
        1 => (direction(), any::<bool>()).prop_map(|(by, lost)| Part::Reset(by, lost)),
    ]
}

fn conversation() -> impl Strategy<Value = Talk> {
    let opening = prop_oneof![4 => Just(Some(true)), 2 => Just(Some(false)), 1 => Just(None)];
    (opening, prop::collection::vec(part(), 0..14)).prop_map(|(opening, parts)| Talk {
        opening,
        parts,
        ..talk()
    })
}

/// A sound conversation, to be damaged.
fn sound() -> Vec<Part> {
    let sent = |direction, octets: &str| Part::Sent(direction, octets.as_bytes().to_vec());
    vec![
        sent(Forward, GET),
        sent(Backward, WATCH),
        sent(Backward, "5\r\nhello\r\n"),
        sent(Backward, "3;x\r\nab"),
        sent(Backward, "c\r\n5\r\nworld\r\n"),
        sent(Backward, "0\r\nX: y\r\n\r\n"),
        sent(Forward, "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        sent(Backward, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"),
        Part::Fin(Backward, 9),
        Part::Fin(Forward, 10),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_conversation_ends_and_cuts_change_nothing(conversation in conversation()) {
        conversation.told();
    }

    #[test]
    fn a_damaged_conversation_ends_and_cuts_change_nothing(
        damages in prop::collection::vec((0_usize..10, 0_usize..80, any::<u8>()), 1..4),
        lost in 0_usize..30,
        handshake in any::<bool>(),
    ) {
        let mut parts = sound();
        for (place, octet, value) in damages {
            if let Part::Sent(_, octets) = &mut parts[place] {
                let len = octets.len();
                octets[octet % len] = value;
            }
        }
        if let Some(part) = parts.get_mut(lost)
            && let Part::Sent(direction, octets) = part
        {
            *part = Part::Lost(*direction, octets.len() as u64);
        }
        Talk { opening: Some(handshake), parts, ..talk() }.told();
    }
}

#[test]
fn octets_that_look_like_places_to_join_take_linear_time() {
    let start = std::time::Instant::now();
    for octets in
        [&b"0"[..], b"1", b"5;", b"fffff\r\n", b"1\r\nx\r\n?\r\n", b"GET ", b"ab\r\n", b"3ffff0\r\n"]
    {
        let mut conversation = midstream();
        for _ in 0..20_000 {
            conversation = conversation.server(octets);
        }
        let mut long = midstream().server(octets.repeat(20_000));
        long.limits.head = usize::MAX;
        conversation.read(|_| false);
        long.read(|count| count % 1000 == 0);
    }
    // Quadratic work would take minutes.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
