//! The error of asking for room.

use core::fmt;

/// The error of a `try_reserve`: there is no memory for so many entries, or there can be none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TryReserveError(pub(super) ());

impl fmt::Display for TryReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory for so many entries")
    }
}

impl core::error::Error for TryReserveError {}
