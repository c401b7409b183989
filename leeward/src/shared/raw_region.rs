//! A region without a type: how the bytes behind its `header` are made once and found again. Called
//! by `region`, which knows the value's type, and by the C face; calls `file` and `map`. Hidden,
//! and no part of the interface.

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use rustix::fs::{Mode, OFlags, SealFlags};
use rustix::io::Errno;

use super::RegionError;
use super::file::{LockedFile, allocate, resize, sealable};
use super::header::{Header, LAYOUT, MAGIC, READY, VALUE, is_unfinished};
use super::map::Map;

/// Memory that several processes map: a header and a value of some bytes, unmapped when dropped.
#[derive(Debug)]
pub struct RawRegion {
    map: Map,
    /// The file of a region without a name, by which other processes come to it.
    file: Option<OwnedFd>,
}

/// A region whose value is zeroes and is yet to be made. If it is dropped, the next process that
/// opens the file begins anew.
#[derive(Debug)]
pub struct Unfinished {
    region: RawRegion,
    /// The lock of the file of a region with a name.
    locked: Option<LockedFile>,
}

/// A region that was opened.
#[derive(Debug)]
pub enum Opened {
    /// Another caller has made the value.
    Finished(RawRegion),
    /// The caller makes the value.
    Unfinished(Unfinished),
}

/// A region taken apart, for callers that keep it in a structure of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The value's address.
    pub value: NonNull<u8>,
    /// How many bytes the value has.
    pub size: usize,
    /// The file of a region without a name.
    pub file: Option<RawFd>,
    /// The file that is locked while the value of a region with a name is made.
    pub locked: Option<RawFd>,
}

/// Returns the length of a region for a value of `size` bytes.
fn length_for(size: usize) -> Result<usize, Errno> {
    VALUE.checked_add(size).ok_or(Errno::OVERFLOW)
}

impl RawRegion {
    /// Makes a region without a name, sealed so that its size stays.
    ///
    /// # Errors
    /// [`RegionError::System`].
    pub fn create(size: usize, version: u32) -> Result<Unfinished, RegionError> {
        let file = sealable()?;
        allocate(&file, length_for(size)? as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mut region = Self::map(file.as_fd(), size)?;
        region.begin(version);
        region.file = Some(file);
        Ok(Unfinished { region, locked: None })
    }

    /// Opens the region in the file of this name. Makes the file, for this user alone, if it is not
    /// there.
    ///
    /// # Errors
    /// [`RegionError`].
    pub fn open(name: &CStr, size: usize, version: u32) -> Result<Opened, RegionError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let locked = LockedFile::new(rustix::fs::open(name, flags, Mode::RUSR | Mode::WUSR)?)?;
        let file = locked.file();
        let (found, length) = (rustix::fs::fstat(file)?.st_size as u64, length_for(size)? as u64);
        let is_unfinished = is_unfinished(file, found, length)?;
        if is_unfinished {
            // No process uses the value: a maker has the lock, and so have the children that it
            // forked meanwhile.
            resize(file, found, length)?;
        }
        let mut region = Self::map(file.as_fd(), size)?;
        if !is_unfinished {
            region.check(version)?;
            return Ok(Opened::Finished(region));
        }
        region.begin(version);
        Ok(Opened::Unfinished(Unfinished { region, locked: Some(locked) }))
    }

    /// Opens the region that [`create`](Self::create) made, in another process that passed its
    /// descriptor on. The descriptor stays the caller's.
    ///
    /// # Errors
    /// [`RegionError`].
    ///
    /// # Safety
    /// `file` is open.
    pub unsafe fn from_raw_fd(file: RawFd, size: usize, version: u32) -> Result<RawRegion, RegionError> {
        // SAFETY: the caller's promise.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        // A file that cannot be sealed at all is refused too.
        if !rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Err(RegionError::NotSealed);
        }
        let region = Self::map(file, size)?;
        region.check(version)?;
        Ok(region)
    }

    /// Returns the descriptor of a region without a name, which is open as long as this is.
    pub fn raw_fd(&self) -> Option<RawFd> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Returns the address of the value, a multiple of [`VALUE`], mapped as long as this is.
    pub fn value(&self) -> NonNull<u8> {
        // SAFETY: a mapping has a header, and the value's bytes, of which there may be none, begin
        // behind it.
        unsafe { self.map.start().add(VALUE) }
    }

    /// Takes the region apart; nothing is unmapped or closed.
    pub fn into_parts(self) -> Parts {
        let (value, size) = (self.value(), self.map.length() - VALUE);
        let this = core::mem::ManuallyDrop::new(self);
        Parts { value, size, file: this.raw_fd(), locked: None }
    }

    /// Puts a region together.
    ///
    /// # Safety
    /// `parts` are those of a region that was taken apart and not put together since; none of its
    /// files is locked.
    pub unsafe fn from_parts(parts: Parts) -> RawRegion {
        // SAFETY: the value is behind a header.
        let start = unsafe { parts.value.sub(VALUE) };
        // SAFETY: the caller's promise.
        let map = unsafe { Map::from_raw(start, parts.size + VALUE) };
        // SAFETY: as above.
        let file = parts.file.map(|file| unsafe { OwnedFd::from_raw_fd(file) });
        RawRegion { map, file }
    }

    fn map(file: BorrowedFd<'_>, size: usize) -> Result<RawRegion, RegionError> {
        let (found, length) = (rustix::fs::fstat(file)?.st_size as u64, length_for(size)?);
        if found != length as u64 {
            return Err(RegionError::WrongSize { found, expected: length as u64 });
        }
        Ok(RawRegion { map: Map::new(file, length)?, file: None })
    }

    fn header(&self) -> &Header {
        let header = self.map.start().cast::<Header>();
        // SAFETY: mapped, long enough, aligned to a page, and any bytes are one.
        unsafe { header.as_ref() }
    }

    /// Checks that the value is there, and that it is this program's.
    fn check(&self, version: u32) -> Result<(), RegionError> {
        let header = self.header();
        // Acquire: partner of the release in `finish`.
        let state = header.state.load(Ordering::Acquire);
        // Relaxed, all: written before the state was, or under the file's lock.
        match (header.magic.load(Ordering::Relaxed), state) {
            (MAGIC, READY) => {}
            (MAGIC, 0) => return Err(RegionError::NotReady),
            _ => return Err(RegionError::NotARegion),
        }
        let (layout, found) = (header.layout.load(Ordering::Relaxed), header.version.load(Ordering::Relaxed));
        if layout != LAYOUT {
            return Err(RegionError::WrongLayout { found: layout });
        }
        if found != version {
            return Err(RegionError::WrongVersion { found, expected: version });
        }
        Ok(())
    }

    /// Writes the header and zeroes, anew if another process began to.
    fn begin(&mut self, version: u32) {
        // Relaxed, all: no process looks before the state says so, or without the file's lock.
        self.header().magic.store(MAGIC, Ordering::Relaxed);
        self.header().layout.store(LAYOUT, Ordering::Relaxed);
        self.header().version.store(version, Ordering::Relaxed);
        // SAFETY: mapped; no other process looks at a value that is not ready.
        unsafe { self.value().write_bytes(0, self.map.length() - VALUE) };
    }
}

impl Unfinished {
    /// Returns the address of the value, which no other process looks at.
    pub fn value(&self) -> NonNull<u8> {
        self.region.value()
    }

    /// Says that the value is made: from here on, other processes may come to it.
    pub fn finish(self) -> RawRegion {
        // Release: partner of the acquire in `check`.
        self.region.header().state.store(READY, Ordering::Release);
        self.region
    }

    /// Takes the region apart; the file stays locked.
    pub fn into_parts(self) -> Parts {
        let locked = self.locked.map(|locked| locked.into_file().into_raw_fd());
        Parts { locked, ..self.region.into_parts() }
    }

    /// Puts a region together.
    ///
    /// # Safety
    /// `parts` are those of an unfinished region that was taken apart and not put together since.
    pub unsafe fn from_parts(parts: Parts) -> Unfinished {
        // SAFETY: the caller's promise.
        let file = parts.locked.map(|file| unsafe { OwnedFd::from_raw_fd(file) });
        // SAFETY: as above; what was locked has another owner here.
        let region = unsafe { RawRegion::from_parts(parts) };
        Unfinished { region, locked: file.map(LockedFile::from_file) }
    }
}
