//! A cell whose value may be absent: readers load it in a section, and a writer replaces it whole.
//! Its users need no `unsafe`. `cell.rs` has the one that is never empty; `update.rs` and `from.rs`
//! have more of this one's functions.

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use super::super::domain::Domain;
use super::super::free::retired::Retired;
use super::super::section::protects::Protects;
use super::conflict::Conflict;
#[cfg(feature = "std")]
use super::reference::Ref;
use super::word::{self, word_of};
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
/// # Values without a size
/// `T` may be a `str`, a slice or a `dyn Trait`: such a value comes in a `Box`, from a reference
/// (`From`), or by [`replace_box`](Self::replace_box), [`store_box`](Self::store_box) and
/// [`update_box`](Self::update_box). The cell is one word all the same. A reader finds the value's
/// length or methods beside the value, in one allocation: one load more than for a value with a size,
/// and one pointer less than in a cell of a `Box<str>`.
///
/// ```
/// use leeward::rcu::RcuOption;
/// type Filter = dyn Fn(u32) -> bool + Send + Sync;
/// static FILTER: RcuOption<Filter> = RcuOption::none();
/// FILTER.store_box(Some(Box::new(|port| port != 22)));
/// assert!(FILTER.read(|filter| filter.unwrap()(80)));
/// assert_eq!(size_of_val(&FILTER), size_of::<usize>());
/// ```
///
/// For this the cell moves the value out of the box that it is given into an allocation of its own,
/// and back into a box when it is returned as one ([`Retired::synchronize`],
/// [`into_inner`](Self::into_inner), the [`Conflict`] of a compare-exchange): each time an allocation
/// and a copy. Where there is no memory for it, these calls end the process, as `Box::new` does.
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
/// - `T` may be without a size; arc-swap's pointers are to values with one.
/// - Without `std`, the handles [`Reader`](crate::rcu::Reader) and
///   [`qsbr::Reader`](crate::rcu::qsbr::Reader) serve.
///
/// [`rcu`](crate::rcu) describes [fork](crate::rcu#fork) and [signals](crate::rcu#signals).
pub struct RcuOption<T: ?Sized, D: Domain = super::super::Global> {
    /// The value, as `word.rs` says; null: none.
    value: AtomicPtr<()>,
    /// Owns a `T`, of exactly that type: a shared cell takes values in as well as it gives them out.
    /// Belongs to `D`.
    owns: PhantomData<(Box<T>, fn(*mut T), fn() -> D)>,
}

// SAFETY: sending the cell sends the value.
unsafe impl<T: ?Sized + Send, D: Domain> Send for RcuOption<T, D> {}
// SAFETY: readers of many threads share the value (`Sync`), and the thread that replaces it takes
// it away (`Send`).
unsafe impl<T: ?Sized + Send + Sync, D: Domain> Sync for RcuOption<T, D> {}

impl<T: ?Sized> RcuOption<T> {
    const_fn! {
        /// Makes an empty cell of [`Global`](super::super::Global). [`none_in`](Self::none_in) makes one of
        /// any domain.
        pub fn none() -> Self {
            Self::none_in()
        }
    }
}

impl<T> RcuOption<T> {
    /// Makes a cell of [`Global`](super::super::Global) that holds `value`, which it allocates.
    /// [`some_in`](Self::some_in) makes one of any domain.
    pub fn some(value: T) -> Self {
        Self::some_in(value)
    }
}

impl<T, D: Domain> RcuOption<T, D> {
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
        Self::of_box(Box::new(value))
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
        self.replace_box(value.map(Box::new))
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
}

impl<T: ?Sized, D: Domain> RcuOption<T, D> {
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
    /// One load; for a value without a size, one more. Wait-free, async-signal-safe.
    #[inline(always)]
    pub fn load<'g>(&'g self, guard: &'g impl Protects<D>) -> Option<&'g T> {
        let _ = guard;
        // Acquire: partner of the release in `swap`. (The dependency would do; Rust has no ordering
        // for it. On x86 it is the same instruction.)
        let value = self.value.load(Ordering::Acquire);
        // SAFETY: the word was published with the value whole behind it.
        let value = unsafe { word::value_of::<T>(value) }?;
        // SAFETY: the value is freed after a grace period that began after it was unlinked: the
        // guard's section keeps that from ending while `'g` lasts. Owners (`&mut self`, `drop`)
        // exclude the borrow of the cell.
        Some(unsafe { value.as_ref() })
    }

    /// Returns the current value of a cell that has one, as [`load`](Self::load) does.
    ///
    /// # Safety
    /// The cell is never empty.
    #[inline(always)]
    pub(in crate::rcu) unsafe fn load_full<'g>(&'g self, guard: &'g impl Protects<D>) -> &'g T {
        let _ = guard;
        // Acquire: as in `load`.
        let word = self.value.load(Ordering::Acquire);
        // SAFETY: the caller's promise.
        let word = unsafe { NonNull::new_unchecked(word) };
        // SAFETY: as in `load`.
        let value = unsafe { word::value_behind::<T>(word) };
        // SAFETY: as in `load`.
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

    /// Publishes a value that is allocated already, as [`replace`](Self::replace) does otherwise.
    ///
    /// # Cost
    /// An atomic exchange. A value without a size moves into [memory of the
    /// cell](Self#values-without-a-size).
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
        self.swap(value.map_or(ptr::null_mut(), word::publish))
    }

    /// Publishes a value that is allocated already, and has the old one freed after a grace period: as
    /// [`replace_box`](Self::replace_box) and [`Retired::defer`], with their costs.
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// static HOSTS: RcuOption<[String]> = RcuOption::none();
    /// HOSTS.store_box(Some(["a".into(), "b".into()].into()));
    /// assert_eq!(HOSTS.get().unwrap().len(), 2);
    /// ```
    pub fn store_box(&self, value: Option<Box<T>>)
    where
        T: Send + 'static,
    {
        if let Some(old) = self.replace_box(value) {
            old.defer();
        }
    }

    /// Publishes `new` if the current value is still the one that `current` refers to, and returns
    /// the old one.
    ///
    /// Values are told apart by their address: an equal one elsewhere is another. (All values of a
    /// sized type of no bytes are the same, and a slice is the same as its first elements.)
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
    /// An atomic compare-exchange. Wait-free, but for the [move](Self#values-without-a-size) of a
    /// value without a size.
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
        let word = new.map_or(ptr::null_mut(), word::publish);
        match self.value.compare_exchange(word_of(current), word, Ordering::AcqRel, Ordering::Acquire) {
            // Release, Acquire: as in `swap`.
            // SAFETY: as in `swap`.
            Ok(old) => Ok(unsafe { Self::retire(old) }),
            Err(now) => {
                // SAFETY: null, or made of a box above.
                let new = unsafe { word::value_of(word) };
                // SAFETY: as above, and published nowhere.
                let new = new.map(|new| unsafe { word::into_box(new) });
                // Acquire: as in `load`.
                // SAFETY: as in `load`.
                let current = unsafe { word::value_of(now) };
                // SAFETY: as in `load`.
                Err(Conflict { current: current.map(|now| unsafe { now.as_ref() }), new })
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

    /// Publishes what is behind a word, which comes from [`word::publish`], or nothing.
    fn swap(&self, new: *mut ()) -> Option<Retired<T, D>>
    where
        T: Send + 'static,
    {
        // Release: partner of the acquire in `load`. Acquire: what the old value's publisher did
        // happens before the value is freed.
        let old = self.value.swap(new, order!(AcqRel, publish_release));
        // SAFETY: the exchange gave it to us alone: no later reader finds it.
        unsafe { Self::retire(old) }
    }

    /// Retires what is behind a word that was unlinked.
    ///
    /// # Safety
    /// The word was the cell's, and is the caller's alone to free: no later reader finds it.
    unsafe fn retire(word: *mut ()) -> Option<Retired<T, D>>
    where
        T: Send + 'static,
    {
        // SAFETY: the cell's words are `publish`'s, or null.
        let value = unsafe { word::value_of(word) };
        // SAFETY: the caller's promise; `T` is `Send` and borrows nothing.
        value.map(|value| unsafe { Retired::new(value) })
    }

    /// Returns the value, mutably: the caller is the cell's only user.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // Relaxed: the caller has the cell alone.
        let word = self.value.load(Ordering::Relaxed);
        // SAFETY: null, or from `publish`; the caller has the cell by `&mut`.
        let mut value = unsafe { word::value_of::<T>(word) }?;
        // SAFETY: `&mut self`: no reader has a borrow of the cell, and no writer replaces.
        Some(unsafe { value.as_mut() })
    }

    /// Returns the value and ends the cell. A value without a size [moves](Self#values-without-a-size)
    /// into its box.
    pub fn into_inner(self) -> Option<Box<T>> {
        // Relaxed, both: the caller has the cell alone.
        let word = self.value.load(Ordering::Relaxed);
        self.value.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: null, or from `publish`, and taken out of the cell.
        let value = unsafe { word::value_of(word) }?;
        // SAFETY: `self` by value: no other thread has the cell.
        Some(unsafe { word::into_box(value) })
    }
}

impl<T: ?Sized, D: Domain> Drop for RcuOption<T, D> {
    fn drop(&mut self) {
        // Relaxed: the caller has the cell alone.
        let word = self.value.load(Ordering::Relaxed);
        // SAFETY: null, or from `publish`.
        if let Some(value) = unsafe { word::value_of::<T>(word) } {
            // SAFETY: `&mut self`: every reference that was loaded borrowed the cell and is dead.
            unsafe { word::free(value) };
        }
    }
}

impl<T: ?Sized, D: Domain> RcuOption<T, D> {
    /// Makes a cell of a value in a box.
    pub(in crate::rcu) fn of_box(value: Box<T>) -> Self {
        RcuOption { value: AtomicPtr::new(word::publish(value)), owns: PhantomData }
    }
}

impl<T: ?Sized> RcuOption<T> {
    /// Makes an empty cell of [`Global`](super::super::Global). The trait's `default` makes one of any domain
    /// that the type names; this one is called where it names none.
    #[allow(clippy::should_implement_trait)]
    pub fn default() -> Self {
        Self::none_in()
    }
}

impl<T: ?Sized, D: Domain> Default for RcuOption<T, D> {
    fn default() -> Self {
        Self::none_in()
    }
}

/// Shows the current value, which it reads in a section; without `std` it has none to read it in.
impl<T: ?Sized + fmt::Debug, D: Domain> fmt::Debug for RcuOption<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "std")]
        return f.debug_tuple("RcuOption").field(&self.get()).finish();
        #[cfg(not(feature = "std"))]
        f.debug_struct("RcuOption").finish_non_exhaustive()
    }
}
