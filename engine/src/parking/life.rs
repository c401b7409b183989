//! Whether a thread is there still, for others, without asking by its number, which may be another
//! thread's by now: the thread holds a robust mutex of libc's and never gives it up, so the kernel
//! marks that when the thread is gone.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};
use std::boxed::Box;

/// A thread's life, from when it began to be told. Must not be dropped, nor its memory be used
/// otherwise, before it [is over](Self::is_over).
#[derive(Debug)]
pub(super) struct Life {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    /// It was found to be over. The mutex is not asked again: glibc 2.36 answers the third time
    /// that it is locked.
    over: AtomicBool,
}

// SAFETY: a mutex, used by libc's functions only.
unsafe impl Send for Life {}
// SAFETY: as above.
unsafe impl Sync for Life {}

impl Life {
    /// The calling thread's. `None`: libc has no such mutex; then its life is told by its number
    /// alone.
    pub(super) fn of_this_thread() -> Option<Box<Life>> {
        let life =
            Box::new(Life { mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER), over: AtomicBool::new(false) });
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: ours, not used before.
        if unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: it is initialized.
        let robust = unsafe { libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST) };
        // SAFETY: ours, in its place for good, and not used before.
        let made = unsafe { libc::pthread_mutex_init(life.mutex.get(), attributes.as_ptr()) };
        // SAFETY: it is initialized, and not used any more.
        unsafe { libc::pthread_mutexattr_destroy(attributes.as_mut_ptr()) };
        // SAFETY: it is initialized.
        let is_held = robust == 0 && made == 0 && unsafe { libc::pthread_mutex_lock(life.mutex.get()) } == 0;
        is_held.then_some(life)
    }

    /// Returns true if that thread is gone, or nearly: it runs no code of the program's any more.
    /// One thread asks at a time.
    pub(super) fn is_over(&self) -> bool {
        // Relaxed, here and below: a fact about another thread, which has nothing more to say.
        if self.over.load(Ordering::Relaxed) {
            return true;
        }
        // SAFETY: it is initialized.
        let answer = unsafe { libc::pthread_mutex_trylock(self.mutex.get()) };
        if answer == libc::EBUSY {
            return false;
        }
        self.over.store(true, Ordering::Relaxed);
        if answer == libc::EOWNERDEAD {
            // Given up as it is, it is nobody's for good.
            // SAFETY: locked just now.
            unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
        }
        true
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // SAFETY: nobody's, and not used any more.
        unsafe { libc::pthread_mutex_destroy(self.mutex.get()) };
    }
}
