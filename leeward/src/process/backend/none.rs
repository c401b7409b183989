//! The stand-in for [`process`](crate::process) in models and on systems other than Linux: forks
//! are not noticed, and threads have no numbers.

use core::alloc::Layout;
use core::ptr::NonNull;

/// The registry of what the child of a fork has to repair: no process forks here.
pub(crate) mod fork {
    /// State that the child of a fork would repair.
    pub(crate) trait Watched: Sync + Sized + 'static {
        /// Returns the item's link.
        fn hook(&self) -> &Hook;
        /// Runs in the parent, before the fork.
        fn before(&'static self) {}
        /// Runs in the parent, after the fork.
        fn in_parent(&'static self) {}
        /// Runs in the child.
        fn in_child(&'static self) {}
        /// Runs in the child, after everything was repaired.
        fn resume(&'static self) {}
        /// Runs when the calling thread exits and has handles.
        fn thread_ends(&'static self) {}
    }

    /// The link of an item; there is no list.
    pub(crate) struct Hook;

    impl Hook {
        pub(crate) const fn new() -> Hook {
            Hook
        }
    }

    /// Does nothing: a thread's exit matters to the child of a fork only.
    pub(crate) fn thread_ends() {}

    /// Returns 0: no fork ever happened.
    pub(crate) fn generation() -> u64 {
        0
    }

    /// Returns true: there are no forks to miss.
    pub(crate) fn is_watched<T: Watched>(_: &'static T) -> bool {
        true
    }

    /// Does nothing: there will be no children to repair the item in.
    pub(crate) fn watch<T: Watched>(item: &'static T) {
        // Never true. So the item's functions are compiled, and checked, on every system.
        if generation() != 0 {
            let _ = item.hook();
            item.before();
            item.in_parent();
            item.in_child();
            item.resume();
            item.thread_ends();
        }
    }
}

/// The mark that a fork changes: no process forks here.
pub(crate) mod fork_mark {
    /// Returns true: this process is no child of the one that was marked.
    pub(crate) fn is_still(_: u32) -> bool {
        true
    }

    /// Returns false: this process is not the child of a fork.
    pub(crate) fn is_child() -> bool {
        false
    }

    /// Returns this process's number; never 0.
    pub(crate) fn now() -> u32 {
        1
    }
}

/// Ends the process; called while a panic unwinds.
pub(crate) fn abort() -> ! {
    // A second panic aborts; core has no other way.
    panic!("leeward: this process ends")
}

/// Allocates memory of zeros, in whole pages; `None` if there is none.
pub(crate) fn map(bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the layout is not empty.
    NonNull::new(unsafe { alloc::alloc::alloc_zeroed(pages(bytes)) })
}

/// Gives allocated memory back.
///
/// # Safety
/// `map` returned it for that many bytes, and nothing uses it.
pub(crate) unsafe fn unmap(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { alloc::alloc::dealloc(memory.as_ptr(), pages(bytes)) };
}

/// Returns the layout of that many bytes, which are a few.
fn pages(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 4096).unwrap_or(Layout::new::<u8>())
}

/// Returns the calling thread's number: 0, which is no thread's.
pub(crate) fn thread_number() -> u32 {
    0
}

/// Returns the address of the calling thread's control block: 0, since none is known.
pub(crate) fn control_block() -> u64 {
    0
}

/// Does the work of `of` on a new detached thread of the standard library's. Returns false if no
/// thread can be started.
#[cfg(feature = "threads")]
pub(crate) fn start<T: crate::process::Work>(of: &'static T) -> bool {
    crate::process::runtime::start(|| of.work())
}

/// Writes nothing: there is no standard error.
pub(crate) fn print_error(_: core::fmt::Arguments<'_>) {}
