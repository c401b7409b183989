//! Atomic pointers with tags.

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::guard::Guard;
use super::pointable::{self, Pointable};
use super::pointer::sealed::Sealed;
use super::pointer::{Owned, Pointer, Shared};

/// An atomic pointer to a value on the heap, with a tag in the bits that the value's alignment leaves
/// free; it may be null: crossbeam-epoch's `Atomic`.
///
/// The orderings are the caller's, as in [`AtomicPtr`]: a load that acquires sees what the store that
/// released it made. Dropping one frees nothing.
///
/// ```
/// use leeward::rcu::epoch::{self, Atomic, Owned};
/// use std::sync::atomic::Ordering::{AcqRel, Acquire};
/// let head = Atomic::new(1);
/// let guard = epoch::pin();
/// let old = head.swap(Owned::new(2).with_tag(1), AcqRel, &guard);
/// // SAFETY: unlinked above, and retired once.
/// unsafe { guard.defer_destroy(old) };
/// let new = head.load(Acquire, &guard);
/// // SAFETY: it is still linked.
/// assert_eq!((unsafe { *new.deref() }, new.tag()), (2, 1));
/// # drop(unsafe { head.into_owned() });
/// ```
pub struct Atomic<T: ?Sized + Pointable> {
    pointer: AtomicPtr<()>,
    owns: PhantomData<*mut T>,
}

// SAFETY: threads that have the cell may share the value, and take it over.
unsafe impl<T: ?Sized + Pointable + Send + Sync> Send for Atomic<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Pointable + Send + Sync> Sync for Atomic<T> {}

/// The error of a compare-exchange: the pointer was another one.
///
/// ```
/// use leeward::rcu::epoch::{self, Atomic, CompareExchangeError, Owned, Shared};
/// use std::sync::atomic::Ordering::{Acquire, Release};
/// /// Takes the first value that a thread offers.
/// fn decide(place: &Atomic<u32>, offer: u32) -> u32 {
///     let guard = epoch::pin();
///     match place.compare_exchange(Shared::null(), Owned::new(offer), Release, Acquire, &guard) {
///         Ok(_) => offer,
///         // SAFETY: the value is never retired.
///         Err(CompareExchangeError { current, .. }) => unsafe { *current.deref() },
///     }
/// }
/// static PLACE: Atomic<u32> = Atomic::null();
/// assert_eq!((decide(&PLACE, 1), decide(&PLACE, 2)), (1, 1));
/// ```
pub struct CompareExchangeError<'g, T: ?Sized + Pointable, P: Pointer<T>> {
    /// The pointer that was there.
    pub current: Shared<'g, T>,
    /// The pointer that was to be put there.
    pub new: P,
}

impl<T: ?Sized + Pointable, P: Pointer<T> + fmt::Debug> fmt::Debug for CompareExchangeError<'_, T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompareExchangeError").field("current", &self.current).field("new", &self.new).finish()
    }
}

/// Returns a word that was loaded as the pointer that it is.
fn shared<'g, T: ?Sized + Pointable>(pointer: *mut ()) -> Shared<'g, T> {
    // SAFETY: it came from an owner, or from another such pointer, and looking at it is `unsafe`.
    unsafe { Shared::from_pointer(pointer) }
}

impl<T> Atomic<T> {
    /// Allocates a value and points to it.
    pub fn new(value: T) -> Atomic<T> {
        Owned::<T>::new(value).into()
    }
}

impl<T: ?Sized + Pointable> Atomic<T> {
    /// Allocates a value, or a slice of the given length, and points to it.
    ///
    /// ```
    /// use leeward::rcu::epoch::{self, Atomic};
    /// use std::mem::MaybeUninit;
    /// use std::sync::atomic::Ordering::Acquire;
    /// let table = Atomic::<[MaybeUninit<u32>]>::init(16);
    /// let guard = epoch::pin();
    /// // SAFETY: the table is never replaced.
    /// assert_eq!(unsafe { table.load(Acquire, &guard).deref() }.len(), 16);
    /// # drop(unsafe { table.into_owned() });
    /// ```
    pub fn init(init: T::Init) -> Atomic<T> {
        Owned::<T>::init(init).into()
    }

    /// Makes a null pointer.
    ///
    /// ```
    /// use leeward::rcu::epoch::{self, Atomic, Owned};
    /// use std::sync::atomic::Ordering::Release;
    /// static HEAD: Atomic<u32> = Atomic::null();
    /// let guard = epoch::pin();
    /// assert!(HEAD.load_consume(&guard).is_null());
    /// HEAD.store(Owned::new(7), Release);
    /// // SAFETY: the value is never retired.
    /// assert_eq!(unsafe { HEAD.load_consume(&guard).as_ref() }, Some(&7));
    /// ```
    pub const fn null() -> Atomic<T> {
        Atomic { pointer: AtomicPtr::new(core::ptr::null_mut()), owns: PhantomData }
    }

    /// Loads the pointer.
    #[inline]
    pub fn load<'g>(&self, order: Ordering, _: &'g Guard) -> Shared<'g, T> {
        shared(self.pointer.load(order))
    }

    /// Loads the pointer with [`Ordering::Acquire`], which is what C++'s `consume` becomes
    /// everywhere.
    #[inline]
    pub fn load_consume<'g>(&self, guard: &'g Guard) -> Shared<'g, T> {
        // Acquire: partner of whichever release made the value.
        self.load(Ordering::Acquire, guard)
    }

    /// Stores a pointer.
    #[inline]
    pub fn store<P: Pointer<T>>(&self, new: P, order: Ordering) {
        self.pointer.store(new.into_pointer(), order);
    }

    /// Stores a pointer and returns the one that was there.
    #[inline]
    pub fn swap<'g, P: Pointer<T>>(&self, new: P, order: Ordering, _: &'g Guard) -> Shared<'g, T> {
        shared(self.pointer.swap(new.into_pointer(), order))
    }

    /// Stores `new` if the pointer is `current`, tag included, and returns what is there now.
    ///
    /// ```
    /// use leeward::rcu::epoch::{self, Atomic, CompareExchangeError, Owned, Shared};
    /// use std::sync::atomic::Ordering::{Acquire, Release};
    /// let head = Atomic::null();
    /// let guard = epoch::pin();
    /// let none = Shared::null();
    /// assert!(head.compare_exchange(none, Owned::new(1), Release, Acquire, &guard).is_ok());
    /// match head.compare_exchange(none, Owned::new(2), Release, Acquire, &guard) {
    ///     // SAFETY: the value is never retired.
    ///     Err(CompareExchangeError { current, new }) => assert_eq!((unsafe { current.deref() }, *new), (&1, 2)),
    ///     Ok(_) => unreachable!("one is there"),
    /// }
    /// # drop(unsafe { head.into_owned() });
    /// ```
    ///
    /// # Errors
    /// The pointer that was there, and `new`.
    pub fn compare_exchange<'g, P: Pointer<T>>(
        &self,
        current: Shared<'_, T>,
        new: P,
        success: Ordering,
        failure: Ordering,
        _: &'g Guard,
    ) -> Result<Shared<'g, T>, CompareExchangeError<'g, T, P>> {
        let new = new.into_pointer();
        let outcome = self.pointer.compare_exchange(current.into_pointer(), new, success, failure);
        Self::outcome(outcome, new)
    }

    /// Does as [`compare_exchange`](Self::compare_exchange), but may fail although the pointer is
    /// `current`.
    ///
    /// ```
    /// use leeward::rcu::epoch::{self, Atomic, Owned, Shared};
    /// use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
    /// struct Node(u32, Atomic<Node>);
    /// let head = Atomic::null();
    /// /// Pushes a node, as Treiber's stack does.
    /// let push = |value| {
    ///     let guard = epoch::pin();
    ///     let mut node = Owned::new(Node(value, Atomic::null()));
    ///     let mut first: Shared<Node> = head.load(Relaxed, &guard);
    ///     loop {
    ///         node.1.store(first, Relaxed);
    ///         match head.compare_exchange_weak(first, node, Release, Relaxed, &guard) {
    ///             Ok(_) => break,
    ///             Err(failed) => (first, node) = (failed.current, failed.new),
    ///         }
    ///     }
    /// };
    /// push(1);
    /// push(2);
    /// let guard = epoch::pin();
    /// // SAFETY: no node is retired.
    /// let first = unsafe { head.load(Acquire, &guard).deref() };
    /// assert_eq!(first.0, 2);
    /// # drop(unsafe { first.1.load(Acquire, &guard).into_owned() });
    /// # drop(unsafe { head.into_owned() });
    /// ```
    ///
    /// # Errors
    /// The pointer that was there, and `new`.
    pub fn compare_exchange_weak<'g, P: Pointer<T>>(
        &self,
        current: Shared<'_, T>,
        new: P,
        success: Ordering,
        failure: Ordering,
        _: &'g Guard,
    ) -> Result<Shared<'g, T>, CompareExchangeError<'g, T, P>> {
        let new = new.into_pointer();
        let outcome = self.pointer.compare_exchange_weak(current.into_pointer(), new, success, failure);
        Self::outcome(outcome, new)
    }

    fn outcome<'g, P: Pointer<T>>(
        outcome: Result<*mut (), *mut ()>,
        new: *mut (),
    ) -> Result<Shared<'g, T>, CompareExchangeError<'g, T, P>> {
        match outcome {
            Ok(_) => Ok(shared(new)),
            // SAFETY: made of a `P` by the caller, and stored nowhere.
            Err(now) => Err(CompareExchangeError { current: shared(now), new: unsafe { P::from_pointer(new) } }),
        }
    }

    /// Stores what `next` makes of the pointer, and tries again if another thread was faster.
    /// Returns the pointer that was there.
    ///
    /// ```
    /// use leeward::rcu::epoch::{self, Atomic};
    /// use std::sync::atomic::Ordering::{AcqRel, Acquire};
    /// let link = Atomic::new(1);
    /// let guard = epoch::pin();
    /// let mark = || link.fetch_update(AcqRel, Acquire, &guard, |old| (old.tag() == 0).then(|| old.with_tag(1)));
    /// assert_eq!(mark().unwrap().tag(), 0);
    /// assert_eq!(mark().unwrap_err().tag(), 1);       // marked already
    /// # drop(unsafe { link.into_owned() });
    /// ```
    ///
    /// # Errors
    /// The pointer that is there, where `next` returns `None`.
    pub fn fetch_update<'g>(
        &self,
        set_order: Ordering,
        fetch_order: Ordering,
        _: &'g Guard,
        mut next: impl FnMut(Shared<'g, T>) -> Option<Shared<'g, T>>,
    ) -> Result<Shared<'g, T>, Shared<'g, T>> {
        let update = |now| next(shared(now)).map(Shared::into_pointer);
        self.pointer.fetch_update(set_order, fetch_order, update).map(shared).map_err(shared)
    }

    /// Replaces the tag by its bitwise *and* with `bits`. Returns the pointer that was there.
    pub fn fetch_and<'g>(&self, bits: usize, order: Ordering, _: &'g Guard) -> Shared<'g, T> {
        self.change_tag(order, |tag| tag & bits)
    }

    /// Replaces the tag by its bitwise *or* with `bits`. Returns the pointer that was there.
    ///
    /// ```
    /// use leeward::rcu::epoch::{self, Atomic};
    /// use std::sync::atomic::Ordering::{AcqRel, Acquire};
    /// let link = Atomic::new(1_u64);                  // its alignment leaves three bits
    /// let guard = epoch::pin();
    /// assert_eq!(link.fetch_or(0b011, AcqRel, &guard).tag(), 0);
    /// assert_eq!(link.fetch_and(0b110, AcqRel, &guard).tag(), 0b011);
    /// assert_eq!(link.fetch_xor(0b110, AcqRel, &guard).tag(), 0b010);
    /// assert_eq!(link.load(Acquire, &guard).tag(), 0b100);
    /// # drop(unsafe { link.into_owned() });
    /// ```
    pub fn fetch_or<'g>(&self, bits: usize, order: Ordering, _: &'g Guard) -> Shared<'g, T> {
        self.change_tag(order, |tag| tag | bits)
    }

    /// Replaces the tag by its bitwise *exclusive or* with `bits`. Returns the pointer that was
    /// there.
    pub fn fetch_xor<'g>(&self, bits: usize, order: Ordering, _: &'g Guard) -> Shared<'g, T> {
        self.change_tag(order, |tag| tag ^ bits)
    }

    /// Changes the tag, by compare-exchange: what a processor does for an *or* whose old value is
    /// asked for.
    fn change_tag<'g>(&self, order: Ordering, change: impl Fn(usize) -> usize) -> Shared<'g, T> {
        // The load of a read-modify-write acquires as the whole does.
        let fetch = match order {
            Ordering::Release | Ordering::Relaxed => Ordering::Relaxed,
            Ordering::AcqRel => Ordering::Acquire,
            order => order,
        };
        let update = |now| Some(pointable::with_tag::<T>(now, change(pointable::tag::<T>(now))));
        match self.pointer.fetch_update(order, fetch, update) {
            Ok(old) | Err(old) => shared(old),
        }
    }

    /// Takes the value over.
    ///
    /// # Safety
    /// The pointer is not null, and no thread has another pointer to the value that it will use.
    pub unsafe fn into_owned(self) -> Owned<T> {
        // SAFETY: the caller's promise.
        unsafe { Owned::from_pointer(self.pointer.into_inner()) }
    }

    /// Takes the value over, or returns `None` where the pointer is null.
    ///
    /// ```
    /// use leeward::rcu::epoch::Atomic;
    /// // SAFETY: no thread has a pointer to the value.
    /// let number = unsafe { Atomic::new(7).try_into_owned() };
    /// assert_eq!(*number.unwrap(), 7);
    /// // SAFETY: as above.
    /// assert!(unsafe { Atomic::<u32>::null().try_into_owned() }.is_none());
    /// ```
    ///
    /// # Safety
    /// As for [`into_owned`](Self::into_owned), but for a null pointer.
    pub unsafe fn try_into_owned(self) -> Option<Owned<T>> {
        // SAFETY: the caller's promise.
        unsafe { shared::<T>(self.pointer.into_inner()).try_into_owned() }
    }
}

impl<T: ?Sized + Pointable> Clone for Atomic<T> {
    /// Returns a copy of the pointer (relaxed), not of the value.
    fn clone(&self) -> Self {
        // Relaxed: says so.
        Atomic { pointer: AtomicPtr::new(self.pointer.load(Ordering::Relaxed)), owns: PhantomData }
    }
}

impl<T: ?Sized + Pointable> Default for Atomic<T> {
    fn default() -> Self {
        Atomic::null()
    }
}

impl<T: ?Sized + Pointable> From<Owned<T>> for Atomic<T> {
    fn from(owned: Owned<T>) -> Self {
        Atomic { pointer: AtomicPtr::new(owned.into_pointer()), owns: PhantomData }
    }
}

impl<T> From<Box<T>> for Atomic<T> {
    fn from(value: Box<T>) -> Self {
        Owned::<T>::from(value).into()
    }
}

impl<T> From<T> for Atomic<T> {
    fn from(value: T) -> Self {
        Atomic::new(value)
    }
}

impl<T: ?Sized + Pointable> From<Shared<'_, T>> for Atomic<T> {
    fn from(pointer: Shared<'_, T>) -> Self {
        Atomic { pointer: AtomicPtr::new(pointer.into_pointer()), owns: PhantomData }
    }
}

impl<T> From<*const T> for Atomic<T> {
    /// # Panics
    /// If the pointer is not aligned.
    fn from(raw: *const T) -> Self {
        Shared::from(raw).into()
    }
}

impl<T: ?Sized + Pointable> fmt::Debug for Atomic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: shows an address.
        let pointer: Shared<'_, T> = shared(self.pointer.load(Ordering::Relaxed));
        f.debug_struct("Atomic").field("pointer", &format_args!("{pointer:p}")).field("tag", &pointer.tag()).finish()
    }
}

impl<T: ?Sized + Pointable> fmt::Pointer for Atomic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: shows an address.
        fmt::Pointer::fmt(&shared::<T>(self.pointer.load(Ordering::Relaxed)), f)
    }
}
