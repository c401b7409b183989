//! Where a thread finds its slot: two thread-local variables.
//!
//! The slot's address lies in a variable without a destructor, so reading it is one load and works
//! until the thread's last instruction. A second variable, touched at registration only, has the
//! destructor. [`rcu_domain!`](crate::rcu_domain) declares both.

use core::cell::Cell;
use std::thread::LocalKey;

use super::super::backing::Backing;
use super::automatic;
use super::slot::{Slot, UNREGISTERED};

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

    /// Returns the address of the calling thread's variable, which is valid until the thread's last
    /// instruction.
    #[doc(hidden)]
    #[inline(always)]
    pub fn place(key: &'static LocalKey<LocalSlot>) -> *mut *const Slot {
        key.with(|local| local.0.as_ptr())
    }
}

/// The variable with a destructor: the function that runs at thread exit.
#[doc(hidden)]
pub struct ThreadExit(fn());

impl ThreadExit {
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    pub const fn new<D: Backing>() -> ThreadExit {
        ThreadExit(automatic::leave_thread::<D>)
    }

    /// Arms the destructor that runs at the calling thread's exit. Returns false if that has run
    /// already.
    #[doc(hidden)]
    pub fn arm(key: &'static LocalKey<ThreadExit>) -> bool {
        key.try_with(|_| ()).is_ok()
    }
}

impl Drop for ThreadExit {
    fn drop(&mut self) {
        (self.0)();
    }
}
