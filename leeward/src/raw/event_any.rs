//! Waiting for any of several events. Called through `sync` and `shared`; calls
//! [`System::wait_any`] and `event.rs`.

use core::time::Duration;

use super::Event;
use super::event::{ONE, has_happened};
use super::spin_budget::SpinBudget;
use crate::atomic::Ordering;
use crate::futex::{Deadline, System, Timeout, WAIT_ANY_MOST, WaitAny, WrongCount};

impl<const SHARED: bool> Event<System<SHARED>> {
    /// Waits until one of the events is set; returns the index of the first that is, or was
    /// meanwhile.
    ///
    /// One system call waits for all (`futex_waitv`, Linux 5.16). Where it is refused, a set of an
    /// event other than the first may be noticed up to about 1.5 ms late.
    ///
    /// ```
    /// use leeward::raw::Event;
    /// let (stop, work) = (<Event>::new(), <Event>::new());
    /// work.set();
    /// assert_eq!(Event::wait_any(&[&stop, &work]), Ok(1));
    /// ```
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

    /// Waits as [`wait_any`](Self::wait_any) does, until `deadline` at most. Returns `None` if no
    /// event was set by then.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Private};
    /// use leeward::raw::Event;
    /// use std::time::Duration;
    /// let (stop, work) = (<Event>::new(), <Event>::new());
    /// let soon = Deadline::after::<Private>(Duration::from_millis(1));
    /// assert_eq!(Event::wait_any_until(&[&stop, &work], soon), Ok(None));
    /// stop.set();
    /// assert_eq!(Event::wait_any_until(&[&stop, &work], soon), Ok(Some(0)));
    /// ```
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn wait_any_until(events: &[&Self], deadline: Deadline) -> Result<Option<usize>, WrongCount> {
        Self::wait_any_by(events, Timeout::At(deadline))
    }

    /// Waits as [`wait_any`](Self::wait_any) does, for `limit` at most. Returns `None` if no event was set
    /// by then. A limit that is longer than the clock can say is none.
    ///
    /// ```
    /// use leeward::raw::Event;
    /// use std::time::Duration;
    /// let (stop, work) = (<Event>::new(), <Event>::new());
    /// assert_eq!(Event::wait_any_for(&[&stop, &work], Duration::from_millis(1)), Ok(None));
    /// work.set();
    /// assert_eq!(Event::wait_any_for(&[&stop, &work], Duration::MAX), Ok(Some(1)));
    /// ```
    ///
    /// # Errors
    /// As [`wait_any`](Self::wait_any).
    pub fn wait_any_for(events: &[&Self], limit: Duration) -> Result<Option<usize>, WrongCount> {
        Self::wait_any_by(events, Timeout::after::<System<SHARED>>(limit))
    }

    /// Waits until one of the events is set; returns its index, or `None` if the time was up first.
    fn wait_any_by(events: &[&Self], timeout: Timeout) -> Result<Option<usize>, WrongCount> {
        let first = events.first().ok_or(WrongCount::Empty)?;
        if events.len() > WAIT_ANY_MOST {
            return Err(WrongCount::TooMany(events.len()));
        }
        // The word of each event, and how often each had been set when the wait began.
        let mut words = [(&first.word, 0); WAIT_ANY_MOST];
        let mut before = [0; WAIT_ANY_MOST];
        reload(events, &mut words);
        before.iter_mut().zip(words).for_each(|(before, (_, word))| *before = word / ONE);
        let mut budget = SpinBudget::for_event(timeout);
        loop {
            let happened = words.iter().zip(before).position(|((_, word), before)| has_happened(*word, before));
            // (The places after the last event hold 0, which is an event that was never set.)
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

/// The events' words, each with the value that was last read.
type Words<'a> = [(&'a crate::atomic::AtomicU32, u32); WAIT_ANY_MOST];

/// Reads the word of each event.
fn reload<'a, const SHARED: bool>(events: &[&'a Event<System<SHARED>>], words: &mut Words<'a>) {
    for (word, event) in words.iter_mut().zip(events) {
        // Acquire: partner of the release in `Event::set`.
        *word = (&event.word, event.word.load(Ordering::Acquire));
    }
}

/// Marks each event as contended. Returns false if one has changed meanwhile.
fn mark<const SHARED: bool>(events: &[&Event<System<SHARED>>], words: &mut Words<'_>) -> bool {
    words.iter_mut().zip(events).all(|((_, word), event)| match event.mark(*word) {
        Some(marked) => {
            *word = marked;
            true
        }
        None => false,
    })
}
