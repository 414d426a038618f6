//! IEEE 802.11 data frames, bare or behind a header of the radio.
//!
//! Encrypted frames hold nothing to read. Of a frame that was fragmented at
//! this layer, the first fragment is read (it is cut like one of a short snap
//! length), the others are not.

use super::octets::{Octets, Stop};
use super::{Layer, Step};

/// LINKTYPE_IEEE802_11_RADIOTAP (radiotap.org): version, padding, length and
/// the words that say which fields are present.
pub(super) fn radiotap(octets: Octets<'_>) -> Step<'_> {
    const TSFT: u32 = 1 << 0;
    const FLAGS: u32 = 1 << 1;
    const EXTENDED: u32 = 1 << 31;
    let header = octets.peek::<8>()?;
    if header[0] != 0 {
        return Err(Stop::NotTcp);
    }
    let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
    let rest = octets.skip(length)?;
    let first = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    if first & FLAGS == 0 {
        return Ok((Layer::Wlan, rest));
    }
    let fields = octets.data().get(..length).ok_or(Stop::Malformed)?;
    // Fields begin behind the last word of presence, aligned to their size
    // from the header's first octet. Of those before the flags, only one is.
    let mut at = 8;
    let mut word = first;
    while word & EXTENDED != 0 {
        let next = fields
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .ok_or(Stop::Malformed)?;
        word = u32::from_le_bytes(*next);
        at += 4;
    }
    if first & TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let &flags = fields.get(at).ok_or(Stop::Malformed)?;
    flagged(rest, flags)
}

/// A frame with the flags field of radiotap.
fn flagged(octets: Octets<'_>, flags: u8) -> Step<'_> {
    const FCS: u8 = 0x10;
    const PADDED: u8 = 0x20;
    const BAD_FCS: u8 = 0x40;
    // A station drops what the air damaged, and the sender repeats it.
    if flags & BAD_FCS != 0 {
        return Err(Stop::NotTcp);
    }
    let octets = octets.without_trailer(if flags & FCS != 0 { 4 } else { 0 });
    if flags & PADDED != 0 {
        data(octets, 4)
    } else {
        data(octets, 1)
    }
}

/// LINKTYPE_IEEE802_11_AVS: a magic number and the header's length.
pub(super) fn avs(octets: Octets<'_>) -> Step<'_> {
    let header = octets.peek::<8>()?;
    let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let length = usize::try_from(length).map_err(|_| Stop::Malformed)?;
    if length < 8 {
        return Err(Stop::Malformed);
    }
    Ok((Layer::Wlan, octets.skip(length)?))
}

/// LINKTYPE_IEEE802_11_PRISM: a message of 144 octets, or an AVS header.
pub(super) fn prism(octets: Octets<'_>) -> Step<'_> {
    match octets.peek::<4>()? {
        [0x80, 0x21, 0x10, _] => avs(octets),
        _ => Ok((Layer::Wlan, octets.skip(144)?)),
    }
}

/// LINKTYPE_PPI: a header with fields of its own before a frame of any link
/// type.
pub(super) fn ppi(octets: Octets<'_>) -> Step<'_> {
    const IEEE802_11: u16 = 105;
    const COMMON: u16 = 2;
    let header = octets.peek::<8>()?;
    let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
    if length < 8 {
        return Err(Stop::Malformed);
    }
    let rest = octets.skip(length)?;
    let Ok(link) = u16::try_from(u32::from_le_bytes([
        header[4], header[5], header[6], header[7],
    ])) else {
        return Err(Stop::NotTcp);
    };
    if link != IEEE802_11 {
        return Layer::of_link(link)
            .map(|layer| (layer, rest))
            .ok_or(Stop::NotTcp);
    }
    let mut fields = octets.data().get(8..length).unwrap_or_default();
    while let Some((&[kind_low, kind_high, len_low, len_high], value)) = fields.split_first_chunk()
    {
        let len = usize::from(u16::from_le_bytes([len_low, len_high]));
        if u16::from_le_bytes([kind_low, kind_high]) == COMMON {
            // The lowest bit: the FCS is there. The third: it was wrong.
            let flags = value.get(8).copied().unwrap_or(0);
            return match flags {
                _ if flags & 4 != 0 => Err(Stop::NotTcp),
                _ if flags & 1 != 0 => Ok((Layer::Wlan, rest.without_trailer(4))),
                _ => Ok((Layer::Wlan, rest)),
            };
        }
        fields = value.get(len..).unwrap_or_default();
    }
    Ok((Layer::Wlan, rest))
}

/// LINKTYPE_IEEE802_11: a frame from its frame control on.
pub(super) fn bare(octets: Octets<'_>) -> Step<'_> {
    data(octets, 1)
}

/// A data frame (IEEE 802.11 §9.3.2), whose header is padded to a multiple of
/// `align` octets.
fn data(octets: Octets<'_>, align: usize) -> Step<'_> {
    const DATA: u8 = 0b1000;
    const TO_DS: u8 = 1;
    const FROM_DS: u8 = 2;
    const PROTECTED: u8 = 0x40;
    const ORDER: u8 = 0x80;
    const NO_DATA: u8 = 0x40;
    const QOS: u8 = 0x80;
    const AGGREGATE: u8 = 0x80;
    let &[control, flags] = octets.peek::<2>()?;
    // Version 0, type data, and not one of the subtypes without data.
    if control & 0x0f != DATA || control & NO_DATA != 0 || flags & PROTECTED != 0 {
        return Err(Stop::NotTcp);
    }
    let header = octets.peek::<24>()?;
    if header[22] & 0x0f != 0 {
        return Err(Stop::NotTcp);
    }
    let mut length = 24;
    if flags & (TO_DS | FROM_DS) == TO_DS | FROM_DS {
        length += 6;
    }
    let mut aggregate = false;
    if control & QOS != 0 {
        let (&[qos, _], _) = octets.skip(length)?.header::<2>()?;
        aggregate = qos & AGGREGATE != 0;
        length += 2;
        if flags & ORDER != 0 {
            length += 4;
        }
    }
    let body = octets.skip(length.next_multiple_of(align))?;
    Ok((
        if aggregate {
            Layer::Aggregate
        } else {
            Layer::Llc
        },
        body,
    ))
}

/// What the first subframe of an A-MSDU carries (IEEE 802.11 §9.3.2.2), and
/// the subframes behind it: destination, source and length, then an MSDU, the
/// whole padded to a multiple of four octets.
pub(super) fn subframe(octets: Octets<'_>) -> Result<(Octets<'_>, Option<Octets<'_>>), Stop> {
    let (header, body) = octets.header::<14>()?;
    let length = usize::from(u16::from_be_bytes([header[12], header[13]]));
    // The header is two octets beyond a multiple of four.
    let rest = body
        .skip((length + 2).next_multiple_of(4) - 2)
        .ok()
        .filter(|rest| rest.wire() > 0);
    Ok((body.at_most(length), rest))
}
