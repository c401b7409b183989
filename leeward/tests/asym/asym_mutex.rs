//! The mutex that is biased towards its owner.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use leeward::asym::{Mutex, RawMutex, RwLock};
use leeward::sync::Condvar;

const SHORT: Duration = Duration::from_millis(2);

/// Makes a mutex whose owner is the calling thread.
fn mine<T>(value: T) -> Mutex<T> {
    let mutex = Mutex::new(value);
    drop(mutex.lock());
    assert!(is_biased(&mutex), "the first that takes it must be its owner");
    mutex
}

fn is_biased<T>(mutex: &Mutex<T>) -> bool {
    // SAFETY: only shown.
    format!("{:?}", unsafe { mutex.raw() }).contains("is_biased: true")
}

fn elsewhere<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}

#[test]
fn one_at_a_time() {
    let _dog = Watchdog::new("one_at_a_time");
    let mutex = mine(1);
    {
        let mut guard = mutex.lock();
        *guard = 2;
        assert!(mutex.is_locked() && mutex.try_lock().is_none() && mutex.try_lock_for(SHORT).is_none());
        elsewhere(|| {
            assert!(mutex.is_locked() && mutex.try_lock().is_none());
            assert!(mutex.try_lock_for(SHORT).is_none() && mutex.try_lock_until(Instant::now()).is_none());
        });
        assert!(is_biased(&mutex), "a revoker that gave up must leave the bias");
    }
    assert!(!mutex.is_locked());
    *mutex.try_lock().unwrap() += 1;
    assert_eq!(elsewhere(|| *mutex.lock()), 3);
    assert!(!is_biased(&mutex));
    let guard = mutex.lock();
    assert!(mutex.try_lock().is_none() && elsewhere(|| mutex.try_lock_for(SHORT).is_none()));
    drop(guard);
    assert_eq!(mutex.into_inner(), 3);
}

/// A revoker waits for the owner that is inside, which wakes the thread that sleeps on its slot.
#[test]
fn a_revoker_waits_for_the_owner() {
    let _dog = Watchdog::new("a_revoker_waits_for_the_owner");
    for _ in 0..20 {
        let mutex = mine(0);
        let mut guard = mutex.lock();
        thread::scope(|scope| {
            let revoker = scope.spawn(|| *mutex.lock());
            eventually("the bias is taken away", || !is_biased(&mutex));
            thread::sleep(GLANCE);
            assert!(!revoker.is_finished());
            *guard = 1;
            drop(guard);
            assert_eq!(revoker.join().unwrap(), 1);
        });
    }
}

/// Locks until the calling thread is the owner. Returns how often.
fn takes_until_biased(mutex: &Mutex<u64>) -> u64 {
    let mut takes = 0;
    while !is_biased(mutex) {
        *mutex.lock() += 1;
        takes += 1;
        // The worth of the slowest fence that is believed, as often as it can be owed.
        assert!(takes < 4 << 22, "the bias does not come");
    }
    takes
}

/// A thread that takes the lock often enough is the owner again; visits in the meantime make that
/// later, however seldom they are.
#[test]
fn the_bias_is_earned() {
    let _dog = Watchdog::new("the_bias_is_earned");
    let mutex = mine(0);
    for _ in 0..8 {
        elsewhere(|| drop(mutex.lock()));
        assert!(!is_biased(&mutex));
        assert!(takes_until_biased(&mutex) >= 10, "a part of the worth of the fence");
    }
    elsewhere(|| drop(mutex.lock()));
    elsewhere(|| drop(mutex.lock()));
    assert!(takes_until_biased(&mutex) >= 80, "the worth of a fence that did not come");
}

/// A thread that takes over from another is the owner, though the other was.
#[test]
fn the_bias_follows_the_use() {
    let _dog = Watchdog::new("the_bias_follows_the_use");
    let mutex = mine(0);
    elsewhere(|| {
        drop(mutex.lock());
        takes_until_biased(&mutex);
    });
    drop(mutex.lock());
    assert!(!is_biased(&mutex));
}

/// Of two threads that take the lock alternately, however often, neither becomes the owner.
#[test]
fn the_bias_is_not_earned_in_turn() {
    let _dog = Watchdog::new("the_bias_is_not_earned_in_turn");
    const ENOUGH: u64 = 600;
    let mutex = mine(0);
    elsewhere(|| drop(mutex.lock()));
    assert!(!is_biased(&mutex));
    thread::scope(|scope| {
        let mutex = &mutex;
        let ((tell, taken), (give, told)) = (channel(), channel());
        scope.spawn(move || {
            for _ in 0..ENOUGH {
                told.recv().unwrap();
                assert!(!is_biased(mutex), "the bias was earned by two");
                *mutex.lock() += 1;
                tell.send(()).unwrap();
            }
        });
        for _ in 0..ENOUGH {
            *mutex.lock() += 1;
            give.send(()).unwrap();
            taken.recv().unwrap();
            assert!(!is_biased(mutex), "the bias was earned by two");
        }
    });
    assert_eq!(*mutex.lock(), 2 * ENOUGH);
    // One of them alone earns it.
    takes_until_biased(&mutex);
}

#[test]
fn exclusion_under_load() {
    let _dog = Watchdog::new("exclusion_under_load");
    let mutex = mine((0_u64, 0_u64));
    let (counted, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        // One thread takes it nearly always, and others come now and then.
        for seed in 0..4 {
            let (mutex, counted, stop) = (&mutex, &counted, &stop);
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                let count = |both: &mut (u64, u64)| {
                    assert_eq!(both.0, both.1);
                    both.0 += 1;
                    compute(10);
                    both.1 += 1;
                    counted.fetch_add(1, Ordering::Relaxed);
                };
                while !stop.load(Ordering::Relaxed) {
                    if seed != 0 {
                        thread::sleep(Duration::from_micros(rng.below(2_000)));
                    }
                    match rng.below(8) {
                        0 => drop(mutex.try_lock().map(|mut both| count(&mut both))),
                        1 => drop(mutex.try_lock_for(SHORT / 20).map(|mut both| count(&mut both))),
                        _ => count(&mut mutex.lock()),
                    }
                }
            });
        }
        thread::sleep(duration(0.7));
    });
    let counted = counted.into_inner();
    assert_eq!(*mutex.lock(), (counted, counted));
}

/// With all slots in use the owner takes the ordinary lock, and no other thread is inside with it.
#[test]
fn no_slot_is_free() {
    let _dog = Watchdog::new("no_slot_is_free");
    let locks: Vec<_> = (0..9).map(RwLock::new).collect();
    let mutex = mine(0);
    let mut held: Vec<_> = locks.iter().map(RwLock::read).collect();
    let mut guard = mutex.lock();
    *guard += 1;
    // By now the owner has free slots again, and must not enter a second time.
    held.clear();
    assert!(mutex.try_lock().is_none() && elsewhere(|| mutex.try_lock().is_none()));
    drop(guard);
    assert!(is_biased(&mutex));
    *mutex.lock() += 1;
    // Only its first slot is in use: the owner takes the ordinary lock again, and the bias comes
    // back with the unlock.
    let reads = locks[0].read();
    let guard = mutex.lock();
    drop(reads);
    assert!(mutex.try_lock().is_none() && elsewhere(|| mutex.try_lock().is_none()));
    drop(guard);
    assert!(is_biased(&mutex));
    assert_eq!(elsewhere(|| *mutex.lock()), 2);
}

#[test]
fn conditions_are_waited_for() {
    let _dog = Watchdog::new("conditions_are_waited_for");
    let (mutex, changed) = (mine(0), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            (0..1_000).for_each(|_| {
                *mutex.lock() += 1;
                changed.notify_all();
            });
        });
        let mut guard = mutex.lock();
        changed.wait_while(&mut guard, |count| *count < 1_000);
        assert_eq!(*guard, 1_000);
    });
}

#[test]
fn panics_unlock() {
    let mutex = mine(1);
    let text = panic_of(|| {
        let mut guard = mutex.lock();
        *guard = 2;
        panic!("locked");
    });
    assert_eq!((text.as_str(), *mutex.try_lock().unwrap()), ("locked", 2));
}

/// An owner that exits leaves the lock to the next thread, with a guard that it leaked or without.
#[test]
fn owners_that_exit() {
    let _dog = Watchdog::new("owners_that_exit");
    let mutex = Mutex::new(0);
    elsewhere(|| (0..10).for_each(|_| *mutex.lock() += 1));
    *mutex.lock() += 1;
    let others: Vec<_> = (0..20).map(|_| elsewhere(|| mine(0))).collect();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| others.iter().for_each(|mutex| (0..1_000).for_each(|_| *mutex.lock() += 1)));
        }
    });
    assert!(others.iter().all(|mutex| *mutex.lock() == 4_000));
    elsewhere(|| {
        let leaked = mine(0);
        std::mem::forget(leaked.lock());
        assert!(leaked.is_locked());
        leaked
    });
    let leaked = elsewhere(|| {
        let leaked = mine(0);
        std::mem::forget(leaked.lock());
        leaked
    });
    assert!(leaked.is_locked() && leaked.try_lock().is_none() && leaked.try_lock_for(SHORT).is_none());
    assert_eq!((*mutex.lock(), leaked.into_inner()), (11, 0));
}

/// A guard in a thread-local variable is dropped after the thread's slots were given up.
#[test]
fn a_guard_that_outlives_its_threads_slots() {
    let _dog = Watchdog::new("a_guard_that_outlives_its_threads_slots");
    use leeward::asym::MutexGuard;
    use std::cell::RefCell;
    static MUTEX: Mutex<u32> = Mutex::new(0);
    thread_local! { static KEPT: RefCell<Option<MutexGuard<'static, u32>>> = const { RefCell::new(None) }; }
    for registered_first in [true, false] {
        let (to_main, locked) = channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                if registered_first {
                    drop(Mutex::new(0).lock());
                }
                KEPT.with(|_| ());
                *MUTEX.lock() += 1;
                KEPT.with(|kept| *kept.borrow_mut() = Some(MUTEX.lock()));
                to_main.send(()).unwrap();
            });
            locked.recv().unwrap();
        });
        *MUTEX.try_lock_for(patience()).expect("the destructor must unlock it") += 1;
    }
    assert_eq!(*MUTEX.lock(), 4);
}

#[test]
fn it_is_small_and_constant() {
    static MUTEX: Mutex<()> = Mutex::new(());
    assert!(MUTEX.try_lock().is_some());
    assert!(size_of::<RawMutex>() <= 40);
}

/// The fast path checks the first slot only: it must not let an owner in again that is inside by
/// another slot.
#[test]
fn its_owner_is_inside_once_whatever_slots_are_free() {
    let (mutex, other) = (Mutex::new(0), RwLock::new(()));
    for _ in 0..3 {
        drop(mutex.lock());
        drop(other.read());
    }
    let outer = other.read();
    let guard = mutex.lock();
    drop(outer);
    assert!(mutex.try_lock().is_none() && mutex.try_lock_for(SHORT).is_none(), "locked twice");
    drop(guard);
    assert!(mutex.try_lock().is_some());
}
