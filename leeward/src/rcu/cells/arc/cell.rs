//! The cell of an `Arc` that is never empty: an `ArcOption` that always holds one.

use alloc::sync::Arc;
use core::fmt;

#[cfg(feature = "std")]
use super::super::reference::Ref;
#[cfg(feature = "std")]
use super::cache::Cache;
use super::option::ArcOption;
use crate::rcu::domain::Domain;
use crate::rcu::section::protects::Protects;

/// A published `Arc`, with the names of arc-swap's `ArcSwap`.
///
/// ```
/// use std::sync::Arc;
/// use leeward::rcu::ArcCell;
/// let hosts = ArcCell::from_pointee(vec!["a"]);
/// let now = hosts.get();                          // a section; no count is touched
/// hosts.rcu(|old| Arc::new([&old[..], &["b"]].concat()));
/// let kept: Arc<Vec<&str>> = hosts.load_full();
/// assert_eq!((now.len(), kept.len()), (1, 2));
/// let old = hosts.swap(Arc::new(vec![]));
/// assert_eq!(*old, ["a", "b"]);
/// hosts.store(kept.clone());
/// assert_eq!(hosts.cache().load(), Some(&kept));
/// ```
///
/// [`ArcOption`] has the orderings and costs; [`RcuOption`](crate::rcu::RcuOption) lists the
/// differences from arc-swap.
pub struct ArcCell<T, D: Domain = crate::rcu::Global>(ArcOption<T, D>);

impl<T> ArcCell<T> {
    /// Makes a cell of [`Global`](crate::rcu::Global) that holds `value`.
    pub fn new(value: Arc<T>) -> Self {
        Self::new_in(value)
    }

    /// Makes a cell of [`Global`](crate::rcu::Global) that holds `value`, which it allocates.
    pub fn from_pointee(value: T) -> Self {
        Self::new_in(Arc::new(value))
    }
}

impl<T, D: Domain> ArcCell<T, D> {
    /// Makes a cell of the domain `D` that holds `value`.
    ///
    /// ```
    /// use leeward::rcu::{ArcCell, Domain};
    /// leeward::rcu_domain! { struct Routes; }
    /// let table = ArcCell::<[i32; 2], Routes>::new_in([1, 2].into());
    /// let guard = Routes::read();
    /// assert_eq!(table.load(&guard).len(), 2);
    /// assert_eq!(table.load_full_with(&guard).len(), 2);
    /// ```
    pub fn new_in(value: Arc<T>) -> Self {
        ArcCell(ArcOption::some_in(value))
    }

    /// Returns the current value; see [`ArcOption::load`].
    #[inline(always)]
    pub fn load<'g>(&'g self, guard: &'g impl Protects<D>) -> &'g T {
        always(self.0.load(guard))
    }

    /// Returns the current value with a section of its own; see [`ArcOption::get`].
    #[cfg(feature = "std")]
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Ref<'_, T, D> {
        always(self.0.get())
    }

    /// Returns the current `Arc`, cloned; see [`ArcOption::load_full`].
    #[cfg(feature = "std")]
    #[track_caller]
    pub fn load_full(&self) -> Arc<T> {
        always(self.0.load_full())
    }

    /// Returns the current `Arc`, cloned in a section that the caller has opened.
    pub fn load_full_with(&self, guard: &impl Protects<D>) -> Arc<T> {
        always(self.0.load_full_with(guard))
    }

    /// Makes a cache of the cell, which holds the current `Arc`; see [`Cache`].
    #[cfg(feature = "std")]
    pub fn cache(&self) -> Cache<'_, T, D> {
        self.0.cache()
    }
}

impl<T: Send + Sync + 'static, D: Domain> ArcCell<T, D> {
    /// Publishes another value, and gives the old one up; see [`ArcOption::store`].
    pub fn store(&self, value: Arc<T>) {
        self.0.store(Some(value));
    }

    /// Publishes another value and returns the old one; see [`ArcOption::swap`].
    pub fn swap(&self, value: Arc<T>) -> Arc<T> {
        always(self.0.swap(Some(value)))
    }

    /// Publishes `new` if the current value is still `current`, the same allocation, and returns
    /// what was there; see [`ArcOption::compare_and_swap`].
    ///
    /// ```
    /// use leeward::rcu::ArcCell;
    /// use std::sync::Arc;
    /// let leader = ArcCell::from_pointee("a");
    /// let seen = leader.load_full();
    /// let before = leader.compare_and_swap(&seen, Arc::new("b"));
    /// assert!(Arc::ptr_eq(&before, &seen));           // it was still there, and has been replaced
    /// let before = leader.compare_and_swap(&seen, Arc::new("c"));
    /// assert_eq!((*before, *leader.get()), ("b", "b"));
    /// ```
    #[cfg(feature = "std")]
    pub fn compare_and_swap(&self, current: &Arc<T>, new: Arc<T>) -> Arc<T> {
        always(self.0.compare_and_swap(Some(current), Some(new)))
    }

    /// Publishes what `next` makes of the current value and returns the old one; see
    /// [`ArcOption::rcu`].
    #[cfg(feature = "std")]
    pub fn rcu(&self, mut next: impl FnMut(&Arc<T>) -> Arc<T>) -> Arc<T> {
        always(self.0.rcu(|old| Some(next(always(old)))))
    }
}

/// Unwraps what a cell that is never empty holds.
fn always<T>(value: Option<T>) -> T {
    match value {
        Some(value) => value,
        // SAFETY: `new_in` put a value in, and no function of `ArcCell` takes it out without putting
        // another in.
        None => unsafe { core::hint::unreachable_unchecked() },
    }
}

/// Makes a cell of [`Global`](crate::rcu::Global); [`new_in`](Self::new_in) makes one of any domain.
impl<T> From<Arc<T>> for ArcCell<T> {
    fn from(value: Arc<T>) -> Self {
        Self::new_in(value)
    }
}

impl<T: Default> ArcCell<T> {
    /// Makes a cell of [`Global`](crate::rcu::Global) that holds the type's default value. The trait's
    /// `default` makes one of any domain that the type names; this one is called where it names none.
    #[allow(clippy::should_implement_trait)]
    pub fn default() -> Self {
        Self::new_in(Arc::default())
    }
}

impl<T: Default, D: Domain> Default for ArcCell<T, D> {
    fn default() -> Self {
        Self::new_in(Arc::default())
    }
}

/// Shows the current value, as [`ArcOption`]'s does.
impl<T: fmt::Debug, D: Domain> fmt::Debug for ArcCell<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "std")]
        return f.debug_tuple("ArcCell").field(&self.get()).finish();
        #[cfg(not(feature = "std"))]
        f.debug_struct("ArcCell").finish_non_exhaustive()
    }
}
