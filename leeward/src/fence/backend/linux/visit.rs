//! The visit of every processor, which reaches threads that take no signal: the caller moves itself
//! over every processor on which they may run.
//!
//! Why that is a heavy fence. The scheduler executes a full barrier in every context switch. Take a
//! thread `T` that runs on processor `k` when the caller starts: either it is still there when the
//! caller arrives, which can only run because `T` was switched out; or it left before, by a switch.
//! Either way `T` passed a full barrier within the call. A thread that is not running had its
//! barrier when it was switched out. If it is switched in before the call returns, on a processor
//! that the caller has visited, the run queue's lock orders the caller's switch before the
//! thread's. So all that is needed is that the caller runs once on every processor that any thread
//! of the process may use.
//!
//! The system's word for the new affinity is not believed. A processor counts as visited when the
//! system says that the caller runs there and, unless it ran there before, that the caller was
//! switched out meanwhile: sandboxes answer `sched_setaffinity` with success and do nothing, and
//! some emulated kernels have `getcpu` agree. Where the affinity changes meanwhile (a cpuset is
//! written, a processor goes offline), the threads are listed and everything is visited anew.

use core::mem::MaybeUninit;

use rustix::io::Errno;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

use crate::mutant::{check, mutated};

/// The number of passes over all processors, if processors come, go or are taken from the process
/// meanwhile.
const PASSES: u32 = 4;

/// The outcome of going to a processor.
#[derive(PartialEq, Eq)]
enum Visit {
    /// The caller has run there.
    Done,
    /// There is no such processor, it is offline, or the caller may not use it.
    Absent,
    /// The system says that the caller went there, and that it is not there.
    Elsewhere,
    /// The system refuses the move.
    Refused,
}

/// Returns true if a thread may set its affinity: the mask that it has is set again.
pub(super) fn is_allowed() -> bool {
    sched_getaffinity(None).is_ok_and(|own| sched_setaffinity(None, &own).is_ok())
}

/// Visits every processor of the given threads' masks, or all processors where the threads cannot
/// be listed (then threads that were put into another cpuset are not covered, nor can they be
/// known). Returns false if some processor could not be visited; then nothing is promised.
pub(super) fn every_processor(mut threads: impl FnMut(&mut dyn FnMut(Pid)) -> bool) -> bool {
    let Ok(own) = sched_getaffinity(None) else { return false };
    let mut outcome = pass(&mut threads);
    for _ in 1..PASSES {
        if outcome.is_some() || mutated!(visit_again) {
            break;
        }
        // The caller's mask is set again, and read anew: its processors may be others by now.
        let _ = sched_setaffinity(None, &own);
        outcome = pass(&mut threads);
    }
    // A failure leaves the thread on the last processor that it visited, where it may run as well
    // as anywhere.
    let _ = sched_setaffinity(None, &own);
    outcome == Some(true)
}

/// Visits the processors once. Returns whether that was possible; `None` if it must be done anew.
fn pass(threads: &mut impl FnMut(&mut dyn FnMut(Pid)) -> bool) -> Option<bool> {
    let Ok(mut needed) = sched_getaffinity(None) else { return Some(false) };
    let mut refused = false;
    let listed = threads(&mut |thread| match sched_getaffinity(Some(thread)) {
        Ok(mask) => (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).for_each(|cpu| needed.set(cpu)),
        // The thread ended.
        Err(Errno::SRCH) => {}
        Err(_) => refused = true,
    });
    if refused {
        return Some(false);
    }
    if !listed {
        // No thread can be listed: every processor that the machine has.
        (0..CpuSet::MAX_CPU).for_each(|cpu| needed.set(cpu));
    }
    for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| needed.is_set(cpu)) {
        match visit(cpu) {
            Visit::Done => {}
            // No thread's mask has named it.
            Visit::Absent if !listed => {}
            // It went offline meanwhile: the thread that ran there was switched out, and runs on
            // another processor of the masks.
            Visit::Absent | Visit::Elsewhere => return None,
            Visit::Refused => return Some(false),
        }
    }
    Some(true)
}

/// Moves the caller to `cpu`, to run there once.
fn visit(cpu: usize) -> Visit {
    let before = switches();
    if check!(visit_checks, is_on(cpu)) {
        return Visit::Done;
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    match sched_setaffinity(None, &only) {
        Ok(()) if mutated!(visit_checks) => Visit::Done,
        Ok(()) if is_on(cpu) && has_switched(before) => Visit::Done,
        Ok(()) => Visit::Elsewhere,
        Err(Errno::INVAL) => Visit::Absent,
        Err(_) => Visit::Refused,
    }
}

/// Returns true if the calling thread runs on `cpu`; false where that cannot be found out.
fn is_on(cpu: usize) -> bool {
    let mut here: libc::c_uint = 0;
    let nothing = core::ptr::null_mut::<libc::c_uint>();
    // SAFETY: writes to a local variable; the other two are null.
    let asked = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut here, nothing, nothing) };
    if asked == 0 {
        return here as usize == cpu;
    }
    // A sandbox refuses the call. The C library may know without it.
    // SAFETY: has no precondition.
    usize::try_from(unsafe { libc::sched_getcpu() }) == Ok(cpu)
}

/// Returns true if the calling thread was switched out since the count was `before`; true also
/// where switches are not counted.
fn has_switched(before: Option<libc::c_long>) -> bool {
    before.is_none() || switches() != before || mutated!(visit_switches)
}

/// Returns how often the calling thread was switched out; `None` where the system does not say.
fn switches() -> Option<libc::c_long> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes to a local variable.
    let asked = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: zeroed is a valid rusage (numbers), and the call may have filled it.
    let usage = unsafe { usage.assume_init() };
    (asked == 0).then_some(usage.ru_nvcsw.wrapping_add(usage.ru_nivcsw))
}
