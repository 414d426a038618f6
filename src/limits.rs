//! The one place that bounds memory. Each number has its reason beside it;
//! crossing one yields a value that reaches the report.

/// Octets of a name or an id of an event, as written: what Kubernetes allows
/// (253) and JSON can escape of it (six times that) is far below. Longer ones
/// are unknown.
pub const EVENT_LITERAL: usize = 4 << 10;

/// Characters shown of an event's data: what the report format settles.
pub const EVENT_DATA_CHARACTERS: usize = 120;

/// Octets of a watch event in protobuf, by the length in front of it: what
/// client-go reads at most (`streaming.NewDecoder`). A larger length is none. Of a
/// string in CBOR the same.
pub const WATCH_FRAME: u32 = 16 << 20;

/// How deep a watch event in CBOR may be nested: each level takes memory, and
/// Kubernetes itself reads 64.
pub const CBOR_DEPTH: usize = 4096;

/// Bounds on what the layers keep. All sizes are octets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// A read of the capture: larger blocks leave the processor's cache.
    pub read_block: usize,
    /// Batches of a capture that threads have under way, each of two read
    /// blocks: enough that no thread waits while another writes, and few enough
    /// that what is found in them fits the memory of a small container.
    pub batches: usize,
    /// Octets of work that are counted, now and then, of one thread where several
    /// are at it, and of these, to see which is faster: some milliseconds, or
    /// batches. What it takes to turn to the one or the other isn't counted.
    pub trial: usize,
    /// The largest record or block of a capture file that is still believed:
    /// a length field that was damaged must not fill memory. Wireshark's own
    /// cap for a packet is 256 KiB, for D-Bus 128 MiB; blocks may be larger.
    pub capture_block: usize,
    /// Octets that arrived ahead of a gap, kept for one direction of a stream:
    /// twice the largest receive window that Linux grows to by default (6 MiB).
    pub out_of_order_stream: usize,
    /// The same for all streams together.
    pub out_of_order_total: usize,
    /// Packets of a connection that a gap may outlive its acknowledgement by:
    /// captures on several interfaces or queues interleave this far.
    pub gap_patience_packets: u32,
    /// A head (start line and fields): the largest that common servers accept.
    pub head: usize,
    /// A chunk-size line with its extensions: what the contract settles.
    pub size_line: usize,
    /// A trailer section, like a head.
    pub trailer: usize,
    /// Payload kept of one chunk for the reports.
    pub payload: usize,
    /// Octets held back while looking for a place to join a stream: the
    /// largest chunk that such a place can be recognised by.
    pub join_window: usize,
    /// Requests of a stream that await their response: far more than any
    /// client pipelines, and few enough where the responses weren't captured.
    pub pipelined: usize,
    /// Streams with state; the longest idle one is let go beyond that.
    pub open_streams: usize,
    /// Streams that are over, of which a late packet is told from the first of
    /// another, of each version of IP; at most 65,536. Up to twice as many are
    /// remembered. Packets come late by a retransmission timeout or two, and so
    /// many end in that time on a busy server. With more, looking one up leaves the
    /// processor's cache.
    pub ended_streams: usize,
    /// Octets of incomplete fragmented datagrams, all together.
    pub fragments: usize,
    /// Octets that each of a body's codings may yield, for each octet of the
    /// body: twice what deflate can (1,032). Only brotli and zstd reach it, on octets
    /// that repeat without end.
    pub coding_ratio: u64,
    /// Octets that they may yield besides: a few large events that are alike.
    pub coding_allowance: u64,
    /// Chunks whose verdict is known but whose events are not yet.
    pub pending_chunks: usize,
    /// Payload octets kept with such chunks.
    pub pending_payload: usize,
    /// Objects of a watch that `--lint` follows: twice the Pods of the largest
    /// cluster that Kubernetes promises to run (150,000).
    pub lint_objects: usize,
    /// Ended watches that `--lint` remembers, to compare with those that begin:
    /// a few for each node of such a cluster.
    pub lint_watches: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_block: 256 << 10,
            batches: 3,
            trial: 1 << 20,
            capture_block: 128 << 20,
            out_of_order_stream: 12 << 20,
            out_of_order_total: 128 << 20,
            gap_patience_packets: 64,
            head: 64 << 10,
            size_line: 4 << 10,
            trailer: 64 << 10,
            payload: 16 << 20,
            join_window: 4 << 20,
            pipelined: 1024,
            open_streams: 100_000,
            ended_streams: 14 << 10,
            fragments: 16 << 20,
            coding_ratio: 2048,
            coding_allowance: 16 << 20,
            pending_chunks: 4096,
            pending_payload: 16 << 20,
            lint_objects: 300_000,
            lint_watches: 20_000,
        }
    }
}
