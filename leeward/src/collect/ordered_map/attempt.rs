//! What a writer does. It looks for its place as a reader does, makes the new leaf, and puts it in the
//! old one's place if the path to that is still linked; if not, it looks again. So `Ord`, closures and
//! destructors run under no lock.

use core::borrow::Borrow;
use core::ptr::NonNull;

use super::edit::Unlinked;
use super::map::OrderedMap;
use super::node::{Leaf, Node};
use super::path::{Path, Side};
use super::plan::{Packed, Plan, Slots};
use super::store::{Store, Taken};
use super::waste::{self, Waste};
use crate::collect::backend::in_section;
use crate::mutant::step;
use crate::rcu::Domain;

/// What a change that was made has unlinked and taken out.
pub(super) struct Done<K, V, S: Store<K, V>> {
    unlinked: Unlinked,
    taken: Option<Slots<K, V, S>>,
}

impl<K, V, D: Domain> OrderedMap<K, V, D> {
    /// Hands an object over to be freed after a grace period.
    ///
    /// # Safety
    /// No section that begins from now on finds it, and it is retired once.
    pub(super) unsafe fn retire(&self, waste: Waste<K, V>) {
        let layout = self.layout;
        // SAFETY: the limbo holds what was retired in this map, and calls this once for each, after its
        // grace period, on a thread that has the map.
        let free = |item| unsafe { waste::free::<K, V>(layout, item) };
        // SAFETY: the caller's promise.
        step!(ordered_retire, unsafe { self.limbo.retire::<D>(waste.into_item(), free) });
    }

    /// Makes one attempt to change a leaf, in a section of its own: goes to the leaf as `go` says, and
    /// puts in its place what `plan` says. Returns `None` if another writer was faster.
    ///
    /// # Errors
    /// What `plan` returns where nothing is to be changed.
    pub(super) fn attempt<S: Store<K, V>, E>(
        &self,
        go: impl FnOnce(NonNull<Node>) -> Path,
        plan: impl FnOnce(Option<(&Path, &Leaf<K, V, S>)>) -> Result<Plan<K, V, S>, E>,
    ) -> Result<Option<Done<K, V, S>>, E> {
        in_section::<D, _>(|| {
            let path = self.tree.root().map(go);
            // SAFETY: a path of this map, and the section is open.
            let found = path.as_ref().map(|path| (path, unsafe { path.leaf::<K, V, S>() }));
            let plan = plan(found)?;
            // SAFETY: a path and a change of this map; the section is open.
            Ok(unsafe { self.commit(path.as_ref(), plan) })
        })
    }

    /// Puts what is planned in the place of the path's leaf. Returns `None` if the path is not linked
    /// any more.
    ///
    /// # Safety
    /// The path and the plan are of this map, and the path's section is open.
    pub(super) unsafe fn commit<S: Store<K, V>>(
        &self,
        path: Option<&Path>,
        plan: Plan<K, V, S>,
    ) -> Option<Done<K, V, S>> {
        let Plan { change, more, taken } = plan;
        // SAFETY: the caller's promise.
        match unsafe { self.tree.commit::<K, V, S>(path, change, more) } {
            Ok(unlinked) => Some(Done { unlinked, taken }),
            Err(change) => {
                // SAFETY: new leaves of this map, which were not published.
                unsafe { change.free::<K, V, S>() };
                None
            }
        }
    }

    /// Ends a change that was made: retires the nodes that it unlinked, and returns the entry that it
    /// took out. Outside the section, so that this is in the way of no grace period.
    pub(super) fn finish<S: Store<K, V>>(&self, done: Done<K, V, S>) -> Option<Taken<K, V>> {
        for node in done.unlinked.nodes() {
            // SAFETY: unlinked, and retired here alone.
            unsafe { self.retire(Waste::Node(node)) };
        }
        // SAFETY: unlinked, with the leaf and the separator that had it, and taken out here alone.
        done.taken.map(|(key, value)| unsafe { S::unpack(key, value) })
    }

    /// Goes to the leaf of a key.
    fn to<S: Store<K, V>, Q: Ord + ?Sized>(key: &Q) -> impl Fn(NonNull<Node>) -> Path
    where
        K: Borrow<Q>,
    {
        // SAFETY: called by `attempt`, in its section, with this map's root.
        move |root| unsafe { Path::go::<K, V, S>(root, |inner| inner.find(key)) }
    }

    /// Adds a pair, or replaces the key's where `replaces`; returns what was taken out.
    ///
    /// # Errors
    /// The pair, if the key is there and is not to be replaced.
    pub(super) fn put<S: Store<K, V>>(&self, key: K, value: V, replaces: bool) -> Result<Option<Taken<K, V>>, (K, V)>
    where
        K: Ord,
    {
        let packed = Packed::<K, V, S>::new(key, value);
        loop {
            let tried = self.attempt::<S, ()>(Self::to::<S, K>(packed.key()), |found| {
                let Some((path, leaf)) = found else { return Ok(Plan::first(packed.slots())) };
                match leaf.find(packed.key()) {
                    Ok(_) if !replaces => Err(()),
                    Ok(index) => Ok(Plan::replace(leaf, index, packed.slots())),
                    Err(index) => {
                        // SAFETY: a path of this map, in its section.
                        let is_last = unsafe { path.is_last::<K, V, S>() };
                        Ok(Plan::insert(leaf, index, packed.slots(), is_last))
                    }
                }
            });
            match tried {
                Ok(Some(done)) => {
                    packed.publish();
                    return Ok(self.finish(done));
                }
                Ok(None) => {}
                Err(()) => return Err(packed.into_pair()),
            }
        }
    }

    /// Replaces the value of a key that is there by what `update` makes of it; returns what was taken
    /// out.
    pub(super) fn change<S: Store<K, V>>(&self, mut key: K, mut update: impl FnMut(&V) -> V) -> Option<Taken<K, V>>
    where
        K: Ord,
    {
        loop {
            let (packed, done) = in_section::<D, _>(|| {
                let path = Self::to::<S, K>(&key)(self.tree.root()?);
                // SAFETY: a path of this map, and the section is open.
                let leaf = unsafe { path.leaf::<K, V, S>() };
                let index = leaf.find(&key).ok()?;
                let value = update(leaf.value(index));
                let packed = Packed::<K, V, S>::new(key, value);
                let plan = Plan::replace(leaf, index, packed.slots());
                // SAFETY: a path and a change of this map; the section is open.
                Some((packed, unsafe { self.commit(Some(&path), plan) }))
            })?;
            if let Some(done) = done {
                packed.publish();
                return self.finish(done);
            }
            (key, _) = packed.into_pair();
        }
    }

    /// Takes an entry out; returns it.
    pub(super) fn take<S: Store<K, V>, Q: Ord + ?Sized>(&self, key: &Q) -> Option<Taken<K, V>>
    where
        K: Borrow<Q>,
    {
        loop {
            let tried = self.attempt::<S, ()>(Self::to::<S, Q>(key), |found| {
                let (_, leaf) = found.ok_or(())?;
                leaf.find(key).map(|index| Plan::remove(leaf, index)).map_err(|_| ())
            });
            if let Some(done) = tried.ok()? {
                return self.finish(done);
            }
        }
    }

    /// Takes the entry at one end out; returns it.
    pub(super) fn take_end<S: Store<K, V>>(&self, side: Side) -> Option<Taken<K, V>> {
        loop {
            // SAFETY: called in the section of the attempt, with this map's root.
            let go = |root| unsafe { Path::to_end::<K, V, S>(root, side) };
            let tried = self.attempt::<S, ()>(go, |found| {
                let (_, leaf) = found.ok_or(())?;
                let index = match side {
                    Side::First => 0,
                    Side::Last => leaf.len() - 1,
                };
                Ok(Plan::remove(leaf, index))
            });
            if let Some(done) = tried.ok()? {
                return self.finish(done);
            }
        }
    }
}
