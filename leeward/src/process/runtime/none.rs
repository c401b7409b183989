//! The stand-in for the standard library, where there is none: panics are not caught, and it starts
//! no threads.

/// Runs `callback`, and returns false.
pub(crate) fn panics(callback: impl FnOnce()) -> bool {
    callback();
    false
}

/// Returns false: no thread was started.
#[cfg(feature = "threads")]
pub(crate) fn start(_: impl FnOnce() + Send + 'static) -> bool {
    false
}
