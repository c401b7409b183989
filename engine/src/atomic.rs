//! The seam between the engine and what an atomic is: core's, or loom's when built with
//! `--cfg leeward_loom`.
//!
//! Every other module takes its atomics from here, so that the code that ships is the code that
//! loom explores. The only place, beside the hosts and `mod` lines, where a `cfg` stands.

#[cfg(not(leeward_loom))]
pub use core::sync::atomic::AtomicU32;
#[cfg(not(leeward_loom))]
pub(crate) use core::sync::atomic::{AtomicPtr, fence};

#[cfg(leeward_loom)]
pub(crate) use loom::sync::atomic::AtomicPtr;
#[cfg(leeward_loom)]
pub use loom::sync::atomic::AtomicU32;

pub(crate) use core::sync::atomic::Ordering;

/// Loom changes threads before accesses only, not before fences: without an access of its own, a
/// store and the fence behind it would be one step. Relaxed, so that it orders nothing that the
/// fence does not.
#[cfg(leeward_loom)]
pub(crate) fn fence(order: Ordering) {
    loom::lazy_static! { static ref FENCES: AtomicU32 = AtomicU32::new(0); }
    FENCES.fetch_or(0, Ordering::Relaxed);
    loom::sync::atomic::fence(order);
}

/// A full fence behind an exchange of the calling thread's: on x86 every exchange is one.
#[cfg(all(not(leeward_loom), target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn fence_after_exchange() {
    // SeqCst: the compiler's half; the locked instruction before it is the processor's.
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// A full fence behind an exchange of the calling thread's: elsewhere than on x86 an exchange is
/// none.
#[cfg(not(all(not(leeward_loom), target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn fence_after_exchange() {
    // SeqCst: pair W.
    fence(Ordering::SeqCst);
}

/// The same number, which the compiler cannot know before: what is computed from it stays behind a
/// fence that comes before this. A fence on x86 keeps back what is read behind it and not what is
/// computed, but waits for all that comes before.
#[cfg(all(not(any(leeward_loom, miri)), target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn behind(number: u64) -> u64 {
    let mut number = number;
    // SAFETY: no instruction.
    unsafe { core::arch::asm!("/* {} */", inout(reg) number, options(nostack, preserves_flags)) };
    number
}

/// The same number; elsewhere than on x86 computations pass fences anyway.
#[cfg(not(all(not(any(leeward_loom, miri)), target_arch = "x86_64")))]
#[inline(always)]
pub(crate) fn behind(number: u64) -> u64 {
    number
}

/// The line of `place` is going to be read soon.
#[cfg(all(not(leeward_loom), target_arch = "x86_64", target_feature = "sse"))]
#[inline(always)]
pub(crate) fn prefetch<T>(place: *const T) {
    // SAFETY: a hint; no address is wrong.
    unsafe { core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(place.cast()) };
}

/// The line of `place` is going to be read soon.
#[cfg(not(all(not(leeward_loom), target_arch = "x86_64", target_feature = "sse")))]
#[inline(always)]
pub(crate) fn prefetch<T>(_: *const T) {}

/// The lines of what lies at `place` are going to be read soon.
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

/// What a lock guards, for loom to see: in a model each [`touch`](Self::touch) is a plain write, so
/// that two which no lock and no ordering keeps apart are reported as the race that they are.
/// Otherwise nothing.
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
        // Who makes it touches it first.
        new.touch();
        new
    }

    pub(crate) fn touch(&self) {
        self.0.with_mut(|_| ());
    }
}

/// What it lies in goes: whatever others did there must be over.
#[cfg(leeward_loom)]
impl Drop for Tracked {
    fn drop(&mut self) {
        self.touch();
    }
}

/// The queue of the threads that found a lock taken, in a model: loom would explore for ever how
/// several of them spin. Otherwise nothing: they spin.
#[cfg(not(leeward_loom))]
pub(crate) struct LockQueue;

#[cfg(not(leeward_loom))]
impl LockQueue {
    pub(crate) fn new() -> LockQueue {
        LockQueue
    }

    /// Tries once: what was taken, if the lock was `free`.
    #[inline(always)]
    pub(crate) fn try_take<T>(&self, free: impl Fn() -> bool, take: impl Fn() -> Option<T>) -> Option<T> {
        if free() { take() } else { None }
    }

    /// The lock was given up.
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
        // An exchange: it sees the last value, so whoever gives the lock up later finds the thread
        // in the list.
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
