//! A panic for what a program did wrong names the program's line, not one of the library's.

#[path = "../common/mod.rs"]
mod common;

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use leeward::collect::{Bounded, HashMap, HashSet, List, ShardMap};
use leeward::rcu::{self, Domain, epoch};
use leeward::sync::{Barrier, Condvar, Latch, LazyLock, Mutex, Once, OnceLock, Semaphore, poison};
use leeward::task;

thread_local! {
    /// The file and the words of the thread's last panic.
    static LAST: RefCell<(String, String)> = const { RefCell::new((String::new(), String::new())) };
}

/// What does not do as it should.
static WRONG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Calls what panics; the panic names this file and says whose it is.
fn names_this_file(what: &str, work: impl FnOnce()) {
    let panics = catch_unwind(AssertUnwindSafe(work)).is_err();
    let (file, words) = LAST.take();
    if !panics || file != file!() || !words.starts_with("leeward: ") {
        WRONG.lock().push(format!("{what}: {file}: {words}"));
    }
}

#[test]
fn panics_name_the_line_of_the_program() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let words = payload.downcast_ref::<&str>().map(|words| (*words).to_owned());
        let words = words.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        LAST.set((info.location().unwrap().file().to_owned(), words));
    }));

    names_this_file("Semaphore::new", || _ = Semaphore::new(u32::MAX));
    names_this_file("Semaphore::release", || Semaphore::new(1).release(u32::MAX));
    names_this_file("Latch::new", || _ = Latch::new(u32::MAX));
    names_this_file("Latch::count_down", || Latch::new(1).count_down(2));
    names_this_file("Barrier::new", || _ = Barrier::new(usize::MAX));
    names_this_file("task::Semaphore::new", || _ = task::Semaphore::new(usize::MAX));
    names_this_file("task::Semaphore::add_permits", || task::Semaphore::new(1).add_permits(usize::MAX));
    names_this_file("task::OwnedSemaphorePermit::merge", || {
        let one = || Arc::new(task::Semaphore::new(1)).try_acquire_owned().unwrap();
        one().merge(one());
    });

    let once = Once::new();
    names_this_file("Once::call_once", || once.call_once(|| once.call_once(|| ())));
    let once = poison::Once::new();
    names_this_file("poison::Once::call_once, in itself", || once.call_once(|| once.call_once(|| ())));
    names_this_file("poison::Once::call_once", || once.call_once(|| ()));
    names_this_file("poison::Once::wait", || once.wait());
    let lock = OnceLock::new();
    names_this_file("OnceLock::get_or_init", || _ = lock.get_or_init(|| *lock.get_or_init(|| 1)));
    let lazy = LazyLock::new(|| -> u32 { panic!("leeward: not ours") });
    names_this_file("LazyLock, at first", || _ = *lazy);

    names_this_file("rcu::synchronize", || {
        let _guard = rcu::read();
        rcu::synchronize();
    });
    names_this_file("rcu::barrier", || {
        let _guard = rcu::read();
        rcu::barrier();
    });
    names_this_file("Global::synchronize", || {
        let _guard = rcu::read();
        rcu::Global::synchronize();
    });
    names_this_file("Collector::synchronize", || {
        let collector = epoch::Collector::new();
        let handle = collector.register();
        let _guard = handle.pin();
        collector.synchronize();
    });
    names_this_file("synchronize_async, awaited", || {
        let _guard = rcu::read();
        let mut waits = std::pin::pin!(async { rcu::Global::synchronize_async().await });
        _ = waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    });
    names_this_file("synchronize_async, polled", || {
        let _guard = rcu::read();
        let mut period = std::pin::pin!(rcu::Global::synchronize_async());
        _ = period.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    });
    names_this_file("epoch::Shared::from", || {
        _ = epoch::Shared::<u64>::from(std::ptr::without_provenance::<u64>(12));
    });

    names_this_file("Bounded::with_capacity", || drop(Bounded::<u32>::with_capacity(0)));
    names_this_file("Bounded::try_with_capacity", || drop(Bounded::<u32>::try_with_capacity(0)));
    let map = HashMap::from([(1, 1)]);
    names_this_file("HashMap::reserve", || map.reserve(usize::MAX));
    names_this_file("HashSet::reserve", || HashSet::<u32>::new().reserve(usize::MAX));
    names_this_file("HashMap::update", || {
        drop(map.update(1, |value| {
            drop(map.insert(1, 2));
            *value
        }));
    });
    names_this_file("HashMap::remove_if", || {
        drop(map.remove_if(&1, |_, _| {
            drop(map.insert(1, 2));
            true
        }));
    });
    let list = List::from([1]);
    names_this_file("List::lock", || {
        let _locked = list.lock();
        list.push_back(2);
    });

    let map = ShardMap::from([(1, 1)]);
    names_this_file("ShardMap::with_shard_amount", || _ = ShardMap::<u32, u32>::with_shard_amount(3));
    let read = map.get(&1).unwrap();
    names_this_file("ShardMap::insert", || _ = map.insert(1, 2));
    names_this_file("ShardMap::remove", || _ = map.remove(&1));
    names_this_file("ShardMap::get_mut", || drop(map.get_mut(&1)));
    names_this_file("ShardMap::entry", || drop(map.entry(1)));
    let hash = map.hasher().hash_one(1);
    names_this_file("ShardMap::get_mut_by_hash", || drop(map.get_mut_by_hash(hash, |key| *key == 1)));
    names_this_file("ShardMap::get_or_insert_by_hash", || {
        drop(map.get_or_insert_by_hash(hash, |key| *key == 1, || (1, 2)));
    });
    names_this_file("ShardMap::entry_by_hash", || drop(map.entry_by_hash(hash, 1)));
    names_this_file("ShardMap::remove_by_hash", || _ = map.remove_by_hash(hash, |key| *key == 1));
    names_this_file("Shard::iter_mut", || for _ in map.shards()[map.determine_shard(hash)].iter_mut() {});
    names_this_file("ShardMap::alter", || map.alter(&1, |_, value| value));
    names_this_file("ShardMap::retain", || map.retain(|_, _| true));
    names_this_file("ShardMap::clear", || map.clear());
    names_this_file("ShardMap::iter_mut", || for _ in map.iter_mut() {});
    drop(read);
    let written = map.get_mut(&1).unwrap();
    names_this_file("ShardMap::get", || drop(map.get(&1)));
    names_this_file("ShardMap::get_by_hash", || drop(map.get_by_hash(hash, |key| *key == 1)));
    names_this_file("Shard::len", || _ = map.shards()[map.determine_shard(hash)].len());
    names_this_file("ShardMap::contains_key", || _ = map.contains_key(&1));
    names_this_file("ShardMap::view", || _ = map.view(&1, |_, _| ()));
    names_this_file("ShardMap::iter", || for _ in map.iter() {});
    drop(written);

    // Beside one that waits with another mutex. The stages are: not there yet, waits, is over.
    let (condition, one, two) = (Condvar::new(), Mutex::new(0), Mutex::new(()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stage = one.lock();
            *stage = 1;
            condition.wait_while(&mut stage, |stage| *stage != 2);
        });
        common::eventually("the other waits", || *one.lock() == 1);
        names_this_file("Condvar::wait", || condition.wait(&mut two.lock()));
        names_this_file("Condvar::wait_while", || condition.wait_while(&mut two.lock(), |()| true));
        names_this_file("Condvar::wait_for", || _ = condition.wait_for(&mut two.lock(), Duration::from_secs(1)));
        *one.lock() = 2;
        condition.notify_all();
    });
    drop(std::panic::take_hook());
    let wrong = WRONG.lock();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
