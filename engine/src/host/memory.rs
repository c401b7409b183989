//! The memory that tables are allocated from. Called with no lock held.

use core::alloc::Layout;
use core::ptr::NonNull;

use crate::host::huge;

/// The memory that the tables of an engine and of its spaces are allocated from. [`Heap`] is Rust's
/// global allocator; a kernel implements this trait over its own.
///
/// The engine allocates when it is made, when a table is made or enlarged, and for the arrays that
/// `futex_waitv` (of more than 4 words) and membarrier work on: never for another waiter. No lock is
/// held then. Where there is no memory the table that is there goes on serving, and membarrier does
/// without; only [`Engine::new`](crate::Engine::new) and the decoder of `futex_waitv` report it.
///
/// ```
/// use leeward_engine::{Heap, Memory};
/// use std::{alloc::Layout, ptr::NonNull};
///
/// /// The heap, for blocks up to a limit.
/// #[derive(Clone)]
/// struct Limited(usize);
///
/// // SAFETY: the blocks are the heap's.
/// unsafe impl Memory for Limited {
///     fn allocate(&self, layout: Layout, node: Option<u32>) -> Option<NonNull<u8>> {
///         if layout.size() > self.0 { None } else { Heap.allocate(layout, node) }
///     }
///     unsafe fn free(&self, block: NonNull<u8>, layout: Layout) {
///         // SAFETY: the caller's promise.
///         unsafe { Heap.free(block, layout) };
///     }
/// }
///
/// let (memory, small) = (Limited(4096), Layout::new::<[u8; 64]>());
/// let block = memory.allocate(small, None).unwrap();
/// // SAFETY: the block came from there, and is not used any more.
/// unsafe { memory.free(block, small) };
/// assert!(memory.allocate(Layout::new::<[u8; 8192]>(), None).is_none());
/// ```
///
/// # Safety
/// [`allocate`](Self::allocate) returns a block of that layout, which nothing else uses until this
/// value or a clone of it has [freed](Self::free) it.
pub unsafe trait Memory: Clone + Send + Sync {
    /// Allocates a block, near the processors of `node` where that is given. `None` says that there
    /// is no memory; the table that is there then goes on serving.
    fn allocate(&self, layout: Layout, node: Option<u32>) -> Option<NonNull<u8>>;

    /// Frees a block.
    ///
    /// # Safety
    /// `block` came from `allocate` of this value or of a clone of it, with `layout`, and was not
    /// freed since.
    unsafe fn free(&self, block: NonNull<u8>, layout: Layout);
}

/// Rust's global allocator as [`Memory`]. It ignores nodes. With the feature `std` on Linux, blocks
/// of 2 MiB and more are aligned to 2 MiB, and the system is asked to back them by huge pages.
///
/// ```
/// use leeward_engine::{Heap, Memory};
/// use std::alloc::Layout;
///
/// let layout = Layout::new::<[u64; 8]>();
/// let block = Heap.allocate(layout, None).unwrap();
/// assert!(block.cast::<u64>().is_aligned());
/// // SAFETY: the block came from there with this layout, and is not used any more.
/// unsafe { Heap.free(block, layout) };
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Heap;

/// The size from which a block is aligned to huge pages: that of a huge page on most systems.
const HUGE: usize = 2 << 20;

/// Returns the layout with which a block is allocated: large ones begin where a huge page does.
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
