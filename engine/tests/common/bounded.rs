//! Memory of the tests' own: blocks of one mapping, of which there may be few.

// Each test program uses its part.
#![allow(dead_code)]

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use leeward_engine::Memory;

/// The bytes of a pool.
const BYTES: usize = 1 << 20;

/// Blocks that are taken from a mapping one after the other, and never used again.
pub struct Pool {
    at: NonNull<u8>,
    used: AtomicUsize,
    /// The number of blocks that may still be allocated.
    left: AtomicUsize,
    /// The number of blocks that are not freed.
    live: AtomicUsize,
}

// SAFETY: each block is one caller's.
unsafe impl Sync for Pool {}

/// A pool as [`Memory`].
#[derive(Clone, Copy)]
pub struct Bounded(&'static Pool);

impl Bounded {
    /// Maps a pool of which `blocks` blocks may be allocated in all. It is never unmapped.
    pub fn new(blocks: usize) -> Bounded {
        let (access, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, how, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        let at = NonNull::new(at.cast()).unwrap();
        let (used, live) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Bounded(Box::leak(Box::new(Pool { at, used, left: AtomicUsize::new(blocks), live })))
    }

    /// Returns the number of blocks that are not freed.
    pub fn live(&self) -> usize {
        self.0.live.load(Ordering::SeqCst)
    }

    /// Returns true if every block was allocated that may be.
    pub fn is_spent(&self) -> bool {
        self.0.left.load(Ordering::SeqCst) == 0
    }
}

// SAFETY: each block is a part of the mapping that no other block is.
unsafe impl Memory for Bounded {
    fn allocate(&self, layout: Layout, _: Option<u32>) -> Option<NonNull<u8>> {
        assert!(layout.align() <= 4096);
        self.0.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).ok()?;
        let size = layout.size() + layout.align();
        let begin = self.0.used.fetch_add(size, Ordering::SeqCst);
        assert!(begin + size <= BYTES, "a pool large enough for the test");
        self.0.live.fetch_add(1, Ordering::SeqCst);
        // SAFETY: within the mapping.
        let place = unsafe { self.0.at.add(begin) };
        // SAFETY: within the mapping: at most the alignment is added.
        Some(unsafe { place.add(place.align_offset(layout.align())) })
    }

    unsafe fn free(&self, _: NonNull<u8>, _: Layout) {
        self.0.live.fetch_sub(1, Ordering::SeqCst);
    }
}
