//! The coding layer: the octets of a coded body → the octets that were coded
//! (RFC 9110 §8.4.1), decoded as they arrive.
//!
//! It stands between `chunk` and `event` where a body has codings: those of
//! `Content-Encoding`, and those of `Transfer-Encoding` before `chunked`. What
//! it believes is that the octets which it is given follow each other; octets
//! that the capture lost end it. What it promises:
//!
//! * **Nothing is held back.** When [`Decoder::read`] returns, all octets that
//!   what was read allows to decode are out. So each decoded octet belongs to
//!   the chunk whose octets completed it, as a client sees it, and cutting the
//!   input differently changes nothing.
//! * **Streams may follow each other** where the format says so: gzip members
//!   (RFC 1952 §2.2) and zstd frames (RFC 8878 §3). Anything else behind a
//!   stream's end is a fault.
//! * **Memory and work are bounded.** Of each coding there is its window; what
//!   a few octets blow up to more than [`Limits::coding_ratio`] allows is
//!   decoded up to that octet, wherever the input was cut.
//!
//! The formats are the crates' affair (flate2, brotli, zstd); what stands here
//! is how streams begin, follow each other and end.

mod layer;
#[cfg(test)]
mod tests;

use self::layer::Layer;
use crate::limits::Limits;

/// The most codings of a body that are decoded: as curl has it. Each would
/// need a window of its own.
pub const MOST_CODINGS: usize = 5;

/// Octets of a body for which the layers are granted more at a time. Between
/// two grants what may be decoded is fixed, so that cuts of the input don't
/// move where it ends.
const GRANT: usize = 4 << 10;

/// A coding that is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// `gzip`, `x-gzip` (RFC 1952).
    Gzip,
    /// `deflate`: zlib (RFC 1950), or deflate without it (RFC 1951), as some
    /// servers send it.
    Deflate,
    /// `br` (RFC 7932).
    Brotli,
    /// `zstd` (RFC 8878).
    Zstd,
}

impl Coding {
    /// The coding of a name (RFC 9110 §8.4.1: case doesn't matter, and `x-gzip`
    /// is `gzip`); `None` where it isn't decoded.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match () {
            () if is("gzip") || is("x-gzip") => Some(Self::Gzip),
            () if is("deflate") => Some(Self::Deflate),
            () if is("br") => Some(Self::Brotli),
            () if is("zstd") => Some(Self::Zstd),
            () => None,
        }
    }

    /// Its name in the registry of codings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// Why nothing more of a body is decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The sender's octets are no stream of the coding: what is wrong, a clause.
    Corrupt(String),
    /// They decode to more than is believed.
    TooMuch,
}

/// Decodes one body.
#[derive(Debug)]
pub struct Decoder {
    /// In the order in which they are decoded: the last one applied first.
    layers: Vec<Layer>,
    /// Octets of the body up to the next grant.
    until_grant: usize,
    ratio: u64,
    fault: Option<Fault>,
}

impl Decoder {
    /// A decoder in front of the first octet of a body with these codings, in
    /// the order in which they were applied.
    #[must_use]
    pub fn new(codings: &[Coding], limits: &Limits) -> Self {
        Self {
            layers: codings.iter().rev().map(|coding| Layer::new(*coding, limits.coding_allowance)).collect(),
            until_grant: GRANT,
            ratio: limits.coding_ratio,
            fault: None,
        }
    }

    /// Reads the next octets of the coded body, and gives what they decode to
    /// `sink`, in pieces.
    ///
    /// # Errors
    /// Why nothing more can be decoded; what came before that is out. Every
    /// further call says the same.
    pub fn read(&mut self, mut octets: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        while !octets.is_empty() {
            let (now, later) = octets.split_at_checked(self.until_grant).unwrap_or((octets, &[]));
            octets = later;
            if let Err(fault) = pass(&mut self.layers, now, sink) {
                self.fault = Some(fault.clone());
                return Err(fault);
            }
            self.until_grant -= now.len();
            if self.until_grant == 0 {
                self.until_grant = GRANT;
                let more = self.ratio.saturating_mul(GRANT as u64);
                self.layers.iter_mut().for_each(|layer| layer.grant(more));
            }
        }
        Ok(())
    }

    /// The coding whose stream has begun and not ended, if the body ends here.
    #[must_use]
    pub fn unfinished(&self) -> Option<Coding> {
        self.layers.iter().find(|layer| layer.is_amid()).map(Layer::coding)
    }
}

/// Decodes octets through the layers, one after the other.
fn pass(layers: &mut [Layer], octets: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
    let Some((layer, inner)) = layers.split_first_mut() else {
        sink(octets);
        return Ok(());
    };
    layer.read(octets, &mut |decoded| pass(inner, decoded, sink))
}
