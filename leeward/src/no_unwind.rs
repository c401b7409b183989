//! The end of the process where a panic must not unwind: inside locking.
//!
//! There may be guards whose lock is given up for a while and taken again (`lock_api`'s `unlocked`,
//! a condition variable's wait). If taking it again unwound, and a caller caught that, the guard
//! would live on without the lock. So a lock that cannot be taken ends the process, by a panic that
//! cannot be caught: its hook runs and prints one sentence, then the process aborts.

/// A value whose drop ends the process: as soon as a panic in its scope begins to unwind.
pub(crate) struct End;

impl Drop for End {
    fn drop(&mut self) {
        crate::process::abort();
    }
}

/// Ends the process, with a sentence and, in a function that tracks its caller, the caller's line. The
/// sentence is a literal, so that nothing is allocated to
/// print it: the lock may be one inside the global allocator.
macro_rules! abort {
    ($sentence:expr) => {{
        #[cold]
        #[inline(never)]
        #[track_caller]
        fn end() -> ! {
            let _end = $crate::no_unwind::End;
            panic!(concat!("leeward: ", $sentence))
        }
        end()
    }};
}
pub(crate) use abort;
