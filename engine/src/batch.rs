//! Handles of waiters that were chosen under a bucket's lock, to be unparked behind it.

use crate::Host;
use crate::waiter::Handle;

/// How many waiters are woken under one hold of a lock: the rest of a wake takes it again.
pub(crate) const BATCH: usize = 16;

pub(crate) struct Batch<H: Host> {
    handles: [Option<Handle<H>>; BATCH],
    len: usize,
}

impl<H: Host> Batch<H> {
    pub(crate) fn new() -> Batch<H> {
        Batch { handles: [const { None }; BATCH], len: 0 }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == BATCH
    }

    /// One more; there is room.
    pub(crate) fn push(&mut self, handle: Handle<H>) {
        self.handles[self.len] = Some(handle);
        self.len += 1;
    }

    /// Unparks them in order; no lock is held. Whether it was full: perhaps there are more.
    pub(crate) fn unpark(&mut self, host: &H) -> bool {
        let full = self.is_full();
        let len = core::mem::take(&mut self.len);
        for handle in self.handles[..len].iter_mut().filter_map(Option::take) {
            handle.unpark(host);
        }
        full
    }
}
