//! A table of buckets: one allocation, a power of two of them, never freed before its space or its engine is.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::atomic::{AtomicPtr, Ordering};
use crate::bucket::Bucket;
use crate::{Host, Memory};

/// The rank of the tables that all spaces share. Private ones have higher ones: a larger table a higher one.
pub(crate) const GLOBAL: u32 = 0;

/// The head of a table.
pub(crate) struct Table<H: Host> {
    buckets: NonNull<Bucket<H>>,
    mask: usize,
    rank: u32,
    /// The larger one that takes over this one's waiters. Set once.
    next: AtomicPtr<Table<H>>,
    /// The smaller one that this one replaced.
    older: Option<NonNull<Table<H>>>,
}

// SAFETY: buckets may be sent and shared; the pointers are to memory that the owner of the table owns.
unsafe impl<H: Host> Send for Table<H> where H::Task: Send {}
// SAFETY: as above.
unsafe impl<H: Host> Sync for Table<H> where H::Task: Send {}

impl<H: Host> Table<H> {
    /// The layout of a table, and where its buckets begin; `None` for lengths that no memory has.
    fn layout(len: usize) -> Option<(Layout, usize)> {
        let buckets = Layout::array::<Bucket<H>>(len).ok()?;
        Layout::new::<Table<H>>().extend(buckets).ok()
    }

    /// A table of `len` buckets, a power of two.
    pub(crate) fn allocate(
        memory: &H::Memory,
        len: usize,
        node: Option<u32>,
        rank: u32,
        older: Option<NonNull<Table<H>>>,
    ) -> Option<NonNull<Table<H>>> {
        let (layout, offset) = Self::layout(len)?;
        let block = memory.allocate(layout, node)?;
        // SAFETY: within the block.
        let buckets = unsafe { block.add(offset) }.cast::<Bucket<H>>();
        for i in 0..len {
            // SAFETY: within the block.
            let place = unsafe { buckets.add(i) };
            // SAFETY: ours, aligned, and nothing is there yet.
            unsafe { place.write(Bucket::new(rank)) };
        }
        let table = block.cast::<Table<H>>();
        let head = Table { buckets, mask: len - 1, rank, next: AtomicPtr::new(core::ptr::null_mut()), older };
        // SAFETY: as above.
        unsafe { table.write(head) };
        Some(table)
    }

    /// Frees it and all that it replaced.
    ///
    /// # Safety
    /// It came from `allocate` with this memory, and nobody uses it.
    pub(crate) unsafe fn free(table: NonNull<Table<H>>, memory: &H::Memory) {
        let mut table = Some(table);
        while let Some(this) = table {
            // SAFETY: the caller's promise.
            let head = unsafe { this.read() };
            for i in 0..=head.mask {
                // SAFETY: one of its buckets.
                let bucket = unsafe { head.buckets.add(i) };
                // SAFETY: nobody uses it. Waiters that are in it still are futures that were leaked, which nobody touches.
                unsafe { bucket.drop_in_place() };
            }
            if let Some((layout, _)) = Self::layout(head.mask + 1) {
                // SAFETY: the layout that it was allocated with.
                unsafe { memory.free(this.cast(), layout) };
            }
            table = head.older;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.mask + 1
    }

    pub(crate) fn rank(&self) -> u32 {
        self.rank
    }

    pub(crate) fn bytes(&self) -> usize {
        Self::layout(self.len()).map_or(0, |(layout, _)| layout.size())
    }

    pub(crate) fn older(&self) -> Option<&Table<H>> {
        // SAFETY: freed with this one.
        self.older.map(|older| unsafe { older.as_ref() })
    }

    /// The bucket with that number, of any number.
    #[inline]
    pub(crate) fn bucket(&self, number: usize) -> &Bucket<H> {
        // SAFETY: the mask keeps it within the table.
        let bucket = unsafe { self.buckets.add(number & self.mask) };
        // SAFETY: initialised, and freed with the table only.
        unsafe { bucket.as_ref() }
    }

    pub(crate) fn buckets(&self) -> impl Iterator<Item = &Bucket<H>> {
        (0..self.len()).map(|i| self.bucket(i))
    }

    /// The table that takes over this one's waiters.
    pub(crate) fn next(&self) -> Option<&Table<H>> {
        // Acquire: the table's contents; partner: `set_next`.
        let next = self.next.load(Ordering::Acquire);
        // SAFETY: null, or a table that is freed together with this one.
        unsafe { next.as_ref() }
    }

    pub(crate) fn set_next(&self, next: NonNull<Table<H>>) {
        // Release: the table's contents; partner: `next`.
        self.next.store(next.as_ptr(), Ordering::Release);
    }
}
