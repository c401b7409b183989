//! What priority inheritance asks of the system: which thread owns a lock, and to lend a thread a
//! priority. Optional: without it, such operations are `ENOSYS`. Called by the operations in `pi/`.

use crate::{Errno, Host, Priority};

/// A thread, as the engine and as lock words name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    /// The thread's identity for the engine. No other thread has it before this thread's
    /// [`exit_pi`](crate::Engine::exit_pi). It may be a task's address with a count, or a serial
    /// number; or `number` itself, if each thread that owned a lock or waited for one calls
    /// `exit_pi` before the number is given to another thread.
    pub id: u64,
    /// The thread's number as lock words hold it: 1 to
    /// [`FUTEX_TID_MASK`](crate::abi::FUTEX_TID_MASK).
    pub number: u32,
}

/// What a number in a lock's word names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A thread of the calling thread's space, by its [`id`](Thread::id).
    Thread(u64),
    /// A thread of another space, by its [`id`](Thread::id). It may own shared locks; a private
    /// word that names it is `EPERM`.
    Outside(u64),
    /// A thread that exits: its [`exit_pi`](crate::Engine::exit_pi) has begun or is about to.
    Exiting,
    /// No thread, or one whose exit is over: `ESRCH`.
    Nobody,
    /// A thread that may not own a program's locks, such as a kernel's own: `EPERM`.
    Forbidden,
}

/// Threads and their priorities, as the calling thread sees them. [`Host::inheritance`] answers it;
/// `examples/kernel_host.rs` implements it over a scheduler.
///
/// # Under locks
/// [`find`](Self::find), [`priority`](Self::priority) and [`lend`](Self::lend) are called with a
/// bucket's lock and the lock of the inheritance graph held: they must not sleep, and must not call
/// the engine. So they neither allocate nor take a lock whose holder may be preempted or sleep. The
/// memory that they need is allocated in [`current`](Self::current), which is called first, with no
/// lock held.
///
/// # Panics
/// A panic of a method does what a panic of one of [`Host`]'s does. A thread to which a lock was
/// handed by then has it, and is woken.
///
/// # At a thread's end
/// A host that ends a thread does this, in this order:
///
/// 1. [`find`](Self::find) answers [`Owner::Exiting`] for the thread from now on.
/// 2. The walk of its robust list.
/// 3. [`exit_pi`](crate::Engine::exit_pi): threads that wait for its locks have them then.
/// 4. `find` answers [`Owner::Nobody`] from now on, and threads that sleep in
///    [`await_exit`](Self::await_exit) for it are woken.
pub trait Inheritance<H: Host> {
    /// Returns the calling thread.
    fn current(&self) -> Thread;

    /// Returns what a number names. Numbers are those that the calling thread's space knows; spaces
    /// that share locks have the same.
    ///
    /// A thread whose [`exit_pi`](crate::Engine::exit_pi) is over owns nothing any more, though it
    /// may run on for a while (it unwinds, frees its memory, leaves the scheduler). From then on,
    /// until its number is free and given to another thread, the answer is [`Owner::Nobody`]. If
    /// the answer were that it is an owner, a thread that wants a lock whose word still names it
    /// would queue to a thread that hands nothing over any more, and sleep forever. A host notes
    /// which threads have exited with the thread and not with the number, since the number may be
    /// another thread's when it is asked for next.
    fn find(&self, number: u32) -> Owner;

    /// Returns a thread's own priority, without what it was lent.
    fn priority(&self, thread: u64) -> Priority;

    /// Lends a thread a priority: from now on it runs at least as urgently as this; with `None`
    /// only as its own priority says. It may be called again where nothing changed. For a thread
    /// that is gone, it does nothing.
    fn lend(&self, thread: u64, priority: Option<Priority>);

    /// Sleeps until the exit of the thread with that number is over; the operation then begins
    /// again, as Linux's does since 5.5. No lock is held.
    ///
    /// # Errors
    /// The errno that the operation then answers. The default method answers `EAGAIN`, as Linux did
    /// before 5.5.
    fn await_exit(&self, number: u32) -> Result<(), Errno> {
        let _ = number;
        Err(Errno::EAGAIN)
    }
}
