//! The operations of what threads wait for without an owner: semaphores, events, barriers, and what is
//! done once. (`small.rs` has those that are the same for all small locks.)

use std::time::Duration;

use leeward::sync::{Barrier, Event, LazyLock, Once, OnceLock, Poison, Semaphore, poison};

use super::super::case::Beside;
use super::Operation;

operations! {
    "waits";
    semaphore: || {
        SEMAPHORE.acquire();
        SEMAPHORE.release(1);
    } => left(semaphore_is_usable);
    semaphore_permit: || drop(SEMAPHORE.permit()) => left(semaphore_is_usable);
    semaphore_released: || EMPTY.release(1) => beside(acquires).left(empty_is_usable);
    event_set: || {
        EVENT.set();
        EVENT.clear();
    } => beside(waits_for_the_event).left(event_is_usable);
    event_awaited: || {
        EVENT.wait_for(LONG);
        EVENT.clear();
    } => beside(sets).left(event_is_usable);
    event_any: || {
        Event::wait_any(&[&EVENT, &NEVER]).unwrap();
        EVENT.clear();
    } => beside(sets).left(event_is_usable);
    barrier: || assert!(Barrier::new(1).wait().is_leader());
    barrier_awaited: || {
        BARRIER.wait();
    } => beside(arrives);
    barrier_given_up: || assert!(Barrier::new(2).wait_for(SHORT).is_none());
    once: || ONCE.call_once(|| ());
    once_awaited: || SLOW.call_once(|| ()) => beside(does_it);
    once_lock: || assert_eq!(*CELL.get_or_init(|| 1), 1);
    lazy: || assert_eq!(*LAZY, 1);
    poison: || Poison::new(1).access(|value| *value += 1).unwrap();
    poisonable_mutex: || *POISONABLE.lock().unwrap() += 1 => left(poisonable_is_usable);
    poisonable_mutex_awaited: || *POISONABLE.lock().unwrap() += 1 => beside(holds_the_poisonable)
        .left(poisonable_is_usable);
    poisonable_read: || drop(READ.read().unwrap()) => left(read_is_usable);
    poisonable_written: || *READ.write().unwrap() += 1 => left(read_is_usable);
    poisonable_condvar_timed: || drop(CONDVAR.wait_timeout(POISONABLE.lock().unwrap(), SHORT).unwrap()) =>
        left(poisonable_is_usable);
    poisonable_once: || STDS.call_once(|| ());
}

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(5);

static SEMAPHORE: Semaphore = Semaphore::new(1);
static EMPTY: Semaphore = Semaphore::new(0);
static EVENT: Event = Event::new();
static NEVER: Event = Event::new();
static BARRIER: Barrier = Barrier::new(2);
static ONCE: Once = Once::new();
static SLOW: Once = Once::new();
static CELL: OnceLock<u32> = OnceLock::new();
static LAZY: LazyLock<u32> = LazyLock::new(|| 1);
static POISONABLE: poison::Mutex<u32> = poison::Mutex::new(0);
static READ: poison::RwLock<u32> = poison::RwLock::new(0);
static CONDVAR: poison::Condvar = poison::Condvar::new();
static STDS: poison::Once = poison::Once::new();

fn semaphore_is_usable() -> bool {
    SEMAPHORE.permits() == 0 || SEMAPHORE.acquire_for(LONG)
}

fn empty_is_usable() -> bool {
    EMPTY.release(1);
    EMPTY.acquire_for(LONG)
}

fn event_is_usable() -> bool {
    EVENT.set();
    EVENT.wait_for(LONG) && EVENT.clear() && !EVENT.wait_for(Duration::from_micros(10))
}

fn poisonable_is_usable() -> bool {
    !matches!(POISONABLE.try_lock(), Err(poison::TryLockError::Poisoned(_)))
}

fn read_is_usable() -> bool {
    !matches!(READ.try_read(), Err(poison::TryLockError::Poisoned(_)))
}

holding! {
    holds_the_poisonable: POISONABLE.lock().unwrap();
}

fn acquires(beside: &Beside<'_>) {
    beside.is_ready();
    EMPTY.acquire();
}

fn waits_for_the_event(beside: &Beside<'_>) {
    beside.is_ready();
    EVENT.wait_for(10 * SHORT);
}

fn sets(beside: &Beside<'_>) {
    beside.until_it_sleeps();
    EVENT.set();
}

fn arrives(beside: &Beside<'_>) {
    beside.until_it_sleeps();
    BARRIER.wait();
}

fn does_it(beside: &Beside<'_>) {
    SLOW.call_once(|| beside.until_it_sleeps());
}
