//! What a writer took out of a map. Made by `write.rs`; calls `waste.rs`.

use alloc::boxed::Box;
use core::fmt;
use core::mem::ManuallyDrop;
use core::ops::Deref;

use super::map::OrderedMap;
use super::store::TakenEntry;
use super::waste::{Apart, Removed, Waste};
use crate::rcu::{Cookie, Domain, Global};

/// An entry that was taken out of an [`OrderedMap`]. Its owner can still look at it, as can readers
/// that found it before.
///
/// Dropping it has the entry freed after a grace period, by the map's writers: it is neither freed
/// early nor leaked. It borrows the map, and nothing of it need be `'static`. The drop takes memory now
/// and then, without which the process ends; where one of the map's `checked_` calls has taken the entry
/// out, that memory is reserved.
///
/// ```
/// use leeward::collect::OrderedMap;
/// let names = OrderedMap::new();
/// names.insert(1, String::from("one"));
/// let old = names.remove(&1).unwrap();
/// assert_eq!((*old.key(), old.len()), (1, 3));            // it derefs to the value
/// let (key, value) = old.synchronize();                   // waits for a grace period
/// assert_eq!((key, value.as_str()), (1, "one"));
/// ```
#[must_use = "dropping it has the entry freed later; say `.defer()`, or `.synchronize()` to have it back"]
pub struct Retired<'m, K, V, D: Domain = Global> {
    map: &'m OrderedMap<K, V, D>,
    taken: TakenEntry<K, V>,
    /// What was reserved to retire the entry, if it was.
    apart: Option<Box<Apart<K, V>>>,
    /// Made at the first poll.
    cookie: Option<Cookie<D>>,
}

// SAFETY: it owns the entry, which readers of other threads may share; freeing it may go to a thread
// that has the map.
unsafe impl<K: Send + Sync, V: Send + Sync, D: Domain> Send for Retired<'_, K, V, D> {}
// SAFETY: a shared reference shares the entry, as readers do.
unsafe impl<K: Send + Sync, V: Send + Sync, D: Domain> Sync for Retired<'_, K, V, D> {}

impl<'m, K, V, D: Domain> Retired<'m, K, V, D> {
    pub(super) fn new(map: &'m OrderedMap<K, V, D>, (taken, apart): Removed<K, V>) -> Self {
        Retired { map, taken, apart, cookie: None }
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        match &self.taken {
            TakenEntry::Copies(key, _) => key,
            // SAFETY: alive until `self` is given up.
            TakenEntry::Entry(entry) => &unsafe { entry.as_ref() }.key,
        }
    }

    /// Has the entry freed after a grace period, by a later writer of the map or with the map. Never
    /// waits.
    pub fn defer(self) {
        drop(self);
    }

    /// Waits for a grace period and returns the entry, which no reader has any more. What the map
    /// keeps as copies comes back at once.
    ///
    /// # Panics
    /// As [`Domain::synchronize`] does, for example inside a section of the same domain. The entry is
    /// then left to the map.
    #[track_caller]
    pub fn synchronize(self) -> (K, V) {
        if let TakenEntry::Entry(_) = self.taken {
            D::synchronize();
        }
        // SAFETY: a grace period has passed since it was unlinked.
        unsafe { self.into_taken().into_pair() }
    }

    /// Returns the entry if a grace period has passed since the first call, or if the map keeps it as
    /// copies. Never waits for readers.
    ///
    /// # Errors
    /// The removed entry, while the grace period has not passed.
    pub fn try_into_pair(mut self) -> Result<(K, V), Self> {
        if let TakenEntry::Entry(_) = self.taken {
            let cookie = *self.cookie.get_or_insert_with(D::start_poll);
            if !D::poll_state(&cookie) {
                return Err(self);
            }
        }
        // SAFETY: as in `synchronize`: the cookie was made after the entry was unlinked.
        Ok(unsafe { self.into_taken().into_pair() })
    }

    fn into_taken(self) -> TakenEntry<K, V> {
        let mut this = ManuallyDrop::new(self);
        drop(this.apart.take());
        // SAFETY: `self` is given up, and not dropped.
        unsafe { core::ptr::read(&this.taken) }
    }
}

/// A removed entry is its value, to those who look at it.
impl<K, V, D: Domain> Deref for Retired<'_, K, V, D> {
    type Target = V;

    fn deref(&self) -> &V {
        match &self.taken {
            TakenEntry::Copies(_, value) => value,
            // SAFETY: alive until `self` is given up.
            TakenEntry::Entry(entry) => &unsafe { entry.as_ref() }.value,
        }
    }
}

impl<K, V, D: Domain> Drop for Retired<'_, K, V, D> {
    fn drop(&mut self) {
        if let TakenEntry::Entry(entry) = self.taken {
            let waste = match self.apart.take() {
                Some(apart) => Waste::Apart(entry, apart),
                None => Waste::Entry(entry),
            };
            // SAFETY: unlinked before this was made, and given up here.
            unsafe { self.map.retire(waste) };
        }
    }
}

impl<K: fmt::Debug, V: fmt::Debug, D: Domain> fmt::Debug for Retired<'_, K, V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Retired").field(self.key()).field(&**self).finish()
    }
}
