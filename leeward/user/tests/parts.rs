//! Each part of leeward in a few turns of two threads: what a user's own tests do. What an interpreter
//! cannot run says so where it stands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use leeward::collect::{HashMap, HashSet, List, OrderedMap, Queue, ShardMap, Stack};
use leeward::fence;
use leeward::hazard::{self, Cell, HazardPointer};
use leeward::rcu::epoch::{self, Atomic, Owned};
use leeward::rcu::{self, ArcCell, Domain, RcuCell, RcuOption, Reader, qsbr};
use leeward::sync::{Barrier, Condvar, Event, Latch, LazyLock, LightMutex, Mutex, Once, OnceLock, RwLock, Semaphore};
use leeward::{asym, task};

const TURNS: u64 = 8;

/// Runs the turns on two threads at once.
fn twice(work: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        scope.spawn(|| (0..TURNS).for_each(&work));
        (0..TURNS).for_each(&work);
    });
}

/// Polls the future on this thread, which is parked meanwhile.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn fences() {
    static FREQUENT: AtomicBool = AtomicBool::new(false);
    static RARE: AtomicBool = AtomicBool::new(false);
    let rare = thread::spawn(|| {
        RARE.store(true, Ordering::Relaxed);
        fence::heavy();
        FREQUENT.load(Ordering::Relaxed)
    });
    FREQUENT.store(true, Ordering::Relaxed);
    fence::light();
    let seen = RARE.load(Ordering::Relaxed);
    assert!(seen | rare.join().unwrap());
    assert!(fence::init().is_ok());
}

#[test]
fn cells_of_rcu() {
    leeward::rcu_domain! { struct Own; }
    let (cell, option) = (RcuCell::new(Box::new(0)), RcuOption::<String, Own>::none_in());
    let arc = ArcCell::from_pointee(vec![0]);
    twice(|turn| {
        drop(cell.replace(Box::new(turn)));
        assert!(**cell.load(&rcu::read()) < TURNS && **cell.get() < TURNS);
        drop(option.replace(Some(turn.to_string())));
        assert!(option.load(&Own::read()).is_some());
        arc.rcu(|old| Arc::new([&old[..], &[turn]].concat()));
    });
    assert_eq!(arc.load_full().len() as u64, 2 * TURNS + 1);
    assert!(**cell.replace(Box::new(1)).synchronize() < TURNS);
    Own::barrier();
}

#[test]
fn readers_of_rcu() {
    let cell = RcuCell::new(String::from("0"));
    thread::scope(|scope| {
        scope.spawn(|| {
            let reader = Reader::register();
            (0..TURNS).for_each(|_| assert!(!cell.load(&reader.read()).is_empty()));
        });
        scope.spawn(|| {
            let mut online = qsbr::Reader::register();
            for _ in 0..TURNS {
                assert!(!cell.load(&online).is_empty());
                online.quiescent();
            }
        });
        for turn in 0..TURNS {
            drop(cell.replace(turn.to_string()).synchronize());
        }
    });
    block_on(rcu::Global::synchronize_async());
}

#[test]
fn epochs() {
    let newest = Atomic::new(String::from("0"));
    twice(|turn| {
        let guard = epoch::pin();
        let old = newest.swap(Owned::new(turn.to_string()), Ordering::AcqRel, &guard);
        // SAFETY: the guard keeps what this thread unlinked just now.
        assert!(!unsafe { old.deref() }.is_empty());
        // SAFETY: unlinked by this thread, and by no other.
        unsafe { guard.defer_destroy(old) };
    });
    // SAFETY: no other thread has it any more.
    drop(unsafe { newest.into_owned() });
}

#[test]
fn hazard_pointers() {
    let cell = Cell::new(String::from("0"));
    twice(|turn| {
        let mut hazard = HazardPointer::new();
        let text = hazard.protect(&cell).unwrap();
        cell.store(turn.to_string());
        assert!(!text.is_empty());
    });
    hazard::reclaim();
}

#[test]
fn maps() {
    let (hash, ordered, shards, set) = (HashMap::new(), OrderedMap::new(), ShardMap::new(), HashSet::new());
    twice(|turn| {
        drop(hash.insert(turn, turn.to_string()));
        drop(ordered.insert(turn, turn.to_string()));
        shards.insert(turn, turn.to_string());
        set.insert(turn.to_string());
        let guard = rcu::read();
        assert_eq!(hash.get(&turn, &guard).map(String::len), Some(1));
        assert_eq!(ordered.floor(&turn, &guard).map(|(key, _)| *key), Some(turn));
        assert_eq!(shards.get(&turn).map(|value| value.len()), Some(1));
        assert!(set.contains(turn.to_string().as_str()));
    });
    assert_eq!((hash.len(), ordered.len(), shards.len(), set.len()), (8, 8, 8, 8));
    (0..TURNS).for_each(|turn| drop((hash.remove(&turn), ordered.remove(&turn), shards.remove(&turn))));
    assert!(hash.is_empty() && ordered.is_empty() && shards.is_empty());
}

#[test]
fn lists_queues_and_stacks() {
    let (list, queue, stack, taken) = (List::new(), Queue::new(), Stack::new(), AtomicU64::new(0));
    twice(|turn| {
        list.push_back(turn.to_string());
        queue.push(turn.to_string());
        stack.push(turn.to_string());
        assert!(list.find(|value| !value.is_empty(), &rcu::read()).is_some());
        let both = u64::from(queue.try_pop().value().is_some()) + u64::from(stack.pop().is_some());
        taken.fetch_add(both, Ordering::Relaxed);
    });
    let left = std::iter::from_fn(|| queue.try_pop().value()).count() + stack.pop_all().count();
    assert_eq!(left as u64 + taken.into_inner(), 4 * TURNS);
    assert_eq!(list.iter(&rcu::read()).count() as u64, 2 * TURNS);
}

#[test]
fn locks() {
    let (mutex, light, table) = (Mutex::new(0), LightMutex::new(0), RwLock::new(0));
    let (journal, config) = (asym::Mutex::new(0), asym::RwLock::new(0));
    twice(|turn| {
        *mutex.lock() += 1;
        *light.lock() += 1;
        *journal.lock() += 1;
        if turn % 4 == 0 {
            *table.write() += 1;
            *config.write() += 1;
        }
        assert!(*table.read() <= 4 && *config.read() <= 4);
    });
    assert_eq!((mutex.into_inner(), light.into_inner(), journal.into_inner()), (16, 16, 16));
    assert_eq!((table.into_inner(), config.into_inner()), (4, 4));
}

#[test]
fn small_locks() {
    static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![7]);
    let (jobs, more, permits, event) = (Mutex::new(Vec::new()), Condvar::new(), Semaphore::new(1), Event::new());
    let (barrier, latch, once, cell) = (Barrier::new(2), Latch::new(2), Once::new(), OnceLock::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            barrier.wait();
            once.call_once(|| assert_eq!(LAZY[0], 7));
            jobs.lock().push(*cell.get_or_init(|| 5));
            more.notify_one();
            drop(permits.permit());
            event.set();
            latch.count_down(1);
        });
        barrier.wait();
        once.call_once(|| assert_eq!(LAZY[0], 7));
        let mut jobs = jobs.lock();
        more.wait_while(&mut jobs, |jobs| jobs.is_empty());
        assert_eq!(jobs.pop(), Some(5));
        drop(permits.permit());
        assert_eq!(Event::wait_any(&[&event]), Ok(0));
        latch.arrive_and_wait();
    });
}

#[test]
fn locks_of_tasks() {
    let (mutex, table, permits) = (task::Mutex::new(0), task::RwLock::new(0), task::Semaphore::new(1));
    twice(|_| {
        block_on(async {
            *mutex.lock().await += 1;
            *table.write().await += 1;
            drop(permits.acquire().await);
            assert!(*table.read().await > 0);
        });
    });
    assert_eq!((mutex.into_inner(), table.into_inner()), (2 * TURNS, 2 * TURNS));
}

#[cfg(target_os = "linux")]
mod on_linux {
    use super::*;

    use leeward::{pi, shared};

    /// As another process would read and write it.
    #[derive(shared::AnyBytes)]
    #[repr(C)]
    struct Counters {
        sum: shared::Mutex<u64>,
        seen: AtomicU64,
    }

    /// Locks of processes lie in any memory; under miri in that of one process.
    #[test]
    fn locks_of_processes() {
        static COUNTERS: Counters = Counters { sum: shared::Mutex::new(0), seen: AtomicU64::new(0) };
        twice(|_| {
            *COUNTERS.sum.lock() += 1;
            COUNTERS.seen.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!((*COUNTERS.sum.lock(), COUNTERS.seen.load(Ordering::Relaxed)), (2 * TURNS, 2 * TURNS));
    }

    /// The kernel makes the memory, which miri has no call for.
    #[test]
    #[cfg_attr(miri, ignore = "miri maps no file")]
    fn regions() {
        let region = shared::Region::<Counters>::create(1, |_| {}).unwrap();
        twice(|_| *region.sum.lock() += 1);
        assert_eq!(*region.sum.lock(), 2 * TURNS);
    }

    /// The kernel hands a contended lock over, which miri has no call for: there one thread locks.
    #[test]
    fn locks_with_priorities() {
        let total = pi::Mutex::new(0);
        let work = |_| *total.lock().unwrap() += 1;
        if cfg!(miri) {
            (0..2 * TURNS).for_each(work)
        } else {
            twice(work)
        }
        assert_eq!(*total.lock().unwrap(), 2 * TURNS);
    }

    /// The kernel looks after a dying thread's locks: the module is not there under miri.
    #[cfg(all(not(miri), target_env = "gnu", target_pointer_width = "64"))]
    #[test]
    fn robust_locks() {
        use leeward::robust::{LockError, Mutex};
        static COUNTER: Mutex<u64> = Mutex::new(0);
        twice(|_| COUNTER.lock().unwrap().with(|count| *count += 1));
        thread::spawn(|| std::mem::forget(COUNTER.lock())).join().unwrap();
        let Err(LockError::OwnerDied(mut count)) = COUNTER.lock() else { panic!("the death is reported") };
        count.mark_consistent();
    }
}

#[test]
fn limits_of_time() {
    let (mutex, event) = (Mutex::new(0), Event::new());
    let held = mutex.lock();
    assert!(mutex.try_lock_for(Duration::from_millis(1)).is_none());
    drop(held);
    assert!(!event.wait_for(Duration::from_millis(1)));
}
