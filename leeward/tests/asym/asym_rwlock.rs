//! The readers-writer lock whose readers store into slots of their own.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/open.rs"]
mod open;

use common::*;
use open::{is_open, open, shows};

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use leeward::asym::{RawRwLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
use leeward::sync::{Poison, Poisoned};

const SHORT: Duration = Duration::from_millis(2);
/// More than the slots of a thread.
const MANY: usize = 9;

/// Makes a lock whose readers take the ordinary one, for a while at least.
fn closed<T>(value: T) -> RwLock<T> {
    let lock = open(value);
    drop(lock.write());
    lock
}

/// Returns true if a writer has the ordinary lock underneath, or waits for it.
fn has_writer<T>(lock: &RwLock<T>) -> bool {
    shows(lock, "is_written: true") || shows(lock, "writers_wait: true")
}

/// Runs `inside` while another thread sleeps until it may write, which it may when the returned
/// value is dropped.
fn beside_a_writer<T: Send + Sync, G>(lock: &RwLock<T>, inside: impl FnOnce() -> G) {
    let (written, writer) = (AtomicBool::new(false), AtomicI32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: has no precondition.
            writer.store(unsafe { libc::gettid() }, Ordering::Relaxed);
            let _writer = lock.write();
            written.store(true, Ordering::Relaxed);
        });
        // Asleep, and not only on its way there: it needs the wake then.
        eventually("a writer sleeps", || {
            written.load(Ordering::Relaxed) || has_writer(lock) && is_asleep(writer.load(Ordering::Relaxed))
        });
        let guard = inside();
        assert!(!written.load(Ordering::Relaxed), "a writer entered beside a reader");
        drop(guard);
    });
    assert!(written.into_inner());
}

#[test]
fn readers_share_and_a_writer_is_alone() {
    let _dog = Watchdog::new("readers_share_and_a_writer_is_alone");
    for lock in [open(1), closed(1)] {
        let (one, two) = (lock.read(), lock.read());
        assert_eq!(*one + *two, 2);
        assert!(lock.is_locked() && lock.try_write().is_none() && lock.try_write_for(SHORT).is_none());
        drop(one);
        assert!(lock.try_write().is_none());
        drop(two);
        assert!(!lock.is_locked());
        let mut writer = lock.try_write().unwrap();
        *writer = 2;
        thread::scope(|scope| {
            scope.spawn(|| {
                assert!(lock.try_read().is_none() && lock.try_read_recursive().is_none());
                assert!(lock.try_read_for(SHORT).is_none() && lock.try_read_until(Instant::now()).is_none());
                assert!(lock.try_write().is_none() && lock.try_write_for(SHORT).is_none());
            });
        });
        assert!(lock.is_locked_exclusive());
        let reader = RwLockWriteGuard::downgrade(writer);
        assert_eq!(*lock.read() + *lock.read_recursive(), 4);
        assert!(lock.try_write().is_none());
        drop(reader);
        *lock.write() = 3;
        assert_eq!(lock.into_inner(), 3);
    }
}

/// A writer waits for a reader that is inside by its slot, which wakes the writer that sleeps on
/// it.
#[test]
fn a_writer_waits_for_slots() {
    let _dog = Watchdog::new("a_writer_waits_for_slots");
    for _ in 0..20 {
        let lock = open(());
        let guard = lock.read();
        assert!(shows(&lock, "is_read: true"), "the reader must be in a slot");
        beside_a_writer(&lock, || guard);
    }
}

/// Nested reads pass a writer that waits for the outer one: by a slot, by the ordinary lock, and by
/// an ordinary lock that no slot names.
#[test]
fn nested_reads_pass_a_waiting_writer() {
    let _dog = Watchdog::new("nested_reads_pass_a_waiting_writer");
    let others: Vec<_> = (0..MANY).map(open).collect();
    for slots_in_use in [0, 2, MANY] {
        for lock in [open(()), closed(())] {
            let held: Vec<_> = others[..slots_in_use].iter().map(RwLock::read).collect();
            let outer = lock.read();
            beside_a_writer(&lock, || {
                let inner = (lock.read(), lock.read());
                assert!(lock.try_read().is_some() && lock.try_read_for(Duration::from_secs(60)).is_some());
                drop(outer);
                let third = lock.read();
                drop(inner);
                assert!(thread::scope(|scope| scope.spawn(|| lock.try_write().is_none()).join().unwrap()));
                third
            });
            drop(held);
        }
    }
}

/// Guards of more locks than there are slots are dropped in another order.
#[test]
fn many_locks_at_once() {
    let _dog = Watchdog::new("many_locks_at_once");
    let locks: Vec<_> = (0..MANY).map(open).collect();
    let mut rng = Rng::new(1);
    for _ in 0..200 {
        let mut held: Vec<(usize, RwLockReadGuard<'_, usize>)> = Vec::new();
        for _ in 0..4 * MANY {
            if rng.below(5) < 3 {
                let which = rng.below(MANY as u64) as usize;
                held.push((which, locks[which].read()));
            } else if !held.is_empty() {
                drop(held.swap_remove(rng.below(held.len() as u64) as usize));
            }
        }
        thread::scope(|scope| {
            scope.spawn(|| {
                for (which, lock) in locks.iter().enumerate() {
                    let is_held = held.iter().any(|(other, _)| *other == which);
                    assert_eq!(lock.try_write().is_none(), is_held);
                    assert_eq!(lock.is_locked(), is_held);
                }
            });
        });
    }
    assert!(locks.iter().all(|lock| lock.try_write().is_some()));
}

#[test]
fn a_writer_that_gives_up_lets_readers_in() {
    let _dog = Watchdog::new("a_writer_that_gives_up_lets_readers_in");
    let lock = open(());
    let _stays = lock.read();
    thread::scope(|scope| {
        let writer = scope.spawn(|| lock.try_write_for(Duration::from_millis(30)).is_none());
        // On a busy machine it may have given up before this thread checks.
        eventually("the writer waits", || has_writer(&lock) || writer.is_finished());
        scope.spawn(|| drop(lock.read()));
        assert!(writer.join().unwrap());
    });
    assert!(is_open(&lock));
}

/// Readers that overlap without end do not keep a writer out; writers do not keep a reader out; and
/// no reader sees half of a write.
#[test]
fn exclusion_under_load() {
    let _dog = Watchdog::new("exclusion_under_load");
    let lock = RwLock::new((0_u64, 0_u64));
    let (written, read, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        for seed in 0..5 {
            let (lock, written, read, stop) = (&lock, &written, &read, &stop);
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                let write = |both: &mut (u64, u64)| {
                    both.0 += 1;
                    compute(20);
                    both.1 += 1;
                    written.fetch_add(1, Ordering::Relaxed);
                };
                let check = |both: &(u64, u64)| assert_eq!(both.0, both.1);
                while !stop.load(Ordering::Relaxed) {
                    let limit = Duration::from_micros(rng.below(100));
                    match rng.below(400) {
                        0 => write(&mut lock.write()),
                        1 => drop(lock.try_write_for(limit).map(|mut both| write(&mut both))),
                        2 => drop(lock.try_write().map(|mut both| write(&mut both))),
                        3 => {
                            let mut writer = lock.write();
                            write(&mut writer);
                            check(&RwLockWriteGuard::downgrade(writer));
                        }
                        4..10 => drop(lock.try_read_for(limit).map(|both| check(&both))),
                        10..20 => drop(lock.try_read().map(|both| check(&both))),
                        20..30 => {
                            let outer = lock.read();
                            check(&lock.read());
                            check(&outer);
                        }
                        _ => check(&lock.read()),
                    }
                    read.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let end = Instant::now() + duration(0.7);
        while Instant::now() < end {
            let before = read.load(Ordering::Relaxed);
            eventually("everybody gets on", || read.load(Ordering::Relaxed) > before);
            drop(lock.write());
        }
    });
    let written = written.into_inner();
    assert_eq!(*lock.read(), (written, written));
    assert!(!lock.is_locked() && lock.try_write().is_some());
}

/// While writers are frequent readers take the ordinary lock; then it opens again.
#[test]
fn it_opens_again() {
    let _dog = Watchdog::new("it_opens_again");
    let lock = closed(0);
    assert!(!is_open(&lock));
    eventually("it is open again", || {
        (0..100).for_each(|_| drop(lock.read()));
        is_open(&lock)
    });
    drop(lock.write());
    assert!(!is_open(&lock));
}

/// Where few reads lie between two writes, writers pay for no fences.
#[test]
fn it_stays_closed_while_writes_are_frequent() {
    let _dog = Watchdog::new("it_stays_closed_while_writes_are_frequent");
    const WRITES: u32 = 2_000;
    let lock = open(0);
    let mut was_open = 0;
    for _ in 0..WRITES {
        (0..8).for_each(|_| drop(lock.read()));
        was_open += u32::from(is_open(&lock));
        *lock.write() += 1;
    }
    assert!(was_open < WRITES / 8, "it was open at {was_open} of {WRITES} writes");
    // And open again when they are not.
    eventually("it is open again", || {
        (0..1_000).for_each(|_| drop(lock.read()));
        is_open(&lock)
    });
}

/// Readers go on by the ordinary lock while a writer's fence is under way, and a second writer does
/// not need another.
#[test]
fn writers_that_meet_at_an_open_lock() {
    let _dog = Watchdog::new("writers_that_meet_at_an_open_lock");
    for _ in 0..200 {
        let lock = open(0_u64);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    *lock.write() += 1;
                    assert!(*lock.read() > 0);
                });
            }
        });
        assert_eq!(*lock.read(), 3);
    }
}

/// Only the lock orders these threads: a stage is no more than a hint. For ThreadSanitizer.
#[test]
fn who_enters_by_a_slot_sees_what_was_written() {
    let _dog = Watchdog::new("who_enters_by_a_slot_sees_what_was_written");
    let (lock, other) = (RwLock::new(0_u64), RwLock::new(()));
    let (stage, ready) = (AtomicU64::new(0), AtomicU64::new(0));
    let at = |number| eventually("the next stage", || stage.load(Ordering::Relaxed) == number);
    // Registering a thread's slots orders threads as well: both readers have them before the write.
    let register = || {
        drop(other.read());
        ready.fetch_add(1, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            eventually("both have slots", || ready.load(Ordering::Relaxed) == 2);
            *lock.write() = 7;
            stage.store(1, Ordering::Relaxed);
        });
        scope.spawn(|| {
            register();
            at(1);
            // Without a look at the value: ThreadSanitizer remembers its last few readers only.
            eventually("it opens", || {
                (0..100).for_each(|_| drop(lock.read()));
                is_open(&lock)
            });
            stage.store(2, Ordering::Relaxed);
        });
        scope.spawn(|| {
            register();
            at(2);
            assert_eq!(*lock.read(), 7);
        });
    });
}

#[test]
fn a_reader_that_tries_to_write() {
    let lock = open(());
    let _reader = lock.read();
    assert!(lock.try_write().is_none() && lock.try_write_for(SHORT).is_none());
}

#[test]
fn panics_unlock() {
    let lock = open(Poison::new(1));
    assert_eq!(
        panic_of(|| {
            let _guard = lock.read();
            panic!("reading");
        }),
        "reading"
    );
    assert_eq!(panic_of(|| _ = lock.write().access(|_| panic!("writing"))), "writing");
    assert_eq!((lock.read().get(), lock.is_locked()), (Err(Poisoned), true));
    assert!(!lock.is_locked());
}

/// A leaked guard keeps its own lock, wherever that lock is moved, also after its thread has
/// exited; and no other lock.
#[test]
fn leaked_guards() {
    let _dog = Watchdog::new("leaked_guards");
    let mut lock = Box::new(open(1));
    thread::scope(|scope| scope.spawn(|| std::mem::forget(lock.read())).join().unwrap());
    assert!(lock.is_locked() && lock.try_write().is_none());
    assert_eq!(*lock.read(), 1);
    // Another lock lies at the same place.
    let moved = std::mem::replace(&mut *lock, open(2));
    assert!(moved.is_locked() && moved.try_write().is_none());
    assert!(!lock.is_locked());
    assert_eq!(*lock.write(), 2);
    // Leaked on this thread: the lock may be read here, and no thread may write it.
    std::mem::forget(moved.read());
    assert_eq!(*moved.read(), 1);
    assert!(moved.try_write_for(SHORT).is_none());
}

/// Guards in thread-local variables are dropped before and after the thread's slots are given up;
/// and such destructors lock.
#[test]
fn guards_that_outlive_their_threads_slots() {
    let _dog = Watchdog::new("guards_that_outlive_their_threads_slots");
    static LOCKS: [RwLock<u32>; 2] = [const { RwLock::new(5) }; 2];
    struct Late(RefCell<Vec<RwLockReadGuard<'static, u32>>>);
    impl Drop for Late {
        fn drop(&mut self) {
            for lock in &LOCKS {
                assert_eq!(*lock.read() + *lock.read(), 10);
            }
            let held = self.0.take();
            assert!(held.iter().all(|guard| **guard == 5));
        }
    }
    thread_local! {
        static EARLY: Late = const { Late(RefCell::new(Vec::new())) };
        static LATE: Late = const { Late(RefCell::new(Vec::new())) };
    }
    LOCKS.iter().for_each(|lock| drop(lock.read()));
    for keep in [0, 1, 3] {
        let (to_main, held) = channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                EARLY.with(|_| ());
                let first = LOCKS[0].read();
                LATE.with(|late| late.0.borrow_mut().push(first));
                EARLY.with(|early| (0..keep).for_each(|_| early.0.borrow_mut().push(LOCKS[1].read())));
                to_main.send(()).unwrap();
            });
            held.recv().unwrap();
        });
        LOCKS.iter().for_each(|lock| assert!(lock.try_write_for(patience()).is_some(), "{lock:?}"));
        LOCKS.iter().for_each(|lock| {
            eventually("it is open again", || {
                drop(lock.read());
                is_open(lock)
            })
        });
    }
}

#[test]
fn it_is_small_and_constant() {
    static LOCK: RwLock<()> = RwLock::new(());
    assert!(LOCK.try_read().is_some());
    assert!(size_of::<RawRwLock>() <= 32);
}
