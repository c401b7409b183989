//! Violations, of which the torture records the first one. Usable in signal handlers.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use leeward::rcu::Stall;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Kind {
    ReadAfterFree = 1,
    FreedTwice,
    RetiredTwice,
    BarrierEarly,
    CookieTakenBack,
    LostWake,
    Stalled,
    ChildStuck,
    ChildFailed,
    Panicked,
    NotDrained,
    NotFreed,
    Leaked,
    SlotLost,
    LeakForgotten,
    OverLimit,
    Hangs,
    #[cfg_attr(not(feature = "c"), allow(dead_code))]
    Refused,
}

const KINDS: [Kind; 18] = [
    Kind::ReadAfterFree,
    Kind::FreedTwice,
    Kind::RetiredTwice,
    Kind::BarrierEarly,
    Kind::CookieTakenBack,
    Kind::LostWake,
    Kind::Stalled,
    Kind::ChildStuck,
    Kind::ChildFailed,
    Kind::Panicked,
    Kind::NotDrained,
    Kind::NotFreed,
    Kind::Leaked,
    Kind::SlotLost,
    Kind::LeakForgotten,
    Kind::OverLimit,
    Kind::Hangs,
    Kind::Refused,
];

/// A violation and two numbers, whose meaning depends on its kind.
#[derive(Clone, Copy, Debug)]
pub struct Violation {
    pub kind: Kind,
    pub details: [u64; 2],
}

/// The kind of the first violation, 0 if there is none. The thread that sets it writes the details
/// next.
static FIRST: AtomicUsize = AtomicUsize::new(0);
static DETAILS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// The kind again, set when the details are written.
static COMPLETE: AtomicUsize = AtomicUsize::new(0);

/// Records a violation if it is the first.
#[cold]
pub fn report(kind: Kind, details: [u64; 2]) {
    // Relaxed, both: the store to `COMPLETE` publishes the details.
    if FIRST.compare_exchange(0, kind as usize, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        for (place, detail) in DETAILS.iter().zip(details) {
            place.store(detail, Ordering::Relaxed);
        }
        // Release: partner of the acquire in `found`.
        COMPLETE.store(kind as usize, Ordering::Release);
    }
}

/// Returns the first violation.
pub fn found() -> Option<Violation> {
    // Acquire: partner of the release in `report`.
    let kind = KINDS.into_iter().find(|kind| *kind as usize == COMPLETE.load(Ordering::Acquire))?;
    // Relaxed: the acquire above orders the loads after the stores.
    Some(Violation { kind, details: [0, 1].map(|at: usize| DETAILS[at].load(Ordering::Relaxed)) })
}

/// The last stall that the library reported: its thread and milliseconds.
static STALL: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Keeps a stall for the verdict.
pub fn remember_stall(stall: &Stall) {
    // Relaxed, both: the numbers are only printed.
    STALL[0].store(u64::from(stall.thread), Ordering::Relaxed);
    STALL[1].store(stall.waited.as_millis() as u64, Ordering::Relaxed);
}

fn last_stall() -> String {
    // Relaxed, both: the numbers are only printed.
    match [0, 1].map(|at: usize| STALL[at].load(Ordering::Relaxed)) {
        [0, _] => "the library reported no stalled reader".to_string(),
        [thread, waited] => format!("the library last reported a wait of {waited} ms for thread {thread}"),
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.details;
        match self.kind {
            Kind::ReadAfterFree => {
                write!(f, "read after free: a reader inside a section found the word {b:#018x} in the object {a:#018x}")
            }
            Kind::FreedTwice => write!(f, "freed twice: object {a:#018x}"),
            Kind::RetiredTwice => write!(f, "retired twice: object {a:#018x}"),
            Kind::BarrierEarly => write!(f, "barrier returned early: {b} of {a} callbacks had run"),
            Kind::CookieTakenBack => f.write_str("a polling cookie was ready and then was not"),
            Kind::LostWake => {
                write!(f, "lost wake-up: thread {a} waited {b} ms for a grace period while every reader was outside")
            }
            Kind::Stalled => write!(
                f,
                "stalled: thread {a} waited {b} ms for a grace period while no reader was inside for long; {}",
                last_stall()
            ),
            Kind::ChildStuck => write!(f, "stuck after fork: the child was killed by signal {a} (14: it hung)"),
            Kind::ChildFailed => write!(f, "wrong after fork: the child ended with code {a}"),
            Kind::Panicked => write!(f, "a thread panicked, or {a} callbacks did instead of {b}"),
            Kind::NotDrained => write!(f, "not drained: {a} callbacks were still queued after a barrier"),
            Kind::NotFreed => write!(f, "not freed exactly once: {a} objects were retired and {b} freed"),
            Kind::Leaked => write!(f, "{a} sections were taken for leaked at the end"),
            Kind::SlotLost => write!(f, "{a} slots were registered at the end instead of {b}"),
            Kind::LeakForgotten => f.write_str(
                "the section of a leaked guard ended when its thread exited: memory was freed under a reference",
            ),
            Kind::Refused => write!(f, "a call of C was refused with error {a}"),
            Kind::Hangs => write!(f, "a round did not end within {a} s of its time"),
            Kind::OverLimit => write!(f, "{a} callbacks were queued at a limit of {b}"),
        }
    }
}
