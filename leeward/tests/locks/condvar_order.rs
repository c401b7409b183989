//! The condition variable, event by event: no stolen wake-up (glibc's bug 25847), and the number of
//! system calls.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::Thread;

use leeward::futex::{Changed, Deadline, Futex, Private, Timeout, Wait};
use leeward::raw::{self, Plain, Requeue, Scheme, WakeOp};

macro_rules! schemes {
    ($($name:ident: $scheme:ty;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn a_later_waiter_takes_no_signal() {
                super::a_later_waiter_takes_no_signal::<$scheme>();
            }

            #[test]
            fn a_waiter_on_its_way_to_sleep() {
                super::a_waiter_on_its_way_to_sleep::<$scheme>();
            }
        }
    )*};
}

schemes! {
    plain: Plain;
    requeue: Requeue;
    wake_op: WakeOp;
}

/// A futex whose wakes find the thread that came *last*, as the kernel's do when that thread has
/// the higher priority.
struct Newest;

struct Sleeper {
    word: usize,
    thread: Thread,
    woken: std::sync::Arc<AtomicBool>,
}

static SLEEPERS: std::sync::Mutex<Vec<Sleeper>> = std::sync::Mutex::new(Vec::new());

/// The gate at which threads named [`SLOW`] wait, on their way to sleep.
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

    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
        assert_eq!(timeout, Timeout::Never, "not used here");
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

/// Held by each test: the queue and the gate are the program's.
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
            mutex: raw::Mutex::new_in(),
            condition: raw::Condvar::new_in(),
            inside: AtomicUsize::new(0),
            out: Default::default(),
        }
    }

    /// Waits once, and notes that it returned.
    fn wait(&self, me: usize) {
        self.mutex.lock();
        self.inside.fetch_add(1, Ordering::Relaxed);
        // SAFETY: held.
        unsafe { self.condition.wait(&self.mutex, Timeout::Never) };
        // SAFETY: held.
        unsafe { self.mutex.unlock() };
        self.out[me].store(true, Ordering::Release);
    }

    fn is_out(&self, me: usize) -> bool {
        self.out[me].load(Ordering::Acquire)
    }

    /// Returns when `count` waiters have counted themselves and given up the lock.
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

/// glibc's bug 25847: a waiter that comes after a signal must not take it from one that was there
/// and then sleeps on. Here wakes find the thread that came last.
fn a_later_waiter_takes_no_signal<S: Scheme>() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_later_waiter_takes_no_signal");
    for _ in 0..100 {
        let room = Room::<S>::new();
        std::thread::scope(|scope| {
            // Two early waiters, with one signal each; late ones come in between and after.
            scope.spawn(|| room.wait(0));
            scope.spawn(|| room.wait(1));
            room.are_inside(2);
            room.sleep(2);
            assert!(room.condition.notify_one());
            scope.spawn(|| room.wait(2));
            room.are_inside(3);
            eventually("the signal wakes one of the early ones", || room.is_out(0) || room.is_out(1));
            assert!(!room.is_out(2), "the late one took the signal");
            // Two more wait now; each has its signal. (A waiter that does not sleep yet when
            // another's signal comes may return with that one.)
            room.sleep(2);
            assert!(room.condition.notify_one());
            assert!(room.condition.notify_one());
            assert!(!room.condition.notify_one(), "nobody is left");
            eventually("all of them come out", || (0..3).all(|me| room.is_out(me)));
        });
    }
}

/// An early waiter has given up the lock and does not sleep yet when the signal comes: a later one
/// must not take the signal.
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
        // The late waiters sleep before the early one does.
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

/// A futex that counts its calls.
struct Counted;

static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the private futex.
unsafe impl Futex for Counted {
    const SHARED: bool = false;

    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
        Private::wait(word, expected, timeout)
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

/// Without waiters: no call. With waiters and the lock held: one call, which wakes none, and one at
/// the unlock.
#[test]
fn system_calls() {
    let _dog = Watchdog::new("system_calls");
    let (mutex, condition) = (raw::Mutex::<Counted>::new_in(), raw::Condvar::<Requeue, Counted>::new_in());
    for _ in 0..100 {
        assert!(!condition.notify_one());
        assert_eq!(condition.notify_all(), 0);
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    let (waiting, out) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                // SAFETY: has no precondition.
                tell.send(unsafe { libc::gettid() }).unwrap();
                mutex.lock();
                waiting.fetch_add(1, Ordering::Relaxed);
                // SAFETY: held.
                unsafe { condition.wait(&mutex, Timeout::Never) };
                out.fetch_add(1, Ordering::Relaxed);
                // SAFETY: held.
                unsafe { mutex.unlock() };
            });
        }
        eventually("they wait", || waiting.load(Ordering::Relaxed) == 3);
        mutex.lock();
        // They have given up the lock: they sleep for the notification.
        let ids: Vec<_> = told.iter().take(3).collect();
        eventually("they sleep", || ids.iter().all(|&id| is_asleep(id)));
        let before = CALLS.load(Ordering::Relaxed);
        assert_eq!(condition.notify_all(), 3);
        assert_eq!(CALLS.load(Ordering::Relaxed) - before, 1, "they are moved in one call");
        never("somebody runs while the lock is held", || out.load(Ordering::Relaxed) != 0);
        // SAFETY: held.
        unsafe { mutex.unlock() };
    });
    assert_eq!(out.into_inner(), 3);
}
