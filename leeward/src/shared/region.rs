//! Memory that several processes map, with a value in it that one of them has made.

use core::ffi::CStr;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering};

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::{FallocateFlags, FlockOperation, MemfdFlags, Mode, OFlags, SealFlags};
use rustix::io::Errno;

use super::map::Map;
use crate::bytes::AnyBytes;

/// "lwrd", in the machine's byte order: that of another machine is no region of ours.
const MAGIC: u32 = 0x6c77_7264;
/// Of this header and of the lock words.
const LAYOUT: u32 = 1;
const READY: u32 = 1;
/// The value's offset, and the most that it may be aligned to.
const VALUE: usize = 64;

/// What a region begins with; the value follows at [`VALUE`].
#[repr(C)]
struct Header {
    /// `MAGIC`, written first.
    magic: AtomicU32,
    /// `LAYOUT`.
    layout: AtomicU32,
    /// The user's.
    version: AtomicU32,
    /// 1 when the value has been made; written last.
    state: AtomicU32,
}

/// Why there is no region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RegionError {
    /// It begins with something else.
    NotARegion,
    /// It was made for a value of another size: so many bytes in all, and so many wanted.
    WrongSize {
        /// As it is.
        found: u64,
        /// As this program's value needs it.
        expected: u64,
    },
    /// It was made by a program of another version.
    WrongVersion {
        /// As it is.
        found: u32,
        /// This program's.
        expected: u32,
    },
    /// Its locks are laid out as another version of this library does it.
    WrongLayout {
        /// As it is.
        found: u32,
    },
    /// Whoever made it has not finished.
    NotReady,
    /// Somebody could make it shorter under its users, who would be killed by a signal when they touch what is gone.
    NotSealed,
    /// The system's error of this number.
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
            RegionError::NotReady => f.write_str("whoever made the region has not finished"),
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

/// The file's lock (`flock`), given up when this is dropped. The kernel does so when the process dies.
struct Locked<'a>(&'a OwnedFd);

impl Locked<'_> {
    fn new(file: &OwnedFd) -> Result<Locked<'_>, Errno> {
        loop {
            match rustix::fs::flock(file, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                outcome => return outcome.map(|()| Locked(file)),
            }
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Not left to the closing: a child forked by another thread meanwhile has the file open too. It cannot fail.
        let _ = rustix::fs::flock(self.0, FlockOperation::Unlock);
    }
}

/// Makes the file so long, and has the memory for it: else whoever touched it first where there is none left would be
/// killed by a signal.
fn allocate(file: &OwnedFd, length: usize) -> Result<(), Errno> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length as u64) {
            Err(Errno::INTR) => {}
            // A file system that cannot.
            Err(Errno::OPNOTSUPP) => return rustix::fs::ftruncate(file, length as u64),
            outcome => return outcome,
        }
    }
}

/// Memory that several processes map, with a `T` in it, which is never dropped.
///
/// One of them makes the value, however many begin at once, and whatever instant one is killed at: making it is under a
/// lock of the file that the kernel releases when its holder dies (and with it children that it forked meanwhile, which
/// hold the file open), and what a dead one left unfinished is begun anew. Nobody sees the value before that.
///
/// ```
/// use leeward::shared::{Mutex, Region};
/// let count = Region::<Mutex<u64>>::create(1, |_| {})?;
/// // ... fork; in each process:
/// *count.lock() += 1;
/// # assert_eq!(*count.lock(), 1);
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
#[derive(Debug)]
pub struct Region<T: AnyBytes + Sync> {
    map: Map,
    /// Of a region without a name: how others come to it.
    file: Option<OwnedFd>,
    value: PhantomData<T>,
}

impl<T: AnyBytes + Sync> Region<T> {
    /// All of it, in bytes.
    const LENGTH: usize = {
        assert!(align_of::<T>() <= VALUE, "a Region's value is aligned to 64 bytes at most");
        VALUE + size_of::<T>()
    };

    /// A new one without a name, sealed so that its size stays: for children of a fork, who have it as it is, and for
    /// who gets [`raw_fd`](Self::raw_fd).
    ///
    /// `make` finds zeroes. Four system calls, and the memory is there when it returns.
    ///
    /// # Errors
    /// [`RegionError::System`].
    pub fn create(version: u32, make: impl FnOnce(&mut T)) -> Result<Region<T>, RegionError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create(c"leeward", flags)?;
        allocate(&file, Self::LENGTH)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mut region = Self::map(file.as_fd())?;
        region.make(version, make);
        region.file = Some(file);
        Ok(region)
    }

    /// The one in the file of this name (`/dev/shm/...` is memory); made with rights for this user alone if it is not there.
    ///
    /// `make` finds zeroes; it is called if nobody has made the value, or finished making it. The file stays until somebody removes
    /// it, and whoever comes then begins another.
    ///
    /// # Errors
    /// [`RegionError`].
    ///
    /// # Safety
    /// Whoever else opens the file does so by way of `Region`, with a `T` of the same layout whenever `version` is the same, or
    /// keeps to that layout and to the locks' protocol; and nobody makes the file shorter.
    pub unsafe fn open(name: &CStr, version: u32, make: impl FnOnce(&mut T)) -> Result<Region<T>, RegionError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(name, flags, Mode::RUSR | Mode::WUSR)?;
        let locked = Locked::new(&file)?;
        if rustix::fs::fstat(&file)?.st_size == 0 {
            allocate(&file, Self::LENGTH).inspect_err(|_| {
                // On a full disk a file may have become longer all the same: who comes later begins anew.
                let _ = rustix::fs::ftruncate(&file, 0);
            })?;
        }
        let mut region = Self::map(file.as_fd())?;
        match region.check(version) {
            Err(RegionError::NotReady) => region.make(version, make),
            other => other?,
        }
        drop(locked);
        Ok(region)
    }

    /// The one that [`create`](Self::create) made, by another process that passed on its descriptor, which stays the
    /// caller's.
    ///
    /// # Errors
    /// [`RegionError`].
    ///
    /// # Safety
    /// `file` is open; and as [`open`](Self::open).
    pub unsafe fn from_raw_fd(file: RawFd, version: u32) -> Result<Region<T>, RegionError> {
        // SAFETY: the caller's promise.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        // Refused for what cannot be sealed at all.
        if !rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
            return Err(RegionError::NotSealed);
        }
        let region = Self::map(file)?;
        region.check(version)?;
        Ok(region)
    }

    /// The descriptor of a region without a name, open as long as this is.
    pub fn raw_fd(&self) -> Option<RawFd> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// The value for as long as the process lives: the region stays mapped.
    pub fn leak(self) -> &'static T {
        let this = core::mem::ManuallyDrop::new(self);
        // SAFETY: `value`, and never unmapped.
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

    /// Whether the value is there, and is this program's. `NotReady` is told only of what is ours or untouched.
    fn check(&self, version: u32) -> Result<(), RegionError> {
        let header = self.header();
        // Acquire: partner of the release in `make`.
        let state = header.state.load(Ordering::Acquire);
        // Relaxed, all: written before the state was, or under the file's lock.
        match (header.magic.load(Ordering::Relaxed), state) {
            (MAGIC, READY) => {}
            (MAGIC, 0) => return Err(RegionError::NotReady),
            (0, 0) if self.is_untouched() => return Err(RegionError::NotReady),
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

    /// Whether there are zeroes only: whoever began to make it wrote the magic number first.
    fn is_untouched(&self) -> bool {
        (0..self.map.length()).all(|offset| {
            let byte = self.map.start().as_ptr().wrapping_add(offset);
            // SAFETY: mapped; nobody writes to what has no magic number but who holds the file's lock.
            unsafe { byte.read() == 0 }
        })
    }

    /// Makes the value, anew if somebody began to.
    fn make(&mut self, version: u32, make: impl FnOnce(&mut T)) {
        // Relaxed, all but the last: nobody looks before the state says so, or without the file's lock.
        self.header().magic.store(MAGIC, Ordering::Relaxed);
        self.header().layout.store(LAYOUT, Ordering::Relaxed);
        self.header().version.store(version, Ordering::Relaxed);
        // SAFETY: mapped; nobody else looks at a value that is not ready.
        unsafe { self.value().write_bytes(0, 1) };
        // SAFETY: zeroes are a value, and nobody else has it.
        make(unsafe { &mut *self.value() });
        // Release: partner of the acquire in `check`.
        self.header().state.store(READY, Ordering::Release);
    }
}

impl<T: AnyBytes + Sync> Deref for Region<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: mapped as long as `self` is; any bytes are one; it is written through shared references only.
        unsafe { &*self.value() }
    }
}
