//! Input that nobody would send, and conversations whose truth is known
//! because they were built: whatever comes, nothing is invented, everything
//! ends, and what was sent whole is found.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod built;
mod complete;
mod damaged;
mod expected;
mod lossy;
mod record;
#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/segments.rs"]
mod segments;
