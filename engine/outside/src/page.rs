//! A page that the kernel empties in the child of a fork: whatever lies in it is this process's
//! own, and not a copy of what threads of the parent were about. `heap` keeps its lists there,
//! `state` the engine.

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::counts::Counts;
use crate::native;
use crate::state::State;

/// The number of sizes of blocks in the heap.
pub const SIZES: usize = 16;
/// The bytes of the page.
const SIZE: usize = 4096;

/// What belongs to one process; all zeroes at first, and in the child of a fork.
pub struct Page {
    /// The engine and its host; null: not made yet.
    pub state: AtomicPtr<State>,
    /// Where this process's calls are counted; null: nowhere yet.
    pub counts: AtomicPtr<Counts>,
    /// The number of threads that sleep in the kernel for the program, and may be woken by its
    /// calls.
    pub sleepers: AtomicU32,
    /// The lock of the heap: its holder's number, with the kernel's bits.
    pub heap_lock: AtomicU32,
    /// The free blocks of each size, as lists.
    pub free: [AtomicUsize; SIZES],
    /// The part of the last chunk that was not given out yet.
    pub rest: [AtomicUsize; 2],
}

const _: () = assert!(size_of::<Page>() <= SIZE);

/// The page's address.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());

/// Returns the page, and makes it if there is none. The first caller is the constructor of this
/// library, when there is one thread.
pub fn page() -> &'static Page {
    // Relaxed: written before the process has a second thread.
    let mut page = PAGE.load(Ordering::Relaxed);
    if page.is_null() {
        page = native::map(SIZE).unwrap_or_else(|| native::die("no memory")).cast::<Page>();
        let address = page.expose_provenance();
        // SAFETY: advice for the new mapping.
        let advised =
            unsafe { native::call(libc::SYS_madvise, [address, SIZE, libc::MADV_WIPEONFORK as usize, 0, 0, 0]) };
        if advised != 0 {
            native::die("the kernel has no MADV_WIPEONFORK (Linux 4.14)");
        }
        PAGE.store(page, Ordering::Relaxed);
    }
    // SAFETY: mapped for good, and zeroes are a page.
    unsafe { &*page }
}
