//! Names in thread-local storage: a count, so that no thread is ever taken for another, and a thread
//! keeps its name in the child of its fork. (The address of the thread's control block is used again.)

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use super::{ENDED, FIRST};
use crate::fork;

static LAST: AtomicU64 = AtomicU64::new(FIRST);

std::thread_local! {
    static NAME: Cell<u64> = const { Cell::new(0) };
    /// Handles that the thread has, or has forgotten.
    static HANDLES: Cell<usize> = const { Cell::new(0) };
    /// Touched when the thread first has a handle.
    static END: End = const { End };
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        if HANDLES.get() != 0 {
            fork::thread_ends();
        }
    }
}

/// The calling thread's name. Async-signal-safe.
pub(crate) fn this() -> u64 {
    NAME.with(|name| match name.get() {
        0 => {
            // Relaxed: only its being unique matters. A signal handler that comes first gives a name;
            // the later one stays.
            name.set(LAST.fetch_add(1, Ordering::Relaxed));
            name.get()
        }
        known => known,
    })
}

/// The owner's word of a handle that the calling thread takes. Allocates, the first time on a thread.
pub(crate) fn take_handle() -> u64 {
    HANDLES.set(HANDLES.get() + 1);
    if END.try_with(|_| ()).is_ok() { this() } else { this() | ENDED }
}

/// The calling thread gives a handle up.
pub(crate) fn give_handle() {
    HANDLES.set(HANDLES.get().saturating_sub(1));
}
