//! Automatic registration: a thread's slot in thread-local storage, taken at its first section and given back at its
//! exit.
//!
//! The slot's address lies in a variable without a destructor, so that reading it is one load and works to the
//! thread's last instruction. A second variable, touched at registration only, has the destructor. A thread that
//! reads after that has run takes a slot for that section alone.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr;
use std::thread::LocalKey;

use super::domain::{Domain, NoMemory};
use super::slot::Slot;
use super::{Guard, UNREGISTERED, watch};
use crate::mutant::mutated;
use crate::process::thread;

/// The variable without a destructor. A raw pointer, since a constant may not refer to atomics by reference.
#[doc(hidden)]
pub struct LocalSlot(Cell<*const Slot>);

impl LocalSlot {
    /// What a thread has before its first section.
    #[doc(hidden)]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> LocalSlot {
        LocalSlot(Cell::new(&raw const super::UNREGISTERED))
    }

    fn set(&self, slot: &'static Slot) {
        self.0.set(slot);
    }
}

/// The variable with one: what runs at thread exit.
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

/// Where the calling thread finds both.
#[doc(hidden)]
pub struct Local<D: Domain> {
    slot: &'static LocalKey<LocalSlot>,
    exit: &'static LocalKey<ThreadExit>,
    domain: PhantomData<fn() -> D>,
}

impl<D: Domain> Local<D> {
    #[doc(hidden)]
    #[inline(always)]
    pub const fn new(slot: &'static LocalKey<LocalSlot>, exit: &'static LocalKey<ThreadExit>) -> Self {
        Local { slot, exit, domain: PhantomData }
    }

    #[inline(always)]
    fn slot(&self) -> &'static Slot {
        let slot = self.slot.with(|local| local.0.get());
        // SAFETY: `LocalSlot::new` and `set` store addresses of slots that live for ever.
        unsafe { &*slot }
    }

    fn set(&self, slot: &'static Slot) {
        self.slot.with(|local| local.set(slot));
    }

    /// Has the thread's exit told. False if it is past that.
    fn arm(&self) -> bool {
        self.exit.try_with(|_| ()).is_ok()
    }
}

/// The calling thread exits.
#[doc(hidden)]
pub fn leave_thread<D: Domain>() {
    let slot = D::local().slot();
    if ptr::eq(slot, &UNREGISTERED) {
        return;
    }
    if slot.is_inside() && !mutated!(exit_drops_live_slot) {
        // A guard was leaked, and with it references that other threads may hold; or it lies in a thread-local variable
        // whose destructor is yet to run.
        slot.outlive_thread();
        D::state().grace.counts.leaked.add(1);
    } else {
        // Outside already, but for the mutant.
        slot.end_all::<D::Fence>();
        // First: a signal handler in between must not find a slot that is another thread's by then.
        D::local().set(&UNREGISTERED);
        D::state().grace.release(slot);
    }
}

/// Whether the calling thread is inside a section that it opened without a handle.
#[inline]
pub(super) fn is_inside<D: Domain>() -> bool {
    let slot = D::local().slot();
    !ptr::eq(slot, &UNREGISTERED) && slot.is_inside()
}

/// Enters a section on the calling thread's slot.
#[inline(always)]
#[track_caller]
pub(super) fn read<D: Domain>() -> Guard<'static, D> {
    let slot = D::local().slot();
    // One test for two questions: the slot that stands for "not registered" says that it is inside.
    if !slot.is_inside() {
        return Guard::enter_outermost(slot);
    }
    read_again(slot)
}

/// Out of line, so that the code of an outermost section runs straight.
#[cold]
#[inline(never)]
#[track_caller]
fn read_again<D: Domain>(slot: &'static Slot) -> Guard<'static, D> {
    if ptr::eq(slot, &UNREGISTERED) {
        return read_first();
    }
    Guard::enter_nested(slot)
}

#[cold]
#[inline(never)]
#[track_caller]
fn read_first<D: Domain>() -> Guard<'static, D> {
    match register::<D>() {
        Ok(slot) => Guard::enter_outermost(slot),
        Err(error) => panic!("leeward: {error}"),
    }
}

/// Takes a slot ahead of the first section; not on a thread that exits, where each section takes its own.
pub(super) fn register_early<D: Domain>() -> Result<(), NoMemory> {
    if D::local().arm() { register::<D>().map(drop) } else { Ok(()) }
}

/// The calling thread's slot, taken now if it has none.
fn register<D: Domain>() -> Result<&'static Slot, NoMemory> {
    let slot = D::local().slot();
    if !ptr::eq(slot, &UNREGISTERED) {
        return Ok(slot);
    }
    let state = D::state();
    watch::<D>();
    let will_be_told = D::local().arm();
    let owner = if will_be_told { thread::current() } else { thread::current() | thread::ENDED };
    let slot = state.grace.claim(owner, thread::number()).map_err(|_| NoMemory)?;
    if !will_be_told {
        slot.make_transient();
    }
    D::local().set(slot);
    Ok(slot)
}

/// A slot that was kept for its last section only goes back.
#[cold]
#[inline(never)]
pub(super) fn give_back<D: Domain>(slot: &'static Slot) {
    if slot.outlived_thread() {
        D::state().grace.counts.leaked.subtract(1);
    }
    if ptr::eq(D::local().slot(), slot) {
        D::local().set(&UNREGISTERED);
    }
    D::state().grace.release(slot);
}
