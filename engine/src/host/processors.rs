//! What membarrier asks of the system: its processors. Optional: without it membarrier is `ENOSYS`.

use crate::{Errno, Host, Space};

/// The abilities of a system, as its QUERY reports them; commands that need another are refused.
/// They never change while the system runs.
///
/// [`Processors`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Abilities {
    /// The system has [`Processors::grace_period`]: barriers that wait for context switches.
    pub delayed: bool,
    /// The system has [`Processors::send`], and the rest that barriers by interrupts take.
    pub expedited: bool,
    /// An interrupt can be an [`Interrupt::Core`].
    pub sync_core: bool,
    /// An interrupt can be an [`Interrupt::Restart`].
    pub rseq: bool,
}

/// What an interrupted processor does before it acknowledges the interrupt.
///
/// [`Processors`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Interrupt {
    /// A full memory barrier.
    Barrier,
    /// A full memory barrier; and the processor fetches and decodes anew what it executes next.
    Core,
    /// A full memory barrier; and the thread that the processor runs starts its restartable
    /// sequence anew, if it is in one.
    Restart,
}

/// The machine's processors, as the calling thread sees them. [`Host::processors`] answers it. The
/// feature `simulation` implements it for a simulated machine; `examples/missing_barrier.rs` shows
/// there what a barrier that is missing in the context switch does.
///
/// ```
#[doc = include_str!("required.md")]
/// use leeward_engine::abi::MEMBARRIER_CMD_PRIVATE_EXPEDITED as BARRIER;
/// use leeward_engine::abi::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED as REGISTER;
/// use leeward_engine::{Abilities, Config, Engine, Errno, Heap, Host, Interrupt, Processors, Space};
/// use std::cell::RefCell;
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst, fence};
///
/// /// A system of two processors that run two threads of one space, as the thread on processor 0
/// /// sees it. Notes what is sent.
/// struct System {
///     space: Space<System>,
///     words: [AtomicU32; 1],
///     sent: RefCell<Vec<(u32, Interrupt)>>,
/// }
///
/// impl Processors<System> for System {
///     fn abilities(&self) -> Abilities {
///         Abilities { expedited: true, ..Abilities::default() }
///     }
///     fn count(&self) -> u32 {
///         2
///     }
///     fn online(&self, _: u32) -> u64 {
///         0b11
///     }
///     fn alone(&self) -> bool {
///         false
///     }
///     fn pin(&self) -> u32 {
///         0
///     }
///     fn unpin(&self) {}
///     fn full_barrier(&self) {
///         fence(SeqCst);
///     }
///     fn ran_on(&self, _: u32) -> u64 {
///         0b11
///     }
///     fn inspect(&self, _: u32, see: &mut dyn FnMut(&Space<System>)) {
///         see(&self.space);
///     }
///     fn send(&self, processor: u32, what: Interrupt) {
///         self.sent.borrow_mut().push((processor, what));
///     }
///     fn wait(&self, _: u32) {}
///     fn here(&self, _: Interrupt) {
///         fence(SeqCst);
///     }
///     fn grace_period(&self) -> Result<(), Errno> {
///         Err(Errno::ENOSYS)
///     }
/// }
///
/// impl Host for System {
///     // The methods that each host has, as in the example of `Host`.
///     required!();
///     fn processors(&self) -> Option<&dyn Processors<System>> {
///         Some(self)
///     }
/// }
///
/// let engine = Engine::new(Config::small(7), Heap).unwrap();
/// let (space, sent) = (Space::new(1, 7, Heap), RefCell::default());
/// let system = System { space, words: Default::default(), sent };
/// assert_eq!(engine.membarrier(&system, BARRIER, 0, 0), Err(Errno::EPERM));
/// assert_eq!(engine.membarrier(&system, REGISTER, 0, 0), Ok(0));
/// assert_eq!(engine.membarrier(&system, BARRIER, 0, 0), Ok(0));
/// assert_eq!(*system.sent.borrow(), [(1, Interrupt::Barrier)]);
/// ```
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
/// The feature `simulation` has a machine on which each of these can be left out; it prints what
/// then goes wrong.
pub trait Processors<H: Host> {
    /// Returns what the system can do.
    fn abilities(&self) -> Abilities;

    /// Returns the number of processors: each has a number below this. A machine that names none
    /// has no processor that a barrier reaches.
    fn count(&self) -> u32;

    /// Returns the mask of those processors from `64 * word` to `64 * word + 63` that are online.
    /// One that goes offline passes through a context switch.
    fn online(&self, word: u32) -> u64;

    /// Returns true if the calling thread is its space's only one; false when in doubt.
    fn alone(&self) -> bool;

    /// Pins the calling thread to its processor, which runs no other thread meanwhile; returns the
    /// processor's number. Interrupts are still delivered to it: see [`wait`](Self::wait). No
    /// memory is allocated or freed until [`unpin`](Self::unpin).
    fn pin(&self) -> u32;

    /// Ends what [`pin`](Self::pin) began.
    fn unpin(&self);

    /// Makes a full memory barrier: all accesses before it come before all accesses after it.
    fn full_barrier(&self);

    /// Returns the bits of the processors from `64 * word` to `64 * word + 63` in the mask of the
    /// calling thread's space. Orders nothing.
    fn ran_on(&self, word: u32) -> u64;

    /// Takes a processor's run-queue lock, calls `see` with the space of the thread that the
    /// processor runs, and gives the lock up. If the processor runs no program's thread (it is
    /// idle, or runs a kernel's own), `see` is not called. `see` is short and calls no method of
    /// the host.
    fn inspect(&self, processor: u32, see: &mut dyn FnMut(&Space<H>));

    /// Interrupts another processor, and does not wait. The calling thread is pinned. The call need
    /// order nothing. For a processor that is offline it does nothing.
    fn send(&self, processor: u32, what: Interrupt);

    /// Waits until a processor has done what was sent to it since the calling thread was pinned, or
    /// is offline. May be called where nothing was sent, and need order nothing. The calling thread
    /// stays pinned, and its processor must take interrupts while it waits: two processors that
    /// wait for each other's acknowledgment would wait forever.
    fn wait(&self, processor: u32);

    /// Does on the calling thread's processor what an interrupt would do.
    fn here(&self, what: Interrupt);

    /// Sleeps until each processor has passed through a context switch since the call began, or ran
    /// no program's thread; each makes a full barrier in that time.
    ///
    /// # Errors
    /// The host's own error, which membarrier answers.
    fn grace_period(&self) -> Result<(), Errno>;

    /// Registers the calling thread's space for `what`, or (`None`) for barriers by callers of
    /// other spaces. The bit is set already in [`Space::registrations_requested`]. Where the
    /// context switch does less for spaces that are not registered, which it asks of that method,
    /// this waits until no processor runs by what it said before, with a full barrier first. May
    /// sleep.
    ///
    /// # Errors
    /// `ENOMEM`, or another: the registration is not seen as complete. The bit of what was
    /// requested stays.
    fn registered(&self, what: Option<Interrupt>) -> Result<(), Errno> {
        let _ = what;
        Ok(())
    }
}
