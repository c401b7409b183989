//! The wait for several words at once: Linux's `futex_waitv` (5.16, 2021), and the fallback where
//! it is refused: naps ([`System::wait_any`] says how long).

use core::time::Duration;

use super::outcome::{MOST, Wait, WaitAny};
use super::{Deadline, System, Timeout, backend};
use crate::atomic::{AtomicU32, Ordering};

/// The naps of the fallback.
const NAPS: [Duration; 7] = [
    Duration::from_micros(50),
    Duration::from_micros(100),
    Duration::from_micros(200),
    Duration::from_micros(400),
    Duration::from_micros(800),
    Duration::from_micros(1_000),
    Duration::from_micros(1_500),
];

/// The error of a [wait for several words](super::wait_any), or for [several
/// events](crate::raw::Event::wait_any): there are none, or too many.
///
/// ```
/// use leeward::futex::{Timeout, WrongCount, wait_any};
/// assert_eq!(wait_any(&[], Timeout::Never), Err(WrongCount::Empty));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongCount {
    /// There is nothing to wait for: no thread could wake the caller.
    Empty,
    /// There are this many words or events, which is more than [`WAIT_ANY_MOST`](super::WAIT_ANY_MOST).
    TooMany(usize),
}

impl core::fmt::Display for WrongCount {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            WrongCount::Empty => f.write_str("there is nothing to wait for, so that the wait would never end"),
            WrongCount::TooMany(count) => {
                write!(f, "{count} are too many to wait for at once: there may be {MOST}")
            }
        }
    }
}

impl core::error::Error for WrongCount {}

impl<const SHARED: bool> System<SHARED> {
    /// Sleeps while each word holds the value beside it, until woken through any of them or until
    /// `timeout`. It may return at any time.
    ///
    /// A wake through any word that begins after a store to the word finds the caller, or the
    /// caller finds the store. errno is left as it was.
    ///
    /// ```
    /// use leeward::futex::{System, Timeout, WaitAny};
    /// use std::sync::atomic::AtomicU32;
    /// let (stop, work) = (AtomicU32::new(0), AtomicU32::new(1));
    /// let outcome = System::<false>::wait_any(&[(&stop, 0), (&work, 0)], Timeout::Never);
    /// assert!(matches!(outcome, Ok(WaitAny::Changed)));      // `work` is not 0 any more
    /// ```
    ///
    /// # Differences from the futex_waitv call
    /// - One word is waited for by the plain futex call, which older kernels have too.
    /// - Where the kernel has no such call (before Linux 5.16), or a sandbox refuses it, the caller
    ///   sleeps on the first word alone, in naps between which it looks at all the words: seven of
    ///   50 µs to 1.5 ms, each longer than the last, 4 ms together. Then it returns
    ///   [`WaitAny::Woken`]`(None)`, so that the caller rechecks its conditions. A wake through
    ///   another word than the first comes late by a nap, by 4 ms at most if the word was stored
    ///   back meanwhile, and is not lost.
    ///
    /// # Cost
    /// One system call, whose cost grows with the number of words.
    ///
    /// # Errors
    /// [`WrongCount`]: no words, or more than [`WAIT_ANY_MOST`](super::WAIT_ANY_MOST).
    pub fn wait_any(words: &[(&AtomicU32, u32)], timeout: Timeout) -> Result<WaitAny, WrongCount> {
        match words.len() {
            0 => Err(WrongCount::Empty),
            1 => Ok(from_one(backend::wait::<SHARED>(words[0].0, words[0].1, timeout))),
            2..=MOST => {
                Ok(backend::wait_any::<SHARED>(words, timeout).unwrap_or_else(|_| nap::<SHARED>(words, timeout)))
            }
            count => Err(WrongCount::TooMany(count)),
        }
    }
}

/// Sleeps while each of some [`Private`](super::Private) words holds the value beside it, until
/// woken through any of them or until `timeout`. It may return at any time.
///
/// [`System::wait_any`] says what holds on older kernels, and the cost. A program waits for several
/// events by `sync::Event::wait_any`.
///
/// ```
/// use leeward::futex::{Timeout, WaitAny, wait_any};
/// use std::sync::atomic::AtomicU32;
/// let (one, two) = (AtomicU32::new(0), AtomicU32::new(5));
/// assert_eq!(wait_any(&[(&one, 0), (&two, 0)], Timeout::Never), Ok(WaitAny::Changed));
/// ```
///
/// # Errors
/// [`WrongCount`]: no words, or more than [`WAIT_ANY_MOST`](super::WAIT_ANY_MOST).
pub fn wait_any(words: &[(&AtomicU32, u32)], timeout: Timeout) -> Result<WaitAny, WrongCount> {
    System::<false>::wait_any(words, timeout)
}

/// Converts the outcome of a wait for one word.
fn from_one(wait: Wait) -> WaitAny {
    match wait {
        Wait::Woken => WaitAny::Woken(Some(0)),
        Wait::Changed => WaitAny::Changed,
        Wait::TimedOut => WaitAny::TimedOut,
    }
}

/// Waits by naps on the first word: the fallback where there is no `futex_waitv`.
#[cold]
fn nap<const SHARED: bool>(words: &[(&AtomicU32, u32)], timeout: Timeout) -> WaitAny {
    // Relaxed: the caller's own check of its conditions has the order.
    let has_changed = || words.iter().any(|(word, expected)| word.load(Ordering::Relaxed) != *expected);
    let is_over = |now| timeout.deadline().is_some_and(|deadline| Deadline::at(now) >= deadline);
    for nap in NAPS {
        let now = backend::now();
        match has_changed() {
            true => return WaitAny::Changed,
            false if is_over(now) => return WaitAny::TimedOut,
            false => {}
        }
        let end = timeout.min(Timeout::At(Deadline::at(now.saturating_add(nap))));
        if let wait @ (Wait::Woken | Wait::Changed) = backend::wait::<SHARED>(words[0].0, words[0].1, end) {
            return from_one(wait);
        }
    }
    if is_over(backend::now()) { WaitAny::TimedOut } else { WaitAny::Woken(None) }
}
