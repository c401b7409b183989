//! papaya, pinned for each operation as its documentation has it, and pinned for 256 at once.

use papaya::{HashMap, HashMapRef, LocalGuard};

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

/// The map, and the thread's guard.
pub struct Pin<'m>(&'m Papayas, HashMapRef<'m, u64, u64, Hasher, LocalGuard<'m>>);

impl Map for Pinned {
    type Thread<'m> = Pin<'m>;

    fn filled(size: usize) -> Pinned {
        Pinned(filled(size))
    }

    fn thread(&self) -> Pin<'_> {
        Pin(&self.0, self.0.pin())
    }

    #[inline(always)]
    fn get(pin: &Pin<'_>, key: u64) -> Option<u64> {
        pin.1.get(&key).copied()
    }

    #[inline(always)]
    fn insert(pin: &mut Pin<'_>, key: u64, value: u64) {
        pin.1.insert(key, value);
    }

    #[inline(always)]
    fn remove(pin: &mut Pin<'_>, key: u64) {
        pin.1.remove(&key);
    }

    fn renew(pin: &mut Pin<'_>) {
        *pin = Pin(pin.0, pin.0.pin());
    }
}
