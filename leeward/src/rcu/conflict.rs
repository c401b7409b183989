//! The error of the cells' compare-exchange.

use core::fmt;

/// The error of a compare-exchange that found another value than it was told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict<C, N> {
    /// The value that is there.
    pub current: C,
    /// The value that was to be published.
    pub new: N,
}

impl<C, N> fmt::Display for Conflict<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cell holds another value than the expected one")
    }
}

impl<C: fmt::Debug, N: fmt::Debug> core::error::Error for Conflict<C, N> {}
