//! The domain's worker: one thread, started when it is first needed, that runs what was deferred
//! and the grace periods that are polled for. Woken by `defer/`; calls `defer/reclaim.rs` and
//! `grace.rs`.
//!
//! | file | idea |
//! |---|---|
//! | `mod` | the words, the announcements and the sleep |
//! | `life` | the start and the end |
//! | `work`, `naps` | a turn of work, and when the worker naps in between |
//! | `std`, `model`, `none` | how a thread is started: by the system, by a model, not at all |

#[cfg(leeward_loom)]
#[path = "model.rs"]
mod backend;
#[cfg(not(any(feature = "threads", leeward_loom)))]
#[path = "none.rs"]
mod backend;
#[cfg(all(feature = "threads", not(leeward_loom)))]
#[path = "std.rs"]
mod backend;
#[cfg(any(feature = "threads", leeward_loom))]
mod life;
mod naps;
#[cfg(all(test, not(leeward_loom)))]
mod tests;
mod work;

pub(in crate::rcu) use backend::panics;
#[cfg(all(test, leeward_loom))]
pub(in crate::rcu) use backend::{Start, arrange, fail_next};
use naps::Naps;

use core::time::Duration;

use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{self, Private, Timeout};
use crate::mutant::check;

/// Phase: there is no worker. None was needed yet, or it ended, or none could be started.
const NONE: u32 = 0;
/// Phase: a thread is starting the worker.
const STARTING: u32 = 1;
/// Phase: the worker is running.
pub(in crate::rcu) const RUNNING: u32 = 2;
/// The bits of `state` that are the phase.
const PHASE: u32 = 3;
/// One start, as `state` counts it.
const START: u32 = 4;

/// A bit of `work`: something was queued or asked for since the worker's last look.
const CALLED: u32 = 1;
/// A bit of `work`: a thread waits for it, so the worker does not nap.
const URGENT: u32 = 2;
/// A bit of `work`: the worker works or naps, and looks again by itself.
const AWAKE: u32 = 4;

/// The state of a domain's worker.
pub(crate) struct Worker {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-1 | the phase: `NONE`, `STARTING` or `RUNNING` |
    /// | 2-31 | the number of starts, so that no thread takes a later worker for its own |
    state: AtomicU32,
    /// How often the worker's work ended in a panic, of a stall's handler or for want of a heavy fence.
    failures: AtomicU32,
    /// The bits `CALLED`, `URGENT` and `AWAKE`. The worker sleeps on this word.
    ///
    /// Every change is a read-modify-write, so they have one order: `sleep` takes `AWAKE` back only
    /// where nothing was announced since its last look, and an announcement that comes later finds
    /// that the worker sleeps.
    work: AtomicU32,
    naps: Naps,
}

impl Worker {
    const_fn! {
        pub(in crate::rcu) fn new() -> Worker {
            Worker {
                state: AtomicU32::new(NONE),
                failures: AtomicU32::new(0),
                work: AtomicU32::new(0),
                naps: Naps::new(),
            }
        }
    }

    /// Returns true if there is a worker, or one is being started.
    pub(in crate::rcu) fn is_running(&self) -> bool {
        // Relaxed: a thread that takes a worker that starts, or ends, for one that runs is woken
        // and looks again.
        self.state.load(Ordering::Relaxed) & PHASE != NONE
    }

    /// Returns how often the worker's work ended in a panic.
    pub(in crate::rcu) fn failures(&self) -> u32 {
        // Relaxed: its readers order it by the fences of pairs E and Q.
        self.failures.load(Ordering::Relaxed)
    }

    /// Forgets the worker in the child of a fork, where it does not exist.
    pub(in crate::rcu) fn after_fork(&self) {
        // Relaxed, both: the child has one thread.
        self.state.store(NONE, Ordering::Relaxed);
        self.work.store(0, Ordering::Relaxed);
    }

    /// Announces that something was queued, and wakes the worker if it sleeps, but not from a nap.
    fn tell(&self) {
        // Release: what was queued happens before the worker's look. Partner: the acquires in
        // `sleep` and `nap`.
        if check!(worker_tell_wake, self.work.fetch_or(CALLED, Ordering::Release) == 0) {
            futex::wake(&self.work, 1);
        }
    }

    /// Announces that a thread waits for the worker's look, and wakes the worker if it sleeps or
    /// naps.
    fn call(&self) {
        // Release: as in `tell`. A second call finds the first one's bit, and leaves the wake to it.
        if check!(worker_call_wake, self.work.fetch_or(CALLED | URGENT, Ordering::Release) & URGENT == 0) {
            futex::wake(&self.work, 1);
        }
    }

    /// Sleeps until work is announced, and takes the announcement back.
    fn sleep(&self) {
        // Relaxed, both: the exchange below orders what was announced.
        if self.work.compare_exchange(AWAKE, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            while self.work.load(Ordering::Relaxed) == 0 {
                futex::wait(&self.work, 0, Timeout::Never);
            }
        }
        self.look_again();
    }

    /// Sleeps for `time`, or until a thread waits for the worker, and takes the announcements back.
    /// Returns true if the time has passed.
    fn nap(&self, time: Duration) -> bool {
        let end = Timeout::after::<Private>(time);
        let is_over = loop {
            // Relaxed: compared by the kernel, or ordered by the exchange.
            let work = self.work.load(Ordering::Relaxed);
            if work & URGENT != 0 {
                break false;
            }
            if end.has_passed::<Private>() {
                break true;
            }
            futex::wait(&self.work, work, end);
        };
        self.look_again();
        is_over
    }

    /// Takes back what was announced. The worker looks for work after this.
    fn look_again(&self) {
        // Acquire: partner of the releases in `tell` and `call`.
        self.work.swap(AWAKE, Ordering::Acquire);
    }
}
