//! What was taken from a queue at once, value by value.

use super::core::Core;
use crate::futex::{Futex, Private};

/// The values of a [`Queue`](super::Queue) that was consumed, the first that was pushed first.
///
/// ```
/// use leeward::collect::Queue;
/// let queue: Queue<u32> = [1, 2, 3].into_iter().collect();
/// let mut values = queue.into_iter();
/// assert_eq!(values.next(), Some(1));
/// drop(values); // drops the others
/// ```
pub struct IntoIter<T, F: Futex = Private> {
    core: Core<T, F>,
}

impl<T, F: Futex> IntoIter<T, F> {
    pub(super) fn new(core: Core<T, F>) -> Self {
        IntoIter { core }
    }
}

impl<T, F: Futex> Iterator for IntoIter<T, F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.core.take_owned()
    }
}

impl<T, F: Futex> core::iter::FusedIterator for IntoIter<T, F> {}

impl<T, F: Futex> core::fmt::Debug for IntoIter<T, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("IntoIter").field("is_empty", &self.core.is_empty()).finish_non_exhaustive()
    }
}
