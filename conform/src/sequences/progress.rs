//! How far sequences have come: what a child process that asks them tells its parent.

use core::sync::atomic::{AtomicU64, Ordering};

use super::operations::Operations;
use crate::syscalls::Syscalls;

/// How far the sequences have come; readable from another process, in memory that both share.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Progress {
    /// The seed of the sequence that is asked, or comes next.
    pub(crate) seed: AtomicU64,
    pub(crate) sequences: AtomicU64,
    pub(crate) calls: AtomicU64,
    /// The operations that are not asked: those that the kernel does not have, and `without`.
    pub(crate) lacks: AtomicU64,
    /// The operations that are not to be asked.
    pub(crate) without: AtomicU64,
}

impl Progress {
    pub(crate) fn operations(&self) -> Operations {
        Operations::of(self.lacks.load(Ordering::SeqCst))
    }

    /// Asks the kernel what it does not have, which is not asked, and neither is what the caller leaves out.
    pub(crate) fn find_absent(&self, kernel: &dyn Syscalls) {
        let without = Operations::of(self.without.load(Ordering::SeqCst));
        self.lacks.store(Operations::absent(kernel).and(without).bits(), Ordering::SeqCst);
    }
}
