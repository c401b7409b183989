//! A table of buckets: a power of two of them in one allocation, which is freed with its space or
//! its engine and not before. Made by `engine`, `space` and `migrate`; `locked` finds a key's
//! bucket in it.

pub(crate) mod bucket;
pub(crate) mod key;
pub(crate) mod lock_word;
pub(crate) mod locked;
pub(crate) mod migrate;
pub(crate) mod plan;
pub(crate) mod resize;
mod select;
pub(crate) mod space;
pub(crate) mod wait_list;
pub(crate) mod word;

use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::atomic::{AtomicPtr, Ordering};
use crate::table::bucket::Bucket;
use crate::table::lock_word::LockWord;
use crate::table::plan::Plan;
use crate::{Host, Memory};

/// The size of a cache line, in bytes.
const LINE: usize = 64;

/// The place of a table's lock words: all that a wake needs to find one.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    lock_words: NonNull<u8>,
    /// The distance of two lock words in bytes, as a power of two.
    shift: u32,
    mask: usize,
    _table: PhantomData<&'a LockWord>,
}

impl<'a> View<'a> {
    /// Returns the lock word with that number, modulo the length of the table.
    #[inline(always)]
    pub(crate) fn lock_word(self, number: usize) -> &'a LockWord {
        // SAFETY: the mask keeps it within the table.
        let lock_word = unsafe { self.lock_words.add((number & self.mask) << self.shift) };
        // SAFETY: initialised, and freed with the table only.
        unsafe { lock_word.cast().as_ref() }
    }
}

/// A table's head, at the beginning of its allocation.
pub(crate) struct Table<H: Host> {
    /// The table itself, as it came from the memory: the pointer by which it is freed.
    block: NonNull<Table<H>>,
    view: View<'static>,
    buckets: NonNull<Bucket<H>>,
    plan: Plan,
    /// The larger table that takes over this one's waiters. Set once.
    next: AtomicPtr<Table<H>>,
    /// In a node's first table: the one that serves now; null if it is this one.
    latest: AtomicPtr<Table<H>>,
    /// The smaller table that this one replaced.
    older: Option<NonNull<Table<H>>>,
}

// SAFETY: buckets may be sent and shared; the pointers are to memory that the owner of the table
// owns.
unsafe impl<H: Host> Send for Table<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Table<H> where H::Task: Send {}

/// The layout of a table's allocation, with the offsets of its parts.
struct Parts {
    layout: Layout,
    buckets: usize,
    lock_words: usize,
    stride: usize,
}

impl<H: Host> Table<H> {
    /// Returns the layout of a table; `None` for lengths that no memory has.
    fn parts(plan: &Plan) -> Option<Parts> {
        // A power of two, also where a lock word is larger, as in a model.
        let size = size_of::<LockWord>().next_power_of_two();
        let stride = if plan.dense { size } else { size.max(LINE) };
        let (layout, buckets) = Layout::new::<Table<H>>().extend(Layout::array::<Bucket<H>>(plan.len).ok()?).ok()?;
        let lock_words = Layout::from_size_align(stride.checked_mul(plan.len)?, LINE).ok()?;
        let (layout, lock_words) = layout.extend(lock_words).ok()?;
        Some(Parts { layout, buckets, lock_words, stride })
    }

    /// Makes a table without waiters; `None` if there is no memory. `older` is the table that it
    /// replaces.
    pub(crate) fn allocate(
        memory: &H::Memory,
        plan: Plan,
        older: Option<NonNull<Table<H>>>,
    ) -> Option<NonNull<Table<H>>> {
        let parts = Self::parts(&plan)?;
        let block = memory.allocate(parts.layout, plan.node)?;
        let table = block.cast::<Table<H>>();
        // SAFETY: within the block.
        let buckets = unsafe { block.add(parts.buckets) }.cast::<Bucket<H>>();
        // SAFETY: as above.
        let lock_words = unsafe { block.add(parts.lock_words) };
        // SAFETY: within the block, which begins with the table's head.
        let plan_place = unsafe { block.add(core::mem::offset_of!(Table<H>, plan)) }.cast::<Plan>();
        for i in 0..plan.len {
            // SAFETY: as above.
            let lock_word = unsafe { lock_words.add(i * parts.stride) }.cast::<LockWord>();
            // SAFETY: ours, aligned, and nothing is there yet.
            unsafe { lock_word.write(LockWord::new()) };
            // SAFETY: within the block.
            let bucket = unsafe { buckets.add(i) };
            // SAFETY: ours, aligned, and nothing is there yet.
            unsafe { bucket.write(Bucket::new(plan_place, lock_word)) };
        }
        let nowhere = || AtomicPtr::new(core::ptr::null_mut());
        let view = View { lock_words, shift: parts.stride.trailing_zeros(), mask: plan.len - 1, _table: PhantomData };
        let head = Table { block: table, view, buckets, plan, next: nowhere(), latest: nowhere(), older };
        // SAFETY: as above.
        unsafe { table.write(head) };
        Some(table)
    }

    /// Frees a table and all that it replaced.
    ///
    /// # Safety
    /// The table came from `allocate` with this memory, or is the [`block`](Self::block) of such a
    /// one, and no thread uses it.
    pub(crate) unsafe fn free(table: NonNull<Table<H>>, memory: &H::Memory) {
        let mut table = Some(table);
        while let Some(current) = table {
            // SAFETY: the caller's promise.
            let head = unsafe { current.read() };
            for i in 0..head.plan.len {
                // SAFETY: one of its buckets.
                let bucket = unsafe { head.buckets.add(i) };
                // SAFETY: no thread uses it. Waiters that are in it still are futures that were
                // leaked, which no thread touches.
                unsafe { bucket.drop_in_place() };
                // SAFETY: one of its lock words.
                let lock_word = unsafe { head.view.lock_words.add(i << head.view.shift) }.cast::<LockWord>();
                // SAFETY: no thread uses it.
                unsafe { lock_word.drop_in_place() };
            }
            if let Some(parts) = Self::parts(&head.plan) {
                // SAFETY: the layout that it was allocated with.
                unsafe { memory.free(current.cast(), parts.layout) };
            }
            table = head.older;
        }
    }

    /// Returns the pointer that [`free`](Self::free) takes: one made of a reference would not do.
    pub(crate) fn block(&self) -> NonNull<Table<H>> {
        self.block
    }

    pub(crate) fn len(&self) -> usize {
        self.plan.len
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn bytes(&self) -> usize {
        Self::parts(&self.plan).map_or(0, |parts| parts.layout.size())
    }

    pub(crate) fn older(&self) -> Option<&Table<H>> {
        // SAFETY: freed with this one.
        self.older.map(|older| unsafe { older.as_ref() })
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> View<'_> {
        self.view
    }

    /// Returns the lock word with that number, modulo the length of the table.
    #[inline]
    pub(crate) fn lock_word(&self, number: usize) -> &LockWord {
        self.view.lock_word(number)
    }

    /// Returns the bucket with that number, modulo the length of the table.
    #[inline]
    pub(crate) fn bucket(&self, number: usize) -> &Bucket<H> {
        // SAFETY: the mask keeps it within the table.
        let bucket = unsafe { self.buckets.add(number & self.view.mask) };
        // SAFETY: initialised, and freed with the table only.
        unsafe { bucket.as_ref() }
    }

    pub(crate) fn buckets(&self) -> impl Iterator<Item = &Bucket<H>> {
        (0..self.len()).map(|i| self.bucket(i))
    }

    /// Returns the table that takes over this one's waiters, if there is one.
    pub(crate) fn next(&self) -> Option<&Table<H>> {
        // Acquire: the table's contents; partner: `set_next`.
        let next = self.next.load(Ordering::Acquire);
        // SAFETY: null, or a table that is freed together with this one.
        unsafe { next.as_ref() }
    }

    /// Returns the table that takes over, also where waiters are still here; this table if none
    /// does.
    pub(crate) fn newest(&self) -> &Table<H> {
        self.next().unwrap_or(self)
    }

    pub(crate) fn set_next(&self, next: NonNull<Table<H>>) {
        // Release: the table's contents; partner: `next`.
        self.next.store(next.as_ptr(), Ordering::Release);
    }

    /// Returns the table that serves in the place of a node's first table, this one.
    #[inline]
    pub(crate) fn latest(&self) -> &Table<H> {
        // Acquire: the table's contents; partner: `set_latest`.
        let latest = self.latest.load(Ordering::Acquire);
        // SAFETY: null, or a table that is freed together with this one.
        unsafe { latest.as_ref() }.unwrap_or(self)
    }

    pub(crate) fn set_latest(&self, latest: NonNull<Table<H>>) {
        // Release: the table's contents; partner: `latest`.
        self.latest.store(latest.as_ptr(), Ordering::Release);
    }
}
