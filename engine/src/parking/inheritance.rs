//! Priority inheritance among a process's own threads: owners by their numbers (`exits`), an order
//! by real-time priorities (`schedule`), which are lent where the system permits it (`lending`).
//! The engine's PI operations call the [`Inheritance`] here; programs call the methods of the lot.

use core::cell::Cell;
use core::sync::atomic::AtomicU32;

use super::{ParkingLot, Process, thread};
use crate::mutant::mutated;
use crate::{
    Deadline, Engine, Errno, Inheritance, LockPi, Memory, Owner, Priority, ROBUST_LIST_LIMIT, RobustExit, Thread,
};

/// What a process can do for its threads, and no more:
///
/// - *Owners* are threads of this process, by their number (`gettid`), which the word holds. A
///   number of another process's thread names no owner: `ESRCH`.
/// - *The order* of the waiters is that of their real-time priorities; all others are equals, and
///   come in the order in which they came. Nice values count nothing, as on Linux.
/// - *Lending* is `sched_setscheduler`: while a real-time thread waits, the owner runs at its level
///   (`SCHED_FIFO`), and afterwards as before. Where the system refuses (it takes `CAP_SYS_NICE`,
///   or `RLIMIT_RTPRIO`), the order is kept and nothing else: the owner is not hurried.
///   [`refusals`](Process::refusals) counts that. What a program sets for a thread while it is lent
///   something is undone with the end of that; nothing is lent to a thread that has a deadline. The
///   memory that lending takes is allocated when a thread first comes to a lock, with none of the
///   engine's locks held.
/// - *Exits* are told by the thread itself ([`exit_thread`](Process::exit_thread)), as the robust
///   list's are: the kernel tells a process of none. From then on its number names no owner
///   (`ESRCH`), though the thread still runs its destructors, until the system gives the number to
///   another thread. A thread that ends without telling, and owned a lock, leaves it locked:
///   threads that waited go on waiting, until a deadline; threads that come later are told `ESRCH`,
///   until another thread gets that number.
impl<M: Memory + 'static> Inheritance<Process<M>> for Process<M> {
    fn current(&self) -> Thread {
        let number = thread::current();
        self.lending.make_room(self);
        Thread { id: u64::from(number), number }
    }

    fn find(&self, number: u32) -> Owner {
        self.exits.find(self, number)
    }

    fn priority(&self, thread: u64) -> Priority {
        self.lending.priority(self, thread as u32)
    }

    fn lend(&self, thread: u64, priority: Option<Priority>) {
        self.lending.lend(self, thread as u32, priority);
    }

    fn await_exit(&self, number: u32) -> Result<(), Errno> {
        self.exits.await_end(self, number);
        Ok(())
    }
}

impl<M: Memory + 'static> Process<M> {
    /// Announces that the calling thread exits: marks the locks of its robust list and wakes their
    /// waiters, and hands each lock with priority inheritance for which threads wait to the most
    /// urgent of these. Returns what the walk of the list did, and how many locks were handed on.
    ///
    /// It is the last thing that a thread does with the engine's locks: it owns none afterwards,
    /// and a lock whose word names it still (no thread waited for it, and it is not in the list) is
    /// `ESRCH` to others. Allocates a record of the exit. Not for signal handlers.
    ///
    /// # Panics
    /// If an executor's waker panics, whose future waits for a lock of the list: the exit is told
    /// and the locks with priority inheritance are handed on, but entries of the list that the walk
    /// did not reach are not marked. A second panic, of a callback while the locks are handed on,
    /// aborts.
    pub fn exit_thread(&self, engine: &Engine<Process<M>>) -> (RobustExit, u32) {
        let _exiting = self.exits.begin(self);
        let handed_on = Cell::new(0);
        let rest = Rest { process: self, engine, handed_on: &handed_on };
        let walked = engine.exit_robust(self, ROBUST_LIST_LIMIT);
        drop(rest);
        (walked, handed_on.get())
    }

    /// Returns how often the system refused to let an owner run as urgently as a thread that waited
    /// for it.
    pub fn refusals(&self) -> u64 {
        self.lending.refusals()
    }
}

/// What is left of a thread's exit after the walk of its robust list: done when dropped, so that it
/// is done where the walk unwound.
struct Rest<'a, M: Memory + 'static> {
    process: &'a Process<M>,
    engine: &'a Engine<Process<M>>,
    handed_on: &'a Cell<u32>,
}

impl<M: Memory + 'static> Drop for Rest<'_, M> {
    fn drop(&mut self) {
        if mutated!(exit_pi_rest) && std::thread::panicking() {
            return;
        }
        self.handed_on.set(self.engine.exit_pi(self.process));
        self.process.lending.forget(self.process);
    }
}

/// Locks whose owner runs as urgently as the most urgent thread that waits for it, as far as
/// [`Process`] can see to that. The word is the kernel's: 0, or the owner's number (`gettid`), with
/// the bits of [`abi`](crate::abi). A program may take a free lock by a compare-exchange from 0 to
/// its number, and give one up the other way.
///
/// ```
/// use leeward_engine::{Errno, LockPi, parking::ParkingLot};
/// use std::sync::atomic::AtomicU32;
///
/// let (lot, word) = (ParkingLot::new(2).unwrap(), AtomicU32::new(0));
/// assert_eq!(lot.lock_pi(&word, None), Ok(LockPi::Acquired));
/// assert_eq!(lot.lock_pi(&word, None), Err(Errno::EDEADLK));
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         assert_eq!(lot.try_lock_pi(&word), Ok(false));
///         assert_eq!(lot.unlock_pi(&word), Err(Errno::EPERM));
///         lot.exit_thread();
///     });
/// });
/// lot.unlock_pi(&word).unwrap();
/// ```
impl ParkingLot {
    /// Takes a lock, sleeping while another thread owns it: until the lock is handed to the calling
    /// thread, until the deadline, or until a signal. [`Engine::lock_pi`] says what it costs. Not
    /// for signal handlers.
    ///
    /// # Errors
    /// Those of [`Engine::lock_pi`]; `ENOSYS` and `EFAULT` do not occur.
    pub fn lock_pi(&self, word: &AtomicU32, until: Option<Deadline>) -> Result<LockPi, Errno> {
        self.engine.lock_pi(&self.process, Self::word(word), until)
    }

    /// Takes a lock if it is free, and returns true if the calling thread has it now. Not for
    /// signal handlers.
    ///
    /// # Errors
    /// Those of [`Engine::try_lock_pi`]; `ENOSYS` and `EFAULT` do not occur.
    pub fn try_lock_pi(&self, word: &AtomicU32) -> Result<bool, Errno> {
        self.engine.try_lock_pi(&self.process, Self::word(word))
    }

    /// Gives up a lock that the calling thread owns: hands it to the most urgent thread that waits,
    /// or frees it. Not for signal handlers.
    ///
    /// # Errors
    /// Those of [`Engine::unlock_pi`]; `ENOSYS` and `EFAULT` do not occur.
    pub fn unlock_pi(&self, word: &AtomicU32) -> Result<(), Errno> {
        self.engine.unlock_pi(&self.process, Self::word(word))
    }

    /// Tells the calling thread's exit, as [`Process::exit_thread`] does, and returns how many
    /// locks were handed on.
    pub fn exit_thread(&self) -> u32 {
        self.process.exit_thread(&self.engine).1
    }
}
