//! `task::Notify`, polled by hand with wakers that count: what tokio documents of its `Notify` and tests
//! there, call by call; futures that are dropped, kept or leaked at each point; wakers that come back.

#![allow(missing_docs)]

#[macro_use]
#[path = "../common/auto_traits.rs"]
mod auto_traits;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/polled.rs"]
mod polled;
#[path = "notify/wakers.rs"]
mod wakers;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;

use common::*;
use leeward::task::{Notified, Notify, OwnedNotified, Semaphore};
use polled::*;

assert_is!(Send: Notify, Notified<'_>, OwnedNotified);
assert_is!(Sync: Notify, Notified<'_>, OwnedNotified);
assert_not!(Unpin: Notified<'_>, OwnedNotified);

type Queued<'a> = Pin<Box<Notified<'a>>>;

/// Returns a future that is queued, and that no task has polled.
fn enabled(notify: &Notify) -> Queued<'_> {
    let mut future = Box::pin(notify.notified());
    assert!(!future.as_mut().enable());
    future
}

/// Polls a future once, by a waker that does nothing.
fn is_ready(future: &mut Queued<'_>) -> bool {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[test]
fn one_notification_is_kept() {
    let notify = Notify::new();
    notify.notify_one();
    notify.notify_one();
    notify.notify_last();
    let mut first = Task::new(notify.notified());
    assert!(first.poll().is_some());
    let mut second = Task::waiting(notify.notified());
    notify.notify_one();
    assert_eq!((first.wakes(), second.wakes()), (0, 1));
    assert!(second.poll().is_some());
    // A future that was made before, and is polled after.
    let mut before = Task::new(notify.notified());
    notify.notify_last();
    assert!(before.poll().is_some());
    drop(Task::waiting(notify.notified()));
}

#[test]
fn tasks_are_told_in_turn() {
    let notify = Notify::new();
    let mut tasks: Vec<_> = (0..40).map(|_| Task::waiting(notify.notified())).collect();
    for turn in 0..tasks.len() {
        assert!(tasks.iter().enumerate().all(|(at, task)| task.wakes() == usize::from(at < turn)));
        notify.notify_one();
        assert_eq!(tasks[turn].wakes(), 1);
        tasks.iter_mut().skip(turn + 1).for_each(|task| assert!(task.poll().is_none()));
    }
    tasks.iter_mut().for_each(|task| assert!(task.poll().is_some()));
    drop(Task::waiting(notify.notified()));
}

#[test]
fn the_last_is_told() {
    let notify = Notify::new();
    let mut tasks: Vec<_> = (0..3).map(|_| Task::waiting(notify.notified())).collect();
    notify.notify_last();
    assert_eq!([0, 1, 2].map(|at| tasks[at].wakes()), [0, 0, 1]);
    // The next one comes behind the others.
    tasks.push(Task::waiting(notify.notified()));
    notify.notify_one();
    notify.notify_last();
    assert_eq!([0, 1, 2, 3].map(|at| tasks[at].wakes()), [1, 0, 1, 1]);
    notify.notify_last();
    assert!(tasks.iter_mut().all(|task| task.poll().is_some()));
    notify.notify_last();
    assert!(Task::new(notify.notified()).poll().is_some());
}

#[test]
fn a_future_that_is_dropped_tells_the_next() {
    let notify = Notify::new();
    let (first, second) = (Task::waiting(notify.notified()), Task::waiting(notify.notified()));
    let mut third = Task::waiting(notify.notified());
    notify.notify_one();
    drop(first);
    assert_eq!((second.wakes(), third.wakes()), (1, 0));
    drop(second);
    assert_eq!(third.wakes(), 1);
    assert!(third.poll().is_some());
    // The last one's is kept.
    let last = Task::waiting(notify.notified());
    notify.notify_one();
    drop(last);
    assert!(Task::new(notify.notified()).poll().is_some());
    // One that was not told leaves the queue, and takes nothing along.
    let (first, mut second) = (Task::waiting(notify.notified()), Task::waiting(notify.notified()));
    drop(first);
    notify.notify_one();
    assert!(second.poll().is_some());
}

/// One is handed over and one is kept; the first is dropped.
#[test]
fn one_at_most_is_kept() {
    let notify = Notify::new();
    let told = Task::waiting(notify.notified());
    notify.notify_one();
    notify.notify_one();
    drop(told);
    assert!(Task::new(notify.notified()).poll().is_some());
    drop(Task::waiting(notify.notified()));
}

#[test]
fn all_that_wait_are_told() {
    for many in [1, 15, 16, 17, 33, 100] {
        let notify = Notify::new();
        let mut tasks: Vec<_> = (0..many).map(|_| Task::waiting(notify.notified())).collect();
        tasks.extend((0..2).map(|_| Task::new(notify.notified())));
        notify.notify_waiters();
        let mut after = Task::new(notify.notified());
        assert!(tasks.iter().enumerate().all(|(at, task)| task.wakes() == usize::from(at < many)), "{many}");
        assert!(after.poll().is_none(), "nothing is kept");
        assert!(tasks.iter_mut().all(|task| task.poll().is_some()));
        assert_eq!(after.wakes(), 0);
        notify.notify_one();
        assert_eq!(after.wakes(), 1);
    }
}

/// Those that were told with all are dropped: what they were told is no one's.
#[test]
fn a_future_that_was_told_with_all_passes_nothing_on() {
    let notify = Notify::new();
    let (first, second) = (Task::waiting(notify.notified()), Task::new(notify.notified()));
    notify.notify_waiters();
    let next = Task::waiting(notify.notified());
    drop((first, second));
    assert_eq!(next.wakes(), 0);
}

#[test]
fn a_future_that_was_made_before_is_told() {
    let notify = Notify::new();
    let mut before = [(); 2].map(|()| Task::new(notify.notified()));
    notify.notify_waiters();
    notify.notify_waiters();
    assert!(before.iter_mut().all(|task| task.poll().is_some()));
    drop(Task::waiting(notify.notified()));
}

/// What a task's kept future was told goes to the one that the task awaits; and the kept one was there
/// when all were told.
#[test]
fn a_kept_future_is_told_with_all() {
    for with_all in [false, true] {
        let (notify, task) = (Notify::new(), Arc::new(Count::default()));
        let mut kept = Task::waiting_of(&task, notify.notified());
        notify.notify_one();
        if with_all {
            notify.notify_waiters();
        }
        let mut awaited = Task::waiting_of(&task, notify.notified());
        assert_eq!(awaited.wakes(), 2, "it is polled once more");
        assert!(awaited.poll().is_some());
        assert_eq!(kept.poll().is_some(), with_all);
        // Nothing is left, or it is queued still.
        let mut next = Task::waiting(notify.notified());
        notify.notify_one();
        assert_eq!(next.poll().is_some(), with_all);
        assert!(kept.poll().is_some());
    }
}

#[test]
fn a_future_that_is_enabled_has_its_turn() {
    let notify = Notify::new();
    let mut first = enabled(&notify);
    let mut second = Task::waiting(notify.notified());
    assert!(!first.as_mut().enable());
    notify.notify_one();
    assert_eq!(second.wakes(), 0);
    assert!(first.as_mut().enable() && first.as_mut().enable() && is_ready(&mut first));
    // It takes what is kept, or was told since it was made.
    notify.notify_one();
    assert!(second.poll().is_some());
    notify.notify_one();
    assert!(pin!(notify.notified()).enable());
    let mut made = Box::pin(notify.notified());
    notify.notify_waiters();
    assert!(made.as_mut().enable());
    // It is told with all; it passes on what it was told; it leaves the queue.
    let (mut one, two, three) = (enabled(&notify), enabled(&notify), enabled(&notify));
    drop(three);
    notify.notify_waiters();
    assert!(is_ready(&mut one));
    drop(two);
    let (one, mut two) = (enabled(&notify), enabled(&notify));
    notify.notify_one();
    assert!(!two.as_mut().enable());
    drop(one);
    assert!(two.as_mut().enable());
    drop(Task::waiting(notify.notified()));
}

/// Enabling gives no waker, and takes none away; a poll gives one.
#[test]
fn a_future_that_is_enabled_and_polled_wakes_its_task() {
    let notify = Notify::new();
    let mut future = enabled(&notify);
    let count = Arc::new(Count::default());
    assert!(poll_by(future.as_mut(), &waker(&count)).is_none());
    assert!(!future.as_mut().enable());
    notify.notify_one();
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert!(future.as_mut().enable());
    assert_eq!(Arc::strong_count(&count), 1);
}

/// Futures that no task has polled are of no task: what one of them was told is not another's.
#[test]
fn futures_that_are_enabled_take_nothing_from_each_other() {
    let notify = Notify::new();
    let (mut one, mut other) = (enabled(&notify), enabled(&notify));
    notify.notify_one();
    assert!(!other.as_mut().enable() && !other.as_mut().enable());
    let mut task = Task::waiting(notify.notified());
    assert!(task.poll().is_none());
    assert!(one.as_mut().enable());
}

#[test]
fn a_future_that_was_ready_stays_so() {
    let notify = Notify::new();
    notify.notify_one();
    let mut task = Task::new(notify.notified());
    assert!(task.poll().is_some());
    notify.notify_one();
    assert!(task.poll().is_some());
    assert!(Task::new(notify.notified()).poll().is_some(), "it took nothing");
}

#[test]
fn an_owned_future_keeps_it_alive() {
    let notify = Arc::new(Notify::new());
    let mut told: Pin<Box<OwnedNotified>> = Box::pin(notify.clone().notified_owned());
    let mut context = Context::from_waker(Waker::noop());
    assert!(told.as_mut().poll(&mut context).is_pending() && !told.as_mut().enable());
    assert_eq!(Arc::strong_count(&notify), 2);
    notify.notify_waiters();
    drop(notify);
    let mut told = thread::spawn(move || {
        assert!(told.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
        told
    })
    .join()
    .unwrap();
    assert!(told.as_mut().enable());
}

#[test]
fn a_future_that_is_leaked_keeps_its_place() {
    let notify = Box::new(Notify::new());
    std::mem::forget(Task::waiting(notify.notified()));
    let mut next = Task::waiting(notify.notified());
    notify.notify_one();
    assert_eq!(next.wakes(), 0);
    notify.notify_waiters();
    assert!(next.poll().is_some());
    std::mem::forget(Task::waiting(notify.notified()));
    notify.notify_waiters();
    drop(next);
    drop(notify);
}

/// A future goes on in another task, on another thread: that one is woken.
#[test]
fn a_future_that_moves() {
    let notify = Notify::new();
    for by_all in [false, true] {
        let first = Arc::new(Count::default());
        let mut future = Box::pin(notify.notified());
        assert!(poll_by(future.as_mut(), &waker(&first)).is_none());
        let (mut future, second) = thread::scope(|scope| {
            let moved = scope.spawn(move || {
                let second = Arc::new(Count::default());
                assert!(poll_by(future.as_mut(), &waker(&second)).is_none());
                (future, second)
            });
            moved.join().unwrap()
        });
        if by_all {
            notify.notify_waiters()
        } else {
            notify.notify_one()
        }
        assert_eq!((first.0.load(Ordering::SeqCst), second.0.load(Ordering::SeqCst)), (0, 1));
        assert!(is_ready(&mut future));
    }
}

/// A thread's variables are dropped with a future that was told, which another thread's waits for.
#[test]
fn a_future_in_a_variable_of_a_thread_that_ends() {
    static NOTIFY: Notify = Notify::const_new();
    thread_local! {
        static FUTURE: std::cell::RefCell<Option<Queued<'static>>> = const { std::cell::RefCell::new(None) };
    }
    for is_told in [false, true] {
        let mut next = thread::spawn(move || {
            let future = enabled(&NOTIFY);
            FUTURE.set(Some(future));
            let next = enabled(&NOTIFY);
            if is_told {
                NOTIFY.notify_one();
            }
            next
        })
        .join()
        .unwrap();
        assert_eq!(next.as_mut().enable(), is_told);
    }
}

/// Tasks of several threads, some of which give up: as many go on as were told.
#[test]
fn many_threads() {
    let _watch = Watchdog::new("tasks of many threads that are told");
    let (notify, left) = (Notify::new(), AtomicU32::new(0));
    thread::scope(|scope| {
        for of in 0..3 {
            let (notify, left) = (&notify, &left);
            scope.spawn(move || {
                for turn in 0..2000_u32 {
                    if (turn + of) % 5 == 0 {
                        let _ = Task::new(notify.notified()).poll();
                        // What it may have taken is given back.
                        notify.notify_one();
                    }
                    let take = || left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
                    while take().is_err() {
                        block_on(notify.notified());
                    }
                    if left.load(Ordering::SeqCst) != 0 {
                        notify.notify_one();
                    }
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..6000 {
                left.fetch_add(1, Ordering::SeqCst);
                notify.notify_one();
            }
        });
    });
    assert_eq!(left.load(Ordering::SeqCst), 0);
}

#[test]
fn what_is_shown() {
    let notify = Notify::default();
    assert_eq!(format!("{notify:?} {:?}", notify.notified()), "Notify { is_kept: false } Notified { .. }");
    notify.notify_one();
    assert_eq!(format!("{notify:?}"), "Notify { is_kept: true }");
    assert_eq!(format!("{:?}", Arc::new(notify).notified_owned()), "OwnedNotified { .. }");
}

#[cfg(target_pointer_width = "64")]
#[test]
fn sizes() {
    assert_eq!([size_of::<Notify>(), size_of::<Notified<'_>>(), size_of::<OwnedNotified>()], [56, 72, 72]);
}
