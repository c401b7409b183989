//! Time limits of waits, on the clock of the futex.

use core::time::Duration;

use super::Futex;

/// A point in time on the monotonic clock of a [`Futex`].
///
/// Waits take a point and not a length, so that a wait that is begun again ends when the first one
/// would have ended.
///
/// ```
/// use leeward::futex::{Deadline, Private};
/// use std::time::Duration;
/// let deadline = Deadline::after::<Private>(Duration::from_secs(60));
/// assert!(!deadline.has_passed::<Private>());
/// assert!(deadline > Deadline::at(Duration::ZERO));
/// assert_eq!(Deadline::at(Duration::from_secs(1)).since_beginning().as_secs(), 1);
/// ```
///
/// # Differences from `std::time::Instant`
/// - The clock is the futex's: [`Private`](super::Private) and [`Shared`](super::Shared) have the
///   system's monotonic clock, an embedded engine has its host's.
/// - A deadline is made from the clock's reading and can be converted back.
/// - Nothing overflows: what is later than the clock can say is the end of time.
///
/// # Cost
/// [`after`](Self::after) and [`has_passed`](Self::has_passed) read the clock; all else is
/// arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deadline(Duration);

impl Deadline {
    /// Returns the point in time that is `time` after the clock's beginning.
    pub const fn at(time: Duration) -> Deadline {
        Deadline(time)
    }

    /// Returns the point in time that is `limit` from now; the end of time, if that is later than
    /// the clock can say.
    pub fn after<F: Futex>(limit: Duration) -> Deadline {
        Deadline(F::now().0.saturating_add(limit))
    }

    /// Returns how long after the clock's beginning the deadline is.
    pub const fn since_beginning(self) -> Duration {
        self.0
    }

    /// Returns true if the deadline has come.
    pub fn has_passed<F: Futex>(self) -> bool {
        F::now() >= self
    }
}

/// A limit on how long a call may wait. The order is that of time: the limit that ends earlier is
/// less.
///
/// ```
/// use leeward::futex::{Private, Timeout};
/// use std::time::Duration;
/// let soon = Timeout::after::<Private>(Duration::from_millis(1));
/// assert_eq!(soon.min(Timeout::Never), soon);
/// assert!(Timeout::Now < soon && Timeout::Now.has_passed::<Private>());
/// assert!(soon.deadline().is_some() && Timeout::Never.deadline().is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Timeout {
    /// The call does not wait at all.
    Now,
    /// The call waits until that point in time.
    At(Deadline),
    /// The call waits without limit.
    Never,
}

impl Timeout {
    /// Returns the timeout that is `limit` from now.
    pub fn after<F: Futex>(limit: Duration) -> Timeout {
        Timeout::At(Deadline::after::<F>(limit))
    }

    /// Returns the deadline, as a futex call takes it; `None` if there is no limit.
    pub const fn deadline(self) -> Option<Deadline> {
        match self {
            Timeout::Now => Some(Deadline::at(Duration::ZERO)),
            Timeout::At(deadline) => Some(deadline),
            Timeout::Never => None,
        }
    }

    /// Returns true if the time is up.
    pub fn has_passed<F: Futex>(self) -> bool {
        match self {
            Timeout::Now => true,
            Timeout::At(deadline) => deadline.has_passed::<F>(),
            Timeout::Never => false,
        }
    }
}
