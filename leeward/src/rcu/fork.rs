//! fork: the child has one thread. The others' sections are not there, their grace periods are the parent's, and so are
//! callbacks, unless the domain's children adopt them.
//!
//! In the child slots of other threads are given back, a grace period that another thread was running is forgotten,
//! queued callbacks are forgotten (they run in the parent) or adopted (they run in both), and the worker is started
//! again when it is needed (`start.rs`: by the C library).
//!
//! Some slots stay although their thread is not there: those of detached handles, and those that a leaked guard keeps
//! (for a moment also that of a thread which was exiting with a guard in a thread-local variable): what they protect
//! may be in use, so grace periods of the child wait for them.
//!
//! References that the forking thread got from a guard of *another thread that is alive* are not protected in the child:
//! that guard is not there. (Calling fork is `unsafe` in Rust, and this is one of the things to see to.)

use super::backing::{Backing, State};
use crate::atomic::Ordering;
use crate::fence::Pair;
use crate::process::fork::{self, Hook, Mend};

/// What a static does not know how to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    HeavyFence,
    StartWorker,
}

fn serve<D: Backing>(task: Task) {
    match task {
        Task::HeavyFence => D::Fence::heavy(),
        Task::StartWorker => {
            D::state().queue.worker.wake::<D>();
        }
    }
}

/// Has the domain mended in children from now on. To be called before its state first changes.
#[inline]
pub(super) fn watch<D: Backing>() {
    let state = D::state();
    if !fork::is_watched(state) {
        // Relaxed: ordered by the exchange that lists the hook. All threads store the same.
        state.fork.serve.store(serve::<D> as fn(Task) as *mut (), Ordering::Relaxed);
        fork::watch(state);
    }
}

impl State {
    fn serve(&self, task: Task) {
        // Relaxed: stored before the hook was listed.
        let serve = self.fork.serve.load(Ordering::Relaxed);
        // SAFETY: `watch` stored a `fn(Task)` before it listed the hook by which we are called.
        let serve = unsafe { core::mem::transmute::<*mut (), fn(Task)>(serve) };
        serve(task);
    }
}

impl Mend for State {
    fn hook(&self) -> &Hook {
        &self.fork.hook
    }

    fn before(&'static self) {
        self.queue.pause(|| self.serve(Task::HeavyFence));
    }

    fn in_parent(&'static self) {
        self.queue.go_on();
    }

    fn in_child(&'static self) {
        self.grace.after_fork();
        self.grace.counts.lost.add(self.queue.after_fork());
    }

    fn resume(&'static self) {
        self.grace.renumber();
        if self.queue.has_inherited() {
            self.serve(Task::StartWorker);
        }
    }

    fn thread_ends(&'static self) {
        self.grace.thread_ends();
    }
}
