//! The calling thread's number, as the kernel has it: what lock words that the kernel reads hold. Asked once a thread.
//!
//! A thread-local variable without a destructor, so nothing is allocated. In the child of a fork the one thread has
//! another number: a handler (`pthread_atfork`), installed at the first question, forgets it. Children of `vfork`,
//! `_Fork` and the raw `clone` call run no handler: there the number is the parent's, and such locks are not to be used.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

std::thread_local! { static NUMBER: Cell<u32> = const { Cell::new(0) }; }

const UNASKED: u32 = 0;
const INSTALLING: u32 = 1;
const INSTALLED: u32 = 2;
static HANDLER: AtomicU32 = AtomicU32::new(UNASKED);

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
    let number = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    // Acquire: partner of the release in `install`.
    if HANDLER.load(Ordering::Acquire) == INSTALLED || install() {
        NUMBER.set(number);
    }
    number
}

/// False where another thread is at it, or it failed: the number is not kept then.
#[cold]
fn install() -> bool {
    // Relaxed: only who installs goes on.
    if HANDLER.compare_exchange(UNASKED, INSTALLING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return false;
    }
    // SAFETY: a handler without arguments that lives as long as the code does.
    let is_installed = unsafe { libc::pthread_atfork(None, None, Some(forget)) } == 0;
    // Release: whoever keeps a number may fork: the handler is there.
    HANDLER.store(if is_installed { INSTALLED } else { UNASKED }, Ordering::Release);
    is_installed
}

/// Runs in the child, on its only thread.
extern "C" fn forget() {
    NUMBER.set(0);
}
