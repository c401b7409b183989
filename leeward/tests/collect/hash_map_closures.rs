//! `collect::HashMap`: closures that write the map in which they decide. One that changes its own key
//! is called again, and panics where it does so each time; a call never goes on for ever.

#[path = "../common/mod.rs"]
mod common;

use std::cell::Cell;
use std::sync::Arc;
use std::thread;

use leeward::collect::HashMap;
use leeward::collect::hash_map::{Compute, Operation};

use common::{Watchdog, panic_of};

type Map = HashMap<&'static str, Arc<u32>>;

/// A call with a closure about "own", which is given a function that it calls.
type Call = fn(&Map, &dyn Fn());

const CALLS: [(&str, Call); 6] = [
    ("update", |map, write| {
        drop(map.update("own", |old| {
            write();
            old.clone()
        }));
    }),
    ("update_or_insert_with", |map, write| {
        let update = |old: &Arc<u32>| {
            write();
            old.clone()
        };
        map.pin().update_or_insert_with("own", update, Arc::default);
    }),
    ("update_or_insert", |map, write| {
        let update = |old: &Arc<u32>| {
            write();
            old.clone()
        };
        map.pin().update_or_insert("own", update, Arc::default());
    }),
    ("compute: insert", |map, write| {
        let pinned = map.pin();
        pinned.compute("own", |_| {
            write();
            Operation::<_, ()>::Insert(Arc::default())
        });
    }),
    ("compute: remove", |map, write| {
        let pinned = map.pin();
        pinned.compute("own", |_| {
            write();
            Operation::<Arc<u32>, ()>::Remove
        });
    }),
    ("remove_if", |map, write| {
        drop(map.remove_if("own", |_, _| {
            write();
            true
        }));
    }),
];

#[test]
fn a_closure_that_writes_its_own_key_each_time_panics() {
    let _watchdog = Watchdog::new("a_closure_that_writes_its_own_key_each_time_panics");
    let all = Arc::new(7);
    for (name, call) in CALLS {
        let map = Map::new();
        map.insert("own", all.clone());
        map.insert("other", all.clone());
        let writes = Cell::new(0);
        let message = panic_of(|| {
            call(&map, &|| {
                writes.set(writes.get() + 1);
                drop(map.insert("own", all.clone()));
            });
        });
        assert!(message.contains("writes the key about which it decides"), "{name}: {message}");
        assert!((2..1000).contains(&writes.get()), "{name}: {} writes", writes.get());
        // The map is as the closure left it, and goes on.
        assert_eq!((map.len(), map.pin().get("own").map(|value| **value)), (2, Some(7)), "{name}");
        assert!(map.update("own", Arc::clone).is_some() && map.remove("own").is_some(), "{name}");
        drop(map);
        assert_eq!(Arc::strong_count(&all), 1, "{name}: a value is lost");
    }
}

/// The write is made by a closure that decides about another key, of this map or of another one.
#[test]
fn a_closure_whose_inner_closure_writes_its_key_panics() {
    let _watchdog = Watchdog::new("a_closure_whose_inner_closure_writes_its_key_panics");
    let other = HashMap::from([("another", 0)]);
    for (name, call) in CALLS {
        let map = Map::new();
        map.insert("own", Arc::default());
        map.insert("another", Arc::default());
        let message = panic_of(|| {
            call(&map, &|| {
                drop(other.update("another", |value| {
                    drop(map.update("another", |again| {
                        drop(map.insert("own", Arc::default()));
                        again.clone()
                    }));
                    value + 1
                }));
            });
        });
        assert!(message.contains("writes the key about which it decides"), "{name}: {message}");
        // The closures in between have written nothing of their own, and none is noted any more.
        assert!((0..100).all(|_| map.update("another", Arc::clone).is_some()), "{name}");
        assert_eq!((map.len(), map.pin().contains_key("own")), (2, true), "{name}");
    }
}

/// It adds the key where it is absent, and takes it away where it is there.
#[test]
fn a_closure_that_turns_its_own_key_round_panics() {
    let _watchdog = Watchdog::new("a_closure_that_turns_its_own_key_round_panics");
    let map = HashMap::new();
    let message = panic_of(|| {
        let pinned = map.pin();
        pinned.compute("own", |found| {
            match found {
                None => drop(map.insert("own", 1)),
                Some(_) => drop(map.remove("own")),
            }
            Operation::<_, ()>::Insert(2)
        });
    });
    assert!(message.contains("writes the key about which it decides"), "{message}");
    map.insert("own", 3);
    assert_eq!((map.len(), map.pin().get("own")), (1, Some(&3)));
}

#[test]
fn a_closure_that_writes_its_own_key_at_times_is_called_again() {
    let _watchdog = Watchdog::new("a_closure_that_writes_its_own_key_at_times_is_called_again");
    let map = HashMap::from([("own", 0)]);
    for turn in 0..1000 {
        let left = Cell::new(turn % 4);
        let write = || {
            if left.get() != 0 {
                left.set(left.get() - 1);
                drop(map.update("own", |value| value + 1));
            }
        };
        let add = |value: &u32| {
            write();
            value + 1
        };
        assert!(map.update("own", add).is_some());
    }
    // Each write, and each call itself.
    assert_eq!(map.pin().get("own"), Some(&(1000 + 1000 / 4 * (1 + 2 + 3))));
}

/// What a closure writes elsewhere is not counted, however often another thread is faster.
#[test]
fn a_closure_that_writes_other_keys_goes_on() {
    let _watchdog = Watchdog::new("a_closure_that_writes_other_keys_goes_on");
    let (map, other) = (HashMap::from([("own", 0)]), HashMap::new());
    let calls = Cell::new(0);
    let take = |found: Option<(&&str, &u32)>| {
        calls.set(calls.get() + 1);
        map.insert("another", calls.get());
        other.insert("own", calls.get());
        // Another thread changes the key, 300 times.
        if calls.get() <= 300 {
            thread::scope(|scope| drop(scope.spawn(|| drop(map.insert("own", 0)))));
        }
        Operation::<_, ()>::Insert(found.map_or(0, |(_, value)| *value) + 1)
    };
    let pinned = map.pin();
    assert!(matches!(pinned.compute("own", take), Compute::Updated { .. }));
    assert_eq!((calls.get(), pinned.get("own"), map.len(), other.len()), (301, Some(&1), 2, 1));
}
