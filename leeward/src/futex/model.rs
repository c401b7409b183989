//! A futex made of loom's own parts, so that a lost wake-up is a deadlock that loom reports.
//!
//! As in the kernel, the comparison and the queueing are one step under the queue's lock, and a waker that comes
//! later finds the sleeper or is seen by the comparison. Beyond what the kernel promises, whoever is woken has
//! synchronized with its waker (loom's `unpark` does that): a model cannot show that some ordering is missing
//! *behind* a sleep. Time does not pass, and nobody returns unasked.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::time::Duration;

use loom::sync::Mutex;
use loom::thread::Thread;

use super::Wait;
use crate::atomic::{AtomicU32, Ordering};

loom::lazy_static! {
    /// The kernel's queue: who sleeps, in order of arrival.
    static ref QUEUE: Mutex<Vec<Sleeper>> = Mutex::new(Vec::new());
}

struct Sleeper {
    word: *const AtomicU32,
    thread: Thread,
    /// Loom need not know it: it runs one thread at a time, and switches at operations of its own only.
    woken: Rc<Cell<bool>>,
}

/// Sleeps if `word` is `expected`.
pub(crate) fn wait(word: &AtomicU32, expected: u32, _: Option<Duration>) -> Wait {
    let woken = Rc::new(Cell::new(false));
    {
        let mut sleepers = QUEUE.lock().unwrap();
        // Relaxed: the kernel promises no order with the comparison.
        if word.load(Ordering::Relaxed) != expected {
            return Wait::LookAgain;
        }
        sleepers.push(Sleeper { word, thread: loom::thread::current(), woken: woken.clone() });
    }
    while !woken.get() {
        loom::thread::park();
    }
    Wait::LookAgain
}

/// Takes up to `count` sleepers of `word` out of the queue, the oldest first.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    let mut sleepers = QUEUE.lock().unwrap();
    let mut left = count;
    sleepers.retain(|sleeper| {
        let stays = !core::ptr::eq(sleeper.word, word) || left == 0;
        if !stays {
            left -= 1;
            sleeper.woken.set(true);
            sleeper.thread.unpark();
        }
        stays
    });
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    loom::thread::yield_now();
}

/// Time does not pass in a model.
pub(crate) fn now() -> Duration {
    Duration::ZERO
}
