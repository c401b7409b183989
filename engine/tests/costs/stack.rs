//! How much of its caller's stack each operation takes: at most what the crate's documentation
//! says, in an optimized build; in this one a little more.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(missing_docs)]

#[path = "../common/crowd.rs"]
mod crowd;
#[path = "../common/painted.rs"]
mod painted;

use crowd::{LOCK, WAKE_OP, WORDS, engine, entries, in_millis, lot, waiting, waitv};
use leeward_engine::abi::Numbers;
use leeward_engine::{LockPi, Wait, WaitAny};
use painted::depth;

/// How many bytes the documentation states.
const SAID: usize = 2400;
/// A bound for an operation's frames in a build that is not optimized as much.
const MOST: usize = 2 * SAID;

fn wait_any() {
    let (engine, process) = engine();
    assert_eq!(engine.waitv(process, &mut entries(), in_millis(1)), Ok(WaitAny::TimedOut));
}

/// The system call for four words, whose waiters are on the stack.
fn wait_by_number() {
    let (engine, process) = engine();
    let numbers = Numbers::X86_64;
    waitv(4, |arguments| {
        let answer = engine.syscall(process, &numbers, numbers.futex_waitv, arguments);
        assert_eq!(answer, Some(-i64::from(libc::ETIMEDOUT)));
    });
}

#[test]
fn operations_take_so_much_of_the_stack_and_no_more() {
    let wait: fn() = || assert_eq!(lot().wait(&WORDS[0], 0, in_millis(5)), Wait::TimedOut);
    let wake: fn() = || assert_eq!(lot().wake(&WORDS[0], 1), 1);
    let wake_all: fn() = || assert_eq!(lot().wake(&WORDS[0], u32::MAX), 40);
    let requeue: fn() = || _ = lot().requeue(&WORDS[0], 0, 20, &WORDS[1], 20);
    let wake_op: fn() = || assert_eq!(lot().wake_op(&WORDS[0], 20, &WORDS[1], WAKE_OP, 20), 20);
    let lock: fn() = || assert_eq!(lot().lock_pi(&LOCK, in_millis(5)), Ok(LockPi::TimedOut));
    let exit: fn() = || assert_eq!(lot().exit_thread(), 0);
    assert_eq!(lot().lock_pi(&LOCK, None), Ok(LockPi::Acquired));
    let mut depths = Vec::new();
    for (name, operation, waiters) in [
        ("a wait that spins, sleeps and ends by time", wait, 0),
        ("a wake of one", wake, 1),
        ("a wake of forty", wake_all, 40),
        ("a requeue that wakes twenty and moves twenty", requeue, 40),
        ("wake-op", wake_op, 40),
        ("a wait for a lock that inherits", lock, 0),
        ("the telling of an exit", exit, 0),
    ] {
        let futures = waiting(waiters);
        depths.push((name, depth(operation)));
        drop(futures);
    }
    depths.push(("a wait on 128 words", depth(wait_any)));
    depths.push(("the system call for a wait on 4 words", depth(wait_by_number)));
    assert_eq!(lot().unlock_pi(&LOCK), Ok(()));
    for (name, depth) in &depths {
        println!("{depth:>6}  {name}");
    }
    assert!(depths.iter().all(|(_, depth)| *depth <= MOST), "{depths:?}");
}
