//! The right to take values of a queue, which is held across a fork: in the child another thread may take
//! it over, since the holder's process is not there.

use std::sync::atomic::AtomicBool;

use super::*;
use leeward::collect::{Queue, TryPop};

fn own_id() -> libc::pid_t {
    // SAFETY: takes no pointer.
    unsafe { libc::gettid() }
}

/// Waits until something is so, in a child whose alarm ends it. The thread does not sleep meanwhile, so one
/// that is found asleep waits for something else.
fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::yield_now();
    }
}

/// The holder asks before each use, and waits for the thread that has taken its right over.
#[test]
fn a_consumer_waits_for_the_one_that_took_its_right_over() {
    let _alone = alone(&ALONE);
    let queue: Queue<u32> = (0..2).collect();
    let mut consumer = queue.consumer();
    in_child(|| {
        let (has_taken_over, has_popped) = (AtomicBool::new(false), AtomicBool::new(false));
        let holder = own_id();
        let takes_over = || {
            let mut other = queue.try_consumer().expect("the holder's process is not there");
            has_taken_over.store(true, Ordering::SeqCst);
            until(|| is_asleep(holder) || has_popped.load(Ordering::SeqCst));
            assert_eq!(other.try_pop(), TryPop::Value(0));
        };
        let mut popped = None;
        let pops = || {
            until(|| has_taken_over.load(Ordering::SeqCst));
            popped = consumer.pop();
            has_popped.store(true, Ordering::SeqCst);
        };
        with_bare_threads(1, takes_over, pops) && popped == Some(1)
    });
    assert_eq!((consumer.pop(), consumer.pop()), (Some(0), Some(1)), "the parent's queue is as it was");
}

/// The holder gives up what it has: not the right that another thread has taken over.
#[test]
fn a_consumer_that_is_dropped_leaves_the_right_to_the_one_that_took_it_over() {
    let _alone = alone(&ALONE);
    let queue: Queue<u32> = (0..2).collect();
    let consumer = queue.consumer();
    in_child(|| {
        let (has_taken_over, is_dropped) = (AtomicBool::new(false), AtomicBool::new(false));
        let takes_over = || {
            let _other = queue.try_consumer().expect("the holder's process is not there");
            has_taken_over.store(true, Ordering::SeqCst);
            until(|| is_dropped.load(Ordering::SeqCst));
        };
        let mut is_free = false;
        let drops = || {
            until(|| has_taken_over.load(Ordering::SeqCst));
            // SAFETY: it is the child's: what is moved there stays in the parent.
            drop(unsafe { std::ptr::read(&consumer) });
            is_free = queue.try_consumer().is_some();
            is_dropped.store(true, Ordering::SeqCst);
        };
        with_bare_threads(1, takes_over, drops) && !is_free && queue.try_consumer().is_some()
    });
    drop(consumer);
    assert!(queue.try_consumer().is_some());
}
