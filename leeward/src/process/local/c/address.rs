//! Places of words on the architectures whose instructions take any address.

use core::sync::atomic::{AtomicPtr, Ordering};

/// Where the calling thread has a word: its address.
#[derive(Clone, Copy)]
pub(crate) struct LocalPlace(*mut *mut ());

impl LocalPlace {
    /// Makes a place of a thread pointer and an offset from it.
    ///
    /// # Safety
    /// They are the calling thread's, and of a word that `word!` has declared.
    #[inline(always)]
    pub(crate) unsafe fn at(thread: *mut (), offset: usize) -> LocalPlace {
        LocalPlace(thread.wrapping_byte_add(offset).cast())
    }

    /// Returns the place behind this one: the second word of a pair.
    #[inline(always)]
    pub(crate) fn next(self) -> LocalPlace {
        LocalPlace(self.0.wrapping_add(1))
    }

    #[inline(always)]
    fn word<'a>(self) -> &'a AtomicPtr<()> {
        // SAFETY: aligned; each thread has the word, from its beginning to its end, and no other
        // thread accesses this one's.
        unsafe { AtomicPtr::from_ptr(self.0) }
    }

    /// Loads the calling thread's word.
    #[inline(always)]
    pub(crate) fn load(self) -> *mut () {
        // Relaxed: the thread's own word.
        self.word().load(Ordering::Relaxed)
    }

    /// Stores the calling thread's word.
    #[inline(always)]
    pub(crate) fn store(self, word: *mut ()) {
        // Relaxed: the thread's own word.
        self.word().store(word, Ordering::Relaxed);
    }

    /// Returns the address of the calling thread's word.
    pub(crate) fn address(self) -> *mut *mut () {
        self.0
    }
}
