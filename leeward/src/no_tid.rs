//! Without thread-local storage the kernel is asked each time.

/// The calling thread's number.
pub(crate) fn this() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}
