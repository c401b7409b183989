//! The mutex's bounded unfairness, event by event: the test scripts the sleeps of a futex.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use leeward::futex::{Changed, Deadline, Futex, Timeout, Wait, WakeOp};
use leeward::raw;

/// A futex whose waits run the test's script: everything happens on one thread, inside `wait`.
struct Scripted;

type Script = fn(&AtomicU32, u32, Timeout) -> Wait;

thread_local! {
    static SCRIPT: Cell<Script> = const { Cell::new(|_, _, _| panic!("nobody was to sleep")) };
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static TURNS: Cell<u32> = const { Cell::new(0) };
    static WAKES: Cell<u32> = const { Cell::new(0) };
}

// SAFETY: one thread: nothing happens between the comparison and the sleep.
unsafe impl Futex for Scripted {
    const SHARED: bool = false;

    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
        assert_eq!(word.load(Ordering::Relaxed), expected);
        SCRIPT.get()(word, expected, timeout)
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

static PASSED_OVER: raw::Mutex<Scripted> = raw::Mutex::new_in();

/// Unlocks as the holder, which wakes the waiter; a newcomer comes first if it may, as often as it
/// can.
fn barge() -> bool {
    // SAFETY: the script holds it.
    unsafe { PASSED_OVER.unlock() };
    let came_first = PASSED_OVER.try_lock();
    TURNS.set(TURNS.get() + u32::from(came_first));
    came_first
}

/// The bound on unfairness: that many wake-ups are lost to newcomers, and the next is not.
#[test]
fn a_waiter_is_passed_over_a_bounded_number_of_times() {
    PASSED_OVER.lock();
    TURNS.set(0);
    SCRIPT.set(|_, _, _| {
        barge();
        Wait::Woken
    });
    PASSED_OVER.lock();
    // 32 losses are allowed; at the 33rd the waiter asks, and the unlock after that is for it.
    assert_eq!(TURNS.get(), 33);
    // SAFETY: held.
    unsafe { PASSED_OVER.unlock() };
    assert!(PASSED_OVER.try_lock(), "reserved for nobody");
    // SAFETY: held.
    unsafe { PASSED_OVER.unlock() };

    // A waiter that has waited for a millisecond asks at its first loss.
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

static GIVEN_UP: raw::Mutex<Scripted> = raw::Mutex::new_in();

/// A waiter that has asked and gives up takes its request back; otherwise the lock would be
/// reserved for no thread.
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
    // The lock is given to it while its time runs out: it has it.
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

static TWICE_ASKED: raw::Mutex<Scripted> = raw::Mutex::new_in();

/// The second waiter comes while the first sleeps, having asked: with all its time, or none.
fn second_waiter(has_time: bool) {
    let has_it = if has_time {
        TWICE_ASKED.lock();
        true
    } else {
        TWICE_ASKED.try_lock_until(Deadline::at(Duration::ZERO))
    };
    assert_eq!(has_it, has_time);
    // The second waiter's lock, or still the first holder's. SAFETY: held.
    unsafe { TWICE_ASKED.unlock() };
    assert!(!TWICE_ASKED.try_lock(), "a newcomer came before one that had asked");
}

/// Of two waiters that asked one gets the lock, or gives up, and takes its own request back: the
/// lock is still kept for the other.
#[test]
fn two_that_asked() {
    for has_time in [true, false] {
        TWICE_ASKED.lock();
        TURNS.set(0);
        SCRIPT.set(if has_time { |_, _, _| two_scripted(true) } else { |_, _, _| two_scripted(false) });
        TWICE_ASKED.lock();
        assert_eq!(TURNS.get(), 4);
        // SAFETY: held.
        unsafe { TWICE_ASKED.unlock() };
        assert!(TWICE_ASKED.try_lock(), "reserved for nobody");
        // SAFETY: held.
        unsafe { TWICE_ASKED.unlock() };
    }
}

fn two_scripted(has_time: bool) -> Wait {
    TURNS.set(TURNS.get() + 1);
    NOW.set(NOW.get() + Duration::from_millis(1));
    match TURNS.get() {
        // The first waiter loses to a newcomer, and asks.
        1 => {
            // SAFETY: the test holds it.
            unsafe { TWICE_ASKED.unlock() };
            assert!(TWICE_ASKED.try_lock(), "nobody has asked");
        }
        // While it sleeps again, the second one comes.
        2 => second_waiter(has_time),
        // The second is woken for no reason, as any waiter may be, and asks too.
        3 => {}
        4 if has_time => {
            // SAFETY: the newcomer holds it.
            unsafe { TWICE_ASKED.unlock() };
            assert!(!TWICE_ASKED.try_lock(), "two have asked");
        }
        _ => return Wait::TimedOut,
    }
    Wait::Woken
}

static NOBODY_COMES: raw::Mutex<Scripted> = raw::Mutex::new_in();

/// The request of a thread that is not there when the lock is kept for it (of a fork's parent, or
/// of a process that was killed) expires; a thread that was only slow asks again.
#[test]
fn who_asked_and_is_not_there() {
    NOBODY_COMES.lock();
    TURNS.set(0);
    SCRIPT.set(|_, _, timeout| {
        TURNS.set(TURNS.get() + 1);
        NOW.set(NOW.get() + Duration::from_millis(1));
        match TURNS.get() {
            // It loses to a newcomer, and asks.
            1 => {
                // SAFETY: the test holds it.
                unsafe { NOBODY_COMES.unlock() };
                assert!(NOBODY_COMES.try_lock(), "nobody has asked");
            }
            // While it is not there, the lock is kept for it, and another thread comes.
            2 => {
                // SAFETY: the newcomer holds it.
                unsafe { NOBODY_COMES.unlock() };
                assert!(!NOBODY_COMES.try_lock(), "it is reserved");
                NOBODY_COMES.lock();
                // SAFETY: held.
                unsafe { NOBODY_COMES.unlock() };
                assert!(NOBODY_COMES.try_lock(), "the request has not expired");
            }
            // The other thread does not wait forever.
            3 => {
                let deadline = timeout.deadline().expect("it sleeps for as long as nobody comes");
                assert!(deadline.since_beginning() <= NOW.get());
                return Wait::TimedOut;
            }
            // The first has asked again, and has the lock.
            4 => {
                assert_eq!(timeout, Timeout::Never);
                // SAFETY: the newcomer holds it.
                unsafe { NOBODY_COMES.unlock() };
                assert!(!NOBODY_COMES.try_lock(), "it has asked again");
            }
            _ => unreachable!(),
        }
        Wait::Woken
    });
    NOBODY_COMES.lock();
    assert_eq!(TURNS.get(), 4);
    // SAFETY: held.
    unsafe { NOBODY_COMES.unlock() };
    assert!(NOBODY_COMES.try_lock(), "reserved for nobody");
}
