//! papaya, pinned for each operation as its documentation has it, and pinned for 256 at once.

use papaya::{Guard, HashMap, LocalGuard};

use super::Hasher;
use crate::collect::keys::key;
use crate::collect::map::Map;

type Papayas = HashMap<u64, u64, Hasher>;

pub struct Papaya(Papayas);

fn filled(size: usize) -> Papayas {
    let map = Papayas::default();
    let pinned = map.pin();
    (0..size as u64).map(key).for_each(|key| {
        pinned.insert(key, key);
    });
    drop(pinned);
    map
}

impl Map for Papaya {
    type Thread<'m> = &'m Papayas;

    fn filled(size: usize) -> Papaya {
        Papaya(filled(size))
    }

    fn thread(&self) -> &Papayas {
        &self.0
    }

    #[inline(always)]
    fn get(map: &&Papayas, key: u64) -> Option<u64> {
        map.pin().get(&key).copied()
    }

    #[inline(always)]
    fn insert(map: &mut &Papayas, key: u64, value: u64) {
        map.pin().insert(key, value);
    }

    #[inline(always)]
    fn remove(map: &mut &Papayas, key: u64) {
        map.pin().remove(&key);
    }
}

pub struct Pinned(Papayas);

impl Map for Pinned {
    type Thread<'m> = (&'m Papayas, LocalGuard<'m>);

    fn filled(size: usize) -> Pinned {
        Pinned(filled(size))
    }

    fn thread(&self) -> (&Papayas, LocalGuard<'_>) {
        (&self.0, self.0.guard())
    }

    #[inline(always)]
    fn get((map, guard): &(&Papayas, LocalGuard<'_>), key: u64) -> Option<u64> {
        map.get(&key, guard).copied()
    }

    #[inline(always)]
    fn insert((map, guard): &mut (&Papayas, LocalGuard<'_>), key: u64, value: u64) {
        map.insert(key, value, guard);
    }

    #[inline(always)]
    fn remove((map, guard): &mut (&Papayas, LocalGuard<'_>), key: u64) {
        map.remove(&key, guard);
    }

    fn renew((_, guard): &mut (&Papayas, LocalGuard<'_>)) {
        guard.refresh();
    }
}
