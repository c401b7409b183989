//! The condition variable: each scheme with each lock, no lost and no stolen wake-up, time-outs, system calls.

#![cfg(all(target_os = "linux", feature = "std", not(leeward_loom)))]
#![allow(missing_docs)]

mod common;

use common::*;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use leeward::futex::{Changed, Deadline, Futex, Private, Shared, Wait};
use leeward::raw::{self, Lock, Plain, Requeue, Scheme, WakeOp};
use leeward::sync::{Condvar, Mutex};
use lock_api::RawMutex;

/// Tokens that are given and taken, each with one notification: each must be taken, or somebody sleeps for ever.
fn tokens<S: Scheme, R: RawMutex + Lock<Private> + Sync>(held: bool)
where
    R::GuardMarker: Sync,
{
    const TAKERS: u64 = 4;
    const EACH: u64 = 2_000;
    let _dog = Watchdog::new("tokens");
    let tokens = lock_api::Mutex::<R, u64>::new(0);
    let condition = Condvar::<S>::with_scheme();
    std::thread::scope(|scope| {
        for taker in 0..TAKERS {
            let (tokens, condition) = (&tokens, &condition);
            scope.spawn(move || {
                let mut rng = Rng::new(taker);
                for _ in 0..EACH {
                    let mut guard = tokens.lock();
                    while *guard == 0 {
                        if rng.below(4) == 0 {
                            condition.wait_for(&mut guard, Duration::from_micros(rng.below(100)));
                        } else {
                            condition.wait(&mut guard);
                        }
                    }
                    *guard -= 1;
                }
            });
        }
        for giver in 0..2 {
            let (tokens, condition) = (&tokens, &condition);
            scope.spawn(move || {
                let mut rng = Rng::new(10 + giver);
                let mut left = TAKERS * EACH / 2;
                while left != 0 {
                    let count = (rng.below(3) + 1).min(left);
                    left -= count;
                    let mut guard = tokens.lock();
                    *guard += count;
                    let notify = || match count {
                        1 => usize::from(condition.notify_one()),
                        _ => condition.notify_all(),
                    };
                    if held {
                        notify();
                        drop(guard);
                    } else {
                        drop(guard);
                        notify();
                    }
                    compute(rng.below(500));
                }
            });
        }
    });
    assert_eq!(tokens.into_inner(), 0);
    assert!(!condition.notify_one(), "nobody waits");
    assert_eq!(condition.notify_all(), 0);
    assert_eq!(format!("{condition:?}"), "Condvar { waiters: 0, .. }");
}

macro_rules! schemes {
    ($($name:ident: $scheme:ty;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn held() {
                tokens::<$scheme, raw::Mutex>(true);
            }

            #[test]
            fn free() {
                tokens::<$scheme, raw::Mutex>(false);
            }

            #[test]
            fn light_mutex() {
                tokens::<$scheme, raw::LightMutex>(true);
            }

            #[test]
            fn a_later_waiter_takes_no_signal() {
                super::a_later_waiter_takes_no_signal::<$scheme>();
            }

            #[test]
            fn a_waiter_on_its_way_to_sleep() {
                super::a_waiter_on_its_way_to_sleep::<$scheme>();
            }

            #[test]
            fn everybody() {
                super::everybody::<$scheme>();
            }

            #[test]
            fn two_processes() {
                super::two_processes::<$scheme>();
            }
        }
    )*};
}

schemes! {
    plain: Plain;
    requeue: Requeue;
    wake_op: WakeOp;
}

/// `notify_all` with the lock held by the notifier, with waiters that are all there, and what it returns.
fn everybody<S: Scheme>() {
    const WAITERS: usize = 8;
    let _dog = Watchdog::new("everybody");
    let mutex = Mutex::new((0, 0));
    let condition = Condvar::<S>::with_scheme();
    for round in 1..=50 {
        std::thread::scope(|scope| {
            for _ in 0..WAITERS {
                scope.spawn(|| {
                    let mut guard = mutex.lock();
                    guard.0 += 1;
                    condition.wait_while(&mut guard, |state| state.1 != round);
                    guard.0 -= 1;
                });
            }
            eventually("all of them wait", || mutex.lock().0 == WAITERS);
            let mut guard = mutex.lock();
            guard.1 = round;
            assert_eq!(condition.notify_all(), WAITERS);
            assert_eq!(condition.notify_all(), 0, "they were notified already");
            assert!(!condition.notify_one());
        });
    }
}

/// A futex whose wakes find the one that came *last*, as the kernel's do when that has the higher priority.
struct Newest;

struct Sleeper {
    word: usize,
    thread: Thread,
    woken: std::sync::Arc<AtomicBool>,
}

static SLEEPERS: std::sync::Mutex<Vec<Sleeper>> = std::sync::Mutex::new(Vec::new());

/// Threads named so wait here before they sleep: on their way.
static GATE: AtomicBool = AtomicBool::new(false);
static AT_THE_GATE: AtomicUsize = AtomicUsize::new(0);
const SLOW: &str = "slow";

fn take(sleepers: &mut Vec<Sleeper>, word: *const AtomicU32, count: u32) -> u32 {
    let mut taken = 0;
    while taken < count {
        let Some(place) = sleepers.iter().rposition(|sleeper| sleeper.word == word as usize) else { break };
        let sleeper = sleepers.remove(place);
        sleeper.woken.store(true, Ordering::Release);
        sleeper.thread.unpark();
        taken += 1;
    }
    taken
}

// SAFETY: the comparison and the queueing are one step under the queue's lock.
unsafe impl Futex for Newest {
    const SHARED: bool = false;

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Deadline>) -> Wait {
        assert_eq!(deadline, None, "not used here");
        let thread = std::thread::current();
        if thread.name() == Some(SLOW) {
            AT_THE_GATE.fetch_add(1, Ordering::Relaxed);
            while !GATE.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        }
        let woken = std::sync::Arc::new(AtomicBool::new(false));
        {
            let mut sleepers = SLEEPERS.lock().unwrap();
            if word.load(Ordering::Relaxed) != expected {
                return Wait::Changed;
            }
            sleepers.push(Sleeper { word: word.as_ptr() as usize, thread, woken: woken.clone() });
        }
        while !woken.load(Ordering::Acquire) {
            std::thread::park();
        }
        Wait::Woken
    }

    fn wake(word: *const AtomicU32, count: u32) -> u32 {
        take(&mut SLEEPERS.lock().unwrap(), word, count)
    }

    unsafe fn requeue(
        from: *const AtomicU32,
        expected: u32,
        wake: u32,
        to: *const AtomicU32,
        requeue: u32,
    ) -> Result<u32, Changed> {
        let mut sleepers = SLEEPERS.lock().unwrap();
        // SAFETY: the caller's promise.
        if unsafe { &*from }.load(Ordering::Relaxed) != expected {
            return Err(Changed);
        }
        let mut done = take(&mut sleepers, from, wake);
        for sleeper in sleepers.iter_mut().rev().filter(|sleeper| sleeper.word == from as usize).take(requeue as usize)
        {
            sleeper.word = to as usize;
            done += 1;
        }
        Ok(done)
    }

    unsafe fn wake_op(
        word: *const AtomicU32,
        wake: u32,
        on: *const AtomicU32,
        op: leeward::futex::WakeOp,
        wake_on: u32,
    ) -> u32 {
        let mut sleepers = SLEEPERS.lock().unwrap();
        // SAFETY: the caller's promise.
        let old = op.apply_to(unsafe { &*on });
        let woken = take(&mut sleepers, word, wake);
        woken + if op.holds(old) { take(&mut sleepers, on, wake_on) } else { 0 }
    }

    fn yield_now() {
        std::thread::yield_now();
    }

    fn now() -> Deadline {
        Private::now()
    }
}

/// The queue and the gate are everybody's.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

struct Room<S: Scheme> {
    mutex: raw::Mutex<Newest>,
    condition: raw::Condvar<S, Newest>,
    inside: AtomicUsize,
    out: [AtomicBool; 4],
}

impl<S: Scheme> Room<S> {
    fn new() -> Room<S> {
        Room {
            mutex: raw::Mutex::new(),
            condition: raw::Condvar::new(),
            inside: AtomicUsize::new(0),
            out: Default::default(),
        }
    }

    /// Waits once, and says so when it comes out.
    fn wait(&self, me: usize) {
        self.mutex.lock();
        self.inside.fetch_add(1, Ordering::Relaxed);
        // SAFETY: held.
        unsafe { self.condition.wait(&self.mutex, None) };
        // SAFETY: held.
        unsafe { self.mutex.unlock() };
        self.out[me].store(true, Ordering::Release);
    }

    fn is_out(&self, me: usize) -> bool {
        self.out[me].load(Ordering::Acquire)
    }

    /// So many have counted themselves and given up the lock.
    fn are_inside(&self, count: usize) {
        eventually("the waiters are inside", || {
            self.mutex.lock();
            let are = self.inside.load(Ordering::Relaxed) == count;
            // SAFETY: held.
            unsafe { self.mutex.unlock() };
            are
        });
    }

    fn sleep(&self, count: usize) {
        let turn = std::ptr::from_ref(&self.condition) as usize;
        let inside = |word: usize| (turn..turn + size_of::<raw::Condvar<S, Newest>>()).contains(&word);
        eventually("so many sleep", || {
            SLEEPERS.lock().unwrap().iter().filter(|sleeper| inside(sleeper.word)).count() == count
        });
    }
}

/// glibc's bug 25847: a waiter that comes after a signal must not take it from one that was there, who then sleeps on.
/// Here wakes find whoever came last.
fn a_later_waiter_takes_no_signal<S: Scheme>() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_later_waiter_takes_no_signal");
    for _ in 0..100 {
        let room = Room::<S>::new();
        std::thread::scope(|scope| {
            // Two early ones, one signal each; late ones come in between and after.
            scope.spawn(|| room.wait(0));
            scope.spawn(|| room.wait(1));
            room.are_inside(2);
            room.sleep(2);
            assert!(room.condition.notify_one());
            scope.spawn(|| room.wait(2));
            room.are_inside(3);
            eventually("the signal wakes one of the early ones", || room.is_out(0) || room.is_out(1));
            assert!(!room.is_out(2), "the late one took the signal");
            // Two more wait now; each has its signal.
            assert!(room.condition.notify_one());
            assert!(room.condition.notify_one());
            assert!(!room.condition.notify_one(), "nobody is left");
            eventually("all of them come out", || (0..3).all(|me| room.is_out(me)));
        });
    }
}

/// The same with an early waiter that has given up the lock and does not sleep yet when the signal comes.
fn a_waiter_on_its_way_to_sleep<S: Scheme>() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_waiter_on_its_way_to_sleep");
    let room = Room::<S>::new();
    GATE.store(false, Ordering::Relaxed);
    AT_THE_GATE.store(0, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let early = std::thread::Builder::new().name(SLOW.to_string());
        early.spawn_scoped(scope, || room.wait(0)).unwrap();
        eventually("the early one is on its way", || AT_THE_GATE.load(Ordering::Relaxed) == 1);
        assert!(room.condition.notify_one());
        // Late ones sleep before the early one does.
        scope.spawn(|| room.wait(1));
        scope.spawn(|| room.wait(2));
        room.are_inside(3);
        room.sleep(2);
        GATE.store(true, Ordering::Relaxed);
        eventually("the early one comes out", || room.is_out(0));
        never("a late one took a signal", || room.is_out(1) || room.is_out(2));
        assert_eq!(room.condition.notify_all(), 2);
    });
    assert!((0..3).all(|me| room.is_out(me)));
}

#[test]
fn time_is_up() {
    let _dog = Watchdog::new("time_is_up");
    let (mutex, condition) = (Mutex::new(0), Condvar::new());
    let mut guard = mutex.lock();
    assert!(condition.wait_for(&mut guard, Duration::ZERO).timed_out());
    assert!(condition.wait_until(&mut guard, Instant::now() - Duration::from_millis(1)).timed_out());
    assert!(condition.wait_until(&mut guard, Instant::now() + Duration::from_millis(2)).timed_out());
    assert!(condition.wait_while_for(&mut guard, |_| true, Duration::from_millis(2)).timed_out());
    assert!(!condition.wait_while_for(&mut guard, |_| false, Duration::ZERO).timed_out());
    // It has the lock, and is counted no more.
    assert!(mutex.try_lock().is_none());
    assert!(!condition.notify_one());
    // Notified long before the time is up.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *mutex.lock() = 1;
            condition.notify_one();
        });
        assert!(!condition.wait_while_for(&mut guard, |value| *value == 0, Duration::MAX).timed_out());
    });
}

/// A waiter whose time runs out while it is moved to the lock has been notified, and takes no wake-up along.
#[test]
fn moved_and_out_of_time() {
    let _dog = Watchdog::new("moved_and_out_of_time");
    for _ in 0..50 {
        let (mutex, condition) = (Mutex::new(0), Condvar::new());
        std::thread::scope(|scope| {
            for waiter in 0..4 {
                let (mutex, condition) = (&mutex, &condition);
                scope.spawn(move || {
                    let mut guard = mutex.lock();
                    *guard += 1;
                    match waiter {
                        0 | 1 => {
                            condition.wait_for(&mut guard, Duration::from_millis(1));
                        }
                        _ => condition.wait(&mut guard),
                    }
                });
            }
            eventually("all of them wait", || *mutex.lock() == 4);
            let guard = mutex.lock();
            condition.notify_all();
            std::thread::sleep(Duration::from_millis(2));
            drop(guard);
        });
        assert!(mutex.try_lock().is_some());
    }
}

#[test]
fn two_mutexes_are_refused() {
    let _dog = Watchdog::new("two_mutexes_are_refused");
    let (first, second, condition) = (Mutex::new(false), Mutex::new(()), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = first.lock();
            *guard = true;
            condition.wait(&mut guard);
        });
        eventually("somebody waits", || *first.lock());
        let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| condition.wait(&mut second.lock())));
        assert!(refused.is_err());
        assert!(second.try_lock().is_some(), "the panic unlocked it");
        assert_eq!(condition.notify_all(), 1);
    });
    // One after the other is fine.
    assert!(condition.wait_for(&mut second.lock(), Duration::ZERO).timed_out());
}

/// A futex that counts its calls.
struct Counted;

static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the private futex.
unsafe impl Futex for Counted {
    const SHARED: bool = false;

    fn wait(word: &AtomicU32, expected: u32, deadline: Option<Deadline>) -> Wait {
        Private::wait(word, expected, deadline)
    }

    fn wake(word: *const AtomicU32, count: u32) -> u32 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        Private::wake(word, count)
    }

    unsafe fn requeue(
        from: *const AtomicU32,
        expected: u32,
        wake: u32,
        to: *const AtomicU32,
        requeue: u32,
    ) -> Result<u32, Changed> {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { Private::requeue(from, expected, wake, to, requeue) }
    }

    unsafe fn wake_op(
        word: *const AtomicU32,
        wake: u32,
        on: *const AtomicU32,
        op: leeward::futex::WakeOp,
        wake_on: u32,
    ) -> u32 {
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { Private::wake_op(word, wake, on, op, wake_on) }
    }

    fn yield_now() {
        Private::yield_now();
    }

    fn now() -> Deadline {
        Private::now()
    }
}

/// Nobody waits: no call. Somebody does, the lock is held: one call, which wakes nobody, and one as it is unlocked.
#[test]
fn system_calls() {
    let _dog = Watchdog::new("system_calls");
    let (mutex, condition) = (raw::Mutex::<Counted>::new(), raw::Condvar::<Requeue, Counted>::new());
    for _ in 0..100 {
        assert!(!condition.notify_one());
        assert_eq!(condition.notify_all(), 0);
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    let (waiting, out) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                mutex.lock();
                waiting.fetch_add(1, Ordering::Relaxed);
                // SAFETY: held.
                unsafe { condition.wait(&mutex, None) };
                out.fetch_add(1, Ordering::Relaxed);
                // SAFETY: held.
                unsafe { mutex.unlock() };
            });
        }
        eventually("they wait", || waiting.load(Ordering::Relaxed) == 3);
        mutex.lock();
        // They have given up the lock; give them time to sleep.
        std::thread::sleep(GLANCE);
        let before = CALLS.load(Ordering::Relaxed);
        assert_eq!(condition.notify_all(), 3);
        assert_eq!(CALLS.load(Ordering::Relaxed) - before, 1, "they are moved in one call");
        never("somebody runs while the lock is held", || out.load(Ordering::Relaxed) != 0);
        // SAFETY: held.
        unsafe { mutex.unlock() };
    });
    assert_eq!(out.into_inner(), 3);
}

/// Two processes, a shared condition variable and lock in zeroed memory: each waits for the other's turn.
fn two_processes<S: Scheme>() {
    const TURNS: u32 = 500;
    let _dog = Watchdog::new("two_processes");
    struct Page<S: Scheme> {
        mutex: raw::Mutex<Shared>,
        condition: raw::Condvar<S, Shared>,
        turn: AtomicU32,
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
    let page = unsafe { &*page.cast::<Page<S>>() };
    let work = |mine: u32| {
        for turn in 0..TURNS {
            page.mutex.lock();
            while page.turn.load(Ordering::Relaxed) % 2 != mine {
                // SAFETY: held.
                unsafe { page.condition.wait(&page.mutex, None) };
            }
            page.turn.fetch_add(1, Ordering::Relaxed);
            if turn % 2 == 0 {
                // SAFETY: all wait with this lock.
                unsafe { page.condition.notify_all_of(&page.mutex) };
            } else {
                // SAFETY: as above.
                unsafe { page.condition.notify_one_of(&page.mutex) };
            }
            // SAFETY: held.
            unsafe { page.mutex.unlock() };
        }
    };
    // SAFETY: the child only locks, waits, notifies and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        work(1);
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    work(0);
    let mut status = 0;
    // SAFETY: our child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!((status, page.turn.load(Ordering::Relaxed)), (0, 2 * TURNS));
}

/// The layout that processes share.
#[test]
fn layout() {
    assert_eq!(size_of::<raw::Condvar<Requeue, Shared>>(), 24);
    assert_eq!(align_of::<raw::Condvar<Requeue, Shared>>(), 8);
}
