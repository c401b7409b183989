//! Threads that wait for the locks of tasks: in turn with them, asleep.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/polled.rs"]
mod polled;

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use common::*;
use leeward::task::{Mutex, RwLock};
use polled::*;

/// Runs `wait` on a thread, which sleeps there, then `release`, which lets it go.
fn asleep<T: Send>(wait: impl FnOnce() -> T + Send, release: impl FnOnce()) -> T {
    let id = AtomicI32::new(0);
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: the call has no requirements.
            id.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            wait()
        });
        eventually("the thread sleeps", || match id.load(Ordering::SeqCst) {
            0 => false,
            id => is_asleep(id),
        });
        release();
        thread.join().unwrap()
    })
}

#[test]
fn a_thread_is_served_in_turn() {
    let _watch = Watchdog::new("a thread that waits for a lock of tasks");
    let mutex = Mutex::new(vec![0]);
    let guard = mutex.try_lock().unwrap();
    let mut first = Task::waiting(mutex.lock());
    let mut last = None;
    asleep(
        || mutex.blocking_lock().push(2),
        || {
            last = Some(Task::waiting(mutex.lock()));
            drop(guard);
            first.poll().unwrap().push(1);
        },
    );
    let mut last = last.unwrap();
    assert_eq!(last.wakes(), 1);
    last.poll().unwrap().push(3);
    assert_eq!(*mutex.blocking_lock(), [0, 1, 2, 3]);
}

#[test]
fn a_thread_that_reads_and_one_that_writes() {
    let _watch = Watchdog::new("threads that read and write");
    let lock = RwLock::new(1);
    let reader = lock.blocking_read();
    assert_eq!(*lock.blocking_read() + *reader, 2);
    asleep(|| *lock.blocking_write() += 1, || drop(reader));
    let mut writer = lock.blocking_write();
    *writer += 1;
    assert_eq!(asleep(|| *lock.blocking_read(), || drop(writer)), 3);
}

#[test]
fn a_thread_whose_guard_owns_the_lock() {
    let _watch = Watchdog::new("a thread whose guard owns the lock");
    let mutex = Arc::new(Mutex::new(1));
    let guard = mutex.clone().blocking_lock_owned();
    let (waiting, other) = (mutex.clone(), mutex.clone());
    let mut held = asleep(move || waiting.blocking_lock_owned(), move || drop((guard, other)));
    *held += 1;
    assert!(mutex.try_lock().is_err());
    drop(mutex);
    assert_eq!(*held, 2);
}

/// Many threads, of which each second lock is by a task that it runs.
#[test]
fn many_threads() {
    let _watch = Watchdog::new("many threads that wait as tasks do");
    let (mutex, lock) = (Mutex::new(0), RwLock::new((0, 0)));
    thread::scope(|scope| {
        for of in 0..4 {
            let (mutex, lock) = (&mutex, &lock);
            scope.spawn(move || {
                for turn in 0..1000_u32 {
                    if (turn + of) % 2 == 0 {
                        *mutex.blocking_lock() += 1;
                        let mut both = lock.blocking_write();
                        both.0 += 1;
                        both.1 += 1;
                    } else {
                        *block_on(mutex.lock()) += 1;
                        let both = lock.blocking_read();
                        assert_eq!(both.0, both.1);
                    }
                }
            });
        }
    });
    assert_eq!((mutex.into_inner(), lock.into_inner()), (4000, (2000, 2000)));
}
