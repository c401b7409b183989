//! The error of a push to a bounded queue.

use core::fmt;

/// The error of a push to a [`Bounded`](super::Bounded): it has the value.
///
/// ```
/// use leeward::collect::{Bounded, bounded::PushError};
/// let queue = Bounded::with_capacity(1);
/// assert_eq!(queue.try_push(1), Ok(()));
/// assert_eq!(queue.try_push(2), Err(PushError::Full(2)));
/// queue.close();
/// assert_eq!(queue.try_push(3).unwrap_err().into_inner(), 3);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PushError<T> {
    /// There was no room: at all, for a call that does not wait; or in the time that it had.
    Full(T),
    /// To go on, the call would have to wait for a thread that is in the midst of its pop. Calls that wait
    /// do not return this.
    Busy(T),
    /// The queue is closed.
    Closed(T),
}

impl<T> PushError<T> {
    /// Returns the value that was not pushed.
    pub fn into_inner(self) -> T {
        match self {
            PushError::Full(value) | PushError::Busy(value) | PushError::Closed(value) => value,
        }
    }

    /// Returns true if there was no room.
    pub const fn is_full(&self) -> bool {
        matches!(self, PushError::Full(_))
    }

    /// Returns true if the call would have had to wait for a thread that pops.
    pub const fn is_busy(&self) -> bool {
        matches!(self, PushError::Busy(_))
    }

    /// Returns true if the queue is closed.
    pub const fn is_closed(&self) -> bool {
        matches!(self, PushError::Closed(_))
    }
}

impl<T> fmt::Debug for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushError::Full(_) => "Full(..)",
            PushError::Busy(_) => "Busy(..)",
            PushError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for PushError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushError::Full(_) => "the queue is full",
            PushError::Busy(_) => "a pop is under way in the slot",
            PushError::Closed(_) => "the queue is closed",
        })
    }
}

impl<T> core::error::Error for PushError<T> {}
