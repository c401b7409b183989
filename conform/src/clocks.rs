//! What the clocks show.

use crate::futex::Time;
use crate::numbers;
use crate::scenario::{Outcome, Trouble};
use crate::world::{World, unfit, wrong};

/// A clock, by its number.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum Clock {
    Realtime = 0,
    Monotonic = 1,
}

impl World<'_> {
    /// Returns what a clock shows.
    pub(crate) fn now(&self, clock: Clock) -> Result<Time, Trouble> {
        let mut now = Time::milliseconds(0);
        let arguments = [clock as usize, (&raw mut now).expose_provenance(), 0, 0, 0, 0];
        // SAFETY: the call writes the time.
        let answered = unsafe { self.call(numbers::CLOCK_GETTIME, arguments) };
        answered.map_err(|errno| unfit(format_args!("clock_gettime: {errno}")))?;
        Ok(now)
    }

    /// Asserts that a clock shows this time, or a later one.
    pub(crate) fn is_past(&self, clock: Clock, time: Time, what: &str) -> Outcome {
        let now = self.now(clock)?;
        if now >= time {
            return Ok(());
        }
        wrong(format_args!(
            "{what} ended too early: its clock showed {} s {} ns, and its time was {} s {} ns",
            now.seconds, now.nanoseconds, time.seconds, time.nanoseconds
        ))
    }
}
