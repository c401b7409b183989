//! Locks as futures, of the example `async_only`: each future is dropped at each of its polls, and
//! at each tick, and no wake is lost.

#![allow(missing_docs)]

#[path = "../../examples/async_parts/executor.rs"]
mod executor;
#[path = "../../examples/async_parts/host.rs"]
mod host;
#[path = "../../examples/async_parts/locks.rs"]
mod locks;

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::AtomicU32;
use std::task::Poll;

use executor::{Executor, Stuck, Timers, yield_now};
use host::Futexes;
use leeward_engine::Wait;
use locks::{Condition, Lock, Semaphore};

/// The tasks of a scenario, and how many polls or ticks are tried.
const TASKS: usize = 4;
const TRIES: usize = 8;

/// How one of the tasks gives up.
#[derive(Clone, Copy, Debug)]
enum GiveUp {
    /// At the poll after this many.
    Polls(usize),
    /// At this time.
    Ticks(usize),
}

/// Polls a future until it ends or is given up, and drops it: `None` then.
async fn give_up<F: Future>(timers: &Timers, when: GiveUp, future: F) -> Option<F::Output> {
    match when {
        GiveUp::Ticks(at) => timers.until(at as u64, future).await,
        GiveUp::Polls(mut left) => {
            let mut future = pin!(future);
            let polls = poll_fn(|context| {
                if left == 0 {
                    // Woken, and dropped before it is polled again.
                    return Poll::Ready(None);
                }
                left -= 1;
                future.as_mut().poll(context).map(Some)
            });
            // The last of a queue may never be polled that often.
            timers.until(100, polls).await.flatten()
        }
    }
}

/// Runs a scenario with each of its tasks giving up in each way.
fn with_each_victim(scenario: impl Fn(&Futexes, &Timers, usize, GiveUp)) {
    for victim in 0..TASKS {
        for number in 0..TRIES {
            for when in [GiveUp::Polls(number), GiveUp::Ticks(number)] {
                let futexes = Futexes::new();
                scenario(&futexes, &Timers::default(), victim, when);
                assert_eq!(futexes.waiting(), 0, "a waiter is left of {victim} {when:?}");
                assert_eq!(futexes.parks(), 0);
            }
        }
    }
}

#[test]
fn a_lock_that_is_given_up_at_any_poll_loses_no_wake() {
    let given_up = Cell::new(0);
    with_each_victim(|futexes, timers, victim, when| {
        let (lock, inside, turns) = (Lock::new(futexes), Cell::new(0), Cell::new(0));
        let executor = Executor::default();
        for task in 0..TASKS {
            let (lock, inside, turns, given_up) = (&lock, &inside, &turns, &given_up);
            executor.spawn(async move {
                let guard =
                    if task == victim { give_up(timers, when, lock.lock()).await } else { Some(lock.lock().await) };
                let Some(_guard) = guard else { return given_up.set(given_up.get() + 1) };
                inside.set(inside.get() + 1);
                assert_eq!(inside.get(), 1, "one task is inside");
                yield_now().await;
                timers.sleep_until(timers.now() + 1).await;
                inside.set(inside.get() - 1);
                turns.set(turns.get() + 1);
            });
        }
        assert_eq!(executor.run(timers), Ok(()), "victim {victim} {when:?}");
        assert!(turns.get() >= TASKS - 1);
    });
    assert!(given_up.get() > TASKS, "futures were given up: {}", given_up.get());
}

#[test]
fn a_permit_that_is_given_up_at_any_poll_is_not_lost() {
    with_each_victim(|futexes, timers, victim, when| {
        let (permits, taken) = (Semaphore::new(futexes, 0), Cell::new(0));
        let executor = Executor::default();
        for task in 0..TASKS {
            let (permits, taken) = (&permits, &taken);
            executor.spawn(async move {
                let mine = permits.acquire();
                if task == victim {
                    if give_up(timers, when, mine).await.is_none() {
                        return;
                    }
                } else {
                    mine.await;
                }
                taken.set(taken.get() + 1);
                // As many permits as there are other tasks: the victim gives its own back.
                if task == victim {
                    permits.release();
                }
            });
        }
        executor.spawn(async {
            for tick in 1..TASKS {
                timers.sleep_until(tick as u64).await;
                permits.release();
            }
        });
        assert_eq!(executor.run(timers), Ok(()), "victim {victim} {when:?}");
        assert!(taken.get() >= TASKS - 1);
    });
}

#[test]
fn a_notification_that_is_given_up_at_any_poll_is_passed_on() {
    with_each_victim(|futexes, timers, victim, when| {
        let (lock, filled) = (Lock::new(futexes), Condition::new(futexes));
        let (items, taken) = (Cell::new(0), Cell::new(0));
        let executor = Executor::default();
        for task in 0..TASKS {
            let (lock, filled, items, taken) = (&lock, &filled, &items, &taken);
            executor.spawn(async move {
                let consume = async {
                    let mut guard = lock.lock().await;
                    while items.get() == 0 {
                        guard = filled.wait(guard).await;
                    }
                    items.set(items.get() - 1);
                    drop(guard);
                };
                if task == victim {
                    if give_up(timers, when, consume).await.is_none() {
                        return;
                    }
                } else {
                    consume.await;
                }
                taken.set(taken.get() + 1);
                // As many items as there are other tasks: the victim gives its own back.
                if task == victim {
                    let _guard = lock.lock().await;
                    items.set(items.get() + 1);
                    filled.notify_one();
                }
            });
        }
        executor.spawn(async {
            for _ in 1..TASKS {
                timers.sleep_until(timers.now() + 1).await;
                let guard = lock.lock().await;
                items.set(items.get() + 1);
                filled.notify_one();
                // The notified task finds the lock taken.
                yield_now().await;
                drop(guard);
            }
        });
        assert_eq!(executor.run(timers), Ok(()), "victim {victim} {when:?}");
        assert!(taken.get() >= TASKS - 1);
    });
}

#[test]
fn time_outs_come_in_the_order_of_their_ticks() {
    let (futexes, timers) = (Futexes::new(), Timers::default());
    let (word, order) = (AtomicU32::new(0), RefCell::new(Vec::new()));
    let executor = Executor::default();
    for at in [30, 10, 20, 0] {
        let (futexes, timers, word, order) = (&futexes, &timers, &word, &order);
        executor.spawn(async move {
            assert_eq!(timers.until(at, futexes.wait(word, 0)).await, None);
            assert_eq!(timers.now(), at);
            order.borrow_mut().push(at);
        });
    }
    assert_eq!(executor.run(&timers), Ok(()));
    assert_eq!(*order.borrow(), [0, 10, 20, 30]);
    assert_eq!((futexes.waiting(), futexes.parks()), (0, 0));
}

#[test]
fn futures_are_woken_in_the_order_in_which_they_came() {
    let (futexes, timers) = (Futexes::new(), Timers::default());
    let (word, order) = (AtomicU32::new(0), RefCell::new(Vec::new()));
    let executor = Executor::default();
    for task in 0..9 {
        let (futexes, word, order) = (&futexes, &word, &order);
        executor.spawn(async move {
            assert_eq!(futexes.wait(word, 0).await, Wait::Woken);
            order.borrow_mut().push(task);
        });
    }
    executor.spawn(async {
        for _ in 0..9 {
            assert_eq!(futexes.wake(&word, 1), 1);
            yield_now().await;
        }
    });
    assert_eq!(executor.run(&timers), Ok(()));
    assert!(order.borrow().iter().copied().eq(0..9));
}

#[test]
fn a_wait_that_would_block_is_answered_and_leaves_nothing_behind() {
    let futexes = Futexes::new();
    let word = AtomicU32::new(0);
    assert_eq!(futexes.wait_blocking(&word, 0), Wait::Interrupted);
    assert_eq!(futexes.wait_blocking(&word, 1), Wait::Changed);
    assert_eq!((futexes.parks(), futexes.waiting()), (1, 0));
}

#[test]
fn tasks_that_nothing_wakes_are_told_and_taken_out_when_the_executor_is_dropped() {
    let (futexes, timers) = (Futexes::new(), Timers::default());
    let word = AtomicU32::new(0);
    let executor = Executor::default();
    for _ in 0..3 {
        executor.spawn(async {
            futexes.wait(&word, 0).await;
        });
    }
    assert_eq!(executor.run(&timers), Err(Stuck(3)));
    assert_eq!(futexes.waiting(), 3);
    drop(executor);
    assert_eq!(futexes.waiting(), 0);
    assert_eq!(futexes.wake(&word, 9), 0);
}
