//! What cells are made from, beside a value: boxes, and what std makes boxes from that have no size.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::domain::Domain;
use super::cell::RcuCell;
use super::option::RcuOption;

/// Makes a cell of a value that is allocated already. One without a size [moves into memory of the
/// cell](RcuOption#values-without-a-size).
impl<T: ?Sized, D: Domain> From<Box<T>> for RcuOption<T, D> {
    fn from(value: Box<T>) -> Self {
        Self::of_box(value)
    }
}

/// Makes a cell of a value that is allocated already, as for [`RcuOption`].
impl<T: ?Sized, D: Domain> From<Box<T>> for RcuCell<T, D> {
    fn from(value: Box<T>) -> Self {
        Self::of_box(value)
    }
}

/// Makes cells of an unsized type from what std makes a box of it from.
macro_rules! from_what_boxes_are {
    ($([$($bounds:tt)*] $from:ty => $value:ty, $what:literal;)*) => {$(
        #[doc = $what]
        impl<$($bounds)* D: Domain> From<$from> for RcuOption<$value, D> {
            fn from(value: $from) -> Self {
                Self::of_box(value.into())
            }
        }

        #[doc = $what]
        impl<$($bounds)* D: Domain> From<$from> for RcuCell<$value, D> {
            fn from(value: $from) -> Self {
                Self::of_box(value.into())
            }
        }
    )*};
}

from_what_boxes_are! {
    [] &str => str, "Makes a cell of a copy of the text.";
    [] String => str, "Makes a cell of the text, which moves.";
    [T: Clone,] &[T] => [T], "Makes a cell of clones of the elements.";
    [T,] Vec<T> => [T], "Makes a cell of the elements, which move.";
}
