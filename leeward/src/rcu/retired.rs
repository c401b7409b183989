//! Retired values: new readers cannot reach them, and they live until the old readers have left.
//!
//! Made by `option.rs`; calls `defer/` and `grace.rs`.

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use super::NotQueued;
use super::callback::{Bytes, SizeOf};
use super::domain::{Cookie, Domain};

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
/// - Deferring needs no `unsafe` and no guard: only a cell makes a `Retired`, which owns its value.
/// - A value can come back to its writer, after [`synchronize`](Self::synchronize) or by
///   [`try_into_box`](Self::try_into_box).
///
/// In the child of a [fork](super#fork) it is a value as before: dropping it there defers the
/// child's copy.
#[must_use = "dropping it defers; say `.defer()`, or `.synchronize()` to have the value back"]
pub struct Retired<T: Send + 'static, D: Domain = super::Global> {
    value: NonNull<T>,
    /// Made at the first poll.
    cookie: Option<Cookie<D>>,
    owns: PhantomData<Box<T>>,
}

// SAFETY: it owns the value, which is `Send`; readers of other threads may share it meanwhile, so
// it must be `Sync` as well.
unsafe impl<T: Send + Sync, D: Domain> Send for Retired<T, D> {}
// SAFETY: a shared reference shares the value, as readers do.
unsafe impl<T: Send + Sync, D: Domain> Sync for Retired<T, D> {}

impl<T: Send, D: Domain> Retired<T, D> {
    /// Retires a value that was unlinked.
    ///
    /// # Safety
    /// `value` came from a box, is the caller's alone to free, and no reader of `D` that begins
    /// from now on can find it.
    pub(super) unsafe fn new(value: NonNull<T>) -> Self {
        Retired { value, cookie: None, owns: PhantomData }
    }

    /// Drops the value after a grace period, on the domain's worker thread; [`Domain::defer`] says
    /// what happens at the limit, and what it costs.
    ///
    /// # Out of memory
    /// Queueing takes a few words. Where there are none, the caller itself waits for a grace
    /// period, for as long as the limit's policy allows, and drops the value. If the caller may not
    /// wait, or waits in vain, the value is leaked and counted in
    /// [`Stats::lost`](super::Stats::lost).
    pub fn defer(self) {
        drop(self);
    }

    /// Drops the value after a grace period, as [`defer`](Self::defer) does, and counts it as
    /// `bytes` bytes towards the domain's [limit](super::Limit): for values that own more than
    /// themselves.
    pub fn defer_bytes(self, bytes: usize) {
        ManuallyDrop::new(self).enqueue(bytes);
    }

    /// Drops the value after a grace period, as [`defer`](Self::defer) does, but never waits.
    ///
    /// # Errors
    /// The retired value, at the limit or where there is no memory to queue it.
    pub fn try_defer(self) -> Result<(), Self> {
        let this = ManuallyDrop::new(self);
        let value = Value(this.value);
        let tried = D::state().queue.try_defer::<D, _>(move || value.free(), SizeOf::<T>::NEW);
        match tried {
            Ok(()) => Ok(()),
            // The closure owns nothing: only calling it would free the value.
            Err(NotQueued(_)) => Err(ManuallyDrop::into_inner(this)),
        }
    }

    /// Waits for a grace period and returns the value, which no reader has any more.
    ///
    /// # Cost
    /// As [`Domain::synchronize`].
    ///
    /// # Panics
    /// As [`Domain::synchronize`] does, for example inside a section of the same domain. The value
    /// is leaked then: unwinding must neither free nor wait.
    #[track_caller]
    pub fn synchronize(self) -> Box<T> {
        let this = ManuallyDrop::new(self);
        D::synchronize();
        // SAFETY: from a box, ours alone (`new`), and every reader that may have found it has left.
        unsafe { Box::from_raw(this.value.as_ptr()) }
    }

    /// Returns the value if a grace period has passed since the first call. Never waits for
    /// readers.
    ///
    /// # Cost
    /// The first call as [`Domain::start_poll`], and each as [`Domain::poll`].
    ///
    /// # Errors
    /// The retired value, while the grace period has not passed.
    pub fn try_into_box(mut self) -> Result<Box<T>, Self> {
        let cookie = *self.cookie.get_or_insert_with(D::start_poll);
        if !D::poll(&cookie) {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: as in `synchronize`: the cookie was made after the value was unlinked.
        Ok(unsafe { Box::from_raw(this.value.as_ptr()) })
    }

    /// Queues the value to be dropped. The caller gives up `self`.
    fn enqueue(&self, bytes: impl Bytes) {
        let value = Value(self.value);
        D::state().queue.defer_or_wait::<D, _>(move || value.free(), bytes);
    }
}

/// A value that a callback will free.
struct Value<T>(NonNull<T>);

// SAFETY: the value is freed on another thread, for which it must be `Send`.
unsafe impl<T: Send> Send for Value<T> {}

impl<T> Value<T> {
    fn free(self) {
        // SAFETY: it came from a box and was its retirer's alone (`Retired::new`), which gave it
        // up; every reader has left.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<T: Send, D: Domain> Deref for Retired<T, D> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: alive until `self` is given up.
        unsafe { self.value.as_ref() }
    }
}

impl<T: Send, D: Domain> Drop for Retired<T, D> {
    fn drop(&mut self) {
        self.enqueue(SizeOf::<T>::NEW);
    }
}

impl<T: Send, D: Domain> core::fmt::Debug for Retired<T, D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Retired").finish_non_exhaustive()
    }
}
