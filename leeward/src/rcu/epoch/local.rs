//! A thread's record in a collector: its slot, and what it has deferred. Only its thread uses it.
//!
//! A handle's record is freed when the handle is dropped and no guard is open, by whichever comes last;
//! it keeps the collector. A record of `entered.rs` is the collector's, and is used again.

use alloc::boxed::Box;
use core::cell::{Cell, UnsafeCell};
use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};

use super::super::no_memory::NoMemory;
use super::super::section::slot::Slot;
use super::calling;
use super::collector::{Collector, Inner};
use super::deferred::{Bag, Bags, Deferred};
use super::lent::{Lent, LentList, Run};
use crate::atomic::Ordering;
use crate::fence::{Asymmetric, Full};
use crate::process::{fork, thread};

/// A thread with bags looks after them at each section whose number is a multiple of this.
const SECTIONS: u32 = 128;
/// The number of bags that are emptied at a time: more than are filled meanwhile.
const BAGS: usize = 4;
/// How often a thread that looks after all bags begins anew, for what their calls deferred.
const ROUNDS: usize = 32;
/// The number of bags that are emptied at a time beyond the limit.
const MORE_BAGS: usize = 32;

/// A thread's record.
pub(super) struct Local {
    /// Claimed while the record is used.
    slot: Cell<NonNull<Slot>>,
    /// Without a count of its own, if the record is lent.
    collector: ManuallyDrop<Collector>,
    /// The collector's words, which it keeps: a pin need not look for them.
    inner: NonNull<Inner>,
    kind: Kind,
    /// True: the handle is alive, or the thread that entered is.
    has_handle: Cell<bool>,
    /// What only the collector's records have.
    lent: Lent,
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

/// Whose a record is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A handle's, which its thread counts (`thread::take_handle`).
    Handle,
    /// The calling thread's, in the default collector.
    Default,
    /// The collector's, which lends it to threads that enter without a handle.
    Lent,
}

impl Local {
    /// Makes the calling thread's record; its handle is the caller's.
    pub(super) fn new(collector: Collector, kind: Kind) -> Result<NonNull<Local>, NoMemory> {
        let slot = Local::claim(&collector, kind)?;
        Ok(Local::with(ManuallyDrop::new(collector), kind, slot))
    }

    /// Makes a record of the collector's for the calling thread, and puts it into `list`.
    pub(super) fn lend(collector: &Collector, list: &LentList) -> Result<NonNull<Local>, NoMemory> {
        let slot = Local::claim(collector, Kind::Lent)?;
        // SAFETY: the copy has no count: it is not dropped, and the collector outlives its records.
        let collector = ManuallyDrop::new(unsafe { ptr::read(collector) });
        let local = Local::with(collector, Kind::Lent, slot);
        // SAFETY: within the record that was made above.
        let lent = unsafe { local.byte_add(mem::offset_of!(Local, lent)) }.cast();
        // SAFETY: freed by `end_lent`.
        unsafe { list.push(lent) };
        Ok(local)
    }

    /// Takes a record of `list` for the calling thread that no thread uses.
    pub(super) fn borrow(list: &LentList) -> Result<Option<NonNull<Local>>, NoMemory> {
        let taken = list.find(|lent| {
            let local = Local::of(lent);
            // SAFETY: in the list, so alive.
            match unsafe { local.as_ref() }.reuse() {
                Ok(false) => None,
                Ok(true) => Some(Ok(local)),
                Err(error) => Some(Err(error)),
            }
        });
        taken.transpose()
    }

    /// Returns the record that these words are in.
    fn of(lent: NonNull<Lent>) -> NonNull<Local> {
        // SAFETY: all words of the kind are in records.
        unsafe { lent.byte_sub(mem::offset_of!(Local, lent)) }.cast()
    }

    fn with(collector: ManuallyDrop<Collector>, kind: Kind, slot: NonNull<Slot>) -> NonNull<Local> {
        let local = Box::new(Local {
            slot: Cell::new(slot),
            inner: NonNull::from(&**collector.0),
            collector,
            kind,
            has_handle: Cell::new(true),
            lent: Lent::new((thread::current(), fork::generation()), Local::end_lent),
            kept: Cell::new(0),
            sections: Cell::new(0),
            is_collecting: Cell::new(false),
            bag: UnsafeCell::new(None),
            sealed: UnsafeCell::new(Bags::new()),
            spare: Cell::new(None),
        });
        NonNull::from(Box::leak(local))
    }

    /// Claims a slot for the calling thread.
    fn claim(collector: &Collector, kind: Kind) -> Result<NonNull<Slot>, NoMemory> {
        let owner = if kind == Kind::Handle { thread::take_handle() } else { thread::current() };
        match collector.0.grace.claim(owner, thread::number()) {
            Ok(slot) => Ok(NonNull::from(slot)),
            Err(_) => {
                if kind == Kind::Handle {
                    thread::give_handle();
                }
                Err(NoMemory)
            }
        }
    }

    /// Takes the record for the calling thread, unless a thread uses it.
    fn reuse(&self) -> Result<bool, NoMemory> {
        // Acquire: partner of the release in `end`: the last user is done with it.
        let taken = self.lent.is_used.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            return Ok(false);
        }
        let slot = Local::claim(&self.collector, self.kind).inspect_err(|_| {
            // Release: as in `end`.
            self.lent.is_used.store(false, Ordering::Release);
        })?;
        self.slot.set(slot);
        self.has_handle.set(true);
        self.lent.user.set((thread::current(), fork::generation()));
        Ok(true)
    }

    #[inline(always)]
    fn slot(&self) -> &Slot {
        // SAFETY: the slot is a part of the collector, and stays claimed while this is used.
        unsafe { self.slot.get().as_ref() }
    }

    #[inline(always)]
    fn inner(&self) -> &Inner {
        // SAFETY: the collector keeps its words.
        unsafe { self.inner.as_ref() }
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
        let epoch = self.inner().grace.epoch();
        if self.inner().is_full {
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
            if local.inner().is_full { local.slot().leave::<Full>() } else { local.slot().leave::<Asymmetric>() };
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
        let epoch = self.inner().grace.epoch();
        if self.inner().is_full {
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
        } else if local.kind == Kind::Handle {
            local.slot().make_transient();
        } else {
            // The thread exits with a guard in a thread-local variable, or leaked.
            local.slot().outlive_thread();
        }
    }

    /// Ends the record's use, unless a call of `repin_after` is under way: makes the calls that may be
    /// made, and leaves the others to the collector.
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
        let grace = &local.inner().grace;
        local.seal();
        grace.release(local.slot());
        if local.kind == Kind::Handle {
            thread::give_handle();
        }
        if !calling::is_under_way() {
            local.collect(true);
        }
        // SAFETY: as in `defer`.
        let sealed = mem::replace(unsafe { &mut *local.sealed.get() }, Bags::new());
        local.inner().leave(sealed);
        if local.kind == Kind::Lent {
            // Release: the words. Partner: the acquire in `reuse`.
            local.lent.is_used.store(false, Ordering::Release);
            return;
        }
        // SAFETY: made by `Box::leak`, and nothing uses it any more.
        let local = unsafe { Box::from_raw(this.as_ptr()) };
        drop(ManuallyDrop::into_inner(local.collector));
    }

    /// Frees a record of a collector that ends, and makes the calls that are left in it; but not in the
    /// child of a fork, if a thread used it that is not there.
    ///
    /// # Safety
    /// The record is the collector's, which has no guard any more.
    unsafe fn end_lent(lent: NonNull<Lent>, run: Run<'_>) {
        // SAFETY: made by `Box::leak`, and nothing uses it any more.
        let mut local = unsafe { Box::from_raw(Local::of(lent).as_ptr()) };
        let (user, generation) = local.lent.user.get();
        // In the child of a fork, the slots of threads that are not there were given up; or they are
        // kept as those of threads that exited, or were about to, with a mark beside the id.
        let is_there = generation == fork::generation() || local.slot().holder().0 == user;
        if *local.lent.is_used.get_mut() && !is_there {
            // Its words may be half changed.
            mem::forget(local);
            return;
        }
        while let Some(mut bag) = local.sealed.get_mut().pop_if(|_| true) {
            run(&mut bag);
        }
        if let Some(bag) = local.bag.get_mut() {
            run(bag);
        }
    }

    /// Defers a call.
    #[inline]
    pub(super) fn defer(&self, call: Deferred) {
        loop {
            // SAFETY: only this thread has the record, and nothing is called while this borrow lives.
            match unsafe { &mut *self.bag.get() } {
                Some(bag) if !bag.is_full() => return bag.push(call),
                Some(_) => self.flush(false),
                None => self.open_bag(),
            }
        }
    }

    /// Makes a bag to be filled.
    #[cold]
    fn open_bag(&self) {
        // First: an allocator may defer, and so make one itself.
        let new = self.spare.take().unwrap_or_else(Bag::new);
        // SAFETY: as in `defer`.
        let bag = unsafe { &mut *self.bag.get() };
        if bag.is_none() {
            *bag = Some(new);
        } else {
            self.spare.set(Some(new));
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
            self.inner().seal(&mut bag);
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
        let _ends = Collecting { local: self, was_calling: calling::set(true) };
        let inner = self.inner();
        for _ in 0..ROUNDS {
            // SAFETY: as in `defer`.
            let wanted = unsafe { &*self.sealed.get() }.last_ticket();
            inner.step(wanted, all);
            let bags = match () {
                () if all => usize::MAX,
                () if inner.is_beyond_limit() => MORE_BAGS,
                () => BAGS,
            };
            for _ in 0..bags {
                // SAFETY: as in `defer`.
                let bag = unsafe { &mut *self.sealed.get() }.pop_if(|bag| inner.is_over(bag));
                let Some(bag) = bag else { break };
                self.spare.set(Some(inner.run(bag)));
            }
            // What the calls left is looked after as well, if all is.
            if !inner.run_orphans() || !all {
                return;
            }
        }
    }
}

/// The time in which a thread looks after its bags.
struct Collecting<'a> {
    local: &'a Local,
    was_calling: bool,
}

impl Drop for Collecting<'_> {
    fn drop(&mut self) {
        calling::set(self.was_calling);
        self.local.is_collecting.set(false);
    }
}
