//! chunkscope shows the chunks of HTTP/1.1 streams in packet captures, and
//! whether each chunk holds exactly one event.
//!
//! ```text
//! file/stdin ▶ capture ▶ packet ▶ tcp ▶ http ▶ chunk ──────┬──────▶ verdict ▶ report
//!                                                 └▶ coding ▶ event ─┘
//! ```
//!
//! Octets flow one way. Each layer is a small machine that knows only the
//! output types of the layer before it. Nothing between [`capture`] and
//! [`report`] opens a file, reads a clock or prints: all of it runs on slices.
//!
//! | layer | in → out |
//! | --- | --- |
//! | [`capture`] | octets of a file → [`capture::Frame`]s |
//! | [`packet`] | frame → [`packet::Segment`] of a TCP connection, or why not |
//! | [`tcp`] | segments → [`tcp::StreamItem`]s: in-order data, gaps, ends, per direction |
//! | [`http`] | stream items of both directions → [`http::HttpEvent`]s: heads, bodies, exchanges |
//! | [`chunk`] | octets of a chunked body → [`chunk::ChunkToken`]s and [`chunk::Chunk`] records |
//! | [`coding`] | octets of a coded body → the octets that were coded |
//! | [`websocket`] | octets of a tunnel → messages, as [`chunk::ChunkToken`]s too |
//! | [`event`] | body octets, chunk edges ignored → [`event::EventItem`]s |
//! | [`verdict`] | chunk ranges × event ranges → [`verdict::Verdict`]s |
//! | [`hints`] | judged chunks → why chunk edges aren't event edges |
//! | [`lint`] | findings → what a watch says that no correct server says |
//! | [`report`] | findings → table, walkthrough, JSON |

pub mod capture;
pub mod chunk;
pub mod cli;
pub mod coding;
pub mod event;
pub mod hints;
pub mod http;
pub mod limits;
pub mod lint;
pub mod packet;
pub mod pipeline;
pub mod redact;
pub mod report;
pub mod tcp;
pub mod units;
mod utf8;
pub mod verdict;
pub mod websocket;
