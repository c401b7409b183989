//! The engine's own code under loom. A lost wake-up is a deadlock, which loom reports; a waiter
//! touched when it may be gone, or a list without its lock, is a race. Run by `ci/model`, also with
//! each mutant that a model must notice.

mod exploration;
pub(crate) mod host;
mod pi;
mod resize;
mod several;
mod unruly_hosts;
mod waits;
