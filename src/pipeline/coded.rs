//! A body with codings: where its decoded octets are, and why no more come.

use crate::coding::{Coding, Decoder, Fault};

use super::options::Options;

/// Why nothing more can be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stop {
    /// The capture lacks octets of it.
    Lost,
    /// The sender's octets are no stream of the coding.
    Corrupt(String),
    /// They decode to more than is believed.
    TooMuch,
}

const LOST: &str = "the capture lost octets before: what is compressed can't be decoded without them";
const TOO_MUCH: &str =
    "what is compressed decodes to so much more than itself that it wasn't decoded to its end";

impl Stop {
    /// Why nobody can know what a chunk holds; `None` where the sender is at
    /// fault.
    pub(super) const fn unknown(&self) -> Option<&'static str> {
        match self {
            Self::Lost => Some(LOST),
            Self::TooMuch => Some(TOO_MUCH),
            Self::Corrupt(_) => None,
        }
    }
}

/// Decodes one body.
#[derive(Debug)]
pub(super) struct Coded {
    decoder: Decoder,
    /// Octets that came out.
    decoded: u64,
    /// How many of a chunk's are kept.
    keep: usize,
    stop: Option<Stop>,
}

impl Coded {
    pub(super) fn new(codings: &[Coding], options: &Options) -> Self {
        Self {
            decoder: Decoder::new(codings, &options.limits),
            decoded: 0,
            keep: options.keep_payload.min(options.limits.payload),
            stop: None,
        }
    }

    /// How many octets came out so far.
    pub(super) const fn decoded(&self) -> u64 {
        self.decoded
    }

    /// Why nobody can know what the chunks to come hold.
    pub(super) fn unknown(&self) -> Option<&'static str> {
        self.stop.as_ref().and_then(Stop::unknown)
    }

    /// Decodes octets. What comes out goes to `sink`, with its place in the
    /// decoded body and how much of a chunk is kept. Why nothing more comes is
    /// told once.
    pub(super) fn read(&mut self, octets: &[u8], sink: &mut dyn FnMut(u64, &[u8], usize)) -> Option<Stop> {
        if self.stop.is_some() {
            return None;
        }
        let (decoded, keep) = (&mut self.decoded, self.keep);
        let read = self.decoder.read(octets, &mut |octets| {
            sink(*decoded, octets, keep);
            *decoded = decoded.saturating_add(octets.len() as u64);
        });
        self.stop = match read {
            Ok(()) => None,
            Err(Fault::Corrupt(message)) => Some(Stop::Corrupt(message)),
            Err(Fault::TooMuch) => Some(Stop::TooMuch),
        };
        self.stop.clone()
    }

    /// The capture lacks the next octets: nothing behind them can be decoded.
    /// Tells so once, unless nothing was decoded any more.
    pub(super) fn lose(&mut self) -> Option<Stop> {
        if self.stop.is_some() {
            return None;
        }
        self.stop = Some(Stop::Lost);
        self.stop.clone()
    }

    /// Whether too much came out.
    pub(super) fn is_too_much(&self) -> bool {
        self.stop == Some(Stop::TooMuch)
    }

    /// The coding whose stream isn't over, if the body ends here.
    pub(super) fn unfinished(&self) -> Option<Coding> {
        if self.stop.is_some() { None } else { self.decoder.unfinished() }
    }

    /// Why a chunk holds nothing to judge.
    pub(super) fn nothing_decoded(&self) -> &'static str {
        match self.stop {
            Some(Stop::Corrupt(_)) => {
                "what is compressed is corrupt before: nothing behind that can be decoded"
            }
            _ => "completes no decoded octet: the compressor's state alone",
        }
    }
}
