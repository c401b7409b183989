//! Locks in memory that several processes map: two processes for each type, layouts, and garbage in
//! the words.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;
#[macro_use]
#[path = "../common/small_locks.rs"]
mod small_locks;

use common::*;
use processes::*;
use small_locks::SmallLock;

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use leeward::raw::{Plain, Requeue, Scheme, WakeOp};
use leeward::shared::{AnyBytes, Barrier, Condvar, Event, Latch, Mutex, MutexGuard, Once, Region, RwLock};
use leeward::shared::{RwLockReadGuard, RwLockWriteGuard, Semaphore};

const ROUNDS: u64 = 2_000;

#[test]
fn mutexes() {
    let _dog = Watchdog::new("mutexes");
    let count = region::<Mutex<[u64; 2]>>(|_| {});
    in_two(|| {
        (0..ROUNDS).all(|_| {
            let mut both = count.lock();
            both[0] += 1;
            both[1] += 1;
            both[0] == both[1]
        })
    });
    assert_eq!(*count.lock(), [2 * ROUNDS; 2]);
    let _held = count.lock();
    assert!(count.try_lock().is_none());
}

#[test]
fn rwlocks() {
    let _dog = Watchdog::new("rwlocks");
    let count = region::<RwLock<[u64; 2]>>(|_| {});
    in_two(|| {
        (0..ROUNDS).all(|round| {
            if round % 4 == 0 {
                let mut both = count.write();
                both[0] += 1;
                both[1] += 1;
            }
            let both = count.read();
            both[0] == both[1]
        })
    });
    assert_eq!(*count.read(), [ROUNDS / 2; 2]);
    let _reader = count.read();
    assert!(count.try_write().is_none() && count.try_write_for(GLANCE).is_none() && count.try_read().is_some());
}

#[repr(C)]
struct Turns {
    mine: Semaphore,
    theirs: Semaphore,
    turns: AtomicU64,
}

// SAFETY: its fields are, and repr(C).
unsafe impl AnyBytes for Turns {}

#[test]
fn semaphores() {
    let _dog = Watchdog::new("semaphores");
    let turns = region::<Turns>(|_| {});
    let count = |mine: &Semaphore, theirs: &Semaphore, parity: u64| {
        (0..ROUNDS / 10).all(|_| {
            mine.acquire();
            let turn = turns.turns.fetch_add(1, Ordering::Relaxed);
            theirs.release(1);
            turn % 2 == parity
        })
    };
    let other = child(|| count(&turns.theirs, &turns.mine, 1));
    turns.mine.release(1);
    assert!(count(&turns.mine, &turns.theirs, 0));
    assert_eq!(status_of(other), 0);
}

#[repr(C)]
struct Rounds {
    barrier: Barrier,
    count: AtomicU64,
}

// SAFETY: its fields are, and repr(C).
unsafe impl AnyBytes for Rounds {}

#[test]
fn barriers() {
    let _dog = Watchdog::new("barriers");
    let rounds = region::<Rounds>(|rounds| rounds.barrier = Barrier::new_in(2));
    in_two(|| {
        (1..=ROUNDS / 10).all(|round| {
            rounds.count.fetch_add(1, Ordering::Relaxed);
            rounds.barrier.wait();
            let fine = rounds.count.load(Ordering::Relaxed) == 2 * round;
            rounds.barrier.wait();
            fine
        })
    });
}

#[repr(C)]
struct Signals {
    ready: Event,
    go: Event,
    latch: Latch,
    once: Once,
    runs: AtomicU32,
}

// SAFETY: its fields are, and repr(C).
unsafe impl AnyBytes for Signals {}

#[test]
fn events_latches_and_onces() {
    let _dog = Watchdog::new("events_latches_and_onces");
    let signals = region::<Signals>(|signals| signals.latch = Latch::new_in(2));
    let work = || {
        signals.latch.arrive_and_wait();
        signals.once.call_once(|| {
            signals.runs.fetch_add(1, Ordering::Relaxed);
        });
        signals.runs.load(Ordering::Relaxed) == 1
    };
    let other = child(|| {
        (0..ROUNDS / 10).for_each(|_| {
            signals.go.wait();
            signals.go.clear();
            signals.ready.set();
        });
        work()
    });
    (0..ROUNDS / 10).for_each(|_| {
        signals.go.set();
        assert!(matches!(Event::wait_any(&[&signals.ready]), Ok(0)));
        signals.ready.clear();
    });
    assert!(work());
    assert_eq!(status_of(other), 0);
}

#[repr(C)]
struct Queue<S: Scheme + 'static> {
    /// What was sent and what was received, with room for one.
    counts: Mutex<[u64; 2]>,
    sent: Condvar<S>,
    received: Condvar<S>,
}

// SAFETY: its fields are, and repr(C).
unsafe impl<S: Scheme> AnyBytes for Queue<S> {}

impl<S: Scheme> Queue<S> {
    /// Waits until `may`, and counts; notifies with the lock held, with the lock named or not, or
    /// without the lock.
    fn count(&self, place: usize, mine: &Condvar<S>, theirs: &Condvar<S>, may: fn(&[u64; 2]) -> bool, round: u64) {
        let mut counts = self.counts.lock();
        match round % 2 {
            0 => mine.wait_while(&mut counts, |counts| !may(counts)),
            _ => {
                while !may(&counts) {
                    mine.wait_for(&mut counts, Duration::from_secs(1_000));
                }
            }
        }
        counts[place] += 1;
        match round % 5 {
            0 => _ = theirs.notify_one(),
            // SAFETY: this is the only mutex here.
            1 => _ = unsafe { theirs.notify_one_of(&self.counts) },
            // SAFETY: as above.
            2 => _ = unsafe { theirs.notify_all_of(&self.counts) },
            3 => _ = theirs.notify_all(),
            _ => {
                drop(counts);
                theirs.notify_all();
            }
        }
    }
}

fn condvars<S: Scheme>() {
    let queue = region::<Queue<S>>(|_| {});
    let rounds = ROUNDS / 10;
    // Two processes send, two threads receive.
    let senders = [0, 1].map(|_| {
        child(|| {
            (0..rounds)
                .for_each(|round| queue.count(0, &queue.received, &queue.sent, |[sent, got]| sent == got, round));
            true
        })
    });
    std::thread::scope(|scope| {
        let receive = || {
            (0..rounds).for_each(|round| queue.count(1, &queue.sent, &queue.received, |[sent, got]| sent > got, round))
        };
        scope.spawn(receive);
        receive();
    });
    assert!(senders.into_iter().all(|sender| status_of(sender) == 0));
    let mut counts = queue.counts.lock();
    assert_eq!(*counts, [2 * rounds; 2]);
    assert!(!queue.sent.wait_for(&mut counts, GLANCE) && !queue.sent.notify_one());
}

#[test]
fn condvars_three_ways() {
    let _dog = Watchdog::new("condvars_three_ways");
    condvars::<Plain>();
    condvars::<Requeue>();
    condvars::<WakeOp>();
}

/// Returns the words, to find the bits.
fn words<T: AnyBytes + Sync, const N: usize>(region: &Region<T>) -> [u32; N] {
    assert_eq!(size_of::<T>(), 4 * N);
    let words: *const T = &**region;
    // SAFETY: as many words as the type is long, which no thread writes now.
    unsafe { words.cast::<[u32; N]>().read() }
}

fn small<L: SmallLock + AnyBytes>() {
    let lock = region::<L>(|lock| *lock = L::NEW);
    assert_eq!((words(&lock), align_of::<L>()), ([L::WORDS[0]], 4));
    let other = child(|| {
        lock.wait();
        true
    });
    lock.let_go();
    assert_eq!(status_of(other), 0);
    let lock = region::<L>(|lock| *lock = L::NEW);
    lock.let_go();
    assert_eq!(words(&lock), [L::WORDS[1]]);
}

macro_rules! small {
    ($($name:ident: $lock:ident $row:tt)*) => {
        /// Their layouts, and one process that another lets go.
        #[test]
        fn each_small_lock() {
            let _dog = Watchdog::new("each_small_lock");
            $(small::<leeward::raw::$lock<leeward::futex::Shared>>();)*
        }
    };
}
for_each_small_lock! { small }

#[test]
fn layouts_are_as_documented() {
    fn sizes<T>() -> (usize, usize) {
        (size_of::<T>(), align_of::<T>())
    }
    assert_eq!(sizes::<Mutex<()>>(), (4, 4));
    assert_eq!(sizes::<Mutex<u64>>(), (16, 8));
    assert_eq!(sizes::<RwLock<()>>(), (8, 4));
    assert_eq!(sizes::<RwLock<u64>>(), (16, 8));
    assert_eq!(sizes::<Barrier>(), (8, 4));
    assert_eq!(sizes::<Once>(), (4, 4));
    #[cfg(target_pointer_width = "64")]
    assert_eq!(sizes::<Condvar>(), (32, 8));
    assert_eq!((offset_of!(Signals, latch), offset_of!(Signals, once)), (8, 12));
    assert_eq!((offset_of!(Queue<Plain>, sent), offset_of!(Queue<WakeOp>, received)), (24, 56));
    let mutex = region::<Mutex<()>>(|_| {});
    let guard = mutex.lock();
    assert_eq!(words(&mutex), [1]);
    drop(guard);
    let rwlock = region::<RwLock<()>>(|_| {});
    let reader = rwlock.read();
    assert_eq!(words(&rwlock), [1, 0]);
    drop(reader);
    let _writer = rwlock.write();
    assert_eq!(words(&rwlock), [0xf_ffff, 0]);
    assert_eq!(words(&region::<Semaphore>(|semaphore| *semaphore = Semaphore::new_in(5))), [5]);
    assert_eq!(words(&region::<Barrier>(|barrier| *barrier = Barrier::new_in(3))), [0, 3]);
    assert_eq!(words(&region::<Latch>(|latch| *latch = Latch::new_in(9))), [9]);
    let once = region::<Once>(|_| {});
    once.call_once(|| {});
    assert_eq!(words(&once), [3]);
}

/// A guard's copy in the child of a fork once unlocked the parent's lock; it does not.
#[test]
fn guards_that_a_fork_copies() {
    let _dog = Watchdog::new("guards_that_a_fork_copies");
    #[repr(C)]
    struct Both {
        mutex: Mutex<u32>,
        rwlock: RwLock<u32>,
        changed: Condvar,
    }
    // SAFETY: its fields are, and repr(C).
    unsafe impl AnyBytes for Both {}
    let both = region::<Both>(|_| {});
    let (mutex, rwlock) = (&both.mutex, &both.rwlock);
    let held = mutex.lock();
    let copied = child(|| {
        // This happens in a child that returns from where it was forked. SAFETY: copied as the fork
        // copies it; forgotten by the parent's half of this test, which goes on in another process.
        drop(unsafe { core::ptr::read(&held) });
        mutex.try_lock().is_none()
    });
    assert_eq!(status_of(copied), 0, "the child's copy of a guard unlocked the mutex");
    drop(held);
    let reader = rwlock.read();
    let copied = child(|| {
        // SAFETY: as above.
        drop(unsafe { core::ptr::read(&reader) });
        rwlock.try_write().is_none()
    });
    assert_eq!(status_of(copied), 0, "the child's copy of a guard unlocked the lock for reading");
    drop(reader);
    let writer = rwlock.write();
    let copied = child(|| {
        // SAFETY: as above.
        drop(unsafe { core::ptr::read(&writer) });
        rwlock.try_read().is_none()
    });
    assert_eq!(status_of(copied), 0, "the child's copy of a guard unlocked the lock for writing");
    drop(writer);
    assert!(mutex.try_lock().is_some() && rwlock.try_write().is_some());
}

/// The copy of a guard of a part unlocks nothing, and is no access to the part.
#[test]
fn guards_of_parts_that_a_fork_copies() {
    let _dog = Watchdog::new("guards_of_parts_that_a_fork_copies");
    let (mutex, rwlock) = (region::<Mutex<[u32; 2]>>(|_| {}), region::<RwLock<[u32; 2]>>(|_| {}));
    let mut held = MutexGuard::map(mutex.lock(), |pair| &mut pair[1]);
    *held = 7;
    let writer = RwLockWriteGuard::map(rwlock.write(), |pair| &mut pair[0]);
    let copied = child(|| {
        assert!(panic_of(|| _ = *held).contains("is a fork's copy"));
        // This happens in a child that returns from where it was forked. SAFETY: copied as the fork
        // copies it; the parent's half of this test goes on in another process.
        drop(unsafe { core::ptr::read(&held) });
        // SAFETY: as above.
        drop(unsafe { core::ptr::read(&writer) });
        mutex.try_lock().is_none() && rwlock.try_read().is_none()
    });
    assert_eq!(status_of(copied), 0, "the child's copy of a guard unlocked the lock");
    drop((held, writer));
    let reader = RwLockReadGuard::map(rwlock.read(), |pair| &pair[0]);
    assert!(rwlock.try_write().is_none());
    drop(reader);
    panic_of(|| drop(MutexGuard::map(mutex.lock(), |pair| &mut pair[2..][0])));
    assert_eq!((mutex.try_lock().map(|pair| *pair), rwlock.try_write().is_some()), (Some([0, 7]), true));
}

/// A guard's copy is no access to the value either, and cannot be used for a wait that would give
/// the parent's lock up.
#[test]
fn guards_that_a_fork_copies_are_told_apart() {
    let _dog = Watchdog::new("guards_that_a_fork_copies_are_told_apart");
    #[repr(C)]
    struct Waited {
        mutex: Mutex<u32>,
        rwlock: RwLock<u32>,
        changed: Condvar,
    }
    // SAFETY: its fields are, and repr(C).
    unsafe impl AnyBytes for Waited {}
    const SENTENCE: &str = "is a fork's copy";
    let waited = region::<Waited>(|_| {});
    let (mut held, mut writer) = (waited.mutex.lock(), waited.rwlock.write());
    let copied = child(|| {
        assert!(panic_of(|| _ = *held).contains(SENTENCE));
        assert!(panic_of(|| *held += 1).contains(SENTENCE));
        assert!(panic_of(|| _ = *writer).contains(SENTENCE));
        assert!(panic_of(|| *writer += 1).contains(SENTENCE));
        assert!(panic_of(|| _ = waited.changed.wait_for(&mut held, GLANCE)).contains(SENTENCE));
        // The child's own guards are good for everything.
        waited.mutex.try_lock().is_none()
    });
    assert_eq!(status_of(copied), 0);
    assert_eq!((*held, *writer), (0, 0));
    drop((held, writer));
    let alone = child(|| {
        *waited.mutex.lock() += 1;
        *waited.rwlock.write() += 1;
        *waited.rwlock.read() == 1
    });
    assert_eq!(status_of(alone), 0);
    assert_eq!(*waited.mutex.lock(), 1);
}
