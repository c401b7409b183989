//! What readers call.

use core::borrow::Borrow;
use core::ops::{Bound, RangeBounds};

use super::iter::Range;
use super::map::OrderedMap;
use super::path::{Path, Side, leaf_of};
use super::seek;
use super::store::{Store, with_store};
use crate::rcu::{Domain, Protects};

impl<K, V, D: Domain> OrderedMap<K, V, D> {
    /// Returns the value of a key, for as long as the guard is borrowed.
    ///
    /// # Cost
    /// Wait-free: a binary search in each node on one path. Writes nothing.
    #[inline]
    pub fn get<'g, Q>(&'g self, key: &Q, guard: &'g impl Protects<D>) -> Option<&'g V>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.get_key_value(key, guard).map(|(_, value)| value)
    }

    /// Returns the entry of a key, for as long as the guard is borrowed.
    #[inline]
    pub fn get_key_value<'g, Q>(&'g self, key: &Q, guard: &'g impl Protects<D>) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let _ = guard;
        // SAFETY: the guard's section is open for as long as `'g`.
        with_store!(self.layout, K, V, S => unsafe { self.find::<S, Q>(key) })
    }

    /// Returns true if the key is there.
    pub fn contains_key<Q>(&self, key: &Q, guard: &impl Protects<D>) -> bool
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.get(key, guard).is_some()
    }

    /// Returns the first entry.
    pub fn first<'g>(&'g self, guard: &'g impl Protects<D>) -> Option<(&'g K, &'g V)> {
        let _ = guard;
        // SAFETY: the guard's section is open for as long as `'g`.
        with_store!(self.layout, K, V, S => unsafe { self.end::<S>(Side::First) })
    }

    /// Returns the last entry.
    pub fn last<'g>(&'g self, guard: &'g impl Protects<D>) -> Option<(&'g K, &'g V)> {
        let _ = guard;
        // SAFETY: the guard's section is open for as long as `'g`.
        with_store!(self.layout, K, V, S => unsafe { self.end::<S>(Side::Last) })
    }

    /// Returns the first entry that is not before `bound`: with `Included(key)` the entry of the key or
    /// the next one, with `Excluded(key)` the one after the key.
    ///
    /// Beside writers it promises what a [scan](Range) does: an entry that is there throughout the call
    /// is not passed over.
    ///
    /// ```
    /// use leeward::{collect::OrderedMap, rcu};
    /// use std::ops::Bound::Excluded;
    /// let map = OrderedMap::from_iter([(10, 'a'), (20, 'b')]);
    /// let guard = rcu::read();
    /// assert_eq!(map.lower_bound(Excluded(&10), &guard), Some((&20, &'b')));
    /// assert_eq!(map.lower_bound(Excluded(&20), &guard), None);
    /// ```
    pub fn lower_bound<'g, Q>(&'g self, bound: Bound<&Q>, guard: &'g impl Protects<D>) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let _ = guard;
        with_store!(self.layout, K, V, S => {
            // SAFETY: the guard's section is open for as long as `'g`.
            let found = unsafe { seek::first::<K, V, S, Q>(&self.tree, bound) };
            // SAFETY: as above.
            unsafe { self.entry::<S>(found) }
        })
    }

    /// Returns the last entry that is not after `bound`: with `Included(key)` the entry of the key or the
    /// one before, with `Excluded(key)` the one before the key. Beside writers as
    /// [`lower_bound`](Self::lower_bound).
    ///
    /// ```
    /// use leeward::{collect::OrderedMap, rcu};
    /// use std::ops::Bound::Excluded;
    /// let map = OrderedMap::from_iter([(10, 'a'), (20, 'b')]);
    /// assert_eq!(map.upper_bound(Excluded(&20), &rcu::read()), Some((&10, &'a')));
    /// ```
    pub fn upper_bound<'g, Q>(&'g self, bound: Bound<&Q>, guard: &'g impl Protects<D>) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let _ = guard;
        with_store!(self.layout, K, V, S => {
            // SAFETY: the guard's section is open for as long as `'g`.
            let found = unsafe { seek::last::<K, V, S, Q>(&self.tree, bound) };
            // SAFETY: as above.
            unsafe { self.entry::<S>(found) }
        })
    }

    /// Returns the entry with the greatest key that is not greater than `key`, as
    /// [`upper_bound`](Self::upper_bound) does.
    pub fn floor<'g, Q>(&'g self, key: &Q, guard: &'g impl Protects<D>) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.upper_bound(Bound::Included(key), guard)
    }

    /// Returns the entry with the least key that is not less than `key`, as
    /// [`lower_bound`](Self::lower_bound) does.
    pub fn ceiling<'g, Q>(&'g self, key: &Q, guard: &'g impl Protects<D>) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.lower_bound(Bound::Included(key), guard)
    }

    /// Returns all entries, in order; what it sees beside writers is said at [`range`](Self::range).
    pub fn iter<'g>(&'g self, guard: &'g impl Protects<D>) -> Range<'g, K, V, D>
    where
        K: Ord,
    {
        let _ = guard;
        Range::all(self)
    }

    /// Returns all keys, in order.
    pub fn keys<'g, G: Protects<D>>(&'g self, guard: &'g G) -> impl DoubleEndedIterator<Item = &'g K>
    where
        K: Ord,
    {
        self.iter(guard).map(|(key, _)| key)
    }

    /// Returns all values, in the order of their keys.
    pub fn values<'g, G: Protects<D>>(&'g self, guard: &'g G) -> impl DoubleEndedIterator<Item = &'g V>
    where
        K: Ord,
    {
        self.iter(guard).map(|(_, value)| value)
    }

    /// Returns the entries whose keys are within `bounds`, in order, from both ends.
    ///
    /// Beside writers, every key that is there throughout the scan is seen exactly once, in order; of
    /// the others, some may be seen, none twice. The scan holds its section open: a long one holds back
    /// what writers free. Scan in parts, each from [`Excluded`](Bound::Excluded) of the last key on, where
    /// that matters.
    ///
    /// ```
    /// use leeward::{collect::OrderedMap, rcu};
    /// let map: OrderedMap<_, _> = (0..100).map(|number| (number, number * number)).collect();
    /// let guard = rcu::read();
    /// let squares: Vec<_> = map.range(10..13, &guard).map(|(_, square)| *square).collect();
    /// assert_eq!(squares, [100, 121, 144]);
    /// assert_eq!(map.range(..50, &guard).next_back(), Some((&49, &2401)));
    /// ```
    ///
    /// # Cost
    /// A look-up for each bound. Then two loads a step, and in one of 16 to 32 the way to the next leaf.
    ///
    /// # Panics
    /// As `BTreeMap::range`: if the range begins after its end, or if both are the same key, excluded.
    #[track_caller]
    pub fn range<'g, Q, R>(&'g self, bounds: R, guard: &'g impl Protects<D>) -> Range<'g, K, V, D>
    where
        K: Borrow<Q> + Ord,
        Q: Ord + ?Sized,
        R: RangeBounds<Q>,
    {
        use Bound::{Excluded, Included};
        let _ = guard;
        match (bounds.start_bound(), bounds.end_bound()) {
            (Excluded(start), Excluded(end)) if start == end => {
                panic!("leeward: the range of an OrderedMap begins and ends before the same key")
            }
            (Included(start) | Excluded(start), Included(end) | Excluded(end)) if start > end => {
                panic!("leeward: the range of an OrderedMap begins after its end")
            }
            _ => {}
        }
        // SAFETY: the guard's section is open for as long as `'g`.
        with_store!(self.layout, K, V, S => unsafe { Range::within::<S, Q>(self, &bounds) })
    }

    /// Returns the entry of a key.
    ///
    /// # Safety
    /// A section of `D` is open for as long as `'g`; `S` is the map's store.
    #[inline(always)]
    pub(super) unsafe fn find<'g, S, Q>(&'g self, key: &Q) -> Option<(&'g K, &'g V)>
    where
        K: Borrow<Q>,
        S: Store<K, V> + 'g,
        Q: Ord + ?Sized,
    {
        // SAFETY: the caller's promise.
        let leaf = unsafe { leaf_of::<K, V, S, Q>(self.tree.root()?, key) };
        let index = leaf.find(key).ok()?;
        Some((leaf.key(index), leaf.value(index)))
    }

    /// Returns the entry at one end.
    ///
    /// # Safety
    /// As for `find`.
    unsafe fn end<'g, S: Store<K, V> + 'g>(&'g self, side: Side) -> Option<(&'g K, &'g V)> {
        // SAFETY: the caller's promise.
        let path = unsafe { Path::to_end::<K, V, S>(self.tree.root()?, side) };
        // SAFETY: the caller's promise.
        let leaf = unsafe { path.leaf::<K, V, S>() };
        let index = match side {
            Side::First => 0,
            Side::Last => leaf.len() - 1,
        };
        Some((leaf.key(index), leaf.value(index)))
    }

    /// Returns the entry that was found.
    ///
    /// # Safety
    /// As for `find`; the path is this map's.
    unsafe fn entry<'g, S: Store<K, V> + 'g>(&'g self, found: seek::FoundPath) -> Option<(&'g K, &'g V)> {
        let (path, index) = found?;
        // SAFETY: the caller's promise.
        let leaf = unsafe { path.leaf::<K, V, S>() };
        Some((leaf.key(index), leaf.value(index)))
    }
}
