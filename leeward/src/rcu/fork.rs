//! A domain's part in `fork`: it registers itself with `process::fork`, and repairs its state in
//! the child, which has one thread.
//!
//! In the child, slots of other threads are given back, a grace period that another thread was
//! running is forgotten, queued callbacks are forgotten (they run in the parent) or adopted (they
//! run in both processes), and the worker is started again when it is needed (`start.rs`, by the C
//! library).
//!
//! Some slots stay although their thread does not exist in the child: those of detached handles,
//! and those that a leaked guard keeps (also that of a thread which was exiting with a guard in a
//! thread-local variable). What they protect may be in use, so grace periods of the child wait for
//! them.
//!
//! References that the forking thread got from a guard of *another thread that is alive* are not
//! protected in the child, which does not have that guard. (Calling `fork` is `unsafe` in Rust, and
//! this is part of its contract.)

use super::backing::{Backing, State};
use crate::atomic::Ordering;
use crate::fence::Pair;
use crate::process::fork::{self, Hook, Watched};

/// A task that needs the domain's type, which its state does not know.
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

/// Has the domain repaired in children from now on. Must be called before its state first changes.
#[inline]
pub(super) fn watch<D: Backing>() {
    let state = D::state();
    if !fork::is_watched(state) {
        // Relaxed: ordered by the exchange that lists the hook. All threads store the same value.
        state.fork.serve.store(serve::<D> as fn(Task) as *mut (), Ordering::Relaxed);
        fork::watch(state);
    }
}

impl State {
    /// Does `task` for the domain's type.
    fn serve(&self, task: Task) {
        // Relaxed: stored before the hook was listed.
        let serve = self.fork.serve.load(Ordering::Relaxed);
        // SAFETY: `watch` stored a `fn(Task)` before it listed the hook through which we are
        // called.
        let serve = unsafe { core::mem::transmute::<*mut (), fn(Task)>(serve) };
        serve(task);
    }
}

impl Watched for State {
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
