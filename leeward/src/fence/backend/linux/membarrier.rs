//! The two strategies that are a system call: what a refusal means, and what is tried again.

use rustix::io::Errno;
use rustix::thread::{MembarrierCommand as Command, MembarrierQuery, membarrier, membarrier_query};

use super::counts::{RETRIES, count};

/// The number of times that a call is tried for which the kernel has no memory, before the next
/// strategy serves.
const ENOMEM_TRIES: u32 = 4;

/// Issues one expedited barrier; registers the process first if the kernel says that it is not
/// registered.
pub(super) fn private() -> Result<(), Errno> {
    match expedited() {
        // Never registered, or the registration was lost (checkpoint and restore).
        Err(Errno::PERM) => {
            count(&RETRIES);
            persist(Command::RegisterPrivateExpedited)?;
            expedited()
        }
        other => other,
    }
}

/// Issues one expedited barrier.
fn expedited() -> Result<(), Errno> {
    persist(Command::PrivateExpedited)
}

/// Issues one barrier over every thread of the machine.
pub(super) fn global() -> Result<(), Errno> {
    persist(Command::Global)
}

/// Returns true if the kernel says that it knows the private command; false also where the query is
/// refused.
pub(super) fn has_private() -> bool {
    membarrier_query().contains(MembarrierQuery::PRIVATE_EXPEDITED)
}

/// Returns true if the kernel says that it knows the global command; false also where the query is
/// refused.
pub(super) fn has_global() -> bool {
    membarrier_query().contains(MembarrierQuery::GLOBAL)
}

/// Makes the call, up to [`ENOMEM_TRIES`] times while the kernel has no memory for it.
pub(super) fn persist(command: Command) -> Result<(), Errno> {
    for _ in 1..ENOMEM_TRIES {
        match membarrier(command) {
            Err(Errno::NOMEM) => {
                count(&RETRIES);
                rustix::thread::sched_yield();
            }
            other => return other,
        }
    }
    membarrier(command)
}
