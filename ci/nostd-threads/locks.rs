//! Asymmetric and robust locks, by several threads that come and go.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};

use leeward::asym::{Mutex, RwLock};
use leeward::futex::{Deadline, Private};
use leeward::robust;

use crate::runtime::{MAPPINGS, SHORT, in_child, on_a_thread, say, spawn};

pub fn all() {
    threads_meet();
    more_threads_than_the_library_has_slots_for();
    a_thread_keeps_its_words_apart();
    robust_locks();
}

fn threads_meet() {
    static TABLE: RwLock<[u64; 2]> = RwLock::new([0, 0]);
    static COUNT: Mutex<u64> = Mutex::new(0);
    let threads: Vec<_> = (0..4)
        .map(|me| {
            spawn(move || {
                for round in 0..20_000_u64 {
                    let read = TABLE.read();
                    assert!(read[0] == read[1]);
                    drop(read);
                    if round % 1000 == me {
                        let mut write = TABLE.write();
                        write[0] += 1;
                        *COUNT.lock() += 1;
                        write[1] += 1;
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join());
    assert!(TABLE.read()[0] == 80 && *COUNT.lock() == 80);
    say(c"locks: threads met");
}

/// A thousand threads, one after the other and forty at a time: each gives its slots back.
fn more_threads_than_the_library_has_slots_for() {
    static LOCK: RwLock<u32> = RwLock::new(7);
    let forty = || {
        let threads: Vec<_> = (0..40).map(|_| spawn(|| assert!(*LOCK.read() == 7))).collect();
        threads.into_iter().for_each(|thread| thread.join());
    };
    forty();
    let before = MAPPINGS.load(Ordering::Relaxed);
    (0..25).for_each(|_| forty());
    // Forty have slots in the registry or in the first mapping of it, which holds 48.
    assert!(LOCK.try_write().is_some() && MAPPINGS.load(Ordering::Relaxed) <= before + 1);
    say(c"locks: threads came and went");
}

/// Nested reads are found in the thread's own slots, and another thread's are not taken for them.
fn a_thread_keeps_its_words_apart() {
    static LOCK: RwLock<u32> = RwLock::new(1);
    static IS_READ: AtomicU32 = AtomicU32::new(0);
    drop(LOCK.read());
    let one = LOCK.read();
    let two = LOCK.read();
    on_a_thread(|| {
        assert!(LOCK.try_write().is_none());
        let own = LOCK.read();
        IS_READ.store(*own, Ordering::Relaxed);
    });
    assert!(IS_READ.load(Ordering::Relaxed) == 1 && LOCK.try_write().is_none());
    drop(one);
    assert!(LOCK.try_write().is_none());
    drop(two);
    assert!(LOCK.try_write().is_some());
    say(c"locks: each thread has its own words");
}

fn robust_locks() {
    static LOCK: robust::Mutex<u64> = robust::Mutex::new(1);
    match LOCK.lock() {
        Ok(mut value) => value.set(2),
        Err(robust::LockError::NoList(_)) => return say(c"locks: robust ones are not to be had here"),
        Err(_) => panic!("a free lock"),
    }
    let threads: Vec<_> = (0..4)
        .map(|_| {
            spawn(|| {
                for _ in 0..10_000 {
                    let Ok(mut value) = LOCK.lock() else { panic!("nobody died") };
                    value.with(|value| *value += 1);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join());
    assert!(LOCK.lock().is_ok_and(|value| value.get() == 40_002));
    // A thread exits with the lock.
    on_a_thread(|| core::mem::forget(LOCK.lock()));
    let Err(robust::LockError::OwnerDied(mut value)) = LOCK.lock() else { panic!("its owner died") };
    value.mark_consistent();
    // The child is another thread: it has neither the guard nor the kept number.
    let in_time = || Deadline::after::<Private>(SHORT);
    assert!(in_child(|| matches!(LOCK.try_lock_until(in_time()), Err(robust::LockError::TimedOut))));
    drop(value);
    assert!(in_child(|| LOCK.lock().is_ok() && LOCK.lock().is_ok_and(|value| value.get() == 40_002)));
    say(c"locks: robust ones outlived their owners");
}
