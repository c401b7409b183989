//! A futex made of loom's own parts, so that a lost wake-up is a deadlock that loom reports.

use core::time::Duration;

use loom::sync::{Condvar, Mutex};

use super::Wait;
use crate::atomic::{AtomicU32, Ordering};

loom::lazy_static! {
    /// The kernel's queue: the words that are waited on, in order of arrival.
    static ref QUEUE: Queue = Queue { sleepers: Mutex::new(Vec::new()), woken: Condvar::new() };
}

struct Queue {
    sleepers: Mutex<Vec<(usize, usize)>>,
    woken: Condvar,
}

/// Sleeps if `word` is `expected`; the comparison and the queueing are one step, as in the kernel. Time does not pass
/// in a model.
pub(crate) fn wait(word: &AtomicU32, expected: u32, _: Option<Duration>) -> Wait {
    let mut sleepers = QUEUE.sleepers.lock().unwrap();
    // Relaxed: the kernel promises no order with the comparison.
    if word.load(Ordering::Relaxed) != expected {
        return Wait::LookAgain;
    }
    let me = (word as *const _ as usize, sleepers.iter().map(|(_, ticket)| ticket + 1).max().unwrap_or(0));
    sleepers.push(me);
    while sleepers.contains(&me) {
        sleepers = QUEUE.woken.wait(sleepers).unwrap();
    }
    Wait::LookAgain
}

/// Takes up to `count` sleepers of `word` out of the queue.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    let address = word as *const _ as usize;
    let mut sleepers = QUEUE.sleepers.lock().unwrap();
    let mut left = count;
    sleepers.retain(|(sleeps_on, _)| {
        let stays = *sleeps_on != address || left == 0;
        left -= u32::from(!stays);
        stays
    });
    QUEUE.woken.notify_all();
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    loom::thread::yield_now();
}
