//! IEEE 802.11 data frames, bare or behind a header of the radio.
//!
//! Encrypted frames hold nothing to read. Of a frame that was fragmented at
//! this layer, the first fragment is read (it is cut like one of a short snap
//! length), the others are not.

use super::octets::{Octets, Stop};
use super::{Layer, Step};

/// LINKTYPE_IEEE802_11_RADIOTAP (radiotap.org): version, padding, length and
/// the words that say which fields are present.
pub(super) fn radiotap(octets: &mut Octets<'_>) -> Step {
    const TSFT: u32 = 1 << 0;
    const FLAGS: u32 = 1 << 1;
    const EXTENDED: u32 = 1 << 31;
    let header = octets.peek::<8>()?;
    if header[0] != 0 {
        return Err(Stop::NotTcp);
    }
    let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
    let whole = octets.data();
    octets.skip(length)?;
    let first = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    if first & FLAGS == 0 {
        return Ok(Layer::Wlan);
    }
    let fields = whole.get(..length).ok_or(Stop::Malformed)?;
    // Fields begin behind the last word of presence, aligned to their size
    // from the header's first octet. Of those before the flags, only one is.
    let mut at = 8;
    let mut word = first;
    while word & EXTENDED != 0 {
        let next = fields.get(at..).and_then(<[u8]>::first_chunk).ok_or(Stop::Malformed)?;
        word = u32::from_le_bytes(*next);
        at += 4;
    }
    if first & TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    let &flags = fields.get(at).ok_or(Stop::Malformed)?;
    flagged(octets, flags)
}

/// A frame with the flags field of radiotap.
fn flagged(octets: &mut Octets<'_>, flags: u8) -> Step {
    const FCS: u8 = 0x10;
    const PADDED: u8 = 0x20;
    const BAD_FCS: u8 = 0x40;
    // A station drops what the air damaged, and the sender repeats it.
    if flags & BAD_FCS != 0 {
        return Err(Stop::NotTcp);
    }
    octets.drop_trailer(if flags & FCS != 0 { 4 } else { 0 });
    if flags & PADDED != 0 { data(octets, 4) } else { data(octets, 1) }
}

/// LINKTYPE_IEEE802_11_AVS: a magic number and the header's length.
pub(super) fn avs(octets: &mut Octets<'_>) -> Step {
    let header = octets.peek::<8>()?;
    let length = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let length = usize::try_from(length).map_err(|_| Stop::Malformed)?;
    if length < 8 {
        return Err(Stop::Malformed);
    }
    octets.skip(length)?;
    Ok(Layer::Wlan)
}

/// LINKTYPE_IEEE802_11_PRISM: a message of 144 octets, or an AVS header.
pub(super) fn prism(octets: &mut Octets<'_>) -> Step {
    match octets.peek::<4>()? {
        [0x80, 0x21, 0x10, _] => avs(octets),
        _ => {
            octets.skip(144)?;
            Ok(Layer::Wlan)
        }
    }
}

/// LINKTYPE_PPI: a header with fields of its own before a frame of any link
/// type.
pub(super) fn ppi(octets: &mut Octets<'_>) -> Step {
    const IEEE802_11: u16 = 105;
    const COMMON: u16 = 2;
    let header = octets.peek::<8>()?;
    let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
    if length < 8 {
        return Err(Stop::Malformed);
    }
    let whole = octets.data();
    octets.skip(length)?;
    let Ok(link) = u16::try_from(u32::from_le_bytes([header[4], header[5], header[6], header[7]])) else {
        return Err(Stop::NotTcp);
    };
    if link != IEEE802_11 {
        return Layer::of_link(link).ok_or(Stop::NotTcp);
    }
    let mut fields = whole.get(8..length).unwrap_or_default();
    while let Some((&[kind_low, kind_high, len_low, len_high], value)) = fields.split_first_chunk() {
        let len = usize::from(u16::from_le_bytes([len_low, len_high]));
        if u16::from_le_bytes([kind_low, kind_high]) == COMMON {
            // The lowest bit: the FCS is there. The third: it was wrong.
            let flags = value.get(8).copied().unwrap_or(0);
            if flags & 4 != 0 {
                return Err(Stop::NotTcp);
            }
            octets.drop_trailer(if flags & 1 != 0 { 4 } else { 0 });
            return Ok(Layer::Wlan);
        }
        fields = value.get(len..).unwrap_or_default();
    }
    Ok(Layer::Wlan)
}

/// LINKTYPE_IEEE802_11: a frame from its frame control on.
pub(super) fn bare(octets: &mut Octets<'_>) -> Step {
    data(octets, 1)
}

/// A data frame (IEEE 802.11 §9.3.2), whose header is padded to a multiple of
/// `align` octets.
fn data(octets: &mut Octets<'_>, align: usize) -> Step {
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
        let &qos = octets.data().get(length).ok_or(octets.too_short(length + 1))?;
        aggregate = qos & AGGREGATE != 0;
        length += 2;
        if flags & ORDER != 0 {
            length += 4;
        }
    }
    octets.skip(length.next_multiple_of(align))?;
    Ok(if aggregate { Layer::Aggregate } else { Layer::Llc })
}

/// The first subframe of an A-MSDU (IEEE 802.11 §9.3.2.2): destination, source
/// and length, then an MSDU, which is all that this leaves.
pub(super) fn first_subframe(octets: &mut Octets<'_>) -> Step {
    *octets = next_subframe(octets)?;
    Ok(Layer::Llc)
}

/// Takes off a subframe of an A-MSDU, and gives its MSDU. Each is padded to a
/// multiple of four octets.
pub(super) fn next_subframe<'a>(octets: &mut Octets<'a>) -> Result<Octets<'a>, Stop> {
    let header = octets.take::<14>()?;
    let length = usize::from(u16::from_be_bytes([header[12], header[13]]));
    let mut body = *octets;
    body.limit(length);
    // The header is two octets beyond a multiple of four. The last one may
    // not be padded, or cut.
    let padded = (length + 2).next_multiple_of(4) - 2;
    if octets.skip(padded).is_err() {
        octets.limit(0);
    }
    Ok(body)
}
