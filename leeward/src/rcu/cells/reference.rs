//! References that own their section. Made by `cell.rs` and `option.rs`.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;

use super::super::domain::Domain;
use super::super::section::guard::Guard;

/// A value of a cell, with the section that protects it, which ends when this is dropped.
///
/// [`RcuCell::get`](super::super::RcuCell::get) and [`RcuOption::get`](super::super::RcuOption::get) return it. It
/// stays on its thread, as a [`Guard`] does.
///
/// ```
/// use leeward::rcu::{RcuCell, Ref};
/// #[derive(Debug)]
/// struct Config { name: String, ports: Vec<u16> }
/// let config = RcuCell::new(Config { name: "a".into(), ports: vec![80, 443] });
/// let name = Ref::map(config.get(), |config| config.name.as_str());
/// let port = Ref::filter_map(config.get(), |config| config.ports.first());
/// assert_eq!(format!("{name}: {}", port.unwrap()), "a: 80");
/// ```
///
/// # Leaks
/// One that is forgotten keeps its section open; see [`Guard`](Guard#leaks).
#[must_use = "the section ends when this is dropped"]
pub struct Ref<'c, T: ?Sized, D: Domain = super::super::Global> {
    value: NonNull<T>,
    guard: Guard<'static, D>,
    /// The borrow of the cell.
    cell: PhantomData<&'c T>,
}

impl<'c, T: ?Sized, D: Domain> Ref<'c, T, D> {
    /// Binds a value to the guard that protects it.
    ///
    /// # Safety
    /// The value was loaded with the guard, or reached from one that was, and its cell is borrowed
    /// for `'c`.
    #[inline(always)]
    pub(in crate::rcu) unsafe fn new(value: NonNull<T>, guard: Guard<'static, D>) -> Self {
        Ref { value, guard, cell: PhantomData }
    }

    /// Makes a reference to a part of the value, with the same section.
    ///
    /// An associated function, so that it hides no method of `T`.
    #[inline]
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> Ref<'c, U, D> {
        let value = NonNull::from(part(&this));
        // SAFETY: a part of the value, which the same guard protects. `part` cannot return what it
        // keeps for longer, or from elsewhere, unless it lives for longer than any section.
        unsafe { Ref::new(value, this.guard) }
    }

    /// Makes a reference to a part of the value, if `part` finds it.
    ///
    /// # Errors
    /// The reference, as it was.
    #[inline]
    pub fn filter_map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> Option<&U>) -> Result<Ref<'c, U, D>, Self> {
        match part(&this).map(NonNull::from) {
            // SAFETY: as in `map`.
            Some(value) => Ok(unsafe { Ref::new(value, this.guard) }),
            None => Err(this),
        }
    }

    /// Returns the guard of the section, for other loads in it.
    ///
    /// ```
    /// use leeward::rcu::{RcuCell, RcuOption, Ref};
    /// let (hosts, limit) = (RcuCell::new(vec!["a"]), RcuOption::some(10));
    /// let hosts = hosts.get();
    /// assert_eq!(limit.load(Ref::guard(&hosts)), Some(&10));      // in the same section
    /// ```
    #[inline]
    pub fn guard(this: &Self) -> &Guard<'static, D> {
        &this.guard
    }
}

impl<T: ?Sized, D: Domain> Deref for Ref<'_, T, D> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard, which this owns, protects the value; `cell` is borrowed.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized + fmt::Debug, D: Domain> fmt::Debug for Ref<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display, D: Domain> fmt::Display for Ref<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
