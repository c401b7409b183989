//! What this face adds to leeward's locks: the names, the poison of `Once`, and the timed conditions of `Condvar`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use parking_lot::{
    Condvar, FairMutex, FairMutexGuard, MappedFairMutexGuard, MappedMutexGuard, MappedReentrantMutexGuard,
    MappedRwLockReadGuard, MappedRwLockWriteGuard, Mutex, MutexGuard, Once, OnceState, RawFairMutex, RawMutex,
    RawRwLock, RawThreadId, ReentrantMutex, ReentrantMutexGuard, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard,
    RwLockWriteGuard, const_fair_mutex, const_mutex, const_reentrant_mutex, const_rwlock, lock_api,
};

static MUTEX: Mutex<u32> = const_mutex(1);
static FAIR: FairMutex<u32> = const_fair_mutex(2);
static REENTRANT: ReentrantMutex<u32> = const_reentrant_mutex(3);
static RWLOCK: RwLock<u32> = const_rwlock(4);
static CONDVAR: Condvar = Condvar::new();
static ONCE: Once = Once::new();

/// The raw locks have every trait of lock_api that parking_lot's have.
fn has_the_traits<M, F, R>()
where
    M: lock_api::RawMutexTimed<Duration = Duration, Instant = Instant> + lock_api::RawMutexFair,
    F: lock_api::RawMutexTimed<Duration = Duration, Instant = Instant> + lock_api::RawMutexFair,
    R: lock_api::RawRwLockTimed<Duration = Duration, Instant = Instant>
        + lock_api::RawRwLockFair
        + lock_api::RawRwLockDowngrade
        + lock_api::RawRwLockRecursiveTimed
        + lock_api::RawRwLockUpgradeFair
        + lock_api::RawRwLockUpgradeDowngrade
        + lock_api::RawRwLockUpgradeTimed,
{
}

#[test]
fn all_names_are_there_and_their_statics_are_constant() {
    has_the_traits::<RawMutex, RawFairMutex, RawRwLock>();
    let mutex: MutexGuard<'_, u32> = MUTEX.lock();
    let _: MappedMutexGuard<'_, u32> = MutexGuard::map(mutex, |value| value);
    let fair: FairMutexGuard<'_, u32> = FAIR.lock();
    let _: MappedFairMutexGuard<'_, u32> = FairMutexGuard::map(fair, |value| value);
    let reentrant: ReentrantMutexGuard<'_, u32> = REENTRANT.lock();
    let _: MappedReentrantMutexGuard<'_, u32> = ReentrantMutexGuard::map(reentrant, |value| value);
    let reader: RwLockReadGuard<'_, u32> = RWLOCK.read();
    drop(RwLockReadGuard::map(reader, |value| value) as MappedRwLockReadGuard<'_, u32>);
    let upgradable: RwLockUpgradableReadGuard<'_, u32> = RWLOCK.upgradable_read();
    let writer: RwLockWriteGuard<'_, u32> = RwLockUpgradableReadGuard::upgrade(upgradable);
    drop(RwLockWriteGuard::map(writer, |value| value) as MappedRwLockWriteGuard<'_, u32>);
    let _: lock_api::ReentrantMutex<RawMutex, RawThreadId, ()> = lock_api::ReentrantMutex::new(());
    ONCE.call_once(|| {});
    assert_eq!((ONCE.state(), CONDVAR.notify_one(), CONDVAR.notify_all()), (OnceState::Done, false, 0));
    assert_eq!(format!("{:?}", (Condvar::default(), Once::default())), "(Condvar { .. }, Once { state: New })");
}

#[test]
fn a_panic_poisons_a_once_until_a_forced_call() {
    let once = Once::new();
    let call = |work: &dyn Fn()| catch_unwind(AssertUnwindSafe(|| once.call_once(work)));
    assert!(call(&|| panic!("the first")).is_err());
    assert!(once.state().poisoned());
    assert!(call(&|| unreachable!("it is poisoned")).is_err());
    assert!(once.state().poisoned());
    let mut told = OnceState::New;
    once.call_once_force(|before| told = before);
    assert_eq!((told, once.state()), (OnceState::Poisoned, OnceState::Done));
    assert!(call(&|| unreachable!("it has run")).is_ok());
}

#[test]
fn a_timed_condition_is_not_asked_again_when_the_time_is_up() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let mut guard = mutex.lock();
    let result = condvar.wait_while_until(
        &mut guard,
        |asked| {
            *asked += 1;
            *asked < 2
        },
        Instant::now(),
    );
    assert_eq!((*guard, result.timed_out()), (1, true));
    assert!(!condvar.wait_while_for(&mut guard, |_| false, Duration::MAX).timed_out());
    assert!(condvar.wait_for(&mut guard, Duration::ZERO).timed_out());
    assert!(condvar.wait_until(&mut guard, Instant::now()).timed_out());
}

#[test]
fn a_limit_beyond_all_instants_is_none() {
    let (mutex, condvar) = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        let mut guard = mutex.lock();
        scope.spawn(|| {
            *mutex.lock() = true;
            condvar.notify_all();
        });
        assert!(!condvar.wait_while_for(&mut guard, |ready| !*ready, Duration::MAX).timed_out());
        assert!(*guard);
    });
}
