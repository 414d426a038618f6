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
    #[inline]
    pub(super) fn new(data: &'a [u8], wire: usize) -> Self {
        Self { data, wire: wire.max(data.len()), padded: false }
    }

    /// The captured octets.
    #[inline]
    pub(super) const fn data(&self) -> &'a [u8] {
        self.data
    }

    /// How many octets there were on the wire.
    #[inline]
    pub(super) const fn wire(&self) -> usize {
        self.wire
    }

    /// How many octets on the wire were not captured.
    #[inline]
    pub(super) const fn cut(&self) -> usize {
        self.wire - self.data.len()
    }

    /// Notes whether Ethernet may have padded the frame.
    #[inline]
    pub(super) const fn set_padded(&mut self, padded: bool) {
        self.padded = padded;
    }

    /// The first `N` octets, which stay where they are.
    #[inline]
    pub(super) fn peek<const N: usize>(&self) -> Result<&'a [u8; N], Stop> {
        self.data.first_chunk().ok_or(self.too_short(N))
    }

    /// Takes off the first `N` octets.
    #[inline]
    pub(super) fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], Stop> {
        match self.data.split_first_chunk() {
            Some((header, data)) => {
                self.data = data;
                self.wire -= N;
                Ok(header)
            }
            None => Err(self.too_short(N)),
        }
    }

    /// Takes off the first `n` octets.
    #[inline]
    pub(super) fn skip(&mut self, n: usize) -> Result<(), Stop> {
        match self.data.get(n..) {
            Some(data) => {
                self.data = data;
                self.wire -= n;
                Ok(())
            }
            None => Err(self.too_short(n)),
        }
    }

    /// Why `need` octets aren't there.
    pub(super) const fn too_short(&self, need: usize) -> Stop {
        if self.wire >= need { Stop::CutHeaders } else { Stop::Malformed }
    }

    /// Takes off all but the first `len` octets: a length field of this layer
    /// says so. Where fewer were on the wire, all stay.
    pub(super) fn limit(&mut self, len: usize) {
        self.set_length(len.min(self.wire));
    }

    /// Takes off all but the first `len` octets: the length field of an IP
    /// header says so. Where the frame was shorter, the rest counts as not
    /// captured: a gap of that size is what the receiver saw too, or what a
    /// recorder hid that cut packets without noting their length.
    #[inline]
    pub(super) fn set_length(&mut self, len: usize) {
        self.data = self.data.get(..len).unwrap_or(self.data);
        self.wire = len;
        self.padded = false;
    }

    /// Takes off the last `n` octets on the wire: a trailer.
    pub(super) fn drop_trailer(&mut self, n: usize) {
        self.limit(self.wire.saturating_sub(n));
    }

    /// Takes off the zeros at the end, if Ethernet may have padded the frame.
    #[inline]
    pub(super) fn drop_padding(&mut self) {
        if self.padded && self.cut() == 0 {
            let last = self.data.iter().rposition(|&octet| octet != 0);
            self.set_length(last.map_or(0, |last| last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an operation leaves: the captured octets and those on the wire.
    fn after<'a>(data: &'a [u8], wire: usize, change: impl FnOnce(&mut Octets<'a>)) -> (&'a [u8], usize) {
        let mut octets = Octets::new(data, wire);
        change(&mut octets);
        (octets.data(), octets.wire())
    }

    #[test]
    fn a_header_that_was_cut_is_told_from_one_that_never_was() {
        let mut octets = Octets::new(&[1, 2, 3], 10);
        assert_eq!(octets.skip(4), Err(Stop::CutHeaders));
        assert_eq!(octets.take::<10>(), Err(Stop::CutHeaders));
        assert_eq!(octets.take::<11>(), Err(Stop::Malformed));
        assert_eq!(octets.take::<2>(), Ok(&[1, 2]));
        assert_eq!((octets.data(), octets.wire()), (&[3][..], 8));
        assert_eq!(Octets::new(&[1, 2, 3], 0).cut(), 0);
    }

    #[test]
    fn lengths_cut_the_end_on_the_wire_first() {
        let data = &[1, 2, 3];
        assert_eq!(after(data, 10, |o| o.drop_trailer(4)), (&[1, 2, 3][..], 6));
        assert_eq!(after(data, 10, |o| o.drop_trailer(8)), (&[1, 2][..], 2));
        assert_eq!(after(data, 10, |o| o.drop_trailer(11)), (&[][..], 0));
        assert_eq!(after(data, 10, |o| o.limit(20)), (&[1, 2, 3][..], 10));
        assert_eq!(after(data, 10, |o| o.set_length(20)), (&[1, 2, 3][..], 20));
    }

    #[test]
    fn padding_is_zeros_and_only_where_ethernet_pads() {
        let padded = |o: &mut Octets<'_>| {
            o.set_padded(true);
            o.drop_padding();
        };
        let data = &[1, 0, 2, 0, 0];
        assert_eq!(after(data, 5, Octets::drop_padding), (&data[..], 5));
        assert_eq!(after(data, 5, padded), (&data[..3], 3));
        assert_eq!(after(&[0, 0], 2, padded), (&[][..], 0));
        assert_eq!(after(&[0, 0], 3, padded), (&[0, 0][..], 3));
    }
}
