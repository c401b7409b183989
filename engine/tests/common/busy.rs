//! A busy machine without the luck of one: this program's `sched_yield` takes as long as a test
//! says, and counts. The standard library calls it instead of libc's.

// Each test program uses its part.
#![allow(dead_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Nanoseconds that a yield takes.
static LENGTH: AtomicU64 = AtomicU64::new(0);

std::thread_local! {
    /// The calling thread's yields.
    static YIELDS: Cell<u32> = const { Cell::new(0) };
}

// The program's own comes before a shared library's.
#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    YIELDS.set(YIELDS.get() + 1);
    let length = LENGTH.load(Ordering::Relaxed);
    if length != 0 {
        std::thread::sleep(Duration::from_nanos(length));
    }
    0
}

/// From now on others have the processor for this long whenever a thread yields; zero: nobody else
/// wants it.
pub fn yields_take(length: Duration) {
    LENGTH.store(length.as_nanos() as u64, Ordering::Relaxed);
}

/// How often the calling thread yields in `body`.
pub fn yields_of(body: impl FnOnce()) -> u32 {
    let before = YIELDS.get();
    body();
    YIELDS.get() - before
}
