//! Where a thread finds its slot: two thread-local variables.
//!
//! The slot's address lies in a variable without a destructor, so reading it is one load and works
//! until the thread's last instruction. A second variable, touched at registration only, has the
//! destructor. Called by `automatic.rs`; [`rcu_domain!`](crate::rcu_domain) declares both
//! variables.

use core::cell::Cell;
use std::thread::LocalKey;

use super::slot::Slot;

/// The slot of every thread that is not registered. It says that its reader is inside, so that
/// entering takes the slow path, which tells the two apart.
pub(super) static UNREGISTERED: Slot = Slot::at(1);

/// The variable without a destructor: the slot's address, as a raw pointer, since a constant may
/// not refer to atomics by reference.
#[doc(hidden)]
pub struct LocalSlot(Cell<*const Slot>);

impl LocalSlot {
    /// Makes the variable as a thread has it before its first section.
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> LocalSlot {
        LocalSlot(Cell::new(&raw const UNREGISTERED))
    }

    fn set(&self, slot: &'static Slot) {
        self.0.set(slot);
    }
}

/// The variable with a destructor: the function that runs at thread exit.
#[doc(hidden)]
pub struct ThreadExit(fn());

impl ThreadExit {
    #[doc(hidden)]
    pub const fn new(leave: fn()) -> ThreadExit {
        ThreadExit(leave)
    }
}

impl Drop for ThreadExit {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The two variables of the calling thread.
#[doc(hidden)]
pub struct Local {
    slot: &'static LocalKey<LocalSlot>,
    exit: &'static LocalKey<ThreadExit>,
}

impl Local {
    #[doc(hidden)]
    #[inline(always)]
    pub const fn new(slot: &'static LocalKey<LocalSlot>, exit: &'static LocalKey<ThreadExit>) -> Self {
        Local { slot, exit }
    }

    #[inline(always)]
    pub(super) fn slot(&self) -> &'static Slot {
        let slot = self.slot.with(|local| local.0.get());
        // SAFETY: `LocalSlot::new` and `set` store addresses of slots that live forever.
        unsafe { &*slot }
    }

    pub(super) fn set(&self, slot: &'static Slot) {
        self.slot.with(|local| local.set(slot));
    }

    /// Arms the destructor that runs at the thread's exit. Returns false if that has run already.
    pub(super) fn arm(&self) -> bool {
        self.exit.try_with(|_| ()).is_ok()
    }
}
