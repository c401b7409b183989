//! Where threads have no numbers: models, and systems other than Linux.

/// The calling thread's number: 0, which is no thread's.
pub(crate) fn this() -> u32 {
    0
}
