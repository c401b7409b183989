//! The readers-writer lock: what `<leeward/rwlock.h>` and `<leeward/shared.h>` call.

use core::ffi::c_int;

use leeward::futex::{Futex, Private, Shared, Timeout};
use leeward::raw::{RwLock, slow};
use libc::timespec;

use super::deadline::{done, timeout};
use crate::report::misuse;

// `LEE_1_RWLOCK_READER`, `_READERS` and `_WRITERS_WAIT`; and zeroes are an unlocked lock.
const _: () = assert!(size_of::<RwLock>() == 8 && align_of::<RwLock>() == 4);
const _: () = assert!(slow::RWLOCK_READER == 1 && slow::RWLOCK_READERS == 0xf_ffff);
const _: () = assert!(slow::RWLOCK_WRITERS_WAIT == 0x8000_0000);
// SAFETY: two numbers.
const _: () = assert!(unsafe { core::mem::transmute::<RwLock, u64>(RwLock::new()) } == 0);

/// Locks for reading until `timeout`, for a caller of `function`. Returns 0 or the error.
fn read<F: Futex>(lock: &RwLock<F>, is_nested: bool, timeout: Timeout, function: &str) -> c_int {
    match slow::lock_shared(lock, is_nested, timeout) {
        Ok(is_locked) => done(is_locked, libc::ETIMEDOUT),
        Err(slow::TooManyReaders) => {
            misuse(function, lock, "a lock with as many readers as it can count");
            libc::EAGAIN
        }
    }
}

/// Returns true if a writer holds the lock; else reports its unlock, by `function`.
fn is_written<F: Futex>(lock: &RwLock<F>, function: &str) -> bool {
    let is_written = lock.is_locked_exclusive();
    if !is_written {
        misuse(function, lock, "a lock that no writer holds");
    }
    is_written
}

/// Defines the functions of one kind of lock.
macro_rules! rwlock {
    ($futex:ty, $name:literal, $rdlock:ident, $tryrdlock:ident, $timedrdlock:ident, $rdunlock:ident, $wrlock:ident,
     $trywrlock:ident, $timedwrlock:ident, $wrunlock:ident, $downgrade:ident) => {
        /// Locks for reading a lock that did not admit a reader at once.
        #[unsafe(no_mangle)]
        pub extern "C" fn $rdlock(lock: &RwLock<$futex>, is_nested: bool) -> c_int {
            let function = if is_nested { concat!($name, "_rdlock_recursive") } else { concat!($name, "_rdlock") };
            read(lock, is_nested, Timeout::Never, function)
        }

        /// Locks for reading if no writer holds the lock or waits for it.
        #[unsafe(no_mangle)]
        pub extern "C" fn $tryrdlock(lock: &RwLock<$futex>) -> c_int {
            done(lock.try_lock_shared(), libc::EBUSY)
        }

        /// Locks for reading, until the deadline at most.
        #[unsafe(no_mangle)]
        pub extern "C" fn $timedrdlock(lock: &RwLock<$futex>, deadline: Option<&timespec>) -> c_int {
            let read = |timeout| read(lock, false, timeout, concat!($name, "_timedrdlock"));
            timeout(deadline).map_or_else(|error| error, read)
        }

        /// Ends the unlock of a reader, which was taken out of the state `state`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $rdunlock(lock: &RwLock<$futex>, state: u32) {
            if !slow::left_shared(lock, state) {
                misuse(concat!($name, "_rdunlock"), lock, "a lock that no reader holds");
            }
        }

        /// Locks for writing a lock that was found taken.
        #[unsafe(no_mangle)]
        pub extern "C" fn $wrlock(lock: &RwLock<$futex>) {
            slow::lock_exclusive(lock, Timeout::Never);
        }

        /// Locks for writing if no thread is inside and no reader was bypassed.
        #[unsafe(no_mangle)]
        pub extern "C" fn $trywrlock(lock: &RwLock<$futex>) -> c_int {
            done(lock.try_lock_exclusive(), libc::EBUSY)
        }

        /// Locks for writing, until the deadline at most.
        #[unsafe(no_mangle)]
        pub extern "C" fn $timedwrlock(lock: &RwLock<$futex>, deadline: Option<&timespec>) -> c_int {
            super::deadline::until(deadline, |timeout| slow::lock_exclusive(lock, timeout))
        }

        /// Unlocks, for writing, a lock whose state has marks.
        ///
        /// # Safety
        /// The caller holds the lock for writing, if any thread does.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $wrunlock(lock: &RwLock<$futex>) {
            if is_written(lock, concat!($name, "_wrunlock")) {
                // SAFETY: the caller's promise.
                unsafe { slow::unlock_exclusive(lock) };
            }
        }

        /// Makes the writer a reader.
        ///
        /// # Safety
        /// The caller holds the lock for writing, if any thread does.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $downgrade(lock: &RwLock<$futex>) {
            if is_written(lock, concat!($name, "_downgrade")) {
                // SAFETY: the caller's promise.
                unsafe { lock.downgrade() };
            }
        }
    };
}

rwlock!(
    Private,
    "lee_rwlock",
    lee_1_rwlock_rdlock_slow,
    lee_1_rwlock_tryrdlock_slow,
    lee_1_rwlock_timedrdlock_slow,
    lee_1_rwlock_rdunlock_slow,
    lee_1_rwlock_wrlock_slow,
    lee_1_rwlock_trywrlock_slow,
    lee_1_rwlock_timedwrlock_slow,
    lee_1_rwlock_wrunlock_slow,
    lee_1_rwlock_downgrade
);
rwlock!(
    Shared,
    "lee_shared_rwlock",
    lee_1_shared_rwlock_rdlock_slow,
    lee_1_shared_rwlock_tryrdlock_slow,
    lee_1_shared_rwlock_timedrdlock_slow,
    lee_1_shared_rwlock_rdunlock_slow,
    lee_1_shared_rwlock_wrlock_slow,
    lee_1_shared_rwlock_trywrlock_slow,
    lee_1_shared_rwlock_timedwrlock_slow,
    lee_1_shared_rwlock_wrunlock_slow,
    lee_1_shared_rwlock_downgrade
);
