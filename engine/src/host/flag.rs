//! The word that a waiting thread sleeps on: the waiter's state, as the host sees it.

use crate::atomic::{AtomicU32, Ordering};
use crate::mutant::{mutated, order};

/// The word by which a waiter learns that it need wait no longer. It lies in the waiter, which is
/// gone when its wait has returned: a [`Task`](crate::Host::Task) may keep its address, never a reference.
#[repr(transparent)]
pub struct Flag(pub(crate) AtomicU32);

impl Flag {
    /// What the word holds as long as there is reason to wait. A host that can sleep on a word
    /// sleeps while it is this.
    pub const WAITING: u32 = 1;
    /// The same, and its owner is awake: who wakes it has nobody to unpark.
    pub(crate) const SPINNING: u32 = 5;

    /// Whether there is reason to wait.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        // Acquire: what was done before the wake happens before the wait's return; partner: the
        // waker's exchange (`WaitList::claim`).
        matches!(self.0.load(order!(Acquire, waiting_acquire)), Flag::WAITING | Flag::SPINNING)
    }

    /// Spins before the sleep: for a host whose threads do, called by the thread that parks, in
    /// [`Host::park`](crate::Host::park). Rechecks the flag as long as there is reason to wait and
    /// `again` says so, which is asked before each recheck and lets some time pass. A wake that
    /// comes meanwhile unparks nobody, since no thread is asleep. Afterwards, if there is still
    /// reason to wait, the word is [`WAITING`](Self::WAITING), and wakes unpark.
    ///
    /// A spin is time that passes between the engine's comparison of the word and the sleep. Where
    /// handlers of signals run on the thread itself, one may run meanwhile and change the word:
    /// after a spin in vain such a host answers [`ParkEnd::Recheck`](crate::ParkEnd::Recheck) and
    /// sleeps the next time (see [`Host::park`](crate::Host::park), "Signals").
    ///
    /// # Cost
    /// Two compare-exchanges on the waiter's own line. A wake of a thread that spins costs no
    /// [`Host::unpark`](crate::Host::unpark).
    pub fn spin(&self, again: impl FnMut() -> bool) {
        let mut again = again;
        // Relaxed, all of them: what is found is read again by `is_waiting`, with its acquire. One
        // word, and every step of it an exchange: whoever wakes finds that its owner spins, which
        // then sees that it was woken; or finds that it waits, and unparks.
        if self.0.compare_exchange(Flag::WAITING, Flag::SPINNING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        // Also where `again` panics: the wait is left then, by who waits.
        let _spinning = Spinning(self);
        while again() && self.0.load(Ordering::Relaxed) == Flag::SPINNING {}
    }

    /// One for a group of waiters, which waits.
    pub(crate) fn new_group() -> Flag {
        Flag(AtomicU32::new(Flag::WAITING))
    }

    /// One of the group is about to be woken, under its bucket's lock.
    pub(crate) fn tell_group(&self) {
        // Release: the waiter's bucket, whose lock the group's owner takes next, is seen; partner:
        // `is_waiting`.
        self.0.store(0, Ordering::Release);
    }

    /// The word's address, to sleep on. Only the engine writes it: what it says decides whether the
    /// waiter may go, so it is not handed out as something that safe code could store to.
    ///
    /// ```compile_fail
    /// # use core::sync::atomic::Ordering;
    /// fn lie(flag: &leeward_engine::Flag) {
    ///     flag.word().store(2, Ordering::Relaxed);
    /// }
    /// ```
    #[inline]
    pub fn word(&self) -> *const u32 {
        core::ptr::from_ref(self).cast()
    }
}

/// Its owner spins until this goes.
struct Spinning<'a>(&'a Flag);

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        let word = &self.0.0;
        if mutated!(spin_back) {
            word.store(Flag::WAITING, Ordering::Relaxed);
            return;
        }
        // Relaxed: as in `spin`. An error: it was woken meanwhile.
        let _ = word.compare_exchange(Flag::SPINNING, Flag::WAITING, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl core::fmt::Debug for Flag {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Flag").field(&self.is_waiting()).finish()
    }
}
