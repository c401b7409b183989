//! Words on x86-64, where `fs:[OFFSET]` is the calling thread's.

use core::arch::asm;

/// Where the calling thread has a word: its offset from the thread pointer.
#[derive(Clone, Copy)]
pub(crate) struct LocalPlace(usize);

/// Returns the [`LocalPlace`] of the word with this symbol. The linker makes a constant of the load in a
/// program.
macro_rules! place {
    ($symbol:expr) => {{
        let offset: usize;
        // SAFETY: loads from the global offset table, which does not change.
        unsafe {
            core::arch::asm!(
                concat!("mov {}, qword ptr [rip + ", $symbol, "@gottpoff]"),
                out(reg) offset,
                options(pure, nomem, preserves_flags, nostack)
            );
        }
        // SAFETY: the offset of a word, which the macro's caller declares.
        unsafe { $crate::process::local::c::LocalPlace::at(offset) }
    }};
}
pub(crate) use place;

impl LocalPlace {
    /// Makes a place.
    ///
    /// # Safety
    /// It is the offset of a word that `word!` has declared.
    #[inline(always)]
    pub(crate) unsafe fn at(offset: usize) -> LocalPlace {
        LocalPlace(offset)
    }

    /// Returns the place behind this one: the second word of a pair.
    #[inline(always)]
    pub(crate) fn next(self) -> LocalPlace {
        LocalPlace(self.0.wrapping_add(8))
    }

    /// Loads the calling thread's word.
    #[inline(always)]
    pub(crate) fn load(self) -> *mut () {
        let word;
        // SAFETY: each thread has the word, from its beginning to its end.
        unsafe {
            asm!(
                "mov {}, qword ptr fs:[{}]",
                lateout(reg) word,
                in(reg) self.0,
                options(pure, readonly, preserves_flags, nostack)
            );
        }
        word
    }

    /// Stores the calling thread's word.
    #[inline(always)]
    pub(crate) fn store(self, word: *mut ()) {
        // SAFETY: each thread has the word, and no other thread accesses this one's.
        unsafe { asm!("mov qword ptr fs:[{}], {}", in(reg) self.0, in(reg) word, options(preserves_flags, nostack)) };
    }

    /// Returns the address of the calling thread's word.
    pub(crate) fn address(self) -> *mut *mut () {
        let thread: *mut ();
        // SAFETY: the first word there is its own address.
        unsafe { asm!("mov {}, qword ptr fs:[0]", out(reg) thread, options(pure, nomem, preserves_flags, nostack)) };
        thread.wrapping_byte_add(self.0).cast()
    }
}
