//! A thread's record in a collector: its slot, and what it has deferred. Only its thread uses it.
//!
//! It is freed when its handle is dropped and no guard is open, by whichever comes last.

use alloc::boxed::Box;
use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;

use super::super::no_memory::NoMemory;
use super::super::slot::Slot;
use super::bag::{Bag, Bags, Deferred};
use super::collector::Collector;
use crate::fence::{Asymmetric, Full};
use crate::process::thread;

/// A thread with bags looks after them at each section whose number is a multiple of this.
const SECTIONS: u32 = 128;
/// The number of bags that are emptied at a time: more than are filled meanwhile.
const BAGS: usize = 4;

/// A thread's record.
pub(super) struct Local {
    slot: NonNull<Slot>,
    collector: Collector,
    /// True: the handle is alive.
    has_handle: Cell<bool>,
    /// True: the thread counts the handle (`thread::take_handle`).
    is_counted: bool,
    /// The number of calls of `repin_after` under way, which keep the record.
    kept: Cell<usize>,
    /// The number of sections that were entered, counted while there are bags.
    sections: Cell<u32>,
    /// True: this thread looks after its bags already.
    is_collecting: Cell<bool>,
    /// The bag that is being filled.
    bag: UnsafeCell<Option<Box<Bag>>>,
    /// The bags that were filled.
    sealed: UnsafeCell<Bags>,
    /// An empty bag.
    spare: Cell<Option<Box<Bag>>>,
}

impl Local {
    /// Makes the calling thread's record; its handle is the caller's.
    pub(super) fn new(collector: Collector, is_counted: bool) -> Result<NonNull<Local>, NoMemory> {
        let owner = if is_counted { thread::take_handle() } else { thread::current() };
        let Ok(slot) = collector.0.grace.claim(owner, thread::number()) else {
            if is_counted {
                thread::give_handle();
            }
            return Err(NoMemory);
        };
        let slot = NonNull::from(slot);
        let local = Box::new(Local {
            slot,
            collector,
            has_handle: Cell::new(true),
            is_counted,
            kept: Cell::new(0),
            sections: Cell::new(0),
            is_collecting: Cell::new(false),
            bag: UnsafeCell::new(None),
            sealed: UnsafeCell::new(Bags::new()),
            spare: Cell::new(None),
        });
        Ok(NonNull::from(Box::leak(local)))
    }

    #[inline(always)]
    fn slot(&self) -> &Slot {
        // SAFETY: the slot is a part of the collector, and stays claimed as long as this lives.
        unsafe { self.slot.as_ref() }
    }

    pub(super) fn collector(&self) -> &Collector {
        &self.collector
    }

    pub(super) fn is_pinned(&self) -> bool {
        self.slot().is_inside()
    }

    /// Enters a section.
    #[inline(always)]
    pub(super) fn enter(&self) {
        let sections = self.sections.get().wrapping_add(1);
        self.sections.set(sections);
        if sections % SECTIONS != 0 && !self.slot().is_inside() {
            return self.enter_outermost();
        }
        self.enter_rarely(sections);
    }

    #[inline(always)]
    fn enter_outermost(&self) {
        let epoch = self.collector.0.grace.epoch();
        if self.collector.0.is_full {
            self.slot().enter_outermost::<Full>(epoch);
        } else {
            self.slot().enter_outermost::<Asymmetric>(epoch);
        }
    }

    /// Enters a section within another, or one before which the thread looks after its bags.
    #[cold]
    #[inline(never)]
    fn enter_rarely(&self, sections: u32) {
        if sections % SECTIONS == 0 && !self.slot().is_inside() {
            self.collect(false);
        }
        // A call may have leaked a guard.
        if self.slot().is_inside() { self.slot().enter_nested() } else { self.enter_outermost() }
    }

    /// Leaves a section. The record may be freed.
    ///
    /// # Safety
    /// The record is the calling thread's, and a section is open that the caller entered.
    #[inline(always)]
    pub(super) unsafe fn leave(this: NonNull<Local>) {
        // SAFETY: alive while a section is open.
        let local = unsafe { this.as_ref() };
        let has_ended =
            if local.collector.0.is_full { local.slot().leave::<Full>() } else { local.slot().leave::<Asymmetric>() };
        if has_ended {
            // SAFETY: the handle was dropped, which made the slot transient, and no section is open.
            unsafe { Local::end(this) };
        }
    }

    /// Lets grace periods pass, unless another section is open.
    pub(super) fn refresh(&self) {
        if !self.slot().is_outermost() {
            return;
        }
        let epoch = self.collector.0.grace.epoch();
        if self.collector.0.is_full {
            self.slot().quiesce::<Full>(epoch);
        } else {
            self.slot().quiesce::<Asymmetric>(epoch);
        }
    }

    /// Calls `during` outside, unless another section is open, and enters again.
    ///
    /// # Safety
    /// As for `leave`.
    pub(super) unsafe fn outside<R>(this: NonNull<Local>, during: impl FnOnce() -> R) -> R {
        /// Enters again, after a panic as well.
        struct Again(NonNull<Local>);
        impl Drop for Again {
            fn drop(&mut self) {
                // SAFETY: `kept` has kept it.
                let local = unsafe { self.0.as_ref() };
                local.enter();
                local.kept.set(local.kept.get() - 1);
                if !local.has_handle.get() {
                    local.slot().make_transient();
                }
            }
        }
        // SAFETY: the caller's section keeps it until `kept` does.
        let local = unsafe { this.as_ref() };
        local.kept.set(local.kept.get() + 1);
        let _again = Again(this);
        // SAFETY: the caller's promise.
        unsafe { Local::leave(this) };
        during()
    }

    /// Gives the record's handle up.
    ///
    /// # Safety
    /// The record is the calling thread's, and the handle is not used any more.
    pub(super) unsafe fn drop_handle(this: NonNull<Local>) {
        // SAFETY: the handle kept it.
        let local = unsafe { this.as_ref() };
        local.has_handle.set(false);
        if !local.is_pinned() {
            // SAFETY: no section is open.
            unsafe { Local::end(this) };
        } else if local.is_counted {
            local.slot().make_transient();
        } else {
            // The thread exits with a guard in a thread-local variable, or leaked.
            local.slot().outlive_thread();
        }
    }

    /// Ends the record, unless a call of `repin_after` is under way: makes the calls that may be made,
    /// and leaves the others to the collector.
    ///
    /// # Safety
    /// The record is the calling thread's, its handle was dropped, and no section is open.
    #[cold]
    #[inline(never)]
    unsafe fn end(this: NonNull<Local>) {
        // SAFETY: the caller's promise.
        let local = unsafe { this.as_ref() };
        if local.kept.get() != 0 {
            return;
        }
        let grace = &local.collector.0.grace;
        local.seal();
        grace.release(local.slot());
        if local.is_counted {
            thread::give_handle();
        }
        local.collect(true);
        // SAFETY: made by `Box::leak`, and nothing uses it any more.
        let Local { collector, sealed, .. } = *unsafe { Box::from_raw(this.as_ptr()) };
        collector.0.leave(sealed.into_inner());
    }

    /// Defers a call.
    #[inline]
    pub(super) fn defer(&self, call: Deferred) {
        loop {
            // SAFETY: only this thread has the record, and nothing is called while this borrow lives.
            let bag = unsafe { &mut *self.bag.get() };
            match bag {
                Some(bag) if !bag.is_full() => return bag.push(call),
                Some(_) => self.flush(false),
                None => *bag = Some(self.spare.take().unwrap_or_else(Bag::new)),
            }
        }
    }

    /// Seals the bag that is being filled, and looks after the others.
    #[cold]
    #[inline(never)]
    pub(super) fn flush(&self, at_once: bool) {
        self.seal();
        self.collect(at_once);
    }

    /// Seals the bag that is being filled.
    fn seal(&self) {
        // SAFETY: as in `defer`.
        let bag = unsafe { &mut *self.bag.get() };
        if let Some(mut bag) = bag.take_if(|bag| bag.len() != 0) {
            self.collector.0.seal(&mut bag);
            // SAFETY: as in `defer`.
            unsafe { &mut *self.sealed.get() }.push(bag);
        }
    }

    /// Goes on with the grace period that the bags wait for, and empties those whose grace period is
    /// over. What is called may use the record; it does not come here again.
    ///
    /// `all`: begins a grace period however few wait, and empties all that can be.
    fn collect(&self, all: bool) {
        if self.is_collecting.replace(true) {
            return;
        }
        let _ends = Collecting(self);
        let inner = &self.collector.0;
        // SAFETY: as in `defer`.
        let wanted = unsafe { &*self.sealed.get() }.last_ticket();
        inner.step(wanted, all);
        let bags = if all { usize::MAX } else { BAGS };
        for _ in 0..bags {
            // SAFETY: as in `defer`.
            let bag = unsafe { &mut *self.sealed.get() }.pop_if(|bag| inner.is_over(bag));
            let Some(mut bag) = bag else { break };
            inner.run(&mut bag);
            self.spare.set(Some(bag));
        }
        inner.run_orphans();
    }
}

/// The time in which a thread looks after its bags.
struct Collecting<'a>(&'a Local);

impl Drop for Collecting<'_> {
    fn drop(&mut self) {
        self.0.is_collecting.set(false);
    }
}
