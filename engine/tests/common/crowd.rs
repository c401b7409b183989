//! A parking lot, words of its, and tasks that wait there, for what calls take of the stack.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::task::{Context, Waker};

use leeward_engine::parking::{ParkingLot, Process, now};
use leeward_engine::{Arithmetic, Clock, Comparison, Deadline, Engine, MOST_WORDS, Wait, WaitEntry, WakeOp, Word};

pub static WORDS: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
/// A lock, which the test's thread holds.
pub static LOCK: AtomicU32 = AtomicU32::new(0);

pub const WAKE_OP: WakeOp =
    WakeOp { arithmetic: Arithmetic::Add, argument: 0, comparison: Some(Comparison::Equal), against: 0 };

pub fn lot() -> &'static ParkingLot {
    static LOT: OnceLock<ParkingLot> = OnceLock::new();
    LOT.get_or_init(|| ParkingLot::new(4).unwrap())
}

/// Returns the lot's engine and host.
pub fn engine() -> (&'static Engine<Process>, &'static Process) {
    // SAFETY: the words that tests name live as long as the calls.
    unsafe { lot().parts() }
}

pub fn word(word: &AtomicU32) -> Word {
    Word::private(word.as_ptr().expose_provenance() as u64)
}

pub fn in_millis(millis: u64) -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + millis * 1_000_000 })
}

/// Returns tasks that wait for the first word.
pub fn waiting(count: usize) -> Vec<Pin<Box<dyn Future<Output = Wait>>>> {
    let one = |_| Box::pin(lot().wait_async(&WORDS[0], 0)) as Pin<Box<dyn Future<Output = Wait>>>;
    let mut futures: Vec<_> = (0..count).map(one).collect();
    for future in &mut futures {
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    futures
}

/// Returns the entries of a wait for as many words as there may be.
pub fn entries() -> Box<[WaitEntry<Process>]> {
    (0..MOST_WORDS).map(|_| WaitEntry::new(word(&WORDS[0]), 0)).collect()
}

/// The kernel's `struct futex_waitv`.
#[repr(C)]
struct Element {
    value: u64,
    address: u64,
    flags: u64,
}

/// Calls `wait` with the arguments of `futex_waitv` for that many words, whose time is up.
pub fn waitv(count: usize, wait: impl FnOnce([u64; 6])) {
    let address = word(&WORDS[0]).address;
    let array: Box<[_]> = (0..count).map(|_| Element { value: 0, address, flags: 2 }).collect();
    let time = Box::new([0_u64; 2]);
    let at = [array.as_ptr().expose_provenance(), time.as_ptr().expose_provenance()].map(|at| at as u64);
    wait([at[0], count as u64, 0, at[1], libc::CLOCK_MONOTONIC as u64, 0]);
}
