//! The robust mutex: what `<leeward/robust.h>` calls.

use core::ffi::c_int;

use leeward::futex::Timeout;
use leeward::robust::raw::{RawMutex, Refusal};
use libc::timespec;

use super::deadline::timeout;
use crate::report::{given, misuse};

// The size that the header asserts; and zeroes are an unlocked mutex.
const _: () = assert!(size_of::<RawMutex>() == 40 && align_of::<RawMutex>() == 8);
// The value of a mutex of Rust lies behind these words.
const _: () = assert!(size_of::<leeward::robust::Mutex<u64>>() == 48);

/// Locks until `timeout`. Returns what C is told.
fn lock(mutex: &'static RawMutex, timeout: Timeout) -> c_int {
    match mutex.lock(timeout) {
        Ok(false) => 0,
        Ok(true) => libc::EOWNERDEAD,
        Err(Refusal::WouldDeadlock) => own(mutex, timeout),
        Err(refusal) => number_of(refusal),
    }
}

/// Returns the error of C for a lock that the calling thread holds.
#[cold]
fn own(mutex: &RawMutex, timeout: Timeout) -> c_int {
    let function = match timeout {
        Timeout::Now => return libc::EBUSY,
        Timeout::Never => "lee_robust_mutex_lock",
        Timeout::At(_) => "lee_robust_mutex_timedlock",
    };
    misuse(function, mutex, "a mutex that the thread holds: it would wait for itself");
    libc::EDEADLK
}

/// Returns the error of C for a refusal.
#[cold]
fn number_of(refusal: Refusal) -> c_int {
    match refusal {
        Refusal::NotRecoverable => libc::ENOTRECOVERABLE,
        Refusal::WouldDeadlock => libc::EDEADLK,
        Refusal::WouldBlock => libc::EBUSY,
        Refusal::TimedOut => libc::ETIMEDOUT,
        Refusal::OwnerLost(_) => libc::ESRCH,
        Refusal::NoList(_) => libc::ENOTSUP,
    }
}

/// Locks the mutex.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_robust_mutex_lock(mutex: &'static RawMutex) -> c_int {
    lock(mutex, Timeout::Never)
}

/// Locks the mutex if no thread holds it.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_robust_mutex_trylock(mutex: &'static RawMutex) -> c_int {
    lock(mutex, Timeout::Now)
}

/// Locks the mutex, until the deadline at most.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_robust_mutex_timedlock(mutex: &'static RawMutex, deadline: Option<&timespec>) -> c_int {
    timeout(deadline).map_or_else(|error| error, |timeout| lock(mutex, timeout))
}

/// Unlocks the mutex.
///
/// # Safety
/// If its word has the calling thread's number, that thread has locked it in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_robust_mutex_unlock(mutex: &'static RawMutex) -> c_int {
    // SAFETY: the caller's promise.
    if unsafe { mutex.unlock() } {
        return 0;
    }
    misuse("lee_robust_mutex_unlock", mutex, "a mutex that the thread does not hold");
    libc::EPERM
}

/// Says that the data is whole again.
#[unsafe(no_mangle)]
pub extern "C" fn lee_robust_mutex_consistent(mutex: Option<&RawMutex>) -> c_int {
    given!("lee_robust_mutex_consistent", mutex: "mutex");
    if mutex.mark_consistent() {
        return 0;
    }
    misuse("lee_robust_mutex_consistent", mutex, "a mutex that the thread was not given with EOWNERDEAD");
    libc::EINVAL
}

/// Returns true if the lock is unusable forever.
#[unsafe(no_mangle)]
pub extern "C" fn lee_robust_mutex_is_unrecoverable(mutex: Option<&RawMutex>) -> bool {
    given!("lee_robust_mutex_is_unrecoverable", mutex: "mutex");
    mutex.is_unrecoverable()
}

/// Returns the number of the thread that held the lock; 0: none.
#[unsafe(no_mangle)]
pub extern "C" fn lee_robust_mutex_owner(mutex: Option<&RawMutex>) -> u32 {
    given!("lee_robust_mutex_owner", mutex: "mutex");
    mutex.owner()
}

/// Frees a lock whose owner's death the kernel did not report.
///
/// # Safety
/// No thread holds the lock: `owner` is dead in every pid namespace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_robust_mutex_declare_owner_dead(mutex: Option<&'static RawMutex>, owner: u32) -> c_int {
    given!("lee_robust_mutex_declare_owner_dead", mutex: "mutex");
    // SAFETY: the caller's promise.
    match unsafe { mutex.declare_owner_dead(owner) } {
        Ok(true) => 0,
        Ok(false) => libc::EINVAL,
        Err(_) => libc::ENOTSUP,
    }
}
