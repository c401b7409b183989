//! The cell of an `Arc` that may be absent.

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::{self, NonNull};

#[cfg(feature = "std")]
use super::super::reference::Ref;
use crate::atomic::{AtomicPtr, Ordering, const_fn};
use crate::rcu::domain::Domain;
use crate::rcu::section::protects::Protects;

/// A published `Arc`, or none. [`ArcCell`](super::ArcCell) is the one that is never empty.
///
/// ```
/// use std::sync::Arc;
/// use leeward::rcu::ArcOption;
/// static HOSTS: ArcOption<Vec<String>> = ArcOption::none();
/// HOSTS.store(Some(Arc::new(vec!["a".into()])));
/// assert_eq!(HOSTS.get().unwrap().len(), 1);                  // in a section
/// let kept: Arc<Vec<String>> = HOSTS.load_full().unwrap();    // beyond it
/// assert_eq!(HOSTS.swap(None), Some(kept));
/// let mut cache = HOSTS.cache();
/// assert!(cache.load().is_none());
/// ```
///
/// # Beside `RcuOption<Arc<T>>`
/// A load finds the value by one pointer rather than by two. What is replaced comes back as an
/// `Arc`, at once; the cell's own count is given up after a grace period, on the domain's worker,
/// which drops the value if it is the last one.
pub struct ArcOption<T, D: Domain = crate::rcu::Global> {
    /// From `Arc::into_raw`, with one count; null: none.
    pub(super) value: AtomicPtr<T>,
    /// Owns an `Arc<T>`; belongs to `D`.
    owns: PhantomData<(Arc<T>, fn() -> D)>,
}

// SAFETY: the cell is an `Arc` that threads share.
unsafe impl<T: Send + Sync, D: Domain> Send for ArcOption<T, D> {}
// SAFETY: as above; readers and writers of many threads clone it and drop it.
unsafe impl<T: Send + Sync, D: Domain> Sync for ArcOption<T, D> {}

/// An `Arc`'s pointer, and nothing for none.
fn into_raw<T>(value: Option<Arc<T>>) -> *mut T {
    value.map_or(ptr::null_mut(), |value| Arc::into_raw(value).cast_mut())
}

/// Makes another `Arc` of a value.
///
/// # Safety
/// Null, or the pointer of an `Arc` that has a count for the time of the call.
unsafe fn another<T>(value: *mut T) -> Option<Arc<T>> {
    let value = NonNull::new(value)?;
    // SAFETY: the caller's promise. The one that is made of the other's count does not give it up.
    let of_another = ManuallyDrop::new(unsafe { Arc::from_raw(value.as_ptr()) });
    Some(Arc::clone(&of_another))
}

impl<T> ArcOption<T> {
    const_fn! {
        /// Makes an empty cell of [`Global`](crate::rcu::Global).
        pub fn none() -> Self {
            Self::none_in()
        }
    }

    /// Makes a cell of [`Global`](crate::rcu::Global) that holds `value`.
    ///
    /// ```
    /// use leeward::rcu::ArcOption;
    /// use std::sync::Arc;
    /// let name = ArcOption::some(Arc::new("a"));
    /// assert_eq!(name.load_full(), Some(Arc::new("a")));
    /// ```
    pub fn some(value: Arc<T>) -> Self {
        Self::some_in(value)
    }
}

impl<T, D: Domain> ArcOption<T, D> {
    const_fn! {
        /// Makes an empty cell of the domain `D`.
        ///
        /// ```
        /// use leeward::rcu::{ArcOption, Domain};
        /// leeward::rcu_domain! { struct Routes; }
        /// static DEFAULT: ArcOption<String, Routes> = ArcOption::none_in();
        /// assert!(DEFAULT.load(&Routes::read()).is_none());
        /// ```
        pub fn none_in() -> Self {
            ArcOption { value: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
        }
    }

    /// Makes a cell of the domain `D` that holds `value`.
    ///
    /// ```
    /// use leeward::rcu::{ArcOption, Domain};
    /// leeward::rcu_domain! { struct Routes; }
    /// let default = ArcOption::<_, Routes>::some_in(7.into());
    /// let guard = Routes::read();
    /// assert_eq!(default.load(&guard), Some(&7));
    /// assert_eq!(default.load_full_with(&guard), Some(7.into()));
    /// ```
    pub fn some_in(value: Arc<T>) -> Self {
        ArcOption { value: AtomicPtr::new(into_raw(Some(value))), owns: PhantomData }
    }

    /// Returns the current value, which stays alive for as long as the guard and the cell are
    /// borrowed. Ordering and cost are those of [`RcuOption::load`](crate::rcu::RcuOption::load).
    #[inline(always)]
    pub fn load<'g>(&'g self, guard: &'g impl Protects<D>) -> Option<&'g T> {
        let _ = guard;
        // Acquire: partner of the release in `exchange`.
        let value = self.value.load(Ordering::Acquire);
        // SAFETY: the cell's count is given up after a grace period that began after the value was
        // unlinked, which the guard keeps from ending.
        unsafe { value.as_ref() }
    }

    /// Returns the current value with a section of its own; see
    /// [`RcuOption::get`](crate::rcu::RcuOption::get).
    #[cfg(feature = "std")]
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<Ref<'_, T, D>> {
        let guard = D::read();
        let value = NonNull::from(self.load(&guard)?);
        // SAFETY: loaded with the guard, from a cell that is borrowed for as long.
        Some(unsafe { Ref::new(value, guard) })
    }

    /// Returns the current `Arc`, cloned.
    ///
    /// # Cost
    /// A section, and the addition to the value's count, whose line all threads share that do so.
    #[cfg(feature = "std")]
    #[track_caller]
    pub fn load_full(&self) -> Option<Arc<T>> {
        self.load_full_with(&D::read())
    }

    /// Returns the current `Arc`, cloned in a section that the caller has opened.
    pub fn load_full_with(&self, guard: &impl Protects<D>) -> Option<Arc<T>> {
        let _ = guard;
        // Acquire: as in `load`.
        let value = self.value.load(Ordering::Acquire);
        // SAFETY: the cell's count lasts for as long as the guard's section.
        unsafe { another(value) }
    }
}

impl<T: Send + Sync + 'static, D: Domain> ArcOption<T, D> {
    /// Publishes another value, and gives the old one up after a grace period.
    ///
    /// # Memory ordering
    /// Acquire and release: readers of the new value see what was done before the call.
    ///
    /// # Cost
    /// An atomic exchange, and that of [`Domain::defer`].
    pub fn store(&self, value: Option<Arc<T>>) {
        // Release: partner of the acquire in `load`. Acquire: the old value's publisher.
        let old = self.value.swap(into_raw(value), Ordering::AcqRel);
        // SAFETY: the exchange gave us the cell's count.
        unsafe { Self::give_up(old) };
    }

    /// Publishes another value and returns the old one; see [`store`](Self::store).
    pub fn swap(&self, value: Option<Arc<T>>) -> Option<Arc<T>> {
        // Release, Acquire: as in `store`.
        let old = self.value.swap(into_raw(value), Ordering::AcqRel);
        // SAFETY: the exchange gave us the cell's count.
        let returned = unsafe { another(old) };
        // SAFETY: as above.
        unsafe { Self::give_up(old) };
        returned
    }

    /// Publishes `new` if the current value is still `current`, the same allocation. Returns what
    /// was there: it was replaced if it is `current`.
    ///
    /// Ordering and cost are those of [`swap`](Self::swap).
    ///
    /// ```
    /// use leeward::rcu::ArcOption;
    /// use std::sync::Arc;
    /// let owner = ArcOption::none();
    /// let mine = Arc::new("me");
    /// assert!(owner.compare_and_swap(None, Some(mine.clone())).is_none());
    /// let before = owner.compare_and_swap(None, Some(Arc::new("another")));
    /// assert!(Arc::ptr_eq(&before.unwrap(), &mine));  // taken: nothing has changed
    /// ```
    ///
    /// # Panics
    /// As [`Domain::read`] does.
    #[cfg(feature = "std")]
    pub fn compare_and_swap(&self, current: Option<&Arc<T>>, new: Option<Arc<T>>) -> Option<Arc<T>> {
        let current = current.map_or(ptr::null_mut(), |current| Arc::as_ptr(current).cast_mut());
        let (exchanged, new) = {
            // What is there when the exchange fails is alive for as long as this.
            let _guard = D::read();
            let new = into_raw(new);
            // Release, Acquire: as in `store`; Acquire: as in `load`.
            let exchanged = self.value.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire);
            // SAFETY: the cell had a count when it was loaded, which lasts for the section.
            (exchanged.map_err(|now| unsafe { another(now) }), new)
        };
        // Outside of the section: a value's destructor may wait for readers, as the queue's limit may.
        match exchanged {
            Ok(old) => {
                // SAFETY: the exchange gave us the cell's count.
                let returned = unsafe { another(old) };
                // SAFETY: as above.
                unsafe { Self::give_up(old) };
                returned
            }
            Err(now) => {
                if !new.is_null() {
                    // SAFETY: made from an `Arc` above, and published nowhere.
                    drop(unsafe { Arc::from_raw(new) });
                }
                now
            }
        }
    }

    /// Publishes what `next` makes of the current value, and returns the old one; tries again if
    /// another writer was faster.
    ///
    /// # Panics
    /// As [`Domain::read`] does, and with a panic of `next`, which changes nothing.
    #[cfg(feature = "std")]
    pub fn rcu(&self, mut next: impl FnMut(Option<&Arc<T>>) -> Option<Arc<T>>) -> Option<Arc<T>> {
        let mut old = self.load_full();
        loop {
            let now = self.compare_and_swap(old.as_ref(), next(old.as_ref()));
            // The value that `old` has a count of is at no other's address.
            if is_same(&now, &old) {
                return now;
            }
            old = now;
        }
    }

    /// Gives one count up after a grace period.
    ///
    /// # Safety
    /// Null, or the pointer of an `Arc` with a count that is the caller's.
    unsafe fn give_up(value: *mut T) {
        let Some(value) = NonNull::new(value) else { return };
        let drop_it = move || {
            // SAFETY: the count is the closure's.
            drop(unsafe { Arc::from_raw(value.as_ptr()) });
        };
        // SAFETY: `T` is `Send`, `Sync` and `'static`, and so is the `Arc`.
        unsafe { D::defer_unchecked(drop_it) };
    }
}

/// Returns true if both are the same allocation, or none.
fn is_same<T>(one: &Option<Arc<T>>, other: &Option<Arc<T>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

impl<T, D: Domain> Drop for ArcOption<T, D> {
    fn drop(&mut self) {
        // Relaxed: the caller has the cell alone.
        let value = self.value.load(Ordering::Relaxed);
        if !value.is_null() {
            // SAFETY: the cell's count; every reference that was loaded borrowed the cell.
            drop(unsafe { Arc::from_raw(value) });
        }
    }
}

impl<T, D: Domain> ArcOption<T, D> {
    /// Makes a cell of the domain `D` that holds `value`, or nothing. `from` makes one of
    /// [`Global`](crate::rcu::Global).
    pub fn from_in(value: Option<Arc<T>>) -> Self {
        ArcOption { value: AtomicPtr::new(into_raw(value)), owns: PhantomData }
    }
}

/// Makes a cell of [`Global`](crate::rcu::Global); [`from_in`](Self::from_in) makes one of any domain.
impl<T> From<Option<Arc<T>>> for ArcOption<T> {
    fn from(value: Option<Arc<T>>) -> Self {
        Self::from_in(value)
    }
}

impl<T> ArcOption<T> {
    /// Makes an empty cell of [`Global`](crate::rcu::Global). The trait's `default` makes one of any domain
    /// that the type names; this one is called where it names none.
    #[allow(clippy::should_implement_trait)]
    pub fn default() -> Self {
        Self::none_in()
    }
}

impl<T, D: Domain> Default for ArcOption<T, D> {
    fn default() -> Self {
        Self::none_in()
    }
}

/// Shows the current value, which it reads in a section; without `std` it has none to read it in.
impl<T: fmt::Debug, D: Domain> fmt::Debug for ArcOption<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "std")]
        return f.debug_tuple("ArcOption").field(&self.get()).finish();
        #[cfg(not(feature = "std"))]
        f.debug_struct("ArcOption").finish_non_exhaustive()
    }
}
