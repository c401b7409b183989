//! Data that remembers whether a change to it was broken off by a panic.

use core::fmt;

/// Data of which nobody may see half a change: once a panic has left [`access`](Self::access), the data is refused until
/// somebody [`clear`](Self::clear)s it. Works in any lock, and without one.
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
/// ```
#[derive(Clone, Default)]
pub struct Poison<T> {
    data: T,
    /// True while somebody is in `access`, so that whatever leaves it without returning leaves this behind.
    poisoned: bool,
}

/// A panic broke off an earlier change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Poisoned;

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a panic broke off an earlier change to the data")
    }
}

impl core::error::Error for Poisoned {}

impl<T> Poison<T> {
    /// Whole data.
    pub const fn new(data: T) -> Poison<T> {
        Poison { data, poisoned: false }
    }

    /// Reads or changes the data; a panic inside poisons it.
    ///
    /// # Errors
    /// [`Poisoned`]: the data was not touched.
    pub fn access<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> Result<R, Poisoned> {
        if self.poisoned {
            return Err(Poisoned);
        }
        self.poisoned = true;
        let result = work(&mut self.data);
        self.poisoned = false;
        Ok(result)
    }

    /// Reads the data.
    ///
    /// # Errors
    /// [`Poisoned`].
    pub const fn get(&self) -> Result<&T, Poisoned> {
        if self.poisoned { Err(Poisoned) } else { Ok(&self.data) }
    }

    /// Whether a panic broke off a change.
    pub const fn is_poisoned(&self) -> bool {
        self.poisoned
    }

    /// Declares the data whole, to be made so by the caller.
    pub const fn clear(&mut self) -> &mut T {
        self.poisoned = false;
        &mut self.data
    }

    /// The data, whole or not.
    pub fn into_inner(self) -> T {
        self.data
    }
}

impl<T: fmt::Debug> fmt::Debug for Poison<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poison").field("poisoned", &self.poisoned).field("data", &self.data).finish()
    }
}
