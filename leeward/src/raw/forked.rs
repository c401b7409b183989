//! The child of a fork, in which the threads that left their marks in a lock are not there.

use crate::futex::Futex;
use crate::mutant::mutated;
use crate::process::{fork, fork_mark};

/// Returns true if the marks of waiters in a free lock may be those of threads that a fork did not copy, so that a call
/// that does not wait should not heed them. What other processes share is not copied: there they may be real.
///
/// Marks of the child's own threads are not told from those: passing them costs these threads their turn, once, and
/// nothing else. False where nothing that forks concern was used before the fork (`fork.rs`): locks do not register there
/// themselves, since that may allocate, and they serve in allocators.
#[cold]
pub(super) fn forked_child<F: Futex>() -> bool {
    !F::SHARED && (fork::generation() != 0 || fork_mark::is_child()) && !mutated!(lock_forked)
}
