//! A futex made of loom's own parts, so that a lost wake-up is a deadlock that loom reports.
//!
//! As in the kernel, the comparison and the queueing are one step under the queue's lock, and a
//! waker that comes later finds the sleeper or is seen by the comparison. Beyond what the kernel
//! promises, a woken thread has synchronized with its waker (loom's `unpark` does that): a model
//! cannot show that some ordering is missing *after* a sleep. Time does not pass: a deadline at the
//! clock's beginning ends the sleep as soon as other threads have had their chance, and a later one
//! never comes. No thread returns without being woken.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::time::Duration;

use loom::sync::Mutex;
use loom::thread::Thread;

use super::{Changed, Deadline, Timeout, Wait, WaitAny, WakeOp};
use crate::atomic::{AtomicU32, Ordering};

loom::lazy_static! {
    /// The kernel's queue: the sleeping threads, in order of arrival.
    static ref QUEUE: Mutex<Vec<Sleeper>> = Mutex::new(Vec::new());
}

/// A sleeping thread, and the word that it sleeps on.
struct Sleeper {
    word: *const AtomicU32,
    /// As in the kernel, a wake by the other kind of key does not find the sleeper.
    is_shared: bool,
    thread: Thread,
    /// True once a waker has taken the sleeper out. Not loom's: loom runs one thread at a time, and
    /// switches at its own operations only.
    woken: Rc<Cell<bool>>,
}

impl Sleeper {
    fn is_on<const SHARED: bool>(&self, word: *const AtomicU32) -> bool {
        core::ptr::eq(self.word, word) && self.is_shared == SHARED
    }
}

/// Sleeps if `word` is `expected`, until woken.
pub(super) fn wait<const SHARED: bool>(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
    let woken = Rc::new(Cell::new(false));
    {
        let mut sleepers = QUEUE.lock().unwrap();
        // Relaxed: the kernel promises no order with the comparison.
        if word.load(Ordering::Relaxed) != expected {
            return Wait::Changed;
        }
        let thread = loom::thread::current();
        sleepers.push(Sleeper { word, is_shared: SHARED, thread, woken: woken.clone() });
    }
    if timeout.deadline() == Some(Deadline::at(Duration::ZERO)) {
        let mut sleepers = QUEUE.lock().unwrap();
        if woken.get() {
            return Wait::Woken;
        }
        sleepers.retain(|sleeper| !Rc::ptr_eq(&sleeper.woken, &woken));
        return Wait::TimedOut;
    }
    while !woken.get() {
        loom::thread::park();
    }
    Wait::Woken
}

/// Wakes up to `count` sleepers of `word`, the oldest first. Returns how many it woke.
pub(super) fn wake<const SHARED: bool>(word: *const AtomicU32, count: u32) -> u32 {
    take::<SHARED>(&mut QUEUE.lock().unwrap(), word, count)
}

/// Takes up to `count` sleepers of `word` out of the queue, and unparks them. Returns how many.
fn take<const SHARED: bool>(sleepers: &mut Vec<Sleeper>, word: *const AtomicU32, count: u32) -> u32 {
    let mut left = count;
    sleepers.retain(|sleeper| {
        let stays = !sleeper.is_on::<SHARED>(word) || left == 0;
        if !stays {
            left -= 1;
            sleeper.woken.set(true);
            sleeper.thread.unpark();
        }
        stays
    });
    count - left
}

/// Wakes up to `wake` sleepers of `from` and moves up to `requeue` others to `to`, if `from` is
/// still `expected`. Returns how many were woken or moved.
///
/// # Safety
/// `from` is alive.
pub(super) unsafe fn requeue<const SHARED: bool>(
    from: *const AtomicU32,
    expected: u32,
    wake: u32,
    to: *const AtomicU32,
    requeue: u32,
) -> Result<u32, Changed> {
    let mut sleepers = QUEUE.lock().unwrap();
    // SAFETY: the caller's promise.
    let word = unsafe { &*from };
    // Relaxed: as in `wait`.
    if word.load(Ordering::Relaxed) != expected {
        return Err(Changed);
    }
    let woken = take::<SHARED>(&mut sleepers, from, wake);
    let mut moved = 0;
    for sleeper in sleepers.iter_mut().filter(|sleeper| sleeper.is_on::<SHARED>(from)) {
        if moved == requeue {
            break;
        }
        sleeper.word = to;
        moved += 1;
    }
    Ok(woken + moved)
}

/// Does `op` to `on` and wakes sleepers of both words. Returns how many it woke.
///
/// # Safety
/// `on` is alive and may be written so.
pub(super) unsafe fn wake_op<const SHARED: bool>(
    word: *const AtomicU32,
    wake: u32,
    on: *const AtomicU32,
    op: WakeOp,
    wake_on: u32,
) -> u32 {
    let mut sleepers = QUEUE.lock().unwrap();
    // SAFETY: the caller's promise.
    let old = op.apply_to(unsafe { &*on });
    let woken = take::<SHARED>(&mut sleepers, word, wake);
    woken + if op.holds(old) { take::<SHARED>(&mut sleepers, on, wake_on) } else { 0 }
}

/// The answer of [`wait_any`]: a model has no wait for several words.
pub(super) struct Refused;

/// Refuses, so that the caller looks at the words in turn.
pub(super) fn wait_any<const SHARED: bool>(_: &[(&AtomicU32, u32)], _: Timeout) -> Result<WaitAny, Refused> {
    Err(Refused)
}

/// Lets another thread run.
pub(crate) fn yield_now() {
    loom::thread::yield_now();
}

/// Returns 0: time does not pass in a model.
pub(crate) fn now() -> Duration {
    Duration::ZERO
}

/// Returns true: a yield lets all threads run.
pub(super) fn yields_to_all() -> bool {
    true
}

/// Returns 0: threads have no numbers in a model.
pub(super) fn thread_number() -> u32 {
    0
}
