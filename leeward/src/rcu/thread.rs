//! Who the calling thread is, as slots record it.

/// A name of the calling thread that no other living thread of the process has, and that it keeps in the child of its
/// fork: where its control block lies. Never 0. Async-signal-safe.
#[cfg(all(unix, not(loom)))]
pub(super) fn this() -> usize {
    // SAFETY: has no precondition.
    unsafe { libc::pthread_self() as usize }
}

/// The same in a model.
#[cfg(loom)]
pub(super) fn this() -> usize {
    loom::thread_local! { static NAME: alloc::boxed::Box<u8> = alloc::boxed::Box::new(0); }
    NAME.with(|name| core::ptr::from_ref(&**name) as usize)
}

/// The same elsewhere: where a variable of the thread's own lies. Without thread-local storage nobody can tell, and
/// all are one.
#[cfg(not(any(unix, loom)))]
pub(super) fn this() -> usize {
    #[cfg(feature = "std")]
    {
        std::thread_local! { static NAME: u8 = const { 0 }; }
        return NAME.with(|name| core::ptr::from_ref(name) as usize);
    }
    #[cfg(not(feature = "std"))]
    UNKNOWN
}

/// What `this` is where it cannot be told: equal to nobody's.
pub(super) const UNKNOWN: usize = usize::MAX;

/// The thread's number as the system's tools show it, 0 where there is none.
#[cfg(all(target_os = "linux", not(loom)))]
pub(super) fn number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// The same elsewhere.
#[cfg(any(not(target_os = "linux"), loom))]
pub(super) fn number() -> u32 {
    0
}
