//! Exits that threads have told: the kernel tells a process of none. From the telling on the thread
//! is on its way out, and afterwards owns nothing, though it runs on for a while (its destructors,
//! the C library's end of it) and its number names it all that time. `Process::exit_thread`, `find`
//! and `await_exit` call it; `life` says whether a thread is still there.

use core::sync::atomic::{AtomicU32, Ordering};
use std::boxed::Box;
use std::vec::Vec;

use super::life::Life;
use super::short::{Locked, Short};
use super::{Process, futex, held, thread};
use crate::Owner;
use crate::mutant::{check, mutated, step};

/// The kernel's operation that sleeps while a word holds a value.
const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
/// The kernel's operation that wakes sleepers.
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
/// The kernel's operation that tries to take a lock with priority inheritance.
const TRYLOCK_PI: i32 = libc::FUTEX_TRYLOCK_PI | libc::FUTEX_PRIVATE_FLAG;

/// The exits that threads of one host have told.
#[derive(Debug, Default)]
pub(super) struct Exits {
    records: Short<Vec<Record>>,
    /// The number of exits that were told.
    count: AtomicU32,
    /// The number of exits that are over; threads that wait for one sleep on this word.
    over: AtomicU32,
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
#[derive(Debug)]
struct Record {
    number: u32,
    /// A number that no other record of this host has.
    serial: u32,
    stage: Stage,
    /// The thread's life; `None` where libc cannot tell it.
    life: Option<Box<Life>>,
    /// The process that the thread is in, by its [`forks`](thread::forks): in the child of a fork
    /// the thread is not there.
    forks: u32,
}

impl Record {
    /// Returns true if the number names the thread no more.
    fn is_gone(&self) -> bool {
        self.stage == Stage::Gone || check!(exit_fork, self.forks != thread::forks())
    }

    /// Returns true if the thread is known to be at its end or past it.
    fn is_dead(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.is_over())
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // A thread that runs on holds the mutex until its end, so the mutex stays.
        if let Some(life) = self.life.take().filter(|life| !life.is_over()) {
            Box::leak(life);
        }
    }
}

/// Returns the record of the thread with that number, if the number still names it.
fn find(records: &mut [Record], number: u32) -> Option<&mut Record> {
    records.iter_mut().find(|record| record.number == number && !record.is_gone())
}

/// An exit that has begun. It is over when this is dropped, also by a panic.
pub(super) struct Exiting<'a> {
    host: &'a Process,
    number: u32,
}

impl Drop for Exiting<'_> {
    fn drop(&mut self) {
        let exits = &self.host.exits;
        let _waking = Waking(exits);
        if let Some(record) = find(&mut exits.records.lock(self.host), self.number) {
            record.stage = if mutated!(exit_over) { Stage::Gone } else { Stage::Over };
        }
    }
}

/// A guard over the end of an exit: when it is dropped, the threads that wait for it are woken,
/// also where a wake that a handler put off while the list was locked calls an executor that
/// panics.
struct Waking<'a>(&'a Exits);

impl Drop for Waking<'_> {
    fn drop(&mut self) {
        // Release: partner: the acquire in `await_end`.
        self.0.over.fetch_add(1, Ordering::Release);
        step!(exit_wake, _ = futex(core::ptr::from_ref(&self.0.over).addr(), WAKE, i32::MAX as u32, 0, 0));
    }
}

impl Exits {
    /// Notes that the calling thread, with that number, is on its way out until the answer is
    /// dropped. May allocate.
    pub(super) fn begin<'a>(&'a self, host: &'a Process, number: u32) -> Exiting<'a> {
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
            let life = Life::of_this_thread();
            // Relaxed: a number, and no more.
            let serial = self.count.fetch_add(1, Ordering::Relaxed);
            let new = Record { number, serial, stage: Stage::Exiting, life, forks: thread::forks() };
            self.records.lock_with_room(host, 0).push(new);
        }
        Exiting { host, number }
    }

    /// Forgets threads whose numbers are free, or other threads' by now.
    fn clear(&self, host: &Process) {
        let remove_one = |mut records: Locked<'_, Vec<Record>>| {
            let free = |record: &Record| record.is_gone() || record.is_dead() && !thread::is_there(record.number);
            let place = records.iter().position(free)?;
            Some(records.swap_remove(place))
        };
        // One at a time: each is freed after the lock was given up.
        while remove_one(self.records.lock(host)).is_some() {}
    }

    /// Returns the owner that a number names. Calls nothing that sleeps.
    pub(super) fn owner(&self, host: &Process, number: u32) -> Owner {
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
    /// until the number is free or known to be another thread's.
    pub(super) fn await_end(&self, host: &Process, number: u32) {
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
}

/// Returns true if the thread with that number may own locks and is not at its end, as the kernel
/// answers a thread that wants a lock of its. May sleep until the thread's end.
fn is_alive(number: u32) -> bool {
    let lock = AtomicU32::new(number);
    let answer = futex(core::ptr::from_ref(&lock).addr(), TRYLOCK_PI, 0, 0, 0);
    answer != Err(libc::ESRCH)
}
