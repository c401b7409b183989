//! What membarrier asks of the system: its processors. Optional: a host without them has no
//! membarrier.

use crate::{Errno, Host, Space};

/// What a system can do; the rest is refused, and its bits are missing from QUERY. Never changes
/// while the system runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Abilities {
    /// [`Processors::grace_period`].
    pub delayed: bool,
    /// [`Processors::send`], and the rest that an interrupt takes.
    pub expedited: bool,
    /// [`Interrupt::Core`].
    pub sync_core: bool,
    /// [`Interrupt::Restart`].
    pub rseq: bool,
}

/// What a processor does when it is interrupted, before it acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Interrupt {
    /// A full memory barrier.
    Barrier,
    /// That, and it fetches and decodes what it executes next anew.
    Core,
    /// That, and the thread that it runs starts its restartable sequence anew, if it is in one.
    Restart,
}

/// The machine's processors, as the calling thread sees them.
///
/// # What the context switch owes
/// Each space has a mask of the processors that may run it ([`ran_on`](Self::ran_on)): a superset,
/// since a processor that switches to a kernel thread may keep its bit (lazy TLB). For the promise
/// to hold, on each processor:
/// - **S1**: a full barrier between the outgoing thread's accesses to user memory and clearing the
///   processor's bit;
/// - **S2**: a full barrier between setting its bit and the incoming thread's accesses;
/// - **S3**: the same where a processor leaves lazy-TLB mode and sets its bit again, the page
///   tables being the same;
/// - the thread that a processor runs changes under that processor's run-queue lock.
///
/// The feature `simulation` has a machine on which each of these can be left out, and prints what
/// then goes wrong.
pub trait Processors<H: Host> {
    /// What the system can do.
    fn abilities(&self) -> Abilities;

    /// Processors have numbers below this. Of a machine that names none, barriers reach none.
    fn count(&self) -> u32;

    /// Those that are online, of the processors `64 * word` to `64 * word + 63`. One that goes
    /// offline passes through a context switch.
    fn online(&self, word: u32) -> u64;

    /// The calling thread is its space's only one. When in doubt, false.
    fn alone(&self) -> bool;

    /// From here on the calling thread stays on its processor, which runs no other thread; its
    /// number. Interrupts are still delivered to it: see [`wait`](Self::wait). No memory is asked
    /// for, nor given back, until [`unpin`](Self::unpin).
    fn pin(&self) -> u32;

    /// Ends [`pin`](Self::pin).
    fn unpin(&self);

    /// A full memory barrier: all accesses before it, then all behind it.
    fn full_barrier(&self);

    /// The processors whose bits are set in the calling thread's space's mask, of `64 * word` to
    /// `64 * word + 63`. Orders nothing.
    fn ran_on(&self, word: u32) -> u64;

    /// Takes a processor's run-queue lock, calls `see` with the space of the thread that it runs,
    /// gives the lock up. A processor that runs nobody's thread (idle, a kernel's own) calls
    /// nothing. `see` is short and calls nobody.
    fn inspect(&self, processor: u32, see: &mut dyn FnMut(&Space<H>));

    /// Interrupts another processor; does not wait. The calling thread is pinned, and orders
    /// nothing by it. To one that is offline: nothing.
    fn send(&self, processor: u32, what: Interrupt);

    /// Waits until a processor has done what was sent to it since the calling thread was pinned, or
    /// is offline; it may be called where nothing was sent. Need not order anything. The calling
    /// thread is pinned meanwhile, and its processor must take interrupts while it waits: two that
    /// wait for each other's acknowledgment would wait for ever.
    fn wait(&self, processor: u32);

    /// Does on the calling thread's processor what an interrupt would.
    fn here(&self, what: Interrupt);

    /// Sleeps until every processor has passed through a context switch, or ran no user's thread,
    /// since the call began, with a full barrier of each between.
    ///
    /// # Errors
    /// The host's own, which membarrier answers.
    fn grace_period(&self) -> Result<(), Errno>;

    /// The calling thread's space is being registered for `what`, or (`None`) for barriers of other
    /// spaces' callers. Where the context switch does less for spaces that are not, which it asks
    /// of [`Space::registrations_requested`]: the bit is set there already; waits until no
    /// processor runs by what that said before, with a full barrier first. May sleep.
    ///
    /// # Errors
    /// `ENOMEM`; the registration is not seen as complete. The bit of what was asked for stays.
    fn registered(&self, what: Option<Interrupt>) -> Result<(), Errno> {
        let _ = what;
        Ok(())
    }
}
