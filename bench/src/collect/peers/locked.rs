//! One hash table behind one lock: std's behind std's, hashbrown's behind the asymmetric one.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use super::Hasher;
use crate::collect::keys::key;
use crate::collect::map::Map;

type Table = HashMap<u64, u64, Hasher>;
type Brown = hashbrown::HashMap<u64, u64, Hasher>;

pub struct Std(RwLock<Table>);

impl Map for Std {
    type Thread<'m> = &'m RwLock<Table>;

    fn filled(size: usize) -> Std {
        Std(RwLock::new((0..size as u64).map(key).map(|key| (key, key)).collect()))
    }

    fn thread(&self) -> &RwLock<Table> {
        &self.0
    }

    #[inline(always)]
    fn get(map: &&RwLock<Table>, key: u64) -> Option<u64> {
        map.read().unwrap_or_else(PoisonError::into_inner).get(&key).copied()
    }

    #[inline(always)]
    fn insert(map: &mut &RwLock<Table>, key: u64, value: u64) {
        map.write().unwrap_or_else(PoisonError::into_inner).insert(key, value);
    }

    #[inline(always)]
    fn remove(map: &mut &RwLock<Table>, key: u64) {
        map.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }
}

pub struct Asym(leeward::asym::RwLock<Brown>);

impl Map for Asym {
    type Thread<'m> = &'m leeward::asym::RwLock<Brown>;

    fn filled(size: usize) -> Asym {
        Asym(leeward::asym::RwLock::new((0..size as u64).map(key).map(|key| (key, key)).collect()))
    }

    fn thread(&self) -> &leeward::asym::RwLock<Brown> {
        &self.0
    }

    #[inline(always)]
    fn get(map: &&leeward::asym::RwLock<Brown>, key: u64) -> Option<u64> {
        map.read().get(&key).copied()
    }

    #[inline(always)]
    fn insert(map: &mut &leeward::asym::RwLock<Brown>, key: u64, value: u64) {
        map.write().insert(key, value);
    }

    #[inline(always)]
    fn remove(map: &mut &leeward::asym::RwLock<Brown>, key: u64) {
        map.write().remove(&key);
    }
}
