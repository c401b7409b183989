//! `leeward::collect::ShardMap`.

use leeward::collect::ShardMap;

use super::Hasher;
use crate::collect::keys::key;
use crate::collect::map::Map;

type Shards = ShardMap<u64, u64, Hasher>;

pub struct Sharded(Shards);

impl Map for Sharded {
    type Thread<'m> = &'m Shards;

    fn filled(size: usize) -> Sharded {
        Sharded((0..size as u64).map(key).map(|key| (key, key)).collect())
    }

    fn thread(&self) -> &Shards {
        &self.0
    }

    #[inline(always)]
    fn get(map: &&Shards, key: u64) -> Option<u64> {
        map.get(&key).map(|value| *value)
    }

    #[inline(always)]
    fn insert(map: &mut &Shards, key: u64, value: u64) {
        map.insert(key, value);
    }

    #[inline(always)]
    fn remove(map: &mut &Shards, key: u64) {
        map.remove(&key);
    }
}
