//! Kernels that are right, and unlike the Linux of a desk: one that is slow, and one that takes no processor away
//! from a thread. No scenario calls them wrong.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leeward_conform::linux::{Linux, apart_with};
use leeward_conform::{Errno, Syscalls, Verdict, numbers, scenarios};

use crate::support::each_scenario;

/// Linux whose wakes take long.
struct Slow;

impl Syscalls for Slow {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        if number == numbers::FUTEX && arguments[1] & 0x7f == 1 {
            std::thread::sleep(Duration::from_millis(700));
        }
        // SAFETY: the caller's promise.
        unsafe { Linux.call(number, arguments) }
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn(body, argument) }
    }
}

#[test]
fn a_kernel_that_is_slow_and_goes_on_does_not_hang() {
    let scenario = scenarios().find(|scenario| scenario.name == "wake.first_in_first_out").unwrap();
    // Five wakes take longer than the two seconds that one step may.
    let verdict = apart_with(scenario, &Slow, 2, &[100_000]);
    assert!(matches!(verdict, Verdict::Pass), "{verdict:?}");
}

/// Where processors have much to do, a call that waits for all of them takes seconds.
#[test]
fn a_kernel_that_waits_for_all_processors_does_not_hang() {
    /// Linux whose registrations for barriers, and whose tables of 1024 slots, take long.
    struct Waiting;
    impl Syscalls for Waiting {
        unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
            const REGISTER_RSEQ: usize = 1 << 8;
            const PR_FUTEX_HASH: usize = 78;
            let is_table = number == numbers::PRCTL && arguments[0] == PR_FUTEX_HASH && arguments[2] == 1024;
            if is_table || number == numbers::MEMBARRIER && arguments[0] == REGISTER_RSEQ {
                std::thread::sleep(Duration::from_secs(3));
            }
            // SAFETY: the caller's promise.
            unsafe { Linux.call(number, arguments) }
        }

        unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
            // SAFETY: the caller's promise.
            unsafe { Linux.spawn(body, argument) }
        }
    }
    for name in ["membarrier.one_processor_of_rseq", "futex_hash.size_is_told"] {
        let scenario = scenarios().find(|scenario| scenario.name == name).unwrap();
        let verdict = apart_with(scenario, &Waiting, 1, &[1_000]);
        assert!(matches!(verdict, Verdict::Pass | Verdict::Absent(_)), "{name}: {verdict:?}");
    }
}

#[test]
fn a_kernel_that_comes_back_to_one_step_for_ever_hangs() {
    /// Linux, where the time of a wait never comes.
    struct Endless;
    impl Syscalls for Endless {
        unsafe fn call(&self, number: usize, mut arguments: [usize; 6]) -> isize {
            if number == numbers::FUTEX && arguments[1] & 0x7f == 0 {
                arguments[3] = 0;
            }
            // SAFETY: the caller's promise.
            unsafe { Linux.call(number, arguments) }
        }

        unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
            // SAFETY: the caller's promise.
            unsafe { Linux.spawn(body, argument) }
        }
    }
    // It stops a child again and again, until the child's time is up.
    let scenario = scenarios().find(|scenario| scenario.name == "stops.time_runs_on").unwrap();
    let verdict = apart_with(scenario, &Endless, 2, &[1_000]);
    assert!(matches!(verdict, Verdict::Wrong(text) if text.as_str().starts_with("it hangs")), "{verdict:?}");
}

/// Linux, on which one thread of a process runs at a time, until it waits, yields or ends.
///
/// Threads of scenarios have no thread-local storage of their own: they are told apart by their numbers.
struct Cooperative;

/// The number of the thread that runs, the next ticket, and the ticket whose turn it is.
static RUNS: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicUsize = AtomicUsize::new(0);
static TURN: AtomicUsize = AtomicUsize::new(0);

/// What threads were started with.
static BODIES: [[AtomicUsize; 2]; 1024] = [const { [const { AtomicUsize::new(0) }; 2] }; 1024];
static STARTED: AtomicUsize = AtomicUsize::new(0);

fn plain(number: usize) -> usize {
    // SAFETY: a call without arguments.
    (unsafe { Linux.call(number, [0; 6]) }) as usize
}

/// Waits for the turn of the calling thread.
fn take() {
    let ticket = NEXT.fetch_add(1, Ordering::SeqCst);
    while TURN.load(Ordering::SeqCst) != ticket {
        plain(numbers::SCHED_YIELD);
    }
    RUNS.store(plain(numbers::GETTID), Ordering::SeqCst);
}

fn give() {
    RUNS.store(0, Ordering::SeqCst);
    TURN.fetch_add(1, Ordering::SeqCst);
}

/// Returns what a wait answers that does not sleep, or nothing: a kernel goes on with its thread then. It is asked with
/// a time that is up.
fn without_sleep(number: usize, mut arguments: [usize; 6]) -> Option<isize> {
    static PAST: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    if number != numbers::FUTEX_WAITV && (number != numbers::FUTEX || ![0, 9].contains(&(arguments[1] & 0x7f))) {
        return None;
    }
    arguments[3] = (&raw const PAST).expose_provenance();
    // SAFETY: the caller's call, with a time that is up.
    let answered = unsafe { Linux.call(number, arguments) };
    (answered != -(Errno::TIMEDOUT.0 as isize)).then_some(answered)
}

/// Returns true for the calls in which a thread may wait, or after which it runs no more.
fn lets_others_run(number: usize, operation: usize) -> bool {
    const WAITS: [usize; 5] = [0, 6, 9, 11, 13];
    match number {
        numbers::FUTEX => WAITS.contains(&(operation & 0x7f)),
        numbers::FUTEX_WAITV | numbers::FUTEX_WAIT | numbers::NANOSLEEP | numbers::SCHED_YIELD => true,
        numbers::WAIT4 | numbers::EXIT => true,
        _ => false,
    }
}

extern "C" fn in_turn(at: usize) {
    take();
    let [body, argument] = [0, 1].map(|which| BODIES[at][which].load(Ordering::SeqCst));
    // SAFETY: `spawn` stored a function of this type.
    let body = unsafe {
        std::mem::transmute::<*const (), extern "C" fn(usize)>(std::ptr::with_exposed_provenance::<()>(body))
    };
    body(argument);
    give();
}

impl Syscalls for Cooperative {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        if NEXT.load(Ordering::SeqCst) == 0 {
            // The first thread, before there is another.
            take();
        }
        // A handler may run on a thread whose turn it is not.
        if number == numbers::SCHED_SETSCHEDULER {
            return -(Errno::NOSYS.0 as isize);
        }
        match without_sleep(number, arguments) {
            Some(woken @ 0..) => return woken,
            // An error. With its own time the call may have another one.
            // SAFETY: the caller's promise.
            Some(_) => return unsafe { Linux.call(number, arguments) },
            None => {}
        }
        let gives = lets_others_run(number, arguments[1]) && RUNS.load(Ordering::SeqCst) == plain(numbers::GETTID);
        if gives {
            give();
        }
        // SAFETY: the caller's promise.
        let answered = unsafe { Linux.call(number, arguments) };
        if gives {
            take();
        }
        if number == numbers::CLONE && answered == 0 {
            // A child has one thread, whose turn it is.
            NEXT.store(TURN.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
            RUNS.store(plain(numbers::GETTID), Ordering::SeqCst);
        }
        answered
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        let at = STARTED.fetch_add(1, Ordering::SeqCst);
        BODIES[at][0].store(body as usize, Ordering::SeqCst);
        BODIES[at][1].store(argument, Ordering::SeqCst);
        // SAFETY: the caller's promise; the number is a place of this file's.
        unsafe { Linux.spawn(in_turn, at) }
    }
}

#[test]
fn a_kernel_that_takes_no_processor_away_is_not_wrong() {
    each_scenario(|scenario| match apart_with(scenario, &Cooperative, 20, &[1_000, 30_000, 300_000]) {
        Verdict::Wrong(text) => Err(format!("wrong. {text}")),
        _ => Ok(()),
    });
}

/// A thread that has not come to its wait when a signal comes sleeps on after it.
#[test]
fn a_thread_that_comes_late_to_its_wait_does_not_hang() {
    /// Linux whose waits until a time begin late.
    struct Late;
    impl Syscalls for Late {
        unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
            if number == numbers::FUTEX && arguments[1] & 0x7f == 9 {
                std::thread::sleep(Duration::from_millis(150));
            }
            // SAFETY: the caller's promise.
            unsafe { Linux.call(number, arguments) }
        }

        unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
            // SAFETY: the caller's promise.
            unsafe { Linux.spawn(body, argument) }
        }
    }
    let scenario = scenarios().find(|scenario| scenario.name == "signals.handler_ends_a_wait_until_a_time").unwrap();
    let verdict = apart_with(scenario, &Late, 2, leeward_conform::RESTS);
    assert!(matches!(verdict, Verdict::Pass), "{verdict:?}");
}
