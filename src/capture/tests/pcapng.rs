//! pcapng: sections, interfaces, blocks.

use super::*;

const ENHANCED: u32 = 6;

/// A section with an Ethernet interface.
fn begin(order: Order) -> Vec<u8> {
    [section(order), interface(order, 1, 0, &[])].concat()
}

/// A packet of the first interface, `n` seconds after the first.
fn nth(order: Order, n: u64, data: &[u8]) -> Vec<u8> {
    enhanced(order, 0, MICROS + n * 1_000_000, data, &[])
}

#[test]
fn both_byte_orders() {
    for order in [Little, Big] {
        let file = [begin(order), nth(order, 0, b"one"), nth(order, 1, b""), nth(order, 2, b"three")];
        let reading = read(&file.concat()).clean();
        assert_eq!(reading.data(), [b"one".as_slice(), b"", b"three"]);
        assert_eq!(reading.times()[2], "2023-08-02T13:10:04.000000Z");
        assert_eq!(reading.links, ["ETHERNET"]);
    }
}

#[test]
fn sections_have_their_own_byte_order_and_interfaces() {
    let options = option(Big, 9, &[9]);
    let file = [
        begin(Little),
        interface(Little, 276, 0, &[]),
        enhanced(Little, 1, MICROS, b"a", &[]),
        enhanced(Little, 0, MICROS, b"b", &[]),
        section(Big),
        interface(Big, 113, 0, &options),
        enhanced(Big, 0, MICROS * 1000 + 1, b"c", &[]),
        // The second interface was the other section's.
        enhanced(Big, 1, MICROS, b"lost", &[]),
        begin(Little),
        nth(Little, 0, b"d"),
    ];
    let reading = read(&file.concat());
    assert_eq!(reading.data(), [b"a", b"b", b"c", b"d"]);
    assert_eq!(reading.numbers(), [1, 2, 3, 5]);
    assert_eq!(reading.frames.iter().map(|f| f.2).collect::<Vec<_>>(), [276, 1, 113, 1]);
    assert_eq!(reading.times()[2], "2023-08-02T13:10:02.000000001Z");
    assert_eq!(reading.links, ["ETHERNET", "LINUX_SLL2", "LINUX_SLL"]);
    assert_eq!(reading.problems.len(), 1);
    assert_eq!(reading.problems[0].0, "corrupt-block");
    assert_eq!(reading.problems[0].1, Some(4));
}

/// The time of `units` at a resolution, in a section of either order.
fn time(resolution: u8, offset: Option<i64>, units: u64) -> String {
    let texts = [Little, Big].map(|order| {
        let mut options = option(order, 9, &[resolution]);
        if let Some(offset) = offset {
            options.extend(option(order, 14, &order.u64(offset as u64)));
        }
        options.extend(option(order, 0, &[]));
        let file = [section(order), interface(order, 1, 0, &options), enhanced(order, 0, units, b"x", &[])];
        let reading = read(&file.concat());
        let bad = reading.times() == [""];
        assert_eq!(reading.codes(), if bad { vec!["bad-time"] } else { vec![] });
        reading.frames[0].1.clone()
    });
    assert_eq!(texts[0], texts[1]);
    texts[0].clone()
}

#[test]
fn every_decimal_resolution() {
    assert_eq!(time(0, None, 10), "1970-01-01T00:00:10Z");
    assert_eq!(time(1, None, 105), "1970-01-01T00:00:10.5Z");
    assert_eq!(time(3, None, 1_690_981_802_123), "2023-08-02T13:10:02.123Z");
    assert_eq!(time(6, None, MICROS + 1), "2023-08-02T13:10:02.000001Z");
    assert_eq!(time(9, None, MICROS * 1000 + 1), "2023-08-02T13:10:02.000000001Z");
    assert_eq!(time(12, None, 1_000_000_000_001), "1970-01-01T00:00:01.000000000001Z");
    assert_eq!(time(19, None, u64::MAX), "1970-01-01T00:00:01.8446744073709551615Z");
    // Finer than a time keeps: cut.
    assert_eq!(time(20, None, u64::MAX), "1970-01-01T00:00:00.1844674407370955161Z");
    assert_eq!(time(127, None, u64::MAX), "1970-01-01T00:00:00.0000000000000000000Z");
}

#[test]
fn every_binary_resolution() {
    assert_eq!(time(0x80, None, 10), "1970-01-01T00:00:10.000000000Z");
    assert_eq!(time(0x81, None, 3), "1970-01-01T00:00:01.500000000Z");
    assert_eq!(time(0x8a, None, 1024 + 256), "1970-01-01T00:00:01.250000000Z");
    assert_eq!(time(0xa0, None, (5 << 32) + 1), "1970-01-01T00:00:05.000000000Z");
    assert_eq!(time(0xbf, None, u64::MAX), "1970-01-01T00:00:01.999999999Z");
    assert_eq!(time(0xc0, None, u64::MAX), "1970-01-01T00:00:00.999999999Z");
    assert_eq!(time(0xc1, None, u64::MAX), "1970-01-01T00:00:00.499999999Z");
    assert_eq!(time(0xff, None, u64::MAX), "1970-01-01T00:00:00.000000000Z");
}

#[test]
fn offsets_are_signed_seconds() {
    assert_eq!(time(6, Some(3600), MICROS), "2023-08-02T14:10:02.000000Z");
    assert_eq!(time(6, Some(-3600), MICROS), "2023-08-02T12:10:02.000000Z");
    assert_eq!(time(6, Some(-1), 500_000), "1969-12-31T23:59:59.500000Z");
}

#[test]
fn times_that_cannot_be_written_are_none() {
    assert_eq!(time(0, None, u64::MAX), "");
    assert_eq!(time(6, Some(i64::MAX), MICROS), "");
    assert_eq!(time(6, Some(i64::MIN), MICROS), "");
    assert_eq!(time(0, None, 253_402_207_199), "9999-12-30T21:59:59Z");
    assert_eq!(time(0, None, 253_402_300_800), "");
}

#[test]
fn options_behind_their_end_are_not_options() {
    let options = [option(Little, 0, &[]), option(Little, 9, &[9])].concat();
    let file = [section(Little), interface(Little, 1, 0, &options), nth(Little, 0, b"x")];
    assert_eq!(read(&file.concat()).clean().times(), ["2023-08-02T13:10:02.000000Z"]);
}

#[test]
fn packet_options_need_no_end() {
    let flags = option(Little, 2, &[1, 0, 0, 0]);
    let ended = [flags.clone(), option(Little, 0, &[])].concat();
    // An option that claims more than the block has.
    let broken = [1, 0, 0xff, 0xff];
    for options in [flags.as_slice(), &ended, &broken] {
        let file = [begin(Little), enhanced(Little, 0, MICROS, b"data", options), nth(Little, 1, b"y")];
        assert_eq!(read(&file.concat()).clean().data(), [b"data".as_slice(), b"y"]);
    }
}

#[test]
fn simple_packets_have_no_time() {
    for order in [Little, Big] {
        let simple = |wire: u32, data: &[u8]| block(order, 3, &[&order.u32(wire), data].concat());
        let file = [
            section(order),
            interface(order, 1, 8, &[]),
            simple(5, b"short"),
            simple(500, b"eight ()"),
            // Longer than the snap length, but whole.
            simple(10, b"ten octets"),
        ];
        let reading = read(&file.concat());
        assert_eq!(reading.data(), [b"short".as_slice(), b"eight ()", b"ten octets"]);
        assert_eq!(reading.times(), ["", "", ""]);
        assert_eq!(reading.frames.iter().map(|f| f.4).collect::<Vec<_>>(), [5, 500, 10]);
        assert_eq!(reading.codes(), ["cut-packets"]);
    }
}

#[test]
fn simple_packets_must_have_what_they_claim() {
    let simple = block(Little, 3, &[&100u32.to_le_bytes(), b"few".as_slice()].concat());
    let alone = [section(Little), simple.clone(), nth(Little, 0, b"x")].concat();
    let reading = read(&alone);
    assert_eq!((reading.frames.len(), reading.packets), (0, 2));
    let file = [begin(Little), simple, nth(Little, 0, b"x")].concat();
    let reading = read(&file);
    assert_eq!((reading.numbers(), reading.codes()), (vec![2], vec!["corrupt-block"]));
}

#[test]
fn obsolete_packets_are_packets() {
    for order in [Little, Big] {
        let mut body = [order.u16(1), order.u16(7)].concat();
        for word in [(MICROS >> 32) as u32, MICROS as u32, 3, 60] {
            body.extend(order.u32(word));
        }
        body.extend(b"old");
        let file = [begin(order), interface(order, 113, 0, &[]), block(order, 2, &body)];
        let reading = read(&file.concat());
        assert_eq!(reading.frames, [(1, "2023-08-02T13:10:02.000000Z".to_owned(), 113, b"old".to_vec(), 60)]);
    }
}

#[test]
fn numbers_count_what_wireshark_counts() {
    let counted = [0xbad, 0x4000_0bad, 9, 0x204, 0x216, 0x221];
    let passed = [4, 5, 10, 7, 8, 11, 0x201, 0x8000_0001, 0xffff];
    for order in [Little, Big] {
        let mut file = begin(order);
        for kind in passed.iter().chain(&counted) {
            file.extend(block(order, *kind, b"some octets of a block"));
        }
        file.extend(nth(order, 0, b"x"));
        let reading = read(&file).clean();
        assert_eq!(reading.numbers(), [counted.len() as u64 + 1]);
        assert_eq!(reading.packets, counted.len() as u64 + 1);
    }
}

#[test]
fn an_inconsistent_block_is_skipped_and_reading_goes_on() {
    let mut greedy = nth(Little, 0, &[1; 60]);
    greedy[20..24].copy_from_slice(&5000u32.to_le_bytes());
    let short = block(Little, ENHANCED, b"too short");
    let absent = enhanced(Little, 3, MICROS, b"x", &[]);
    for bad in [&greedy, &short, &absent] {
        let file = [begin(Little), nth(Little, 0, b"one"), bad.clone(), nth(Little, 1, b"three")];
        let reading = read(&file.concat());
        assert_eq!(reading.data(), [b"one".as_slice(), b"three"]);
        assert_eq!(reading.numbers(), [1, 3]);
        assert_eq!(reading.error, None);
        let offset = (file[0].len() + file[1].len()) as u64;
        assert_eq!(reading.problems, [("corrupt-block", Some(2), 1, offset)]);
    }
}

#[test]
fn an_unreadable_description_keeps_its_index() {
    let file = [
        section(Little),
        block(Little, 1, &[1, 0]),
        interface(Little, 276, 0, &[]),
        enhanced(Little, 0, MICROS, b"unknown link", &[]),
        enhanced(Little, 1, MICROS, b"x", &[]),
    ];
    let reading = read(&file.concat());
    assert_eq!((reading.data(), reading.frames[0].2), (vec![b"x".as_slice()], 276));
    assert_eq!(reading.problems, [("corrupt-block", None, 2, 28)]);
}

#[test]
fn blocks_are_larger_than_the_buffer_up_to_the_cap() {
    let big = vec![7; 3 << 20];
    let names = block(Little, 4, &vec![0; 2 << 20]);
    let file = [begin(Little), nth(Little, 0, &big), names, nth(Little, 1, b"small")].concat();
    let reading = try_read(&file).unwrap().clean();
    assert_eq!(reading.data(), [big.as_slice(), b"small"]);

    let limits = Limits { capture_block: 1 << 20, ..Limits::default() };
    let reading = try_read_from(&file[..], &limits).unwrap();
    assert!(reading.frames.is_empty());
    assert!(reading.message().contains("offset 48"), "{}", reading.message());
    assert!(reading.message().contains("more than the 1048576 believed"), "{}", reading.message());
}

/// Options take far more memory than octets once they are read.
#[test]
fn headers_with_millions_of_options_are_not_looked_into() {
    let options = option(Little, 1, &[]).repeat(300_000);
    let file = [
        section(Little),
        interface(Little, 1, 0, &options),
        interface(Little, 276, 0, &[]),
        enhanced(Little, 1, MICROS, b"x", &[]),
    ];
    let reading = try_read(&file.concat()).unwrap();
    assert_eq!((reading.data(), reading.codes()), (vec![b"x".as_slice()], vec!["corrupt-block"]));
}

#[test]
fn a_block_without_an_end_is_an_error() {
    let before = [begin(Little), nth(Little, 0, b"one")].concat();
    let mut short = nth(Little, 1, b"two");
    short[4..8].copy_from_slice(&8u32.to_le_bytes());
    let mut long = nth(Little, 1, b"two");
    long[4..8].copy_from_slice(&0x7fff_fff0u32.to_le_bytes());
    let mut uneven = nth(Little, 1, b"two");
    let last = uneven.len() - 4;
    uneven[last..].copy_from_slice(&4u32.to_le_bytes());
    let mut orderless = section(Little);
    orderless[8] = 0;
    for bad in [&short, &long, &uneven, &orderless] {
        for after in [vec![], nth(Little, 2, b"three")] {
            let reading = read(&[before.clone(), bad.clone(), after].concat());
            assert_eq!(reading.data(), [b"one"]);
            let place = format!("offset {}", before.len());
            assert!(reading.message().contains(&place), "{}", reading.message());
            assert_eq!(reading.problems, []);
        }
    }
}

#[test]
fn a_length_that_does_not_count_the_padding_is_understood() {
    // 61 octets and three of padding; the length says 93, with the padding or
    // without any.
    for padding in [0, 3] {
        let mut bad = nth(Little, 0, &[7; 61]);
        bad.truncate(8 + 20 + 61 + padding);
        bad.extend(93u32.to_le_bytes());
        bad[4..8].copy_from_slice(&93u32.to_le_bytes());
        let reading = read(&[begin(Little), bad, nth(Little, 1, b"x")].concat()).clean();
        assert_eq!(reading.data(), [[7; 61].as_slice(), b"x"]);
    }
}

#[test]
fn a_cut_file_is_read_to_its_last_whole_packet() {
    for order in [Little, Big] {
        let blocks = [
            section(order),
            interface(order, 1, 0, &[]),
            nth(order, 0, b"one"),
            block(order, 5, b"counters"),
            nth(order, 1, b"another"),
        ];
        let file = blocks.concat();
        let mut ends = vec![0];
        for block in &blocks {
            ends.push(ends[ends.len() - 1] + block.len());
        }
        for cut in 4..file.len() {
            let part = &file[..cut];
            if cut < 28 {
                let error = try_read(part).unwrap_err();
                assert!(
                    matches!(error, CaptureError::HeaderCut { have, need: 28, .. } if have == cut as u64),
                    "{error}"
                );
                continue;
            }
            let reading = read(part);
            let last = if cut >= ends[3] { Some(1) } else { None };
            assert_eq!((reading.error.as_ref(), reading.packets), (None, last.unwrap_or(0)));
            let begun = ends.iter().rfind(|end| **end <= cut).unwrap();
            let problem = ("truncated-capture", last, 1, *begun as u64);
            let expected = if ends.contains(&cut) { vec![] } else { vec![problem] };
            assert_eq!(reading.problems, expected, "cut at {cut}");
        }
    }
}

#[test]
fn octets_that_are_no_block_at_the_end_are_garbage() {
    let file = [begin(Little), nth(Little, 0, b"one")].concat();
    let tails: [&[u8]; 4] = [&[0; 64], &[0; 3], b"\n", b"Connection closed by remote host.\r\n"];
    for tail in tails {
        let reading = read(&[&file, tail].concat());
        assert_eq!(reading.error, None, "{tail:?}");
        let expected = if tail == b"\n" {
            // May be the first octet of a section.
            "truncated-capture"
        } else {
            "trailing-garbage"
        };
        assert_eq!(reading.problems, [(expected, Some(1), 1, file.len() as u64)]);
    }
    // With blocks behind them, something is damaged.
    let reading = read(&[file.clone(), vec![0; 64], nth(Little, 1, b"two")].concat());
    let next = format!("offset {}", file.len() + 64);
    assert!(reading.message().contains(&next), "{}", reading.message());
}

#[test]
fn versions_other_than_one_are_not_supported() {
    let mut other = section(Little);
    other[12] = 2;
    let error = try_read(&other).unwrap_err();
    assert!(matches!(error, CaptureError::UnsupportedVersion { major: 2, minor: 0, .. }));
    let reading = read(&[begin(Little), nth(Little, 0, b"one"), other].concat());
    assert_eq!(reading.data(), [b"one"]);
    assert!(reading.message().contains("version 2.0"), "{}", reading.message());
    // Wireshark wrote 1.2 for a while.
    let mut minor = section(Big);
    minor[15] = 2;
    let file = [minor, interface(Big, 1, 0, &[]), nth(Big, 0, b"x")].concat();
    assert_eq!(read(&file).clean().frames.len(), 1);
}
