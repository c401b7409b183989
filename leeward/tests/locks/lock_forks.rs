//! Locks in the child of a fork that came between a wake and the woken thread's coming: the marks
//! that are left in the free lock are those of threads that do not exist there.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;
#[path = "../common/steered.rs"]
mod steered;

use common::*;
use processes::*;
use steered::*;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use leeward::futex::{Changed, Deadline, Futex, Private, Timeout, Wait, WakeOp};
use leeward::raw::{LightMutex, Mutex, RwLock};

/// Makes forks known from here on: a thread waits on a condition variable.
fn know_of_forks() {
    let (mutex, condvar) = (leeward::sync::Mutex::new(()), leeward::sync::Condvar::new());
    assert!(condvar.wait_for(&mut mutex.lock(), Duration::ZERO).timed_out());
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// A woken writer has not run; calls that do not wait find the lock free in the child, and kept in
/// the parent.
#[test]
fn a_rwlock_that_is_kept_for_a_writer() {
    know_of_forks();
    let lock = leak(RwLock::<Steered>::new_in());
    lock.lock_shared();
    sleeps([Box::new(move || {
        WOKEN.set(1);
        // SAFETY: locked above.
        unsafe { lock.unlock_shared() };
        WOKEN.set(0);
        in_child(|| lock.try_lock_shared() && lock.try_lock_shared() && !lock.try_lock_exclusive());
        in_child(|| lock.try_lock_shared_recursive() && lock.try_lock_shared());
        in_child(|| lock.try_lock_exclusive());
        assert!(!lock.try_lock_shared(), "the parent's writer comes still");
        Wait::Woken
    })]);
    lock.lock_exclusive();
    assert!(all_slept());
}

/// A reader was bypassed, and is counted: no writer takes the lock before it.
#[test]
fn a_rwlock_that_is_kept_for_a_reader() {
    know_of_forks();
    let lock = passed_over(|lock| {
        // SAFETY: locked by the thief.
        unsafe { lock.unlock_exclusive() };
        in_child(|| lock.try_lock_exclusive() && !lock.try_lock_shared());
        assert!(!lock.try_lock_exclusive(), "the parent's reader comes still");
        Wait::Woken
    });
    lock.lock_shared();
    assert!(all_slept());
}

/// A readers-writer lock that is reserved for the thread that was woken.
#[test]
fn a_rwlock_that_is_reserved() {
    know_of_forks();
    let lock = leak(RwLock::<Steered>::new_in());
    lock.lock_exclusive();
    sleeps([Box::new(move || {
        WOKEN.set(1);
        // SAFETY: locked above.
        unsafe { lock.unlock_exclusive_fair() };
        WOKEN.set(0);
        in_child(|| lock.try_lock_exclusive() && !lock.try_lock_shared());
        in_child(|| lock.try_lock_upgradable() && lock.try_lock_shared() && !lock.try_lock_upgradable());
        assert!(!lock.try_lock_exclusive() && !lock.try_lock_upgradable(), "the parent's thread comes still");
        Wait::Woken
    })]);
    lock.lock_shared();
    assert!(all_slept());
}

/// A light mutex that is reserved for the thread that was woken.
#[test]
fn a_light_mutex_that_is_reserved() {
    know_of_forks();
    let lock = leak(LightMutex::new());
    // SAFETY: the lock's first word, which says 2 while it is reserved; the lock is not used yet.
    let state = unsafe { &*std::ptr::from_ref(lock).cast::<AtomicU32>() };
    state.store(2, Ordering::SeqCst);
    in_child(|| lock.try_lock() && !lock.try_lock());
    assert!(!lock.try_lock(), "the parent's thread comes still");
}

/// A mutex that is reserved for the thread that was woken.
#[test]
fn a_mutex_that_is_reserved() {
    know_of_forks();
    let lock = leak(Mutex::<Steered>::new_in());
    lock.lock();
    sleeps([Box::new(move || {
        WOKEN.set(1);
        // SAFETY: locked above.
        unsafe { lock.unlock_fair() };
        WOKEN.set(0);
        in_child(|| lock.try_lock() && !lock.try_lock());
        assert!(!lock.try_lock(), "the parent's thread comes still");
        Wait::Woken
    })]);
    lock.lock();
    assert!(all_slept());
}

/// The kernel's futex, except that a thread which is `HELD` sleeps until the gate is open, and runs
/// no sooner.
#[derive(Debug)]
enum Gated {}

thread_local! {
    static HELD: Cell<bool> = const { Cell::new(false) };
}
static ASLEEP_AT: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());
static GATE: AtomicBool = AtomicBool::new(false);

// SAFETY: the kernel's futex, and for the one thread that is held a sleep that may end at any time.
unsafe impl Futex for Gated {
    const SHARED: bool = false;

    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
        if !HELD.get() {
            return Private::wait(word, expected, timeout);
        }
        ASLEEP_AT.store(std::ptr::from_ref(word).cast_mut(), Ordering::SeqCst);
        eventually("the gate is open", || GATE.load(Ordering::SeqCst));
        Wait::Woken
    }

    fn wake(word: *const AtomicU32, count: u32) -> u32 {
        let is_held = |asleep: *mut AtomicU32| std::ptr::eq(asleep, word).then_some(std::ptr::null_mut());
        if ASLEEP_AT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_held).is_ok() {
            return 1;
        }
        Private::wake(word, count)
    }

    unsafe fn requeue(
        from: *const AtomicU32,
        expected: u32,
        wake: u32,
        to: *const AtomicU32,
        requeue: u32,
    ) -> Result<u32, Changed> {
        // SAFETY: the caller's promise.
        unsafe { Private::requeue(from, expected, wake, to, requeue) }
    }

    unsafe fn wake_op(word: *const AtomicU32, wake: u32, on: *const AtomicU32, op: WakeOp, wake_on: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { Private::wake_op(word, wake, on, op, wake_on) }
    }

    fn yield_now() {
        Private::yield_now();
    }

    fn now() -> Deadline {
        Private::now()
    }
}

/// Readers that wait, in the child of a fork, beside a writer that was woken and has not run.
#[test]
fn who_waits_for_a_writer_that_is_not_there() {
    static LOCK: RwLock<Gated> = RwLock::new_in();
    let _dog = Watchdog::new("who_waits_for_a_writer_that_is_not_there");
    LOCK.lock_shared();
    thread::scope(|scope| {
        scope.spawn(|| {
            HELD.set(true);
            LOCK.lock_exclusive();
            // SAFETY: just locked.
            unsafe { LOCK.unlock_exclusive() };
        });
        eventually("the writer sleeps", || !ASLEEP_AT.load(Ordering::SeqCst).is_null());
        // SAFETY: locked above. The writer is woken, and does not run.
        unsafe { LOCK.unlock_shared() };
        in_child(|| {
            LOCK.lock_shared();
            LOCK.lock_shared_recursive();
            // The mark is gone, and no reader waits any more.
            let entered = LOCK.try_lock_shared();
            (0..3).for_each(|_| {
                // SAFETY: locked three times, or the child has failed.
                unsafe { LOCK.unlock_shared() };
            });
            entered && LOCK.try_lock_exclusive()
        });
        in_child(|| LOCK.lock_shared_until(Deadline::after::<Private>(patience())));
        GATE.store(true, Ordering::SeqCst);
    });
    assert!(LOCK.try_lock_exclusive());
}
