//! Threads that the standard library does not know, for children of forks: the standard library
//! takes a lock of its own as one of its threads begins and as it ends, and another thread may have
//! held that lock at the fork.

#![allow(dead_code, missing_docs)]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

struct Shared<'a, F> {
    work: &'a F,
    panicked: AtomicBool,
}

extern "C" fn begin<F: Fn() + Sync>(shared: *mut c_void) -> *mut c_void {
    // SAFETY: `with_bare_threads` passes one that outlives the thread.
    let shared = unsafe { &*shared.cast_const().cast::<Shared<'_, F>>() };
    if catch_unwind(AssertUnwindSafe(shared.work)).is_err() {
        shared.panicked.store(true, Ordering::SeqCst);
    }
    std::ptr::null_mut()
}

/// Runs `work` on that many threads, and `meanwhile` on this one, and waits until all have ended.
/// Returns true if no thread panicked.
pub fn with_bare_threads<F: Fn() + Sync>(count: usize, work: F, meanwhile: impl FnOnce()) -> bool {
    let shared = Shared { work: &work, panicked: AtomicBool::new(false) };
    let threads: Vec<_> = (0..count)
        .map(|_| {
            let mut thread = MaybeUninit::uninit();
            let argument = (&raw const shared).cast_mut().cast();
            // SAFETY: room for the thread's name, and what `begin` asks for: joined below, whatever
            // `meanwhile` does.
            let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), std::ptr::null(), begin::<F>, argument) };
            if error != 0 {
                // The other threads use what is on this stack.
                std::process::abort();
            }
            // SAFETY: written by the call.
            unsafe { thread.assume_init() }
        })
        .collect();
    let outcome = catch_unwind(AssertUnwindSafe(meanwhile));
    for thread in threads {
        // SAFETY: a thread of ours, joined once.
        unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
    }
    outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    !shared.panicked.into_inner()
}
