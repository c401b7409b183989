//! The table: of each public function with a closure, how it is called, and what the closure may do.

use std::cell::{Cell, RefCell};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::thread;
use std::time::{Duration, Instant};

use leeward::collect::hash_map::Operation;
use leeward::collect::shard_map::{MappedRef, MappedRefMut};
use leeward::collect::{HashMap, HashSet, List, OrderedMap, ShardMap, ShardSet};
use leeward::hazard::{self, HazardPointer};
use leeward::pi;
use leeward::raw::Once;
use leeward::rcu::epoch::{self, Atomic, Collector};
use leeward::rcu::{self, ArcCell, ArcOption, Global, RcuCell, RcuOption, Ref, qsbr};
use leeward::robust;
use leeward::shared::{self, Region};
use leeward::sync::{Condvar, Mutex, OnceLock, Poison, poison};

use super::Again::{Panics, Returns, Waits};
use super::{Row, Value, check};

macro_rules! rows {
    ($list:ident of $type:ty, $make:expr;
        $($name:literal, $again:expr, |$object:pat_param, $closure:ident| $call:expr;)*) => {
        const $list: &[Row] = &[$(Row {
            name: $name,
            check: |name| check::<$type>(name, $again, || $make, |$object, $closure: &dyn Fn()| { let _ = $call; }),
        }),*];
    };
}

pub fn all() -> impl Iterator<Item = &'static Row> {
    let lists = [
        HASH_MAP,
        HASH_SET,
        LIST,
        ORDERED_MAP,
        SHARD_MAP,
        SHARD_SET,
        HAZARD,
        PI,
        ONCE,
        ARC_CELL,
        ARC_OPTION,
        CELL,
        OPTION,
        ATOMIC,
        SECTIONS,
        ROBUST,
        SHARED,
        SYNC,
        POISON,
        POISONED,
        POISONED_ONCE,
    ];
    lists.into_iter().flatten()
}

/// What is said where a thread's own lock is in the way.
const LOCKED: &str = "locked";
/// What a `Once` says inside its closure.
const ONCE_ITSELF: &str = "would wait for itself forever";

type Map = HashMap<u32, Value>;

rows! { HASH_MAP of Map, Map::from_iter((0..20).map(|key| (key, Value::default())));
    "collect::HashMap::retain", Returns, |map, closure| map.retain(|_, _| {
        closure();
        true
    });
    "collect::HashMap::get_or_insert_with", Returns, |map, closure| {
        drop(map.remove(&1));
        let guard = rcu::read();
        map.get_or_insert_with(1, || made(closure), &guard);
    };
    "collect::HashMap::try_insert_with", Returns, |map, closure| {
        drop(map.remove(&1));
        map.try_insert_with(1, || made(closure), &rcu::read()).is_ok()
    };
    "collect::HashMap::get_by_hash", Returns, |map, closure| {
        map.get_by_hash(map.hasher().hash_one(1_u32), |_| yes(closure), &rcu::read()).is_some()
    };
    "collect::HashMap::get_or_insert_by_hash", Returns, |map, closure| {
        drop(map.remove(&1));
        let (hash, guard) = (map.hasher().hash_one(1_u32), rcu::read());
        map.get_or_insert_by_hash(hash, |key| *key == 1, || (1, made(closure)), &guard);
        map.get_or_insert_by_hash(hash, |_| yes(closure), || (1, made(closure)), &guard);
    };
    "collect::HashMap::remove_by_hash", Returns, |map, closure| {
        drop(map.insert(1, Value::default()));
        map.remove_by_hash(map.hasher().hash_one(1_u32), |_| yes(closure))
    };
    "collect::HashMap::update", Returns, |map, closure| map.update(1, |_| made(closure));
    "collect::HashMap::update_or_insert_with", Returns, |map, closure| {
        let guard = rcu::read();
        map.update_or_insert_with(1, |_| made(closure), Value::default, &guard);
        drop(map.remove(&1));
        map.update_or_insert_with(1, |_| Value::default(), || made(closure), &guard);
    };
    "collect::HashMap::update_or_insert", Returns, |map, closure| {
        map.update_or_insert(1, |_| made(closure), Value::default(), &rcu::read());
    };
    "collect::HashMap::compute", Returns, |map, closure| {
        let guard = rcu::read();
        map.compute(1, |_| Operation::<_, ()>::Insert(made(closure)), &guard);
        map.compute(1, |_| {
            closure();
            Operation::<Value, ()>::Remove
        }, &guard);
    };
    "collect::HashMap::remove_if", Returns, |map, closure| {
        map.insert(1, Value::default());
        map.remove_if(&1, |_, _| yes(closure))
    };
    "collect::Pinned::retain", Returns, |map, closure| map.pin().retain(|key, _| {
        closure();
        *key != 3
    });
    "collect::Pinned::get_or_insert_with", Returns, |map, closure| {
        drop(map.remove(&1));
        map.pin().get_or_insert_with(1, || made(closure));
    };
    "collect::Pinned::try_insert_with", Returns, |map, closure| {
        drop(map.remove(&1));
        map.pin().try_insert_with(1, || made(closure)).is_ok()
    };
    "collect::Pinned::get_by_hash", Returns, |map, closure| {
        map.pin().get_by_hash(map.hasher().hash_one(1_u32), |_| yes(closure)).is_some()
    };
    "collect::Pinned::get_or_insert_by_hash", Returns, |map, closure| {
        drop(map.remove(&1));
        map.pin().get_or_insert_by_hash(map.hasher().hash_one(1_u32), |key| *key == 1, || (1, made(closure)));
    };
    "collect::Pinned::remove_by_hash", Returns, |map, closure| {
        drop(map.insert(1, Value::default()));
        let pinned = map.pin();
        drop(pinned.remove_by_hash(map.hasher().hash_one(1_u32), |_| yes(closure)));
    };
    "collect::Pinned::update", Returns, |map, closure| {
        let pinned = map.pin();
        drop(pinned.update(1, |_| made(closure)));
    };
    "collect::Pinned::update_or_insert_with", Returns, |map, closure| {
        map.pin().update_or_insert_with(1, |_| made(closure), Value::default);
    };
    "collect::Pinned::update_or_insert", Returns, |map, closure| {
        map.pin().update_or_insert(1, |_| made(closure), Value::default());
    };
    "collect::Pinned::compute", Returns, |map, closure| {
        map.pin().compute(1, |_| Operation::<_, ()>::Insert(made(closure)));
    };
    "collect::Pinned::remove_if", Returns, |map, closure| {
        map.insert(1, Value::default());
        let pinned = map.pin();
        drop(pinned.remove_if(&1, |_, _| yes(closure)));
    };
}

rows! { HASH_SET of HashSet<u32>, HashSet::from_iter(0..20);
    "collect::HashSet::retain", Returns, |set, closure| set.retain(|_| yes(closure));
    "collect::HashSet::get_or_insert_with", Returns, |set, closure| {
        set.remove(&1);
        let make = |value: &u32| {
            closure();
            *value
        };
        *set.get_or_insert_with(&1, make, &rcu::read())
    };
}

rows! { LIST of List<Value>, List::from_iter((0..20).map(|_| Value::default()));
    "collect::Cursor::seek", Waits, |list, closure| list.lock().cursor_front().seek(|_| yes(closure));
    "collect::Locked::insert_sorted_by", Waits, |list, closure| list.lock().insert_sorted_by(Value::default(), |_, _| {
        closure();
        std::cmp::Ordering::Equal
    });
    "collect::Locked::retain", Waits, |list, closure| list.lock().retain(|_| yes(closure));
    "collect::List::find", Returns, |list, closure| list.find(|_| yes(closure), &rcu::read()).is_some();
}

rows! { ORDERED_MAP of OrderedMap<u32, Value>, OrderedMap::from_iter((0..200).map(|key| (key, Value::default())));
    "collect::OrderedMap::update", Returns, |map, closure| map.update(1, |_| made(closure));
    "collect::OrderedMap::get_or_insert_with", Returns, |map, closure| {
        drop(map.remove(&1));
        map.get_or_insert_with(1, || made(closure), &rcu::read());
    };
    "collect::OrderedMap::checked_update", Returns, |map, closure| map.checked_update(1, |_| made(closure));
    "collect::OrderedMap::checked_retain", Returns, |map, closure| map.checked_retain(|_, _| yes(closure)).unwrap();
    "collect::OrderedMap::retain", Returns, |map, closure| map.retain(|_, _| yes(closure));
    "collect::OrderedMap::remove_if", Returns, |map, closure| {
        drop(map.insert(1, Value::default()));
        map.remove_if(&1, |_, _| yes(closure))
    };
}

rows! { SHARD_MAP of ShardMap<u32, Value, RandomState>, ShardMap::from_iter((0..20).map(|key| (key, Value::default())));
    "collect::Entry::and_modify", Panics(LOCKED), |map, closure| {
        map.entry(1).and_modify(|_| closure()).or_insert_with(Value::default);
    };
    "collect::Entry::or_insert_with", Panics(LOCKED), |map, closure| {
        drop(map.remove(&1));
        map.entry(1).or_insert_with(|| made(closure));
    };
    "collect::Entry::or_try_insert_with", Panics(LOCKED), |map, closure| {
        drop(map.remove(&1));
        drop(map.entry(1).or_try_insert_with(|| Ok::<_, ()>(made(closure))));
    };
    "collect::Ref::map", Returns, |map, closure| map.get(&1).unwrap().map(|value| part(value, closure));
    "collect::Ref::try_map", Returns, |map, closure| {
        map.get(&1).unwrap().try_map(|value| Some(part(value, closure))).is_ok()
    };
    "collect::RefMut::map", Panics(LOCKED), |map, closure| map.get_mut(&1).unwrap().map(|value| part(value, closure));
    "collect::RefMut::try_map", Panics(LOCKED), |map, closure| {
        map.get_mut(&1).unwrap().try_map(|value| Some(part(value, closure))).is_ok()
    };
    "collect::MappedRef::map", Returns, |map, closure| {
        let all: MappedRef<_, _, _> = map.get(&1).unwrap().map(|value| value);
        all.map(|value| part(value, closure))
    };
    "collect::MappedRef::try_map", Returns, |map, closure| {
        map.get(&1).unwrap().map(|value| value).try_map(|value| Some(part(value, closure))).is_ok()
    };
    "collect::MappedRefMut::map", Panics(LOCKED), |map, closure| {
        let all: MappedRefMut<_, _, _> = map.get_mut(&1).unwrap().map(|value| value);
        all.map(|value| part(value, closure))
    };
    "collect::MappedRefMut::try_map", Panics(LOCKED), |map, closure| {
        map.get_mut(&1).unwrap().map(|value| value).try_map(|value| Some(part(value, closure))).is_ok()
    };
    "collect::ShardMap::get_by_hash", Returns, |map, closure| {
        map.get_by_hash(map.hasher().hash_one(1_u32), |_| yes(closure)).is_some()
    };
    "collect::ShardMap::get_mut_by_hash", Panics(LOCKED), |map, closure| {
        map.get_mut_by_hash(map.hasher().hash_one(1_u32), |_| yes(closure)).is_some()
    };
    "collect::ShardMap::get_or_insert_by_hash", Panics(LOCKED), |map, closure| {
        drop(map.remove(&1));
        let hash = map.hasher().hash_one(1_u32);
        drop(map.get_or_insert_by_hash(hash, |key| *key == 1, || (1, made(closure))));
        drop(map.get_or_insert_by_hash(hash, |_| yes(closure), || (1, made(closure))));
    };
    "collect::ShardMap::remove_by_hash", Panics(LOCKED), |map, closure| {
        map.insert(1, Value::default());
        map.remove_by_hash(map.hasher().hash_one(1_u32), |_| yes(closure))
    };
    "collect::ReadOnlyView::get_by_hash", Returns, |map, closure| {
        let view = map.clone().into_read_only();
        view.get_by_hash(view.hasher().hash_one(1_u32), |_| yes(closure)).is_some()
    };
    "collect::ShardMap::view", Returns, |map, closure| map.view(&1, |_, _| closure());
    "collect::ShardMap::remove_if", Panics(LOCKED), |map, closure| {
        map.insert(1, Value::default());
        map.remove_if(&1, |_, _| yes(closure))
    };
    "collect::ShardMap::remove_if_mut", Panics(LOCKED), |map, closure| {
        map.insert(1, Value::default());
        map.remove_if_mut(&1, |_, _| yes(closure))
    };
    "collect::ShardMap::alter", Panics(LOCKED), |map, closure| {
        map.insert(1, Value::default());
        map.alter(&1, |_, value| {
            closure();
            value
        });
    };
    "collect::ShardMap::retain", Panics(LOCKED), |map, closure| map.retain(|_, _| yes(closure));
    "collect::ShardMap::alter_all", Panics(LOCKED), |map, closure| map.alter_all(|_, value| {
        closure();
        value
    });
}

rows! { SHARD_SET of ShardSet<u32, RandomState>, ShardSet::from_iter(0..20);
    "collect::ShardSet::remove_if", Panics(LOCKED), |set, closure| {
        set.insert(1);
        set.remove_if(&1, |_| yes(closure))
    };
    "collect::ShardSet::retain", Panics(LOCKED), |set, closure| set.retain(|_| yes(closure));
}

rows! { HAZARD of hazard::Cell<Value>, hazard::Cell::new(Value::default());
    "hazard::Cell::update", Returns, |cell, closure| {
        cell.update(&mut HazardPointer::new(), |_| Some(made(closure))).map(hazard::Retired::retire)
    };
}

rows! { PI of pi::Mutex<Value>, pi::Mutex::new(Value::default());
    "pi::MutexGuard::map", Panics(LOCKED), |mutex, closure| {
        drop(pi::MutexGuard::map(locked(mutex), |value| part(value, closure)));
    };
    "pi::MutexGuard::try_map", Panics(LOCKED), |mutex, closure| {
        drop(pi::MutexGuard::try_map(locked(mutex), |value| Some(part(value, closure))));
    };
    "pi::MappedMutexGuard::map", Panics(LOCKED), |mutex, closure| {
        let all = pi::MutexGuard::map(locked(mutex), |value| value);
        drop(pi::MappedMutexGuard::map(all, |value| part(value, closure)));
    };
}

/// Takes the lock, which says of itself that its thread has it.
fn locked(mutex: &pi::Mutex<Value>) -> pi::MutexGuard<'_, Value> {
    mutex.lock().unwrap_or_else(|error| panic!("it is locked: {error}"))
}

/// Runs a closure at first use of one, and then another if that panics, as its user may.
fn once(object: &RefCell<Arc<Once>>, closure: &dyn Fn(), call: fn(&Once, &dyn Fn())) {
    let once = object.borrow().clone();
    let end = catch_unwind(AssertUnwindSafe(|| call(&once, closure)));
    if end.is_err() {
        once.call_once(|| ());
    }
    assert!(once.is_completed());
    *object.borrow_mut() = Arc::new(Once::new());
    end.unwrap_or_else(|panic| resume_unwind(panic));
}

rows! { ONCE of RefCell<Arc<Once>>, RefCell::new(Arc::new(Once::new()));
    "raw::Once::call_once", Panics(ONCE_ITSELF), |object, closure| {
        once(object, closure, |once, closure| once.call_once(closure));
    };
    "raw::Once::call_once_force", Panics(ONCE_ITSELF), |object, closure| {
        once(object, closure, |once, closure| once.call_once_force(|_| closure()));
    };
    "sync::OnceLock::get_or_init", Returns, |_, closure| {
        let value = OnceLock::new();
        let end = catch_unwind(AssertUnwindSafe(|| _ = value.get_or_init(|| made(closure))));
        value.get_or_init(Value::default);
        end.unwrap_or_else(|panic| resume_unwind(panic));
    };
}

rows! { ARC_CELL of ArcCell<Value>, ArcCell::from_pointee(Value::default());
    "rcu::ArcCell::rcu", Returns, |cell, closure| cell.rcu(|_| made(closure).into());
}

rows! { ARC_OPTION of ArcOption<Value>, ArcOption::some(Value::default().into());
    "rcu::ArcOption::rcu", Returns, |cell, closure| cell.rcu(|_| Some(made(closure).into()));
}

rows! { CELL of RcuCell<Value>, RcuCell::new(Value::default());
    "rcu::RcuCell::read", Returns, |cell, closure| cell.read(|_| closure());
    "rcu::RcuCell::update", Returns, |cell, closure| cell.update(|_| made(closure)).defer();
    "rcu::RcuCell::try_update", Returns, |cell, closure| {
        cell.try_update(|_| Ok::<_, ()>(made(closure))).map(rcu::Retired::defer)
    };
    "rcu::RcuCell::update_box", Returns, |cell, closure| cell.update_box(|_| made(closure).into()).defer();
    "rcu::RcuCell::try_update_box", Returns, |cell, closure| {
        cell.try_update_box(|_| Ok::<_, ()>(made(closure).into())).map(rcu::Retired::defer)
    };
    "rcu::Ref::map", Returns, |cell, closure| {
        drop(Ref::map(cell.get(), |value| part(value, closure)));
    };
    "rcu::Ref::filter_map", Returns, |cell, closure| {
        drop(Ref::filter_map(cell.get(), |value| Some(part(value, closure))));
    };
}

rows! { OPTION of RcuOption<Value>, RcuOption::some(Value::default());
    "rcu::RcuOption::read", Returns, |cell, closure| cell.read(|_| closure());
    "rcu::RcuOption::update", Returns, |cell, closure| cell.update(|_| made(closure)).map(rcu::Retired::defer);
    "rcu::RcuOption::try_update", Returns, |cell, closure| {
        let old = cell.try_update(|_| Ok::<_, ()>(Some(made(closure)))).unwrap();
        old.map(rcu::Retired::defer)
    };
    "rcu::RcuOption::update_box", Returns, |cell, closure| {
        cell.update_box(|_| made(closure).into()).map(rcu::Retired::defer)
    };
    "rcu::RcuOption::try_update_box", Returns, |cell, closure| {
        let old = cell.try_update_box(|_| Ok::<_, ()>(Some(made(closure).into()))).unwrap();
        old.map(rcu::Retired::defer)
    };
}

rows! { ATOMIC of Atomic<u32>, Atomic::null();
    "rcu::Atomic::fetch_update", Returns, |atomic, closure| {
        atomic.fetch_update(AcqRel, Acquire, &epoch::pin(), |old| {
            closure();
            Some(old)
        }).is_ok()
    };
}

/// Objects of sections: a collector, and a reader that announces its quiet states.
type Sections = (Collector, Cell<Option<qsbr::Reader<Global>>>);

rows! { SECTIONS of Sections, (Collector::new(), Cell::new(Some(qsbr::Reader::register())));
    "rcu::Guard::repin_after", Returns, |_, closure| epoch::pin().repin_after(closure);
    "rcu::CollectorGuard::repin_after", Returns, |(collector, _), closure| collector.enter().repin_after(closure);
    "rcu::Reader::offline", Waits, |(_, reader), closure| {
        let mut registered = reader.take().unwrap();
        let end = catch_unwind(AssertUnwindSafe(|| registered.offline(closure)));
        reader.set(Some(registered));
        end.unwrap_or_else(|panic| resume_unwind(panic));
    };
}

/// Locks that tell of their owner's death.
struct Robust {
    mutex: robust::Mutex<u64>,
    lock: robust::RwLock<u64>,
}

fn robust() -> &'static Robust {
    Box::leak(Box::new(Robust { mutex: robust::Mutex::new(1), lock: robust::RwLock::new(1) }))
}

rows! { ROBUST of &'static Robust, robust();
    "robust::Guard::with", Waits, |locks, closure| locks.mutex.lock().unwrap().with(|_| closure());
    "robust::ReadGuard::with", Returns, |locks, closure| locks.lock.read().unwrap().with(|_| closure());
    "robust::WriteGuard::with", Waits, |locks, closure| locks.lock.write().unwrap().with(|_| closure());
    "robust::LockError::repair", Returns, |_, closure| {
        let locks = robust();
        thread::spawn(|| std::mem::forget(locks.mutex.lock())).join().unwrap();
        drop(locks.mutex.lock().unwrap_err().repair(|_| closure()).unwrap());
        assert_eq!(locks.mutex.lock().unwrap().get(), 1);
    };
    "robust::RwLockError::repair", Returns, |_, closure| {
        let locks = robust();
        thread::spawn(|| std::mem::forget(locks.lock.write())).join().unwrap();
        drop(locks.lock.write().unwrap_err().repair(|_| closure()).unwrap());
        assert_eq!(locks.lock.read().unwrap().get(), 1);
    };
}

/// Locks that processes share.
type Shared = (shared::Mutex<u64>, shared::RwLock<u64>, shared::Condvar);

rows! { SHARED of Shared, (shared::Mutex::new(1), shared::RwLock::new(1), shared::Condvar::new());
    "shared::Condvar::wait_while", Waits, |(mutex, _, condvar), closure| {
        condvar.wait_while(&mut mutex.lock(), |_| !yes(closure));
    };
    "shared::$guard::map", Waits, |(mutex, lock, _), closure| {
        drop(shared::MutexGuard::map(mutex.lock(), |number| part(number, closure)));
        drop(shared::RwLockReadGuard::map(lock.read(), |number| part(number, closure)));
        drop(shared::RwLockWriteGuard::map(lock.write(), |number| part(number, closure)));
    };
    "shared::$mapped::map", Waits, |(mutex, lock, _), closure| {
        let all = shared::MutexGuard::map(mutex.lock(), |number| number);
        drop(shared::MappedMutexGuard::map(all, |number| part(number, closure)));
        let all = shared::RwLockReadGuard::map(lock.read(), |number| number);
        drop(shared::MappedRwLockReadGuard::map(all, |number| part(number, closure)));
        let all = shared::RwLockWriteGuard::map(lock.write(), |number| number);
        drop(shared::MappedRwLockWriteGuard::map(all, |number| part(number, closure)));
    };
    "shared::Region::create", Returns, |_, closure| Region::<u64>::create(1, |_| closure()).unwrap();
    "shared::Region::open", Waits, |_, closure| {
        let path = format!("/dev/shm/leeward-closures-{}", std::process::id());
        let name = std::ffi::CString::new(path.clone()).unwrap();
        // SAFETY: this process alone opens it.
        let open = |make: &dyn Fn()| unsafe { Region::<u64>::open(&name, 1, |_| make()) }.map(drop);
        let end = catch_unwind(AssertUnwindSafe(|| open(closure).unwrap()));
        open(&|| ()).unwrap();
        std::fs::remove_file(path).unwrap();
        end.unwrap_or_else(|panic| resume_unwind(panic));
    };
}

rows! { SYNC of (Mutex<u64>, Condvar), (Mutex::new(1), Condvar::new());
    "sync::Condvar::wait_while", Waits, |(mutex, condvar), closure| {
        condvar.wait_while(&mut mutex.lock(), |_| !yes(closure));
    };
    "sync::Condvar::wait_while_for", Waits, |(mutex, condvar), closure| {
        condvar.wait_while_for(&mut mutex.lock(), |_| !yes(closure), Duration::from_secs(1));
    };
    "sync::Condvar::wait_while_until", Waits, |(mutex, condvar), closure| {
        condvar.wait_while_until(&mut mutex.lock(), |_| !yes(closure), Instant::now());
    };
}

/// Locks that a closure's panic poisons, with std's interface.
type Poisoned = (poison::Mutex<u64>, poison::Condvar);

/// Calls `wait` with the guard, and clears the poison: the next call finds the lock as it was.
fn poisons((mutex, condvar): &Poisoned, wait: impl FnOnce(poison::MutexGuard<'_, u64>, &poison::Condvar)) {
    let end = catch_unwind(AssertUnwindSafe(|| wait(mutex.lock().unwrap(), condvar)));
    assert_eq!(mutex.is_poisoned(), end.is_err());
    mutex.clear_poison();
    end.unwrap_or_else(|panic| resume_unwind(panic));
}

rows! { POISONED of Poisoned, (poison::Mutex::new(1), poison::Condvar::new());
    "sync::Condvar::wait_while", Waits, |locks, closure| {
        poisons(locks, |guard, condvar| _ = condvar.wait_while(guard, |_| !yes(closure)).unwrap());
    };
    "sync::Condvar::wait_timeout_while", Waits, |locks, closure| {
        let limit = Duration::from_secs(1);
        poisons(locks, |guard, condvar| _ = condvar.wait_timeout_while(guard, limit, |_| !yes(closure)).unwrap());
    };
}

rows! { POISONED_ONCE of (), ();
    "sync::Once::call_once", Returns, |(), closure| {
        let once = poison::Once::new();
        let end = catch_unwind(AssertUnwindSafe(|| once.call_once(closure)));
        assert_eq!(once.is_completed(), end.is_ok());
        end.unwrap_or_else(|panic| resume_unwind(panic));
    };
    "sync::Once::call_once_force", Returns, |(), closure| {
        let once = poison::Once::new();
        let end = catch_unwind(AssertUnwindSafe(|| once.call_once_force(|_| closure())));
        once.call_once_force(|before| assert!(before.is_poisoned()));
        end.unwrap_or_else(|panic| resume_unwind(panic));
    };
}

rows! { POISON of Mutex<Poison<Value>>, Mutex::new(Poison::new(Value::default()));
    "sync::Poison::access", Waits, |value, closure| {
        let end = catch_unwind(AssertUnwindSafe(|| value.lock().access(|_| closure()).unwrap()));
        let mut value = value.lock();
        assert_eq!(value.is_poisoned(), end.is_err());
        value.clear();
        end.unwrap_or_else(|panic| resume_unwind(panic));
    };
}

fn made(closure: &dyn Fn()) -> Value {
    let value = Value::default();
    closure();
    value
}

fn yes(closure: &dyn Fn()) -> bool {
    closure();
    true
}

fn part<T>(value: T, closure: &dyn Fn()) -> T {
    closure();
    value
}
