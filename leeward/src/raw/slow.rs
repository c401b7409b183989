//! What the C face needs of the locks beyond their interface: the slow paths, since the fast ones
//! are inline in its headers; the calls that answer where the interface ends the process; and the
//! bits of the words, to compare with the headers'.
//!
//! Hidden, and no part of the interface: it is there for `leeward-capi`.

use super::{Condvar, Event, Mutex, Once, RwLock, Scheme, Semaphore, event, mutex_state, once, rwlock_state};
use crate::atomic::Ordering;
use crate::futex::{ALL, Futex, Timeout};

pub use super::once::Begun as OnceBegun;
pub use super::rwlock_state::TooManyReaders;

/// The value of a locked [`Mutex`]'s word without marks; an unlocked one's is 0.
pub const MUTEX_LOCKED: u32 = mutex_state::LOCKED;
/// The unit in which a [`RwLock`]'s state counts readers.
pub const RWLOCK_READER: u32 = rwlock_state::READER;
/// The bits of a [`RwLock`]'s state that count readers; all ones: a writer.
pub const RWLOCK_READERS: u32 = rwlock_state::READERS;
/// The bit of a [`RwLock`]'s state that keeps readers out which arrive.
pub const RWLOCK_WRITERS_WAIT: u32 = rwlock_state::WRITERS_WAIT;
/// The bit of an [`Event`]'s word that says that it is set.
pub const EVENT_SET: u32 = event::SET;
/// The value of a completed [`Once`]'s word.
pub const ONCE_COMPLETED: u32 = once::COMPLETED;

/// Returns the offset of a [`Condvar`]'s counts, of which the lower half counts waiters.
pub const fn condvar_counts<S: Scheme, F: Futex>() -> usize {
    Condvar::<S, F>::COUNTS_AT
}

/// Locks a mutex that one attempt has found taken. Returns false on timeout.
pub fn lock<F: Futex>(mutex: &Mutex<F>, timeout: Timeout) -> bool {
    mutex.lock_contended(timeout, false)
}

/// Unlocks a mutex whose word has marks.
///
/// # Safety
/// The caller holds the lock.
pub unsafe fn unlock<F: Futex>(mutex: &Mutex<F>) {
    mutex.unlock_contended();
}

/// Locks for writing a lock that one attempt has found taken. Returns false on timeout.
pub fn lock_exclusive<F: Futex>(lock: &RwLock<F>, timeout: Timeout) -> bool {
    lock.lock_exclusive_slow(timeout)
}

/// Unlocks, for writing, a lock whose state has marks.
///
/// # Safety
/// The lock is held for writing, and its holder gives that up.
pub unsafe fn unlock_exclusive<F: Futex>(lock: &RwLock<F>) {
    lock.unlock_exclusive_slow();
}

/// Locks a lock for reading; `is_nested`: as
/// [`lock_shared_recursive`](RwLock::lock_shared_recursive) does. Returns false on timeout.
///
/// # Errors
/// [`TooManyReaders`], where the interface ends the process.
#[inline]
pub fn lock_shared<F: Futex>(lock: &RwLock<F>, is_nested: bool, timeout: Timeout) -> Result<bool, TooManyReaders> {
    if lock.enter_at_once() { Ok(true) } else { lock.lock_shared_slow(is_nested, timeout) }
}

/// Unlocks a lock that is held for reading. Returns false if no reader was inside; the lock stays
/// as it was then, unless other threads came to it meanwhile.
///
/// # Safety
/// The lock is held for reading, if a reader is inside, and one of its holders gives that up.
#[inline]
pub unsafe fn unlock_shared<F: Futex>(lock: &RwLock<F>) -> bool {
    // Release: as in `RwLock::unlock_shared`.
    let state = lock.state.fetch_sub(RWLOCK_READER, Ordering::Release);
    left_shared(lock, state)
}

/// Does what an unlock of a reader does after it has taken the reader out of the state, which was
/// `state`. Returns as [`unlock_shared`].
#[inline]
pub fn left_shared<F: Futex>(lock: &RwLock<F>, state: u32) -> bool {
    let readers = state & RWLOCK_READERS;
    if readers == 0 || rwlock_state::is_written(state) {
        undo_unlock_shared(lock, state);
        return false;
    }
    if readers == RWLOCK_READER && state & RWLOCK_WRITERS_WAIT != 0 {
        lock.wake_writer();
    }
    true
}

/// Puts a reader back that was not there. Threads that have slept on the state in between are
/// woken.
#[cold]
#[inline(never)]
fn undo_unlock_shared<F: Futex>(lock: &RwLock<F>, state: u32) {
    let wrong = state.wrapping_sub(RWLOCK_READER);
    // Relaxed, both: nothing was done under the lock.
    if lock.state.compare_exchange(wrong, state, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        F::wake(&lock.state, ALL);
    }
}

/// Takes a permit of a semaphore that had none. Returns false on timeout.
pub fn acquire<F: Futex>(semaphore: &Semaphore<F>, timeout: Timeout) -> bool {
    semaphore.acquire_slow(timeout)
}

/// Waits for an event that was not set. Returns false on timeout.
pub fn wait<F: Futex>(event: &Event<F>, timeout: Timeout) -> bool {
    event.wait_slow(timeout)
}

/// Begins the work of a `Once`, which [`end`] ends, or waits until it is done.
pub fn begin<F: Futex>(once: &Once<F>) -> OnceBegun {
    once.begin_or_wait(true, true).expect("a call that is forced is not refused")
}

/// Ends the work of a `Once`; `is_done`: it has been done, and if not, the next caller begins it.
///
/// # Safety
/// [`begin`] returned [`OnceBegun::Mine`] to the caller, who has not ended it since.
pub unsafe fn end<F: Futex>(once: &Once<F>, is_done: bool) {
    once.end(is_done);
}
