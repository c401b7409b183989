//! Real-time priorities that threads are lent: how each ran before, and at which level it runs
//! meanwhile. `inheritance` calls it; `schedule` makes the system calls.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

use super::schedule::{Schedule, level};
use super::short::Short;
use super::{Process, held};
use crate::Priority;

/// What a host's threads are lent.
#[derive(Debug)]
pub(super) struct Lending {
    /// The threads that run by a lent level. There is room for one for each thread that ever was
    /// about to wait: a thread waits for one lock at a time, and each that waits makes one other
    /// run so, at most.
    lent: Short<Vec<Lent>>,
    /// The numbers of the threads for which there is room.
    known: Mutex<BTreeSet<u32>>,
    /// A number that no other host's has.
    id: u64,
    /// The number of times that the system refused a level, or there was no room to note it.
    refused: AtomicU64,
}

/// A thread that is lent a level.
#[derive(Clone, Copy, Debug)]
struct Lent {
    thread: u64,
    before: Schedule,
    level: i32,
}

std::thread_local! {
    /// The id of the [`Lending`] that last had room for the calling thread; 0: none did.
    static KNOWN_BY: Cell<u64> = const { Cell::new(0) };
}

impl Lending {
    pub(super) fn new() -> Lending {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // Relaxed: a number, and no more.
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        Lending { lent: Short::default(), known: Mutex::default(), id, refused: AtomicU64::new(0) }
    }

    /// Makes room for the calling thread, with that number, which is about to wait or to unlock and
    /// holds no lock: it may allocate.
    #[inline]
    pub(super) fn make_room(&self, host: &Process, number: u32) {
        if KNOWN_BY.get() != self.id {
            self.make_room_for(host, number);
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room_for(&self, host: &Process, number: u32) {
        let count = {
            // Of a thread that panicked nothing half done is left.
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(number);
            known.len()
        };
        // Not while `known` is locked: when this lock is given up, wakes are made that handlers put
        // off meanwhile, and these call executors.
        drop(self.lent.lock_with_room(host, count));
        KNOWN_BY.set(self.id);
    }

    /// Gives up the room of the calling thread, with that number, which ends.
    pub(super) fn forget(&self, number: u32) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        KNOWN_BY.set(0);
    }

    /// Returns how a thread runs without what it is lent; `None`: it is lent nothing.
    pub(super) fn before(&self, host: &Process, thread: u64) -> Option<Schedule> {
        self.lent.lock(host).iter().find(|lent| lent.thread == thread).map(|lent| lent.before)
    }

    /// Has a thread run at least as urgently as `priority` from now on; `None`: as before. Calls
    /// nothing that sleeps or uses the heap.
    pub(super) fn lend(&self, host: &Process, thread: u64, priority: Option<Priority>) {
        let wanted = priority.and_then(level);
        let mut lent = self.lent.lock(host);
        let place = lent.iter().position(|lent| lent.thread == thread);
        let before = match place {
            Some(place) => Some(lent[place].before),
            None => wanted.and_then(|_| Schedule::of(thread as u32)),
        };
        let Some(before) = before else { return };
        match (wanted.filter(|level| before.own_level() < *level), place) {
            (Some(level), Some(place)) if lent[place].level == level => {}
            (Some(level), place) => {
                // The flag stays: a thread that may not take it away again must not set it.
                let policy = libc::SCHED_FIFO | before.policy & libc::SCHED_RESET_ON_FORK;
                // A level that there is no room to note would stay lent forever.
                let has_room = place.is_some() || lent.len() < lent.capacity();
                if !has_room || !(Schedule { policy, level }).give(thread as u32) {
                    // Relaxed: a count.
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                held::note_real_time();
                match place {
                    Some(place) => lent[place].level = level,
                    None => lent.push(Lent { thread, before, level }),
                }
            }
            (None, Some(place)) => {
                before.give(thread as u32);
                lent.swap_remove(place);
            }
            (None, None) => {}
        }
    }

    /// Returns the number of refusals.
    pub(super) fn refusals(&self) -> u64 {
        // Relaxed: a count.
        self.refused.load(Ordering::Relaxed)
    }
}
