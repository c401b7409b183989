//! Where a panic must not unwind: inside of locking.
//!
//! Guards may be alive whose lock is given up for a while and taken again (`lock_api`'s `unlocked`, a condition variable's
//! wait): if the taking unwound, and somebody caught that, the guard would go on without the lock.

use core::mem::forget;

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        // A panic while another unwinds: the process ends, with either's words.
        panic!("leeward: a lock could not be taken, and guards may be alive that rely on it: this process ends");
    }
}

/// Runs `work`; a panic in it ends the process.
#[inline]
pub(crate) fn no_unwind<R>(work: impl FnOnce() -> R) -> R {
    let bomb = Bomb;
    let answer = work();
    forget(bomb);
    answer
}

/// Ends the process, with a sentence.
#[cold]
#[inline(never)]
pub(crate) fn abort(why: &str) -> ! {
    no_unwind(|| panic!("leeward: {why}"))
}
