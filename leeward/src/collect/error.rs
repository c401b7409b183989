//! The error of asking for room.

use core::fmt;

/// The error of a `try_reserve`: there is no memory for so many entries, or there can be none.
///
/// ```
/// use leeward::collect::{HashMap, TryReserveError};
/// fn with_room(entries: usize) -> Result<HashMap<u64, u64>, TryReserveError> {
///     let map = HashMap::new();
///     map.try_reserve(entries)?;
///     Ok(map)
/// }
/// assert!(with_room(100).is_ok());
/// assert_eq!(with_room(usize::MAX).unwrap_err().to_string(), "there is no memory for so many entries");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TryReserveError(pub(super) ());

impl fmt::Display for TryReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no memory for so many entries")
    }
}

impl core::error::Error for TryReserveError {}
