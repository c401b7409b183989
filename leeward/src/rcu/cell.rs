//! Cells: a published value that readers load in a section and a writer replaces whole. Their users
//! need no `unsafe`.

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::domain::Domain;
use super::protects::Protects;
#[cfg(feature = "std")]
use super::reference::Ref;
use super::retired::Retired;
use crate::atomic::{AtomicPtr, Ordering, const_fn};
use crate::mutant::order;

/// A published value that may be absent. [`none`](Self::none) is `const`, so a `static` may hold
/// one.
///
/// ```
/// use leeward::rcu::{self, RcuOption};
/// static CONFIG: RcuOption<String> = RcuOption::none();
/// assert!(CONFIG.load(&rcu::read()).is_none());
/// CONFIG.replace(Some(String::from("first")));            // nothing was there to retire
/// if let Some(old) = CONFIG.replace(Some(String::from("second"))) {
///     old.defer();                                        // freed after a grace period
/// }
/// assert_eq!(CONFIG.load(&rcu::read()).unwrap(), "second");
/// ```
///
/// # Differences from arc-swap
/// - The cell owns a `T`, not an `Arc`. Where readers keep values beyond their sections, let `T` be
///   an `Arc` and clone it.
/// - A load borrows a section's guard, which the caller opens once for many loads. An open section
///   delays the freeing of every value of its domain; arc-swap's guard delays that of its own
///   value.
/// - A guard is not `Send`, so it does not cross an `await` of a spawned task.
/// - Loads acquire, and replacements acquire and release: two cells have no common order.
///   arc-swap's loads and swaps are sequentially consistent (since 1.9.0).
/// - What is replaced comes back as [`Retired`]: the domain's worker drops it, or the caller gets
///   it after a grace period. arc-swap drops it on the thread that lets go last, perhaps a reader.
/// - `rcu` is [`update`](Self::update).
/// - Without `std`, the handles [`Reader`](super::Reader) and [`qsbr::Reader`](super::qsbr::Reader)
///   serve.
///
/// [`rcu`](super) describes [fork](super#fork) and [signals](super#signals).
pub struct RcuOption<T, D: Domain = super::Global> {
    value: AtomicPtr<T>,
    /// Owns a `T`; belongs to `D`.
    owns: PhantomData<(Box<T>, fn() -> D)>,
}

// SAFETY: sending the cell sends the value.
unsafe impl<T: Send, D: Domain> Send for RcuOption<T, D> {}
// SAFETY: readers of many threads share the value (`Sync`), and the thread that replaces it takes
// it away (`Send`).
unsafe impl<T: Send + Sync, D: Domain> Sync for RcuOption<T, D> {}

impl<T> RcuOption<T> {
    const_fn! {
        /// Makes an empty cell of [`Global`](super::Global). [`none_in`](Self::none_in) makes one of
        /// any domain.
        pub fn none() -> Self {
            Self::none_in()
        }
    }

    /// Makes a cell of [`Global`](super::Global) that holds `value`, which it allocates.
    /// [`some_in`](Self::some_in) makes one of any domain.
    pub fn some(value: T) -> Self {
        Self::some_in(value)
    }
}

impl<T, D: Domain> RcuOption<T, D> {
    const_fn! {
        /// Makes an empty cell of the domain `D`.
        ///
        /// ```
        /// use leeward::rcu::{Domain, RcuOption};
        /// leeward::rcu_domain! { struct Routes; }
        /// static DEFAULT: RcuOption<String, Routes> = RcuOption::none_in();
        /// assert!(DEFAULT.load(&Routes::read()).is_none());
        /// ```
        pub fn none_in() -> Self {
            RcuOption { value: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
        }
    }

    /// Makes a cell of the domain `D` that holds `value`, which it allocates.
    pub fn some_in(value: T) -> Self {
        Self::from(Box::new(value))
    }

    /// Returns the current value with a section of its own; `None` if there is none.
    ///
    /// What is returned keeps the section open, and with it every value of the domain: keep it for
    /// as long as a lock's guard, and no longer. For several loads that belong together, open one
    /// section ([`Domain::read`]) and use [`load`](Self::load).
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// static NAME: RcuOption<String> = RcuOption::none();
    /// assert!(NAME.get().is_none());
    /// NAME.replace(Some(String::from("first")));
    /// assert_eq!(NAME.get().unwrap().len(), 5);
    /// ```
    ///
    /// # Memory ordering, cost
    /// Those of a section and of [`load`](Self::load).
    ///
    /// # Panics
    /// As [`Domain::read`] does.
    #[cfg(feature = "std")]
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Option<Ref<'_, T, D>> {
        let guard = D::read();
        let value = NonNull::from(self.load(&guard)?);
        // SAFETY: it was loaded with the guard, from a cell that is borrowed for as long.
        Some(unsafe { Ref::new(value, guard) })
    }

    /// Returns the current value, which stays alive for as long as the guard (or the online reader)
    /// and the cell are borrowed.
    ///
    /// # Memory ordering
    /// Acquire: the reader sees everything that the publisher did to the value before.
    ///
    /// # Cost
    /// One load. Wait-free, async-signal-safe.
    #[inline(always)]
    pub fn load<'g>(&'g self, guard: &'g impl Protects<D>) -> Option<&'g T> {
        let _ = guard;
        // Acquire: partner of the release in `swap`. (The dependency would do; Rust has no ordering
        // for it. On x86 it is the same instruction.)
        let value = self.value.load(Ordering::Acquire);
        // SAFETY: the value was published whole, and is freed after a grace period that began after
        // it was unlinked: the guard's section keeps that from ending while `'g` lasts. Owners
        // (`&mut self`, `drop`) exclude the borrow of the cell.
        unsafe { value.as_ref() }
    }

    /// Calls `read` with the current value, in a section of its own.
    ///
    /// The reference can neither be leaked nor kept across an `await`.
    ///
    /// # Panics
    /// As [`Domain::read`] does.
    #[cfg(feature = "std")]
    #[inline]
    pub fn read<R>(&self, read: impl FnOnce(Option<&T>) -> R) -> R {
        let guard = D::read();
        read(self.load(&guard))
    }

    /// Publishes another value and returns the old one, which new readers cannot reach and which
    /// lives until the old readers have left.
    ///
    /// # Memory ordering
    /// Acquire and release: readers of the new value see what was done before the call.
    ///
    /// # Cost
    /// An allocation and an atomic exchange. Lock-free, but for the allocator.
    pub fn replace(&self, value: Option<T>) -> Option<Retired<T, D>>
    where
        T: Send + 'static,
    {
        let new = value.map_or(ptr::null_mut(), |value| Box::into_raw(Box::new(value)));
        self.swap(new)
    }

    /// Empties the cell, as [`replace`](Self::replace) with `None` does.
    pub fn take(&self) -> Option<Retired<T, D>>
    where
        T: Send + 'static,
    {
        self.swap(ptr::null_mut())
    }

    fn swap(&self, new: *mut T) -> Option<Retired<T, D>>
    where
        T: Send + 'static,
    {
        // Release: partner of the acquire in `load`. Acquire: what the old value's publisher did
        // happens before the value is freed.
        let old = self.value.swap(new, order!(AcqRel, publish_release));
        // SAFETY: it came from a box, and the exchange gave it to us alone: no later reader finds
        // it.
        NonNull::new(old).map(|old| unsafe { Retired::new(old) })
    }

    /// Publishes what `next` makes of the current value; tries again if another writer was faster.
    ///
    /// Returns the old value, retired, or `None` if there was none.
    ///
    /// # Memory ordering
    /// As [`replace`](Self::replace).
    ///
    /// # Cost
    /// A section, and an allocation and an atomic compare-exchange for each try. Lock-free, but for
    /// the allocator.
    ///
    /// # Panics
    /// As [`Domain::read`] does, and with a panic of `next`, which changes nothing.
    #[cfg(feature = "std")]
    pub fn update(&self, mut next: impl FnMut(Option<&T>) -> T) -> Option<Retired<T, D>>
    where
        T: Send + 'static,
    {
        // The section also keeps the old value's address from being used anew between the load and
        // the exchange.
        let guard = D::read();
        loop {
            let old = self.load(&guard);
            let new = Box::into_raw(Box::new(next(old)));
            let old = old.map_or(ptr::null_mut(), |old| ptr::from_ref(old).cast_mut());
            // Release, Acquire: as in `swap`. Relaxed on failure: the loop loads again. What is
            // retired is the cell's own pointer, not the one made of the reader's reference.
            if let Ok(old) = self.value.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed) {
                // SAFETY: as in `swap`.
                return NonNull::new(old).map(|old| unsafe { Retired::new(old) });
            }
            // SAFETY: `new` was made from a box above and published nowhere.
            drop(unsafe { Box::from_raw(new) });
        }
    }

    /// Returns the value, mutably: the caller is the cell's only user.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // Relaxed: the caller has the cell alone.
        let value = self.value.load(Ordering::Relaxed);
        // SAFETY: `&mut self`: no reader has a borrow of the cell, and no writer replaces.
        unsafe { value.as_mut() }
    }

    /// Returns the value and ends the cell.
    pub fn into_inner(self) -> Option<Box<T>> {
        // Relaxed, both: the caller has the cell alone.
        let value = self.value.load(Ordering::Relaxed);
        self.value.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: it came from a box, and `self` by value: no other thread has the cell.
        NonNull::new(value).map(|value| unsafe { Box::from_raw(value.as_ptr()) })
    }
}

impl<T, D: Domain> Drop for RcuOption<T, D> {
    fn drop(&mut self) {
        // Relaxed: the caller has the cell alone.
        let value = self.value.load(Ordering::Relaxed);
        if !value.is_null() {
            // SAFETY: it came from a box; `&mut self`: every reference that was loaded borrowed the
            // cell and is dead.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

impl<T, D: Domain> From<Box<T>> for RcuOption<T, D> {
    fn from(value: Box<T>) -> Self {
        RcuOption { value: AtomicPtr::new(Box::into_raw(value)), owns: PhantomData }
    }
}

impl<T, D: Domain> Default for RcuOption<T, D> {
    fn default() -> Self {
        Self::none_in()
    }
}

impl<T, D: Domain> fmt::Debug for RcuOption<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RcuOption").finish_non_exhaustive()
    }
}

/// A published value that is always present.
///
/// ```
/// use leeward::rcu::{self, RcuCell};
/// let config = RcuCell::new(vec![1, 2]);
/// let guard = rcu::read();
/// let now = config.load(&guard);
/// config.update(|old| old.iter().map(|n| n * 10).collect()).defer();
/// assert_eq!(now, &[1, 2]);                       // still the one that was loaded
/// assert_eq!(config.load(&guard), &[10, 20]);     // the one that is published
/// ```
///
/// [`RcuOption`] lists the differences from arc-swap, and the functions' orderings and costs.
pub struct RcuCell<T, D: Domain = super::Global>(RcuOption<T, D>);

impl<T> RcuCell<T> {
    /// Makes a cell of [`Global`](super::Global) that holds `value`, which it allocates.
    /// [`new_in`](Self::new_in) makes one of any domain.
    pub fn new(value: T) -> Self {
        Self::new_in(value)
    }
}

impl<T, D: Domain> RcuCell<T, D> {
    /// Makes a cell of the domain `D` that holds `value`, which it allocates.
    ///
    /// ```
    /// use leeward::rcu::{Domain, RcuCell};
    /// leeward::rcu_domain! { struct Routes; }
    /// let table = RcuCell::<_, Routes>::new_in(vec![1, 2]);
    /// assert_eq!(table.load(&Routes::read()).len(), 2);
    /// ```
    pub fn new_in(value: T) -> Self {
        RcuCell(RcuOption::some_in(value))
    }

    /// Returns the current value with a section of its own; see [`RcuOption::get`].
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// let config = RcuCell::new(String::from("listen 80"));
    /// let now = config.get();
    /// assert_eq!(*now, "listen 80");
    /// ```
    #[cfg(feature = "std")]
    #[inline]
    #[track_caller]
    pub fn get(&self) -> Ref<'_, T, D> {
        let guard = D::read();
        let value = NonNull::from(self.load(&guard));
        // SAFETY: as in `RcuOption::get`.
        unsafe { Ref::new(value, guard) }
    }

    /// Returns the current value; see [`RcuOption::load`].
    #[inline(always)]
    pub fn load<'g>(&'g self, guard: &'g impl Protects<D>) -> &'g T {
        match self.0.load(guard) {
            Some(value) => value,
            // SAFETY: `new` and `from` put a value in, and no function of this type takes it out
            // without putting another in, but by value.
            None => unsafe { core::hint::unreachable_unchecked() },
        }
    }

    /// Calls `read` with the current value, in a section of its own; see [`RcuOption::read`].
    #[cfg(feature = "std")]
    #[inline]
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        let guard = D::read();
        read(self.load(&guard))
    }

    /// Publishes another value and returns the old one; see [`RcuOption::replace`].
    pub fn replace(&self, value: T) -> Retired<T, D>
    where
        T: Send + 'static,
    {
        retired(self.0.replace(Some(value)))
    }

    /// Publishes what `next` makes of the current value and returns the old one; see
    /// [`RcuOption::update`].
    #[cfg(feature = "std")]
    pub fn update(&self, mut next: impl FnMut(&T) -> T) -> Retired<T, D>
    where
        T: Send + 'static,
    {
        retired(self.0.update(|old| match old {
            Some(old) => next(old),
            // SAFETY: as in `load`.
            None => unsafe { core::hint::unreachable_unchecked() },
        }))
    }

    /// Returns the value, mutably: the caller is the cell's only user.
    pub fn get_mut(&mut self) -> &mut T {
        match self.0.get_mut() {
            Some(value) => value,
            // SAFETY: as in `load`.
            None => unsafe { core::hint::unreachable_unchecked() },
        }
    }

    /// Returns the value and ends the cell.
    pub fn into_inner(self) -> Box<T> {
        match self.0.into_inner() {
            Some(value) => value,
            // SAFETY: as in `load`.
            None => unsafe { core::hint::unreachable_unchecked() },
        }
    }
}

/// Unwraps what came out of a cell that is never empty.
fn retired<T: Send + 'static, D: Domain>(old: Option<Retired<T, D>>) -> Retired<T, D> {
    match old {
        Some(old) => old,
        // SAFETY: as in `RcuCell::load`.
        None => unsafe { core::hint::unreachable_unchecked() },
    }
}

impl<T, D: Domain> From<Box<T>> for RcuCell<T, D> {
    fn from(value: Box<T>) -> Self {
        RcuCell(RcuOption::from(value))
    }
}

impl<T: Default, D: Domain> Default for RcuCell<T, D> {
    fn default() -> Self {
        Self::new_in(T::default())
    }
}

impl<T, D: Domain> fmt::Debug for RcuCell<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RcuCell").finish_non_exhaustive()
    }
}
