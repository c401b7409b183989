//! Looking up what is no key: by `Equivalent`, by a hash, in sets that intern.

use leeward::collect::Equivalent;
use leeward::rcu::Guard;

use super::*;

/// A part of a key, which has the hash of its key.
struct Part(u32);

impl Hash for Part {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// A pair that is known by its first half.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Pair(u32, &'static str);

impl Hash for Pair {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Equivalent<Pair> for Part {
    fn equivalent(&self, key: &Pair) -> bool {
        self.0 == key.0
    }
}

#[test]
fn what_is_equivalent_finds_its_key() {
    let mut map = HashMap::from([(Pair(1, "one"), 10), (Pair(2, "two"), 20)]);
    let guard = rcu::read();
    assert_eq!(map.get(&Part(1), &guard), Some(&10));
    assert_eq!(map.get_key_value(&Part(2), &guard), Some((&Pair(2, "two"), &20)));
    assert!(map.contains_key(&Part(2)) && !map.contains_key(&Part(3)));
    assert_eq!(map.pin().get(&Part(1)), Some(&10));
    assert!(map.remove_if(&Part(1), |_, value| *value == 20).is_none());
    assert_eq!(*map.remove(&Part(1)).unwrap(), 10);
    drop(guard);
    *map.get_mut(&Part(2)).unwrap() += 1;
    assert_eq!(map.pin().get(&Part(2)), Some(&21));
    let set = HashSet::from([Pair(1, "one")]);
    assert!(set.contains(&Part(1)) && set.remove(&Part(1)) && set.take(&Part(1)).is_none());
}

#[test]
fn a_hash_and_a_comparison_find_what_a_key_finds() {
    // Few hashes, so that many keys have each: the comparison decides.
    let map: HashMap<u64, u64, BuildHasherDefault<Identity>> = HashMap::default();
    let hash = |key: u64| key % 7;
    let guard = rcu::read();
    for key in 0..200 {
        let entry = map.get_or_insert_by_hash(hash(key), |there| *there == key, || (key, key + 1), &guard);
        assert_eq!(entry, (&key, &(key + 1)));
        let again = map.get_or_insert_by_hash(hash(key), |there| *there == key, || unreachable!(), &guard);
        assert!(std::ptr::eq(entry.0, again.0));
    }
    assert_eq!(map.len(), 200);
    for key in 0..200 {
        assert_eq!(map.get_by_hash(hash(key), |there| *there == key, &guard), Some((&key, &(key + 1))));
        assert_eq!(map.get_by_hash(hash(key + 1), |there| *there == key, &guard), None, "another hash finds no key");
    }
    assert_eq!(map.remove_by_hash(hash(5), |there| *there == 5).map(|old| *old), Some(6));
    assert!(map.remove_by_hash(hash(5), |there| *there == 5).is_none());
    assert_eq!(map.len(), 199);
}

/// A hash that is not the key's loses the entry for look-ups by the key, and nothing else.
#[test]
fn a_wrong_hash_loses_its_entry_only() {
    let map = HashMap::<u32, u32>::new();
    let guard = rcu::read();
    (0..1000).for_each(|key| drop(map.insert(key, key)));
    let wrong = !map.hasher().hash_one(5000_u32);
    map.get_or_insert_by_hash(wrong, |key| *key == 5000, || (5000, 1), &guard);
    assert_eq!(map.get(&5000, &guard), None);
    assert_eq!(map.get_by_hash(wrong, |key| *key == 5000, &guard), Some((&5000, &1)));
    // The table grows and moves it.
    (1000..5000).for_each(|key| drop(map.insert(key, key)));
    assert_eq!(map.get_by_hash(wrong, |key| *key == 5000, &guard), Some((&5000, &1)));
    assert_eq!((map.len(), map.iter(&guard).count()), (5001, 5001));
    assert!((0..5000).all(|key| map.get(&key, &guard) == Some(&key)));
}

#[test]
fn threads_that_intern_have_one_key_each() {
    let names = HashSet::<String>::new();
    let one = |thread: usize, guard: &Guard<'_>| {
        let address = |name: &String| std::ptr::from_ref(name).addr();
        (0..500_u32)
            .map(|number| match thread % 3 {
                0 => address(names.get_or_insert(number.to_string(), guard)),
                1 => address(names.get_or_insert_with(number.to_string().as_str(), |name| name.to_owned(), guard)),
                _ => address(names.pin().get_or_insert(number.to_string())),
            })
            .collect::<Vec<_>>()
    };
    let found: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|thread| scope.spawn(move || one(thread, &rcu::read()))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(found.iter().all(|addresses| *addresses == found[0]));
    assert_eq!(names.len(), 500);
}

#[test]
fn a_value_is_made_where_there_is_none() {
    let (map, guard) = (HashMap::new(), rcu::read());
    assert_eq!(map.try_insert_with("a", || 1, &guard), Ok(&1));
    assert_eq!(map.try_insert_with("a", || unreachable!(), &guard), Err(&1));
    assert_eq!(map.pin().try_insert_with("b", || 2), Ok(&2));
}

#[test]
fn pinned_maps_and_sets_are_walked() {
    let (map, set) = (HashMap::from([(1, 2), (3, 4)]), HashSet::from([1, 3]));
    let mut sum = 0;
    for (key, value) in &map.pin() {
        sum += key * value;
    }
    assert_eq!(sum, 14);
    let pinned = set.pin();
    let mut sum = 0;
    for value in &pinned {
        sum += value;
    }
    assert_eq!((sum, pinned.len(), pinned.iter().count()), (4, 2, 2));
    assert!(pinned.contains(&1) && pinned.get(&3) == Some(&3) && !pinned.is_empty());
    assert!(pinned.insert(5) && !pinned.insert(5) && pinned.remove(&5) && !pinned.remove(&5));
    assert_eq!(format!("{:?}", HashSet::from([7]).pin()), "{7}");
}

#[test]
fn a_builder_makes_what_it_was_told() {
    leeward::rcu_domain! { struct D; }
    let hasher = BuildHasherDefault::<Identity>::default();
    let map: HashMap<u64, u64, BuildHasherDefault<Identity>, D> =
        HashMap::builder().capacity(1000).hasher(hasher).domain::<D>().build();
    assert!(map.capacity() >= 1000);
    map.insert(1, 2);
    assert_eq!(map.get(&1, &D::read()), Some(&2));
    assert_eq!(HashMap::<u32, u32>::builder().build().capacity(), 0);
}

#[test]
fn what_is_removed_is_counted_and_references_extend() {
    let mut map: HashMap<u32, u32> = HashMap::new();
    map.extend(&std::collections::HashMap::from([(1, 2), (3, 4), (5, 6)]));
    assert_eq!((map.retain(|key, _| *key != 3), map.len()), (1, 2));
    assert_eq!((map.pin().retain(|_, _| false), map.len()), (2, 0));
    let mut set: HashSet<u32> = HashSet::new();
    set.extend(&[1, 2, 3]);
    assert_eq!((set.retain(|value| *value > 1), set.len()), (1, 2));
}
