//! A few wakers, gathered under a queue's lock and woken after it.

use core::mem::MaybeUninit;
use core::task::Waker;

use crate::atomic::outside_model;
use crate::mutant::step;

/// How many wakers are woken at once. (One in a model.)
const MOST: usize = outside_model(15) as usize + 1;

/// Wakers in the order in which they are to be woken.
pub(super) struct WakeList {
    wakers: [MaybeUninit<Waker>; MOST],
    /// Where those begin and end that were not woken yet.
    begin: usize,
    end: usize,
}

impl WakeList {
    /// Returns an empty list.
    #[inline]
    pub(super) const fn new() -> WakeList {
        WakeList { wakers: [const { MaybeUninit::uninit() }; MOST], begin: 0, end: 0 }
    }

    /// Returns true if there is no place for another waker.
    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.end == MOST
    }

    /// Returns true if all were woken.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    /// Adds a waker.
    ///
    /// # Panics
    /// If the list is full.
    #[inline]
    pub(super) fn push(&mut self, waker: Waker) {
        self.wakers[self.end].write(waker);
        self.end += 1;
    }

    /// Has `wake` wake all of them, and empties the list. If it panics, those after that one are
    /// still there.
    #[inline]
    pub(super) fn wake(&mut self, wake: impl Fn(Waker)) {
        while self.begin < self.end {
            self.begin += 1;
            // SAFETY: written by `push`, and taken once: `begin` has passed it.
            let waker = unsafe { self.wakers[self.begin - 1].assume_init_read() };
            step!(task_wake, wake(waker));
        }
        (self.begin, self.end) = (0, 0);
    }
}
