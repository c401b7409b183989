//! The mutex and the readers-writer lock of several processes, with their data and guards. Calls
//! [`raw::Mutex`] and [`raw::RwLock`].

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use crate::bytes::AnyBytes;
use crate::futex::{Deadline, Shared};
use crate::guard::guard;
use crate::marker::GuardNoSend;
use crate::mutant::mutated;
use crate::process::fork_mark;
use crate::raw;

/// A mutex of several processes, with the value that it guards.
///
/// ```
/// use leeward::shared::{Mutex, Region};
/// let total = Region::<Mutex<u64>>::create(1, |_| {})?;
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *total.lock() += 1); // or in other processes
///     }
/// });
/// assert_eq!(*total.lock(), 4);
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
///
/// # Cost
/// As [`raw::Mutex`], which also has the bound on waiting: uncontended, a compare-exchange to lock
/// and one to unlock. The kernel finds a sleeper by what is mapped at the address, which takes it
/// longer than in one process. Each use of a guard compares the [fork mark](super#fork).
///
/// # Memory ordering
/// Everything that was done under the lock before, in any process, happens before the return of a
/// call that locks.
///
/// # Differences from std
/// - No poisoning: a panic unlocks, and `lock` returns a guard.
/// - The value is [`AnyBytes`], it is never dropped, and there is no `into_inner`.
/// - Zeroed memory is an unlocked mutex around a zeroed value.
///
/// # Differences from `PTHREAD_PROCESS_SHARED`
/// - There are no attributes and nothing to initialise or destroy.
/// - The time limit is on the monotonic clock.
/// - A holder that is killed leaves the lock held, as pthread's default (`PTHREAD_MUTEX_STALLED`)
///   does. [`robust::Mutex`](crate::robust::Mutex) is the other kind.
/// - A copy of a guard in the child of a fork unlocks nothing.
///
/// # Panics, fork, signals
/// [As the module says](super#panics).
#[repr(C)]
pub struct Mutex<T: AnyBytes> {
    pub(super) lock: raw::Mutex<Shared>,
    value: UnsafeCell<T>,
}

/// A readers-writer lock of several processes, with the value that it guards.
///
/// ```
/// use leeward::shared::{Region, RwLock};
/// let limits = Region::<RwLock<[u32; 2]>>::create(1, |_| {})?;
/// *limits.write() = [10, 20];
/// let (one, two) = (limits.read(), limits.read());
/// assert_eq!(*one, *two);
/// assert!(limits.try_write().is_none());
/// # Ok::<(), leeward::shared::RegionError>(())
/// ```
///
/// # Cost, fairness
/// As [`raw::RwLock`]: uncontended, a compare-exchange to lock, a subtraction or compare-exchange
/// to unlock. Readers write the lock's word too, so there is no share for reading only. Reads do
/// not nest: a thread that reads may deadlock with a writer that waits.
///
/// # Differences from std and from `PTHREAD_PROCESS_SHARED`
/// As [`Mutex`] has them.
///
/// # Panics, fork, signals
/// [As the module says](super#panics).
#[repr(C)]
pub struct RwLock<T: AnyBytes> {
    pub(super) lock: raw::RwLock<Shared>,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the value.
unsafe impl<T: AnyBytes> Sync for Mutex<T> {}
// SAFETY: one thread at a time has the value, or any share it.
unsafe impl<T: AnyBytes + Sync> Sync for RwLock<T> {}

impl<T: AnyBytes> Mutex<T> {
    /// Returns an unlocked mutex around `value`.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { lock: raw::Mutex::new_in(), value: UnsafeCell::new(value) }
    }

    /// Locks the lock, waiting as long as that takes.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.lock.lock();
        self.guard()
    }

    /// Locks the mutex if it is neither held nor reserved for a thread that has waited. Returns
    /// `None` otherwise.
    ///
    /// ```
    /// use leeward::shared::Mutex;
    /// use std::time::Duration;
    /// let total = Mutex::new(1);
    /// let guard = total.try_lock().unwrap();
    /// assert!(total.try_lock().is_none());
    /// assert!(total.try_lock_for(Duration::from_millis(1)).is_none());
    /// assert_eq!(*guard, 1);
    /// ```
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.lock.try_lock().then(|| self.guard())
    }

    /// Locks the lock, or returns `None` once `limit` has passed.
    pub fn try_lock_for(&self, limit: Duration) -> Option<MutexGuard<'_, T>> {
        (self.lock.try_lock() || self.lock.try_lock_until(Deadline::after::<Shared>(limit))).then(|| self.guard())
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, process: fork_mark::now(), is_this_threads: PhantomData }
    }
}

impl<T: AnyBytes> RwLock<T> {
    /// Returns an unlocked lock around `value`.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { lock: raw::RwLock::new_in(), value: UnsafeCell::new(value) }
    }

    /// Locks the lock for reading. Waits until no writer holds it or waits for it; and, if
    /// 1,048,574 readers are inside, until one has left.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.lock.lock_shared();
        self.reading()
    }

    /// Locks the lock for reading if no writer holds it or waits. Returns `None` otherwise.
    ///
    /// ```
    /// use leeward::shared::RwLock;
    /// use std::time::Duration;
    /// let limit = RwLock::new(1);
    /// let reader = limit.try_read().unwrap();
    /// assert!(limit.try_read_for(Duration::from_secs(1)).is_some());
    /// assert!(limit.try_write_for(Duration::from_millis(1)).is_none());
    /// assert_eq!(*reader, 1);
    /// ```
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.lock.try_lock_shared().then(|| self.reading())
    }

    /// Locks the lock for reading, or returns `None` once `limit` has passed.
    pub fn try_read_for(&self, limit: Duration) -> Option<RwLockReadGuard<'_, T>> {
        (self.lock.try_lock_shared() || self.lock.lock_shared_until(Deadline::after::<Shared>(limit)))
            .then(|| self.reading())
    }

    /// Locks the lock for writing, waiting as long as that takes.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.lock.lock_exclusive();
        self.writing()
    }

    /// Locks the lock for writing if no thread is inside and no reader was bypassed. Returns `None`
    /// otherwise.
    #[inline]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.lock.try_lock_exclusive().then(|| self.writing())
    }

    /// Locks the lock for writing, or returns `None` once `limit` has passed.
    pub fn try_write_for(&self, limit: Duration) -> Option<RwLockWriteGuard<'_, T>> {
        (self.lock.try_lock_exclusive() || self.lock.lock_exclusive_until(Deadline::after::<Shared>(limit)))
            .then(|| self.writing())
    }

    pub(super) fn reading(&self) -> RwLockReadGuard<'_, T> {
        RwLockReadGuard { rwlock: self, process: fork_mark::now(), is_this_threads: PhantomData }
    }

    pub(super) fn upgradable(&self) -> RwLockUpgradableReadGuard<'_, T> {
        RwLockUpgradableReadGuard { rwlock: self, process: fork_mark::now(), is_this_threads: PhantomData }
    }

    pub(super) fn writing(&self) -> RwLockWriteGuard<'_, T> {
        RwLockWriteGuard { rwlock: self, process: fork_mark::now(), is_this_threads: PhantomData }
    }
}

impl<T: AnyBytes> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("shared::Mutex")
    }
}

impl<T: AnyBytes> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("shared::RwLock").field(&self.lock).finish()
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn not_ours() -> ! {
    panic!("leeward: this guard of a shared lock is a fork's copy: the parent holds the lock")
}

/// Makes the guard `$guard` of `$lock`, whose drop calls `$unlock`, and which is exclusive if `mut` is
/// in the brackets.
macro_rules! lock_guard {
    ($(#[$meta:meta])* $guard:ident, $lock:ident, $field:ident, $unlock:ident, [$($exclusive:ident)?]) => {
        $(#[$meta])*
        #[must_use = "it is unlocked at once"]
        pub struct $guard<'a, T: AnyBytes> {
            pub(super) $field: &'a $lock<T>,
            /// The process that took the lock, by its `fork_mark`. In a child of a fork this guard
            /// is a copy, and opens nothing.
            pub(super) process: u32,
            is_this_threads: PhantomData<GuardNoSend>,
        }

        // SAFETY: a shared guard gives shared references to the value only.
        unsafe impl<T: AnyBytes + Sync> Sync for $guard<'_, T> {}

        impl<T: AnyBytes> $guard<'_, T> {
            #[inline]
            fn is_ours(&self) -> bool {
                fork_mark::is_still(self.process) || mutated!(shared_fork_mark)
            }

            #[inline]
            #[track_caller]
            pub(super) fn must_be_ours(&self) {
                if !self.is_ours() {
                    not_ours();
                }
            }
        }

        // This process took the lock when the guard was made, and gives it up when the guard is
        // dropped.
        guard! {
            #[track_caller]
            $guard<'_, T> [T: AnyBytes], $($exclusive)? self => {
                self.must_be_ours();
                self.$field.value.get()
            }
        }

        impl<T: AnyBytes> Drop for $guard<'_, T> {
            #[inline]
            fn drop(&mut self) {
                if self.is_ours() {
                    // SAFETY: this process took the lock when the guard was made, and a guard is
                    // dropped once. The child of a fork, for which the lock was not taken, does not
                    // come here with its copy.
                    unsafe { self.$field.lock.$unlock() };
                }
            }
        }
    };
}

lock_guard!(
    /// An exclusive reference to the value of a [`Mutex`]; dropping it unlocks. It is not `Send`.
    ///
    /// Its copy in the child of a fork opens nothing: its drop does nothing, and asking it for the
    /// value is a panic.
    ///
    /// ```
    /// use leeward::shared::{Mutex, MutexGuard};
    /// let mutex = Mutex::new([1, 2]);
    /// let mut guard: MutexGuard<'_, [u32; 2]> = mutex.lock();
    /// guard.swap(0, 1);
    /// assert_eq!(*guard, [2, 1]);
    /// ```
    MutexGuard, Mutex, mutex, unlock, [mut]
);
lock_guard!(
    /// A shared reference to the value of a [`RwLock`]; dropping it unlocks. It is not `Send`, and
    /// its copy in the child of a fork opens nothing, as that of a [`MutexGuard`].
    ///
    /// ```
    /// use leeward::shared::{RwLock, RwLockReadGuard};
    /// let lock = RwLock::new(1);
    /// let guard: RwLockReadGuard<'_, u32> = lock.read();
    /// assert_eq!(*guard, 1);
    /// ```
    RwLockReadGuard, RwLock, rwlock, unlock_shared, []
);
lock_guard!(
    /// A shared reference to the value of a [`RwLock`], of which one is there at a time beside other
    /// readers' and which may become an exclusive one; dropping it unlocks. It is not `Send`, and its
    /// copy in the child of a fork opens nothing, as that of a [`MutexGuard`].
    ///
    /// ```
    /// use leeward::shared::{RwLock, RwLockUpgradableReadGuard};
    /// let lock = RwLock::new(1);
    /// let guard: RwLockUpgradableReadGuard<'_, u32> = lock.upgradable_read();
    /// if *guard == 1 {
    ///     *RwLockUpgradableReadGuard::upgrade(guard) = 2;
    /// }
    /// assert_eq!(*lock.read(), 2);
    /// ```
    RwLockUpgradableReadGuard, RwLock, rwlock, unlock_upgradable, []
);
lock_guard!(
    /// An exclusive reference to the value of a [`RwLock`]; dropping it unlocks. It is not `Send`,
    /// and its copy in the child of a fork opens nothing, as that of a [`MutexGuard`].
    ///
    /// ```
    /// use leeward::shared::{RwLock, RwLockWriteGuard};
    /// let lock = RwLock::new(1);
    /// let mut guard: RwLockWriteGuard<'_, u32> = lock.write();
    /// *guard += 1;
    /// drop(guard);
    /// assert_eq!(*lock.read(), 2);
    /// ```
    RwLockWriteGuard, RwLock, rwlock, unlock_exclusive, [mut]
);
