//! What `Mutex` and `RwLock` have in common, and what their guards have.

/// Implements what a lock (a struct of a `flag` and a `lock`) has whatever its guards are: `locks! {
/// LOCK, TRY }`, where `TRY` locks the lock within for a look at the data.
macro_rules! locks {
    ($lock:ident, $try:ident) => {
        impl<T> $lock<T> {
            /// Returns an unlocked lock around `value`, not poisoned.
            pub const fn new(value: T) -> $lock<T> {
                $lock { flag: Flag::new(), lock: sync::$lock::new(value) }
            }
        }

        impl<T: ?Sized> $lock<T> {
            /// Returns true if the lock is poisoned; out of date when it returns, unless the caller
            /// holds the lock.
            #[inline]
            pub fn is_poisoned(&self) -> bool {
                self.flag.is_set()
            }

            /// Declares the data whole: the lock is not poisoned any more.
            pub fn clear_poison(&self) {
                self.flag.clear();
            }

            /// Returns the data.
            ///
            /// # Errors
            /// The lock is poisoned; the error has the data all the same.
            pub fn into_inner(self) -> LockResult<T>
            where
                T: Sized,
            {
                let $lock { flag, lock } = self;
                flag.result(lock.into_inner())
            }

            /// Returns the data to the only user of the lock, without locking it.
            ///
            /// # Errors
            /// The lock is poisoned; the error has the data all the same.
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                let $lock { flag, lock } = self;
                flag.result(lock.get_mut())
            }
        }

        impl<T: Default> Default for $lock<T> {
            fn default() -> $lock<T> {
                $lock::new(T::default())
            }
        }

        impl<T> From<T> for $lock<T> {
            fn from(value: T) -> $lock<T> {
                $lock::new(value)
            }
        }

        // The poison tells of a change that was broken off.
        impl<T: ?Sized> UnwindSafe for $lock<T> {}
        impl<T: ?Sized> RefUnwindSafe for $lock<T> {}

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut shown = f.debug_struct(stringify!($lock));
                match self.lock.$try() {
                    Some(data) => shown.field("data", &&*data),
                    None => shown.field("data", &format_args!("<locked>")),
                };
                shown.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
            }
        }
    };
}
pub(super) use locks;

/// Implements what a guard (a struct with a `guard` of `lock_api`'s) shows of the data; `mut` before
/// one that may change the data.
macro_rules! guards {
    (mut $guard:ident) => {
        guards! { $guard }

        impl<T: ?Sized> DerefMut for $guard<'_, T> {
            #[inline]
            fn deref_mut(&mut self) -> &mut T {
                &mut self.guard
            }
        }

        // The lock is poisoned where a change through the guard is broken off.
        impl<T: ?Sized> UnwindSafe for $guard<'_, T> {}
        impl<T: ?Sized> RefUnwindSafe for $guard<'_, T> {}
    };
    ($guard:ident) => {
        impl<T: ?Sized> Deref for $guard<'_, T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                &self.guard
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}
pub(super) use guards;
