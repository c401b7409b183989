//! The semaphore: what `<leeward/semaphore.h>` and `<leeward/shared.h>` call.

use core::ffi::c_int;

use leeward::futex::{Private, Shared, Timeout};
use leeward::raw::{Semaphore, slow};
use libc::timespec;

use super::deadline::{done, until};

// `LEE_1_SEMAPHORE_PERMITS`; and the word of a new one is its permits.
const _: () = assert!(size_of::<Semaphore>() == 4 && <Semaphore>::MOST == 0x7fff_ffff);
// SAFETY: a number.
const _: () = assert!(unsafe { core::mem::transmute::<Semaphore, u32>(Semaphore::new(7)) } == 7);

/// Defines the functions of one kind of semaphore.
macro_rules! semaphore {
    ($futex:ty, $wait:ident, $trywait:ident, $timedwait:ident, $post:ident) => {
        /// Takes a permit of a semaphore that had none.
        #[unsafe(no_mangle)]
        pub extern "C" fn $wait(semaphore: &Semaphore<$futex>) {
            slow::acquire(semaphore, Timeout::Never);
        }

        /// Takes a permit if there is one.
        #[unsafe(no_mangle)]
        pub extern "C" fn $trywait(semaphore: &Semaphore<$futex>) -> c_int {
            done(semaphore.try_acquire(), libc::EAGAIN)
        }

        /// Takes a permit, waiting until the deadline at most.
        #[unsafe(no_mangle)]
        pub extern "C" fn $timedwait(semaphore: &Semaphore<$futex>, deadline: Option<&timespec>) -> c_int {
            until(deadline, |timeout| slow::acquire(semaphore, timeout))
        }

        /// Adds so many permits.
        #[unsafe(no_mangle)]
        pub extern "C" fn $post(semaphore: &Semaphore<$futex>, permits: u32) -> c_int {
            done(semaphore.try_release(permits), libc::EOVERFLOW)
        }
    };
}

semaphore!(
    Private,
    lee_1_semaphore_wait_slow,
    lee_1_semaphore_trywait_slow,
    lee_1_semaphore_timedwait_slow,
    lee_1_semaphore_post
);
semaphore!(
    Shared,
    lee_1_shared_semaphore_wait_slow,
    lee_1_shared_semaphore_trywait_slow,
    lee_1_shared_semaphore_timedwait_slow,
    lee_1_shared_semaphore_post
);
