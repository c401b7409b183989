//! Where tables come from.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::host::huge;

/// Where tables come from.
///
/// # Safety
/// [`allocate`](Self::allocate) answers memory of that layout that nobody else uses until it is
/// freed.
pub unsafe trait Memory: Clone + Send + Sync {
    /// Memory, near the processors of `node` where that is given; `None` if there is none, which is
    /// no calamity: the table that is there goes on serving.
    fn allocate(&self, layout: Layout, node: Option<u32>) -> Option<NonNull<u8>>;

    /// Gives it back.
    ///
    /// # Safety
    /// `block` came from `allocate` of this or of its clone, with `layout`, and was not freed
    /// since.
    unsafe fn free(&self, block: NonNull<u8>, layout: Layout);
}

/// Rust's global allocator. With the feature `std`, Linux is asked to back what is as large as one
/// by huge pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

/// The size of a huge page, or as good.
const HUGE: usize = 2 << 20;

/// How a block is allocated: large ones begin where a huge page does.
fn placed(layout: Layout) -> Layout {
    if layout.size() < HUGE { layout } else { layout.align_to(HUGE).unwrap_or(layout) }
}

// SAFETY: the global allocator does that; no layout of ours is empty.
unsafe impl Memory for Heap {
    fn allocate(&self, layout: Layout, _: Option<u32>) -> Option<NonNull<u8>> {
        if layout.size() == 0 {
            return None;
        }
        // SAFETY: not empty.
        let block = NonNull::new(unsafe { alloc::alloc::alloc(placed(layout)) })?;
        if layout.size() >= HUGE {
            huge::ask(block, layout.size());
        }
        Some(block)
    }

    unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { alloc::alloc::dealloc(block.as_ptr(), placed(layout)) };
    }
}
