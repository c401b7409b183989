//! The limbo of a container: what its writers have unlinked, until no reader can hold it. The
//! writers themselves free it, some dozens of items at a time: nothing is allocated for an item, no
//! worker is woken, and nothing that a container holds must be `'static`.
//!
//! A writer puts an item into its open bag, which is its own. A full bag takes a ticket and goes to
//! the end of the container's list; then the writer goes on with the grace period by one step, and
//! frees the bags at the head of the list whose grace period is over: up to four, where it has put one
//! there. So what waits does not grow with the number of writers, and a destructor that blocks, or a
//! writer that is preempted, keeps one bag from the others. What is freed runs with no lock held, so
//! it may use the container, and retire; what it retires the same thread frees later.
//!
//! How much waits: let G be the items that are retired in a grace period, with the wait until as many
//! are there as are worth a heavy fence (16,384 at most). Those of the grace period that is under way
//! and those that came since are 2 G at most; those of the one before are freed in a quarter of the
//! time in which they came. So sealed bags hold 3 G items at most, and each thread that has written has
//! 123 more in its open bag. A reader that stays inside makes G as long as it stays.
//!
//! Where there is no memory for a bag, or for the place of a writer's open one, an item that has a word
//! for it is put aside (`aside.rs`). What was put aside takes a ticket together, and is freed by
//! itself: no memory is needed to free memory.

use alloc::alloc::{Layout, handle_alloc_error};
use alloc::boxed::Box;
use core::cell::{Cell, UnsafeCell};
use core::ptr::{self, NonNull};
use core::{iter, mem};

use super::super::backing::Backing;
use super::super::grace::Grace;
use super::super::grace::pace::Pace;
use super::aside::{Aside, AsideChain};
use super::bag;
use crate::atomic::{AtomicU64, Ordering};
use crate::inherited::{self, Inherited};
use crate::mutant::{check, mutated, step};
use crate::process::local::access::Word;
use crate::process::local::word;
use crate::process::panics;
use crate::raw::Mutex;
use crate::writer::{Fresh, PerWriter, WriterOwned, try_with_index};

/// The number of items in a bag, which then is 1,016 bytes: of a size that allocators cache.
const ITEMS: usize = 123;
/// The number of bags that a writer empties which has filled one.
const BAGS: usize = 4;
/// The number of them where more than `MANY` items wait, as after a reader that was inside for long.
const MANY_BAGS: usize = 16;
const MANY: u64 = 4 * MOST;
/// A grace period begins when so many items wait for it, whatever its fence costs.
const MOST: u64 = 1 << 14;

/// What was unlinked: the address of a node. The container knows how to free it.
type Item = NonNull<()>;
type Bag = bag::Bag<Item, ITEMS>;
type Bags = bag::Bags<Item, ITEMS>;

/// What one container has unlinked and not freed.
pub(crate) struct Limbo {
    pace: Pace,
    /// The number of items in sealed bags.
    held: AtomicU64,
    /// The bags that writers are filling.
    open: PerWriter<WriterOwned<Open>>,
    sealed: Sealed,
    /// What found no memory.
    aside: Aside,
}

/// There is no memory for a bag.
struct NoMemory;

/// The bag that a writer is filling.
struct Open(Option<Box<Bag>>);

impl Fresh for Open {
    fn fresh() -> Open {
        Open(None)
    }
}

/// The bags that were filled, and their lock.
struct Sealed {
    lock: Mutex,
    inherited: Inherited,
    bags: UnsafeCell<Stored>,
}

/// What the lock is for.
struct Stored {
    bags: Bags,
    /// An empty bag.
    spare: Option<Box<Bag>>,
    /// Items that were put aside, and their ticket.
    aside: (AsideChain, u64),
}

// SAFETY: the items are addresses. What they point to is freed by the container's own function, and
// the container is `Send` or `Sync` only if its contents may be freed on other threads.
unsafe impl Send for Limbo {}
// SAFETY: as above; sealed bags are behind their lock, and open ones their writers' own.
unsafe impl Sync for Limbo {}

impl Limbo {
    pub(crate) const fn new() -> Limbo {
        Limbo {
            pace: Pace::new(),
            held: AtomicU64::new(0),
            open: PerWriter::new(),
            sealed: Sealed::new(),
            aside: Aside::new(),
        }
    }

    /// Takes an item over that was unlinked, and frees, by `free`, some of those that no reader can
    /// hold any more. Never waits for a reader. Ends the process where there is no memory.
    ///
    /// # Safety
    /// - No section of `D` that begins from now on finds the item, and it is retired once.
    /// - `free` may be called with each item that was retired in this limbo, on this thread, after
    ///   its grace period.
    #[inline]
    pub(crate) unsafe fn retire<D: Backing>(&self, item: Item, free: impl Fn(Item)) {
        if self.try_retire(item, &D::state().grace, &free).is_err() {
            handle_alloc_error(Layout::new::<Bag>());
        }
    }

    /// Does what `retire` does, also where there is no memory.
    ///
    /// # Safety
    /// As for `retire`; the item begins with an [`AsideLink`](super::aside::AsideLink), but for marks
    /// in the two lowest bits of its address.
    #[inline]
    pub(crate) unsafe fn retire_linked<D: Backing>(&self, item: Item, free: impl Fn(Item)) {
        if self.try_retire(item, &D::state().grace, &free).is_err() {
            // SAFETY: the caller's promise.
            step!(limbo_aside, unsafe { self.put_aside(item, &D::state().grace, &free) });
        }
    }

    #[inline]
    fn try_retire(&self, item: Item, grace: &Grace, free: &impl Fn(Item)) -> Result<(), NoMemory> {
        let put = |open: &mut Open| {
            let bag = open.0.as_mut()?;
            bag.push(item);
            Some(open.0.take_if(|bag| bag.is_full()))
        };
        match self.change(put)? {
            Some(None) => {}
            Some(Some(full)) => {
                self.seal(full, grace);
                self.collect(grace, false, free);
            }
            None => self.put_into_new(item, grace)?,
        }
        Ok(())
    }

    /// Puts an item into a new bag, with no change under way: an allocator may use the container.
    #[cold]
    fn put_into_new(&self, item: Item, grace: &Grace) -> Result<(), NoMemory> {
        inherited::watch();
        let spare = self.sealed.with(|stored| stored.spare.take());
        let mut new = spare.or_else(Bag::try_new).ok_or(NoMemory)?;
        new.push(item);
        let mut new = Some(new);
        // What an allocator has retired meanwhile is in a bag already: that one waits its turn. So does
        // the new one, if the thread has another place now and there is no memory for that.
        let others = self.change(|open| mem::replace(&mut open.0, new.take())).unwrap_or_else(|NoMemory| new.take());
        if let Some(bag) = others {
            self.seal(bag, grace);
        }
        Ok(())
    }

    /// Puts an item aside, and frees what may be freed: memory is short.
    ///
    /// # Safety
    /// The item begins with a link, but for marks.
    #[cold]
    #[inline(never)]
    unsafe fn put_aside(&self, item: Item, grace: &Grace, free: &impl Fn(Item)) {
        inherited::watch();
        self.pace.note_sealed(1);
        // Relaxed: a count.
        self.held.fetch_add(1, Ordering::Relaxed);
        grace.counts.unlinked.add(1);
        // SAFETY: the caller's promise.
        unsafe { self.aside.push(item) };
        self.collect(grace, true, free);
    }

    /// Seals the caller's own bag, and frees what no reader can hold any more. Never waits for a
    /// reader.
    ///
    /// # Safety
    /// As for `retire`.
    pub(crate) unsafe fn reclaim<D: Backing>(&self, free: impl Fn(Item)) {
        // (Where there is no memory for the caller's place, it has no bag.)
        if let Ok(Some(bag)) = self.change(|open| open.0.take()) {
            self.seal(bag, &D::state().grace);
        }
        self.collect(&D::state().grace, true, &free);
    }

    /// Counts the panics that a container's `free` has caught itself, because it drops several values.
    pub(crate) fn count_panics<D: Backing>(panics: u64) {
        if panics != 0 {
            D::state().grace.counts.callback_panics.add(panics);
        }
    }

    /// Returns how many items wait in sealed bags.
    fn held(&self) -> u64 {
        // Relaxed: a count.
        self.held.load(Ordering::Relaxed)
    }

    /// Frees everything: the container ends, and no reader is left.
    ///
    /// # Safety
    /// No section has an item.
    pub(crate) unsafe fn drain<D: Backing>(&mut self, free: impl Fn(Item)) {
        for open in self.open.iter_mut() {
            if let Some(mut bag) = open.get_mut().0.take() {
                bag.empty(&free);
            }
        }
        self.sealed.inherited.check(|| self.sealed.repair());
        while let Some(mut bag) = self.sealed.bags.get_mut().bags.pop_if(|_| true) {
            self.count_freed(bag.len(), &D::state().grace);
            bag.empty(&free);
        }
        let stored = self.sealed.bags.get_mut().aside.0.take();
        for mut chain in [stored, self.aside.take()] {
            while let Some(item) = chain.pop() {
                self.count_freed(1, &D::state().grace);
                free(item);
            }
        }
    }

    /// Changes the calling thread's open bag, unless there is no memory for its place.
    #[inline(always)]
    fn change<R>(&self, act: impl FnOnce(&mut Open) -> R) -> Result<R, NoMemory> {
        // SAFETY: the place of this index.
        let changed = try_with_index(|index| self.open.try_get(index).map(|own| unsafe { own.change(act) }));
        changed.flatten().ok_or(NoMemory)
    }

    /// Gives a bag a ticket, and puts it to the others.
    fn seal(&self, mut bag: Box<Bag>, grace: &Grace) {
        let items = bag.len() as u64;
        bag.ticket = grace.tickets.take();
        self.pace.note_sealed(items);
        // Relaxed: a count.
        self.held.fetch_add(items, Ordering::Relaxed);
        grace.counts.unlinked.add(items);
        self.sealed.with(|stored| stored.bags.push(bag));
    }

    /// Goes on with the grace period that the bags wait for, and frees what is in the first of them
    /// if theirs is over. What is freed does not come here again: a list of values that each retire
    /// the next would take a stack of its length.
    ///
    /// `all`: begins a grace period however few items wait, and frees all that may be freed.
    fn collect(&self, grace: &Grace, all: bool, free: &impl Fn(Item)) {
        if check!(limbo_nested, Collecting::is_under_way(self)) {
            return;
        }
        let collecting = Collecting { limbo: self, before: Cell::new(COLLECTING.get()) };
        let _ends = collecting.begin();
        let (wanted, is_aside) = self.sealed.with(|stored| {
            stored.seal_aside(&self.aside, grace);
            (stored.last_ticket(), !stored.aside.0.is_empty())
        });
        let Some(wanted) = wanted else { return };
        // Where no heavy fence is possible, the bags stay.
        self.pace.step(grace, wanted, all, MOST);
        if is_aside {
            self.free_aside(grace, free);
        }
        let bags = match all {
            true => usize::MAX,
            false if mutated!(limbo_each_frees) => 0,
            false if self.held() > MANY => MANY_BAGS,
            false => BAGS,
        };
        let is_over = |bag: &Bag| !check!(limbo_waits, !grace.tickets.is_served(bag.ticket));
        let mut empty = None;
        for _ in 0..bags {
            let take = |stored: &mut Stored| (stored.bags.pop_if(is_over), stored.keep(empty.take()));
            // What was kept is given back to the allocator with no lock held.
            let (bag, _kept) = self.sealed.with(take);
            let Some(mut bag) = bag else { return };
            self.count_freed(bag.len(), grace);
            // What panics is taken out, and the rest is gone on with.
            while panics(|| bag.empty(free)) {
                grace.counts.callback_panics.add(1);
            }
            empty = Some(bag);
        }
        drop(self.sealed.with(|stored| stored.keep(empty.take())));
    }

    /// Frees what was put aside, if its grace period is over.
    #[cold]
    #[inline(never)]
    fn free_aside(&self, grace: &Grace, free: &impl Fn(Item)) {
        let take = |stored: &mut Stored| grace.tickets.is_served(stored.aside.1).then(|| stored.aside.0.take());
        let Some(mut chain) = self.sealed.with(take) else { return };
        while let Some(item) = chain.pop() {
            self.count_freed(1, grace);
            if panics(|| free(item)) {
                grace.counts.callback_panics.add(1);
            }
        }
    }

    fn count_freed(&self, items: usize, grace: &Grace) {
        // Relaxed: a count.
        self.held.fetch_sub(items as u64, Ordering::Relaxed);
        grace.counts.unlinked.subtract(items as u64);
    }
}

impl Sealed {
    const fn new() -> Sealed {
        Sealed { lock: <Mutex>::new(), inherited: Inherited::new(), bags: UnsafeCell::new(Stored::new()) }
    }

    /// Calls `act` with the bags, which no other thread has meanwhile. `act` calls no code of
    /// users.
    fn with<R>(&self, act: impl FnOnce(&mut Stored) -> R) -> R {
        self.inherited.check(|| self.repair());
        self.lock.lock();
        // SAFETY: the lock is held.
        let result = act(unsafe { &mut *self.bags.get() });
        // SAFETY: locked above.
        unsafe { self.lock.unlock() };
        result
    }

    /// In the child of a fork: unlocks what a thread which is not there has locked, and forgets the
    /// bags that it may have been changing.
    #[cold]
    fn repair(&self) {
        inherited::watch();
        // SAFETY: the thread that had the lock is not in this process, and the child's own come by here
        // first.
        let stored = unsafe { &mut *self.bags.get() };
        if self.lock.is_locked() {
            self.lock.reset();
            mem::forget(mem::replace(stored, Stored::new()));
        }
    }
}

impl Stored {
    const fn new() -> Stored {
        Stored { bags: Bags::new(), spare: None, aside: (AsideChain::none(), 0) }
    }

    /// Gives what was put aside a ticket, unless an earlier part of it waits still.
    fn seal_aside(&mut self, aside: &Aside, grace: &Grace) {
        if self.aside.0.is_empty() && !aside.is_empty() {
            // The ticket is taken after the items: they were unlinked before.
            let chain = aside.take();
            self.aside = (chain, grace.tickets.take());
        }
    }

    /// Returns the latest ticket for which something waits.
    fn last_ticket(&self) -> Option<u64> {
        let aside = (!self.aside.0.is_empty()).then_some(self.aside.1);
        self.bags.last_ticket().max(aside)
    }

    /// Keeps an empty bag, and returns the one that was kept before.
    fn keep(&mut self, empty: Option<Box<Bag>>) -> Option<Box<Bag>> {
        empty.and_then(|bag| self.spare.replace(bag))
    }
}

word! {
    /// The calls of `collect` that are under way on this thread, the latest first.
    static COLLECTING: *const Collecting = 0
}

/// A call of `collect` that is under way. It is on the call's stack.
struct Collecting {
    limbo: *const Limbo,
    /// The call that was under way before this one on the same thread.
    before: Cell<*const Collecting>,
}

impl Collecting {
    /// Returns the thread's calls that are under way, the latest first.
    fn all<'a>() -> impl Iterator<Item = &'a Collecting> {
        // SAFETY: each takes itself out before its frame ends, and no other thread has them.
        iter::successors(unsafe { COLLECTING.get().as_ref() }, |this| unsafe { this.before.get().as_ref() })
    }

    /// Returns true if the thread is in a destructor that frees what `limbo` holds.
    fn is_under_way(limbo: &Limbo) -> bool {
        Collecting::all().any(|this| ptr::eq(this.limbo, limbo))
    }

    /// Notes the call, until what is returned is dropped.
    fn begin(&self) -> Noted<'_> {
        COLLECTING.set(self);
        Noted(self)
    }
}

/// The time in which a call is noted.
struct Noted<'a>(&'a Collecting);

impl Drop for Noted<'_> {
    /// Takes the call out. It is the latest one, but where a program runs several stacks by turns on
    /// one thread.
    fn drop(&mut self) {
        if ptr::eq(COLLECTING.get(), self.0) {
            COLLECTING.set(self.0.before.get());
        } else if let Some(later) = Collecting::all().find(|later| ptr::eq(later.before.get(), self.0)) {
            later.before.set(self.0.before.get());
        }
    }
}
