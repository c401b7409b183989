//! Models of callers that share heavy fences, under loom. `ci/model` runs them, and demands that
//! the mutants which it lists die.
//!
//! A fence is played here by a full fence of its issuer and a look at what each caller did before
//! its call: a fence that reaches all threads covers exactly what such a look sees. So a caller
//! that is served by a fence that may have missed it is an assertion that fails; a lost wake-up is
//! a deadlock, which loom reports. The patience of followers never ends, since time does not pass.

use core::sync::atomic::Ordering::Relaxed;

use super::{Combiner, State};
use crate::atomic::{AtomicU32, Ordering, fence};
use crate::models::{self, together};

/// The callers of a model, at most.
const CALLERS: usize = 3;

struct Fences {
    combiner: Combiner,
    /// What each caller does before its call: its word is 1 then.
    done: [AtomicU32; CALLERS],
    /// What fences have seen of these words.
    covered: [AtomicU32; CALLERS],
    /// The number of fences that are still to be refused.
    to_fail: AtomicU32,
}

loom::lazy_static! {
    static ref FENCES: Fences = Fences {
        combiner: Combiner::new(),
        done: core::array::from_fn(|_| AtomicU32::new(0)),
        covered: core::array::from_fn(|_| AtomicU32::new(0)),
        to_fail: AtomicU32::new(0),
    };
}

/// Explores `model` in the schedules with up to `preemptions` preemptions, where `fail` fences (0
/// or 1) are refused.
fn explore(preemptions: usize, fail: u32, model: fn()) {
    fn set_up() {
        let _ = &*FENCES;
        fence(Ordering::SeqCst);
        crate::futex::wake(&AtomicU32::new(0), 1);
    }
    models::explore(preemptions, set_up, move || {
        // Relaxed: before there is a second thread.
        FENCES.to_fail.store(fail, Relaxed);
        model();
    });
}

/// Executes a fence, or refuses to.
fn issue() -> Result<(), ()> {
    // Relaxed: which fence fails matters to no other.
    if FENCES.to_fail.compare_exchange(1, 0, Relaxed, Relaxed).is_ok() {
        return Err(());
    }
    for (done, covered) in FENCES.done.iter().zip(&FENCES.covered) {
        // Relaxed, both: ordered by the combiner, which is what the model is about.
        if done.load(Relaxed) != 0 {
            covered.store(1, Relaxed);
        }
    }
    Ok(())
}

/// Calls, and looks whether a fence that started after the call's beginning has covered it.
fn call(caller: usize, issue: impl FnOnce() -> Result<(), ()>) -> Result<(), ()> {
    // Relaxed: the combiner's fences order it.
    FENCES.done[caller].store(1, Relaxed);
    let outcome = FENCES.combiner.run(issue);
    // Relaxed: as above.
    if outcome.is_ok() {
        assert_eq!(FENCES.covered[caller].load(Relaxed), 1, "a caller was not covered by a fence");
    }
    outcome
}

fn calls<const CALLER: usize>() {
    call(CALLER, issue).unwrap();
}

#[test]
fn two_callers() {
    explore(3, 0, || together([calls::<0>, calls::<1>]));
}

/// One thread calls twice, so that its second fence may serve the other's call: with two calls in
/// all, each caller that comes second leads.
#[test]
fn a_caller_that_another_serves() {
    fn twice() {
        calls::<0>();
        calls::<2>();
    }
    explore(3, 0, || together([twice, calls::<1>]));
}

#[test]
fn three_callers() {
    explore(1, 0, || together([calls::<0>, calls::<1>, calls::<2>]));
}

/// Two callers sleep for the same fence, of which one is woken to issue it and must wake the other.
/// What fences cover is not looked at, so that there are fewer schedules.
#[test]
fn two_who_sleep_for_one_fence() {
    fn call() {
        let issue = || {
            fence(Ordering::SeqCst);
            Ok::<(), ()>(())
        };
        FENCES.combiner.run(issue).unwrap();
    }
    explore(2, 0, || together([call, call, call]));
}

/// A signal handler interrupts a leader, on the leader's thread, and calls.
#[test]
fn a_handler_within_the_lead() {
    fn interrupted() {
        let handler = || {
            calls::<1>();
            issue()
        };
        call(0, handler).unwrap();
    }
    explore(2, 0, || together([interrupted, calls::<2>]));
}

/// A leader whose fence is refused leaves its number to its followers.
#[test]
fn a_fence_that_is_refused() {
    fn may_be_refused<const CALLER: usize>() {
        let _ = call(CALLER, issue);
    }
    explore(3, 1, || {
        together([may_be_refused::<0>, may_be_refused::<1>]);
        // The number that was left is ended by the next fence.
        calls::<2>();
        // Relaxed: all other threads have ended.
        assert!(!State(FENCES.combiner.state.load(Relaxed)).runs());
    });
}
