//! Locks with priority inheritance.
//!
//! | file | what it is |
//! |---|---|
//! | `lock`, `unlock`, `requeue`, `exit` | the operations |
//! | `attempt` | one attempt to take a lock |
//! | `hand_off` | handing a lock off to its top waiter |
//! | `waiter` | a thread that waits for a lock, until it owns the lock or has left |
//! | `claim`, `graph`, `tree` | who waits for whom |

mod attempt;
pub(crate) mod claim;
mod exit;
pub(crate) mod graph;
mod hand_off;
pub(crate) mod lock;
pub(crate) mod requeue;
pub(crate) mod tree;
mod unlock;
mod waiter;
