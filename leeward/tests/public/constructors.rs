//! Each public constructor can be called without a word about the parameters that have a default: the
//! compiler finds them. Those for other domains and futexes end in `_in`.

use std::sync::Arc;

use leeward::collect::{self, Bounded, HashMap, HashSet, List, OrderedMap, Queue, ShardMap, ShardSet, Stack};
use leeward::rcu::{self, ArcCell, ArcOption, RcuCell, RcuOption};
use leeward::{asym, hazard, raw, sync, task};

/// Takes what was made: its type is known by then.
fn made<T>(_: T) {}

#[test]
fn locks() {
    made((raw::Mutex::new(), raw::FairMutex::new(), raw::RwLock::new(), raw::LightMutex::new()));
    made((raw::Condvar::new(), raw::Once::new(), raw::Latch::new(1), raw::Semaphore::new(1)));
    made((raw::Event::new(), raw::Barrier::new(1)));
    made((sync::Mutex::new(1), sync::FairMutex::new(1), sync::RwLock::new(1), sync::LightMutex::new(1)));
    made((sync::Condvar::new(), sync::Once::new(), sync::Latch::new(1), sync::Semaphore::new(1)));
    made((sync::Event::new(), sync::Barrier::new(1), sync::OnceLock::from(1), sync::LazyLock::new(|| 1)));
    made((sync::ReentrantMutex::new(1), sync::Poison::new(1)));
    made((sync::poison::Mutex::new(1), sync::poison::RwLock::new(1), sync::poison::Mutex::from(1)));
    made((sync::poison::Condvar::new(), sync::poison::Once::new(), sync::poison::Barrier::new(1)));
    made((sync::poison::OnceLock::from(1), sync::poison::LazyLock::new(|| 1), sync::poison::RwLock::from(1)));
    made((asym::Mutex::new(1), asym::RwLock::new(1)));
    made((task::Mutex::new(1), task::RwLock::new(1), task::Semaphore::new(1), task::Notify::new()));
    made((sync::Mutex::from(1), sync::RwLock::from(1), asym::Mutex::from(1), asym::RwLock::from(1)));
}

#[test]
fn containers() {
    HashMap::new().insert(1, 2);
    HashMap::with_capacity(1).insert(1, 2);
    HashSet::new().insert(1);
    HashSet::with_capacity(1).insert(1);
    OrderedMap::new().insert(1, 2);
    List::new().push_back(1);
    ShardMap::new().insert(1, 2);
    ShardSet::new().insert(1);
    Queue::new().push(1);
    Bounded::with_capacity(1).push(1).unwrap();
    Bounded::try_with_capacity(1).unwrap().push(1).unwrap();
    Stack::new().push(1);
    made((collect::raw::Queue::new(), collect::raw::Stack::new()));
}

#[test]
fn containers_of_values() {
    assert_eq!(HashMap::from([(1, 2)]).len(), 1);
    assert_eq!(HashSet::from([1]).len(), 1);
    assert_eq!(ShardMap::from([(1, 2)]).len(), 1);
    assert_eq!(ShardSet::from([1]).len(), 1);
    assert_eq!(OrderedMap::from([(1, 2)]).len(), 1);
    assert_eq!(List::from([1]).len(), 1);
    assert_eq!(Queue::from([1]).into_iter().count(), 1);
    assert_eq!(Stack::from([1]).into_iter().count(), 1);
}

#[test]
fn cells() {
    let guard = rcu::read();
    assert_eq!(*RcuCell::new(1).load(&guard), 1);
    assert_eq!(*RcuCell::<u32>::default().load(&guard), 0);
    assert_eq!(&*RcuCell::<str>::from("a").get(), "a");
    assert_eq!(*RcuCell::from(Box::new(1)).load(&guard), 1);
    assert_eq!(RcuOption::some(1).load(&guard), Some(&1));
    assert_eq!(RcuOption::default().load(&guard), None::<&u32>);
    assert_eq!(RcuOption::<u32>::none().load(&guard), None);
    assert_eq!(*ArcCell::new(Arc::new(1)).load(&guard), 1);
    assert_eq!(ArcOption::some(Arc::new(1)).load(&guard), Some(&1));
    assert_eq!(*ArcCell::from(Arc::new(1)).load(&guard), 1);
    assert_eq!(*ArcCell::<u32>::default().load(&guard), 0);
    assert_eq!(ArcOption::from(Some(Arc::new(1))).load_full().as_deref(), Some(&1));
    assert_eq!(ArcOption::default().load_full(), None::<Arc<u32>>);
    made(hazard::Cell::new(1));
    made(hazard::HazardPointer::new());
    made((rcu::Reader::register(), rcu::qsbr::Reader::register()));
}
