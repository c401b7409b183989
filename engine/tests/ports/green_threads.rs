//! The example `green_threads`: futexes whose `park` suspends a green thread.

#![cfg(all(
    target_os = "linux",
    not(miri),
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#![allow(missing_docs)]

#[path = "../../examples/green_parts/host.rs"]
mod host;
#[path = "../../examples/green_parts/lock.rs"]
mod lock;
#[path = "../../examples/green_parts/scheduler.rs"]
mod scheduler;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use host::{Runtime, Scheduler};
use leeward_engine::Wait;
use lock::Lock;
use scheduler::{Pause, Report, Shared, Stuck};

/// Makes a green thread of a function that keeps nothing of its carrier across a wait.
fn spawn(scheduler: &Scheduler, function: impl FnOnce(&Runtime) + Send + 'static) -> usize {
    // SAFETY: the functions of these tests keep words, locks, counts and strings across a wait.
    unsafe { scheduler.spawn(function) }
}

#[test]
fn a_thousand_green_threads_on_two_carriers_exclude_one_another() {
    let scheduler = Scheduler::new();
    let shared = Arc::new((Lock::default(), AtomicU32::new(0)));
    for thread in 0..1_000 {
        let shared = Arc::clone(&shared);
        spawn(&scheduler, move |runtime| {
            let (lock, count) = &*shared;
            for round in 0..20 {
                let _guard = lock.lock(runtime);
                let before = count.load(SeqCst);
                if (thread + round) % 3 == 0 {
                    runtime.yield_now();
                }
                count.store(before + 1, SeqCst);
            }
        });
    }
    let report = scheduler.run(2).unwrap();
    assert_eq!(report.finished, 1_000);
    assert_eq!(shared.1.load(SeqCst), 20_000);
    assert_eq!(scheduler.runtime().waiting(), 0);
}

#[test]
fn a_carrier_never_sleeps_while_a_green_thread_is_ready() {
    let scheduler = Scheduler::new();
    let word = Arc::new(AtomicU32::new(0));
    for _ in 0..50 {
        let word = Arc::clone(&word);
        spawn(&scheduler, move |runtime| assert_eq!(runtime.wait(&word, 0, None), Wait::Woken));
    }
    // Always ready: the other fifty are parked meanwhile, and the only carrier runs this one.
    spawn(&scheduler, move |runtime| {
        for _ in 0..100 {
            runtime.yield_now();
        }
        assert_eq!(runtime.wake(&word, 100), 50);
    });
    assert_eq!(scheduler.run(1), Ok(Report { finished: 51, ..Report::default() }));
}

#[test]
fn an_unpark_before_the_park_ends_it_once() {
    let shared = Arc::new(Shared::default());
    let green = Arc::clone(&shared);
    let returned = Arc::new(AtomicU32::new(0));
    let returns = Arc::clone(&returned);
    let parks = move || {
        // As where a wake comes after the comparison, and before the thread is parked.
        green.unpark(green.current());
        green.suspend(Pause::Park(None));
        returns.fetch_add(1, SeqCst);
        green.suspend(Pause::Park(None));
        returns.fetch_add(1, SeqCst);
    };
    // SAFETY: the function keeps counts.
    unsafe { shared.spawn(parks) };
    shared.carry(0);
    assert_eq!(returned.load(SeqCst), 1);
    assert_eq!(shared.unwind_all(), 1);
}

#[test]
fn time_outs_come_in_the_order_of_their_times() {
    let scheduler = Scheduler::new();
    let ends = Arc::new(Mutex::new(Vec::new()));
    for at in [300, 100, 0, 200] {
        let ends = Arc::clone(&ends);
        spawn(&scheduler, move |runtime| {
            assert_eq!(runtime.wait(&AtomicU32::new(0), 0, Some(at)), Wait::TimedOut);
            assert_eq!(runtime.now(), at);
            ends.lock().unwrap().push(at);
        });
    }
    scheduler.run(2).unwrap();
    assert_eq!(*ends.lock().unwrap(), [0, 100, 200, 300]);
    assert_eq!(scheduler.runtime().waiting(), 0);
}

#[test]
fn a_wait_that_timed_out_eats_no_wake_and_one_that_was_woken_leaves_no_timer() {
    let scheduler = Scheduler::new();
    let word = Arc::new(AtomicU32::new(0));
    let wait = |until, end| {
        let word = Arc::clone(&word);
        spawn(&scheduler, move |runtime| assert_eq!(runtime.wait(&word, 0, until), end));
    };
    wait(Some(10), Wait::TimedOut);
    wait(Some(1_000), Wait::Woken);
    wait(Some(2_000), Wait::Woken);
    let waker = Arc::clone(&word);
    spawn(&scheduler, move |runtime| {
        assert_eq!(runtime.wait(&AtomicU32::new(0), 0, Some(20)), Wait::TimedOut);
        assert_eq!(runtime.wake(&waker, 9), 2);
    });
    assert_eq!(scheduler.run(1).unwrap().finished, 4);
    // The time did not go on to timers that were taken out.
    assert_eq!(scheduler.runtime().now(), 20);
}

#[test]
fn green_threads_are_woken_in_the_order_in_which_they_came() {
    let scheduler = Scheduler::new();
    let word = Arc::new(AtomicU32::new(0));
    let order = Arc::new(Mutex::new(Vec::new()));
    for thread in 0..9 {
        let (word, order) = (Arc::clone(&word), Arc::clone(&order));
        spawn(&scheduler, move |runtime| {
            assert_eq!(runtime.wait(&word, 0, None), Wait::Woken);
            order.lock().unwrap().push(thread);
        });
    }
    spawn(&scheduler, move |runtime| {
        for _ in 0..9 {
            assert_eq!(runtime.wake(&word, 1), 1);
            runtime.yield_now();
        }
    });
    scheduler.run(1).unwrap();
    assert!(order.lock().unwrap().iter().copied().eq(0..9));
}

#[inline(never)]
fn carrier() -> ThreadId {
    thread::current().id()
}

/// What the three green threads of the next test tell one another.
#[derive(Default)]
struct Places {
    word: AtomicU32,
    other_carrier_is_busy: AtomicBool,
    first_carrier_is_busy: AtomicBool,
    has_migrated: AtomicBool,
}

fn spin_until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        thread::yield_now();
    }
}

#[test]
fn a_green_thread_that_waits_goes_on_with_another_carrier() {
    let scheduler = Scheduler::new();
    let places = Arc::new(Places::default());
    let migrates = Arc::clone(&places);
    spawn(&scheduler, move |runtime| {
        spin_until(&migrates.other_carrier_is_busy);
        let before = carrier();
        let on_the_stack = AtomicU32::new(7);
        assert_eq!(runtime.wait(&migrates.word, 0, None), Wait::Woken);
        assert_ne!(carrier(), before);
        assert_eq!(on_the_stack.load(SeqCst), 7);
        migrates.has_migrated.store(true, SeqCst);
    });
    let other = Arc::clone(&places);
    spawn(&scheduler, move |_| {
        // Keeps the second carrier busy until the first has the third thread.
        other.other_carrier_is_busy.store(true, SeqCst);
        spin_until(&other.first_carrier_is_busy);
    });
    spawn(&scheduler, move |runtime| {
        places.first_carrier_is_busy.store(true, SeqCst);
        assert_eq!(runtime.wake(&places.word, 1), 1);
        // This carrier is the first one's, and is given back when that has gone on elsewhere.
        spin_until(&places.has_migrated);
    });
    let report = scheduler.run(2).unwrap();
    assert_eq!((report.finished, report.migrations), (3, 1));
}

/// Tells when it is dropped.
struct Dropped(Arc<AtomicU32>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_green_thread_that_is_cancelled_while_it_waits_is_taken_out_of_the_list() {
    let scheduler = Scheduler::new();
    let (word, dropped) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let wait = |end: Option<Wait>| {
        let (word, dropped) = (Arc::clone(&word), Dropped(Arc::clone(&dropped)));
        spawn(&scheduler, move |runtime| {
            let _dropped = dropped;
            assert_eq!(Some(runtime.wait(&word, 0, None)), end, "a cancelled wait does not return");
        })
    };
    let cancelled = wait(None);
    wait(Some(Wait::Woken));
    let waker = Arc::clone(&word);
    let drops = Arc::clone(&dropped);
    spawn(&scheduler, move |runtime| {
        assert_eq!(runtime.waiting(), 2);
        runtime.cancel(cancelled);
        runtime.yield_now();
        assert_eq!((runtime.waiting(), drops.load(SeqCst)), (1, 1));
        // The first in the queue is gone, and ate nothing.
        assert_eq!(runtime.wake(&waker, 1), 1);
    });
    let report = scheduler.run(1).unwrap();
    assert_eq!((report.finished, report.cancelled, report.panicked), (2, 1, 0));
    assert_eq!(dropped.load(SeqCst), 2);
}

#[test]
fn a_panic_ends_one_green_thread_and_its_guards_wake_the_others() {
    let scheduler = Scheduler::new();
    let lock = Arc::new(Lock::default());
    for thread in 0..3 {
        let lock = Arc::clone(&lock);
        spawn(&scheduler, move |runtime| {
            let _guard = lock.lock(runtime);
            runtime.yield_now();
            assert_ne!(thread, 0, "the first green thread panics while the others wait");
        });
    }
    let report = scheduler.run(2).unwrap();
    assert_eq!((report.finished, report.panicked), (2, 1));
    assert_eq!(scheduler.runtime().waiting(), 0);
}

#[test]
fn threads_that_nothing_wakes_are_told_and_unwound() {
    let scheduler = Scheduler::new();
    let dropped = Arc::new(AtomicU32::new(0));
    let lock = Arc::new(Lock::default());
    for _ in 0..5 {
        let (dropped, lock) = (Dropped(Arc::clone(&dropped)), Arc::clone(&lock));
        spawn(&scheduler, move |runtime| {
            let _dropped = dropped;
            // The first keeps the lock and sleeps; the others wait for it.
            let _guard = lock.lock(runtime);
            runtime.wait(&AtomicU32::new(0), 0, None);
            unreachable!("nothing wakes this wait");
        });
    }
    assert_eq!(scheduler.run(2), Err(Stuck(5)));
    assert_eq!(dropped.load(SeqCst), 5);
    assert_eq!(scheduler.runtime().waiting(), 0);
}

/// Waits and yields when it is dropped.
struct Waits<'a>(&'a Runtime, Arc<AtomicU32>);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        assert_eq!(self.0.wait(&AtomicU32::new(0), 0, None), Wait::Interrupted);
        self.0.yield_now();
        self.1.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_destructor_of_a_thread_that_unwinds_is_not_suspended() {
    let scheduler = Scheduler::new();
    let dropped = Arc::new(AtomicU32::new(0));
    let ends: [fn(&Runtime); 2] =
        [|runtime| _ = runtime.wait(&AtomicU32::new(0), 0, None), |_| panic!("this thread panics")];
    for end in ends {
        let dropped = Arc::clone(&dropped);
        spawn(&scheduler, move |runtime| {
            let _waits = Waits(runtime, dropped);
            end(runtime);
        });
    }
    assert_eq!(scheduler.run(2), Err(Stuck(1)));
    assert_eq!((dropped.load(SeqCst), scheduler.runtime().waiting()), (2, 0));
}

#[test]
fn a_scheduler_that_is_dropped_before_it_ran_drops_what_its_threads_own() {
    let dropped = Arc::new(AtomicU32::new(0));
    let scheduler = Scheduler::new();
    let owned = Dropped(Arc::clone(&dropped));
    spawn(&scheduler, move |_| drop(owned));
    drop(scheduler);
    assert_eq!(dropped.load(SeqCst), 1);
}
