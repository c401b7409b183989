//! The heap of this library: blocks of powers of two from the kernel. The program's own heap cannot
//! be used: its calls come here from within it. The engine and its host call it.
//!
//! The lists lie in the page that is emptied by a fork, with their lock, since a thread of the
//! parent may have held it; blocks that were free then are lost to the child.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::Ordering;

use crate::native;
use crate::page::{SIZES, page};

/// The smallest block's size, as a power of two.
const LEAST: u32 = 5;
/// The bytes that are asked of the kernel at a time.
const CHUNK: usize = 1 << 21;

/// The kernel's operations for the heap's lock.
const LOCK: i32 = libc::FUTEX_LOCK_PI | libc::FUTEX_PRIVATE_FLAG;
const UNLOCK: i32 = libc::FUTEX_UNLOCK_PI | libc::FUTEX_PRIVATE_FLAG;

/// The heap. Handlers of the program's signals do not run while a thread is in it.
pub struct Blocks;

/// Returns the place of a block's size among the lists; `None`: it is larger than all of them.
fn size_of_block(layout: Layout) -> Option<usize> {
    let bytes = layout.size().max(layout.align()).max(1 << LEAST).next_power_of_two();
    let place = (bytes.trailing_zeros() - LEAST) as usize;
    (place < SIZES).then_some(place)
}

/// A guard of the heap's lock: a word with the holder's number, for which the kernel's own
/// inheritance has other threads wait, since they may be real-time threads.
struct Locked(u32);

impl Locked {
    fn lock() -> Locked {
        let me = native::thread() as u32;
        let word = &page().heap_lock;
        // Acquire: partner: the release in `drop`. Relaxed on failure: nothing learnt.
        while word.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_err() {
            let at = (&raw const *word).expose_provenance();
            // SAFETY: the kernel changes the word as it documents.
            if unsafe { native::call(libc::SYS_futex, [at, LOCK as usize, 0, 0, 0, 0]) } == 0 {
                break;
            }
        }
        Locked(me)
    }

    /// Returns a block of a size, from its list or from the rest of the chunk. Relaxed throughout:
    /// the lock orders it.
    fn take(&self, place: usize) -> usize {
        let (list, [rest, left]) = (&page().free[place], &page().rest);
        let first = list.load(Ordering::Relaxed);
        if first != 0 {
            // SAFETY: a free block begins with the address of the next.
            let next = unsafe { core::ptr::with_exposed_provenance::<usize>(first).read() };
            list.store(next, Ordering::Relaxed);
            return first;
        }
        let bytes = 1_usize << (place as u32 + LEAST);
        let align = bytes.min(4096);
        let mut at = rest.load(Ordering::Relaxed).next_multiple_of(align);
        if at == 0 || at + bytes > left.load(Ordering::Relaxed) {
            let Some(chunk) = native::map(CHUNK) else { return 0 };
            at = chunk.expose_provenance();
            left.store(at + CHUNK, Ordering::Relaxed);
        }
        rest.store(at + bytes, Ordering::Relaxed);
        at
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let word = &page().heap_lock;
        // Release: partner: the acquire in `lock`. Relaxed on failure: a thread waits.
        if word.compare_exchange(self.0, 0, Ordering::Release, Ordering::Relaxed).is_err() {
            let at = (&raw const *word).expose_provenance();
            // SAFETY: as in `lock`.
            unsafe { native::call(libc::SYS_futex, [at, UNLOCK as usize, 0, 0, 0, 0]) };
        }
    }
}

// SAFETY: blocks are distinct as long as they are used, and as large and aligned as their size says:
// chunks begin at pages, and no alignment is above a page's.
unsafe impl GlobalAlloc for Blocks {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > 4096 {
            return core::ptr::null_mut();
        }
        match size_of_block(layout) {
            Some(place) => core::ptr::with_exposed_provenance_mut(Locked::lock().take(place)),
            None => native::map(layout.size()).unwrap_or(core::ptr::null_mut()),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let address = block.expose_provenance();
        let Some(place) = size_of_block(layout) else {
            // SAFETY: mapped by `alloc`, and not used any more.
            unsafe { native::call(libc::SYS_munmap, [address, layout.size(), 0, 0, 0, 0]) };
            return;
        };
        let _locked = Locked::lock();
        let list = &page().free[place];
        // SAFETY: a block that is not used any more has room for an address.
        unsafe { block.cast::<usize>().write(list.load(Ordering::Relaxed)) };
        list.store(address, Ordering::Relaxed);
    }
}
