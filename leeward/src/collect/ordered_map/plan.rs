//! The leaves that take the place of one: with an entry more, with another entry, or with fewer. They
//! are made before the writers' lock is taken, since a leaf that readers can find never changes.

use alloc::boxed::Box;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::edit::Change;
use super::node::{self, CAPACITY, Leaf};
use super::store::{Store, TreeSlot, copy_of};
use super::waste::Apart;
use crate::mutant::check;

/// The slots of a pair.
pub(super) type Slots<K, V, S> = (TreeSlot<<S as Store<K, V>>::Key>, TreeSlot<<S as Store<K, V>>::Value>);

/// A packed pair that is not published: it is freed if its owner unwinds.
pub(super) struct Packed<K, V, S: Store<K, V>>(Slots<K, V, S>);

impl<K, V, S: Store<K, V>> Packed<K, V, S> {
    /// Packs a pair; returns it if there is no memory.
    pub(super) fn new(key: K, value: V) -> Result<Self, (K, V)> {
        S::pack(key, value).map(Packed)
    }

    pub(super) fn key(&self) -> &K {
        // SAFETY: packed, and alive until this is given up.
        unsafe { S::key(&self.0.0) }
    }

    pub(super) fn slots(&self) -> Slots<K, V, S> {
        (copy_of(&self.0.0), copy_of(&self.0.1))
    }

    /// Returns the pair, which was not published.
    pub(super) fn into_pair(self) -> (K, V) {
        let (key, value) = ManuallyDrop::new(self).slots();
        // SAFETY: one pair, which no reader can find.
        let taken = unsafe { S::unpack(key, value) };
        // SAFETY: as above.
        unsafe { taken.into_pair() }
    }

    /// Gives the pair up, which is in the tree.
    pub(super) fn publish(self) {
        core::mem::forget(self);
    }
}

impl<K, V, S: Store<K, V>> Drop for Packed<K, V, S> {
    fn drop(&mut self) {
        let (key, value) = self.slots();
        // SAFETY: one pair, which no reader can find.
        let taken = unsafe { S::unpack(key, value) };
        // SAFETY: as above.
        drop(unsafe { taken.into_pair() });
    }
}

/// What takes the place of a leaf, and what that takes out of the map.
pub(super) struct Plan<K, V, S: Store<K, V>> {
    pub(super) change: Change<S::Key>,
    /// How many entries there are more than before.
    pub(super) more: isize,
    pub(super) taken: Option<Out<K, V, S>>,
}

/// What a plan takes out of the map.
pub(super) struct Out<K, V, S: Store<K, V>> {
    pub(super) slots: Slots<K, V, S>,
    /// By which the entry can be retired where there is no memory.
    pub(super) apart: Option<Box<Apart<K, V>>>,
}

/// Why nothing is changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// There is nothing to change.
    Nothing,
    NoMemory,
}

impl<K, V, S: Store<K, V>> Out<K, V, S> {
    /// Takes the entry at `index` out. `reserves`: reserves what it takes to retire it.
    fn of(leaf: &Leaf<K, V, S>, index: usize, reserves: bool) -> Result<Self, Stop> {
        let reserves = check!(ordered_reserve_apart, reserves && S::HAS_ENTRIES);
        let apart = if reserves { Some(Apart::reserve().ok_or(Stop::NoMemory)?) } else { None };
        Ok(Out { slots: leaf.pair(index), apart })
    }
}

/// Returns an empty leaf.
fn new_leaf<K, V, S: Store<K, V>>() -> Result<Box<Leaf<K, V, S>>, Stop> {
    Leaf::new().ok_or(Stop::NoMemory)
}

/// Each plan fails with `Stop::NoMemory` alone. `reserves`: what was taken out can then be retired also
/// where there is no memory.
impl<K, V, S: Store<K, V>> Plan<K, V, S> {
    /// Plans the leaf of an empty tree, with one entry.
    pub(super) fn first(pair: Slots<K, V, S>) -> Result<Self, Stop> {
        let mut leaf = new_leaf::<K, V, S>()?;
        leaf.push(pair);
        let change = Change { left: Some(node::leak(leaf)), right: None, new_separator: None, has_shrunk: false };
        Ok(Plan { change, more: 1, taken: None })
    }

    /// Returns the value at `index` of the leaves that take the place of one, counted through both.
    pub(super) fn value(&self, index: usize) -> Option<NonNull<V>> {
        let (left, right) = (self.change.left, self.change.right.as_ref().map(|(_, right)| *right));
        let mut first = 0;
        for leaf in [left, right].into_iter().flatten() {
            // SAFETY: a leaf of this kind, which the plan made and has.
            let leaf = unsafe { Leaf::<K, V, S>::of(leaf) };
            if index < first + leaf.len() {
                return Some(NonNull::from(leaf.value(index - first)));
            }
            first += leaf.len();
        }
        None
    }

    /// Plans an entry more, at `index`. `is_last`: the leaf is the tree's last.
    pub(super) fn insert(
        leaf: &Leaf<K, V, S>,
        index: usize,
        pair: Slots<K, V, S>,
        is_last: bool,
    ) -> Result<Self, Stop> {
        let new_separator = (S::POINTS && index == 0).then(|| copy_of(&pair.0));
        let total = leaf.len() + 1;
        // Where entries come in order, the leaves behind stay full.
        let left_len = match total {
            0..=CAPACITY => total,
            _ if is_last && index == leaf.len() => CAPACITY,
            _ => total / 2,
        };
        let mut left = new_leaf::<K, V, S>()?;
        let mut right = if left_len < total { Some(new_leaf::<K, V, S>()?) } else { None };
        match &mut right {
            Some(right) if index >= left_len => {
                left.append(leaf, 0..left_len);
                right.append(leaf, left_len..index);
                right.push(pair);
                right.append(leaf, index..leaf.len());
            }
            right => {
                left.append(leaf, 0..index);
                left.push(pair);
                left.append(leaf, index..left_len - 1);
                if let Some(right) = right {
                    right.append(leaf, left_len - 1..leaf.len());
                }
            }
        }
        let right = right.map(|right| (right.pair(0).0, node::leak(right)));
        let change = Change { left: Some(node::leak(left)), right, new_separator, has_shrunk: false };
        Ok(Plan { change, more: 1, taken: None })
    }

    /// Plans another entry in the place of the one at `index`, whose key is equal.
    pub(super) fn replace(
        leaf: &Leaf<K, V, S>,
        index: usize,
        pair: Slots<K, V, S>,
        reserves: bool,
    ) -> Result<Self, Stop> {
        let new_separator = (S::POINTS && index == 0).then(|| copy_of(&pair.0));
        let taken = Some(Out::of(leaf, index, reserves)?);
        let mut new = new_leaf::<K, V, S>()?;
        new.append(leaf, 0..index);
        new.push(pair);
        new.append(leaf, index + 1..leaf.len());
        let change = Change { left: Some(node::leak(new)), right: None, new_separator, has_shrunk: false };
        Ok(Plan { change, more: 0, taken })
    }

    /// Plans a leaf with the entries for which `keeps` returns true.
    pub(super) fn keep(leaf: &Leaf<K, V, S>, keeps: impl Fn(usize) -> bool) -> Result<Self, Stop> {
        let mut new = new_leaf::<K, V, S>()?;
        (0..leaf.len()).filter(|index| keeps(*index)).for_each(|index| new.push(leaf.pair(index)));
        let more = new.len() as isize - leaf.len() as isize;
        let new_separator = (S::POINTS && new.len() > 0 && !keeps(0)).then(|| new.pair(0).0);
        let left = (new.len() > 0).then(|| node::leak(new));
        Ok(Plan { change: Change { left, right: None, new_separator, has_shrunk: true }, more, taken: None })
    }

    /// Plans a leaf without the entry at `index`.
    pub(super) fn remove(leaf: &Leaf<K, V, S>, index: usize, reserves: bool) -> Result<Self, Stop> {
        let taken = Some(Out::of(leaf, index, reserves)?);
        Ok(Plan { taken, ..Self::keep(leaf, |kept| kept != index)? })
    }
}
