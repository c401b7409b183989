//! dashmap.

use dashmap::DashMap;

use super::Hasher;
use crate::collect::keys::key;
use crate::collect::map::Map;

type Dashes = DashMap<u64, u64, Hasher>;

pub struct Dashmap(Dashes);

impl Map for Dashmap {
    type Thread<'m> = &'m Dashes;

    fn filled(size: usize) -> Dashmap {
        Dashmap((0..size as u64).map(key).map(|key| (key, key)).collect())
    }

    fn thread(&self) -> &Dashes {
        &self.0
    }

    #[inline(always)]
    fn get(map: &&Dashes, key: u64) -> Option<u64> {
        map.get(&key).map(|value| *value)
    }

    #[inline(always)]
    fn insert(map: &mut &Dashes, key: u64, value: u64) {
        map.insert(key, value);
    }

    #[inline(always)]
    fn remove(map: &mut &Dashes, key: u64) {
        map.remove(&key);
    }
}
