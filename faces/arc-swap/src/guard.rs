//! What a load returns: a value that is borrowed by a note, or owned.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;

use crate::RefCnt;
use crate::debt::Slot;
use crate::strategy::{DefaultStrategy, Strategy};

/// A value as it was when it was loaded; reads as the pointer (an `Arc`, say).
///
/// It is no read section: it may be kept, sent to another thread and outlive its cell, and delays
/// neither a writer nor the drop of any other value. To make it an `Arc` of its own:
/// [`Guard::into_inner`].
///
/// ```
/// use arc_swap::{ArcSwap, Guard};
/// let limit = ArcSwap::from_pointee(5);
/// let guard = limit.load();
/// limit.store(std::sync::Arc::new(6));
/// drop(limit);
/// assert_eq!(*Guard::into_inner(guard), 5);
/// ```
#[must_use]
pub struct Guard<T: RefCnt, S: Strategy<T> = DefaultStrategy> {
    value: ManuallyDrop<T>,
    /// Where the note is, as long as no writer has paid it; `None`: the value is this guard's own.
    note: Option<&'static Slot>,
    strategy: PhantomData<fn() -> S>,
}

impl<T: RefCnt, S: Strategy<T>> Guard<T, S> {
    /// Makes a guard of a value that is borrowed by `note`, or owned.
    #[inline]
    pub(crate) fn new(value: ManuallyDrop<T>, note: Option<&'static Slot>) -> Self {
        Guard { value, note, strategy: PhantomData }
    }

    /// Returns the value with a count of its own.
    #[allow(clippy::wrong_self_convention)]
    #[inline]
    pub fn into_inner(lease: Self) -> T {
        let mut lease = ManuallyDrop::new(lease);
        if let Some(note) = lease.note {
            let given = T::inc(&lease.value);
            if !note.clear(given.cast::<()>()) {
                // SAFETY: a writer has paid, so there is one count too many: the one that `inc` made.
                unsafe { T::dec(given) };
            }
        }
        // SAFETY: the value has a count, and neither it nor the guard is used again.
        unsafe { ManuallyDrop::take(&mut lease.value) }
    }

    /// Makes a guard that owns `inner`.
    pub fn from_inner(inner: T) -> Self {
        Guard::new(ManuallyDrop::new(inner), None)
    }
}

impl<T: RefCnt, S: Strategy<T>> Drop for Guard<T, S> {
    #[inline]
    fn drop(&mut self) {
        if self.note.is_some_and(|note| note.clear(T::as_ptr(&self.value).cast::<()>())) {
            return;
        }
        // SAFETY: the value has a count of its own, from the start or by a writer's payment, and is not
        // used again.
        unsafe { ManuallyDrop::drop(&mut self.value) };
    }
}

impl<T: RefCnt, S: Strategy<T>> Deref for Guard<T, S> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: RefCnt, S: Strategy<T>> From<T> for Guard<T, S> {
    fn from(inner: T) -> Self {
        Self::from_inner(inner)
    }
}

impl<T: Default + RefCnt, S: Strategy<T>> Default for Guard<T, S> {
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<T: fmt::Debug + RefCnt, S: Strategy<T>> fmt::Debug for Guard<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}

impl<T: fmt::Display + RefCnt, S: Strategy<T>> fmt::Display for Guard<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(self, f)
    }
}
