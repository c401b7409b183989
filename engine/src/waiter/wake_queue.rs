//! Waiters that were chosen under a bucket's lock, to be unparked behind it.

use core::mem::MaybeUninit;

use crate::mutant::{mutated, step};
use crate::waiter::{Handle, Woken};
use crate::{Host, Part};

/// How many waiters are woken under one hold of a lock: the rest of a wake takes it again.
pub(crate) const CAPACITY: usize = 16;

/// Dropped by a panic of the host's or an executor's, it unparks those that are left: they were
/// chosen, so nobody else will.
pub(crate) struct WakeQueue<'a, H: Host> {
    host: &'a H,
    /// Those from `next` to `end` are there.
    chosen: [MaybeUninit<Woken<H>>; CAPACITY],
    next: usize,
    end: usize,
    /// The host was told that others follow.
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

    /// One more, if there is room; whether there is for another.
    pub(crate) fn push(&mut self, woken: Woken<H>) -> bool {
        self.chosen[self.end].write(woken);
        self.end += 1;
        !self.is_full()
    }

    fn pop(&mut self) -> Option<Woken<H>> {
        let woken = self.chosen[self.next..self.end].first()?;
        self.next += 1;
        // SAFETY: it is there, and taken once.
        Some(unsafe { woken.assume_init_read() })
    }

    /// Unparks them in order; no lock is held. Whether it was full: perhaps there are more, which
    /// the caller wants or not. If it does, it looks, and calls again whatever it finds.
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

    /// The next thread that is asleep; futures before it are woken.
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
        if mutated!(wake_queue_rest) {
            return;
        }
        if self.next != self.end || self.more {
            self.unpark_all(false);
        }
    }
}

/// A wake queue of one at most, which is unparked when this goes, also where the host panics:
/// declared before the lock is taken.
pub(crate) struct ChosenWaiter<'a, H: Host> {
    host: &'a H,
    woken: Option<Woken<H>>,
}

impl<'a, H: Host> ChosenWaiter<'a, H> {
    #[inline]
    pub(crate) fn none(host: &'a H) -> ChosenWaiter<'a, H> {
        ChosenWaiter { host, woken: None }
    }

    /// The one, if there is; how many.
    #[inline]
    pub(crate) fn choose(&mut self, woken: Option<Woken<H>>) -> u32 {
        // Forgotten, since none was there.
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
