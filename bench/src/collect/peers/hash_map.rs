//! `leeward::collect::HashMap`, pinned for each look-up, and with a guard for 256 operations at once.

use leeward::collect::HashMap;
use leeward::rcu::{self, Guard};

use super::Hasher;
use crate::collect::keys::key;
use crate::collect::map::Map;

type Hashes = HashMap<u64, u64, Hasher>;

pub struct Hashed(Hashes);

fn filled(size: usize) -> Hashes {
    let map = Hashes::with_hasher(Hasher::default());
    (0..size as u64).map(key).for_each(|key| {
        map.insert(key, key);
    });
    map
}

impl Map for Hashed {
    type Thread<'m> = &'m Hashes;

    fn filled(size: usize) -> Hashed {
        Hashed(filled(size))
    }

    fn thread(&self) -> &Hashes {
        &self.0
    }

    #[inline(always)]
    fn get(map: &&Hashes, key: u64) -> Option<u64> {
        map.pin().get(&key).copied()
    }

    #[inline(always)]
    fn insert(map: &mut &Hashes, key: u64, value: u64) {
        map.insert(key, value);
    }

    #[inline(always)]
    fn remove(map: &mut &Hashes, key: u64) {
        map.remove(&key);
    }
}

pub struct Pinned(Hashes);

impl Map for Pinned {
    type Thread<'m> = (&'m Hashes, Guard<'static>);

    fn filled(size: usize) -> Pinned {
        Pinned(filled(size))
    }

    fn thread(&self) -> (&Hashes, Guard<'static>) {
        (&self.0, rcu::read())
    }

    #[inline(always)]
    fn get((map, guard): &(&Hashes, Guard<'static>), key: u64) -> Option<u64> {
        map.get(&key, guard).copied()
    }

    #[inline(always)]
    fn insert((map, _): &mut (&Hashes, Guard<'static>), key: u64, value: u64) {
        map.insert(key, value);
    }

    #[inline(always)]
    fn remove((map, _): &mut (&Hashes, Guard<'static>), key: u64) {
        map.remove(&key);
    }

    fn renew((_, guard): &mut (&Hashes, Guard<'static>)) {
        guard.refresh();
    }
}
