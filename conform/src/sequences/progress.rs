//! How far sequences have come: what a child process that asks them tells its parent.

use core::sync::atomic::{AtomicU64, Ordering};

use super::operations::Operations;

/// How far the sequences have come; readable from another process, in memory that both share.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Progress {
    /// The seed of the sequence that is asked, or comes next.
    pub(crate) seed: AtomicU64,
    pub(crate) sequences: AtomicU64,
    pub(crate) calls: AtomicU64,
    pub(crate) lacks: AtomicU64,
}

impl Progress {
    pub(crate) fn operations(&self) -> Operations {
        Operations::of(self.lacks.load(Ordering::SeqCst))
    }
}
