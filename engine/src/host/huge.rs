//! Huge pages for large tables, for `memory`. The bucket of a key is anywhere in its table, and
//! finding a page of which the processor keeps no translation takes as long as the cache line that
//! is read there.

use core::ptr::NonNull;

/// Asks Linux to back the whole huge pages of a block by huge pages. A hint: the answer changes
/// nothing.
#[cfg(all(feature = "std", target_os = "linux", not(leeward_loom)))]
pub(crate) fn ask(block: NonNull<u8>, size: usize) {
    // SAFETY: the block is the caller's, and its contents are not changed.
    unsafe { libc::madvise(block.as_ptr().cast(), size, libc::MADV_HUGEPAGE) };
}

/// Does nothing: this system is not asked for huge pages.
#[cfg(not(all(feature = "std", target_os = "linux", not(leeward_loom))))]
pub(crate) fn ask(_: NonNull<u8>, _: usize) {}
