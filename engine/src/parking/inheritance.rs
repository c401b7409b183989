//! Priority inheritance among a process's own threads: owners by their numbers, order by their real-time priorities, which are lent where the system lets.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use super::thread::{self, Schedule};
use super::{ParkingLot, Process};
use crate::{Deadline, Engine, Errno, Inheritance, LockPi, Owner, Priority, ROBUST_LIST_LIMIT, RobustExit, Thread};

/// The levels of real-time priorities: 1 to this.
const MOST_LEVEL: i32 = 99;

/// What the host keeps of threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// How those that run by a lent priority ran before, and at which level they run.
    lent: Mutex<BTreeMap<u64, (Schedule, i32)>>,
    /// Those whose exit has begun, by number.
    exiting: Mutex<Vec<u32>>,
    /// One exit is over.
    over: Condvar,
    refused: AtomicU64,
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    // Of a thread that panicked nothing half done is left.
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread's place among others, as Linux orders them: real-time threads by their level, those with a deadline before them, all others as equals behind them.
fn urgency(schedule: Option<Schedule>) -> Priority {
    match schedule {
        Some(schedule) if matches!(schedule.kind(), libc::SCHED_FIFO | libc::SCHED_RR) => {
            Priority((MOST_LEVEL + 1).saturating_sub(schedule.level) as u32)
        }
        Some(schedule) if schedule.kind() == libc::SCHED_DEADLINE => Priority(0),
        _ => Priority::NORMAL,
    }
}

/// At which level a thread runs as urgently as this; `None`: at none, as it is not real-time.
fn level(priority: Priority) -> Option<i32> {
    let below = i32::try_from(priority.0).ok().filter(|below| *below <= MOST_LEVEL)?;
    Some((MOST_LEVEL + 1 - below).min(MOST_LEVEL))
}

/// What a process can do for its threads, and no more:
///
/// - *Owners* are threads of this process, by their number (`gettid`), which the word holds. Those of other processes are nobody: `ESRCH`.
/// - *The order* of those who wait is that of their real-time priorities; all others are equals, and come in the order in which they came. Nice values
///   count nothing, as on Linux.
/// - *Lending* is `sched_setscheduler`: while a real-time thread waits, the owner runs at its level (`SCHED_FIFO`), and afterwards as before. Where the system
///   refuses (it takes `CAP_SYS_NICE`, or `RLIMIT_RTPRIO`), the order is kept and nothing else: the owner is not hurried. [`refusals`](Process::refusals) counts
///   that. What a program sets for a thread while it is lent something is undone with the end of that; nothing is lent to a thread that has a deadline.
///   Lending takes some bytes of the heap, behind the engine's lock.
/// - *Exits* are told by the thread itself ([`exit_thread`](Process::exit_thread)), as the robust list's are: the kernel tells nobody. A thread that ends without, and owned a lock, leaves it locked:
///   who waited goes on waiting, until a deadline; who comes later is told `ESRCH`, until another thread gets that number.
impl Inheritance<Process> for Process {
    fn current(&self) -> Thread {
        let number = thread::this();
        Thread { id: u64::from(number), number }
    }

    fn find(&self, number: u32) -> Owner {
        if lock(&self.own_threads.exiting).contains(&number) {
            return Owner::Exiting;
        }
        if thread::is_there(number) { Owner::Thread(u64::from(number)) } else { Owner::Nobody }
    }

    fn priority(&self, thread: u64) -> Priority {
        let before = lock(&self.own_threads.lent).get(&thread).map(|(before, _)| *before);
        urgency(before.or_else(|| Schedule::of(thread as u32)))
    }

    fn lend(&self, thread: u64, priority: Option<Priority>) {
        let mut lent = lock(&self.own_threads.lent);
        let wanted = priority.and_then(level);
        let record = lent.get(&thread).copied();
        let Some(before) =
            record.map(|(before, _)| before).or_else(|| wanted.and_then(|_| Schedule::of(thread as u32)))
        else {
            return;
        };
        match wanted.filter(|level| level_of(before) < *level) {
            Some(level) if record.is_some_and(|(_, now)| now == level) => {}
            Some(level) => {
                // The flag stays: who may not take it away again must not set it.
                let policy = libc::SCHED_FIFO | before.policy & libc::SCHED_RESET_ON_FORK;
                if (Schedule { policy, level }).give(thread as u32) {
                    lent.insert(thread, (before, level));
                } else {
                    // Relaxed: a count.
                    self.own_threads.refused.fetch_add(1, Ordering::Relaxed);
                }
            }
            None if record.is_some() => {
                before.give(thread as u32);
                lent.remove(&thread);
            }
            None => {}
        }
    }

    fn await_exit(&self, number: u32) -> Result<(), Errno> {
        let exiting = lock(&self.own_threads.exiting);
        let is_over = self.own_threads.over.wait_while(exiting, |exiting| exiting.contains(&number));
        drop(is_over.unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}

/// The level at which a thread runs anyway; one that nothing can be lent to is above all.
fn level_of(schedule: Schedule) -> i32 {
    match schedule.kind() {
        libc::SCHED_FIFO | libc::SCHED_RR => schedule.level,
        libc::SCHED_DEADLINE => MOST_LEVEL,
        _ => 0,
    }
}

/// An exit that has begun is over when this goes, also by a panic.
struct Exit<'a>(&'a Threads, u32);

impl Drop for Exit<'_> {
    fn drop(&mut self) {
        lock(&self.0.exiting).retain(|number| *number != self.1);
        self.0.over.notify_all();
    }
}

impl Process {
    /// The calling thread is about to end: the locks of its robust list are marked and its waiters told, and those that inherit priorities and for which somebody
    /// waits are handed to the most urgent of these; what the walk did, and how many were handed on. The last thing that a thread does with the engine's locks; it
    /// owns none afterwards but those that this cannot know: for which nobody waits, and which are not in its list.
    pub fn exit_thread(&self, engine: &Engine<Process>) -> (RobustExit, u32) {
        let number = thread::this();
        lock(&self.own_threads.exiting).push(number);
        let _exit = Exit(&self.own_threads, number);
        (engine.exit_robust(self, ROBUST_LIST_LIMIT), engine.exit_pi(self))
    }

    /// How often the system refused to let an owner run as urgently as a thread that waited for it.
    pub fn refusals(&self) -> u64 {
        // Relaxed: a count.
        self.own_threads.refused.load(Ordering::Relaxed)
    }
}

/// Locks whose owner runs as urgently as the most urgent thread that waits for it, as far as [`Process`] can see to that. The word is the kernel's: 0, or the owner's
/// number (`gettid`), with the bits of [`abi`](crate::abi); a program may take a free one by a compare-exchange from 0 to that, and give one up the other way.
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
