//! Memory for nodes of one type. Small nodes lie side by side in chunks, which are the container's
//! until it ends: they take no header of the allocator's, and neighbours in time are neighbours in
//! memory. Each writer has free nodes of its own, and exchanges them with others a batch at a time.
//!
//! Large nodes are the allocator's, one by one; a writer keeps few of them.
//!
//! Magazines and their depot are those of J. Bonwick and J. Adams, "Magazines and Vmem", 2001.

use alloc::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem;
use core::ptr::{self, NonNull};

use super::fork_lock::ForkLock;
use crate::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::futex::{Private, Timeout};
use crate::writer::{Fresh, PerWriter, WriterOwned, with_index};

/// The number of nodes that a writer exchanges at a time.
const BATCH: usize = 128;
/// The size in bytes up to which nodes lie in chunks.
const SMALL: usize = 128;
/// The number of bytes of large nodes that a writer keeps.
const KEPT: usize = 1 << 16;
/// The size in bytes of the largest chunk.
const CHUNK: usize = 1 << 14;
/// The number of nodes in a container's first chunk.
const FIRST: usize = 8;

/// The memory of nodes of type `T`, which has a size.
pub(super) struct Pool<T> {
    free: PerWriter<WriterOwned<Free>>,
    depot: Depot,
    nodes: PhantomData<*const T>,
}

// SAFETY: free memory is nobody's.
unsafe impl<T> Send for Pool<T> {}
// SAFETY: each writer changes its own lists, and the depot is behind its lock.
unsafe impl<T> Sync for Pool<T> {}

/// The first word of a free node: the next one in its list.
struct Link(*mut Link);

/// A list of free nodes.
struct List {
    first: *mut Link,
    last: *mut Link,
    length: usize,
}

// SAFETY: free memory is nobody's.
unsafe impl Send for List {}

/// What a writer has: a list that it takes from and adds to, and a full one, so that a writer that
/// takes and adds by turns does not go to the depot each time.
struct Free {
    open: List,
    full: List,
}

/// What no writer has.
struct Depot {
    lock: ForkLock<Private>,
    /// Free nodes, in one list. Whole at every instruction of a thread that has the lock, so that
    /// the child of a fork may go on with it: what that thread was giving or taking is lost to it.
    nodes: UnsafeCell<*mut Link>,
    /// The chunk that was made last.
    chunks: AtomicPtr<Chunk>,
    /// The number of nodes in the next chunk.
    next: AtomicUsize,
}

/// The beginning of a chunk, in front of its nodes.
struct Chunk {
    /// The chunk that was made before it.
    before: *mut Chunk,
    layout: Layout,
}

impl List {
    const NONE: List = List { first: ptr::null_mut(), last: ptr::null_mut(), length: 0 };

    #[inline]
    fn pop(&mut self) -> Option<NonNull<Link>> {
        let first = NonNull::new(self.first)?;
        // SAFETY: in the list, so free memory with a link in it.
        self.first = unsafe { first.as_ref() }.0;
        self.length -= 1;
        Some(first)
    }

    #[inline]
    fn push(&mut self, node: NonNull<Link>) {
        if self.first.is_null() {
            self.last = node.as_ptr();
        }
        // SAFETY: free memory, of the size of a link at least.
        unsafe { node.write(Link(self.first)) };
        self.first = node.as_ptr();
        self.length += 1;
    }
}

impl Fresh for Free {
    fn fresh() -> Free {
        Free { open: List::NONE, full: List::NONE }
    }
}

impl Free {
    #[inline]
    fn pop(&mut self) -> Option<NonNull<Link>> {
        if self.open.first.is_null() {
            mem::swap(&mut self.open, &mut self.full);
        }
        self.open.pop()
    }

    /// Adds a node. Returns a list for the depot if there are `most` nodes in both.
    #[inline]
    fn push(&mut self, node: NonNull<Link>, most: usize) -> Option<List> {
        self.open.push(node);
        if self.open.length < most {
            return None;
        }
        let full = mem::replace(&mut self.full, mem::replace(&mut self.open, List::NONE));
        (full.length != 0).then_some(full)
    }
}

impl<T> Pool<T> {
    const LAYOUT: Layout = {
        assert!(size_of::<T>() >= size_of::<Link>() && align_of::<T>() >= align_of::<Link>());
        Layout::new::<T>()
    };
    const IS_SMALL: bool = size_of::<T>() <= SMALL;
    /// The number of nodes in one of a writer's lists.
    const MOST: usize = if Self::IS_SMALL { BATCH } else { KEPT / 2 / size_of::<T>() + 1 };

    pub(super) const fn new() -> Self {
        Pool { free: PerWriter::new(), depot: Depot::new(), nodes: PhantomData }
    }

    /// Returns memory for a node.
    #[inline]
    pub(super) fn allocate(&self) -> NonNull<T> {
        // SAFETY: the place of this index.
        let kept = with_index(|index| unsafe { self.free.get(index).change(Free::pop) });
        kept.map_or_else(|| self.allocate_new(), NonNull::cast)
    }

    #[cold]
    #[inline(never)]
    fn allocate_new(&self) -> NonNull<T> {
        if !Self::IS_SMALL {
            // SAFETY: the layout is not empty.
            let memory = unsafe { alloc(Self::LAYOUT) };
            return NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(Self::LAYOUT)).cast();
        }
        let mut list = self.depot.take().unwrap_or_else(|| self.make_chunk());
        let Some(node) = list.pop() else { unreachable!("a list of the depot's has nodes") };
        let others = |free: &mut Free| {
            // An allocator that uses the container may have brought some meanwhile.
            if free.open.first.is_null() {
                free.open = mem::replace(&mut list, List::NONE);
            }
        };
        // SAFETY: the place of this index.
        with_index(|index| unsafe { self.free.get(index).change(others) });
        self.depot.give(list);
        node.cast()
    }

    /// Makes a chunk, and returns its nodes.
    fn make_chunk(&self) -> List {
        // Relaxed, here and below: a size, which a race may repeat.
        let count = self.depot.next.load(Ordering::Relaxed);
        let (header, first) = Layout::new::<Chunk>().extend(Self::LAYOUT).unwrap_or((Self::LAYOUT, 0));
        let size = first + count * size_of::<T>();
        let layout = Layout::from_size_align(size, header.align()).unwrap_or(Self::LAYOUT);
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(layout) };
        let Some(chunk) = NonNull::new(memory) else { handle_alloc_error(layout) };
        self.depot.own(chunk.cast(), layout);
        let most = (CHUNK / size_of::<T>()).clamp(FIRST, BATCH);
        self.depot.next.store((2 * count).min(most), Ordering::Relaxed);
        let mut list = List::NONE;
        for index in (0..count).rev() {
            // SAFETY: within the memory.
            let node = unsafe { chunk.byte_add(first + index * size_of::<T>()) };
            list.push(node.cast());
        }
        list
    }

    /// Takes back the memory of a node that has no value any more.
    ///
    /// # Safety
    /// It is from this pool's `allocate`.
    #[inline]
    pub(super) unsafe fn release(&self, node: NonNull<T>) {
        let push = |free: &mut Free| free.push(node.cast(), Self::MOST);
        // SAFETY: the place of this index.
        let full = with_index(|index| unsafe { self.free.get(index).change(push) });
        if let Some(full) = full {
            self.release_all(full);
        }
    }

    #[cold]
    #[inline(never)]
    fn release_all(&self, mut list: List) {
        if Self::IS_SMALL {
            return self.depot.give(list);
        }
        while let Some(node) = list.pop() {
            // SAFETY: from `allocate_new`, and in no list any more.
            unsafe { dealloc(node.as_ptr().cast(), Self::LAYOUT) };
        }
    }
}

impl Depot {
    const fn new() -> Depot {
        Depot {
            lock: ForkLock::new(),
            nodes: UnsafeCell::new(ptr::null_mut()),
            chunks: AtomicPtr::new(ptr::null_mut()),
            next: AtomicUsize::new(FIRST),
        }
    }

    /// Calls `act` with the list of nodes, which no other thread has meanwhile.
    fn with<R>(&self, act: impl FnOnce(&mut *mut Link) -> R) -> R {
        // Never times out.
        let held = self.lock.lock(Timeout::Never);
        // SAFETY: the lock is held.
        let result = act(unsafe { &mut *self.nodes.get() });
        if let Some(held) = held {
            self.lock.unlock(&held);
        }
        result
    }

    /// Takes a batch of free nodes.
    fn take(&self) -> Option<List> {
        self.with(|nodes| {
            let first = NonNull::new(*nodes)?;
            let (mut last, mut length) = (first, 1);
            // SAFETY: in the list, so free memory with a link in it.
            while let Some(next) = NonNull::new(unsafe { last.as_ref() }.0).filter(|_| length < BATCH) {
                (last, length) = (next, length + 1);
            }
            // SAFETY: as above.
            *nodes = unsafe { last.as_ref() }.0;
            // SAFETY: as above; the batch is the caller's from here on.
            unsafe { last.write(Link(ptr::null_mut())) };
            Some(List { first: first.as_ptr(), last: last.as_ptr(), length })
        })
    }

    /// Adds free nodes.
    fn give(&self, list: List) {
        let Some(last) = NonNull::new(list.last).filter(|_| list.length != 0) else { return };
        self.with(|nodes| {
            // SAFETY: in the list, so free memory with a link in it.
            unsafe { last.write(Link(*nodes)) };
            *nodes = list.first;
        });
    }

    /// Notes a chunk, which is freed when the container ends.
    fn own(&self, chunk: NonNull<Chunk>, layout: Layout) {
        // Relaxed, all but the success: chunks are only looked at by the container's end.
        let mut before = self.chunks.load(Ordering::Relaxed);
        loop {
            // SAFETY: the beginning of fresh memory, which has room for it.
            unsafe { chunk.write(Chunk { before, layout }) };
            // Release: the chunk's beginning, also for the child of a fork at this instant.
            match self.chunks.compare_exchange_weak(before, chunk.as_ptr(), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => before = found,
            }
        }
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        if !Self::IS_SMALL {
            for free in self.free.iter_mut() {
                let free = free.get_mut();
                while let Some(node) = free.pop() {
                    // SAFETY: from `allocate_new`.
                    unsafe { dealloc(node.as_ptr().cast(), Self::LAYOUT) };
                }
            }
        }
        // Relaxed: no other thread has the container.
        let mut next = self.depot.chunks.load(Ordering::Relaxed);
        while let Some(chunk) = NonNull::new(next) {
            // SAFETY: made by `make_chunk`, and alive until it is freed below.
            let Chunk { before, layout } = unsafe { chunk.read() };
            // SAFETY: allocated with this layout; the container and its nodes have ended.
            unsafe { dealloc(chunk.as_ptr().cast(), layout) };
            next = before;
        }
    }
}
