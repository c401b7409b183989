//! Which operations a kernel has.

use super::ground::{is_mapped_twice, own_number};
use super::script::{Asked, Family};
use crate::errno::Errno;
use crate::futex::{self, Call, Time};
use crate::futex_pi::{lock_pi, trylock_pi, unlock_pi};
use crate::futex2;
use crate::numbers;
use crate::syscalls::{Syscalls, ask};

/// A set of operations of the futex family. Shared memory at two addresses counts as one, and so do arguments that are
/// wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations(u64);

/// The names, by their bits.
const NAMES: [&str; 18] = [
    "FUTEX_WAIT",
    "FUTEX_WAKE",
    "FUTEX_REQUEUE",
    "FUTEX_CMP_REQUEUE",
    "FUTEX_WAKE_OP",
    "FUTEX_WAIT_BITSET",
    "FUTEX_WAKE_BITSET",
    "futex_waitv",
    "futex_wake",
    "futex_wait",
    "futex_requeue",
    "shared memory at two addresses",
    "set_robust_list",
    "FUTEX_LOCK_PI",
    "FUTEX_UNLOCK_PI",
    "FUTEX_TRYLOCK_PI",
    "locks with priority inheritance: the caller's number is one that sequences store",
    "errors: arguments that are wrong",
];
/// The bits of those that are no call of the family.
const TWICE: u64 = 1 << 11;
const ROBUST: u64 = 1 << 12;
/// The number of the first operation that takes locks, and its bit.
const LOCK_PI: u64 = 6;
const LOCK_PI_BIT: u64 = 13;
/// The greatest number that a script stores in words, and the bit for a caller that has such a number: it would be
/// taken for an owner.
pub(crate) const STORED: u32 = 3;
const NUMBERED: u64 = 1 << 16;
const ERRORS: u64 = 1 << 17;

impl Operations {
    pub(crate) const fn of(bits: u64) -> Operations {
        Operations(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the operation of this name, as [`Operations::names`] has it, without what follows a colon.
    pub fn named(name: &str) -> Option<Operations> {
        let bit = NAMES.iter().position(|full| full.split(':').next() == Some(name))?;
        Some(Operations(1 << bit))
    }

    /// Returns the operations of both sets.
    pub const fn and(self, others: Operations) -> Operations {
        Operations(self.0 | others.0)
    }

    /// Returns the operations that others does not have.
    pub(super) const fn but(self, others: Operations) -> Operations {
        Operations(self.0 & !others.0)
    }

    /// Returns the operations that a kernel answers with `ENOSYS`, though the call is right: none of them sleeps
    /// or wakes.
    pub(crate) fn absent(kernel: &dyn Syscalls) -> Operations {
        let mut words = [0_u32; 4];
        let words = &raw mut words;
        let at = |at: usize| words.cast::<u32>().wrapping_add(at).expose_provenance();
        let entries =
            [0, 1].map(|word| futex2::Entry { value: 1, ..futex2::Entry::new(at(word), futex2::U32_PRIVATE) });
        // Each wait and compare finds another value; each wake finds no thread. A wait that is taken all the same
        // has a time that is up.
        let past = Time::milliseconds(0);
        let time = past.address();
        let calls: [Call; 11] = [
            futex::wait(at(0), futex::PRIVATE, 1, time),
            futex::wake(at(0), futex::PRIVATE, 1),
            futex::requeue(at(0), futex::PRIVATE, 0, at(1), 0),
            futex::cmp_requeue(at(0), futex::PRIVATE, 0, at(1), 0, 1),
            futex::wake_op(at(0), futex::PRIVATE, 1, at(1), 1, futex::encode(1, 0, 0, 1)),
            futex::wait_bitset(at(0), futex::PRIVATE, 1, time, 1),
            futex::wake_bitset(at(0), futex::PRIVATE, 1, 1),
            futex2::waitv(&entries, time, 1),
            futex2::wake2(at(0), futex2::ANY, 1, futex2::U32_PRIVATE),
            futex2::wait2(at(0), 1, futex2::ANY, futex2::U32_PRIVATE, (time, 1)),
            futex2::requeue2(&entries, 0, 0, 0),
        ];
        let mut absent = Operations(if is_mapped_twice(kernel) { 0 } else { TWICE });
        for (bit, call) in calls.iter().enumerate() {
            // SAFETY: the words are there; the operation that writes adds 0 to one that nothing else reads.
            if unsafe { ask(kernel, call.number, call.arguments) } == Err(Errno::NOSYS) {
                absent.0 |= 1 << bit;
            }
        }
        // A length that is wrong: the thread keeps its list.
        let list = [0, 1, 0, 0, 0, 0];
        // SAFETY: changes nothing.
        if unsafe { ask(kernel, numbers::SET_ROBUST_LIST, list) } == Err(Errno::NOSYS) {
            absent.0 |= ROBUST;
        }
        // Each finds a lock that is free, or that is not this thread's.
        let locks =
            [lock_pi(at(2), futex::PRIVATE, 0), unlock_pi(at(1), futex::PRIVATE), trylock_pi(at(3), futex::PRIVATE)];
        for (bit, call) in (LOCK_PI_BIT..).zip(&locks) {
            // SAFETY: writes words that are there, and that nothing else reads.
            let answered = unsafe { ask(kernel, call.number, call.arguments) };
            if answered == Err(Errno::NOSYS) {
                absent.0 |= 1 << bit;
            }
        }
        if own_number(kernel) <= STORED {
            absent.0 |= NUMBERED;
        }
        absent
    }

    /// Returns true if shared memory at two addresses is one of these.
    pub(super) fn has_alias(&self) -> bool {
        self.0 & TWICE != 0
    }

    /// Returns true if arguments that are wrong are one of these.
    pub(super) fn has_errors(&self) -> bool {
        self.0 & ERRORS != 0
    }

    /// Returns true if robust lists are one of these.
    pub(super) fn has_robust_lists(&self) -> bool {
        self.0 & ROBUST != 0
    }

    /// Returns true if the call's operation is one of these.
    pub(super) fn has(&self, asked: &Asked) -> bool {
        let bit = match (asked.family, asked.command()) {
            (Family::Futex, Some(0)) => 0,
            (Family::Futex, Some(1)) => 1,
            (Family::Futex, Some(3)) => 2,
            (Family::Futex, Some(4)) => 3,
            (Family::Futex, Some(5)) => 4,
            (Family::Futex, Some(9)) => 5,
            (Family::Futex, Some(10)) => 6,
            (Family::Futex, Some(6..=8)) if self.0 & NUMBERED != 0 => return true,
            (Family::Futex, Some(lock @ 6..=8)) => LOCK_PI_BIT + lock - LOCK_PI,
            (Family::Futex, _) => return false,
            (Family::Waitv, _) => 7,
            (Family::Wake, _) => 8,
            (Family::Wait, _) => 9,
            (Family::Requeue, _) => 10,
        };
        self.0 & 1 << bit != 0
    }

    /// Returns the names of these operations.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + '_ {
        NAMES.into_iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0).map(|(_, name)| name)
    }
}
