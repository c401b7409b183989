//! The memory that waits take: an allocator counts what the calling thread has.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{PAGE, Pages, runtime};
use leeward_wasm::{Outcome, Threads};

/// The system's allocator, which counts the bytes that each thread allocates, less those that it
/// frees.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        ALLOCATED.set(ALLOCATED.get() - layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Wasmtime 13981: a guest that waits at one address after the other, with a time that is up, makes
/// the runtime's memory grow without end.
#[test]
fn wasmtime_13981_no_place_stays_where_a_guest_has_waited() {
    let memory = runtime(Threads::default()).memory(Pages::new(1, true));
    assert_eq!(memory.wait32(0, 0, 0, 0), Ok(Outcome::TimedOut));
    let (before, buckets) = (ALLOCATED.get(), memory.stats().buckets);
    for address in (0..PAGE).step_by(4) {
        assert_eq!(memory.wait32(address, 0, 0, 0), Ok(Outcome::TimedOut));
    }
    assert_eq!((memory.stats().waiters, memory.stats().buckets), (0, buckets));
    assert_eq!(ALLOCATED.get(), before);
}
