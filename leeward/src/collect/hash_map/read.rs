//! Looking keys up.

use core::hash::{BuildHasher, Hash};

use super::super::Equivalent;
use super::HashMap;
use super::entry::HashEntry;
use crate::rcu::{Domain, Protects};

impl<K: Eq + Hash, V, S: BuildHasher, D: Domain> HashMap<K, V, S, D> {
    /// Returns the value of a key. The reference lives as long as the guard.
    ///
    /// Wait-free, but for `Hash` and `Eq`: no writer holds a reader up, whatever it does.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu};
    /// let map = HashMap::from([(String::from("a"), 1)]);
    /// let guard = rcu::read();
    /// assert_eq!((map.get("a", &guard), map.get("b", &guard)), (Some(&1), None));
    /// ```
    ///
    /// The compiler keeps the reference within the guard's life:
    ///
    /// ```compile_fail
    /// # use leeward::{collect::HashMap, rcu};
    /// # let map = HashMap::from([(1, 1)]);
    /// let found = map.get(&1, &rcu::read());      // the guard is dropped here
    /// println!("{found:?}");
    /// ```
    #[inline]
    pub fn get<'g, Q>(&'g self, key: &Q, guard: &'g impl Protects<D>) -> Option<&'g V>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.find(key, guard).map(|entry| &entry.value)
    }

    /// Returns a key as the map has it, and its value; as [`get`](Self::get) otherwise.
    #[inline]
    pub fn get_key_value<'g, Q>(&'g self, key: &Q, guard: &'g impl Protects<D>) -> Option<(&'g K, &'g V)>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.find(key, guard).map(|entry| (&entry.key, &entry.value))
    }

    /// Returns true if the map has the key, at some instant during the call. Opens a section of its
    /// own.
    #[inline]
    pub fn contains_key<Q>(&self, key: &Q) -> bool
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.find(key, &D::read()).is_some()
    }

    /// Returns the entry of a key.
    #[inline(always)]
    fn find<'g, Q>(&'g self, key: &Q, guard: &'g impl Protects<D>) -> Option<&'g HashEntry<K, V>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        self.find_hashed(self.hash(key), key, guard)
    }

    /// Returns the entry of a key whose hash the caller has asked for.
    #[inline(always)]
    pub(super) fn find_hashed<'g, Q>(
        &'g self,
        hash: u64,
        key: &Q,
        guard: &'g impl Protects<D>,
    ) -> Option<&'g HashEntry<K, V>>
    where
        Q: Hash + Equivalent<K> + ?Sized,
    {
        let _ = guard;
        // SAFETY: the guard's section keeps what is found alive for as long as it is borrowed.
        let entry = unsafe { self.table.find(hash, |entry| key.equivalent(&entry.key)) };
        // SAFETY: as above.
        entry.map(|entry| unsafe { entry.as_ref() })
    }
}
