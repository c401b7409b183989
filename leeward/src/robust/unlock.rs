//! The two ways to unlock, as types: processes that share a lock must agree.

/// How a robust mutex is unlocked while nobody sleeps; implemented by [`ByExchange`] and [`ByStore`] only.
pub trait Unlock: sealed::Sealed + Send + Sync + 'static {
    /// Whether by a store.
    #[doc(hidden)]
    const STORES: bool;
}

/// By a compare-exchange: whoever sleeps is seen in the lock word, and nothing else is asked of anybody.
#[derive(Debug)]
pub enum ByExchange {}

/// By a store, without a read-modify-write. Whoever goes to sleep pays, with a heavy fence that reaches all processes; see [`LightMutex`](super::LightMutex).
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
