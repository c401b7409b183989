//! Kernels that answer wrongly are found out: each scenario notices a lie about a call that it asks
//! for, and no scenario calls a kernel wrong that lacks an operation.

use std::sync::atomic::{AtomicUsize, Ordering};

use leeward_conform::linux::{Linux, apart_with};
use leeward_conform::{Answer, Errno, Scenario, Syscalls, Verdict, numbers, scenarios};

use crate::support::{each_scenario, shared_word};

/// Scenarios of more calls than these are lied to with `LEEWARD_LONG=1` alone: each lie may take seconds.
const MOST_CALLS: usize = 64;
/// How long a lie may keep a scenario, in seconds.
const SECONDS: u32 = 3;

/// What is said instead of the truth.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// The call is not made, and answered as if it had succeeded.
    NotMade,
    /// The call is made, and answered otherwise: an error for a success, and the reverse.
    Turned,
    /// The call is made, and answered by one more.
    OneMore,
}

const LIES: [Lie; 3] = [Lie::NotMade, Lie::Turned, Lie::OneMore];

/// Linux, but for one of the calls that a scenario asks for.
struct Liar {
    /// How many of these calls there were, in all processes of the scenario.
    calls: &'static AtomicUsize,
    /// Which of them is lied about, and how.
    lie: Option<(usize, Lie)>,
}

impl Syscalls for Liar {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        // SAFETY: the caller's promise.
        let call = || unsafe { Linux.call(number, arguments) };
        if !is_asked_for(number, &arguments) {
            return call();
        }
        let at = self.calls.fetch_add(1, Ordering::SeqCst);
        match self.lie.filter(|(which, _)| *which == at) {
            None => call(),
            Some((_, Lie::NotMade)) => 0,
            Some((_, Lie::Turned)) => {
                if call() < 0 {
                    0
                } else {
                    -(Errno::AGAIN.0 as isize)
                }
            }
            Some((_, Lie::OneMore)) => call() + 1,
        }
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn(body, argument) }
    }

    unsafe fn spawn_as(&self, flags: usize, words: [usize; 2], body: extern "C" fn(usize), argument: usize) -> Answer {
        // SAFETY: the caller's promise.
        let call = || unsafe { Linux.spawn_as(flags, words, body, argument) };
        let at = self.calls.fetch_add(1, Ordering::SeqCst);
        match self.lie.filter(|(which, _)| *which == at) {
            None => call(),
            Some((_, Lie::NotMade)) => Ok(0),
            Some((_, Lie::Turned)) => call().and(Err(Errno::AGAIN)),
            Some((_, Lie::OneMore)) => call().map(|number| number + 1),
        }
    }
}

/// Returns true for the calls whose answers scenarios compare.
fn is_asked_for(number: usize, arguments: &[usize; 6]) -> bool {
    const PR_FUTEX_HASH: usize = 78;
    if number == numbers::PRCTL {
        return arguments[0] == PR_FUTEX_HASH;
    }
    [
        numbers::FUTEX,
        numbers::FUTEX_WAITV,
        numbers::FUTEX_WAIT,
        numbers::FUTEX_WAKE,
        numbers::FUTEX_REQUEUE,
        numbers::SET_ROBUST_LIST,
        numbers::GET_ROBUST_LIST,
        numbers::MEMBARRIER,
        numbers::RSEQ,
        numbers::SET_TID_ADDRESS,
    ]
    .contains(&number)
}

/// What a liar asks: once, since a wrong answer is otherwise asked four times, and the lie is told once.
fn ask_once(scenario: &Scenario, calls: &'static AtomicUsize, lie: Option<(usize, Lie)>, rest: u64) -> Verdict {
    calls.store(0, Ordering::SeqCst);
    apart_with(scenario, &Liar { calls, lie }, SECONDS, &[rest])
}

#[test]
fn each_scenario_notices_a_lie() {
    let tries_all = std::env::var_os("LEEWARD_LONG").is_some();
    let (told, noticed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let names: Vec<_> = scenarios().map(|scenario| scenario.name).collect();
    each_scenario(|scenario| {
        // All of them take minutes.
        if !tries_all && names.iter().position(|name| *name == scenario.name).unwrap() % 8 != 0 {
            return Ok(());
        }
        let calls = shared_word();
        // The shortest rest with which the truth passes on this machine, as busy as it is.
        let passes = |rest: &u64| matches!(ask_once(scenario, calls, None, *rest), Verdict::Pass);
        let Some(rest) = [5_000, 50_000, 500_000].into_iter().find(passes) else {
            println!("{}: not tried: {:?}", scenario.name, ask_once(scenario, calls, None, 500_000));
            return Ok(());
        };
        let count = calls.load(Ordering::SeqCst);
        if !tries_all && count > MOST_CALLS {
            println!("{}: not tried: it makes {count} calls", scenario.name);
            return Ok(());
        }
        let mut is_noticed = false;
        for lie in LIES.into_iter().flat_map(|lie| (0..count).map(move |at| (at, lie))) {
            told.fetch_add(1, Ordering::Relaxed);
            // Twice, so that no accident counts.
            if (0..2).all(|_| matches!(ask_once(scenario, calls, Some(lie), rest), Verdict::Wrong(_))) {
                noticed.fetch_add(1, Ordering::Relaxed);
                is_noticed = true;
                if !tries_all {
                    break;
                }
            } else if tries_all {
                println!("{}: unnoticed: {lie:?} of {count}", scenario.name);
            }
        }
        if is_noticed { Ok(()) } else { Err(format!("none of the lies about its {count} calls is noticed")) }
    });
    println!("{noticed:?} of {told:?} lies were noticed");
}

/// Linux without some calls.
struct Without<F>(F);

impl<F: Fn(usize, &[usize; 6]) -> bool + Sync> Syscalls for Without<F> {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        if (self.0)(number, &arguments) {
            return -(Errno::NOSYS.0 as isize);
        }
        // SAFETY: the caller's promise.
        unsafe { Linux.call(number, arguments) }
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

/// Asserts that no scenario calls a kernel wrong that lacks these calls, and that some call them absent.
fn are_absent(what: &str, is_absent: impl Fn(usize, &[usize; 6]) -> bool + Sync) {
    let absent = AtomicUsize::new(0);
    let kernel = Without(is_absent);
    each_scenario(|scenario| match apart_with(scenario, &kernel, 10, &[1_000, 100_000, 1_000_000]) {
        Verdict::Wrong(text) => Err(format!("without {what}: wrong. {text}")),
        Verdict::Absent(_) => {
            absent.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        Verdict::Pass | Verdict::Unfit(_) => Ok(()),
    });
    println!("without {what}: {absent:?} absent");
}

#[test]
fn a_kernel_without_futexes_is_not_wrong() {
    are_absent("any of the calls", is_asked_for);
}

#[test]
fn a_kernel_without_one_operation_of_futex_is_not_wrong() {
    // Each of them asks all scenarios.
    let asks_all = std::env::var_os("LEEWARD_LONG").is_some();
    for operation in 0..=13 {
        // FUTEX_FD was taken out of Linux.
        if operation != 2 && (asks_all || [0, 1, 9].contains(&operation)) {
            are_absent(&format!("operation {operation} of futex"), |number, arguments| {
                number == numbers::FUTEX && arguments[1] & 0x7f == operation
            });
        }
    }
}

#[test]
fn a_kernel_without_one_call_is_not_wrong() {
    let calls = [
        numbers::FUTEX_WAITV,
        numbers::MEMBARRIER,
        numbers::SET_ROBUST_LIST,
        numbers::GET_ROBUST_LIST,
        numbers::FUTEX_WAIT,
        numbers::FUTEX_WAKE,
        numbers::FUTEX_REQUEUE,
        numbers::RSEQ,
        numbers::SET_TID_ADDRESS,
        numbers::PRCTL,
    ];
    let count = if std::env::var_os("LEEWARD_LONG").is_some() { calls.len() } else { 3 };
    for &call in &calls[..count] {
        are_absent(&format!("call {call}"), |number, _| number == call);
    }
}
