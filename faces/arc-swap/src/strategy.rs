//! The strategies by name. There is one way to load and store, whatever the strategy is.

use crate::RefCnt;

pub(crate) mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// A way to protect values of type `T`; sealed, as in arc-swap.
pub trait Strategy<T: RefCnt>: Sealed {}

/// A [`Strategy`] that can compare and swap: every one can.
pub trait CaS<T: RefCnt>: Strategy<T> {}

/// The one strategy: notes and grace periods, as the crate's page says.
#[derive(Clone, Default)]
pub struct DefaultStrategy(());

/// The default strategy under another name, as in arc-swap.
#[doc(hidden)]
pub type IndependentStrategy = DefaultStrategy;

impl Sealed for DefaultStrategy {}
impl<T: RefCnt> Strategy<T> for DefaultStrategy {}
impl<T: RefCnt> CaS<T> for DefaultStrategy {}

#[cfg(feature = "rwlock-strategy")]
mod by_lock {
    use std::sync::RwLock;

    use super::{CaS, RefCnt, Sealed, Strategy};

    impl Sealed for RwLock<()> {}
    impl<T: RefCnt> Strategy<T> for RwLock<()> {}
    impl<T: RefCnt> CaS<T> for RwLock<()> {}
}
