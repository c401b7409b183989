//! What a writer does. It looks for its place as a reader does, makes the new leaf, and puts it in the
//! old one's place if the path to that is still linked; if not, it looks again. So `Ord`, closures and
//! destructors run under no lock.

use alloc::alloc::{Layout, handle_alloc_error};
use core::borrow::Borrow;
use core::ptr::NonNull;

use super::edit::Unlinked;
use super::map::OrderedMap;
use super::memory::Stock;
use super::need::inner_nodes;
use super::no_memory::NoMemory;
use super::node::{Leaf, TreeNode};
use super::path::{Path, Side};
use super::plan::{Out, Packed, Plan, Stop};
use super::retired::Retired;
use super::store::Store;
use super::waste::{self, Removed, Waste};
use crate::collect::backend::{Limbo, in_section};
use crate::mutant::mutated;
use crate::rcu::Domain;

/// What a change that was made has unlinked and taken out.
pub(super) struct Done<K, V, S: Store<K, V>> {
    unlinked: Unlinked,
    taken: Option<Out<K, V, S>>,
}

impl<K, V, D: Domain> OrderedMap<K, V, D> {
    /// Hands an object over to be freed after a grace period. Where there is no memory, ends the process
    /// if the object is an entry for which nothing was reserved.
    ///
    /// # Safety
    /// No section that begins from now on finds it, and it is retired once.
    pub(super) unsafe fn retire(&self, waste: Waste<K, V>) {
        let layout = self.layout;
        let free = |item| {
            // SAFETY: the limbo holds what was retired in this map, and calls this once for each, after
            // its grace period, on a thread that has the map.
            Limbo::count_panics::<D>(unsafe { waste::free::<K, V>(layout, item) });
        };
        let (is_linked, item) = (waste.is_linked(), waste.into_item());
        if mutated!(ordered_retire) {
            return;
        }
        if is_linked {
            // SAFETY: the caller's promise; the object begins with a link.
            unsafe { self.limbo.retire_linked::<D>(item, free) };
        } else {
            // SAFETY: the caller's promise.
            unsafe { self.limbo.retire::<D>(item, free) };
        }
    }

    /// Makes one attempt to change a leaf, in a section of its own: goes to the leaf as `go` says, and
    /// puts in its place what `plan` says. Returns `None` if another writer was faster.
    ///
    /// # Errors
    /// What `plan` returns where nothing is to be changed; no memory.
    pub(super) fn attempt<S: Store<K, V>>(
        &self,
        go: impl FnOnce(NonNull<TreeNode>) -> Path,
        plan: impl FnOnce(Option<(&Path, &Leaf<K, V, S>)>) -> Result<Plan<K, V, S>, Stop>,
    ) -> Result<Option<Done<K, V, S>>, Stop> {
        in_section::<D, _>(|| {
            let path = self.tree.root().map(go);
            // SAFETY: a path of this map, and the section is open.
            let found = path.as_ref().map(|path| (path, unsafe { path.leaf::<K, V, S>() }));
            let plan = plan(found)?;
            // SAFETY: a path and a change of this map; the section is open.
            unsafe { self.commit(path.as_ref(), plan) }
        })
    }

    /// Puts what is planned in the place of the path's leaf. Returns `None` if the path is not linked
    /// any more.
    ///
    /// All memory that this takes is reserved before the writers' lock is taken, and what is left of it is
    /// given back after unlocking.
    ///
    /// # Errors
    /// `Stop::NoMemory`: nothing was changed.
    ///
    /// # Safety
    /// The path and the plan are of this map, and the path's section is open.
    pub(super) unsafe fn commit<S: Store<K, V>>(
        &self,
        path: Option<&Path>,
        plan: Plan<K, V, S>,
    ) -> Result<Option<Done<K, V, S>>, Stop> {
        let Plan { change, more, taken } = plan;
        // SAFETY: the caller's promise.
        let needed = path.map_or(0, |path| unsafe { inner_nodes::<K, V, S>(path, &change) });
        let Some(mut stock) = Stock::new(needed) else {
            // SAFETY: new leaves of this map, which were not published.
            unsafe { change.free::<K, V, S>() };
            return Err(Stop::NoMemory);
        };
        // SAFETY: the caller's promise.
        match unsafe { self.tree.commit::<K, V, S>(path, change, more, &mut stock) } {
            Ok(unlinked) => Ok(Some(Done { unlinked, taken })),
            Err(change) => {
                // SAFETY: new leaves of this map, which were not published.
                unsafe { change.free::<K, V, S>() };
                Ok(None)
            }
        }
    }

    /// Ends a change that was made: retires the nodes that it unlinked, and returns the entry that it
    /// took out. Outside the section, so that this is in the way of no grace period.
    pub(super) fn finish<S: Store<K, V>>(&self, done: Done<K, V, S>) -> Option<Removed<K, V>> {
        for node in done.unlinked.nodes() {
            // SAFETY: unlinked, and retired here alone.
            unsafe { self.retire(Waste::Node(node)) };
        }
        let Out { slots: (key, value), apart } = done.taken?;
        // SAFETY: unlinked, with the leaf and the separator that had it, and taken out here alone.
        Some((unsafe { S::unpack(key, value) }, apart))
    }

    /// Returns what was taken out to a caller.
    pub(super) fn retired(&self, removed: Option<Removed<K, V>>) -> Option<Retired<'_, K, V, D>> {
        removed.map(|removed| Retired::new(self, removed))
    }

    /// Goes to the leaf of a key.
    fn to<S: Store<K, V>, Q: Ord + ?Sized>(key: &Q) -> impl Fn(NonNull<TreeNode>) -> Path
    where
        K: Borrow<Q>,
    {
        // SAFETY: called by `attempt`, in its section, with this map's root.
        move |root| unsafe { Path::go::<K, V, S>(root, |inner| inner.find(key)) }
    }

    /// Adds a pair, or replaces the key's where `replaces`; returns what was taken out. `reserves`: that
    /// can be retired also where there is no memory.
    ///
    /// # Errors
    /// The pair, if the key is there and is not to be replaced, and if there is no memory.
    pub(super) fn put<S: Store<K, V>>(
        &self,
        key: K,
        value: V,
        replaces: bool,
        reserves: bool,
    ) -> Result<Option<Removed<K, V>>, (Stop, (K, V))>
    where
        K: Ord,
    {
        let packed = Packed::<K, V, S>::new(key, value).map_err(|pair| (Stop::NoMemory, pair))?;
        loop {
            let tried = self.attempt::<S>(Self::to::<S, K>(packed.key()), |found| {
                let Some((path, leaf)) = found else { return Plan::first(packed.slots()) };
                match leaf.find(packed.key()) {
                    Ok(_) if !replaces => Err(Stop::Nothing),
                    Ok(index) => Plan::replace(leaf, index, packed.slots(), reserves),
                    Err(index) => {
                        // SAFETY: a path of this map, in its section.
                        let is_last = unsafe { path.is_last::<K, V, S>() };
                        Plan::insert(leaf, index, packed.slots(), is_last)
                    }
                }
            });
            match tried {
                Ok(Some(done)) => {
                    packed.publish();
                    return Ok(self.finish(done));
                }
                Ok(None) => {}
                Err(stop) => return Err((stop, packed.into_pair())),
            }
        }
    }

    /// Returns the value of a key; adds it with what `make` makes, where it is not there.
    ///
    /// # Errors
    /// If there is no memory: nothing was changed.
    ///
    /// # Safety
    /// A section of `D` is open for as long as `'g`; `S` is the map's store.
    pub(super) unsafe fn find_or_put<'g, S: Store<K, V> + 'g>(
        &'g self,
        key: K,
        make: impl FnOnce() -> V,
    ) -> Result<&'g V, NoMemory>
    where
        K: Ord,
    {
        // SAFETY: the caller's promise.
        if let Some((_, value)) = unsafe { self.find::<S, K>(&key) } {
            return Ok(value);
        }
        let packed = Packed::<K, V, S>::new(key, make()).map_err(|_| NoMemory(()))?;
        let mut place = None;
        loop {
            let tried = self.attempt::<S>(Self::to::<S, K>(packed.key()), |found| {
                let Some((path, leaf)) = found else {
                    let plan = Plan::first(packed.slots())?;
                    place = plan.value(0);
                    return Ok(plan);
                };
                let index = match leaf.find(packed.key()) {
                    Ok(index) => {
                        place = Some(NonNull::from(leaf.value(index)));
                        return Err(Stop::Nothing);
                    }
                    Err(index) => index,
                };
                // SAFETY: a path of this map, in its section.
                let is_last = unsafe { path.is_last::<K, V, S>() };
                let plan = Plan::insert(leaf, index, packed.slots(), is_last)?;
                place = plan.value(index);
                Ok(plan)
            });
            match (tried, place) {
                (Ok(Some(done)), Some(place)) => {
                    packed.publish();
                    self.finish(done);
                    // SAFETY: published in the caller's section, which keeps the leaf, or the entry.
                    return Ok(unsafe { place.as_ref() });
                }
                // SAFETY: found in the caller's section, which keeps it.
                (Err(Stop::Nothing), Some(place)) => return Ok(unsafe { place.as_ref() }),
                (Err(_), _) => return Err(NoMemory(())),
                (Ok(_), _) => {}
            }
        }
    }

    /// Replaces the value of a key that is there by what `update` makes of it; returns what was taken
    /// out. `reserves`: as in `put`.
    ///
    /// # Errors
    /// The key, if it is not there, and if there is no memory.
    pub(super) fn change<S: Store<K, V>>(
        &self,
        mut key: K,
        mut update: impl FnMut(&V) -> V,
        reserves: bool,
    ) -> Result<Option<Removed<K, V>>, (Stop, K)>
    where
        K: Ord,
    {
        loop {
            let tried = in_section::<D, _>(|| {
                let Some(root) = self.tree.root() else { return Err((Stop::Nothing, key, None)) };
                let path = Self::to::<S, K>(&key)(root);
                // SAFETY: a path of this map, and the section is open.
                let leaf = unsafe { path.leaf::<K, V, S>() };
                let Ok(index) = leaf.find(&key) else { return Err((Stop::Nothing, key, None)) };
                let value = update(leaf.value(index));
                let packed = Packed::<K, V, S>::new(key, value);
                let packed = packed.map_err(|(key, value)| (Stop::NoMemory, key, Some(value)))?;
                let plan = Plan::replace(leaf, index, packed.slots(), reserves);
                // SAFETY: a path and a change of this map; the section is open.
                let done = plan.and_then(|plan| unsafe { self.commit(Some(&path), plan) });
                Ok((packed, done))
            });
            // What `update` made is dropped outside the section.
            let (packed, done) = tried.map_err(|(stop, key, _value)| (stop, key))?;
            match done {
                Ok(Some(done)) => {
                    packed.publish();
                    return Ok(self.finish(done));
                }
                Ok(None) => (key, _) = packed.into_pair(),
                Err(stop) => return Err((stop, packed.into_pair().0)),
            }
        }
    }

    /// Takes an entry out; returns it. `reserves`: as in `put`.
    ///
    /// # Errors
    /// If there is no memory: the entry is there still.
    pub(super) fn take<S: Store<K, V>, Q: Ord + ?Sized>(
        &self,
        key: &Q,
        reserves: bool,
    ) -> Result<Option<Removed<K, V>>, NoMemory>
    where
        K: Borrow<Q>,
    {
        self.take_at::<S>(Self::to::<S, Q>(key), |leaf| leaf.find(key).ok(), reserves)
    }

    /// Takes an entry out for which `decide` returns true; returns it.
    ///
    /// # Errors
    /// If there is no memory: the entry is there still.
    pub(super) fn take_if<S: Store<K, V>, Q: Ord + ?Sized>(
        &self,
        key: &Q,
        mut decide: impl FnMut(&K, &V) -> bool,
    ) -> Result<Option<Removed<K, V>>, NoMemory>
    where
        K: Borrow<Q>,
    {
        let find = |leaf: &Leaf<K, V, S>| {
            let index = leaf.find(key).ok()?;
            decide(leaf.key(index), leaf.value(index)).then_some(index)
        };
        self.take_at::<S>(Self::to::<S, Q>(key), find, false)
    }

    /// Takes the entry at one end out; returns it. `reserves`: as in `put`.
    ///
    /// # Errors
    /// If there is no memory: the entry is there still.
    pub(super) fn take_end<S: Store<K, V>>(
        &self,
        side: Side,
        reserves: bool,
    ) -> Result<Option<Removed<K, V>>, NoMemory> {
        // SAFETY: called in the section of the attempt, with this map's root.
        let go = |root| unsafe { Path::to_end::<K, V, S>(root, side) };
        let find = |leaf: &Leaf<K, V, S>| match side {
            Side::First => Some(0),
            Side::Last => Some(leaf.len() - 1),
        };
        self.take_at::<S>(go, find, reserves)
    }

    /// Takes the entry out that `find` finds in the leaf to which `go` goes.
    fn take_at<S: Store<K, V>>(
        &self,
        go: impl Fn(NonNull<TreeNode>) -> Path,
        mut find: impl FnMut(&Leaf<K, V, S>) -> Option<usize>,
        reserves: bool,
    ) -> Result<Option<Removed<K, V>>, NoMemory> {
        loop {
            let tried = self.attempt::<S>(&go, |found| {
                let (_, leaf) = found.ok_or(Stop::Nothing)?;
                Plan::remove(leaf, find(leaf).ok_or(Stop::Nothing)?, reserves)
            });
            match tried {
                Ok(Some(done)) => return Ok(self.finish(done)),
                Ok(None) => {}
                Err(Stop::Nothing) => return Ok(None),
                Err(Stop::NoMemory) => return Err(NoMemory(())),
            }
        }
    }
}

/// Ends the process: there is no memory for a change.
#[cold]
#[inline(never)]
pub(super) fn no_memory() -> ! {
    // The size of a leaf depends on keys and values; the sentence that is printed names no type.
    handle_alloc_error(Layout::new::<[u64; 64]>())
}
