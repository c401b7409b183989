//! The operations of the tasks' locks: futures that are polled by hand.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use leeward::task::{Mutex, Notify, RwLock, Semaphore};

use super::Operation;

operations! {
    "tasks";
    lock: || drop(polled(MUTEX.lock())) => left(is_usable);
    try_lock: || drop(MUTEX.try_lock()) => left(is_usable);
    wait_and_give_up: || {
        let held = polled(MUTEX.lock());
        assert!(polled(MUTEX.lock()).is_none());
        drop(held);
    } => left(is_usable);
    hand_over: || {
        let held = MUTEX.try_lock();
        let mut waiting = pin!(MUTEX.lock());
        let _ = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        drop(held);
        let _ = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    } => left(is_usable);
    read: || drop(polled(RWLOCK.read())) => left(is_usable);
    write: || drop(polled(RWLOCK.write())) => left(is_usable);
    downgrade: || drop(polled(RWLOCK.write()).map(|guard| guard.downgrade())) => left(is_usable);
    acquire: || drop(polled(SEMAPHORE.acquire_many(2))) => left(is_usable);
    add_and_forget: || {
        SEMAPHORE.add_permits(1);
        SEMAPHORE.forget_permits(1);
    } => left(is_usable);
    lock_owned: || drop(polled(owned().lock_owned())) => left(is_usable);
    blocking_lock: || {
        let own = Mutex::new(0);
        *own.blocking_lock() += 1;
    };
    notify_one: || {
        NOTIFY.notify_one();
        polled(NOTIFY.notified());
    } => left(is_usable);
    notify_one_that_waits: || {
        let mut waiting = pin!(NOTIFY.notified());
        waiting.as_mut().enable();
        NOTIFY.notify_last();
        waiting.enable();
    } => left(is_usable);
    notify_waiters: || {
        let mut waiting = pin!(NOTIFY.notified());
        let _ = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        NOTIFY.notify_waiters();
        let _ = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    } => left(is_usable);
    close: || {
        let own = Semaphore::new(0);
        assert!(polled(own.acquire()).is_none());
        own.close();
    };
}

static MUTEX: Mutex<u32> = Mutex::const_new(0);
static RWLOCK: RwLock<u32> = RwLock::const_new(0);
static SEMAPHORE: Semaphore = Semaphore::const_new(3);
static NOTIFY: Notify = Notify::const_new();

/// A mutex that its guards keep alive.
fn owned() -> Arc<Mutex<u32>> {
    Arc::new(Mutex::new(0))
}

/// Polls a future once.
fn polled<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Polls locks as they are in a child, where a thread that is not there may have one, which the child
/// cannot wait for; and others that are free.
fn is_usable() -> bool {
    drop((polled(MUTEX.lock()), polled(RWLOCK.read()), polled(RWLOCK.write()), polled(SEMAPHORE.acquire())));
    polled(NOTIFY.notified());
    NOTIFY.notify_waiters();
    NOTIFY.notify_one();
    let notify = Notify::new();
    let is_none_kept = polled(notify.notified()).is_none();
    notify.notify_one();
    let (mutex, rwlock, semaphore) = (Mutex::new(1), RwLock::new(1), Semaphore::new(1));
    let held = polled(mutex.lock());
    let is_kept = polled(mutex.lock()).is_none();
    drop(held);
    is_kept
        && is_none_kept
        && polled(notify.notified()).is_some()
        && polled(owned().lock_owned()).is_some()
        && polled(mutex.lock()).is_some()
        && polled(rwlock.read()).is_some()
        && polled(rwlock.write()).is_some()
        && polled(semaphore.acquire()).is_some()
}
