//! The stand-in for `c/` in builds without domains of C.

use super::backing::State;

/// The time in which callbacks run on the calling thread.
pub(super) struct Callbacks;

impl Callbacks {
    /// Does nothing: no domain's callbacks expect anything of the thread that they run on.
    pub(super) fn begin(_: &'static State) -> Callbacks {
        Callbacks
    }
}

/// Returns `None`: no domain has a name.
pub(super) fn name_of(_: &'static State) -> Option<&'static str> {
    None
}
