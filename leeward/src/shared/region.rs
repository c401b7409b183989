//! Memory that several processes map, with a value in it that one of them has made. Calls
//! [`file`](super::file) and [`map`](super::map).

use core::ffi::CStr;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::{Mode, OFlags, SealFlags};
use rustix::io::Errno;

use super::file::{Locked, allocate, read_at, resize, sealable};
use super::map::Map;
use crate::bytes::AnyBytes;

/// "lwrd" in the machine's byte order, so a file of a machine of the other order is not a region
/// here.
const MAGIC: u32 = 0x6c77_7264;
/// The number of the layout of this header and of the lock words.
const LAYOUT: u32 = 1;
const READY: u32 = 1;
/// The value's offset, and the most that it may be aligned to.
const VALUE: usize = 64;

/// The beginning of a region; the value follows at [`VALUE`].
#[repr(C)]
struct Header {
    /// `MAGIC`; written first.
    magic: AtomicU32,
    /// The value of `LAYOUT`.
    layout: AtomicU32,
    /// The version that the user gave.
    version: AtomicU32,
    /// `READY` when the value has been made, else 0; written last.
    state: AtomicU32,
}

const MAGIC_AT: usize = core::mem::offset_of!(Header, magic);
const STATE_AT: usize = core::mem::offset_of!(Header, state);

/// The reason why a region was not made or opened.
///
/// ```
/// use leeward::shared::{Mutex, Region, RegionError};
/// use std::os::fd::AsRawFd;
/// let file = std::fs::File::open("/dev/null").unwrap();
/// // SAFETY: the file is open, and no process uses it as a region.
/// let region = unsafe { Region::<Mutex<u32>>::from_raw_fd(file.as_raw_fd(), 1) };
/// assert_eq!(region.unwrap_err(), RegionError::NotSealed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RegionError {
    /// The file begins with something else than a region.
    NotARegion,
    /// The region was made for a value of another size.
    WrongSize {
        /// The size of the region in bytes.
        found: u64,
        /// The size that a region with this program's value has, in bytes.
        expected: u64,
    },
    /// The region was made by a program of another version.
    WrongVersion {
        /// The version of the region.
        found: u32,
        /// The version that this program gave.
        expected: u32,
    },
    /// The locks of the region are laid out as by another version of this library.
    WrongLayout {
        /// The number of the region's layout.
        found: u32,
    },
    /// The process that made the region has not finished.
    NotReady,
    /// The file is not sealed against shrinking: a process could make it shorter under its users,
    /// and a signal would kill those that touch what is gone.
    NotSealed,
    /// The system refused; the value is the number of its error.
    System(i32),
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegionError::NotARegion => f.write_str("this is not a region of shared memory that leeward has made"),
            RegionError::WrongSize { found, expected } => {
                write!(f, "the region has {found} bytes and this program's value needs {expected}")
            }
            RegionError::WrongVersion { found, expected } => {
                write!(f, "the region is of version {found} and this program of version {expected}")
            }
            RegionError::WrongLayout { found } => {
                write!(f, "the region's locks are of layout {found} and this library's of layout {LAYOUT}")
            }
            RegionError::NotReady => f.write_str("the process that made the region has not finished"),
            RegionError::NotSealed => f.write_str("the region's file is not sealed against being made shorter"),
            RegionError::System(errno) => write!(f, "the system refuses the region: error {errno}"),
        }
    }
}

impl core::error::Error for RegionError {}

impl From<Errno> for RegionError {
    fn from(errno: Errno) -> RegionError {
        RegionError::System(errno.raw_os_error())
    }
}

/// Returns true if a file of `found` bytes is what a killed maker leaves: nothing; zeroes (its
/// memory was being allocated, which some file systems do piece by piece); or a header of ours that
/// does not say that the value is ready.
///
/// A file of zeroes that is longer than `length` was left by no maker of this value: it may be
/// another program's.
fn is_unfinished(file: &OwnedFd, found: u64, length: u64) -> Result<bool, Errno> {
    let mut room = [0; 4096];
    let header = read_at(file, &mut room[..16], 0)?;
    let word = |place: usize| u32::from_ne_bytes([room[place], room[place + 1], room[place + 2], room[place + 3]]);
    if header == 16 && word(MAGIC_AT) == MAGIC {
        return Ok(word(STATE_AT) == 0);
    }
    let mut place = 0;
    while found <= length && place < found {
        match read_at(file, &mut room, place)? {
            0 => break,
            count if room[..count].iter().all(|&byte| byte == 0) => place += count as u64,
            _ => return Ok(false),
        }
    }
    Ok(found <= length)
}

/// Memory that several processes map, with a `T` in it, which is never dropped.
///
/// One process makes the value, however many begin at once, and no process sees it before it is
/// finished. The maker holds a lock of the file. The kernel releases the lock when the maker has
/// died, at whatever instant, and with it the children that it forked meanwhile, which have the
/// file open too. What a dead maker left unfinished is begun anew.
///
/// ```
/// use leeward::shared::{Mutex, Region};
/// let name = format!("/dev/shm/leeward-doc-{}", std::process::id());
/// let c_name = std::ffi::CString::new(name.as_str()).unwrap();
/// let open = || {
///     // SAFETY: only this program opens the file, with this type and version.
///     unsafe { Region::<Mutex<u64>>::open(&c_name, 1, |_| {}) }
/// };
/// let (mine, theirs) = (open()?, open()?); // the second could be another process's
/// *mine.lock() += 1;
/// assert_eq!(*theirs.lock(), 1);
/// std::fs::remove_file(name).unwrap();
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
///
/// # Whom it trusts
/// A process that has the memory is trusted as a thread of this one is: to come by way of `Region`
/// with the same `T`; to change the value by its locks and atomics only; and, of a robust lock, to
/// lend no reference of [`Guard::with`](crate::robust::Guard::with) to another thread. The callers
/// of [`open`](Self::open) and [`from_raw_fd`](Self::from_raw_fd) promise that of all other
/// processes. A process that passes the [descriptor](Self::raw_fd) on, or forks, promises it of all
/// that get the memory that way.
///
/// A process that does otherwise can write any bytes at any time, whichever process holds a lock,
/// by its mapping and by `write`, and can turn them into zeroes. It cannot make a region without a
/// name shorter or longer, nor forbid others to write it. A process that may open a region's *file*
/// can make that shorter, so that touching what is gone is a `SIGBUS`, and can keep the file's
/// lock, for which `open` waits. There is no share for reading only: locks are words, which their
/// readers write.
///
/// # Cost
/// [`create`](Self::create) is five system calls, and the memory is there when it returns. Reaching
/// the value costs nothing: a region is a pointer.
///
/// # Differences from `shm_open`
/// - `shm_open` gives a file of length zero, which each program sizes, maps and initialises by a
///   protocol of its own. `open` does all of that, once, and [again](Self::open) if the maker was
///   killed.
/// - The type's size, the caller's version and the layout of the locks are checked.
/// - The memory is allocated at once, so that a full `/dev/shm` is an error and not a `SIGBUS`.
/// - `open` takes a path (`/dev/shm/name`), and removing the file is `shm_unlink`. `create` needs
///   no name, so no file stays behind.
///
/// # Fork
/// The child has the region, at the same address; dropping it unmaps it in one process only.
///
/// # Panics
/// No call panics. `make` may: an unnamed region is gone then, and a file's value is begun anew by
/// the next caller. `T` may be aligned to 64 bytes at most, which is checked when the program is
/// compiled.
#[derive(Debug)]
pub struct Region<T: AnyBytes + Sync> {
    map: Map,
    /// The file of a region without a name, by which other processes come to it.
    file: Option<OwnedFd>,
    value: PhantomData<T>,
}

impl<T: AnyBytes + Sync> Region<T> {
    /// The region's length in bytes, header and value.
    const LENGTH: usize = {
        assert!(align_of::<T>() <= VALUE, "a Region's value is aligned to 64 bytes at most");
        VALUE + size_of::<T>()
    };

    /// Makes a region without a name, sealed so that its size stays: for children of a fork, which
    /// have it as it is, and for processes that are given [`raw_fd`](Self::raw_fd).
    ///
    /// `make` finds zeroes.
    ///
    /// # Errors
    /// [`RegionError::System`].
    pub fn create(version: u32, make: impl FnOnce(&mut T)) -> Result<Region<T>, RegionError> {
        let file = sealable()?;
        allocate(&file, Self::LENGTH as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mut region = Self::map(file.as_fd())?;
        region.make(version, make);
        region.file = Some(file);
        Ok(region)
    }

    /// Opens the region in the file of this name (a file in `/dev/shm` is memory). Makes the file,
    /// for this user alone, if it is not there.
    ///
    /// `make` finds zeroes. It is called if no process has made the value and finished it, at
    /// whatever instant a maker was killed. The file stays until it is removed; a process that
    /// comes after that begins another.
    ///
    /// # Errors
    /// [`RegionError`].
    ///
    /// # Safety
    /// All other processes that open the file do so by way of `Region`, with a `T` of the same
    /// layout whenever `version` is the same, or keep to that layout and to the locks' protocol;
    /// and none makes the file shorter. [Whom it trusts](Self#whom-it-trusts) says more.
    pub unsafe fn open(name: &CStr, version: u32, make: impl FnOnce(&mut T)) -> Result<Region<T>, RegionError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(name, flags, Mode::RUSR | Mode::WUSR)?;
        let locked = Locked::new(&file)?;
        let (found, length) = (rustix::fs::fstat(&file)?.st_size as u64, Self::LENGTH as u64);
        let is_unfinished = is_unfinished(&file, found, length)?;
        if is_unfinished {
            // No process uses the value: a maker has the lock, and so have the children that it
            // forked meanwhile.
            resize(&file, found, length)?;
        }
        let mut region = Self::map(file.as_fd())?;
        if is_unfinished {
            region.make(version, make);
        } else {
            region.check(version)?;
        }
        drop(locked);
        Ok(region)
    }

    /// Opens the region that [`create`](Self::create) made, in another process that passed its
    /// descriptor on. The descriptor stays the caller's.
    ///
    /// # Errors
    /// [`RegionError`].
    ///
    /// # Safety
    /// `file` is open, and the caller promises what [`open`](Self::open) asks for.
    pub unsafe fn from_raw_fd(file: RawFd, version: u32) -> Result<Region<T>, RegionError> {
        // SAFETY: the caller's promise.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        // A file that cannot be sealed at all is refused too.
        if !rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Err(RegionError::NotSealed);
        }
        let region = Self::map(file)?;
        region.check(version)?;
        Ok(region)
    }

    /// Returns the descriptor of a region without a name, which is open as long as this is. A
    /// process that gets it can write the memory: see [above](Self#whom-it-trusts).
    pub fn raw_fd(&self) -> Option<RawFd> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Returns the value for as long as the process lives: the region stays mapped.
    pub fn leak(self) -> &'static T {
        let this = core::mem::ManuallyDrop::new(self);
        // SAFETY: as in `deref`; and never unmapped.
        unsafe { &*this.value() }
    }

    fn map(file: BorrowedFd<'_>) -> Result<Region<T>, RegionError> {
        let found = rustix::fs::fstat(file)?.st_size as u64;
        let expected = Self::LENGTH as u64;
        if found != expected {
            return Err(RegionError::WrongSize { found, expected });
        }
        Ok(Region { map: Map::new(file, Self::LENGTH)?, file: None, value: PhantomData })
    }

    fn header(&self) -> &Header {
        let header = self.map.start().cast::<Header>();
        // SAFETY: mapped, long enough, aligned to a page, and any bytes are one.
        unsafe { header.as_ref() }
    }

    fn value(&self) -> *mut T {
        self.map.start().as_ptr().wrapping_add(VALUE).cast()
    }

    /// Checks that the value is there, and that it is this program's.
    fn check(&self, version: u32) -> Result<(), RegionError> {
        let header = self.header();
        // Acquire: partner of the release in `make`.
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

    /// Makes the value, anew if another process began to.
    fn make(&mut self, version: u32, make: impl FnOnce(&mut T)) {
        // Relaxed, all but the last: no process looks before the state says so, or without the
        // file's lock.
        self.header().magic.store(MAGIC, Ordering::Relaxed);
        self.header().layout.store(LAYOUT, Ordering::Relaxed);
        self.header().version.store(version, Ordering::Relaxed);
        // SAFETY: mapped; no other process looks at a value that is not ready.
        unsafe { self.value().write_bytes(0, 1) };
        // SAFETY: zeroes are a value, and no other reference to it exists.
        make(unsafe { &mut *self.value() });
        // Release: partner of the acquire in `check`.
        self.header().state.store(READY, Ordering::Release);
    }
}

impl<T: AnyBytes + Sync> Deref for Region<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: mapped as long as `self` is, aligned and long enough (`LENGTH`), and any bytes
        // are a value. There is no mutable reference to it: `make` had the only one, before the
        // value was ready and any other process could come to it. Since then it is written through
        // shared references, by the interior mutability of a `T` that is `Sync`, in this process
        // and in those that keep what the callers of `open` and `from_raw_fd` promise of them.
        unsafe { &*self.value() }
    }
}
