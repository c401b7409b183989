//! The programs of the machine's kernel: the steps of a switch path (`path`), begun by a context
//! switch, a shoot-down or an interrupt. And the requests by which every program asks the machine.
//! `unfold` runs these programs; `steps` serves their requests.

use super::machine::Layout;
use super::memory::At;
use super::path::{Cpu, Occupant};
use crate::{Access, Clock, Deadline, Interrupt};

/// One access, or one thing that only the machine can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    Load {
        at: At,
    },
    Store {
        at: At,
        value: u32,
        release: bool,
    },
    /// Waits until the word can be seen to hold the value; acquires.
    Await {
        at: At,
        value: u32,
    },
    /// Waits until the word is 0, and makes it 1; acquires. No interrupt comes to a processor whose
    /// thread holds one.
    Lock {
        at: At,
    },
    Unlock {
        at: At,
    },
    /// Makes a full barrier; the name may be empty.
    Fence {
        name: &'static str,
    },
    /// Does nothing, where a barrier is left out.
    Missing {
        name: &'static str,
    },
    /// Sends an interrupt to a processor.
    Send {
        to: u8,
        kick: Kick,
    },
    /// Waits until the last interrupt to that processor from this one is seen to be acknowledged;
    /// orders nothing.
    Acknowledged {
        by: u8,
    },
    Pin,
    Unpin,
    /// Accesses user memory, by the thread's own page table.
    User {
        address: u64,
        access: User,
    },
    FaultIn {
        address: u64,
        access: Access,
    },
    Park {
        until: Option<Deadline>,
    },
    Unpark {
        thread: u8,
    },
    Now {
        clock: Clock,
    },
    /// Lets others go first.
    Yield,
}

/// An access to user memory; exchanges are full barriers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum User {
    Load,
    Store(u32),
    Exchange { old: u32, new: u32 },
}

/// What an interrupt has a processor do.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Kick {
    Interrupt(Interrupt),
    /// The processor passes through its scheduler, when it may.
    Schedule,
}

/// A program of the kernel's own, run by a processor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Task {
    /// A context switch. `active`: the space whose page tables are loaded; `lazy`: they are, though
    /// no thread of that space runs.
    Switch {
        here: u8,
        active: Option<u8>,
        lazy: bool,
        from: Option<Occupant>,
        to: Option<Occupant>,
    },
    Handler {
        here: u8,
        from: u8,
        number: u32,
        kick: Kick,
    },
    /// A lazy processor is told that the mappings of the space whose page tables it has loaded have
    /// changed.
    Shootdown {
        here: u8,
        active: u8,
    },
}

/// The interrupt that a handler serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub(crate) from: u8,
    pub(crate) number: u32,
}

/// Runs a task.
pub(crate) fn run(task: Task, layout: &Layout, ask: &dyn Fn(Request) -> u64) {
    let cpu = |here, loaded, lazy, serves| Cpu { here, loaded, lazy, serves, layout, ask };
    match task {
        Task::Switch { here, active, lazy, from, to } => {
            layout.path.switch(&cpu(here, active, lazy, None), from, to);
        }
        Task::Shootdown { here, active } => layout.path.shootdown(&cpu(here, Some(active), true, None), active),
        Task::Handler { here, from, number, kick } => {
            let cpu = cpu(here, None, false, Some(Sender { from, number }));
            match kick {
                Kick::Interrupt(_) => layout.path.handler(&cpu),
                Kick::Schedule => schedule(&cpu),
            }
        }
    }
}

/// Passes through the scheduler, for a grace period.
fn schedule(cpu: &Cpu<'_>) {
    cpu.lock(cpu.number());
    (cpu.ask)(Request::Fence { name: "" });
    cpu.unlock(cpu.number());
    cpu.acknowledge();
}
