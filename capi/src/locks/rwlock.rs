//! The readers-writer lock: what `<leeward/rwlock.h>` and `<leeward/shared.h>` call.

use core::ffi::c_int;

use leeward::futex::{Futex, Private, Shared, Timeout};
use leeward::raw::{RwLock, slow};
use libc::timespec;

use super::deadline::{done, timeout};
use crate::report::report;

// `LEE_1_RWLOCK_READER`, `_READERS` and `_WRITERS_WAIT`; and zeroes are an unlocked lock.
const _: () = assert!(size_of::<RwLock>() == 8 && align_of::<RwLock>() == 4);
const _: () = assert!(slow::RWLOCK_READER == 1 && slow::RWLOCK_READERS == 0xf_ffff);
const _: () = assert!(slow::RWLOCK_WRITERS_WAIT == 0x8000_0000);
// SAFETY: two numbers.
const _: () = assert!(unsafe { core::mem::transmute::<RwLock, u64>(RwLock::new()) } == 0);

/// Locks for reading until `timeout`. Returns 0 or the error.
fn read<F: Futex>(lock: &RwLock<F>, is_nested: bool, timeout: Timeout) -> c_int {
    match slow::lock_shared(lock, is_nested, timeout) {
        Ok(is_locked) => done(is_locked, libc::ETIMEDOUT),
        Err(slow::TooManyReaders) => {
            report(format_args!("a readers-writer lock has more readers than it can count"));
            libc::EAGAIN
        }
    }
}

/// Returns true if a writer holds the lock; else reports an unlock.
fn is_written<F: Futex>(lock: &RwLock<F>) -> bool {
    let is_written = lock.is_locked_exclusive();
    if !is_written {
        report(format_args!("a readers-writer lock is unlocked as a writer, and no writer holds it"));
    }
    is_written
}

/// Defines the functions of one kind of lock.
macro_rules! rwlock {
    ($futex:ty, $rdlock:ident, $tryrdlock:ident, $timedrdlock:ident, $rdunlock:ident, $wrlock:ident,
     $trywrlock:ident, $timedwrlock:ident, $wrunlock:ident, $downgrade:ident) => {
        /// Locks for reading a lock that did not admit a reader at once.
        #[unsafe(no_mangle)]
        pub extern "C" fn $rdlock(lock: &RwLock<$futex>, is_nested: bool) -> c_int {
            read(lock, is_nested, Timeout::Never)
        }

        /// Locks for reading if no writer holds the lock or waits for it.
        #[unsafe(no_mangle)]
        pub extern "C" fn $tryrdlock(lock: &RwLock<$futex>) -> c_int {
            done(lock.try_lock_shared(), libc::EBUSY)
        }

        /// Locks for reading, until the deadline at most.
        #[unsafe(no_mangle)]
        pub extern "C" fn $timedrdlock(lock: &RwLock<$futex>, deadline: Option<&timespec>) -> c_int {
            timeout(deadline).map_or_else(|error| error, |timeout| read(lock, false, timeout))
        }

        /// Ends the unlock of a reader, which was taken out of the state `state`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $rdunlock(lock: &RwLock<$futex>, state: u32) {
            if !slow::left_shared(lock, state) {
                report(format_args!("a readers-writer lock is unlocked as a reader, and no reader holds it"));
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
            if is_written(lock) {
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
            if is_written(lock) {
                // SAFETY: the caller's promise.
                unsafe { lock.downgrade() };
            }
        }
    };
}

rwlock!(
    Private,
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
