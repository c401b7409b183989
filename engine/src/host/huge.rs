//! Huge pages for large tables: a key's bucket is anywhere in its table, and finding a page that no
//! translation is kept of takes as long as the line that is read there.

use core::ptr::NonNull;

/// Asks Linux to back whole huge pages of a block by such. A hint: what it answers changes nothing.
#[cfg(all(feature = "std", target_os = "linux", not(leeward_loom)))]
pub(crate) fn ask(block: NonNull<u8>, size: usize) {
    // SAFETY: the block is the caller's, and its contents are not changed.
    unsafe { libc::madvise(block.as_ptr().cast(), size, libc::MADV_HUGEPAGE) };
}

/// Nobody to ask.
#[cfg(not(all(feature = "std", target_os = "linux", not(leeward_loom))))]
pub(crate) fn ask(_: NonNull<u8>, _: usize) {}
