//! What retired objects begin with.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// The first field of an object. seize keeps its lists there; here it is empty, and its address is the object's.
pub struct Link {
    _empty: (),
}

impl Link {
    pub(crate) fn new() -> Link {
        Link { _empty: () }
    }

    /// Returns the object that begins with a link.
    pub fn cast<T: AsLink>(link: *mut Link) -> *mut T {
        link.cast()
    }
}

/// A type whose objects begin with a [`Link`].
///
/// # Safety
/// The type is `repr(C)`, and its first field is a `Link`.
pub unsafe trait AsLink {}

/// An object that has a value.
#[repr(C)]
pub struct Linked<T> {
    /// What an object begins with.
    pub link: Link,
    /// What the program has put in.
    pub value: T,
}

// SAFETY: the link comes first.
unsafe impl<T> AsLink for Linked<T> {}

impl<T: PartialEq> PartialEq for Linked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Linked<T> {}

impl<T: fmt::Debug> fmt::Debug for Linked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for Linked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T> Deref for Linked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Linked<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}
