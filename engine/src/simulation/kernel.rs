//! The machine's own kernel, as far as it touches memory: the context switch, the handlers. And the
//! requests by which every program asks the machine. `unfold` runs these programs; `steps` serves
//! their requests.

use super::machine::Layout;
use super::memory::At;
use super::setup::Cut;
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
    Fence,
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
        from: Option<u8>,
        to: Option<(u8, u8)>,
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

/// Runs a task.
pub(crate) fn run(task: Task, layout: &Layout, ask: &dyn Fn(Request) -> u64) {
    match task {
        Task::Switch { here, active, lazy, from, to } => switch(here, active, lazy, from, to, layout, ask),
        Task::Shootdown { here, active } => clear(here, active, layout, ask),
        Task::Handler { here, from, number, kick } => {
            let queue = layout.queue(here);
            if kick == Kick::Schedule {
                ask(Request::Lock { at: queue });
            }
            if !layout.cut(Cut::Handler) || kick == Kick::Schedule {
                ask(Request::Fence);
            }
            if kick == Kick::Schedule {
                ask(Request::Unlock { at: queue });
            }
            ask(Request::Store { at: layout.acknowledged(from, here), value: number, release: false });
        }
    }
}

/// Switches from a thread (or none) to a thread and its space (or none).
fn switch(
    here: u8,
    active: Option<u8>,
    lazy: bool,
    from: Option<u8>,
    to: Option<(u8, u8)>,
    layout: &Layout,
    ask: &dyn Fn(Request) -> u64,
) {
    let store = |at, value| {
        ask(Request::Store { at, value, release: false });
    };
    ask(Request::Lock { at: layout.queue(here) });
    if let Some((thread, _)) = to {
        // The processor that the thread ran on before has to finish with it first.
        ask(Request::Await { at: layout.on_processor(thread), value: 0 });
        store(layout.on_processor(thread), 1);
    }
    store(layout.current(here), to.map_or(0, |(_, space)| u32::from(space) + 1));
    match to {
        Some((_, space)) if active == Some(space) && lazy => {
            // The page tables are loaded still.
            store(layout.bit(space, here), 1);
            fence(Cut::S3, layout, ask);
        }
        // Another thread of the space: the bit is set.
        Some((_, space)) if active == Some(space) => {}
        Some((_, space)) => {
            if let Some(active) = active {
                clear(here, active, layout, ask);
            }
            store(layout.bit(space, here), 1);
            fence(Cut::S2, layout, ask);
        }
        // Lazy: page tables and bit stay.
        None => {}
    }
    if let Some(from) = from {
        ask(Request::Store { at: layout.on_processor(from), value: 0, release: true });
    }
    ask(Request::Unlock { at: layout.queue(here) });
}

/// Clears a processor's bit in a space's mask, after the barrier S1.
fn clear(here: u8, space: u8, layout: &Layout, ask: &dyn Fn(Request) -> u64) {
    fence(Cut::S1, layout, ask);
    ask(Request::Store { at: layout.bit(space, here), value: 0, release: false });
}

/// Makes a full barrier, unless it is left out.
fn fence(cut: Cut, layout: &Layout, ask: &dyn Fn(Request) -> u64) {
    if !layout.cut(cut) {
        ask(Request::Fence);
    }
}
