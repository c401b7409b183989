//! Automatic registration: a thread's slot in thread-local storage, taken at its first section and given back at its
//! exit. A thread that reads after that takes a slot for that section alone.

use core::ptr;

use super::backing::Backing;
use super::fork::watch;
use super::guard::Guard;
use super::no_memory::NoMemory;
use super::slot::Slot;
use super::thread_local::UNREGISTERED;
use crate::mutant::check;
use crate::process::thread;

/// Enters a section on the calling thread's slot.
#[inline(always)]
#[track_caller]
pub(super) fn read<D: Backing>() -> Guard<'static, D> {
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
fn read_again<D: Backing>(slot: &'static Slot) -> Guard<'static, D> {
    if ptr::eq(slot, &UNREGISTERED) {
        return read_first();
    }
    Guard::enter_nested(slot)
}

#[cold]
#[inline(never)]
#[track_caller]
fn read_first<D: Backing>() -> Guard<'static, D> {
    match register::<D>() {
        Ok(slot) => Guard::enter_outermost(slot),
        Err(error) => panic!("leeward: {error}"),
    }
}

/// Takes a slot ahead of the first section; not on a thread that exits, where each section takes its own.
pub(super) fn register_early<D: Backing>() -> Result<(), NoMemory> {
    if D::local().arm() { register::<D>().map(drop) } else { Ok(()) }
}

/// The calling thread's slot, taken now if it has none.
fn register<D: Backing>() -> Result<&'static Slot, NoMemory> {
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

/// The calling thread exits.
#[doc(hidden)]
pub fn leave_thread<D: Backing>() {
    let slot = D::local().slot();
    if ptr::eq(slot, &UNREGISTERED) {
        return;
    }
    if check!(exit_drops_live_slot, slot.is_inside()) {
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
