//! The limbo of a container: what its writers have unlinked, until no reader can hold it. The
//! writers themselves free it, some dozens of items at a time: nothing is allocated for an item, no
//! worker is woken, and nothing that a container holds must be `'static`.
//!
//! Called by `collect/`; calls `pace.rs` for grace periods in steps (`grace/step.rs`), so that no
//! writer ever waits for a reader.
//!
//! A writer puts an item into its open bag, which is its own. A full bag takes a ticket and goes to
//! the end of the container's list; then the writer goes on with the grace period by one step, and
//! frees the bags at the head of the list whose grace period is over. What is freed runs with no
//! lock held, so it may use the container, and retire.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::mem;
use core::ptr::NonNull;

use super::backing::Backing;
use super::bag;
use super::grace::Grace;
use super::pace::Pace;
use crate::atomic::{AtomicU64, Ordering};
use crate::inherited::{self, Inherited};
use crate::mutant::check;
use crate::process::panics;
use crate::raw::Mutex;
use crate::writer::{Fresh, Own, PerWriter, with_index};

/// The number of items in a bag, which then is 1,016 bytes: of a size that allocators cache.
const ITEMS: usize = 123;
/// The number of bags that are emptied at a time: more than are filled meanwhile.
const BAGS: usize = 4;
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
    open: PerWriter<Own<Open>>,
    sealed: Sealed,
}

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
    /// True: a thread is freeing bags.
    is_collecting: bool,
}

// SAFETY: the items are addresses. What they point to is freed by the container's own function, and
// the container is `Send` or `Sync` only if its contents may be freed on other threads.
unsafe impl Send for Limbo {}
// SAFETY: as above; sealed bags are behind their lock, and open ones their writers' own.
unsafe impl Sync for Limbo {}

impl Limbo {
    pub(crate) const fn new() -> Limbo {
        Limbo { pace: Pace::new(), held: AtomicU64::new(0), open: PerWriter::new(), sealed: Sealed::new() }
    }

    /// Takes an item over that was unlinked, and frees, by `free`, some of those that no reader can
    /// hold any more. Never waits for a reader.
    ///
    /// # Safety
    /// - No section of `D` that begins from now on finds the item, and it is retired once.
    /// - `free` may be called with each item that was retired in this limbo, on this thread, after
    ///   its grace period.
    #[inline]
    pub(crate) unsafe fn retire<D: Backing>(&self, item: Item, free: impl Fn(Item)) {
        let put = |open: &mut Open| {
            let bag = open.0.as_mut()?;
            bag.push(item);
            Some(open.0.take_if(|bag| bag.is_full()))
        };
        match self.change(put) {
            Some(None) => {}
            Some(Some(full)) => {
                self.seal(full, &D::state().grace);
                self.collect(&D::state().grace, false, &free);
            }
            None => self.put_into_new(item, &D::state().grace),
        }
    }

    /// Puts an item into a new bag, with no change under way: an allocator may use the container.
    #[cold]
    fn put_into_new(&self, item: Item, grace: &Grace) {
        inherited::watch();
        let spare = self.sealed.with(|stored| stored.spare.take());
        let mut new = spare.unwrap_or_else(Bag::new);
        new.push(item);
        // What an allocator has retired meanwhile is in a bag already: that one waits its turn.
        let others = self.change(|open| open.0.replace(new));
        if let Some(bag) = others {
            self.seal(bag, grace);
        }
    }

    /// Seals the caller's own bag, and frees what no reader can hold any more. Never waits for a
    /// reader.
    ///
    /// # Safety
    /// As for `retire`.
    pub(crate) unsafe fn reclaim<D: Backing>(&self, free: impl Fn(Item)) {
        if let Some(bag) = self.change(|open| open.0.take()) {
            self.seal(bag, &D::state().grace);
        }
        self.collect(&D::state().grace, true, &free);
    }

    /// Returns how many items wait in sealed bags.
    #[allow(dead_code)]
    pub(crate) fn held(&self) -> u64 {
        // Relaxed: a count.
        self.held.load(Ordering::Relaxed)
    }

    /// Frees everything: the container ends, and no reader is left.
    ///
    /// # Safety
    /// No section has an item.
    pub(crate) unsafe fn drain(&mut self, free: impl Fn(Item)) {
        for open in self.open.iter_mut() {
            if let Some(mut bag) = open.get_mut().0.take() {
                bag.empty(&free);
            }
        }
        self.sealed.inherited.check(|| self.sealed.repair());
        let stored = self.sealed.bags.get_mut();
        while let Some(mut bag) = stored.bags.pop_if(|_| true) {
            bag.empty(&free);
        }
    }

    /// Changes the calling thread's open bag.
    #[inline(always)]
    fn change<R>(&self, act: impl FnOnce(&mut Open) -> R) -> R {
        // SAFETY: the place of this index.
        with_index(|index| unsafe { self.open.get(index).change(act) })
    }

    /// Gives a bag a ticket, and puts it to the others.
    fn seal(&self, mut bag: Box<Bag>, grace: &Grace) {
        let items = bag.len() as u64;
        bag.ticket = grace.tickets.take();
        self.pace.note_sealed(items);
        // Relaxed: a count.
        self.held.fetch_add(items, Ordering::Relaxed);
        self.sealed.with(|stored| stored.bags.push(bag));
    }

    /// Goes on with the grace period that the bags wait for, and frees what is in the first of them
    /// if theirs is over. What is freed does not come here again.
    ///
    /// `all`: begins a grace period however few items wait, and frees all that may be freed.
    fn collect(&self, grace: &Grace, all: bool, free: &impl Fn(Item)) {
        let wanted = self.sealed.with(|stored| {
            let wanted = stored.bags.last_ticket().filter(|_| !stored.is_collecting)?;
            stored.is_collecting = true;
            Some(wanted)
        });
        let Some(wanted) = wanted else { return };
        let _ends = Collecting(&self.sealed);
        // Where no heavy fence is possible, the step panics: the bags stay.
        if panics(|| self.pace.step(grace, wanted, all, MOST)) {
            return;
        }
        let bags = if all { usize::MAX } else { BAGS };
        for _ in 0..bags {
            let is_over = |bag: &Bag| !check!(limbo_waits, !grace.tickets.is_served(bag.ticket));
            let Some(mut bag) = self.sealed.with(|stored| stored.bags.pop_if(is_over)) else { return };
            // Relaxed: a count.
            self.held.fetch_sub(bag.len() as u64, Ordering::Relaxed);
            // What panics is taken out, and the rest is gone on with.
            while panics(|| bag.empty(free)) {
                grace.counts.callback_panics.add(1);
            }
            drop(self.sealed.with(|stored| stored.spare.replace(bag)));
        }
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
        stored.is_collecting = false;
    }
}

impl Stored {
    const fn new() -> Stored {
        Stored { bags: Bags::new(), spare: None, is_collecting: false }
    }
}

/// The time in which a thread frees bags.
struct Collecting<'a>(&'a Sealed);

impl Drop for Collecting<'_> {
    fn drop(&mut self) {
        self.0.with(|stored| stored.is_collecting = false);
    }
}
