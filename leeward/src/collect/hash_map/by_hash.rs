//! Calls by a hash that the caller has, and a comparison of its own: no key is made, and none is hashed.

use core::hash::{BuildHasher, Hash};

use super::super::table::Seen;
use super::HashMap;
use super::entry::Unlinked;
use super::retired::Retired;
use crate::rcu::{Domain, Protects};

impl<K, V, S, D: Domain> HashMap<K, V, S, D> {
    /// Returns the entry whose key has this hash and for which `is_equal` returns true.
    ///
    /// The hash is `map.hasher().hash_one(key)` of the key that is meant: for callers that have it already,
    /// or have no key. `is_equal` may be called with other keys as well, as `Eq` may.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu};
    /// use std::hash::BuildHasher;
    /// let map = HashMap::from([(String::from("a"), 1)]);
    /// let hash = map.hasher().hash_one("a");
    /// let guard = rcu::read();
    /// assert_eq!(map.get_by_hash(hash, |key| key == "a", &guard), Some((&"a".to_string(), &1)));
    /// ```
    #[inline]
    pub fn get_by_hash<'g>(
        &'g self,
        hash: u64,
        mut is_equal: impl FnMut(&K) -> bool,
        guard: &'g impl Protects<D>,
    ) -> Option<(&'g K, &'g V)> {
        let _ = guard;
        // SAFETY: the guard's section keeps what is found alive for as long as it is borrowed.
        let entry = unsafe { self.table.find(hash, |entry| is_equal(&entry.key)) }?;
        // SAFETY: as above.
        let entry = unsafe { &*entry.as_ptr() };
        Some((&entry.key, &entry.value))
    }

    /// Removes the entry whose key has this hash and for which `is_equal` returns true, and returns it; as
    /// [`get_by_hash`](Self::get_by_hash) otherwise. An `is_equal` that itself changes this key each time
    /// is called without end.
    pub fn remove_by_hash(&self, hash: u64, mut is_equal: impl FnMut(&K) -> bool) -> Option<Retired<'_, K, V, S, D>> {
        let _guard = D::read();
        loop {
            // SAFETY: a section is open.
            let found = unsafe { self.table.find(hash, |entry| is_equal(&entry.key)) }?;
            // SAFETY: as above.
            if unsafe { self.try_remove(found) } {
                // SAFETY: taken out by this thread.
                return Some(unsafe { Retired::new(self, found) });
            }
        }
    }
}

impl<K: Eq + Hash, V, S: BuildHasher, D: Domain> HashMap<K, V, S, D> {
    /// Returns the entry whose key has this hash and for which `is_equal` returns true, or else the one that
    /// `make` makes, and which is inserted: a table of interned keys, whose values may be `()`.
    ///
    /// `make` is called at most once, with no lock held. If another thread inserts such a key meanwhile, its
    /// entry is returned, and the one that was made is dropped. Later calls find the entry by its hash only:
    /// one that is not that of the key which `make` made loses it. An `is_equal` that itself inserts a key of this
    /// hash each time is called without end.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu};
    /// use std::hash::BuildHasher;
    /// let (names, guard) = (HashMap::<String, u32>::new(), rcu::read());
    /// let intern = |name: &str| {
    ///     let hash = names.hasher().hash_one(name);
    ///     names.get_or_insert_by_hash(hash, |key| key == name, || (name.into(), 0), &guard).0
    /// };
    /// assert!(std::ptr::eq(intern("a"), intern("a")));        // one allocation for all
    /// ```
    pub fn get_or_insert_by_hash<'g>(
        &'g self,
        hash: u64,
        mut is_equal: impl FnMut(&K) -> bool,
        make: impl FnOnce() -> (K, V),
        guard: &'g impl Protects<D>,
    ) -> (&'g K, &'g V) {
        if let Some(there) = self.get_by_hash(hash, &mut is_equal, guard) {
            return there;
        }
        let (key, value) = make();
        let (new, mut seen) = (Unlinked::new(&self.entries, hash, key, value), Seen::new());
        loop {
            // SAFETY: the guard's section is open.
            let found = unsafe { self.table.search(hash, &mut seen, |entry| is_equal(&entry.key)) };
            let entry = match found {
                Some(there) => there,
                None if self.try_link(&new, &mut seen) => new.linked(),
                None => continue,
            };
            // SAFETY: the guard's section keeps it alive.
            let entry = unsafe { &*entry.as_ptr() };
            return (&entry.key, &entry.value);
        }
    }
}
