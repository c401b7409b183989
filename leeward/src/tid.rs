//! The calling thread's number, as the kernel has it: what lock words that the kernel reads hold. Asked once a thread.
//!
//! A thread-local variable without a destructor, so nothing is allocated. In the child of a fork the one thread has
//! another number, so the kept one is forgotten there. Children of `vfork`, `_Fork` and the raw `clone` call forget
//! nothing: there the number is the parent's, and such locks are not to be used.

use core::cell::Cell;

use crate::fork::{self, Hook, Mend};

std::thread_local! { static NUMBER: Cell<u32> = const { Cell::new(0) }; }

/// The numbers that threads keep; in a child, that of its one thread.
struct Kept(Hook);

static KEPT: Kept = Kept(Hook::new());

impl Mend for Kept {
    fn hook(&self) -> &Hook {
        &self.0
    }

    fn in_child(&'static self) {
        NUMBER.set(0);
    }
}

/// The calling thread's number. Async-signal-safe but for the first call of the process.
#[inline]
pub(crate) fn this() -> u32 {
    match NUMBER.get() {
        0 => ask(),
        number => number,
    }
}

#[cold]
#[inline(never)]
fn ask() -> u32 {
    fork::watch(&KEPT);
    NUMBER.set(rustix::thread::gettid().as_raw_nonzero().get() as u32);
    NUMBER.get()
}
