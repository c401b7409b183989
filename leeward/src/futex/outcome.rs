//! The outcomes of waits.

/// The largest number of words that one [`wait_any`](super::wait_any) takes.
///
/// ```
/// use leeward::futex::{Timeout, WAIT_ANY_MOST, WrongCount, wait_any};
/// let words: Vec<_> = (0..WAIT_ANY_MOST + 1).map(|_| std::sync::atomic::AtomicU32::new(0)).collect();
/// let words: Vec<_> = words.iter().map(|word| (word, 0)).collect();
/// assert!(matches!(wait_any(&words, Timeout::Now), Err(WrongCount::TooMany(129))));
/// ```
pub const MOST: usize = 128;

/// The outcome of a [wait](super::Futex::wait). Whatever it is, the caller rechecks its condition.
///
/// ```
/// use leeward::futex::{Futex, Private, Timeout, Wait};
/// let word = std::sync::atomic::AtomicU32::new(1);
/// assert_eq!(Private::wait(&word, 0, Timeout::Never), Wait::Changed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The caller was woken, or returned for no reason: a signal, or a wake meant for the word's
    /// former use.
    Woken,
    /// The word did not hold the expected value: the caller did not sleep.
    Changed,
    /// The time is up.
    TimedOut,
}

/// The error of a [requeue](super::Futex::requeue) whose word did not hold the expected value: no
/// thread was woken or moved.
///
/// ```
/// use leeward::futex::Changed;
/// assert_eq!(Changed.to_string(), "the futex word did not hold the expected value");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changed;

impl core::fmt::Display for Changed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the futex word did not hold the expected value")
    }
}

impl core::error::Error for Changed {}

/// The outcome of a [wait for several words](super::wait_any). Whatever it is, the caller rechecks
/// its conditions.
///
/// ```
/// use leeward::futex::{Timeout, WaitAny, wait_any};
/// let word = std::sync::atomic::AtomicU32::new(1);
/// match wait_any(&[(&word, 0)], Timeout::Never).expect("one word is neither none nor too many") {
///     WaitAny::Woken(Some(index)) => println!("woken through word {index}, perhaps others too"),
///     WaitAny::Woken(None) | WaitAny::Changed => println!("look at all words"),
///     WaitAny::TimedOut => unreachable!("there was no limit"),
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitAny {
    /// The caller was woken through the word at this index, perhaps through others too. `None`: it
    /// is not known through which, or the caller returned for no reason.
    Woken(Option<usize>),
    /// Some word did not hold its expected value: the caller did not sleep, or stopped sleeping.
    Changed,
    /// The time is up.
    TimedOut,
}
