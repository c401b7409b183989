//! The error of registering a reader.

/// The error of a registration that found no memory for one more reader's slot.
///
/// ```
/// use leeward::rcu::{Global, NoMemory, Reader};
/// fn start() -> Result<Reader<Global>, NoMemory> {
///     Reader::try_register()
/// }
/// assert!(start().is_ok());       // the first 16 readers of a domain need no memory
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMemory;

impl core::fmt::Display for NoMemory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("there is no memory to register one more RCU reader")
    }
}

impl core::error::Error for NoMemory {}
