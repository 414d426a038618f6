//! What is left of a packet at some layer: the captured octets, and how many
//! there were on the wire.
//!
//! A snap length cuts a packet at its end, so at every layer the captured
//! octets are the first of those on the wire. Layers take their headers off the
//! front and, where they have a length field, what isn't theirs off the end.

/// Why a packet yields no segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It carries something else.
    NotTcp,
    /// The snap length cut it inside the headers.
    CutHeaders,
    /// A header contradicts itself or doesn't fit into its packet.
    Malformed,
}

/// The rest of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Octets<'a> {
    /// The captured ones.
    data: &'a [u8],
    /// How many there were on the wire; at least `data.len()`.
    wire: usize,
    /// Whether Ethernet may have padded the frame: the last octets then belong
    /// to no layer above it.
    padded: bool,
}

impl<'a> Octets<'a> {
    /// `data` of `wire` octets; a `wire` below what was captured is not believed.
    pub(super) fn new(data: &'a [u8], wire: usize) -> Self {
        Self {
            data,
            wire: wire.max(data.len()),
            padded: false,
        }
    }

    /// The captured octets.
    pub(super) const fn data(self) -> &'a [u8] {
        self.data
    }

    /// How many octets there were on the wire.
    pub(super) const fn wire(self) -> usize {
        self.wire
    }

    /// How many octets on the wire were not captured.
    pub(super) const fn cut(self) -> usize {
        self.wire - self.data.len()
    }

    /// Notes whether Ethernet may have padded the frame.
    pub(super) const fn with_padding(self, padded: bool) -> Self {
        Self { padded, ..self }
    }

    /// The first `N` octets, which stay where they are.
    pub(super) fn peek<const N: usize>(self) -> Result<&'a [u8; N], Stop> {
        self.data.first_chunk().ok_or(self.too_short(N))
    }

    /// The first `N` octets, and what is behind them.
    pub(super) fn header<const N: usize>(self) -> Result<(&'a [u8; N], Self), Stop> {
        match self.data.split_first_chunk() {
            Some((header, data)) => Ok((
                header,
                Self {
                    data,
                    wire: self.wire - N,
                    ..self
                },
            )),
            None => Err(self.too_short(N)),
        }
    }

    /// What is behind the first `n` octets.
    pub(super) fn skip(self, n: usize) -> Result<Self, Stop> {
        match self.data.get(n..) {
            Some(data) => Ok(Self {
                data,
                wire: self.wire - n,
                ..self
            }),
            None => Err(self.too_short(n)),
        }
    }

    /// Why `need` octets aren't there.
    pub(super) const fn too_short(self, need: usize) -> Stop {
        if self.wire >= need {
            Stop::CutHeaders
        } else {
            Stop::Malformed
        }
    }

    /// The first `len` octets: a length field of this layer says so. Where
    /// fewer were on the wire, all of them.
    pub(super) fn at_most(self, len: usize) -> Self {
        self.exactly(len.min(self.wire))
    }

    /// The first `len` octets: the length field of an IP header says so. Where
    /// the frame was shorter, the rest counts as not captured: a gap of that
    /// size is what the receiver saw too, or what a recorder hid that cut
    /// packets without noting their length.
    pub(super) fn exactly(self, len: usize) -> Self {
        Self {
            data: self.data.get(..len).unwrap_or(self.data),
            wire: len,
            padded: false,
        }
    }

    /// All but the last `n` octets on the wire: a trailer.
    pub(super) fn without_trailer(self, n: usize) -> Self {
        self.at_most(self.wire.saturating_sub(n))
    }

    /// All but the zeros at the end, if Ethernet may have padded the frame.
    pub(super) fn without_padding(self) -> Self {
        if !self.padded || self.cut() > 0 {
            return self;
        }
        let len = self
            .data
            .iter()
            .rposition(|&octet| octet != 0)
            .map_or(0, |last| last + 1);
        self.exactly(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_was_cut_is_told_from_one_that_never_was() {
        let octets = Octets::new(&[1, 2, 3], 10);
        assert_eq!(octets.skip(4), Err(Stop::CutHeaders));
        assert_eq!(octets.header::<10>().err(), Some(Stop::CutHeaders));
        assert_eq!(octets.header::<11>().err(), Some(Stop::Malformed));
        assert_eq!(octets.skip(3).map(Octets::wire), Ok(7));
        assert_eq!(Octets::new(&[1, 2, 3], 0).cut(), 0);
    }

    #[test]
    fn lengths_cut_the_end_on_the_wire_first() {
        let octets = Octets::new(&[1, 2, 3], 10);
        assert_eq!(
            (
                octets.without_trailer(4).data(),
                octets.without_trailer(4).wire()
            ),
            (&[1, 2, 3][..], 6)
        );
        assert_eq!(
            (
                octets.without_trailer(8).data(),
                octets.without_trailer(8).wire()
            ),
            (&[1, 2][..], 2)
        );
        assert_eq!(octets.without_trailer(11).wire(), 0);
        assert_eq!(octets.at_most(20).wire(), 10);
        assert_eq!(octets.exactly(20).cut(), 17);
    }

    #[test]
    fn padding_is_zeros_and_only_where_ethernet_pads() {
        let octets = Octets::new(&[1, 0, 2, 0, 0], 5);
        assert_eq!(octets.without_padding().data(), &[1, 0, 2, 0, 0]);
        assert_eq!(
            octets.with_padding(true).without_padding().data(),
            &[1, 0, 2]
        );
        assert_eq!(
            Octets::new(&[0, 0], 2)
                .with_padding(true)
                .without_padding()
                .wire(),
            0
        );
        assert_eq!(
            Octets::new(&[0, 0], 3)
                .with_padding(true)
                .without_padding()
                .wire(),
            3
        );
    }
}
