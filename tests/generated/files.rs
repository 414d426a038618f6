//! pcapng files with all that the format allows.

use crate::segments::{self, Sent};
use crate::{is_the_watch, v4};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

use Order::{Big, Little};

impl Order {
    fn u16(self, number: usize) -> [u8; 2] {
        let number = u16::try_from(number).unwrap();
        if self == Big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn u32(self, number: u64) -> [u8; 4] {
        let number = u32::try_from(number).unwrap();
        if self == Big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn u64(self, number: u64) -> [u8; 8] {
        if self == Big { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn block(self, kind: u64, body: &[&[u8]]) -> Vec<u8> {
        let mut body = body.concat();
        body.resize(body.len().next_multiple_of(4), 0);
        let len = self.u32(body.len() as u64 + 12);
        [&self.u32(kind)[..], &len, &body, &len].concat()
    }

    fn section(self) -> Vec<u8> {
        let version = [self.u16(1), self.u16(0)].concat();
        self.block(0x0a0d_0d0a, &[&self.u32(0x1a2b_3c4d), &version, &self.u64(u64::MAX)])
    }

    fn option(self, code: usize, value: &[u8]) -> Vec<u8> {
        let mut option = [&self.u16(code)[..], &self.u16(value.len()), value].concat();
        option.resize(option.len().next_multiple_of(4), 0);
        option
    }

    /// An interface of raw IP packets; the options have no end.
    fn interface(self, options: &[Vec<u8>]) -> Vec<u8> {
        self.block(1, &[&self.u16(101), &self.u16(0), &self.u32(0), &options.concat()])
    }

    /// A packet at `units` of an interface's clock.
    fn enhanced(self, interface: u64, units: u64, packet: &[u8], options: &[u8]) -> Vec<u8> {
        let mut data = packet.to_vec();
        data.resize(data.len().next_multiple_of(4), 0);
        let len = self.u32(packet.len() as u64);
        let words = [self.u32(interface), self.u32(units >> 32), self.u32(units & 0xffff_ffff), len, len];
        self.block(6, &[&words.concat(), &data, options])
    }

    /// The obsolete packet block; its interface and drops are 16 bits each.
    fn obsolete(self, interface: usize, units: u64, packet: &[u8]) -> Vec<u8> {
        let len = self.u32(packet.len() as u64);
        let front = [self.u16(interface), self.u16(0xffff)].concat();
        let words = [self.u32(units >> 32), self.u32(units & 0xffff_ffff), len, len];
        self.block(2, &[&front, &words.concat(), packet])
    }

    fn simple(self, packet: &[u8]) -> Vec<u8> {
        self.block(3, &[&self.u32(packet.len() as u64), packet])
    }

    /// A custom block; its first word is a private enterprise number.
    fn custom(self, copied: bool) -> Vec<u8> {
        self.block(if copied { 0xbad } else { 0x4000_0bad }, &[&self.u32(32_473), b"anything at all"])
    }
}

const SECOND: u64 = 1_700_000_000;

fn packets() -> Vec<(usize, Sent, Vec<u8>)> {
    v4().into_iter().enumerate().map(|(number, one)| (number, one.clone(), segments::packet(&one))).collect()
}

/// The time of the chunk that a segment completes.
fn times(capture: &[u8]) -> Vec<String> {
    let (_, exchange) = is_the_watch("times", capture, |segment| segment as u64);
    exchange.chunks().iter().map(|chunk| chunk["time"].as_str().unwrap_or("none").to_owned()).collect()
}

#[test]
fn sections_of_both_byte_orders_follow_each_other_in_one_connection() {
    for (first, second) in [(Little, Big), (Big, Little)] {
        let mut file = Vec::new();
        for (number, _, packet) in packets() {
            let order = if number < 8 { first } else { second };
            if number == 0 || number == 8 {
                file.extend(order.section());
                // The second section's clock is another, and its numbers begin anew.
                let clock = if number == 0 { 6 } else { 9 };
                file.extend(order.interface(&[order.option(9, &[clock])]));
            }
            let unit = if number < 8 { 1_000_000 } else { 1_000_000_000 };
            file.extend(order.enhanced(0, SECOND * unit + number as u64 * unit / 1000, &packet, &[]));
        }
        let (seen, _) = is_the_watch("two sections", &file, |segment| segment as u64);
        assert!(seen.problems().is_empty(), "{:?}", seen.problems());
        let times = times(&file);
        assert!(times[0].starts_with("2023-11-14T22:13:20.007"), "{times:?}");
        assert!(times[4].starts_with("2023-11-14T22:13:20.011"), "{times:?}");
    }
}

#[test]
fn clocks_of_powers_of_two_and_with_offsets_are_read() {
    for order in [Little, Big] {
        for (power, offset) in [(10, 0), (20, 0), (20, 1_600_000_000), (30, -3600_i64)] {
            let offset_octets = order.u64(offset.cast_unsigned());
            let mut file = order.section();
            file.extend(order.interface(&[
                order.option(9, &[0x80 | power]),
                order.option(14, &offset_octets),
                // An option that nobody knows.
                order.option(0x7abc, b"private"),
            ]));
            for (number, _, packet) in packets() {
                let seconds = u64::try_from(SECOND.cast_signed() - offset).unwrap();
                // An eighth of a second a packet.
                let units = (seconds << power) + ((number as u64) << (power - 3));
                file.extend(order.enhanced(0, units, &packet, &order.option(2, &[0, 0, 0, 1])));
            }
            let times = times(&file);
            assert!(times[0].starts_with("2023-11-14T22:13:20.875"), "2^-{power}, {offset}: {times:?}");
            assert!(times[4].starts_with("2023-11-14T22:13:21.375"), "2^-{power}, {offset}: {times:?}");
        }
    }
}

#[test]
fn old_blocks_and_blocks_of_others_do_not_disturb() {
    for order in [Little, Big] {
        let mut file = order.section();
        file.extend(order.interface(&[order.option(2, b"eth0")]));
        file.extend(order.interface(&[]));
        for (number, _, packet) in packets() {
            file.extend(order.custom(number % 2 == 0));
            let units = SECOND * 1_000_000 + number as u64;
            file.extend(match number % 3 {
                0 => order.obsolete(1, units, &packet),
                1 => order.simple(&packet),
                // Options without the one that ends them.
                _ => order.enhanced(1, units, &packet, &order.option(1, b"a comment")),
            });
            // Statistics, and a block of a kind that isn't assigned.
            file.extend(order.block(5, &[&order.u32(0), &order.u64(units)]));
            file.extend(order.block(0x00ab_cdef, &[b"of the future"]));
        }
        // tshark 4.0.17 numbers custom blocks among the packets.
        let (seen, _) = is_the_watch("old blocks", &file, |segment| 2 * segment as u64);
        assert!(seen.problems().is_empty(), "{:?}", seen.problems());
    }
}
