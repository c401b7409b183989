//! The stand-in for sections, the limbo and catching panics in models: a slot is taken for each
//! section, and what is retired is freed at once, after a grace period.

use core::ptr::NonNull;

pub(super) use crate::rcu::free::aside::AsideLink;
use crate::rcu::{Domain, Reader};

/// What one container has unlinked and not freed: nothing.
pub(super) struct Limbo;

impl Limbo {
    pub(super) fn new() -> Limbo {
        Limbo
    }

    /// Frees an item that was unlinked, after a grace period.
    ///
    /// # Safety
    /// No section of `D` that begins from now on finds the item, and it is retired once.
    pub(super) unsafe fn retire<D: Domain>(&self, item: NonNull<()>, free: impl Fn(NonNull<()>)) {
        D::synchronize();
        free(item);
    }

    /// Does what `retire` does.
    ///
    /// # Safety
    /// As for `retire`.
    pub(super) unsafe fn retire_linked<D: Domain>(&self, item: NonNull<()>, free: impl Fn(NonNull<()>)) {
        // SAFETY: the caller's promise.
        unsafe { self.retire::<D>(item, free) };
    }

    /// Does nothing: nothing panics.
    pub(super) fn count_panics<D: Domain>(_: u64) {}

    /// Does nothing: nothing waits.
    ///
    /// # Safety
    /// None.
    pub(super) unsafe fn reclaim<D: Domain>(&self, _: impl Fn(NonNull<()>)) {}

    /// Does nothing: nothing is left.
    ///
    /// # Safety
    /// None.
    pub(super) unsafe fn drain<D: Domain>(&mut self, _: impl Fn(NonNull<()>)) {}
}

/// Returns true: a model lacks no memory.
pub(super) fn may_enter<D: Domain>() -> bool {
    true
}

/// Calls `act` inside a section of `D`.
pub(super) fn in_section<D: Domain, R>(act: impl FnOnce() -> R) -> R {
    let reader = Reader::<D>::register_in();
    let _section = reader.read();
    act()
}

/// Runs `callback`, and returns false.
pub(super) fn panics(callback: impl FnOnce()) -> bool {
    callback();
    false
}
