//! What tells without a look that two heads are the same: that both are copies of
//! one of those that were read last.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{RequestHead, ResponseHead};
use crate::units::Stamp;

/// Which head another is a copy of but for its stamp, if that is known. No part of
/// what it says: heads are equal whatever they are copies of. Clones have none,
/// since whoever has one may change it.
#[derive(Default)]
pub(crate) struct Model(Option<NonZeroU64>);

impl Model {
    /// A model for a head of which there may be copies.
    pub(crate) fn new() -> Self {
        /// How many there were in all.
        static MODELS: AtomicU64 = AtomicU64::new(0);
        Self(NonZeroU64::new(MODELS.fetch_add(1, Ordering::Relaxed) + 1))
    }

    /// Whether the heads of both are known to be the same.
    #[inline]
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.is_some() && self.0 == other.0
    }

    /// Whether it is known.
    #[inline]
    pub(crate) const fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// The same, for what stays a copy.
    #[inline]
    pub(crate) const fn share(&self) -> Self {
        Self(self.0)
    }
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Model {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Model {}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

impl RequestHead {
    /// Makes it a copy of a head, but for the stamp.
    #[inline]
    pub(crate) fn copy(&mut self, head: &Self, stamp: Option<Stamp>) {
        if !self.model.is(&head.model) {
            *self = Self { model: head.model.share(), ..head.clone() };
        }
        self.stamp = stamp;
    }
}

impl ResponseHead {
    /// Makes it a copy of a head, but for the stamp.
    #[inline]
    pub(crate) fn copy(&mut self, head: &Self, stamp: Option<Stamp>) {
        if !self.model.is(&head.model) {
            *self = Self { model: head.model.share(), ..head.clone() };
        }
        self.stamp = stamp;
    }
}
