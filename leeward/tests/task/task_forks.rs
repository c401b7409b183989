//! Locks for tasks in the child of a fork: nobody is queued there, what is held stays held, and
//! futures that the child polls queue anew.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/polled.rs"]
mod polled;
#[path = "../common/processes.rs"]
mod processes;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use leeward::task::{Mutex, Notify, RwLock, Semaphore};
use polled::*;
use processes::*;

fn poll<F: Future>(future: &mut Pin<Box<F>>, count: &Arc<Count>) -> Option<F::Output> {
    poll_by(future.as_mut(), &waker(count))
}

#[test]
fn the_child_of_a_fork_has_no_tasks_that_wait() {
    let mutex = Mutex::new(0);
    let guard = mutex.try_lock().unwrap();
    let [first, second, third] = [(); 3].map(|()| Arc::new(Count::default()));
    let wakes = || [&first, &second, &third].map(|count| count.0.load(Ordering::SeqCst));
    let (mut one, mut two) = (Some(Box::pin(mutex.lock())), Box::pin(mutex.lock()));
    assert!(poll(one.as_mut().unwrap(), &first).is_none() && poll(&mut two, &second).is_none());
    in_child(|| {
        // SAFETY: it is the child's: what is moved there stays in the parent.
        drop(unsafe { std::ptr::read(&guard) });
        // Nobody got it, and nobody waits.
        let free = mutex.try_lock().is_ok() && wakes() == [0, 0, 0];
        // Those that are polled again queue in that order; those that are dropped are in no queue.
        let guard = mutex.try_lock().unwrap();
        let mut three = Box::pin(mutex.lock());
        let queued = poll(&mut three, &third).is_none() && poll(&mut two, &second).is_none();
        one = None;
        drop(guard);
        let handed = wakes() == [0, 0, 1];
        drop(poll(&mut three, &third).unwrap());
        let passed = wakes() == [0, 1, 1];
        drop(poll(&mut two, &second).unwrap());
        free && queued && handed && passed && mutex.try_lock().is_ok()
    });
    drop(guard);
    assert_eq!(wakes(), [1, 0, 0], "the parent's queue is as it was");
    drop(poll(one.as_mut().unwrap(), &first).unwrap());
    assert!(poll(&mut two, &second).is_some());
}

#[test]
fn what_was_gathered_is_free_in_the_child() {
    let permits = Semaphore::new(2);
    let count = Arc::new(Count::default());
    let mut five = Box::pin(permits.acquire_many(5));
    assert!(poll(&mut five, &count).is_none());
    in_child(|| {
        let one = permits.try_acquire().is_ok();
        permits.add_permits(1);
        one && permits.available_permits() == 3 && count.0.load(Ordering::SeqCst) == 0
    });
    // A child in which a task waits before anything is given.
    in_child(|| {
        let mut two = Box::pin(permits.acquire_many(2));
        let both = poll(&mut two, &count).is_some();
        let mut four = Box::pin(permits.acquire_many(4));
        let waits = poll(&mut four, &count).is_none();
        permits.add_permits(2);
        both && waits && count.0.load(Ordering::SeqCst) == 1 && poll(&mut four, &count).is_some()
    });
    // The child of a child, in which the middle one's task is not queued either.
    in_child(|| {
        let mut six = Box::pin(permits.acquire_many(6));
        let waits = poll(&mut six, &count).is_none();
        let inner = is_fine_in_child(|| {
            permits.add_permits(4);
            permits.available_permits() == 6 && count.0.load(Ordering::SeqCst) == 0
        });
        permits.add_permits(4);
        waits && inner && count.0.load(Ordering::SeqCst) == 1
    });
    permits.add_permits(3);
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
}

/// A child that calls nothing that waits finds what is free: of each lock, by each call, and also
/// after it has dropped its copy of a future that waited.
#[test]
fn a_child_that_only_tries() {
    let permits = Semaphore::new(3);
    let lock = RwLock::new(0);
    let count = Arc::new(Count::default());
    let reader = lock.try_read().unwrap();
    let (mut five, mut writer) = (Some(Box::pin(permits.acquire_many(5))), Some(Box::pin(lock.write())));
    assert!(poll(five.as_mut().unwrap(), &count).is_none() && poll(writer.as_mut().unwrap(), &count).is_none());
    assert!(permits.try_acquire().is_err() && permits.available_permits() == 0 && lock.try_read().is_err());
    in_child(|| permits.available_permits() == 3);
    in_child(|| permits.try_acquire_many(3).is_ok() && permits.try_acquire_many(4).is_err());
    in_child(|| permits.forget_permits(9) == 3);
    // The reader is the forking thread's, and stays inside.
    in_child(|| lock.try_write().is_err() && lock.try_read().is_ok());
    for way in 0..2 {
        in_child(|| {
            if way == 0 {
                (five, writer) = (None, None);
            } else {
                // A call that takes the queue's lock, and changes nothing.
                permits.add_permits(0);
                drop(lock.try_read());
            }
            let free = permits.try_acquire_many(3).is_ok() && lock.try_read().is_ok();
            // SAFETY: it is the child's: what is moved there stays in the parent.
            drop(unsafe { std::ptr::read(&reader) });
            free && lock.try_write().is_ok()
        });
    }
    assert!(permits.try_acquire().is_err() && lock.try_read().is_err(), "the parent's tasks wait");
    permits.add_permits(2);
    drop(reader);
    assert!(poll(five.as_mut().unwrap(), &count).is_some() && poll(writer.as_mut().unwrap(), &count).is_some());
}

/// What a child's child finds whose parent has queued a task of its own, or none.
#[test]
fn a_childs_child_that_only_tries() {
    let permits = Semaphore::new(2);
    let count = Arc::new(Count::default());
    let mut three = Box::pin(permits.acquire_many(3));
    assert!(poll(&mut three, &count).is_none());
    in_child(|| is_fine_in_child(|| permits.try_acquire_many(2).is_ok()));
    in_child(|| {
        let mut four = Box::pin(permits.acquire_many(4));
        let waits = poll(&mut four, &count).is_none();
        waits && permits.try_acquire().is_err() && is_fine_in_child(|| permits.try_acquire_many(2).is_ok())
    });
    permits.add_permits(1);
    assert!(poll(&mut three, &count).is_some());
}

/// What futures were handed before the fork, and did not come for, is free in the child: whether they
/// are another thread's, or are polled there, dropped there, or kept while another one is awaited.
#[test]
fn what_was_handed_over_is_free_in_the_child() {
    let (mutex, permits, lock) = (Mutex::new(0), Semaphore::new(0), RwLock::new(0));
    let count = Arc::new(Count::default());
    let held = (mutex.try_lock().unwrap(), lock.try_write().unwrap());
    let (mut kept, mut three) = (Box::pin(mutex.lock()), Box::pin(permits.acquire_many(3)));
    let mut writer = Box::pin(lock.write());
    assert!(poll(&mut kept, &count).is_none() && poll(&mut three, &count).is_none());
    assert!(poll(&mut writer, &count).is_none());
    drop(held);
    permits.add_permits(4);
    assert_eq!(count.0.load(Ordering::SeqCst), 3);
    assert!(mutex.try_lock().is_err() && permits.available_permits() == 1 && lock.try_read().is_err());
    // Calls that do not queue; those that do; and futures of the task that keeps the handed ones.
    in_child(|| mutex.try_lock().is_ok() && permits.try_acquire_many(4).is_ok() && lock.try_write().is_ok());
    in_child(|| permits.available_permits() == 4);
    in_child(|| permits.forget_permits(9) == 4);
    in_child(|| {
        let (mut one, mut four) = (Box::pin(mutex.lock()), Box::pin(permits.acquire_many(4)));
        let mut reader = Box::pin(lock.read());
        let guards = (poll(&mut one, &count), poll(&mut four, &count), poll(&mut reader, &count));
        guards.0.is_some() && guards.1.is_some() && guards.2.is_some()
    });
    // Those that were handed: polled, they ask anew; dropped, they give nothing twice.
    in_child(|| {
        let guard = poll(&mut kept, &count);
        let again = mutex.try_lock().is_err() && guard.is_some();
        drop(guard);
        let waits = (poll(&mut three, &count).is_some(), mutex.try_lock().is_ok());
        again && waits == (true, true) && permits.available_permits() == 4
    });
    let mut all = Some((kept, three, writer));
    in_child(|| {
        let guard = mutex.try_lock();
        all = None;
        let still = mutex.try_lock().is_err() && guard.is_ok();
        still && permits.available_permits() == 4 && lock.try_write().is_ok()
    });
    // A child in which the lock is taken before the handed one is polled, and kept again.
    in_child(|| {
        let (kept, ..) = all.as_mut().unwrap();
        let mut guard = mutex.try_lock().ok();
        let waits = poll(kept, &count).is_none();
        let mut other = Box::pin(mutex.lock());
        let also = poll(&mut other, &count).is_none();
        guard.take();
        let taken = poll(&mut other, &count).is_some();
        waits && also && taken && poll(kept, &count).is_some()
    });
    // A child's child, of one that was handed permits in the child.
    in_child(|| {
        let guard = mutex.try_lock();
        let mut one = Box::pin(mutex.lock());
        let waits = poll(&mut one, &count).is_none();
        drop(guard);
        waits && mutex.try_lock().is_err() && is_fine_in_child(|| mutex.try_lock().is_ok())
    });
    assert!(mutex.try_lock().is_err() && permits.available_permits() == 1, "the parent's are as they were");
    let (mut kept, mut three, mut writer) = all.unwrap();
    assert!(poll(&mut kept, &count).is_some() && poll(&mut three, &count).is_some());
    assert!(poll(&mut writer, &count).is_some());
    assert!(mutex.try_lock().is_ok() && permits.available_permits() == 4 && lock.try_write().is_ok());
}

/// A fork at any time beside threads that hand a mutex over, keep futures and change their places: in
/// the child the mutex is free at least where no copied guard or lost hand-over has it, and never twice.
#[test]
fn a_fork_in_the_midst() {
    let permits = Semaphore::new(2);
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    block_on(async {
                        let mut kept = Box::pin(permits.acquire());
                        let first = std::future::poll_fn(|context| {
                            std::task::Poll::Ready(poll_by(kept.as_mut(), context.waker()))
                        })
                        .await;
                        drop(first);
                        drop(permits.acquire_many(2).await);
                    });
                }
            });
        }
        for _ in 0..60 {
            in_child(|| {
                let count = Arc::new(Count::default());
                let mut futures: Vec<_> = (0..4).map(|_| Box::pin(permits.acquire())).collect();
                let had: Vec<_> = futures.iter_mut().filter_map(|future| poll(future, &count)).collect();
                let is_sound = had.len() <= 2;
                drop(had);
                is_sound && permits.available_permits() <= 2
            });
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(permits.available_permits(), 2);
}

/// Nobody waits in the child: what is told there is kept, once; what was told and not come for is there.
#[test]
fn the_child_of_a_fork_has_no_tasks_that_are_told() {
    let notify = Notify::new();
    let [first, second] = [(); 2].map(|()| Arc::new(Count::default()));
    let wakes = || [&first, &second].map(|count| count.0.load(Ordering::SeqCst));
    let (mut one, mut two) = (Box::pin(notify.notified()), Box::pin(notify.notified()));
    assert!(poll(&mut one, &first).is_none() && poll(&mut two, &second).is_none());
    let kept = || Box::pin(notify.notified()).as_mut().enable();
    in_child(|| {
        notify.notify_one();
        notify.notify_one();
        let is_kept = kept() && !kept() && wakes() == [0, 0];
        // Those that are polled again queue in that order.
        let queued = poll(&mut two, &second).is_none() && poll(&mut one, &first).is_none();
        notify.notify_one();
        is_kept && queued && wakes() == [0, 1] && poll(&mut two, &second).is_some()
    });
    // They were there when all are told in the child.
    in_child(|| {
        notify.notify_waiters();
        let told = poll(&mut one, &first).is_some() && poll(&mut two, &second).is_some();
        told && !kept() && wakes() == [0, 0]
    });
    notify.notify_one();
    assert_eq!(wakes(), [1, 0]);
    // What the first one was told is kept, and there are not two of it.
    in_child(|| kept() && !kept());
    in_child(|| {
        notify.notify_one();
        poll(&mut one, &first).is_some() && poll(&mut two, &second).is_none() && !kept()
    });
    assert!(poll(&mut one, &first).is_some());
    notify.notify_waiters();
    assert!(poll(&mut two, &second).is_some());
}

/// A waker forks while many are told: the child tells none of those that are the parent's.
#[test]
fn a_fork_within_a_call_that_tells_all() {
    static NOTIFY: Notify = Notify::const_new();
    static CHILD: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);
    let mut first = Box::pin(NOTIFY.notified());
    let forks = call(|| {
        // SAFETY: the child uses what is its own, and leaves.
        CHILD.store(unsafe { libc::fork() }, Ordering::SeqCst);
    });
    assert!(poll_by(first.as_mut(), &forks).is_none());
    let mut tasks: Vec<_> = (0..40).map(|_| Task::waiting(NOTIFY.notified())).collect();
    NOTIFY.notify_waiters();
    let child = CHILD.load(Ordering::SeqCst);
    if child == 0 {
        // Those of the first batch, at most, whose wakers were taken out before the fork; and all are told.
        let is_right = tasks.iter().skip(16).all(|task| task.wakes() == 0)
            && tasks.iter_mut().all(|task| task.poll().is_some())
            && Task::new(NOTIFY.notified()).poll().is_none();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!is_right)) };
    }
    assert_eq!(status_of(child), 0);
    assert!(tasks.iter_mut().all(|task| task.wakes() == 1 && task.poll().is_some()));
}
