//! Where a panic must not unwind: inside of locking.
//!
//! Guards may be alive whose lock is given up for a while and taken again (`lock_api`'s `unlocked`,
//! a condition variable's wait): if the taking unwound, and somebody caught that, the guard would
//! go on without the lock. So what cannot be locked ends the process, by a panic that nobody can
//! catch: its hook runs, and prints one sentence; then the process aborts.

/// Ends the process when it is dropped: as soon as the panic that comes after it begins to unwind.
pub(crate) struct End;

impl Drop for End {
    fn drop(&mut self) {
        crate::process::abort();
    }
}

/// Ends the process, with a sentence. A literal: nothing need be allocated to tell it, since the
/// lock may be one inside the global allocator.
macro_rules! abort {
    ($sentence:expr) => {{
        #[cold]
        #[inline(never)]
        fn end() -> ! {
            let _end = $crate::no_unwind::End;
            panic!(concat!("leeward: ", $sentence))
        }
        end()
    }};
}
pub(crate) use abort;
