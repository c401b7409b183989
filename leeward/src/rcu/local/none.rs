//! Builds without thread-local storage: sections are opened through handles only.

use super::backing::Backing;
use super::slot::Slot;

/// Returns false: no section is open without a handle, and `Grace::is_inside` knows those of
/// handles.
pub(super) fn is_inside<D: Backing>() -> bool {
    false
}

/// Does nothing: a handle's slot is never transient.
pub(super) fn give_back<D: Backing>(_: &'static Slot) {}
