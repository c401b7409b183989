//! The readers-writer lock that is biased towards its readers: what `<leeward/asym.h>` calls.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};

use leeward::asym::RawRwLock;
use leeward::futex::{Deadline, Timeout};
use leeward::raw::slow::TooManyReaders;
use libc::timespec;

use super::deadline::{done, timeout};
use crate::report::misuse;

/// The words of a new lock. (The first is the id of a lock that has none yet, and not 0.)
// SAFETY: four numbers, the last of which are the two words of the ordinary lock.
const NEW: [u64; 4] = unsafe { core::mem::transmute::<RawRwLock, [u64; 4]>(RawRwLock::new()) };

const _: () = assert!(NEW[0] == 1 && NEW[1] == 0 && NEW[2] == 0 && NEW[3] == 0);

/// Returns the lock; makes it a new one first if it is zeroed memory, which C may have.
#[inline]
fn made(lock: &RawRwLock) -> &RawRwLock {
    // SAFETY: the first word, asserted above, which is an atomic.
    let id = unsafe { AtomicU64::from_ptr(core::ptr::from_ref(lock).cast_mut().cast()) };
    // Relaxed, both: a number that stands for itself; all threads store the same.
    if id.load(Ordering::Relaxed) == 0 {
        make(id);
    }
    lock
}

#[cold]
#[inline(never)]
fn make(id: &AtomicU64) {
    // Relaxed, both: as above.
    let _ = id.compare_exchange(0, NEW[0], Ordering::Relaxed, Ordering::Relaxed);
}

/// Locks for reading until `timeout`, for a caller of `function`. Returns 0 or the error.
#[inline]
fn read(lock: &RawRwLock, timeout: Timeout, function: &str) -> c_int {
    match made(lock).checked_lock_shared(timeout) {
        Ok(is_locked) => done(is_locked, libc::ETIMEDOUT),
        Err(TooManyReaders) => {
            misuse(function, lock, "a lock with as many readers as it can count");
            libc::EAGAIN
        }
    }
}

/// Locks for writing, until the deadline if there is one, for a caller of `function`. Returns 0 or the
/// error.
fn write(lock: &RawRwLock, deadline: Option<Deadline>, function: &str) -> c_int {
    if made(lock).is_read_here() {
        misuse(function, lock, "a lock that the thread reads: it would wait for itself");
        return libc::EDEADLK;
    }
    match deadline {
        Some(deadline) => done(lock.lock_exclusive_until(deadline), libc::ETIMEDOUT),
        None => {
            lock.lock_exclusive();
            0
        }
    }
}

/// Locks for reading.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_asym_rwlock_rdlock(lock: &RawRwLock) -> c_int {
    read(lock, Timeout::Never, "lee_asym_rwlock_rdlock")
}

/// Locks for reading if no writer holds the lock or waits for it.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_asym_rwlock_tryrdlock(lock: &RawRwLock) -> c_int {
    done(made(lock).try_lock_shared(), libc::EBUSY)
}

/// Locks for reading, until the deadline at most.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_asym_rwlock_timedrdlock(lock: &RawRwLock, deadline: Option<&timespec>) -> c_int {
    let read = |timeout| read(lock, timeout, "lee_asym_rwlock_timedrdlock");
    timeout(deadline).map_or_else(|error| error, read)
}

/// Unlocks for reading.
///
/// # Safety
/// The calling thread has locked it for reading, if any has, and gives up one such lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_asym_rwlock_rdunlock(lock: &RawRwLock) {
    // SAFETY: the caller's promise.
    if !unsafe { lock.checked_unlock_shared() } {
        misuse("lee_asym_rwlock_rdunlock", lock, "a lock that no reader holds");
    }
}

/// Locks for writing.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_asym_rwlock_wrlock(lock: &RawRwLock) -> c_int {
    write(lock, None, "lee_asym_rwlock_wrlock")
}

/// Locks for writing if no thread is inside.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_asym_rwlock_trywrlock(lock: &RawRwLock) -> c_int {
    done(made(lock).try_lock_exclusive(), libc::EBUSY)
}

/// Locks for writing, until the deadline at most.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_asym_rwlock_timedwrlock(lock: &RawRwLock, deadline: Option<&timespec>) -> c_int {
    let write = |timeout: Timeout| write(lock, timeout.deadline(), "lee_asym_rwlock_timedwrlock");
    timeout(deadline).map_or_else(|error| error, write)
}

/// Unlocks for writing.
///
/// # Safety
/// The lock is held for writing, if it is held, and the holder gives that up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_asym_rwlock_wrunlock(lock: &RawRwLock) {
    if is_written(lock, "lee_asym_rwlock_wrunlock") {
        // SAFETY: the caller's promise.
        unsafe { lock.unlock_exclusive() };
    }
}

/// Makes the writer a reader.
///
/// # Safety
/// The calling thread has locked it for writing, if any has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_asym_rwlock_downgrade(lock: &RawRwLock) {
    if is_written(lock, "lee_asym_rwlock_downgrade") {
        // SAFETY: the caller's promise.
        unsafe { lock.downgrade() };
    }
}

/// Returns true if a writer holds the lock; else reports its unlock, by `function`.
fn is_written(lock: &RawRwLock, function: &str) -> bool {
    let is_written = lock.is_locked_exclusive();
    if !is_written {
        misuse(function, lock, "a lock that no writer holds");
    }
    is_written
}
