//! A lock, a semaphore and a condition variable whose waits are futures over a futex word. Each may
//! be dropped at any time.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::host::Futexes;

const FREE: u32 = 0;
const LOCKED: u32 = 1;
/// Locked, and its unlock wakes a waiter.
const CONTENDED: u32 = 2;

/// A lock without a value.
pub struct Lock<'f> {
    futexes: &'f Futexes,
    word: AtomicU32,
}

/// A lock that is held until this is dropped.
pub struct Guard<'a, 'f>(&'a Lock<'f>);

impl<'f> Lock<'f> {
    pub fn new(futexes: &'f Futexes) -> Lock<'f> {
        Lock { futexes, word: AtomicU32::new(FREE) }
    }

    /// Takes the lock. Dropped between two polls it has either taken nothing, or wakes the next
    /// task: at worst the word says that there are waiters where there are none.
    pub async fn lock(&self) -> Guard<'_, 'f> {
        // Acquire: what the last holder did; partner: the release of the guard's drop.
        if self.word.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            // Acquire: as above.
            while self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
                self.futexes.wait(&self.word, CONTENDED).await;
            }
        }
        Guard(self)
    }
}

impl Drop for Guard<'_, '_> {
    fn drop(&mut self) {
        // Release: what was done under the lock; partner: the acquire of `lock`.
        if self.0.word.swap(FREE, Ordering::Release) == CONTENDED {
            self.0.futexes.wake(&self.0.word, 1);
        }
    }
}

/// A count of permits.
pub struct Semaphore<'f> {
    futexes: &'f Futexes,
    permits: AtomicU32,
}

impl<'f> Semaphore<'f> {
    pub fn new(futexes: &'f Futexes, permits: u32) -> Semaphore<'f> {
        Semaphore { futexes, permits: AtomicU32::new(permits) }
    }

    /// Takes a permit.
    pub async fn acquire(&self) {
        loop {
            // Acquire: what was done before the permit was given; partner: the release below.
            let taken =
                self.permits.fetch_update(Ordering::Acquire, Ordering::Relaxed, |permits| permits.checked_sub(1));
            if taken.is_ok() {
                return;
            }
            self.futexes.wait(&self.permits, 0).await;
        }
    }

    /// Gives a permit.
    pub fn release(&self) {
        // Release: partner of the acquire above.
        self.permits.fetch_add(1, Ordering::Release);
        self.futexes.wake(&self.permits, 1);
    }
}

/// A condition variable.
pub struct Condition<'f> {
    futexes: &'f Futexes,
    sequence: AtomicU32,
}

impl<'f> Condition<'f> {
    pub fn new(futexes: &'f Futexes) -> Condition<'f> {
        Condition { futexes, sequence: AtomicU32::new(0) }
    }

    /// Unlocks, waits for a notification, and locks again. May end without one.
    ///
    /// Dropped after a notification chose it and before it has the lock again, it passes the
    /// notification on. The engine does that for a wake that the wait has not answered yet; from
    /// then on it is up to the lock.
    pub async fn wait<'a>(&self, guard: Guard<'a, 'f>) -> Guard<'a, 'f> {
        let lock = guard.0;
        // Relaxed: read under the lock, under which notifiers change what is waited for.
        let sequence = self.sequence.load(Ordering::Relaxed);
        drop(guard);
        self.futexes.wait(&self.sequence, sequence).await;
        let notified = PassOn(self);
        let guard = lock.lock().await;
        core::mem::forget(notified);
        guard
    }

    /// Notifies one task.
    pub fn notify_one(&self) {
        // Relaxed: what is waited for is read under the lock.
        self.sequence.fetch_add(1, Ordering::Relaxed);
        self.futexes.wake(&self.sequence, 1);
    }
}

/// A notification that was consumed by a task which may yet be dropped.
struct PassOn<'a, 'f>(&'a Condition<'f>);

impl Drop for PassOn<'_, '_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
