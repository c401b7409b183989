//! Waiting for several words at once: Linux's `futex_waitv` (5.16, 2021), and what serves where it is refused.
//!
//! Where the kernel has no such call, or a sandbox refuses it, the caller sleeps on the first word alone, in naps between
//! which it looks at all the words: 50 microseconds, twice as long each time, up to 1.5 milliseconds; then it returns
//! [`WaitAny::Woken`] without a place, so that the caller looks at its conditions. So a wake through another word than the
//! first comes late by a nap, at most 4 milliseconds if the word was stored back meanwhile, and is not lost.

use core::time::Duration;

use super::outcome::{MOST, Wait, WaitAny};
use super::{Deadline, System, Timeout, backend};
use crate::atomic::{AtomicU32, Ordering};

/// The naps of the fall-back.
const NAPS: [Duration; 7] = [
    Duration::from_micros(50),
    Duration::from_micros(100),
    Duration::from_micros(200),
    Duration::from_micros(400),
    Duration::from_micros(800),
    Duration::from_micros(1_000),
    Duration::from_micros(1_500),
];

/// A number of words that cannot be waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongCount {
    /// None at all: nobody could wake the caller.
    None,
    /// So many: more than [`WAIT_ANY_MOST`](super::WAIT_ANY_MOST).
    TooMany(usize),
}

impl core::fmt::Display for WrongCount {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            WrongCount::None => f.write_str("a wait for any of no words would never end"),
            WrongCount::TooMany(count) => {
                write!(f, "{count} words to wait for are more than the {MOST} that there may be")
            }
        }
    }
}

impl core::error::Error for WrongCount {}

impl<const SHARED: bool> System<SHARED> {
    /// Sleeps while each word holds the value beside it, until woken through any of them or until `timeout`. May return at
    /// any time.
    ///
    /// A wake through any word that begins after a store to it finds the caller, or the caller finds the store. One
    /// system call, whose cost grows with the number of words. errno is left as it was.
    ///
    /// # Errors
    /// [`WrongCount`]: no words, or more than [`WAIT_ANY_MOST`](super::WAIT_ANY_MOST).
    pub fn wait_any(words: &[(&AtomicU32, u32)], timeout: Timeout) -> Result<WaitAny, WrongCount> {
        match words.len() {
            0 => Err(WrongCount::None),
            1 => Ok(from_one(backend::wait::<SHARED>(words[0].0, words[0].1, timeout))),
            2..=MOST => {
                Ok(backend::wait_any::<SHARED>(words, timeout).unwrap_or_else(|_| nap::<SHARED>(words, timeout)))
            }
            count => Err(WrongCount::TooMany(count)),
        }
    }
}

/// [`System::wait_any`] for [`Private`](super::Private) words.
///
/// # Errors
/// [`WrongCount`]: no words, or more than [`WAIT_ANY_MOST`](super::WAIT_ANY_MOST).
pub fn wait_any(words: &[(&AtomicU32, u32)], timeout: Timeout) -> Result<WaitAny, WrongCount> {
    System::<false>::wait_any(words, timeout)
}

fn from_one(wait: Wait) -> WaitAny {
    match wait {
        Wait::Woken => WaitAny::Woken(Some(0)),
        Wait::Changed => WaitAny::Changed,
        Wait::TimedOut => WaitAny::TimedOut,
    }
}

/// The fall-back.
#[cold]
fn nap<const SHARED: bool>(words: &[(&AtomicU32, u32)], timeout: Timeout) -> WaitAny {
    // Relaxed: the caller's own look has the order.
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
