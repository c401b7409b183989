//! What lists and ordered maps take from the rest of the library: sections, the limbo, catching
//! panics. (`model.rs` is its stand-in under loom.)

pub(super) use crate::process::panics;
pub(super) use crate::rcu::free::aside::AsideLink;
pub(super) use crate::rcu::free::limbo::Limbo;

use crate::rcu::Domain;

/// Returns true if the calling thread can open a section of `D`: there is memory for its slot. A thread
/// whose variables were dropped already takes a slot for each section, and may yet find none; there is
/// nothing by which it could keep one. It panics then, as `read` does.
pub(super) fn may_enter<D: Domain>() -> bool {
    D::register().is_ok()
}

/// Calls `act` inside a section of `D`, on the thread's own slot.
#[inline(always)]
pub(super) fn in_section<D: Domain, R>(act: impl FnOnce() -> R) -> R {
    let _section = D::read();
    act()
}
