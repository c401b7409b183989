//! The seam between the engine and the atomics that it is built on: core's, or loom's when built
//! with `--cfg leeward_loom`.
//!
//! Every other module takes its atomics from here, so that the code that ships is the code that
//! loom explores. Beside the hosts and `mod` lines this is the only place where a `cfg` stands.

#[cfg(not(leeward_loom))]
pub(crate) use core::sync::atomic::AtomicPtr;
#[cfg(not(leeward_loom))]
pub use core::sync::atomic::AtomicU32;

#[cfg(leeward_loom)]
pub(crate) use loom::sync::atomic::AtomicPtr;
#[cfg(leeward_loom)]
pub use loom::sync::atomic::AtomicU32;

pub(crate) use core::sync::atomic::Ordering;
pub(crate) use full_fence::{fence, fence_after_update};

mod full_fence;

/// Returns `number`, which the compiler cannot know before: what is computed from it stays after a
/// fence that comes before this. On x86 a fence holds back later loads and not later computations,
/// but it waits for all that comes before.
#[cfg(all(not(any(leeward_loom, miri)), target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn behind(number: u64) -> u64 {
    let mut number = number;
    // SAFETY: the assembly has no instruction.
    unsafe { core::arch::asm!("/* {} */", inout(reg) number, options(nostack, preserves_flags)) };
    number
}

/// Returns `number`. Elsewhere than on x86 processors compute past fences anyway.
#[cfg(not(all(not(any(leeward_loom, miri)), target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn behind(number: u64) -> u64 {
    number
}

/// Asks the processor for the cache line of `place`, which is going to be read soon.
#[cfg(all(not(leeward_loom), target_arch = "x86_64", target_feature = "sse"))]
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    // SAFETY: a hint; no address is wrong.
    unsafe { core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(place.cast()) };
}

/// Does nothing: this processor is not asked for lines in advance.
#[cfg(not(all(not(leeward_loom), target_arch = "x86_64", target_feature = "sse")))]
#[inline(always)]
pub(crate) fn prefetch<T>(_: *const T) {}

/// Asks the processor for the cache lines of the value at `place`, which is going to be read soon.
#[inline(always)]
pub(crate) fn prefetch_all<T>(place: *const T) {
    let place = place.cast::<u8>();
    prefetch(place);
    let last = size_of::<T>().saturating_sub(1);
    if last >= 64 {
        prefetch(place.wrapping_add(64));
    }
    prefetch(place.wrapping_add(last));
}

/// What a lock guards, for loom to see. In a model each [`touch`](Self::touch) is a plain write, so
/// that two which no lock and no ordering keeps apart are reported as a race. Otherwise it is
/// nothing.
#[cfg(not(leeward_loom))]
pub(crate) struct Tracked;

#[cfg(not(leeward_loom))]
impl Tracked {
    pub(crate) fn new() -> Tracked {
        Tracked
    }

    #[inline(always)]
    pub(crate) fn touch(&self) {}
}

#[cfg(leeward_loom)]
pub(crate) struct Tracked(loom::cell::UnsafeCell<()>);

#[cfg(leeward_loom)]
impl Tracked {
    pub(crate) fn new() -> Tracked {
        let new = Tracked(loom::cell::UnsafeCell::new(()));
        // The first touch is its maker's.
        new.touch();
        new
    }

    pub(crate) fn touch(&self) {
        self.0.with_mut(|_| ());
    }
}

/// Touches it a last time: what contains it is freed, and what other threads did there must be
/// over.
#[cfg(leeward_loom)]
impl Drop for Tracked {
    fn drop(&mut self) {
        self.touch();
    }
}

/// The threads that found a lock taken, queued in a model: loom would explore forever how several
/// of them spin. Otherwise it is nothing, and they spin.
#[cfg(not(leeward_loom))]
pub(crate) struct LockQueue;

#[cfg(not(leeward_loom))]
impl LockQueue {
    pub(crate) fn new() -> LockQueue {
        LockQueue
    }

    /// Tries to take the lock once if it is `free`; returns what `take` took.
    #[inline(always)]
    pub(crate) fn try_take<T>(&self, free: impl Fn() -> bool, take: impl Fn() -> Option<T>) -> Option<T> {
        if free() { take() } else { None }
    }

    /// Wakes the queued threads after the lock was given up: here there are none.
    #[inline(always)]
    pub(crate) fn released(&self) {}
}

#[cfg(leeward_loom)]
pub(crate) struct LockQueue(std::sync::Mutex<alloc::vec::Vec<loom::thread::Thread>>);

#[cfg(leeward_loom)]
impl LockQueue {
    pub(crate) fn new() -> LockQueue {
        LockQueue(std::sync::Mutex::new(alloc::vec::Vec::new()))
    }

    pub(crate) fn try_take<T>(&self, _: impl Fn() -> bool, take: impl Fn() -> Option<T>) -> Option<T> {
        self.0.lock().unwrap().push(loom::thread::current());
        // `take` is an exchange and sees the last value: a thread that gives the lock up later
        // finds this thread in the list.
        let taken = take();
        if taken.is_none() {
            loom::thread::park();
        }
        taken
    }

    pub(crate) fn released(&self) {
        let threads = core::mem::take(&mut *self.0.lock().unwrap());
        threads.iter().for_each(loom::thread::Thread::unpark);
    }
}
