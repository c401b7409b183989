//! The raw and the asymmetric locks under lock_api 0.5's data and guards.

#![allow(missing_docs)]

use std::thread;
use std::time::{Duration, Instant};

use leeward::{asym, raw};
use lock_api_05::{Mutex, RawMutexFair, RawMutexTimed, RawRwLockDowngrade, RawRwLockFair, RawRwLockTimed};
use lock_api_05::{RawRwLockUpgradeDowngrade, RawRwLockUpgradeFair, RawRwLockUpgradeTimed};
use lock_api_05::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};

const SHORT: Duration = Duration::from_millis(2);

static FAIR: Mutex<raw::Mutex, u64> = Mutex::new(0);
static LIGHT: Mutex<raw::LightMutex, u64> = Mutex::new(0);
static BIASED: Mutex<asym::RawMutex, u64> = Mutex::new(0);
static SHARED: RwLock<raw::RwLock, u64> = RwLock::new(0);
static SLOTTED: RwLock<asym::RawRwLock, u64> = RwLock::new(0);

/// One thread at a time has the lock; a held lock is not taken in time, and a free one is.
fn excludes<R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync>(mutex: &Mutex<R, u64>) {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1_000).for_each(|_| *mutex.lock() += 1));
        }
    });
    assert_eq!(*mutex.lock(), 4_000);
    let held = mutex.lock();
    assert!(mutex.is_locked() && mutex.try_lock().is_none());
    assert!(mutex.try_lock_for(SHORT).is_none() && mutex.try_lock_until(Instant::now() + SHORT).is_none());
    drop(held);
    assert!(mutex.try_lock_for(SHORT).is_some());
    assert!(!mutex.is_locked());
}

#[test]
fn mutexes() {
    excludes(&FAIR);
    excludes(&LIGHT);
    excludes(&BIASED);
    let mut guard = FAIR.lock();
    *guard = 7;
    lock_api_05::MutexGuard::unlock_fair(guard);
    assert_eq!(*FAIR.lock(), 7);
}

/// Readers share, a writer is alone, and a downgraded writer is a reader.
fn shares<R>(lock: &RwLock<R, u64>)
where
    R: RawRwLockTimed<Duration = Duration, Instant = Instant> + RawRwLockDowngrade + Sync,
{
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..1_000).for_each(|_| *lock.write() += 1));
            scope.spawn(|| (0..1_000).for_each(|_| assert!(*lock.read() <= 2_000)));
        }
    });
    let one = lock.read();
    assert!(lock.try_read().is_some());
    // Another thread's: a writer would wait for its own thread's reader.
    thread::scope(|scope| {
        let writes = || lock.try_write().is_some() || lock.try_write_for(SHORT).is_some();
        assert!(!scope.spawn(writes).join().unwrap());
    });
    assert_eq!(*one, 2_000);
    drop(one);
    let reader = RwLockWriteGuard::downgrade(lock.write());
    assert!(lock.try_read().is_some() && !lock.is_locked_exclusive());
    assert!(lock.try_read_for(SHORT).is_some() && lock.try_read_until(Instant::now() + SHORT).is_some());
    drop(reader);
    assert!(lock.try_write_until(Instant::now() + SHORT).is_some());
}

#[test]
fn readers_and_writers() {
    shares(&SHARED);
    shares(&SLOTTED);
}

/// An upgradable reader becomes the writer, and a writer an upgradable reader.
fn upgrades<R>(lock: &RwLock<R, u64>)
where
    R: RawRwLockUpgradeTimed<Duration = Duration, Instant = Instant> + RawRwLockUpgradeDowngrade + Sync,
{
    let mut writer = RwLockUpgradableReadGuard::upgrade(lock.upgradable_read());
    *writer = 1;
    let upgradable = RwLockWriteGuard::downgrade_to_upgradable(writer);
    let reader = thread::scope(|scope| {
        let other = scope.spawn(|| {
            assert!(lock.try_upgradable_read().is_none() && lock.try_upgradable_read_for(SHORT).is_none());
            assert!(lock.try_upgradable_read_until(Instant::now() + SHORT).is_none());
            *lock.read()
        });
        assert_eq!(other.join().unwrap(), 1);
        RwLockUpgradableReadGuard::downgrade(upgradable)
    });
    let upgradable = lock.try_upgradable_read().expect("the place is free");
    thread::scope(|scope| {
        assert!(!scope.spawn(|| lock.try_write().is_some()).join().unwrap());
    });
    drop(reader);
    let upgradable = RwLockWriteGuard::downgrade_to_upgradable(
        RwLockUpgradableReadGuard::try_upgrade(upgradable).expect("it is alone"),
    );
    drop(RwLockUpgradableReadGuard::try_upgrade_for(upgradable, SHORT).expect("it is alone"));
    let until = Instant::now() + SHORT;
    drop(RwLockUpgradableReadGuard::try_upgrade_until(lock.upgradable_read(), until).expect("it is alone"));
    assert!(!lock.is_locked());
}

#[test]
fn upgradable_readers() {
    upgrades(&RwLock::<raw::RwLock, _>::new(0));
    upgrades(&RwLock::<asym::RawRwLock, _>::new(0));
}

/// The fair unlocks and bumps, of locks for which no thread waits.
fn hands_over<M: RawMutexFair, R: RawRwLockFair + RawRwLockUpgradeFair>() {
    let mutex = lock_api_05::Mutex::<M, u64>::new(1);
    let mut guard = mutex.lock();
    lock_api_05::MutexGuard::bump(&mut guard);
    lock_api_05::MutexGuard::unlock_fair(guard);
    assert!(mutex.try_lock().is_some());
    let lock = RwLock::<R, u64>::new(1);
    let mut guard = lock.read();
    lock_api_05::RwLockReadGuard::bump(&mut guard);
    lock_api_05::RwLockReadGuard::unlock_fair(guard);
    let mut guard = lock.upgradable_read();
    RwLockUpgradableReadGuard::bump(&mut guard);
    RwLockUpgradableReadGuard::unlock_fair(guard);
    let mut guard = lock.try_write().expect("no thread is inside");
    RwLockWriteGuard::bump(&mut guard);
    RwLockWriteGuard::unlock_fair(guard);
    assert!(lock.try_write().is_some());
}

#[test]
fn fair_unlocks() {
    hands_over::<raw::Mutex, raw::RwLock>();
    hands_over::<raw::FairMutex, raw::RwLock>();
    hands_over::<raw::LightMutex, raw::RwLock>();
    hands_over::<asym::RawMutex, asym::RawRwLock>();
}

/// What a thread's slots stand for stays on the thread: both answers would make the call ambiguous.
#[test]
fn guards_of_asymmetric_locks_stay_on_their_thread() {
    trait Answer<A> {
        fn answer() {}
    }
    impl<T: ?Sized> Answer<()> for T {}
    impl<T: ?Sized + Send> Answer<u8> for T {}
    <lock_api_05::MutexGuard<'static, asym::RawMutex, u64> as Answer<_>>::answer();
    <lock_api_05::RwLockReadGuard<'static, asym::RawRwLock, u64> as Answer<_>>::answer();
    <RwLockWriteGuard<'static, asym::RawRwLock, u64> as Answer<_>>::answer();
}
