//! Locks for tasks in the child of a fork: nobody is queued there, what is held stays held, and
//! futures that the child polls queue anew.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

mod common;
#[path = "common/processes.rs"]
mod processes;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use leeward::task::{Mutex, RwLock, Semaphore};
use processes::*;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future>(future: &mut Pin<Box<F>>, count: &Arc<Count>) -> Option<F::Output> {
    match future.as_mut().poll(&mut Context::from_waker(&Waker::from(count.clone()))) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Asserts that `work` returns well in a child.
fn forked(work: impl FnOnce() -> bool) {
    assert_eq!(status_of(child(work)), 0, "the child found something wrong");
}

#[test]
fn the_child_of_a_fork_has_no_tasks_that_wait() {
    let mutex = Mutex::new(0);
    let guard = mutex.try_lock().unwrap();
    let [first, second, third] = [(); 3].map(|()| Arc::new(Count::default()));
    let wakes = || [&first, &second, &third].map(|count| count.0.load(Ordering::SeqCst));
    let (mut one, mut two) = (Some(Box::pin(mutex.lock())), Box::pin(mutex.lock()));
    assert!(poll(one.as_mut().unwrap(), &first).is_none() && poll(&mut two, &second).is_none());
    forked(|| {
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
    forked(|| {
        let one = permits.try_acquire().is_ok();
        permits.add_permits(1);
        one && permits.available_permits() == 3 && count.0.load(Ordering::SeqCst) == 0
    });
    // A child in which a task waits before anything is given.
    forked(|| {
        let mut two = Box::pin(permits.acquire_many(2));
        let both = poll(&mut two, &count).is_some();
        let mut four = Box::pin(permits.acquire_many(4));
        let waits = poll(&mut four, &count).is_none();
        permits.add_permits(2);
        both && waits && count.0.load(Ordering::SeqCst) == 1 && poll(&mut four, &count).is_some()
    });
    // The child of a child, in which the middle one's task is not queued either.
    forked(|| {
        let mut six = Box::pin(permits.acquire_many(6));
        let waits = poll(&mut six, &count).is_none();
        let inner = status_of(child(|| {
            permits.add_permits(4);
            permits.available_permits() == 6 && count.0.load(Ordering::SeqCst) == 0
        }));
        permits.add_permits(4);
        waits && inner == 0 && count.0.load(Ordering::SeqCst) == 1
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
    forked(|| permits.available_permits() == 3);
    forked(|| permits.try_acquire_many(3).is_ok() && permits.try_acquire_many(4).is_err());
    forked(|| permits.forget_permits(9) == 3);
    // The reader is the forking thread's, and stays inside.
    forked(|| lock.try_write().is_err() && lock.try_read().is_ok());
    for way in 0..2 {
        forked(|| {
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
    forked(|| status_of(child(|| permits.try_acquire_many(2).is_ok())) == 0);
    forked(|| {
        let mut four = Box::pin(permits.acquire_many(4));
        let waits = poll(&mut four, &count).is_none();
        waits && permits.try_acquire().is_err() && status_of(child(|| permits.try_acquire_many(2).is_ok())) == 0
    });
    permits.add_permits(1);
    assert!(poll(&mut three, &count).is_some());
}
