//! The hints layer: judged chunks → why chunk edges aren't event edges, and
//! whether something holds events back.
//!
//! A verdict says that a chunk isn't one event; a hint says what made it so,
//! where the capture shows that. It believes little: a hint needs a pattern
//! that repeats and that nothing in the exchange contradicts, and it says what
//! was seen, not more. A stream that only resembles a cause gets no hint:
//! precision before recall. `docs/hints.md` has each cause with its evidence.
//!
//! [`Evidence`] takes the judged chunks of one response as they come and keeps
//! counts of them, never the chunks: its size is bounded. [`pace`] looks at
//! the times alone.

mod evidence;
pub mod pace;

pub use evidence::Evidence;

use crate::report::text::{range, ranges};

/// Runs of chunks that are named of a hint in words.
const NAMED_RANGES: usize = 8;

/// Chunks that a hint lists; the others are counted.
pub const LISTED_CHUNKS: usize = 100;

/// What made chunk edges differ from event edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// A write buffer of 2,048 octets ran full: Go's net/http.
    NetHttp2048,
    /// Events were carried in pieces of 16,384 octets, as HTTP/2 frames.
    Http2Frame16384,
    /// Octets were copied in blocks of 32,768: Go's reverse proxy.
    GoProxy32768,
    /// A proxy passed on what it read: multiples of 4,096 octets.
    ProxyRead4096,
    /// The objects that existed already were sent at once.
    InitialState,
    /// Events came faster than they were flushed.
    Burst,
    /// The length prefix of a protobuf event was written by itself.
    ProtobufPrefix,
    /// A compressor's flushes are the chunk edges.
    ContentCodingFlush,
    /// nginx passed on the contents of its buffers.
    Nginx4kBuffer,
    /// haproxy rewrote the chunks.
    Haproxy,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 10] = [
        Self::NetHttp2048,
        Self::Http2Frame16384,
        Self::GoProxy32768,
        Self::ProxyRead4096,
        Self::InitialState,
        Self::Burst,
        Self::ProtobufPrefix,
        Self::ContentCodingFlush,
        Self::Nginx4kBuffer,
        Self::Haproxy,
    ];

    /// Its code in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetHttp2048 => "net-http-2048",
            Self::Http2Frame16384 => "http2-frame-16384",
            Self::GoProxy32768 => "go-proxy-32768",
            Self::ProxyRead4096 => "proxy-read-4096",
            Self::InitialState => "initial-state",
            Self::Burst => "burst",
            Self::ProtobufPrefix => "protobuf-prefix",
            Self::ContentCodingFlush => "content-coding-flush",
            Self::Nginx4kBuffer => "nginx-4k-buffer",
            Self::Haproxy => "haproxy",
        }
    }

    /// What to do about it, in sentences.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::NetHttp2048 => {
                "A client should look for the end of each event in the body and not in the chunks. A server in Go \
                 that is to send one event a chunk flushes after each (http.Flusher)."
            }
            Self::Http2Frame16384 => {
                "A client should look for the end of each event in the body: no setting keeps events over 16,384 \
                 octets in one piece. Recording at the server itself, in front of the hop, shows its own chunks."
            }
            Self::GoProxy32768 | Self::ProxyRead4096 => {
                "A client should look for the end of each event in the body: a proxy may cut a body anywhere. \
                 Recording between the proxy and its server shows whether the server's own chunks are whole."
            }
            Self::InitialState => {
                "It happens once a watch. A client should look for the end of each event in the body; one that \
                 lists first and watches from the list's resourceVersion isn't sent these events."
            }
            Self::Burst => {
                "A client should look for the end of each event in the body. A server that is to send one event a \
                 chunk flushes after each event, also while others wait."
            }
            Self::ProtobufPrefix => {
                "A client should read the length prefix, then that many octets, whatever the chunks are."
            }
            Self::ContentCodingFlush => {
                "A client should decode the body as a stream and look for events in what comes out. Without \
                 compression (Accept-Encoding: identity; in nginx, gzip off for this location) the chunks are the \
                 server's own."
            }
            Self::Nginx4kBuffer => {
                "In nginx, proxy_buffering off for this location (or X-Accel-Buffering: no in the response) sends \
                 events on without delay; larger events are then still cut by proxy_buffer_size. A client should \
                 look for the end of each event in the body."
            }
            Self::Haproxy => {
                "A client should look for the end of each event in the body: the proxy frames what it has in its \
                 buffer (tune.bufsize in haproxy)."
            }
        }
    }
}

/// A cause, with what was seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The cause.
    pub cause: Cause,
    /// The chunks that show it, ascending: the first [`LISTED_CHUNKS`].
    pub chunks: Vec<u64>,
    /// How many show it in all.
    pub count: u64,
    /// What was seen, one sentence without a full stop.
    pub message: String,
}

impl Hint {
    /// The chunks that show it, in words: `chunks 1–3, 7, …`.
    #[must_use]
    pub fn places(&self) -> String {
        let runs = ranges(self.chunks.iter().copied());
        let mut chunks: Vec<_> =
            runs.iter().take(NAMED_RANGES).map(|&(first, last)| range(first, last)).collect();
        if runs.len() > NAMED_RANGES || self.count > self.chunks.len() as u64 {
            chunks.push("…".to_owned());
        }
        let noun = if self.count == 1 { "chunk" } else { "chunks" };
        format!("{noun} {}", chunks.join(", "))
    }

    /// The hint in words: what was seen, then what to do.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{}. {}", self.message, self.cause.advice())
    }
}

/// Chunks that have something in common: the first few by number, all counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Noted {
    count: u64,
    chunks: Vec<u64>,
}

impl Noted {
    fn add(&mut self, chunk: u64) {
        self.count += 1;
        if self.chunks.len() < LISTED_CHUNKS {
            self.chunks.push(chunk);
        }
    }

    fn hint(self, cause: Cause, message: String) -> Hint {
        Hint { cause, chunks: self.chunks, count: self.count, message }
    }
}
