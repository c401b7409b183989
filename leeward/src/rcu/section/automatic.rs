//! Automatic registration: a thread's slot in thread-local storage, taken at its first section and
//! given back at its exit. A thread that reads after that takes a slot for that section alone.

use core::ptr;

use super::super::backing::Backing;
use super::super::fork::watch;
use super::super::no_memory::NoMemory;
use super::guard::Guard;
use super::slot::{Slot, UNREGISTERED};
use crate::mutant::check;
use crate::process::thread;

/// Returns the calling thread's slot; `UNREGISTERED` if it has none.
#[inline(always)]
fn own_slot<D: Backing>() -> &'static Slot {
    // SAFETY: the variable is the calling thread's, and always initialized.
    let slot = unsafe { D::place().read() };
    // SAFETY: it holds addresses of slots, which live forever.
    unsafe { &*slot }
}

fn set_own_slot<D: Backing>(slot: &'static Slot) {
    // SAFETY: the variable is the calling thread's.
    unsafe { D::place().write(slot) };
}

/// Enters a section on the calling thread's slot.
#[inline(always)]
#[track_caller]
pub(in crate::rcu) fn read<D: Backing>() -> Guard<'static, D> {
    let slot = own_slot::<D>();
    // One test for two questions: the slot that stands for "not registered" says that it is inside.
    if !slot.is_inside() {
        return Guard::enter_outermost(slot);
    }
    read_again(slot)
}

/// Enters a section within another, or a thread's first section. Out of line, so that the code of
/// an outermost section runs straight.
#[cold]
#[inline(never)]
#[track_caller]
fn read_again<D: Backing>(slot: &'static Slot) -> Guard<'static, D> {
    if ptr::eq(slot, &UNREGISTERED) {
        return read_first();
    }
    Guard::enter_nested(slot)
}

/// Registers the calling thread and enters its first section.
#[cold]
#[inline(never)]
#[track_caller]
fn read_first<D: Backing>() -> Guard<'static, D> {
    match D::take_slot(false) {
        // A signal handler of C has registered the thread meanwhile, and brought it online.
        Ok(slot) if slot.is_inside() && !slot.is_transient() => Guard::enter_nested(slot),
        Ok(slot) => Guard::enter_outermost(slot),
        Err(error) => panic!("leeward: {error}"),
    }
}

/// Takes a slot before the first section. Takes none on a thread that exits, where each section
/// takes its own.
pub(in crate::rcu) fn register_early<D: Backing>() -> Result<(), NoMemory> {
    D::take_slot(true).map(drop)
}

/// Returns the calling thread's slot; a thread without one takes one. `arm` registers the thread's exit
/// handler; false: the handler has run already. In that case the slot lasts for one section, or no slot
/// is taken if `early`.
#[doc(hidden)]
pub fn take_slot<D: Backing>(early: bool, arm: fn() -> bool) -> Result<&'static Slot, NoMemory> {
    let slot = own_slot::<D>();
    if !ptr::eq(slot, &UNREGISTERED) {
        return Ok(slot);
    }
    let state = D::state();
    watch(state);
    let will_be_told = arm();
    if early && !will_be_told {
        return Ok(slot);
    }
    let owner = if will_be_told { thread::current() } else { thread::current() | thread::ENDED };
    let slot = state.grace.claim(owner, thread::number()).map_err(|_| NoMemory)?;
    if !will_be_told {
        slot.make_transient();
    }
    set_own_slot::<D>(slot);
    Ok(slot)
}

/// Gives the slot of the calling thread back, which exits; keeps it if the thread is inside a
/// section.
pub(in crate::rcu) fn leave_thread<D: Backing>() {
    let slot = own_slot::<D>();
    if ptr::eq(slot, &UNREGISTERED) {
        return;
    }
    if check!(exit_drops_live_slot, slot.is_inside()) {
        // A guard was leaked, and with it references that other threads may hold; or the guard lies
        // in a thread-local variable whose destructor is yet to run.
        slot.outlive_thread();
        D::state().grace.counts.leaked.add(1);
    } else {
        // The thread is outside already, except in the mutant.
        slot.end_all::<D::Fence>();
        // Before the release: a signal handler in between must not find a slot that another thread
        // has claimed.
        set_own_slot::<D>(&UNREGISTERED);
        D::state().grace.release(slot);
    }
}
