//! Credentials that stand anywhere in a text: behind `Bearer` and `Basic`, and
//! JSON Web Tokens. The text comes in any pieces.

use std::ops::Range;

/// Octets behind `Bearer` from which on they are credentials and not a word.
const TOKEN: u64 = 8;

/// Octets of the shortest JSON Web Token.
const WEB_TOKEN: u64 = 24;

/// Finds credentials in any text: what stands behind `Bearer` and `Basic`, and
/// JSON Web Tokens.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The last letters, in lower case, as many as `bearer` has.
    letters: [u8; 6],
    count: usize,
    /// Whether a scheme and at least a blank have just been read.
    scheme: bool,
    /// Credentials that are read.
    run: Option<Run>,
    /// Where the current word began.
    word: u64,
}

#[derive(Debug)]
struct Run {
    start: u64,
    end: u64,
    dots: u64,
    /// Whether a scheme stands in front.
    scheme: bool,
}

impl Run {
    fn is_secret(&self) -> bool {
        let len = self.end - self.start;
        if self.scheme { len >= TOKEN } else { len >= WEB_TOKEN && self.dots >= 2 }
    }
}

impl Words {
    /// Reads octets at an offset; `found` takes the credentials that end.
    pub(super) fn read(&mut self, offset: u64, octets: &[u8], found: &mut dyn FnMut(Range<u64>)) {
        for (at, &octet) in (offset..).zip(octets) {
            if let Some(run) = &mut self.run {
                if is_token(octet) {
                    run.end = at + 1;
                    run.dots += u64::from(octet == b'.');
                    continue;
                }
                self.end(found);
            }
            if octet == b' ' {
                let letters = self.letters.get(..self.count).unwrap_or_default();
                self.scheme = (self.scheme && self.count == 0) || matches!(letters, b"bearer" | b"basic");
                self.count = 0;
                continue;
            }
            if self.scheme && is_token(octet) {
                self.run = Some(Run { start: at, end: at + 1, dots: 0, scheme: true });
                (self.scheme, self.count) = (false, 0);
                continue;
            }
            self.scheme = false;
            if !is_token(octet) {
                self.count = 0;
                continue;
            }
            if self.count == 0 {
                self.word = at;
            }
            let web_token = self.is_web_token_so_far(octet);
            match self.letters.get_mut(self.count) {
                Some(place) => {
                    // `eyJ` counts by its case.
                    *place = if web_token { octet } else { octet.to_ascii_lowercase() };
                    self.count += 1;
                    if self.count == 3 && self.letters.starts_with(b"eyJ") {
                        self.run = Some(Run { start: self.word, end: at + 1, dots: 0, scheme: false });
                        self.count = 0;
                    }
                }
                // A longer word; its own first letters don't matter any more.
                None => self.letters = [b'?'; 6],
            }
        }
    }

    fn is_web_token_so_far(&self, octet: u8) -> bool {
        let read = self.letters.get(..self.count).unwrap_or_default();
        b"eyJ".get(..self.count) == Some(read) && b"eyJ".get(self.count) == Some(&octet)
    }

    fn end(&mut self, found: &mut dyn FnMut(Range<u64>)) {
        if let Some(run) = self.run.take()
            && run.is_secret()
        {
            found(run.start..run.end);
        }
        self.count = 0;
    }

    /// The text is over.
    pub(super) fn finish(mut self, found: &mut dyn FnMut(Range<u64>)) {
        self.end(found);
    }

    /// Whether what hasn't ended is long enough to be credentials.
    pub(super) fn holds_secret(&self) -> bool {
        self.run.as_ref().is_some_and(Run::is_secret)
    }

    /// Where credentials begin that haven't ended.
    pub(super) fn open(&self) -> Option<u64> {
        self.run.as_ref().map(|run| run.start)
    }
}

/// What credentials consist of (token68, RFC 9110 §11.2).
const fn is_token(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
}
