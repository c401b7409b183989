//! Iteration. Each end of a range walks a path (`path.rs`), leaf by leaf; a leaf never changes, so what
//! is left of it is two indices.

use core::borrow::Borrow;
use core::fmt;
use core::iter::FusedIterator;
use core::ops::Bound::{self, Excluded, Included, Unbounded};
use core::ops::RangeBounds;

use super::map::OrderedMap;
use super::node::Leaf;
use super::path::{Path, Side};
use super::seek;
use super::store::{Store, with_store};
use crate::mutant::mutated;
use crate::rcu::{Domain, Global};

/// The entries of an [`OrderedMap`] in a range of keys, in order, from both ends.
///
/// Made by [`iter`](OrderedMap::iter) and [`range`](OrderedMap::range), which say what it sees beside
/// writers.
///
/// ```
/// use leeward::{collect::OrderedMap, rcu};
/// let map = OrderedMap::new();
/// (1..=9).for_each(|number| drop(map.insert(number, number * number)));
/// let guard = rcu::read();
/// let mut squares = map.range(3..=7, &guard);
/// assert_eq!((squares.next(), squares.next_back()), (Some((&3, &9)), Some((&7, &49))));
/// assert!(squares.map(|(number, _)| *number).eq(4..=6));
/// ```
pub struct Range<'g, K, V, D: Domain = Global> {
    map: &'g OrderedMap<K, V, D>,
    front: End<'g, K>,
    back: End<'g, K>,
}

/// One end of a range.
struct End<'g, K> {
    /// The way to the leaf in which it stands; `None` before the first.
    path: Option<Path>,
    /// What is left of the leaf: the indices from `start` to before `end`.
    start: usize,
    end: usize,
    /// True if no further leaf has an entry of the range.
    is_final: bool,
    /// True if the other end has moved since `start` and `end` were found.
    is_stale: bool,
    /// Where the range began at this end, or the key that this end returned last. The other end stops
    /// there.
    limit: Bound<&'g K>,
}

impl<K> End<'_, K> {
    fn new() -> Self {
        End { path: None, start: 0, end: 0, is_final: false, is_stale: false, limit: Unbounded }
    }
}

/// Returns the indices of a leaf's keys that are after `low` and before `high`.
fn window<K: Ord, V, S: Store<K, V>>(leaf: &Leaf<K, V, S>, low: Bound<&K>, high: Bound<&K>) -> (usize, usize) {
    // Mostly all of the leaf is: one comparison shows that.
    let is_after = |low: &K| leaf.key(0) > low;
    let is_before = |high: &K| leaf.key(leaf.len() - 1) < high;
    let start = match low {
        Unbounded => 0,
        Included(low) | Excluded(low) if is_after(low) => 0,
        Included(low) => leaf.find(low).unwrap_or_else(|index| index),
        Excluded(low) => leaf.not_greater(low),
    };
    let end = match high {
        Unbounded => leaf.len(),
        // A key that this end has returned may be back, in a leaf further on.
        _ if mutated!(ordered_scan_skip) => leaf.len(),
        Included(high) | Excluded(high) if is_before(high) => leaf.len(),
        Included(high) => leaf.not_greater(high),
        Excluded(high) => leaf.find(high).unwrap_or_else(|index| index),
    };
    (start, end)
}

impl<'g, K, V, D: Domain> Range<'g, K, V, D> {
    /// Makes an iterator over all entries.
    pub(super) fn all(map: &'g OrderedMap<K, V, D>) -> Self {
        Range { map, front: End::new(), back: End::new() }
    }

    /// Makes an iterator over the entries within `bounds`.
    ///
    /// # Safety
    /// A section of `D` is open for as long as `'g`.
    pub(super) unsafe fn within<S, Q>(map: &'g OrderedMap<K, V, D>, bounds: &impl RangeBounds<Q>) -> Self
    where
        K: Borrow<Q> + Ord,
        S: Store<K, V> + 'g,
        Q: Ord + ?Sized,
    {
        let mut range = Range::all(map);
        if !matches!(bounds.start_bound(), Unbounded) {
            // SAFETY: the caller's promise.
            let found = unsafe { seek::first::<K, V, S, Q>(&map.tree, bounds.start_bound()) };
            // SAFETY: the caller's promise.
            unsafe { range.front.begin_at::<V, S>(found) };
        }
        if !matches!(bounds.end_bound(), Unbounded) {
            // SAFETY: the caller's promise.
            let found = unsafe { seek::last::<K, V, S, Q>(&map.tree, bounds.end_bound()) };
            // SAFETY: the caller's promise.
            unsafe { range.back.begin_at::<V, S>(found) };
        }
        // An end without an entry: there is none at all.
        if range.front.is_final || range.back.is_final {
            range.front = End { is_final: true, ..End::new() };
            range.back = End { is_final: true, ..End::new() };
        }
        range
    }

    /// Returns the next entry at the front.
    fn next_in<S: Store<K, V> + 'g>(&mut self) -> Option<(&'g K, &'g V)>
    where
        K: Ord,
    {
        if self.front.is_stale || self.front.start == self.front.end {
            // SAFETY: the guard's section is open for as long as `'g`.
            unsafe { self.front.find_next::<V, S, D>(self.map, Side::Last, self.back.limit) }?;
        }
        // SAFETY: as above.
        let leaf = unsafe { self.front.leaf::<V, S>() }?;
        let index = self.front.start;
        self.front.start += 1;
        self.front.limit = Excluded(leaf.key(index));
        self.back.is_stale = true;
        Some((leaf.key(index), leaf.value(index)))
    }

    /// Returns the next entry at the back.
    fn next_back_in<S: Store<K, V> + 'g>(&mut self) -> Option<(&'g K, &'g V)>
    where
        K: Ord,
    {
        if self.back.is_stale || self.back.start == self.back.end {
            // SAFETY: the guard's section is open for as long as `'g`.
            unsafe { self.back.find_next::<V, S, D>(self.map, Side::First, self.front.limit) }?;
        }
        // SAFETY: as above.
        let leaf = unsafe { self.back.leaf::<V, S>() }?;
        self.back.end -= 1;
        let index = self.back.end;
        self.back.limit = Excluded(leaf.key(index));
        self.front.is_stale = true;
        Some((leaf.key(index), leaf.value(index)))
    }
}

impl<'g, K> End<'g, K> {
    /// Returns the leaf in which this end stands.
    ///
    /// # Safety
    /// The path is of a tree of this kind, and its section is open for as long as `'g`.
    #[inline(always)]
    unsafe fn leaf<V: 'g, S: Store<K, V> + 'g>(&self) -> Option<&'g Leaf<K, V, S>> {
        // SAFETY: the caller's promise.
        self.path.as_ref().map(|path| unsafe { path.leaf::<K, V, S>() })
    }

    /// Begins at an entry, or is at its end where there is none.
    ///
    /// # Safety
    /// As for `leaf`.
    unsafe fn begin_at<V: 'g, S: Store<K, V> + 'g>(&mut self, found: seek::FoundPath) {
        let Some((path, index)) = found else {
            self.is_final = true;
            return;
        };
        // SAFETY: the caller's promise.
        let leaf = unsafe { path.leaf::<K, V, S>() };
        self.limit = Included(leaf.key(index));
        self.path = Some(path);
        // What is left of the leaf is found at the first step.
        self.is_stale = true;
    }

    /// Finds what is left of the leaf, and goes on to the next leaf on `side` while that is nothing.
    /// Returns `None` at the end.
    ///
    /// # Safety
    /// As for `leaf`, of the map's tree.
    #[cold]
    #[inline(never)]
    unsafe fn find_next<V: 'g, S: Store<K, V> + 'g, D: Domain>(
        &mut self,
        map: &'g OrderedMap<K, V, D>,
        side: Side,
        other: Bound<&'g K>,
    ) -> Option<()>
    where
        K: Ord,
    {
        let mut goes_on = !core::mem::take(&mut self.is_stale);
        loop {
            if goes_on {
                // SAFETY: the caller's promise.
                unsafe { self.go_on::<V, S, D>(map, side) }?;
            }
            // SAFETY: the caller's promise.
            let leaf = match unsafe { self.leaf::<V, S>() } {
                Some(leaf) => leaf,
                None => {
                    goes_on = true;
                    continue;
                }
            };
            let (start, end) = match side {
                Side::Last => window(leaf, self.limit, other),
                Side::First => window(leaf, other, self.limit),
            };
            self.is_final |= match side {
                Side::Last => end < leaf.len(),
                Side::First => start > 0,
            };
            (self.start, self.end) = (start, end.max(start));
            if start < end {
                return Some(());
            }
            goes_on = true;
        }
    }

    /// Goes to the next leaf on `side`, or to the first at this end of the map.
    ///
    /// # Safety
    /// As for `find_next`.
    unsafe fn go_on<V: 'g, S: Store<K, V> + 'g, D: Domain>(
        &mut self,
        map: &'g OrderedMap<K, V, D>,
        side: Side,
    ) -> Option<()> {
        if self.is_final {
            return None;
        }
        let is_there = match &mut self.path {
            // SAFETY: the caller's promise.
            Some(path) => unsafe { path.step::<K, V, S>(side) },
            None => {
                let begin = match side {
                    Side::Last => Side::First,
                    Side::First => Side::Last,
                };
                // SAFETY: the caller's promise.
                self.path = map.tree.root().map(|root| unsafe { Path::to_end::<K, V, S>(root, begin) });
                self.path.is_some()
            }
        };
        self.is_final |= !is_there;
        is_there.then_some(())
    }
}

impl<'g, K: Ord, V, D: Domain> Iterator for Range<'g, K, V, D> {
    type Item = (&'g K, &'g V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        with_store!(self.map.layout, K, V, S => self.next_in::<S>())
    }
}

impl<K: Ord, V, D: Domain> DoubleEndedIterator for Range<'_, K, V, D> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        with_store!(self.map.layout, K, V, S => self.next_back_in::<S>())
    }
}

impl<K: Ord, V, D: Domain> FusedIterator for Range<'_, K, V, D> {}

impl<K, V, D: Domain> fmt::Debug for Range<'_, K, V, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Range").finish_non_exhaustive()
    }
}

/// The entries of an [`OrderedMap`] that was taken apart, in order.
///
/// ```
/// use leeward::collect::OrderedMap;
/// let map = OrderedMap::from_iter([(2, "two"), (1, "one")]);
/// assert_eq!(map.into_iter().collect::<Vec<_>>(), [(1, "one"), (2, "two")]);
/// ```
#[derive(Debug)]
pub struct IntoIter<K, V>(pub(super) alloc::vec::IntoIter<(K, V)>);

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for IntoIter<K, V> {
    fn next_back(&mut self) -> Option<(K, V)> {
        self.0.next_back()
    }
}

impl<K, V> ExactSizeIterator for IntoIter<K, V> {}
impl<K, V> FusedIterator for IntoIter<K, V> {}
