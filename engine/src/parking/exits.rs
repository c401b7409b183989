//! Exits that threads have told: the kernel tells a process of none. From the telling on the thread
//! is on its way out, and afterwards owns nothing, though it runs on for a while (its destructors,
//! the C library's end of it) and its number names it all that time. `Process::exit_thread`, `find`
//! and `await_exit` call it, as hosts of one's own do; `life` says whether a thread is still there.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

use super::life::Life;
use super::short::ShortGuard;
use super::table::{List, Table};
use super::{futex, held, thread};
use crate::mutant::{check, mutated, step};
use crate::{Heap, Host, Memory, Owner};

/// The kernel's operation that sleeps while a word holds a value.
const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
/// The kernel's operation that wakes sleepers.
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
/// The kernel's operation that tries to take a lock with priority inheritance.
const TRYLOCK_PI: i32 = libc::FUTEX_TRYLOCK_PI | libc::FUTEX_PRIVATE_FLAG;

/// The exits that threads of one host have told: what [`Inheritance::find`] and
/// [`Inheritance::await_exit`] ask for, of a host whose threads are Linux threads of this process
/// and whose lock words hold their numbers (`gettid`). [`Process`](super::Process) has one inside.
///
/// The rule that it keeps: a thread that told its exit owns nothing any more, though it runs on for
/// a while; so [`find`](Self::find) says [`Owner::Nobody`] from the end of the exit on, and it does
/// so *before* the number is free. Afterwards the number may be another thread's, which is an owner
/// again.
///
/// ```
#[doc = include_str!("../host/required.md")]
/// use leeward_engine::parking::Exits;
/// use leeward_engine::{Heap, Host, Owner, Space};
/// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
///
/// /// A host of one's own; its threads are this process's.
/// struct Program {
///     space: Space<Program>,
///     words: [AtomicU32; 1],
///     exits: Exits,
/// }
///
/// impl Host for Program {
///     // The methods that each host has, as in the example of `Host`.
///     required!();
/// }
///
/// let (space, exits) = (Space::new(1, 7, Heap), Exits::new(Heap));
/// let program = Program { space, words: Default::default(), exits };
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         // SAFETY: no arguments.
///         let me = unsafe { libc::gettid() } as u32;
///         assert_eq!(program.exits.find(&program, me), Owner::Thread(me.into()));
///         let exiting = program.exits.begin(&program);
///         assert_eq!(program.exits.find(&program, me), Owner::Exiting);
///         // Here the host walks the robust list and calls `Engine::exit_pi`.
///         drop(exiting);
///         assert_eq!(program.exits.find(&program, me), Owner::Nobody);
///     });
/// });
/// ```
///
/// # Locks
/// Each method holds a lock of its own for a few instructions, with preemption
/// [off](Host::preempt_off) by the host that it is given, and waits for it by [`Host::spin`]. That
/// host is always the same one. [`find`](Self::find) may be called under the engine's locks: it neither
/// sleeps nor allocates. All others are called with no lock held.
///
/// # Memory
/// A record (32 bytes) and a mutex of libc's (48) for each thread that told its exit and is still
/// there, allocated in [`begin`](Self::begin) with no lock held. If there is no memory for the
/// mutex, the thread is known by its number alone, so that another thread that gets the number at
/// once counts as that one. If there is none for the record, the exit is not noted
/// ([`unrecorded`](Self::unrecorded)); [`reserve`](Self::reserve) makes room for records before. A
/// mutex that a thread still holds when the value is dropped stays allocated, with a clone of the
/// memory.
///
/// # Signals, forks, panics
/// Not for signal handlers. A handler that wakes by the same host may interrupt any method, if the
/// host defers its wake or blocks its signal, as it must for the engine's own locks. In the child of
/// a fork the exits of the parent's threads name no thread; if another thread of the parent was in
/// a method, the child makes a host of its own. No method panics unless the host or the memory
/// does.
///
/// [`Inheritance::find`]: crate::Inheritance::find
/// [`Inheritance::await_exit`]: crate::Inheritance::await_exit
#[derive(Debug)]
pub struct Exits<M: Memory + 'static = Heap> {
    records: Table<M, Record>,
    /// The number of exits that were told.
    count: AtomicU32,
    /// The number of exits that are over; threads that wait for one sleep on this word.
    over: AtomicU32,
    /// The number of exits for whose record there was no memory.
    unrecorded: AtomicU32,
}

/// How far a told exit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The thread's locks are being handed on.
    Exiting,
    /// The thread owns nothing any more, and is still there, as far as is known.
    Over,
    /// The number was free since: it names no thread, or another one.
    Gone,
}

/// The record of a thread that told its exit.
#[derive(Clone, Copy, Debug)]
struct Record {
    number: u32,
    /// A number that no other record of this host has.
    serial: u32,
    stage: Stage,
    /// The thread's life; `None` where libc cannot tell it, or there was no memory for it.
    life: Option<NonNull<Life>>,
    /// The process that the thread is in, by its [`forks`](thread::forks): in the child of a fork
    /// the thread is not there.
    forks: u32,
}

// SAFETY: a `Life` is `Send` and `Sync`, and the record is its only owner.
unsafe impl Send for Record {}

impl Record {
    /// Returns true if the number names the thread no more.
    fn is_gone(&self) -> bool {
        self.stage == Stage::Gone || check!(exit_fork, self.forks != thread::forks())
    }

    /// Returns true if the thread is known to be at its end or past it.
    fn is_dead(&self) -> bool {
        // SAFETY: freed only with the record.
        self.life.is_some_and(|life| unsafe { life.as_ref() }.is_over())
    }

    /// Frees the record's life, with no lock held.
    fn discard(self, memory: &impl Memory) {
        match self.life {
            // SAFETY: allocated there, over, and nothing else has the record any more.
            Some(life) if self.is_dead() => unsafe { Life::free(life, memory) },
            // A thread that runs on holds the mutex until its end, so the mutex stays; and the
            // memory, of which it is a part.
            Some(_) => core::mem::forget(memory.clone()),
            None => {}
        }
    }
}

/// Returns the record of the thread with that number, if the number still names it.
fn find(records: &mut [Record], number: u32) -> Option<&mut Record> {
    records.iter_mut().find(|record| record.number == number && !record.is_gone())
}

/// An exit that has begun ([`Exits::begin`]). It is over when this is dropped, also by a panic. If
/// it is forgotten, threads that ask for its end wait forever.
pub struct Exiting<'a, H: Host, M: Memory + 'static = Heap> {
    exits: &'a Exits<M>,
    host: &'a H,
    number: u32,
}

impl<H: Host, M: Memory + 'static> core::fmt::Debug for Exiting<'_, H, M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Exiting").field("number", &self.number).finish_non_exhaustive()
    }
}

impl<H: Host, M: Memory + 'static> Drop for Exiting<'_, H, M> {
    fn drop(&mut self) {
        let _waking = Waking(&self.exits.over);
        if let Some(record) = find(&mut self.exits.records.lock(self.host), self.number) {
            record.stage = if mutated!(exit_over) { Stage::Gone } else { Stage::Over };
        }
    }
}

/// A guard over the end of an exit: when it is dropped, the threads that wait for it are woken,
/// also where a wake that a handler put off while the list was locked calls an executor that
/// panics.
struct Waking<'a>(&'a AtomicU32);

impl Drop for Waking<'_> {
    fn drop(&mut self) {
        // Release: partner: the acquire in `await_end`.
        self.0.fetch_add(1, Ordering::Release);
        step!(exit_wake, _ = futex(core::ptr::from_ref(self.0).addr(), WAKE, i32::MAX as u32, 0, 0));
    }
}

impl<M: Memory + 'static> Exits<M> {
    /// Makes an empty list, which grows in `memory` as exits are told. It allocates nothing there;
    /// libc may allocate, the first time in a process, for the handler that tells of forks.
    pub fn new(memory: M) -> Exits<M> {
        thread::await_forks();
        Exits {
            records: Table::new(memory),
            count: AtomicU32::new(0),
            over: AtomicU32::new(0),
            unrecorded: AtomicU32::new(0),
        }
    }

    /// Makes room for the records of `exits` threads at a time, with no lock held. Returns false if
    /// there is no memory for them.
    pub fn reserve<H: Host>(&self, host: &H, exits: usize) -> bool {
        self.records.lock_with_room(host, exits).has_room(exits)
    }

    /// Notes that the calling thread is on its way out, until the answer is dropped:
    /// [`find`](Self::find) says [`Owner::Exiting`] meanwhile, and [`Owner::Nobody`] afterwards. The
    /// host walks the thread's robust list in between, and calls
    /// [`Engine::exit_pi`](crate::Engine::exit_pi). A thread that tells its exit twice has one.
    ///
    /// May allocate, with no lock held.
    pub fn begin<'a, H: Host>(&'a self, host: &'a H) -> Exiting<'a, H, M> {
        let number = thread::current();
        self.clear(host);
        let is_new = {
            let mut records = self.records.lock(host);
            // The record of a thread that told its exit before, in this life or in another.
            find(&mut records, number)
                .filter(|record| !record.is_dead())
                .map(|record| record.stage = Stage::Exiting)
                .is_none()
        };
        if is_new {
            self.record(host, number);
        }
        Exiting { exits: self, host, number }
    }

    /// Adds a record of the calling thread, if there is memory for it.
    fn record<H: Host>(&self, host: &H, number: u32) {
        let life = Life::of_this_thread(self.records.memory());
        // Relaxed: a number, and no more.
        let serial = self.count.fetch_add(1, Ordering::Relaxed);
        let new = Record { number, serial, stage: Stage::Exiting, life, forks: thread::forks() };
        let is_recorded = self.records.lock_with_room(host, 0).push(new);
        if !is_recorded {
            // Relaxed: a count.
            self.unrecorded.fetch_add(1, Ordering::Relaxed);
            new.discard(self.records.memory());
        }
    }

    /// Forgets threads whose numbers are free, or other threads' by now.
    fn clear<H: Host>(&self, host: &H) {
        let remove_one = |mut records: ShortGuard<'_, List<Record>, H>| {
            let free = |record: &Record| record.is_gone() || record.is_dead() && !thread::is_there(record.number);
            let place = records.iter().position(free)?;
            Some(records.swap_remove(place))
        };
        // One at a time: each is freed after the lock was given up.
        while let Some(record) = remove_one(self.records.lock(host)) {
            record.discard(self.records.memory());
        }
    }

    /// Returns the owner that a number names, a thread by its number as its
    /// [`id`](crate::Thread::id): the answer for [`Inheritance::find`](crate::Inheritance::find).
    /// Neither sleeps nor allocates; asks the kernel once (`tgkill` with signal 0).
    pub fn find<H: Host>(&self, host: &H, number: u32) -> Owner {
        let is_there = thread::is_there(number);
        let mut records = self.records.lock(host);
        match find(&mut records, number) {
            Some(record) if !is_there => {
                record.stage = Stage::Gone;
                Owner::Nobody
            }
            // If the thread is dead, `await_end` finds out whether the number is still its own or
            // another thread's.
            Some(record) if record.stage == Stage::Exiting || check!(exit_number, record.is_dead()) => Owner::Exiting,
            Some(_) => Owner::Nobody,
            None if is_there => Owner::Thread(u64::from(number)),
            None => Owner::Nobody,
        }
    }

    /// Sleeps until the exit of the thread with that number is over. If the thread is dead, sleeps
    /// until the number is free or known to be another thread's. Returns at once if the thread told
    /// no exit. For [`Inheritance::await_exit`](crate::Inheritance::await_exit); no lock is held.
    ///
    /// Memory ordering: what the thread did before the end of its exit happens before the return,
    /// if this slept for it.
    pub fn await_end<H: Host>(&self, host: &H, number: u32) {
        loop {
            let (over, serial) = {
                let mut records = self.records.lock(host);
                let Some(record) = find(&mut records, number) else { return };
                match record.stage {
                    // Acquire: partner: the addition in `Waking::drop`, which is made after the
                    // stage was changed.
                    Stage::Exiting => (Some(self.over.load(Ordering::Acquire)), record.serial),
                    _ if !record.is_dead() => return,
                    _ => (None, record.serial),
                }
            };
            match over {
                Some(over) => _ = futex(core::ptr::from_ref(&self.over).addr(), WAIT, over, 0, 0),
                None if !thread::is_there(number) || is_alive(number) => {
                    if let Some(record) =
                        find(&mut self.records.lock(host), number).filter(|record| record.serial == serial)
                    {
                        record.stage = Stage::Gone;
                    }
                    return;
                }
                // The thread is on its last way through the kernel.
                None => held::nap(),
            }
        }
    }

    /// Returns the number of exits for whose record there was no memory. Threads that want a lock
    /// whose word still names such a thread wait until its number is free, as they do where a
    /// thread ends without telling.
    pub fn unrecorded(&self) -> u32 {
        // Relaxed: a count.
        self.unrecorded.load(Ordering::Relaxed)
    }
}

impl<M: Memory + 'static> Drop for Exits<M> {
    fn drop(&mut self) {
        let memory = self.records.memory().clone();
        self.records.get_mut().iter().for_each(|record| record.discard(&memory));
    }
}

/// Returns true if the thread with that number may own locks and is not at its end, as the kernel
/// answers a thread that wants a lock of its. May sleep until the thread's end.
fn is_alive(number: u32) -> bool {
    let lock = AtomicU32::new(number);
    let answer = futex(core::ptr::from_ref(&lock).addr(), TRYLOCK_PI, 0, 0, 0);
    answer != Err(libc::ESRCH)
}
