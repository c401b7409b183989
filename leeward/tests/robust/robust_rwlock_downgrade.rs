//! The robust readers-writer lock whose writer becomes a reader: who is let in, and what a death is
//! then.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;
#[path = "../common/robust_rwlock.rs"]
mod rwlock;

use common::*;
use robust::{gettid, is_in_futex, value, walk};
use rwlock::*;

use std::sync::Mutex as Lock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use leeward::robust::{RwLock, RwLockError, WriteGuard};

/// Held by each test: one looks at all locks of its thread.
static ALONE: Lock<()> = Lock::new(());

/// Runs `work` on a thread that ends with what it holds, and waits until the kernel has seen it.
fn dies(work: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(work).join().unwrap();
    });
}

/// A writer becomes a reader: others read beside it, and no thread writes before it has left.
#[test]
fn a_writer_becomes_a_reader() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_writer_becomes_a_reader");
    static LOCK: RwLock<u64, 2> = RwLock::with_readers(0);
    let mut guard = LOCK.write().unwrap();
    guard.set(1);
    let names = [const { AtomicU32::new(0) }; 2];
    thread::scope(|scope| {
        scope.spawn(|| {
            names[0].store(gettid() as u32, Ordering::SeqCst);
            LOCK.write().unwrap().with(|value| *value += 1);
        });
        eventually("it sleeps", || value(&names[0]) != 0 && is_in_futex(value(&names[0]) as i32));
        let guard = WriteGuard::downgrade(guard).expect("the data is whole");
        eventually("the writer waits for the slot", || held_by(&LOCK)[0] == value(&names[0]));
        assert_eq!((guard.get(), held_by(&LOCK).contains(&(gettid() as u32))), (1, true));
        assert_eq!((read(LOCK.try_read()), write(LOCK.try_write())), ("would deadlock", "would block"));
        drop(guard);
    });
    let guard = LOCK.write().unwrap();
    assert_eq!(guard.get(), 2);
    let first = WriteGuard::downgrade(guard).expect("the data is whole");
    let second = LOCK.try_read().expect("beside another reader");
    assert_eq!((first.get(), second.get(), walk().len()), (2, 2, 2));
    drop((first, second));
    assert_eq!((held_by(&LOCK), walk().len()), (vec![0; 3], 0));
}

/// A writer that has news becomes a reader only once it has repaired the data.
#[test]
fn a_writer_that_has_not_repaired_stays_one() {
    let _alone = alone(&ALONE);
    static LOCK: RwLock<u64> = RwLock::new(0);
    dies(|| std::mem::forget(LOCK.write()));
    let Err(RwLockError::OwnerDied(guard)) = LOCK.read() else { panic!("a writer died") };
    let mut guard = WriteGuard::downgrade(guard).expect_err("the data is not whole");
    guard.set(7);
    guard.mark_consistent();
    let guard = WriteGuard::downgrade(guard).expect("repaired");
    dies(|| assert_eq!(LOCK.try_read().unwrap().get(), 7));
    drop(guard);
    // A thread that dies as the reader that it has become is no news.
    dies(|| std::mem::forget(WriteGuard::downgrade(LOCK.write().unwrap()).unwrap()));
    assert_eq!((read(LOCK.try_read()), write(LOCK.try_write())), ("ok", "ok"));
}
