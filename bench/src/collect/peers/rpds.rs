//! An immutable map of `rpds`, which arc-swap publishes: a writer copies the path to what it
//! changes.

use arc_swap::ArcSwap;
use rpds::HashTrieMapSync;

use super::Hasher;
use crate::collect::keys::key;
use crate::collect::map::Map;

type Tree = HashTrieMapSync<u64, u64, Hasher>;

pub struct Rpds(ArcSwap<Tree>);

impl Map for Rpds {
    type Thread<'m> = &'m ArcSwap<Tree>;

    fn filled(size: usize) -> Rpds {
        let mut tree = Tree::new_with_hasher_and_ptr_kind(Hasher::default());
        (0..size as u64).map(key).for_each(|key| tree.insert_mut(key, key));
        Rpds(ArcSwap::from_pointee(tree))
    }

    fn thread(&self) -> &ArcSwap<Tree> {
        &self.0
    }

    #[inline(always)]
    fn get(map: &&ArcSwap<Tree>, key: u64) -> Option<u64> {
        map.load().get(&key).copied()
    }

    #[inline(always)]
    fn insert(map: &mut &ArcSwap<Tree>, key: u64, value: u64) {
        map.rcu(|tree| tree.insert(key, value));
    }

    #[inline(always)]
    fn remove(map: &mut &ArcSwap<Tree>, key: u64) {
        map.rcu(|tree| tree.remove(&key));
    }
}
