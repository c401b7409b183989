//! Where this library sleeps: a 32-bit word that one thread waits on and another wakes.
//!
//! Called by the locks and by grace periods; calls the backend of the platform.

#[cfg(all(target_os = "linux", not(leeward_symmetric), not(leeward_loom)))]
#[path = "kernel.rs"]
mod backend;
#[cfg(leeward_loom)]
#[path = "model.rs"]
mod backend;
#[cfg(all(any(not(target_os = "linux"), leeward_symmetric), not(leeward_loom)))]
#[path = "portable.rs"]
mod backend;

pub(crate) use backend::{now, wait, wake, yield_now};

/// How a wait ended. Whatever it says, the caller looks at its condition again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// A wake, or the word did not hold the expected value, or a signal: look again.
    LookAgain,
    /// The time is up.
    TimedOut,
}

/// "As many as there are."
pub(crate) const ALL: u32 = i32::MAX as u32;
