//! The domain's worker: one thread, started when it is first needed, that runs what was deferred and the grace
//! periods that are polled for.

use super::domain::Domain;
use super::fork;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex;
use crate::mutant::mutated;

const NONE: u32 = 0;
const STARTING: u32 = 1;
pub(super) const RUNNING: u32 = 2;

pub(crate) struct Worker {
    /// | value | meaning |
    /// |---|---|
    /// | 0 | none: not needed yet, or none could be started |
    /// | 1 | somebody starts it |
    /// | 2 | running, until the process ends |
    state: AtomicU32,
    /// 1: there may be work. Where it sleeps.
    work: AtomicU32,
}

impl Worker {
    const_fn! {
        pub(super) fn new() -> Worker {
            Worker { state: AtomicU32::new(NONE), work: AtomicU32::new(0) }
        }
    }

    pub(super) fn is_running(&self) -> bool {
        // Relaxed: a fact that does not change back, but in a child after fork.
        self.state.load(Ordering::Relaxed) != NONE
    }

    pub(super) fn set_state(&self, state: u32) {
        // Relaxed: the thread's start orders what matters, and whoever took STARTING for a worker is woken and looks
        // again.
        self.state.store(state, Ordering::Relaxed);
    }

    /// In the child of a fork there is no worker.
    pub(super) fn after_fork(&self) {
        self.set_state(NONE);
        // Relaxed: the child has one thread.
        self.work.store(0, Ordering::Relaxed);
    }

    /// Says that there is work, to a worker that may be asleep.
    fn call(&self) {
        // Release: what was queued or asked for happens before the worker's look. Partner: the acquire in `sleep`.
        if self.work.swap(1, Ordering::Release) == 0 && !mutated!(worker_call_wake) {
            futex::wake(&self.work, 1);
        }
    }

    /// Until somebody says that there is work.
    fn sleep(&self) {
        // Acquire: partner of the release in `call`.
        while self.work.swap(0, Ordering::Acquire) == 0 {
            futex::wait(&self.work, 0, None);
        }
    }

    /// Sleeps until there is work, and does what there is. False if a callback forked: in the child this thread is no
    /// worker.
    pub(super) fn turn<D: Domain>(&self) -> bool {
        let generation = fork::generation();
        self.sleep();
        while work::<D>() {
            if fork::generation() != generation {
                return false;
            }
        }
        true
    }
}

/// Does some of the work; whether there was any.
fn work<D: Domain>() -> bool {
    let state = D::state();
    if state.queue.reclaim::<D>() {
        return true;
    }
    // Acquire: partner of the release in `Queue::want`.
    let wanted = state.queue.wanted.load(Ordering::Acquire);
    if state.grace.tickets.is_served(wanted) {
        return false;
    }
    state.grace.wait::<D::Fence>();
    true
}

#[cfg(feature = "std")]
mod with_threads {
    use super::super::start;
    use super::*;

    impl Worker {
        /// Says that there is work, to a worker that is started if need be. False if there is none.
        pub(in super::super) fn wake<D: Domain>(&'static self) -> bool {
            self.call();
            self.is_running() || self.start::<D>()
        }

        #[cold]
        #[inline(never)]
        fn start<D: Domain>(&'static self) -> bool {
            // Relaxed, both: the thread's start orders what matters.
            if self.state.compare_exchange(NONE, STARTING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                return true;
            }
            let quiet = crate::sys::BlockedSignals::new();
            let is_started = start::start(run::<D>);
            drop(quiet);
            self.set_state(if is_started { RUNNING } else { NONE });
            if !is_started {
                D::state().queue.wake_waiting();
            }
            is_started
        }
    }

    fn run<D: Domain>() {
        let end = End::<D>(core::marker::PhantomData);
        while D::state().queue.worker.turn::<D>() {}
        // A child, whose worker, if it has one by now, is another thread.
        core::mem::forget(end);
    }

    /// The worker ends: only by a panic of its own, for want of any heavy fence. Another may be started.
    struct End<D: Domain>(core::marker::PhantomData<fn() -> D>);

    impl<D: Domain> Drop for End<D> {
        fn drop(&mut self) {
            let queue = &D::state().queue;
            queue.worker.set_state(NONE);
            queue.wake_waiting();
        }
    }

    /// Runs `callback`; whether it panicked. What it panicked with is forgotten: dropping that may panic again.
    pub(in super::super) fn panics(callback: impl FnOnce()) -> bool {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(callback)).map_err(core::mem::forget).is_err()
    }
}

#[cfg(feature = "std")]
pub(super) use with_threads::panics;

#[cfg(not(feature = "std"))]
impl Worker {
    /// There are no threads to start; a model may say that one of its own is the worker.
    pub(super) fn wake<D: Domain>(&'static self) -> bool {
        let is_there = self.is_running();
        if is_there {
            self.call();
        }
        is_there
    }
}

/// Without std nobody catches.
#[cfg(not(feature = "std"))]
pub(super) fn panics(callback: impl FnOnce()) -> bool {
    callback();
    false
}
