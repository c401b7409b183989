//! Callers that need heavy fences at the same time share them: one caller's fence is held until all
//! others have asked for the next one and sleep, and all of them together cost two fences.
//!
//! The number of fences does not depend on time. A filter of system calls holds the first fence on
//! its way into the kernel, and takes the limit of 100 ms from the sleep of those that wait for
//! another's fence: on a busy machine the limit may pass, and each then issues a fence of its own
//! (`fences_held.rs`). Each case is a process of its own: this program, started again.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/seccomp.rs"]
mod seccomp;

use cases::passes;
use common::*;
use seccomp::{Action, Rule, When, answer_those_by, let_through, refuse};

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
use std::thread;

use leeward::asym::RwLock;
use leeward::fence::{self, Strategy};
use leeward::rcu::{Domain, Reader};

const CALLERS: usize = 8;

/// A thread that needs a fence, as another one sees it.
struct Caller {
    /// The thread's number; 0 before it calls.
    thread: AtomicI32,
    /// The address of the word on which it sleeps, or is about to; 0 for none.
    sleeps_on: AtomicI64,
}

/// The callers that come while the first one's fence is held.
static OTHERS: [Caller; CALLERS - 1] =
    [const { Caller { thread: AtomicI32::new(0), sleeps_on: AtomicI64::new(0) } }; CALLERS - 1];

thread_local! {
    static OWN: Cell<Option<&'static Caller>> = const { Cell::new(None) };
}

/// True until the next fence begins, which is held.
static IS_NEXT_HELD: AtomicBool = AtomicBool::new(false);
static IS_HELD: AtomicBool = AtomicBool::new(false);
static MAY_GO: AtomicBool = AtomicBool::new(false);

// Relaxed, here and below: flags and numbers that are looked at again until they are right, and
// counts that are read when the callers have ended.

/// Holds the fence that makes this call, if it is the one to be held.
fn hold() {
    if IS_NEXT_HELD.swap(false, Ordering::Relaxed) {
        IS_HELD.store(true, Ordering::Relaxed);
        eventually("the fence may go on", || MAY_GO.load(Ordering::Relaxed));
    }
}

fn held_membarrier(arguments: [i64; 3]) -> i64 {
    hold();
    let_through(libc::SYS_membarrier, arguments)
}

fn held_visit(arguments: [i64; 3]) -> i64 {
    hold();
    let_through(libc::SYS_sched_setaffinity, arguments)
}

/// Sleeps on a futex without the caller's time limit.
fn sleep_without_limit([word, _, expected]: [i64; 3]) -> i64 {
    let note = |word| OWN.get().inspect(|own| own.sleeps_on.store(word, Ordering::Relaxed));
    note(word);
    let no_limit: libc::c_long = 0;
    // Not the operation that is trapped.
    let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the call that was trapped, on the same word, without its time.
    let outcome = unsafe { libc::syscall(libc::SYS_futex, word, wait, expected, no_limit) };
    note(0);
    if outcome < 0 { -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap()) } else { outcome }
}

/// Chooses the strategy, and has its fences pass [`hold`]. Returns false, with a reason, where that
/// is impossible.
fn can_be_held(strategy: Strategy) -> bool {
    const SLEEP: libc::c_int = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    // Nothing but the sleep of a follower has a time limit: no thread's answer to a signal is
    // awaited.
    refuse(&[Rule::new(libc::SYS_rt_tgsigqueueinfo, When::Always, Action::Errno(libc::EPERM))]);
    let is_possible = fence::force(strategy).is_ok()
        && answer_those_by(&[
            (libc::SYS_membarrier, When::ArgumentIsNot(5, seccomp::LET_THROUGH), held_membarrier),
            (libc::SYS_sched_setaffinity, When::ArgumentIsNot(5, seccomp::LET_THROUGH), held_visit),
            (libc::SYS_futex, When::ArgumentIs(1, SLEEP as u32), sleep_without_limit),
        ]);
    if !is_possible {
        println!("skipped: no {strategy} here, or the registers of a trapped call are not known");
    }
    is_possible
}

/// Returns true if all others sleep on the same word.
fn others_sleep() -> bool {
    let word = OTHERS[0].sleeps_on.load(Ordering::Relaxed);
    // The word is looked at first: afterwards the caller sleeps nowhere else.
    let sleeps = |caller: &Caller| {
        caller.sleeps_on.load(Ordering::Relaxed) == word && is_asleep(caller.thread.load(Ordering::Relaxed))
    };
    word != 0 && OTHERS.iter().all(sleeps)
}

/// Has eight threads call, of which `first` leads until all others wait for the next fence. Demands
/// that they cost two fences.
fn must_share(first: usize, call: impl Fn(usize) + Sync) {
    OTHERS.iter().for_each(|other| other.thread.store(0, Ordering::Relaxed));
    IS_HELD.store(false, Ordering::Relaxed);
    MAY_GO.store(false, Ordering::Relaxed);
    IS_NEXT_HELD.store(true, Ordering::Relaxed);
    let issued = || fence::counters().total();
    let before = issued();
    thread::scope(|scope| {
        let call = &call;
        scope.spawn(move || call(first));
        let _go = Raise(&MAY_GO);
        eventually("the first caller leads", || IS_HELD.load(Ordering::Relaxed));
        for (caller, other) in (1..).zip(&OTHERS) {
            scope.spawn(move || {
                // SAFETY: has no precondition.
                other.thread.store(unsafe { libc::gettid() }, Ordering::Relaxed);
                OWN.set(Some(other));
                call((first + caller) % CALLERS);
            });
        }
        eventually("the others sleep until the next fence", others_sleep);
        assert_eq!(issued(), before, "a fence beside the one that is held");
    });
    assert_eq!(issued() - before, 2, "fences for {CALLERS} callers");
}

/// Declares eight domains, and the functions of each in a table.
macro_rules! domains {
    ($($name:ident)*) => {
        leeward::rcu_domain! { $(struct $name;)* }
        const SYNCHRONIZE: [fn(); CALLERS] = [$($name::synchronize),*];
        /// Returns how many heavy fences the domains have asked for.
        fn asked() -> u64 {
            [$($name::stats().heavy_fences),*].iter().sum()
        }
        /// Registers a reader with each: a domain without readers needs no fence.
        fn readers() -> impl Sized {
            ($(Reader::<$name>::register_in(),)*)
        }
    };
}

domains!(A B C D E F G H);

fn domains(strategy: Strategy) {
    let _readers = readers();
    if !can_be_held(strategy) {
        return;
    }
    for first in 0..CALLERS {
        let before = asked();
        must_share(first, |caller| SYNCHRONIZE[caller]());
        assert_eq!(asked() - before, CALLERS as u64, "each grace period needs one fence");
    }
}

fn locks(strategy: Strategy) {
    if !can_be_held(strategy) {
        return;
    }
    for first in 0..CALLERS {
        let locks: [_; CALLERS] = std::array::from_fn(|_| RwLock::new(0));
        // The first read opens a lock, and so the first write needs a fence.
        locks.iter().for_each(|lock| drop(lock.read()));
        must_share(first, |caller| *locks[caller].write() = 1);
    }
}

macro_rules! in_processes_of_their_own {
    ($($test:ident: $case:ident($strategy:ident))*) => {
        $(#[test]
        fn $test() {
            passes(stringify!($test));
        })*

        #[test]
        #[ignore = "started by the other tests"]
        fn case() {
            let _dog = Watchdog::new("a fence that is shared");
            match cases::current().as_str() {
                $(stringify!($test) => $case(Strategy::$strategy),)*
                other => panic!("no such case: {other}"),
            }
        }
    };
}

in_processes_of_their_own! {
    grace_periods_of_eight_domains_share_membarriers: domains(MembarrierPrivate)
    grace_periods_of_eight_domains_share_visits: domains(Signal)
    writers_of_eight_locks_share_membarriers: locks(MembarrierPrivate)
    writers_of_eight_locks_share_visits: locks(Signal)
}

/// A caller alone is served by a fence of its own each time.
#[test]
fn a_caller_alone() {
    fence::heavy();
    let before = fence::counters().total();
    (0..100).for_each(|_| fence::heavy());
    assert_eq!(fence::counters().total() - before, 100);
}
