//! The child of a fork, in which the threads that left their marks in a lock are not there.

use crate::fork_mark;
use crate::futex::Futex;
use crate::mutant::mutated;

/// Returns true if the marks of waiters in a free lock may be those of threads that a fork did not copy, so that a call
/// that does not wait should not heed them. What other processes share is not copied: there they may be real.
///
/// Marks of the child's own threads are not told from those: passing them costs these threads their turn, once, and
/// nothing else. False where the process has never asked for its fork mark before the fork.
#[cold]
pub(super) fn forked_child<F: Futex>() -> bool {
    !F::SHARED && fork_mark::is_child() && !mutated!(lock_forked)
}
