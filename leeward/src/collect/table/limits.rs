//! Between which sizes a table stays, and when it changes its size by itself. Programs in C set
//! limits (`list.rs`); the tables of Rust have none.

/// The limits of a table's size, in lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The least and the greatest number of lines.
    pub(crate) least: usize,
    pub(crate) most: usize,
    /// True if the table grows by itself, and if it shrinks.
    pub(crate) grows: bool,
    pub(crate) shrinks: bool,
}

impl Limits {
    /// Returns the limits of a table that may have any size.
    pub(crate) const fn none() -> Limits {
        Limits { least: 1, most: usize::MAX, grows: true, shrinks: true }
    }

    /// Returns true if a table of so many lines may grow by itself to twice as many.
    pub(super) fn may_grow(&self, lines: usize) -> bool {
        self.grows && lines <= self.most / 2
    }

    /// Returns true if a table of so many lines may shrink by itself to half as many.
    pub(super) fn may_shrink(&self, lines: usize) -> bool {
        self.shrinks && lines / 2 >= self.least
    }
}
