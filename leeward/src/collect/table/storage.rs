//! The memory of a table: lines, links to their overflow lines, and the words of a move.

use alloc::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use core::ptr::{self, NonNull};

use super::line::{Line, Tags};
use super::zeroed;
use crate::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::rcu::Head;

/// The number of bytes between two lines.
const STRIDE: usize = size_of::<Line>();

/// There is no memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoMemory;

/// The lines of one size of the map. Nothing in it is ever taken away while readers may be inside:
/// a larger or smaller table follows it, and it is freed after a grace period.
pub(crate) struct Table {
    /// The number of lines, which is a power of two, less one; in bytes.
    pub(super) mask: usize,
    pub(super) lines: NonNull<Line>,
    /// For each line the first of its overflow lines.
    pub(super) links: NonNull<AtomicPtr<Overflow>>,
    /// The table that the nodes move to; null: none.
    pub(super) next: AtomicPtr<Table>,
    /// The units of the move that threads have taken upon them.
    pub(super) cursor: AtomicUsize,
    /// The units that were moved.
    pub(super) moved: AtomicUsize,
    /// What was allocated for lines and links; null: static.
    memory: *mut u8,
    /// The owner's, once the table was replaced: by what a callback finds it.
    #[cfg_attr(not(feature = "c"), allow(dead_code))]
    pub(crate) head: Head,
}

// SAFETY: lines and links are atomics, and the other words do not change.
unsafe impl Sync for Table {}

/// Seven more slots for the nodes of a line.
#[repr(C)]
pub(super) struct Overflow {
    pub(super) line: Line,
    pub(super) next: AtomicPtr<Overflow>,
    /// In the first overflow line of a line that a move fills: the one that has room, or is full and is
    /// followed by one that has; null: this one. It lies in what would be padding.
    filling: AtomicPtr<Overflow>,
}

impl Table {
    /// Makes the table that a new map has: one line, to which nothing is added.
    pub(super) const fn fixed(lines: NonNull<Line>, links: NonNull<AtomicPtr<Overflow>>, words: Words) -> Table {
        let Words(next, cursor, moved) = words;
        Table { mask: 0, lines, links, next, cursor, moved, memory: ptr::null_mut(), head: Head::new() }
    }

    /// Makes a table of `count` lines, a power of two. Large ones are zeroed by the kernel, a page
    /// at a time when it is first touched.
    pub(super) fn allocate(count: usize) -> Result<NonNull<Table>, NoMemory> {
        let (layout, links) = layout(count)?;
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc_zeroed(layout) };
        if memory.is_null() {
            return Err(NoMemory);
        }
        // SAFETY: `layout` has room for the padding.
        let first = unsafe { memory.add(memory.align_offset(STRIDE)) };
        // SAFETY: as above; the links follow the lines.
        let links = unsafe { first.add(links) };
        zeroed::make(first.cast(), count, Line::new);
        zeroed::make(links.cast(), count, || AtomicPtr::new(ptr::null_mut::<Overflow>()));
        // SAFETY: the layout is not empty.
        let table = unsafe { alloc(Layout::new::<Table>()) }.cast::<Table>();
        let Some(table) = NonNull::new(table) else {
            // SAFETY: allocated above with this layout.
            unsafe { dealloc(memory, layout) };
            return Err(NoMemory);
        };
        // SAFETY: not null: within what was allocated.
        let lines = unsafe { NonNull::new_unchecked(first.cast()) };
        // SAFETY: as above.
        let links = unsafe { NonNull::new_unchecked(links.cast()) };
        let Words(next, cursor, moved) = Words::new();
        let whole = Table { mask: (count - 1) * STRIDE, lines, links, next, cursor, moved, memory, head: Head::new() };
        // SAFETY: allocated above.
        unsafe { table.write(whole) };
        Ok(table)
    }

    /// Frees the table, and not the nodes.
    ///
    /// # Safety
    /// It was made by `allocate`, and no thread uses it.
    pub(crate) unsafe fn free(table: NonNull<Table>) {
        // SAFETY: the caller's promise.
        let this = unsafe { table.as_ref() };
        for index in 0..this.count() {
            let mut next = this.link(index).load(Ordering::Relaxed);
            while let Some(overflow) = NonNull::new(next) {
                // SAFETY: made by `Overflow::allocate`, and alive until here.
                // Relaxed, here and above: no other thread uses the table.
                next = unsafe { overflow.as_ref() }.next.load(Ordering::Relaxed);
                // SAFETY: as above.
                unsafe { Overflow::free(overflow) };
            }
        }
        if let Ok((layout, _)) = layout(this.count()) {
            // SAFETY: allocated with this layout.
            unsafe { dealloc(this.memory, layout) };
        }
        // SAFETY: allocated with this layout.
        unsafe { dealloc(table.as_ptr().cast(), Layout::new::<Table>()) };
    }

    /// Returns true of the table that a new map has.
    #[inline]
    pub(super) fn is_fixed(&self) -> bool {
        self.memory.is_null()
    }

    /// Returns the number of lines.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.mask / STRIDE + 1
    }

    /// Returns the size of lines and links.
    pub(crate) fn bytes(&self) -> usize {
        self.count() * (STRIDE + size_of::<AtomicPtr<Overflow>>())
    }

    /// Returns the line of nodes with this hash.
    #[inline(always)]
    pub(super) fn line(&self, hash: u64) -> &Line {
        let place = (hash as usize).wrapping_mul(STRIDE) & self.mask;
        // SAFETY: the mask keeps the address within the lines.
        let line = unsafe { self.lines.byte_add(place) };
        // SAFETY: as above; lines live as long as the table.
        unsafe { line.as_ref() }
    }

    /// Returns the index of the line of nodes with this hash.
    #[inline]
    pub(super) fn index(&self, hash: u64) -> usize {
        hash as usize & (self.count() - 1)
    }

    /// Returns the link to the first overflow line of the line `index`.
    #[inline]
    pub(super) fn link(&self, index: usize) -> &AtomicPtr<Overflow> {
        // SAFETY: callers have indices below the number of lines.
        let link = unsafe { self.links.add(index) };
        // SAFETY: as above; links live as long as the table.
        unsafe { link.as_ref() }
    }

    /// Returns the next table, if the nodes move.
    #[inline]
    pub(super) fn next(&self) -> Option<&Table> {
        // SAFETY: null, or whole when it was published, and freed after this one.
        unsafe { self.next_pointer().as_ref() }
    }

    /// Returns the next table, or null, as its allocation returned it: by this pointer it may be freed.
    #[inline]
    pub(super) fn next_pointer(&self) -> *mut Table {
        // Acquire: partner of the release in `resize.rs`: the table, whole.
        self.next.load(Ordering::Acquire)
    }
}

/// The words of a move, of a new table.
pub(super) struct Words(AtomicPtr<Table>, AtomicUsize, AtomicUsize);

impl Words {
    crate::atomic::const_fn! {
        pub(super) fn new() -> Words {
            Words(AtomicPtr::new(ptr::null_mut()), AtomicUsize::new(0), AtomicUsize::new(0))
        }
    }
}

/// Returns the layout of `count` lines and their links, and where the links begin. The alignment is
/// the allocator's usual one, with which it need not clear what the kernel gives it cleared.
fn layout(count: usize) -> Result<(Layout, usize), NoMemory> {
    let lines = count.checked_mul(STRIDE).ok_or(NoMemory)?;
    let links = count.checked_mul(size_of::<AtomicPtr<Overflow>>()).ok_or(NoMemory)?;
    let size = lines.checked_add(links).and_then(|size| size.checked_add(STRIDE)).ok_or(NoMemory)?;
    Ok((Layout::from_size_align(size, 16).map_err(|_| NoMemory)?, lines))
}

impl Overflow {
    /// Makes a line without nodes.
    pub(super) fn allocate() -> Result<NonNull<Overflow>, NoMemory> {
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(Layout::new::<Overflow>()) };
        let overflow = NonNull::new(memory.cast::<Overflow>()).ok_or(NoMemory)?;
        let (next, filling) = (AtomicPtr::new(ptr::null_mut()), AtomicPtr::new(ptr::null_mut()));
        let new = Overflow { line: Line::new(), next, filling };
        // SAFETY: allocated above.
        unsafe { overflow.write(new) };
        Ok(overflow)
    }

    /// Makes it a line without nodes again, which a move begins to fill. The caller has it alone.
    pub(super) fn renew(&self) {
        self.line.prepare(Tags::none());
        // Relaxed, here and below: the lock of the line that moves orders those that fill.
        self.filling.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Returns the line that is being filled, of those that begin with this one.
    pub(super) fn filling(&self) -> &Overflow {
        // SAFETY: null, or a line behind this one, which is freed with the table.
        unsafe { self.filling.load(Ordering::Relaxed).as_ref() }.unwrap_or(self)
    }

    /// Says that `line`, which is behind this one, is being filled.
    pub(super) fn set_filling(&self, line: &Overflow) {
        self.filling.store(ptr::from_ref(line).cast_mut(), Ordering::Relaxed);
    }

    /// # Safety
    /// It was made by `allocate`, and no thread uses it.
    unsafe fn free(overflow: NonNull<Overflow>) {
        // SAFETY: the caller's promise.
        unsafe { dealloc(overflow.as_ptr().cast(), Layout::new::<Overflow>()) };
    }
}
