//! What other platforms need of `sys`.
#![allow(dead_code)]

/// Signals are left as they are.
pub(crate) struct BlockedSignals;

impl BlockedSignals {
    pub(crate) fn new() -> BlockedSignals {
        BlockedSignals
    }
}
