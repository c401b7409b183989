//! What writers call, where the process may end for want of memory; `checked.rs` has what returns then.

use alloc::vec::Vec;
use core::borrow::Borrow;

use super::attempt::no_memory;
use super::iter::IntoIter;
use super::map::OrderedMap;
use super::node;
use super::occupied::Occupied;
use super::path::Side;
use super::plan::Stop;
use super::retired::Retired;
use super::store::{Store, with_store};
use crate::rcu::{Domain, Protects};

impl<K, V, D: Domain> OrderedMap<K, V, D> {
    /// Adds an entry, or replaces the key's; returns what was replaced.
    ///
    /// # Cost
    /// Allocates and copies a leaf, takes the writers' lock for a moment; never waits for a reader.
    pub fn insert(&self, key: K, value: V) -> Option<Retired<'_, K, V, D>>
    where
        K: Ord,
    {
        let put = with_store!(self.layout, K, V, S => self.put::<S>(key, value, true, false));
        self.retired(put.unwrap_or_else(|_| no_memory()))
    }

    /// Adds an entry, unless the key is there.
    ///
    /// # Errors
    /// [`Occupied`], with the key and the value.
    pub fn try_insert(&self, key: K, value: V) -> Result<(), Occupied<K, V>>
    where
        K: Ord,
    {
        let put = with_store!(self.layout, K, V, S => self.put::<S>(key, value, false, false));
        match put {
            Ok(_) => Ok(()),
            Err((Stop::Nothing, (key, value))) => Err(Occupied { key, value }),
            Err((Stop::NoMemory, _)) => no_memory(),
        }
    }

    /// Returns the value of a key, which `make` makes if the map does not have the key.
    ///
    /// `make` is called at most once, with no lock held. If another thread adds the key meanwhile, its value is
    /// returned, and the one that was made is dropped. If `make` panics, nothing has changed.
    ///
    /// ```
    /// use leeward::{collect::OrderedMap, rcu};
    /// let (map, guard) = (OrderedMap::new(), rcu::read());
    /// assert_eq!(map.get_or_insert_with("a", || 1, &guard), &1);
    /// assert_eq!(map.get_or_insert_with("a", || unreachable!(), &guard), &1);
    /// ```
    ///
    /// # Cost
    /// As a look-up, if the key is there; else as a look-up and an [`insert`](Self::insert).
    pub fn get_or_insert_with<'g>(&'g self, key: K, make: impl FnOnce() -> V, guard: &'g impl Protects<D>) -> &'g V
    where
        K: Ord,
    {
        let _ = guard;
        with_store!(self.layout, K, V, S => {
            // SAFETY: the guard's section is open for as long as `'g`.
            unsafe { self.find_or_put::<S>(key, make) }
        })
        .unwrap_or_else(|_| no_memory())
    }

    /// Returns the value of a key, which is set to `value` if the map does not have the key; as
    /// [`get_or_insert_with`](Self::get_or_insert_with) otherwise.
    pub fn get_or_insert<'g>(&'g self, key: K, value: V, guard: &'g impl Protects<D>) -> &'g V
    where
        K: Ord,
    {
        self.get_or_insert_with(key, || value, guard)
    }

    /// Replaces a value by what `update` makes of it, and returns what was replaced; `None` if the key is
    /// not there. No other writer changes the value in between: if one does, `update` is called again.
    ///
    /// ```
    /// use leeward::{collect::OrderedMap, rcu};
    /// let hits = OrderedMap::from_iter([("a", 1)]);
    /// hits.update("a", |hits| hits + 1);
    /// assert_eq!(hits.get(&"a", &rcu::read()), Some(&2));
    /// ```
    pub fn update(&self, key: K, update: impl FnMut(&V) -> V) -> Option<Retired<'_, K, V, D>>
    where
        K: Ord,
    {
        match with_store!(self.layout, K, V, S => self.change::<S>(key, update, false)) {
            Ok(removed) => self.retired(removed),
            Err((Stop::Nothing, _)) => None,
            Err((Stop::NoMemory, _)) => no_memory(),
        }
    }

    /// Takes an entry out, and returns it.
    ///
    /// # Cost
    /// As [`insert`](Self::insert).
    pub fn remove<Q>(&self, key: &Q) -> Option<Retired<'_, K, V, D>>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let removed = with_store!(self.layout, K, V, S => self.take::<S, Q>(key, false));
        self.retired(removed.unwrap_or_else(|_| no_memory()))
    }

    /// Takes an entry out if `decide` returns true, and returns it. No other writer changes the value in
    /// between: if one does, `decide` is called again, with no lock held.
    ///
    /// ```
    /// use leeward::collect::OrderedMap;
    /// let leases = OrderedMap::from([("a", 3), ("b", 9)]);
    /// assert!(leases.remove_if("b", |_, until| *until < 5).is_none());
    /// assert_eq!(*leases.remove_if("a", |_, until| *until < 5).unwrap(), 3);
    /// ```
    ///
    /// # Cost
    /// As [`insert`](Self::insert), if it removes; else as a look-up. A `decide` that itself changes this
    /// key each time is called without end.
    pub fn remove_if<Q>(&self, key: &Q, decide: impl FnMut(&K, &V) -> bool) -> Option<Retired<'_, K, V, D>>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let removed = with_store!(self.layout, K, V, S => self.take_if::<S, Q>(key, decide));
        self.retired(removed.unwrap_or_else(|_| no_memory()))
    }

    /// Takes the first entry out, and returns it.
    pub fn pop_first(&self) -> Option<Retired<'_, K, V, D>> {
        let removed = with_store!(self.layout, K, V, S => self.take_end::<S>(Side::First, false));
        self.retired(removed.unwrap_or_else(|_| no_memory()))
    }

    /// Takes the last entry out, and returns it.
    pub fn pop_last(&self) -> Option<Retired<'_, K, V, D>> {
        let removed = with_store!(self.layout, K, V, S => self.take_end::<S>(Side::Last, false));
        self.retired(removed.unwrap_or_else(|_| no_memory()))
    }

    /// Takes out the entries for which `keeps` returns false, in order. It looks at every entry that is
    /// there throughout, and again at those of a leaf that another writer changes meanwhile.
    ///
    /// ```
    /// use leeward::collect::OrderedMap;
    /// let map: OrderedMap<u32, ()> = (0..10).map(|number| (number, ())).collect();
    /// map.retain(|number, _| number % 3 == 0);
    /// assert_eq!(map.len(), 4);
    /// ```
    ///
    /// # Cost
    /// A copy of each leaf that changes. It holds one section open.
    pub fn retain(&self, keeps: impl FnMut(&K, &V) -> bool)
    where
        K: Ord,
    {
        with_store!(self.layout, K, V, S => self.keep::<S>(keeps)).unwrap_or_else(|_| no_memory());
    }

    /// Takes all entries out, at one moment. They are freed after a grace period.
    ///
    /// # Cost
    /// One store; a later writer that frees them does it all at once. Needs no memory.
    pub fn clear(&self) {
        self.empty();
    }

    /// Takes the map apart.
    pub(super) fn into_entries(self) -> IntoIter<K, V> {
        let mut entries = Vec::with_capacity(self.len());
        if let Some(root) = self.tree.take() {
            with_store!(self.layout, K, V, S => {
                let each = &mut |key, value| {
                    // SAFETY: each pair comes once, and the map is the caller's alone.
                    let taken = unsafe { S::unpack(key, value) };
                    // SAFETY: as above.
                    entries.push(unsafe { taken.into_pair() });
                };
                // SAFETY: the root was taken out, and the map is the caller's alone.
                unsafe { node::take_apart::<K, V, S>(root, each) };
            });
        }
        IntoIter(entries.into_iter())
    }
}
