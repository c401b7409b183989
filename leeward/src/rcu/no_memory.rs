//! The error of registering a reader.

/// There is no memory for one more reader's slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory;

impl core::fmt::Display for NoMemory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("there is no memory to register one more RCU reader")
    }
}

impl core::error::Error for NoMemory {}
