//! What a scenario is doing, and how far it has come, for the process that waits for it.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::errno::{Answer, Errno};
use crate::scenario::Trouble;
use crate::syscalls::Syscalls;
use crate::world::map;

/// What a scenario is doing; readable from another process, in memory that both share, whose program is
/// the same.
#[repr(C)]
pub(crate) struct Step {
    /// The address of a static text, or 0: one word, so that who reads it while it changes has one or the
    /// other.
    what: AtomicUsize,
    /// 1 if a thread or a child of the scenario ended because a call is absent.
    lacks: AtomicU32,
    /// How often the kernel has been asked.
    tries: AtomicU32,
    /// How often the scenario has come further: to another step, or to an answer that is Linux's. It does not
    /// move in a loop that has no end of its own.
    moves: AtomicU32,
    /// How many threads are in a call for which the kernel waits until each processor has done something.
    long_calls: AtomicU32,
}

impl Step {
    /// Returns a step in memory that stays, as the scenario's threads may.
    pub(crate) fn mapped(kernel: &dyn Syscalls) -> Result<&'static Step, Trouble> {
        let step = map::<Step>(kernel)?;
        // SAFETY: mapped for ever; zero is a value of it.
        Ok(unsafe { step.as_ref() })
    }

    /// Makes a call for which the kernel waits until each processor has done something: on a busy machine that takes
    /// seconds, and is no fault.
    pub(crate) fn long<T>(&self, call: impl FnOnce() -> T) -> T {
        self.long_calls.fetch_add(1, Ordering::SeqCst);
        let answered = call();
        self.long_calls.fetch_sub(1, Ordering::SeqCst);
        answered
    }

    /// Returns how many times as long as others the scenario may stay at this step.
    #[cfg(feature = "linux")]
    pub(crate) fn patience(&self) -> u32 {
        if self.long_calls.load(Ordering::SeqCst) == 0 { 1 } else { 12 }
    }

    /// Begins: nothing is absent.
    pub(crate) fn begin(&self) {
        self.lacks.store(0, Ordering::SeqCst);
        self.long_calls.store(0, Ordering::SeqCst);
        self.tries.fetch_add(1, Ordering::SeqCst);
    }

    /// Says that the scenario has come further.
    pub(crate) fn moved(&self) {
        self.moves.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns a number that changes while the scenario comes further.
    #[cfg(feature = "linux")]
    pub(crate) fn progress(&self) -> (u32, u32) {
        (self.tries.load(Ordering::SeqCst), self.moves.load(Ordering::SeqCst))
    }

    /// Notes what a thread or a child ended with.
    pub(crate) fn ended(&self, answered: Answer) {
        if answered == Err(Errno::NOSYS) {
            self.lacks.store(1, Ordering::SeqCst);
        }
    }

    /// Returns true if a thread or a child of the scenario ended because a call is absent: then what
    /// seems wrong, or hangs, is no fault.
    pub(crate) fn lacks(&self) -> bool {
        self.lacks.load(Ordering::SeqCst) != 0
    }

    /// Says what the scenario is doing.
    pub(crate) fn set(&self, what: &'static &'static str) {
        let what = (&raw const *what).expose_provenance();
        if self.what.swap(what, Ordering::SeqCst) != what {
            self.moved();
        }
    }

    /// Returns what the scenario is doing, or nothing. Children that are just being ended may change it.
    #[cfg(feature = "linux")]
    pub(crate) fn get(&self) -> &'static str {
        let what = core::ptr::with_exposed_provenance::<&'static str>(self.what.load(Ordering::SeqCst));
        // SAFETY: null, or `set` stored the address of a static text of this program.
        unsafe { what.as_ref() }.copied().unwrap_or_default()
    }
}
