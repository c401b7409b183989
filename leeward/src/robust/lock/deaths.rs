//! Deaths of which a thread tells, and not the kernel: that of an owner that the kernel did not
//! reach, and a release that is like a death.

use super::{Lock, OWNER, OWNER_DIED, WAITERS};
use crate::atomic::Ordering;
use crate::futex::{Futex, Shared};
use crate::robust::ListError;
use crate::robust::current::{Current, current};

impl Lock {
    /// Reports the death of `owner`, which the kernel did not. Returns false if `owner` does not
    /// hold the lock.
    ///
    /// # Safety
    /// No thread holds the lock.
    pub(in crate::robust) unsafe fn declare_dead(&'static self, owner: u32) -> Result<bool, ListError> {
        let me = current()?;
        me.list.begin(&self.entry);
        // Relaxed: the exchange decides.
        let mut word = self.word.load(Ordering::Relaxed);
        let was_owner = loop {
            if owner == 0 || word & OWNER != owner {
                break false;
            }
            let dead = word & WAITERS | OWNER_DIED;
            // AcqRel: on behalf of the dead owner, whose stores this thread has seen. Relaxed on
            // failure: tried again.
            match self.word.compare_exchange(word, dead, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break true,
                Err(now) => word = now,
            }
        };
        if was_owner && word & WAITERS != 0 {
            Shared::wake(&self.word, 1);
        }
        me.list.end();
        Ok(was_owner)
    }

    /// Gives it up as a death would: the next owner is told that an owner died. Does nothing in the
    /// child of a fork.
    ///
    /// # Safety
    /// As for [`unlock`](Self::unlock).
    #[cold]
    #[inline(never)]
    pub(in crate::robust) unsafe fn unlock_as_dead(&'static self, me: Current) {
        if !me.is_here() {
            return;
        }
        me.list.begin(&self.entry);
        // SAFETY: the caller's promise: linked when it was taken.
        unsafe { self.entry.unlink() };
        // Relaxed: only this thread stores its own number. A word that was overwritten is left as
        // it is.
        if self.word.load(Ordering::Relaxed) & OWNER == me.id() {
            // Release: partner of the acquires in `lock` and `contend`. Leaves `OWNER_DIED`, and
            // `WAITERS` if it was there.
            let old = self.word.fetch_sub(me.id().wrapping_sub(OWNER_DIED), Ordering::Release);
            if old & WAITERS != 0 {
                Shared::wake(&self.word, 1);
            }
        }
        me.list.end();
    }
}
