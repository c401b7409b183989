//! Points in time on the clock that waits end by.

use core::time::Duration;

use super::Futex;

/// A point in time on the monotonic clock. Waits take one, so that a wait that is begun again ends when the first one
/// would have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deadline(Duration);

impl Deadline {
    /// So long after the clock's beginning.
    pub const fn at(time: Duration) -> Deadline {
        Deadline(time)
    }

    /// So long from now; the end of time, if that is later than the clock can say.
    pub fn after<F: Futex>(limit: Duration) -> Deadline {
        Deadline(F::now().0.saturating_add(limit))
    }

    /// How long after the clock's beginning.
    pub const fn since_beginning(self) -> Duration {
        self.0
    }

    /// Whether it has come.
    pub fn has_passed<F: Futex>(self) -> bool {
        F::now() >= self
    }
}

/// How long a call may wait. Ordered: what ends earlier is less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Timeout {
    /// Not at all.
    Now,
    /// Until that point in time.
    At(Deadline),
    /// Without limit.
    Never,
}

impl Timeout {
    /// Returns the timeout that is `limit` from now.
    pub fn after<F: Futex>(limit: Duration) -> Timeout {
        Timeout::At(Deadline::after::<F>(limit))
    }

    /// Returns the deadline, as a futex call takes it; none if there is no limit.
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
