//! pcap in all its variants.

use super::*;
use crate::capture::Looks;

const NANOS: u32 = 0xa1b2_3c4d;
const MICRO: u32 = 0xa1b2_c3d4;
const MODIFIED: u32 = 0xa1b2_cd34;

/// Three records in this layout.
fn three(order: Order, more: &[u8]) -> Vec<u8> {
    [b"first packet!".as_slice(), b"", b"third"]
        .iter()
        .zip(0..)
        .flat_map(|(data, n)| record(order, (START + n, 123_456), more, data, data.len() as u32))
        .collect()
}

fn assert_three(file: &[u8], fraction: &str) {
    let reading = read(file).clean();
    assert_eq!(reading.data(), [b"first packet!".as_slice(), b"", b"third"]);
    assert_eq!(reading.numbers(), [1, 2, 3]);
    assert_eq!(reading.times(), [2, 3, 4].map(|second| format!("2023-08-02T13:10:0{second}.{fraction}Z")));
}

#[test]
fn both_byte_orders_and_resolutions() {
    for order in [Little, Big] {
        let file = [header(order, MICRO, (2, 4), 1), three(order, &[])].concat();
        assert_three(&file, "123456");
        let file = [header(order, NANOS, (2, 4), 1), three(order, &[])].concat();
        assert_three(&file, "000123456");
    }
}

#[test]
fn modified_records_have_longer_headers() {
    for order in [Little, Big] {
        let file = [header(order, MODIFIED, (2, 4), 1), three(order, &[0, 0, 0, 2, 8, 0, 0, 0])];
        assert_three(&file.concat(), "123456");
    }
}

/// Layouts that share a magic number with another are told by their fit. The
/// buffer must hold some records for that, so these aren't fed in drops.
#[test]
fn patched_layouts_are_told_by_their_fit() {
    let layouts: [(u32, &[u8]); 3] = [
        // Nokia
        (MICRO, &[0; 4]),
        // Red Hat 6.1: the modified layout under the common magic number
        (MICRO, &[2, 0, 0, 0, 8, 0, 0, 0]),
        // SuSE 6.3: the processors too
        (MODIFIED, &[2, 0, 0, 0, 8, 0, 0, 0, 1, 2, 0, 0]),
    ];
    for (magic, more) in layouts {
        let packets = [b"a packet of thirty-one octets..".as_slice(); 4];
        let mut file = header(Little, magic, (2, 4), 1);
        for (n, data) in (0..).zip(packets) {
            file.extend(record(Little, (START + n, 5), more, data, 31));
        }
        let reading = try_read(&file).unwrap().clean();
        assert_eq!(reading.data(), packets, "{magic:x} {more:?}");
    }
}

#[test]
fn aix_writes_interface_types_and_nanoseconds() {
    for (kind, link) in [(6, "ETHERNET"), (9, "IEEE802_5"), (15, "FDDI"), (24, "NULL")] {
        let file = [header(Big, MICRO, (2, 2), kind), three(Big, &[])].concat();
        assert_three(&file, "000123456");
        assert_eq!(read(&file).links, [link]);
    }
    // Any other type of that version is no AIX.
    let file = [header(Big, MICRO, (2, 2), 1), three(Big, &[])].concat();
    assert_three(&file, "123456");
}

#[test]
fn ixia_has_a_longer_file_header() {
    for magic in [0x1c00_01ac, 0x1c00_01ab] {
        for order in [Little, Big] {
            let size = order.u32(three(order, &[]).len() as u32).to_vec();
            assert_three(&[header(order, magic, (2, 4), 1), size, three(order, &[])].concat(), "123456");
        }
    }
}

#[test]
fn old_versions_give_the_lengths_in_either_order() {
    for version in [(2, 2), (2, 3), (543, 0)] {
        let mut file = header(Little, MICRO, version, 1);
        for lengths in [[4, 60], [60, 4]] {
            for word in [START, 1].into_iter().chain(lengths) {
                file.extend(word.to_le_bytes());
            }
            file.extend(b"four");
        }
        let reading = read(&file);
        assert_eq!(reading.data(), [b"four", b"four"]);
        assert!(reading.frames.iter().all(|frame| frame.4 == 60));
    }
}

#[test]
fn link_types_lose_their_frame_check_bits() {
    let file = [header(Little, MICRO, (2, 4), 0x2400_0001), packet(0, b"x")].concat();
    let reading = read(&file).clean();
    assert_eq!((reading.links, reading.frames[0].2), (vec!["ETHERNET".into()], 1));
}

#[test]
fn packets_may_be_longer_than_the_snap_length() {
    let mut file = plain_header();
    file[16..20].copy_from_slice(&10u32.to_le_bytes());
    file.extend(packet(0, &[7; 5000]));
    file.extend(packet(1, &[8; 11]));
    // Offloaded beyond every usual snap length.
    file.extend(packet(2, &[9; 300_000]));
    file.extend(packet(3, b"last"));
    let reading = read(&file).clean();
    assert_eq!(reading.frames.iter().map(|f| f.3.len()).collect::<Vec<_>>(), [5000, 11, 300_000, 4]);
}

#[test]
fn packets_cut_by_the_snap_length_are_counted() {
    let mut file = plain(&[b"whole"]);
    file.extend(record(Little, (START, 1), &[], b"cut", 1514));
    file.extend(record(Little, (START, 2), &[], b"cut", 60));
    let reading = read(&file);
    assert_eq!(reading.frames.iter().map(|f| f.4).collect::<Vec<_>>(), [5, 1514, 60]);
    assert_eq!(reading.problems.len(), 1);
    assert_eq!(reading.problems[0].0, "cut-packets");
    assert_eq!((reading.problems[0].1, reading.problems[0].2), (Some(2), 2));
}

#[test]
fn a_wire_length_below_the_captured_one_is_raised() {
    let file = [plain_header(), record(Little, (START, 1), &[], b"sixteen octets..", 10)].concat();
    assert_eq!(read(&file).clean().frames[0].4, 16);
}

#[test]
fn times_reach_2106_and_fractions_are_carried() {
    let mut file = plain_header();
    file.extend(record(Little, (u32::MAX, 999_999), &[], b"a", 1));
    file.extend(record(Little, (START, 2_500_000), &[], b"b", 1));
    let reading = read(&file).clean();
    assert_eq!(reading.times(), ["2106-02-07T06:28:15.999999Z", "2023-08-02T13:10:04.500000Z"]);
}

#[test]
fn a_cut_file_is_read_to_its_last_whole_packet() {
    let packets: [&[u8]; 3] = [b"first packet", b"second one", b"the third"];
    let file = plain(&packets);
    let mut ends = vec![24];
    for data in packets {
        ends.push(ends[ends.len() - 1] + 16 + data.len());
    }
    for cut in 0..file.len() {
        let part = &file[..cut];
        match cut {
            0 => assert!(matches!(try_read(part), Err(CaptureError::Empty))),
            1..4 => assert!(matches!(try_read(part), Err(CaptureError::NotACapture { .. }))),
            4..24 => assert!(matches!(
                try_read(part),
                Err(CaptureError::HeaderCut { have, need: 24, .. }) if have == cut as u64
            )),
            _ => {
                let reading = read(part);
                let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
                assert_eq!(reading.error, None);
                assert_eq!(reading.data(), packets[..whole], "cut at {cut}");
                let last = (whole > 0).then_some(whole as u64);
                let problem = ("truncated-capture", last, 1, ends[whole] as u64);
                let expected = if ends.contains(&cut) { vec![] } else { vec![problem] };
                assert_eq!(reading.problems, expected, "cut at {cut}");
            }
        }
    }
}

#[test]
fn octets_that_are_no_record_at_the_end_are_garbage() {
    let file = plain(&[b"one", b"two"]);
    let tails: [&[u8]; 6] = [
        &[0; 64],
        &[0; 3],
        &[0; 16],
        &[0xff; 100],
        b"hello",
        b"Connection to server.example closed by remote host.\r\n",
    ];
    for tail in tails {
        let reading = read(&[&file, tail].concat());
        assert_eq!(reading.data(), [b"one", b"two"], "{tail:?}");
        assert_eq!(reading.error, None);
        assert_eq!(reading.problems, [("trailing-garbage", Some(2), 1, file.len() as u64)], "{tail:?}");
    }
}

#[test]
fn a_damaged_record_ends_the_reading_with_a_problem() {
    let good = plain(&[b"one"]);
    let at = good.len() as u64;
    let damaged = |octets: &[u8]| {
        let reading = try_read(octets).unwrap();
        assert_eq!(reading.data(), [b"one"]);
        assert_eq!(
            (reading.error.as_deref(), reading.problems),
            (None, vec![("corrupt-block", Some(1), 1, at)])
        );
    };
    // A length that can't be, with a time that can: also at the very end.
    let mut bad = packet(1, b"two");
    bad[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    for rest in [vec![], packet(2, b"three")] {
        damaged(&[good.clone(), bad.clone(), rest].concat());
    }
    // No record, but records behind it: they must not be lost in silence.
    for hole in [vec![0; 40], b"octets that are no record at all".to_vec()] {
        damaged(&[good.clone(), hole, packet(2, b"three"), packet(3, b"four")].concat());
    }
    // Far behind it too.
    damaged(&[good.clone(), vec![0xee; 3 << 20], packet(2, b"three")].concat());
}

#[test]
fn a_damaged_first_record_is_an_error() {
    let mut bad = packet(1, b"two");
    bad[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let reading = try_read(&[plain_header(), bad, packet(2, b"three")].concat()).unwrap();
    assert!(reading.message().contains("damaged at offset 24"), "{}", reading.message());
}

#[test]
fn empty_packets_at_the_epoch_are_packets_but_zeros_are_not() {
    let mut file = plain_header();
    file.extend(record(Little, (0, 0), &[], b"", 60));
    file.extend(record(Little, (0, 1), &[], b"", 0));
    file.extend(record(Little, (0, 0), &[], b"x", 1));
    assert_eq!(read(&file).frames.len(), 3);
}

#[test]
fn joined_files_are_read_on() {
    let other = [header(Big, NANOS, (2, 4), 276), record(Big, (START, 7), &[], b"two", 3)].concat();
    let first = plain(&[b"one"]);
    let reading = read(&[first.clone(), other, plain(&[b"three"])].concat());
    assert_eq!(reading.data(), [b"one".as_slice(), b"two", b"three"]);
    assert_eq!(reading.frames.iter().map(|f| f.2).collect::<Vec<_>>(), [1, 276, 1]);
    assert_eq!(reading.times()[1], "2023-08-02T13:10:02.000000007Z");
    assert_eq!(reading.links, ["ETHERNET", "LINUX_SLL2"]);
    assert_eq!(reading.problems, [("corrupt-block", None, 2, first.len() as u64)]);
    // Another format isn't.
    let reading = read(&[first, section(Little)].concat());
    assert_eq!((reading.data(), reading.codes()), (vec![b"one".as_slice()], vec!["corrupt-block"]));
}

#[test]
fn versions_before_two_are_not_supported() {
    let file = [header(Little, MICRO, (1, 2), 1), packet(0, b"x")].concat();
    let error = try_read(&file).unwrap_err();
    assert!(matches!(error, CaptureError::UnsupportedVersion { major: 1, minor: 2, .. }));
    assert!(error.to_string().contains("editcap"), "{error}");
}

#[test]
fn what_is_no_capture_is_named() {
    let error = |file: &[u8]| try_read(file).unwrap_err().to_string();
    assert!(error(b"").contains("empty"));
    assert!(error(b"HTTP/1.1 200 OK\r\n\r\n").contains("raw HTTP response"));
    assert!(error(b"apiVersion: v1\nkind: ConfigMap\n").contains("text"));
    assert!(error(b"\x7fELF\x02\x01\x01\0").contains("ELF"));
    assert!(error(b"snoop\0\0\0\0\0\0\x02\0\0\0\x04").contains("editcap -F pcap"));
    assert!(error(b"\xfd7zXZ\0\0").contains("unpack it first"));
    assert!(error(b"\x01\x02\x03\x04").contains("01 02 03 04"));
    let Err(CaptureError::NotACapture { looks, within: None }) = try_read(b"text") else {
        panic!("no capture");
    };
    assert_eq!(looks, Looks::Text);
}
