//! A mapping of a file's beginning, shared with all other processes that map it. Called by
//! [`raw_region`](super::raw_region).

use core::ptr::NonNull;

use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A shared, writable mapping, unmapped when it is dropped.
#[derive(Debug)]
pub(super) struct Map {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: an address and a length, which every thread may use; the mapping's owner answers for what
// lies there.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps the first `length` bytes of `file`, which is at least as long.
    pub(super) fn new(file: BorrowedFd<'_>, length: usize) -> Result<Map, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place, so that nothing else lies there.
        let start = unsafe { mmap(core::ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0) }?;
        // The kernel never chooses 0.
        NonNull::new(start.cast()).map(|start| Map { start, length }).ok_or(Errno::NOMEM)
    }

    /// Returns a mapping whose owner forgot it.
    ///
    /// # Safety
    /// It was made by `new`, with this length, and has no other owner.
    pub(super) unsafe fn from_raw(start: NonNull<u8>, length: usize) -> Map {
        Map { start, length }
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nothing refers to it any more. It cannot fail.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}
