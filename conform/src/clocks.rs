//! What the clocks show.

use crate::futex::Time;
use crate::numbers;
use crate::scenario::{Outcome, Trouble};
use crate::world::{World, unfit, wrong};

pub(crate) const CLOCK_REALTIME: usize = 0;
pub(crate) const CLOCK_MONOTONIC: usize = 1;

impl World<'_> {
    /// Returns what a clock shows.
    pub(crate) fn now(&self, clock: usize) -> Result<Time, Trouble> {
        let mut now = Time::milliseconds(0);
        let arguments = [clock, (&raw mut now).expose_provenance(), 0, 0, 0, 0];
        // SAFETY: the call writes the time.
        let answered = unsafe { self.call(numbers::CLOCK_GETTIME, arguments) };
        answered.map_err(|errno| unfit(format_args!("clock_gettime: {errno}")))?;
        Ok(now)
    }

    /// Returns the point in time that is this far ahead on a clock.
    pub(crate) fn ahead(&self, clock: usize, by: Time) -> Result<Time, Trouble> {
        self.now(clock).map(|now| now.after(by))
    }

    /// Asserts that a clock shows this time, or a later one.
    pub(crate) fn is_past(&self, clock: usize, time: Time, what: &str) -> Outcome {
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
