//! The pipeline: a capture's octets through all layers → findings.

pub mod options;
