//! Where a key is: its bucket and its gate. Found by `table`.

use crate::atomic::prefetch;
use crate::table::bucket::{Bucket, Locked};
use crate::table::lock_word::Gate;
use crate::{Host, Space};

/// A key's bucket, its gate, which is reached without touching the bucket's line, and what the key's waiters leave there.
pub(crate) struct Spot<'a, H: Host> {
    pub(crate) bucket: &'a Bucket<H>,
    pub(crate) gate: &'a Gate,
    pub(crate) tag: u32,
}

impl<H: Host> Clone for Spot<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H: Host> Copy for Spot<'_, H> {}

impl<'a, H: Host> Spot<'a, H> {
    /// In which order two buckets are locked: by the tables' ranks, then by address.
    pub(crate) fn order(&self) -> (u32, usize) {
        (self.bucket.table().rank(), core::ptr::from_ref(self.bucket).addr())
    }

    /// Takes the lock.
    #[inline(always)]
    pub(crate) fn lock(self, host: &'a H, space: &'a Space<H>) -> Locked<'a, H> {
        self.lock_with(host, space, 0)
    }

    /// Takes the lock, in one step with leaving the key's tag in the gate: to queue there. The tag is gone with the lock if nothing was queued.
    #[inline(always)]
    pub(crate) fn enter(self, host: &'a H, space: &'a Space<H>) -> Locked<'a, H> {
        self.lock_with(host, space, self.tag)
    }

    #[inline(always)]
    fn lock_with(self, host: &'a H, space: &'a Space<H>, tag: u32) -> Locked<'a, H> {
        // Both lines come at once.
        prefetch(self.bucket);
        Locked::new(self, self.gate.lock(host, tag), space)
    }
}
