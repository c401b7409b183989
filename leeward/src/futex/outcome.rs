//! How waits end.

/// As many words as one call takes.
pub const MOST: usize = 128;

/// How a wait ended. Whatever it says, the caller looks at its condition again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Woken; or for no reason: a signal, a wake meant for the word's former use.
    Woken,
    /// The word did not hold the expected value: the caller did not sleep.
    Changed,
    /// The time is up.
    TimedOut,
}

/// The word did not hold the expected value: nobody was woken or moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changed;

impl core::fmt::Display for Changed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the futex word did not hold the expected value")
    }
}

impl core::error::Error for Changed {}

/// How a wait for several words ended. Whatever it says, the caller looks at its conditions again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitAny {
    /// Woken through the word of this place, perhaps through others too; `None`: by who knows which, or for no reason.
    Woken(Option<usize>),
    /// Some word did not hold its expected value: the caller did not sleep, or no longer.
    Changed,
    /// The time is up.
    TimedOut,
}
