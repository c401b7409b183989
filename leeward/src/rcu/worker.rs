//! The domain's worker: one thread, started when it is first needed, that runs what was deferred and the grace
//! periods that are polled for.

use super::defer::Reclaimed;
use super::domain::Domain;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex;
use crate::mutant::mutated;
use crate::process::fork;

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
        while work::<D>() && fork::generation() == generation {}
        fork::generation() == generation
    }
}

/// Does some of the work; whether there was any.
fn work<D: Domain>() -> bool {
    let state = D::state();
    if state.queue.reclaim::<D>(None) != Reclaimed::Nothing {
        return true;
    }
    // Acquire: partner of the release in `Queue::want`.
    let wanted = state.queue.wanted.load(Ordering::Acquire);
    if state.grace.tickets.is_served(wanted) {
        return false;
    }
    state.grace.wait::<D::Fence>(None)
}

#[cfg(feature = "std")]
mod with_threads {
    use super::*;
    use crate::process;

    impl Worker {
        /// Says that there is work, to a worker that is started if need be. False if there is none.
        pub(in super::super) fn wake<D: Domain>(&'static self) -> bool {
            self.call();
            self.is_running() || self.start::<D>()
        }

        #[cold]
        #[inline(never)]
        fn start<D: Domain>(&'static self) -> bool {
            // Relaxed: `change` decides.
            let before = self.state.load(Ordering::Relaxed);
            let Some(starting) = (before & PHASE == NONE).then(|| self.change(before, STARTING)).flatten() else {
                return true;
            };
            let is_started = process::start(run::<D>);
            // Not over the state of a worker that has ended already, nor of one that was started since.
            if mutated!(worker_state) {
                self.state.store(RUNNING, Ordering::Relaxed);
            } else {
                self.change(starting, if is_started { RUNNING } else { NONE });
            }
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

    /// The worker ends: only by a panic of its own, for want of any heavy fence or in a stall's handler. The batch is
    /// queued still; the next who defers or waits for it starts another worker.
    struct End<D: Domain>(core::marker::PhantomData<fn() -> D>);

    impl<D: Domain> Drop for End<D> {
        fn drop(&mut self) {
            let queue = &D::state().queue;
            // Relaxed, all: who waits is woken, and looks again. Only this worker changes the state of a worker, but for
            // its starter, who may not have said yet that it runs.
            queue.worker.deaths.fetch_add(1, Ordering::Relaxed);
            let worker = &queue.worker.state;
            let _ = worker.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| Some(state & !PHASE | NONE));
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
