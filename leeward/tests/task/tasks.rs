//! The locks for tasks, polled by hand with wakers that count: who is woken, when, and in which
//! order; futures that are dropped or leaked at each point; wakers that panic or call back; forks.

#![allow(missing_docs)]

#[macro_use]
#[path = "../common/auto_traits.rs"]
mod auto_traits;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/polled.rs"]
mod polled;
#[path = "tasks/wakers.rs"]
mod wakers;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex as StdMutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use common::*;
use leeward::task::{
    Acquire, Lock, Mutex, MutexGuard, Read, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit,
    TryAcquireError, Write,
};
use polled::*;

assert_is!(Send: Mutex<u8>, Lock<'_, u8>, MutexGuard<'_, u8>, Semaphore, Acquire<'_>, SemaphorePermit<'_>);
assert_is!(Sync: Mutex<std::cell::Cell<u8>>, Lock<'_, u8>, MutexGuard<'_, u8>, Semaphore, SemaphorePermit<'_>);
assert_not!(Send: Mutex<*const u8>, Lock<'_, *const u8>, MutexGuard<'_, *const u8>);
assert_not!(Sync: Mutex<*const u8>, MutexGuard<'_, std::cell::Cell<u8>>);
assert_is!(Send: RwLock<u8>, Read<'_, u8>, Write<'_, u8>, RwLockReadGuard<'_, u8>, RwLockWriteGuard<'_, u8>);
assert_is!(Sync: RwLock<u8>, RwLockReadGuard<'_, u8>, RwLockWriteGuard<'_, u8>);
// A reader on another thread has a reference to the value.
assert_not!(Sync: RwLock<std::cell::Cell<u8>>, RwLockWriteGuard<'_, std::cell::Cell<u8>>);
assert_not!(Send: RwLockReadGuard<'_, std::cell::Cell<u8>>, Read<'_, std::cell::Cell<u8>>);
assert_not!(Unpin: Lock<'_, u8>, Acquire<'_>, Read<'_, u8>, Write<'_, u8>);

#[test]
fn a_free_lock_is_taken_at_once() {
    let mutex = Mutex::new(1);
    let mut first = Task::new(mutex.lock());
    let guard = first.poll().unwrap();
    assert!(mutex.try_lock().is_err());
    drop(guard);
    *mutex.try_lock().unwrap() += 1;
    assert_eq!((first.wakes(), *mutex.try_lock().unwrap()), (0, 2));
}

#[test]
fn a_task_is_woken_once() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut task = Task::waiting(mutex.lock());
    assert!(task.poll().is_none());
    drop(guard);
    assert_eq!(task.wakes(), 1);
    // It was handed over: nobody else gets it first.
    assert!(mutex.try_lock().is_err());
    assert!(task.poll().is_some());
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn tasks_are_served_in_turn() {
    let mutex = Mutex::new(());
    let mut guard = mutex.try_lock().unwrap();
    let mut tasks: Vec<_> = (0..40).map(|_| Task::waiting(mutex.lock())).collect();
    for turn in 0..tasks.len() {
        drop(guard);
        assert!(tasks.iter().enumerate().all(|(at, task)| task.wakes() == usize::from(at <= turn)));
        let newcomer = Task::waiting(mutex.lock());
        tasks.iter_mut().skip(turn + 1).for_each(|task| assert!(task.poll().is_none()));
        guard = tasks[turn].poll().unwrap();
        drop(newcomer);
    }
    drop(guard);
    assert!(mutex.try_lock().is_ok());
}

/// A future that waits is dropped: first, in the middle, last, the only one.
#[test]
fn a_future_that_is_dropped_leaves_the_queue() {
    for dropped in [vec![0], vec![1], vec![2], vec![0, 1], vec![0, 2], vec![1, 2], vec![2, 0, 1]] {
        let mutex = Mutex::new(());
        let mut guard = mutex.try_lock().unwrap();
        let mut tasks: Vec<_> = (0..3).map(|_| Some(Task::waiting(mutex.lock()))).collect();
        for &which in &dropped {
            let count = tasks[which].take().unwrap().count;
            assert_eq!((Arc::strong_count(&count), count.0.load(Ordering::SeqCst)), (1, 0));
        }
        for mut task in tasks.into_iter().flatten() {
            drop(guard);
            assert_eq!(task.wakes(), 1);
            guard = task.poll().unwrap();
        }
        drop(guard);
        assert!(mutex.try_lock().is_ok(), "{dropped:?}");
    }
}

#[test]
fn a_future_that_is_dropped_hands_the_lock_on() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let (first, mut second) = (Task::waiting(mutex.lock()), Task::waiting(mutex.lock()));
    drop(guard);
    assert_eq!((first.wakes(), second.wakes()), (1, 0));
    drop(first);
    assert_eq!(second.wakes(), 1);
    assert!(second.poll().is_some());
    // And the last one's, to nobody.
    let guard = mutex.try_lock().unwrap();
    let last = Task::waiting(mutex.lock());
    drop(guard);
    drop(last);
    assert!(mutex.try_lock().is_ok());
}

/// The memory of a future that is leaked stays, so its place in the queue does: what it is handed
/// is lost.
#[test]
fn a_future_that_is_leaked_keeps_its_place() {
    let permits = Semaphore::new(0);
    let leaked = Task::waiting(permits.acquire());
    let (count, mut next) = (leaked.count.clone(), Task::waiting(permits.acquire()));
    std::mem::forget(leaked);
    permits.add_permits(1);
    assert_eq!((count.0.load(Ordering::SeqCst), next.wakes()), (1, 0));
    permits.add_permits(1);
    assert!(next.poll().is_some());
    // The lock may move, and go, with a leaked future in its queue.
    let mutex = Mutex::new(1);
    std::mem::forget(mutex.try_lock());
    std::mem::forget(Task::waiting(mutex.lock()));
    let moved = Box::new(mutex);
    let waiting = Task::waiting(moved.lock());
    drop(waiting);
    assert_eq!(moved.into_inner(), 1);
}

#[test]
fn a_future_that_was_ready_asks_anew() {
    let mutex = Mutex::new(());
    let mut task = Task::new(mutex.lock());
    let guard = task.poll().unwrap();
    assert!(task.poll().is_none());
    drop(guard);
    assert_eq!(task.wakes(), 1);
    drop(task.poll().unwrap());
    drop(task.poll().unwrap());
    drop(task);
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn the_last_poller_is_woken() {
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut task = Task::waiting(mutex.lock());
    let other = Arc::new(Count::default());
    assert!(task.poll_by(&waker(&other)).is_none());
    assert_eq!(Arc::strong_count(&task.count), 1, "the first waker was dropped");
    drop(guard);
    assert_eq!((task.wakes(), other.0.load(Ordering::SeqCst)), (0, 1));
    assert!(task.poll().is_some());
}

#[test]
fn permits_are_gathered_for_the_first() {
    let permits = Semaphore::new(2);
    let mut five = Task::waiting(permits.acquire_many(5));
    let mut one = Task::waiting(permits.acquire());
    assert_eq!((permits.available_permits(), permits.try_acquire().unwrap_err()), (0, TryAcquireError::NoPermits));
    permits.add_permits(2);
    assert_eq!((five.wakes(), one.wakes()), (0, 0));
    permits.add_permits(3);
    assert_eq!((five.wakes(), one.wakes()), (1, 1));
    assert_eq!(permits.available_permits(), 1);
    assert_eq!(five.poll().unwrap().unwrap().num_permits(), 5);
    drop(one.poll());
    assert_eq!(permits.available_permits(), 7);
    assert!(permits.try_acquire_many(0).is_ok() && permits.try_acquire_many(8).is_err());
}

#[test]
fn what_was_gathered_for_a_dropped_future_is_handed_on() {
    let permits = Semaphore::new(3);
    let (five, mut two) = (Task::waiting(permits.acquire_many(5)), Task::waiting(permits.acquire_many(2)));
    let mut nine = Task::waiting(permits.acquire_many(9));
    assert_eq!(two.wakes(), 0);
    drop(five);
    assert_eq!((two.wakes(), nine.wakes()), (1, 0));
    drop(two.poll());
    permits.add_permits(6);
    assert!(nine.poll().is_some());
    assert_eq!(permits.available_permits(), 9);
    // The only one.
    drop(Task::waiting(permits.acquire_many(10)));
    assert_eq!(permits.available_permits(), 9);
}

/// More tasks than are woken at once.
#[test]
fn many_are_served_by_one() {
    for many in [15, 16, 17, 33, 100] {
        let permits = Semaphore::new(0);
        let mut tasks: Vec<_> = (0..many).map(|_| Task::waiting(permits.acquire())).collect();
        permits.add_permits(many);
        assert!(tasks.iter().all(|task| task.wakes() == 1), "{many}");
        tasks.iter_mut().for_each(|task| task.poll().unwrap().unwrap().forget());
        assert_eq!(permits.available_permits(), 0);
        let mut tasks: Vec<_> = (0..many).map(|_| Task::waiting(permits.acquire())).collect();
        permits.close();
        tasks.iter_mut().for_each(|task| assert!(task.wakes() == 1 && task.poll().unwrap().is_err()));
    }
}

#[test]
fn a_closed_semaphore_refuses() {
    let permits = Semaphore::new(1);
    let mut two = Task::waiting(permits.acquire_many(2));
    let dropped = Task::waiting(permits.acquire());
    permits.close();
    drop(dropped);
    assert_eq!(two.wakes(), 1);
    assert!(two.poll().unwrap().is_err() && two.poll().unwrap().is_err());
    assert_eq!(permits.try_acquire().unwrap_err(), TryAcquireError::Closed);
    assert_eq!((permits.available_permits(), permits.is_closed()), (1, true), "what was gathered");
    permits.close();
}

#[test]
fn counts_have_a_limit() {
    let permits = Semaphore::new(Semaphore::MAX_PERMITS);
    let held = permits.try_acquire_many(3).unwrap();
    permits.add_permits(2);
    assert!(panic_of(|| permits.add_permits(2)).contains("cannot count"));
    assert!(panic_of(|| permits.add_permits(usize::MAX)).contains("cannot count"));
    drop(held);
    assert_eq!(permits.available_permits(), Semaphore::MAX_PERMITS);
    assert_eq!(permits.forget_permits(5), 5);
    assert_eq!(permits.forget_permits(usize::MAX), Semaphore::MAX_PERMITS - 5);
    assert!(panic_of(|| assert!(!Semaphore::new(Semaphore::MAX_PERMITS + 1).is_closed())).contains("cannot count"));
    let (one, other) = (Semaphore::new(1), Semaphore::new(1));
    let mut permit = one.try_acquire().unwrap();
    assert!(permit.split(2).is_none() && permit.split(usize::MAX).is_none());
    assert!(panic_of(AssertUnwindSafe(|| permit.merge(other.try_acquire().unwrap()))).contains("two semaphores"));
    drop(permit);
    assert_eq!((one.available_permits(), other.available_permits()), (1, 1));
}

/// One call takes as many permits as a `u32` counts; what two took is more.
#[cfg(target_pointer_width = "64")]
#[test]
fn permits_of_many_calls_are_merged() {
    let permits = Semaphore::new(6_000_000_000);
    let mut all = permits.try_acquire_many(3_000_000_000).unwrap();
    all.merge(permits.try_acquire_many(3_000_000_000).unwrap());
    assert_eq!((all.num_permits(), permits.available_permits()), (6_000_000_000, 0));
    let most = all.split(5_000_000_000).unwrap();
    assert_eq!((all.num_permits(), most.num_permits()), (1_000_000_000, 5_000_000_000));
    let mut waiting = Task::waiting(permits.acquire_many(4_000_000_000));
    drop(most);
    let waited = waiting.poll().unwrap().unwrap();
    drop((all, waited));
    assert_eq!(permits.available_permits(), 6_000_000_000);
}

#[test]
fn readers_and_writers_are_served_in_turn() {
    let lock = RwLock::new(0);
    let readers = [lock.try_read().unwrap(), lock.try_read().unwrap()];
    assert!(lock.try_write().is_err());
    let mut writer = Task::waiting(lock.write());
    let (mut one, mut other) = (Task::waiting(lock.read()), Task::waiting(lock.read()));
    let mut last = Task::waiting(lock.write());
    assert!(lock.try_read().is_err(), "the writer's turn comes first");
    let [first, second] = readers;
    drop(first);
    assert_eq!(writer.wakes(), 0);
    drop(second);
    assert_eq!((writer.wakes(), one.wakes(), other.wakes()), (1, 0, 0));
    let mut guard = writer.poll().unwrap();
    *guard += 1;
    drop(guard);
    assert_eq!((one.wakes(), other.wakes(), last.wakes()), (1, 1, 0));
    let (one, other) = (one.poll().unwrap(), other.poll().unwrap());
    assert_eq!((*one, *other), (1, 1));
    drop((one, other));
    assert_eq!(last.wakes(), 1);
    drop(last.poll().unwrap());
    assert!(lock.try_write().is_ok());
}

#[test]
fn a_writer_that_is_dropped_lets_readers_in() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().unwrap();
    let writer = Task::waiting(lock.write());
    let mut other = Task::waiting(lock.read());
    drop(writer);
    assert_eq!(other.wakes(), 1);
    let other = other.poll().unwrap();
    assert_eq!(*reader + *other, 0);
    // One that was let in, and is dropped before it is polled.
    let writer = Task::waiting(lock.write());
    drop((reader, other));
    assert_eq!(writer.wakes(), 1);
    drop(writer);
    assert!(lock.try_write().is_ok());
}

#[test]
fn a_writer_that_becomes_a_reader() {
    let mut lock = RwLock::new(0);
    *lock.get_mut() += 1;
    let mut writer = lock.try_write().unwrap();
    *writer += 1;
    let (mut reader, mut other) = (Task::waiting(lock.read()), Task::waiting(lock.write()));
    let downgraded = writer.downgrade();
    assert_eq!((reader.wakes(), other.wakes()), (1, 0));
    assert_eq!(*downgraded + *reader.poll().unwrap(), 4);
    drop(downgraded);
    assert_eq!(other.wakes(), 1);
    drop(other.poll().unwrap());
    drop((reader, other));
    assert_eq!(lock.into_inner(), 2);
}

/// Tasks of several threads, some of which give up.
#[test]
fn many_threads() {
    let _watch = Watchdog::new("tasks of many threads");
    let (mutex, permits) = (Mutex::new(0), Semaphore::new(3));
    thread::scope(|scope| {
        for of in 0..4 {
            let (mutex, permits) = (&mutex, &permits);
            scope.spawn(move || {
                for turn in 0..2000_u32 {
                    if (turn + of) % 5 == 0 {
                        let mut task = Task::new(mutex.lock());
                        if let Some(mut guard) = task.poll() {
                            *guard += 1;
                            continue;
                        }
                    }
                    drop(block_on(permits.acquire_many(turn % 4)).unwrap());
                    *block_on(mutex.lock()) += 1;
                }
            });
        }
    });
    assert_eq!((*mutex.try_lock().unwrap(), permits.available_permits()), (8000, 3));
}

#[test]
fn what_is_shown() {
    let mutex: Mutex<u8> = Mutex::from(3);
    assert_eq!(format!("{mutex:?} {:?}", Mutex::<u8>::default()), "Mutex { data: 3 } Mutex { data: 0 }");
    let guard = mutex.try_lock().unwrap();
    assert_eq!(format!("{mutex:?} {guard:?} {guard} {:?}", mutex.lock()), "Mutex { data: <locked> } 3 3 Lock { .. }");
    let permits = Semaphore::new(4);
    assert_eq!(
        format!("{permits:?} {:?}", permits.acquire_many(2)),
        "Semaphore { permits: 4, closed: false } Acquire { permits: 2, .. }"
    );
    assert_eq!(mutex.try_lock().unwrap_err().to_string(), "the lock is held");
    let lock: RwLock<u8> = RwLock::from(3);
    assert_eq!(format!("{lock:?} {:?}", RwLock::<u8>::default()), "RwLock { data: 3 } RwLock { data: 0 }");
    assert_eq!(format!("{:?} {0}", lock.try_read().unwrap()), "3 3");
    let guard = lock.try_write().unwrap();
    let shown = "RwLock { data: <locked> } 3 3 Read { .. } Write { .. }";
    assert_eq!(format!("{lock:?} {guard:?} {guard} {:?} {:?}", lock.read(), lock.write()), shown);
    permits.close();
    assert_eq!(block_on(permits.acquire()).unwrap_err().to_string(), "the semaphore was closed");
    assert_eq!(TryAcquireError::Closed.to_string(), "the semaphore was closed");
    assert_eq!(TryAcquireError::NoPermits.to_string(), "there are not so many free permits");
}

#[cfg(target_pointer_width = "64")]
#[test]
fn sizes() {
    assert_eq!([size_of::<Mutex<()>>(), size_of::<RwLock<()>>(), size_of::<Semaphore>()], [48; 3]);
    let futures =
        [size_of::<Lock<'_, ()>>(), size_of::<Acquire<'_>>(), size_of::<Read<'_, ()>>(), size_of::<Write<'_, ()>>()];
    assert_eq!(futures, [64; 4]);
}
