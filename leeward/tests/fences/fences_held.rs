//! Callers that share heavy fences, stepped: a filter of system calls stops each membarrier on its
//! way into the kernel, so that others come in the middle of a fence. Each case is a process of its
//! own: this program, started again.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/cases.rs"]
mod cases;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;
#[path = "../common/seccomp.rs"]
mod seccomp;

use cases::passes;
use common::*;
use processes::{child, status_of};
use seccomp::{Action, Rule, When, answer_by, let_through, refuse};

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use leeward::fence::{self, Error, Strategy};
use leeward::rcu::Reader;

const CALLERS: usize = 8;

/// The callers' numbers, as long as each calls; 0 else.
static CALLING: [AtomicI32; CALLERS] = [const { AtomicI32::new(0) }; CALLERS];
/// The number of membarriers that were made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Goes on once every other caller sleeps, or does not do so for a while.
fn until_others_sleep() {
    let me = number();
    // Relaxed: a stale number is seen at the next look.
    let is_awake = |caller: &AtomicI32| match caller.load(Ordering::Relaxed) {
        0 => false,
        other => other != me && !is_asleep(other),
    };
    for _ in 0..2_000 {
        if !CALLING.iter().any(is_awake) {
            return;
        }
        thread::sleep(Duration::from_micros(100));
    }
}

fn number() -> i32 {
    // SAFETY: has no precondition.
    unsafe { libc::gettid() }
}

/// Makes `answer` answer this process's membarriers from now on. Returns false, with a reason,
/// where that is impossible.
fn hold(answer: seccomp::Answer) -> bool {
    let is_possible = fence::force(Strategy::MembarrierPrivate).is_ok() && answer_by(libc::SYS_membarrier, answer);
    if !is_possible {
        println!("skipped: no membarrier here, or the registers of a trapped call are not known");
    }
    is_possible
}

leeward::rcu_domain! {
    /// A domain whose readers have forks watched.
    struct A;
}

/// How deep a thread's membarrier is in others.
static DEPTH: AtomicU64 = AtomicU64::new(0);

/// A signal handler that comes in the middle of its thread's fence, and needs one itself.
fn and_one_within(arguments: [i64; 3]) -> i64 {
    MADE.fetch_add(1, Ordering::Relaxed);
    if DEPTH.fetch_add(1, Ordering::Relaxed) == 0 {
        fence::heavy();
    }
    let_through(libc::SYS_membarrier, arguments)
}

fn a_handler() {
    if hold(and_one_within) {
        fence::heavy();
        assert_eq!(MADE.load(Ordering::Relaxed), 2, "the handler's fence is its own");
        // Nothing is left of either.
        fence::heavy();
        assert_eq!(MADE.load(Ordering::Relaxed), 3);
    }
}

static IS_HELD: AtomicBool = AtomicBool::new(false);
static MAY_GO: AtomicBool = AtomicBool::new(false);

/// Holds the first membarrier until it may go.
fn the_first_waits(arguments: [i64; 3]) -> i64 {
    if MADE.fetch_add(1, Ordering::Relaxed) == 0 {
        IS_HELD.store(true, Ordering::Relaxed);
        eventually("the fence may go", || MAY_GO.load(Ordering::Relaxed));
    }
    let_through(libc::SYS_membarrier, arguments)
}

/// Has another thread lead, which is held, and does `work` meanwhile.
fn while_one_leads(work: impl FnOnce()) {
    thread::scope(|scope| {
        scope.spawn(fence::heavy);
        let _go = Raise(&MAY_GO);
        eventually("another thread leads", || IS_HELD.load(Ordering::Relaxed));
        work();
    });
}

/// The child has not the thread that leads, and a copy of what that thread has said.
fn a_fork() {
    // Forks are watched from now on.
    drop(Reader::<A>::register_in());
    if hold(the_first_waits) {
        while_one_leads(|| {
            let child = child(|| {
                let before = fence::counters().membarrier_private;
                (0..3).for_each(|_| fence::heavy());
                fence::counters().membarrier_private == before + 3
            });
            assert_eq!(status_of(child), 0, "a fence of the child's");
        });
        fence::heavy();
    }
}

/// A leader that does not come back to its fence keeps nobody.
fn a_leader_that_is_stopped() {
    if hold(the_first_waits) {
        while_one_leads(|| {
            fence::heavy();
            // That fence has ended the number that is stopped, so this one is like any other.
            fence::heavy();
            assert_eq!(MADE.load(Ordering::Relaxed), 3);
        });
        fence::heavy();
        assert_eq!(MADE.load(Ordering::Relaxed), 4);
    }
}

static IS_REFUSED: AtomicBool = AtomicBool::new(true);

/// Refuses each membarrier, the first one when the others have come.
fn refused_later(arguments: [i64; 3]) -> i64 {
    if !IS_REFUSED.load(Ordering::Relaxed) {
        return let_through(libc::SYS_membarrier, arguments);
    }
    if MADE.fetch_add(1, Ordering::Relaxed) == 0 {
        until_others_sleep();
    }
    -i64::from(libc::EINVAL)
}

/// The leader and all that have joined it learn of the error.
fn an_error() {
    if !hold(refused_later) {
        return;
    }
    refuse(&[
        Rule::new(libc::SYS_rt_tgsigqueueinfo, When::Always, Action::Errno(libc::EPERM)),
        Rule::new(libc::SYS_sched_setaffinity, When::Always, Action::Errno(libc::EPERM)),
    ]);
    let barrier = Barrier::new(CALLERS);
    thread::scope(|scope| {
        for calling in &CALLING {
            let barrier = &barrier;
            scope.spawn(move || {
                calling.store(number(), Ordering::Relaxed);
                barrier.wait();
                assert_eq!(fence::try_heavy(), Err(Error::NoStrategy));
                calling.store(0, Ordering::Relaxed);
            });
        }
    });
    // What was refused leaves nothing behind.
    IS_REFUSED.store(false, Ordering::Relaxed);
    assert_eq!(fence::try_heavy(), Ok(()));
    assert_eq!(fence::try_heavy(), Ok(()));
}

macro_rules! in_processes_of_their_own {
    ($($test:ident: $case:ident)*) => {
        $(#[test]
        fn $test() {
            passes(stringify!($case));
        })*

        #[test]
        #[ignore = "started by the other tests"]
        fn case() {
            let _dog = Watchdog::new("a fence that is held");
            match cases::current().as_str() {
                $(stringify!($case) => $case(),)*
                other => panic!("no such case: {other}"),
            }
        }
    };
}

in_processes_of_their_own! {
    a_handler_within_its_threads_fence: a_handler
    a_fork_beside_a_fence: a_fork
    a_leader_that_is_stopped_keeps_nobody: a_leader_that_is_stopped
    an_error_reaches_all_that_have_joined: an_error
}
