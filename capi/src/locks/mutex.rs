//! The mutex: what `<leeward/mutex.h>` and `<leeward/shared.h>` call.

use core::ffi::c_int;

use leeward::futex::{Futex, Private, Shared, Timeout};
use leeward::raw::{Mutex, slow};
use libc::timespec;

use super::deadline::{done, until};
use crate::report::misuse;

// `LEE_1_MUTEX_LOCKED`; and zeroes are an unlocked mutex.
const _: () = assert!(size_of::<Mutex>() == 4 && align_of::<Mutex>() == 4 && slow::MUTEX_LOCKED == 1);
// SAFETY: a number.
const _: () = assert!(unsafe { core::mem::transmute::<Mutex, u32>(Mutex::new()) } == 0);

/// Returns true if a mutex is locked; else reports its unlock, by `function`.
fn is_locked<F: Futex>(mutex: &Mutex<F>, function: &str) -> bool {
    let is_locked = mutex.is_locked();
    if !is_locked {
        misuse(function, mutex, "a mutex that is not locked");
    }
    is_locked
}

/// Defines the functions of one kind of mutex.
macro_rules! mutex {
    ($futex:ty, $name:literal, $lock:ident, $trylock:ident, $timedlock:ident, $unlock:ident, $unlock_fair:ident) => {
        /// Locks a mutex that was found taken.
        #[unsafe(no_mangle)]
        pub extern "C" fn $lock(mutex: &Mutex<$futex>) {
            slow::lock(mutex, Timeout::Never);
        }

        /// Locks a mutex that was not locked and had marks, if it is not reserved.
        #[unsafe(no_mangle)]
        pub extern "C" fn $trylock(mutex: &Mutex<$futex>) -> c_int {
            done(mutex.try_lock(), libc::EBUSY)
        }

        /// Locks a mutex that was found taken, until the deadline at most.
        #[unsafe(no_mangle)]
        pub extern "C" fn $timedlock(mutex: &Mutex<$futex>, deadline: Option<&timespec>) -> c_int {
            until(deadline, |timeout| slow::lock(mutex, timeout))
        }

        /// Unlocks a mutex whose word has marks.
        ///
        /// # Safety
        /// The caller holds the mutex, if any thread does.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $unlock(mutex: &Mutex<$futex>) {
            if is_locked(mutex, concat!($name, "_unlock")) {
                // SAFETY: the caller's promise.
                unsafe { slow::unlock(mutex) };
            }
        }

        /// Unlocks a mutex for the thread that has slept longest.
        ///
        /// # Safety
        /// The caller holds the mutex, if any thread does.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $unlock_fair(mutex: &Mutex<$futex>) {
            if is_locked(mutex, concat!($name, "_unlock_fair")) {
                // SAFETY: the caller's promise.
                unsafe { mutex.unlock_fair() };
            }
        }
    };
}

mutex!(
    Private,
    "lee_mutex",
    lee_1_mutex_lock_slow,
    lee_1_mutex_trylock_slow,
    lee_1_mutex_timedlock_slow,
    lee_1_mutex_unlock_slow,
    lee_1_mutex_unlock_fair
);
mutex!(
    Shared,
    "lee_shared_mutex",
    lee_1_shared_mutex_lock_slow,
    lee_1_shared_mutex_trylock_slow,
    lee_1_shared_mutex_timedlock_slow,
    lee_1_shared_mutex_unlock_slow,
    lee_1_shared_mutex_unlock_fair
);
