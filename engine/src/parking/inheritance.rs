//! Priority inheritance among a process's own threads: owners by their numbers (`exits`), order by
//! their real-time priorities (`schedule`), which are lent where the system lets (`lending`).

use core::sync::atomic::AtomicU32;

use super::schedule::Schedule;
use super::{ParkingLot, Process, thread};
use crate::{Deadline, Engine, Errno, Inheritance, LockPi, Owner, Priority, ROBUST_LIST_LIMIT, RobustExit, Thread};

/// What a process can do for its threads, and no more:
///
/// - *Owners* are threads of this process, by their number (`gettid`), which the word holds. Those
///   of other processes are nobody: `ESRCH`.
/// - *The order* of those who wait is that of their real-time priorities; all others are equals,
///   and come in the order in which they came. Nice values count nothing, as on Linux.
/// - *Lending* is `sched_setscheduler`: while a real-time thread waits, the owner runs at its level
///   (`SCHED_FIFO`), and afterwards as before. Where the system refuses (it takes `CAP_SYS_NICE`,
///   or `RLIMIT_RTPRIO`), the order is kept and nothing else: the owner is not hurried.
///   [`refusals`](Process::refusals) counts that. What a program sets for a thread while it is lent
///   something is undone with the end of that; nothing is lent to a thread that has a deadline. The
///   memory that it takes is allocated when a thread first comes to a lock, with none of the
///   engine's locks held.
/// - *Exits* are told by the thread itself ([`exit_thread`](Process::exit_thread)), as the robust
///   list's are: the kernel tells nobody. From then on its number names nobody (`ESRCH`), though
///   the thread still runs its destructors, until the system gives the number to another thread. A
///   thread that ends without telling, and owned a lock, leaves it locked: who waited goes on
///   waiting, until a deadline; who comes later is told `ESRCH`, until another thread gets that
///   number.
impl Inheritance<Process> for Process {
    fn current(&self) -> Thread {
        let number = thread::current();
        self.lending.make_room(self, number);
        Thread { id: u64::from(number), number }
    }

    fn find(&self, number: u32) -> Owner {
        self.exits.owner(self, number)
    }

    fn priority(&self, thread: u64) -> Priority {
        let schedule = self.lending.before(self, thread).or_else(|| Schedule::of(thread as u32));
        schedule.map_or(Priority::NORMAL, Schedule::urgency)
    }

    fn lend(&self, thread: u64, priority: Option<Priority>) {
        self.lending.lend(self, thread, priority);
    }

    fn await_exit(&self, number: u32) -> Result<(), Errno> {
        self.exits.await_end(self, number);
        Ok(())
    }
}

impl Process {
    /// The calling thread is about to end: the locks of its robust list are marked and its waiters
    /// told, and those that inherit priorities and for which somebody waits are handed to the most
    /// urgent of these; what the walk did, and how many were handed on. The last thing that a
    /// thread does with the engine's locks: it owns none afterwards, and a lock whose word names it
    /// still (nobody waited for it, and it is not in the list) is `ESRCH` to others.
    pub fn exit_thread(&self, engine: &Engine<Process>) -> (RobustExit, u32) {
        let number = thread::current();
        let _exiting = self.exits.begin(self, number);
        let done = (engine.exit_robust(self, ROBUST_LIST_LIMIT), engine.exit_pi(self));
        self.lending.forget(number);
        done
    }

    /// How often the system refused to let an owner run as urgently as a thread that waited for it.
    pub fn refusals(&self) -> u64 {
        self.lending.refusals()
    }
}

/// Locks whose owner runs as urgently as the most urgent thread that waits for it, as far as
/// [`Process`] can see to that. The word is the kernel's: 0, or the owner's number (`gettid`), with
/// the bits of [`abi`](crate::abi); a program may take a free one by a compare-exchange from 0 to
/// that, and give one up the other way.
impl ParkingLot {
    /// Takes a lock, sleeping while another thread owns it. [`Engine::lock_pi`].
    ///
    /// # Errors
    /// As there.
    pub fn lock_pi(&self, word: &AtomicU32, until: Option<Deadline>) -> Result<LockPi, Errno> {
        self.engine.lock_pi(&self.process, Self::word(word), until)
    }

    /// Takes a lock if nobody owns it; whether it did.
    ///
    /// # Errors
    /// As [`Engine::try_lock_pi`].
    pub fn try_lock_pi(&self, word: &AtomicU32) -> Result<bool, Errno> {
        self.engine.try_lock_pi(&self.process, Self::word(word))
    }

    /// Gives up a lock that the calling thread owns. [`Engine::unlock_pi`].
    ///
    /// # Errors
    /// As there.
    pub fn unlock_pi(&self, word: &AtomicU32) -> Result<(), Errno> {
        self.engine.unlock_pi(&self.process, Self::word(word))
    }

    /// The calling thread is about to end: [`Process::exit_thread`]; how many locks were handed on.
    pub fn exit_thread(&self) -> u32 {
        self.process.exit_thread(&self.engine).1
    }
}
