//! Any octets: no panic, an end, and numbers in order.

use proptest::prelude::*;

use super::*;

/// A capture in one of the formats, with these packets.
fn build(form: u8, packets: &[Vec<u8>]) -> Vec<u8> {
    let order = if form & 1 == 0 { Little } else { Big };
    let mut file = if form & 2 == 0 {
        let magic = if form & 4 == 0 { 0xa1b2_c3d4 } else { 0xa1b2_3c4d };
        header(order, magic, (2, 4), 276)
    } else {
        [section(order), interface(order, 276, 0, &option(order, 9, &[9]))].concat()
    };
    for (n, data) in (0..).zip(packets) {
        file.extend(if form & 2 == 0 {
            record(order, (START + n, n), &[], data, data.len() as u32)
        } else {
            enhanced(order, 0, u64::from(START + n) * 1_000_000_000, data, &[])
        });
    }
    file
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        form in 0u8..8,
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8),
    ) {
        let reading = read(&build(form, &packets)).clean();
        prop_assert_eq!(reading.data(), packets.iter().map(Vec::as_slice).collect::<Vec<_>>());
        prop_assert_eq!(reading.packets, packets.len() as u64);
    }

    #[test]
    fn damage_is_read_to_an_end(
        form in 0u8..8,
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..6),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        packed in 0u8..3,
    ) {
        let mut file = build(form, &packets);
        if packed == 1 {
            file = zstd::encode_all(&file[..], 1).unwrap();
        } else if packed == 2 {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            std::io::Write::write_all(&mut encoder, &file).unwrap();
            file = encoder.finish().unwrap();
        }
        for (at, octet) in damage {
            let at = at.index(file.len());
            file[at] = octet;
        }
        let limits = Limits { capture_block: 4096, read_block: 128, ..Limits::default() };
        if let Ok(reading) = try_read_from(&file[..], &limits) {
            let numbers = reading.numbers();
            prop_assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(numbers.last().is_none_or(|last| *last <= reading.packets));
            prop_assert!(reading.frames.iter().all(|frame| frame.3.len() <= frame.4 as usize));
        }
    }

    #[test]
    fn any_octets_behind_a_header_are_read_to_an_end(
        form in 0u8..8,
        tail in prop::collection::vec(prop_oneof![Just(0u8), Just(6), Just(12), any::<u8>()], 0..300),
    ) {
        let file = [build(form, &[vec![1, 2, 3]]), tail].concat();
        let reading = read(&file);
        prop_assert_eq!(&reading.frames[0].3, &[1, 2, 3]);
    }
}
