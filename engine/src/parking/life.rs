//! The question whether a thread is still there, answered to other threads without its number,
//! which may be another thread's by now: the thread holds a robust mutex of libc's and never gives
//! it up, so the kernel marks the mutex when the thread is gone. `exits` keeps one for each told
//! exit.

use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::Memory;

/// A thread's life, from when it began to be told. Must not be dropped, nor its memory be used
/// otherwise, before it [is over](Self::is_over).
#[derive(Debug)]
pub(super) struct Life {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    /// True if the life was found to be over. The mutex is not asked again: glibc 2.36 answers the
    /// third time that it is locked.
    over: AtomicBool,
}

// SAFETY: a mutex, which only libc's functions use.
unsafe impl Send for Life {}
// SAFETY: as above.
unsafe impl Sync for Life {}

impl Life {
    /// Returns the calling thread's life, from now on, in that memory. `None`: there is no memory,
    /// or libc has no such mutex, and the thread is known by its number alone.
    pub(super) fn of_this_thread(memory: &impl Memory) -> Option<NonNull<Life>> {
        let place = memory.allocate(Layout::new::<Life>(), None)?.cast::<Life>();
        let new = Life { mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER), over: AtomicBool::new(false) };
        // SAFETY: a block for it.
        unsafe { place.write(new) };
        // SAFETY: written just now, and borrowed for this call.
        let is_held = unsafe { place.as_ref() }.hold();
        if !is_held {
            // SAFETY: allocated above; no thread holds the mutex.
            unsafe { Life::free(place, memory) };
        }
        is_held.then_some(place)
    }

    /// Frees a life.
    ///
    /// # Safety
    /// It came from [`of_this_thread`](Self::of_this_thread) with this memory or a clone of it,
    /// [is over](Self::is_over) or was never held, and is not used any more.
    pub(super) unsafe fn free(life: NonNull<Life>, memory: &impl Memory) {
        // SAFETY: the caller's promise.
        unsafe { life.drop_in_place() };
        // SAFETY: as above.
        unsafe { memory.free(life.cast(), Layout::new::<Life>()) };
    }

    /// Makes the mutex a robust one and takes it; returns true if libc did both.
    fn hold(&self) -> bool {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: a variable of this frame, not used before.
        if unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) } != 0 {
            return false;
        }
        // SAFETY: the attributes are initialized.
        let robust = unsafe { libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST) };
        // SAFETY: a mutex in its place for good, and not used before.
        let made = unsafe { libc::pthread_mutex_init(self.mutex.get(), attributes.as_ptr()) };
        // SAFETY: the attributes are initialized, and not used any more.
        unsafe { libc::pthread_mutexattr_destroy(attributes.as_mut_ptr()) };
        // SAFETY: the mutex is initialized if `made` is 0.
        robust == 0 && made == 0 && unsafe { libc::pthread_mutex_lock(self.mutex.get()) } == 0
    }

    /// Returns true if the thread is gone, or nearly: it runs no code of the program's any more.
    /// One thread asks at a time.
    pub(super) fn is_over(&self) -> bool {
        // Relaxed, here and below: a fact about another thread, which has nothing more to say.
        if self.over.load(Ordering::Relaxed) {
            return true;
        }
        // SAFETY: the mutex is initialized.
        let answer = unsafe { libc::pthread_mutex_trylock(self.mutex.get()) };
        if answer == libc::EBUSY {
            return false;
        }
        self.over.store(true, Ordering::Relaxed);
        if answer == libc::EOWNERDEAD {
            // Given up in the state that it is in, it can never be locked again.
            // SAFETY: locked just now.
            unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
        }
        true
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // SAFETY: no thread holds it, and it is not used any more.
        unsafe { libc::pthread_mutex_destroy(self.mutex.get()) };
    }
}
