//! What writers do to many entries: keeping those that a closure chooses, and emptying the map.

use core::cmp::Ordering::Greater;

use super::map::OrderedMap;
use super::no_memory::NoMemory;
use super::node::CAPACITY;
use super::path::{Path, Side};
use super::plan::Plan;
use super::store::Store;
use super::waste::Waste;
use crate::collect::backend::in_section;
use crate::rcu::Domain;

/// A place in the order of the keys.
enum After<'g, K> {
    Nothing,
    Key(&'g K),
}

impl<K, V, D: Domain> OrderedMap<K, V, D> {
    /// Takes all entries out that are there when the call begins.
    pub(super) fn empty(&self) {
        if let Some(root) = self.tree.take() {
            // SAFETY: unlinked, and retired here alone.
            unsafe { self.retire(Waste::Tree(root)) };
        }
    }

    /// Takes out the entries for which `keeps` returns false: leaf by leaf, each leaf at once.
    ///
    /// # Errors
    /// If there is no memory to change a leaf: this one and those behind it are as before.
    pub(super) fn keep<S: Store<K, V>>(&self, mut keeps: impl FnMut(&K, &V) -> bool) -> Result<(), NoMemory>
    where
        K: Ord,
    {
        in_section::<D, _>(|| {
            let mut after = After::Nothing;
            while let Some((path, start)) = self.leaf_after::<S>(&after) {
                // SAFETY: a path of this map; the section is open.
                let leaf = unsafe { path.leaf::<K, V, S>() };
                let mut kept = [true; CAPACITY];
                for (index, kept) in kept.iter_mut().enumerate().take(leaf.len()).skip(start) {
                    *kept = keeps(leaf.key(index), leaf.value(index));
                }
                let is_done = kept[start..leaf.len()].iter().all(|kept| *kept) || self.keep_those::<S>(&path, &kept)?;
                if is_done {
                    after = After::Key(leaf.key(leaf.len() - 1));
                }
            }
            Ok(())
        })
    }

    /// Takes the entries out of the path's leaf that `kept` leaves out. Returns false if the path is not
    /// linked any more. Called in the path's section.
    fn keep_those<S: Store<K, V>>(&self, path: &Path, kept: &[bool; CAPACITY]) -> Result<bool, NoMemory> {
        // SAFETY: a path of this map; the section is open.
        let leaf = unsafe { path.leaf::<K, V, S>() };
        let plan = Plan::keep(leaf, |index| kept[index]);
        // SAFETY: a path and a change of this map; the section is open.
        let done = plan.and_then(|plan| unsafe { self.commit::<S>(Some(path), plan) }).map_err(|_| NoMemory(()))?;
        let Some(done) = done else { return Ok(false) };
        let drops = (0..leaf.len()).filter(|index| !kept[*index]).fold(0, |bits, index| bits | 1 << index);
        // SAFETY: the leaf was unlinked, and lives until the section ends. It is retired below, and what
        // it alone had is freed with it.
        unsafe { path.leaf_node().as_ref() }.set_drops(drops);
        self.finish(done);
        Ok(true)
    }

    /// Returns the path to the first leaf with a key that is after a place, and the index of that key.
    /// Called in a section.
    fn leaf_after<S: Store<K, V>>(&self, after: &After<'_, K>) -> Option<(Path, usize)>
    where
        K: Ord,
    {
        let root = self.tree.root()?;
        let After::Key(key) = after else {
            // SAFETY: the callers' section is open.
            return Some((unsafe { Path::to_end::<K, V, S>(root, Side::First) }, 0));
        };
        // SAFETY: as above.
        let mut path = unsafe { Path::go::<K, V, S>(root, |inner| inner.find(*key)) };
        loop {
            // SAFETY: as above.
            let leaf = unsafe { path.leaf::<K, V, S>() };
            let index = leaf.not_greater(*key);
            // (Where `Ord` lies, an index within the leaf may be of a key that is not after.)
            if index < leaf.len() && leaf.key(index).cmp(key) == Greater {
                return Some((path, index));
            }
            // SAFETY: as above.
            if !unsafe { path.step::<K, V, S>(Side::Last) } {
                return None;
            }
        }
    }
}
