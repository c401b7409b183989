//! A thread's own `Arc` of a cell.

use alloc::sync::Arc;
use core::ptr;

use super::option::ArcOption;
use crate::atomic::Ordering;
use crate::rcu::domain::Domain;

/// A thread's own `Arc` of a cell, which is cloned anew only when the cell has another.
///
/// [`ArcOption::cache`] makes one, and [`ArcCell::cache`](super::ArcCell::cache). For loops that look
/// often at a value that hardly changes, and must not hold a section open meanwhile.
///
/// ```
/// use std::sync::Arc;
/// use leeward::rcu::ArcOption;
/// let limit = ArcOption::some(Arc::new(10));
/// let mut cache = limit.cache();
/// assert_eq!(cache.load().map(|limit| **limit), Some(10));
/// limit.store(Some(Arc::new(20)));
/// assert_eq!(cache.load().map(|limit| **limit), Some(20));
/// ```
pub struct Cache<'c, T, D: Domain = crate::rcu::Global> {
    cell: &'c ArcOption<T, D>,
    kept: Option<Arc<T>>,
}

impl<T, D: Domain> ArcOption<T, D> {
    /// Makes a cache of the cell, which holds the current `Arc`.
    pub fn cache(&self) -> Cache<'_, T, D> {
        Cache { cell: self, kept: self.load_full() }
    }
}

impl<T, D: Domain> Cache<'_, T, D> {
    /// Returns the current `Arc`.
    ///
    /// # Memory ordering
    /// As [`ArcOption::load`].
    ///
    /// # Cost
    /// A load and a comparison; [`ArcOption::load_full`] when the cell has another value.
    #[inline]
    pub fn load(&mut self) -> Option<&Arc<T>> {
        let kept = self.kept.as_ref().map_or(ptr::null(), Arc::as_ptr);
        // Acquire: as in `load`. The kept value's address is no other's, since it is alive.
        if !ptr::eq(self.cell.value.load(Ordering::Acquire), kept) {
            self.kept = self.cell.load_full();
        }
        self.kept.as_ref()
    }
}
