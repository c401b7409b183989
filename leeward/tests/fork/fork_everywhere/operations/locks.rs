//! The operations of locks. A lock that the child finds free can be taken there, however it was
//! left.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leeward::sync::RwLockUpgradableReadGuard;
use leeward::sync::{Condvar, FairMutex, LightMutex, LightMutexGuard, Mutex, MutexGuard, ReentrantMutex};
use leeward::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use leeward::{pi, raw, task};

use super::super::case::Beside;
use super::Operation;

operations! {
    "locks";
    mutex: || drop(MUTEX.lock()) => left(mutex_is_usable);
    mutex_tried: || drop(MUTEX.try_lock().unwrap()) => left(mutex_is_usable);
    mutex_timed: || drop(MUTEX.try_lock_for(SHORT).unwrap()) => left(mutex_is_usable);
    mutex_awaited: || drop(MUTEX.lock()) => beside(holds_the_mutex).left(mutex_is_usable);
    mutex_given_up: || drop(MUTEX.try_lock_for(SHORT)) => beside(holds_the_mutex).left(mutex_is_usable);
    mutex_unlocked_fairly: || MutexGuard::unlock_fair(MUTEX.lock()) => left(mutex_is_usable);
    mutex_unlocked_for_another: unlock_for_another => beside(takes_the_mutex).left(mutex_is_usable);
    fair: || drop(FAIR.lock()) => left(fair_is_usable);
    fair_awaited: || drop(FAIR.lock()) => beside(holds_the_fair).left(fair_is_usable);
    reentrant: || drop((REENTRANT.lock(), REENTRANT.lock())) => left(reentrant_is_usable);
    reentrant_awaited: || drop((REENTRANT.lock(), REENTRANT.lock())) => beside(holds_the_reentrant)
        .left(reentrant_is_usable);
    light: || drop(LIGHT.lock()) => left(light_is_usable);
    light_awaited: || drop(LIGHT.lock()) => beside(holds_the_light).left(light_is_usable);
    light_unlocked_fairly: || LightMutexGuard::unlock_fair(LIGHT.lock()) => left(light_is_usable);
    light_unlocked_for_another: || LightMutexGuard::unlock_fair(LIGHT.lock()) => beside(holds_the_light)
        .left(light_is_usable);
    read: || drop(RWLOCK.read()) => left(rwlock_is_usable);
    read_unlocked_fairly: || RwLockReadGuard::unlock_fair(RWLOCK.read()) => beside(writes).left(rwlock_is_usable);
    written_unlocked_fairly: || RwLockWriteGuard::unlock_fair(RWLOCK.write()) => beside(reads).left(rwlock_is_usable);
    upgradable_unlocked_fairly: || RwLockUpgradableReadGuard::unlock_fair(RWLOCK.upgradable_read()) =>
        beside(writes).left(rwlock_is_usable);
    read_tried: || drop(RWLOCK.try_read().unwrap()) => left(rwlock_is_usable);
    written: || drop(RWLOCK.write()) => left(rwlock_is_usable);
    written_tried: || drop(RWLOCK.try_write().unwrap()) => left(rwlock_is_usable);
    read_awaited: || drop(RWLOCK.read()) => beside(writes).left(rwlock_is_usable);
    write_awaited: || drop(RWLOCK.write()) => beside(writes).left(rwlock_is_usable);
    write_awaited_behind_a_reader: || drop(RWLOCK.write()) => beside(reads).left(rwlock_is_usable);
    write_given_up: || drop(RWLOCK.try_write_for(SHORT)) => beside(reads).left(rwlock_is_usable);
    upgraded: || drop(RwLockUpgradableReadGuard::upgrade(RWLOCK.upgradable_read())) => left(rwlock_is_usable);
    upgradable_read_awaited: || drop(RWLOCK.upgradable_read()) => beside(reads_upgradably).left(rwlock_is_usable);
    upgrade_awaited: || drop(RwLockUpgradableReadGuard::upgrade(RWLOCK.upgradable_read())) => beside(reads)
        .left(rwlock_is_usable);
    upgrade_given_up: || drop(RwLockUpgradableReadGuard::try_upgrade_for(RWLOCK.upgradable_read(), SHORT)) =>
        beside(reads).left(rwlock_is_usable);
    condvar_timed: || {
        CONDVAR.wait_for(&mut MUTEX.lock(), SHORT);
    } => left(mutex_is_usable);
    condvar_awaited: || {
        CONDVAR.wait_for(&mut MUTEX.lock(), LONG);
    } => beside(notifies).left(mutex_is_usable);
    condvar_awaited_plainly: || {
        PLAIN.wait_for(&mut MUTEX.lock(), LONG);
    } => beside(notifies).left(mutex_is_usable);
    condvar_notified: || {
        CONDVAR.notify_one();
        CONDVAR.notify_all();
    } => beside(waits).left(mutex_is_usable);
    tasks: hand_over_between_tasks => left(tasks_are_usable);
    lending: || drop(LENDING.lock().unwrap());
    lending_tried: || drop(LENDING.try_lock().unwrap());
    lending_awaited: || drop(LENDING.lock().unwrap()) => beside(holds_what_lends);
    lending_timed: || drop(LENDING.try_lock_for(SHORT)) => beside(holds_what_lends);
}

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(5);

static MUTEX: Mutex<u32> = Mutex::new(0);
static FAIR: FairMutex<u32> = FairMutex::new(0);
static REENTRANT: ReentrantMutex<u32> = ReentrantMutex::new(0);
static LIGHT: LightMutex<u32> = LightMutex::new(0);
static RWLOCK: RwLock<u32> = RwLock::new(0);
static CONDVAR: Condvar = Condvar::new();
static PLAIN: Condvar<raw::Plain> = Condvar::with_scheme();
static TASKS: task::Mutex<u32> = task::Mutex::const_new(0);
static LENDING: pi::Mutex<u32> = pi::Mutex::new(0);

fn mutex_is_usable() -> bool {
    MUTEX.is_locked() || MUTEX.try_lock_for(LONG).is_some()
}

/// Queues two tasks, of which one is handed the mutex and one gives up.
fn hand_over_between_tasks() {
    let mut context = Context::from_waker(Waker::noop());
    let guard = TASKS.try_lock().unwrap();
    let (mut first, mut second) = (pin!(TASKS.lock()), Box::pin(TASKS.lock()));
    assert!(first.as_mut().poll(&mut context).is_pending() && second.as_mut().poll(&mut context).is_pending());
    drop(second);
    drop(guard);
    assert!(first.as_mut().poll(&mut context).is_ready());
}

/// In the child nobody is queued, and the queue's lock is free, whatever the parent's thread did.
fn tasks_are_usable() -> bool {
    let mut context = Context::from_waker(Waker::noop());
    let mut task = pin!(TASKS.lock());
    match task.as_mut().poll(&mut context) {
        Poll::Ready(guard) => {
            let mut next = pin!(TASKS.lock());
            let waits = next.as_mut().poll(&mut context).is_pending();
            drop(guard);
            waits && next.as_mut().poll(&mut context).is_ready()
        }
        Poll::Pending => TASKS.try_lock().is_err(),
    }
}

fn fair_is_usable() -> bool {
    FAIR.is_locked() || FAIR.try_lock_for(LONG).is_some()
}

fn reentrant_is_usable() -> bool {
    REENTRANT.is_locked() || REENTRANT.try_lock_for(LONG).is_some()
}

fn light_is_usable() -> bool {
    LIGHT.is_locked() || LIGHT.try_lock_for(LONG).is_some()
}

fn rwlock_is_usable() -> bool {
    RWLOCK.is_locked() || RWLOCK.try_read_for(LONG).is_some() && RWLOCK.try_write_for(LONG).is_some()
}

holding! {
    holds_the_mutex: MUTEX.lock();
    holds_the_fair: FAIR.lock();
    holds_the_reentrant: REENTRANT.lock();
    holds_the_light: LIGHT.lock();
    writes: RWLOCK.write();
    reads: RWLOCK.read();
    reads_upgradably: RWLOCK.upgradable_read();
    holds_what_lends: LENDING.lock().unwrap();
}

fn unlock_for_another() {
    let guard = MUTEX.lock();
    // SAFETY: has no precondition. Meanwhile the other thread goes to sleep.
    unsafe { libc::usleep(2_000) };
    drop(guard);
}

fn takes_the_mutex(beside: &Beside<'_>) {
    // When the stepped thread sleeps, it holds the mutex.
    beside.until_it_sleeps();
    drop(MUTEX.lock());
}

fn notifies(beside: &Beside<'_>) {
    beside.until_it_sleeps();
    let guard = MUTEX.lock();
    CONDVAR.notify_all();
    PLAIN.notify_all();
    drop(guard);
}

fn waits(beside: &Beside<'_>) {
    let mut guard = MUTEX.lock();
    beside.is_ready();
    CONDVAR.wait_for(&mut guard, 10 * SHORT);
}

/// Tries the operations that issue heavy fences.
#[test]
fn with_signals() {
    crate::with_signals("locks", &["light_awaited"]);
}
