//! What another process writes into a lock's words: a call may wait, return early or panic, and
//! does nothing else.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/garbage.rs"]
mod garbage;
#[path = "../common/processes.rs"]
mod processes;
#[path = "../common/seccomp.rs"]
mod seccomp;
#[macro_use]
#[path = "../common/small_locks.rs"]
mod small_locks;

use common::*;
use garbage::{is_survived, is_survived_with, overwrite, overwrite_at};
use processes::*;
use small_locks::SmallLock;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU32;
use std::thread;
use std::time::Duration;

use leeward::futex::{Deadline, Futex, Shared};
use leeward::raw::{Plain, Requeue, Scheme, WakeOp};
use leeward::shared::{AnyBytes, Barrier, Condvar, Event, Latch, Mutex, Once, RwLock, RwLockUpgradableReadGuard};
use leeward::shared::{RwLockWriteGuard, Semaphore};
use leeward::{pi, robust};

const SOON: Duration = Duration::from_micros(10);

fn deadline() -> Deadline {
    Deadline::after::<Shared>(SOON)
}

#[test]
fn mutexes() {
    let mutex = region::<Mutex<u32>>(|_| {});
    is_survived("a mutex", |word| {
        overwrite(&*mutex, [word]);
        drop(mutex.try_lock());
        drop(mutex.try_lock_for(SOON));
    });
    is_survived("a held mutex", |word| {
        overwrite(&*mutex, [0]);
        let held = mutex.lock();
        overwrite(&*mutex, [word]);
        drop(held);
        drop(mutex.try_lock_for(SOON));
    });
}

#[test]
fn rwlocks() {
    let lock = region::<RwLock<u32>>(|_| {});
    is_survived("a rwlock", |word| {
        for wakes in [0, word] {
            overwrite(&*lock, [word, wakes]);
            drop(lock.try_read());
            drop(lock.try_read_for(SOON));
            drop(lock.try_write());
            drop(lock.try_write_for(SOON));
        }
    });
    is_survived("a rwlock that is read", |word| {
        overwrite(&*lock, [0, 0]);
        let held = lock.read();
        overwrite(&*lock, [word]);
        drop(held);
        drop(lock.try_write_for(SOON));
    });
    is_survived("a rwlock that is written", |word| {
        overwrite(&*lock, [0, 0]);
        let held = lock.write();
        overwrite(&*lock, [word]);
        drop(held);
        drop(lock.try_read_for(SOON));
    });
}

#[test]
fn upgradable_readers() {
    let lock = region::<RwLock<u32>>(|_| {});
    is_survived("a rwlock", |word| {
        for wakes in [0, word] {
            overwrite(&*lock, [word, wakes]);
            drop(lock.try_upgradable_read());
            drop(lock.try_upgradable_read_for(SOON));
        }
    });
    is_survived("a rwlock with an upgradable reader", |word| {
        // An upgrade that gives up waits for room in a lock that seems to be full of readers.
        let word = if word & 0xf_ffff >= 0xf_fffe { word & !0xff } else { word };
        for end in [
            drop::<RwLockUpgradableReadGuard<'_, u32>>,
            |guard| drop(RwLockUpgradableReadGuard::downgrade(guard)),
            |guard| drop(RwLockUpgradableReadGuard::try_upgrade(guard)),
            |guard| drop(RwLockUpgradableReadGuard::try_upgrade_for(guard, SOON)),
        ] {
            overwrite(&*lock, [0, 0]);
            let held = lock.upgradable_read();
            overwrite(&*lock, [word]);
            end(held);
            drop(lock.try_write_for(SOON));
        }
    });
    is_survived("a rwlock that is written", |word| {
        overwrite(&*lock, [0, 0]);
        let held = lock.write();
        overwrite(&*lock, [word]);
        drop(RwLockWriteGuard::downgrade_to_upgradable(held));
        drop(lock.try_read_for(SOON));
    });
}

/// As many readers as can be counted, or a word that says so: a reader waits for one that leaves.
#[test]
fn a_rwlock_that_is_full() {
    const MOST: u32 = (1 << 20) - 2;
    let _dog = Watchdog::new("a_rwlock_that_is_full");
    let lock = region::<RwLock<u32>>(|_| {});
    overwrite(&*lock, [MOST]);
    assert!(lock.try_read().is_none() && lock.try_read_for(GLANCE).is_none());
    thread::scope(|scope| {
        let reader = scope.spawn(|| drop(lock.read()));
        thread::sleep(GLANCE);
        assert!(!reader.is_finished());
        overwrite(&*lock, [MOST - 1]);
        reader.join().unwrap();
    });
    assert!(lock.try_read().is_some(), "the reader that had waited is counted still");
}

#[test]
fn semaphores() {
    let semaphore = region::<Semaphore>(|_| {});
    is_survived("a semaphore", |word| {
        overwrite(&*semaphore, [word]);
        semaphore.acquire_for(SOON);
        semaphore.release(1);
        semaphore.release(0);
        semaphore.release(u32::MAX);
    });
    // A permit is given back while a panic unwinds.
    is_survived("a permit", |word| {
        overwrite(&*semaphore, [1]);
        let _permit = semaphore.permit();
        overwrite(&*semaphore, [word]);
        panic!("elsewhere");
    });
}

#[test]
fn barriers() {
    let barrier = region::<Barrier>(|_| {});
    is_survived("a barrier", |word| {
        for size in [0, 1, 2, word, u32::MAX] {
            overwrite(&*barrier, [word, size]);
            barrier.wait_for(SOON);
            overwrite(&*barrier, [size, word]);
            barrier.wait_for(SOON);
        }
    });
}

#[test]
fn events_and_latches() {
    let event = region::<Event>(|_| {});
    is_survived("an event", |word| {
        overwrite(&*event, [word]);
        assert!(Event::wait_any_until(&[&event], deadline()).is_ok());
        event.set();
        assert!(event.is_set() && event.wait_for(SOON) && event.clear());
    });
    let latch = region::<Latch>(|_| {});
    is_survived("a latch", |word| {
        overwrite(&*latch, [word]);
        latch.count_down(u32::MAX);
    });
}

fn small<L: SmallLock + AnyBytes>(name: &str) {
    let lock = region::<L>(|_| {});
    is_survived(name, |word| {
        overwrite(&*lock, [word]);
        lock.wait_until(deadline());
        lock.let_go();
    });
}

macro_rules! small {
    ($($name:ident: $lock:ident $row:tt)*) => {
        #[test]
        fn each_small_lock() {
            $(small::<leeward::raw::$lock<Shared>>(stringify!($name));)*
        }
    };
}
for_each_small_lock! { small }

/// A call on a word that is none of its values waits without a limit: such words are not tried.
#[test]
fn onces() {
    let once = region::<Once>(|_| {});
    is_survived("a once", |word| {
        overwrite(&*once, [word]);
        assert_eq!(once.is_completed(), word == 3);
    });
    is_survived_with("a once that somebody waits for", &[0, 3, 4], |word| {
        overwrite(&*once, [word]);
        once.call_once(|| ());
        assert!(once.is_completed());
    });
    is_survived("a once that runs", |word| {
        overwrite(&*once, [0]);
        once.call_once(|| overwrite(&*once, [word]));
        assert!(once.is_completed());
    });
}

/// Tries all words except the inner lock, which is free.
fn condvars<S: Scheme>() {
    let (mutex, words) = (region::<Mutex<()>>(|_| {}), region::<[AtomicU32; 8]>(|_| {}));
    // SAFETY: as long, aligned to a page and 64 bytes, any bytes are one, and words that are
    // changed are atomic.
    let condition = unsafe { &*core::ptr::from_ref(&*words).cast::<Condvar<S>>() };
    let mut random = Rng::new(8);
    is_survived_with("a condition variable", &garbage::words(), |word| {
        let mut any = || random_or(word, &mut random);
        overwrite(&*words, [0, any(), any(), any(), any(), any(), any(), any()]);
        condition.notify_all();
        // SAFETY: no thread waits.
        unsafe { condition.notify_all_of(&mutex) };
        condition.wait_for(&mut mutex.lock(), SOON);
        condition.notify_one();
    });
}

fn random_or(word: u32, random: &mut Rng) -> u32 {
    if random.below(2) == 0 { word } else { random.next() as u32 }
}

#[test]
fn condvars_three_ways() {
    condvars::<Plain>();
    condvars::<Requeue>();
    condvars::<WakeOp>();
}

/// A shared condition variable keeps no mutex: whatever stands where a private one keeps it, no
/// caller is told that there are two.
#[test]
fn no_pointer_of_another_process_counts() {
    let _dog = Watchdog::new("no_pointer_of_another_process_counts");
    let (mutex, words) = (region::<Mutex<()>>(|_| {}), region::<[AtomicU32; 8]>(|_| {}));
    // SAFETY: as in `condvars`.
    let condition = unsafe { &*core::ptr::from_ref(&*words).cast::<Condvar>() };
    for process in [0, 1, 2, 3, u32::MAX] {
        // One waiter that came with another mutex, in a process of that number.
        overwrite(&*words, [0, 0, 1, 0, 0x1000, 0, process, 0]);
        assert!(!condition.wait_for(&mut mutex.lock(), SOON));
    }
}

#[test]
fn priority_inheriting_locks() {
    #[repr(transparent)]
    struct Word(pi::RawMutex<true>);
    // SAFETY: two words, of which any bytes are one.
    unsafe impl AnyBytes for Word {}
    let lock = region::<Word>(|_| {});
    is_survived("a priority-inheriting lock", |word| {
        for gone in [0, word] {
            overwrite(&*lock, [word, gone]);
            let taken = [lock.0.try_lock(), lock.0.lock_until(Deadline::at(Shared::now().since_beginning() + SOON))];
            // SAFETY: the thread has locked it, once or twice.
            taken.iter().filter(|taken| taken.is_ok()).for_each(|_| unsafe { lock.0.unlock() });
        }
    });
}

/// Tries the word, the state and the sleepers; the links are addresses, which are believed.
fn robust_mutexes<U: robust::Unlock>() {
    let mutex = region::<robust::Mutex<u32, U>>(|_| {}).leak();
    is_survived("a robust mutex", |word| {
        for [state, sleepers] in [[0, 0], [word, word], [1, word], [0, word]] {
            overwrite(mutex, [word, state, sleepers, word & 1]);
            // Free, or taken by the thread that its word names: then the guard gives it up.
            let _ = mutex.try_lock();
            let _ = mutex.try_lock_for(SOON);
            let _ = mutex.is_unrecoverable();
        }
    });
    is_survived("a robust mutex that is held", |word| {
        overwrite(mutex, [0, 0, 0, 0]);
        let held = mutex.lock().unwrap();
        overwrite(mutex, [word, word, word, word]);
        drop(held);
        let _ = mutex.try_lock_for(SOON);
    });
}

#[test]
fn robust_mutexes_both_ways() {
    robust_mutexes::<robust::ByExchange>();
    robust_mutexes::<robust::ByStore>();
}

/// A word that ends the child that tries it is noticed.
#[test]
fn what_ends_a_process_is_seen() {
    let died = catch_unwind(AssertUnwindSafe(|| {
        is_survived_with("an abort", &[1, 2, 3], |word| {
            if word == 2 {
                std::process::abort();
            }
        });
    }));
    let said = *died.unwrap_err().downcast::<String>().unwrap();
    assert!(said.contains("the word 0x2 ended the process"), "{said}");
}

/// Tries the writers' word, its state, the mark of a writer, and the words of both slots.
#[test]
fn robust_rwlocks() {
    let lock = region::<robust::RwLock<u32, 2>>(|_| {}).leak();
    // The links between these words are addresses, which are believed.
    let fill = |words: [u32; 5]| {
        for (at, word) in [0, 1, 10, 16, 32].into_iter().zip(words) {
            overwrite_at(lock, at, word);
        }
    };
    is_survived("a robust rwlock", |word| {
        for words in [[word, word, 0, 0, 0], [word, 1, word, 0, 0], [0, word, word, word, 0], [word, 0, 1, word, word]]
        {
            for is_reader in [true, false] {
                fill(words);
                if is_reader {
                    let _ = lock.try_read();
                    let _ = lock.try_read_for(SOON);
                } else {
                    let _ = lock.try_write();
                    let _ = lock.try_write_for(SOON);
                }
                let _ = lock.is_unrecoverable();
            }
        }
    });
    is_survived("a robust rwlock that is held", |word| {
        for is_reader in [true, false] {
            fill([0; 5]);
            let held = if is_reader { (lock.try_read().ok(), None) } else { (None, lock.try_write().ok()) };
            fill([word; 5]);
            drop(held);
            let _ = lock.try_read_for(SOON);
            let _ = lock.try_write_for(SOON);
        }
    });
}
