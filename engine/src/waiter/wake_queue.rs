//! Waiters that were chosen under a bucket's lock, to be unparked after unlocking. Filled by the
//! wakes and the requeues.

use core::mem::MaybeUninit;

use crate::mutant::{check, step};
use crate::waiter::{Handle, Woken};
use crate::{Host, Part};

/// How many waiters are woken under one hold of a lock; the rest of a wake takes the lock again.
pub(crate) const CAPACITY: usize = 16;

/// Chosen waiters in their order. If a panic of the host or of an executor drops it, it unparks
/// those that are left: they were chosen, so no other wake will choose them.
pub(crate) struct WakeQueue<'a, H: Host> {
    host: &'a H,
    /// The waiters, of which those from `next` to `end` are there.
    chosen: [MaybeUninit<Woken<H>>; CAPACITY],
    next: usize,
    end: usize,
    /// True if the host was told that more threads follow.
    more: bool,
}

impl<'a, H: Host> WakeQueue<'a, H> {
    #[inline]
    pub(crate) fn new(host: &'a H) -> WakeQueue<'a, H> {
        WakeQueue { host, chosen: [const { MaybeUninit::uninit() }; CAPACITY], next: 0, end: 0, more: false }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.end == CAPACITY
    }

    /// Adds a waiter, for which there must be room. Returns true if there is room for another.
    pub(crate) fn push(&mut self, woken: Woken<H>) -> bool {
        self.chosen[self.end].write(woken);
        self.end += 1;
        !self.is_full()
    }

    fn pop(&mut self) -> Option<Woken<H>> {
        let woken = self.chosen[self.next..self.end].first()?;
        self.next += 1;
        // SAFETY: it is there, and is taken once.
        Some(unsafe { woken.assume_init_read() })
    }

    /// Unparks the waiters in order; no lock is held. Returns true if the queue was full: there may
    /// be more waiters. A caller that wants them (`wanted`) looks, and calls this again whatever it
    /// finds.
    pub(crate) fn unpark(&mut self, wanted: bool) -> bool {
        let full = self.is_full();
        if self.end == 1 && !self.more {
            if let Some(woken) = self.pop() {
                woken.unpark(self.host);
            }
        } else if self.end != 0 || self.more {
            self.unpark_all(full && wanted);
        }
        (self.next, self.end) = (0, 0);
        full
    }

    #[cold]
    #[inline(never)]
    fn unpark_all(&mut self, more: bool) {
        let part = match (core::mem::replace(&mut self.more, more), more) {
            (_, true) => Part::Some,
            (true, false) => Part::Rest,
            (false, false) => Part::All,
        };
        self.host.unpark_all(core::iter::from_fn(|| self.pop_task()), part);
    }

    /// Takes the next thread that is asleep, and wakes the futures before it.
    fn pop_task(&mut self) -> Option<H::Task> {
        loop {
            match self.pop()? {
                Woken { handle: Handle::Task(task), spinning: false } => return Some(task),
                woken => woken.unpark(self.host),
            }
        }
    }
}

impl<H: Host> Drop for WakeQueue<'_, H> {
    fn drop(&mut self) {
        if check!(wake_queue_rest, self.next != self.end || self.more) {
            self.unpark_all(false);
        }
    }
}

/// A wake queue of at most one waiter, which is unparked when this is dropped, also where the host
/// panics. Declared before the lock is taken, so that it is dropped after unlocking.
pub(crate) struct ChosenWaiter<'a, H: Host> {
    host: &'a H,
    woken: Option<Woken<H>>,
}

impl<'a, H: Host> ChosenWaiter<'a, H> {
    #[inline]
    pub(crate) fn none(host: &'a H) -> ChosenWaiter<'a, H> {
        ChosenWaiter { host, woken: None }
    }

    /// Puts a waiter in, if there is one; returns how many there are.
    #[inline]
    pub(crate) fn choose(&mut self, woken: Option<Woken<H>>) -> u32 {
        // The old waiter is forgotten and not dropped: there is none.
        core::mem::forget(core::mem::replace(&mut self.woken, woken));
        u32::from(self.woken.is_some())
    }

    #[inline]
    pub(crate) fn unpark(&mut self) {
        if let Some(woken) = self.woken.take() {
            woken.unpark(self.host);
        }
    }
}

impl<H: Host> Drop for ChosenWaiter<'_, H> {
    #[inline]
    fn drop(&mut self) {
        step!(wake_queue_rest, self.unpark());
    }
}
