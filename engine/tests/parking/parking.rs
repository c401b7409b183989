//! The operations among threads of this process, and futures among them.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use common::until;
use leeward_engine::parking::{ParkingLot, now};
use leeward_engine::{Arithmetic, Clock, Comparison, Deadline, Requeue, Wait, WakeOp};

fn lot() -> ParkingLot {
    ParkingLot::new(4).unwrap()
}

/// Returns how many wait in the lot.
fn waiting(lot: &ParkingLot) -> u64 {
    lot.stats().waiters + lot.global_stats().waiters
}

fn soon() -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + 1_000_000 })
}

#[derive(Default)]
struct Counted(AtomicU32);
impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_wait_ends_by_a_wake_a_value_or_a_time() {
    let lot = lot();
    let word = AtomicU32::new(7);
    assert_eq!(lot.wait(&word, 8, None), Wait::Changed);
    assert_eq!(lot.wait(&word, 7, soon()), Wait::TimedOut);
    let past = Some(Deadline { clock: Clock::Realtime, at: 1 });
    assert_eq!(lot.wait(&word, 7, past), Wait::TimedOut);
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| lot.wait(&word, 7, None));
        until(|| waiting(&lot) == 1);
        assert_eq!(lot.wake(&word, 5), 1);
        assert_eq!(waiter.join().unwrap(), Wait::Woken);
    });
    assert_eq!(waiting(&lot), 0);
}

#[test]
fn a_wake_with_nobody_waiting_takes_no_lock() {
    let lot = lot();
    let word = AtomicU32::new(0);
    // So that the lot has its table.
    assert_eq!(lot.wait(&word, 0, soon()), Wait::TimedOut);
    let locked = (lot.stats().locked, lot.global_stats().locked);
    for _ in 0..1000 {
        assert_eq!(lot.wake(&word, 1), 0);
    }
    assert_eq!((lot.stats().locked, lot.global_stats().locked), locked);
}

#[test]
fn the_longest_waiting_is_woken_first() {
    let lot = lot();
    let word = AtomicU32::new(0);
    let order = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for i in 0..40 {
            let (lot, word, order) = (&lot, &word, &order);
            threads.spawn(move || {
                assert_eq!(lot.wait(word, 0, None), Wait::Woken);
                order.lock().unwrap().push(i);
            });
            until(|| waiting(lot) == i + 1);
        }
        for i in 0..20 {
            assert_eq!(lot.wake(&word, 1), 1);
            until(|| order.lock().unwrap().len() == i + 1);
        }
        assert_eq!(lot.wake(&word, u32::MAX), 20);
    });
    assert_eq!(order.into_inner().unwrap()[..20], (0..20).collect::<Vec<_>>());
}

#[test]
fn a_requeue_wakes_some_and_moves_others_who_are_woken_where_they_are() {
    let lot = lot();
    let (from, to) = (AtomicU32::new(3), AtomicU32::new(0));
    std::thread::scope(|threads| {
        for _ in 0..60 {
            threads.spawn(|| assert_eq!(lot.wait(&from, 3, None), Wait::Woken));
        }
        until(|| waiting(&lot) == 60);
        assert_eq!(lot.requeue(&from, 4, 1, &to, 5), Requeue::Changed);
        // More waiters than are woken under one hold of the lock.
        assert_eq!(lot.requeue(&from, 3, 20, &to, 30), Requeue::Done(50));
        until(|| waiting(&lot) == 40);
        assert_eq!(lot.wake(&to, u32::MAX), 30);
        assert_eq!(lot.wake(&from, u32::MAX), 10);
    });
}

#[test]
fn a_requeue_onto_the_same_word_counts_and_leaves_them() {
    let lot = lot();
    let word = AtomicU32::new(0);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| lot.wait(&word, 0, None));
        }
        until(|| waiting(&lot) == 3);
        assert_eq!(lot.requeue(&word, 0, 0, &word, 2), Requeue::Done(2));
        assert_eq!(lot.wake(&word, 9), 3);
    });
}

#[test]
fn wake_op_changes_a_word_and_wakes_by_its_old_value() {
    let lot = lot();
    let (word, on) = (AtomicU32::new(0), AtomicU32::new(2));
    let op = WakeOp { arithmetic: Arithmetic::Set, argument: 9, comparison: Some(Comparison::Greater), against: 1 };
    std::thread::scope(|threads| {
        for _ in 0..30 {
            threads.spawn(|| lot.wait(&word, 0, None));
            threads.spawn(|| lot.wait(&on, 2, None));
        }
        until(|| waiting(&lot) == 60);
        assert_eq!(lot.wake_op(&word, 20, &on, op, 20), 40);
        assert_eq!(on.swap(1, Ordering::SeqCst), 9);
        assert_eq!(lot.wake_op(&word, 100, &on, op, 100), 10);
        // A waiter that was on its way to sleep may have seen that its word changed, and left.
        assert!(lot.wake(&on, 100) <= 10);
    });
}

#[test]
fn futures_and_threads_wait_in_one_queue() {
    let lot = lot();
    let word = AtomicU32::new(0);
    let wakes = Arc::new(Counted::default());
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let mut first = pin!(lot.wait_async(&word, 0));
    assert_eq!(first.as_mut().poll(&mut context), Poll::Pending);
    std::thread::scope(|threads| {
        let thread = threads.spawn(|| lot.wait(&word, 0, None));
        until(|| waiting(&lot) == 2);
        let mut third = pin!(lot.wait_async(&word, 0));
        assert_eq!(third.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(lot.wake(&word, 1), 1);
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
        assert_eq!(first.as_mut().poll(&mut context), Poll::Ready(Wait::Woken));
        assert_eq!(third.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(lot.wake(&word, 1), 1);
        assert_eq!(thread.join().unwrap(), Wait::Woken);
        assert_eq!(lot.wake(&word, 1), 1);
        assert_eq!(third.as_mut().poll(&mut context), Poll::Ready(Wait::Woken));
    });
}

/// Threads, and after them a future whose executor panics: the threads return all the same, woken
/// by a call each or by one for all.
#[test]
fn threads_before_an_executor_that_panics_are_woken() {
    struct Panicking;
    impl Wake for Panicking {
        fn wake(self: Arc<Self>) {
            panic!("executor: which this test wants");
        }
    }
    let loudly = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.to_string().contains("executor: ") {
            loudly(info);
        }
    }));
    // Threads that are left asleep must not keep the test from failing.
    let (lot, word): (&ParkingLot, &AtomicU32) = (Box::leak(Box::new(lot())), Box::leak(Box::default()));
    for count in [1, 15, 20] {
        let come = Arc::new(AtomicU32::new(0));
        let wait = |come: Arc<AtomicU32>| {
            move || {
                assert_eq!(lot.wait(word, 0, None), Wait::Woken);
                come.fetch_add(1, Ordering::SeqCst);
            }
        };
        let threads: Vec<_> = (0..count).map(|_| std::thread::spawn(wait(come.clone()))).collect();
        until(|| waiting(lot) == u64::from(count));
        // They fall asleep.
        std::thread::sleep(Duration::from_millis(10));
        let waker = Waker::from(Arc::new(Panicking));
        let mut last = pin!(lot.wait_async(word, 0));
        assert_eq!(last.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Pending);
        assert!(catch_unwind(AssertUnwindSafe(|| lot.wake(word, u32::MAX))).is_err());
        until(|| come.load(Ordering::SeqCst) == count);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(last.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Wait::Woken));
    }
}

#[test]
fn a_dropped_future_leaves_and_passes_on_a_wake_that_it_had() {
    let lot = lot();
    let word = AtomicU32::new(0);
    let mut context = Context::from_waker(Waker::noop());
    let mut chosen = Box::pin(lot.wait_async(&word, 0));
    assert!(chosen.as_mut().poll(&mut context).is_pending());
    {
        let mut gone = pin!(lot.wait_async(&word, 0));
        assert!(gone.as_mut().poll(&mut context).is_pending());
        assert_eq!(waiting(&lot), 2);
    }
    assert_eq!(waiting(&lot), 1);
    let mut next = pin!(lot.wait_async(&word, 0));
    assert!(next.as_mut().poll(&mut context).is_pending());
    assert_eq!(lot.wake(&word, 1), 1);
    drop(chosen);
    assert_eq!(next.as_mut().poll(&mut context), Poll::Ready(Wait::Woken));
    assert_eq!(lot.wake(&word, 1), 0);
}

#[test]
fn a_future_tells_the_context_that_polled_it_last() {
    let lot = lot();
    let word = AtomicU32::new(0);
    let (old, new) = (Arc::new(Counted::default()), Arc::new(Counted::default()));
    let mut future = pin!(lot.wait_async(&word, 0));
    assert!(future.as_mut().poll(&mut Context::from_waker(&Waker::from(old.clone()))).is_pending());
    assert!(future.as_mut().poll(&mut Context::from_waker(&Waker::from(new.clone()))).is_pending());
    assert_eq!(lot.wake(&word, 1), 1);
    assert_eq!((old.0.load(Ordering::SeqCst), new.0.load(Ordering::SeqCst)), (0, 1));
}

#[test]
fn a_leaked_future_harms_nobody() {
    let word = AtomicU32::new(0);
    let lot = lot();
    let mut context = Context::from_waker(Waker::noop());
    // On the heap, so that its memory stays.
    let mut leaked = Box::pin(lot.wait_async(&word, 0));
    assert!(leaked.as_mut().poll(&mut context).is_pending());
    std::mem::forget(leaked);
    assert_eq!(lot.wake(&word, 1), 1);
    assert_eq!(lot.wake(&word, 1), 0);
}

#[test]
fn many_futures_make_the_table_grow_and_none_is_lost() {
    let lot = lot();
    let words: Vec<AtomicU32> = (0..2000).map(|_| AtomicU32::new(0)).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut futures: Vec<_> = words.iter().map(|word| Box::pin(lot.wait_async(word, 0))).collect();
    for future in &mut futures {
        assert!(future.as_mut().poll(&mut context).is_pending());
    }
    let stats = lot.stats();
    assert_eq!(stats.waiters, 2000);
    // At most four buckets for each waiter, and as many again for the tables before.
    assert!(stats.buckets >= 256 && stats.buckets <= 8192, "{stats:?}");
    assert!(stats.bytes <= 2 * 8192 * 128, "{stats:?}");
    for (word, future) in words.iter().zip(&mut futures) {
        assert_eq!(lot.wake(word, 1), 1);
        assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(Wait::Woken));
    }
}
