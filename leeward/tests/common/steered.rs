//! A futex of the test's own, in which a sleep is where the test goes on: it runs what other
//! threads do while a thread sleeps, step by step and on one thread.

#![allow(dead_code, missing_docs)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use leeward::futex::{Changed, Deadline, Futex, Timeout, Wait, WakeOp};
use leeward::raw::RwLock;

/// What happens while a thread sleeps, and how the sleep ends.
pub type Sleep = Box<dyn FnOnce() -> Wait>;

thread_local! {
    static SLEEPS: RefCell<VecDeque<Sleep>> = const { RefCell::new(VecDeque::new()) };
    /// The deadline of the thread that sleeps.
    pub static UNTIL: Cell<Option<Deadline>> = const { Cell::new(None) };
    /// How many threads a wake finds asleep.
    pub static WOKEN: Cell<u32> = const { Cell::new(0) };
}

#[derive(Debug)]
pub enum Steered {}

// SAFETY: the words are one thread's; no other thread sleeps.
unsafe impl Futex for Steered {
    const SHARED: bool = false;

    fn wait(_: &AtomicU32, _: u32, timeout: Timeout) -> Wait {
        UNTIL.set(timeout.deadline());
        let sleep = SLEEPS.with_borrow_mut(VecDeque::pop_front);
        sleep.expect("somebody sleeps whom the test did not expect to")()
    }

    fn wake(_: *const AtomicU32, _: u32) -> u32 {
        WOKEN.get()
    }

    unsafe fn requeue(_: *const AtomicU32, _: u32, _: u32, _: *const AtomicU32, _: u32) -> Result<u32, Changed> {
        Err(Changed)
    }

    unsafe fn wake_op(_: *const AtomicU32, _: u32, on: *const AtomicU32, op: WakeOp, _: u32) -> u32 {
        // SAFETY: the caller's promise.
        op.apply_to(unsafe { &*on });
        0
    }

    fn yield_now() {}

    fn now() -> Deadline {
        Deadline::at(Duration::ZERO)
    }
}

/// Sets the sleeps to come, in the order in which they begin.
pub fn sleeps<const N: usize>(sleeps: [Sleep; N]) {
    SLEEPS.with_borrow_mut(|queue| queue.extend(sleeps));
}

pub fn all_slept() -> bool {
    SLEEPS.with_borrow(VecDeque::is_empty)
}

/// Makes a lock of which a reader is bypassed: its phase has come, and another writer was quicker.
/// `then` runs when the reader, which the caller is from now on, sleeps again.
pub fn passed_over(then: impl FnOnce(&'static RwLock<Steered>) -> Wait + 'static) -> &'static RwLock<Steered> {
    let lock: &'static RwLock<Steered> = Box::leak(Box::new(RwLock::new_in()));
    lock.lock_exclusive();
    sleeps([
        // The reader sleeps, and a writer comes as well.
        Box::new(move || {
            assert!(!lock.lock_exclusive_until(Deadline::at(Duration::ZERO)));
            Wait::Woken
        }),
        // While the writer sleeps, the first one leaves, which begins the reader's phase, and a
        // thief comes.
        Box::new(move || {
            // SAFETY: locked at the beginning.
            unsafe { lock.unlock_exclusive() };
            assert!(lock.try_lock_exclusive());
            Wait::Woken
        }),
        Box::new(|| Wait::TimedOut),
        // The reader has rechecked, is counted, and sleeps again.
        Box::new(move || then(lock)),
    ]);
    lock
}
