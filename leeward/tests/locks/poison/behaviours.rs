//! What std's locks do, as tests that run on std's and on ours: `super::sync` is either. (Only what
//! Rust 1.85's std has.)

use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use super::super::common::{Watchdog, panic_of};
use super::sync::atomic::{AtomicU32, Ordering};
use super::sync::mpsc::channel;
use super::sync::{
    Arc, Barrier, BarrierWaitResult, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock, OnceState,
    PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, Weak,
};

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(1);

/// Runs `work` when it is dropped.
struct AtTheEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtTheEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A mutex that a holder has poisoned.
fn poisoned_mutex<T>(value: T) -> Mutex<T> {
    let mutex = Mutex::new(value);
    let panic = panic_of(|| {
        let _guard = mutex.lock();
        panic!("the holder's");
    });
    assert_eq!(panic, "the holder's");
    mutex
}

/// A lock that a writer has poisoned.
fn poisoned_rwlock<T>(value: T) -> RwLock<T> {
    let lock = RwLock::new(value);
    let panic = panic_of(|| {
        let _guard = lock.write();
        panic!("the writer's");
    });
    assert_eq!(panic, "the writer's");
    lock
}

#[test]
fn a_mutex_whose_holder_panics() {
    let mut mutex = poisoned_mutex(7);
    assert!(mutex.is_poisoned());
    let error: PoisonError<MutexGuard<'_, i32>> = mutex.lock().unwrap_err();
    assert_eq!((**error.get_ref(), *error.into_inner()), (7, 7));
    let Err(TryLockError::Poisoned(mut error)) = mutex.try_lock() else { panic!("it is free, and poisoned") };
    **error.get_mut() = 8;
    assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)), "the error has the lock");
    drop(error);
    assert_eq!(*mutex.get_mut().unwrap_err().into_inner(), 8);
    // A holder that unlocks without a panic leaves it poisoned.
    drop(mutex.lock().unwrap_err().into_inner());
    assert!(mutex.is_poisoned());
    mutex.clear_poison();
    assert!(!mutex.is_poisoned());
    assert_eq!(*mutex.lock().unwrap(), 8);
    assert_eq!(*mutex.try_lock().unwrap(), 8);
    assert_eq!(*mutex.get_mut().unwrap(), 8);
    assert_eq!(mutex.into_inner().unwrap(), 8);
    assert_eq!(poisoned_mutex("kept").into_inner().unwrap_err().into_inner(), "kept");
}

#[test]
fn a_rwlock_whose_writer_panics() {
    let mut lock = poisoned_rwlock(7);
    assert!(lock.is_poisoned());
    let error: PoisonError<RwLockReadGuard<'_, i32>> = lock.read().unwrap_err();
    assert_eq!(**error.get_ref(), 7);
    assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))), "it is read twice");
    assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)), "the error has the lock");
    drop(error);
    let error: PoisonError<RwLockWriteGuard<'_, i32>> = lock.write().unwrap_err();
    *error.into_inner() = 8;
    assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
    assert_eq!(*lock.get_mut().unwrap_err().into_inner(), 8);
    lock.clear_poison();
    assert_eq!((*lock.read().unwrap(), *lock.try_read().unwrap(), lock.is_poisoned()), (8, 8, false));
    *lock.try_write().unwrap() = 9;
    *lock.write().unwrap() += 1;
    assert_eq!(lock.into_inner().unwrap(), 10);
    assert_eq!(poisoned_rwlock("kept").into_inner().unwrap_err().into_inner(), "kept");
}

#[test]
fn a_rwlock_whose_reader_panics() {
    let lock = RwLock::new(7);
    let panic = panic_of(|| {
        let _guard = lock.read().unwrap();
        panic!("the reader's");
    });
    assert_eq!(panic, "the reader's");
    assert!(!lock.is_poisoned());
    assert_eq!(*lock.read().unwrap(), 7);
    assert_eq!(*lock.write().unwrap(), 7);
}

/// The lock was taken when the panic had begun: what it guards was whole then, and is whole now.
#[test]
fn a_destructor_may_lock_while_the_thread_unwinds() {
    let (mutex, lock) = (Mutex::new(0), RwLock::new(0));
    let panic = panic_of(|| {
        let _at_the_end = AtTheEnd(|| {
            assert!(thread::panicking());
            *mutex.lock().unwrap() += 1;
            *mutex.try_lock().unwrap() += 1;
            *lock.write().unwrap() += 1;
        });
        panic!("before");
    });
    assert_eq!(panic, "before");
    assert_eq!((*mutex.lock().unwrap(), *lock.read().unwrap()), (2, 1));
}

/// A second panic cannot be told from the first: std's check misses it.
#[test]
fn a_panic_within_a_destructor_poisons_nothing() {
    let mutex = Mutex::new(0);
    let panic = panic_of(|| {
        let _at_the_end = AtTheEnd(|| {
            let inner = catch_unwind(AssertUnwindSafe(|| {
                let _guard = mutex.lock().unwrap();
                panic!("second");
            }));
            assert!(inner.is_err());
        });
        panic!("first");
    });
    assert_eq!(panic, "first");
    assert!(!mutex.is_poisoned());
}

/// A panic that was caught while the guard lived broke off nothing of the holder's.
#[test]
fn a_panic_that_the_holder_catches_poisons_nothing() {
    let mutex = Mutex::new(0);
    let guard = mutex.lock().unwrap();
    assert_eq!(panic_of(|| panic!("caught")), "caught");
    drop(guard);
    assert!(!mutex.is_poisoned());
}

#[test]
fn a_destructor_of_the_data_that_panics() {
    let panics = || {
        AtTheEnd(|| {
            if !thread::panicking() {
                panic!("the data's")
            }
        })
    };
    let (mutex, lock) = (Mutex::new(Some(panics())), RwLock::new(Some(panics())));
    assert_eq!(panic_of(|| *mutex.lock().unwrap() = None), "the data's");
    assert!(mutex.is_poisoned() && mutex.lock().err().unwrap().into_inner().is_none());
    assert_eq!(panic_of(|| *lock.write().unwrap() = None), "the data's");
    assert!(lock.is_poisoned() && lock.read().err().unwrap().into_inner().is_none());
    // With the lock itself.
    assert_eq!(panic_of(|| drop(Mutex::new(panics()))), "the data's");
}

#[test]
fn a_guard_that_is_leaked_stays() {
    let (mutex, lock) = (Mutex::new(1), RwLock::new(1));
    std::mem::forget((mutex.lock(), lock.read()));
    assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
    assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)) && lock.try_read().is_ok());
}

#[test]
fn errors_are_said_in_stds_words() {
    let (mutex, lock) = (poisoned_mutex(7), poisoned_rwlock(7));
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 7, poisoned: true, .. }");
    assert_eq!(format!("{lock:?}"), "RwLock { data: 7, poisoned: true, .. }");
    mutex.clear_poison();
    assert_eq!(format!("{:#?}", Mutex::new(1)), "Mutex {\n    data: 1,\n    poisoned: false,\n    ..\n}");
    let guard = mutex.lock().unwrap();
    assert!(format!("{mutex:?}").contains("<locked>"));
    assert_eq!(format!("{guard:?} {guard}"), "7 7");
    drop(guard);
    let guard = lock.write().unwrap_err().into_inner();
    assert_eq!(format!("{lock:?} {guard:?} {guard}"), "RwLock { data: <locked>, poisoned: true, .. } 7 7");
    drop(guard);
    let read = lock.read();
    assert_eq!(format!("{read:?}"), "Err(PoisonError { .. })");
    assert_eq!(read.as_ref().unwrap_err().to_string(), "poisoned lock: another task failed inside");
    let guard = read.unwrap_err().into_inner();
    assert_eq!(format!("{guard:?} {guard}"), "7 7");
    let refused = lock.try_write().unwrap_err();
    assert_eq!(refused.to_string(), "try_lock failed because the operation would block");
    assert_eq!(format!("{:?} {:?}", Condvar::new(), Once::new()), "Condvar { .. } Once { .. }");
    assert_eq!(format!("{:?} {:?}", OnceLock::<u8>::new(), OnceLock::from(1)), "OnceLock(<uninit>) OnceLock(1)");
    let lazy = LazyLock::new(|| 1);
    assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
    assert_eq!((*lazy, format!("{lazy:?}").as_str()), (1, "LazyLock(1)"));
}

/// Each in its own function, as a program may write it.
#[test]
fn types_are_named_and_made() {
    fn locked<T>(mutex: &Mutex<T>) -> LockResult<MutexGuard<'_, T>> {
        mutex.lock()
    }
    fn tried<T>(lock: &RwLock<T>) -> TryLockResult<RwLockReadGuard<'_, T>> {
        Ok(lock.read()?)
    }
    fn shrinks<'a>(_: RwLockReadGuard<'_, &'a i32>, _: &'a i32) {}
    static MUTEX: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    static LOCK: RwLock<Vec<u32>> = RwLock::new(Vec::new());
    static CONDVAR: Condvar = Condvar::new();
    static ONCE: Once = Once::new();
    static CELL: OnceLock<u32> = OnceLock::new();
    static LAZY: LazyLock<u32> = LazyLock::new(|| 3);
    static BARRIER: Barrier = Barrier::new(1);
    locked(&MUTEX).unwrap().push(1);
    assert!(tried(&LOCK).unwrap().is_empty());
    CONDVAR.notify_all();
    ONCE.call_once(|| CELL.set(2).unwrap());
    assert_eq!(CELL.get().copied().zip(Some(*LAZY)), Some((2, 3)));
    let alone: BarrierWaitResult = BARRIER.wait();
    assert!(alone.is_leader());
    static OF_ONE: RwLock<&'static i32> = RwLock::new(&1);
    let outer = 2;
    shrinks(OF_ONE.read().unwrap(), &outer);
    let slices: (&Mutex<[i32]>, &RwLock<[i32]>) = (&Mutex::new([1, 2]), &RwLock::new([1, 2]));
    slices.0.lock().unwrap()[0] = 3;
    slices.1.write().unwrap()[0] = 3;
    assert_eq!((&*slices.0.lock().unwrap(), &*slices.1.read().unwrap()), (&[3, 2][..], &[3, 2][..]));
    let shared: Weak<Mutex<i32>> = Arc::downgrade(&Arc::new(Mutex::default()));
    assert!(shared.upgrade().is_none());
    assert_eq!((Mutex::from(1).into_inner().unwrap(), RwLock::from(1).into_inner().unwrap()), (1, 1));
    assert_eq!(*RwLock::<u32>::default().read().unwrap(), 0);
    Condvar::default().notify_one();
    assert!(matches!(TryLockError::from(PoisonError::new(())), TryLockError::Poisoned(_)));
}

/// A value that is neither sent, nor shared, nor unwind safe.
type Bare = (std::rc::Rc<()>, &'static mut std::cell::Cell<u8>);

#[test]
fn what_unwinds_and_what_is_sent() {
    fn safe<T: ?Sized + UnwindSafe + RefUnwindSafe>() {}
    fn sync<T: ?Sized + Sync>() {}
    fn send<T: ?Sized + Send>() {}
    safe::<(Mutex<Bare>, RwLock<Bare>, Condvar, Once, Barrier)>();
    safe::<(MutexGuard<'_, Bare>, RwLockWriteGuard<'_, Bare>, RwLockReadGuard<'_, u8>)>();
    safe::<(OnceLock<u8>, LazyLock<u8>)>();
    sync::<(Mutex<std::cell::Cell<u8>>, MutexGuard<'_, u8>, RwLockReadGuard<'_, u8>, RwLockWriteGuard<'_, u8>)>();
    sync::<(Condvar, Once, Barrier, OnceLock<u8>, LazyLock<u8>)>();
    send::<(Mutex<std::cell::Cell<u8>>, RwLock<std::cell::Cell<u8>>, Condvar, Once, Barrier)>();
    let (mutex, lock) = (Mutex::new(1), RwLock::new(1));
    assert!(catch_unwind(|| *mutex.lock().unwrap() + *lock.write().unwrap()).is_ok());
}

/// Locks, notifies, and panics with the lock.
fn notifies_and_panics(mutex: &Mutex<bool>, condvar: &Condvar) {
    let panic = panic_of(|| {
        let _guard = mutex.lock();
        condvar.notify_all();
        panic!("the notifier's");
    });
    assert_eq!(panic, "the notifier's");
}

#[test]
#[allow(deprecated)]
fn waiters_learn_of_a_panic() {
    let _dog = Watchdog::new("waiters_learn_of_a_panic");
    let beside = |wait: &dyn Fn(MutexGuard<'_, bool>, &Condvar)| {
        let (mutex, condvar) = (Mutex::new(false), Condvar::new());
        thread::scope(|scope| {
            let guard = mutex.lock().unwrap();
            // It has the lock when the wait unlocks it.
            scope.spawn(|| notifies_and_panics(&mutex, &condvar));
            wait(guard, &condvar);
        });
        assert!(mutex.is_poisoned());
    };
    beside(&|mut guard, condvar| {
        while let Ok(again) = condvar.wait(guard) {
            guard = again;
        }
    });
    beside(&|guard, condvar| {
        let error = condvar.wait_while(guard, |ready| !*ready).unwrap_err();
        assert!(!*error.into_inner(), "the condition is asked no more");
    });
    beside(&|mut guard, condvar| {
        let error = loop {
            match condvar.wait_timeout(guard, LONG) {
                Ok((again, _)) => guard = again,
                Err(error) => break error,
            }
        };
        let (guard, result) = error.into_inner();
        assert!(!*guard && !result.timed_out());
    });
    beside(&|guard, condvar| {
        let error = condvar.wait_timeout_while(guard, LONG, |ready| !*ready).unwrap_err();
        let (guard, result): (MutexGuard<'_, bool>, WaitTimeoutResult) = error.into_inner();
        assert!(!*guard && !result.timed_out());
    });
    beside(&|mut guard, condvar| {
        let error = loop {
            match condvar.wait_timeout_ms(guard, u32::MAX) {
                Ok((again, _)) => guard = again,
                Err(error) => break error,
            }
        };
        assert!(error.into_inner().1);
    });
}

#[test]
#[allow(deprecated)]
fn waits_that_end_in_time() {
    let (mutex, condvar) = (Mutex::new(0), Condvar::new());
    let mut asked = 0;
    let guard = mutex.lock().unwrap();
    let (guard, result) = condvar
        .wait_timeout_while(guard, SHORT, |_| {
            asked += 1;
            true
        })
        .unwrap();
    assert!(result.timed_out() && asked >= 2, "it is asked again when the time is up");
    let (guard, result) = condvar.wait_timeout_while(guard, Duration::ZERO, |_| false).unwrap();
    assert!(!result.timed_out(), "what holds at once is no timeout");
    let (guard, result) = condvar.wait_timeout_while(guard, Duration::ZERO, |_| true).unwrap();
    assert!(result.timed_out());
    let mut guard = condvar.wait_while(guard, |_| false).unwrap();
    loop {
        let (again, result) = condvar.wait_timeout(guard, SHORT).unwrap();
        guard = again;
        if result.timed_out() {
            break;
        }
    }
    loop {
        let (again, is_notified) = condvar.wait_timeout_ms(guard, 1).unwrap();
        guard = again;
        if !is_notified {
            break;
        }
    }
    *guard += 1;
    drop(guard);
    assert_eq!(mutex.into_inner().unwrap(), 1);
}

#[test]
fn a_condition_that_panics_poisons_the_mutex() {
    let condvar = Condvar::new();
    let mutex = Mutex::new(0);
    assert_eq!(panic_of(|| drop(condvar.wait_while(mutex.lock().unwrap(), |_| panic!("asked")))), "asked");
    assert!(mutex.is_poisoned());
    // A condition that does not hold is no wait: the guard comes back as it was given.
    let guard = mutex.lock().unwrap_err().into_inner();
    let guard = condvar.wait_while(guard, |_| false).unwrap();
    let (guard, result) = condvar.wait_timeout_while(guard, LONG, |_| false).unwrap();
    assert!(!result.timed_out());
    drop(guard);
    mutex.clear_poison();
    let wait = || drop(condvar.wait_timeout_while(mutex.lock().unwrap(), LONG, |_| panic!("asked")));
    assert_eq!(panic_of(wait), "asked");
    assert!(mutex.is_poisoned() && mutex.try_lock().is_err_and(|error| matches!(error, TryLockError::Poisoned(_))));
}

#[test]
fn a_once_whose_closure_panics() {
    static ONCE: Once = Once::new();
    let runs = AtomicU32::new(0);
    let count = || _ = runs.fetch_add(1, Ordering::Relaxed);
    assert_eq!(panic_of(|| ONCE.call_once(|| panic!("early"))), "early");
    assert!(!ONCE.is_completed());
    for _ in 0..2 {
        assert!(panic_of(|| ONCE.call_once(count)).contains("Once instance has previously been poisoned"));
    }
    let panic = panic_of(|| {
        ONCE.call_once_force(|before: &OnceState| {
            assert!(before.is_poisoned());
            panic!("again");
        });
    });
    assert_eq!(panic, "again");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    ONCE.call_once_force(|before| {
        assert!(before.is_poisoned());
        count();
    });
    ONCE.call_once(count);
    ONCE.call_once_force(|_| count());
    assert!(ONCE.is_completed() && runs.load(Ordering::Relaxed) == 1);
    Once::new().call_once_force(|before| assert!(!before.is_poisoned()));
}

#[test]
fn what_is_made_once_and_panics() {
    let cell = OnceLock::new();
    assert_eq!(panic_of(|| _ = cell.get_or_init(|| panic!("early"))), "early");
    assert_eq!((cell.get(), *cell.get_or_init(|| 1), cell.set(2)), (None, 1, Err(2)));
    let lazy: LazyLock<u32> = LazyLock::new(|| panic!("early"));
    assert_eq!(panic_of(|| _ = *lazy), "early");
    for _ in 0..2 {
        // Older compilers' std says "Once".
        assert!(panic_of(|| _ = LazyLock::force(&lazy)).contains("instance has previously been poisoned"));
    }
}

#[test]
fn threads_meet_and_count() {
    const THREADS: usize = 4;
    const ROUNDS: usize = 50;
    let total = Arc::new((Mutex::new(0), RwLock::new(0), Barrier::new(THREADS)));
    let (sender, leaders) = channel();
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (total, sender) = (Arc::clone(&total), sender.clone());
            thread::spawn(move || {
                let (mutex, lock, barrier) = &*total;
                for round in 1..=ROUNDS {
                    *mutex.lock().unwrap() += 1;
                    *lock.write().unwrap() += 1;
                    sender.send(barrier.wait().is_leader()).unwrap();
                    assert_eq!((*mutex.lock().unwrap(), *lock.read().unwrap()), (round * THREADS, round * THREADS));
                    barrier.wait();
                }
            })
        })
        .collect();
    drop(sender);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(leaders.iter().filter(|is_leader| *is_leader).count(), ROUNDS);
}
