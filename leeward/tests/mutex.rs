//! The mutexes: exclusion, time-outs, fairness, the number of heavy fences and of system calls.

#![cfg(all(target_os = "linux", feature = "std", not(leeward_loom)))]
#![allow(missing_docs)]

mod common;

use common::*;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leeward::fence;
use leeward::futex::{Changed, Deadline, Futex, Private, Shared, Wait, WakeOp};
use leeward::raw::{self, Lock};
use leeward::sync::{LightMutex, Mutex, MutexGuard};
use lock_api::RawMutex;

/// Threads that add to a number that no atomic guards, some of them giving up now and then.
fn exclusion<R: lock_api::RawMutexTimed<Duration = Duration, Instant = Instant> + Sync>(threads: u64)
where
    R::GuardMarker: Sync,
{
    let _dog = Watchdog::new("exclusion");
    let mutex = lock_api::Mutex::<R, u64>::new(0);
    let added = AtomicU64::new(0);
    let end = Instant::now() + duration(0.3);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (mutex, added) = (&mutex, &added);
            scope.spawn(move || {
                let mut rng = Rng::new(thread);
                let mut mine = 0;
                while Instant::now() < end {
                    let guard = match rng.below(4) {
                        0 => mutex.try_lock(),
                        1 => mutex.try_lock_for(Duration::from_micros(rng.below(50))),
                        _ => Some(mutex.lock()),
                    };
                    if let Some(mut guard) = guard {
                        let value = *guard;
                        compute(rng.below(200));
                        *guard = value + 1;
                        mine += 1;
                    }
                    compute(rng.below(200));
                }
                added.fetch_add(mine, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(mutex.into_inner(), added.into_inner());
}

#[test]
fn exclusion_private() {
    exclusion::<raw::Mutex<Private>>(2);
    exclusion::<raw::Mutex<Private>>(8);
}

#[test]
fn exclusion_shared() {
    exclusion::<raw::Mutex<Shared>>(4);
}

#[test]
fn exclusion_light() {
    exclusion::<raw::LightMutex>(2);
    exclusion::<raw::LightMutex>(8);
}

/// Threads that sleep at every turn: a wake-up that is lost is a hang.
fn hand_to_hand<R: RawMutex + Sync>(turns: u64)
where
    R::GuardMarker: Sync,
{
    let _dog = Watchdog::new("hand_to_hand");
    let mutex = lock_api::Mutex::<R, u64>::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..turns {
                    let mut guard = mutex.lock();
                    *guard += 1;
                    // The others come to sleep meanwhile.
                    std::thread::yield_now();
                    if *guard % 16 == 0 {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
            });
        }
    });
    assert_eq!(mutex.into_inner(), 4 * turns);
}

#[test]
fn sleeping_mutex() {
    hand_to_hand::<raw::Mutex>(1_000);
}

#[test]
fn sleeping_light_mutex() {
    hand_to_hand::<raw::LightMutex>(1_000);
}

#[test]
fn time_is_up() {
    let _dog = Watchdog::new("time_is_up");
    let (mutex, light) = (Mutex::new(0), LightMutex::new(0));
    let (guard, light_guard) = (mutex.lock(), light.lock());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for limit in [Duration::ZERO, Duration::from_millis(1)] {
                let begun = Instant::now();
                assert!(mutex.try_lock_for(limit).is_none());
                assert!(light.try_lock_for(limit).is_none());
                assert!(begun.elapsed() >= 2 * limit);
            }
            // A time that has passed, and one that is far away: it is given the lock.
            assert!(mutex.try_lock_until(Instant::now() - Duration::from_millis(1)).is_none());
            assert!(light.try_lock_until(Instant::now() - Duration::from_millis(1)).is_none());
        });
    });
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(mutex.try_lock_for(Duration::MAX).is_some());
            assert!(light.try_lock_for(Duration::MAX).is_some());
        });
        std::thread::sleep(GLANCE);
        drop((guard, light_guard));
    });
    assert!(mutex.try_lock().is_some() && light.try_lock().is_some());
}

/// A futex whose waits go as the test wants: everything happens on one thread, inside `wait`.
struct Scripted;

type Script = fn(&AtomicU32, u32, Option<Deadline>) -> Wait;

thread_local! {
    static SCRIPT: Cell<Script> = const { Cell::new(|_, _, _| panic!("nobody was to sleep")) };
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static TURNS: Cell<u32> = const { Cell::new(0) };
    static WAKES: Cell<u32> = const { Cell::new(0) };
}

// SAFETY: one thread: nothing happens between the comparison and the sleep.
unsafe impl Futex for Scripted {
    const SHARED: bool = false;

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Deadline>) -> Wait {
        assert_eq!(word.load(Ordering::Relaxed), expected);
        SCRIPT.get()(word, expected, deadline)
    }

    fn wake(_: *const AtomicU32, _: u32) -> u32 {
        WAKES.set(WAKES.get() + 1);
        // The script returns from `wait` as if woken.
        1
    }

    unsafe fn requeue(_: *const AtomicU32, _: u32, _: u32, _: *const AtomicU32, _: u32) -> Result<u32, Changed> {
        unreachable!("no condition variable here")
    }

    unsafe fn wake_op(_: *const AtomicU32, _: u32, _: *const AtomicU32, _: WakeOp, _: u32) -> u32 {
        unreachable!("no condition variable here")
    }

    fn yield_now() {}

    fn now() -> Deadline {
        Deadline::at(NOW.get())
    }
}

static PASSED_OVER: raw::Mutex<Scripted> = raw::Mutex::new();

/// The holder unlocks, which wakes the waiter, and a newcomer comes first if it may: as often as it can.
fn barge() -> bool {
    // SAFETY: the script holds it.
    unsafe { PASSED_OVER.unlock() };
    let came_first = PASSED_OVER.try_lock();
    TURNS.set(TURNS.get() + u32::from(came_first));
    came_first
}

/// The bound on unfairness: so many wake-ups lost to newcomers, and the next is not.
#[test]
fn a_waiter_is_passed_over_a_bounded_number_of_times() {
    PASSED_OVER.lock();
    TURNS.set(0);
    SCRIPT.set(|_, _, _| {
        barge();
        Wait::Woken
    });
    PASSED_OVER.lock();
    // 32 losses may be; at the 33rd it asks, and the unlock after that is for it.
    assert_eq!(TURNS.get(), 33);
    // SAFETY: held.
    unsafe { PASSED_OVER.unlock() };
    assert!(PASSED_OVER.try_lock(), "reserved for nobody");
    // SAFETY: held.
    unsafe { PASSED_OVER.unlock() };

    // One that has waited for a millisecond asks at its first loss.
    PASSED_OVER.lock();
    TURNS.set(0);
    SCRIPT.set(|_, _, _| {
        NOW.set(NOW.get() + Duration::from_millis(1));
        barge();
        Wait::Woken
    });
    PASSED_OVER.lock();
    assert_eq!(TURNS.get(), 1);
    // SAFETY: held.
    unsafe { PASSED_OVER.unlock() };
}

static GIVEN_UP: raw::Mutex<Scripted> = raw::Mutex::new();

/// One that has asked and gives up takes that back, or the lock would be reserved for nobody.
#[test]
fn whoever_asked_and_gives_up_leaves_no_reservation() {
    GIVEN_UP.lock();
    SCRIPT.set(|_, _, _| {
        NOW.set(NOW.get() + Duration::from_millis(1));
        TURNS.set(TURNS.get() + 1);
        if TURNS.get() > 1 {
            return Wait::TimedOut;
        }
        // SAFETY: the test holds it.
        unsafe { GIVEN_UP.unlock() };
        assert!(GIVEN_UP.try_lock());
        Wait::Woken
    });
    TURNS.set(0);
    assert!(!GIVEN_UP.try_lock_until(Deadline::at(Duration::ZERO)));
    assert_eq!(TURNS.get(), 2);
    // SAFETY: held.
    unsafe { GIVEN_UP.unlock() };
    assert!(GIVEN_UP.try_lock(), "reserved for nobody");
    // Given to it while its time ran out: it has it.
    TURNS.set(0);
    SCRIPT.set(|_, _, _| {
        NOW.set(NOW.get() + Duration::from_millis(1));
        TURNS.set(TURNS.get() + 1);
        // SAFETY: the test holds it.
        unsafe { GIVEN_UP.unlock() };
        if TURNS.get() > 1 {
            assert!(!GIVEN_UP.try_lock(), "it is reserved");
            return Wait::TimedOut;
        }
        assert!(GIVEN_UP.try_lock());
        Wait::Woken
    });
    assert!(GIVEN_UP.try_lock_until(Deadline::at(Duration::ZERO)));
    // SAFETY: held.
    unsafe { GIVEN_UP.unlock() };
    assert!(GIVEN_UP.try_lock());
}

/// A fair unlock gives the lock to the sleeper, and to nobody else; with nobody asleep it frees it.
#[test]
fn unlocking_fairly() {
    let _dog = Watchdog::new("unlocking_fairly");
    let mutex = Mutex::new(0);
    MutexGuard::unlock_fair(mutex.lock());
    assert!(mutex.try_lock().is_some());
    for _ in 0..100 {
        let mut guard = mutex.lock();
        *guard = 0;
        let started = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                started.store(true, Ordering::Relaxed);
                *mutex.lock() += 1;
            });
            eventually("the thread runs", || started.load(Ordering::Relaxed));
            std::thread::sleep(Duration::from_micros(200));
            MutexGuard::unlock_fair(guard);
            drop(mutex.lock());
        });
        assert_eq!(*mutex.lock(), 1);
        assert!(mutex.try_lock().is_some());
    }
}

/// At most one heavy fence in 511 unlocks, and none while nobody sleeps.
#[test]
fn heavy_fences_do_not_multiply() {
    let _dog = Watchdog::new("heavy_fences_do_not_multiply");
    let fences = || fence::counters().total();
    let alone = LightMutex::new(());
    fence::heavy();
    let before = fences();
    for _ in 0..10_000 {
        drop(alone.lock());
    }
    assert_eq!(fences(), before, "nobody slept");

    let mutex = LightMutex::new(0u64);
    let sleeps = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let mut guard = mutex.lock();
                    *guard += 1;
                    // Whoever waits goes to sleep.
                    std::thread::sleep(Duration::from_micros(100));
                    sleeps.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let unlocks = *mutex.lock();
    let issued = fences() - before;
    println!("{issued} heavy fences in {unlocks} unlocks");
    assert!(issued >= 1, "somebody slept");
    assert!(issued <= 1 + unlocks / 511, "{issued} heavy fences in {unlocks} unlocks");

    // Lowered after so many quiet unlocks; the next sleeper raises it again.
    for _ in 0..511 {
        drop(mutex.lock());
    }
    let before = fences();
    let guard = mutex.lock();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(mutex.lock()));
        eventually("the sleeper raises the word", || fences() > before);
        drop(guard);
    });
    assert_eq!(fences(), before + 1);
}

/// Layouts, and that zeroed memory is an unlocked lock.
#[test]
fn zeroed_is_unlocked() {
    assert_eq!((size_of::<raw::Mutex<Shared>>(), align_of::<raw::Mutex<Shared>>()), (4, 4));
    assert_eq!((size_of::<raw::LightMutex>(), align_of::<raw::LightMutex>()), (8, 4));
    // SAFETY: documented to be valid when zeroed.
    let mutex: raw::Mutex<Shared> = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let light: raw::LightMutex = unsafe { std::mem::zeroed() };
    assert!(mutex.try_lock() && !mutex.try_lock() && mutex.is_locked());
    assert!(light.try_lock() && !light.try_lock() && light.is_locked());
    // SAFETY: held.
    unsafe { mutex.unlock() };
    // SAFETY: held.
    unsafe { light.unlock() };
    assert!(!mutex.is_locked() && !light.is_locked());
    assert_eq!(format!("{mutex:?} {light:?}"), "Mutex { locked: false, .. } LightMutex { locked: false, .. }");
    assert!(Lock::queue(&mutex).is_some() && Lock::queue(&light).is_none());
}

/// A panic unlocks; whoever wants to know of it asks `Poison`.
#[test]
fn panics() {
    use leeward::sync::{Poison, Poisoned};
    let mutex = Mutex::new(Poison::new(1));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        mutex.lock().access(|value| {
            *value = 2;
            assert_eq!(*value, 1);
        })
    }));
    assert!(panicked.is_err());
    let mut guard = mutex.try_lock().expect("it was unlocked");
    assert!(guard.is_poisoned());
    assert_eq!((guard.access(|_| ()), guard.get()), (Err(Poisoned), Err(Poisoned)));
    *guard.clear() = 3;
    assert_eq!((guard.access(|value| *value), guard.get()), (Ok(3), Ok(&3)));
    assert!(Poisoned.to_string().contains("panic"));
}

/// A shared mutex between two processes.
#[test]
fn two_processes() {
    const EACH: u32 = 20_000;
    let _dog = Watchdog::new("two_processes");
    struct Page {
        mutex: raw::Mutex<Shared>,
        count: std::cell::UnsafeCell<u32>,
    }
    // SAFETY: memory of our own, zeroed.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(page, libc::MAP_FAILED);
    // SAFETY: zeroed is a valid one.
    let page = unsafe { &*page.cast::<Page>() };
    let work = || {
        for _ in 0..EACH {
            page.mutex.lock();
            // SAFETY: under the lock.
            unsafe { *page.count.get() += 1 };
            // SAFETY: held.
            unsafe { page.mutex.unlock() };
        }
    };
    // SAFETY: the child only locks, adds and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        work();
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    work();
    let mut status = 0;
    // SAFETY: our child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    // SAFETY: the other process has ended.
    assert_eq!(unsafe { *page.count.get() }, 2 * EACH);
}
