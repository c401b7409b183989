//! Unit tests that need the engine's insides, and the host that they share. What the public
//! interface can show is tested in `engine/tests`.

pub(crate) mod host;
mod hostile;
mod membarrier;
mod pi_tree;
mod store;
mod wake_queue;
