//! A priority inversion of three threads on the one processor of `kernel_host`: a lock that
//! inherits priorities ends it, a plain lock does not.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use leeward_engine::abi::{FUTEX_LOCK_PI, FUTEX_PRIVATE_FLAG, FUTEX_UNLOCK_PI, FUTEX_WAIT, FUTEX_WAKE};
use leeward_engine::{Address, Engine};

use super::scheduler::SCHEDULER;
use super::{Process, Thread};

/// Does `work` under a program's lock: one that inherits priorities, or a plain one.
fn with_lock(thread: &Thread, kernel: &Engine<Thread>, inherits: bool, work: impl FnOnce()) {
    const LOCK: Address = 64;
    let (word, number) = (thread.user(LOCK), thread.number);
    let futex = |operation, value| thread.futex(kernel, LOCK, operation | FUTEX_PRIVATE_FLAG, value, 0);
    let exchange = |old, new| word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    if inherits {
        if !exchange(0, number) {
            assert_eq!(futex(FUTEX_LOCK_PI, 0), 0);
        }
        work();
        if !exchange(number, 0) {
            assert_eq!(futex(FUTEX_UNLOCK_PI, 0), 0);
        }
    } else {
        // The word of a plain lock: 0 is free, 1 locked, 2 locked with threads waiting.
        if !exchange(0, 1) {
            while word.swap(2, Ordering::Acquire) != 0 {
                futex(FUTEX_WAIT, 2);
            }
        }
        work();
        if word.swap(0, Ordering::Release) == 2 {
            futex(FUTEX_WAKE, 1);
        }
    }
}

/// Runs the inversion: an urgent thread (U) waits for a lock that the least urgent thread (L)
/// holds, and L does not get to run because of a thread between them (B) that wants no lock at all.
/// Returns which thread had the processor, tick by tick.
pub fn inversion(kernel: &Engine<Thread>, process: &Arc<Process>, inherits: bool) -> String {
    let [lazy, between, urgent] =
        [('L', 30), ('B', 20), ('U', 10)].map(|(name, own)| Thread::scheduled(process, name, own));
    let others = [between.number, urgent.number];
    let run = |thread: Thread, work: &dyn Fn(&Thread)| {
        SCHEDULER.resume(thread.number);
        work(&thread);
        thread.exit(kernel);
    };
    SCHEDULER.wake(lazy.number);
    thread::scope(|scope| {
        scope.spawn(|| {
            run(lazy, &|me| {
                with_lock(me, kernel, inherits, || {
                    SCHEDULER.compute(me.number, 2);
                    others.iter().for_each(|number| SCHEDULER.wake(*number));
                    SCHEDULER.compute(me.number, 3);
                });
                SCHEDULER.compute(me.number, 1);
            });
        });
        scope.spawn(|| run(between, &|me| SCHEDULER.compute(me.number, 6)));
        scope.spawn(|| {
            run(urgent, &|me| with_lock(me, kernel, inherits, || SCHEDULER.compute(me.number, 2)));
        });
    });
    SCHEDULER.ticks()
}
