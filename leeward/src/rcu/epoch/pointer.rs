//! Pointers that own, and pointers that a guard protects.

use alloc::boxed::Box;
use core::borrow::{Borrow, BorrowMut};
use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ops::{Deref, DerefMut};

use super::pointable::{self, Pointable};

/// What can be put into an [`Atomic`](super::Atomic): an [`Owned`] or a [`Shared`].
///
/// ```
/// use leeward::rcu::epoch::{self, Atomic, Owned, Pointer, Shared};
/// use std::sync::atomic::Ordering;
/// fn put<P: Pointer<u32>>(cell: &Atomic<u32>, value: P) {
///     cell.store(value, Ordering::Release);
/// }
/// let cell = Atomic::null();
/// put(&cell, Owned::new(1));
/// let guard = epoch::pin();
/// let old = cell.load(Ordering::Acquire, &guard);
/// put(&cell, Shared::null());
/// // SAFETY: no other thread has the cell.
/// drop(unsafe { old.into_owned() });
/// ```
pub trait Pointer<T: ?Sized + Pointable>: sealed::Sealed<T> {}

impl<T: ?Sized + Pointable> Pointer<T> for Owned<T> {}
impl<T: ?Sized + Pointable> Pointer<T> for Shared<'_, T> {}

/// A value on the heap that its holder owns, with a tag: crossbeam-epoch's `Owned`.
///
/// ```
/// use leeward::rcu::epoch::Owned;
/// let mut value = Owned::new(7_u64).with_tag(1);
/// *value += 1;
/// assert_eq!((*value, value.tag()), (8, 1));
/// assert_eq!(*value.into_box(), 8);
/// ```
pub struct Owned<T: ?Sized + Pointable> {
    pointer: *mut (),
    owns: PhantomData<Box<T>>,
}

// SAFETY: it owns the value, as a box does.
unsafe impl<T: ?Sized + Pointable + Send> Send for Owned<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Pointable + Sync> Sync for Owned<T> {}

impl<T> Owned<T> {
    /// Allocates a value.
    pub fn new(value: T) -> Owned<T> {
        Owned::init(value)
    }

    /// Takes the value of a raw pointer over.
    ///
    /// ```
    /// use leeward::rcu::epoch::Owned;
    /// let raw = Box::into_raw(Box::new(7));
    /// // SAFETY: from a box, which nobody else has.
    /// let owned = unsafe { Owned::from_raw(raw) };
    /// assert_eq!(*owned, 7);
    /// ```
    ///
    /// # Safety
    /// The pointer came from [`Box::into_raw`], or from [`Shared::as_raw`] of a value whose owner
    /// the caller is.
    ///
    /// # Panics
    /// If the pointer is not aligned.
    #[track_caller]
    pub unsafe fn from_raw(raw: *mut T) -> Owned<T> {
        ensure_aligned(raw);
        Owned { pointer: raw.cast(), owns: PhantomData }
    }

    /// Returns the value's box. The tag is lost.
    pub fn into_box(self) -> Box<T> {
        let pointer = pointable::untagged::<T>(mem::ManuallyDrop::new(self).pointer);
        // SAFETY: from a box, and owned.
        unsafe { Box::from_raw(pointer.cast::<T>()) }
    }
}

impl<T: ?Sized + Pointable> Owned<T> {
    /// Allocates a value, or a slice of the given length.
    ///
    /// ```
    /// use leeward::rcu::epoch::Owned;
    /// use std::mem::MaybeUninit;
    /// let mut table = Owned::<[MaybeUninit<u32>]>::init(2);
    /// table[0].write(7);
    /// assert_eq!(table.len(), 2);
    /// ```
    ///
    /// # Panics
    /// If a slice of that length cannot be.
    pub fn init(init: T::Init) -> Owned<T> {
        Owned { pointer: T::init(init), owns: PhantomData }
    }

    /// Returns the tag.
    pub fn tag(&self) -> usize {
        pointable::tag::<T>(self.pointer)
    }

    /// Returns the same value with another tag, of which the bits that `T`'s alignment leaves free
    /// are kept.
    pub fn with_tag(mut self, tag: usize) -> Owned<T> {
        self.pointer = pointable::with_tag::<T>(self.pointer, tag);
        self
    }
}

impl<T: ?Sized + Pointable> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: `init` made it, and this owns it.
        unsafe { T::drop(pointable::untagged::<T>(self.pointer)) };
    }
}

impl<T: ?Sized + Pointable> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `init` made it, and this owns it.
        unsafe { T::deref(pointable::untagged::<T>(self.pointer)) }
    }
}

impl<T: ?Sized + Pointable> DerefMut for Owned<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, mutably.
        unsafe { T::deref_mut(pointable::untagged::<T>(self.pointer)) }
    }
}

impl<T: Clone> Clone for Owned<T> {
    fn clone(&self) -> Self {
        Owned::new((**self).clone()).with_tag(self.tag())
    }
}

impl<T> From<T> for Owned<T> {
    fn from(value: T) -> Self {
        Owned::new(value)
    }
}

impl<T> From<Box<T>> for Owned<T> {
    fn from(value: Box<T>) -> Self {
        Owned { pointer: Box::into_raw(value).cast(), owns: PhantomData }
    }
}

impl<T: ?Sized + Pointable> Borrow<T> for Owned<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized + Pointable> BorrowMut<T> for Owned<T> {
    fn borrow_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: ?Sized + Pointable> AsRef<T> for Owned<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized + Pointable> AsMut<T> for Owned<T> {
    fn as_mut(&mut self) -> &mut T {
        self
    }
}

impl<T: ?Sized + Pointable> fmt::Debug for Owned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = pointable::untagged::<T>(self.pointer);
        f.debug_struct("Owned").field("pointer", &pointer).field("tag", &self.tag()).finish()
    }
}

/// A pointer that was loaded under a guard, with a tag; it may be null: crossbeam-epoch's `Shared`.
///
/// The guard's borrow bounds it. That the value is alive is the structure's to keep: so looking at it
/// is `unsafe`.
///
/// ```
/// use leeward::rcu::epoch::{self, Atomic};
/// use std::sync::atomic::Ordering;
/// let cell = Atomic::new(5);
/// let guard = epoch::pin();
/// let value = cell.load(Ordering::Acquire, &guard);
/// // SAFETY: the cell is never emptied.
/// assert_eq!(unsafe { value.as_ref() }, Some(&5));
/// let marked = value.with_tag(1);
/// assert_eq!((marked.tag(), marked.as_raw()), (1, value.as_raw()));
/// assert!(marked != value && !value.is_null() && epoch::Shared::<i32>::null().is_null());
/// # drop(unsafe { cell.into_owned() });
/// ```
pub struct Shared<'g, T: 'g + ?Sized + Pointable> {
    pointer: *mut (),
    guard: PhantomData<(&'g (), *const T)>,
}

impl<T> Shared<'_, T> {
    /// Returns the pointer without its tag.
    pub fn as_raw(&self) -> *const T {
        pointable::untagged::<T>(self.pointer).cast::<T>().cast_const()
    }
}

impl<'g, T: ?Sized + Pointable> Shared<'g, T> {
    /// Returns the null pointer.
    pub const fn null() -> Shared<'g, T> {
        Shared { pointer: core::ptr::null_mut(), guard: PhantomData }
    }

    /// Returns true if the pointer, without its tag, is null.
    pub fn is_null(&self) -> bool {
        pointable::untagged::<T>(self.pointer).is_null()
    }

    /// Returns the value.
    ///
    /// ```
    /// use leeward::rcu::epoch::{self, Owned};
    /// let guard = epoch::pin();
    /// let mut value = Owned::new(5).into_shared(&guard);
    /// // SAFETY: not null, and no other thread has it.
    /// unsafe { *value.deref_mut() += 1 };
    /// // SAFETY: as above.
    /// assert_eq!(unsafe { value.deref() }, &6);
    /// // SAFETY: it is not used again.
    /// assert_eq!(*unsafe { value.try_into_owned() }.unwrap(), 6);
    /// ```
    ///
    /// # Safety
    /// The pointer is not null, and it was loaded under the guard of the collector through which the
    /// value is retired, with an ordering that acquires what made the value. While the guard is open
    /// no thread changes it.
    pub unsafe fn deref(&self) -> &'g T {
        // SAFETY: the caller's promise.
        unsafe { T::deref(pointable::untagged::<T>(self.pointer)) }
    }

    /// Returns the value, mutably.
    ///
    /// # Safety
    /// As for [`deref`](Self::deref), and no other thread looks at the value, nor is there another
    /// reference to it.
    pub unsafe fn deref_mut(&mut self) -> &'g mut T {
        // SAFETY: the caller's promise.
        unsafe { T::deref_mut(pointable::untagged::<T>(self.pointer)) }
    }

    /// Returns the value, or `None` where the pointer is null.
    ///
    /// # Safety
    /// As for [`deref`](Self::deref), but for a null pointer.
    pub unsafe fn as_ref(&self) -> Option<&'g T> {
        // SAFETY: the caller's promise.
        if self.is_null() { None } else { Some(unsafe { self.deref() }) }
    }

    /// Takes the value over.
    ///
    /// # Safety
    /// The pointer is not null, the caller is the value's owner, and no thread looks at it any more.
    pub unsafe fn into_owned(self) -> Owned<T> {
        debug_assert!(!self.is_null(), "leeward: into_owned of a null pointer");
        Owned { pointer: self.pointer, owns: PhantomData }
    }

    /// Takes the value over, or returns `None` where the pointer is null.
    ///
    /// # Safety
    /// As for [`into_owned`](Self::into_owned), but for a null pointer.
    pub unsafe fn try_into_owned(self) -> Option<Owned<T>> {
        // SAFETY: the caller's promise.
        if self.is_null() { None } else { Some(unsafe { self.into_owned() }) }
    }

    /// Returns the tag.
    pub fn tag(&self) -> usize {
        pointable::tag::<T>(self.pointer)
    }

    /// Returns the same pointer with another tag, of which the bits that `T`'s alignment leaves free
    /// are kept.
    pub fn with_tag(&self, tag: usize) -> Shared<'g, T> {
        Shared { pointer: pointable::with_tag::<T>(self.pointer, tag), guard: PhantomData }
    }
}

impl<T> From<*const T> for Shared<'_, T> {
    /// # Panics
    /// If the pointer is not aligned.
    #[track_caller]
    fn from(raw: *const T) -> Self {
        ensure_aligned(raw);
        Shared { pointer: raw.cast_mut().cast(), guard: PhantomData }
    }
}

impl<T: ?Sized + Pointable> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized + Pointable> Copy for Shared<'_, T> {}

impl<T: ?Sized + Pointable> Default for Shared<'_, T> {
    fn default() -> Self {
        Shared::null()
    }
}

/// Compares the addresses, with their tags.
impl<T: ?Sized + Pointable> PartialEq for Shared<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.pointer == other.pointer
    }
}
impl<T: ?Sized + Pointable> Eq for Shared<'_, T> {}

impl<T: ?Sized + Pointable> PartialOrd for Shared<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: ?Sized + Pointable> Ord for Shared<'_, T> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.pointer.cmp(&other.pointer)
    }
}

impl<T: ?Sized + Pointable> fmt::Debug for Shared<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = pointable::untagged::<T>(self.pointer);
        f.debug_struct("Shared").field("pointer", &pointer).field("tag", &self.tag()).finish()
    }
}

impl<T: ?Sized + Pointable> fmt::Pointer for Shared<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&pointable::untagged::<T>(self.pointer), f)
    }
}

/// Panics if a pointer is not aligned: its lower bits would be taken for a tag.
#[track_caller]
fn ensure_aligned<T>(raw: *const T) {
    assert!(raw.is_aligned(), "leeward: a pointer that is not aligned");
}

pub(super) mod sealed {
    use super::{Owned, PhantomData, Pointable, Shared, mem};

    /// The conversions to and from one word.
    pub trait Sealed<T: ?Sized> {
        /// Gives the pointer up for its word.
        fn into_pointer(self) -> *mut ();
        /// # Safety
        /// The word came from `into_pointer`, of this type or another that owned the value, and has
        /// been used for nothing else.
        unsafe fn from_pointer(pointer: *mut ()) -> Self;
    }

    impl<T: ?Sized + Pointable> Sealed<T> for Owned<T> {
        fn into_pointer(self) -> *mut () {
            mem::ManuallyDrop::new(self).pointer
        }

        unsafe fn from_pointer(pointer: *mut ()) -> Self {
            Owned { pointer, owns: PhantomData }
        }
    }

    impl<T: ?Sized + Pointable> Sealed<T> for Shared<'_, T> {
        fn into_pointer(self) -> *mut () {
            self.pointer
        }

        unsafe fn from_pointer(pointer: *mut ()) -> Self {
            Shared { pointer, guard: PhantomData }
        }
    }
}
