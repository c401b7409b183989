//! Looking up what is no key: by `Equivalent`, and by a hash that the caller has.

use super::*;

use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use leeward::collect::Equivalent;

/// A hasher that returns the last number that it was given.
#[derive(Default, Clone)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys hash one number");
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// One of seven hashes, which differ in all their bits.
fn one_of_seven(key: u32) -> u64 {
    u64::from(key % 7).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A pair that is known by its first half.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Pair(u32, &'static str);

impl Hash for Pair {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// The half of a pair, which has the hash of its pair.
#[derive(Hash)]
struct Half(u32);

impl Equivalent<Pair> for Half {
    fn equivalent(&self, key: &Pair) -> bool {
        self.0 == key.0
    }
}

#[test]
fn what_is_equivalent_finds_its_key() {
    let map = ShardMap::from([(Pair(1, "one"), 10), (Pair(2, "two"), 20)]);
    assert_eq!(map.get(&Half(1)).map(|entry| (entry.key().1, *entry)), Some(("one", 10)));
    assert!(map.try_get(&Half(2)).is_present() && map.try_get_mut(&Half(3)).is_absent());
    assert!(map.contains_key(&Half(2)) && !map.contains_key(&Half(3)));
    *map.get_mut(&Half(1)).unwrap() += 1;
    map.alter(&Half(1), |_, value| value + 1);
    assert_eq!(map.view(&Half(1), |key, value| (key.1, *value)), Some(("one", 12)));
    assert_eq!(map.remove_if(&Half(1), |_, value| *value == 0), None);
    assert_eq!(map.remove_if_mut(&Half(1), |_, value| *value == 12), Some((Pair(1, "one"), 12)));
    assert_eq!(map.remove(&Half(2)), Some((Pair(2, "two"), 20)));
    let set = ShardSet::from([Pair(1, "one")]);
    assert_eq!(set.get(&Half(1)).map(|key| key.1), Some("one"));
    assert!(set.contains(&Half(1)) && set.remove_if(&Half(1), |key| key.1 == "two").is_none());
    assert_eq!(set.remove(&Half(1)), Some(Pair(1, "one")));
}

#[test]
fn a_hash_and_a_comparison_find_what_a_key_finds() {
    // Few hashes, so that many keys have each: the comparison decides.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Key(u32);
    impl Hash for Key {
        fn hash<H: Hasher>(&self, state: &mut H) {
            one_of_seven(self.0).hash(state);
        }
    }
    let map: ShardMap<Key, u32, BuildHasherDefault<Identity>> = ShardMap::default();
    let hash = one_of_seven;
    for key in 0..200 {
        let made = map.get_or_insert_by_hash(hash(key), |there| there.0 == key, || (Key(key), key));
        assert_eq!((*made.key(), *made), (Key(key), key));
        drop(made);
        *map.get_or_insert_by_hash(hash(key), |there| there.0 == key, || unreachable!()) += 1;
    }
    assert_eq!(map.len(), 200);
    for key in 0..200 {
        assert_eq!(map.hasher().hash_one(Key(key)), hash(key));
        assert_eq!(map.get_by_hash(hash(key), |there| there.0 == key).map(|value| *value), Some(key + 1));
        assert!(map.get_by_hash(hash(key + 1), |there| there.0 == key).is_none(), "another hash finds no key");
        *map.get_mut_by_hash(hash(key), |there| there.0 == key).unwrap() += 1;
        *map.entry_by_hash(hash(key), Key(key)).or_insert(0) += 1;
        assert_eq!(map.get(&Key(key)).map(|value| *value), Some(key + 3));
    }
    assert_eq!(map.remove_by_hash(hash(5), |there| there.0 == 5), Some((Key(5), 8)));
    assert!(map.remove_by_hash(hash(5), |there| there.0 == 5).is_none());
    assert!(map.get_mut_by_hash(hash(5), |there| there.0 == 5).is_none());
    assert!(matches!(map.entry_by_hash(hash(5), Key(5)), Entry::Vacant(_)));
    assert_eq!(map.len(), 199);
}

/// A hash that is not the key's may lose the entry, and nothing else: it stays counted, walked and dropped once.
#[test]
fn a_wrong_hash_loses_its_entry_only() {
    let map = ShardMap::<u32, u32>::with_shard_amount(2);
    (0..100).for_each(|key| _ = map.insert(key, key));
    let wrong = !map.hasher().hash_one(5000_u32);
    drop(map.get_or_insert_by_hash(wrong, |key| *key == 5000, || (5000, 1)));
    map.entry_by_hash(!map.hasher().hash_one(5001_u32), 5001).or_insert(2);
    assert_eq!(map.get_by_hash(wrong, |key| *key == 5000).map(|value| *value), Some(1));
    // The tables grow and move it.
    (100..5000).for_each(|key| _ = map.insert(key, key));
    assert_eq!((map.len(), map.iter().count()), (5002, 5002));
    assert!((0..5000).all(|key| map.get(&key).is_some_and(|value| *value == key)));
    map.retain(|key, _| *key < 5000);
    assert_eq!(map.len(), 5000);
    // Answers of all kinds: the comparison takes any entry for the key, or none.
    let hash = map.hasher().hash_one(7_u32);
    assert!(map.get_by_hash(hash, |_| false).is_none());
    drop(map.get_by_hash(hash, |_| true));
    map.remove_by_hash(hash, |_| true);
    assert_eq!(map.len(), map.iter().count());
}

/// Interning: threads that make the same keys have one entry of each, whichever came first.
#[test]
fn threads_that_intern_have_one_key_each() {
    let names = ShardMap::<String, usize>::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..500_u32 {
                    let name = number.to_string();
                    let hash = names.hasher().hash_one(name.as_str());
                    *names.get_or_insert_by_hash(hash, |key| *key == name, || (name.clone(), 0)) += 1;
                }
            });
        }
    });
    assert_eq!((names.len(), names.iter().all(|entry| *entry == 4)), (500, true));
}

#[test]
fn panics_insert_nothing_and_unlock() {
    let map = one_shard(10);
    let boom = |_: &u32| -> bool { panic!("as it was told") };
    let hash = |key: u32| map.hasher().hash_one(key);
    assert_eq!(panics(|| map.get_by_hash(hash(1), boom)), "as it was told");
    assert_eq!(panics(|| map.get_mut_by_hash(hash(1), boom)), "as it was told");
    assert_eq!(panics(|| map.remove_by_hash(hash(1), boom)), "as it was told");
    assert_eq!(panics(|| map.get_or_insert_by_hash(hash(1), boom, || unreachable!())), "as it was told");
    let made = || -> (u32, u32) { panic!("as it was told") };
    assert_eq!(panics(|| map.get_or_insert_by_hash(hash(11), |key| *key == 11, made)), "as it was told");
    assert_eq!(map.len(), 10);
    assert!(map.try_entry(11).is_some(), "the shard is unlocked");
}

/// A thread that would wait for itself panics, before a closure of its own is called.
#[test]
fn a_thread_never_waits_for_itself() {
    let map = one_shard(10);
    let hash = map.hasher().hash_one(1_u32);
    let read = map.get(&1).unwrap();
    assert!(map.get_by_hash(hash, |key| *key == 1).is_some(), "reading twice");
    let reads = "leeward: a thread writes a shard of a ShardMap that it reads: drop the Ref or iterator first";
    let unmet = |_: &u32| -> bool { unreachable!("the shard is not locked") };
    assert_eq!(panics(|| map.get_mut_by_hash(hash, unmet)), reads);
    assert_eq!(panics(|| map.remove_by_hash(hash, unmet)), reads);
    assert_eq!(panics(|| map.get_or_insert_by_hash(hash, unmet, || unreachable!())), reads);
    assert_eq!(panics(|| map.entry_by_hash(hash, 1)), reads);
    drop(read);
    let written = map.get_mut_by_hash(hash, |key| *key == 1).unwrap();
    let writes = "leeward: a thread reads a shard of a ShardMap that it has locked: drop the RefMut or entry first";
    assert_eq!(panics(|| map.get_by_hash(hash, unmet)), writes);
    assert_eq!(panics(|| map.shards()[0].len()), writes);
    assert_eq!(panics(|| map.shards()[0].iter().count()), writes);
    drop(written);
    assert!(map.get_by_hash(hash, |key| *key == 1).is_some());
}
