//! The barrier: what `<leeward/barrier.h>` and `<leeward/shared.h>` call.

use core::ffi::c_int;

use leeward::futex::{Deadline, Futex, Private, Shared};
use leeward::raw::Barrier;
use libc::timespec;

use super::deadline::timeout;

/// The header's `LEE_BARRIER_LEADER`.
const LEADER: c_int = -1;

// `LEE_BARRIER_MOST`; and the words of a new one are 0 and its size.
const _: () = assert!(size_of::<Barrier>() == 8 && align_of::<Barrier>() == 4 && <Barrier>::MOST == 65_535);
const _: () = {
    // SAFETY: two numbers.
    let words = unsafe { core::mem::transmute::<Barrier, [u32; 2]>(Barrier::new(7)) };
    assert!(words[0] == 0 && words[1] == 7);
};

/// Waits until the deadline. Returns what C is told.
fn wait_until<F: Futex>(barrier: &Barrier<F>, deadline: Option<&timespec>) -> c_int {
    match timeout(deadline).map(|timeout| barrier.wait_until(timeout.deadline().unwrap_or(END))) {
        Ok(Some(result)) if result.is_leader() => LEADER,
        Ok(Some(_)) => 0,
        Ok(None) => libc::ETIMEDOUT,
        Err(error) => error,
    }
}

/// The end of time.
const END: Deadline = Deadline::at(core::time::Duration::MAX);

/// Defines the functions of one kind of barrier.
macro_rules! barrier {
    ($futex:ty, $wait:ident, $timedwait:ident) => {
        /// Waits until as many threads have arrived as the barrier is for.
        #[unsafe(no_mangle)]
        pub extern "C" fn $wait(barrier: &Barrier<$futex>) -> c_int {
            if barrier.wait().is_leader() { LEADER } else { 0 }
        }

        /// Waits as above, until the deadline at most.
        #[unsafe(no_mangle)]
        pub extern "C" fn $timedwait(barrier: &Barrier<$futex>, deadline: Option<&timespec>) -> c_int {
            wait_until(barrier, deadline)
        }
    };
}

barrier!(Private, lee_1_barrier_wait, lee_1_barrier_timedwait);
barrier!(Shared, lee_1_shared_barrier_wait, lee_1_shared_barrier_timedwait);
