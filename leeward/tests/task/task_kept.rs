//! A future of a lock that was polled and is kept, and not polled any more, and another one of the
//! same task and lock: it becomes ready (what oxide's RFD 609 calls a futurelock does not happen),
//! and no other task loses or gains a turn by that.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/polled.rs"]
mod polled;
#[path = "task_kept/wakers.rs"]
mod wakers;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;

use common::*;
use leeward::task::{Mutex, RwLock, Semaphore};
use polled::*;

/// Runs a future on this thread, which must not take longer than a hang is told by.
fn run<F: Future>(future: F) -> F::Output {
    let _watch = Watchdog::new("a task that keeps a future");
    block_on(future)
}

/// Polls a future once, within a task.
async fn polled_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(poll_by(std::pin::Pin::new(&mut *future), context.waker()))).await
}

/// Has a task poll a future that waits, keep it, and await another one, of each two kinds; what is
/// `held` before is given back when the other one waits, or before it is made.
fn keeps_and_awaits<G, A, B>(held: impl Fn() -> G, kept: impl Fn() -> A, awaited: impl Fn() -> B)
where
    G: Send,
    A: Future,
    B: Future,
{
    for is_free_before in [false, true] {
        let guard = held();
        let (go, may_go) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                may_go.recv().unwrap();
                drop(guard);
            });
            run(async {
                let mut first = Box::pin(kept());
                assert!(polled_once(&mut first).await.is_none(), "it is held");
                go.send(()).unwrap();
                if is_free_before {
                    // The wake of the hand-over is used up.
                    std::future::poll_fn({
                        let mut is_woken = false;
                        move |_| if std::mem::replace(&mut is_woken, true) { Poll::Ready(()) } else { Poll::Pending }
                    })
                    .await;
                }
                drop(awaited().await);
                // Once more: the first one has its turn again, and is passed over again.
                drop(awaited().await);
                drop(first.await);
                drop(awaited().await);
            });
        });
    }
}

#[test]
fn of_a_mutex() {
    let mutex = Mutex::new(());
    keeps_and_awaits(|| mutex.try_lock().unwrap(), || mutex.lock(), || mutex.lock());
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn of_a_readers_writer_lock() {
    let lock = RwLock::new(());
    keeps_and_awaits(|| lock.try_write().unwrap(), || lock.read(), || lock.read());
    keeps_and_awaits(|| lock.try_write().unwrap(), || lock.read(), || lock.write());
    keeps_and_awaits(|| lock.try_write().unwrap(), || lock.write(), || lock.read());
    keeps_and_awaits(|| lock.try_read().unwrap(), || lock.write(), || lock.write());
    keeps_and_awaits(|| lock.try_read().unwrap(), || lock.write(), || lock.read());
    assert!(lock.try_write().is_ok());
}

#[test]
fn of_a_semaphore() {
    let permits = Semaphore::new(3);
    for (kept, awaited) in [(1, 1), (1, 3), (3, 1), (2, 3), (3, 3), (2, 2)] {
        let held = || permits.try_acquire_many(3).unwrap();
        keeps_and_awaits(held, || permits.acquire_many(kept), || permits.acquire_many(awaited));
        assert_eq!(permits.available_permits(), 3);
    }
}

/// The poll after the hand-over takes it, where the other one was polled before.
#[test]
fn the_next_poll_takes_what_the_kept_one_was_handed() {
    let (mutex, count) = (Mutex::new(()), Arc::default());
    let guard = mutex.try_lock().unwrap();
    let mut kept = Task::waiting_of(&count, mutex.lock());
    let mut other = Task::waiting_of(&count, mutex.lock());
    drop(guard);
    assert_eq!(kept.wakes(), 1);
    let guard = other.poll().unwrap();
    assert!(mutex.try_lock().is_err() && kept.poll().is_none());
    drop(guard);
    assert_eq!(kept.wakes(), 2);
    assert!(kept.poll().is_some());
    assert!(mutex.try_lock().is_ok());
}

/// A future that is made after the hand-over, whose wake may be used up, is polled again.
#[test]
fn a_new_future_has_its_task_woken() {
    let (mutex, count) = (Mutex::new(()), Arc::default());
    let guard = mutex.try_lock().unwrap();
    let kept = Task::waiting_of(&count, mutex.lock());
    drop(guard);
    assert_eq!(kept.wakes(), 1);
    let mut other = Task::waiting_of(&count, mutex.lock());
    assert_eq!(kept.wakes(), 2);
    assert!(other.poll().is_some());
}

/// A task that polls its futures in turn: the one that was handed the lock has it, also if another
/// one is polled first. The task is woken for that other one, should the turn not come.
#[test]
fn a_future_that_is_polled_keeps_its_turn() {
    let (mutex, count) = (Mutex::new(()), Arc::default());
    let guard = mutex.try_lock().unwrap();
    let mut one = Task::waiting_of(&count, mutex.lock());
    let mut other = Task::waiting_of(&count, mutex.lock());
    assert!(other.poll().is_none() && one.poll().is_none());
    drop(guard);
    assert_eq!(one.wakes(), 1);
    assert!(other.poll().is_none());
    assert_eq!(one.wakes(), 2);
    let guard = one.poll().unwrap();
    assert!(other.poll().is_none());
    drop(guard);
    assert!(other.poll().is_some());
    // The turn does not come.
    let guard = mutex.try_lock().unwrap();
    let (mut one, mut other) = (Task::waiting_of(&count, mutex.lock()), Task::waiting_of(&count, mutex.lock()));
    assert!(one.poll().is_none());
    drop(guard);
    assert!(other.poll().is_none());
    assert!(other.poll().is_some());
    drop(one);
    // A part of a task that unlocks and locks again within a poll does not take the other's turn.
    let mut guard = mutex.try_lock().unwrap();
    let mut patient = Task::waiting_of(&count, mutex.lock());
    drop(guard);
    let mut busy = Task::waiting_of(&count, mutex.lock());
    guard = patient.poll().unwrap();
    assert!(busy.poll().is_none());
    drop(guard);
    assert!(busy.poll().is_some());
}

/// The futures change places: those of other tasks have as many before them as they had.
#[test]
fn strangers_keep_their_turns() {
    let (mutex, count) = (Mutex::new(()), Arc::default());
    let guard = mutex.try_lock().unwrap();
    let mut kept = Task::waiting_of(&count, mutex.lock());
    let mut second = Task::waiting(mutex.lock());
    let mut other = Task::waiting_of(&count, mutex.lock());
    let mut last = Task::waiting(mutex.lock());
    drop(guard);
    let guard = other.poll().unwrap();
    drop(guard);
    assert_eq!((second.wakes(), last.wakes()), (1, 0));
    drop(second.poll().unwrap());
    assert_eq!((kept.wakes(), last.wakes()), (2, 0), "it has the other one's place");
    drop(kept.poll().unwrap());
    assert_eq!(last.wakes(), 1);
    drop(last.poll().unwrap());
    assert!(mutex.try_lock().is_ok());
}

/// A future that wants more than the kept one was handed has its place, and waits there for the rest.
#[test]
fn one_that_wants_more_waits_in_that_place() {
    let (lock, count) = (RwLock::new(()), Arc::default());
    let (reader, guard) = (lock.try_read().unwrap(), Semaphore::new(0));
    drop((reader, guard));
    let guard = lock.try_write().unwrap();
    let mut kept = Task::waiting_of(&count, lock.read());
    let mut reader = Task::waiting(lock.read());
    let mut stranger = Task::waiting(lock.write());
    let mut other = Task::waiting_of(&count, lock.write());
    drop(guard);
    assert_eq!((kept.wakes(), reader.wakes(), stranger.wakes()), (1, 1, 0));
    let guard = reader.poll().unwrap();
    assert!(other.poll().is_none(), "the stranger's reader is inside");
    assert!(kept.poll().is_none());
    drop(guard);
    assert_eq!((other.wakes(), stranger.wakes()), (2, 0));
    drop(other.poll().unwrap());
    assert_eq!(stranger.wakes(), 1);
    drop(stranger.poll().unwrap());
    assert_eq!(kept.wakes(), 3);
    drop(kept.poll().unwrap());
    assert!(lock.try_write().is_ok());
}

/// What several kept ones were handed is put together; they keep their places before strangers.
#[test]
fn several_that_are_kept() {
    let (permits, count) = (Semaphore::new(0), Arc::default());
    let mut kept = [(); 3].map(|()| Task::waiting_of(&count, permits.acquire()));
    let mut other = Task::waiting_of(&count, permits.acquire_many(3));
    let mut stranger = Task::waiting(permits.acquire());
    permits.add_permits(3);
    assert_eq!((count.0.load(Ordering::SeqCst), stranger.wakes()), (3, 0));
    let three = other.poll().unwrap().unwrap();
    assert!(kept.iter_mut().all(|kept| kept.poll().is_none()));
    drop(three);
    assert_eq!((count.0.load(Ordering::SeqCst), stranger.wakes()), (6, 0));
    kept.iter_mut().for_each(|kept| kept.poll().unwrap().unwrap().forget());
    permits.add_permits(1);
    drop(stranger.poll().unwrap());
    assert_eq!(permits.available_permits(), 1);
}

/// A future that wants less than the kept one was handed leaves the rest to those behind it, at once.
#[test]
fn one_that_wants_less_hands_the_rest_on() {
    let (permits, count) = (Semaphore::new(0), Arc::default());
    let mut kept = Task::waiting_of(&count, permits.acquire_many(5));
    let mut stranger = Task::waiting(permits.acquire_many(3));
    let mut other = Task::waiting_of(&count, permits.acquire());
    permits.add_permits(5);
    assert_eq!((kept.wakes(), stranger.wakes()), (1, 0));
    let one = other.poll().unwrap().unwrap();
    assert_eq!((one.num_permits(), stranger.wakes()), (1, 1));
    drop(one);
    drop(stranger.poll().unwrap());
    assert_eq!(kept.wakes(), 2);
    assert_eq!(kept.poll().unwrap().unwrap().num_permits(), 5);
    assert_eq!(permits.available_permits(), 5);
}

/// Either is dropped, before and after the exchange, and before and after the hand-over.
#[test]
fn either_is_dropped() {
    for drops_kept in [true, false] {
        for when in 0..3 {
            let (mutex, count) = (Mutex::new(()), Arc::default());
            let guard = mutex.try_lock().unwrap();
            let mut kept = Some(Task::waiting_of(&count, mutex.lock()));
            let mut stranger = Task::waiting(mutex.lock());
            let mut other = Some(Task::waiting_of(&count, mutex.lock()));
            let dropped = |is_now: bool, kept: &mut Option<_>, other: &mut Option<_>| {
                if is_now {
                    drop(if drops_kept { kept.take() } else { other.take() });
                }
            };
            dropped(when == 0, &mut kept, &mut other);
            drop(guard);
            dropped(when == 1, &mut kept, &mut other);
            let mut guard = other.as_mut().and_then(Task::poll);
            assert_eq!(guard.is_some(), other.is_some() && kept.is_some(), "{drops_kept} {when}");
            dropped(when == 2, &mut kept, &mut other);
            drop(guard.take());
            if stranger.wakes() == 0 {
                drop(kept.as_mut().unwrap().poll().unwrap());
            }
            drop(stranger.poll().unwrap());
            drop(kept.as_mut().and_then(Task::poll));
            drop(other.as_mut().and_then(Task::poll));
            assert!(mutex.try_lock().is_ok(), "{drops_kept} {when}");
            drop((kept, other));
            assert_eq!(Arc::strong_count(&count), 1, "a waker was lost");
        }
    }
}

/// A closed semaphore: what was handed before is had, by the one that is polled.
#[test]
fn a_semaphore_that_is_closed_meanwhile() {
    let (permits, count) = (Semaphore::new(0), Arc::default());
    let mut kept = Task::waiting_of(&count, permits.acquire());
    let mut other = Task::waiting_of(&count, permits.acquire());
    permits.add_permits(1);
    permits.close();
    assert!(other.poll().unwrap().is_err() && kept.poll().unwrap().is_ok());
    assert_eq!(permits.available_permits(), 1);
}

/// Tasks whose futures are not to be told apart by address, handed permits in every order: each finds
/// its own, and only its own.
#[test]
fn a_task_finds_its_own_among_many() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let permits = Semaphore::new(0);
        let counts: Vec<Arc<Count>> = (0..60).map(|_| Arc::default()).collect();
        let mut kept: Vec<_> = counts.iter().map(|count| Some(Task::waiting_of(count, permits.acquire()))).collect();
        let mut others: Vec<_> = counts.iter().map(|count| Task::waiting_of(count, permits.acquire())).collect();
        permits.add_permits(60);
        let mut left: Vec<usize> = (0..60).collect();
        while !left.is_empty() {
            let at = left.swap_remove(rng.below(left.len() as u64) as usize);
            match rng.below(3) {
                0 => kept[at].as_mut().unwrap().poll().unwrap().unwrap().forget(),
                1 => others[at].poll().unwrap().unwrap().forget(),
                _ => {
                    // Its permit goes to the first of the others that waits.
                    drop(kept[at].take());
                }
            }
        }
        drop((kept, others));
        assert_eq!(counts.iter().map(Arc::strong_count).max(), Some(1), "a waker was lost");
        assert!(permits.available_permits() <= 60);
    }
}

/// Tasks of several threads, each of which keeps a future now and then.
#[test]
fn many_threads() {
    let _watch = Watchdog::new("tasks that keep futures");
    let (mutex, permits, lock) = (Mutex::new(0), Semaphore::new(3), RwLock::new(0));
    thread::scope(|scope| {
        for of in 0..4_u32 {
            let (mutex, permits, lock) = (&mutex, &permits, &lock);
            scope.spawn(move || {
                for turn in 0..500_u32 {
                    block_on(async {
                        let mut kept = Box::pin(mutex.lock());
                        let guard = polled_once(&mut kept).await;
                        drop(guard);
                        *mutex.lock().await += 1;
                        if (turn + of) % 3 == 0 {
                            drop(kept.await);
                        }
                    });
                    block_on(async {
                        let mut kept = Box::pin(permits.acquire_many(1 + turn % 3));
                        drop(polled_once(&mut kept).await);
                        drop(permits.acquire_many(1 + of % 3).await.unwrap());
                        if (turn + of) % 2 == 0 {
                            drop(kept.await.unwrap());
                        }
                    });
                    block_on(async {
                        let mut kept = Box::pin(lock.read());
                        drop(polled_once(&mut kept).await);
                        *lock.write().await += 1;
                    });
                }
            });
        }
    });
    assert_eq!((*mutex.try_lock().unwrap(), permits.available_permits(), *lock.try_write().unwrap()), (2000, 3, 2000));
}
