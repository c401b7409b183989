//! Locks with priority inheritance: the operations (`lock`, `requeue`), the wait for such a lock (`waiter`), and who waits for whom (`graph`, kept in the trees
//! of `tree`).

pub(crate) mod graph;
pub(crate) mod lock;
pub(crate) mod requeue;
pub(crate) mod tree;
pub(crate) mod waiter;
