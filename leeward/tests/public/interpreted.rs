//! Each lock, and each way into RCU and out of it, with so few turns that an interpreter (miri,
//! `ci/miri`) runs them in seconds: it sees what is read before it was written, raced for, freed
//! too early, or aliased. Nothing here asks for a system: it runs wherever there are threads.
//!
//! Under miri the library makes no call of Linux's own that an interpreter does not have;
//! `ci/miri` interprets it for another system as well.

#![allow(missing_docs)]

#[path = "interpreted/queues.rs"]
mod queues;
#[path = "interpreted/shard_map.rs"]
mod shard_map;
#[macro_use]
#[path = "../common/small_locks.rs"]
mod small_locks;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use leeward::raw::{self, Barrier, Latch, Once, Semaphore};
use leeward::rcu::{RcuCell, RcuOption};
use leeward::sync::{LazyLock, LightMutex, Mutex, MutexGuard, OnceLock, Poison, RwLock, RwLockWriteGuard, poison};
use small_locks::SmallLock;

/// How many turns each of two threads takes.
const TURNS: u64 = 12;

fn twice(work: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        scope.spawn(|| (0..TURNS).for_each(&work));
        (0..TURNS).for_each(&work);
    });
}

#[test]
fn mutexes() {
    fn count<R: lock_api::RawMutex + Sync>(unlock: fn(lock_api::MutexGuard<'_, R, Vec<u64>>)) {
        let list = lock_api::Mutex::<R, _>::new(Vec::new());
        twice(|turn| {
            let mut guard = list.lock();
            guard.push(turn);
            unlock(guard);
            let _ = list.try_lock().map(|guard| assert!(guard.len() > turn as usize));
        });
        assert_eq!(list.into_inner().len() as u64, 2 * TURNS);
    }
    count::<raw::Mutex>(|guard| drop(guard));
    count::<raw::Mutex>(|guard| MutexGuard::unlock_fair(guard));
    count::<raw::LightMutex>(|guard| drop(guard));
    let (mutex, light) = (Mutex::new(1), LightMutex::new(1));
    let (_held, _light) = (mutex.lock(), light.lock());
    assert!(mutex.try_lock_for(Duration::from_millis(1)).is_none());
    assert!(light.try_lock_for(Duration::from_millis(1)).is_none());
}

#[test]
fn rwlocks() {
    let both = RwLock::new((Box::new(0), Box::new(0)));
    twice(|turn| {
        if turn % 3 == 0 {
            let mut writer = both.write();
            *writer.0 += 1;
            *writer.1 += 1;
            let reader = RwLockWriteGuard::downgrade(writer);
            assert_eq!(reader.0, reader.1);
        }
        let reader = both.read();
        assert_eq!(reader.0, reader.1);
        assert!(both.try_write().is_none());
    });
    assert_eq!(*both.into_inner().0, 2 * TURNS.div_ceil(3));
}

/// A thread panics with both locks of `sync::poison`, beside one that takes them.
#[test]
fn locks_that_a_panic_poisons() {
    let (mutex, lock) = (poison::Mutex::new(Box::new(0)), poison::RwLock::new(Box::new(0)));
    let add = || {
        let (mut first, mut second) = (mutex.lock().unwrap(), lock.write().unwrap());
        **first += 1;
        **second += 1;
        (first, second)
    };
    thread::scope(|scope| {
        let panics = scope.spawn(|| {
            let _guards = add();
            panic!("with both");
        });
        let _ = lock.read().map(|value| assert!(**value < 2));
        assert!(panics.join().is_err());
    });
    let poisoned = (mutex.lock().unwrap_err().into_inner(), lock.read().unwrap_err().into_inner());
    assert_eq!((**poisoned.0, **poisoned.1), (1, 1));
    drop(poisoned);
    mutex.clear_poison();
    lock.clear_poison();
    drop(add());
    assert_eq!((*mutex.into_inner().unwrap(), *lock.into_inner().unwrap()), (2, 2));
}

#[test]
fn conditions() {
    // A condition variable that moves no waiter: one that moves asks Linux which process this is.
    let (queue, came) = (Mutex::new(Vec::new()), leeward::sync::Condvar::<raw::Plain>::with_scheme());
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0..TURNS {
                queue.lock().push(Box::new(turn));
                came.notify_one();
            }
        });
        let mut received = 0;
        while received < TURNS {
            let mut queue = queue.lock();
            came.wait_while(&mut queue, |queue| queue.is_empty());
            received += queue.drain(..).count() as u64;
        }
    });
}

#[test]
fn small_ones() {
    let (permits, inside) = (Semaphore::<leeward::futex::Private>::new(1), AtomicU32::new(0));
    let (barrier, latch) = (Barrier::<leeward::futex::Private>::new(2), Latch::<leeward::futex::Private>::new(2));
    let (once, cell) = (Once::<leeward::futex::Private>::new(), OnceLock::new());
    thread::scope(|scope| {
        let work = || {
            for _ in 0..3 {
                let permit = permits.permit();
                assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                inside.fetch_sub(1, Ordering::Relaxed);
                drop(permit);
                barrier.wait();
            }
            once.call_once(|| assert_eq!(inside.swap(7, Ordering::Relaxed), 0));
            assert_eq!(inside.load(Ordering::Relaxed), 7);
            assert_eq!(**cell.get_or_init(|| Box::new(5)), 5);
            latch.arrive_and_wait();
        };
        scope.spawn(work);
        work();
    });
    assert!(latch.is_open() && permits.permits() == 1);
    static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1, 2, 3]);
    assert_eq!(LAZY.len(), 3);
    let mut own = cell;
    assert_eq!(own.take(), Some(Box::new(5)));
    let mut poison = Poison::new(vec![1]);
    assert_eq!(poison.access(|values| values.pop()), Ok(Some(1)));
}

fn hands_over<L: SmallLock>() {
    for _ in 0..3 {
        let (lock, value) = (L::NEW, AtomicU32::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                value.store(1, Ordering::Relaxed);
                lock.let_go();
            });
            lock.wait();
            assert_eq!(value.load(Ordering::Relaxed), 1);
        });
    }
}

macro_rules! small {
    ($($name:ident: $lock:ident $row:tt)*) => {
        #[test]
        fn each_small_lock_hands_over() {
            $(hands_over::<raw::$lock>();)*
        }
    };
}
for_each_small_lock! { small }

/// Values of every alignment go in and out of cells that no reader has.
#[test]
fn cells_of_values_without_a_size() {
    fn holds<T: ?Sized>(value: Box<T>, look: impl Fn(&T) -> u64) {
        let expected = look(&value);
        let mut cell = RcuCell::<T>::from(value);
        assert_eq!(look(cell.get_mut()), expected);
        let mut option = RcuOption::<T>::from(cell.into_inner());
        assert_eq!(option.get_mut().map(|value| look(value)), Some(expected));
    }
    #[repr(align(64))]
    struct Aligned<T>(T);
    holds::<str>("text".into(), |text| text.len() as u64);
    holds::<[u64]>(Box::new([]), |slice| slice.len() as u64);
    holds::<[u128]>(Box::new([1, 2, 3]), |slice| slice.iter().sum::<u128>() as u64);
    holds::<[Aligned<Box<u64>>]>(Box::new([Aligned(Box::new(7))]), |slice| *slice[0].0);
    let text = String::from("captured");
    holds::<dyn Fn() -> u64>(Box::new(move || text.len() as u64), |call| call());
    let aligned = Aligned(vec![1, 2]);
    let all_of = |aligned: &Aligned<Vec<u64>>| aligned.0.len() as u64;
    holds::<dyn Fn() -> u64>(Box::new(move || all_of(&aligned)), |call| call());
    holds::<dyn Fn() -> u64>(Box::new(|| 7), |call| call());
}

/// What asks which thread calls, and RCU with its worker.
mod where_threads_are_known {
    use super::*;

    use std::sync::Arc;

    use leeward::asym;
    use leeward::hazard::{self, Cell, HazardPointer};
    use leeward::rcu::{Domain, Reader, qsbr};

    #[test]
    fn conditions_that_move_who_waits() {
        let (turn, changed) = (Mutex::new(0), leeward::sync::Condvar::new());
        thread::scope(|scope| {
            for mine in [0, 1] {
                let (turn, changed) = (&turn, &changed);
                scope.spawn(move || {
                    for round in 0..TURNS {
                        let mut now = turn.lock();
                        changed.wait_while(&mut now, |now| *now != 2 * round + mine);
                        *now += 1;
                        changed.notify_all();
                    }
                });
            }
        });
        assert_eq!(turn.into_inner(), 2 * TURNS);
    }

    #[test]
    fn asymmetric_locks() {
        let (table, journal) = (asym::RwLock::new(vec![Box::new(0)]), asym::Mutex::new(Vec::new()));
        twice(|turn| {
            journal.lock().push(Box::new(turn));
            if turn % 4 == 0 {
                table.write().push(Box::new(turn));
            }
            let (one, two) = (table.read(), table.read());
            assert!(one.len() == two.len() && *one[0] == 0);
            drop(one);
            assert!(table.try_write().is_none());
        });
        assert_eq!(journal.into_inner().len() as u64, 2 * TURNS);
        thread::scope(|scope| scope.spawn(|| std::mem::forget(table.read())).join().unwrap());
        assert!(table.try_write().is_none(), "a leaked guard keeps it");
    }

    /// Counts itself while it exists.
    struct Counted(Arc<AtomicU32>);

    impl Counted {
        fn new(there: &Arc<AtomicU32>) -> Counted {
            there.fetch_add(1, Ordering::Relaxed);
            Counted(Arc::clone(there))
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn readers_of_every_kind_and_a_writer() {
        leeward::rcu_domain! { struct Own; }
        let there = Arc::new(AtomicU32::new(0));
        let cell = RcuCell::<Counted, Own>::new_in(Counted::new(&there));
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..TURNS {
                    let (outer, inner) = (Own::read(), Own::read());
                    let value = cell.load(&outer);
                    assert!(cell.load(&inner).0.load(Ordering::Relaxed) > 0);
                    drop(inner);
                    assert!(value.0.load(Ordering::Relaxed) > 0);
                }
            });
            scope.spawn(|| {
                let reader = Reader::<Own>::register_in();
                for _ in 0..TURNS {
                    assert!(cell.load(&reader.read()).0.load(Ordering::Relaxed) > 0);
                }
            });
            scope.spawn(|| {
                let mut online = qsbr::Reader::<Own>::register_in();
                for _ in 0..TURNS {
                    assert!(cell.load(&online).0.load(Ordering::Relaxed) > 0);
                    online.quiescent();
                }
            });
            for turn in 0..TURNS {
                let retired = cell.replace(Counted::new(&there));
                match turn % 3 {
                    0 => drop(retired.synchronize()),
                    1 => retired.defer(),
                    _ => drop(retired),
                }
            }
        });
        Own::barrier();
        assert_eq!(there.load(Ordering::Relaxed), 1, "what was replaced is there still, or the last one is not");
        drop(cell);
        Own::barrier();
        assert_eq!(there.load(Ordering::Relaxed), 0);
    }

    /// A table grows and shrinks beside a reader, is replaced, and freed by the domain's worker; entries
    /// come, are replaced and go.
    #[test]
    fn hash_maps() {
        use leeward::collect::HashMap;
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        leeward::rcu_domain! { struct Own; }
        type Map = HashMap<u64, Counted, BuildHasherDefault<DefaultHasher>, Own>;
        let there = Arc::new(AtomicU32::new(0));
        let mut map = Map::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2 {
                    (0..TURNS).for_each(|key| {
                        let pinned = map.pin();
                        assert!(pinned.get(&key).is_none_or(|found| found.0.load(Ordering::Relaxed) > 0));
                        thread::yield_now();
                    });
                    assert!(map.pin().values().all(|value| value.0.load(Ordering::Relaxed) > 0));
                }
            });
            for key in 0..3 * TURNS {
                drop(map.insert(key, Counted::new(&there)));
                drop(map.update(key / 2, |_| Counted::new(&there)));
            }
            map.pin().update_or_insert_with(0, |_| Counted::new(&there), || unreachable!());
            let hash = map.hasher().hash_one(3 * TURNS);
            for _ in 0..2 {
                map.pin().get_or_insert_by_hash(hash, |_| true, || (3 * TURNS, Counted::new(&there)));
            }
            assert!(map.pin().get_by_hash(hash, |_| true).is_some());
            assert!(map.remove_by_hash(hash, |key| *key == 3 * TURNS).is_some());
            for key in TURNS..3 * TURNS {
                assert!(map.remove(&key).is_some_and(|old| old.0.load(Ordering::Relaxed) > 0));
            }
            assert!(map.try_reserve(200).is_ok());
        });
        assert_eq!((map.len() as u64, map.iter_mut().count() as u64), (TURNS, TURNS));
        // Shrinks.
        (100..180).for_each(|key| {
            drop(map.insert(key, Counted::new(&there)));
            drop(map.remove(&key));
        });
        drop(map.remove(&3).map(|old| old.synchronize()));
        Own::barrier();
        map.reclaim();
        assert_eq!(map.into_iter().filter(|(_, value)| value.0.load(Ordering::Relaxed) > 0).count() as u64, TURNS - 1);
        Own::barrier();
        assert_eq!(there.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn callbacks_and_cookies() {
        leeward::rcu_domain! { struct Own; }
        let ran = Arc::new(AtomicU32::new(0));
        for size in 0..5 {
            let (ran, values) = (Arc::clone(&ran), vec![1; size]);
            Own::defer(move || _ = ran.fetch_add(1 + values.iter().sum::<u32>(), Ordering::Relaxed));
        }
        let cookie = Own::start_poll();
        Own::barrier();
        assert_eq!(ran.load(Ordering::Relaxed), 5 + 10);
        while !Own::poll_state(&cookie) {
            thread::yield_now();
        }
    }

    #[test]
    fn a_leaked_guard_protects_for_ever() {
        leeward::rcu_domain! { struct Own; }
        let there = Arc::new(AtomicU32::new(0));
        let cell = RcuCell::<Counted, Own>::new_in(Counted::new(&there));
        thread::scope(|scope| {
            let held = scope.spawn(|| {
                let guard = Own::read();
                let held: *const Counted = cell.load(&guard);
                std::mem::forget(guard);
                held.addr()
            });
            assert_ne!(held.join().unwrap(), 0);
        });
        cell.replace(Counted::new(&there)).defer();
        let cookie = Own::start_poll();
        for _ in 0..20 {
            assert!(!Own::poll_state(&cookie), "a grace period ended in spite of a leaked guard");
            thread::yield_now();
        }
        assert_eq!(there.load(Ordering::Relaxed), 2);
    }

    /// Nodes, bags and boxed closures, of records that end in every order.
    #[test]
    fn collectors() {
        use leeward::rcu::epoch::{Atomic, Collector, Owned};
        let (collector, there) = (Collector::new(), Arc::new(AtomicU32::new(0)));
        let cell = Atomic::new(Counted::new(&there));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let handle = collector.register();
                    for turn in 0..80 {
                        let guard = handle.pin();
                        let old = cell.swap(Owned::new(Counted::new(&there)).with_tag(turn), Ordering::AcqRel, &guard);
                        // SAFETY: unlinked by the exchange, and retired once.
                        unsafe { guard.defer_destroy(old) };
                        let large = [Box::new(turn), Box::new(turn), Box::new(turn)];
                        guard.defer(move || assert_eq!(*large[0], *large[2]));
                    }
                });
            }
            let handle = collector.register();
            for _ in 0..TURNS {
                let mut guard = handle.pin();
                // SAFETY: the cell is never empty, and what it had is retired in this collector.
                let _ = unsafe { cell.load(Ordering::Acquire, &guard).deref() }.0.load(Ordering::Relaxed);
                guard.repin_after(thread::yield_now);
                guard.flush();
            }
            let last = handle.pin();
            drop(handle);
            drop(last);
        });
        drop(collector);
        assert_eq!(there.load(Ordering::Relaxed), 1);
        // SAFETY: no thread is left.
        drop(unsafe { cell.into_owned() });
    }

    #[test]
    fn hazard_pointers() {
        /// A value with a cell of its own.
        struct Pair(Counted, Cell<Counted>);
        let there = Arc::new(AtomicU32::new(0));
        let counted = || Counted::new(&there);
        let cell = Cell::new(Pair(counted(), Cell::new(counted())));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let (mut outer, mut inner) = (HazardPointer::new(), HazardPointer::new());
                    for _ in 0..TURNS {
                        let pair = outer.protect(&cell).unwrap();
                        let value = inner.protect(&pair.1).unwrap();
                        assert!(value.0.load(Ordering::Relaxed) > 0 && pair.0.0.load(Ordering::Relaxed) > 0);
                        pair.1.store(counted());
                    }
                });
            }
            let mut hazard = HazardPointer::new();
            for turn in 0..TURNS {
                let pair = || Pair(counted(), Cell::new(counted()));
                match turn % 3 {
                    0 => drop(cell.replace(pair()).unwrap().try_into_inner()),
                    1 => drop(cell.update(&mut hazard, |now| now.map(|_| pair()))),
                    _ => cell.store(pair()),
                }
                hazard::reclaim();
            }
        });
        drop(cell);
        hazard::reclaim();
        assert_eq!(there.load(Ordering::Relaxed), 0, "what was retired is there still");
    }
}

/// Locks for tasks, whose queue is in the waiting futures: some are polled by another waker, or dropped
/// while they wait, or when they were handed the lock.
#[test]
fn locks_for_tasks() {
    use leeward::task;
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake, Waker};

    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    /// Polls up to `polls` times, by a new waker each time.
    fn run<F: Future>(future: F, polls: usize) -> Option<F::Output> {
        let mut future = pin!(future);
        for poll in 1..=polls {
            let waker = Waker::from(Arc::new(Unpark(thread::current())));
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(output) => return Some(output),
                Poll::Pending if poll == polls => thread::yield_now(),
                Poll::Pending => thread::park(),
            }
        }
        None
    }
    let (mutex, permits) = (task::Mutex::new(Box::new(0)), task::Semaphore::new(2));
    let both = task::RwLock::new((Box::new(0), Box::new(0)));
    let (owned, notify) = (Arc::new(task::Mutex::new(Box::new(0))), Arc::new(task::Notify::new()));
    twice(|turn| {
        let told = notify.clone().notified_owned();
        notify.notify_one();
        run(notify.notified(), 1);
        notify.notify_waiters();
        assert!(run(told, usize::MAX).is_some());
        **owned.blocking_lock() += 1;
        **run(owned.clone().lock_owned(), usize::MAX).unwrap() += 1;
        let polls = if turn % 3 == 0 { 1 } else { usize::MAX };
        if let Some(mut guard) = run(mutex.lock(), polls) {
            **guard += 1;
        }
        assert!(run(permits.acquire_many(turn as u32 % 3), polls).is_none_or(|permit| permit.is_ok()));
        if let Some(mut writer) = run(both.write(), polls) {
            *writer.0 += 1;
            *writer.1 += 1;
            let reader = writer.downgrade();
            assert_eq!(reader.0, reader.1);
        }
        let _ = run(both.read(), polls).map(|reader| assert_eq!(reader.0, reader.1));
    });
    assert_eq!((permits.available_permits(), **owned.try_lock().unwrap()), (2, 4 * TURNS));
    let sum = **mutex.try_lock().unwrap();
    assert!((2 * TURNS - 8..=2 * TURNS).contains(&sum));
}
