//! A lock for a few instructions, around what a host itself keeps where the engine's locks are
//! held: there neither the heap nor the standard library's locks may be used. `table` has the
//! lists that it guards. It calls the host: `preempt_off` and `spin`.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::Host;
use crate::mutant::mutated;

/// The lock is free.
const FREE: u32 = 0;
/// A thread holds the lock.
const TAKEN: u32 = 1;

/// A value of a host's and its lock, which is taken last of all: after buckets' locks and the
/// graph's. Its holder calls nothing that takes another lock or uses the heap.
#[derive(Debug, Default)]
pub(super) struct Short<T> {
    /// [`FREE`] or [`TAKEN`].
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: only the lock's holder reaches the value.
unsafe impl<T: Send> Send for Short<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Short<T> {}

impl<T> Short<T> {
    /// Makes a free lock.
    pub(super) const fn new(value: T) -> Short<T> {
        Short { word: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Returns the value of a lock that no other thread can reach.
    pub(super) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Takes the lock, for the host whose calls it serves, as the engine takes a bucket's: with
    /// preemption off, so that wakes of handlers by that host are put off meanwhile. A handler's
    /// wake takes no such lock, but the lock of a bucket, whose holder may wait for this one.
    pub(super) fn lock<'a, H: Host>(&'a self, host: &'a H) -> ShortGuard<'a, T, H> {
        let off = (!mutated!(short_named)).then(|| host.preempt_off());
        let mut tries = 0_u32;
        // Acquire: what was done under the lock before; partner: `ShortGuard::drop`. Relaxed on
        // failure: nothing learnt.
        while self.word.compare_exchange_weak(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            host.spin(tries);
            tries = tries.saturating_add(1);
        }
        ShortGuard { short: self, _off: off }
    }
}

/// A guard of the lock, by which its holder reaches the value.
pub(super) struct ShortGuard<'a, T, H: Host + 'a> {
    short: &'a Short<T>,
    /// Dropped after the lock was given up.
    _off: Option<H::Preemption<'a>>,
}

impl<T, H: Host> Deref for ShortGuard<'_, T, H> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.short.value.get() }
    }
}

impl<T, H: Host> DerefMut for ShortGuard<'_, T, H> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and this borrows the guard.
        unsafe { &mut *self.short.value.get() }
    }
}

impl<T, H: Host> Drop for ShortGuard<'_, T, H> {
    fn drop(&mut self) {
        // Release: what was done under the lock; partner: the exchange in `lock`.
        self.short.word.store(FREE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parking::Process;

    #[test]
    fn one_thread_at_a_time_has_it() {
        // SAFETY: no engine serves it.
        let (host, count) = (unsafe { Process::new(2, 1) }, Short::<u64>::default());
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..20_000).for_each(|_| *count.lock(&host) += 1));
            }
        });
        assert_eq!(*count.lock(&host), 80_000);
    }
}
