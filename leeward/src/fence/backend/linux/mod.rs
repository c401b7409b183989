//! Linux's heavy fences: chosen once, at run time ([`choice`]), among the kernel's barriers
//! ([`membarrier`]) and signals ([`signal`]).

mod choice;
mod counts;
mod environ;
mod membarrier;
mod probe;
#[cfg(target_pointer_width = "64")]
pub(crate) mod processes;
mod request;
mod signal;
mod threads;
mod visit;

pub(super) use choice::{chosen, force, init, is_possible, light, run};
pub(super) use counts::counters;
