//! The word of [`Mutex`](super::Mutex) as questions and changes, and what a waiter knows of itself.
//! The table of the bits is on the field.

use core::time::Duration;

use crate::atomic::{IS_MODEL, outside_model};
use crate::futex::{Deadline, Futex, Timeout};
use crate::mutant::check;

pub(super) const UNLOCKED: u32 = 0;
pub(super) const LOCKED: u32 = 1;
pub(super) const CONTENDED: u32 = 2;
pub(super) const RESERVED: u32 = 4;
/// One request: the unit of the count in bits 3 to 31.
pub(super) const REQUEST: u32 = 8;
/// The bits that count requests.
pub(super) const REQUESTS: u32 = !(REQUEST - 1);

pub(super) const fn is_locked(word: u32) -> bool {
    word & LOCKED != 0
}

/// Returns true if a thread may take the lock that has slept for it (`patient`), or has not.
pub(super) const fn is_free_for(word: u32, patient: bool) -> bool {
    !is_locked(word) && (word & RESERVED == 0 || patient)
}

pub(super) const fn is_reserved(word: u32) -> bool {
    word & RESERVED != 0
}

pub(super) const fn has_requests(word: u32) -> bool {
    word & REQUESTS != 0
}

/// Returns `word` with one request less. (A word without requests stays as it is: another process
/// may have written to a shared lock.)
pub(super) const fn without_request(word: u32) -> u32 {
    if has_requests(word) { word - REQUEST } else { word }
}

/// How many wake-ups a waiter may lose to newcomers before it requests the lock.
const LOSSES: u32 = 32;
/// How long a waiter waits before it requests the lock when it loses a wake-up. Also how long a
/// free lock stays reserved if no thread that has slept comes for it.
const LONG: Duration = Duration::from_millis(1);

/// What a waiter knows about itself.
pub(super) struct Waiter {
    /// The waiter has slept, so it may take a reserved lock.
    pub(super) patient: bool,
    /// The waiter is one of those that the word counts as requests.
    pub(super) has_requested: bool,
    /// The waiter saw the lock stay reserved for [`LONG`]: the requests have expired.
    pub(super) expired: bool,
    /// How many wake-ups the waiter lost to other threads.
    pub(super) losses: u32,
    /// When the waiter first went to sleep.
    pub(super) since: Option<Deadline>,
}

impl Waiter {
    pub(super) const fn new(patient: bool) -> Waiter {
        Waiter { patient, has_requested: false, expired: false, losses: 0, since: None }
    }

    /// Notes a wake-up. It counts as lost until the waiter takes the lock.
    pub(super) fn woken(&mut self) {
        self.patient = true;
        self.losses = self.losses.saturating_add(1);
    }

    /// Returns true if the waiter was overtaken for too long, or has requested the lock already.
    #[inline]
    pub(super) fn is_starving<F: Futex>(&mut self) -> bool {
        if self.has_requested || self.losses == 0 {
            return self.has_requested;
        }
        let since = self.since.unwrap_or(Deadline::at(Duration::MAX)).since_beginning();
        self.losses > outside_model(LOSSES) || since.saturating_add(LONG) <= F::now().since_beginning()
    }
}

/// Returns until when the caller may sleep on `word`: a reserved lock stays reserved for [`LONG`].
/// Waiters that are there come at once. In the child of a fork they are not there, nor if their
/// process was killed. (In a model they are, so nothing expires.)
pub(super) fn kept_until<F: Futex>(word: u32) -> Timeout {
    let expires = check!(mutex_expire, is_reserved(word) && !IS_MODEL);
    if expires { Timeout::after::<F>(LONG) } else { Timeout::Never }
}
