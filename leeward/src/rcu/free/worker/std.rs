//! The worker with `threads`: a thread that is started when it is first needed.

use super::super::defer::Queue;
use crate::fence;
pub(super) use crate::process::panics as fails;
pub(in crate::rcu) use crate::process::panics;
use crate::process::{self, Work};
use crate::rcu::backing::State;

/// Returns true: threads can be started, unless the system refuses.
pub(super) fn starts() -> bool {
    true
}

/// Starts the worker's thread. Returns false if the system refuses.
pub(super) fn start(queue: &'static Queue) -> bool {
    process::start(queue)
}

/// Returns true if no worker of the domain can do anything, since heavy fences are impossible.
pub(super) fn is_hopeless(domain: &State) -> bool {
    domain.grace.kind.is_asymmetric() && fence::try_heavy().is_err()
}

impl Work for Queue {
    fn work(&'static self) {
        self.live(|| true);
    }
}

/// Does nothing: only a model has turns of work fail.
pub(super) fn begin_turn() {}
