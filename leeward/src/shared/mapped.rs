//! The guards of a part of a value in shared memory.

use core::marker::PhantomData;
use core::mem;
use core::ptr::NonNull;

use super::lock::{MutexGuard, RwLockReadGuard, RwLockWriteGuard, not_ours};
use crate::bytes::AnyBytes;
use crate::futex::Shared;
use crate::guard::guard;
use crate::process::fork_mark;
use crate::raw;

/// Makes the guard `$mapped` of a part of what `$guard` guards, whose drop calls `$unlock` of the
/// lock `$lock`, and whose fair unlock `$fair`. References to the part are `&`, or `&mut` if that is in the brackets.
macro_rules! mapped {
    ($(#[$meta:meta])* $mapped:ident, $guard:ident, $lock:ident $field:ident, $unlock:ident, $fair:ident,
        [$($exclusive:ident)?]) => {
        $(#[$meta])*
        #[must_use = "it is unlocked at once"]
        pub struct $mapped<'a, T: ?Sized> {
            lock: &'a raw::$lock<Shared>,
            /// The part. (A pointer keeps the guard on its thread.)
            part: NonNull<T>,
            /// The process that took the lock, by its `fork_mark`. In a child of a fork this guard
            /// is a copy, and opens nothing.
            process: u32,
            borrowed: PhantomData<&'a $($exclusive)? T>,
        }

        // SAFETY: a shared guard gives shared references to the part only.
        unsafe impl<T: ?Sized + Sync> Sync for $mapped<'_, T> {}

        impl<'a, T: AnyBytes> $guard<'a, T> {
            /// Makes the guard one of a part of the value, which `part` chooses. If `part` panics,
            /// the lock is unlocked.
            ///
            /// # Panics
            /// In the child of a fork, as all use of the guard's copy.
            #[track_caller]
            pub fn map<U: ?Sized>(
                #[allow(unused_mut)] mut guard: Self,
                part: impl FnOnce(&$($exclusive)? T) -> &$($exclusive)? U,
            ) -> $mapped<'a, U> {
                let part = NonNull::from(part(&$($exclusive)? guard));
                let (lock, process) = (&guard.$field.lock, guard.process);
                mem::forget(guard);
                $mapped { lock, part, process, borrowed: PhantomData }
            }
        }

        impl<'a, T: ?Sized> $mapped<'a, T> {
            /// Makes the guard one of a smaller part, which `part` chooses. If `part` panics, the
            /// lock is unlocked.
            ///
            /// # Panics
            /// In the child of a fork, as all use of the guard's copy.
            #[track_caller]
            pub fn map<U: ?Sized>(
                #[allow(unused_mut)] mut guard: Self,
                part: impl FnOnce(&$($exclusive)? T) -> &$($exclusive)? U,
            ) -> $mapped<'a, U> {
                let part = NonNull::from(part(&$($exclusive)? guard));
                let (lock, process) = (guard.lock, guard.process);
                mem::forget(guard);
                $mapped { lock, part, process, borrowed: PhantomData }
            }

            /// Unlocks the lock for a thread that sleeps for it, if there is one, as `unlock_fair` of
            /// the guard does that this one was made of.
            ///
            /// # Panics
            /// In the child of a fork, as all use of the guard's copy.
            #[track_caller]
            pub fn unlock_fair(guard: Self) {
                guard.must_be_ours();
                let lock = guard.lock;
                mem::forget(guard);
                // SAFETY: this process took the lock for the guard that this one was made of, and
                // both are gone.
                unsafe { lock.$fair() };
            }

            #[track_caller]
            fn must_be_ours(&self) {
                if !fork_mark::is_still(self.process) {
                    not_ours();
                }
            }
        }

        // The part is of a value for which this process took the lock; the guard gives that up when it
        // is dropped.
        guard! {
            #[track_caller]
            $mapped<'_, T> [T: ?Sized], $($exclusive)? self => {
                self.must_be_ours();
                self.part.as_ptr()
            }
        }

        impl<T: ?Sized> Drop for $mapped<'_, T> {
            fn drop(&mut self) {
                if fork_mark::is_still(self.process) {
                    // SAFETY: this process took the lock for the guard that this one was made of,
                    // and that one is not dropped.
                    unsafe { self.lock.$unlock() };
                }
            }
        }
    };
}

mapped!(
    /// An exclusive reference to a part of the value of a [`Mutex`](super::Mutex); dropping it
    /// unlocks. It is not `Send`, and its copy in the child of a fork opens nothing, as that of a
    /// [`MutexGuard`].
    ///
    /// ```
    /// use leeward::shared::{MappedMutexGuard, Mutex, MutexGuard};
    /// let mutex = Mutex::new([1, 2]);
    /// let mut last: MappedMutexGuard<'_, u32> = MutexGuard::map(mutex.lock(), |pair| &mut pair[1]);
    /// *last = 3;
    /// MappedMutexGuard::unlock_fair(last);
    /// assert_eq!(*mutex.lock(), [1, 3]);
    /// ```
    MappedMutexGuard, MutexGuard, Mutex mutex, unlock, unlock_fair, [mut]
);
mapped!(
    /// A shared reference to a part of the value of a [`RwLock`](super::RwLock); dropping it
    /// unlocks. It is not `Send`, and its copy in the child of a fork opens nothing, as that of a
    /// [`MutexGuard`].
    ///
    /// ```
    /// use leeward::shared::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
    /// let lock = RwLock::new([1, 2]);
    /// let last: MappedRwLockReadGuard<'_, u32> = RwLockReadGuard::map(lock.read(), |pair| &pair[1]);
    /// assert_eq!(*last, 2);
    /// assert!(lock.try_write().is_none());
    /// ```
    MappedRwLockReadGuard, RwLockReadGuard, RwLock rwlock, unlock_shared, unlock_shared_fair, []
);
mapped!(
    /// An exclusive reference to a part of the value of a [`RwLock`](super::RwLock); dropping it
    /// unlocks. It is not `Send`, and its copy in the child of a fork opens nothing, as that of a
    /// [`MutexGuard`].
    ///
    /// ```
    /// use leeward::shared::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
    /// let lock = RwLock::new([1, 2]);
    /// let mut last: MappedRwLockWriteGuard<'_, u32> = RwLockWriteGuard::map(lock.write(), |pair| &mut pair[1]);
    /// *last = 3;
    /// drop(last);
    /// assert_eq!(*lock.read(), [1, 3]);
    /// ```
    MappedRwLockWriteGuard, RwLockWriteGuard, RwLock rwlock, unlock_exclusive, unlock_exclusive_fair, [mut]
);
