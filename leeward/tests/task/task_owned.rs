//! The guards that own an `Arc` of their lock, of the locks for tasks: they keep it alive, go to other
//! threads, and hand it over as those that borrow it do.

#![allow(missing_docs)]

#[macro_use]
#[path = "../common/auto_traits.rs"]
mod auto_traits;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/polled.rs"]
mod polled;

use std::cell::Cell;
use std::sync::Arc;
use std::thread;

use common::*;
use leeward::task::{
    AcquireOwned, LockOwned, Mutex, OwnedMutexGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, OwnedSemaphorePermit,
    ReadOwned, RwLock, Semaphore, TryAcquireError, WriteOwned,
};
use polled::*;

assert_is!(Send: LockOwned<u8>, OwnedMutexGuard<Cell<u8>>, OwnedRwLockReadGuard<u8>, OwnedRwLockWriteGuard<u8>);
assert_is!(Send: ReadOwned<u8>, WriteOwned<u8>, AcquireOwned, OwnedSemaphorePermit);
assert_is!(Sync: LockOwned<u8>, OwnedMutexGuard<u8>, OwnedRwLockReadGuard<u8>, OwnedRwLockWriteGuard<u8>);
assert_not!(Send: OwnedMutexGuard<*const u8>, LockOwned<*const u8>, OwnedRwLockReadGuard<Cell<u8>>);
assert_not!(Sync: OwnedMutexGuard<Cell<u8>>, OwnedRwLockWriteGuard<Cell<u8>>);
assert_not!(Unpin: LockOwned<u8>, ReadOwned<u8>, WriteOwned<u8>, AcquireOwned);

/// A guard may be kept by what has no lifetime.
fn is_static<T: 'static>(guard: T) -> T {
    guard
}

#[test]
fn a_guard_keeps_its_mutex_alive() {
    let mutex = Arc::new(Mutex::new(String::from("a")));
    let mut guard = is_static(mutex.clone().try_lock_owned().unwrap());
    assert!(mutex.clone().try_lock_owned().is_err() && mutex.try_lock().is_err());
    let mut task = Task::waiting(mutex.clone().lock_owned());
    assert_eq!(Arc::strong_count(&mutex), 3);
    thread::spawn(move || guard.push('b')).join().unwrap();
    assert_eq!(task.wakes(), 1);
    let guard = task.poll().unwrap();
    drop(task);
    assert_eq!(Arc::strong_count(&mutex), 2);
    drop(mutex);
    assert_eq!(format!("{guard} {guard:?} {:?}", OwnedMutexGuard::mutex(&guard)), "ab \"ab\" Mutex { data: <locked> }");
}

#[test]
fn a_future_that_is_dropped_hands_the_mutex_on() {
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.clone().blocking_lock_owned();
    let (first, mut second) = (Task::waiting(mutex.clone().lock_owned()), Task::waiting(mutex.lock()));
    drop(guard);
    drop(first);
    assert_eq!(second.wakes(), 1);
    drop(second.poll().unwrap());
    drop(second);
    assert_eq!(Arc::strong_count(&mutex), 1);
    // One that was ready asks anew.
    let mut task = Task::new(mutex.clone().lock_owned());
    let guard = task.poll().unwrap();
    assert!(task.poll().is_none());
    drop(guard);
    drop(task.poll().unwrap());
    // A leaked one keeps the mutex alive.
    let guard = mutex.try_lock().unwrap();
    std::mem::forget(Task::waiting(mutex.clone().lock_owned()));
    drop(guard);
    drop(task);
    assert_eq!(Arc::strong_count(&mutex), 2);
}

/// Values without a size.
#[test]
fn guards_of_slices() {
    let mutex: Arc<Mutex<[u32]>> = Arc::new(Mutex::new([1, 2, 3]));
    mutex.clone().try_lock_owned().unwrap()[1] = 4;
    assert_eq!(*mutex.try_lock().unwrap(), [1, 4, 3]);
    let lock: Arc<RwLock<[u32]>> = Arc::new(RwLock::new([1, 2]));
    lock.clone().try_write_owned().unwrap()[0] = 3;
    assert_eq!(lock.try_read_owned().unwrap().len(), 2);
}

#[test]
fn readers_and_a_writer() {
    let lock = Arc::new(RwLock::new(0));
    let readers = [(); 2].map(|()| is_static(lock.clone().try_read_owned().unwrap()));
    assert!(lock.clone().try_write_owned().is_err());
    let mut writer = Task::waiting(lock.clone().write_owned());
    let mut reader = Task::waiting(lock.clone().read_owned());
    assert!(lock.clone().try_read_owned().is_err(), "the writer's turn comes first");
    assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&readers[0]), &lock));
    thread::spawn(move || drop(readers)).join().unwrap();
    let mut guard = writer.poll().unwrap();
    *guard += 1;
    assert!(reader.poll().is_none() && Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&guard), &lock));
    // A writer that becomes a reader lets readers in.
    let count = Arc::strong_count(&lock);
    let guard = guard.downgrade();
    assert_eq!((reader.wakes(), Arc::strong_count(&lock)), (1, count));
    assert_eq!(*guard + *reader.poll().unwrap(), 2);
    drop((reader, writer));
    assert_eq!(format!("{guard} {guard:?} {:?}", lock.clone().read_owned()), "1 1 ReadOwned { .. }");
    drop(guard);
    assert!(lock.try_write().is_ok() && Arc::strong_count(&lock) == 1);
}

#[test]
fn permits() {
    let free = Arc::new(Semaphore::new(3));
    let mut three = is_static(free.clone().try_acquire_many_owned(3).unwrap());
    assert_eq!(free.clone().try_acquire_owned().unwrap_err(), TryAcquireError::NoPermits);
    let mut two = Task::waiting(free.clone().acquire_many_owned(2));
    let one = three.split(1).unwrap();
    assert!(three.split(3).is_none() && Arc::ptr_eq(one.semaphore(), &free));
    thread::spawn(move || drop(one)).join().unwrap();
    assert_eq!((two.wakes(), free.available_permits()), (0, 0));
    let mut other = three.split(1).unwrap();
    other.merge(three);
    assert_eq!(other.num_permits(), 2);
    drop(other);
    let taken = two.poll().unwrap().unwrap();
    assert_eq!((taken.num_permits(), free.available_permits()), (2, 1));
    taken.forget();
    drop(two);
    assert_eq!((free.available_permits(), Arc::strong_count(&free)), (1, 1));
    let strange = Arc::new(Semaphore::new(1));
    let mut permit = free.clone().try_acquire_owned().unwrap();
    assert!(panic_of(|| permit.merge(strange.clone().try_acquire_owned().unwrap())).contains("two semaphores"));
    drop(permit);
    assert_eq!((free.available_permits(), strange.available_permits()), (1, 1));
    let mut waiting = Task::waiting(free.clone().acquire_many_owned(2));
    assert_eq!(format!("{:?}", free.clone().acquire_owned()), "AcquireOwned { permits: 1, .. }");
    free.close();
    assert!(waiting.poll().unwrap().is_err());
    assert_eq!(free.try_acquire_owned().unwrap_err(), TryAcquireError::Closed);
}

#[cfg(target_pointer_width = "64")]
#[test]
fn sizes() {
    let futures = [
        size_of::<LockOwned<()>>(),
        size_of::<AcquireOwned>(),
        size_of::<ReadOwned<()>>(),
        size_of::<WriteOwned<()>>(),
    ];
    assert_eq!(futures, [64; 4]);
    assert_eq!([size_of::<OwnedMutexGuard<u8>>(), size_of::<OwnedSemaphorePermit>()], [8, 16]);
}
