//! Retired values: new readers cannot reach them, and they live until the old readers have left.
//!
//! Made by `option.rs`, and by authors of data structures; calls `defer/` and `grace.rs`.

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use super::super::NotQueued;
use super::super::cells::word;
use super::super::domain::{Cookie, Domain};
use super::callback::{Bytes, Call};

/// A function that frees a retired value.
type Function<T> = unsafe fn(NonNull<T>);

/// A value that a cell gave up. Its owner can still look at it, as can readers that loaded it
/// before.
///
/// Dropping it [defers](Self::defer): the value is neither freed early nor leaked.
///
/// ```
/// use leeward::rcu::{self, RcuCell, Retired};
/// let name = RcuCell::new(String::from("a"));
/// let old: Retired<String> = name.replace(String::from("b"));
/// assert_eq!(*old, "a");
/// let back: Box<String> = old.synchronize();      // waits for a grace period
/// assert_eq!(*back, "a");
/// name.replace(String::from("c")).defer();        // "b" is dropped on the domain's worker
/// rcu::barrier();
/// ```
///
/// # Differences from crossbeam-epoch
/// - Deferring needs no `unsafe` and no guard: a cell makes a `Retired`, which owns its value. (Data
///   structures of one's own make them by [`from_raw`](Self::from_raw).)
/// - A value can come back to its writer, after [`synchronize`](Self::synchronize) or by
///   [`try_into_box`](Self::try_into_box).
///
/// In the child of a [fork](crate::rcu#fork) it is a value as before: dropping it there defers the
/// child's copy.
#[must_use = "dropping it defers; say `.defer()`, or `.synchronize()` to have the value back"]
pub struct Retired<T: ?Sized, D: Domain = super::super::Global, F: Free<T> = Boxed> {
    value: NonNull<T>,
    free: F,
    /// Made at the first poll.
    cookie: Option<Cookie<D>>,
    owns: PhantomData<Box<T>>,
}

// SAFETY: it owns the value, which is `Send`; readers of other threads may share it meanwhile, so
// it must be `Sync` as well.
unsafe impl<T: ?Sized + Send + Sync, D: Domain, F: Free<T>> Send for Retired<T, D, F> {}
// SAFETY: a shared reference shares the value, as readers do.
unsafe impl<T: ?Sized + Send + Sync, D: Domain, F: Free<T>> Sync for Retired<T, D, F> {}

impl<T: ?Sized> Retired<T> {
    /// Retires a value of a data structure of one's own, which `free` frees: of any memory, whether or
    /// not it is `Send` or borrows.
    ///
    /// ```
    /// use leeward::rcu::Retired;
    /// use std::ptr::NonNull;
    ///
    /// /// # Safety
    /// /// From a box, and used by nobody.
    /// unsafe fn free(node: NonNull<u32>) {
    ///     // SAFETY: the caller's promise.
    ///     drop(unsafe { Box::from_raw(node.as_ptr()) });
    /// }
    /// let node = NonNull::from(Box::leak(Box::new(7)));
    /// // SAFETY: no reader can find it, and it is retired once.
    /// let retired = unsafe { Retired::from_raw(node, free) };
    /// assert_eq!(*retired, 7);
    /// retired.defer();
    /// ```
    ///
    /// # Safety
    /// - The value is the caller's alone to free, and no section of [`Global`](super::super::Global) that
    ///   begins from now on finds it.
    /// - `free` may be called with it on another thread, at any later time, or never.
    pub unsafe fn from_raw(value: NonNull<T>, free: Function<T>) -> Retired<T, super::super::Global, Function<T>> {
        // SAFETY: the caller's promise.
        unsafe { Self::from_raw_in(value, free) }
    }
}

impl<T: ?Sized, D: Domain> Retired<T, D> {
    /// Retires a value of a data structure of one's own in the domain `D`, as
    /// [`from_raw`](Retired::from_raw) does in `Global`.
    ///
    /// ```
    /// use leeward::rcu::Retired;
    /// use std::ptr::NonNull;
    /// leeward::rcu_domain! { struct Pages; }
    /// /// # Safety
    /// /// From a box, and used by nobody.
    /// unsafe fn free(page: NonNull<[u8; 64]>) {
    ///     // SAFETY: the caller's promise.
    ///     drop(unsafe { Box::from_raw(page.as_ptr()) });
    /// }
    /// let page = NonNull::from(Box::leak(Box::new([1; 64])));
    /// // SAFETY: no reader can find it, and it is retired once.
    /// let retired = unsafe { Retired::<_, Pages>::from_raw_in(page, free) };
    /// let page = retired.synchronize();               // or `try_into_raw`, which does not wait
    /// // SAFETY: no reader is left.
    /// unsafe { free(page) };
    /// ```
    ///
    /// # Safety
    /// As for `from_raw`, of the sections of `D`.
    pub unsafe fn from_raw_in(value: NonNull<T>, free: Function<T>) -> Retired<T, D, Function<T>> {
        Retired { value, free, cookie: None, owns: PhantomData }
    }

    /// Retires a value that was unlinked.
    ///
    /// # Safety
    /// `value` was behind the word of a cell (`word::value_of`), is the caller's alone to free, and no
    /// reader of `D` that begins from now on can find it. It is `Send` and borrows nothing.
    pub(in crate::rcu) unsafe fn new(value: NonNull<T>) -> Self {
        Retired { value, free: Boxed(()), cookie: None, owns: PhantomData }
    }

    /// Waits for a grace period and returns the value, which no reader has any more.
    ///
    /// # Cost
    /// As [`Domain::synchronize`]. A value without a size then [moves into its
    /// box](super::super::RcuOption#values-without-a-size).
    ///
    /// # Panics
    /// As [`Domain::synchronize`] does, for example inside a section of the same domain. The value
    /// is leaked then: unwinding must neither free nor wait.
    #[track_caller]
    pub fn synchronize(self) -> Box<T> {
        // SAFETY: from a cell, ours alone (`new`), and every reader that may have found it has left.
        unsafe { word::into_box(self.wait()) }
    }

    /// Returns the value, which no reader has any more.
    ///
    /// # Safety
    /// A grace period has passed since the value was retired.
    #[cfg(feature = "threads")]
    pub(in crate::rcu) unsafe fn into_box(self) -> Box<T> {
        // SAFETY: as in `synchronize`.
        unsafe { word::into_box(ManuallyDrop::new(self).value) }
    }

    /// Returns the value if a grace period has passed since the first call. Never waits for
    /// readers.
    ///
    /// ```
    /// use leeward::rcu::{self, RcuCell};
    /// let name = RcuCell::new("a");
    /// let guard = rcu::read();
    /// let old = name.replace("b").try_into_box().unwrap_err();        // a section may still use it
    /// drop(guard);
    /// rcu::synchronize();
    /// assert_eq!(*old.try_into_box().unwrap(), "a");
    /// ```
    ///
    /// # Cost
    /// The first call as [`Domain::start_poll`], and each as [`Domain::poll_state`].
    ///
    /// # Errors
    /// The retired value, while the grace period has not passed.
    pub fn try_into_box(self) -> Result<Box<T>, Self> {
        // SAFETY: as in `synchronize`: the cookie was made after the value was unlinked.
        self.poll().map(|value| unsafe { word::into_box(value) })
    }
}

impl<T: ?Sized, D: Domain> Retired<T, D, Function<T>> {
    /// Waits for a grace period and returns the value, which no reader has any more. It is the caller's
    /// to free.
    ///
    /// # Cost and panics
    /// As [`Domain::synchronize`].
    #[track_caller]
    pub fn synchronize(self) -> NonNull<T> {
        self.wait()
    }

    /// Returns the value, which is the caller's to free, if a grace period has passed since the first
    /// call. Never waits for readers.
    ///
    /// ```
    /// use leeward::rcu::Retired;
    /// use std::ptr::NonNull;
    /// unsafe fn free(_: NonNull<u32>) {}
    /// static NUMBER: u32 = 7;
    /// // SAFETY: it lives forever, and `free` does nothing to it.
    /// let mut retired = unsafe { Retired::from_raw(NonNull::from(&NUMBER), free) };
    /// let number = loop {
    ///     match retired.try_into_raw() {
    ///         Ok(number) => break number,
    ///         Err(back) => retired = back,    // try again later
    ///     }
    ///     std::thread::yield_now();
    /// };
    /// assert_eq!(number, NonNull::from(&NUMBER));
    /// ```
    ///
    /// # Cost
    /// The first call as [`Domain::start_poll`], and each as [`Domain::poll_state`].
    ///
    /// # Errors
    /// The retired value, while the grace period has not passed.
    pub fn try_into_raw(self) -> Result<NonNull<T>, Self> {
        self.poll()
    }
}

impl<T: ?Sized, D: Domain, F: Free<T>> Retired<T, D, F> {
    /// Drops the value after a grace period, on the domain's worker thread; [`Domain::defer`] says
    /// what happens at the limit, and what it costs.
    ///
    /// # Out of memory
    /// Queueing takes a few words. Where there are none, the caller itself waits for a grace
    /// period, for as long as the limit's policy allows, and drops the value. If the caller may not
    /// wait, or waits in vain, the value is leaked and counted in
    /// [`Stats::lost`](super::super::Stats::lost).
    pub fn defer(self) {
        drop(self);
    }

    /// Drops the value after a grace period, as [`defer`](Self::defer) does, and counts it as
    /// `bytes` bytes towards the domain's [limit](super::super::Limit): for values that own more than
    /// themselves.
    ///
    /// ```
    /// use leeward::rcu::{self, RcuCell};
    /// let page = RcuCell::new(vec![0; 1 << 16]);
    /// page.replace(vec![1; 1 << 16]).defer_bytes(1 << 16);    // what the heap holds counts as well
    /// rcu::barrier();
    /// ```
    pub fn defer_bytes(self, bytes: usize) {
        ManuallyDrop::new(self).enqueue(bytes);
    }

    /// Drops the value after a grace period, as [`defer`](Self::defer) does, but never waits.
    ///
    /// ```
    /// use leeward::rcu::RcuCell;
    /// let name = RcuCell::new("a");
    /// match name.replace("b").try_defer() {
    ///     Ok(()) => {}
    ///     Err(old) => assert_eq!(*old.synchronize(), "a"),    // the queue is full
    /// }
    /// ```
    ///
    /// # Errors
    /// The retired value, at the limit or where there is no memory to queue it.
    pub fn try_defer(self) -> Result<(), Self> {
        let this = ManuallyDrop::new(self);
        let free = this.freeing();
        // SAFETY: as in `enqueue`.
        let tried = unsafe { D::state().queue.try_defer::<D, _>(free, OfValue) };
        match tried {
            Ok(()) => Ok(()),
            // The call owns nothing: only making it would free the value.
            Err(NotQueued(_)) => Err(ManuallyDrop::into_inner(this)),
        }
    }

    /// Waits for a grace period.
    #[track_caller]
    fn wait(self) -> NonNull<T> {
        let this = ManuallyDrop::new(self);
        D::synchronize();
        this.value
    }

    /// Looks whether a grace period has passed since the first call.
    fn poll(mut self) -> Result<NonNull<T>, Self> {
        let cookie = *self.cookie.get_or_insert_with(D::start_poll);
        if D::poll_state(&cookie) { Ok(ManuallyDrop::new(self).value) } else { Err(self) }
    }

    /// Queues the value to be dropped. The caller gives up `self`.
    fn enqueue(&self, bytes: impl Bytes<Freeing<T, F>>) {
        // SAFETY: the value may be freed on any thread, after any time, by the promise of its maker.
        unsafe { D::state().queue.defer_or_wait::<D, _>(self.freeing(), bytes) };
    }

    /// Returns the call that frees the value, once its readers have left.
    fn freeing(&self) -> Freeing<T, F> {
        Freeing { value: self.value, free: self.free }
    }
}

/// The call that frees a retired value. It owns nothing until it is made.
struct Freeing<T: ?Sized, F> {
    value: NonNull<T>,
    free: F,
}

impl<T: ?Sized, F: Free<T>> Call for Freeing<T, F> {
    fn call(self) {
        // SAFETY: the value was its retirer's alone, which gives it up with this; every reader has left.
        unsafe { self.free.free(self.value) };
    }
}

/// The size of the value that is freed, which need not be kept with each callback.
#[derive(Clone, Copy)]
struct OfValue;

impl<T: ?Sized, F> Bytes<Freeing<T, F>> for OfValue {
    fn of(self, call: &Freeing<T, F>) -> usize {
        // SAFETY: the value is alive until it is freed.
        size_of_val(unsafe { call.value.as_ref() })
    }
}

/// How a retired value is freed: as a [`Box`](Boxed), or by a function.
///
/// Only this crate implements it.
///
/// ```
/// use leeward::rcu::{Domain, Free, Retired};
/// /// Works on values of boxes and on others.
/// fn retire<T, D: Domain, F: Free<T>>(old: Vec<Retired<T, D, F>>) {
///     old.into_iter().for_each(Retired::defer);
/// }
/// let name = leeward::rcu::RcuCell::new("a");
/// retire(vec![name.replace("b"), name.replace("c")]);
/// assert_eq!(*name.get(), "c");
/// ```
pub trait Free<T: ?Sized>: sealed::Sealed<T> {}

/// Retired values that came from a box, and are freed as one.
///
/// ```
/// use leeward::rcu::{Boxed, Global, RcuCell, Retired};
/// let name = RcuCell::new("a");
/// let old: Retired<&str, Global, Boxed> = name.replace("b");
/// assert_eq!(*old, "a");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Boxed(());

impl<T: ?Sized> Free<T> for Boxed {}
impl<T: ?Sized> Free<T> for Function<T> {}

mod sealed {
    use super::{Boxed, Function, NonNull, word};

    pub trait Sealed<T: ?Sized>: Copy {
        /// # Safety
        /// The value is the caller's alone, and of the kind that this frees.
        unsafe fn free(self, value: NonNull<T>);
    }

    impl<T: ?Sized> Sealed<T> for Boxed {
        unsafe fn free(self, value: NonNull<T>) {
            // SAFETY: from a cell (`Retired::new`), and the caller's alone.
            unsafe { word::free(value) };
        }
    }

    impl<T: ?Sized> Sealed<T> for Function<T> {
        unsafe fn free(self, value: NonNull<T>) {
            // SAFETY: the promise of `Retired::from_raw`.
            unsafe { self(value) };
        }
    }
}

impl<T: ?Sized, D: Domain, F: Free<T>> Deref for Retired<T, D, F> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: alive until `self` is given up.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized, D: Domain, F: Free<T>> Drop for Retired<T, D, F> {
    fn drop(&mut self) {
        self.enqueue(OfValue);
    }
}

impl<T: ?Sized, D: Domain, F: Free<T>> core::fmt::Debug for Retired<T, D, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Retired").finish_non_exhaustive()
    }
}
