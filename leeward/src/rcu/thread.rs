//! Who the calling thread is, as slots record it.

/// A name of the calling thread that no other thread of the process ever has, and that it keeps in the child of its
/// fork: a count, kept in thread-local storage. (The address of the thread's control block would do, were it not used
/// again: a slot whose thread has gone must be nobody's.) Async-signal-safe.
#[cfg(all(feature = "std", not(leeward_loom)))]
pub(crate) fn this() -> u64 {
    use core::cell::Cell;
    use core::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(FIRST);
    std::thread_local! { static NAME: Cell<u64> = const { Cell::new(0) }; }
    NAME.with(|name| match name.get() {
        0 => {
            // Relaxed: only its being unique matters. A signal handler that comes first gives a name; the later one
            // stays.
            name.set(LAST.fetch_add(1, Ordering::Relaxed));
            name.get()
        }
        known => known,
    })
}

/// The same in a model. Core's atomic: loom need not know it. (An address would be used again, or not, as the allocator
/// likes, and loom wants every execution to do the same.)
#[cfg(leeward_loom)]
pub(crate) fn this() -> u64 {
    use core::sync::atomic::{AtomicU64, Ordering};
    static LAST: AtomicU64 = AtomicU64::new(FIRST);
    // Relaxed: only its being unique matters.
    loom::thread_local! { static NAME: u64 = LAST.fetch_add(1, Ordering::Relaxed); }
    NAME.with(|name| *name)
}

/// Without thread-local storage: the thread's number, which may be used again when it has gone. Only handles are
/// recorded then, and a forgotten one may be taken for a later thread's: `synchronize` panics there instead of
/// waiting for ever.
#[cfg(all(target_os = "linux", not(feature = "std"), not(leeward_loom)))]
pub(crate) fn this() -> u64 {
    // SAFETY: has no precondition.
    let block = unsafe { libc::pthread_self() };
    // Kept in the child of a fork, unlike the number that the kernel has for it.
    (block as u64).max(FIRST)
}

/// Where nobody can tell, all threads are one.
#[cfg(all(not(target_os = "linux"), not(feature = "std"), not(leeward_loom)))]
pub(crate) fn this() -> u64 {
    UNKNOWN
}

/// What `this` is where it cannot be told: equal to nobody's.
pub(crate) const UNKNOWN: u64 = u64::MAX;
/// Names below this one have a meaning of their own in slots.
#[allow(dead_code)]
const FIRST: u64 = 16;

/// The thread's number as the system's tools show it, 0 where there is none.
#[cfg(all(target_os = "linux", not(leeward_loom)))]
pub(crate) fn number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// The same elsewhere.
#[cfg(any(not(target_os = "linux"), leeward_loom))]
pub(crate) fn number() -> u32 {
    0
}
