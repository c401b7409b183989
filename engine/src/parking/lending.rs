//! Real-time priorities that threads are lent: how each ran before, and at which level it runs
//! meanwhile. `inheritance` calls it, as hosts of one's own do; `schedule` makes the system calls.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use super::schedule::{self, Schedule, level};
use super::table::Table;
use super::{held, thread};
use crate::{Heap, Host, Memory, Priority};

/// What threads of one host are lent: what [`Inheritance::lend`] and [`Inheritance::priority`] ask
/// for, of a host whose threads are Linux threads of this process. Threads are named by their
/// numbers (`gettid`). [`Process`](super::Process) has one inside.
///
/// Lending is `sched_setscheduler` to `SCHED_FIFO` at the waiter's level, and back. Where the system
/// refuses (it takes `CAP_SYS_NICE`, or `RLIMIT_RTPRIO`), nothing is lent, and
/// [`refusals`](Self::refusals) counts it.
///
/// ```
#[doc = include_str!("../host/required.md")]
/// use leeward_engine::parking::{Exits, Lending};
/// use leeward_engine::{
///     Config, Engine, Heap, Host, Inheritance, LockPi, Owner, Priority, Space, Thread, Word,
/// };
/// use std::sync::atomic::AtomicU32;
///
/// /// A host of one's own; its threads are this process's.
/// struct Program {
///     space: Space<Program>,
///     words: [AtomicU32; 1],
///     exits: Exits,
///     lending: Lending,
/// }
///
/// impl Inheritance<Program> for Program {
///     fn current(&self) -> Thread {
///         self.lending.make_room(self);
///         // SAFETY: no arguments.
///         let number = unsafe { libc::gettid() } as u32;
///         Thread { id: number.into(), number }
///     }
///     fn find(&self, number: u32) -> Owner {
///         self.exits.find(self, number)
///     }
///     fn priority(&self, thread: u64) -> Priority {
///         self.lending.priority(self, thread as u32)
///     }
///     fn lend(&self, thread: u64, priority: Option<Priority>) {
///         self.lending.lend(self, thread as u32, priority);
///     }
/// }
///
/// impl Host for Program {
///     // The methods that each host has, as in the example of `Host`.
///     required!();
///     fn inheritance(&self) -> Option<&dyn Inheritance<Program>> {
///         Some(self)
///     }
/// }
///
/// let engine = Engine::new(Config::small(7), Heap).unwrap();
/// let (exits, lending) = (Exits::new(Heap), Lending::new(Heap));
/// let (space, words) = (Space::new(1, 7, Heap), Default::default());
/// let program = Program { space, words, exits, lending };
/// assert_eq!(engine.lock_pi(&program, Word::private(0), None), Ok(LockPi::Acquired));
/// engine.unlock_pi(&program, Word::private(0)).unwrap();
/// ```
///
/// # Locks
/// As [`Exits`](super::Exits) does, each method holds a lock of its own for a few instructions,
/// with preemption [off](Host::preempt_off) by the host that it is given, which is always the same
/// one. [`priority`](Self::priority) and [`lend`](Self::lend) may be called under
/// the engine's locks: they neither sleep nor allocate. [`make_room`](Self::make_room) and
/// [`forget`](Self::forget) are called with no lock held.
///
/// # Memory
/// 4 bytes for each thread that made room, and 24 for what it may lend; up to twice that as the
/// tables grow. Without memory the tables stay as they are, and a level for which there is no room
/// is not lent: a refusal.
///
/// # Signals, forks, panics
/// Those of [`Exits`](super::Exits). In the child of a fork the levels stay noted that the parent's
/// threads were lent; no thread of the child has their numbers soon.
///
/// [`Inheritance::lend`]: crate::Inheritance::lend
/// [`Inheritance::priority`]: crate::Inheritance::priority
#[derive(Debug)]
pub struct Lending<M: Memory = Heap> {
    /// The threads that run by a lent level. There is room for one for each thread that ever was
    /// about to wait: a thread waits for one lock at a time, and each that waits makes one other
    /// run so, at most.
    lent: Table<M, Lent>,
    /// The numbers of the threads for which there is room, in order. Never locked under another
    /// lock.
    known: Table<M, u32>,
    /// A number that no other host's has.
    id: u64,
    /// The number of times that the system refused a level, or there was no room to note it.
    refused: AtomicU64,
}

/// A thread that is lent a level.
#[derive(Clone, Copy, Debug)]
struct Lent {
    thread: u32,
    before: Schedule,
    level: i32,
}

std::thread_local! {
    /// The id of the [`Lending`] that last had room for the calling thread; 0: none did. It has no
    /// destructor, so that a thread may come here at any time of its end.
    static KNOWN_BY: Cell<u64> = const { Cell::new(0) };
}

impl<M: Memory> Lending<M> {
    /// Makes a value by which no thread is lent anything. Its tables grow in `memory`, of which
    /// nothing is allocated yet.
    pub fn new(memory: M) -> Lending<M> {
        let (lent, known) = (Table::new(memory.clone()), Table::new(memory));
        Lending { lent, known, id: thread::serial(), refused: AtomicU64::new(0) }
    }

    /// Makes room for the calling thread, which is about to wait or to unlock and holds no lock:
    /// for [`Inheritance::current`](crate::Inheritance::current). May allocate; costs a load where
    /// there is room. Returns false if there is no memory: what the thread would lend may be
    /// refused then.
    #[inline]
    pub fn make_room<H: Host>(&self, host: &H) -> bool {
        KNOWN_BY.get() == self.id || self.make_room_for(host)
    }

    #[cold]
    #[inline(never)]
    fn make_room_for<H: Host>(&self, host: &H) -> bool {
        let number = thread::current();
        let count = {
            let mut known = self.known.lock_with_room(host, 0);
            match known.binary_search(&number) {
                Ok(_) => known.len(),
                Err(index) if known.insert(index, number) => known.len(),
                Err(_) => return false,
            }
        };
        // Not while `known` is locked: when this lock is given up, wakes are made that handlers put
        // off meanwhile, and these call executors.
        let has_room = self.lent.lock_with_room(host, count).has_room(count);
        if has_room {
            KNOWN_BY.set(self.id);
        }
        has_room
    }

    /// Gives up the room of the calling thread, which ends. No lock is held.
    pub fn forget<H: Host>(&self, host: &H) {
        KNOWN_BY.set(0);
        let number = thread::current();
        let mut known = self.known.lock(host);
        if let Ok(index) = known.binary_search(&number) {
            known.remove(index);
        }
    }

    /// Returns how a thread runs without what it is lent; `None`: it is lent nothing.
    fn before<H: Host>(&self, host: &H, thread: u32) -> Option<Schedule> {
        self.lent.lock(host).iter().find(|lent| lent.thread == thread).map(|lent| lent.before)
    }

    /// Returns a thread's own priority, without what it is lent, as the kernel has it now: for
    /// [`Inheritance::priority`](crate::Inheritance::priority).
    pub fn priority<H: Host>(&self, host: &H, thread: u32) -> Priority {
        let schedule = self.before(host, thread).or_else(|| Schedule::of(thread));
        schedule.map_or(Priority::NORMAL, Schedule::urgency)
    }

    /// Returns the calling thread's own priority: for [`Host::priority`]. The kernel is asked at
    /// most once in 10 ms.
    #[inline]
    pub fn own_priority<H: Host>(&self, host: &H) -> Priority {
        schedule::own(|| self.before(host, thread::number()))
    }

    /// Has a thread run at least as urgently as `priority` from now on; `None`: as before. For
    /// [`Inheritance::lend`](crate::Inheritance::lend).
    pub fn lend<H: Host>(&self, host: &H, thread: u32, priority: Option<Priority>) {
        let wanted = priority.and_then(level);
        let mut lent = self.lent.lock(host);
        let place = lent.iter().position(|lent| lent.thread == thread);
        let before = match place {
            Some(place) => Some(lent[place].before),
            None => wanted.and_then(|_| Schedule::of(thread)),
        };
        let Some(before) = before else { return };
        match (wanted.filter(|level| before.own_level() < *level), place) {
            (Some(level), Some(place)) if lent[place].level == level => {}
            (Some(level), place) => {
                // The flag stays: a thread that may not take it away again must not set it.
                let policy = libc::SCHED_FIFO | before.policy & libc::SCHED_RESET_ON_FORK;
                // A level that there is no room to note would stay lent forever.
                let has_room = place.is_some() || lent.has_room(lent.len() + 1);
                if !has_room || !(Schedule { policy, level }).give(thread) {
                    // Relaxed: a count.
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                held::note_real_time();
                match place {
                    Some(place) => lent[place].level = level,
                    None => _ = lent.push(Lent { thread, before, level }),
                }
            }
            (None, Some(place)) => {
                before.give(thread);
                lent.swap_remove(place);
            }
            (None, None) => {}
        }
    }

    /// Returns how often the system refused to let a thread run as urgently as it was asked to, or
    /// there was no room to note how it ran before.
    pub fn refusals(&self) -> u64 {
        // Relaxed: a count.
        self.refused.load(Ordering::Relaxed)
    }
}
