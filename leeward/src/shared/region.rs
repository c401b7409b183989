//! Memory that several processes map, with a value in it that one of them has made. Calls
//! [`raw_region`](super::raw_region), and gives it the value's type.

use core::ffi::CStr;
use core::marker::PhantomData;
use core::ops::Deref;

use rustix::fd::RawFd;

use super::RegionError;
use super::header::VALUE;
use super::raw_region::{Opened, RawRegion, Unfinished};
use crate::bytes::AnyBytes;

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
    raw: RawRegion,
    value: PhantomData<T>,
}

impl<T: AnyBytes + Sync> Region<T> {
    /// The value's size in bytes.
    const SIZE: usize = {
        assert!(align_of::<T>() <= VALUE, "leeward: a Region's value is aligned to 64 bytes at most");
        size_of::<T>()
    };

    /// Makes a region without a name, sealed so that its size stays: for children of a fork, which
    /// have it as it is, and for processes that are given [`raw_fd`](Self::raw_fd).
    ///
    /// `make` finds zeroes.
    ///
    /// ```
    /// use leeward::shared::{Mutex, Region};
    /// let total = Region::<Mutex<u64>>::create(1, |total| *total = Mutex::new(7))?;
    /// assert_eq!(*total.lock(), 7);                   // for the children of forks, too
    /// # Ok::<(), leeward::shared::RegionError>(())
    /// ```
    ///
    /// # Errors
    /// [`RegionError::System`].
    pub fn create(version: u32, make: impl FnOnce(&mut T)) -> Result<Region<T>, RegionError> {
        Ok(Self::make(RawRegion::create(Self::SIZE, version)?, make))
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
        match RawRegion::open(name, Self::SIZE, version)? {
            Opened::Finished(raw) => Ok(Self::of(raw)),
            Opened::Unfinished(new) => Ok(Self::make(new, make)),
        }
    }

    /// Opens the region that [`create`](Self::create) made, in another process that passed its
    /// descriptor on. The descriptor stays the caller's.
    ///
    /// ```
    /// use leeward::shared::{Mutex, Region};
    /// let mine = Region::<Mutex<u64>>::create(1, |_| {})?;
    /// // Another process would be sent the descriptor, or inherit it.
    /// let file = mine.raw_fd().unwrap();
    /// // SAFETY: it is open, and all its users are this program, with this type and version.
    /// let theirs = unsafe { Region::<Mutex<u64>>::from_raw_fd(file, 1) }?;
    /// *mine.lock() += 1;
    /// let theirs: &'static Mutex<u64> = theirs.leak();
    /// assert_eq!(*theirs.lock(), 1);
    /// # Ok::<(), leeward::shared::RegionError>(())
    /// ```
    ///
    /// # Errors
    /// [`RegionError`].
    ///
    /// # Safety
    /// `file` is open, and the caller promises what [`open`](Self::open) asks for.
    pub unsafe fn from_raw_fd(file: RawFd, version: u32) -> Result<Region<T>, RegionError> {
        // SAFETY: the caller's promise.
        unsafe { RawRegion::from_raw_fd(file, Self::SIZE, version) }.map(Self::of)
    }

    /// Returns the descriptor of a region without a name, which is open as long as this is. A
    /// process that gets it can write the memory: see [above](Self#whom-it-trusts).
    pub fn raw_fd(&self) -> Option<RawFd> {
        self.raw.raw_fd()
    }

    /// Returns the value for as long as the process lives: the region stays mapped.
    pub fn leak(self) -> &'static T {
        let this = core::mem::ManuallyDrop::new(self);
        // SAFETY: as in `deref`; and never unmapped.
        unsafe { &*this.value() }
    }

    fn of(raw: RawRegion) -> Region<T> {
        Region { raw, value: PhantomData }
    }

    fn value(&self) -> *mut T {
        self.raw.value().as_ptr().cast()
    }

    /// Makes the value of a region in which there are zeroes.
    fn make(new: Unfinished, make: impl FnOnce(&mut T)) -> Region<T> {
        // SAFETY: mapped, aligned, of the value's size; zeroes are a value, and no other reference
        // to it exists, since no other process looks at a value that is not finished.
        make(unsafe { new.value().cast().as_mut() });
        Self::of(new.finish())
    }
}

impl<T: AnyBytes + Sync> Deref for Region<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: mapped as long as `self` is, aligned and long enough (`SIZE`), and any bytes
        // are a value. There is no mutable reference to it: `make` had the only one, before the
        // value was ready and any other process could come to it. Since then it is written through
        // shared references, by the interior mutability of a `T` that is `Sync`, in this process
        // and in those that keep what the callers of `open` and `from_raw_fd` promise of them.
        unsafe { &*self.value() }
    }
}
