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

const MAGIC_AT: usize = core::mem::offset_of!(Header, magic);
const STATE_AT: usize = core::mem::offset_of!(Header, state);

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

/// A file without a name, of which no program can be made: hardened systems (`vm.memfd_noexec`)
/// demand that it be said.
fn sealable() -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match rustix::fs::memfd_create(c"leeward", flags | MemfdFlags::NOEXEC_SEAL) {
        // Before Linux 6.3.
        Err(Errno::INVAL) => rustix::fs::memfd_create(c"leeward", flags),
        outcome => outcome,
    }
}

/// Makes the file so long, and has the memory for it: else whoever touched it first where there is none left would be
/// killed by a signal.
fn allocate(file: &OwnedFd, length: u64) -> Result<(), Errno> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length) {
            Err(Errno::INTR) => {}
            // A file system that cannot.
            Err(Errno::OPNOTSUPP) => return rustix::fs::ftruncate(file, length),
            outcome => return outcome,
        }
    }
}

/// The same of a file of `found` bytes, which may be more; where there is no memory, the length
/// stays.
fn resize(file: &OwnedFd, found: u64, length: u64) -> Result<(), Errno> {
    if found > length {
        rustix::fs::ftruncate(file, length)?;
    }
    allocate(file, length).inspect_err(|_| {
        // On a full disk a file may have become longer all the same.
        let _ = rustix::fs::ftruncate(file, found);
    })
}

/// Whether a file of `found` bytes is what a maker leaves that was killed: nothing, zeroes (its
/// memory was being allocated, which some file systems do piece by piece), or a header of ours that
/// does not say that the value is ready.
///
/// A file of zeroes that is longer than `length` no maker of this value has left: it may be another
/// program's.
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

fn read_at(file: &OwnedFd, room: &mut [u8], place: u64) -> Result<usize, Errno> {
    loop {
        match rustix::io::pread(file, &mut *room, place) {
            Err(Errno::INTR) => {}
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
/// # Whom it trusts
/// A process that has the memory is trusted as a thread of this one is: to come by way of `Region`
/// with the same `T`, to change the value by its locks and atomics only, and, of a robust lock, to
/// lend no reference of [`Guard::with`](crate::robust::Guard::with) to another thread. The callers
/// of [`open`](Self::open) and [`from_raw_fd`](Self::from_raw_fd) promise it of all others; who
/// gives the [descriptor](Self::raw_fd) away, or forks, promises it of whoever gets the memory so.
///
/// Of a process that does otherwise: it can write any bytes at any time, whoever holds a lock, by
/// its mapping and by `write`, and can turn them into zeroes. It cannot make a region without a
/// name shorter or longer, nor forbid writing it. Whoever may open a region's *file* can make that
/// shorter, so that who touches what is gone is killed by `SIGBUS`, and can keep the file's lock,
/// for which `open` waits. There is no share for looking only: locks are words, which their readers
/// write.
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
        let file = sealable()?;
        allocate(&file, Self::LENGTH as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mut region = Self::map(file.as_fd())?;
        region.make(version, make);
        region.file = Some(file);
        Ok(region)
    }

    /// The one in the file of this name (`/dev/shm/...` is memory); made with rights for this user alone if it is not there.
    ///
    /// `make` finds zeroes; it is called if nobody has made the value, or finished making it,
    /// wherever who began was killed. The file stays until somebody removes it, and whoever comes
    /// then begins another.
    ///
    /// # Errors
    /// [`RegionError`].
    ///
    /// # Safety
    /// Whoever else opens the file does so by way of `Region`, with a `T` of the same layout
    /// whenever `version` is the same, or keeps to that layout and to the locks' protocol; and
    /// nobody makes the file shorter. [Whom it trusts](Self#whom-it-trusts) says more.
    pub unsafe fn open(name: &CStr, version: u32, make: impl FnOnce(&mut T)) -> Result<Region<T>, RegionError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = rustix::fs::open(name, flags, Mode::RUSR | Mode::WUSR)?;
        let locked = Locked::new(&file)?;
        let (found, length) = (rustix::fs::fstat(&file)?.st_size as u64, Self::LENGTH as u64);
        let is_unfinished = is_unfinished(&file, found, length)?;
        if is_unfinished {
            // Nobody uses it: who makes a value has the lock, and so have the children that it
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

    /// The descriptor of a region without a name, open as long as this is. Whoever gets it can
    /// write the memory: see [above](Self#whom-it-trusts).
    pub fn raw_fd(&self) -> Option<RawFd> {
        self.file.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// The value for as long as the process lives: the region stays mapped.
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

    /// Whether the value is there, and is this program's.
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
        // SAFETY: mapped as long as `self` is, aligned and long enough (`LENGTH`), and any bytes
        // are a value. There is no mutable reference to it: `make` had the only one, before the
        // value was ready and any other process could come to it. Since then it is written through
        // shared references, by the interior mutability of a `T` that is `Sync`, in this process
        // and in those that keep what `open`'s and `from_raw_fd`'s callers promise of them.
        unsafe { &*self.value() }
    }
}
