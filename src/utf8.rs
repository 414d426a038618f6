//! UTF-8 that comes in pieces.

/// Whether octets that come in pieces are valid UTF-8.
#[derive(Debug, Clone, Default)]
pub(crate) struct Utf8 {
    /// The beginning of a character that the last piece cut.
    cut: [u8; 4],
    cut_len: usize,
    invalid: bool,
}

impl Utf8 {
    /// Takes the next octets.
    pub(crate) fn push(&mut self, mut octets: &[u8]) {
        while self.cut_len > 0 && !self.invalid {
            let Some((first, rest)) = octets.split_first() else { return };
            octets = rest;
            if let Some(place) = self.cut.get_mut(self.cut_len) {
                *place = *first;
                self.cut_len += 1;
            }
            match std::str::from_utf8(self.cut.get(..self.cut_len).unwrap_or_default()) {
                Ok(_) => self.cut_len = 0,
                Err(error) => self.invalid = error.error_len().is_some(),
            }
        }
        if self.invalid {
            return;
        }
        if let Err(error) = std::str::from_utf8(octets) {
            let tail = octets.get(error.valid_up_to()..).unwrap_or_default();
            match self.cut.get_mut(..tail.len()) {
                Some(cut) if error.error_len().is_none() => {
                    cut.copy_from_slice(tail);
                    self.cut_len = tail.len();
                }
                _ => self.invalid = true,
            }
        }
    }

    /// Whether all that came is valid, and no character is cut.
    pub(crate) fn is_valid(&self) -> bool {
        !self.invalid && self.cut_len == 0
    }

    /// The first of the next octets with which what came is invalid.
    pub(crate) fn first_invalid(&self, octets: &[u8]) -> Option<usize> {
        let mut all = self.clone();
        all.push(octets);
        if !all.invalid {
            return None;
        }
        let mut each = self.clone();
        octets.iter().position(|octet| {
            each.push(std::slice::from_ref(octet));
            each.invalid
        })
    }

    /// Whether what came is invalid, whatever follows.
    pub(crate) fn is_invalid(&self) -> bool {
        self.invalid
    }
}
