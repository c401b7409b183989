//! What priority inheritance asks of the system: which thread owns a lock, and to lend a thread a
//! priority. Optional: without it, such operations are `ENOSYS`.

use crate::{Errno, Host, Priority};

/// A thread, as the engine and as lock words name it.
///
/// [`Inheritance`] has an example.
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
///
/// [`Inheritance`] has an example.
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
/// ```
#[doc = include_str!("required.md")]
/// use leeward_engine::{
///     Clock, Config, Deadline, Engine, Errno, Heap, Host, Inheritance, LockPi, Owner, Priority,
///     Space, Thread, Word,
/// };
/// use std::cell::RefCell;
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// /// A system of two threads, as thread 1 sees it. Notes what is lent.
/// struct System {
///     space: Space<System>,
///     words: [AtomicU32; 1],
///     lent: RefCell<Vec<(u64, Option<Priority>)>>,
/// }
///
/// impl Inheritance<System> for System {
///     fn current(&self) -> Thread {
///         Thread { id: 1, number: 1 }
///     }
///     fn find(&self, number: u32) -> Owner {
///         if number < 3 { Owner::Thread(number.into()) } else { Owner::Nobody }
///     }
///     fn priority(&self, thread: u64) -> Priority {
///         if thread == 1 { Priority(40) } else { Priority::NORMAL }
///     }
///     fn lend(&self, thread: u64, priority: Option<Priority>) {
///         self.lent.borrow_mut().push((thread, priority));
///     }
/// }
///
/// impl Host for System {
///     // The methods that each host has, as in the example of `Host`.
///     required!();
///     fn inheritance(&self) -> Option<&dyn Inheritance<System>> {
///         Some(self)
///     }
/// }
///
/// let engine = Engine::new(Config::small(7), Heap).unwrap();
/// let (space, lent) = (Space::new(1, 7, Heap), RefCell::default());
/// let system = System { space, words: Default::default(), lent };
/// let now = Deadline { clock: Clock::Monotonic, at: 0 };
/// let lock = || engine.lock_pi(&system, Word::private(0), Some(now));
///
/// assert_eq!(lock(), Ok(LockPi::Acquired));
/// assert_eq!(system.words[0].load(SeqCst), 1);
/// // Thread 2 owns the lock: it is lent a priority until the deadline, which has come.
/// system.words[0].store(2, SeqCst);
/// assert_eq!(lock(), Ok(LockPi::TimedOut));
/// assert_eq!(*system.lent.borrow(), [(2, Some(Priority(40))), (2, None)]);
/// system.words[0].store(3, SeqCst);
/// assert_eq!(lock(), Err(Errno::ESRCH));
/// ```
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
