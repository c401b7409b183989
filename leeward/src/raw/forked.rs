//! The child of a fork, in which the threads that left their marks in a lock are not there. Called
//! by the `try_` calls of `mutex.rs`, `rwlock.rs` and `rwlock_read.rs`.

use crate::futex::Futex;
use crate::mutant::check;
use crate::process::{fork, fork_mark};

/// Returns true if the marks of waiters in a free lock may be those of threads that a fork did not
/// copy, so that a call that does not wait should not heed them. A lock that processes share is not
/// copied: there the marks may be real.
///
/// Marks of the child's own threads look the same. Passing them costs these threads their turn,
/// once, and nothing else. Returns false where nothing that registers for forks was used before the
/// fork (`process/`). Locks do not register themselves, since that may allocate and locks serve in
/// allocators.
#[cold]
pub(super) fn forked_child<F: Futex>() -> bool {
    check!(lock_forked, !F::SHARED && (fork::generation() != 0 || fork_mark::is_child()))
}
