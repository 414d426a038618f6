//! Where a watch event begins, octet by octet: the place from which on a body
//! can be read again after nobody knew what its octets were in. No JSON string
//! holds `{"type":"ADDED","object":{`, since its quotes would be escaped.

/// How much of `{"type":"ADDED","object":{` was read.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    /// Where it began.
    pub(super) start: u64,
    step: usize,
    /// Octets read of the step's word.
    within: usize,
    /// Whether an object at a line's beginning will do.
    lines: bool,
    /// Octets read of `data:`, which may stand in front of it; `None` within
    /// a line that begins otherwise.
    prefix: Option<usize>,
}

impl Beginning {
    /// Nothing read; `lines` tells whether an object at a line's beginning
    /// will do.
    pub(super) fn new(lines: bool) -> Self {
        Self { lines, ..Self::default() }
    }

    /// Whether an object at a line's beginning will do.
    pub(super) fn lines(&self) -> bool {
        self.lines
    }

    /// Reads an octet of `{"type":"ADDED","object":{`; white space may stand
    /// between its parts. Whether it is whole.
    pub(super) fn step(&mut self, at: u64, octet: u8) -> bool {
        const PARTS: [&[u8]; 7] = [b"{", b"\"type\"", b":", b"\"", b"\"object\"", b":", b"{"];
        let Some(part) = PARTS.get(self.step) else { return false };
        // The fourth part is a word of capitals in quotes, with a comma behind.
        if self.step == 3 && self.within > 0 {
            match octet {
                b'A'..=b'Z' if self.within < 16 => self.within += 1,
                b'"' if self.within > 1 => self.within = 100,
                b',' if self.within == 100 => (self.step, self.within) = (4, 0),
                b' ' | b'\t' | b'\r' | b'\n' if self.within == 100 => {}
                _ => self.restart(at, octet),
            }
            return false;
        }
        if self.within == 0 && self.step > 0 && octet.is_ascii_whitespace() {
            return false;
        }
        if part.get(self.within) != Some(&octet) {
            self.restart(at, octet);
            return false;
        }
        if self.step == 0 {
            self.start = at;
        }
        self.within += 1;
        if self.within == part.len() && self.step != 3 {
            (self.step, self.within) = (self.step + 1, 0);
        }
        self.step == PARTS.len()
    }

    /// Reads an octet: whether an object begins a line with it.
    pub(super) fn line(&mut self, octet: u8) -> bool {
        const PREFIX: &[u8] = b"data:";
        let begins = self.lines
            && octet == b'{'
            && matches!(self.prefix, Some(read) if read == 0 || read == PREFIX.len());
        self.prefix = match (octet, self.prefix) {
            (b'\n', _) => Some(0),
            (b' ', Some(read)) if read == PREFIX.len() => Some(read),
            (octet, Some(read)) if PREFIX.get(read) == Some(&octet) => Some(read + 1),
            _ => None,
        };
        begins
    }

    fn restart(&mut self, at: u64, octet: u8) {
        let begins = octet == b'{';
        (self.step, self.within) = (usize::from(begins), 0);
        if begins {
            self.start = at;
        }
    }
}
