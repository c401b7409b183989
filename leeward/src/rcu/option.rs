//! A cell whose value may be absent: readers load it in a section, and a writer replaces it whole.
//! Its users need no `unsafe`. `cell.rs` has the one that is never empty.

use alloc::boxed::Box;
#[cfg(feature = "std")]
use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::conflict::Conflict;
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
    ///
    /// ```
    /// use leeward::rcu::{Domain, RcuOption};
    /// leeward::rcu_domain! { struct Routes; }
    /// let mut default = RcuOption::<_, Routes>::some_in(1);
    /// *default.get_mut().unwrap() += 1;
    /// assert_eq!(default.load(&Routes::read()), Some(&2));
    /// assert_eq!(default.into_inner(), Some(Box::new(2)));
    /// ```
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

    /// Publishes a value that is allocated already, as [`replace`](Self::replace) does otherwise.
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// let job = RcuOption::none();
    /// assert!(job.replace_box(Some(Box::new(1))).is_none());
    /// let old = job.replace_box(None).unwrap();
    /// assert_eq!(*old.synchronize(), 1);
    /// ```
    #[doc(alias = "swap")]
    pub fn replace_box(&self, value: Option<Box<T>>) -> Option<Retired<T, D>>
    where
        T: Send + 'static,
    {
        self.swap(value.map_or(ptr::null_mut(), Box::into_raw))
    }

    /// Publishes another value, and has the old one freed after a grace period: as
    /// [`replace`](Self::replace) and [`Retired::defer`], with their costs.
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// static NOTICE: RcuOption<String> = RcuOption::none();
    /// NOTICE.store(Some(String::from("closing at noon")));
    /// assert!(NOTICE.get().is_some());
    /// NOTICE.store(None);
    /// assert!(NOTICE.get().is_none());
    /// ```
    pub fn store(&self, value: Option<T>)
    where
        T: Send + 'static,
    {
        if let Some(old) = self.replace(value) {
            old.defer();
        }
    }

    /// Publishes `new` if the current value is still the one that `current` refers to, and returns
    /// the old one.
    ///
    /// Values are told apart by their address: an equal one elsewhere is another. (All values of a
    /// type without a size are the same.)
    ///
    /// ```
    /// use leeward::rcu::{self, RcuOption};
    /// let head = RcuOption::some(1);
    /// let guard = rcu::read();
    /// let seen = head.load(&guard);
    /// let old = head.compare_exchange(seen, Some(Box::new(2)), &guard).unwrap().unwrap();
    /// old.defer();
    /// let conflict = head.compare_exchange(seen, None, &guard).unwrap_err();
    /// assert_eq!(conflict.current, Some(&2));
    /// ```
    ///
    /// # Errors
    /// [`Conflict`], with the value that is current, and with `new`.
    ///
    /// # Memory ordering
    /// As [`replace`](Self::replace); as [`load`](Self::load), where it fails.
    ///
    /// # Cost
    /// An atomic compare-exchange. Wait-free.
    pub fn compare_exchange<'g>(
        &'g self,
        current: Option<&T>,
        new: Option<Box<T>>,
        guard: &'g impl Protects<D>,
    ) -> Result<Option<Retired<T, D>>, Conflict<Option<&'g T>, Option<Box<T>>>>
    where
        T: Send + 'static,
    {
        let _ = guard;
        let current = current.map_or(ptr::null_mut(), |current| ptr::from_ref(current).cast_mut());
        let raw = new.map_or(ptr::null_mut(), Box::into_raw);
        match self.value.compare_exchange(current, raw, Ordering::AcqRel, Ordering::Acquire) {
            // Release, Acquire, and what is retired: as in `swap` and `update`.
            // SAFETY: as in `swap`.
            Ok(old) => Ok(NonNull::new(old).map(|old| unsafe { Retired::new(old) })),
            Err(now) => {
                // SAFETY: null, or made from a box above and published nowhere.
                let new = NonNull::new(raw).map(|raw| unsafe { Box::from_raw(raw.as_ptr()) });
                // Acquire: as in `load`.
                // SAFETY: as in `load`.
                Err(Conflict { current: unsafe { now.as_ref() }, new })
            }
        }
    }

    /// Empties the cell, as [`replace`](Self::replace) with `None` does.
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// let job = RcuOption::some("sweep");
    /// assert_eq!(*job.take().unwrap(), "sweep");
    /// assert!(job.take().is_none());
    /// ```
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
    /// [`try_update`](Self::try_update) may also empty the cell, or leave it as it is.
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// let visits = RcuOption::none();
    /// assert!(visits.update(|old| old.map_or(1, |n| n + 1)).is_none());
    /// visits.update(|old| old.map_or(1, |n| n + 1)).unwrap().defer();
    /// assert_eq!(visits.read(|n| n.copied()), Some(2));
    /// ```
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
        match self.try_update(|old| Ok::<_, Infallible>(Some(next(old)))) {
            Ok(old) => old,
            Err(never) => match never {},
        }
    }

    /// Publishes what `next` makes of the current value, unless it returns an error; tries again if
    /// another writer was faster.
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// let lives = RcuOption::some(2);
    /// let lose = || lives.try_update(|now| match now {
    ///     Some(1) => Ok(None),
    ///     Some(lives) => Ok(Some(lives - 1)),
    ///     None => Err("dead already"),
    /// });
    /// assert!(lose().is_ok() && lose().is_ok());
    /// assert_eq!(lose().unwrap_err(), "dead already");
    /// ```
    ///
    /// # Errors
    /// That of `next`; the cell stays as it is.
    ///
    /// # Memory ordering, cost, panics
    /// As [`update`](Self::update).
    #[cfg(feature = "std")]
    pub fn try_update<E>(
        &self,
        mut next: impl FnMut(Option<&T>) -> Result<Option<T>, E>,
    ) -> Result<Option<Retired<T, D>>, E>
    where
        T: Send + 'static,
    {
        // The section also keeps the old value's address from being used anew between the load and
        // the exchange.
        let guard = D::read();
        let mut old = self.load(&guard);
        loop {
            match self.compare_exchange(old, next(old)?.map(Box::new), &guard) {
                Ok(old) => return Ok(old),
                Err(conflict) => old = conflict.current,
            }
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

/// Shows the current value, which it reads in a section; without `std` it has none to read it in.
impl<T: fmt::Debug, D: Domain> fmt::Debug for RcuOption<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "std")]
        return f.debug_tuple("RcuOption").field(&self.get()).finish();
        #[cfg(not(feature = "std"))]
        f.debug_struct("RcuOption").finish_non_exhaustive()
    }
}
