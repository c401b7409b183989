//! scc's hash map, by its synchronous calls.

use scc::HashMap;

use super::Hasher;
use crate::collect::keys::key;
use crate::collect::map::Map;

type Sccs = HashMap<u64, u64, Hasher>;

pub struct Scc(Sccs);

impl Map for Scc {
    type Thread<'m> = &'m Sccs;

    fn filled(size: usize) -> Scc {
        let map = Sccs::default();
        (0..size as u64).map(key).for_each(|key| {
            map.upsert_sync(key, key);
        });
        Scc(map)
    }

    fn thread(&self) -> &Sccs {
        &self.0
    }

    #[inline(always)]
    fn get(map: &&Sccs, key: u64) -> Option<u64> {
        map.read_sync(&key, |_, value| *value)
    }

    #[inline(always)]
    fn insert(map: &mut &Sccs, key: u64, value: u64) {
        map.upsert_sync(key, value);
    }

    #[inline(always)]
    fn remove(map: &mut &Sccs, key: u64) {
        map.remove_sync(&key);
    }
}
