//! The worker with `threads`: a thread that is started when it is first needed.

use super::super::backing::State;
use super::super::defer::Queue;
use super::{NONE, PHASE, RUNNING, STARTING, Worker};
use crate::atomic::Ordering;
use crate::mutant::mutated;
pub(in super::super) use crate::process::panics;
use crate::process::{self, Work};

impl Worker {
    /// Announces that something was queued in `queue`, whose worker this is, and starts the worker
    /// if there is none.
    pub(in super::super) fn notify(&self, domain: &'static State, queue: &'static Queue) {
        self.tell();
        if !self.is_running() {
            self.start(domain, queue);
        }
    }

    /// Announces that a thread waits for the worker of `queue`, and starts the worker if there is
    /// none. Returns false if none could be started.
    pub(in super::super) fn wake(&self, domain: &'static State, queue: &'static Queue) -> bool {
        self.call();
        self.is_running() || self.start(domain, queue)
    }

    /// Starts a worker, unless there is one by now. Returns false if that failed.
    #[cold]
    #[inline(never)]
    fn start(&self, domain: &'static State, queue: &'static Queue) -> bool {
        // Relaxed: `change` decides.
        let before = self.state.load(Ordering::Relaxed);
        let Some(starting) = (before & PHASE == NONE).then(|| self.change(before, STARTING)).flatten() else {
            return true;
        };
        // Relaxed: the thread's start orders it. All callers store the same.
        queue.domain.store(core::ptr::from_ref(domain).cast_mut().cast(), Ordering::Relaxed);
        let is_started = process::start(queue);
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
}

/// The worker's thread.
impl Work for Queue {
    fn work(&'static self) {
        // Relaxed: as in `start`.
        let domain = self.domain.load(Ordering::Relaxed).cast::<State>().cast_const();
        // SAFETY: `start` stored the address of a state that lives forever.
        let domain: &'static State = unsafe { &*domain };
        let end = End(self);
        self.worker.begin();
        while self.worker.work_once(domain, self) {}
        // This is the child of a fork, where the worker, if there is one by now, is another thread.
        core::mem::forget(end);
    }
}

/// The end of the worker by a panic of its own, where no heavy fence is possible or a stall's
/// handler panics. The batch stays queued, and the next thread that defers or waits starts another
/// worker.
struct End(&'static Queue);

impl Drop for End {
    fn drop(&mut self) {
        let queue = self.0;
        // Relaxed, all: threads that wait are woken, and look again. Only this worker changes the
        // state of a worker, except for its starter, which may not have stored `RUNNING` yet.
        queue.worker.deaths.fetch_add(1, Ordering::Relaxed);
        let worker = &queue.worker.state;
        let _ = worker.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| Some(state & !PHASE | NONE));
        queue.wake_waiting();
    }
}
