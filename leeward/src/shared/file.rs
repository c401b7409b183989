//! The file of a region: its lock, its length and its memory.

use core::mem::ManuallyDrop;

use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, FlockOperation, MemfdFlags};
use rustix::io::Errno;

/// A file and its lock (`flock`), released when this is dropped. The kernel releases it when the
/// process dies.
#[derive(Debug)]
pub(super) struct LockedFile(OwnedFd);

impl LockedFile {
    /// Locks the file, waiting as long as that takes.
    pub(super) fn new(file: OwnedFd) -> Result<LockedFile, Errno> {
        loop {
            match rustix::fs::flock(&file, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                outcome => return outcome.map(|()| LockedFile(file)),
            }
        }
    }

    /// Returns the lock of a file that is locked.
    pub(super) fn from_file(file: OwnedFd) -> LockedFile {
        LockedFile(file)
    }

    /// Returns the file, which stays locked.
    pub(super) fn into_file(self) -> OwnedFd {
        let this = ManuallyDrop::new(self);
        // SAFETY: read once; the drop does not run.
        unsafe { core::ptr::read(&raw const this.0) }
    }

    pub(super) fn file(&self) -> &OwnedFd {
        &self.0
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing the file would not do: a child forked by another thread meanwhile has the file
        // open too. It cannot fail.
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

/// Returns a new file without a name, marked as not executable, which hardened systems
/// (`vm.memfd_noexec`) demand.
pub(super) fn sealable() -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match rustix::fs::memfd_create(c"leeward", flags | MemfdFlags::NOEXEC_SEAL) {
        // Before Linux 6.3 the flag is unknown.
        Err(Errno::INVAL) => rustix::fs::memfd_create(c"leeward", flags),
        outcome => outcome,
    }
}

/// Makes the file `length` bytes long and allocates its memory. Otherwise a signal would kill the
/// process that first touches a page for which no memory is left.
pub(super) fn allocate(file: &OwnedFd, length: u64) -> Result<(), Errno> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length) {
            Err(Errno::INTR) => {}
            // The file system cannot allocate: the length has to do.
            Err(Errno::OPNOTSUPP) => return rustix::fs::ftruncate(file, length),
            outcome => return outcome,
        }
    }
}

/// Makes a file of `found` bytes, which may be more, `length` bytes long, and allocates its memory.
/// If there is none, the file keeps its length.
pub(super) fn resize(file: &OwnedFd, found: u64, length: u64) -> Result<(), Errno> {
    if found > length {
        rustix::fs::ftruncate(file, length)?;
    }
    allocate(file, length).inspect_err(|_| {
        // On a full disk the file may have become longer all the same.
        let _ = rustix::fs::ftruncate(file, found);
    })
}

pub(super) fn read_at(file: &OwnedFd, room: &mut [u8], place: u64) -> Result<usize, Errno> {
    loop {
        match rustix::io::pread(file, &mut *room, place) {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}
