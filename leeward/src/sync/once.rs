//! Values that are initialised once: std's `OnceLock` and `LazyLock` over this library's
//! [`Once`](crate::raw::Once).

use core::cell::{Cell, UnsafeCell};
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};
use core::panic::{RefUnwindSafe, UnwindSafe};

use super::Once;

/// A place for a value that is stored once; std's `OnceLock`, a `use` line away.
///
/// An initialiser that panics leaves it empty, for the next caller to try. What the initialiser did
/// happens before the return of each call that returns the value.
///
/// ```
/// use leeward::sync::OnceLock;
/// static NAME: OnceLock<String> = OnceLock::new();
/// assert_eq!(NAME.get(), None);
/// assert_eq!(NAME.get_or_init(|| "first".into()), "first");
/// assert_eq!(NAME.set("second".into()), Err("second".into()));
/// assert_eq!(NAME.wait(), "first");               // waits for a `set` by another thread
/// let mut own = OnceLock::from(1);
/// *own.get_mut().unwrap() += 1;
/// assert_eq!((own.take(), own.into_inner()), (Some(2), None));
/// ```
///
/// Cost and fork: [`raw::Once`](crate::raw::Once).
///
/// # Differences from std
/// - An initialiser that asks for its own value panics; std leaves it open whether that panics or
///   waits forever.
/// - It is there without std, and [`wait`](Self::wait) with Rust before 1.86.
/// - What the value borrows must outlive the place. std's may be dropped after it, which only std may
///   promise (`may_dangle`); `get_or_try_init`, unstable there, is not here.
pub struct OnceLock<T> {
    once: Once,
    /// The value, initialised if `once` is completed.
    value: UnsafeCell<MaybeUninit<T>>,
    owned: PhantomData<T>,
}

// SAFETY: threads share the value (Sync), and the one that stores or drops it may be another than
// the one that reads it (Send).
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// Returns an empty place.
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: UnsafeCell::new(MaybeUninit::uninit()), owned: PhantomData }
    }

    /// Returns the value, if it is there.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        if !self.once.is_completed() {
            return None;
        }
        // SAFETY: no thread writes it any more.
        let value = unsafe { &*self.value.get() };
        // SAFETY: completed.
        Some(unsafe { value.assume_init_ref() })
    }

    /// Returns the value for writing, if it is there.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if !self.once.is_completed() {
            return None;
        }
        // SAFETY: completed.
        Some(unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// Stores the value. Waits while another thread initialises it.
    ///
    /// # Errors
    /// There is a value already: `value` comes back.
    ///
    /// # Panics
    /// If it is called within the initialiser of this value.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("an initialiser runs once"));
        value.map_or(Ok(()), Err)
    }

    /// Returns the value; if it is not there, stores what `make` returns first. Waits while another
    /// thread initialises it.
    ///
    /// # Panics
    /// - If `make` does; the place stays empty.
    /// - If it is called from within `make`, which would wait for itself.
    #[inline]
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, make: F) -> &T {
        self.once.call_once(|| {
            let value = make();
            // SAFETY: no other thread is here, and none reads the value before this has returned.
            unsafe { (*self.value.get()).write(value) };
        });
        self.get().expect("an initialiser has run")
    }

    /// Waits until the value is there, and returns it.
    ///
    /// # Panics
    /// If it is called within the initialiser of this value.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait();
        self.get().expect("an initialiser has run")
    }

    /// Takes the value out and leaves the place empty.
    pub fn take(&mut self) -> Option<T> {
        core::mem::take(self).into_inner()
    }

    /// Returns the value, if it is there.
    pub fn into_inner(self) -> Option<T> {
        if !self.once.is_completed() {
            return None;
        }
        let this = core::mem::ManuallyDrop::new(self);
        // SAFETY: it is not dropped, nor used again.
        let value = unsafe { this.value.get().read() };
        // SAFETY: completed.
        Some(unsafe { value.assume_init() })
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        if self.once.is_completed() {
            // SAFETY: completed, and not used again.
            unsafe { self.value.get_mut().assume_init_drop() };
        }
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> OnceLock<T> {
        let lock = OnceLock::new();
        let _ = lock.set(value);
        lock
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> OnceLock<T> {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &OnceLock<T>) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(value) => f.debug_tuple("OnceLock").field(value).finish(),
            None => f.debug_tuple("OnceLock").field(&format_args!("<uninit>")).finish(),
        }
    }
}

/// A value that is initialised when it is first needed; std's `LazyLock`, a `use` line away.
///
/// It is poisoned if its initialiser panics, which is consumed by then: each later access panics.
///
/// ```
/// use leeward::sync::LazyLock;
/// static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| "free path".split(' ').collect());
/// assert_eq!(WORDS.len(), 2);
/// LazyLock::force(&WORDS);                        // made already
/// let mut own = LazyLock::new(|| 1);
/// assert!(LazyLock::get_mut(&mut own).is_none()); // not made yet
/// ```
///
/// Cost and fork: [`raw::Once`](crate::raw::Once).
///
/// # Differences from std
/// - An initialiser that needs its own value panics instead of waiting for itself.
/// - It is there without std.
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    /// The initialiser, taken by the one call that runs it.
    make: Cell<Option<F>>,
}

// SAFETY: `make` is touched within `get_or_init` only, by one thread at a time, to which it moves.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    /// Returns a value that `make` will initialise.
    pub const fn new(make: F) -> LazyLock<T, F> {
        LazyLock { value: OnceLock::new(), make: Cell::new(Some(make)) }
    }

    /// Returns the value, initialised now if need be.
    ///
    /// # Panics
    /// If the initialiser panics or has panicked, and within the initialiser.
    #[inline]
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        this.value.get_or_init(|| {
            let make = this
                .make
                .take()
                .expect("leeward: a LazyLock instance has previously been poisoned: its initialiser has panicked");
            make()
        })
    }

    /// Returns the value to its only user, initialised now if need be.
    ///
    /// # Panics
    /// As [`force`](Self::force).
    ///
    /// ```
    /// use leeward::sync::LazyLock;
    /// let mut count = LazyLock::new(|| 1);
    /// *LazyLock::force_mut(&mut count) += 1;
    /// assert_eq!(*count, 2);
    /// ```
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        LazyLock::force(this);
        this.value.get_mut().expect("it was just initialised")
    }
}

impl<T, F> LazyLock<T, F> {
    /// Returns the value if it was initialised, and initialises nothing.
    ///
    /// ```
    /// use leeward::sync::LazyLock;
    /// let count = LazyLock::new(|| 1);
    /// assert_eq!(LazyLock::get(&count), None);
    /// LazyLock::force(&count);
    /// assert_eq!(LazyLock::get(&count), Some(&1));
    /// ```
    #[inline]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        this.value.get()
    }

    /// Returns the value to its only user if it was initialised, and initialises nothing.
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        this.value.get_mut()
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T, F> From<T> for LazyLock<T, F> {
    fn from(value: T) -> LazyLock<T, F> {
        LazyLock { value: OnceLock::from(value), make: Cell::new(None) }
    }
}

impl<T: Default> Default for LazyLock<T> {
    fn default() -> LazyLock<T> {
        LazyLock::new(T::default)
    }
}

impl<T: fmt::Debug, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value.get() {
            Some(value) => f.debug_tuple("LazyLock").field(value).finish(),
            None => f.debug_tuple("LazyLock").field(&format_args!("<uninit>")).finish(),
        }
    }
}
