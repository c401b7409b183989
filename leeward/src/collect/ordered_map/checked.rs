//! What writers call that go on where there is no memory.

use core::borrow::Borrow;

use super::map::OrderedMap;
use super::no_memory::{NoMemory, NotInserted};
use super::occupied::Occupied;
use super::path::Side;
use super::plan::Stop;
use super::retired::Retired;
use super::store::with_store;
use crate::collect::backend::may_enter;
use crate::rcu::Domain;

/// # Changes that return where there is no memory
/// The calls `checked_` do what those without this word do, but return an error where there is no memory.
/// All that a change takes is reserved before readers can see any of it. So it is made as a whole, or the
/// map is as before; and what was taken out can be dropped without any memory more.
impl<K, V, D: Domain> OrderedMap<K, V, D> {
    /// Adds an entry, or replaces the key's; returns what was replaced.
    ///
    /// ```
    /// use leeward::collect::OrderedMap;
    /// let map = OrderedMap::new();
    /// assert!(map.checked_insert(1, "one").is_ok());
    /// ```
    ///
    /// # Errors
    /// [`NoMemory`], with the key and the value, if there is no memory.
    ///
    /// # Cost
    /// As [`insert`](Self::insert); one small allocation more where an entry is replaced that is not a
    /// copy in the nodes.
    pub fn checked_insert(&self, key: K, value: V) -> Result<Option<Retired<'_, K, V, D>>, NoMemory<(K, V)>>
    where
        K: Ord,
    {
        if !may_enter::<D>() {
            return Err(NoMemory((key, value)));
        }
        let put = with_store!(self.layout, K, V, S => self.put::<S>(key, value, true, true));
        put.map(|removed| self.retired(removed)).map_err(|(_, pair)| NoMemory(pair))
    }

    /// Adds an entry, unless the key is there.
    ///
    /// # Errors
    /// [`NotInserted`], with the key and the value, if the key is there, or if there is no memory.
    pub fn checked_try_insert(&self, key: K, value: V) -> Result<(), NotInserted<K, V>>
    where
        K: Ord,
    {
        if !may_enter::<D>() {
            return Err(NotInserted::NoMemory(NoMemory((key, value))));
        }
        let put = with_store!(self.layout, K, V, S => self.put::<S>(key, value, false, true));
        put.map(drop).map_err(|(stop, (key, value))| match stop {
            Stop::Nothing => NotInserted::Occupied(Occupied { key, value }),
            Stop::NoMemory => NotInserted::NoMemory(NoMemory((key, value))),
        })
    }

    /// Replaces a value by what `update` makes of it, as [`update`](Self::update) does. `Ok(None)`: the key
    /// is not there.
    ///
    /// # Errors
    /// [`NoMemory`], with the key, if there is no memory. What `update` has made is dropped.
    pub fn checked_update(
        &self,
        key: K,
        update: impl FnMut(&V) -> V,
    ) -> Result<Option<Retired<'_, K, V, D>>, NoMemory<K>>
    where
        K: Ord,
    {
        if !may_enter::<D>() {
            return Err(NoMemory(key));
        }
        match with_store!(self.layout, K, V, S => self.change::<S>(key, update, true)) {
            Ok(removed) => Ok(self.retired(removed)),
            Err((Stop::Nothing, _)) => Ok(None),
            Err((Stop::NoMemory, key)) => Err(NoMemory(key)),
        }
    }

    /// Takes an entry out, and returns it.
    ///
    /// ```
    /// use leeward::collect::{OrderedMap, ordered_map::NoMemory};
    /// let map = OrderedMap::from_iter([(1, String::from("one"))]);
    /// match map.checked_remove(&1) {
    ///     Ok(removed) => assert_eq!(removed.unwrap().as_str(), "one"),
    ///     Err(NoMemory(())) => println!("it is in the map still"),
    /// }
    /// ```
    ///
    /// # Errors
    /// [`NoMemory`], if there is no memory to take the entry out: it is in the map still.
    ///
    /// # Cost
    /// As [`checked_insert`](Self::checked_insert).
    pub fn checked_remove<Q>(&self, key: &Q) -> Result<Option<Retired<'_, K, V, D>>, NoMemory>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        may_enter::<D>().then_some(()).ok_or(NoMemory(()))?;
        let removed = with_store!(self.layout, K, V, S => self.take::<S, Q>(key, true));
        removed.map(|removed| self.retired(removed))
    }

    /// Takes the first entry out, and returns it.
    ///
    /// # Errors
    /// [`NoMemory`], if there is no memory to take the entry out: it is in the map still.
    pub fn checked_pop_first(&self) -> Result<Option<Retired<'_, K, V, D>>, NoMemory> {
        self.checked_pop(Side::First)
    }

    /// Takes the last entry out, and returns it.
    ///
    /// # Errors
    /// [`NoMemory`], if there is no memory to take the entry out: it is in the map still.
    pub fn checked_pop_last(&self) -> Result<Option<Retired<'_, K, V, D>>, NoMemory> {
        self.checked_pop(Side::Last)
    }

    fn checked_pop(&self, side: Side) -> Result<Option<Retired<'_, K, V, D>>, NoMemory> {
        may_enter::<D>().then_some(()).ok_or(NoMemory(()))?;
        let removed = with_store!(self.layout, K, V, S => self.take_end::<S>(side, true));
        removed.map(|removed| self.retired(removed))
    }

    /// Takes out the entries for which `keeps` returns false, as [`retain`](Self::retain) does.
    ///
    /// # Errors
    /// [`NoMemory`], if there is no memory to go on. Entries before some key were taken out then, and those
    /// from there on are in the map still: the call may be repeated.
    pub fn checked_retain(&self, keeps: impl FnMut(&K, &V) -> bool) -> Result<(), NoMemory>
    where
        K: Ord,
    {
        may_enter::<D>().then_some(()).ok_or(NoMemory(()))?;
        with_store!(self.layout, K, V, S => self.keep::<S>(keeps))
    }
}
