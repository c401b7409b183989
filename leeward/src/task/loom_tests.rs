//! Models of the locks for tasks, as they ship, under loom: no two holders at a time, what was done
//! under a lock is seen by the next holder, and no wake is lost (a deadlock, which loom reports).

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;
use std::vec::Vec;

use loom::cell::UnsafeCell;
use loom::thread;

use super::{Mutex, Notify, RwLock, Semaphore};
use crate::models;
use crate::raw::Event;

mod kept;
mod notify;

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let set_up = || {
        crate::futex::wake(&crate::atomic::AtomicU32::new(0), 1);
    };
    models::explore(preemptions, set_up, model);
}

/// Wakes a thread that runs one future.
struct Parker(Event);

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.0.set();
    }
}

fn parker() -> (Arc<Parker>, Waker) {
    let parker = Arc::new(Parker(<Event>::new()));
    (parker.clone(), Waker::from(parker))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let (parker, waker) = parker();
    block_on_as(&parker, &waker, future)
}

/// Runs a future of the task that the parker is.
fn block_on_as<F: Future>(parker: &Parker, waker: &Waker, future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
            return output;
        }
        parker.0.wait();
        parker.0.clear();
    }
}

/// Polls a future once, and drops it. Returns its output, if it was ready.
fn glance<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => {
            thread::yield_now();
            None
        }
    }
}

/// A value that one task at a time may have, as the lock beside it should see to.
struct Value(UnsafeCell<u32>);

// SAFETY: loom reports two threads that use it at the same time.
unsafe impl Send for Value {}
// SAFETY: as above.
unsafe impl Sync for Value {}

impl Value {
    fn new() -> Self {
        Value(UnsafeCell::new(0))
    }

    fn add(&self) {
        // SAFETY: loom reports a thread that is here meanwhile.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: loom reports a thread that writes meanwhile.
        self.0.with(|value| unsafe { *value })
    }
}

/// Runs works on threads of their own, the last on this one, over a lock and a value.
fn beside<L: Send + Sync + 'static>(lock: L, works: &[fn(&L, &Value)]) -> u32 {
    let both = Arc::new((lock, Value::new()));
    let (last, others) = works.split_last().unwrap();
    let others: Vec<_> = others
        .iter()
        .map(|&work| {
            let both = both.clone();
            thread::spawn(move || work(&both.0, &both.1))
        })
        .collect();
    last(&both.0, &both.1);
    others.into_iter().for_each(|other| other.join().unwrap());
    both.1.get()
}

fn locked(mutex: &Mutex<()>, value: &Value) {
    let _guard = block_on(mutex.lock());
    value.add();
}

fn locked_if_free(mutex: &Mutex<()>, value: &Value) {
    if let Ok(_guard) = mutex.try_lock() {
        value.add();
    }
}

fn locked_or_given_up(mutex: &Mutex<()>, value: &Value) {
    if let Some(_guard) = glance(mutex.lock()) {
        value.add();
    }
}

#[test]
fn mutexes() {
    explore(3, || assert_eq!(beside(Mutex::new(()), &[locked, locked]), 2));
}

#[test]
fn mutexes_of_three() {
    explore(2, || assert_eq!(beside(Mutex::new(()), &[locked, locked, locked]), 3));
}

#[test]
fn mutexes_that_are_tried() {
    explore(3, || assert!(beside(Mutex::new(()), &[locked, locked_if_free]) >= 1));
}

#[test]
fn a_task_that_gives_up() {
    explore(2, || assert!(beside(Mutex::new(()), &[locked, locked_or_given_up, locked]) >= 2));
}

fn one(permits: &Semaphore, _: &Value) {
    drop(block_on(permits.acquire()).unwrap());
}

fn two(permits: &Semaphore, value: &Value) {
    let _both = block_on(permits.acquire_many(2)).unwrap();
    value.add();
}

fn two_or_none(permits: &Semaphore, value: &Value) {
    if let Some(Ok(_both)) = glance(permits.acquire_many(2)) {
        value.add();
    }
}

#[test]
fn semaphores() {
    explore(3, || assert_eq!(beside(Semaphore::new(2), &[two, two]), 2));
    explore(2, || assert_eq!(beside(Semaphore::new(2), &[one, one, two]), 1));
}

/// One that waits for two permits, of which there is one, has gathered it when it gives up.
#[test]
fn a_task_that_gives_up_many() {
    explore(3, || assert_eq!(beside(Semaphore::new(1), &[one, two_or_none]), 0));
    explore(2, || assert!(beside(Semaphore::new(2), &[one, two_or_none, two]) >= 1));
}

#[test]
fn closing() {
    fn until_closed(permits: &Semaphore, _: &Value) {
        assert!(block_on(permits.acquire()).is_err());
    }
    explore(3, || {
        beside(Semaphore::new(0), &[until_closed, |permits, _| permits.close()]);
    });
    explore(2, || {
        beside(Semaphore::new(0), &[until_closed, until_closed, |permits, _| permits.close()]);
    });
}

/// The task is polled by one waker, then by another, while the lock is handed to it.
#[test]
fn a_task_that_moves() {
    fn moved(mutex: &Mutex<()>, value: &Value) {
        let mut future = pin!(mutex.lock());
        let (_, first) = parker();
        if let Poll::Ready(_guard) = future.as_mut().poll(&mut Context::from_waker(&first)) {
            return value.add();
        }
        let _guard = block_on(future);
        value.add();
    }
    explore(3, || assert_eq!(beside(Mutex::new(()), &[locked, moved]), 2));
}

/// The task polls before it is woken: all it knows is the verdict.
#[test]
fn a_task_that_polls() {
    fn polled(mutex: &Mutex<()>, value: &Value) {
        let mut future = pin!(mutex.lock());
        for _ in 0..2 {
            if let Poll::Ready(_guard) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return value.add();
            }
            thread::yield_now();
        }
    }
    explore(3, || assert!(beside(Mutex::new(()), &[locked, polled]) >= 1));
}

fn written(lock: &RwLock<()>, value: &Value) {
    let _guard = block_on(lock.write());
    value.add();
}

fn read(lock: &RwLock<()>, value: &Value) {
    let _guard = block_on(lock.read());
    assert!(value.get() < 3);
}

fn written_then_read(lock: &RwLock<()>, value: &Value) {
    let guard = block_on(lock.write());
    value.add();
    let _guard = guard.downgrade();
    assert!(value.get() < 3);
}

fn written_or_given_up(lock: &RwLock<()>, value: &Value) {
    if let Some(_guard) = glance(lock.write()) {
        value.add();
    }
}

#[test]
fn rwlocks() {
    explore(3, || assert_eq!(beside(RwLock::new(()), &[written, read]), 1));
    explore(2, || assert_eq!(beside(RwLock::new(()), &[written, read, read]), 1));
    explore(2, || assert_eq!(beside(RwLock::new(()), &[written, written_then_read, read]), 2));
}

/// Readers that wait behind a writer that gives up are let in.
#[test]
fn a_writer_that_gives_up() {
    explore(2, || assert!(beside(RwLock::new(()), &[read, written_or_given_up, read]) <= 1));
}

#[test]
fn a_thread_that_waits() {
    fn locked_by_a_thread(mutex: &Mutex<()>, value: &Value) {
        let _guard = mutex.blocking_lock();
        value.add();
    }
    explore(3, || assert_eq!(beside(Mutex::new(()), &[locked_by_a_thread, locked_by_a_thread]), 2));
    explore(2, || assert_eq!(beside(Mutex::new(()), &[locked, locked_by_a_thread]), 2));
}
