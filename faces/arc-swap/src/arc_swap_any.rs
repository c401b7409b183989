//! The cell: a pointer whose count is the cell's, loaded in sections and replaced behind grace
//! periods.

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::{self, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering};

use leeward::rcu::Domain;

use crate::access::{Access, Map};
use crate::debt::{Lender, Readers, pay};
use crate::strategy::{CaS, DefaultStrategy, Strategy};
use crate::{AsRaw, Guard, IndependentStrategy, RefCnt};

/// A cell of a counted pointer, which is loaded and replaced atomically. The usual ones are
/// [`ArcSwap`] and [`ArcSwapOption`].
///
/// All loads, swaps and successful exchanges have one order, over all cells (they are sequentially
/// consistent).
///
/// ```
/// use arc_swap::ArcSwap;
/// use std::sync::Arc;
/// let limit = ArcSwap::from_pointee(5);
/// assert_eq!(**limit.load(), 5);
/// assert_eq!(Arc::try_unwrap(limit.swap(Arc::new(6))), Ok(5));
/// ```
pub struct ArcSwapAny<T: RefCnt, S: Strategy<T> = DefaultStrategy> {
    /// The address of the value; its count is the cell's.
    ptr: AtomicPtr<T::Base>,
    value: PhantomData<T>,
    strategy: PhantomData<S>,
}

/// A cell of an `Arc`.
pub type ArcSwap<T> = ArcSwapAny<Arc<T>>;

/// A cell of an `Option<Arc>`.
///
/// ```
/// use arc_swap::ArcSwapOption;
/// use std::sync::Arc;
/// static LIMIT: ArcSwapOption<u32> = ArcSwapOption::const_empty();
/// assert!(LIMIT.load().is_none());
/// LIMIT.store(Some(Arc::new(5)));
/// assert_eq!(LIMIT.load_full().as_deref(), Some(&5));
/// ```
pub type ArcSwapOption<T> = ArcSwapAny<Option<Arc<T>>>;

/// The same as [`ArcSwap`], as in arc-swap.
#[doc(hidden)]
pub type IndependentArcSwap<T> = ArcSwapAny<Arc<T>, IndependentStrategy>;

/// A cell of a `Weak`.
#[cfg(feature = "weak")]
pub type ArcSwapWeak<T> = ArcSwapAny<alloc::sync::Weak<T>>;

impl<T: RefCnt, S: Strategy<T>> ArcSwapAny<T, S> {
    /// Makes a cell that holds `val`.
    pub fn new(val: T) -> Self
    where
        S: Default,
    {
        Self::from(val)
    }

    /// Makes a cell that holds `val`. The strategy changes nothing, and is dropped.
    pub fn with_strategy(val: T, _: S) -> Self {
        ArcSwapAny { ptr: AtomicPtr::new(T::into_ptr(val)), value: PhantomData, strategy: PhantomData }
    }

    /// Returns the value. Guards that borrow it keep it.
    pub fn into_inner(self) -> T {
        ManuallyDrop::new(self).take()
    }

    /// Takes the value out of a cell that nobody else uses, and that is not used again.
    fn take(&mut self) -> T {
        // SAFETY: the cell's count, once.
        let value = ManuallyDrop::new(unsafe { T::from_ptr(*self.ptr.get_mut()) });
        // No section is to be waited for: every load has borrowed the cell, and so has ended.
        pay(&value);
        ManuallyDrop::into_inner(value)
    }

    /// Returns the value with a count of its own.
    pub fn load_full(&self) -> T {
        let section = Readers::read();
        // SeqCst: arc-swap's loads and swaps have one order.
        let ptr = self.ptr.load(Ordering::SeqCst);
        // SAFETY: the count is the cell's, which `section` keeps; `ManuallyDrop` leaves it there.
        let value = ManuallyDrop::new(unsafe { T::from_ptr(ptr) });
        let own = T::clone(&value);
        drop(section);
        own
    }

    /// Returns the value without a count of its own, as long as the thread has a slot left.
    ///
    /// Cost: a section, a store and a compare-exchange to the thread's own lines.
    #[inline]
    pub fn load(&self) -> Guard<T, S> {
        // Before the section: the first call allocates.
        let lender = if T::IS_LENT { Some(Lender::own()) } else { None };
        let section = Readers::read();
        // SeqCst: as in `load_full`.
        let ptr = self.ptr.load(Ordering::SeqCst);
        // SAFETY: the count is the cell's, which `section` keeps, and beyond it our note does.
        let value = ManuallyDrop::new(unsafe { T::from_ptr(ptr) });
        let note = match lender {
            Some(lender) if !ptr.is_null() => lender.lend(ptr.cast::<()>()),
            _ => None,
        };
        if note.is_none() {
            T::inc(&value);
        }
        drop(section);
        Guard::new(value, note)
    }

    /// Replaces the value and drops the old one, once no guard has it. Waits as [`swap`](Self::swap)
    /// does.
    #[track_caller]
    pub fn store(&self, val: T) {
        drop(self.swap(val));
    }

    /// Replaces the value and returns the old one, whose count is exact.
    ///
    /// Cost: a grace period of this crate's domain, and a look at each thread's slots.
    #[track_caller]
    pub fn swap(&self, new: T) -> T {
        // SeqCst: as in `load_full`.
        let old = self.ptr.swap(T::into_ptr(new), Ordering::SeqCst);
        // SAFETY: the cell's count, which nobody else takes.
        unsafe { Self::replaced(old) }
    }

    /// Waits for the loads that may have found `old`, pays for their guards, and returns the value.
    ///
    /// # Safety
    /// The count of `old` was the cell's, and is the caller's now.
    #[track_caller]
    unsafe fn replaced(old: *mut T::Base) -> T {
        if !old.is_null() {
            Readers::synchronize();
        }
        // SAFETY: the caller's promise.
        let value = ManuallyDrop::new(unsafe { T::from_ptr(old) });
        pay(&value);
        ManuallyDrop::into_inner(value)
    }

    /// Replaces the value by `new` if it is `current`, by address. Returns the value that was there:
    /// it has been replaced if it is `current`.
    #[track_caller]
    pub fn compare_and_swap<C>(&self, current: C, new: T) -> Guard<T, S>
    where
        C: AsRaw<T::Base>,
        S: CaS<T>,
    {
        let expected = current.as_raw();
        let new = T::into_ptr(new);
        loop {
            // The guard keeps what it found from being freed, and its address from being another's.
            let found = self.load();
            if T::as_ptr(&found) != expected {
                // SAFETY: the count that `new` came with; it was not installed.
                unsafe { T::dec(new) };
                return found;
            }
            // SeqCst: as in `load_full`. Relaxed on failure: nothing is read through it.
            if let Ok(old) = self.ptr.compare_exchange(expected, new, Ordering::SeqCst, Ordering::Relaxed) {
                // SAFETY: the cell's count, which nobody else takes.
                drop(unsafe { Self::replaced(old) });
                return found;
            }
        }
    }

    /// Replaces the value by what `f` makes of it; again if another writer comes between. Returns the
    /// value that was replaced.
    ///
    /// ```
    /// use arc_swap::ArcSwap;
    /// let count = ArcSwap::from_pointee(1);
    /// assert_eq!(*count.rcu(|count| **count + 1), 1);
    /// assert_eq!(**count.load(), 2);
    /// ```
    #[track_caller]
    pub fn rcu<R, F>(&self, mut f: F) -> T
    where
        F: FnMut(&T) -> R,
        R: Into<T>,
        S: CaS<T>,
    {
        let mut current = self.load();
        loop {
            let new = f(&current).into();
            let found = self.compare_and_swap(&*current, new);
            if ptr::eq(T::as_ptr(&current), T::as_ptr(&found)) {
                return Guard::into_inner(found);
            }
            current = found;
        }
    }

    /// Returns an [`Access`] to a part of the value.
    pub fn map<I, R, F>(&self, f: F) -> Map<&Self, I, F>
    where
        F: Fn(&I) -> &R + Clone,
        Self: Access<I>,
    {
        Map::new(self, f)
    }

    /// Returns true if the value's address is still that of `value`.
    #[inline]
    pub(crate) fn is_still(&self, value: &T) -> bool {
        // Relaxed: `value` keeps its address from being another's; one that changed is loaded.
        ptr::eq(self.ptr.load(Ordering::Relaxed), T::as_ptr(value))
    }
}

impl<T, S: Strategy<Arc<T>>> ArcSwapAny<Arc<T>, S> {
    /// Makes a cell of an `Arc` of `val`.
    pub fn from_pointee(val: T) -> Self
    where
        S: Default,
    {
        Self::from(Arc::new(val))
    }
}

impl<T, S: Strategy<Option<Arc<T>>>> ArcSwapAny<Option<Arc<T>>, S> {
    /// Makes a cell of an `Arc` of `val`, or an empty one.
    pub fn from_pointee<V: Into<Option<T>>>(val: V) -> Self
    where
        S: Default,
    {
        Self::new(val.into().map(Arc::new))
    }

    /// Makes an empty cell.
    pub fn empty() -> Self
    where
        S: Default,
    {
        Self::new(None)
    }
}

impl<T> ArcSwapOption<T> {
    /// Makes an empty cell, for a static.
    pub const fn const_empty() -> Self {
        ArcSwapAny { ptr: AtomicPtr::new(null_mut()), value: PhantomData, strategy: PhantomData }
    }
}

impl<T: RefCnt, S: Strategy<T>> Drop for ArcSwapAny<T, S> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T: RefCnt, S: Default + Strategy<T>> From<T> for ArcSwapAny<T, S> {
    fn from(val: T) -> Self {
        Self::with_strategy(val, S::default())
    }
}

impl<T: RefCnt + Default, S: Default + Strategy<T>> Default for ArcSwapAny<T, S> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: fmt::Debug + RefCnt, S: Strategy<T>> fmt::Debug for ArcSwapAny<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ArcSwapAny").field(&self.load()).finish()
    }
}

impl<T: fmt::Display + RefCnt, S: Strategy<T>> fmt::Display for ArcSwapAny<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::fmt(&self.load(), f)
    }
}
