//! The memory of the model's tables: a block of numbers in the caller's frame, given out in order and
//! had back when all of it was freed. There is no allocator below this crate.

use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use leeward_engine::Memory;

/// How many bytes there are: a small engine and the table of one space need less than a third.
const SIZE: usize = 32 * 1024;

/// Memory for one model after another.
#[repr(align(128))]
pub(super) struct Arena {
    bytes: UnsafeCell<[u8; SIZE]>,
    /// How many bytes are given out, from the first on.
    used: AtomicUsize,
    /// How many blocks are in use.
    blocks: AtomicUsize,
}

// SAFETY: no two blocks overlap, and the counts are atomic.
unsafe impl Sync for Arena {}

impl Arena {
    pub(super) const fn new() -> Arena {
        Arena { bytes: UnsafeCell::new([0; SIZE]), used: AtomicUsize::new(0), blocks: AtomicUsize::new(0) }
    }

    /// Begins anew: all blocks have been freed.
    pub(super) fn begin(&mut self) {
        assert_eq!(*self.blocks.get_mut(), 0, "a model is still there");
        *self.used.get_mut() = 0;
    }
}

// SAFETY: a block is given out once between two calls of `begin`, which borrows the arena alone.
unsafe impl Memory for &Arena {
    fn allocate(&self, layout: Layout, _: Option<u32>) -> Option<NonNull<u8>> {
        let start = self.bytes.get().cast::<u8>();
        let end_of = |used: usize| {
            let from = used + start.wrapping_add(used).align_offset(layout.align());
            from.checked_add(layout.size()).filter(|end| *end <= SIZE).map(|end| (from, end))
        };
        // Relaxed: the count alone says whose a block is; its contents are the caller's to write first.
        let used = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(end_of(used)?.1)).ok()?;
        let (from, _) = end_of(used)?;
        // Relaxed: `begin` reads it with the arena borrowed alone.
        self.blocks.fetch_add(1, Ordering::Relaxed);
        NonNull::new(start.wrapping_add(from))
    }

    unsafe fn free(&self, _: NonNull<u8>, _: Layout) {
        // Relaxed: as in `allocate`.
        self.blocks.fetch_sub(1, Ordering::Relaxed);
    }
}
