//! A cell that is never empty: an `RcuOption` that always holds a value.

use alloc::boxed::Box;
use core::fmt;
#[cfg(feature = "std")]
use core::ptr::NonNull;

use super::super::domain::Domain;
use super::super::free::retired::Retired;
use super::super::section::protects::Protects;
use super::conflict::Conflict;
use super::option::RcuOption;
#[cfg(feature = "std")]
use super::reference::Ref;

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
/// let mut config = config;                        // no reader can be left
/// config.get_mut().push(30);
/// assert_eq!(*config.into_inner(), [10, 20, 30]);
/// ```
///
/// A value may also be without a size, as a `str` or a slice:
///
/// ```
/// use leeward::rcu::RcuCell;
/// let motd: RcuCell<str> = RcuCell::from("welcome");
/// motd.update_box(|now| format!("{now}; closing at noon").into()).defer();
/// assert_eq!(&*motd.get(), "welcome; closing at noon");
/// ```
///
/// [`RcuOption`] lists the differences from arc-swap, the functions' orderings and costs, and [those
/// of values without a size](RcuOption#values-without-a-size).
pub struct RcuCell<T: ?Sized, D: Domain = super::super::Global>(RcuOption<T, D>);

impl<T> RcuCell<T> {
    /// Makes a cell of [`Global`](super::super::Global) that holds `value`, which it allocates.
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

    /// Publishes another value and returns the old one; see [`RcuOption::replace`].
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// let name = RcuCell::new(String::from("a"));
    /// let old = name.replace(String::from("b"));
    /// assert_eq!((old.as_str(), name.get().as_str()), ("a", "b"));
    /// old.defer();
    /// ```
    pub fn replace(&self, value: T) -> Retired<T, D>
    where
        T: Send + 'static,
    {
        retired(self.0.replace(Some(value)))
    }

    /// Publishes another value, and has the old one freed after a grace period; see
    /// [`RcuOption::store`].
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// let limit = RcuCell::new(10);
    /// limit.store(20);
    /// assert_eq!(*limit.get(), 20);
    /// ```
    pub fn store(&self, value: T)
    where
        T: Send + 'static,
    {
        self.replace(value).defer();
    }
}

impl<T: ?Sized, D: Domain> RcuCell<T, D> {
    /// Makes a cell of a value in a box.
    pub(in crate::rcu) fn of_box(value: Box<T>) -> Self {
        RcuCell(RcuOption::of_box(value))
    }

    /// Returns the cell's option, which the caller leaves full (`update.rs`).
    #[cfg(feature = "std")]
    pub(in crate::rcu) fn option(&self) -> &RcuOption<T, D> {
        &self.0
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
        // SAFETY: `new_in` and `of_box` put a value in, and no function of this type takes it out
        // without putting another in, but by value.
        unsafe { self.0.load_full(guard) }
    }

    /// Calls `read` with the current value, in a section of its own; see [`RcuOption::read`].
    #[cfg(feature = "std")]
    #[inline]
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        let guard = D::read();
        read(self.load(&guard))
    }

    /// Publishes a value that is allocated already, and returns the old one; see
    /// [`RcuOption::replace`].
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// let page = RcuCell::new([0; 64]);
    /// let mut spare = page.replace_box(Box::new([1; 64])).synchronize();
    /// spare[0] = 2;                           // the memory is ours again, and is used again
    /// page.replace_box(spare).defer();
    /// assert_eq!(page.read(|page| page[0]), 2);
    /// ```
    #[doc(alias = "swap")]
    pub fn replace_box(&self, value: Box<T>) -> Retired<T, D>
    where
        T: Send + 'static,
    {
        retired(self.0.replace_box(Some(value)))
    }

    /// Publishes a value that is allocated already, and has the old one freed after a grace period;
    /// see [`RcuOption::store_box`].
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// let scale: RcuCell<dyn Fn(u32) -> u32 + Send + Sync> = RcuCell::from(Box::new(|n| n) as Box<_>);
    /// scale.store_box(Box::new(|n| n * 10));
    /// assert_eq!(scale.get()(7), 70);
    /// ```
    pub fn store_box(&self, value: Box<T>)
    where
        T: Send + 'static,
    {
        self.replace_box(value).defer();
    }

    /// Publishes `new` if the current value is still the one that `current` refers to, and returns
    /// the old one; see [`RcuOption::compare_exchange`].
    ///
    /// ```
    /// use leeward::rcu::{self, RcuCell};
    /// let count = RcuCell::new(1);
    /// let guard = rcu::read();
    /// let seen = count.load(&guard);
    /// count.compare_exchange(seen, Box::new(seen + 1), &guard).unwrap().defer();
    /// let conflict = count.compare_exchange(seen, Box::new(9), &guard).unwrap_err();
    /// assert_eq!((conflict.current, *conflict.new), (&2, 9));
    /// ```
    ///
    /// # Errors
    /// [`Conflict`], with the value that is current, and with `new`.
    pub fn compare_exchange<'g>(
        &'g self,
        current: &T,
        new: Box<T>,
        guard: &'g impl Protects<D>,
    ) -> Result<Retired<T, D>, Conflict<&'g T, Box<T>>>
    where
        T: Send + 'static,
    {
        match self.0.compare_exchange(Some(current), Some(new), guard) {
            Ok(old) => Ok(retired(old)),
            Err(Conflict { current: Some(current), new: Some(new) }) => Err(Conflict { current, new }),
            // SAFETY: as in `load`; and `new` was given.
            Err(_) => unsafe { core::hint::unreachable_unchecked() },
        }
    }

    /// Returns the value, mutably: the caller is the cell's only user.
    pub fn get_mut(&mut self) -> &mut T {
        match self.0.get_mut() {
            Some(value) => value,
            // SAFETY: as in `load`.
            None => unsafe { core::hint::unreachable_unchecked() },
        }
    }

    /// Returns the value and ends the cell; see [`RcuOption::into_inner`].
    pub fn into_inner(self) -> Box<T> {
        match self.0.into_inner() {
            Some(value) => value,
            // SAFETY: as in `load`.
            None => unsafe { core::hint::unreachable_unchecked() },
        }
    }
}

/// Unwraps what came out of a cell that is never empty.
pub(in crate::rcu) fn retired<T: ?Sized + Send + 'static, D: Domain>(old: Option<Retired<T, D>>) -> Retired<T, D> {
    match old {
        Some(old) => old,
        // SAFETY: as in `RcuCell::load`.
        None => unsafe { core::hint::unreachable_unchecked() },
    }
}

impl<T: Default> RcuCell<T> {
    /// Makes a cell of [`Global`](super::super::Global) that holds the type's default value. The trait's
    /// `default` makes one of any domain that the type names; this one is called where it names none.
    #[allow(clippy::should_implement_trait)]
    pub fn default() -> Self {
        Self::new_in(T::default())
    }
}

impl<T: Default, D: Domain> Default for RcuCell<T, D> {
    fn default() -> Self {
        Self::new_in(T::default())
    }
}

/// Shows the current value, as [`RcuOption`]'s does.
impl<T: ?Sized + fmt::Debug, D: Domain> fmt::Debug for RcuCell<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "std")]
        return f.debug_tuple("RcuCell").field(&self.get()).finish();
        #[cfg(not(feature = "std"))]
        f.debug_struct("RcuCell").finish_non_exhaustive()
    }
}
