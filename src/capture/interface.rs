//! pcapng interfaces: how their packets' octets and times are to be read.

use pcap_parser::pcapng::{
    InterfaceDescriptionBlock, OptionCode, PcapNGOption, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le,
};

use super::LinkType;
use crate::units::Timestamp;

/// The largest block with options that is looked into: pcap-parser keeps a
/// record of each option, ten times what the smallest takes in the file.
pub(super) const HEADER_BLOCK: usize = 1 << 20;

/// How an interface counts time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resolution {
    /// Units of 10^-n seconds.
    Decimal(u8),
    /// Units of 2^-n seconds.
    Binary(u8),
}

/// What an interface description says (§4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) link: LinkType,
    /// 0 for no limit.
    pub(super) snap: u32,
    resolution: Resolution,
    /// Seconds to add to each time.
    offset: i64,
}

impl Interface {
    /// Reads a description block, which is whole, of a section in big-endian
    /// order or not; `None` if it can't be read.
    pub(super) fn read(octets: &[u8], big: bool) -> Option<Self> {
        if octets.len() > HEADER_BLOCK {
            return None;
        }
        let parsed = if big {
            parse_interfacedescriptionblock_be(octets)
        } else {
            parse_interfacedescriptionblock_le(octets)
        };
        parsed.ok().map(|(_, block)| described(&block, big))
    }

    /// The time of `units` since 1970.
    pub(super) fn time(&self, units: u64) -> Timestamp {
        // Constant divisors for what nearly every file has.
        let (seconds, fraction, decimals) = match self.resolution {
            Resolution::Decimal(6) => (units / 1_000_000, units % 1_000_000, 6),
            Resolution::Decimal(9) => (units / 1_000_000_000, units % 1_000_000_000, 9),
            Resolution::Decimal(n) => match 10u64.checked_pow(u32::from(n)) {
                Some(second) => (units / second, units % second, n),
                None => (0, units, n),
            },
            Resolution::Binary(n) => {
                let seconds = units.checked_shr(u32::from(n)).unwrap_or(0);
                let whole = seconds.checked_shl(u32::from(n)).unwrap_or(0);
                let nanos = (u128::from(units - whole) * 1_000_000_000) >> n;
                (seconds, u64::try_from(nanos).unwrap_or(0), 9)
            }
        };
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_add(self.offset);
        Timestamp::new(seconds, fraction, decimals)
    }
}

/// What a description says.
fn described(block: &InterfaceDescriptionBlock<'_>, big: bool) -> Interface {
    let mut interface = Interface {
        link: LinkType::declared(u16::try_from(block.linktype.0).unwrap_or(u16::MAX)),
        snap: block.snaplen,
        // §4.2: microseconds where the option isn't there.
        resolution: Resolution::Decimal(6),
        offset: 0,
    };
    // pcap-parser gives options behind their end too, powers of two as
    // none, and the offset in little-endian order whatever the section's.
    let options = block.options.iter().take_while(|option| option.code != OptionCode::EndOfOpt);
    for option in options {
        match (option.code, option_octets(option)) {
            (OptionCode::IfTsresol, [octet, ..]) => {
                interface.resolution = if octet & 0x80 == 0 {
                    Resolution::Decimal(*octet)
                } else {
                    Resolution::Binary(octet & 0x7f)
                };
            }
            (OptionCode::IfTsoffset, octets) => {
                if let Some(octets) = octets.first_chunk() {
                    interface.offset =
                        if big { i64::from_be_bytes(*octets) } else { i64::from_le_bytes(*octets) };
                }
            }
            _ => {}
        }
    }
    interface
}

/// An option's value without its padding.
fn option_octets<'o>(option: &'o PcapNGOption<'_>) -> &'o [u8] {
    option.value().get(..usize::from(option.len)).unwrap_or_default()
}
