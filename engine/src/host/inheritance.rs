//! What priority inheritance asks of the system: who owns a lock, and lending it a priority.
//! Optional: without, its operations are `ENOSYS`.

use crate::{Errno, Host, Priority};

/// A thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Which, for the engine: never another thread's before its [`exit_pi`](crate::Engine::exit_pi)
    /// (as a task's address with a count, a serial number; or the number itself, where each thread
    /// that owned a lock or waited for one calls that before the number is given to another).
    pub id: u64,
    /// Its number as lock words hold it: 1 to [`FUTEX_TID_MASK`](crate::abi::FUTEX_TID_MASK).
    pub number: u32,
}

/// Whom a number in a lock's word names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A thread of the calling thread's space: its [`id`](Thread::id).
    Thread(u64),
    /// One of another space. It may own shared locks; a private word that names it is `EPERM`.
    Outside(u64),
    /// A thread that is on its way out: its [`exit_pi`](crate::Engine::exit_pi) has begun or is
    /// about to.
    Exiting,
    /// Nobody, or one whose exit is over: `ESRCH`.
    Nobody,
    /// One that may not own a program's locks, as a kernel's own: `EPERM`.
    Forbidden,
}

/// Threads and their priorities, as the calling thread sees them.
///
/// # Under locks
/// [`find`](Self::find), [`priority`](Self::priority) and [`lend`](Self::lend) are called with a
/// bucket's lock and the lock of all inheritance held: they must not sleep, and must not call the
/// engine. So they neither allocate nor take a lock whose holder may be preempted or sleep. What
/// they need memory for is made in [`current`](Self::current), which is called first, with no lock
/// held.
///
/// # Panics
/// As [`Host`]'s. A thread to which a lock was handed by then has it, and is woken.
///
/// # At a thread's end
/// In this order: from now on `find` answers [`Owner::Exiting`]; the robust list's walk;
/// [`exit_pi`](crate::Engine::exit_pi); from now on `find` answers [`Owner::Nobody`], and who
/// sleeps in [`await_exit`](Self::await_exit) is woken. What waits for its locks has them then.
pub trait Inheritance<H: Host> {
    /// The calling thread.
    fn current(&self) -> Thread;

    /// Whom a number names. Numbers are those that the calling thread's space knows; spaces that
    /// share locks have the same.
    ///
    /// A thread whose [`exit_pi`](crate::Engine::exit_pi) is over is no owner any more, though it
    /// may run on for a while (it unwinds, frees its memory, leaves the scheduler): from then on
    /// until its number is free, and another thread's, the answer is [`Owner::Nobody`]. If it were
    /// answered as an owner in that time, a thread that comes for a lock whose word names it still
    /// would queue to a thread that hands nothing over any more, and sleep for ever. Which threads
    /// told their exit a host notes with the thread and not with the number, since the number may
    /// be another thread's when it is asked for next.
    fn find(&self, number: u32) -> Owner;

    /// A thread's own priority, without what it was lent.
    fn priority(&self, thread: u64) -> Priority;

    /// From now on the thread runs at least as urgently as this; `None`: as its own priority says.
    /// Told again where nothing changed. Of a thread that is gone: nothing.
    fn lend(&self, thread: u64, priority: Option<Priority>);

    /// Sleeps until the exit of the thread with that number is over, after which the call begins
    /// again: as Linux does since 5.5.
    ///
    /// # Errors
    /// What the call then answers. Without a method of the host's own: `EAGAIN`, as Linux before.
    fn await_exit(&self, number: u32) -> Result<(), Errno> {
        let _ = number;
        Err(Errno::EAGAIN)
    }
}
