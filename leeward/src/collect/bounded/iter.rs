//! What was left in a queue that was consumed, value by value.

use super::ring::Ring;
use crate::futex::{Futex, Private};

/// The values of a [`Bounded`](super::Bounded) that was consumed, the first that was pushed first.
///
/// ```
/// use leeward::collect::Bounded;
/// let queue = Bounded::with_capacity(2);
/// queue.try_push('a').unwrap();
/// queue.try_push('b').unwrap();
/// let mut values = queue.into_iter();
/// assert_eq!(values.next(), Some('a'));
/// drop(values); // drops the others
/// ```
pub struct IntoIter<T, F: Futex = Private> {
    ring: Ring<T, F>,
}

impl<T, F: Futex> IntoIter<T, F> {
    pub(super) fn new(ring: Ring<T, F>) -> Self {
        // In the child of a fork, the values that are left are known after this.
        ring.enter();
        IntoIter { ring }
    }
}

impl<T, F: Futex> Iterator for IntoIter<T, F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.ring.take_owned()
    }
}

impl<T, F: Futex> core::iter::FusedIterator for IntoIter<T, F> {}

impl<T, F: Futex> core::fmt::Debug for IntoIter<T, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("IntoIter").field("len", &self.ring.len()).finish_non_exhaustive()
    }
}
