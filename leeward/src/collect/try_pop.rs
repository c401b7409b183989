//! The outcome of a pop that does not wait.

/// The outcome of a pop that does not wait.
///
/// ```
/// use leeward::collect::{Queue, TryPop};
/// let queue = <Queue<u32>>::new();
/// assert_eq!(queue.try_pop(), TryPop::Empty);
/// queue.push(1);
/// assert_eq!(queue.try_pop().value(), Some(1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "it may hold a value"]
pub enum TryPop<T> {
    /// The value that was taken.
    Value(T),
    /// There was no value.
    Empty,
    /// To go on, the call would have to wait for another thread: one that pops, or one that is in
    /// the midst of its push. Nothing was changed.
    Busy,
}

impl<T> TryPop<T> {
    /// Returns the value, if one was taken.
    pub fn value(self) -> Option<T> {
        match self {
            TryPop::Value(value) => Some(value),
            TryPop::Empty | TryPop::Busy => None,
        }
    }

    /// Returns true if there was no value.
    pub const fn is_empty(&self) -> bool {
        matches!(self, TryPop::Empty)
    }

    /// Returns true if the call would have had to wait.
    pub const fn is_busy(&self) -> bool {
        matches!(self, TryPop::Busy)
    }
}
