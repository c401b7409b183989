//! The two strategies that are a system call: what a refusal means, and what is tried again.

use rustix::io::Errno;
use rustix::thread::{MembarrierCommand as Command, MembarrierQuery, membarrier, membarrier_query};

use super::counts::{RETRIES, count};

/// How often a call that the kernel had no memory for is tried again before the next strategy serves.
const ENOMEM_TRIES: u32 = 4;

/// One expedited barrier; registers first where the kernel says that we are not registered.
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

fn expedited() -> Result<(), Errno> {
    persist(Command::PrivateExpedited)
}

/// One barrier over every thread of the machine.
pub(super) fn global() -> Result<(), Errno> {
    persist(Command::Global)
}

/// Whether the kernel says that it knows the private command. False where the query itself is refused.
pub(super) fn has_private() -> bool {
    membarrier_query().contains(MembarrierQuery::PRIVATE_EXPEDITED)
}

/// The same for the global command.
pub(super) fn has_global() -> bool {
    membarrier_query().contains(MembarrierQuery::GLOBAL)
}

/// The call, again while the kernel has no memory for it.
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
