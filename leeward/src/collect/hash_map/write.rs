//! Inserting and removing. No code of users runs under a lock.
//!
//! A call asks for its key's hash once, at its beginning, and does everything by that: a `Hash` that
//! answers differently each time costs the entry that it hashed, and no other.

use alloc::alloc::{Layout, handle_alloc_error};
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::ptr::NonNull;

use super::super::Equivalent;
use super::super::table::{Insertion, Seen, TableNode};
use super::HashMap;
use super::decision::{Decision, note_write};
use super::entry::{HashEntry, Unlinked};
use super::retired::Retired;
use crate::rcu::{Domain, Protects};

/// What a look-up for a writer found.
pub(super) type Found<K, V> = Option<NonNull<HashEntry<K, V>>>;

impl<K: Eq + Hash, V, S: BuildHasher, D: Domain> HashMap<K, V, S, D> {
    /// Sets a key's value, and returns what was there before: the old key and the old value.
    /// Readers find the old value or the new one, at any instant.
    ///
    /// ```
    /// let map = leeward::collect::HashMap::new();
    /// assert!(map.insert("a", 1).is_none());
    /// assert_eq!(*map.insert("a", 2).unwrap(), 1);
    /// ```
    ///
    /// # Aborts
    /// Where there is no memory for the entry, as a box of it would.
    ///
    /// # Panics
    /// With a panic of `Hash` or `Eq`: then nothing has changed, and key and value are dropped.
    pub fn insert(&self, key: K, value: V) -> Option<Retired<'_, K, V, S, D>> {
        let new = Unlinked::new(&self.entries, self.hash(&key), key, value);
        let _guard = D::read();
        let mut seen = Seen::new();
        loop {
            let Some(old) = self.search(&new, &mut seen) else {
                if self.try_link(&new, &mut seen) {
                    new.linked();
                    return None;
                }
                continue;
            };
            if self.try_replace(old, &new) {
                new.linked();
                // SAFETY: taken out by this thread.
                return Some(unsafe { Retired::new(self, old) });
            }
        }
    }

    /// Sets the value of a key that the map does not have, and returns it.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu};
    /// let (map, guard) = (HashMap::new(), rcu::read());
    /// assert_eq!(map.try_insert("a", 1, &guard).unwrap(), &1);
    /// let error = map.try_insert("a", 2, &guard).unwrap_err();
    /// assert_eq!((error.current, error.value), (&1, 2));
    /// ```
    ///
    /// # Errors
    /// [`Occupied`], with the value that the map has, if it has the key.
    pub fn try_insert<'g>(
        &'g self,
        key: K,
        value: V,
        guard: &'g impl Protects<D>,
    ) -> Result<&'g V, Occupied<'g, K, V>> {
        let new = Unlinked::new(&self.entries, self.hash(&key), key, value);
        match self.link_new(new, guard) {
            Ok(new) => Ok(&new.value),
            Err((there, new)) => {
                let (key, value) = new.into_pair();
                Err(Occupied { current: &there.value, key, value })
            }
        }
    }

    /// Returns the value of a key, which `make` makes if the map does not have the key.
    ///
    /// `make` is called at most once, with no lock held. If another thread inserts the key
    /// meanwhile, its value is returned, and the one that was made is dropped.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu};
    /// let (map, guard) = (HashMap::new(), rcu::read());
    /// assert_eq!(map.get_or_insert_with("a", || 1, &guard), &1);
    /// assert_eq!(map.get_or_insert_with("a", || unreachable!(), &guard), &1);
    /// ```
    pub fn get_or_insert_with<'g>(&'g self, key: K, make: impl FnOnce() -> V, guard: &'g impl Protects<D>) -> &'g V {
        self.get_or_insert_entry(key, make, guard).1
    }

    /// Sets the value of a key that the map does not have to what `make` makes, and returns it; as
    /// [`get_or_insert_with`](Self::get_or_insert_with) otherwise.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu};
    /// let (map, guard) = (HashMap::new(), rcu::read());
    /// assert_eq!(map.try_insert_with("a", || 1, &guard), Ok(&1));
    /// assert_eq!(map.try_insert_with("a", || unreachable!(), &guard), Err(&1));
    /// ```
    ///
    /// # Errors
    /// The value that the map has, if it has the key.
    pub fn try_insert_with<'g>(
        &'g self,
        key: K,
        make: impl FnOnce() -> V,
        guard: &'g impl Protects<D>,
    ) -> Result<&'g V, &'g V> {
        self.insert_made(key, make, guard).map(|new| &new.value).map_err(|there| &there.value)
    }

    /// Does what `get_or_insert_with` does, and returns the key as the map has it, too.
    pub(in crate::collect) fn get_or_insert_entry<'g>(
        &'g self,
        key: K,
        make: impl FnOnce() -> V,
        guard: &'g impl Protects<D>,
    ) -> (&'g K, &'g V) {
        let entry = self.insert_made(key, make, guard).unwrap_or_else(|there| there);
        (&entry.key, &entry.value)
    }

    /// Inserts a key with what `make` makes, or returns the entry that the map has as an error.
    fn insert_made<'g>(
        &'g self,
        key: K,
        make: impl FnOnce() -> V,
        guard: &'g impl Protects<D>,
    ) -> Result<&'g HashEntry<K, V>, &'g HashEntry<K, V>> {
        let hash = self.hash(&key);
        if let Some(there) = self.find_hashed(hash, &key, guard) {
            return Err(there);
        }
        let new = Unlinked::new(&self.entries, hash, key, make());
        self.link_new(new, guard).map_err(|(there, _)| there)
    }

    /// Returns the value of a key, which is set to `value` if the map does not have the key; as
    /// [`get_or_insert_with`](Self::get_or_insert_with) otherwise.
    pub fn get_or_insert<'g>(&'g self, key: K, value: V, guard: &'g impl Protects<D>) -> &'g V {
        self.get_or_insert_with(key, || value, guard)
    }

    /// Removes a key, and returns what was there.
    ///
    /// ```
    /// let map = leeward::collect::HashMap::from([("a", String::from("text"))]);
    /// let (key, text) = map.remove("a").unwrap().synchronize();       // once no reader can have it
    /// assert_eq!((key, text.as_str()), ("a", "text"));
    /// assert!(map.remove("a").is_none());
    /// ```
    pub fn remove<Q>(&self, key: &Q) -> Option<Retired<'_, K, V, S, D>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.remove_by_hash(self.hash(key), |there| key.equivalent(there))
    }

    /// Removes a key if `decide` returns true, and returns what was there.
    ///
    /// `decide` is called, with no lock held, again if the value was changed meanwhile.
    ///
    /// ```
    /// let map = leeward::collect::HashMap::from([("a", 1)]);
    /// assert!(map.remove_if("a", |_, value| *value > 1).is_none());
    /// assert!(map.remove_if("a", |_, value| *value == 1).is_some());
    /// ```
    ///
    /// # Panics
    /// If `decide` itself changes this key, each time that it is called. Nothing was removed then.
    #[track_caller]
    pub fn remove_if<Q>(&self, key: &Q, mut decide: impl FnMut(&K, &V) -> bool) -> Option<Retired<'_, K, V, S, D>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let _guard = D::read();
        let hash = self.hash(key);
        let mut decision = None;
        loop {
            // SAFETY: a section is open.
            let found = unsafe { self.table.find(hash, |entry| key.equivalent(&entry.key)) }?;
            // SAFETY: as above.
            let entry = unsafe { found.as_ref() };
            let decision = decision.get_or_insert_with(|| Decision::new(self, hash));
            if !decision.call(|| decide(&entry.key, &entry.value)) {
                return None;
            }
            // SAFETY: as above.
            if unsafe { self.try_remove(found) } {
                // SAFETY: taken out by this thread.
                return Some(unsafe { Retired::new(self, found) });
            }
        }
    }

    /// Links a new entry, or returns the one that the map has.
    fn link_new<'g>(
        &'g self,
        new: Unlinked<'g, K, V>,
        _guard: &'g impl Protects<D>,
    ) -> Result<&'g HashEntry<K, V>, (&'g HashEntry<K, V>, Unlinked<'g, K, V>)> {
        let mut seen = Seen::new();
        loop {
            if let Some(there) = self.search(&new, &mut seen) {
                // SAFETY: the guard's section keeps it alive.
                return Err((unsafe { &*there.as_ptr() }, new));
            }
            if self.try_link(&new, &mut seen) {
                // SAFETY: as above.
                return Ok(unsafe { &*new.linked().as_ptr() });
            }
        }
    }

    /// Returns the entry that has the key of `new`. Callers are in a section.
    fn search(&self, new: &Unlinked<'_, K, V>, seen: &mut Seen) -> Found<K, V> {
        self.search_key(new.hash(), new.key(), seen)
    }

    /// Returns the entry that has this key and this hash, which the caller's call made of the key.
    /// Callers are in a section.
    pub(super) fn search_key(&self, hash: u64, key: &K, seen: &mut Seen) -> Found<K, V> {
        // SAFETY: callers are in a section.
        unsafe { self.table.search(hash, seen, |entry| entry.key == *key) }
    }

    /// Links an entry whose key was searched and not found. Returns false if another thread was
    /// faster.
    pub(super) fn try_link(&self, new: &Unlinked<'_, K, V>, seen: &mut Seen) -> bool {
        // SAFETY: callers are in a section; `new` is in no map.
        match unsafe { self.table.insert(new.node(), seen, self) } {
            Insertion::Done => {
                note_write(self, new.hash());
                true
            }
            Insertion::Unknown => false,
            Insertion::NoMemory => handle_alloc_error(Layout::new::<[u64; 16]>()),
        }
    }

    /// Puts an entry into the place of the one that was found by its hash. Returns false if that is
    /// not there any more. Callers are in a section, and retire the old one.
    pub(super) fn try_replace(&self, old: NonNull<HashEntry<K, V>>, new: &Unlinked<'_, K, V>) -> bool {
        // SAFETY: callers are in a section; `new` is in no map.
        let is_replaced = unsafe { self.table.replace(old, new.node(), self) };
        if is_replaced {
            note_write(self, new.hash());
        }
        is_replaced
    }
}

impl<K, V, S, D: Domain> HashMap<K, V, S, D> {
    /// Removes an entry. Returns false if it is not there any more.
    ///
    /// # Safety
    /// Inside a section, in which the entry was in the map. It is the caller's if true is returned.
    pub(super) unsafe fn try_remove(&self, entry: NonNull<HashEntry<K, V>>) -> bool {
        // SAFETY: alive in the section.
        let hash = unsafe { entry.as_ref() }.hash();
        // SAFETY: the caller's promise.
        let is_removed = unsafe { self.table.remove(entry, self) };
        if is_removed {
            note_write(self, hash);
        }
        is_removed
    }
}

/// The error of [`HashMap::try_insert`]: the map has the key.
///
/// ```
/// use leeward::{collect::HashMap, rcu};
/// let (map, guard) = (HashMap::from([("a", 1)]), rcu::read());
/// let error = map.try_insert("a", 2, &guard).unwrap_err();
/// assert_eq!((error.key, error.current, error.value), ("a", &1, 2));
/// assert_eq!(error.to_string(), "the map has the key");
/// ```
pub struct Occupied<'g, K, V> {
    /// The value that the map has.
    pub current: &'g V,
    /// The key that was not inserted.
    pub key: K,
    /// The value that was not inserted.
    pub value: V,
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Occupied<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Occupied").field("key", &self.key).field("current", self.current).finish_non_exhaustive()
    }
}

impl<K, V> fmt::Display for Occupied<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the map has the key")
    }
}

impl<K: fmt::Debug, V: fmt::Debug> core::error::Error for Occupied<'_, K, V> {}
