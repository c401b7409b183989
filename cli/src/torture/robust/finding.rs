//! The first violation, in the memory that the processes share.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    TwoOwners = 1,
    NobodyWasTold,
    ToldOfTheLiving,
    Refused,
    OwnerLost,
    Lost,
    Stuck,
    ChildFailed,
}

const KINDS: [Kind; 8] = [
    Kind::TwoOwners,
    Kind::NobodyWasTold,
    Kind::ToldOfTheLiving,
    Kind::Refused,
    Kind::OwnerLost,
    Kind::Lost,
    Kind::Stuck,
    Kind::ChildFailed,
];

/// A violation, its lock, and two numbers, whose meaning depends on its kind.
pub struct Violation {
    kind: Kind,
    place: u64,
    details: [u64; 2],
}

#[repr(C)]
pub struct Finding {
    /// The kind, 0 if there is none. The process that sets it writes the details next.
    first: AtomicU32,
    /// The kind again, set when the details are written.
    complete: AtomicU32,
    details: [AtomicU64; 3],
}

impl Finding {
    /// Records a violation if it is the first.
    #[cold]
    pub fn report(&self, kind: Kind, place: usize, details: [u64; 2]) {
        // Relaxed, both: the store to `complete` publishes the details.
        if self.first.compare_exchange(0, kind as u32, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            for (to, detail) in self.details.iter().zip([place as u64, details[0], details[1]]) {
                to.store(detail, Ordering::Relaxed);
            }
            // Release: partner of the acquire in `found`.
            self.complete.store(kind as u32, Ordering::Release);
        }
    }

    pub fn is_any(&self) -> bool {
        // Relaxed: the answer is a hint to stop soon.
        self.first.load(Ordering::Relaxed) != 0
    }

    /// Returns the first violation.
    pub fn found(&self) -> Option<Violation> {
        // Acquire: partner of the release in `report`.
        let complete = self.complete.load(Ordering::Acquire);
        let kind = KINDS.into_iter().find(|kind| *kind as u32 == complete)?;
        // Relaxed: the acquire above orders the loads after the stores.
        let [place, one, other] = [0, 1, 2].map(|at: usize| self.details[at].load(Ordering::Relaxed));
        Some(Violation { kind, place, details: [one, other] })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (place, [a, b]) = (self.place, self.details);
        match self.kind {
            Kind::TwoOwners => write!(f, "two owners: process {a} took lock {place} with process {b} inside"),
            Kind::NobodyWasTold => {
                write!(
                    f,
                    "not announced: lock {place} was taken as whole after its owner died, with the record {a}, {b}"
                )
            }
            Kind::ToldOfTheLiving => {
                write!(
                    f,
                    "announced for nothing: the owner of lock {place}, process {b}, is alive, and \
                     process {a} was told that it died"
                )
            }
            Kind::Refused => {
                write!(f, "refused: lock {place} answered a process with an error that has no cause here (number {a})")
            }
            Kind::OwnerLost => write!(f, "lost: lock {place} is held by thread {a}, which is dead"),
            Kind::Lost => write!(f, "lost: no process could take lock {place} for {a} ms; its word is {b:#010x}"),
            Kind::Stuck => write!(
                f,
                "stuck: a process waited {a} ms for lock {place}, whose word is {b:#010x} (owner in \
                 the low 30 bits): {}",
                if b & 0x3fff_ffff == 0 { "a wake-up was lost" } else { "it was not given on" }
            ),
            Kind::ChildFailed => write!(f, "a process that was not killed ended with status {a} instead of {b}"),
        }
    }
}
