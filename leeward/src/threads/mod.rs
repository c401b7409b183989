//! What is a thread's: a lock whose word names its holder.

pub(crate) mod holder_lock;
