//! What every word of a thread has, however it is declared.

/// A word of the calling thread's, declared by `word!`. Reading and writing it allocates nothing,
/// is async-signal-safe, and works from the thread's first instruction to its last.
pub(crate) trait Word: Copy {
    /// The type of the word: `u64`, `usize`, a pointer, or a pair of these.
    type Value: Copy;

    /// Returns the calling thread's value.
    fn get(self) -> Self::Value;

    /// Sets the calling thread's value.
    fn set(self, value: Self::Value);
}
