//! flurry, pinned for each operation.

use flurry::HashMap;

use super::Hasher;
use crate::collect::keys::key;
use crate::collect::map::Map;

type Flurries = HashMap<u64, u64, Hasher>;

pub struct Flurry(Flurries);

impl Map for Flurry {
    type Thread<'m> = &'m Flurries;

    fn filled(size: usize) -> Flurry {
        let map = Flurries::default();
        (0..size as u64).map(key).for_each(|key| {
            map.pin().insert(key, key);
        });
        Flurry(map)
    }

    fn thread(&self) -> &Flurries {
        &self.0
    }

    #[inline(always)]
    fn get(map: &&Flurries, key: u64) -> Option<u64> {
        map.pin().get(&key).copied()
    }

    #[inline(always)]
    fn insert(map: &mut &Flurries, key: u64, value: u64) {
        map.pin().insert(key, value);
    }

    #[inline(always)]
    fn remove(map: &mut &Flurries, key: u64) {
        map.pin().remove(&key);
    }
}
