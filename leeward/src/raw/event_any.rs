//! Waiting for any of several events.

use super::Event;
use super::event::{ONE, has_happened};
use super::spin_budget::SpinBudget;
use crate::atomic::Ordering;
use crate::futex::{Deadline, System, Timeout, WAIT_ANY_MOST, WaitAny, WrongCount};

impl<const SHARED: bool> Event<System<SHARED>> {
    /// Waits until one of the events is set; the place of the first that is, or was meanwhile.
    ///
    /// # Errors
    /// [`WrongCount`]: no events, or more than [`WAIT_ANY_MOST`].
    pub fn wait_any(events: &[&Self]) -> Result<usize, WrongCount> {
        loop {
            if let Some(place) = Self::wait_any_by(events, Timeout::Never)? {
                return Ok(place);
            }
        }
    }

    /// The same until `deadline` at most; `None`: none was set by then.
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn wait_any_until(events: &[&Self], deadline: Deadline) -> Result<Option<usize>, WrongCount> {
        Self::wait_any_by(events, Timeout::At(deadline))
    }

    fn wait_any_by(events: &[&Self], timeout: Timeout) -> Result<Option<usize>, WrongCount> {
        let first = events.first().ok_or(WrongCount::None)?;
        if events.len() > WAIT_ANY_MOST {
            return Err(WrongCount::TooMany(events.len()));
        }
        // What each holds, and how often each had been set when the wait began.
        let mut words = [(&first.word, 0); WAIT_ANY_MOST];
        let mut before = [0; WAIT_ANY_MOST];
        reload(events, &mut words);
        before.iter_mut().zip(words).for_each(|(before, (_, word))| *before = word / ONE);
        let mut budget = SpinBudget::for_event(timeout);
        loop {
            let happened = words.iter().zip(before).position(|((_, word), before)| has_happened(*word, before));
            // (Those behind the last event hold 0, never set, and were found so.)
            if let Some(place) = happened {
                return Ok(Some(place));
            }
            if !budget.pause::<System<SHARED>>() && mark(events, &mut words) {
                let outcome = System::<SHARED>::wait_any(&words[..events.len()], timeout)?;
                if outcome == WaitAny::TimedOut {
                    return Ok(None);
                }
            }
            reload(events, &mut words);
        }
    }
}

type Words<'a> = [(&'a crate::atomic::AtomicU32, u32); WAIT_ANY_MOST];

fn reload<'a, const SHARED: bool>(events: &[&'a Event<System<SHARED>>], words: &mut Words<'a>) {
    for (word, event) in words.iter_mut().zip(events) {
        // Acquire: partner of the release in `Event::set`.
        *word = (&event.word, event.word.load(Ordering::Acquire));
    }
}

/// Says of each that somebody sleeps; false if one has changed.
fn mark<const SHARED: bool>(events: &[&Event<System<SHARED>>], words: &mut Words<'_>) -> bool {
    words.iter_mut().zip(events).all(|((_, word), event)| match event.mark(*word) {
        Some(marked) => {
            *word = marked;
            true
        }
        None => false,
    })
}
