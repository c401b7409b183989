//! The end of waits that a runtime wants back: a killed instance, an epoch that is over. The
//! runtime raises it; `memory` waits for it beside the guest's word.

use core::sync::atomic::Ordering;

use crate::guest::{Guest, Raised, interrupt_word};
use crate::{LinearMemory, Parker};

/// A switch by which a runtime ends waits. Clones are handles on the same switch.
///
/// A thread whose handle on a memory was made by
/// [`GuestMemory::interruptible`](crate::GuestMemory::interruptible) does not wait while the
/// interrupt is raised: a wait that has begun ends, and one that begins does not sleep, both with
/// [`Trap::Interrupted`](crate::Trap::Interrupted). Where a notify has chosen the waiter as well,
/// the wait's answer is [`Outcome::Woken`](crate::Outcome::Woken): no notify is counted and then
/// lost.
///
/// ```
/// use leeward_engine::Config;
/// use leeward_wasm::{Runtime, Threads, Trap};
/// use std::sync::{Arc, atomic::AtomicU64};
///
/// let runtime = Runtime::new(Config::small(7), Threads::default()).unwrap();
/// let memory = runtime.memory(Arc::<[AtomicU64; 1]>::default());
/// let interrupt = runtime.interrupt();
/// std::thread::scope(|threads| {
///     let memory = memory.interruptible(&interrupt);
///     threads.spawn(move || assert_eq!(memory.wait32(0, 0, 0, -1), Err(Trap::Interrupted)));
///     interrupt.raise();
/// });
/// // The waiter left no trace.
/// assert_eq!(memory.notify(0, 0, 1), Ok(0));
/// ```
pub struct Interrupt<M: LinearMemory, P: Parker>(Guest<M, P>);

impl<M: LinearMemory, P: Parker> Interrupt<M, P> {
    pub(crate) fn new(guest: Guest<M, P>) -> Self {
        Interrupt(guest)
    }

    /// Returns the word, which an interrupt always has.
    pub(crate) fn raised(&self) -> &alloc::sync::Arc<Raised> {
        self.0.interrupt.as_ref().expect("made with a word")
    }

    /// Ends the waits of all handles with this interrupt, those that sleep and those to come, until
    /// it is [lowered](Self::lower). Any thread may call it, but no signal handler.
    ///
    /// Memory ordering: what happens before it happens before the return of the waits that it ends.
    pub fn raise(&self) {
        // Release: partner of the load in `Raised::is_raised`. The wake begins with a full fence:
        // - if that comes before a waiter's, the waiter's comparison finds the store;
        // - else the wake finds the waiter.
        self.raised().word.store(1, Ordering::Release);
        // The word is aligned and always there: there is no error.
        let _ = self.0.runtime.engine.wake(&self.0, interrupt_word(), u32::MAX, u32::MAX);
    }

    /// Lets waits begin again: where an epoch's end was no reason to stop the guest after all. A
    /// wait that was ended stays so; the runtime may make it again, with what is left of its time,
    /// and then the thread is the last in the word's order.
    pub fn lower(&self) {
        // Relaxed: it ends nothing.
        self.raised().word.store(0, Ordering::Relaxed);
    }

    /// Returns true if the interrupt is raised.
    pub fn is_raised(&self) -> bool {
        self.raised().is_raised()
    }
}

impl<M: LinearMemory, P: Parker> Clone for Interrupt<M, P> {
    fn clone(&self) -> Self {
        Interrupt(self.0.clone())
    }
}

impl<M: LinearMemory, P: Parker> core::fmt::Debug for Interrupt<M, P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Interrupt").field("is_raised", &self.is_raised()).finish_non_exhaustive()
    }
}
