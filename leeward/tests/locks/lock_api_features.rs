//! lock_api's features, which are this crate's of the same names: locks that serde reads and writes,
//! guards that own an `Arc` of their lock, and guards for owning_ref; and guards that are sent.

#![allow(missing_docs)]

use std::sync::Arc;

use leeward::{asym, sync};

/// Returns the lock that is read from what `lock` is written as, which must be `text`.
macro_rules! written_and_read {
    ($($lock:ident)::+, $text:literal) => {{
        let lock = $($lock)::+::new(vec![1, 2]);
        assert_eq!(serde_json::to_string(&lock).unwrap(), $text);
        serde_json::from_str::<$($lock)::+<Vec<u32>>>($text).unwrap().into_inner()
    }};
}

#[test]
fn locks_are_written_and_read() {
    assert_eq!(written_and_read!(sync::Mutex, "[1,2]"), [1, 2]);
    assert_eq!(written_and_read!(sync::LightMutex, "[1,2]"), [1, 2]);
    assert_eq!(written_and_read!(sync::FairMutex, "[1,2]"), [1, 2]);
    assert_eq!(written_and_read!(sync::ReentrantMutex, "[1,2]"), [1, 2]);
    assert_eq!(written_and_read!(sync::RwLock, "[1,2]"), [1, 2]);
    assert_eq!(written_and_read!(asym::Mutex, "[1,2]"), [1, 2]);
    assert_eq!(written_and_read!(asym::RwLock, "[1,2]"), [1, 2]);
}

#[test]
fn guards_own_their_lock() {
    let mutex = Arc::new(sync::Mutex::new(1));
    let mut guard: sync::ArcMutexGuard<sync::RawMutex, u32> = mutex.lock_arc();
    assert!(mutex.try_lock().is_none());
    drop(mutex);
    *guard = 2;
    drop(guard);
    let lock = Arc::new(asym::RwLock::new(1));
    let reader = lock.read_arc();
    assert!(lock.try_write().is_none());
    drop(lock);
    assert_eq!(*reader, 1);
}

/// With the feature `send_guard` another thread may unlock.
#[cfg(feature = "send_guard")]
#[test]
fn guards_are_sent() {
    let (mutex, lock) = (Arc::new(sync::Mutex::new(1)), sync::RwLock::new(1));
    let (owning, reader) = (mutex.lock_arc(), lock.upgradable_read());
    std::thread::scope(|scope| {
        scope.spawn(move || drop((owning, sync::RwLockUpgradableReadGuard::upgrade(reader))));
    });
    assert!(mutex.try_lock().is_some() && lock.try_write().is_some());
}

#[test]
fn guards_are_stable_addresses() {
    fn needs<T: owning_ref::StableAddress>(_: &T) {}
    let (mutex, lock) = (sync::Mutex::new(vec![1]), asym::RwLock::new(vec![1]));
    needs(&mutex.lock());
    needs(&lock.read());
}
