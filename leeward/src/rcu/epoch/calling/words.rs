//! A note of the calling thread's that it is making deferred calls: then a record that ends within one
//! makes none, or calls would nest as deep as they defer one another.

use crate::process::local::{Word, word};

word! {
    /// 1: the thread makes deferred calls.
    static EPOCH_CALLING: usize = 0
}

/// Returns true if the thread is making calls.
pub(super) fn is_under_way() -> bool {
    EPOCH_CALLING.get() != 0
}

/// Says whether the thread makes calls, and returns what it said before.
pub(super) fn set(is_calling: bool) -> bool {
    let before = is_under_way();
    EPOCH_CALLING.set(usize::from(is_calling));
    before
}
