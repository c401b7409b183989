//! The question whether a thread is still there, answered to other threads without its number,
//! which may be another thread's by now: the thread holds a robust mutex of libc's and never gives
//! it up, so the kernel marks the mutex when the thread is gone. `exits` keeps one for each told
//! exit.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};
use std::boxed::Box;

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
    /// Returns the calling thread's life, from now on. `None`: libc has no such mutex, and the
    /// thread is known by its number alone. Allocates.
    pub(super) fn of_this_thread() -> Option<Box<Life>> {
        let life =
            Box::new(Life { mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER), over: AtomicBool::new(false) });
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: a variable of this frame, not used before.
        if unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: the attributes are initialized.
        let robust = unsafe { libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST) };
        // SAFETY: a mutex in its place for good, and not used before.
        let made = unsafe { libc::pthread_mutex_init(life.mutex.get(), attributes.as_ptr()) };
        // SAFETY: the attributes are initialized, and not used any more.
        unsafe { libc::pthread_mutexattr_destroy(attributes.as_mut_ptr()) };
        // SAFETY: the mutex is initialized if `made` is 0.
        let is_held = robust == 0 && made == 0 && unsafe { libc::pthread_mutex_lock(life.mutex.get()) } == 0;
        is_held.then_some(life)
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
