//! The error of the cells' compare-exchange.

use core::fmt;

/// The error of a compare-exchange that found another value than it was told of.
///
/// ```
/// use leeward::rcu::{self, Conflict, RcuCell};
/// let count = RcuCell::new(0_u32);
/// let guard = rcu::read();
/// let (mut seen, mut new) = (count.load(&guard), Box::new(1));
/// loop {
///     match count.compare_exchange(seen, new, &guard) {
///         Ok(old) => break old.defer(),
///         Err(Conflict { current, new: back }) => {
///             (seen, new) = (current, back);      // the box is used again
///             *new = seen + 1;
///         }
///     }
/// }
/// assert_eq!(*count.load(&guard), 1);
/// ```
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
