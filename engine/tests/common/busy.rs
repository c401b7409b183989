//! A busy machine without its luck: this program's `sched_yield`, which the standard library calls
//! instead of libc's, takes as long as a test says, and counts its calls.

// Each test program uses its part.
#![allow(dead_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many nanoseconds a yield takes.
static LENGTH: AtomicU64 = AtomicU64::new(0);

std::thread_local! {
    /// How often the calling thread has yielded.
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

/// Makes every yield take `length` from now on, as if other threads had the processor that long;
/// zero: no other thread wants it.
pub fn yields_take(length: Duration) {
    LENGTH.store(length.as_nanos() as u64, Ordering::Relaxed);
}

/// Returns how often the calling thread yields in `body`.
pub fn yields_of(body: impl FnOnce()) -> u32 {
    let before = YIELDS.get();
    body();
    YIELDS.get() - before
}
