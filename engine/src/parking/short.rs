//! A lock for a few instructions, around what the host itself keeps where the engine's locks are
//! held: there neither the heap nor the standard library's locks may be used. `exits` and `lending`
//! use it; it waits by `spin`, and is noted in `held`.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, Ordering};
use std::vec::Vec;

use super::{Process, deferred, held, spin};
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
    /// Takes the lock, for the host that the value is part of: wakes of handlers by that host are
    /// put off meanwhile. A handler's wake takes no such lock, but the lock of a bucket, whose
    /// holder may wait for this one.
    pub(super) fn lock<'a>(&'a self, host: &'a Process) -> Locked<'a, T> {
        held::enter(if mutated!(short_named) { core::ptr::null() } else { host });
        let mut tries = 0_u32;
        // Acquire: what was done under the lock before; partner: `Locked::drop`. Relaxed on
        // failure: nothing learnt.
        while self.word.compare_exchange_weak(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            spin(tries);
            tries = tries.saturating_add(1);
        }
        Locked { short: self, host }
    }
}

/// A list that grows where no lock is held.
impl<T> Short<Vec<T>> {
    /// Locks a list that has room for `count` entries in all, and for one more than it has. The
    /// caller holds no lock, since it may allocate.
    pub(super) fn lock_with_room<'a>(&'a self, host: &'a Process, count: usize) -> Locked<'a, Vec<T>> {
        loop {
            let list = self.lock(host);
            let wanted = count.max(list.len() + 1);
            if list.capacity() >= wanted {
                return list;
            }
            drop(list);
            let mut larger = Vec::with_capacity(2 * wanted);
            let mut list = self.lock(host);
            if larger.capacity() > list.capacity() {
                larger.append(&mut list);
                core::mem::swap(&mut *list, &mut larger);
            }
            drop(list);
            // The vector that is empty now is freed where no lock is held.
            drop(larger);
        }
    }
}

/// A guard of the lock, by which its holder reaches the value.
#[derive(Debug)]
pub(super) struct Locked<'a, T> {
    short: &'a Short<T>,
    host: &'a Process,
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.short.value.get() }
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and this borrows the guard.
        unsafe { &mut *self.short.value.get() }
    }
}

impl<T> Drop for Locked<'_, T> {
    fn drop(&mut self) {
        // Release: what was done under the lock; partner: the exchange in `lock`.
        self.short.word.store(FREE, Ordering::Release);
        deferred::leave(self.host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Process {
        // SAFETY: no engine serves it.
        unsafe { Process::new(2, 1) }
    }

    #[test]
    fn a_list_has_the_room_that_was_asked_for_and_keeps_what_it_has() {
        let (host, list) = (host(), Short::<Vec<u32>>::default());
        for i in 0..100 {
            let mut locked = list.lock_with_room(&host, 0);
            let before = locked.capacity();
            locked.push(i);
            assert_eq!(locked.capacity(), before);
        }
        assert!(list.lock_with_room(&host, 5_000).capacity() >= 5_000);
        assert!(list.lock(&host).iter().copied().eq(0..100));
    }

    #[test]
    fn one_thread_at_a_time_has_it() {
        let (host, count) = (host(), Short::<u64>::default());
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| (0..20_000).for_each(|_| *count.lock(&host) += 1));
            }
        });
        assert_eq!(*count.lock(&host), 80_000);
    }
}
