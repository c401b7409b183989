//! Data that remembers whether a change to it was broken off by a panic.

use core::fmt;

/// A value that refuses access after a panic broke off a change to it, until a caller
/// [`clear`](Self::clear)s it. It works in any lock, and without one.
///
/// ```
/// use leeward::sync::{Mutex, Poison, Poisoned};
/// let account = Mutex::new(Poison::new((100, 0)));
/// let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
///     account.lock().access(|account| {
///         account.0 -= 10;
///         if account.0 != 0 {
///             panic!("on the way");
///         }
///         account.1 += 10;
///     })
/// }));
/// assert_eq!(account.lock().access(|account| account.0), Err(Poisoned));
/// *account.lock().clear() = (100, 0);
/// assert_eq!(account.lock().access(|account| account.0), Ok(100));
/// assert!(!account.lock().is_poisoned());
/// assert_eq!(account.lock().get(), Ok(&(100, 0)));
/// assert_eq!(account.into_inner().into_inner(), (100, 0));
/// ```
///
/// # Differences from std
/// Compared with the poisoning of std's `Mutex`, which the locks of `sync::poison` have:
/// - A change is what happens within one call of [`access`](Self::access), not while a guard lives.
///   What only reads may use [`get`](Self::get), and does not poison.
/// - [`Poisoned`] does not hold the guard: the value is reached by `clear` or
///   [`into_inner`](Self::into_inner) only.
/// - A change that begins while a panic unwinds, in a destructor, poisons if it panics; std's check
///   misses that.
///
/// # Cost
/// A test and two stores a call; no atomics.
#[derive(Clone, Default)]
pub struct Poison<T> {
    data: T,
    /// True while a call of `access` is under way, so that it stays true if the closure does not
    /// return.
    poisoned: bool,
}

/// The error of a [`Poison`]: a panic broke off an earlier change.
///
/// ```
/// use leeward::sync::Poisoned;
/// assert_eq!(Poisoned.to_string(), "a panic broke off an earlier change to the data");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Poisoned;

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a panic broke off an earlier change to the data")
    }
}

impl core::error::Error for Poisoned {}

impl<T> Poison<T> {
    /// Wraps data that is whole.
    pub const fn new(data: T) -> Poison<T> {
        Poison { data, poisoned: false }
    }

    /// Reads or changes the data by `work`. A panic in `work` poisons the data.
    ///
    /// # Errors
    /// [`Poisoned`]: an earlier change was broken off, and `work` was not called.
    pub fn access<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> Result<R, Poisoned> {
        if self.poisoned {
            return Err(Poisoned);
        }
        self.poisoned = true;
        let result = work(&mut self.data);
        self.poisoned = false;
        Ok(result)
    }

    /// Returns the data for reading.
    ///
    /// # Errors
    /// [`Poisoned`]: an earlier change was broken off.
    pub const fn get(&self) -> Result<&T, Poisoned> {
        if self.poisoned { Err(Poisoned) } else { Ok(&self.data) }
    }

    /// Returns true if a panic broke off a change.
    pub const fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    /// Declares the data whole, and returns it for the caller to make it so.
    pub const fn clear(&mut self) -> &mut T {
        self.poisoned = false;
        &mut self.data
    }

    /// Returns the data, whole or not.
    pub fn into_inner(self) -> T {
        self.data
    }
}

impl<T: fmt::Debug> fmt::Debug for Poison<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poison").field("poisoned", &self.poisoned).field("data", &self.data).finish()
    }
}
