//! The domain's worker: one thread, started when it is first needed, that runs what was deferred and the grace
//! periods that are polled for.

#[cfg(not(feature = "std"))]
#[path = "none.rs"]
mod backend;
#[cfg(feature = "std")]
#[path = "std.rs"]
mod backend;
mod work;

pub(super) use backend::panics;

use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{self, Timeout};
use crate::mutant::check;

const NONE: u32 = 0;
const STARTING: u32 = 1;
pub(super) const RUNNING: u32 = 2;
const PHASE: u32 = 3;
/// One start.
const START: u32 = 4;

pub(crate) struct Worker {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-1 | 0: none: not needed yet, ended, or none could be started; 1: a thread starts it; 2: running |
    /// | 2-31 | how often one was started, so that no thread takes a later worker for its own |
    state: AtomicU32,
    /// Workers that ended: by a panic.
    deaths: AtomicU32,
    /// 1: there may be work. Where it sleeps.
    work: AtomicU32,
}

impl Worker {
    const_fn! {
        pub(super) fn new() -> Worker {
            Worker { state: AtomicU32::new(NONE), deaths: AtomicU32::new(0), work: AtomicU32::new(0) }
        }
    }

    pub(super) fn is_running(&self) -> bool {
        // Relaxed: who takes a worker that starts, or ends, for one that runs is woken and looks again.
        self.state.load(Ordering::Relaxed) & PHASE != NONE
    }

    /// Changes the phase from that of `from`; the new state. None if the state is another one by now.
    fn change(&self, from: u32, phase: u32) -> Option<u32> {
        let to = (from & !PHASE).wrapping_add(if phase == STARTING { START } else { 0 }) | phase;
        // Relaxed, both: the thread's start orders what matters.
        self.state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).ok().map(|_| to)
    }

    /// In a model: a thread of its own is the worker.
    #[cfg_attr(not(leeward_loom), allow(dead_code))]
    pub(super) fn is_there(&self) {
        // Relaxed: as in `change`.
        self.state.store(RUNNING, Ordering::Relaxed);
    }

    /// How many workers have ended.
    pub(super) fn deaths(&self) -> u32 {
        // Relaxed: a hint, whose reader looks at the state too.
        self.deaths.load(Ordering::Relaxed)
    }

    /// In the child of a fork there is no worker.
    pub(super) fn after_fork(&self) {
        // Relaxed, both: the child has one thread.
        self.state.store(NONE, Ordering::Relaxed);
        self.work.store(0, Ordering::Relaxed);
    }

    /// Says that there is work, to a worker that may be asleep.
    fn call(&self) {
        // Release: what was queued or asked for happens before the worker's look. Partner: the acquire in `sleep`.
        if check!(worker_call_wake, self.work.swap(1, Ordering::Release) == 0) {
            futex::wake(&self.work, 1);
        }
    }

    /// Until somebody says that there is work.
    fn sleep(&self) {
        // Acquire: partner of the release in `call`.
        while self.work.swap(0, Ordering::Acquire) == 0 {
            futex::wait(&self.work, 0, Timeout::Never);
        }
    }
}
