//! The calls of locks with priority inheritance, as values, and what their words say.

use crate::futex::{Call, Op, futex};
use crate::numbers;
use crate::scenario::{Outcome, Trouble};
use crate::world::{World, unfit, wrong};

/// The bit of a lock's word that says that threads wait in the kernel.
pub(crate) const WAITERS: u32 = 1 << 31;
/// The bit of a lock's word that says that its owner died.
pub(crate) const OWNER_DIED: u32 = 1 << 30;
/// The bits of a lock's word that name its owner.
pub(crate) const OWNER: u32 = OWNER_DIED - 1;
/// A number that no thread has: Linux gives numbers below 2^22.
pub(crate) const NO_THREAD: u32 = 0x3fff_fff0;

/// Locks; `time`: the address of an absolute time of `CLOCK_REALTIME`, or 0.
pub(crate) fn lock_pi(word: usize, flags: u32, time: usize) -> Call {
    futex(word, Op::LockPi as u32 | flags, 0, time, 0, 0)
}

/// Locks; `time`: the address of an absolute time of `CLOCK_MONOTONIC`, or 0.
pub(crate) fn lock_pi2(word: usize, flags: u32, time: usize) -> Call {
    futex(word, Op::LockPi2 as u32 | flags, 0, time, 0, 0)
}

/// Locks, if that needs no wait.
pub(crate) fn trylock_pi(word: usize, flags: u32) -> Call {
    futex(word, Op::TrylockPi as u32 | flags, 0, 0, 0, 0)
}

/// Gives a lock up.
pub(crate) fn unlock_pi(word: usize, flags: u32) -> Call {
    futex(word, Op::UnlockPi as u32 | flags, 0, 0, 0, 0)
}

/// Waits while the word holds the value, until it was moved to the lock and has it; `time`: the
/// address of an absolute time of `CLOCK_MONOTONIC`, or 0.
pub(crate) fn wait_requeue_pi(word: usize, flags: u32, value: u32, time: usize, lock: usize) -> Call {
    futex(word, Op::WaitRequeuePi as u32 | flags, value, time, lock, 0)
}

/// Moves waiters to the lock, if the word holds the value. `wake` must be 1.
pub(crate) fn cmp_requeue_pi(word: usize, flags: u32, wake: u32, lock: usize, moved: u32, value: u32) -> Call {
    futex(word, Op::CmpRequeuePi as u32 | flags, wake, moved as usize, lock, value)
}

impl World<'_> {
    /// Returns the number of the calling thread.
    pub(crate) fn own_number(&self) -> Result<u32, Trouble> {
        // SAFETY: takes no argument.
        let number = unsafe { self.call(numbers::GETTID, [0; 6]) };
        number.map(|number| number as u32).map_err(|errno| unfit(format_args!("gettid: {errno}")))
    }

    /// Asserts the owner that a lock's word names, whatever its two other bits say.
    pub(crate) fn names(&self, at: usize, what: &str, owner: u32) -> Outcome {
        match self.get(at) & OWNER {
            named if named == owner => Ok(()),
            named => wrong(format_args!("{what} names thread {named:#x}; on Linux thread {owner:#x}")),
        }
    }

    /// Waits until a word is not 0.
    pub(crate) fn may_go_on(&self, at: usize) {
        // Not for ever: in a process whose parent has gone no other thread may be left.
        for _ in 0..100_000 {
            if self.get(at) != 0 {
                return;
            }
            self.rest();
        }
    }

    /// Lets two whiles pass, or less if a thing is so before; returns true if it is.
    pub(crate) fn soon(&self, is_so: impl Fn() -> bool) -> bool {
        is_so() || {
            self.rest();
            is_so() || {
                self.rest();
                is_so()
            }
        }
    }
}
