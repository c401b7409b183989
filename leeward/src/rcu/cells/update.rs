//! Updates of cells: the next value is made of the current one, again if another writer was faster.

use alloc::boxed::Box;
use core::convert::Infallible;

use super::super::domain::Domain;
use super::super::free::retired::Retired;
use super::cell::{self, RcuCell};
use super::option::RcuOption;

impl<T, D: Domain> RcuOption<T, D> {
    /// Publishes what `next` makes of the current value; tries again if another writer was faster.
    ///
    /// Returns the old value, retired, or `None` if there was none.
    /// [`try_update`](Self::try_update) may also empty the cell, or leave it as it is.
    ///
    /// It needs the feature `std`: it reads the current value in a section of its own, on whatever thread
    /// calls, and finds that thread's slot in thread-local storage. Without, a writer that is alone reads by its
    /// [`Reader`](crate::rcu::Reader) and calls [`replace`](Self::replace).
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
    pub fn try_update<E>(
        &self,
        mut next: impl FnMut(Option<&T>) -> Result<Option<T>, E>,
    ) -> Result<Option<Retired<T, D>>, E>
    where
        T: Send + 'static,
    {
        self.try_update_box(|old| Ok(next(old)?.map(Box::new)))
    }
}

impl<T: ?Sized, D: Domain> RcuOption<T, D> {
    /// Publishes the box that `next` makes of the current value, as [`update`](Self::update) does.
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// let hosts = RcuOption::<str>::none();
    /// let add = |host| hosts.update_box(|old| [old.unwrap_or_default(), host].join(" ").into());
    /// assert!(add("a").is_none());
    /// add("b").unwrap().defer();
    /// assert_eq!(hosts.get().as_deref(), Some(" a b"));
    /// ```
    ///
    /// # Memory ordering, cost, panics
    /// As `update`. A value without a size [moves](Self#values-without-a-size) at each try.
    pub fn update_box(&self, mut next: impl FnMut(Option<&T>) -> Box<T>) -> Option<Retired<T, D>>
    where
        T: Send + 'static,
    {
        match self.try_update_box(|old| Ok::<_, Infallible>(Some(next(old)))) {
            Ok(old) => old,
            Err(never) => match never {},
        }
    }

    /// Publishes the box that `next` makes of the current value, unless it returns an error, as
    /// [`try_update`](Self::try_update) does.
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// let queue = RcuOption::<[u32]>::from([1, 2].as_slice());
    /// let pop = || queue.try_update_box(|now| match now {
    ///     None => Err("done"),
    ///     Some([_, rest @ ..]) if !rest.is_empty() => Ok(Some(rest.into())),
    ///     Some(_) => Ok(None),
    /// });
    /// assert_eq!(*pop().unwrap().unwrap(), [1, 2]);
    /// assert_eq!(*pop().unwrap().unwrap(), [2]);
    /// assert_eq!(pop().unwrap_err(), "done");
    /// ```
    ///
    /// # Errors
    /// That of `next`; the cell stays as it is.
    ///
    /// # Memory ordering, cost, panics
    /// As [`update_box`](Self::update_box).
    pub fn try_update_box<E>(
        &self,
        mut next: impl FnMut(Option<&T>) -> Result<Option<Box<T>>, E>,
    ) -> Result<Option<Retired<T, D>>, E>
    where
        T: Send + 'static,
    {
        // The section also keeps the old value's address from being used anew between the load and
        // the exchange.
        let guard = D::read();
        let mut old = self.load(&guard);
        loop {
            match self.compare_exchange(old, next(old)?, &guard) {
                Ok(old) => return Ok(old),
                Err(conflict) => old = conflict.current,
            }
        }
    }
}

impl<T, D: Domain> RcuCell<T, D> {
    /// Publishes what `next` makes of the current value and returns the old one; see
    /// [`RcuOption::update`].
    pub fn update(&self, mut next: impl FnMut(&T) -> T) -> Retired<T, D>
    where
        T: Send + 'static,
    {
        self.update_box(|old| Box::new(next(old)))
    }

    /// Publishes what `next` makes of the current value, unless it returns an error; see
    /// [`RcuOption::try_update`].
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// let seats = RcuCell::new(1_u32);
    /// let take = || seats.try_update(|free| free.checked_sub(1).ok_or("sold out"));
    /// take().unwrap().defer();
    /// assert_eq!(take().unwrap_err(), "sold out");
    /// ```
    ///
    /// # Errors
    /// That of `next`; the cell stays as it is.
    pub fn try_update<E>(&self, mut next: impl FnMut(&T) -> Result<T, E>) -> Result<Retired<T, D>, E>
    where
        T: Send + 'static,
    {
        self.try_update_box(|old| next(old).map(Box::new))
    }
}

impl<T: ?Sized, D: Domain> RcuCell<T, D> {
    /// Publishes the box that `next` makes of the current value and returns the old one; see
    /// [`RcuOption::update_box`].
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// let ports = RcuCell::<[u16]>::from(vec![80]);
    /// ports.update_box(|old| [old, &[443]].concat().into()).defer();
    /// assert_eq!(*ports.get(), [80, 443]);
    /// ```
    pub fn update_box(&self, mut next: impl FnMut(&T) -> Box<T>) -> Retired<T, D>
    where
        T: Send + 'static,
    {
        match self.try_update_box(|old| Ok::<_, Infallible>(next(old))) {
            Ok(old) => old,
            Err(never) => match never {},
        }
    }

    /// Publishes the box that `next` makes of the current value, unless it returns an error; see
    /// [`RcuOption::try_update_box`].
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// let name = RcuCell::<str>::from("a");
    /// let longer = || name.try_update_box(|now| if now.len() < 2 { Ok([now, "b"].concat().into()) } else { Err(()) });
    /// assert_eq!(&*longer().unwrap(), "a");
    /// assert!(longer().is_err() && *name.get() == *"ab");
    /// ```
    ///
    /// # Errors
    /// That of `next`; the cell stays as it is.
    pub fn try_update_box<E>(&self, mut next: impl FnMut(&T) -> Result<Box<T>, E>) -> Result<Retired<T, D>, E>
    where
        T: Send + 'static,
    {
        let old = self.option().try_update_box(|old| match old {
            Some(old) => next(old).map(Some),
            // SAFETY: as in `RcuCell::load`.
            None => unsafe { core::hint::unreachable_unchecked() },
        });
        old.map(cell::retired)
    }
}
