//! The slot that the calling thread has in thread-local storage.

use core::ptr;

use super::backing::Backing;
use super::slot::Slot;
use super::thread_local::UNREGISTERED;

/// Returns true if the calling thread is inside a section that it opened without a handle.
#[inline]
pub(super) fn is_inside<D: Backing>() -> bool {
    let slot = D::local().slot();
    !ptr::eq(slot, &UNREGISTERED) && slot.is_inside()
}

/// Gives a transient slot back, whose outermost section has ended.
#[cold]
#[inline(never)]
pub(super) fn give_back<D: Backing>(slot: &'static Slot) {
    if slot.outlived_thread() {
        D::state().grace.counts.leaked.subtract(1);
    }
    if ptr::eq(D::local().slot(), slot) {
        D::local().set(&UNREGISTERED);
    }
    D::state().grace.release(slot);
}
