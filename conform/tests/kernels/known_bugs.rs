//! Bugs that kernels were found to have, arranged on Linux: each is noticed, and the report says what
//! a reader needs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use leeward_conform::linux::{Linux, apart_with};
use leeward_conform::{Answer, Errno, Scenario, Syscalls, Verdict, ask_resting, numbers, scenarios};

use crate::support::each_scenario;

const FUTEX_WAIT: usize = 0;
const FUTEX_WAKE: usize = 1;
const FUTEX_REQUEUE: usize = 3;
const FUTEX_CMP_REQUEUE: usize = 4;
const FUTEX_PRIVATE: usize = 128;
const FUTEX_CLOCK_REALTIME: usize = 256;

/// What a kernel with a bug does with a call.
enum Does {
    /// What Linux does with these arguments.
    Calls([usize; 6]),
    /// Nothing but this answer.
    Answers(isize),
}

/// Linux with a bug.
struct Buggy<F>(F);

impl<F: Fn(usize, [usize; 6]) -> Does + Sync> Syscalls for Buggy<F> {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        match (self.0)(number, arguments) {
            // SAFETY: the caller's promise: bugs change no address.
            Does::Calls(arguments) => unsafe { Linux.call(number, arguments) },
            Does::Answers(answer) => answer,
        }
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn(body, argument) }
    }

    unsafe fn spawn_as(&self, flags: usize, words: [usize; 2], body: extern "C" fn(usize), argument: usize) -> Answer {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn_as(flags, words, body, argument) }
    }
}

/// Asks one scenario; a kernel that seems wrong is asked again with a longer rest.
fn ask(scenario: &Scenario, kernel: &dyn Syscalls) -> Verdict {
    apart_with(scenario, kernel, 3, &[1_000, 100_000])
}

fn find(name: &str) -> &'static Scenario {
    scenarios().find(|scenario| scenario.name == name).unwrap()
}

/// Returns the names of all scenarios that call a kernel wrong.
fn wrong_on(kernel: &dyn Syscalls) -> Vec<&'static str> {
    let wrong = Mutex::new(Vec::new());
    each_scenario(|scenario| {
        if matches!(ask(scenario, kernel), Verdict::Wrong(_)) {
            wrong.lock().unwrap().push(scenario.name);
        }
        Ok(())
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort_unstable();
    wrong
}

/// Returns the operation of `futex`, without its flags, or nothing for another call.
fn operation(number: usize, arguments: [usize; 6]) -> Option<usize> {
    (number == numbers::FUTEX).then_some(arguments[1] & 0x7f)
}

/// Asserts that some scenario of each of these operations calls the kernel wrong.
fn is_noticed(bug: &str, by: &[&str], does: impl Fn(usize, [usize; 6]) -> Does + Sync) {
    let wrong = wrong_on(&Buggy(does));
    println!("{bug}: {wrong:?}");
    for operation in by {
        let has_it = |name: &&str| name.split('.').next() == Some(operation);
        assert!(wrong.iter().any(has_it), "{bug}: no scenario of {operation} notices; {wrong:?}");
    }
}

#[test]
fn shared_words_treated_as_private() {
    is_noticed("shared treated as private", &["keys"], |number, mut arguments| {
        if number == numbers::FUTEX {
            arguments[1] |= FUTEX_PRIVATE;
        }
        Does::Calls(arguments)
    });
}

#[test]
fn private_words_treated_as_shared() {
    is_noticed("private treated as shared", &["keys"], |number, mut arguments| {
        if number == numbers::FUTEX {
            arguments[1] &= !FUTEX_PRIVATE;
        }
        Does::Calls(arguments)
    });
}

#[test]
fn one_clock_for_all_time_outs() {
    is_noticed("one clock", &["pi"], |number, mut arguments| {
        if number == numbers::FUTEX {
            arguments[1] &= !FUTEX_CLOCK_REALTIME;
        }
        Does::Calls(arguments)
    });
}

#[test]
fn robust_lists_are_taken_and_forgotten() {
    is_noticed("robust lists forgotten", &["robust"], |number, arguments| {
        if number == numbers::SET_ROBUST_LIST { Does::Answers(0) } else { Does::Calls(arguments) }
    });
}

#[test]
fn a_wake_wakes_all() {
    is_noticed("a wake wakes all", &["wait"], |number, mut arguments| {
        if operation(number, arguments) == Some(FUTEX_WAKE) {
            arguments[2] = i32::MAX as usize;
        }
        Does::Calls(arguments)
    });
}

#[test]
fn a_waiter_that_timed_out_eats_a_wake() {
    /// Waiters that left by a time-out, and are still thought to be there.
    static GHOSTS: AtomicUsize = AtomicUsize::new(0);
    let kernel = Buggy(|number, arguments| match operation(number, arguments) {
        Some(FUTEX_WAIT) => {
            // SAFETY: a scenario's call.
            let answer = unsafe { Linux.call(number, arguments) };
            if answer == -(Errno::TIMEDOUT.0 as isize) {
                GHOSTS.fetch_add(1, Ordering::SeqCst);
            }
            Does::Answers(answer)
        }
        Some(FUTEX_WAKE) if GHOSTS.swap(0, Ordering::SeqCst) != 0 => Does::Answers(1),
        _ => Does::Calls(arguments),
    });
    let verdict = ask(find("wait.who_timed_out_eats_no_wake"), &kernel);
    let Verdict::Wrong(text) = verdict else { panic!("{verdict:?}") };
    assert!(text.as_str().starts_with("it hangs; it was ended after 3 s."), "{text}");
}

#[test]
fn a_lost_wake_is_reported_with_what_was_done() {
    let kernel = Buggy(|number, arguments| match operation(number, arguments) {
        Some(FUTEX_WAKE) => Does::Answers(1),
        _ => Does::Calls(arguments),
    });
    let verdict = ask(find("wait.one_is_woken"), &kernel);
    let Verdict::Wrong(text) = verdict else { panic!("{verdict:?}") };
    let expected = "it hangs; it was ended after 3 s. What it was doing: waits for the end of the sleeper's call";
    assert_eq!(text.as_str(), expected);
}

#[test]
fn a_process_that_is_killed_is_reported_with_what_was_done() {
    let kernel = Buggy(|number, arguments| {
        if operation(number, arguments) == Some(FUTEX_WAKE) {
            // SAFETY: takes no argument.
            let process = unsafe { Linux.call(numbers::GETPID, [0; 6]) };
            // SAFETY: takes numbers; the signal is SIGABRT, for which this process has no handler.
            unsafe { Linux.call(numbers::KILL, [process as usize, 6, 0, 0, 0, 0]) };
        }
        Does::Calls(arguments)
    });
    let verdict = ask(find("wait.one_is_woken"), &kernel);
    let Verdict::Wrong(text) = verdict else { panic!("{verdict:?}") };
    let expected = "its process was killed by signal 6. What it was doing: wakes until the sleeper is woken";
    assert_eq!(text.as_str(), expected);
}

#[test]
fn a_kernel_without_threads_or_memory_is_not_wrong() {
    /// Linux without threads.
    struct NoThreads;
    impl Syscalls for NoThreads {
        unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
            // SAFETY: the caller's promise.
            unsafe { Linux.call(number, arguments) }
        }

        unsafe fn spawn(&self, _: extern "C" fn(usize), _: usize) -> Result<(), Errno> {
            Err(Errno::NOSYS)
        }
    }
    let verdict = ask_resting(find("wait.one_is_woken"), &NoThreads, &[1_000]);
    assert!(matches!(&verdict, Verdict::Unfit(text) if text.as_str() == "no thread: ENOSYS"), "{verdict:?}");
    let no_memory = Box::leak(Box::new(Buggy(|number, arguments| match number {
        numbers::MMAP => Does::Answers(-(Errno::NOMEM.0 as isize)),
        _ => Does::Calls(arguments),
    })));
    let verdict = ask_resting(find("wait.one_is_woken"), no_memory, &[1_000]);
    assert!(matches!(&verdict, Verdict::Unfit(text) if text.as_str().ends_with("ENOMEM")), "{verdict:?}");
}

#[test]
fn a_kernel_without_nanosleep_is_asked_all_the_same() {
    let kernel = Buggy(|number, arguments| match number {
        numbers::NANOSLEEP | numbers::SCHED_YIELD => Does::Answers(-(Errno::NOSYS.0 as isize)),
        _ => Does::Calls(arguments),
    });
    for scenario in scenarios().filter(|scenario| scenario.operation() == "wait") {
        let verdict = apart_with(scenario, &kernel, 10, &[1_000, 10_000, 100_000]);
        assert!(matches!(verdict, Verdict::Pass), "{}: {verdict:?}", scenario.name);
    }
}

#[test]
fn a_wait_for_many_words_looks_at_64() {
    let kernel = Buggy(|number, mut arguments: [usize; 6]| {
        if number == numbers::FUTEX_WAITV {
            arguments[1] = arguments[1].min(64);
        }
        Does::Calls(arguments)
    });
    let verdict = ask(find("crowds.of_words_have_a_last_one"), &kernel);
    match verdict {
        Verdict::Absent(_) => println!("not asked: futex_waitv is absent"),
        Verdict::Wrong(text) => assert!(text.as_str().contains("FUTEX_WAKE of entry 64 answered 0"), "{text}"),
        verdict => panic!("{verdict:?}"),
    }
}

/// Where a time is up before the call that is asked about, the scenario is unfit: the kernel is not wrong.
#[test]
fn a_kernel_that_is_slow_to_move_is_not_wrong() {
    let kernel = Buggy(|number, arguments| {
        if operation(number, arguments).is_some_and(|operation| matches!(operation, FUTEX_REQUEUE | FUTEX_CMP_REQUEUE))
        {
            std::thread::sleep(std::time::Duration::from_millis(600));
        }
        Does::Calls(arguments)
    });
    for name in [
        "requeue.others_stay_when_one_leaves",
        "requeue.time_is_up_after_the_move",
        "cmp_requeue.time_is_up_after_the_move",
    ] {
        let verdict = apart_with(find(name), &kernel, 20, &[1_000]);
        assert!(matches!(verdict, Verdict::Pass | Verdict::Unfit(_)), "{name}: {verdict:?}");
    }
}
