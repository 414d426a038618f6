//! Captures that were damaged.
