//! How threads are scheduled: the kernel's answers, and for the calling thread the one that it gave
//! a moment ago. Leaves `errno` as it was. `Process::priority`, `lending` and the spins call it.

use core::cell::Cell;

use super::thread::call;
use super::{held, now_by};
use crate::Priority;
use crate::mutant::mutated;

/// The highest level of real-time priorities; the lowest is 1.
const MOST_LEVEL: i32 = 99;
/// The nanoseconds for which a thread's answer serves; the clock's step (a tick of the kernel's)
/// comes on top.
const FRESH: u64 = 10_000_000;

/// How a thread is scheduled: its policy, with the flag that its children do not inherit it, and
/// its level, 1 to 99 where it runs in real time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Schedule {
    pub(super) policy: i32,
    pub(super) level: i32,
}

/// The kernel's `sched_attr`, in its first form.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// The bit of [`Attributes::flags`] that says that the thread's children do not inherit it.
const RESET_ON_FORK: u64 = 1;

impl Schedule {
    /// Returns how a thread is scheduled; 0 is the calling one. `None`: there is no such thread, or
    /// a sandbox does not tell.
    pub(super) fn of(number: u32) -> Option<Schedule> {
        let mut attributes = Attributes::default();
        let place = (&raw mut attributes).expose_provenance();
        call(libc::SYS_sched_getattr, [number as usize, place, size_of::<Attributes>(), 0, 0, 0]).ok()?;
        let reset = if attributes.flags & RESET_ON_FORK != 0 { libc::SCHED_RESET_ON_FORK } else { 0 };
        Some(Schedule { policy: attributes.policy as i32 | reset, level: attributes.priority as i32 })
    }

    /// Schedules a thread so; returns true if the kernel did.
    pub(super) fn give(self, number: u32) -> bool {
        let level = (&raw const self.level).expose_provenance();
        call(libc::SYS_sched_setscheduler, [number as usize, self.policy as usize, level, 0, 0, 0]).is_ok()
    }

    /// Returns the policy without the flag.
    pub(super) fn kind(self) -> i32 {
        self.policy & !libc::SCHED_RESET_ON_FORK
    }

    /// Returns true if such a thread runs before all ordinary ones, as long as it wants to.
    pub(super) fn is_in_real_time(self) -> bool {
        matches!(self.kind(), libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE)
    }

    /// Returns the thread's place among others, as Linux orders them: those with a deadline first,
    /// then real-time threads by their level, then all others as equals.
    pub(super) fn urgency(self) -> Priority {
        match self.kind() {
            libc::SCHED_FIFO | libc::SCHED_RR => Priority((MOST_LEVEL + 1).saturating_sub(self.level) as u32),
            libc::SCHED_DEADLINE => Priority(0),
            _ => Priority::NORMAL,
        }
    }

    /// Returns the level at which the thread runs anyway. A thread that nothing can be lent to
    /// counts as the highest.
    pub(super) fn own_level(self) -> i32 {
        match self.kind() {
            libc::SCHED_FIFO | libc::SCHED_RR => self.level,
            libc::SCHED_DEADLINE => MOST_LEVEL,
            _ => 0,
        }
    }
}

/// Returns the level at which a thread runs as urgently as `priority`; `None`: at none, since that
/// is not real-time.
pub(super) fn level(priority: Priority) -> Option<i32> {
    let below = i32::try_from(priority.0).ok().filter(|below| *below <= MOST_LEVEL)?;
    Some((MOST_LEVEL + 1 - below).min(MOST_LEVEL))
}

/// What the kernel said of the calling thread.
#[derive(Clone, Copy)]
struct Answer {
    /// The time of the answer, by the coarse clock; 0, long ago: the kernel was not asked.
    at: u64,
    /// The thread's place among others, without what it is lent.
    own: Priority,
    /// True if the thread runs in real time, be it because it is lent that.
    in_real_time: bool,
}

std::thread_local! {
    /// The kernel's last answer.
    static ANSWER: Cell<Answer> =
        const { Cell::new(Answer { at: 0, own: Priority::NORMAL, in_real_time: false }) };
}

/// Returns the calling thread's place among others, as it was some milliseconds ago at most.
/// `before` says how a thread in real time ran before it was lent that, if it was.
#[inline]
pub(super) fn own(before: impl FnOnce() -> Option<Schedule>) -> Priority {
    let time = now_by(libc::CLOCK_MONOTONIC_COARSE);
    let serves = |answer: Answer| time.wrapping_sub(answer.at) < FRESH || mutated!(schedule_fresh) && answer.at != 0;
    if serves(ANSWER.get()) { ANSWER.get().own } else { ask(time, before) }
}

/// Asks the kernel how the calling thread is scheduled, and notes the answer.
#[cold]
#[inline(never)]
fn ask(time: u64, before: impl FnOnce() -> Option<Schedule>) -> Priority {
    let schedule = Schedule::of(0);
    let in_real_time = schedule.is_some_and(Schedule::is_in_real_time);
    let lent = if in_real_time { before() } else { None };
    if in_real_time {
        held::expect_real_time();
    }
    let own = lent.or(schedule).map_or(Priority::NORMAL, Schedule::urgency);
    ANSWER.set(Answer { at: time.max(1), own, in_real_time });
    own
}

/// Returns true if the calling thread ran in real time when the kernel was asked last: before the
/// wait that it is in. False if it was never asked of this thread.
#[inline]
pub(super) fn ran_in_real_time() -> bool {
    ANSWER.get().in_real_time
}

/// Asks the kernel how the calling thread is scheduled; returns true if it runs in real time now.
#[cold]
pub(super) fn runs_in_real_time() -> bool {
    let in_real_time = Schedule::of(0).is_some_and(Schedule::is_in_real_time);
    if in_real_time {
        held::note_real_time();
    }
    ANSWER.set(Answer { in_real_time, ..ANSWER.get() });
    in_real_time
}
