//! The list's implementations of std's traits. Calls `list.rs`, `write.rs` and `iter.rs`.

use core::fmt;

use super::iter::{IntoIter, IterMut};
use super::list::List;
use crate::rcu::Domain;

impl<T, D: Domain> Default for List<T, D> {
    fn default() -> Self {
        List::new_in()
    }
}

/// Makes a list of the domain [`Global`](crate::rcu::Global); one of another domain is made empty and extended.
impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let list = List::new();
        list.add_all(values);
        list
    }
}

/// Makes a list of the domain [`Global`](crate::rcu::Global).
impl<T, const N: usize> From<[T; N]> for List<T> {
    fn from(values: [T; N]) -> Self {
        List::from_iter(values)
    }
}

impl<T, D: Domain> Extend<T> for List<T, D> {
    /// Adds values at the end, at one moment.
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        self.add_all(values);
    }
}

/// Adds values to a list that is shared.
impl<T, D: Domain> Extend<T> for &List<T, D> {
    /// Adds values at the end, at one moment: the iterator runs to its end first, with no lock held.
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        self.add_all(values);
    }
}

impl<T, D: Domain> IntoIterator for List<T, D> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(mut self) -> IntoIter<T> {
        IntoIter::new(self.take_chain())
    }
}

impl<'a, T, D: Domain> IntoIterator for &'a mut List<T, D> {
    type Item = &'a mut T;
    type IntoIter = IterMut<'a, T>;

    fn into_iter(self) -> IterMut<'a, T> {
        self.iter_mut()
    }
}

/// Shows the values, which it reads in a section; without `std` it has none to read them in.
impl<T: fmt::Debug, D: Domain> fmt::Debug for List<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "std")]
        return f.debug_list().entries(self.iter(&D::read())).finish();
        #[cfg(not(feature = "std"))]
        f.debug_struct("List").finish_non_exhaustive()
    }
}
