//! What a writer has taken out of a map.

use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use super::HashMap;
use super::entry::{self, HashEntry};
use crate::rcu::{Cookie, Domain};

/// A key and a value that a writer took out of a map. Readers that found them before may still have
/// them.
///
/// Dropping it leaves them to the map, which frees them after a grace period. It borrows the map;
/// one that is forgotten (`mem::forget`) leaks key and value.
///
/// ```
/// use leeward::collect::{HashMap, hash_map::Retired};
/// let map = HashMap::from([("a", 1), ("b", 2)]);
/// let old: Retired<'_, _, _, _, _> = map.remove("a").unwrap();
/// assert_eq!((old.key(), *old), (&"a", 1));
/// old.defer();                                                    // never waits
/// assert_eq!(map.remove("b").unwrap().synchronize(), ("b", 2));   // waits for readers
/// ```
#[must_use = "dropping it leaves the value to the map; say `.defer()`, or `.synchronize()` to have it back"]
pub struct Retired<'m, K, V, S, D: Domain> {
    map: &'m HashMap<K, V, S, D>,
    entry: NonNull<HashEntry<K, V>>,
    cookie: Option<Cookie<D>>,
}

// SAFETY: it owns the entry, which readers of other threads may share meanwhile.
unsafe impl<K: Send + Sync, V: Send + Sync, S: Sync, D: Domain> Send for Retired<'_, K, V, S, D> {}
// SAFETY: a shared reference shares the entry, as readers do.
unsafe impl<K: Send + Sync, V: Send + Sync, S: Sync, D: Domain> Sync for Retired<'_, K, V, S, D> {}

impl<'m, K, V, S, D: Domain> Retired<'m, K, V, S, D> {
    /// # Safety
    /// The entry was in the map, and no section that begins from now on finds it. It is the
    /// caller's.
    pub(super) unsafe fn new(map: &'m HashMap<K, V, S, D>, entry: NonNull<HashEntry<K, V>>) -> Self {
        Retired { map, entry, cookie: None }
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        // SAFETY: alive until `self` is given up.
        unsafe { &self.entry.as_ref().key }
    }

    /// Leaves key and value to the map, which drops them after a grace period. Never waits.
    pub fn defer(self) {
        drop(self);
    }

    /// Waits until no reader can have them, and returns key and value. As long as a reader stays in
    /// its section, this waits.
    ///
    /// # Panics
    /// As [`Domain::synchronize`] does: inside a section of the domain. Key and value are then left
    /// to the map.
    #[track_caller]
    pub fn synchronize(self) -> (K, V) {
        D::synchronize();
        let this = ManuallyDrop::new(self);
        // SAFETY: every reader that may have found it has left; it is ours.
        unsafe { entry::take(&this.map.entries, this.entry) }
    }

    /// Returns key and value if no reader can have them. Never waits: the first call asks for a
    /// grace period, and later ones look whether it is over.
    ///
    /// # Errors
    /// `self`, if a reader may still have them.
    pub fn try_into_pair(mut self) -> Result<(K, V), Self> {
        let cookie = *self.cookie.get_or_insert_with(D::start_poll);
        if !D::poll_state(&cookie) {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: the cookie was made after the entry was removed, and its grace period is over.
        Ok(unsafe { entry::take(&this.map.entries, this.entry) })
    }
}

impl<K, V, S, D: Domain> Deref for Retired<'_, K, V, S, D> {
    type Target = V;

    fn deref(&self) -> &V {
        // SAFETY: alive until `self` is given up.
        unsafe { &self.entry.as_ref().value }
    }
}

impl<K, V, S, D: Domain> Drop for Retired<'_, K, V, S, D> {
    fn drop(&mut self) {
        // SAFETY: by the promise of `new`; it is retired once.
        unsafe { self.map.retire_entry(self.entry) };
    }
}

impl<K: fmt::Debug, V: fmt::Debug, S, D: Domain> fmt::Debug for Retired<'_, K, V, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(self.key()).field(&**self).finish()
    }
}
