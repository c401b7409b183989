//! Models of the unlocks that hand over, as they ship, under loom: no two holders at a time, and no
//! lock stays reserved for a thread that is not there (a deadlock, since nothing expires in a model).

use std::time::Duration;

use loom::cell::UnsafeCell;

use super::super::{LightMutex, RwLock};
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
    light: LightMutex,
    value: UnsafeCell<u32>,
}

loom::lazy_static! {
    static ref GUARDED: Guarded =
        Guarded { lock: <RwLock>::new(), light: LightMutex::new(), value: UnsafeCell::new(0) };
}

fn add() {
    // SAFETY: loom reports a thread that is here meanwhile.
    GUARDED.value.with_mut(|value| unsafe { *value += 1 });
}

fn see() {
    // SAFETY: loom reports a thread that writes meanwhile.
    GUARDED.value.with(|value| assert!(unsafe { *value } < 10));
}

fn written() {
    add();
    // SAFETY: locked by the caller.
    unsafe { GUARDED.lock.unlock_exclusive_fair() };
}

fn write() {
    GUARDED.lock.lock_exclusive();
    written();
}

fn write_in_time() {
    if GUARDED.lock.lock_exclusive_until(NOW) {
        written();
    }
}

fn seen() {
    see();
    // SAFETY: locked by the caller.
    unsafe { GUARDED.lock.unlock_shared_fair() };
}

fn read() {
    GUARDED.lock.lock_shared();
    seen();
}

fn read_in_time() {
    if GUARDED.lock.lock_shared_until(NOW) {
        seen();
    }
}

fn looked() {
    see();
    // SAFETY: locked by the caller.
    unsafe { GUARDED.lock.unlock_upgradable_fair() };
}

fn look() {
    GUARDED.lock.lock_upgradable();
    looked();
}

fn look_in_time() {
    if GUARDED.lock.lock_upgradable_until(NOW) {
        looked();
    }
}

fn upgrade() {
    GUARDED.lock.lock_upgradable();
    // SAFETY: locked above, and goes on as the writer.
    unsafe { GUARDED.lock.upgrade() };
    written();
}

/// Explores what `works` do with a lock that is held for writing.
fn from_a_writer(works: [fn(); 3]) {
    explore(2, move || {
        GUARDED.lock.lock_exclusive();
        together(works);
    });
}

/// A writer that comes to a lock which is reserved for a reader does not keep that reader out.
#[test]
fn rwlock_from_a_writer_to_a_reader() {
    from_a_writer([written, read, write]);
    from_a_writer([written, read, write_in_time]);
    from_a_writer([written, read_in_time, write]);
}

/// A reader that ends a reservation lets the threads go on that slept because of it.
#[test]
fn rwlock_from_a_writer_to_a_reader_beside_upgradable_ones() {
    from_a_writer([written, read, look]);
    from_a_writer([written, look, look]);
    from_a_writer([written, read_in_time, look]);
    from_a_writer([written, read, upgrade]);
}

#[test]
fn rwlock_from_a_writer_to_a_writer() {
    from_a_writer([written, write, write]);
    from_a_writer([written, write_in_time, write]);
}

#[test]
fn rwlock_from_a_reader() {
    let from_a_reader = |works: [fn(); 3]| {
        explore(2, move || {
            GUARDED.lock.lock_shared();
            together(works);
        });
    };
    from_a_reader([seen, write, write]);
    from_a_reader([seen, write_in_time, write]);
    from_a_reader([seen, write, read]);
    from_a_reader([seen, write_in_time, read]);
    from_a_reader([seen, write, upgrade]);
}

#[test]
fn rwlock_from_the_upgradable_reader() {
    let from_the_upgradable = |works: [fn(); 3]| {
        explore(2, move || {
            GUARDED.lock.lock_upgradable();
            together(works);
        });
    };
    from_the_upgradable([looked, look, write]);
    from_the_upgradable([looked, look, look]);
    from_the_upgradable([looked, look_in_time, look]);
    from_the_upgradable([looked, look_in_time, write]);
    from_the_upgradable([looked, upgrade, write_in_time]);
}

#[test]
fn rwlock_bumps() {
    fn bumped() {
        GUARDED.lock.lock_exclusive();
        add();
        // SAFETY: locked above.
        unsafe { GUARDED.lock.bump_exclusive() };
        written();
    }
    explore(2, || together([bumped, read, write]));
    explore(2, || together([bumped, look, read]));
}

fn added() {
    add();
    // SAFETY: locked by the caller.
    unsafe { GUARDED.light.unlock_fair() };
}

fn lock() {
    GUARDED.light.lock();
    added();
}

fn lock_in_time() {
    if GUARDED.light.try_lock_until(NOW) {
        added();
    }
}

fn lock_plainly() {
    GUARDED.light.lock();
    add();
    // SAFETY: locked above.
    unsafe { GUARDED.light.unlock() };
}

#[test]
fn light_mutex_two_threads() {
    explore(3, || together([lock, lock]));
    explore(3, || together([|| (0..2).for_each(|_| lock()), lock]));
    explore(3, || together([lock, lock_in_time]));
}

#[test]
fn light_mutex_three_threads() {
    explore(2, || together([lock, lock, lock]));
    explore(2, || together([lock, lock_in_time, lock_plainly]));
    explore(2, || {
        GUARDED.light.lock();
        together([added, lock_in_time, lock]);
    });
}
