//! A value that was replaced: out of new readers' reach, alive until the old ones have left.

use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Deref;
use core::ptr::NonNull;

use super::Full;
use super::callback::{Bytes, SizeOf};
use super::domain::{Cookie, Domain};

/// What a cell gave up. Dropping it [defers](Self::defer); it never frees early and never leaks by being dropped.
///
/// It can still be looked at, as every reader can that had loaded it before.
#[must_use = "dropping it defers; say `.defer()`, or `.synchronize()` to have the value back"]
pub struct Retired<T: Send + 'static, D: Domain = super::Global> {
    value: NonNull<T>,
    /// Asked for at the first poll.
    cookie: Option<Cookie<D>>,
    owns: PhantomData<Box<T>>,
}

// SAFETY: it owns the value, which is `Send`; readers of other threads may share it meanwhile, so it must be `Sync`
// as well.
unsafe impl<T: Send + Sync, D: Domain> Send for Retired<T, D> {}
// SAFETY: shares the value, as readers do.
unsafe impl<T: Send + Sync, D: Domain> Sync for Retired<T, D> {}

impl<T: Send, D: Domain> Retired<T, D> {
    /// # Safety
    /// `value` came from a box, is the caller's alone to free, and no reader of `D` that begins from now on can find
    /// it.
    pub(super) unsafe fn new(value: NonNull<T>) -> Self {
        Retired { value, cookie: None, owns: PhantomData }
    }

    /// Has the value dropped after a grace period, on the domain's worker thread; see [`Domain::defer`] for what
    /// happens at the limit.
    ///
    /// # Out of memory
    /// Queueing takes a few words. Where there are none, the caller waits for a grace period itself, as long as the
    /// limit's policy allows, and drops the value; where it may not wait, or waited in vain, the value is leaked, and
    /// counted in [`Stats::lost`](super::Stats::lost).
    pub fn defer(self) {
        drop(self);
    }

    /// The same, counting it as `bytes` bytes towards the domain's [limit](super::Limit): for values that own more
    /// than themselves.
    pub fn defer_bytes(self, bytes: usize) {
        ManuallyDrop::new(self).enqueue(bytes);
    }

    /// [`defer`](Self::defer) where waiting is out of the question.
    ///
    /// # Errors
    /// The value itself, at the limit or where there is no memory to queue it.
    pub fn try_defer(self) -> Result<(), Self> {
        let this = ManuallyDrop::new(self);
        let value = Value(this.value);
        let tried = D::state().queue.try_defer::<D, _>(move || value.free(), SizeOf::<T>::NEW);
        match tried {
            Ok(()) => Ok(()),
            // The closure owns nothing: only calling it would free the value.
            Err(Full(_)) => Err(ManuallyDrop::into_inner(this)),
        }
    }

    /// Waits for a grace period and gives the value back: nobody else has it any more. [`Domain::synchronize`] says
    /// more.
    ///
    /// # Panics
    /// Inside a section of the same domain. The value is leaked then: unwinding must neither free nor wait.
    #[track_caller]
    pub fn synchronize(self) -> Box<T> {
        let this = ManuallyDrop::new(self);
        D::synchronize();
        // SAFETY: from a box, ours alone (`new`), and every reader that may have found it has left.
        unsafe { Box::from_raw(this.value.as_ptr()) }
    }

    /// Gives the value back if a grace period has passed since the first call; never waits.
    ///
    /// # Errors
    /// The retired value again: not yet.
    pub fn try_into_box(mut self) -> Result<Box<T>, Self> {
        let cookie = *self.cookie.get_or_insert_with(D::start_poll);
        if !D::poll(&cookie) {
            return Err(self);
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: as in `synchronize`: the cookie was made after the value was unlinked.
        Ok(unsafe { Box::from_raw(this.value.as_ptr()) })
    }

    /// The caller gives up `self`.
    fn enqueue(&self, bytes: impl Bytes) {
        let value = Value(self.value);
        D::state().queue.defer_or_wait::<D, _>(move || value.free(), bytes);
    }
}

/// A value on its way to its end.
struct Value<T>(NonNull<T>);

// SAFETY: it is freed on another thread, for which it must be `Send`.
unsafe impl<T: Send> Send for Value<T> {}

impl<T> Value<T> {
    fn free(self) {
        // SAFETY: from a box and the maker's alone (`Retired::new`), who gave it up; every reader has left.
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
