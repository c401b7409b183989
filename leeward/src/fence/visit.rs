//! Reaching threads that take no signal: the caller moves itself over every processor on which they may run.
//!
//! Why that is a heavy fence. The scheduler puts a full barrier into every context switch. Take a thread `T` that
//! runs on processor `k` when we start: either it is still there when we arrive, and we can only run because it was
//! switched out; or it left before, by a switch. Either way it passed a full barrier within the call. A thread that
//! is not running had its barrier when it was switched out, and if it is switched in before we return, on a processor
//! that we have been on, the run queue's lock orders our switch before its. So all that is needed is to have run once
//! on every processor that any thread of the process may use.

use rustix::io::Errno;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// Whether a thread may say where it runs: the mask that it has is set again.
pub(super) fn is_allowed() -> bool {
    sched_getaffinity(None).is_ok_and(|own| sched_setaffinity(None, &own).is_ok())
}

/// Visits every processor of the given threads' masks; all that exist where the threads cannot be listed (then
/// threads that were put into another cpuset are not covered, nor can they be known). False if some processor could
/// not be visited; then nothing is promised.
pub(super) fn every_processor(mut threads: impl FnMut(&mut dyn FnMut(Pid)) -> bool) -> bool {
    let Ok(own) = sched_getaffinity(None) else { return false };
    let mut needed = own;
    let mut refused = false;
    let listed = threads(&mut |thread| match sched_getaffinity(Some(thread)) {
        Ok(mask) => (0..CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).for_each(|cpu| needed.set(cpu)),
        // It ended.
        Err(Errno::SRCH) => {}
        Err(_) => refused = true,
    });
    if refused {
        return false;
    }
    if !listed {
        // Nobody can be listed: every processor that the machine has.
        (0..CpuSet::MAX_CPU).for_each(|cpu| needed.set(cpu));
    }
    let visited = (0..CpuSet::MAX_CPU).filter(|&cpu| needed.is_set(cpu)).all(|cpu| visit(cpu, listed));
    // A failure leaves the thread on the last processor that it visited, where it may run as well as anywhere.
    let _ = sched_setaffinity(None, &own);
    visited
}

/// Runs once on `cpu`. One that does not exist or is offline counts as visited unless some thread's mask named it.
fn visit(cpu: usize, named: bool) -> bool {
    let mut only = CpuSet::new();
    only.set(cpu);
    match sched_setaffinity(None, &only) {
        Ok(()) => true,
        Err(Errno::INVAL) => !named,
        Err(_) => false,
    }
}
