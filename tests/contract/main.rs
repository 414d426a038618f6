//! Each rule of the contract, seen from outside: a small conversation goes in
//! as a capture, and what the report says of it is held to the rule. The
//! tests are named after the rules; `docs/rfc-map.md` lists which holds which.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/segments.rs"]
mod segments;

mod chunks;
mod codings;
mod exchanges;
mod framing;
mod joining;
mod kinds;
mod map;
mod problems;
mod raw;
mod run;
mod talk;
mod times;
mod totals;
mod verdicts;
mod websocket;
