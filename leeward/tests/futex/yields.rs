//! How often a thread yields before it sleeps, on a machine where a yield takes as long as the test
//! says: over a futex with a clock of the test's own, on one thread.

#![allow(missing_docs)]

#[macro_use]
#[path = "../common/small_locks.rs"]
mod small_locks;

use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leeward::futex::{Changed, Deadline, Futex, Timeout, Wait, WakeOp};
use leeward::raw;
use small_locks::SmallLock;

thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// How long a yield takes.
    static YIELD: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    /// True if the thread runs in real time.
    static REAL_TIME: Cell<bool> = const { Cell::new(false) };
    static YIELDS: Cell<u32> = const { Cell::new(0) };
    /// What happens at the next sleep, which ends it.
    static SLEEP: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

#[derive(Debug)]
enum Timed {}

// SAFETY: the words are one thread's; a sleep is over when its deadline has come, or others have
// ended it.
unsafe impl Futex for Timed {
    const SHARED: bool = false;

    fn wait(_: &AtomicU32, _: u32, timeout: Timeout) -> Wait {
        if let Some(deadline) = timeout.deadline() {
            NOW.set(NOW.get().max(deadline.since_beginning()));
            return Wait::TimedOut;
        }
        let sleep = SLEEP.take();
        sleep.expect("the thread slept a second time")();
        Wait::Woken
    }

    fn wake(_: *const AtomicU32, _: u32) -> u32 {
        0
    }

    unsafe fn requeue(_: *const AtomicU32, _: u32, _: u32, _: *const AtomicU32, _: u32) -> Result<u32, Changed> {
        Err(Changed)
    }

    unsafe fn wake_op(_: *const AtomicU32, _: u32, on: *const AtomicU32, op: WakeOp, _: u32) -> u32 {
        // SAFETY: the caller's promise.
        op.apply_to(unsafe { &*on });
        0
    }

    fn yield_now() {
        YIELDS.set(YIELDS.get() + 1);
        NOW.set(NOW.get() + YIELD.get());
    }

    fn yields_to_all() -> bool {
        !REAL_TIME.get()
    }

    fn now() -> Deadline {
        Deadline::at(NOW.get())
    }
}

/// Runs the tests one after the other, each in a time of its own: what one learns about the machine
/// does not reach another.
fn machine(start: u64, each_yield: Duration) -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    NOW.set(Duration::from_secs(1_000_000 * start));
    YIELD.set(each_yield);
    turn
}

/// Returns how often a wait yields.
fn yields(wait: impl FnOnce()) -> u32 {
    YIELDS.set(0);
    wait();
    YIELDS.get()
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn at_the_sleep(work: impl FnOnce() + 'static) {
    SLEEP.set(Some(Box::new(work)));
}

/// A wait that ends at a deadline, or else by what happens while it sleeps.
type Timing = fn(Option<Deadline>);

fn mutex(deadline: Option<Deadline>) {
    let lock = leak(raw::Mutex::<Timed>::new_in());
    lock.lock();
    match deadline {
        Some(deadline) => assert!(!lock.try_lock_until(deadline)),
        None => {
            // SAFETY: locked above.
            at_the_sleep(move || unsafe { lock.unlock() });
            lock.lock();
        }
    }
}

fn reader(deadline: Option<Deadline>) {
    let lock = leak(raw::RwLock::<Timed>::new_in());
    lock.lock_exclusive();
    match deadline {
        Some(deadline) => assert!(!lock.lock_shared_until(deadline)),
        None => {
            // SAFETY: locked above.
            at_the_sleep(move || unsafe { lock.unlock_exclusive() });
            lock.lock_shared();
        }
    }
}

fn writer(deadline: Option<Deadline>) {
    let lock = leak(raw::RwLock::<Timed>::new_in());
    lock.lock_shared();
    match deadline {
        Some(deadline) => assert!(!lock.lock_exclusive_until(deadline)),
        None => {
            // SAFETY: locked above.
            at_the_sleep(move || unsafe { lock.unlock_shared() });
            lock.lock_exclusive();
        }
    }
}

fn small<L: SmallLock>(deadline: Option<Deadline>) {
    let lock = leak(L::NEW);
    match deadline {
        Some(deadline) => assert!(!lock.wait_until(deadline)),
        None => {
            at_the_sleep(move || lock.let_go());
            lock.wait();
        }
    }
}

fn barrier(deadline: Option<Deadline>) {
    let barrier = leak(raw::Barrier::<Timed>::new_in(2));
    match deadline {
        Some(deadline) => assert!(barrier.wait_until(deadline).is_none()),
        None => {
            at_the_sleep(move || {
                barrier.wait();
            });
            barrier.wait();
        }
    }
}

fn condvar(deadline: Option<Deadline>) {
    let (lock, condvar) = leak((raw::Mutex::<Timed>::new_in(), raw::Condvar::<raw::Requeue, Timed>::new_in()));
    lock.lock();
    if deadline.is_none() {
        at_the_sleep(move || assert!(condvar.notify_one()));
    }
    // SAFETY: locked above.
    let notified = unsafe { condvar.wait(lock, deadline.map_or(Timeout::Never, Timeout::At)) };
    assert_eq!(notified, deadline.is_none());
}

macro_rules! small {
    ($($name:ident: $lock:ident $row:tt)*) => {
        /// The waits for the small locks, and whether each waits as for an event.
        const SMALL: &[(Timing, bool)] = &[$((small::<raw::$lock<Timed>>, <raw::$lock>::IS_EVENT)),*];
    };
}
for_each_small_lock! { small }

fn small_locks(are_events: bool) -> impl Iterator<Item = Timing> {
    SMALL.iter().filter_map(move |&(wait, is_event)| (is_event == are_events).then_some(wait))
}

fn locks() -> impl Iterator<Item = Timing> {
    [mutex as Timing, reader, writer].into_iter().chain(small_locks(false))
}

fn all_but_condvar() -> impl Iterator<Item = Timing> {
    locks().chain(small_locks(true)).chain([barrier as Timing])
}

fn events() -> impl Iterator<Item = Timing> {
    small_locks(true).chain([barrier as Timing, condvar])
}

fn all() -> impl Iterator<Item = Timing> {
    locks().chain(events())
}

/// Returns a deadline that is `time` away.
fn after(time: Duration) -> Option<Deadline> {
    Some(Deadline::at(NOW.get() + time))
}

/// Where no other thread wants the processor: what the other tests are compared with.
#[test]
fn yields_that_take_no_time_are_all_made() {
    let _machine = machine(1, Duration::ZERO);
    // The waiter of a condition variable waits for a hand-over, for which a few yields are enough.
    for (wait, most) in all_but_condvar().map(|wait| (wait, 15)).chain([(condvar as Timing, 4)]) {
        assert_eq!(yields(|| wait(None)), most);
        assert_eq!(yields(|| wait(after(Duration::from_secs(1)))), most);
    }
}

#[test]
fn a_yield_that_takes_a_time_slice_is_the_last() {
    let _machine = machine(2, Duration::from_millis(4));
    for wait in events() {
        assert_eq!(yields(|| wait(None)), 1);
        // (Longer than the machine may count as busy.)
        NOW.set(NOW.get() + Duration::from_secs(10));
    }
    for wait in all() {
        assert_eq!(yields(|| wait(after(Duration::from_secs(1)))), 1);
        NOW.set(NOW.get() + Duration::from_secs(10));
    }
    // Without a deadline the threads that have the processor may be using this very lock.
    for wait in locks() {
        assert_eq!(yields(|| wait(None)), 15);
    }
}

#[test]
fn yields_end_when_they_have_taken_20_microseconds_together() {
    let _machine = machine(3, Duration::from_micros(3));
    for wait in all_but_condvar() {
        assert_eq!(yields(|| wait(after(Duration::from_secs(1)))), 7);
    }
    for wait in small_locks(true).chain([barrier as Timing]) {
        assert_eq!(yields(|| wait(None)), 7);
    }
    assert_eq!(yields(|| condvar(None)), 4);
}

#[test]
fn a_wait_whose_deadline_is_near_does_not_yield() {
    let _machine = machine(4, Duration::ZERO);
    for wait in all() {
        for near in [Duration::ZERO, Duration::from_millis(5), Duration::from_millis(99)] {
            assert_eq!(yields(|| wait(after(near))), 0);
        }
        assert_ne!(yields(|| wait(after(Duration::from_millis(101)))), 0);
    }
}

#[test]
fn after_a_yield_that_took_a_time_slice_no_wait_for_an_event_yields_for_a_while() {
    for (number, first) in events().enumerate() {
        let _machine = machine(10 + number as u64, Duration::from_millis(4));
        assert_eq!(yields(|| first(None)), 1);
        for wait in events() {
            assert_eq!(yields(|| wait(None)), 0, "others wanted the processor a moment ago");
        }
        NOW.set(NOW.get() + Duration::from_millis(51));
        assert_eq!(yields(|| first(None)), 1, "others may want it no more");
        NOW.set(NOW.get() + Duration::from_millis(51));
        assert_eq!(yields(|| first(None)), 0, "the second time, the while is twice as long");
        for wait in locks() {
            assert_eq!(yields(|| wait(None)), 15, "those that have the processor may be using this lock");
        }
    }
}

#[test]
fn a_thread_whose_yields_let_no_other_run_yields_once() {
    let _machine = machine(5, Duration::ZERO);
    REAL_TIME.set(true);
    for wait in all() {
        assert_eq!(yields(|| wait(None)), 1);
    }
}

/// The kernel says so, where this process may make a thread a real-time one.
#[test]
#[cfg(target_os = "linux")]
fn real_time_threads_know_it() {
    let schedule = |policy: libc::c_int, level: libc::c_int| {
        let parameters = libc::sched_param { sched_priority: level };
        // SAFETY: the calling thread, and parameters of ours.
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameters) == 0 }
    };
    let thread = std::thread::spawn(move || {
        assert!(<leeward::futex::Private as Futex>::yields_to_all());
        for policy in [libc::SCHED_FIFO, libc::SCHED_RR, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK] {
            if !schedule(policy, 1) {
                println!("skipped: no real-time threads for this process");
                return;
            }
            assert!(!<leeward::futex::Private as Futex>::yields_to_all());
        }
        assert!(schedule(libc::SCHED_BATCH, 0));
        assert!(<leeward::futex::Private as Futex>::yields_to_all());
    });
    thread.join().unwrap();
}
