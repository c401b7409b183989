//! A robust readers-writer lock with its data. Calls `words`; its guards and its errors are beside
//! it.

mod error;
mod guards;
mod words;

use core::cell::UnsafeCell;
use core::fmt;
use core::time::Duration;

use super::{AnyBytes, ListError};
use crate::futex::{Deadline, Shared, Timeout};
use words::{Left, NotReading, Words};

pub use error::RwLockError;
pub use guards::{ReadGuard, WriteGuard};

/// A readers-writer lock that survives the death of its readers and writers, for memory that
/// processes share.
///
/// A reader that dies has changed nothing: the lock is as if it had unlocked, and no thread is
/// told. A writer that dies may have left the data half-written: the next thread that locks, *for
/// reading or for writing*, gets the lock for writing, with the news
/// ([`RwLockError::OwnerDied`]). It repairs the data and says so
/// ([`WriteGuard::mark_consistent`]).
///
/// ```
/// use leeward::robust::{RwLock, RwLockError};
/// static PAIR: RwLock<[u64; 2]> = RwLock::new([1, 1]);
/// // A writer that exits with the lock; or a process that is killed.
/// std::thread::spawn(|| std::mem::forget(PAIR.write())).join().unwrap();
/// let pair = loop {
///     match PAIR.read() {
///         Ok(pair) => break pair,
///         // This thread writes now.
///         Err(error) => drop(error.repair(|pair| pair[1] = pair[0])?),
///     }
/// };
/// assert_eq!(pair.get(), [1, 1]);
/// # drop(pair);
/// # Ok::<(), RwLockError<[u64; 2]>>(())
/// ```
///
/// # What a death means
/// | who died | the next locker gets |
/// |---|---|
/// | a reader, a thread that waits, a writer before it had the lock | what it asked for |
/// | a writer, or the one that repairs | [`RwLockError::OwnerDied`], with the lock for writing |
///
/// | who got `OwnerDied` | and dropped the guard | the next locker gets |
/// |---|---|---|
/// | by any call | marked consistent | what it asked for |
/// | by a call that reads | as it was | `OwnerDied`, in its turn: a reader may leave the repair to others |
/// | by a call that writes | as it was | [`RwLockError::NotRecoverable`], forever, as with [`Mutex`](super::Mutex) |
///
/// # Readers
/// At most `READERS` threads read at a time (32, unless the type says otherwise). One more waits
/// until any of them unlocks or dies, and holds up the readers and writers that come after it. Each
/// has a slot in the lock, of 64 bytes.
///
/// A thread that reads may read again if that needs no waiting; else it gets
/// [`RwLockError::WouldDeadlock`], because a writer may be waiting for its first guard.
///
/// # Fairness
/// A writer that comes holds up the readers that come after it, and waits for those only that were
/// inside. Writers, and readers that were held up, contend as for a robust
/// [`Mutex`](super::Mutex), in no fixed order. Readers that no writer holds up take no part in it.
///
/// # Layout
/// `repr(C)`, aligned to 64 bytes; zeroed memory is an unlocked lock around a zeroed `T`. The
/// writers' lock lies at 0, the slots at 64, the value after `READERS` slots. Processes that share
/// a lock must agree on `READERS`. There are robust locks on 64-bit systems only.
///
/// # Where it may lie
/// As for [`Mutex`](super::Mutex#where-it-may-lie): everything takes `&'static self`.
///
/// # Cost
/// - Reading, no writer there: a compare-exchange to lock, on a cache line that other readers
///   rarely use, and another to unlock, as a robust mutex, and a load of a word that only writers
///   write.
/// - Writing: a robust mutex, a full fence, and a load for each slot.
/// - Waiting: a short spin with some yields, then the shared futex. A reader that finds all slots
///   held marks and waits for all of them (`futex_waitv`; before Linux 5.16, and with more than 128
///   slots, it naps for up to 1.5 ms and looks at them again).
///
/// # Memory ordering
/// What a writer did, also one that died, happens before the return of each call that locks after
/// it; what a reader did, before the return of each call that locks for writing after it.
///
/// # Panics
/// Locking and unlocking do not panic. [`ReadGuard::with`] and [`WriteGuard::with`] do, in the
/// child of a fork.
///
/// # Fork, signals
/// [As the module says](super#fork). A signal handler may not lock or unlock.
#[repr(C)]
pub struct RwLock<T: AnyBytes, const READERS: usize = 32> {
    words: Words<READERS>,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lets one writer at a time have the value, or readers, on several threads, which
// `Sync` allows.
unsafe impl<T: AnyBytes + Sync, const READERS: usize> Sync for RwLock<T, READERS> {}

// SAFETY: words, of which any bytes are one; addresses that mean something to the owner's process
// and are used by the owner alone; and the value. `repr(C)`. In a region it is locked by a
// `'static` reference, so the region is leaked.
unsafe impl<T: AnyBytes, const READERS: usize> AnyBytes for RwLock<T, READERS> {}

impl<T: AnyBytes> RwLock<T> {
    /// Returns an unlocked lock around `value` with room for 32 readers, for a static or a box that
    /// is leaked. In a mapping, zeroes are one.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static LIMIT: RwLock<u64> = RwLock::new(10);
    /// assert_eq!(LIMIT.read().unwrap().get(), 10);
    /// ```
    pub const fn new(value: T) -> RwLock<T> {
        RwLock::with_readers(value)
    }
}

impl<T: AnyBytes, const READERS: usize> RwLock<T, READERS> {
    /// Returns an unlocked lock around `value` with room for `READERS` readers; see
    /// [`new`](RwLock::new). No room at all does not compile.
    ///
    /// ```
    /// use leeward::robust::{RwLock, RwLockError};
    /// static FEW: RwLock<u64, 1> = RwLock::with_readers(7);
    /// let first = FEW.read().unwrap();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert!(matches!(FEW.try_read(), Err(RwLockError::WouldBlock))));
    /// });
    /// # drop(first);
    /// ```
    pub const fn with_readers(value: T) -> RwLock<T, READERS> {
        RwLock { words: Words::new(), value: UnsafeCell::new(value) }
    }

    /// Returns the lock that lies at `place`, in a mapping of shared memory.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// // Any memory that stays, here of one process; zeroes are a lock.
    /// let place = Box::leak(Box::new(RwLock::new(0_u64)));
    /// // SAFETY: made by `new`, leaked, and of one process.
    /// let lock = unsafe { RwLock::at(place) };
    /// lock.write().unwrap().set(5);
    /// assert_eq!(lock.read().unwrap().get(), 5);
    /// ```
    ///
    /// # Panics
    /// If `place` is null or not aligned.
    ///
    /// # Safety
    /// What [`Mutex::at`](super::Mutex::at) asks for, of `size_of::<RwLock<T, READERS>>()` bytes:
    /// written by locks of this type only, mapped as long as they are used, by processes of one pid
    /// namespace. The references that [`ReadGuard::with`] and [`WriteGuard::with`] lend stay on
    /// their thread.
    pub unsafe fn at(place: *mut RwLock<T, READERS>) -> &'static RwLock<T, READERS>
    where
        T: Sync,
    {
        assert!(
            !place.is_null() && place.is_aligned(),
            "a robust readers-writer lock cannot lie at {place:?}: its address must be a multiple of {}",
            align_of::<RwLock<T, READERS>>()
        );
        // SAFETY: the caller's promise.
        unsafe { &*place }
    }

    /// Locks for reading, waiting as long as that takes.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static PAIR: RwLock<[u32; 2]> = RwLock::new([1, 2]);
    /// let pair = PAIR.read().unwrap();
    /// assert_eq!(pair.with(|pair| pair.iter().sum::<u32>()), 3);
    /// ```
    ///
    /// # Errors
    /// [`RwLockError::OwnerDied`], which holds the lock for writing; and all others but
    /// `WouldBlock` and `TimedOut`. `OwnerLost` comes after 30 seconds.
    #[inline]
    pub fn read(&'static self) -> Result<ReadGuard<T, READERS>, RwLockError<T, READERS>> {
        self.read_within(Timeout::Never)
    }

    /// Locks for reading if no writer has the lock or waits for it.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// assert_eq!(COUNT.try_read().unwrap().get(), 3);
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read); [`RwLockError::WouldBlock`] if a writer has the lock or waits for
    /// it, if `READERS` threads read, or if a writer has just gone and readers that it held up are
    /// coming in.
    #[inline]
    pub fn try_read(&'static self) -> Result<ReadGuard<T, READERS>, RwLockError<T, READERS>> {
        self.read_within(Timeout::Now)
    }

    /// Locks for reading, waiting for `limit` at most.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// assert_eq!(COUNT.try_read_for(std::time::Duration::from_millis(5)).unwrap().get(), 3);
    /// ```
    ///
    /// # Errors
    /// As [`try_read_until`](Self::try_read_until).
    pub fn try_read_for(&'static self, limit: Duration) -> Result<ReadGuard<T, READERS>, RwLockError<T, READERS>> {
        self.try_read_until(Deadline::after::<Shared>(limit))
    }

    /// Locks for reading, waiting until `deadline` at most.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Shared};
    /// use leeward::robust::RwLock;
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// let soon = Deadline::after::<Shared>(std::time::Duration::from_millis(5));
    /// assert_eq!(COUNT.try_read_until(soon).unwrap().get(), 3);
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read); [`RwLockError::TimedOut`], or [`RwLockError::OwnerLost`] if time is
    /// up and there is no such thread as the one that was waited for.
    pub fn try_read_until(&'static self, deadline: Deadline) -> Result<ReadGuard<T, READERS>, RwLockError<T, READERS>> {
        self.read_within(Timeout::At(deadline))
    }

    /// Locks for writing, waiting as long as that takes.
    ///
    /// ```
    /// use leeward::robust::{RwLock, RwLockError};
    /// static COUNT: RwLock<u64> = RwLock::new(0);
    /// match COUNT.write() {
    ///     Ok(mut count) => count.with(|count| *count += 1),
    ///     Err(RwLockError::OwnerDied(mut count)) => {
    ///         count.set(1); // repair
    ///         count.mark_consistent();
    ///     }
    ///     Err(error) => panic!("{error}"),
    /// }
    /// assert_eq!(COUNT.read().unwrap().get(), 1);
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    #[inline]
    pub fn write(&'static self) -> Result<WriteGuard<T, READERS>, RwLockError<T, READERS>> {
        self.write_within(Timeout::Never)
    }

    /// Locks for writing if no thread has the lock.
    ///
    /// ```
    /// use leeward::robust::{RwLock, RwLockError};
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// let reader = COUNT.read().unwrap();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| assert!(matches!(COUNT.try_write(), Err(RwLockError::WouldBlock))));
    /// });
    /// drop(reader);
    /// COUNT.try_write().unwrap().set(4);
    /// ```
    ///
    /// # Errors
    /// As [`write`](Self::write); [`RwLockError::WouldBlock`] if the lock is held, or another
    /// thread is just locking it.
    #[inline]
    pub fn try_write(&'static self) -> Result<WriteGuard<T, READERS>, RwLockError<T, READERS>> {
        self.write_within(Timeout::Now)
    }

    /// Locks for writing, waiting for `limit` at most.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// COUNT.try_write_for(std::time::Duration::from_millis(5)).unwrap().set(4);
    /// ```
    ///
    /// # Errors
    /// As [`try_write_until`](Self::try_write_until).
    pub fn try_write_for(&'static self, limit: Duration) -> Result<WriteGuard<T, READERS>, RwLockError<T, READERS>> {
        self.try_write_until(Deadline::after::<Shared>(limit))
    }

    /// Locks for writing, waiting until `deadline` at most. While it waits, it holds readers up.
    ///
    /// ```
    /// use leeward::futex::{Deadline, Shared};
    /// use leeward::robust::RwLock;
    /// static COUNT: RwLock<u32> = RwLock::new(3);
    /// let soon = Deadline::after::<Shared>(std::time::Duration::from_millis(5));
    /// COUNT.try_write_until(soon).unwrap().set(4);
    /// ```
    ///
    /// # Errors
    /// As [`try_read_until`](Self::try_read_until).
    pub fn try_write_until(
        &'static self,
        deadline: Deadline,
    ) -> Result<WriteGuard<T, READERS>, RwLockError<T, READERS>> {
        self.write_within(Timeout::At(deadline))
    }

    #[inline]
    fn read_within(&'static self, timeout: Timeout) -> Result<ReadGuard<T, READERS>, RwLockError<T, READERS>> {
        match self.words.read(timeout) {
            Ok(reading) => Ok(ReadGuard::new(self, reading)),
            Err(NotReading::OwnerDied(writing)) => {
                Err(RwLockError::OwnerDied(WriteGuard::new(self, writing, Left::ToTheNext)))
            }
            Err(NotReading::Refused(refusal)) => Err(RwLockError::of(refusal)),
        }
    }

    #[inline]
    fn write_within(&'static self, timeout: Timeout) -> Result<WriteGuard<T, READERS>, RwLockError<T, READERS>> {
        match self.words.write(timeout) {
            Ok(writing) if writing.is_inconsistent => {
                Err(RwLockError::OwnerDied(WriteGuard::new(self, writing, Left::Unusable)))
            }
            Ok(writing) => Ok(WriteGuard::new(self, writing, Left::Whole)),
            Err(refusal) => Err(RwLockError::of(refusal)),
        }
    }

    /// Returns true if it is unusable forever.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static LOCK: RwLock<u64> = RwLock::new(0);
    /// std::thread::spawn(|| std::mem::forget(LOCK.write())).join().unwrap();
    /// drop(LOCK.write()); // Not repaired.
    /// assert!(LOCK.is_unrecoverable());
    /// ```
    pub fn is_unrecoverable(&self) -> bool {
        self.words.is_unrecoverable()
    }

    /// Frees what the thread `owner` held of this lock, for reading or for writing, and the kernel
    /// did not give away. For [`RwLockError::OwnerLost`]. Returns false, and changes nothing, if it
    /// held nothing.
    ///
    /// ```
    /// use leeward::robust::RwLock;
    /// static LOCK: RwLock<u64> = RwLock::new(0);
    /// // SAFETY: no thread has a number above 2^22.
    /// assert_eq!(unsafe { LOCK.declare_owner_dead(1 << 23) }, Ok(false));
    /// ```
    ///
    /// # Errors
    /// [`ListError`]: this thread has no robust list.
    ///
    /// # Safety
    /// `owner` is dead, in every pid namespace.
    pub unsafe fn declare_owner_dead(&'static self, owner: u32) -> Result<bool, ListError> {
        // SAFETY: the caller's promise.
        unsafe { self.words.declare_dead(owner) }
    }
}

impl<T: AnyBytes, const READERS: usize> fmt::Debug for RwLock<T, READERS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock").field("is_unrecoverable", &self.is_unrecoverable()).finish_non_exhaustive()
    }
}
