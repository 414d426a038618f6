//! The fuzz targets' functions, which `cargo test` runs too: see README.md.

#[path = "../../tests/support/targets.rs"]
pub mod targets;
