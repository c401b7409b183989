//! Builds without thread-local storage: sections are opened through handles only.

use super::super::backing::State;
use super::slot::Slot;

/// Returns false: no section is open without a handle, and `Grace::is_inside` knows those of
/// handles.
pub(in crate::rcu) fn is_inside(_: &State) -> bool {
    false
}

/// Does nothing: a handle's slot is never transient.
pub(in crate::rcu) fn give_back(_: &State, _: &'static Slot) {}
