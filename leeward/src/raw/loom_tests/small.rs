//! Models of the readers-writer lock and the small locks, as they ship, under loom: no two holders
//! at a time, what was done under a lock is seen by the next holder, and no wake-up is lost (a
//! deadlock, which loom reports). What loom cannot see: `futex/backend/model.rs`.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::thread;

use super::super::{Barrier, Event, Latch, Once, RwLock, Semaphore};
use crate::atomic::AtomicU32;
use crate::futex::Deadline;
use crate::models::{self, together};

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let set_up = || {
        crate::futex::wake(&AtomicU32::new(0), 1);
    };
    models::explore(preemptions, set_up, model);
}

/// A deadline that has come as soon as other threads have had their chance to run.
const NOW: Deadline = Deadline::at(Duration::ZERO);

struct Guarded {
    lock: RwLock,
    value: UnsafeCell<u32>,
}

loom::lazy_static! {
    static ref GUARDED: Guarded = Guarded { lock: <RwLock>::new(), value: UnsafeCell::new(0) };
}

fn write() {
    GUARDED.lock.lock_exclusive();
    written();
}

fn written() {
    // SAFETY: loom reports a thread that is here meanwhile.
    GUARDED.value.with_mut(|value| unsafe { *value += 1 });
    // SAFETY: locked by the caller.
    unsafe { GUARDED.lock.unlock_exclusive() };
}

fn read() {
    GUARDED.lock.lock_shared();
    seen();
}

fn seen() {
    // SAFETY: loom reports a thread that writes meanwhile.
    GUARDED.value.with(|value| assert!(unsafe { *value } < 10));
    // SAFETY: locked by the caller.
    unsafe { GUARDED.lock.unlock_shared() };
}

fn written_and_downgraded() {
    GUARDED.lock.lock_exclusive();
    // SAFETY: loom reports a thread that is here meanwhile.
    let value = GUARDED.value.with_mut(|value| unsafe {
        *value += 1;
        *value
    });
    // SAFETY: locked above.
    unsafe { GUARDED.lock.downgrade() };
    // SAFETY: loom reports a thread that writes meanwhile.
    GUARDED.value.with(|seen| assert_eq!(unsafe { *seen }, value));
    seen();
}

fn write_in_time() {
    if GUARDED.lock.lock_exclusive_until(NOW) {
        written();
    }
}

fn read_in_time() {
    if GUARDED.lock.lock_shared_until(NOW) {
        seen();
    }
}

#[test]
fn rwlock_two_writers_and_a_reader() {
    explore(2, || together([write, write, read]));
}

#[test]
fn rwlock_a_writer_and_two_readers() {
    explore(2, || together([read, read, write]));
}

#[test]
fn rwlock_writers_in_turn() {
    explore(3, || together([write, || (0..2).for_each(|_| write())]));
}

#[test]
fn rwlock_in_turn() {
    explore(3, || {
        together([
            || {
                read();
                write();
            },
            || {
                write();
                read();
            },
        ]);
    });
}

/// A writer that gives up lets in the readers that stayed out for it.
#[test]
fn rwlock_a_writer_that_gives_up() {
    explore(3, || together([write_in_time, read, write]));
    explore(3, || together([write_in_time, read, read]));
}

#[test]
fn rwlock_a_reader_that_gives_up() {
    explore(3, || together([read_in_time, write, write]));
}

#[test]
fn rwlock_downgrading() {
    explore(2, || together([written_and_downgraded, read, write]));
}

fn look() {
    GUARDED.lock.lock_upgradable();
    // SAFETY: loom reports a thread that writes meanwhile.
    GUARDED.value.with(|value| assert!(unsafe { *value } < 10));
    // SAFETY: locked above.
    unsafe { GUARDED.lock.unlock_upgradable() };
}

/// Locks as the upgradable reader, and writes if `upgrade` makes it the writer: then nothing was
/// written in between.
fn upgraded_by(upgrade: impl Fn(&RwLock) -> bool) {
    GUARDED.lock.lock_upgradable();
    // SAFETY: loom reports a thread that writes meanwhile.
    let value = GUARDED.value.with(|value| unsafe { *value });
    if upgrade(&GUARDED.lock) {
        // SAFETY: loom reports a thread that is here meanwhile.
        GUARDED.value.with_mut(|now| assert_eq!(unsafe { *now }, value));
        written();
    } else {
        // SAFETY: loom reports a thread that writes meanwhile.
        GUARDED.value.with(|now| assert_eq!(unsafe { *now }, value));
        // SAFETY: locked above, and not upgraded.
        unsafe { GUARDED.lock.unlock_upgradable() };
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
fn rwlock_an_upgrade_and_a_reader() {
    explore(3, || together([upgrade, read]));
    explore(2, || together([upgrade, read, read]));
}

#[test]
fn rwlock_an_upgrade_and_a_writer() {
    explore(3, || together([upgrade, write]));
    explore(2, || together([upgrade, write, read]));
}

/// Of two that sleep as writers, the one that comes next is woken, be it the first or the second.
#[test]
fn rwlock_an_upgrade_that_waits_beside_a_writer() {
    fn upgraded() {
        // SAFETY: locked by the model, and this thread goes on as the writer.
        unsafe { GUARDED.lock.upgrade() };
        written();
    }
    explore(2, || {
        GUARDED.lock.lock_upgradable();
        GUARDED.lock.lock_shared();
        together([upgraded, write, seen]);
    });
}

#[test]
fn rwlock_two_upgrades() {
    explore(3, || together([upgrade, upgrade]));
    explore(2, || together([upgrade, upgrade, read]));
}

#[test]
fn rwlock_upgradable_readers() {
    explore(2, || together([look, look, look]));
    explore(2, || together([look, look, write]));
}

/// An upgrade that gives up lets in those that stayed out for it.
#[test]
fn rwlock_an_upgrade_that_gives_up() {
    explore(2, || together([upgrade_in_time, read, write]));
    explore(2, || together([upgrade_in_time, read, read]));
    explore(2, || together([try_upgrade, upgrade_in_time, read]));
}

#[test]
fn rwlock_downgrading_from_and_to_upgradable() {
    fn down_and_up_again() {
        GUARDED.lock.lock_exclusive();
        // SAFETY: locked above.
        unsafe { GUARDED.lock.downgrade_to_upgradable() };
        // SAFETY: the upgradable reader since.
        unsafe { GUARDED.lock.upgrade() };
        written();
    }
    fn down() {
        GUARDED.lock.lock_upgradable();
        // SAFETY: locked above.
        unsafe { GUARDED.lock.downgrade_upgradable() };
        seen();
    }
    explore(2, || together([down_and_up_again, read, look]));
    explore(2, || together([down, look, write]));
}

/// The small locks, and values that are written before a lock is released and read after.
struct Handed {
    semaphore: Semaphore,
    barrier: Barrier,
    event: Event,
    latch: Latch,
    once: Once,
    values: [UnsafeCell<u32>; 2],
}

loom::lazy_static! {
    static ref HANDED: Handed = Handed {
        semaphore: Semaphore::new(0),
        barrier: Barrier::new(2),
        event: Event::new(),
        latch: Latch::new(2),
        once: Once::new(),
        values: [UnsafeCell::new(0), UnsafeCell::new(0)],
    };
}

fn put(place: usize) {
    // SAFETY: loom reports a thread that is here meanwhile.
    HANDED.values[place].with_mut(|value| unsafe { *value = 1 });
}

fn see(place: usize) {
    // SAFETY: loom reports a thread that writes meanwhile.
    HANDED.values[place].with(|value| assert_eq!(unsafe { *value }, 1));
}

fn taker() {
    HANDED.semaphore.acquire();
}

#[test]
fn semaphore_two_takers_and_two_releases() {
    explore(3, || together([taker, taker, || (0..2).for_each(|_| HANDED.semaphore.release(1))]));
    explore(3, || together([taker, taker, || HANDED.semaphore.release(2)]));
}

#[test]
fn semaphore_three_takers() {
    explore(1, || together([taker, taker, taker, || (1..=2).for_each(|permits| HANDED.semaphore.release(permits))]));
}

#[test]
fn semaphore_hands_on() {
    explore(4, || {
        together([
            || {
                put(0);
                HANDED.semaphore.release(1);
            },
            || {
                HANDED.semaphore.acquire();
                see(0);
            },
        ]);
    });
}

#[test]
fn semaphore_giving_up() {
    explore(3, || {
        together([
            || {
                if HANDED.semaphore.acquire_until(NOW) {
                    HANDED.semaphore.release(1);
                }
            },
            taker,
            || HANDED.semaphore.release(1),
        ]);
    });
}

#[test]
fn barrier_in_rounds() {
    fn rounds(mine: usize) {
        put(mine);
        HANDED.barrier.wait();
        see(1 - mine);
        HANDED.barrier.wait();
        put(mine);
    }
    explore(4, || together([|| rounds(0), || rounds(1)]));
}

/// One thread arrives and takes its arrival back, and two others meet. If it was met, it arrives
/// once more.
#[test]
fn barrier_giving_up() {
    fn waiter() {
        HANDED.barrier.wait();
    }
    fn timed() {
        if HANDED.barrier.wait_until(NOW).is_some() {
            waiter();
        }
    }
    explore(3, || together([waiter, waiter, timed]));
}

#[test]
fn event_hands_on() {
    fn waiter() {
        HANDED.event.wait();
        see(0);
    }
    explore(3, || {
        together([waiter, waiter, || {
            put(0);
            HANDED.event.set();
        }]);
    });
}

/// A thread that slept when the event was set goes, though the event is clear again when it
/// rechecks.
#[test]
fn event_set_and_cleared_at_once() {
    explore(4, || {
        let waiter = thread::spawn(|| {
            HANDED.event.wait();
        });
        // Until the waiter has marked the word.
        while HANDED.event.word.load(Relaxed) == 0 {
            thread::yield_now();
        }
        HANDED.event.set();
        HANDED.event.clear();
        waiter.join().unwrap();
    });
}

#[test]
fn latch_hands_on() {
    fn waiter() {
        HANDED.latch.wait();
        see(0);
        see(1);
    }
    explore(3, || {
        together([
            waiter,
            || {
                put(0);
                HANDED.latch.count_down(1);
            },
            || {
                put(1);
                HANDED.latch.arrive_and_wait();
                see(0);
            },
        ]);
    });
}

#[test]
fn once_hands_on() {
    fn caller() {
        HANDED.once.call_once(|| put(0));
        see(0);
    }
    fn waiter() {
        HANDED.once.wait();
        see(0);
    }
    explore(3, || together([caller, caller, caller]));
    explore(3, || together([waiter, waiter, caller]));
}
