//! Looking at all that is queued, without taking it.

use core::ptr::NonNull;

use super::super::head::Head;
use super::Queue;
use crate::atomic::Ordering;

impl Queue {
    /// Calls `visit` with each head that is queued: of the batch that was taken, and of those that came
    /// since. A head that is being called is not queued any more. `visit` must not panic, nor call the
    /// queue.
    ///
    /// Nothing is changed, so that the child of a fork finds the queue whole at any instruction.
    pub(in crate::rcu) fn for_each_queued(&self, mut visit: impl FnMut(NonNull<Head>)) {
        // Only the holder of the lock takes heads out, so all that is met here stays alive.
        self.reclaiming.lock();
        // Acquire: partner of the releases in `link`, of this head and, since each is an exchange, of
        // all below it.
        let incoming = self.incoming.last.load(Ordering::Acquire);
        // Relaxed: changed under the lock.
        let batch = self.batch.load(Ordering::Relaxed);
        for mut head in [incoming, batch] {
            while let Some(this) = NonNull::new(head) {
                // SAFETY: queued, and not taken out meanwhile.
                head = unsafe { this.as_ref() }.next_unmarked();
                visit(this);
            }
        }
        // SAFETY: locked above.
        unsafe { self.reclaiming.unlock() };
    }
}
