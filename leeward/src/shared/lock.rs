//! Data of several processes under a lock.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

use crate::bytes::AnyBytes;
use crate::futex::{Deadline, Shared};
use crate::mutant::mutated;
use crate::process::fork_mark;
use crate::raw;

/// A mutex of several processes; see [`raw::Mutex`] for what it costs and promises.
#[repr(C)]
pub struct Mutex<T: AnyBytes> {
    pub(super) lock: raw::Mutex<Shared>,
    value: UnsafeCell<T>,
}

/// A readers-writer lock of several processes; see [`raw::RwLock`] for what it promises.
#[repr(C)]
pub struct RwLock<T: AnyBytes> {
    lock: raw::RwLock<Shared>,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the value.
unsafe impl<T: AnyBytes> Sync for Mutex<T> {}
// SAFETY: one thread at a time has the value, or any share it.
unsafe impl<T: AnyBytes + Sync> Sync for RwLock<T> {}

impl<T: AnyBytes> Mutex<T> {
    /// An unlocked one.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { lock: raw::Mutex::new(), value: UnsafeCell::new(value) }
    }

    /// Locks it, waiting as long as that takes.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.lock.lock();
        self.guard()
    }

    /// Locks it if nobody holds it.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.lock.try_lock().then(|| self.guard())
    }

    /// Locks it within `limit`.
    pub fn try_lock_for(&self, limit: Duration) -> Option<MutexGuard<'_, T>> {
        (self.lock.try_lock() || self.lock.try_lock_until(Deadline::after::<Shared>(limit))).then(|| self.guard())
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard { mutex: self, process: fork_mark::now(), is_this_threads: PhantomData }
    }
}

impl<T: AnyBytes> RwLock<T> {
    /// An unlocked one.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { lock: raw::RwLock::new(), value: UnsafeCell::new(value) }
    }

    /// Locks it for reading. With 1,048,574 readers inside it waits until one has left.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.lock.lock_shared();
        self.reading()
    }

    /// Locks it for reading if no writer holds it or waits.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.lock.try_lock_shared().then(|| self.reading())
    }

    /// Locks it for reading within `limit`.
    pub fn try_read_for(&self, limit: Duration) -> Option<RwLockReadGuard<'_, T>> {
        (self.lock.try_lock_shared() || self.lock.lock_shared_until(Deadline::after::<Shared>(limit)))
            .then(|| self.reading())
    }

    /// Locks it for writing.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.lock.lock_exclusive();
        self.writing()
    }

    /// Locks it for writing if nobody holds it.
    #[inline]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        self.lock.try_lock_exclusive().then(|| self.writing())
    }

    /// Locks it for writing within `limit`.
    pub fn try_write_for(&self, limit: Duration) -> Option<RwLockWriteGuard<'_, T>> {
        (self.lock.try_lock_exclusive() || self.lock.lock_exclusive_until(Deadline::after::<Shared>(limit)))
            .then(|| self.writing())
    }

    fn reading(&self) -> RwLockReadGuard<'_, T> {
        RwLockReadGuard { rwlock: self, process: fork_mark::now(), is_this_threads: PhantomData }
    }

    fn writing(&self) -> RwLockWriteGuard<'_, T> {
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
fn not_ours() -> ! {
    panic!("this guard of a shared lock is a fork's copy: the parent holds the lock")
}

/// A guard: which lock, and how it is given up.
macro_rules! guard {
    ($(#[$meta:meta])* $guard:ident, $lock:ident, $field:ident, $unlock:ident) => {
        $(#[$meta])*
        #[must_use = "it is unlocked at once"]
        pub struct $guard<'a, T: AnyBytes> {
            pub(super) $field: &'a $lock<T>,
            /// The process that took the lock, by its `fork_mark`: in a child of a fork this is a
            /// copy, and opens nothing.
            process: u32,
            is_this_threads: PhantomData<*const ()>,
        }

        // SAFETY: sharing a guard shares the value.
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

        impl<T: AnyBytes> Deref for $guard<'_, T> {
            type Target = T;

            #[inline]
            #[track_caller]
            fn deref(&self) -> &T {
                self.must_be_ours();
                // SAFETY: this process took the lock when the guard was made, and gives it up when
                // the guard is dropped.
                unsafe { &*self.$field.value.get() }
            }
        }

        impl<T: AnyBytes> Drop for $guard<'_, T> {
            #[inline]
            fn drop(&mut self) {
                if self.is_ours() {
                    // SAFETY: this process took the lock when the guard was made, and a guard is
                    // dropped once. Its copy in the child of a fork, for which the lock was not
                    // taken, is not this process's.
                    unsafe { self.$field.lock.$unlock() };
                }
            }
        }

        impl<T: AnyBytes + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

guard!(
    /// An open lock of a [`Mutex`]. Its copy in the child of a fork opens nothing: its drop does
    /// nothing, and to ask it for the value is a panic.
    MutexGuard, Mutex, mutex, unlock
);
guard!(
    /// A [`RwLock`] open for reading. Its copy in the child of a fork opens nothing, as that of a
    /// [`MutexGuard`].
    RwLockReadGuard, RwLock, rwlock, unlock_shared
);
guard!(
    /// A [`RwLock`] open for writing. Its copy in the child of a fork opens nothing, as that of a
    /// [`MutexGuard`].
    RwLockWriteGuard, RwLock, rwlock, unlock_exclusive
);

impl<T: AnyBytes> DerefMut for MutexGuard<'_, T> {
    #[inline]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        self.must_be_ours();
        // SAFETY: as in `deref`, and this guard is borrowed alone.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: AnyBytes> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        self.must_be_ours();
        // SAFETY: as in `deref`, locked for writing, and this guard is borrowed alone.
        unsafe { &mut *self.rwlock.value.get() }
    }
}
