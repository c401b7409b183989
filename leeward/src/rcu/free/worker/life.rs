//! The life of a worker: its start, what becomes of it when its work ends in a panic, and its end.
//!
//! A worker ends for one reason only: no heavy fence is possible, so that no worker could do
//! anything. After any other panic (of a stall's handler) it stays, and tries again.
//!
//! ```text
//! a task that awaits (future.rs)          a worker that ends (Queue::fail)
//! link the callback; put the waker        failures += 1; phase = NONE
//! fence(SeqCst)                     Q     fence(SeqCst)
//! load failures and phase                 look at all callbacks; wake each task found
//! ```
//! At Q the worker finds the task's waker, or the task finds that the worker has ended.

use core::time::Duration;

use super::super::defer::Queue;
use super::{CALLED, NONE, PHASE, RUNNING, START, STARTING, Worker, backend};
use crate::atomic::{IS_MODEL, Ordering, fence};
use crate::mutant::{mutated, step};
use crate::process::fork;
use crate::rcu::backing::State;
use crate::rcu::grace::future::Sleepers;

/// How long a worker naps at most after its work has failed.
const PAUSE: Duration = Duration::from_millis(1);

impl Worker {
    /// Announces that something was queued in `queue`, whose worker this is, and starts the worker
    /// if there is none. (A caller that depends on the worker asks `serves`.)
    pub(in crate::rcu) fn notify(&self, domain: &'static State, queue: &'static Queue) {
        if self.is_running() || backend::starts() {
            self.tell();
        }
        if !self.is_running() {
            self.start(domain, queue);
        }
    }

    /// Announces that a thread waits for the worker of `queue`, and starts the worker if there is
    /// none. Returns false if none could be started.
    pub(in crate::rcu) fn wake(&self, domain: &'static State, queue: &'static Queue) -> bool {
        if self.is_running() || backend::starts() {
            self.call();
        }
        self.is_running() || self.start(domain, queue)
    }

    /// Starts the worker if there is none. Returns true if one runs. A worker that another thread is
    /// starting does not count: that may fail, and nothing would tell a task that relied on it.
    pub(in crate::rcu) fn serves(&self, domain: &'static State, queue: &'static Queue) -> bool {
        self.has_begun() || self.wake(domain, queue) && self.has_begun()
    }

    fn has_begun(&self) -> bool {
        // Relaxed: ordered by pair Q where it matters.
        self.state.load(Ordering::Relaxed) & PHASE == RUNNING
    }

    /// Starts a worker, unless there is one by now. Returns false if that failed.
    #[cold]
    #[inline(never)]
    fn start(&self, domain: &'static State, queue: &'static Queue) -> bool {
        if !backend::starts() {
            return false;
        }
        // Relaxed: `change` decides.
        let before = self.state.load(Ordering::Relaxed);
        let Some(starting) = (before & PHASE == NONE).then(|| self.change(before, STARTING)).flatten() else {
            return true;
        };
        // Relaxed: the thread's start orders it. All callers store the same.
        queue.domain.store(core::ptr::from_ref(domain).cast_mut().cast(), Ordering::Relaxed);
        let is_started = backend::start(queue);
        // An exchange, so as not to overwrite the state of a worker that has ended already, nor of
        // one that was started since.
        if mutated!(worker_state) {
            self.state.store(RUNNING, Ordering::Relaxed);
        } else {
            self.change(starting, if is_started { RUNNING } else { NONE });
        }
        if !is_started {
            queue.wake_waiting();
        }
        is_started
    }

    /// Changes the phase, if the state is still `from`. Returns the new state, or `None` if the
    /// state has changed.
    fn change(&self, from: u32, phase: u32) -> Option<u32> {
        let to = (from & !PHASE).wrapping_add(if phase == STARTING { START } else { 0 }) | phase;
        // Relaxed, both: the thread's start orders what matters.
        self.state.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).ok().map(|_| to)
    }

    /// Says that a worker begins, or begins anew, which looks before it sleeps: what was announced
    /// before may have been taken back by one that has not done it.
    pub(super) fn begin(&self) {
        // Relaxed: this thread's own `look_again` orders what was announced.
        step!(worker_begin, self.work.fetch_or(CALLED, Ordering::Relaxed));
    }

    /// Says that a thread of a model is the worker, which nothing has started.
    #[cfg(leeward_loom)]
    #[cfg_attr(not(test), allow(dead_code))]
    pub(in crate::rcu) fn is_there(&self) {
        // Relaxed: as in `change`.
        self.state.store(RUNNING, Ordering::Relaxed);
    }
}

/// The worker's thread.
impl Queue {
    /// Does the worker's work as long as `goes_on` returns true, which it is asked before each turn.
    /// Returns before that where no worker could do anything, and in the child of a fork, where the
    /// worker, if there is one by now, is another thread.
    pub(in crate::rcu) fn live(&'static self, goes_on: impl Fn() -> bool) {
        // Relaxed: as in `start`.
        let domain = self.domain.load(Ordering::Relaxed).cast::<State>().cast_const();
        // SAFETY: `start` stored the address of a state that lives forever.
        let domain: &'static State = unsafe { &*domain };
        let generation = fork::generation();
        loop {
            self.worker.begin();
            let has_failed = backend::fails(|| while goes_on() && self.worker.work_once(domain, self) {});
            if !has_failed || fork::generation() != generation {
                return;
            }
            // The batch stays queued.
            let ends = backend::is_hopeless(domain);
            self.fail(ends);
            if ends {
                return;
            }
            // Threads that wait for callbacks try themselves now, and get the panic: the worker leaves
            // the queue to them for a moment.
            if !IS_MODEL {
                self.worker.nap(PAUSE);
            }
        }
    }

    /// Tells those who wait that the worker has failed, and that it has ended if it `ends`.
    fn fail(&'static self, ends: bool) {
        let worker = &self.worker;
        // Relaxed, both: ordered by the fences of pairs E and Q. Only this worker changes the state of
        // a worker, except for its starter, which may not have stored `RUNNING` yet.
        worker.failures.fetch_add(1, Ordering::Relaxed);
        let mut sleepers = Sleepers::none();
        if ends {
            let _ =
                worker.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| Some(state & !PHASE | NONE));
            // SeqCst. Pair Q: the end is before the look at the callbacks. Partner: the fence in
            // `Begun::is_ready`.
            // - If the task's callback and waker come first, we find them and wake the task.
            // - If our stores come first, the task finds that the worker has ended, and helps itself.
            step!(end_fence, fence(Ordering::SeqCst));
            step!(end_wake, self.for_each_queued(|head| sleepers.take_of(head)));
        }
        self.wake_waiting();
        sleepers.wake();
    }
}
