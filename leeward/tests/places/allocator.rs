//! A lock inside the global allocator: it must not allocate, nor use thread-local data that does.

#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};

use leeward::sync::{LightMutex, Mutex};

/// What the locks guard: counts of calls and bytes, which must add up.
#[derive(Clone, Copy)]
struct Books {
    calls: u64,
    bytes: isize,
}

struct Counting {
    books: Mutex<Books>,
    light: LightMutex<u64>,
}

impl Counting {
    fn enter(&self, bytes: isize) {
        {
            let mut books = self.books.lock();
            books.calls += 1;
            books.bytes += bytes;
        }
        *self.light.lock() += 1;
    }
}

// SAFETY: the system's allocator, and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.enter(layout.size() as isize);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        self.enter(-(layout.size() as isize));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting { books: Mutex::new(Books { calls: 0, bytes: 0 }), light: LightMutex::new(0) };

#[test]
fn locks_in_the_allocator() {
    const THREADS: u64 = 8;
    const EACH: u64 = 3_000;
    let before = *ALLOCATOR.books.lock();
    let light = *ALLOCATOR.light.lock();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let mut kept = Vec::new();
                for turn in 0..EACH {
                    kept.push(vec![thread as u8; (turn % 100) as usize + 1]);
                    if kept.len() > 10 {
                        kept.swap_remove((turn % 7) as usize);
                    }
                }
                assert!(kept.iter().flatten().all(|&byte| byte == thread as u8));
            });
        }
    });
    let after = *ALLOCATOR.books.lock();
    // Each vector is one allocation and one release.
    assert!(after.calls - before.calls >= 2 * THREADS * EACH, "{} calls", after.calls - before.calls);
    assert!(*ALLOCATOR.light.lock() - light >= 2 * THREADS * EACH);
    // Everything was given back, but for what the test harness and the threads keep.
    assert!((after.bytes - before.bytes).abs() < 1 << 20, "{} bytes are missing", after.bytes - before.bytes);
}
