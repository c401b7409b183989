//! Pages with some protection, and addresses where nothing is.

use crate::numbers;
use crate::scenario::Trouble;
use crate::world::{World, unfit};

/// A size that is a whole number of pages everywhere.
pub(crate) const PAGES: usize = 64 * 1024;

const MAP_PRIVATE_ANONYMOUS: usize = 0x22;

/// What may be done with pages.
#[derive(Clone, Copy)]
#[repr(usize)]
pub(crate) enum Protection {
    Nothing = 0,
    Read = 1,
    ReadWrite = 3,
}

/// Addresses that are the kernel's own on every architecture that this crate knows.
pub(crate) const KERNEL: [usize; 2] = [0xffff_8000_0000_0000_u64 as usize, 0xffff_ffff_ffff_f000_u64 as usize];

impl World<'_> {
    /// Maps private anonymous pages, `PAGES` bytes, which no one has touched; returns their address.
    pub(crate) fn pages(&self, protection: Protection) -> Result<usize, Trouble> {
        let arguments = [0, PAGES, protection as usize, MAP_PRIVATE_ANONYMOUS, usize::MAX, 0];
        // SAFETY: a new mapping.
        let pages = unsafe { self.call(numbers::MMAP, arguments) };
        pages.map_err(|errno| unfit(format_args!("mmap of private anonymous memory: {errno}")))
    }

    /// Returns the address of `PAGES` bytes where nothing is mapped, after as many that are.
    pub(crate) fn hole(&self) -> Result<usize, Trouble> {
        let arguments = [0, 2 * PAGES, Protection::ReadWrite as usize, MAP_PRIVATE_ANONYMOUS, usize::MAX, 0];
        // SAFETY: a new mapping.
        let pages = unsafe { self.call(numbers::MMAP, arguments) };
        let pages = pages.map_err(|errno| unfit(format_args!("mmap of private anonymous memory: {errno}")))?;
        let hole = pages + PAGES;
        self.unmap(hole).map(|()| hole)
    }

    /// Unmaps `PAGES` bytes that `pages` or `hole` mapped.
    pub(crate) fn unmap(&self, pages: usize) -> Result<(), Trouble> {
        // SAFETY: a mapping of this module's, where nothing of Rust's is.
        let unmapped = unsafe { self.call(numbers::MUNMAP, [pages, PAGES, 0, 0, 0, 0]) };
        unmapped.map(drop).map_err(|errno| unfit(format_args!("munmap: {errno}")))
    }
}
