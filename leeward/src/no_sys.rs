//! What other platforms need of `sys`.
#![allow(dead_code)]

/// Signals are left as they are.
pub(crate) struct BlockedSignals;

impl BlockedSignals {
    pub(crate) fn new() -> BlockedSignals {
        BlockedSignals
    }
}

/// Ends the process; called while a panic unwinds.
pub(crate) fn abort() -> ! {
    // A second panic does, and core has no other way.
    panic!("leeward: this process ends")
}
