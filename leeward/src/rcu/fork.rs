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

use super::backing::State;
use crate::process::fork::{self, Hook, Watched};

/// Has the domain repaired in children from now on. Must be called before its state first changes.
#[inline]
pub(super) fn watch(domain: &'static State) {
    fork::watch(domain);
}

impl Watched for State {
    fn hook(&self) -> &Hook {
        &self.hook
    }

    fn before(&'static self) {
        // Where no heavy fence is possible, the child may lose a callback that begins at this very
        // moment, and counts it. (A panic here would end the process.)
        self.queue.pause(|| {
            let _ = self.grace.kind.try_heavy();
        });
    }

    fn in_parent(&'static self) {
        self.queue.go_on();
    }

    fn in_child(&'static self) {
        self.grace.after_fork();
        self.grace.counts.lost.add(self.queue.after_fork(self));
    }

    fn resume(&'static self) {
        self.grace.renumber();
        if self.queue.has_inherited() {
            self.queue.worker.wake(self, &self.queue);
        }
    }

    fn thread_ends(&'static self) {
        self.grace.thread_ends();
    }
}
