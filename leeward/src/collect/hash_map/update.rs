//! Replacing values by what closures make of them. No code of users runs under a lock.

use core::hash::{BuildHasher, Hash};
use core::ptr::NonNull;

use super::super::table::Seen;
use super::HashMap;
use super::decision::Decision;
use super::entry::{HashEntry, Unlinked};
use super::retired::Retired;
use crate::mutant::mutated;
use crate::rcu::{Domain, Protects};

impl<K: Eq + Hash, V, S: BuildHasher, D: Domain> HashMap<K, V, S, D> {
    /// Replaces the value of a key by what `update` makes of it, and returns what was there before;
    /// `None` if the map does not have the key.
    ///
    /// `update` is called, with no lock held, again if the value was changed meanwhile.
    ///
    /// ```
    /// let hits = leeward::collect::HashMap::from([("/", 1)]);
    /// assert_eq!(*hits.update("/", |count| count + 1).unwrap(), 1);
    /// assert_eq!(hits.pin().get("/"), Some(&2));
    /// assert!(hits.update("/none", |count| count + 1).is_none());
    /// ```
    ///
    /// # Panics
    /// If `update` itself changes this key, each time that it is called. The call has changed nothing
    /// then.
    #[track_caller]
    pub fn update(&self, key: K, mut update: impl FnMut(&V) -> V) -> Option<Retired<'_, K, V, S, D>> {
        let guard = D::read();
        let (hash, mut key, mut seen) = (self.hash(&key), key, Seen::new());
        let mut decision = Decision::new(self, hash);
        loop {
            let old = self.search_key(hash, &key, &mut seen)?;
            // SAFETY: a section is open.
            let found = unsafe { &old.as_ref().value };
            let value = decision.call(|| update(found));
            match self.replace(old, hash, key, value, &guard) {
                // SAFETY: taken out by this thread.
                Ok(_) => return Some(unsafe { Retired::new(self, old) }),
                Err(again) => key = again,
            }
        }
    }

    /// Sets the value of a key to what `update` makes of the one that is there, or to what `make`
    /// makes if the map does not have the key, and returns it.
    ///
    /// `update` is called, with no lock held, again if the value was changed meanwhile; `make` at
    /// most once. What was there before is left to the map.
    ///
    /// ```
    /// use leeward::{collect::HashMap, rcu};
    /// let (hits, guard) = (HashMap::new(), rcu::read());
    /// assert_eq!(hits.update_or_insert_with("/", |count| count + 1, || 1, &guard), &1);
    /// assert_eq!(hits.update_or_insert_with("/", |count| count + 1, || 1, &guard), &2);
    /// ```
    ///
    /// # Panics
    /// As [`update`](Self::update).
    #[track_caller]
    pub fn update_or_insert_with<'g>(
        &'g self,
        key: K,
        mut update: impl FnMut(&V) -> V,
        make: impl FnOnce() -> V,
        guard: &'g impl Protects<D>,
    ) -> &'g V {
        let (hash, mut key, mut seen) = (self.hash(&key), key, Seen::new());
        let (mut made, mut decision) = (Made::Not(make), Decision::new(self, hash));
        loop {
            if let Some(old) = self.search_key(hash, &key, &mut seen) {
                // SAFETY: the guard's section keeps it alive.
                let found = unsafe { &old.as_ref().value };
                let value = decision.call(|| update(found));
                match self.replace(old, hash, key, value, guard) {
                    Ok(new) => {
                        // SAFETY: taken out by this thread.
                        unsafe { self.retire_entry(old) };
                        return &new.value;
                    }
                    Err(again) => key = again,
                }
                continue;
            }
            let value = made.value();
            let new = Unlinked::new(&self.entries, hash, key, value);
            if self.try_link(&new, &mut seen) {
                // SAFETY: the guard's section keeps it alive.
                return unsafe { &new.linked().as_ref().value };
            }
            let (again, value) = new.into_pair();
            (key, made) = (again, Made::Value(value));
        }
    }

    /// Sets the value of a key to what `update` makes of the one that is there, or to `value` if
    /// the map does not have the key; as [`update_or_insert_with`](Self::update_or_insert_with)
    /// otherwise.
    #[track_caller]
    pub fn update_or_insert<'g>(
        &'g self,
        key: K,
        update: impl FnMut(&V) -> V,
        value: V,
        guard: &'g impl Protects<D>,
    ) -> &'g V {
        self.update_or_insert_with(key, update, || value, guard)
    }

    /// Decides by `decide` what becomes of a key: it is given the entry, or `None`, and says what
    /// to insert, to remove, or that nothing changes.
    ///
    /// `decide` is called, with no lock held, again if the entry was changed meanwhile.
    /// What is taken out is left to the map; the references to it live as long as the guard.
    ///
    /// ```
    /// use leeward::collect::{HashMap, hash_map::{Compute, Operation}};
    /// use leeward::rcu;
    /// // Takes a permit, and removes the entry with the last one.
    /// let (permits, guard) = (HashMap::from([("disk", 2)]), rcu::read());
    /// let take = |found: Option<(&&str, &u32)>| match found {
    ///     None => Operation::Abort("there is none"),
    ///     Some((_, 1)) => Operation::Remove,
    ///     Some((_, count)) => Operation::Insert(count - 1),
    /// };
    /// assert!(matches!(permits.compute("disk", take, &guard), Compute::Updated { new: (_, 1), .. }));
    /// assert!(matches!(permits.compute("disk", take, &guard), Compute::Removed(_, 1)));
    /// assert_eq!(permits.compute("disk", take, &guard), Compute::Aborted("there is none"));
    /// ```
    ///
    /// # Panics
    /// If `decide` itself changes this key, each time that it is called. The call has changed nothing
    /// then.
    #[track_caller]
    pub fn compute<'g, T>(
        &'g self,
        key: K,
        mut decide: impl FnMut(Option<(&'g K, &'g V)>) -> Operation<V, T>,
        guard: &'g impl Protects<D>,
    ) -> Compute<'g, K, V, T> {
        let (hash, mut key, mut seen) = (self.hash(&key), key, Seen::new());
        let mut decision = Decision::new(self, hash);
        loop {
            let found = self.search_key(hash, &key, &mut seen);
            // SAFETY: the guard's section keeps it alive.
            let old = found.map(|old| (old, unsafe { &*old.as_ptr() }));
            let given = old.map(|(_, entry)| (&entry.key, &entry.value));
            match (decision.call(|| decide(given)), old) {
                (Operation::Abort(why), _) => return Compute::Aborted(why),
                (Operation::Remove, None) => return Compute::Absent,
                (Operation::Remove, Some((node, entry))) => {
                    // SAFETY: a section is open.
                    if unsafe { self.try_remove(node) } {
                        // SAFETY: taken out by this thread.
                        unsafe { self.retire_entry(node) };
                        return Compute::Removed(&entry.key, &entry.value);
                    }
                }
                (Operation::Insert(value), None) => {
                    let new = Unlinked::new(&self.entries, hash, key, value);
                    if self.try_link(&new, &mut seen) {
                        // SAFETY: the guard's section keeps it alive.
                        let entry = unsafe { &*new.linked().as_ptr() };
                        return Compute::Inserted(&entry.key, &entry.value);
                    }
                    key = new.into_pair().0;
                }
                (Operation::Insert(value), Some((node, entry))) => match self.replace(node, hash, key, value, guard) {
                    Ok(new) => {
                        // SAFETY: taken out by this thread.
                        unsafe { self.retire_entry(node) };
                        return Compute::Updated { old: (&entry.key, &entry.value), new: (&new.key, &new.value) };
                    }
                    Err(again) => key = again,
                },
            }
        }
    }

    /// Replaces an entry by one with this key, which is equal, the hash by which the entry was
    /// found, and this value. Returns the key if another thread was faster. The old entry is the
    /// caller's to retire.
    fn replace<'g>(
        &'g self,
        old: NonNull<HashEntry<K, V>>,
        hash: u64,
        key: K,
        value: V,
        _guard: &'g impl Protects<D>,
    ) -> Result<&'g HashEntry<K, V>, K> {
        let hash = if mutated!(map_hash_once) { self.hash(&key) } else { hash };
        let new = Unlinked::new(&self.entries, hash, key, value);
        if !self.try_replace(old, &new) {
            return Err(new.into_pair().0);
        }
        // SAFETY: the guard's section keeps it alive.
        Ok(unsafe { &*new.linked().as_ptr() })
    }
}

/// What [`HashMap::compute`] is to do with an entry.
///
/// ```
/// use leeward::collect::{HashMap, hash_map::Operation};
/// use leeward::rcu;
/// let stock = HashMap::from([("apples", 1)]);
/// let sell_one = |found: Option<(&&str, &u32)>| match found {
///     None => Operation::Abort("sold out"),
///     Some((_, 1)) => Operation::Remove,
///     Some((_, count)) => Operation::Insert(count - 1),
/// };
/// stock.compute("apples", sell_one, &rcu::read());
/// assert!(stock.is_empty());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation<V, T> {
    /// Insert this value, or replace the one that is there.
    Insert(V),
    /// Remove the entry.
    Remove,
    /// Change nothing, and return this.
    Abort(T),
}

/// What [`HashMap::compute`] has done.
///
/// ```
/// use leeward::collect::{HashMap, hash_map::{Compute, Operation}};
/// use leeward::rcu;
/// let (visits, guard) = (HashMap::new(), rcu::read());
/// let visit = |name| {
///     let count = |found: Option<(&&str, &u32)>| Operation::<_, ()>::Insert(1 + found.map_or(0, |(_, count)| *count));
///     match visits.compute(name, count, &guard) {
///         Compute::Inserted(..) => "welcome".to_string(),
///         Compute::Updated { old: (_, times), .. } => format!("back after {times}"),
///         Compute::Removed(..) | Compute::Absent | Compute::Aborted(()) => unreachable!(),
///     }
/// };
/// assert_eq!((visit("a"), visit("a")), ("welcome".into(), "back after 1".into()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compute<'g, K, V, T> {
    /// The map did not have the key; it has this entry now.
    Inserted(&'g K, &'g V),
    /// The value was replaced.
    Updated {
        /// What was there before.
        old: (&'g K, &'g V),
        /// What is there now.
        new: (&'g K, &'g V),
    },
    /// The entry was removed.
    Removed(&'g K, &'g V),
    /// There was nothing to remove.
    Absent,
    /// Nothing was changed.
    Aborted(T),
}

/// A value that is made once.
enum Made<V, F> {
    Not(F),
    Value(V),
    Taken,
}

impl<V, F: FnOnce() -> V> Made<V, F> {
    fn value(&mut self) -> V {
        match core::mem::replace(self, Made::Taken) {
            Made::Not(make) => make(),
            Made::Value(value) => value,
            Made::Taken => unreachable!("a value that was taken is given back"),
        }
    }
}
