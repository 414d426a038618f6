//! Input that nobody would send, and conversations whose truth is known
//! because they were built: whatever comes, nothing is invented, everything
//! ends, and what was sent whole is found.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod bounds;
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

use proptest::test_runner::{Config, RngSeed};

/// The same cases at each run; others with another number in `HOSTILE_SEED`.
fn config(cases: u32) -> Config {
    let seed = std::env::var("HOSTILE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    Config {
        cases,
        max_shrink_iters: 400,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        ..Config::default()
    }
}
