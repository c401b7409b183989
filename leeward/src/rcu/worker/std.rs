//! The worker as a thread, started when it is first needed.

use super::super::backing::Backing;
use super::{NONE, PHASE, RUNNING, STARTING, Worker};
use crate::atomic::Ordering;
use crate::mutant::mutated;
use crate::process;

impl Worker {
    /// Says that there is work, to a worker that is started if need be. False if there is none.
    pub(in super::super) fn wake<D: Backing>(&'static self) -> bool {
        self.call();
        self.is_running() || self.start::<D>()
    }

    #[cold]
    #[inline(never)]
    fn start<D: Backing>(&'static self) -> bool {
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

fn run<D: Backing>() {
    let end = End::<D>(core::marker::PhantomData);
    while D::state().queue.worker.work_once::<D>() {}
    // A child, whose worker, if it has one by now, is another thread.
    core::mem::forget(end);
}

/// The worker ends: only by a panic of its own, for want of any heavy fence or in a stall's handler. The batch is
/// queued still; the next who defers or waits for it starts another worker.
struct End<D: Backing>(core::marker::PhantomData<fn() -> D>);

impl<D: Backing> Drop for End<D> {
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
