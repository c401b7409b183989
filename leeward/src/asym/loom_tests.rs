//! Models of the asymmetric locks, as they ship, under loom: two threads are never inside together,
//! what was done under a lock is seen by the next holder, and no wake-up is lost (a deadlock, which
//! loom reports). `ci/model` runs them, and demands that the mutants die that it lists. Light and
//! heavy fences are full ones here: see `atomic.rs`.

use std::time::Duration;

use loom::cell::UnsafeCell;

use super::{RawMutex, RawRwLock, local};
use crate::atomic::AtomicU32;
use crate::fence;
use crate::futex::Deadline;
use crate::models::{self, together};

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let set_up = || {
        fence::light();
        crate::futex::wake(&AtomicU32::new(0), 1);
        local::mine();
        let _ = &*SHARED;
    };
    models::explore(preemptions, set_up, model);
}

/// A deadline that has passed as soon as other threads have had their chance.
const NOW: Deadline = Deadline::at(Duration::ZERO);

struct Shared {
    lock: RawRwLock,
    mutex: RawMutex,
    value: UnsafeCell<u32>,
}

loom::lazy_static! {
    static ref SHARED: Shared = Shared { lock: RawRwLock::new(), mutex: RawMutex::new(), value: UnsafeCell::new(0) };
}

/// Reads once by the ordinary lock, so that readers use their slots from now on.
fn open() {
    SHARED.lock.lock_shared();
    seen();
}

fn write() {
    SHARED.lock.lock_exclusive();
    written();
}

fn try_write() {
    if SHARED.lock.try_lock_exclusive() {
        written();
    }
}

fn write_in_time() {
    if SHARED.lock.lock_exclusive_until(NOW) {
        written();
    }
}

fn written() {
    // SAFETY: loom reports any thread that is here meanwhile.
    SHARED.value.with_mut(|value| unsafe { *value += 1 });
    // SAFETY: locked by the caller.
    unsafe { SHARED.lock.unlock_exclusive() };
}

fn read() {
    SHARED.lock.lock_shared();
    seen();
}

fn seen() {
    // SAFETY: loom reports any thread that writes meanwhile.
    SHARED.value.with(|value| assert!(unsafe { *value } < 10));
    // SAFETY: locked by the caller.
    unsafe { SHARED.lock.unlock_shared() };
}

fn read_nested() {
    SHARED.lock.lock_shared();
    read();
    seen();
}

#[test]
fn rwlock_a_reader_and_a_writer() {
    explore(4, || {
        open();
        together([write, read]);
    });
}

#[test]
fn rwlock_two_readings_and_two_writings() {
    explore(3, || {
        open();
        together([|| (0..2).for_each(|_| write()), || (0..2).for_each(|_| read())]);
    });
}

#[test]
fn rwlock_two_readers_and_a_writer() {
    explore(1, || {
        open();
        together([read, read, write]);
    });
}

#[test]
fn rwlock_two_writers_and_a_reader() {
    explore(2, || {
        open();
        together([write, write, read]);
    });
}

/// The reader that opens the lock again hands on what the writer wrote.
#[test]
fn rwlock_opened_again() {
    explore(3, || {
        open();
        together([
            || {
                write();
                read();
            },
            read,
        ]);
    });
}

/// The nested read passes the writer that waits for the outer one, by slot and by the ordinary
/// lock.
#[test]
fn rwlock_nested() {
    explore(3, || {
        open();
        together([write, read_nested]);
    });
    explore(3, || together([write, read_nested]));
}

#[test]
fn rwlock_trying_and_giving_up() {
    explore(3, || {
        open();
        together([try_write, read]);
    });
    explore(2, || {
        open();
        together([write_in_time, read, write]);
    });
}

/// Locks as the upgradable reader, and writes if `upgrade` makes it the writer: then nothing was
/// written in between.
fn upgraded_by(upgrade: impl Fn(&RawRwLock) -> bool) {
    SHARED.lock.lock_upgradable();
    // SAFETY: loom reports any thread that writes meanwhile.
    let value = SHARED.value.with(|value| unsafe { *value });
    if upgrade(&SHARED.lock) {
        // SAFETY: loom reports any thread that is here meanwhile.
        SHARED.value.with_mut(|now| assert_eq!(unsafe { *now }, value));
        written();
    } else {
        // SAFETY: loom reports any thread that writes meanwhile.
        SHARED.value.with(|now| assert_eq!(unsafe { *now }, value));
        // SAFETY: locked above, and not upgraded.
        unsafe { SHARED.lock.unlock_upgradable() };
    }
}

fn upgrade() {
    upgraded_by(|lock| {
        // SAFETY: locked by the caller, who goes on as the writer.
        unsafe { lock.upgrade() };
        true
    });
}

fn upgrade_in_time() {
    // SAFETY: locked by the caller, who goes on as what is returned.
    upgraded_by(|lock| unsafe { lock.upgrade_until(NOW) });
}

fn try_upgrade() {
    // SAFETY: locked by the caller, who goes on as what is returned.
    upgraded_by(|lock| unsafe { lock.try_upgrade() });
}

#[test]
fn rwlock_an_upgrade() {
    explore(3, || {
        open();
        together([upgrade, read]);
    });
    explore(2, || {
        open();
        together([upgrade, write]);
    });
}

#[test]
fn rwlock_upgrades_that_give_up() {
    explore(2, || {
        open();
        together([upgrade_in_time, read]);
    });
    explore(2, || {
        open();
        together([try_upgrade, read]);
    });
}

/// An upgrade meets a writer that has closed the lock before it has the ordinary one, and a reader in
/// its slot. Where the upgrade gives up, that writer has to close the lock again.
#[test]
fn rwlock_an_upgrade_while_a_writer_closes() {
    for meets in [upgrade, upgrade_in_time, try_upgrade] {
        explore(2, move || {
            open();
            together([meets, write, read]);
        });
    }
}

/// The thread of the upgradable reader reads besides, past a writer that waits, and becomes a reader.
#[test]
fn rwlock_downgrading_an_upgradable_reader() {
    fn down() {
        SHARED.lock.lock_upgradable();
        SHARED.lock.lock_shared();
        // SAFETY: locked above.
        unsafe { SHARED.lock.downgrade_upgradable() };
        seen();
        seen();
    }
    explore(2, || {
        open();
        together([down, write]);
    });
    explore(2, || together([down, write]));
}

fn lock() {
    SHARED.mutex.lock();
    unlock();
}

fn unlock() {
    // SAFETY: loom reports any thread that is here meanwhile.
    SHARED.value.with_mut(|value| unsafe { *value += 1 });
    // SAFETY: locked by the caller.
    unsafe { SHARED.mutex.unlock() };
}

fn lock_twice() {
    lock();
    lock();
}

fn try_lock() {
    if SHARED.mutex.try_lock() {
        unlock();
    }
}

fn lock_in_time() {
    if SHARED.mutex.try_lock_until(NOW) {
        unlock();
    }
}

/// Runs `works`; the last one on the calling thread, which is the owner.
fn biased<const N: usize>(works: [fn(); N]) {
    lock();
    together(works);
}

#[test]
fn mutex_owner_and_revoker() {
    explore(4, || biased([lock, lock]));
}

/// The bias goes to the other thread, and perhaps back.
#[test]
fn mutex_bias_that_wanders() {
    explore(3, || biased([lock_twice, lock_twice]));
    explore(2, || biased([|| (0..3).for_each(|_| lock()), lock_twice]));
}

#[test]
fn mutex_two_revokers() {
    explore(2, || biased([lock, lock, lock]));
}

#[test]
fn mutex_trying_and_giving_up() {
    explore(3, || biased([try_lock, lock]));
    explore(2, || biased([lock_in_time, lock, lock]));
}

/// An owner and others hand the mutex over, and bump it.
#[test]
fn mutex_fair_unlocks() {
    fn lock_fairly() {
        SHARED.mutex.lock();
        // SAFETY: loom reports any thread that is here meanwhile.
        SHARED.value.with_mut(|value| unsafe { *value += 1 });
        // SAFETY: locked above.
        unsafe { SHARED.mutex.unlock_fair() };
    }
    fn bump() {
        SHARED.mutex.lock();
        // SAFETY: locked above.
        unsafe { SHARED.mutex.bump() };
        unlock();
    }
    explore(3, || biased([lock_fairly, lock_fairly]));
    explore(2, || biased([lock_fairly, lock_in_time, lock_fairly]));
    explore(2, || biased([bump, bump]));
}

/// Readers by a slot and by the ordinary lock, and writers, hand the lock over.
#[test]
fn rwlock_fair_unlocks() {
    fn read_fairly() {
        SHARED.lock.lock_shared();
        // SAFETY: loom reports any thread that writes meanwhile.
        SHARED.value.with(|value| assert!(unsafe { *value } < 10));
        // SAFETY: locked above.
        unsafe { SHARED.lock.unlock_shared_fair() };
    }
    fn write_fairly() {
        SHARED.lock.lock_exclusive();
        // SAFETY: loom reports any thread that is here meanwhile.
        SHARED.value.with_mut(|value| unsafe { *value += 1 });
        // SAFETY: locked above.
        unsafe { SHARED.lock.unlock_exclusive_fair() };
    }
    explore(2, || together([read_fairly, write_fairly]));
    explore(2, || {
        open();
        together([read_fairly, write_fairly]);
    });
    explore(1, || {
        open();
        together([read_fairly, write_fairly, write_fairly]);
    });
}
