//! chunkscope shows the chunks of HTTP/1.1 streams in packet captures, and
//! whether each chunk holds exactly one event.
//!
//! # In ten minutes
//!
//! An [`Analysis`](pipeline::Analysis) reads captures and tells a
//! [`Report`](report::Report) what it finds, one [`Finding`](report::Finding)
//! after the other: an exchange, an event, a chunk with its verdict, what ends a
//! body. That is nearly all of it:
//!
//! ```
//! use std::fs::File;
//! use std::io;
//!
//! use chunkscope::pipeline::{Analysis, options::Options};
//! use chunkscope::report::{Conclusion, Finding, Outcome, Report};
//!
//! /// Collects what each chunk is said to be.
//! #[derive(Default)]
//! struct Verdicts(Vec<String>);
//!
//! impl Report for Verdicts {
//!     fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
//!         if let Finding::Chunk(judged) = finding {
//!             let (hex, size) = (judged.chunk.size_hex(), judged.chunk.size);
//!             self.0.push(format!("0x{hex} = {size}: {}", judged.verdict.name()));
//!         }
//!         Ok(())
//!     }
//!
//!     fn finish(&mut self, _: &Conclusion) -> io::Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options::default();
//! let mut report = Verdicts::default();
//! let mut analysis = Analysis::new(&options, &mut report);
//! let path = "testdata/k8s-watch-coredns.pcap";
//! analysis.capture(path, File::open(path)?)?;
//! let conclusion = analysis.conclude(false)?;
//!
//! assert_eq!(conclusion.outcome, Outcome::Pass);
//! assert_eq!(report.0, ["0x31a = 794: one", "0x31d = 797: one"]);
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! | --- | --- |
//! | analyse files, pipes, several parts of a recording, raw responses | [`pipeline::Analysis`] |
//! | say what chunks are to hold, what may fail, which connections count | [`pipeline::options::Options`] |
//! | feed segments of one's own | [`pipeline::Analysis::segments`] |
//! | write a report of one's own | [`report::Report`] and [`report::Finding`] |
//! | use one of the program's | [`report::table`], [`report::json`], [`report::jsonl`] and their neighbours |
//! | bound memory otherwise | [`limits::Limits`] |
//!
//! The repository has three programs to start from, `examples/verdicts.rs`,
//! `examples/sizes.rs` and `examples/segments.rs`.
//!
//! What is in this table keeps to semantic versioning: within a minor version
//! (as long as the major one is 0) nothing is taken away. Enums that will grow
//! are non-exhaustive, and options are made with `..Options::default()`. The
//! layers below are public so that they can be used and tested alone; they
//! change more freely.
//!
//! # The layers
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
//! | [`redact`] | heads and payloads → the same without what is secret in them |
//! | [`report`] | findings → table, walkthrough, page, JSON, reports for CI |

pub mod capture;
pub mod chunk;
#[doc(hidden)]
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
