//! Real-time priorities that threads are lent: how each ran before, and at which level it runs
//! meanwhile.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

use super::schedule::{Schedule, level};
use super::short::Short;
use super::{Process, held};
use crate::Priority;

#[derive(Debug)]
pub(super) struct Lending {
    /// Threads that run by a lent level. There is room for one for each that ever was about to
    /// wait: a thread waits for one lock at a time, and each that waits makes one other run so, at
    /// most.
    lent: Short<Vec<Lent>>,
    /// The numbers of those for which there is room.
    known: Mutex<BTreeSet<u32>>,
    /// No other's.
    id: u64,
    refused: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Lent {
    thread: u64,
    before: Schedule,
    level: i32,
}

std::thread_local! {
    /// The id of the one that had room for the calling thread last; 0: none did.
    static KNOWN_BY: Cell<u64> = const { Cell::new(0) };
}

impl Lending {
    pub(super) fn new() -> Lending {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // Relaxed: a number, and no more.
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        Lending { lent: Short::default(), known: Mutex::default(), id, refused: AtomicU64::new(0) }
    }

    /// The calling thread, with that number, is about to wait or to unlock, and holds no lock:
    /// makes room for it, which takes memory.
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
        // Not within: wakes that handlers wanted meanwhile are made when this is given up, and call
        // executors.
        drop(self.lent.lock_with_room(host, count));
        KNOWN_BY.set(self.id);
    }

    /// The calling thread, with that number, ends.
    pub(super) fn forget(&self, number: u32) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        KNOWN_BY.set(0);
    }

    /// How a thread runs without what it is lent; `None`: it is lent nothing.
    pub(super) fn before(&self, host: &Process, thread: u64) -> Option<Schedule> {
        self.lent.lock(host).iter().find(|lent| lent.thread == thread).map(|lent| lent.before)
    }

    /// From now on a thread runs at least as urgently as this; `None`: as before. Calls nothing
    /// that sleeps or uses the heap.
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
                // The flag stays: who may not take it away again must not set it.
                let policy = libc::SCHED_FIFO | before.policy & libc::SCHED_RESET_ON_FORK;
                // What there is no room for would stay lent for ever.
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

    pub(super) fn refusals(&self) -> u64 {
        // Relaxed: a count.
        self.refused.load(Ordering::Relaxed)
    }
}
