//! The engine's own code under loom, and the host that the models share. A lost wake-up is a
//! deadlock, which loom reports; a waiter touched when it may be gone, or a list without its lock,
//! is a race.

pub(crate) mod host;
mod pi;
mod resize;
mod several;
mod unruly_hosts;
mod waits;
