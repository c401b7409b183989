//! What the map takes from the rest of the library: sections, the limbo, catching panics.
//!
//! Called by `write.rs`, `waste.rs` and `mod.rs`.

pub(in super::super) use crate::process::panics;
pub(in super::super) use crate::rcu::limbo::Limbo;

use crate::rcu::Domain;

/// Calls `act` inside a section of `D`, on the thread's own slot.
#[inline(always)]
pub(in super::super) fn in_section<D: Domain, R>(act: impl FnOnce() -> R) -> R {
    let _section = D::read();
    act()
}
