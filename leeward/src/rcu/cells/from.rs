//! What cells are made from, beside a value: boxes, and what std makes boxes from that have no size. The
//! conversions make cells of `Global`, so that callers need not name the domain; `from_in` makes them of any.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::domain::Domain;
use super::cell::RcuCell;
use super::option::RcuOption;

impl<T: ?Sized, D: Domain> RcuOption<T, D> {
    /// Makes a cell of the domain `D` that holds what is, or becomes, a box: for values without a size, and
    /// those that are allocated already. `from` makes one of [`Global`](super::super::Global).
    ///
    /// ```
    /// use leeward::rcu::RcuOption;
    /// leeward::rcu_domain! { struct Routes; }
    /// let name = RcuOption::<str, Routes>::from_in("a");
    /// assert_eq!(name.get().as_deref(), Some("a"));
    /// ```
    pub fn from_in(value: impl Into<Box<T>>) -> Self {
        Self::of_box(value.into())
    }
}

impl<T: ?Sized, D: Domain> RcuCell<T, D> {
    /// Makes a cell of the domain `D` that holds what is, or becomes, a box: for values without a size, and
    /// those that are allocated already. `from` makes one of [`Global`](super::super::Global).
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// leeward::rcu_domain! { struct Routes; }
    /// let ports = RcuCell::<[u16], Routes>::from_in(vec![80, 443]);
    /// assert_eq!(ports.get().len(), 2);
    /// ```
    pub fn from_in(value: impl Into<Box<T>>) -> Self {
        Self::of_box(value.into())
    }
}

/// Makes a cell of a value that is allocated already. One without a size [moves into memory of the
/// cell](RcuOption#values-without-a-size).
impl<T: ?Sized> From<Box<T>> for RcuOption<T> {
    fn from(value: Box<T>) -> Self {
        Self::from_in(value)
    }
}

/// Makes a cell of a value that is allocated already, as for [`RcuOption`].
impl<T: ?Sized> From<Box<T>> for RcuCell<T> {
    fn from(value: Box<T>) -> Self {
        Self::from_in(value)
    }
}

/// Makes cells of an unsized type from what std makes a box of it from.
macro_rules! from_what_boxes_are {
    ($([$($bounds:tt)*] $from:ty => $value:ty, $what:literal;)*) => {$(
        #[doc = $what]
        impl<$($bounds)*> From<$from> for RcuOption<$value> {
            fn from(value: $from) -> Self {
                Self::from_in(value)
            }
        }

        #[doc = $what]
        impl<$($bounds)*> From<$from> for RcuCell<$value> {
            fn from(value: $from) -> Self {
                Self::from_in(value)
            }
        }
    )*};
}

from_what_boxes_are! {
    [] &str => str, "Makes a cell of a copy of the text.";
    [] String => str, "Makes a cell of the text, which moves.";
    [T: Clone] &[T] => [T], "Makes a cell of clones of the elements.";
    [T] Vec<T> => [T], "Makes a cell of the elements, which move.";
}
