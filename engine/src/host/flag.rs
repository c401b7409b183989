//! The word that a waiting thread sleeps on: the waiter's state, as the host sees it.

use crate::atomic::{AtomicU32, Ordering};
use crate::mutant::{mutated, order};

/// The word by which a waiter learns that it need wait no longer. The engine gives it to
/// [`Host::task`](crate::Host::task) and [`Host::park`](crate::Host::park), and wakers change it.
///
/// It lies in the waiter, whose memory is gone when its wait has returned: a
/// [`Task`](crate::Host::Task) may keep its address, never a reference.
///
/// ```
#[doc = include_str!("required.md")]
/// use leeward_engine::{
///     Clock, Config, Deadline, Engine, Flag, Heap, Host, ParkEnd, Space, Wait, Word,
/// };
/// use std::sync::atomic::AtomicU32;
/// use std::thread::{self, Thread};
///
/// struct Program {
///     space: Space<Program>,
///     words: [AtomicU32; 1],
/// }
///
/// impl Host for Program {
///     // The methods about user memory, as in the example of `Host`.
///     memory!();
///     type Task = Thread;
///     fn task(&self, _: &Flag) -> Thread {
///         thread::current()
///     }
///     fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
///         let mut tries = 0..100;
///         flag.spin(|| tries.next().is_some());
///         while flag.is_waiting() {
///             // This host has no clock: each deadline has come.
///             if until.is_some() {
///                 return ParkEnd::TimedOut;
///             }
///             thread::park();
///         }
///         ParkEnd::Unparked
///     }
///     fn unpark(&self, task: Thread) {
///         task.unpark();
///     }
/// }
///
/// let engine = Engine::new(Config::small(7), Heap).unwrap();
/// let program = Program { space: Space::new(1, 7, Heap), words: Default::default() };
/// let word = Word::private(0);
/// let wait = |until| engine.wait(&program, word, 0, u32::MAX, until);
/// assert_eq!(wait(Some(Deadline { clock: Clock::Monotonic, at: 0 })), Ok(Wait::TimedOut));
/// thread::scope(|threads| {
///     // Wakes until the waiter is there.
///     threads.spawn(|| while engine.wake(&program, word, 1, u32::MAX) == Ok(0) {});
///     assert_eq!(wait(None), Ok(Wait::Woken));
/// });
/// ```
#[repr(transparent)]
pub struct Flag(pub(crate) AtomicU32);

impl Flag {
    /// The word's value as long as there is reason to wait. A host that can sleep on a word sleeps
    /// while the word is this.
    pub const WAITING: u32 = 1;
    /// The word's value while there is reason to wait and the waiter's owner spins: a waker need
    /// unpark no thread.
    pub(crate) const SPINNING: u32 = 5;

    /// Returns true if there is reason to wait.
    ///
    /// Memory ordering: what was done before the wake happens before a return of false.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        // Acquire: what was done before the wake happens before the wait's return; partner: the
        // waker's exchange (`WaitList::claim`).
        matches!(self.0.load(order!(Acquire, waiting_acquire)), Flag::WAITING | Flag::SPINNING)
    }

    /// Spins before the sleep, as long as there is reason to wait and `again` returns true. The
    /// thread that parks calls it, in [`Host::park`](crate::Host::park). `again` is called before
    /// each recheck of the flag, and lets some time pass.
    ///
    /// A wake that comes meanwhile unparks no thread, since none is asleep. When this returns and
    /// there is still reason to wait, the word is [`WAITING`](Self::WAITING), and wakes unpark,
    /// also where `again` panics.
    ///
    /// # Signals
    ///
    /// A spin is time that passes between the engine's comparison of the word and the sleep. Where
    /// signal handlers run on the thread itself, one may run meanwhile and change the word:
    /// after a spin in vain such a host answers [`ParkEnd::Recheck`](crate::ParkEnd::Recheck) and
    /// sleeps the next time (see [`Host::park`](crate::Host::park), "Signals").
    ///
    /// # Cost
    /// Two compare-exchanges on the waiter's own line. A wake of a thread that spins costs no
    /// [`Host::unpark`](crate::Host::unpark).
    pub fn spin(&self, again: impl FnMut() -> bool) {
        let mut again = again;
        // Relaxed, all of them: what is found is read again by `is_waiting`, with its acquire.
        // Every step of a spin and of a wake is an exchange of this one word:
        // - if the waker finds that the owner spins, it unparks no thread, and the owner then sees
        //   that it was woken;
        // - if the waker finds that the owner waits, it unparks it.
        if self.0.compare_exchange(Flag::WAITING, Flag::SPINNING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        // Its drop ends the spin also where `again` panics: the owner then leaves the wait.
        let _spinning = Spinning(self);
        while again() && self.0.load(Ordering::Relaxed) == Flag::SPINNING {}
    }

    /// Makes the flag of a group of waiters, which waits.
    pub(crate) fn new_group() -> Flag {
        Flag(AtomicU32::new(Flag::WAITING))
    }

    /// Tells the group's owner that one of the group is about to be woken; under that waiter's
    /// bucket's lock.
    pub(crate) fn tell_group(&self) {
        // Release: the owner sees the waiter's bucket, whose lock it takes next; partner:
        // `is_waiting`.
        self.0.store(0, Ordering::Release);
    }

    /// Returns the word's address, to sleep on. Only the engine writes the word: it decides whether
    /// the waiter's memory may go, so it is not handed out as something that safe code could store
    /// to.
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

/// A spin of the flag's owner, which ends when this is dropped.
struct Spinning<'a>(&'a Flag);

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        let word = &self.0.0;
        if mutated!(spin_back) {
            word.store(Flag::WAITING, Ordering::Relaxed);
            return;
        }
        // Relaxed: as in `spin`. An error says that the owner was woken meanwhile.
        let _ = word.compare_exchange(Flag::SPINNING, Flag::WAITING, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl core::fmt::Debug for Flag {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("Flag").field(&self.is_waiting()).finish()
    }
}
