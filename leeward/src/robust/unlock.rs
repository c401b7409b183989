//! The two ways to unlock, as types: processes that share a lock must agree.

/// The way in which a robust mutex is unlocked while no thread sleeps; implemented by
/// [`ByExchange`] and [`ByStore`] only.
///
/// ```
/// use leeward::robust::{LockError, Mutex, Unlock};
/// /// Works with both kinds of robust mutex.
/// fn add<U: Unlock>(count: &'static Mutex<u64, U>) -> Result<(), LockError<u64, U>> {
///     count.lock()?.with(|count| *count += 1);
///     Ok(())
/// }
/// static COUNT: Mutex<u64> = Mutex::new(0);
/// # add(&COUNT).unwrap();
/// ```
pub trait Unlock: sealed::Sealed + Send + Sync + 'static {
    /// True if the unlock is a store.
    #[doc(hidden)]
    const STORES: bool;
}

/// Unlocks by a compare-exchange, which sees in the lock word whether a thread sleeps.
///
/// This is the default, and asks nothing of any other thread or process.
///
/// ```
/// use leeward::robust::{ByExchange, Mutex};
/// static COUNT: Mutex<u64, ByExchange> = Mutex::new(0);
/// assert_eq!(COUNT.lock().unwrap().get(), 0);
/// ```
#[derive(Debug)]
pub enum ByExchange {}

/// Unlocks by a store, without a read-modify-write.
///
/// A thread that goes to sleep pays, with a heavy fence that reaches all processes; see
/// [`LightMutex`](super::LightMutex).
///
/// ```
/// use leeward::robust::{ByStore, Mutex};
/// static COUNT: Mutex<u64, ByStore> = Mutex::with_unlock(0);
/// assert_eq!(COUNT.lock().unwrap().get(), 0);
/// ```
#[derive(Debug)]
pub enum ByStore {}

impl Unlock for ByExchange {
    const STORES: bool = false;
}
impl Unlock for ByStore {
    const STORES: bool = true;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::ByExchange {}
    impl Sealed for super::ByStore {}
}
