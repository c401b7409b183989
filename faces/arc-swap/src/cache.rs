//! A reader's own copy of the pointer, which it loads again when the cell's has changed.
//!
//! ```
//! use arc_swap::{ArcSwap, Cache};
//! use arc_swap::cache::Access;
//! use std::sync::Arc;
//! let limits = ArcSwap::from_pointee((5, 6));
//! let mut cache = Cache::new(&limits);
//! let mut first = cache.clone().map(|limits| &limits.0);
//! assert_eq!(**cache.load(), (5, 6));
//! limits.store(Arc::new((7, 8)));
//! assert_eq!((**cache.load(), *first.load()), ((7, 8), 7));
//! ```

use core::ops::Deref;

use crate::strategy::Strategy;
use crate::{ArcSwapAny, RefCnt};

/// A place that a `T` is loaded from, through something that changes meanwhile.
pub trait Access<T> {
    /// Loads the value.
    fn load(&mut self) -> &T;
}

/// A cell and a copy of its pointer, which keeps an old value until the next load.
///
/// Cost of a load of an unchanged cell: one load of a shared line.
#[derive(Clone, Debug)]
pub struct Cache<A, T> {
    arc_swap: A,
    cached: T,
}

impl<A, T, S> Cache<A, T>
where
    A: Deref<Target = ArcSwapAny<T, S>>,
    T: RefCnt,
    S: Strategy<T>,
{
    /// Makes a cache of the cell that `arc_swap` points to.
    pub fn new(arc_swap: A) -> Self {
        let cached = arc_swap.load_full();
        Cache { arc_swap, cached }
    }

    /// Returns the cell.
    pub fn arc_swap(&self) -> &A::Target {
        &self.arc_swap
    }

    /// Returns the value, after loading it if it has changed.
    #[inline]
    pub fn load(&mut self) -> &T {
        if !self.arc_swap.is_still(&self.cached) {
            self.cached = self.arc_swap.load_full();
        }
        &self.cached
    }

    /// Makes a cache of a part of the value.
    pub fn map<F, U>(self, f: F) -> MapCache<A, T, F>
    where
        F: FnMut(&T) -> &U,
    {
        MapCache { inner: self, projection: f }
    }
}

impl<A, T, S> Access<T::Target> for Cache<A, T>
where
    A: Deref<Target = ArcSwapAny<T, S>>,
    T: Deref<Target = <T as RefCnt>::Base> + RefCnt,
    S: Strategy<T>,
{
    fn load(&mut self) -> &T::Target {
        Cache::<A, T>::load(self)
    }
}

impl<A, T, S> From<A> for Cache<A, T>
where
    A: Deref<Target = ArcSwapAny<T, S>>,
    T: RefCnt,
    S: Strategy<T>,
{
    fn from(arc_swap: A) -> Self {
        Self::new(arc_swap)
    }
}

/// A [`Cache`] that shows a part of its value.
#[derive(Clone, Debug)]
pub struct MapCache<A, T, F> {
    inner: Cache<A, T>,
    projection: F,
}

impl<A, T, S, F, U> Access<U> for MapCache<A, T, F>
where
    A: Deref<Target = ArcSwapAny<T, S>>,
    T: RefCnt,
    S: Strategy<T>,
    F: FnMut(&T) -> &U,
{
    fn load(&mut self) -> &U {
        (self.projection)(self.inner.load())
    }
}
