//! How much of its caller's stack each operation takes: at most what the crate's documentation
//! says, in an optimized build; in this one a little more.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(missing_docs)]

#[path = "common/painted.rs"]
mod painted;

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::task::{Context, Waker};

use leeward_engine::abi::Numbers;
use leeward_engine::parking::{ParkingLot, now};
use leeward_engine::{
    Arithmetic, Clock, Comparison, Deadline, LockPi, MOST_WORDS, Wait, WaitAny, WaitEntry, WakeOp, Word,
};
use painted::depth;

/// How many bytes the documentation states.
const SAID: usize = 2400;
/// A bound for an operation's frames in a build that is not optimized as much.
const MOST: usize = 2 * SAID;

static WORDS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
static LOCK: AtomicU32 = AtomicU32::new(0);

fn lot() -> &'static ParkingLot {
    static LOT: OnceLock<ParkingLot> = OnceLock::new();
    LOT.get_or_init(|| ParkingLot::new(4).unwrap())
}

fn in_millis(millis: u64) -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + millis * 1_000_000 })
}

type Waiting = Pin<Box<dyn Future<Output = Wait>>>;

fn waiting(count: usize) -> Vec<Waiting> {
    let mut futures: Vec<Waiting> = (0..count).map(|_| Box::pin(lot().wait_async(&WORDS[0], 0)) as Waiting).collect();
    for future in &mut futures {
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    futures
}

fn wait_any() {
    // SAFETY: the words live forever.
    let (engine, process) = unsafe { lot().parts() };
    let word = Word::private(WORDS[0].as_ptr().expose_provenance() as u64);
    let mut entries: Box<[_]> = (0..MOST_WORDS).map(|_| WaitEntry::new(word, 0)).collect();
    assert_eq!(engine.waitv(process, &mut entries, in_millis(1)), Ok(WaitAny::TimedOut));
}

/// The kernel's `struct futex_waitv`.
#[repr(C)]
struct Element {
    value: u64,
    address: u64,
    flags: u64,
}

/// The system call for four words, whose waiters are on the stack.
fn wait_by_number() {
    // SAFETY: the words live forever, the array and the time as long as the call.
    let (engine, process) = unsafe { lot().parts() };
    let address = WORDS[0].as_ptr().expose_provenance() as u64;
    let array: Box<[_]> = (0..4).map(|_| Element { value: 0, address, flags: 2 }).collect();
    let time = Box::new([0_u64; 2]);
    let at = [array.as_ptr().expose_provenance(), time.as_ptr().expose_provenance()].map(|at| at as u64);
    let arguments = [at[0], 4, 0, at[1], libc::CLOCK_MONOTONIC as u64, 0];
    let numbers = Numbers::X86_64;
    let answer = engine.syscall(process, &numbers, numbers.futex_waitv, arguments);
    assert_eq!(answer, Some(-i64::from(libc::ETIMEDOUT)));
}

#[test]
fn operations_take_so_much_of_the_stack_and_no_more() {
    let wait: fn() = || assert_eq!(lot().wait(&WORDS[0], 0, in_millis(5)), Wait::TimedOut);
    let wake: fn() = || assert_eq!(lot().wake(&WORDS[0], 1), 1);
    let wake_all: fn() = || assert_eq!(lot().wake(&WORDS[0], u32::MAX), 40);
    let requeue: fn() = || _ = lot().requeue(&WORDS[0], 0, 20, &WORDS[1], 20);
    let wake_op: fn() = || {
        let op = WakeOp { arithmetic: Arithmetic::Add, argument: 0, comparison: Some(Comparison::Equal), against: 0 };
        assert_eq!(lot().wake_op(&WORDS[0], 20, &WORDS[1], op, 20), 20);
    };
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
