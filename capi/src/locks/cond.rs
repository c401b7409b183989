//! The condition variable: what `<leeward/cond.h>` and `<leeward/shared.h>` call.

use core::ffi::c_int;

use leeward::futex::{Futex, Private, Shared, Timeout};
use leeward::raw::{Condvar, Mutex, Requeue, slow};
use libc::timespec;

use super::deadline::{done, timeout};
use crate::report::misuse;

/// The scheme by which all waiters of C are notified, and those of `leeward::shared::Condvar`.
type Cond<F> = Condvar<Requeue, F>;

// The size and the counts' place that the headers assert; and zeroes are one without waiters.
const _: () = assert!(
    size_of::<Cond<Private>>() == 16 + 2 * size_of::<usize>()
        && size_of::<Cond<Shared>>() == size_of::<Cond<Private>>()
        && align_of::<Cond<Private>>() == 8
        && slow::condvar_counts::<Requeue, Private>() == 8
        && slow::condvar_counts::<Requeue, Shared>() == 8
);

/// Waits until `timeout`, for a caller of `function`. Returns 0 or the error.
///
/// # Safety
/// The caller holds the mutex, if any thread does.
unsafe fn wait<F: Futex>(cond: &Cond<F>, mutex: &Mutex<F>, timeout: Timeout, function: &str) -> c_int {
    if !mutex.is_locked() {
        misuse(function, mutex, "a mutex that is not locked");
        return libc::EPERM;
    }
    // SAFETY: the caller's promise.
    match unsafe { cond.checked_wait(mutex, timeout) } {
        // A wait without a deadline ends by a notification, or for no reason.
        Some(notified) => done(notified || timeout == Timeout::Never, libc::ETIMEDOUT),
        None => {
            misuse(function, mutex, "another mutex than that with which threads wait");
            libc::EINVAL
        }
    }
}

/// Defines the waits of one kind of condition variable.
macro_rules! cond {
    ($futex:ty, $name:literal, $wait:ident, $timedwait:ident) => {
        /// Waits for a notification.
        ///
        /// # Safety
        /// The caller holds the mutex, if any thread does.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $wait(cond: &Cond<$futex>, mutex: &Mutex<$futex>) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { wait(cond, mutex, Timeout::Never, concat!($name, "_wait")) }
        }

        /// Waits for a notification, until the deadline at most.
        ///
        /// # Safety
        /// The caller holds the mutex, if any thread does.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $timedwait(
            cond: &Cond<$futex>,
            mutex: &Mutex<$futex>,
            deadline: Option<&timespec>,
        ) -> c_int {
            match timeout(deadline) {
                // SAFETY: the caller's promise.
                Ok(timeout) => unsafe { wait(cond, mutex, timeout, concat!($name, "_timedwait")) },
                Err(error) => error,
            }
        }
    };
}

cond!(Private, "lee_cond", lee_1_cond_wait, lee_1_cond_timedwait);
cond!(Shared, "lee_shared_cond", lee_1_shared_cond_wait, lee_1_shared_cond_timedwait);

/// Notifies one waiter, or all if `count` is greater than 1. Returns how many there were.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_cond_notify(cond: &Cond<Private>, count: u32) -> u32 {
    if count == 1 { u32::from(cond.notify_one()) } else { cond.notify_all() }
}

/// Notifies one waiter, or all if `count` is greater than 1; moves them to the mutex, if one is
/// given. Returns how many there were.
///
/// # Safety
/// All waiters use the mutex that is given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_shared_cond_notify(
    cond: &Cond<Shared>,
    count: u32,
    mutex: Option<&Mutex<Shared>>,
) -> u32 {
    match (count, mutex) {
        (1, None) => u32::from(cond.notify_one()),
        (_, None) => cond.notify_all(),
        // SAFETY: the caller's promise.
        (1, Some(mutex)) => u32::from(unsafe { cond.notify_one_of(mutex) }),
        // SAFETY: as above.
        (_, Some(mutex)) => unsafe { cond.notify_all_of(mutex) },
    }
}
