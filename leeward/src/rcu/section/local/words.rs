//! The slot that the calling thread has in thread-local storage.

use core::ptr;

use super::super::backing::State;
use super::slot::{Slot, UNREGISTERED};

/// Returns the calling thread's variable of the domain, and the slot whose address it holds, if the
/// thread has one.
fn find(domain: &State) -> Option<(*mut *const Slot, &'static Slot)> {
    let variable = domain.grace.kind.place()?();
    // SAFETY: the variable is the calling thread's, and always initialized.
    let slot = unsafe { variable.read() };
    // SAFETY: it holds addresses of slots, which live forever.
    let slot: &'static Slot = unsafe { &*slot };
    (!ptr::eq(slot, &UNREGISTERED)).then_some((variable, slot))
}

/// Returns true if the calling thread is inside a section that it opened without a handle.
pub(in crate::rcu) fn is_inside(domain: &State) -> bool {
    find(domain).is_some_and(|(_, slot)| slot.is_inside() || slot.inlined.is_inside())
}

/// Gives a transient slot back, whose outermost section has ended.
#[cold]
#[inline(never)]
pub(in crate::rcu) fn give_back(domain: &State, slot: &'static Slot) {
    if slot.outlived_thread() {
        domain.grace.counts.leaked.subtract(1);
    }
    if let Some((variable, _)) = find(domain).filter(|(_, own)| ptr::eq(*own, slot)) {
        // SAFETY: the variable is the calling thread's.
        unsafe { variable.write(&UNREGISTERED) };
    }
    domain.grace.release(slot);
}
